/* inventory.c - names, data and owners of what the engine knows by number
 *
 * Loaded from rows at start and extended by the faces.  Owns every string in it.  Looks things up
 * by name through hash maps; instances of a role in a deployment are lists, so that binding never
 * scans noderoles.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/sort.h"
#include "server/server_i.h"

#define AT_LEAST(vec, id)                                                                          \
    do {                                                                                           \
        while ((vec).n <= (id))                                                                    \
            (void)vec_add(&(vec));                                                                 \
    } while (0)

static char *dup_str(struct str s)
{
    return s.n ? xstrndup(s.s, s.n) : NULL;
}

static char *dup_name(struct str s)
{
    return xstrndup(s.n ? s.s : "", s.n);
}

uint32_t inventory_role(struct inventory *v, struct str name)
{
    uintptr_t id;
    if (strmap_get(&v->role_by_name, name, &id))
        return (uint32_t)id;
    if (v->role_names.n == 0)
        vec_push(&v->role_names, xstrdup(""));
    id = v->role_names.n;
    vec_push(&v->role_names, dup_name(name));
    strmap_put(&v->role_by_name, name, id);
    return (uint32_t)id;
}

bool inventory_add_lens(struct inventory *v, uint64_t id, struct str text)
{
    if (v->lenses.n == 0)
        (void)vec_add(&v->lenses);
    if (u64map_get(&v->lens_by_id, id, NULL))
        return false;
    u64map_put(&v->lens_by_id, id, v->lenses.n);
    vec_push(&v->lenses, ((struct inv_lens){id, dup_name(text)}));
    return true;
}

uint32_t inventory_lens(const struct inventory *v, uint64_t id)
{
    uintptr_t at = 0;
    (void)u64map_get(&v->lens_by_id, id, &at);
    return (uint32_t)at;
}

static uint64_t instance_key(uint32_t role, uint32_t deployment)
{
    return (uint64_t)role << 32 | deployment;
}

struct id_list *inventory_instances(const struct inventory *v, uint32_t role, uint32_t deployment)
{
    uintptr_t i;
    if (!u64map_get(&v->instances, instance_key(role, deployment), &i))
        return NULL;
    return &v->lists.at[i];
}

/* Lists stay in the order of ids; new ones come with the highest. */
static size_t place_of(const struct id_list *l, uint32_t id)
{
    size_t n = l->ids.n;
    return n && l->ids.at[n - 1] < id ? n : sort_first(l->ids.at, n, it, *it >= id);
}

static void unplace(struct inventory *v, uint32_t id)
{
    const struct inv_noderole *n = &v->noderoles.at[id];
    uintptr_t list;
    if (!u64map_get(&v->instances, instance_key(n->role, n->deployment), &list))
        return;
    struct id_list *l = &v->lists.at[list];
    size_t i = place_of(l, id);
    if (i < l->ids.n && l->ids.at[i] == id) {
        memmove(l->ids.at + i, l->ids.at + i + 1, (l->ids.n - i - 1) * sizeof *l->ids.at);
        l->ids.n--;
        l->looked = 0;
    }
}

void inventory_place(struct inventory *v, uint32_t id, uint32_t deployment)
{
    struct inv_noderole *n = &v->noderoles.at[id];
    uintptr_t list;
    if (n->deployment)
        unplace(v, id);
    n->deployment = deployment;
    if (!u64map_get(&v->instances, instance_key(n->role, deployment), &list)) {
        list = v->lists.n;
        (void)vec_add(&v->lists);
        u64map_put(&v->instances, instance_key(n->role, deployment), list);
    }
    struct id_list *l = &v->lists.at[list];
    size_t i = place_of(l, id);
    vec_push(&l->ids, id);
    memmove(l->ids.at + i + 1, l->ids.at + i, (l->ids.n - 1 - i) * sizeof *l->ids.at);
    l->ids.at[i] = id;
    if (i < l->looked)
        l->looked = 0;
}

static void inventory_add_noderole(struct inventory *v, uint32_t id, struct str role,
                                   uint32_t deployment, struct str user)
{
    AT_LEAST(v->noderoles, id);
    struct inv_noderole *n = &v->noderoles.at[id];
    n->role = inventory_role(v, role);
    n->rev = 1;
    n->user = dup_str(user);
    v->documents += n->user != NULL;
    inventory_place(v, id, deployment);
}

void inventory_drop_noderole(struct inventory *v, uint32_t id)
{
    struct inv_noderole *n = &v->noderoles.at[id];
    unplace(v, id);
    v->documents -= (size_t)(n->user != NULL) + (n->system != NULL) + (n->wall != NULL);
    free(n->user);
    free(n->system);
    free(n->wall);
    *n = (struct inv_noderole){
        .role = n->role, .node = n->node, .deployment = n->deployment, .gone = true};
}

/* A part of a definition's body as JSON; "" if it has none. */
static char *body_part(const struct value *body, const char *name)
{
    SCOPED_BUF(text);
    const struct value *part = value_get(body, name);
    if (part)
        json_write(&text, part, 0);
    return dup_name(buf_str(&text));
}

static void inventory_add_def(struct inventory *v, uint32_t id, const struct row_def *r)
{
    SCOPED_ARENA(mem);
    struct value *body = NULL;
    struct err e;
    AT_LEAST(v->defs, id);
    (void)json_parse(&mem, r->body.s, r->body.n, NULL, &body, &e); /* NULL: it has no parts */
    v->defs.at[id] = (struct inv_def){.name = dup_name(r->name),
                                      .type = xstrdup(value_as_text(value_get(body, "type"), "")),
                                      .params = body_part(body, "params"),
                                      .tests = body_part(body, "tests"),
                                      .returns = body_part(body, "returns"),
                                      .no_op = value_as_bool(value_get(body, "no_op"), false),
                                      .role = inventory_role(v, r->role),
                                      .jig = r->jig,
                                      .digest = r->digest,
                                      .timeout_ms = r->timeout_ms,
                                      .repeat = r->repeat,
                                      .retries = r->retries};
    u64map_put(&v->def_by_digest, r->digest, id);
}

static void add_named(struct strmap *by_name, struct inv_named **at, size_t *n, size_t *cap,
                      uint32_t id, struct str name, struct str note)
{
    while (*n <= id) {
        if (*n == *cap)
            *at = vec_grow_(*at, cap, *n + 1, sizeof **at);
        (*at)[(*n)++] = (struct inv_named){0};
    }
    (*at)[id] = (struct inv_named){.name = dup_name(name), .note = dup_str(note), .rev = 1};
    strmap_put(by_name, name, id);
}

void inventory_add_pool(struct inventory *v, uint32_t id, struct str name, struct str note)
{
    add_named(&v->pool_by_name, &v->pools.at, &v->pools.n, &v->pools.cap, id, name, note);
}

void inventory_add_jig(struct inventory *v, uint32_t id, struct str name)
{
    add_named(&v->jig_by_name, &v->jigs.at, &v->jigs.n, &v->jigs.cap, id, name,
              (struct str){"", 0});
}

void inventory_add_plan(struct inventory *v, const struct plan *p)
{
    for (uint32_t i = 0; i < p->n_defs; i++) {
        const struct plan_def *d = &p->defs[i];
        struct row_def r = {.name = d->name,
                            .role = d->role,
                            .jig = d->jig,
                            .digest = d->digest,
                            .body = d->body,
                            .timeout_ms = d->timeout_ms,
                            .repeat = d->repeat,
                            .retries = d->retries};
        inventory_add_def(v, p->base_def + i, &r);
    }
    for (uint32_t i = 0; i < p->n_pools; i++)
        inventory_add_pool(v, p->base_pool + i, p->pools[i].name, (struct str){"", 0});
    for (uint32_t i = 0; i < p->n_groups; i++) /* as the engine numbers them: one by one */
        vec_push(&v->groups, dup_name(p->groups[i].name));
    for (uint32_t i = 0; i < p->n_noderoles; i++) {
        inventory_add_noderole(v, p->base_noderole + i, p->noderoles[i].role,
                               p->noderoles[i].deployment, p->noderoles[i].user);
        v->noderoles.at[p->base_noderole + i].node = p->noderoles[i].node;
        v->noderoles.at[p->base_noderole + i].lens = inventory_lens(v, p->noderoles[i].lens);
    }
}

void inventory_add_node(struct inventory *v, uint32_t id, struct str name)
{
    AT_LEAST(v->nodes, id);
    v->nodes.at[id].name = dup_name(name);
    strmap_put(&v->node_by_name, name, id);
}

void inventory_set_node(struct inventory *v, const struct row_node_body *r)
{
    struct inv_node *n = &v->nodes.at[r->id];
    char *body = dup_name(r->body); /* it may be the old one */
    free(n->body);
    n->body = body;
    n->deployment = r->deployment;
    n->rev = r->rev;
    n->leaving = r->leaving;
}

void inventory_drop_node(struct inventory *v, uint32_t id)
{
    v->nodes.at[id].gone = true;
    strmap_del(&v->node_by_name, str_of(v->nodes.at[id].name));
}

void inventory_add_deployment(struct inventory *v, const struct row_deployment *r)
{
    AT_LEAST(v->deployments, r->id);
    v->deployments.at[r->id] = (struct inv_deployment){.name = dup_name(r->name),
                                                       .body = dup_name(r->body),
                                                       .parent = r->parent,
                                                       .rev = r->rev,
                                                       .created_ms = r->created_ms};
    strmap_put(&v->deployment_by_name, r->name, r->id);
}

void inventory_add_operation(struct inventory *v, const struct row_operation *r)
{
    AT_LEAST(v->operations, r->id);
    v->operations.at[r->id] = (struct inv_operation){.kind = dup_name(r->kind),
                                                     .title = dup_name(r->title),
                                                     .actor = dup_name(r->actor),
                                                     .created_ms = r->created_ms};
}

void inventory_add_token(struct inventory *v, const struct row_token *r)
{
    AT_LEAST(v->tokens, r->id);
    v->tokens.at[r->id] = (struct inv_token){.name = dup_name(r->name),
                                             .hash = dup_name(r->hash),
                                             .scope = dup_name(r->scope),
                                             .created_ms = r->created_ms,
                                             .tenant = r->tenant,
                                             .revoked = r->revoked};
    strmap_put(&v->token_by_hash, r->hash, r->id);
}

static int load_row(void *arg, enum row_table t, const void *row, struct err *e)
{
    struct inventory *v = arg;
    (void)e;
    switch ((int)t) {
    case ROWS_TOKEN: inventory_add_token(v, row); break;
    case ROWS_DEPLOYMENT: inventory_add_deployment(v, row); break;
    case ROWS_JIG: {
        const struct row_jig *r = row;
        inventory_add_jig(v, r->id, r->name);
        break;
    }
    case ROWS_POOL: {
        const struct row_pool *r = row;
        inventory_add_pool(v, r->id, r->name, r->note);
        break;
    }
    case ROWS_GROUP: vec_push(&v->groups, dup_name(((const struct row_grp *)row)->name)); break;
    case ROWS_NODE: {
        const struct row_node *r = row;
        inventory_add_node(v, r->id, r->name);
        if (r->gone)
            inventory_drop_node(v, r->id);
        break;
    }
    case ROWS_NODE_BODY: {
        const struct row_node_body *r = row;
        if (r->id < v->nodes.n)
            inventory_set_node(v, r);
        break;
    }
    case ROWS_DEF: inventory_add_def(v, ((const struct row_def *)row)->id, row); break;
    case ROWS_OPERATION: inventory_add_operation(v, row); break;
    case ROWS_NODEROLE: {
        const struct row_noderole *r = row;
        AT_LEAST(v->noderoles, r->id);
        v->noderoles.at[r->id].role = inventory_role(v, r->role);
        v->noderoles.at[r->id].node = r->node;
        break;
    }
    case ROWS_LENS: {
        const struct row_lens *r = row;
        (void)inventory_add_lens(v, r->id, r->text);
        break;
    }
    case ROWS_DOCUMENT: {
        const struct row_document *r = row;
        if (r->id < v->noderoles.n && v->noderoles.at[r->id].role) {
            inventory_place(v, r->id, r->deployment);
            v->noderoles.at[r->id].user = dup_str(r->user);
            v->noderoles.at[r->id].system = dup_str(r->system);
            v->noderoles.at[r->id].wall = dup_str(r->wall);
            v->noderoles.at[r->id].rev = r->rev;
            v->noderoles.at[r->id].lens = inventory_lens(v, r->lens);
            v->documents += (size_t)(r->user.n > 0) + (r->system.n > 0) + (r->wall.n > 0);
        }
        break;
    }
    default: break;
    }
    return 0;
}

int inventory_load(struct inventory *v, struct store *s, struct err *e)
{
    static const enum row_table order[] = {
        ROWS_TOKEN, ROWS_DEPLOYMENT, ROWS_JIG,      ROWS_POOL, ROWS_NODE,     ROWS_NODE_BODY,
        ROWS_DEF,   ROWS_OPERATION,  ROWS_NODEROLE, ROWS_LENS, ROWS_DOCUMENT, ROWS_GROUP};
    for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
        int r = store_each(s, order[i], load_row, v, e);
        if (r < 0)
            return r;
    }
    return 0;
}

static uint32_t find(const struct strmap *by_name, const char *name_or_id, size_t n)
{
    uintptr_t id;
    char *end;
    if (strmap_get(by_name, str_of(name_or_id), &id))
        return (uint32_t)id;
    unsigned long long number = strtoull(name_or_id, &end, 10);
    return *name_or_id >= '0' && *name_or_id <= '9' && *end == '\0' && number < n ? (uint32_t)number
                                                                                  : 0;
}

uint32_t inventory_node_find(const struct inventory *v, const char *name_or_id)
{
    uint32_t id = find(&v->node_by_name, name_or_id, v->nodes.n);
    return id && v->nodes.at[id].name && !v->nodes.at[id].gone ? id : 0;
}

uint32_t inventory_deployment_find(const struct inventory *v, const char *name_or_id)
{
    uint32_t id = find(&v->deployment_by_name, name_or_id, v->deployments.n);
    return id && v->deployments.at[id].name && !v->deployments.at[id].gone ? id : 0;
}

void inventory_done(struct inventory *v)
{
    for (size_t i = 0; i < v->nodes.n; i++) {
        free(v->nodes.at[i].name);
        free(v->nodes.at[i].body);
    }
    for (size_t i = 0; i < v->deployments.n; i++) {
        free(v->deployments.at[i].name);
        free(v->deployments.at[i].body);
    }
    for (size_t i = 0; i < v->noderoles.n; i++) {
        free(v->noderoles.at[i].user);
        free(v->noderoles.at[i].system);
        free(v->noderoles.at[i].wall);
    }
    for (size_t i = 0; i < v->lenses.n; i++)
        free(v->lenses.at[i].text);
    for (size_t i = 0; i < v->defs.n; i++) {
        free(v->defs.at[i].name);
        free(v->defs.at[i].type);
        free(v->defs.at[i].params);
        free(v->defs.at[i].tests);
        free(v->defs.at[i].returns);
    }
    for (size_t i = 0; i < v->operations.n; i++) {
        free(v->operations.at[i].kind);
        free(v->operations.at[i].title);
        free(v->operations.at[i].actor);
    }
    for (size_t i = 0; i < v->groups.n; i++)
        free(v->groups.at[i]);
    vec_done(&v->groups);
    for (size_t i = 0; i < v->pools.n; i++) {
        free(v->pools.at[i].name);
        free(v->pools.at[i].note);
    }
    for (size_t i = 0; i < v->jigs.n; i++) {
        free(v->jigs.at[i].name);
        free(v->jigs.at[i].note);
    }
    for (size_t i = 0; i < v->tokens.n; i++) {
        free(v->tokens.at[i].name);
        free(v->tokens.at[i].hash);
        free(v->tokens.at[i].scope);
    }
    for (size_t i = 0; i < v->role_names.n; i++)
        free(v->role_names.at[i]);
    for (size_t i = 0; i < v->lists.n; i++)
        vec_done(&v->lists.at[i].ids);
    vec_done(&v->nodes);
    vec_done(&v->deployments);
    vec_done(&v->noderoles);
    vec_done(&v->defs);
    vec_done(&v->lenses);
    vec_done(&v->operations);
    vec_done(&v->pools);
    vec_done(&v->jigs);
    vec_done(&v->tokens);
    vec_done(&v->role_names);
    vec_done(&v->lists);
    strmap_done(&v->node_by_name);
    strmap_done(&v->deployment_by_name);
    strmap_done(&v->pool_by_name);
    strmap_done(&v->jig_by_name);
    strmap_done(&v->role_by_name);
    strmap_done(&v->token_by_hash);
    u64map_done(&v->node_by_machine);
    u64map_done(&v->def_by_digest);
    u64map_done(&v->lens_by_id);
    u64map_done(&v->instances);
    memset(v, 0, sizeof *v);
}
