/* node_body.c - what is known of a node beside what the engine knows
 *
 * Labels, groups, addresses, facts, notes: a JSON map that is kept as text and changed by laying
 * requests over it.  Every change of it is one row and, for a node that was there already, one
 * event; a request that changes nothing is neither.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/json.h"
#include "base/text.h"
#include "server/server_i.h"

/* Fields of the body, as they are in requests and replies. */
static const char *const body_fields[] = {
    "labels",  "groups",      "addresses",        "facts", "note", "admin", "machine_id",
    "boot_id", "maintenance", "boot_environment", "access"};

int node_body_check(const struct value *request, struct err *e)
{
    const struct value *groups = value_get(request, "groups");
    for (uint32_t i = 0; value_is(groups, VALUE_LIST) && i < groups->n; i++)
        if (!text_is_name(value_as_str(&groups->items[i]))) {
            err_set(e, ERR_INVALID, "\"%s\" is not a group name",
                    value_as_text(&groups->items[i], ""));
            return err_at(e, "/groups/%u", i);
        }
    return 0;
}

int node_body_home(struct server *s, const struct value *request, uint32_t *ret_id, struct err *e)
{
    const char *name = value_as_text(value_get(request, "deployment"), NULL);
    if (!name)
        return 0;
    uint32_t id = inventory_deployment_find(&s->inv, name);
    if (!id) {
        face_not_found(e, "deployment", name);
        return err_at(e, "/deployment");
    }
    *ret_id = id;
    return 0;
}

/* Who keeps hands off it, why and since when, is not for the request to say. */
static const struct value *signed_maintenance(const struct server_call *c,
                                              const struct value *asked)
{
    if (!value_is(asked, VALUE_MAP))
        return asked;
    struct value *v = value_map(c->mem);
    value_put_text(c->mem, v, "note", value_as_text(value_get(asked, "note"), ""));
    value_put_text(c->mem, v, "by", c->who->name);
    value_put_text(c->mem, v, "since", view_time(c->mem, server_wall_ms()));
    return v;
}

static const struct value *without_nulls(struct arena *mem, const struct value *map)
{
    struct value *kept = value_map(mem);
    for (uint32_t k = 0; k < map->n; k++)
        if (map->members[k].v.kind != VALUE_NULL)
            value_set(mem, kept, map->members[k].key, &map->members[k].v);
    return kept;
}

/* The old body with what the request names put over it; null removes, labels and facts merge. */
static void body_merge(const struct server_call *c, const char *old, const struct value *request,
                       struct buf *ret_text)
{
    struct value *was = NULL, *now = value_map(c->mem);
    struct err e;
    if (old && json_parse(c->mem, old, strlen(old), NULL, &was, &e) < 0)
        was = NULL;
    for (size_t i = 0; i < sizeof body_fields / sizeof *body_fields; i++) {
        const char *field = body_fields[i];
        const struct value *before = value_get(was, field), *asked = value_get(request, field);
        bool maintenance = strcmp(field, "maintenance") == 0;
        if (maintenance && !asked && value_as_bool(value_get(request, "available"), false))
            continue; /* available again: nobody keeps hands off it any more */
        const struct value *v = !asked ? before
                                       : (maintenance ? signed_maintenance(c, asked) : asked);
        if (asked && !maintenance && asked->kind == VALUE_MAP && value_is(before, VALUE_MAP))
            v = value_merge(c->mem, before, asked);
        if (value_is(v, VALUE_MAP))
            v = without_nulls(c->mem, v); /* {"rack": null} removes one label */
        if (v && v->kind != VALUE_NULL)
            value_set(c->mem, now, field, v);
    }
    json_write(ret_text, now, 0);
}

static void body_save(struct server *s, const struct server_call *c, struct row_node_body *row,
                      enum row_verb verb)
{
    row->tenant = c->who->tenant;
    row->realm = 1;
    row->rev = s->inv.nodes.at[row->id].rev + 1;
    commit_row(s->commit, ROWS_NODE_BODY, verb, row);
    inventory_set_node(&s->inv, row);
    if (verb == ROW_INSERT)
        return;
    struct event changed = {.kind = EVENT_NODE_CHANGED, .id = row->id};
    struct commit_note note = server_note(c, NULL);
    commit_inventory(s->commit, &changed, &note);
    data_node_changed(s, row->id);
    server_touch(s);
}

void node_body_put(struct server *s, const struct server_call *c, uint32_t id, uint32_t home,
                   const struct value *request, enum row_verb verb)
{
    const struct inv_node *n = &s->inv.nodes.at[id];
    SCOPED_BUF(body);
    body_merge(c, n->body, request, &body);
    struct row_node_body row = {
        .id = id, .deployment = home, .leaving = n->leaving, .body = buf_str(&body)};
    body_save(s, c, &row, verb);
}

void node_body_refresh(struct server *s, const struct server_call *c, uint32_t id,
                       const struct value *report)
{
    const struct inv_node *n = &s->inv.nodes.at[id];
    SCOPED_BUF(body);
    body_merge(c, n->body, report, &body);
    if (strcmp(body.data, n->body) == 0)
        return;
    struct row_node_body row = {
        .id = id, .deployment = n->deployment, .leaving = n->leaving, .body = buf_str(&body)};
    body_save(s, c, &row, ROW_UPDATE);
}

void node_body_pin(struct server *s, struct arena *mem, uint32_t id, struct str host_key)
{
    static const struct caller worker = {.name = "worker", .tenant = 1};
    struct server_call c = {.mem = mem, .who = &worker};
    const struct value *body = view_json(mem, s->inv.nodes.at[id].body);
    const struct value *known = value_at(body, "access.host_keys");
    if (value_is(known, VALUE_LIST) && known->n > 0)
        return;
    struct value *report = value_map(mem), *access = value_map(mem), *keys = value_list(mem);
    value_add(mem, keys, value_str(mem, host_key));
    value_set(mem, access, "host_keys", keys);
    value_set(mem, report, "access", access);
    node_body_refresh(s, &c, id, report);
}

void node_body_leave(struct server *s, const struct server_call *c, uint32_t id, uint32_t op)
{
    const struct inv_node *n = &s->inv.nodes.at[id];
    struct row_node_body row = {
        .id = id, .deployment = n->deployment, .leaving = op, .body = str_of(n->body)};
    body_save(s, c, &row, ROW_UPDATE);
}
