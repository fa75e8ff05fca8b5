/* test_task_log.c - logs: whole, their ends, followed over losses, and made harmless for terminals
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "cli_case.h"
#include "cluster.h"
#include "tap.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))
static const char log_route[] = "GET /v1/tasks/6/attempts/2/log";

static void test_whole(void)
{
    struct cli_case c = {.server = cluster_new()};
    is_int(case_run(&c, "task log 6"), 0, "the log of the last attempt");
    is_text(c.out, "line 1\nline 2\nline 3\nline 4\nline 5\nline 6\n", "is printed");
    is_int(case_run(&c, "task log 6 --tail 16"), 0, "its last bytes");
    is_text(c.out, "line 5\nline 6\n", "from the start of a line");
    is_int(case_run(&c, "task log 6 --tail 1000"), 0, "more than there is");
    is_int((int)strlen(c.out), 42, "is all of it");
    is_int(case_run(&c, "task log 6 --attempt 9"), 4, "an attempt that was not");
    is_int(fake_count(c.server, "GET /v1/tasks/6/attempts"), 3,
           "the list is not asked if one is named");
    fake_on(c.server, "GET /v1/tasks/5/attempts", 200, LIST(""));
    is_int(case_run(&c, "task log 5"), 4, "a task that was never attempted");
    has_text(c.err, "anneal why task/5", "points at the reason");
    is_int(case_run(&c, "task log 99"), 4, "a task that is not there");
    fake_free(c.server);
    case_done(&c);
}

static void test_follow(void)
{
    static const struct fake_step first[] = {{FAKE_SEND, "one\n", 0}, {FAKE_BREAK, NULL, 0}};
    static const struct fake_step second[] = {{FAKE_SEND, "two\n", 0}};
    struct cli_case c = {.server = cluster_new()};
    fake_off(c.server, log_route);
    fake_stream(c.server, "/v1/tasks/6/attempts/2/log", "text/plain", first, COUNT(first));
    fake_stream(c.server, "/v1/tasks/6/attempts/2/log", "text/plain", second, COUNT(second));
    is_int(case_run(&c, "task log 6 -f"), 0, "a log that is followed");
    is_text(c.out, "one\ntwo\n", "goes on after a loss");
    has_text(fake_request(c.server, log_route, 0), "?follow=true HTTP", "from the start");
    has_text(fake_request(c.server, log_route, 1), "?from=4&follow=true HTTP",
             "and where it broke");
    fake_off(c.server, log_route);
    fake_on_drop(c.server, log_route);
    is_int(case_run(&c, "task log 6 -f"), 9, "a server that is gone for good");
    ok(fake_count(c.server, log_route) > 4, "was sought a few times");
    fake_off(c.server, log_route);
    fake_on_headers(c.server, log_route, 200, "Content-Type: text/plain\r\n", "a\nb\nc\n");
    is_int(case_run(&c, "task log 6 -f --tail 4"), 0, "the end of a log, then what comes");
    has_text(fake_request(c.server, log_route, -1), "?from=6&follow=true HTTP",
             "goes on from there");
    fake_free(c.server);
    case_done(&c);
}

static void test_terminal(void)
{
    /* Each chunk ends in the middle of something. */
    static const struct fake_step chunks[] = {{FAKE_SEND, "\033[3", 0},
                                              {FAKE_AWAIT, "GET /v1/tasks/6/attempts", 1},
                                              {FAKE_SEND, "1mred caf\xc3", 0},
                                              {FAKE_AWAIT, "GET /v1/tasks/6/attempts", 1},
                                              {FAKE_SEND, "\xa9\033[0m\033[2J\a\r\n", 0},
                                              {FAKE_SEND, "end \xf0\x9f", 0}};
    struct cli_case c = {.server = cluster_new(), .tty = true};
    fake_off(c.server, log_route);
    fake_stream(c.server, "/v1/tasks/6/attempts/2/log", "text/plain", chunks, COUNT(chunks));
    is_int(case_run(&c, "task log 6 -f"), 0, "a log on a terminal");
    is_text(c.out, "\033[31mred caf\u00e9\033[0m^[[2J^G\nend \xef\xbf\xbd\xef\xbf\xbd",
            "keeps colours and characters, and loses commands");
    c.tty = false;
    is_int(case_run(&c, "task log 6 -f"), 0, "elsewhere");
    is_text(c.out, "\033[31mred caf\u00e9\033[0m\033[2J\a\r\nend \xf0\x9f", "it is byte for byte");
    fake_free(c.server);
    case_done(&c);
}

int main(void)
{
    test_whole();
    test_follow();
    test_terminal();
    return tap_done();
}
