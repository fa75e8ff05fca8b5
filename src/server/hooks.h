/* hooks.h - hooks of catalogs, run by the server
 *
 * What happens to noderoles is collected as the engine steps (hook_collect()) and run when all has
 * settled (hook_settle()): before the next event is applied, and at the latest before the group
 * closes, so that a transition and all that hooks make of it are one transaction.  A hook that
 * fails loses nothing but what it wanted: it is logged, journalled and counted.
 *
 * Before a plan is applied hooks may refuse it (hook_before()); what they want for noderoles that
 * do not live yet is kept until they do (hook_after()).  At that point nothing has happened that
 * could be lost, so a hook that fails refuses as well.
 *
 * docs/rfc/06-desired-state.md, section 8; docs/hooks.md is for those who write hooks.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SERVER_HOOKS_H
#define SERVER_HOOKS_H

#include "base/value.h"
#include "model/event.h"
#include "model/hooks.h"
#include "model/plan.h"
#include "server/hook_round.h"
#include "server/hook_store.h"

enum { HOOK_SLOW_MS = 5 };

struct server;
struct hooks;

struct hooks *hooks_new(struct server *s);
void hooks_free(struct hooks *h);

/* After an event was applied, before what is gone leaves the inventory. */
void hook_collect(struct server *s, const struct event *ev, const struct effects *fx);
/* Runs what is due, in rounds.  Within itself it does nothing. */
void hook_settle(struct server *s);
/* The group is about to close: what is due runs, what was never applied is dropped. */
void hook_close(struct server *s);

/* A plan that is about to be applied, its ids reserved or not.  HOOK_ON_COMMIT: on_proposed and
 * on_bind of what it brings, then on_commit of what it brings or changes.  HOOK_ON_BIND: without
 * on_commit. HOOK_ON_PROPOSED: as HOOK_ON_BIND, but nothing is kept: would it be refused?
 * ERR_REFUSED names role@node, the hook and its place; nothing has changed then. */
int hook_before(struct server *s, enum hook_event event, const struct plan *plan, struct err *e);
/* The same plan: what hooks of those who go have enqueued is run before they go (plan.waits). */
void hook_waits(struct server *s, struct plan *plan);
/* What hooks of the plan have set so far of the system data of one of its noderoles: NULL if none
 * has; until the plan is applied or dropped. */
const struct value *hook_planned_system(const struct server *s, uint32_t noderole);
/* A plan for a node that is about to be made: would it be refused?  Nothing is kept. */
struct hook_guest {
    uint32_t node; /* the id it will have */
    const char *name;
    const struct value *body; /* what is asked for */
};
int hook_before_node(struct server *s, const struct hook_guest *guest, const struct plan *plan,
                     struct err *e);
/* The plan was applied and the inventory knows it: what hooks wanted joins the group. */
void hook_after(struct server *s);
/* It was not, whatever the reason. */
void hook_drop(struct server *s);

/* Is anybody interested?  Then a face should make the values that hook_node() takes. */
bool hook_watched(struct server *s, enum hook_event event);
/* A node was created (after its default roles are bound), has changed, or is about to go.  before
 * and after are nodes as views show them; before is of HOOK_ON_NODE_CHANGE only. */
void hook_node(struct server *s, enum hook_event event, uint32_t node, const struct value *before,
               const struct value *after);

/* The store of a role, by name; *ret_rev 0: never written.  Borrowed until the next write. */
const struct value *hook_store_of(struct server *s, struct str role, uint32_t *ret_rev);
struct hook_stores *hook_stores_of(struct server *s);

/* For /metrics. */
struct hook_figures {
    uint64_t runs, failures, refusals, rings, slow;
};
struct hook_figures hook_figures(const struct server *s);
/* Hooks that were slow, "role on_active", and how often; false past the end. */
bool hook_slow_at(const struct server *s, size_t i, const char **ret_name, uint64_t *ret_n);

#endif
