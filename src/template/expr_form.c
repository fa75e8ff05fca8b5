/* expr_form.c - parts of a program that run otherwise than once: comprehensions, and looks at old
 *               data
 *
 * The code of such a part lies right behind the instruction that runs it, as a block: OP_EACH runs
 * its blocks for every item, OP_FORM runs its block on the new data, the old, or both.  A block is
 * run by eval_block(), which is how evaluating nests, as deep as brackets do.
 *
 * [E for x in L if C] is read in the order L, C, E, the order in which it runs: a name is bound
 * before what uses it is read, and has a number instead of a place in the scope.  So it hides names
 * of the scope, and is the same in every view of the data.
 *
 * An error while old data is looked at is an answer: there was nothing like this before.  It is not
 * worded, since nobody will read it.  Limits are limits, wherever they are met.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "template/expr.h"
#include "template/expr_i.h"

/* --- reading --- */

bool parse_local(const struct parser *p, struct str name, uint32_t *ret_i)
{
    for (uint32_t i = p->locals.n; i-- > 0;)
        if (str_eq(p->locals.at[i], name)) {
            *ret_i = i;
            return true;
        }
    return false;
}

size_t parse_find_for(const struct parser *p)
{
    uint32_t depth = 0;
    for (size_t i = p->at; i < p->tokens.n; i++) {
        uint8_t kind = p->tokens.at[i].kind;
        bool opens = kind == TOKEN_OPEN || kind == TOKEN_OPEN_LIST || kind == TOKEN_OPEN_MAP;
        bool closes = kind == TOKEN_CLOSE || kind == TOKEN_CLOSE_LIST || kind == TOKEN_CLOSE_MAP;
        if (closes && depth-- == 0)
            break;
        depth += opens;
        bool member = i > p->at && p->tokens.at[i - 1].kind == TOKEN_DOT;
        if (depth == 0 && !member && parse_is_word(p, i, "for"))
            return i;
    }
    return 0;
}

/* A part that is not the last: its value is used up, and what follows has its place. */
static int parse_part(struct parser *p, int (*parse)(struct parser *p), uint32_t *ret_n)
{
    size_t from = p->code.n;
    int rc = parse(p);
    *ret_n = (uint32_t)(p->code.n - from);
    p->stack -= rc >= 0;
    return rc;
}

static int parse_bound_name(struct parser *p, struct str *ret_name)
{
    struct str name = parse_next_text(p);
    uint32_t pos = parse_peek(p)->pos;
    if (parse_peek(p)->kind != TOKEN_NAME || parse_is_reserved(name))
        return parse_fail(p, "a name behind \"for\"");
    if (parse_is_literal(name))
        return parse_wrong(p, ERR_SYNTAX, pos, "%.*s is a value and cannot be a name",
                           expr_shown(name), name.s);
    p->at++;
    if (!parse_accept_word(p, "in"))
        return parse_fail(p, "\"in\"");
    *ret_name = name;
    return 0;
}

/* What is behind `for NAME in L`: the condition, then, from where it began, the item. */
static int parse_loop_body(struct parser *p, size_t begin, size_t word, struct loop *loop)
{
    int rc = 0;
    if (parse_accept_word(p, "if"))
        rc = parse_part(p, parse_or, &loop->n_cond);
    if (rc >= 0 && parse_is_word(p, p->at, "for"))
        rc = parse_wrong(p, ERR_SYNTAX, parse_peek(p)->pos, "a list has one \"for\"");
    if (rc >= 0)
        rc = parse_expect(p, TOKEN_CLOSE_LIST, loop->n_cond ? "']'" : "\"if\" or ']'");
    if (rc < 0)
        return rc;
    size_t end = p->at;
    p->at = begin;
    rc = parse_part(p, parse_expression, &loop->n_item);
    if (rc >= 0 && p->at != word)
        rc = parse_fail(p, "\"for\"");
    p->at = end;
    return rc;
}

struct part_begun parse_once_begin(struct parser *p, uint32_t pos)
{
    struct part_begun b = {p->code.n, p->lowest_local, p->foreign};
    parse_emit(p, OP_ONCE, (int32_t)p->onces.n, 0, pos, pos);
    p->stack--; /* the value will be that of the code behind it */
    vec_push(&p->onces, ((struct once){.read = (uint32_t)p->reads.n}));
    p->lowest_local = UINT32_MAX;
    p->foreign = false;
    return b;
}

void parse_once_end(struct parser *p, const struct part_begun *b)
{
    struct once *o = &p->onces.at[p->code.at[b->at].a];
    o->n_code = (uint32_t)(p->code.n - b->at - 1);
    o->n_reads = (uint32_t)p->reads.n - o->read;
    o->alone = p->lowest_local >= p->locals.n && !p->foreign;
    p->lowest_local = b->lowest_local < p->lowest_local ? b->lowest_local : p->lowest_local;
    p->foreign = p->foreign || b->foreign;
}

int parse_comprehension(struct parser *p, size_t word, uint32_t pos)
{
    struct part_begun part = parse_once_begin(p, pos);
    struct loop loop = {.local = (uint32_t)p->locals.n};
    struct str name;
    size_t begin = p->at, loop_at = 0;
    p->at = word + 1;
    int rc = parse_enter(p);
    if (rc >= 0)
        rc = parse_bound_name(p, &name);
    if (rc >= 0)
        rc = parse_or(p);
    if (rc >= 0) {
        loop_at = p->code.n;
        parse_emit(p, OP_EACH, (int32_t)p->loops.n, 1, p->tokens.at[word].pos, pos);
        vec_push(&p->loops, loop);
        vec_push(&p->locals, name);
        rc = parse_loop_body(p, begin, word, &loop);
        p->locals.n--;
    }
    if (rc >= 0) {
        p->loops.at[p->code.at[loop_at].a] = loop;
        const struct token *last = &p->tokens.at[p->at - 1];
        p->code.at[loop_at].to = last->pos + last->n;
        parse_once_end(p, &part);
    }
    p->depth--;
    return rc;
}

static int parse_form_argument(struct parser *p, enum form form, uint32_t pos)
{
    struct part_begun part = parse_once_begin(p, pos);
    size_t at = p->code.n;
    parse_emit(p, OP_FORM, 0, 0, pos, pos)->sub = (uint8_t)form;
    p->stack--; /* the value will be the block's */
    int rc = parse_expression(p);
    if (rc < 0)
        return rc;
    p->code.at[at].a = (int32_t)(p->code.n - at - 1);
    if (parse_peek(p)->kind == TOKEN_CLOSE)
        p->code.at[at].to = parse_peek(p)->pos + 1;
    parse_once_end(p, &part);
    return 0;
}

/* changed_any(a, b) is changed(a) or changed(b). Until the end is known each jump points at the one
 * before it. */
int parse_form(struct parser *p, const struct builtin *b)
{
    enum form form = (enum form)b->form;
    bool many = form == FORM_CHANGED_ANY || form == FORM_CHANGED_ALL;
    uint32_t pos = parse_peek(p)->pos;
    size_t jump = SIZE_MAX;
    p->at += 2;
    int rc = 0;
    for (uint32_t n = 0; rc >= 0; n++) {
        if (n && parse_accept(p, TOKEN_CLOSE))
            break;
        if (n && (!many || parse_peek(p)->kind != TOKEN_COMMA))
            return parse_fail(p, many ? "',' or ')'" : "')'");
        if (n) {
            p->at++;
            if (parse_accept(p, TOKEN_CLOSE))
                break; /* a comma at the end */
            size_t before = jump;
            jump = parse_emit_jump(p, form == FORM_CHANGED_ANY ? OP_OR : OP_AND, pos);
            p->code.at[jump].a = (int32_t)before;
        }
        if (!n && parse_peek(p)->kind == TOKEN_CLOSE)
            return parse_wrong(p, ERR_INVALID, pos, "%s needs an argument", b->name);
        rc = parse_form_argument(p, many ? FORM_CHANGED : form, pos);
    }
    while (jump != SIZE_MAX) {
        int32_t before = p->code.at[jump].a;
        parse_patch(p, jump);
        jump = before < 0 ? SIZE_MAX : (size_t)before;
    }
    return rc;
}

/* --- comprehensions --- */

static int loop_round(struct eval *ev, const struct loop *l, uint32_t pc, uint32_t n,
                      struct value *list)
{
    struct slot made;
    uint32_t item = pc + 1 + l->n_cond;
    if (l->n_cond) {
        int rc = eval_block(ev, pc + 1, item, n, &made);
        if (rc >= 0 && !made.v)
            rc = eval_undefined(ev, &made);
        if (rc < 0 || !ops_truth(made.v))
            return rc;
    }
    int rc = eval_block(ev, item, item + l->n_item, n, &made);
    if (rc >= 0 && !made.v)
        rc = eval_undefined(ev, &made);
    if (rc >= 0)
        eval_list_put(list, made.v);
    return rc;
}

int eval_loop(struct eval *ev, const struct loop *l, const struct slot *over, uint32_t n,
              struct slot *ret)
{
    const struct value *items;
    struct value *list = NULL;
    uint32_t pc = ev->pc, count = 0;
    int rc = over->v ? eval_each(ev, over->v, &items, &count) : eval_undefined(ev, over);
    if (rc >= 0)
        rc = eval_list(ev, count, &list);
    for (uint32_t i = 0; rc >= 0 && i < count; i++) {
        ev->locals[l->local] = &items[i];
        rc = loop_round(ev, l, pc, n, list);
    }
    if (rc < 0)
        return rc;
    ev->pc = pc;
    return give_value(ev, list, ret);
}

/* --- old and new --- */

struct form_block {
    uint32_t from, to, stack;
};

static int look(struct eval *ev, const struct expr_scope *view, const struct form_block *b,
                struct slot *ret)
{
    const struct expr_scope *before = ev->view;
    uint32_t pc = ev->pc;
    ev->view = view;
    int rc = eval_block(ev, b->from, b->to, b->stack, ret);
    ev->view = before;
    if (rc >= 0)
        ev->pc = pc; /* else it is the place of the error */
    return rc;
}

static int look_new(struct eval *ev, const struct form_block *b, struct slot *ret)
{
    int rc = look(ev, ev->scope, b, ret);
    if (rc >= 0 && !ret->v)
        rc = eval_undefined(ev, ret);
    return rc;
}

/* Undefined if there is no old data or none like this. */
static int look_old(struct eval *ev, const struct form_block *b, struct slot *ret)
{
    uint32_t pc = ev->pc;
    bool quiet = ev->quiet;
    if (!ev->scope || !ev->scope->old)
        return give_undefined(ev, ret);
    ev->quiet = true;
    int rc = look(ev, ev->scope->old, b, ret);
    ev->quiet = quiet;
    if (rc == -ERR_LIMIT)
        return rc;
    ev->pc = pc;
    if (rc < 0)
        ev->inner = NULL; /* it was kept for the message */
    return rc < 0 || !ret->v ? give_undefined(ev, ret) : 0;
}

/* The members of `from` that `than` has not, or not so. */
static int map_differs(struct eval *ev, const struct value *from, const struct value *than,
                       struct slot *ret)
{
    int rc = eval_bytes(ev, sizeof(struct value));
    if (rc < 0)
        return rc;
    struct value *map = value_map(ev->mem);
    for (uint32_t i = 0; i < from->n && rc >= 0; i++) {
        const struct member *m = &from->members[i];
        const struct value *other = value_get_str(than, (struct str){m->key, m->key_n});
        bool same = false;
        if (other)
            rc = ops_equal(ev, &m->v, other, &same);
        if (rc >= 0 && !same)
            rc = eval_map_put(ev, map, (struct str){m->key, m->key_n}, &m->v);
    }
    return rc < 0 ? rc : give_value(ev, map, ret);
}

static int differs(struct eval *ev, const struct value *from, const struct value *than,
                   struct slot *ret)
{
    static const struct value nothing = {.kind = VALUE_LIST};
    bool same;
    if (from->kind == VALUE_LIST && than->kind == VALUE_LIST)
        return among_filter(ev, from, than, false, ret);
    if (from->kind == VALUE_MAP && than->kind == VALUE_MAP)
        return map_differs(ev, from, than, ret);
    int rc = ops_equal(ev, from, than, &same);
    return rc < 0 ? rc : give_value(ev, same ? &nothing : from, ret);
}

/* Is what the block gives part of the scope?  Names and members are. */
static bool gives_scope(const struct eval *ev, const struct form_block *b)
{
    bool all = true;
    for (uint32_t i = b->from; i < b->to && all; i++)
        all = ev->x->code[i].op == OP_NAME || ev->x->code[i].op == OP_ATTR;
    return all;
}

int eval_form(struct eval *ev, enum form form, uint32_t block, uint32_t n, struct slot *ret)
{
    static const struct value nothing = {.kind = VALUE_NULL};
    struct form_block b = {ev->pc + 1, ev->pc + 1 + block, n};
    struct slot now, old;
    bool same = false;
    if (form == FORM_OLD)
        return look_old(ev, &b, ret);
    if (form == FORM_NEW)
        return look(ev, ev->scope, &b, ret);
    int rc = look_new(ev, &b, &now);
    if (rc >= 0)
        rc = look_old(ev, &b, &old);
    if (rc < 0)
        return rc;
    if (form == FORM_ADDED)
        return old.v ? differs(ev, now.v, old.v, ret) : give_value(ev, now.v, ret);
    if (form == FORM_DELETED)
        return old.v ? differs(ev, old.v, now.v, ret) : give_value(ev, &nothing, ret);
    if (old.v)
        rc = (gives_scope(ev, &b) ? eval_memo_equal : ops_equal)(ev, now.v, old.v, &same);
    return rc < 0 ? rc : give_bool(ev, !same, ret);
}
