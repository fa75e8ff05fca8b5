/* barclamp_read.c - a barclamp's own file: who it is, its jigs and pools, attributes of its nodes
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "catalog/catalog.h"
#include "catalog/catalog_i.h"

#include "model/states.h"

enum { POOL_MAX_SIZE = 1000000 };
#define COUNT(table) (sizeof(table) / sizeof *(table))

static const char *const reach_names[] = {
#define X(id, text) text,
    REACHES(X)
#undef X
};

/* --- jigs --- */

static void jig_name(struct load *l, const struct value *v, void *object)
{
    ((struct load_jig *)object)->jig.name = catalog_read_name(l, v, "a jig's name");
}

static void jig_implementation(struct load *l, const struct value *v, void *object)
{
    ((struct load_jig *)object)->jig.implementation = catalog_read_name(l, v, "an implementation");
}

static void jig_implementor(struct load *l, const struct value *v, void *object)
{
    struct load_jig *j = object;
    j->implementor = (struct load_name){catalog_read_name(l, v, "a role's name"), v};
}

static void jig_active(struct load *l, const struct value *v, void *object)
{
    ((struct load_jig *)object)->jig.active = catalog_read_bool(l, v, "\"active\"");
}

static void jig_reach(struct load *l, const struct value *v, void *object)
{
    struct load_jig *j = object;
    j->jig.reach = (uint8_t)catalog_read_choice(l, v, "\"reach\"", reach_names, COUNT(reach_names));
}

static const struct field jig_fields[] = {
    {"name", jig_name},     {"implementation", jig_implementation},
    {"active", jig_active}, {"implementor", jig_implementor},
    {"reach", jig_reach},
};

static void catalog_read_jig(struct load *l, const struct value *v)
{
    struct load_jig j = {.at = v, .jig = {.implementor = CATALOG_NONE, .active = true}};

    if (l->jigs.n >= CATALOG_MAX_JIGS) {
        catalog_error(l, v, ERR_LIMIT, "more than %d jigs", CATALOG_MAX_JIGS);
        return;
    }
    j.jig.where = catalog_where_of(v);
    if (!catalog_read_fields(l, v, "a jig", jig_fields, COUNT(jig_fields), &j))
        return;
    if (!j.jig.name.n) {
        if (!value_get(v, "name"))
            catalog_error(l, v, ERR_INVALID, "a jig needs a name");
        return;
    }
    if (!j.jig.implementation.n)
        j.jig.implementation = j.jig.name;
    uint32_t first = catalog_index_add(&l->by_jig, j.jig.name, (uint32_t)l->jigs.n);
    if (first != CATALOG_NONE)
        catalog_twice(l, "jig", j.jig.name, j.jig.where, l->jigs.at[first].jig.where);
    vec_push(&l->jigs, j);
}

/* There whether a catalog mentions them or not; one of the same name takes their place. */
void catalog_builtin_jigs(struct load *l)
{
    static const struct {
        const char *name;
        uint8_t reach;
    } jigs[] = {
        {"callback", REACH_OUTSIDE}, {"copy_files", REACH_NODE}, {"master_shell", REACH_OUTSIDE},
        {"noop", REACH_NODE},        {"plugin", REACH_OUTSIDE},  {"puppet", REACH_NODE},
        {"reboot", REACH_NODE},      {"rsync", REACH_NODE},      {"script", REACH_NODE},
        {"shell", REACH_NODE},       {"test", REACH_NODE},       {"upload_file", REACH_NODE},
        {"upload_files", REACH_NODE}};

    for (size_t i = 0; i < COUNT(jigs); i++) {
        struct str name = str_of(jigs[i].name);
        struct load_jig j = {.jig = {.name = name, .implementation = name, .active = true}};
        j.jig.implementor = CATALOG_NONE;
        j.jig.reach = jigs[i].reach;
        j.jig.where.file = CATALOG_NONE;
        if (catalog_index_add(&l->by_jig, name, (uint32_t)l->jigs.n) == CATALOG_NONE)
            vec_push(&l->jigs, j);
    }
}

/* --- pools --- */

static void catalog_read_pools(struct load *l, const struct value *v)
{
    if (v->kind != VALUE_MAP) {
        catalog_error(l, v, ERR_INVALID, "\"pools\" must be a map from names to sizes");
        return;
    }
    for (uint32_t i = 0; i < v->n; i++) {
        const struct member *m = &v->members[i];
        struct value key = catalog_key_of(v, m);
        struct catalog_pool p = {.where = catalog_where_of(&key)};

        if (l->pools.n >= CATALOG_MAX_POOLS) {
            catalog_error(l, &key, ERR_LIMIT, "more than %d pools", CATALOG_MAX_POOLS);
            return;
        }
        p.name = catalog_read_name(l, &key, "a pool's name");
        p.size = catalog_read_u32(l, &m->v, "the size of a pool", 1, POOL_MAX_SIZE);
        if (!p.name.n)
            continue;
        uint32_t first = catalog_index_add(&l->by_pool, p.name, (uint32_t)l->pools.n);
        if (first != CATALOG_NONE)
            catalog_twice(l, "pool", p.name, p.where, l->pools.at[first].where);
        vec_push(&l->pools, p);
    }
}

/* --- barclamps --- */

static void barclamp_name(struct load *l, const struct value *v, void *object)
{
    ((struct catalog_barclamp *)object)->name = catalog_read_name(l, v, "a barclamp's name");
}

static void barclamp_version(struct load *l, const struct value *v, void *object)
{
    ((struct catalog_barclamp *)object)->version = catalog_read_text(l, v, "\"version\"");
}

static void barclamp_description(struct load *l, const struct value *v, void *object)
{
    ((struct catalog_barclamp *)object)->description = catalog_read_text(l, v, "\"description\"");
}

/* Read before the others, which depend on it; here it is only checked. */
static void barclamp_lenient(struct load *l, const struct value *v, void *object)
{
    ((struct catalog_barclamp *)object)->lenient = catalog_read_bool(l, v, "\"lenient\"");
}

static void barclamp_attributes(struct load *l, const struct value *v, void *object)
{
    struct catalog_barclamp *b = object;
    struct load_attributes a;

    catalog_read_attributes(l, v, &a);
    b->attributes = a.attributes;
    b->schema = a.schema;
    b->defaults = a.defaults;
    b->attribute_list = a.list;
    b->n_attributes = a.n;
}

static void barclamp_hooks(struct load *l, const struct value *v, void *object)
{
    ((struct catalog_barclamp *)object)->hooks = catalog_read_hooks(l, v);
}

static void barclamp_jigs(struct load *l, const struct value *v, void *object)
{
    (void)object;
    catalog_read_each(l, v, "jig", false, catalog_read_jig);
}

static void barclamp_pools(struct load *l, const struct value *v, void *object)
{
    (void)object;
    catalog_read_pools(l, v);
}

static void barclamp_roles(struct load *l, const struct value *v, void *object)
{
    (void)object;
    catalog_read_each(l, v, "role", false, catalog_read_role);
}

static void barclamp_tasks(struct load *l, const struct value *v, void *object)
{
    (void)object;
    catalog_read_each(l, v, "task", false, catalog_read_task);
}

#define X(id, folder, one, read)                                                                   \
    static void barclamp_##read(struct load *l, const struct value *v, void *object)               \
    {                                                                                              \
        (void)object;                                                                              \
        catalog_read_each(l, v, one, false, read);                                                 \
    }
LOAD_KINDS(X)
#undef X

static void barclamp_graphs(struct load *l, const struct value *v, void *object)
{
    catalog_read_graphs(l, v, object);
}

static const struct field barclamp_fields[] = {{"barclamp", barclamp_name},
                                               {"version", barclamp_version},
                                               {"description", barclamp_description},
                                               {"lenient", barclamp_lenient},
                                               {"attributes", barclamp_attributes},
                                               {"hooks", barclamp_hooks},
                                               {"jigs", barclamp_jigs},
                                               {"pools", barclamp_pools},
                                               {"roles", barclamp_roles},
                                               {"tasks", barclamp_tasks},
                                               {"graphs", barclamp_graphs},
#define X(id, folder, one, read) {folder, barclamp_##read},
                                               LOAD_KINDS(X)
#undef X
};

void catalog_read_barclamp(struct load *l, const struct value *v)
{
    struct catalog_barclamp b = {.where = catalog_where_of(v),
                                 .version = str_of("0"),
                                 .attributes = l->no_values,
                                 .schema = l->no_schema,
                                 .defaults = l->no_values};

    l->barclamp = (uint32_t)l->barclamps.n;
    l->lenient = value_as_bool(value_get(v, "lenient"), false);
    if (catalog_read_fields(l, v, "a barclamp", barclamp_fields, COUNT(barclamp_fields), &b) &&
        !value_get(v, "barclamp")) {
        struct err *e = catalog_error(l, v, ERR_INVALID, "a barclamp needs a name");
        (void)err_hint(e, "begin the file with \"barclamp: NAME\"");
    }
    uint32_t first = b.name.n ? catalog_index_add(&l->by_barclamp, b.name, l->barclamp)
                              : CATALOG_NONE;
    if (first != CATALOG_NONE)
        catalog_twice(l, "barclamp", b.name, b.where, l->barclamps.at[first].where);
    vec_push(&l->barclamps, b);
}
