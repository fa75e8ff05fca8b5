/* peer.h - more workers for a rig: each a queue of its own to the same server
 *
 * A peer does what a test says, and keeps what it was sent.  Time passes for the server alone, by
 * its clock's offset: leases of many seconds run out without anybody waiting for them.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_SERVER_PEER_H
#define TESTS_SERVER_PEER_H

#include "server_rig.h"

struct peer {
    struct rig *g;
    const char *name;
    struct queue *queue;
    VEC(struct taskmsg) got; /* texts in the rig's arena */
    uint64_t seq;
};

/* One whose tasks go to their nodes, one whose tasks run where the worker is, one that few have. */
#define PEER_CATALOG                                                                               \
    "barclamp: t\n"                                                                                \
    "version: 1.0.0\n"                                                                             \
    "description: for tests\n"                                                                     \
    "jigs:\n"                                                                                      \
    "  - {name: remote, implementation: shell, active: true, reach: node}\n"                       \
    "  - {name: here, implementation: test, active: true, reach: node}\n"                          \
    "  - {name: rare, implementation: noop, active: true, reach: node}\n"                          \
    "roles:\n"                                                                                     \
    "  - {name: far, jig: remote, actions: {converge: [{name: reach, params: {script: "            \
    "'true'}}]}}\n"                                                                                \
    "  - {name: far2, jig: remote, actions: {converge: [{name: again, params: {script: "           \
    "'true'}}]}}\n"                                                                                \
    "  - {name: near, jig: here, actions: {converge: [{name: stay, params: {}, retries: 1}]}}\n"   \
    "  - {name: odd, jig: rare, actions: {converge: [{name: seldom, params: {}}]}}\n"              \
    "  - name: long\n"                                                                             \
    "    jig: remote\n"                                                                            \
    "    actions:\n"                                                                               \
    "      converge:\n"                                                                            \
    "        - {name: first, params: {script: 'true'}}\n"                                          \
    "        - {name: second, params: {script: 'true'}}\n"                                         \
    "        - {name: third, params: {script: 'true'}}\n"

static void peer_deliver(void *arg, const struct str *messages, size_t n)
{
    struct peer *p = arg;
    for (size_t i = 0; i < n; i++) {
        struct taskmsg m;
        struct err e;
        if (ok(taskmsg_parse(&p->g->mem, messages[i], &m, &e) >= 0, "%s can read its message",
               p->name))
            vec_push(&p->got, m);
    }
}

/* Comes, and says nothing yet. */
__attribute__((unused)) static void peer_attach(struct peer *p)
{
    struct err e;
    ok(workers_attach(p->g->server, p->name, p->queue, &e) == 0, "%s comes", p->name);
    queue_worker_attach(p->queue, p->g->loop, peer_deliver, p);
}

__attribute__((unused)) static void peer_open(struct peer *p, struct rig *g, const char *name)
{
    *p = (struct peer){.g = g, .name = name, .queue = queue_new_embedded()};
    peer_attach(p);
}

/* Before the server ends; what it had sent and nobody read goes with it. */
__attribute__((unused)) static void peer_leave(struct peer *p)
{
    workers_detach(p->g->server, p->name);
    queue_worker_detach(p->queue);
}

__attribute__((unused)) static void peer_close(struct peer *p)
{
    peer_leave(p);
    queue_free(p->queue);
    vec_done(&p->got);
}

static void peer_send(struct peer *p, const struct taskmsg *m)
{
    SCOPED_BUF(b);
    taskmsg_write(&b, m);
    queue_to_server(p->queue, buf_str(&b));
    queue_flush(p->queue);
    rig_turn(p->g);
    rig_settle(p->g);
}

struct peer_says {
    uint32_t capacity;
    const char *jigs[4]; /* none: shell and test */
    struct held_attempt held[10], released[4];
    uint32_t n_held, n_released;
    bool draining;
};

static void peer_report(struct peer *p, enum taskmsg_kind kind, const struct peer_says *says)
{
    static const char *const usual[] = {"shell", "test", NULL};
    const char *const *names = says->jigs[0] ? says->jigs : usual;
    struct str jigs[4];
    struct taskmsg m = {.kind = kind,
                        .worker = str_of(p->name),
                        .capacity = says->capacity,
                        .jigs = jigs,
                        .held = says->held,
                        .n_held = says->n_held,
                        .released = says->released,
                        .n_released = says->n_released,
                        .draining = says->draining};
    for (; m.n_jigs < 4 && names[m.n_jigs]; m.n_jigs++)
        jigs[m.n_jigs] = str_of(names[m.n_jigs]);
    peer_send(p, &m);
}

__attribute__((unused)) static void peer_hello(struct peer *p, struct peer_says says)
{
    peer_report(p, TASKMSG_HELLO, &says);
}

__attribute__((unused)) static void peer_beat(struct peer *p, struct peer_says says)
{
    peer_report(p, TASKMSG_BEAT, &says);
}

/* The latest of that kind about that task (0: any); NULL: none. */
static const struct taskmsg *peer_got(const struct peer *p, enum taskmsg_kind kind, uint32_t task)
{
    for (size_t i = p->got.n; i-- > 0;)
        if (p->got.at[i].kind == kind && (!task || p->got.at[i].task == task))
            return &p->got.at[i];
    return NULL;
}

__attribute__((unused)) static size_t peer_count(const struct peer *p, enum taskmsg_kind kind)
{
    size_t n = 0;
    for (size_t i = 0; i < p->got.n; i++)
        n += p->got.at[i].kind == kind;
    return n;
}

__attribute__((unused)) static void peer_forget(struct peer *p)
{
    vec_clear(&p->got);
}

/* What it was sent last of this task, in the words of a worker that holds it. */
__attribute__((unused)) static struct held_attempt peer_holds(const struct peer *p, uint32_t task)
{
    const struct taskmsg *m = peer_got(p, TASKMSG_TASK, task);
    return m ? (struct held_attempt){m->task, m->attempt} : (struct held_attempt){0};
}

__attribute__((unused)) static void peer_answer(struct peer *p, uint32_t task, enum outcome outcome)
{
    const struct taskmsg *m = peer_got(p, TASKMSG_TASK, task);
    if (!ok(m != NULL, "%s has task %u to answer for", p->name, task))
        return;
    peer_send(p, &(struct taskmsg){.kind = TASKMSG_RESULT,
                                   .task = task,
                                   .attempt = m->attempt,
                                   .ask = m->ask,
                                   .seq = ++p->seq,
                                   .outcome = outcome,
                                   .text = str_of("")});
}

/* So much later by the server's clock; and its beat. */
__attribute__((unused)) static void peer_pass(struct rig *g, uint64_t ms)
{
    g->server->clock_offset_ms += (int64_t)ms;
    dispatch_beat(g->server);
    rig_turn(g);
    rig_settle(g);
}

__attribute__((unused)) static enum task_state peer_task_state(struct rig *g, uint32_t task)
{
    struct task_view v = {.state = TASK_STATE_COUNT};
    (void)anneal_task(g->server->engine, task, &v);
    return (enum task_state)v.state;
}

__attribute__((unused)) static void peer_is(struct rig *g, uint32_t task, enum task_state state,
                                            const char *what)
{
    is_text(task_state_name(peer_task_state(g, task)), task_state_name(state), "%s", what);
}

/* Binds a role to a node; its first task. */
__attribute__((unused)) static uint32_t peer_work(struct rig *g, const char *role, const char *node)
{
    (void)rig_bind(g, role, node);
    return rig_task_of(g, role, node, 0);
}

#endif
