/* commit_bench.h - an engine with a parent and its children, its commit step, and a store in memory
 *
 * Engine, commit step and store are real.  A crash is a second handle on the same rows.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_COMMIT_BENCH_H
#define TESTS_COMMIT_BENCH_H

#include "base/alloc.h"
#include "model/taskmsg.h"
#include "server/commit.h"
#include "server/restore.h"
#include "tap.h"

enum { CHILDREN = 6, TASKS = 1 + CHILDREN };

struct bench {
    struct store *store;
    struct anneal *a;
    struct commit *c;
    struct err e;
    uint64_t now_ms;
};

static int feed_note(struct bench *b, struct event ev, const struct commit_note *note)
{
    ev.at_ms = b->now_ms;
    return -commit_event(b->c, &ev, note, NULL, &b->e);
}

static int feed(struct bench *b, struct event ev)
{
    return feed_note(b, ev, NULL);
}

/* Closes the open group and writes its first n transactions; all of them: durable. */
static struct group *write_some(struct bench *b, size_t n)
{
    struct group *g = commit_close(b->c);
    size_t from = 0;
    for (size_t i = 0; g && i < g->slices.n && i < n; i++) {
        if (store_commit(b->store, g->ops.at + from, g->slices.at[i] - from, &b->e) < 0)
            ok(false, "group %d: %s", (int)g->number, b->e.text);
        from = g->slices.at[i];
    }
    if (g && n >= g->slices.n)
        commit_durable(b->c, g->number);
    return g;
}

static void settle(struct bench *b)
{
    group_free(write_some(b, SIZE_MAX));
}

static void bench_init(struct bench *b, uint32_t cone_large)
{
    *b = (struct bench){.now_ms = 1000};
    store_open(&(struct store_options){0}, &b->store, &b->e);
    b->a = anneal_new();
    b->c = commit_new(b->a, 0, 0);
    commit_set_slice(b->c, 2);
    if (cone_large)
        feed(b, (struct event){.kind = EVENT_SETTINGS_SET, .settings.cone_large = cone_large});
    feed_note(b, (struct event){.kind = EVENT_TENANT_ADD, .id = 1},
              &(struct commit_note){.fixed = &(struct row_tenant){.name = str_of("acme")}});
    for (uint32_t op = 1; op <= 2; op++)
        feed(b,
             (struct event){.kind = EVENT_OPERATION_ADD, .id = op, .n = 1, .flag = CLASS_NORMAL});
    feed_note(b, (struct event){.kind = EVENT_JIG_SET, .id = 1, .flag = 1, .n = 50},
              &(struct commit_note){.fixed = &(struct row_jig){.name = str_of("shell")}});
    feed(b, (struct event){.kind = EVENT_CAPACITY_SET, .n = 50});
    for (uint32_t id = 1; id <= TASKS; id++) {
        struct row_node fixed = {.name = str_of("web")};
        feed_note(b,
                  (struct event){
                      .kind = EVENT_NODE_ADD, .id = id, .n = 1, .flag = 1, .extra = ALIVE_ALIVE},
                  &(struct commit_note){.fixed = &fixed});
    }
}

static void bench_done(struct bench *b)
{
    commit_free(b->c);
    anneal_free(b->a);
    store_close(b->store);
}

/* A parent with a child on every other node, one task each. */
static int plant(struct bench *b)
{
    SCOPED(plan) *p = plan_new();
    static const uint32_t parent[] = {PLAN_NEW | 0}, dep[] = {PLAN_NEW | 0};
    struct plan_def def = {.name = str_of("t"),
                           .role = str_of("r"),
                           .jig = 1,
                           .digest = 5,
                           .body = str_of("{\"type\":\"shell\"}")};
    p->defs = &def;
    p->n_defs = 1;
    p->n_noderoles = p->n_tasks = TASKS;
    p->noderoles = arena_new(&p->mem, struct plan_noderole, TASKS);
    p->tasks = arena_new(&p->mem, struct plan_task, TASKS);
    for (uint32_t i = 0; i < TASKS; i++) {
        uint32_t *mine = arena_new(&p->mem, uint32_t, 2);
        mine[0] = parent[0];
        mine[1] = dep[0];
        p->noderoles[i] = (struct plan_noderole){.role = str_of("r"),
                                                 .node = i + 1,
                                                 .cohort = 1 + (i > 0),
                                                 .first_task = i,
                                                 .n_tasks = 1,
                                                 .parents = mine,
                                                 .n_parents = i > 0,
                                                 .user = str_of("{\"k\":1}")};
        p->tasks[i] = (struct plan_task){.noderole = PLAN_NEW | i,
                                         .def = PLAN_NEW | 0,
                                         .weight = 1,
                                         .deps = mine + 1,
                                         .n_deps = i > 0};
    }
    plan_rebase(p, anneal_def_end(b->a), anneal_noderole_end(b->a), anneal_task_end(b->a),
                anneal_span_end(b->a), anneal_pool_end(b->a));
    return feed(b, (struct event){.kind = EVENT_PLAN_APPLY, .op = 2, .plan = p});
}

static int answer_in(struct bench *b, uint32_t task, enum outcome o, enum phase phase)
{
    struct task_view v = {0};
    anneal_task(b->a, task, &v);
    return feed_note(b,
                     (struct event){.kind = EVENT_RESULT,
                                    .id = task,
                                    .attempt = v.attempt,
                                    .extra = v.asks,
                                    .flag = (uint8_t)o,
                                    .phase = (uint8_t)phase},
                     &(struct commit_note){.text = "all well", .wall_ms = 1700000000123});
}

static int answer(struct bench *b, uint32_t task, enum outcome o)
{
    return answer_in(b, task, o, PHASE_NONE);
}

static uint32_t count_ops(const struct group *g, enum row_table t, int verb, uint64_t key)
{
    uint32_t n = 0;
    for (size_t i = 0; i < g->ops.n; i++)
        n += g->ops.at[i].table == t && (verb < 0 || g->ops.at[i].verb == verb) &&
             (key == 0 || row_key(t, g->ops.at[i].row) == key);
    return n;
}

static int count_row(void *arg, enum row_table t, const void *row, struct err *e)
{
    (void)t;
    (void)row;
    (void)e;
    ++*(uint32_t *)arg;
    return 0;
}

static uint32_t stored(struct bench *b, enum row_table t)
{
    uint32_t n = 0;
    store_each(b->store, t, count_row, &n, &b->e);
    return n;
}

/* The digest of what a restart would find; the group it ends with. */
static uint64_t restored(struct bench *b, uint64_t *ret_group)
{
    struct store *s = store_mem_reopen(b->store);
    struct anneal *a = NULL;
    struct commit *c = NULL;
    struct row_meta meta = {0};
    uint64_t digest = 0;
    if (restore_engine(s, &a, &c, &meta, &b->e) >= 0) {
        digest = anneal_digest(a);
        *ret_group = meta.group_no;
        is_int(commit_open_group(c), meta.group_no + 1, "a restart goes on with the next group");
        ok(!commit_has_work(c), "and has nothing to write");
    }
    commit_free(c);
    anneal_free(a);
    store_close(s);
    return digest;
}

/* Goes on from what is stored, as after a crash. */
static void restart(struct bench *b)
{
    struct store *s = store_mem_reopen(b->store);
    struct row_meta meta = {0};
    commit_free(b->c);
    anneal_free(b->a);
    store_close(b->store);
    b->store = s;
    b->a = NULL;
    b->c = NULL;
    if (restore_engine(s, &b->a, &b->c, &meta, &b->e) < 0)
        ok(false, "restart: %s", b->e.text);
    commit_set_slice(b->c, 2);
}

#endif
