/* effect.c - lists of effects: cleared between steps, freed at the end */
/* SPDX-License-Identifier: Apache-2.0 */
#include "model/effect.h"

void effects_clear(struct effects *fx)
{
    vec_clear(&fx->changes);
    vec_clear(&fx->attempts);
    vec_clear(&fx->sends);
    vec_clear(&fx->turns);
    vec_clear(&fx->stops);
    vec_clear(&fx->cones);
    vec_clear(&fx->gained);
    fx->stalled = 0;
}

void effects_done(struct effects *fx)
{
    vec_done(&fx->changes);
    vec_done(&fx->attempts);
    vec_done(&fx->sends);
    vec_done(&fx->turns);
    vec_done(&fx->stops);
    vec_done(&fx->cones);
    vec_done(&fx->gained);
}
