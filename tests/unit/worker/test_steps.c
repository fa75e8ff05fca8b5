/* test_steps.c - tests around a task, and runs that change nothing
 *
 * Tests are real programs; the task between them is mostly the jig `test`, which needs none.  Each
 * rule of worker_step.c once, and each way to be ended in each phase.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <sys/stat.h>

#include "base/json.h"
#include "worker/rig.h"

struct tested { /* a task with tests; ' stands for " */
    const char *jig, *params, *pre, *post, *data;
    uint64_t timeout_ms, pre_timeout_ms, post_timeout_ms;
    uint64_t interval_ms; /* of both; 0: none, DEFAULT_INTERVAL: not said */
    uint32_t pre_retries, post_retries, ask, attempt;
    bool no_op;
};
#define DEFAULT_INTERVAL UINT64_MAX

static struct str quoted(struct rig *r, const char *text)
{
    char *copy = arena_strdup(&r->mem, text ? text : "");
    for (char *c = copy; *c; c++)
        if (*c == '\'')
            *c = '"';
    return str_of(copy);
}

static void test_write(struct jsonw *w, const char *which, const char *cmd, uint64_t timeout_ms,
                       uint32_t retries, uint64_t interval_ms)
{
    if (!cmd)
        return;
    jsonw_key(w, which);
    jsonw_map(w);
    jsonw_key(w, "cmd");
    jsonw_text(w, cmd);
    if (timeout_ms) {
        jsonw_key(w, "timeout_ms");
        jsonw_u64(w, timeout_ms);
    }
    if (retries) {
        jsonw_key(w, "retries");
        jsonw_u64(w, retries);
    }
    if (retries && interval_ms != DEFAULT_INTERVAL) {
        jsonw_key(w, "interval_ms");
        jsonw_u64(w, interval_ms);
    }
    jsonw_end(w);
}

/* Sends it, with the digest that a server would send along. */
static void send(struct rig *r, uint32_t task, struct tested t)
{
    SCOPED_BUF(tests);
    struct jsonw w;
    char digest[DIGEST_HEX];
    jsonw_init(&w, &tests);
    jsonw_map(&w);
    test_write(&w, "pre", t.pre, t.pre_timeout_ms, t.pre_retries, t.interval_ms);
    test_write(&w, "post", t.post, t.post_timeout_ms, t.post_retries, t.interval_ms);
    jsonw_end(&w);
    struct taskmsg m = {
        .kind = TASKMSG_TASK,
        .task = task,
        .attempt = t.attempt ? t.attempt : 1,
        .ask = t.ask,
        .jig = str_of(t.jig ? t.jig : "test"),
        .params = quoted(r, t.params ? t.params : "{'log':['did'],'returns':{'a':1}}"),
        .data = quoted(r, t.data),
        .tests = buf_str(&tests),
        .no_op = t.no_op,
        .timeout_ms = t.timeout_ms,
        .grace_ms = 5000};
    taskmsg_digest(&m, digest);
    m.digest = str_of(digest);
    rig_send(r, &m);
}

static void ended(struct rig *r, uint32_t task, enum outcome outcome, enum phase phase,
                  const char *text)
{
    const struct taskmsg *m = rig_result(r, task, 1);
    is_text(m->kind == TASKMSG_RESULT ? outcome_name(m->outcome) : "nothing", outcome_name(outcome),
            "task %u: %s", task, outcome_name(outcome));
    is_text(phase_name(m->phase), phase_name(phase), "task %u: in %s", task, phase_name(phase));
    if (text)
        has_text(m->text.s, text, "task %u: says %s", task, text);
}

/* A command that adds a line to a file of the rig, and then does something. */
static const char *counting(struct rig *r, const char *file, const char *then)
{
    return arena_printf(&r->mem, "echo x >> %s/%s; %s", r->dir, file, then);
}

static size_t lines(struct rig *r, const char *file)
{
    SCOPED_BUF(b);
    struct err e;
    size_t n = 0;
    char *path = fs_join(r->dir, file);
    if (fs_read(path, 1 << 20, &b, &e) >= 0)
        for (size_t i = 0; i < b.len; i++)
            n += b.data[i] == '\n';
    free(path);
    return n;
}

static void test_order(void)
{
    struct rig r;
    rig_init(&r, false, NULL);
    send(&r, 1, (struct tested){.pre = "echo before >&2", .post = "echo after\necho end"});
    rig_wait(&r, 1);
    ended(&r, 1, OUTCOME_OK, PHASE_TEST_POST, NULL);
    ok(str_is(rig_result(&r, 1, 1)->returns, "{\"a\":1}"), "what it returned counts");
    is_text(rig_log_text(&r, 1),
            "--- test_pre: echo before >&2\nbefore\n--- task\ndid\n"
            "--- test_post: echo after ...\nafter\nend\n",
            "one after the other, and the log says which");
    send(&r, 2, (struct tested){.pre = "true"});
    send(&r, 3, (struct tested){.post = "true"});
    send(&r, 4, (struct tested){0});
    rig_wait(&r, 4);
    ended(&r, 2, OUTCOME_OK, PHASE_TASK, NULL);
    ended(&r, 3, OUTCOME_OK, PHASE_TEST_POST, NULL);
    ended(&r, 4, OUTCOME_OK, PHASE_NONE, NULL);
    is_text(rig_log_text(&r, 4), "did\n", "without tests the log is the task's alone");
    rig_done(&r);
}

static void test_failures(void)
{
    struct rig r;
    rig_init(&r, false, NULL);
    send(&r, 1, (struct tested){.pre = "echo oops >&2; exit 3", .post = "true"});
    send(&r, 2, (struct tested){.pre = "true", .post = "echo wrong >&2; exit 4"});
    send(&r, 3, (struct tested){.params = "{'exit':5}", .pre = "true", .post = "echo never"});
    send(&r, 4, (struct tested){.pre = "exit 75", .post = "true"});
    rig_wait(&r, 4);
    ended(&r, 1, OUTCOME_FAILED, PHASE_TEST_PRE, "test_pre failed: exit status 3: oops");
    is_int(rig_result(&r, 1, 1)->exit_code, 3, "with the status of the test");
    ok(!strstr(rig_log_text(&r, 1), "did"), "the task was not started");
    ended(&r, 2, OUTCOME_FAILED, PHASE_TEST_POST, "test_post failed: exit status 4: wrong");
    ok(strstr(rig_log_text(&r, 2), "did") != NULL, "the task had run");
    is_int(rig_result(&r, 2, 1)->returns.n, 0, "but what it returned does not count");
    ended(&r, 3, OUTCOME_FAILED, PHASE_TASK, "exit status 5, as asked for");
    ok(!strstr(rig_log_text(&r, 3), "never"), "after a failure there is nothing to test");
    ended(&r, 4, OUTCOME_FAILED, PHASE_TEST_PRE, "exit status 75");
    is_int(rig_result(&r, 4, 1)->again_ms, 0, "a test cannot ask to be asked again");
    rig_done(&r);
}

static void test_retries(void)
{
    struct rig r;
    rig_init(&r, false, NULL);
    const char *third = arena_printf(&r.mem, "test $(wc -l < %s/a) -ge 3", r.dir);
    send(&r, 1, (struct tested){.pre = counting(&r, "a", third), .pre_retries = 5});
    rig_wait(&r, 1);
    ended(&r, 1, OUTCOME_OK, PHASE_TASK, NULL);
    is_int(lines(&r, "a"), 3, "a test is repeated until it passes");
    has_text(rig_log_text(&r, 1), "--- test_pre, try 3 of 6: echo x", "the log counts");
    send(&r, 2, (struct tested){.post = counting(&r, "b", "exit 7"), .post_retries = 2});
    rig_wait(&r, 2);
    ended(&r, 2, OUTCOME_FAILED, PHASE_TEST_POST, "exit status 7");
    is_int(lines(&r, "b"), 3, "or as often as it may be");
    send(&r, 3, (struct tested){.pre = "exec sleep 1000", .pre_timeout_ms = 30, .pre_retries = 1});
    rig_wait(&r, 3);
    ended(&r, 3, OUTCOME_FAILED, PHASE_TEST_PRE, "test_pre failed: ran longer than 30 ms");
    has_text(rig_log_text(&r, 3), "--- test_pre, try 2 of 2: exec sleep",
             "one that takes too long has failed, and is repeated like that");
    rig_done(&r);
}

/* --- between two tries --- */

/* Programs end when they do, while virtual time stands still: until the task has written this so
 * many times.  Output is sent, without any time passing, when a try is over and the next one is
 * waited for. */
static bool wrote(struct rig *r, uint32_t task, const char *text, size_t times)
{
    for (uint64_t i = 0; i < 5000000; i++) {
        size_t n = 0;
        for (const char *at = rig_log_text(r, task); (at = strstr(at, text)); at++)
            n++;
        if (n >= times)
            return n == times;
        rig_step(r, 0);
    }
    return false;
}

static void rests(struct rig *r, uint32_t task, size_t tries, const char *when)
{
    ok(wrote(r, task, "\nno\n", tries), "task %u: %zu tries %s", task, tries, when);
    const char *next = arena_printf(&r->mem, ", try %zu of ", tries + 1);
    ok(!strstr(rig_log_text(r, task), next), "no further one has begun");
    is_int(worker_counts(r->w).running, 1, "it is still under way");
    is_int(rig_count(r, TASKMSG_RESULT), 0, "and not answered");
}

static void test_intervals(void)
{
    struct rig r;
    rig_init(&r, true, NULL);
    send(&r, 1,
         (struct tested){
             .pre = counting(&r, "i", "echo no; exit 3"), .pre_retries = 2, .interval_ms = 60000});
    rests(&r, 1, 1, "at first");
    rig_step(&r, 59999);
    rests(&r, 1, 1, "just before the interval is over");
    rig_step(&r, 1);
    rests(&r, 1, 2, "when it is");
    rig_step(&r, 60000);
    ok(wrote(&r, 1, "\nno\n", 3), "the last try");
    while (!rig_count(&r, TASKMSG_RESULT))
        rig_step(&r, 0);
    ended(&r, 1, OUTCOME_FAILED, PHASE_TEST_PRE, "test_pre failed: exit status 3");
    rig_done(&r);

    rig_init(&r, true, NULL);
    send(&r, 2,
         (struct tested){
             .post = "echo no; exit 3", .post_retries = 1, .interval_ms = DEFAULT_INTERVAL});
    rests(&r, 2, 1, "of one that does not say how long");
    rig_step(&r, 999);
    rests(&r, 2, 1, "before a second is over");
    rig_step(&r, 1);
    ok(wrote(&r, 2, "\nno\n", 2), "then it is tried again");
    while (!rig_count(&r, TASKMSG_RESULT))
        rig_step(&r, 0);
    ended(&r, 2, OUTCOME_FAILED, PHASE_TEST_POST, "exit status 3");
    rig_done(&r);
}

/* Whatever ends it reaches it between two tries, at once: no virtual time passes. */
static void test_rest_ends(void)
{
    const struct tested waits = {
        .pre = "echo no; exit 3", .pre_retries = 9, .interval_ms = 3600000, .timeout_ms = 5000};
    struct rig r;
    rig_init(&r, true, NULL);
    send(&r, 1, waits);
    rests(&r, 1, 1, "before it is cancelled");
    rig_cancel(&r, 1, 1, 60000);
    rig_step(&r, 0);
    ended(&r, 1, OUTCOME_CANCELLED, PHASE_TEST_PRE, "ended before the next try of its test_pre");
    rig_done(&r);

    rig_init(&r, true, NULL);
    send(&r, 2, waits);
    rests(&r, 2, 1, "before its time is over");
    rig_step(&r, 4999);
    is_int(rig_count(&r, TASKMSG_RESULT), 0, "not a moment sooner");
    rig_step(&r, 1);
    ended(&r, 2, OUTCOME_TIMEOUT, PHASE_TEST_PRE, "ran longer than 5000 ms, until its test_pre");
    rig_done(&r);

    rig_init(&r, true, NULL);
    send(&r, 3, waits);
    rests(&r, 3, 1, "before a later attempt comes");
    send(&r, 3, (struct tested){.attempt = 2});
    rig_step(&r, 0);
    ended(&r, 3, OUTCOME_CANCELLED, PHASE_TEST_PRE, NULL);
    is_int(rig_outcome(&r, 3, 2), OUTCOME_OK, "which runs");
    rig_done(&r);

    rig_init(&r, true, NULL);
    send(&r, 4, waits);
    rests(&r, 4, 1, "before the worker stops");
    worker_stop(r.w, 60000, rig_on_stopped, &r);
    rig_step(&r, 0);
    ok(r.stopped, "which has nothing to wait for");
    ended(&r, 4, OUTCOME_LOST, PHASE_TEST_PRE, NULL);
    rig_done(&r);

    rig_init(&r, true, NULL);
    send(&r, 5, waits);
    rests(&r, 5, 1, "before another worker has it");
    rig_send(&r, &(struct taskmsg){.kind = TASKMSG_DROP, .task = 5, .attempt = 1});
    rig_step(&r, 0);
    is_int(worker_counts(r.w).running, 0, "nothing is left of it");
    rig_done(&r);

    rig_init(&r, true, NULL);
    send(&r, 6, waits);
    rests(&r, 6, 1, "before the server gives us up");
    rig_send(&r, &(struct taskmsg){.kind = TASKMSG_BEAT, .lease_ms = 3000});
    rig_step(&r, 3000);
    ended(&r, 6, OUTCOME_LOST, PHASE_TEST_PRE, NULL);
    rig_done(&r);
}

/* The attempt's time is over while this phase runs. */
static void test_timeouts(void)
{
    struct rig r;
    rig_init(&r, false, NULL);
    send(&r, 1, (struct tested){.pre = "exec sleep 1000", .pre_retries = 9, .timeout_ms = 40});
    send(&r, 2,
         (struct tested){.params = "{'sleep_ms':1000000}", .post = "true", .timeout_ms = 50});
    send(&r, 3, (struct tested){.post = "exec sleep 1000", .timeout_ms = 60});
    rig_wait(&r, 3);
    ended(&r, 1, OUTCOME_TIMEOUT, PHASE_TEST_PRE, "ran longer than 40 ms, until its test_pre");
    ok(!strstr(rig_log_text(&r, 1), "try 2"), "what was cut is not repeated");
    ended(&r, 2, OUTCOME_TIMEOUT, PHASE_TASK, "ran longer than 50 ms, until its task");
    ended(&r, 3, OUTCOME_TIMEOUT, PHASE_TEST_POST, NULL);
    is_int(rig_result(&r, 3, 1)->returns.n, 0, "nor does what the task returned count");
    rig_done(&r);
}

static void test_cancels(void)
{
    struct rig r;
    rig_init(&r, false, NULL);
    send(&r, 1, (struct tested){.pre = "echo on; exec sleep 1000", .pre_retries = 9});
    rig_wait_text(&r, 1, "\non\n");
    rig_cancel(&r, 1, 1, 5000);
    send(&r, 2, (struct tested){.params = "{'log':['on'],'sleep_ms':1000000}", .pre = "true"});
    rig_wait_text(&r, 2, "\non\n");
    rig_cancel(&r, 2, 1, 5000);
    send(&r, 3, (struct tested){.post = "echo on; exec sleep 1000", .post_retries = 9});
    rig_wait_text(&r, 3, "\non\n");
    rig_cancel(&r, 3, 1, 5000);
    rig_wait(&r, 3);
    ended(&r, 1, OUTCOME_CANCELLED, PHASE_TEST_PRE, "test_pre: ");
    ok(!strstr(rig_log_text(&r, 1), "did"), "the task is not started any more");
    ended(&r, 2, OUTCOME_CANCELLED, PHASE_TASK, NULL);
    ended(&r, 3, OUTCOME_CANCELLED, PHASE_TEST_POST, "test_post: ");

    /* One that passes although it was told to end: what comes next is not started. */
    send(&r, 4,
         (struct tested){.pre = "trap 'exit 0' TERM; echo on; while :; do sleep 0.01; done"});
    rig_wait_text(&r, 4, "\non\n");
    rig_cancel(&r, 4, 1, 60000);
    rig_wait(&r, 4);
    ended(&r, 4, OUTCOME_CANCELLED, PHASE_TASK, "ended before its task");

    /* A later attempt: the earlier one ends where it is. */
    send(&r, 5, (struct tested){.pre = "echo on; exec sleep 1000"});
    rig_wait_text(&r, 5, "\non\n");
    send(&r, 5, (struct tested){.attempt = 2, .pre = "true"});
    rig_wait(&r, 6);
    ended(&r, 5, OUTCOME_CANCELLED, PHASE_TEST_PRE, NULL);
    is_int(rig_outcome(&r, 5, 2), OUTCOME_OK, "the later attempt runs");

    send(&r, 6, (struct tested){.pre = "echo on; exec sleep 1000"});
    rig_wait_text(&r, 6, "\non\n");
    worker_stop(r.w, 5000, rig_on_stopped, &r);
    while (!r.stopped)
        scratch_run(r.l);
    rig_wait(&r, 7);
    ended(&r, 6, OUTCOME_LOST, PHASE_TEST_PRE, NULL);
    rig_done(&r);
}

static void test_again(void)
{
    struct rig r;
    rig_init(&r, false, NULL);
    struct tested t = {.params = "{'again_times':2,'again_ms':1,'returns':{'a':1}}",
                       .pre = counting(&r, "pre", "true"),
                       .post = counting(&r, "post", "true")};
    for (t.ask = 0; t.ask < 3; t.ask++) {
        send(&r, 1, t);
        rig_wait(&r, 1);
        if (t.ask == 2)
            break;
        ended(&r, 1, OUTCOME_AGAIN, PHASE_TASK, NULL);
        rig_ack_all(&r);
        rig_forget(&r);
    }
    ended(&r, 1, OUTCOME_OK, PHASE_TEST_POST, NULL);
    is_int(lines(&r, "pre"), 1, "an attempt that is asked again has passed its first test");
    is_int(lines(&r, "post"), 1, "and is tested when it is done");
    ok(str_is(rig_result(&r, 1, 1)->returns, "{\"a\":1}"), "then it has returned");
    rig_done(&r);
}

/* A test sees what the task sees. */
static void test_surroundings(void)
{
    static const char sees[] =
        "test \"$A\" = b && test \"$PWD\" = /usr && test \"$ANNEAL_TASK\" = 1 && "
        "grep -q '\"params\":{\"script\":\"true\".*\"data\":{\"k\":1},\"task\":{\"id\":1'";
    struct rig r;
    rig_init(&r, false, NULL);
    send(&r, 1,
         (struct tested){.jig = "shell",
                         .params = "{'script':'true','env':{'A':'b'},'cwd':'/usr'}",
                         .data = "{'k':1}",
                         .pre = sees,
                         .post = "echo '{\"returned\":1}' >&3"});
    send(&r, 2,
         (struct tested){.jig = "noop", .params = "{'env':7,'cwd':[]}", .pre = "test $PWD = /"});
    rig_wait(&r, 2);
    ended(&r, 1, OUTCOME_OK, PHASE_TEST_POST, NULL);
    is_int(rig_result(&r, 1, 1)->returns.n, 0, "what a test returns is nobody's");
    ended(&r, 2, OUTCOME_OK, PHASE_TASK, NULL);
    char *scratch = fs_join(r.dir, "scratch"), **names;
    size_t n = 1;
    struct err e;
    rig_ack_all(&r);
    is_int(fs_list(scratch, &names, &n, &e), 0, "the scratch directory");
    is_int(n, 0, "has nothing of them left");
    free(names);
    free(scratch);
    rig_done(&r);
}

static void test_refusals(void)
{
    static const struct {
        const char *tests, *text;
    } cases[] = {
        {"[]", "tests must be a map"},
        {"{", "tests"},
        {"{'pre':'true'}", "\"pre\" must be a map with a command"},
        {"{'post':{}}", "\"post\" must be a map with a command"},
        {"{'pre':{'cmd':''}}", "must be a map with a command"},
        {"{'pre':{'cmd':'a\\u0000'}}", "must not contain a NUL"},
        {"{'pre':{'cmd':'a','retries':-1}}", "a number that is none"},
        {"{'pre':{'cmd':'a','retries':1001}}", "a number that is none, or too large"},
        {"{'pre':{'cmd':'a','timeout_ms':'1'}}", "a number that is none"},
        {"{'pre':{'cmd':'a','interval_ms':-1}}", "a number that is none"},
        {"{'pre':{'cmd':'a','interval_ms':99999999999}}", "a number that is none, or too large"},
    };
    struct rig r;
    rig_init(&r, true, NULL);
    for (uint32_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rig_send(&r, &(struct taskmsg){.kind = TASKMSG_TASK,
                                       .task = i + 1,
                                       .attempt = 1,
                                       .jig = str_of("noop"),
                                       .tests = quoted(&r, cases[i].tests)});
        ended(&r, i + 1, OUTCOME_REFUSED, PHASE_NONE, cases[i].text);
    }
    rig_send(&r, &(struct taskmsg){.kind = TASKMSG_TASK,
                                   .task = 99,
                                   .attempt = 1,
                                   .jig = str_of("noop"),
                                   .tests = str_of("{\"pre\":{\"cmd\":\"rm -rf x\"}}"),
                                   .digest = str_of("00")});
    ended(&r, 99, OUTCOME_REFUSED, PHASE_NONE, "the digest sent with them");
    rig_done(&r);
}

/* What cannot be started is a failure of its phase, at once. */
static void test_unstartable(void)
{
    struct rig r;
    rig_init(&r, false, NULL);
    char *scratch = fs_join(r.dir, "scratch");
    is_int(rmdir(scratch), 0, "without a place for scripts");
    send(&r, 1, (struct tested){.pre = "true", .pre_retries = 9});
    send(&r, 2, (struct tested){.post = "true", .post_retries = 9});
    rig_wait(&r, 2);
    ended(&r, 1, OUTCOME_FAILED, PHASE_TEST_PRE, "test_pre failed: cannot create");
    ok(!strstr(rig_log_text(&r, 1), "try 2"), "it is not tried again");
    ended(&r, 2, OUTCOME_FAILED, PHASE_TEST_POST, "test_post failed: cannot create");
    is_int(mkdir(scratch, 0700), 0, "as before");
    free(scratch);
    rig_done(&r);
}

static void test_no_op(void)
{
    struct rig r;
    rig_init(&r, true, NULL);
    send(&r, 1,
         (struct tested){.jig = "shell",
                         .params = "{'command':['touch','/no where'],'env':{'PASS':'hidden'}}",
                         .data = "{'password':'hidden'}",
                         .pre = "exit 1",
                         .post = "exit 1",
                         .no_op = true});
    ended(&r, 1, OUTCOME_OK, PHASE_NONE, "no-op: not run");
    is_text(rig_log_text(&r, 1), "would run in /: touch '/no where'\nwith its own PASS\n",
            "the log says what would run, and no secret");
    send(&r, 2, (struct tested){.params = "{'exit':3,'log':['did']}", .no_op = true});
    ended(&r, 2, OUTCOME_OK, PHASE_NONE, "no-op: not run");
    is_text(rig_log_text(&r, 2), "", "nothing was done");
    send(&r, 3, (struct tested){.jig = "noop", .params = "{'returns':{'a':1}}", .no_op = true});
    ended(&r, 3, OUTCOME_OK, PHASE_NONE, "no-op: not run");
    is_int(rig_result(&r, 3, 1)->returns.n, 0, "and nothing returned");
    send(&r, 4, (struct tested){.jig = "shell", .params = "{}", .no_op = true});
    ended(&r, 4, OUTCOME_REFUSED, PHASE_NONE, "either command or script");
    send(&r, 5,
         (struct tested){
             .jig = "upload_file", .params = "{'path':'/no/such/x','data':''}", .no_op = true});
    ended(&r, 5, OUTCOME_OK, PHASE_NONE, "no-op: would be written, there is none");
    is_int(worker_counts(r.w).running, 0, "nothing runs");
    rig_done(&r);
}

int main(void)
{
    test_order();
    test_failures();
    test_retries();
    test_intervals();
    test_rest_ends();
    test_timeouts();
    test_cancels();
    test_again();
    test_surroundings();
    test_refusals();
    test_unstartable();
    test_no_op();
    return tap_done();
}
