/* layout_phase.c - services of a layout as the phase planner has them */
/* SPDX-License-Identifier: Apache-2.0 */
#include "planner/layout_phase.h"

#include "planner/phase_plan.h"

int layout_phase_services(struct arena *mem, const struct catalog *c, struct catalog_names services,
                          struct str action, const struct phase_service **ret, struct err *e)
{
    struct phase_service *all = arena_new(mem, struct phase_service, services.n);
    for (uint32_t i = 0; i < services.n; i++) {
        const struct catalog_role *r = catalog_role_get(c, services.at[i]);
        if (!r)
            return err_set(e, ERR_UNKNOWN_NAME, "there is no service \"%.*s\"",
                           (int)services.at[i].n, services.at[i].s);
        phase_service_of_role(c, r, action, mem, &all[i]);
    }
    *ret = all;
    return 0;
}
