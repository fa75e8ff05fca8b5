/* fuzz_snapshot.c - any bytes: refused, or an entry whose only encoding they are, and that a
 * snapshot takes anywhere but where it would be its own parent
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "fuzz.h"

#include "base/alloc.h"
#include "model/snapshot.h"

static void must_be_sound(const struct snapshot_entry *t)
{
    for (uint32_t i = 0; i < t->n_parents; i++) {
        uint32_t role = snapshot_key_role(t->parents[i]);
        fuzz_must(role >= 1 && role <= SNAPSHOT_ROLE_MAX, "a parent's role is possible");
        fuzz_must(snapshot_key_node(t->parents[i]) != 0, "a parent has a node");
        fuzz_must(!i || t->parents[i - 1] < t->parents[i], "parents ascend");
    }
}

/* Role 1 on node 1 is below every other key: only the first parent can be it. */
static void must_be_taken(const struct snapshot_entry *t)
{
    SCOPED(pmap_space) *s = pmap_space_new(1);
    SCOPED_ARENA(mem);
    struct pmap *m = NULL;
    struct snapshot_entry back;
    struct err e = {0};
    bool own = t->n_parents && t->parents[0] == snapshot_key(1, 1);
    fuzz_must(snapshot_set(s, &m, 1, 1, t, &e) == (own ? -ERR_INVALID : 1), "taken if not its own");
    fuzz_must(snapshot_set(s, &m, 1, 0, t, &e) == (t->n_parents ? -ERR_INVALID : 1),
              "a deployment role if it has no parents");
    for (uint32_t i = 0; i < t->n_parents; i += 1 + t->n_parents / 8)
        fuzz_must(snapshot_set(s, &m, snapshot_key_role(t->parents[i]),
                               snapshot_key_node(t->parents[i]), t, &e) == -ERR_INVALID,
                  "nothing is its own parent");
    fuzz_must(snapshot_check(m, &e) == 0, "what is taken is in order");
    fuzz_must(snapshot_find(&mem, m, 1, 1, &back, &e) == !own, "and found");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    SCOPED_ARENA(mem);
    SCOPED_BUF(again);
    struct snapshot_entry t;
    struct err e = {0};
    char *exact = malloc(size ? size : 1); /* not terminated: the sanitizer sees a read behind it */
    memcpy(exact, data, size);
    int r = snapshot_entry_decode(&mem, (struct str){exact, size}, &t, &e);
    free(exact); /* nor may the entry point into the bytes */
    if (r < 0) {
        fuzz_must(r == -ERR_CORRUPT && e.text[0], "a refusal says why");
        return 0;
    }
    fuzz_must(snapshot_entry_encode(&again, &t, &e) == 0, "what is read can be written");
    fuzz_must(again.len == size && !memcmp(again.data, data, size), "there is one way to write it");
    must_be_sound(&t);
    must_be_taken(&t);
    return 0;
}
