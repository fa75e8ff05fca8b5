/* fake_server.h - the server's facade in memory, with strings to pull
 *
 * Implements every function of server/server.h well enough for the API's tests and for the contract
 * runner's own test: objects are maps in tables, a write opens a group, and a group becomes durable
 * when the test says so (or at once).  What it answers has the shape of docs/rfc/05-api.md.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_FAKE_SERVER_H
#define TESTS_FAKE_SERVER_H

#include "base/alloc.h"
#include "base/err.h"
#include "base/value.h"
#include "server/server.h"

#define FAKE_ADMIN   "anl_admin"
#define FAKE_OPERATE "anl_operate"
#define FAKE_READ    "anl_read"
#define FAKE_OTHER   "anl_other" /* read, of another tenant */

struct server *fake_new(struct loop *l);
void fake_free(struct server *s);
/* Nodes n1..n3, a deployment, a role, a jig, a pool, a noderole, an operation, a task, an attempt.
 */
void fake_populate(struct server *s);

/* Groups stay open until fake_commit() or fake_refuse(). */
void fake_hold_groups(struct server *s, bool hold);
void fake_commit(struct server *s);
void fake_refuse(struct server *s, enum errcode code, const char *text);
unsigned fake_waiting(const struct server *s); /* replies waiting for a group */

/* A durable event of a tenant; wakes subscribers. */
void fake_event(struct server *s, uint32_t tenant, const char *kind);
void fake_events_trim(struct server *s, uint64_t first_kept);
/* Reads at or below this number must come "from the store": they say 1 until fake_events_warm(). */
void fake_events_cold(struct server *s, uint64_t upto);
void fake_events_warm(struct server *s);
void fake_events_break(struct server *s, bool broken);
uint64_t fake_event_reads(const struct server *s);

void fake_log_put(struct server *s, uint32_t task, uint32_t attempt, const char *text);
void fake_log_end(struct server *s, uint32_t task, uint32_t attempt);
void fake_log_break(struct server *s, bool broken);
unsigned fake_log_subscribers(const struct server *s);

void fake_ready(struct server *s, bool ready);
void fake_revoke(struct server *s, const char *token);
/* The next operation fails with this. */
void fake_fail_next(struct server *s, enum errcode code, const char *text);
/* The next list has this many items of about 100 bytes. */
void fake_bulk_next(struct server *s, unsigned items);
unsigned fake_calls(const struct server *s); /* operations run */
const char *fake_last_call(const struct server *s);
/* query and body of the last operation, as JSON; "null" if there was none */
const char *fake_last_query(const struct server *s);
const char *fake_last_body(const struct server *s);
const char *fake_last_ids(const struct server *s); /* "a,b" */

#endif
