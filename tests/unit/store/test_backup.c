/* test_backup.c - copies while the server writes, restoring them, and what is refused */
/* SPDX-License-Identifier: Apache-2.0 */
#include "store/store_fixture.h"

#include <fcntl.h>
#include <sys/stat.h>

enum { GROUP_ROWS = 200 };

/* Group n: 200 rows that name it, a journal entry, and meta. */
static int commit_group(struct store *s, uint64_t n, struct err *e)
{
    union row_any rows[GROUP_ROWS + 2];
    struct row_op ops[GROUP_ROWS + 2];

    for (int i = 0; i < GROUP_ROWS; i++) {
        fix_row(ROWS_DOCUMENT, n * GROUP_ROWS + (uint64_t)i, n, &rows[i]);
        ops[i] = fix_op(ROW_INSERT, ROWS_DOCUMENT, &rows[i]);
    }
    fix_row(ROWS_JOURNAL, n, n, &rows[GROUP_ROWS]);
    ops[GROUP_ROWS] = fix_op(ROW_INSERT, ROWS_JOURNAL, &rows[GROUP_ROWS]);
    fix_row(ROWS_META, 1, n, &rows[GROUP_ROWS + 1]);
    rows[GROUP_ROWS + 1].meta.group_no = rows[GROUP_ROWS + 1].meta.journal_seq = n;
    ops[GROUP_ROWS + 1] = fix_op(ROW_PUT, ROWS_META, &rows[GROUP_ROWS + 1]);
    return store_commit(s, ops, GROUP_ROWS + 2, e);
}

struct writer {
    struct store *s;
    uint64_t group;
    int calls, done, total, failed;
};

/* Commits between two steps of the backup. */
static void write_on(void *arg, int done, int total)
{
    struct writer *w = arg;
    struct err e;

    w->calls++;
    w->failed += done < w->done || done > total;
    w->done = done;
    w->total = total;
    w->failed += commit_group(w->s, ++w->group, &e) != 0;
}

static int count_row(void *arg, enum row_table t, const void *row, struct err *e)
{
    (void)t, (void)row, (void)e;
    ++*(uint64_t *)arg;
    return 0;
}

static int group_no(void *arg, enum row_table t, const void *row, struct err *e)
{
    (void)t, (void)e;
    *(uint64_t *)arg = ((const struct row_meta *)row)->group_no;
    return 0;
}

/* The store holds groups 1..n and nothing else; -1 if not. */
static int64_t whole_groups(struct store *s)
{
    uint64_t n = 0, documents = 0, entries = 0;
    struct err e;

    if (store_each(s, ROWS_META, group_no, &n, &e) ||
        store_each(s, ROWS_DOCUMENT, count_row, &documents, &e) ||
        store_each(s, ROWS_JOURNAL, count_row, &entries, &e))
        return -1;
    return documents == n * GROUP_ROWS && entries == n ? (int64_t)n : -1;
}

static int64_t groups_of(const char *path)
{
    struct store *s = NULL;
    struct err e;
    int64_t n;

    if (store_open(&(struct store_options){.path = path}, &s, &e))
        return -1;
    n = whole_groups(s);
    store_close(s);
    return n;
}

static void overwrite(const char *path, off_t at, const char *bytes, size_t n)
{
    int fd = open(path, O_RDWR);

    if (fd < 0 || pwrite(fd, bytes, n, at) != (ssize_t)n)
        perror(path);
    close(fd);
}

static void take_name(void *arg, int done, int total)
{
    struct err e;

    (void)done, (void)total;
    if (!fs_exists(arg))
        fs_write_atomic(arg, "mine", 4, 0600, &e);
}

/* Somebody else takes the name while the copy is being made. */
static void test_name_taken(const char *dir, struct store *s)
{
    char *copy = fs_join(dir, "taken.db"), *partial = fs_join(dir, "taken.db.partial");
    SCOPED_BUF(b);
    struct err e = {0};

    is_int(store_backup(s, copy, take_name, copy, &e), -ERR_EXISTS, "the name was taken meanwhile");
    fs_read(copy, 100, &b, &e);
    is_text(b.data, "mine", "what took it is left alone");
    ok(!fs_exists(partial), "and the copy is gone");
    free(copy);
    free(partial);
}

static void test_backup(const char *dir, struct store *s, const char *copy)
{
    struct writer w = {s, 100, 0, 0, 0, 0};
    struct store *memory = fix_open(NULL);
    struct err e = {0};
    struct stat st;
    char *partial = fs_join(dir, "copy.db.partial"), *wal = fs_join(dir, "copy.db-wal");
    char *nowhere = fs_join(dir, "no/such/dir.db");
    int64_t n;

    is_int(store_backup(s, copy, write_on, &w, &e), 0, "backup while the server writes");
    ok(w.calls > 2 && !w.failed, "in %d steps, with a commit after each", w.calls);
    is_int(w.done, w.total, "progress ends at the total");
    n = groups_of(copy);
    ok(n >= 100 && n < (int64_t)w.group, "the copy holds groups 1 to %d, whole", (int)n);
    is_int(whole_groups(s), w.group, "the store holds all groups");
    ok(!stat(copy, &st) && (st.st_mode & 0777) == 0600, "a backup is for its owner only");
    ok(!fs_exists(partial), "no part is left over");

    is_int(store_backup(s, copy, NULL, NULL, &e), -ERR_EXISTS, "a backup never overwrites");
    is_text(e.at, copy, "names the file");
    is_int(store_backup(s, nowhere, NULL, NULL, &e), -ERR_IO, "no such directory");
    is_int(store_backup(memory, copy, NULL, NULL, &e), -ERR_REFUSED, "memory has no backup");
    is_int(store_check_full(copy, &e), 0, "full check of the copy");
    store_close(memory);
    free(partial);
    free(wal);
    free(nowhere);
}

static void test_restore(const char *dir, const char *path, const char *copy, int64_t n_now)
{
    char *kept = fs_join(dir, "a.db.before-restore"),
         *kept2 = fs_join(dir, "a.db.before-restore.2");
    char *fresh = fs_join(dir, "fresh.db"), *part = fs_join(dir, "a.db.restoring");
    int64_t n_copy = groups_of(copy);
    struct err e = {0};

    is_int(store_restore(copy, path, &e), 0, "restore");
    is_int(groups_of(path), n_copy, "the backup's groups are there");
    is_int(groups_of(kept), n_now, "the old file was kept, whole");
    is_int(store_restore(kept, path, &e), 0, "restore what was kept");
    is_int(groups_of(path), n_now, "all groups again");
    is_int(groups_of(kept2), n_copy, "each restore keeps what it replaced");
    is_int(store_restore(copy, fresh, &e), 0, "restore where there was nothing");
    is_int(groups_of(fresh), n_copy, "it is there");
    ok(!fs_exists(part), "no part is left over");

    is_int(store_restore("/nowhere/at/all", path, &e), -ERR_NOT_FOUND, "no such backup");
    is_int(store_restore(path, path, &e), -ERR_INVALID, "the database is not its own backup");
    free(kept);
    free(kept2);
    free(fresh);
    free(part);
}

static int take_fence(void *arg, enum row_table t, const void *row, struct err *e)
{
    (void)t, (void)e;
    *(uint64_t *)arg = ((const struct row_meta *)row)->fence;
    return 0;
}

/* Nodes refuse what is older than what they have heard of: a restored history must be newer, also
 * on a machine whose clock is behind. */
static void test_fence(const char *dir, const char *copy)
{
    char *path = fs_join(dir, "fence.db"), *wal = fs_join(dir, "fence.db-wal");
    const uint64_t ahead = 99999999999;
    uint64_t fence = 0;
    union row_any row;
    struct row_op op = fix_op(ROW_PUT, ROWS_META, &row);
    struct store *s;
    struct err e = {0};

    is_int(store_restore(copy, path, &e), 0, "restore");
    s = fix_open(path);
    store_each(s, ROWS_META, take_fence, &fence, &e);
    ok(fence >= 1700000000, "the fence is the time of the restore");
    fix_row(ROWS_META, 1, 1, &row);
    row.meta.group_no = row.meta.journal_seq = (uint64_t)whole_groups(s);
    row.meta.fence = ahead;
    is_int(store_commit(s, &op, 1, &e), 0, "one that is ahead of our clock");
    store_close(s);
    is_int(store_restored(path, 1700000000, &e), 0, "restored in its turn");
    ok(!fs_exists(wal), "to one file");
    s = fix_open(path);
    store_each(s, ROWS_META, take_fence, &fence, &e);
    ok(fence == ahead + 1, "rises all the same");
    store_close(s);
    free(path);
    free(wal);
}

static void test_restore_refused(const char *dir, const char *path, const char *copy)
{
    char *bad = fs_join(dir, "bad.db"), *text = fs_join(dir, "text.db");
    char *empty = fs_join(dir, "empty.db"), *part = fs_join(dir, "a.db.restoring");
    int64_t before = groups_of(path);
    struct store *s;
    struct err e = {0};
    char pid[32];
    char noise[4096];

    memset(noise, 0x5a, sizeof noise);
    s = fix_open(path);
    is_int(store_restore(copy, path, &e), -ERR_BUSY, "a server holds the database");
    snprintf(pid, sizeof pid, "%d", (int)getpid());
    has_text(e.text, pid, "says which process");
    store_close(s);

    store_restore(copy, bad, &e);
    overwrite(bad, 4096 * 60, noise, sizeof noise);
    is_int(store_restore(bad, path, &e), -ERR_CORRUPT, "a damaged page");
    ok(e.hint[0], "with a remedy");
    is_int(store_check_full(bad, &e), -ERR_CORRUPT, "which the full check finds");
    is_text(e.at, bad, "naming the file");
    overwrite(bad, 0, noise, 100);
    is_int(store_restore(bad, path, &e), -ERR_CORRUPT, "a damaged header");
    fs_write_atomic(text, "text", 4, 0600, &e);
    is_int(store_restore(text, path, &e), -ERR_CORRUPT, "a text file");
    fs_write_atomic(empty, "", 0, 0600, &e);
    is_int(store_restore(empty, path, &e), -ERR_REFUSED, "an empty file");
    has_text(e.text, "empty", "says so");
    is_int(groups_of(path), before, "the database is as it was");
    ok(!fs_exists(part), "no part is left over");
    is_int(store_check_full(empty, &e), 0, "an empty file is a sound database");
    free(bad);
    free(text);
    free(empty);
    free(part);
}

static void test_restore_full_house(const char *dir, const char *path, const char *copy)
{
    struct err e = {0};
    SCOPED_BUF(b);

    for (int i = 1; i <= 99; i++) {
        buf_clear(&b);
        buf_printf(&b, i == 1 ? "%s.before-restore" : "%s.before-restore.%d", path, i);
        if (!fs_exists(b.data))
            fs_write_atomic(b.data, "", 0, 0600, &e);
    }
    is_int(store_restore(copy, path, &e), -ERR_REFUSED, "no name left for the old file");
    ok(e.hint[0], "with a remedy");
    ok(groups_of(path) > 0, "the database is as it was");
    is_int(store_restore(copy, dir, &e), -ERR_INVALID, "a directory is not replaced");
}

/* The usual reason to restore: the database itself is damaged and its log still lies beside it. */
static void test_restore_over_damage(const char *dir, const char *copy)
{
    char *path = fs_join(dir, "hurt.db"), *wal = fs_join(dir, "hurt.db-wal");
    char *kept_wal = fs_join(dir, "hurt.db.before-restore-wal");
    struct store *s = fix_open(path);
    struct err e = {0};
    SCOPED_BUF(log);
    char noise[100];

    memset(noise, 0x5a, sizeof noise);
    commit_group(s, 1, &e);
    fs_read(wal, 1 << 24, &log, &e);
    store_close(s);
    overwrite(path, 0, noise, sizeof noise);
    log.data[0] ^= 1;                                  /* or the header would be healed from it */
    fs_write_atomic(wal, log.data, log.len, 0600, &e); /* as after a crash */
    is_int(store_open(&(struct store_options){.path = path}, &s, &e), -ERR_CORRUPT,
           "the header is damaged");
    has_text(e.hint, "anneal admin restore", "the remedy is a restore");
    is_int(store_restore(copy, path, &e), 0, "restore over it");
    is_int(groups_of(path), groups_of(copy), "the backup is in place");
    ok(fs_exists(kept_wal), "the old log went with the old file");
    free(path);
    free(wal);
    free(kept_wal);
}

int main(void)
{
    char *dir = fix_dir(), *path = fs_join(dir, "a.db"), *copy = fs_join(dir, "copy.db");
    struct store *s = fix_open(path);
    struct err e = {0};
    int64_t n;

    for (uint64_t g = 1; g <= 100; g++)
        if (commit_group(s, g, &e))
            note("%s", e.text);
    test_backup(dir, s, copy);
    test_name_taken(dir, s);
    n = whole_groups(s);
    store_close(s);
    test_restore(dir, path, copy, n);
    test_fence(dir, copy);
    test_restore_refused(dir, path, copy);
    test_restore_over_damage(dir, copy);
    test_restore_full_house(dir, path, copy);
    fs_remove_tree(dir, &e);
    free(dir);
    free(path);
    free(copy);
    return tap_done();
}
