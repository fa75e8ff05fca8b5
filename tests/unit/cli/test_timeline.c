/* test_timeline.c - the picture of an operation's timeline */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json.h"
#include "cli/timeline_i.h"
#include "cluster.h"
#include "tap.h"

static const struct value *parsed(struct arena *mem, const char *text)
{
    struct value *v = NULL;
    struct err e;
    if (json_parse(mem, text, strlen(text), NULL, &v, &e) < 0)
        ok(false, "the test's JSON: %s", e.text);
    return v;
}

static void test_tasks(void)
{
    SCOPED_ARENA(mem);
    SCOPED_BUF(b);
    const struct look plain = {.columns = 57};
    timeline_draw(&b, &plain, parsed(&mem, TIMELINE_JSON));
    is_text(b.data,
            "n1\n"
            "  install                   xxxxx...............    5.0s\n"
            "  install #2                ..........#####.....    5.0s\n"
            "n2\n"
            "  start                     ...............=====    5.0s\n"
            "and more: --limit shows more of them\n"
            "\n"
            "longest chain: 1 task, 5.0s of 20.0s\n"
            "     5.0s  install              n1  waited 10.0s\n",
            "a line for each attempt, as long as it took");
}

/* Many attempts: a line for each node, in which what failed is never hidden. */
static void test_nodes(void)
{
    SCOPED_ARENA(mem);
    SCOPED_BUF(json);
    SCOPED_BUF(b);
    const struct look plain = {.columns = 47};
    buf_puts(&json, "{\"operation\":3,\"span_ms\":1000,\"nodes\":[{\"node\":\"n1\",\"items\":[");
    for (int i = 0; i < 70; i++)
        buf_printf(&json,
                   "%s{\"task\":%d,\"name\":\"t\",\"attempt\":1,\"outcome\":\"%s\","
                   "\"start_ms\":%d,\"end_ms\":%d}",
                   i ? "," : "", i + 1, i == 35 ? "timeout" : "ok", i * 10, i * 10 + 10);
    buf_puts(&json, "]}],\"critical\":[],\"truncated\":false}");
    timeline_draw(&b, &plain, parsed(&mem, json.data));
    is_text(b.data, "n1                          ###x###...   700ms\n", "a line for each node");
}

static void test_odd(void)
{
    static const struct {
        const char *json, *text, *why;
    } cases[] = {
        {"{\"nodes\":[],\"critical\":[],\"span_ms\":5}", "nothing has run\n", "nothing"},
        {"{\"span_ms\":0,\"critical\":[],\"nodes\":[{\"node\":null,\"items\":[{\"task\":1,"
         "\"name\":\"t\",\"attempt\":1,\"outcome\":\"ok\",\"start_ms\":0,\"end_ms\":0}]}]}",
         "-\n  t                         #.........     0ms\n", "no time at all"},
        {"{\"span_ms\":10,\"critical\":[],\"nodes\":[{\"node\":\"n\",\"items\":[{\"task\":1,"
         "\"name\":\"t\",\"attempt\":1,\"outcome\":\"cancelled\",\"start_ms\":99,"
         "\"end_ms\":120}]}]}",
         "n\n  t                         .........~    21ms\n", "what lies behind the end"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        SCOPED_ARENA(mem);
        SCOPED_BUF(b);
        const struct look plain = {.columns = 47};
        timeline_draw(&b, &plain, parsed(&mem, cases[i].json));
        is_text(b.data, cases[i].text, "%s", cases[i].why);
    }
}

int main(void)
{
    test_tasks();
    test_nodes();
    test_odd();
    return tap_done();
}
