/* layout_phase.h - services of a layout as phases see them
 *
 * The step between a layout and a graph of phases.  Pure; borrows names from the catalog.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLANNER_LAYOUT_PHASE_H
#define PLANNER_LAYOUT_PHASE_H

#include "catalog/kinds.h"
#include "planner/phase.h"

/* By place in `services`, which are roles of the catalog; ERR_UNKNOWN_NAME if one is not.  action:
 * one of their own that is to count as PHASE_ACTION; "": none. */
int layout_phase_services(struct arena *mem, const struct catalog *c, struct catalog_names services,
                          struct str action, const struct phase_service **ret, struct err *e);

#endif
