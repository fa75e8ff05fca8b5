/* rig.h - a small cluster for tests of the engine, driven and read by names
 *
 * The only rig of these tests.  draft.h adds plans that are made by hand, and access by id, for
 * what the words below cannot say.
 *
 * A plan is written as words, one a noderole, options in any order:
 *
 *     name@node  :3 tasks in a row  <parent,parent  >name (only after it)  +pool,pool (span over
 *     all its tasks)  =d (definition d of the rig; =de: of its first task, of the others)  #5
 *     weight  !a (rerun: always)  !d (destructive)  &1 (of its parents one is enough; &50p: half of
 *     them; parents by id, and < before it)  ~s (all its tasks are left out)  ~a ~e ~t ~o (joins:
 *     all, ended, tolerate, over)  %2 (group 2 of the rig's)
 *
 * Node 0 is none.
 *
 * A task is "name" or "name.2" (its second).  After every step the engine checks itself, and its
 * rows read back must give the same engine; either failing fails the test.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_UNIT_ANNEALER_RIG_H
#define TESTS_UNIT_ANNEALER_RIG_H

#include "annealer/annealer.h"
#include "base/alloc.h"
#include "model/plan.h"
#include "model/taskmsg.h"
#include "tap.h"

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-function"

enum { RIG_NAMES = 64, RIG_DEFS = 8, RIG_EDGES = 8, RIG_OP = 2, RIG_GROUPS = 4 };
struct rig {
    struct anneal *a;
    struct effects fx;
    struct err e;
    uint64_t now;
    char names[RIG_NAMES][16];      /* of noderoles, by id */
    struct plan_def defs[RIG_DEFS]; /* '0' is the plain one */
    uint32_t n_defs;
    struct plan_group groups[RIG_GROUPS]; /* of every plan */
    uint32_t n_groups;
    struct buf text;
    uint32_t steps;
    bool broken; /* a step left the engine in a wrong state: told once */
};

static uint32_t rig_noderole(const struct rig *r, const char *name, size_t len)
{
    for (uint32_t i = 1; i < RIG_NAMES; i++)
        if (strlen(r->names[i]) == len && !strncmp(r->names[i], name, len))
            return i;
    printf("Bail out! no noderole \"%.*s\"\n", (int)len, name);
    exit(1);
}

static uint32_t rig_task(const struct rig *r, const char *name)
{
    size_t len = strcspn(name, ". ");
    struct noderole_view v = {0};
    anneal_noderole(r->a, rig_noderole(r, name, len), &v);
    return v.first_task + (name[len] == '.' ? (uint32_t)atoi(name + len + 1) - 1 : 0);
}

static void rig_task_name(struct rig *r, uint32_t task)
{
    struct task_view t = {0};
    struct noderole_view v = {0};
    anneal_task(r->a, task, &t);
    anneal_noderole(r->a, t.noderole, &v);
    buf_printf(&r->text, "%s%s", r->text.len ? " " : "", r->names[t.noderole]);
    if (v.n_tasks > 1)
        buf_printf(&r->text, ".%u", task - v.first_task + 1);
}

static const char *rig_text(struct rig *r)
{
    return r->text.data ? r->text.data : "";
}

/* What is wrong with the engine, or with its copy through rows; false if nothing is. */
static bool rig_is_broken(struct rig *r, struct anneal *copy, char *why, size_t n)
{
    struct err e;
    SCOPED_BUF(rows);
    if (anneal_check(r->a, &e) < 0) {
        err_format(&e, why, n);
        return true;
    }
    anneal_save(r->a, &rows);
    snprintf(why, n, "read back it is another engine");
    if (anneal_restore(copy, buf_str(&rows), &e) < 0 || anneal_check(copy, &e) < 0)
        err_format(&e, why, n);
    else if (anneal_digest(copy) == anneal_digest(r->a))
        return false;
    return true;
}

/* The engine holds its invariants, and survives being written out and read back. */
static void rig_check(struct rig *r)
{
    char why[512];
    r->steps++;
    if (r->broken)
        return;
    struct anneal *copy = anneal_new();
    r->broken = rig_is_broken(r, copy, why, sizeof why);
    if (r->broken)
        ok(false, "step %u: %s", r->steps, why);
    anneal_free(copy);
}

static int rig_try(struct rig *r, struct event ev)
{
    ev.at_ms = r->now;
    uint64_t before = anneal_digest(r->a);
    int rc = anneal_step(r->a, &ev, &r->fx, &r->e);
    if (rc < 0 && anneal_digest(r->a) != before)
        ok(false, "a refused %s changed something", event_kind_name(ev.kind));
    rig_check(r);
    return rc;
}

static void rig_step(struct rig *r, struct event ev)
{
    if (rig_try(r, ev) < 0) {
        char why[512];
        ok(false, "%s: %s", event_kind_name(ev.kind), err_format(&r->e, why, sizeof why));
    }
}

/* One tenant, the standing operation and RIG_OP, jig 1, and `nodes` nodes that live. */
static void rig_init_with(struct rig *r, uint32_t nodes, uint32_t capacity,
                          const struct engine_settings *o)
{
    *r = (struct rig){.now = 1000, .n_defs = 1};
    r->a = anneal_new();
    r->defs[0] = (struct plan_def){.jig = 1, .digest = 7};
    if (o)
        rig_step(r, (struct event){.kind = EVENT_SETTINGS_SET, .settings = *o});
    rig_step(r, (struct event){.kind = EVENT_TENANT_ADD, .id = 1});
    rig_step(
        r, (struct event){.kind = EVENT_OPERATION_ADD, .id = 1, .n = 1, .flag = CLASS_BACKGROUND});
    rig_step(
        r, (struct event){.kind = EVENT_OPERATION_ADD, .id = RIG_OP, .n = 1, .flag = CLASS_NORMAL});
    rig_step(r, (struct event){.kind = EVENT_JIG_SET, .id = 1, .flag = 1, .n = 100});
    rig_step(r, (struct event){.kind = EVENT_CAPACITY_SET, .n = capacity});
    for (uint32_t n = 1; n <= nodes; n++) {
        rig_step(r, (struct event){
                        .kind = EVENT_NODE_ADD, .id = n, .n = 1, .flag = 1, .extra = ALIVE_ALIVE});
        rig_step(r, (struct event){.kind = EVENT_NODE_SEEN, .id = n, .a = 100 + n, .b = 1});
    }
}

static void rig_init(struct rig *r, uint32_t nodes)
{
    rig_init_with(r, nodes, 100, NULL);
}

static void rig_done(struct rig *r)
{
    anneal_free(r->a);
    effects_done(&r->fx);
    buf_done(&r->text);
}

/* A definition for `=` in plans: rig_def() returns its letter. */
static char rig_def(struct rig *r, struct plan_def d)
{
    d.jig = d.jig ? d.jig : 1;
    d.digest = d.digest ? d.digest : 100 + r->n_defs;
    r->defs[r->n_defs] = d;
    return (char)('0' + r->n_defs++);
}

/* A group for `%` in plans: rig_group() returns its number. */
static uint32_t rig_group(struct rig *r, uint32_t may_fail)
{
    r->groups[r->n_groups] = (struct plan_group){str_of("group"), may_fail};
    return ++r->n_groups;
}

static uint32_t rig_list(const struct rig *r, struct plan *p, const char *names, size_t len,
                         bool numbers, const uint32_t **ret)
{
    uint32_t *at = arena_new(&p->mem, uint32_t, RIG_EDGES), n = 0;
    for (size_t i = 0; i < len; i += strcspn(names + i, ",") + 1) {
        size_t word = strcspn(names + i, ",");
        word = word < len - i ? word : len - i;
        at[n++] = numbers ? (uint32_t)atoi(names + i) : rig_noderole(r, names + i, word);
    }
    *ret = at;
    return n;
}

static void rig_quorum(struct plan *p, struct plan_noderole *nr, const char *text, size_t len)
{
    struct plan_quorum *q = arena_new(&p->mem, struct plan_quorum, 1);
    *q = (struct plan_quorum){(uint32_t)atoi(text), text[len - 1] == 'p', nr->parents,
                              nr->n_parents};
    nr->quorums = q;
    nr->n_quorums = 1;
}

/* The plan that `text` describes, with the next ids of the engine. */
static struct plan *rig_plan_new(struct rig *r, const char *text)
{
    struct plan *p = plan_new();
    uint32_t firsts[RIG_NAMES] = {0}, counts[RIG_NAMES] = {0};
    uint32_t cohorts[RIG_NAMES] = {0};
    p->base_noderole = anneal_noderole_end(r->a);
    p->base_task = anneal_task_end(r->a);
    p->base_def = anneal_def_end(r->a);
    p->base_span = anneal_span_end(r->a);
    p->base_pool = anneal_pool_end(r->a);
    p->rebased = true;
    p->noderoles = arena_new(&p->mem, struct plan_noderole, RIG_NAMES);
    p->tasks = arena_new(&p->mem, struct plan_task, RIG_NAMES * 4);
    p->spans = arena_new(&p->mem, struct plan_span, RIG_NAMES);
    p->defs = r->defs;
    p->n_defs = r->n_defs;
    p->groups = r->groups;
    p->n_groups = r->n_groups;
    for (uint32_t i = 1; i < p->base_noderole; i++) {
        struct noderole_view v = {0};
        anneal_noderole(r->a, i, &v);
        firsts[i] = v.first_task;
        counts[i] = v.n_tasks;
        cohorts[i] = v.cohort;
    }
    for (const char *s = text; *s; s += strspn(s, " ")) {
        uint32_t id = p->base_noderole + p->n_noderoles, span = 0, def[2] = {0, 0}, weight = 1;
        struct plan_noderole *nr = &p->noderoles[p->n_noderoles++];
        const uint32_t *after = NULL;
        enum task_rule rule = RULE_RUN;
        uint32_t n_after = 0;
        size_t len = strcspn(s, "@");
        snprintf(r->names[id], sizeof r->names[id], "%.*s", (int)len, s);
        nr->n_tasks = 1;
        nr->first_task = p->n_tasks;
        for (s += len; *s && *s != ' ';) {
            char option = *s++;
            len = strcspn(s, "@:<>+=#!~%& ");
            switch (option) {
            case '@': nr->node = (uint32_t)atoi(s); break;
            case ':': nr->n_tasks = (uint32_t)atoi(s); break;
            case '#': weight = (uint32_t)atoi(s); break;
            case '=':
                def[0] = (uint32_t)(*s - '0');
                def[1] = (uint32_t)(s[len - 1] - '0');
                break;
            case '!':
                nr->flags |= *s == 'a' ? NODEROLE_F_RERUN_ALWAYS : NODEROLE_F_DESTRUCTIVE;
                break;
            case '~':
                rule = *s == 's'   ? RULE_SKIP
                       : *s == 'a' ? RULE_JOIN_ALL
                       : *s == 'e' ? RULE_JOIN_ENDED
                       : *s == 'o' ? RULE_JOIN_OVER
                                   : RULE_JOIN_TOLERATE;
                break;
            case '%': nr->group = (uint32_t)atoi(s); break;
            case '&': rig_quorum(p, nr, s, len); break;
            case '<': nr->n_parents = rig_list(r, p, s, len, false, &nr->parents); break;
            case '>': n_after = rig_list(r, p, s, len, false, &after); break;
            case '+':
                p->spans[p->n_spans].n_pools = rig_list(r, p, s, len, true,
                                                        &p->spans[p->n_spans].pools);
                span = p->base_span + p->n_spans++;
                break;
            }
            s += len;
        }
        firsts[id] = p->base_task + p->n_tasks;
        counts[id] = nr->n_tasks;
        for (uint32_t k = 0; k < nr->n_parents; k++)
            if (cohorts[nr->parents[k]] >= nr->cohort)
                nr->cohort = cohorts[nr->parents[k]] + 1;
        cohorts[id] = nr->cohort;
        for (uint32_t k = 0; k < nr->n_tasks; k++) {
            uint32_t *deps = arena_new(&p->mem, uint32_t, 2 * RIG_EDGES), d = 0;
            if (k > 0)
                deps[d++] = firsts[id] + k - 1;
            for (uint32_t x = 0; k == 0 && x < n_after; x++)
                deps[d++] = firsts[after[x]] + counts[after[x]] - 1;
            p->tasks[p->n_tasks++] = (struct plan_task){.noderole = id,
                                                        .def = p->base_def + def[k > 0],
                                                        .weight = weight,
                                                        .span = span,
                                                        .deps = deps,
                                                        .n_deps = d,
                                                        .rule = rule};
        }
    }
    return p;
}

static void rig_plan(struct rig *r, uint32_t op, const char *text)
{
    struct plan *p = rig_plan_new(r, text);
    rig_step(r, (struct event){.kind = EVENT_PLAN_APPLY, .op = op, .plan = p});
    plan_free(p);
}

/* What the last step started or asked again, in order: "a b.2 c/1" (c for the second time). */
static const char *rig_started(struct rig *r)
{
    buf_clear(&r->text);
    for (size_t i = 0; i < r->fx.sends.n; i++) {
        rig_task_name(r, r->fx.sends.at[i].task);
        if (r->fx.sends.at[i].asks)
            buf_printf(&r->text, "/%u", r->fx.sends.at[i].asks);
    }
    return rig_text(r);
}

static const char *rig_stopped(struct rig *r)
{
    buf_clear(&r->text);
    for (size_t i = 0; i < r->fx.stops.n; i++)
        rig_task_name(r, r->fx.stops.at[i].task);
    return rig_text(r);
}

static struct task_view rig_view(const struct rig *r, const char *task)
{
    struct task_view v = {0};
    anneal_task(r->a, rig_task(r, task), &v);
    return v;
}

static struct noderole_view rig_nr(const struct rig *r, const char *name)
{
    struct noderole_view v = {0};
    anneal_noderole(r->a, rig_noderole(r, name, strlen(name)), &v);
    return v;
}

static struct operation_view rig_op(const struct rig *r, uint32_t op)
{
    struct operation_view v = {0};
    anneal_operation(r->a, op, &v);
    return v;
}

/* "failed dependency": state and reason of an operation. */
static const char *rig_op_text(struct rig *r, uint32_t op)
{
    struct operation_view v = rig_op(r, op);
    buf_clear(&r->text);
    buf_printf(&r->text, "%s%s%s", operation_state_name(v.state), v.reason ? " " : "",
               reason_name(v.reason));
    return rig_text(r);
}

/* The states of the noderoles named, in that order. */
static const char *rig_states(struct rig *r, const char *names)
{
    buf_clear(&r->text);
    for (const char *s = names; *s; s += strspn(s, " ")) {
        size_t len = strcspn(s, " ");
        struct noderole_view v = {0};
        anneal_noderole(r->a, rig_noderole(r, s, len), &v);
        buf_printf(&r->text, "%s%s", r->text.len ? " " : "", noderole_state_name(v.state));
        s += len;
    }
    return rig_text(r);
}

/* The states of the tasks named, each with its reason if it has one: "FAILED:exit". */
static const char *rig_tasks(struct rig *r, const char *names)
{
    buf_clear(&r->text);
    for (const char *s = names; *s; s += strspn(s, " ")) {
        struct task_view v = rig_view(r, s);
        buf_printf(&r->text, "%s%s", r->text.len ? " " : "", task_state_name(v.state));
        if (v.reason)
            buf_printf(&r->text, ":%s", reason_name(v.reason));
        s += strcspn(s, " ");
    }
    return rig_text(r);
}

static struct event rig_result(const struct rig *r, const char *task, enum outcome o)
{
    struct task_view v = rig_view(r, task);
    return (struct event){.kind = EVENT_RESULT,
                          .id = v.id,
                          .attempt = v.attempt,
                          .extra = v.asks,
                          .flag = (uint8_t)o};
}

static void rig_answer(struct rig *r, const char *task, enum outcome o)
{
    rig_step(r, rig_result(r, task, o));
}

static void rig_ok(struct rig *r, const char *task)
{
    rig_answer(r, task, OUTCOME_OK);
}

static void rig_fail(struct rig *r, const char *task)
{
    rig_answer(r, task, OUTCOME_FAILED);
}

static void rig_again(struct rig *r, const char *task, uint64_t ms)
{
    struct event ev = rig_result(r, task, OUTCOME_AGAIN);
    ev.ms = ms;
    rig_step(r, ev);
}

static void rig_all_ok(struct rig *r, const char *tasks)
{
    for (const char *s = tasks; *s; s += strcspn(s, " "), s += strspn(s, " "))
        rig_ok(r, s);
}

/* One event about one object. */
static void rig_do(struct rig *r, enum event_kind kind, uint32_t id)
{
    rig_step(r, (struct event){.kind = kind, .id = id});
}

static void rig_after(struct rig *r, uint64_t ms)
{
    r->now += ms;
    rig_step(r, (struct event){.kind = EVENT_TICK});
}

static void rig_seen(struct rig *r, uint32_t node, uint64_t machine, uint64_t boot)
{
    rig_step(r, (struct event){.kind = EVENT_NODE_SEEN, .id = node, .a = machine, .b = boot});
}

static void rig_data(struct rig *r, const char *name, uint64_t data)
{
    rig_step(r, (struct event){
                    .kind = EVENT_DATA_SET, .id = rig_noderole(r, name, strlen(name)), .a = data});
}

static void rig_op_add(struct rig *r, uint32_t op, uint32_t tenant, enum start_class class)
{
    rig_step(r, (struct event){
                    .kind = EVENT_OPERATION_ADD, .id = op, .n = tenant, .flag = (uint8_t) class});
}

static void rig_rerun(struct rig *r, uint32_t op, const char *name)
{
    uint32_t id = rig_noderole(r, name, strlen(name));
    rig_op_add(r, op, 1, CLASS_NORMAL);
    rig_step(r, (struct event){.kind = EVENT_RERUN, .op = op, .ids = &id, .n_ids = 1});
}

#pragma GCC diagnostic pop

#endif
