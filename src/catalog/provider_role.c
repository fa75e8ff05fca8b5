/* provider_role.c - a machine that a provider makes is a noderole like any other
 *
 * For each provider there is a role CATALOG_MACHINE.<provider>.  It provides CATALOG_MACHINE, so
 * that whatever is on a node needs it, and takes any data: what the machine is to be.  By itself it
 * runs nothing; operations on clusters give its noderoles the tasks of the provider's actions.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "catalog/catalog_i.h"

#include "base/text.h"

static void machine_role(struct load *l, const struct load_provider *p)
{
    const struct catalog_kind *kind = &p->provider.kind;
    struct str name = str_of(arena_printf(l->mem, "%s.%s", CATALOG_MACHINE, kind->name.s));

    if (!text_is_name(name))
        return; /* too long, which was reported */
    struct load_name *provides = arena_new(l->mem, struct load_name, 1);
    provides[0] = (struct load_name){str_of(CATALOG_MACHINE), p->at};
    struct load_role r = {
        .at = p->at,
        .provides = {provides, 1},
        .role = {.name = name,
                 .description = str_of(arena_printf(l->mem, "a machine of %s", kind->name.s)),
                 .barclamp = kind->barclamp,
                 .jig = CATALOG_NONE,
                 .flags = ROLE_F_IMPLICIT,
                 .machine = true,
                 .where = kind->where}};
    catalog_no_attributes(l, &r.attributes);
    r.role.attributes = r.attributes.attributes;
    r.role.schema = l->any_schema;
    r.role.defaults = r.attributes.defaults;
    vec_push(&l->roles, r);
}

void catalog_machine_roles(struct load *l)
{
    for (size_t i = 0; i < l->providers.n; i++)
        if (l->providers.at[i].provider.kind.name.n)
            machine_role(l, &l->providers.at[i]);
}
