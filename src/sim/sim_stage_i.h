/* sim_stage_i.h - an engine of its own for one run in virtual time: a tenant, nodes that are alive,
 * workers, and two operations, one for what is there before the run and one for the run
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIM_SIM_STAGE_I_H
#define SIM_SIM_STAGE_I_H

#include "annealer/annealer.h"
#include "base/alloc.h"
#include "model/plan.h"

enum { /* ids */
       STAGE_TENANT = 1,
       STAGE_DEPLOYMENT = 1,
       STAGE_JIG = 1,
       STAGE_BINDING = 2,   /* the operation that binds who is there */
       STAGE_OPERATION = 3, /* that is run */
};
struct sim_stage {
    struct anneal *engine;
    struct effects fx; /* of the last step */
    struct err *e;
    uint64_t now;
    uint32_t steps,
        check_every; /* of so many steps the first is checked: that looks at everything */
    VEC(bool) begun; /* by noderole: before the last step; what its roll-out is about */
};
/* Runs up to this size are checked after every step. */
enum { STAGE_CHECK_SIZE = 2000 };
/* e, now and check_every are set before. */
int sim_stage_open(struct sim_stage *s, uint32_t workers, uint32_t nodes);
void sim_stage_done(struct sim_stage *s);
int sim_stage_step(struct sim_stage *s, struct event ev);
int sim_stage_check(struct sim_stage *s);
void sim_stage_rebase(const struct sim_stage *s, struct plan *p); /* to the next free ids */

#endif
