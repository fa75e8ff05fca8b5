/* number.c - decimal text to integers and doubles and back
 *
 * Most reals in our data have few digits: those whose digits fit 53 bits and whose power of ten is
 * exact need one multiplication or division, which rounds correctly.  The rest goes through the C
 * library in the "C" locale, since a program that calls setlocale() must still read and write JSON.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/number_i.h"

#include <assert.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static inline bool is_digit(const char *p, const char *end)
{
    return p < end && (unsigned)(*p - '0') <= 9;
}

double number_real(const char *s, size_t n)
{
    char small[64], *copy = small;
    if (n >= sizeof small) {
        SCOPED_BUF(long_text);
        buf_put(&long_text, s, n);
        copy = buf_take(&long_text, NULL);
    } else {
        memcpy(small, s, n);
        small[n] = '\0';
    }
    /* glibc hands out its built-in object for "C": this neither allocates nor fails. */
    locale_t c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    double r = strtod_l(copy, NULL, c_locale);
    freelocale(c_locale);
    if (copy != small)
        free(copy);
    return r;
}

/* Digits and the power of ten, if that is exact in a double. */
static bool real_quick(uint64_t digits, int64_t power, bool negative, double *ret_real)
{
    static const double tens[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                  1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                  1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    if (digits > (uint64_t)1 << 53 || power < -22 || power > 22)
        return false;
    double r = (double)digits;
    r = power < 0 ? r / tens[-power] : r * tens[power];
    *ret_real = negative ? -r : r;
    return true;
}

/* Adds the digits at p to *digits and returns what follows them.  *count is how many matter:
 * nineteen always fit 64 bits, and what *digits is beyond that does not matter. */
static inline const char *digits_read(const char *p, const char *end, uint64_t *digits,
                                      uint32_t *count)
{
    uint64_t v = *digits;
    uint32_t n = *count;
    for (; is_digit(p, end); p++) {
        v = v * 10 + (uint64_t)(*p - '0');
        n += (n != 0 || v != 0) && n < 32; /* v may wrap round to 0 */
    }
    *digits = v;
    *count = n;
    return p;
}

/* The power of ten behind an 'e', NULL if there is none. */
static const char *power_read(const char *p, const char *end, int64_t *ret_power)
{
    bool negative = p < end && *p == '-';
    int64_t power = 0;
    if (p < end && (*p == '+' || *p == '-'))
        p++;
    if (!is_digit(p, end))
        return NULL;
    for (; is_digit(p, end); p++)
        power = power < 100000 ? power * 10 + (*p - '0') : power;
    *ret_power = negative ? -power : power;
    return p;
}

size_t number_scan(const char *s, size_t n, bool *ret_whole, int64_t *ret_int, double *ret_real)
{
    enum { FITS = 19 };
    const char *p = s, *end = s + n;
    bool negative = p < end && *p == '-';
    uint64_t digits = 0;
    uint32_t count = 0;
    int64_t fraction = 0, power = 0;
    p += negative;
    if (!is_digit(p, end))
        return 0;
    p = *p == '0' ? p + 1 : digits_read(p, end, &digits, &count);
    bool whole = p == end || (*p != '.' && (*p | 0x20) != 'e');
    if (whole && count <= FITS && digits <= (uint64_t)INT64_MAX + negative) {
        *ret_whole = true;
        *ret_int = (int64_t)(negative ? 0 - digits : digits);
        return (size_t)(p - s);
    }
    if (p < end && *p == '.') {
        const char *point = ++p;
        p = digits_read(p, end, &digits, &count);
        fraction = p - point;
        if (fraction == 0)
            return 0;
    }
    if (p < end && (*p | 0x20) == 'e') {
        p = power_read(p + 1, end, &power);
        if (!p)
            return 0;
    }
    *ret_whole = false;
    if (count > FITS || !real_quick(digits, power - fraction, negative, ret_real))
        *ret_real = number_real(s, (size_t)(p - s));
    return (size_t)(p - s);
}

/* Prints with `precision` digits; the decimal point is the locale's, hence the repair. */
static size_t real_print(double r, int precision, char *out, size_t size)
{
    char raw[64];
    int n = snprintf(raw, sizeof raw, "%.*g", precision, r);
    assert(n > 0 && (size_t)n < sizeof raw && (size_t)n + 3 < size);
    size_t len = 0;
    for (int i = 0; i < n; i++) {
        bool plain = (raw[i] >= '0' && raw[i] <= '9') || raw[i] == '-' || raw[i] == '+' ||
                     raw[i] == 'e';
        if (plain)
            out[len++] = raw[i];
        else if (len == 0 || out[len - 1] != '.')
            out[len++] = '.'; /* a point of several bytes is still one */
    }
    out[len] = '\0';
    return len;
}

void number_write(struct buf *b, double r)
{
    char text[64];
    assert(isfinite(r));
    /* Fifteen digits give back any decimal of up to fifteen digits, with the zeros at its end left
     * out, so that fewer need not be tried, except where doubles are too sparse for that promise.
     */
    int precision = r != 0 && fabs(r) < 2.2250738585072014e-308 ? 1 : 15;
    size_t n = real_print(r, precision, text, sizeof text);
    while (precision < 17 && number_real(text, n) != r)
        n = real_print(r, ++precision, text, sizeof text);
    if (!strpbrk(text, ".e")) {
        memcpy(text + n, ".0", 3);
        n += 2;
    }
    buf_put(b, text, n);
}
