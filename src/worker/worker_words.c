/* worker_words.c - what a queue that keeps messages must know of ours (queue/remote.h) */
/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>

#include "base/text.h"
#include "queue/remote.h"
#include "worker/worker_i.h"

/* As taskmsg_write() begins them. */
static bool begins(struct str message, const char *kind)
{
    static const char head[] = "{\"kind\":\"";
    size_t n = sizeof head - 1, k = strlen(kind);
    return message.n > n + k && memcmp(message.s, head, n) == 0 &&
           memcmp(message.s + n, kind, k) == 0 && message.s[n + k] == '"';
}

static enum queue_rank rank_of(struct str message)
{
    if (begins(message, taskmsg_kind_name(TASKMSG_RESULT)))
        return QUEUE_RESULT;
    if (begins(message, taskmsg_kind_name(TASKMSG_LOG)))
        return QUEUE_LOG;
    return begins(message, taskmsg_kind_name(TASKMSG_BEAT)) ? QUEUE_STATE : QUEUE_WORD;
}

static uint64_t owner_of(struct str log)
{
    SCOPED_ARENA(mem);
    struct taskmsg m;
    if (taskmsg_parse(&mem, log, &m, NULL) < 0)
        return 0;
    return (uint64_t)m.task << 32 | m.attempt;
}

static void dropped(struct buf *b, uint64_t owner, uint64_t bytes)
{
    SCOPED_BUF(text);
    struct taskmsg m = {.kind = TASKMSG_LOG,
                        .task = (uint32_t)(owner >> 32),
                        .attempt = (uint32_t)owner,
                        .stream = 2};
    buf_printf(&text, "\n[output is missing here, about %s: the server was away for too long]\n",
               text_count(bytes, "byte").s);
    m.chunk = buf_str(&text);
    taskmsg_write(b, &m);
}

const struct queue_words *worker_words(void)
{
    static const struct queue_words words = {rank_of, owner_of, dropped};
    return &words;
}
