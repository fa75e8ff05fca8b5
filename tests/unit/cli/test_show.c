/* test_show.c - what lists, sheets and the status screen look like */
/* SPDX-License-Identifier: Apache-2.0 */
#include "cli_case.h"
#include "cluster.h"
#include "tap.h"

static const struct {
    const char *line, *golden;
} screens[] = {
    {"node list", "NAME  STATE   ALIVE  AVAIL  DEPLOYMENT  ROLES  GROUPS  LABELS\n"
                  "n1    ACTIVE  alive  no     prod            2  db, eu  rack=3\n"},
    {"node list -o name", "n1\n"},
    {"node show n1", "name        n1\n"
                     "id          1\n"
                     "state       ACTIVE\n"
                     "alive       alive\n"
                     "available   no\n"
                     "note        new disk\n"
                     "deployment  prod\n"
                     "admin       no\n"
                     "slots       1\n"
                     "addresses   10.0.0.1\n"
                     "groups      db, eu\n"
                     "labels      rack=3\n"
                     "revision    7\n"
                     "\nfacts\n  cpu: 8\n"
                     "\nnoderoles\n"
                     "ID  ROLE  STATE  REASON  DEPLOYMENT  RUNS\n"
                     "12  web   ERROR  exit    prod           1\n"},
    {"group list", "NAME  NODES\ndb        3\n"},
    {"deployment list", "NAME  PARENT  NODEROLES          HEAD  PROPOSAL  DESCRIPTION\n"
                        "prod  system  3 ACTIVE, 1 ERROR     -         -  production\n"},
    {"deployment show prod", "name         prod\n"
                             "id           4\n"
                             "parent       system\n"
                             "description  production\n"
                             "noderoles    3 ACTIVE, 1 ERROR\n"
                             "revision     8\n"
                             "\nnoderoles\n"
                             "ID  ROLE  NODE  STATE  REASON\n"
                             "12  web   n1    ERROR  exit\n"},
    {"noderole list", "ID  ROLE  NODE  STATE  REASON  DEPLOYMENT  OPERATION  RUNS\n"
                      "12  web   n1    ERROR  exit    prod                3     1\n"},
    {"noderole show 12", "noderole     12\n"
                         "role         web\n"
                         "node         n1\n"
                         "deployment   prod\n"
                         "state        ERROR\n"
                         "reason       exit\n"
                         "target       running\n"
                         "operation    3\n"
                         "runs         1\n"
                         "generation   1\n"
                         "incarnation  1\n"
                         "cohort       2\n"
                         "parents      7\n"
                         "revision     4\n"
                         "\ntasks\n"
                         "ID  TASK     STATE   REASON  JIG  ATTEMPT  STARTED\n"
                         " 6  install  FAILED  exit    ssh        2    20.0s\n"
                         "\ndata\n  listen:\n    port: 80\n  motd: hello\n"
                         "\nwall\n  ip: 10.0.0.1\n"},
    {"noderole data 12", "listen:\n  port: 80\nmotd: hello\n"},
    {"noderole data 12 listen.port", "80\n"},
    {"noderole data 12 motd", "hello\n"},
    {"noderole data 12 --wall", "ip: 10.0.0.1\n"},
    {"noderole data 12 --visible", "listen:\n  port: 81\nnode:\n  name: n1\n"},
    {"noderole data 12 listen.port --visible", "81\n"},
    {"noderole data 12 --explain listen.port", "   LAYER            FROM         VALUE\n"
                                               "   default          role web     80\n"
                                               "   ambient wall     ntp@n1       123\n"
                                               "x  deployment-role  web in prod  \"none\"\n"
                                               "*  user             web@n1       81\n"},
    {"noderole data 12 -o json", "{\"listen\":{\"port\":80},\"motd\":\"hello\"}\n"},
    {"operation list",
     "ID  KIND  STATE      PROGRESS         FAILED  ETA    AGE  TITLE\n"
     " 3  bind  succeeded  \u2588\u2588\u2588\u2588\u2588\u2588\u2588\u2588\u2588\u2588 100%       "
     "0    -  1m00s  web tier\n"},
    {"operation show 3",
     "operation 3  bind  web tier  succeeded  50.0s\n"
     "  "
     "\u2588\u2588\u2588\u2588\u2588\u2588\u2588\u2588\u2588\u2588\u2588\u2588\u2588\u2588\u2588"
     "\u2588\u2588\u2588\u2588\u2588\u2588\u2588\u2588\u2588\u2588\u2588\u2588\u2588\u2588\u2588"
     "\u2588\u2588\u2588\u2588\u2588\u2588\u2588\u2588\u2588\u2588 100%  4/4\n"
     "\nby        admin\n"
     "class     normal\n"
     "created   2023-11-14 22:12:20 UTC, 1m00s ago\n"
     "ended     2023-11-14 22:13:10 UTC, 10.0s ago\n"
     "revision  9\n"},
    {"operation history 3",
     "TASK  NAME     ROLE  NODE  ATTEMPT  OUTCOME  EXIT  STARTED    RAN  STATE    NOTE\n"
     "   5  install  web   n1          1  failed      3    20.0s  10.0s  DONE     no room\n"
     "   6  start    web   n1          -  -           -        -      -  SKIPPED  -\n"},
    {"deployment history prod",
     "NUMBER  STATE      ENTRIES  CATALOG  OPERATION  AUTHOR  AGO  MESSAGE\n"
     "     2  committed       12        3          7  ann       -  bind 2 noderoles in prod\n"},
    {"task list", "ID  TASK     ROLE  NODE  STATE   REASON  OPERATION  ATTEMPT  STARTED\n"
                  " 6  install  web   n1    FAILED  exit            3        2    20.0s\n"},
    {"task attempts 6", "ATTEMPT  OUTCOME  PHASE     EXIT  NODE  STARTED  ENDED  ASKS  NOTE\n"
                        "      1  exit     test_pre     3  n1      20.0s  10.0s     0  -\n"
                        "      2  exit     test_pre     3  n1      20.0s  10.0s     0  -\n"},
    {"task show 6", "task        6\n"
                    "name        install\n"
                    "role        web\n"
                    "node        n1\n"
                    "noderole    12\n"
                    "operation   3\n"
                    "state       FAILED\n"
                    "reason      exit\n"
                    "jig         ssh\n"
                    "repeat      safe\n"
                    "attempt     2\n"
                    "retries     3\n"
                    "retried     2\n"
                    "depends on  4\n"
                    "waits on    0\n"
                    "started     2023-11-14 22:13:00 UTC, 20.0s ago\n"
                    "revision    1\n"
                    "\nattempts\n"
                    "ATTEMPT  OUTCOME  PHASE     EXIT  NODE  STARTED  ENDED  ASKS  NOTE\n"
                    "      1  exit     test_pre     3  n1      20.0s  10.0s     0  -\n"
                    "      2  exit     test_pre     3  n1      20.0s  10.0s     0  -\n"},
    {"role list", "NAME  BARCLAMP  JIG  FLAGS      REQUIRES  DESCRIPTION\n"
                  "web   site      ssh  milestone  machine   a web server\n"},
    {"role show web", "name         web\n"
                      "description  a web server\n"
                      "barclamp     site\n"
                      "jig          ssh\n"
                      "flags        milestone\n"
                      "requires     machine\n"
                      "provides     http\n"
                      "\nattributes\n  port:\n    default: 80\n"
                      "\nactions\n  converge: []\n"},
    {"role store web", "role      web\n"
                       "revision  4\n"
                       "\nstore\n  taken:\n    n1: 10.0.0.1\n"},
    {"jig list", "NAME  ACTIVE  IMPLEMENTATION  IMPLEMENTOR  REACHES  WORKERS  RUNNING  WAITING\n"
                 "ssh   no      script          -            node           2        1        3\n"},
    {"jig show ssh", "name            ssh\n"
                     "active          no\n"
                     "implementation  script\n"
                     "reaches         node\n"
                     "workers         2\n"
                     "running         1\n"
                     "waiting         3\n"
                     "revision        6\n"},
    {"pool list", "NAME  SIZE  TAKEN  ELSEWHERE  WAITING  CLOSED  NOTE\n"
                  "p1       4      2          0        1  yes     quota\n"},
    {"barclamp list", "NAME  VERSION  ROLES  DESCRIPTION\n"
                      "site  1        web    ours\n"},
    {"catalog show", "generation  7\n"
                     "origin      /srv/catalog\n"
                     "loaded      2023-11-14 22:13:00 UTC, 20.0s ago\n"
                     "barclamps   1\n"
                     "roles       3\n"
                     "tasks       9\n"
                     "digest      abc\n"},
    {"catalog history", "GENERATION  LOADED  ORIGIN        DIGEST\n"
                        "         7   20.0s  /srv/catalog  abc\n"},
    {"worker list", "NAME  STATE     RUNNING  CAPACITY  SEEN  LABELS   JIGS\n"
                    "w1    attached        3        64  4.1s  rack=r1  ssh, noop\n"},
    {"tenant list", "NAME  PLACES  SHARE  USED  SHORT\n"
                    "lab        4      3     2  yes\n"},
    {"tenant show lab", "name      lab\n"
                        "places    4\n"
                        "share     3\n"
                        "used      2\n"
                        "short     yes\n"
                        "revision  7\n"},
    {"token list", "ID  NAME  SCOPE    TENANT     AGE  REVOKED\n"
                   " 2  ci    operate  default  20.0s  no\n"},
    {"events", "     999  22:13:00.120  result  w1  task/5 RUNNING->DONE\n"
               "    1000  22:13:00.120  result  w1  task/5 RUNNING->DONE\n"},
    {"events -o name", "999\n1000\n"},
    {"events -o json", EVENT_JSON(999) "\n" EVENT_JSON(1000) "\n"},
    {"openapi", "{\"openapi\":\"3.1.0\"}\n"},
    {"openapi -o yaml", "openapi: 3.1.0\n"},
    {"version --client", "anneal " ANNEAL_VERSION "\n"},
    {"version -o json", "{\"client\":\"" ANNEAL_VERSION "\",\"server\":\"9.9\"}\n"},
};

static void test_screens(void)
{
    struct cli_case c = {.server = cluster_new()};
    for (size_t i = 0; i < sizeof screens / sizeof *screens; i++) {
        is_int(case_run(&c, screens[i].line), 0, "%s", screens[i].line);
        is_text(c.out, screens[i].golden, "%s: as it should look", screens[i].line);
        is_text(c.err, "", "%s: nothing else said", screens[i].line);
    }
    fake_free(c.server);
    case_done(&c);
}

static void test_terminal(void)
{
    struct cli_case c = {.server = cluster_new(), .tty = true, .columns = 40};
    is_int(case_run(&c, "node list -v --no-color"), 0, "a wide table on a narrow terminal");
    is_text(c.out,
            "NAME  STATE   ALIVE  AVAIL  DEPLOYM\u2026  R\u2026\n"
            "n1    ACTIVE  alive  no     prod       2\n",
            "is cut at the edge, without losing the first columns");
    is_int(case_run(&c, "node list"), 0, "in colour");
    has_text(c.out, "\033[32mACTIVE\033[0m", "a good state is green");
    has_text(c.out, "\033[33mno\033[0m", "an unavailable node is a warning");
    is_int(case_run(&c, "openapi"), 0, "JSON on a terminal");
    is_text(c.out, "{\n  \"openapi\": \"3.1.0\"\n}\n", "is indented");
    c.locale = "C";
    is_int(case_run(&c, "operation list --no-color"), 0, "a terminal without UTF-8");
    has_text(c.out, "########## 100%", "gets plain bars");
    fake_free(c.server);
    case_done(&c);
}

static void test_status(void)
{
    struct cli_case c = {.server = cluster_new()};
    char golden[1600];
    is_int(case_run(&c, "status"), 0, "the status screen");
    snprintf(golden, sizeof golden,
             "anneald 9.9 at %s, up 3d04h\n"
             "state      failed\n"
             "catalog    generation 7\n"
             "store      14 MB, event 1000, check ok\n"
             "workers         2\n"
             "nodes           8   6 alive  1 away  1 dead\n"
             "noderoles     300   298 ACTIVE  2 ERROR\n"
             "tasks          13   12 RUNNING  1 FAILED\n"
             "\n"
             "operation 3  bind  web tier  50.0s\n"
             "  \u2588\u2588\u2588\u2588\u2588\u2588\u2588\u2588\u2588\u2588"
             "\u00b7\u00b7\u00b7\u00b7\u00b7\u00b7\u00b7\u00b7\u00b7\u00b7"
             "\u00b7\u00b7\u00b7\u00b7\u00b7\u00b7\u00b7\u00b7\u00b7\u00b7"
             "\u00b7\u00b7\u00b7\u00b7\u00b7\u00b7\u00b7\u00b7\u00b7\u00b7  25%%  1/4  1 running\n"
             "\n"
             "needs attention\n"
             "  ! 2 noderoles are in ERROR            anneal noderole list --state ERROR\n"
             "  ! 1 node is dead                      anneal node list --alive dead\n"
             "  ! 1 task failed                       anneal task list --state FAILED\n",
             fake_url(c.server));
    is_text(c.out, golden, "as it should look");
    is_int(case_run(&c, "status --check"), 11, "--check: something needs attention");
    is_int(case_run(&c, "status --check -o json"), 11, "in JSON too");
    is_text(c.out, STATUS_JSON "\n", "which is the server's object");
    fake_off(c.server, "GET /v1/status");
    fake_on(c.server, "GET /v1/status", 200,
            "{\"version\":\"9.9\",\"uptime_ms\":1000,\"group\":1,\"journal\":1,\"catalog\":1,"
            "\"nodes\":{\"alive\":1},\"noderoles\":{},\"tasks\":{},\"operations\":[],\"workers\":0,"
            "\"stalled\":false,\"suspect\":false,\"store\":{\"bytes\":1000,\"check\":null}}");
    is_int(case_run(&c, "status --check"), 0, "--check: all is well");
    ok(!strstr(c.out, "needs attention"), "and the screen says nothing else");
    fake_off(c.server, "GET /v1/status");
    fake_on(c.server, "GET /v1/status", 200,
            "{\"version\":\"9.9\",\"uptime_ms\":1000,\"group\":1,\"journal\":1,\"catalog\":0,"
            "\"nodes\":{\"dead\":3},\"noderoles\":{},\"tasks\":{\"READY\":4},\"operations\":[],"
            "\"workers\":0,\"stalled\":true,\"suspect\":true,"
            "\"store\":{\"bytes\":1000,\"check\":\"row 3 is broken\",\"checking\":true,"
            "\"degraded\":\"the disk is full\",\"backup\":{\"state\":\"failed\",\"error\":\"no "
            "room\"}}}");
    is_int(case_run(&c, "status --check"), 11, "everything at once");
    has_text(c.out, "none loaded", "no catalog");
    has_text(c.out, "3 nodes are dead", "dead nodes");
    has_text(c.out, "work is stalled", "a stall");
    has_text(c.out, "many nodes fell silent at once", "suspicion");
    has_text(c.out, "there is work but no worker", "no worker");
    has_text(c.out, "the store is damaged", "damage");
    has_text(c.out, "being checked", "a check under way");
    has_text(c.out, "  ! nothing can be written              the disk is full\n", "a full disk");
    has_text(c.out, "  ! the last backup failed              no room\n", "a failed backup");
    fake_off(c.server, "GET /v1/status");
    fake_on(
        c.server, "GET /v1/status", 200,
        "{\"version\":\"9.9\",\"catalog\":1,\"nodes\":{\"alive\":3,\"dead\":1},\"attention\":"
        "[{\"rule\":\"dead\",\"text\":\"node n1 is dead\",\"remedy\":\"power on n1\",\"count\":1,"
        "\"node\":\"n1\"},{\"rule\":\"replaced\",\"text\":\"2 nodes are other machines\","
        "\"remedy\":\"anneal node redeploy n2\",\"count\":2,\"node\":\"n2\"}],"
        "\"store\":{\"bytes\":1000,\"check\":\"ok\"}}");
    is_int(case_run(&c, "status --check"), 11, "nodes that need attention");
    has_text(c.out,
             "needs attention\n"
             "  ! node n1 is dead                     power on n1\n"
             "  ! 2 nodes are other machines          anneal node redeploy n2\n",
             "each with what helps, and nothing said twice");
    fake_off(c.server, "GET /v1/status");
    fake_on(
        c.server, "GET /v1/status", 200,
        "{\"version\":\"9.9\",\"catalog\":1,\"store\":{\"bytes\":1000,\"check\":\"ok\",\"backup\":"
        "{\"state\":\"running\",\"bytes_done\":1,\"bytes_total\":4}}}");
    case_run(&c, "status");
    has_text(c.out, "check ok, backup under way (25%)\n", "a backup under way");
    fake_off(c.server, "GET /v1/status");
    fake_on(
        c.server, "GET /v1/status", 200,
        "{\"version\":\"9.9\",\"catalog\":1,\"store\":{\"bytes\":1000,\"check\":null,\"backup\":"
        "{\"state\":\"done\",\"ended_at\":\"2023-11-14T22:13:00.000Z\"}}}");
    case_run(&c, "status");
    has_text(c.out, "event 0, last backup 20.0s ago\n", "a backup that was made");
    fake_free(c.server);
    c.server = NULL;
    is_int(case_run(&c, "version"), 0, "the version without a server");
    has_text(c.out, "anneald: cannot reach", "says that there is none");
    case_done(&c);
}

static void test_filters(void)
{
    static const struct {
        const char *line, *asked;
    } cases[] = {
        {"node list 'rack=3,!db*' --state active --alive DEAD --deployment prod",
         "GET /v1/nodes?selector=rack%3D3%2C%21db%2A&state=ACTIVE&alive=dead&deployment=prod&"},
        {"noderole list --state error --role web --node n1 --deployment prod",
         "GET /v1/noderoles?state=ERROR&role=web&node=n1&deployment=prod&"},
        {"operation list --state FAILED", "GET /v1/operations?state=failed&"},
        {"task list --state dep_failed --node n1 --operation 3 --noderole 12",
         "GET /v1/tasks?state=DEP_FAILED&node=n1&operation=3&noderole=12&"},
        {"node show 'a/b'", "GET /v1/nodes/a%2Fb HTTP"},
        {"events --since 900 --limit 7", "GET /v1/events?since=900&limit=7 HTTP"},
        {"events --limit 7", "GET /v1/status HTTP"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct cli_case c = {.server = cluster_new()};
        case_run(&c, cases[i].line);
        has_text(fake_request(c.server, "", 0), cases[i].asked, "%s asks so", cases[i].line);
        fake_free(c.server);
        case_done(&c);
    }
    struct cli_case c = {.server = cluster_new()};
    is_int(case_run(&c, "noderole data 12 no.such"), 4, "a path into data that is not there");
    has_text(c.err, "noderole 12 has nothing at no.such", "is named");
    fake_free(c.server);
    case_done(&c);
}

int main(void)
{
    test_screens();
    test_terminal();
    test_status();
    test_filters();
    return tap_done();
}
