/* hook.c - the steps of a hook, from YAML to something that can be run
 *
 * All that can be wrong without knowing the data is found here, with the place in the catalog: keys
 * that do not exist, verbs that an event does not allow, expressions that do not parse, names that
 * cannot be.  Steps nest only through `for`, at most HOOK_MAX_NEST deep.
 *
 * Reads are those of all expressions, without what a `let` or `for` around them has bound.  A `let`
 * with a condition hides nothing: it may not have happened.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "template/hook.h"
#include "template/hook_i.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/map.h"
#include "base/text.h"
#include "template/expr_i.h"

/* --- the tables --- */

static const char *const event_names[HOOK_EVENT_COUNT] = {
#define X(id, name) name,
    HOOK_EVENTS(X)
#undef X
};
#define DATA (HOOK_F_SET | HOOK_F_UNSET | HOOK_F_STORE | HOOK_F_UNSTORE | HOOK_F_LET | HOOK_F_FOR)
static const unsigned event_verbs[HOOK_EVENT_COUNT] = {
    [HOOK_ON_PROPOSED] = DATA,
    [HOOK_ON_BIND] = DATA | HOOK_F_REFUSE,
    [HOOK_ON_COMMIT] = DATA | HOOK_F_ENQUEUE | HOOK_F_REFUSE,
    [HOOK_ON_TODO] = DATA | HOOK_F_ENQUEUE,
    [HOOK_ON_BLOCKED] = DATA | HOOK_F_ENQUEUE,
    [HOOK_ON_TRANSITION] = DATA | HOOK_F_ENQUEUE,
    [HOOK_ON_ERROR] = DATA | HOOK_F_ENQUEUE,
    [HOOK_ON_ACTIVE] = DATA | HOOK_F_ENQUEUE,
    [HOOK_ON_REMOVED] = DATA | HOOK_F_ENQUEUE,
    [HOOK_ON_NODE_CREATE] = DATA | HOOK_F_ENQUEUE,
    [HOOK_ON_NODE_CHANGE] = DATA | HOOK_F_ENQUEUE,
    [HOOK_ON_NODE_DELETE] = DATA | HOOK_F_ENQUEUE,
    [HOOK_ON_LEAVING] = DATA | HOOK_F_ENQUEUE,
};
#undef DATA
static const struct {
    const char *name;
    unsigned needs, may;
} verbs[HOOK_VERB_COUNT] = {
#define X(id, name, needs, may) [HOOK_##id] = {name, needs, may},
    HOOK_VERBS(X)
#undef X
};
/* Verbs first, then the other keys: a step's keys by number. */
static const char *const key_names[HOOK_VERB_COUNT + HOOK_KEY_COUNT] = {
#define X(id, name, needs, may) name,
    HOOK_VERBS(X)
#undef X
#define X(id, name) name,
        HOOK_KEYS(X)
#undef X
};

const char *hook_event_name(enum hook_event event)
{
    return event_names[event];
}

enum hook_event hook_event_find(struct str name)
{
    size_t i = 0;
    while (i < HOOK_EVENT_COUNT && !str_is(name, event_names[i]))
        i++;
    return (enum hook_event)i;
}

unsigned hook_event_verbs(enum hook_event event)
{
    return event_verbs[event];
}

const char *hook_verb_name(enum hook_verb verb)
{
    return verbs[verb].name;
}

/* --- errors --- */

int hook_point(const char *file, struct hook_place place, int code, struct err *e)
{
    if (!e)
        return code;
    if (file)
        (void)err_at(e, "%s:%u:%u", file, place.line, place.column);
    else
        (void)err_at(e, "%u:%u", place.line, place.column);
    return code;
}

bool hook_key_ok(struct str key)
{
    if (key.n == 0 || key.n > HOOK_MAX_KEY || !text_utf8_valid(key.s, key.n))
        return false;
    for (size_t i = 0; i < key.n; i++)
        if (key.s[i] == '/' || (unsigned char)key.s[i] < 0x20 || key.s[i] == 0x7F)
            return false;
    return true;
}

struct local {
    struct str name;
    bool loop, sure; /* of a for; bound whenever this place is reached */
};
struct compiler {
    struct arena *a;
    const char *file;
    const struct expr_library *library;
    enum hook_event event;
    uint32_t n_steps, nest;
    VEC(struct local) locals;
    VEC(struct str) reads;
    VEC(struct hook_write) writes;
    VEC(struct hook_role) roles;
    struct strmap seen; /* reads, writes and roles, with a letter in front */
    struct err *e;
};

__attribute__((format(printf, 4, 5))) static int wrong(struct compiler *c, const struct value *at,
                                                       enum errcode code, const char *fmt, ...)
{
    char text[sizeof c->e->text];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    text[text_utf8_prefix(text, strlen(text))] = '\0';
    int rc = err_set(c->e, code, "%s: %s", event_names[c->event], text);
    return hook_point(c->file, (struct hook_place){at->line, at->column}, rc, c->e);
}

static int shown(struct str s)
{
    return (int)text_utf8_prefix(s.s, s.n < 64 ? s.n : 64);
}

static struct str keep(struct compiler *c, struct str s)
{
    return (struct str){arena_strndup(c->a, s.s, s.n), s.n};
}

/* --- what is read and written --- */

/* True the first time. */
static bool seen_first(struct compiler *c, char letter, struct str s)
{
    SCOPED_BUF(key);
    buf_putc(&key, letter);
    buf_put(&key, s.s, s.n);
    return strmap_put(&c->seen, buf_str(&key), 1);
}

static bool is_local(const struct compiler *c, struct str path)
{
    const char *dot = memchr(path.s, '.', path.n);
    struct str name = {path.s, dot ? (size_t)(dot - path.s) : path.n};
    for (size_t i = 0; i < c->locals.n; i++)
        if (c->locals.at[i].sure && str_eq(c->locals.at[i].name, name))
            return true;
    return false;
}

static void note_reads(struct compiler *c, const struct expr *x)
{
    struct str path;
    for (size_t i = 0; expr_path_at(x, i, &path); i++)
        if (!is_local(c, path) && seen_first(c, 'r', path))
            vec_push(&c->reads, path);
}

static void note_write(struct compiler *c, enum hook_verb verb, const struct hook_part *parts,
                       uint32_t n)
{
    SCOPED_BUF(path);
    for (uint32_t i = 0; i < n && !parts[i].x; i++) {
        if (i)
            buf_putc(&path, '/');
        buf_put(&path, parts[i].key.s, parts[i].key.n);
    }
    if (seen_first(c, (char)('0' + verb), buf_str(&path)))
        vec_push(&c->writes, ((struct hook_write){(uint8_t)verb, keep(c, buf_str(&path))}));
}

/* --- parts of a step --- */

static int compile_expr(struct compiler *c, struct str text, const struct value *at, size_t offset,
                        const char *key, const struct expr **ret_x)
{
    struct expr_options o = {.origin = {c->file, at->line, at->column + (uint32_t)offset},
                             .library = c->library};
    int rc = expr_compile(c->a, text, &o, ret_x, c->e);
    if (rc >= 0)
        note_reads(c, *ret_x);
    else if (c->e)
        (void)err_wrap(c->e, "%s: %s", event_names[c->event], key);
    return rc;
}

static int compile_term(struct compiler *c, const struct value *v, const char *key,
                        struct hook_term *ret)
{
    if (v->kind == VALUE_LIST || v->kind == VALUE_MAP) {
        int rc = wrong(c, v, ERR_INVALID, "%s must be an expression, not %s", key, show_kind(v));
        (void)err_hint(c->e, "write it in quotes, as in %s: \"%s\"", key,
                       v->kind == VALUE_LIST ? "[a, 'b']" : "{'a': b}");
        return rc;
    }
    if (v->kind == VALUE_STRING)
        return compile_expr(c, value_as_str(v), v, 0, key, &ret->x);
    ret->v = value_copy(c->a, v);
    return 0;
}

static int path_wrong(struct compiler *c, const struct value *v, const char *key)
{
    int rc = wrong(c, v, ERR_INVALID, "%s must be a path such as a/b/c", key);
    (void)err_hint(c->e, "at most %d parts, none of them empty; a part in parentheses is computed",
                   HOOK_MAX_PATH);
    return rc;
}

/* Where the part that starts at `at` ends.  A slash inside parentheses or quotes separates nothing.
 */
static size_t part_end(struct str s, size_t at)
{
    unsigned open = 0;
    char quote = 0;
    for (; at < s.n; at++) {
        char ch = s.s[at];
        if (quote) {
            if (ch == '\\')
                at++;
            else if (ch == quote)
                quote = 0;
        } else if (open && (ch == '\'' || ch == '"')) {
            quote = ch;
        } else if (ch == '(') {
            open++;
        } else if (ch == ')' && open) {
            open--;
        } else if (ch == '/' && !open) {
            break;
        }
    }
    return at < s.n ? at : s.n;
}

static int compile_path(struct compiler *c, const struct value *v, struct hook_step *step)
{
    const char *key = verbs[step->verb].name;
    struct str s = value_as_str(v);
    struct hook_part parts[HOOK_MAX_PATH] = {0};
    uint32_t n = 0;
    if (v->kind != VALUE_STRING || !s.n)
        return path_wrong(c, v, key);
    for (size_t at = 0, end; at <= s.n; at = end + 1) {
        end = part_end(s, at);
        struct str part = {s.s + at, end - at};
        if (n == HOOK_MAX_PATH || !part.n)
            return path_wrong(c, v, key);
        if (part.s[0] == '(' && part.s[part.n - 1] == ')') {
            struct str inner = {part.s + 1, part.n - 2};
            int rc = compile_expr(c, inner, v, at + 1, key, &parts[n].x);
            if (rc < 0)
                return rc;
        } else if (!hook_key_ok(part)) {
            return path_wrong(c, v, key);
        }
        parts[n++].key = keep(c, part);
    }
    struct hook_part *kept = arena_new(c->a, struct hook_part, n);
    memcpy(kept, parts, n * sizeof *kept);
    step->parts = kept;
    step->n_parts = (uint8_t)n;
    step->name = keep(c, s);
    note_write(c, (enum hook_verb)step->verb, kept, n);
    return 0;
}

static int compile_role(struct compiler *c, const struct value *v, const char *what,
                        struct str *ret)
{
    struct str s = value_as_str(v);
    if (!text_is_name(s)) {
        int rc = wrong(c, v, ERR_INVALID, "%s must be the name of a role%s", what,
                       *what == 'e' ? " or a list of names" : "");
        (void)err_hint(c->e,
                       "a name is 1 to 64 of a-z 0-9 . _ - and begins with a letter or digit");
        return rc;
    }
    *ret = keep(c, s);
    if (seen_first(c, 'e', s))
        vec_push(&c->roles, ((struct hook_role){*ret, {v->line, v->column}}));
    return 0;
}

static int compile_roles(struct compiler *c, const struct value *v, struct hook_step *step)
{
    uint32_t n = v->kind == VALUE_LIST ? v->n : 1;
    if (n == 0 || n > HOOK_MAX_ROLES)
        return wrong(c, v, ERR_INVALID, "enqueue names %u roles, from 1 to %d can be", n,
                     HOOK_MAX_ROLES);
    struct str *roles = arena_new(c->a, struct str, n);
    for (uint32_t i = 0; i < n; i++) {
        int rc = compile_role(c, v->kind == VALUE_LIST ? &v->items[i] : v, "enqueue", &roles[i]);
        if (rc < 0)
            return rc;
    }
    step->roles = roles;
    step->n_roles = (uint16_t)n;
    return 0;
}

static bool is_variable(struct str s)
{
    static const char *const taken[] = {"and",  "or",   "not",   "in",    "is",   "if",  "else",
                                        "true", "True", "false", "False", "none", "None"};
    for (size_t i = 0; i < sizeof taken / sizeof *taken; i++)
        if (str_is(s, taken[i]))
            return false;
    for (size_t i = 0; i < s.n; i++) {
        bool letter = (s.s[i] >= 'a' && s.s[i] <= 'z') || (s.s[i] >= 'A' && s.s[i] <= 'Z') ||
                      s.s[i] == '_';
        if (!letter && !(i && s.s[i] >= '0' && s.s[i] <= '9'))
            return false;
    }
    return s.n > 0 && s.n <= HOOK_MAX_KEY;
}

/* The name of a let or for. */
static int compile_name(struct compiler *c, const struct value *v, struct hook_step *step)
{
    struct str s = value_as_str(v);
    const char *key = verbs[step->verb].name;
    if (!is_variable(s)) {
        int rc = wrong(c, v, ERR_INVALID, "%s must be a name", key);
        (void)err_hint(c->e, "letters, digits and _, no digit first, and no word of the language");
        return rc;
    }
    for (size_t i = 0; i < c->locals.n; i++)
        if (str_eq(c->locals.at[i].name, s) && (c->locals.at[i].loop || step->verb == HOOK_FOR))
            return wrong(c, v, ERR_INVALID, "%s: \"%.*s\" is in use around here", key, shown(s),
                         s.s);
    step->name = keep(c, s);
    return 0;
}

/* --- steps --- */

struct keys { /* of one step: what is there, by number */
    const struct value *at[HOOK_VERB_COUNT + HOOK_KEY_COUNT];
};

static int read_keys(struct compiler *c, const struct value *v, struct keys *ret)
{
    for (uint32_t i = 0; i < v->n; i++) {
        const struct member *m = &v->members[i];
        struct str key = {m->key, m->key_n};
        size_t k = 0;
        while (k < HOOK_VERB_COUNT + HOOK_KEY_COUNT && !str_is(key, key_names[k]))
            k++;
        if (k == HOOK_VERB_COUNT + HOOK_KEY_COUNT) {
            struct value at = {.line = m->key_line, .column = m->key_column};
            int rc = wrong(c, &at, ERR_INVALID, "unknown key \"%.*s\" of a step", shown(key),
                           key.s);
            const char *best = text_nearest(key, key_names, HOOK_VERB_COUNT + HOOK_KEY_COUNT);
            if (best)
                (void)err_hint(c->e, "did you mean \"%s\"?", best);
            return rc;
        }
        ret->at[k] = &m->v;
    }
    return 0;
}

/* The verbs that an event allows, or the events that allow a verb, for a hint. */
static void hint_allowed(struct compiler *c, enum hook_verb verb)
{
    SCOPED_BUF(names);
    for (size_t i = 0; i < HOOK_EVENT_COUNT; i++)
        if (event_verbs[i] >> verb & 1)
            buf_printf(&names, "%s%s", names.len ? ", " : "", event_names[i]);
    (void)err_hint(c->e, "it is allowed in %s", names.data);
}

/* Where no noderole lives, data are some role's that is named; `on` alone names no role. */
static int check_whose(struct compiler *c, const struct value *v, const struct keys *keys,
                       enum hook_verb verb)
{
    const struct value *on = keys->at[HOOK_VERB_COUNT + HOOK_KEYBIT_ON];
    bool of = keys->at[HOOK_VERB_COUNT + HOOK_KEYBIT_OF];
    if ((verb != HOOK_SET && verb != HOOK_UNSET) || of)
        return 0;
    if (on)
        return wrong(c, on, ERR_INVALID, "%s with \"on\" needs \"of\"", verbs[verb].name);
    if (!(HOOK_OF_NOBODY >> c->event & 1))
        return 0;
    int rc = wrong(c, v, ERR_INVALID, "%s needs \"of\" here", verbs[verb].name);
    (void)err_hint(c->e, "no noderole lives at this event: say of: ROLE, and on which nodes");
    return rc;
}

static int find_verb(struct compiler *c, const struct value *v, const struct keys *keys,
                     enum hook_verb *ret)
{
    int found = -1;
    for (int i = 0; i < HOOK_VERB_COUNT; i++) {
        if (!keys->at[i])
            continue;
        if (found >= 0)
            return wrong(c, v, ERR_INVALID, "a step cannot both %s and %s", verbs[found].name,
                         verbs[i].name);
        found = i;
    }
    if (found < 0) {
        int rc = wrong(c, v, ERR_INVALID, "a step that does nothing");
        (void)err_hint(c->e,
                       "it needs one of set, unset, store, unstore, enqueue, refuse, let and for");
        return rc;
    }
    if (!(event_verbs[c->event] >> found & 1)) {
        int rc = wrong(c, v, ERR_INVALID, "%s is not allowed here", verbs[found].name);
        hint_allowed(c, (enum hook_verb)found);
        return rc;
    }
    for (int k = 0; k < HOOK_KEY_COUNT; k++) {
        unsigned bit = 1u << k, allowed = verbs[found].needs | verbs[found].may | HOOK_KEY_WHEN;
        const struct value *at = keys->at[HOOK_VERB_COUNT + k];
        const char *name = key_names[HOOK_VERB_COUNT + k];
        if (at && !(allowed & bit))
            return wrong(c, at, ERR_INVALID, "%s has no use for \"%s\"", verbs[found].name, name);
        if (!at && verbs[found].needs & bit)
            return wrong(c, v, ERR_INVALID, "%s needs \"%s\"", verbs[found].name, name);
    }
    *ret = (enum hook_verb)found;
    return check_whose(c, v, keys, *ret);
}

static int compile_block(struct compiler *c, const struct value *v, const struct hook_step **ret,
                         uint32_t *ret_n);

static int compile_for(struct compiler *c, const struct value *body, struct hook_step *step)
{
    size_t before = c->locals.n;
    if (c->nest == HOOK_MAX_NEST)
        return wrong(c, body, ERR_LIMIT, "loops nested deeper than the limit of %d", HOOK_MAX_NEST);
    c->nest++;
    vec_push(&c->locals, ((struct local){step->name, true, true}));
    int rc = compile_block(c, body, &step->body, &step->n_body);
    c->locals.n = before;
    c->nest--;
    return rc;
}

/* Whose data, and on which nodes. */
static int compile_whose(struct compiler *c, const struct keys *keys, struct hook_step *step)
{
    const struct value *of = keys->at[HOOK_VERB_COUNT + HOOK_KEYBIT_OF];
    const struct value *on = keys->at[HOOK_VERB_COUNT + HOOK_KEYBIT_ON];
    int rc = 0;
    if (of) {
        struct str *role = arena_new(c->a, struct str, 1);
        rc = compile_role(c, of, "of", role);
        step->roles = role;
        step->n_roles = 1;
    }
    return rc >= 0 && on ? compile_term(c, on, "on", &step->on) : rc;
}

/* What comes with the verb. */
static int compile_rest(struct compiler *c, const struct keys *keys, struct hook_step *step)
{
    static const uint8_t term_key[HOOK_VERB_COUNT] = {
        [HOOK_SET] = HOOK_KEYBIT_TO,
        [HOOK_STORE] = HOOK_KEYBIT_TO,
        [HOOK_LET] = HOOK_KEYBIT_TO,
        [HOOK_FOR] = HOOK_KEYBIT_IN,
    };
    const struct value *subject = keys->at[step->verb];
    size_t k = HOOK_VERB_COUNT + term_key[step->verb];
    int rc = 0;
    switch ((enum hook_verb)step->verb) {
    case HOOK_SET:
    case HOOK_UNSET:
    case HOOK_STORE:
    case HOOK_UNSTORE: rc = compile_path(c, subject, step); break;
    case HOOK_ENQUEUE: rc = compile_roles(c, subject, step); break;
    case HOOK_REFUSE: return compile_term(c, subject, "refuse", &step->term);
    case HOOK_LET:
    case HOOK_FOR: rc = compile_name(c, subject, step); break;
    case HOOK_VERB_COUNT: assert(!"no verb");
    }
    if (rc >= 0 && term_key[step->verb])
        rc = compile_term(c, keys->at[k], key_names[k], &step->term);
    if (rc >= 0)
        rc = compile_whose(c, keys, step);
    if (rc >= 0 && step->verb == HOOK_FOR)
        rc = compile_for(c, keys->at[HOOK_VERB_COUNT + HOOK_KEYBIT_DO], step);
    if (rc >= 0 && step->verb == HOOK_LET)
        vec_push(&c->locals, ((struct local){step->name, false,
                                             !keys->at[HOOK_VERB_COUNT + HOOK_KEYBIT_WHEN]}));
    return rc;
}

static int compile_step(struct compiler *c, const struct value *v, struct hook_step *step)
{
    struct keys keys = {0};
    enum hook_verb verb = HOOK_SET;
    if (v->kind != VALUE_MAP)
        return wrong(c, v, ERR_INVALID, "a step must be a map, not %s", show_kind(v));
    if (++c->n_steps > HOOK_MAX_STEPS)
        return wrong(c, v, ERR_LIMIT, "more steps than the limit of %d", HOOK_MAX_STEPS);
    int rc = read_keys(c, v, &keys);
    if (rc >= 0)
        rc = find_verb(c, v, &keys, &verb);
    if (rc < 0)
        return rc;
    *step = (struct hook_step){.verb = (uint8_t)verb, .place = {v->line, v->column}};
    const struct value *when = keys.at[HOOK_VERB_COUNT + HOOK_KEYBIT_WHEN];
    if (when)
        rc = compile_term(c, when, "when", &step->when);
    return rc < 0 ? rc : compile_rest(c, &keys, step);
}

static int compile_block(struct compiler *c, const struct value *v, const struct hook_step **ret,
                         uint32_t *ret_n)
{
    int rc = 0;
    if (v->kind != VALUE_LIST)
        return wrong(c, v, ERR_INVALID, "expected a list of steps, not %s", show_kind(v));
    struct hook_step *steps = arena_new(c->a, struct hook_step, v->n ? v->n : 1);
    size_t before = c->locals.n;
    for (uint32_t i = 0; i < v->n && rc >= 0; i++)
        rc = compile_step(c, &v->items[i], &steps[i]);
    c->locals.n = before;
    *ret = steps;
    *ret_n = v->n;
    return rc;
}

static void *array_keep(struct arena *a, const void *at, size_t n, size_t size)
{
    void *copy = arena_take_n(a, n ? n : 1, size);
    if (n)
        memcpy(copy, at, n * size);
    return copy;
}

/* The name of a hook that is built in. */
static int compile_builtin(struct compiler *c, const struct value *v, struct hook *h)
{
    struct str name = value_as_str(v);
    const char *known[16];
    size_t n = 0;
    uint32_t events;
    h->builtin = hook_builtin_find(name);
    if (h->builtin && h->builtin->events >> c->event & 1) {
        for (const char *const *at = h->builtin->reads; *at; at++)
            vec_push(&c->reads, str_of(*at));
        for (const char *const *at = h->builtin->sets; *at; at++)
            vec_push(&c->writes, ((struct hook_write){HOOK_SET, str_of(*at)}));
        for (const char *const *at = h->builtin->stores; *at; at++)
            vec_push(&c->writes, ((struct hook_write){HOOK_STORE, str_of(*at)}));
        return 0;
    }
    if (h->builtin)
        return wrong(c, v, ERR_INVALID, "the built-in hook %s is not for this event",
                     h->builtin->name);
    int rc = wrong(c, v, ERR_INVALID, "there is no built-in hook \"%.*s\"", shown(name), name.s);
    while (n < sizeof known / sizeof *known && hook_builtin_at(n, &known[n], &events))
        n++;
    const char *best = text_nearest(name, known, n);
    if (best)
        (void)err_hint(c->e, "did you mean \"%s\"?", best);
    else
        (void)err_hint(c->e, "steps are written as a list: [{set: a, to: 1}]");
    return rc;
}

int hook_compile(struct arena *a, const struct value *steps, enum hook_event event,
                 const struct hook_options *o, const struct hook **ret_h, struct err *e)
{
    struct compiler c = {.a = a, .event = event, .e = e};
    c.file = o && o->file ? arena_strdup(a, o->file) : NULL;
    c.library = o ? o->library : NULL;
    struct hook *h = arena_new(a, struct hook, 1);
    int rc = steps->kind == VALUE_STRING ? compile_builtin(&c, steps, h)
                                         : compile_block(&c, steps, &h->steps, &h->n_steps);
    if (rc >= 0) {
        const struct value *at = steps->kind == VALUE_LIST && steps->n ? &steps->items[0] : steps;
        h->file = c.file;
        h->place = (struct hook_place){at->line, at->column};
        h->event = event;
        h->reads = array_keep(a, c.reads.at, c.reads.n, sizeof *c.reads.at);
        h->writes = array_keep(a, c.writes.at, c.writes.n, sizeof *c.writes.at);
        h->roles = array_keep(a, c.roles.at, c.roles.n, sizeof *c.roles.at);
        h->n_reads = (uint32_t)c.reads.n;
        h->n_writes = (uint32_t)c.writes.n;
        h->n_roles = (uint32_t)c.roles.n;
        *ret_h = h;
    }
    vec_done(&c.locals);
    vec_done(&c.reads);
    vec_done(&c.writes);
    vec_done(&c.roles);
    strmap_done(&c.seen);
    return rc < 0 ? rc : 0;
}
