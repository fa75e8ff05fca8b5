/* commit_i.h - the open group, shared by the files of the commit step */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SERVER_COMMIT_I_H
#define SERVER_COMMIT_I_H

#include "server/aside.h"
#include "server/commit.h"

struct dirty { /* ids of one table that changed in the open group, each once */
    VEC(uint32_t) ids;
    VEC(uint64_t) stamp; /* by id: the group in which it was last listed */
};
struct commit {
    struct anneal *engine;
    struct effects fx;
    struct group *open;
    struct dirty dirty[ROWS_COUNT];
    struct aside aside;
    VEC(uint64_t) last; /* by task: the stored id of its newest attempt */
    struct commit_meta meta;
    struct buf scratch;
    uint64_t seq, durable, long_group;
    uint32_t slice_rows;
    bool large;   /* the open group holds a large loss */
    bool joining; /* and events that belong to it may still come */
};

struct group *commit_group_new(uint64_t number, uint64_t seq);
void *commit_row_copy(struct arena *mem, enum row_table t, enum row_verb verb, const void *row);
/* The newest attempt of a task is stored under this id. */
void commit_attempt_at(struct commit *c, uint32_t task, uint64_t id);
/* Gives the event its number and writes its journal row, with what c->fx says changed. */
void commit_journal(struct commit *c, const struct event *ev, const struct commit_note *note);

#endif
