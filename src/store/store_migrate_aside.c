/* store_migrate_aside.c - before a migration, what is aside goes to its place
 *
 * Rows aside (server/aside.h) are bytes with the columns of the version that wrote them, and a
 * migration changes tables, not bytes.  So before the first step the bytes are laid over the rows
 * in their places, by the columns that the tables of the file have as yet: schema and row_layouts
 * agree in every version.  A migration then finds each row in its table, whatever it makes of it.
 *
 * Written is what an update writes.  Columns that today's list has as fixed are left, for their
 * bytes are empty; one that the list has no more is taken as one that was updated.  Parts of a
 * group that never came to be are dropped.  A noderole in state REMOVED is no row in its place.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "store/store_sqlite_i.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "model/states.h"

enum { COLUMNS_MOST = 255, NOWHERE = -1 }; /* a row's bytes give their number in one */

/* A table as it is in the file. */
struct form {
    int n_columns; /* 0: not looked at yet */
    int state;     /* column whose REMOVED is no row; NOWHERE: there is none */
    bool written[COLUMNS_MOST];
    sqlite3_stmt *update, *remove;
};

struct changed {
    uint8_t table;
    int64_t id;
};

struct fold {
    sqlite3 *db;
    const char *path;
    struct form forms[ROWS_COUNT];
    VEC(struct changed) missing; /* rows that were changed, but are not in their places */
};

static int damaged(const struct fold *f, int64_t part, size_t at, struct err *e)
{
    return store_sq_fail(f->path, ERR_CORRUPT, STORE_SQ_RESTORE, e,
                         "aside %lld: byte %zu is not the start of a row", (long long)part, at);
}

static bool is_fixed(enum row_table t, const char *column)
{
    const struct row_layout *l = &row_layouts[t];

    for (unsigned i = 0; i < l->n_columns; i++)
        if (!strcmp(l->columns[i].name, column))
            return l->columns[i].role != ROW_DYN;
    return false;
}

static int form_take(struct fold *f, enum row_table t, struct form *ret_m, struct err *e)
{
    const char *name = row_layouts[t].name, *sep = "";
    SCOPED_BUF(sql);
    SCOPED_STMT *columns = NULL;
    struct form m = {.state = NOWHERE};

    buf_printf(&sql, "SELECT name FROM pragma_table_info('%s') ORDER BY cid", name);
    int rc = store_sq_prepare(f->db, f->path, sql.data, &columns, e);
    buf_clear(&sql);
    buf_printf(&sql, "UPDATE \"%s\" SET ", name);
    for (; !rc && m.n_columns < COLUMNS_MOST && sqlite3_step(columns) == SQLITE_ROW;
         m.n_columns++) {
        const char *column = (const char *)sqlite3_column_text(columns, 0);

        if (t == ROWS_NODEROLE && !strcmp(column, "state"))
            m.state = m.n_columns;
        m.written[m.n_columns] = !is_fixed(t, column);
        if (!m.written[m.n_columns])
            continue;
        buf_printf(&sql, "%s\"%s\" = ?%d", sep, column, m.n_columns + 1);
        sep = ", ";
    }
    buf_puts(&sql, " WHERE id = ?1");
    if (!rc && !*sep)
        return store_sq_fail(f->path, ERR_CORRUPT, STORE_SQ_RESTORE, e,
                             "rows of %s are aside, but nothing of it can change", name);
    if (!rc)
        rc = store_sq_prepare(f->db, f->path, sql.data, &m.update, e);
    buf_clear(&sql);
    buf_printf(&sql, "DELETE FROM \"%s\" WHERE id = ?1", name);
    if (!rc)
        rc = store_sq_prepare(f->db, f->path, sql.data, &m.remove, e);
    *ret_m = m; /* also half of it: what was prepared is finalized with the rest */
    return rc;
}

static int bind_value(sqlite3_stmt *stmt, int at, const struct row_value *v)
{
    if (v->type == ROW_TEXT)
        return sqlite3_bind_text64(stmt, at, v->text.s, v->text.n, SQLITE_STATIC, SQLITE_UTF8);
    if (v->type == ROW_BLOB)
        return sqlite3_bind_blob64(stmt, at, v->text.s, v->text.n, SQLITE_STATIC);
    return sqlite3_bind_int64(stmt, at, (sqlite3_int64)v->number);
}

/* Binds the row in front of *from, which begins with the number of its columns; *ret_gone: it is
 * none in its place. */
static bool bind_row(const struct form *m, struct str *from, int64_t *ret_id, bool *ret_gone)
{
    if (from->n == 0 || (uint8_t)*from->s != m->n_columns)
        return false;
    *from = (struct str){from->s + 1, from->n - 1};
    for (int i = 0; i < m->n_columns; i++) {
        struct row_value v;

        if (!row_value_take(from, &v))
            return false;
        if (i == 0)
            *ret_id = (int64_t)v.number;
        if (i == m->state)
            *ret_gone = v.number == NODEROLE_REMOVED;
        if ((i == 0 || m->written[i]) && bind_value(m->update, i + 1, &v) != SQLITE_OK)
            return false;
    }
    return true;
}

/* A row may lie in its place no more if a later part has it as gone. */
static void note_missing(struct fold *f, struct changed row, bool gone)
{
    size_t keep = 0;

    if (!gone) {
        vec_push(&f->missing, row);
        return;
    }
    for (size_t i = 0; i < f->missing.n; i++)
        if (f->missing.at[i].table != row.table || f->missing.at[i].id != row.id)
            f->missing.at[keep++] = f->missing.at[i];
    f->missing.n = keep;
}

static int fold_row(struct fold *f, struct form *m, struct changed row, bool gone, struct err *e)
{
    sqlite3_stmt *stmt = gone ? m->remove : m->update;

    if (gone)
        sqlite3_bind_int64(stmt, 1, row.id);
    int rc = sqlite3_step(stmt);
    rc = rc == SQLITE_DONE ? 0 : store_sq_error(f->db, f->path, rc, "bring home", e);
    sqlite3_reset(stmt);
    if (!rc && (gone || !sqlite3_changes(f->db)))
        note_missing(f, row, gone);
    return rc;
}

static int fold_part(struct fold *f, int64_t part, struct str body, struct err *e)
{
    for (struct str rest = body; rest.n > 0;) {
        size_t at = body.n - rest.n;
        struct changed row = {(uint8_t)*rest.s, 0};
        struct form *m = &f->forms[row.table < ROWS_COUNT ? row.table : 0];
        bool gone = false;
        int rc = 0;

        if (row.table >= ROWS_COUNT)
            return damaged(f, part, at, e);
        if (!m->n_columns)
            rc = form_take(f, (enum row_table)row.table, m, e);
        rest = (struct str){rest.s + 1, rest.n - 1};
        if (!rc && !bind_row(m, &rest, &row.id, &gone))
            return damaged(f, part, at, e);
        if (!rc)
            rc = fold_row(f, m, row, gone, e);
        if (rc)
            return rc;
    }
    return 0;
}

static int fold_parts(struct fold *f, struct err *e)
{
    SCOPED_BUF(sql);
    SCOPED_STMT *parts = NULL;
    int rc, step = SQLITE_DONE;

    buf_printf(&sql,
               "SELECT id, body FROM aside WHERE id >> %d <= (SELECT coalesce(max(group_no), 0) "
               "FROM meta) ORDER BY id",
               ASIDE_PART_BITS);
    rc = store_sq_prepare(f->db, f->path, sql.data, &parts, e);
    while (!rc && (step = sqlite3_step(parts)) == SQLITE_ROW) {
        const char *body = sqlite3_column_blob(parts, 1);

        rc = fold_part(f, sqlite3_column_int64(parts, 0),
                       (struct str){body, (size_t)sqlite3_column_bytes(parts, 1)}, e);
    }
    if (!rc && step != SQLITE_DONE)
        rc = store_sq_error(f->db, f->path, step, "read what is aside", e);
    if (!rc && f->missing.n > 0)
        rc = store_sq_fail(
            f->path, ERR_CORRUPT, STORE_SQ_RESTORE, e, "%s %lld was changed but is not there",
            row_layouts[f->missing.at[0].table].name, (long long)f->missing.at[0].id);
    return rc;
}

int store_migrate_aside(sqlite3 *db, const char *path, struct err *e)
{
    struct fold *f = xcalloc(1, sizeof *f);
    int rc;

    f->db = db;
    f->path = path;
    rc = fold_parts(f, e);
    for (int t = 0; t < ROWS_COUNT; t++) {
        sqlite3_finalize(f->forms[t].update);
        sqlite3_finalize(f->forms[t].remove);
    }
    vec_done(&f->missing);
    free(f);
    return rc ? rc : store_sq_exec(db, path, "DELETE FROM aside", e);
}
