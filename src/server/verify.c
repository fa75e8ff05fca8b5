/* verify.c - the stored state, computed twice */
/* SPDX-License-Identifier: Apache-2.0 */
#include "server/verify.h"

#include <inttypes.h>

#include "server/restore.h"
#include "server/server_i.h"
#include "store/store.h"

static int compare(struct store *s, const struct anneal_options *o, uint64_t *ret_events,
                   struct err *e)
{
    struct anneal *a = NULL;
    struct commit *c = NULL;
    struct row_meta meta;
    SCOPED_BUF(checkpoint);
    uint64_t seq = 0, replayed = 0;
    int r = restore_engine(s, o, &a, &c, &meta, e);
    if (r < 0)
        return r;
    r = store_checkpoint_find(s, meta.journal_seq, &seq, e);
    if (r >= 0 && seq)
        r = store_checkpoint_read(s, seq, &checkpoint, e);
    if (r >= 0)
        r = restore_replay(s, buf_str(&checkpoint), seq, o, &replayed, e);
    if (r >= 0 && replayed != anneal_digest(a))
        r = err_set(e, ERR_CORRUPT,
                    "replay from journal %" PRIu64 " to %" PRIu64 " differs from what is stored",
                    seq, meta.journal_seq);
    if (r >= 0)
        r = anneal_check(a, e);
    *ret_events = meta.journal_seq - seq;
    commit_free(c);
    anneal_free(a);
    return r < 0 ? r : 0;
}

int verify_store(const char *path, const struct opts *opts, uint64_t *ret_events, struct err *e)
{
    struct anneal_options engine = server_engine_options(opts);
    struct store_options o = {.path = path};
    struct store *s;
    int r = store_open(&o, &s, e);
    if (r < 0)
        return r;
    r = compare(s, &engine, ret_events, e);
    store_close(s);
    return r;
}
