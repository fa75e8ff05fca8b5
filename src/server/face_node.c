/* face_node.c - nodes: added, changed, reported on, deleted
 *
 * The engine knows a node's availability, aliveness and slots; everything else is its body, kept as
 * JSON.  One PATCH may touch both; all of it joins one group.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/digest.h"
#include "base/json.h"
#include "base/text.h"
#include "server/server_i.h"

/* Fields of the body, as they are in requests and replies. */
static const char *const body_fields[] = {"labels", "groups", "addresses",  "facts",
                                          "note",   "admin",  "machine_id", "boot_id"};

static int check_name(const struct server *s, const char *name, struct err *e)
{
    const char *domain = s->opts->admin_domain;
    size_t n = strlen(name), d = strlen(domain);
    if (!text_is_fqdn(str_of(name))) {
        err_set(e, ERR_INVALID, "\"%s\" is not a lower-case DNS name", name);
        return err_at(e, "/name");
    }
    if (d > 0 && (n <= d + 1 || strcmp(name + n - d, domain) != 0 || name[n - d - 1] != '.')) {
        err_set(e, ERR_INVALID, "\"%s\" is not in the administrative domain %s", name, domain);
        err_at(e, "/name");
        return err_hint(e, "name it %s.%s, or change admin_domain", name, domain);
    }
    return 0;
}

static int check_groups(const struct value *groups, struct err *e)
{
    for (uint32_t i = 0; value_is(groups, VALUE_LIST) && i < groups->n; i++)
        if (!text_is_name(value_as_str(&groups->items[i]))) {
            err_set(e, ERR_INVALID, "\"%s\" is not a group name",
                    value_as_text(&groups->items[i], ""));
            return err_at(e, "/groups/%u", i);
        }
    return 0;
}

/* The old body with what the request names put over it; null removes, labels and facts merge. */
static void merged_body(struct arena *mem, const char *old, const struct value *request,
                        struct buf *ret_text)
{
    struct value *was = NULL, *now = value_map(mem);
    struct err e;
    if (old && json_parse(mem, old, strlen(old), NULL, &was, &e) < 0)
        was = NULL;
    for (size_t i = 0; i < sizeof body_fields / sizeof *body_fields; i++) {
        const struct value *before = value_get(was, body_fields[i]);
        const struct value *asked = value_get(request, body_fields[i]);
        const struct value *v = asked ? asked : before;
        if (asked && asked->kind == VALUE_MAP && value_is(before, VALUE_MAP))
            v = value_merge(mem, before, asked);
        if (!v || v->kind == VALUE_NULL)
            continue;
        if (v->kind == VALUE_MAP) { /* {"rack": null} removes one label */
            struct value *kept = value_map(mem);
            for (uint32_t k = 0; k < v->n; k++)
                if (v->members[k].v.kind != VALUE_NULL)
                    value_set(mem, kept, v->members[k].key, &v->members[k].v);
            v = kept;
        }
        value_set(mem, now, body_fields[i], v);
    }
    json_write(ret_text, now, 0);
}

static int home_of(struct server *s, const struct value *body, uint32_t *ret_id, struct err *e)
{
    const char *name = value_as_text(value_get(body, "deployment"), NULL);
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

static uint64_t id_digest(const char *text)
{
    return text && *text ? digest_64(text, strlen(text)) : 0;
}

static int seen(struct server *s, const struct server_call *c, uint32_t id, const char *machine,
                const char *boot, struct err *e)
{
    struct event ev = {
        .kind = EVENT_NODE_SEEN, .id = id, .a = id_digest(machine), .b = id_digest(boot)};
    struct commit_note note = server_note(c, NULL);
    return server_apply(s, &ev, &note, NULL, e);
}

static void save_body(struct server *s, const struct server_call *c, uint32_t id,
                      uint32_t deployment, struct str body, enum row_verb verb)
{
    uint32_t rev = s->inv.nodes.at[id].rev + 1;
    struct row_node_body row = {.id = id,
                                .tenant = c->who->tenant,
                                .realm = 1,
                                .rev = rev,
                                .deployment = deployment,
                                .body = body};
    commit_row(s->commit, ROWS_NODE_BODY, verb, &row);
    inventory_set_node(&s->inv, id, deployment, body, rev);
}

int server_node_create(struct server *s, const struct server_call *c, struct server_reply *r,
                       struct err *e)
{
    const char *name = value_as_text(value_get(c->body, "name"), "");
    int alive = alive_state_find(value_as_text(value_get(c->body, "alive"), "unknown"));
    uint32_t home = 1, id = anneal_node_end(s->engine);
    SCOPED_BUF(body);
    int rc = server_writable(s, e);
    if (rc < 0 || (rc = check_name(s, name, e)) < 0 || (rc = home_of(s, c->body, &home, e)) < 0 ||
        (rc = check_groups(value_get(c->body, "groups"), e)) < 0)
        return rc;
    if (strmap_get(&s->inv.node_by_name, str_of(name), NULL)) {
        err_set(e, ERR_EXISTS, "there is a node %s already", name);
        err_at(e, "/name");
        return err_hint(e, "change it with `anneal node set %s`", name);
    }
    struct row_node fixed = {.name = str_of(name)};
    struct commit_note note = server_note(c, &fixed);
    struct event ev = {.kind = EVENT_NODE_ADD,
                       .id = id,
                       .n = (uint32_t)value_as_int(value_get(c->body, "slots"), 1),
                       .flag = value_as_bool(value_get(c->body, "available"), true),
                       .extra = (uint32_t)alive};
    SCOPED_BUF(more);
    buf_puts(&more, "{\"name\":");
    json_write_string(&more, str_of(name));
    buf_putc(&more, '}');
    note.more = buf_str(&more);
    if ((rc = server_apply(s, &ev, &note, NULL, e)) < 0)
        return rc;
    inventory_add_node(&s->inv, id, str_of(name));
    merged_body(c->mem, NULL, c->body, &body);
    save_body(s, c, id, home, buf_str(&body), ROW_INSERT);
    if (value_get(c->body, "machine_id") || value_get(c->body, "boot_id"))
        rc = seen(s, c, id, value_as_text(value_get(c->body, "machine_id"), NULL),
                  value_as_text(value_get(c->body, "boot_id"), NULL), e);
    r->body = view_node(s, c->mem, id);
    hook_node(s, HOOK_ON_NODE_CREATE, id, NULL, r->body);
    r->rev = s->inv.nodes.at[id].rev;
    r->location = arena_printf(c->mem, "/v1/nodes/%s", name);
    r->group = commit_open_group(s->commit);
    return rc;
}

static int patch_engine(struct server *s, const struct server_call *c, uint32_t id, struct err *e)
{
    const struct value *available = value_get(c->body, "available");
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
        rc = seen(s, c, id, NULL, NULL, e);
    if (rc >= 0 && alive && strcmp(alive, "dead") == 0 && v.alive != ALIVE_DEAD) {
        struct event ev = {.kind = EVENT_NODE_DEAD, .id = id};
        rc = server_apply(s, &ev, &note, NULL, e);
    }
    return rc;
}

int server_node_patch(struct server *s, const struct server_call *c, struct server_reply *r,
                      struct err *e)
{
    uint32_t id = inventory_node_find(&s->inv, c->id[0]);
    SCOPED_BUF(body);
    int rc = server_writable(s, e);
    if (rc < 0)
        return rc;
    if (!id)
        return face_not_found(e, "node", c->id[0]);
    uint32_t home = s->inv.nodes.at[id].deployment;
    const char *name = value_as_text(value_get(c->body, "name"), NULL);
    if ((rc = face_match(c, s->inv.nodes.at[id].rev, "node", c->id[0], e)) < 0 ||
        (rc = home_of(s, c->body, &home, e)) < 0 ||
        (rc = check_groups(value_get(c->body, "groups"), e)) < 0)
        return rc;
    if (name && strcmp(name, s->inv.nodes.at[id].name) != 0) {
        err_set(e, ERR_REFUSED, "a node keeps its name");
        return err_at(e, "/name");
    }
    const struct value *before = hook_watched(s, HOOK_ON_NODE_CHANGE) ? view_node(s, c->mem, id)
                                                                      : NULL;
    if ((rc = patch_engine(s, c, id, e)) < 0)
        return rc;
    merged_body(c->mem, s->inv.nodes.at[id].body, c->body, &body);
    save_body(s, c, id, home, buf_str(&body), ROW_UPDATE);
    struct event changed = {.kind = EVENT_NODE_CHANGED, .id = id};
    struct commit_note note = server_note(c, NULL);
    commit_inventory(s->commit, &changed, &note);
    r->body = view_node(s, c->mem, id);
    hook_node(s, HOOK_ON_NODE_CHANGE, id, before, r->body);
    r->rev = s->inv.nodes.at[id].rev;
    r->group = commit_open_group(s->commit);
    return 0;
}

int server_node_delete(struct server *s, const struct server_call *c, struct server_reply *r,
                       struct err *e)
{
    uint32_t id = inventory_node_find(&s->inv, c->id[0]);
    int rc = server_writable(s, e);
    if (rc < 0)
        return rc;
    if (!id)
        return face_not_found(e, "node", c->id[0]);
    if ((rc = face_match(c, s->inv.nodes.at[id].rev, "node", c->id[0], e)) < 0)
        return rc;
    uint32_t nr = anneal_node_first_noderole(s->engine, id);
    if (nr) {
        err_set(e, ERR_CONFLICT, "node %s still has noderole %u (%s)", s->inv.nodes.at[id].name, nr,
                view_role_name(s, nr));
        return err_hint(e, "`anneal noderole list --node %s` shows what stands in the way",
                        s->inv.nodes.at[id].name);
    }
    struct event ev = {.kind = EVENT_NODE_GONE, .id = id};
    struct commit_note note = server_note(c, NULL);
    hook_node(s, HOOK_ON_NODE_DELETE, id, NULL, view_node(s, c->mem, id));
    if ((rc = server_apply(s, &ev, &note, NULL, e)) < 0)
        return rc;
    inventory_drop_node(&s->inv, id);
    r->group = commit_open_group(s->commit);
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
    if (strcmp(word, "alive") == 0) {
        rc = seen(s, c, id, machine, boot, e);
        if (rc >= 0 && (machine || boot)) {
            SCOPED_BUF(body);
            merged_body(c->mem, s->inv.nodes.at[id].body, c->body, &body);
            if (strcmp(body.data, s->inv.nodes.at[id].body) != 0)
                save_body(s, c, id, s->inv.nodes.at[id].deployment, buf_str(&body), ROW_UPDATE);
        }
    } else {
        struct event ev = {.kind = strcmp(word, "dead") == 0 ? EVENT_NODE_DEAD : EVENT_NODE_SILENT,
                           .id = id};
        rc = server_apply(s, &ev, &note, NULL, e);
    }
    if (rc < 0)
        return rc;
    r->body = view_node(s, c->mem, id);
    r->rev = s->inv.nodes.at[id].rev;
    r->group = commit_open_group(s->commit);
    return 0;
}
