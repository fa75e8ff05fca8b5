/* store_sqlite_error.c - what SQLite reports, as our errors with a remedy */
/* SPDX-License-Identifier: Apache-2.0 */
#include "store/store_sqlite_i.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

static enum errcode code_of(int rc, int sys)
{
    switch (rc & 0xff) {
    case SQLITE_FULL: return ERR_DISK_FULL;
    case SQLITE_BUSY:
    case SQLITE_LOCKED: return ERR_BUSY;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB: return ERR_CORRUPT;
    case SQLITE_TOOBIG: return ERR_TOO_LARGE;
    case SQLITE_IOERR:
        /* A failed fsync stays ERR_IO whatever its errno: only then is the outcome unknown. */
        if ((sys == ENOSPC || sys == EDQUOT) && rc != SQLITE_IOERR_FSYNC)
            return ERR_DISK_FULL;
        return ERR_IO;
    case SQLITE_PERM:
    case SQLITE_READONLY:
    case SQLITE_CANTOPEN: return ERR_IO;
    default: return ERR_INTERNAL;
    }
}

static const char *remedy_of(enum errcode code, int rc)
{
    switch ((int)code) {
    case ERR_DISK_FULL: return "free space on its file system; what was committed is safe";
    case ERR_BUSY: return "another program holds the database: end it (fuser on the file names it)";
    case ERR_CORRUPT: return STORE_SQ_RESTORE;
    case ERR_IO: break;
    default: return NULL;
    }
    switch (rc & 0xff) {
    case SQLITE_CANTOPEN: return "the directory must exist and be writable by this user";
    case SQLITE_PERM:
    case SQLITE_READONLY: return "the file and its directory must be writable by this user";
    default: return "check the disk and the kernel's log, then start again";
    }
}

int store_sq_error(sqlite3 *db, const char *path, int rc, const char *doing, struct err *e)
{
    int sys = db ? sqlite3_system_errno(db) : 0;
    enum errcode code = code_of(rc, sys);
    const char *remedy = remedy_of(code, rc);
    /* errmsg is about the last call, which after a clean-up may be another than the one that
     * failed. */
    bool current = db && (sqlite3_errcode(db) & 0xff) == (rc & 0xff);
    const char *text = current ? sqlite3_errmsg(db) : sqlite3_errstr(rc);

    if (code == ERR_IO && sys)
        err_sys(e, code, sys, "store: %s: %s", doing, text);
    else
        err_set(e, code, "store: %s: %s", doing, text);
    if (remedy)
        err_hint(e, "%s", remedy);
    err_at(e, "%s", path);
    return -(int)code;
}

int store_sq_fail(const char *path, enum errcode code, const char *hint, struct err *e,
                  const char *fmt, ...)
{
    char text[sizeof e->text];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    err_set(e, code, "store: %s", text);
    if (hint)
        err_hint(e, "%s", hint);
    err_at(e, "%s", path);
    return -(int)code;
}
