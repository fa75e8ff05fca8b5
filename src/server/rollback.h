/* rollback.h - going back to an old map: what fits the world, and what does not */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SERVER_ROLLBACK_H
#define SERVER_ROLLBACK_H

#include "server/draft.h"

/* A draft that begins as an old map becomes what of it can be. */
int rollback_fit(struct draft *d, struct err *e);
/* What the source has and the draft has not: [{role, node, text}]. */
int rollback_lost(struct draft *d, const struct snapshot *source, struct value **ret_list,
                  struct err *e);

#endif
