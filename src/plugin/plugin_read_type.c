/* plugin_read_type.c - a type that a plugin serves: its fields, which are required, its resources
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "plugin/plugin_i.h"

#define COUNT(table) (sizeof(table) / sizeof *(table))
enum { MODE_MOST = 0777 };

static const char *const field_types[] = {
#define X(id, text) [FIELD_##id] = (text),
    PLUGIN_FIELD_TYPES(X)
#undef X
};

const char *plugin_field_type_name(enum plugin_field_type t)
{
    return t < FIELD_TYPE_COUNT ? field_types[t] : "unknown";
}

/* --- fields --- */

static void field_label(struct plugin_reader *r, const struct value *v, void *object)
{
    ((struct plugin_field *)object)->label = plugin_get_text(r, v, "\"label\"");
}

static void field_tip(struct plugin_reader *r, const struct value *v, void *object)
{
    ((struct plugin_field *)object)->tip = plugin_get_text(r, v, "\"tip\"");
}

static void field_type(struct plugin_reader *r, const struct value *v, void *object)
{
    struct plugin_field *f = object;
    f->type = (enum plugin_field_type)plugin_get_choice(r, v, "\"type\"", field_types,
                                                        COUNT(field_types));
}

static void field_options(struct plugin_reader *r, const struct value *v, void *object)
{
    const struct value *list = plugin_get_list(r, v, "\"options\"");
    if (list && !list->n)
        plugin_fault_at(r, v, "\"options\" is empty");
    if (list)
        ((struct plugin_field *)object)->options = value_copy(r->mem, list);
}

static void field_default(struct plugin_reader *r, const struct value *v, void *object)
{
    ((struct plugin_field *)object)->otherwise = value_copy(r->mem, v);
}

static void field_override(struct plugin_reader *r, const struct value *v, void *object)
{
    struct plugin_field *f = object;
    f->may_override = plugin_get_bool(r, v, "\"override\"");
    if (f->may_override && !f->by_admin)
        plugin_fault_at(r, v, "only an admin's field can be overridden");
}

static void field_sensitive(struct plugin_reader *r, const struct value *v, void *object)
{
    ((struct plugin_field *)object)->sensitive = plugin_get_bool(r, v, "\"sensitive\"");
}

static const struct plugin_part field_parts[] = {
    {"label", field_label, false},         {"tip", field_tip, false},
    {"type", field_type, false},           {"options", field_options, false},
    {"default", field_default, false},     {"override", field_override, false},
    {"sensitive", field_sensitive, false},
};

static void field_check(struct plugin_reader *r, const struct value *v, struct plugin_field *f)
{
    struct plugin_type alone = {.fields = f, .n_fields = 1};
    struct err e;
    if (f->type == FIELD_SELECT && !f->options)
        plugin_fault_at(r, v, "field \"%s\" is a select and so needs options", f->name.s);
    if (f->type == FIELD_PASSWORD && !value_get(v, "sensitive"))
        f->sensitive = true;
    if (f->sensitive && f->otherwise)
        plugin_fault_at(r, value_get(v, "default"),
                        "\"%s\" is sensitive: everybody would know its default", f->name.s);
    if (!f->otherwise || r->bad)
        return;
    struct value *given = value_map(r->mem);
    value_set(r->mem, given, f->name.s, f->otherwise);
    if (plugin_fields_check(&alone, given, &e) < 0)
        plugin_fault_at(r, value_get(v, "default"), "the default of %s", e.text);
}

static void fields_of(struct plugin_reader *r, const struct value *v, bool by_admin,
                      struct plugin_type *t)
{
    const struct value *map = plugin_get_map(r, v, by_admin ? "\"admin\"" : "\"user\"");
    if (!map)
        return;
    struct plugin_field *all = arena_new(r->mem, struct plugin_field, t->n_fields + map->n);
    if (t->n_fields)
        memcpy(all, t->fields, t->n_fields * sizeof *all);
    for (uint32_t i = 0; i < map->n; i++) {
        struct value key = plugin_key_of(map, &map->members[i]);
        struct plugin_field *f = &all[t->n_fields];
        *f = (struct plugin_field){.by_admin = by_admin, .label = {"", 0}, .tip = {"", 0}};
        f->name = plugin_get_name(r, &key, "a field");
        if (plugin_field_get(t, f->name))
            plugin_fault_at(r, &key, "field \"%s\" is there twice", f->name.s);
        plugin_get_parts(r, &map->members[i].v, "a field", field_parts, COUNT(field_parts), f);
        field_check(r, &map->members[i].v, f);
        t->fields = all;
        t->n_fields++;
    }
}

static void fields_admin(struct plugin_reader *r, const struct value *v, void *object)
{
    fields_of(r, v, true, object);
}

static void fields_user(struct plugin_reader *r, const struct value *v, void *object)
{
    fields_of(r, v, false, object);
}

static void type_fields(struct plugin_reader *r, const struct value *v, void *object)
{
    static const struct plugin_part parts[] = {{"admin", fields_admin, false},
                                               {"user", fields_user, false}};
    plugin_get_parts(r, v, "\"fields\"", parts, COUNT(parts), object);
}

/* --- required --- */

static void sets_of(struct plugin_reader *r, const struct value *v, bool by_admin,
                    struct plugin_type *t)
{
    const struct value *list = plugin_get_list(r, v, "a list of required sets");
    if (!list)
        return;
    struct plugin_set *sets = arena_new(r->mem, struct plugin_set, list->n);
    for (uint32_t i = 0; i < list->n; i++) {
        const struct value *set = plugin_get_list(r, &list->items[i], "a set of required fields");
        if (set && !set->n)
            plugin_fault_at(r, set, "a set of required fields is empty: it is always whole");
        struct str *names = arena_new(r->mem, struct str, set ? set->n : 0);
        for (uint32_t k = 0; set && k < set->n; k++)
            names[k] = plugin_get_name(r, &set->items[k], "a field");
        sets[i] = (struct plugin_set){names, set ? set->n : 0};
    }
    t->required[by_admin] = sets;
    t->n_required[by_admin] = list->n;
}

static void required_admin(struct plugin_reader *r, const struct value *v, void *object)
{
    sets_of(r, v, true, object);
}

static void required_user(struct plugin_reader *r, const struct value *v, void *object)
{
    sets_of(r, v, false, object);
}

static void type_required(struct plugin_reader *r, const struct value *v, void *object)
{
    static const struct plugin_part parts[] = {{"admin", required_admin, false},
                                               {"user", required_user, false}};
    plugin_get_parts(r, v, "\"required\"", parts, COUNT(parts), object);
}

/* What is required must be there, and be said by those who are asked for it. */
static void required_check(struct plugin_reader *r, const struct value *v,
                           const struct plugin_type *t)
{
    for (int admin = 0; admin < 2; admin++)
        for (uint32_t i = 0; i < t->n_required[admin]; i++)
            for (uint32_t k = 0; k < t->required[admin][i].n; k++) {
                struct str name = t->required[admin][i].at[k];
                const struct plugin_field *f = plugin_field_get(t, name);
                if (!f)
                    plugin_fault_at(r, value_get(v, "required"),
                                    "there is no field \"%s\" to be required", name.s);
                else if (admin && !f->by_admin)
                    plugin_fault_at(r, value_get(v, "required"),
                                    "\"%s\" is a user's field: no admin can be asked for it",
                                    name.s);
            }
}

/* --- resources --- */

static void resource_format(struct plugin_reader *r, const struct value *v, void *object)
{
    static const char *const formats[] = {"file", "archive"};
    ((struct plugin_resource *)object)->archive = plugin_get_choice(r, v, "\"format\"", formats,
                                                                    COUNT(formats)) == 1;
}

static void resource_mode(struct plugin_reader *r, const struct value *v, void *object)
{
    struct str s = plugin_get_text(r, v, "\"permissions\"");
    uint32_t mode = 0;
    bool good = s.n > 0 && s.n <= 4;
    for (size_t i = 0; good && i < s.n; i++) {
        good = s.s[i] >= '0' && s.s[i] <= '7';
        mode = mode * 8 + (uint32_t)(s.s[i] - '0');
    }
    if (!good || mode > MODE_MOST)
        plugin_fault_at(r, v, "\"permissions\" must be octal digits in quotes, as in \"0644\"");
    else
        ((struct plugin_resource *)object)->mode = mode;
}

static void type_resources(struct plugin_reader *r, const struct value *v, void *object)
{
    static const struct plugin_part parts[] = {{"format", resource_format, true},
                                               {"permissions", resource_mode, false}};
    const struct value *map = plugin_get_map(r, v, "\"resources\"");
    struct plugin_type *t = object;
    struct plugin_resource *all = arena_new(r->mem, struct plugin_resource, map ? map->n : 0);
    for (uint32_t i = 0; map && i < map->n; i++) {
        struct value key = plugin_key_of(map, &map->members[i]);
        all[i] = (struct plugin_resource){.name = plugin_get_name(r, &key, "a resource type"),
                                          .mode = 0600};
        plugin_get_parts(r, &map->members[i].v, "a resource type", parts, COUNT(parts), &all[i]);
    }
    t->resources = all;
    t->n_resources = map ? map->n : 0;
}

void plugin_get_type(struct plugin_reader *r, const struct value *v, struct plugin_type *ret)
{
    static const struct plugin_part parts[] = {{"fields", type_fields, false},
                                               {"required", type_required, false},
                                               {"resources", type_resources, false}};
    plugin_get_parts(r, v, "a type", parts, COUNT(parts), ret);
    if (!r->bad)
        required_check(r, v, ret);
}
