/* tree_gen.h - seeded random values for property tests
 *
 * The same seed gives the same tree, so that a failing case is named by its number.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_TREE_GEN_H
#define TESTS_TREE_GEN_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "base/value.h"

struct rng {
    uint64_t state;
};

static inline uint64_t rng_next(struct rng *r)
{
    uint64_t z = r->state += 0x9e3779b97f4a7c15ull;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
}
static inline uint32_t rng_below(struct rng *r, uint32_t n)
{
    return (uint32_t)(rng_next(r) % n);
}

static inline struct str gen_text(struct rng *r, char *out, size_t room)
{
    /* Pieces that a reader or writer of text could stumble over. */
    static const char *const piece[] = {"a",
                                        "b",
                                        "node",
                                        " ",
                                        "  ",
                                        "\n",
                                        "\t",
                                        ":",
                                        ": ",
                                        "#",
                                        " #",
                                        "-",
                                        "- ",
                                        "'",
                                        "\"",
                                        "\\",
                                        "[",
                                        "{",
                                        "*",
                                        "&",
                                        "!",
                                        "|",
                                        ">",
                                        "%",
                                        "@",
                                        "`",
                                        "?",
                                        "? ",
                                        "~",
                                        "null",
                                        "true",
                                        "yes",
                                        "<<",
                                        "0x1f",
                                        "010",
                                        "1e3",
                                        "1.5",
                                        "-7",
                                        ".5",
                                        "...",
                                        "---",
                                        "\r",
                                        "\x01",
                                        "\x7f",
                                        "\xC3\xA9",
                                        "\xE2\x82\xAC",
                                        "\xF0\x9F\x98\x80",
                                        ",",
                                        "\r\n",
                                        "=",
                                        "\xEF\xBB\xBF",
                                        "\xE2\x80\xA8",
                                        "\xC2\x85"};
    size_t n = 0;
    for (uint32_t k = rng_below(r, 6); k > 0; k--) {
        const char *p = piece[rng_below(r, sizeof piece / sizeof *piece)];
        if (n + strlen(p) >= room)
            break;
        memcpy(out + n, p, strlen(p));
        n += strlen(p);
    }
    out[n] = '\0';
    return (struct str){out, n};
}

static inline double gen_real(struct rng *r)
{
    double d;
    do {
        uint64_t bits = rng_next(r);
        switch (rng_below(r, 3)) {
        case 0: memcpy(&d, &bits, sizeof d); break;
        case 1: d = (double)(int64_t)bits / 1024.0; break;
        default: d = (double)(int32_t)bits / 100.0;
        }
    } while (!isfinite(d));
    return d;
}

static inline struct value *gen_scalar(struct arena *a, struct rng *r)
{
    char text[128];
    switch (rng_below(r, 7)) {
    case 0: return value_null(a);
    case 1: return value_bool(a, rng_below(r, 2));
    case 2: return value_int(a, (int64_t)rng_below(r, 200) - 100);
    case 3: return value_int(a, (int64_t)rng_next(r));
    case 4: return value_real(a, gen_real(r));
    default: return value_str(a, gen_text(r, text, sizeof text));
    }
}

/* A tree of about `size` values; keys are few, so that two trees share many of them. */
static inline struct value *gen_tree(struct arena *a, struct rng *r, int size)
{
    char text[128];
    if (size <= 1 || rng_below(r, 5) == 0)
        return rng_below(r, 8) ? gen_scalar(a, r)
                               : (rng_below(r, 2) ? value_list(a) : value_map(a));
    int n = 1 + (int)rng_below(r, size < 40 ? (uint32_t)size : 40);
    struct value *v = rng_below(r, 3) ? value_map(a) : value_list(a);
    for (int i = 0; i < n; i++) {
        struct value *child = gen_tree(a, r, (size - 1) / n);
        if (v->kind == VALUE_LIST)
            value_add(a, v, child);
        else if (rng_below(r, 4))
            value_set(a, v, arena_printf(a, "k%u", rng_below(r, 60)), child);
        else
            value_set_str(a, v, gen_text(r, text, sizeof text), child);
    }
    return v;
}

#endif
