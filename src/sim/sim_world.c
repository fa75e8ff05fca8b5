/* sim_world.c - the world that a seed makes: nodes, workers, jigs, pools, tenants, and what is true
 * of them
 *
 * The engine learns of it only through events.  What it believes of a node and what is true differ
 * whenever a probe has not come round yet.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/sim_i.h"

enum { PROBE_SLOW_MS = 60000, PROBE_FAST_MS = 4000, LEASES_MS = 2000, START_MS = 1000 };

static struct rng stream(uint64_t seed, uint64_t which)
{
    return (struct rng){mix64(mix64(0x73696dull, seed), which), 0};
}

/* Draws that the options may overrule are made all the same: the rest of the world does not move.
 */
static void sizes_draw(struct sim *s)
{
    struct rng *r = &s->world;
    uint32_t nodes = rng_from(r, 20, 40), noderoles = rng_from(r, 60, 150);
    s->n_nodes = s->opt.nodes ? s->opt.nodes : nodes;
    s->want_noderoles = s->opt.noderoles ? s->opt.noderoles : noderoles;
    s->n_workers = rng_from(r, 1, SIM_WORKERS_MOST);
    s->n_jigs = rng_from(r, 2, SIM_JIGS_MOST);
    s->n_tenants = rng_from(r, 1, SIM_TENANTS_MOST);
    s->n_pools = rng_from(r, 2, SIM_POOLS_MOST);
    s->settings = (struct engine_settings){.dead_after_ms = 12000,
                                           .probe_count = 3,
                                           .suspect_percent = 20,
                                           .suspect_min = 5,
                                           .timeout_ms = 120000,
                                           .stop_grace_ms = 5000,
                                           .cone_large = rng_chance(r, 500) ? rng_from(r, 2, 6)
                                                                            : 0};
    engine_settings_fill(&s->settings);
    s->slice_rows = rng_from(r, 1, 12);
}

void sim_world_size(const struct sim_options *o, uint32_t *ret_nodes, uint32_t *ret_noderoles)
{
    struct sim s = {.opt = *o, .world = stream(o->seed, 1)};
    sizes_draw(&s);
    *ret_nodes = s.n_nodes;
    *ret_noderoles = s.want_noderoles;
}

static void event_must(struct sim *s, struct event ev, const void *fixed)
{
    if (sim_server_feed(s, &ev, &(struct commit_note){.fixed = fixed}) < 0)
        sim_fail(s, "the world could not be made: %s refused", event_kind_name(ev.kind));
}

void sim_world_capacity(struct sim *s)
{
    uint32_t capacity = 0, slots[SIM_JIGS_MOST + 1] = {0};
    for (uint32_t i = 0; i < s->n_workers; i++) {
        const struct sim_worker *w = &s->workers[i];
        for (uint32_t j = 1; w->up && j <= s->n_jigs; j++)
            slots[j] += w->jigs >> j & 1 ? w->capacity : 0;
        capacity += w->up ? w->capacity : 0;
    }
    if (capacity != anneal_capacity(s->server.engine, NULL))
        event_must(s, (struct event){.kind = EVENT_CAPACITY_SET, .n = capacity}, NULL);
    for (uint32_t j = 1; j <= s->n_jigs && sim_server_ready(s); j++) {
        struct jig_view v;
        if (anneal_jig(s->server.engine, j, &v) && (v.slots != slots[j]))
            event_must(
                s, (struct event){.kind = EVENT_JIG_SET, .id = j, .n = slots[j], .flag = v.active},
                NULL);
    }
}

static void workers_make(struct sim *s)
{
    struct rng *r = &s->world;
    for (uint32_t i = 0; i < s->n_workers; i++) {
        struct sim_worker *w = &s->workers[i];
        w->up = true;
        w->life = 1;
        w->capacity = rng_from(r, 2, 10);
        for (uint32_t j = 1; j <= s->n_jigs; j++) /* the first worker has them all */
            w->jigs |= (uint32_t)(i == 0 || rng_chance(r, 600)) << j;
        sim_after(s, rng_from(r, 1, 3000),
                  (struct agenda_item){.kind = AGENDA_BEAT, .who = i, .life = 1});
    }
}

static void nodes_make(struct sim *s)
{
    struct rng *r = &s->world;
    (void)vec_add(&s->nodes);
    for (uint32_t id = 1; id <= s->n_nodes; id++) {
        struct sim_node *n = vec_add(&s->nodes);
        *n = (struct sim_node){
            .up = true, .life = 1, .machine = rng_next(r) | 1, .boot = rng_next(r) | 1};
        event_must(s,
                   (struct event){.kind = EVENT_NODE_ADD,
                                  .id = id,
                                  .flag = 1,
                                  .n = rng_chance(r, 250) ? rng_from(r, 2, 3) : 1,
                                  .extra = rng_chance(r, 500) ? ALIVE_ALIVE : ALIVE_UNKNOWN},
                   NULL);
        sim_after(s, rng_from(r, 1, 2000), (struct agenda_item){.kind = AGENDA_PROBE, .who = id});
    }
}

void sim_world_make(struct sim *s)
{
    s->world = stream(s->opt.seed, 1);
    s->net = stream(s->opt.seed, 2);
    s->work = stream(s->opt.seed, 3);
    s->chaos = stream(s->opt.seed, 4);
    s->serve = stream(s->opt.seed, 5);
    s->wish = stream(s->opt.seed, 6);
    s->start = stream(s->opt.seed, 7);
    s->now_ms = START_MS;
    sizes_draw(s);
    sim_server_boot(s);
    (void)vec_add(&s->defs);
    (void)vec_add(&s->tasks);
    (void)vec_add(&s->marks);
    (void)vec_add(&s->seats);
    workers_make(s);
    sim_server_settings(s);
    for (uint32_t i = 1; i <= s->n_tenants; i++)
        event_must(s, (struct event){.kind = EVENT_TENANT_ADD, .id = i}, NULL);
    event_must(
        s,
        (struct event){
            .kind = EVENT_OPERATION_ADD, .id = OPERATION_STANDING, .n = 1, .flag = CLASS_NORMAL},
        NULL);
    for (uint32_t i = 1; i <= s->n_jigs; i++)
        event_must(s, (struct event){.kind = EVENT_JIG_SET, .id = i, .flag = 1},
                   &(struct row_jig){.id = i});
    for (uint32_t i = 1; i <= s->n_pools; i++) {
        s->pool_sizes[i] = rng_from(&s->world, 1, 6);
        event_must(s, (struct event){.kind = EVENT_POOL_SET, .id = i, .n = s->pool_sizes[i]},
                   &(struct row_pool){.id = i});
    }
    nodes_make(s);
    sim_world_capacity(s);
    sim_after(s, LEASES_MS, (struct agenda_item){.kind = AGENDA_LEASES});
}

void sim_world_free(struct sim *s)
{
    sim_server_free(s);
    sim_desire_free(s);
    for (uint32_t i = 0; i < SIM_WORKERS_MOST; i++)
        vec_done(&s->workers[i].work);
    vec_done(&s->nodes);
    vec_done(&s->defs);
    vec_done(&s->tasks);
    vec_done(&s->marks);
    vec_done(&s->sees);
    vec_done(&s->seats);
    vec_done(&s->corrected);
    vec_done(&s->agenda.heap);
    buf_done(&s->scratch);
}

void sim_world_node_down(struct sim *s, uint32_t node, uint64_t for_ms, bool reboot, bool replace)
{
    struct sim_node *n = &s->nodes.at[node];
    if (!n->up)
        return;
    n->up = false;
    if (reboot || replace) {
        n->life++;
        n->boot = rng_next(&s->chaos) | 1;
    }
    if (replace)
        n->machine = rng_next(&s->chaos) | 1;
    sim_after(s, for_ms, (struct agenda_item){.kind = AGENDA_NODE_UP, .who = node});
    if (n->watched)
        return;
    n->watched = true; /* a failed use only starts the probe */
    sim_after(s, rng_from(&s->net, 10, 2000),
              (struct agenda_item){.kind = AGENDA_PROBE, .who = node, .life = 1});
}

void sim_world_node_up(struct sim *s, uint32_t node)
{
    s->nodes.at[node].up = true;
}

/* Each node has one slow probe that repeats (life 0); a fast one follows it while it is down. */
void sim_world_probe(struct sim *s, uint32_t node, bool slow)
{
    struct sim_node *n = &s->nodes.at[node];
    bool again = slow || !n->up || !sim_server_ready(s); /* that it is back must be told */
    if (again)
        sim_after(s, (slow ? PROBE_SLOW_MS : PROBE_FAST_MS) + rng_below(&s->net, 500),
                  (struct agenda_item){.kind = AGENDA_PROBE, .who = node, .life = !slow});
    if (!slow)
        n->watched = again;
    if (!sim_server_ready(s))
        return;
    struct event ev = {.kind = n->up ? EVENT_NODE_SEEN : EVENT_NODE_SILENT, .id = node};
    if (n->up) {
        ev.a = n->machine;
        ev.b = n->boot;
    }
    if (sim_server_feed(s, &ev, NULL) < 0)
        sim_fail(s, "the probe of node %u was refused", node);
}
