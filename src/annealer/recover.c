/* recover.c - the engine as rows, and back
 *
 * anneal_row() writes what is stored of one object; anneal_load() takes such rows in and
 * anneal_load_end() rebuilds all that is derived: unmet dependencies, counters, lanes, slots,
 * timers.  Nothing is started and no event is made: a restored engine equals the one that wrote the
 * rows, which anneal_digest() shows. Rows that contradict each other are refused as corrupt, with
 * the object that does not fit.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "annealer/annealer_i.h"

#include <stdlib.h>
#include <string.h>

#include "base/digest.h"

#define SLEEPS (1u << 31) /* in a parents blob: the need does not count yet */

struct loader {
    VEC(uint32_t) need_first, need, order_first, order;
};

/* ---- out ---- */

static struct str blob_of(struct anneal *a, const uint32_t *ids, uint32_t n, uint32_t child)
{
    buf_clear(&a->row_mem);
    buf_put(&a->row_mem, ids, n * sizeof *ids);
    for (size_t i = 0; child && i < a->sleeping.n; i++)
        if (a->sleeping.at[i].child == child) {
            uint32_t parent = a->sleeping.at[i].parent | SLEEPS;
            buf_put(&a->row_mem, &parent, sizeof parent);
        }
    return buf_str(&a->row_mem);
}

static void noderole_row(struct anneal *a, uint32_t id, struct row_noderole *r)
{
    const struct noderole *nr = &a->noderoles.at[id];
    uint32_t n;
    const uint32_t *parents = graph_in(&a->need, id, &n);
    *r = (struct row_noderole){.id = id,
                               .tenant = a->ops.at[nr->op].tenant,
                               .realm = 1,
                               .node = nr->node,
                               .first_task = nr->first_task,
                               .n_tasks = nr->n_tasks,
                               .flags = nr->flags,
                               .cohort = nr->cohort,
                               .state = nr->state,
                               .target = nr->target,
                               .reason = nr->reason,
                               .mode = nr->mode & MODE_STORED,
                               .generation = nr->generation,
                               .incarnation = nr->incarnation,
                               .operation = nr->op,
                               .run_count = nr->run_count,
                               .exports = nr->exports,
                               .data = nr->data,
                               .inputs = nr->inputs};
    r->parents = blob_of(a, parents, n, id);
}

static void task_row(struct anneal *a, uint32_t id, struct row_task *r)
{
    const struct task *t = &a->tasks[id];
    enum task_state s = a->task_state[id];
    uint32_t n;
    const uint32_t *deps = graph_in(&a->order, id, &n);
    bool asleep = t->live && a->lives.at[t->live].kind == LIVE_BACKOFF;
    *r = (struct row_task){.id = id,
                           .tenant = a->ops.at[task_op(a, id)].tenant,
                           .realm = 1,
                           .noderole = t->noderole,
                           .def = t->def,
                           .weight = t->weight,
                           .span = t->span,
                           .state = s == TASK_READY ? TASK_PENDING : s,
                           .reason = t->reason,
                           .attempt = t->attempt,
                           .tries = t->tries,
                           .wake_ms = asleep ? a->lives.at[t->live].wake_ms : 0,
                           .done_digest = t->done_digest};
    r->deps = blob_of(a, deps, n, 0);
}

static void meta_row(const struct anneal *a, struct row_meta *r)
{
    *r = (struct row_meta){.id = 1,
                           .tenant = 1,
                           .realm = 1,
                           .now_ms = a->now_ms,
                           .next_node = (uint32_t)a->nodes.n,
                           .next_noderole = (uint32_t)a->noderoles.n,
                           .next_task = a->task_end,
                           .next_operation = (uint32_t)a->ops.n,
                           .next_def = (uint32_t)a->defs.n,
                           .next_span = (uint32_t)a->spans.n,
                           .next_pool = (uint32_t)a->pools.n,
                           .suspect = a->suspect ? a->silent_at_suspect : 0,
                           .tenant_floor = a->tenant_floor,
                           .capacity = a->capacity,
                           .freeze = a->freeze_on_error};
}

static void operation_row(const struct anneal *a, uint32_t id, struct row_operation *r)
{
    const struct op *o = &a->ops.at[id];
    *r = (struct row_operation){.id = id,
                                .tenant = o->tenant,
                                .realm = 1,
                                .class = o->class,
                                .state = o->state,
                                .reason = o->reason,
                                .held = o->held,
                                .served = o->served,
                                .ended_ms = o->ended_ms,
                                .total = o->total,
                                .done = o->done,
                                .failed = o->failed};
}

static void node_row(const struct anneal *a, uint32_t id, struct row_node *r)
{
    const struct node *n = &a->nodes.at[id];
    *r = (struct row_node){.id = id,
                           .tenant = 1,
                           .realm = 1,
                           .available = n->available,
                           .alive = n->alive,
                           .slots = n->slots,
                           .machine = n->machine,
                           .boot = n->boot,
                           .silent_ms = n->silent_ms,
                           .probes = n->probes,
                           .away_until_ms = n->away_until_ms,
                           .gone = n->gone};
}

static void def_row(const struct anneal *a, uint32_t id, struct row_def *r)
{
    const struct def *d = &a->defs.at[id];
    *r = (struct row_def){.id = id,
                          .tenant = 1,
                          .realm = 1,
                          .jig = d->jig,
                          .digest = d->digest,
                          .repeat = d->repeat,
                          .hold = d->hold,
                          .flags = d->flags,
                          .retries = d->retries,
                          .backoff_ms = d->backoff_ms,
                          .timeout_ms = d->timeout_ms,
                          .deadline_ms = d->deadline_ms};
}

void anneal_row(struct anneal *a, enum row_table t, uint32_t id, void *row)
{
    switch ((int)t) {
    case ROWS_META: meta_row(a, row); break;
    case ROWS_TENANT:
        *(struct row_tenant *)row = (struct row_tenant){.id = id,
                                                        .tenant = id,
                                                        .realm = 1,
                                                        .served = a->tenants.at[id].served,
                                                        .floor = a->tenants.at[id].floor};
        break;
    case ROWS_JIG:
        *(struct row_jig *)row = (struct row_jig){.id = id,
                                                  .tenant = 1,
                                                  .realm = 1,
                                                  .active = a->jigs.at[id].active,
                                                  .slots = a->jigs.at[id].slots};
        break;
    case ROWS_POOL:
        *(struct row_pool *)row = (struct row_pool){.id = id,
                                                    .tenant = 1,
                                                    .realm = 1,
                                                    .size = a->pools.at[id].size,
                                                    .elsewhere = a->pools.at[id].elsewhere,
                                                    .closed = a->pools.at[id].closed};
        break;
    case ROWS_NODE: node_row(a, id, row); break;
    case ROWS_DEF: def_row(a, id, row); break;
    case ROWS_OPERATION: operation_row(a, id, row); break;
    case ROWS_NODEROLE: noderole_row(a, id, row); break;
    case ROWS_SPAN: {
        const struct span *s = &a->spans.at[id];
        *(struct row_span *)row = (struct row_span){.id = id,
                                                    .tenant = 1,
                                                    .realm = 1,
                                                    .held = s->held,
                                                    .pools = blob_of(a, s->pools, s->n_pools, 0)};
        break;
    }
    case ROWS_TASK: task_row(a, id, row); break;
    default: break;
    }
}

/* ---- in ---- */

static int corrupt(struct err *e, const char *what, uint64_t id, const char *why)
{
    err_set(e, ERR_CORRUPT, "%s %llu: %s", what, (unsigned long long)id, why);
    return err_hint(e, "restore a backup with `anneal admin restore`");
}

static int load_noderole(struct anneal *a, const struct row_noderole *r, struct err *e)
{
    if (r->id != a->noderoles.n)
        return corrupt(e, "noderole", r->id, "an id is missing before it");
    if (r->node >= a->nodes.n || !a->nodes.at[r->node].exists || r->operation >= a->ops.n ||
        r->state >= NODEROLE_STATE_COUNT || r->parents.n % sizeof(uint32_t) || !r->n_tasks)
        return corrupt(e, "noderole", r->id, "its node, operation or state does not exist");
    struct noderole *nr = vec_add(&a->noderoles);
    *nr = (struct noderole){.exports = r->exports,
                            .data = r->data,
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
                            .mode = r->mode,
                            .flags = r->flags};
    a->totals_noderole[r->state]++;
    a->nodes.at[r->node].errors += r->state == NODEROLE_ERROR;
    extend_on_node(a, r->id);
    vec_push(&a->ops.at[r->operation].noderoles, r->id);
    vec_push(&a->loader->need_first, (uint32_t)a->loader->need.n);
    for (size_t i = 0; i < r->parents.n; i += sizeof(uint32_t)) {
        uint32_t parent;
        memcpy(&parent, r->parents.s + i, sizeof parent);
        if (parent & SLEEPS)
            vec_push(&a->sleeping, ((struct sleeping_need){parent & ~SLEEPS, r->id}));
        else
            vec_push(&a->loader->need, parent);
    }
    return 0;
}

static int load_task(struct anneal *a, const struct row_task *r, struct err *e)
{
    if (r->id != a->task_end)
        return corrupt(e, "task", r->id, "an id is missing before it");
    if (r->noderole >= a->noderoles.n || r->def >= a->defs.n || r->span >= a->spans.n ||
        r->state >= TASK_STATE_COUNT || r->deps.n % sizeof(uint32_t))
        return corrupt(e, "task", r->id, "its noderole, definition, span or state does not exist");
    extend_tasks(a, 1);
    struct task *t = &a->tasks[r->id];
    *t = (struct task){.done_digest = r->done_digest,
                       .noderole = r->noderole,
                       .def = r->def,
                       .weight = r->weight,
                       .span = r->span,
                       .attempt = r->attempt,
                       .tries = (uint16_t)r->tries,
                       .reason = r->reason};
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
    if (!task_exists(a, t) || a->tasks[t].live || r->node >= a->nodes.n)
        return corrupt(e, "attempt", r->id, "its task has another or does not exist");
    uint32_t id = attempt_live_new(a);
    a->lives.at[id] = (struct live){.kind = (r->flags & LIVEF_WAITING) ? LIVE_WAIT : LIVE_RUN,
                                    .task = t,
                                    .number = (uint32_t)(r->id & ((1u << ATTEMPT_BITS) - 1)),
                                    .generation = r->generation,
                                    .node = r->node,
                                    .asks = r->asks,
                                    .started_ms = r->started_ms,
                                    .input = r->input,
                                    .wake_ms = r->wake_ms,
                                    .deadline_ms = r->deadline_ms,
                                    .flags = r->flags};
    a->tasks[t].live = id;
    if (a->tasks[t].attempt < a->lives.at[id].number)
        a->tasks[t].attempt = a->lives.at[id].number;
    if (!(r->flags &
          LIVEF_SUPERSEDED)) { /* a start writes only this row: the state follows from it */
        a->task_state[t] = a->lives.at[id].kind == LIVE_WAIT ? TASK_WAITING : TASK_RUNNING;
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
        break;
    }
    case ROWS_TENANT: {
        const struct row_tenant *r = row;
        LOAD_AT(a->tenants, r->id);
        a->tenants.at[r->id].exists = true;
        a->tenants.at[r->id].served = r->served;
        a->tenants.at[r->id].floor = r->floor;
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
        if (l->need.at[i] == 0 || l->need.at[i] >= a->noderoles.n)
            return corrupt(e, "noderole", l->need.at[i], "is named as a parent but missing");
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
    uint32_t n;
    const uint32_t *deps = graph_in(&a->order, t, &n);
    for (uint32_t i = 0; i < n; i++)
        a->unmet[t] += !task_state_passed(a->task_state[deps[i]]);
    nr->passed += task_state_passed(s);
    nr->live += task_state_live(s);
    nr->failed += s == TASK_FAILED;
    nr->cancelled += s == TASK_CANCELLED;
    a->ops.at[nr->op].counts[s]++;
    a->totals_task[s]++;
    if (a->tasks[t].span) {
        struct span *sp = &a->spans.at[a->tasks[t].span];
        sp->left += !task_state_ended(s);
        sp->begun += task_state_live(s) || (task_state_ended(s) && s != TASK_DEP_FAILED);
    }
}

/* PENDING with nothing left to wait for is READY: the only state that is not stored. */
static void make_ready(struct anneal *a, uint32_t t)
{
    if (a->task_state[t] != TASK_PENDING || a->unmet[t] > 0 || a->tasks[t].live)
        return;
    struct noderole *nr = &a->noderoles.at[a->tasks[t].noderole];
    a->task_state[t] = TASK_READY;
    nr->ready++;
    a->ops.at[nr->op].counts[TASK_PENDING]--;
    a->ops.at[nr->op].counts[TASK_READY]++;
    a->totals_task[TASK_PENDING]--;
    a->totals_task[TASK_READY]++;
    schedule_enqueue(a, t);
}

static void rebuild(struct anneal *a)
{
    for (uint32_t t = 1; t < a->task_end; t++)
        count_task(a, t);
    for (size_t i = 1; i < a->spans.n; i++)
        for (uint32_t k = 0; a->spans.at[i].held && k < a->spans.at[i].n_pools; k++)
            a->pools.at[a->spans.at[i].pools[k]].taken++;
    for (uint32_t id = 1; id < a->noderoles.n; id++) {
        struct noderole *nr = &a->noderoles.at[id];
        uint32_t n;
        const uint32_t *parents = graph_in(&a->need, id, &n);
        for (uint32_t i = 0; i < n; i++) {
            const struct noderole *p = &a->noderoles.at[parents[i]];
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
        if (l->kind == LIVE_WAIT && l->wake_ms <= a->now_ms && !(l->flags & LIVEF_FROZEN))
            attempt_due(a, id);
        else
            timer_arm(a, id);
    }
    for (uint32_t t = 1; t < a->task_end; t++)
        make_ready(a, t);
}

static void loader_free(struct anneal *a)
{
    vec_done(&a->loader->need_first);
    vec_done(&a->loader->need);
    vec_done(&a->loader->order_first);
    vec_done(&a->loader->order);
    free(a->loader);
    a->loader = NULL;
}

void recover_abandon(struct anneal *a)
{
    if (a->loader)
        loader_free(a);
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
        if (nr->first_task == 0 || (uint64_t)nr->first_task + nr->n_tasks > a->task_end ||
            !a->ops.at[nr->op].exists)
            return corrupt(e, "noderole", id, "has tasks or an operation that do not exist");
    }
    for (uint32_t t = 1; t < a->task_end; t++)
        if (a->tasks[t].def == 0 || a->tasks[t].noderole == 0 ||
            t - a->noderoles.at[a->tasks[t].noderole].first_task >=
                a->noderoles.at[a->tasks[t].noderole].n_tasks)
            return corrupt(e, "task", t, "is not among those of its noderole");
    return 0;
}

int anneal_load_end(struct anneal *a, struct err *e)
{
    if (!a->loader)
        a->loader = xcalloc(1, sizeof *a->loader);
    int r = check_spans(a, e);
    if (r >= 0)
        r = build_graphs(a, e);
    if (r >= 0)
        rebuild(a);
    loader_free(a);
    return r;
}

/* ---- whole ---- */

static void save_one(struct anneal *a, struct buf *b, enum row_table t, uint32_t id)
{
    union {
        struct row_meta meta;
        struct row_tenant tenant;
        struct row_jig jig;
        struct row_pool pool;
        struct row_node node;
        struct row_def def;
        struct row_operation operation;
        struct row_noderole noderole;
        struct row_span span;
        struct row_task task;
    } row;
    anneal_row(a, t, id, &row);
    buf_putc(b, (char)t);
    row_encode(b, t, &row);
}

static void save_attempt(const struct anneal *a, struct buf *b, const struct live *l)
{
    struct row_attempt row = {.id = (uint64_t)l->task << ATTEMPT_BITS | l->number,
                              .tenant = 1,
                              .realm = 1,
                              .node = l->node,
                              .generation = l->generation,
                              .started_ms = l->started_ms,
                              .input = l->input,
                              .outcome = ATTEMPT_OPEN,
                              .flags = l->flags & LIVEF_STORED,
                              .asks = l->asks,
                              .wake_ms = l->wake_ms,
                              .deadline_ms = l->deadline_ms};
    (void)a;
    buf_putc(b, (char)ROWS_ATTEMPT);
    row_encode(b, ROWS_ATTEMPT, &row);
}

void anneal_save(struct anneal *a, struct buf *b)
{
    save_one(a, b, ROWS_META, 1);
    for (uint32_t i = 1; i < a->tenants.n; i++)
        if (a->tenants.at[i].exists)
            save_one(a, b, ROWS_TENANT, i);
    for (uint32_t i = 1; i < a->jigs.n; i++)
        if (a->jigs.at[i].exists)
            save_one(a, b, ROWS_JIG, i);
    for (uint32_t i = 1; i < a->pools.n; i++)
        if (a->pools.at[i].exists)
            save_one(a, b, ROWS_POOL, i);
    for (uint32_t i = 1; i < a->nodes.n; i++)
        if (a->nodes.at[i].exists)
            save_one(a, b, ROWS_NODE, i);
    for (uint32_t i = 1; i < a->defs.n; i++)
        save_one(a, b, ROWS_DEF, i);
    for (uint32_t i = 1; i < a->ops.n; i++)
        if (a->ops.at[i].exists)
            save_one(a, b, ROWS_OPERATION, i);
    for (uint32_t i = 1; i < a->noderoles.n; i++)
        save_one(a, b, ROWS_NODEROLE, i);
    for (uint32_t i = 1; i < a->spans.n; i++)
        save_one(a, b, ROWS_SPAN, i);
    for (uint32_t i = 1; i < a->task_end; i++)
        save_one(a, b, ROWS_TASK, i);
    for (uint32_t i = 1; i < a->task_end; i++)
        if (a->tasks[i].live && a->lives.at[a->tasks[i].live].kind != LIVE_BACKOFF)
            save_attempt(a, b, &a->lives.at[a->tasks[i].live]);
}

/* Time apart: it moves on with events that change nothing and are not kept. */
uint64_t anneal_digest(struct anneal *a)
{
    SCOPED_BUF(b);
    uint64_t now_ms = a->now_ms;
    a->now_ms = 0;
    anneal_save(a, &b);
    a->now_ms = now_ms;
    return digest_64(b.data, b.len);
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
