/* test_lines.c - what plugins say: well behaved, failing, and out of bounds */
/* SPDX-License-Identifier: Apache-2.0 */
#include "tap.h"

#include "base/json.h"
#include "plugin/plugin_lines.h"

static void note_line(void *ctx, struct str text)
{
    buf_put(ctx, text.s, text.n);
}

struct talk {
    struct arena mem;
    struct buf log;
    struct plugin_lines l;
    struct plugin_verdict v;
    bool on;
};

static void talk_run(struct talk *t, struct str text, size_t piece, int status, const char *last)
{
    arena_init(&t->mem);
    t->log = (struct buf){0};
    t->on = true;
    plugin_lines_init(&t->l, &t->mem, NULL, note_line, &t->log);
    for (size_t i = 0; i < text.n; i += piece)
        t->on = plugin_lines_feed(
            &t->l, (struct str){text.s + i, text.n - i < piece ? text.n - i : piece});
    plugin_lines_end(&t->l);
    plugin_lines_judge(&t->l, status, last, &t->v);
}

static void talk_done(struct talk *t)
{
    plugin_lines_done(&t->l);
    buf_done(&t->log);
    arena_done(&t->mem);
}

#define RESULT "{\"result\":{\"id\":\"m1\"}}\n"

static void verdicts(void)
{
    static const struct {
        const char *said;
        int status;
        const char *last;
        enum outcome outcome;
        const char *text, *log;
    } cases[] = {
        {RESULT, 0, "", OUTCOME_OK, "", ""},
        {"{\"result\":{}}", 0, "", OUTCOME_OK, "", ""},
        {"\n \r\n" RESULT, 0, "", OUTCOME_OK, "", ""},
        {"{\"log\":\"one\"}\n{\"log\":\"two\\n\"}\n" RESULT, 0, "", OUTCOME_OK, "", "one\ntwo\n"},
        {"{\"progress\":0.256,\"text\":\"half\"}\n{\"progress\":1}\n" RESULT, 0, "", OUTCOME_OK, "",
         "25% half\n100%\n"},
        {"{\"again\":{\"in\":2.5,\"watch\":\"the BMC\"}}\n", 0, "", OUTCOME_AGAIN,
         "waits for the BMC", ""},
        {"{\"again\":{\"in\":0}}\n", 0, "", OUTCOME_AGAIN, "", ""},
        {"{\"error\":{\"text\":\"no quota\",\"remedy\":\"ask\"}}\n", 0, "", OUTCOME_FAILED,
         "no quota (ask)", ""},
        {"{\"error\":{\"text\":\"no quota\"}}\n", 3, "trace", OUTCOME_FAILED, "no quota", ""},
        {"", 0, "", OUTCOME_FAILED, "it ended without a result", ""},
        {"", 3, "boom", OUTCOME_FAILED, "exit status 3: boom", ""},
        {RESULT, 1, "", OUTCOME_FAILED, "exit status 1", ""},
        {RESULT, 139, "", OUTCOME_FAILED, "ended by signal 11", ""},
        {"hello\n" RESULT, 0, "", OUTCOME_FAILED, "line 1 of its output is not JSON",
         "plugin: line 1 is not JSON: hello\n"},
        {RESULT RESULT, 0, "", OUTCOME_FAILED, "line 2 of its output is a second answer",
         "plugin: line 2 is a second answer: {\"result\":{\"id\":\"m1\"}}\n"},
        {"{\"a\":1}\n", 0, "", OUTCOME_FAILED, "is not a map with one of", "plugin: line 1"},
        {"{\"log\":\"x\",\"result\":{}}\n", 0, "", OUTCOME_FAILED, "is not a map with one of",
         "plugin: line 1"},
        {"[1]\n", 0, "", OUTCOME_FAILED, "is not a map with one of", "plugin: line 1"},
        {"{\"log\":1}\n", 0, "", OUTCOME_FAILED, "not of its kind", "plugin: line 1"},
        {"{\"progress\":2}\n", 0, "", OUTCOME_FAILED, "not of its kind", "plugin: line 1"},
        {"{\"progress\":\"1\"}\n", 0, "", OUTCOME_FAILED, "not of its kind", "plugin: line 1"},
        {"{\"result\":[]}\n", 0, "", OUTCOME_FAILED, "not of its kind", "plugin: line 1"},
        {"{\"again\":{}}\n", 0, "", OUTCOME_FAILED, "not of its kind", "plugin: line 1"},
        {"{\"again\":{\"in\":-1}}\n", 0, "", OUTCOME_FAILED, "not of its kind", "plugin: line 1"},
        {"{\"again\":{\"in\":1e9}}\n", 0, "", OUTCOME_FAILED, "not of its kind", "plugin: line 1"},
        {"{\"error\":\"x\"}\n", 0, "", OUTCOME_FAILED, "not of its kind", "plugin: line 1"},
        {"a\x01\xff\x1b[31mb\n", 0, "", OUTCOME_FAILED, "is not JSON",
         "plugin: line 1 is not JSON: a...[31mb\n"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (size_t piece = 1; piece <= 1000; piece += 999) {
            struct talk t;
            talk_run(&t, str_of(cases[i].said), piece, cases[i].status, cases[i].last);
            bool good = t.on && t.v.outcome == cases[i].outcome &&
                        strstr(t.v.text, cases[i].text) && (*cases[i].text || !t.v.text[0]) &&
                        !strncmp(buf_str(&t.log).s, cases[i].log, strlen(cases[i].log));
            if (!ok(good, "%s in pieces of %zu", cases[i].said, piece))
                note("outcome %d, \"%s\", log \"%s\"", t.v.outcome, t.v.text, buf_str(&t.log).s);
            ok(!!t.v.returns == (t.v.outcome == OUTCOME_OK), "returns iff it is ok");
            talk_done(&t);
        }
}

static void answers(void)
{
    struct talk t;
    talk_run(&t, str_of("{\"again\":{\"in\":2.5}}\n"), 7, 0, "");
    is_int(t.v.again_ms, 2500, "when to ask again");
    talk_done(&t);
    talk_run(&t, str_of(RESULT), 7, 0, "");
    is_text(value_as_text(value_get(t.v.returns, "id"), ""), "m1", "what it returns");
    talk_done(&t);
}

static void bounds(void)
{
    struct talk t;
    SCOPED_BUF(b);
    for (int i = 0; i < LINES_STRAY_MOST; i++)
        buf_puts(&b, "garbage\n");
    talk_run(&t, buf_str(&b), 100, 0, "");
    ok(t.on && t.v.outcome == OUTCOME_FAILED, "a hundred lines of garbage are read to the end");
    size_t lines = 0;
    for (size_t i = 0; i < t.log.len; i++)
        lines += t.log.data[i] == '\n';
    is_int(lines, LINES_STRAY_LOGGED, "twenty of them are logged");
    talk_done(&t);
    buf_puts(&b, "garbage\n" RESULT);
    talk_run(&t, buf_str(&b), 100, 0, "");
    ok(!t.on, "with one more it is to be ended");
    has_text(t.v.text, "it was ended: line 1 of its output is not JSON", "and the text says why");
    talk_done(&t);

    buf_clear(&b);
    for (int i = 0; i < 300; i++)
        buf_putc(&b, 'x');
    buf_putc(&b, '\n');
    talk_run(&t, buf_str(&b), 1000, 0, "");
    ok(t.log.len < 260 && strstr(t.log.data, "xxx...\n"), "of a long one the beginning is logged");
    talk_done(&t);

    buf_clear(&b);
    for (int i = 0; i <= LINES_LINE_BYTES; i++)
        buf_putc(&b, ' ');
    buf_puts(&b, "\n" RESULT);
    talk_run(&t, buf_str(&b), 65536, 0, "");
    ok(!t.on, "a line without end: it is to be ended");
    has_text(t.v.text, "line 1 of its output is longer than", "and the text says why");
    talk_done(&t);

    buf_clear(&b);
    for (int i = 0; i < LINES_ALL_BYTES / 16 + 1; i++)
        buf_puts(&b, "{\"log\":\"12345\"}\n");
    talk_run(&t, buf_str(&b), 65536, 0, "");
    ok(!t.on, "lines without end: it is to be ended");
    has_text(t.v.text, "more than", "and the text says why");
    talk_done(&t);
}

int main(void)
{
    verdicts();
    answers();
    bounds();
    return tap_done();
}
