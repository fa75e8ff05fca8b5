/* data.c - layers of data: changed in memory, noted as rows, told to those whom it concerns
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "server/data.h"

#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "server/data_i.h"

char **data_layer_text(struct inv_noderole *n, enum data_layer layer)
{
    switch (layer) {
    case DATA_USER: return &n->user;
    case DATA_SYSTEM: return &n->system;
    case DATA_WALL:
    case DATA_LAYER_COUNT: break;
    }
    return &n->wall;
}

static struct str text_of(const char *text)
{
    return str_of(text ? text : "");
}

/* 1 if that is a change; nobody is told. */
static int layer_set(struct server *s, uint32_t noderole, enum data_layer layer, struct str text)
{
    struct inv_noderole *n = &s->inv.noderoles.at[noderole];
    char **at = data_layer_text(n, layer);
    if (str_is(text, "{}"))
        text.n = 0;
    if (str_eq(text_of(*at), text))
        return 0;
    s->inv.documents += (size_t)(text.n > 0) - (size_t)(*at != NULL);
    free(*at);
    *at = text.n ? xstrndup(text.s, text.n) : NULL;
    n->rev += layer != DATA_WALL;
    data_row_put(s, noderole);
    data_layer_forget(s, noderole);
    return 1;
}

int data_layer_put(struct server *s, uint32_t noderole, enum data_layer layer, struct str text)
{
    SCOPED_ARENA(mem);
    const struct value *was = data_layer_get(s, noderole, layer);
    if (!layer_set(s, noderole, layer, text))
        return 0;
    data_changed(s, noderole, sight_changed_paths(was, data_layer_get(s, noderole, layer), &mem),
                 layer);
    return 1;
}

/* Hooks may have changed data since its digests were made: then they are looked at again. */
void data_plan_keep(struct server *s, const struct plan *p)
{
    VEC(uint32_t) ids = {0};
    bool other = s->data->version != s->data->planned;
    for (uint32_t i = 0; i < p->n_changes; i++) {
        const struct plan_change *c = &p->changes[i];
        if (c->what & PLAN_C_LENS) {
            s->inv.noderoles.at[c->noderole].lens = inventory_lens(&s->inv, c->lens);
            data_row_put(s, c->noderole);
        }
        if (c->what & PLAN_C_DATA)
            (void)layer_set(s, c->noderole, DATA_USER, c->user);
        if (other && (c->what & (PLAN_C_DATA | PLAN_C_LENS)))
            vec_push(&ids, c->noderole);
    }
    if (ids.n > 0)
        data_tell(s, ids.at, ids.n);
    vec_done(&ids);
}

void data_row_put(struct server *s, uint32_t noderole)
{
    const struct inv_noderole *n = &s->inv.noderoles.at[noderole];
    struct row_document row = {.id = noderole,
                               .tenant = 1,
                               .realm = 1,
                               .rev = n->rev,
                               .deployment = n->deployment,
                               .user = text_of(n->user),
                               .system = text_of(n->system),
                               .wall = text_of(n->wall),
                               .lens = n->lens ? s->inv.lenses.at[n->lens].id : 0};
    commit_row(s->commit, ROWS_DOCUMENT, ROW_UPDATE, &row);
}

const struct value *data_edited(struct arena *mem, const struct value *map, struct str path,
                                const struct value *v, struct err *e)
{
    struct str key = path, rest = {"", 0};
    const char *slash = memchr(path.s, '/', path.n);
    if (slash) {
        key.n = (size_t)(slash - path.s);
        rest = (struct str){slash + 1, path.n - key.n - 1};
    }
    struct value *out = value_map(mem);
    const struct value *inner = NULL;
    for (uint32_t i = 0; value_is(map, VALUE_MAP) && i < map->n; i++) {
        if (str_eq(str_of(map->members[i].key), key))
            inner = &map->members[i].v;
        else
            value_set(mem, out, map->members[i].key, &map->members[i].v);
    }
    if (slash) {
        if (inner && inner->kind != VALUE_MAP) {
            err_set(e, ERR_INVALID, "%.*s is no map, so nothing can be put below it", (int)key.n,
                    key.s);
            return NULL;
        }
        if (!(v = inner || v ? data_edited(mem, inner, rest, v, e) : NULL) && e->code)
            return NULL;
    }
    if (v)
        value_set(mem, out, arena_strndup(mem, key.s, key.n), v);
    return out;
}

int data_system_edit(struct server *s, uint32_t noderole, const struct data_edit *edits,
                     uint32_t n_edits, struct err *e)
{
    SCOPED_ARENA(mem);
    SCOPED_BUF(text);
    const struct value *doc = view_json(&mem, s->inv.noderoles.at[noderole].system);
    err_clear(e);
    for (uint32_t i = 0; i < n_edits; i++)
        if (!(doc = data_edited(&mem, doc, edits[i].path, edits[i].v, e)))
            return err_wrap(e, "system data of %s", view_noderole_name(s, &mem, noderole));
    json_write_canonical(&text, doc);
    if (text.len > DESIRE_DOC_BYTES)
        return err_set(e, ERR_LIMIT, "system data of %s would be %zu bytes; at most %d are kept",
                       view_noderole_name(s, &mem, noderole), text.len, DESIRE_DOC_BYTES);
    return data_layer_put(s, noderole, DATA_SYSTEM, buf_str(&text));
}

/* --- walls --- */

/* The map without what is at a path; maps on the way that become empty stay. */
static const struct value *without(struct arena *mem, const struct value *map,
                                   const struct value *keys)
{
    struct {
        struct value *copy;
        const char *key;
    } way[JSON_DEPTH_DEFAULT];
    uint32_t n = 0;
    for (const struct value *at = map; n < keys->n; n++) {
        const char *key = value_as_text(&keys->items[n], NULL);
        const struct value *next = key ? value_get(at, key) : NULL;
        if (!next || n == JSON_DEPTH_DEFAULT)
            return map; /* it is not there */
        way[n].copy = value_map(mem);
        way[n].key = key;
        for (uint32_t i = 0; i < at->n; i++)
            if (strcmp(at->members[i].key, key) != 0)
                value_set(mem, way[n].copy, at->members[i].key, &at->members[i].v);
        at = next;
    }
    for (uint32_t i = n; i-- > 1;)
        value_set(mem, way[i - 1].copy, way[i - 1].key, way[i].copy);
    return n ? way[0].copy : map;
}

int data_wall_returned(struct server *s, uint32_t noderole, struct str returns, struct str gone,
                       struct err *e)
{
    SCOPED_ARENA(mem);
    SCOPED_BUF(text);
    const struct value *wall = view_json(&mem, s->inv.noderoles.at[noderole].wall);
    struct value *more = NULL, *paths = NULL;
    int rc = 0;
    if (returns.n)
        rc = json_parse(&mem, returns.s, returns.n, NULL, &more, e);
    if (rc >= 0 && gone.n)
        rc = json_parse(&mem, gone.s, gone.n, NULL, &paths, e);
    if (rc < 0)
        return err_wrap(e, "what it returned");
    if ((more && more->kind != VALUE_MAP) || (paths && paths->kind != VALUE_LIST))
        return err_set(e, ERR_INVALID, "what it returned is no map");
    if (more)
        wall = value_merge(&mem, wall, more);
    for (uint32_t i = 0; paths && i < paths->n; i++)
        if (paths->items[i].kind == VALUE_LIST)
            wall = without(&mem, wall, &paths->items[i]);
    json_write_canonical(&text, wall);
    if (text.len > DESIRE_DOC_BYTES)
        return err_set(e, ERR_LIMIT,
                       "with what it returned %s would have %zu bytes; at most %d are kept",
                       view_noderole_name(s, &mem, noderole), text.len, DESIRE_DOC_BYTES);
    return data_layer_put(s, noderole, DATA_WALL, buf_str(&text));
}

int data_check_role(const struct catalog *c, struct str role, const struct value *v, struct err *e)
{
    SCOPED_ARENA(mem);
    const struct catalog_role *r = catalog_role_get(c, role);
    const struct value *data;
    uint64_t digest;
    if (r)
        return planner_data(&mem, r, v, &data, &digest, e);
    err_set(e, ERR_UNKNOWN_NAME, "there is no role %.*s in generation %u of the catalog",
            (int)role.n, role.s, c->number);
    const char *near = catalog_role_nearest(c, role);
    return near ? err_hint(e, "did you mean \"%s\"?", near) : -ERR_UNKNOWN_NAME;
}
