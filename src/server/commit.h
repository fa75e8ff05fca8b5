/* commit.h - the commit step: events into the engine, groups of rows out
 *
 * The one place where engine, journal and outgoing messages meet.  commit_event() applies an event
 * in memory and notes what it changed in the open group; commit_close() turns the group into rows
 * for the store and holds back its messages; the caller writes the rows, then releases the
 * messages.  It performs no I/O, so that the server and the simulator run the very same code.
 *
 * Promise: nothing in group.sends, group.stops or a reply may leave before every slice of its group
 * is durable.  At most one closed group is being written while one is open: two groups ahead, never
 * more.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SERVER_COMMIT_H
#define SERVER_COMMIT_H

#include "annealer/annealer.h"
#include "base/arena.h"
#include "model/effect.h"
#include "model/plan.h"

struct commit;

struct group {
    struct arena mem;
    uint64_t number;
    uint64_t first_seq, last_seq; /* journal numbers in it; first > last: none */
    VEC(struct row_op) ops;
    VEC(size_t)
    slices; /* end of each transaction in ops; more than one only for a large loss, and
             * the last one makes the group true */
    VEC(struct dispatch) sends, stops;
    uint32_t events;
};
void group_free(struct group *g);

struct commit_note {   /* what the journal should know beyond the event */
    const char *actor; /* who asked; NULL: the system */
    uint32_t tenant;   /* 0: 1 */
    uint64_t wall_ms;
    const char *text;  /* one line from the attempt, for its row */
    const void *fixed; /* texts of the row that this event adds (row of the table it adds to) */
    struct str more;   /* JSON map for the event stream, "" if none */
};
/* Columns of the meta row that are not the engine's. */
struct commit_meta {
    uint32_t next_deployment, next_token, catalog;
    uint64_t run_no, attempts, fence;
};

/* Borrows the engine.  group and seq: the last ones that are stored. */
struct commit *commit_new(struct anneal *a, uint64_t group, uint64_t seq);
void commit_free(struct commit *c);
struct commit_meta *commit_meta(struct commit *c);
/* Rows per transaction; what is few and what is many is measured by it.  The simulator makes it
 * small. */
void commit_set_slice(struct commit *c, uint32_t rows);

/* Applies an engine event.  On failure nothing changed and nothing is journalled.  *ret_fx (may be
 * NULL) shows what it caused, until the next call. */
int commit_event(struct commit *c, const struct event *ev, const struct commit_note *note,
                 const struct effects **ret_fx, struct err *e);
/* An event that concerns only the inventory: journalled, not applied. */
void commit_inventory(struct commit *c, const struct event *ev, const struct commit_note *note);
/* A row of the inventory joins the open group; copied. */
void commit_row(struct commit *c, enum row_table t, enum row_verb verb, const void *row);

/* The stored id of a task's newest attempt, 0 if it has none.  Its row may still be on its way. */
uint64_t commit_last_attempt(const struct commit *c, uint32_t task);
/* The row of an attempt that starts in a group which is not durable yet, NULL if this is not one;
 * flying may be NULL. */
const struct row_attempt *commit_attempt_starting(const struct commit *c,
                                                  const struct group *flying, uint64_t id);

uint32_t commit_pending(const struct commit *c);    /* events in the open group */
bool commit_has_work(const struct commit *c);       /* would commit_close() give a group? */
uint64_t commit_open_group(const struct commit *c); /* its number */
uint64_t commit_seq(const struct commit *c);        /* last journal number given */
/* True: a large loss is being written; no event until its group is durable. */
bool commit_must_wait(const struct commit *c);
/* While set, what a large loss causes may still join its own group: hooks, before it closes. */
void commit_join(struct commit *c, bool on);
/* The open group as rows, NULL if there is nothing in it.  The caller owns it. */
struct group *commit_close(struct commit *c);
/* Every slice of the group is durable. */
void commit_durable(struct commit *c, uint64_t number);

/* Journal rows of events, expanded: {"id":..,"at":..,"kind":..,"input":{},"changes":[{..}]}.  One
 * JSON map. */
void commit_event_json(struct buf *b, const struct row_journal *r);
/* Reads an event back from its journal row; plans come from their own rows. */
int commit_event_parse(struct arena *a, const struct row_journal *r, struct event *ret_ev,
                       struct err *e);

#endif
