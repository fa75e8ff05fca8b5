/* overlays.h - every version of what was laid over the task graphs of the catalog
 *
 * A *pile* is what one barclamp or one deployment has over one graph: versions numbered from 1, of
 * which the newest is in force.  A version is never changed; one without vertices takes the overlay
 * away and is a version as any other.  Memory has the text of the newest and of those whose rows
 * may not be durable yet; older texts are in the store, under the id of their version.
 *
 * Knows nothing of catalogs and of what the texts mean: graphs.h does.  docs/rfc/07-task-graphs.md,
 * section 8.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SERVER_OVERLAYS_H
#define SERVER_OVERLAYS_H

#include "base/err.h"
#include "base/str.h"
#include "store/store.h"

enum {
    OVERLAY_MAX_VERSIONS = 1000, /* of a pile; with one more the oldest goes */
    OVERLAY_MAX_BYTES = 1 << 20, /* of a text */
    OVERLAY_MAX_PILES = 100000,
};
enum overlay_scope { OVERLAY_BARCLAMP, OVERLAY_DEPLOYMENT, OVERLAY_SCOPE_COUNT };

struct overlay_key { /* whose, over which graph */
    uint8_t scope;
    struct str barclamp; /* OVERLAY_BARCLAMP */
    uint32_t deployment; /* OVERLAY_DEPLOYMENT */
    struct str graph;
};
struct overlay { /* one version; borrowed until the next change */
    uint32_t id, version, tasks;
    uint64_t created_ms;
    struct str author, message;
    struct str text; /* s NULL: it is in the store only */
    uint64_t group;  /* that its row is in */
};

struct overlays;
typedef void overlay_row_f(void *arg, enum row_verb verb, const struct row_overlay *row);
/* row is told each row that changes. */
struct overlays *overlays_new(overlay_row_f *row, void *arg);
void overlays_free(struct overlays *all); /* NULL: nothing */
/* ERR_CORRUPT for rows that cannot be. */
int overlays_load(struct overlays *all, struct store *from, struct err *e);

/* NULL: nothing was ever laid there, or that version is not kept. */
const struct overlay *overlays_newest(const struct overlays *all, const struct overlay_key *k);
const struct overlay *overlays_version(const struct overlays *all, const struct overlay_key *k,
                                       uint32_t version);
/* Versions that are kept, oldest first; 0: none. */
uint32_t overlays_versions(const struct overlays *all, const struct overlay_key *k,
                           const struct overlay **ret_first);

/* All piles, in the order in which they came to be: 0 up to overlays_piles(), those of deployments
 * that are gone are passed over.  False: none is there. */
size_t overlays_piles(const struct overlays *all);
bool overlays_pile(const struct overlays *all, size_t i, struct overlay_key *ret_key,
                   const struct overlay **ret_newest);

/* The next version; texts are copied, its id and number are given here.  Texts whose group is
 * `durable` or older are dropped, but the newest's.  ERR_LIMIT. */
int overlays_put(struct overlays *all, const struct overlay_key *k, const struct overlay *version,
                 uint32_t tenant, uint64_t durable, const struct overlay **ret, struct err *e);
/* All of a deployment that is deleted. */
void overlays_forget(struct overlays *all, uint32_t deployment);

#endif
