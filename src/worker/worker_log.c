/* worker_log.c - output of a run, gathered into LOG messages
 *
 * A message goes out when LOG_CHUNK_BYTES are there, or LOG_DELAY_MS after the first byte that
 * waits: one timer for all runs.  What ends inside a character keeps its tail back for the next
 * message, so that a reader of single messages sees whole characters; bytes that are no UTF-8 at
 * all become replacement characters in the JSON form.  Past the cap output is dropped, and the
 * result says so.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/worker_i.h"

/* Bytes at the end that begin a UTF-8 character without ending it. */
static size_t open_tail(const struct buf *b)
{
    for (size_t back = 1; back <= TAIL_BYTES && back <= b->len; back++) {
        unsigned char c = (unsigned char)b->data[b->len - back];
        if (c < 0x80)
            return 0;
        if (c >= 0xC0) {
            size_t whole = c >= 0xF0 ? 4 : c >= 0xE0 ? 3 : 2;
            return whole > back ? back : 0;
        }
    }
    return 0;
}

static void send_chunk(struct run *r, int stream, bool all)
{
    struct buf *b = &r->out[stream - 1].text;
    size_t tail = all ? 0 : open_tail(b), n = b->len - tail;
    if (!n)
        return;
    worker_send(r->w, &(struct taskmsg){.kind = TASKMSG_LOG,
                                        .task = r->msg.task,
                                        .attempt = r->msg.attempt,
                                        .stream = (uint8_t)stream,
                                        .chunk = {b->data, n}});
    memmove(b->data, b->data + n, tail);
    b->len = tail;
}

void run_log_flush(struct run *r, bool all)
{
    send_chunk(r, 1, all);
    send_chunk(r, 2, all);
    link_remove(&r->dirty);
}

void worker_log_flush(void *worker)
{
    struct worker *w = worker;
    while (!link_empty(&w->dirty))
        run_log_flush(LINK_OF(w->dirty.next, struct run, dirty), false);
}

void run_log(void *run, int stream, const char *p, size_t n)
{
    struct run *r = run;
    struct output_stream *o = &r->out[stream - 1];
    size_t room = r->w->max_output_bytes - o->seen_bytes;
    if (n > room) {
        r->truncated = true;
        n = room;
    }
    if (!n)
        return;
    o->seen_bytes += n;
    if (link_empty(&r->w->dirty))
        loop_timer_at(r->w->log_timer, loop_now_ms(r->w->loop) + LOG_DELAY_MS);
    if (link_empty(&r->dirty))
        link_append(&r->w->dirty, &r->dirty);
    buf_put(&o->text, p, n);
    if (o->text.len >= LOG_CHUNK_BYTES)
        send_chunk(r, stream, false);
}
