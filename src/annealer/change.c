/* change.c - what a plan does to noderoles that live: other data, needs or tasks, or an end
 *
 * Replaced tasks are retired: they pass, belong to nobody, and stay as history; an attempt of one
 * that runs is superseded and keeps its node until it is known to have ended.  A noderole in
 * service stays there while it runs its new tasks.  One that is to go leaves service at once, waits
 * for those who need it to be gone (gate.c), runs the tasks of its removal and vanishes
 * (noderole_fsm.c).
 *
 * Everything is checked before anything changes: among others that no new need closes a circle, by
 * looking upwards from each new parent.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "annealer/annealer_i.h"

#include <stdlib.h>
#include <string.h>

#include "base/sort.h"

/* ---- checking ---- */

struct upwards { /* a search for ancestors, in the graph as it will be */
    const struct anneal *a;
    const struct plan *p;
    struct plan_need *needs; /* those of the plan, by child */
    uint32_t *seen, search;  /* by id, those of the plan included: the last search that met it */
    VEC(uint32_t) walk;
};

static int by_child(const void *x, const void *y)
{
    const struct plan_need *p = x, *q = y;
    return (p->child > q->child) - (p->child < q->child);
}

static void upwards_push(struct upwards *u, uint32_t id)
{
    if (u->seen[id] != u->search) {
        u->seen[id] = u->search;
        vec_push(&u->walk, id);
    }
}

static void upwards_parents(struct upwards *u, uint32_t id)
{
    if (id >= u->p->base_noderole) {
        const struct plan_noderole *r = &u->p->noderoles[id - u->p->base_noderole];
        for (uint32_t i = 0; i < r->n_parents; i++)
            upwards_push(u, r->parents[i]);
        return;
    }
    uint32_t n;
    const uint32_t *parents = graph_in(&u->a->need, id, &n);
    const struct plan_change *c = plan_change_find(u->p, id);
    for (uint32_t i = 0; i < n; i++)
        if (!c || !plan_lists(c->losses, c->n_losses, parents[i]))
            upwards_push(u, parents[i]);
    for (uint32_t i = 0; c && i < c->n_gains; i++)
        upwards_push(u, c->gains[i]);
    for (uint32_t i = u->a->noderoles.at[id].bonds_up[BOND_SLEEPS]; i;
         i = u->a->bonds.at[i].next_up)
        upwards_push(u, u->a->bonds.at[i].parent);
    for (size_t i = sort_first(u->needs, u->p->n_needs, it, it->child >= id);
         i < u->p->n_needs && u->needs[i].child == id; i++)
        upwards_push(u, u->needs[i].parent);
}

/* All ancestors of one are met, or those up to `to`. */
static bool reaches(struct upwards *u, uint32_t from, uint32_t to)
{
    u->search++;
    vec_clear(&u->walk);
    upwards_push(u, from);
    while (u->walk.n > 0 && u->seen[to] != u->search)
        upwards_parents(u, u->walk.at[--u->walk.n]);
    return u->seen[to] == u->search;
}

static int circle(struct err *e, uint32_t child, uint32_t parent)
{
    return err_set(e, ERR_CYCLE, "plan: noderole %u would need itself through %u", child, parent);
}

/* Peers come with all their children in a row: one search for all of these. */
static int check_need_circles(struct upwards *u, struct err *e)
{
    const struct plan *p = u->p;
    for (uint32_t i = 0; i < p->n_needs; i++) {
        if (i == 0 || p->needs[i].parent != p->needs[i - 1].parent)
            (void)reaches(u, p->needs[i].parent, 0); /* 0 is nobody: the search is not cut short */
        if (u->seen[p->needs[i].child] == u->search)
            return circle(e, p->needs[i].child, p->needs[i].parent);
    }
    return 0;
}

static int check_circles(const struct anneal *a, const struct plan *p, struct err *e)
{
    struct upwards u = {.a = a, .p = p};
    int r = 0;
    u.seen = xcalloc(a->noderoles.n + p->n_noderoles, sizeof *u.seen);
    u.needs = xcalloc((size_t)p->n_needs + 1, sizeof *u.needs);
    if (p->n_needs) {
        memcpy(u.needs, p->needs, p->n_needs * sizeof *u.needs);
        qsort(u.needs, p->n_needs, sizeof *u.needs, by_child);
    }
    for (uint32_t i = 0; i < p->n_changes && r >= 0; i++) {
        const struct plan_change *c = &p->changes[i];
        for (uint32_t k = 0; k < c->n_gains && r >= 0; k++)
            if (reaches(&u, c->gains[k], c->noderole))
                r = circle(e, c->noderole, c->gains[k]);
    }
    if (r >= 0)
        r = check_need_circles(&u, e);
    vec_done(&u.walk);
    free(u.needs);
    free(u.seen);
    return r;
}

/* Will it be on its way out when the plan is applied? */
static bool will_go(const struct anneal *a, const struct plan *p, uint32_t id)
{
    if (id >= p->base_noderole)
        return false;
    const struct plan_change *c = plan_change_find(p, id);
    if (c && (c->what & (PLAN_C_REMOVE | PLAN_C_TASKS)))
        return c->what & PLAN_C_REMOVE;
    return a->noderoles.at[id].target == TARGET_ABSENT;
}

static int goes(struct err *e, uint32_t parent, uint32_t child)
{
    err_set(e, ERR_REFUSED, "plan: noderole %u goes, and noderole %u needs it", parent, child);
    return err_hint(e, "remove what needs it as well, or give that another parent");
}

/* Does this child stay, and with it the need? */
static bool keeps(const struct anneal *a, const struct plan *p, uint32_t child, uint32_t parent)
{
    const struct plan_change *c = plan_change_find(p, child);
    return !will_go(a, p, child) && !(c && plan_lists(c->losses, c->n_losses, parent));
}

static int check_goer(const struct anneal *a, const struct plan *p, const struct plan_change *c,
                      struct err *e)
{
    uint32_t n;
    const uint32_t *children = graph_out(&a->need, c->noderole, &n);
    for (uint32_t k = 0; k < n; k++)
        if (keeps(a, p, children[k], c->noderole))
            return goes(e, c->noderole, children[k]);
    for (uint32_t i = a->noderoles.at[c->noderole].bonds_down[BOND_SLEEPS]; i;
         i = a->bonds.at[i].next_down)
        if (keeps(a, p, a->bonds.at[i].child, c->noderole))
            return goes(e, c->noderole, a->bonds.at[i].child);
    return 0;
}

static int check_stayer(const struct anneal *a, const struct plan *p, const struct plan_change *c,
                        struct err *e)
{
    uint32_t n;
    const uint32_t *parents = graph_in(&a->need, c->noderole, &n);
    for (uint32_t k = 0; k < n; k++)
        if (will_go(a, p, parents[k]) && !plan_lists(c->losses, c->n_losses, parents[k]))
            return goes(e, parents[k], c->noderole);
    for (uint32_t k = 0; k < c->n_gains; k++)
        if (will_go(a, p, c->gains[k]))
            return goes(e, c->gains[k], c->noderole);
    return 0;
}

/* Who goes is needed only by those who go; a need that sleeps is one. */
static int check_goers(const struct anneal *a, const struct plan *p, struct err *e)
{
    for (uint32_t i = 0; i < p->n_noderoles; i++)
        for (uint32_t k = 0; k < p->noderoles[i].n_parents; k++)
            if (will_go(a, p, p->noderoles[i].parents[k]))
                return goes(e, p->noderoles[i].parents[k], p->base_noderole + i);
    for (uint32_t i = 0; i < p->n_changes; i++) {
        int r = will_go(a, p, p->changes[i].noderole) ? check_goer(a, p, &p->changes[i], e)
                                                      : check_stayer(a, p, &p->changes[i], e);
        if (r < 0)
            return r;
    }
    return 0;
}

static int check_parents(const struct anneal *a, const struct plan *p, const struct plan_change *c,
                         struct err *e)
{
    uint32_t n;
    const uint32_t *parents = graph_in(&a->need, c->noderole, &n);
    for (uint32_t i = 0; i < c->n_gains; i++) {
        uint32_t id = c->gains[i];
        if (!noderole_exists(a, id) && id - p->base_noderole >= p->n_noderoles)
            return err_set(e, ERR_NOT_FOUND, "plan: noderole %u cannot need %u, which is gone",
                           c->noderole, id);
        if (plan_lists(parents, n, id) || late_sleeps(a, id, c->noderole) ||
            plan_lists(c->gains, i, id))
            return err_set(e, ERR_INVALID, "plan: noderole %u needs %u already", c->noderole, id);
        uint32_t node = id < p->base_noderole ? a->noderoles.at[id].node
                                              : p->noderoles[id - p->base_noderole].node;
        if (node == 0 || a->noderoles.at[c->noderole].node == 0)
            return err_set(e, ERR_INVALID, "plan: noderole %u cannot need %u: one has no node",
                           c->noderole, id);
    }
    for (uint32_t i = 0; i < c->n_losses; i++) {
        uint32_t id = c->losses[i];
        if ((!plan_lists(parents, n, id) && !late_sleeps(a, id, c->noderole)) ||
            plan_lists(c->losses, i, id))
            return err_set(e, ERR_INVALID, "plan: noderole %u does not need %u", c->noderole, id);
    }
    return 0;
}

int change_certain(const struct anneal *a, uint32_t id, struct err *e)
{
    const struct noderole *nr = &a->noderoles.at[id];
    for (uint32_t t = nr->first_task; t < nr->first_task + nr->n_tasks; t++)
        if (a->task_state[t] == TASK_FAILED && a->tasks[t].reason == REASON_UNCERTAIN) {
            err_set(e, ERR_CONFLICT, "nobody knows how task %u of noderole %u ended", t, id);
            return err_hint(e, "`anneal task resolve %u done|failed|again` first", t);
        }
    return 0;
}

static int check_change(const struct anneal *a, const struct plan *p, uint32_t i, struct err *e)
{
    const struct plan_change *c = &p->changes[i];
    uint32_t defs = p->base_def + p->n_defs;
    if (!noderole_exists(a, c->noderole))
        return err_set(e, ERR_NOT_FOUND, "plan: there is no noderole %u to change", c->noderole);
    const struct noderole *nr = &a->noderoles.at[c->noderole];
    if (nr->target == TARGET_ABSENT && !(c->what & (PLAN_C_TASKS | PLAN_C_REMOVE)))
        return err_set(e, ERR_CONFLICT, "plan: noderole %u is being removed", c->noderole);
    if ((c->what & PLAN_C_DEFS) && c->n_defs != nr->n_tasks)
        return err_set(e, ERR_CONFLICT, "plan: noderole %u has %u tasks, not %u", c->noderole,
                       nr->n_tasks, c->n_defs);
    for (uint32_t k = 0; k < c->n_defs; k++)
        if (c->defs[k] == 0 || c->defs[k] >= defs)
            return err_set(e, ERR_INVALID, "plan: no definition %u", c->defs[k]);
        else if (task_rule_runs(task_rule(a, nr->first_task + k)) &&
                 !extend_def_runs(a, p, c->defs[k]))
            return err_set(e, ERR_INVALID, "plan: task %u runs, and nothing executes it",
                           nr->first_task + k);
    if (c->group > p->n_groups)
        return err_set(e, ERR_INVALID, "plan: noderole %u is in no group %u", c->noderole,
                       c->group);
    if ((c->what & (PLAN_C_TASKS | PLAN_C_REMOVE)) && change_certain(a, c->noderole, e) < 0)
        return err_wrap(e, "plan");
    bool empty = c->what & PLAN_C_TASKS ? c->n_tasks == 0
                                        : nr->n_tasks == 0 && !(c->what & PLAN_C_REMOVE);
    uint32_t n;
    (void)graph_in(&a->need, c->noderole, &n);
    if (empty && (nr->bonds_up[BOND_SLEEPS] || n + c->n_gains > c->n_losses))
        return err_set(e, ERR_INVALID, "plan: noderole %u would have parents, but no tasks",
                       c->noderole);
    int r = c->what & PLAN_C_PARENTS ? check_parents(a, p, c, e) : 0;
    return r < 0 ? r : quorum_check_plan(a, p, c->noderole, c->quorums, c->n_quorums, e);
}

int change_check(const struct anneal *a, const struct plan *p, uint32_t *next_task, struct err *e)
{
    bool gains = false;
    int r = 0;
    for (uint32_t i = 0; i < p->n_changes && r >= 0; i++) {
        const struct plan_change *c = &p->changes[i];
        if ((r = check_change(a, p, i, e)) < 0)
            return r;
        if (i > 0 && p->changes[i - 1].noderole >= c->noderole)
            r = err_set(e, ERR_INVALID, "plan: changes are not in the order of ids at %u",
                        c->noderole);
        if (c->what & (PLAN_C_TASKS | PLAN_C_REMOVE)) {
            if (c->first_task != *next_task || c->n_tasks > PLAN_MOST_TASKS)
                r = err_set(e, ERR_INVALID, "plan: noderole %u gets %u tasks at %u", c->noderole,
                            c->n_tasks, c->first_task);
            *next_task += c->n_tasks;
        }
        gains |= c->n_gains > 0;
    }
    if (r >= 0)
        r = check_goers(a, p, e);
    return r >= 0 && (gains || p->n_needs > 0) ? check_circles(a, p, e) : r;
}

/* ---- doing ---- */

/* Members of its roll-out before it that have failed: who is nobody's has no roll-out. */
static uint32_t forgiven_members(const struct anneal *a, uint32_t t)
{
    uint32_t n, forgiven = 0;
    enum task_rule rule = task_rule(a, t); /* a join forgives by itself */
    const uint32_t *deps = graph_in(&a->order, t, &n);
    for (uint32_t i = 0; i < n && !task_rule_ends(rule); i++)
        forgiven += task_state_failed(a->task_state[deps[i]]) && rollout_orders(a, deps[i], t) &&
                    !(rule == RULE_JOIN_TOLERATE &&
                      tolerance_within(a, a->tasks[deps[i]].noderole));
    return forgiven;
}

static void task_retire(struct anneal *a, uint32_t t)
{
    struct task *task = &a->tasks[t];
    struct op *op = &a->ops.at[task_op(a, t)];
    enum task_state s = a->task_state[t];
    op->counts[s]--;
    a->totals_task[s]--;
    if (task->live) {
        op->live--;
        a->ops.at[0].live++;
        limits_tenant_moves(a, task->live, op->tenant, a->ops.at[0].tenant);
    }
    a->unmet[t] -= gate_shuts(a, t);
    a->unmet[t] += forgiven_members(a, t);
    if (task_rule_runs(task_rule(a, t)))
        task->flags &= (uint8_t)~TASKF_RULE; /* an attempt of it may still be open */
    task->noderole = 0;
    task->flags &= (uint8_t)~TASKF_FIRST;
    task_changed(a, t);
}

/* They pass, so that nobody waits for them, and are nobody's from now on. */
static void change_retire_tasks(struct anneal *a, uint32_t id)
{
    struct noderole *nr = &a->noderoles.at[id];
    uint32_t end = nr->first_task + nr->n_tasks;
    bool failed = noderole_failing(nr);
    for (uint32_t t = nr->first_task; t < end; t++) {
        enum task_state s = a->task_state[t];
        a->tasks[t].lane = 0;
        if (a->tasks[t].live)
            attempt_supersede(a, t);
        if (task_state_passed(s))
            continue;
        if (s != TASK_PENDING)
            task_go(a, t, TASKEV_RESET, REASON_CATALOG);
        task_go(a, t, TASKEV_SKIP, REASON_CATALOG);
    }
    for (uint32_t t = nr->first_task; failed && t < end; t++)
        task_unfail_cone(a, t);
    for (uint32_t t = nr->first_task; t < end; t++)
        task_retire(a, t);
    nr->passed = nr->live = nr->ready = nr->failed = nr->dep_failed = nr->cancelled = 0;
    nr->n_tasks = 0;
}

static void set_target(struct anneal *a, uint32_t id, enum target target)
{
    struct noderole *nr = &a->noderoles.at[id];
    bool in = noderole_in_service(nr->state, nr->target);
    if (nr->target == TARGET_STOPPED && target == TARGET_RUNNING)
        noderole_leave_rest(a, id);
    gate_target(a, id, target);
    if (in && !noderole_in_service(nr->state, nr->target))
        noderole_left_service(a, id);
}

static enum target change_target(const struct plan_change *c)
{
    return c->what & PLAN_C_REMOVE ? TARGET_ABSENT : (enum target)c->target;
}

static bool changes_inputs(const struct anneal *a, const struct plan_change *c)
{
    const struct noderole *nr = &a->noderoles.at[c->noderole];
    bool other = ((c->what & PLAN_C_DATA) && c->data != nr->data) || c->n_gains || c->n_losses;
    for (uint32_t i = 0; (c->what & PLAN_C_DEFS) && i < c->n_defs && !other; i++)
        other = a->tasks[nr->first_task + i].def != c->defs[i];
    return other;
}

/* What the plan finds of those that it changes. */
static struct change_past *look_back(const struct anneal *a, const struct plan *p)
{
    struct change_past *past = xcalloc((size_t)p->n_changes + 1, sizeof *past);
    for (uint32_t i = 0; i < p->n_changes; i++) {
        const struct plan_change *c = &p->changes[i];
        const struct noderole *nr = &a->noderoles.at[c->noderole];
        past[i].op = nr->op;
        past[i].keeps = c->keeps && nr->target == TARGET_RUNNING && c->target == TARGET_RUNNING;
        past[i].first_task = nr->first_task;
        past[i].n_tasks = nr->n_tasks;
        past[i].withheld = (uint8_t)correct_withheld(a, c->noderole);
        past[i].corrected = (nr->failed > 0 || nr->cancelled > 0) && !past[i].withheld &&
                            changes_inputs(a, c);
        past[i].left = (nr->failed > 0 || nr->cancelled > 0) && !past[i].corrected &&
                       !(c->what & (PLAN_C_TASKS | PLAN_C_REMOVE));
    }
    return past;
}

/* Before the tasks of the plan are there: what they replace goes.  Needs that end come first, so
 * that nobody is lost with a parent that it no longer has.  Whoever is in ERROR and stays so is
 * left to the operation in which it failed. */
struct change_past *change_begin(struct anneal *a, const struct plan *p, uint32_t op)
{
    struct change_past *past = look_back(a, p);
    for (uint32_t i = 0; i < p->n_changes; i++) {
        const struct plan_change *c = &p->changes[i];
        for (uint32_t k = 0; k < c->n_losses; k++) {
            if (late_drop(a, c->losses[k], c->noderole))
                continue;
            if (!(c->what & PLAN_C_REMOVE))
                leave_lost(a, c->losses[k], c->noderole);
            gate_unlink(a, c->losses[k], c->noderole);
        }
    }
    for (uint32_t i = 0; i < p->n_changes; i++) {
        const struct plan_change *c = &p->changes[i];
        struct noderole *nr = &a->noderoles.at[c->noderole];
        bool shut = gate_shut(a, c->noderole);
        if (!past[i].left) {
            operation_loses(a, c->noderole, op, c->what & PLAN_C_REMOVE);
            noderole_adopt(a, c->noderole, op);
        }
        if (c->what & (PLAN_C_TASKS | PLAN_C_DEFS))
            nr->flags = c->flags;
        gate_moved(a, c->noderole, shut);
    }
    /* All of them are the new operation's by now: nothing that is freed of a failure here is given
     * back to one that has ended.  Whoever leaves service does so before any tasks go: the loss
     * has to find those that have begun. */
    uint32_t *in_service = xcalloc((size_t)p->n_changes + 1, sizeof *in_service);
    for (uint32_t i = 0; i < p->n_changes; i++) {
        const struct noderole *nr = &a->noderoles.at[p->changes[i].noderole];
        in_service[i] = noderole_in_service(nr->state, nr->target) ? nr->generation : 0;
    }
    for (uint32_t i = 0; i < p->n_changes; i++)
        if (p->changes[i].what & (PLAN_C_TASKS | PLAN_C_REMOVE))
            set_target(a, p->changes[i].noderole, change_target(&p->changes[i]));
    for (uint32_t i = 0; i < p->n_changes; i++) {
        const struct plan_change *c = &p->changes[i];
        struct noderole *nr = &a->noderoles.at[c->noderole];
        if (!(c->what & (PLAN_C_TASKS | PLAN_C_REMOVE)))
            continue;
        bool goes = c->what & PLAN_C_REMOVE;
        bool stays = nr->target == TARGET_RUNNING && in_service[i] == nr->generation;
        bool mends = past[i].keeps && nr->failed > 0 && !past[i].withheld;
        change_retire_tasks(a, c->noderole);
        if (goes) {
            tolerance_join(a, c->noderole, 0); /* who goes is no part of what is wanted */
            leave_done(a, c->noderole);
        }
        nr->generation++;
        nr->reason = goes ? REASON_REMOVED : c->reason ? c->reason : REASON_CATALOG;
        nr->mode = stays && c->n_tasks ? MODE_REFRESH : mends ? MODE_PREFIX : 0;
    }
    free(in_service);
    return past;
}

/* It failed in a way that waits for a person's own word: other tasks do not change that.  The
 * failure is not the plan's, and is left to the operation that had it. */
static void stay_failed(struct anneal *a, uint32_t id, const struct change_past *past)
{
    const struct noderole *nr = &a->noderoles.at[id];
    uint32_t t = nr->first_task, end = nr->first_task + nr->n_tasks;
    const struct op *o = &a->ops.at[past->op];
    while (t < end && task_passive(a, t))
        t++;
    if (t == end)
        return; /* nothing of it is executed */
    a->tasks[t].flags |= TASKF_TRIED;
    task_go(a, t, TASKEV_FAIL, past->withheld);
    task_fail_cone(a, t);
    bool open = o->state == OPERATION_RUNNING || o->held;
    noderole_adopt(a, id, open ? past->op : OPERATION_STANDING);
}

/* It is in another place of the order, or in other pools, and what was done is done. */
static void keep_memory(struct anneal *a, const struct noderole *nr, const struct change_past *past)
{
    for (uint32_t i = 0; i < nr->n_tasks && i < past->n_tasks; i++)
        if (a->tasks[nr->first_task + i].def == a->tasks[past->first_task + i].def)
            a->tasks[nr->first_task + i].done_digest = a->tasks[past->first_task + i].done_digest;
}

/* What must not happen twice does not happen again because it is described anew. */
static void count_as_done(struct anneal *a, const struct noderole *nr)
{
    for (uint32_t t = nr->first_task; t < nr->first_task + nr->n_tasks; t++)
        a->tasks[t].done_digest = 1;
}

/* An attempt that runs counts for the jig of the definition that its task has now, as it will after
 * a restart. */
static void move_worker_slot(struct anneal *a, uint32_t t, uint32_t def)
{
    uint32_t from = a->defs.at[a->tasks[t].def].jig, to = a->defs.at[def].jig;
    if (!a->tasks[t].live || !(a->lives.at[a->tasks[t].live].flags & LIVEF_WORKER) || from == to)
        return;
    a->jigs.at[from].taken--;
    a->jigs.at[to].taken++;
    schedule_jig(a, from);
}

/* The run under way ends first, by the definitions it began with: a task that waits may hold its
 * node by them.  Of one that is left in ERROR nothing but that is under way. */
static void redefine(struct anneal *a, const struct plan_change *c, bool left)
{
    struct noderole *nr = &a->noderoles.at[c->noderole];
    bool in = noderole_in_service(nr->state, nr->target), other = false;
    for (uint32_t i = 0; i < c->n_defs; i++)
        other |= a->tasks[nr->first_task + i].def != c->defs[i];
    if (other && noderole_begun(nr) && (!left || nr->live > 0)) {
        ripple_rewind(a, c->noderole, REASON_CATALOG);
        nr->mode |= in ? MODE_REFRESH : 0;
    }
    for (uint32_t i = 0; i < c->n_defs; i++) {
        uint32_t t = nr->first_task + i;
        if (a->tasks[t].def == c->defs[i])
            continue;
        bool queued = a->tasks[t].lane; /* under another jig, it may be: queue again */
        a->tasks[t].lane = 0;
        move_worker_slot(a, t, c->defs[i]);
        bool shut = gate_shuts(a, t);
        a->tasks[t].def = c->defs[i];
        gate_mark_first(a, t);
        if (gate_shuts(a, t) != shut)
            (shut ? task_waits_less : task_waits_more)(a, t);
        task_changed(a, t);
        if (queued)
            schedule_enqueue(a, t);
    }
}

static void change_gains(struct anneal *a, const struct plan_change *c)
{
    for (uint32_t k = 0; k < c->n_gains; k++)
        late_add(a, c->gains[k], c->noderole);
}

/* Whoever loses a parent and gets a new one by the same plan is not to be without both. */
void change_await(struct anneal *a, const struct plan *p)
{
    for (uint32_t i = 0; i < p->n_changes; i++) {
        const struct plan_change *c = &p->changes[i];
        uint32_t bond = a->noderoles.at[c->noderole].bonds_up[BOND_SLEEPS], next;
        for (; c->n_losses > 0 && !(c->what & PLAN_C_REMOVE) && bond; bond = next) {
            next = a->bonds.at[bond].next_up;
            if (a->bonds.at[bond].parent >= p->base_noderole)
                late_await(a, a->bonds.at[bond].parent, c->noderole);
        }
    }
}

/* A run that corrects has not begun when it gets its new parents: it waits for them. */
static void change_one(struct anneal *a, const struct plan *p, const struct plan_change *c,
                       const struct change_past *past)
{
    struct noderole *nr = &a->noderoles.at[c->noderole];
    bool counted = nr->quorum;
    if (c->what & PLAN_C_QUORUMS)
        quorum_remake(a, c->noderole, c->quorums, c->n_quorums);
    if (!past->corrected)
        change_gains(a, c);
    if (c->what & PLAN_C_DEFS)
        redefine(a, c, past->left);
    if (c->what & PLAN_C_DATA)
        nr->data = c->data;
    if (c->what & PLAN_C_GROUP)
        tolerance_join(a, c->noderole, extend_group(a, p, c->group));
    noderole_changed(a, c->noderole);
    noderole_derive_later(a, c->noderole);
    if (past->corrected) {
        ripple_refresh(a, c->noderole, c->what & PLAN_C_DEFS ? REASON_CATALOG : REASON_DATA, false);
        change_gains(a, c);
    } else if ((c->what & PLAN_C_TASKS) && past->withheld) {
        stay_failed(a, c->noderole, past);
    } else if (c->what & (PLAN_C_DATA | PLAN_C_PARENTS)) {
        ripple_refresh(a, c->noderole, REASON_DATA, false);
    }
    if (counted || nr->quorum) {
        quorum_fell(a, c->noderole);
        quorum_settle(a, c->noderole);
    }
}

/* When noderoles and tasks of the plan are there. */
void change_end(struct anneal *a, const struct plan *p, const struct change_past *past)
{
    for (uint32_t i = 0; i < p->n_changes; i++) {
        const struct plan_change *c = &p->changes[i];
        struct noderole *nr = &a->noderoles.at[c->noderole];
        if (!(c->what & (PLAN_C_TASKS | PLAN_C_REMOVE)))
            continue;
        nr->first_task = p->base_task + c->first_task;
        nr->n_tasks = (uint16_t)c->n_tasks;
        if ((c->what & PLAN_C_TASKS) && past[i].withheld)
            continue;
        if (past[i].keeps)
            keep_memory(a, nr, &past[i]);
        if ((c->what & PLAN_C_TASKS) && (nr->flags & NODEROLE_F_DESTRUCTIVE) && nr->run_count > 0)
            count_as_done(a, nr);
    }
    for (uint32_t i = 0; i < p->n_changes; i++)
        gate_progress(a, p->changes[i].noderole);
    for (uint32_t i = 0; i < p->n_changes; i++)
        change_one(a, p, &p->changes[i], &past[i]);
}

static void leave_node(struct anneal *a, uint32_t id)
{
    const struct noderole *nr = &a->noderoles.at[id];
    struct node *node = &a->nodes.at[nr->node];
    uint32_t *at = &node->first_noderole, before = 0;
    while (*at != id) {
        before = *at;
        at = &a->noderoles.at[*at].next_on_node;
    }
    *at = nr->next_on_node;
    if (node->last_noderole == id)
        node->last_noderole = before;
    node->noderoles--;
}

/* Nothing of it is left to do and nobody needs it. */
void change_vanish(struct anneal *a, uint32_t id)
{
    struct noderole *nr = &a->noderoles.at[id];
    uint32_t n, op = nr->op;
    for (const uint32_t *parents; (parents = graph_in(&a->need, id, &n)), n > 0;)
        gate_unlink(a, parents[n - 1], id);
    late_vanish(a, id);
    leave_done(a, id);
    (void)leave_now(a, id);
    a->ops.at[op].gone += nr->n_tasks;
    change_retire_tasks(a, id);
    operation_touch(a, op);
    operation_changed(a, op);
    if (nr->node)
        leave_node(a, id);
    a->totals_noderole[NODEROLE_REMOVED]--;
    *nr = (struct noderole){
        .state = NODEROLE_REMOVED, .visited = nr->visited, .derives = nr->derives};
}

int change_abandon(struct anneal *a, uint32_t id, struct err *e)
{
    if (!noderole_exists(a, id))
        return err_set(e, ERR_NOT_FOUND, "no noderole %u", id);
    const struct noderole *nr = &a->noderoles.at[id];
    if (nr->target != TARGET_ABSENT) {
        err_set(e, ERR_CONFLICT, "noderole %u is not being removed", id);
        return err_hint(e, "only a removal can be abandoned");
    }
    for (uint32_t t = nr->first_task; t < nr->first_task + nr->n_tasks; t++) {
        enum task_state s = a->task_state[t];
        if (task_state_passed(s))
            continue;
        a->tasks[t].lane = 0;
        if (a->tasks[t].live)
            attempt_supersede(a, t);
        if (s != TASK_PENDING)
            task_go(a, t, TASKEV_RESET, REASON_ABANDONED);
        task_go(a, t, TASKEV_SKIP, REASON_ABANDONED);
        task_unfail_cone(a, t);
    }
    (void)leave_now(a, id);
    return 0;
}
