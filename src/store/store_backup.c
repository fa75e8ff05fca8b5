/* store_backup.c - copies of the database: backup, restore, full check
 *
 * A backup is read from one snapshot through a connection of its own, in steps, while the server
 * goes on writing.  It is a single file (no WAL beside it) that appears under its name only when it
 * is whole, checked and on the disk.
 *
 * A restore replaces the file by one rename.  The old file is kept as .before-restore; its log is
 * folded into it first, because a log that stayed behind would be played into the new file.  Only
 * when the old file is too damaged for that is its log moved aside with it.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "store/store_sqlite_i.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "sys/fs.h"

enum { STEP_PAGES = 256, COPY_BUSY_MS = 5000, MAX_KEPT = 99 };

struct copy_progress {
    void (*fn)(void *arg, int done, int total);
    void *arg;
};

static int file_error(const char *path, const char *doing, struct err *e)
{
    int sys = errno;
    enum errcode code = sys == ENOSPC || sys == EDQUOT ? ERR_DISK_FULL : ERR_IO;

    err_sys(e, code, sys, "store: %s", doing);
    err_at(e, "%s", path);
    return -(int)code;
}

static int sync_file(const char *path, int flags, struct err *e)
{
    int fd = open(path, flags | O_RDONLY | O_CLOEXEC), rc = 0;

    if (fd < 0 || fsync(fd))
        rc = file_error(path, "fsync", e);
    if (fd >= 0)
        close(fd);
    return rc;
}

static int sync_directory_of(const char *path, struct err *e)
{
    char *copy = xstrdup(path);
    int rc = sync_file(dirname(copy), O_DIRECTORY, e);

    free(copy);
    return rc;
}

/* PRAGMA quick_check or integrity_check, the first complaint only. */
static int check_pages(sqlite3 *db, const char *path, const char *pragma, struct err *e)
{
    SCOPED_STMT *stmt = NULL;
    const char *text;
    int rc = store_sq_prepare(db, path, pragma, &stmt, e);

    if (rc)
        return rc;
    rc = sqlite3_step(stmt);
    if (rc != SQLITE_ROW)
        return store_sq_error(db, path, rc, "check", e);
    text = (const char *)sqlite3_column_text(stmt, 0);
    if (text && !strcmp(text, "ok"))
        return 0;
    return store_sq_fail(path, ERR_CORRUPT, STORE_SQ_RESTORE, e, "check: %s",
                         text ? text : "no answer");
}

static int copy_pages(sqlite3 *from, sqlite3 *to, const char *to_path,
                      const struct copy_progress *p, struct err *e)
{
    sqlite3_backup *b = sqlite3_backup_init(to, "main", from, "main");
    int rc;

    if (!b)
        return store_sq_error(to, to_path, sqlite3_errcode(to), "copy", e);
    do {
        rc = sqlite3_backup_step(b, STEP_PAGES);
        if (p->fn)
            p->fn(p->arg, sqlite3_backup_pagecount(b) - sqlite3_backup_remaining(b),
                  sqlite3_backup_pagecount(b));
        sched_yield(); /* the server's work goes first */
    } while (rc == SQLITE_OK);
    sqlite3_backup_finish(b);
    return rc == SQLITE_DONE ? 0 : store_sq_error(to, to_path, rc, "copy", e);
}

/* Leaves WAL, so that the database is one file.  ERR_BUSY if somebody else has it open. */
static int leave_wal(const char *path, struct err *e)
{
    SCOPED_DB *db = NULL;
    SCOPED_STMT *stmt = NULL;
    int rc = store_sq_connect(path, SQLITE_OPEN_READWRITE, 0, &db, e);

    if (!rc)
        rc = store_sq_prepare(db, path, "PRAGMA journal_mode = DELETE", &stmt, e);
    if (rc)
        return rc;
    rc = sqlite3_step(stmt);
    if (rc == SQLITE_ROW && !strcmp((const char *)sqlite3_column_text(stmt, 0), "delete"))
        return 0;
    return store_sq_error(db, path, rc == SQLITE_ROW ? SQLITE_BUSY : rc, "leave WAL", e);
}

/* A whole, checked and durable copy of from_path as the new file to_path; on failure maybe a part.
 */
static int copy_make(const char *from_path, const char *to_path, const struct copy_progress *p,
                     const char *check, struct err *e)
{
    SCOPED_DB *from = NULL, *to = NULL;
    int version, rc, fd;

    rc = store_sq_connect(from_path, SQLITE_OPEN_READONLY, COPY_BUSY_MS, &from, e);
    /* The open transaction pins the snapshot: a commit in between would make the copy start over.
     */
    if (!rc)
        rc = store_sq_exec(from, from_path, "BEGIN", e);
    if (!rc)
        rc = store_migrate_inspect(from, from_path, store_migration_count, &version, e);
    if (rc)
        return rc;
    if (!version)
        return store_sq_fail(from_path, ERR_REFUSED, NULL, e, "the database is empty");
    fd = open(to_path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0)
        return file_error(to_path, "create", e);
    close(fd);
    rc = store_sq_connect(to_path, SQLITE_OPEN_READWRITE, 0, &to, e);
    if (!rc) /* the copy is thrown away unless it is complete: no journal needed */
        rc = store_sq_exec(to, to_path, "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF", e);
    if (!rc)
        rc = copy_pages(from, to, to_path, p, e);
    sqlite3_close(to);
    to = NULL;
    if (!rc)
        rc = leave_wal(to_path, e);
    if (!rc)
        rc = store_sq_connect(to_path, SQLITE_OPEN_READONLY, 0, &to, e);
    if (!rc)
        rc = check_pages(to, to_path, check, e);
    if (!rc)
        rc = store_sq_check_last(to, to_path, e);
    if (!rc)
        rc = sync_file(to_path, 0, e);
    return rc;
}

static int refuse_overwrite(const char *path, struct err *e)
{
    return store_sq_fail(path, ERR_EXISTS, "name a file that does not exist", e,
                         "a backup never overwrites a file");
}

int store_sq_backup(struct store *s, const char *to_path,
                    void (*progress)(void *arg, int done, int total), void *arg, struct err *e)
{
    const char *from_path = ((struct store_sq *)s)->path;
    struct copy_progress p = {progress, arg};
    SCOPED_BUF(partial);
    int rc;

    if (fs_exists(to_path))
        return refuse_overwrite(to_path, e);
    buf_printf(&partial, "%s.partial", to_path);
    rc = copy_make(from_path, partial.data, &p, "PRAGMA quick_check(1)", e);
    if (!rc) {
        rc = fs_name(partial.data, to_path, e);
        if (rc == -(int)ERR_EXISTS) /* taken meanwhile */
            rc = refuse_overwrite(to_path, e);
    }
    if (rc)
        (void)unlink(partial.data);
    return rc;
}

/* A name for the old file that is not in use. */
static int kept_name(const char *path, struct buf *ret_name, struct err *e)
{
    for (int i = 1; i <= MAX_KEPT; i++) {
        buf_clear(ret_name);
        buf_printf(ret_name, i == 1 ? "%s.before-restore" : "%s.before-restore.%d", path, i);
        if (!fs_exists(ret_name->data))
            return 0;
    }
    return store_sq_fail(path, ERR_REFUSED, "remove the files .before-restore not wanted", e,
                         "there are %d files kept from earlier restores", MAX_KEPT);
}

/* Puts the old file and what belongs to it aside.  Its own name stays until the rename replaces it.
 */
static int keep_old(const char *path, struct err *e)
{
    SCOPED_BUF(kept);
    SCOPED_BUF(wal);
    SCOPED_BUF(kept_wal);
    SCOPED_BUF(shm);
    int rc = leave_wal(path, e);

    if (rc == -(int)ERR_BUSY)
        return rc;
    rc = kept_name(path, &kept, e);
    if (rc)
        return rc;
    buf_printf(&wal, "%s-wal", path);
    buf_printf(&shm, "%s-shm", path);
    buf_printf(&kept_wal, "%s-wal", kept.data);
    if (link(path, kept.data) && rename(path, kept.data))
        return file_error(path, "keep the old database", e);
    if (fs_exists(wal.data) && rename(wal.data, kept_wal.data))
        return file_error(wal.data, "keep the old log", e);
    (void)unlink(shm.data);
    return 0;
}

int store_restored(const char *path, uint64_t now_s, struct err *e)
{
    SCOPED_DB *db = NULL;
    SCOPED_BUF(sql);
    int rc = store_sq_connect(path, SQLITE_OPEN_READWRITE, COPY_BUSY_MS, &db, e);

    /* Above the one before, whatever the clock of this machine says. */
    buf_printf(&sql, "UPDATE meta SET fence = max(fence + 1, %llu)", (unsigned long long)now_s);
    if (!rc)
        rc = store_sq_exec(db, path, sql.data, e);
    sqlite3_close(db);
    db = NULL;
    return rc ? rc : leave_wal(path, e);
}

static int restore_locked(const char *from, const char *to, struct err *e)
{
    struct copy_progress silent = {0};
    SCOPED_BUF(partial);
    int rc;

    buf_printf(&partial, "%s.restoring", to);
    rc = copy_make(from, partial.data, &silent, "PRAGMA integrity_check(1)", e);
    if (!rc)
        rc = store_restored(partial.data, (uint64_t)time(NULL), e);
    if (!rc && fs_exists(to))
        rc = keep_old(to, e);
    if (!rc && rename(partial.data, to))
        rc = file_error(to, "put the backup in place", e);
    if (!rc)
        rc = sync_directory_of(to, e);
    if (rc)
        (void)unlink(partial.data);
    return rc;
}

int store_restore(const char *from, const char *to, struct err *e)
{
    struct stat a, b;
    int fd, rc;

    if (stat(from, &a))
        return store_sq_fail(from, ERR_NOT_FOUND, NULL, e, "there is no such backup");
    if (!stat(to, &b) && !S_ISREG(b.st_mode))
        return store_sq_fail(to, ERR_INVALID, NULL, e, "what is to be replaced is not a file");
    if (!stat(to, &b) && a.st_dev == b.st_dev && a.st_ino == b.st_ino)
        return store_sq_fail(from, ERR_INVALID, NULL, e, "the backup is the database itself");
    fd = store_sq_lock(to, e);
    if (fd < 0)
        return fd;
    rc = restore_locked(from, to, e);
    close(fd);
    return rc;
}

int store_check_full(const char *path, struct err *e)
{
    SCOPED_DB *db = NULL;
    int version, rc;

    rc = store_sq_connect(path, SQLITE_OPEN_READONLY, COPY_BUSY_MS, &db, e);
    if (!rc)
        rc = store_migrate_inspect(db, path, store_migration_count, &version, e);
    if (!rc)
        rc = check_pages(db, path, "PRAGMA integrity_check(1)", e);
    if (!rc && version)
        rc = store_sq_check_last(db, path, e);
    return rc;
}
