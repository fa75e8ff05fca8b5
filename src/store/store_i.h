/* store_i.h - what a backend of the store must do
 *
 * A backend embeds struct store as its first member.  store.c has checked arguments and injected
 * faults before it calls in, so that both backends see the same calls.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef STORE_STORE_I_H
#define STORE_STORE_I_H

#include "store/store.h"

struct store_backend {
    void (*close)(struct store *s);
    int (*commit)(struct store *s, const struct row_op *ops, size_t n, struct err *e);
    int (*range)(struct store *s, enum row_table t, uint64_t from, uint64_t to, bool descending,
                 uint32_t limit, store_row_f *fn, void *arg, struct err *e);
    int (*each_open_attempt)(struct store *s, store_row_f *fn, void *arg, struct err *e);
    int (*attempts_of)(struct store *s, uint32_t operation, uint64_t from, uint64_t to,
                       bool descending, uint32_t limit, store_row_f *fn, void *arg, struct err *e);
    int (*attempts_count)(struct store *s, uint32_t operation, uint64_t *ret_n, struct err *e);
    int (*trim)(struct store *s, enum row_table t, uint64_t from, uint64_t to, uint32_t slice,
                uint32_t *ret_deleted, struct err *e);
    int (*checkpoint_put)(struct store *s, uint64_t seq, uint32_t chunk, bool last, struct str body,
                          struct err *e);
    int (*checkpoint_find)(struct store *s, uint64_t seq, uint64_t *ret_seq, struct err *e);
    int (*checkpoint_read)(struct store *s, uint64_t seq, struct buf *ret_body, struct err *e);
    int (*checkpoint_drop)(struct store *s, uint64_t below_seq, struct err *e);
    int (*backup)(struct store *s, const char *to_path,
                  void (*progress)(void *arg, int done, int total), void *arg, struct err *e);
    uint64_t (*bytes)(struct store *s);
};

struct store {
    const struct store_backend *backend;
    uint32_t readers;    /* calls of store_row_f under way: nothing may be written then */
    uint32_t inject_nth; /* 0: no fault is due */
    enum errcode inject_code;
    bool inject_after;
};

struct store *store_mem_open(void);
int store_sqlite_open(const struct store_options *o, struct store **ret_s, struct err *e);

/* One wording for both backends: a key that is there (INSERT) or is not (UPDATE), a checkpoint of
 * which no or not every chunk is there. */
int store_key_error(const struct row_op *op, struct err *e);
int store_checkpoint_missing(uint64_t seq, struct err *e);

#endif
