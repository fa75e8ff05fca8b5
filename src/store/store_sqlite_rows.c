/* store_sqlite_rows.c - rows as SQL: statements, values in, values out
 *
 * All of it follows from row_layouts; no column is named here.  U64 is kept as the signed number of
 * the same bits.  PUT is an upsert on the key and not INSERT OR REPLACE, which would also delete
 * another row that has the same unique name.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "store/store_sqlite_i.h"

void store_sq_columns(struct buf *b, enum row_table t)
{
    const struct row_layout *l = &row_layouts[t];

    for (unsigned i = 0; i < l->n_columns; i++)
        buf_printf(b, "%s\"%s\"", i ? ", " : "", l->columns[i].name);
}

/* "INSERT INTO t (a, b) VALUES (?1, ?2)", every column. */
static void insert_text(struct buf *b, enum row_table t)
{
    const struct row_layout *l = &row_layouts[t];

    buf_printf(b, "INSERT INTO \"%s\" (", l->name);
    store_sq_columns(b, t);
    buf_puts(b, ") VALUES (");
    for (unsigned i = 0; i < l->n_columns; i++)
        buf_printf(b, "%s?%u", i ? ", " : "", i + 1);
    buf_putc(b, ')');
}

/* Column i is bound as ?i+1 in every statement, so that one loop serves all. */
static void update_text(struct buf *b, enum row_table t)
{
    const struct row_layout *l = &row_layouts[t];
    const char *sep = "";

    buf_printf(b, "UPDATE \"%s\" SET ", l->name);
    for (unsigned i = 0; i < l->n_columns; i++) {
        if (l->columns[i].role != ROW_DYN)
            continue;
        buf_printf(b, "%s\"%s\" = ?%u", sep, l->columns[i].name, i + 1);
        sep = ", ";
    }
    if (!*sep) /* nothing may change: what remains is whether the row is there */
        buf_puts(b, "id = id");
    buf_puts(b, " WHERE id = ?1");
}

static void put_text(struct buf *b, enum row_table t)
{
    const struct row_layout *l = &row_layouts[t];

    insert_text(b, t);
    buf_puts(b, " ON CONFLICT (id) DO UPDATE SET ");
    for (unsigned i = 1; i < l->n_columns; i++)
        buf_printf(b, "%s\"%s\" = excluded.\"%s\"", i > 1 ? ", " : "", l->columns[i].name,
                   l->columns[i].name);
}

void store_sq_text(struct buf *b, enum row_table t, enum row_verb verb)
{
    switch (verb) {
    case ROW_INSERT: insert_text(b, t); break;
    case ROW_UPDATE: update_text(b, t); break;
    case ROW_PUT: put_text(b, t); break;
    case ROW_DELETE: buf_printf(b, "DELETE FROM \"%s\" WHERE id = ?1", row_layouts[t].name); break;
    }
}

static int bind_column(sqlite3_stmt *stmt, int at, enum row_type type, const char *field)
{
    uint32_t u32;
    uint64_t u64;
    struct str s;

    switch (type) {
    case ROW_U8: return sqlite3_bind_int(stmt, at, *(const uint8_t *)field);
    case ROW_U32: memcpy(&u32, field, sizeof u32); return sqlite3_bind_int64(stmt, at, u32);
    case ROW_U64:
    case ROW_I64:
        memcpy(&u64, field, sizeof u64);
        return sqlite3_bind_int64(stmt, at, (sqlite3_int64)u64);
    case ROW_TEXT:
    case ROW_BLOB: break;
    }
    memcpy(&s, field, sizeof s);
    if (!s.n)
        s.s = ""; /* a NULL pointer would bind NULL */
    if (type == ROW_TEXT)
        return sqlite3_bind_text64(stmt, at, s.s, s.n, SQLITE_STATIC, SQLITE_UTF8);
    return sqlite3_bind_blob64(stmt, at, s.s, s.n, SQLITE_STATIC);
}

int store_sq_bind(sqlite3_stmt *stmt, enum row_table t, enum row_verb verb, const void *row)
{
    const struct row_layout *l = &row_layouts[t];
    unsigned n = verb == ROW_DELETE ? 1 : l->n_columns;

    for (unsigned i = 0; i < n; i++) {
        const struct row_column *c = &l->columns[i];
        int rc;

        if (verb == ROW_UPDATE && c->role == ROW_FIX)
            continue;
        rc = bind_column(stmt, (int)i + 1, c->type, (const char *)row + c->offset);
        if (rc != SQLITE_OK)
            return rc;
    }
    return SQLITE_OK;
}

static void read_text(sqlite3_stmt *stmt, int at, enum row_type type, char *field)
{
    const void *p = type == ROW_TEXT ? (const void *)sqlite3_column_text(stmt, at)
                                     : sqlite3_column_blob(stmt, at);
    struct str s = {p ? p : "", (size_t)sqlite3_column_bytes(stmt, at)};

    memcpy(field, &s, sizeof s);
}

int store_sq_read(sqlite3_stmt *stmt, enum row_table t, void *ret_row, struct err *e)
{
    const struct row_layout *l = &row_layouts[t];
    char *row = ret_row;

    memset(row, 0, l->size);
    for (unsigned i = 0; i < l->n_columns; i++) {
        const struct row_column *c = &l->columns[i];
        char *field = row + c->offset;
        sqlite3_int64 v;
        uint32_t u32;

        if (c->type == ROW_TEXT || c->type == ROW_BLOB) {
            read_text(stmt, (int)i, c->type, field);
            continue;
        }
        v = sqlite3_column_int64(stmt, (int)i);
        if ((c->type == ROW_U8 && (v < 0 || v > UINT8_MAX)) ||
            (c->type == ROW_U32 && (v < 0 || v > UINT32_MAX)))
            return err_set(e, ERR_CORRUPT, "store: %s %llu: %s is %lld, out of range", l->name,
                           (unsigned long long)sqlite3_column_int64(stmt, 0), c->name,
                           (long long)v);
        if (c->type == ROW_U8) {
            *(uint8_t *)field = (uint8_t)v;
        } else if (c->type == ROW_U32) {
            u32 = (uint32_t)v;
            memcpy(field, &u32, sizeof u32);
        } else {
            memcpy(field, &v, sizeof v);
        }
    }
    return 0;
}
