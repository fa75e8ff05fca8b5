/* graph_role.c - groups of task graphs are roles that can be bound
 *
 * Who is in a group is desired state like any other: nodes are bound to the role of its name.  Such
 * a role does nothing by itself and takes any data; a deployment's `deploy` gives its noderoles the
 * tasks of the graph.  Two more come with every catalog that has graphs: `master`, for the node
 * where tasks for the master run, and CATALOG_CARRIER, for tasks on a node that no group of it owns
 * and, without a node, for stages and joins.  Those of clusters need the latter as well.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "catalog/catalog.h"
#include "catalog/catalog_i.h"

#include "base/text.h"

static void group_role_add(struct load *l, struct strmap *known, struct str name,
                           struct str description, const struct load_vertex *from)
{
    struct load_role r = {
        .at = from ? from->at : NULL,
        .role = {.name = name,
                 .description = description,
                 .barclamp = from ? from->v.barclamp : CATALOG_NONE,
                 .jig = CATALOG_NONE,
                 .group = true,
                 .where = from ? from->v.where : (struct catalog_where){.file = CATALOG_NONE}}};
    strmap_put(known, name, l->roles.n);
    catalog_no_attributes(l, &r.attributes);
    r.role.attributes = r.attributes.attributes;
    r.role.schema = l->any_schema;
    r.role.defaults = r.attributes.defaults;
    vec_push(&l->roles, r);
}

static void group_role(struct load *l, struct strmap *known, const struct load_vertex *x)
{
    uintptr_t first;
    if (!text_is_name(x->v.id)) {
        struct err *e = catalog_fault(l, CATALOG_WARNING, ERR_INVALID, x->v.where,
                                      "no node can be bound to group \"%s\": that is no name of a "
                                      "role",
                                      x->v.id.s);
        (void)err_hint(e, "lower case letters, digits, \".\", \"_\" and \"-\"");
    } else if (!strmap_get(known, x->v.id, &first)) {
        group_role_add(l, known, x->v.id, x->v.description, x);
    } else if (!l->roles.at[first].role.group) {
        catalog_twice(l, "role or group", x->v.id, x->v.where, l->roles.at[first].role.where);
    } /* else: a group of several graphs is one role */
}

/* One that comes with graphs: it holds tasks, so it cannot have some of its own. */
static void graph_role(struct load *l, struct strmap *known, const char *name,
                       const char *description)
{
    uintptr_t at;
    if (!strmap_get(known, str_of(name), &at)) {
        group_role_add(l, known, str_of(name), str_of(description), NULL);
    } else if (!l->roles.at[at].role.group) {
        struct err *e = catalog_fault(l, CATALOG_ERROR, ERR_INVALID, l->roles.at[at].role.where,
                                      "a catalog with task graphs has a role %s of its own: %s",
                                      name, description);
        (void)err_hint(e, "call it otherwise");
    }
}

void catalog_group_roles(struct load *l)
{
    struct strmap known = {0};
    if (l->graphs.n == 0 && l->providers.n == 0)
        return;
    for (size_t i = 0; i < l->roles.n; i++)
        strmap_put(&known, l->roles.at[i].role.name, i);
    for (size_t i = 0; i < l->vertices.n; i++)
        if (l->vertices.at[i].v.kind == VERTEX_GROUP)
            group_role(l, &known, &l->vertices.at[i]);
    if (l->graphs.n)
        graph_role(l, &known, CATALOG_MASTER, "where tasks for the master run");
    graph_role(l, &known, CATALOG_CARRIER, "tasks of a graph that no group owns");
    strmap_done(&known);
}
