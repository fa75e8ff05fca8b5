/* store.c - the calls of store.h, handed to the backend that was opened
 *
 * Owns what both backends share: injected faults and the rule that nothing is written while rows
 * are being read out through the same handle.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "store/store.h"

#include <assert.h>

#include "store/store_i.h"

int store_open(const struct store_options *o, struct store **ret_s, struct err *e)
{
    if (o->path)
        return store_sqlite_open(o, ret_s, e);
    *ret_s = store_mem_open();
    return 0;
}

void store_close(struct store *s)
{
    if (s)
        s->backend->close(s);
}

int store_key_error(const struct row_op *op, struct err *e)
{
    return err_set(e, ERR_INTERNAL, "store: %s of %s %llu, which is %s",
                   op->verb == ROW_INSERT ? "insert" : "update", row_layouts[op->table].name,
                   (unsigned long long)row_key(op->table, op->row),
                   op->verb == ROW_INSERT ? "already there" : "not there");
}

int store_checkpoint_missing(uint64_t seq, struct err *e)
{
    return err_set(e, ERR_NOT_FOUND, "store: there is no whole checkpoint %llu",
                   (unsigned long long)seq);
}

int store_commit(struct store *s, const struct row_op *ops, size_t n, struct err *e)
{
    int rc;

    assert(!s->readers);
    if (!s->inject_nth || --s->inject_nth)
        return s->backend->commit(s, ops, n, e);
    if (!s->inject_after)
        return err_set(e, s->inject_code, "store: injected fault, nothing was written");
    rc = s->backend->commit(s, ops, n, e);
    if (rc)
        return rc;
    return err_set(e, s->inject_code, "store: injected fault, the outcome is unknown");
}

void store_inject(struct store *s, uint32_t nth, enum errcode code, bool after)
{
    s->inject_nth = nth;
    s->inject_code = code;
    s->inject_after = after;
}

int store_range(struct store *s, enum row_table t, uint64_t from, uint64_t to, bool descending,
                uint32_t limit, store_row_f *fn, void *arg, struct err *e)
{
    int rc;

    s->readers++;
    rc = s->backend->range(s, t, from, to, descending, limit, fn, arg, e);
    s->readers--;
    return rc;
}

int store_each(struct store *s, enum row_table t, store_row_f *fn, void *arg, struct err *e)
{
    return store_range(s, t, 0, UINT64_MAX, false, 0, fn, arg, e);
}

int store_each_open_attempt(struct store *s, store_row_f *fn, void *arg, struct err *e)
{
    int rc;

    s->readers++;
    rc = s->backend->each_open_attempt(s, fn, arg, e);
    s->readers--;
    return rc;
}

int store_attempts_of(struct store *s, uint32_t operation, uint64_t from, uint64_t to,
                      bool descending, uint32_t limit, store_row_f *fn, void *arg, struct err *e)
{
    int rc;

    s->readers++;
    rc = s->backend->attempts_of(s, operation, from, to, descending, limit, fn, arg, e);
    s->readers--;
    return rc;
}

int store_attempts_count(struct store *s, uint32_t operation, uint64_t *ret_n, struct err *e)
{
    return s->backend->attempts_count(s, operation, ret_n, e);
}

int store_trim(struct store *s, enum row_table t, uint64_t from, uint64_t to, uint32_t slice,
               uint32_t *ret_deleted, struct err *e)
{
    assert(!s->readers);
    return s->backend->trim(s, t, from, to, slice, ret_deleted, e);
}

int store_checkpoint_put(struct store *s, uint64_t seq, uint32_t chunk, bool last, struct str body,
                         struct err *e)
{
    assert(!s->readers);
    return s->backend->checkpoint_put(s, seq, chunk, last, body, e);
}

int store_checkpoint_find(struct store *s, uint64_t seq, uint64_t *ret_seq, struct err *e)
{
    return s->backend->checkpoint_find(s, seq, ret_seq, e);
}

int store_checkpoint_read(struct store *s, uint64_t seq, struct buf *ret_body, struct err *e)
{
    return s->backend->checkpoint_read(s, seq, ret_body, e);
}

int store_checkpoint_drop(struct store *s, uint64_t below_seq, struct err *e)
{
    assert(!s->readers);
    return s->backend->checkpoint_drop(s, below_seq, e);
}

int store_backup(struct store *s, const char *to_path,
                 void (*progress)(void *arg, int done, int total), void *arg, struct err *e)
{
    return s->backend->backup(s, to_path, progress, arg, e);
}

uint64_t store_bytes(struct store *s)
{
    return s->backend->bytes(s);
}
