/* test_files.c - several files at once: on this machine, and on a node by the real runner */
/* SPDX-License-Identifier: Apache-2.0 */
#include <sys/stat.h>
#include <unistd.h>

#include "jig/bench_node.h"

static const char *in_dir(struct bench *b, const char *name)
{
    static char path[4][512]; /* enough for one line of a test */
    static size_t next;
    char *at = path[next++ % 4];
    snprintf(at, sizeof path[0], "%s/%s", b->dir, name);
    return at;
}

static void put(struct bench *b, const char *name, const char *text, mode_t mode)
{
    struct err e;
    is_int(fs_write_atomic(in_dir(b, name), text, strlen(text), mode, &e), 0, "(%s)", name);
}

static void holds(struct bench *b, const char *name, const char *data, mode_t mode)
{
    SCOPED_BUF(got);
    struct err e;
    struct stat st = {0};
    is_int(fs_read(in_dir(b, name), 1 << 21, &got, &e), 0, "%s can be read", name);
    is_text(TEXT(got), data, "%s has its content", name);
    (void)lstat(in_dir(b, name), &st);
    is_int(st.st_mode & 07777, mode, "%s has its mode", name);
}

/* Runs it here, or as on a node. */
static int run(struct bench_node *n, bool there, const char *jig, const char *params)
{
    return there ? bench_node_run(n, jig, params, "") : bench_run(n->b, jig, params);
}

static void test_uploads(struct bench_node *n, bool there)
{
    struct bench *b = n->b;
    const char *where = there ? "there" : "here";
    SCOPED_BUF(p);
    b->task++;
    buf_printf(&p,
               "{\"mode\":\"0600\",\"files\":[{\"path\":\"%s/%s/a\",\"data\":\"one\\n\"},"
               "{\"dst\":\"%s/%s/d/e\",\"data\":\"it's\",\"permissions\":\"0755\","
               "\"dir_permissions\":\"0711\",\"owner\":\"%d\"}]}",
               b->dir, where, b->dir, where, (int)getuid());
    b->no_op = true;
    is_int(run(n, there, "upload_files", p.data), OUTCOME_OK, "a no-op, %s", where);
    is_text(b->r.text, "no-op: 2 of 2 files would be written", "says what would be done");
    has_text(TEXT(b->log[0]), "/a: 4 bytes, mode 0600: would be written: new", "the log, to which");
    ok(!fs_exists(in_dir(b, where)), "and does nothing");
    b->no_op = false;
    b->attempt++;
    is_int(run(n, there, "upload_files", p.data), OUTCOME_OK, "two files, %s", where);
    is_text(b->r.text, there ? "written: changed 2 of 2" : "2 of 2 files written", "and said so");
    if (there)
        is_int(n->steps, 2, "two round trips");
    holds(b, there ? "there/a" : "here/a", "one\n", 0600);
    holds(b, there ? "there/d/e" : "here/d/e", "it's", 0755);
    struct stat st = {0};
    ok(stat(in_dir(b, there ? "there/d" : "here/d"), &st) == 0 && (st.st_mode & 0777) == 0711,
       "directories have theirs");
    b->attempt++;
    is_int(run(n, there, "upload_files", p.data), OUTCOME_OK, "the same again");
    is_text(b->r.text, "unchanged: 2 files", "is nothing");
    if (there)
        ok(n->steps == 1 && n->sent == 0, "one round trip, and not a byte of a file");
    put(b, there ? "there/a" : "here/a", "mine\n", 0600);
    b->attempt++;
    is_int(run(n, there, "upload_files", p.data), OUTCOME_OK, "one differs");
    if (there)
        is_int(n->sent, 4, "only that one is sent");
    has_text(TEXT(b->log[0]), "/a: 4 bytes, mode 0600: content", "and logged");
    ok(!strstr(TEXT(b->log[0]), "/d/e"), "the other one is not");
    if (there) {
        struct reach_step s = {0};
        b->req.part = 1;
        is_int(b->jig->step(&b->req, &b->mem, &s, &b->e), 0, "a second step that was lost");
        ok(s.kind == REACH_PUT && s.puts_n == 2, "is asked for with all files");
    }
    is_int(chmod(in_dir(b, there ? "there/d/e" : "here/d/e"), 0700), 0, "(another mode)");
    b->attempt++;
    is_int(run(n, there, "upload_files", p.data), OUTCOME_OK, "is put right");
    has_text(TEXT(b->log[0]), "/d/e: 4 bytes, mode 0755: mode", "and told");
    is_int(chown(in_dir(b, there ? "there/a" : "here/a"), 1, 1), getuid() ? -1 : 0, "(an owner)");
    b->attempt++;
    is_int(run(n, there, "upload_files", p.data), OUTCOME_OK, "of which nothing was said");
    is_text(b->r.text, "unchanged: 2 files", "is left as it is");
}

static void test_copies(struct bench_node *n, bool there)
{
    struct bench *b = n->b;
    const char *to = there ? "copy.there" : "copy.here";
    SCOPED_BUF(p);
    struct err e;
    b->task++;
    is_int(fs_mkdirs(in_dir(b, "from/sub"), 0755, &e), 0, "(a tree)");
    put(b, "from/one", "1", 0644);
    put(b, "from/sub/two", "22", 0750);
    buf_printf(&p, "{\"files\":[{\"src\":\"%s/from\",\"dst\":\"%s/%s\"}]}", b->dir, b->dir, to);
    is_int(run(n, there, "copy_files", p.data), OUTCOME_OK, "a directory is copied");
    buf_clear(&p);
    buf_printf(&p, "%s/one", to);
    holds(b, p.data, "1", 0644);
    buf_clear(&p);
    buf_printf(&p, "%s/sub/two", to);
    holds(b, p.data, "22", 0750);
    buf_clear(&p);
    buf_printf(&p, "{\"mode\":\"0444\",\"files\":[{\"src\":\"%s/from/one\",\"dst\":\"%s/%s/\"}]}",
               b->dir, b->dir, to);
    b->attempt++;
    is_int(run(n, there, "copy_files", p.data), OUTCOME_OK, "a file is copied into a directory");
    buf_clear(&p);
    buf_printf(&p, "%s/one", to);
    holds(b, p.data, "1", 0444);
    buf_clear(&p);
    buf_printf(&p, "{\"files\":[{\"src\":\"%s/none\",\"dst\":\"%s/x\"}]}", b->dir, b->dir);
    b->attempt++;
    is_int(run(n, there, "copy_files", p.data), -ERR_NOT_FOUND, "what is not there is not copied");
    is_int(symlink(in_dir(b, "from"), in_dir(b, "from/sub/up")), 0, "(a link)");
    buf_clear(&p);
    buf_printf(&p, "{\"files\":[{\"src\":\"%s/from\",\"dst\":\"%s/x\"}]}", b->dir, b->dir);
    b->attempt++;
    is_int(run(n, there, "copy_files", p.data), -ERR_INVALID, "a link that may lead back neither");
    has_text(b->e.text, "rsync is the jig", "with the remedy");
    is_int(unlink(in_dir(b, "from/sub/up")), 0, "(it goes)");
}

static void test_failures(struct bench_node *n)
{
    struct bench *b = n->b;
    SCOPED_BUF(p);
    b->task++;
    buf_printf(&p, "{\"files\":[{\"path\":\"%s/locks\",\"data\":\"\"}]}", b->dir);
    is_int(run(n, true, "upload_files", p.data), -ERR_INVALID, "a directory is not replaced");
    has_text(b->e.text, "is a directory", "and said so");
    is_int(run(n, false, "upload_files", p.data), -ERR_INVALID, "nor here");
    buf_clear(&p);
    buf_printf(&p,
               "{\"files\":[{\"path\":\"%s/w1\",\"data\":\"\"},{\"path\":\"%s/w2\",\"data\":\"\","
               "\"owner\":\"no-such-user\"},{\"path\":\"%s/w3\",\"data\":\"\"}]}",
               b->dir, b->dir, b->dir);
    b->attempt++;
    is_int(run(n, true, "upload_files", p.data), OUTCOME_FAILED, "one that cannot be written");
    has_text(b->r.text, "w2 could not be written", "is named");
    ok(fs_exists(in_dir(b, "w1")) && !fs_exists(in_dir(b, "w3")), "and is the end");
    is_int(run(n, false, "upload_files", p.data), -ERR_UNKNOWN_NAME, "the same here");
    b->no_op = true;
    buf_clear(&p);
    buf_printf(&p, "{\"path\":\"%s/w1\",\"data\":\"x\"}", b->dir);
    b->attempt++;
    is_int(run(n, true, "upload_file", p.data), OUTCOME_OK, "a no-op of one file");
    is_text(b->r.text, "no-op: its content would change", "looks at the node");
    b->no_op = false;
    holds(b, "w1", "", 0644);
}

static void test_refusals(struct bench *b)
{
    static const struct {
        const char *jig, *params, *text, *at;
    } cases[] = {
        {"upload_files", "{}", "files, a list", ""},
        {"upload_files", "{\"files\":[]}", "missing or empty", ""},
        {"upload_files", "{\"files\":[3]}", "a list of maps, found integer", "/files"},
        {"upload_files", "{\"files\":[{\"path\":\"/a\"}]}", "needs path and data", "/files/0"},
        {"upload_files",
         "{\"files\":[{\"path\":\"/a\",\"data\":\"\"},{\"path\":\"b\",\"data\":\"\"}]}",
         "path must be absolute", "/files/1/path"},
        {"upload_files", "{\"files\":[{\"path\":\"/a/\",\"data\":\"\"}]}", "end in a slash",
         "/files/0/path"},
        {"upload_files", "{\"files\":[{\"path\":\"/a\",\"data\":\"\",\"mode\":\"9\"}]}",
         "mode must be octal", "/files/0/mode"},
        {"upload_files", "{\"files\":[{\"path\":\"/a\",\"data\":\"\",\"dir_mode\":\"1777\"}]}",
         "dir_mode must be octal", "/files/0/dir_mode"},
        {"upload_files", "{\"files\":[{\"path\":\"/a\",\"data\":\"\"}],\"owner\":\"-x\"}",
         "owner must be a name", "/owner"},
        {"upload_files", "{\"files\":[{\"path\":\"/a\",\"src\":\"/b\"}]}", "no parameter \"src\"",
         "/files/0/src"},
        {"copy_files", "{\"files\":[{\"dst\":\"/a\",\"data\":\"\"}]}", "no parameter \"data\"",
         "/files/0/data"},
        {"copy_files", "{\"files\":[{\"dst\":\"/a\",\"src\":\"b\"}]}", "src must be absolute",
         "/files/0/src"},
        {"copy_files", "{\"files\":[{\"dst\":\"/a/../b\",\"src\":\"/b\"}]}", "\"..\"",
         "/files/0/dst"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        is_int(bench_start(b, cases[i].jig, cases[i].params, ""), -ERR_INVALID, "%s refuses %s",
               cases[i].jig, cases[i].params);
        has_text(b->e.text, cases[i].text, "says: %s", cases[i].text);
        is_text(b->e.at, cases[i].at, "and where");
    }
}

int main(void)
{
    struct bench b;
    struct bench_node n;
    bench_init(&b, "/no/runner");
    bench_node_init(&n, &b);
    (void)umask(022);
    test_uploads(&n, false);
    test_uploads(&n, true);
    test_copies(&n, false);
    test_copies(&n, true);
    test_failures(&n);
    test_refusals(&b);
    bench_node_done(&n);
    bench_done(&b);
    return tap_done();
}
