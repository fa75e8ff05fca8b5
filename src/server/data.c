/* data.c - layers of data: changed in memory and noted as rows
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "server/data.h"

#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "server/server_i.h"

static char **layer_of(struct inv_noderole *n, enum data_layer layer)
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

int data_layer_put(struct server *s, uint32_t noderole, enum data_layer layer, struct str text)
{
    struct inv_noderole *n = &s->inv.noderoles.at[noderole];
    char **at = layer_of(n, layer);
    if (str_is(text, "{}"))
        text.n = 0;
    if (str_eq(text_of(*at), text))
        return 0;
    free(*at);
    *at = text.n ? xstrndup(text.s, text.n) : NULL;
    n->rev += layer != DATA_WALL;
    struct row_document row = {.id = noderole,
                               .tenant = 1,
                               .realm = 1,
                               .rev = n->rev,
                               .deployment = n->deployment,
                               .user = text_of(n->user),
                               .system = text_of(n->system),
                               .wall = text_of(n->wall)};
    commit_row(s->commit, ROWS_DOCUMENT, ROW_UPDATE, &row);
    return 1;
}

/* A copy of the map with the value at a path set or, for NULL, taken away. */
static const struct value *edited(struct arena *mem, const struct value *map, struct str path,
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
        if (!(v = inner || v ? edited(mem, inner, rest, v, e) : NULL) && e->code)
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
        if (!(doc = edited(&mem, doc, edits[i].path, edits[i].v, e)))
            return err_wrap(e, "system data of %s", view_noderole_name(s, &mem, noderole));
    json_write_canonical(&text, doc);
    if (text.len > DESIRE_DOC_BYTES)
        return err_set(e, ERR_LIMIT, "system data of %s would be %zu bytes; at most %d are kept",
                       view_noderole_name(s, &mem, noderole), text.len, DESIRE_DOC_BYTES);
    return data_layer_put(s, noderole, DATA_SYSTEM, buf_str(&text));
}
