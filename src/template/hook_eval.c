/* hook_eval.c - runs a hook: steps in, actions out
 *
 * Blocks are on a stack of their own, at most HOOK_MAX_NEST deep below the hook itself.  All
 * expressions share one budget, each step takes a step of it, and what is written is measured as if
 * it were copied: values may share parts, and whoever applies the outcome will copy them.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "template/hook.h"
#include "template/hook_i.h"

#include <assert.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/map.h"
#include "base/text.h"
#include "template/expr_i.h"

struct block { /* a list of steps under way */
    const struct hook_step *steps;
    uint32_t n, next;
    size_t locals;             /* when it began */
    const struct value *items; /* that are left, of a loop */
    uint32_t n_items, item;
};
struct run {
    const struct hook *h;
    struct arena *mem;
    struct expr_scope scope; /* of the locals */
    struct expr_budget budget;
    VEC(struct expr_var) locals;
    VEC(struct hook_action) actions;
    struct strmap enqueued;
    size_t written;
    bool refused;
    struct block blocks[HOOK_MAX_NEST + 1];
    uint32_t n_blocks;
    struct err *e;
};

static int run_wrong(struct run *r, const struct hook_step *step, enum errcode code,
                     const char *what)
{
    int rc = err_set(r->e, code, "%s: %s: %s", hook_event_name(r->h->event),
                     hook_verb_name((enum hook_verb)step->verb), what);
    return hook_point(r->h->file, step->place, rc, r->e);
}

static const struct expr_scope *scope_now(struct run *r)
{
    r->scope.vars = r->locals.at;
    r->scope.n = (uint32_t)r->locals.n;
    return &r->scope;
}

static int term_eval(struct run *r, const struct hook_term *t, const struct value **ret_v)
{
    if (t->v) {
        *ret_v = t->v;
        return 0;
    }
    int rc = expr_eval_defined(t->x, scope_now(r), r->mem, ret_v, r->e);
    if (rc < 0 && r->e)
        (void)err_wrap(r->e, "%s", hook_event_name(r->h->event));
    return rc;
}

/* True, false or an error. */
static int condition(struct run *r, const struct hook_step *step)
{
    if (step->when.v)
        return ops_truth(step->when.v);
    if (!step->when.x)
        return 1;
    int rc = expr_eval_truth(step->when.x, scope_now(r), r->e);
    if (rc < 0 && r->e)
        (void)err_wrap(r->e, "%s: when", hook_event_name(r->h->event));
    return rc;
}

/* --- verbs --- */

static int path_eval(struct run *r, const struct hook_step *step, struct str *ret)
{
    SCOPED_BUF(path);
    for (uint32_t i = 0; i < step->n_parts; i++) {
        const struct hook_part *part = &step->parts[i];
        const struct value *v = NULL;
        char digits[24];
        struct str key = part->key;
        if (part->x) {
            int rc = term_eval(r, &(struct hook_term){.x = part->x}, &v);
            if (rc < 0)
                return rc;
            key = value_as_str(v);
            if (v->kind == VALUE_INT)
                key = (struct str){
                    digits, (size_t)snprintf(digits, sizeof digits, "%lld", (long long)v->i)};
            if (!hook_key_ok(key))
                return run_wrong(r, step, ERR_INVALID, "a computed part of the path is no key");
        }
        if (i)
            buf_putc(&path, '/');
        buf_put(&path, key.s, key.n);
    }
    *ret = (struct str){arena_strndup(r->mem, path.data, path.len), path.len};
    return 0;
}

/* The nodes that `on` names; one without a name, that of the event, if it is not given. */
static int nodes_eval(struct run *r, const struct hook_step *step, const struct value **ret_nodes,
                      uint32_t *ret_n)
{
    static const struct value same = {.kind = VALUE_STRING, .s = ""};
    const struct value *on = &same;
    bool given = step->on.x || step->on.v;
    int rc = given ? term_eval(r, &step->on, &on) : 0;
    if (rc < 0)
        return rc;
    *ret_nodes = on->kind == VALUE_LIST ? on->items : on;
    *ret_n = on->kind == VALUE_LIST ? on->n : 1;
    uint64_t steps = (uint64_t)*ret_n * (step->n_roles ? step->n_roles : 1);
    if (steps > r->budget.steps)
        return run_wrong(r, step, ERR_LIMIT, "more noderoles than the hook has steps left");
    r->budget.steps -= (uint32_t)steps;
    for (uint32_t i = 0; given && i < *ret_n; i++)
        if (!text_is_fqdn(value_as_str(&(*ret_nodes)[i])))
            return run_wrong(r, step, ERR_INVALID,
                             "on must give the name of a node or a list of names");
    return 0;
}

static int run_write(struct run *r, const struct hook_step *step)
{
    struct hook_action action = {.verb = (enum hook_verb)step->verb};
    const struct value *nodes;
    uint32_t n;
    int rc = path_eval(r, step, &action.path);
    if (rc >= 0 && (step->term.x || step->term.v))
        rc = term_eval(r, &step->term, &action.v);
    if (rc >= 0)
        rc = nodes_eval(r, step, &nodes, &n);
    if (rc < 0)
        return rc;
    r->written += action.path.n;
    if (action.v && r->written <= EXPR_MAX_BYTES)
        r->written += expr_measure(action.v, EXPR_MAX_BYTES - r->written);
    if (r->written > EXPR_MAX_BYTES) {
        char what[100];
        snprintf(what, sizeof what, "more bytes written than the limit of %d", EXPR_MAX_BYTES);
        return run_wrong(r, step, ERR_LIMIT, what);
    }
    if (step->n_roles)
        action.role = step->roles[0];
    for (uint32_t i = 0; i < n; i++) {
        action.node = value_as_str(&nodes[i]);
        vec_push(&r->actions, action);
    }
    return 0;
}

/* The same run twice is one run. */
static void enqueue_one(struct run *r, struct str role, struct str node)
{
    SCOPED_BUF(key);
    buf_put(&key, role.s, role.n);
    buf_putc(&key, '\n');
    buf_put(&key, node.s, node.n);
    if (strmap_put(&r->enqueued, buf_str(&key), 1))
        vec_push(&r->actions,
                 ((struct hook_action){.verb = HOOK_ENQUEUE, .role = role, .node = node}));
}

static int run_enqueue(struct run *r, const struct hook_step *step)
{
    const struct value *nodes;
    uint32_t n;
    int rc = nodes_eval(r, step, &nodes, &n);
    for (uint32_t i = 0; rc >= 0 && i < n; i++)
        for (uint32_t k = 0; k < step->n_roles; k++)
            enqueue_one(r, step->roles[k], value_as_str(&nodes[i]));
    return rc;
}

static int run_refuse(struct run *r, const struct hook_step *step)
{
    const struct value *text;
    int rc = term_eval(r, &step->term, &text);
    if (rc < 0)
        return rc;
    if (text->kind != VALUE_STRING || !text->n)
        return run_wrong(r, step, ERR_INVALID, "the reason must be text");
    vec_push(&r->actions, ((struct hook_action){.verb = HOOK_REFUSE,
                                                .text = value_as_str(text),
                                                .line = step->place.line,
                                                .column = step->place.column}));
    r->refused = true;
    return 0;
}

/* Something undefined may have a name: there is `is defined` for it. */
static int run_let(struct run *r, const struct hook_step *step)
{
    const struct value *v = step->term.v;
    int rc = v ? 0 : expr_eval(step->term.x, scope_now(r), r->mem, &v, r->e);
    if (rc < 0) {
        if (r->e)
            (void)err_wrap(r->e, "%s", hook_event_name(r->h->event));
        return rc;
    }
    for (size_t i = r->locals.n; i-- > 0;)
        if (str_eq(r->locals.at[i].name, step->name)) {
            r->locals.at[i].v = v;
            return 0;
        }
    vec_push(&r->locals, ((struct expr_var){step->name, v}));
    return 0;
}

/* The block begins before its first item: block_next() takes that. */
static int run_for(struct run *r, const struct hook_step *step)
{
    const struct value *v;
    int rc = term_eval(r, &step->term, &v);
    if (rc < 0)
        return rc;
    struct block b = {.steps = step->body, .n = step->n_body, .next = step->n_body};
    if (v->kind == VALUE_LIST) {
        b.items = v->items;
        b.n_items = v->n;
    } else if (v->kind == VALUE_MAP) {
        size_t bytes = ((size_t)v->n + 4) * 4 * sizeof *v; /* with what a growing list leaves */
        if (bytes > r->budget.bytes)
            return run_wrong(r, step, ERR_LIMIT, "a map with more keys than there is memory for");
        r->budget.bytes -= bytes;
        struct value *keys = value_list(r->mem);
        for (uint32_t i = 0; i < v->n; i++)
            value_add(r->mem, keys,
                      &(struct value){
                          .kind = VALUE_STRING, .n = v->members[i].key_n, .s = v->members[i].key});
        b.items = keys->items;
        b.n_items = keys->n;
    } else {
        return run_wrong(r, step, ERR_INVALID, "what is gone through must be a list or a map");
    }
    assert(r->n_blocks <= HOOK_MAX_NEST);
    vec_push(&r->locals, ((struct expr_var){step->name, NULL}));
    b.locals = r->locals.n;
    r->blocks[r->n_blocks++] = b;
    return 0;
}

/* --- the loop --- */

static int run_step(struct run *r, const struct hook_step *step)
{
    if (r->budget.steps == 0)
        return run_wrong(r, step, ERR_LIMIT, "more steps than the limit of the hook");
    r->budget.steps--;
    int rc = condition(r, step);
    if (rc <= 0)
        return rc;
    switch ((enum hook_verb)step->verb) {
    case HOOK_SET:
    case HOOK_UNSET:
    case HOOK_STORE:
    case HOOK_UNSTORE: return run_write(r, step);
    case HOOK_ENQUEUE: return run_enqueue(r, step);
    case HOOK_REFUSE: return run_refuse(r, step);
    case HOOK_LET: return run_let(r, step);
    case HOOK_FOR: return run_for(r, step);
    case HOOK_VERB_COUNT: break;
    }
    return 0;
}

/* The step to run next, NULL at the end: of a block that has ended the loop goes round or up. */
static const struct hook_step *run_next(struct run *r)
{
    while (r->n_blocks) {
        struct block *b = &r->blocks[r->n_blocks - 1];
        if (b->next < b->n)
            return &b->steps[b->next++];
        r->locals.n = b->locals;
        if (b->n && b->item < b->n_items) {
            r->locals.at[b->locals - 1].v = &b->items[b->item++];
            b->next = 0;
            continue;
        }
        r->n_blocks--;
        if (r->n_blocks) /* with a loop its variable goes */
            r->locals.n = b->locals - 1;
    }
    return NULL;
}

static int run_builtin(struct run *r)
{
    struct builtin_run b = {.event = r->h->event, .scope = scope_now(r), .mem = r->mem};
    int rc = r->h->builtin->run(&b, r->e);
    for (size_t i = 0; rc >= 0 && i < b.actions.n; i++) {
        vec_push(&r->actions, b.actions.at[i]);
        struct hook_action *last = &r->actions.at[r->actions.n - 1];
        last->line = r->h->place.line;
        last->column = r->h->place.column;
        r->refused |= last->verb == HOOK_REFUSE;
    }
    vec_done(&b.actions);
    if (rc < 0 && r->e) {
        (void)err_wrap(r->e, "%s: %s", hook_event_name(r->h->event), r->h->builtin->name);
        (void)hook_point(r->h->file, r->h->place, rc, r->e);
    }
    return rc;
}

int hook_eval(const struct hook *h, const struct expr_scope *scope, struct arena *mem,
              struct hook_outcome *ret, struct err *e)
{
    struct run r = {.h = h, .mem = mem, .e = e};
    const struct hook_step *step;
    int rc = 0;
    r.budget = scope && scope->budget
                   ? *scope->budget
                   : (struct expr_budget){.steps = EXPR_MAX_STEPS, .bytes = EXPR_MAX_BYTES};
    uint32_t before = r.budget.steps;
    r.scope = (struct expr_scope){
        .outer = scope, .ctx = scope ? scope->ctx : NULL, .budget = &r.budget};
    r.blocks[r.n_blocks++] = (struct block){.steps = h->steps, .n = h->n_steps};
    if (h->builtin)
        rc = run_builtin(&r);
    while (rc >= 0 && !r.refused && (step = run_next(&r)))
        rc = run_step(&r, step);
    if (scope && scope->budget)
        *scope->budget = r.budget;
    if (rc >= 0) {
        struct hook_action *at = arena_new(mem, struct hook_action, r.actions.n + 1);
        if (r.actions.n)
            memcpy(at, r.actions.at, r.actions.n * sizeof *at);
        *ret = (struct hook_outcome){at, (uint32_t)r.actions.n, r.refused, before - r.budget.steps};
    }
    vec_done(&r.locals);
    vec_done(&r.actions);
    strmap_done(&r.enqueued);
    return rc < 0 ? rc : 0;
}

/* --- what is known beforehand --- */

enum hook_event hook_event_of(const struct hook *h)
{
    return h->event;
}

bool hook_read_at(const struct hook *h, size_t i, struct str *ret_path)
{
    if (i >= h->n_reads)
        return false;
    *ret_path = h->reads[i];
    return true;
}

bool hook_write_at(const struct hook *h, size_t i, enum hook_verb *ret_verb, struct str *ret_path)
{
    if (i >= h->n_writes)
        return false;
    *ret_verb = (enum hook_verb)h->writes[i].verb;
    *ret_path = h->writes[i].path;
    return true;
}

bool hook_role_at(const struct hook *h, size_t i, struct str *ret_role, uint32_t *ret_line,
                  uint32_t *ret_column)
{
    if (i >= h->n_roles)
        return false;
    *ret_role = h->roles[i].name;
    *ret_line = h->roles[i].place.line;
    *ret_column = h->roles[i].place.column;
    return true;
}

const char *hook_file(const struct hook *h)
{
    return h->file;
}

void hook_where(const struct hook *h, char *ret, size_t n)
{
    snprintf(ret, n, "%s%s%u:%u", h->file ? h->file : "", h->file ? ":" : "", h->place.line,
             h->place.column);
}
