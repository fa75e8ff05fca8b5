/* expr_call.c - calls, filters and tests, and what is given to them
 *
 * Functions, filters and tests are known by name when an expression is compiled: a misspelt one is
 * an error of the catalog that has it, not of the day it is needed.  Named arguments become places
 * here, so that a call at run time has nothing to look up.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "template/expr.h"
#include "template/expr_i.h"

static const char *params_of(const struct call *c)
{
    return c->builtin ? c->builtin->params : c->function->params;
}

/* Finds what a call calls: the library first, then what is built in. */
static int call_find(struct parser *p, enum expr_table table, struct str name, uint32_t pos,
                     struct call *ret)
{
    static const char *const kinds[] = {"filter", "test", "function"};
    for (uint32_t i = 0; p->library && table != EXPR_TABLE_TESTS && i < p->library->n; i++) {
        const struct expr_function *f = &p->library->at[i];
        if (f->filter == (table == EXPR_TABLE_FILTERS) && str_is(name, f->name)) {
            *ret = (struct call){.name = f->name, .function = f};
            p->foreign = true;
            return 0;
        }
    }
    const struct builtin *b = builtin_find(table, name);
    if (b) {
        *ret = (struct call){.name = b->name, .builtin = b};
        return 0;
    }
    int code = err_set(p->e, ERR_UNKNOWN_NAME, "there is no %s \"%.*s\"", kinds[table],
                       expr_shown(name), name.s);
    const char *best = builtin_nearest(table, name);
    if (best)
        (void)err_hint(p->e, "did you mean \"%s\"?", best);
    else if (table == EXPR_TABLE_FUNCTIONS && builtin_find(EXPR_TABLE_FILTERS, name))
        (void)err_hint(p->e, "it is a filter: x|%.*s", expr_shown(name), name.s);
    return expr_point(&p->src, pos, code, p->e);
}

/* The place of the next argument, which is named if a name and = come first. */
static int argument_place(struct parser *p, const struct call *c, bool *named, uint32_t *ret_place)
{
    const struct token *t = parse_peek(p);
    uint32_t places, names;
    builtin_params(params_of(c), &places, &names);
    if (t->kind == TOKEN_NAME && p->tokens.at[p->at + 1].kind == TOKEN_ASSIGN) {
        struct str s = parse_next_text(p);
        int at = builtin_param_find(params_of(c), s);
        if (at < 0)
            return parse_wrong(p, ERR_INVALID, t->pos, "%s has no argument \"%.*s\"", c->name,
                               expr_shown(s), s.s);
        *named = true;
        *ret_place = (uint32_t)at;
        p->at += 2;
        return 0;
    }
    if (*named)
        return parse_wrong(p, ERR_SYNTAX, t->pos, "an argument without a name behind a named one");
    bool more = c->builtin && c->builtin->flags & BUILTIN_MORE;
    if (c->n >= places && !more)
        return parse_wrong(p, ERR_INVALID, t->pos, "%s takes at most %u argument%s", c->name,
                           places, places == 1 ? "" : "s");
    *ret_place = c->n < places ? c->n : names + (c->n - places);
    return 0;
}

static int parse_argument(struct parser *p, struct call *c, bool *named)
{
    uint32_t pos = parse_peek(p)->pos, place = 0;
    int rc = argument_place(p, c, named, &place);
    if (rc < 0)
        return rc;
    if (c->n >= EXPR_MAX_ARGS || place >= EXPR_MAX_ARGS)
        return parse_wrong(p, ERR_LIMIT, pos, "more than %d arguments, which is the limit",
                           EXPR_MAX_ARGS);
    for (uint32_t i = 0; i < c->n; i++)
        if (c->to[i] == place)
            return parse_wrong(p, ERR_INVALID, pos, "%s is given this argument twice", c->name);
    rc = parse_expression(p);
    if (rc < 0)
        return rc;
    c->to[c->n++] = (uint8_t)place;
    return 0;
}

/* Arguments in parentheses; behind the opening one. */
static int parse_arguments(struct parser *p, struct call *c)
{
    bool named = false, first = true;
    while (!parse_accept(p, TOKEN_CLOSE)) {
        int rc = first ? 0 : parse_expect(p, TOKEN_COMMA, "',' or ')'");
        if (rc >= 0 && !first && parse_accept(p, TOKEN_CLOSE))
            break;
        if (rc >= 0)
            rc = parse_argument(p, c, &named);
        if (rc < 0)
            return rc;
        first = false;
    }
    return 0;
}

/* Checks that what must be given is, and emits the call. */
static int call_emit(struct parser *p, struct call *c, uint32_t pos, uint32_t from)
{
    uint32_t places, names, given = 0;
    builtin_params(params_of(c), &places, &names);
    c->n_slots = (uint8_t)names;
    for (uint32_t i = 0; i < c->n; i++) {
        given |= 1u << c->to[i];
        c->n_slots = c->to[i] >= c->n_slots ? (uint8_t)(c->to[i] + 1) : c->n_slots;
    }
    uint32_t min = c->builtin ? c->builtin->min : c->function->min;
    for (uint32_t i = 0; i < min; i++)
        if (!(given >> i & 1))
            return parse_wrong(p, ERR_INVALID, pos, "%s needs %u argument%s: %s", c->name, min,
                               min == 1 ? "" : "s", params_of(c));
    vec_push(&p->calls, *c);
    parse_emit(p, OP_CALL, (int32_t)p->calls.n - 1, c->n, pos, from);
    return 0;
}

int parse_function(struct parser *p)
{
    uint32_t pos = parse_peek(p)->pos;
    struct call c;
    int rc = call_find(p, EXPR_TABLE_FUNCTIONS, parse_next_text(p), pos, &c);
    if (rc < 0)
        return rc;
    if (c.builtin && c.builtin->form)
        return parse_form(p, c.builtin);
    p->at += 2;
    rc = parse_arguments(p, &c);
    return rc < 0 ? rc : call_emit(p, &c, pos, pos);
}

int parse_filter(struct parser *p, uint32_t from)
{
    uint32_t pos = parse_peek(p)->pos;
    struct call c;
    if (parse_peek(p)->kind != TOKEN_NAME)
        return parse_fail(p, "the name of a filter");
    int rc = call_find(p, EXPR_TABLE_FILTERS, parse_next_text(p), pos, &c);
    if (rc < 0)
        return rc;
    p->at++;
    c.n = 1; /* the subject, in place 0 */
    if (parse_accept(p, TOKEN_OPEN))
        rc = parse_arguments(p, &c);
    return rc < 0 ? rc : call_emit(p, &c, pos, from);
}

/* May the next token begin the argument of `is test argument`? */
static bool argument_follows(const struct parser *p)
{
    switch (parse_peek(p)->kind) {
    case TOKEN_STRING:
    case TOKEN_INT:
    case TOKEN_REAL:
    case TOKEN_OPEN_LIST:
    case TOKEN_OPEN_MAP: return true;
    case TOKEN_NAME: return !parse_is_reserved(parse_next_text(p));
    default: return false;
    }
}

int parse_test(struct parser *p, uint32_t from)
{
    bool negated = parse_accept_word(p, "not");
    uint32_t pos = parse_peek(p)->pos;
    struct call c;
    if (parse_peek(p)->kind != TOKEN_NAME)
        return parse_fail(p, "the name of a test");
    int rc = call_find(p, EXPR_TABLE_TESTS, parse_next_text(p), pos, &c);
    if (rc < 0)
        return rc;
    p->at++;
    c.n = 1;
    if (parse_accept(p, TOKEN_OPEN)) {
        rc = parse_arguments(p, &c);
    } else if (argument_follows(p)) {
        SCOPED_BUF(path);
        uint32_t start = parse_peek(p)->pos;
        c.to[c.n++] = 1;
        rc = parse_enter(p);
        if (rc >= 0)
            rc = parse_primary(p, &path);
        if (rc >= 0)
            rc = parse_postfix(p, &path, start);
        p->depth--;
        if (rc >= 0 && c.builtin->min < 2)
            return parse_wrong(p, ERR_INVALID, start, "%s takes no argument", c.name);
    } else if (parse_is_word(p, p->at, "is")) {
        return parse_wrong(p, ERR_SYNTAX, parse_peek(p)->pos, "a test cannot be tested");
    }
    if (rc >= 0)
        rc = call_emit(p, &c, pos, from);
    if (rc >= 0 && negated)
        parse_emit(p, OP_NOT, 0, 1, pos, from);
    return rc;
}
