/* test_sort.c - numbers in order, and places among what is in order */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/sort.h"

#include "tap.h"

static void test_numbers(void)
{
    uint32_t few[] = {7, 0, UINT32_MAX, 7, 1u << 31, 3};
    uint64_t keys[] = {1ull << 32, UINT64_MAX, 5, UINT32_MAX, 0};
    sort_u32(few, 6);
    sort_u64(keys, 5);
    ok(few[0] == 0 && few[1] == 3 && few[2] == 7 && few[3] == 7 && few[4] == 1u << 31 &&
           few[5] == UINT32_MAX,
       "32 bits, as numbers without a sign, equal ones kept");
    ok(keys[0] == 0 && keys[1] == 5 && keys[2] == UINT32_MAX && keys[3] == 1ull << 32 &&
           keys[4] == UINT64_MAX,
       "64 bits, the upper half first");
    sort_u32(NULL, 0);
    sort_u64(NULL, 0);
    uint32_t one = 9;
    sort_u32(&one, 1);
    is_int(one, 9, "one is in order, and so is nothing");
}

/* Every place in every small row, beside a search that looks at each. */
static void test_first(void)
{
    uint32_t row[17], wrong = 0;
    for (uint32_t n = 0; n <= 17; n++) {
        for (uint32_t i = 0; i < n; i++)
            row[i] = 10 + i / 3 * 2; /* in threes, with gaps */
        for (uint32_t least = 8; least < 26; least++) {
            size_t want = 0;
            while (want < n && row[want] < least)
                want++;
            wrong += sort_first(row, n, it, *it >= least) != want;
        }
    }
    is_int(wrong, 0, "the first of several, where it would be, before all and behind all");
    const uint32_t *none = NULL;
    is_int((int)sort_first(none, 0, it, *it >= 1), 0, "none at all");
}

static void test_first_of_records(void)
{
    static const struct {
        uint64_t parent;
        uint32_t child;
    } edges[] = {{1, 9}, {4, 2}, {4, 3}, {4, 1}, {8, 1}};
    size_t looks = 0, at = sort_first(edges, 5, e, (looks++, e->parent >= 4));
    is_int((int)at, 1, "a condition on a field");
    ok(looks <= 3, "found by halves: %zu looks at 5", looks);
}

int main(void)
{
    test_numbers();
    test_first();
    test_first_of_records();
    return tap_done();
}
