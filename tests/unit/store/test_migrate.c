/* test_migrate.c - schema and layouts agree; versions go up, and only up */
/* SPDX-License-Identifier: Apache-2.0 */
#include "store/store_fixture.h"

#include "model/states.h"
#include "store/store_sqlite_i.h"

static void sql(const char *path, const char *text)
{
    sqlite3 *db;
    char *why = NULL;

    sqlite3_open(path, &db);
    if (sqlite3_exec(db, text, NULL, NULL, &why))
        printf("# %s: %s\n", text, why);
    sqlite3_free(why);
    sqlite3_close(db);
}

static int64_t number(sqlite3 *db, const char *text)
{
    int64_t v = -1;

    store_sq_numbers(db, "test", text, 1, &v, NULL);
    return v;
}

/* Column by column: names and order, types, NOT NULL, the key; and no table that nobody knows. */
static void test_schema(const char *path)
{
    static const char *const types[] = {"INTEGER", "INTEGER", "INTEGER", "INTEGER", "TEXT", "BLOB"};
    sqlite3 *db;
    char text[160];

    sqlite3_open(path, &db);
    for (int t = 0; t < ROWS_COUNT; t++) {
        const struct row_layout *l = &row_layouts[t];
        sqlite3_stmt *stmt;
        unsigned n = 0;

        snprintf(text, sizeof text, "PRAGMA table_info(\"%s\")", l->name);
        sqlite3_prepare_v2(db, text, -1, &stmt, NULL);
        for (; sqlite3_step(stmt) == SQLITE_ROW; n++) {
            const char *name = (const char *)sqlite3_column_text(stmt, 1);
            const char *type = (const char *)sqlite3_column_text(stmt, 2);
            const struct row_column *c = &l->columns[n];

            if (n >= l->n_columns) {
                ok(false, "%s.%s is in the layout", l->name, name);
                continue;
            }
            is_text(name, c->name, "%s: column %u is %s", l->name, n, c->name);
            is_text(type, types[c->type], "%s.%s has its type", l->name, name);
            is_int(sqlite3_column_int(stmt, 5), c->role == ROW_KEY, "%s.%s key or not", l->name,
                   name);
            ok(c->role == ROW_KEY || sqlite3_column_int(stmt, 3), "%s.%s is never NULL", l->name,
               name);
        }
        is_int(n, l->n_columns, "%s: as many columns", l->name);
        sqlite3_finalize(stmt);
    }
    is_int(number(db, "SELECT count(*) FROM sqlite_schema WHERE type = 'table'"), ROWS_COUNT + 1,
           "the tables of rows.h and checkpoint");
    is_int(number(db, "SELECT count(*) FROM sqlite_schema WHERE type = 'index' AND "
                      "sql LIKE '%state%'"),
           0, "no index on a state");
    is_int(number(db, "PRAGMA user_version"), store_migration_count, "the newest version");
    is_int(number(db, "PRAGMA application_id"), STORE_SQ_APPLICATION, "our application id");
    sqlite3_close(db);
}

/* What CHECK lets pass is exactly what states.h lists. */
static void test_checks(struct store *s)
{
    static const struct {
        enum row_table t;
        const char *column;
        unsigned count;
        int never; /* a number within that is not stored, -1: none */
    } cases[] = {
        {ROWS_NODE, "available", 2, -1},
        {ROWS_NODE, "alive", ALIVE_STATE_COUNT, -1},
        {ROWS_NODE, "gone", 2, -1},
        {ROWS_TOKEN, "revoked", 2, -1},
        {ROWS_POOL, "closed", 2, -1},
        {ROWS_DEF, "repeat", REPEAT_COUNT, -1},
        {ROWS_DEF, "hold", HOLD_COUNT, -1},
        {ROWS_OPERATION, "class", CLASS_COUNT, -1},
        {ROWS_OPERATION, "state", OPERATION_STATE_COUNT, -1},
        {ROWS_OPERATION, "reason", REASON_COUNT, -1},
        {ROWS_NODEROLE, "state", NODEROLE_STATE_COUNT, -1},
        {ROWS_NODEROLE, "target", TARGET_COUNT, -1},
        {ROWS_NODEROLE, "reason", REASON_COUNT, -1},
        {ROWS_TASK, "state", TASK_STATE_COUNT, TASK_READY},
        {ROWS_TASK, "reason", REASON_COUNT, -1},
        {ROWS_TASK, "rule", TASK_RULE_COUNT, -1},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct row_layout *l = &row_layouts[cases[i].t];
        const struct row_column *c = l->columns;

        while (strcmp(c->name, cases[i].column))
            c++;
        for (unsigned v = 0; v <= cases[i].count; v++) {
            bool good = v < cases[i].count && (int)v != cases[i].never;
            struct err e = {0};
            union row_any row;
            struct row_op op = fix_op(ROW_PUT, cases[i].t, &row);

            fix_row(cases[i].t, 1, 1, &row);
            memcpy((char *)&row + c->offset, &(uint32_t){v}, c->type == ROW_U8 ? 1 : 4);
            is_int(store_commit(s, &op, 1, &e), good ? 0 : -ERR_INTERNAL, "%s.%s = %u is %s",
                   l->name, c->name, v, good ? "stored" : "refused");
            if (!good)
                has_text(e.text, "CHECK constraint failed", "%s.%s = %u by its check", l->name,
                         c->name, v);
        }
    }
}

static void test_unique(struct store *s)
{
    struct err e = {0};
    struct row_node a = {.id = 100, .tenant = 7, .name = str_of("n1")}, b = a, c = a, d = a;
    struct row_token x = {.id = 100, .hash = str_of("same")}, y = x;
    struct row_deployment k = {.id = 100, .name = str_of("system")}, m = k;

    b.id = 101;
    c.id = 102;
    c.tenant = 8;
    d.id = 103;
    d.gone = 1;
    y.id = m.id = 101;
#define PUT(t, row) store_commit(s, &(struct row_op){t, ROW_PUT, &row}, 1, &e)
    is_int(PUT(ROWS_NODE, a), 0, "a node");
    is_int(PUT(ROWS_NODE, b), -ERR_INTERNAL, "its name is taken");
    has_text(e.text, "UNIQUE constraint failed", "says so, and put does not push the other out");
    is_int(PUT(ROWS_NODE, c), 0, "in another tenant it is free");
    is_int(PUT(ROWS_NODE, d), 0, "a node that is gone does not count");
    is_int(PUT(ROWS_TOKEN, x), 0, "a token");
    is_int(PUT(ROWS_TOKEN, y), -ERR_INTERNAL, "no two tokens with one hash");
    is_int(PUT(ROWS_DEPLOYMENT, k), 0, "a deployment");
    is_int(PUT(ROWS_DEPLOYMENT, m), -ERR_INTERNAL, "no two deployments with one name");
#undef PUT
}

/* Steps of our own, since the real ones are too few to fail. */
static void test_steps(const char *dir)
{
    static const struct store_migration steps[] = {
        {"0001-a", "CREATE TABLE a (id INTEGER PRIMARY KEY); INSERT INTO a VALUES (1);"},
        {"0002-b", "ALTER TABLE a ADD COLUMN note TEXT NOT NULL DEFAULT 'old';"},
        {"0003-c", "CREATE TABLE c (id INTEGER PRIMARY KEY); INSERT INTO missing VALUES (1);"},
    };
    SCOPED_DB *db = NULL;
    char *path = fs_join(dir, "steps.db");
    struct err e = {0};
    int version = -1;

    sqlite3_open(path, &db);
    is_int(store_migrate_inspect(db, path, 3, &version, &e), 0, "an empty file");
    is_int(version, 0, "is version 0");
    is_int(store_migrate_up(db, path, 0, steps, 1, &e), 0, "up to 1");
    is_int(store_migrate_inspect(db, path, 3, &version, &e), 0, "ours");
    is_int(version, 1, "is version 1");
    is_int(store_migrate_up(db, path, 1, steps, 2, &e), 0, "from 1 to 2");
    is_int(number(db, "SELECT count(*) FROM a WHERE note = 'old'"), 1, "rows came along");
    is_int(store_migrate_up(db, path, 2, steps, 3, &e), -ERR_INTERNAL, "3 fails half-way");
    has_text(e.text, "migration 0003-c", "names the migration");
    has_text(e.text, "no such table: missing", "and the reason");
    is_int(number(db, "SELECT count(*) FROM sqlite_schema WHERE name = 'c'"), 0,
           "nothing of it is left");
    is_int(number(db, "PRAGMA user_version"), 2, "the version is still 2");
    is_int(store_migrate_inspect(db, path, 1, &version, &e), -ERR_REFUSED, "2 is newer than 1");
    is_text(e.text, "store: schema 2 is newer than this program's 1", "says so");
    has_text(e.hint, "restore a backup", "with a remedy");
    is_text(e.at, path, "and the file");
    free(path);
}

/* ---- rows aside ---- */

enum { GROUP = 5 };

/* One more row in a part: noderole or task `id`, other than its place has it. */
static void add_noderole(struct buf *b, uint32_t id, uint32_t runs, enum noderole_state state)
{
    struct row_noderole row = {.id = id,
                               .role = str_of("lost"),
                               .parents = str_of("\1"),
                               .state = (uint8_t)state,
                               .run_count = runs,
                               .inputs = UINT64_MAX};
    buf_putc(b, ROWS_NODEROLE);
    row_encode(b, ROWS_NODEROLE, &row);
}

static void add_task(struct buf *b, uint32_t id, uint32_t tries)
{
    struct row_task row = {.id = id, .weight = 77, .deps = str_of("lost"), .tries = tries};
    buf_putc(b, ROWS_TASK);
    row_encode(b, ROWS_TASK, &row);
}

static void put_row(struct store *s, enum row_table t, const void *row)
{
    struct row_op op = fix_op(ROW_PUT, t, row);
    struct err e = {0};

    if (store_commit(s, &op, 1, &e))
        printf("# %s\n", e.text);
}

static void put_part(struct store *s, uint64_t group, uint32_t part, struct str body)
{
    struct row_aside row = {.id = group << ASIDE_PART_BITS | part, .body = body};

    put_row(s, ROWS_ASIDE, &row);
}

/* Noderoles 1 and 2 and tasks 1 and 2 as of the newest schema, changed by two parts of the last
 * group; noderole 2 is gone by then, noderole 9 was before. */
static char *make_lagging(const char *dir)
{
    char *path = fs_join(dir, "lagging.db");
    struct store *s = fix_open(path);
    struct err e;
    SCOPED_BUF(first);
    SCOPED_BUF(second);

    for (uint32_t id = 1; id <= 2; id++) {
        put_row(s, ROWS_NODEROLE,
                &(struct row_noderole){.id = id, .role = str_of("web"), .run_count = 1});
        put_row(s, ROWS_TASK, &(struct row_task){.id = id, .weight = 4, .deps = str_of("d")});
    }
    put_row(s, ROWS_META, &(struct row_meta){.id = 1, .group_no = GROUP});
    put_row(s, ROWS_SETTINGS, &(struct row_settings){.id = 1});
    store_checkpoint_put(s, 3, 0, true, str_of("rows of before"), &e);
    add_noderole(&first, 1, 41, NODEROLE_ACTIVE);
    add_noderole(&first, 2, 50, NODEROLE_ACTIVE);
    add_noderole(&first, 9, 60, NODEROLE_ACTIVE);
    add_task(&first, 2, 3);
    add_noderole(&second, 1, 42, NODEROLE_ERROR);
    add_noderole(&second, 2, 51, NODEROLE_REMOVED);
    add_noderole(&second, 9, 61, NODEROLE_REMOVED);
    put_part(s, GROUP, 1, buf_str(&first));
    put_part(s, GROUP, 2, buf_str(&second));
    put_part(s, GROUP + 1, 1, str_of("of a group that never came to be"));
    store_close(s);
    return path;
}

/* The next schema: a column more, and one that is made of what a row says. */
static int next_schema(const char *path, const char *step, struct err *e)
{
    struct store_migration steps[100];
    SCOPED_DB *db = NULL;

    memcpy(steps, store_migrations, (size_t)store_migration_count * sizeof *steps);
    steps[store_migration_count] = (struct store_migration){"next", step};
    *e = (struct err){0};
    sqlite3_open(path, &db);
    return store_migrate_up(db, path, store_migration_count, steps, store_migration_count + 1, e);
}

static int64_t asked(const char *path, const char *text)
{
    SCOPED_DB *db = NULL;

    sqlite3_open(path, &db);
    return number(db, text);
}

#define NEXT_SCHEMA                                                                                \
    "ALTER TABLE task ADD COLUMN later INTEGER NOT NULL DEFAULT 7;"                                \
    "ALTER TABLE noderole ADD COLUMN twice INTEGER NOT NULL DEFAULT 0;"                            \
    "UPDATE noderole SET twice = 2 * run_count;"

static void test_aside_goes_home(const char *dir)
{
    static const struct {
        const char *ask;
        int64_t want;
    } cases[] = {
        {"SELECT run_count FROM noderole WHERE id = 1", 42},
        {"SELECT state FROM noderole WHERE id = 1", NODEROLE_ERROR},
        {"SELECT inputs FROM noderole WHERE id = 1", -1},
        {"SELECT parents = x'01' FROM noderole WHERE id = 1", 1},
        {"SELECT role = 'web' FROM noderole WHERE id = 1", 1},
        {"SELECT twice FROM noderole WHERE id = 1", 84},
        {"SELECT count(*) FROM noderole", 1},
        {"SELECT tries FROM task WHERE id = 2", 3},
        {"SELECT weight FROM task WHERE id = 2", 4},
        {"SELECT deps = CAST('d' AS BLOB) FROM task WHERE id = 2", 1},
        {"SELECT sum(later) FROM task", 14},
        {"SELECT tries FROM task WHERE id = 1", 0},
        {"SELECT count(*) FROM aside", 0},
        {"SELECT count(*) FROM checkpoint", 0},
        {"SELECT count(*) FROM settings", 0},
    };
    char *path = make_lagging(dir);
    struct err e;

    is_int(next_schema(path, NEXT_SCHEMA "INSERT INTO missing VALUES (1);", &e), -ERR_INTERNAL,
           "a step that fails");
    is_int(asked(path, "SELECT count(*) FROM aside"), 3, "leaves what is aside");
    is_int(asked(path, "SELECT sum(run_count) FROM noderole"), 2, "and what is in its place");
    is_int(asked(path, "SELECT count(*) FROM checkpoint"), 1, "and the history");
    is_int(next_schema(path, NEXT_SCHEMA, &e), 0, "one that passes: %s", e.text);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        is_int(asked(path, cases[i].ask), cases[i].want, "%s", cases[i].ask);
    unlink(path);
    free(path);
}

static void refuses_aside(const char *dir, struct str body, const char *why)
{
    char *path = make_lagging(dir);
    struct store *s = fix_open(path);
    struct err e;

    put_part(s, GROUP, 3, body);
    store_close(s);
    is_int(next_schema(path, NEXT_SCHEMA, &e), -ERR_CORRUPT, "refused: %s", why);
    has_text(e.text, why, "and why: %s", why);
    is_text(e.at, path, "%s: where", why);
    has_text(e.hint, "restore a backup", "%s: the remedy", why);
    is_int(asked(path, "SELECT count(*) FROM aside"), 4, "%s: nothing was changed", why);
    unlink(path);
    free(path);
}

static void test_aside_damaged(const char *dir)
{
    SCOPED_BUF(body);
    size_t one;

    add_task(&body, 99, 1);
    refuses_aside(dir, buf_str(&body), "task 99 was changed but is not there");
    buf_clear(&body);
    add_task(&body, 1, 1);
    one = body.len;
    add_task(&body, 1, 1);
    for (size_t cut = 1; cut < one; cut += one / 5) {
        char text[80];

        snprintf(text, sizeof text, "byte %zu is not the start", one);
        refuses_aside(dir, (struct str){body.data, body.len - cut}, text);
    }
    refuses_aside(dir, str_of("\250oops"), "byte 0 is not the start");
    body.data[1]--;
    refuses_aside(dir, buf_str(&body), "byte 0 is not the start");
}

/* A noderole from before there were quorums has none, and what was journalled is not replayed. */
static void test_quorums(const char *dir)
{
    char *path = fs_join(dir, "before.db");
    sqlite3 *db = NULL;
    struct err e = {0};

    sqlite3_open(path, &db);
    is_int(store_migrate_up(db, path, 0, store_migrations, 3, &e), 0, "a store of schema 3");
    sqlite3_close(db);
    sql(path,
        "INSERT INTO noderole VALUES (1, 1, 1, 'web', 2, 1, 1, 0, x'07000000', 1, 5, 0, 0, 0, "
        "0, 1, 1, 1, 0, 1, 11, 12)");
    sql(path, "INSERT INTO settings SELECT 1, 1, 1, 1, 1, 1, 1, 1, 1, 1");
    store_close(fix_open(path));
    sqlite3_open(path, &db);
    is_int(number(db, "PRAGMA user_version"), store_migration_count, "is brought up");
    is_int(number(db, "SELECT count(*) FROM noderole WHERE id = 1 AND parents = x'07000000' AND "
                      "inputs = 12 AND length(quorums) = 0"),
           1, "its noderole has no quorums, and all else that it had");
    is_int(number(db, "SELECT count(*) FROM settings"), 0, "the next server makes a checkpoint");
    sqlite3_close(db);
    free(path);
}

static void refused(const char *path, bool read_only, int want, const char *part, const char *what)
{
    struct store *s = NULL;
    struct err e = {0};

    is_int(store_open(&(struct store_options){.path = path, .read_only = read_only}, &s, &e), want,
           "%s", what);
    has_text(e.text, part, "%s: says why", what);
    ok(!s, "%s: no handle", what);
    is_text(e.at, path, "%s: names the file", what);
    ok(e.hint[0], "%s: has a remedy", what);
}

static void test_other_files(const char *dir)
{
    char *path = fs_join(dir, "other.db"), text[80];
    struct err e;
    sqlite3 *db;
    SCOPED_BUF(before);
    SCOPED_BUF(after);

    sql(path, "CREATE TABLE theirs (x); INSERT INTO theirs VALUES (1)");
    fs_read(path, 1 << 20, &before, &e);
    refused(path, false, -ERR_REFUSED, "not one of Anneal's", "somebody else's database");
    fs_read(path, 1 << 20, &after, &e);
    ok(str_eq(buf_str(&before), buf_str(&after)), "it is left as it was");
    unlink(path);

    snprintf(text, sizeof text, "PRAGMA application_id = %d; CREATE TABLE meta (id)",
             STORE_SQ_APPLICATION);
    sql(path, text);
    refused(path, false, -ERR_CORRUPT, "no version", "ours without a version");
    unlink(path);

    store_close(fix_open(path));
    snprintf(text, sizeof text, "PRAGMA user_version = %d", store_migration_count + 1);
    sql(path, text);
    refused(path, false, -ERR_REFUSED, "newer", "a newer schema");
    refused(path, true, -ERR_REFUSED, "newer", "a newer schema for a reader");
    unlink(path);

    sql(path, "PRAGMA user_version = 0");
    refused(path, true, -ERR_REFUSED, "older", "a reader does not migrate");
    is_int(store_open(&(struct store_options){.path = path, .as_is = true}, &(struct store *){NULL},
                      &e),
           -ERR_REFUSED, "nor does who wants the file as it is");
    has_text(e.text, "schema 0 is older", "which is told");

    fs_write_atomic(path, "this is not a database at all, but a text", 41, 0600, &e);
    refused(path, false, -ERR_CORRUPT, "not a database", "a text file");
    unlink(path);

    store_close(fix_open(path));
    sql(path, "ALTER TABLE task DROP COLUMN tries");
    refused(path, false, -ERR_INTERNAL, "tries", "a column is missing");
    sqlite3_open(path, &db);
    sqlite3_close(db);
    free(path);
}

int main(void)
{
    char *dir = fix_dir(), *path = fs_join(dir, "a.db");
    struct store *s = fix_open(path);
    struct err e;

    test_schema(path);
    test_checks(s);
    test_unique(s);
    store_close(s);
    test_steps(dir);
    test_aside_goes_home(dir);
    test_aside_damaged(dir);
    test_quorums(dir);
    test_other_files(dir);
    fs_remove_tree(dir, &e);
    free(path);
    free(dir);
    return tap_done();
}
