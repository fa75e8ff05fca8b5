/* test_diff.c - what a proposal changes, whom it concerns and what is in its way, as people see it
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "cli_case.h"
#include "cluster.h"
#include "tap.h"

static void test_diff(void)
{
    struct cli_case c = {.server = cluster_new()};
    is_int(case_run(&c, "deployment diff prod"), 0, "a diff");
    has_text(c.out,
             "  + web@n3\n"
             "      + listen.port: 80\n"
             "      needs db@n1\n"
             "  ~ web@n1  noderole 12\n"
             "      listen.port: 80 -> 8080\n"
             "      - motd: \"hi\"\n"
             "      + name: \"x\"\n"
             "      no longer needs db@n2\n"
             "  ~ web (the whole deployment)\n"
             "      + motd: \"all\"\n"
             "  - db@n2  noderole 13\n",
             "what comes, changes and goes");
    has_text(c.out,
             "  * lb@n4  noderole 14  in deployment edge\n"
             "      needs web@n3\n"
             "      no longer needs db@n2\n"
             "      sees other data\n"
             "  * ntp@n1  noderole 8\n"
             "      is defined otherwise by the catalog\n",
             "whom else it concerns, and why");
    has_text(c.out,
             "  ! web@n2  noderole 11  changed by you and, since this was proposed, by others\n"
             "      a.x: before 1, theirs 2, yours -\n"
             "      c: before -, theirs -, yours {}\n"
             "      needs db@n1: before yes, theirs no, yours yes\n"
             "  ! web@n5  changed by you and, since this was proposed, by others\n"
             "      before: not bound\n"
             "      theirs: not bound\n",
             "all sides of what collides");
    has_text(c.out, "  ! web@n9  cannot come back: its node is gone\n", "what is lost");
    has_text(c.out,
             "  ! it cannot be committed like this: web@n3 needs db@n1\n"
             "      bind it\n",
             "why it would be refused");
    is_int(case_run(&c, "deployment diff prod 3 -o json"), 0, "as JSON");
    has_text(c.out, "\"touched\":", "it is all there");
    fake_free(c.server);
    case_done(&c);
}

#define SIDE(number) "{\"number\":" #number ",\"state\":\"committed\",\"catalog\":4}"
#define EMPTY(from, to)                                                                            \
    "{\"from\":" from ",\"to\":" to ",\"changes\":[],\"conflicts\":[],\"lost\":[],"                \
    "\"touched\":[],\"refused\":null}"

static void test_nothing(void)
{
    static const struct {
        const char *answer, *said;
    } cases[] = {
        {EMPTY("null", "null"), "prod: from nothing to nothing\n"
                                "  nothing is proposed, and nothing was committed yet\n"},
        {EMPTY("null", SIDE(1)), "prod: from nothing to committed 1\n  nothing differs\n"},
        {EMPTY(SIDE(1), SIDE(1)),
         "prod: from committed 1 to committed 1\n  nothing differs: it is the same snapshot\n"},
        {EMPTY(SIDE(1), SIDE(2)), "prod: from committed 1 to committed 2\n  nothing differs\n"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct cli_case c = {.server = cluster_new()};
        fake_off(c.server, "GET /v1/deployments/prod/diff");
        fake_on(c.server, "GET /v1/deployments/prod/diff", 200, cases[i].answer);
        is_int(case_run(&c, "deployment diff prod"), 0, "nothing to show (%zu)", i);
        is_text(c.out, cases[i].said, "says why (%zu)", i);
        fake_free(c.server);
        case_done(&c);
    }
    struct cli_case c = {.server = cluster_new()};
    is_int(case_run(&c, "deployment diff prod yesterday"), 2, "a side that there is not");
    has_text(c.err, "FROM is head, proposal or a number of the history, not \"yesterday\"",
             "is told");
    has_text(c.err, "anneal deployment history prod", "with where to look");
    is_int(case_run(&c, "deployment diff prod 1 99999999999"), 2, "a number out of bounds");
    has_text(c.err, "TO is head", "too");
    fake_free(c.server);
    case_done(&c);
}

static void test_dry_run(void)
{
    struct cli_case c = {.server = cluster_new()};
    fake_off(c.server, "POST /v1/deployments/prod/unbind");
    fake_on(c.server, "POST /v1/deployments/prod/unbind", 200,
            "{\"snapshot\":null,\"operation\":null,\"added\":0,\"changed\":1,\"removed\":2,"
            "\"tasks\":1,\"going\":[{\"role\":\"web\",\"node\":\"n2\",\"noderole\":9},"
            "{\"role\":\"db\",\"node\":\"n1\",\"noderole\":7}],"
            "\"touched\":[{\"role\":\"lb\",\"node\":\"n4\",\"noderole\":14,"
            "\"deployment\":\"prod\",\"why\":[\"parents\"],\"gains\":[],"
            "\"losses\":[\"web@n2\"]}]}");
    is_int(case_run(&c, "deployment unbind prod db=n1 --cascade -n"), 0, "a dry run");
    is_text(c.out,
            "dry run: 0 new, 1 changed, 2 removed; 1 task; nothing was changed\n"
            "  - web@n2  noderole 9\n"
            "  - db@n1  noderole 7\n"
            "  ~ lb@n4  noderole 14\n"
            "      no longer needs web@n2\n",
            "lists what would go, in order, and who loses it");
    fake_free(c.server);
    case_done(&c);
}

/* A refusal points into a request that nobody has seen: it is told in the words of the line. */
static void test_places(void)
{
    static const struct {
        const char *route, *line, *pointer, *said;
    } cases[] = {
        {"POST /v1/deployments/prod/unbind", "deployment unbind prod web=n9 db=n1,n2",
         "/bindings/1", "anneal: db@n1,n2: no\n"},
        {"POST /v1/deployments/prod/bind", "deployment bind prod web=n9", "/bindings/0/nodes",
         "anneal: web@n9: no\n"},
        {"POST /v1/deployments/prod/bind", "deployment bind prod web=n9", "/bindings/7/nodes",
         "anneal: bindings.7.nodes: no\n"},
        {"PATCH /v1/deployments/prod/proposal", "deployment edit prod --set web@n1:listen.port=0",
         "/edits/0/listen/port", "anneal: web@n1:listen.port: no\n"},
        {"PATCH /v1/deployments/prod/proposal", "deployment edit prod --set web:port=0",
         "/edits/0/port", "anneal: web:port: no\n"},
        {"PATCH /v1/deployments/prod/proposal", "deployment edit prod --bind web=n1",
         "/edits/0/data/port", "anneal: web@n1:port: no\n"},
        {"POST /v1/deployments", "deployment add x", "/name", "anneal: name: no\n"},
        {"POST /v1/deployments", "deployment add x", "/elsewhere", "anneal: /elsewhere: no\n"},
        {"GET /v1/noderoles", "noderole list --node n7", "?node", "anneal: --node: no\n"},
        {"GET /v1/noderoles", "noderole list", "?nonsense", "anneal: ?nonsense: no\n"},
        {"GET /v1/noderoles/12", "noderole show 12", "{id}", "anneal: ID: no\n"},
        {"GET /v1/deployments/prod", "deployment show prod", "{deployment}", "anneal: NAME: no\n"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct cli_case c = {.server = cluster_new()};
        char problem[256], json[512];
        snprintf(problem, sizeof problem,
                 "{\"type\":\"urn:anneal:error:invalid\",\"title\":\"invalid\",\"detail\":\"no\","
                 "\"pointer\":\"%s\"}",
                 cases[i].pointer);
        fake_off(c.server, cases[i].route);
        fake_on(c.server, cases[i].route, 400, problem);
        is_int(case_run(&c, cases[i].line), 2, "%s", cases[i].line);
        is_text(c.err, cases[i].said, "%s is named", cases[i].pointer);
        snprintf(json, sizeof json, "%s -o json", cases[i].line);
        is_int(case_run(&c, json), 2, "%s", json);
        has_text(c.err, cases[i].pointer, "programs get %s", cases[i].pointer);
        fake_free(c.server);
        case_done(&c);
    }
    struct cli_case c = {.server = NULL};
    is_int(case_run(&c, "noderole show web@n1"), 2, "a name where a number is wanted");
    has_text(c.err, "hint: `anneal noderole list` shows the numbers", "with where to look");
    is_int(case_run(&c, "deployment rollback prod 0"), 2, "back to nothing");
    has_text(c.err, "NUMBER must not be 0", "is no number of the history");
    case_done(&c);
}

int main(void)
{
    test_diff();
    test_nothing();
    test_dry_run();
    test_places();
    return tap_done();
}
