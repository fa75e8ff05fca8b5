/* fuzz_pmap.c - any rows: refused by name, or maps that could have been made by setting their
 * entries
 *
 * The input is rows one after another: an id (one byte), the length of the bytes (two, low first),
 * the bytes, as many as are left if that is less.  The first row is claimed as a root, the others
 * are swept unless it reaches them.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "fuzz.h"

#include "base/alloc.h"
#include "model/pmap.h"

struct rebuild {
    struct pmap_space *space;
    struct pmap *map;
    const struct pmap *from;
};

static void rebuild_one(void *ctx, uint64_t key, struct str value)
{
    struct rebuild *r = ctx;
    struct str got;
    fuzz_must(pmap_get(r->from, key, &got) && str_eq(got, value), "what is there is found");
    fuzz_must(pmap_set(r->space, &r->map, key, value), "what is there is there once");
}

static void differs(void *ctx, uint64_t key, const struct str *old, const struct str *now)
{
    (void)ctx, (void)key, (void)old, (void)now;
    fuzz_must(false, "equal content has no differences");
}

static int load(struct pmap_space *s, const uint8_t *data, size_t size, struct err *e)
{
    while (size >= 3) {
        uint64_t id = data[0];
        size_t n = (size_t)data[1] | (size_t)data[2] << 8;
        data += 3;
        size -= 3;
        n = n < size ? n : size;
        char *exact = malloc(n ? n : 1); /* the sanitizer sees a read behind it, or a late one */
        memcpy(exact, data, n);
        int r = pmap_load_node(s, id, (struct str){exact, n}, e);
        free(exact);
        if (r < 0)
            return r;
        data += n;
        size -= n;
    }
    return pmap_load_end(s, e);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    SCOPED(pmap_space) *s = pmap_space_new(1);
    SCOPED(pmap_space) *other = pmap_space_new(1);
    SCOPED_ARENA(mem);
    struct pmap_changes c;
    struct pmap *m = NULL;
    struct err e = {0};
    int r = load(s, data, size, &e);
    if (r == 0)
        r = pmap_load_root(s, size >= 3 ? data[0] : 0, &m, &e);
    if (r < 0) {
        fuzz_must(r == -ERR_CORRUPT && !strncmp(e.text, "map node ", 9), "a refusal names a node");
        return 0;
    }
    size_t swept = pmap_load_sweep(s);
    pmap_changes_take(s, &mem, &c);
    fuzz_must(c.n_dropped == swept && c.n_added == 0, "what is swept is told");
    struct rebuild again = {other, NULL, m};
    pmap_each(m, rebuild_one, &again);
    pmap_diff(m, again.map, differs, NULL);
    fuzz_must(pmap_count(m) == pmap_count(again.map), "the count is right");
    fuzz_must(pmap_space_nodes(s) == pmap_space_nodes(other), "the shape is that of the content");
    pmap_unref(s, m);
    fuzz_must(pmap_space_nodes(s) == 0, "every node is counted right");
    return 0;
}
