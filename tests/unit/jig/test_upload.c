/* test_upload.c - files written whole, what is refused, and that nothing else is touched */
/* SPDX-License-Identifier: Apache-2.0 */
#include <sys/stat.h>
#include <unistd.h>

#include "jig/bench.h"

static const char *in_dir(struct bench *b, const char *name)
{
    static char path[4][512]; /* enough for one line of a test */
    static size_t next;
    char *at = path[next++ % 4];
    snprintf(at, sizeof path[0], "%s/%s", b->dir, name);
    return at;
}

/* The outcome of an upload to a path in the bench's directory; more: further parameters. */
static int upload(struct bench *b, const char *name, const char *data, const char *more)
{
    char params[1024];
    snprintf(params, sizeof params, "{\"path\":\"%s\",\"data\":\"%s\"%s}", in_dir(b, name), data,
             more);
    return bench_run(b, "upload_file", params);
}

static void holds(struct bench *b, const char *name, const char *data, mode_t mode)
{
    SCOPED_BUF(got);
    struct err e;
    struct stat st = {0};
    is_int(fs_read(in_dir(b, name), 1 << 21, &got, &e), 0, "%s can be read", name);
    is_text(TEXT(got), data, "%s has its content", name);
    is_int(lstat(in_dir(b, name), &st), 0, "%s is there", name);
    ok(S_ISREG(st.st_mode) && (st.st_mode & 07777) == mode,
       "%s is a file of mode %04o, wanted %04o", name, (unsigned)(st.st_mode & 07777),
       (unsigned)mode);
}

static ino_t inode(struct bench *b, const char *name)
{
    struct stat st = {0};
    (void)lstat(in_dir(b, name), &st);
    return st.st_ino;
}

static void test_write(struct bench *b)
{
    mode_t mask = umask(077); /* which is not to matter */
    is_int(upload(b, "a", "one\\n", ""), OUTCOME_OK, "a file is written");
    is_text(b->r.text, "written, there was none", "and said so");
    holds(b, "a", "one\n", 0644);
    ino_t first = inode(b, "a");
    is_int(upload(b, "a", "one\\n", ""), OUTCOME_OK, "the same again");
    is_text(b->r.text, "unchanged", "changes nothing");
    is_int(inode(b, "a"), first, "not even the file");
    is_int(upload(b, "a", "two\\n", ""), OUTCOME_OK, "another content");
    is_text(b->r.text, "written, its content has changed", "changes it");
    holds(b, "a", "two\n", 0644);
    ok(inode(b, "a") != first, "by another file in its place");
    is_int(upload(b, "a", "two\\n", ",\"mode\":\"0600\""), OUTCOME_OK, "another mode");
    is_text(b->r.text, "written, its mode has changed", "changes it as well");
    holds(b, "a", "two\n", 0600);
    is_int(upload(b, "empty", "", ",\"mode\":\"640\""), OUTCOME_OK, "an empty file");
    holds(b, "empty", "", 0640);
    is_int(upload(b, "empty", "", ",\"mode\":\"640\""), OUTCOME_OK, "the same again");
    is_text(b->r.text, "unchanged", "is unchanged too");
    umask(mask);
}

static void test_places(struct bench *b)
{
    SCOPED_BUF(got);
    struct stat st;
    struct err e;
    is_int(upload(b, "x/y/z", "1", ""), -ERR_NOT_FOUND, "without dir_mode no directory is made");
    is_int(upload(b, "x/y/z", "1", ",\"dir_mode\":\"0750\""), OUTCOME_OK, "with it they are");
    holds(b, "x/y/z", "1", 0644);
    ok(stat(in_dir(b, "x/y"), &st) == 0 && (st.st_mode & 0777) == 0750, "with that mode");
    is_int(upload(b, "x/y/z/more", "1", ",\"dir_mode\":\"0750\""), -ERR_NOT_FOUND,
           "a file is no directory");
    is_int(upload(b, "x/y", "1", ""), -ERR_INVALID, "a directory is not replaced");
    has_text(b->e.text, "is a directory", "and said so");

    is_int(upload(b, "target", "mine", ""), OUTCOME_OK, "a file");
    is_int(symlink(in_dir(b, "target"), in_dir(b, "link")), 0, "and a link to it");
    is_int(upload(b, "link", "mine", ""), OUTCOME_OK, "the same content by way of the link");
    is_text(b->r.text, "written, its content has changed", "is not the same file");
    holds(b, "link", "mine", 0644);
    is_int(upload(b, "link", "other", ""), OUTCOME_OK, "another content");
    holds(b, "target", "mine", 0644);
    is_int(symlink("/no/such/place", in_dir(b, "dangling")), 0, "a link to nothing");
    is_int(upload(b, "dangling", "1", ""), OUTCOME_OK, "is replaced");
    holds(b, "dangling", "1", 0644);
    is_int(symlink(in_dir(b, "x"), in_dir(b, "dirlink")), 0, "a link to a directory");
    is_int(upload(b, "dirlink/in", "1", ""), OUTCOME_OK, "may be on the way");
    holds(b, "x/in", "1", 0644);
    is_int(mkfifo(in_dir(b, "fifo"), 0600), 0, "a FIFO");
    is_int(upload(b, "fifo", "1", ""), OUTCOME_OK, "is replaced, and not waited for");
    holds(b, "fifo", "1", 0644);

    char **names;
    size_t n = 0, strange = 0;
    is_int(fs_list(b->dir, &names, &n, &e), 0, "what is there");
    for (size_t i = 0; i < n; i++) {
        strange += strchr(names[i], '.') != NULL;
        free(names[i]);
    }
    free(names);
    is_int(strange, 0, "no temporary file is left");
}

static void test_refusals(struct bench *b)
{
    static const struct {
        const char *params, *text, *at;
    } cases[] = {
        {"{}", "needs path and data", ""},
        {"", "needs path and data", ""},
        {"{\"path\":\"/x\"}", "needs path and data", ""},
        {"{\"path\":\"\",\"data\":\"\"}", "path must be absolute", "/path"},
        {"{\"path\":\"etc/x\",\"data\":\"\"}", "path must be absolute", "/path"},
        {"{\"path\":\"/etc/../x\",\"data\":\"\"}", "must not contain \"..\"", "/path"},
        {"{\"path\":\"/etc/..\",\"data\":\"\"}", "must not contain \"..\"", "/path"},
        {"{\"path\":\"/etc/\",\"data\":\"\"}", "not end in a slash", "/path"},
        {"{\"path\":\"/\",\"data\":\"\"}", "not end in a slash", "/path"},
        {"{\"path\":\"/a\\u0000b\",\"data\":\"\"}", "must not contain a NUL", "/path"},
        {"{\"path\":\"/a\",\"data\":7}", "data: expected a string", "/data"},
        {"{\"path\":\"/a\",\"data\":\"\",\"mode\":644}", "mode: expected a string", "/mode"},
        {"{\"path\":\"/a\",\"data\":\"\",\"mode\":\"\"}", "mode must be octal", "/mode"},
        {"{\"path\":\"/a\",\"data\":\"\",\"mode\":\"0o644\"}", "mode must be octal", "/mode"},
        {"{\"path\":\"/a\",\"data\":\"\",\"mode\":\"0888\"}", "mode must be octal", "/mode"},
        {"{\"path\":\"/a\",\"data\":\"\",\"dir_mode\":\"x\"}", "dir_mode must be", "/dir_mode"},
        {"{\"path\":\"/a\",\"data\":\"\",\"owner\":\"a:b\"}", "owner must be a name", "/owner"},
        {"{\"path\":\"/a\",\"data\":\"\",\"group\":\"\"}", "group must be a name", "/group"},
        {"{\"path\":\"/a\",\"data\":\"\",\"mod\":\"0600\"}", "no parameter \"mod\"", "/mod"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        is_int(bench_start(b, "upload_file", cases[i].params, ""), -ERR_INVALID, "refuses %s",
               cases[i].params);
        has_text(b->e.text, cases[i].text, "says: %s", cases[i].text);
        is_text(b->e.at, cases[i].at, "and where");
    }
    is_int(upload(b, "..hidden", "1", ""), OUTCOME_OK, "two dots in a name are no step up");
    is_int(unlink(in_dir(b, "..hidden")), 0, "it was written");
}

static void test_large(struct bench *b)
{
    SCOPED_BUF(params);
    buf_printf(&params, "{\"path\":\"%s\",\"data\":\"", in_dir(b, "large"));
    size_t head = params.len;
    while (params.len - head < 1 << 20)
        buf_putc(&params, 'x');
    size_t full = params.len;
    buf_puts(&params, "\"}");
    is_int(bench_run(b, "upload_file", params.data), OUTCOME_OK, "a MiB is written");
    struct stat st = {0};
    is_int(stat(in_dir(b, "large"), &st), 0, "it is there");
    is_int(st.st_size, 1 << 20, "whole");
    params.len = full;
    buf_puts(&params, "x\"}");
    is_int(bench_run(b, "upload_file", params.data), -ERR_TOO_LARGE, "and not a byte more");
    is_text(b->e.at, "/data", "says where");
    is_int(unlink(in_dir(b, "large")), 0, "it goes");
}

static void test_preview(struct bench *b)
{
    static const struct {
        const char *name, *data, *mode, *text;
        enum outcome outcome;
    } cases[] = {
        {"p", "1", "0644", "no-op: unchanged", OUTCOME_OK},
        {"p", "2", "0644", "no-op: its content would change", OUTCOME_OK},
        {"p", "1", "0600", "no-op: its mode would change", OUTCOME_OK},
        {"q", "1", "0644", "no-op: would be written, there is none", OUTCOME_OK},
        {"locks", "1", "0644", "is a directory", OUTCOME_FAILED},
    };
    is_int(upload(b, "p", "1", ""), OUTCOME_OK, "a file");
    ino_t was = inode(b, "p");
    b->no_op = true;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char more[32];
        snprintf(more, sizeof more, ",\"mode\":\"%s\"", cases[i].mode);
        is_int(upload(b, cases[i].name, cases[i].data, more), cases[i].outcome, "%s %s: outcome",
               cases[i].name, cases[i].mode);
        has_text(b->r.text, cases[i].text, "says: %s", cases[i].text);
        if (cases[i].outcome == OUTCOME_OK)
            has_text(TEXT(b->log[0]), "1 bytes, mode", "and the log what it would be");
    }
    b->no_op = false;
    is_int(inode(b, "p"), was, "nothing was changed");
    ok(!fs_exists(in_dir(b, "q")), "and nothing made");
}

int main(void)
{
    struct bench b;
    bench_init(&b, "/no/runner");
    test_write(&b);
    test_places(&b);
    test_refusals(&b);
    test_large(&b);
    test_preview(&b);
    bench_done(&b);
    return tap_done();
}
