/* role_lens.c - attributes and wants of a role as one text, which noderoles of it keep */
/* SPDX-License-Identifier: Apache-2.0 */
#include "catalog/catalog.h"
#include "catalog/catalog_i.h"

#include "model/lens.h"

typedef VEC(struct str) paths_v;

/* What is read of a role whose members are peers is found with each of them. */
static void want_peers(const struct load *l, uint32_t role, paths_v *ret)
{
    const struct catalog_role *r = &l->roles.at[role].role;
    if (r->flags & ROLE_F_CLUSTER) {
        const char *path = arena_printf(l->mem, "peers/%.*s", (int)r->name.n, r->name.s);
        vec_push(ret, str_of(path));
    }
}

static void wants_collect(const struct load *l, const struct catalog_role *r, paths_v *ret)
{
    for (uint32_t i = 0; i < r->n_wants; i++) {
        const struct catalog_read *w = &r->wants[i];
        vec_push(ret, w->path);
        if (w->name == CATALOG_NONE)
            continue;
        const struct catalog_name *name = &l->names.at[w->name];
        if (name->role != CATALOG_NONE)
            want_peers(l, name->role, ret);
        for (uint32_t k = 0; k < name->n_providers; k++)
            want_peers(l, name->providers[k], ret);
    }
}

void catalog_role_lens(const struct load *l, struct catalog_role *r)
{
    SCOPED_ARENA(mem);
    SCOPED_BUF(text);
    paths_v wants = {0};
    struct lens_attribute *attributes = arena_new(&mem, struct lens_attribute, r->n_attributes);
    for (uint32_t i = 0; i < r->n_attributes; i++)
        attributes[i] = (struct lens_attribute){r->attribute_list[i].name,
                                                r->attribute_list[i].path};
    wants_collect(l, r, &wants);
    struct lens_source from = {.attributes = attributes,
                               .n_attributes = r->n_attributes,
                               .schema = r->schema,
                               .defaults = r->defaults,
                               .wants = wants.at,
                               .n_wants = (uint32_t)wants.n};
    lens_write(&text, &from);
    r->lens = (struct str){arena_strndup(l->mem, text.data, text.len), text.len};
    r->lens_id = lens_id(r->lens);
    vec_done(&wants);
}
