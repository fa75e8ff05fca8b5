/* sim_agenda.c - what will happen, earliest first; ties in the order in which they were entered */
/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/sim_i.h"

#include <assert.h>

static bool item_before(const struct agenda_item *x, const struct agenda_item *y)
{
    return x->at_ms != y->at_ms ? x->at_ms < y->at_ms : x->no < y->no;
}

void sim_agenda_push(struct agenda *g, struct agenda_item item)
{
    item.no = ++g->next_no;
    size_t i = g->heap.n;
    (void)vec_add(&g->heap);
    for (; i > 0 && item_before(&item, &g->heap.at[(i - 1) / 2]); i = (i - 1) / 2)
        g->heap.at[i] = g->heap.at[(i - 1) / 2];
    g->heap.at[i] = item;
}

struct agenda_item sim_agenda_pop(struct agenda *g)
{
    assert(g->heap.n > 0);
    struct agenda_item top = g->heap.at[0], last = g->heap.at[--g->heap.n];
    size_t i = 0;
    for (;;) {
        size_t c = 2 * i + 1;
        if (c >= g->heap.n)
            break;
        if (c + 1 < g->heap.n && item_before(&g->heap.at[c + 1], &g->heap.at[c]))
            c++;
        if (!item_before(&g->heap.at[c], &last))
            break;
        g->heap.at[i] = g->heap.at[c];
        i = c;
    }
    if (g->heap.n > 0)
        g->heap.at[i] = last;
    return top;
}
