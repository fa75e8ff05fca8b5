/* map.h - hash maps from text or from 64-bit numbers to a word
 *
 * Open addressing, keys copied by the text map.  The word is a number or a pointer that the map
 * never follows.  Iteration is in insertion order, so that nothing downstream depends on hashing;
 * a deleted key leaves a hole that iteration skips.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_MAP_H
#define BASE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

struct strmap_entry {
    char *key; /* NULL: deleted */
    uint32_t len;
    uint32_t hash;
    uintptr_t val;
};
struct strmap { /* all-zero is a valid empty map */
    struct strmap_entry *at;
    uint32_t *slots;
    size_t n, cap, live, mask;
};
void strmap_done(struct strmap *m);
/* True and *ret_val (unless NULL) if the key is there. */
bool strmap_get(const struct strmap *m, struct str key, uintptr_t *ret_val);
/* Sets; true if the key is new. */
bool strmap_put(struct strmap *m, struct str key, uintptr_t val);
bool strmap_del(struct strmap *m, struct str key);

struct u64map_entry {
    uint64_t key;
    uintptr_t val;
    bool live;
};
struct u64map {
    struct u64map_entry *at;
    uint32_t *slots;
    size_t n, cap, live, mask;
};
void u64map_done(struct u64map *m);
bool u64map_get(const struct u64map *m, uint64_t key, uintptr_t *ret_val);
bool u64map_put(struct u64map *m, uint64_t key, uintptr_t val);
bool u64map_del(struct u64map *m, uint64_t key);

#endif
