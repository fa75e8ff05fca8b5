/* solver_moves.c - where one more service can come to nodes that exist
 *
 * Every way, in order: on as many nodes as can be first, then more on the first kind of those that
 * can have it.  Whoever wants the best way only asks solver_solve().
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "solver/solver_i.h"

struct moves {
    const struct solver_problem *p;
    uint32_t service;
    uint32_t n; /* entries that can have it, in the original order */
    uint32_t *entry, *most, *has;
    struct solver_kind *kinds;
};

static struct solver_kind entry_kind(const struct solver_problem *p, uint32_t i)
{
    const struct solver_existing *x = &p->existing[i];
    return (struct solver_kind){x->services, x->hardware, x->image, x->value, i, x->count};
}

static bool can_have(const struct solver_problem *p, uint32_t i, uint32_t service)
{
    const struct solver_existing *x = &p->existing[i];
    const struct solver_service *s = &p->services[service];
    struct solver_set with = x->services;
    if (solver_set_has(&with, service) || x->count == 0)
        return false;
    solver_set_add(&with, service);
    for (uint32_t r = 0; r < p->n_resources; r++) {
        int64_t room = p->hardware[x->hardware].capacity ? p->hardware[x->hardware].capacity[r] : 0;
        SET_EACH(id, &with)
        room -= p->services[id].demand ? p->services[id].demand[r] : 0;
        if (room < 0)
            return false;
    }
    return solver_set_has(&s->hardware, x->hardware) && solver_set_has(&s->images, x->image) &&
           solver_services_fit(p, &with);
}

static void moves_init(struct moves *m, const struct solver_problem *p, uint32_t service,
                       struct arena *mem)
{
    *m = (struct moves){.p = p, .service = service};
    m->entry = arena_new(mem, uint32_t, p->n_existing + 1);
    m->most = arena_new(mem, uint32_t, p->n_existing + 1);
    m->has = arena_new(mem, uint32_t, p->n_existing + 1);
    m->kinds = arena_new(mem, struct solver_kind, 2 * (size_t)p->n_existing + 1);
    for (uint32_t i = 0; i < p->n_existing; i++) {
        struct solver_kind kind = entry_kind(p, i);
        if (!can_have(p, i, service))
            continue;
        uint32_t k = m->n++;
        for (; k > 0; k--) {
            struct solver_kind before = entry_kind(p, m->entry[k - 1]);
            if (solver_kind_order(&before, &kind) <= 0)
                break;
            m->entry[k] = m->entry[k - 1];
        }
        m->entry[k] = i;
    }
    for (uint32_t k = 0; k < m->n; k++)
        m->most[k] = p->existing[m->entry[k]].count;
}

/* Puts count from place k on, as early as can be. */
static void fill_from(struct moves *m, uint32_t k, uint64_t count)
{
    for (; k < m->n; k++) {
        m->has[k] = count < m->most[k] ? (uint32_t)count : m->most[k];
        count -= m->has[k];
    }
}

/* The next way to put as many; false: there is none. */
static bool moves_turn(struct moves *m)
{
    uint64_t behind = 0, room = 0;
    for (uint32_t k = m->n; k-- > 0;) {
        if (m->has[k] && room) {
            m->has[k]--;
            fill_from(m, k + 1, behind + 1);
            return true;
        }
        behind += m->has[k];
        room += m->most[k] - m->has[k];
    }
    return false;
}

/* Hands the layout out if every node of it keeps together and apart; false: no more are wanted. */
static bool hand_out(struct moves *m, solver_move_f *each, void *ctx)
{
    uint32_t n = 0, k;
    for (uint32_t i = 0; i < m->p->n_existing; i++) {
        struct solver_kind kind = entry_kind(m->p, i), with = kind;
        for (k = 0; k < m->n && m->entry[k] != i; k++)
            ;
        with.count = k < m->n ? m->has[k] : 0;
        kind.count -= with.count;
        solver_set_add(&with.services, m->service);
        if (with.count)
            m->kinds[n++] = with;
        if (kind.count && !solver_services_fit(m->p, &kind.services))
            return true;
        if (kind.count)
            m->kinds[n++] = kind;
    }
    return each(ctx, m->kinds, n);
}

int solver_moves_each(const struct solver_problem *p, uint32_t service, solver_move_f *each,
                      void *ctx, struct err *e)
{
    SCOPED_ARENA(mem);
    struct moves m;
    int r = solver_problem_check(p, e);
    if (r < 0)
        return r;
    if (service >= p->n_services)
        return err_set(e, ERR_INVALID, "no service %u", service);
    const struct solver_service *s = &p->services[service];
    moves_init(&m, p, service, &mem);
    uint64_t most = 0, least = s->min > 1 ? s->min : 1;
    for (uint32_t k = 0; k < m.n; k++)
        most += m.most[k];
    most = most < s->max ? most : s->max;
    for (uint64_t count = most; count >= least && count > 0; count--) {
        if (s->step > 1 && (count - s->min) % s->step)
            continue;
        fill_from(&m, 0, count);
        do {
            if (!hand_out(&m, each, ctx))
                return 0;
        } while (moves_turn(&m));
    }
    return 0;
}
