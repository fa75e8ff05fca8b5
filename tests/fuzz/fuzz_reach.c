/* fuzz_reach.c - what a node may say: two streams, cut anywhere, must mean the same as whole
 *
 * The first byte chooses the pieces; the rest is both streams and the answer about files.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "fuzz.h"

#include "base/alloc.h"
#include "reach/reach_i.h"

static void on_event(void *arg, const struct reach_event *ev)
{
    struct buf *b = arg;
    fuzz_must(ev->kind != REACH_EV_END || (ev->n >= 1 && ev->n <= REACH_STEPS_MAX),
              "a step that a chain can have");
    fuzz_must(ev->end.result.n <= REACH_RESULT_MAX + 1, "a result within its limit");
    fuzz_must(ev->kind != REACH_EV_END || ev->end.what != REACH_DONE || ev->end.status >= 0,
              "done has a status");
    buf_printf(b, "%d %u %d %d %u %zu|", (int)ev->kind, ev->n, (int)ev->end.what, ev->end.status,
               ev->end.left, ev->end.result.n);
    buf_put(b, ev->text.s, ev->text.n);
    buf_put(b, ev->note.s, ev->note.n);
    buf_put(b, ev->end.result.s, ev->end.result.n);
    buf_put(b, ev->end.note.s, ev->end.note.n);
}

static void on_log(void *arg, uint32_t step, const char *p, size_t n)
{
    struct buf *b = arg;
    fuzz_must(step <= REACH_STEPS_MAX + 1, "a step that a chain can have");
    if (!p)
        buf_printf(b, "<%u>", step);
    for (size_t i = 0; i < n; i++) {
        buf_printf(b, "%u", step);
        buf_putc(b, p[i]);
    }
}

static void push(const char *p, size_t n, size_t piece, struct buf *events, struct buf *log)
{
    struct reach_events e = {0};
    struct reach_log l = {0};
    for (size_t at = 0; at < n; at += piece) {
        size_t part = n - at < piece ? n - at : piece;
        reach_events_push(&e, p + at, part, on_event, events);
        reach_log_push(&l, p + at, part, on_log, log);
        fuzz_must(l.pending.len <= 64, "little is held back");
    }
    reach_log_flush(&l, on_log, log);
    fuzz_must(strlen(e.noise) < sizeof e.noise, "noise is text");
    reach_events_done(&e);
    reach_log_done(&l);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2)
        return 0;
    SCOPED_ARENA(mem);
    SCOPED_BUF(events);
    SCOPED_BUF(log);
    SCOPED_BUF(events_cut);
    SCOPED_BUF(log_cut);
    struct reach_sum *sums;
    char *exact = malloc(size - 1); /* not terminated: the sanitizer sees a read behind it */
    memcpy(exact, data + 1, size - 1);
    push(exact, size - 1, size - 1, &events, &log);
    push(exact, size - 1, 1 + data[0] % 64, &events_cut, &log_cut);
    fuzz_must(str_eq(buf_str(&events), buf_str(&events_cut)), "events do not depend on pieces");
    fuzz_must(str_eq(buf_str(&log), buf_str(&log_cut)), "the log does not depend on pieces");
    (void)reach_sums_parse(&mem, (struct str){exact, size - 1}, 1 + data[0] % 8, &sums, NULL);
    free(exact);
    return 0;
}
