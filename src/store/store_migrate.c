/* store_migrate.c - is the file ours, and bringing its schema up to date
 *
 * Migration n of sql/ takes the schema from version n-1 to n; the version is SQLite's user_version.
 * Each runs in a transaction with its new number, so that a crash leaves one version or the other.
 * A file of a newer version is refused, never guessed at; there is no way down but a backup.
 *
 * Two kinds of bytes have the columns of the version that wrote them, and no step sees to either:
 * rows aside go to their places first (store_migrate_aside.c), and checkpoints are dropped.  With
 * them goes the row of `settings`: another version replays by other rules, so that its first server
 * begins a history that can be replayed (docs/rfc/02-store.md, section 6).
 *
 * To change the schema: add sql/NNNN-what.sql with the next number to src/store/meson.build.  Never
 * edit one that was released.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "store/store_sqlite_i.h"

int store_migrate_inspect(sqlite3 *db, const char *path, int newest, int *ret_version,
                          struct err *e)
{
    int64_t v[3] = {0}, objects, application, version;
    int rc = store_sq_numbers(db, path,
                              "SELECT (SELECT count(*) FROM sqlite_schema), application_id, "
                              "user_version FROM pragma_application_id, pragma_user_version",
                              3, v, e);

    if (rc)
        return rc;
    objects = v[0];
    application = v[1];
    version = v[2];
    if (!objects && !application && !version) {
        *ret_version = 0;
        return 0;
    }
    if (application != STORE_SQ_APPLICATION)
        return store_sq_fail(path, ERR_REFUSED, "name another file: this one is left as it is", e,
                             "the file is a database, but not one of Anneal's");
    if (version > newest)
        return store_sq_fail(
            path, ERR_REFUSED, "use the version that wrote it, or restore a backup from before", e,
            "schema %lld is newer than this program's %d", (long long)version, newest);
    if (version < 1)
        return store_sq_fail(path, ERR_CORRUPT, STORE_SQ_RESTORE, e, "the schema has no version");
    *ret_version = (int)version;
    return 0;
}

static int has_table(sqlite3 *db, const char *path, const char *name, bool *ret_has, struct err *e)
{
    SCOPED_BUF(sql);
    int64_t n = 0;

    buf_printf(&sql, "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = '%s'",
               name);
    int rc = store_sq_numbers(db, path, sql.data, 1, &n, e);
    *ret_has = n > 0;
    return rc;
}

/* What no step could bring along, in the transaction of the first. */
static int leave_version(sqlite3 *db, const char *path, struct err *e)
{
    static const char *const history[] = {"checkpoint", "settings"};
    bool has;
    int rc = has_table(db, path, "aside", &has, e);

    if (!rc && has)
        rc = store_migrate_aside(db, path, e);
    for (size_t i = 0; i < sizeof history / sizeof *history && !rc; i++) {
        SCOPED_BUF(sql);

        rc = has_table(db, path, history[i], &has, e);
        buf_printf(&sql, "DELETE FROM %s", history[i]);
        if (!rc && has)
            rc = store_sq_exec(db, path, sql.data, e);
    }
    return rc;
}

static int migrate_step(sqlite3 *db, const char *path, const struct store_migration *m, int to,
                        bool leaves, struct err *e)
{
    SCOPED_BUF(sql);
    int rc = store_sq_exec(db, path, "BEGIN IMMEDIATE", e);

    if (!rc && leaves)
        rc = leave_version(db, path, e);
    buf_printf(&sql, "%s\nPRAGMA application_id = %d; PRAGMA user_version = %d;\nCOMMIT;", m->sql,
               STORE_SQ_APPLICATION, to);
    if (!rc)
        rc = store_sq_exec(db, path, sql.data, e);
    if (rc && !sqlite3_get_autocommit(db))
        (void)sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL); /* closing would do it as well */
    if (rc)
        err_wrap(e, "migration %s", m->name);
    return rc;
}

int store_migrate_up(sqlite3 *db, const char *path, int version, const struct store_migration *m,
                     int n, struct err *e)
{
    int rc = 0;

    for (int to = version + 1; to <= n && !rc; to++)
        rc = migrate_step(db, path, &m[to - 1], to, version > 0 && to == version + 1, e);
    return rc;
}
