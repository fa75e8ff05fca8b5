/* sim_correct.c - invariant 14: a person's change of a noderole in ERROR begins a new run of it
 *
 * Looked at before an event and held against what the step did, by what anybody can see of the
 * engine: states, reasons, digests.  Some failures wait for a person's own word; of these no change
 * may start anything.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/sim_i.h"

/* A failure that no change corrects. */
static bool waits_for_word(const struct anneal *a, const struct noderole_view *v)
{
    bool tried = false;
    for (uint32_t t = v->first_task; t < v->first_task + v->n_tasks; t++) {
        struct task_view k;
        if (!anneal_task(a, t, &k))
            continue;
        if (k.state == TASK_FAILED && (k.reason == REASON_UNCERTAIN || k.reason == REASON_REPLACED))
            return true;
        tried |= k.tried;
    }
    return v->target == TARGET_ABSENT || ((v->flags & NODEROLE_F_DESTRUCTIVE) && tried);
}

static bool open(const struct anneal *a, uint32_t op)
{
    struct operation_view o;
    return anneal_operation(a, op, &o) && o.state == OPERATION_RUNNING && !o.held;
}

/* Will it be another one, by what the plan says? */
static bool differs(const struct anneal *a, const struct plan_change *c,
                    const struct noderole_view *v)
{
    bool other = ((c->what & PLAN_C_DATA) && c->data != v->data) || c->n_gains || c->n_losses;
    for (uint32_t i = 0; (c->what & PLAN_C_DEFS) && i < c->n_defs && !other; i++) {
        struct task_view t;
        other = anneal_task(a, v->first_task + i, &t) && t.def != c->defs[i];
    }
    return other && !(c->what & (PLAN_C_TASKS | PLAN_C_REMOVE));
}

static void expect(struct sim *s, uint32_t noderole, bool rerun)
{
    const struct anneal *a = s->server.engine;
    struct noderole_view v;
    if (!anneal_noderole(a, noderole, &v) || v.state != NODEROLE_ERROR)
        return;
    bool waits = !rerun && waits_for_word(a, &v);
    vec_push(&s->corrected, ((struct sim_corrected){noderole, v.generation, waits}));
}

void sim_correct_look(struct sim *s, const struct event *ev)
{
    const struct anneal *a = s->server.engine;
    struct noderole_view v;
    vec_clear(&s->corrected);
    if (ev->kind == EVENT_DATA_SET && !ev->returned && anneal_noderole(a, ev->id, &v) &&
        v.data != ev->a && open(a, ev->op ? ev->op : v.operation))
        expect(s, ev->id, false);
    for (uint32_t i = 0; ev->kind == EVENT_RERUN && open(a, ev->op) && i < ev->n_ids; i++)
        expect(s, ev->ids[i], true);
    for (uint32_t i = 0;
         ev->kind == EVENT_PLAN_APPLY && open(a, ev->op) && ev->plan && i < ev->plan->n_changes;
         i++) {
        const struct plan_change *c = &ev->plan->changes[i];
        if (anneal_noderole(a, c->noderole, &v) && differs(a, c, &v))
            expect(s, c->noderole, false);
    }
}

static bool started(const struct sim *s, const struct effects *fx, uint32_t noderole)
{
    for (size_t i = 0; i < fx->sends.n; i++) {
        struct task_view t;
        if (anneal_task(s->server.engine, fx->sends.at[i].task, &t) && t.noderole == noderole)
            return true;
    }
    return false;
}

void sim_correct_check(struct sim *s, const struct effects *fx)
{
    for (size_t i = 0; i < s->corrected.n; i++) {
        const struct sim_corrected *c = &s->corrected.at[i];
        struct noderole_view v;
        if (!anneal_noderole(s->server.engine, c->noderole, &v))
            continue;
        if (c->waits && started(s, fx, c->noderole))
            sim_fail(s, "invariant 14: noderole %u waits for a person's own word, and was started",
                     c->noderole);
        else if (!c->waits && (v.state == NODEROLE_ERROR || v.generation == c->generation))
            sim_fail(s, "invariant 14: noderole %u was changed in ERROR, and did not begin anew",
                     c->noderole);
        s->report->corrections += !c->waits;
    }
}
