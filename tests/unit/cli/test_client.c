/* test_client.c - finding the server and the token, pages, revisions, and errors for people and for
 * programs */
/* SPDX-License-Identifier: Apache-2.0 */
#include <sys/stat.h>
#include <unistd.h>

#include "base/str.h"
#include "cli_case.h"
#include "cluster.h"
#include "sys/fs.h"
#include "tap.h"
#include "workdir.h"

static void test_down(void)
{
    struct cli_case c = {0};
    is_int(case_run(&c, "node list"), 9, "nobody listens: exit code 9");
    is_text(c.err,
            "anneal: cannot reach http://127.0.0.1:1: Connection refused\n"
            "hint: is anneald running? try ./quickstart or systemctl start anneald\n",
            "the message names the address and the remedy");
    is_int(case_run(&c, "-o json node list"), 9, "the same in JSON");
    is_text(
        c.err,
        "{\"type\":\"urn:anneal:error:unreachable\",\"title\":\"unreachable\",\"status\":503,"
        "\"detail\":\"cannot reach http://127.0.0.1:1: Connection refused\",\"hint\":\"is anneald "
        "running? try ./quickstart or systemctl start anneald\"}\n",
        "a problem object on standard error");
    is_text(c.out, "", "nothing on standard output");
    is_int(case_run(&c, "node list --server ftp://x"), 2, "an address that is none");
    is_int(case_run(&c, "node list --server http://example.org"), 6,
           "a token is not sent in clear");
    has_text(c.err, "hint: use https://", "and what to do");
    is_int(case_run(&c, "-o json nod list"), 2, "a line that cannot be parsed");
    has_text(c.err, "{\"type\":\"urn:anneal:error:invalid\"", "is a problem object too");
    is_int(case_run(&c, "--output=json nod list"), 2, "in the other spelling");
    has_text(c.err, "{\"type\"", "too");
    is_int(case_run(&c, "nod list -ojson"), 2, "and joined");
    has_text(c.err, "{\"type\"", "too");
    case_done(&c);
}

static void test_tokens(void)
{
    char *home = workdir_new("home");
    struct cli_case c = {.server = cluster_new(), .token = ""};
    struct err e;
    SCOPED_BUF(path);
    SCOPED_BUF(line);
    fake_on(c.server, "GET /v1/pools", 200, LIST(""));
    is_int(case_run(&c, "pool list"), 0, "a server that asks for no token");
    ok(!strstr(fake_request(c.server, "GET /v1/pools", 0), "Authorization"), "gets none");
    fake_off(c.server, "GET /v1/pools");
    fake_on(c.server, "GET /v1/pools", 401, PROBLEM("unauthorized", "a token is needed"));
    is_int(case_run(&c, "pool list"), 3, "one that does");
    has_text(c.err,
             "hint: no token was found in /nonexistent/home/.config/anneal/token or "
             "/var/lib/anneal/admin.token",
             "makes us say where we looked");
    fake_off(c.server, "GET /v1/pools");
    fake_on(c.server, "GET /v1/pools", 200, LIST(""));

    c.home = home;
    buf_printf(&path, "%s/.config/anneal", home);
    fs_mkdirs(path.data, 0700, &e);
    buf_puts(&path, "/token");
    fs_write_atomic(path.data, "anl_home\n", 9, 0600, &e);
    is_int(case_run(&c, "pool list"), 0, "a token at home");
    has_text(fake_request(c.server, "GET /v1/pools", -1), "Bearer anl_home\r\n", "is found");
    is_text(c.err, "no pools\n", "without a warning");
    chmod(path.data, 0644);
    is_int(case_run(&c, "pool list"), 0, "one that others may read");
    has_text(c.err, "chmod 600", "is warned about");
    is_int(case_run(&c, "-q pool list"), 0, "unless -q");
    is_text(c.err, "", "says nothing");
    chmod(path.data, 0600);

    buf_printf(&line, "pool list --token-file %s/other", home);
    is_int(case_run(&c, line.data), 4, "a token file that is not there");
    has_text(c.err, "/other", "is named");
    buf_clear(&path);
    buf_printf(&path, "%s/other", home);
    fs_write_atomic(path.data, " \n", 2, 0600, &e);
    is_int(case_run(&c, line.data), 2, "an empty one");
    has_text(c.err, "there is no token in", "says so");
    fs_write_atomic(path.data, "anl_other", 9, 0600, &e);
    is_int(case_run(&c, line.data), 0, "a good one");
    has_text(fake_request(c.server, "GET /v1/pools", -1), "Bearer anl_other\r\n",
             "is stronger than the one at home");
    c.token = "anl_env";
    is_int(case_run(&c, "pool list"), 0, "a token in the environment");
    has_text(fake_request(c.server, "GET /v1/pools", -1), "Bearer anl_env\r\n", "is used");
    is_int(case_run(&c, line.data), 0, "an option");
    has_text(fake_request(c.server, "GET /v1/pools", -1), "Bearer anl_other\r\n",
             "is stronger still");
    free(home);
    fake_free(c.server);
    case_done(&c);
}

static void test_pages(void)
{
    struct cli_case c = {.server = fake_new()};
    fake_on(c.server, "GET /v1/groups?limit=1000&after=c1", 200,
            "{\"items\":[{\"name\":\"c\",\"count\":3}],\"next\":null,\"total\":3}");
    fake_on(
        c.server, "GET /v1/groups", 200,
        "{\"items\":[{\"name\":\"a\",\"count\":1},{\"name\":\"b\",\"count\":2}],\"next\":\"c1\","
        "\"total\":3}");
    is_int(case_run(&c, "group list"), 0, "a list of two pages");
    is_text(c.out, "NAME  NODES\na         1\nb         2\nc         3\n", "is one table");
    is_int(case_run(&c, "group list -o name"), 0, "names");
    is_text(c.out, "a\nb\nc\n", "of all pages");
    is_int(case_run(&c, "group list -o json"), 0, "JSON");
    is_text(c.out,
            "{\"items\":[{\"name\":\"a\",\"count\":1},{\"name\":\"b\",\"count\":2},"
            "{\"name\":\"c\",\"count\":3}],\"total\":3}\n",
            "of all pages");
    is_int(case_run(&c, "group list --limit 2"), 0, "a limit");
    is_text(c.out, "NAME  NODES\na         1\nb         2\n", "ends the table");
    is_text(c.err, "(2 of 3 groups)\n", "and says that there is more");
    has_text(fake_request(c.server, "", -1), "limit=2", "only what is wanted is asked for");
    is_int(case_run(&c, "group list --limit 0"), 2, "nothing wanted");
    has_text(c.err, "--limit must not be 0", "is a mistake");
    is_int(case_run(&c, "group list --timeout 0s"), 2, "no time to answer");
    has_text(c.err, "--timeout must not be 0", "is one too");

    fake_on(
        c.server, "GET /v1/jigs?limit=1000", 400,
        "{\"type\":\"urn:anneal:error:invalid\",\"detail\":\"a page has at most 200 items here\","
        "\"pointer\":\"?limit\"}");
    fake_on(c.server, "GET /v1/jigs?limit=100", 200, LIST("{\"name\":\"j\"}"));
    is_int(case_run(&c, "jig list -o name"), 0, "a server with small pages");
    is_text(c.out, "j\n", "is asked for small pages");
    fake_on(c.server, "GET /v1/workers", 200, "{\"hello\":1}");
    is_int(case_run(&c, "worker list"), 9, "an answer that is no list");
    has_text(c.err, "no list", "says so");
    fake_on(c.server, "GET /v1/roles", 200, LIST(""));
    is_int(case_run(&c, "role list"), 0, "an empty list");
    is_text(c.out, "", "prints nothing");
    is_text(c.err, "no roles\n", "but says so");
    is_int(case_run(&c, "-q role list"), 0, "unless -q");
    is_text(c.err, "", "says nothing");
    fake_free(c.server);
    case_done(&c);
}

static void test_revisions(void)
{
    struct cli_case c = {.server = cluster_new()};
    is_int(case_run(&c, "node set n1 --slots 4"), 0, "a change");
    has_text(fake_request(c.server, "PATCH /v1/nodes/n1", 0), "If-Match: \"7\"\r\n",
             "sends the revision that was read");
    is_int(case_run(&c, "node set n1 --slots 4 --rev 5"), 0, "a change of a revision");
    has_text(fake_request(c.server, "PATCH /v1/nodes/n1", 1), "If-Match: \"5\"\r\n", "sends that");
    fake_off(c.server, "PATCH /v1/nodes/n1");
    fake_on(c.server, "PATCH /v1/nodes/n1", 412, PROBLEM("stale", "revision 9 is current"));
    is_int(case_run(&c, "node set n1 --slots 4"), 5, "a change that somebody was faster with");
    is_text(c.err,
            "anneal: node n1 was changed by somebody else: revision 9 is current\n"
            "hint: look at it with `anneal node show n1`, then run this again\n",
            "says what to do");
    is_int(fake_count(c.server, "PATCH /v1/nodes/n1"), 3, "and is not forced");
    fake_off(c.server, "GET /v1/pools/p2");
    is_int(case_run(&c, "pool set p2 --size 1"), 0, "a pool that is not there");
    has_text(fake_request(c.server, "PUT /v1/pools/p2", 0), "If-Match: *\r\n", "is made");
    is_text(c.out, "pool p2 made\n", "and said so");
    fake_free(c.server);
    case_done(&c);
}

static void test_trace(void)
{
    struct cli_case c = {.server = cluster_new(), .token = "anl_hidden"};
    is_int(case_run(&c, "-v group list"), 0, "a verbose run");
    has_text(c.err, "anneal: GET http://127.0.0.1:", "tells each exchange");
    has_text(c.err, "/v1/groups?limit=1000 -> 200, ", "with its result");
    ok(!strstr(c.err, "anl_hidden"), "but not the token");
    fake_free(c.server);
    c.server = fake_new();
    fake_on(
        c.server, "POST /v1/nodes", 422,
        "{\"type\":\"urn:anneal:error:refused\",\"detail\":\"slots \\u001b[2Jmust be 1 or more\","
        "\"pointer\":\"/slots\",\"line\":\"slots: 0\",\"hint\":\"use 1\"}");
    is_int(case_run(&c, "node add n1 --slots 0"), 6, "a refusal");
    is_text(c.err, "anneal: slots: slots ^[[2Jmust be 1 or more\n    slots: 0\nhint: use 1\n",
            "has place, text, line and hint, and cannot command the terminal");
    fake_on(c.server, "GET /v1/nodes", 400,
            "{\"type\":\"urn:anneal:error:syntax\",\"detail\":\"expected a node\","
            "\"pointer\":\"column 6\",\"line\":\"a=b&&\",\"hint\":\"       ^\"}");
    is_int(case_run(&c, "node list a=b&&"), 2, "a selector that is wrong");
    is_text(c.err, "anneal: column 6: expected a node\n    a=b&&\n         ^\n",
            "is shown with the caret below it");
    fake_on(
        c.server, "GET /v1/nodes", 422,
        "{\"type\":\"urn:anneal:error:unknown-name\",\"detail\":\"a.b is undefined\","
        "\"pointer\":\"t.yaml:3:20\",\"line\":\"a.b\",\"hint\":\"    ^ did you mean \\\"c\\\"?\"}");
    (void)case_run(&c, "node list");
    is_text(c.err,
            "anneal: t.yaml:3:20: a.b is undefined\n    a.b\n      ^\nhint: did you mean \"c\"?\n",
            "a remedy behind the caret stands on a line of its own");
    c.tty = true;
    is_int(case_run(&c, "node add n1 --slots 0"), 6, "on a terminal");
    has_text(c.err, "\033[1;31manneal:\033[0m slots", "it has colour");
    c.no_color = true;
    case_run(&c, "node add n1 --slots 0");
    has_text(c.err, "anneal: slots", "unless NO_COLOR is set");
    c.no_color = false;
    c.dumb = true;
    case_run(&c, "node add n1 --slots 0");
    has_text(c.err, "anneal: slots", "or the terminal is dumb");
    case_run(&c, "node add n1 --slots 0 --color");
    has_text(c.err, "\033[1;31manneal:", "--color overrules both");
    fake_free(c.server);
    case_done(&c);
}

static void test_timeout(void)
{
    static const struct fake_step silence[] = {{FAKE_HOLD, NULL, 0}};
    struct cli_case c = {.server = fake_new()};
    fake_stream(c.server, "/v1/status", "application/json", silence, 1);
    is_int(case_run(&c, "status --timeout 40ms"), 10, "an answer that does not come in time");
    has_text(c.err, "no answer from http://127.0.0.1:", "says so");
    fake_free(c.server);
    case_done(&c);
}

int main(void)
{
    test_down();
    test_tokens();
    test_pages();
    test_revisions();
    test_trace();
    test_timeout();
    return tap_done();
}
