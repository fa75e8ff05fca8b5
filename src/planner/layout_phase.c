/* layout_phase.c - roles as services with phases, providers as what machines go through */
/* SPDX-License-Identifier: Apache-2.0 */
#include "planner/layout_phase.h"

static uint16_t phases_of(const struct catalog_role *r, struct str action)
{
    uint16_t phases = 0;
    for (uint32_t i = 0; i < r->n_actions; i++) {
        int kind = phase_kind_from(r->actions[i].name);
        if (!r->actions[i].n_steps)
            continue;
        if (kind >= 0 && (PHASE_F_SERVICE & ~PHASE_F_ACTION & 1u << kind))
            phases |= (uint16_t)(1u << kind);
        else if (action.n && str_eq(r->actions[i].name, action))
            phases |= PHASE_F_ACTION;
    }
    return phases;
}

static void service_fill(struct arena *mem, const struct catalog *c, const struct catalog_role *r,
                         struct str action, struct phase_service *s)
{
    struct str *provides = arena_new(mem, struct str, r->n_provides);
    struct phase_depend *depends = arena_new(mem, struct phase_depend, r->n_depends);
    for (uint32_t i = 0; i < r->n_provides; i++)
        provides[i] = c->names[r->provides[i]].name;
    for (uint32_t i = 0; i < r->n_depends; i++) {
        const struct catalog_depend *d = &r->depends[i];
        depends[i] = (struct phase_depend){
            d->name, d->kind == DEPEND_INSTALL ? PHASE_AT_INSTALL : PHASE_AT_RUN, d->required};
    }
    *s = (struct phase_service){.name = r->name,
                                .actions = phases_of(r, action),
                                .provides = provides,
                                .n_provides = r->n_provides,
                                .depends = depends,
                                .n_depends = r->n_depends,
                                .strategy = r->strategy,
                                .max = r->max};
}

int layout_phase_services(struct arena *mem, const struct catalog *c, struct catalog_names services,
                          struct str action, const struct phase_service **ret, struct err *e)
{
    struct phase_service *all = arena_new(mem, struct phase_service, services.n);
    for (uint32_t i = 0; i < services.n; i++) {
        const struct catalog_role *r = catalog_role_get(c, services.at[i]);
        if (!r)
            return err_set(e, ERR_UNKNOWN_NAME, "there is no service \"%.*s\"",
                           (int)services.at[i].n, services.at[i].s);
        service_fill(mem, c, r, action, &all[i]);
    }
    *ret = all;
    return 0;
}

uint16_t layout_phase_machine(const struct catalog_provider *p)
{
    static const uint16_t of[PROVIDER_ACTION_COUNT] = {
        [PROVIDER_CREATE] = PHASE_F_CREATE,
        [PROVIDER_CONFIRM] = PHASE_F_CONFIRM,
        [PROVIDER_BOOTSTRAP] = PHASE_F_BOOTSTRAP,
        [PROVIDER_DELETE] = PHASE_F_DELETE,
    };
    uint16_t phases = 0;
    for (int i = 0; i < PROVIDER_ACTION_COUNT; i++)
        phases |= p->actions[i].n_steps ? of[i] : 0;
    return phases;
}
