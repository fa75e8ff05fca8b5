/* sim_rollout.c - invariant 15: no member of a roll-out begins after it has stopped
 *
 * Who has failed is counted from nothing at each beginning: members in ERROR in that operation that
 * no resume has forgiven.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/sim_i.h"

static bool stops(const struct anneal *a, uint32_t group)
{
    struct group_view g;
    return group && anneal_group(a, group, &g) && g.stops;
}

bool sim_rollout_orders(const struct sim *s, uint32_t task, uint32_t before)
{
    const struct anneal *a = s->server.engine;
    struct task_view t, b;
    struct noderole_view to, from;
    return anneal_task(a, task, &t) && anneal_task(a, before, &b) && t.noderole != b.noderole &&
           anneal_noderole(a, t.noderole, &to) && anneal_noderole(a, b.noderole, &from) &&
           to.node && from.node && to.group == from.group && stops(a, to.group) &&
           task_state_failed(b.state);
}

static uint32_t failed_members(const struct anneal *a, uint32_t group, uint32_t op)
{
    uint32_t n = 0;
    for (uint32_t id = 1; id < anneal_noderole_end(a); id++) {
        struct noderole_view v;
        n += anneal_noderole(a, id, &v) && v.group == group && v.operation == op &&
             v.state == NODEROLE_ERROR && !v.forgiven;
    }
    return n;
}

uint32_t sim_rollout_failing(const struct anneal *a, uint32_t group, uint32_t op)
{
    uint32_t n = 0;
    for (uint32_t id = 1; id < anneal_noderole_end(a); id++) {
        struct noderole_view nr;
        struct task_view t;
        bool fails = false;
        if (!anneal_noderole(a, id, &nr) || nr.group != group ||
            (op && (nr.operation != op || nr.forgiven)))
            continue;
        for (uint32_t i = 0; i < nr.n_tasks && !fails; i++)
            fails = anneal_task(a, nr.first_task + i, &t) && task_state_failed(t.state);
        n += fails;
    }
    return n;
}

bool sim_rollout_forgives(const struct anneal *a, const struct noderole_view *nr)
{
    uint32_t last = 0;
    for (uint32_t id = 1; !nr->forgiven && id < anneal_noderole_end(a); id++) {
        struct noderole_view v;
        struct operation_view op;
        struct group_view g;
        if (!anneal_noderole(a, id, &v) || v.group != nr->group || v.operation == last)
            continue;
        last = v.operation;
        anneal_operation(a, last, &op);
        anneal_group(a, v.group, &g);
        uint32_t may = op.failures ? op.failures - 1 : g.may_fail;
        if (sim_rollout_failing(a, v.group, last) > may)
            return false;
    }
    return true;
}

bool sim_rollout_within(const struct sim *s, uint32_t noderole)
{
    struct anneal *a = s->server.engine;
    struct noderole_view v;
    uint32_t may;
    if (!anneal_noderole(a, noderole, &v) || !stops(a, v.group))
        return false;
    (void)anneal_rollout(a, v.group, v.operation, &may);
    return failed_members(a, v.group, v.operation) <= may;
}

void sim_rollout_started(struct sim *s, uint32_t noderole)
{
    struct anneal *a = s->server.engine;
    struct noderole_view v;
    if (!anneal_noderole(a, noderole, &v) || !v.node || (s->marks.at[noderole] & SIM_BEGUN) ||
        !stops(a, v.group) || v.operation == OPERATION_STANDING || v.target == TARGET_ABSENT)
        return;
    s->report->rollouts++;
    if (!v.let && !sim_rollout_within(s, noderole))
        sim_fail(s, "invariant 15: noderole %u began in operation %u, its roll-out %u has stopped",
                 noderole, v.operation, v.group);
}

void sim_rollout_note(struct sim *s, uint32_t noderole)
{
    struct noderole_view v;
    uint8_t *mark = &s->marks.at[noderole];
    bool begun = anneal_noderole(s->server.engine, noderole, &v) && v.begun;
    *mark = (uint8_t)((*mark & ~SIM_BEGUN) | (begun ? SIM_BEGUN : 0));
}
