/* graph_word.c - the small words of task graphs: selectors, cross dependencies, tolerances
 *
 * A word is a name, /a pattern/, `master` or `self`.  Patterns are POSIX extended ones of users:
 * all are checked by schema_pattern_check() first, so that none can run away, and match at the
 * beginning of a name, as the files were written for.  Nothing here knows a load: an error says
 * which value it is about, and the caller where that stands.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "catalog/taskgraph.h"

#include "catalog/catalog_i.h"

#include <ctype.h>
#include <regex.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/text.h"
#include "model/schema.h"

enum {
    ID_MAX = 128,
    TOLERANCE_DIGITS = 9,
    PATTERNS_MAX = 2000, /* different ones; each is tried on many names */
};

/* --- patterns --- */

struct graph_patterns {
    struct strmap by_text; /* to regex_t of malloc() */
};

struct graph_patterns *graph_patterns_new(void)
{
    return xcalloc(1, sizeof(struct graph_patterns));
}

void graph_patterns_free(struct graph_patterns *p)
{
    if (!p)
        return;
    for (size_t i = 0; i < p->by_text.n; i++) {
        regex_t *re = (regex_t *)p->by_text.at[i].val;
        regfree(re);
        free(re);
    }
    strmap_done(&p->by_text);
    free(p);
}

static int pattern_get(struct graph_patterns *p, struct str text, const void **ret, struct err *e)
{
    uintptr_t known;

    if (strmap_get(&p->by_text, text, &known)) {
        *ret = (const void *)known;
        return 0;
    }
    if (p->by_text.n >= PATTERNS_MAX)
        return err_set(e, ERR_LIMIT, "more than %d different patterns", PATTERNS_MAX);
    int r = schema_pattern_check(text, e);
    if (r < 0)
        return r;
    SCOPED_ARENA(mem);
    regex_t *re = xcalloc(1, sizeof *re);
    const char *anchored = arena_printf(&mem, "^(%.*s)", (int)text.n, text.s);
    if (regcomp(re, anchored, REG_EXTENDED | REG_NOSUB)) {
        free(re);
        return err_set(e, ERR_INVALID, "the pattern cannot be anchored");
    }
    strmap_put(&p->by_text, text, (uintptr_t)re);
    *ret = re;
    return 0;
}

bool graph_word_matches(const struct graph_word *w, struct str name)
{
    switch ((enum word_kind)w->kind) {
    case WORD_NAME: return str_eq(w->text, name);
    case WORD_PATTERN: {
        regmatch_t part = {.rm_so = 0, .rm_eo = (regoff_t)name.n};
        return name.n <= SCHEMA_MAX_MATCH && !regexec(w->pattern, name.s, 1, &part, REG_STARTEND);
    }
    case WORD_MASTER: /* pseudo nodes, which names do not lead to */
    case WORD_SELF: break;
    }
    return false;
}

/* --- words --- */

bool graph_id_valid(struct str id)
{
    if (!id.n || id.n > ID_MAX)
        return false;
    for (size_t i = 0; i < id.n; i++)
        if (!isalnum((unsigned char)id.s[i]) && (!id.s[i] || !strchr("._-:#+", id.s[i])))
            return false;
    return true;
}

static bool is_pattern(struct str s)
{
    return s.n > 2 && s.s[0] == '/' && s.s[s.n - 1] == '/';
}

static int shown(struct str s)
{
    return (int)text_utf8_prefix(s.s, s.n < 64 ? s.n : 64);
}

static int word_read(struct graph_reader *r, const struct value *v, struct graph_word *ret,
                     struct err *e)
{
    struct str s = value_as_str(v);
    struct graph_word w = {.kind = WORD_NAME};

    r->at = v;
    if (v->kind != VALUE_STRING)
        return err_set(e, ERR_INVALID, "expected a name or a /pattern/, not %s",
                       value_kind_name((enum value_kind)v->kind));
    if (is_pattern(s)) {
        s = (struct str){s.s + 1, s.n - 2};
        w.kind = WORD_PATTERN;
        int failed = pattern_get(r->patterns, s, &w.pattern, e);
        if (failed < 0)
            return failed;
    } else if (!graph_id_valid(s)) {
        (void)err_set(e, ERR_INVALID, "\"%.*s\" is no name", shown(s), s.s);
        return err_hint(e, "a name is 1 to %d of A-Z a-z 0-9 . _ - : # +, a pattern is in slashes",
                        ID_MAX);
    }
    w.text = (struct str){arena_strndup(r->mem, s.s, s.n), s.n};
    *ret = w;
    return 0;
}

/* --- selectors --- */

static int selector_word(struct graph_reader *r, const struct value *v, unsigned allowed,
                         struct graph_word *ret, struct err *e)
{
    int failed = word_read(r, v, ret, e);

    if (failed < 0 || ret->kind != WORD_NAME)
        return failed;
    if (str_is(ret->text, "master")) {
        ret->kind = WORD_MASTER;
    } else if (str_is(ret->text, "self")) {
        ret->kind = WORD_SELF;
        if (!(allowed & SELECTOR_SELF)) {
            (void)err_set(e, ERR_INVALID, "\"self\" means nothing here");
            return err_hint(e, "it is for the nodes of cross dependencies");
        }
    }
    return 0;
}

int graph_selector_read(struct graph_reader *r, const struct value *v, unsigned allowed,
                        struct graph_selector *ret, struct err *e)
{
    struct graph_selector s = {.kind = SELECT_WORDS};
    bool list = v->kind == VALUE_LIST;
    uint32_t n = list ? v->n : 1;

    r->at = v;
    if (v->kind == VALUE_NULL) {
        s.kind = allowed & SELECTOR_NULL ? SELECT_NULL : SELECT_WORDS;
        *ret = s;
        return 0;
    }
    if (v->kind == VALUE_STRING && str_is(value_as_str(v), "*")) {
        s.kind = SELECT_ALL;
        *ret = s;
        return 0;
    }
    if (!list && v->kind != VALUE_STRING)
        return err_set(e, ERR_INVALID, "nodes are selected by text or a list, not %s",
                       value_kind_name((enum value_kind)v->kind));
    if (n > CATALOG_MAX_LIST)
        return err_set(e, ERR_LIMIT, "a selector of %u words, %d at most", n, CATALOG_MAX_LIST);
    struct graph_word *words = arena_new(r->mem, struct graph_word, n);
    for (uint32_t i = 0; i < n; i++) {
        const struct value *item = list ? &v->items[i] : v;
        if (list && str_is(value_as_str(item), "*")) {
            r->doubt = item;
            r->doubt_why = "\"*\" in a list matches nothing; it stands alone, or write /.*/";
            continue;
        }
        int failed = selector_word(r, item, allowed, &words[s.n], e);
        if (failed < 0)
            return failed;
        s.n++;
    }
    s.words = words;
    *ret = s;
    return 0;
}

/* --- cross dependencies --- */

static int cross_policy(struct graph_reader *r, const struct value *v, struct graph_cross *c,
                        struct err *e)
{
    struct str s = value_as_str(v);

    r->at = v;
    c->any = str_is(s, "any");
    if (c->any || str_is(s, "all") || v->kind == VALUE_NULL)
        return 0;
    return err_set(e, ERR_INVALID, "\"policy\" must be one of all, any");
}

int graph_cross_item(struct graph_reader *r, const struct value *v, struct graph_cross *ret,
                     struct err *e)
{
    struct graph_cross c = {.place = catalog_where_of(v), .where = {.kind = SELECT_ALL}};
    const struct value *name = NULL, *where = NULL;
    int failed = 0;

    r->at = v;
    if (v->kind != VALUE_MAP)
        return err_set(e, ERR_INVALID, "a cross dependency is a map with a name, not %s",
                       value_kind_name((enum value_kind)v->kind));
    for (uint32_t i = 0; i < v->n && failed >= 0; i++) {
        const struct member *m = &v->members[i];
        struct str key = {m->key, m->key_n};
        if (str_is(key, "name")) {
            name = &m->v;
        } else if (str_is(key, "tags") || str_is(key, "role") || str_is(key, "roles")) {
            /* As with tasks, tags come before roles. */
            where = where && !str_is(key, "tags") ? where : &m->v;
        } else if (str_is(key, "policy")) {
            failed = cross_policy(r, &m->v, &c, e);
        } else if (r->lenient) {
            r->doubt = &m->v;
            r->doubt_why = "unknown key of a cross dependency";
        } else {
            r->at = &m->v;
            failed = err_set(e, ERR_INVALID, "unknown key \"%.*s\" of a cross dependency",
                             shown(key), key.s);
            (void)err_hint(e, "it has name, role or tags, and policy");
        }
    }
    if (failed >= 0 && !name) {
        r->at = v;
        failed = err_set(e, ERR_INVALID, "a cross dependency needs a name");
    }
    if (failed >= 0)
        failed = word_read(r, name, &c.name, e);
    if (failed >= 0 && where)
        failed = graph_selector_read(r, where, SELECTOR_SELF | SELECTOR_NULL, &c.where, e);
    if (failed < 0)
        return failed;
    *ret = c;
    return 0;
}

int graph_cross_read(struct arena *a, struct graph_patterns *p, const struct value *v,
                     struct graph_cross *ret, struct err *e)
{
    struct graph_reader r = {.mem = a, .patterns = p, .lenient = true};
    return graph_cross_item(&r, v, ret, e);
}

/* --- numbers --- */

uint32_t graph_strategy_limit(const struct graph_strategy *s)
{
    return s->type == STRATEGY_ONE_BY_ONE ? 1 : s->amount;
}

bool graph_tolerance_read(const struct value *v, struct graph_tolerance *ret)
{
    struct str s = value_as_str(v);
    int64_t value = 0;
    bool percent = false, negative = false;

    *ret = (struct graph_tolerance){0};
    if (v->kind == VALUE_INT) {
        if (v->i < INT32_MIN || v->i > INT32_MAX)
            return false;
        *ret = (struct graph_tolerance){true, false, (int32_t)v->i};
        return true;
    }
    while (s.n && s.s[s.n - 1] == ' ')
        s.n--;
    if (s.n && s.s[s.n - 1] == '%') {
        percent = true;
        s.n--;
    }
    while (s.n && *s.s == ' ')
        s = (struct str){s.s + 1, s.n - 1};
    if (s.n && (*s.s == '-' || *s.s == '+')) {
        negative = *s.s == '-';
        s = (struct str){s.s + 1, s.n - 1};
    }
    if (!s.n || s.n > TOLERANCE_DIGITS)
        return false;
    for (size_t i = 0; i < s.n; i++) {
        if (s.s[i] < '0' || s.s[i] > '9')
            return false;
        value = value * 10 + (s.s[i] - '0');
    }
    *ret = (struct graph_tolerance){true, percent, (int32_t)(negative ? -value : value)};
    return true;
}

void catalog_read_failures(struct load *l, const struct value *v, struct graph_tolerance *ret)
{
    if (graph_tolerance_read(v, ret) && ret->value >= 0 && !(ret->percent && ret->value > 100))
        return;
    struct err *e = catalog_fault(l, CATALOG_ERROR, ERR_INVALID, catalog_where_of(v),
                                  "\"failures\" must be a number or a percentage");
    (void)err_hint(e, "write how many members may fail before the roll-out stops: 1, or \"10%%\"");
}

int64_t graph_tolerance_of(const struct graph_tolerance *t, uint32_t total)
{
    int64_t value = t->value;

    if (!t->given)
        return -1;
    if (t->percent) {
        int64_t all = value * (int64_t)total;
        /* Rounded down, also below zero: of seven, -50% must be four that succeed. */
        value = all / 100 - (all % 100 < 0);
    }
    if (value < 0)
        value += total;
    return value < 0 ? 0 : value;
}
