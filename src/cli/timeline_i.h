/* timeline_i.h - the timeline of an operation as lines of text */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_TIMELINE_I_H
#define CLI_TIMELINE_I_H

#include "base/value.h"
#include "cli/term_i.h"

/* v: the answer of GET /v1/operations/{id}/timeline. */
void timeline_draw(struct buf *b, const struct look *look, const struct value *v);

#endif
