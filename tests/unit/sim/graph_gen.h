/* graph_gen.h - small random graphs and nodes, the same from the same seed
 *
 * Vertices depend on earlier ones only, so that circles come from groups and strategies alone.
 * Everything that a graph can say about order and limits has its turn: stages, groups that require
 * each other, chunks, sliding windows, tasks of several groups, of all nodes, of the master, cross
 * dependencies of both directions, conditions and types that leave tasks out.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_GRAPH_GEN_H
#define TESTS_GRAPH_GEN_H

#include "base/str.h"
#include "sim/rng_i.h"
#include "weave_bed.h"

struct graph_gen {
    struct rng rng;
    struct buf text;
    uint32_t n_stages, n_groups, n_tasks, n_nodes;
    bool windows; /* groups may have sliding windows */
};

HELPER bool gen_chance(struct graph_gen *g, uint32_t percent)
{
    return rng_chance(&g->rng, percent * 10);
}

HELPER void gen_strategy(struct graph_gen *g, bool group)
{
    static const char *const types[] = {"parallel", "one_by_one", "rolling"};
    if (!gen_chance(g, group ? 40 : 20))
        return;
    uint32_t type = rng_below(&g->rng, group && !g->windows ? 2 : 3);
    buf_printf(&g->text, ", strategy: {type: %s, amount: %u}", types[type],
               rng_from(&g->rng, 1, 3));
}

/* ", key: [s1, s3]" of earlier vertices with this letter. */
HELPER void gen_list(struct graph_gen *g, const char *key, char letter, uint32_t before,
                     uint32_t percent)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < before; i++) {
        if (!gen_chance(g, percent))
            continue;
        if (n++)
            buf_puts(&g->text, ", ");
        else
            buf_printf(&g->text, ", %s: [", key);
        buf_printf(&g->text, "%c%u", letter, i);
    }
    if (n)
        buf_puts(&g->text, "]");
}

HELPER void gen_groups_of(struct graph_gen *g)
{
    uint32_t first = rng_below(&g->rng, g->n_groups);
    buf_printf(&g->text, ", groups: [g%u", first);
    for (uint32_t i = first + 1; i < g->n_groups; i++)
        if (gen_chance(g, 30))
            buf_printf(&g->text, ", g%u", i);
    buf_puts(&g->text, "]");
}

HELPER void gen_cross(struct graph_gen *g, uint32_t task)
{
    if (!task || !gen_chance(g, 50))
        return;
    buf_printf(&g->text, ", cross_depends: [{name: t%u", rng_below(&g->rng, task));
    switch (rng_below(&g->rng, 4)) {
    case 0: buf_puts(&g->text, ", role: self"); break;
    case 1: buf_printf(&g->text, ", role: g%u", rng_below(&g->rng, g->n_groups)); break;
    case 2:
        buf_printf(&g->text, ", role: g%u, policy: any", rng_below(&g->rng, g->n_groups));
        break;
    default: break;
    }
    buf_puts(&g->text, "}]");
}

HELPER void gen_task(struct graph_gen *g, uint32_t i)
{
    buf_printf(&g->text, "- {id: t%u, type: %s", i, gen_chance(g, 8) ? "skipped" : "shell");
    switch (rng_below(&g->rng, 8)) {
    case 0: buf_puts(&g->text, ", role: '*'"); break;
    case 1: buf_puts(&g->text, ", role: master"); break;
    default: gen_groups_of(g); break;
    }
    gen_list(g, "requires", 't', i, 25);
    gen_cross(g, i);
    if (g->n_stages && gen_chance(g, 30))
        buf_printf(&g->text, ", required_for: [s%u]", rng_below(&g->rng, g->n_stages));
    gen_strategy(g, false);
    buf_puts(&g->text, "}\n");
}

/* The graph as text; free with gen_done(). */
HELPER void gen_graph(struct graph_gen *g, uint64_t seed, bool windows)
{
    *g = (struct graph_gen){.rng = {.key = seed}, .windows = windows};
    g->n_stages = rng_below(&g->rng, 4);
    g->n_groups = rng_from(&g->rng, 1, 4);
    g->n_tasks = rng_from(&g->rng, 1, 8);
    g->n_nodes = rng_from(&g->rng, 1, 6);
    for (uint32_t i = 0; i < g->n_stages; i++) {
        buf_printf(&g->text, "- {id: s%u, type: stage", i);
        gen_list(g, "requires", 's', i, 60);
        buf_puts(&g->text, "}\n");
    }
    for (uint32_t i = 0; i < g->n_groups; i++) {
        buf_printf(&g->text, "- {id: g%u, type: group", i);
        gen_list(g, "requires", 'g', i, 25);
        if (g->n_stages && gen_chance(g, 40))
            buf_printf(&g->text, ", required_for: [s%u]", rng_below(&g->rng, g->n_stages));
        gen_strategy(g, true);
        buf_puts(&g->text, "}\n");
    }
    for (uint32_t i = 0; i < g->n_tasks; i++)
        gen_task(g, i);
}

HELPER void gen_nodes(struct graph_gen *g, struct weave_bed *b)
{
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        SCOPED_BUF(names);
        for (uint32_t k = 0; k < g->n_groups; k++)
            if (gen_chance(g, 40))
                buf_printf(&names, "g%u ", k);
        bed_node(b, arena_printf(&b->mem, "n%u", i + 1), names.len ? names.data : "spare");
    }
}

HELPER void gen_done(struct graph_gen *g)
{
    buf_done(&g->text);
}

#endif
