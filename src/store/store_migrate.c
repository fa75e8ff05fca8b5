/* store_migrate.c - is the file ours, and bringing its schema up to date
 *
 * Migration n of sql/ takes the schema from version n-1 to n; the version is SQLite's user_version.
 * Each runs in a transaction with its new number, so that a crash leaves one version or the other.
 * A file of a newer version is refused, never guessed at; there is no way down but a backup.
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

static int migrate_step(sqlite3 *db, const char *path, const struct store_migration *m, int to,
                        struct err *e)
{
    SCOPED_BUF(sql);
    int rc;

    buf_printf(&sql,
               "BEGIN IMMEDIATE;\n%s\n"
               "PRAGMA application_id = %d; PRAGMA user_version = %d;\nCOMMIT;",
               m->sql, STORE_SQ_APPLICATION, to);
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
        rc = migrate_step(db, path, &m[to - 1], to, e);
    return rc;
}
