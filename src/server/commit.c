/* commit.c - one group: what its events changed, each row once
 *
 * Rows are taken from the engine when the group closes, so that a task which changed three times in
 * a group is written once.  Additions are written at once, since their fixed texts are known only
 * then.
 *
 * A large loss is split: first its rows as bytes (redo.h), then everything else, which makes the
 * group true, then each of those rows in its place, and at the very end the bytes go.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "server/commit_i.h"

#include <stdlib.h>
#include <string.h>

#include "server/redo.h"

enum { SLICE_ROWS = 8000, REDO_SLICES = 4 };

static const enum row_table tracked[] = {ROWS_TENANT,    ROWS_JIG,      ROWS_POOL, ROWS_NODE,
                                         ROWS_OPERATION, ROWS_NODEROLE, ROWS_SPAN, ROWS_TASK};

static struct group *group_new(uint64_t number, uint64_t seq)
{
    struct group *g = xcalloc(1, sizeof *g);
    arena_init(&g->mem);
    g->number = number;
    g->first_seq = seq + 1;
    g->last_seq = seq;
    return g;
}

void group_free(struct group *g)
{
    if (!g)
        return;
    vec_done(&g->ops);
    vec_done(&g->slices);
    vec_done(&g->sends);
    vec_done(&g->stops);
    arena_done(&g->mem);
    free(g);
}

struct commit *commit_new(struct anneal *a, uint64_t group, uint64_t seq)
{
    struct commit *c = xcalloc(1, sizeof *c);
    c->engine = a;
    c->seq = seq;
    c->durable = group;
    c->slice_rows = SLICE_ROWS;
    c->open = group_new(group + 1, seq);
    return c;
}

void commit_free(struct commit *c)
{
    if (!c)
        return;
    group_free(c->open);
    effects_done(&c->fx);
    for (size_t i = 0; i < ROWS_COUNT; i++) {
        vec_done(&c->dirty[i].ids);
        vec_done(&c->dirty[i].stamp);
    }
    buf_done(&c->scratch);
    free(c);
}

void commit_set_slice(struct commit *c, uint32_t rows)
{
    c->slice_rows = rows;
}

struct commit_meta *commit_meta(struct commit *c)
{
    return &c->meta;
}

static void dirty_add(struct commit *c, enum row_table t, uint32_t id)
{
    struct dirty *d = &c->dirty[t];
    if (id >= d->stamp.n) {
        vec_reserve(&d->stamp, (size_t)id + 1);
        memset(d->stamp.at + d->stamp.n, 0, (id + 1 - d->stamp.n) * sizeof *d->stamp.at);
        d->stamp.n = (size_t)id + 1;
    }
    if (d->stamp.at[id] == c->open->number)
        return;
    d->stamp.at[id] = c->open->number;
    vec_push(&d->ids, id);
}

/* Texts and blobs of a row move to the group's memory; an update needs only what it writes. */
void *commit_row_copy(struct arena *mem, enum row_table t, enum row_verb verb, const void *row)
{
    const struct row_layout *l = &row_layouts[t];
    char *copy = arena_take(mem, l->size);
    memcpy(copy, row, l->size);
    for (uint16_t i = 0; i < l->n_columns; i++) {
        const struct row_column *col = &l->columns[i];
        struct str s;
        if (col->type != ROW_TEXT && col->type != ROW_BLOB)
            continue;
        memcpy(&s, copy + col->offset, sizeof s);
        if (verb == ROW_UPDATE && col->role != ROW_DYN)
            s = (struct str){"", 0};
        else
            s.s = arena_strndup(mem, s.n ? s.s : "", s.n);
        memcpy(copy + col->offset, &s, sizeof s);
    }
    return copy;
}

void commit_row(struct commit *c, enum row_table t, enum row_verb verb, const void *row)
{
    void *copy = commit_row_copy(&c->open->mem, t, verb, row);
    vec_push(&c->open->ops, ((struct row_op){(uint8_t)t, (uint8_t)verb, copy}));
}

/* The fixed texts of a new row come from whoever asked for it. */
static void take_fixed(enum row_table t, void *row, const void *fixed)
{
    const struct row_layout *l = &row_layouts[t];
    for (uint16_t i = 0; fixed && i < l->n_columns; i++) {
        const struct row_column *col = &l->columns[i];
        bool text = col->type == ROW_TEXT || col->type == ROW_BLOB;
        bool keep = t == ROWS_OPERATION && strcmp(col->name, "created_ms") == 0;
        if ((text && col->role == ROW_FIX) || keep || (text && t == ROWS_POOL))
            memcpy((char *)row + col->offset, (const char *)fixed + col->offset,
                   keep ? sizeof(uint64_t) : sizeof(struct str));
    }
}

void commit_insert(struct commit *c, enum row_table t, uint32_t id, const void *fixed)
{
    union any_row row;
    memset(&row, 0, sizeof row);
    anneal_row(c->engine, t, id, &row);
    take_fixed(t, &row, fixed);
    commit_row(c, t, ROW_INSERT, &row);
}

/* Additions of a plan: what hangs together is written together. */
static void insert_plan(struct commit *c, const struct plan *p)
{
    for (uint32_t i = 0; i < p->n_defs; i++) {
        struct row_def fixed = {
            .name = p->defs[i].name, .role = p->defs[i].role, .body = p->defs[i].body};
        commit_insert(c, ROWS_DEF, p->base_def + i, &fixed);
    }
    for (uint32_t i = 0; i < p->n_pools; i++) {
        struct row_pool fixed = {.name = p->pools[i].name};
        commit_insert(c, ROWS_POOL, p->base_pool + i, &fixed);
    }
    for (uint32_t i = 0; i < p->n_spans; i++)
        commit_insert(c, ROWS_SPAN, p->base_span + i, NULL);
    for (uint32_t i = 0; i < p->n_noderoles; i++) {
        const struct plan_noderole *r = &p->noderoles[i];
        union any_row row;
        memset(&row, 0, sizeof row);
        anneal_row(c->engine, ROWS_NODEROLE, p->base_noderole + i, &row);
        row.noderole.role = r->role;
        row.noderole.deployment = r->deployment;
        commit_row(c, ROWS_NODEROLE, ROW_INSERT, &row);
        struct row_document doc = {.id = p->base_noderole + i,
                                   .tenant = row.noderole.tenant,
                                   .realm = 1,
                                   .rev = 1,
                                   .user = r->user,
                                   .wall = {"", 0}};
        commit_row(c, ROWS_DOCUMENT, ROW_INSERT, &doc);
    }
    for (uint32_t i = 0; i < p->n_tasks; i++)
        commit_insert(c, ROWS_TASK, p->base_task + i, NULL);
}

static bool added_by(const struct event *ev, const struct change *ch)
{
    const struct plan *p = ev->plan;
    switch ((int)ev->kind) {
    case EVENT_NODE_ADD: return ch->table == ROWS_NODE && ch->id == ev->id;
    case EVENT_TENANT_ADD: return ch->table == ROWS_TENANT && ch->id == ev->id;
    case EVENT_OPERATION_ADD: return ch->table == ROWS_OPERATION && ch->id == ev->id;
    case EVENT_PLAN_APPLY:
        return (ch->table == ROWS_TASK && ch->id >= p->base_task) ||
               (ch->table == ROWS_NODEROLE && ch->id >= p->base_noderole) ||
               (ch->table == ROWS_SPAN && ch->id >= p->base_span) ||
               (ch->table == ROWS_POOL && p->n_pools && ch->id >= p->base_pool);
    default: return false;
    }
}

static void insert_added(struct commit *c, const struct event *ev, const struct commit_note *note)
{
    switch ((int)ev->kind) {
    case EVENT_NODE_ADD: commit_insert(c, ROWS_NODE, ev->id, note->fixed); break;
    case EVENT_TENANT_ADD: commit_insert(c, ROWS_TENANT, ev->id, note->fixed); break;
    case EVENT_OPERATION_ADD: commit_insert(c, ROWS_OPERATION, ev->id, note->fixed); break;
    case EVENT_JIG_SET:
        if (note->fixed)
            commit_insert(c, ROWS_JIG, ev->id, note->fixed);
        break;
    case EVENT_POOL_SET:
        if (note->fixed)
            commit_insert(c, ROWS_POOL, ev->id, note->fixed);
        break;
    case EVENT_PLAN_APPLY: insert_plan(c, ev->plan); break;
    default: break;
    }
}

/* Rows the event touched.  READY is not stored, and RUNNING is told by the open attempt's row: a
 * start writes one row, not two. */
static void note_changes(struct commit *c, const struct event *ev, bool inserted_fixed)
{
    for (size_t i = 0; i < c->fx.changes.n; i++) {
        const struct change *ch = &c->fx.changes.at[i];
        bool unstored = ch->table == ROWS_TASK && ch->from != ch->to && ch->from <= TASK_READY &&
                        ch->to <= TASK_RUNNING;
        if (ch->table == ROWS_META || unstored || (ev && added_by(ev, ch)))
            continue;
        if (inserted_fixed && ev && ch->id == ev->id &&
            (ch->table == ROWS_JIG || ch->table == ROWS_POOL))
            continue;
        dirty_add(c, (enum row_table)ch->table, ch->id);
    }
    c->large |= c->fx.cones.n > 0;
}

static void note_attempts(struct commit *c, const struct commit_note *note)
{
    for (size_t i = 0; i < c->fx.attempts.n; i++) {
        struct row_attempt row = c->fx.attempts.at[i].row;
        row.started_wall_ms = note->wall_ms;
        row.note = str_of(note->text ? note->text : "");
        commit_row(c, ROWS_ATTEMPT, (enum row_verb)c->fx.attempts.at[i].verb, &row);
    }
    for (size_t i = 0; i < c->fx.sends.n; i++) {
#ifdef ANNEAL_DEFECT_OUTBOX
        if (c->open->number % 50 == 0 && c->open->sends.n == 0 && i == 0)
            continue; /* a message is forgotten */
#endif
        vec_push(&c->open->sends, c->fx.sends.at[i]);
    }
    for (size_t i = 0; i < c->fx.stops.n; i++)
        vec_push(&c->open->stops, c->fx.stops.at[i]);
}

int commit_event(struct commit *c, const struct event *ev, const struct commit_note *note,
                 const struct effects **ret_fx, struct err *e)
{
    static const struct commit_note nobody;
    if (!note)
        note = &nobody;
    if (commit_must_wait(c))
        return err_set(e, ERR_BUSY, "a large loss is being written");
    int r = anneal_step(c->engine, ev, &c->fx, e);
    if (r < 0)
        return r;
    if (ret_fx)
        *ret_fx = &c->fx;
    bool nothing = c->fx.changes.n == 0 && c->fx.attempts.n == 0;
    if (nothing && (ev->kind == EVENT_TICK || ev->kind == EVENT_RESULT ||
                    ev->kind == EVENT_NODE_SEEN || ev->kind == EVENT_NODE_SILENT))
        return 0;
    insert_added(c, ev, note);
    note_changes(c, ev, note->fixed != NULL);
    note_attempts(c, note);
    commit_journal(c, ev, note);
    return 0;
}

void commit_inventory(struct commit *c, const struct event *ev, const struct commit_note *note)
{
    effects_clear(&c->fx);
    commit_journal(c, ev, note);
}

uint32_t commit_pending(const struct commit *c)
{
    return c->open->events;
}

uint64_t commit_open_group(const struct commit *c)
{
    return c->open->number;
}

uint64_t commit_seq(const struct commit *c)
{
    return c->seq;
}

bool commit_must_wait(const struct commit *c)
{
    return c->large || c->long_group > c->durable;
}

void commit_durable(struct commit *c, uint64_t number)
{
    if (number > c->durable)
        c->durable = number;
}

static struct row_op update_op(struct commit *c, struct group *g, enum row_table t, uint32_t id)
{
    union any_row row;
    anneal_row(c->engine, t, id, &row);
    return (struct row_op){(uint8_t)t, ROW_UPDATE, commit_row_copy(&g->mem, t, ROW_UPDATE, &row)};
}

static void put_meta(struct commit *c, struct group *g)
{
    struct row_meta *m = arena_new(&g->mem, struct row_meta, 1);
    anneal_row(c->engine, ROWS_META, 1, m);
    m->group_no = g->number;
    m->journal_seq = g->last_seq;
    m->next_deployment = c->meta.next_deployment;
    m->next_token = c->meta.next_token;
    m->catalog = c->meta.catalog;
    m->run_no = c->meta.run_no;
    m->engine = str_of(ANNEAL_VERSION);
    vec_push(&g->ops, ((struct row_op){ROWS_META, ROW_PUT, m}));
}

static bool goes_later(const struct commit *c, enum row_table t)
{
    return c->large && (t == ROWS_NODEROLE || t == ROWS_TASK);
}

static void put_updates(struct commit *c, struct group *g)
{
    for (size_t i = 0; i < sizeof tracked / sizeof *tracked; i++) {
        const struct dirty *d = &c->dirty[tracked[i]];
        for (size_t k = 0; k < d->ids.n && !goes_later(c, tracked[i]); k++)
            vec_push(&g->ops, update_op(c, g, tracked[i], d->ids.at[k]));
    }
    g->last_seq = c->seq;
    put_meta(c, g);
    vec_push(&g->slices, g->ops.n);
}

static int by_number(const void *x, const void *y)
{
    uint32_t a = *(const uint32_t *)x, b = *(const uint32_t *)y;
    return (a > b) - (a < b);
}

static struct row_cone *cone_row(struct group *g, uint32_t id)
{
    struct row_cone *row = arena_new(&g->mem, struct row_cone, 1);
    *row = (struct row_cone){.id = id, .tenant = 1, .realm = 1, .reason = REASON_PARENT_LOST};
    return row;
}

/* The rows as bytes, before anything of the group; each portion is a transaction.  Returns how
 * many. */
static uint32_t put_redo(struct commit *c, struct group *g, const struct row_op *ops, size_t n)
{
    uint32_t portions = 0;
    size_t most = (size_t)c->slice_rows * REDO_SLICES;
    for (size_t at = 0; at < n;) {
        redo_begin(&c->scratch, g->number);
        for (size_t end = at + most < n ? at + most : n; at < end; at++)
            redo_add(&c->scratch, ops[at].table, ops[at].row);
        struct row_cone *row = cone_row(g, ++portions);
        row->body.s = arena_strndup(&g->mem, c->scratch.data, c->scratch.len);
        row->body.n = c->scratch.len;
        vec_push(&g->ops, ((struct row_op){ROWS_CONE, ROW_PUT, row}));
        vec_push(&g->slices, g->ops.n);
    }
    return portions;
}

static void put_large(struct commit *c, struct group *g)
{
    VEC(struct row_op) own = {g->ops.at, g->ops.n, g->ops.cap}, later = {0};
    memset(&g->ops, 0, sizeof g->ops);
    for (size_t i = 0; i < sizeof tracked / sizeof *tracked; i++) {
        struct dirty *d = &c->dirty[tracked[i]];
        if (!goes_later(c, tracked[i]))
            continue;
        qsort(d->ids.at, d->ids.n, sizeof(uint32_t), by_number); /* in the order they lie */
        for (size_t k = 0; k < d->ids.n; k++)
            vec_push(&later, update_op(c, g, tracked[i], d->ids.at[k]));
    }
    uint32_t portions = put_redo(c, g, later.at, later.n);
    for (size_t i = 0; i < own.n; i++)
        vec_push(&g->ops, own.at[i]);
    put_updates(c, g); /* from here on the group is true */
    for (size_t i = 0; i < later.n; i++) {
        if (i > 0 && i % c->slice_rows == 0)
            vec_push(&g->slices, g->ops.n);
        vec_push(&g->ops, later.at[i]);
    }
    for (uint32_t i = 1; i <= portions; i++)
        vec_push(&g->ops, ((struct row_op){ROWS_CONE, ROW_DELETE, cone_row(g, i)}));
    vec_push(&g->slices, g->ops.n);
    vec_done(&own);
    vec_done(&later);
    c->long_group = g->number;
}

bool commit_has_work(const struct commit *c)
{
    bool clean = c->open->ops.n == 0 && c->open->events == 0;
    for (size_t i = 0; clean && i < sizeof tracked / sizeof *tracked; i++)
        clean = c->dirty[tracked[i]].ids.n == 0;
    return !clean;
}

struct group *commit_close(struct commit *c)
{
    struct group *g = c->open;
    if (!commit_has_work(c))
        return NULL;
    if (c->large)
        put_large(c, g);
    else
        put_updates(c, g);
    for (size_t i = 0; i < ROWS_COUNT; i++)
        vec_clear(&c->dirty[i].ids);
    c->large = false;
    c->open = group_new(g->number + 1, c->seq);
    return g;
}
