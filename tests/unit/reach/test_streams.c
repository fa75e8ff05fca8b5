/* test_streams.c - events and log of a session, in pieces of every size */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/alloc.h"
#include "reach/reach_i.h"
#include "tap.h"

#define NONCE "00112233445566778899aabbccddeeff"

static void on_event(void *arg, const struct reach_event *ev)
{
    struct buf *b = arg;
    switch (ev->kind) {
    case REACH_EV_CHAIN: buf_puts(b, "chain"); break;
    case REACH_EV_STEP: buf_printf(b, "step %u=%u.%u", ev->n, ev->run.task, ev->run.attempt); break;
    case REACH_EV_END:
        buf_printf(b, "end %u %s %d left %u [%.*s] (%.*s)", ev->n, reach_what_text(ev->end.what),
                   ev->end.status, ev->end.left, (int)ev->end.result.n, ev->end.result.s,
                   (int)ev->end.note.n, ev->end.note.s);
        break;
    case REACH_EV_OVER: buf_printf(b, "over %.*s", (int)ev->text.n, ev->text.s); break;
    case REACH_EV_NO_RUNNER: buf_puts(b, "no runner"); break;
    case REACH_EV_LINE:
        buf_printf(b, "line %.*s/%.*s", (int)ev->text.n, ev->text.s, (int)ev->note.n, ev->note.s);
        break;
    case REACH_EV_BAD: buf_puts(b, "bad"); break;
    }
    buf_puts(b, ";");
}

static void test_events(void)
{
    static const char in[] =
        "Welcome!\r\nanneal: chain 00 3\nanneal: step 2 812 0 2 0 0\nanneal: end 1 done 0 12 0 -\n"
        "a\nanneal: b\nanneal: end 2 stopped - 0 3 some words\n\nanneal: over failed 0 -\n"
        "anneal: stop none\nanneal: norunner\n";
    static const char want[] =
        "chain;step 2=812.2;end 1 done 0 left 0 [a\nanneal: b\n] ();end 2 stopped -1 left 3 [] "
        "(some words);over failed;line stop/none;no runner;";
    for (size_t piece = 1; piece <= sizeof in; piece++) {
        struct reach_events s = {0};
        SCOPED_BUF(got);
        for (size_t at = 0; at < sizeof in - 1; at += piece)
            reach_events_push(&s, in + at, at + piece < sizeof in ? piece : sizeof in - 1 - at,
                              on_event, &got);
        if (strcmp(buf_str(&got).s, want) != 0 || piece == 1 || piece == sizeof in)
            is_text(buf_str(&got).s, want, "events in pieces of %zu", piece);
        if (piece == 1)
            is_text(s.noise, "Welcome!", "what is none is kept");
        reach_events_done(&s);
    }
}

static void test_bad_events(void)
{
    static const char *const bad[] = {"end 0 done 0 0 0 -",
                                      "end 65 done 0 0 0 -",
                                      "end 1 done 256 0 0 -",
                                      "end 1 done - 0 0 -",
                                      "end 1 gone 0 0 0 -",
                                      "end 1 done 0 1048578 0 -",
                                      "end 1 done 0 -1 0 -",
                                      "end 1 done 0 0 99999999999",
                                      "end 1 done 0",
                                      "end",
                                      "step 1 2 3",
                                      "step 0 1 1 1 1 1",
                                      "over",
                                      "over x y",
                                      "end 1 held -- 0 0 x"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct reach_events s = {0};
        SCOPED_BUF(got);
        SCOPED_BUF(line);
        buf_printf(&line, "anneal: %s\n", bad[i]);
        reach_events_push(&s, line.data, line.len, on_event, &got);
        is_text(buf_str(&got).s, "bad;", "not taken: %s", bad[i]);
        reach_events_done(&s);
    }
    struct reach_events s = {0};
    SCOPED_BUF(got);
    SCOPED_BUF(line);
    buf_puts(&line, "anneal: over ");
    for (int i = 0; i < 5000; i++)
        buf_putc(&line, 'x');
    buf_puts(&line, "\nanneal: over done 0 -\n");
    reach_events_push(&s, line.data, line.len, on_event, &got);
    is_text(buf_str(&got).s, "bad;over done;", "an endless line is not taken, the next one is");
    reach_events_done(&s);
}

struct heard { /* "1:" before what is step 1's, "<1>" for its end */
    struct buf text;
    uint32_t step;
};

static void on_log(void *arg, uint32_t step, const char *p, size_t n)
{
    struct heard *h = arg;
    if (!p)
        buf_printf(&h->text, "<%u>", step);
    else if (h->step != step)
        buf_printf(&h->text, "%u:", step);
    if (p)
        h->step = step;
    buf_put(&h->text, p, n);
}

static void log_case(const char *label, const char *in, size_t n, const char *want, size_t want_n)
{
    for (size_t piece = 1; piece <= n; piece++) {
        struct reach_log s = {0};
        struct heard h = {0};
        size_t most = 0;
        for (size_t at = 0; at < n; at += piece) {
            reach_log_push(&s, in + at, at + piece < n ? piece : n - at, on_log, &h);
            most = s.pending.len > most ? s.pending.len : most;
        }
        reach_log_flush(&s, on_log, &h);
        bool good = str_eq(buf_str(&h.text), (struct str){want, want_n}) && most <= 48;
        if (!good || piece == 1 || piece == n)
            ok(good, "%s, in pieces of %zu: %.300s", label, piece, buf_str(&h.text).s);
        buf_done(&h.text);
        reach_log_done(&s);
    }
}
#define LOG(label, in, want) log_case(label, in, sizeof(in) - 1, want, sizeof(want) - 1)

static void test_log(void)
{
    LOG("two steps", "noise\nanneal-log " NONCE "\nab" NONCE " 1\nc\n" NONCE " 2\n",
        "1:ab<1>2:c\n<2>");
    LOG("what looks like a marker",
        "anneal-log " NONCE "\n" NONCE "x" NONCE " 1x" NONCE " \n" NONCE " 1234\n001" NONCE " 1\n",
        "1:" NONCE "x" NONCE " 1x" NONCE " \n" NONCE " 1234\n001<1>");
    LOG("a beginning that is not followed", "anneal-log " NONCE "\n001122334455", "1:001122334455");
    LOG("an opening that is none", "anneal-log zz\nanneal-log " NONCE "\nx", "1:x");
    LOG("a marker of an earlier step",
        "anneal-log " NONCE "\n" NONCE " 3\nx" NONCE " 0\ny" NONCE " 4\n", "<3>4:x<3>y<4>");
    LOG("no opening", "nothing at all", "");
}

static void test_log_exact(void)
{
    SCOPED_BUF(in);
    SCOPED_BUF(want);
    buf_puts(&in, "anneal-log " NONCE "\n");
    buf_puts(&want, "1:");
    for (int i = 0; i < 512; i++) {
        buf_putc(&in, (char)i);
        buf_putc(&want, (char)i);
    }
    buf_puts(&in, NONCE " 1\n");
    buf_puts(&want, "<1>");
    log_case("all 256 values", in.data, in.len, want.data, want.len);
}

int main(void)
{
    test_events();
    test_bad_events();
    test_log();
    test_log_exact();
    return tap_done();
}
