/* test_store.c - one suite for both backends */
/* SPDX-License-Identifier: Apache-2.0 */
#include "store/store_fixture.h"

struct place {
    const char *name;
    char *dir, *path; /* NULL: memory */
    struct store *s;
};

static struct place place_new(bool sqlite)
{
    struct place p = {sqlite ? "sqlite" : "memory", NULL, NULL, NULL};

    if (sqlite) {
        p.dir = fix_dir();
        p.path = fs_join(p.dir, "a.db");
    }
    p.s = fix_open(p.path);
    return p;
}

static void place_reopen(struct place *p)
{
    struct store *old = p->s;

    if (p->path) {
        store_close(old);
        p->s = fix_open(p->path);
    } else {
        p->s = store_mem_reopen(old);
        store_close(old);
    }
}

static void place_done(struct place *p)
{
    struct err e;

    store_close(p->s);
    if (p->dir)
        fs_remove_tree(p->dir, &e);
    free(p->dir);
    free(p->path);
}

struct seen {
    VEC(uint64_t) keys;
    union row_any last;
    int stop_after, stop_with;
};

static int see(void *arg, enum row_table t, const void *row, struct err *e)
{
    struct seen *s = arg;

    (void)e;
    vec_push(&s->keys, row_key(t, row));
    return s->stop_after && (int)s->keys.n == s->stop_after ? s->stop_with : 0;
}

struct wanted {
    const union row_any *row;
    int found, equal;
};

static int compare(void *arg, enum row_table t, const void *row, struct err *e)
{
    struct wanted *w = arg;

    (void)e;
    w->found++;
    w->equal += fix_equal(t, row, w->row);
    return 0;
}

/* One row is there and equal. */
static bool holds(struct store *s, enum row_table t, uint64_t key, const union row_any *row)
{
    struct wanted w = {row, 0, 0};
    struct err e;

    return !store_range(s, t, key, key, false, 0, compare, &w, &e) && w.found == 1 && w.equal == 1;
}

static size_t count(struct store *s, enum row_table t)
{
    struct seen seen = {0};
    struct err e;
    size_t n;

    store_each(s, t, see, &seen, &e);
    n = seen.keys.n;
    vec_done(&seen.keys);
    return n;
}

static int put_one(struct store *s, enum row_verb verb, enum row_table t, const void *row,
                   struct err *e)
{
    struct row_op op = fix_op(verb, t, row);

    return store_commit(s, &op, 1, e);
}

/* What rows_update() should leave: FIX of the first row, DYN of the second. */
static void merged(enum row_table t, const union row_any *old, const union row_any *dyn,
                   union row_any *ret_row)
{
    static const size_t sizes[] = {1, 4, 8, 8, sizeof(struct str), sizeof(struct str)};
    const struct row_layout *l = &row_layouts[t];

    *ret_row = *old;
    for (unsigned i = 0; i < l->n_columns; i++)
        if (l->columns[i].role == ROW_DYN)
            memcpy((char *)ret_row + l->columns[i].offset, (const char *)dyn + l->columns[i].offset,
                   sizes[l->columns[i].type]);
}

static void test_each_table(struct place *p)
{
    for (int i = 0; i < ROWS_COUNT; i++) {
        enum row_table t = (enum row_table)i;
        const char *name = row_layouts[t].name;
        union row_any a, b, c, want;
        struct err e = {0};

        if (t == ROWS_META || t == ROWS_JOURNAL)
            continue; /* they must agree: see test_whole_group */
        fix_row(t, 1, 0, &a);
        fix_row(t, 2, 5, &b);
        fix_row(t, UINT32_MAX, 1234567, &c);
        is_int(put_one(p->s, ROW_INSERT, t, &c, &e), 0, "%s: insert into %s", p->name, name);
        is_int(put_one(p->s, ROW_INSERT, t, &a, &e), 0, "%s: insert zeroes into %s", p->name, name);
        is_int(put_one(p->s, ROW_PUT, t, &b, &e), 0, "%s: put as insert into %s", p->name, name);
        ok(holds(p->s, t, 1, &a) && holds(p->s, t, 2, &b) && holds(p->s, t, UINT32_MAX, &c),
           "%s: %s reads what was written", p->name, name);

        fix_row(t, 2, 77, &c);
        merged(t, &b, &c, &want);
        is_int(put_one(p->s, ROW_UPDATE, t, &c, &e), 0, "%s: update %s", p->name, name);
        ok(holds(p->s, t, 2, &want), "%s: update of %s writes DYN columns only", p->name, name);
        fix_row(t, 2, 99, &c);
        is_int(put_one(p->s, ROW_PUT, t, &c, &e), 0, "%s: put as replace in %s", p->name, name);
        ok(holds(p->s, t, 2, &c), "%s: put replaces all of %s", p->name, name);
        place_reopen(p);
        ok(holds(p->s, t, 1, &a) && holds(p->s, t, 2, &c), "%s: %s after opening anew", p->name,
           name);

        is_int(put_one(p->s, ROW_DELETE, t, &c, &e), 0, "%s: delete from %s", p->name, name);
        is_int(put_one(p->s, ROW_DELETE, t, &c, &e), 0, "%s: delete nothing from %s", p->name,
               name);
        is_int(count(p->s, t), 2, "%s: two rows of %s remain", p->name, name);
    }
}

static void test_whole_group(struct place *p)
{
    union row_any meta, entry;
    struct row_op ops[2] = {fix_op(ROW_PUT, ROWS_META, &meta),
                            fix_op(ROW_INSERT, ROWS_JOURNAL, &entry)};
    struct err e = {0};

    for (uint64_t n = 1; n <= 3; n++) {
        fix_row(ROWS_META, 1, n, &meta);
        fix_row(ROWS_JOURNAL, n, n, &entry);
        meta.meta.journal_seq = n;
        meta.meta.group_no = n;
        is_int(store_commit(p->s, ops, 2, &e), 0, "%s: group %d", p->name, (int)n);
    }
    place_reopen(p);
    ok(holds(p->s, ROWS_META, 1, &meta), "%s: meta after opening anew", p->name);
    ok(holds(p->s, ROWS_JOURNAL, 3, &entry), "%s: journal after opening anew", p->name);
}

static void test_refused(struct place *p)
{
    union row_any a, b, c;
    SCOPED_BUF(before);
    SCOPED_BUF(after);
    struct err e = {0};

    fix_row(ROWS_TASK, 1, 1, &a);
    fix_row(ROWS_TASK, 2, 2, &b);
    fix_row(ROWS_TASK, 3, 3, &c);
    put_one(p->s, ROW_PUT, ROWS_TASK, &a, &e);
    put_one(p->s, ROW_PUT, ROWS_TASK, &b, &e);
    put_one(p->s, ROW_DELETE, ROWS_TASK, &c, &e);
    fix_dump(p->s, &before);

    is_int(put_one(p->s, ROW_INSERT, ROWS_TASK, &a, &e), -ERR_INTERNAL,
           "%s: insert of a key that is there", p->name);
    has_text(e.text, "insert of task 1, which is already there", "%s: says which", p->name);
    is_int(put_one(p->s, ROW_UPDATE, ROWS_TASK, &c, &e), -ERR_INTERNAL,
           "%s: update of a key that is not", p->name);
    has_text(e.text, "update of task 3, which is not there", "%s: says which", p->name);

    fix_row(ROWS_TASK, 2, 20, &b);
    struct row_op ops[] = {
        fix_op(ROW_DELETE, ROWS_TASK, &a), fix_op(ROW_INSERT, ROWS_TASK, &a),
        fix_op(ROW_UPDATE, ROWS_TASK, &b), fix_op(ROW_DELETE, ROWS_TASK, &b),
        fix_op(ROW_PUT, ROWS_TASK, &c),    fix_op(ROW_INSERT, ROWS_TASK, &c),
    };
    is_int(store_commit(p->s, ops, 6, &e), -ERR_INTERNAL, "%s: the last of six is refused",
           p->name);
    fix_dump(p->s, &after);
    ok(str_eq(buf_str(&before), buf_str(&after)), "%s: a refused group changed nothing", p->name);
    is_int(store_commit(p->s, ops, 5, &e), 0, "%s: the five before it are well", p->name);
    ok(holds(p->s, ROWS_TASK, 1, &a) && holds(p->s, ROWS_TASK, 3, &c), "%s: they are written",
       p->name);
    is_int(store_range(p->s, ROWS_TASK, 2, 2, false, 0, compare, &(struct wanted){&b, 0, 0}, &e), 0,
           "%s: a key that is gone is no error", p->name);
    is_int(store_commit(p->s, NULL, 0, &e), 0, "%s: an empty group", p->name);
}

static void test_order_in_group(struct place *p)
{
    union row_any a, b, c;
    struct err e = {0};

    fix_row(ROWS_SPAN, 7, 1, &a);
    fix_row(ROWS_SPAN, 7, 2, &b);
    fix_row(ROWS_SPAN, 7, 3, &c);
    struct row_op ops[] = {
        fix_op(ROW_INSERT, ROWS_SPAN, &a), fix_op(ROW_DELETE, ROWS_SPAN, &a),
        fix_op(ROW_INSERT, ROWS_SPAN, &b), fix_op(ROW_PUT, ROWS_SPAN, &c),
        fix_op(ROW_DELETE, ROWS_SPAN, &c), fix_op(ROW_PUT, ROWS_SPAN, &a),
    };
    is_int(store_commit(p->s, ops, 6, &e), 0, "%s: one key six times in a group", p->name);
    ok(holds(p->s, ROWS_SPAN, 7, &a), "%s: the last word counts", p->name);
    is_int(store_commit(p->s, ops + 1, 4, &e), 0, "%s: and out again", p->name);
    ok(!holds(p->s, ROWS_SPAN, 7, &c), "%s: it is gone", p->name);
}

static void check_keys(struct place *p, const char *what, struct seen *s, const uint64_t *want,
                       size_t n)
{
    bool same = s->keys.n == n;

    for (size_t i = 0; i < n && same; i++)
        same = s->keys.at[i] == want[i];
    ok(same, "%s: %s", p->name, what);
    vec_clear(&s->keys);
}

static int see_inner(void *arg, enum row_table t, const void *row, struct err *e)
{
    void **pair = arg;
    struct seen *s = pair[1];

    (void)row;
    return store_range(pair[0], t, 0, 4, true, 0, see, s, e);
}

static void test_range(struct place *p)
{
    const uint64_t big = (uint64_t)1 << 63;
    const uint64_t keys[] = {5, big + 9, 1, big - 1, 3, UINT64_MAX, big};
    struct seen s = {0};
    struct err e = {0};
    void *pair[2] = {p->s, &s};

    for (size_t i = 0; i < 7; i++) {
        union row_any row;

        fix_row(ROWS_IDEMPOTENT, keys[i], i, &row);
        put_one(p->s, ROW_PUT, ROWS_IDEMPOTENT, &row, &e);
    }
    uint32_t deleted;
    store_trim(p->s, ROWS_IDEMPOTENT, UINT32_MAX, UINT32_MAX, 0, &deleted, &e);
    store_trim(p->s, ROWS_IDEMPOTENT, 2, 2, 0, &deleted, &e);
#define RANGE(from, to, down, limit, what, ...)                                                    \
    do {                                                                                           \
        const uint64_t keys_[] = {__VA_ARGS__};                                                    \
        is_int(store_range(p->s, ROWS_IDEMPOTENT, from, to, down, limit, see, &s, &e), 0,          \
               "%s: range %s", p->name, what);                                                     \
        check_keys(p, what, &s, keys_, sizeof keys_ / sizeof *keys_);                              \
    } while (0)
    RANGE(0, UINT64_MAX, false, 0, "all, as unsigned numbers", 1, 3, 5, big - 1, big, big + 9,
          UINT64_MAX);
    RANGE(0, UINT64_MAX, true, 0, "all, downwards", UINT64_MAX, big + 9, big, big - 1, 5, 3, 1);
    RANGE(3, big, false, 0, "ends belong to it", 3, 5, big - 1, big);
    RANGE(2, big - 1, false, 2, "limit", 3, 5);
    RANGE(5, UINT64_MAX, false, 3, "limit across the sign", 5, big - 1, big);
    RANGE(0, big + 8, true, 2, "limit downwards across the sign", big, big - 1);
    RANGE(big + 1, UINT64_MAX - 1, false, 0, "above the sign only", big + 9);
    RANGE(3, 3, true, 0, "one key", 3);
#undef RANGE
    is_int(store_range(p->s, ROWS_IDEMPOTENT, 9, 8, false, 0, see, &s, &e), 0, "%s: empty range",
           p->name);
    is_int(s.keys.n, 0, "%s: nothing in it", p->name);

    s.stop_after = 2;
    s.stop_with = 42;
    is_int(store_each(p->s, ROWS_IDEMPOTENT, see, &s, &e), 42, "%s: fn stops", p->name);
    is_int(s.keys.n, 2, "%s: where it says", p->name);
    vec_clear(&s.keys);
    s.stop_with = -ERR_LIMIT;
    is_int(store_each(p->s, ROWS_IDEMPOTENT, see, &s, &e), -ERR_LIMIT, "%s: fn fails", p->name);
    vec_clear(&s.keys);
    s.stop_after = 0;

    is_int(store_range(p->s, ROWS_IDEMPOTENT, 1, 3, true, 0, see_inner, pair, &e), 0,
           "%s: reading within reading", p->name);
    check_keys(p, "both see all", &s, (const uint64_t[]){3, 1, 3, 1}, 4);
    vec_done(&s.keys);
}

static void test_open_attempts(struct place *p)
{
    struct seen s = {0};
    struct err e = {0};
    uint32_t deleted;

    store_trim(p->s, ROWS_ATTEMPT, 0, UINT64_MAX, 0, &deleted, &e);
    for (uint64_t task = 9; task > 0; task--) {
        union row_any row;

        fix_row(ROWS_ATTEMPT, task << ATTEMPT_BITS | 1, task, &row);
        row.attempt.outcome = task % 3 ? 2 : ATTEMPT_OPEN;
        put_one(p->s, ROW_INSERT, ROWS_ATTEMPT, &row, &e);
    }
    is_int(store_each_open_attempt(p->s, see, &s, &e), 0, "%s: open attempts", p->name);
    check_keys(
        p, "those that have not ended, in order", &s,
        (const uint64_t[]){3 << ATTEMPT_BITS | 1, 6 << ATTEMPT_BITS | 1, 9 << ATTEMPT_BITS | 1}, 3);
    s.stop_after = 1;
    s.stop_with = 7;
    is_int(store_each_open_attempt(p->s, see, &s, &e), 7, "%s: fn stops it", p->name);
    vec_done(&s.keys);
}

/* What index answers it must not matter: each operation's own, in the order of their ids. */
static void test_attempts_of(struct place *p)
{
    static const struct {
        uint32_t operation, limit;
        uint64_t from, to;
        bool descending;
        uint64_t keys[4];
        size_t n;
    } asks[] = {
        {1, 0, 0, UINT64_MAX, false, {1, 4, 7}, 3}, {1, 0, 2, 7, false, {4, 7}, 2},
        {1, 2, 0, UINT64_MAX, true, {7, 4}, 2},     {2, 1, 3, 9, false, {5}, 1},
        {2, 3, 0, 8, true, {8, 5, 2}, 3},           {9, 0, 0, UINT64_MAX, false, {0}, 0},
        {1, 0, UINT64_MAX, 7, false, {0}, 0},       {1, 3, 0, UINT64_MAX, false, {1, 4, 7}, 3},
    };
    struct seen s = {0};
    struct err e = {0};
    uint32_t deleted;
    uint64_t n = 77;

    store_trim(p->s, ROWS_ATTEMPT, 0, UINT64_MAX, 0, &deleted, &e);
    for (uint64_t id = 9; id > 0; id--) {
        union row_any row;

        fix_row(ROWS_ATTEMPT, id, id, &row);
        row.attempt.operation = (uint32_t)(id % 3);
        put_one(p->s, ROW_INSERT, ROWS_ATTEMPT, &row, &e);
    }
    for (size_t i = 0; i < sizeof asks / sizeof *asks; i++) {
        vec_clear(&s.keys);
        is_int(store_attempts_of(p->s, asks[i].operation, asks[i].from, asks[i].to,
                                 asks[i].descending, asks[i].limit, see, &s, &e),
               0, "%s: attempts of an operation (%zu)", p->name, i);
        check_keys(p, "its own, in order", &s, asks[i].keys, asks[i].n);
    }
    s.stop_after = 1;
    s.stop_with = 1;
    vec_clear(&s.keys);
    is_int(store_attempts_of(p->s, 1, 0, 9, false, 1, see, &s, &e), 1,
           "%s: fn stops it, and what it said is returned", p->name);
    is_int(store_attempts_count(p->s, 2, &n, &e), 0, "%s: they are counted", p->name);
    is_int((long)n, 3, "%s: all of them", p->name);
    is_int(store_attempts_count(p->s, 9, &n, &e), 0, "%s: of one that has none", p->name);
    is_int((long)n, 0, "%s: there is none", p->name);
    vec_done(&s.keys);
}

static void test_trim(struct place *p)
{
    struct seen s = {0};
    struct err e = {0};
    uint32_t n = 99;

    store_trim(p->s, ROWS_ASIDE, 0, UINT64_MAX, 0, &n, &e);
    for (uint64_t key = 1; key <= 10; key++) {
        union row_any row;

        fix_row(ROWS_ASIDE, key, key, &row);
        put_one(p->s, ROW_INSERT, ROWS_ASIDE, &row, &e);
    }
    is_int(store_trim(p->s, ROWS_ASIDE, 2, 6, 3, &n, &e), 0, "%s: trim", p->name);
    is_int(n, 3, "%s: a slice", p->name);
    is_int(store_trim(p->s, ROWS_ASIDE, 2, 6, 3, &n, &e), 0, "%s: trim the rest", p->name);
    is_int(n, 2, "%s: fewer than a slice is the end", p->name);
    store_each(p->s, ROWS_ASIDE, see, &s, &e);
    check_keys(p, "the lowest went first", &s, (const uint64_t[]){1, 7, 8, 9, 10}, 5);
    is_int(store_trim(p->s, ROWS_ASIDE, 0, UINT64_MAX, 0, &n, &e), 0, "%s: trim all", p->name);
    is_int(n, 5, "%s: all that were left", p->name);
    is_int(count(p->s, ROWS_ASIDE), 0, "%s: none is left", p->name);
    vec_done(&s.keys);

    for (uint64_t key = 1; key <= 4; key++) {
        union row_any row;

        fix_row(ROWS_IDEMPOTENT, key << 62, key, &row);
        put_one(p->s, ROW_PUT, ROWS_IDEMPOTENT, &row, &e);
    }
    store_trim(p->s, ROWS_IDEMPOTENT, 1, UINT64_MAX, 2, &n, &e);
    is_int(n, 2, "%s: trim across the sign", p->name);
}

/* A history that moves on: new rows at the top, old ones trimmed at the bottom, some taken out. */
static void test_moving(struct place *p)
{
    enum { ROUNDS = 60, STEP = 50, KEEP = 200 };
    struct err e = {0};
    int wrong = 0;
    uint64_t top = 1000;
    uint32_t n;

    store_trim(p->s, ROWS_ASIDE, 0, UINT64_MAX, 0, &n, &e);
    for (int r = 0; r < ROUNDS; r++) {
        union row_any rows[STEP];
        struct row_op ops[STEP];
        struct seen s = {0};

        for (int i = 0; i < STEP; i++) {
            top++;
            fix_row(ROWS_ASIDE, top, top, &rows[i]);
            ops[i] = fix_op(ROW_INSERT, ROWS_ASIDE, &rows[i]);
        }
        wrong += store_commit(p->s, ops, STEP, &e) != 0;
        ops[0].verb = ops[STEP / 2].verb = ROW_DELETE;
        wrong += store_commit(p->s, ops, 1, &e) != 0;
        wrong += store_commit(p->s, ops + STEP / 2, 1, &e) != 0;
        wrong += store_trim(p->s, ROWS_ASIDE, 0, top - KEEP, 0, &n, &e) != 0;
        store_range(p->s, ROWS_ASIDE, 0, top, true, 0, see, &s, &e);
        for (size_t i = 0; i < s.keys.n; i++)
            wrong += s.keys.at[i] <= top - KEEP || (i && s.keys.at[i] >= s.keys.at[i - 1]);
        wrong += r > 4 && s.keys.n != KEEP - KEEP / STEP * 2;
        vec_done(&s.keys);
    }
    is_int(wrong, 0, "%s: %d rounds of growing and trimming", p->name, ROUNDS);
}

static void test_checkpoints(struct place *p)
{
    SCOPED_BUF(body);
    struct err e = {0};
    uint64_t seq = 99;

    is_int(store_checkpoint_find(p->s, 100, &seq, &e), 0, "%s: no checkpoint", p->name);
    is_int(seq, 0, "%s: is number 0", p->name);
    is_int(store_checkpoint_read(p->s, 5, &body, &e), -ERR_NOT_FOUND, "%s: none to read", p->name);
    has_text(e.text, "checkpoint 5", "%s: says which", p->name);

    store_checkpoint_put(p->s, 20, 1, true, str_of("b"), &e);
    store_checkpoint_put(p->s, 10, 0, false, str_of("one "), &e);
    store_checkpoint_put(p->s, 10, 2, true, str_of("three"), &e);
    store_checkpoint_find(p->s, 100, &seq, &e);
    is_int(seq, 0, "%s: a checkpoint with a gap does not count", p->name);
    is_int(store_checkpoint_read(p->s, 10, &body, &e), -ERR_NOT_FOUND, "%s: nor is it read",
           p->name);
    is_int(body.len, 0, "%s: nothing of it", p->name);
    store_checkpoint_put(p->s, 10, 1, false, str_of("wrong"), &e);
    is_int(store_checkpoint_put(p->s, 10, 1, false, str_of("two "), &e), 0, "%s: chunk again",
           p->name);
    store_checkpoint_put(p->s, 15, 0, false, str_of("unfinished"), &e);
    place_reopen(p);
    store_checkpoint_find(p->s, 100, &seq, &e);
    is_int(seq, 10, "%s: the newest whole one", p->name);
    is_int(store_checkpoint_read(p->s, 10, &body, &e), 0, "%s: is read", p->name);
    is_text(body.data, "one two three", "%s: in the order of its chunks", p->name);
    store_checkpoint_put(p->s, 20, 0, false, (struct str){NULL, 0}, &e);
    store_checkpoint_find(p->s, 100, &seq, &e);
    is_int(seq, 20, "%s: completed later", p->name);
    store_checkpoint_find(p->s, 19, &seq, &e);
    is_int(seq, 10, "%s: at or below", p->name);
    ok(store_bytes(p->s) > 0, "%s: has a size", p->name);
    is_int(store_checkpoint_drop(p->s, 20, &e), 0, "%s: drop", p->name);
    store_checkpoint_find(p->s, 19, &seq, &e);
    is_int(seq, 0, "%s: those below are gone", p->name);
    store_checkpoint_find(p->s, 20, &seq, &e);
    is_int(seq, 20, "%s: the one at the number stays", p->name);
}

static void test_inject(struct place *p)
{
    union row_any row;
    struct err e = {0};

    fix_row(ROWS_PLAN, 1, 1, &row);
    store_inject(p->s, 2, ERR_DISK_FULL, false);
    is_int(put_one(p->s, ROW_PUT, ROWS_PLAN, &row, &e), 0, "%s: first commit passes", p->name);
    fix_row(ROWS_PLAN, 50, 1, &row);
    is_int(put_one(p->s, ROW_INSERT, ROWS_PLAN, &row, &e), -ERR_DISK_FULL, "%s: second is refused",
           p->name);
    ok(!holds(p->s, ROWS_PLAN, 50, &row), "%s: nothing was written", p->name);
    is_int(put_one(p->s, ROW_INSERT, ROWS_PLAN, &row, &e), 0, "%s: third passes", p->name);
    store_inject(p->s, 1, ERR_IO, true);
    fix_row(ROWS_PLAN, 51, 1, &row);
    is_int(put_one(p->s, ROW_INSERT, ROWS_PLAN, &row, &e), -ERR_IO, "%s: unknown outcome", p->name);
    place_reopen(p);
    ok(holds(p->s, ROWS_PLAN, 51, &row), "%s: it was written", p->name);
    store_inject(p->s, 1, ERR_IO, true);
    is_int(put_one(p->s, ROW_INSERT, ROWS_PLAN, &row, &e), -ERR_INTERNAL,
           "%s: a real refusal goes before an injected one", p->name);
}

/* Random groups against a plain model of one slot per key. */
enum { MODEL_KEYS = 24, MODEL_GROUPS = 600, MODEL_OPS = 12 };
struct model {
    struct {
        bool there;
        union row_any row;
    } at[MODEL_KEYS];
};

static uint32_t draw(uint64_t *state, uint32_t below)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*state >> 33) % below;
}

static bool model_apply(struct model *m, enum row_table t, const struct row_op *op)
{
    uint64_t key = row_key(t, op->row);

    switch ((enum row_verb)op->verb) {
    case ROW_INSERT:
        if (m->at[key].there)
            return false;
        break;
    case ROW_UPDATE:
        if (!m->at[key].there)
            return false;
        merged(t, &m->at[key].row, op->row, &m->at[key].row);
        return true;
    case ROW_DELETE: m->at[key].there = false; return true;
    case ROW_PUT: break;
    }
    m->at[key].there = true;
    memcpy(&m->at[key].row, op->row, row_layouts[t].size);
    return true;
}

static bool model_equal(struct store *s, const struct model *m, enum row_table t)
{
    SCOPED_BUF(got);
    SCOPED_BUF(want);
    struct err e;

    store_range(s, t, 0, MODEL_KEYS - 1, false, 0, fix_append, &got, &e);
    for (int k = 0; k < MODEL_KEYS; k++)
        if (m->at[k].there)
            row_encode(&want, t, &m->at[k].row);
    return str_eq(buf_str(&got), buf_str(&want));
}

static void test_random(struct place *p, enum row_table t)
{
    struct model *m = xcalloc(1, sizeof *m), *next = xcalloc(1, sizeof *next);
    uint64_t seed = 20240501;
    int wrong = 0, refused = 0;
    struct err e = {0};
    uint32_t deleted;

    store_trim(p->s, t, 0, UINT64_MAX, 0, &deleted, &e);
    for (int g = 0; g < MODEL_GROUPS && !wrong; g++) {
        union row_any rows[MODEL_OPS];
        struct row_op ops[MODEL_OPS];
        size_t n = 1 + draw(&seed, MODEL_OPS);
        bool good = true;
        int rc;

        *next = *m;
        for (size_t i = 0; i < n; i++) {
            uint64_t key = draw(&seed, MODEL_KEYS);
            enum row_verb verb = (enum row_verb)draw(&seed, 4);

            /* Mostly sensible operations, or hardly a group would pass. */
            if (good && draw(&seed, 20) && verb < ROW_PUT)
                verb = next->at[key].there ? ROW_UPDATE : ROW_INSERT;
            fix_row(t, key, 1 + draw(&seed, 100000), &rows[i]);
            ops[i] = fix_op(verb, t, &rows[i]);
            good = good && model_apply(next, t, &ops[i]);
        }
        rc = store_commit(p->s, ops, n, &e);
        wrong += rc != (good ? 0 : -ERR_INTERNAL);
        refused += !good;
        if (good)
            *m = *next;
        if (draw(&seed, 40) == 0)
            place_reopen(p);
        if (draw(&seed, 3) == 0)
            wrong += !model_equal(p->s, m, t);
    }
    ok(!wrong && model_equal(p->s, m, t), "%s: %d random groups on %s as the model says", p->name,
       MODEL_GROUPS, row_layouts[t].name);
    ok(refused > 20 && refused < MODEL_GROUPS / 2, "%s: %d of them were refused", p->name, refused);
    free(m);
    free(next);
}

int main(void)
{
    for (int sqlite = 0; sqlite < 2; sqlite++) {
        struct place p = place_new(sqlite);

        test_each_table(&p);
        test_whole_group(&p);
        test_refused(&p);
        test_order_in_group(&p);
        test_range(&p);
        test_open_attempts(&p);
        test_attempts_of(&p);
        test_trim(&p);
        test_moving(&p);
        test_checkpoints(&p);
        test_inject(&p);
        test_random(&p, ROWS_DOCUMENT);
        test_random(&p, ROWS_NODEROLE);
        test_random(&p, ROWS_ATTEMPT);
        place_done(&p);
    }
    return tap_done();
}
