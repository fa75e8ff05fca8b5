/* test_write.c - verbs that change something: what they send and what they say */
/* SPDX-License-Identifier: Apache-2.0 */
#include <unistd.h>

#include "base/str.h"
#include "cli_case.h"
#include "cluster.h"
#include "sys/fs.h"
#include "tap.h"
#include "workdir.h"

/* One line, the body of the request it makes, and what it says. */
static const struct {
    const char *line, *route, *body, *says;
} sends[] = {
    {"node add n1", "POST /v1/nodes", "{\"name\":\"n1\"}", "node n1 added\n"},
    {"node add n1 --deployment prod --label a=b --label c= --group g --group g --address 10.0.0.1 "
     "--address n1.lan --slots 2 --admin --available --alive ALIVE --note 'two words'",
     "POST /v1/nodes",
     "{\"name\":\"n1\",\"available\":true,\"admin\":true,\"labels\":{\"a\":\"b\",\"c\":\"\"},"
     "\"groups\":[\"g\"],\"deployment\":\"prod\",\"addresses\":[\"10.0.0.1\",\"n1.lan\"],\"slots\":"
     "2,"
     "\"alive\":\"alive\",\"note\":\"two words\"}",
     "node n1 added\n"},
    {"node set n1 --unavailable --no-admin --label x=y --unlabel rack --group new --ungroup db",
     "PATCH /v1/nodes/n1",
     "{\"available\":false,\"labels\":{\"x\":\"y\",\"rack\":null},\"groups\":[\"eu\",\"new\"],"
     "\"admin\":false}",
     "node n1 changed\n"},
    {"node report n1 Silent --machine-id m --boot-id b", "POST /v1/nodes/n1/report",
     "{\"alive\":\"silent\",\"machine_id\":\"m\",\"boot_id\":\"b\"}",
     "node n1 is now believed to be alive\n"},
    {"node add --boot-environment rescue", "POST /v1/nodes", "{\"boot_environment\":\"rescue\"}",
     "node n1 added\n"},
    {"node maintenance n1 on --note 'new disk'", "PATCH /v1/nodes/n1",
     "{\"maintenance\":{\"note\":\"new disk\"}}", "node n1 is in maintenance\n"},
    {"node maintenance n1 off", "PATCH /v1/nodes/n1", "{\"maintenance\":null}",
     "node n1 is out of maintenance\n"},
    {"node trust n1", "PATCH /v1/nodes/n1", "{\"access\":{\"host_keys\":null}}",
     "node n1 may show a new key\n"},
    {"node set n1 --access user=admin --access port=2222 --access jump=null", "PATCH /v1/nodes/n1",
     "{\"access\":{\"user\":\"admin\",\"port\":2222,\"jump\":null}}", "node n1 changed\n"},
    {"node redeploy n1", "POST /v1/nodes/n1/redeploy", "",
     "node n1 begins from nothing\nfollow it with: anneal operation watch 3\n"},
    {"deployment add prod --parent system --description d", "POST /v1/deployments",
     "{\"name\":\"prod\",\"parent\":\"system\",\"description\":\"d\"}", "deployment prod added\n"},
    {"deployment set prod --description d", "PATCH /v1/deployments/prod", "{\"description\":\"d\"}",
     "deployment prod changed\n"},
    {"deployment delete prod", "DELETE /v1/deployments/prod", "", "deployment prod deleted\n"},
    {"role rerun web --deployment prod --nodes 'rack=3,!n2'", "POST /v1/roles/web/rerun",
     "{\"deployment\":\"prod\",\"nodes\":\"rack=3,!n2\"}",
     "role web runs again\nfollow it with: anneal operation watch 3\n"},
    {"jig enable ssh", "PATCH /v1/jigs/ssh", "{\"active\":true}", "jig ssh is active\n"},
    {"jig disable ssh", "PATCH /v1/jigs/ssh", "{\"active\":false}",
     "jig ssh is not active; its tasks are held\n"},
    {"pool set p1 --size 3 --elsewhere 1 --close --note why", "PUT /v1/pools/p1",
     "{\"size\":3,\"elsewhere\":1,\"closed\":true,\"note\":\"why\"}", "pool p1 changed\n"},
    {"pool set p1 --open", "PUT /v1/pools/p1", "{\"closed\":false}", "pool p1 changed\n"},
    {"noderole rerun 12", "POST /v1/noderoles/12/rerun", "",
     "noderole 12 runs again\nfollow it with: anneal operation watch 3\n"},
    {"noderole retry 12", "POST /v1/noderoles/12/retry", "",
     "what failed in noderole 12 runs again\nfollow it with: anneal operation watch 3\n"},
    {"noderole set 12 listen.port=8080 motd='hello there' listen.tls=true deep.er.x=[1,2]",
     "PUT /v1/noderoles/12/data",
     "{\"listen\":{\"port\":8080,\"tls\":true},\"motd\":\"hello "
     "there\",\"deep\":{\"er\":{\"x\":[1,2]}}}",
     "data of noderole 12 set\nfollow it with: anneal operation watch 3\n"},
    {"operation cancel 3", "POST /v1/operations/3/cancel", "{\"abort\":false}",
     "operation 3 is cancelled; running tasks may end\nfollow it with: anneal operation watch 3\n"},
    {"operation cancel 3 --abort", "POST /v1/operations/3/cancel", "{\"abort\":true}",
     "operation 3 is cancelled; running tasks are ended\nfollow it with: anneal operation watch "
     "3\n"},
    {"operation retry 3", "POST /v1/operations/3/retry", "",
     "operation 3 runs what failed again\nfollow it with: anneal operation watch 3\n"},
    {"operation resume 3", "POST /v1/operations/3/resume", "",
     "operation 3 goes on\nfollow it with: anneal operation watch 3\n"},
    {"task retry 6", "POST /v1/tasks/6/retry", "",
     "task 6 runs again\nfollow it with: anneal operation watch 3\n"},
    {"task poke 6", "POST /v1/tasks/6/poke", "",
     "task 6 is asked again\nfollow it with: anneal operation watch 3\n"},
    {"task resolve 6 Again", "POST /v1/tasks/6/resolve", "{\"outcome\":\"again\"}",
     "task 6 is resolved: again\nfollow it with: anneal operation watch 3\n"},
    {"token add ci", "POST /v1/tokens", "{\"name\":\"ci\",\"scope\":\"read\"}", "anl_s3cret\n"},
    {"token add ci --scope Operate -o name", "POST /v1/tokens",
     "{\"name\":\"ci\",\"scope\":\"operate\"}", "anl_s3cret\n"},
    {"token add ci --tenant lab", "POST /v1/tokens",
     "{\"name\":\"ci\",\"scope\":\"read\",\"tenant\":\"lab\"}", "anl_s3cret\n"},
    {"tenant add lab", "POST /v1/tenants", "{\"name\":\"lab\"}", "tenant lab made\n"},
    {"tenant add lab --places 4", "POST /v1/tenants", "{\"places\":4,\"name\":\"lab\"}",
     "tenant lab made\n"},
    {"tenant set lab --places 0", "PATCH /v1/tenants/lab", "{\"places\":0}",
     "tenant lab changed\n"},
    {"tenant delete lab -y", "DELETE /v1/tenants/lab", "", "tenant lab deleted\n"},
    {"token revoke 2", "DELETE /v1/tokens/2", "", "token 2 revoked\n"},
    {"admin backup", "POST /v1/admin/backup", "{}",
     "backup written to /b/store.tar and read back, 14 MB; it holds the keys of the server: keep "
     "it as a secret\n"},
    {"admin backup store --logs", "POST /v1/admin/backup", "{\"name\":\"store\",\"logs\":true}",
     "backup written to /b/store.tar and read back, 14 MB; it holds the keys of the server: keep "
     "it as a secret\n"},
    {"admin check", "POST /v1/admin/check", "", "the store is sound\n"},
    {"admin confirm-dead", "POST /v1/admin/confirm-dead", "", "silent nodes are taken for dead\n"},
    {"deployment bind prod web=n1 db='rack=3,!n2' --class Urgent --title t",
     "POST /v1/deployments/prod/bind",
     "{\"bindings\":[{\"role\":\"web\",\"nodes\":\"n1\"},{\"role\":\"db\",\"nodes\":\"rack=3,!n2\"}"
     "],"
     "\"class\":\"urgent\",\"title\":\"t\"}",
     "operation 3: 1 new noderole, 4 tasks\n"
     "follow it with: anneal operation watch 3\n"},
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

static const struct {
    const char *line, *text;
} wrong[] = {
    {"node add n1 --label rack", "--label is KEY=VALUE, not \"rack\""},
    {"node add n1 --label =x", "--label is KEY=VALUE"},
    {"node add n1 --available --unavailable", "contradict"},
    {"node add n1 --facts /nonexistent.yaml", "/nonexistent.yaml"},
    {"node set n1", "nothing to change"},
    {"node delete n1 n2 --rev 3", "--rev belongs to one node"},
    {"node maintenance n1 off --note x", "--note says why it begins"},
    {"node announce --facts /nonexistent.yaml --machine-id m --boot-id b", "/nonexistent.yaml"},
    {"deployment set prod", "--description is missing"},
    {"tenant set lab", "nothing to change"},
    {"pool set p1", "nothing to change"},
    {"pool set p1 --open --close", "contradict"},
    {"noderole set 12", "nothing to set"},
    {"noderole set 12 a", "\"a\" is not PATH=VALUE"},
    {"noderole set 12 .a=1", "is not PATH=VALUE"},
    {"noderole set 12 a..b=1", "is not PATH=VALUE"},
    {"noderole set 12 a.=1", "is not PATH=VALUE"},
    {"noderole set 12 --data /nonexistent.yaml", "/nonexistent.yaml"},
    {"deployment bind prod a=x b=y --data /nonexistent.yaml", "for which of the 2 roles?"},
    {"deployment bind prod a=x --data a=/nonexistent.yaml", "/nonexistent.yaml"},
    {"catalog load /nonexistent", "/nonexistent is not a directory"},
    {"admin restore /b", "--data-dir is missing"},
};

static void test_wrong(void)
{
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct cli_case c = {.server = cluster_new()};
        int rc = case_run(&c, wrong[i].line);
        ok(rc == 2 || rc == 4, "%s is refused (%d)", wrong[i].line, rc);
        has_text(c.err, wrong[i].text, "%s: why", wrong[i].line);
        for (int k = 0; k < fake_total(c.server); k++)
            ok(!strncmp(fake_request(c.server, "", k), "GET ", 4), "%s: nothing is written",
               wrong[i].line);
        fake_free(c.server);
        case_done(&c);
    }
}

static void test_data(void)
{
    struct cli_case c = {.server = cluster_new(), .input = "{\"port\": 81, \"yes\": [true]}"};
    is_int(case_run(&c, "deployment bind prod web=n1 --data -"), 0, "data from standard input");
    has_text(fake_body(c.server, "POST /v1/deployments/prod/bind", 0),
             "\"data\":{\"port\":81,\"yes\":[true]}", "is sent");
    c.input = "port: 82\n";
    is_int(case_run(&c, "deployment bind prod a=x web=n1 --data web=-"), 0, "data of one role");
    is_text(fake_body(c.server, "POST /v1/deployments/prod/bind", 1),
            "{\"bindings\":[{\"role\":\"a\",\"nodes\":\"x\"},{\"role\":\"web\",\"nodes\":\"n1\","
            "\"data\":{\"port\":82}}]}",
            "goes to that role");
    is_int(case_run(&c, "deployment bind prod a=x --data web=-"), 2,
           "data of a role that is not bound");
    has_text(c.err, "the role web is not bound here", "is refused");
    c.input = "port: 83\nlisten: {tls: true}\n";
    is_int(case_run(&c, "noderole set 12 --data - listen.port=1"), 0, "a document and a key");
    is_text(fake_body(c.server, "PUT /v1/noderoles/12/data", 0),
            "{\"port\":83,\"listen\":{\"tls\":true,\"port\":1}}", "replace what was there");
    c.input = "- a\n- b\n";
    is_int(case_run(&c, "noderole set 12 --data -"), 2, "a list");
    has_text(c.err, "standard input: a map is wanted, not list", "is no document");
    c.input = "a: [1\n";
    is_int(case_run(&c, "noderole set 12 --data -"), 2, "YAML that is broken");
    has_text(c.err, "standard input:", "is pointed at");
    c.input = "cpu: 8\n";
    is_int(case_run(&c, "node add n1 --facts -"), 0, "facts");
    has_text(fake_body(c.server, "POST /v1/nodes", 0), "\"facts\":{\"cpu\":8}", "are sent");
    fake_free(c.server);
    case_done(&c);
}

static void test_forms(void)
{
    struct cli_case c = {.server = cluster_new()};
    is_int(case_run(&c, "-q node add n1"), 0, "a quiet change");
    is_text(c.out, "", "says nothing");
    is_int(case_run(&c, "node add n1 -o name"), 0, "a change by name");
    is_text(c.out, "n1\n", "prints the name");
    is_int(case_run(&c, "node add n1 -o json"), 0, "a change in JSON");
    is_text(c.out, NODE_JSON "\n", "prints the server's object");
    is_int(case_run(&c, "node add n1 -o yaml"), 0, "a change in YAML");
    has_text(c.out, "labels:\n  rack: \"3\"\n", "prints it as YAML");
    is_int(case_run(&c, "node delete n1 -o json"), 0, "an answer without a body");
    is_text(c.out, "", "prints nothing in JSON");
    is_int(case_run(&c, "node delete n1 n1"), 0, "two deletions");
    is_text(c.out, "node n1 deleted\nnode n1 deleted\n", "are both told");
    has_text(fake_request(c.server, "DELETE /v1/nodes/n1", 0), "If-Match: \"7\"", "with revisions");
    is_int(case_run(&c, "node delete n1 n2 n1"), 4, "the second of three is not there");
    is_text(c.out, "node n1 deleted\n", "the first was deleted, the third not tried");
    is_int(case_run(&c, "deployment bind prod web=n1 -o name"), 0, "a binding by name");
    is_text(c.out, "3\n", "is its operation");
    is_int(case_run(&c, "deployment bind prod web=n1 -v"), 0, "a binding, step by step");
    has_text(c.out,
             "  web@n1  requested\n"
             "      needs database@n2  (in the deployment)\n"
             "      uses sql: database@n2  (peer)\n"
             "  ntp@n1  required by web@n1\n"
             "  dns@n1  present, with other data\n"
             "operation 3: 1 new noderole, 4 tasks\n",
             "shows what needs what");
    fake_off(c.server, "POST /v1/deployments/prod/bind");
    fake_on(c.server, "POST /v1/deployments/prod/bind", 200,
            "{\"operation\":null,\"steps\":[],\"noderoles\":[],\"tasks\":7}");
    is_int(case_run(&c, "-v deployment bind prod web=n1 -n"), 0, "a dry run");
    is_text(c.out, "dry run: 0 new noderoles, 7 tasks; nothing was changed\n", "says so");
    has_text(fake_body(c.server, "POST /v1/deployments/prod/bind", 2), "\"dry_run\":true",
             "and asks so");
    is_int(case_run(&c, "deployment bind prod web=n1 --wait"), 0,
           "nothing to do, nothing to wait for");
    has_text(c.out, "nothing to do", "says so");
    fake_off(c.server, "POST /v1/admin/check");
    fake_on(c.server, "POST /v1/admin/check", 200,
            "{\"ok\":false,\"findings\":[\"row 3 of nodes is broken\"]}");
    is_int(case_run(&c, "admin check"), 8, "a store that is damaged");
    is_text(c.out, "the store is damaged\n", "is told");
    has_text(c.err, "row 3 of nodes is broken", "with the findings");
    is_int(case_run(&c, "admin check -o json"), 8, "in JSON too");
    is_int(case_run(&c, "admin restore /b/store --data-dir /d"), 1, "a restore");
    has_text(c.executed, "/anneald --restore /b/store --data-dir /d", "runs the server's program");
    is_int(case_run(&c, "admin restore /b/store --data-dir /d --passphrase-file /p"), 1, "sealed");
    has_text(c.executed, "--data-dir /d --passphrase-file /p",
             "the file goes along, not its words");
    has_text(c.err, "cannot run ", "or says that it cannot");
    is_int(case_run(&c, "sim"), 2, "a build without a simulator");
    fake_free(c.server);
    case_done(&c);
}

#define STATUS_WITH(store) "{\"version\":\"9.9\",\"store\":{" store "}}"

/* The server copies and checks in the background; the verbs wait for the end. */
static void test_background(void)
{
    for (int tty = 0; tty < 2; tty++) {
        struct cli_case c = {.server = cluster_new(), .tty = tty};
        fake_off(c.server, "POST /v1/admin/backup");
        fake_off(c.server, "GET /v1/status");
        fake_on(c.server, "POST /v1/admin/backup", 202,
                "{\"name\":\"store\",\"path\":\"/b/store.tar\",\"state\":\"running\"}");
        fake_on(c.server, "GET /v1/status", 200,
                STATUS_WITH(
                    "\"backup\":{\"path\":\"/b/store.tar\",\"state\":\"running\",\"bytes_done\":1,"
                    "\"bytes_total\":4,\"bytes\":0}"));
        fake_on(
            c.server, "GET /v1/status", 200,
            STATUS_WITH("\"backup\":{\"path\":\"/b/store.tar\",\"state\":\"done\",\"bytes_done\":4,"
                        "\"bytes_total\":4,\"bytes\":8192,\"error\":null}"));
        is_int(case_run(&c, "admin backup store --no-color"), 0, "a backup (terminal: %d)", tty);
        has_text(c.out, "backup written to /b/store.tar and read back, 8.2 kB",
                 "is waited for (terminal: %d)", tty);
        ok((strstr(c.err, "backing up  ") != NULL) == tty, "how far it is (terminal: %d)", tty);
        ok((strstr(c.err, "\033[?25h") != NULL) == tty, "is taken away again (terminal: %d)", tty);
        is_int(case_run(&c, "admin backup store --no-wait"), 0, "one that is not waited for");
        is_text(c.out, "backup to /b/store.tar under way; `anneal status` shows its end\n",
                "says so");
        fake_off(c.server, "GET /v1/status");
        fake_on(
            c.server, "GET /v1/status", 200,
            STATUS_WITH("\"backup\":{\"path\":\"/b/store.tar\",\"state\":\"failed\",\"bytes\":0,"
                        "\"error\":\"no space left\",\"hint\":\"make room\"}"));
        is_int(case_run(&c, "admin backup store"), 11, "one that fails");
        has_text(c.err, "the backup to /b/store.tar failed: no space left", "says why");
        has_text(c.err, "make room", "and what to do");
        fake_off(c.server, "GET /v1/status");
        fake_on(c.server, "GET /v1/status", 403, PROBLEM("forbidden", "no status for you"));
        is_int(case_run(&c, "admin backup store"), 3, "an end that cannot be seen");
        fake_free(c.server);
        case_done(&c);
    }
    struct cli_case c = {.server = cluster_new()};
    fake_off(c.server, "POST /v1/admin/check");
    fake_off(c.server, "GET /v1/status");
    fake_on(c.server, "POST /v1/admin/check", 202,
            "{\"ok\":true,\"findings\":[],\"state\":\"running\"}");
    fake_on(c.server, "GET /v1/status", 200, STATUS_WITH("\"checking\":true,\"check\":\"ok\""));
    fake_on(c.server, "GET /v1/status", 200, STATUS_WITH("\"checking\":false,\"check\":\"ok\""));
    is_int(case_run(&c, "admin check"), 0, "a check of the file");
    is_text(c.out, "the store is sound\n", "is waited for");
    is_int(fake_count(c.server, "GET /v1/status"), 2, "until it has ended");
    fake_off(c.server, "GET /v1/status");
    fake_on(c.server, "GET /v1/status", 200,
            STATUS_WITH("\"checking\":false,\"check\":\"page 7 is torn\""));
    is_int(case_run(&c, "admin check"), 8, "a file that is damaged");
    has_text(c.err, "page 7 is torn", "is told");
    is_int(case_run(&c, "admin check --no-wait"), 0, "what is known without waiting");
    fake_off(c.server, "GET /v1/status");
    fake_on(c.server, "GET /v1/status", 403, PROBLEM("forbidden", "no status for you"));
    is_int(case_run(&c, "admin check"), 3, "an end that cannot be seen");
    fake_free(c.server);
    case_done(&c);
}

static void test_secrets(void)
{
    char *dir = workdir_new("token");
    struct cli_case c = {.server = cluster_new()};
    struct err e;
    SCOPED_BUF(line);
    SCOPED_BUF(path);
    SCOPED_BUF(got);
    buf_printf(&line, "token add ci --save %s/sub/token", dir);
    buf_printf(&path, "%s/sub/token", dir);
    is_int(case_run(&c, line.data), 0, "a token that is saved");
    ok(!strstr(c.out, "anl_s3cret") && !strstr(c.err, "anl_s3cret"), "is not printed");
    is_int(fs_read(path.data, 100, &got, &e), 0, "it is in the file");
    is_text(buf_str(&got).s, "anl_s3cret\n", "as it was given");
    buf_clear(&line);
    buf_printf(&line, "token add ci --save %s/sub/token/x", dir);
    ok(case_run(&c, line.data) != 0, "a place where it cannot be saved");
    has_text(c.err, "anneal token revoke 2", "says that the token exists");
    c.tty = true;
    is_int(case_run(&c, "token add ci"), 0, "on a terminal");
    has_text(c.err, "only once", "a word of warning");
    fake_off(c.server, "POST /v1/tokens");
    fake_on_drop(c.server, "POST /v1/tokens");
    int asked = fake_count(c.server, "POST /v1/tokens");
    is_int(case_run(&c, "token add ci"), 9, "an answer that is lost");
    is_int(fake_count(c.server, "POST /v1/tokens"), asked + 1, "does not make a second token");
    fake_off(c.server, "POST /v1/tokens");
    fake_on(c.server, "POST /v1/tokens", 201, "{\"id\":2}");
    is_int(case_run(&c, "token add ci"), 9, "a server that keeps the secret to itself");
    free(dir);
    fake_free(c.server);
    case_done(&c);
}

static void test_catalog(void)
{
    char *dir = workdir_new("catalog");
    struct cli_case c = {.server = cluster_new()};
    struct err e;
    SCOPED_BUF(p);
    SCOPED_BUF(line);
    static const char *const files[] = {"site/barclamp.yaml", "site/roles/web.yaml", ".git/config",
                                        "site/.swp"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        buf_clear(&p);
        buf_printf(&p, "%s/%s", dir, files[i]);
        *strrchr(p.data, '/') = '\0';
        fs_mkdirs(p.data, 0755, &e);
        p.data[strlen(p.data)] = '/';
        fs_write_atomic(p.data, files[i], strlen(files[i]), 0644, &e);
    }
    buf_clear(&p);
    buf_printf(&p, "%s/site/loop", dir);
    is_int(symlink("..", p.data), 0, "a link to a directory above");
    buf_printf(&line, "catalog load %s", dir);
    is_int(case_run(&c, line.data), 0, "a catalog is loaded");
    is_text(c.out, "catalog generation 7 loaded: 3 roles, 9 tasks\n", "and told");
    is_text(c.err,
            "roles/web.yaml:3:5: warning: unused\n      - web\n        ^\n    hint: leave it out\n",
            "with its warnings");
    const char *body = fake_body(c.server, "POST /v1/catalog", 0);
    has_text(body, "\"site/barclamp.yaml\":\"site/barclamp.yaml\"", "files travel by path");
    has_text(body, "\"site/roles/web.yaml\":", "from all directories");
    ok(!strstr(body, ".git") && !strstr(body, ".swp") && !strstr(body, "loop"),
       "dots and links to directories stay at home");
    has_text(body, "/anneal-catalog-", "with their origin");
    buf_puts(&line, " --dry-run --origin git@x");
    is_int(case_run(&c, line.data), 0, "a dry run");
    has_text(c.out, "the catalog is sound", "says so");
    has_text(fake_body(c.server, "POST /v1/catalog", 1), "\"origin\":\"git@x\"",
             "with another origin");
    has_text(fake_body(c.server, "POST /v1/catalog", 1), "\"dry_run\":true", "and asks so");
    buf_clear(&p);
    buf_printf(&p, "%s/site/logo.png", dir);
    fs_write_atomic(p.data, "\x89PNG\xff", 5, 0644, &e);
    is_int(case_run(&c, line.data), 2, "a file that is no text");
    has_text(c.err, "logo.png is not UTF-8 text", "is named");
    free(dir);
    fake_free(c.server);
    case_done(&c);
}

int main(void)
{
    test_sends();
    test_wrong();
    test_data();
    test_forms();
    test_background();
    test_secrets();
    test_catalog();
    return tap_done();
}
