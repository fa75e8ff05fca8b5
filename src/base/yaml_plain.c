/* yaml_plain.c - the typing of unquoted scalars
 *
 * This is YAML's core schema made narrower where it surprises people: a number with a leading zero
 * (a mode, a postal code), a whole number beyond 64 bits (a serial number) and a real that would be
 * infinite (a hexadecimal id such as 12e4567) stay the text that was written.  The writer asks the
 * same function, so that what it leaves unquoted reads back unchanged.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/yaml_i.h"

#include <math.h>

#include "base/number_i.h"

static bool is_plain_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_one_of(struct str s, const char *const *words)
{
    for (; *words; words++)
        if (str_is(s, *words))
            return true;
    return false;
}

static bool plain_hex(struct str s, int64_t *ret_i)
{
    uint64_t v = 0;
    if (s.n < 3 || s.n > 18 || s.s[0] != '0' || s.s[1] != 'x')
        return false;
    for (size_t i = 2; i < s.n; i++) {
        char c = s.s[i];
        if (is_plain_digit(c))
            v = v << 4 | (uint64_t)(c - '0');
        else if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f')
            v = v << 4 | (uint64_t)((c | 0x20) - 'a' + 10);
        else
            return false;
    }
    if (v > INT64_MAX)
        return false;
    *ret_i = (int64_t)v;
    return true;
}

/* [-+]?(0|[1-9][0-9]*) within 64 bits */
static bool plain_int(struct str s, int64_t *ret_i)
{
    size_t i = s.n && (s.s[0] == '-' || s.s[0] == '+');
    bool negative = i && s.s[0] == '-';
    uint64_t v = 0;
    if (i == s.n || (s.s[i] == '0' && s.n - i > 1) || s.n - i > 19)
        return false;
    for (; i < s.n; i++) {
        if (!is_plain_digit(s.s[i]))
            return false;
        v = v * 10 + (uint64_t)(s.s[i] - '0');
    }
    if (v > (uint64_t)INT64_MAX + negative)
        return false;
    *ret_i = negative ? (int64_t)(0 - v) : (int64_t)v;
    return true;
}

bool yaml_plain_real(struct str s, double *ret_r)
{
    size_t i = s.n && (s.s[0] == '-' || s.s[0] == '+');
    size_t before = i, digits;
    while (i < s.n && is_plain_digit(s.s[i]))
        i++;
    digits = i - before;
    if (digits > 1 && s.s[before] == '0')
        return false;
    if (i < s.n && s.s[i] == '.') {
        size_t point = i++;
        while (i < s.n && is_plain_digit(s.s[i]))
            i++;
        digits += i - point - 1;
    }
    if (digits == 0)
        return false;
    if (i < s.n && (s.s[i] == 'e' || s.s[i] == 'E')) {
        i++;
        if (i < s.n && (s.s[i] == '-' || s.s[i] == '+'))
            i++;
        size_t power = i;
        while (i < s.n && is_plain_digit(s.s[i]))
            i++;
        if (i == power)
            return false;
    }
    if (i != s.n)
        return false;
    double r = number_real(s.s, s.n);
    if (!isfinite(r))
        return false;
    *ret_r = r;
    return true;
}

enum value_kind yaml_plain_resolve(struct str s, struct value *ret_v)
{
    static const char *const nulls[] = {"", "~", "null", "Null", "NULL", NULL};
    static const char *const trues[] = {"true", "True", "TRUE", NULL};
    static const char *const falses[] = {"false", "False", "FALSE", NULL};
    char c = s.n ? s.s[0] : '\0';
    enum value_kind kind = VALUE_STRING;
    int64_t i;
    double r;
    if (is_plain_digit(c) || c == '-' || c == '+' || c == '.') {
        bool whole = true;
        for (size_t k = 0; k < s.n; k++)
            whole = whole && s.s[k] != '.' && (s.s[k] | 0x20) != 'e';
        if (plain_int(s, &i) || plain_hex(s, &i)) {
            ret_v->i = i;
            kind = VALUE_INT;
        } else if (!whole && yaml_plain_real(s, &r)) {
            ret_v->r = r;
            kind = VALUE_REAL;
        }
    } else if (is_one_of(s, nulls)) {
        ret_v->i = 0;
        kind = VALUE_NULL;
    } else if (is_one_of(s, trues) || is_one_of(s, falses)) {
        ret_v->i = 0;
        ret_v->b = (c | 0x20) == 't';
        kind = VALUE_BOOL;
    }
    if (kind != VALUE_STRING)
        ret_v->kind = (uint8_t)kind;
    return kind;
}
