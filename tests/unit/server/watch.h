/* watch.h - a server that looks for nodes, and two workers that say what a test tells them to
 *
 * Seconds pass when a test says so, by the server's clock alone.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_SERVER_WATCH_H
#define TESTS_SERVER_WATCH_H

#include "peer.h"
#include "server/probing.h"

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-function"

struct watch {
    struct rig g;
    struct peer a, b;
};

static void watch_open(struct watch *k, bool workers)
{
    rig_open(&k->g);
    k->g.opts.probe_interval = 20000;
    k->g.opts.dead_after = 60000;
    k->g.opts.probe_count = 3;
    rig_restart(&k->g);
    loop_timer_stop(k->g.server->beat); /* seconds pass when a test says so */
    rig_catalog_of(&k->g, PEER_CATALOG);
    peer_open(&k->a, &k->g, "a");
    peer_open(&k->b, &k->g, "b");
    if (workers)
        peer_hello(&k->a, (struct peer_says){.capacity = 4});
}

static void watch_close(struct watch *k)
{
    struct err e;
    ok(anneal_check(k->g.server->engine, &e) == 0, "the engine is sound");
    peer_close(&k->a);
    peer_close(&k->b);
    rig_close(&k->g);
}

static void add(struct watch *k, const char *name, const char *more)
{
    rig_do(&k->g, server_node_create, "Node",
           (struct rig_ask){.body = arena_printf(&k->g.mem, "{'name': '%s'%s}", name, more)});
    rig_settle(&k->g);
}

/* Seconds, one beat of the server after the other, in which the workers are heard. */
static void pass(struct watch *k, uint32_t seconds)
{
    for (uint32_t i = 0; i < seconds; i++) {
        k->g.server->clock_offset_ms += 1000;
        for (size_t w = 0; w < k->g.server->workers.n; w++)
            k->g.server->workers.at[w]->seen_ms = server_now(k->g.server);
        probing_beat(k->g.server);
    }
    rig_settle(&k->g);
}

/* The latest probe of that node that a worker was sent; number 0: none. */
static struct probe_ask asked(const struct peer *p, const char *node)
{
    for (size_t i = p->got.n; i-- > 0;)
        for (uint32_t n = 0; n < p->got.at[i].n_probes; n++)
            if (p->got.at[i].kind == TASKMSG_PROBE && str_is(p->got.at[i].probes[n].node, node))
                return p->got.at[i].probes[n];
    return (struct probe_ask){0};
}

static void say(struct peer *p, struct probe_answer a)
{
    peer_send(p, &(struct taskmsg){.kind = TASKMSG_PROBED, .answers = &a, .n_answers = 1});
}

static void answers(struct peer *p, const char *node, enum probe_end end, const char *machine,
                    const char *boot)
{
    say(p, (struct probe_answer){.node = str_of(node),
                                 .number = asked(p, node).number,
                                 .end = end,
                                 .text = str_of(end == PROBE_ANSWERS ? "" : "because"),
                                 .machine_id = str_of(machine),
                                 .boot_id = str_of(boot)});
}

static const char *alive(struct watch *k, const char *node)
{
    rig_do(&k->g, server_node_get, "Node", (struct rig_ask){.id = node});
    return rig_text(&k->g, "alive");
}

static uint64_t events(struct watch *k)
{
    return server_events_last(k->g.server);
}

static const char *why(struct watch *k, const char *node)
{
    SCOPED_BUF(b);
    rig_do(&k->g, server_why, "Why", (struct rig_ask){.id = "node", .id2 = node});
    json_write(&b, k->g.reply.body, 0);
    return arena_strndup(&k->g.mem, b.data, b.len);
}

#pragma GCC diagnostic pop

#endif
