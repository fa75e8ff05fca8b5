/* phase_frame.c - what comes before everything else of a plan, and what comes after it
 *
 * Both are tasks of no node, in a carrier of their own.  Who waits for nothing waits for what comes
 * before; what comes after waits for a join of all that nobody else waits for, and that join lets
 * failures count as ends, and what does not begin because a roll-out stopped.  So the frame costs
 * an edge for each beginning and each end of the plan, and knows nothing of what lies between.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "model/states.h"
#include "planner/phase_plan_i.h"

/* Steps come after what they wait for, so one pass from the end finds the longest ways; each is
 * weighed as if `behind` followed it.  Returns the longest of all. */
static uint32_t frame_weigh(const struct phase_kindred *k, uint32_t behind, uint32_t *weights)
{
    uint32_t longest = behind;
    for (uint32_t i = 0; i < k->n; i++)
        weights[i] = behind + 1;
    for (uint32_t i = k->n; i-- > 0;) {
        longest = weights[i] > longest ? weights[i] : longest;
        for (uint32_t a = 0; a < k->at[i].n_after; a++) {
            uint32_t *before = &weights[k->at[i].after[a]];
            *before = weights[i] >= *before ? weights[i] + 1 : *before;
        }
    }
    return longest;
}

static int frame_check(const struct phase_kindred *k, struct err *e)
{
    for (uint32_t i = 0; k && i < k->n; i++)
        if (k->at[i].n_pools)
            return err_set(e, ERR_INVALID, "plan: %.*s is of no node and wants a pool",
                           (int)k->at[i].def.name.n, k->at[i].def.name.s);
    return 0;
}

int phase_frame_count(struct phase_spots *s)
{
    const struct phase_plan_request *req = s->l->req;
    struct phase_frame *f = &s->frame;
    bool any = s->l->g->n_joins > 0;
    for (uint32_t i = 0; i < s->n; i++)
        any |= s->at[i].n > 0;
    if (!any)
        return 0;
    f->before = phase_kindred_of(s->l, req->before);
    f->after = phase_kindred_of(s->l, req->after);
    int rc = frame_check(f->before, s->l->e);
    if (rc >= 0)
        rc = frame_check(f->after, s->l->e);
    if (rc < 0)
        return rc;
    if (f->before)
        f->n += f->before->n;
    if (f->after) {
        f->n += 1 + f->after->n;
        f->behind = frame_weigh(f->after, 0, arena_new(&s->l->mem, uint32_t, f->after->n));
    }
    if (f->n > PLAN_MOST_TASKS)
        return err_set(s->l->e, ERR_LIMIT, "%u tasks of no node are more than %d", f->n,
                       PLAN_MOST_TASKS);
    return 0;
}

/* The tasks of some steps from `at` on; those that wait for none of them wait for `waits`. */
static void steps_fill(struct phase_spots *s, const struct phase_kindred *k, uint32_t at,
                       const uint32_t *waits, uint32_t n_waits, uint32_t behind)
{
    uint32_t *weights = arena_new(&s->l->mem, uint32_t, k->n);
    (void)frame_weigh(k, behind, weights);
    for (uint32_t i = 0; i < k->n; i++) {
        uint32_t *after = arena_new(&s->l->plan->mem, uint32_t, k->at[i].n_after);
        for (uint32_t a = 0; a < k->at[i].n_after; a++)
            after[a] = (at + k->at[i].after[a]) | PLAN_NEW;
        s->l->plan->tasks[at + i] = (struct plan_task){
            .noderole = s->carriers[s->frame.carrier].ref,
            .def = k->defs[i],
            .weight = weights[i],
            .rule = RULE_RUN,
            .deps = k->at[i].n_after ? after : waits,
            .n_deps = k->at[i].n_after ? k->at[i].n_after : n_waits};
    }
}

static void before_fill(struct phase_spots *s, uint32_t first)
{
    const struct phase_kindred *k = s->frame.before;
    struct plan *p = s->l->plan;
    uint32_t *last = arena_new(&p->mem, uint32_t, k->n_sinks), heaviest = 0;
    for (uint32_t i = 0; i < k->n_sinks; i++)
        last[i] = (first + k->sinks[i]) | PLAN_NEW;
    for (uint32_t t = 0; t < p->n_tasks; t++) {
        struct plan_task *task = &p->tasks[t];
        if (t - first < s->frame.n)
            continue;
        heaviest = task->weight > heaviest ? task->weight : heaviest;
        if (!task->n_deps) {
            task->deps = last;
            task->n_deps = k->n_sinks;
        }
    }
    steps_fill(s, k, first, NULL, 0, heaviest);
}

static void after_fill(struct phase_spots *s, uint32_t first)
{
    struct plan *p = s->l->plan;
    uint32_t join = first + (s->frame.before ? s->frame.before->n : 0), n = 0;
    bool *followed = arena_new(&s->l->mem, bool, p->n_tasks);
    uint32_t *joined = arena_new(&p->mem, uint32_t, 1);
    for (uint32_t t = 0; t < p->n_tasks; t++)
        for (uint32_t d = 0; d < p->tasks[t].n_deps; d++)
            if (p->tasks[t].deps[d] & PLAN_NEW)
                followed[p->tasks[t].deps[d] & ~PLAN_NEW] = true;
    for (uint32_t t = 0; t < p->n_tasks; t++)
        n += !followed[t] && t - first >= s->frame.n;
    uint32_t *ends = arena_new(&p->mem, uint32_t, n);
    n = 0;
    for (uint32_t t = 0; t < p->n_tasks; t++)
        if (!followed[t] && t - first >= s->frame.n)
            ends[n++] = t | PLAN_NEW;
    p->tasks[join] = (struct plan_task){.noderole = s->carriers[s->frame.carrier].ref,
                                        .def = phase_def_passive(s->l, str_of("join:end"), "join"),
                                        .weight = s->frame.behind,
                                        .rule = RULE_JOIN_OVER,
                                        .deps = ends,
                                        .n_deps = n};
    joined[0] = join | PLAN_NEW;
    steps_fill(s, s->frame.after, join + 1, joined, 1, 0);
}

void phase_frame_fill(struct phase_spots *s)
{
    uint32_t first = s->frame.n ? s->carriers[s->frame.carrier].first : 0;
    if (s->frame.before)
        before_fill(s, first);
    if (s->frame.after)
        after_fill(s, first);
}
