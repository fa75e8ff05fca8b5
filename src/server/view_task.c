/* view_task.c - tasks, their attempts and the operations they belong to, as values
 *
 * Tasks and operations change by themselves and have no stored revision: theirs is drawn from
 * everything that can change, so that an equal one means an equal answer.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/digest.h"
#include "model/taskmsg.h"
#include "server/ending.h"
#include "server/forecast.h"
#include "server/rollouts.h"

enum { ATTEMPT_SUPERSEDED = 1u << 0 }; /* of row_attempt.flags, as the engine writes them */

/* Fits a double, so that every JSON reader keeps it exactly; never 0, which would mean "none". */
static uint64_t as_rev(uint64_t mixed)
{
    return (mixed & ((1ull << 52) - 1)) + 1;
}

uint64_t view_task_rev(const struct task_view *v)
{
    uint64_t h = mix64(v->id, v->state);
    h = mix64(h, v->reason);
    h = mix64(h, v->operation);
    h = mix64(h, (uint64_t)v->attempt << 32 | v->tries);
    h = mix64(h, (uint64_t)v->unmet << 32 | v->asks);
    h = mix64(h, v->started_ms);
    h = mix64(h, v->deadline_ms);
    return as_rev(mix64(h, v->wake_ms));
}

/* While its node is unavailable an attempt's clocks stand still: what is left of them is no point
 * in time. */
static bool clocks_stand(const struct server *s, const struct task_view *v)
{
    struct node_view n;
    return anneal_node(s->engine, v->node, &n) && !n.available;
}

static void put_times(struct server *s, struct arena *a, struct value *v, const struct task_view *t)
{
    bool stand = clocks_stand(s, t);
    uint64_t deadline = stand ? 0 : view_wall(s, t->deadline_ms);
    uint64_t wake = stand ? 0 : view_wall(s, t->wake_ms);
    value_put_text(a, v, "started_at", view_time(a, view_wall(s, t->started_ms)));
    value_put_text(a, v, "deadline_at", view_time(a, deadline));
    value_put_text(a, v, "wake_at", view_time(a, wake));
}

struct value *view_task(struct server *s, struct arena *a, uint32_t id, bool full)
{
    struct value *v = value_map(a);
    struct task_view t = {.id = id};
    const struct inv_def nothing = {0}, *def = &nothing;

    if (anneal_task(s->engine, id, &t) && t.def < s->inv.defs.n)
        def = &s->inv.defs.at[t.def];
    const char *jig = view_jig_name(s, def->jig);
    value_put_int(a, v, "id", id);
    value_put_text(a, v, "name", view_task_name(s, id));
    value_put_int(a, v, "noderole", t.noderole);
    value_put_text(a, v, "role", view_role_name(s, t.noderole));
    value_put_text(a, v, "node", view_node_name(s, t.node));
    value_set(a, v, "operation", t.operation ? value_int(a, t.operation) : value_null(a));
    value_put_text(a, v, "state", task_state_name(t.state));
    value_put_text(a, v, "reason", reason_name(t.reason));
    value_put_text(a, v, "jig", jig ? jig : "");
    value_put_text(a, v, "repeat", repeat_name(def->repeat));
    value_put_int(a, v, "attempt", t.attempt);
    value_put_int(a, v, "tries", t.tries);
    value_put_int(a, v, "retries", def->retries);
    value_put_int(a, v, "weight", t.weight);
    value_put_text(a, v, "rule", task_rule_name((enum task_rule)t.rule));
    /* What is left out has a definition of its own, whose type tells why (planner/weave_def.c). */
    value_put_text(a, v, "left_out", t.rule == RULE_SKIP ? def->type : NULL);
    value_put_int(a, v, "waiting_on", t.unmet);
    value_put_text(a, v, "note", run_note_get(s, id, t.attempt));
    put_times(s, a, v, &t);
    value_put_int(a, v, "rev", (int64_t)view_task_rev(&t));
    if (full) {
        uint32_t n;
        const uint32_t *deps = anneal_task_deps(s->engine, id, &n);
        value_set(a, v, "deps", view_ids(a, deps, n));
    }
    return v;
}

struct value *view_attempt(struct server *s, struct arena *a, const struct row_attempt *r)
{
    struct value *v = value_map(a);
    bool open = r->outcome == ATTEMPT_OPEN;
    uint64_t ran_ms = r->ended_ms > attempt_began_ms(r) ? r->ended_ms - attempt_began_ms(r) : 0;

    value_put_int(a, v, "task", r->task);
    value_put_int(a, v, "number", r->number);
    value_put_text(a, v, "node", view_node_name(s, r->node));
    value_put_int(a, v, "generation", r->generation);
    value_put_text(a, v, "outcome", open ? "open" : outcome_name((enum outcome)r->outcome));
    value_put_text(a, v, "phase", phase_name((enum phase)r->phase));
    value_set(a, v, "exit_code", open ? value_null(a) : value_int(a, r->exit_code));
    value_put_text(a, v, "started_at", view_time(a, attempt_began_wall_ms(r)));
    /* From its own start: the engine's clock stood still while no server ran. */
    value_put_text(a, v, "ended_at", open ? NULL : view_time(a, attempt_began_wall_ms(r) + ran_ms));
    value_put_int(a, v, "asks", r->asks);
    value_set(a, v, "note", r->note.n ? value_str(a, r->note) : value_null(a));
    value_put_bool(a, v, "superseded", r->flags & ATTEMPT_SUPERSEDED);
    return v;
}

/* ---- operations ---- */

struct progress {
    uint64_t total, done, running, failed, waiting, ready, pending, cancelled, skipped;
};

/* Noderoles move on to later operations and take their tasks along: what has ended shows its own
 * figures.  Failed is what ran and failed; what waits for that has not run, and may yet. */
static struct progress progress_of(const struct operation_view *v)
{
    struct progress p = {0};
    if (v->state != OPERATION_RUNNING) {
        uint64_t ended = (uint64_t)v->done + v->failed;
        return (struct progress){.total = v->total,
                                 .done = v->done,
                                 .failed = v->failed,
                                 .cancelled = v->total > ended ? v->total - ended : 0};
    }
    for (int i = 0; i < TASK_STATE_COUNT; i++)
        p.total += v->counts[i];
    p.done = v->counts[TASK_DONE];
    p.running = v->counts[TASK_RUNNING];
    p.failed = (uint64_t)v->counts[TASK_FAILED] + v->counts[TASK_TOLERATED];
    p.waiting = v->counts[TASK_WAITING];
    p.ready = v->counts[TASK_READY];
    p.pending = (uint64_t)v->counts[TASK_PENDING] + v->counts[TASK_DEP_FAILED];
    p.cancelled = v->counts[TASK_CANCELLED];
    p.skipped = v->counts[TASK_SKIPPED];
    return p;
}

static struct value *progress_value(struct arena *a, const struct progress *p,
                                    const struct forecast *f)
{
    struct value *v = value_map(a);
    value_put_int(a, v, "total", (int64_t)p->total);
    value_put_int(a, v, "done", (int64_t)p->done);
    value_put_int(a, v, "running", (int64_t)p->running);
    value_put_int(a, v, "failed", (int64_t)p->failed);
    value_put_int(a, v, "waiting", (int64_t)p->waiting);
    value_put_int(a, v, "ready", (int64_t)p->ready);
    value_put_int(a, v, "pending", (int64_t)p->pending);
    value_put_int(a, v, "cancelled", (int64_t)p->cancelled);
    value_put_int(a, v, "skipped", (int64_t)p->skipped);
    value_put_int(a, v, "weight_done", (int64_t)f->weight_done);
    value_put_int(a, v, "weight_total", (int64_t)f->weight_total);
    value_put_int(a, v, "percent", f->percent);
    return v;
}

/* Without what is only expected: that moves by itself. */
uint64_t view_operation_rev(const struct operation_view *v)
{
    uint64_t h = mix64(v->id, v->state);
    h = mix64(h, (uint64_t)v->reason << 8 | v->held);
    h = mix64(h, v->ended_ms);
    for (int i = 0; i < TASK_STATE_COUNT; i++)
        h = mix64(h, v->counts[i]);
    h = mix64(h, v->total);
    return as_rev(mix64(h, (uint64_t)v->done << 32 | v->failed));
}

static struct value *failure_value(struct server *s, struct arena *a, uint32_t task)
{
    struct value *v = value_map(a);
    struct task_view t = {0};
    (void)anneal_task(s->engine, task, &t);
    value_put_int(a, v, "task", task);
    value_put_text(a, v, "name", view_task_name(s, task));
    value_put_text(a, v, "role", view_role_name(s, t.noderole));
    value_put_text(a, v, "node", view_node_name(s, t.node));
    value_put_text(a, v, "reason", reason_name(t.reason));
    return v;
}

/* Null: it has not ended, it ended well, or what it did was taken over by others since. */
static struct value *outcome_value(struct server *s, struct arena *a, uint32_t id)
{
    struct ending r;
    if (!ending_known(s->engine, id, &r))
        return value_null(a);
    struct value *v = value_map(a), *failures = value_list(a);
    value_put_int(a, v, "done", r.done);
    value_put_int(a, v, "failed", r.failed);
    value_put_int(a, v, "never_ran", r.never_ran);
    value_put_int(a, v, "undone", r.undone);
    for (uint32_t i = 0; i < r.failed && i < ENDING_NAMED; i++)
        value_add(a, failures, failure_value(s, a, r.failures[i]));
    value_set(a, v, "failures", failures);
    return v;
}

struct value *view_operation_full(struct server *s, struct arena *a, uint32_t id)
{
    struct value *v = view_operation(s, a, id);
    value_set(a, v, "outcome", outcome_value(s, a, id));
    value_set(a, v, "rollouts", rollouts_view(s, a, id));
    value_put_text(a, v, "rollback", rollouts_way_back(s, a, id));
    return v;
}

struct value *view_operation(struct server *s, struct arena *a, uint32_t id)
{
    struct value *v = value_map(a);
    const struct inv_operation nobody = {0};
    const struct inv_operation *o = id < s->inv.operations.n ? &s->inv.operations.at[id] : &nobody;
    struct operation_view e = {.id = id};

    (void)anneal_operation(s->engine, id, &e);
    struct progress p = progress_of(&e);
    struct forecast f = forecast_of(s, &e, o->created_ms, server_wall_ms());
    value_put_int(a, v, "id", id);
    value_put_text(a, v, "kind", o->kind ? o->kind : "");
    value_put_text(a, v, "title", o->title ? o->title : "");
    value_put_text(a, v, "actor", o->actor ? o->actor : "");
    value_put_text(a, v, "class", start_class_name(e.class));
    value_put_text(a, v, "state", operation_state_name(e.state));
    value_put_text(a, v, "reason", reason_name(e.reason));
    value_put_bool(a, v, "held", e.held);
    value_put_text(a, v, "created_at", view_time(a, o->created_ms ? o->created_ms : 1));
    value_put_text(a, v, "ended_at", view_time(a, view_wall(s, e.ended_ms)));
    value_set(a, v, "progress", progress_value(a, &p, &f));
    value_set(a, v, "eta_ms", f.eta_ms < 0 ? value_null(a) : value_int(a, f.eta_ms));
    value_put_int(a, v, "rev", (int64_t)view_operation_rev(&e));
    return v;
}
