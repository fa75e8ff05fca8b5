/* snapshot.h - what is wanted of a deployment: (role, node) -> entry, in a persistent map
 *
 * A snapshot is a map of model/pmap.h whose values are entries; this is their form, and what people
 * see of two or three snapshots: changes and conflicts, sorted by (role, node).  Owning, keeping
 * and storing the map is as in pmap.h.  docs/rfc/06-desired-state.md, section 4.
 *
 * Roles are called by persistent numbers that the server gives, nodes by their ids; both together
 * are a key.  Parents are keys too: an entry says what is wanted and nothing of what became of it,
 * so that it means the same after a removal, when made anew, and after a rollback.  Whether a
 * parent has an entry is not looked at here.  An entry with node 0 is a deployment role: it has
 * user data, but no parents, and is nobody's parent.
 *
 * What comes out of a map is checked as it is decoded: ERR_CORRUPT names role and node.  After
 * snapshot_check(), once a map is loaded, that is a matter of memory that went bad.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MODEL_SNAPSHOT_H
#define MODEL_SNAPSHOT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "model/pmap.h"

enum {
    SNAPSHOT_PARENTS_MAX = 65536,   /* of one entry */
    SNAPSHOT_ENTRIES_MAX = 4000000, /* of one snapshot */
    SNAPSHOT_ROLE_MAX = INT32_MAX,  /* of a role's number, from 1: a key stays below 2^63 */
};

enum {                                 /* snapshot_entry.flags */
       SNAPSHOT_F_REQUESTED = 1u << 0, /* somebody asked for it by name */
};

struct snapshot_entry {
    uint8_t flags;
    uint64_t user;           /* document of its user data, 0: none */
    const uint64_t *parents; /* keys as chosen when bound, ascending, each once, never its own */
    uint32_t n_parents;
    const uint8_t *used; /* a bit per parent: only used, not required; NULL: none is */
};

/* Bit i % 8 of byte i / 8. */
static inline bool snapshot_parent_is_used(const struct snapshot_entry *t, uint32_t i)
{
    return t->used && t->used[i / 8] >> i % 8 & 1;
}

static inline uint64_t snapshot_key(uint32_t role, uint32_t node)
{
    return (uint64_t)role << 32 | node;
}

static inline uint32_t snapshot_key_role(uint64_t key)
{
    return (uint32_t)(key >> 32);
}

static inline uint32_t snapshot_key_node(uint64_t key)
{
    return (uint32_t)key;
}

/* Equal entries give equal bytes.  ERR_INVALID for parents out of order, without a node or with an
 * impossible role, and for unknown flags; ERR_LIMIT for too many parents.  Neither knows whose
 * entry it is: what depends on that is checked where it enters or leaves a map. */
int snapshot_entry_encode(struct buf *b, const struct snapshot_entry *t, struct err *e);
int snapshot_entry_decode(struct arena *mem, struct str from, struct snapshot_entry *ret_t,
                          struct err *e);

/* *m becomes the snapshot with this entry; 1 if that is a change.  As pmap_set otherwise.  Errors
 * of snapshot_entry_encode; ERR_INVALID for an impossible role, an entry that is its own parent and
 * a deployment role with parents; ERR_LIMIT for one entry too many. */
int snapshot_set(struct pmap_space *s, struct pmap **m, uint32_t role, uint32_t node,
                 const struct snapshot_entry *t, struct err *e);
bool snapshot_remove(struct pmap_space *s, struct pmap **m, uint32_t role, uint32_t node);
/* 1 and the entry, or 0. */
int snapshot_find(struct arena *mem, const struct pmap *m, uint32_t role, uint32_t node,
                  struct snapshot_entry *ret_t, struct err *e);
int snapshot_find_key(struct arena *mem, const struct pmap *m, uint64_t key,
                      struct snapshot_entry *ret_t, struct err *e);
/* Every entry is one that snapshot_set takes, and there are not too many: for what was loaded. */
int snapshot_check(const struct pmap *m, struct err *e);

enum { /* snapshot_change.what */
       SNAPSHOT_CHANGED_USER = 1u << 0,
       SNAPSHOT_CHANGED_PARENTS = 1u << 1, /* which, or whether only used */
       SNAPSHOT_CHANGED_FLAGS = 1u << 2,
};
struct snapshot_change {
    uint32_t role, node;
    uint8_t what;                     /* 0 if added or removed */
    const struct snapshot_entry *old; /* NULL if added */
    const struct snapshot_entry *now; /* NULL if removed */
};
struct snapshot_changes { /* each list by (role, node) */
    struct snapshot_change *added, *removed, *changed;
    uint32_t n_added, n_removed, n_changed;
};
int snapshot_diff(struct arena *mem, const struct pmap *old, const struct pmap *now,
                  struct snapshot_changes *ret, struct err *e);

struct snapshot_conflict { /* changed on both sides, differently; NULL: not there */
    uint32_t role, node;
    const struct snapshot_entry *base, *ours, *theirs;
};
struct snapshot_conflicts { /* by (role, node) */
    struct snapshot_conflict *at;
    uint32_t n;
};
/* Three ways, as pmap_merge.  0 and *ret_merged, the caller's; or how many conflicts there are,
 * with their list and no map.  ERR_LIMIT if both together are too large. */
int snapshot_merge(struct pmap_space *s, struct arena *mem, struct pmap *base, struct pmap *ours,
                   struct pmap *theirs, struct pmap **ret_merged, struct snapshot_conflicts *ret,
                   struct err *e);

#endif
