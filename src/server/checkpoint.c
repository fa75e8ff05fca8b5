/* checkpoint.c - taking checkpoints and keeping the journal within its bounds
 *
 * The state is serialised on the loop thread when memory equals the store (nothing open, nothing
 * flying); chunks are written by the writer thread between groups, so that no transaction is long.
 * Events go only once a checkpoint above them is complete: what is kept can always be replayed from
 * its beginning.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "server/checkpoint.h"

#include <stdlib.h>

#include "base/log.h"
#include "server/server_i.h"

enum { CHECKPOINT_EVERY = 200000, CHUNK_BYTES = 1 << 20, TRIM_SLICE = 5000 };

struct taking {
    struct server *server;
    struct buf body;
    uint64_t seq;
    size_t at;
    uint32_t chunk;
    uint64_t trim_below; /* journal numbers below it go */
    bool trimming;
    struct err failure;
};

static void work(void *arg);

/* One chunk or one slice of trimming per job: groups get their turn in between. */
static void done(void *arg)
{
    struct taking *t = arg;
    struct server *s = t->server;
    if (t->failure.code != ERR_NONE) {
        log_err(LOG_WARN, "checkpoint", &t->failure);
    } else if (t->at < t->body.len || t->trimming) {
        pool_submit(s->writer, work, done, t);
        return;
    } else {
        log_line(LOG_DEBUG, "checkpoint", LOGI("journal", t->seq), LOGI("bytes", t->body.len));
    }
    s->checkpointing = false;
    buf_done(&t->body);
    free(t);
}

static void work(void *arg)
{
    struct taking *t = arg;
    struct store *store = t->server->store;
    if (t->at < t->body.len) {
        size_t n = t->body.len - t->at < CHUNK_BYTES ? t->body.len - t->at : CHUNK_BYTES;
        bool last = t->at + n == t->body.len;
        if (store_checkpoint_put(store, t->seq, t->chunk++, last,
                                 (struct str){t->body.data + t->at, n}, &t->failure) >= 0)
            t->at += n;
        t->trimming = last && t->trim_below > 1;
        return;
    }
    uint32_t deleted = 0;
    if (store_trim(store, ROWS_JOURNAL, 1, t->trim_below - 1, TRIM_SLICE, &deleted, &t->failure) <
        0)
        return;
    if (deleted < TRIM_SLICE) {
        t->trimming = false;
        if (store_trim(store, ROWS_PLAN, 1, t->trim_below - 1, 0, &deleted, &t->failure) >= 0)
            (void)store_checkpoint_drop(store, t->trim_below - 1, &t->failure);
    }
}

struct event_age {
    uint64_t id, wall_ms;
};

static int take_age(void *arg, enum row_table t, const void *row, struct err *e)
{
    const struct row_journal *r = row;
    (void)t;
    (void)e;
    *(struct event_age *)arg = (struct event_age){r->id, r->wall_ms};
    return 0;
}

/* The last event that is older than journal_keep, by halving: numbers are dense and times rise with
 * them. */
static uint64_t last_old_event(struct server *s, uint64_t newest)
{
    uint64_t now = server_wall_ms(), keep = s->opts->journal_keep;
    uint64_t before = now > keep ? now - keep : 0, low = 0, high = newest;
    while (low < high) {
        uint64_t middle = low + (high - low + 1) / 2;
        struct event_age age = {0};
        struct err e;
        if (store_range(s->reader, ROWS_JOURNAL, middle, newest, false, 1, take_age, &age, &e) < 0)
            return 0;
        if (age.id && age.wall_ms < before)
            low = age.id;
        else
            high = middle - 1;
    }
    return low;
}

/* Events up to the returned number minus one may go: a checkpoint that is kept stands for them. */
static uint64_t trim_point(struct server *s)
{
    struct err e;
    uint64_t newest = commit_seq(s->commit), base = 0;
    uint64_t up_to = store_bytes(s->reader) > s->opts->journal_keep_bytes
                         ? newest
                         : last_old_event(s, newest);
    if (!up_to || store_checkpoint_find(s->reader, up_to, &base, &e) < 0 || !base)
        return 0;
    return base + 1;
}

int checkpoint_history(struct server *s, struct err *e)
{
    uint64_t seq = commit_seq(s->commit);
    SCOPED_BUF(body);
    if (seq == s->checkpoint_seq) /* 0: of a new store */
        return 0;
    anneal_save(s->engine, &body);
    for (size_t at = 0, chunk = 0, n; at < body.len; at += n, chunk++) {
        n = body.len - at < CHUNK_BYTES ? body.len - at : CHUNK_BYTES;
        int r = store_checkpoint_put(s->store, seq, (uint32_t)chunk, at + n == body.len,
                                     (struct str){body.data + at, n}, e);
        if (r < 0)
            return err_wrap(e, "checkpoint");
    }
    s->checkpoint_seq = seq;
    log_line(LOG_INFO, "checkpoint", LOGI("journal", seq), LOGI("bytes", body.len),
             LOGT("why", "what was before is not replayed by this version"));
    return 0;
}

void checkpoint_consider(struct server *s)
{
    uint64_t seq = commit_seq(s->commit);
    uint64_t every = (uint64_t)anneal_task_end(s->engine) *
                     2; /* a large state is copied less often */
    if (every < CHECKPOINT_EVERY)
        every = CHECKPOINT_EVERY;
    if (s->checkpointing || s->flying || commit_has_work(s->commit) ||
        seq < s->checkpoint_seq + every)
        return;
    struct taking *t = xcalloc(1, sizeof *t);
    t->server = s;
    t->seq = seq;
    t->trim_below = trim_point(s);
    anneal_save(s->engine, &t->body);
    s->checkpoint_seq = seq;
    s->checkpointing = true;
    pool_submit(s->writer, work, done, t);
}
