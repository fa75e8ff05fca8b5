/* test_rsync.c - what rsync says, counted; what is run for which access; trees on this machine */
/* SPDX-License-Identifier: Apache-2.0 */
#include <sys/stat.h>
#include <unistd.h>

#include "jig/bench.h"
#include "jig/rsync_i.h"

static void test_count(void)
{
    static const char text[] = ">f+++++++++ a\n<f.st...... b c\ncd+++++++++ d/\n"
                               ".f...p..... e\n*deleting   f\nhf+++++++++ g => a\n"
                               "Number of files: 9\nTotal bytes sent: 1234\n>f but no item\n"
                               "Total bytes sent: x\n>f+++++++++ cut";
    struct rsync_count whole = {0}, pieces = {0};
    rsync_count_feed(&whole, text, strlen(text));
    for (size_t i = 0; i < strlen(text); i++)
        rsync_count_feed(&pieces, text + i, 1);
    ok(whole.sent == 2 && whole.made == 2 && whole.changed == 1 && whole.deleted == 1,
       "items are counted by what was done");
    is_int((int64_t)whole.bytes, 1234, "and bytes");
    ok(pieces.sent == 2 && pieces.bytes == 1234, "in pieces as well");
}

static void test_checks(struct bench *b)
{
    static const struct {
        const char *params, *text, *at, *hint;
    } cases[] = {
        {"{}", "needs src and dst", "", ""},
        {"{\"src\":\"/a\"}", "needs src and dst", "", ""},
        {"{\"src\":\"a\",\"dst\":\"/b\"}", "src must be an absolute path", "/src", ""},
        {"{\"src\":\"rsync://m/x\",\"dst\":\"/b\"}", "src must be an absolute", "/src",
         "a path on the worker's machine"},
        {"{\"src\":\"/a\",\"dst\":\"h:/b\"}", "dst must be an absolute path", "/dst", ""},
        {"{\"src\":\"/a\",\"dst\":\"/b\",\"excludes\":\"x\"}", "a list of strings", "/excludes",
         ""},
        {"{\"src\":\"/a\",\"dst\":\"/b\",\"delete\":1}", "true or false", "/delete", ""},
        {"{\"src\":\"/a\",\"dst\":\"/b\",\"exclude\":[]}", "no parameter", "/exclude", "excludes"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        is_int(bench_ready(b, "rsync", cases[i].params, ""), -ERR_INVALID, "refuses %s",
               cases[i].params);
        has_text(b->e.text, cases[i].text, "says: %s", cases[i].text);
        is_text(b->e.at, cases[i].at, "and where");
        has_text(b->e.hint, cases[i].hint, "and a hint");
    }
}

static void tree(struct bench *b, const char *name, const char *text)
{
    char *path = fs_join(b->dir, name), *dir = xstrdup(path);
    struct err e;
    *strrchr(dir, '/') = '\0';
    ok(fs_mkdirs(dir, 0755, &e) == 0 && fs_write_atomic(path, text, strlen(text), 0644, &e) == 0,
       "(%s)", name);
    free(path);
    free(dir);
}

static bool there(struct bench *b, const char *name)
{
    char *path = fs_join(b->dir, name);
    bool is = fs_exists(path);
    free(path);
    return is;
}

static void test_here(struct bench *b)
{
    SCOPED_BUF(p);
    tree(b, "from/one", "1");
    tree(b, "from/sub/two", "2");
    tree(b, "from/sub/x.tmp", "no");
    tree(b, "to/old", "old");
    buf_printf(&p,
               "{\"src\":\"%s/from/\",\"dst\":\"%s/to\",\"delete\":true,\"excludes\":[\"*.tmp\"],"
               "\"report\":\"sync\"}",
               b->dir, b->dir);
    b->no_op = true;
    is_int(bench_run(b, "rsync", p.data), OUTCOME_OK, "a no-op");
    is_text(b->r.text, "no-op: would be: 2 sent, 1 made, 1 deleted", "tells what would be");
    ok(there(b, "to/old") && !there(b, "to/one") && !b->returns.len, "and does nothing");
    b->no_op = false;
    b->attempt++;
    is_int(bench_run(b, "rsync", p.data), OUTCOME_OK, "a tree is brought");
    is_text(b->r.text, "2 sent, 1 made, 1 deleted", "and told of");
    has_text(TEXT(b->returns), "\"sync\":{\"sent\":2,\"made\":1,", "and returned as was asked");
    ok(there(b, "to/one") && there(b, "to/sub/two") && !there(b, "to/old") &&
           !there(b, "to/sub/x.tmp"),
       "as it is, without what is excluded");
    b->attempt++;
    is_int(bench_run(b, "rsync", p.data), OUTCOME_OK, "the same again");
    is_text(b->r.text, "unchanged", "is nothing");
    buf_clear(&p);
    buf_printf(&p, "{\"src\":\"%s/none\",\"dst\":\"%s/to\"}", b->dir, b->dir);
    b->attempt++;
    is_int(bench_run(b, "rsync", p.data), OUTCOME_FAILED, "what is not there");
    has_text(b->r.text, "exit status 23", "is an error");
}

/* A program of the name rsync that tells how it was called. */
static int say_route(void *ctx, const char *known_path, struct arena *mem, struct jig_route *r,
                     struct err *e)
{
    struct bench *b = ctx;
    (void)e;
    *r = (struct jig_route){.address = "fe80::1",
                            .config = str_of(arena_printf(mem, "Known=%s\n", known_path)),
                            .known = str_of(b->fields ? b->fields : ""),
                            .sudo = true};
    return 1;
}

static void say_learned(void *ctx, struct str known)
{
    struct bench *b = ctx;
    buf_put(&b->returns, known.s, known.n);
}

static void test_route(struct bench *b)
{
    static const char fake[] =
        "#!/bin/sh\nprintf '%s\\n' \"$@\"\n"
        "for w; do case $w in --rsh=*) c=${w#*\\'}; c=${c%\\'};; esac; done\n"
        "cat \"$c\"; k=$(sed -n 's/^Known=//p' \"$c\"); cat \"$k\"\n"
        "[ -s \"$k\" ] || { echo 'x ssh-ed25519 AAAA' >\"$k\"; "
        "echo 'no way there' >&2; exit 255; }\n";
    struct err e;
    SCOPED_BUF(path);
    char *bin = fs_join(b->dir, "bin"), *prog = fs_join(b->dir, "bin/rsync"),
         *was = xstrdup(getenv("PATH"));
    is_int(fs_mkdirs(bin, 0755, &e), 0, "(a directory)");
    is_int(fs_write_atomic(prog, fake, strlen(fake), 0755, &e), 0, "(a program)");
    buf_printf(&path, "%s:%s", bin, was);
    setenv("PATH", path.data, 1);
    for (int pass = 0; pass < 2; pass++) {
        b->task++;
        b->fields = pass ? "alias ssh-ed25519 AAAA\n" : NULL;
        is_int(bench_ready(b, "rsync", "{\"src\":\"/a b\",\"dst\":\"/c d\"}", ""), 0, "a task");
        b->env.route = say_route;
        b->env.learned = say_learned;
        is_int(b->jig->start(&b->env, &b->req, &b->run, &b->e), 0, "for a node elsewhere");
        bench_end(b);
        has_text(TEXT(b->log[0]), "\n--rsync-path=sudo -n rsync\n--\n/a b\n[fe80::1]:/c d\nKnown=",
                 "is called with every word its own, and its configuration");
        if (pass) {
            is_int(b->r.outcome, OUTCOME_OK, "with its host keys it gets there");
            has_text(TEXT(b->log[0]), "alias ssh-ed25519 AAAA\n", "which are in their file");
        } else {
            is_int(b->r.outcome, OUTCOME_AGAIN, "a node that is not reached is asked for again");
            is_text(b->r.text, "no way there", "for a reason");
            is_text(TEXT(b->returns), "x ssh-ed25519 AAAA\n", "a key that was learnt is told");
        }
    }
    setenv("PATH", was, 1);
    b->fields = NULL;
    free(bin);
    free(prog);
    free(was);
}

int main(void)
{
    struct bench b;
    bench_init(&b, RUNNER_PATH);
    test_count();
    test_checks(&b);
    if (access("/usr/bin/rsync", X_OK) == 0)
        test_here(&b);
    else
        ok(true, "a tree is brought # SKIP there is no rsync");
    test_route(&b);
    bench_done(&b);
    return tap_done();
}
