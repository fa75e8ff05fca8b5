/* verify.c - the stored state, computed twice */
/* SPDX-License-Identifier: Apache-2.0 */
#include "server/verify.h"

#include <inttypes.h>

#include "server/restore.h"
#include "server/server_i.h"
#include "store/store.h"

/* Another version wrote the journal: by which rules and with which settings is not known here. */
static int untold(uint64_t from, uint64_t to, struct err *e)
{
    err_set(e, ERR_REFUSED,
            "journal %" PRIu64 " to %" PRIu64
            " was written by an earlier version, by whose rules this one cannot replay it; the "
            "stored rows fit together",
            from + 1, to);
    return err_hint(e, "start anneald on it once: it begins a history that can be replayed");
}

static int replay(struct store *s, struct anneal *a, uint64_t from, uint64_t to, struct err *e)
{
    SCOPED_BUF(checkpoint);
    uint64_t replayed = 0;
    int r = from ? store_checkpoint_read(s, from, &checkpoint, e) : 0;
    if (r >= 0)
        r = restore_replay(s, buf_str(&checkpoint), from, &replayed, e);
    if (r >= 0 && replayed != anneal_digest(a))
        r = err_set(e, ERR_CORRUPT,
                    "replay from journal %" PRIu64 " to %" PRIu64 " differs from what is stored",
                    from, to);
    return r;
}

static int compare(struct store *s, uint64_t *ret_events, struct err *e)
{
    struct anneal *a = NULL;
    struct commit *c = NULL;
    struct engine_settings told;
    struct row_meta meta;
    uint64_t seq = 0;
    int r = restore_engine(s, &a, &c, &meta, e);
    if (r < 0)
        return r;
    r = anneal_check(a, e);
    if (r >= 0)
        r = store_checkpoint_find(s, meta.journal_seq, &seq, e);
    if (r >= 0 && seq < meta.journal_seq && !anneal_settings(a, &told))
        r = untold(seq, meta.journal_seq, e);
    if (r >= 0)
        r = replay(s, a, seq, meta.journal_seq, e);
    *ret_events = meta.journal_seq - seq;
    commit_free(c);
    anneal_free(a);
    return r < 0 ? r : 0;
}

int verify_store(const char *path, uint64_t *ret_events, struct err *e)
{
    struct store_options o = {.path = path, .as_is = true};
    struct store *s;
    int r = store_open(&o, &s, e);
    if (r < 0)
        return r;
    r = compare(s, ret_events, e);
    store_close(s);
    return r;
}
