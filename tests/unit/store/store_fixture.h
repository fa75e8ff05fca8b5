/* store_fixture.h - rows to store and places to store them, shared by the tests of the store
 *
 * A row is made from its table, key and a number, so that a test can say what it expects without
 * keeping it; equality is equality of row_encode(), which leaves nothing out.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_STORE_FIXTURE_H
#define TESTS_STORE_FIXTURE_H

#include <stdlib.h>
#include <unistd.h>

#include "base/alloc.h"
#include "store/store.h"
#include "sys/fs.h"
#include "tap.h"
#include "workdir.h"

/* How many values a small column has: those that the schema checks and flags of yes and no. */
static inline unsigned fix_limit(const struct row_column *c)
{
    static const char *const free_names[] = {"flags", "outcome", "mode", "kind", NULL};

    if (c->type == ROW_U32 && !strcmp(c->name, "reason"))
        return 20;
    for (int i = 0; free_names[i]; i++)
        if (!strcmp(free_names[i], c->name))
            return 256;
    return 1; /* only 0 is right for all the rest */
}

/* Texts differ in length and content with `n`; n = 0 gives a row of zeroes and empty texts. */
static inline void fix_row(enum row_table t, uint64_t key, uint64_t n, union row_any *ret_row)
{
    static const char pool[] =
        "abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ.,;:-_#+*~!$%&/()=?"
        "abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ.,;:-_#+*~!$%&/()=?";
    const struct row_layout *l = &row_layouts[t];

    memset(ret_row, 0, sizeof *ret_row);
    for (unsigned i = 0; i < l->n_columns; i++) {
        const struct row_column *c = &l->columns[i];
        char *field = (char *)ret_row + c->offset;
        uint64_t v = n * 0x9e3779b97f4a7c15u * (i + 1);
        struct str s = {pool + v % 64, (v >> 8) % 97};
        uint32_t u32 = (uint32_t)v;

        if (c->role == ROW_KEY)
            v = u32 = (uint32_t)key, v = key;
        switch ((enum row_type)c->type) {
        case ROW_U8: *field = (char)(v % fix_limit(c)); break;
        case ROW_U32:
            if (fix_limit(c) > 1)
                u32 %= fix_limit(c);
            memcpy(field, &u32, sizeof u32);
            break;
        case ROW_U64:
        case ROW_I64: memcpy(field, &v, sizeof v); break;
        case ROW_TEXT:
        case ROW_BLOB: memcpy(field, &s, sizeof s); break;
        }
    }
    /* Names that the schema wants unique are unique by key. */
    if (t == ROWS_NODE || t == ROWS_TOKEN || t == ROWS_DEPLOYMENT) {
        struct str *name = t == ROWS_TOKEN  ? &ret_row->token.hash
                           : t == ROWS_NODE ? &ret_row->node.name
                                            : &ret_row->deployment.name;
        *name = (struct str){pool + key % 64, 1 + key / 64 % 64};
        if (t == ROWS_NODE)
            ret_row->node.tenant = (uint32_t)n;
        if (t == ROWS_DEPLOYMENT)
            ret_row->deployment.tenant = (uint32_t)n;
    }
}

static inline struct row_op fix_op(enum row_verb verb, enum row_table t, const void *row)
{
    return (struct row_op){(uint8_t)t, (uint8_t)verb, row};
}

static inline bool fix_equal(enum row_table t, const void *a, const void *b)
{
    SCOPED_BUF(x);
    SCOPED_BUF(y);

    row_encode(&x, t, a);
    row_encode(&y, t, b);
    return str_eq(buf_str(&x), buf_str(&y));
}

static inline int fix_append(void *arg, enum row_table t, const void *row, struct err *e)
{
    (void)e;
    row_encode(arg, t, row);
    return 0;
}

/* Everything in the store as bytes. */
static inline void fix_dump(struct store *s, struct buf *ret_b)
{
    struct err e = {0};

    for (int t = 0; t < ROWS_COUNT; t++)
        if (store_each(s, (enum row_table)t, fix_append, ret_b, &e))
            printf("# dump: %s\n", e.text);
}

static inline char *fix_dir(void)
{
    return workdir_new("store");
}

static inline struct store *fix_open(const char *path)
{
    struct store *s = NULL;
    struct err e = {0};
    char text[1024];

    if (store_open(&(struct store_options){.path = path, .no_sync = true}, &s, &e)) {
        printf("# %s\n", err_format(&e, text, sizeof text));
        exit(1);
    }
    return s;
}

#endif
