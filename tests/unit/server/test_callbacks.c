/* test_callbacks.c - what a server makes of callbacks: their place, their text, their signature,
 * and a key that cannot be used
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <sys/stat.h>

#include "base/digest.h"
#include "server/server_rig.h"

#define CATALOG                                                                                    \
    "barclamp: t\n"                                                                                \
    "jigs: [{name: cloud, implementation: test, reach: outside}]\n"                                \
    "providers:\n"                                                                                 \
    "  - provider: bare\n"                                                                         \
    "    jig: cloud\n"                                                                             \
    "    actions: {create: [{name: make, params: {}}], delete: [{name: unmake, params: {}}]}\n"    \
    "hardware: [{hardware: one, providers: {bare: {flavor: f}}}]\n"                                \
    "images: [{image: plain, providers: {bare: {image: i}}}]\n"                                    \
    "roles:\n"                                                                                     \
    "  - name: web\n"                                                                              \
    "    jig: test\n"                                                                              \
    "    flags: [service]\n"                                                                       \
    "    actions:\n"                                                                               \
    "      start: [{name: start-web, params: {}}]\n"                                               \
    "      stop: [{name: stop-web, params: {}}]\n"                                                 \
    "templates:\n"                                                                                 \
    "  - template: shop\n"                                                                         \
    "    defaults: {services: [web], provider: bare, hardware: one, image: plain}\n"               \
    "    callbacks: {url: \"https://hooks.example/x?y=z\"}\n"

enum { MOST = 8 };

struct called { /* a TASK of the jig callback */
    uint32_t task;
    const char *key;
    const struct value *params;
    bool nowhere; /* it names no node and sees nothing */
};
static struct {
    struct called at[MOST];
    size_t n;
} calls;

static void note_call(struct rig *g, const struct taskmsg *m)
{
    struct value *params;
    struct err e;
    if (m->kind != TASKMSG_TASK || !str_is(m->jig, "callback") || calls.n == MOST ||
        json_parse(&g->mem, m->params.s, m->params.n, NULL, &params, &e) < 0)
        return;
    calls.at[calls.n++] = (struct called){.task = m->task,
                                          .key = arena_strndup(&g->mem, m->key.s, m->key.n),
                                          .params = value_copy(&g->mem, params),
                                          .nowhere = !m->node.n && !m->address.n &&
                                                     str_is(m->data, "{}")};
}

static void worker_here(struct rig *g)
{
    struct str jigs[] = {str_of("callback"), str_of("noop"), str_of("test")};
    rig_send(g, &(struct taskmsg){.kind = TASKMSG_HELLO,
                                  .worker = str_of("w1"),
                                  .capacity = 8,
                                  .jigs = jigs,
                                  .n_jigs = 3});
}

/* Answers everything that was sent, from the `from`-th on, until nothing more is: ok, but for
 * tasks of this name, which fail. */
static size_t answer_all(struct rig *g, size_t from, const char *fails)
{
    for (; from < g->sent.n; from++) {
        uint32_t task = g->sent.at[from].task;
        struct task_view t;
        bool known = anneal_task(g->server->engine, task, &t);
        bool bad = known && !strcmp(g->server->inv.defs.at[t.def].name, fails);
        rig_result(g, task, bad ? OUTCOME_FAILED : OUTCOME_OK, bad, "", 0);
    }
    return from;
}

static char *key_path(struct rig *g)
{
    return arena_printf(&g->mem, "%s/callback.key", g->dir);
}

static const char *param(const struct called *c, const char *name)
{
    return value_as_text(value_get(c->params, name), "");
}

static const struct value *body_of(struct rig *g, const struct called *c)
{
    struct value *v = NULL;
    struct err e;
    struct str text = value_as_str(value_get(c->params, "body"));
    (void)json_parse(&g->mem, text.s, text.n, NULL, &v, &e);
    return v;
}

static void is_signed(struct rig *g, const struct called *c)
{
    char want[DIGEST_HMAC_HEX];
    struct err e;
    SCOPED_BUF(key);
    is_int(fs_read(key_path(g), 1000, &key, &e), 0, "there is a key");
    is_int((int64_t)key.len, 65, "of 64 digits and a line's end");
    digest_hmac_hex((struct str){key.data, 64}, value_as_str(value_get(c->params, "body")), want);
    is_text(param(c, "signature"), want, "which its text is signed with");
}

static void test_create(struct rig *g)
{
    struct stat st = {0};
    SCOPED_BUF(shown);
    rig_do(g, server_cluster_create, NULL,
           (struct rig_ask){.body = "{'name': 'shop', 'template': 'shop', 'nodes': 2}"});
    rig_settle(g);
    uint32_t op = anneal_operation_end(g->server->engine) - 1;
    is_int((int64_t)g->sent.n, 1, "before anything else one task is sent");
    is_int((int64_t)calls.n, 1, "a callback");
    const struct called *c = &calls.at[0];
    ok(c->nowhere, "of no node, which sees nothing");
    is_text(param(c, "url"), "https://hooks.example/x?y=z", "to the address of the template");
    is_text(param(c, "event"), "start", "about the start");
    is_signed(g, c);
    ok(stat(key_path(g), &st) == 0 && (st.st_mode & 0777) == 0600, "which is the server's own");
    const struct value *body = body_of(g, c);
    is_text(value_as_text(value_get(body, "event"), ""), "start", "the text has the event");
    is_text(value_as_text(value_at(body, "cluster.name"), ""), "shop", "the cluster");
    is_text(value_as_text(value_at(body, "cluster.owner"), ""), "admin", "whose it is");
    is_int(value_as_int(value_at(body, "operation.id"), 0), op, "the operation");
    is_text(value_as_text(value_at(body, "operation.kind"), ""), "cluster-create", "its kind");
    is_int(value_as_int(value_at(body, "nodes.1.number"), 0), 1001, "the nodes that are to be");
    is_text(value_as_text(value_at(body, "nodes.1.services.0"), ""), "web", "and what on them");
    rig_do(g, server_task_get, "Task", (struct rig_ask){.id = rig_id(g, c->task)});
    json_write(&shown, g->reply.body, 0);
    ok(!strstr(shown.data, param(c, "signature")) && !strstr(shown.data, "hooks.example"),
       "of which a look at the task tells nothing");
    size_t n = answer_all(g, 0, "");
    is_int((int64_t)calls.n, 2, "when all else is done there is another");
    is_int((int64_t)calls.at[1].task, g->sent.at[n - 1].task, "the last of all");
    is_text(param(&calls.at[1], "event"), "success", "of the success");
    is_signed(g, &calls.at[1]);
    ok(strcmp(calls.at[0].key, calls.at[1].key) != 0, "a delivery of its own");
    is_int(value_as_int(value_at(body_of(g, &calls.at[1]), "operation.counts.failed"), -1), 0,
           "nothing failed");
    rig_do(g, server_operation_get, "Operation", (struct rig_ask){.id = rig_id(g, op)});
    is_text(rig_text(g, "state"), "succeeded", "and it is over");
}

static void test_failure(struct rig *g)
{
    size_t from = g->sent.n;
    calls.n = 0;
    rig_do(g, server_cluster_operate, NULL,
           (struct rig_ask){.id = "shop", .id2 = "restart", .body = "{}"});
    rig_settle(g);
    (void)answer_all(g, from, "stop-web");
    is_int((int64_t)calls.n, 2, "an operation in which something fails calls twice");
    is_text(param(&calls.at[1], "event"), "failure", "and tells that");
    ok(value_as_int(value_at(body_of(g, &calls.at[1]), "operation.counts.failed"), 0) > 0,
       "with how much");
}

static void test_bad_key(struct rig *g)
{
    size_t from = g->sent.n;
    struct err e;
    calls.n = 0;
    is_int(fs_write_atomic(key_path(g), "no key\n", 7, 0600, &e), 0, "a key that is none");
    rig_do(g, server_cluster_operate, NULL,
           (struct rig_ask){.id = "shop", .id2 = "restart", .body = "{}"});
    rig_settle(g);
    rig_settle(g);
    uint32_t op = anneal_operation_end(g->server->engine) - 1;
    (void)answer_all(g, from, "");
    is_int((int64_t)calls.n, 0, "nothing is told without a signature");
    rig_do(g, server_operation_get, "Operation", (struct rig_ask){.id = rig_id(g, op)});
    is_text(rig_text(g, "state"), "succeeded-with-failures", "and nothing is stopped by it");
    SCOPED_BUF(key);
    is_int(fs_read(key_path(g), 1000, &key, &e), 0, "the file");
    is_text(key.data, "no key\n", "is left as it is");
}

int main(void)
{
    struct rig g;
    rig_open(&g);
    g.message = note_call;
    worker_here(&g);
    rig_catalog_of(&g, CATALOG);
    worker_here(&g);
    test_create(&g);
    test_failure(&g);
    test_bad_key(&g);
    rig_close(&g);
    return tap_done();
}
