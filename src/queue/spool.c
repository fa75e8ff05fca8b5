/* spool.c - lanes of letters, what of them is on disk, and what is dropped first */
/* SPDX-License-Identifier: Apache-2.0 */
#include "queue/spool_i.h"

#include <assert.h>
#include <stdlib.h>

#include "base/digest.h"
#include "base/map.h"
#include "queue/spool_file_i.h"
#include "sys/fs.h"

enum { WORDS_BYTES = 4 << 20, MEMORY_BYTES = 8 << 20, SPOOL_BYTES = 256 << 20 };

struct lane {
    VEC(struct letter) list;
    size_t head; /* the first that was not taken */
    size_t bytes;
};
struct spool {
    const struct queue_words *words;
    size_t memory_bytes, spool_bytes;
    struct lane result, word, log;
    struct spool_file results, logs;
    struct letter state; /* bytes NULL: none */
    struct u64map there; /* digests of results and words that were not done with */
    struct u64map holes; /* owner -> bytes of its output that were dropped */
    uint64_t dropped;    /* all of them */
    uint64_t arrival;
    bool behind; /* there is something to catch up with */
};

static void lane_push(struct lane *l, struct letter x)
{
    vec_push(&l->list, x);
    l->bytes += x.n;
}

static bool lane_empty(const struct lane *l)
{
    return l->head == l->list.n;
}

static struct letter lane_pop(struct lane *l)
{
    struct letter x = l->list.at[l->head++];
    l->bytes -= x.n;
    if (l->head == l->list.n) {
        vec_clear(&l->list);
        l->head = 0;
    } else if (l->head > 1024 && l->head * 2 > l->list.n) {
        memmove(l->list.at, l->list.at + l->head, (l->list.n - l->head) * sizeof *l->list.at);
        l->list.n -= l->head;
        l->head = 0;
    }
    return x;
}

static void lane_done(struct lane *l)
{
    while (!lane_empty(l))
        free(lane_pop(l).bytes);
    vec_done(&l->list);
}

void letters_done(struct letters *batch)
{
    for (size_t i = 0; i < batch->list.n; i++)
        free(batch->list.at[i].bytes);
    vec_done(&batch->list);
}

static void found_result(void *arg, struct str record)
{
    struct spool *s = arg;
    u64map_put(&s->there, digest_64(record.s, record.n), 1);
}

static void found_log(void *arg, struct str record)
{
    (void)arg;
    (void)record;
}

int spool_open(const struct spool_options *o, struct spool **ret_s, struct err *e)
{
    struct spool *s = xcalloc(1, sizeof *s);
    s->words = o->words;
    s->memory_bytes = o->memory_bytes ? o->memory_bytes : MEMORY_BYTES;
    s->spool_bytes = o->spool_bytes ? o->spool_bytes : SPOOL_BYTES;
    s->results.fd = s->logs.fd = -1;
    int r = fs_mkdirs(o->dir, 0700, e);
    if (r >= 0)
        r = spool_file_open(&s->results, o->dir, "results.spool", found_result, s, e);
    if (r >= 0)
        r = spool_file_open(&s->logs, o->dir, "logs.spool", found_log, s, e);
    if (r < 0) {
        spool_close(s);
        return r;
    }
    s->behind = s->results.end || s->logs.end;
    *ret_s = s;
    return 0;
}

void spool_close(struct spool *s)
{
    if (!s)
        return;
    lane_done(&s->result);
    lane_done(&s->word);
    lane_done(&s->log);
    free(s->state.bytes);
    spool_file_close(&s->results);
    spool_file_close(&s->logs);
    u64map_done(&s->there);
    u64map_done(&s->holes);
    free(s);
}

uint64_t spool_dropped(const struct spool *s)
{
    return s->dropped;
}

static bool disk_room(const struct spool *s, size_t n)
{
    return s->results.end + s->logs.end + spool_file_size(n) <= s->spool_bytes;
}

static void log_drop(struct spool *s, struct str log)
{
    uintptr_t bytes = 0;
    uint64_t owner = s->words->owner(log);
    (void)u64map_get(&s->holes, owner, &bytes);
    (void)u64map_put(&s->holes, owner, bytes + log.n);
    s->dropped += log.n;
}

/* Memory is full of output: all of it goes behind what is on disk, as far as there is room. */
static void logs_spill(struct spool *s)
{
    s->behind = true;
    while (!lane_empty(&s->log)) {
        struct letter x = lane_pop(&s->log);
        struct str text = {x.bytes, x.n};
        if (!disk_room(s, x.n) || spool_file_append(&s->logs, text, NULL) < 0)
            log_drop(s, text);
        free(x.bytes);
    }
}

static void put_known(struct spool *s, struct lane *l, struct letter x, size_t most)
{
    uint64_t digest = digest_64(x.bytes, x.n);
    if (u64map_get(&s->there, digest, NULL) || l->bytes + x.n > most) {
        free(x.bytes); /* who says it says it again until it is answered */
        return;
    }
    (void)u64map_put(&s->there, digest, 1);
    lane_push(l, x);
}

void spool_put(struct spool *s, struct str message)
{
    struct letter x = {.bytes = xstrndup(message.s, message.n),
                       .n = message.n,
                       .arrival = ++s->arrival,
                       .rank = s->words->rank(message)};
    switch (x.rank) {
    case QUEUE_RESULT: put_known(s, &s->result, x, s->spool_bytes); break;
    case QUEUE_WORD: put_known(s, &s->word, x, WORDS_BYTES); break;
    case QUEUE_STATE:
        free(s->state.bytes);
        s->state = x;
        break;
    case QUEUE_LOG:
        lane_push(&s->log, x);
        if (s->log.bytes > s->memory_bytes)
            logs_spill(s);
        break;
    }
}

/* --- taking --- */

static bool from_file(struct spool_file *f, enum queue_rank rank, struct letter *ret)
{
    SCOPED_BUF(b);
    if (!spool_file_next(f, &b))
        return false;
    *ret = (struct letter){.n = b.len, .rank = rank, .filed = true};
    ret->bytes = buf_take(&b, NULL);
    return true;
}

/* What was dropped of somebody's output, told where the rest of it is told. */
static bool from_holes(struct spool *s, struct letter *ret)
{
    for (size_t i = 0; i < s->holes.n; i++) {
        if (!s->holes.at[i].live)
            continue;
        SCOPED_BUF(b);
        s->words->dropped(&b, s->holes.at[i].key, s->holes.at[i].val);
        *ret = (struct letter){.n = b.len, .rank = QUEUE_LOG};
        ret->bytes = buf_take(&b, NULL);
        u64map_del(&s->holes, s->holes.at[i].key);
        return true;
    }
    return false;
}

static bool from_lane(struct lane *l, struct letter *ret)
{
    if (lane_empty(l))
        return false;
    *ret = lane_pop(l);
    return true;
}

static bool take_behind(struct spool *s, struct letter *ret)
{
    return from_file(&s->results, QUEUE_RESULT, ret) || from_lane(&s->result, ret) ||
           from_lane(&s->word, ret) || from_file(&s->logs, QUEUE_LOG, ret) ||
           from_lane(&s->log, ret) || from_holes(s, ret);
}

static bool take_in_order(struct spool *s, struct letter *ret)
{
    struct lane *lanes[] = {&s->result, &s->word, &s->log}, *first = NULL;
    for (size_t i = 0; i < sizeof lanes / sizeof *lanes; i++)
        if (!lane_empty(lanes[i]) && (!first || lanes[i]->list.at[lanes[i]->head].arrival <
                                                    first->list.at[first->head].arrival))
            first = lanes[i];
    return first && from_lane(first, ret);
}

static bool take_one(struct spool *s, struct letter *ret)
{
    if (s->behind && take_behind(s, ret))
        return true;
    s->behind = false;
    if (take_in_order(s, ret))
        return true;
    if (!s->state.bytes)
        return false;
    *ret = s->state;
    s->state = (struct letter){0};
    return true;
}

void spool_take(struct spool *s, size_t max_bytes, size_t max_n, struct letters *batch)
{
    struct letter x;
    for (size_t bytes = 0; bytes < max_bytes && batch->list.n < max_n && take_one(s, &x);
         bytes += x.n)
        vec_push(&batch->list, x);
}

void spool_done(struct spool *s, struct letters *batch, size_t n)
{
    assert(n <= batch->list.n);
    for (size_t i = 0; i < n; i++) {
        struct letter *x = &batch->list.at[i];
        if (x->rank == QUEUE_RESULT || x->rank == QUEUE_WORD)
            u64map_del(&s->there, digest_64(x->bytes, x->n));
        free(x->bytes);
    }
    if (n)
        memmove(batch->list.at, batch->list.at + n, (batch->list.n - n) * sizeof *batch->list.at);
    batch->list.n -= n;
    if (batch->list.n)
        return;
    spool_file_clear(&s->results);
    spool_file_clear(&s->logs);
}

bool spool_empty(const struct spool *s)
{
    return lane_empty(&s->result) && lane_empty(&s->word) && lane_empty(&s->log) &&
           s->results.read == s->results.end && s->logs.read == s->logs.end && !s->holes.live;
}

/* --- keeping --- */

static int keep_one(struct spool *s, struct letter *x, struct err *e)
{
    if (!disk_room(s, x->n))
        return err_set(e, ERR_LIMIT, "more than %zu bytes wait for the server", s->spool_bytes);
    int r = spool_file_append(&s->results, (struct str){x->bytes, x->n}, e);
    if (r >= 0)
        x->filed = true;
    return r;
}

int spool_keep(struct spool *s, struct letters *batch, struct err *e)
{
    int r = 0;
    s->behind = true;
    /* Under way: in the file, but not to be read from it again. */
    for (size_t i = 0; i < batch->list.n && r >= 0; i++) {
        struct letter *x = &batch->list.at[i];
        if (x->rank != QUEUE_RESULT || x->filed)
            continue;
        assert(s->results.read == s->results.end); /* memory comes after the file */
        r = keep_one(s, x, e);
        s->results.read = s->results.end;
    }
    while (r >= 0 && !lane_empty(&s->result)) {
        r = keep_one(s, &s->result.list.at[s->result.head], e);
        if (r >= 0)
            free(lane_pop(&s->result).bytes);
    }
    int synced = spool_file_sync(&s->results, r < 0 ? NULL : e);
    return r < 0 ? r : synced;
}
