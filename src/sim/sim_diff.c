/* sim_diff.c - where two saved engines differ: the first rows, and the first column of each */
/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/sim_i.h"

#include <inttypes.h>

enum { DIFFERENCES_SHOWN = 4 };

static uint64_t column_value(const struct row_column *c, const void *row)
{
    const char *at = (const char *)row + c->offset;
    struct str s;
    uint32_t u32;
    uint64_t u64;
    switch ((enum row_type)c->type) {
    case ROW_U8: return *(const uint8_t *)at;
    case ROW_U32: memcpy(&u32, at, sizeof u32); return u32;
    case ROW_U64:
    case ROW_I64: memcpy(&u64, at, sizeof u64); return u64;
    case ROW_TEXT:
    case ROW_BLOB: memcpy(&s, at, sizeof s); return s.n ? digest_64(s.s, s.n) : 0;
    }
    return 0;
}

/* One row from the front; false at the end or if it is malformed. */
static bool row_take(struct str *from, enum row_table *ret_t, union row_any *ret_row)
{
    if (from->n == 0 || (uint8_t)*from->s >= ROWS_COUNT)
        return false;
    *ret_t = (enum row_table)(uint8_t)*from->s;
    size_t n = row_decode(*ret_t, (struct str){from->s + 1, from->n - 1}, ret_row);
    from->s += n + 1;
    from->n -= n + 1;
    return n > 0;
}

static bool row_differs(struct buf *b, enum row_table t, const union row_any *x,
                        const union row_any *y)
{
    const struct row_layout *l = &row_layouts[t];
    for (uint16_t i = 0; i < l->n_columns; i++) {
        const struct row_column *c = &l->columns[i];
        uint64_t was = column_value(c, x), is = column_value(c, y);
        if (was == is || (t == ROWS_META && !strcmp(c->name, "now_ms")))
            continue;
        buf_printf(b, "%s%s %" PRIu64 " %s %" PRIu64 " came back as %" PRIu64, b->len ? "; " : "",
                   l->name, row_key(t, x), c->name, was, is);
        return true;
    }
    return false;
}

bool sim_diff_none(struct str was, struct str is)
{
    union row_any x, y;
    enum row_table tx, ty;
    SCOPED_BUF(words);
    return row_take(&was, &tx, &x) && row_take(&is, &ty, &y) &&
           tx == ty && /* meta, with the time */
           !row_differs(&words, tx, &x, &y) && str_eq(was, is);
}

void sim_diff_write(struct buf *b, struct str was, struct str is)
{
    for (int shown = 0; shown < DIFFERENCES_SHOWN;) {
        union row_any x, y;
        enum row_table tx, ty;
        bool more_x = row_take(&was, &tx, &x), more_y = row_take(&is, &ty, &y);
        if (!more_x && !more_y)
            break;
        if (!more_x || !more_y || tx != ty || row_key(tx, &x) != row_key(ty, &y)) {
            buf_printf(b, "%s%s %" PRIu64 " is %s", b->len ? "; " : "",
                       row_layouts[more_x ? tx : ty].name,
                       more_x ? row_key(tx, &x) : row_key(ty, &y),
                       more_x ? "missing, or another stands before it" : "one too many");
            break;
        }
        shown += row_differs(b, tx, &x, &y);
    }
    if (b->len == 0)
        buf_puts(b, "nothing but time");
}
