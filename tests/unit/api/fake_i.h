/* fake_i.h - what the parts of the fake server share
 *
 * fake_server.c has its clockwork: groups, events, logs, tokens.  The operations are in fake_ops.c
 * and fake_deployment.c, over the rows of fake_rows.c; fake_populate.c makes the first of these.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_FAKE_I_H
#define TESTS_FAKE_I_H

#include "fake_server.h"

#define FAKE_NOW "2026-01-02T03:04:05.678Z"

enum fake_table {
    FAKE_TOKENS,
    FAKE_NODES,
    FAKE_GROUPS,
    FAKE_BARCLAMPS,
    FAKE_ROLES,
    FAKE_JIGS,
    FAKE_POOLS,
    FAKE_PROVIDERS,
    FAKE_PLUGINS,
    FAKE_RESOURCES,
    FAKE_TENANTS,
    FAKE_DEPLOYMENTS,
    FAKE_NODEROLES,
    FAKE_OPERATIONS,
    FAKE_TASKS,
    FAKE_ATTEMPTS,
    FAKE_HISTORY,
    FAKE_SNAPSHOTS,
    FAKE_WORKERS,
    FAKE_GENERATIONS,
    FAKE_TABLE_COUNT
};
struct fake_token {
    char secret[32];
    struct caller who;
    bool revoked;
};
struct fake_wait {
    uint64_t group;
    server_durable_f *fn;
    void *arg;
};
struct fake_event {
    uint64_t id, group; /* visible once the group is durable */
    uint32_t tenant;
    char *line;
};
struct fake_log {
    uint32_t task, attempt;
    struct buf bytes;
    bool ended;
};
struct fake_watcher {
    uint32_t task, attempt;
    loop_call_f *fn;
    void *arg;
};
struct fake_key {
    uint32_t tenant, status;
    uint64_t request, group;
    char *key, *reply;
};
struct server {
    struct loop *loop;
    struct arena mem;
    bool hold, ready, events_broken, log_broken, committing;
    uint64_t durable, open; /* groups; open == durable: none is open */
    VEC(struct fake_wait) waits;
    VEC(struct fake_token) tokens;
    VEC(struct fake_event) events;
    uint64_t first_kept, cold_upto, event_reads;
    VEC(struct fake_watcher) event_watchers;
    VEC(struct fake_log) logs;
    VEC(struct fake_watcher) log_watchers;
    VEC(struct fake_key) keys;
    VEC(struct value *) table[FAKE_TABLE_COUNT];
    uint32_t next_id, next_secret;
    enum errcode fail_code;
    char fail_text[128];
    unsigned bulk, calls;
    struct buf echo; /* of a worker's line */
    loop_call_f *poll_fn;
    void *poll_arg;
    unsigned polls;
    char last_call[32];
    struct buf last_query, last_body, last_ids;
};

/* A write happened: opens or joins a group and journals it. */
uint64_t fake_write(struct server *s, const char *kind);

/* --- fake_rows.c --- */

struct value *fake_row_add(struct server *s, enum fake_table t, const char *json);
/* By id or name; NULL if there is none. */
struct value *fake_row_find(struct server *s, enum fake_table t, const char *key);
void fake_row_drop(struct server *s, enum fake_table t, const struct value *row);
/* What every operation does first: notes the call, and fails if it was told to. */
int fake_begin(struct server *s, const struct server_call *c, const char *name, struct err *e);
/* That, for an operation on the object of a table that the call names; ret_row may be NULL. */
int fake_begin_on(struct server *s, const struct server_call *c, const char *name,
                  enum fake_table t, const char *what, struct value **ret_row, struct err *e);
int fake_lacks(const char *what, const char *key, struct err *e);
/* Is it the revision that the caller saw? */
int fake_match(const struct server_call *c, const struct value *row, struct err *e);
void fake_show(const struct value *row, struct server_reply *r);
void fake_changed(struct server *s, struct value *row, const char *kind, struct server_reply *r);
/* A page of a table, filtered by the query. */
int fake_list(struct server *s, const struct server_call *c, enum fake_table t,
              struct server_reply *r);
int fake_made(struct server *s, const struct server_call *c, struct value *row, const char *where,
              struct server_reply *r);
/* Fields of the body laid over the row's. */
void fake_lay_over(struct server *s, struct value *row, const struct value *body, bool null_drops);
int fake_patch(struct server *s, const struct server_call *c, enum fake_table t, const char *what,
               const char *kind, struct server_reply *r, struct err *e);
/* The whole answer, as JSON. */
int fake_document(struct server *s, const struct server_call *c, const char *name, const char *json,
                  struct server_reply *r, struct err *e);

/* --- documents that are rows too --- */

extern const char fake_catalog_text[], fake_snapshot_text[];

#endif
