/* test_workers.c - several workers of one server: who gets what, and what becomes of it when one
 * of them is silent, leaves, or comes back
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "peer.h"

/* Long, so that the time a test really takes is nothing beside them. */
enum {
    NODE_LEASE_MS = 60 * 1000,
    WORKER_LEASE_MS = 120 * 1000,
    GRACE_MS = 60 * 1000,
    STEP_MS = 10 * 1000, /* in which a worker is not taken for gone */
};

struct crew {
    struct rig g;
    struct peer a, b;
};

/* Two workers of these capacities; b comes first, so that names decide and not the order. */
static void crew_open(struct crew *k, uint32_t a, uint32_t b)
{
    static const char *const nodes[] = {"n1", "n2", "n3", "n4", "n5"};
    rig_open(&k->g);
    k->g.opts.node_lease = NODE_LEASE_MS;
    k->g.opts.worker_lease = WORKER_LEASE_MS;
    k->g.opts.recover_grace = GRACE_MS;
    rig_catalog_of(&k->g, PEER_CATALOG);
    for (size_t i = 0; i < sizeof nodes / sizeof *nodes; i++)
        rig_node(&k->g, nodes[i], ", 'slots': 4");
    rig_settle(&k->g);
    peer_open(&k->b, &k->g, "b");
    peer_open(&k->a, &k->g, "a");
    peer_hello(&k->b, (struct peer_says){.capacity = b});
    peer_hello(&k->a, (struct peer_says){.capacity = a});
}

static void crew_close(struct crew *k)
{
    struct err e;
    ok(anneal_check(k->g.server->engine, &e) == 0, "the engine is sound");
    peer_close(&k->a);
    peer_close(&k->b);
    rig_close(&k->g);
}

/* Time in which one of them speaks, and the other does not. */
static void crew_pass(struct crew *k, struct peer *speaks, struct peer_says says, uint64_t ms)
{
    for (uint64_t gone = 0; gone < ms; gone += STEP_MS) {
        k->g.server->clock_offset_ms += STEP_MS;
        peer_beat(speaks, says);
        peer_pass(&k->g, 0);
    }
}

static void a_is_silent(struct crew *k, uint64_t ms)
{
    crew_pass(k, &k->b, (struct peer_says){0}, ms);
}

static const char *has(const struct crew *k, uint32_t task)
{
    bool a = peer_got(&k->a, TASKMSG_TASK, task), b = peer_got(&k->b, TASKMSG_TASK, task);
    return a && b ? "both" : a ? "a" : b ? "b" : "nobody";
}

/* ---- who gets the next one ---- */

static void test_least_taken(void)
{
    struct crew k;
    crew_open(&k, 4, 2);
    is_int(anneal_capacity(k.g.server->engine, NULL), 6, "what both offer counts");
    is_text(has(&k, peer_work(&k.g, "far", "n1")), "a", "both are free: the first by name");
    is_text(has(&k, peer_work(&k.g, "far", "n2")), "b", "1 of 4 is more than none of 2");
    is_text(has(&k, peer_work(&k.g, "far", "n3")), "a", "1 of 4 is less than 1 of 2");
    is_text(has(&k, peer_work(&k.g, "far", "n4")), "a", "2 of 4 is as much as 1 of 2");
    is_text(has(&k, peer_work(&k.g, "far", "n5")), "b", "3 of 4 is more than 1 of 2");
    uint32_t last = peer_work(&k.g, "near", "n5");
    is_text(has(&k, last), "a", "one place is left");
    is_text(has(&k, peer_work(&k.g, "near", "n4")), "nobody", "and then none");
    peer_answer(&k.a, last, OUTCOME_OK);
    is_text(has(&k, rig_task_of(&k.g, "near", "n4", 0)), "a", "until one has ended");
    crew_close(&k);
}

static void test_last_at_the_node(void)
{
    struct crew k;
    crew_open(&k, 4, 2);
    uint32_t one = peer_work(&k.g, "far", "n1"), two = peer_work(&k.g, "far", "n2");
    peer_answer(&k.a, one, OUTCOME_OK);
    peer_answer(&k.b, two, OUTCOME_OK);
    uint32_t back = peer_work(&k.g, "far2", "n2");
    is_text(has(&k, back), "b", "who was at the node last goes there again, free or not");
    is_text(has(&k, peer_work(&k.g, "far", "n3")), "a", "others go to who is freer");
    is_text(has(&k, peer_work(&k.g, "far", "n4")), "a", "by shares");
    is_text(has(&k, peer_work(&k.g, "far", "n5")), "a", "still");
    (void)peer_work(&k.g, "near", "n2");
    is_int(lease_places(k.g.server->lease, workers_find(k.g.server, "b")->id), 2, "b is full");
    is_text(has(&k, peer_work(&k.g, "long", "n2")), "a", "who is full is not asked again");
    crew_close(&k);
}

static void test_draining(void)
{
    struct crew k;
    crew_open(&k, 2, 3);
    uint32_t one = peer_work(&k.g, "far", "n1");
    is_text(has(&k, one), "a", "a was at n1");
    peer_beat(&k.a,
              (struct peer_says){.held = {peer_holds(&k.a, one)}, .n_held = 1, .draining = true});
    is_int(anneal_capacity(k.g.server->engine, NULL), 3, "what drains offers nothing");
    is_text(has(&k, peer_work(&k.g, "far2", "n1")), "b", "not even who was at the node last");
    is_text(has(&k, peer_work(&k.g, "far", "n2")), "b", "is given anything");
    peer_answer(&k.a, one, OUTCOME_OK);
    peer_is(&k.g, one, TASK_DONE, "what it had counts");
    peer_beat(&k.a, (struct peer_says){0});
    is_int(anneal_capacity(k.g.server->engine, NULL), 5, "one that drains no more is back");
    crew_close(&k);
}

static void test_rare_jig(void)
{
    struct crew k;
    struct jig_view v;
    crew_open(&k, 4, 4);
    uint32_t odd = peer_work(&k.g, "odd", "n1");
    is_text(has(&k, odd), "nobody", "a jig that nobody has waits");
    peer_hello(&k.b, (struct peer_says){.capacity = 1, .jigs = {"shell", "test", "noop"}});
    is_text(has(&k, odd), "b", "for the first who has it");
    is_text(has(&k, peer_work(&k.g, "odd", "n2")), "nobody", "and then for room there");
    uintptr_t id = 0;
    ok(strmap_get(&k.g.server->inv.jig_by_name, str_of("rare"), &id), "the jig is known");
    ok(anneal_jig(k.g.server->engine, (uint32_t)id, &v) && v.slots == 1,
       "the engine knows how many may run it");
    crew_close(&k);
}

static void test_refused(void)
{
    struct crew k;
    struct err e;
    crew_open(&k, 1, 1);
    struct queue *q = queue_new_embedded();
    is_int(workers_attach(k.g.server, "a", q, &e), -ERR_BUSY, "a name that is here is taken");
    queue_free(q);
    ok(workers_attached(k.g.server, "a") && !workers_attached(k.g.server, "c"), "who is here");
    ok(!workers_find(k.g.server, "c"), "nobody is made by asking");
    crew_close(&k);
}

/* ---- answers ---- */

static void test_acks(void)
{
    struct crew k;
    crew_open(&k, 2, 2);
    uint32_t one = peer_work(&k.g, "far", "n1"), two = peer_work(&k.g, "far", "n2");
    k.a.seq = 100;
    k.b.seq = 7;
    peer_answer(&k.a, one, OUTCOME_OK);
    const struct taskmsg *ack = peer_got(&k.a, TASKMSG_ACK, 0);
    is_int(ack ? (int64_t)ack->seq : -1, 101, "who answered is acknowledged, by its own number");
    is_int(peer_count(&k.b, TASKMSG_ACK), 0, "and nobody else");
    peer_answer(&k.b, two, OUTCOME_FAILED);
    ack = peer_got(&k.b, TASKMSG_ACK, 0);
    is_int(ack ? (int64_t)ack->seq : -1, 8, "then the other");
    is_int(peer_count(&k.a, TASKMSG_ACK), 1, "once each");
    crew_close(&k);
}

static void cancel_all(struct crew *k, uint32_t op)
{
    rig_do(&k->g, server_operation_cancel, NULL,
           (struct rig_ask){.id = rig_id(&k->g, op), .body = "{'abort': true}"});
    rig_settle(&k->g);
}

static void test_cancel(void)
{
    struct crew k;
    crew_open(&k, 2, 2);
    (void)peer_work(&k.g, "far", "n1");
    uint32_t op = rig_bind(&k.g, "far", "n2"), two = rig_task_of(&k.g, "far", "n2", 0);
    is_text(has(&k, two), "b", "b has it");
    cancel_all(&k, op);
    const struct taskmsg *m = peer_got(&k.b, TASKMSG_CANCEL, two);
    ok(m && m->attempt == peer_holds(&k.b, two).attempt, "who has it is told to end it");
    is_int(peer_count(&k.a, TASKMSG_CANCEL), 0, "and nobody else");
    peer_answer(&k.b, two, OUTCOME_CANCELLED);
    peer_is(&k.g, two, TASK_CANCELLED, "it ends");
    crew_close(&k);
}

/* ---- silence ---- */

static void test_node_goes_on(void)
{
    struct crew k;
    crew_open(&k, 2, 2);
    uint32_t t = peer_work(&k.g, "far", "n1");
    struct held_attempt was = peer_holds(&k.a, t);
    is_int((int64_t)peer_got(&k.a, TASKMSG_TASK, t)->since_ms, 0, "a first one is new");
    a_is_silent(&k, NODE_LEASE_MS / 2);
    is_text(has(&k, t), "a", "silent for less than the lease");
    is_int(peer_count(&k.a, TASKMSG_TASK), 1, "it stays as it is");
    a_is_silent(&k, NODE_LEASE_MS);
    is_text(has(&k, t), "both", "then another one is sent to the node");
    const struct taskmsg *m = peer_got(&k.b, TASKMSG_TASK, t);
    ok(m && m->attempt == was.attempt && m->ask == 0, "with the same attempt and question");
    ok(m && m->since_ms > NODE_LEASE_MS && m->since_ms < 10 * NODE_LEASE_MS,
       "and how long ago it may have "
       "begun");
    peer_is(&k.g, t, TASK_RUNNING, "for the engine nothing happened");
    peer_beat(&k.a, (struct peer_says){.held = {was}, .n_held = 1});
    const struct taskmsg *drop = peer_got(&k.a, TASKMSG_DROP, t);
    ok(drop && drop->attempt == was.attempt, "who comes back is told that another one has it");
    ok(peer_got(&k.a, TASKMSG_HELLO, 0), "and asked what it offers");
    is_int(peer_count(&k.a, TASKMSG_CANCEL), 0, "not to end it");
    peer_answer(&k.b, t, OUTCOME_OK);
    peer_is(&k.g, t, TASK_DONE, "what the second says counts");
    uint64_t stale = k.g.server->stale_results;
    peer_answer(&k.a, t, OUTCOME_FAILED);
    peer_is(&k.g, t, TASK_DONE, "what the first says then changes nothing");
    is_int((int64_t)(k.g.server->stale_results - stale), 1, "and is counted as late");
    ok(peer_got(&k.a, TASKMSG_ACK, 0), "but acknowledged, or it would come for ever");
    crew_close(&k);
}

/* Who says how a node is reached says that to what waits for it, too. */
static void test_access_changed(void)
{
    struct crew k;
    crew_open(&k, 3, 1);
    uint32_t runs = peer_work(&k.g, "far", "n1"), waits = peer_work(&k.g, "far2", "n1"),
             other = peer_work(&k.g, "far", "n2");
    peer_answer(&k.a, waits, OUTCOME_AGAIN);
    peer_answer(&k.b, other, OUTCOME_AGAIN);
    peer_is(&k.g, waits, TASK_WAITING, "it is not yet done");
    rig_do(&k.g, server_node_patch, "Node",
           (struct rig_ask){.id = "n1", .body = "{'access': {'host_keys': []}}"});
    rig_settle(&k.g);
    is_int(peer_got(&k.a, TASKMSG_TASK, waits)->ask, 1, "what waits is asked for at once");
    peer_is(&k.g, other, TASK_WAITING, "on that node only");
    const struct taskmsg *again = peer_got(&k.a, TASKMSG_TASK, runs);
    ok(again && again->ask == 0 && again->access_rev > 0, "what runs is sent again as it is");
    is_int(peer_count(&k.a, TASKMSG_TASK), 4, "and that is all");
    crew_close(&k);
}

static void test_first_answers_late(void)
{
    struct crew k;
    crew_open(&k, 2, 2);
    uint32_t t = peer_work(&k.g, "far", "n1");
    a_is_silent(&k, NODE_LEASE_MS + STEP_MS);
    is_text(has(&k, t), "both", "given to another one");
    peer_answer(&k.a, t, OUTCOME_OK);
    peer_is(&k.g, t, TASK_DONE, "the first answers after all: it is the same run");
    uint64_t stale = k.g.server->stale_results;
    peer_answer(&k.b, t, OUTCOME_OK);
    is_int((int64_t)(k.g.server->stale_results - stale), 1, "the second comes too late");
    is_int((int64_t)lease_count(k.g.server->lease), 0, "nobody waits for anything");
    crew_close(&k);
}

static void test_chain_goes_on(void)
{
    struct crew k;
    crew_open(&k, 2, 2);
    uint32_t t = peer_work(&k.g, "long", "n1");
    is_int(peer_count(&k.a, TASKMSG_TASK), 3, "a chain is sent whole");
    is_int(peer_got(&k.a, TASKMSG_TASK, t)->followers, 2, "as its first says");
    is_int(lease_places(k.g.server->lease, workers_find(k.g.server, "a")->id), 1,
           "and takes one place");
    peer_answer(&k.a, t, OUTCOME_OK);
    peer_is(&k.g, t + 1, TASK_RUNNING, "the second runs now");
    a_is_silent(&k, NODE_LEASE_MS + STEP_MS);
    is_int(peer_count(&k.b, TASKMSG_TASK), 2, "what is left of it goes to the other, once each");
    const struct taskmsg *head = peer_got(&k.b, TASKMSG_TASK, t + 1);
    const struct taskmsg *next = peer_got(&k.b, TASKMSG_TASK, t + 2);
    is_int(head ? head->followers : 99, 1, "in one go");
    is_int(next ? next->behind : 0, t + 1, "in its order");
    ok(head && next && head->since_ms > 0 && next->since_ms > 0, "both may have begun");
    peer_answer(&k.b, t + 1, OUTCOME_OK);
    peer_answer(&k.b, t + 2, OUTCOME_OK);
    peer_is(&k.g, t + 2, TASK_DONE, "and ends there");
    crew_close(&k);
}

static void test_here_is_lost(void)
{
    struct crew k;
    crew_open(&k, 2, 2);
    uint32_t t = peer_work(&k.g, "near", "n1");
    struct held_attempt was = peer_holds(&k.a, t);
    a_is_silent(&k, WORKER_LEASE_MS - 2 * STEP_MS);
    peer_is(&k.g, t, TASK_RUNNING, "what runs on the worker's machine is not sent elsewhere");
    is_text(has(&k, t), "a", "while it may still run");
    peer_beat(&k.a, (struct peer_says){.held = {was}, .n_held = 1});
    a_is_silent(&k, WORKER_LEASE_MS - 2 * STEP_MS);
    peer_is(&k.g, t, TASK_RUNNING, "who says that it holds it keeps it");
    is_int(peer_count(&k.a, TASKMSG_TASK), 1, "as it is");
    a_is_silent(&k, 3 * STEP_MS);
    is_text(has(&k, t), "both", "silent for longer than its lease: it is lost, and made again");
    is_int(peer_holds(&k.b, t).attempt, was.attempt + 1, "as another attempt");
    peer_beat(&k.a, (struct peer_says){.held = {was}, .n_held = 1});
    const struct taskmsg *end = peer_got(&k.a, TASKMSG_CANCEL, t);
    ok(end && end->attempt == was.attempt && end->ask == UINT32_MAX,
       "who still holds what is over is told to end it");
    is_int(peer_count(&k.a, TASKMSG_DROP), 0, "nobody else has that one");
    peer_answer(&k.a, t, OUTCOME_OK);
    peer_is(&k.g, t, TASK_RUNNING, "what it says of it comes too late");
    peer_answer(&k.b, t, OUTCOME_OK);
    peer_is(&k.g, t, TASK_DONE, "the other one's counts");
    crew_close(&k);
}

static void test_gone(void)
{
    struct crew k;
    crew_open(&k, 3, 2);
    is_int((int64_t)workers_present(k.g.server), 2, "both are here");
    a_is_silent(&k, STEP_MS);
    is_int(anneal_capacity(k.g.server->engine, NULL), 5, "silence is borne for a while");
    a_is_silent(&k, STEP_MS);
    is_int(anneal_capacity(k.g.server->engine, NULL), 2, "then what it offered is not counted");
    is_int((int64_t)workers_present(k.g.server), 1, "nor itself");
    is_text(has(&k, peer_work(&k.g, "far", "n1")), "b", "and it gets nothing");
    peer_leave(&k.b);
    is_int(anneal_capacity(k.g.server->engine, NULL), 0, "one that leaves does not wait for that");
    peer_attach(&k.b);
    peer_hello(&k.b, (struct peer_says){.capacity = 5});
    is_int(anneal_capacity(k.g.server->engine, NULL), 5, "and may come back as another");
    crew_close(&k);
}

/* Leases that run out before a worker is gone for other reasons. */
static void test_not_back_to_the_silent(void)
{
    struct crew k;
    crew_open(&k, 2, 1);
    k.g.opts.node_lease = k.g.opts.worker_lease = STEP_MS / 2;
    uint32_t far = peer_work(&k.g, "far", "n1"), busy = peer_work(&k.g, "near", "n2"),
             near = peer_work(&k.g, "near", "n3");
    is_text(has(&k, far), "a", "a was at n1 last");
    is_text(has(&k, busy), "b", "b is full");
    is_text(has(&k, near), "a", "so is a");
    struct peer_says b_says = {.held = {peer_holds(&k.b, busy)}, .n_held = 1};
    crew_pass(&k, &k.b, b_says, STEP_MS);
    is_text(has(&k, far), "both", "what is taken from a silent one is not given back to it");
    is_int(peer_count(&k.a, TASKMSG_TASK), 2, "nor is anything else");
    peer_is(&k.g, near, TASK_READY, "what is lost there begins again");
    is_text(has(&k, near), "a", "where there is room, and not before");
    crew_close(&k);
}

static void test_nobody_left(void)
{
    struct crew k;
    crew_open(&k, 2, 2);
    uint32_t t = peer_work(&k.g, "far", "n1");
    peer_leave(&k.a);
    peer_leave(&k.b);
    peer_pass(&k.g, NODE_LEASE_MS + 1);
    peer_is(&k.g, t, TASK_RUNNING, "with nobody to send it goes on on its node");
    peer_attach(&k.b);
    peer_hello(&k.b, (struct peer_says){.capacity = 2});
    is_text(has(&k, t), "a", "and is held for nobody");
    a_is_silent(&k, NODE_LEASE_MS + STEP_MS);
    is_text(has(&k, t), "both", "until somebody is there");
    peer_attach(&k.a);
    crew_close(&k);
}

/* ---- handing over ---- */

static void test_released(void)
{
    struct crew k;
    crew_open(&k, 2, 2);
    uint32_t t = peer_work(&k.g, "far", "n1");
    struct held_attempt was = peer_holds(&k.a, t);
    peer_beat(&k.b, (struct peer_says){.released = {was}, .n_released = 1});
    is_text(has(&k, t), "a", "nobody gives away what is another one's");
    peer_beat(&k.a, (struct peer_says){.released = {was}, .n_released = 1, .draining = true});
    is_text(has(&k, t), "both", "what is released is handed over at once");
    const struct taskmsg *m = peer_got(&k.b, TASKMSG_TASK, t);
    ok(m && m->attempt == was.attempt && m->since_ms > 0, "as the same run");
    is_int(peer_count(&k.b, TASKMSG_TASK), 1, "once");
    peer_answer(&k.b, t, OUTCOME_OK);
    peer_is(&k.g, t, TASK_DONE, "and ends there");
    crew_close(&k);
}

/* ---- a server that is started anew ---- */

static void again(struct crew *k)
{
    peer_leave(&k->a);
    peer_leave(&k->b);
    peer_forget(&k->a);
    peer_forget(&k->b);
    rig_restart(&k->g);
    workers_expect(k->g.server, "a");
    workers_expect(k->g.server, "b");
    peer_attach(&k->b);
    peer_attach(&k->a);
}

static void test_restart(void)
{
    struct crew k;
    crew_open(&k, 4, 4);
    uint32_t one = peer_work(&k.g, "far", "n1"), two = peer_work(&k.g, "near", "n2");
    uint32_t three = peer_work(&k.g, "near", "n3"), four = peer_work(&k.g, "far", "n4");
    struct held_attempt held[] = {peer_holds(&k.a, one), peer_holds(&k.b, two)};
    is_text(has(&k, three), "a", "a has the third too");
    is_text(has(&k, four), "b", "and b the fourth");
    again(&k);
    peer_pass(&k.g, GRACE_MS / 2);
    is_int(peer_count(&k.a, TASKMSG_TASK) + peer_count(&k.b, TASKMSG_TASK), 0,
           "nothing is given up within the grace");
    peer_is(&k.g, three, TASK_RUNNING, "nor lost");
    peer_hello(&k.a, (struct peer_says){.capacity = 4, .held = {held[0]}, .n_held = 1});
    rig_worker(&k.g, 1); /* the one inside */
    peer_is(&k.g, three, TASK_RUNNING, "as long as one has not spoken");
    peer_hello(&k.b, (struct peer_says){.capacity = 4, .held = {held[1]}, .n_held = 1});
    ok(peer_got(&k.a, TASKMSG_TASK, three) || peer_got(&k.b, TASKMSG_TASK, three) ||
           rig_sent(&k.g, three, &(struct rig_task){0}),
       "all have spoken: what nobody holds is lost, and made again");
    const struct taskmsg *m = peer_got(&k.a, TASKMSG_TASK, four);
    m = m ? m : peer_got(&k.b, TASKMSG_TASK, four);
    ok(m && m->since_ms > 0 && m->since_ms < 10 * 60 * 1000,
       "or sent again, with how long ago it may have begun by the machine's clock");
    is_text(has(&k, one), "nobody", "what was claimed goes on");
    is_text(has(&k, two), "nobody", "both of them");
    is_int(lease_holder(k.g.server->lease, one, held[0].attempt), workers_find(k.g.server, "a")->id,
           "with who claimed it");
    is_int(lease_holder(k.g.server->lease, two, held[1].attempt), workers_find(k.g.server, "b")->id,
           "each");
    crew_close(&k);
}

static void test_grace_ends(void)
{
    struct crew k;
    crew_open(&k, 4, 4);
    uint32_t one = peer_work(&k.g, "far", "n1"), two = peer_work(&k.g, "near", "n2");
    struct held_attempt held[] = {peer_holds(&k.a, one), peer_holds(&k.b, two)};
    again(&k);
    peer_hello(&k.a, (struct peer_says){.capacity = 4, .held = {held[0]}, .n_held = 1});
    peer_is(&k.g, two, TASK_RUNNING, "one is missing");
    crew_pass(&k, &k.a, (struct peer_says){.held = {held[0]}, .n_held = 1}, GRACE_MS + STEP_MS);
    is_text(has(&k, two), "a", "it is waited for no longer than the grace");
    is_int(peer_holds(&k.a, two).attempt, held[1].attempt + 1, "then it is lost, and made again");
    peer_hello(&k.b, (struct peer_says){.capacity = 4, .held = {held[1]}, .n_held = 1});
    const struct taskmsg *end = peer_got(&k.b, TASKMSG_CANCEL, two);
    ok(end && end->ask == UINT32_MAX, "who comes later is told to end it");
    crew_close(&k);
}

static void test_stop_over_a_restart(void)
{
    struct crew k;
    crew_open(&k, 4, 4);
    uint32_t op = rig_bind(&k.g, "far", "n1"), t = rig_task_of(&k.g, "far", "n1", 0);
    struct held_attempt held = peer_holds(&k.a, t);
    cancel_all(&k, op);
    again(&k);
    peer_hello(&k.a, (struct peer_says){.capacity = 4, .held = {held}, .n_held = 1});
    const struct taskmsg *end = peer_got(&k.a, TASKMSG_CANCEL, t);
    ok(end && end->attempt == held.attempt, "who claims what is to end is told so again");
    crew_close(&k);
}

/* What workers get back for a beat. */
static void test_beat(void)
{
    struct crew k;
    crew_open(&k, 1, 1);
    peer_forget(&k.a);
    peer_beat(&k.a, (struct peer_says){0});
    const struct taskmsg *m = peer_got(&k.a, TASKMSG_BEAT, 0);
    is_int(m ? (int64_t)m->lease_ms : -1, WORKER_LEASE_MS,
           "a beat is answered with how long silence is borne");
    rig_list(&k.g, server_worker_list, "Worker", (struct rig_ask){0}, 2);
    crew_close(&k);
}

static uint64_t since_after(struct crew *k, uint32_t task)
{
    again(k);
    peer_hello(&k->a, (struct peer_says){.capacity = 4});
    peer_hello(&k->b, (struct peer_says){.capacity = 4});
    rig_worker(&k->g, 1);
    const struct taskmsg *m = peer_got(&k->a, TASKMSG_TASK, task);
    m = m ? m : peer_got(&k->b, TASKMSG_TASK, task);
    return m ? m->since_ms : 0;
}

/* Engine time stands still while no server runs; what a node is told does not. */
static void test_since(void)
{
    struct crew k;
    struct err e;
    SCOPED_BUF(b);
    crew_open(&k, 4, 4);
    char *path = fs_join(k.g.server->data_dir, "run.clock");
    uint32_t task = peer_work(&k.g, "far", "n1");
    uint64_t first = since_after(&k, task), second = since_after(&k, task);
    ok(first > 0 && first < UINT32_MAX, "of the run before");
    ok(second >= first && second < UINT32_MAX, "and of one before that");
    is_int(fs_read(path, 16384, &b, &e), 0, "which is in a file");
    SCOPED_BUF(other);
    buf_putc(&other, 'x');
    buf_put(&other, b.data, b.len);
    for (size_t i = 1; i + 1 < other.len; i++)
        if (other.data[i] == '\n')
            other.data[i + 1] = 'x';
    is_int(fs_write_atomic(path, other.data, other.len, 0600, &e), 0, "of another boot,");
    is_int((int64_t)since_after(&k, task), UINT32_MAX, "it says nothing");
    is_int(fs_write_atomic(path, "\0\n 1 2\n", 7, 0600, &e), 0, "nor if it was damaged,");
    is_int((int64_t)since_after(&k, task), UINT32_MAX, "nobody can say");
    free(path);
    crew_close(&k);
}

/* While nobody answers for it, why says who does not and what follows. */
static const char *why_of(struct crew *k, uint32_t task)
{
    (void)rig_call(&k->g, server_why, (struct rig_ask){.id = "task", .id2 = rig_id(&k->g, task)});
    return rig_text(&k->g, "summary");
}

static void test_why_silent(void)
{
    struct crew k;
    crew_open(&k, 4, 4);
    uint32_t far = peer_work(&k.g, "far", "n1"); /* a's: of equals the first by name */
    ok(!strstr(why_of(&k, far), "silent"), "a worker that was just heard of is not spoken of");
    a_is_silent(&k, NODE_LEASE_MS / 2);
    has_text(why_of(&k, far), "worker a is silent since 3", "one that is not heard of is");
    has_text(why_of(&k, far), "s another one asks node n1 about it", "with what follows");
    crew_close(&k);
}

/* What a node was given stands in the journal beside the result; what is no digest does not. */
static void test_digest(void)
{
    static const char *const told[] = {"00112233445566778899aabbccddeeff", "\",\"actor\":\"nobody",
                                       "00112233445566778899AABBCCDDEEFF"};
    struct crew k;
    SCOPED_BUF(b);
    struct err e;
    uint64_t last, first;
    crew_open(&k, 4, 4);
    uint64_t since = server_events_last(k.g.server);
    for (size_t i = 0; i < sizeof told / sizeof *told; i++) {
        const char *node = (const char *const[]){"n1", "n2", "n3"}[i];
        uint32_t task = peer_work(&k.g, "far", node);
        struct peer *p = peer_got(&k.a, TASKMSG_TASK, task) ? &k.a : &k.b;
        struct held_attempt held = peer_holds(p, task);
        peer_send(p, &(struct taskmsg){.kind = TASKMSG_RESULT,
                                       .task = task,
                                       .attempt = held.attempt,
                                       .seq = ++p->seq,
                                       .outcome = OUTCOME_OK,
                                       .digest = str_of(told[i])});
        peer_pass(&k.g, 0);
        peer_is(&k.g, task, TASK_DONE, "its result counts");
    }
    ok(server_events_read(k.g.server, &k.g.who, since, 1000, &b, &last, &first, &e) == 0,
       "the journal can be read");
    buf_putc(&b, '\0');
    ok(strstr(b.data, "\"digest\":\"00112233445566778899aabbccddeeff\""),
       "it has the digest of what the node was given");
    ok(!strstr(b.data, "nobody") && !strstr(b.data, "AABB"), "and nothing that is none");
    crew_close(&k);
}

int main(void)
{
    test_least_taken();
    test_last_at_the_node();
    test_draining();
    test_rare_jig();
    test_refused();
    test_acks();
    test_cancel();
    test_node_goes_on();
    test_access_changed();
    test_first_answers_late();
    test_chain_goes_on();
    test_here_is_lost();
    test_gone();
    test_not_back_to_the_silent();
    test_nobody_left();
    test_released();
    test_restart();
    test_grace_ends();
    test_stop_over_a_restart();
    test_beat();
    test_since();
    test_why_silent();
    test_digest();
    return tap_done();
}
