/* test_cluster.c - clusters: what is sent, what is shown, and who is asked before something goes */
/* SPDX-License-Identifier: Apache-2.0 */
#include <unistd.h>

#include "base/json.h"
#include "base/str.h"
#include "cli/verbs_i.h"
#include "cli_case.h"
#include "cluster.h"
#include "sys/fs.h"
#include "tap.h"
#include "workdir.h"

#define DONE                                                                                       \
    "operation 3: 12 tasks in 5 stages, and 1 join, about 1m05s\nfollow it with: anneal "          \
    "operation watch 3\n"

static void test_show(void)
{
    struct cli_case c = {.server = cluster_new()};
    is_int(case_run(&c, "cluster list --state Active"), 0, "a list");
    is_text(c.out,
            "NAME  STATE   TEMPLATE  NODES  SERVICES  LAST    OPERATION  LEASE  OWNER\n"
            "shop  active  shop          2  db, web   expand          3  7d00h  ann\n",
            "what there is");
    ok(fake_count(c.server, "GET /v1/clusters?state=active") == 1, "the server filters");
    is_int(case_run(&c, "cluster show shop"), 0, "one of them");
    is_text(c.out,
            "name        shop\n"
            "id          9\n"
            "state       active\n"
            "template    shop\n"
            "provider    scratch\n"
            "services    db, web\n"
            "nodes       2\n"
            "revision    2\n"
            "last        expand\n"
            "operation   3\n"
            "waiting     stop, delete\n"
            "owner       ann\n"
            "created     2023-11-14 22:12:20 UTC, 1m00s ago\n"
            "lent until  2023-11-21 22:13:20 UTC, in 7d00h\n"
            "rev         5\n"
            "\n"
            "nodes\n"
            "NUMBER  NAME             STATE   HARDWARE  IMAGE  SERVICES\n"
            "  1000  shop-1000.local  ACTIVE  large     plain  db\n"
            "  1001  shop-1001.local  ERROR   small     plain  web\n"
            "\n"
            "configuration\n"
            "  web:\n"
            "    port: 80\n",
            "with its nodes and its configuration");
    is_int(case_run(&c, "cluster show shop -o json"), 0, "as JSON");
    is_text(c.out, CLUSTER_JSON "\n", "as the server has it");
    is_int(case_run(&c, "cluster history shop -o name"), 0, "its history");
    is_text(c.out, "4\n3\n2\n1\n", "is that of the deployment");
    fake_free(c.server);
    case_done(&c);
}

/* One line, the body of the request it makes, and what it says. */
static const struct {
    const char *line, *route, *body, *says;
} sends[] = {
    {"cluster create shop --template t --nodes 5", "POST /v1/clusters",
     "{\"template\":\"t\",\"nodes\":5,\"name\":\"shop\"}", DONE},
    {"cluster create shop --template t --nodes 3-7 --services a,b --services c --provider p "
     "--hardware * --image i --comparator cost --domain d.org --lease forever --steps 9 "
     "--class Urgent --title 'two words' --set web.port=80 --set web.name=x --replace-config",
     "POST /v1/clusters",
     "{\"template\":\"t\",\"provider\":\"p\",\"hardware\":\"*\",\"image\":\"i\","
     "\"comparator\":\"cost\",\"domain\":\"d.org\",\"lease\":\"forever\","
     "\"title\":\"two words\",\"max_steps\":9,\"class\":\"urgent\","
     "\"services\":[\"a\",\"b\",\"c\"],\"config\":{\"web\":{\"port\":80,\"name\":\"x\"}},"
     "\"merge\":false,\"nodes\":{\"min\":3,\"max\":7},\"name\":\"shop\"}",
     DONE},
    {"cluster expand shop --by 2", "POST /v1/clusters/shop/expand", "{\"by\":2}", DONE},
    {"cluster expand shop --by 1 --field size=5 --field at=@@home --field key=@web.yaml",
     "POST /v1/clusters/shop/expand",
     "{\"by\":1,\"fields\":{\"size\":5,\"at\":\"@home\",\"key\":\"web: {port: 80, tls: true}\"}}",
     DONE},
    {"cluster delete shop --field key=again1", "POST /v1/clusters/shop/delete",
     "{\"fields\":{\"key\":\"again1\"}}", DONE},
    {"cluster expand shop --to 8", "POST /v1/clusters/shop/expand", "{\"nodes\":8}", DONE},
    {"cluster shrink shop --by 1", "POST /v1/clusters/shop/shrink", "{\"by\":1}", DONE},
    {"cluster add-service shop a,b c", "POST /v1/clusters/shop/add-service",
     "{\"services\":[\"a\",\"b\",\"c\"]}", DONE},
    {"cluster remove-service shop a", "POST /v1/clusters/shop/remove-service",
     "{\"services\":[\"a\"]}", DONE},
    {"cluster configure shop --set a.b=[1] --restart --in-turn --services web",
     "POST /v1/clusters/shop/configure",
     "{\"restart\":true,\"in_turn\":true,\"services\":[\"web\"],\"config\":{\"a\":{\"b\":[1]}}}",
     DONE},
    {"cluster configure shop --config web.yaml --set web.port=81",
     "POST /v1/clusters/shop/configure", "{\"config\":{\"web\":{\"port\":81,\"tls\":true}}}", DONE},
    {"cluster configure shop", "POST /v1/clusters/shop/configure", "{}", DONE},
    {"cluster start shop", "POST /v1/clusters/shop/start", "{}", DONE},
    {"cluster stop shop --services web,db", "POST /v1/clusters/shop/stop",
     "{\"services\":[\"web\",\"db\"]}", DONE},
    {"cluster restart shop --in-turn", "POST /v1/clusters/shop/restart", "{\"in_turn\":true}",
     DONE},
    {"cluster upgrade shop --template next --in-turn", "POST /v1/clusters/shop/upgrade",
     "{\"template\":\"next\",\"in_turn\":true}", DONE},
    {"cluster rollback shop 1", "POST /v1/clusters/shop/rollback", "{\"revision\":1}", DONE},
    {"cluster act shop backup --services db", "POST /v1/clusters/shop/act",
     "{\"services\":[\"db\"],\"action\":\"backup\"}", DONE},
    {"cluster stop shop --queue", "POST /v1/clusters/shop/stop", "{\"queue\":true}", DONE},
    {"cluster delete shop", "POST /v1/clusters/shop/delete", "{}", DONE},
    {"cluster lease shop 7d", "PATCH /v1/clusters/shop", "{\"expires_in\":\"7d\"}",
     "cluster shop is lent until 2023-11-21 22:13:20 UTC\n"},
    {"cluster delete shop -o name", "POST /v1/clusters/shop/delete", "{}", "3\n"},
};

static void test_sends(void)
{
    for (size_t i = 0; i < sizeof sends / sizeof *sends; i++) {
        struct cli_case c = {.server = cluster_new()};
        is_int(case_run(&c, sends[i].line), 0, "%s", sends[i].line);
        is_text(fake_body(c.server, sends[i].route, 0), sends[i].body, "%s: what is sent",
                sends[i].line);
        is_text(c.out, sends[i].says, "%s: what is said", sends[i].line);
        is_text(c.err, "", "%s: no complaint", sends[i].line);
        fake_free(c.server);
        case_done(&c);
    }
}

static void test_dry_run(void)
{
    static const char route[] = "POST /v1/clusters/shop/expand";
    struct cli_case c = {.server = cluster_new()};
    fake_off(c.server, route);
    fake_on(c.server, route, 200, CLUSTER_RESULT("null"));
    is_int(case_run(&c, "cluster expand shop --by 2 -n"), 0, "a dry run");
    is_text(fake_body(c.server, route, 0), "{\"by\":2,\"dry_run\":true}", "is asked for");
    is_text(c.out,
            "COUNT  SERVICES  HARDWARE  IMAGE  LABELS   NODES\n"
            "    1  db        large     plain  -        there\n"
            "    2  web       small     plain  rack=r1  new\n"
            "3 nodes, cost 0.275\n"
            "  + 2 new nodes\n"
            "  - shop-1001.local\n"
            "  ~ shop-1000.local  + web, metrics  - cache\n"
            "  ~ configuration\n"
            "dry run: 12 tasks in 5 stages, and 1 join, about 1m05s; nothing was changed\n",
            "layout, changes and plan");
    is_int(case_run(&c, "cluster expand shop --by 2 -n -o json"), 0, "as JSON");
    is_text(c.out, CLUSTER_RESULT("null") "\n", "it is what the server says, and nothing else");
    is_int(case_run(&c, "cluster expand shop --by 2"), 0, "an answer without an operation");
    is_text(c.out, "nothing had to be done\n", "is told");
    fake_off(c.server, "POST /v1/clusters");
    fake_on(c.server, "POST /v1/clusters", 200, CLUSTER_RESULT("null"));
    is_int(case_run(&c, "cluster create shop --template t -n"), 0, "of one that is new");
    ok(!strstr(c.out, "~ configuration"), "that it has a configuration is no change");
    fake_free(c.server);
    case_done(&c);
}

static void test_wait(void)
{
    struct cli_case c = {.server = cluster_new()};
    is_int(case_run(&c, "cluster stop shop --wait"), 0, "followed to its end");
    has_text(c.out, "operation 3 succeeded", "which is told");
    fake_off(c.server, "GET /v1/operations/3");
    fake_on(c.server, "GET /v1/operations/3", 200, OPERATION_JSON("failed", 3, 1, 0));
    is_int(case_run(&c, "cluster stop shop --wait"), 11, "a failure is an exit code");
    fake_free(c.server);
    case_done(&c);
}

/* --- asked before something goes --- */

static const char *const destroyers[] = {"cluster shrink shop --by 1", "cluster delete shop",
                                         "cluster remove-service shop a",
                                         "cluster rollback shop 1"};

static void confirm_case(const char *line, const char *answer, bool goes)
{
    char verb[32] = "", route[64];
    (void)sscanf(line, "cluster %31s", verb);
    snprintf(route, sizeof route, "POST /v1/clusters/shop/%s", verb);
    struct cli_case c = {
        .server = cluster_new(), .tty = true, .answers = true, .input = answer, .no_color = true};
    fake_off(c.server, route);
    fake_on(c.server, route, 200, CLUSTER_RESULT("null"));
    fake_on(c.server, route, 202, CLUSTER_RESULT(OPERATION_JSON("running", 1, 0, 1)));
    is_int(case_run(&c, line), goes ? 0 : 6, "%s, answered \"%s\": exit code", line, answer);
    has_text(c.out, "  - shop-1001.local\n", "%s: what will go is shown first", line);
    has_text(c.err, " cluster shop (1 node given up, 12 tasks)? [y/N] ", "%s: and it asks", line);
    has_text(fake_body(c.server, route, 0), "\"dry_run\":true", "%s: it is tried first", line);
    is_int(fake_count(c.server, route), goes ? 2 : 1, "%s: and then done, or not", line);
    if (goes) {
        ok(!strstr(fake_body(c.server, route, 1), "dry_run"), "%s: the second is no trial", line);
        has_text(fake_request(c.server, route, 1), "If-Match: \"5\"", "%s: of what was seen", line);
    } else {
        has_text(c.err, "not confirmed; nothing was changed", "%s: says so", line);
    }
    fake_free(c.server);
    case_done(&c);
}

static void test_confirm(void)
{
    for (size_t i = 0; i < sizeof destroyers / sizeof *destroyers; i++) {
        confirm_case(destroyers[i], "y\n", true);
        confirm_case(destroyers[i], "n\n", false);
    }
    confirm_case(destroyers[0], "YES\n", true);
    confirm_case(destroyers[0], "\n", false);
    confirm_case(destroyers[0], "yesterday, and some more\n", false);
    struct cli_case c = {.server = cluster_new(), .tty = true, .answers = true};
    is_int(case_run(&c, "cluster delete shop"), 6, "the end of the input is no yes");
    is_int(fake_count(c.server, "POST /v1/clusters/shop/delete"), 1, "and nothing goes");
    is_int(case_run(&c, "cluster delete shop --yes"), 0, "--yes");
    ok(!strstr(c.err, "[y/N]"), "is not asked");
    is_int(case_run(&c, "cluster delete shop --dry-run"), 0, "a dry run");
    ok(!strstr(c.err, "[y/N]"), "is not asked either");
    is_int(case_run(&c, "cluster stop shop"), 0, "what can be started again");
    ok(!strstr(c.err, "[y/N]"), "is not asked about");
    c.tty = false;
    is_int(case_run(&c, "cluster delete shop"), 0, "where nobody would see the question");
    is_text(c.err, "", "there is none");
    fake_free(c.server);
    case_done(&c);
}

static void test_queue(void)
{
    static const char route[] = "POST /v1/clusters/shop/delete";
    struct cli_case c = {.server = cluster_new(), .tty = true, .answers = true, .input = "y\n"};
    fake_off(c.server, route);
    fake_on(c.server, route, 202,
            "{\"operation\":null,\"cluster\":" CLUSTER_JSON
            ",\"layout\":null,\"difference\":null,\"plan\":null}");
    is_int(case_run(&c, "cluster delete shop --queue"), 0, "it may have to wait");
    has_text(c.err, "delete cluster shop? [y/N] ", "it asks");
    is_int(fake_count(c.server, route), 1, "and tries nothing: what it will be is not known yet");
    is_text(c.out, "it waits until operation 3 has ended well\n", "and says what it waits for");
    fake_free(c.server);
    case_done(&c);
}

static void test_left(void)
{
    static const char route[] = "POST /v1/clusters/shop/upgrade";
    struct cli_case c = {.server = cluster_new()};
    fake_off(c.server, route);
    fake_on(c.server, route, 200,
            "{\"operation\":null,\"cluster\":" CLUSTER_JSON
            ",\"layout\":null,\"difference\":{\"stays\":[{\"node\":\"n3\",\"is\":\"dead\",\"why\":"
            "\"db is on at least 1 node\"}]},\"plan\":{\"tasks\":0,\"joins\":0,\"stages\":0},"
            "\"left\":[{\"name\":\"web@n1\",\"state\":\"ERROR\",\"reason\":\"exit\",\"remedy\":"
            "\"anneal operation retry 3\"},{\"name\":\"web@n2\",\"state\":\"STALE\",\"reason\":"
            "\"rollout\",\"remedy\":\"anneal operation resume 3\"}]}");
    is_int(case_run(&c, "cluster upgrade shop"), 0, "an operation that leaves some as they are");
    is_text(c.out,
            "  ! n3 is dead and stays: db is on at least 1 node\n"
            "nothing had to be done\n"
            "1 noderole in ERROR is left as it is:\n"
            "  web@n1 (exit): anneal operation retry 3\n"
            "1 noderole of a roll-out that stopped is left as it is:\n"
            "  web@n2 (rollout): anneal operation resume 3\n",
            "says whom, with the command that helps");
    fake_free(c.server);
    case_done(&c);
}

static void test_stale(void)
{
    struct cli_case c = {.server = cluster_new()};
    fake_off(c.server, "POST /v1/clusters/shop/delete");
    fake_on(c.server, "POST /v1/clusters/shop/delete", 412, PROBLEM("stale", "it is at 6"));
    is_int(case_run(&c, "cluster delete shop"), 5, "changed since it was looked at");
    has_text(c.err, "cluster shop was changed by somebody else", "is told");
    has_text(c.err, "anneal cluster show shop", "with where to look");
    fake_off(c.server, "POST /v1/clusters/shop/expand");
    fake_on(c.server, "POST /v1/clusters/shop/expand", 422,
            "{\"type\":\"urn:anneal:error:refused\",\"title\":\"refused\","
            "\"detail\":\"there is no layout: at most 3 nodes\",\"hint\":\"allow 4 nodes\"}");
    is_int(case_run(&c, "cluster expand shop --to 4"), 6, "no layout is possible");
    is_text(c.err, "anneal: there is no layout: at most 3 nodes\nhint: allow 4 nodes\n",
            "what contradicts, and what would help");
    fake_free(c.server);
    case_done(&c);
}

static void test_diff(void)
{
    struct cli_case c = {.server = cluster_new()};
    is_int(case_run(&c, "cluster diff shop"), 0, "the last change");
    is_int(fake_count(c.server, "GET /v1/deployments/shop/diff?from=1&to=head"), 1,
           "from the revision before, which neither a proposal nor a recalled one is");
    has_text(c.out,
             "shop: from archived 1 to committed 3\n"
             "  ~ cluster (the whole deployment)\n"
             "      config.web.port: 80 -> 81\n",
             "as differences are shown");
    is_int(case_run(&c, "cluster diff shop --to 1"), 0, "of the first");
    is_int(fake_count(c.server, "GET /v1/deployments/shop/diff?from=1&to=1"), 1,
           "there is none before");
    is_int(case_run(&c, "cluster diff shop --from 3 --to 1"), 0, "any two");
    is_int(fake_count(c.server, "GET /v1/deployments/shop/diff?from=3&to=1"), 1,
           "as they are said");
    is_int(fake_count(c.server, "GET /v1/deployments/shop/snapshots"), 2,
           "without a look at the history");
    is_int(case_run(&c, "cluster diff shop --to yesterday"), 2, "what is no revision");
    has_text(c.err, "--to", "is named");
    fake_free(c.server);
    case_done(&c);
}

static void test_lease(void)
{
    struct cli_case c = {.server = cluster_new()};
    is_int(case_run(&c, "cluster lease shop soon"), 2, "no duration");
    has_text(c.err, "DURATION is such as 12h or 7d, or forever, not \"soon\"", "says what is one");
    is_int(fake_total(c.server), 0, "and the server is not asked");
    fake_off(c.server, "PATCH /v1/clusters/shop");
    fake_on(c.server, "PATCH /v1/clusters/shop", 200, "{\"name\":\"shop\",\"expires_at\":null}");
    is_int(case_run(&c, "cluster lease shop forever"), 0, "without an end");
    is_text(c.out, "cluster shop is lent for ever\n", "is told");
    has_text(fake_request(c.server, "PATCH /v1/clusters/shop", 0), "If-Match: \"5\"",
             "of the revision that was read");
    fake_free(c.server);
    case_done(&c);
}

static const struct {
    const char *line, *text;
} wrong[] = {
    {"cluster create shop --nodes 3", "--template NAME"},
    {"cluster create shop --template t --nodes 7-3", "--nodes 7-3 is no number of nodes"},
    {"cluster create shop --template t --nodes many", "--nodes many is no number of nodes"},
    {"cluster create shop --template t --services a,,b", "--services a,,b: names with commas"},
    {"cluster create shop --template t --set x", "\"x\" is not PATH=VALUE"},
    {"cluster create shop --template t --config /nonexistent.yaml", "/nonexistent.yaml"},
    {"cluster configure shop --replace-config", "nothing to replace it with"},
    {"cluster expand shop", "by how many nodes, or to how many?"},
    {"cluster expand shop --by 0", "--by"},
    {"cluster shrink shop --by 1 --to 2", "the same in two ways"},
    {"cluster add-service shop a,", "SERVICE a,: names with commas"},
    {"cluster rollback shop 0", "REVISION"},
    {"cluster stop shop --queue --wait", "--queue does not go with --wait"},
    {"cluster stop shop --queue -n", "--queue does not go with --dry-run"},
    {"cluster list --state broken", "pending, active, incomplete"},
};

static void test_wrong(void)
{
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct cli_case c = {.server = cluster_new()};
        is_int(case_run(&c, wrong[i].line), strstr(wrong[i].line, "nonexistent") ? 4 : 2, "%s",
               wrong[i].line);
        has_text(c.err, wrong[i].text, "%s: says why", wrong[i].line);
        is_int(fake_total(c.server), 0, "%s: costs no request", wrong[i].line);
        fake_free(c.server);
        case_done(&c);
    }
}

/* The words of --state are those that the API publishes. */
static void test_states(void)
{
    SCOPED_BUF(text);
    SCOPED_BUF(published);
    SCOPED_ARENA(mem);
    struct value *doc;
    struct err e;
    if (fs_read(OPENAPI_JSON, 16 << 20, &text, &e) ||
        json_parse(&mem, text.data, text.len, NULL, &doc, &e))
        printf("Bail out! %s\n", e.text);
    const struct value *list = value_at(doc, "components.schemas.ClusterState.enum");
    for (uint32_t i = 0; value_is(list, VALUE_LIST) && i < list->n; i++)
        buf_printf(&published, "|%s", value_as_text(&list->items[i], ""));
    const struct cli_opt *o = verbs_option(verbs_find("cluster", "list"), "state", 5);
    is_text(o ? o->words : "", buf_str(&published).s, "states are those of the API");
}

int main(void)
{
    static const char web[] = "web: {port: 80, tls: true}\n";
    char *dir = workdir_new("cluster");
    struct err e;
    if (chdir(dir) || fs_write_atomic("web.yaml", web, sizeof web - 1, 0600, &e))
        printf("Bail out! no way into %s\n", dir);
    test_show();
    test_sends();
    test_dry_run();
    test_wait();
    test_confirm();
    test_queue();
    test_left();
    test_stale();
    test_diff();
    test_lease();
    test_wrong();
    test_states();
    free(dir);
    return tap_done();
}
