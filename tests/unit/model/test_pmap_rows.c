/* test_pmap_rows.c - nodes as rows: what is written, and every kind of damage refused by name */
/* SPDX-License-Identifier: Apache-2.0 */
#include "tap.h"

#include "model/leb_i.h"
#include "model/pmap_i.h"

/* --- rows made by hand --- */

struct entry {
    uint64_t mixed;
    const char *value;
};
struct row {
    uint64_t id;
    unsigned level;
    uint32_t here, below; /* 0 and 0: from what follows */
    struct entry entries[3];
    uint64_t kids[3];
    uint32_t kid_slots[3];
    const char *tail; /* bytes after the end */
};

static void row_put(struct buf *b, const struct row *r)
{
    uint32_t here = r->here, below = r->below;
    for (unsigned i = 0; i < 3 && !r->here && r->entries[i].value; i++)
        here |= pmap_bit(r->entries[i].mixed, r->level);
    for (unsigned i = 0; i < 3 && !r->below && r->kids[i]; i++)
        below |= 1u << r->kid_slots[i];
    buf_putc(b, 1);
    buf_putc(b, (char)r->level);
    buf_put(b, &here, sizeof here); /* the machines that run this are little endian */
    buf_put(b, &below, sizeof below);
    for (unsigned i = 0; i < 3 && r->kids[i]; i++)
        leb_put(b, r->kids[i]);
    for (unsigned i = 0; i < 3 && r->entries[i].value; i++) {
        buf_put(b, &r->entries[i].mixed, sizeof r->entries[i].mixed);
        leb_put(b, strlen(r->entries[i].value));
        buf_puts(b, r->entries[i].value);
    }
    if (r->tail)
        buf_puts(b, r->tail);
}

/* Loads the rows and claims the root; what the first failure says, "" if none. */
static const char *loaded(struct pmap_space *s, const struct row *rows, size_t n, uint64_t root,
                          struct err *e)
{
    struct pmap *m;
    err_clear(e);
    for (size_t i = 0; i < n; i++) {
        SCOPED_BUF(b);
        row_put(&b, &rows[i]);
        if (pmap_load_node(s, rows[i].id, buf_str(&b), e) < 0)
            return e->text;
    }
    if (pmap_load_end(s, e) < 0 || pmap_load_root(s, root, &m, e) < 0)
        return e->text;
    return "";
}

#define TOP(slot)    ((uint64_t)(slot) << 59)
#define SECOND(slot) ((uint64_t)(slot) << 54)
#define ROWS(...)                                                                                  \
    ((struct row[]){__VA_ARGS__}), sizeof((struct row[]){__VA_ARGS__}) / sizeof(struct row)

/* Two entries in a child at slot 3, one beside it: what all damaged ones are made from. */
#define CHILD                                                                                      \
    {                                                                                              \
        .id = 7, .level = 1, .entries = { {TOP(3), "a"}, {TOP(3) | SECOND(9), "b"} }               \
    }
#define ROOT                                                                                       \
    {                                                                                              \
        .id = 9, .kids = {7}, .kid_slots = {3}, .entries = { {TOP(8), "c"} }                       \
    }

static void refused(const char *what, const struct row *rows, size_t n, uint64_t root,
                    const char *said)
{
    SCOPED(pmap_space) *s = pmap_space_new(1);
    struct err e;
    has_text(loaded(s, rows, n, root, &e), said, "%s: refused", what);
    is_int(e.code, ERR_CORRUPT, "as corrupt");
}

static void test_good(void)
{
    SCOPED(pmap_space) *s = pmap_space_new(1);
    struct err e;
    struct pmap *m = NULL, *none = (struct pmap *)s;
    struct str value;
    is_text(loaded(s, ROWS(ROOT, CHILD), 9, &e), "", "a parent before its child");
    ok(pmap_load_root(s, 9, &m, &e) == 0 && pmap_id(m) == 9, "claimed again");
    ok(pmap_load_root(s, 0, &none, &e) == 0 && !none, "0 is the empty map");
    is_int(pmap_load_root(s, 8, &m, &e), -ERR_CORRUPT, "no such map");
    has_text(e.text, "map node 8: missing", "says which");
    is_int(pmap_load_root(s, 7, &m, &e), -ERR_CORRUPT, "not a map");
    has_text(e.text, "map node 7: not the root", "says why");
    is_int(pmap_load_sweep(s), 0, "all is reached");
    is_int(pmap_count(m), 3, "three entries");
    ok(pmap_get(m, pmap_unmix(TOP(3) | SECOND(9)), &value) && str_is(value, "b"), "as written");
    is_int(pmap_space_next_id(s), 10, "the next id is one above");
    ok(pmap_set(s, &m, 1, str_of("d")), "it can be edited");
}

static void test_damaged(void)
{
    refused("missing child", ROWS(ROOT), 9, "map node 9: its child 7 is missing");
    refused("missing root", ROWS(ROOT, CHILD), 8, "map node 8: missing");
    refused("twice", ROWS(ROOT, CHILD, CHILD), 9, "map node 7: there twice");
    refused("id 0", ROWS({.id = 0, .entries = {{TOP(1), "x"}}}), 0, "map node 0: bad id");
    refused("huge id", ROWS({.id = 1ull << 63, .entries = {{TOP(1), "x"}}}), 0, "bad id");
    refused("no slots", ROWS({.id = 4}), 4, "map node 4: bad bitmap");
    refused("both in a slot", ROWS({.id = 4, .here = 8, .below = 8}), 4, "map node 4: bad bitmap");
    refused("children below the last level", ROWS({.id = 4, .level = 12, .below = 1, .kids = {5}}),
            4, "map node 4: bad bitmap");
    refused("slots beyond the last level", ROWS({.id = 4, .level = 12, .here = 1u << 16}), 4,
            "map node 4: bad bitmap");
    refused("too deep", ROWS({.id = 4, .level = 13, .here = 1}), 4, "map node 4: bad level");
    refused("fewer entries than slots",
            ROWS({.id = 4, .here = 1u << 1 | 1u << 2, .entries = {{TOP(1), "x"}}}), 4,
            "map node 4: bad entry");
    refused("more after the end", ROWS({.id = 4, .entries = {{TOP(1), "x"}}, .tail = "!"}), 4,
            "map node 4: bytes after the end");
    refused("a key in another's slot", ROWS({.id = 4, .here = 2, .entries = {{TOP(2), "x"}}}), 4,
            "map node 4: a key in the wrong place");
    refused("slots swapped",
            ROWS({.id = 4, .here = 2 | 4, .entries = {{TOP(2), "x"}, {TOP(1), "y"}}}), 4,
            "map node 4: a key in the wrong place");
    refused(
        "a key of another prefix",
        ROWS(ROOT, {.id = 7, .level = 1, .entries = {{TOP(3), "a"}, {TOP(4) | SECOND(9), "b"}}}), 9,
        "map node 7: a key in the wrong place");
    refused("a child in another's slot",
            ROWS(CHILD, {.id = 9, .kids = {7}, .kid_slots = {4}, .entries = {{TOP(8), "c"}}}), 9,
            "map node 9: a key in the wrong place");
    refused("a child in two slots", ROWS(CHILD, {.id = 9, .kids = {7, 7}, .kid_slots = {3, 4}}), 9,
            "map node 9: a key in the wrong place");
    refused("one entry that is not in its parent",
            ROWS(ROOT, {.id = 7, .level = 1, .entries = {{TOP(3), "a"}}}), 9,
            "map node 7: a single entry");
    refused("a child of its own",
            ROWS({.id = 7, .level = 1, .kids = {7}, .kid_slots = {5}, .entries = {{TOP(3), "a"}}}),
            7, "map node 7: its child 7 is of another level");
    refused("a ring", ROWS({.id = 4, .kids = {5}}, {.id = 5, .level = 1, .kids = {4}}), 4,
            "map node 5: its child 4 is of another level");
    refused("a level left out",
            ROWS({.id = 4, .kids = {5}}, {.id = 5, .level = 2, .here = 1, .entries = {{0, "x"}}}),
            4, "map node 4: its child 5 is of another level");
    refused("a map that is a part of one", ROWS(ROOT, CHILD), 7, "map node 7: not the root");
}

/* Bytes as no map writes them. */
static void test_bytes(void)
{
    static const struct {
        const char *what, *said;
        struct str bytes;
    } cases[] = {
#define B(text) {text, sizeof(text) - 1}
        {"nothing", "too short", B("")},
        {"a cut header", "too short", B("\1\0\1\0\0\0\0\0\0")},
        {"another version", "version", B("\2\0\1\0\0\0\0\0\0\0")},
        {"no child", "bad child", B("\1\0\0\0\0\0\1\0\0\0")},
        {"child 0", "bad child", B("\1\0\0\0\0\0\1\0\0\0\0")},
        {"a child in a longer form", "bad child", B("\1\0\0\0\0\0\1\0\0\0\x85\0")},
        {"a child beyond all ids", "bad child",
         B("\1\0\0\0\0\0\1\0\0\0\x80\x80\x80\x80\x80\x80\x80\x80\x80\1")},
        {"a number that does not end", "bad child",
         B("\1\0\0\0\0\0\1\0\0\0\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\1")},
        {"a cut key", "bad entry", B("\1\0\1\0\0\0\0\0\0\0\0\0\0\0\0\0\0")},
        {"no length", "bad entry", B("\1\0\1\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0")},
        {"a cut value", "bad entry", B("\1\0\1\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\2x")},
        {"a value beyond all limits", "bad entry",
         B("\1\0\1\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x81\x80\x40x")},
#undef B
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        SCOPED(pmap_space) *s = pmap_space_new(1);
        struct err e = {0};
        is_int(pmap_load_node(s, 77, cases[i].bytes, &e), -ERR_CORRUPT, "%s", cases[i].what);
        has_text(e.text, cases[i].said, "%s: said", cases[i].what);
        has_text(e.text, "map node 77", "of which node");
    }
}

struct rebuild {
    struct pmap_space *space;
    struct pmap *map;
    const struct pmap *from;
    bool found; /* each key by looking it up */
};

static void rebuild_one(void *ctx, uint64_t key, struct str value)
{
    struct rebuild *r = ctx;
    struct str got;
    r->found = r->found && pmap_get(r->from, key, &got) && str_eq(got, value);
    pmap_set(r->space, &r->map, key, value);
}

static void differs(void *ctx, uint64_t key, const struct str *old, const struct str *now)
{
    (void)key, (void)old, (void)now;
    *(bool *)ctx = true;
}

/* Whether a loaded map is what its entries make when they are set one by one. */
static bool sound(struct pmap_space *s, const struct pmap *m)
{
    SCOPED(pmap_space) *other = pmap_space_new(1);
    struct rebuild r = {other, NULL, m, true};
    bool differ = false;
    pmap_each(m, rebuild_one, &r);
    pmap_diff(m, r.map, differs, &differ);
    return r.found && !differ && pmap_count(m) == pmap_count(r.map) &&
           pmap_space_nodes(other) == pmap_space_nodes(s);
}

/* Each bit of each row of a map changed: refused by name, or rows that mean what they say. */
static void test_every_bit(void)
{
    SCOPED_ARENA(mem);
    SCOPED(pmap_space) *s = pmap_space_new(1);
    struct pmap *m = NULL;
    struct pmap_changes c;
    uint32_t refusals = 0, accepted = 0, wrong = 0, unsound = 0;
    for (uint64_t k = 0; k < 40; k++)
        pmap_set(s, &m, k, str_of("v"));
    pmap_changes_take(s, &mem, &c);
    for (size_t row = 0; row < c.n_added; row++)
        for (size_t bit = 0; bit < 8 * c.added[row].bytes.n; bit++) {
            SCOPED(pmap_space) *t = pmap_space_new(1);
            struct err e = {0};
            struct pmap *got = NULL;
            char *byte = (char *)c.added[row].bytes.s + bit / 8;
            int r = 0;
            *byte ^= (char)(1u << bit % 8);
            for (size_t i = 0; i < c.n_added && r == 0; i++)
                r = pmap_load_node(t, c.added[i].id, c.added[i].bytes, &e);
            if (r == 0 && (r = pmap_load_end(t, &e)) == 0)
                r = pmap_load_root(t, pmap_id(m), &got, &e);
            *byte ^= (char)(1u << bit % 8);
            refusals += r != 0;
            wrong += r != 0 && (r != -ERR_CORRUPT || strncmp(e.text, "map node ", 9));
            if (r == 0) {
                pmap_load_sweep(t);
                accepted++;
                unsound += !sound(t, got);
            }
        }
    is_int(wrong, 0, "each of %u refusals names a node", refusals);
    is_int(unsound, 0, "each of %u other maps is one that could have been made", accepted);
    ok(refusals > 500 && accepted > 500, "both were seen");
}

/* --- what a transaction has to do --- */

static void test_changes(void)
{
    SCOPED_ARENA(mem);
    SCOPED(pmap_space) *s = pmap_space_new(50);
    struct pmap *m = NULL, *kept;
    struct pmap_changes c;
    pmap_changes_take(s, &mem, &c);
    ok(c.n_added == 0 && c.n_dropped == 0, "nothing yet");
    pmap_set(s, &m, 1, str_of("a"));
    pmap_set(s, &m, 1, str_of("b"));
    pmap_changes_take(s, &mem, &c);
    ok(c.n_added == 1 && c.n_dropped == 0, "what came and went in between is not told");
    ok(c.added[0].id == pmap_id(m) && pmap_id(m) >= 50, "the row has the root's id");
    SCOPED_BUF(want);
    row_put(&want, &(struct row){.entries = {{pmap_mix(1), "b"}}});
    ok(str_eq(c.added[0].bytes, buf_str(&want)), "and the bytes that are documented");
    kept = pmap_ref(m);
    uint64_t old = pmap_id(kept);
    pmap_set(s, &m, 1, str_of("c"));
    pmap_changes_take(s, &mem, &c);
    ok(c.n_added == 1 && c.n_dropped == 0, "a kept map keeps its row");
    pmap_unref(s, kept);
    pmap_changes_take(s, &mem, &c);
    ok(c.n_added == 0 && c.n_dropped == 1 && c.dropped[0] == old, "until it is given back");
    old = pmap_id(m);
    pmap_set(s, &m, 1, str_of("d"));
    pmap_changes_take(s, &mem, &c);
    ok(c.n_added == 1 && c.n_dropped == 1 && c.dropped[0] == old && pmap_id(m) > old,
       "a map that is not kept is replaced, under another id");
    pmap_unref(s, m);
    pmap_changes_take(s, &mem, &c);
    ok(c.n_added == 0 && c.n_dropped == 1, "and dropped in the end");
    is_int(pmap_id(NULL), 0, "the empty map has no row");
}

static void test_sweep(void)
{
    SCOPED_ARENA(mem);
    SCOPED(pmap_space) *s = pmap_space_new(1000);
    struct err e = {0};
    struct pmap *m;
    struct pmap_changes c;
    static const struct row rows[] = {
        ROOT, CHILD, {.id = 20, .kids = {7}, .kid_slots = {3}, .entries = {{TOP(1), "z"}}}};
    is_text(loaded(s, rows, 3, 9, &e), "", "two maps that share a node");
    is_int(pmap_space_next_id(s), 1000, "an id that was kept counts if it is above");
    is_int(pmap_load_root(s, 20, &m, &e), 0, "the second is claimed");
    pmap_unref(s, m);
    is_int(pmap_load_sweep(s), 1, "and given back: it goes");
    pmap_changes_take(s, &mem, &c);
    ok(c.n_added == 0 && c.n_dropped == 1 && c.dropped[0] == 20, "as a change to take");
    is_int(pmap_space_nodes(s), 2, "the shared node stays");

    SCOPED(pmap_space) *t = pmap_space_new(1);
    ok(pmap_load_end(t, &e) == 0 && pmap_load_root(t, 0, &m, &e) == 0 && !m, "no rows at all");
    is_int(pmap_load_sweep(t), 0, "sweep to nothing");
    SCOPED(pmap_space) *u = pmap_space_new(1);
    is_text(loaded(u, rows, 3, 0, &e), "", "a map and a part of it");
    is_int(pmap_load_sweep(u), 3, "that nobody claims: all of it goes");
    is_int(pmap_space_nodes(u), 0, "nothing is left");
}

int main(void)
{
    test_good();
    test_damaged();
    test_bytes();
    test_every_bit();
    test_changes();
    test_sweep();
    return tap_done();
}
