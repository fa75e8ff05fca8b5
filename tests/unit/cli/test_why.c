/* test_why.c - reasons are followed to what can be acted on, once each */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/str.h"
#include "cli_case.h"
#include "cluster.h"
#include "tap.h"

#define REASON(text, object, id, name, remedy)                                                     \
    "{\"rule\":\"r\",\"text\":\"" text "\",\"object\":\"" object "\",\"id\":" id ",\"name\":" name \
    ",\"remedy\":" remedy "}"
#define WHY(object, id, name, state, summary, reasons)                                             \
    "{\"object\":\"" object "\",\"id\":" id ",\"name\":\"" name "\",\"state\":\"" state            \
    "\",\"summary\":\"" summary "\",\"reasons\":[" reasons "]}"

static struct fake *chain(void)
{
    struct fake *f = fake_new();
    fake_on(f, "GET /v1/why/noderole/12", 200,
            WHY("noderole", "12", "web on n1", "BLOCKED", "it waits for its parents",
                REASON("parent db on n2 is in ERROR", "noderole", "7", "\"db on n2\"",
                       "null") "," REASON("the pool rolling is full", "pool", "null", "\"rolling\"",
                                          "\"anneal pool set rolling --size 3\"")));
    fake_on(f, "GET /v1/why/noderole/7", 200,
            WHY("noderole", "7", "db on n2", "ERROR", "its task failed",
                REASON("task configure failed", "task", "700", "\"configure\"",
                       "\"anneal task log 700\"")));
    fake_on(
        f, "GET /v1/why/task/700", 200,
        WHY("task", "700", "configure", "FAILED", "exit 3",
            REASON("its retries are used up", "task", "700", "\"configure\"",
                   "\"anneal task retry 700\"") "," REASON("it belongs to web on n1", "noderole",
                                                           "12", "\"web on n1\"", "null")));
    fake_on(f, "GET /v1/why/binding/web@n9", 200,
            WHY("binding", "null", "web@n9", "", "it is refused",
                REASON("there is no node n9", "node", "null", "\"n9\"", "\"anneal node add n9\"")));
    return f;
}

static void test_tree(void)
{
    struct cli_case c = {.server = chain()};
    is_int(case_run(&c, "why noderole/12"), 0, "why of a noderole");
    is_text(c.out,
            "noderole/12 (web on n1) BLOCKED: it waits for its parents\n"
            "  \u251c\u2500 parent db on n2 is in ERROR  noderole/7\n"
            "  \u2502  \u2514\u2500 task configure failed  task/700\n"
            "  \u2502       \u2192 anneal task log 700\n"
            "  \u2502     \u251c\u2500 its retries are used up  task/700\n"
            "  \u2502     \u2502    \u2192 anneal task retry 700\n"
            "  \u2502     \u2514\u2500 it belongs to web on n1  noderole/12\n"
            "  \u2514\u2500 the pool rolling is full  pool/rolling\n"
            "       \u2192 anneal pool set rolling --size 3\n",
            "is a tree down to what can be done");
    is_int(fake_count(c.server, "GET /v1/why/noderole/12"), 1, "a circle is walked once");
    is_int(fake_count(c.server, "GET /v1/why/pool/rolling"), 0,
           "a pool is something to act on, and not asked about");
    c.locale = "C";
    is_int(case_run(&c, "why noderole/12 --depth 1"), 0, "one level, in ASCII");
    is_text(c.out,
            "noderole/12 (web on n1) BLOCKED: it waits for its parents\n"
            "  |- parent db on n2 is in ERROR  noderole/7\n"
            "  `- the pool rolling is full  pool/rolling\n"
            "       -> anneal pool set rolling --size 3\n",
            "is not followed");
    is_int(case_run(&c, "why noderole/12 -o json"), 0, "as JSON");
    has_text(c.out, "{\"object\":\"noderole\",\"id\":12,", "is the server's answer");
    ok(!strstr(c.out, "task configure failed"), "and nothing but that");
    is_int(case_run(&c, "why web@n9"), 0, "a binding");
    has_text(c.out, "web@n9: it is refused\n", "is asked for as one");
    has_text(c.out, "-> anneal node add n9", "with a remedy");
    fake_free(c.server);
    case_done(&c);
}

/* A server that tells further reasons itself: only the nearest are drawn from each answer. */
static void test_circles(void)
{
    struct cli_case c = {.server = fake_new()};
    fake_on(
        c.server, "GET /v1/why/noderole/1", 200,
        WHY("noderole", "1", "a@n1", "BLOCKED", "it comes down to this: task t failed",
            "{\"rule\":\"parent\",\"text\":\"its parent b@n1 is in ERROR\",\"object\":\"noderole\","
            "\"id\":2,\"name\":\"b@n1\",\"remedy\":null,\"depth\":0},"
            "{\"rule\":\"failed\",\"text\":\"task t failed\",\"object\":\"task\",\"id\":9,"
            "\"name\":\"t\",\"remedy\":\"anneal task retry 9\",\"depth\":1}"));
    fake_on(c.server, "GET /v1/why/noderole/2", 200,
            WHY("noderole", "2", "b@n1", "ERROR", "task t failed",
                "{\"rule\":\"failed\",\"text\":\"task t failed\",\"object\":\"task\",\"id\":9,"
                "\"name\":\"t\",\"remedy\":\"anneal task retry 9\",\"depth\":0}"));
    is_int(case_run(&c, "why noderole/1"), 0, "an answer with reasons of reasons");
    is_text(c.out,
            "noderole/1 (a@n1) BLOCKED: it comes down to this: task t failed\n"
            "  \u2514\u2500 its parent b@n1 is in ERROR  noderole/2\n"
            "     \u2514\u2500 task t failed  task/9\n"
            "          \u2192 anneal task retry 9\n",
            "each stands below what it is the reason of");
    fake_free(c.server);
    case_done(&c);
}

/* An object whose only reason is another object's reason: said once, with what to do. */
static void test_once(void)
{
    struct cli_case c = {.server = fake_new()};
    fake_on(c.server, "GET /v1/why/noderole/5", 200,
            WHY("noderole", "5", "web@n1", "STALE", "node n1 is unavailable",
                REASON("node n1 is unavailable", "node", "1", "\"n1\"",
                       "\"anneal node set n1 --available\"")));
    fake_on(c.server, "GET /v1/why/node/n1", 200,
            WHY("node", "1", "n1", "ACTIVE", "node n1 is unavailable",
                REASON("node n1 is unavailable", "node", "1", "\"n1\"",
                       "\"anneal node set n1 --available\"")));
    is_int(case_run(&c, "why noderole/5"), 0, "a reason that is its own reason");
    is_text(c.out,
            "noderole/5 (web@n1) STALE: node n1 is unavailable\n"
            "  \u2514\u2500 node/n1\n"
            "       \u2192 anneal node set n1 --available\n",
            "is said once");
    fake_free(c.server);
    case_done(&c);
}

static void test_guess(void)
{
    struct cli_case c = {.server = chain()};
    is_int(case_run(&c, "why 12"), 0, "a bare number");
    is_text(c.err, "anneal: took \"12\" for noderole/12\n", "says what it was taken for");
    is_int(case_run(&c, "why 700"), 0, "a number that is a task");
    has_text(c.err, "for task/700", "is found as one");
    fake_on(c.server, "GET /v1/why/operation/12", 200,
            WHY("operation", "12", "x", "running", "s", ""));
    is_int(case_run(&c, "why 12"), 0, "a number of two things");
    has_text(c.err, "took \"12\" for noderole/12; there is also operation/12", "names both");
    is_int(case_run(&c, "-q why 12"), 0, "quietly");
    is_text(c.err, "", "without a word");
    is_int(case_run(&c, "why 99"), 4, "a number of nothing");
    has_text(c.err, "there is no noderole, task or operation 99", "is not found");
    fake_on(c.server, "GET /v1/why/pool/rolling", 200,
            WHY("pool", "null", "rolling", "open", "it is full", ""));
    is_int(case_run(&c, "why rolling"), 0, "a bare name");
    has_text(c.err, "took \"rolling\" for pool/rolling", "is looked up as each kind");
    has_text(c.out, "pool/rolling open: it is full\n", "and explained");
    is_int(case_run(&c, "why noderole/"), 2, "a kind without a name");
    is_int(case_run(&c, "why frob/1"), 2, "a kind that is none");
    has_text(c.err, "not about a \"frob\"", "is named");
    has_text(c.err, "node, noderole, task, operation, role, jig, pool, binding",
             "with those known");
    has_text(c.err, "`anneal help why`", "and where to read on");
    is_int(case_run(&c, "why deployment/prod"), 2, "a kind that has no reasons");
    has_text(c.err, "`anneal deployment show prod`", "but can be shown");
    is_int(case_run(&c, "why worker/w1"), 2, "and one");
    has_text(c.err, "`anneal worker show w1`", "likewise");
    fake_on(c.server, "GET /v1/why/node/x", 403, PROBLEM("forbidden", "no"));
    is_int(case_run(&c, "why x"), 3, "a refusal ends the guessing");
    fake_off(c.server, "GET /v1/why/noderole/7");
    fake_on(c.server, "GET /v1/why/noderole/7", 500, PROBLEM("internal", "broken"));
    is_int(case_run(&c, "why noderole/12"), 1, "a failure while following");
    is_text(c.out, "", "prints no half tree");
    fake_free(c.server);
    case_done(&c);
}

int main(void)
{
    test_tree();
    test_circles();
    test_once();
    test_guess();
    return tap_done();
}
