/* expr_parse.c - operators: precedence, short circuits, conditions
 *
 * One function per level of precedence, loosest first, each a loop over its operators; what they
 * operate on is in expr_term.c.  Code is emitted as it is read.  Levels nest only through brackets,
 * signs, `not` and branches, which parse_enter() counts.
 *
 * The grammar is Jinja2's, its surprises included: ** groups from the left, a sign binds closer
 * than **, and a filter or test belongs to the operand before it.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "template/expr.h"
#include "template/expr_i.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

/* --- helpers --- */

static struct str token_text(const struct parser *p, const struct token *t)
{
    return (struct str){p->src.text.s + t->pos, t->n};
}

bool parse_is_word(const struct parser *p, size_t token, const char *word)
{
    if (token >= p->tokens.n)
        return false;
    const struct token *t = &p->tokens.at[token];
    return t->kind == TOKEN_NAME && str_is(token_text(p, t), word);
}

bool parse_accept(struct parser *p, enum token_kind k)
{
    if (parse_peek(p)->kind != k)
        return false;
    p->at++;
    return true;
}

bool parse_accept_word(struct parser *p, const char *word)
{
    if (!parse_is_word(p, p->at, word))
        return false;
    p->at++;
    return true;
}

int parse_wrong(struct parser *p, enum errcode code, uint32_t pos, const char *fmt, ...)
{
    char text[sizeof p->e->text];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    return expr_point(&p->src, pos, err_set(p->e, code, "%s", text), p->e);
}

int parse_fail(struct parser *p, const char *expected)
{
    const struct token *t = parse_peek(p);
    struct str s = token_text(p, t);
    if (t->kind == TOKEN_END)
        return parse_wrong(p, ERR_SYNTAX, t->pos, "expected %s, found the end", expected);
    int code = err_set(p->e, ERR_SYNTAX, "expected %s, found %.*s", expected, expr_shown(s), s.s);
    if (t->kind == TOKEN_ASSIGN)
        (void)err_hint(p->e, "equality is ==");
    return expr_point(&p->src, t->pos, code, p->e);
}

int parse_expect(struct parser *p, enum token_kind k, const char *what)
{
    return parse_accept(p, k) ? 0 : parse_fail(p, what);
}

int parse_enter(struct parser *p)
{
    if (++p->depth <= p->max_depth)
        return 0;
    return parse_wrong(p, ERR_LIMIT, parse_peek(p)->pos,
                       "nested more than %u levels deep, which is the limit of an expression",
                       p->max_depth);
}

struct instr *parse_emit(struct parser *p, enum op op, int32_t a, uint32_t pops, uint32_t pos,
                         uint32_t from)
{
    /* The source of the value ends where the last token that was read does. */
    const struct token *last = &p->tokens.at[p->at ? p->at - 1 : 0];
    vec_push(&p->code,
             ((struct instr){
                 .op = (uint8_t)op, .a = a, .pos = pos, .from = from, .to = last->pos + last->n}));
    p->stack = p->stack - pops + 1;
    p->max_stack = p->stack > p->max_stack ? p->stack : p->max_stack;
    return &p->code.at[p->code.n - 1];
}

size_t parse_emit_jump(struct parser *p, enum op op, uint32_t pos)
{
    parse_emit(p, op, 0, 1, pos, pos);
    p->stack--;
    return p->code.n - 1;
}

void parse_patch(struct parser *p, size_t jump)
{
    p->code.at[jump].a = (int32_t)(p->code.n - jump);
}

/* --- levels, closest first --- */

/* left { operator right }, for the operators in a set of tokens. */
static int parse_left(struct parser *p, int (*operand)(struct parser *p), uint64_t operators)
{
    uint32_t from = parse_peek(p)->pos;
    int rc = operand(p);
    while (rc >= 0) {
        const struct token *t = parse_peek(p);
        if (!(operators >> t->kind & 1))
            break;
        uint8_t kind = t->kind;
        uint32_t pos = t->pos;
        p->at++;
        rc = operand(p);
        if (rc >= 0)
            parse_emit(p, OP_ARITH, 0, 2, pos, from)->sub = kind;
    }
    return rc;
}

#define BIT(k) ((uint64_t)1 << TOKEN_##k)

static int parse_operand(struct parser *p)
{
    return parse_unary(p, true);
}

static int parse_power(struct parser *p)
{
    return parse_left(p, parse_operand, BIT(POW));
}

static int parse_product(struct parser *p)
{
    return parse_left(p, parse_power, BIT(MUL) | BIT(DIV) | BIT(FLOORDIV) | BIT(MOD));
}

static int parse_concat(struct parser *p)
{
    uint32_t from = parse_peek(p)->pos, pos = from, n = 1;
    int rc = parse_product(p);
    while (rc >= 0 && parse_peek(p)->kind == TOKEN_TILDE) {
        pos = n == 1 ? parse_peek(p)->pos : pos;
        p->at++;
        n++;
        rc = parse_product(p);
    }
    if (rc >= 0 && n > 1)
        parse_emit(p, OP_CONCAT, (int32_t)n, n, pos, from);
    return rc;
}

static int parse_sum(struct parser *p)
{
    return parse_left(p, parse_concat, BIT(ADD) | BIT(SUB));
}

/* The relation that comes next and how many tokens it takes, 0 for none. */
static size_t relation_next(const struct parser *p, enum relation *ret_r)
{
    static const uint8_t marks[TOKEN_COUNT] = {
        [TOKEN_EQ] = REL_EQ + 1, [TOKEN_NE] = REL_NE + 1, [TOKEN_LT] = REL_LT + 1,
        [TOKEN_LE] = REL_LE + 1, [TOKEN_GT] = REL_GT + 1, [TOKEN_GE] = REL_GE + 1,
    };
    uint8_t mark = marks[parse_peek(p)->kind];
    if (mark) {
        *ret_r = (enum relation)(mark - 1);
        return 1;
    }
    if (parse_is_word(p, p->at, "in")) {
        *ret_r = REL_IN;
        return 1;
    }
    if (parse_is_word(p, p->at, "not") && parse_is_word(p, p->at + 1, "in")) {
        *ret_r = REL_NOT_IN;
        return 2;
    }
    return 0;
}

/* a < b < c: every comparison but the last leaves for the end if it is false.  Until the end is
 * known each OP_CHAIN points at the one before it. */
static int parse_compare(struct parser *p)
{
    uint32_t from = parse_peek(p)->pos;
    enum relation r = REL_EQ, next = REL_EQ;
    size_t chain = SIZE_MAX, n;
    int rc = parse_sum(p);
    n = rc < 0 ? 0 : relation_next(p, &r);
    while (n) {
        uint32_t pos = parse_peek(p)->pos;
        p->at += n;
        rc = parse_sum(p);
        if (rc < 0)
            return rc;
        n = relation_next(p, &next);
        struct instr *i = parse_emit(p, n ? OP_CHAIN : OP_COMPARE, (int32_t)chain, 2, pos, from);
        i->sub = (uint8_t)r;
        if (n)
            chain = p->code.n - 1;
        r = next;
    }
    while (chain != SIZE_MAX) {
        int32_t before = p->code.at[chain].a;
        parse_patch(p, chain);
        chain = before < 0 ? SIZE_MAX : (size_t)before;
    }
    return rc;
}

static int parse_not(struct parser *p)
{
    uint32_t pos = parse_peek(p)->pos;
    if (!parse_accept_word(p, "not"))
        return parse_compare(p);
    int rc = parse_enter(p);
    if (rc >= 0)
        rc = parse_not(p);
    if (rc >= 0)
        parse_emit(p, OP_NOT, 0, 1, pos, pos);
    p->depth--;
    return rc;
}

static int parse_short(struct parser *p, int (*operand)(struct parser *p), const char *word,
                       enum op op)
{
    int rc = operand(p);
    while (rc >= 0 && parse_is_word(p, p->at, word)) {
        size_t jump = parse_emit_jump(p, op, parse_peek(p)->pos);
        p->at++;
        rc = operand(p);
        parse_patch(p, jump);
    }
    return rc;
}

static int parse_and(struct parser *p)
{
    return parse_short(p, parse_not, "and", OP_AND);
}

int parse_or(struct parser *p)
{
    return parse_short(p, parse_and, "or", OP_OR);
}

/* Turns [x][c] at `from` into [c] unless [x] jump; returns where the jump is. */
static size_t swap_blocks(struct parser *p, size_t from, size_t middle, uint32_t pos)
{
    size_t n_x = middle - from, n_c = p->code.n - middle;
    parse_emit(p, OP_UNLESS, (int32_t)(n_x + 2), 2, pos, pos);
    parse_emit(p, OP_JUMP, 0, 1, pos, pos);
    struct instr *at = p->code.at + from;
    struct instr unless = at[n_x + n_c];
    struct instr *x = xcalloc(n_x, sizeof *x);
    memcpy(x, at, n_x * sizeof *x);
    memmove(at, at + n_x, n_c * sizeof *at);
    at[n_c] = unless;
    memcpy(at + n_c + 1, x, n_x * sizeof *x);
    free(x);
    return p->code.n - 1;
}

/* x if c else y, where `else y` may be missing. */
static int parse_condition(struct parser *p)
{
    size_t from = p->code.n;
    uint32_t start = parse_peek(p)->pos, before = p->depth;
    int rc = parse_or(p);
    while (rc >= 0 && parse_is_word(p, p->at, "if")) {
        uint32_t pos = parse_peek(p)->pos;
        size_t middle = p->code.n;
        p->at++;
        rc = parse_enter(p);
        if (rc >= 0)
            rc = parse_or(p);
        if (rc < 0)
            break;
        size_t jump = swap_blocks(p, from, middle, pos);
        p->stack--; /* only one of the two branches leaves its value */
        if (parse_accept_word(p, "else"))
            rc = parse_condition(p);
        else
            parse_emit(p, OP_NOTHING, 0, 0, pos, start);
        parse_patch(p, jump);
    }
    p->depth = before;
    return rc;
}

int parse_expression(struct parser *p)
{
    int rc = parse_enter(p);
    if (rc >= 0)
        rc = parse_condition(p);
    p->depth--;
    return rc;
}

/* --- the whole --- */

static void parser_done(struct parser *p)
{
    vec_done(&p->tokens);
    vec_done(&p->code);
    vec_done(&p->consts);
    vec_done(&p->names);
    vec_done(&p->calls);
    vec_done(&p->loops);
    vec_done(&p->locals);
    vec_done(&p->onces);
    vec_done(&p->reads);
    vec_done(&p->paths);
    strmap_done(&p->seen);
}

static int parse_all(struct parser *p)
{
    int rc = expr_lex(&p->src, &p->tokens, p->e);
    if (rc < 0)
        return rc;
    if (p->tokens.n == 1)
        return parse_wrong(p, ERR_SYNTAX, 0, "an empty expression");
    rc = parse_expression(p);
    if (rc < 0)
        return rc;
    return parse_peek(p)->kind == TOKEN_END ? 0 : parse_fail(p, "an operator or the end");
}

static void *array_keep(struct arena *a, const void *at, size_t n, size_t size)
{
    void *copy = arena_take_n(a, n ? n : 1, size);
    if (n)
        memcpy(copy, at, n * size);
    return copy;
}
#define KEEP(p, v) array_keep((p)->a, (p)->v.at, (p)->v.n, sizeof *(p)->v.at)

int expr_compile(struct arena *a, struct str text, const struct expr_options *o,
                 const struct expr **ret_x, struct err *e)
{
    static const struct expr_options plain = {0};
    o = o ? o : &plain;
    uint32_t max = o->max_source && o->max_source < EXPR_MAX_SOURCE ? o->max_source
                                                                    : EXPR_MAX_SOURCE;
    uint32_t depth = o->max_depth && o->max_depth < EXPR_MAX_DEPTH ? o->max_depth : EXPR_MAX_DEPTH;
    struct parser p = {
        .a = a, .library = o->library, .max_depth = depth, .lowest_local = UINT32_MAX, .e = e};

    p.src = (struct source_text){{"", 0}, o->origin};
    if (text.n > max) {
        int code = err_set(e, ERR_LIMIT, "%zu bytes of source, %u is the limit of an expression",
                           text.n, max);
        return expr_point(&p.src, 0, code, e);
    }
    p.src.text = (struct str){arena_strndup(a, text.n ? text.s : "", text.n), text.n};
    p.src.origin.file = o->origin.file ? arena_strdup(a, o->origin.file) : NULL;
    int rc = parse_all(&p);
    if (rc >= 0) {
        struct expr *x = arena_new(a, struct expr, 1);
        *x = (struct expr){.src = p.src,
                           .code = KEEP(&p, code),
                           .consts = KEEP(&p, consts),
                           .names = KEEP(&p, names),
                           .calls = KEEP(&p, calls),
                           .loops = KEEP(&p, loops),
                           .onces = KEEP(&p, onces),
                           .reads = KEEP(&p, reads),
                           .paths = KEEP(&p, paths),
                           .n_code = (uint32_t)p.code.n,
                           .n_paths = (uint32_t)p.paths.n,
                           .max_stack = p.max_stack};
        *ret_x = x;
        rc = 0;
    }
    parser_done(&p);
    return rc;
}

struct str expr_text(const struct expr *x)
{
    return x->src.text;
}

bool expr_path_at(const struct expr *x, size_t i, struct str *ret_path)
{
    if (i >= x->n_paths)
        return false;
    *ret_path = x->paths[i];
    return true;
}

/* Is one of them the other, or above it? */
bool parse_paths_meet(struct str a, struct str b)
{
    struct str upper = a.n < b.n ? a : b, lower = a.n < b.n ? b : a;
    return memcmp(upper.s, lower.s, upper.n) == 0 &&
           (upper.n == lower.n || lower.s[upper.n] == '.');
}

bool expr_reads(const struct expr *x, struct str path)
{
    for (uint32_t i = 0; i < x->n_paths; i++)
        if (parse_paths_meet(x->paths[i], path))
            return true;
    return false;
}
