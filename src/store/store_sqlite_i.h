/* store_sqlite_i.h - the parts of the SQLite backend to one another
 *
 * No type of SQLite leaves this directory.  One handle has one connection, used by one thread at a
 * time; only store_backup() may run beside it, since it reads nothing of the handle but the path.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef STORE_STORE_SQLITE_I_H
#define STORE_STORE_SQLITE_I_H

#include <sqlite3.h>

#include "store/store_i.h"

enum {
    STORE_SQ_APPLICATION = 0x416e6e6c, /* "Annl", in the header of the file */
    STORE_SQ_VERBS = 4,
};

#define STORE_SQ_RESTORE "restore a backup with: anneal admin restore BACKUP"

struct store_sq {
    struct store base;
    sqlite3 *db;
    char *path;
    int lock_fd; /* -1: a reader */
    bool opened; /* well: only then may closing fold the log into the file */
    bool broken; /* an earlier failure left the outcome open: the handle writes no more */
    int wal_pages, wal_tried; /* length of the log, and when it was last copied into the file */
    sqlite3_stmt *begin, *commit, *rollback;
    sqlite3_stmt *write[ROWS_COUNT][STORE_SQ_VERBS];
    sqlite3_stmt *range[ROWS_COUNT][2]; /* up and down; NULL while in use or not needed yet */
};

/* store_sqlite_error.c: SQLite's code as ours, with the file and the remedy; returns -code. */
int store_sq_error(sqlite3 *db, const char *path, int rc, const char *doing, struct err *e);

/* An error of our own about the file; hint may be NULL.  Returns -code. */
int store_sq_fail(const char *path, enum errcode code, const char *hint, struct err *e,
                  const char *fmt, ...) __attribute__((format(printf, 5, 6)));

/* store_sqlite_rows.c: SQL text from a layout, values in and out. */
void store_sq_text(struct buf *b, enum row_table t, enum row_verb verb);
void store_sq_columns(struct buf *b, enum row_table t);
int store_sq_bind(sqlite3_stmt *stmt, enum row_table t, enum row_verb verb, const void *row);
/* ERR_CORRUPT if a number does not fit its column.  Texts are SQLite's until the next step. */
int store_sq_read(sqlite3_stmt *stmt, enum row_table t, void *ret_row, struct err *e);

/* store_sqlite_read.c */
int store_sq_range(struct store *s, enum row_table t, uint64_t from, uint64_t to, bool descending,
                   uint32_t limit, store_row_f *fn, void *arg, struct err *e);
int store_sq_each_open_attempt(struct store *s, store_row_f *fn, void *arg, struct err *e);
int store_sq_attempts_of(struct store *s, uint32_t operation, uint64_t from, uint64_t to,
                         bool descending, uint32_t limit, store_row_f *fn, void *arg,
                         struct err *e);
int store_sq_attempts_count(struct store *s, uint32_t operation, uint64_t *ret_n, struct err *e);
/* Keys are compared as signed numbers by SQLite: [from, to] as one or two ranges in ascending
 * order. */
struct store_sq_part {
    int64_t from, to;
};
int store_sq_parts(uint64_t from, uint64_t to, struct store_sq_part ret_parts[2]);

/* store_sqlite_chunks.c: checkpoints */
int store_sq_checkpoint_put(struct store *s, uint64_t seq, uint32_t chunk, bool last,
                            struct str body, struct err *e);
int store_sq_checkpoint_find(struct store *s, uint64_t seq, uint64_t *ret_seq, struct err *e);
int store_sq_checkpoint_read(struct store *s, uint64_t seq, struct buf *ret_body, struct err *e);
int store_sq_checkpoint_drop(struct store *s, uint64_t below_seq, struct err *e);

/* store_sqlite.c: one transaction around what others write.  begin fails on a broken handle; end
 * commits if rc is 0 and otherwise rolls back, and returns rc or what the commit came to. */
int store_sq_begin(struct store_sq *q, struct err *e);
int store_sq_end(struct store_sq *q, int rc, struct err *e);
int store_sq_prepare(sqlite3 *db, const char *path, const char *sql, sqlite3_stmt **ret_stmt,
                     struct err *e);
/* The first n columns of the first row of a query as numbers. */
int store_sq_numbers(sqlite3 *db, const char *path, const char *sql, int n, int64_t *ret_v,
                     struct err *e);
int store_sq_exec(sqlite3 *db, const char *path, const char *sql, struct err *e);
/* The lock that a server holds on the database: fd, or ERR_BUSY naming the process that has it. */
int store_sq_lock(const char *path, struct err *e);
/* ERR_CORRUPT unless the last group is whole, as far as meta and journal can tell. */
int store_sq_check_last(sqlite3 *db, const char *path, struct err *e);
/* flags as for sqlite3_open_v2(); extended codes and a busy time-out are set, and closing leaves
 * the log alone: what is beside a damaged file is evidence. */
int store_sq_connect(const char *path, int flags, int busy_ms, sqlite3 **ret_db, struct err *e);

/* store_migrate.c */
struct store_migration {
    const char *name, *sql;
};
extern const struct store_migration store_migrations[]; /* generated from sql/ */
extern const int store_migration_count;
/* Is the file ours, and its schema not beyond `newest`?  *ret_version is 0 for an empty file. */
int store_migrate_inspect(sqlite3 *db, const char *path, int newest, int *ret_version,
                          struct err *e);
/* From `version` to n, by migrations m[version] to m[n - 1]. */
int store_migrate_up(sqlite3 *db, const char *path, int version, const struct store_migration *m,
                     int n, struct err *e);
/* store_migrate_aside.c: within a transaction, rows aside to their places; `aside` is empty then.
 */
int store_migrate_aside(sqlite3 *db, const char *path, struct err *e);

/* store_backup.c */
int store_sq_backup(struct store *s, const char *to_path,
                    void (*progress)(void *arg, int done, int total), void *arg, struct err *e);

static inline void store_sq_stmt_end(sqlite3_stmt **stmt)
{
    sqlite3_finalize(*stmt);
}
#define SCOPED_STMT __attribute__((cleanup(store_sq_stmt_end))) sqlite3_stmt
static inline void store_sq_db_end(sqlite3 **db)
{
    sqlite3_close(*db);
}
#define SCOPED_DB __attribute__((cleanup(store_sq_db_end))) sqlite3

#endif
