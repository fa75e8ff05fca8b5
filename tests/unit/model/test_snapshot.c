/* test_snapshot.c - entries as bytes, and changes and conflicts as people see them */
/* SPDX-License-Identifier: Apache-2.0 */
#include "tap.h"

#include "base/alloc.h"
#include "model/pmap_i.h"
#include "model/snapshot.h"

/* Written out, so that the keys of the library are compared with something. */
#define AT(role, node) ((uint64_t)(role)*0x100000000 + (node))
#define KEYS(...)                                                                                  \
    .parents = (const uint64_t[]){__VA_ARGS__},                                                    \
    .n_parents = sizeof((const uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t)
#define USED(...)                                                                                  \
    .used = (const uint8_t[])                                                                      \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }

static bool entries_equal(const struct snapshot_entry *a, const struct snapshot_entry *b)
{
    bool same = a->flags == b->flags && a->user == b->user && a->n_parents == b->n_parents;
    for (uint32_t i = 0; same && i < a->n_parents; i++)
        same = a->parents[i] == b->parents[i] &&
               snapshot_parent_is_used(a, i) == snapshot_parent_is_used(b, i);
    return same;
}

static void test_keys(void)
{
    const struct {
        uint32_t role, node;
        uint64_t key;
    } cases[] = {
        {0, 0, 0},
        {1, 0, 0x100000000},
        {0, UINT32_MAX, 0xffffffff},
        {7, 0x80000001, 0x780000001},
        {SNAPSHOT_ROLE_MAX, UINT32_MAX, INT64_MAX},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ok(snapshot_key(cases[i].role, cases[i].node) == cases[i].key, "key %zu", i);
        is_int(snapshot_key_role(cases[i].key), cases[i].role, "its role");
        is_int(snapshot_key_node(cases[i].key), cases[i].node, "its node");
    }
}

static void test_codec(void)
{
    const struct snapshot_entry good[] = {
        {0},
        {.user = 1},
        {.flags = SNAPSHOT_F_REQUESTED, .user = UINT64_MAX},
        {.user = 300, KEYS(AT(1, 1), AT(1, 2), AT(1, 130), AT(1, UINT32_MAX), AT(2, 1), AT(9, 1))},
        {KEYS(AT(1, 1), AT(1, 3), AT(1, 6), AT(2, 1), AT(2, 2), AT(3, 1), AT(4, 1), AT(5, 1),
              AT(6, 1)),
         USED(0x81, 0x01)},
        {KEYS(AT(SNAPSHOT_ROLE_MAX, UINT32_MAX)), USED(1)},
        {KEYS(AT(1, 1), AT(SNAPSHOT_ROLE_MAX, UINT32_MAX)), USED(2)},
    };
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        SCOPED_ARENA(mem);
        SCOPED_BUF(bytes);
        struct snapshot_entry back = {0};
        struct err e = {0};
        is_int(snapshot_entry_encode(&bytes, &good[i], &e), 0, "entry %zu is written", i);
        is_int(snapshot_entry_decode(&mem, buf_str(&bytes), &back, &e), 0, "and read");
        ok(entries_equal(&good[i], &back), "the same");
        for (size_t n = 0; n < bytes.len; n++)
            if (snapshot_entry_decode(&mem, (struct str){bytes.data, n}, &back, &e) == 0)
                ok(false, "cut after %zu bytes it is refused", n);
        buf_putc(&bytes, 0);
        is_int(snapshot_entry_decode(&mem, buf_str(&bytes), &back, &e), -ERR_CORRUPT,
               "refused with a byte too many");
    }
    SCOPED_BUF(with);
    SCOPED_BUF(without);
    SCOPED_BUF(near);
    snapshot_entry_encode(&with, &(struct snapshot_entry){KEYS(AT(1, 1), AT(1, 2)), USED(0)}, NULL);
    snapshot_entry_encode(&without, &(struct snapshot_entry){KEYS(AT(1, 1), AT(1, 2))}, NULL);
    ok(str_eq(buf_str(&with), buf_str(&without)), "no bits and bits of 0 are the same bytes");
    snapshot_entry_encode(&near, &(struct snapshot_entry){KEYS(AT(1, 1))}, NULL);
    is_int(with.len - near.len, 1, "the next node of the same role is a byte");
}

static void test_codec_refusals(void)
{
    const struct {
        struct snapshot_entry entry;
        enum errcode code;
        const char *said;
    } cases[] = {
        {{.flags = 2}, ERR_INVALID, "flags 0x2"},
        {{KEYS(0)}, ERR_INVALID, "parent of role 0 on node 0 is impossible"},
        {{KEYS(AT(0, 5))}, ERR_INVALID, "parent of role 0 on node 5 is impossible"},
        {{KEYS(AT(5, 0))}, ERR_INVALID, "parent of role 5 on node 0 is impossible"},
        {{KEYS(AT(0x80000000, 5))}, ERR_INVALID, "role 2147483648 on node 5 is impossible"},
        {{KEYS(AT(1, 1), UINT64_MAX)}, ERR_INVALID, "is impossible"},
        {{KEYS(AT(3, 3), AT(3, 3))}, ERR_INVALID, "parent of role 3 on node 3 is out of order"},
        {{KEYS(AT(3, 4), AT(3, 3))}, ERR_INVALID, "parent of role 3 on node 3 is out of order"},
        {{KEYS(AT(3, 4), AT(2, 5))}, ERR_INVALID, "parent of role 2 on node 5 is out of order"},
        {{.n_parents = SNAPSHOT_PARENTS_MAX + 1}, ERR_LIMIT, "65537 parents"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        SCOPED_BUF(bytes);
        struct err e = {0};
        is_int(snapshot_entry_encode(&bytes, &cases[i].entry, &e), -(int)cases[i].code,
               "entry %zu is not written", i);
        has_text(e.text, cases[i].said, "and why");
        is_int(bytes.len, 0, "nor a part of it");
    }
    static const struct {
        const char *said;
        struct str bytes;
    } damaged[] = {
#define B(text) {text, sizeof(text) - 1}
        {"bad flags", B("")},
#define LAST_KEY "\xfe\xff\xff\xff\xff\xff\xff\xff\xff\1" /* of the last role on the last node */
        {"bad flags", B("\2\0\0")},
        {"bad flags", B("\x81\0\0")},
        {"bad user data", B("\0\xff\xff\xff\xff\xff\xff\xff\xff\xff\2\0")},
        {"bad user data", B("\0\x81\0\0")},
        {"bad number of parents", B("\0\0\5\2\2")},
        {"bad number of parents", B("\0\0\x81\x80\4")},
        {"bad parent", B("\0\0\1\0")},                     /* 0 */
        {"bad parent", B("\0\0\1\1")},                     /* 0, used */
        {"bad parent", B("\0\0\1\x0a")},                   /* no role */
        {"bad parent", B("\0\0\1\x80\x80\x80\x80\x20")},   /* no node */
        {"bad parent", B("\0\0\2\x82\x80\x80\x80\x20\0")}, /* twice */
        {"bad parent", B("\0\0\2" LAST_KEY "\4")},         /* a role behind the last */
        {"bad parent", B("\0\0\2" LAST_KEY LAST_KEY)},     /* as far as numbers go */
        {"bad parent", B("\0\0\1\xff\xff\xff\xff\xff\xff\xff\xff\xff\2")},
        {"bad parent", B("\0\0\1\x80")},
        {"after the end", B("\0\0\0\0")},
#undef LAST_KEY
#undef B
    };
    for (size_t i = 0; i < sizeof damaged / sizeof *damaged; i++) {
        SCOPED_ARENA(mem);
        struct snapshot_entry t = {.user = 4711};
        struct err e = {0};
        is_int(snapshot_entry_decode(&mem, damaged[i].bytes, &t, &e), -ERR_CORRUPT,
               "damaged bytes %zu are refused", i);
        has_text(e.text, damaged[i].said, "as %s", damaged[i].said);
        is_int(t.user, 4711, "and nothing is given back");
    }
}

static void test_largest(void)
{
    SCOPED_ARENA(mem);
    SCOPED(pmap_space) *s = pmap_space_new(1);
    struct pmap *m = NULL;
    struct err e = {0};
    uint64_t *parents = arena_new(&mem, uint64_t, SNAPSHOT_PARENTS_MAX);
    for (uint32_t i = 0; i < SNAPSHOT_PARENTS_MAX; i++) /* as far apart as they can be */
        parents[i] = AT((i + 1) * 0x8000 - 1, UINT32_MAX);
    struct snapshot_entry t = {.parents = parents, SNAPSHOT_PARENTS_MAX, NULL}, back;
    is_int(snapshot_set(s, &m, 1, 1, &t, &e), 1, "as many parents as may be");
    is_int(snapshot_find(&mem, m, 1, 1, &back, &e), 1, "are found");
    ok(entries_equal(&t, &back), "and the same");
    is_int(snapshot_check(m, &e), 0, "and in order");
}

static void test_one(void)
{
    SCOPED_ARENA(mem);
    SCOPED(pmap_space) *s = pmap_space_new(1);
    struct pmap *m = NULL;
    struct err e = {0};
    struct snapshot_entry t = {KEYS(AT(1, 9), AT(2, 8), AT(3, 9))}, role = {.user = 12}, back = {0};
    is_int(snapshot_set(s, &m, 2, 9, &t, &e), 1, "set");
    is_int(snapshot_set(s, &m, 2, 9, &t, &e), 0, "set again is no change");
    is_int(snapshot_set(s, &m, 2, 0, &role, &e), 1, "a deployment role");
    is_int(snapshot_find(&mem, m, 2, 9, &back, &e), 1, "found");
    ok(entries_equal(&t, &back), "as set");
    is_int(snapshot_find(&mem, m, 2, 0, &back, &e), 1, "the deployment role too");
    is_int(back.user, 12, "with its data");
    is_int(snapshot_find(&mem, m, 9, 2, &back, &e), 0, "another is not there");
    is_int(snapshot_find_key(&mem, m, AT(2, 9), &back, &e), 1, "found by its key");
    ok(entries_equal(&t, &back), "as set");
    is_int(snapshot_find_key(&mem, m, t.parents[0], &back, &e), 0, "a parent need not be there");
    is_int(snapshot_check(m, &e), 0, "all in order");
    is_int(snapshot_check(NULL, &e), 0, "also in none");

    is_int(snapshot_set(s, &m, 2, 0, &t, &e), -ERR_INVALID, "a deployment role with parents");
    has_text(e.text, "role 2 on node 0: a deployment role", "says which");
    for (uint32_t i = 0; i < t.n_parents; i++)
        is_int(snapshot_set(s, &m, snapshot_key_role(t.parents[i]), snapshot_key_node(t.parents[i]),
                            &t, &e),
               -ERR_INVALID, "its own parent, %u", i);
    has_text(e.text, "entry of role 3 on node 9: its own parent", "says whose");
    struct snapshot_entry bad = {KEYS(AT(3, 1), AT(3, 0))};
    is_int(snapshot_set(s, &m, 2, 1, &bad, &e), -ERR_INVALID, "an impossible parent");
    has_text(e.text, "entry of role 2 on node 1: parent of role 3 on node 0", "says whose");
    is_int(snapshot_set(s, &m, 2, 1, &bad, NULL), -ERR_INVALID, "also to nobody");
    bad = (struct snapshot_entry){.n_parents = SNAPSHOT_PARENTS_MAX + 1};
    is_int(snapshot_set(s, &m, 2, 1, &bad, &e), -ERR_LIMIT, "too many, which are not looked at");
    is_int(pmap_count(m), 2, "nothing was added");

    static const uint32_t impossible[] = {0, SNAPSHOT_ROLE_MAX + 1u, UINT32_MAX};
    for (size_t i = 0; i < sizeof impossible / sizeof *impossible; i++) {
        is_int(snapshot_set(s, &m, impossible[i], 9, &t, &e), -ERR_INVALID, "not a role");
        is_int(snapshot_set(s, &m, impossible[i], 0, &role, &e), -ERR_INVALID, "on no node either");
        has_text(e.text, "impossible role", "says why");
        is_int(snapshot_find(&mem, m, impossible[i], 9, &back, &e), 0, "and is not there");
    }
    is_int(snapshot_set(s, &m, SNAPSHOT_ROLE_MAX, UINT32_MAX, &t, &e), 1, "the last of all keys");
    is_int(snapshot_find(&mem, m, SNAPSHOT_ROLE_MAX, UINT32_MAX, &back, &e), 1, "is found");
    ok(snapshot_remove(s, &m, SNAPSHOT_ROLE_MAX, UINT32_MAX), "and removed");

    ok(snapshot_remove(s, &m, 2, 9), "removed");
    ok(!snapshot_remove(s, &m, 2, 9), "once");
    is_int(snapshot_find(&mem, m, 2, 9, &back, &e), 0, "gone");
}

/* --- changes --- */

static void set(struct pmap_space *s, struct pmap **m, uint32_t role, uint32_t node,
                struct snapshot_entry t)
{
    struct err e = {0};
    if (snapshot_set(s, m, role, node, &t, &e) < 0)
        ok(false, "%s", e.text);
}

static bool ascending(const struct snapshot_change *c, uint32_t n)
{
    for (uint32_t i = 1; i < n; i++)
        if (snapshot_key(c[i - 1].role, c[i - 1].node) >= snapshot_key(c[i].role, c[i].node))
            return false;
    return true;
}

static void test_diff(void)
{
    SCOPED_ARENA(mem);
    SCOPED(pmap_space) *s = pmap_space_new(1);
    struct pmap *old = NULL, *now;
    struct snapshot_changes c = {0};
    struct err e = {0};
    for (uint32_t i = 1; i <= 500; i++)
        set(s, &old, 1 + i % 7, i, (struct snapshot_entry){.user = i, KEYS(AT(9, i))});
    set(s, &old, 3, 0, (struct snapshot_entry){.user = 1});
    now = pmap_ref(old);
    is_int(snapshot_diff(&mem, old, now, &c, &e), 0, "compared with itself");
    is_int(c.n_added + c.n_removed + c.n_changed, 0, "nothing differs");
    for (uint32_t i = 1; i <= 500; i++)
        snapshot_remove(s, &now, 1 + i % 7, i);
    for (uint32_t i = 500; i >= 1; i--)
        set(s, &now, 1 + i % 7, i, (struct snapshot_entry){.user = i, KEYS(AT(9, i))});
    is_int(snapshot_diff(&mem, old, now, &c, &e), 0,
           "compared with what was removed and made anew");
    is_int(c.n_added + c.n_removed + c.n_changed, 0, "nothing differs");

    for (uint32_t i = 501; i <= 550; i++)
        set(s, &now, 1 + i % 7, i, (struct snapshot_entry){.user = i});
    for (uint32_t i = 1; i <= 60; i++)
        snapshot_remove(s, &now, 1 + i % 7, i);
    set(s, &now, 3, 0, (struct snapshot_entry){.user = 2});
    set(s, &now, 1 + 100 % 7, 100, (struct snapshot_entry){.user = 100, KEYS(AT(8, 100))});
    set(s, &now, 1 + 101 % 7, 101, (struct snapshot_entry){.user = 6, KEYS(AT(9, 101))});
    set(s, &now, 1 + 102 % 7, 102, (struct snapshot_entry){.user = 102, KEYS(AT(9, 101))});
    set(s, &now, 1 + 103 % 7, 103, (struct snapshot_entry){.user = 103, KEYS(AT(9, 103)), USED(1)});
    set(s, &now, 1 + 104 % 7, 104,
        (struct snapshot_entry){.user = 104, KEYS(AT(9, 104)), .flags = 1});
    set(s, &now, 1 + 105 % 7, 105, (struct snapshot_entry){.flags = 1});
    is_int(snapshot_diff(&mem, old, now, &c, &e), 0, "compared with another");
    ok(c.n_added == 50 && c.n_removed == 60 && c.n_changed == 7, "every change is there");
    ok(ascending(c.added, 50) && ascending(c.removed, 60) && ascending(c.changed, 7), "sorted");
    bool right = true;
    for (uint32_t i = 0; i < 50; i++)
        right = right && !c.added[i].old && c.added[i].now->user == c.added[i].node &&
                !c.added[i].what;
    for (uint32_t i = 0; i < 60; i++)
        right = right && !c.removed[i].now && c.removed[i].old->user == c.removed[i].node &&
                !c.removed[i].what;
    ok(right, "with their entries");
    unsigned seen = 0;
    for (uint32_t i = 0; i < 7; i++) {
        const struct snapshot_change *x = &c.changed[i];
        unsigned want = SNAPSHOT_CHANGED_USER; /* of node 101 and of the deployment role */
        if (x->node == 100 || x->node == 102 || x->node == 103)
            want = SNAPSHOT_CHANGED_PARENTS;
        want = x->node == 104 ? SNAPSHOT_CHANGED_FLAGS : want;
        want = x->node == 105
                   ? SNAPSHOT_CHANGED_FLAGS | SNAPSHOT_CHANGED_USER | SNAPSHOT_CHANGED_PARENTS
                   : want;
        is_int(x->what, want, "what changed of role %u on node %u", x->role, x->node);
        seen |= 1u << (x->node ? x->node - 99 : 0);
    }
    is_int(seen, 0x7f, "each once");
    is_int(snapshot_diff(&mem, NULL, now, &c, &e), 0, "compared with none");
    ok(c.n_added == pmap_count(now) && !c.n_removed && !c.n_changed, "all is added");
}

/* --- merges --- */

static void test_merge(void)
{
    SCOPED_ARENA(mem);
    SCOPED(pmap_space) *s = pmap_space_new(1);
    struct pmap *base = NULL, *ours, *theirs, *merged = NULL;
    struct snapshot_conflicts c = {0};
    struct snapshot_entry t;
    struct err e = {0};
    for (uint32_t i = 1; i <= 200; i++)
        set(s, &base, 1 + i % 3, i, (struct snapshot_entry){KEYS(AT(8, i))});
    ours = pmap_ref(base);
    theirs = pmap_ref(base);
    set(s, &ours, 9, 1, (struct snapshot_entry){.user = 901});
    set(s, &ours, 1 + 10 % 3, 10, (struct snapshot_entry){.user = 7});
    set(s, &theirs, 1 + 10 % 3, 10, (struct snapshot_entry){.user = 7});
    snapshot_remove(s, &theirs, 1 + 20 % 3, 20);
    snapshot_remove(s, &ours, 1 + 21 % 3, 21);
    snapshot_remove(s, &theirs, 1 + 21 % 3, 21);
    set(s, &theirs, 9, 2, (struct snapshot_entry){.user = 902});
    is_int(snapshot_merge(s, &mem, base, ours, theirs, &merged, &c, &e), 0, "merged");
    is_int(pmap_count(merged), 200, "two more and two fewer");
    ok(snapshot_find(&mem, merged, 9, 1, &t, &e) == 1 && t.user == 901, "ours is there");
    ok(snapshot_find(&mem, merged, 9, 2, &t, &e) == 1 && t.user == 902, "theirs is there");
    ok(snapshot_find(&mem, merged, 2, 10, &t, &e) == 1 && t.user == 7, "the same change is one");
    is_int(snapshot_find(&mem, merged, 3, 20, &t, &e), 0, "what they removed is gone");
    pmap_unref(s, merged);
    merged = NULL;

    for (uint32_t i = 30; i < 50; i++) {
        set(s, &ours, 1 + i % 3, i, (struct snapshot_entry){.user = 1});
        set(s, &theirs, 1 + i % 3, i, (struct snapshot_entry){.user = 2});
    }
    snapshot_remove(s, &ours, 1 + 30 % 3, 30);
    snapshot_remove(s, &theirs, 1 + 31 % 3, 31);
    set(s, &ours, 9, 3, (struct snapshot_entry){.user = 903});
    set(s, &theirs, 9, 3, (struct snapshot_entry){.user = 904});
    is_int(snapshot_merge(s, &mem, base, ours, theirs, &merged, &c, &e), 21, "not merged");
    ok(!merged && c.n == 21, "each conflict is listed");
    bool sorted = true;
    for (uint32_t i = 0; i < c.n; i++) {
        const struct snapshot_conflict *x = &c.at[i];
        sorted = sorted &&
                 (!i || snapshot_key(x[-1].role, x[-1].node) < snapshot_key(x->role, x->node));
        if (x->role == 9)
            ok(!x->base && x->ours->user == 903 && x->theirs->user == 904, "both added");
        else if (x->node == 30)
            ok(x->base && !x->ours && x->theirs->user == 2, "we removed what they changed");
        else if (x->node == 31)
            ok(x->base && x->ours->user == 1 && !x->theirs, "they removed what we changed");
        else
            sorted = sorted && x->base->parents[0] == AT(8, x->node) && x->ours->user == 1 &&
                     x->theirs->user == 2;
    }
    ok(sorted, "in order, with all three entries");
    pmap_unref(s, base);
    pmap_unref(s, ours);
    pmap_unref(s, theirs);
    is_int(pmap_space_nodes(s), 0, "no node is left");
}

/* --- what is not an entry --- */

static void test_damaged(void)
{
    SCOPED_ARENA(mem);
    SCOPED(pmap_space) *s = pmap_space_new(1);
    struct pmap *base = NULL, *ours, *theirs, *merged = NULL;
    struct snapshot_entry t;
    struct snapshot_changes changes = {.n_added = 4711};
    struct snapshot_conflicts conflicts = {.n = 4711};
    struct err e = {0};
    for (uint32_t i = 1; i < 20; i++)
        set(s, &base, 5, i, (struct snapshot_entry){.user = i});
    ours = pmap_ref(base);
    theirs = pmap_ref(base);
    pmap_set(s, &ours, snapshot_key(5, 6), str_of("?"));
    set(s, &ours, 5, 7, (struct snapshot_entry){.user = 70});
    set(s, &theirs, 5, 6, (struct snapshot_entry){.user = 60});
    set(s, &theirs, 5, 7, (struct snapshot_entry){.user = 71});
    is_int(snapshot_check(ours, &e), -ERR_CORRUPT, "a check finds it");
    has_text(e.text, "role 5 on node 6: bad flags", "and says where");
    is_int(snapshot_find(&mem, ours, 5, 6, &t, &e), -ERR_CORRUPT, "so does a look-up");
    is_int(snapshot_diff(&mem, base, ours, &changes, &e), -ERR_CORRUPT, "and a comparison");
    is_int(snapshot_diff(&mem, ours, base, &changes, &e), -ERR_CORRUPT, "both ways");
    is_int(changes.n_added, 4711, "without a result");
    is_int(snapshot_merge(s, &mem, base, ours, theirs, &merged, &conflicts, &e), -ERR_CORRUPT,
           "and a merge");
    ok(!merged && conflicts.n == 4711, "without a result");
}

/* Entries that are well formed, but cannot be those of their keys. */
static void test_misplaced(void)
{
    static const struct {
        uint64_t key;
        const char *said;
    } cases[] = {
        {AT(5, 0), "role 5 on node 0: a deployment role with parents"},
        {AT(5, 1), "role 5 on node 1: its own parent"},
        {AT(6, 2), "role 6 on node 2: its own parent"},
        {AT(0, 1), "role 0 on node 1: impossible role"},
        {AT(0x80000000, 1), "role 2147483648 on node 1: impossible role"},
    };
    SCOPED_ARENA(mem);
    SCOPED_BUF(bytes);
    SCOPED(pmap_space) *s = pmap_space_new(1);
    const struct snapshot_entry t = {KEYS(AT(5, 1), AT(6, 2))};
    snapshot_entry_encode(&bytes, &t, NULL);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct pmap *m = NULL;
        struct snapshot_entry back = {.user = 4711};
        struct err e = {0};
        set(s, &m, 5, 2, t);
        is_int(snapshot_check(m, &e), 0, "in order");
        pmap_set(s, &m, cases[i].key, buf_str(&bytes));
        is_int(snapshot_check(m, &e), -ERR_CORRUPT, "not with misplaced entry %zu", i);
        has_text(e.text, cases[i].said, "says where and why");
        is_int(snapshot_find_key(&mem, m, cases[i].key, &back, &e), -ERR_CORRUPT, "nor looked up");
        is_int(back.user, 4711, "and nothing is given back");
        pmap_unref(s, m);
    }
}

/* One entry too many, in a map that only says it is so large. */
static void test_limit(void)
{
    SCOPED_ARENA(mem);
    SCOPED(pmap_space) *s = pmap_space_new(1);
    struct pmap *base = NULL, *ours, *theirs, *merged = NULL;
    struct snapshot_entry t = {.user = 1};
    struct snapshot_conflicts c;
    struct err e = {0};
    set(s, &base, 1, 1, t);
    base->count = SNAPSHOT_ENTRIES_MAX - 1;
    ours = pmap_ref(base);
    theirs = pmap_ref(base);
    is_int(snapshot_set(s, &ours, 9, 1, &t, &e), 1, "the last entry");
    is_int(snapshot_set(s, &ours, 9, 2, &t, &e), -ERR_LIMIT, "one too many");
    t.user = 3;
    is_int(snapshot_set(s, &ours, 9, 1, &t, &e), 1, "a change of one still goes");
    is_int(snapshot_set(s, &theirs, 9, 2, &t, &e), 1, "the last entry of another");
    is_int(snapshot_check(theirs, &e), 0, "which is in order");
    is_int(snapshot_merge(s, &mem, base, ours, theirs, &merged, &c, &e), -ERR_LIMIT,
           "two sides that are too large together");
    ok(!merged, "are not merged");
    ours->count++;
    is_int(snapshot_check(ours, &e), -ERR_CORRUPT, "nor is such a map in order");
}

int main(void)
{
    test_keys();
    test_codec();
    test_codec_refusals();
    test_largest();
    test_one();
    test_diff();
    test_merge();
    test_damaged();
    test_misplaced();
    test_limit();
    return tap_done();
}
