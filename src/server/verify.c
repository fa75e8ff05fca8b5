/* verify.c - the stored state, computed twice */
/* SPDX-License-Identifier: Apache-2.0 */
#include "server/verify.h"

#include <inttypes.h>

#include "server/restore.h"
#include "server/server_i.h"
#include "store/store.h"

static int differs(struct anneal *a, uint64_t from, uint64_t to, struct err *e)
{
    struct engine_settings by;
    if (anneal_settings(a, &by))
        return err_set(e, ERR_CORRUPT,
                       "replay from journal %" PRIu64 " to %" PRIu64 " differs from what is stored",
                       from, to);
    err_set(e, ERR_REFUSED,
            "what the server ran with is not in this journal: by the defaults its replay from "
            "%" PRIu64 " to %" PRIu64 " differs from what is stored",
            from, to);
    return err_hint(e, "start anneald on it once: it begins a history that can be replayed");
}

static int compare(struct store *s, uint64_t *ret_events, struct err *e)
{
    struct anneal *a = NULL;
    struct commit *c = NULL;
    struct row_meta meta;
    SCOPED_BUF(checkpoint);
    uint64_t seq = 0, replayed = 0;
    int r = restore_engine(s, &a, &c, &meta, e);
    if (r < 0)
        return r;
    r = store_checkpoint_find(s, meta.journal_seq, &seq, e);
    if (r >= 0 && seq)
        r = store_checkpoint_read(s, seq, &checkpoint, e);
    if (r >= 0)
        r = restore_replay(s, buf_str(&checkpoint), seq, &replayed, e);
    if (r >= 0 && replayed != anneal_digest(a))
        r = differs(a, seq, meta.journal_seq, e);
    if (r >= 0)
        r = anneal_check(a, e);
    *ret_events = meta.journal_seq - seq;
    commit_free(c);
    anneal_free(a);
    return r < 0 ? r : 0;
}

int verify_store(const char *path, uint64_t *ret_events, struct err *e)
{
    struct store_options o = {.path = path};
    struct store *s;
    int r = store_open(&o, &s, e);
    if (r < 0)
        return r;
    r = compare(s, ret_events, e);
    store_close(s);
    return r;
}
