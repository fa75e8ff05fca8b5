/* enact.h - a draft becomes what is wanted, at once */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SERVER_ENACT_H
#define SERVER_ENACT_H

#include "server/draft.h"
#include "server/revision.h"

/* A new head with the draft's map, and the work that this takes: an operation of that kind, 0 in
 * *ret_op if nothing that lives is concerned.  dry: only the revision is made.  title NULL: made
 * of what goes.  The draft is used up; the revision is the caller's to end, whatever comes out. */
int enact(struct draft *d, const struct server_call *c, const char *kind, const char *title,
          bool dry, struct revision *ret_r, uint32_t *ret_op, struct err *e);
/* The same for bindings of which some are still on their way out. */
int enact_bindings(struct server *s, const struct server_call *c, const struct bind_request *req,
                   const char *title, uint32_t *ret_op, struct err *e);

#endif
