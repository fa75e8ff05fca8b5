/* expr_chars.c - characters and numbers in text, the same in every locale
 *
 * Case is known for the letters of Latin, Greek and Cyrillic that have a partner by rule; others
 * are left as they are.  The C library would ask the locale, and a hook must not depend on where
 * the server was started.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "template/expr.h"
#include "template/expr_i.h"

#include <locale.h>
#include <math.h>
#include <stdlib.h>

/* --- UTF-8 --- */

uint32_t chars_at(struct str s, size_t *ret_len)
{
    const unsigned char *p = (const unsigned char *)s.s;
    size_t len = p[0] < 0xC2 ? 1 : p[0] < 0xE0 ? 2 : p[0] < 0xF0 ? 3 : p[0] < 0xF5 ? 4 : 1;
    uint32_t c = len == 1 ? p[0] : p[0] & (0x7Fu >> len);
    for (size_t i = 1; i < len; i++) {
        if (i >= s.n || (p[i] & 0xC0) != 0x80) {
            *ret_len = 1;
            return p[0];
        }
        c = c << 6 | (p[i] & 0x3F);
    }
    *ret_len = len;
    return c;
}

size_t chars_count(struct str s)
{
    size_t n = 0, len;
    for (; s.n; s = (struct str){s.s + len, s.n - len}) {
        chars_at(s, &len);
        n++;
    }
    return n;
}

void chars_put(struct buf *b, uint32_t c)
{
    if (c < 0x80) {
        buf_putc(b, (char)c);
        return;
    }
    char out[4];
    size_t n = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    for (size_t i = n - 1; i > 0; i--, c >>= 6)
        out[i] = (char)(0x80 | (c & 0x3F));
    out[0] = (char)((0xF00u >> n) | c);
    buf_put(b, out, n);
}

bool chars_is_space(uint32_t c)
{
    return (c >= 0x09 && c <= 0x0D) || (c >= 0x1C && c <= 0x20) || c == 0x85 || c == 0xA0 ||
           c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 ||
           c == 0x202F || c == 0x205F || c == 0x3000;
}

bool chars_is_printable(uint32_t c)
{
    static const struct {
        uint32_t first, last;
    } hidden[] = {
        {0x00, 0x1F},     {0x7F, 0xA0},     {0xAD, 0xAD},        {0x1680, 0x1680},
        {0x2000, 0x200F}, {0x2028, 0x202F}, {0x205F, 0x206F},    {0x3000, 0x3000},
        {0xE000, 0xF8FF}, {0xFEFF, 0xFEFF}, {0xF0000, 0x10FFFF},
    };
    for (size_t i = 0; i < sizeof hidden / sizeof *hidden; i++)
        if (c >= hidden[i].first && c <= hidden[i].last)
            return false;
    return true;
}

struct str chars_trim(struct str s)
{
    size_t len;
    while (s.n && chars_is_space(chars_at(s, &len)))
        s = (struct str){s.s + len, s.n - len};
    size_t end = 0; /* behind the last character that is no space */
    for (size_t i = 0; i < s.n; i += len)
        if (!chars_is_space(chars_at((struct str){s.s + i, s.n - i}, &len)))
            end = i + len;
    return (struct str){s.s, end};
}

/* --- case --- */

/* Upper and lower letters of a range: apart by `delta`, or next to each other (delta 0) with the
 * upper one on `first`. */
struct case_range {
    uint16_t first, last; /* of the upper case */
    uint16_t delta;
};
static const struct case_range case_ranges[] = {
    {'A', 'Z', 32},      {0xC0, 0xD6, 32},   {0xD8, 0xDE, 32},   {0x100, 0x12E, 0},
    {0x132, 0x136, 0},   {0x139, 0x147, 0},  {0x14A, 0x176, 0},  {0x179, 0x17D, 0},
    {0x386, 0x386, 38},  {0x388, 0x38A, 37}, {0x38C, 0x38C, 64}, {0x38E, 0x38F, 63},
    {0x391, 0x3A1, 32},  {0x3A3, 0x3AB, 32}, {0x400, 0x40F, 80}, {0x410, 0x42F, 32},
    {0x460, 0x480, 0},   {0x48A, 0x4BE, 0},  {0x4D0, 0x52E, 0},  {0x1E00, 0x1E94, 0},
    {0x1EA0, 0x1EFE, 0},
};

static uint32_t to_lower(uint32_t c)
{
    for (size_t i = 0; i < sizeof case_ranges / sizeof *case_ranges; i++) {
        const struct case_range *r = &case_ranges[i];
        if (c < r->first || c > r->last)
            continue;
        if (r->delta)
            return c + r->delta;
        return (c - r->first) % 2 == 0 ? c + 1 : c;
    }
    return c == 0x178 ? 0xFF : c;
}

static uint32_t to_upper(uint32_t c)
{
    for (size_t i = 0; i < sizeof case_ranges / sizeof *case_ranges; i++) {
        const struct case_range *r = &case_ranges[i];
        uint32_t apart = r->delta ? r->delta : 1;
        if (c < r->first + apart || c > r->last + apart)
            continue;
        if (r->delta)
            return c - r->delta;
        return (c - r->first) % 2 == 1 ? c - 1 : c;
    }
    return c == 0xFF ? 0x178 : c == 0xB5 ? 0x39C : c == 0x3C2 ? 0x3A3 : c == 0x131 ? 'I' : c;
}

void chars_put_upper(struct buf *b, uint32_t c)
{
    if (c == 0xDF) /* one letter, two capitals */
        buf_puts(b, "SS");
    else
        chars_put(b, to_upper(c));
}

void chars_put_lower(struct buf *b, uint32_t c)
{
    chars_put(b, to_lower(c));
}

/* --- numbers --- */

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Copies digits to out, without the single underscores that may stand between them; where they end.
 */
static const char *digits_copy(const char *p, const char *end, struct buf *out)
{
    while (p < end && is_digit(*p)) {
        buf_putc(out, *p++);
        if (end - p > 1 && *p == '_' && is_digit(p[1]))
            p++;
    }
    return p;
}

/* Checks that s is a decimal number and copies it without underscores. */
static bool real_copy(struct str s, struct buf *out)
{
    const char *p = s.s, *end = s.s + s.n;
    if (p < end && (*p == '-' || *p == '+'))
        buf_putc(out, *p++);
    size_t before = out->len;
    p = digits_copy(p, end, out);
    size_t digits = out->len - before;
    if (p < end && *p == '.') {
        buf_putc(out, *p++);
        before = out->len;
        p = digits_copy(p, end, out);
        digits += out->len - before;
    }
    if (!digits)
        return false;
    if (p < end && (*p | 0x20) == 'e') {
        buf_putc(out, *p++);
        if (p < end && (*p == '-' || *p == '+'))
            buf_putc(out, *p++);
        before = out->len;
        p = digits_copy(p, end, out);
        if (out->len == before)
            return false;
    }
    return p == end;
}

bool chars_read_real(struct str s, double *ret_r)
{
    SCOPED_BUF(text);
    if (!real_copy(chars_trim(s), &text))
        return false;
    /* glibc hands out its built-in object for "C": this neither allocates nor fails. */
    locale_t c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    double r = strtod_l(text.data, NULL, c_locale);
    freelocale(c_locale);
    if (!isfinite(r))
        return false;
    *ret_r = r;
    return true;
}

/* The base that a prefix asks for, 0 if there is none. */
static uint32_t prefix_base(const char *p, const char *end)
{
    if (end - p < 2 || p[0] != '0')
        return 0;
    char c = p[1] | 0x20;
    return c == 'x' ? 16 : c == 'o' ? 8 : c == 'b' ? 2 : 0;
}

enum read_int chars_read_int(struct str s, uint32_t base, int64_t *ret_i)
{
    s = chars_trim(s);
    const char *p = s.s, *end = s.s + s.n;
    bool negative = p < end && *p == '-', large = false, digit = false;
    uint64_t v = 0;
    if (p < end && (*p == '-' || *p == '+'))
        p++;
    uint32_t prefix = prefix_base(p, end);
    if (prefix && (base == 0 || base == prefix)) {
        p += 2;
        base = prefix;
        p += p < end && *p == '_';
    }
    base = base ? base : 10;
    for (; p < end; p++) {
        uint32_t d = is_digit(*p) ? (uint32_t)(*p - '0') : 99;
        if ((*p | 0x20) >= 'a' && (*p | 0x20) <= 'z')
            d = (uint32_t)((*p | 0x20) - 'a') + 10;
        if (*p == '_' && digit && p + 1 < end) {
            digit = false;
            continue;
        }
        if (d >= base)
            return READ_INT_NONE;
        digit = true;
        large |= __builtin_mul_overflow(v, (uint64_t)base, &v) ||
                 __builtin_add_overflow(v, (uint64_t)d, &v);
    }
    if (!digit)
        return READ_INT_NONE;
    if (large || v > (uint64_t)INT64_MAX + negative)
        return READ_INT_LARGE;
    *ret_i = (int64_t)(negative ? 0 - v : v);
    return READ_INT_OK;
}
