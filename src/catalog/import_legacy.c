/* import_legacy.c - the older condition language of Fuel as an expression of ours
 *
 *     settings:storage.images_ceph.value == true and not (cluster:mode == "multinode")
 *
 * Scalars, null, == != and or not in, parentheses, and paths into models.  `not` binds closest,
 * then `in`, then the comparisons; all group from the left.  A path that ends in ? is never strict.
 *
 * Settings were written for another form of the data than conditions are asked about: sections
 * `common` and `additional_components` are merged into the whole there, and `.value` is gone.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "catalog/import_yaql.h"
#include "catalog/import_expr_i.h"

enum legacy_kind {
    LEGACY_END,
    LEGACY_WORD,
    LEGACY_PATH,
    LEGACY_STRING,
    LEGACY_NUMBER,
    LEGACY_EQ,
    LEGACY_NE,
    LEGACY_OPEN,
    LEGACY_CLOSE,
};
struct legacy_token {
    enum legacy_kind kind;
    uint32_t pos;
    struct str text;
};
struct legacy {
    struct translator t;
    struct legacy_token token;
    bool strict;
};
struct legacy_piece {
    struct str text;
    enum level level;
};

/* --- tokens --- */

static bool is_word_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

static bool is_path_char(char c)
{
    return is_word_char(c) || c == '.' || c == '-';
}

static char at(struct str s, size_t i)
{
    return i < s.n ? s.s[i] : '\0';
}

/* Bytes of the path that begins at `from`, its model included; 0 if none does. */
static size_t path_length(struct str s, size_t from)
{
    size_t i = from;
    while (is_word_char(at(s, i)))
        i++;
    if (i == from || at(s, i) != ':' || !is_path_char(at(s, i + 1)))
        return 0;
    for (i++; is_path_char(at(s, i)); i++)
        ;
    return i - from;
}

static int legacy_quoted(struct legacy *l, struct legacy_token *t)
{
    const char *begin = l->t.in.s + t->pos + 1;
    const char *end = memchr(begin, *(begin - 1), l->t.in.n - t->pos - 1);
    if (!end)
        return translator_fail(&l->t, t->pos, ERR_SYNTAX, "a text that does not end");
    t->kind = LEGACY_STRING;
    t->text = (struct str){begin, (size_t)(end - begin)};
    l->t.at = (uint32_t)(end + 1 - l->t.in.s);
    return 0;
}

static int legacy_mark(struct legacy *l, struct legacy_token *t)
{
    char c = at(l->t.in, t->pos), next = at(l->t.in, t->pos + 1);
    bool two = (c == '=' || c == '!') && next == '=';
    if (!two && c != '(' && c != ')')
        return translator_fail(&l->t, t->pos, ERR_SYNTAX, "this means nothing here");
    t->kind = c == '=' ? LEGACY_EQ : c == '!' ? LEGACY_NE : c == '(' ? LEGACY_OPEN : LEGACY_CLOSE;
    t->text = (struct str){l->t.in.s + t->pos, two ? 2 : 1};
    l->t.at += two ? 2 : 1;
    return 0;
}

static int legacy_next(struct legacy *l)
{
    struct str in = l->t.in;
    while (l->t.at < in.n && strchr(" \t\r\n", in.s[l->t.at]))
        l->t.at++;
    struct legacy_token *t = &l->token;
    uint32_t from = l->t.at;
    *t = (struct legacy_token){LEGACY_END, from, {"", 0}};
    if (from >= in.n)
        return 0;
    char c = at(in, from);
    if (c == '"' || c == '\'')
        return legacy_quoted(l, t);
    size_t n = path_length(in, from);
    t->kind = LEGACY_PATH;
    if (!n &&
        (is_word_char(c) || (c == '-' && at(in, from + 1) >= '0' && at(in, from + 1) <= '9'))) {
        t->kind = c == '-' || (c >= '0' && c <= '9') ? LEGACY_NUMBER : LEGACY_WORD;
        for (n = 1; is_word_char(at(in, from + n)); n++)
            ;
    }
    if (!n)
        return legacy_mark(l, t);
    t->text = (struct str){in.s + from, n};
    l->t.at += (uint32_t)n;
    if (t->kind == LEGACY_PATH && at(in, l->t.at) == '?') {
        t->text.n++;
        l->t.at++;
    }
    return 0;
}

static int legacy_unexpected(struct legacy *l, const char *wanted)
{
    enum { SHOWN = 40 };
    struct str s = l->token.text;
    if (l->token.kind == LEGACY_END)
        return translator_fail(&l->t, l->token.pos, ERR_SYNTAX, "expected %s, found the end",
                               wanted);
    return translator_fail(&l->t, l->token.pos, ERR_SYNTAX, "expected %s, found %.*s", wanted,
                           (int)(s.n < SHOWN ? s.n : SHOWN), s.s);
}

/* --- operands --- */

/* model:a.b; where it is lax, what a step does not find is empty for the next, and none at last. */
static int legacy_path(struct legacy *l, struct legacy_piece *ret)
{
    struct str s = l->token.text, text = str_of("data");
    bool lax = !l->strict || s.s[s.n - 1] == '?';
    s.n -= s.s[s.n - 1] == '?';
    const char *colon = memchr(s.s, ':', s.n);
    struct str model = {s.s, (size_t)(colon - s.s)};
    struct str rest = {colon + 1, s.n - model.n - 1};
    if (!str_is(model, "settings"))
        text = translator_member(&l->t, text, model);
    for (bool first = true; rest.n; first = false) {
        const char *dot = memchr(rest.s, '.', rest.n);
        struct str key = {rest.s, dot ? (size_t)(dot - rest.s) : rest.n};
        if (!key.n)
            return translator_fail(&l->t, (uint32_t)(rest.s - l->t.in.s), ERR_SYNTAX,
                                   "a path with an empty step");
        if (!first && lax)
            text = translator_text(&l->t, "(@ | default({}))", text);
        text = translator_member(&l->t, text, key);
        rest = (struct str){rest.s + key.n + (dot != NULL), rest.n - key.n - (dot != NULL)};
        if (dot && !rest.n)
            return translator_fail(&l->t, l->token.pos, ERR_SYNTAX, "a path that ends in a dot");
    }
    if (lax)
        text = translator_text(&l->t, "@ | default(none)", text);
    *ret = (struct legacy_piece){text, lax ? LEVEL_FILTER : LEVEL_PRIMARY};
    return legacy_next(l);
}

static int legacy_number(struct legacy *l, struct legacy_piece *ret)
{
    struct str s = l->token.text;
    bool minus = s.s[0] == '-';
    struct str digits = {s.s + minus, s.n - minus};
    for (size_t i = 0; i < digits.n; i++)
        if (digits.s[i] < '0' || digits.s[i] > '9')
            return translator_fail(&l->t, l->token.pos, ERR_SYNTAX,
                                   "a number that ends in letters");
    int rc = translator_int(&l->t, l->token.pos, digits, &digits);
    if (rc < 0)
        return rc;
    *ret = (struct legacy_piece){translator_text(&l->t, "@@", str_of(minus ? "-" : ""), digits),
                                 minus ? LEVEL_SIGN : LEVEL_PRIMARY};
    return legacy_next(l);
}

static int legacy_or(struct legacy *l, struct legacy_piece *ret);

static int legacy_operand(struct legacy *l, struct legacy_piece *ret)
{
    struct str s = l->token.text;
    int rc;
    switch (l->token.kind) {
    case LEGACY_PATH: return legacy_path(l, ret);
    case LEGACY_NUMBER: return legacy_number(l, ret);
    case LEGACY_STRING:
        *ret = (struct legacy_piece){translator_quote(&l->t, s), LEVEL_PRIMARY};
        return legacy_next(l);
    case LEGACY_OPEN:
        rc = translator_enter(&l->t, l->token.pos);
        if (rc >= 0)
            rc = legacy_next(l);
        if (rc >= 0)
            rc = legacy_or(l, ret);
        l->t.depth--;
        if (rc >= 0 && l->token.kind != LEGACY_CLOSE)
            rc = legacy_unexpected(l, "')'");
        return rc < 0 ? rc : legacy_next(l);
    case LEGACY_WORD:
        if (!str_is(s, "true") && !str_is(s, "false") && !str_is(s, "null"))
            break;
        *ret = (struct legacy_piece){str_is(s, "null") ? str_of("none") : s, LEVEL_PRIMARY};
        return legacy_next(l);
    case LEGACY_END:
    case LEGACY_EQ:
    case LEGACY_NE:
    case LEGACY_CLOSE: break;
    }
    return legacy_unexpected(l, "a value");
}

/* --- operators --- */

static bool legacy_word(const struct legacy *l, const char *word)
{
    return l->token.kind == LEGACY_WORD && str_is(l->token.text, word);
}

static int legacy_not(struct legacy *l, struct legacy_piece *ret)
{
    if (!legacy_word(l, "not"))
        return legacy_operand(l, ret);
    int rc = translator_enter(&l->t, l->token.pos);
    if (rc >= 0)
        rc = legacy_next(l);
    if (rc >= 0)
        rc = legacy_not(l, ret);
    l->t.depth--;
    if (rc >= 0)
        *ret = (struct legacy_piece){
            translator_text(&l->t, "not @",
                            translator_hold(&l->t, ret->text, ret->level, LEVEL_NOT)),
            LEVEL_NOT};
    return rc;
}

/* left { op right }; `least` is what the left one needs, the right one needs more. */
static int legacy_join(struct legacy *l, struct legacy_piece *left, const char *op,
                       enum level level, enum level least,
                       int (*operand)(struct legacy *l, struct legacy_piece *ret))
{
    struct legacy_piece right;
    int rc = legacy_next(l);
    if (rc >= 0)
        rc = operand(l, &right);
    if (rc < 0)
        return rc;
    struct str a = translator_hold(&l->t, left->text, left->level, least);
    struct str b = translator_hold(&l->t, right.text, right.level, least);
    *left = (struct legacy_piece){translator_text(&l->t, "@ @ @", a, str_of(op), b), level};
    return 0;
}

static int legacy_in(struct legacy *l, struct legacy_piece *ret)
{
    int rc = legacy_not(l, ret);
    while (rc >= 0 && legacy_word(l, "in"))
        rc = legacy_join(l, ret, "in", LEVEL_COMPARE, LEVEL_SUM, legacy_not);
    return rc;
}

static int legacy_compare(struct legacy *l, struct legacy_piece *ret)
{
    int rc = legacy_in(l, ret);
    while (rc >= 0 && (l->token.kind == LEGACY_EQ || l->token.kind == LEGACY_NE))
        rc = legacy_join(l, ret, l->token.kind == LEGACY_EQ ? "==" : "!=", LEVEL_COMPARE, LEVEL_SUM,
                         legacy_in);
    return rc;
}

static int legacy_and(struct legacy *l, struct legacy_piece *ret)
{
    int rc = legacy_compare(l, ret);
    while (rc >= 0 && legacy_word(l, "and"))
        rc = legacy_join(l, ret, "and", LEVEL_AND, LEVEL_AND, legacy_compare);
    return rc;
}

static int legacy_or(struct legacy *l, struct legacy_piece *ret)
{
    int rc = legacy_and(l, ret);
    while (rc >= 0 && legacy_word(l, "or"))
        rc = legacy_join(l, ret, "or", LEVEL_OR, LEVEL_OR, legacy_and);
    return rc;
}

int import_legacy_expression(struct arena *a, struct str text, bool strict, struct str *ret_expr,
                             struct err *e)
{
    struct legacy l = {.strict = strict};
    struct legacy_piece whole;
    int rc = translator_init(&l.t, text, e);
    if (rc >= 0)
        rc = legacy_next(&l);
    if (rc >= 0)
        rc = legacy_or(&l, &whole);
    if (rc >= 0 && l.token.kind != LEGACY_END)
        rc = legacy_unexpected(&l, "an operator or the end");
    if (rc >= 0)
        rc = translator_finish(&l.t, a, whole.text, ret_expr);
    translator_done(&l.t);
    return rc < 0 ? rc : 0;
}

/* --- settings --- */

static bool begins(struct str s, const char *with)
{
    size_t n = strlen(with);
    return s.n >= n && memcmp(s.s, with, n) == 0;
}

/* The path behind "settings:". */
static void rewrite_path(struct str path, struct buf *out)
{
    static const char components[] = "additional_components.", common[] = "common.";
    static const char value[] = ".value";
    bool component = begins(path, components);
    size_t skip = component ? sizeof components - 1 : begins(path, common) ? sizeof common - 1 : 0;
    struct str rest = {path.s + skip, path.n - skip};
    size_t n = sizeof value - 1;
    if (rest.n > n && memcmp(rest.s + rest.n - n, value, n) == 0)
        rest.n -= n;
    translator_put(out, "settings:@@", rest, str_of(component ? ".enabled" : ""));
}

struct str import_legacy_rewrite(struct arena *a, struct str text)
{
    static const char settings[] = "settings:";
    SCOPED_BUF(out);
    char quote = '\0';
    for (size_t i = 0; i < text.n;) {
        char c = text.s[i];
        size_t n = quote ? 0 : path_length(text, i);
        if (n && begins((struct str){text.s + i, n}, settings))
            rewrite_path((struct str){text.s + i + sizeof settings - 1, n - sizeof settings + 1},
                         &out);
        else
            buf_put(&out, text.s + i, n ? n : 1);
        if (!n && (c == '"' || c == '\'') && (!quote || quote == c))
            quote = quote ? '\0' : c;
        i += n ? n : 1;
    }
    return (struct str){arena_strndup(a, buf_str(&out).s, out.len), out.len};
}

int import_legacy_condition(struct arena *a, struct str text, struct str *ret_expr, struct err *e)
{
    SCOPED_ARENA(scratch);
    if (text.n > IMPORT_MAX_CONDITION)
        return import_legacy_expression(a, text, false, ret_expr, e);
    return import_legacy_expression(a, import_legacy_rewrite(&scratch, text), false, ret_expr, e);
}
