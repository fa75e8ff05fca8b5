/* pmap.h - persistent maps from a 64-bit key to bytes: cheap to keep, to change and to compare
 *
 * A map is a pointer to its root; NULL is the empty map.  Keeping a map as it is costs one
 * reference (pmap_ref); changing it afterwards copies the path to what changed and shares the rest.
 * So any number of versions live beside each other, and two of them are compared by walking where
 * they differ.  docs/rfc/06-desired-state.md, section 4, is what this is for.
 *
 * Shape.  A hash trie, 32 ways, over the mixed key.  The mixing is a bijection: no two keys
 * collide, and 13 levels are enough for any content, which bounds every recursion here.  A node
 * holds entries and children in slots that two bitmaps tell apart.  A subtree of one entry is held
 * by its parent as that entry, so that the shape depends on the content alone, never on how it came
 * about.
 *
 * Who owns what.  Nodes live in a space and are counted.  A caller owns the references that it was
 * given (pmap_ref, pmap_merge, pmap_load_root) and gives each back with pmap_unref; pmap_set and
 * pmap_remove move the reference they are handed.  pmap_space_free() ends all that is left.
 * Bytes that pmap_get or a callback shows are lent until that map is changed or given back.
 *
 * Threads.  A space, its counts and its changes belong to one thread.  Other threads may read a map
 * (pmap_get, pmap_count, pmap_each, pmap_diff) as long as the owner keeps a reference for them and
 * does not pass that very reference to pmap_set or pmap_remove: what a kept root reaches is not
 * written to any more.
 *
 * Rows.  Each node is a row, (id, bytes), made and dropped in the transaction of the edit:
 * pmap_changes_take().  A restart gives all rows back in any order (pmap_load_node), has them
 * linked and proved (pmap_load_end), claims its roots (pmap_load_root) and drops what no root
 * reaches (pmap_load_sweep).  Ids are never 0 and not used twice.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MODEL_PMAP_H
#define MODEL_PMAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"

enum {
    PMAP_LEVELS = 13, /* nodes on the longest path, and at most that many made by one edit */
    PMAP_VALUE_MAX = 1u << 20, /* bytes of one value; to keep it is the caller's duty */
};

struct pmap;
struct pmap_space;

/* next_id: the first id to give, as kept from pmap_space_next_id() where ids must not come twice
 * even over restarts, else 1.  Loading moves it behind every id that is loaded. */
struct pmap_space *pmap_space_new(uint64_t next_id);
/* With all nodes, whoever still refers to them. */
void pmap_space_free(struct pmap_space *s);
static inline void pmap_space_scope_end(struct pmap_space **s)
{
    pmap_space_free(*s);
}
uint64_t pmap_space_next_id(const struct pmap_space *s);
size_t pmap_space_nodes(const struct pmap_space *s);
/* What the nodes take of the heap, without the allocator's own share. */
size_t pmap_space_bytes(const struct pmap_space *s);

/* One more reference to the map; NULL is as good as any. */
struct pmap *pmap_ref(struct pmap *m);
void pmap_unref(struct pmap_space *s, struct pmap *m);

/* *m becomes the map with the key set or removed; the reference moves along.  False if it already
 * was so, and then *m is as before.  To keep the old map: pmap_ref() it first.  O(levels). */
bool pmap_set(struct pmap_space *s, struct pmap **m, uint64_t key, struct str value);
bool pmap_remove(struct pmap_space *s, struct pmap **m, uint64_t key);

/* ret_value may be NULL. */
bool pmap_get(const struct pmap *m, uint64_t key, struct str *ret_value);
size_t pmap_count(const struct pmap *m);
/* What a map is called in rows; 0 for the empty map. */
uint64_t pmap_id(const struct pmap *m);

/* Every entry, in an order that depends on the keys alone (it is that of the mixed keys). */
typedef void pmap_entry_f(void *ctx, uint64_t key, struct str value);
void pmap_each(const struct pmap *m, pmap_entry_f *f, void *ctx);

/* Every key whose values differ, in the order of pmap_each; NULL: not there.  Costs the differences
 * times the levels, since shared nodes are skipped; content that is equal but not shared is walked
 * and not reported.  Returns how many nodes it looked into. */
typedef void pmap_diff_f(void *ctx, uint64_t key, const struct str *old, const struct str *now);
size_t pmap_diff(const struct pmap *old, const struct pmap *now, pmap_diff_f *f, void *ctx);

/* Three ways: what theirs changed since base, made to ours.  The same change on both sides is one
 * change; a key changed on both sides differently is a conflict.  Each conflict is told, in the
 * order of pmap_each; returns how many there are, and only if none, the merged map.  Costs the
 * changes from base to theirs times the levels. */
typedef void pmap_conflict_f(void *ctx, uint64_t key, const struct str *base,
                             const struct str *ours, const struct str *theirs);
size_t pmap_merge(struct pmap_space *s, struct pmap *base, struct pmap *ours, struct pmap *theirs,
                  pmap_conflict_f *f, void *ctx, struct pmap **ret_merged);

/* --- rows --- */

struct pmap_row {
    uint64_t id;
    struct str bytes;
};
struct pmap_changes {
    struct pmap_row *added; /* by id; nodes that live */
    size_t n_added;
    uint64_t *dropped; /* rows made by an earlier call or loaded, each once */
    size_t n_dropped;
};
/* What one transaction has to do for the rows to be those of the nodes that live.  The changes are
 * then forgotten: a transaction that fails for good ends the space's use. */
void pmap_changes_take(struct pmap_space *s, struct arena *mem, struct pmap_changes *ret);

/* Into a space that has made no node yet.  ERR_CORRUPT names the node; after a failure the space
 * can only be freed. */
int pmap_load_node(struct pmap_space *s, uint64_t id, struct str bytes, struct err *e);
int pmap_load_end(struct pmap_space *s, struct err *e);
/* Between pmap_load_end and pmap_load_sweep: the map of that id, NULL for 0. */
int pmap_load_root(struct pmap_space *s, uint64_t id, struct pmap **ret_m, struct err *e);
/* Ends loading: nodes that no claimed root reaches become changes to take; returns how many. */
size_t pmap_load_sweep(struct pmap_space *s);

#endif
