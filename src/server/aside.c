/* aside.c - which rows are put aside, the sweep that brings them to their places, reading them back
 *
 * The bits are in words of 64 ids, which is about what a page of the file holds of these tables:
 * the sweep takes a word at a time.  It goes round all words of one table after the other. Whatever
 * was put aside when a turn began is in its place when the turn ends; so at each end, what groups
 * up to the turn's first put aside may go.
 *
 * Bytes of a part: table and canonical row, again and again.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "server/aside.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "model/states.h"

const enum row_table aside_tables[ASIDE_TABLES] = {ROWS_NODEROLE, ROWS_TASK};

static size_t index_of(enum row_table t)
{
    size_t i = 0;
    while (i < ASIDE_TABLES && aside_tables[i] != t)
        i++;
    return i;
}

bool aside_takes(enum row_table t)
{
    return index_of(t) < ASIDE_TABLES;
}

void aside_done(struct aside *a)
{
    for (size_t i = 0; i < ASIDE_TABLES; i++) {
        vec_done(&a->of[i].words);
        vec_done(&a->of[i].group);
    }
    vec_done(&a->kept);
    vec_done(&a->unborn);
}

bool aside_has(const struct aside *a, enum row_table t, uint32_t id)
{
    size_t i = index_of(t);
    return a->dropped < a->kept.n && id < a->of[i].group.n &&
           a->of[i].group.at[id] >= a->kept.at[a->dropped].id >> ASIDE_PART_BITS;
}

void aside_note(struct aside *a, enum row_table t, uint32_t id, uint64_t group)
{
    size_t i = index_of(t), word = id / ASIDE_WORD;
    while (word >= a->of[i].words.n)
        vec_push(&a->of[i].words, (uint64_t)0);
    while (id >= a->of[i].group.n)
        vec_push(&a->of[i].group, (uint64_t)0);
    a->of[i].group.at[id] = group;
    uint64_t *at = &a->of[i].words.at[word], bit = UINT64_C(1) << id % ASIDE_WORD;
    a->count += !(*at & bit);
    *at |= bit;
}

static void keep(struct aside *a, uint64_t id, uint32_t rows)
{
    vec_push(&a->kept, ((struct aside_part){id, rows}));
    a->rows += rows;
}

uint64_t aside_keep(struct aside *a, uint64_t group, uint32_t part, uint32_t rows)
{
    uint64_t id = group << ASIDE_PART_BITS | part;
    keep(a, id, rows);
    return id;
}

size_t aside_parts(const struct aside *a)
{
    return a->kept.n - a->dropped;
}

void aside_put(struct buf *b, enum row_table t, const void *row)
{
    buf_putc(b, (char)t);
    row_encode(b, t, row);
}

/* ---- the sweep ---- */

static void take_word(struct aside *a, size_t *left, aside_place_f *place, void *arg)
{
    uint64_t *bits = &a->of[a->table].words.at[a->word];
    for (; *bits; *bits &= *bits - 1) {
        place(arg, aside_tables[a->table],
              (uint32_t)(a->word * ASIDE_WORD + (size_t)__builtin_ctzll(*bits)));
        a->count--;
        *left -= *left > 0;
    }
}

void aside_sweep(struct aside *a, uint64_t group, size_t rows, aside_place_f *place, void *arg)
{
    while (rows > 0 && a->count > 0) {
        if (a->word < a->of[a->table].words.n) {
            take_word(a, &rows, place, arg);
            a->word++;
            continue;
        }
        a->word = 0;
        a->table = (a->table + 1) % ASIDE_TABLES;
        if (a->table == 0) {
            a->settled = a->began;
            a->began = group;
        }
    }
    if (a->count == 0)
        a->settled = a->began = group;
}

bool aside_drop(struct aside *a, uint64_t *ret_id)
{
    if (a->dropped == a->kept.n || a->kept.at[a->dropped].id >> ASIDE_PART_BITS > a->settled)
        return false;
    *ret_id = a->kept.at[a->dropped].id;
    a->rows -= a->kept.at[a->dropped++].rows;
    if (a->dropped * 2 > a->kept.n) { /* what is gone is forgotten now and then */
        a->kept.n -= a->dropped;
        memmove(a->kept.at, a->kept.at + a->dropped, a->kept.n * sizeof *a->kept.at);
        a->dropped = 0;
    }
    return true;
}

/* ---- reading ---- */

struct reading {
    struct aside *aside;
    struct aside_rows *rows;
    uint64_t group;
};

static int damaged(uint64_t id, size_t at, struct err *e)
{
    err_set(e, ERR_CORRUPT, "aside %" PRIu64 ": byte %zu is not the start of a row", id, at);
    err_hint(e, "restore a backup with: anneal admin restore BACKUP");
    return -(int)ERR_CORRUPT;
}

static int read_part(void *arg, enum row_table t, const void *row, struct err *e)
{
    struct reading *g = arg;
    const struct row_aside *part = row;
    (void)t;
    if (part->id >> ASIDE_PART_BITS > g->group) {
        vec_push(&g->aside->unborn, part->id);
        return 0;
    }
    size_t before = g->rows->refs.n;
    struct str body = {arena_strndup(&g->rows->mem, part->body.s, part->body.n), part->body.n};
    for (size_t at = 0; at < body.n;) {
        enum row_table of = (enum row_table)(uint8_t)body.s[at];
        struct str rest = {body.s + at + 1, body.n - at - 1};
        union row_any one;
        size_t n = of < ROWS_COUNT && aside_takes(of) ? row_decode(of, rest, &one) : 0;
        if (n == 0)
            return damaged(part->id, at, e);
        uint32_t id = (uint32_t)row_key(of, &one);
        aside_note(g->aside, of, id, part->id >> ASIDE_PART_BITS);
        vec_push(&g->rows->refs, ((struct aside_ref){.bytes = {rest.s, n},
                                                     .id = id,
                                                     .order = (uint32_t)g->rows->refs.n,
                                                     .table = (uint8_t)of}));
        at += 1 + n;
    }
    keep(g->aside, part->id, (uint32_t)(g->rows->refs.n - before));
    return 0;
}

static int by_row(const void *x, const void *y)
{
    const struct aside_ref *a = x, *b = y;
    if (a->table != b->table)
        return (a->table > b->table) - (a->table < b->table);
    if (a->id != b->id)
        return (a->id > b->id) - (a->id < b->id);
    return (a->order > b->order) - (a->order < b->order);
}

int aside_read(struct store *s, uint64_t group, struct aside *ret_a, struct aside_rows *ret_r,
               struct err *e)
{
    struct reading g = {ret_a, ret_r, group};
    arena_init(&ret_r->mem);
    int r = store_each(s, ROWS_ASIDE, read_part, &g, e);
    if (r < 0)
        return r;
    ret_a->began = group;
    struct aside_ref *refs = ret_r->refs.at;
    size_t n = ret_r->refs.n, keep = 0;
    if (n > 0)
        qsort(refs, n, sizeof *refs, by_row);
    for (size_t i = 0; i < n; i++)
        if (i + 1 == n || refs[i].table != refs[i + 1].table || refs[i].id != refs[i + 1].id)
            refs[keep++] = refs[i];
    ret_r->refs.n = keep;
    return 0;
}

void aside_rows_done(struct aside_rows *r)
{
    vec_done(&r->refs);
    arena_done(&r->mem);
}

static size_t field_size(enum row_type type)
{
    switch (type) {
    case ROW_U8: return sizeof(uint8_t);
    case ROW_U32: return sizeof(uint32_t);
    case ROW_U64:
    case ROW_I64: return sizeof(uint64_t);
    case ROW_TEXT:
    case ROW_BLOB: break;
    }
    return sizeof(struct str);
}

static int missing(const struct aside_ref *f, struct err *e)
{
    err_set(e, ERR_CORRUPT, "%s %u was changed but is not there", row_layouts[f->table].name,
            f->id);
    err_hint(e, "restore a backup with: anneal admin restore BACKUP");
    return -(int)ERR_CORRUPT;
}

/* The last that was put aside of it is its end: its row may be gone already. */
static bool is_end(const struct aside_ref *f)
{
    union row_any row;
    return f->table == ROWS_NODEROLE && row_decode(ROWS_NODEROLE, f->bytes, &row) > 0 &&
           row.noderole.state == NODEROLE_REMOVED;
}

static void skip_ends(struct aside_rows *r, enum row_table t, uint64_t key)
{
    while (r->at < r->refs.n &&
           (r->refs.at[r->at].table < t ||
            (r->refs.at[r->at].table == t && r->refs.at[r->at].id < key)) &&
           is_end(&r->refs.at[r->at]))
        r->at++;
}

int aside_over(struct aside_rows *r, enum row_table t, const void *row, union row_any *room,
               const void **ret_row, struct err *e)
{
    const struct row_layout *l = &row_layouts[t];
    uint64_t key = row_key(t, row);
    *ret_row = row;
    skip_ends(r, t, key);
    if (r->at == r->refs.n || r->refs.at[r->at].table > t)
        return 0;
    const struct aside_ref *f = &r->refs.at[r->at];
    if (f->table < t || f->id < key)
        return missing(f, e);
    if (f->id > key)
        return 0;
    union row_any newer;
    (void)row_decode(t, f->bytes, &newer); /* it could be when it was found */
    memcpy(room, row, l->size);
    for (uint16_t i = 0; i < l->n_columns; i++) {
        const struct row_column *c = &l->columns[i];
        if (c->role == ROW_DYN)
            memcpy((char *)room + c->offset, (const char *)&newer + c->offset,
                   field_size((enum row_type)c->type));
    }
    r->at++;
    *ret_row = room;
    return 0;
}

int aside_end(struct aside_rows *r, struct err *e)
{
    skip_ends(r, ROWS_COUNT, 0);
    return r->at < r->refs.n ? missing(&r->refs.at[r->at], e) : 0;
}
