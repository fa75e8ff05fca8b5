/* data_cluster.c - what a task sees of the cluster that its node is in
 *
 *   cluster   name, owner, template, provider
 *   config    the cluster's, macros expanded for this node; under it what tasks told about the node
 *   results   what each task on this node returned, by task
 *   nodes     every node: hostname, addresses, number, hardware, image, services; the same document
 *             for all tasks of the cluster, named by its digest (RFC 03, section 1.1)
 *
 * None of it is an input in the engine's sense: a cluster is configured when somebody says so.  All
 * of it is made from the head and what tasks told, and made again when one of these has changed.
 *
 * A node that is given up is not in the head any more while its services are stopped and removed.
 * It still sees itself, and of the cluster what stays: whom to tell that it is gone.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "server/cluster_i.h"
#include "template/macro.h"

struct cluster_sight {
    struct arena mem;
    const struct pmap *head; /* that it was made of */
    uint32_t told;           /* and cluster.told */
    struct cluster_look look;
    struct macro_view view;
    struct macro_cluster *macros;
    struct u64map node_at;
    struct str nodes; /* JSON */
    char digest[DIGEST_HEX];
};

void cluster_sight_free(struct cluster_sight *v)
{
    if (!v)
        return;
    macro_cluster_free(v->macros);
    cluster_look_done(&v->look);
    u64map_done(&v->node_at);
    arena_done(&v->mem);
    free(v);
}

/* --- nodes --- */

static void address_add(struct arena *mem, struct value *all, const char *type,
                        const struct value *v)
{
    if (value_is(v, VALUE_STRING) && !value_get(all, type))
        value_set(mem, all, type, value_copy(mem, v));
}

/* By type; a plain address is both the one it is reached by and the one it binds. */
static struct value *addresses_of(struct server *s, struct arena *mem, uint32_t node,
                                  const struct value *config)
{
    struct value *all = value_map(mem);
    const struct value *by_type = value_get(config, "ipaddresses");
    const struct value *plain = value_get(config, "ipaddress");
    const struct value *body = view_json(mem, s->inv.nodes.at[node].body);
    const struct value *own = value_get(body, "addresses");
    for (uint32_t i = 0; value_is(by_type, VALUE_MAP) && i < by_type->n; i++)
        address_add(mem, all, by_type->members[i].key, &by_type->members[i].v);
    if (!plain && value_is(own, VALUE_LIST) && own->n)
        plain = &own->items[0];
    address_add(mem, all, "access_v4", plain);
    address_add(mem, all, "bind_v4", plain);
    return all;
}

static struct value *services_value(struct arena *mem, const struct cluster_look *l,
                                    const struct cluster_node *n)
{
    struct value *list = value_list(mem);
    for (size_t i = 0; i < n->roles.n; i++)
        if (l->roles.at[n->roles.at[i]].is && l->roles.at[n->roles.at[i]].is->phased)
            value_add(mem, list, value_str(mem, l->roles.at[n->roles.at[i]].name));
    return list;
}

static struct value *node_value(const struct cluster_sight *v, struct arena *mem,
                                const struct cluster_node *n, struct macro_node *ret)
{
    struct server *s = v->look.server;
    const struct value *told = view_json(mem, cluster_payload(s, n->id).s);
    const struct value *config = value_get(told, "config");
    struct value *is = value_map(mem), *addresses = addresses_of(s, mem, n->id, config);
    struct value *services = services_value(mem, &v->look, n);
    const struct value *hostname = value_get(config, "hostname");
    struct macro_address *at = arena_new(mem, struct macro_address, addresses->n);
    for (uint32_t i = 0; i < addresses->n; i++)
        at[i] = (struct macro_address){{addresses->members[i].key, addresses->members[i].key_n},
                                       value_as_str(&addresses->members[i].v)};
    struct catalog_names names = cluster_names(mem, services);
    *ret = (struct macro_node){.name = n->name,
                               .number = n->number,
                               .hostname = value_is(hostname, VALUE_STRING) ? value_as_str(hostname)
                                                                            : n->name,
                               .addresses = at,
                               .n_addresses = addresses->n,
                               .services = names.at,
                               .n_services = names.n};
    value_set(mem, is, "hostname", value_str(mem, ret->hostname));
    value_set(mem, is, "ipaddresses", addresses);
    value_put_int(mem, is, "nodenum", n->number);
    value_set(mem, is, "hardware", value_str(mem, n->hardware));
    value_set(mem, is, "image", value_str(mem, n->image));
    value_set(mem, is, "services", services);
    return is;
}

static void nodes_make(struct cluster_sight *v)
{
    struct arena *mem = &v->mem;
    struct macro_node *nodes = arena_new(mem, struct macro_node, v->look.nodes.n);
    struct value *all = value_map(mem), *doc = value_map(mem);
    SCOPED_BUF(text);
    for (size_t i = 0; i < v->look.nodes.n; i++) {
        const struct cluster_node *n = &v->look.nodes.at[i];
        u64map_put(&v->node_at, n->id, i);
        value_set(mem, all, n->name.s, node_value(v, mem, n, &nodes[i]));
    }
    value_set(mem, doc, "nodes", all);
    json_write_canonical(&text, doc);
    v->nodes = (struct str){arena_strndup(mem, text.data, text.len), text.len};
    struct digest sum = digest_of(text.data, text.len);
    digest_hex(&sum, v->digest);
    v->view.nodes = nodes;
    v->view.n_nodes = (uint32_t)v->look.nodes.n;
}

/* --- as it is now --- */

static int sight_of(struct server *s, uint32_t deployment, struct cluster_sight **ret,
                    struct err *e)
{
    const struct cluster *c = cluster_get(s, deployment);
    const struct snapshot *head = desire_head(s->desire, deployment);
    struct cluster_sight *v = c ? c->sight : NULL;
    const struct catalog *cat;
    if (!c || !head)
        return 0;
    if (v && v->head == head->root && v->told == c->told) {
        *ret = v;
        return 1;
    }
    int rc = catalog_generation(s, head->catalog, &cat, e);
    if (rc < 0)
        return rc;
    v = xcalloc(1, sizeof *v);
    arena_init(&v->mem);
    v->head = head->root;
    v->told = c->told;
    rc = cluster_look(&v->look, s, &v->mem, cat, deployment, head->root, e);
    if (rc < 0) {
        cluster_sight_free(v);
        return rc;
    }
    v->view.owner = str_of(arena_strdup(&v->mem, c->owner));
    nodes_make(v);
    v->macros = macro_cluster_new(&v->view);
    cluster_sight_set(s, deployment, v);
    *ret = v;
    return 1;
}

/* Is one of its machines not there yet? */
static bool some_unknown(const struct cluster_sight *v)
{
    struct node_view n;
    for (size_t i = 0; i < v->look.nodes.n; i++)
        if (anneal_node(v->look.server->engine, v->look.nodes.at[i].id, &n) &&
            n.alive == ALIVE_UNKNOWN)
            return true;
    return false;
}

/* For a node that is not in the head: of services it has none, so that it is in no list of them. */
static int leaving_expand(const struct cluster_sight *v, uint32_t node, struct arena *mem,
                          const struct value *as_written, const struct value **ret, struct err *e)
{
    struct server *s = v->look.server;
    uint32_t n = v->view.n_nodes;
    struct macro_node *nodes = arena_new(mem, struct macro_node, n + 1);
    const struct cluster_node self = {
        .id = node, .name = str_of(view_node_name(s, node)), .number = UINT32_MAX};
    const struct value *config;
    for (uint32_t i = 0; i < n; i++)
        nodes[i] = v->view.nodes[i];
    (void)node_value(v, mem, &self, &nodes[n]);
    SCOPED(macro_cluster) *macros = macro_cluster_new(
        &(struct macro_view){.owner = v->view.owner, .nodes = nodes, .n_nodes = n + 1});
    int rc = macro_value_expand(mem, as_written, macros, n, &config, e);
    if (rc >= 0)
        *ret = value_copy(mem, config); /* parts of it go with the macros */
    return rc;
}

int data_cluster_own(struct server *s, uint32_t deployment, uint32_t node, bool machine,
                     struct arena *mem, const struct value **ret, struct err *e)
{
    struct cluster_sight *v;
    const struct value *config;
    uintptr_t at;
    int rc = sight_of(s, deployment, &v, e);
    *ret = NULL;
    if (rc <= 0)
        return rc;
    bool stays = u64map_get(&v->node_at, node, &at);
    const struct value *spec = v->look.spec, *told = view_json(mem, cluster_payload(s, node).s);
    const struct value *mine = value_get(told, "config"), *results = value_get(told, "results");
    const struct value *as_written = value_get(spec, "config");
    if (!as_written)
        as_written = value_map(mem);
    /* Who makes machines has no use for it, and some of it may not be known yet: what is
     * configured by it waits for that (phase_work.established). */
    config = as_written;
    if (!machine && stays)
        rc = macro_value_expand(mem, as_written, v->macros, (uint32_t)at, &config, e);
    else if (!machine)
        rc = leaving_expand(v, node, mem, as_written, &config, e);
    if (rc == -ERR_REFUSED && (!stays || some_unknown(v)))
        config = as_written;
    else if (rc < 0)
        return rc;
    struct value *all = value_map(mem), *cluster = value_map(mem);
    value_put_text(mem, cluster, "name", view_deployment_name(s, deployment));
    value_set(mem, cluster, "owner", value_str(mem, v->view.owner));
    value_set(mem, cluster, "template",
              value_str(mem, value_as_str(value_get(value_get(spec, "template"), "template"))));
    value_set(mem, cluster, "provider", value_str(mem, value_as_str(value_get(spec, "provider"))));
    value_set(mem, all, "cluster", cluster);
    value_set(mem, all, "config", mine ? value_merge(mem, mine, config) : config);
    value_set(mem, all, "results", results ? results : value_map(mem));
    *ret = all;
    return 0;
}

struct str data_cluster_nodes(struct server *s, uint32_t deployment, struct str *ret_digest)
{
    struct cluster_sight *v;
    if (sight_of(s, deployment, &v, NULL) <= 0)
        return *ret_digest = (struct str){"", 0};
    *ret_digest = str_of(v->digest);
    return v->nodes;
}

struct value *data_cluster_links(struct server *s, uint32_t deployment, struct arena *mem)
{
    struct cluster_sight *v;
    struct value *list = value_list(mem);
    struct err e;
    if (sight_of(s, deployment, &v, &e) <= 0)
        return list;
    const struct value *said = value_get(value_get(v->look.spec, "template"), "links");
    for (uint32_t i = 0; value_is(said, VALUE_LIST) && i < said->n; i++) {
        SCOPED_BUF(url);
        struct value *link = value_map(mem);
        const struct macro_text *t = macro_text_compile(
            mem, value_as_str(value_get(&said->items[i], "url")), &e);
        if (!t || macro_text_expand(t, v->macros, MACRO_NO_NODE, &url, &e) < 0)
            continue;
        value_set(mem, link, "label",
                  value_str(mem, value_as_str(value_get(&said->items[i], "label"))));
        value_set(mem, link, "url", value_str(mem, buf_str(&url)));
        value_add(mem, list, link);
    }
    return list;
}

const struct cluster_look *data_cluster_look(struct server *s, uint32_t deployment, struct err *e)
{
    struct cluster_sight *v;
    return sight_of(s, deployment, &v, e) > 0 ? &v->look : NULL;
}
