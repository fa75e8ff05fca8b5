/* fake_ops.c - the server's operations over tables of maps, but for those on deployments */
/* SPDX-License-Identifier: Apache-2.0 */
#include "fake_i.h"

#include <stdio.h>

#define LIST(op, t)                                                                                \
    int server_##op(struct server *s, const struct server_call *c, struct server_reply *r,         \
                    struct err *e)                                                                 \
    {                                                                                              \
        int rc = fake_begin(s, c, #op, e);                                                         \
        return rc < 0 ? rc : fake_list(s, c, t, r);                                                \
    }
#define GET(op, t, what)                                                                           \
    int server_##op(struct server *s, const struct server_call *c, struct server_reply *r,         \
                    struct err *e)                                                                 \
    {                                                                                              \
        struct value *row = NULL;                                                                  \
        int rc = fake_begin_on(s, c, #op, t, what, &row, e);                                       \
        if (rc < 0)                                                                                \
            return rc;                                                                             \
        fake_show(row, r);                                                                         \
        r->live = (t) == FAKE_DEPLOYMENTS; /* as the server: it shows counts of states */          \
        return 0;                                                                                  \
    }
/* Something happens to an object; the work goes on. */
#define POKE(op, t, what, kind)                                                                    \
    int server_##op(struct server *s, const struct server_call *c, struct server_reply *r,         \
                    struct err *e)                                                                 \
    {                                                                                              \
        struct value *row = NULL;                                                                  \
        int rc = fake_begin_on(s, c, #op, t, what, &row, e);                                       \
        if (rc < 0)                                                                                \
            return rc;                                                                             \
        fake_changed(s, row, kind, r);                                                             \
        r->accepted = true;                                                                        \
        return 0;                                                                                  \
    }
#define DROP(op, t, what, kind)                                                                    \
    int server_##op(struct server *s, const struct server_call *c, struct server_reply *r,         \
                    struct err *e)                                                                 \
    {                                                                                              \
        struct value *row = NULL;                                                                  \
        int rc = fake_begin_on(s, c, #op, t, what, &row, e);                                       \
        if (rc < 0)                                                                                \
            return rc;                                                                             \
        rc = fake_match(c, row, e);                                                                \
        if (rc < 0)                                                                                \
            return rc;                                                                             \
        fake_row_drop(s, t, row);                                                                  \
        r->group = fake_write(s, kind);                                                            \
        return 0;                                                                                  \
    }

LIST(token_list, FAKE_TOKENS)
LIST(node_list, FAKE_NODES)
LIST(group_list, FAKE_GROUPS)
LIST(catalog_generations, FAKE_GENERATIONS)
LIST(barclamp_list, FAKE_BARCLAMPS)
LIST(role_list, FAKE_ROLES)
LIST(jig_list, FAKE_JIGS)
LIST(pool_list, FAKE_POOLS)
LIST(provider_list, FAKE_PROVIDERS)
LIST(plugin_list, FAKE_PLUGINS)
LIST(resource_list, FAKE_RESOURCES)
LIST(tenant_list, FAKE_TENANTS)
LIST(deployment_list, FAKE_DEPLOYMENTS)
LIST(noderole_list, FAKE_NODEROLES)
LIST(operation_list, FAKE_OPERATIONS)
LIST(task_list, FAKE_TASKS)
LIST(worker_list, FAKE_WORKERS)
GET(worker_get, FAKE_WORKERS, "worker")
GET(node_get, FAKE_NODES, "node")
GET(role_get, FAKE_ROLES, "role")
GET(jig_get, FAKE_JIGS, "jig")
GET(pool_get, FAKE_POOLS, "pool")
GET(provider_get, FAKE_PROVIDERS, "provider")
GET(plugin_get, FAKE_PLUGINS, "plugin")
GET(resource_get, FAKE_RESOURCES, "resource")
GET(tenant_get, FAKE_TENANTS, "tenant")
GET(deployment_get, FAKE_DEPLOYMENTS, "deployment")
GET(noderole_get, FAKE_NODEROLES, "noderole")
GET(operation_get, FAKE_OPERATIONS, "operation")
GET(task_get, FAKE_TASKS, "task")
POKE(noderole_retry, FAKE_NODEROLES, "noderole", "noderole.retry")
POKE(operation_cancel, FAKE_OPERATIONS, "operation", "operation.cancel")
POKE(operation_retry, FAKE_OPERATIONS, "operation", "operation.retry")
POKE(operation_resume, FAKE_OPERATIONS, "operation", "operation.resume")
POKE(task_retry, FAKE_TASKS, "task", "task.retry")
POKE(task_poke, FAKE_TASKS, "task", "task.poke")
POKE(task_resolve, FAKE_TASKS, "task", "task.resolve")
DROP(node_delete, FAKE_NODES, "node", "node.gone")
DROP(deployment_delete, FAKE_DEPLOYMENTS, "deployment", "deployment.changed")
DROP(provider_delete, FAKE_PROVIDERS, "provider", "provider.changed")
DROP(worker_delete, FAKE_WORKERS, "worker", "worker.changed")
DROP(resource_delete, FAKE_RESOURCES, "resource", "resource.changed")
DROP(tenant_delete, FAKE_TENANTS, "tenant", "tenant.set")
DROP(token_revoke, FAKE_TOKENS, "token", "token.changed")

/* --- making --- */

int server_node_create(struct server *s, const struct server_call *c, struct server_reply *r,
                       struct err *e)
{
    const char *name = value_as_text(value_get(c->body, "name"), "");
    int rc = fake_begin(s, c, "node_create", e);
    if (rc < 0)
        return rc;
    if (fake_row_find(s, FAKE_NODES, name)) {
        err_set(e, ERR_EXISTS, "there is a node \"%s\" already", name);
        return err_at(e, "/name");
    }
    char json[512];
    snprintf(json, sizeof json,
             "{\"id\":%u,\"name\":\"\",\"deployment\":\"system\",\"available\":true,"
             "\"alive\":\"unknown\",\"admin\":false,\"slots\":1,\"labels\":{},\"groups\":[],"
             "\"addresses\":[],\"note\":\"\",\"rev\":1,\"state\":\"PROPOSED\",\"noderoles\":0}",
             ++s->next_id);
    struct value *row = fake_row_add(s, FAKE_NODES, json);
    fake_lay_over(s, row, c->body, false);
    return fake_made(s, c, row, "/v1/nodes", r);
}

int server_token_create(struct server *s, const struct server_call *c, struct server_reply *r,
                        struct err *e)
{
    int rc = fake_begin(s, c, "token_create", e);
    if (rc < 0)
        return rc;
    const char *scope = value_as_text(value_get(c->body, "scope"), "read");
    struct fake_token *t = vec_add(&s->tokens);
    snprintf(t->secret, sizeof t->secret, "anl_made_%u", ++s->next_secret);
    t->who = (struct caller){(uint32_t)s->tokens.n, 1,
                             !strcmp(scope, "admin")      ? SCOPE_ADMIN
                             : !strcmp(scope, "operate")  ? SCOPE_OPERATE
                             : !strcmp(scope, "announce") ? SCOPE_ANNOUNCE
                                                          : SCOPE_READ,
                             "made"};
    char json[256];
    snprintf(json, sizeof json,
             "{\"id\":%u,\"name\":\"\",\"scope\":\"read\",\"tenant\":\"default\","
             "\"created_at\":\"" FAKE_NOW "\",\"revoked\":false}",
             ++s->next_id);
    struct value *row = fake_row_add(s, FAKE_TOKENS, json);
    fake_lay_over(s, row, c->body, false);
    struct value *shown = value_copy(c->mem, row);
    value_put_text(c->mem, shown, "secret", t->secret);
    r->body = shown;
    r->group = fake_write(s, "token.changed");
    r->location = arena_printf(c->mem, "/v1/tokens/%u", s->next_id);
    return 0;
}

int server_tenant_create(struct server *s, const struct server_call *c, struct server_reply *r,
                         struct err *e)
{
    const char *name = value_as_text(value_get(c->body, "name"), "");
    int rc = fake_begin(s, c, "tenant_create", e);
    if (rc < 0)
        return rc;
    if (fake_row_find(s, FAKE_TENANTS, name)) {
        err_set(e, ERR_EXISTS, "there is a tenant \"%s\" already", name);
        return err_at(e, "/name");
    }
    struct value *row = fake_row_add(s, FAKE_TENANTS,
                                     "{\"name\":\"\",\"places\":0,\"share\":0,\"used\":0,"
                                     "\"short\":false,\"rev\":1}");
    fake_lay_over(s, row, c->body, false);
    return fake_made(s, c, row, "/v1/tenants", r);
}

/* --- changing --- */

int server_tenant_patch(struct server *s, const struct server_call *c, struct server_reply *r,
                        struct err *e)
{
    int rc = fake_begin(s, c, "tenant_patch", e);
    return rc < 0 ? rc : fake_patch(s, c, FAKE_TENANTS, "tenant", "tenant.set", r, e);
}

int server_node_patch(struct server *s, const struct server_call *c, struct server_reply *r,
                      struct err *e)
{
    int rc = fake_begin(s, c, "node_patch", e);
    return rc < 0 ? rc : fake_patch(s, c, FAKE_NODES, "node", "node.changed", r, e);
}

int server_jig_patch(struct server *s, const struct server_call *c, struct server_reply *r,
                     struct err *e)
{
    int rc = fake_begin(s, c, "jig_patch", e);
    return rc < 0 ? rc : fake_patch(s, c, FAKE_JIGS, "jig", "jig.set", r, e);
}

int server_pool_put(struct server *s, const struct server_call *c, struct server_reply *r,
                    struct err *e)
{
    int rc = fake_begin(s, c, "pool_put", e);
    if (rc < 0)
        return rc;
    if (fake_row_find(s, FAKE_POOLS, c->id[0]))
        return fake_patch(s, c, FAKE_POOLS, "pool", "pool.set", r, e);
    struct value *row = fake_row_add(s, FAKE_POOLS,
                                     "{\"name\":\"\",\"size\":1,\"taken\":0,\"elsewhere\":0,"
                                     "\"closed\":false,\"note\":\"\",\"waiting\":0,\"rev\":1}");
    value_put_text(&s->mem, row, "name", c->id[0]);
    fake_lay_over(s, row, c->body, false);
    return fake_made(s, c, row, "/v1/pools", r);
}

int server_provider_put(struct server *s, const struct server_call *c, struct server_reply *r,
                        struct err *e)
{
    int rc = fake_begin(s, c, "provider_put", e);
    if (rc < 0)
        return rc;
    if (fake_row_find(s, FAKE_PROVIDERS, c->id[0]))
        return fake_patch(s, c, FAKE_PROVIDERS, "provider", "provider.changed", r, e);
    struct value *row = fake_row_add(s, FAKE_PROVIDERS,
                                     "{\"name\":\"\",\"type\":\"\",\"fields\":{},"
                                     "\"sensitive\":[],\"created_at\":\"" FAKE_NOW "\",\"rev\":1}");
    value_put_text(&s->mem, row, "name", c->id[0]);
    fake_lay_over(s, row, c->body, false);
    return fake_made(s, c, row, "/v1/providers", r);
}

/* --- resources --- */

#define RESTATE(op, state)                                                                         \
    int server_##op(struct server *s, const struct server_call *c, struct server_reply *r,         \
                    struct err *e)                                                                 \
    {                                                                                              \
        struct value *row = NULL;                                                                  \
        int rc = fake_begin_on(s, c, #op, FAKE_RESOURCES, "resource", &row, e);                    \
        if (rc < 0)                                                                                \
            return rc;                                                                             \
        value_put_text(&s->mem, row, "state", state);                                              \
        fake_changed(s, row, "resource.changed", r);                                               \
        return 0;                                                                                  \
    }
RESTATE(resource_stage, "staged")
RESTATE(resource_recall, "inactive")

int server_resource_create(struct server *s, const struct server_call *c, struct server_reply *r,
                           struct err *e)
{
    int rc = fake_begin(s, c, "resource_create", e);
    if (rc < 0)
        return rc;
    char json[256];
    snprintf(json, sizeof json,
             "{\"id\":%u,\"version\":1,\"state\":\"inactive\",\"size\":1,\"created_at\":\"" FAKE_NOW
             "\",\"rev\":1}",
             ++s->next_id);
    struct value *row = fake_row_add(s, FAKE_RESOURCES, json);
    fake_lay_over(s, row, c->body, false);
    return fake_made(s, c, row, "/v1/resources", r);
}

int server_resource_sync(struct server *s, const struct server_call *c, struct server_reply *r,
                         struct err *e)
{
    struct value *v = value_map(c->mem);
    int rc = fake_begin(s, c, "resource_sync", e);
    if (rc < 0)
        return rc;
    value_put_int(c->mem, v, "activated", 1);
    value_put_int(c->mem, v, "deactivated", 0);
    r->body = v;
    r->group = fake_write(s, "resource.changed");
    return 0;
}

/* Either way: whatever is a digest is there. */
static int fake_content(struct server *s, const struct server_call *c, const char *op,
                        struct server_reply *r, struct err *e)
{
    struct value *v = value_map(c->mem);
    int rc = fake_begin(s, c, op, e);
    if (rc < 0)
        return rc;
    if (strspn(c->id[0], "0123456789abcdef") != 32 || c->id[0][32])
        return err_set(e, ERR_NOT_FOUND, "%s is not a digest", c->id[0]);
    value_put_text(c->mem, v, "digest", c->id[0]);
    value_put_int(c->mem, v, "received", 1);
    value_put_bool(c->mem, v, "complete", true);
    r->body = v;
    return 0;
}

int server_content_get(struct server *s, const struct server_call *c, struct server_reply *r,
                       struct err *e)
{
    return fake_content(s, c, "content_get", r, e);
}

int server_content_put(struct server *s, const struct server_call *c, struct server_reply *r,
                       struct err *e)
{
    return fake_content(s, c, "content_put", r, e);
}

int server_node_report(struct server *s, const struct server_call *c, struct server_reply *r,
                       struct err *e)
{
    struct value *row = NULL;
    int rc = fake_begin_on(s, c, "node_report", FAKE_NODES, "node", &row, e);
    if (rc < 0)
        return rc;
    const char *seen = value_as_text(value_get(c->body, "alive"), "alive");
    value_put_text(&s->mem, row, "alive", !strcmp(seen, "silent") ? "unknown" : seen);
    fake_changed(s, row, "node.seen", r);
    return 0;
}

int server_announce(struct server *s, const struct server_call *c, struct server_reply *r,
                    struct err *e)
{
    const char *name = value_as_text(value_get(c->body, "name"), "made");
    int rc = fake_begin(s, c, "announce", e);
    if (rc < 0)
        return rc;
    struct value *v = value_map(c->mem);
    value_put_int(c->mem, v, "id", 1);
    value_put_text(c->mem, v, "name", name);
    value_put_bool(c->mem, v, "new", true);
    r->body = v;
    r->location = arena_printf(c->mem, "/v1/nodes/%s", name);
    r->group = fake_write(s, "node.add");
    return 0;
}

int server_noderole_visible(struct server *s, const struct server_call *c, struct server_reply *r,
                            struct err *e)
{
    struct value *row = NULL, *v = value_map(c->mem);
    int rc = fake_begin_on(s, c, "noderole_visible", FAKE_NODEROLES, "noderole", &row, e);
    if (rc < 0)
        return rc;
    value_set(c->mem, v, "noderole", value_get(row, "id"));
    value_set(c->mem, v, "data", value_map(c->mem));
    r->body = v;
    return 0;
}

int server_noderole_data(struct server *s, const struct server_call *c, struct server_reply *r,
                         struct err *e)
{
    struct value *row = NULL;
    int rc = fake_begin_on(s, c, "noderole_data", FAKE_NODEROLES, "noderole", &row, e);
    if (rc < 0)
        return rc;
    rc = fake_match(c, row, e);
    if (rc < 0)
        return rc;
    value_set(&s->mem, row, "data", value_copy(&s->mem, c->body));
    fake_changed(s, row, "data.set", r);
    return 0;
}

/* --- the others --- */

static int operation_reply(struct server *s, struct server_reply *r, struct err *e)
{
    struct value *op = fake_row_find(s, FAKE_OPERATIONS, "1");
    if (!op)
        return fake_lacks("operation", "1", e);
    r->group = fake_write(s, "rerun");
    r->accepted = true;
    fake_show(op, r);
    return 0;
}

int server_role_rerun(struct server *s, const struct server_call *c, struct server_reply *r,
                      struct err *e)
{
    int rc = fake_begin_on(s, c, "role_rerun", FAKE_ROLES, "role", NULL, e);
    return rc < 0 ? rc : operation_reply(s, r, e);
}

int server_role_store(struct server *s, const struct server_call *c, struct server_reply *r,
                      struct err *e)
{
    int rc = fake_begin_on(s, c, "role_store", FAKE_ROLES, "role", NULL, e);
    if (rc < 0)
        return rc;
    struct value *v = value_map(c->mem);
    value_put_text(c->mem, v, "role", c->id[0]);
    value_put_int(c->mem, v, "rev", 1);
    value_set(c->mem, v, "store", value_map(c->mem));
    r->body = v;
    r->rev = 1;
    return 0;
}

int server_noderole_rerun(struct server *s, const struct server_call *c, struct server_reply *r,
                          struct err *e)
{
    int rc = fake_begin_on(s, c, "noderole_rerun", FAKE_NODEROLES, "noderole", NULL, e);
    return rc < 0 ? rc : operation_reply(s, r, e);
}

int server_node_redeploy(struct server *s, const struct server_call *c, struct server_reply *r,
                         struct err *e)
{
    int rc = fake_begin_on(s, c, "node_redeploy", FAKE_NODES, "node", NULL, e);
    return rc < 0 ? rc : operation_reply(s, r, e);
}

int server_status(struct server *s, const struct server_call *c, struct server_reply *r,
                  struct err *e)
{
    return fake_document(
        s, c, "status",
        "{\"version\":\"0\",\"state\":\"finished\",\"uptime_ms\":1,\"group\":0,"
        "\"journal\":0,\"catalog\":1,"
        "\"nodes\":{\"alive\":3},\"noderoles\":{\"ACTIVE\":1},\"tasks\":{\"DONE\":1},"
        "\"operations\":[],\"workers\":1,\"stalled\":false,\"suspect\":false,"
        "\"attention\":[],\"store\":{\"bytes\":4096,\"check\":\"ok\",\"checking\":false,"
        "\"degraded\":null,\"backup\":null}}",
        r, e);
}

const char fake_catalog_text[] = "{\"generation\":1,\"digest\":\"00\",\"origin\":\"test\","
                                 "\"loaded_at\":\"" FAKE_NOW
                                 "\",\"barclamps\":1,\"roles\":1,\"tasks\":1}";

int server_catalog_get(struct server *s, const struct server_call *c, struct server_reply *r,
                       struct err *e)
{
    return fake_document(s, c, "catalog_get", fake_catalog_text, r, e);
}

int server_catalog_load(struct server *s, const struct server_call *c, struct server_reply *r,
                        struct err *e)
{
    int rc = fake_document(s, c, "catalog_load", fake_catalog_text, r, e);
    if (rc < 0 || value_as_bool(value_get(c->body, "dry_run"), false))
        return rc;
    r->group = fake_write(s, "catalog.loaded");
    r->location = "/v1/catalog";
    return 0;
}

int server_noderole_abandon(struct server *s, const struct server_call *c, struct server_reply *r,
                            struct err *e)
{
    int rc = fake_document(s, c, "noderole_abandon",
                           "{\"noderole\":1,\"name\":\"web@n1\",\"reason\":\"\",\"undone\":[]}", r,
                           e);
    if (rc >= 0 && !fake_row_find(s, FAKE_NODEROLES, c->id[0]))
        rc = fake_lacks("noderole", c->id[0], e);
    if (rc >= 0)
        r->group = fake_write(s, "noderole.abandon");
    return rc;
}

int server_task_attempts(struct server *s, const struct server_call *c, struct server_reply *r,
                         struct err *e)
{
    int rc = fake_begin_on(s, c, "task_attempts", FAKE_TASKS, "task", NULL, e);
    return rc < 0 ? rc : fake_list(s, c, FAKE_ATTEMPTS, r);
}

int server_operation_history(struct server *s, const struct server_call *c, struct server_reply *r,
                             struct err *e)
{
    int rc = fake_begin_on(s, c, "operation_history", FAKE_OPERATIONS, "operation", NULL, e);
    return rc < 0 ? rc : fake_list(s, c, FAKE_HISTORY, r);
}

int server_operation_timeline(struct server *s, const struct server_call *c, struct server_reply *r,
                              struct err *e)
{
    int rc = fake_begin_on(s, c, "operation_timeline", FAKE_OPERATIONS, "operation", NULL, e);
    if (rc < 0)
        return rc;
    struct value *v = value_map(c->mem);
    value_put_int(c->mem, v, "operation", 1);
    value_put_text(c->mem, v, "from", FAKE_NOW);
    value_put_text(c->mem, v, "to", FAKE_NOW);
    value_put_int(c->mem, v, "span_ms", 0);
    value_set(c->mem, v, "nodes", value_list(c->mem));
    value_set(c->mem, v, "critical", value_list(c->mem));
    value_put_bool(c->mem, v, "truncated", false);
    r->body = v;
    r->live = true;
    return 0;
}

int server_why(struct server *s, const struct server_call *c, struct server_reply *r, struct err *e)
{
    if (!strncmp(c->id[1], "nobody", 6) || !strcmp(c->id[1], "4000000000"))
        return fake_lacks(c->id[0], c->id[1], e);
    return fake_document(
        s, c, "why",
        "{\"object\":\"node\",\"id\":1,\"name\":\"n1\",\"state\":\"ACTIVE\","
        "\"summary\":\"all is well\",\"reasons\":[{\"rule\":\"none\",\"text\":\"-\"}]}",
        r, e);
}

int server_admin_backup(struct server *s, const struct server_call *c, struct server_reply *r,
                        struct err *e)
{
    return fake_document(s, c, "admin_backup", "{\"name\":\"x\",\"path\":\"/x.tar\"}", r, e);
}

int server_admin_check(struct server *s, const struct server_call *c, struct server_reply *r,
                       struct err *e)
{
    return fake_document(s, c, "admin_check", "{\"ok\":true,\"findings\":[]}", r, e);
}

int server_admin_confirm_dead(struct server *s, const struct server_call *c, struct server_reply *r,
                              struct err *e)
{
    return fake_document(s, c, "admin_confirm_dead", "{\"suspect\":false}", r, e);
}
