/* test_logs.c - output gathered into LOG messages: size, delay, cap, characters kept whole */
/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/rig.h"

/* All chunks of a stream, one behind the other. */
static void gather(const struct rig *r, uint32_t task, int stream, struct buf *b)
{
    for (size_t i = 0; i < r->got.n; i++) {
        const struct taskmsg *m = &r->got.at[i];
        if (m->kind == TASKMSG_LOG && m->task == task && m->stream == stream)
            buf_put(b, m->chunk.s, m->chunk.n);
    }
}

static void test_coalescing(void)
{
    struct rig r;
    SCOPED_BUF(text);
    rig_init(&r, true, NULL);
    rig_task(&r, 1, 1, 0, "test", "{\"log\":[\"one\",\"two\",\"three\"],\"sleep_ms\":500}");
    is_int(rig_count(&r, TASKMSG_LOG), 0, "output waits a little");
    rig_step(&r, 99);
    is_int(rig_count(&r, TASKMSG_LOG), 0, "for 100 ms");
    rig_step(&r, 1);
    is_int(rig_count(&r, TASKMSG_LOG), 1, "and goes in one message");
    gather(&r, 1, 1, &text);
    is_text(text.data, "one\ntwo\nthree\n", "whole");
    rig_step(&r, 500);
    is_int(rig_count(&r, TASKMSG_LOG), 1, "nothing is sent twice");
    rig_forget(&r);
    rig_task(&r, 2, 1, 0, "test", "{\"log\":[\"quick\"]}");
    is_int(rig_count(&r, TASKMSG_LOG), 1, "the end of a run does not wait");
    is_int(r.got.at[0].kind, TASKMSG_LOG, "and its output comes before its result");
    rig_done(&r);
}

static void test_size(void)
{
    struct rig r;
    SCOPED_BUF(params);
    SCOPED_BUF(text);
    rig_init(&r, true, NULL);
    buf_puts(&params, "{\"sleep_ms\":500,\"log\":[");
    for (int i = 0; i < 1000; i++)
        buf_printf(&params, "%s\"%030d\"", i ? "," : "", i);
    buf_puts(&params, "]}");
    rig_task(&r, 1, 1, 0, "test", params.data);
    size_t n = rig_count(&r, TASKMSG_LOG);
    is_int(n, 3, "31000 bytes are sent in pieces of 8 KiB, the rest waits");
    rig_step(&r, 100);
    is_int(rig_count(&r, TASKMSG_LOG), 4, "and follows");
    gather(&r, 1, 1, &text);
    is_int(text.len, 31000, "all of it");
    rig_done(&r);
}

static void test_cap(void)
{
    struct rig r;
    struct worker_options o = {.name = "w", .max_output_bytes = 10};
    SCOPED_BUF(text);
    rig_init(&r, true, &o);
    rig_task(&r, 1, 1, 0, "test", "{\"log\":[\"12345\",\"67890\"]}");
    gather(&r, 1, 1, &text);
    is_text(text.data, "12345\n6789", "past the cap output is dropped");
    ok(rig_result(&r, 1, 1)->truncated, "and the result says so");
    rig_task(&r, 2, 1, 0, "test", "{\"log\":[\"123456789\"]}");
    ok(!rig_result(&r, 2, 1)->truncated, "as much as the cap is not truncated");
    rig_done(&r);
}

/* A character whose bytes come apart stays whole; what is no character is replaced.  The second
 * half is written when the test has seen the first message. */
static void test_characters(void)
{
    static const struct {
        const char *first, *second, *want;
    } cases[] = {
        {"a\\\\303", "\\\\251b", "a\303\251b"},
        {"a\\\\360\\\\237", "\\\\230\\\\200b", "a\360\237\230\200b"},
        {"a\\\\342\\\\202", "\\\\254", "a\342\202\254"},
        {"a\\\\377b", "", "a\357\277\275b"},
        {"a\\\\303", "", "a\357\277\275"},
        {"a\\\\200\\\\200\\\\200", "", "a\357\277\275\357\277\275\357\277\275"},
    };
    struct rig r;
    rig_init(&r, false, NULL);
    for (uint32_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        SCOPED_BUF(params);
        SCOPED_BUF(text);
        struct err e;
        char name[16];
        snprintf(name, sizeof name, "go%u", i);
        char *go = fs_join(r.dir, name);
        rig_forget(&r);
        buf_printf(
            &params,
            "{\"script\":\"printf '%s'; until [ -e %s ]; do sleep 0.01; done; printf '%s'\"}",
            cases[i].first, go, cases[i].second);
        rig_task(&r, i + 1, 1, 0, "shell", params.data);
        rig_wait_log(&r);
        is_int(fs_write_atomic(go, "", 0, 0600, &e), 0, "the first part has come");
        rig_wait(&r, 1);
        gather(&r, i + 1, 1, &text);
        is_text(buf_str(&text).s, cases[i].want, "output of %s and %s", cases[i].first,
                cases[i].second);
        free(go);
    }
    rig_done(&r);
}

int main(void)
{
    test_coalescing();
    test_size();
    test_cap();
    test_characters();
    return tap_done();
}
