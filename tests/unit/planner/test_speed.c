/* test_speed.c - a hundred roles on a hundred nodes in one request; the time is told, not judged */
/* SPDX-License-Identifier: Apache-2.0 */
#include "tap.h"

#include <time.h>

#include "fake_world.h"

enum { ROLES = 100, NODES = 100, REQUIRES = 5 };

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

int main(void)
{
    struct buf text = {0};
    struct fake_world w;
    struct plan *p = NULL;
    struct err e;
    uint32_t n = 0, edges = 0, unsorted = 0;

    buf_puts(&text, "barclamp: t\nroles:\n");
    for (uint32_t i = 0; i < ROLES; i++) {
        buf_printf(&text, "  - {name: r%u, jig: shell, requires: [", i);
        for (uint32_t k = 1; k <= REQUIRES && k <= i; k++)
            buf_printf(&text, "%sr%u", k > 1 ? ", " : "", i - k);
        buf_puts(&text, "], actions: {converge: [{name: a}, {name: b}]}}\n");
    }
    struct catalog *c = fake_catalog(text.data);
    fake_init(&w, c, NODES);
    struct bind_item *items = arena_new(&w.mem, struct bind_item, ROLES * NODES);
    for (uint32_t node = 1; node <= NODES; node++)
        for (uint32_t i = 0; i < ROLES; i++)
            items[n++] = (struct bind_item){c->roles[i].name, node, NULL};
    struct bind_request req = {1, items, n};
    double best = 1e9;
    for (unsigned round = 0; round < 5; round++) {
        double start = now_ms();
        plan_free(p);
        p = NULL;
        if (!ok(planner_bind(c, &w.face, &req, &p, NULL, &e) == 0, "round %u is planned", round))
            return tap_done();
        best = now_ms() - start < best ? now_ms() - start : best;
    }
    for (uint32_t i = 0; i < p->n_noderoles; i++)
        edges += p->noderoles[i].n_parents;
    for (uint32_t i = 0; i < p->n_tasks; i++)
        for (uint32_t k = 0; k < p->tasks[i].n_deps; k++)
            unsorted += (p->tasks[i].deps[k] & ~PLAN_NEW) >= i;
    is_int(p->n_noderoles, ROLES * NODES, "all are new");
    is_int(edges, NODES * (REQUIRES * ROLES - 15), "with their needs");
    is_int(p->n_tasks, 2 * ROLES * NODES, "and their tasks");
    is_int(unsorted, 0, "each after what it waits for");
    is_int(p->tasks[0].weight, 2 * ROLES, "the longest way down");
    note("%u noderoles, %u needs planned in %.1f ms", p->n_noderoles, edges, best);
    plan_free(p);
    fake_done(&w);
    catalog_unref(c);
    buf_done(&text);
    return tap_done();
}
