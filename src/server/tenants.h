/* tenants.h - who shares the workers, and how many places of theirs each has
 *
 * A tenant may wish for places of its own.  Wishes are met as long as workers offer enough; if they
 * do not, all are met in proportion, and each has one at least.  Tenants without a wish share what
 * is left, by turns.  Shares are made anew whenever workers come or go, or a wish changes; what
 * runs by then runs on.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SERVER_TENANTS_H
#define SERVER_TENANTS_H

#include "server/server_i.h"

enum { TENANT_FIRST = 1 }; /* there from the first start; whoever does not say otherwise */

/* Pure.  wishes: 0 for none.  Shares: TENANT_ALL where nobody has a wish. */
void tenant_shares(uint32_t capacity, const uint32_t *wishes, size_t n, uint32_t *ret_shares);
/* Tells the engine what each may have of what workers offer now. */
void tenants_rebalance(struct server *s);
const char *tenant_name(const struct server *s, uint32_t id);   /* NULL: there is no such tenant */
uint32_t tenant_find(const struct server *s, const char *name); /* 0: none */
void tenant_name_add(struct server *s, uint32_t id, struct str name); /* to memory */
int tenants_load(struct server *s, struct err *e);
void tenants_done(struct server *s);

#endif
