/* sim_leave.c - invariant 16: nobody is removed while somebody in service sees it
 *
 * Kept beside the engine and by what anybody can see of it: which parents a run found when it
 * began, and with which of them a noderole is in service since that run was complete.  Whoever is
 * to go begins its removal, and vanishes, when nobody in service has it among these; unless a
 * person said that it need not wait.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/sim_i.h"

static struct sim_sees *sees_of(struct sim *s, uint32_t noderole)
{
    while (s->sees.n <= noderole)
        (void)vec_add(&s->sees);
    return &s->sees.at[noderole];
}

static void look(const struct sim *s, uint32_t noderole, struct sim_seen *ret)
{
    uint32_t n;
    const uint32_t *parents = anneal_parents(s->server.engine, noderole, &n);
    *ret = (struct sim_seen){0};
    for (uint32_t i = 0; i < n && i < SIM_SEEN_MOST; i++)
        ret->ids[ret->n++] = parents[i];
}

static bool has(const struct sim_seen *seen, uint32_t id)
{
    for (uint32_t i = 0; i < seen->n; i++)
        if (seen->ids[i] == id)
            return true;
    return false;
}

static void check_unseen(struct sim *s, uint32_t goer, const char *what)
{
    if (sees_of(s, goer)->freed)
        return;
    s->report->leavings++;
    for (uint32_t id = 1; id < s->sees.n; id++) {
        struct noderole_view v;
        if (has(&s->sees.at[id].serves, goer) && anneal_noderole(s->server.engine, id, &v) &&
            noderole_in_service(v.state, v.target))
            sim_fail(s, "invariant 16: noderole %u %s, and %u in service sees it", goer, what, id);
    }
}

/* Did this event complete the run that it was in before, and not one that began in the step? */
static bool of_the_run_before(const struct sim *s, const struct event *ev, uint32_t noderole)
{
    const struct sim_sees *x = &s->sees.at[noderole];
    struct noderole_view v;
    struct task_view t;
    if (!x->run_generation || x->run_generation != x->generation)
        return false;
    if (anneal_noderole(s->server.engine, noderole, &v) && v.generation == x->generation)
        return true;
    return (ev->kind == EVENT_RESULT || ev->kind == EVENT_RESOLVE) &&
           anneal_task(s->server.engine, ev->id, &t) && t.noderole == noderole;
}

/* A run is complete: what it found is what it serves with.  One that nothing was started for found
 * what there is. */
static void completed(struct sim *s, const struct event *ev, uint32_t noderole)
{
    struct sim_sees *x = sees_of(s, noderole);
    struct noderole_view v = {.generation = x->generation};
    if (of_the_run_before(s, ev, noderole)) {
        x->serves = x->run;
    } else {
        look(s, noderole, &x->serves);
        (void)anneal_noderole(s->server.engine, noderole, &v);
    }
    x->run_generation = 0;
    x->served = v.generation;
}

static void started(struct sim *s, uint32_t task)
{
    struct task_view t;
    struct noderole_view v;
    if (!anneal_task(s->server.engine, task, &t) ||
        !anneal_noderole(s->server.engine, t.noderole, &v))
        return;
    struct sim_sees *x = sees_of(s, t.noderole);
    if (v.target == TARGET_ABSENT) {
        check_unseen(s, t.noderole, "is being removed");
    } else if (x->run_generation != v.generation) {
        x->run_generation = v.generation;
        look(s, t.noderole, &x->run);
    }
}

static void forget(struct sim_seen *seen, uint32_t id)
{
    for (uint32_t i = 0; i < seen->n; i++)
        if (seen->ids[i] == id)
            seen->ids[i--] = seen->ids[--seen->n];
}

/* Whoever uses it counts as having let go of it, even if it is taken back and goes once more. */
static void let_go(struct sim *s, uint32_t goer)
{
    sees_of(s, goer)->freed = true;
    for (uint32_t id = 1; id < s->sees.n; id++) {
        forget(&s->sees.at[id].serves, goer);
        forget(&s->sees.at[id].run, goer);
    }
}

void sim_leave_look(struct sim *s, const struct event *ev)
{
    struct noderole_view v;
    if (ev->kind == EVENT_ABANDON && anneal_noderole(s->server.engine, ev->id, &v))
        let_go(s, ev->id);
    for (uint32_t id = 1; ev->kind == EVENT_RESUME && ev->now && id < s->marks.n; id++)
        if (anneal_noderole(s->server.engine, id, &v) && v.operation == ev->id &&
            v.target == TARGET_ABSENT)
            let_go(s, id);
}

void sim_leave_step(struct sim *s, const struct event *ev, const struct effects *fx)
{
    struct noderole_view v;
    for (size_t i = 0; i < fx->changes.n; i++) {
        const struct change *c = &fx->changes.at[i];
        if (c->table == ROWS_NODEROLE && c->from != c->to && c->to == NODEROLE_ACTIVE)
            completed(s, ev, c->id);
    }
    for (size_t i = 0; i < fx->sends.n; i++)
        if (!fx->sends.at[i].behind && fx->sends.at[i].asks == 0)
            started(s, fx->sends.at[i].task);
    for (size_t i = 0; i < fx->turns.n; i++)
        started(s, fx->turns.at[i].task);
    for (size_t i = 0; i < fx->changes.n; i++) {
        uint32_t id = fx->changes.at[i].id;
        if (fx->changes.at[i].table != ROWS_NODEROLE)
            continue;
        if (fx->changes.at[i].to == NODEROLE_REMOVED)
            check_unseen(s, id, "is gone");
        if (!anneal_noderole(s->server.engine, id, &v))
            continue;
        sees_of(s, id)->generation = v.generation;
        if (v.target != TARGET_ABSENT)
            sees_of(s, id)->freed = false;
    }
}

/* What never came to be was not seen either. */
void sim_leave_restored(struct sim *s)
{
    for (uint32_t id = 1; id < s->sees.n; id++) {
        struct sim_sees *x = &s->sees.at[id];
        struct noderole_view v = {0};
        (void)anneal_noderole(s->server.engine, id, &v);
        if (v.generation < x->served)
            x->serves = (struct sim_seen){0};
        if (v.generation < x->run_generation)
            x->run_generation = 0;
        x->generation = v.generation;
    }
}
