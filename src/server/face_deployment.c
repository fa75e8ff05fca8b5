/* face_deployment.c - deployments: made, described, and removed when nothing is left in them
 *
 * They form a tree below `system`, which is always there.  The engine does not know them: a change
 * is a row and an event of the journal.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "base/json.h"
#include "base/text.h"
#include "server/clusters.h"
#include "server/deploy.h"

/* Depth of a deployment, the root being 1. */
static uint32_t depth_of(const struct server *s, uint32_t id)
{
    uint32_t depth = 0;
    for (; id && depth <= PLANNER_MAX_DEPTH; id = s->inv.deployments.at[id].parent)
        depth++;
    return depth;
}

static void body_write(struct buf *b, struct arena *mem, struct str description)
{
    struct value *v = value_map(mem);
    value_set(mem, v, "description", value_str(mem, description));
    json_write(b, v, 0);
}

void face_deployment_changed(struct server *s, const struct server_call *c, uint32_t id,
                             const char *what)
{
    struct event ev = {.kind = EVENT_DEPLOYMENT, .id = id};
    struct commit_note note = server_note(c, NULL);
    SCOPED_BUF(more);
    buf_puts(&more, "{\"name\":");
    json_write_string(&more, str_of(s->inv.deployments.at[id].name));
    buf_printf(&more, ",\"change\":\"%s\"}", what);
    note.more = buf_str(&more);
    commit_inventory(s->commit, &ev, &note);
    server_touch(s);
}

static int parent_of(struct server *s, const struct server_call *c, uint32_t *ret_id, struct err *e)
{
    const char *name = value_as_text(value_get(c->body, "parent"), NULL);
    *ret_id = name ? inventory_deployment_find(&s->inv, name) : DEPLOYMENT_SYSTEM;
    if (!*ret_id) {
        face_not_found_near(e, "deployment", name, &s->inv.deployment_by_name);
        e->code = ERR_UNKNOWN_NAME;
        return err_at(e, "/parent");
    }
    if (depth_of(s, *ret_id) >= PLANNER_MAX_DEPTH) {
        err_set(e, ERR_REFUSED, "deployments are at most %d deep", PLANNER_MAX_DEPTH);
        return err_at(e, "/parent");
    }
    return 0;
}

int face_deployment_name(const struct server *s, struct str name, struct err *e)
{
    if (!text_is_name(name)) {
        err_set(e, ERR_INVALID, "\"%.*s\" is not a name for a deployment",
                (int)(name.n < 64 ? name.n : 64), name.n ? name.s : "");
        err_at(e, "/name");
        return err_hint(e,
                        "lower-case letters, digits and . _ -, beginning with a letter or digit");
    }
    if (strmap_get(&s->inv.deployment_by_name, name, NULL)) {
        err_set(e, ERR_EXISTS, "there is a deployment %s already", name.s);
        return err_at(e, "/name");
    }
    return 0;
}

uint32_t face_deployment_make(struct server *s, const struct server_call *c, struct str name,
                              uint32_t parent, struct str description)
{
    SCOPED_BUF(body);
    body_write(&body, c->mem, description);
    struct row_deployment row = {.id = commit_meta(s->commit)->next_deployment++,
                                 .tenant = c->who->tenant,
                                 .realm = 1,
                                 .name = name,
                                 .parent = parent,
                                 .created_ms = server_wall_ms(),
                                 .rev = 1,
                                 .body = buf_str(&body)};
    commit_row(s->commit, ROWS_DEPLOYMENT, ROW_INSERT, &row);
    inventory_add_deployment(&s->inv, &row);
    face_deployment_changed(s, c, row.id, "created");
    return row.id;
}

int server_deployment_create(struct server *s, const struct server_call *c, struct server_reply *r,
                             struct err *e)
{
    struct str name = face_body_text(c, "name");
    uint32_t parent = 0;
    int rc = server_writable(s, e);
    if (rc < 0 || (rc = face_deployment_name(s, name, e)) < 0 ||
        (rc = parent_of(s, c, &parent, e)) < 0)
        return rc;
    uint32_t id = face_deployment_make(s, c, name, parent, face_body_text(c, "description"));
    r->body = view_deployment(s, c->mem, id);
    r->rev = s->inv.deployments.at[id].rev;
    r->location = arena_printf(c->mem, "/v1/deployments/%s", name.s);
    r->group = commit_open_group(s->commit);
    return 0;
}

/* The deployment that a path names, with its revision checked. */
static int named(struct server *s, const struct server_call *c, uint32_t *ret_id, struct err *e)
{
    int rc = server_writable(s, e);
    if (rc < 0)
        return rc;
    uint32_t id = inventory_deployment_find(&s->inv, c->id[0]);
    if (!id)
        return face_not_found_near(e, "deployment", c->id[0], &s->inv.deployment_by_name);
    *ret_id = id;
    return face_match(c, s->inv.deployments.at[id].rev, "deployment",
                      s->inv.deployments.at[id].name, e);
}

int server_deployment_patch(struct server *s, const struct server_call *c, struct server_reply *r,
                            struct err *e)
{
    const struct value *description = value_get(c->body, "description");
    uint32_t id;
    SCOPED_BUF(body);
    int rc = named(s, c, &id, e);
    if (rc < 0)
        return rc;
    struct inv_deployment *d = &s->inv.deployments.at[id];
    if (description) { /* null: none */
        body_write(&body, c->mem, value_as_str(description));
        struct row_deployment row = {.id = id, .rev = ++d->rev, .body = buf_str(&body)};
        commit_row(s->commit, ROWS_DEPLOYMENT, ROW_UPDATE, &row);
        free(d->body);
        d->body = xstrndup(body.data, body.len);
        face_deployment_changed(s, c, id, "described");
        r->group = commit_open_group(s->commit);
    }
    r->body = view_deployment(s, c->mem, id);
    r->rev = d->rev;
    return 0;
}

/* ---- removal ---- */

static uint32_t child_of(const struct server *s, uint32_t id)
{
    for (uint32_t i = 1; i < s->inv.deployments.n; i++)
        if (s->inv.deployments.at[i].name && !s->inv.deployments.at[i].gone &&
            s->inv.deployments.at[i].parent == id)
            return i;
    return 0;
}

static uint32_t node_at_home(const struct server *s, uint32_t id)
{
    for (uint32_t i = 1; i < s->inv.nodes.n; i++)
        if (s->inv.nodes.at[i].name && !s->inv.nodes.at[i].gone &&
            s->inv.nodes.at[i].deployment == id)
            return i;
    return 0;
}

static uint32_t noderole_in(const struct server *s, uint32_t id)
{
    const struct u64map *m = &s->inv.instances;
    for (size_t i = 0; i < m->n; i++) {
        if (!m->at[i].live || (uint32_t)m->at[i].key != id)
            continue;
        const struct id_list *l = &s->inv.lists.at[m->at[i].val];
        for (size_t k = 0; k < l->ids.n; k++) {
            struct noderole_view v;
            /* One without a node holds stages and joins: it goes with the deployment. */
            if (anneal_noderole(s->engine, l->ids.at[k], &v) && v.state != NODEROLE_REMOVED &&
                v.node)
                return l->ids.at[k];
        }
    }
    return 0;
}

/* What stands in the way is named, one kind after the other, with the command that shows all of it.
 */
static int in_the_way(struct server *s, const struct server_call *c, uint32_t id, struct err *e)
{
    const char *name = s->inv.deployments.at[id].name;
    uint32_t child = child_of(s, id), noderole = noderole_in(s, id), node = node_at_home(s, id);
    if (id == DEPLOYMENT_SYSTEM)
        return err_set(e, ERR_CONFLICT, "%s is the root of all deployments and stays", name);
    if (child) {
        err_set(e, ERR_CONFLICT, "deployment %s is above deployment %s", name,
                s->inv.deployments.at[child].name);
        return err_hint(e, "`anneal deployment delete %s` first",
                        s->inv.deployments.at[child].name);
    }
    if (noderole) {
        err_set(e, ERR_CONFLICT, "noderole %u (%s) is in deployment %s", noderole,
                view_noderole_name(s, c->mem, noderole), name);
        return err_hint(e, "`anneal noderole list --deployment %s` shows what is in it", name);
    }
    if (node) {
        err_set(e, ERR_CONFLICT, "node %s is at home in deployment %s", s->inv.nodes.at[node].name,
                name);
        return err_hint(e, "`anneal node set %s --deployment system` moves it",
                        s->inv.nodes.at[node].name);
    }
    return 0;
}

int face_deployment_drop(struct server *s, const struct server_call *c, uint32_t id, struct err *e)
{
    int rc = in_the_way(s, c, id, e);
    if (rc < 0 || (rc = deploy_stages_remove(s, c, id, e)) < 0)
        return rc;
    struct row_deployment row = {.id = id};
    commit_row(s->commit, ROWS_DEPLOYMENT, ROW_DELETE, &row);
    face_deployment_changed(s, c, id, "deleted");
    desire_forget(s->desire, id);
    overlays_forget(s->overlays, id);
    s->inv.deployments.at[id].gone = true;
    strmap_del(&s->inv.deployment_by_name, str_of(s->inv.deployments.at[id].name));
    return 0;
}

int server_deployment_delete(struct server *s, const struct server_call *c, struct server_reply *r,
                             struct err *e)
{
    uint32_t id;
    int rc = named(s, c, &id, e);
    if (rc >= 0 && cluster_get(s, id)) {
        err_set(e, ERR_CONFLICT, "deployment %s is a cluster", s->inv.deployments.at[id].name);
        return err_hint(e, "`anneal cluster delete %s` deletes it with its machines",
                        s->inv.deployments.at[id].name);
    }
    if (rc < 0 || (rc = face_deployment_drop(s, c, id, e)) < 0)
        return rc;
    r->group = commit_open_group(s->commit);
    return 0;
}
