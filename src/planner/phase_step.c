/* phase_step.c - steps of phases as definitions and pools of a plan
 *
 * A definition is what its digest says: one that the engine has, or that the plan brings along.
 * What has no steps, and joins, have one of their own that nothing executes and that tells what it
 * is.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "base/digest.h"
#include "base/json.h"
#include "model/states.h"
#include "planner/expand_i.h"
#include "planner/phase_plan_i.h"

/* --- from the catalog --- */

static int step_fill(const struct catalog *cat, const struct planner_world *w,
                     const struct catalog_role *role, const struct catalog_step *from,
                     struct arena *mem, struct phase_step *to, struct err *e)
{
    const struct catalog_jig *jig = &cat->jigs[from->jig];
    const struct catalog_task *task = &cat->tasks[from->task];
    struct plan_pool *pools = arena_new(mem, struct plan_pool, task->n_pools);
    uint32_t id;
    bool active;
    if (!w->jig(w->ctx, jig->name, &id, &active))
        return err_set(e, ERR_REFUSED, "role %.*s: no jig %.*s executes its task %.*s",
                       (int)role->name.n, role->name.s, (int)jig->name.n, jig->name.s,
                       (int)task->name.n, task->name.s);
    expand_step_def(cat, role, from, id, mem, &to->def);
    for (uint32_t i = 0; i < task->n_pools; i++)
        pools[i] = (struct plan_pool){cat->pools[task->pools[i]].name,
                                      cat->pools[task->pools[i]].size};
    to->pools = pools;
    to->n_pools = task->n_pools;
    return 0;
}

int phase_steps_make(const struct catalog *cat, const struct planner_world *w,
                     const struct catalog_role *role, const struct catalog_action *action,
                     struct arena *mem, struct phase_steps *ret, struct err *e)
{
    struct phase_step *steps = arena_new(mem, struct phase_step, action->n_steps);
    uint32_t *place = arena_new(mem, uint32_t, action->n_steps);
    int rc = 0;
    for (uint32_t i = 0; i < action->n_steps; i++)
        place[action->order[i]] = i;
    for (uint32_t i = 0; i < action->n_steps && rc >= 0; i++) {
        const struct catalog_step *from = &action->steps[action->order[i]];
        uint32_t *after = arena_new(mem, uint32_t, from->n_after);
        for (uint32_t k = 0; k < from->n_after; k++)
            after[k] = place[from->after[k]];
        steps[i].after = after;
        steps[i].n_after = from->n_after;
        rc = step_fill(cat, w, role, from, mem, &steps[i], e);
    }
    if (rc >= 0)
        *ret = (struct phase_steps){steps, action->n_steps};
    return rc;
}

/* --- definitions --- */

static struct str text_keep(struct phase_laying *l, struct str s)
{
    return (struct str){arena_strndup(&l->plan->mem, s.s, s.n), s.n};
}

static uint32_t def_ref(struct phase_laying *l, const struct plan_def *from)
{
    const struct planner_world *w = l->req->world;
    uintptr_t known;
    if (u64map_get(&l->def_known, from->digest, &known))
        return (uint32_t)known;
    uint32_t ref = w->def(w->ctx, from->digest);
    if (!ref) {
        struct plan_def d = *from;
        ref = (uint32_t)l->defs.n | PLAN_NEW;
        d.name = text_keep(l, from->name);
        d.role = text_keep(l, from->role);
        d.body = text_keep(l, from->body);
        vec_push(&l->defs, d);
    }
    u64map_put(&l->def_known, from->digest, ref);
    return ref;
}

uint32_t phase_def_passive(struct phase_laying *l, struct str name, const char *what)
{
    SCOPED_BUF(body);
    SCOPED_BUF(whole);
    struct plan_def d = {.name = name, .role = str_of(CATALOG_CARRIER), .repeat = REPEAT_SAFE};
    buf_printf(&body, "{\"params\":{},\"type\":\"%s\"}", what);
    d.body = buf_str(&body);
    buf_printf(&whole, "phase %s ", what);
    buf_put(&whole, name.s, name.n);
    d.digest = digest_64(whole.data, whole.len);
    return def_ref(l, &d);
}

/* --- pools --- */

uint32_t phase_pool_ref(struct phase_laying *l, struct str name, uint32_t size, bool resize)
{
    const struct planner_world *w = l->req->world;
    uintptr_t known;
    if (strmap_get(&l->pool_known, name, &known))
        return (uint32_t)known;
    uint32_t ref = w->pool(w->ctx, name, NULL);
    if (!ref) {
        ref = (uint32_t)l->new_pools.n | PLAN_NEW;
        vec_push(&l->new_pools, ((struct plan_pool){text_keep(l, name), size}));
    } else if (resize) {
        vec_push(&l->sizes, ((struct phase_plan_pool){ref, size}));
    }
    strmap_put(&l->pool_known, name, ref);
    return ref;
}

uint32_t phase_span_add(struct phase_laying *l, const uint32_t *pools, uint32_t n)
{
    uint32_t *copy = arena_new(&l->plan->mem, uint32_t, n);
    for (uint32_t i = 0; i < n; i++)
        copy[i] = pools[i];
    vec_push(&l->spans, ((struct plan_span){copy, n}));
    return (uint32_t)l->spans.n;
}

/* --- what is the same for all --- */

static void sinks_find(struct phase_laying *l, const struct phase_steps *steps,
                       struct phase_kindred *k)
{
    bool *followed = arena_new(&l->mem, bool, steps->n);
    uint32_t *sinks = arena_new(&l->mem, uint32_t, steps->n);
    for (uint32_t i = 0; i < steps->n; i++)
        for (uint32_t a = 0; a < steps->at[i].n_after; a++)
            followed[steps->at[i].after[a]] = true;
    for (uint32_t i = 0; i < steps->n; i++)
        if (!followed[i])
            sinks[k->n_sinks++] = i;
    k->sinks = sinks;
}

static const struct phase_kindred *kindred_passive(struct phase_laying *l, uint32_t service,
                                                   enum phase_kind phase)
{
    struct phase_kindred *k = arena_new(&l->mem, struct phase_kindred, 1);
    uint32_t *def = arena_new(&l->mem, uint32_t, 1), *sink = arena_new(&l->mem, uint32_t, 1);
    struct str of = service == PHASE_NIL ? str_of("machine")
                                         : l->g->cluster->services[service].name;
    const char *name = arena_printf(&l->mem, "%s:%.*s", phase_kind_name(phase), (int)of.n, of.s);
    *def = phase_def_passive(l, str_of(name), "nothing");
    *k = (struct phase_kindred){.n = 1, .passive = true, .defs = def, .sinks = sink, .n_sinks = 1};
    return k;
}

static const struct phase_kindred *kindred_make(struct phase_laying *l,
                                                const struct phase_steps *steps)
{
    struct phase_kindred *k = arena_new(&l->mem, struct phase_kindred, 1);
    uint32_t *defs = arena_new(&l->mem, uint32_t, steps->n);
    const uint32_t **pools = arena_new(&l->mem, const uint32_t *, steps->n);
    for (uint32_t i = 0; i < steps->n; i++) {
        const struct phase_step *s = &steps->at[i];
        uint32_t *refs = arena_new(&l->mem, uint32_t, s->n_pools);
        defs[i] = def_ref(l, &s->def);
        for (uint32_t p = 0; p < s->n_pools; p++)
            refs[p] = phase_pool_ref(l, s->pools[p].name, s->pools[p].size, false);
        pools[i] = refs;
    }
    *k = (struct phase_kindred){.n = steps->n, .defs = defs, .at = steps->at, .pools = pools};
    sinks_find(l, steps, k);
    return k;
}

const struct phase_kindred *phase_kindred_of(struct phase_laying *l, const struct phase_steps *of)
{
    return of && of->n ? kindred_make(l, of) : NULL;
}

const struct phase_kindred *phase_kindred_get(struct phase_laying *l, uint32_t service,
                                              enum phase_kind phase, uint32_t variant)
{
    uint32_t place = (service == PHASE_NIL ? 0 : service + 1) * PHASE_KIND_COUNT + (uint32_t)phase;
    uint64_t key = (uint64_t)variant << 32 | place;
    struct phase_steps steps = {0};
    uintptr_t known = variant ? 0 : (uintptr_t)l->plain[place];
    if (known || (variant && u64map_get(&l->kindred, key, &known)))
        return (const struct phase_kindred *)known;
    if (l->req->steps(l->req->ctx, service, phase, variant, &steps, l->e) < 0)
        return NULL;
    const struct phase_kindred *k = steps.n ? kindred_make(l, &steps)
                                            : kindred_passive(l, service, phase);
    if (variant)
        u64map_put(&l->kindred, key, (uintptr_t)k);
    else
        l->plain[place] = k;
    return k;
}
