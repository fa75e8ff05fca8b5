/* sim_stage.c - an engine of its own for one run in virtual time */
/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/sim_stage_i.h"

int sim_stage_check(struct sim_stage *s)
{
    if (anneal_check(s->engine, s->e) >= 0)
        return 0;
    return err_wrap(s->e, "step %u of the simulated run", s->steps);
}

/* What begins in this step: not what was sent ahead, but what it was sent for then. */
static void keep_what_begins(struct effects *fx)
{
    size_t n = 0;
    for (size_t i = 0; i < fx->sends.n; i++)
        if (!fx->sends.at[i].behind)
            fx->sends.at[n++] = fx->sends.at[i];
    fx->sends.n = n;
    for (size_t i = 0; i < fx->turns.n; i++)
        vec_push(&fx->sends, fx->turns.at[i]);
}

/* Members of a roll-out that failed in the operation, counted from nothing. */
static uint32_t members_failed(const struct anneal *a, const struct noderole_view *of)
{
    uint32_t n = 0;
    for (uint32_t id = 1; id < anneal_noderole_end(a); id++) {
        struct noderole_view v;
        n += anneal_noderole(a, id, &v) && v.group == of->group && v.operation == of->operation &&
             v.state == NODEROLE_ERROR && !v.forgiven;
    }
    return n;
}

/* Invariant 15: no member of a roll-out begins when more have failed than may. */
static int rollouts_check(struct sim_stage *s)
{
    int rc = 0;
    for (size_t i = 0; i < s->fx.sends.n && rc >= 0; i++) {
        struct task_view t;
        struct noderole_view v;
        struct group_view g;
        if (!anneal_task(s->engine, s->fx.sends.at[i].task, &t) ||
            !anneal_noderole(s->engine, t.noderole, &v) ||
            (t.noderole < s->begun.n && s->begun.at[t.noderole]) || v.let ||
            !anneal_group(s->engine, v.group, &g) || !g.stops || g.failed <= g.may_fail)
            continue;
        if (members_failed(s->engine, &v) > g.may_fail)
            rc = err_set(s->e, ERR_CORRUPT,
                         "invariant 15: noderole %u began in step %u, its roll-out %u has stopped",
                         v.id, s->steps, v.group);
    }
    return rc;
}

static void begun_note(struct sim_stage *s)
{
    while (s->begun.n < anneal_noderole_end(s->engine))
        vec_push(&s->begun, false);
    for (size_t i = 0; i < s->fx.changes.n; i++) {
        struct noderole_view v;
        if (s->fx.changes.at[i].table == ROWS_NODEROLE &&
            anneal_noderole(s->engine, s->fx.changes.at[i].id, &v))
            s->begun.at[v.id] = v.begun;
    }
}

int sim_stage_step(struct sim_stage *s, struct event ev)
{
    ev.at_ms = s->now;
    int rc = anneal_step(s->engine, &ev, &s->fx, s->e);
    if (rc < 0)
        return err_wrap(s->e, "%s in the simulated run", event_kind_name(ev.kind));
    keep_what_begins(&s->fx);
    if (rollouts_check(s) < 0)
        return -(int)s->e->code;
    begun_note(s);
    return s->steps++ % s->check_every ? 0 : sim_stage_check(s);
}

static int node_add(struct sim_stage *s, uint32_t id)
{
    int rc = sim_stage_step(
        s,
        (struct event){.kind = EVENT_NODE_ADD, .id = id, .n = 1, .flag = 1, .extra = ALIVE_ALIVE});
    return rc < 0 ? rc
                  : sim_stage_step(
                        s, (struct event){.kind = EVENT_NODE_SEEN, .id = id, .a = id, .b = 1});
}

int sim_stage_open(struct sim_stage *s, uint32_t workers, uint32_t nodes)
{
    const struct event first[] = {
        {.kind = EVENT_TENANT_ADD, .id = STAGE_TENANT},
        {.kind = EVENT_OPERATION_ADD,
         .id = OPERATION_STANDING,
         .n = STAGE_TENANT,
         .flag = CLASS_BACKGROUND},
        {.kind = EVENT_OPERATION_ADD, .id = STAGE_BINDING, .n = STAGE_TENANT, .flag = CLASS_NORMAL},
        {.kind = EVENT_OPERATION_ADD,
         .id = STAGE_OPERATION,
         .n = STAGE_TENANT,
         .flag = CLASS_NORMAL},
        {.kind = EVENT_JIG_SET, .id = STAGE_JIG, .flag = 1, .n = workers},
        {.kind = EVENT_CAPACITY_SET, .n = workers},
    };
    int rc = 0;
    s->engine = anneal_new();
    for (size_t i = 0; i < sizeof first / sizeof *first && rc >= 0; i++)
        rc = sim_stage_step(s, first[i]);
    for (uint32_t id = 1; id <= nodes && rc >= 0; id++)
        rc = node_add(s, id);
    return rc;
}

void sim_stage_done(struct sim_stage *s)
{
    if (s->engine)
        anneal_free(s->engine);
    effects_done(&s->fx);
    vec_done(&s->begun);
}

void sim_stage_rebase(const struct sim_stage *s, struct plan *p)
{
    const struct anneal *a = s->engine;
    plan_rebase(p, anneal_def_end(a), anneal_noderole_end(a), anneal_task_end(a),
                anneal_span_end(a), anneal_pool_end(a));
}
