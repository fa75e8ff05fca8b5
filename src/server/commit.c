/* commit.c - the open group: events into the engine, and which rows they changed
 *
 * Rows that change are only noted; they are taken from the engine when the group closes
 * (commit_close.c), so that a task which changed three times in a group is written once.  Additions
 * are written at once, since their fixed texts are known only then, and so are attempts, which the
 * engine forgets when they end.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "server/commit_i.h"

#include <stdlib.h>
#include <string.h>

enum { SLICE_ROWS = 8000 };

struct group *commit_group_new(uint64_t number, uint64_t seq)
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
    c->open = commit_group_new(group + 1, seq);
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
    aside_done(&c->aside);
    vec_done(&c->last);
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

static void commit_insert(struct commit *c, enum row_table t, uint32_t id, const void *fixed)
{
    union row_any row;
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
    for (uint32_t i = 0; i < p->n_groups; i++) {
        struct row_grp fixed = {.name = p->groups[i].name};
        commit_insert(c, ROWS_GROUP, anneal_group_end(c->engine) - p->n_groups + i, &fixed);
    }
    for (uint32_t i = 0; i < p->n_spans; i++)
        commit_insert(c, ROWS_SPAN, p->base_span + i, NULL);
    for (uint32_t i = 0; i < p->n_noderoles; i++) {
        const struct plan_noderole *r = &p->noderoles[i];
        union row_any row;
        memset(&row, 0, sizeof row);
        anneal_row(c->engine, ROWS_NODEROLE, p->base_noderole + i, &row);
        row.noderole.role = r->role;
        commit_row(c, ROWS_NODEROLE, ROW_INSERT, &row);
        struct row_document doc = {.id = p->base_noderole + i,
                                   .tenant = row.noderole.tenant,
                                   .realm = 1,
                                   .rev = 1,
                                   .deployment = r->deployment,
                                   .user = r->user,
                                   .wall = {"", 0},
                                   .lens = r->lens};
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
        return (ch->table == ROWS_TASK && ch->id >= p->base_task) || ch->table == ROWS_GROUP ||
               (ch->table == ROWS_NODEROLE && ch->id >= p->base_noderole) ||
               (ch->table == ROWS_SPAN && ch->id >= p->base_span) ||
               (ch->table == ROWS_POOL && p->n_pools && ch->id >= p->base_pool);
    default: return false;
    }
}

/* Rows that change are written after rows that are added; this one first, since what is added later
 * in the group may have its name. */
static void update_now(struct commit *c, enum row_table t, uint32_t id)
{
    union row_any row;
    memset(&row, 0, sizeof row);
    anneal_row(c->engine, t, id, &row);
    commit_row(c, t, ROW_UPDATE, &row);
}

/* The first time it is a new row. */
static void put_settings(struct commit *c)
{
    struct row_settings row;
    anneal_row(c->engine, ROWS_SETTINGS, 1, &row);
    commit_row(c, ROWS_SETTINGS, ROW_PUT, &row);
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
    case EVENT_NODE_GONE: update_now(c, ROWS_NODE, ev->id); break;
    case EVENT_SETTINGS_SET: put_settings(c); break;
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
        if (ch->table == ROWS_META || ch->table == ROWS_SETTINGS || unstored ||
            (ev && added_by(ev, ch)))
            continue;
        if (inserted_fixed && ev && ch->id == ev->id &&
            (ch->table == ROWS_JIG || ch->table == ROWS_POOL))
            continue;
        dirty_add(c, (enum row_table)ch->table, ch->id);
    }
    c->large |= c->fx.cones.n > 0;
}

void commit_attempt_at(struct commit *c, uint32_t task, uint64_t id)
{
    while (task >= c->last.n)
        vec_push(&c->last, (uint64_t)0);
    c->last.at[task] = id;
}

uint64_t commit_last_attempt(const struct commit *c, uint32_t task)
{
    return task < c->last.n ? c->last.at[task] : 0;
}

/* Stored ids rise as attempts start; what changes later is always a task's newest one. */
static void store_attempt_as(struct commit *c, enum row_verb verb, struct row_attempt *row)
{
    row->task = (uint32_t)(row->id >> ATTEMPT_BITS);
    row->number = (uint32_t)(row->id & ((1u << ATTEMPT_BITS) - 1));
    if (verb == ROW_INSERT) {
        row->previous = commit_last_attempt(c, row->task);
        commit_attempt_at(c, row->task, ++c->meta.attempts);
    }
    row->id = commit_last_attempt(c, row->task);
}

static void note_attempts(struct commit *c, const struct commit_note *note)
{
    for (size_t i = 0; i < c->fx.attempts.n; i++) {
        struct row_attempt row = c->fx.attempts.at[i].row;
        store_attempt_as(c, (enum row_verb)c->fx.attempts.at[i].verb, &row);
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
    return (c->large && !c->joining) || c->long_group > c->durable;
}

void commit_join(struct commit *c, bool on)
{
    c->joining = on;
}

void commit_durable(struct commit *c, uint64_t number)
{
    if (number > c->durable)
        c->durable = number;
}

static const struct row_attempt *starting_in(const struct group *g, uint64_t id)
{
    for (size_t i = g ? g->ops.n : 0; i-- > 0;)
        if (g->ops.at[i].table == ROWS_ATTEMPT && g->ops.at[i].verb == ROW_INSERT &&
            row_key(ROWS_ATTEMPT, g->ops.at[i].row) == id)
            return g->ops.at[i].row;
    return NULL;
}

const struct row_attempt *commit_attempt_starting(const struct commit *c,
                                                  const struct group *flying, uint64_t id)
{
    const struct row_attempt *row = starting_in(c->open, id);
    return row ? row : starting_in(flying, id);
}
