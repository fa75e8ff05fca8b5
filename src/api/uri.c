/* uri.c - the request target, taken apart strictly
 *
 * The path is split at slashes before it is decoded, so that %2F is part of a name and never a
 * separator. What a URI may not hold raw (RFC 3986: blanks, controls, bytes above 0x7E, # and a few
 * more) and what no name of ours may hold decoded (control characters, bytes that are not UTF-8) is
 * refused rather than repaired: two readers that repair differently disagree about what was asked.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "api/book_i.h"

#include <string.h>
#include <strings.h>

#include "base/text.h"

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Visible ASCII without the characters that RFC 3986 keeps out of paths and queries. */
static bool uri_char(char c)
{
    return c > 0x20 && c < 0x7F && !strchr("\"#<>\\^`{|}", c);
}

/* Decodes escapes, and pluses if it is a query.  Borrows s if there is nothing to decode. */
static int uri_decode(struct arena *mem, struct str s, bool plus, struct str *ret, struct err *e)
{
    bool changed = false;
    for (size_t i = 0; i < s.n; i++) {
        if (!uri_char(s.s[i]))
            return err_set(e, ERR_INVALID, "the byte 0x%02X must be percent-encoded in a URI",
                           (unsigned char)s.s[i]);
        changed |= s.s[i] == '%' || (plus && s.s[i] == '+');
    }
    if (!changed) {
        *ret = s;
        return 0;
    }
    char *out = arena_strndup(mem, s.s, s.n);
    size_t n = 0;
    for (size_t i = 0; i < s.n; i++) {
        char c = s.s[i];
        if (c == '%') {
            int hi = s.n - i > 2 ? hex_digit(s.s[i + 1]) : -1;
            int lo = s.n - i > 2 ? hex_digit(s.s[i + 2]) : -1;
            if (hi < 0 || lo < 0)
                return err_set(e, ERR_INVALID, "a percent sign must be followed by two hex digits");
            c = (char)(hi << 4 | lo);
            if ((unsigned char)c < 0x20 || c == 0x7F)
                return err_set(e, ERR_INVALID, "control characters are not allowed in a URI");
            i += 2;
        } else if (plus && c == '+') {
            c = ' ';
        }
        out[n++] = c;
    }
    out[n] = '\0';
    if (!text_utf8_valid(out, n))
        return err_set(e, ERR_INVALID, "the URI decodes to bytes that are not UTF-8");
    *ret = (struct str){out, n};
    return 0;
}

/* Servers must accept the absolute form as well; the authority is not ours to judge. */
static const char *path_of(const char *text)
{
    size_t scheme = !strncasecmp(text, "http://", 7)    ? 7
                    : !strncasecmp(text, "https://", 8) ? 8
                                                        : 0;
    if (!scheme)
        return text;
    text += scheme + strcspn(text + scheme, "/?");
    return *text == '/' ? text : "/";
}

int uri_split(struct arena *mem, const char *text, struct uri *ret_u, struct err *e)
{
    struct uri u = {0};
    const char *at = path_of(text);
    size_t path_n = strcspn(at, "?");
    const char *end = at + path_n;

    if (*at != '/')
        return err_set(e, ERR_INVALID, "a path starts with a slash");
    u.query = *end ? str_of(end + 1) : (struct str){end, 0};
    while (at < end) {
        at++; /* the slash */
        size_t n = 0;
        while (at + n < end && at[n] != '/')
            n++;
        if (u.n == API_MAX_SEGMENTS)
            return err_set(e, ERR_NOT_FOUND, "no route has so many segments");
        int r = uri_decode(mem, (struct str){at, n}, false, &u.segment[u.n++], e);
        if (r < 0)
            return r;
        at += n;
    }
    *ret_u = u;
    return 0;
}

int uri_query_parse(struct arena *mem, struct str query, struct value **ret_map, struct err *e)
{
    struct value *map = value_map(mem);
    const char *at = query.s, *end = query.s + query.n;

    while (at < end) {
        const char *stop = memchr(at, '&', (size_t)(end - at));
        stop = stop ? stop : end;
        const char *equals = memchr(at, '=', (size_t)(stop - at));
        struct str name = {at, (size_t)((equals ? equals : stop) - at)};
        struct str text = {equals ? equals + 1 : stop, equals ? (size_t)(stop - equals - 1) : 0};
        int r = uri_decode(mem, name, true, &name, e);
        if (r == 0)
            r = uri_decode(mem, text, true, &text, e);
        if (r < 0)
            return err_at(e, "?");
        if (!name.n)
            return err_set(e, ERR_INVALID, "a query parameter has no name");
        if (value_get_str(map, name)) {
            err_set(e, ERR_INVALID, "given twice");
            return err_at(e, "?%.*s", (int)name.n, name.s);
        }
        value_set_str(mem, map, name, value_str(mem, text));
        at = stop + 1;
    }
    *ret_map = map;
    return 0;
}
