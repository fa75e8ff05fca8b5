/* phase_group.c - services that go in turn are roll-outs
 *
 * The noderoles of a service that its strategy lets through a few at a time are a group of the plan
 * that stops: after more failures than the service's `failures` no further one begins (RFC 01,
 * section 4).  Each plan has its own; who does something else than go in turn leaves the one it was
 * in.  Where services wait for all of another, joins forgive what such a group forgives.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "planner/phase_plan_i.h"

static bool spot_rolls(const struct phase_spots *s, const struct phase_spot *sp)
{
    return sp->service != PHASE_NIL && sp->phases && s->l->g->vertices[sp->vertex].rolls;
}

void phase_groups_fill(struct phase_spots *s)
{
    const struct phase_cluster *c = s->l->g->cluster;
    struct plan *p = s->l->plan;
    uint32_t *members = arena_new(&s->l->mem, uint32_t, c->n_services);
    s->l->groups = arena_new(&s->l->mem, uint32_t, c->n_services);
    p->groups = arena_new(&p->mem, struct plan_group, c->n_services);
    for (uint32_t i = 0; i < s->n; i++)
        if (spot_rolls(s, &s->at[i]))
            members[s->at[i].service]++;
    for (uint32_t i = 0; i < c->n_services; i++) {
        int64_t may = graph_tolerance_of(&c->services[i].failures, members[i]);
        struct str name = c->services[i].name;
        if (!members[i])
            continue;
        p->groups[p->n_groups++] = (struct plan_group){
            {arena_strndup(&p->mem, name.s, name.n), name.n}, may > 0 ? (uint32_t)may : 0, true};
        s->l->groups[i] = p->n_groups;
    }
}

uint32_t phase_spot_group(const struct phase_spots *s, const struct phase_spot *sp)
{
    return spot_rolls(s, sp) ? s->l->groups[sp->service] : 0;
}
