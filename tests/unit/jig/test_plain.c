/* test_plain.c - the table, the checks of parameters, and the jigs that start no process */
/* SPDX-License-Identifier: Apache-2.0 */
#include "jig/bench.h"

static void test_table(void)
{
    size_t n = 0;
    for (; jig_at(n); n++) {
        const struct jig *j = jig_at(n);
        ok(jig_find(str_of(j->name)) == j, "%s is found by its name", j->name);
        ok(j->help[0] && j->check && j->start, "%s has help, check and start", j->name);
        ok(n == 0 || strcmp(jig_at(n - 1)->name, j->name) < 0, "%s is in its place", j->name);
    }
    is_int(n, 13, "thirteen jigs");
    ok(!jig_find(str_of("chef")) && !jig_find(str_of("")), "no jig of another name");
}

static void test_checks(struct bench *b)
{
    static const struct {
        const char *jig, *params, *text, *at, *hint;
    } cases[] = {
        {"noop", "[]", "parameters: expected a map, found list", "", ""},
        {"noop", "{\"returns\":1}", "returns: expected a map, found integer", "/returns", ""},
        {"test", "{\"sleep\":1}", "no parameter \"sleep\"", "/sleep", ""},
        {"test", "{\"sleep_m\":1}", "no parameter \"sleep_m\"", "/sleep_m",
         "did you mean sleep_ms?"},
        {"test", "{\"sleep_ms\":-1}", "expected an integer from 0", "/sleep_ms", ""},
        {"test", "{\"sleep_ms\":\"1\"}", "an integer from 0, found string", "/sleep_ms", ""},
        {"test", "{\"ignore_term\":1}", "expected true or false", "/ignore_term", ""},
        {"test", "{\"log\":\"x\"}", "expected a list of strings, found string", "/log", ""},
        {"test", "{\"log\":[1]}", "expected a list of strings, found integer", "/log", "quotes"},
        {"shell", "{}", "either command or script", "", ""},
        {"shell", "", "either command or script", "", ""},
        {"shell", "{\"command\":[\"true\"],\"script\":\"true\"}", "either command or script", "",
         ""},
        {"shell", "{\"command\":[]}", "command is empty", "/command", ""},
        {"shell", "{\"command\":[\"\"]}", "command is empty", "/command", ""},
        {"shell", "{\"command\":\"true\"}", "expected a list of strings", "/command", ""},
        {"shell", "{\"command\":[\"echo\",8]}", "found integer", "/command", "put it in quotes"},
        {"shell", "{\"command\":[\"a\\u0000b\"]}", "must not contain a NUL", "/command", ""},
        {"shell", "{\"script\":7}", "script: expected a string", "/script", "quotes"},
        {"shell", "{\"script\":\"x\",\"env\":{\"A\":1.5}}", "found number", "/env/A", "quotes"},
        {"shell", "{\"script\":\"x\",\"env\":[]}", "expected a map of strings", "/env", ""},
        {"shell", "{\"script\":\"x\",\"env\":{\"A B\":\"\"}}", "is no name of a variable",
         "/env/A B", ""},
        {"shell", "{\"script\":\"x\",\"env\":{\"1A\":\"\"}}", "is no name", "/env/1A", ""},
        {"shell", "{\"script\":\"x\",\"env\":{\"\":\"\"}}", "is no name", "/env/", ""},
        {"shell", "{\"script\":\"x\",\"env\":{\"ANNEAL_KEY\":\"\"}}", "is set by Anneal itself",
         "/env/ANNEAL_KEY", ""},
        {"shell", "{\"script\":\"x\",\"cwd\":null}", "cwd: expected a string, found null", "/cwd",
         ""},
        {"script", "{}", "needs file", "", ""},
        {"script", "{\"file\":\"\"}", "needs file", "", ""},
        {"script", "{\"file\":\"x\",\"args\":{}}", "expected a list of strings", "/args", ""},
        {"script", "{\"file\":\"x\",\"env\":{\"=\":\"\"}}", "is no name", "/env/=", ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        is_int(bench_start(b, cases[i].jig, cases[i].params, ""), -ERR_INVALID, "%s refuses %s",
               cases[i].jig, cases[i].params);
        has_text(b->e.text, cases[i].text, "says: %s", cases[i].text);
        is_text(b->e.at, cases[i].at, "and where");
        has_text(b->e.hint, cases[i].hint, "hints: %s", cases[i].hint);
    }
}

static void test_noop(struct bench *b)
{
    is_int(bench_run(b, "noop", "{\"returns\":{\"port\":5432},\"other\":1}"), OUTCOME_OK,
           "noop succeeds");
    is_text(TEXT(b->returns), "{\"port\":5432}", "and returns what it was told to");
    is_int(bench_run(b, "noop", ""), OUTCOME_OK, "noop without parameters succeeds");
    is_text(TEXT(b->returns), "", "and returns nothing");
    is_int(b->finished, 1, "once");
}

static void test_test(struct bench *b)
{
    const char *again =
        "{\"again_times\":2,\"again_ms\":7,\"fail_times\":2,\"exit\":9,\"returns\":{\"a\":1}}";
    struct {
        uint32_t attempt, ask;
        enum outcome outcome;
    } steps[] = {{1, 0, OUTCOME_AGAIN},  {1, 1, OUTCOME_AGAIN}, {1, 2, OUTCOME_FAILED},
                 {2, 5, OUTCOME_FAILED}, {3, 0, OUTCOME_AGAIN}, {3, 2, OUTCOME_OK}};
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        b->attempt = steps[i].attempt;
        b->ask = steps[i].ask;
        is_int(bench_run(b, "test", again), steps[i].outcome, "attempt %u asked %u times before",
               steps[i].attempt, steps[i].ask);
        if (steps[i].outcome == OUTCOME_AGAIN)
            is_int(b->r.again_ms, 7, "in 7 ms");
        if (steps[i].outcome == OUTCOME_FAILED)
            is_int(b->r.exit_code, 9, "with its status");
    }
    is_text(TEXT(b->returns), "{\"a\":1}", "a success returns");
    b->attempt = 1;
    b->ask = 0;
    is_int(bench_run(b, "test", "{\"exit\":3}"), OUTCOME_FAILED, "exit alone always fails");
    has_text(b->r.text, "exit status 3", "and says so");
    is_int(bench_run(b, "test", "{\"fail_times\":1}"), OUTCOME_FAILED, "fail_times alone");
    is_int(b->r.exit_code, 1, "fails with 1");
    is_int(bench_run(b, "test", "{\"again_times\":1}"), OUTCOME_AGAIN, "again_times alone");
    is_int(b->r.again_ms, 1000, "asks for a second");
    is_int(bench_run(b, "test", "{\"log\":[\"one\",\"two\"],\"sleep_ms\":5}"), OUTCOME_OK,
           "sleeps");
    is_text(TEXT(b->log[0]), "one\ntwo\n", "and logs");
}

/* With virtual time, so that the grace is exact. */
static void test_cancel(struct bench *b)
{
    struct loop *real = b->l;
    static const struct {
        const char *params;
        uint64_t graces[2], ends_at;
        enum outcome outcome;
    } cases[] = {
        {"{\"sleep_ms\":60000}", {500, 500}, 100, OUTCOME_CANCELLED},
        {"{\"sleep_ms\":60000,\"ignore_term\":true}", {500, 500}, 600, OUTCOME_CANCELLED},
        {"{\"sleep_ms\":60000,\"ignore_term\":true}", {500, 50}, 150, OUTCOME_CANCELLED},
        {"{\"sleep_ms\":60000,\"ignore_term\":true}", {50, 500}, 150, OUTCOME_CANCELLED},
        {"{\"sleep_ms\":300,\"ignore_term\":true}", {500, 500}, 300, OUTCOME_OK},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        b->l = loop_new_fake(0);
        is_int(bench_start(b, "test", cases[i].params, ""), 0, "start %s", cases[i].params);
        b->stops = true;
        loop_fake_advance(b->l, 100);
        b->jig->cancel(b->run, cases[i].graces[0]);
        b->jig->cancel(b->run, cases[i].graces[1]);
        is_int(b->finished, 0, "not within the call");
        loop_fake_advance(b->l, 100000);
        is_int(loop_now_ms(b->l), cases[i].ends_at, "ends at its time");
        is_int(b->finished, 1, "once");
        is_int(b->r.outcome, cases[i].outcome, "with its outcome");
        b->jig->cancel(b->run, 0);
        loop_fake_advance(b->l, 1000);
        is_int(b->finished, 1, "a cancel after the end changes nothing");
        b->jig->free(b->run);
        loop_free(b->l);
    }
    b->l = real;
}

int main(void)
{
    struct bench b;
    bench_init(&b, "/no/runner");
    test_table();
    test_checks(&b);
    test_noop(&b);
    test_test(&b);
    test_cancel(&b);
    bench_done(&b);
    return tap_done();
}
