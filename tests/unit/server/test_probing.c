/* test_probing.c - the watch of nodes: who is asked by whom, and what becomes of the answers
 *
 * Workers are peers that say what a test tells them to.  Time passes by the server's clock alone.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "watch.h"

static void test_becomes_alive(void)
{
    struct watch k;
    watch_open(&k, false);
    add(&k, "n1", ", 'addresses': ['192.0.2.1']");
    pass(&k, 30);
    is_int(asked(&k.a, "n1").number, 0, "without a worker nobody looks");
    peer_hello(&k.a, (struct peer_says){.capacity = 4});
    pass(&k, 1);
    struct probe_ask q = asked(&k.a, "n1");
    ok(q.number && q.who, "a worker is asked whether the new node is there, and who it is");
    has_text(q.access.s, "192.0.2.1", "with how it is reached");
    is_text(alive(&k, "n1"), "unknown", "until it is answered nothing is known");
    answers(&k.a, "n1", PROBE_ANSWERS, "m1", "b1");
    is_text(alive(&k, "n1"), "alive", "it answers: it is alive");
    is_text(rig_text(&k.g, "machine_id"), "m1", "as this machine");
    is_text(rig_text(&k.g, "boot_id"), "b1", "in this boot");
    is_text(rig_text(&k.g, "probe.seen_by"), "probe", "how it was seen is told");
    uint64_t was = events(&k);
    pass(&k, 19);
    is_int(asked(&k.a, "n1").number, q.number, "for an interval it is left alone");
    pass(&k, 2);
    struct probe_ask next = asked(&k.a, "n1");
    ok(next.number > q.number && !next.who, "then it is asked, cheaply");
    answers(&k.a, "n1", PROBE_ANSWERS, "", "");
    say(&k.a, (struct probe_answer){.node = str_of("n1"), .number = q.number, .end = PROBE_SILENT});
    say(&k.a, (struct probe_answer){.node = str_of("nn"), .number = 7, .end = PROBE_SILENT});
    is_int(events(&k), was, "what tells nothing new, or was told before, is not journalled");
    watch_close(&k);
}

static void test_dies_and_returns(void)
{
    struct watch k;
    watch_open(&k, true);
    add(&k, "n1", ", 'addresses': ['192.0.2.1', '192.0.2.2']");
    pass(&k, 1);
    answers(&k.a, "n1", PROBE_ANSWERS, "m1", "b1");
    pass(&k, 21);
    uint64_t was = events(&k);
    uint32_t probes = 0, seconds = 0;
    for (uint64_t last = 0; strcmp(alive(&k, "n1"), "dead") != 0 && seconds < 200;
         pass(&k, 1), seconds++) {
        struct probe_ask q = asked(&k.a, "n1");
        if (q.number == last)
            continue;
        ok(q.who || probes == 0, "after a silence it is asked who it is");
        last = q.number;
        probes++;
        answers(&k.a, "n1", PROBE_SILENT, "", "");
        if (probes == 2)
            has_text(why(&k, "n1"), "192.0.2.1, 192.0.2.2: because",
                     "why names the addresses and the last error");
    }
    ok(seconds >= 60 && seconds <= 70, "dead after dead_after (%u s)", seconds);
    ok(probes >= 10, "it was looked for often meanwhile (%u times)", probes);
    is_int(events(&k) - was, 3, "of which the engine was told what it counts");
    has_text(why(&k, "n1"), "node n1 is dead: it has not answered for", "why says since when");
    has_text(why(&k, "n1"), "because", "and the last error");
    uint64_t before = asked(&k.a, "n1").number;
    for (seconds = 0; asked(&k.a, "n1").number == before && seconds < 400; seconds++)
        pass(&k, 1);
    ok(seconds >= 19 && seconds <= 21, "a dead one is looked for seldom (%u s)", seconds);
    answers(&k.a, "n1", PROBE_SILENT, "", "");
    before = asked(&k.a, "n1").number;
    for (seconds = 0; asked(&k.a, "n1").number == before && seconds < 400; seconds++)
        pass(&k, 1);
    ok(seconds >= 39 && seconds <= 41, "and then more seldom (%u s)", seconds);
    ok(asked(&k.a, "n1").who, "and asked who it is");
    answers(&k.a, "n1", PROBE_ANSWERS, "m1", "b2");
    is_text(alive(&k, "n1"), "alive", "it is back");
    is_text(rig_text(&k.g, "boot_id"), "b2", "in another boot");
    watch_close(&k);
}

/* A key that is not trusted, no way in: neither a sight nor a silence. */
static void test_refused(void)
{
    struct watch k;
    watch_open(&k, true);
    add(&k, "n1", "");
    pass(&k, 1);
    answers(&k.a, "n1", PROBE_AUTH, "", "");
    is_text(alive(&k, "n1"), "unknown", "no way in: nobody has seen it");
    has_text(why(&k, "n1"), "does not let us in", "why says so");
    is_text(rig_text(&k.g, "reasons.1.rule"), "auth", "by a reason of its own");
    pass(&k, 100);
    answers(&k.a, "n1", PROBE_ANSWERS, "m1", "b1");
    is_text(alive(&k, "n1"), "alive", "it lets us in: alive");
    say(&k.a, (struct probe_answer){.node = str_of("n1"), .end = PROBE_MISSED});
    pass(&k, 1);
    uint64_t was = events(&k);
    ok(asked(&k.a, "n1").who, "an attempt did not reach it: it is looked for at once");
    for (int i = 0; i < 30; i++) {
        answers(&k.a, "n1", PROBE_HOST_KEY, "", "");
        pass(&k, 5);
    }
    is_text(alive(&k, "n1"), "alive", "another key, for minutes: it is not taken for dead");
    is_int(events(&k), was, "nor is anything counted");
    has_text(why(&k, "n1"), "anneal node trust n1", "why says what to do");
    is_text(rig_text(&k.g, "reasons.0.rule"), "host-key-changed", "and what it is");
    rig_do(&k.g, server_node_get, "Node", (struct rig_ask){.id = "n1"});
    is_text(rig_text(&k.g, "probe.result"), "host-key-changed", "so does the node");
    watch_close(&k);
}

static void shows(struct peer *p, struct probe_ask as, const char *key)
{
    peer_send(p, &(struct taskmsg){.kind = TASKMSG_SEEN,
                                   .node = as.node,
                                   .node_id = as.node_id,
                                   .access_rev = as.access_rev,
                                   .host_key = str_of(key)});
}

static const char *pinned(struct watch *k, const char *node)
{
    (void)alive(k, node);
    const char *key = value_as_text(rig_at(&k->g, "access.host_keys.0"), NULL);
    return key ? key : "none";
}

/* Deleted and added again: what workers still say of the one before is not of this one. */
static void test_comes_back(void)
{
    struct watch k;
    watch_open(&k, true);
    add(&k, "n1", "");
    pass(&k, 1);
    struct probe_ask old = asked(&k.a, "n1");
    ok(old.node_id > 0, "a probe says which node it is");
    shows(&k.a, old, "ssh-ed25519 OLD");
    is_text(pinned(&k, "n1"), "ssh-ed25519 OLD", "the first key is pinned");
    rig_do(&k.g, server_node_delete, NULL,
           (struct rig_ask){.id = "n1", .query = "{'cascade': 'true'}"});
    rig_settle(&k.g);
    add(&k, "n1", "");
    pass(&k, 1);
    struct probe_ask now = asked(&k.a, "n1");
    ok(now.node_id > old.node_id, "added again it is another node");
    is_text(pinned(&k, "n1"), "none", "of which no key is known");
    shows(&k.a, old, "ssh-ed25519 OLD");
    is_text(pinned(&k, "n1"), "none", "one that the node before showed is not its own");
    say(&k.a, (struct probe_answer){.node = str_of("n1"),
                                    .node_id = old.node_id,
                                    .number = now.number,
                                    .end = PROBE_ANSWERS,
                                    .machine_id = str_of("old")});
    is_text(alive(&k, "n1"), "unknown", "nor is an answer");
    shows(&k.a, now, "ssh-ed25519 NEW");
    is_text(pinned(&k, "n1"), "ssh-ed25519 NEW", "what it shows itself is pinned");
    say(&k.a, (struct probe_answer){.node = str_of("n1"),
                                    .node_id = now.node_id,
                                    .number = now.number,
                                    .end = PROBE_ANSWERS,
                                    .machine_id = str_of("new")});
    is_text(alive(&k, "n1"), "alive", "and its own answer counts");
    rig_do(&k.g, server_node_patch, "Node",
           (struct rig_ask){.id = "n1", .body = "{'access': {'host_keys': null}}"});
    pass(&k, 1);
    shows(&k.a, now, "ssh-ed25519 NEW");
    is_text(pinned(&k, "n1"), "none", "trusted anew: a key met before that is not pinned");
    struct probe_ask anew = asked(&k.a, "n1");
    ok(anew.number > now.number && anew.access_rev > now.access_rev, "it is asked at once");
    shows(&k.a, anew, "ssh-ed25519 NEXT");
    is_text(pinned(&k, "n1"), "ssh-ed25519 NEXT", "the one met after that is");
    shows(&k.a, (struct probe_ask){.node = str_of("n1")}, "ssh-ed25519 X");
    is_text(pinned(&k, "n1"), "ssh-ed25519 NEXT", "once");
    watch_close(&k);
}

/* A person's word is not gainsaid by a probe that is under way, but it is not for ever. */
static void test_said_dead(void)
{
    struct watch k;
    watch_open(&k, true);
    add(&k, "n1", "");
    pass(&k, 1);
    answers(&k.a, "n1", PROBE_ANSWERS, "m1", "b1");
    pass(&k, 21);
    rig_do(&k.g, server_node_report, "Node",
           (struct rig_ask){.id = "n1", .body = "{'alive': 'dead'}"});
    answers(&k.a, "n1", PROBE_ANSWERS, "", "");
    uint64_t last = asked(&k.a, "n1").number;
    pass(&k, 300);
    is_int(asked(&k.a, "n1").number, last, "said to be dead, it is left alone for a while");
    is_text(alive(&k, "n1"), "dead", "and dead");
    pass(&k, 30);
    answers(&k.a, "n1", PROBE_ANSWERS, "m1", "b1");
    is_text(alive(&k, "n1"), "alive", "then it is looked for, and seen");
    watch_close(&k);
}

static void test_suspect(void)
{
    struct watch k;
    watch_open(&k, true);
    for (int i = 0; i < 20; i++)
        add(&k, arena_printf(&k.g.mem, "n%d", i), "");
    pass(&k, 1);
    for (int i = 0; i < 20; i++)
        answers(&k.a, arena_printf(&k.g.mem, "n%d", i), PROBE_ANSWERS,
                arena_printf(&k.g.mem, "m%d", i), "b");
    for (int s = 0; s < 100; s++) {
        pass(&k, 1);
        for (int i = 0; i < 20; i++)
            answers(&k.a, arena_printf(&k.g.mem, "n%d", i), i < 6 ? PROBE_SILENT : PROBE_ANSWERS,
                    "", "");
    }
    ok(anneal_suspect(k.g.server->engine), "6 of 20 silent at once: we suspect ourselves");
    is_text(alive(&k, "n0"), "alive", "and nobody is taken for dead");
    uint64_t was = events(&k);
    for (int s = 0; s < 30; s++) {
        pass(&k, 1);
        for (int i = 0; i < 6; i++)
            answers(&k.a, arena_printf(&k.g.mem, "n%d", i), PROBE_SILENT, "", "");
    }
    is_int(events(&k), was, "more of the same is not journalled");
    for (int s = 0; s < 10; s++) {
        pass(&k, 1);
        for (int i = 0; i < 6; i++)
            answers(&k.a, arena_printf(&k.g.mem, "n%d", i), PROBE_ANSWERS, "", "");
    }
    ok(!anneal_suspect(k.g.server->engine), "they answer again: it is over");
    watch_close(&k);
}

static void test_batches(void)
{
    struct watch k;
    watch_open(&k, true);
    for (int i = 0; i < 150; i++)
        add(&k, arena_printf(&k.g.mem, "n%d", i), "");
    k.a.got.n = 0;
    pass(&k, 1);
    is_int(peer_count(&k.a, TASKMSG_PROBE), 3, "150 nodes are asked for in three messages");
    is_int(pulse_flying(k.g.server->pulse), 150, "and waited for");
    pass(&k, 30);
    is_int(peer_count(&k.a, TASKMSG_PROBE), 3, "none twice");
    watch_close(&k);
}

/* Which worker: the one that reached it; after a silence another. */
static void test_workers(void)
{
    struct watch k;
    watch_open(&k, true);
    peer_hello(&k.b, (struct peer_says){.capacity = 4});
    add(&k, "n1", "");
    pass(&k, 1);
    struct peer *first = asked(&k.a, "n1").number ? &k.a : &k.b,
                *other = first == &k.a ? &k.b : &k.a;
    answers(first, "n1", PROBE_SILENT, "", "");
    pass(&k, 11);
    ok(asked(other, "n1").number, "one does not reach it: the other tries");
    answers(other, "n1", PROBE_ANSWERS, "m1", "b1");
    is_text(alive(&k, "n1"), "alive", "and does");
    uint64_t before = asked(first, "n1").number, last = asked(other, "n1").number;
    for (int i = 0; i < 4; i++) {
        pass(&k, 21);
        answers(other, "n1", PROBE_ANSWERS, "", "");
    }
    ok(asked(other, "n1").number > last && asked(first, "n1").number == before,
       "from then on it is the one that is asked");
    peer_leave(other);
    pass(&k, 82);
    ok(asked(first, "n1").number > before, "until it goes");
    peer_attach(other);
    watch_close(&k);
}

static void test_use(void)
{
    struct watch k;
    watch_open(&k, true);
    add(&k, "n1", "");
    pass(&k, 1);
    answers(&k.a, "n1", PROBE_ANSWERS, "m1", "b1");
    uint32_t task = peer_work(&k.g, "far", "n1");
    pass(&k, 15);
    const struct taskmsg *m = peer_got(&k.a, TASKMSG_TASK, task);
    if (ok(m != NULL, "it gets a task"))
        peer_send(&k.a, &(struct taskmsg){.kind = TASKMSG_RESULT,
                                          .task = task,
                                          .attempt = m->attempt,
                                          .seq = 1,
                                          .outcome = OUTCOME_OK});
    uint64_t last = asked(&k.a, "n1").number;
    pass(&k, 18);
    is_int(asked(&k.a, "n1").number, last, "a task that reached it is a sight: no probe is due");
    is_text((alive(&k, "n1"), rig_text(&k.g, "probe.seen_by")), "task", "and it is told as one");
    pass(&k, 4);
    ok(asked(&k.a, "n1").number > last, "an interval later there is one");
    watch_close(&k);
}

static void test_local(void)
{
    struct watch k;
    watch_open(&k, false);
    add(&k, "n1", ", 'access': {'via': 'local'}");
    add(&k, "n2", ", 'access': {'via': 'local'}, 'alive': 'alive'");
    pass(&k, 10);
    is_text(alive(&k, "n1"), "unknown", "the machine of a worker, without one");
    uint64_t was = events(&k);
    peer_hello(&k.a, (struct peer_says){.capacity = 4});
    uint64_t hello = events(&k);
    pass(&k, 30);
    is_text(alive(&k, "n1"), "alive", "with one it is there");
    is_int(peer_count(&k.a, TASKMSG_PROBE), 0, "which need not be asked");
    is_int(events(&k) - hello, 1, "nothing else has changed");
    ok(hello >= was, "time goes on");
    rig_do(&k.g, server_node_report, "Node",
           (struct rig_ask){.id = "n1", .body = "{'alive': 'dead'}"});
    pass(&k, 400);
    is_text(alive(&k, "n1"), "dead", "that it is dead is a person's word, and stays it");
    watch_close(&k);
}

static void test_off(void)
{
    struct watch k;
    watch_open(&k, true);
    k.g.opts.probe_interval = 0;
    probing_load(k.g.server);
    add(&k, "n1", "");
    pass(&k, 60);
    is_int(peer_count(&k.a, TASKMSG_PROBE), 0, "switched off, nobody looks");
    say(&k.a, (struct probe_answer){.node = str_of("n1"), .number = 1, .end = PROBE_ANSWERS});
    is_text(alive(&k, "n1"), "unknown", "nor listens");
    ok(rig_at(&k.g, "probe")->kind == VALUE_NULL, "and nothing is told of it");
    watch_close(&k);
}

int main(void)
{
    test_becomes_alive();
    test_dies_and_returns();
    test_refused();
    test_comes_back();
    test_said_dead();
    test_suspect();
    test_batches();
    test_workers();
    test_use();
    test_local();
    test_off();
    return tap_done();
}
