/* test_str.c - slices and buffers */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/str.h"

#include <stdlib.h>

#include "tap.h"

static void test_slices(void)
{
    static const struct {
        const char *a, *b;
        int sign;
    } cases[] = {{"", "", 0},       {"a", "", 1},    {"", "a", -1},    {"abc", "abd", -1},
                 {"ab", "abc", -1}, {"b", "abc", 1}, {"\xC3", "a", 1}, {"same", "same", 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int c = str_cmp(str_of(cases[i].a), str_of(cases[i].b));
        is_int((c > 0) - (c < 0), cases[i].sign, "str_cmp(%s, %s)", cases[i].a, cases[i].b);
        ok(str_eq(str_of(cases[i].a), str_of(cases[i].b)) == (cases[i].sign == 0), "str_eq(%s, %s)",
           cases[i].a, cases[i].b);
    }
    ok(str_of(NULL).n == 0, "NULL is the empty slice");
    ok(str_eq(str_of(NULL), str_of("")), "and equals the empty text");
    ok(str_is((struct str){"nodes", 4}, "node"), "a slice ends where it says");
    ok(!str_is((struct str){"nodes", 4}, "nodes"), "and not later");
}

static void test_numbers(void)
{
    SCOPED_BUF(b);
    buf_u64(&b, 0);
    buf_putc(&b, ' ');
    buf_u64(&b, UINT64_MAX);
    buf_putc(&b, ' ');
    buf_i64(&b, INT64_MIN);
    buf_putc(&b, ' ');
    buf_i64(&b, INT64_MAX);
    buf_putc(&b, ' ');
    buf_i64(&b, -1);
    is_text(b.data, "0 18446744073709551615 -9223372036854775808 9223372036854775807 -1",
            "the edges of the integers");
}

static void test_growth(void)
{
    SCOPED_BUF(b);
    is_text(buf_str(&b).s, "", "an empty buffer reads as empty text");
    for (int i = 0; i < 100000; i++)
        buf_putc(&b, (char)('a' + i % 26));
    ok(b.len == 100000 && strlen(b.data) == 100000, "100000 bytes one at a time");
    buf_clear(&b);
    ok(b.len == 0 && b.data[0] == '\0', "cleared");
    buf_puts(&b, "one");
    buf_put(&b, " two!", 4);
    buf_put(&b, NULL, 0);
    is_text(b.data, "one two", "puts and put");
    buf_printf(&b, " %s", "three");
    is_text(b.data, "one two three", "printf appends");
    SCOPED_BUF(fresh);
    buf_printf(&fresh, "%5000d", 7);
    ok(fresh.len == 5000 && fresh.data[4999] == '7', "printf grows the buffer to fit");
    buf_reserve(&b, 100000);
    ok(b.cap > 100000, "reserve leaves room for the NUL too");
}

static void test_take(void)
{
    struct buf b = {0};
    size_t n = 9;
    char *none = buf_take(&b, &n);
    ok(none && none[0] == '\0' && n == 0, "an empty buffer is taken as empty text");
    free(none);
    buf_puts(&b, "kept");
    char *s = buf_take(&b, NULL);
    is_text(s, "kept", "taken");
    ok(!b.data && !b.len && !b.cap, "the buffer is empty afterwards");
    free(s);
    buf_clear(&b);
    ok(!b.data, "clearing an empty buffer does nothing");
}

int main(void)
{
    test_slices();
    test_numbers();
    test_growth();
    test_take();
    return tap_done();
}
