/* sim_chaos.c - what goes wrong at random moments, what operators do, and how a world is healed
 *
 * Each strike is one function in the table at the end; its weight is in sim.h.  Every strike undoes
 * itself after a while, so that a run moves between health and ruin instead of settling in either.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/sim_i.h"

static uint32_t any_node(struct sim *s)
{
    return rng_from(&s->chaos, 1, s->n_nodes);
}

/* A random task in one of these states (bits); 0 if none is found. */
static uint32_t any_task(struct sim *s, uint32_t states)
{
    uint32_t end = anneal_task_end(s->server.engine), from = rng_below(&s->chaos, end);
    for (uint32_t i = 0; i < end; i++) {
        struct task_view v;
        uint32_t t = (from + i) % end;
        if (anneal_task(s->server.engine, t, &v) && (states >> v.state & 1))
            return t;
    }
    return 0;
}

static uint32_t any_operation(struct sim *s, enum operation_state state)
{
    uint32_t end = anneal_operation_end(s->server.engine), from = rng_below(&s->chaos, end);
    for (uint32_t i = 0; i < end; i++) {
        struct operation_view v;
        uint32_t op = (from + i) % end;
        if (op > OPERATION_STANDING && anneal_operation(s->server.engine, op, &v) &&
            v.state == state)
            return op;
    }
    return 0;
}

static void tell(struct sim *s, struct event ev)
{
    if (sim_server_ready(s))
        (void)sim_server_feed(s, &ev, &(struct commit_note){.actor = "operator"});
}

/* ---- the world ---- */

static void strike_worker(struct sim *s)
{
    sim_worker_crash(s, rng_below(&s->chaos, s->n_workers), rng_from(&s->chaos, 100, 20000));
}

static void strike_capacity(struct sim *s)
{
    s->workers[rng_below(&s->chaos, s->n_workers)].capacity = rng_from(&s->chaos, 1, 10);
    sim_after(s, 1, (struct agenda_item){.kind = AGENDA_CAPACITY});
}

static void strike_silent(struct sim *s)
{
    sim_world_node_down(s, any_node(s), rng_from(&s->chaos, 500, 9000), false, false);
}

static void strike_death(struct sim *s)
{
    sim_world_node_down(s, any_node(s), rng_from(&s->chaos, 16000, 40000), false, false);
}

static void strike_reboot(struct sim *s)
{
    sim_world_node_down(s, any_node(s), rng_from(&s->chaos, 1000, 25000), true, false);
}

static void strike_replace(struct sim *s)
{
    sim_world_node_down(s, any_node(s), rng_from(&s->chaos, 5000, 25000), true, true);
}

static void strike_mass(struct sim *s)
{
    uint32_t per_mille = rng_from(&s->chaos, 250, 700);
    if (rng_chance(&s->chaos, 600))
        return;
    uint64_t for_ms = rng_from(&s->chaos, 10000, 40000);
    for (uint32_t id = 1; id <= s->n_nodes; id++)
        if (rng_chance(&s->chaos, per_mille))
            sim_world_node_down(s, id, for_ms + rng_below(&s->chaos, 3000), false, false);
}

static void strike_word(struct sim *s)
{
    if (anneal_suspect(s->server.engine))
        tell(s, (struct event){.kind = EVENT_DEAD_CONFIRM});
    else
        tell(s, (struct event){.kind = EVENT_NODE_DEAD, .id = any_node(s)});
}

/* ---- limits ---- */

static void strike_unavailable(struct sim *s)
{
    uint32_t node = any_node(s);
    tell(s, (struct event){.kind = EVENT_NODE_AVAILABLE, .id = node});
    sim_after(s, rng_from(&s->chaos, 500, 20000),
              (struct agenda_item){.kind = AGENDA_NODE_BACK, .who = node});
}

static void strike_slots(struct sim *s)
{
    tell(s, (struct event){
                .kind = EVENT_NODE_SLOTS, .id = any_node(s), .n = rng_from(&s->chaos, 1, 3)});
}

static void strike_jig(struct sim *s)
{
    uint32_t jig = rng_from(&s->chaos, 1, s->n_jigs);
    struct jig_view v;
    anneal_jig(s->server.engine, jig, &v);
    bool off = rng_chance(&s->chaos, 500);
    tell(s, (struct event){.kind = EVENT_JIG_SET,
                           .id = jig,
                           .flag = !off,
                           .n = off ? v.slots : rng_below(&s->chaos, 3)});
    sim_after(s, rng_from(&s->chaos, 500, 15000),
              (struct agenda_item){.kind = AGENDA_JIG_BACK, .who = jig});
}

static void strike_pool(struct sim *s)
{
    uint32_t pool = rng_from(&s->chaos, 1, s->n_pools);
    tell(s, (struct event){.kind = EVENT_POOL_SET,
                           .id = pool,
                           .n = rng_below(&s->chaos, 5),
                           .extra = rng_below(&s->chaos, 3),
                           .flag = rng_chance(&s->chaos, 300)});
    sim_after(s, rng_from(&s->chaos, 500, 15000),
              (struct agenda_item){.kind = AGENDA_POOL_BACK, .who = pool});
}

static void strike_share(struct sim *s)
{
    tell(s, (struct event){.kind = EVENT_TENANT_SET,
                           .id = rng_from(&s->chaos, 1, s->n_tenants),
                           .n = rng_below(&s->chaos, 4)}); /* 0: all there is */
}

static void strike_freeze(struct sim *s)
{
    tell(s, (struct event){.kind = EVENT_POLICY_SET, .flag = rng_chance(&s->chaos, 300)});
}

/* ---- operators ---- */

static void strike_cancel(struct sim *s)
{
    uint32_t op = any_operation(s, OPERATION_RUNNING);
    if (op)
        tell(s, (struct event){.kind = EVENT_CANCEL, .id = op, .flag = rng_chance(&s->chaos, 400)});
}

/* A second request over the same work: what the first left undone goes on in the second. */
static void strike_supersede(struct sim *s)
{
    uint32_t op = any_operation(s, rng_chance(&s->chaos, 700) ? OPERATION_RUNNING
                                                              : OPERATION_CANCELLED);
    uint32_t other = anneal_operation_end(s->server.engine);
    if (!op || other > 60)
        return;
    tell(s, (struct event){.kind = EVENT_OPERATION_ADD,
                           .id = other,
                           .n = rng_from(&s->chaos, 1, s->n_tenants),
                           .flag = CLASS_NORMAL});
    tell(s, (struct event){.kind = EVENT_SUPERSEDE, .id = op, .op = other});
}

static void strike_poke(struct sim *s)
{
    uint32_t t = any_task(s, 1u << TASK_WAITING | 1u << TASK_PENDING);
    if (t)
        tell(s, (struct event){.kind = EVENT_POKE, .id = t});
}

/* An operation of its own now and then; else one that lives, or the standing one. */
static uint32_t operation_for_work(struct sim *s)
{
    uint32_t op = rng_chance(&s->chaos, 400) ? any_operation(s, OPERATION_RUNNING) : 0;
    if (op || anneal_operation_end(s->server.engine) > 40 || rng_chance(&s->chaos, 400))
        return op ? op : OPERATION_STANDING;
    op = anneal_operation_end(s->server.engine);
    tell(s, (struct event){.kind = EVENT_OPERATION_ADD,
                           .id = op,
                           .n = rng_from(&s->chaos, 1, s->n_tenants),
                           .flag = CLASS_NORMAL});
    return op;
}

static void strike_rerun(struct sim *s)
{
    uint32_t ids[4], n = rng_from(&s->chaos, 1, 4), end = anneal_noderole_end(s->server.engine);
    if (end < 2)
        return;
    for (uint32_t i = 0; i < n; i++)
        ids[i] = rng_from(&s->chaos, 1, end - 1);
    uint32_t op = operation_for_work(s);
    tell(s, (struct event){.kind = EVENT_RERUN, .ids = ids, .n_ids = n, .op = op});
}

static void strike_redeploy(struct sim *s)
{
    uint32_t node = any_node(s), op = operation_for_work(s);
    tell(s, (struct event){.kind = EVENT_REDEPLOY, .id = node, .op = op});
}

static void strike_data(struct sim *s)
{
    uint32_t end = anneal_noderole_end(s->server.engine);
    if (end < 2)
        return;
    uint32_t id = rng_from(&s->chaos, 1, end - 1);
    if (rng_chance(&s->chaos, 400)) { /* somebody corrects what has failed */
        struct noderole_view v;
        uint32_t tries = 0;
        while (tries++ < end &&
               (!anneal_noderole(s->server.engine, id, &v) || v.state != NODEROLE_ERROR))
            id = id + 1 < end ? id + 1 : 1;
    }
    tell(s, (struct event){.kind = EVENT_DATA_SET,
                           .id = id,
                           .a = rng_below(&s->chaos, 3),
                           .op = rng_chance(&s->chaos, 500) ? operation_for_work(s) : 0});
}

/* What must be refused, and must change nothing. */
static void strike_nonsense(struct sim *s)
{
    uint32_t end = anneal_task_end(s->server.engine), ids[] = {1, UINT32_MAX};
    const struct event senseless[] = {
        {.kind = EVENT_POKE, .id = any_task(s, 1u << TASK_DONE | 1u << TASK_RUNNING)},
        {.kind = EVENT_RETRY_TASK, .id = any_task(s, 1u << TASK_DONE | 1u << TASK_RUNNING)},
        {.kind = EVENT_RESOLVE, .id = any_task(s, 1u << TASK_DONE | 1u << TASK_READY)},
        {.kind = EVENT_RETRY_TASK, .id = end},
        {.kind = EVENT_RESULT, .id = end, .attempt = 1},
        {.kind = EVENT_RETRY_NODEROLE, .id = anneal_noderole_end(s->server.engine)},
        {.kind = EVENT_CANCEL, .id = OPERATION_STANDING},
        {.kind = EVENT_RESUME, .id = OPERATION_STANDING},
        {.kind = EVENT_SUPERSEDE, .id = OPERATION_STANDING, .op = OPERATION_STANDING},
        {.kind = EVENT_RERUN, .ids = ids, .n_ids = 2, .op = OPERATION_STANDING},
        {.kind = EVENT_NODE_SLOTS, .id = any_node(s)},
        {.kind = EVENT_NODE_GONE, .id = s->n_nodes + 1},
        {.kind = EVENT_PLAN_APPLY, .op = OPERATION_STANDING},
        {.kind = EVENT_OPERATION_ADD, .id = OPERATION_STANDING, .n = 1},
    };
    uint32_t i = rng_below(&s->chaos, sizeof senseless / sizeof *senseless);
    struct event ev = senseless[i];
    bool look = rng_chance(&s->chaos, 50); /* it costs more than the rest of the step */
    uint64_t before = look ? anneal_digest(s->server.engine) : 0;
    sim_propose_nonsense(s);
    if (sim_server_feed(s, &ev, NULL) >= 0)
        sim_fail(s, "%s of %u was not refused", event_kind_name(ev.kind), ev.id);
    else if (look && anneal_digest(s->server.engine) != before)
        sim_fail(s, "%s of %u was refused and changed something", event_kind_name(ev.kind), ev.id);
}

typedef void sim_strike_f(struct sim *s);
static const struct {
    sim_strike_f *fn;
    uint32_t weight;
} strikes[SIM_FAULT_COUNT] = {
#define X(id, name, w) [SIM_##id].weight = w,
    SIM_STRIKES(X)
#undef X
        [SIM_WORKER]
            .fn = strike_worker,
    [SIM_CAPACITY].fn = strike_capacity,
    [SIM_SILENT].fn = strike_silent,
    [SIM_DEATH].fn = strike_death,
    [SIM_REBOOT].fn = strike_reboot,
    [SIM_REPLACE].fn = strike_replace,
    [SIM_MASS].fn = strike_mass,
    [SIM_WORD].fn = strike_word,
    [SIM_UNAVAILABLE].fn = strike_unavailable,
    [SIM_SLOTS].fn = strike_slots,
    [SIM_JIG].fn = strike_jig,
    [SIM_POOL].fn = strike_pool,
    [SIM_FREEZE].fn = strike_freeze,
    [SIM_SHARE].fn = strike_share,
    [SIM_CANCEL].fn = strike_cancel,
    [SIM_SUPERSEDE].fn = strike_supersede,
    [SIM_POKE].fn = strike_poke,
    [SIM_RERUN].fn = strike_rerun,
    [SIM_DATA].fn = strike_data,
    [SIM_REDEPLOY].fn = strike_redeploy,
    [SIM_CHANGE].fn = sim_change_strike,
    [SIM_REMOVE].fn = sim_change_remove,
    [SIM_RESTORE].fn = sim_change_restore,
    [SIM_ABANDON].fn = sim_change_abandon,
    [SIM_PROPOSE].fn = sim_propose_begin,
    [SIM_EDIT].fn = sim_propose_edit,
    [SIM_COMMIT].fn = sim_propose_commit,
    [SIM_RECALL].fn = sim_propose_recall,
    [SIM_ROLLBACK].fn = sim_propose_rollback,
    [SIM_AMEND].fn = sim_propose_amend,
    [SIM_NONSENSE].fn = strike_nonsense,
};

void sim_chaos_strike(struct sim *s)
{
    uint32_t sum = 0, at;
    for (int f = 0; f < SIM_FAULT_COUNT; f++)
        sum += strikes[f].weight;
    at = rng_below(&s->chaos, sum);
    for (int f = 0; f < SIM_FAULT_COUNT; f++) {
        if (at >= strikes[f].weight) {
            at -= strikes[f].weight;
            continue;
        }
        if (sim_has(s, (enum sim_fault)f) && sim_server_ready(s)) {
            s->report->faults[f]++;
            strikes[f].fn(s);
        }
        return;
    }
}

/* ---- care ---- */

/* Who holds a pool may wait for somebody who needs it, when what it stands on was lost in between:
 * the engine says so and nobody but a person can help. */
static void make_room(struct sim *s, uint32_t op)
{
    struct why why[16];
    size_t n = anneal_why_operation(s->server.engine, op, why, 16);
    for (size_t i = 0; i < n && sim_server_ready(s); i++)
        if (why[i].rule == WHY_POOL_FULL && why[i].id <= s->n_pools)
            tell(s, (struct event){
                        .kind = EVENT_POOL_SET, .id = why[i].id, .n = ++s->pool_sizes[why[i].id]});
}

static void care_for_operation(struct sim *s, uint32_t op)
{
    struct operation_view v;
    if (!sim_server_ready(s) || !anneal_operation(s->server.engine, op, &v))
        return;
    if (v.held && v.reason == REASON_STALLED && s->phase == PHASE_HEAL)
        make_room(s, op);
    bool now = rng_chance(&s->chaos, 30);
    if (v.held || now || (v.reason == REASON_ROLLOUT && rng_chance(&s->chaos, 500)))
        tell(s, (struct event){.kind = EVENT_RESUME,
                               .id = op,
                               .n = rng_chance(&s->chaos, 300) ? rng_from(&s->chaos, 1, 4) : 0,
                               .now = now});
    else if (v.state == OPERATION_FAILED || v.counts[TASK_FAILED] > 0)
        tell(s, (struct event){.kind = EVENT_RETRY_OPERATION, .id = op});
}

static void care_for_task(struct sim *s, uint32_t t, bool noderole)
{
    struct task_view v;
    if (!sim_server_ready(s) || !anneal_task(s->server.engine, t, &v))
        return;
    if (v.state == TASK_FAILED && v.reason == REASON_UNCERTAIN) {
        struct event ev = {
            .kind = EVENT_RESOLVE, .id = t, .flag = (uint8_t)rng_below(&s->chaos, 3)};
        struct sim_task *k = &s->tasks.at[t];
        k->once_open = false; /* somebody looked, and made sure that no late message starts it */
        k->fence = v.attempt;
        k->once_group = commit_open_group(s->server.commit);
        if (sim_server_feed(s, &ev, &(struct commit_note){.actor = "operator"}) < 0)
            sim_fail(s, "uncertain task %u could not be resolved", t);
    } else if (v.state == TASK_FAILED || v.state == TASK_CANCELLED) {
        tell(s, (struct event){.kind = noderole ? EVENT_RETRY_NODEROLE : EVENT_RETRY_TASK,
                               .id = noderole ? v.noderole : t});
    }
}

void sim_chaos_care(struct sim *s, bool all)
{
    uint32_t most = all ? UINT32_MAX : rng_from(&s->chaos, 1, 4);
    for (uint32_t op = 2; all && sim_server_ready(s) && op < anneal_operation_end(s->server.engine);
         op++)
        care_for_operation(s, op);
    if (!all && rng_chance(&s->chaos, 500)) {
        uint32_t op = any_operation(s, rng_chance(&s->chaos, 600) ? OPERATION_CANCELLED
                                                                  : OPERATION_FAILED);
        if (op)
            care_for_operation(s, op);
    }
    for (uint32_t i = 0; all && sim_server_ready(s) && i < anneal_task_end(s->server.engine); i++)
        care_for_task(s, i, false);
    for (uint32_t i = 0; !all && sim_server_ready(s) && i < most; i++) {
        uint32_t t = any_task(s, 1u << TASK_FAILED | 1u << TASK_CANCELLED);
        if (t)
            care_for_task(s, t, rng_chance(&s->chaos, 500));
    }
}

/* Everything works again; only what already happened remains to be dealt with. */
void sim_chaos_heal(struct sim *s)
{
    s->phase = PHASE_HEAL;
    for (uint32_t i = 0; i < s->n_workers; i++)
        sim_worker_up(s, i);
    for (uint32_t id = 1; id <= s->n_nodes; id++)
        if (!s->nodes.at[id].up)
            sim_world_node_up(s, id);
}
