/* phase_stage.c - stages, and edges without joins: views of a graph for people and tests
 *
 * Nothing runs by stages.  A join is in none: its level is passed on to whoever waits for it.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "planner/phase.h"

#include <stdlib.h>

#include "base/sort.h"
#include "planner/phase_i.h"

/* Vertices sorted by a number that each has (PHASE_NIL: left out), ties as they are: where each
 * number's begin in ret_at, and the end. */
static const uint32_t *numbers_sort(struct arena *mem, const uint32_t *number, uint32_t n,
                                    uint32_t n_numbers, uint32_t *ret_sorted)
{
    uint32_t *first = arena_new(mem, uint32_t, (size_t)n_numbers + 2);
    for (uint32_t v = 0; v < n; v++)
        if (number[v] != PHASE_NIL)
            first[number[v] + 2]++;
    for (uint32_t i = 0; i < n_numbers; i++)
        first[i + 2] += first[i + 1];
    for (uint32_t v = 0; v < n; v++)
        if (number[v] != PHASE_NIL)
            ret_sorted[first[number[v] + 1]++] = v;
    return first;
}

/* By vertex: tasks on the longest way to it.  How many levels there are. */
static uint32_t levels_find(const struct phase_flow *f, uint32_t *level)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < f->n; i++) {
        uint32_t v = f->order[i], most = 0;
        for (uint32_t k = f->first[v]; k < f->first[v + 1]; k++) {
            uint32_t dep = f->deps[k], behind = level[dep] + (f->node[dep] != PHASE_NIL);
            most = behind > most ? behind : most;
        }
        level[v] = most;
        if (f->node[v] != PHASE_NIL && most >= n)
            n = most + 1;
    }
    for (uint32_t v = 0; v < f->n; v++)
        if (f->node[v] == PHASE_NIL)
            level[v] = PHASE_NIL;
    return n;
}

void phase_flow_stages(const struct phase_flow *f, struct arena *mem, struct phase_stages *ret)
{
    uint32_t *number = xcalloc((size_t)f->n + 1, sizeof *number);
    uint32_t *met = xcalloc((size_t)f->n_nodes + 1, sizeof *met); /* on a level, by node */
    uint32_t *at = xcalloc((size_t)f->n_nodes + 1, sizeof *at);   /* that level + 1 */
    uint32_t *tasks = arena_new(mem, uint32_t, f->n), stage = 0;
    ret->n_levels = levels_find(f, number);
    const uint32_t *first = numbers_sort(mem, number, f->n, ret->n_levels, tasks);
    uint32_t *level_end = arena_new(mem, uint32_t, ret->n_levels);
    for (uint32_t l = 0; l < ret->n_levels; l++) {
        uint32_t most = 0;
        for (uint32_t i = first[l]; i < first[l + 1]; i++) {
            uint32_t node = f->node[tasks[i]];
            met[node] = at[node] == l + 1 ? met[node] + 1 : 0;
            at[node] = l + 1;
            number[tasks[i]] = stage + met[node];
            most = met[node] > most ? met[node] : most;
        }
        stage += most + 1;
        level_end[l] = stage;
    }
    ret->n = stage;
    ret->level_end = level_end;
    ret->first = numbers_sort(mem, number, f->n, stage, tasks);
    ret->tasks = tasks;
    free(number);
    free(met);
    free(at);
}

void phase_stages(const struct phase_graph *g, struct arena *mem, struct phase_stages *ret)
{
    uint32_t *node = xcalloc((size_t)g->n + 1, sizeof *node);
    struct phase_flow f = {.n = g->n,
                           .n_nodes = g->cluster->n_nodes,
                           .first = g->first,
                           .deps = g->deps,
                           .order = g->order,
                           .node = node};
    for (uint32_t v = 0; v < g->n; v++)
        node[v] = g->vertices[v].node;
    phase_flow_stages(&f, mem, ret);
    free(node);
}

/* --- edges without joins --- */

uint32_t phase_edges(const struct phase_graph *g, uint32_t v, uint32_t *ret, uint32_t max)
{
    VEC(uint32_t) todo = {0};
    VEC(uint32_t) tasks = {0};
    uint32_t n = 0;
    vec_push(&todo, v);
    while (todo.n) {
        uint32_t of = todo.at[--todo.n];
        for (uint32_t k = g->first[of]; k < g->first[of + 1]; k++) {
            uint32_t dep = g->deps[k];
            if (dep < g->n_tasks)
                vec_push(&tasks, dep);
            else
                vec_push(&todo, dep);
        }
    }
    sort_u32(tasks.at, tasks.n);
    for (size_t i = 0; i < tasks.n && n < max; i++)
        if (!i || tasks.at[i] != tasks.at[i - 1])
            ret[n++] = tasks.at[i];
    vec_done(&todo);
    vec_done(&tasks);
    return n;
}

uint64_t phase_edges_count(const struct phase_graph *g)
{
    uint64_t *of = xcalloc((size_t)g->n_joins + 1, sizeof *of), all = 0;
    for (uint32_t i = 0; i < g->n; i++) {
        uint32_t v = g->order[i];
        uint64_t n = 0;
        for (uint32_t k = g->first[v]; k < g->first[v + 1]; k++)
            n += g->deps[k] < g->n_tasks ? 1 : of[g->deps[k] - g->n_tasks];
        if (v < g->n_tasks)
            all += n;
        else
            of[v - g->n_tasks] = n;
    }
    free(of);
    return all;
}
