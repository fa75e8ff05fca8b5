/* import_yaql_lex.c - the tokens of YAQL
 *
 * A name with a parenthesis right behind it is a call, and the parenthesis part of it; any other
 * name is a text without quotes, unless it is an operator or a value.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "catalog/import_yaql_i.h"

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static char ahead(const struct yaql *y, uint32_t n)
{
    return y->t.at + n < y->t.in.n ? y->t.in.s[y->t.at + n] : '\0';
}

static struct str since(const struct yaql *y, uint32_t from)
{
    return (struct str){y->t.in.s + from, y->t.at - from};
}

static void lex_word(struct yaql *y)
{
    while (is_letter(ahead(y, 0)) || is_digit(ahead(y, 0)))
        y->t.at++;
}

static bool is_operator(struct str s)
{
    static const char *const words[] = {"and", "or", "not", "in", "mod"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (str_is(s, words[i]))
            return true;
    return false;
}

static int lex_number(struct yaql *y, struct yaql_token *t)
{
    t->kind = YAQL_INT;
    while (is_digit(ahead(y, 0)))
        y->t.at++;
    if (ahead(y, 0) == '.' && is_digit(ahead(y, 1))) {
        t->kind = YAQL_REAL;
        y->t.at++;
        while (is_digit(ahead(y, 0)))
            y->t.at++;
    }
    if (is_letter(ahead(y, 0)))
        return translator_fail(&y->t, t->pos, ERR_SYNTAX, "a number that ends in letters");
    t->text = since(y, t->pos);
    return 0;
}

/* Behind the backslash. */
static int lex_escape(struct yaql *y, struct buf *out)
{
    static const char from[] = "nrtbfav0\\'\"`", to[] = "\n\r\t\b\f\a\v\0\\'\"`";
    char c = ahead(y, 0);
    const char *at = c ? strchr(from, c) : NULL;
    if (c == '0' || c == 'x' || c == 'u' || c == 'U' || c == 'N' || is_digit(c))
        return translator_fail(&y->t, y->t.at - 1, ERR_INVALID,
                               "the escape \\%c has no translation", c);
    if (!at)
        buf_putc(out, '\\'); /* it stays, as in Python */
    if (c)
        buf_putc(out, at ? to[at - from] : c);
    y->t.at += c != '\0';
    return 0;
}

static int lex_string(struct yaql *y, char quote, struct yaql_token *t)
{
    SCOPED_BUF(text);
    t->kind = YAQL_STRING;
    y->t.at++;
    while (y->t.at < y->t.in.n && ahead(y, 0) != quote) {
        char c = ahead(y, 0);
        y->t.at++;
        if (c != '\\') {
            buf_putc(&text, c);
            continue;
        }
        int rc = 0;
        if (quote == '`') /* only its own quote is escaped */
            buf_putc(&text, ahead(y, 0) == '`' ? y->t.in.s[y->t.at++] : c);
        else
            rc = lex_escape(y, &text);
        if (rc < 0)
            return rc;
    }
    if (y->t.at >= y->t.in.n)
        return translator_fail(&y->t, t->pos, ERR_SYNTAX, "a text that does not end");
    y->t.at++;
    t->text = translator_text(&y->t, "@", buf_str(&text));
    return 0;
}

static int lex_mark(struct yaql *y, struct yaql_token *t)
{
    static const struct {
        const char *text;
        uint8_t kind;
    } marks[] = {
#define X(id, text) {text, YAQL_##id},
        YAQL_MARKS(X)
#undef X
    };
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
        size_t n = strlen(marks[i].text);
        if (y->t.in.n - t->pos >= n && memcmp(y->t.in.s + t->pos, marks[i].text, n) == 0) {
            t->kind = marks[i].kind;
            y->t.at += (uint32_t)n;
            t->text = since(y, t->pos);
            return 0;
        }
    }
    uint32_t n = 1;
    while (((unsigned char)ahead(y, n) & 0xC0) == 0x80)
        n++;
    return translator_fail(&y->t, t->pos, ERR_SYNTAX, "%.*s means nothing here", (int)n,
                           y->t.in.s + t->pos);
}

int yaql_next(struct yaql *y)
{
    while (ahead(y, 0) == ' ' || ahead(y, 0) == '\t' || ahead(y, 0) == '\n' || ahead(y, 0) == '\r')
        y->t.at++;
    struct yaql_token *t = &y->token;
    *t = (struct yaql_token){.kind = YAQL_END, .pos = y->t.at};
    char c = ahead(y, 0);
    if (y->t.at >= y->t.in.n)
        return 0;
    if (is_digit(c))
        return lex_number(y, t);
    if (c == '\'' || c == '"' || c == '`')
        return lex_string(y, c, t);
    if (c != '$' && !is_letter(c))
        return lex_mark(y, t);
    y->t.at += c == '$';
    lex_word(y);
    t->text = since(y, t->pos + (c == '$'));
    t->kind = c == '$' ? YAQL_VARIABLE : YAQL_NAME;
    if (c != '$' && ahead(y, 0) == '(' && !is_operator(t->text)) {
        t->kind = YAQL_CALL;
        y->t.at++;
    }
    return 0;
}

bool yaql_is(const struct yaql *y, enum yaql_kind k)
{
    return y->token.kind == k;
}

bool yaql_is_word(const struct yaql *y, const char *word)
{
    return y->token.kind == YAQL_NAME && str_is(y->token.text, word);
}

int yaql_unexpected(struct yaql *y, const char *wanted)
{
    const struct yaql_token *t = &y->token;
    if (t->kind == YAQL_END)
        return translator_fail(&y->t, t->pos, ERR_SYNTAX, "expected %s, found the end", wanted);
    struct str s = {y->t.in.s + t->pos, y->t.at - t->pos};
    return translator_fail(&y->t, t->pos, ERR_SYNTAX, "expected %s, found %.*s", wanted,
                           (int)(s.n < 40 ? s.n : 40), s.s);
}

int yaql_expect(struct yaql *y, enum yaql_kind k, const char *what)
{
    return y->token.kind == k ? yaql_next(y) : yaql_unexpected(y, what);
}
