/* expr_term.c - what operators operate on: literals, names, a.b a[0]
 *
 * The static part of a chain such as a.b["c"].d is collected while it is read: that is what
 * expr_path_at() tells.  Calls, filters and tests are in expr_call.c.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "template/expr.h"
#include "template/expr_i.h"

struct str parse_next_text(const struct parser *p)
{
    const struct token *t = parse_peek(p);
    return (struct str){p->src.text.s + t->pos, t->n};
}

bool parse_is_reserved(struct str s)
{
    static const char *const words[] = {"and", "or", "not", "in", "is", "if", "else", "for"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (str_is(s, words[i]))
            return true;
    return false;
}

/* --- tables of the program --- */

static int32_t const_add(struct parser *p, struct value v)
{
    vec_push(&p->consts, v);
    return (int32_t)p->consts.n - 1;
}

static int32_t name_add(struct parser *p, struct str s)
{
    vec_push(&p->names, s);
    return (int32_t)p->names.n - 1;
}

static void path_add(struct parser *p, const struct buf *path)
{
    uint64_t number = p->paths.n;
    bool known = strmap_get(&p->seen, buf_str(path), &number);
    vec_push(&p->reads, (uint32_t)number);
    if (known)
        return;
    strmap_put(&p->seen, buf_str(path), number);
    vec_push(&p->paths, ((struct str){arena_strndup(p->a, path->data, path->len), path->len}));
}

/* --- primaries --- */

static int parse_text(struct parser *p)
{
    SCOPED_BUF(text);
    uint32_t pos = parse_peek(p)->pos;
    while (parse_peek(p)->kind == TOKEN_STRING) { /* 'a' 'b' is 'ab' */
        int rc = expr_lex_string(&p->src, parse_peek(p), &text, p->e);
        if (rc < 0)
            return rc;
        p->at++;
    }
    struct str s = buf_str(&text);
    struct value v = {.kind = VALUE_STRING, .n = (uint32_t)s.n, .s = arena_strndup(p->a, s.s, s.n)};
    parse_emit(p, OP_CONST, const_add(p, v), 0, pos, pos);
    return 0;
}

static int parse_number(struct parser *p)
{
    const struct token *t = parse_peek(p);
    struct value v;
    int rc = expr_lex_number(&p->src, t, &v, p->e);
    if (rc < 0)
        return rc;
    p->at++;
    parse_emit(p, OP_CONST, const_add(p, v), 0, t->pos, t->pos);
    return 0;
}

/* The items of a list; the opening bracket has been read.  *ret_n is how many. */
static int parse_items(struct parser *p, enum token_kind close, const char *expected,
                       uint32_t *ret_n)
{
    uint32_t n = 0;
    while (!parse_accept(p, close)) {
        int rc = n ? parse_expect(p, TOKEN_COMMA, expected) : 0;
        if (rc >= 0 && n && parse_accept(p, close))
            break; /* a comma at the end */
        if (rc >= 0)
            rc = parse_expression(p);
        if (rc < 0)
            return rc;
        n++;
    }
    *ret_n = n;
    return 0;
}

static int parse_map(struct parser *p, uint32_t pos)
{
    uint32_t n = 0;
    while (!parse_accept(p, TOKEN_CLOSE_MAP)) {
        int rc = n ? parse_expect(p, TOKEN_COMMA, "',' or '}'") : 0;
        if (rc >= 0 && n && parse_accept(p, TOKEN_CLOSE_MAP))
            break;
        if (rc >= 0)
            rc = parse_expression(p);
        if (rc >= 0)
            rc = parse_expect(p, TOKEN_COLON, "':' and a value");
        if (rc >= 0)
            rc = parse_expression(p);
        if (rc < 0)
            return rc;
        n++;
    }
    parse_emit(p, OP_MAP, (int32_t)n, 2 * n, pos, pos);
    return 0;
}

/* ( x ) is x; (), (x,) and (x, y) are tuples, which we have as lists. */
static int parse_parenthesis(struct parser *p, uint32_t pos)
{
    uint32_t n = 0;
    if (parse_peek(p)->kind != TOKEN_CLOSE) {
        int rc = parse_expression(p);
        if (rc < 0)
            return rc;
        if (parse_accept(p, TOKEN_CLOSE))
            return 0;
        rc = parse_expect(p, TOKEN_COMMA, "')'");
        if (rc < 0)
            return rc;
        n = 1;
    }
    uint32_t more = 0;
    int rc = parse_items(p, TOKEN_CLOSE, "',' or ')'", &more);
    if (rc >= 0)
        parse_emit(p, OP_LIST, (int32_t)(n + more), n + more, pos, pos);
    return rc;
}

static const struct value *word_value(struct str s)
{
    static const struct {
        const char *word;
        struct value v;
    } words[] = {
        {"true", {.kind = VALUE_BOOL, .b = true}},
        {"True", {.kind = VALUE_BOOL, .b = true}},
        {"false", {.kind = VALUE_BOOL}},
        {"False", {.kind = VALUE_BOOL}},
        {"none", {.kind = VALUE_NULL}},
        {"None", {.kind = VALUE_NULL}},
    };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (str_is(s, words[i].word))
            return &words[i].v;
    return NULL;
}

bool parse_is_literal(struct str s)
{
    return word_value(s) != NULL;
}

static bool parse_word(struct parser *p)
{
    uint32_t pos = parse_peek(p)->pos;
    const struct value *v = word_value(parse_next_text(p));
    if (!v)
        return false;
    p->at++;
    parse_emit(p, OP_CONST, const_add(p, *v), 0, pos, pos);
    return true;
}

/* Behind the opening bracket at `pos`. */
static int parse_list(struct parser *p, uint32_t pos)
{
    uint32_t n = 0;
    size_t word = parse_find_for(p);
    if (word)
        return parse_comprehension(p, word, pos);
    int rc = parse_items(p, TOKEN_CLOSE_LIST, "',' or ']'", &n);
    if (rc >= 0)
        parse_emit(p, OP_LIST, (int32_t)n, n, pos, pos);
    return rc;
}

/* A name that a comprehension binds, or one of the scope: only those have a path. */
static void parse_name(struct parser *p, struct str s, struct buf *path)
{
    uint32_t pos = parse_peek(p)->pos, local;
    p->at++;
    if (parse_local(p, s, &local)) {
        parse_emit(p, OP_LOCAL, (int32_t)local, 0, pos, pos);
        p->lowest_local = local < p->lowest_local ? local : p->lowest_local;
        return;
    }
    parse_emit(p, OP_NAME, name_add(p, s), 0, pos, pos);
    buf_put(path, s.s, s.n);
}

int parse_primary(struct parser *p, struct buf *path)
{
    const struct token *t = parse_peek(p);
    struct str s = parse_next_text(p);
    switch (t->kind) {
    case TOKEN_NAME:
        if (parse_is_reserved(s))
            break;
        if (parse_word(p))
            return 0;
        if (p->tokens.at[p->at + 1].kind == TOKEN_OPEN)
            return parse_function(p);
        parse_name(p, s, path);
        return 0;
    case TOKEN_STRING: return parse_text(p);
    case TOKEN_INT:
    case TOKEN_REAL: return parse_number(p);
    case TOKEN_OPEN: p->at++; return parse_parenthesis(p, t->pos);
    case TOKEN_OPEN_LIST: p->at++; return parse_list(p, t->pos);
    case TOKEN_OPEN_MAP: p->at++; return parse_map(p, t->pos);
    default: break;
    }
    return parse_fail(p, "a value");
}

/* --- a.b and a[b] --- */

static void path_end(struct parser *p, struct buf *path)
{
    if (path->len)
        path_add(p, path);
    buf_clear(path);
}

/* A constant key lengthens the path, anything else ends it. */
static void path_step(struct parser *p, struct buf *path, const struct value *key)
{
    bool plain = key && ((key->kind == VALUE_INT && key->i >= 0) ||
                         (key->kind == VALUE_STRING && key->n && !memchr(key->s, '.', key->n)));
    if (!path->len)
        return;
    if (!plain) {
        path_end(p, path);
        return;
    }
    buf_putc(path, '.');
    if (key->kind == VALUE_INT)
        buf_i64(path, key->i);
    else
        buf_put(path, key->s, key->n);
}

static int parse_member(struct parser *p, struct buf *path, uint32_t from)
{
    const struct token *t = parse_peek(p);
    struct str s = parse_next_text(p);
    if (t->kind == TOKEN_INT) {
        int rc = parse_number(p);
        if (rc < 0)
            return rc;
        path_step(p, path, &p->consts.at[p->consts.n - 1]);
        parse_emit(p, OP_ITEM, 0, 2, t->pos, from);
        return 0;
    }
    if (t->kind != TOKEN_NAME)
        return parse_fail(p, "a name behind '.'");
    p->at++;
    path_step(p, path, &(struct value){.kind = VALUE_STRING, .n = (uint32_t)s.n, .s = s.s});
    parse_emit(p, OP_ATTR, name_add(p, s), 1, t->pos, from);
    return 0;
}

/* One of start, stop and step: null if it is not there. */
static int parse_bound(struct parser *p)
{
    const struct token *t = parse_peek(p);
    if (t->kind != TOKEN_COLON && t->kind != TOKEN_CLOSE_LIST)
        return parse_expression(p);
    parse_emit(p, OP_CONST, const_add(p, (struct value){.kind = VALUE_NULL}), 0, t->pos, t->pos);
    return 0;
}

static int parse_subscript(struct parser *p, struct buf *path, uint32_t from)
{
    uint32_t pos = parse_peek(p)->pos;
    size_t before = p->code.n;
    int rc = parse_bound(p);
    if (rc < 0)
        return rc;
    if (parse_peek(p)->kind == TOKEN_CLOSE_LIST) {
        if (parse_peek(p)->pos == pos)
            return parse_fail(p, "a key or an index");
        p->at++;
        const struct instr *key = &p->code.at[before];
        bool constant = p->code.n == before + 1 && key->op == OP_CONST;
        path_step(p, path, constant ? &p->consts.at[key->a] : NULL);
        parse_emit(p, OP_ITEM, 0, 2, pos, from);
        return 0;
    }
    path_end(p, path);
    rc = parse_expect(p, TOKEN_COLON, "']' or ':'");
    if (rc >= 0)
        rc = parse_bound(p);
    if (rc >= 0 && !parse_accept(p, TOKEN_COLON) && parse_peek(p)->kind != TOKEN_CLOSE_LIST)
        return parse_fail(p, "']' or ':'");
    if (rc >= 0)
        rc = parse_bound(p);
    if (rc >= 0)
        rc = parse_expect(p, TOKEN_CLOSE_LIST, "']'");
    if (rc >= 0)
        parse_emit(p, OP_SLICE, 0, 4, pos, from);
    return rc;
}

int parse_postfix(struct parser *p, struct buf *path, uint32_t from)
{
    for (;;) {
        const struct token *t = parse_peek(p);
        int rc = 0;
        if (t->kind == TOKEN_DOT) {
            p->at++;
            rc = parse_member(p, path, from);
        } else if (t->kind == TOKEN_OPEN_LIST) {
            p->at++;
            rc = parse_subscript(p, path, from);
        } else if (t->kind == TOKEN_OPEN) {
            (void)err_set(p->e, ERR_SYNTAX, "only functions can be called");
            (void)err_hint(p->e, "values have no methods; use a filter, as in x|upper");
            return expr_point(&p->src, t->pos, -ERR_SYNTAX, p->e);
        } else {
            path_end(p, path);
            return 0;
        }
        if (rc < 0)
            return rc;
    }
}

/* --- signs, filters and tests --- */

int parse_unary(struct parser *p, bool with_filters)
{
    SCOPED_BUF(path);
    const struct token *t = parse_peek(p);
    uint32_t from = t->pos;
    int rc;
    if (t->kind == TOKEN_SUB || t->kind == TOKEN_ADD) {
        p->at++;
        rc = parse_enter(p);
        if (rc >= 0)
            rc = parse_unary(p, false);
        if (rc >= 0)
            parse_emit(p, t->kind == TOKEN_SUB ? OP_NEG : OP_POS, 0, 1, from, from);
        p->depth--;
    } else {
        rc = parse_primary(p, &path);
    }
    if (rc >= 0)
        rc = parse_postfix(p, &path, from);
    while (rc >= 0 && with_filters) {
        if (parse_accept(p, TOKEN_PIPE))
            rc = parse_filter(p, from);
        else if (parse_accept_word(p, "is"))
            rc = parse_test(p, from);
        else
            break;
    }
    return rc;
}
