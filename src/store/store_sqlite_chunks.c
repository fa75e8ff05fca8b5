/* store_sqlite_chunks.c - checkpoints in the SQLite file
 *
 * A checkpoint is chunks 0, 1, ... under one journal number, the final one marked `last`.  It is
 * written chunk by chunk in transactions of their own, so it counts only once all of them are
 * there.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "store/store_sqlite_i.h"

static int chunk_step(struct store_sq *q, sqlite3_stmt *stmt, struct err *e)
{
    int rc = sqlite3_step(stmt);

    return rc == SQLITE_DONE ? 0 : store_sq_error(q->db, q->path, rc, "checkpoint", e);
}

int store_sq_checkpoint_put(struct store *s, uint64_t seq, uint32_t chunk, bool last,
                            struct str body, struct err *e)
{
    struct store_sq *q = (struct store_sq *)s;
    SCOPED_STMT *stmt = NULL;
    int rc = store_sq_prepare(q->db, q->path,
                              "INSERT INTO checkpoint (tenant, realm, seq, chunk, last, body) "
                              "VALUES (0, 0, ?1, ?2, ?3, ?4) ON CONFLICT (seq, chunk) "
                              "DO UPDATE SET last = excluded.last, body = excluded.body",
                              &stmt, e);

    if (!rc)
        rc = store_sq_begin(q, e);
    if (rc)
        return rc;
    sqlite3_bind_int64(stmt, 1, (sqlite3_int64)seq);
    sqlite3_bind_int64(stmt, 2, chunk);
    sqlite3_bind_int(stmt, 3, last);
    sqlite3_bind_blob64(stmt, 4, body.n ? body.s : "", body.n, SQLITE_STATIC);
    return store_sq_end(q, chunk_step(q, stmt, e), e);
}

int store_sq_checkpoint_find(struct store *s, uint64_t seq, uint64_t *ret_seq, struct err *e)
{
    struct store_sq *q = (struct store_sq *)s;
    SCOPED_STMT *stmt = NULL;
    int rc = store_sq_prepare(q->db, q->path,
                              "SELECT coalesce(max(c.seq), 0) FROM checkpoint c WHERE c.seq <= ?1 "
                              "AND c.last = 1 AND (SELECT count(*) FROM checkpoint d "
                              "WHERE d.seq = c.seq AND d.chunk <= c.chunk) = c.chunk + 1",
                              &stmt, e);

    if (rc)
        return rc;
    sqlite3_bind_int64(stmt, 1, seq > INT64_MAX ? INT64_MAX : (sqlite3_int64)seq);
    rc = sqlite3_step(stmt);
    if (rc != SQLITE_ROW)
        return store_sq_error(q->db, q->path, rc, "checkpoint", e);
    *ret_seq = (uint64_t)sqlite3_column_int64(stmt, 0);
    return 0;
}

int store_sq_checkpoint_read(struct store *s, uint64_t seq, struct buf *ret_body, struct err *e)
{
    struct store_sq *q = (struct store_sq *)s;
    SCOPED_STMT *stmt = NULL;
    SCOPED_BUF(body);
    bool last = false;
    int rc = store_sq_prepare(q->db, q->path,
                              "SELECT chunk, last, body FROM checkpoint WHERE seq = ?1 "
                              "ORDER BY chunk",
                              &stmt, e);

    if (rc)
        return rc;
    sqlite3_bind_int64(stmt, 1, (sqlite3_int64)seq);
    for (int64_t want = 0; !last && (rc = sqlite3_step(stmt)) == SQLITE_ROW; want++) {
        const void *p = sqlite3_column_blob(stmt, 2);

        if (sqlite3_column_int64(stmt, 0) != want)
            break;
        buf_put(&body, p ? p : "", (size_t)sqlite3_column_bytes(stmt, 2));
        last = sqlite3_column_int(stmt, 1);
    }
    if (rc != SQLITE_ROW && rc != SQLITE_DONE)
        return store_sq_error(q->db, q->path, rc, "checkpoint", e);
    if (!last)
        return store_checkpoint_missing(seq, e);
    buf_put(ret_body, body.data, body.len);
    return 0;
}

int store_sq_checkpoint_drop(struct store *s, uint64_t below_seq, struct err *e)
{
    struct store_sq *q = (struct store_sq *)s;
    SCOPED_STMT *stmt = NULL;
    int rc = store_sq_prepare(q->db, q->path, "DELETE FROM checkpoint WHERE seq < ?1", &stmt, e);

    if (!rc)
        rc = store_sq_begin(q, e);
    if (rc)
        return rc;
    sqlite3_bind_int64(stmt, 1, below_seq > INT64_MAX ? INT64_MAX : (sqlite3_int64)below_seq);
    return store_sq_end(q, chunk_step(q, stmt, e), e);
}
