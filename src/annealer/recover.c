/* recover.c - the engine from its rows
 *
 * anneal_load() takes in rows as save.c writes them and anneal_load_end() rebuilds all that is
 * derived: unmet dependencies, counters, lanes, slots, timers.  Nothing is started and no event is
 * made: a restored engine equals the one that wrote the rows, which anneal_digest() shows.  Rows
 * that contradict each other are refused as corrupt, with the object that does not fit.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "annealer/annealer_i.h"

#include <stdlib.h>
#include <string.h>

struct loaded_bond {
    uint32_t parent, child; /* the parent with its marks */
};
struct loader {
    VEC(uint32_t) need_first, need, order_first, order;
    VEC(struct loaded_bond) bonds;
    struct row_meta meta; /* id 0: none came */
};

static int corrupt(struct err *e, const char *what, uint64_t id, const char *why)
{
    err_set(e, ERR_CORRUPT, "%s %llu: %s", what, (unsigned long long)id, why);
    return err_hint(e, "restore a backup with `anneal admin restore`");
}

/* Ids without a row: noderoles that vanished. */
static void fill_to(struct anneal *a, uint32_t id)
{
    while (a->noderoles.n < id) {
        *vec_add(&a->noderoles) = (struct noderole){.state = NODEROLE_REMOVED};
        vec_push(&a->loader->need_first, (uint32_t)a->loader->need.n);
    }
}

static int load_noderole(struct anneal *a, const struct row_noderole *r, struct err *e)
{
    if (r->id < a->noderoles.n)
        return corrupt(e, "noderole", r->id, "came twice or out of order");
    fill_to(a, r->id);
    if (r->node >= a->nodes.n || (r->node && !a->nodes.at[r->node].exists) ||
        r->operation >= a->ops.n || r->state >= NODEROLE_STATE_COUNT || r->generation == 0 ||
        r->grp >= a->groups.n || r->mode > MODE_ALL || r->parents.n % sizeof(uint32_t))
        return corrupt(e, "noderole", r->id,
                       "its node, operation, group, generation, mode or state does not exist");
    struct noderole *nr = vec_add(&a->noderoles);
    *nr = (struct noderole){.data = r->data,
                            .inputs = r->inputs,
                            .node = r->node,
                            .op = r->operation,
                            .cohort = r->cohort,
                            .generation = r->generation,
                            .incarnation = r->incarnation,
                            .run_count = r->run_count,
                            .first_task = r->first_task,
                            .n_tasks = (uint16_t)r->n_tasks,
                            .state = r->state,
                            .target = r->target,
                            .reason = r->reason,
                            .mode = (uint16_t)r->mode,
                            .answered = r->answered,
                            .flags = r->flags,
                            .group = r->grp};
    a->totals_noderole[r->state]++;
    a->nodes.at[r->node].errors += r->state == NODEROLE_ERROR;
    extend_on_node(a, r->id);
    vec_push(&a->ops.at[r->operation].noderoles, r->id);
    vec_push(&a->loader->need_first, (uint32_t)a->loader->need.n);
    for (size_t i = 0; i < r->parents.n; i += sizeof(uint32_t)) {
        uint32_t parent;
        memcpy(&parent, r->parents.s + i, sizeof parent);
        if (parent & PARENT_MARKS)
            vec_push(&a->loader->bonds, ((struct loaded_bond){parent, r->id}));
        else
            vec_push(&a->loader->need, parent);
    }
    if (!quorum_read(a, r->id, r->quorums))
        return corrupt(e, "noderole", r->id, "its quorums cannot be read");
    return 0;
}

static int load_task(struct anneal *a, const struct row_task *r, struct err *e)
{
    uint8_t rule = r->rule & (uint8_t)~ROW_TASK_TRIED;
    uint8_t tried = (r->rule & ROW_TASK_TRIED) ? TASKF_TRIED : 0;
    if (r->id != a->task_end)
        return corrupt(e, "task", r->id, "an id is missing before it");
    if (r->noderole >= a->noderoles.n || r->def >= a->defs.n || r->span >= a->spans.n ||
        r->state >= TASK_STATE_COUNT || rule >= TASK_RULE_COUNT || r->deps.n % sizeof(uint32_t))
        return corrupt(e, "task", r->id,
                       "its noderole, definition, span, rule or state does not exist");
    extend_tasks(a, 1);
    struct task *t = &a->tasks[r->id];
    *t = (struct task){.done_digest = r->done_digest,
                       .noderole = r->noderole,
                       .def = r->def,
                       .weight = r->weight,
                       .span = r->span,
                       .attempt = r->attempt,
                       .tries = (uint16_t)r->tries,
                       .reason = r->reason,
                       .flags = (uint8_t)(rule << TASKF_RULE_SHIFT) | tried};
    a->task_state[r->id] = r->state;
    vec_push(&a->loader->order_first, (uint32_t)a->loader->order.n);
    for (size_t i = 0; i < r->deps.n; i += sizeof(uint32_t)) {
        uint32_t dep;
        memcpy(&dep, r->deps.s + i, sizeof dep);
        vec_push(&a->loader->order, dep);
    }
    if (r->wake_ms)
        attempt_backoff(a, r->id, r->wake_ms);
    return 0;
}

static int load_attempt(struct anneal *a, const struct row_attempt *r, struct err *e)
{
    uint32_t t = (uint32_t)(r->id >> ATTEMPT_BITS);
    if (!task_exists(a, t) || a->tasks[t].live || r->node >= a->nodes.n || task_passive(a, t))
        return corrupt(e, "attempt", r->id, "its task has another or does not exist");
    uint32_t id = attempt_live_new(a);
    enum live_kind kind = (r->flags & LIVEF_AHEAD)     ? LIVE_AHEAD
                          : (r->flags & LIVEF_WAITING) ? LIVE_WAIT
                                                       : LIVE_RUN;
    a->lives.at[id] = (struct live){.kind = (uint8_t)kind,
                                    .task = t,
                                    .number = (uint32_t)(r->id & ((1u << ATTEMPT_BITS) - 1)),
                                    .generation = r->generation,
                                    .node = r->node,
                                    .asks = r->asks,
                                    .started_ms = r->started_ms,
                                    .turn_ms = r->turn_ms,
                                    .behind = r->behind,
                                    .input = r->input,
                                    .wake_ms = r->wake_ms,
                                    .deadline_ms = r->deadline_ms,
                                    .flags = r->flags};
    a->tasks[t].live = id;
    if (kind != LIVE_AHEAD) { /* as when it started, which wrote only this row */
        a->tasks[t].done_digest = 0;
        a->tasks[t].flags |= TASKF_TRIED;
    }
    if (a->tasks[t].attempt < a->lives.at[id].number)
        a->tasks[t].attempt = a->lives.at[id].number;
    /* A start writes only this row: the state follows from it. */
    if (kind != LIVE_AHEAD && !(r->flags & LIVEF_SUPERSEDED)) {
        a->task_state[t] = kind == LIVE_WAIT ? TASK_WAITING : TASK_RUNNING;
        a->tasks[t].reason = REASON_NONE;
    }
    return 0;
}

#define LOAD_AT(vec, row_id)                                                                       \
    do {                                                                                           \
        while ((vec).n <= (row_id))                                                                \
            (void)vec_add(&(vec));                                                                 \
    } while (0)

static void load_small(struct anneal *a, enum row_table t, const void *row)
{
    switch ((int)t) {
    case ROWS_META: {
        const struct row_meta *r = row;
        a->now_ms = r->now_ms;
        a->suspect = r->suspect > 0;
        a->silent_at_suspect = r->suspect;
        a->tenant_floor = r->tenant_floor;
        a->capacity = r->capacity;
        a->freeze_on_error = r->freeze;
        a->loader->meta = *r;
        break;
    }
    case ROWS_SETTINGS: {
        const struct row_settings *r = row;
#define TAKE(x, name, otherwise) a->opt.name = r->name;
        ENGINE_SETTINGS(TAKE, )
#undef TAKE
        engine_settings_fill(&a->opt);
        a->opt_told = true;
        break;
    }
    case ROWS_TENANT: {
        const struct row_tenant *r = row;
        LOAD_AT(a->tenants, r->id);
        a->tenants.at[r->id].exists = true;
        a->tenants.at[r->id].served = r->served;
        a->tenants.at[r->id].floor = r->floor;
        a->tenants.at[r->id].share = r->share;
        a->tenants.at[r->id].wish = r->wish;
        a->tenants.at[r->id].gone = r->gone;
        break;
    }
    case ROWS_JIG: {
        const struct row_jig *r = row;
        LOAD_AT(a->jigs, r->id);
        a->jigs.at[r->id] = (struct jig){.exists = true, .active = r->active, .slots = r->slots};
        break;
    }
    case ROWS_POOL: {
        const struct row_pool *r = row;
        LOAD_AT(a->pools, r->id);
        a->pools.at[r->id] = (struct pool){
            .exists = true, .size = r->size, .elsewhere = r->elsewhere, .closed = r->closed};
        break;
    }
    case ROWS_GROUP: {
        const struct row_grp *r = row;
        LOAD_AT(a->groups, r->id);
        a->groups.at[r->id].may_fail = r->may_fail;
        a->groups.at[r->id].stops = r->stops;
        break;
    }
    case ROWS_NODE: {
        const struct row_node *r = row;
        LOAD_AT(a->nodes, r->id);
        a->nodes.at[r->id] = (struct node){.exists = true,
                                           .gone = r->gone,
                                           .machine = r->machine,
                                           .boot = r->boot,
                                           .silent_ms = r->silent_ms,
                                           .away_until_ms = r->away_until_ms,
                                           .slots = r->slots,
                                           .probes = r->probes,
                                           .available = r->available,
                                           .alive = r->alive};
        a->nodes_alive += r->alive == ALIVE_ALIVE;
        a->nodes_silent += r->silent_ms > 0;
        break;
    }
    case ROWS_DEF: {
        const struct row_def *r = row;
        LOAD_AT(a->defs, r->id);
        a->defs.at[r->id] = (struct def){r->digest,      r->backoff_ms, r->timeout_ms,
                                         r->deadline_ms, r->jig,        r->retries,
                                         r->repeat,      r->hold,       r->flags};
        break;
    }
    case ROWS_OPERATION: {
        const struct row_operation *r = row;
        LOAD_AT(a->ops, r->id);
        struct op *o = &a->ops.at[r->id];
        o->exists = true;
        o->tenant = r->tenant;
        o->class = r->class;
        o->state = r->state;
        o->reason = r->reason;
        o->held = r->held;
        o->served = r->served;
        o->gone = r->gone;
        o->failures = r->failures;
        o->ended_ms = r->ended_ms;
        o->total = r->total;
        o->done = r->done;
        o->failed = r->failed;
        break;
    }
    case ROWS_SPAN: {
        const struct row_span *r = row;
        LOAD_AT(a->spans, r->id);
        uint32_t n = (uint32_t)(r->pools.n / sizeof(uint32_t));
        uint32_t *pools = arena_new(&a->span_mem, uint32_t, n ? n : 1);
        if (n)
            memcpy(pools, r->pools.s, n * sizeof *pools);
        a->spans.at[r->id] = (struct span){.pools = pools, .n_pools = n, .held = r->held};
        break;
    }
    default: break;
    }
}

/* Numbers that index tables of ours. */
static int check_enums(enum row_table t, const void *row, struct err *e)
{
    const struct row_operation *o = row;
    const struct row_node *n = row;
    const struct row_def *d = row;
    const struct row_noderole *r = row;
    if (t == ROWS_OPERATION &&
        (o->class >= CLASS_COUNT || o->state >= OPERATION_STATE_COUNT || o->reason >= REASON_COUNT))
        return corrupt(e, "operation", o->id, "its class, state or reason does not exist");
    if (t == ROWS_NODE && n->alive >= ALIVE_STATE_COUNT)
        return corrupt(e, "node", n->id, "its aliveness does not exist");
    if (t == ROWS_DEF && (d->repeat >= REPEAT_COUNT || d->hold >= HOLD_COUNT))
        return corrupt(e, "definition", d->id, "its repeat or hold does not exist");
    if (t == ROWS_NODEROLE && (r->target >= TARGET_COUNT || r->reason >= REASON_COUNT))
        return corrupt(e, "noderole", r->id, "its target or reason does not exist");
    return 0;
}

int anneal_load(struct anneal *a, enum row_table t, const void *row, struct err *e)
{
    if (!a->loader)
        a->loader = xcalloc(1, sizeof *a->loader);
    int r = check_enums(t, row, e);
    if (r < 0)
        return r;
    switch ((int)t) {
    case ROWS_NODEROLE: return load_noderole(a, row, e);
    case ROWS_TASK: return load_task(a, row, e);
    case ROWS_ATTEMPT: return load_attempt(a, row, e);
    default: load_small(a, t, row); return 0;
    }
}

static int build_graphs(struct anneal *a, struct err *e)
{
    struct loader *l = a->loader;
    for (size_t i = 0; i < l->need.n; i++)
        if (!noderole_exists(a, l->need.at[i]))
            return corrupt(e, "noderole", l->need.at[i], "is named as a parent but missing");
    for (size_t i = 0; i < l->bonds.n; i++) {
        uint32_t marks = l->bonds.at[i].parent & PARENT_MARKS;
        uint32_t parent = l->bonds.at[i].parent & ~PARENT_MARKS, child = l->bonds.at[i].child;
        bool sleeps = marks & PARENT_SLEEPS;
        if (!noderole_exists(a, parent))
            return corrupt(e, "noderole", parent, "is named as a parent but missing");
        if (sleeps == (bool)(marks & PARENT_LEAVES))
            return corrupt(e, "noderole", child, "has a parent that both sleeps and leaves");
        uint32_t bond = bond_add(a, sleeps ? BOND_SLEEPS : BOND_LEAVES, parent, child);
        a->bonds.at[bond].awaited = marks & PARENT_AWAITED;
        a->noderoles.at[child].awaits += sleeps && (marks & PARENT_AWAITED);
    }
    for (size_t i = 0; i < l->order.n; i++)
        if (!task_exists(a, l->order.at[i]))
            return corrupt(e, "task", l->order.at[i], "is named as a dependency but missing");
    vec_push(&l->need_first, (uint32_t)l->need.n);
    vec_push(&l->order_first, (uint32_t)l->order.n);
    graph_extend(&a->need, (uint32_t)a->noderoles.n - 1, l->need_first.at, l->need.at);
    graph_extend(&a->order, a->task_end - 1, l->order_first.at, l->order.at);
    return 0;
}

static void count_task(struct anneal *a, uint32_t t)
{
    enum task_state s = a->task_state[t];
    struct noderole *nr = &a->noderoles.at[a->tasks[t].noderole];
    if (a->tasks[t].span) {
        struct span *sp = &a->spans.at[a->tasks[t].span];
        sp->left += !task_state_ended(s);
        sp->begun += task_state_live(s) || (task_state_ended(s) && s != TASK_DEP_FAILED);
    }
    if (!a->tasks[t].noderole)
        return; /* history */
    nr->passed += task_state_passed(s);
    nr->live += task_state_live(s);
    nr->failed += s == TASK_FAILED;
    nr->dep_failed += s == TASK_DEP_FAILED;
    nr->cancelled += s == TASK_CANCELLED;
    a->ops.at[nr->op].counts[s]++;
    a->totals_task[s]++;
}

static void count_unmet(struct anneal *a, uint32_t t)
{
    uint32_t n;
    const uint32_t *deps = graph_in(&a->order, t, &n);
    for (uint32_t i = 0; i < n; i++)
        a->unmet[t] += !task_met(a, deps[i], t);
}

/* PENDING with nothing left to wait for is READY: the only state that is not stored. */
static void make_ready(struct anneal *a, uint32_t t)
{
    bool ahead = chain_ahead(a, t);
    if (a->task_state[t] != TASK_PENDING || a->unmet[t] > 0 || (a->tasks[t].live && !ahead))
        return;
    struct noderole *nr = &a->noderoles.at[a->tasks[t].noderole];
    a->task_state[t] = TASK_READY;
    nr->ready++;
    a->ops.at[nr->op].counts[TASK_PENDING]--;
    a->ops.at[nr->op].counts[TASK_READY]++;
    a->totals_task[TASK_PENDING]--;
    a->totals_task[TASK_READY]++;
    if (!ahead)
        schedule_enqueue(a, t);
}

static int rebuild(struct anneal *a, struct err *e)
{
    uint32_t counts = 0;
    for (uint32_t t = 1; t < a->task_end; t++)
        count_task(a, t);
    for (uint32_t id = 1; id < a->noderoles.n; id++)
        a->noderoles.at[id].complete = a->noderoles.at[id].passed == a->noderoles.at[id].n_tasks;
    if (!quorum_restore(a, &counts))
        return corrupt(e, "noderole", counts, "counts a parent that it does not need");
    for (uint32_t id = 1; id < a->noderoles.n; id++)
        gate_count(a, id, &a->noderoles.at[id].gate, &a->noderoles.at[id].halted);
    tolerance_restore(a);
    for (uint32_t t = 1; t < a->task_end; t++) {
        count_unmet(a, t);
        if (!a->tasks[t].noderole)
            continue;
        gate_mark_first(a, t);
        a->unmet[t] += gate_shuts(a, t);
    }
    for (size_t i = 1; i < a->spans.n; i++)
        for (uint32_t k = 0; a->spans.at[i].held && k < a->spans.at[i].n_pools; k++)
            a->pools.at[a->spans.at[i].pools[k]].taken++;
    for (uint32_t id = 1; id < a->noderoles.n; id++) {
        struct noderole *nr = &a->noderoles.at[id];
        uint32_t n;
        const uint32_t *parents = graph_in(&a->need, id, &n);
        for (uint32_t i = 0; i < n; i++) {
            const struct noderole *p = &a->noderoles.at[parents[i]];
            if (quorum_of(a, parents[i], id))
                continue; /* counted by quorum_restore() */
            nr->parents_out += !noderole_in_service(p->state, p->target);
            nr->parents_stale += p->state != NODEROLE_ACTIVE;
        }
    }
    for (uint32_t t = 1; t < a->task_end; t++) {
        uint32_t id = a->tasks[t].live;
        if (!id || a->lives.at[id].kind == LIVE_BACKOFF)
            continue;
        attempt_retake(a, id);
        struct live *l = &a->lives.at[id];
        if (l->kind == LIVE_AHEAD)
            a->lives.at[a->tasks[l->behind].live].follower = t;
        if (l->kind == LIVE_WAIT && l->wake_ms <= a->now_ms && !(l->flags & LIVEF_FROZEN))
            attempt_due(a, id);
        else
            timer_arm(a, id);
    }
    for (uint32_t t = 1; t < a->task_end; t++)
        make_ready(a, t);
    return 0;
}

static void loader_free(struct anneal *a)
{
    vec_done(&a->loader->need_first);
    vec_done(&a->loader->need);
    vec_done(&a->loader->order_first);
    vec_done(&a->loader->order);
    vec_done(&a->loader->bonds);
    free(a->loader);
    a->loader = NULL;
}

void recover_abandon(struct anneal *a)
{
    if (a->loader)
        loader_free(a);
}

static int misplaced(struct err *e, uint32_t task, uint32_t noderole)
{
    err_set(e, ERR_CORRUPT, "task %u: is not among those of noderole %u", task, noderole);
    return err_hint(e, "restore a backup with `anneal admin restore`");
}

/* What was sent ahead follows an attempt that is open. */
static int check_ahead(const struct anneal *a, struct err *e)
{
    for (uint32_t t = 1; t < a->task_end; t++) {
        const struct live *l = &a->lives.at[a->tasks[t].live];
        if (!a->tasks[t].live || l->kind != LIVE_AHEAD)
            continue;
        uint8_t kind = LIVE_FREE;
        if (task_exists(a, l->behind) && l->behind != t && a->tasks[l->behind].live)
            kind = a->lives.at[a->tasks[l->behind].live].kind;
        if (kind != LIVE_RUN && kind != LIVE_AHEAD)
            return corrupt(e, "task", t, "was sent ahead, behind a task that does not run");
    }
    return 0;
}

static int check_spans(const struct anneal *a, struct err *e)
{
    for (size_t i = 1; i < a->spans.n; i++)
        for (uint32_t k = 0; k < a->spans.at[i].n_pools; k++)
            if (a->spans.at[i].pools[k] >= a->pools.n)
                return corrupt(e, "span", i, "names a pool that does not exist");
    for (size_t i = 1; i < a->defs.n; i++)
        if (a->defs.at[i].jig >= a->jigs.n)
            return corrupt(e, "definition", i, "names a jig that does not exist");
    for (size_t i = 1; i < a->ops.n; i++)
        if (a->ops.at[i].exists && a->ops.at[i].tenant >= a->tenants.n)
            return corrupt(e, "operation", i, "names a tenant that does not exist");
    for (uint32_t id = 1; id < a->noderoles.n; id++) {
        const struct noderole *nr = &a->noderoles.at[id];
        if (nr->generation &&
            ((nr->n_tasks > 0 && nr->first_task == 0) ||
             (uint64_t)nr->first_task + nr->n_tasks > a->task_end || !a->ops.at[nr->op].exists))
            return corrupt(e, "noderole", id, "has tasks or an operation that do not exist");
    }
    for (uint32_t t = 1; t < a->task_end; t++)
        if (a->tasks[t].noderole == 0
                ? !task_state_passed(a->task_state[t])
                : a->tasks[t].def == 0 || t - a->noderoles.at[a->tasks[t].noderole].first_task >=
                                              a->noderoles.at[a->tasks[t].noderole].n_tasks)
            return misplaced(e, t, a->tasks[t].noderole);
        else if (a->tasks[t].noderole && task_rule_runs(task_rule(a, t)) &&
                 !extend_runs_on(a->noderoles.at[a->tasks[t].noderole].node,
                                 a->defs.at[a->tasks[t].def].jig,
                                 a->defs.at[a->tasks[t].def].flags))
            return corrupt(e, "task", t, "runs, but has no node or nothing executes it");
        else if (task_passive(a, t) && (task_state_live(a->task_state[t]) ||
                                        a->task_state[t] == TASK_FAILED || a->tasks[t].live))
            return corrupt(e, "task", t, "is passive, and in a state that only running leads to");
    return check_ahead(a, e);
}

/* Rows that were cut off between two of them fit together, but not with what was counted. */
static int check_ends(const struct anneal *a, struct err *e)
{
    const struct row_meta *m = &a->loader->meta;
    const struct {
        const char *what;
        uint64_t counted, here;
    } ends[] = {
        {"node", m->next_node, a->nodes.n},     {"noderole", m->next_noderole, a->noderoles.n},
        {"task", m->next_task, a->task_end},    {"operation", m->next_operation, a->ops.n},
        {"definition", m->next_def, a->defs.n}, {"span", m->next_span, a->spans.n},
        {"pool", m->next_pool, a->pools.n},     {"group", m->next_group, a->groups.n},
    };
    for (size_t i = 0; m->id && i < sizeof ends / sizeof *ends; i++)
        if (ends[i].counted != ends[i].here)
            return corrupt(e, ends[i].what,
                           ends[i].here < ends[i].counted ? ends[i].here : ends[i].counted,
                           ends[i].here < ends[i].counted ? "and those after it are missing"
                                                          : "is beyond what was counted");
    return 0;
}

int anneal_load_end(struct anneal *a, struct err *e)
{
    if (!a->loader)
        a->loader = xcalloc(1, sizeof *a->loader);
    fill_to(a, a->loader->meta.next_noderole);
    int r = check_ends(a, e);
    if (r >= 0)
        r = check_spans(a, e);
    if (r >= 0)
        r = build_graphs(a, e);
    if (r >= 0)
        r = rebuild(a, e);
    loader_free(a);
    return r;
}

int anneal_restore(struct anneal *a, struct str from, struct err *e)
{
    size_t at = 0;
    while (at < from.n) {
        enum row_table t = (enum row_table)(uint8_t)from.s[at++];
        union {
            struct row_noderole largest;
            struct row_attempt attempt;
            struct row_meta meta;
            struct row_task task;
            struct row_operation operation;
            struct row_def def;
            struct row_node node;
            uint8_t bytes[512];
        } row;
        size_t n = t < ROWS_COUNT && row_layouts[t].size <= sizeof row
                       ? row_decode(t, (struct str){from.s + at, from.n - at}, &row)
                       : 0;
        if (n == 0)
            return corrupt(e, "checkpoint byte", at, "is not the start of a row");
        int r = anneal_load(a, t, &row, e);
        if (r < 0)
            return r;
        at += n;
    }
    return anneal_load_end(a, e);
}
