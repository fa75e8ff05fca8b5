/* test_table.c - columns line up, give way in order, and show values as people write them */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json.h"
#include "cli/table_i.h"
#include "tap.h"

enum { NOW_S = 1700000000 };

static void draw(const struct look *look, struct buf *b, const char *const *cells, size_t rows)
{
    SCOPED_ARENA(mem);
    struct table t;
    table_init(&t, &mem);
    table_column(&t, "NAME", COLUMN_SHRINK);
    table_column(&t, "N", COLUMN_RIGHT);
    table_column(&t, "NOTE", COLUMN_SHRINK);
    for (size_t i = 0; i < rows * 3; i++)
        table_cell(&t, i % 3 == 1 ? STYLE_GOOD : STYLE_PLAIN, cells[i]);
    table_draw(&t, look, b);
    table_done(&t);
}

static const char *const cells[] = {
    "a", "1", "", "caf\u00e9", "22", "short", "\u8cc7\u6599", "333", "a note that is rather long"};

static void test_draw(void)
{
    static const struct {
        struct look look;
        const char *golden;
    } cases[] = {
        {{.utf8 = true},
         "NAME    N  NOTE\n"
         "a       1\n"
         "caf\u00e9   22  short\n"
         "\u8cc7\u6599  333  a note that is rather long\n"},
        {{.utf8 = true, .columns = 28},
         "NAME    N  NOTE\n"
         "a       1\n"
         "caf\u00e9   22  short\n"
         "\u8cc7\u6599  333  a note that is r\u2026\n"},
        {{.columns = 20},
         "NAME    N  NOTE\n"
         "a       1\n"
         "caf\u00e9   22  short\n"
         "\u8cc7\u6599  333  a note t~\n"},
        {{.columns = 8},
         "NAME   N\n"
         "a      1\n"
         "caf\u00e9  22\n"
         "\u8cc7\u6599  3~\n"},
        {{.color = true, .utf8 = true, .columns = 80},
         "\033[1mNAME\033[0m    \033[1mN\033[0m  \033[1mNOTE\033[0m\n"
         "a       \033[32m1\033[0m\n"
         "caf\u00e9   \033[32m22\033[0m  short\n"
         "\u8cc7\u6599  \033[32m333\033[0m  a note that is rather long\n"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        SCOPED_BUF(b);
        draw(&cases[i].look, &b, cells, 3);
        is_text(b.data, cases[i].golden, "table in %d columns, case %zu", cases[i].look.columns, i);
    }
    SCOPED_BUF(b);
    static const char *const hostile[] = {"a\033[2Jb", "1", "x\ny"};
    const struct look look = {0};
    draw(&look, &b, hostile, 1);
    is_text(b.data, "NAME     N  NOTE\na^[[2Jb  1  x y\n", "cells cannot command the terminal");
    buf_clear(&b);
    draw(&look, &b, NULL, 0);
    is_text(b.data, "NAME  N  NOTE\n", "titles alone");
}

static const char object[] =
    "{\"s\":\"text\",\"n\":12,\"state\":\"ERROR\",\"at\":\"2023-11-14T22:13:15.900Z\",\"ms\":65000,"
    "\"size\":1234567,\"list\":[\"a\",\"b\",3],\"map\":{\"k\":\"v\",\"n\":1},\"nul\":null,"
    "\"counts\":{\"ACTIVE\":3,\"ERROR\":0,\"TODO\":1},\"yes\":true,\"no\":false,\"none\":[],"
    "\"progress\":{\"total\":4,\"done\":1,\"skipped\":1,\"failed\":1},\"deep\":{\"x\":{\"y\":\"z\"}"
    "},"
    "\"odd\":\"not a time\",\"later\":\"2023-11-14T23:13:20.000Z\",\"empty\":{\"total\":0}}";

static void test_fields(void)
{
    static const struct {
        const char *path;
        enum show show;
        const char *text;
        enum style style;
    } cases[] = {
        {"s", SHOW_TEXT, "text", STYLE_PLAIN},
        {"n", SHOW_TEXT, "12", STYLE_PLAIN},
        {"deep.x.y", SHOW_TEXT, "z", STYLE_PLAIN},
        {"nul", SHOW_TEXT, "", STYLE_PLAIN},
        {"missing", SHOW_TEXT, "", STYLE_PLAIN},
        {"state", SHOW_STATE, "ERROR", STYLE_BAD},
        {"at", SHOW_AGE, "4.1s", STYLE_PLAIN},
        {"at", SHOW_TIME, "2023-11-14 22:13:15 UTC, 4.1s ago", STYLE_PLAIN},
        {"odd", SHOW_AGE, "not a time", STYLE_PLAIN},
        {"at", SHOW_LEFT, "over", STYLE_PLAIN},
        {"at", SHOW_DUE, "2023-11-14 22:13:15 UTC, over", STYLE_PLAIN},
        {"later", SHOW_LEFT, "1h00m", STYLE_PLAIN},
        {"later", SHOW_DUE, "2023-11-14 23:13:20 UTC, in 1h00m", STYLE_PLAIN},
        {"odd", SHOW_DUE, "not a time", STYLE_PLAIN},
        {"ms", SHOW_MS, "1m05s", STYLE_PLAIN},
        {"nul", SHOW_MS, "", STYLE_PLAIN},
        {"size", SHOW_BYTES, "1.2 MB", STYLE_PLAIN},
        {"list", SHOW_LIST, "a, b, 3", STYLE_PLAIN},
        {"none", SHOW_LIST, "", STYLE_PLAIN},
        {"map", SHOW_MAP, "k=v n=1", STYLE_PLAIN},
        {"counts", SHOW_COUNTS, "3 ACTIVE, 1 TODO", STYLE_PLAIN},
        {"yes", SHOW_GOOD, "yes", STYLE_PLAIN},
        {"no", SHOW_GOOD, "no", STYLE_WARN},
        {"yes", SHOW_ODD, "yes", STYLE_WARN},
        {"no", SHOW_ODD, "no", STYLE_PLAIN},
        {"yes", SHOW_TEXT, "yes", STYLE_PLAIN},
        {"no", SHOW_TEXT, "no", STYLE_PLAIN},
        {"missing", SHOW_GOOD, "", STYLE_PLAIN},
        {"progress", SHOW_BAR, "#####!!!--  50%", STYLE_PLAIN},
        {"empty", SHOW_BAR, "", STYLE_PLAIN},
    };
    SCOPED_ARENA(mem);
    struct value *v;
    struct err e;
    const struct look look = {0};
    is_int(json_parse(&mem, object, sizeof object - 1, NULL, &v, &e), 0, "the object parses");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct field f = {"T", cases[i].path, cases[i].show, 0};
        struct cell c = field_cell(&mem, &f, v, (int64_t)NOW_S * 1000, &look);
        is_text(c.s, cases[i].text, "%s shown as %d", cases[i].path, cases[i].show);
        is_int(c.style, cases[i].style, "%s shown as %d: style", cases[i].path, cases[i].show);
        is_int(c.width, (int)strlen(cases[i].text), "%s shown as %d: width", cases[i].path,
               cases[i].show);
    }
}

static void test_times(void)
{
    is_int(time_parse("1970-01-01T00:00:01.250Z"), 1250, "milliseconds");
    is_int(time_parse("1970-01-01T00:00:01.2Z"), 1200, "a tenth");
    is_int(time_parse("1970-01-01T00:00:01.123456Z"), 1123, "more digits than we keep");
    is_int(time_parse("2023-11-14T22:13:20Z"), (int64_t)NOW_S * 1000, "whole seconds");
    is_int(time_parse("2023-11-14T22:13:20+01:00"), -1, "another zone is not ours");
    is_int(time_parse("yesterday"), -1, "a word");
    is_int(time_parse(""), -1, "nothing");
    static const struct {
        int64_t n;
        const char *text;
    } sizes[] = {
        {0, "0 B"},          {999, "999 B"},     {1000, "1.0 kB"},       {9949, "9.9 kB"},
        {14200000, "14 MB"}, {999999, "1.0 MB"}, {5000000000, "5.0 GB"}, {INT64_MAX, "9.2 EB"}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        char text[16];
        bytes_show(sizes[i].n, text);
        is_text(text, sizes[i].text, "%lld bytes", (long long)sizes[i].n);
    }
}

int main(void)
{
    test_draw();
    test_fields();
    test_times();
    return tap_done();
}
