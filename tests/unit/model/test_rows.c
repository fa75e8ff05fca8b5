/* test_rows.c - layouts are sound, and rows survive being bytes */
/* SPDX-License-Identifier: Apache-2.0 */
#include "model/rows.h"

#include "tap.h"

static const size_t widths[] = {[ROW_U8] = 1,
                                [ROW_U32] = 4,
                                [ROW_U64] = 8,
                                [ROW_I64] = 8,
                                [ROW_TEXT] = sizeof(struct str),
                                [ROW_BLOB] = sizeof(struct str)};

static void test_layouts(void)
{
    for (int t = 0; t < ROWS_COUNT; t++) {
        const struct row_layout *l = &row_layouts[t];
        unsigned end = 0, keys = 0;
        bool ordered = true, dyn = false, dyn_last = true;

        for (unsigned i = 0; i < l->n_columns; i++) {
            const struct row_column *c = &l->columns[i];

            ordered = ordered && c->offset >= end;
            end = c->offset + (unsigned)widths[c->type];
            keys += c->role == ROW_KEY;
            dyn_last = dyn_last && (!dyn || c->role == ROW_DYN);
            dyn = dyn || c->role == ROW_DYN;
        }
        ok(ordered && end <= l->size, "%s: columns lie one after the other", l->name);
        ok(keys == 1 && l->columns[0].role == ROW_KEY && !strcmp(l->columns[0].name, "id"),
           "%s: the key is id and comes first", l->name);
        ok(l->columns[0].type == ROW_U32 || l->columns[0].type == ROW_U64,
           "%s: the key is a number", l->name);
        ok(!strcmp(l->columns[1].name, "tenant") && !strcmp(l->columns[2].name, "realm"),
           "%s: tenant and realm follow", l->name);
        ok(dyn_last, "%s: what an update writes comes last", l->name);
        ok(l->size <= sizeof(union row_any), "%s: fits row_any", l->name);
    }
}

/* Each column gets bytes of its own, so that a mix-up of two columns shows. */
static void fill(enum row_table t, union row_any *ret_row)
{
    static const char pool[] = "0123456789abcdefghijklmnopqrstuvwxyz";
    const struct row_layout *l = &row_layouts[t];

    memset(ret_row, 0, sizeof *ret_row);
    for (unsigned i = 0; i < l->n_columns; i++) {
        char *field = (char *)ret_row + l->columns[i].offset;
        struct str s = {pool + i, i % 7};

        if (l->columns[i].type >= ROW_TEXT)
            memcpy(field, &s, sizeof s);
        else
            memset(field, (int)(0x81 + i), widths[l->columns[i].type]);
    }
}

static void test_round_trip(void)
{
    for (int i = 0; i < ROWS_COUNT; i++) {
        enum row_table t = (enum row_table)i;
        const struct row_layout *l = &row_layouts[t];
        union row_any row, back, kept;
        SCOPED_BUF(a);
        SCOPED_BUF(b);
        int refused = 0, touched = 0;

        fill(t, &row);
        row_encode(&a, t, &row);
        is_int(row_decode(t, buf_str(&a), &back), a.len, "%s: all bytes are used", l->name);
        row_encode(&b, t, &back);
        ok(str_eq(buf_str(&a), buf_str(&b)), "%s: decodes to an equal row", l->name);
        is_int(row_key(t, &back), l->columns[0].type == ROW_U32 ? 0x81818181u : 0x8181818181818181u,
               "%s: its key", l->name);

        /* Short by any number of bytes: malformed, and the row is left alone. */
        memset(&back, 0x5a, sizeof back);
        memcpy(&kept, &back, sizeof kept);
        for (size_t n = 0; n < a.len; n++) {
            refused += row_decode(t, (struct str){a.data, n}, &back) == 0;
            touched += memcmp(&back, &kept, sizeof kept) != 0;
        }
        is_int(refused, a.len, "%s: every shortened form is refused", l->name);
        is_int(touched, 0, "%s: a refused row is not written", l->name);

        a.data[0]++;
        is_int(row_decode(t, buf_str(&a), &back), 0, "%s: another number of columns", l->name);
        a.data[0]--;
        a.data[1] = ROW_TEXT;
        is_int(row_decode(t, buf_str(&a), &back), 0, "%s: another type", l->name);
    }
}

static void test_bytes(void)
{
    struct row_span span = {
        .id = 0x01020304, .tenant = 5, .realm = 0xfffffffe, .pools = {"", 0}, .held = 9};
    static const char want[] = "\5"
                               "\1\4\3\2\1"
                               "\1\5\0\0\0"
                               "\1\376\377\377\377"
                               "\5\0\0\0\0"
                               "\0\11";
    struct row_plan plan = {.id = 1, .journal = 2, .body = {"a\0b", 3}}, back;
    SCOPED_BUF(b);

    row_encode(&b, ROWS_SPAN, &span);
    ok(str_eq(buf_str(&b), (struct str){want, sizeof want - 1}), "the bytes of a row are these");
    is_int(row_key(ROWS_SPAN, &span), 0x01020304, "key of 32 bits");

    buf_clear(&b);
    row_encode(&b, ROWS_PLAN, &plan);
    buf_puts(&b, "the next row");
    is_int(row_decode(ROWS_PLAN, buf_str(&b), &back), b.len - 12, "decoding stops after one row");
    ok(back.body.s > b.data && back.body.s < b.data + b.len, "texts point into the bytes");
    ok(str_eq(back.body, plan.body), "bytes of a blob may be zero");
}

int main(void)
{
    test_layouts();
    test_round_trip();
    test_bytes();
    return tap_done();
}
