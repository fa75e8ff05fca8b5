/* save.c - the engine as rows
 *
 * anneal_row() writes what is stored of one object, anneal_save() all rows in the order in which
 * recover.c takes them in; anneal_digest() tells whether two engines are the same.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "annealer/annealer_i.h"

#include "base/digest.h"

static struct str blob_of(struct anneal *a, const uint32_t *ids, uint32_t n)
{
    buf_clear(&a->row_mem);
    buf_put(&a->row_mem, ids, n * sizeof *ids);
    return buf_str(&a->row_mem);
}

/* Parents that count in the order of the graph, then those that sleep, then those that go. */
static struct str parents_blob(struct anneal *a, uint32_t id)
{
    uint32_t n;
    const uint32_t *parents = graph_in(&a->need, id, &n);
    (void)blob_of(a, parents, n);
    for (int kind = 0; kind < BOND_KIND_COUNT; kind++)
        (void)bond_parents(a, (enum bond_kind)kind, id, &a->row_mem);
    return buf_str(&a->row_mem);
}

static void noderole_row(struct anneal *a, uint32_t id, struct row_noderole *r)
{
    const struct noderole *nr = &a->noderoles.at[id];
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
                               .mode = nr->mode,
                               .answered = nr->answered,
                               .generation = nr->generation,
                               .incarnation = nr->incarnation,
                               .operation = nr->op,
                               .grp = nr->group,
                               .run_count = nr->run_count,
                               .data = nr->data,
                               .inputs = nr->inputs};
    size_t n = parents_blob(a, id).n;
    quorum_write(a, id, &a->row_mem);
    struct str both = buf_str(&a->row_mem);
    r->parents = (struct str){both.s, n};
    r->quorums = (struct str){both.s + n, both.n - n};
}

static void task_row(struct anneal *a, uint32_t id, struct row_task *r)
{
    const struct task *t = &a->tasks[id];
    enum task_state s = a->task_state[id];
    uint32_t n;
    const uint32_t *deps = graph_in(&a->order, id, &n);
    bool asleep = t->live && a->lives.at[t->live].kind == LIVE_BACKOFF;
    *r = (struct row_task){
        .id = id,
        .tenant = a->ops.at[task_op(a, id)].tenant,
        .realm = 1,
        .noderole = t->noderole,
        .def = t->def,
        .weight = t->weight,
        .span = t->span,
        .rule = (uint8_t)(task_rule(a, id) | ((t->flags & TASKF_TRIED) ? ROW_TASK_TRIED : 0)),
        .state = s == TASK_READY ? TASK_PENDING : s,
        .reason = t->reason,
        .attempt = t->attempt,
        .tries = t->tries,
        .wake_ms = asleep ? a->lives.at[t->live].wake_ms : 0,
        .done_digest = t->done_digest};
    r->deps = blob_of(a, deps, n);
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
                           .next_group = (uint32_t)a->groups.n,
                           .suspect = a->suspect ? a->silent_at_suspect : 0,
                           .tenant_floor = a->tenant_floor,
                           .capacity = a->capacity,
                           .freeze = a->freeze_on_error};
}

static void settings_row(const struct anneal *a, struct row_settings *r)
{
    *r = (struct row_settings){.id = 1, .tenant = 1, .realm = 1};
#define TAKE(x, name, otherwise) r->name = a->opt.name;
    ENGINE_SETTINGS(TAKE, )
#undef TAKE
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
                                .gone = o->gone,
                                .failures = o->failures,
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
    case ROWS_SETTINGS: settings_row(a, row); break;
    case ROWS_TENANT:
        *(struct row_tenant *)row = (struct row_tenant){.id = id,
                                                        .tenant = id,
                                                        .realm = 1,
                                                        .served = a->tenants.at[id].served,
                                                        .floor = a->tenants.at[id].floor,
                                                        .share = a->tenants.at[id].share,
                                                        .wish = a->tenants.at[id].wish,
                                                        .gone = a->tenants.at[id].gone};
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
    case ROWS_GROUP:
        *(struct row_grp *)row = (struct row_grp){.id = id,
                                                  .tenant = 1,
                                                  .realm = 1,
                                                  .may_fail = a->groups.at[id].may_fail,
                                                  .stops = a->groups.at[id].stops};
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
                                                    .pools = blob_of(a, s->pools, s->n_pools)};
        break;
    }
    case ROWS_TASK: task_row(a, id, row); break;
    default: break;
    }
}

static void save_one(struct anneal *a, struct buf *b, enum row_table t, uint32_t id)
{
    union {
        struct row_meta meta;
        struct row_settings settings;
        struct row_tenant tenant;
        struct row_jig jig;
        struct row_pool pool;
        struct row_grp group;
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
                              .turn_ms = l->turn_ms,
                              .input = l->input,
                              .behind = l->behind,
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
    if (a->opt_told)
        save_one(a, b, ROWS_SETTINGS, 1);
    for (uint32_t i = 1; i < a->tenants.n; i++)
        if (a->tenants.at[i].exists)
            save_one(a, b, ROWS_TENANT, i);
    for (uint32_t i = 1; i < a->jigs.n; i++)
        if (a->jigs.at[i].exists)
            save_one(a, b, ROWS_JIG, i);
    for (uint32_t i = 1; i < a->pools.n; i++)
        if (a->pools.at[i].exists)
            save_one(a, b, ROWS_POOL, i);
    for (uint32_t i = 1; i < a->groups.n; i++)
        save_one(a, b, ROWS_GROUP, i);
    for (uint32_t i = 1; i < a->nodes.n; i++)
        if (a->nodes.at[i].exists)
            save_one(a, b, ROWS_NODE, i);
    for (uint32_t i = 1; i < a->defs.n; i++)
        save_one(a, b, ROWS_DEF, i);
    for (uint32_t i = 1; i < a->ops.n; i++)
        if (a->ops.at[i].exists)
            save_one(a, b, ROWS_OPERATION, i);
    for (uint32_t i = 1; i < a->noderoles.n; i++)
        if (noderole_exists(a, i))
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
