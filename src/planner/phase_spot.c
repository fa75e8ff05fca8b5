/* phase_spot.c - noderoles of a plan of phases: what is new, what changes, where their tasks are */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "model/states.h"
#include "planner/phase_plan_i.h"

static struct phase_spot *machine_spot(const struct phase_spots *s, uint32_t node)
{
    return &s->at[s->l->req->work->first[node] + node];
}

uint32_t phase_spot_vertex(const struct phase_spots *s, const struct phase_spot *sp, uint32_t kind)
{
    if (kind == PHASE_DELETE)
        return s->l->g->base[sp->node + 1] - 1;
    return sp->vertex + (uint32_t)__builtin_popcount(sp->phases & ((1u << kind) - 1));
}

/* --- noderoles --- */

static void spots_find(struct phase_spots *s)
{
    const struct phase_plan_request *req = s->l->req;
    const struct phase_graph *g = s->l->g;
    const struct phase_cluster *c = g->cluster;
    s->n = c->n_nodes ? req->work->first[c->n_nodes] + c->n_nodes : 0;
    s->at = arena_new(&s->l->mem, struct phase_spot, s->n);
    for (uint32_t node = 0; node < c->n_nodes; node++) {
        struct phase_spot *machine = machine_spot(s, node), *of = machine;
        *machine = (struct phase_spot){
            .place = &req->machines[node], .node = node, .service = PHASE_NIL};
        for (uint32_t i = 0; i < c->nodes[node].n_services; i++)
            machine[1 + i] = (struct phase_spot){
                .place = &req->services[req->work->first[node] + i],
                .node = node,
                .service = c->nodes[node].services[i]};
        for (uint32_t v = g->base[node]; v < g->base[node + 1]; v++) {
            const struct phase_vertex *at = &g->vertices[v];
            while (at->service != PHASE_NIL && of->service != at->service)
                of++;
            struct phase_spot *sp = at->service == PHASE_NIL ? machine : of;
            if (!sp->phases)
                sp->vertex = v;
            sp->phases |= (uint16_t)(1u << at->kind);
        }
    }
}

static int spot_decide(struct phase_spots *s, struct phase_spot *sp, uint32_t *n_new)
{
    const struct phase_place *place = sp->place;
    struct str node = s->l->g->cluster->nodes[sp->node].name;
    if (place->absent && sp->phases)
        return err_set(s->l->e, ERR_INVALID, "plan: nothing holds the tasks of %.*s", (int)node.n,
                       node.s);
    if (place->absent)
        return 0;
    sp->planned = sp->phases || !place->noderole || place->removed || place->other_data ||
                  place->other_lens;
    sp->ref = place->noderole ? place->noderole : (*n_new)++ | PLAN_NEW;
    sp->chain = sp->phases;
    if (!place->removed && (sp->phases || !place->noderole))
        sp->chain |= place->kept;
    sp->stops = place->target == TARGET_STOPPED && sp->phases == PHASE_F_STOP;
    sp->undoes = place->undoes && sp->chain && !(sp->chain & PHASE_F_DELETE);
    if (sp->undoes)
        sp->chain |= PHASE_F_DELETE;
    return 0;
}

static bool needs_machine(const struct phase_spots *s, const struct phase_spot *sp)
{
    return sp->service != PHASE_NIL && !machine_spot(s, sp->node)->place->absent;
}

bool phase_spot_wants(const struct phase_spots *s, const struct phase_spot *sp)
{
    return sp->planned && !sp->chain && !sp->place->noderole &&
           (needs_machine(s, sp) || sp->place->n_parents);
}

static int spot_count(struct phase_spots *s, struct phase_spot *sp)
{
    for (uint32_t left = sp->chain; left;) {
        enum phase_kind kind = phase_spot_next(sp, &left);
        const struct phase_kindred *k = phase_spot_kindred(s, sp, kind);
        if (!k)
            return -(int)s->l->e->code;
        if (sp->phases >> kind & 1)
            s->kin[phase_spot_vertex(s, sp, kind)] = k;
        if (sp->undoes && sp->place->clears && kind == PHASE_DELETE)
            sp->lead = k->n;
        sp->n += k->n;
    }
    sp->n += sp->lead;
    sp->n += phase_spot_wants(s, sp);
    if (sp->n > PLAN_MOST_TASKS)
        return err_set(s->l->e, ERR_LIMIT, "a noderole would have %u tasks, more than %d", sp->n,
                       PLAN_MOST_TASKS);
    return 0;
}

static int spots_decide(struct phase_spots *s, uint32_t *n_new)
{
    int rc = 0;
    for (uint32_t i = 0; i < s->n && rc >= 0; i++) {
        rc = spot_decide(s, &s->at[i], n_new);
        if (rc >= 0)
            rc = spot_count(s, &s->at[i]);
    }
    return rc;
}

/* Joins have as many as they need; behind them there is one for the frame. */
static void carriers_count(struct phase_spots *s, uint32_t *n_new)
{
    const struct phase_plan_request *req = s->l->req;
    uint32_t joins = s->l->g->n_joins, n = (joins + PHASE_CARRIER_TASKS - 1) / PHASE_CARRIER_TASKS;
    s->frame.carrier = n;
    n += s->frame.n > 0;
    s->n_carriers = n > req->n_carriers ? n : req->n_carriers;
    s->carriers = arena_new(&s->l->mem, struct phase_carrier, s->n_carriers);
    for (uint32_t i = 0; i < s->n_carriers; i++) {
        uint32_t from = i * PHASE_CARRIER_TASKS;
        s->carriers[i] = (struct phase_carrier){
            .ref = i < req->n_carriers ? req->carriers[i] : (*n_new)++ | PLAN_NEW,
            .n = from >= joins                        ? 0
                 : joins - from < PHASE_CARRIER_TASKS ? joins - from
                                                      : PHASE_CARRIER_TASKS};
    }
    if (s->frame.n)
        s->carriers[s->frame.carrier].n = s->frame.n;
}

static struct str text_kept(struct phase_spots *s, struct str text)
{
    return (struct str){arena_strndup(&s->l->plan->mem, text.s, text.n), text.n};
}

static void noderole_fill(struct phase_spots *s, const struct phase_spot *sp)
{
    const struct phase_place *place = sp->place;
    uint32_t *parents = arena_new(&s->l->plan->mem, uint32_t, place->n_parents + 1), n = 0;
    if (needs_machine(s, sp))
        parents[n++] = machine_spot(s, sp->node)->ref;
    for (uint32_t i = 0; i < place->n_parents; i++) {
        uint32_t ref = place->parents[i];
        bool fresh = ref & PLAN_NEW;
        parents[n++] = fresh ? machine_spot(s, sp->node)[1 + (ref & ~PLAN_NEW)].ref : ref;
    }
    s->l->plan->noderoles[sp->ref & ~PLAN_NEW] = (struct plan_noderole){
        .role = text_kept(s, place->role),
        .node = s->l->req->nodes[sp->node],
        .deployment = s->l->req->deployment,
        .group = phase_spot_group(s, sp),
        .cohort = place->cohort,
        .flags = place->flags,
        .target = place->target,
        .data = place->data,
        .lens = place->lens,
        .user = text_kept(s, place->user),
        .first_task = sp->first,
        .n_tasks = sp->n,
        .parents = parents,
        .n_parents = n};
}

static void change_fill(struct phase_spots *s, const struct phase_spot *sp, struct plan_change *c)
{
    const struct phase_place *place = sp->place;
    *c = (struct plan_change){.noderole = place->noderole,
                              .what = place->removed ? PLAN_C_REMOVE : 0,
                              .flags = place->flags,
                              .user = str_of(""),
                              .first_task = sp->first,
                              .n_tasks = sp->n};
    if (place->removed)
        return;
    if (sp->phases) {
        c->what |= PLAN_C_TASKS | PLAN_C_GROUP;
        c->group = phase_spot_group(s, sp);
        c->target = place->target;
        c->reason = place->reason;
    }
    if (place->other_data) {
        c->what |= PLAN_C_DATA;
        c->data = place->data;
        c->user = text_kept(s, place->user);
    }
    if (place->other_lens) {
        c->what |= PLAN_C_LENS;
        c->lens = place->lens;
    }
}

/* New ones have the first tasks, in their order; then those that live, by id.  place_of: by
 * noderole that lives, where its first task is to be noted. */
static void services_fill(struct phase_spots *s, uint32_t *at, struct u64map *place_of)
{
    struct plan *p = s->l->plan;
    for (uint32_t i = 0; i < s->n; i++) {
        struct phase_spot *sp = &s->at[i];
        if (!sp->planned)
            continue;
        if (sp->ref & PLAN_NEW) {
            sp->first = *at;
            *at += sp->n;
            noderole_fill(s, sp);
            continue;
        }
        change_fill(s, sp, &p->changes[p->n_changes++]);
        u64map_put(place_of, sp->ref, (uintptr_t)&sp->first);
    }
}

static void carriers_fill(struct phase_spots *s, uint32_t *at, struct u64map *place_of)
{
    struct plan *p = s->l->plan;
    for (uint32_t i = 0; i < s->n_carriers; i++) {
        struct phase_carrier *c = &s->carriers[i];
        if (c->ref & PLAN_NEW) {
            c->first = *at;
            *at += c->n;
            p->noderoles[c->ref & ~PLAN_NEW] = (struct plan_noderole){
                .role = str_of(CATALOG_CARRIER),
                .deployment = s->l->req->deployment,
                .user = str_of(""),
                .first_task = c->first,
                .n_tasks = c->n};
            continue;
        }
        p->changes[p->n_changes++] = (struct plan_change){
            .noderole = c->ref, .what = PLAN_C_TASKS, .user = str_of(""), .n_tasks = c->n};
        u64map_put(place_of, c->ref, (uintptr_t)&c->first);
    }
}

static void noderoles_fill(struct phase_spots *s, uint32_t n_new)
{
    struct plan *p = s->l->plan;
    struct u64map place_of = {0};
    uint32_t at = 0;
    p->noderoles = arena_new(&p->mem, struct plan_noderole, n_new);
    p->n_noderoles = n_new;
    p->changes = arena_new(&p->mem, struct plan_change, (size_t)s->n + s->n_carriers);
    services_fill(s, &at, &place_of);
    carriers_fill(s, &at, &place_of);
    plan_changes_sort(p);
    for (uint32_t i = 0; i < p->n_changes; i++) {
        uintptr_t first = 0;
        (void)u64map_get(&place_of, p->changes[i].noderole, &first);
        p->changes[i].first_task = *(uint32_t *)first = at;
        at += p->changes[i].n_tasks;
    }
    u64map_done(&place_of);
    p->n_tasks = at;
    p->tasks = arena_new(&p->mem, struct plan_task, at);
}

/* --- where the tasks of each vertex are --- */

static void tasks_place(struct phase_spots *s)
{
    const struct phase_graph *g = s->l->g;
    for (uint32_t i = 0; i < s->n; i++) {
        const struct phase_spot *sp = &s->at[i];
        uint32_t at = sp->first + sp->lead;
        for (uint32_t left = sp->chain; left;) {
            enum phase_kind kind = phase_spot_next(sp, &left);
            const struct phase_kindred *k = phase_spot_kindred(s, sp, kind);
            if (sp->phases >> kind & 1) {
                uint32_t v = phase_spot_vertex(s, sp, kind);
                s->task_of[v] = at;
                s->n_tasks[v] = k->n;
            }
            at += k->n;
        }
    }
    for (uint32_t j = 0; j < g->n_joins; j++) {
        s->task_of[g->n_tasks + j] = s->carriers[j / PHASE_CARRIER_TASKS].first +
                                     j % PHASE_CARRIER_TASKS;
        s->n_tasks[g->n_tasks + j] = 1;
    }
}

int phase_spots_count(struct phase_spots *s, uint32_t *ret_n_new)
{
    *ret_n_new = 0;
    spots_find(s);
    int rc = spots_decide(s, ret_n_new);
    if (rc >= 0)
        rc = phase_frame_count(s);
    if (rc >= 0)
        carriers_count(s, ret_n_new);
    return rc;
}

void phase_spots_fill(struct phase_spots *s, uint32_t n_new)
{
    phase_groups_fill(s);
    noderoles_fill(s, n_new);
    tasks_place(s);
}
