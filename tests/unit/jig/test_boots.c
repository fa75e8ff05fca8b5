/* test_boots.c - nodes that are told to boot, by the jig reboot and by exit status 76; what
 * programs get on a node and here
 *
 * This machine is not booted: the command does nothing, and what the runner remembers of the boot
 * is made to be of another one.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <unistd.h>

#include "jig/bench_node.h"

/* As if the machine had booted since. */
static void boot(struct bench_node *n)
{
    static const char other[] = "11111111-2222-3333-4444-555555555555 5 told\n";
    char *path = fs_join(n->root, "anneal/boot.key-1");
    struct err e;
    ok(fs_exists(path), "a boot is remembered");
    is_int(fs_write_atomic(path, other, strlen(other), 0600, &e), 0, "(it boots)");
    free(path);
}

static bool remembered(struct bench_node *n)
{
    char *path = fs_join(n->root, "anneal/boot.key-1");
    bool there = fs_exists(path);
    free(path);
    return there;
}

static size_t lines(const char *path)
{
    SCOPED_BUF(b);
    struct err e;
    size_t n = 0;
    if (fs_read(path, 1 << 20, &b, &e) == 0)
        for (size_t i = 0; i < b.len; i++)
            n += b.data[i] == '\n';
    return n;
}

static void test_reboot(struct bench_node *n)
{
    struct bench *b = n->b;
    char *told = fs_join(b->dir, "told");
    SCOPED_BUF(p);
    buf_printf(&p, "{\"command\":[\"sh\",\"-c\",\"echo x >>%s\"]}", told);
    b->task = 1;
    is_int(bench_node_run(n, "reboot", p.data, ""), OUTCOME_AGAIN, "a node is told to boot");
    is_text(b->r.text, "told to boot, and not up again yet", "and that is said");
    ok(b->r.again_ms > 0, "with when to ask again");
    b->ask++;
    is_int(bench_node_run(n, "reboot", p.data, ""), OUTCOME_AGAIN, "asked again: not yet");
    b->attempt++;
    is_int(bench_node_run(n, "reboot", p.data, ""), OUTCOME_AGAIN, "nor for another attempt");
    is_int((int64_t)lines(told), 1, "it was told once");
    boot(n);
    b->ask++;
    is_int(bench_node_run(n, "reboot", p.data, ""), OUTCOME_OK, "in another boot it is done");
    is_text(b->r.text, "booted anew", "and that is said");
    has_text(TEXT(b->log[0]), "was 11111111-2222-3333-4444-555555555555, is ", "with both boots");
    ok(!remembered(n), "and nothing is left");
    b->task++;
    is_int(bench_node_run(n, "reboot", "{\"command\":[\"false\"]}", ""), OUTCOME_FAILED,
           "a command that fails");
    is_text(b->r.text, "it was not booted: this machine cannot be told to boot", "says so");
    ok(!remembered(n), "and leaves nothing");
    is_int(bench_run(b, "reboot", "{}"), OUTCOME_REFUSED, "the worker's own machine is not booted");
    has_text(b->r.text, "worker's own machine", "for a reason");
    is_int(bench_ready(b, "reboot", "{\"command\":[]}", ""), -ERR_INVALID, "an empty command");
    is_int(bench_ready(b, "reboot", "{\"delay\":1}", ""), -ERR_INVALID, "a strange parameter");
    is_int(bench_ready(b, "reboot", "", ""), 0, "(a no-op)");
    struct jig_result r = {0};
    b->jig->preview(&b->env, &b->req, &r);
    is_text(r.text, "no-op: would boot the node", "a no-op says what would be");
    free(told);
}

static void test_76(struct bench_node *n)
{
    struct bench *b = n->b;
    char *ran = fs_join(b->dir, "ran");
    SCOPED_BUF(p);
    buf_printf(&p, "{\"script\":\"echo $ANNEAL_ASK >>%s; [ $(grep -c . %s) -gt 1 ] || exit 76\"}",
               ran, ran);
    b->task++;
    b->attempt = 1;
    b->ask = 0;
    is_int(bench_ready(b, "shell", p.data, ""), 0, "a program that wants a boot");
    struct reach_step s = {0}, more = {0};
    is_int(b->jig->step(&b->req, &b->mem, &s, &b->e), 0, "is a step");
    is_text(s.boot_key, "key-1", "with something to remember it by");
    is_int(bench_node_step(n, &s), 0, "that is run");
    is_int(n->end.status, 76, "and asks for it");
    ok(remembered(n), "the node knows of it before anybody is told");
    is_int(b->jig->next(&b->env, &b->req, &n->end, &b->mem, &more, &b->e), 1, "a second step");
    is_int((int)more.kind, REACH_REBOOT, "boots it");
    b->ask++;
    s = (struct reach_step){0};
    is_int(b->jig->step(&b->req, &b->mem, &s, &b->e), 0, "if that is lost and it is asked again");
    is_int(bench_node_step(n, &s), 0, "it does not run");
    is_int(n->end.status, 76, "but asks for a boot once more");
    is_int((int64_t)lines(ran), 1, "it ran once so far");
    static const char *const argv[] = {"true", NULL};
    more.argv = argv;
    b->req.step++;
    is_int(bench_node_step(n, &more), 0, "the second step");
    is_int(n->end.status, 75, "waits for the boot");
    b->ask++;
    s = (struct reach_step){0};
    b->req.step = 0;
    is_int(b->jig->step(&b->req, &b->mem, &s, &b->e), 0, "asked before that");
    is_int(bench_node_step(n, &s), 0, "it does not run");
    is_int(n->end.status, 75, "but waits");
    is_int((int64_t)lines(ran), 1, "and has run once");
    boot(n);
    b->ask++;
    is_int(bench_node_run(n, "shell", p.data, ""), OUTCOME_OK, "in another boot it runs");
    is_int((int64_t)lines(ran), 2, "for the second time");
    ok(!remembered(n), "and nothing is left");
    struct reach_end end = {.status = 75};
    struct jig_result r;
    b->req.part = 1;
    s = (struct reach_step){0};
    ok(b->jig->step(&b->req, &b->mem, &s, &b->e) == 0 && s.kind == REACH_REBOOT,
       "a second step that was lost is the boot again, not the program");
    b->jig->judge(&b->req, &end, "", &b->mem, &r);
    is_int(r.outcome, OUTCOME_AGAIN, "a boot under way is asked for again");
    end.status = 0;
    b->jig->judge(&b->req, &end, "", &b->mem, &r);
    is_int(r.outcome, OUTCOME_AGAIN, "one that has been is the program's turn");
    end.status = 1;
    b->jig->judge(&b->req, &end, "no way", &b->mem, &r);
    is_int(r.outcome, OUTCOME_FAILED, "one that cannot be is a failure");
    has_text(r.text, "no way", "that says why");
    free(ran);
}

static void test_surroundings(struct bench_node *n, bool there)
{
    static const char params[] =
        "{\"script\":\"cat >$OUT.in; cp $ANNEAL_INPUT_FILE $OUT.file; "
        "stat -c %%a $ANNEAL_INPUT_FILE >$OUT.mode; echo $ANNEAL_INPUT_FILE >$OUT.name; "
        "env | grep -E '^ANNEAL_(PARAM|DATA|LEFT)' | sort >$OUT.env\",\"env\":{\"OUT\":\"%s/out\"},"
        "\"port\":8080,\"a-b\":\"x y\",\"a_b\":\"second\"}";
    static const char data[] = "{\"on\":true,\"none\":null,\"list\":[1],\"db\":{\"name\":\"it's\","
                               "\"deep\":{\"er\":{\"x\":1,\"most\":{\"y\":2}}}},\"r\":1.5}";
    struct bench *b = n->b;
    SCOPED_BUF(p);
    SCOPED_BUF(got);
    SCOPED_BUF(in);
    struct err e;
    char *out = fs_join(b->dir, "out.env"), *input = fs_join(b->dir, "out.in"),
         *file = fs_join(b->dir, "out.file"), *name = fs_join(b->dir, "out.name");
    b->task++;
    b->attempt = 1;
    b->ask = 0;
    buf_printf(&p, params, b->dir);
    int outcome = there ? bench_node_run(n, "shell", p.data, data)
                        : bench_start(b, "shell", p.data, data);
    if (!there) {
        bench_end(b);
        outcome = (int)b->r.outcome;
    }
    is_int(outcome, OUTCOME_OK, "a program %s", there ? "on a node" : "here");
    is_int(fs_read(out, 4096, &got, &e), 0, "sees variables");
    is_text(TEXT(got),
            "ANNEAL_DATA_db__deep__er__x=1\nANNEAL_DATA_db__name=it's\nANNEAL_DATA_on=true\n"
            "ANNEAL_DATA_r=1.5\nANNEAL_LEFT_OUT=1\nANNEAL_PARAM_a_b=x y\nANNEAL_PARAM_port=8080\n",
            "of parameters and data, in bounds");
    is_int(fs_read(input, 4096, &in, &e), 0, "reads its input");
    is_int(fs_read(file, 4096, &got, &e), 0, "and the file");
    is_text(TEXT(got), TEXT(in), "which are the same");
    has_text(TEXT(got), "\"data\":{\"on\":true", "with everything in it");
    is_int(fs_read(name, 4096, &got, &e), 0, "the file");
    got.data[got.len - 1] = '\0';
    SCOPED_BUF(left);
    int rc = fs_read(got.data, 4096, &left, &e);
    ok(rc == -ERR_NOT_FOUND || left.len == 0, "holds nothing afterwards");
    free(out);
    free(input);
    free(file);
    free(name);
}

static void test_bounds(struct bench *b)
{
    SCOPED_BUF(p);
    buf_puts(&p, "{\"script\":\"env | grep -c ^ANNEAL_PARAM_; echo $ANNEAL_LEFT_OUT\"");
    for (int i = 0; i < 300; i++)
        buf_printf(&p, ",\"k%d\":%d", i, i);
    buf_puts(&p, ",\"long\":\"");
    for (int i = 0; i < 2000; i++)
        buf_putc(&p, 'x');
    buf_puts(&p, "\"}");
    b->task++;
    is_int(bench_run(b, "shell", p.data), OUTCOME_OK, "300 parameters");
    is_text(TEXT(b->log[0]), "256\n45\n", "are 256 variables, and the rest is counted");
    b->task++;
    is_int(bench_run(b, "shell", "{\"script\":\"exit 76\"}"), OUTCOME_FAILED,
           "here nothing is booted for a program");
    has_text(b->r.text, "not to be booted", "for a reason");
}

int main(void)
{
    struct bench b;
    struct bench_node n;
    bench_init(&b, RUNNER_PATH);
    bench_node_init(&n, &b);
    test_reboot(&n);
    test_76(&n);
    test_surroundings(&n, false);
    test_surroundings(&n, true);
    test_bounds(&b);
    bench_node_done(&n);
    bench_done(&b);
    return tap_done();
}
