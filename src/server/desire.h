/* desire.h - what is wanted of every deployment, and what was: names, documents, maps, snapshots
 *
 * One of these belongs to the server's loop.  It changes in memory at once and tells each row that
 * differs to whoever notes rows for the open group; it performs no I/O and knows no engine.  A
 * snapshot is a map (model/snapshot.h) with a history around it: at most one of a deployment is
 * COMMITTED (its head), at most one PROPOSED.  docs/rfc/06-desired-state.md, sections 4 and 5.
 *
 * Roles are called by numbers that stay theirs whatever the catalog.  Documents are kept by content
 * and named by 64 bits of its digest; nobody counts who refers to them: what no map refers to any
 * more goes at the next start.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SERVER_DESIRE_H
#define SERVER_DESIRE_H

#include "model/rows.h"
#include "model/snapshot.h"
#include "model/states.h"
#include "store/store.h"

enum { DESIRE_DOC_BYTES = 1 << 20 }; /* of one document */

struct desire;
typedef void desire_row_f(void *arg, enum row_table t, enum row_verb verb, const void *row);
struct desire *desire_new(desire_row_f *row, void *arg);
void desire_free(struct desire *d);
/* Into a new one.  What nobody refers to is dropped, as rows to note.  ERR_CORRUPT names the row.
 */
int desire_load(struct desire *d, struct store *s, struct err *e);

/* --- names of roles --- */

uint32_t desire_role(struct desire *d, struct str name); /* gives it a number if it has none */
uint32_t desire_role_find(const struct desire *d, struct str name); /* 0: none */
struct str desire_role_name(const struct desire *d, uint32_t role);

/* --- documents --- */

/* Canonical JSON of a map; 0 for "" and "{}".  ERR_LIMIT. */
int desire_doc(struct desire *d, struct str text, uint64_t *ret_id, struct err *e);
struct str desire_doc_text(const struct desire *d, uint64_t id); /* "{}" for 0 */

/* --- snapshots --- */

struct snapshot { /* borrowed until the next change */
    uint32_t id, deployment, number, operation;
    uint32_t catalog, oldest; /* generation it was made with; the oldest something may follow */
    uint32_t source;          /* number of the one that it goes back to; 0: none */
    enum snapshot_state state;
    struct pmap *root, *base;
    struct str author, message;
    uint64_t created_ms, ended_ms;
};
const struct snapshot *desire_snapshot(const struct desire *d, uint32_t id);
const struct snapshot *desire_head(const struct desire *d, uint32_t deployment); /* may be NULL */
const struct snapshot *desire_proposal(const struct desire *d,
                                       uint32_t deployment); /* may be NULL */
/* By number in the history of a deployment; recalled ones are not part of it. */
const struct snapshot *desire_numbered(const struct desire *d, uint32_t deployment,
                                       uint32_t number);
uint32_t desire_end(const struct desire *d); /* highest id in use + 1 */

struct desire_author {
    struct str name, message;
    uint64_t wall_ms;
    uint32_t catalog;
};
/* O(1).  from: whom it goes back to, whose map it begins with; NULL: the head's.  ERR_CONFLICT
 * names who has one open. */
int desire_propose(struct desire *d, uint32_t deployment, const struct snapshot *from,
                   const struct desire_author *by, uint32_t *ret_id, struct err *e);
int desire_recall(struct desire *d, uint32_t id, uint64_t wall_ms, struct err *e);
/* A new head with the map of the old one, without a proposal: for a request that acts at once.  Its
 * entries follow as amendments. */
void desire_advance(struct desire *d, uint32_t deployment, const struct desire_author *by,
                    uint32_t operation);
/* The same with a map of its own, whose reference moves to it. */
void desire_advance_to(struct desire *d, uint32_t deployment, struct pmap *root,
                       const struct desire_author *by, uint32_t operation);
/* A draft is a map that is being changed: all of it becomes somebody's map, or nothing does.  Begun
 * with a snapshot's map (NULL: empty); the reference is the caller's, for desire_redraft(),
 * desire_advance_to() or desire_unref(). */
struct pmap *desire_draft(const struct snapshot *s);
/* One entry of it; t NULL: it goes.  1 if that is a change. */
int desire_draft_put(struct desire *d, struct pmap **draft, uint64_t key,
                     const struct snapshot_entry *t, struct err *e);
/* The proposal's map from now on; the reference moves to it in any case. */
int desire_redraft(struct desire *d, uint32_t id, struct pmap *draft, struct err *e);
/* Between these two, rows of maps and snapshots are not told; at the end, once each. */
void desire_hold(struct desire *d);
void desire_release(struct desire *d);
/* Of the head of a deployment, in place; one is made if there is none yet. */
int desire_amend(struct desire *d, uint32_t deployment, const struct desire_author *by,
                 uint32_t role, uint32_t node, const struct snapshot_entry *t, struct err *e);

/* The map that committing a proposal would make the head: the proposal's own, or, if the head has
 * moved on since it was proposed, both changes together.  0 and the map, the caller's; or how many
 * conflicts there are, with their list.  Changes nothing that stays. */
int desire_merge(struct desire *d, uint32_t id, struct arena *mem, struct pmap **ret_root,
                 struct snapshot_conflicts *ret, struct err *e);
/* The proposal becomes the head with this map, whose reference moves to it and all of which was
 * brought to that catalog; the old head is archived. */
void desire_commit(struct desire *d, uint32_t id, struct pmap *root, uint32_t catalog,
                   uint32_t operation, uint64_t wall_ms);
/* For maps that desire_merge() gave and that are not committed. */
void desire_unref(struct desire *d, struct pmap *m);
/* Nodes that all maps take together, shared ones once: as many as there are rows of them. */
size_t desire_map_nodes(const struct desire *d);
/* Everything of a deployment that is deleted. */
void desire_forget(struct desire *d, uint32_t deployment);

#endif
