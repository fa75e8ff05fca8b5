/* ripple.c - loss, refresh and early cut-off: how a change travels along need edges
 *
 * Loss takes every descendant that has begun out of service at once: its tasks start over, what
 * runs may end and is recorded, nothing new starts.  A refresh re-runs one noderole while its
 * children stay in service. Early cut-off ends a run without an attempt when every task would see
 * what it saw at its last success.
 *
 * A descendant that has not begun needs nothing: its first tasks wait for tasks of its parents. The
 * walk stops there, so a loss costs the cone that really ran.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "annealer/annealer_i.h"

#include "base/digest.h"

uint64_t ripple_inputs(const struct anneal *a, uint32_t id)
{
    uint32_t n;
    const uint32_t *parents = graph_in(&a->need, id, &n);
    uint64_t h = mix64(0x616e6e65616cull, a->noderoles.at[id].data);
    for (uint32_t i = 0; i < n; i++) {
        const struct noderole *p = &a->noderoles.at[parents[i]];
        h = mix64(mix64(h, parents[i]), p->incarnation);
    }
    return h;
}

uint64_t ripple_input_from(const struct anneal *a, uint32_t t, uint64_t inputs)
{
    const struct def *d = &a->defs.at[a->tasks[t].def];
    const struct noderole *nr = &a->noderoles.at[a->tasks[t].noderole];
    if (d->flags & DEF_F_LASTING)
        return d->digest ? d->digest : 1; /* another machine makes it forget that it was done */
    /* What reboots its node would else never see the boot that it was done in. */
    bool any_boot = d->flags & (DEF_F_SURVIVES_REBOOT | DEF_F_TAKES_DOWN);
    uint64_t boot = any_boot ? 0 : a->nodes.at[nr->node].boot;
    uint64_t h = mix64(mix64(d->digest, inputs), boot);
    return h ? h : 1; /* 0 means: never succeeded */
}

uint64_t ripple_task_input(const struct anneal *a, uint32_t t)
{
    return ripple_input_from(a, t, a->noderoles.at[a->tasks[t].noderole].inputs);
}

/* Would every task that runs see what it saw at its last success? */
static bool sees_the_same(const struct anneal *a, uint32_t id, uint64_t inputs)
{
    const struct noderole *nr = &a->noderoles.at[id];
    bool destructive = (nr->flags & NODEROLE_F_DESTRUCTIVE) && nr->run_count > 0;
    for (uint32_t i = 0; i < nr->n_tasks; i++) {
        uint32_t t = nr->first_task + i;
        enum task_state s = a->task_state[t];
        bool passive = task_passive(a, t);
        if (a->tasks[t].live ||
            (s != TASK_PENDING && (passive ? !task_state_passed(s) : s != TASK_READY)))
            return false;
        if (passive)
            continue;
        uint64_t done = a->tasks[t].done_digest; /* 0: it must run, whatever the role is */
        if (done == 0 || (!destructive && done != ripple_input_from(a, t, inputs)))
            return false;
    }
    return true;
}

/* All or none is decided once; each task then passes when those before it have: an order edge
 * from another noderole still means what it says. */
void ripple_pass(struct anneal *a, uint32_t t)
{
    a->tasks[t].lane = 0;
    task_go(a, t, TASKEV_UNCHANGED, REASON_UNCHANGED);
    if (task_rule(a, t) == RULE_UNDO)
        undo_passed(a, a->tasks[t].noderole); /* it was resolved as done, in a run that is over */
    if (a->tasks[t].span)
        limits_span_settle(a, a->tasks[t].span);
}

bool ripple_unchanged(struct anneal *a, uint32_t id)
{
    struct noderole *nr = &a->noderoles.at[id];
    if (nr->target == TARGET_ABSENT || (nr->mode & (MODE_BEGUN | MODE_FORCED)) ||
        (nr->flags & NODEROLE_F_RERUN_ALWAYS) || nr->parents_stale > 0 ||
        a->nodes.at[nr->node].alive != ALIVE_ALIVE)
        return false;
    uint64_t inputs = ripple_inputs(a, id);
    if (!sees_the_same(a, id, inputs))
        return false;
    nr->inputs = inputs;
    nr->reason = REASON_UNCHANGED;
    nr->mode |= MODE_UNCHANGED;
    noderole_changed(a, id);
    for (uint32_t t = nr->first_task; t < nr->first_task + nr->n_tasks; t++)
        if (!task_passive(a, t) && a->unmet[t] == 0)
            ripple_pass(a, t);
    return true;
}

void ripple_rewind(struct anneal *a, uint32_t id, enum reason why)
{
    struct noderole *nr = &a->noderoles.at[id];
    /* An operation that has ended takes no more work; one that is held keeps its own, held. */
    if (noderole_free(a, nr))
        noderole_adopt(a, id, OPERATION_STANDING);
    nr->generation++;
    nr->reason = (uint8_t)why;
    bool shut = gate_shut(a, id);
    nr->mode &= MODE_KEPT;
    gate_moved(a, id, shut); /* a run that has not begun may have to await a parent */
    for (uint32_t i = 0; i < nr->n_tasks; i++) {
        uint32_t t = nr->first_task + i;
        enum task_state s = a->task_state[t];
        if (s == TASK_FAILED || s == TASK_DEP_FAILED || s == TASK_CANCELLED)
            continue; /* these wait for a person's word */
        if (a->tasks[t].tries > 0) {
            a->tasks[t].tries = 0;
            task_changed(a, t);
        }
        a->tasks[t].lane = 0;
        if (a->tasks[t].live)
            attempt_supersede(a, t);
        if (s != TASK_PENDING) /* one that had not begun keeps its reason: it needs no row */
            task_go(a, t, TASKEV_RESET, s == TASK_READY ? a->tasks[t].reason : why);
        if (a->unmet[t] == 0)
            task_settle_later(a, t);
        if (a->tasks[t].span)
            limits_span_restart(a, a->tasks[t].span);
    }
    noderole_changed(a, id);
    noderole_derive_later(a, id);
}

static size_t lose_descendants(struct anneal *a, uint32_t id, enum reason why)
{
    size_t base = a->walk.n, lost = 0;
    uint32_t epoch = ++a->epoch;
    vec_push(&a->walk, id);
    while (a->walk.n > base) {
        uint32_t n, at = a->walk.at[--a->walk.n];
        const uint32_t *children = graph_out(&a->need, at, &n);
        quorum_tell(a, at);
        for (uint32_t i = 0; i < n; i++) {
            struct noderole *c = &a->noderoles.at[children[i]];
            if (c->visited == epoch || !noderole_begun(c) || c->target != TARGET_RUNNING)
                continue; /* what goes or has stopped needs nobody in service */
            uint32_t q = quorum_of(a, at, children[i]);
            if (q && quorum_serves(a, q))
                continue; /* enough others are */
            c->visited = epoch;
#ifdef ANNEAL_DEFECT_RIPPLE
            if (why == REASON_PARENT_LOST)
                continue; /* the loss goes no further */
#endif
            ripple_rewind(a, children[i], why);
            vec_push(&a->walk, children[i]);
            lost++;
        }
    }
    return lost;
}

void ripple_loss(struct anneal *a, uint32_t id, enum reason why)
{
    if (lose_descendants(a, id, why) >= a->opt.cone_large && a->fx)
        vec_push(&a->fx->cones, id);
}

void ripple_refresh(struct anneal *a, uint32_t id, enum reason why, bool forced)
{
    struct noderole *nr = &a->noderoles.at[id];
    if (nr->target == TARGET_ABSENT || nr->n_tasks == 0)
        return; /* without tasks there is nothing to run again */
    if (nr->failed > 0 || nr->cancelled > 0) {
        if (!correct_change(a, id, why))
            return; /* what passed has seen other inputs: a retry finds that out */
    } else if (nr->state == NODEROLE_ACTIVE && !(nr->mode & MODE_REFRESH)) {
        ripple_rewind(a, id, why);
        nr->mode |= MODE_REFRESH | (forced ? MODE_FORCED : 0);
    } else if (nr->mode & (MODE_BEGUN | MODE_UNCHANGED)) {
        nr->mode |= MODE_AGAIN | (forced ? MODE_AGAIN_FORCED : 0);
        if (why != REASON_REBOOT)
            nr->mode |= why == REASON_RETURNED ? MODE_AGAIN_TOLD : MODE_AGAIN_SAID;
    } else if ((nr->mode & MODE_PREFIX) && nr->passed > 0) {
        uint16_t serves = nr->mode & MODE_REFRESH;
        ripple_rewind(a, id, why); /* what was kept is looked at again */
        nr->mode |= serves | (forced ? MODE_FORCED : MODE_PREFIX);
    } else if (forced) {
        nr->mode |= MODE_FORCED;
    }
    noderole_changed(a, id);
}
