/* term.c - characters as a terminal sees them
 *
 * Width is decided by small tables of our own instead of wcwidth(), which depends on the locale of
 * whoever runs the program.  The tables hold what names, notes and log lines of real clusters
 * contain: combining marks, joiners, East Asian scripts, emoji; a test compares them with the C
 * library.
 *
 * Text that came from a server or a task is hostile until cleaned: an escape sequence in a node's
 * note could otherwise rewrite the screen or the clipboard of whoever lists nodes.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/term_i.h"

#include <stdint.h>
#include <string.h>

struct range {
    uint32_t from, to;
};
static const struct range zero_width[] = {
    {0x0300, 0x036f}, {0x0483, 0x0489},   {0x0591, 0x05bd},   {0x0610, 0x061a}, {0x064b, 0x065f},
    {0x06d6, 0x06dc}, {0x0900, 0x0902},   {0x0941, 0x0948},   {0x0e34, 0x0e3a}, {0x0e47, 0x0e4e},
    {0x1ab0, 0x1aff}, {0x1dc0, 0x1dff},   {0x200b, 0x200f},   {0x202a, 0x202e}, {0x2060, 0x2064},
    {0x2066, 0x2069}, {0x20d0, 0x20f0},   {0x302a, 0x302d},   {0xfe00, 0xfe0f}, {0xfe20, 0xfe2f},
    {0xfeff, 0xfeff}, {0x1f3fb, 0x1f3ff}, {0xe0100, 0xe01ef},
};
static const struct range double_width[] = {
    {0x1100, 0x115f},   {0x231a, 0x231b},   {0x2329, 0x232a},   {0x23e9, 0x23ec},
    {0x23f0, 0x23f0},   {0x23f3, 0x23f3},   {0x25fd, 0x25fe},   {0x2614, 0x2615},
    {0x2648, 0x2653},   {0x267f, 0x267f},   {0x2693, 0x2693},   {0x26a1, 0x26a1},
    {0x26aa, 0x26ab},   {0x26bd, 0x26be},   {0x26c4, 0x26c5},   {0x26d4, 0x26d4},
    {0x26ea, 0x26ea},   {0x2705, 0x2705},   {0x270a, 0x270b},   {0x2728, 0x2728},
    {0x274c, 0x274c},   {0x274e, 0x274e},   {0x2753, 0x2755},   {0x2757, 0x2757},
    {0x2795, 0x2797},   {0x2b1b, 0x2b1c},   {0x2b50, 0x2b50},   {0x2b55, 0x2b55},
    {0x2e80, 0x303e},   {0x3041, 0x33ff},   {0x3400, 0x4dbf},   {0x4e00, 0xa4c6},
    {0xa960, 0xa97c},   {0xac00, 0xd7a3},   {0xf900, 0xfaff},   {0xfe10, 0xfe19},
    {0xfe30, 0xfe6b},   {0xff01, 0xff60},   {0xffe0, 0xffe6},   {0x17000, 0x187f7},
    {0x1b000, 0x1b122}, {0x1f18e, 0x1f18e}, {0x1f191, 0x1f19a}, {0x1f200, 0x1f202},
    {0x1f300, 0x1f320}, {0x1f32d, 0x1f335}, {0x1f337, 0x1f37c}, {0x1f37e, 0x1f393},
    {0x1f3a0, 0x1f3ca}, {0x1f3e0, 0x1f3f0}, {0x1f400, 0x1f43e}, {0x1f442, 0x1f4fc},
    {0x1f4ff, 0x1f53d}, {0x1f5fb, 0x1f64f}, {0x1f680, 0x1f6c5}, {0x1f6d5, 0x1f6d7},
    {0x1f7e0, 0x1f7eb}, {0x1f90c, 0x1f93a}, {0x1f93c, 0x1f945}, {0x1f947, 0x1f9ff},
    {0x1fa70, 0x1faf6}, {0x20000, 0x2fffd}, {0x30000, 0x3fffd},
};
#define COUNT(a) (sizeof(a) / sizeof *(a))

static bool range_holds(const struct range *r, size_t n, uint32_t c)
{
    size_t low = 0;
    while (n) {
        size_t half = n / 2;
        if (c > r[low + half].to) {
            low += half + 1;
            n -= half + 1;
        } else {
            n = half;
            if (c >= r[low + half].from)
                return true;
        }
    }
    return false;
}

/* Bytes of the character at s, 0 if it is not UTF-8; *ret_c its number. */
static size_t utf8_take(const char *s, size_t n, uint32_t *ret_c)
{
    const unsigned char *p = (const unsigned char *)s;
    size_t len = *p < 0x80 ? 1 : *p < 0xc2 ? 0 : *p < 0xe0 ? 2 : *p < 0xf0 ? 3 : *p < 0xf5 ? 4 : 0;
    if (!len || len > n)
        return 0;
    uint32_t c = len == 1 ? *p : *p & (0xffu >> (len + 1));
    for (size_t i = 1; i < len; i++) {
        if ((p[i] & 0xc0) != 0x80)
            return 0;
        c = c << 6 | (p[i] & 0x3f);
    }
    if ((len == 3 && (c < 0x800 || (c >= 0xd800 && c < 0xe000))) ||
        (len == 4 && (c < 0x10000 || c > 0x10ffff)))
        return 0;
    *ret_c = c;
    return len;
}

static int char_width(uint32_t c)
{
    if (c < 0x20 || (c >= 0x7f && c < 0xa0))
        return 0;
    if (c < 0x300)
        return 1;
    if (range_holds(zero_width, COUNT(zero_width), c))
        return 0;
    return range_holds(double_width, COUNT(double_width), c) ? 2 : 1;
}

size_t term_fit(const char *s, size_t n, int columns)
{
    size_t at = 0;
    for (int used = 0; at < n;) {
        uint32_t c;
        size_t len = utf8_take(s + at, n - at, &c);
        used += len ? char_width(c) : 1;
        if (used > columns)
            break;
        at += len ? len : 1;
    }
    return at;
}

int term_width(const char *s, size_t n)
{
    int used = 0;
    for (size_t at = 0; at < n;) {
        uint32_t c;
        size_t len = utf8_take(s + at, n - at, &c);
        used += len ? char_width(c) : 1;
        at += len ? len : 1;
    }
    return used;
}

void term_styled(struct buf *b, const struct look *look, enum style style, const char *s)
{
    static const char *const sgr[] = {
#define X(id, text) text,
        STYLES(X)
#undef X
    };
    if (!look->color || style == STYLE_PLAIN) {
        buf_puts(b, s);
        return;
    }
    buf_printf(b, "\033[%sm%s\033[0m", sgr[style], s);
}

void term_spaces(struct buf *b, int n)
{
    for (; n > 0; n--)
        buf_putc(b, ' ');
}

/* Bytes of the colour sequence at s ("ESC [ digits ; ... m"), 0 if it is something else. */
static size_t sgr_length(const char *s, size_t n)
{
    size_t at = 2;
    if (n < 3 || s[1] != '[')
        return 0;
    while (at < n && (s[at] == ';' || (s[at] >= '0' && s[at] <= '9')))
        at++;
    return at < n && s[at] == 'm' ? at + 1 : 0;
}

void term_clean(struct buf *b, const char *s, size_t n, unsigned keep)
{
    for (size_t at = 0; at < n;) {
        uint32_t c;
        size_t sgr, len = utf8_take(s + at, n - at, &c);
        if (!len) {
            buf_puts(b, "\xef\xbf\xbd");
            at++;
            continue;
        }
        if (c >= 0xa0 || (c >= 0x20 && c < 0x7f)) {
            if ((c < 0x202a || c > 0x202e) && (c < 0x2066 || c > 0x2069)) /* direction overrides */
                buf_put(b, s + at, len);
        } else if ((c == '\n' || c == '\t') && keep & TERM_LINES) {
            buf_putc(b, (char)c);
        } else if (c == '\r' && keep & TERM_LINES && at + 1 < n && s[at + 1] == '\n') {
            /* CRLF is a newline */
        } else if (c == 033 && (sgr = sgr_length(s + at, n - at))) {
            buf_put(b, s + at, keep & TERM_COLORS ? sgr : 0);
            len = sgr;
        } else if (c == '\n' || c == '\t' || c == '\r') {
            buf_putc(b, ' ');
        } else if (c < 0x80) {
            buf_putc(b, '^');
            buf_putc(b, (char)(c ^ 0x40));
        }
        at += len;
    }
}

enum style term_state_style(const char *state)
{
    static const struct {
        const char *state;
        enum style style;
    } known[] = {
        {"ACTIVE", STYLE_GOOD},     {"DONE", STYLE_GOOD},
        {"succeeded", STYLE_GOOD},  {"alive", STYLE_GOOD},
        {"ok", STYLE_GOOD},         {"finished", STYLE_GOOD},
        {"TRANSITION", STYLE_BUSY}, {"RUNNING", STYLE_BUSY},
        {"running", STYLE_BUSY},    {"working", STYLE_BUSY},
        {"open", STYLE_BUSY},       {"REMOVING", STYLE_BUSY},
        {"TODO", STYLE_HOLD},       {"READY", STYLE_HOLD},
        {"WAITING", STYLE_HOLD},    {"away", STYLE_HOLD},
        {"scheduled", STYLE_HOLD},  {"STALE", STYLE_WARN},
        {"TOLERATED", STYLE_WARN},  {"CANCELLED", STYLE_WARN},
        {"cancelled", STYLE_WARN},  {"superseded", STYLE_WARN},
        {"DEP_FAILED", STYLE_WARN}, {"succeeded-with-failures", STYLE_WARN},
        {"ERROR", STYLE_BAD},       {"FAILED", STYLE_BAD},
        {"failed", STYLE_BAD},      {"dead", STYLE_BAD},
        {"lost", STYLE_BAD},        {"timeout", STYLE_BAD},
        {"refused", STYLE_BAD},     {"PROPOSED", STYLE_DIM},
        {"BLOCKED", STYLE_DIM},     {"PENDING", STYLE_DIM},
        {"SKIPPED", STYLE_DIM},     {"unknown", STYLE_DIM},
        {"REMOVED", STYLE_DIM},     {"active", STYLE_GOOD},
        {"pending", STYLE_BUSY},    {"deleting", STYLE_BUSY},
        {"incomplete", STYLE_BAD},  {"inconsistent", STYLE_BAD},
    };
    for (size_t i = 0; i < COUNT(known); i++)
        if (!strcmp(known[i].state, state))
            return known[i].style;
    return STYLE_PLAIN;
}

/* Eighths of a block make the bar move for every task of a large operation. */
static void bar_part(struct buf *b, const struct look *look, enum style style, int64_t eighths)
{
    static const char *const blocks[] = {"",       "\u258f", "\u258e", "\u258d",
                                         "\u258c", "\u258b", "\u258a", "\u2589"};
    SCOPED_BUF(part);
    for (; eighths >= 8; eighths -= 8)
        buf_puts(&part, "\u2588");
    buf_puts(&part, blocks[eighths]);
    if (part.len)
        term_styled(b, look, style, part.data);
}

void term_bar(struct buf *b, const struct look *look, int width, int64_t done, int64_t failed,
              int64_t total)
{
    int64_t full = (int64_t)width * 8, good = 0, bad = 0;
    if (total > 0) {
        /* A failure is always seen, and the bar is full only when all is done. */
        bad = failed > 0 ? (failed * width + total - 1) / total * 8 : 0;
        good = done > total ? full : done * full / total;
        if (bad > full)
            bad = full;
        if (good + bad > full)
            good = full - bad;
    }
    if (!look->utf8) {
        SCOPED_BUF(part);
        for (int64_t i = 0; i < good / 8; i++)
            buf_putc(&part, '#');
        if (part.len)
            term_styled(b, look, STYLE_GOOD, part.data);
        buf_clear(&part);
        for (int64_t i = 0; i < bad / 8; i++)
            buf_putc(&part, '!');
        if (part.len)
            term_styled(b, look, STYLE_BAD, part.data);
        for (int64_t i = good / 8 + bad / 8; i < width; i++)
            buf_putc(b, '-');
        return;
    }
    if (bad)
        good = good / 8 * 8;
    bar_part(b, look, STYLE_GOOD, good);
    bar_part(b, look, STYLE_BAD, bad);
    SCOPED_BUF(rest);
    for (int64_t i = (good + bad + 7) / 8; i < width; i++)
        buf_puts(&rest, "\u00b7");
    if (rest.len)
        term_styled(b, look, STYLE_DIM, rest.data);
}
