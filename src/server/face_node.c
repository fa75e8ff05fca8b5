/* face_node.c - nodes: added, changed, reported on
 *
 * The engine knows a node's availability, aliveness and slots; everything else is its body
 * (node_body.c).  One PATCH may touch both; all of it joins one group.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "server/probing.h"

static void reply_node(struct server *s, const struct server_call *c, uint32_t id,
                       struct server_reply *r)
{
    r->body = view_node(s, c->mem, id);
    r->rev = s->inv.nodes.at[id].rev;
    r->group = commit_open_group(s->commit);
}

int server_node_create(struct server *s, const struct server_call *c, struct server_reply *r,
                       struct err *e)
{
    uint32_t id = 0;
    int rc = server_writable(s, e);
    if (rc < 0 || (rc = node_make(s, c, value_as_text(value_get(c->body, "name"), NULL), c->body,
                                  &id, e)) < 0)
        return rc;
    reply_node(s, c, id, r);
    r->location = arena_printf(c->mem, "/v1/nodes/%s", s->inv.nodes.at[id].name);
    return 0;
}

/* Maintenance is unavailability that somebody signed: one word for both. */
static const struct value *asked_available(const struct server_call *c)
{
    const struct value *available = value_get(c->body, "available");
    const struct value *maintenance = value_get(c->body, "maintenance");
    if (!maintenance || value_is(available, VALUE_BOOL))
        return available;
    return value_bool(c->mem, maintenance->kind == VALUE_NULL);
}

static int patch_engine(struct server *s, const struct server_call *c, uint32_t id, struct err *e)
{
    const struct value *available = asked_available(c);
    const struct value *slots = value_get(c->body, "slots");
    const char *alive = value_as_text(value_get(c->body, "alive"), NULL);
    struct commit_note note = server_note(c, NULL);
    struct node_view v;
    int rc = 0;
    anneal_node(s->engine, id, &v);
    if (value_is(available, VALUE_BOOL)) {
        struct event ev = {.kind = EVENT_NODE_AVAILABLE, .id = id, .flag = available->b};
        rc = server_apply(s, &ev, &note, NULL, e);
    }
    if (rc >= 0 && value_is(slots, VALUE_INT)) {
        struct event ev = {.kind = EVENT_NODE_SLOTS, .id = id, .n = (uint32_t)slots->i};
        rc = server_apply(s, &ev, &note, NULL, e);
    }
    if (rc >= 0 && alive && strcmp(alive, "alive") == 0)
        rc = node_seen(s, c, id, NULL, NULL, e);
    if (rc >= 0 && alive && strcmp(alive, "dead") == 0 && v.alive != ALIVE_DEAD) {
        struct event ev = {.kind = EVENT_NODE_DEAD, .id = id};
        rc = server_apply(s, &ev, &note, NULL, e);
        probing_told(s, id, false);
    }
    return rc;
}

static int check_maintenance(const struct server_call *c, struct err *e)
{
    if (!value_is(value_get(c->body, "maintenance"), VALUE_MAP) ||
        !value_as_bool(value_get(c->body, "available"), false))
        return 0;
    err_set(e, ERR_INVALID, "a node in maintenance is not available");
    return err_at(e, "/available");
}

/* What it shall boot; "" if nobody said. */
static const char *boots_of(const struct server *s, const struct server_call *c, uint32_t id)
{
    const char *body = s->inv.nodes.at[id].body;
    if (!strstr(body, "\"boot_environment\""))
        return "";
    return value_as_text(value_get(view_json(c->mem, body), "boot_environment"), "");
}

int server_node_patch(struct server *s, const struct server_call *c, struct server_reply *r,
                      struct err *e)
{
    uint32_t id = inventory_node_find(&s->inv, c->id[0]);
    int rc = server_writable(s, e);
    if (rc < 0)
        return rc;
    if (!id)
        return face_not_found(e, "node", c->id[0]);
    uint32_t home = s->inv.nodes.at[id].deployment;
    const char *name = value_as_text(value_get(c->body, "name"), NULL);
    if ((rc = face_match(c, s->inv.nodes.at[id].rev, "node", c->id[0], e)) < 0 ||
        (rc = node_body_home(s, c->body, &home, e)) < 0 || (rc = node_body_check(c->body, e)) < 0 ||
        (rc = check_maintenance(c, e)) < 0)
        return rc;
    if (name && strcmp(name, s->inv.nodes.at[id].name) != 0) {
        err_set(e, ERR_REFUSED, "a node keeps its name");
        return err_at(e, "/name");
    }
    const struct value *before = hook_watched(s, HOOK_ON_NODE_CHANGE) ? view_node(s, c->mem, id)
                                                                      : NULL;
    const char *boots = boots_of(s, c, id);
    struct value *left = value_list(c->mem);
    if (home != s->inv.nodes.at[id].deployment && (rc = node_move(s, c, id, home, &left, e)) < 0)
        return rc;
    if ((rc = patch_engine(s, c, id, e)) < 0)
        return rc;
    node_body_put(s, c, id, home, c->body, ROW_UPDATE);
    if (value_get(c->body, "access") || value_get(c->body, "addresses"))
        dispatch_access_changed(s, id);
    if (strcmp(boots, boots_of(s, c, id)) != 0)
        node_boot_changed(s, c, id);
    reply_node(s, c, id, r);
    hook_node(s, HOOK_ON_NODE_CHANGE, id, before, r->body);
    if (left->n) {
        struct value *v = value_copy(c->mem, r->body);
        value_set(c->mem, v, "left_behind", left);
        r->body = v;
    }
    return 0;
}

int server_node_report(struct server *s, const struct server_call *c, struct server_reply *r,
                       struct err *e)
{
    uint32_t id = inventory_node_find(&s->inv, c->id[0]);
    const char *word = value_as_text(value_get(c->body, "alive"), "alive");
    const char *machine = value_as_text(value_get(c->body, "machine_id"), NULL);
    const char *boot = value_as_text(value_get(c->body, "boot_id"), NULL);
    struct commit_note note = server_note(c, NULL);
    int rc = server_writable(s, e);
    if (rc < 0)
        return rc;
    if (!id)
        return face_not_found(e, "node", c->id[0]);
    const struct value *before = hook_watched(s, HOOK_ON_NODE_CHANGE) ? view_node(s, c->mem, id)
                                                                      : NULL;
    if (strcmp(word, "alive") == 0) {
        rc = node_seen(s, c, id, machine, boot, e);
        if (rc >= 0 && (machine || boot))
            node_body_refresh(s, c, id, c->body);
        probing_told(s, id, true);
    } else {
        struct event ev = {.kind = strcmp(word, "dead") == 0 ? EVENT_NODE_DEAD : EVENT_NODE_SILENT,
                           .id = id};
        rc = server_apply(s, &ev, &note, NULL, e);
        if (rc >= 0 && ev.kind == EVENT_NODE_DEAD)
            probing_told(s, id, false);
    }
    if (rc < 0)
        return rc;
    reply_node(s, c, id, r);
    hook_node(s, HOOK_ON_NODE_CHANGE, id, before, r->body);
    return 0;
}
