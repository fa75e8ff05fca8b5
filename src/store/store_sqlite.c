/* store_sqlite.c - the store as an SQLite file: opening, committing, closing
 *
 * Owns the connection, its settings and every transaction.  Statements are prepared once at open
 * from the layouts, so that a file whose columns differ is refused there and not by the first
 * commit.
 *
 * Durability: WAL with synchronous=FULL, one fsync per group.  When that fsync fails nobody knows
 * whether the group is on the disk: the frames may survive although this connection has forgotten
 * them.  The handle is broken from then on, and the caller opens anew and reads row_meta.group_no.
 * Opening copies the log into the file before anything is read, so that what is read then is
 * durable, whatever the kernel did with the pages whose fsync failed.
 *
 * The log is copied back into the file by the writer itself, in steps small enough not to be felt,
 * instead of by SQLite's automatism, whose step cannot be told from a slow commit.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "store/store_sqlite_i.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "sys/fs.h"

enum {
    WRITER_BUSY_MS = 200, /* nobody else should write: say soon who does */
    READER_BUSY_MS = 5000,
    WAL_STEP_PAGES = 1000,
};

int store_sq_connect(const char *path, int flags, int busy_ms, sqlite3 **ret_db, struct err *e)
{
    sqlite3 *db = NULL;
    int rc = sqlite3_open_v2(path, &db, flags | SQLITE_OPEN_NOMUTEX, NULL);

    if (rc != SQLITE_OK) {
        rc = store_sq_error(db, path, rc, "open", e);
        sqlite3_close(db);
        return rc;
    }
    sqlite3_extended_result_codes(db, 1);
    sqlite3_busy_timeout(db, busy_ms);
    sqlite3_db_config(db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    *ret_db = db;
    return 0;
}

int store_sq_prepare(sqlite3 *db, const char *path, const char *sql, sqlite3_stmt **ret_stmt,
                     struct err *e)
{
    int rc = sqlite3_prepare_v3(db, sql, -1, SQLITE_PREPARE_PERSISTENT, ret_stmt, NULL);

    return rc == SQLITE_OK ? 0 : store_sq_error(db, path, rc, "prepare", e);
}

int store_sq_exec(sqlite3 *db, const char *path, const char *sql, struct err *e)
{
    int rc = sqlite3_exec(db, sql, NULL, NULL, NULL);

    return rc == SQLITE_OK ? 0 : store_sq_error(db, path, rc, "execute", e);
}

int store_sq_numbers(sqlite3 *db, const char *path, const char *sql, int n, int64_t *ret_v,
                     struct err *e)
{
    SCOPED_STMT *stmt = NULL;
    int rc = store_sq_prepare(db, path, sql, &stmt, e);

    if (rc)
        return rc;
    rc = sqlite3_step(stmt);
    if (rc != SQLITE_ROW)
        return store_sq_error(db, path, rc, "read", e);
    for (int i = 0; i < n; i++)
        ret_v[i] = sqlite3_column_int64(stmt, i);
    return 0;
}

static int step_once(struct store_sq *q, sqlite3_stmt *stmt, const char *doing, struct err *e)
{
    int rc = sqlite3_step(stmt);

    if (rc != SQLITE_DONE) {
        rc = store_sq_error(q->db, q->path, rc, doing, e);
        sqlite3_reset(stmt);
        return rc;
    }
    sqlite3_reset(stmt);
    return 0;
}

int store_sq_begin(struct store_sq *q, struct err *e)
{
    if (q->lock_fd < 0)
        return store_sq_fail(q->path, ERR_INTERNAL, NULL, e,
                             "write through a handle that only reads");
    if (q->broken)
        return store_sq_fail(q->path, ERR_IO, "the store must be opened anew", e,
                             "an earlier write failed and its outcome is unknown");
    return step_once(q, q->begin, "begin", e);
}

/* Copies what the log holds into the file.  Readers may make it incomplete; the next step goes on.
 */
static void wal_step(struct store_sq *q)
{
    if (q->wal_pages < q->wal_tried)
        q->wal_tried = 0; /* the log began again */
    if (q->wal_pages - q->wal_tried < WAL_STEP_PAGES)
        return;
    q->wal_tried = q->wal_pages;
    /* A failure here loses nothing: the log keeps the rows and is tried again. */
    (void)sqlite3_wal_checkpoint_v2(q->db, NULL, SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
}

int store_sq_end(struct store_sq *q, int rc, struct err *e)
{
    if (!rc) {
        rc = step_once(q, q->commit, "commit", e);
        if (rc == -(int)ERR_IO)
            q->broken = true;
        if (!rc)
            wal_step(q);
    }
    if (!sqlite3_get_autocommit(q->db) && step_once(q, q->rollback, "roll back", NULL))
        q->broken = true;
    return rc;
}

static int write_row(struct store_sq *q, const struct row_op *op, struct err *e)
{
    sqlite3_stmt *stmt = q->write[op->table][op->verb];
    int rc = store_sq_bind(stmt, op->table, op->verb, op->row);

    if (rc == SQLITE_OK)
        rc = sqlite3_step(stmt);
    if (rc != SQLITE_DONE) {
        if (op->verb == ROW_INSERT &&
            (rc == SQLITE_CONSTRAINT_PRIMARYKEY || rc == SQLITE_CONSTRAINT_ROWID)) {
            sqlite3_reset(stmt);
            return store_key_error(op, e);
        }
        rc = store_sq_error(q->db, q->path, rc, row_layouts[op->table].name, e);
        sqlite3_reset(stmt);
        return rc;
    }
    sqlite3_reset(stmt);
    if (op->verb == ROW_UPDATE && !sqlite3_changes(q->db))
        return store_key_error(op, e);
    return 0;
}

static int sq_commit(struct store *s, const struct row_op *ops, size_t n, struct err *e)
{
    struct store_sq *q = (struct store_sq *)s;
    int rc = store_sq_begin(q, e);

    if (rc)
        return rc;
    for (size_t i = 0; i < n && !rc; i++)
        rc = write_row(q, &ops[i], e);
    return store_sq_end(q, rc, e);
}

static int sq_trim(struct store *s, enum row_table t, uint64_t from, uint64_t to, uint32_t slice,
                   uint32_t *ret_deleted, struct err *e)
{
    struct store_sq *q = (struct store_sq *)s;
    struct store_sq_part parts[2];
    int n = store_sq_parts(from, to, parts), rc;
    const char *name = row_layouts[t].name;
    SCOPED_BUF(sql);
    SCOPED_STMT *stmt = NULL;
    uint32_t deleted = 0;

    buf_printf(&sql,
               "DELETE FROM \"%s\" WHERE id IN (SELECT id FROM \"%s\" WHERE id BETWEEN ?1 AND ?2 "
               "ORDER BY id LIMIT ?3)",
               name, name);
    rc = store_sq_prepare(q->db, q->path, sql.data, &stmt, e);
    if (!rc)
        rc = store_sq_begin(q, e);
    if (rc)
        return rc;
    for (int i = 0; i < n && !rc && (!slice || deleted < slice); i++) {
        sqlite3_bind_int64(stmt, 1, parts[i].from);
        sqlite3_bind_int64(stmt, 2, parts[i].to);
        sqlite3_bind_int64(stmt, 3, slice ? (int64_t)(slice - deleted) : -1);
        rc = step_once(q, stmt, "trim", e);
        if (!rc)
            deleted += (uint32_t)sqlite3_changes(q->db);
    }
    rc = store_sq_end(q, rc, e);
    if (!rc)
        *ret_deleted = deleted;
    return rc;
}

static uint64_t sq_bytes(struct store *s)
{
    struct store_sq *q = (struct store_sq *)s;
    uint64_t sum = 0;
    struct stat st;
    SCOPED_BUF(wal);

    buf_printf(&wal, "%s-wal", q->path);
    if (!stat(q->path, &st))
        sum += (uint64_t)st.st_size;
    if (!stat(wal.data, &st))
        sum += (uint64_t)st.st_size;
    return sum;
}

static void sq_close(struct store *s)
{
    struct store_sq *q = (struct store_sq *)s;

    if (q->opened && !q->broken)
        sqlite3_db_config(q->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0, NULL);
    sqlite3_finalize(q->begin);
    sqlite3_finalize(q->commit);
    sqlite3_finalize(q->rollback);
    for (int t = 0; t < ROWS_COUNT; t++) {
        for (int v = 0; v < STORE_SQ_VERBS; v++)
            sqlite3_finalize(q->write[t][v]);
        sqlite3_finalize(q->range[t][0]);
        sqlite3_finalize(q->range[t][1]);
    }
    sqlite3_close(q->db);
    if (q->lock_fd >= 0)
        close(q->lock_fd); /* last: until here the files are ours */
    free(q->path);
    free(q);
}

static const struct store_backend sq_backend = {
    .close = sq_close,
    .commit = sq_commit,
    .range = store_sq_range,
    .each_open_attempt = store_sq_each_open_attempt,
    .attempts_of = store_sq_attempts_of,
    .attempts_count = store_sq_attempts_count,
    .trim = sq_trim,
    .checkpoint_put = store_sq_checkpoint_put,
    .checkpoint_find = store_sq_checkpoint_find,
    .checkpoint_read = store_sq_checkpoint_read,
    .checkpoint_drop = store_sq_checkpoint_drop,
    .backup = store_sq_backup,
    .bytes = sq_bytes,
};

/* The last group is whole if the newest journal entry is the one that meta names.  An empty journal
 * is one that retention has emptied. */
int store_sq_check_last(sqlite3 *db, const char *path, struct err *e)
{
    int64_t at[2] = {0}; /* read by one statement: the server may be committing meanwhile */
    int rc = store_sq_numbers(db, path,
                              "SELECT (SELECT coalesce(max(id), 0) FROM journal), "
                              "(SELECT coalesce(max(journal_seq), 0) FROM meta)",
                              2, at, e);

    if (rc || at[0] == 0 || at[0] == at[1])
        return rc;
    return store_sq_fail(path, ERR_CORRUPT, STORE_SQ_RESTORE, e,
                         "the journal ends at %lld, but meta says %lld", (long long)at[0],
                         (long long)at[1]);
}

static int wal_hook(void *arg, sqlite3 *db, const char *name, int pages)
{
    (void)db, (void)name;
    ((struct store_sq *)arg)->wal_pages = pages;
    return SQLITE_OK;
}

static int set_writer(struct store_sq *q, bool no_sync, struct err *e)
{
    SCOPED_STMT *stmt = NULL;
    int rc = store_sq_prepare(q->db, q->path, "PRAGMA journal_mode = WAL", &stmt, e);

    if (rc)
        return rc;
    rc = sqlite3_step(stmt);
    if (rc != SQLITE_ROW)
        return store_sq_error(q->db, q->path, rc, "switch to WAL", e);
    if (strcmp((const char *)sqlite3_column_text(stmt, 0), "wal"))
        return store_sq_fail(q->path, ERR_IO, "keep it on a local disk, not on a network", e,
                             "the file system of the database does not support WAL");
    sqlite3_wal_hook(q->db, wal_hook, q); /* takes the place of the automatic checkpoint */
    return store_sq_exec(q->db, q->path,
                         no_sync ? "PRAGMA synchronous = OFF" : "PRAGMA synchronous = FULL", e);
}

static int prepare_writer(struct store_sq *q, struct err *e)
{
    int rc = store_sq_prepare(q->db, q->path, "BEGIN IMMEDIATE", &q->begin, e);

    if (!rc)
        rc = store_sq_prepare(q->db, q->path, "COMMIT", &q->commit, e);
    if (!rc)
        rc = store_sq_prepare(q->db, q->path, "ROLLBACK", &q->rollback, e);
    for (int t = 0; t < ROWS_COUNT && !rc; t++) {
        for (int v = 0; v < STORE_SQ_VERBS && !rc; v++) {
            SCOPED_BUF(sql);

            store_sq_text(&sql, (enum row_table)t, (enum row_verb)v);
            rc = store_sq_prepare(q->db, q->path, sql.data, &q->write[t][v], e);
        }
    }
    if (rc) { /* the version is right, so somebody changed the tables */
        err_wrap(e, "the schema is not that of version %d", store_migration_count);
        err_hint(e, STORE_SQ_RESTORE);
    }
    return rc;
}

/* SQLite would let the world read what it creates; the log takes its mode from the file.  A file
 * that is there is not opened: closing it would drop the locks that this process has on it. */
static int create_private(const char *path, struct err *e)
{
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

    if (fd >= 0)
        close(fd);
    if (fd >= 0 || errno == EEXIST)
        return 0;
    err_sys(e, ERR_IO, errno, "store: create");
    err_hint(e, "the directory must exist and be writable by this user");
    err_at(e, "%s", path);
    return -(int)ERR_IO;
}

/* Copies a log that an earlier run left behind into the file. */
static int fold_log(struct store_sq *q, struct err *e)
{
    int rc = sqlite3_wal_checkpoint_v2(q->db, NULL, SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);

    return rc == SQLITE_OK || rc == SQLITE_BUSY ? 0
                                                : store_sq_error(q->db, q->path, rc, "recover", e);
}

int store_sq_lock(const char *path, struct err *e)
{
    SCOPED_BUF(lock);
    int fd;

    buf_printf(&lock, "%s.lock", path);
    fd = fs_lock(lock.data, e);
    if (fd < 0) {
        err_wrap(e, "store");
        err_at(e, "%s", path);
    }
    if (fd == -(int)ERR_BUSY)
        err_hint(e, "a server uses this database: stop it first");
    return fd;
}

static int refuse_older(const char *path, int version, struct err *e)
{
    return store_sq_fail(
        path, ERR_REFUSED,
        "start the server once, which brings it up to date, or use the version that wrote it", e,
        "schema %d is older than this program's %d", version, store_migration_count);
}

static int open_writer(struct store_sq *q, const struct store_options *o, struct err *e)
{
    int version, rc;

    q->lock_fd = store_sq_lock(o->path, e);
    if (q->lock_fd < 0)
        return q->lock_fd;
    rc = create_private(o->path, e);
    if (!rc)
        rc = store_sq_connect(o->path, SQLITE_OPEN_READWRITE, WRITER_BUSY_MS, &q->db, e);
    /* Nothing may be changed, not even the journal mode, before the file is known to be ours. */
    if (!rc)
        rc = store_migrate_inspect(q->db, o->path, store_migration_count, &version, e);
    if (!rc && o->as_is && version < store_migration_count)
        return refuse_older(o->path, version, e);
    /* secure_delete: some builds of SQLite write zeros over every page that becomes free. */
    if (!rc)
        rc = store_sq_exec(q->db, o->path,
                           "PRAGMA page_size = 4096; PRAGMA foreign_keys = OFF; "
                           "PRAGMA temp_store = MEMORY; PRAGMA cache_size = -65536; "
                           "PRAGMA secure_delete = FAST; PRAGMA journal_size_limit = 67108864",
                           e);
    if (!rc)
        rc = set_writer(q, o->no_sync, e);
    if (!rc)
        rc = fold_log(q, e);
    if (!rc)
        rc = store_migrate_up(q->db, o->path, version, store_migrations, store_migration_count, e);
    if (!rc)
        rc = prepare_writer(q, e);
    return rc;
}

static int open_reader(struct store_sq *q, const struct store_options *o, struct err *e)
{
    int version, rc;

    rc = store_sq_connect(o->path, SQLITE_OPEN_READONLY, READER_BUSY_MS, &q->db, e);
    if (!rc)
        rc = store_migrate_inspect(q->db, o->path, store_migration_count, &version, e);
    if (!rc && version < store_migration_count)
        return refuse_older(o->path, version, e);
    if (!rc)
        rc = store_sq_exec(q->db, o->path, "PRAGMA cache_size = -8192", e);
    return rc;
}

int store_sqlite_open(const struct store_options *o, struct store **ret_s, struct err *e)
{
    struct store_sq *q = xcalloc(1, sizeof *q);
    int rc;

    q->base.backend = &sq_backend;
    q->path = xstrdup(o->path);
    q->lock_fd = -1;
    rc = o->read_only ? open_reader(q, o, e) : open_writer(q, o, e);
    if (!rc)
        rc = store_sq_check_last(q->db, q->path, e);
    if (rc) {
        sq_close(&q->base);
        return rc;
    }
    q->opened = true;
    *ret_s = &q->base;
    return 0;
}
