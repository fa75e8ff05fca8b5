/* sim_check.c - the invariants of docs/rfc/01-engine.md section 11, after every step that changed
 * anything
 *
 * anneal_check() recomputes what the engine keeps: 1, 3, 4, 8, 10 and the sums of 2 and 5.  Here is
 * what can only be seen from a step: limits and dependencies at the moment of a start, what joins
 * pass and what groups stop, the order of starts, what a loss must take along, that a cancelled
 * operation ends, that nobody waits for ever.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/sim_i.h"

enum {
    END_SAMPLE = 16,   /* steps between two looks at operations that should have ended */
    TURN_SAMPLE = 64,  /* and at who waits for nothing but its turn */
    TURN_BOUND = 4000, /* starts of others that such a task may see */
    ORDER_SAMPLE = 16, /* starts between two comparisons with every startable task */
    WHY_MOST = 6,
};

struct start { /* a task as the start order sees it */
    struct task_view v;
    uint32_t cohort;
    const struct sim_def *def;
};

static struct start start_of(const struct sim *s, uint32_t task)
{
    struct start st;
    struct noderole_view nr;
    anneal_task(s->server.engine, task, &st.v);
    anneal_noderole(s->server.engine, st.v.noderole, &nr);
    st.cohort = nr.cohort;
    st.def = &s->defs.at[st.v.def];
    return st;
}

static bool goes_before(const struct start *x, const struct start *y)
{
    if (x->v.weight != y->v.weight)
        return x->v.weight > y->v.weight;
    if (x->cohort != y->cohort)
        return x->cohort < y->cohort;
    return x->v.id < y->v.id;
}

/* Could `u`, which did not start, have had everything that `t` took? */
static void check_overtaken(struct sim *s, const struct start *t, uint32_t u)
{
    struct task_view v;
    anneal_task(s->server.engine, u, &v);
    if (v.state != TASK_READY || v.behind || v.operation != t->v.operation || u == t->v.id)
        return; /* what was sent ahead has its place already */
    struct start other = start_of(s, u);
    if (other.def->jig != t->def->jig || !goes_before(&other, t))
        return;
    bool same_place = v.node == t->v.node && v.span == 0 && t->v.span == 0 &&
                      ((other.def->flags ^ t->def->flags) & DEF_F_OUTSIDE) == 0;
    struct why why[WHY_MOST];
    if (!same_place && (anneal_why_task(s->server.engine, u, why, WHY_MOST) != 1 ||
                        why[0].rule != WHY_WORKERS_BUSY))
        return;
    sim_fail(s, "start order: task %u started, task %u of the same operation goes before it",
             t->v.id, u);
}

static void check_order_of_starts(struct sim *s, const struct start *t)
{
    const struct anneal *a = s->server.engine;
    if (s->report->starts % ORDER_SAMPLE == 0) {
        for (uint32_t u = 1; u < anneal_task_end(a); u++)
            check_overtaken(s, t, u);
        return;
    }
    for (uint32_t nr = anneal_node_first_noderole(a, t->v.node); nr;
         nr = anneal_node_next_noderole(a, nr)) {
        struct noderole_view v;
        anneal_noderole(a, nr, &v);
        for (uint32_t i = 0; v.state != NODEROLE_ACTIVE && i < v.n_tasks; i++)
            check_overtaken(s, t, v.first_task + i);
    }
}

static void check_passed(struct sim *s, uint32_t task, uint32_t before)
{
    struct task_view v;
    anneal_task(s->server.engine, before, &v);
    if (!task_state_passed(v.state) && !sim_rollout_orders(s, task, before))
        sim_fail(s, "invariant 5: task %u started, task %u before it is %s", task, before,
                 task_state_name(v.state));
}

/* A first task of its noderole comes after every task of every parent, unless the plan says more.
 */
static void check_dependencies(struct sim *s, uint32_t task, uint32_t noderole)
{
    const struct anneal *a = s->server.engine;
    struct noderole_view nr;
    uint32_t n;
    const uint32_t *deps = anneal_task_deps(a, task, &n);
    anneal_noderole(a, noderole, &nr);
    bool first = !(nr.flags & NODEROLE_F_PHASED);
    for (uint32_t i = 0; i < n; i++) {
        check_passed(s, task, deps[i]);
        first &= deps[i] - nr.first_task >= nr.n_tasks;
    }
    if (s->defs.at[s->tasks.at[task].def].flags & DEF_F_TAKES_DOWN)
        first = !(nr.flags & NODEROLE_F_PHASED);
    if (nr.target == TARGET_ABSENT) {
        const uint32_t *children = anneal_children(a, noderole, &n);
        if (n > 0)
            sim_fail(s, "removal: task %u of noderole %u started, noderole %u still needs it", task,
                     noderole, children[0]);
        return;
    }
    const uint32_t *parents = anneal_parents(a, noderole, &n);
    for (uint32_t i = 0; first && i < n; i++) {
        struct noderole_view p;
        bool opens;
        anneal_noderole(a, parents[i], &p);
        if (sim_quorum_opens(s, noderole, parents[i], &opens)) {
            if (!opens)
                sim_fail(s, "task %u of noderole %u started, too few like noderole %u are complete",
                         task, noderole, parents[i]);
            continue;
        }
        if (p.target == TARGET_STOPPED && nr.target == TARGET_STOPPED)
            continue; /* children stop first */
        if (p.target == TARGET_STOPPED)
            sim_fail(s, "task %u of noderole %u started, noderole %u that it needs is stopped",
                     task, noderole, parents[i]);
        for (uint32_t k = 0; k < p.n_tasks; k++)
            check_passed(s, task, p.first_task + k);
    }
}

/* A start that takes the node down may come after another start in the same step. */
static bool was_taken_down(const struct sim *s, const struct effects *fx, uint32_t node)
{
    for (size_t i = 0; i < fx->sends.n; i++) {
        const struct sim_task *t = &s->tasks.at[fx->sends.at[i].task];
        if (t->node == node && (s->defs.at[t->def].flags & DEF_F_TAKES_DOWN))
            return true;
    }
    return false;
}

/* turn: it was sent ahead, and has the place of the one before it, however many there are now. */
static void check_room(struct sim *s, const struct effects *fx, const struct start *t, bool ask,
                       bool turn)
{
    const struct anneal *a = s->server.engine;
    /* Without a node there is always room. */
    struct node_view node = {.available = 1, .alive = ALIVE_ALIVE, .slots = UINT32_MAX};
    struct jig_view jig;
    struct operation_view op;
    uint32_t used, capacity = anneal_capacity(a, &used), id = t->v.id;
    (void)anneal_node(a, t->v.node, &node);
    anneal_jig(a, t->def->jig, &jig);
    anneal_operation(a, t->v.operation, &op);
    bool reached = node.alive == ALIVE_ALIVE || (t->def->flags & DEF_F_OUTSIDE) ||
                   was_taken_down(s, fx, node.id);
    if (node.used > node.slots && !ask)
        sim_fail(s, "invariant 2: task %u started on node %u, %u of %u slots are taken", id,
                 node.id, node.used, node.slots);
    if (used > capacity && !turn)
        sim_fail(s, "invariant 2: task %u started, %u of %u worker slots are taken", id, used,
                 capacity);
    if ((jig.taken > jig.slots && !turn) || !jig.active)
        sim_fail(s, "invariant 2: task %u started, jig %u has %u of %u slots taken", id, jig.id,
                 jig.taken, jig.slots);
    if (!node.available || (!reached && !ask))
        sim_fail(s, "invariant 2: task %u started on node %u: %savailable, %s", id, node.id,
                 node.available ? "" : "un", alive_state_name(node.alive));
    if (node.frozen && !ask)
        sim_fail(s, "invariant 2: task %u started on node %u, which an error froze", id, node.id);
    if (op.held)
        sim_fail(s, "invariant 2: task %u started in operation %u, which is held", id, op.id);
}

static bool group_forgives(const struct anneal *a, uint32_t noderole)
{
    struct noderole_view nr = {0};
    struct group_view g;
    if (!anneal_noderole(a, noderole, &nr) || !anneal_group(a, nr.group, &g))
        return false;
    return g.stops ? sim_rollout_forgives(a, &nr)
                   : sim_rollout_failing(a, nr.group, 0) <= g.may_fail;
}

/* It had passed, and began another run in the same step. */
static bool begun_again(const struct effects *fx, uint32_t task)
{
    for (size_t i = 0; i < fx->changes.n; i++) {
        const struct change *c = &fx->changes.at[i];
        if (c->table == ROWS_TASK && c->id == task && task_state_passed(c->from) &&
            !task_state_passed(c->to))
            return true;
    }
    return false;
}

/* A passive task passed: all that it waits for has ended as its rule says. */
static void check_joined(struct sim *s, const struct effects *fx, uint32_t task)
{
    const struct anneal *a = s->server.engine;
    struct task_view t, before;
    uint32_t n;
    const uint32_t *deps = anneal_task_deps(a, task, &n);
    anneal_task(a, task, &t);
    if (!t.passive || t.noderole == 0 || !task_state_passed(t.state) ||
        t.reason == REASON_ABANDONED ||
        ((t.rule == RULE_UNDO || t.rule == RULE_SKIP) &&
         t.state != TASK_SKIPPED)) /* by an attempt */
        return;
    for (uint32_t i = 0; i < n; i++) {
        anneal_task(a, deps[i], &before);
        bool failed = task_state_failed(before.state);
        bool cancelled = before.state == TASK_CANCELLED;
        bool over = task_state_passed(before.state) || (failed && t.rule == RULE_JOIN_ENDED) ||
                    ((failed || cancelled) && t.rule == RULE_JOIN_OVER) ||
                    (failed && t.rule == RULE_JOIN_TOLERATE && group_forgives(a, before.noderole));
        /* On a node it stays passed, whatever those before it do next. */
        if (!over && !(t.node && begun_again(fx, deps[i])) && !sim_rollout_orders(s, task, deps[i]))
            sim_fail(s, "invariant 5: task %u (%s) passed, task %u before it is %s", task,
                     task_rule_name(t.rule), deps[i], task_state_name(before.state));
    }
    s->report->joins++;
}

/* Did a noderole of the group fail in this step whose operation does not go on?  The others failed
 * before it, while that was allowed. */
static bool group_stopped(const struct anneal *a, const struct effects *fx, uint32_t group)
{
    for (size_t i = 0; i < fx->changes.n; i++) {
        const struct change *c = &fx->changes.at[i];
        struct task_view t;
        struct noderole_view nr;
        struct operation_view op;
        if (c->table == ROWS_TASK && task_state_failed(c->to) && !task_state_failed(c->from) &&
            anneal_task(a, c->id, &t) && anneal_noderole(a, t.noderole, &nr) && nr.group == group &&
            anneal_operation(a, nr.operation, &op) &&
            (op.id == OPERATION_STANDING || op.state != OPERATION_RUNNING || op.held))
            return true;
    }
    return false;
}

/* It failed in this step and not before: beyond the tolerance of its group its operation stops. */
static void check_drained(struct sim *s, const struct effects *fx, uint32_t task)
{
    const struct anneal *a = s->server.engine;
    struct task_view t;
    struct noderole_view nr;
    struct operation_view op;
    uint32_t failed = 0, fresh = 0;
    anneal_task(a, task, &t);
    struct group_view g;
    if (!task_state_failed(t.state) || !anneal_noderole(a, t.noderole, &nr) || !nr.group ||
        group_forgives(a, t.noderole) || (anneal_group(a, nr.group, &g) && g.stops))
        return;
    for (uint32_t i = 0; i < nr.n_tasks; i++)
        failed += anneal_task(a, nr.first_task + i, &t) && task_state_failed(t.state);
    for (size_t i = 0; i < fx->changes.n; i++) {
        const struct change *c = &fx->changes.at[i];
        fresh += c->table == ROWS_TASK && c->id - nr.first_task < nr.n_tasks &&
                 task_state_failed(c->to) && !task_state_failed(c->from);
    }
    anneal_operation(a, nr.operation, &op);
    if (fresh != failed || op.id == OPERATION_STANDING)
        return;
    s->report->drains++;
    if (!group_stopped(a, fx, nr.group))
        sim_fail(s, "tolerance: noderole %u failed beyond group %u's, operation %u goes on", nr.id,
                 nr.group, op.id);
}

/* It ended well: whatever failed of it is forgiven. */
static void check_success(struct sim *s, uint32_t id)
{
    const struct anneal *a = s->server.engine;
    struct operation_view op;
    if (!anneal_operation(a, id, &op) ||
        (op.state != OPERATION_SUCCEEDED && op.state != OPERATION_TOLERATED))
        return;
    for (uint32_t n = 1; n < anneal_noderole_end(a); n++) {
        struct noderole_view nr;
        struct task_view t;
        if (!anneal_noderole(a, n, &nr) || nr.operation != id || nr.node == 0)
            continue;
        for (uint32_t i = 0; i < nr.n_tasks; i++)
            if (anneal_task(a, nr.first_task + i, &t) && task_state_failed(t.state) &&
                (op.state == OPERATION_SUCCEEDED ||
                 (!group_forgives(a, n) && !sim_rollout_within(s, n))))
                sim_fail(s, "operation %u %s, and task %u is %s", id,
                         operation_state_name(op.state), t.id, task_state_name(t.state));
    }
}

/* Sent before its time: only what may be repeated, and only on the same node. */
static void check_ahead(struct sim *s, const struct dispatch *d)
{
    struct start t = start_of(s, d->task), before = start_of(s, d->behind);
    s->report->ahead++;
    if (t.v.node != before.v.node || t.v.passive || t.def->repeat == REPEAT_ONCE ||
        (t.def->flags & (DEF_F_OUTSIDE | DEF_F_TAKES_DOWN)))
        sim_fail(s, "task %u was sent ahead, behind task %u", d->task, d->behind);
}

/* picked: it had its turn among all that could start; else it was sent ahead before. */
static void check_start(struct sim *s, const struct effects *fx, const struct dispatch *d,
                        bool picked)
{
    struct start t = start_of(s, d->task);
    if (t.v.passive)
        sim_fail(s, "task %u is passive, and was started", d->task);
    if (d->asks == 0 && (t.def->flags & DEF_F_UNDONE) && t.v.rule != RULE_UNDO &&
        (s->marks.at[t.v.noderole] & SIM_HALF_DONE))
        sim_fail(s, "undo: task %u started again, what it left behind is still there", d->task);
    s->report->trail = mix64(s->report->trail, (uint64_t)d->task << 32 | d->attempt);
    check_room(s, fx, &t, d->asks > 0, !picked);
    if (d->asks > 0) {
        s->report->asks++;
        return;
    }
    s->report->starts++;
    sim_rollout_started(s, t.v.noderole);
    check_dependencies(s, d->task, t.v.noderole);
    if (picked)
        check_order_of_starts(s, &t);
}

static void check_span_taken(struct sim *s, uint32_t span)
{
    bool held;
    uint32_t n;
    const uint32_t *pools = anneal_span_pools(s->server.engine, span, &n, &held);
    for (uint32_t i = 0; held && i < n; i++) {
        struct pool_view p;
        anneal_pool(s->server.engine, pools[i], &p);
        if (p.closed || (uint64_t)p.taken + p.elsewhere > p.size)
            sim_fail(s, "invariant 2: span %u took pool %u: %u taken and %u elsewhere of %u%s",
                     span, p.id, p.taken, p.elsewhere, p.size, p.closed ? ", closed" : "");
    }
}

/* Was it kept as it was in this step, by a run that began in it? */
static bool kept_anew(const struct effects *fx, uint32_t task)
{
    for (size_t i = 0; i < fx->changes.n; i++) {
        const struct change *c = &fx->changes.at[i];
        if (c->table == ROWS_TASK && c->id == task && c->from == TASK_PENDING &&
            c->to == TASK_SKIPPED && c->reason == REASON_KEPT)
            return true;
    }
    return false;
}

/* Something of it passed, or runs and did not start just now (a new run may begin in the same
 * step). */
static bool goes_on(const struct sim *s, const struct effects *fx, uint32_t noderole)
{
    struct noderole_view v;
    uint64_t now_ms = anneal_now(s->server.engine);
    anneal_noderole(s->server.engine, noderole, &v);
    for (uint32_t i = 0; i < v.n_tasks; i++) {
        struct task_view t;
        anneal_task(s->server.engine, v.first_task + i, &t);
        if (t.passive || t.reason == REASON_UNCHANGED || kept_anew(fx, t.id))
            continue; /* nothing of it is anywhere, or it lasts */
        if (task_state_passed(t.state) || (task_state_live(t.state) && t.started_ms < now_ms))
            return true;
    }
    return false;
}

/* It left service: whoever needs it starts over, at once and everywhere, but for those who go or
 * have stopped. */
static void check_loss(struct sim *s, const struct effects *fx, uint32_t noderole)
{
    uint32_t n;
    struct noderole_view v;
    const uint32_t *children = anneal_children(s->server.engine, noderole, &n);
    for (uint32_t i = 0; i < n; i++)
        if (anneal_noderole(s->server.engine, children[i], &v) && v.target == TARGET_RUNNING &&
            !sim_quorum_serves(s, children[i], noderole) && goes_on(s, fx, children[i]))
            sim_fail(s, "loss: noderole %u went out of service, its child %u goes on", noderole,
                     children[i]);
}

static void check_death(struct sim *s, const struct effects *fx, uint32_t node)
{
    const struct anneal *a = s->server.engine;
    for (uint32_t nr = anneal_node_first_noderole(a, node); nr;
         nr = anneal_node_next_noderole(a, nr))
        if (goes_on(s, fx, nr))
            sim_fail(s, "loss: node %u died, its noderole %u goes on", node, nr);
}

/* An attempt failed of what has to be undone before it is tried again; or that was. */
static void note_half_done(struct sim *s, const struct change *c)
{
    struct task_view t;
    struct noderole_view nr;
    anneal_task(s->server.engine, c->id, &t);
    if (!anneal_noderole(s->server.engine, t.noderole, &nr))
        return;
    bool undoes = false;
    for (uint32_t i = nr.first_task; i < t.id; i++) {
        struct task_view before;
        undoes |= anneal_task(s->server.engine, i, &before) && before.rule == RULE_UNDO;
    }
    bool failed = c->to == TASK_FAILED ? c->reason != REASON_UNCERTAIN
                                       : c->reason == REASON_BACKOFF;
    if (t.rule == RULE_UNDO && (c->to == TASK_DONE || c->to == TASK_TOLERATED))
        s->marks.at[t.noderole] &= (uint8_t)~SIM_HALF_DONE;
    else if (undoes && task_state_live(c->from) && failed &&
             (s->defs.at[t.def].flags & DEF_F_UNDONE))
        s->marks.at[t.noderole] |= SIM_HALF_DONE;
}

/* Did it leave service? */
static bool note_service(struct sim *s, uint32_t id)
{
    struct noderole_view v;
    uint8_t *mark = &s->marks.at[id], was = *mark & SIM_SERVES;
    bool is = anneal_noderole(s->server.engine, id, &v) && noderole_in_service(v.state, v.target);
    *mark = (uint8_t)((*mark & ~SIM_SERVES) | (is ? SIM_SERVES : 0));
    return was && !is;
}

void sim_check_restored(struct sim *s)
{
    for (uint32_t id = 1; id < anneal_noderole_end(s->server.engine); id++) {
        s->marks.at[id] &= (uint8_t)~SIM_HALF_DONE;
        (void)note_service(s, id);
        sim_rollout_note(s, id);
    }
    sim_leave_restored(s);
}

static void check_change(struct sim *s, const struct effects *fx, const struct change *c)
{
    if (c->table == ROWS_NODEROLE) {
        sim_rollout_note(s, c->id);
        if (note_service(s, c->id))
            check_loss(s, fx, c->id);
    } else if (c->table == ROWS_NODE && c->to == ALIVE_DEAD && c->from != ALIVE_DEAD) {
        check_death(s, fx, c->id);
    } else if (c->table == ROWS_TASK && c->from != c->to && task_state_passed(c->to)) {
        check_joined(s, fx, c->id);
    } else if (c->table == ROWS_TASK && task_state_failed(c->to) && !task_state_failed(c->from)) {
        check_drained(s, fx, c->id);
    } else if (c->table == ROWS_OPERATION && c->from != c->to) {
        check_success(s, c->id);
    } else if (c->table == ROWS_SPAN && c->from == 0 && c->to > 0) {
        check_span_taken(s, c->id);
    }
}

static void check_operations(struct sim *s)
{
    for (uint32_t op = OPERATION_STANDING + 1; op < anneal_operation_end(s->server.engine); op++) {
        struct operation_view v;
        if (!anneal_operation(s->server.engine, op, &v) || v.state != OPERATION_RUNNING)
            continue;
        uint32_t unfinished = v.counts[TASK_PENDING] + v.counts[TASK_READY] +
                              v.counts[TASK_RUNNING] + v.counts[TASK_WAITING];
        if (v.held && v.live == 0)
            sim_fail(s, "operation %u is held and nothing of it runs, yet it has not ended", op);
        if (unfinished == 0 && v.counts[TASK_DONE] > 0)
            sim_fail(s, "operation %u has nothing left to do, yet it has not ended", op);
    }
}

static void check_turns(struct sim *s)
{
    const struct anneal *a = s->server.engine;
    for (uint32_t t = 1; t < anneal_task_end(a); t++) {
        struct task_view v;
        struct why why[WHY_MOST];
        uint64_t *mark = &s->tasks.at[t].turn_mark;
        anneal_task(a, t, &v);
        if (v.state != TASK_READY || anneal_why_task(a, t, why, WHY_MOST) != 1 ||
            why[0].rule != WHY_WORKERS_BUSY)
            *mark = s->report->starts;
        else if (s->report->starts - *mark > TURN_BOUND)
            sim_fail(s, "invariant 12: task %u waits for nothing but its turn, %u others started",
                     t, TURN_BOUND);
    }
}

/* A probe that only counted: no invariant looks at that. */
static bool only_counted(const struct event *ev, const struct effects *fx)
{
    if (ev->kind != EVENT_NODE_SILENT && ev->kind != EVENT_NODE_SEEN)
        return false;
    for (size_t i = 0; i < fx->changes.n; i++) {
        const struct change *c = &fx->changes.at[i];
        if (c->from != c->to || (c->table != ROWS_NODE && c->table != ROWS_META))
            return false;
    }
    return fx->attempts.n == 0;
}

void sim_check_step(struct sim *s, const struct event *ev, const struct effects *fx)
{
    struct err e;
    if (only_counted(ev, fx))
        return;
    if (anneal_check(s->server.engine, &e) < 0)
        sim_fail(s, "%s", e.text);
    sim_quorum_check(s);
    for (size_t i = 0; i < fx->changes.n; i++)
        if (fx->changes.at[i].table == ROWS_TASK && fx->changes.at[i].from != fx->changes.at[i].to)
            note_half_done(s, &fx->changes.at[i]);
    for (size_t i = 0; i < fx->sends.n; i++)
        if (fx->sends.at[i].behind)
            check_ahead(s, &fx->sends.at[i]);
        else
            check_start(s, fx, &fx->sends.at[i], true);
    for (size_t i = 0; i < fx->turns.n; i++)
        check_start(s, fx, &fx->turns.at[i], false);
    for (size_t i = 0; i < fx->changes.n; i++)
        check_change(s, fx, &fx->changes.at[i]);
    sim_leave_step(s, ev, fx);
    if (fx->stalled)
        s->report->stalls++;
    if (s->report->step % END_SAMPLE == 0)
        check_operations(s);
    if (s->report->step % TURN_SAMPLE == 0)
        check_turns(s);
}

void sim_check_end(struct sim *s)
{
    const struct anneal *a = s->server.engine;
    uint32_t used = 0;
    (void)anneal_capacity(a, &used);
    if (used > 0)
        sim_fail(s, "at the end %u worker slots are taken", used);
    for (uint32_t id = 1; id < anneal_node_end(a); id++) {
        struct node_view v;
        if (anneal_node(a, id, &v) && v.used > 0)
            sim_fail(s, "at the end node %u has %u slots taken", id, v.used);
    }
    for (uint32_t id = 1; id < anneal_pool_end(a); id++) {
        struct pool_view v;
        if (anneal_pool(a, id, &v) && v.taken > 0)
            sim_fail(s, "at the end pool %u is taken %u times", id, v.taken);
    }
    for (uint32_t id = 1; id < anneal_noderole_end(a); id++) {
        struct noderole_view v;
        if (anneal_noderole(a, id, &v) && v.state != NODEROLE_ACTIVE)
            sim_fail(s, "at the end noderole %u is %s", id, noderole_state_name(v.state));
    }
    for (uint32_t id = OPERATION_STANDING + 1; id < anneal_operation_end(a); id++) {
        struct operation_view v;
        if (anneal_operation(a, id, &v) && v.state == OPERATION_RUNNING && v.counts[TASK_DONE] > 0)
            sim_fail(s, "at the end operation %u is still running", id);
    }
}
