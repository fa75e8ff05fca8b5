/* test_term.c - widths agree with the C library, nothing dangerous reaches a terminal, pens stop at
 * the edge */
/* SPDX-License-Identifier: Apache-2.0 */
#include <locale.h>
#include <wchar.h>

#include "cli/table_i.h"
#include "tap.h"

static size_t utf8_of(uint32_t c, char *to)
{
    if (c < 0x80) {
        to[0] = (char)c;
        return 1;
    }
    if (c < 0x800) {
        to[0] = (char)(0xc0 | c >> 6);
        to[1] = (char)(0x80 | (c & 0x3f));
        return 2;
    }
    if (c < 0x10000) {
        to[0] = (char)(0xe0 | c >> 12);
        to[1] = (char)(0x80 | (c >> 6 & 0x3f));
        to[2] = (char)(0x80 | (c & 0x3f));
        return 3;
    }
    to[0] = (char)(0xf0 | c >> 18);
    to[1] = (char)(0x80 | (c >> 12 & 0x3f));
    to[2] = (char)(0x80 | (c >> 6 & 0x3f));
    to[3] = (char)(0x80 | (c & 0x3f));
    return 4;
}

/* Scripts that names and logs are written in: every character of these blocks must have the width
 * that the C library gives it.  (Blocks it draws differently from terminals, such as emoji
 * modifiers, are left out.) */
static void test_width_oracle(void)
{
    static const struct {
        const char *block;
        uint32_t from, to;
    } blocks[] = {
        {"ASCII", 0x20, 0x7e},
        {"Latin", 0xa1, 0x24f},
        {"combining", 0x300, 0x36f},
        {"Greek and Cyrillic", 0x370, 0x4ff},
        {"Hebrew marks", 0x5d0, 0x5ea},
        {"Hangul", 0xac00, 0xd7a3},
        {"Hiragana", 0x3041, 0x3096},
        {"Katakana", 0x30a1, 0x30fa},
        {"CJK", 0x4e00, 0x9fa5},
        {"CJK extension A", 0x3400, 0x4db5},
        {"full width", 0xff01, 0xff60},
        {"half width", 0xff61, 0xff9f},
        {"box drawing", 0x2500, 0x259f},
        {"arrows", 0x2190, 0x21ff},
        {"emoji faces", 0x1f600, 0x1f64f},
        {"CJK extension B", 0x20000, 0x2a6d6},
        {"variation", 0xfe00, 0xfe0f},
    };
    if (!setlocale(LC_CTYPE, "C.UTF-8")) {
        skip("no UTF-8 locale to compare with");
        return;
    }
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) {
        int differ = 0;
        uint32_t first = 0;
        for (uint32_t c = blocks[i].from; c <= blocks[i].to; c++) {
            char s[4];
            size_t n = utf8_of(c, s);
            int want = c == 0xad ? 1 : wcwidth((wchar_t)c);
            if (want >= 0 && term_width(s, n) != want && !differ++)
                first = c;
        }
        is_int(differ, 0, "%s: widths as in the C library (first U+%04X)", blocks[i].block, first);
    }
}

static void test_width(void)
{
    is_int(term_width("abc", 3), 3, "ASCII");
    is_int(term_width("caf\u00e9", 5), 4, "one accent");
    is_int(term_width("cafe\u0301", 6), 4, "a combining accent");
    is_int(term_width("\u8cc7\u6599", 6), 4, "two wide characters");
    is_int(term_width("\xff\xfe", 2), 2, "what is not UTF-8 takes a column a byte");
    is_int(term_width("\xe2\x82", 2), 2, "half a character too");
    is_int(term_width("\xed\xa0\x80", 3), 3, "a surrogate is not UTF-8");
    is_int(term_width("\xf4\x90\x80\x80", 4), 4, "nor what is beyond Unicode");
    is_int(term_width("\xe0\x80\xaf", 3), 3, "nor an overlong form");
    is_int((int)term_fit("\u8cc7\u6599x", 7, 3), 3, "half a wide character does not fit");
    is_int((int)term_fit("\u8cc7\u6599x", 7, 5), 7, "all of it fits");
    is_int((int)term_fit("abc", 3, 0), 0, "nothing fits into nothing");
}

static void test_clean(void)
{
    static const struct {
        const char *in;
        unsigned keep;
        const char *out;
    } cases[] = {
        {"plain text", 0, "plain text"},
        {"caf\u00e9 \u8cc7", 0, "caf\u00e9 \u8cc7"},
        {"a\nb\tc\rd", 0, "a b c d"},
        {"a\nb\tc", TERM_LINES, "a\nb\tc"},
        {"a\r\nb\rc", TERM_LINES, "a\nb c"},
        {"\033[2Jgone", TERM_LINES | TERM_COLORS, "^[[2Jgone"},
        {"\033[1;31mred\033[0m", TERM_COLORS, "\033[1;31mred\033[0m"},
        {"\033[1;31mred\033[0m", 0, "red"},
        {"\033]52;c;aGk=\007", TERM_COLORS, "^[]52;c;aGk=^G"},
        {"\033[31", TERM_COLORS, "^[[31"},
        {"\033", 0, "^["},
        {"del\177", 0, "del^?"},
        {"c1 \xc2\x9b[2J", 0, "c1 [2J"},
        {"bad \xff\xc3", 0, "bad \xef\xbf\xbd\xef\xbf\xbd"},
        {"a\xe2\x80\xaeZ\xe2\x81\xa6Y", 0, "aZY"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        SCOPED_BUF(b);
        term_clean(&b, cases[i].in, strlen(cases[i].in), cases[i].keep);
        is_text(buf_str(&b).s, cases[i].out, "case %zu is cleaned", i);
    }
    SCOPED_BUF(b);
    term_clean(&b, "a\0b", 3, 0);
    is_text(b.data, "a^@b", "NUL is shown");
}

static void test_bar(void)
{
    static const struct {
        bool utf8;
        int64_t done, failed, total;
        const char *bar;
    } cases[] = {
        {false, 0, 0, 10, "----------"},
        {false, 5, 0, 10, "#####-----"},
        {false, 10, 0, 10, "##########"},
        {false, 99, 0, 100, "#########-"},
        {false, 5, 1, 10, "#####!----"},
        {false, 0, 1, 1000, "!---------"},
        {false, 999, 1, 1000, "#########!"},
        {false, 0, 0, 0, "----------"},
        {false, 12, 0, 10, "##########"},
        {false, 0, 20, 10, "!!!!!!!!!!"},
        {true, 5, 0, 10, "\u2588\u2588\u2588\u2588\u2588\u00b7\u00b7\u00b7\u00b7\u00b7"},
        {true, 1, 0, 20, "\u258c\u00b7\u00b7\u00b7\u00b7\u00b7\u00b7\u00b7\u00b7\u00b7"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        SCOPED_BUF(b);
        const struct look look = {.utf8 = cases[i].utf8};
        term_bar(&b, &look, 10, cases[i].done, cases[i].failed, cases[i].total);
        is_text(buf_str(&b).s, cases[i].bar, "%lld done, %lld failed of %lld",
                (long long)cases[i].done, (long long)cases[i].failed, (long long)cases[i].total);
    }
    for (int64_t total = 1; total < 50; total++)
        for (int64_t done = 0; done <= total; done++) {
            SCOPED_BUF(b);
            const struct look look = {.utf8 = true};
            term_bar(&b, &look, 12, done, total - done > 3 ? 3 : 0, total);
            if (term_width(b.data, b.len) != 12) {
                ok(false, "a bar of %lld of %lld is 12 wide", (long long)done, (long long)total);
                return;
            }
        }
    ok(true, "every bar is as wide as it was asked to be");
    SCOPED_BUF(b);
    const struct look color = {.color = true, .utf8 = true};
    term_bar(&b, &color, 4, 2, 1, 4);
    is_text(b.data, "\033[32m\u2588\u2588\033[0m\033[1;31m\u2588\033[0m\033[2m\u00b7\033[0m",
            "each part has its colour");
}

static void test_pen(void)
{
    SCOPED_BUF(b);
    const struct look look = {.utf8 = true, .columns = 10};
    struct pen pen = {.b = &b, .look = &look};
    pen_put(&pen, STYLE_PLAIN, "%s", "abcd");
    pen_to(&pen, 6);
    pen_put(&pen, STYLE_BOLD, "%s", "efghijk");
    pen_put(&pen, STYLE_PLAIN, "never seen");
    pen_end(&pen);
    is_text(b.data, "abcd  efg\u2026\n", "a line stops at the edge and says so");
    buf_clear(&b);
    pen_put(&pen, STYLE_PLAIN, "%s", "0123456789");
    pen_to(&pen, 20);
    pen_end(&pen);
    is_text(b.data, "0123456789\n", "a line may be just full");
    buf_clear(&b);
    pen_put(&pen, STYLE_PLAIN, "%s", "\u8cc7\u6599\u8cc7\u6599x\u8cc7");
    pen_end(&pen);
    is_text(b.data, "\u8cc7\u6599\u8cc7\u6599x\u2026\n", "wide characters are cut whole");
    buf_clear(&b);
    const struct look plain = {.columns = 10};
    struct pen ascii = {.b = &b, .look = &plain};
    pen_put(&ascii, STYLE_PLAIN, "%s\n%s", "two", "lines are one");
    pen_bar(&ascii, 10, 1, 0, 2);
    pen_end(&ascii);
    is_text(b.data, "two lines~\n", "newlines become spaces, no bar where there is no room");
    buf_clear(&b);
    pen_bar(&ascii, 20, 1, 0, 2);
    pen_end(&ascii);
    is_text(b.data, "#####-----\n", "a bar is as wide as there is room");
    buf_clear(&b);
    const struct look endless = {.color = true};
    struct pen free_pen = {.b = &b, .look = &endless};
    pen_put(&free_pen, STYLE_BAD, "%050d", 7);
    pen_to(&free_pen, 3);
    pen_put(&free_pen, STYLE_PLAIN, "x");
    pen_end(&free_pen);
    is_text(b.data, "\033[1;31m00000000000000000000000000000000000000000000000007\033[0m x\n",
            "without an edge nothing is cut");
}

static void test_states(void)
{
    static const struct {
        const char *state;
        enum style style;
    } cases[] = {
        {"ACTIVE", STYLE_GOOD},    {"ERROR", STYLE_BAD},        {"RUNNING", STYLE_BUSY},
        {"BLOCKED", STYLE_DIM},    {"dead", STYLE_BAD},         {"STALE", STYLE_WARN},
        {"succeeded", STYLE_GOOD}, {"active", STYLE_GOOD},      {"pending", STYLE_BUSY},
        {"incomplete", STYLE_BAD}, {"inconsistent", STYLE_BAD}, {"deleting", STYLE_BUSY},
        {"", STYLE_PLAIN},         {"whatever", STYLE_PLAIN},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        is_int(term_state_style(cases[i].state), cases[i].style, "style of \"%s\"", cases[i].state);
}

int main(void)
{
    test_width_oracle();
    test_width();
    test_clean();
    test_bar();
    test_pen();
    test_states();
    return tap_done();
}
