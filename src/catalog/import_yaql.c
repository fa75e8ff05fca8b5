/* import_yaql.c - YAQL as an expression of ours: operators, literals, members
 *
 * One pass; each function reads one level of YAQL's grammar and makes a piece.  A chain of
 * operators is a loop; brackets, calls, signs and `not` nest, and are counted.
 *
 * YAQL maps a member over a list, and we do not, so what is a list must be known from how it was
 * made.  Lists stay open as long as they can: nodes.values().where(p).name.select(q) is one
 * comprehension, with one condition.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "catalog/import_yaql.h"
#include "catalog/import_yaql_i.h"

/* --- pieces --- */

struct piece yaql_piece(struct str text, enum level level, enum shape shape)
{
    return (struct piece){.text = text, .level = level, .shape = shape};
}

struct str yaql_var(struct yaql *y, uint32_t number)
{
    return number ? str_of(arena_printf(&y->t.scratch, "x%u", number + 1)) : str_of("x");
}

struct str yaql_hold(struct yaql *y, const struct piece *p, enum level least)
{
    return translator_hold(&y->t, p->text, p->level, least);
}

void yaql_settle(struct yaql *y, struct piece *p)
{
    if (p->old) {
        const char *none = p->old_all ? "{}" : "none";
        *p = yaql_piece(translator_text(&y->t, "@ | default(@)", p->text, str_of(none)),
                        LEVEL_FILTER, p->old_all ? SHAPE_MAP : SHAPE_ANY);
    }
    if (!p->open)
        return;
    struct str var = yaql_var(y, p->var);
    if (str_eq(p->text, var) && !p->cond.n) {
        *p = yaql_piece(p->source, LEVEL_OR, SHAPE_LIST);
        return;
    }
    struct str text = translator_text(&y->t, "[@ for @ in @@@]", p->text, var, p->source,
                                      str_of(p->cond.n ? " if " : ""), p->cond);
    *p = yaql_piece(text, LEVEL_PRIMARY, SHAPE_LIST);
}

void yaql_open(struct yaql *y, struct piece *p)
{
    if (p->open)
        return;
    bool maybe_none = p->maybe_none;
    yaql_settle(y, p);
    struct str source = maybe_none ? translator_text(&y->t, "@ | default([], true)",
                                                     yaql_hold(y, p, LEVEL_FILTER))
                                   : yaql_hold(y, p, LEVEL_OR);
    *p = yaql_piece(yaql_var(y, y->vars), LEVEL_PRIMARY, SHAPE_LIST);
    p->open = p->path = true;
    p->var = y->vars;
    p->source = source;
}

/* --- literals --- */

static int yaql_word(struct yaql *y, struct piece *ret)
{
    struct str s = y->token.text;
    bool null = str_is(s, "null");
    if (null || str_is(s, "true") || str_is(s, "false")) {
        *ret = yaql_piece(null ? str_of("none") : s, LEVEL_PRIMARY, SHAPE_ANY);
    } else {
        *ret = yaql_piece(translator_quote(&y->t, s), LEVEL_PRIMARY, SHAPE_TEXT);
        ret->literal = true;
        ret->plain = s;
    }
    return yaql_next(y);
}

static int yaql_number(struct yaql *y, struct piece *ret)
{
    enum { REAL_MAX = 300 }; /* bytes: below what would not be finite */
    struct str s = y->token.text;
    int rc = 0;
    if (yaql_is(y, YAQL_INT))
        rc = translator_int(&y->t, y->token.pos, s, &s);
    else if (s.n > REAL_MAX)
        rc = translator_fail(&y->t, y->token.pos, ERR_INVALID, "a number that is too long");
    if (rc < 0)
        return rc;
    *ret = yaql_piece(s, LEVEL_PRIMARY, SHAPE_ANY);
    return yaql_next(y);
}

static int yaql_variable(struct yaql *y, struct piece *ret)
{
    struct str s = y->token.text;
    if (!s.n)
        *ret = y->dollar;
    else if (str_is(s, "node") || str_is(s, "common"))
        *ret = yaql_piece(s, LEVEL_PRIMARY, SHAPE_ANY);
    else
        return translator_fail(&y->t, y->token.pos, ERR_INVALID, "the variable $%.*s is not known",
                               (int)(s.n < 40 ? s.n : 40), s.s);
    return yaql_next(y);
}

int yaql_pair(struct yaql *y, struct piece *ret_key, struct piece *ret_value)
{
    *ret_key = (struct piece){0};
    int rc = yaql_expression(y, ret_value);
    if (rc < 0 || !yaql_is(y, YAQL_ARROW))
        return rc;
    *ret_key = *ret_value;
    rc = yaql_next(y);
    return rc < 0 ? rc : yaql_expression(y, ret_value);
}

/* [a, b] or {k => v}; the token is the opening bracket. */
static int yaql_brackets(struct yaql *y, bool map, struct piece *ret)
{
    SCOPED_BUF(text);
    enum yaql_kind close = map ? YAQL_CLOSE_MAP : YAQL_CLOSE_LIST;
    uint32_t pos = y->token.pos, n = 0;
    int rc = yaql_next(y);
    buf_putc(&text, map ? '{' : '[');
    for (; rc >= 0 && !yaql_is(y, close); n++) {
        struct piece key, value;
        if (n)
            rc = yaql_expect(y, YAQL_COMMA, map ? "',' or '}'" : "',' or ']'");
        pos = y->token.pos;
        if (rc >= 0)
            rc = yaql_pair(y, &key, &value);
        if (rc >= 0 && (key.text.n > 0) != map)
            rc = translator_fail(&y->t, pos, ERR_SYNTAX,
                                 map ? "a map has key => value" : "a list has no keys");
        if (rc < 0)
            return rc;
        buf_puts(&text, n ? ", " : "");
        if (map)
            translator_put(&text, "@: ", key.text);
        buf_put(&text, value.text.s, value.text.n);
    }
    buf_putc(&text, map ? '}' : ']');
    *ret = yaql_piece(translator_text(&y->t, "@", buf_str(&text)), LEVEL_PRIMARY,
                      map ? SHAPE_MAP : SHAPE_LIST);
    return rc < 0 ? rc : yaql_next(y);
}

static int yaql_parenthesis(struct yaql *y, struct piece *ret)
{
    int rc = yaql_next(y);
    if (rc >= 0)
        rc = yaql_expression(y, ret);
    return rc < 0 ? rc : yaql_expect(y, YAQL_CLOSE, "')'");
}

static int yaql_primary(struct yaql *y, struct piece *ret)
{
    struct str s = y->token.text;
    switch (y->token.kind) {
    case YAQL_NAME:
        if (str_is(s, "and") || str_is(s, "or") || str_is(s, "in") || str_is(s, "mod"))
            break;
        return yaql_word(y, ret);
    case YAQL_CALL: return yaql_function(y, ret);
    case YAQL_VARIABLE: return yaql_variable(y, ret);
    case YAQL_STRING:
        *ret = yaql_piece(translator_quote(&y->t, s), LEVEL_PRIMARY, SHAPE_TEXT);
        ret->literal = true;
        ret->plain = s;
        return yaql_next(y);
    case YAQL_INT:
    case YAQL_REAL: return yaql_number(y, ret);
    case YAQL_OPEN: return yaql_parenthesis(y, ret);
    case YAQL_OPEN_LIST: return yaql_brackets(y, false, ret);
    case YAQL_OPEN_MAP: return yaql_brackets(y, true, ret);
    default: break;
    }
    return yaql_unexpected(y, "a value");
}

/* --- members --- */

/* a.name; of a list, of each item. */
static int yaql_member(struct yaql *y, struct piece *p)
{
    struct str name = y->token.text;
    if (p->shape == SHAPE_LIST)
        yaql_open(y, p);
    else
        yaql_settle(y, p);
    struct str text = translator_text(&y->t, "@.@", yaql_hold(y, p, LEVEL_PRIMARY), name);
    if (p->open) {
        p->path = p->path && p->level == LEVEL_PRIMARY;
        p->text = text;
        p->level = LEVEL_PRIMARY;
    } else {
        *p = yaql_piece(text, LEVEL_PRIMARY, SHAPE_ANY);
    }
    return yaql_next(y);
}

/* a[0] and a['k']; what YAQL does with a[condition] is where(). */
static int yaql_subscript(struct yaql *y, struct piece *p)
{
    struct piece key;
    int rc = yaql_next(y);
    uint32_t pos = y->token.pos;
    bool fits = yaql_is(y, YAQL_INT) || yaql_is(y, YAQL_STRING);
    if (rc >= 0 && !fits)
        return translator_fail(&y->t, pos, ERR_INVALID,
                               "only numbers and texts in brackets have a translation");
    if (rc >= 0)
        rc = yaql_primary(y, &key);
    if (rc >= 0)
        rc = yaql_expect(y, YAQL_CLOSE_LIST, "']'");
    if (rc < 0)
        return rc;
    yaql_settle(y, p);
    *p = yaql_piece(translator_text(&y->t, "@[@]", yaql_hold(y, p, LEVEL_PRIMARY), key.text),
                    LEVEL_PRIMARY, SHAPE_ANY);
    return 0;
}

static int yaql_postfix(struct yaql *y, struct piece *ret)
{
    int rc = yaql_primary(y, ret);
    while (rc >= 0) {
        if (yaql_is(y, YAQL_OPEN_LIST)) {
            rc = yaql_subscript(y, ret);
            continue;
        }
        if (!yaql_is(y, YAQL_DOT))
            break;
        rc = yaql_next(y);
        if (rc >= 0 && yaql_is(y, YAQL_CALL))
            rc = yaql_method(y, ret);
        else if (rc >= 0 && yaql_is(y, YAQL_NAME))
            rc = yaql_member(y, ret);
        else if (rc >= 0)
            rc = yaql_unexpected(y, "a name behind '.'");
    }
    if (rc >= 0)
        yaql_settle(y, ret);
    return rc;
}

/* --- operators --- */

static int yaql_unary(struct yaql *y, struct piece *ret)
{
    bool minus = yaql_is(y, YAQL_SUB);
    if (!minus && !yaql_is(y, YAQL_ADD))
        return yaql_postfix(y, ret);
    int rc = translator_enter(&y->t, y->token.pos);
    if (rc >= 0)
        rc = yaql_next(y);
    if (rc >= 0)
        rc = yaql_unary(y, ret);
    y->t.depth--;
    if (rc >= 0) /* a sign takes what has no filter */
        *ret = yaql_piece(translator_text(&y->t, "@@", str_of(minus ? "-" : "+"),
                                          yaql_hold(y, ret, LEVEL_PRIMARY)),
                          LEVEL_SIGN, SHAPE_ANY);
    return rc;
}

/* The operator that comes next, as we write it, and where it binds. */
static const char *yaql_operator(const struct yaql *y, enum level *ret_level)
{
    static const struct {
        uint8_t kind, level;
        const char *word, *ours;
    } rows[] = {
        {YAQL_MUL, LEVEL_PRODUCT, NULL, "*"},   {YAQL_NAME, LEVEL_PRODUCT, "mod", "%"},
        {YAQL_ADD, LEVEL_SUM, NULL, "+"},       {YAQL_SUB, LEVEL_SUM, NULL, "-"},
        {YAQL_EQ, LEVEL_COMPARE, NULL, "=="},   {YAQL_NE, LEVEL_COMPARE, NULL, "!="},
        {YAQL_LT, LEVEL_COMPARE, NULL, "<"},    {YAQL_LE, LEVEL_COMPARE, NULL, "<="},
        {YAQL_GT, LEVEL_COMPARE, NULL, ">"},    {YAQL_GE, LEVEL_COMPARE, NULL, ">="},
        {YAQL_NAME, LEVEL_COMPARE, "in", "in"}, {YAQL_NAME, LEVEL_AND, "and", "and"},
        {YAQL_NAME, LEVEL_OR, "or", "or"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (yaql_is(y, (enum yaql_kind)rows[i].kind) &&
            (!rows[i].word || str_is(y->token.text, rows[i].word))) {
            *ret_level = (enum level)rows[i].level;
            return rows[i].ours;
        }
    return NULL;
}

/* Maps are joined member by member. */
static void yaql_join(struct yaql *y, struct piece *left, const struct piece *right, const char *op,
                      enum level level)
{
    bool maps = left->shape == SHAPE_MAP || right->shape == SHAPE_MAP;
    enum shape shape = left->shape == SHAPE_ANY ? right->shape : left->shape;
    if (maps && strcmp(op, "+") == 0) {
        *left = yaql_piece(translator_text(&y->t, "@ | combine(@, recursive=false)",
                                           yaql_hold(y, left, LEVEL_FILTER), right->text),
                           LEVEL_FILTER, SHAPE_MAP);
        return;
    }
    /* Ours chain comparisons, YAQL compares what came out: both operands are held there. */
    enum level near = level == LEVEL_COMPARE ? LEVEL_SUM : level;
    enum level far = level == LEVEL_AND || level == LEVEL_OR ? level : (enum level)(level + 1);
    *left = yaql_piece(translator_text(&y->t, "@ @ @", yaql_hold(y, left, near), str_of(op),
                                       yaql_hold(y, right, far)),
                       level, strcmp(op, "+") == 0 ? shape : SHAPE_ANY);
}

static int yaql_binary(struct yaql *y, enum level level, struct piece *ret);

static int yaql_not(struct yaql *y, struct piece *ret)
{
    if (!yaql_is_word(y, "not"))
        return yaql_binary(y, LEVEL_COMPARE, ret);
    int rc = translator_enter(&y->t, y->token.pos);
    if (rc >= 0)
        rc = yaql_next(y);
    if (rc >= 0)
        rc = yaql_not(y, ret);
    y->t.depth--;
    if (rc >= 0)
        *ret = yaql_piece(translator_text(&y->t, "not @", yaql_hold(y, ret, LEVEL_NOT)), LEVEL_NOT,
                          SHAPE_ANY);
    return rc;
}

static int yaql_operand(struct yaql *y, enum level level, struct piece *ret)
{
    if (level == LEVEL_OR)
        return yaql_binary(y, LEVEL_AND, ret);
    if (level == LEVEL_AND)
        return yaql_not(y, ret);
    if (level == LEVEL_COMPARE)
        return yaql_binary(y, LEVEL_SUM, ret);
    return level == LEVEL_SUM ? yaql_binary(y, LEVEL_PRODUCT, ret) : yaql_unary(y, ret);
}

static int yaql_binary(struct yaql *y, enum level level, struct piece *ret)
{
    enum level found;
    const char *op;
    int rc = yaql_operand(y, level, ret);
    while (rc >= 0 && (op = yaql_operator(y, &found)) && found == level) {
        struct piece right;
        rc = yaql_next(y);
        if (rc >= 0)
            rc = yaql_operand(y, level, &right);
        if (rc >= 0)
            yaql_join(y, ret, &right, op, level);
    }
    return rc;
}

int yaql_expression(struct yaql *y, struct piece *ret)
{
    int rc = translator_enter(&y->t, y->token.pos);
    if (rc >= 0)
        rc = yaql_binary(y, LEVEL_OR, ret);
    y->t.depth--;
    bool unknown = yaql_is(y, YAQL_MATCH) || yaql_is(y, YAQL_NOMATCH) || yaql_is(y, YAQL_LAMBDA) ||
                   yaql_is(y, YAQL_MAYBE) || yaql_is(y, YAQL_DIV);
    if (rc >= 0 && unknown)
        return translator_fail(&y->t, y->token.pos, ERR_INVALID, "%.*s has no translation",
                               (int)y->token.text.n, y->token.text.s);
    return rc;
}

int yaql_expression_on(struct yaql *y, const struct piece *dollar, uint32_t vars, struct piece *ret)
{
    struct piece before = y->dollar;
    uint32_t vars_before = y->vars;
    y->dollar = *dollar;
    y->vars = vars;
    int rc = yaql_expression(y, ret);
    y->dollar = before;
    y->vars = vars_before;
    return rc;
}

int import_yaql(struct arena *a, struct str yaql, struct str *ret_expr, struct err *e)
{
    struct yaql y = {.dollar = yaql_piece(str_of("data"), LEVEL_PRIMARY, SHAPE_ANY)};
    struct piece whole;
    int rc = translator_init(&y.t, yaql, e);
    if (rc >= 0)
        rc = yaql_next(&y);
    if (rc >= 0)
        rc = yaql_expression(&y, &whole);
    if (rc >= 0 && !yaql_is(&y, YAQL_END))
        rc = yaql_unexpected(&y, "an operator or the end");
    if (rc >= 0)
        rc = translator_finish(&y.t, a, whole.text, ret_expr);
    translator_done(&y.t);
    return rc < 0 ? rc : 0;
}
