/* redo.c - the bytes of rows that are not in their place yet, and putting them there after a crash
 *
 * Bytes: the group's number, then table and canonical row, again and again.  Putting a row in place
 * twice does no harm, so a crash while finishing is finished by the next start.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "server/redo.h"

#include <endian.h>

#include "base/alloc.h"

void redo_begin(struct buf *b, uint64_t group)
{
    group = htole64(group);
    buf_clear(b);
    buf_put(b, &group, sizeof group);
}

void redo_add(struct buf *b, enum row_table t, const void *row)
{
    buf_putc(b, (char)t);
    row_encode(b, t, row);
}

struct found {
    struct arena *mem;
    VEC(struct row_cone) rows;
};

static int find(void *arg, enum row_table t, const void *row, struct err *e)
{
    struct found *f = arg;
    struct row_cone copy = *(const struct row_cone *)row;
    (void)t;
    (void)e;
    copy.body.s = arena_strndup(f->mem, copy.body.s, copy.body.n);
    vec_push(&f->rows, copy);
    return 0;
}

static int finish_one(struct store *s, struct arena *mem, const struct row_cone *cone,
                      uint64_t group, struct err *e)
{
    struct str from = cone->body;
    uint64_t of = 0;
    VEC(struct row_op) ops = {0};
    if (from.n >= sizeof of)
        memcpy(&of, from.s, sizeof of);
    size_t at = sizeof of;
    while (le64toh(of) == group && at < from.n) {
        enum row_table t = (enum row_table)(uint8_t)from.s[at++];
        void *row = arena_take(mem, sizeof(union row_any));
        size_t n = t < ROWS_COUNT ? row_decode(t, (struct str){from.s + at, from.n - at}, row) : 0;
        if (n == 0) {
            vec_done(&ops);
            return err_set(e, ERR_CORRUPT, "cone %u: byte %zu is not the start of a row", cone->id,
                           at);
        }
        vec_push(&ops, ((struct row_op){(uint8_t)t, ROW_UPDATE, row}));
        at += n;
    }
    vec_push(&ops, ((struct row_op){ROWS_CONE, ROW_DELETE, cone}));
    int r = store_commit(s, ops.at, ops.n, e);
    vec_done(&ops);
    return r;
}

int redo_finish(struct store *s, uint64_t group, struct err *e)
{
    SCOPED_ARENA(mem);
    struct found f = {.mem = &mem};
    int r = store_each(s, ROWS_CONE, find, &f, e);
    for (size_t i = 0; r >= 0 && i < f.rows.n; i++)
        r = finish_one(s, &mem, &f.rows.at[i], group, e);
    vec_done(&f.rows);
    return r;
}
