/* yaml_scalar.c - the text of quoted and block scalars, where libfyaml cannot be trusted with it
 *
 * libfyaml 0.7.12 finds where a quoted scalar ends, but damages the text of some: 'a''''b' and a
 * double quoted line break followed by empty lines.  Quoted scalars are therefore decoded here,
 * from the source.  It also takes siblings for the text of an empty block scalar:
 *
 *     a:
 *       script: |
 *       user: root        <- becomes the script
 *
 * Where a block ends cannot be repaired afterwards, but it can be checked: the indentation of each
 * line says whether it belongs to the block.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/yaml_i.h"

#include "base/utf8_i.h"

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

static bool is_break(char c)
{
    return c == '\n' || c == '\r';
}

/* --- quoted scalars --- */

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
    for (; q->at < q->text->n && (is_blank(s[q->at]) || is_break(s[q->at])); q->at++) {
        bool crlf = s[q->at] == '\r' && q->at + 1 < q->text->n && s[q->at + 1] == '\n';
        breaks += is_break(s[q->at]) && !crlf;
    }
    return breaks;
}

/* One line break becomes a space, more become one line end less. */
static void quoted_fold(struct quoted *q)
{
    while (q->out->len > q->keep && is_blank(q->out->data[q->out->len - 1]))
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
    if (is_break(c)) { /* the break itself is no text, the empty lines behind it are */
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
        if (is_break(c)) {
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

/* --- block scalars --- */

struct block_line {
    size_t from, end; /* without the line break */
    size_t indent;
    bool empty;
};

static struct block_line block_line(const struct source *s, size_t from)
{
    struct block_line l = {.from = from, .end = from, .empty = true};
    const char *nl = memchr(s->text + from, '\n', s->n - from);
    l.end = nl ? (size_t)(nl - s->text) : s->n;
    while (from + l.indent < l.end && s->text[from + l.indent] == ' ')
        l.indent++;
    for (size_t i = from; i < l.end && l.empty; i++)
        l.empty = is_blank(s->text[i]) || is_break(s->text[i]);
    return l;
}

/* The indentation that the text of a block has: as its header says, or that of its first line with
 * text; SIZE_MAX if it has none. */
static size_t block_indent(const struct source *s, size_t sign, size_t content, int64_t parent)
{
    size_t base = parent < 0 ? 0 : (size_t)parent;
    for (size_t i = sign + 1; i < s->n && i < sign + 3; i++)
        if (s->text[i] >= '1' && s->text[i] <= '9')
            return base + (size_t)(s->text[i] - '0');
    for (size_t at = content; at < s->n;) {
        struct block_line l = block_line(s, at);
        if (!l.empty)
            return (int64_t)l.indent > parent ? l.indent : SIZE_MAX;
        at = l.end + 1;
    }
    return SIZE_MAX;
}

/* The next byte of [*at, end) that is no blank and no break, '\0' if there is none. */
static char next_ink(const char *s, size_t *at, size_t end)
{
    while (*at < end && (is_blank(s[*at]) || is_break(s[*at])))
        ++*at;
    return *at < end ? s[(*at)++] : '\0';
}

bool yaml_block_agrees(const struct source *s, size_t sign, size_t content, int64_t parent,
                       struct str text)
{
    size_t indent = block_indent(s, sign, content, parent), at = content, i = 0;
    while (at < s->n && indent != SIZE_MAX) {
        struct block_line l = block_line(s, at);
        if (!l.empty && l.indent < indent)
            break;
        for (char c; (c = next_ink(s->text, &at, l.end)) != '\0';)
            if (next_ink(text.s, &i, text.n) != c)
                return false;
        at = l.end + 1;
    }
    return next_ink(text.s, &i, text.n) == '\0';
}
