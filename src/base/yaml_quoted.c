/* yaml_quoted.c - the text of quoted scalars, decoded from the source
 *
 * libfyaml 0.7.12 finds where a quoted scalar ends and what is wrong with it, but damages the text
 * of some: 'a''''b', and an escaped line break that is followed by empty lines.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/yaml_i.h"

#include "base/utf8_i.h"

struct quoted {
    const struct source *text;
    size_t at;
    struct buf *out;
    size_t keep; /* blanks at the end of out are dropped at a line break, but not below this */
};

/* Behind a line break: what the next lines start with, and the empty ones among them. */
static size_t skip_empty(struct quoted *q)
{
    const char *s = q->text->text;
    size_t breaks = 0;
    for (; q->at < q->text->n && (yaml_is_blank(s[q->at]) || yaml_is_break(s[q->at])); q->at++) {
        bool crlf = s[q->at] == '\r' && q->at + 1 < q->text->n && s[q->at + 1] == '\n';
        breaks += yaml_is_break(s[q->at]) && !crlf;
    }
    return breaks;
}

/* One line break becomes a space, more become one line end less. */
static void quoted_fold(struct quoted *q)
{
    while (q->out->len > q->keep && yaml_is_blank(q->out->data[q->out->len - 1]))
        q->out->len--;
    size_t breaks = skip_empty(q);
    if (breaks == 1)
        buf_putc(q->out, ' ');
    for (; breaks > 1; breaks--)
        buf_putc(q->out, '\n');
    q->keep = q->out->len;
}

static bool escape_hex(struct quoted *q, size_t digits)
{
    uint32_t c = 0;
    char utf8[4];
    for (size_t i = 0; i < digits; i++, q->at++) {
        char d = q->at < q->text->n ? q->text->text[q->at] : '\0';
        if (d >= '0' && d <= '9')
            c = c << 4 | (uint32_t)(d - '0');
        else if ((d | 0x20) >= 'a' && (d | 0x20) <= 'f')
            c = c << 4 | (uint32_t)((d | 0x20) - 'a' + 10);
        else
            return false;
    }
    if (c > 0x10FFFF || (c >= 0xD800 && c < 0xE000))
        return false;
    buf_put(q->out, utf8, utf8_encode(c, utf8));
    return true;
}

/* q->at is behind the backslash. */
static bool quoted_escape(struct quoted *q)
{
    static const struct {
        char sign;
        const char *text;
    } plain[] = {{'a', "\a"},          {'b', "\b"},       {'t', "\t"},       {'\t', "\t"},
                 {'n', "\n"},          {'v', "\v"},       {'f', "\f"},       {'r', "\r"},
                 {'e', "\x1b"},        {' ', " "},        {'"', "\""},       {'/', "/"},
                 {'\\', "\\"},         {'N', "\xC2\x85"}, {'_', "\xC2\xA0"}, {'L', "\xE2\x80\xA8"},
                 {'P', "\xE2\x80\xA9"}};
    bool good = false;
    char c = q->at < q->text->n ? q->text->text[q->at] : '\0';
    if (yaml_is_break(c)) { /* the break itself is no text, the empty lines behind it are */
        for (size_t breaks = skip_empty(q); breaks > 1; breaks--)
            buf_putc(q->out, '\n');
        q->keep = q->out->len;
        return true;
    }
    q->at++;
    if (c == 'x' || c == 'u' || c == 'U') {
        good = escape_hex(q, c == 'x' ? 2 : c == 'u' ? 4 : 8);
    } else if (c == '0') {
        buf_putc(q->out, '\0');
        good = true;
    }
    for (size_t i = 0; i < sizeof plain / sizeof *plain && !good; i++) {
        if (plain[i].sign != c)
            continue;
        buf_puts(q->out, plain[i].text);
        good = true;
    }
    q->keep = q->out->len;
    return good;
}

bool yaml_quoted_text(const struct source *text, size_t at, struct buf *out)
{
    char quote = at > 0 ? text->text[at - 1] : '\0';
    struct quoted q = {.text = text, .at = at, .out = out};
    buf_clear(out);
    while (q.at < text->n) {
        char c = text->text[q.at];
        if (yaml_is_break(c)) {
            quoted_fold(&q);
            continue;
        }
        q.at++;
        if (c == '\\' && quote == '"') {
            if (!quoted_escape(&q))
                return false;
            continue;
        }
        if (c == quote) {
            if (quote == '"' || q.at == text->n || text->text[q.at] != '\'')
                return true;
            q.at++;
        }
        buf_putc(out, c);
    }
    return false;
}
