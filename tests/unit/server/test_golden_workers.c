/* test_golden_workers.c - facts about Coopr's queues, janitor, retries, credentials and resources
 *
 * Each is restated for our server and run against it; golden_facts.h has the rules.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/base64.h"
#include "golden_facts.h"
#include "server/cluster_i.h"
#include "server/providers.h"
#include "server/resources.h"

static char *plugin_dir;

static const char descriptor[] =
    "plugin: rackspace\ntype: provider\nversion: '1'\nprotocol: 1\nexecutable: x\n"
    "actions: {create: {}, confirm: {}, delete: {}}\n"
    "types:\n"
    "  rackspace:\n"
    "    fields:\n"
    "      admin: {region: {override: true}, url: {override: true, sensitive: true}}\n"
    "      user: {keyname: {}, key: {sensitive: true}}\n"
    "    required: {user: [[keyname, key]]}\n"
    "    resources: {tools: {format: file}}\n";

#define CATALOG                                                                                    \
    "barclamp: t\n"                                                                                \
    "jigs: [{name: cloud, implementation: test, reach: outside}]\n"                                \
    "providers:\n"                                                                                 \
    "  - provider: rack\n"                                                                         \
    "    jig: plugin\n"                                                                            \
    "    actions: {create: [{name: create}], delete: [{name: delete}]}\n"                          \
    "  - provider: bare\n"                                                                         \
    "    jig: cloud\n"                                                                             \
    "    actions:\n"                                                                               \
    "      create: [{name: create, params: {}}]\n"                                                 \
    "      confirm: [{name: confirm, params: {}, retries: 2, backoff: 0s}]\n"                      \
    "      delete: [{name: delete, params: {}}]\n"                                                 \
    "hardware: [{hardware: one, providers: {rack: {flavor: f, cost: 1}, bare: {flavor: f, cost: "  \
    "1}}}]\n"                                                                                      \
    "images: [{image: plain, providers: {rack: {image: i}, bare: {image: i}}}]\n"                  \
    "roles:\n"                                                                                     \
    "  - {name: web, jig: noop, actions: {start: [{name: up}]}}\n"                                 \
    "  - {name: work, jig: test, actions: {converge: [{name: work, params: {}}]}}\n"               \
    "  - {name: fragile, jig: test,\n"                                                             \
    "     actions: {converge: [{name: fragile, params: {}, repeat: once}]}}\n"                     \
    "templates:\n"                                                                                 \
    "  - template: secretive\n"                                                                    \
    "    defaults: {services: [web], provider: rack, hardware: one, image: plain}\n"               \
    "    constraints: {size: {min: 1, max: 4}}\n"                                                  \
    "  - template: plain\n"                                                                        \
    "    defaults: {services: [web], provider: bare, hardware: one, image: plain}\n"               \
    "    constraints: {size: {min: 1, max: 4}}\n"

static void worker_says(struct rig *g, const char *name, uint32_t capacity)
{
    struct str jigs[] = {str_of("noop"), str_of("plugin"), str_of("test")};
    rig_send(g, &(struct taskmsg){.kind = TASKMSG_HELLO,
                                  .worker = str_of(name),
                                  .capacity = capacity,
                                  .jigs = jigs,
                                  .n_jigs = 3});
}

/* A server with the catalog; capacity 0: nobody works for it yet. */
static void begin(struct rig *g, uint32_t capacity)
{
    rig_open(g);
    g->opts.plugin_path = plugin_dir;
    rig_restart(g);
    rig_catalog_of(g, CATALOG);
    struct row_tenant row = {.id = 2, .tenant = 2, .realm = 1, .name = str_of("second")};
    struct event add = {.kind = EVENT_TENANT_ADD, .id = 2};
    struct commit_note by = server_note(NULL, &row);
    struct err e;
    ok(server_apply(g->server, &add, &by, NULL, &e) >= 0, "a second tenant");
    if (capacity)
        worker_says(g, "w1", capacity);
}

static const char *name_of(struct rig *g, uint32_t task)
{
    struct task_view t = {0};
    (void)anneal_task(g->server->engine, task, &t);
    return g->server->inv.defs.at[t.def].name;
}

/* Everything that is sent is answered, until nothing more is; what has this name fails. */
static const char *run(struct rig *g, size_t *from, const char *fails)
{
    SCOPED_BUF(b);
    rig_settle(g);
    for (; *from < g->sent.n; (*from)++) {
        uint32_t task = g->sent.at[*from].task;
        bool bad = fails && !strcmp(name_of(g, task), fails);
        buf_printf(&b, "%s%s %s", b.len ? ", " : "", name_of(g, task), bad ? "fail" : "ok");
        rig_result(g, task, bad ? OUTCOME_FAILED : OUTCOME_OK, bad, "", 0);
        rig_settle(g);
    }
    return arena_strdup(&g->mem, buf_str(&b).s);
}

/* --- resources --- */

struct tools {
    struct rig g;
    uint32_t id[3];
};

static void tools_begin(struct tools *t)
{
    begin(&t->g, 0);
    for (uint32_t i = 0; i < 3; i++) {
        char content[2] = {(char)('1' + i), '\0'}, hex[DIGEST_HEX];
        struct digest d = digest_of(content, 1);
        SCOPED_BUF(b);
        base64_write(&b, str_of(content));
        digest_hex(&d, hex);
        rig_do(&t->g, server_content_put, "Content",
               (struct rig_ask){.id = hex,
                                .body = arena_printf(&t->g.mem,
                                                     "{'size': 1, 'offset': 0, 'content': '%s'}",
                                                     b.data)});
        rig_do(&t->g, server_resource_create, "Resource",
               (struct rig_ask){.body = arena_printf(&t->g.mem,
                                                     "{'type': 'rackspace', 'kind': 'tools', "
                                                     "'name': 'hadoop', 'digest': '%s'}",
                                                     hex)});
        t->id[i] = (uint32_t)rig_int(&t->g, "id");
    }
}

static void tools_do(struct tools *t, server_op_f *op, uint32_t version)
{
    rig_do(&t->g, op, NULL,
           (struct rig_ask){.id = version ? rig_id(&t->g, t->id[version - 1]) : NULL});
}

static void tools_are(struct tools *t, const char *want)
{
    SCOPED_BUF(b);
    for (uint32_t i = 0; i < 3; i++) {
        rig_do(&t->g, server_resource_get, "Resource",
               (struct rig_ask){.id = rig_id(&t->g, t->id[i])});
        buf_printf(&b, "%s%u %s", i ? ", " : "", i + 1, rig_text(&t->g, "state"));
    }
    is_text(b.data, want, "%s", want);
}

/* 2 RECALLED, the others INACTIVE. */
static void tools_recalled(struct tools *t)
{
    tools_begin(t);
    tools_do(t, server_resource_stage, 2);
    tools_do(t, server_resource_sync, 0);
    tools_do(t, server_resource_recall, 2);
    tools_are(t, "1 inactive, 2 recalled, 3 inactive");
}

static void resource_no_change(void)
{
    struct tools t;
    tools_begin(&t);
    tools_do(&t, server_resource_stage, 2);
    tools_do(&t, server_resource_stage, 2);
    tools_are(&t, "1 inactive, 2 staged, 3 inactive");
    tools_do(&t, server_resource_sync, 0);
    tools_do(&t, server_resource_stage, 2);
    tools_are(&t, "1 inactive, 2 active, 3 inactive");
    rig_close(&t.g);
}

static void resource_back(void)
{
    struct tools t;
    tools_recalled(&t);
    tools_do(&t, server_resource_stage, 2);
    tools_are(&t, "1 inactive, 2 active, 3 inactive");
    rig_close(&t.g);
}

static void resource_then_one(void)
{
    struct tools t;
    tools_recalled(&t);
    tools_do(&t, server_resource_stage, 2);
    tools_do(&t, server_resource_stage, 1);
    tools_are(&t, "1 staged, 2 recalled, 3 inactive");
    rig_close(&t.g);
}

static void resource_then_three(void)
{
    struct tools t;
    tools_recalled(&t);
    tools_do(&t, server_resource_stage, 2);
    tools_do(&t, server_resource_stage, 1);
    tools_do(&t, server_resource_stage, 3);
    tools_are(&t, "1 inactive, 2 recalled, 3 staged");
    rig_close(&t.g);
}

static void resource_unknown(void)
{
    struct tools t;
    tools_recalled(&t);
    rig_refuse(&t.g, server_resource_stage, ERR_NOT_FOUND, "no resource",
               (struct rig_ask){.id = "4711"});
    is_int(err_http(t.g.err.code), 404, "which is a 404");
    tools_are(&t, "1 inactive, 2 recalled, 3 inactive");
    rig_close(&t.g);
}

/* --- credentials --- */

static void provider_make(struct rig *g)
{
    g->if_match = "*";
    rig_do(g, server_provider_put, "Provider",
           (struct rig_ask){.id = "rack",
                            .body = "{'type': 'rackspace', 'fields': {'region': 'iad', "
                                    "'url': 'http://abc.com/api'}}"});
}

static uint32_t secretive_make(struct rig *g, size_t *from)
{
    provider_make(g);
    rig_do(g, server_cluster_create, "ClusterResult",
           (struct rig_ask){.body = "{'name': 'c', 'template': 'secretive', 'nodes': 1, 'fields': "
                                    "{'keyname': 'dev', 'key': 'keycontents', 'region': 'dfw', "
                                    "'url': 'internal.net/api'}}"});
    (void)run(g, from, NULL);
    return inventory_deployment_find(&g->server->inv, "c");
}

static void credential_kept(void)
{
    struct rig g;
    size_t from = 0;
    struct err e;
    SCOPED_BUF(fields);
    SCOPED_BUF(names);
    begin(&g, 8);
    uint32_t id = secretive_make(&g, &from);
    const struct cluster_look *look = data_cluster_look(g.server, id, &e);
    if (!ok(look != NULL, "there is a cluster")) {
        rig_close(&g);
        return;
    }
    json_write_canonical(&fields, value_get(look->spec, "fields"));
    is_text(fields.data, "{\"keyname\":\"dev\",\"region\":\"dfw\"}", "stored with the cluster");
    json_write_canonical(&names, sealed_names(&g.mem, credential_get(g.server, id)));
    is_text(names.data, "[\"key\",\"url\"]", "stored in confidence");
    rig_do(&g, server_provider_get, "Provider", (struct rig_ask){.id = "rack"});
    is_text(rig_text(&g, "fields.url"), "***", "the provider's own url is still there, sealed");
    rig_close(&g);
}

static void credential_missing(void)
{
    struct rig g;
    size_t from = 0;
    begin(&g, 8);
    credential_wipe(g.server, secretive_make(&g, &from));
    rig_refuse(&g, server_cluster_operate, ERR_INVALID, "needs key",
               (struct rig_ask){.id = "c", .id2 = "configure", .body = "{'config': {'a': 1}}"});
    rig_close(&g);
}

static void credential_wiped(void)
{
    struct rig g;
    size_t from = 0;
    begin(&g, 8);
    uint32_t id = secretive_make(&g, &from);
    static const char *const others[] = {"stop", "start", "restart", "configure", "expand"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        rig_do(&g, server_cluster_operate, "ClusterResult",
               (struct rig_ask){.id = "c",
                                .id2 = others[i],
                                .body = !strcmp(others[i], "expand")      ? "{'by': 1}"
                                        : !strcmp(others[i], "configure") ? "{'config': {'a': 1}}"
                                                                          : "{}"});
        (void)run(&g, &from, NULL);
        cluster_beat(g.server);
        ok(credential_get(g.server, id) != NULL, "%s does not wipe it", others[i]);
    }
    rig_do(&g, server_cluster_operate, "ClusterResult",
           (struct rig_ask){.id = "c", .id2 = "delete"});
    ok(credential_get(g.server, id) != NULL, "nor does a delete that is under way");
    (void)run(&g, &from, NULL);
    cluster_beat(g.server);
    rig_settle(&g);
    ok(credential_get(g.server, id) == NULL, "one that has ended does");
    rig_close(&g);
}

/* --- retries --- */

static void retry_confirm(void)
{
    struct rig g;
    size_t from = 0;
    begin(&g, 8);
    rig_do(&g, server_cluster_create, "ClusterResult",
           (struct rig_ask){.body = "{'name': 'c', 'template': 'plain', 'nodes': 1}"});
    uint32_t op = (uint32_t)rig_int(&g, "operation.id");
    is_text(run(&g, &from, "confirm"),
            "create ok, confirm fail, delete ok, create ok, confirm fail, delete ok, create ok, "
            "confirm fail",
            "the order of tasks handed out; five of them succeed");
    rig_do(&g, server_operation_get, "Operation", (struct rig_ask){.id = rig_id(&g, op)});
    is_text(rig_text(&g, "state"), "failed", "the operation has failed");
    rig_do(&g, server_cluster_get, "Cluster", (struct rig_ask){.id = "c"});
    is_text(rig_text(&g, "state"), "incomplete", "the cluster is incomplete");
    rig_close(&g);
}

/* --- queues --- */

/* Tasks of a tenant: one operation of so many nodes. */
static uint32_t tenant_work(struct rig *g, uint32_t tenant, const char *role, uint32_t n)
{
    SCOPED_BUF(names);
    for (uint32_t i = 1; i <= n; i++) {
        const char *name = arena_printf(&g->mem, "t%u-id%u", tenant, i);
        rig_node(g, name, "");
        buf_printf(&names, "%s%s", i > 1 ? "," : "", name);
    }
    g->who.tenant = tenant;
    uint32_t op = rig_bind(g, role, names.data);
    g->who.tenant = 1;
    return op;
}

static const char *node_of(struct rig *g, uint32_t task)
{
    struct task_view t = {0};
    (void)anneal_task(g->server->engine, task, &t);
    return view_node_name(g->server, t.node);
}

/* Nodes of what is handed out, one at a time. */
static const char *drain(struct rig *g)
{
    SCOPED_BUF(b);
    rig_settle(g);
    for (size_t i = 0; i < g->sent.n; i++) {
        buf_printf(&b, "%s%s", i ? " " : "", node_of(g, g->sent.at[i].task));
        rig_result(g, g->sent.at[i].task, OUTCOME_OK, 0, "", 0);
    }
    return arena_strdup(&g->mem, buf_str(&b).s);
}

static void queue_alternates(void)
{
    struct rig g;
    begin(&g, 0);
    tenant_work(&g, 1, "work", 3);
    tenant_work(&g, 2, "work", 5);
    worker_says(&g, "w1", 1);
    const char *got = drain(&g);
    const char *one = "t1-id1 t2-id1 t1-id2 t2-id2 t1-id3 t2-id3 t2-id4 t2-id5";
    const char *two = "t2-id1 t1-id1 t2-id2 t1-id2 t2-id3 t1-id3 t2-id4 t2-id5";
    ok(!strcmp(got, one) || !strcmp(got, two), "tenants alternate: %s", got);
    rig_close(&g);
}

static void queue_in_order(void)
{
    struct rig g;
    begin(&g, 0);
    tenant_work(&g, 2, "work", 5);
    worker_says(&g, "w1", 1);
    is_text(drain(&g), "t2-id1 t2-id2 t2-id3 t2-id4 t2-id5", "those of one tenant in their order");
    rig_close(&g);
}

/* Tasks that have a worker, and those that may get one: none of an operation that was cancelled. */
static uint32_t queue_size(struct rig *g, uint32_t op)
{
    struct operation_view v = {0};
    (void)anneal_operation(g->server->engine, op, &v);
    bool open = v.state == OPERATION_RUNNING && !v.held;
    return (open ? v.counts[TASK_READY] : 0) + v.counts[TASK_RUNNING] + v.counts[TASK_WAITING];
}

static void queue_counts(void)
{
    struct rig g;
    begin(&g, 0);
    uint32_t op = tenant_work(&g, 1, "work", 4);
    is_int(queue_size(&g, op), 4, "four are queued");
    worker_says(&g, "w1", 1);
    rig_settle(&g);
    is_int((int64_t)g.sent.n, 1, "one is taken");
    is_int(queue_size(&g, op), 4, "it counts until it is finished");
    worker_says(&g, "w1", 1);
    rig_result(&g, g.sent.at[0].task, OUTCOME_OK, 0, "", 0);
    is_int(queue_size(&g, op), 3, "then three are left");
    rig_close(&g);
}

static void queue_removed(void)
{
    struct rig g;
    begin(&g, 0);
    uint32_t one = tenant_work(&g, 1, "work", 3), two = tenant_work(&g, 2, "work", 5);
    rig_do(&g, server_operation_cancel, NULL, (struct rig_ask){.id = rig_id(&g, one)});
    rig_settle(&g);
    is_int(queue_size(&g, one), 0, "all of one are removed");
    is_int(queue_size(&g, two), 5, "the others are untouched");
    worker_says(&g, "w1", 1);
    is_text(drain(&g), "t2-id1 t2-id2 t2-id3 t2-id4 t2-id5", "and run");
    rig_close(&g);
}

/* --- the janitor --- */

/* More than a lease. */
static void time_passes(struct rig *g)
{
    g->server->clock_offset_ms += (int64_t)g->opts.worker_lease + 1000;
}

/* Another worker, by a queue of its own. */
static struct queue *second_worker(struct rig *g)
{
    struct str jigs[] = {str_of("test")};
    struct queue *q = queue_new_embedded();
    struct err e;
    SCOPED_BUF(b);
    taskmsg_write(&b, &(struct taskmsg){.kind = TASKMSG_HELLO,
                                        .worker = str_of("w2"),
                                        .capacity = 1,
                                        .jigs = jigs,
                                        .n_jigs = 1});
    ok(workers_attach(g->server, "w2", q, &e) >= 0, "another worker comes");
    queue_worker_attach(q, g->loop, rig_deliver, g);
    queue_to_server(q, buf_str(&b));
    queue_flush(q);
    rig_turn(g);
    rig_settle(g);
    return q;
}

static enum task_state state_of(struct rig *g, uint32_t task)
{
    struct task_view t = {0};
    (void)anneal_task(g->server->engine, task, &t);
    return (enum task_state)t.state;
}

static void janitor_tasks(void)
{
    struct rig g;
    begin(&g, 2);
    uint32_t op = tenant_work(&g, 1, "fragile", 4);
    is_int((int64_t)g.sent.n, 2, "two are taken");
    time_passes(&g);
    struct queue *q = second_worker(&g);
    is_int((int64_t)g.sent.n, 3, "later a third");
    dispatch_beat(g.server);
    rig_settle(&g);
    for (size_t i = 0; i < 2; i++) {
        struct task_view t = {0};
        struct noderole_view nr = {0};
        (void)anneal_task(g.server->engine, g.sent.at[i].task, &t);
        (void)anneal_noderole(g.server->engine, t.noderole, &nr);
        is_int(t.state, TASK_FAILED, "task %zu has failed", i + 1);
        is_int(nr.state, NODEROLE_ERROR, "and what it was for is in error");
        ok(!anneal_attempt_open(g.server->engine, g.sent.at[i].task, g.sent.at[i].attempt),
           "nobody waits for its attempt");
    }
    is_int(state_of(&g, g.sent.at[2].task), TASK_RUNNING, "the third still runs");
    is_int(queue_size(&g, op), 2, "the fourth still waits");
    workers_detach(g.server, "w2");
    queue_worker_detach(q);
    queue_free(q);
    rig_close(&g);
}

static void janitor_unknown(void)
{
    struct rig g;
    begin(&g, 2);
    lease_hold(g.server->lease,
               &(struct lease_given){
                   .task = 4711, .attempt = 1, .worker = 1, .lease_ms = g.opts.worker_lease},
               server_now(g.server));
    is_int((int64_t)lease_count(g.server->lease), 1, "somebody is waited for");
    time_passes(&g);
    dispatch_beat(g.server);
    is_int((int64_t)lease_count(g.server->lease), 0, "and then no more");
    rig_close(&g);
}

/* A cluster whose lease is over, unless `left`; fails: it is incomplete; begun: it is pending. */
static uint32_t lent(struct rig *g, size_t *from, const char *name, uint64_t until_ms,
                     const char *fails, bool begun)
{
    rig_do(g, server_cluster_create, "ClusterResult",
           (struct rig_ask){.body = arena_printf(
                                &g->mem, "{'name': '%s', 'template': 'plain', 'nodes': 1}", name)});
    if (!begun)
        (void)run(g, from, fails);
    uint32_t id = inventory_deployment_find(&g->server->inv, name);
    struct cluster now = *cluster_get(g->server, id);
    now.lease_ms = until_ms;
    cluster_put(g->server, &now);
    rig_settle(g);
    return id;
}

static bool asked_to_go(struct rig *g, uint32_t id)
{
    const struct cluster *c = cluster_get(g->server, id);
    return c && c->verb == CLUSTER_DELETE;
}

static void janitor_clusters(void)
{
    struct rig g;
    size_t from = 0;
    uint64_t past = server_wall_ms() - 1000, ahead = server_wall_ms() + 3600 * 1000;
    begin(&g, 8);
    uint32_t incomplete = lent(&g, &from, "i1", past, "create", false),
             incomplete_left = lent(&g, &from, "i2", ahead, "create", false),
             active = lent(&g, &from, "a1", past, NULL, false),
             active_left = lent(&g, &from, "a2", ahead, NULL, false),
             forever = lent(&g, &from, "a3", 0, NULL, false),
             gone = lent(&g, &from, "t1", ahead, NULL, false);
    rig_do(&g, server_cluster_operate, "ClusterResult",
           (struct rig_ask){.id = "t1", .id2 = "delete"});
    (void)run(&g, &from, NULL);
    uint32_t pending = lent(&g, &from, "p1", past, NULL, true),
             pending_left = lent(&g, &from, "p2", ahead, NULL, true);
    cluster_beat(g.server);
    rig_settle(&g);
    ok(asked_to_go(&g, incomplete), "INCOMPLETE, past");
    ok(asked_to_go(&g, active), "ACTIVE, past");
    ok(!asked_to_go(&g, incomplete_left) && !asked_to_go(&g, active_left), "not those not past");
    ok(!asked_to_go(&g, pending) && !asked_to_go(&g, pending_left), "nor one that is at work");
    ok(!asked_to_go(&g, forever), "nor one without expiry");
    ok(!cluster_get(g.server, gone), "and one that was deleted is none any more");
    rig_close(&g);
}

/* --- the files --- */

static const struct golden_fact resources[] = {
    {"stage a STAGED or an ACTIVE version", "no change", resource_no_change, NULL},
    {"hadoop 1 INACTIVE, 2 RECALLED, 3 INACTIVE; stage 2", "2 ACTIVE, rest INACTIVE", resource_back,
     NULL},
    {"then stage 1", "1 STAGED, 2 RECALLED, 3 INACTIVE", resource_then_one, NULL},
    {"then stage 3", "1 INACTIVE, 2 RECALLED, 3 STAGED", resource_then_three, NULL},
    {"stage a version that does not exist", "nothing changes (API answers 404)", resource_unknown,
     NULL},
};
static const struct golden_fact credentials[] = {
    {"provider type: admin fields region (overridable), url (overridable, sensitive); user fields "
     "keyname, key (sensitive), both required; provider sets region=iad, url=http://abc.com/api; "
     "create with keyname,key,region=dfw,url=internal.net/api",
     "stored with the cluster: keyname, region=dfw, url=http://abc.com/api; credential store: key, "
     "url=internal.net/api",
     credential_kept,
     "the provider's url is sensitive: it stays sealed with the provider, and no "
     "copy of it lies with the cluster in clear"},
    {"reconfigure an existing cluster without any fields and none stored",
     "refused, listing missing fields", credential_missing, NULL},
    {"delete job completes",
     "credential store entry wiped; no other job wipes it (TaskServiceTest)", credential_wiped,
     NULL},
};
static const struct golden_fact retries[] = {
    {"same plan; CREATE succeeds, CONFIRM always fails",
     "order of tasks handed out: CREATE ok, CONFIRM fail, DELETE ok, CREATE ok, CONFIRM fail, "
     "DELETE "
     "ok, CREATE ok, CONFIRM fail; then job FAILED, cluster INCOMPLETE; steps total 3+2 per retry "
     "= "
     "7, completed 5",
     retry_confirm,
     "an operation counts tasks, each once however often it is tried, so its total does not grow; "
     "attempts are counted with their tasks"},
};
static const struct golden_fact queues[] = {
    {"tenant1: id1,id2,id3; tenant2: id1..id5; drain with the group iterator",
     "id1,id1,id2,id2,id3,id3 alternating tenants (which goes first is free), then tenant2 id4,id5",
     queue_alternates, NULL},
    {"take from a named queue", "FIFO in that queue only", queue_in_order, NULL},
    {"size of a queue with 4, take one, finish it",
     "4, 4, 3: size counts queued and being consumed", queue_counts, NULL},
    {"remove all of one queue", "other queues untouched", queue_removed, NULL},
};
static const struct golden_fact janitors[] = {
    {"timeout 1 s; 4 tasks queued; two taken, 1 s passes, a third taken; janitor runs",
     "the first two: task FAILED, its node's open action FAILED, dropped from the queue, their job "
     "queued for scheduling (2 entries); third still being consumed; fourth still queued",
     janitor_tasks,
     "a task that may be repeated is, here it says `repeat: once`; no job waits to be scheduled, "
     "what follows is done in the same step"},
    {"a task in the queue that the store does not know", "removed from the queue", janitor_unknown,
     NULL},
    {"clusters past expiry: INCOMPLETE, ACTIVE, PENDING, TERMINATED; and the same not past; and "
     "one "
     "with expiry 0",
     "delete is requested for exactly the INCOMPLETE and the ACTIVE one that are past expiry",
     janitor_clusters, NULL},
    {"20 expired clusters, ids 0..19; this server has start id 3, increment 7",
     "it deletes 3, 10, 17 only", NULL,
     "one server owns all clusters; there is nobody to share them with"},
};

int main(void)
{
    struct golden_count n = {0};
    struct err e;
    plugin_dir = workdir_new("plugins");
    char *dir = fs_join(plugin_dir, "rackspace"), *file = fs_join(dir, PLUGIN_FILE);
    if (fs_mkdirs(dir, 0755, &e) < 0 ||
        fs_write_atomic(file, descriptor, sizeof descriptor - 1, 0644, &e) < 0)
        return 1;
#define FILE_OF(name, kind, facts) golden_file(name, kind, facts, sizeof facts / sizeof *facts, &n)
    FILE_OF("resource-stage", "plugin_resources", resources);
    FILE_OF("credentials", "credentials", credentials);
    FILE_OF("retry-confirm-fails", "retry", retries);
    FILE_OF("queue-groups", "task_queue", queues);
    FILE_OF("janitor-timeout", "janitor", janitors);
    note("facts: %u ran, %u passed, %u excepted; files not here: %u", n.ran, n.passed, n.excepted,
         n.skipped);
    fs_remove_tree(plugin_dir, &e);
    free(file);
    free(dir);
    free(plugin_dir);
    return tap_done();
}
