/* test_store_faults.c - every write and every sync fails once; no group is ever there in part
 *
 * One story is told again and again: open a new store, commit groups, end.  In telling n the n-th
 * disk operation fails, for n = 1, 2, ... until one passes clean.  Then it is opened anew, both in
 * place and from a copy of the files as they were when the failure was reported, which is what a
 * power cut leaves. Groups 1..g are there, whole, and g is the last that was acknowledged, or one
 * more if that commit's outcome was reported as unknown.  A migration is there as a whole, with
 * what was aside in its place, or not at all.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "store/store_fixture.h"

#include "fault/fault_vfs.h"
#include "store/store_sqlite_i.h"

enum { GROUPS = 6, ROWS = 24, LONG = 3000, LONGEST_STORY = 5000, LAGGING = 1000 };

static int commit_group(struct store *s, uint64_t g, struct err *e)
{
    static char text[LONG];
    union row_any rows[ROWS + 2];
    struct row_op ops[ROWS + 2];

    memset(text, 'a' + (int)(g % 26), sizeof text);
    for (int i = 0; i < ROWS; i++) {
        bool insert = i % 2 || g == 1;

        /* Half of the rows are new, half are changed again by every group. */
        fix_row(ROWS_DOCUMENT, insert ? g * 1000 + (uint64_t)i : 1000 + (uint64_t)i, g, &rows[i]);
        rows[i].document.rev = (uint32_t)g;
        rows[i].document.wall = (struct str){text, i % 8 ? 10 : sizeof text};
        ops[i] = fix_op(insert ? ROW_INSERT : ROW_UPDATE, ROWS_DOCUMENT, &rows[i]);
    }
    fix_row(ROWS_JOURNAL, g, g, &rows[ROWS]);
    ops[ROWS] = fix_op(ROW_INSERT, ROWS_JOURNAL, &rows[ROWS]);
    fix_row(ROWS_META, 1, g, &rows[ROWS + 1]);
    rows[ROWS + 1].meta.group_no = rows[ROWS + 1].meta.journal_seq = g;
    ops[ROWS + 1] = fix_op(ROW_PUT, ROWS_META, &rows[ROWS + 1]);
    return store_commit(s, ops, ROWS + 2, e);
}

struct sum {
    uint64_t group, documents, changed, newest, entries;
    bool torn;
};

static int add_up(void *arg, enum row_table t, const void *row, struct err *e)
{
    struct sum *sum = arg;
    const struct row_document *d = row;

    (void)e;
    if (t == ROWS_META)
        sum->group = ((const struct row_meta *)row)->group_no;
    if (t == ROWS_JOURNAL)
        sum->entries++;
    if (t != ROWS_DOCUMENT)
        return 0;
    sum->documents++;
    for (size_t i = 0; i < d->wall.n; i++)
        sum->torn = sum->torn || d->wall.s[i] != (char)('a' + d->rev % 26);
    if (d->id < 2000 && d->id % 2 == 0)
        sum->changed += d->rev == sum->group;
    if (d->rev > sum->newest)
        sum->newest = d->rev;
    return 0;
}

/* How many groups are there, -1 if any is there in part. */
static int64_t whole_groups(const char *path, struct err *e)
{
    struct sum sum = {0};
    struct store *s = NULL;

    if (store_open(&(struct store_options){.path = path}, &s, e))
        return -1;
    if (store_each(s, ROWS_META, add_up, &sum, e) || store_each(s, ROWS_JOURNAL, add_up, &sum, e) ||
        store_each(s, ROWS_DOCUMENT, add_up, &sum, e) || store_check_full(path, e)) {
        store_close(s);
        return -1;
    }
    store_close(s);
    err_set(e, ERR_CORRUPT, "group %d: %d documents, %d changed, %d entries, newest %d",
            (int)sum.group, (int)sum.documents, (int)sum.changed, (int)sum.entries,
            (int)sum.newest);
    if (sum.torn || sum.entries != sum.group || sum.newest != sum.group)
        return -1;
    if (!sum.group)
        return sum.documents ? -1 : 0;
    return sum.documents == ROWS + (sum.group - 1) * ROWS / 2 && sum.changed == ROWS / 2
               ? (int64_t)sum.group
               : -1;
}

static void copy_file(const char *from, const char *to)
{
    SCOPED_BUF(b);
    struct err e;
    FILE *out;

    unlink(to);
    if (fs_read(from, 1 << 28, &b, &e))
        return;
    out = fopen(to, "w");
    if (!out || fwrite(buf_str(&b).s, 1, b.len, out) != b.len || fclose(out))
        perror(to);
}

/* Files as a power cut would leave them: no shared memory, nothing closed. */
static void crash_copy(const char *path, const char *to)
{
    SCOPED_BUF(from_wal);
    SCOPED_BUF(to_wal);

    buf_printf(&from_wal, "%s-wal", path);
    buf_printf(&to_wal, "%s-wal", to);
    copy_file(path, to);
    copy_file(from_wal.data, to_wal.data);
}

struct tally {
    int opens, refused, unknown, survived, resumed, wrong, unclear;
};
struct story {
    struct fault *f;
    struct tally *t;
    long n;
    char *path, *crashed;
    struct store *s;
    uint64_t acked;
    bool failed, unknown;
};

static void expect_groups(struct story *st, const char *path, const char *when)
{
    struct err e = {0};
    int64_t got = whole_groups(path, &e);

    if (got == (int64_t)st->acked)
        return;
    if (st->unknown && got == (int64_t)st->acked + 1) {
        st->t->survived++;
        return;
    }
    st->t->wrong++;
    note("operation %ld, %s: %d groups, acknowledged %d: %s", st->n, when, (int)got, (int)st->acked,
         e.text);
}

/* Opens and commits until something fails or the end is reached. */
static void tell(struct story *st)
{
    struct err e = {0};
    int rc = store_open(&(struct store_options){.path = st->path}, &st->s, &e);

    while (!rc && st->acked < GROUPS) {
        rc = commit_group(st->s, st->acked + 1, &e);
        st->acked += !rc;
    }
    if (!rc)
        return;
    st->failed = true;
    st->unknown = st->s && rc == -ERR_IO;
    st->t->opens += !st->s;
    st->t->unknown += st->unknown;
    st->t->refused += st->s && !st->unknown;
    st->t->unclear += !e.at[0] || !e.hint[0] || (rc != -ERR_IO && rc != -ERR_DISK_FULL);
}

/* What a power cut would leave now; then, the disk being well again, whether the handle goes on.
 * One that refused does, one in doubt never does. */
static void after_failure(struct story *st)
{
    struct fault keep = *st->f;
    struct err e = {0};
    int rc;

    st->f->at = 0;
    crash_copy(st->path, st->crashed);
    expect_groups(st, st->crashed, "after a power cut");
    if (st->s) {
        rc = commit_group(st->s, st->acked + 1, &e);
        if (st->unknown ? rc != -ERR_IO : rc != 0)
            st->t->wrong++, note("operation %ld: then %d %s", st->n, rc, e.text);
        st->acked += !rc;
        st->t->resumed += !rc;
        crash_copy(st->path, st->crashed);
        expect_groups(st, st->crashed, "after going on and a power cut");
    }
    *st->f = keep;
}

/* One telling; true if no operation failed. */
static bool story(const char *dir, struct fault *f, long n, struct tally *t)
{
    struct story st = {.f = f, .t = t, .n = n};
    struct err e;

    st.path = fs_join(dir, "a.db");
    st.crashed = fs_join(dir, "crashed.db");
    tell(&st);
    if (st.failed)
        after_failure(&st);
    store_close(st.s);
    f->at = 0;
    expect_groups(&st, st.path, "in place");
    fs_remove_tree(dir, &e);
    fs_mkdirs(dir, 0700, &e);
    free(st.path);
    free(st.crashed);
    return !f->hit;
}

static void test_faults(const char *dir, struct fault *f, bool once, enum fault_kind kind)
{
    const char *how = once ? "fails once" : "fails for good";
    const char *what = kind == FAULT_FULL ? "full disk" : "i/o error";
    struct tally t = {0};
    long n = 1;

    for (;; n++) {
        *f = (struct fault){.at = n, .once = once, .kind = kind};
        if (n == LONGEST_STORY || story(dir, f, n, &t))
            break;
    }
    note("%s, %s: %d opens failed, %d groups refused, %d resumed, %d unknown, %d of them there",
         what, how, t.opens, t.refused, t.resumed, t.unknown, t.survived);
    ok(n > 50 && n < LONGEST_STORY, "%s, %s: the story has %ld operations", what, how, n - 1);
    is_int(t.wrong, 0, "%s, %s: groups are whole and none is lost", what, how);
    is_int(t.unclear, 0, "%s, %s: each error has its code, its file and a remedy", what, how);
    ok(t.opens > 0, "%s, %s: %d times it did not open", what, how, t.opens);
    ok(t.unknown > 0, "%s, %s: %d outcomes unknown", what, how, t.unknown);
    ok(t.survived > 0, "%s, %s: %d times the group was there after all", what, how, t.survived);
    if (kind == FAULT_FULL)
        ok(t.refused > 10 && t.resumed == t.refused, "%s, %s: %d refused, all resumed", what, how,
           t.refused);
}

/* Opening plays back the log of a crash; when that fails nothing is lost, and the next one
 * succeeds. */
static void test_recovery_faults(const char *dir, struct fault *f)
{
    char *path = fs_join(dir, "a.db"), *crashed = fs_join(dir, "crashed.db");
    char *again = fs_join(dir, "again.db");
    struct store *s;
    struct err e = {0};
    int failed = 0, wrong = 0, rc = -1;
    long n;

    *f = (struct fault){0};
    store_open(&(struct store_options){.path = path}, &s, &e);
    for (uint64_t g = 1; g <= GROUPS; g++)
        commit_group(s, g, &e);
    crash_copy(path, crashed);
    store_close(s);
    for (n = 1; n < LONGEST_STORY && rc; n++) {
        crash_copy(crashed, again);
        *f = (struct fault){.at = n, .kind = n % 2 ? FAULT_IO : FAULT_FULL};
        rc = store_open(&(struct store_options){.path = again}, &s, &e);
        failed += rc != 0;
        wrong += rc && rc != -ERR_IO && rc != -ERR_DISK_FULL;
        f->at = 0;
        if (!rc)
            store_close(s);
        wrong += whole_groups(again, &e) != GROUPS;
    }
    ok(failed > 5, "recovery: %d operations failed, one at a time", failed);
    is_int(wrong, 0, "recovery: all groups are there after each");
    fs_remove_tree(dir, &e);
    fs_mkdirs(dir, 0700, &e);
    free(path);
    free(crashed);
    free(again);
}

/* A backup to a disk that fails leaves nothing under its name. */
static void test_backup_faults(const char *dir, struct fault *f)
{
    char *path = fs_join(dir, "a.db"), *copy = fs_join(dir, "copy.db");
    char *partial = fs_join(dir, "copy.db.partial");
    struct store *s;
    struct err e = {0};
    int failed = 0, left = 0, rc = -1;

    *f = (struct fault){0};
    store_open(&(struct store_options){.path = path}, &s, &e);
    for (uint64_t g = 1; g <= GROUPS; g++)
        commit_group(s, g, &e);
    for (long n = 1; n < LONGEST_STORY && rc; n++) {
        *f = (struct fault){.at = n, .kind = n % 2 ? FAULT_IO : FAULT_FULL};
        rc = store_backup(s, copy, NULL, NULL, &e);
        failed += rc != 0;
        left += rc && (fs_exists(copy) || fs_exists(partial));
    }
    f->at = 0;
    ok(failed > 5, "backup: %d operations failed, one at a time", failed);
    is_int(left, 0, "backup: nothing was left over");
    is_int(whole_groups(copy, &e), GROUPS, "backup: the first that passes is whole");
    store_close(s);
    is_int(whole_groups(path, &e), GROUPS, "backup: the database did not suffer");
    free(path);
    free(copy);
    free(partial);
}

/* ---- migrations ---- */

/* Tasks, of which every second was changed and lies aside. */
static void make_lagging(const char *path)
{
    struct row_task tasks[LAGGING] = {0};
    struct row_op ops[LAGGING + 2];
    struct row_meta meta = {.id = 1, .group_no = 1};
    struct row_aside part = {.id = 1 << ASIDE_PART_BITS | 1};
    struct store *s = NULL;
    struct err e = {0};
    SCOPED_BUF(body);

    for (uint32_t i = 0; i < LAGGING; i++) {
        struct row_task changed = {.id = i + 1, .tries = 3};

        tasks[i].id = i + 1;
        ops[i] = fix_op(ROW_INSERT, ROWS_TASK, &tasks[i]);
        if (i % 2)
            continue;
        buf_putc(&body, ROWS_TASK);
        row_encode(&body, ROWS_TASK, &changed);
    }
    part.body = buf_str(&body);
    ops[LAGGING] = fix_op(ROW_PUT, ROWS_ASIDE, &part);
    ops[LAGGING + 1] = fix_op(ROW_PUT, ROWS_META, &meta);
    store_open(&(struct store_options){.path = path}, &s, &e);
    store_commit(s, ops, LAGGING + 2, &e);
    store_close(s);
}

/* To a schema that does not exist, with one column more. */
static int migrate(const char *path, sqlite3 **ret_db, struct err *e)
{
    static const char step[] = "ALTER TABLE task ADD COLUMN later INTEGER NOT NULL DEFAULT 7;";
    struct store_migration steps[100];
    int rc = store_sq_connect(path, SQLITE_OPEN_READWRITE, 0, ret_db, e);

    memcpy(steps, store_migrations, (size_t)store_migration_count * sizeof *steps);
    steps[store_migration_count] = (struct store_migration){"next", step};
    return rc ? rc
              : store_migrate_up(*ret_db, path, store_migration_count, steps,
                                 store_migration_count + 1, e);
}

/* 0: as it was, 1: migrated, -1: neither. */
static int migrated(const char *path)
{
    SCOPED_DB *db = NULL;
    struct err e = {0};
    int64_t v[3] = {-1, -1, -1}; /* version, parts aside, changes in their places */

    if (store_sq_connect(path, SQLITE_OPEN_READWRITE, 0, &db, &e) ||
        store_sq_numbers(db, path,
                         "SELECT user_version, (SELECT count(*) FROM aside), "
                         "(SELECT sum(tries) FROM task) FROM pragma_user_version",
                         3, v, &e))
        return -1;
    if (v[0] == store_migration_count && v[1] == 1 && v[2] == 0)
        return 0;
    return v[0] == store_migration_count + 1 && v[1] == 0 && v[2] == LAGGING / 2 * 3 ? 1 : -1;
}

static void test_migration_faults(const char *dir, struct fault *f)
{
    char *path = fs_join(dir, "a.db"), *crashed = fs_join(dir, "crashed.db");
    char *again = fs_join(dir, "again.db");
    struct err e = {0};
    int failed = 0, wrong = 0, unclear = 0, rc = -1;

    *f = (struct fault){0};
    make_lagging(path);
    is_int(migrated(path), 0, "migration: rows are aside");
    for (long n = 1; n < LONGEST_STORY && rc; n++) {
        SCOPED_DB *db = NULL;

        crash_copy(path, again);
        *f = (struct fault){.at = n, .kind = n % 2 ? FAULT_IO : FAULT_FULL};
        rc = migrate(again, &db, &e);
        failed += rc != 0;
        unclear += rc && (!e.at[0] || !e.hint[0] || (rc != -ERR_IO && rc != -ERR_DISK_FULL));
        f->at = 0;
        crash_copy(again, crashed);
        wrong += migrated(crashed) < 0 || (!rc && migrated(crashed) != 1);
        sqlite3_close(db);
        db = NULL;
        wrong += migrated(again) < 0;
        (void)migrate(again, &db, &e);
        wrong += migrated(again) != 1;
    }
    ok(failed > 5, "migration: %d operations failed, one at a time", failed);
    is_int(rc, 0, "migration: then it passes");
    is_int(wrong, 0, "migration: whole or not at all, and the next one passes");
    is_int(unclear, 0, "migration: each error has its code, its file and a remedy");
    fs_remove_tree(dir, &e);
    fs_mkdirs(dir, 0700, &e);
    free(path);
    free(crashed);
    free(again);
}

int main(void)
{
    struct fault f = {0};
    char *dir = fix_dir();
    struct err e;

    fault_vfs_install(&f);
    test_faults(dir, &f, true, FAULT_IO);
    test_faults(dir, &f, false, FAULT_IO);
    test_faults(dir, &f, true, FAULT_FULL);
    test_faults(dir, &f, false, FAULT_FULL);
    test_recovery_faults(dir, &f);
    test_backup_faults(dir, &f);
    test_migration_faults(dir, &f);
    fs_remove_tree(dir, &e);
    free(dir);
    return tap_done();
}
