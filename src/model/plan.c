/* plan.c - a plan's life: made, put in order, moved to its reserved ids (its bytes: plan_codec.c)
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "model/plan.h"

#include <assert.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/sort.h"

struct plan *plan_new(void)
{
    struct plan *p = xcalloc(1, sizeof *p);
    arena_init(&p->mem);
    return p;
}

void plan_free(struct plan *p)
{
    if (!p)
        return;
    arena_done(&p->mem);
    free(p);
}

static uint32_t moved(uint32_t ref, uint32_t base)
{
    return ref & PLAN_NEW ? base + (ref & ~PLAN_NEW) : ref;
}

/* The arrays are const for those who read a plan; they lie in its arena and are the plan's to move.
 */
static void all_moved(const uint32_t *refs, uint32_t n, uint32_t base)
{
    uint32_t *at = (uint32_t *)refs;
    for (uint32_t i = 0; i < n; i++)
        at[i] = moved(at[i], base);
}

static void quorums_moved(const struct plan_quorum *q, uint32_t n, uint32_t base)
{
    for (uint32_t i = 0; i < n; i++)
        all_moved(q[i].members, q[i].n_members, base);
}

void plan_rebase(struct plan *p, uint32_t base_def, uint32_t base_noderole, uint32_t base_task,
                 uint32_t base_span, uint32_t base_pool)
{
    assert(!p->rebased);
    assert(base_def && base_noderole && base_task && base_span && base_pool);
    p->rebased = true;
    p->base_def = base_def;
    p->base_noderole = base_noderole;
    p->base_task = base_task;
    p->base_span = base_span;
    p->base_pool = base_pool;
    for (uint32_t i = 0; i < p->n_noderoles; i++) {
        all_moved(p->noderoles[i].parents, p->noderoles[i].n_parents, base_noderole);
        quorums_moved(p->noderoles[i].quorums, p->noderoles[i].n_quorums, base_noderole);
    }
    for (uint32_t i = 0; i < p->n_tasks; i++) {
        struct plan_task *t = &p->tasks[i];
        t->noderole = moved(t->noderole, base_noderole);
        t->def = moved(t->def, base_def);
        t->span = t->span ? base_span + t->span - 1 : 0;
        all_moved(t->deps, t->n_deps, base_task);
    }
    for (uint32_t i = 0; i < p->n_spans; i++)
        all_moved(p->spans[i].pools, p->spans[i].n_pools, base_pool);
    for (uint32_t i = 0; i < p->n_needs; i++)
        p->needs[i].parent = moved(p->needs[i].parent, base_noderole);
    for (uint32_t i = 0; i < p->n_waits; i++)
        p->waits[i].holder = moved(p->waits[i].holder, base_noderole);
    for (uint32_t i = 0; i < p->n_changes; i++) {
        all_moved(p->changes[i].defs, p->changes[i].n_defs, base_def);
        all_moved(p->changes[i].gains, p->changes[i].n_gains, base_noderole);
        quorums_moved(p->changes[i].quorums, p->changes[i].n_quorums, base_noderole);
    }
}

static int by_noderole(const void *x, const void *y)
{
    const struct plan_change *p = x, *q = y;
    return (p->noderole > q->noderole) - (p->noderole < q->noderole);
}

void plan_changes_sort(struct plan *p)
{
    if (p->n_changes)
        qsort(p->changes, p->n_changes, sizeof *p->changes, by_noderole);
}

const struct plan_change *plan_change_find(const struct plan *p, uint32_t noderole)
{
    size_t i = sort_first(p->changes, p->n_changes, it, it->noderole >= noderole);
    return i < p->n_changes && p->changes[i].noderole == noderole ? &p->changes[i] : NULL;
}
