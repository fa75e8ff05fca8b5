/* What is shown of nodes, noderoles, tasks, operations and the catalog, at every stage of their
 * lives. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "server_rig.h"

static void test_nothing(struct rig *g)
{
    rig_do(g, server_status, "Status", (struct rig_ask){0});
    is_int(rig_int(g, "catalog"), 0, "no catalog");
    is_int(rig_at(g, "operations")->n, 0, "the standing operation is no news while it is idle");
    rig_refuse(g, server_catalog_get, ERR_NOT_FOUND, "anneal catalog load", (struct rig_ask){0});
    rig_list(g, server_role_list, "Role", (struct rig_ask){0}, 0);
    rig_list(g, server_barclamp_list, "Barclamp", (struct rig_ask){0}, 0);
    rig_list(g, server_catalog_generations, "Catalog", (struct rig_ask){0}, 0);
    rig_list(g, server_node_list, "Node", (struct rig_ask){0}, 0);
    rig_list(g, server_group_list, "Group", (struct rig_ask){0}, 0);
    rig_list(g, server_noderole_list, "Noderole", (struct rig_ask){0}, 0);
    rig_list(g, server_task_list, "Task", (struct rig_ask){0}, 0);
    rig_list(g, server_pool_list, "Pool", (struct rig_ask){0}, 0);
    rig_list(g, server_worker_list, "Worker", (struct rig_ask){0}, 0);
    rig_list(g, server_operation_list, "Operation", (struct rig_ask){0}, 1);
    rig_refuse(g, server_role_get, ERR_NOT_FOUND, "there is no role web",
               (struct rig_ask){.id = "web"});
}

static void test_catalog(struct rig *g)
{
    rig_catalog(g);
    rig_do(g, server_catalog_get, "Catalog", (struct rig_ask){0});
    is_int(rig_int(g, "generation"), 1, "the first generation");
    is_text(rig_text(g, "origin"), "the test", "its origin");
    is_int(g->reply.rev, 1, "its number is its revision");
    rig_list(g, server_barclamp_list, "Barclamp", (struct rig_ask){.query = "{'limit': '1'}"}, 1);
    rig_list(g, server_role_list, "Role", (struct rig_ask){.query = "{'limit': '50'}"}, 10);
    rig_do(g, server_role_get, "Role", (struct rig_ask){.id = "web"});
    is_text(rig_text(g, "strategy.type"), "rolling", "its strategy");
    is_int(rig_int(g, "strategy.max"), 2, "and how many at a time");
    is_text(rig_text(g, "requires.1"), "sql", "what it requires");
    is_text(rig_text(g, "actions.converge.0.task"), "deploy-web", "its tasks");
    rig_do(g, server_role_get, "Role", (struct rig_ask){.id = "database"});
    is_text(rig_text(g, "provides.0"), "sql", "what it provides");
    is_int(rig_int(g, "attributes.port.default"), 5432, "its attributes");
    is_text(rig_text(g, "actions.converge.1.after.0"), "install-db", "the order of its tasks");
    rig_do(g, server_role_get, "Role", (struct rig_ask){.id = "any"});
    is_text(rig_text(g, "flags.0"), "abstract", "its flags");
    rig_refuse(g, server_role_get, ERR_NOT_FOUND, "did you mean \"database\"?",
               (struct rig_ask){.id = "databse"});
    rig_do(g, server_jig_get, "Jig", (struct rig_ask){.id = "cloud"});
    is_text(rig_text(g, "reach"), "outside", "what a jig reaches");
    is_text(rig_text(g, "implementor"), "base", "the role that brings it");
    ok(!value_as_bool(rig_at(g, "active"), true), "a jig that is off");
    rig_refuse(g, server_jig_get, ERR_NOT_FOUND, "did you mean \"cloud\"?",
               (struct rig_ask){.id = "clout"});
    rig_list(g, server_jig_list, "Jig", (struct rig_ask){.query = "{'limit': '1'}"}, 1);
    rig_do(g, server_pool_get, "Pool", (struct rig_ask){.id = "license"});
    is_int(rig_int(g, "size"), 1, "a pool's size");
    rig_refuse(g, server_pool_get, ERR_NOT_FOUND, "license", (struct rig_ask){.id = "licence"});
}

static void test_generations(struct rig *g)
{
    rig_catalog(g);
    rig_catalog(g);
    rig_list(g, server_catalog_generations, "Catalog", (struct rig_ask){.query = "{'limit': '2'}"},
             2);
    is_int(rig_int(g, "total"), 3, "all generations are counted");
    ok(!rig_at(g, "items.0.files"), "files are not shown");
    const char *next = arena_strdup(&g->mem, rig_text(g, "next"));
    rig_list(g, server_catalog_generations, "Catalog",
             (struct rig_ask){.query = arena_printf(&g->mem, "{'after': '%s'}", next)}, 1);
    is_int(rig_int(g, "items.0.generation"), 3, "the last generation");
    ok(!rig_text(g, "next"), "is on the last page");
    rig_list(g, server_catalog_generations, "Catalog",
             (struct rig_ask){.query = "{'after': '0000000000000063'}"}, 0);
}

static void test_nodes(struct rig *g)
{
    rig_node(g, "db1.example.org",
             ", 'labels': {'rack': 'r1'}, 'groups': ['db', 'all'], 'addresses': ['10.0.0.1'],"
             "'facts': {'cpus': 8}, 'note': 'old disk', 'admin': true, 'slots': 2");
    rig_node(g, "web1.example.org", ", 'labels': {'rack': 'r2'}, 'groups': ['web', 'all']");
    rig_do(g, server_node_create, "Node",
           (struct rig_ask){.body = "{'name': 'web2.example.org', 'groups': ['web'],"
                                    "'available': false}"});
    rig_do(g, server_node_get, "Node", (struct rig_ask){.id = "db1.example.org"});
    is_text(rig_text(g, "labels.rack"), "r1", "labels");
    is_text(rig_text(g, "groups.1"), "all", "groups");
    is_text(rig_text(g, "addresses.0"), "10.0.0.1", "addresses");
    is_int(rig_int(g, "facts.cpus"), 8, "facts");
    is_text(rig_text(g, "note"), "old disk", "note");
    is_int(rig_int(g, "slots"), 2, "slots");
    ok(value_as_bool(rig_at(g, "admin"), false), "admin");
    is_text(rig_text(g, "state"), "ACTIVE", "a node without work has nothing left to do");
    is_text(rig_text(g, "deployment"), "system", "its home");
    is_int(g->reply.rev, rig_int(g, "rev"), "the revision is the tag");
    rig_do(g, server_node_get, "Node", (struct rig_ask){.id = "1"});
    is_text(rig_text(g, "name"), "db1.example.org", "a node is found by its number");
    rig_refuse(g, server_node_get, ERR_NOT_FOUND, "did you mean \"web1.example.org\"?",
               (struct rig_ask){.id = "wep1.example.org"});
    static const struct {
        const char *query;
        int64_t n;
    } filters[] = {
        {"{'selector': '@all'}", 2},
        {"{'selector': 'rack=r*'}", 2},
        {"{'selector': '!db'}", 2},
        {"{'selector': 'web*,db*'}", 3},
        {"{'selector': 'rack=r3'}", 0},
        {"{'alive': 'alive'}", 2},
        {"{'alive': 'dead'}", 0},
        {"{'state': 'ACTIVE'}", 3},
        {"{'state': 'ERROR'}", 0},
        {"{'deployment': 'system'}", 3},
        {"{'deployment': '1', 'selector': '@web', 'alive': 'unknown', 'limit': '1'}", 1},
    };
    for (size_t i = 0; i < sizeof filters / sizeof *filters; i++)
        rig_list(g, server_node_list, "Node", (struct rig_ask){.query = filters[i].query},
                 filters[i].n);
    rig_refuse(g, server_node_list, ERR_SYNTAX, "",
               (struct rig_ask){.query = "{'selector': '((' }"});
    rig_refuse(g, server_node_list, ERR_INVALID, "?deployment",
               (struct rig_ask){.query = "{'deployment': 'systen'}"});
    rig_list(g, server_group_list, "Group", (struct rig_ask){0}, 3);
    is_text(rig_text(g, "items.0.name"), "all", "groups are in order");
    is_int(rig_int(g, "items.2.count"), 2, "and counted");
    rig_list(g, server_group_list, "Group",
             (struct rig_ask){.query = "{'limit': '1', 'after': '0000000000000001'}"}, 1);
    is_text(rig_text(g, "items.0.name"), "db", "page by page");
}

/* base and database on db1, web on web1: from nothing to a failure and back. */
static void test_work(struct rig *g)
{
    uint32_t op = rig_bind(g, "database", "db1.example.org");
    uint32_t web_op = rig_bind(g, "web", "web1.example.org");
    uint32_t prepare = rig_task_of(g, "base", "db1.example.org", 0);
    uint32_t install = rig_task_of(g, "database", "db1.example.org", 0);
    const char *op_text = rig_id(g, op), *install_text = rig_id(g, install);
    ok(op > 1 && web_op > op, "two operations");
    rig_do(g, server_operation_get, "Operation", (struct rig_ask){.id = op_text});
    is_text(rig_text(g, "state"), "running", "it runs");
    is_int(rig_int(g, "progress.total"), 3, "its tasks");
    is_int(rig_int(g, "progress.ready"), 1, "one of them may start");
    ok(value_is(rig_at(g, "eta_ms"), VALUE_NULL), "nobody knows when it ends");
    uint64_t rev = g->reply.rev;
    is_int(rig_int(g, "rev"), (int64_t)rev, "its revision");
    is_text(rig_text(g, "actor"), "admin", "who asked");

    rig_do(g, server_node_get, "Node", (struct rig_ask){.id = "db1.example.org"});
    is_text(rig_text(g, "state"), "TODO", "work to come shows at the node");
    is_int(rig_int(g, "noderoles"), 3, "with its noderoles, the machine among them");
    rig_worker(g, 4);
    rig_list(g, server_worker_list, "Worker", (struct rig_ask){0}, 1);
    is_text(rig_text(g, "items.0.jigs.0"), "test", "what the worker can do");
    rig_do(g, server_jig_get, "Jig", (struct rig_ask){.id = "local"});
    is_int(rig_int(g, "workers"), 1, "counts for the jig");
    rig_do(g, server_task_get, "Task", (struct rig_ask){.id = rig_id(g, prepare)});
    is_text(rig_text(g, "state"), "RUNNING", "the first task runs");
    ok(rig_text(g, "started_at") && rig_text(g, "deadline_at"), "since when and until when");
    is_int(rig_int(g, "attempt"), 1, "its first attempt");
    rig_list(g, server_task_attempts, "Attempt", (struct rig_ask){.id = rig_id(g, prepare)}, 1);
    is_text(rig_text(g, "items.0.outcome"), "open", "which has not ended");
    ok(value_is(rig_at(g, "items.0.exit_code"), VALUE_NULL), "and has no exit code");
    rig_do(g, server_node_get, "Node", (struct rig_ask){.id = "db1.example.org"});
    is_text(rig_text(g, "state"), "TRANSITION", "work under way shows at the node");

    rig_result(g, prepare, OUTCOME_OK, 0, "", 0);
    rig_do(g, server_operation_get, "Operation", (struct rig_ask){.id = op_text});
    is_int(rig_int(g, "progress.done"), 1, "one task is done");
    ok(rig_int(g, "eta_ms") >= 0, "now its end can be guessed");
    ok(g->reply.rev != rev, "the revision is another one");
    rig_result(g, install, OUTCOME_FAILED, 2, "no such package", 0);
    rig_do(g, server_task_get, "Task", (struct rig_ask){.id = install_text});
    is_text(rig_text(g, "reason"), "back-off", "a task that is tried again");
    ok(rig_text(g, "wake_at"), "and when");
    is_int(rig_at(g, "deps")->n, 0, "no task of its own noderole stands before it");
    rig_do(g, server_task_poke, "Task", (struct rig_ask){.id = install_text});
    rig_list(g, server_task_attempts, "Attempt", (struct rig_ask){.id = install_text}, 1);
    is_int(rig_int(g, "items.0.exit_code"), 2, "an attempt on its way hides none before it");
    rig_settle(g);
    rig_result(g, install, OUTCOME_FAILED, 3, "no such package", 0);
    rig_list(g, server_task_attempts, "Attempt", (struct rig_ask){.id = install_text}, 2);
    is_int(rig_int(g, "items.1.exit_code"), 3, "the attempt's exit code");
    is_text(rig_text(g, "items.1.note"), "no such package", "and its last words");
    ok(rig_text(g, "items.1.ended_at"), "and its end");
    rig_list(g, server_task_attempts, "Attempt",
             (struct rig_ask){.id = install_text, .query = "{'limit': '1'}"}, 1);
    is_int(rig_int(g, "total"), 2, "attempts come in pages too");
    rig_do(g, server_node_get, "Node", (struct rig_ask){.id = "db1.example.org"});
    is_text(rig_text(g, "state"), "ERROR", "an error is the worst");
    rig_do(g, server_operation_get, "Operation", (struct rig_ask){.id = op_text});
    is_text(rig_text(g, "state"), "failed", "the operation has failed");
    ok(rig_text(g, "ended_at"), "at a time");
    is_int(rig_int(g, "progress.failed"), 1, "with what failed, and not what waits behind it");
    is_int(rig_int(g, "progress.failed"), rig_int(g, "outcome.failed"), "as in its outcome");
    is_int(rig_int(g, "progress.cancelled"), rig_int(g, "outcome.never_ran"), "with that");
    is_int(rig_int(g, "progress.done"), 1, "and what was done");
    rig_do(g, server_noderole_get, "Noderole",
           (struct rig_ask){.id = rig_id(g, rig_noderole(g, "database", "db1.example.org"))});
    is_text(rig_text(g, "state"), "ERROR", "the noderole too");
    is_int(rig_at(g, "tasks")->n, 2, "it shows its tasks");
    is_int(rig_at(g, "children")->n, 1, "and who needs it");
    ok(value_is(rig_at(g, "data"), VALUE_MAP), "and its data");
}

static void test_lists(struct rig *g)
{
    uint32_t op = (uint32_t)2, nr = rig_noderole(g, "database", "db1.example.org");
    const char *by_op = arena_printf(&g->mem, "{'operation': '%u'}", op);
    const char *by_nr = arena_printf(&g->mem, "{'noderole': '%u'}", nr);
    rig_list(g, server_task_list, "Task", (struct rig_ask){0}, 5);
    rig_list(g, server_task_list, "Task", (struct rig_ask){.query = by_op}, 3);
    is_int(rig_int(g, "total"), 3, "an operation's tasks are counted");
    rig_list(g, server_task_list, "Task", (struct rig_ask){.query = by_nr}, 2);
    const char *three[] = {"{'state': 'FAILED'}", "{'state': 'DONE'}", "{'state': 'RUNNING'}"};
    const int64_t counts[] = {1, 1, 1};
    for (int i = 0; i < 3; i++) {
        rig_list(g, server_task_list, "Task", (struct rig_ask){.query = three[i]}, counts[i]);
        is_int(rig_int(g, "total"), counts[i], "total of %s", three[i]);
    }
    rig_list(g, server_task_list, "Task",
             (struct rig_ask){
                 .query = arena_printf(&g->mem, "{'operation': '%u', 'state': 'FAILED'}", op)},
             1);
    rig_list(g, server_task_list, "Task",
             (struct rig_ask){
                 .query = arena_printf(&g->mem, "{'operation': '%u', 'state': 'WAITING'}", op)},
             0);
    rig_list(g, server_task_list, "Task", (struct rig_ask){.query = "{'node': 'db1.example.org'}"},
             3);
    rig_list(g, server_task_list, "Task",
             (struct rig_ask){.query = "{'node': 'db1.example.org', 'operation': '3'}"}, 0);
    rig_list(g, server_task_list, "Task", (struct rig_ask){.query = "{'limit': '2'}"}, 2);
    const char *next = arena_strdup(&g->mem, rig_text(g, "next"));
    is_int(rig_int(g, "total"), 5, "the total does not need the last page");
    rig_list(g, server_task_list, "Task",
             (struct rig_ask){.query = arena_printf(&g->mem, "{'after': '%s'}", next)}, 3);
    rig_refuse(g, server_task_list, ERR_INVALID, "?operation",
               (struct rig_ask){.query = "{'operation': '99'}"});
    rig_refuse(g, server_task_list, ERR_INVALID, "?noderole",
               (struct rig_ask){.query = "{'noderole': '99'}"});
    rig_refuse(g, server_task_list, ERR_INVALID, "?noderole",
               (struct rig_ask){.query = "{'noderole': 'x'}"});
    rig_refuse(g, server_task_list, ERR_INVALID, "?node",
               (struct rig_ask){.query = "{'node': 'db9.example.org'}"});

    static const struct {
        const char *query;
        int64_t n;
    } filters[] = {
        {"{'state': 'ERROR'}", 1},
        {"{'state': 'REMOVED'}", 0},
        {"{'state': 'BLOCKED'}", 1},
        {"{'role': 'base'}", 2},
        {"{'role': 'wipe'}", 0},
        {"{'node': 'db1.example.org'}", 3},
        {"{'node': 'db1.example.org', 'role': 'base'}", 1},
        {"{'deployment': 'system'}", 7},
        {"{'role': 'machine', 'state': 'ACTIVE'}", 3},
        {"{'deployment': 'system', 'role': 'web', 'state': 'BLOCKED'}", 1},
        {"{'limit': '3'}", 3},
    };
    for (size_t i = 0; i < sizeof filters / sizeof *filters; i++)
        rig_list(g, server_noderole_list, "Noderole", (struct rig_ask){.query = filters[i].query},
                 filters[i].n);
    is_int(rig_int(g, "total"), 7, "noderoles are counted beyond the page");
    rig_refuse(g, server_noderole_list, ERR_INVALID, "did you mean \"web\"?",
               (struct rig_ask){.query = "{'role': 'wep'}"});
    rig_refuse(g, server_noderole_list, ERR_INVALID, "?deployment",
               (struct rig_ask){.query = "{'deployment': 'x'}"});
    rig_refuse(g, server_noderole_list, ERR_INVALID, "?node",
               (struct rig_ask){.query = "{'node': 'x'}"});
    rig_list(g, server_operation_list, "Operation",
             (struct rig_ask){.query = "{'state': 'failed'}"}, 1);
    rig_list(g, server_operation_list, "Operation", (struct rig_ask){.query = "{'limit': '1'}"}, 1);
    is_int(rig_int(g, "total"), 3, "operations are counted");
}

static void test_missing(struct rig *g)
{
    static const struct {
        server_op_f *op;
        const char *what;
    } gets[] = {{server_noderole_get, "noderole"},
                {server_task_get, "task"},
                {server_operation_get, "operation"},
                {server_task_attempts, "task"}};
    for (size_t i = 0; i < sizeof gets / sizeof *gets; i++) {
        rig_refuse(g, gets[i].op, ERR_NOT_FOUND, gets[i].what, (struct rig_ask){.id = "999"});
        rig_refuse(g, gets[i].op, ERR_NOT_FOUND, gets[i].what, (struct rig_ask){.id = "x"});
    }
    rig_refuse(g, server_deployment_get, ERR_NOT_FOUND, "did you mean \"system\"?",
               (struct rig_ask){.id = "sistem"});
    server_op_f *const lists[] = {server_node_list,       server_group_list,
                                  server_deployment_list, server_operation_list,
                                  server_worker_list,     server_noderole_list,
                                  server_task_list,       server_catalog_generations,
                                  server_barclamp_list,   server_role_list,
                                  server_jig_list,        server_pool_list,
                                  server_token_list};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        rig_refuse(g, lists[i], ERR_INVALID, "?after", (struct rig_ask){.query = "{'after': 'x'}"});
    rig_refuse(g, server_task_attempts, ERR_INVALID, "?after",
               (struct rig_ask){.id = "1", .query = "{'after': 'x'}"});
}

static void test_rest(struct rig *g)
{
    rig_do(g, server_deployment_get, "Deployment", (struct rig_ask){.id = "system"});
    is_int(rig_int(g, "noderoles.ERROR"), 1, "a deployment counts its noderoles");
    ok(!rig_at(g, "noderoles.REMOVED"), "and leaves out what there is none of");
    rig_do(g, server_status, "Status", (struct rig_ask){0});
    is_int(rig_int(g, "nodes.alive"), 2, "nodes by aliveness");
    is_int(rig_int(g, "noderoles.ERROR"), 1, "noderoles by state");
    is_int(rig_int(g, "tasks.FAILED"), 1, "tasks by state");
    is_int(rig_int(g, "workers"), 1, "workers");
    is_int(rig_at(g, "operations")->n, 1, "the open operation");
    ok(rig_int(g, "store.bytes") > 0, "the store has a size");
    ok(value_is(rig_at(g, "store.backup"), VALUE_NULL), "no backup was made");
    SCOPED_BUF(b);
    server_metrics(g->server, &b);
    static const char *const lines[] = {"# TYPE anneal_tasks gauge\n",
                                        "anneal_tasks{state=\"FAILED\"} 1\n",
                                        "anneal_noderoles{state=\"ERROR\"} 1\n",
                                        "anneal_nodes{alive=\"alive\"} 2\n",
                                        "anneal_operations{state=\"failed\"} 1\n",
                                        "anneal_operations{state=\"running\"} 1\n",
                                        "anneal_capacity 4\n",
                                        "anneal_workers 1\n",
                                        "anneal_degraded 0\n",
                                        "anneal_results_total 3\n",
                                        "# TYPE anneal_groups_total counter\n",
                                        "anneal_pool_size{pool=\"license\"} 1\n",
                                        "anneal_catalog_generation 3\n",
                                        "anneal_nodes_available 2\n",
                                        "# HELP anneal_store_bytes Size of the store.\n"};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        has_text(b.data, lines[i], "metrics say %.*s", (int)strcspn(lines[i], "\n"), lines[i]);
}

/* Every line is a comment or "name{labels} number", and each family has its two comments in front.
 */
static void test_metrics_form(struct rig *g)
{
    SCOPED_BUF(b);
    char name[128] = "";
    int bad = 0;
    server_metrics(g->server, &b);
    for (char *save = NULL, *line = strtok_r(b.data, "\n", &save); line;
         line = strtok_r(NULL, "\n", &save)) {
        char found[128], rest[512];
        if (sscanf(line, "# HELP %127s %511[^\n]", found, rest) == 2) {
            snprintf(name, sizeof name, "%s", found);
        } else if (sscanf(line, "# TYPE %127s %511s", found, rest) == 2) {
            bad += strcmp(found, name) != 0;
            bad += strcmp(rest, "gauge") != 0 && strcmp(rest, "counter") != 0;
            bad += (strcmp(rest, "counter") == 0) != (strstr(found, "_total") != NULL);
        } else {
            unsigned long long n;
            size_t k = strcspn(line, "{ ");
            bad += strncmp(line, name, k) != 0 || name[k] != '\0';
            bad += sscanf(strrchr(line, ' '), " %llu", &n) != 1;
        }
    }
    is_int(bad, 0, "every line of the metrics is well formed");
}

/* A node that is unavailable: its clocks stand still. */
static void test_clocks(struct rig *g)
{
    uint32_t t = rig_task_of(g, "base", "web1.example.org", 0);
    rig_do(g, server_task_get, "Task", (struct rig_ask){.id = rig_id(g, t)});
    ok(rig_text(g, "deadline_at"), "a deadline");
    rig_do(g, server_node_patch, "Node",
           (struct rig_ask){.id = "web1.example.org", .body = "{'available': false}"});
    rig_do(g, server_task_get, "Task", (struct rig_ask){.id = rig_id(g, t)});
    ok(!rig_text(g, "deadline_at"), "stands still with its node");
    rig_do(g, server_node_patch, "Node",
           (struct rig_ask){.id = "web1.example.org", .body = "{'available': true}"});
    is_text(view_time(&g->mem, 1700000000123ull), "2023-11-14T22:13:20.123Z", "times are RFC 3339");
    ok(!view_time(&g->mem, 0), "none is none");
    is_int(view_wall(g->server, 0), 0, "the engine's none too");
    is_int(view_wall(g->server, 1) > 0, 1, "the dawn of the engine is some time");
    ok(view_json(&g->mem, "[1]")->kind == VALUE_MAP, "what is no map reads as an empty one");
    ok(view_json(&g->mem, "{")->kind == VALUE_MAP, "what is no JSON too");
    is_text(view_role_name(g->server, 0), "?", "nobody's role");
    is_text(view_task_name(g->server, 99999), "?", "no task's name");
    ok(!view_node_name(g->server, 99) && !view_jig_name(g->server, 99) &&
           !view_pool_name(g->server, 99) && !view_deployment_name(g->server, 99),
       "names of what is not there");
}

static void test_restart(struct rig *g)
{
    rig_do(g, server_node_get, "Node", (struct rig_ask){.id = "db1.example.org"});
    const struct value *before = g->reply.body;
    rig_do(g, server_noderole_get, "Noderole", (struct rig_ask){.id = "2"});
    const struct value *noderole = g->reply.body;
    rig_do(g, server_deployment_get, "Deployment", (struct rig_ask){.id = "system"});
    const struct value *deployment = g->reply.body;
    rig_settle(g);
    rig_restart(g);
    rig_do(g, server_node_get, "Node", (struct rig_ask){.id = "db1.example.org"});
    ok(value_equal(before, g->reply.body), "a node is the same after a restart");
    rig_do(g, server_noderole_get, "Noderole", (struct rig_ask){.id = "2"});
    ok(value_equal(noderole, g->reply.body), "a noderole is the same after a restart");
    rig_do(g, server_deployment_get, "Deployment", (struct rig_ask){.id = "system"});
    ok(value_equal(deployment, g->reply.body), "a deployment is the same after a restart");
    rig_do(g, server_catalog_get, "Catalog", (struct rig_ask){0});
    is_int(rig_int(g, "generation"), 3, "the catalog is the last one");
}

int main(void)
{
    struct rig g;
    rig_open(&g);
    test_nothing(&g);
    test_catalog(&g);
    test_generations(&g);
    test_nodes(&g);
    test_work(&g);
    test_lists(&g);
    test_missing(&g);
    test_rest(&g);
    test_metrics_form(&g);
    test_clocks(&g);
    test_restart(&g);
    rig_close(&g);
    return tap_done();
}
