/* test_deploy.c - graphs on the nodes of a deployment: who is there, what conditions compare with,
 * what refuses a run, what stays of it
 *
 * The worker is the test: it writes down what it gets and answers.  A dry run is the server's whole
 * opinion of a deployment, so it is what must be the same after a restart.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "server/deploy.h"

#include "server_rig.h"

#define ASK(...)                                                                                   \
    (struct rig_ask)                                                                               \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }

#define SITE                                                                                       \
    "barclamp: site\nversion: 1.0.0\n"                                                             \
    "jigs: [{name: local, implementation: test, active: true, reach: node}]\n"                     \
    "roles:\n"                                                                                     \
    "  - {name: plain, jig: local, actions: {converge: [{name: plain-up, params: {}}]}}\n"

struct job {
    uint32_t task, attempt, ask;
    const char *what;   /* "task@node" */
    const char *params; /* as they came */
};
struct bench {
    struct rig g; /* first: what the worker gets comes with the rig */
    struct buf ran;
    VEC(struct job) jobs;
    size_t done; /* jobs that were answered */
};

static void on_message(struct rig *g, const struct taskmsg *m)
{
    struct bench *b = (struct bench *)g;
    if (m->kind != TASKMSG_TASK)
        return;
    const char *what = arena_printf(&g->mem, "%.*s@%.*s", (int)m->name.n, m->name.s, (int)m->node.n,
                                    m->node.s);
    vec_push(&b->jobs, ((struct job){m->task, m->attempt, m->ask, what,
                                     arena_strndup(&g->mem, m->params.s, m->params.n)}));
    buf_printf(&b->ran, "%s%s", b->ran.len ? " " : "", what);
}

static void hello(struct bench *b)
{
    struct str jigs[] = {str_of("test"), str_of("noop"), str_of("upload_file")};
    b->g.message = on_message;
    rig_send(&b->g, &(struct taskmsg){.kind = TASKMSG_HELLO,
                                      .worker = str_of("w1"),
                                      .capacity = 64,
                                      .jigs = jigs,
                                      .n_jigs = 3});
}

static int load(struct bench *b, const char *barclamp, const char *graph)
{
    struct rig *g = &b->g;
    struct value *body = value_map(&g->mem), *files = value_map(&g->mem);
    struct server_call c = {.mem = &g->mem, .who = &g->who, .body = body};
    value_put_text(&g->mem, files, "site/barclamp.yaml", barclamp);
    value_put_text(&g->mem, files, "site/graphs/all.yaml", graph);
    value_set(&g->mem, body, "files", files);
    g->reply = (struct server_reply){0};
    err_clear(&g->err);
    int rc = server_catalog_load(g->server, &c, &g->reply, &g->err);
    rig_settle(g);
    return rc;
}

static void loads(struct bench *b, const char *graph)
{
    if (!ok(load(b, SITE, graph) >= 0, "the catalog is loaded"))
        printf("#   %s: %s\n", b->g.err.at, b->g.err.text);
}

/* Four nodes, n4 in a group of nodes, and a deployment d. */
static void begin(struct bench *b, const char *graph)
{
    *b = (struct bench){0};
    rig_open(&b->g);
    hello(b);
    loads(b, graph);
    for (int i = 1; i <= 4; i++)
        rig_node(&b->g, arena_printf(&b->g.mem, "n%d", i), i == 4 ? ", 'groups': ['rack']" : "");
    rig_do(&b->g, server_deployment_create, "Deployment", ASK(.body = "{'name': 'd'}"));
    rig_settle(&b->g);
}

static void end(struct bench *b)
{
    buf_done(&b->ran);
    vec_done(&b->jobs);
    rig_close(&b->g);
}

/* What is said of the whole deployment. */
static void common(struct bench *b, const char *data)
{
    const char *edits = arena_printf(
        &b->g.mem, "{'edits': [{'edit': 'replace-data', 'role': 'task-graph', 'data': %s}]}", data);
    rig_do(&b->g, server_deployment_propose, "Snapshot", ASK(.id = "d"));
    rig_do(&b->g, server_deployment_edit, "Snapshot", ASK(.id = "d", .body = edits));
    rig_do(&b->g, server_deployment_commit, "CommitResult", ASK(.id = "d"));
    rig_settle(&b->g);
}

static void deploy(struct bench *b, const char *body)
{
    buf_clear(&b->ran);
    rig_do(&b->g, server_deployment_deploy, "DeployResult", ASK(.id = "d", .body = body));
    rig_settle(&b->g);
}

static void answer(struct bench *b, const struct job *j, enum outcome outcome)
{
    if (anneal_attempt_open(b->g.server->engine, j->task, j->attempt))
        rig_send(&b->g, &(struct taskmsg){.kind = TASKMSG_RESULT,
                                          .task = j->task,
                                          .attempt = j->attempt,
                                          .ask = j->ask,
                                          .seq = ++b->g.seq,
                                          .outcome = outcome});
}

/* Answers everything there is and comes; what begins as `fails` does fails. */
static void work(struct bench *b, const char *fails)
{
    for (; b->done < b->jobs.n; b->done++) {
        struct job j = b->jobs.at[b->done];
        answer(b, &j,
               fails && !strncmp(j.what, fails, strlen(fails)) ? OUTCOME_FAILED : OUTCOME_OK);
    }
}

static void bind_data(struct bench *b, const char *role, const char *nodes, const char *data)
{
    const char *body = arena_printf(
        &b->g.mem, "{'bindings': [{'role': '%s', 'nodes': '%s', 'data': %s}]}", role, nodes, data);
    rig_do(&b->g, server_deployment_bind, "BindResult", ASK(.id = "d", .body = body));
    rig_settle(&b->g);
    work(b, NULL);
}

static void bind(struct bench *b, const char *role, const char *nodes)
{
    bind_data(b, role, nodes, "{}");
}

static void unbind(struct bench *b, const char *role, const char *nodes)
{
    const char *body = arena_printf(&b->g.mem, "{'bindings': [{'role': '%s', 'nodes': '%s'}]}",
                                    role, nodes);
    rig_do(&b->g, server_deployment_unbind, NULL, ASK(.id = "d", .body = body));
    rig_settle(&b->g);
}

static const char *ran(const struct bench *b)
{
    return b->ran.len ? b->ran.data : "";
}

/* Deploys to the end; what ran, in the order in which it was sent. */
static void runs(struct bench *b, const char *body, const char *what, const char *label)
{
    deploy(b, body);
    work(b, NULL);
    is_text(ran(b), what, "%s", label);
}

static const char *dry(struct bench *b)
{
    SCOPED_BUF(text);
    rig_do(&b->g, server_deployment_deploy, "DeployResult",
           ASK(.id = "d", .body = "{'dry_run': true}"));
    json_write(&text, b->g.reply.body, 0);
    return arena_strndup(&b->g.mem, text.data, text.len);
}

/* A server that starts from what is stored thinks the same. */
static void restarts(struct bench *b)
{
    const char *before = dry(b);
    rig_settle(&b->g);
    rig_restart(&b->g);
    hello(b);
    is_text(dry(b), before, "a restart changes nothing about the next run");
}

static uint64_t state(struct bench *b)
{
    rig_settle(&b->g);
    return anneal_digest(b->g.server->engine);
}

static void refused(struct bench *b, enum errcode code, const char *words, const char *body)
{
    uint64_t was = state(b);
    uint32_t operations = anneal_operation_end(b->g.server->engine);
    rig_refuse(&b->g, server_deployment_deploy, code, words, ASK(.id = "d", .body = body));
    ok(state(b) == was, "and nothing is left behind");
    is_int(anneal_operation_end(b->g.server->engine), operations, "no operation either");
}

static uint32_t last_op(const struct bench *b)
{
    return anneal_operation_end(b->g.server->engine) - 1;
}

static const char *op_state(const struct bench *b, uint32_t op)
{
    struct operation_view v;
    return anneal_operation(b->g.server->engine, op, &v) ? operation_state_name(v.state) : "none";
}

/* --- who is there --- */

static void test_nodes(void)
{
    static const char graph[] = "- {id: web, type: group}\n"
                                "- {id: on-web, type: local, groups: [web]}\n"
                                "- {id: on-plain, type: local, role: plain, requires: [on-web]}\n"
                                "- {id: on-rack, type: local, role: rack, requires: [on-plain]}\n"
                                "- {id: all, type: local, role: '*', requires: [on-rack]}\n"
                                "- {id: boss, type: local, role: master, requires: [all]}\n";
    struct bench b;
    begin(&b, graph);
    refused(&b, ERR_REFUSED, "nothing is bound in deployment d", "{}");
    bind(&b, "web", "n1");
    bind(&b, "plain", "n2,n4");
    refused(&b, ERR_REFUSED, "boss runs on the master, and no node of deployment d is it", "{}");
    refused(&b, ERR_NOT_FOUND, "--on n3 selects no node of deployment d",
            "{'on': 'n3', 'skip': ['boss']}");
    is_int(rig_noderole(&b.g, "task-graph", "n2"), 0, "what carries tasks is bound by a run only");
    runs(&b, "{'skip': ['boss']}",
         "on-web@n1 on-plain@n4 on-plain@n2 on-rack@n4 all@n1 all@n2 all@n4",
         "nodes answer to their roles and groups, without a master what needs none runs");
    ok(rig_noderole(&b.g, "task-graph", "n2") && rig_noderole(&b.g, "task-graph", "n4"),
       "nodes with ordinary roles only get what carries tasks");
    is_int(rig_noderole(&b.g, "task-graph", "n1"), 0, "others do not");
    is_int(rig_noderole(&b.g, "task-graph", "n3"), 0, "nor do those that are not in the graph");
    bind(&b, "master", "n3");
    runs(&b, "{}", "on-web@n1 on-plain@n4 on-plain@n2 on-rack@n4 all@n1 all@n2 all@n4 boss@n3",
         "one that is the master only has no names");
    runs(&b, "{'on': 'n3'}", "boss@n3", "and is chosen as any other node is");
    restarts(&b);
    bind(&b, "master", "n1");
    refused(&b, ERR_REFUSED, "two nodes have the role master: n1 and n3", "{}");
    unbind(&b, "master", "n3");
    runs(&b, "{'on': 'n1'}", "on-web@n1 all@n1 boss@n1", "whoever else it is, it is the master");
    restarts(&b);
    end(&b);
}

/* --- what conditions compare with --- */

static void test_conditions(void)
{
    static const char graph[] =
        "- {id: web, type: group}\n"
        "- {id: one, type: local, groups: [web], condition: changed(common.x)}\n"
        "- {id: two, type: local, groups: [web], condition: changed(common.x), requires: [one]}\n"
        "- {id: own, type: local, groups: [web], condition: changed(node.y), requires: [two]}\n";
    struct bench b;
    begin(&b, graph);
    bind_data(&b, "web", "n1,n2", "{'y': 0}");
    common(&b, "{'x': 1}");
    runs(&b, "{}", "one@n1 one@n2 two@n1 two@n2 own@n1 own@n2", "at first everything has changed");
    runs(&b, "{}", "", "then nothing");
    is_text(op_state(&b, last_op(&b)), "succeeded", "and the run has ended");
    restarts(&b);
    common(&b, "{'x': 2}");
    runs(&b, "{'skip': ['two']}", "one@n1 one@n2", "a task is left out");
    runs(&b, "{}", "two@n1 two@n2", "and has seen nothing since");
    common(&b, "{'x': 1}");
    runs(&b, "{'only': ['one/n1']}", "one@n1", "back to what was");
    runs(&b, "{}", "one@n2 two@n1 two@n2", "is a change for those that saw something else");
    restarts(&b);
    runs(&b, "{'no_op': true, 'force': true}", "one@n1 one@n2 two@n1 two@n2 own@n1 own@n2",
         "forced, everything runs");
    common(&b, "{'x': 3}");
    runs(&b, "{'no_op': true}", "one@n1 one@n2 two@n1 two@n2", "a run that changes nothing");
    runs(&b, "{}", "one@n1 one@n2 two@n1 two@n2", "has not been one");

    const char *n1 = rig_id(&b.g, rig_noderole(&b.g, "web", "n1"));
    b.g.if_match = "*";
    buf_clear(&b.ran);
    rig_do(&b.g, server_noderole_data, "Noderole", ASK(.id = n1, .body = "{'y': 1}"));
    rig_settle(&b.g);
    work(&b, NULL);
    is_text(ran(&b), "", "data of a noderole run nothing by themselves");
    runs(&b, "{}", "own@n1", "but are seen by the next run");
    restarts(&b);

    common(&b, "{'x': 4}");
    deploy(&b, "{}");
    work(&b, "two@n1");
    is_text(op_state(&b, last_op(&b)), "failed", "a task fails");
    restarts(&b);
    runs(&b, "{}", "one@n1 two@n1 own@n1", "a node that failed has seen nothing");
    runs(&b, "{}", "", "until it is well again");

    common(&b, "{'x': 5}");
    deploy(&b, "{}");
    work(&b, "two@n1");
    rig_do(&b.g, server_operation_retry, "Operation", ASK(.id = rig_id(&b.g, last_op(&b))));
    rig_settle(&b.g);
    work(&b, NULL);
    is_text(op_state(&b, last_op(&b)), "succeeded", "what failed is tried again");
    runs(&b, "{}", "own@n1", "and has seen what it has been tried with");
    restarts(&b);

    rig_do(&b.g, server_node_redeploy, "Operation", ASK(.id = "n2"));
    rig_settle(&b.g);
    work(&b, NULL);
    runs(&b, "{}", "one@n2 two@n2 own@n2", "a node that began from nothing has seen nothing");
    restarts(&b);
    end(&b);
}

/* A task that was tried with other data and not done is not what it was. */
static void test_half_done(void)
{
    static const char graph[] =
        "- {id: web, type: group}\n"
        "- {id: one, type: local, groups: [web], condition: changed(common.x)}\n"
        "- {id: may, type: local, groups: [web], condition: changed(common.x), requires: [one],\n"
        "   fail_on_error: false}\n";
    struct bench b;
    begin(&b, graph);
    bind(&b, "web", "n1");
    common(&b, "{'x': 1}");
    runs(&b, "{}", "one@n1 may@n1", "with the first data");
    common(&b, "{'x': 2}");
    deploy(&b, "{}");
    is_text(ran(&b), "one@n1", "with others it has begun");
    rig_do(&b.g, server_operation_cancel, "Operation",
           ASK(.id = rig_id(&b.g, last_op(&b)), .body = "{'abort': true}"));
    rig_settle(&b.g);
    answer(&b, &b.jobs.at[b.done++], OUTCOME_CANCELLED);
    is_text(op_state(&b, last_op(&b)), "cancelled", "and is stopped");
    common(&b, "{'x': 1}");
    runs(&b, "{}", "one@n1", "so it runs again with what it saw before, and only that");
    common(&b, "{'x': 2}");
    deploy(&b, "{}");
    work(&b, "may@n1");
    is_text(ran(&b), "one@n1 may@n1", "one that may fail");
    common(&b, "{'x': 1}");
    runs(&b, "{}", "one@n1 may@n1", "has not been done when it has failed");
    restarts(&b);
    end(&b);
}

/* Another group has the task now. */
static void test_moved(void)
{
#define OWNED(group)                                                                               \
    "- {id: a, type: group}\n- {id: b, type: group}\n"                                             \
    "- {id: t, type: local, groups: [" group "], condition: changed(common.x)}\n"
    struct bench b;
    begin(&b, OWNED("a"));
    bind(&b, "a", "n1");
    bind(&b, "b", "n1");
    common(&b, "{'x': 1}");
    runs(&b, "{}", "t@n1", "a group has it");
    loads(&b, OWNED("b"));
    common(&b, "{'x': 2}");
    runs(&b, "{}", "t@n1", "another one has it");
    common(&b, "{'x': 1}");
    runs(&b, "{}", "t@n1", "what the first one saw is forgotten");
    runs(&b, "{}", "", "and what the other saw is not");
    restarts(&b);
    end(&b);
}

/* --- parameters --- */

static const char *params_of(const struct bench *b, const char *what)
{
    for (size_t i = b->jobs.n; i-- > 0;)
        if (!strcmp(b->jobs.at[i].what, what))
            return b->jobs.at[i].params;
    return "";
}

static void test_parameters(void)
{
    static const char graph[] =
        "- {id: web, type: group}\n"
        "- id: t\n"
        "  type: local\n"
        "  groups: [web]\n"
        "  parameters:\n"
        "    deep: [1, {a: {expr: node.name}, b: [{expr: 'common.x + 1'}, 3]}]\n"
        "    whole: {expr: common.map}\n"
        "    map: {expr: common.x, not: one}\n"
        "    timeout: 5\n"
        "- {id: file, type: node_file, groups: [web], requires: [t],\n"
        "   parameters: {path: /etc/settings.yaml, permissions: '0640'}}\n";
    struct bench b;
    begin(&b, graph);
    bind(&b, "web", "n1,n2");
    refused(&b, ERR_UNKNOWN_NAME, "parameters of t", "{}");
    common(&b, "{'x': 6, 'map': {'k': [true, null]}}");
    runs(&b, "{}", "t@n1 t@n2 file@n1 file@n2", "with what they read they run");
    is_text(params_of(&b, "t@n1"),
            "{\"deep\":[1,{\"a\":\"n1\",\"b\":[7,3]}],\"map\":{\"expr\":\"common.x\",\"not\":"
            "\"one\"},\"whole\":{\"k\":[true,null]}}",
            "expressions in lists and maps");
    has_text(params_of(&b, "t@n2"), "\"a\":\"n2\"", "are those of the node");
    const char *file = params_of(&b, "file@n2");
    has_text(file, "\"path\":\"/etc/settings.yaml\"", "the file of a node is uploaded");
    has_text(file, "0640", "as it is said");
    has_text(file, "x: 6", "with its settings");
    has_text(file, "n2", "and its name");
    ok(!strstr(file, "n1"), "and nothing of others");
    restarts(&b);
    end(&b);
}

/* --- refusals --- */

static void test_refusals(void)
{
    static const char graph[] =
        "- {id: web, type: group}\n"
        "- {id: t, type: local, groups: [web]}\n"
        "- {id: strange, type: alien, role: plain}\n"
        "- {id: asks, type: local, role: plain, condition: common.nothing}\n"
        "- {id: reads, type: local, role: plain, parameters: {v: {expr: common.nothing}}}\n";
    static const char circle[] =
        "- {id: web, type: group, strategy: {type: one_by_one}}\n"
        "- {id: x, type: local, groups: [web]}\n"
        "- {id: y, type: local, groups: [web], cross_depends: [{name: x, role: web}]}\n";
    struct bench b;
    begin(&b, graph);
    bind(&b, "web", "n1");
    bind(&b, "plain", "n2");
    rig_refuse(&b.g, server_deployment_deploy, ERR_NOT_FOUND, "deployment e",
               ASK(.id = "e", .body = "{}"));
    refused(&b, ERR_NOT_FOUND, "graph", "{'graph': 'other'}");
    refused(&b, ERR_NOT_FOUND, "--only: nothing is called tt", "{'only': ['tt']}");
    refused(&b, ERR_UNKNOWN_NAME, "condition of asks on n2", "{'skip': ['strange', 'reads']}");
    refused(&b, ERR_REFUSED, "no jig executes tasks of type alien (strange)",
            "{'skip': ['asks', 'reads']}");
    refused(&b, ERR_UNKNOWN_NAME, "parameters of reads", "{'skip': ['asks', 'strange']}");
    is_int(rig_noderole(&b.g, "task-graph", "n2"), 0, "not even what would carry tasks");
    deploy(&b, "{'only': ['t']}");
    uint32_t op = last_op(&b);
    refused(&b, ERR_CONFLICT, arena_printf(&b.g.mem, "belongs to operation %u, which is open", op),
            "{'only': ['t']}");
    work(&b, NULL);
    is_text(op_state(&b, op), "succeeded", "which ends nevertheless");
    b.g.opts.max_tasks = anneal_task_end(b.g.server->engine) + 1;
    refused(&b, ERR_LIMIT, "max_tasks", "{'only': ['t']}");
    b.g.opts.max_tasks = 2;
    refused(&b, ERR_LIMIT, "max_tasks in the configuration is 2", "{'only': ['t']}");
    b.g.opts.max_tasks = 1000;
    loads(&b, circle);
    bind(&b, "web", "n2");
    refused(&b, ERR_CONFLICT, "strategy", "{}");
    end(&b);
}

/* --- groups --- */

static void test_tolerance(void)
{
    static const char graph[] = "- {id: web, type: group, fault_tolerance: 1}\n"
                                "- {id: db, type: group, fault_tolerance: 0, requires: [web]}\n"
                                "- {id: w, type: local, groups: [web]}\n"
                                "- {id: q, type: local, groups: [db]}\n";
    struct bench b;
    begin(&b, graph);
    bind(&b, "web", "n1,n2");
    bind(&b, "db", "n3");
    deploy(&b, "{}");
    work(&b, "w@n1");
    is_text(ran(&b), "w@n1 w@n2 q@n3", "one may fail");
    is_text(op_state(&b, last_op(&b)), "succeeded-with-failures", "and it is told");
    restarts(&b);
    deploy(&b, "{}");
    work(&b, "w@");
    is_text(ran(&b), "w@n1 w@n2", "two may not");
    is_text(op_state(&b, last_op(&b)), "failed", "then nothing else runs");
    deploy(&b, "{}");
    work(&b, "q@");
    is_text(op_state(&b, last_op(&b)), "failed", "a group that may lose nobody fails all");
    restarts(&b);
    runs(&b, "{}", "w@n1 w@n2 q@n3", "and all is well again");
    is_text(op_state(&b, last_op(&b)), "succeeded", "in the end");
    end(&b);
}

static void test_pools(void)
{
    static const char graph[] =
        "- {id: web, type: group}\n"
        "- {id: w, type: local, groups: [web], strategy: {type: parallel, amount: {expr: "
        "common.n}}, parameters: {v: {expr: common.v}}}\n";
    struct bench b;
    begin(&b, graph);
    bind(&b, "web", "n1,n2,n3");
    common(&b, "{'n': 1, 'v': 1}");
    deploy(&b, "{}");
    is_text(ran(&b), "w@n1", "one at once");
    work(&b, NULL);
    common(&b, "{'n': 2, 'v': 1}");
    deploy(&b, "{}");
    is_text(ran(&b), "w@n1 w@n2", "then two");
    work(&b, NULL);
    restarts(&b);
    common(&b, "{'n': 3}");
    refused(&b, ERR_UNKNOWN_NAME, "parameters of w", "{}");
    common(&b, "{'n': 3, 'v': 1}");
    b.g.opts.max_tasks = anneal_task_end(b.g.server->engine) + 1;
    refused(&b, ERR_LIMIT, "max_tasks", "{}");
    b.g.opts.max_tasks = 1000;
    common(&b, "{'n': 1, 'v': 1}");
    deploy(&b, "{}");
    is_text(ran(&b), "w@n1", "and one again");
    work(&b, NULL);
    is_text(ran(&b), "w@n1 w@n2 w@n3", "each in its turn");
    end(&b);
}

/* --- while it runs, and afterwards --- */

static uint32_t carrier(struct bench *b)
{
    (void)rig_call(&b->g, server_noderole_list, ASK(.query = "{'role': 'task-graph'}"));
    return (uint32_t)rig_int(&b->g, "items.0.id");
}

static void why(struct bench *b, const char *kind, uint32_t id, const char *words)
{
    rig_do(&b->g, server_why, "Why", ASK(.id = kind, .id2 = rig_id(&b->g, id)));
    SCOPED_BUF(text);
    json_write(&text, b->g.reply.body, 0);
    has_text(text.data, words, "why %s tells %s", kind, words);
    ok(!strstr(text.data, "(null)") && !strstr(text.data, "@?"), "in words");
}

static void test_meanwhile(void)
{
    static const char graph[] =
        "- {id: web, type: group, required_for: [deployment]}\n"
        "- {id: one, type: local, groups: [web]}\n"
        "- {id: never, type: local, groups: [web], condition: 'false', requires: [one]}\n"
        "- {id: two, type: local, role: '*', requires: [deployment]}\n";
    struct bench b;
    begin(&b, graph);
    bind(&b, "web", "n1,n2");
    deploy(&b, "{}");
    uint32_t op = last_op(&b), id = carrier(&b);
    struct noderole_view v;
    ok(anneal_noderole(b.g.server->engine, id, &v) && !v.node, "stages are of no node");
    rig_do(&b.g, server_noderole_get, "Noderole", ASK(.id = rig_id(&b.g, id)));
    why(&b, "noderole", id, "task-graph");
    for (uint32_t t = v.first_task; t < v.first_task + v.n_tasks; t++)
        why(&b, "task", t, "task");
    why(&b, "task", rig_task_of(&b.g, "web", "n1", 1), "never");
    rig_refuse(&b.g, server_noderole_rerun, ERR_CONFLICT, "task-graph",
               ASK(.id = rig_id(&b.g, id)));
    rig_do(&b.g, server_status, "Status", ASK(.id = NULL));
    rig_do(&b.g, server_operation_timeline, "Timeline", ASK(.id = rig_id(&b.g, op)));
    common(&b, "{'x': 1}");
    is_text(op_state(&b, op), "running", "a commit of data leaves it alone");
    loads(&b, graph);
    is_text(op_state(&b, op), "running", "and so does a catalog");
    rig_refuse(&b.g, server_node_redeploy, ERR_CONFLICT, "which is open", ASK(.id = "n1"));
    unbind(&b, "web", "n2");
    work(&b, NULL);
    is_text(op_state(&b, op), "succeeded", "it ends without a node that left");
    has_text(ran(&b), "two@n1", "and has run on the others");
    rig_do(&b.g, server_noderole_rerun, "Operation", ASK(.id = rig_id(&b.g, id)));
    has_text(rig_text(&b.g, "title"), "re-run task-graph", "stages can be passed again");
    ok(!strstr(rig_text(&b.g, "title"), "null"), "under a name");
    rig_settle(&b.g);
    work(&b, NULL);
    is_text(op_state(&b, last_op(&b)), "succeeded", "which ends");
    restarts(&b);
    deploy(&b, "{}");
    rig_do(&b.g, server_operation_cancel, "Operation", ASK(.id = rig_id(&b.g, last_op(&b))));
    work(&b, NULL);
    is_text(op_state(&b, last_op(&b)), "cancelled", "a run is stopped");
    restarts(&b);
    rig_refuse(&b.g, server_deployment_delete, ERR_CONFLICT, "web@n1", ASK(.id = "d"));
    unbind(&b, "web", "n1");
    work(&b, NULL);
    b.g.if_match = "*";
    rig_do(&b.g, server_deployment_delete, NULL, ASK(.id = "d"));
    rig_settle(&b.g);
    (void)rig_call(&b.g, server_noderole_list, ASK(.query = "{'role': 'task-graph'}"));
    is_int(rig_int(&b.g, "total"), 0, "its stages go with a deployment");
    end(&b);
}

/* --- what is kept --- */

static int count_row(void *arg, enum row_table t, const void *row, struct err *e)
{
    (void)t;
    (void)row;
    (void)e;
    ++*(int *)arg;
    return 0;
}

static int documents(struct bench *b)
{
    struct err e;
    int n = 0;
    rig_settle(&b->g);
    is_int(store_each(b->g.server->reader, ROWS_DEPLOY_DOC, count_row, &n, &e), 0, "they are read");
    return n;
}

static void test_documents(void)
{
    static const char graph[] = "- {id: web, type: group}\n- {id: t, type: local, groups: [web]}\n";
    struct bench b;
    begin(&b, graph);
    bind(&b, "web", "n1,n2");
    runs(&b, "{}", "t@n1 t@n2", "a run");
    is_int(documents(&b), 3, "one for all and one for each node");
    for (int i = 0; i < 3; i++) {
        common(&b, arena_printf(&b.g.mem, "{'x': %d}", i));
        runs(&b, "{}", "t@n1 t@n2", "and another");
    }
    is_int(documents(&b), 6, "are kept by content");
    rig_restart(&b.g);
    hello(&b);
    is_int(documents(&b), 3, "what nobody refers to goes at the next start");
    restarts(&b);
    is_int(documents(&b), 3, "and nothing else");
    unbind(&b, "web", "n2");
    work(&b, NULL);
    rig_restart(&b.g);
    hello(&b);
    is_int(documents(&b), 2, "a node that leaves takes its own along");
    end(&b);
}

int main(void)
{
    test_nodes();
    test_conditions();
    test_half_done();
    test_moved();
    test_parameters();
    test_refusals();
    test_tolerance();
    test_pools();
    test_meanwhile();
    test_documents();
    return tap_done();
}
