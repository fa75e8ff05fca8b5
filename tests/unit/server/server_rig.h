/* server_rig.h - a real server on a directory of its own, and a worker that does what a test says
 *
 * The loop is real and one thread runs everything but the writer, so a test never waits for longer
 * than a commit takes.  Replies are checked against the schemas that the API publishes: a view that
 * breaks its shape fails the test that looked at it.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_SERVER_RIG_H
#define TESTS_SERVER_RIG_H

#include <stdlib.h>
#include <unistd.h>

#include "api/book_i.h"
#include "base/json.h"
#include "base/log.h"
#include "model/taskmsg.h"
#include "server/server_i.h"
#include "sys/fs.h"
#include "tap.h"
#include "workdir.h"

struct rig_task { /* a TASK message that the worker got */
    uint32_t task, attempt, ask;
};
struct rig {
    struct arena mem;
    char *dir;
    struct loop *loop;
    struct queue *queue;
    struct opts opts;
    struct server *server;
    struct api_book *book;
    struct caller who;
    VEC(struct rig_task) sent;
    void (*message)(struct rig *g,
                    const struct taskmsg *m); /* each that the worker gets, or NULL */
    uint64_t seq;
    bool durable;
    /* of the last call */
    struct server_reply reply;
    struct err err;
    const char *if_match; /* for the next call; then NULL again */
};

#define RIG_CATALOG                                                                                \
    "barclamp: t\n"                                                                                \
    "version: 1.0.0\n"                                                                             \
    "description: for tests\n"                                                                     \
    "jigs:\n"                                                                                      \
    "  - {name: local, implementation: test, active: true, reach: node}\n"                         \
    "  - {name: cloud, implementation: cloudy, implementor: base, active: false,\n"                \
    "     reach: outside}\n"                                                                       \
    "pools: {license: 1}\n"                                                                        \
    "roles:\n"                                                                                     \
    "  - name: base\n"                                                                             \
    "    jig: local\n"                                                                             \
    "    flags: [implicit]\n"                                                                      \
    "    actions: {converge: [{name: prepare, params: {}}]}\n"                                     \
    "  - name: database\n"                                                                         \
    "    description: keeps rows\n"                                                                \
    "    jig: local\n"                                                                             \
    "    requires: [base]\n"                                                                       \
    "    provides: [sql]\n"                                                                        \
    "    attributes:\n"                                                                            \
    "      port: {schema: {type: integer, minimum: 1}, default: 5432}\n"                           \
    "    actions:\n"                                                                               \
    "      converge:\n"                                                                            \
    "        - {name: install-db, params: {}, pools: [license], retries: 1, backoff: 30s}\n"       \
    "        - {name: start-db, params: {}}\n"                                                     \
    "  - name: web\n"                                                                              \
    "    jig: local\n"                                                                             \
    "    requires: [base, sql]\n"                                                                  \
    "    strategy: {type: rolling, max: 2}\n"                                                      \
    "    actions: {converge: [{name: deploy-web, params: {}}]}\n"                                  \
    "  - name: wipe\n"                                                                             \
    "    jig: local\n"                                                                             \
    "    flags: [destructive]\n"                                                                   \
    "    actions: {converge: [{name: wipe-disk, params: {}}]}\n"                                   \
    "  - name: machine-image\n"                                                                    \
    "    jig: cloud\n"                                                                             \
    "    actions: {converge: [{name: make-image, params: {}}]}\n"                                  \
    "  - name: on-image\n"                                                                         \
    "    jig: local\n"                                                                             \
    "    requires: [machine-image]\n"                                                              \
    "    actions: {converge: [{name: start-image, params: {}}]}\n"                                 \
    "  - name: rival\n"                                                                            \
    "    jig: local\n"                                                                             \
    "    conflicts: [database]\n"                                                                  \
    "    actions: {converge: [{name: rival-up, params: {}}]}\n"                                    \
    "  - name: restart\n"                                                                          \
    "    jig: local\n"                                                                             \
    "    actions: {converge: [{name: reboot, params: {}, takes_down: true}]}\n"                    \
    "  - name: any\n"                                                                              \
    "    flags: [abstract]\n"

static void rig_stop(void *arg)
{
    loop_stop(((struct rig *)arg)->loop);
}

static void rig_late(void *arg)
{
    ok(false, "the loop ended before its limit");
    rig_stop(arg);
}

/* Runs what is posted, and what that posts. */
static void rig_turn(struct rig *g)
{
    struct loop_timer *limit = loop_timer_new(g->loop, rig_late, g);
    for (int i = 0; i < 3; i++) {
        loop_timer_at(limit, loop_now_ms(g->loop) + 20000);
        loop_post(g->loop, rig_stop, g);
        loop_run(g->loop);
    }
    loop_timer_free(limit);
}

static void rig_is_durable(void *arg, const struct err *failure)
{
    struct rig *g = arg;
    (void)failure;
    g->durable = true;
    loop_stop(g->loop);
}

/* Until everything memory shows is durable and all messages are delivered. */
static void rig_settle(struct rig *g)
{
    struct loop_timer *limit = loop_timer_new(g->loop, rig_late, g);
    /* What is durable may send something, or make another group: until two looks in a row see
     * neither, however slow the disk is. */
    for (int quiet = 0, i = 0; quiet < 2 && i < 100; i++) {
        size_t sent = g->sent.n;
        uint64_t group = server_pending_group(g->server);
        g->durable = false;
        server_when_durable(g->server, server_pending_group(g->server), rig_is_durable, g);
        loop_timer_at(limit, loop_now_ms(g->loop) + 20000);
        if (!g->durable)
            loop_run(g->loop);
        rig_turn(g);
        quiet = g->sent.n == sent && server_pending_group(g->server) == group ? quiet + 1 : 0;
    }
    loop_timer_free(limit);
}

static void rig_deliver(void *arg, const struct str *messages, size_t n)
{
    struct rig *g = arg;
    SCOPED_ARENA(mem);
    for (size_t i = 0; i < n; i++) {
        struct taskmsg m;
        struct err e;
        if (taskmsg_parse(&mem, messages[i], &m, &e) < 0)
            continue;
        if (m.kind == TASKMSG_TASK)
            vec_push(&g->sent, ((struct rig_task){m.task, m.attempt, m.ask}));
        if (g->message)
            g->message(g, &m);
    }
}

static void rig_send(struct rig *g, const struct taskmsg *m)
{
    SCOPED_BUF(b);
    taskmsg_write(&b, m);
    queue_to_server(g->queue, buf_str(&b));
    queue_flush(g->queue);
    rig_turn(g);
    rig_settle(g);
}

__attribute__((unused)) static void rig_worker(struct rig *g, uint32_t capacity)
{
    struct str jigs[] = {str_of("test"), str_of("noop")};
    rig_send(g, &(struct taskmsg){.kind = TASKMSG_HELLO,
                                  .worker = str_of("w1"),
                                  .capacity = capacity,
                                  .jigs = jigs,
                                  .n_jigs = 2});
}

/* The attempt of this task that was sent last; false if it was never sent. */
__attribute__((unused)) static bool rig_sent(const struct rig *g, uint32_t task,
                                             struct rig_task *ret)
{
    for (size_t i = g->sent.n; i-- > 0;)
        if (g->sent.at[i].task == task) {
            *ret = g->sent.at[i];
            return true;
        }
    return false;
}

__attribute__((unused)) static void rig_result(struct rig *g, uint32_t task, enum outcome outcome,
                                               int exit_code, const char *text, uint64_t again_ms)
{
    struct rig_task t = {0};
    ok(rig_sent(g, task, &t), "task %u was sent to a worker", task);
    rig_send(g, &(struct taskmsg){.kind = TASKMSG_RESULT,
                                  .task = task,
                                  .attempt = t.attempt,
                                  .ask = t.ask,
                                  .seq = ++g->seq,
                                  .outcome = outcome,
                                  .exit_code = exit_code,
                                  .again_ms = again_ms,
                                  .text = str_of(text)});
}

static void rig_start(struct rig *g)
{
    struct err e;
    g->loop = loop_new();
    g->queue = queue_new_embedded();
    struct server_options o = {.loop = g->loop, .queue = g->queue, .opts = &g->opts};
    if (server_new(&o, &g->server, &e) < 0) {
        printf("Bail out! server: %s\n", e.text);
        exit(1);
    }
    queue_worker_attach(g->queue, g->loop, rig_deliver, g);
    rig_settle(g);
}

static void rig_end(struct rig *g)
{
    server_free(g->server);
    queue_worker_detach(g->queue);
    queue_free(g->queue);
    loop_free(g->loop);
    vec_clear(&g->sent);
}

__attribute__((unused)) static void rig_open(struct rig *g)
{
    char *path = workdir_new("server");
    *g = (struct rig){0};
    arena_init(&g->mem);
    log_set_level(LOG_ERROR);
    g->dir = fs_join(path, "data");
    free(path);
    opts_init(&g->opts);
    g->opts.data_dir = g->dir;
    g->book = book_new();
    g->who = (struct caller){.token = 1, .tenant = 1, .scope = SCOPE_ADMIN, .name = "admin"};
    rig_start(g);
}

__attribute__((unused)) static void rig_restart(struct rig *g)
{
    rig_end(g);
    rig_start(g);
}

__attribute__((unused)) static void rig_close(struct rig *g)
{
    struct err e;
    rig_end(g);
    book_free(g->book);
    opts_done(&g->opts);
    vec_done(&g->sent);
    *strrchr(g->dir, '/') = '\0';
    ok(fs_remove_tree(g->dir, &e) == 0, "the directory is removed");
    free(g->dir);
    arena_done(&g->mem);
}

/* JSON with ' for ". */
static struct value *rig_json(struct rig *g, const char *text)
{
    struct value *v;
    struct err e;
    char *copy = arena_strdup(&g->mem, text);
    for (char *c = copy; *c; c++)
        if (*c == '\'')
            *c = '"';
    if (json_parse(&g->mem, copy, strlen(copy), NULL, &v, &e) < 0) {
        printf("Bail out! %s in %s\n", e.text, copy);
        exit(1);
    }
    return v;
}

struct rig_ask { /* what is left out is NULL */
    const char *id, *id2, *query, *body;
};

/* One operation; its reply is in g->reply, its refusal in g->err. */
static int rig_call(struct rig *g, server_op_f *op, struct rig_ask ask)
{
    struct server_call c = {.mem = &g->mem,
                            .who = &g->who,
                            .id = {ask.id, ask.id2},
                            .query = ask.query ? rig_json(g, ask.query) : NULL,
                            .body = ask.body ? rig_json(g, ask.body) : NULL,
                            .if_match = g->if_match};
    g->reply = (struct server_reply){0};
    err_clear(&g->err);
    g->if_match = NULL;
    return op(g->server, &c, &g->reply, &g->err);
}

static const struct value *rig_at(const struct rig *g, const char *path)
{
    return value_at(g->reply.body, path);
}
__attribute__((unused)) static const char *rig_text(const struct rig *g, const char *path)
{
    return value_as_text(rig_at(g, path), NULL);
}
__attribute__((unused)) static int64_t rig_int(const struct rig *g, const char *path)
{
    return value_as_int(rig_at(g, path), -1);
}

static bool rig_shape(const struct rig *g, const char *schema, const struct value *v)
{
    struct err e;
    if (schema_check_env(&g->book->env, book_schema(g->book, schema), v, &e) >= 0)
        return true;
    SCOPED_BUF(b);
    json_write(&b, v, 0);
    printf("# %s: %s at \"%s\" in %s\n", schema, e.text, e.at, buf_str(&b).s);
    return false;
}

/* An operation that must succeed, with a reply of this shape (NULL: none). */
__attribute__((unused)) static void rig_do(struct rig *g, server_op_f *op, const char *schema,
                                           struct rig_ask ask)
{
    int r = rig_call(g, op, ask);
    const char *of = ask.id ? ask.id : ask.body ? ask.body : "all";
    if (!ok(r >= 0, "%s of %s succeeds", schema ? schema : "a write", of))
        printf("#   %s at \"%s\"\n", g->err.text, g->err.at);
    else if (schema)
        ok(rig_shape(g, schema, g->reply.body), "%s of %s has its shape", schema, of);
}

/* A list that must succeed: its shape, and that of each item. */
__attribute__((unused)) static void rig_list(struct rig *g, server_op_f *op, const char *schema,
                                             struct rig_ask ask, int64_t n)
{
    int r = rig_call(g, op, ask);
    const struct value *items = rig_at(g, "items");
    bool good = r >= 0 && value_is(items, VALUE_LIST) && value_is(rig_at(g, "total"), VALUE_INT);
    if (r < 0)
        printf("#   %s\n", g->err.text);
    for (uint32_t i = 0; good && i < items->n; i++)
        good = rig_shape(g, schema, &items->items[i]);
    ok(good, "the list of %s for %s has its shape", schema, ask.query ? ask.query : "all");
    is_int(good ? (int64_t)items->n : -1, n, "the list of %s for %s has %d items", schema,
           ask.query ? ask.query : "all", (int)n);
}

/* An operation that must be refused so. */
__attribute__((unused)) static void rig_refuse(struct rig *g, server_op_f *op, enum errcode code,
                                               const char *words, struct rig_ask ask)
{
    int r = rig_call(g, op, ask);
    SCOPED_BUF(all);
    buf_printf(&all, "%s | %s | %s", g->err.at, g->err.text, g->err.hint);
    is_int(r, -(int)code, "\"%s\" is refused as %s", words, err_name(code));
    has_text(all.data, words, "the refusal tells %s", words);
}

__attribute__((unused)) static void rig_catalog_of(struct rig *g, const char *text)
{
    struct value *body = value_map(&g->mem), *files = value_map(&g->mem);
    struct server_call c = {.mem = &g->mem, .who = &g->who, .body = body};
    value_put_text(&g->mem, files, "t/barclamp.yaml", text);
    value_set(&g->mem, body, "files", files);
    value_put_text(&g->mem, body, "origin", "the test");
    g->reply = (struct server_reply){0};
    if (!ok(server_catalog_load(g->server, &c, &g->reply, &g->err) >= 0, "the catalog is loaded"))
        printf("#   %s: %s\n", g->err.at, g->err.text);
    rig_settle(g);
}

__attribute__((unused)) static void rig_catalog(struct rig *g)
{
    rig_catalog_of(g, RIG_CATALOG);
}

/* A node that is alive and available; more: further fields, ", 'slots': 2". */
__attribute__((unused)) static void rig_node(struct rig *g, const char *name, const char *more)
{
    const char *body = arena_printf(
        &g->mem, "{'name': '%s', 'available': true, 'alive': 'alive'%s}", name, more);
    rig_do(g, server_node_create, "Node", (struct rig_ask){.body = body});
}

/* Binds; returns the operation. */
__attribute__((unused)) static uint32_t rig_bind(struct rig *g, const char *role, const char *nodes)
{
    const char *body = arena_printf(
        &g->mem, "{'bindings': [{'role': '%s', 'nodes': '%s'}], 'title': 'bind %s'}", role, nodes,
        role);
    rig_do(g, server_deployment_bind, NULL, (struct rig_ask){.id = "system", .body = body});
    rig_settle(g);
    return anneal_operation_end(g->server->engine) - 1;
}

/* The id of a role on a node; 0 if it is not bound there. */
__attribute__((unused)) static uint32_t rig_noderole(struct rig *g, const char *role,
                                                     const char *node)
{
    const char *query = arena_printf(&g->mem, "{'role': '%s', 'node': '%s'}", role, node);
    if (rig_call(g, server_noderole_list, (struct rig_ask){.query = query}) < 0)
        return 0;
    return (uint32_t)value_as_int(rig_at(g, "items.0.id"), 0);
}

/* The n-th task of a role on a node. */
__attribute__((unused)) static uint32_t rig_task_of(struct rig *g, const char *role,
                                                    const char *node, uint32_t n)
{
    struct noderole_view v = {0};
    (void)anneal_noderole(g->server->engine, rig_noderole(g, role, node), &v);
    return v.first_task + n;
}

__attribute__((unused)) static const char *rig_id(struct rig *g, uint32_t id)
{
    return arena_printf(&g->mem, "%u", id);
}

#endif
