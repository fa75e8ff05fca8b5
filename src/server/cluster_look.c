/* cluster_look.c - what a cluster is, or was, or shall be: its document and its nodes
 *
 * Read from a map of its deployment.  A machine's entry says what the machine is; everything else
 * on its node is a service, or something plain that a service needs.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "server/cluster_i.h"

#include <stdlib.h>
#include <string.h>

#include "base/sort.h"

static const char machine_prefix[] = CATALOG_MACHINE ".";

bool cluster_is_machine(struct str role)
{
    return role.n >= sizeof machine_prefix - 1 &&
           !memcmp(role.s, machine_prefix, sizeof machine_prefix - 1);
}

uint32_t cluster_look_role(struct cluster_look *l, struct str name)
{
    uintptr_t at;
    if (strmap_get(&l->role_by_name, name, &at))
        return (uint32_t)at;
    struct cluster_role r = {{arena_strndup(l->mem, name.s, name.n), name.n},
                             catalog_role_get(l->catalog, name)};
    strmap_put(&l->role_by_name, r.name, l->roles.n);
    vec_push(&l->roles, r);
    return (uint32_t)l->roles.n - 1;
}

/* --- what is on a node --- */

bool cluster_node_has(const struct cluster_node *n, uint32_t role)
{
    size_t at = sort_first(n->roles.at, n->roles.n, it, *it >= role);
    return at < n->roles.n && n->roles.at[at] == role;
}

void cluster_node_add(struct cluster_node *n, uint32_t role)
{
    if (cluster_node_has(n, role))
        return;
    vec_push(&n->roles, role);
    for (size_t i = n->roles.n - 1; i > 0 && n->roles.at[i - 1] > role; i--) {
        n->roles.at[i] = n->roles.at[i - 1];
        n->roles.at[i - 1] = role;
    }
}

void cluster_node_drop(struct cluster_node *n, uint32_t role)
{
    size_t kept = 0;
    for (size_t i = 0; i < n->roles.n; i++)
        if (n->roles.at[i] != role)
            n->roles.at[kept++] = n->roles.at[i];
    n->roles.n = kept;
}

/* --- reading a map --- */

struct reading {
    struct cluster_look *l;
    struct u64map node_at; /* id -> index */
    uint32_t document;     /* role that the document is under */
    struct err *e;
    int rc;
};

static struct cluster_node *node_of(struct reading *r, uint32_t id)
{
    uintptr_t at;
    if (!u64map_get(&r->node_at, id, &at)) {
        at = r->l->nodes.n;
        u64map_put(&r->node_at, id, at);
        struct cluster_node *n = vec_add(&r->l->nodes);
        const char *name = view_node_name(r->l->server, id);
        *n = (struct cluster_node){.id = id, .name = str_of(name ? name : "?")};
    }
    return &r->l->nodes.at[at];
}

static void machine_read(struct reading *r, struct cluster_node *n, struct str role,
                         const struct value *is)
{
    n->machine = role;
    n->number = (uint32_t)value_as_int(value_get(is, "number"), 0);
    n->hardware = value_as_str(value_get(is, "hardware"));
    n->image = value_as_str(value_get(is, "image"));
    n->labels = value_get(is, "labels");
    if (!n->labels)
        n->labels = value_map(r->l->mem);
}

static void entry_read(void *ctx, uint64_t key, struct str text)
{
    struct reading *r = ctx;
    struct cluster_look *l = r->l;
    struct snapshot_entry t;
    if (r->rc < 0 || (r->rc = snapshot_entry_decode(l->mem, text, &t, r->e)) < 0)
        return;
    struct str role = desire_role_name(l->server->desire, snapshot_key_role(key));
    if (!snapshot_key_node(key)) {
        if (snapshot_key_role(key) == r->document)
            l->spec = wish_document(l->server, l->mem, t.user);
        return;
    }
    struct cluster_node *n = node_of(r, snapshot_key_node(key));
    if (cluster_is_machine(role))
        machine_read(r, n, role, wish_document(l->server, l->mem, t.user));
    else
        cluster_node_add(n, cluster_look_role(l, role));
}

static int by_number(const void *x, const void *y)
{
    const struct cluster_node *a = x, *b = y;
    return a->number != b->number ? (a->number > b->number) - (a->number < b->number)
                                  : (a->id > b->id) - (a->id < b->id);
}

int cluster_look(struct cluster_look *l, struct server *s, struct arena *mem,
                 const struct catalog *cat, uint32_t deployment, const struct pmap *map,
                 struct err *e)
{
    struct reading r = {
        .l = l, .document = desire_role_find(s->desire, str_of(CLUSTER_ROLE)), .e = e};
    *l = (struct cluster_look){
        .server = s, .mem = mem, .catalog = cat, .deployment = deployment, .spec = value_map(mem)};
    if (map)
        pmap_each(map, entry_read, &r);
    u64map_done(&r.node_at);
    if (l->nodes.n)
        qsort(l->nodes.at, l->nodes.n, sizeof *l->nodes.at, by_number);
    return r.rc;
}

/* --- what no map has any more --- */

static struct str machine_on(const struct server *s, uint32_t node)
{
    for (uint32_t id = anneal_node_first_noderole(s->engine, node); id;
         id = anneal_node_next_noderole(s->engine, id)) {
        struct str role = str_of(view_role_name(s, id));
        if (cluster_is_machine(role))
            return role;
    }
    return (struct str){"", 0};
}

void cluster_look_left(struct cluster_look *l)
{
    const struct inventory *inv = &l->server->inv;
    const size_t n = l->nodes.n;
    for (uint32_t id = 1; id < inv->nodes.n; id++) {
        const struct inv_node *node = &inv->nodes.at[id];
        size_t at = 0;
        if (!node->leaving || node->gone || node->deployment != l->deployment)
            continue;
        while (at < n && l->nodes.at[at].id != id)
            at++;
        struct str machine = machine_on(l->server, id);
        if (at == n && machine.n)
            vec_push(&l->nodes, ((struct cluster_node){.id = id,
                                                       .name = str_of(node->name),
                                                       .machine = machine,
                                                       .labels = value_map(l->mem)}));
    }
}

void cluster_look_done(struct cluster_look *l)
{
    for (size_t i = 0; i < l->nodes.n; i++)
        vec_done(&l->nodes.at[i].roles);
    vec_done(&l->nodes);
    vec_done(&l->roles);
    strmap_done(&l->role_by_name);
}

/* --- the document --- */

struct catalog_names cluster_names(struct arena *mem, const struct value *list)
{
    uint32_t n = value_is(list, VALUE_LIST) ? list->n : 0;
    struct str *at = arena_new(mem, struct str, n);
    for (uint32_t i = 0; i < n; i++)
        at[i] = value_as_str(&list->items[i]);
    return (struct catalog_names){at, n};
}

struct catalog_names cluster_services(struct arena *mem, const struct value *spec)
{
    return cluster_names(mem, value_get(spec, "services"));
}

int cluster_template(struct arena *mem, const struct value *spec,
                     const struct catalog_template **ret, struct err *e)
{
    return catalog_template_read(mem, value_get(spec, "template"), ret, e);
}
