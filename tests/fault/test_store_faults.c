/* test_store_faults.c - every write and every sync fails once; no group is ever there in part
 *
 * One story is told again and again: open a new store, commit groups, end.  In telling n the n-th
 * disk operation fails, for n = 1, 2, ... until one passes clean.  Then it is opened anew, both in
 * place and from a copy of the files as they were when the failure was reported, which is what a
 * power cut leaves. Groups 1..g are there, whole, and g is the last that was acknowledged, or one
 * more if that commit's outcome was reported as unknown.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "store/store_fixture.h"

#include "fault/fault_vfs.h"

enum { GROUPS = 14, ROWS = 40, LONG = 3000, LONGEST_STORY = 5000 };

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

    unlink(to);
    if (!fs_read(from, 1 << 28, &b, &e))
        fs_write_atomic(to, b.data ? b.data : "", b.len, 0600, &e);
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
    int opens, refused, unknown, resumed, wrong, unclear;
};

static void expect(struct tally *t, const char *what, long n, int64_t got, uint64_t acked,
                   bool unknown, const struct err *e)
{
    if (got == (int64_t)acked || (unknown && got == (int64_t)acked + 1))
        return;
    t->wrong++;
    note("operation %ld, %s: %d groups, acknowledged %d: %s", n, what, (int)got, (int)acked,
         e->text);
}

/* Tells the story once; true if no operation failed. */
static bool story(const char *dir, struct fault *f, long n, bool once, enum fault_kind kind,
                  struct tally *t)
{
    char *path = fs_join(dir, "a.db"), *crashed = fs_join(dir, "crashed.db");
    struct store *s = NULL;
    struct err e = {0}, why = {0};
    uint64_t acked = 0;
    bool unknown = false, failed = false;
    int rc;

    *f = (struct fault){.at = n, .once = once, .kind = kind};
    rc = store_open(&(struct store_options){.path = path}, &s, &e);
    if (rc) {
        t->opens++;
        t->unclear += !e.at[0] || !e.text[0] || (rc != -ERR_IO && rc != -ERR_DISK_FULL);
        failed = true;
    }
    while (s && acked < GROUPS && !failed) {
        rc = commit_group(s, acked + 1, &e);
        if (!rc) {
            acked++;
            continue;
        }
        failed = true;
        unknown = rc == -ERR_IO;
        t->refused += !unknown;
        t->unknown += unknown;
        t->unclear += !e.at[0] || !e.hint[0] || (rc != -ERR_IO && rc != -ERR_DISK_FULL);
    }
    if (failed)
        crash_copy(path, crashed);
    /* A store that refused goes on once there is room; one in doubt does not, however well the
     * disk. */
    if (s && failed) {
        struct fault keep = *f;

        f->at = 0;
        rc = commit_group(s, acked + 1, &why);
        if (!unknown && rc)
            t->wrong++, note("operation %ld: refused, then %s", n, why.text);
        if (!rc)
            acked++, t->resumed++, unknown = false;
        crash_copy(path, crashed);
        *f = keep;
    }
    if (f->once || !failed)
        f->at = failed ? 0 : f->at;
    store_close(s);
    bool clean = !f->hit;
    f->at = 0;
    expect(t, "in place", n, whole_groups(path, &why), acked, unknown, &why);
    if (failed)
        expect(t, "after a power cut", n, whole_groups(crashed, &why), acked, unknown, &why);
    fs_remove_tree(dir, &e);
    fs_mkdirs(dir, 0700, &e);
    free(path);
    free(crashed);
    return clean;
}

static void test_faults(const char *dir, struct fault *f, bool once, enum fault_kind kind)
{
    const char *how = once ? "fails once" : "fails for good";
    const char *what = kind == FAULT_FULL ? "full disk" : "i/o error";
    struct tally t = {0};
    long n = 1;

    while (n < LONGEST_STORY && !story(dir, f, n, once, kind, &t))
        n++;
    note("%s, %s: %ld operations; %d opens failed, %d groups refused, %d unknown, %d resumed", what,
         how, n - 1, t.opens, t.refused, t.unknown, t.resumed);
    ok(n > 50 && n < LONGEST_STORY, "%s, %s: the story has %ld operations", what, how, n - 1);
    is_int(t.wrong, 0, "%s, %s: groups are whole and none is lost", what, how);
    is_int(t.unclear, 0, "%s, %s: each error has its code, its file and a remedy", what, how);
    ok(t.opens > 0, "%s, %s: %d times it did not open", what, how, t.opens);
    ok(t.unknown > 0, "%s, %s: %d outcomes unknown", what, how, t.unknown);
    if (kind == FAULT_FULL)
        ok(t.refused > 10 && t.resumed >= t.refused, "%s, %s: %d refused, all resumed", what, how,
           t.refused);
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
    ok(failed > 20, "backup: %d operations failed, one at a time", failed);
    is_int(left, 0, "backup: nothing was left over");
    is_int(whole_groups(copy, &e), GROUPS, "backup: the first that passes is whole");
    store_close(s);
    is_int(whole_groups(path, &e), GROUPS, "backup: the database did not suffer");
    free(path);
    free(copy);
    free(partial);
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
    test_backup_faults(dir, &f);
    fs_remove_tree(dir, &e);
    free(dir);
    return tap_done();
}
