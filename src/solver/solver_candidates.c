/* solver_candidates.c - options worth looking at in a slot, and how much they can add
 *
 * The bound of the search in solver_price.c.  Where resources are scarce it is a table, for each
 * depth and each room left of the two scarcest, of what the options behind can add; a cell stands
 * for so many units that the table stays small, and is exact where those divide what is wanted.
 * Where sets apart keep options from each other it is a cover by classes of rivals, of which one
 * each can be.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "solver/solver_price_i.h"

enum { TABLE_CELLS = 2048 }; /* for each option: of room in two resources */

static void candidates_sort(struct pricer *c)
{
    for (uint32_t i = 1; i < c->n; i++)
        for (uint32_t k = i; k > 0 && c->w[k] > c->w[k - 1]; k--) {
            uint32_t o = c->order[k];
            int64_t w = c->w[k];
            c->order[k] = c->order[k - 1], c->w[k] = c->w[k - 1];
            c->order[k - 1] = o, c->w[k - 1] = w;
        }
}

/* The resources of which the candidates want most beyond what there is. */
static void scarce_find(struct pricer *c, const struct model *m, const struct pool *pool,
                        const struct slot *slot)
{
    double most[2] = {0};
    c->n_scarce = 0;
    for (uint32_t r = 0; slot->capacity && r < m->p->n_resources; r++) {
        int64_t room = slot->capacity[r] - pool->forced_demand[r], wanted = 0;
        for (uint32_t k = 0; k < c->n; k++)
            wanted += c->w[k] > 0 ? pool->options[c->order[k]].demand[r] : 0;
        if (wanted <= room || room == 0)
            continue;
        double by = (double)wanted / (double)room;
        uint32_t at = by > most[0] ? 0 : 1;
        if (by <= most[at])
            continue;
        if (at == 0)
            most[1] = most[0], c->scarce[1] = c->scarce[0];
        most[at] = by;
        c->scarce[at] = r;
        c->n_scarce = c->n_scarce < 2 ? c->n_scarce + 1 : 2;
    }
}

/* How large a cell is: as fine as what is wanted asks for, and the table has room for. */
static void units_find(struct pricer *c, const struct pool *pool, const struct slot *slot)
{
    int64_t cells = c->n_scarce == 2 ? 45 : TABLE_CELLS;
    c->span[0] = c->span[1] = 1;
    c->unit[0] = c->unit[1] = 1;
    for (uint32_t i = 0; i < c->n_scarce; i++) {
        uint32_t r = c->scarce[i];
        int64_t room = slot->capacity[r] - pool->forced_demand[r], unit = 0;
        for (uint32_t k = 0; k < c->n; k++)
            for (int64_t a = pool->options[c->order[k]].demand[r]; a;) { /* greatest divisor */
                int64_t t = unit % a;
                unit = a;
                a = t;
            }
        unit = unit ? unit : 1;
        if (i == 1) /* what the first does not need */
            cells = TABLE_CELLS / c->span[0];
        if (room / unit >= cells)
            unit = room / cells + 1;
        c->unit[i] = unit;
        c->span[i] = room / unit + 1;
    }
}

static void table_build(struct engine *g, const struct pool *pool)
{
    struct pricer *c = g->pricer;
    size_t cells = (size_t)(c->span[0] * c->span[1]);
    vec_reserve(&c->table, cells * (c->n + 1));
    memset(c->table.at + cells * c->n, 0, cells * sizeof *c->table.at);
    g->steps += 1 + cells * c->n / 8;
    for (uint32_t k = c->n; k-- > 0;) {
        const struct option *o = &pool->options[c->order[k]];
        int64_t *to = c->table.at + cells * k, *from = to + cells, take[2] = {0};
        for (uint32_t i = 0; i < c->n_scarce; i++)
            take[i] = o->demand[c->scarce[i]] / c->unit[i];
        memcpy(to, from, cells * sizeof *to);
        for (int64_t a = take[0]; a < c->span[0] && c->w[k] > 0; a++)
            for (int64_t b = take[1]; b < c->span[1]; b++) {
                int64_t with = from[(a - take[0]) * c->span[1] + b - take[1]] + c->w[k];
                int64_t *cell = &to[a * c->span[1] + b];
                *cell = with > *cell ? with : *cell;
            }
    }
}

void price_candidates(struct engine *g, const struct pool *pool, const struct slot *slot, bool all)
{
    struct pricer *c = g->pricer;
    c->n = 0;
    for (uint32_t i = 0; i < pool->n_options; i++)
        if ((all || c->weight[i] > 0) &&
            option_fits(g->m, &pool->options[i], slot, &pool->forced, pool->forced_demand)) {
            c->order[c->n] = i;
            c->w[c->n++] = c->weight[i];
        }
    candidates_sort(c);
    c->alive[0] = (struct solver_set){{0}};
    for (uint32_t k = 0; k < c->n; k++)
        solver_set_add(&c->alive[0], c->order[k]);
    c->rivals = false;
    for (uint32_t k = 0; k < c->n; k++)
        c->rivals |= set_meets(&pool->options[c->order[k]].rivals, &c->alive[0]);
    c->rest[c->n] = 0;
    for (uint32_t k = c->n; k-- > 0;)
        c->rest[k] = c->rest[k + 1] + (c->w[k] > 0 ? c->w[k] : 0);
    scarce_find(c, g->m, pool, slot);
    if (c->n_scarce) {
        units_find(c, pool, slot);
        table_build(g, pool);
    }
}

int64_t price_most_from(struct engine *g, const struct pool *pool, const struct slot *slot,
                        uint32_t k, const int64_t *used)
{
    const struct pricer *c = g->pricer;
    int64_t most = c->rest[k], cell = 0;
    for (uint32_t i = 0; i < c->n_scarce; i++)
        cell = cell * c->span[i] + (slot->capacity[c->scarce[i]] - used[c->scarce[i]]) / c->unit[i];
    if (c->n_scarce)
        most = c->table.at[(int64_t)k * c->span[0] * c->span[1] + cell];
    if (!c->rivals)
        return most;
    g->steps += (c->n - k) / 2;
    int64_t cover = model_cover(pool, c->order + k, c->w + k, c->n - k, &c->alive[k]);
    return cover < most ? cover : most;
}

/* Whether candidate k can be taken without a second thought: resources are no matter, and those it
 * keeps away weigh no more and keep each other away, so that one of them at most could have been.
 */
bool price_sure(const struct pricer *c, const struct pool *pool, uint32_t k)
{
    const struct option *o = &pool->options[c->order[k]];
    if (c->n_scarce || !o->pairs || c->w[k] <= 0)
        return false;
    struct solver_set away = o->rivals;
    set_cut(&away, &c->alive[k]);
    SET_EACH(r, &away)
    {
        struct solver_set others = away;
        solver_set_drop(&others, r);
        if (!set_inside(&others, &pool->options[r].rivals))
            return false;
    }
    return true;
}
