/* data_show.c - what a run of a noderole sees, and who said so
 *
 * The same layers that a task is sent, for people: laid over each other, or one path through them,
 * weakest first.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "server/data_i.h"

#include <string.h>

/* "a.b.c", or "a/b/c" where a key has a dot in it. */
static struct sight_path path_of(struct arena *a, const char *text)
{
    char between = strchr(text, '/') ? '/' : '.';
    uint32_t n = 0;
    struct str *keys = arena_new(a, struct str, strlen(text) + 1);
    for (const char *s = text; *s;) {
        const char *end = strchr(s, between);
        size_t length = end ? (size_t)(end - s) : strlen(s);
        if (length)
            keys[n++] = (struct str){s, length};
        s += length + (end != NULL);
    }
    return (struct sight_path){keys, n};
}

static struct value *view_row(struct server *s, struct arena *a, const struct sight_row *row)
{
    const struct sight_layer *l = row->layer;
    struct value *v = value_map(a);
    bool own = l->kind != SIGHT_DEFAULT && l->kind != SIGHT_NODE && l->kind != SIGHT_PEERS;
    value_put_text(a, v, "layer", sight_kind_name((enum sight_kind)l->kind));
    value_put_text(a, v, "part", sight_kind_name((enum sight_kind)l->part));
    value_set(a, v, "noderole", own ? value_int(a, l->noderole) : value_null(a));
    value_put_text(a, v, "role", s->inv.role_names.at[l->role]);
    value_put_text(a, v, "node", l->part == SIGHT_DEFAULT ? NULL : view_node_name(s, l->node));
    value_put_text(a, v, "deployment", view_deployment_name(s, l->deployment));
    value_set(a, v, "value", row->value);
    value_put_bool(a, v, "wins", row->wins);
    value_put_bool(a, v, "cuts", row->cuts);
    return v;
}

static void put_explanation(struct server *s, struct arena *a, struct value *v,
                            const struct sight_layers *layers, const char *path)
{
    struct sight_explanation x = sight_explain(layers, path_of(a, path), a);
    struct value *rows = value_list(a);
    for (uint32_t i = 0; i < x.n; i++)
        value_add(a, rows, view_row(s, a, &x.rows[i]));
    value_put_text(a, v, "path", path);
    value_put_bool(a, v, "found", x.visible != NULL);
    value_set(a, v, "visible", x.visible ? x.visible : value_null(a));
    value_set(a, v, "layers", rows);
}

int server_noderole_visible(struct server *s, const struct server_call *c, struct server_reply *r,
                            struct err *e)
{
    uint32_t id = 0;
    struct noderole_view nr;
    struct sight_layers layers;
    const char *path = value_as_text(value_get(c->query, "explain"), NULL);
    int rc = face_u32(c->id[0], "noderole", &id, e);
    if (rc < 0)
        return rc;
    if (!anneal_noderole(s->engine, id, &nr))
        return face_not_found(e, "noderole", c->id[0]);
    SCOPED(data_look) l;
    data_look_begin(&l, s);
    if ((rc = data_look_layers(&l, id, c->mem, &layers, e)) < 0)
        return rc;
    struct value *v = value_map(c->mem);
    value_put_int(c->mem, v, "noderole", id);
    if (path)
        put_explanation(s, c->mem, v, &layers, path);
    else
        value_set(c->mem, v, "data", data_look_merge(&l, id, &layers, c->mem));
    r->body = value_copy(c->mem, v); /* what it borrows may change before it is written */
    return 0;
}
