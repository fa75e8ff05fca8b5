/* revision.h - from what a deployment wanted to what it wants now: the plan, and its application
 *
 * A revision is made of the head of a deployment and the map that shall be its next.  Making it
 * changes nothing; applying it changes the engine, the inventory and the documents of what lives in
 * one group.  All of that happens between two events of the loop, so what the plan was made from is
 * what it is applied to.  The map itself becomes the head by the caller's hand, in the same group:
 * revision_settle() then notes what binding added to it.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SERVER_REVISION_H
#define SERVER_REVISION_H

#include "server/server_i.h"

struct revision_loss { /* a noderole of another deployment that loses a parent */
    uint32_t child;
    uint64_t parent; /* key */
};
struct revision {
    struct server *server;
    struct arena *mem;
    const struct catalog *catalog;
    uint32_t deployment;
    const struct pmap *now; /* lent until it is applied */
    struct snapshot_changes diff;
    struct plan *plan;
    VEC(struct revision_loss) losses;
    VEC(uint32_t) back; /* noderoles that were on their way out */
};
/* renew: what stays is brought to this catalog too.  ERR_REFUSED, ERR_CONFLICT and what
 * planner_revise() says; nothing to undo. */
int revision_make(struct revision *r, struct server *s, struct arena *mem, const struct catalog *c,
                  uint32_t deployment, const struct pmap *now, bool renew, struct err *e);
void revision_done(struct revision *r);
/* The generation of the catalog that a proposal would be committed with. */
uint32_t revision_catalog(const struct server *s, const struct snapshot *proposal);
/* Would it be applied?  The plan then has everybody whom it would concern. */
int revision_try(struct revision *r, struct err *e);
/* Does it come to anything for what lives? */
bool revision_is_empty(const struct revision *r);
/* One operation of that kind; its id. */
int revision_apply(struct revision *r, const struct server_call *c, const char *kind,
                   const char *title, uint32_t *ret_op, struct err *e);
/* Does a change make its noderole run again?  Another lens alone does not, if what is seen by it is
 * the same. */
bool revision_reruns(const struct plan_change *c);
/* Whom it concerns beyond what `changes`, as shown of its difference, names, and why; who is named
 * there is told what it gains as well.  NULL: all that it changes.  For a plan that was looked at
 * or tried. */
struct value *revision_touched(const struct revision *r, struct value *changes);
/* What goes, in the order in which it does: children before parents. */
struct value *revision_going(const struct revision *r);
/* After the map has become the head. */
int revision_settle(struct revision *r, const struct server_call *c, struct err *e);

#endif
