/* store_sqlite_read.c - rows out of the SQLite file, in key order
 *
 * A statement is prepared at its first use and kept.  While it runs it is taken out of its place,
 * so that a store_row_f may read the same table again: the inner call prepares one of its own.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "store/store_sqlite_i.h"

int store_sq_parts(uint64_t from, uint64_t to, struct store_sq_part ret_parts[2])
{
    if (from > to)
        return 0;
    ret_parts[0] = (struct store_sq_part){(int64_t)from, (int64_t)to};
    if (from > INT64_MAX || to <= INT64_MAX)
        return 1;
    ret_parts[0].to = INT64_MAX;
    ret_parts[1] = (struct store_sq_part){INT64_MIN, (int64_t)to};
    return 2;
}

/* Runs a bound statement to its end; *ret_seen counts rows. */
static int read_rows(struct store_sq *q, sqlite3_stmt *stmt, enum row_table t, uint32_t *ret_seen,
                     store_row_f *fn, void *arg, struct err *e)
{
    union row_any row;
    int rc;

    while ((rc = sqlite3_step(stmt)) == SQLITE_ROW) {
        rc = store_sq_read(stmt, t, &row, e);
        if (rc) {
            err_hint(e, STORE_SQ_RESTORE);
            err_at(e, "%s", q->path);
            return rc;
        }
        ++*ret_seen;
        rc = fn(arg, t, &row, e);
        if (rc)
            return rc;
    }
    return rc == SQLITE_DONE ? 0 : store_sq_error(q->db, q->path, rc, row_layouts[t].name, e);
}

static int range_prepare(struct store_sq *q, enum row_table t, bool descending,
                         sqlite3_stmt **ret_stmt, struct err *e)
{
    SCOPED_BUF(sql);

    *ret_stmt = q->range[t][descending];
    q->range[t][descending] = NULL;
    if (*ret_stmt)
        return 0;
    buf_puts(&sql, "SELECT ");
    store_sq_columns(&sql, t);
    buf_printf(&sql, " FROM \"%s\" WHERE id BETWEEN ?1 AND ?2 ORDER BY id %s LIMIT ?3",
               row_layouts[t].name, descending ? "DESC" : "ASC");
    return store_sq_prepare(q->db, q->path, sql.data, ret_stmt, e);
}

int store_sq_range(struct store *s, enum row_table t, uint64_t from, uint64_t to, bool descending,
                   uint32_t limit, store_row_f *fn, void *arg, struct err *e)
{
    struct store_sq *q = (struct store_sq *)s;
    struct store_sq_part parts[2];
    int n = store_sq_parts(from, to, parts);
    SCOPED_STMT *stmt = NULL;
    uint32_t seen = 0;
    int rc = range_prepare(q, t, descending, &stmt, e);

    for (int i = 0; i < n && !rc && (!limit || seen < limit); i++) {
        const struct store_sq_part *p = &parts[descending ? n - 1 - i : i];

        sqlite3_bind_int64(stmt, 1, p->from);
        sqlite3_bind_int64(stmt, 2, p->to);
        sqlite3_bind_int64(stmt, 3, limit ? (int64_t)(limit - seen) : -1);
        rc = read_rows(q, stmt, t, &seen, fn, arg, e);
        sqlite3_reset(stmt);
    }
    if (!q->range[t][descending]) {
        q->range[t][descending] = stmt;
        stmt = NULL;
    }
    return rc;
}

int store_sq_each_open_attempt(struct store *s, store_row_f *fn, void *arg, struct err *e)
{
    struct store_sq *q = (struct store_sq *)s;
    SCOPED_BUF(sql);
    SCOPED_STMT *stmt = NULL;
    uint32_t seen = 0;
    int rc;

    buf_puts(&sql, "SELECT ");
    store_sq_columns(&sql, ROWS_ATTEMPT);
    /* The number is spelled out, since a parameter would hide the partial index from the planner.
     */
    buf_printf(&sql, " FROM attempt WHERE outcome = %d ORDER BY id", ATTEMPT_OPEN);
    rc = store_sq_prepare(q->db, q->path, sql.data, &stmt, e);
    return rc ? rc : read_rows(q, stmt, ROWS_ATTEMPT, &seen, fn, arg, e);
}

/* Attempts are numbered from 1 as they start: beyond the signed numbers there is none. */
static int64_t attempt_key(uint64_t id)
{
    return id > INT64_MAX ? INT64_MAX : (int64_t)id;
}

int store_sq_attempts_of(struct store *s, uint32_t operation, uint64_t from, uint64_t to,
                         bool descending, uint32_t limit, store_row_f *fn, void *arg, struct err *e)
{
    struct store_sq *q = (struct store_sq *)s;
    SCOPED_BUF(sql);
    SCOPED_STMT *stmt = NULL;
    uint32_t seen = 0;
    int rc;

    if (from > INT64_MAX)
        return 0;
    buf_puts(&sql, "SELECT ");
    store_sq_columns(&sql, ROWS_ATTEMPT);
    buf_printf(&sql,
               " FROM attempt WHERE operation = ?1 AND id BETWEEN ?2 AND ?3 AND"
               " (behind = 0 OR turn_ms <> 0) ORDER BY id %s"
               " LIMIT ?4",
               descending ? "DESC" : "ASC");
    rc = store_sq_prepare(q->db, q->path, sql.data, &stmt, e);
    if (rc)
        return rc;
    sqlite3_bind_int64(stmt, 1, operation);
    sqlite3_bind_int64(stmt, 2, attempt_key(from));
    sqlite3_bind_int64(stmt, 3, attempt_key(to));
    sqlite3_bind_int64(stmt, 4, limit ? (int64_t)limit : -1);
    return read_rows(q, stmt, ROWS_ATTEMPT, &seen, fn, arg, e);
}

int store_sq_attempts_count(struct store *s, uint32_t operation, uint64_t *ret_n, struct err *e)
{
    struct store_sq *q = (struct store_sq *)s;
    SCOPED_STMT *stmt = NULL;
    int rc = store_sq_prepare(q->db, q->path,
                              "SELECT count(*) FROM attempt WHERE operation = ?1"
                              " AND (behind = 0 OR turn_ms <> 0)",
                              &stmt, e);

    if (rc)
        return rc;
    sqlite3_bind_int64(stmt, 1, operation);
    rc = sqlite3_step(stmt);
    if (rc != SQLITE_ROW)
        return store_sq_error(q->db, q->path, rc, "attempt", e);
    *ret_n = (uint64_t)sqlite3_column_int64(stmt, 0);
    return 0;
}
