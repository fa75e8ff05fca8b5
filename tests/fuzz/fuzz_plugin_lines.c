/* fuzz_plugin_lines.c - any output: a verdict, the same in one piece and in many, in bounds */
/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "fuzz.h"

#include "plugin/plugin_lines.h"

static void log_line(void *ctx, struct str text)
{
    fuzz_must(text.n > 0 && text.s[text.n - 1] == '\n', "the log is made of lines");
    buf_put(ctx, text.s, text.n);
}

static struct plugin_verdict run(struct arena *mem, const uint8_t *data, size_t size, size_t piece,
                                 struct buf *log)
{
    struct plugin_lines l;
    struct plugin_verdict v;
    plugin_lines_init(&l, mem, NULL, log_line, log);
    for (size_t i = 0; i < size; i += piece) {
        size_t n = size - i < piece ? size - i : piece;
        char *exact = malloc(n);
        memcpy(exact, data + i, n);
        (void)plugin_lines_feed(&l, (struct str){exact, n});
        free(exact);
    }
    plugin_lines_end(&l);
    plugin_lines_judge(&l, 0, "", &v);
    plugin_lines_done(&l);
    return v;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    SCOPED_ARENA(mem);
    SCOPED_BUF(one);
    SCOPED_BUF(many);
    struct plugin_verdict a = run(&mem, data, size, size ? size : 1, &one);
    struct plugin_verdict b = run(&mem, data, size, 3, &many);
    fuzz_must(a.outcome == b.outcome && !strcmp(a.text, b.text), "pieces do not matter");
    fuzz_must(str_eq(buf_str(&one), buf_str(&many)), "nor for the log");
    fuzz_must(a.outcome != OUTCOME_FAILED || a.text[0], "a failure says why");
    fuzz_must((a.outcome == OUTCOME_OK) == value_is(a.returns, VALUE_MAP), "ok has a result");
    return 0;
}
