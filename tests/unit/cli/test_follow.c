/* test_follow.c - operations followed by events: --wait, watch, losses and ends */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/str.h"
#include "cli_case.h"
#include "cluster.h"
#include "tap.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))
static const char op_route[] = "GET /v1/operations/3";

/* Operation 3: running at the first look, then as told. */
static struct fake *ending_as(const char *end)
{
    static const struct fake_step events[] = {{FAKE_SEND, ": hello\n\n", 0},
                                              {FAKE_AWAIT, op_route, 2},
                                              {FAKE_SEND, "id: 1\ndata: {}\n\n", 0},
                                              {FAKE_HOLD, NULL, 0}};
    struct fake *f = cluster_new();
    fake_off(f, op_route);
    fake_off(f, "GET /v1/events");
    fake_on(f, op_route, 200, OPERATION_JSON("running", 1, 0, 1));
    fake_on(f, op_route, 200, OPERATION_JSON("running", 2, 0, 1));
    fake_on(f, op_route, 200, end);
    fake_stream(f, "/v1/events", "text/event-stream", events, COUNT(events));
    return f;
}

static void test_ends(void)
{
    static const struct {
        const char *state, *end;
        int rc;
        const char *out, *err;
    } cases[] = {
        {"succeeded", OPERATION_JSON("succeeded", 4, 0, 0), 0,
         "noderole 12 runs again\noperation 3 succeeded in 50.0s: 4 tasks\n", ""},
        {"tolerated", OPERATION_JSON("succeeded-with-failures", 3, 1, 0), 0,
         "noderole 12 runs again\n"
         "operation 3 succeeded-with-failures after 50.0s: 3 of 4 tasks done, 1 failed\n",
         "why: anneal why task/6\n"},
        {"failed", OPERATION_JSON("failed", 3, 1, 0), 11,
         "noderole 12 runs again\noperation 3 failed after 50.0s: 3 of 4 tasks done, 1 failed\n",
         "task/6 install on n1  exit\n    | line 2\n    | line 3\n    | line 4\n    | line 5\n"
         "    | line 6\n  why: anneal why task/6\n"},
        {"cancelled", OPERATION_JSON("cancelled", 1, 0, 0), 5,
         "noderole 12 runs again\noperation 3 cancelled after 50.0s: 1 of 4 tasks done\n", ""},
        {"superseded", OPERATION_JSON("superseded", 1, 0, 0), 5,
         "noderole 12 runs again\noperation 3 superseded after 50.0s: 1 task done, a later one "
         "took over the "
         "rest\n",
         ""},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct cli_case c = {.server = ending_as(cases[i].end)};
        is_int(case_run(&c, "noderole rerun 12 --wait"), cases[i].rc, "--wait, %s: exit code",
               cases[i].state);
        is_text(c.out, cases[i].out, "--wait, %s: the result", cases[i].state);
        has_text(c.err, "operation 3 running: 25%, 1 of 4 tasks, 1 running\n",
                 "--wait, %s: lines on the way", cases[i].state);
        has_text(c.err, cases[i].err, "--wait, %s: what failed", cases[i].state);
        ok(fake_count(c.server, op_route) <= 5, "--wait, %s: no polling (%d looks)", cases[i].state,
           fake_count(c.server, op_route));
        is_int(fake_count(c.server, "GET /v1/events"), 1, "--wait, %s: one subscription",
               cases[i].state);
        fake_free(c.server);
        case_done(&c);
    }
}

static void test_forms(void)
{
    struct cli_case c = {.server = ending_as(OPERATION_JSON("failed", 3, 1, 0))};
    is_int(case_run(&c, "noderole rerun 12 --wait -o json -q"), 11, "--wait in JSON");
    is_text(c.out, OPERATION_JSON("failed", 3, 1, 0) "\n", "prints the operation as it ended");
    is_text(c.err, "", "and nothing else");
    fake_free(c.server);
    c.server = ending_as(OPERATION_JSON("failed", 3, 1, 0));
    is_int(case_run(&c, "-q noderole rerun 12 --wait"), 11, "quietly");
    is_text(c.out, "", "no result in words");
    has_text(c.err, "task/6 install on n1", "but what failed");
    ok(!strstr(c.err, "running:"), "and no lines on the way");
    fake_free(c.server);
    c.server = cluster_new();
    is_int(case_run(&c, "operation watch 3"), 0, "an operation that has ended");
    is_text(c.out, "operation 3 succeeded in 50.0s: 4 tasks\n", "is reported at once");
    is_int(fake_count(c.server, "GET /v1/events"), 0, "without a subscription");
    is_int(case_run(&c, "operation watch 77"), 4, "one that is not there");
    fake_free(c.server);
    case_done(&c);
}

static void test_live(void)
{
    struct cli_case c = {.server = ending_as(OPERATION_JSON("failed", 3, 1, 0)), .tty = true};
    is_int(case_run(&c, "noderole rerun 12 --wait --no-color"), 11, "--wait on a terminal");
    has_text(c.err, "\033[?25l", "the cursor is hidden");
    has_text(c.err, "operation 3  bind  web tier", "a frame is drawn");
    has_text(c.err, "\u25cf install", "with what runs");
    has_text(c.err, "A\r", "and drawn again in its place");
    has_text(c.err, "\u2717 install", "with what failed");
    has_text(c.err, "\033[?25h", "the cursor is shown again");
    is_int(c.lives, 2, "the display began and ended");
    ok(!strstr(c.out, "\033["), "the result is plain");
    fake_free(c.server);
    case_done(&c);
}

static void test_timeout(void)
{
    static const struct fake_step quiet[] = {{FAKE_SEND, ": hello\n\n", 0}, {FAKE_HOLD, NULL, 0}};
    struct cli_case c = {.server = cluster_new()};
    fake_off(c.server, op_route);
    fake_off(c.server, "GET /v1/events");
    fake_on(c.server, op_route, 200, OPERATION_JSON("running", 1, 0, 1));
    fake_stream(c.server, "/v1/events", "text/event-stream", quiet, COUNT(quiet));
    is_int(case_run(&c, "noderole rerun 12 --wait=300ms"), 10,
           "a wait that ends before the operation");
    has_text(c.err, "operation 3 has not ended within 300ms; it goes on", "says so");
    has_text(c.err, "hint: `anneal operation watch 3` follows it", "and how to go on");
    fake_free(c.server);
    case_done(&c);
}

static void test_losses(void)
{
    static const struct fake_step broken[] = {
        {FAKE_SEND, ": hello\n\n", 0}, {FAKE_AWAIT, op_route, 2}, {FAKE_BREAK, NULL, 0}};
    static const struct fake_step again[] = {{FAKE_SEND, ": hello\n\n", 0}, {FAKE_HOLD, NULL, 0}};
    for (int tty = 0; tty < 2; tty++) {
        struct cli_case c = {.server = cluster_new(), .tty = tty};
        fake_off(c.server, op_route);
        fake_off(c.server, "GET /v1/events");
        fake_on(c.server, op_route, 200, OPERATION_JSON("running", 1, 0, 1));
        fake_on(c.server, op_route, 200, OPERATION_JSON("running", 2, 0, 1));
        fake_on(c.server, op_route, 200, OPERATION_JSON("succeeded", 4, 0, 0));
        fake_stream(c.server, "/v1/events", "text/event-stream", broken, COUNT(broken));
        fake_stream(c.server, "/v1/events", "text/event-stream", again, COUNT(again));
        is_int(case_run(&c, "noderole rerun 12 --wait"), 0, "a lost connection (terminal: %d)",
               tty);
        has_text(c.err, "the connection to http://127.0.0.1", "is told (terminal: %d)", tty);
        has_text(c.out, "operation 3 succeeded", "and survived (terminal: %d)", tty);
        is_int(fake_count(c.server, "GET /v1/events"), 2, "by a second subscription");
        fake_free(c.server);
        case_done(&c);
    }
    struct cli_case c = {.server = cluster_new()};
    fake_off(c.server, op_route);
    fake_off(c.server, "GET /v1/events");
    fake_on(c.server, op_route, 200, OPERATION_JSON("running", 1, 0, 1));
    fake_on(c.server, "GET /v1/events", 403, PROBLEM("forbidden", "no events for you"));
    is_int(case_run(&c, "operation watch 3"), 3, "a subscription that is refused");
    has_text(c.err, "no events for you", "says why");
    fake_off(c.server, "GET /v1/events");
    fake_on_headers(c.server, "GET /v1/events", 204, "", "");
    is_int(case_run(&c, "operation watch 3"), 9, "a server that has no events");
    has_text(c.err, "sends no more events", "says so");
    fake_free(c.server);
    case_done(&c);
}

/* The event comes while the look that it is about is under way, and that look still sees the old
 * state: it takes another one, not the silence that ends a dead stream. */
static void test_overtaken(void)
{
    static const struct fake_step events[] = {{FAKE_SEND, ": hello\n\n", 0},
                                              {FAKE_AWAIT, op_route, 2},
                                              {FAKE_SEND, "id: 1\ndata: {}\n\n", 0},
                                              {FAKE_HOLD, NULL, 0}};
    for (int tty = 0; tty < 2; tty++) {
        struct cli_case c = {.server = cluster_new(), .tty = tty};
        fake_off(c.server, op_route);
        fake_off(c.server, "GET /v1/events");
        fake_on(c.server, op_route, 200, OPERATION_JSON("running", 1, 0, 1));
        fake_on_after(c.server, op_route, 2, 200, OPERATION_JSON("running", 2, 0, 1));
        fake_on(c.server, op_route, 200, OPERATION_JSON("succeeded", 4, 0, 0));
        fake_stream(c.server, "/v1/events", "text/event-stream", events, COUNT(events));
        is_int(case_run(&c, "operation watch 3"), 0, "an event during a look (terminal: %d)", tty);
        has_text(c.out, "operation 3 succeeded", "makes it look again (terminal: %d)", tty);
        is_int(fake_count(c.server, "GET /v1/events"), 1, "at once (terminal: %d)", tty);
        fake_free(c.server);
        case_done(&c);
    }
}

static void test_trouble(void)
{
    static const struct fake_step events[] = {{FAKE_SEND, ": hello\n\n", 0},
                                              {FAKE_AWAIT, op_route, 4},
                                              {FAKE_SEND, "id: 1\ndata: {}\n\n", 0},
                                              {FAKE_HOLD, NULL, 0}};
    struct cli_case c = {.server = cluster_new()};
    fake_off(c.server, op_route);
    fake_off(c.server, "GET /v1/events");
    fake_on(c.server, op_route, 200, OPERATION_JSON("running", 1, 0, 1));
    fake_on(c.server, op_route, 500, PROBLEM("internal", "broken inside"));
    fake_stream(c.server, "/v1/events", "text/event-stream", events, COUNT(events));
    is_int(case_run(&c, "operation watch 3"), 1, "an operation that cannot be read any more");
    has_text(c.err, "broken inside", "says why");
    fake_free(c.server);
    c.server = ending_as(OPERATION_JSON("failed", 3, 1, 0));
    fake_off(c.server, "GET /v1/tasks");
    fake_on(c.server, "GET /v1/tasks", 200,
            "{\"items\":[" TASK_JSON(6, "FAILED", "exit") "],\"next\":null,\"total\":9}");
    fake_off(c.server, "GET /v1/tasks/6/attempts/2/log");
    is_int(case_run(&c, "operation watch 3"), 11, "a failure whose log is gone");
    has_text(c.err, "task/6 install on n1  exit\n  why: anneal why task/6\n", "is still told");
    has_text(c.err, "and 8 more: anneal task list --state FAILED --operation 3",
             "with the rest counted");
    fake_free(c.server);
    case_done(&c);
}

/* Two operations, of which one ends: its end is a line that stays. */
static void test_watch(void)
{
    static const char running[] = "GET /v1/operations?state=running";
    static const struct fake_step events[] = {{FAKE_SEND, ": hello\n\n", 0},
                                              {FAKE_AWAIT, running, 2},
                                              {FAKE_SEND, "id: 1\ndata: {}\n\n", 0},
                                              {FAKE_AWAIT, running, 3}};
    for (int tty = 0; tty < 2; tty++) {
        struct cli_case c = {.server = cluster_new(), .tty = tty};
        fake_off(c.server, "GET /v1/events");
        fake_on(c.server, running, 200, LIST(OPERATION_JSON("running", 1, 0, 1)));
        fake_on(c.server, running, 200, LIST(OPERATION_JSON("running", 2, 0, 1)));
        fake_on(c.server, running, 200, LIST(""));
        fake_stream(c.server, "/v1/events", "text/event-stream", events, COUNT(events));
        fake_on_headers(c.server, "GET /v1/events", 204, "", "");
        is_int(case_run(&c, "watch --no-color"), 0, "watch (terminal: %d)", tty);
        has_text(c.out, "operation 3 succeeded in 50.0s: 4 tasks\n",
                 "an end is told (terminal: %d)", tty);
        has_text(c.out, tty ? "no open operations" : "operation 3 running: 25%",
                 "what is there is shown (terminal: %d)", tty);
        fake_free(c.server);
        case_done(&c);
    }
}

static void test_events(void)
{
    static const struct fake_step stream[] = {
        {FAKE_SEND,
         "id: 1001\ndata: " EVENT_JSON(
             1001) "\n\n"
                   "id: 1002\nevent: gap\ndata: {\"from\":1002,\"to\":1010}\n\n"
                   "id: 1011\ndata: {broken\n\n",
         0},
        {FAKE_BREAK, NULL, 0}};
    static const struct fake_step more[] = {
        {FAKE_SEND, "id: 1012\ndata: " EVENT_JSON(1012) "\n\n", 0}, {FAKE_HOLD, NULL, 0}};
    struct cli_case c = {.server = cluster_new()};
    fake_off(c.server, "GET /v1/events");
    fake_on(c.server, "GET /v1/events?since=950", 200,
            "{\"items\":[" EVENT_JSON(999) "],\"next\":999,\"last\":1000,"
                                           "\"gap\":{\"from\":951,\"to\":998}}");
    fake_on(c.server, "GET /v1/events?since=999", 200,
            "{\"items\":[" EVENT_JSON(1000) "],\"next\":null,\"last\":1000}");
    fake_stream(c.server, "/v1/events", "text/event-stream", stream, COUNT(stream));
    fake_stream(c.server, "/v1/events", "text/event-stream", more, COUNT(more));
    fake_on(c.server, "GET /v1/status", 200, STATUS_JSON);
    is_int(case_run(&c, "events -f --limit 4 --since 950 -o name"), 0,
           "events, then those to come");
    is_text(c.out, "999\n1000\n1001\n1012\n", "two pages, two connections, four events");
    has_text(c.err, "events 951 to 998 are no longer kept", "a gap in the list");
    has_text(c.err, "events 1002 to 1010 are no longer kept", "a gap in the stream");
    has_text(c.err, "event 1011 cannot be read", "an event that is broken");
    has_text(c.err, "; trying again", "a loss");
    has_text(fake_request(c.server, "GET /v1/events", 2), "Last-Event-ID: 1000\r\n",
             "the stream begins where the list ended");
    has_text(fake_request(c.server, "GET /v1/events", 3), "Last-Event-ID: 1011\r\n",
             "and goes on where it broke");
    fake_free(c.server);
    c.server = cluster_new();
    is_int(case_run(&c, "events -o yaml --limit 1"), 0, "one event in YAML");
    has_text(c.out, "---\nid: 999\n", "is a document");
    fake_free(c.server);
    c.server = cluster_new();
    fake_off(c.server, "GET /v1/events");
    fake_on(c.server, "GET /v1/events", 200,
            "{\"items\":[{\"id\":7,\"at\":\"2023-11-14T22:13:00.120Z\",\"kind\":\"settings.set\","
            "\"actor\":\"\",\"input\":{\"dead_after_ms\":20000,\"probe_count\":3},\"changes\":[]}],"
            "\"next\":null,\"last\":7}");
    is_int(case_run(&c, "events --since 6"), 0, "an event that is all settings");
    is_text(c.out, "       7  22:13:00.120  settings.set  dead_after=20s probe_count=3\n",
            "says which");
    fake_free(c.server);
    case_done(&c);
}

int main(void)
{
    test_ends();
    test_forms();
    test_live();
    test_timeout();
    test_losses();
    test_overtaken();
    test_trouble();
    test_watch();
    test_events();
    return tap_done();
}
