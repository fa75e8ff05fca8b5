/* test_sqlite.c - what only the SQLite backend has: locks, settings, readers, damage */
/* SPDX-License-Identifier: Apache-2.0 */
#include "store/store_fixture.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/stat.h>

#include "store/store_sqlite_i.h"

static int put(struct store *s, enum row_table t, const void *row, struct err *e)
{
    struct row_op op = fix_op(ROW_PUT, t, row);

    return store_commit(s, &op, 1, e);
}

static int nothing(void *arg, enum row_table t, const void *row, struct err *e)
{
    (void)t, (void)row, (void)e;
    if (arg)
        ++*(int *)arg;
    return 0;
}

static void sql(sqlite3 *db, const char *text)
{
    char *why = NULL;

    if (sqlite3_exec(db, text, NULL, NULL, &why))
        printf("# %s: %s\n", text, why);
    sqlite3_free(why);
}

static off_t size_of(const char *path)
{
    struct stat st;

    return stat(path, &st) ? -1 : st.st_size;
}

static void pragma_is(struct store *s, const char *name, int64_t want)
{
    struct store_sq *q = (struct store_sq *)s;
    int64_t v = -1;
    char text[80];

    snprintf(text, sizeof text, "PRAGMA %s", name);
    store_sq_numbers(q->db, q->path, text, 1, &v, NULL);
    is_int(v, want, "%s is %d", name, (int)want);
}

static void test_settings(const char *path)
{
    struct store *s = NULL;
    struct err e = {0};
    struct stat st;

    is_int(store_open(&(struct store_options){.path = path}, &s, &e), 0, "a new database");
    pragma_is(s, "synchronous", 2);
    pragma_is(s, "foreign_keys", 0);
    pragma_is(s, "temp_store", 2);
    pragma_is(s, "page_size", 4096);
    pragma_is(s, "cache_size", -65536);
    pragma_is(s, "secure_delete", 2);
    ok(!stat(path, &st) && (st.st_mode & 0777) == 0600, "it is for its owner only");
    store_close(s);
    s = fix_open(path);
    pragma_is(s, "synchronous", 0);
    store_close(s);
}

static void test_second_opener(const char *path)
{
    struct store *s = fix_open(path), *other = NULL;
    struct err e = {0};
    char pid[32];

    snprintf(pid, sizeof pid, "%d", (int)getpid());
    is_int(store_open(&(struct store_options){.path = path}, &other, &e), -ERR_BUSY,
           "a second server");
    has_text(e.text, pid, "says which process is the first");
    is_text(e.at, path, "names the file");
    has_text(e.hint, "stop it first", "says what to do");
    ok(!other, "no handle");
    store_close(s);
    is_int(store_open(&(struct store_options){.path = path}, &other, &e), 0,
           "after the first has gone");
    store_close(other);
}

static void test_locked(const char *path)
{
    struct store *s = fix_open(path);
    struct err e = {0};
    sqlite3 *other;
    union row_any row;

    fix_row(ROWS_ASIDE, 1, 1, &row);
    sqlite3_open(path, &other);
    sql(other, "BEGIN EXCLUSIVE");
    is_int(put(s, ROWS_ASIDE, &row, &e), -ERR_BUSY, "another program writes");
    is_text(e.at, path, "names the file");
    has_text(e.hint, "fuser", "says how to find it");
    sql(other, "ROLLBACK");
    is_int(put(s, ROWS_ASIDE, &row, &e), 0, "it has ended: the store goes on");
    store_close(s);

    sql(other, "PRAGMA journal_mode = DELETE; BEGIN EXCLUSIVE");
    is_int(store_open(&(struct store_options){.path = path}, &s, &e), -ERR_BUSY,
           "another program holds it at start");
    is_text(e.at, path, "names the file");
    sqlite3_close(other);
}

static void test_reader(const char *path)
{
    struct store *s = fix_open(path), *r = NULL;
    struct err e = {0};
    union row_any row;
    int n = 0;
    uint32_t deleted;

    is_int(store_open(&(struct store_options){.path = path, .read_only = true}, &r, &e), 0,
           "a reader beside the server");
    fix_row(ROWS_SPAN, 1, 1, &row);
    put(s, ROWS_SPAN, &row, &e);
    store_each(r, ROWS_SPAN, nothing, &n, &e);
    is_int(n, 1, "sees what is committed");
    is_int(put(r, ROWS_SPAN, &row, &e), -ERR_INTERNAL, "it does not write");
    is_int(store_trim(r, ROWS_SPAN, 0, 9, 0, &deleted, &e), -ERR_INTERNAL, "nor trim");
    is_int(store_checkpoint_put(r, 1, 0, true, str_of("x"), &e), -ERR_INTERNAL,
           "nor write checkpoints");
    is_int(store_checkpoint_drop(r, 1, &e), -ERR_INTERNAL, "nor drop them");
    store_close(r);
    store_close(s);
    is_int(store_open(&(struct store_options){.path = "/nowhere/a.db", .read_only = true}, &r, &e),
           -ERR_IO, "a reader makes no file");
    is_int(store_open(&(struct store_options){.path = "/nowhere/a.db"}, &r, &e), -ERR_NOT_FOUND,
           "nor does a server without a directory");
    has_text(e.text, "/nowhere/a.db.lock", "which names what it could not make");
    is_text(e.at, "/nowhere/a.db", "and the file");
}

struct race {
    struct store *s;
    atomic_bool stop;
    int failed;
};

static void *write_groups(void *arg)
{
    struct race *r = arg;
    struct err e;

    for (uint64_t g = 1; !r->stop; g++) {
        struct row_journal entry = {.id = g};
        struct row_meta meta = {.id = 1, .group_no = g, .journal_seq = g};
        struct row_op ops[] = {fix_op(ROW_INSERT, ROWS_JOURNAL, &entry),
                               fix_op(ROW_PUT, ROWS_META, &meta)};

        r->failed += store_commit(r->s, ops, 2, &e) != 0;
    }
    return NULL;
}

/* Opening a reader looks at two tables; a commit in between must not look like damage. */
static void test_readers_race(const char *path)
{
    enum { OPENS = 300 };
    struct race r = {.s = fix_open(path)};
    struct err e = {0};
    pthread_t thread;
    int failed = 0;

    pthread_create(&thread, NULL, write_groups, &r);
    for (int i = 0; i < OPENS; i++) {
        struct store *reader = NULL;

        if (store_open(&(struct store_options){.path = path, .read_only = true}, &reader, &e))
            failed++, note("%s", e.text);
        store_close(reader);
    }
    r.stop = true;
    pthread_join(thread, NULL);
    is_int(failed, 0, "%d readers opened while the server committed", OPENS);
    is_int(r.failed, 0, "which they did not disturb");
    store_close(r.s);
}

/* The partial index is used, and holds open attempts only. */
static void test_open_index(const char *path)
{
    SCOPED_DB *db = NULL;
    SCOPED_STMT *stmt = NULL; /* ends before the connection */
    SCOPED_BUF(plan);

    sqlite3_open(path, &db);
    sqlite3_prepare_v2(db,
                       "EXPLAIN QUERY PLAN SELECT id, note FROM attempt WHERE outcome = 255 "
                       "ORDER BY id",
                       -1, &stmt, NULL);
    while (sqlite3_step(stmt) == SQLITE_ROW)
        buf_printf(&plan, "%s;", (const char *)sqlite3_column_text(stmt, 3));
    has_text(plan.data, "attempt_open", "open attempts are read by their index");
    ok(plan.data && !strstr(plan.data, "B-TREE"), "and not sorted");
}

/* The log is copied back as it grows; a reader that stays long delays it, no more. */
static void test_log_bounded(const char *path, const char *wal)
{
    enum { GROUPS = 240, ROWS = 1000, ALONE = 120, READING = 180, ENOUGH = 6 << 20 };
    struct store *s = fix_open(path);
    struct err e = {0};
    sqlite3 *reader;
    sqlite3_stmt *stmt;
    int failed = 0;
    off_t most = 0, held = 0;
    static union row_any rows[ROWS];
    static struct row_op ops[ROWS];

    sqlite3_open(path, &reader);
    sqlite3_prepare_v2(reader, "SELECT id FROM meta", -1, &stmt, NULL);
    for (int g = 0; g < GROUPS; g++) {
        for (int i = 0; i < ROWS; i++) {
            fix_row(ROWS_DOCUMENT, (uint64_t)(g * ROWS + i), (uint64_t)g + 1, &rows[i]);
            ops[i] = fix_op(ROW_PUT, ROWS_DOCUMENT, &rows[i]);
        }
        failed += store_commit(s, ops, ROWS, &e) != 0;
        if (g == ALONE)
            sql(reader, "BEGIN; SELECT count(*) FROM document");
        if (g == READING) {
            held = size_of(wal);
            sql(reader, "COMMIT");
        }
        if (g < ALONE && size_of(wal) > most)
            most = size_of(wal);
    }
    is_int(failed, 0, "all groups were written");
    ok(most > 0 && most < ENOUGH, "the log stayed below 6 MB (%d kB)", (int)(most >> 10));
    ok(held > ENOUGH, "a long reader made it grow (%d kB)", (int)(held >> 10));
    ok(store_bytes(s) >= (uint64_t)(size_of(path) + size_of(wal)), "its size counts");
    sqlite3_finalize(stmt);
    sqlite3_close(reader);
    store_close(s);
    is_int(size_of(wal), -1, "a clean end leaves no log");
}

static void test_last_group(const char *path)
{
    struct store *s = fix_open(path);
    struct err e = {0};
    struct row_meta meta = {.id = 1, .group_no = 5, .journal_seq = 5};
    struct row_journal entry = {.id = 5};
    sqlite3 *db;

    put(s, ROWS_META, &meta, &e);
    put(s, ROWS_JOURNAL, &entry, &e);
    store_close(s);
    store_close(fix_open(path));
    sqlite3_open(path, &db);
    sql(db, "UPDATE meta SET journal_seq = 4");
    is_int(store_open(&(struct store_options){.path = path}, &s, &e), -ERR_CORRUPT,
           "a journal beyond meta");
    is_text(e.text, "store: the journal ends at 5, but meta says 4", "says both");
    is_int(store_check_full(path, &e), -ERR_CORRUPT, "the full check says it too");
    sql(db, "DELETE FROM meta");
    is_int(store_open(&(struct store_options){.path = path, .read_only = true}, &s, &e),
           -ERR_CORRUPT, "a journal without meta, for a reader");
    sql(db, "DELETE FROM journal");
    sqlite3_close(db);
    store_close(fix_open(path));
}

static void test_out_of_range(const char *path)
{
    static const struct {
        const char *change, *what;
        enum row_table t;
    } cases[] = {
        {"UPDATE noderole SET mode = 4294967296", "noderole 1: mode is 4294967296",
         ROWS_NODEROLE},
        {"UPDATE noderole SET mode = -1", "noderole 1: mode is -1", ROWS_NODEROLE},
        {"UPDATE noderole SET mode = 0, cohort = 4294967296", "cohort is 4294967296",
         ROWS_NODEROLE},
        {"UPDATE noderole SET cohort = -5", "cohort is -5", ROWS_NODEROLE},
        {"UPDATE attempt SET flags = 1000", "attempt 1: flags is 1000", ROWS_ATTEMPT},
    };
    struct store *s = fix_open(path);
    struct err e = {0};
    union row_any row;
    sqlite3 *db;

    fix_row(ROWS_NODEROLE, 1, 1, &row);
    put(s, ROWS_NODEROLE, &row, &e);
    fix_row(ROWS_ATTEMPT, 1, 1, &row);
    row.attempt.outcome = ATTEMPT_OPEN;
    put(s, ROWS_ATTEMPT, &row, &e);
    sqlite3_open(path, &db);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        sql(db, cases[i].change);
        is_int(store_each(s, cases[i].t, nothing, NULL, &e), -ERR_CORRUPT, "%s", cases[i].change);
        has_text(e.text, cases[i].what, "%s: says which", cases[i].change);
        is_text(e.at, path, "%s: names the file", cases[i].change);
        has_text(e.hint, "anneal admin restore", "%s: has a remedy", cases[i].change);
    }
    is_int(store_each_open_attempt(s, nothing, NULL, &e), -ERR_CORRUPT, "open attempts as well");
    sqlite3_close(db);
    store_close(s);
}

/* Pages of noise behind the roots of the tables: found when they are read, never a crash. */
static void test_damaged_pages(const char *path)
{
    struct store *s = fix_open(path);
    struct err e = {0};
    char noise[4096] = {0};
    int fd, corrupt = 0, wrong = 0;
    off_t pages;
    uint64_t seq;
    SCOPED_BUF(body);

    for (uint64_t i = 0; i < 3000; i++) {
        union row_any row;

        fix_row(ROWS_DOCUMENT, i, i, &row);
        put(s, ROWS_DOCUMENT, &row, &e);
    }
    store_close(s);
    s = fix_open(path); /* the checkpoint's pages come last */
    for (uint32_t i = 0; i < 200; i++)
        store_checkpoint_put(s, 1, i, i == 199, (struct str){noise, 4000}, &e);
    store_close(s);
    memset(noise, 0xa5, sizeof noise);
    pages = size_of(path) / 4096;
    fd = open(path, O_RDWR);
    for (off_t p = pages / 6; p < pages; p++)
        if (pwrite(fd, noise, sizeof noise, p * 4096) != (ssize_t)sizeof noise)
            wrong++;
    close(fd);
    is_int(wrong, 0, "most of %d pages damaged", (int)pages);
    if (!store_open(&(struct store_options){.path = path}, &s, &e)) {
        for (int t = 0; t < ROWS_COUNT; t++) {
            int rc = store_each(s, (enum row_table)t, nothing, NULL, &e);

            corrupt += rc == -ERR_CORRUPT;
            wrong += rc && rc != -ERR_CORRUPT;
        }
        has_text(e.hint, "anneal admin restore", "the remedy is a restore");
        is_int(store_checkpoint_find(s, 10, &seq, &e), -ERR_CORRUPT, "no checkpoint is found");
        is_int(store_checkpoint_read(s, 1, &body, &e), -ERR_CORRUPT, "nor read");
        store_close(s);
    }
    ok(corrupt && !wrong, "damage is found by reading");
    is_int(store_check_full(path, &e), -ERR_CORRUPT, "and by the full check");
}

/* A handle whose write failed half-way writes no more, says why, and can be closed. */
static void test_broken(const char *path)
{
    struct store *s = fix_open(path);
    struct err e = {0};
    union row_any row;

    fix_row(ROWS_ASIDE, 1, 1, &row);
    ((struct store_sq *)s)->broken = true;
    is_int(put(s, ROWS_ASIDE, &row, &e), -ERR_IO, "a broken handle");
    has_text(e.hint, "opened anew", "says what to do");
    store_close(s);
}

static void test_too_large(const char *path)
{
    struct store *s = fix_open(path);
    struct err e = {0};
    struct row_plan plan = {.id = 1};

    sqlite3_limit(((struct store_sq *)s)->db, SQLITE_LIMIT_LENGTH, 100000);
    plan.body = (struct str){xcalloc(1, 200000), 200000};
    is_int(put(s, ROWS_PLAN, &plan, &e), -ERR_TOO_LARGE, "a row beyond the limit");
    free((void *)(uintptr_t)plan.body.s);
    plan.body.n = 0;
    is_int(put(s, ROWS_PLAN, &plan, &e), 0, "the store goes on");
    store_close(s);
}

/* Every code of SQLite that a user can meet, as ours and with its remedy. */
static void test_codes(const char *path)
{
    static const struct {
        int rc;
        enum errcode code;
        const char *hint;
    } cases[] = {
        {SQLITE_FULL, ERR_DISK_FULL, "free space"},
        {SQLITE_BUSY, ERR_BUSY, "another program"},
        {SQLITE_LOCKED, ERR_BUSY, "another program"},
        {SQLITE_BUSY_SNAPSHOT, ERR_BUSY, "another program"},
        {SQLITE_CORRUPT, ERR_CORRUPT, "anneal admin restore"},
        {SQLITE_CORRUPT_INDEX, ERR_CORRUPT, "anneal admin restore"},
        {SQLITE_NOTADB, ERR_CORRUPT, "anneal admin restore"},
        {SQLITE_IOERR_WRITE, ERR_IO, "kernel's log"},
        {SQLITE_IOERR_FSYNC, ERR_IO, "kernel's log"},
        {SQLITE_READONLY, ERR_IO, "writable"},
        {SQLITE_PERM, ERR_IO, "writable"},
        {SQLITE_CANTOPEN, ERR_IO, "directory must exist"},
        {SQLITE_TOOBIG, ERR_TOO_LARGE, ""},
        {SQLITE_CONSTRAINT_CHECK, ERR_INTERNAL, ""},
        {SQLITE_NOMEM, ERR_INTERNAL, ""},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct err e = {0};

        is_int(store_sq_error(NULL, path, cases[i].rc, "try", &e), -(int)cases[i].code, "%s is %s",
               sqlite3_errstr(cases[i].rc), err_name(cases[i].code));
        has_text(e.text, "store: try: ", "code %d says what was tried", cases[i].rc);
        has_text(e.hint, cases[i].hint, "code %d has its remedy", cases[i].rc);
        is_text(e.at, path, "code %d names the file", cases[i].rc);
    }
}

static void test_directory(const char *path)
{
    struct store *s = NULL;
    struct err e = {0};

    fs_mkdirs(path, 0700, &e);
    is_int(store_open(&(struct store_options){.path = path}, &s, &e), -ERR_IO, "a directory");
    is_text(e.at, path, "names it");
    has_text(e.hint, "writable", "says what it takes");
    is_int(store_check_full(path, &e), -ERR_IO, "the full check as well");
}

static void with_file(const char *dir, const char *name, void (*test)(const char *path))
{
    char *path = fs_join(dir, name);

    test(path);
    free(path);
}

int main(void)
{
    char *dir = fix_dir(), *log = fs_join(dir, "log.db"), *wal = fs_join(dir, "log.db-wal");
    struct err e;

    with_file(dir, "settings.db", test_settings);
    with_file(dir, "settings.db", test_second_opener);
    with_file(dir, "locked.db", test_locked);
    with_file(dir, "reader.db", test_reader);
    with_file(dir, "reader.db", test_open_index);
    with_file(dir, "race.db", test_readers_race);
    test_log_bounded(log, wal);
    with_file(dir, "last.db", test_last_group);
    with_file(dir, "range.db", test_out_of_range);
    with_file(dir, "damaged.db", test_damaged_pages);
    with_file(dir, "broken.db", test_broken);
    with_file(dir, "large.db", test_too_large);
    with_file(dir, "dir.db", test_directory);
    with_file(dir, "codes.db", test_codes);
    fs_remove_tree(dir, &e);
    free(dir);
    free(log);
    free(wal);
    return tap_done();
}
