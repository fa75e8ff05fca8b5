/* store_mem.c - the store in memory, for the simulator and for tests
 *
 * A commit has two passes.  The first changes only the maps of the tables, may fail, and can be
 * undone in reverse; the second copies the rows and cannot fail.  Hence all or nothing without a
 * copy of what is overwritten.
 *
 * What was committed belongs to struct mem_rows, which handles share by counting:
 * store_mem_reopen() is a process that starts again after a crash.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "store/store_mem_i.h"

#include <assert.h>
#include <stdlib.h>

struct mem_chunk {
    uint64_t seq;
    uint32_t chunk;
    bool last;
    struct buf body;
};
struct mem_rows {
    uint32_t handles;
    struct mem_table tables[ROWS_COUNT];
    VEC(struct mem_chunk) chunks; /* by seq, then chunk */
};

struct mem_store {
    struct store base;
    struct mem_rows *rows;
    VEC(struct mem_change) changes; /* of the commit under way */
};

static int mem_commit(struct store *s, const struct row_op *ops, size_t n, struct err *e)
{
    struct mem_store *m = (struct mem_store *)s;
    struct mem_table *tables = m->rows->tables;
    struct mem_change *changes;

    vec_reserve(&m->changes, n);
    changes = m->changes.at;
    for (size_t i = 0; i < n; i++) {
        if (store_table_begin(&tables[ops[i].table], &ops[i], &changes[i]))
            continue;
        for (size_t j = i; j-- > 0;)
            store_table_undo(&tables[ops[j].table], &ops[j], &changes[j]);
        return store_key_error(&ops[i], e);
    }
    for (size_t i = 0; i < n; i++)
        store_table_apply(&tables[ops[i].table], &ops[i], &changes[i]);
    for (size_t i = 0; i < n; i++)
        store_table_finish(&tables[ops[i].table], &changes[i]);
    return 0;
}

static int mem_range(struct store *s, enum row_table table, uint64_t from, uint64_t to,
                     bool descending, uint32_t limit, store_row_f *fn, void *arg, struct err *e)
{
    struct mem_table *t = &((struct mem_store *)s)->rows->tables[table];
    size_t lo, hi;
    uint32_t seen = 0;

    store_table_settle(t);
    lo = store_table_find(t, from);
    hi = to == UINT64_MAX ? t->order.n : store_table_find(t, to + 1);
    while (lo < hi && (!limit || seen < limit)) {
        const void *row = store_table_row(t, descending ? --hi : lo++);
        int rc;

        if (!row)
            continue;
        seen++;
        rc = fn(arg, table, row, e);
        if (rc)
            return rc;
    }
    return 0;
}

struct open_filter {
    store_row_f *fn;
    void *arg;
};

static int open_only(void *arg, enum row_table t, const void *row, struct err *e)
{
    const struct open_filter *f = arg;

    return ((const struct row_attempt *)row)->outcome == ATTEMPT_OPEN ? f->fn(f->arg, t, row, e)
                                                                      : 0;
}

static int mem_each_open_attempt(struct store *s, store_row_f *fn, void *arg, struct err *e)
{
    struct open_filter f = {fn, arg};

    return mem_range(s, ROWS_ATTEMPT, 0, UINT64_MAX, false, 0, open_only, &f, e);
}

struct operation_filter {
    store_row_f *fn;
    void *arg;
    uint32_t operation, limit, seen;
};

enum { MEM_ENOUGH = 1 }; /* what was asked for has been seen; never leaves this file */

static int operation_only(void *arg, enum row_table t, const void *row, struct err *e)
{
    struct operation_filter *f = arg;
    int rc;

    if (((const struct row_attempt *)row)->operation != f->operation || !attempt_began(row))
        return 0;
    if (f->limit && f->seen == f->limit)
        return MEM_ENOUGH;
    f->seen++;
    rc = f->fn ? f->fn(f->arg, t, row, e) : 0;
    if (rc)
        f->limit = f->seen = 0; /* it is fn that stopped */
    return rc;
}

/* Looks at all of them: the simulator's stores are small. */
static int mem_attempts_of(struct store *s, uint32_t operation, uint64_t from, uint64_t to,
                           bool descending, uint32_t limit, store_row_f *fn, void *arg,
                           struct err *e)
{
    struct operation_filter f = {fn, arg, operation, limit, 0};
    int rc = mem_range(s, ROWS_ATTEMPT, from, to, descending, 0, operation_only, &f, e);

    return f.limit && rc == MEM_ENOUGH ? 0 : rc;
}

static int mem_attempts_count(struct store *s, uint32_t operation, uint64_t *ret_n, struct err *e)
{
    struct operation_filter f = {.operation = operation};
    int rc = mem_range(s, ROWS_ATTEMPT, 0, UINT64_MAX, false, 0, operation_only, &f, e);

    *ret_n = f.seen;
    return rc;
}

static int mem_trim(struct store *s, enum row_table table, uint64_t from, uint64_t to,
                    uint32_t slice, uint32_t *ret_deleted, struct err *e)
{
    struct mem_table *t = &((struct mem_store *)s)->rows->tables[table];
    uint32_t deleted = 0;

    (void)e;
    store_table_settle(t);
    for (size_t i = store_table_find(t, from); i < t->order.n && t->order.at[i].key <= to; i++) {
        if (!store_table_row(t, i))
            continue;
        if (slice && deleted == slice)
            break;
        store_table_remove(t, &t->order.at[i]);
        deleted++;
    }
    *ret_deleted = deleted;
    return 0;
}

static int mem_checkpoint_put(struct store *s, uint64_t seq, uint32_t chunk, bool last,
                              struct str body, struct err *e)
{
    struct mem_rows *r = ((struct mem_store *)s)->rows;
    struct mem_chunk *c;
    size_t i = r->chunks.n;

    (void)e;
    while (i && (r->chunks.at[i - 1].seq > seq ||
                 (r->chunks.at[i - 1].seq == seq && r->chunks.at[i - 1].chunk > chunk)))
        i--;
    if (i && r->chunks.at[i - 1].seq == seq && r->chunks.at[i - 1].chunk == chunk) {
        c = &r->chunks.at[i - 1];
    } else {
        (void)vec_add(&r->chunks);
        c = &r->chunks.at[i];
        memmove(c + 1, c, (r->chunks.n - 1 - i) * sizeof *c);
        *c = (struct mem_chunk){.seq = seq, .chunk = chunk};
    }
    c->last = last;
    buf_clear(&c->body);
    buf_put(&c->body, body.s, body.n);
    return 0;
}

/* Number of chunks from i on that make one whole checkpoint; 0 if a chunk is missing. */
static size_t chunks_whole(const struct mem_rows *r, size_t i)
{
    uint64_t seq = r->chunks.at[i].seq;

    for (size_t n = 0; i + n < r->chunks.n && r->chunks.at[i + n].seq == seq; n++) {
        if (r->chunks.at[i + n].chunk != n)
            return 0;
        if (r->chunks.at[i + n].last)
            return n + 1;
    }
    return 0;
}

static int mem_checkpoint_find(struct store *s, uint64_t seq, uint64_t *ret_seq, struct err *e)
{
    const struct mem_rows *r = ((struct mem_store *)s)->rows;
    uint64_t best = 0;

    (void)e;
    for (size_t i = 0; i < r->chunks.n && r->chunks.at[i].seq <= seq; i++)
        if (r->chunks.at[i].chunk == 0 && chunks_whole(r, i))
            best = r->chunks.at[i].seq;
    *ret_seq = best;
    return 0;
}

static int mem_checkpoint_read(struct store *s, uint64_t seq, struct buf *ret_body, struct err *e)
{
    const struct mem_rows *r = ((struct mem_store *)s)->rows;
    size_t i = 0, n;

    while (i < r->chunks.n && r->chunks.at[i].seq != seq)
        i++;
    n = i < r->chunks.n ? chunks_whole(r, i) : 0;
    if (!n)
        return store_checkpoint_missing(seq, e);
    for (size_t k = 0; k < n; k++)
        buf_put(ret_body, r->chunks.at[i + k].body.data, r->chunks.at[i + k].body.len);
    return 0;
}

static int mem_checkpoint_drop(struct store *s, uint64_t below_seq, struct err *e)
{
    struct mem_rows *r = ((struct mem_store *)s)->rows;
    size_t n = 0;

    (void)e;
    while (n < r->chunks.n && r->chunks.at[n].seq < below_seq)
        buf_done(&r->chunks.at[n++].body);
    if (n) {
        memmove(r->chunks.at, r->chunks.at + n, (r->chunks.n - n) * sizeof *r->chunks.at);
        r->chunks.n -= n;
    }
    return 0;
}

static int mem_backup(struct store *s, const char *to_path,
                      void (*progress)(void *arg, int done, int total), void *arg, struct err *e)
{
    (void)s, (void)progress, (void)arg;
    err_set(e, ERR_REFUSED, "store: a store in memory has no backup");
    return err_at(e, "%s", to_path);
}

static uint64_t mem_bytes(struct store *s)
{
    const struct mem_rows *r = ((struct mem_store *)s)->rows;
    uint64_t sum = 0;

    for (int i = 0; i < ROWS_COUNT; i++)
        sum += r->tables[i].n_slots * r->tables[i].stride + r->tables[i].text_bytes;
    for (size_t i = 0; i < r->chunks.n; i++)
        sum += r->chunks.at[i].body.len;
    return sum;
}

static void mem_close(struct store *s)
{
    struct mem_store *m = (struct mem_store *)s;
    struct mem_rows *r = m->rows;

    if (!--r->handles) {
        for (int i = 0; i < ROWS_COUNT; i++)
            store_table_done(&r->tables[i]);
        for (size_t i = 0; i < r->chunks.n; i++)
            buf_done(&r->chunks.at[i].body);
        vec_done(&r->chunks);
        free(r);
    }
    vec_done(&m->changes);
    free(m);
}

static const struct store_backend mem_backend = {
    .close = mem_close,
    .commit = mem_commit,
    .range = mem_range,
    .each_open_attempt = mem_each_open_attempt,
    .attempts_of = mem_attempts_of,
    .attempts_count = mem_attempts_count,
    .trim = mem_trim,
    .checkpoint_put = mem_checkpoint_put,
    .checkpoint_find = mem_checkpoint_find,
    .checkpoint_read = mem_checkpoint_read,
    .checkpoint_drop = mem_checkpoint_drop,
    .backup = mem_backup,
    .bytes = mem_bytes,
};

static struct store *mem_handle(struct mem_rows *r)
{
    struct mem_store *m = xcalloc(1, sizeof *m);

    m->base.backend = &mem_backend;
    m->rows = r;
    r->handles++;
    return &m->base;
}

struct store *store_mem_open(void)
{
    struct mem_rows *r = xcalloc(1, sizeof *r);

    for (int i = 0; i < ROWS_COUNT; i++)
        store_table_init(&r->tables[i], &row_layouts[i]);
    return mem_handle(r);
}

struct store *store_mem_reopen(struct store *s)
{
    assert(s->backend == &mem_backend);
    return mem_handle(((struct mem_store *)s)->rows);
}
