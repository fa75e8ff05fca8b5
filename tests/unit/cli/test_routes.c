/* test_routes.c - every verb asks exactly the routes that its row names
 *
 * Each row of the table needs a case here; a verb without one fails the test.
 */
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

static const struct {
    const char *noun, *verb, *line;
    int rc;
} cases[] = {
    {"status", NULL, "status", 0},
    {"watch", NULL, "watch", 0},
    {"why", NULL, "why noderole/12", 0},
    {"events", NULL, "events", 0},
    {"node", "list", "node list", 0},
    {"node", "show", "node show n1", 0},
    {"node", "add", "node add n1", 0},
    {"node", "set", "node set n1 --slots 2", 0},
    {"node", "delete", "node delete n1", 0},
    {"node", "report", "node report n1 alive", 0},
    {"node", "maintenance", "node maintenance n1 on", 0},
    {"node", "trust", "node trust n1", 0},
    {"node", "redeploy", "node redeploy n1", 0},
    {"node", "announce", "node announce --machine-id m1 --boot-id b1", 0},
    {"group", "list", "group list", 0},
    {"deployment", "list", "deployment list", 0},
    {"deployment", "show", "deployment show prod", 0},
    {"deployment", "add", "deployment add prod", 0},
    {"deployment", "set", "deployment set prod --description x", 0},
    {"deployment", "delete", "deployment delete prod", 0},
    {"deployment", "history", "deployment history prod", 0},
    {"deployment", "bind", "deployment bind prod web=n1", 0},
    {"deployment", "deploy", "deployment deploy prod --start a --on n1", 0},
    {"deployment", "graph", "deployment graph prod --format dot", 0},
    {"deployment", "unbind", "deployment unbind prod web=n1", 0},
    {"deployment", "propose", "deployment propose prod", 0},
    {"deployment", "edit", "deployment edit prod --bind web=n1", 0},
    {"deployment", "diff", "deployment diff prod", 0},
    {"deployment", "commit", "deployment commit prod", 0},
    {"deployment", "recall", "deployment recall prod", 0},
    {"deployment", "rollback", "deployment rollback prod 2", 0},
    {"cluster", "list", "cluster list", 0},
    {"cluster", "show", "cluster show shop", 0},
    {"cluster", "create", "cluster create shop --template t", 0},
    {"cluster", "expand", "cluster expand shop --by 1", 0},
    {"cluster", "shrink", "cluster shrink shop --to 2", 0},
    {"cluster", "add-service", "cluster add-service shop a,b", 0},
    {"cluster", "remove-service", "cluster remove-service shop a", 0},
    {"cluster", "configure", "cluster configure shop --set a=1", 0},
    {"cluster", "start", "cluster start shop", 0},
    {"cluster", "stop", "cluster stop shop", 0},
    {"cluster", "restart", "cluster restart shop", 0},
    {"cluster", "upgrade", "cluster upgrade shop", 0},
    {"cluster", "rollback", "cluster rollback shop 1", 0},
    {"cluster", "act", "cluster act shop backup", 0},
    {"cluster", "delete", "cluster delete shop", 0},
    {"cluster", "lease", "cluster lease shop 7d", 0},
    {"cluster", "history", "cluster history shop", 0},
    {"cluster", "diff", "cluster diff shop", 0},
    {"noderole", "list", "noderole list", 0},
    {"noderole", "show", "noderole show 12", 0},
    {"noderole", "data", "noderole data 12", 0},
    {"noderole", "data", "noderole data 12 --visible", 0},
    {"noderole", "data", "noderole data 12 --explain listen.port", 0},
    {"noderole", "tree", "noderole tree 12", 0},
    {"noderole", "set", "noderole set 12 a=1", 0},
    {"noderole", "rerun", "noderole rerun 12", 0},
    {"noderole", "retry", "noderole retry 12", 0},
    {"noderole", "abandon", "noderole abandon 12", 0},
    {"operation", "list", "operation list", 0},
    {"operation", "show", "operation show 4", 0},
    {"operation", "watch", "operation watch 4", 11},
    {"operation", "cancel", "operation cancel 3", 0},
    {"operation", "retry", "operation retry 3", 0},
    {"operation", "resume", "operation resume 3", 0},
    {"operation", "history", "operation history 3", 0},
    {"operation", "timeline", "operation timeline 3", 0},
    {"task", "list", "task list", 0},
    {"task", "show", "task show 6", 0},
    {"task", "retry", "task retry 6", 0},
    {"task", "poke", "task poke 6", 0},
    {"task", "resolve", "task resolve 6 done", 0},
    {"task", "attempts", "task attempts 6", 0},
    {"task", "log", "task log 6", 0},
    {"role", "list", "role list", 0},
    {"role", "show", "role show web", 0},
    {"role", "rerun", "role rerun web", 0},
    {"role", "store", "role store web", 0},
    {"jig", "list", "jig list", 0},
    {"jig", "show", "jig show ssh", 0},
    {"jig", "enable", "jig enable ssh", 0},
    {"jig", "disable", "jig disable ssh", 0},
    {"pool", "list", "pool list", 0},
    {"pool", "show", "pool show p1", 0},
    {"pool", "set", "pool set p1 --size 4", 0},
    {"provider", "list", "provider list", 0},
    {"provider", "show", "provider show lab", 0},
    {"provider", "add", "provider add lab2 --type dirs --set root=/x", 0},
    {"provider", "set", "provider set lab --set root=/x", 0},
    {"provider", "remove", "provider remove lab --yes", 0},
    {"plugin", "list", "plugin list", 0},
    {"plugin", "show", "plugin show dirs", 0},
    {"plugin", "check", "plugin check .", 4}, /* an empty directory is no plugin */
    {"resource", "list", "resource list", 0},
    {"resource", "show", "resource show debian@2", 0},
    {"resource", "upload", "resource upload dirs/images debian /dev/null", 0},
    {"resource", "stage", "resource stage images/debian@2", 0},
    {"resource", "recall", "resource recall dirs/images/debian@2", 0},
    {"resource", "sync", "resource sync", 0},
    {"resource", "delete", "resource delete debian --yes", 0},
    {"barclamp", "list", "barclamp list", 0},
    {"barclamp", "tasks", "barclamp tasks site", 0},
    {"barclamp", "tasks-set", "barclamp tasks-set site -", 0},
    {"barclamp", "tasks-diff", "barclamp tasks-diff site", 0},
    {"barclamp", "tasks-history", "barclamp tasks-history site", 0},
    {"deployment", "tasks", "deployment tasks prod", 0},
    {"deployment", "tasks-set", "deployment tasks-set prod -", 0},
    {"deployment", "tasks-diff", "deployment tasks-diff prod", 0},
    {"deployment", "tasks-history", "deployment tasks-history prod", 0},
    {"catalog", "show", "catalog show", 0},
    {"catalog", "load", "catalog load .", 0},
    {"catalog", "export", "catalog export .exported", 0},
    {"catalog", "history", "catalog history", 0},
    {"lint", NULL, "lint .", 2}, /* an empty directory is no catalog */
    {"solve", NULL, "solve . --template t --nodes 3", 2},
    {"plan", NULL, "plan . --nodes nodes.yaml", 2},
    {"import", "crowbar", "import crowbar . imported", 2}, /* nor has it a barclamp */
    {"import", "fuel", "import fuel . imported", 2},       /* nor a task */
    {"import", "coopr", "import coopr . imported", 2},     /* nor a service */
    {"worker", "list", "worker list", 0},
    {"worker", "show", "worker show w1", 0},
    {"worker", "token", "worker token --label rack=r1 --ttl 5m", 0},
    {"worker", "drain", "worker drain w1", 0},
    {"worker", "undrain", "worker undrain w1", 0},
    {"worker", "remove", "worker remove w1 --yes", 0},
    {"tenant", "list", "tenant list", 0},
    {"tenant", "show", "tenant show lab", 0},
    {"tenant", "add", "tenant add lab", 0},
    {"tenant", "set", "tenant set lab --places 4", 0},
    {"tenant", "delete", "tenant delete lab --yes", 0},
    {"token", "list", "token list", 0},
    {"token", "add", "token add ci", 0},
    {"token", "revoke", "token revoke 2", 0},
    {"admin", "backup", "admin backup store", 0},
    {"admin", "restore", "admin restore /b/store --data-dir /d", 1},
    {"admin", "check", "admin check", 0},
    {"admin", "confirm-dead", "admin confirm-dead", 0},
    {"openapi", NULL, "openapi", 0},
    {"sim", NULL, "sim --seed 7", 42},
    {"version", NULL, "version", 0},
    {"help", NULL, "help", 0},
    {"completion", NULL, "completion bash", 0},
    {"man", NULL, "man", 0},
    {"__complete", NULL, "__complete no", 0},
};

/* "GET /v1/tasks/6/attempts/2/log?x" as "GET /v1/tasks/{id}/attempts/{number}/log". */
static void template_of(const char *request, struct buf *b)
{
    static const struct {
        const char *after, *is;
    } names[] = {{"nodes", "{node}"},
                 {"deployments", "{deployment}"},
                 {"barclamps", "{barclamp}"},
                 {"clusters", "{cluster}"},
                 {"roles", "{role}"},
                 {"jigs", "{jig}"},
                 {"pools", "{pool}"},
                 {"providers", "{provider}"},
                 {"plugins", "{plugin}"},
                 {"workers", "{worker}"},
                 {"resources", "{id}"},
                 {"contents", "{digest}"},
                 {"tenants", "{tenant}"},
                 {"noderoles", "{id}"},
                 {"operations", "{id}"},
                 {"tasks", "{id}"},
                 {"attempts", "{number}"},
                 {"tokens", "{id}"},
                 {"why", "{kind}"}};
    char path[256], before[64] = "", before2[64] = "";
    size_t n = strcspn(request, "? \r") + 1; /* after the method */
    snprintf(path, sizeof path, "%.*s", (int)strcspn(request + n, "? \r"), request + n);
    buf_printf(b, "%.*s ", (int)n - 1, request);
    for (char *p = strtok(path, "/"); p; p = strtok(NULL, "/")) {
        const char *part = p;
        for (size_t i = 0; i < sizeof names / sizeof *names; i++)
            if (!strcmp(before, names[i].after))
                part = names[i].is;
        if (!strcmp(before2, "why"))
            part = "{object}";
        if (!strcmp(before2, "clusters"))
            part = "{verb}";
        buf_printf(b, "/%s", part);
        snprintf(before2, sizeof before2, "%s", before);
        snprintf(before, sizeof before, "%s", p);
    }
}

static bool listed(const char *routes, const char *route)
{
    size_t n = strlen(route);
    for (const char *p = routes; p && (p = strstr(p, route)); p += n)
        if (!p[n] || p[n] == ',')
            return true;
    return false;
}

static int sim(int argc, char **argv)
{
    return argc == 3 && !strcmp(argv[0], "sim") && !strcmp(argv[2], "7") ? 42 : 1;
}

/* Operation 4 runs when first asked and has failed when asked again; its events come in between. */
static void operation_four(struct fake *f)
{
    static const struct fake_step events[] = {{FAKE_SEND, "id: 1\ndata: {}\n\n", 0},
                                              {FAKE_AWAIT, "GET /v1/operations/4", 3}};
    fake_on(f, "GET /v1/operations/4", 200, OPERATION_JSON("running", 1, 1, 1));
    fake_on(f, "GET /v1/operations/4", 200, OPERATION_JSON("failed", 1, 1, 0));
    fake_stream(f, "/v1/events", "text/event-stream", events, 2);
}

/* Operation 3 runs when first asked and is gone when asked again, and that is the end of events. */
static void operations_open(struct fake *f)
{
    static const char running[] = "GET /v1/operations?state=running";
    static const struct fake_step events[] = {{FAKE_SEND, "id: 1\ndata: {}\n\n", 0},
                                              {FAKE_AWAIT, running, 2}};
    fake_on(f, running, 200, LIST(OPERATION_JSON("running", 1, 0, 1)));
    fake_on(f, running, 200, LIST(""));
    fake_stream(f, "/v1/events", "text/event-stream", events, 2);
    fake_on_headers(f, "GET /v1/events", 204, "", "");
}

/* Backup and check go on in the background. */
static void background(struct fake *f)
{
    fake_off(f, "POST /v1/admin/backup");
    fake_off(f, "POST /v1/admin/check");
    fake_on(f, "POST /v1/admin/backup", 202,
            "{\"name\":\"b\",\"path\":\"/b\",\"state\":\"running\"}");
    fake_on(f, "POST /v1/admin/check", 202, "{\"ok\":true,\"findings\":[],\"state\":\"running\"}");
}

/* Every route that a row names is published, and every published route has a verb. */
static void test_published(void)
{
    static const char *const without[] = {"GET /v1/health", "GET /v1/ready", "GET /metrics",
                                          /* anneal-worker's own */
                                          "POST /v1/join", "POST /v1/workers/{worker}/poll",
                                          "POST /v1/workers/{worker}/messages"};
    SCOPED_BUF(text);
    SCOPED_BUF(published);
    SCOPED_BUF(used);
    SCOPED_ARENA(mem);
    struct value *doc;
    struct err e;
    if (fs_read(OPENAPI_JSON, 16 << 20, &text, &e) ||
        json_parse(&mem, text.data, text.len, NULL, &doc, &e))
        printf("Bail out! %s\n", e.text);
    const struct value *paths = value_get(doc, "paths");
    for (uint32_t i = 0; i < paths->n; i++)
        for (uint32_t k = 0; k < paths->members[i].v.n; k++) {
            const char *method = paths->members[i].v.members[k].key;
            for (const char *p = method; *p; p++)
                buf_putc(&published, (char)(*p - 32));
            buf_printf(&published, " %s,", paths->members[i].key);
        }
    for (const struct cli_verb *v = cli_verbs; v->noun; v++)
        buf_printf(&used, "%s,", v->routes ? v->routes : "");
    for (size_t i = 0; i < sizeof without / sizeof *without; i++)
        buf_printf(&used, "%s,", without[i]);
    for (char *p = strtok(arena_strdup(&mem, used.data), ","); p; p = strtok(NULL, ",")) {
        p += strspn(p, " ");
        ok(listed(published.data, p), "%s is published", p);
    }
    for (char *p = strtok(arena_strdup(&mem, published.data), ","); p; p = strtok(NULL, ","))
        ok(listed(used.data, p), "%s has a verb", p);
}

static bool case_is_of(size_t i, const struct cli_verb *v)
{
    return !strcmp(cases[i].noun, v->noun) &&
           !strcmp(cases[i].verb ? cases[i].verb : "", v->verb ? v->verb : "");
}

/* Runs one case; what it asked for joins `asked`. */
static void run_of(size_t i, const struct cli_verb *v, struct buf *asked)
{
    const char *verb = v->verb ? v->verb : "";
    struct cli_case c = {.server = cluster_new(), .sim = sim, .tty = true};
    if (strcmp(v->noun, "events") != 0)
        fake_off(c.server, "GET /v1/events");
    if (!strcmp(v->noun, "watch"))
        operations_open(c.server);
    if (!strcmp(v->noun, "operation"))
        operation_four(c.server);
    if (!strcmp(v->noun, "admin"))
        background(c.server);
    is_int(case_run(&c, cases[i].line), cases[i].rc, "%s %s: exit code", v->noun, verb);
    for (int k = 0; k < fake_total(c.server); k++) {
        SCOPED_BUF(t);
        template_of(fake_request(c.server, "", k), &t);
        ok(listed(v->routes, t.data), "%s %s: asks %s, as its row says", v->noun, verb, t.data);
        buf_printf(asked, "%s%s", asked->len ? ", " : "", t.data);
    }
    fake_free(c.server);
    case_done(&c);
}

int main(void)
{
    char *dir = workdir_new("routes");
    if (chdir(dir))
        printf("Bail out! no way into %s\n", dir);
    for (const struct cli_verb *v = cli_verbs; v->noun; v++) {
        const char *verb = v->verb ? v->verb : "";
        SCOPED_BUF(asked);
        bool any = false;
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
            if (case_is_of(i, v)) {
                any = true;
                run_of(i, v, &asked);
            }
        ok(any, "%s %s has a case", v->noun, verb);
        for (const char *p = v->routes; any && p && *p;) {
            char one[128];
            size_t n = strcspn(p, ",");
            snprintf(one, sizeof one, "%.*s", (int)n, p);
            ok(listed(buf_str(&asked).s, one), "%s %s: its row says %s, and it asks that", v->noun,
               verb, one);
            p += n + (p[n] == ',');
            p += strspn(p, " ");
        }
    }
    free(dir);
    test_published();
    return tap_done();
}
