/* lens.c - a lens as text, and back */
/* SPDX-License-Identifier: Apache-2.0 */
#include "model/lens.h"

#include "base/digest.h"
#include "base/json.h"
#include "model/schema.h"

/* --- to text --- */

void lens_write(struct buf *b, const struct lens_source *from)
{
    SCOPED_ARENA(mem);
    struct value *v = value_map(&mem), *attributes = value_map(&mem), *wants = value_list(&mem);
    for (uint32_t i = 0; i < from->n_attributes; i++)
        value_set_str(&mem, attributes, from->attributes[i].name,
                      value_str(&mem, from->attributes[i].path));
    for (uint32_t i = 0; i < from->n_wants; i++)
        value_add(&mem, wants, value_str(&mem, from->wants[i]));
    value_set(&mem, v, "attributes", attributes);
    value_set(&mem, v, "defaults", from->defaults ? from->defaults : value_map(&mem));
    value_set(&mem, v, "schema", from->schema ? from->schema : value_map(&mem));
    value_set(&mem, v, "wants", wants);
    json_write_canonical(b, v);
}

uint64_t lens_id(struct str text)
{
    uint64_t id = digest_64(text.s, text.n);
    return id ? id : 1;
}

/* --- from text --- */

static struct sight_path path_of(struct arena *a, const struct value *text)
{
    uint32_t n = 1, k = 0;
    for (uint32_t i = 0; i < text->n; i++)
        n += text->s[i] == '/';
    struct str *keys = arena_new(a, struct str, n);
    for (uint32_t start = 0, i = 0; i <= text->n; i++)
        if (i == text->n || text->s[i] == '/') {
            keys[k++] = (struct str){text->s + start, i - start};
            start = i + 1;
        }
    return (struct sight_path){keys, n};
}

static bool is_sound(const struct value *attributes, const struct value *wants)
{
    bool sound = value_is(attributes, VALUE_MAP) && value_is(wants, VALUE_LIST);
    for (uint32_t i = 0; sound && i < attributes->n; i++)
        sound = attributes->members[i].v.kind == VALUE_STRING;
    for (uint32_t i = 0; sound && i < wants->n; i++)
        sound = wants->items[i].kind == VALUE_STRING;
    return sound;
}

static void read_inputs(struct arena *a, const struct value *attributes, const struct value *wants,
                        struct lens *l)
{
    uint32_t n = attributes->n + wants->n;
    struct sight_attribute *list = arena_new(a, struct sight_attribute, attributes->n);
    struct sight_path *paths = arena_new(a, struct sight_path, n);
    struct value *defaults = value_map(a);
    const struct value *all = schema_defaults(a, l->schema, l->defaults);
    for (uint32_t i = 0; i < attributes->n; i++) {
        const struct member *m = &attributes->members[i];
        paths[i] = path_of(a, &m->v);
        list[i] = (struct sight_attribute){{m->key, m->key_n}, paths[i]};
        const struct value *v = sight_at(all, paths[i]);
        if (v)
            value_set_str(a, defaults, list[i].name, v);
    }
    for (uint32_t i = 0; i < wants->n; i++)
        paths[attributes->n + i] = path_of(a, &wants->items[i]);
    for (uint32_t i = 0; i < n; i++) {
        l->sees_node |= str_is(paths[i].keys[0], "node");
        l->sees_peers |= str_is(paths[i].keys[0], "peers");
    }
    l->paths = (struct sight_paths){paths, n};
    l->sight = (struct sight_lens){.defaults = defaults,
                                   .attributes = list,
                                   .n_attributes = attributes->n,
                                   .wants = {paths + attributes->n, wants->n}};
}

int lens_read(struct arena *a, struct str text, struct lens *ret, struct err *e)
{
    struct value *v; /* whatever a catalog may nest, one level deeper */
    struct json_options deep = {.max_depth = 2 * JSON_DEPTH_DEFAULT};
    int rc = json_parse(a, text.s, text.n, &deep, &v, e);
    if (rc < 0)
        return rc;
    const struct value *attributes = value_get(v, "attributes"), *wants = value_get(v, "wants");
    *ret = (struct lens){.schema = value_get(v, "schema"), .defaults = value_get(v, "defaults")};
    if (!is_sound(attributes, wants) || !value_is(ret->schema, VALUE_MAP) ||
        !value_is(ret->defaults, VALUE_MAP))
        return err_set(e, ERR_CORRUPT, "a stored lens has not the parts of one");
    read_inputs(a, attributes, wants, ret);
    return 0;
}

int lens_data(struct arena *a, const struct value *schema, const struct value *defaults,
              const struct value *user, const struct value **ret, struct err *e)
{
    const struct value *data = defaults;
    if (user && user->kind != VALUE_MAP && user->kind != VALUE_NULL)
        return err_set(e, ERR_INVALID, "the data of a role is a map of its attributes");
    if (value_is(user, VALUE_MAP))
        data = value_merge(a, data, user);
    *ret = schema_defaults(a, schema, data);
    return schema_check(schema, *ret, e);
}

int lens_check(const struct lens *l, const struct value *user, struct err *e)
{
    SCOPED_ARENA(mem);
    const struct value *data;
    return lens_data(&mem, l->schema, l->defaults, user, &data, e);
}
