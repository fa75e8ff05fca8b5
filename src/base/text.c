/* text.c - small questions about text, each answered in time linear or bounded in its length */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8_i.h"

/* Matches one byte against the set that starts behind '['; *ret_len is what the set takes including
 * the closing ']'.  A '[' that is never closed stands for itself. */
static bool glob_set(struct str set, char c, size_t *ret_len)
{
    unsigned char ch = (unsigned char)c;
    bool in = false;
    size_t i = 0;
    while (i < set.n && (set.s[i] != ']' || i == 0)) {
        unsigned char lo = (unsigned char)set.s[i], hi = lo;
        if (i + 2 < set.n && set.s[i + 1] == '-' && set.s[i + 2] != ']') {
            hi = (unsigned char)set.s[i + 2];
            i += 2;
        }
        in = in || (lo <= ch && ch <= hi);
        i++;
    }
    if (i == set.n) {
        *ret_len = 0;
        return c == '[';
    }
    *ret_len = i + 1;
    return in;
}

/* On a mismatch only the last star is extended: earlier stars have matched as little as they can,
 * and giving them more could not help the rest.  That bounds the work by pattern times text. */
bool text_glob(struct str pattern, struct str s)
{
    size_t p = 0, i = 0, star = SIZE_MAX, star_i = 0;
    while (i < s.n) {
        if (p < pattern.n && pattern.s[p] == '*') {
            star = p++;
            star_i = i;
            continue;
        }
        size_t set_len = 0;
        bool hit = false;
        if (p < pattern.n) {
            char c = pattern.s[p];
            if (c == '[')
                hit = glob_set((struct str){pattern.s + p + 1, pattern.n - p - 1}, s.s[i],
                               &set_len);
            else
                hit = c == '?' || c == s.s[i];
        }
        if (hit) {
            p += 1 + set_len;
            i++;
        } else if (star != SIZE_MAX) {
            p = star + 1;
            i = ++star_i;
        } else {
            return false;
        }
    }
    while (p < pattern.n && pattern.s[p] == '*')
        p++;
    return p == pattern.n;
}

bool text_utf8_valid(const char *s, size_t n)
{
    return text_utf8_prefix(s, n) == n;
}

size_t text_utf8_prefix(const char *s, size_t n)
{
    const uint64_t high = 0x8080808080808080ull;
    size_t i = 0;
    while (i < n) {
        uint64_t w;
        while (n - i >= sizeof w) {
            memcpy(&w, s + i, sizeof w);
            if (w & high)
                break;
            i += sizeof w;
        }
        if (i == n)
            break;
        size_t len = utf8_sequence(s + i, n - i);
        if (len == 0)
            break;
        i += len;
    }
    return i;
}

static bool is_lower_alnum(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

bool text_is_name(struct str s)
{
    if (s.n == 0 || s.n > 64 || !is_lower_alnum(s.s[0]))
        return false;
    for (size_t i = 1; i < s.n; i++)
        if (!is_lower_alnum(s.s[i]) && s.s[i] != '.' && s.s[i] != '_' && s.s[i] != '-')
            return false;
    return true;
}

bool text_is_fqdn(struct str s)
{
    if (s.n == 0 || s.n > 253)
        return false;
    size_t label = 0; /* bytes of the current label so far */
    for (size_t i = 0; i < s.n; i++) {
        if (s.s[i] == '.') {
            if (label == 0 || s.s[i - 1] == '-')
                return false;
            label = 0;
        } else if (is_lower_alnum(s.s[i]) || (s.s[i] == '-' && label > 0)) {
            if (++label > 63)
                return false;
        } else {
            return false;
        }
    }
    return label > 0 && s.s[s.n - 1] != '-';
}

bool text_is_dns_suffix(struct str s)
{
    enum { SUFFIX_MAX = 255 - 64 };
    size_t label = 0;

    if (s.n == 0 || s.n > SUFFIX_MAX || s.s[s.n - 1] == '-')
        return false;
    for (size_t i = 0; i < s.n; i++) {
        char c = s.s[i] >= 'A' && s.s[i] <= 'Z' ? (char)(s.s[i] - 'A' + 'a') : s.s[i];
        if (c == '.' && label > 0 && s.s[i - 1] != '-')
            label = 0;
        else if ((!is_lower_alnum(c) && (c != '-' || label == 0)) || ++label > 63)
            return false;
    }
    return label > 0;
}

enum { NEAR_MAX = 128 }; /* longer names are not compared: nobody mistypes those */

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Edits (insert, delete, replace, swap neighbours) from a to b, or bound + 1 if they are more. */
static size_t edit_distance(struct str a, struct str b, size_t bound)
{
    uint8_t rows[3][NEAR_MAX + 1];
    uint8_t *before = rows[0], *last = rows[1], *now = rows[2];
    if (a.n > b.n + bound || b.n > a.n + bound)
        return bound + 1;
    for (size_t j = 0; j <= b.n; j++)
        last[j] = (uint8_t)j;
    for (size_t i = 1; i <= a.n; i++) {
        size_t row_least = now[0] = (uint8_t)i;
        for (size_t j = 1; j <= b.n; j++) {
            size_t d = last[j - 1] + (size_t)(a.s[i - 1] != b.s[j - 1]);
            d = least(d, least(last[j], now[j - 1]) + 1u);
            if (i > 1 && j > 1 && a.s[i - 1] == b.s[j - 2] && a.s[i - 2] == b.s[j - 1])
                d = least(d, before[j - 2] + 1u);
            now[j] = (uint8_t)d;
            row_least = least(row_least, d);
        }
        if (row_least > bound)
            return bound + 1;
        uint8_t *spare = before;
        before = last;
        last = now;
        now = spare;
    }
    return last[b.n];
}

const char *text_nearest(struct str name, const char *const *candidates, size_t n)
{
    if (name.n > NEAR_MAX)
        return NULL;
    const char *best = NULL;
    size_t bound = name.n / 3 > 1 ? name.n / 3 : 1;
    for (size_t i = 0; i < n; i++) {
        struct str c = str_of(candidates[i]);
        if (!c.s || c.n > NEAR_MAX)
            continue;
        size_t d = edit_distance(name, c, bound);
        if (d > bound)
            continue;
        best = candidates[i];
        if (d == 0)
            break;
        bound = d - 1; /* only a nearer one replaces it; of equals the first wins */
    }
    return best;
}

/* Reads digits from s at *at; false on overflow or if there is none. */
static bool text_digits(struct str s, size_t *at, uint64_t *ret_v)
{
    uint64_t v = 0;
    size_t i = *at;
    while (i < s.n && s.s[i] >= '0' && s.s[i] <= '9') {
        if (__builtin_mul_overflow(v, (uint64_t)10, &v) ||
            __builtin_add_overflow(v, (uint64_t)(s.s[i] - '0'), &v))
            return false;
        i++;
    }
    if (i == *at)
        return false;
    *at = i;
    *ret_v = v;
    return true;
}

static int shown(struct str s)
{
    return (int)utf8_cut(s.s, s.n, 64);
}

int text_duration_ms(struct str s, uint64_t *ret_ms, struct err *e)
{
    static const struct {
        const char *unit;
        uint64_t ms;
    } units[] = {{"ms", 1},          {"s", 1000},      {"m", 60 * 1000},
                 {"h", 3600 * 1000}, {"d", 86400000u}, {"", 1000}};
    size_t at = 0;
    uint64_t v = 0;
    if (text_digits(s, &at, &v)) {
        struct str unit = {s.s + at, s.n - at};
        for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
            uint64_t ms;
            if (!str_is(unit, units[i].unit) || __builtin_mul_overflow(v, units[i].ms, &ms))
                continue;
            *ret_ms = ms;
            return 0;
        }
    }
    int rc = err_set(e, ERR_INVALID, "\"%.*s\" is not a duration", shown(s), s.s ? s.s : "");
    err_hint(e, "write a whole number with ms, s, m, h or d behind it, as in 250ms, 10s, 5m, 2h");
    return rc;
}

void text_duration_show(uint64_t ms, char ret[16])
{
    uint64_t s = ms / 1000;
    unsigned tenth = (unsigned)(ms % 1000 / 100);
    if (ms < 1000)
        snprintf(ret, 16, "%ums", (unsigned)ms);
    else if (s < 60)
        snprintf(ret, 16, "%u.%us", (unsigned)s, tenth);
    else if (s < 3600)
        snprintf(ret, 16, "%um%02us", (unsigned)(s / 60), (unsigned)(s % 60));
    else if (s < 86400)
        snprintf(ret, 16, "%uh%02um", (unsigned)(s / 3600), (unsigned)(s / 60 % 60));
    else if (s < 1000ull * 86400)
        snprintf(ret, 16, "%ud%02uh", (unsigned)(s / 86400), (unsigned)(s / 3600 % 24));
    else
        snprintf(ret, 16, "%llud", (unsigned long long)(s / 86400));
}

struct text_count text_count(uint64_t n, const char *one)
{
    struct text_count t;
    size_t len = strlen(one);
    bool ies = n != 1 && len > 1 && one[len - 1] == 'y' && !strchr("aeiou", one[len - 2]);
    snprintf(t.s, sizeof t.s, "%" PRIu64 " %.*s%s", n, (int)(ies ? len - 1 : len), one,
             n == 1 ? ""
             : ies  ? "ies"
                    : "s");
    return t;
}

static bool is_digit(struct str s, size_t i)
{
    return i < s.n && s.s[i] >= '0' && s.s[i] <= '9';
}

/* The digits from i on, without the zeros that lead; i moves behind them. */
static struct str number_at(struct str s, size_t *i)
{
    while (*i < s.n && s.s[*i] == '0')
        ++*i;
    size_t from = *i;
    while (is_digit(s, *i))
        ++*i;
    return (struct str){s.s + from, *i - from};
}

int text_natural_order(struct str a, struct str b)
{
    size_t i = 0, k = 0;
    while (i < a.n && k < b.n) {
        if (is_digit(a, i) && is_digit(b, k)) {
            struct str x = number_at(a, &i), y = number_at(b, &k);
            int order = x.n != y.n ? (x.n > y.n) - (x.n < y.n) : memcmp(x.s, y.s, x.n);
            if (order != 0)
                return order;
        } else if (a.s[i] != b.s[k]) {
            return (unsigned char)a.s[i] < (unsigned char)b.s[k] ? -1 : 1;
        } else {
            i++;
            k++;
        }
    }
    if (i < a.n || k < b.n)
        return i < a.n ? 1 : -1;
    return str_cmp(a, b); /* they differ in zeros that lead, if at all */
}

int text_u64(struct str s, uint64_t max, uint64_t *ret_v, struct err *e)
{
    size_t at = 0;
    uint64_t v = 0;
    bool number = s.n > 0;
    for (size_t i = 0; i < s.n; i++)
        number = number && s.s[i] >= '0' && s.s[i] <= '9';
    if (!number)
        return err_set(e, ERR_INVALID, "\"%.*s\" is not a whole number", shown(s), s.s ? s.s : "");
    if (!text_digits(s, &at, &v) || v > max) {
        int rc = err_set(e, ERR_INVALID, "%.*s is too large", shown(s), s.s);
        err_hint(e, "at most %llu is allowed", (unsigned long long)max);
        return rc;
    }
    *ret_v = v;
    return 0;
}

void text_hex(const void *p, size_t n, char *ret)
{
    static const char digit[] = "0123456789abcdef";
    const unsigned char *b = p;
    for (size_t i = 0; i < n; i++) {
        ret[2 * i] = digit[b[i] >> 4];
        ret[2 * i + 1] = digit[b[i] & 15];
    }
    ret[2 * n] = '\0';
}
