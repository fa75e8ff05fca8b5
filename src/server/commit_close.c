/* commit_close.c - the open group becomes rows
 *
 * A row is written in its place if some of its neighbours are, too, or if there are few rows at
 * all; otherwise it is put aside (aside.h), and each group brings some of what was put aside
 * earlier to its place.  A large loss is split: first its rows are put aside in parts, each a
 * transaction, then comes everything else, which makes the group true.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/sort.h"
#include "server/commit_i.h"

enum {
    PART_SLICES = 4,    /* rows as bytes cost a quarter of rows in their places */
    FEW_OF_SLICE = 128, /* a group with fewer rows than this part of a slice writes them in place */
    DENSE = 4,          /* rows of a word of ids that are worth its page */
    ASIDE_SHARE = 8,    /* one row in so many is aside before the sweep moves */
    ROWS_OF_SLICE = 2,  /* or this part of a slice, if that is more */
    ROWS_PER_ROW = 4,   /* bytes of so many rows are kept for each of these */
    PARTS_OF_SLICE = 4, /* in as many parts as this part of a slice has rows */
    SWEEP_EASE = 32,    /* what is too much goes within about so many groups */
    DROP_MOST = 16,     /* parts dropped by one group */
};

static const enum row_table tracked[] = {ROWS_TENANT,    ROWS_JIG,      ROWS_POOL, ROWS_NODE,
                                         ROWS_OPERATION, ROWS_NODEROLE, ROWS_SPAN, ROWS_TASK};

static void take_row(struct commit *c, enum row_table t, uint32_t id, union row_any *ret_row)
{
    anneal_row(c->engine, t, id, ret_row);
    if (t == ROWS_TASK)
        ret_row->task.last = commit_last_attempt(c, id);
}

static void put_op(struct group *g, enum row_table t, enum row_verb verb, const void *row)
{
    vec_push(&g->ops, ((struct row_op){(uint8_t)t, (uint8_t)verb, row}));
}

/* A noderole that vanished is, as a row, one in state REMOVED; in its place that is no row at all,
 * and its data go with it. */
static bool vanished(const struct commit *c, enum row_table t, uint32_t id)
{
    struct noderole_view v;
    return t == ROWS_NODEROLE && !anneal_noderole(c->engine, id, &v);
}

static void put_delete(struct group *g, enum row_table t, uint32_t id)
{
    union row_any *row = arena_new(&g->mem, union row_any, 1);
    if (t == ROWS_NODEROLE)
        row->noderole.id = id;
    else
        row->document.id = id;
    put_op(g, t, ROW_DELETE, row);
}

static void put_in_place(struct commit *c, struct group *g, enum row_table t, uint32_t id)
{
    union row_any row;
    if (vanished(c, t, id)) {
        put_delete(g, t, id);
        put_delete(g, ROWS_DOCUMENT, id);
        return;
    }
    take_row(c, t, id, &row);
    put_op(g, t, ROW_UPDATE, commit_row_copy(&g->mem, t, ROW_UPDATE, &row));
}

/* Into the bytes of the part that is being written; only what an update writes. */
static void put_aside(struct commit *c, struct group *g, enum row_table t, uint32_t id)
{
    const struct row_layout *l = &row_layouts[t];
    union row_any row;
    take_row(c, t, id, &row);
    for (uint16_t i = 0; i < l->n_columns; i++)
        if (l->columns[i].role == ROW_FIX &&
            (l->columns[i].type == ROW_TEXT || l->columns[i].type == ROW_BLOB))
            memcpy((char *)&row + l->columns[i].offset, &(struct str){"", 0}, sizeof(struct str));
    if (vanished(c, t, id))
        put_delete(g, ROWS_DOCUMENT, id);
    aside_put(&c->scratch, t, &row);
    aside_note(&c->aside, t, id, g->number);
}

static void put_part(struct commit *c, struct group *g, uint32_t part, size_t rows)
{
    struct row_aside *row = arena_new(&g->mem, struct row_aside, 1);
    *row = (struct row_aside){
        .id = aside_keep(&c->aside, g->number, part, (uint32_t)rows),
        .tenant = 1,
        .realm = 1,
        .body = {arena_strndup(&g->mem, c->scratch.data, c->scratch.len), c->scratch.len}};
    put_op(g, ROWS_ASIDE, ROW_INSERT, row);
    buf_clear(&c->scratch);
}

static void drop_part(struct group *g, uint64_t id)
{
    struct row_aside *row = arena_new(&g->mem, struct row_aside, 1);
    row->id = id;
    put_op(g, ROWS_ASIDE, ROW_DELETE, row);
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
    m->attempts = c->meta.attempts;
    m->fence = c->meta.fence;
    m->engine = str_of(ANNEAL_VERSION);
    put_op(g, ROWS_META, ROW_PUT, m);
}

/* Rows of one table, in their places or aside; returns how many were put aside. */
static size_t put_rows(struct commit *c, struct group *g, enum row_table t)
{
    const struct dirty *d = &c->dirty[t];
    bool takes = aside_takes(t), few = d->ids.n < c->slice_rows / FEW_OF_SLICE;
    size_t put = 0;
    for (size_t k = 0, end; k < d->ids.n; k = end) {
        for (end = k; end < d->ids.n; end++)
            if (d->ids.at[end] / ASIDE_WORD != d->ids.at[k] / ASIDE_WORD)
                break;
        for (size_t i = k; i < end; i++) {
            bool worth = few || end - k >= DENSE;
            if (!takes || (worth && !aside_has(&c->aside, t, d->ids.at[i]))) {
                put_in_place(c, g, t, d->ids.at[i]);
            } else {
                put_aside(c, g, t, d->ids.at[i]);
                put++;
            }
        }
    }
    return put;
}

struct placing {
    struct commit *commit;
    struct group *group;
};

static void place(void *arg, enum row_table t, uint32_t id)
{
    struct placing *p = arg;
    put_in_place(p->commit, p->group, t, id);
}

/* What is aside is kept within bounds, in rows, bytes and parts: each group beyond them brings as
 * much to its place as it put aside and as much again, and some of what is too much. */
static void sweep(struct commit *c, struct group *g, size_t put)
{
    uint64_t most = anneal_task_end(c->engine) / ASIDE_SHARE, id;
    if (most < c->slice_rows / ROWS_OF_SLICE)
        most = c->slice_rows / ROWS_OF_SLICE;
    if (c->aside.rows > most * ROWS_PER_ROW ||
        aside_parts(&c->aside) > c->slice_rows / PARTS_OF_SLICE)
        most = 0; /* much was put aside again and again: turns must be shorter */
    if (c->aside.count > most)
        aside_sweep(&c->aside, g->number, 2 * put + 1 + (c->aside.count - most) / SWEEP_EASE, place,
                    &(struct placing){c, g});
    for (int i = 0; i < DROP_MOST && aside_drop(&c->aside, &id); i++)
        drop_part(g, id);
}

/* Everything but the parts of a large loss: the transaction that makes the group true. */
static void put_updates(struct commit *c, struct group *g)
{
    size_t put = 0;
    buf_clear(&c->scratch);
    for (size_t i = 0; i < sizeof tracked / sizeof *tracked; i++)
        if (!c->large || !aside_takes(tracked[i]))
            put += put_rows(c, g, tracked[i]);
    if (put > 0)
        put_part(c, g, 0, put);
    if (!c->large)
        sweep(c, g, put);
    g->last_seq = c->seq;
    put_meta(c, g);
    vec_push(&g->slices, g->ops.n);
}

static void put_large(struct commit *c, struct group *g)
{
    uint32_t part = 0;
    size_t rows = 0;
    buf_clear(&c->scratch);
    for (size_t i = 0; i < ASIDE_TABLES; i++) {
        const struct dirty *d = &c->dirty[aside_tables[i]];
        for (size_t k = 0; k < d->ids.n; k++) {
            put_aside(c, g, aside_tables[i], d->ids.at[k]);
            if (++rows < (size_t)c->slice_rows * PART_SLICES)
                continue;
            put_part(c, g, ++part, rows);
            vec_push(&g->slices, g->ops.n);
            rows = 0;
        }
    }
    if (rows > 0) {
        put_part(c, g, ++part, rows);
        vec_push(&g->slices, g->ops.n);
    }
    c->long_group = g->number;
}

/* What must come before anything of the group itself. */
static void put_first(struct commit *c, struct group *g)
{
    VEC(struct row_op) own = {g->ops.at, g->ops.n, g->ops.cap};
    memset(&g->ops, 0, sizeof g->ops);
    for (size_t i = 0; i < c->aside.unborn.n; i++)
        drop_part(g, c->aside.unborn.at[i]);
    vec_clear(&c->aside.unborn);
    if (c->large)
        put_large(c, g);
    for (size_t i = 0; i < own.n; i++)
        vec_push(&g->ops, own.at[i]);
    vec_done(&own);
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
    for (size_t i = 0; i < ROWS_COUNT; i++)
        sort_u32(c->dirty[i].ids.at, c->dirty[i].ids.n); /* in the order in which they lie */
    if (c->large || c->aside.unborn.n > 0)
        put_first(c, g);
    put_updates(c, g);
    for (size_t i = 0; i < ROWS_COUNT; i++)
        vec_clear(&c->dirty[i].ids);
    c->large = false;
    c->open = commit_group_new(g->number + 1, c->seq);
    return g;
}
