/* import_pattern.c - a Ruby regular expression as a POSIX extended one
 *
 * Kwalify writes /.../ and matches anywhere in the text, as we do.  What both languages have is
 * copied, short forms such as \d become sets, \A and \z become ^ and $.  What POSIX cannot say
 * (looking around, lazy or possessive counts, words' ends, options) has no answer: a pattern that
 * means something else is worse than none.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "catalog/import.h"
#include "catalog/import_i.h"

#include <ctype.h>

struct translation {
    struct str in;
    size_t at;
    struct buf *out;
    const char *why;
};

static bool refuse(struct translation *t, const char *why)
{
    t->why = why;
    return false;
}

static bool more(const struct translation *t)
{
    return t->at < t->in.n;
}

static char peek(const struct translation *t, size_t ahead)
{
    return t->at + ahead < t->in.n ? t->in.s[t->at + ahead] : '\0';
}

/* What a letter after a backslash stands for inside a set; NULL if it is no such letter. */
static const char *class_of(char c)
{
    switch (c) {
    case 'd': return "0-9";
    case 'w': return "[:alnum:]_";
    case 's': return "[:space:]";
    case 'h': return "0-9a-fA-F";
    default: return NULL;
    }
}

static char control_of(char c)
{
    return c == 'n' ? '\n' : c == 't' ? '\t' : c == 'r' ? '\r' : '\0';
}

/* --- sets --- */

struct set_parts { /* ']' must come first, '-' last, '^' not first */
    struct buf text;
    bool bracket, open, caret, dash;
};

static void set_literal(struct set_parts *p, char c)
{
    switch (c) {
    case ']': p->bracket = true; break;
    case '[': p->open = true; break;
    case '^': p->caret = true; break;
    case '-': p->dash = true; break;
    default: buf_putc(&p->text, c); break;
    }
}

/* One character of a set, a backslash taken off; false if it is none. */
static bool set_char(struct translation *t, char *ret)
{
    char c = t->in.s[t->at++];

    if (c != '\\') {
        *ret = c;
        return true;
    }
    c = peek(t, 0);
    t->at++;
    *ret = control_of(c) ? control_of(c) : c;
    return control_of(c) || (c && !isalnum((unsigned char)c)) ||
           refuse(t, "a set holds an escape that POSIX has no word for");
}

static bool set_item(struct translation *t, struct set_parts *p)
{
    char first, last;

    if (peek(t, 0) == '\\' && class_of(peek(t, 1))) {
        buf_puts(&p->text, class_of(peek(t, 1)));
        t->at += 2;
        return true;
    }
    if (peek(t, 0) == '[' && peek(t, 1) == ':') {
        while (more(t) && !(peek(t, 0) == ':' && peek(t, 1) == ']' && p->text.len &&
                            p->text.data[p->text.len - 1] != '['))
            buf_putc(&p->text, t->in.s[t->at++]);
        buf_puts(&p->text, ":]");
        t->at += 2;
        return true;
    }
    if (peek(t, 0) == '[' || (peek(t, 0) == '&' && peek(t, 1) == '&'))
        return refuse(t, "sets within sets");
    if (!set_char(t, &first))
        return false;
    if (peek(t, 0) != '-' || peek(t, 1) == ']' || !peek(t, 1)) {
        set_literal(p, first);
        return true;
    }
    t->at++;
    if (peek(t, 0) == '\\' && class_of(peek(t, 1)))
        return refuse(t, "a range that ends in a class");
    if (!set_char(t, &last))
        return false;
    if (strchr("]^-[", first) || strchr("]^-[", last))
        return refuse(t, "a range that begins or ends in a special character");
    buf_putc(&p->text, first);
    buf_putc(&p->text, '-');
    buf_putc(&p->text, last);
    return true;
}

static void set_write(struct translation *t, const struct set_parts *p, bool negated)
{
    bool alone = p->caret && !negated && !p->bracket && !p->open && !p->text.len;

    if (alone && !p->dash) {
        buf_puts(t->out, "\\^");
        return;
    }
    buf_puts(t->out, negated ? "[^" : "[");
    if (p->bracket)
        buf_putc(t->out, ']');
    buf_put(t->out, buf_str(&p->text).s, p->text.len);
    if (alone)
        buf_puts(t->out, "-^");
    else if (p->caret)
        buf_putc(t->out, '^');
    if (p->open)
        buf_putc(t->out, '[');
    if (p->dash && !alone)
        buf_putc(t->out, '-');
    buf_putc(t->out, ']');
}

static bool set_translate(struct translation *t)
{
    struct set_parts p = {0};
    bool negated = peek(t, 0) == '^', good = true;

    t->at += negated;
    while (good && more(t) && peek(t, 0) != ']')
        good = set_item(t, &p);
    if (good && (!more(t) || !(p.text.len || p.bracket || p.open || p.caret || p.dash)))
        good = refuse(t, "a set without an end or without members");
    t->at++;
    if (good)
        set_write(t, &p, negated);
    buf_done(&p.text);
    return good;
}

/* --- everything else --- */

static bool escape_translate(struct translation *t)
{
    char c = peek(t, 0);

    t->at++;
    if (class_of(c)) {
        buf_printf(t->out, "[%s]", class_of(c));
    } else if (c == 'D' || c == 'W' || c == 'S' || c == 'H') {
        buf_printf(t->out, "[^%s]", class_of((char)tolower(c)));
    } else if (c == 'A') {
        buf_putc(t->out, '^');
    } else if (c == 'z' || c == 'Z') {
        buf_putc(t->out, '$');
    } else if (control_of(c)) {
        buf_putc(t->out, control_of(c));
    } else if (!c || isalnum((unsigned char)c)) {
        return refuse(t, "an escape that POSIX has no word for");
    } else {
        if (strchr(".[]{}()*+?|^$\\", c))
            buf_putc(t->out, '\\');
        buf_putc(t->out, c);
    }
    return true;
}

/* "{2}", "{2,}" or "{2,5}" right behind the brace? */
static bool is_counted(const struct translation *t)
{
    size_t i = 0, digits = 0;
    for (; isdigit((unsigned char)peek(t, i)) || (peek(t, i) == ',' && digits); i++)
        digits += peek(t, i) != ',';
    return digits && peek(t, i) == '}';
}

static bool count_end(struct translation *t)
{
    if (peek(t, 0) == '?' || peek(t, 0) == '+')
        return refuse(t, "a count that is lazy or possessive");
    return true;
}

static bool item_translate(struct translation *t)
{
    char c = t->in.s[t->at++];

    switch (c) {
    case '\\': return escape_translate(t);
    case '[': return set_translate(t);
    case '(':
        buf_putc(t->out, '(');
        if (peek(t, 0) != '?')
            return true;
        if (peek(t, 1) != ':')
            return refuse(t, "a group that looks around or has a name");
        t->at += 2;
        return true;
    case '*':
    case '+':
    case '?': buf_putc(t->out, c); return count_end(t);
    case '{':
        if (!is_counted(t)) {
            buf_puts(t->out, "\\{");
            return true;
        }
        buf_putc(t->out, '{');
        while (peek(t, 0) != '}')
            buf_putc(t->out, t->in.s[t->at++]);
        buf_putc(t->out, '}');
        t->at++;
        return count_end(t);
    case '}': buf_puts(t->out, "\\}"); return true;
    default: buf_putc(t->out, c); return true;
    }
}

const char *import_pattern(struct arena *mem, struct str ruby, const char **ret_why)
{
    SCOPED_BUF(out);
    struct translation t = {.in = ruby, .out = &out};
    size_t end = ruby.n;

    if (memchr(ruby.s, '\0', ruby.n)) {
        *ret_why = "it holds a NUL";
        return NULL;
    }
    if (ruby.n && ruby.s[0] == '/') {
        while (end > 1 && ruby.s[end - 1] != '/')
            end--;
        if (end < 2 || end != ruby.n) {
            *ret_why = end < 2 ? "it does not end" : "options behind it";
            return NULL;
        }
        t.in = (struct str){ruby.s + 1, end - 2};
    }
    while (more(&t))
        if (!item_translate(&t)) {
            *ret_why = t.why;
            return NULL;
        }
    return arena_strndup(mem, buf_str(&out).s, out.len);
}
