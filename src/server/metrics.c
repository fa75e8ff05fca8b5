/* metrics.c - the server's figures as Prometheus text
 *
 * One table of single figures, and families with a label.  Names end in what they count; what
 * only rises ends in _total.  To add one: a line in the table.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>

#include "server/probing.h"

static void family(struct buf *b, const char *name, const char *type, const char *help)
{
    buf_printf(b, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void labelled(struct buf *b, const char *name, const char *label, const char *word,
                     uint64_t n)
{
    buf_printf(b, "%s{%s=\"%s\"} %" PRIu64 "\n", name, label, word, n);
}

static void put_totals(struct server *s, struct buf *b)
{
    uint64_t noderoles[NODEROLE_STATE_COUNT], tasks[TASK_STATE_COUNT];
    anneal_totals(s->engine, noderoles, tasks);
    family(b, "anneal_noderoles", "gauge", "Noderoles by state.");
    for (int i = 0; i < NODEROLE_STATE_COUNT; i++)
        labelled(b, "anneal_noderoles", "state", noderole_state_name((enum noderole_state)i),
                 noderoles[i]);
    family(b, "anneal_tasks", "gauge", "Tasks by state.");
    for (int i = 0; i < TASK_STATE_COUNT; i++)
        labelled(b, "anneal_tasks", "state", task_state_name((enum task_state)i), tasks[i]);
}

static void put_nodes(struct server *s, struct buf *b)
{
    uint64_t alive[ALIVE_STATE_COUNT] = {0}, available = 0;
    for (uint32_t id = 1; id < anneal_node_end(s->engine); id++) {
        struct node_view v;
        if (!anneal_node(s->engine, id, &v) || v.gone)
            continue;
        alive[v.alive]++;
        available += v.available != 0;
    }
    family(b, "anneal_nodes", "gauge", "Nodes by what is believed of them.");
    for (int i = 0; i < ALIVE_STATE_COUNT; i++)
        labelled(b, "anneal_nodes", "alive", alive_state_name((enum alive_state)i), alive[i]);
    family(b, "anneal_nodes_available", "gauge", "Nodes that may be worked on.");
    buf_printf(b, "anneal_nodes_available %" PRIu64 "\n", available);
}

static void put_operations(struct server *s, struct buf *b)
{
    uint64_t counts[OPERATION_STATE_COUNT] = {0}, held = 0;
    for (uint32_t id = 1; id < anneal_operation_end(s->engine); id++) {
        struct operation_view v;
        if (id == OPERATION_STANDING || !anneal_operation(s->engine, id, &v))
            continue;
        counts[v.state]++;
        held += v.held;
    }
    family(b, "anneal_operations", "gauge", "Operations by state; running ones are open.");
    for (int i = 0; i < OPERATION_STATE_COUNT; i++)
        labelled(b, "anneal_operations", "state", operation_state_name((enum operation_state)i),
                 counts[i]);
    family(b, "anneal_operations_held", "gauge", "Operations whose tasks are held.");
    buf_printf(b, "anneal_operations_held %" PRIu64 "\n", held);
}

static void put_pools(struct server *s, struct buf *b)
{
    family(b, "anneal_pool_taken", "gauge", "Places taken in a pool, elsewhere included.");
    for (uint32_t id = 1; id < s->inv.pools.n; id++) {
        struct pool_view v;
        if (s->inv.pools.at[id].name && anneal_pool(s->engine, id, &v))
            labelled(b, "anneal_pool_taken", "pool", s->inv.pools.at[id].name,
                     (uint64_t)v.taken + v.elsewhere);
    }
    family(b, "anneal_pool_size", "gauge", "Places in a pool.");
    for (uint32_t id = 1; id < s->inv.pools.n; id++) {
        struct pool_view v;
        if (s->inv.pools.at[id].name && anneal_pool(s->engine, id, &v))
            labelled(b, "anneal_pool_size", "pool", s->inv.pools.at[id].name, v.size);
    }
}

static void put_hooks(struct server *s, struct buf *b)
{
    const char *name;
    uint64_t n;
    family(b, "anneal_hooks_slow_total", "counter", "Hooks that took more than 5 ms, by name.");
    for (size_t i = 0; hook_slow_at(s, i, &name, &n); i++)
        labelled(b, "anneal_hooks_slow_total", "hook", name, n);
}

static void put_probes(struct server *s, struct buf *b)
{
    const uint64_t *counts = s->pulse ? pulse_counts(s->pulse) : NULL;
    family(b, "anneal_probes_total", "counter", "Probes of nodes, by what came of them.");
    for (int i = 0; i < PROBE_MISSED; i++)
        labelled(b, "anneal_probes_total", "result", probe_end_name((enum probe_end)i),
                 counts ? counts[i] : 0);
    family(b, "anneal_probes_open", "gauge", "Probes of nodes that are under way.");
    buf_printf(b, "anneal_probes_open %u\n", s->pulse ? pulse_flying(s->pulse) : 0);
}

void server_metrics(struct server *s, struct buf *b)
{
    struct hook_figures hooks = hook_figures(s);
    uint32_t used = 0, capacity = anneal_capacity(s->engine, &used);
    uint64_t now = server_wall_ms(), up = now > s->started_ms ? (now - s->started_ms) / 1000 : 0;
    const struct {
        const char *name, *type, *help;
        uint64_t n;
    } figures[] = {
        {"anneal_up_seconds", "gauge", "Time since this server started.", up},
        {"anneal_ready", "gauge", "1 if requests are served.", server_is_ready(s)},
        {"anneal_degraded", "gauge", "1 while the store refuses writes.",
         s->degraded.code != ERR_NONE},
        {"anneal_suspect", "gauge",
         "1 while no death is declared because too many nodes are silent.",
         anneal_suspect(s->engine)},
        {"anneal_groups_total", "counter", "Groups of events committed.", s->groups},
        {"anneal_rows_written_total", "counter", "Rows written to the store.", s->rows_written},
        {"anneal_journal_seq", "gauge", "Number of the newest durable event.",
         server_events_last(s)},
        {"anneal_dispatches_total", "counter", "Task messages sent to workers.", s->dispatched},
        {"anneal_results_total", "counter", "Results received from workers.", s->results},
        {"anneal_results_stale_total", "counter",
         "Results of attempts that were not live any more.", s->stale_results},
        {"anneal_hooks_total", "counter", "Hooks evaluated.", hooks.runs},
        {"anneal_hooks_failed_total", "counter", "Hooks that failed.", hooks.failures},
        {"anneal_hooks_refused_total", "counter", "Plans that hooks refused.", hooks.refusals},
        {"anneal_hooks_rings_total", "counter", "Rings of hooks that were broken.", hooks.rings},
        {"anneal_queue_depth", "gauge", "Messages on their way to workers.", workers_depth(s)},
        {"anneal_inbox_depth", "gauge", "Results that wait for the store.", s->inbox.n},
        {"anneal_workers", "gauge", "Workers that report.", workers_present(s)},
        {"anneal_capacity", "gauge", "Attempts that workers can run at once.", capacity},
        {"anneal_capacity_used", "gauge", "Attempts that run.", used},
        {"anneal_event_subscribers", "gauge", "Followers of the event stream.", s->event_subs.n},
        {"anneal_catalog_generation", "gauge", "The live catalog generation, 0 if none.",
         s->catalog ? s->catalog->number : 0},
        {"anneal_engine_bytes", "gauge", "Memory of the engine.", anneal_bytes(s->engine)},
        {"anneal_store_bytes", "gauge", "Size of the store.", store_bytes(s->reader)},
        {"anneal_backup_timestamp_seconds", "gauge",
         "When the newest backup was made, in seconds since 1970; 0 if none is known.",
         s->backup_good_ms / 1000},
    };
    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++) {
        family(b, figures[i].name, figures[i].type, figures[i].help);
        buf_printf(b, "%s %" PRIu64 "\n", figures[i].name, figures[i].n);
    }
    put_totals(s, b);
    put_nodes(s, b);
    put_probes(s, b);
    put_operations(s, b);
    put_pools(s, b);
    put_hooks(s, b);
}
