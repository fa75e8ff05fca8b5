/* deploy_bench.h - a server with a deployment of four nodes and a graph, and a worker that does as
 * told
 *
 * The worker is the test: it writes down what it gets and answers.  A dry run is the server's whole
 * opinion of a deployment, so it is what must be the same after a restart.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_DEPLOY_BENCH_H
#define TESTS_DEPLOY_BENCH_H

#include "server/deploy.h"
#include "server/verify.h"

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

__attribute__((unused)) static void on_message(struct rig *g, const struct taskmsg *m)
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

__attribute__((unused)) static void hello(struct bench *b)
{
    struct str jigs[] = {str_of("test"), str_of("noop"), str_of("upload_file")};
    b->g.message = on_message;
    rig_send(&b->g, &(struct taskmsg){.kind = TASKMSG_HELLO,
                                      .worker = str_of("w1"),
                                      .capacity = 64,
                                      .jigs = jigs,
                                      .n_jigs = 3});
}

__attribute__((unused)) static int load(struct bench *b, const char *barclamp, const char *graph)
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

__attribute__((unused)) static void loads(struct bench *b, const char *graph)
{
    if (!ok(load(b, SITE, graph) >= 0, "the catalog is loaded"))
        printf("#   %s: %s\n", b->g.err.at, b->g.err.text);
}

/* Four nodes, n4 in a group of nodes, and a deployment d. */
__attribute__((unused)) static void begin(struct bench *b, const char *graph)
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

__attribute__((unused)) static void end(struct bench *b)
{
    buf_done(&b->ran);
    vec_done(&b->jobs);
    rig_close(&b->g);
}

/* What is said of the whole deployment. */
__attribute__((unused)) static void common(struct bench *b, const char *data)
{
    const char *edits = arena_printf(
        &b->g.mem, "{'edits': [{'edit': 'replace-data', 'role': 'task-graph', 'data': %s}]}", data);
    rig_do(&b->g, server_deployment_propose, "Snapshot", ASK(.id = "d"));
    rig_do(&b->g, server_deployment_edit, "Snapshot", ASK(.id = "d", .body = edits));
    rig_do(&b->g, server_deployment_commit, "CommitResult", ASK(.id = "d"));
    rig_settle(&b->g);
}

__attribute__((unused)) static void deploy(struct bench *b, const char *body)
{
    buf_clear(&b->ran);
    rig_do(&b->g, server_deployment_deploy, "DeployResult", ASK(.id = "d", .body = body));
    rig_settle(&b->g);
}

__attribute__((unused)) static void answer(struct bench *b, const struct job *j,
                                           enum outcome outcome)
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
__attribute__((unused)) static void work(struct bench *b, const char *fails)
{
    for (; b->done < b->jobs.n; b->done++) {
        struct job j = b->jobs.at[b->done];
        answer(b, &j,
               fails && !strncmp(j.what, fails, strlen(fails)) ? OUTCOME_FAILED : OUTCOME_OK);
    }
}

__attribute__((unused)) static void bind_data(struct bench *b, const char *role, const char *nodes,
                                              const char *data)
{
    const char *body = arena_printf(
        &b->g.mem, "{'bindings': [{'role': '%s', 'nodes': '%s', 'data': %s}]}", role, nodes, data);
    rig_do(&b->g, server_deployment_bind, "BindResult", ASK(.id = "d", .body = body));
    rig_settle(&b->g);
    work(b, NULL);
}

__attribute__((unused)) static void bind(struct bench *b, const char *role, const char *nodes)
{
    bind_data(b, role, nodes, "{}");
}

__attribute__((unused)) static void unbind(struct bench *b, const char *role, const char *nodes)
{
    const char *body = arena_printf(&b->g.mem, "{'bindings': [{'role': '%s', 'nodes': '%s'}]}",
                                    role, nodes);
    rig_do(&b->g, server_deployment_unbind, NULL, ASK(.id = "d", .body = body));
    rig_settle(&b->g);
}

__attribute__((unused)) static const char *ran(const struct bench *b)
{
    return b->ran.len ? b->ran.data : "";
}

/* Deploys to the end; what ran, in the order in which it was sent. */
__attribute__((unused)) static void runs(struct bench *b, const char *body, const char *what,
                                         const char *label)
{
    deploy(b, body);
    work(b, NULL);
    is_text(ran(b), what, "%s", label);
}

__attribute__((unused)) static const char *dry(struct bench *b)
{
    SCOPED_BUF(text);
    rig_do(&b->g, server_deployment_deploy, "DeployResult",
           ASK(.id = "d", .body = "{'dry_run': true}"));
    json_write(&text, b->g.reply.body, 0);
    return arena_strndup(&b->g.mem, text.data, text.len);
}

/* A server that starts from what is stored thinks the same, and a replay gives what is stored. */
__attribute__((unused)) static void restarts(struct bench *b)
{
    const char *before = dry(b), *path = arena_printf(&b->g.mem, "%s/anneal.db", b->g.dir);
    uint64_t events;
    struct err e;
    rig_settle(&b->g);
    rig_end(&b->g);
    if (!ok(verify_store(path, &events, &e) >= 0, "what is stored is sound"))
        printf("#   %s\n", e.text);
    rig_start(&b->g);
    hello(b);
    is_text(dry(b), before, "a restart changes nothing about the next run");
}

__attribute__((unused)) static uint64_t state(struct bench *b)
{
    rig_settle(&b->g);
    return anneal_digest(b->g.server->engine);
}

__attribute__((unused)) static void refused(struct bench *b, enum errcode code, const char *words,
                                            const char *body)
{
    uint64_t was = state(b);
    uint32_t operations = anneal_operation_end(b->g.server->engine);
    rig_refuse(&b->g, server_deployment_deploy, code, words, ASK(.id = "d", .body = body));
    ok(state(b) == was, "and nothing is left behind");
    is_int(anneal_operation_end(b->g.server->engine), operations, "no operation either");
}

__attribute__((unused)) static uint32_t last_op(const struct bench *b)
{
    return anneal_operation_end(b->g.server->engine) - 1;
}

__attribute__((unused)) static const char *op_state(const struct bench *b, uint32_t op)
{
    struct operation_view v;
    return anneal_operation(b->g.server->engine, op, &v) ? operation_state_name(v.state) : "none";
}

/* Room for so many tasks beside those there are. */
__attribute__((unused)) static void room_for(struct bench *b, uint64_t n)
{
    uint64_t noderoles[NODEROLE_STATE_COUNT], tasks[TASK_STATE_COUNT];
    anneal_totals(b->g.server->engine, noderoles, tasks);
    for (int i = 0; i < TASK_STATE_COUNT; i++)
        n += tasks[i];
    b->g.opts.max_tasks = n;
}

#endif
