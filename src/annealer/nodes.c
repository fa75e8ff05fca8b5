/* nodes.c - what we believe of nodes and what follows from it
 *
 * available is the administrator's word, alive is our belief (docs/rfc/01-engine.md, section 7).
 * One silent probe starts a count; a node is dead after enough of them over enough time, unless so
 * many fell silent together that the fault is more likely ours.  Death loses what ran there; return
 * with the same boot finds everything unchanged, with another boot re-runs by digest, with another
 * machine asks a person.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "annealer/annealer_i.h"

static void nodes_changed(struct anneal *a, uint32_t id)
{
    const struct node *n = &a->nodes.at[id];
    change_add(a, ROWS_NODE, id, n->alive, n->alive, 0);
}

static void set_alive(struct anneal *a, uint32_t id, enum alive_state to)
{
    struct node *n = &a->nodes.at[id];
    if (n->alive == to)
        return;
    change_add(a, ROWS_NODE, id, n->alive, (uint8_t)to, 0);
    a->nodes_alive += (uint32_t)(to == ALIVE_ALIVE) - (uint32_t)(n->alive == ALIVE_ALIVE);
    n->alive = (uint8_t)to;
    for (uint32_t r = n->first_noderole; r; r = a->noderoles.at[r].next_on_node)
        if (a->noderoles.at[r].joined)
            noderole_derive_later(a, r); /* a quorum does not wait for the dead */
}

static void end_silence(struct anneal *a, struct node *n)
{
    if (!n->silent_ms)
        return;
    n->silent_ms = 0;
    n->probes = 0;
    a->nodes_silent--;
    if (a->suspect && a->nodes_silent * 2 <= a->silent_at_suspect)
        a->suspect = false;
}

void nodes_went_away(struct anneal *a, uint32_t id, uint64_t until_ms)
{
    struct node *n = &a->nodes.at[id];
    if (n->alive != ALIVE_ALIVE)
        return;
    end_silence(a, n);
    n->away_until_ms = until_ms;
    set_alive(a, id, ALIVE_AWAY);
}

void nodes_came_back(struct anneal *a, uint32_t id)
{
    struct node *n = &a->nodes.at[id];
    if (n->alive != ALIVE_AWAY)
        return;
    set_alive(a, id, ALIVE_ALIVE); /* away_until_ms stays: the next sight may show the new boot */
    schedule_node(a, id);
}

static void lose_all(struct anneal *a, uint32_t id, enum reason why)
{
    for (uint32_t nr = a->nodes.at[id].first_noderole; nr; nr = a->noderoles.at[nr].next_on_node)
        if (noderole_begun(&a->noderoles.at[nr])) {
            ripple_rewind(a, nr, why);
            ripple_loss(a, nr, REASON_PARENT_LOST);
        }
}

static void die(struct anneal *a, uint32_t id)
{
    struct node *n = &a->nodes.at[id];
    end_silence(a, n);
    n->away_until_ms = 0;
    set_alive(a, id, ALIVE_DEAD);
    for (uint32_t l = n->lives; l;) {
        bool inside = !(a->defs.at[a->tasks[a->lives.at[l].task].def].flags & DEF_F_OUTSIDE);
        if (inside)
            attempt_lost(a, l, REASON_NODE_DEAD);
        l = inside ? n->lives : a->lives.at[l].next; /* others were lost with it */
    }
    lose_all(a, id, REASON_NODE_DEAD);
    for (uint32_t r = n->first_noderole; r; r = a->noderoles.at[r].next_on_node)
        leave_died(a, r); /* it is out of service, and will not see what went meanwhile */
    nodes_changed(a, id);
}

static void consider_death(struct anneal *a, uint32_t id)
{
    const struct node *n = &a->nodes.at[id];
    if (n->probes < a->opt.probe_count || a->now_ms - n->silent_ms < a->opt.dead_after_ms)
        return;
    if (!a->suspect && a->nodes_silent >= a->opt.suspect_min &&
        (uint64_t)a->nodes_silent * 100 > (uint64_t)a->opt.suspect_percent * a->nodes_alive) {
        a->suspect = true;
        a->silent_at_suspect = a->nodes_silent;
        change_add(a, ROWS_META, 1, 0, 1, 0);
    }
    if (!a->suspect)
        die(a, id);
}

static void silent(struct anneal *a, uint32_t id)
{
    struct node *n = &a->nodes.at[id];
    if (n->alive != ALIVE_ALIVE)
        return; /* away is expected, dead and unknown cannot get worse */
    if (!n->silent_ms) {
        n->silent_ms = a->now_ms ? a->now_ms : 1;
        a->nodes_silent++;
    }
    n->probes++;
    nodes_changed(a, id);
    consider_death(a, id);
}

/* Another machine answers under this name: nothing on it is what we made. */
static void replaced(struct anneal *a, uint32_t id)
{
    for (uint32_t r = a->nodes.at[id].first_noderole; r; r = a->noderoles.at[r].next_on_node) {
        struct noderole *nr = &a->noderoles.at[r];
        uint32_t first = nr->first_task;
        nr->incarnation++;
        noderole_changed(a, r);
        for (uint32_t i = 0; i < nr->n_tasks; i++) {
            a->tasks[first + i].done_digest = 0;
            task_changed(a, first + i);
        }
        uint32_t end = first + nr->n_tasks;
        while (first < end && task_passive(a, first))
            first++; /* what nothing executes says nothing of a machine */
        if (first == end)
            continue;
        leave_died(a, r); /* this machine never used anything */
        if (!noderole_begun(nr) && nr->run_count == 0)
            continue;
        ripple_rewind(a, r, REASON_REPLACED);
        if (a->task_state[first] == TASK_FAILED && a->tasks[first].reason == REASON_UNCERTAIN)
            continue; /* in ERROR already, and still nobody knows what happened on the old machine
                       */
        if (task_fsm_next(a->task_state[first], TASKEV_FAIL) >= 0) {
            a->tasks[first].lane = 0;
            task_go(a, first, TASKEV_FAIL, REASON_REPLACED);
            task_fail_cone(a, first);
        }
    }
}

/* The boot of a node that was alive without our knowing it: what was done there, and what is under
 * way, was in this one.  Else the first look at a node would have its work done again. */
static void learn_boot(struct anneal *a, uint32_t id, uint64_t boot)
{
    struct node *n = &a->nodes.at[id];
    for (uint32_t r = n->first_noderole; r; r = a->noderoles.at[r].next_on_node) {
        const struct noderole *nr = &a->noderoles.at[r];
        for (uint32_t t = nr->first_task; t < nr->first_task + nr->n_tasks; t++) {
            uint32_t live = a->tasks[t].live;
            bool done = a->tasks[t].done_digest == ripple_task_input(a, t);
            bool sent = live && a->lives.at[live].input == chain_input(a, t);
            n->boot = boot;
            if (done && a->tasks[t].done_digest != ripple_task_input(a, t)) {
                a->tasks[t].done_digest = ripple_task_input(a, t);
                task_changed(a, t);
            }
            if (sent && a->lives.at[live].input != chain_input(a, t)) {
                a->lives.at[live].input = chain_input(a, t);
                attempt_row_changed(a, live);
            }
            n->boot = 0;
        }
    }
    n->boot = boot;
}

static void seen(struct anneal *a, uint32_t id, uint64_t machine, uint64_t boot)
{
    struct node *n = &a->nodes.at[id];
    enum alive_state was = n->alive;
    bool other = n->machine && machine && machine != n->machine;
    bool rebooted = n->boot && boot && boot != n->boot;
    bool planned = n->away_until_ms > 0; /* by a task of ours, whose end may be known before this */
    if (was == ALIVE_ALIVE && !n->silent_ms && !other && !rebooted && !planned &&
        (!machine || n->machine) && (!boot || n->boot))
        return; /* nothing new: costs nothing and writes nothing */
    end_silence(a, n);
    if (was == ALIVE_ALIVE)
        n->away_until_ms = 0;
    if (machine)
        n->machine = machine;
    if (boot && !n->boot && was == ALIVE_ALIVE)
        learn_boot(a, id, boot);
    else if (boot)
        n->boot = boot;
    if (was != ALIVE_AWAY)
        set_alive(a, id, ALIVE_ALIVE);
    nodes_changed(a, id);
    change_add(a, ROWS_META, 1, 0, 0, 0);
    if (other) {
        replaced(a, id);
    } else {
        for (uint32_t r = n->first_noderole; r; r = a->noderoles.at[r].next_on_node) {
            const struct noderole *nr = &a->noderoles.at[r];
            if (rebooted && was == ALIVE_ALIVE && !planned)
                ripple_refresh(a, r, REASON_REBOOT, false);
            else if (nr->ready > 0 && nr->run_count > 0)
                (void)ripple_unchanged(a, r);
        }
    }
    schedule_node(a, id);
}

/* While a node is unavailable the clocks of its attempts stand still: times become what is left of
 * them. */
static void freeze_clocks(struct anneal *a, uint32_t id, bool freeze)
{
    for (uint32_t l = a->nodes.at[id].lives; l; l = a->lives.at[l].next) {
        struct live *live = &a->lives.at[l];
        if (freeze == (bool)(live->flags & LIVEF_FROZEN))
            continue;
        if (freeze) {
            live->flags |= LIVEF_FROZEN;
            live->wake_ms = live->wake_ms > a->now_ms ? live->wake_ms - a->now_ms : 0;
            live->deadline_ms = live->deadline_ms > a->now_ms ? live->deadline_ms - a->now_ms : 0;
            timer_disarm(a, l);
        } else {
            live->flags &= (uint8_t)~LIVEF_FROZEN;
            live->wake_ms += a->now_ms;
            live->deadline_ms += a->now_ms;
            timer_arm(a, l);
        }
        attempt_row_changed(a, l);
    }
}

static int node_add(struct anneal *a, const struct event *ev, struct err *e)
{
    if (ev->id == 0 || (ev->id < a->nodes.n && a->nodes.at[ev->id].exists))
        return err_set(e, ERR_EXISTS, "node %u exists", ev->id);
    if (ev->extra >= ALIVE_STATE_COUNT)
        return err_set(e, ERR_INVALID, "node %u: no such aliveness %u", ev->id, ev->extra);
    while (a->nodes.n <= ev->id)
        (void)vec_add(&a->nodes);
    struct node *n = &a->nodes.at[ev->id];
    *n = (struct node){.exists = true,
                       .slots = ev->n ? ev->n : 1,
                       .available = ev->flag ? 1 : 0,
                       .alive = (uint8_t)ev->extra};
    a->nodes_alive += n->alive == ALIVE_ALIVE;
    nodes_changed(a, ev->id);
    return 0;
}

static int node_gone(struct anneal *a, uint32_t id, struct err *e)
{
    struct node *n = &a->nodes.at[id];
    for (uint32_t r = n->first_noderole; r; r = a->noderoles.at[r].next_on_node)
        if (a->noderoles.at[r].state != NODEROLE_REMOVED)
            return err_set(e, ERR_CONFLICT, "node %u still has noderole %u", id, r);
    end_silence(a, n);
    if (n->alive == ALIVE_ALIVE)
        a->nodes_alive--;
    n->alive = ALIVE_UNKNOWN;
    n->gone = true;
    nodes_changed(a, id);
    return 0;
}

static void confirm_dead(struct anneal *a)
{
    a->suspect = false;
    change_add(a, ROWS_META, 1, 1, 0, 0);
    for (uint32_t id = 1; id < a->nodes.n; id++) {
        const struct node *n = &a->nodes.at[id];
        if (n->exists && n->silent_ms && n->probes >= a->opt.probe_count &&
            a->now_ms - n->silent_ms >= a->opt.dead_after_ms)
            die(a, id);
    }
}

int nodes_event(struct anneal *a, const struct event *ev, struct err *e)
{
    if (ev->kind == EVENT_NODE_ADD)
        return node_add(a, ev, e);
    if (ev->kind == EVENT_DEAD_CONFIRM) {
        if (!a->suspect)
            return err_set(e, ERR_CONFLICT, "no deaths are held back: there is nothing to confirm");
        confirm_dead(a);
        return 0;
    }
    if (ev->id == 0 || ev->id >= a->nodes.n || !a->nodes.at[ev->id].exists ||
        a->nodes.at[ev->id].gone)
        return err_set(e, ERR_NOT_FOUND, "no node %u", ev->id);
    struct node *n = &a->nodes.at[ev->id];
    switch ((int)ev->kind) {
    case EVENT_NODE_AVAILABLE:
        if (n->available == (ev->flag ? 1 : 0))
            return 0;
        n->available = ev->flag ? 1 : 0;
        nodes_changed(a, ev->id);
        for (uint32_t l = n->lives; !n->available && l; l = a->lives.at[l].next)
            if (a->lives.at[l].kind == LIVE_RUN)
                chain_withdraw(a, a->lives.at[l].follower);
        freeze_clocks(a, ev->id, !n->available);
        schedule_node(a, ev->id);
        return 0;
    case EVENT_NODE_SLOTS:
        if (ev->n == 0)
            return err_set(e, ERR_INVALID, "node %u needs at least one slot", ev->id);
        n->slots = ev->n;
        nodes_changed(a, ev->id);
        schedule_node(a, ev->id);
        return 0;
    case EVENT_NODE_SEEN: seen(a, ev->id, ev->a, ev->b); return 0;
    case EVENT_NODE_SILENT: silent(a, ev->id); return 0;
    case EVENT_NODE_DEAD:
        if (n->alive == ALIVE_DEAD)
            return err_set(e, ERR_CONFLICT, "node %u is dead already", ev->id);
        die(a, ev->id);
        return 0;
    default: return node_gone(a, ev->id, e);
    }
}
