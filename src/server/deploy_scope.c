/* deploy_scope.c - what expressions see of a node, now and when a task last succeeded there
 *
 * `common` is what is said of the deployment as a whole: the data of its role CATALOG_CARRIER.
 * `data` is that, with what the noderoles of the node see laid over it, `uid`, `name` and `fqdn`
 * unless they say otherwise, and its names as `roles`; `node` is the node's own part.  The old ones
 * are made of the documents that a task was deployed with; where a document is the same its very
 * value is taken, so that nothing has to be compared.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/json.h"
#include "server/data_i.h"
#include "server/deploy.h"

enum { STEPS = 2000000, BYTES = 64 << 20 }; /* of one condition */

/* --- documents --- */

static const struct value *document(struct deploy *d, uint64_t id)
{
    uintptr_t known;
    struct value *v;
    if (u64map_get(&d->documents, id, &known))
        return (const struct value *)known;
    struct str text = deploy_document(d->server, id);
    if (json_parse(d->mem, text.s, text.n, NULL, &v, NULL) < 0)
        v = value_map(d->mem);
    u64map_put(&d->documents, id, (uintptr_t)v);
    return v;
}

/* One that there is now stands for what is stored under the same number. */
static uint64_t document_now(struct deploy *d, const struct value *v)
{
    uint64_t id = deploy_document_id(v);
    u64map_put(&d->documents, id, (uintptr_t)v);
    return id;
}

/* --- now --- */

static int own_data(struct deploy *d, struct data_look *look, uint32_t node, struct err *e)
{
    struct deploy_own *o = &d->own[node];
    const char *name = view_node_name(d->server, d->node_ids.at[node]);
    struct value *base = value_map(d->mem), *names = value_list(d->mem), *roles = value_map(d->mem);
    const struct value *own = base;
    int rc = 0;
    value_put_text(d->mem, base, "uid", name); /* as the file of a node calls it */
    value_put_text(d->mem, base, "name", name);
    value_put_text(d->mem, base, "fqdn", name);
    for (uint32_t m = d->first_member[node]; m != WEAVE_NONE && rc >= 0; m = d->next_member[m]) {
        uint32_t noderole = d->members.at[m].noderole;
        const struct value *seen = deploy_seen(d->server, d->mem, noderole);
        struct sight_layers layers;
        struct noderole_view v;
        (void)anneal_noderole(d->server->engine, noderole, &v);
        o->failed |= v.state == NODEROLE_ERROR;
        for (uint32_t i = 0; seen && i < seen->n; i++)
            value_add(d->mem, o->seen, &seen->items[i]);
        rc = data_look_layers(look, noderole, d->mem, &layers, e);
        if (rc >= 0 && layers.n)
            own = value_merge(d->mem, own, data_look_merge(look, noderole, &layers, d->mem));
    }
    for (uint32_t i = 0; node < d->nodes.n && i < d->nodes.at[node].n_names; i++)
        value_add(d->mem, names, value_str(d->mem, d->nodes.at[node].names[i]));
    value_set(d->mem, roles, "roles", names);
    o->data = value_merge(d->mem, own, roles);
    o->doc = document_now(d, o->data);
    return rc;
}

/* Keys that nodes have of their own, now or then: what expressions read of them differs. */
static void varying_add(struct deploy *d, struct strmap *known, const struct value *own)
{
    for (uint32_t i = 0; value_is(own, VALUE_MAP) && i < own->n; i++) {
        const struct member *m = &own->members[i];
        if (strmap_put(known, (struct str){m->key, m->key_n}, 1))
            vec_push(&d->varying, str_of(arena_printf(d->mem, "data.%s", m->key)));
    }
}

static void varying_find(struct deploy *d)
{
    struct strmap known = {0};
    struct u64map looked = {0};
    vec_push(&d->varying, str_of("node"));
    for (uint32_t i = 0; i <= d->nodes.n; i++) {
        const struct value *seen = d->own[i].seen;
        varying_add(d, &known, d->own[i].data);
        for (uint32_t k = 0; k < seen->n; k++) {
            uint64_t own = seen->items[k].n ? (uint64_t)value_as_int(&seen->items[k].items[1], 0)
                                            : 0;
            if (u64map_put(&looked, own, 1))
                varying_add(d, &known, document(d, own));
        }
    }
    strmap_done(&known);
    u64map_done(&looked);
}

/* What is said of the deployment, over what is said of those above it. */
static const struct value *common_data(struct deploy *d)
{
    struct server *s = d->server;
    uint32_t role = inventory_role(&s->inv, str_of(CATALOG_CARRIER));
    const struct value *all = value_map(d->mem);
    VEC(uint32_t) chain = {0};
    for (uint32_t id = d->ask->deployment; id && chain.n < SIGHT_MAX_DEPTH;
         id = s->inv.deployments.at[id].parent)
        vec_push(&chain, id);
    data_shared_sync(s);
    while (chain.n) {
        const struct value *v = data_shared_get(s, chain.at[--chain.n], role);
        if (v)
            all = value_merge(d->mem, all, value_copy(d->mem, v));
    }
    vec_done(&chain);
    return all;
}

int deploy_scopes(struct deploy *d, struct err *e)
{
    SCOPED(data_look) look;
    int rc = 0;
    data_look_begin(&look, d->server);
    d->common = common_data(d);
    d->common_doc = document_now(d, d->common);
    d->own = arena_new(d->mem, struct deploy_own, d->nodes.n + 1);
    for (uint32_t i = 0; i <= d->nodes.n && rc >= 0; i++) {
        d->own[i].seen = value_list(d->mem);
        rc = own_data(d, &look, i, e);
    }
    if (rc >= 0)
        varying_find(d);
    return rc;
}

/* --- as expressions see it --- */

static void vars_set(struct deploy *d, struct expr_var vars[3], const struct value *common,
                     const struct value *own)
{
    vars[0] = (struct expr_var){str_of("data"), value_merge(d->mem, common, own)};
    vars[1] = (struct expr_var){str_of("node"), own};
    vars[2] = (struct expr_var){str_of("common"), common};
}

const struct expr_scope *deploy_scope(void *ctx, uint32_t node)
{
    struct deploy *d = ctx;
    if (!d->scoped || d->scope_node != node) {
        const struct value *own = node == WEAVE_NONE ? value_map(d->mem) : d->own[node].data;
        vars_set(d, d->vars, d->common, own);
        d->scope_node = node;
        d->scoped = true;
    }
    d->budget = (struct expr_budget){.steps = STEPS, .bytes = BYTES};
    d->scope = (struct expr_scope){.vars = d->vars, .n = 3, .budget = &d->budget};
    return &d->scope;
}

/* --- and then --- */

static struct expr_memo *memo_of(struct deploy *d, uint64_t common)
{
    for (size_t i = 0; i < d->memos.n; i++)
        if (d->memos.at[i].common == common)
            return d->memos.at[i].memo;
    struct expr_memo *memo = expr_memo_new(d->varying.at, (uint32_t)d->varying.n);
    vec_reserve(&d->memos, d->memos.n + 1);
    d->memos.at[d->memos.n].common = common;
    d->memos.at[d->memos.n++].memo = memo;
    return memo;
}

/* What the task saw when it last succeeded on this node; false: never, or that does not count. */
static bool old_scope(struct deploy *d, const struct graph_vertex *t, uint32_t node,
                      uint64_t *ret_common)
{
    uint64_t own;
    if (d->ask->force || d->own[node].failed ||
        !deploy_seen_find(d->own[node].seen, t->id, ret_common, &own))
        return false;
    if (!d->old.n || d->old_common != *ret_common || d->old_own != own)
        vars_set(d, d->old_vars, document(d, *ret_common), document(d, own));
    d->old_common = *ret_common;
    d->old_own = own;
    d->old = (struct expr_scope){.vars = d->old_vars, .n = 3};
    return true;
}

/* Behind the mark under what is undefined, if nothing is there yet: where such data come from. */
static void remedy_add(const struct deploy *d, struct err *e)
{
    size_t n = e ? strlen(e->hint) : 0;
    if (n && e->hint[n - 1] == '^')
        (void)err_hint(
            e, "%s set it with `anneal deployment edit %s --set " CATALOG_CARRIER ":KEY=VALUE`",
            e->hint, view_deployment_name(d->server, d->ask->deployment));
}

int deploy_condition(void *ctx, uint32_t task, uint32_t node, struct err *e)
{
    struct deploy *d = ctx;
    const struct graph_vertex *t = &d->graph->vertices[task];
    (void)deploy_scope(d, node);
    uint64_t common = 0;
    d->scope.old = old_scope(d, t, node, &common) ? &d->old : NULL;
    d->scope.memo = memo_of(d, common);
    int rc = expr_eval_truth(t->condition, &d->scope, e);
    if (rc == -ERR_UNKNOWN_NAME)
        remedy_add(d, e);
    if (rc < 0)
        (void)err_wrap(e, "condition of %s on %s", t->id.s,
                       node < d->nodes.n ? d->nodes.at[node].name.s : CATALOG_MASTER);
    return rc;
}

void deploy_scopes_end(struct deploy *d)
{
    for (size_t i = 0; i < d->memos.n; i++)
        expr_memo_free(d->memos.at[i].memo);
    vec_done(&d->memos);
    vec_done(&d->varying);
    u64map_done(&d->documents);
}
