/* test_desire.c - proposals, commits and history, in memory and as rows (RFC 06, section 4)
 *
 * Every row that is told goes into a store in memory; a second state read from there must be the
 * same as the first, after every step.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "tap.h"

#include "base/alloc.h"
#include "edit_entry.h"
#include "server/desire.h"
#include "store/store.h"

enum { KIT = 2, ROLES = 6, NODES = 12 };

struct bed {
    struct store *store;
    struct desire *d;
    struct err e;
    uint32_t rows;
};

static void row_comes(void *arg, enum row_table t, enum row_verb verb, const void *row)
{
    struct bed *b = arg;
    struct row_op op = {(uint8_t)t, (uint8_t)verb, row};
    struct err e;
    b->rows++;
    if (store_commit(b->store, &op, 1, &e) < 0)
        ok(false, "row of table %d: %s", (int)t, e.text);
}

static void bed_init(struct bed *b)
{
    *b = (struct bed){0};
    if (store_open(&(struct store_options){0}, &b->store, &b->e) < 0)
        ok(false, "a store in memory: %s", b->e.text);
    b->d = desire_new(row_comes, b);
}

static void bed_done(struct bed *b)
{
    desire_free(b->d);
    store_close(b->store);
}

static struct desire_author by(const char *name)
{
    return (struct desire_author){str_of(name), str_of("because"), 1000, 3};
}

static uint32_t propose(struct bed *b, const char *who)
{
    uint32_t id = 0;
    struct desire_author a = by(who);
    if (desire_propose(b->d, KIT, NULL, &a, &id, &b->e) < 0)
        ok(false, "proposed: %s", b->e.text);
    return id;
}

static int set(struct bed *b, uint32_t id, const char *role, uint32_t node, const char *data)
{
    struct snapshot_entry t = {.flags = SNAPSHOT_F_REQUESTED};
    if (desire_doc(b->d, str_of(data), &t.user, &b->e) < 0)
        return -1;
    return desire_edit(b->d, id, desire_role(b->d, str_of(role)), node, &t, &b->e);
}

static int commit(struct bed *b, uint32_t id)
{
    SCOPED_ARENA(mem);
    struct pmap *root = NULL;
    struct snapshot_conflicts conflicts;
    int r = desire_merge(b->d, id, &mem, &root, &conflicts, &b->e);
    if (r == 0)
        desire_commit(b->d, id, root, 3, 9, 2000);
    return r;
}

static void write_entry(void *ctx, uint64_t key, struct str value)
{
    struct buf *out = ctx;
    buf_printf(out, "%llx=", (unsigned long long)key);
    for (size_t i = 0; i < value.n; i++)
        buf_printf(out, "%02x", (unsigned char)value.s[i]);
    buf_putc(out, ' ');
}

/* Everything that can be seen of it. */
static void dump(const struct desire *d, struct buf *out)
{
    for (uint32_t i = 1; desire_role_name(d, i).n; i++)
        buf_printf(out, "%s ", desire_role_name(d, i).s);
    for (uint32_t i = 1; i < desire_end(d); i++) {
        const struct snapshot *s = desire_snapshot(d, i);
        if (!s)
            continue;
        buf_printf(out, "\n%u of %u: %u %s cat %u op %u by %s: %s %llu %llu\n  ", s->id,
                   s->deployment, s->number, snapshot_state_name(s->state), s->catalog,
                   s->operation, s->author.s, s->message.s, (unsigned long long)s->created_ms,
                   (unsigned long long)s->ended_ms);
        pmap_each(s->root, write_entry, out);
        buf_puts(out, "\n  base ");
        pmap_each(s->base, write_entry, out);
    }
}

static void no_row(void *arg, enum row_table t, enum row_verb verb, const void *row)
{
    (void)t;
    (void)verb;
    (void)row;
    ++*(uint32_t *)arg;
}

static bool same_read_back(struct bed *b, uint32_t *ret_dropped)
{
    SCOPED_BUF(here);
    SCOPED_BUF(there);
    uint32_t dropped = 0;
    struct desire *copy = desire_new(no_row, &dropped);
    bool good = desire_load(copy, b->store, &b->e) >= 0;
    dump(b->d, &here);
    dump(copy, &there);
    desire_free(copy);
    if (ret_dropped)
        *ret_dropped = dropped;
    return good && str_eq(buf_str(&here), buf_str(&there));
}

static uint32_t count(const struct snapshot *s)
{
    return s ? (uint32_t)pmap_count(s->root) : 0;
}

static void history(void)
{
    struct bed b;
    bed_init(&b);
    ok(!desire_head(b.d, KIT) && !desire_proposal(b.d, KIT), "a new deployment wants nothing");
    uint32_t first = propose(&b, "ann"), again = 0;
    struct desire_author bob = by("bob");
    is_int(desire_propose(b.d, KIT, NULL, &bob, &again, &b.e), -ERR_CONFLICT, "one at a time");
    has_text(b.e.text, "ann has proposal 1 open", "naming who has it");
    is_int(set(&b, first, "db", 4, "{\"port\":1}"), 1, "an entry");
    is_int(set(&b, first, "db", 4, "{\"port\":1}"), 0, "the same entry is no change");
    is_int(set(&b, first, "web", 5, "{}"), 1, "another");
    is_int(count(desire_head(b.d, KIT)), 0, "what is proposed is not wanted yet");
    ok(same_read_back(&b, NULL), "read back the same");
    is_int(commit(&b, first), 0, "committed");
    is_int(count(desire_head(b.d, KIT)), 2, "now it is");
    is_int(desire_edit(b.d, first, 1, 4, NULL, &b.e), -ERR_CONFLICT, "committed is not edited");
    has_text(b.e.text, "snapshot 1 is committed", "and says so");
    uint32_t second = propose(&b, "bob");
    is_int(desire_edit(b.d, second, desire_role(b.d, str_of("web")), 5, NULL, &b.e), 1, "removed");
    is_int(commit(&b, second), 0, "and committed");
    is_int(desire_numbered(b.d, KIT, 1)->state, SNAPSHOT_ARCHIVED, "the old head is archived");
    is_int(count(desire_numbered(b.d, KIT, 1)), 2, "as it was");
    uint32_t third = 0;
    struct desire_author ann = by("ann");
    is_int(desire_propose(b.d, KIT, desire_numbered(b.d, KIT, 1), &ann, &third, &b.e), 0,
           "an old map proposed again");
    is_int(commit(&b, third), 0, "is a roll back");
    is_int(count(desire_head(b.d, KIT)), 2, "to what was wanted then");
    uint32_t fourth = propose(&b, "ann");
    is_int(set(&b, fourth, "app", 6, "{\"only\":\"here\"}"), 1, "something else");
    is_int(desire_recall(b.d, fourth, 5000, &b.e), 0, "recalled");
    ok(!desire_proposal(b.d, KIT) && !desire_numbered(b.d, KIT, 4), "is as if it had not been");
    is_int(desire_recall(b.d, fourth, 5000, &b.e), -ERR_CONFLICT, "once");
    is_int(desire_recall(b.d, 99, 5000, &b.e), -ERR_NOT_FOUND, "and only one that is");
    uint32_t dropped = 0;
    ok(same_read_back(&b, &dropped), "read back the same");
    is_int(dropped, 1, "but for the document that nobody has any more");
    desire_forget(b.d, KIT);
    ok(!desire_head(b.d, KIT) && !desire_snapshot(b.d, first), "a deployment that goes takes all");
    ok(same_read_back(&b, NULL), "rows too");
    bed_done(&b);
}

static void moved_head(void)
{
    struct bed b;
    bed_init(&b);
    uint32_t id = propose(&b, "ann");
    set(&b, id, "db", 1, "{\"a\":1}");
    set(&b, id, "web", 2, "{}");
    commit(&b, id);
    id = propose(&b, "ann");
    set(&b, id, "db", 1, "{\"a\":2}");
    struct desire_author sys = by("system");
    struct snapshot_entry t = {0};
    is_int(desire_amend(b.d, KIT, &sys, desire_role(b.d, str_of("probe")), 7, &t, &b.e), 1,
           "the head is amended meanwhile");
    is_int(desire_head(b.d, KIT)->number, 1, "without history");
    is_int(commit(&b, id), 0, "what does not touch the same is merged");
    is_int(count(desire_head(b.d, KIT)), 3, "with both");
    id = propose(&b, "ann");
    set(&b, id, "db", 1, "{\"a\":3}");
    desire_doc(b.d, str_of("{\"a\":4}"), &t.user, &b.e);
    desire_amend(b.d, KIT, &sys, desire_role(b.d, str_of("db")), 1, &t, &b.e);
    is_int(commit(&b, id), 1, "the same entry changed on both sides is a conflict");
    is_int(desire_snapshot(b.d, id)->state, SNAPSHOT_PROPOSED, "and nothing happened");
    ok(same_read_back(&b, NULL), "read back the same");
    bed_done(&b);
}

/* Requests that act at once make history too, and write each row once. */
static void at_once(void)
{
    struct bed b;
    bed_init(&b);
    uint32_t open = propose(&b, "ann"), rows;
    struct desire_author sys = by("system");
    for (uint32_t round = 1; round <= 2; round++) {
        desire_hold(b.d);
        rows = b.rows;
        desire_advance(b.d, KIT, &sys, 40 + round);
        for (uint32_t node = 1; node <= 50; node++) {
            struct snapshot_entry t = {.flags = SNAPSHOT_F_REQUESTED};
            desire_amend(b.d, KIT, &sys, 5, node + 50 * round, &t, &b.e);
        }
        is_int(b.rows, rows, "nothing is told while it is held");
        desire_release(b.d);
        ok(b.rows > rows && b.rows < rows + 100, "then all at once: %u rows", b.rows - rows);
    }
    is_int(desire_head(b.d, KIT)->operation, 42, "the head says what made it");
    is_int(count(desire_head(b.d, KIT)), 100, "and wants all of it");
    is_int(count(desire_numbered(b.d, KIT, 2)), 50, "the one before is kept");
    is_int(desire_proposal(b.d, KIT)->id, open, "a proposal that is open stays open");
    is_int(commit(&b, open), 0, "and is merged with what came meanwhile");
    desire_role(b.d, str_of("one"));
    bed_done(&b);
}

static void documents(void)
{
    struct bed b;
    uint64_t one = 0, two = 0, none = 7;
    bed_init(&b);
    desire_doc(b.d, str_of("{\"a\":1}"), &one, &b.e);
    uint32_t rows = b.rows;
    desire_doc(b.d, str_of("{\"a\":1}"), &two, &b.e);
    ok(one && one == two && b.rows == rows, "the same content is kept once");
    is_text(desire_doc_text(b.d, one).s, "{\"a\":1}", "and found");
    desire_doc(b.d, str_of("{}"), &none, &b.e);
    ok(none == 0, "nothing is no document");
    is_text(desire_doc_text(b.d, 0).s, "{}", "and reads as nothing");
    char *large = xcalloc(DESIRE_DOC_BYTES + 2, 1);
    memset(large, ' ', DESIRE_DOC_BYTES + 1);
    is_int(desire_doc(b.d, str_of(large), &none, &b.e), -ERR_LIMIT, "what is too large is refused");
    free(large);
    bed_done(&b);
}

static uint32_t below(uint64_t *seed, uint32_t n)
{
    *seed = *seed * 6364136223846793005ull + 1442695040888963407ull;
    return (uint32_t)((*seed >> 33) % n);
}

/* Whatever is done, what was written is what is there. */
static void random_life(uint64_t seed)
{
    struct bed b;
    uint64_t start = seed;
    uint32_t commits = 0, conflicts = 0, steps = 0;
    bool good = true;
    bed_init(&b);
    for (; steps < 300 && good; steps++) {
        const struct snapshot *p = desire_proposal(b.d, KIT);
        char role[8], data[24];
        snprintf(role, sizeof role, "r%u", below(&seed, ROLES));
        snprintf(data, sizeof data, "{\"v\":%u}", below(&seed, 4));
        uint32_t node = 1 + below(&seed, NODES), what = below(&seed, 10);
        struct desire_author sys = by("system");
        struct snapshot_entry t = {0};
        if (what == 0) {
            desire_doc(b.d, str_of(data), &t.user, &b.e);
            good = desire_amend(b.d, KIT, &sys, desire_role(b.d, str_of(role)), node,
                                below(&seed, 3) ? &t : NULL, &b.e) >= 0;
        } else if (!p) {
            const struct snapshot *from = desire_numbered(b.d, KIT, below(&seed, 8));
            uint32_t id;
            good = desire_propose(b.d, KIT, from, &sys, &id, &b.e) >= 0;
        } else if (what == 1) {
            int r = commit(&b, p->id);
            commits += r == 0;
            conflicts += r > 0;
            if (r > 0)
                good = desire_recall(b.d, p->id, 1, &b.e) >= 0;
        } else if (what == 2 && below(&seed, 3) == 0) {
            good = desire_recall(b.d, p->id, 1, &b.e) >= 0;
        } else if (what < 6) {
            good = desire_edit(b.d, p->id, desire_role(b.d, str_of(role)), node, NULL, &b.e) >= 0;
        } else {
            good = set(&b, p->id, role, node, data) >= 0;
        }
        good = good && same_read_back(&b, NULL);
    }
    ok(good, "seed %llu: %u steps, %u commits, %u conflicts", (unsigned long long)start, steps,
       commits, conflicts);
    bed_done(&b);
}

static int spoiled(struct bed *b, enum row_table t, enum row_verb verb, const void *row)
{
    struct row_op op = {(uint8_t)t, (uint8_t)verb, row};
    struct err e;
    uint32_t rows = 0;
    struct desire *copy = desire_new(no_row, &rows);
    store_commit(b->store, &op, 1, &e);
    int r = desire_load(copy, b->store, &b->e);
    desire_free(copy);
    return r;
}

static void damaged(void)
{
    for (int i = 0; i < 5; i++) {
        struct bed b;
        bed_init(&b);
        uint32_t id = propose(&b, "ann");
        set(&b, id, "db", 1, "{\"a\":1}");
        uint64_t doc = 0;
        desire_doc(b.d, str_of("{\"a\":1}"), &doc, &b.e);
        commit(&b, id);
        struct row_doc gone = {.id = doc};
        struct row_name name = {.id = 1};
        struct row_trie trie = {.id = pmap_id(desire_head(b.d, KIT)->root)};
        struct row_snapshot twice = {.id = 7,
                                     .deployment = KIT,
                                     .number = 8,
                                     .state = SNAPSHOT_COMMITTED,
                                     .author = str_of(""),
                                     .message = str_of("")};
        struct row_snapshot state = twice;
        state.state = SNAPSHOT_STATE_COUNT;
        int r = i == 0   ? spoiled(&b, ROWS_DOC, ROW_DELETE, &gone)
                : i == 1 ? spoiled(&b, ROWS_NAME, ROW_DELETE, &name)
                : i == 2 ? spoiled(&b, ROWS_TRIE, ROW_DELETE, &trie)
                : i == 3 ? spoiled(&b, ROWS_SNAPSHOT, ROW_INSERT, &twice)
                         : spoiled(&b, ROWS_SNAPSHOT, ROW_INSERT, &state);
        static const char *const names[] = {"doc", "name 1", "snapshot", "snapshot 7",
                                            "snapshot 7"};
        is_int(r, -ERR_CORRUPT, "damage %d is noticed", i);
        if (i != 2)
            has_text(b.e.text, names[i], "and named");
        bed_done(&b);
    }
}

int main(void)
{
    history();
    moved_head();
    at_once();
    documents();
    for (uint64_t seed = 1; seed <= 8; seed++)
        random_life(seed);
    damaged();
    return tap_done();
}
