/* utf8_i.h - one UTF-8 sequence at a time, shared by the readers and writers of base */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_UTF8_I_H
#define BASE_UTF8_I_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define UTF8_REPLACEMENT "\xEF\xBF\xBD"

/* Bytes of the well-formed sequence at s (RFC 3629: no overlong form, no surrogate, at most
 * U+10FFFF), 0 if there is none within n bytes. */
static inline size_t utf8_sequence(const char *text, size_t n)
{
    const unsigned char *s = (const unsigned char *)text;
    if (n == 0)
        return 0;
    if (s[0] < 0x80)
        return 1;
    if (s[0] < 0xC2 || n < 2 || (s[1] & 0xC0) != 0x80)
        return 0;
    if (s[0] < 0xE0)
        return 2;
    if (n < 3 || (s[2] & 0xC0) != 0x80)
        return 0;
    if (s[0] < 0xF0) {
        if ((s[0] == 0xE0 && s[1] < 0xA0) || (s[0] == 0xED && s[1] > 0x9F))
            return 0;
        return 3;
    }
    if (n < 4 || (s[3] & 0xC0) != 0x80 || s[0] > 0xF4)
        return 0;
    if ((s[0] == 0xF0 && s[1] < 0x90) || (s[0] == 0xF4 && s[1] > 0x8F))
        return 0;
    return 4;
}

/* The code point of a sequence that utf8_sequence() measured. */
static inline uint32_t utf8_decode(const char *text, size_t len)
{
    const unsigned char *s = (const unsigned char *)text;
    switch (len) {
    case 2: return (uint32_t)(s[0] & 0x1F) << 6 | (s[1] & 0x3F);
    case 3: return (uint32_t)(s[0] & 0x0F) << 12 | (uint32_t)(s[1] & 0x3F) << 6 | (s[2] & 0x3F);
    case 4:
        return (uint32_t)(s[0] & 0x07) << 18 | (uint32_t)(s[1] & 0x3F) << 12 |
               (uint32_t)(s[2] & 0x3F) << 6 | (s[3] & 0x3F);
    default: return s[0];
    }
}

/* Writes a code point that is no surrogate; returns its length of 1..4. */
static inline size_t utf8_encode(uint32_t c, char *out)
{
    if (c < 0x80) {
        out[0] = (char)c;
        return 1;
    }
    if (c < 0x800) {
        out[0] = (char)(0xC0 | c >> 6);
        out[1] = (char)(0x80 | (c & 0x3F));
        return 2;
    }
    if (c < 0x10000) {
        out[0] = (char)(0xE0 | c >> 12);
        out[1] = (char)(0x80 | (c >> 6 & 0x3F));
        out[2] = (char)(0x80 | (c & 0x3F));
        return 3;
    }
    out[0] = (char)(0xF0 | c >> 18);
    out[1] = (char)(0x80 | (c >> 12 & 0x3F));
    out[2] = (char)(0x80 | (c >> 6 & 0x3F));
    out[3] = (char)(0x80 | (c & 0x3F));
    return 4;
}

/* The longest prefix of at most max bytes that does not end inside a sequence. */
static inline size_t utf8_cut(const char *s, size_t n, size_t max)
{
    if (n <= max)
        return n;
    size_t at = max;
    while (at > 0 && max - at < 4 && ((unsigned char)s[at] & 0xC0) == 0x80)
        at--;
    return ((unsigned char)s[at] & 0xC0) == 0x80 ? max : at;
}

/* A byte below 0x20, above 0x7F, '"' or '\\' in eight bytes at once: one bit per such byte is set
 * in the result's high bits.  Bits above the first true one may be false alarms, never the first.
 */
static inline uint64_t utf8_special8(const char *s)
{
    const uint64_t ones = 0x0101010101010101ull, high = 0x8080808080808080ull;
    uint64_t w;
    memcpy(&w, s, 8);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    w = __builtin_bswap64(w);
#endif
    uint64_t quote = w ^ (ones * '"'), slash = w ^ (ones * '\\');
    return (((w - ones * 0x20) & ~w) | ((quote - ones) & ~quote) | ((slash - ones) & ~slash) | w) &
           high;
}

#endif
