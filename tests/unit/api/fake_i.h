/* fake_i.h - what the two halves of the fake server share */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_FAKE_I_H
#define TESTS_FAKE_I_H

#include "fake_server.h"

enum fake_table {
    FAKE_TOKENS,
    FAKE_NODES,
    FAKE_GROUPS,
    FAKE_BARCLAMPS,
    FAKE_ROLES,
    FAKE_JIGS,
    FAKE_POOLS,
    FAKE_DEPLOYMENTS,
    FAKE_NODEROLES,
    FAKE_OPERATIONS,
    FAKE_TASKS,
    FAKE_ATTEMPTS,
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
    char last_call[32];
    struct buf last_query, last_body, last_ids;
};

/* A write happened: opens or joins a group and journals it. */
uint64_t fake_write(struct server *s, const char *kind);

#endif
