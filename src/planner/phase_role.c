/* phase_role.c - roles of the catalog as services with phases
 *
 * A service goes through the phases that it has actions for.  A plain role that a service needs has
 * one, its converge, which stands where others are installed: whoever needs it waits for all of it
 * anyway.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "planner/phase_plan.h"

const struct catalog_action *phase_role_action(const struct catalog_role *role,
                                               enum phase_kind phase)
{
    if (!role->phased)
        return phase == PHASE_INSTALL ? &role->actions[0]
               : phase == PHASE_STOP || phase == PHASE_REMOVE
                   ? catalog_action_get(role, str_of(phase_kind_name(phase)))
                   : NULL;
    return catalog_action_get(role, str_of(phase_kind_name(phase)));
}

static uint16_t role_actions(const struct catalog_role *role, struct str action)
{
    bool phase = phase_kind_from(action) >= 0;
    const struct catalog_action *own = phase ? NULL : catalog_action_get(role, action);
    uint16_t has = own && own->n_steps ? PHASE_F_ACTION : 0;
    for (int k = PHASE_STOP; k < PHASE_ACTION; k++) {
        const struct catalog_action *a = phase_role_action(role, (enum phase_kind)k);
        if (a && a->n_steps)
            has |= (uint16_t)(1u << k);
    }
    return has;
}

void phase_service_of_role(const struct catalog *cat, const struct catalog_role *role,
                           struct str action, struct arena *mem, struct phase_service *ret)
{
    struct str *provides = arena_new(mem, struct str, role->n_provides);
    struct phase_depend *depends = arena_new(mem, struct phase_depend, role->n_depends);
    for (uint32_t i = 0; i < role->n_provides; i++)
        provides[i] = cat->names[role->provides[i]].name;
    for (uint32_t i = 0; i < role->n_depends; i++)
        depends[i] = (struct phase_depend){
            role->depends[i].name,
            role->depends[i].kind == DEPEND_INSTALL ? PHASE_AT_INSTALL : PHASE_AT_RUN,
            role->depends[i].required};
    *ret = (struct phase_service){.name = role->name,
                                  .actions = role_actions(role, action),
                                  .provides = provides,
                                  .n_provides = role->n_provides,
                                  .depends = depends,
                                  .n_depends = role->n_depends,
                                  .strategy = role->strategy,
                                  .max = role->max,
                                  .failures = role->failures};
}

const struct catalog_action *phase_provider_action(const struct catalog_provider *p,
                                                   enum phase_kind phase)
{
    int action = phase == PHASE_CREATE      ? PROVIDER_CREATE
                 : phase == PHASE_CONFIRM   ? PROVIDER_CONFIRM
                 : phase == PHASE_BOOTSTRAP ? PROVIDER_BOOTSTRAP
                 : phase == PHASE_DELETE    ? PROVIDER_DELETE
                                            : -1;
    return action < 0 || !p->actions[action].n_steps ? NULL : &p->actions[action];
}

uint16_t phase_provider_has(const struct catalog_provider *p)
{
    uint16_t has = 0;
    for (int k = 0; k < PHASE_KIND_COUNT; k++)
        if (phase_provider_action(p, (enum phase_kind)k))
            has |= (uint16_t)(1u << k);
    return has;
}
