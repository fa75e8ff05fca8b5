/* fake_ops.c - the server's operations over tables of maps
 *
 * An object is a map with rev and, where it has one, id and name.  Filters compare fields as text.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "fake_i.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/json.h"
#include "base/text.h"

#define NOW "2026-01-02T03:04:05.678Z"

/* --- tables --- */

static struct value *row_add(struct server *s, enum fake_table t, const char *json)
{
    struct value *v;
    struct err e;
    if (json_parse(&s->mem, json, strlen(json), NULL, &v, &e) < 0) {
        fprintf(stderr, "fake: %s: %s\n", e.text, json);
        abort();
    }
    vec_push(&s->table[t], v);
    return v;
}

/* Text of a scalar field, as a filter or a path gives it. */
static bool field_is(const struct value *row, const char *field, struct str text)
{
    const struct value *v = value_get(row, field);
    char number[24];
    if (value_is(v, VALUE_INT)) {
        snprintf(number, sizeof number, "%" PRId64, v->i);
        return str_is(text, number);
    }
    return value_is(v, VALUE_STRING) && str_eq(value_as_str(v), text);
}

static struct value *row_find(struct server *s, enum fake_table t, const char *key)
{
    for (size_t i = 0; key && i < s->table[t].n; i++) {
        struct value *row = s->table[t].at[i];
        if (field_is(row, "id", str_of(key)) || field_is(row, "name", str_of(key)))
            return row;
    }
    return NULL;
}

static void row_drop(struct server *s, enum fake_table t, const struct value *row)
{
    for (size_t i = 0; i < s->table[t].n; i++)
        if (s->table[t].at[i] == row)
            s->table[t].at[i--] = s->table[t].at[--s->table[t].n];
}

/* --- what every operation does first --- */

static int begin(struct server *s, const struct server_call *c, const char *name, struct err *e)
{
    s->calls++;
    snprintf(s->last_call, sizeof s->last_call, "%s", name);
    buf_clear(&s->last_query);
    json_write(&s->last_query, c->query, 0);
    buf_clear(&s->last_body);
    json_write(&s->last_body, c->body, 0);
    buf_clear(&s->last_ids);
    for (unsigned i = 0; i < 3 && c->id[i]; i++)
        buf_printf(&s->last_ids, "%s%s", i ? "," : "", c->id[i]);
    if (!s->fail_code)
        return 0;
    int r = err_set(e, s->fail_code, "%s", s->fail_text);
    s->fail_code = ERR_NONE;
    return r;
}

static int lacks(const char *what, const char *key, struct err *e)
{
    return err_set(e, ERR_NOT_FOUND, "there is no %s \"%s\"", what, key);
}

static int match(const struct server_call *c, const struct value *row, struct err *e)
{
    int64_t rev = value_as_int(value_get(row, "rev"), 0);
    if (!c->if_match || !strcmp(c->if_match, "*") || field_is(row, "rev", str_of(c->if_match)))
        return 0;
    err_set(e, ERR_STALE, "revision %s is stale, the current one is %" PRId64, c->if_match, rev);
    return err_hint(e, "read it again");
}

static void show(const struct value *row, struct server_reply *r)
{
    r->body = row;
    r->rev = (uint64_t)value_as_int(value_get(row, "rev"), 0);
}

static void changed(struct server *s, struct value *row, const char *kind, struct server_reply *r)
{
    value_put_int(&s->mem, row, "rev", value_as_int(value_get(row, "rev"), 0) + 1);
    r->group = fake_write(s, kind);
    show(row, r);
}

/* --- lists --- */

static bool passes(const struct value *row, const struct value *query)
{
    for (uint32_t i = 0; query && i < query->n; i++) {
        const struct member *m = &query->members[i];
        if (!strcmp(m->key, "limit") || !strcmp(m->key, "after") || !strcmp(m->key, "selector"))
            continue;
        if (!field_is(row, m->key, value_as_str(&m->v)))
            return false;
    }
    return true;
}

static void bulk(struct server *s, struct arena *mem, struct value *items)
{
    for (; s->bulk; s->bulk--) {
        struct value *item = value_map(mem);
        value_put_int(mem, item, "id", s->bulk);
        value_put_text(mem, item, "text",
                       "0123456789012345678901234567890123456789012345678901234567890123456789");
        value_add(mem, items, item);
    }
}

static int list(struct server *s, const struct server_call *c, enum fake_table t,
                struct server_reply *r)
{
    struct value *page = value_map(c->mem), *items = value_list(c->mem);
    uint64_t limit = 100, after = 0, total = 0;
    const struct value *next = value_null(c->mem);

    (void)text_u64(value_as_str(value_get(c->query, "limit")), 100000, &limit, NULL);
    (void)text_u64(value_as_str(value_get(c->query, "after")), 100000, &after, NULL);
    for (size_t i = 0; i < s->table[t].n; i++) {
        if (!passes(s->table[t].at[i], c->query))
            continue;
        if (total >= after && items->n < limit)
            value_add(c->mem, items, s->table[t].at[i]);
        total++;
    }
    if (after + items->n < total) {
        char cursor[24];
        snprintf(cursor, sizeof cursor, "%" PRIu64, after + items->n);
        next = value_text(c->mem, cursor);
    }
    bulk(s, c->mem, items);
    value_set(c->mem, page, "items", items);
    value_set(c->mem, page, "next", next);
    value_put_int(c->mem, page, "total", (int64_t)total);
    r->body = page;
    return 0;
}

#define LIST(op, t)                                                                                \
    int server_##op(struct server *s, const struct server_call *c, struct server_reply *r,         \
                    struct err *e)                                                                 \
    {                                                                                              \
        int rc = begin(s, c, #op, e);                                                              \
        return rc < 0 ? rc : list(s, c, t, r);                                                     \
    }
#define GET(op, t, what)                                                                           \
    int server_##op(struct server *s, const struct server_call *c, struct server_reply *r,         \
                    struct err *e)                                                                 \
    {                                                                                              \
        int rc = begin(s, c, #op, e);                                                              \
        const struct value *row = row_find(s, t, c->id[0]);                                        \
        if (rc < 0)                                                                                \
            return rc;                                                                             \
        if (!row)                                                                                  \
            return lacks(what, c->id[0], e);                                                       \
        show(row, r);                                                                              \
        r->live = (t) == FAKE_DEPLOYMENTS; /* as the server: it shows counts of states */          \
        return 0;                                                                                  \
    }
/* Something happens to an object; the work goes on. */
#define POKE(op, t, what, kind)                                                                    \
    int server_##op(struct server *s, const struct server_call *c, struct server_reply *r,         \
                    struct err *e)                                                                 \
    {                                                                                              \
        int rc = begin(s, c, #op, e);                                                              \
        struct value *row = row_find(s, t, c->id[0]);                                              \
        if (rc < 0)                                                                                \
            return rc;                                                                             \
        if (!row)                                                                                  \
            return lacks(what, c->id[0], e);                                                       \
        changed(s, row, kind, r);                                                                  \
        r->accepted = true;                                                                        \
        return 0;                                                                                  \
    }
#define DROP(op, t, what, kind)                                                                    \
    int server_##op(struct server *s, const struct server_call *c, struct server_reply *r,         \
                    struct err *e)                                                                 \
    {                                                                                              \
        int rc = begin(s, c, #op, e);                                                              \
        struct value *row = row_find(s, t, c->id[0]);                                              \
        if (rc < 0)                                                                                \
            return rc;                                                                             \
        if (!row)                                                                                  \
            return lacks(what, c->id[0], e);                                                       \
        rc = match(c, row, e);                                                                     \
        if (rc < 0)                                                                                \
            return rc;                                                                             \
        row_drop(s, t, row);                                                                       \
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
LIST(deployment_list, FAKE_DEPLOYMENTS)
LIST(noderole_list, FAKE_NODEROLES)
LIST(operation_list, FAKE_OPERATIONS)
LIST(task_list, FAKE_TASKS)
LIST(worker_list, FAKE_WORKERS)
GET(node_get, FAKE_NODES, "node")
GET(role_get, FAKE_ROLES, "role")
GET(jig_get, FAKE_JIGS, "jig")
GET(pool_get, FAKE_POOLS, "pool")
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
DROP(token_revoke, FAKE_TOKENS, "token", "token.changed")

/* --- making --- */

static int made(struct server *s, const struct server_call *c, struct value *row, const char *where,
                struct server_reply *r)
{
    const char *name = value_as_text(value_get(row, "name"), "");
    show(row, r);
    r->group = fake_write(s, "node.changed");
    r->location = arena_printf(c->mem, "%s/%s", where, name);
    return 0;
}

/* Fields of the body laid over the row's. */
static void lay_over(struct server *s, struct value *row, const struct value *body, bool null_drops)
{
    for (uint32_t i = 0; body && i < body->n; i++) {
        const struct member *m = &body->members[i];
        struct value *v = value_copy(&s->mem, &m->v);
        if (null_drops && v->kind == VALUE_NULL)
            v = value_text(&s->mem, "");
        if (null_drops && v->kind == VALUE_MAP) { /* {"rack": null} removes one label */
            struct value *kept = value_map(&s->mem);
            for (uint32_t k = 0; k < v->n; k++)
                if (v->members[k].v.kind != VALUE_NULL)
                    value_set(&s->mem, kept, v->members[k].key, &v->members[k].v);
            v = kept;
        }
        value_set(&s->mem, row, m->key, v);
    }
}

int server_node_create(struct server *s, const struct server_call *c, struct server_reply *r,
                       struct err *e)
{
    const char *name = value_as_text(value_get(c->body, "name"), "");
    int rc = begin(s, c, "node_create", e);
    if (rc < 0)
        return rc;
    if (row_find(s, FAKE_NODES, name)) {
        err_set(e, ERR_EXISTS, "there is a node \"%s\" already", name);
        return err_at(e, "/name");
    }
    char json[512];
    snprintf(json, sizeof json,
             "{\"id\":%u,\"name\":\"\",\"deployment\":\"system\",\"available\":true,"
             "\"alive\":\"unknown\",\"admin\":false,\"slots\":1,\"labels\":{},\"groups\":[],"
             "\"addresses\":[],\"note\":\"\",\"rev\":1,\"state\":\"PROPOSED\",\"noderoles\":0}",
             ++s->next_id);
    struct value *row = row_add(s, FAKE_NODES, json);
    lay_over(s, row, c->body, false);
    return made(s, c, row, "/v1/nodes", r);
}

int server_deployment_create(struct server *s, const struct server_call *c, struct server_reply *r,
                             struct err *e)
{
    const char *name = value_as_text(value_get(c->body, "name"), "");
    int rc = begin(s, c, "deployment_create", e);
    if (rc < 0)
        return rc;
    if (row_find(s, FAKE_DEPLOYMENTS, name))
        return err_set(e, ERR_EXISTS, "there is a deployment \"%s\" already", name);
    char json[256];
    snprintf(json, sizeof json,
             "{\"id\":%u,\"name\":\"\",\"parent\":\"system\",\"description\":\"\",\"rev\":1,"
             "\"noderoles\":{}}",
             ++s->next_id);
    struct value *row = row_add(s, FAKE_DEPLOYMENTS, json);
    lay_over(s, row, c->body, false);
    return made(s, c, row, "/v1/deployments", r);
}

int server_token_create(struct server *s, const struct server_call *c, struct server_reply *r,
                        struct err *e)
{
    int rc = begin(s, c, "token_create", e);
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
             "{\"id\":%u,\"name\":\"\",\"scope\":\"read\",\"created_at\":\"" NOW
             "\",\"revoked\":false}",
             ++s->next_id);
    struct value *row = row_add(s, FAKE_TOKENS, json);
    lay_over(s, row, c->body, false);
    struct value *shown = value_copy(c->mem, row);
    value_put_text(c->mem, shown, "secret", t->secret);
    r->body = shown;
    r->group = fake_write(s, "token.changed");
    r->location = arena_printf(c->mem, "/v1/tokens/%u", s->next_id);
    return 0;
}

/* --- changing --- */

static int patch(struct server *s, const struct server_call *c, enum fake_table t, const char *what,
                 const char *kind, struct server_reply *r, struct err *e)
{
    struct value *row = row_find(s, t, c->id[0]);
    if (!row)
        return lacks(what, c->id[0], e);
    int rc = match(c, row, e);
    if (rc < 0)
        return rc;
    lay_over(s, row, c->body, true);
    changed(s, row, kind, r);
    return 0;
}

int server_node_patch(struct server *s, const struct server_call *c, struct server_reply *r,
                      struct err *e)
{
    int rc = begin(s, c, "node_patch", e);
    return rc < 0 ? rc : patch(s, c, FAKE_NODES, "node", "node.changed", r, e);
}

int server_jig_patch(struct server *s, const struct server_call *c, struct server_reply *r,
                     struct err *e)
{
    int rc = begin(s, c, "jig_patch", e);
    return rc < 0 ? rc : patch(s, c, FAKE_JIGS, "jig", "jig.set", r, e);
}

int server_deployment_patch(struct server *s, const struct server_call *c, struct server_reply *r,
                            struct err *e)
{
    int rc = begin(s, c, "deployment_patch", e);
    return rc < 0 ? rc : patch(s, c, FAKE_DEPLOYMENTS, "deployment", "deployment.changed", r, e);
}

int server_pool_put(struct server *s, const struct server_call *c, struct server_reply *r,
                    struct err *e)
{
    int rc = begin(s, c, "pool_put", e);
    if (rc < 0)
        return rc;
    if (row_find(s, FAKE_POOLS, c->id[0]))
        return patch(s, c, FAKE_POOLS, "pool", "pool.set", r, e);
    struct value *row = row_add(s, FAKE_POOLS,
                                "{\"name\":\"\",\"size\":1,\"taken\":0,\"elsewhere\":0,"
                                "\"closed\":false,\"note\":\"\",\"waiting\":0,\"rev\":1}");
    value_put_text(&s->mem, row, "name", c->id[0]);
    lay_over(s, row, c->body, false);
    return made(s, c, row, "/v1/pools", r);
}

int server_node_report(struct server *s, const struct server_call *c, struct server_reply *r,
                       struct err *e)
{
    int rc = begin(s, c, "node_report", e);
    struct value *row = row_find(s, FAKE_NODES, c->id[0]);
    if (rc < 0)
        return rc;
    if (!row)
        return lacks("node", c->id[0], e);
    const char *seen = value_as_text(value_get(c->body, "alive"), "alive");
    value_put_text(&s->mem, row, "alive", !strcmp(seen, "silent") ? "unknown" : seen);
    changed(s, row, "node.seen", r);
    return 0;
}

int server_announce(struct server *s, const struct server_call *c, struct server_reply *r,
                    struct err *e)
{
    const char *name = value_as_text(value_get(c->body, "name"), "made");
    int rc = begin(s, c, "announce", e);
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
    int rc = begin(s, c, "noderole_visible", e);
    struct value *row = row_find(s, FAKE_NODEROLES, c->id[0]), *v = value_map(c->mem);
    if (rc < 0)
        return rc;
    if (!row)
        return lacks("noderole", c->id[0], e);
    value_set(c->mem, v, "noderole", value_get(row, "id"));
    value_set(c->mem, v, "data", value_map(c->mem));
    r->body = v;
    return 0;
}

int server_noderole_data(struct server *s, const struct server_call *c, struct server_reply *r,
                         struct err *e)
{
    int rc = begin(s, c, "noderole_data", e);
    struct value *row = row_find(s, FAKE_NODEROLES, c->id[0]);
    if (rc < 0)
        return rc;
    if (!row)
        return lacks("noderole", c->id[0], e);
    rc = match(c, row, e);
    if (rc < 0)
        return rc;
    value_set(&s->mem, row, "data", value_copy(&s->mem, c->body));
    changed(s, row, "data.set", r);
    return 0;
}

/* --- the others --- */

static int operation_reply(struct server *s, struct server_reply *r, struct err *e)
{
    struct value *op = row_find(s, FAKE_OPERATIONS, "1");
    if (!op)
        return lacks("operation", "1", e);
    r->group = fake_write(s, "rerun");
    r->accepted = true;
    show(op, r);
    return 0;
}

int server_role_rerun(struct server *s, const struct server_call *c, struct server_reply *r,
                      struct err *e)
{
    int rc = begin(s, c, "role_rerun", e);
    if (rc == 0 && !row_find(s, FAKE_ROLES, c->id[0]))
        rc = lacks("role", c->id[0], e);
    return rc < 0 ? rc : operation_reply(s, r, e);
}

int server_role_store(struct server *s, const struct server_call *c, struct server_reply *r,
                      struct err *e)
{
    int rc = begin(s, c, "role_store", e);
    if (rc == 0 && !row_find(s, FAKE_ROLES, c->id[0]))
        rc = lacks("role", c->id[0], e);
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
    int rc = begin(s, c, "noderole_rerun", e);
    if (rc == 0 && !row_find(s, FAKE_NODEROLES, c->id[0]))
        rc = lacks("noderole", c->id[0], e);
    return rc < 0 ? rc : operation_reply(s, r, e);
}

int server_node_redeploy(struct server *s, const struct server_call *c, struct server_reply *r,
                         struct err *e)
{
    int rc = begin(s, c, "node_redeploy", e);
    if (rc == 0 && !row_find(s, FAKE_NODES, c->id[0]))
        rc = lacks("node", c->id[0], e);
    return rc < 0 ? rc : operation_reply(s, r, e);
}

static int document(struct server *s, const struct server_call *c, const char *name,
                    const char *json, struct server_reply *r, struct err *e)
{
    int rc = begin(s, c, name, e);
    struct value *v;
    if (rc < 0)
        return rc;
    if (json_parse(c->mem, json, strlen(json), NULL, &v, e) < 0)
        abort();
    r->body = v;
    return 0;
}

int server_deployment_bind(struct server *s, const struct server_call *c, struct server_reply *r,
                           struct err *e)
{
    bool dry = value_as_bool(value_get(c->body, "dry_run"), false);
    int rc = document(s, c, "deployment_bind",
                      dry ? "{\"operation\":null,\"steps\":[{}],\"noderoles\":[],\"tasks\":1}"
                          : "{\"operation\":{},\"steps\":[{}],\"noderoles\":[1],\"tasks\":1}",
                      r, e);
    if (rc < 0)
        return rc;
    if (!row_find(s, FAKE_DEPLOYMENTS, c->id[0]))
        return lacks("deployment", c->id[0], e);
    if (!dry) {
        struct value *v = value_copy(c->mem, r->body);
        value_set(c->mem, v, "operation", row_find(s, FAKE_OPERATIONS, "1"));
        r->body = v;
        r->group = fake_write(s, "plan.apply");
        r->accepted = true;
    }
    return 0;
}

int server_status(struct server *s, const struct server_call *c, struct server_reply *r,
                  struct err *e)
{
    return document(s, c, "status",
                    "{\"version\":\"0\",\"state\":\"finished\",\"uptime_ms\":1,\"group\":0,"
                    "\"journal\":0,\"catalog\":1,"
                    "\"nodes\":{\"alive\":3},\"noderoles\":{\"ACTIVE\":1},\"tasks\":{\"DONE\":1},"
                    "\"operations\":[],\"workers\":1,\"stalled\":false,\"suspect\":false,"
                    "\"store\":{\"bytes\":4096,\"check\":\"ok\",\"checking\":false,"
                    "\"degraded\":null,\"backup\":null}}",
                    r, e);
}

static const char catalog[] = "{\"generation\":1,\"digest\":\"00\",\"origin\":\"test\","
                              "\"loaded_at\":\"" NOW "\",\"barclamps\":1,\"roles\":1,\"tasks\":1}";

int server_catalog_get(struct server *s, const struct server_call *c, struct server_reply *r,
                       struct err *e)
{
    return document(s, c, "catalog_get", catalog, r, e);
}

int server_catalog_load(struct server *s, const struct server_call *c, struct server_reply *r,
                        struct err *e)
{
    int rc = document(s, c, "catalog_load", catalog, r, e);
    if (rc < 0 || value_as_bool(value_get(c->body, "dry_run"), false))
        return rc;
    r->group = fake_write(s, "catalog.loaded");
    r->location = "/v1/catalog";
    return 0;
}

static const char snapshot[] =
    "{\"id\":1,\"deployment\":\"prod\",\"number\":1,\"state\":\"committed\",\"author\":"
    "\"admin\",\"message\":\"bind\",\"catalog\":1,\"source\":null,\"operation\":null,"
    "\"entries\":2,\"created_at\":null,\"ended_at\":null,\"rev\":1}";
static const char diff[] =
    "{\"from\":null,\"to\":null,\"changes\":[],\"conflicts\":[],\"lost\":[],"
    "\"touched\":[],\"refused\":null}";
static const char outcome[] = "{\"snapshot\":null,\"operation\":null,\"added\":0,\"changed\":1,"
                              "\"removed\":0,\"tasks\":0,\"going\":[],\"touched\":[]}";

/* Of a deployment that is there; a write tells of an event. */
static int of_deployment(struct server *s, const struct server_call *c, const char *op,
                         const char *json, const char *event, struct server_reply *r, struct err *e)
{
    int rc = document(s, c, op, json, r, e);
    if (rc >= 0 && !row_find(s, FAKE_DEPLOYMENTS, c->id[0]))
        rc = lacks("deployment", c->id[0], e);
    if (rc >= 0)
        r->rev = (uint64_t)value_as_int(value_get(r->body, "rev"), 0);
    if (rc >= 0 && event)
        r->group = fake_write(s, event);
    return rc;
}

int server_deployment_diff(struct server *s, const struct server_call *c, struct server_reply *r,
                           struct err *e)
{
    return of_deployment(s, c, "deployment_diff", diff, NULL, r, e);
}

int server_deployment_propose(struct server *s, const struct server_call *c, struct server_reply *r,
                              struct err *e)
{
    r->location = "/v1/deployments/system/proposal";
    return of_deployment(s, c, "deployment_propose", snapshot, "deployment.changed", r, e);
}

int server_deployment_proposal(struct server *s, const struct server_call *c,
                               struct server_reply *r, struct err *e)
{
    return of_deployment(s, c, "deployment_proposal", snapshot, NULL, r, e);
}

int server_deployment_edit(struct server *s, const struct server_call *c, struct server_reply *r,
                           struct err *e)
{
    return of_deployment(s, c, "deployment_edit", snapshot, "deployment.changed", r, e);
}

int server_deployment_recall(struct server *s, const struct server_call *c, struct server_reply *r,
                             struct err *e)
{
    int rc = of_deployment(s, c, "deployment_recall", snapshot, "deployment.changed", r, e);
    r->body = NULL;
    return rc;
}

int server_deployment_commit(struct server *s, const struct server_call *c, struct server_reply *r,
                             struct err *e)
{
    return of_deployment(s, c, "deployment_commit", outcome, "plan.apply", r, e);
}

int server_deployment_unbind(struct server *s, const struct server_call *c, struct server_reply *r,
                             struct err *e)
{
    return of_deployment(s, c, "deployment_unbind", outcome, "plan.apply", r, e);
}

int server_noderole_abandon(struct server *s, const struct server_call *c, struct server_reply *r,
                            struct err *e)
{
    int rc = document(s, c, "noderole_abandon",
                      "{\"noderole\":1,\"name\":\"web@n1\",\"reason\":\"\",\"undone\":[]}", r, e);
    if (rc >= 0 && !row_find(s, FAKE_NODEROLES, c->id[0]))
        rc = lacks("noderole", c->id[0], e);
    if (rc >= 0)
        r->group = fake_write(s, "noderole.abandon");
    return rc;
}

int server_deployment_snapshots(struct server *s, const struct server_call *c,
                                struct server_reply *r, struct err *e)
{
    int rc = begin(s, c, "deployment_snapshots", e);
    if (rc == 0 && !row_find(s, FAKE_DEPLOYMENTS, c->id[0]))
        rc = lacks("deployment", c->id[0], e);
    return rc < 0 ? rc : list(s, c, FAKE_SNAPSHOTS, r);
}

int server_task_attempts(struct server *s, const struct server_call *c, struct server_reply *r,
                         struct err *e)
{
    int rc = begin(s, c, "task_attempts", e);
    if (rc == 0 && !row_find(s, FAKE_TASKS, c->id[0]))
        rc = lacks("task", c->id[0], e);
    return rc < 0 ? rc : list(s, c, FAKE_ATTEMPTS, r);
}

int server_why(struct server *s, const struct server_call *c, struct server_reply *r, struct err *e)
{
    if (!strncmp(c->id[1], "nobody", 6) || !strcmp(c->id[1], "4000000000"))
        return lacks(c->id[0], c->id[1], e);
    return document(s, c, "why",
                    "{\"object\":\"node\",\"id\":1,\"name\":\"n1\",\"state\":\"ACTIVE\","
                    "\"summary\":\"all is well\",\"reasons\":[{\"rule\":\"none\",\"text\":\"-\"}]}",
                    r, e);
}

int server_admin_backup(struct server *s, const struct server_call *c, struct server_reply *r,
                        struct err *e)
{
    return document(s, c, "admin_backup", "{\"path\":\"/tmp/x\",\"bytes\":1}", r, e);
}

int server_admin_check(struct server *s, const struct server_call *c, struct server_reply *r,
                       struct err *e)
{
    return document(s, c, "admin_check", "{\"ok\":true,\"findings\":[]}", r, e);
}

int server_admin_confirm_dead(struct server *s, const struct server_call *c, struct server_reply *r,
                              struct err *e)
{
    return document(s, c, "admin_confirm_dead", "{\"suspect\":false}", r, e);
}

/* --- a small world --- */

void fake_populate(struct server *s)
{
    static const char *const names[] = {"n1.example.org", "n2.example.org", "n3.example.org"};
    char json[512];

    for (unsigned i = 0; i < 3; i++) {
        snprintf(json, sizeof json,
                 "{\"id\":%u,\"name\":\"%s\",\"deployment\":\"system\",\"available\":true,"
                 "\"alive\":\"alive\",\"admin\":false,\"slots\":1,\"labels\":{\"rack\":\"r%u\"},"
                 "\"groups\":[\"web\"],\"addresses\":[\"10.0.0.%u\"],\"machine_id\":null,"
                 "\"boot_id\":null,\"facts\":{},\"note\":\"\",\"rev\":%u,\"state\":\"ACTIVE\","
                 "\"noderoles\":1}",
                 ++s->next_id, names[i], i, i, i + 1);
        row_add(s, FAKE_NODES, json);
    }
    row_add(s, FAKE_TOKENS,
            "{\"id\":1,\"name\":\"root\",\"scope\":\"admin\",\"created_at\":\"" NOW
            "\",\"revoked\":false}");
    row_add(s, FAKE_GROUPS, "{\"name\":\"web\",\"count\":3}");
    row_add(s, FAKE_GENERATIONS, catalog);
    row_add(s, FAKE_BARCLAMPS,
            "{\"name\":\"core\",\"version\":\"1\",\"description\":\"\",\"roles\":[\"web\"]}");
    row_add(
        s, FAKE_ROLES,
        "{\"name\":\"web\",\"barclamp\":\"core\",\"jig\":\"script\",\"requires\":[],\"uses\":[],"
        "\"provides\":[],\"conflicts\":[],\"flags\":[],\"strategy\":null,\"attributes\":{},"
        "\"actions\":{},\"description\":\"\"}");
    row_add(s, FAKE_JIGS,
            "{\"name\":\"script\",\"implementation\":\"script\",\"implementor\":null,"
            "\"active\":true,\"reach\":\"node\",\"workers\":1,\"rev\":1}");
    row_add(s, FAKE_POOLS,
            "{\"name\":\"updates\",\"size\":2,\"taken\":0,\"elsewhere\":0,\"closed\":false,"
            "\"note\":\"\",\"waiting\":0,\"rev\":1}");
    row_add(s, FAKE_DEPLOYMENTS,
            "{\"id\":1,\"name\":\"system\",\"parent\":null,\"description\":\"\",\"rev\":1,"
            "\"noderoles\":{\"ACTIVE\":1}}");
    row_add(s, FAKE_NODEROLES,
            "{\"id\":1,\"role\":\"web\",\"node\":\"n1.example.org\",\"deployment\":\"system\","
            "\"state\":\"ACTIVE\",\"target\":\"running\",\"generation\":1,\"cohort\":0,"
            "\"incarnation\":1,\"reason\":\"\",\"run_count\":1,\"parents\":[],\"children\":[],"
            "\"tasks\":[1],\"operation\":1,\"rev\":1,\"data\":{},\"wall\":{}}");
    row_add(s, FAKE_OPERATIONS,
            "{\"id\":1,\"kind\":\"bind\",\"title\":\"\",\"actor\":\"root\",\"class\":\"normal\","
            "\"state\":\"succeeded\",\"reason\":\"\",\"held\":false,\"created_at\":\"" NOW
            "\",\"ended_at\":null,\"progress\":{\"total\":1,\"done\":1,\"running\":0,\"failed\":0,"
            "\"waiting\":0,\"ready\":0,\"pending\":0,\"cancelled\":0,\"skipped\":0},"
            "\"eta_ms\":null,\"rev\":1}");
    row_add(s, FAKE_TASKS,
            "{\"id\":1,\"name\":\"install\",\"noderole\":1,\"role\":\"web\","
            "\"node\":\"n1.example.org\",\"operation\":1,\"state\":\"DONE\",\"reason\":\"\","
            "\"jig\":\"script\",\"repeat\":\"safe\",\"attempt\":1,\"tries\":1,\"retries\":3,"
            "\"weight\":1,\"waiting_on\":0,\"deps\":[],\"rev\":1,\"started_at\":\"" NOW
            "\",\"deadline_at\":null,\"wake_at\":null}");
    row_add(s, FAKE_SNAPSHOTS, snapshot);
    row_add(s, FAKE_ATTEMPTS,
            "{\"task\":1,\"number\":1,\"node\":\"n1.example.org\",\"generation\":1,"
            "\"outcome\":\"ok\",\"exit_code\":0,\"started_at\":\"" NOW "\",\"ended_at\":\"" NOW
            "\",\"asks\":0,\"note\":\"\",\"superseded\":false}");
    row_add(s, FAKE_WORKERS,
            "{\"name\":\"w1\",\"capacity\":8,\"running\":0,\"jigs\":[\"script\"],"
            "\"last_seen_ms\":5}");
    fake_log_put(s, 1, 1, "hello\nworld\n");
    fake_log_end(s, 1, 1);
    s->next_id = 100;
}
