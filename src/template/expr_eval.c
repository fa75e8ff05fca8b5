/* expr_eval.c - the machine that runs a compiled expression
 *
 * A stack of slots and a loop over instructions.  The stack's size was counted when the program was
 * compiled; a jump never goes backwards, so that a program ends even without its budget.  What runs
 * otherwise than once comes back here through eval_block(), on top of the same stack.
 *
 * An operand that is undefined is refused in one place, take(), before any operator sees it; calls
 * have eval_builtin() for that, since some functions may look at one.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "template/expr.h"
#include "template/expr_i.h"

#include <assert.h>
#include <stdlib.h>

/* --- calls --- */

/* On arguments that are in their places already. */
static int eval_builtin(struct eval *ev, const struct builtin *b, struct slot *args, uint32_t n,
                        struct slot *ret)
{
    for (uint32_t i = 0; i < n; i++) {
        bool may = b->flags & BUILTIN_ANY_ALL || (i == 0 && b->flags & BUILTIN_ANY);
        if (!args[i].v && slot_given(&args[i]) && !may)
            return eval_undefined(ev, &args[i]);
    }
    return b->call(ev, args, n, ret);
}

int eval_by_name(struct eval *ev, enum expr_table table, const struct value *name,
                 const struct slot *subject, const struct slot *more, uint32_t n_more,
                 struct slot *ret)
{
    struct slot args[2 * EXPR_MAX_ARGS];
    uint32_t places, names;
    const struct builtin *b = builtin_find(table, value_as_str(name));
    if (!b)
        return eval_fail(ev, ERR_UNKNOWN_NAME, "there is no %s \"%.*s\"",
                         table == EXPR_TABLE_TESTS ? "test" : "filter",
                         expr_shown(value_as_str(name)), value_as_str(name).s);
    builtin_params(b->params, &places, &names);
    bool fits = 1 + n_more >= b->min && (1 + n_more <= places || b->flags & BUILTIN_MORE);
    if (!fits)
        return eval_fail(ev, ERR_INVALID, "%s cannot take %u argument%s", b->name, n_more,
                         n_more == 1 ? "" : "s");
    for (uint32_t i = 0; i < 2 * EXPR_MAX_ARGS; i++)
        args[i] = (struct slot){.pc = SLOT_ABSENT};
    args[0] = *subject;
    uint32_t n = names;
    for (uint32_t i = 0; i < n_more; i++) {
        uint32_t place = 1 + i < places ? 1 + i : names + (1 + i - places);
        args[place] = more[i];
        n = place >= n ? place + 1 : n;
    }
    const struct builtin *outer = ev->inner;
    ev->inner = b;
    int rc = eval_builtin(ev, b, args, n, ret);
    ev->inner = rc < 0 ? ev->inner : outer;
    return rc;
}

static int call_library(struct eval *ev, const struct call *c, const struct slot *args,
                        struct slot *ret)
{
    const struct value *values[EXPR_MAX_ARGS], *v = NULL;
    for (uint32_t i = 0; i < c->n_slots; i++) {
        if (!args[i].v && slot_given(&args[i]))
            return eval_undefined(ev, &args[i]);
        values[i] = args[i].v;
    }
    struct expr_call call = {
        .mem = ev->mem, .ctx = ev->scope ? ev->scope->ctx : NULL, .args = values, .n = c->n_slots};
    int rc = c->function->call(&call, &v, ev->e);
    if (rc < 0 && ev->quiet && rc != -ERR_LIMIT)
        return rc;
    if (rc < 0) {
        if (ev->e)
            (void)err_wrap(ev->e, "%s", c->name);
        return expr_point(&ev->x->src, ev->x->code[ev->pc].pos, rc, ev->e);
    }
    rc = eval_bytes(ev, 0);
    if (rc >= 0)
        *ret = (struct slot){.v = v, .pc = ev->pc};
    return rc;
}

static int eval_call(struct eval *ev, const struct call *c, struct slot *stack, struct slot *ret)
{
    struct slot args[EXPR_MAX_ARGS];
    for (uint32_t i = 0; i < c->n_slots; i++)
        args[i] = (struct slot){.pc = SLOT_ABSENT};
    for (uint32_t i = 0; i < c->n; i++)
        args[c->to[i]] = stack[i];
    ev->call = c;
    int rc = c->builtin ? eval_builtin(ev, c->builtin, args, c->n_slots, ret)
                        : call_library(ev, c, args, ret);
    ev->call = NULL;
    return rc;
}

/* --- the machine --- */

static int take(struct eval *ev, const struct slot *s, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (!s[i].v)
            return eval_undefined(ev, &s[i]);
    return 0;
}

static void eval_name(struct eval *ev, struct str name, struct slot *ret)
{
    for (const struct expr_scope *s = ev->view; s; s = s->outer)
        for (uint32_t i = s->n; i-- > 0;)
            if (str_eq(s->vars[i].name, name)) {
                *ret = (struct slot){.v = s->vars[i].v, .pc = ev->pc};
                return;
            }
    *ret = (struct slot){.pc = ev->pc};
}

static int make_list(struct eval *ev, const struct slot *at, uint32_t n, struct slot *ret)
{
    struct value *list;
    int rc = take(ev, at, n);
    if (rc >= 0)
        rc = eval_list(ev, n, &list);
    if (rc < 0)
        return rc;
    for (uint32_t i = 0; i < n; i++)
        eval_list_put(list, at[i].v);
    return give_value(ev, list, ret);
}

static int make_map(struct eval *ev, const struct slot *at, uint32_t n, struct slot *ret)
{
    int rc = take(ev, at, 2 * n);
    if (rc >= 0)
        rc = eval_bytes(ev, sizeof(struct value));
    if (rc < 0)
        return rc;
    struct value *map = value_map(ev->mem);
    for (uint32_t i = 0; i < n && rc >= 0; i++) {
        const struct value *key = at[2 * i].v;
        rc = key->kind == VALUE_STRING ? eval_map_put(ev, map, value_as_str(key), at[2 * i + 1].v)
                                       : eval_wrong(ev, key, "a key of a map", "text");
    }
    return rc < 0 ? rc : give_value(ev, map, ret);
}

static int make_concat(struct eval *ev, const struct slot *at, uint32_t n, struct slot *ret)
{
    SCOPED_BUF(text);
    int rc = take(ev, at, n);
    for (uint32_t i = 0; i < n && rc >= 0; i++)
        rc = show_write(ev, &text, at[i].v, false);
    return rc < 0 ? rc : give_text(ev, buf_str(&text), ret);
}

/* Slots that an instruction takes off the stack. */
static uint32_t operands(const struct expr *x, const struct instr *i)
{
    switch ((enum op)i->op) {
    case OP_CONST:
    case OP_NAME:
    case OP_LOCAL:
    case OP_ONCE:
    case OP_FORM:
    case OP_JUMP:
    case OP_NOTHING: return 0;
    case OP_ATTR:
    case OP_NEG:
    case OP_POS:
    case OP_NOT:
    case OP_AND:
    case OP_OR:
    case OP_EACH:
    case OP_UNLESS: return 1;
    case OP_ITEM:
    case OP_ARITH:
    case OP_COMPARE:
    case OP_CHAIN: return 2;
    case OP_SLICE: return 4;
    case OP_LIST:
    case OP_CONCAT: return (uint32_t)i->a;
    case OP_MAP: return 2 * (uint32_t)i->a;
    case OP_CALL: return x->calls[i->a].n;
    }
    return 0;
}

/* Everything that makes one value of the slots at `at`. */
static int eval_make(struct eval *ev, const struct instr *i, struct slot *at, struct slot *ret)
{
    enum op op = (enum op)i->op;
    int rc = 0;
    bool yes = false;
    if (op == OP_ATTR || op == OP_ITEM || op == OP_NEG || op == OP_POS || op == OP_NOT ||
        op == OP_ARITH || op == OP_COMPARE || op == OP_SLICE)
        rc = take(ev, at, operands(ev->x, i));
    if (rc < 0)
        return rc;
    switch (op) {
    case OP_CONST: return give_value(ev, &ev->x->consts[i->a], ret);
    case OP_NAME: eval_name(ev, ev->x->names[i->a], ret); return 0;
    case OP_LOCAL: return give_value(ev, ev->locals[i->a], ret);
    case OP_NOTHING: return give_undefined(ev, ret);
    case OP_ATTR: eval_member(ev, at[0].v, ev->x->names[i->a], ret); return 0;
    case OP_ITEM: return eval_item(ev, at[0].v, at[1].v, ret);
    case OP_SLICE: return ops_slice(ev, at, ret);
    case OP_LIST: return make_list(ev, at, (uint32_t)i->a, ret);
    case OP_MAP: return make_map(ev, at, (uint32_t)i->a, ret);
    case OP_CONCAT: return make_concat(ev, at, (uint32_t)i->a, ret);
    case OP_NEG:
    case OP_POS: return ops_negate(ev, op == OP_NEG, at[0].v, ret);
    case OP_NOT: return give_bool(ev, !ops_truth(at[0].v), ret);
    case OP_ARITH: return ops_arith(ev, (enum token_kind)i->sub, at[0].v, at[1].v, ret);
    case OP_COMPARE:
        rc = ops_relation(ev, (enum relation)i->sub, at[0].v, at[1].v, &yes);
        return rc < 0 ? rc : give_bool(ev, yes, ret);
    case OP_CALL: return eval_call(ev, &ev->x->calls[i->a], at, ret);
    case OP_ONCE:
    case OP_EACH:
    case OP_FORM:
    case OP_CHAIN:
    case OP_JUMP:
    case OP_AND:
    case OP_OR:
    case OP_UNLESS: break;
    }
    assert(!"jumps and blocks are not for here");
    return 0;
}

/* A jump; *ret_n is how much of the stack stays.  1: jump. */
static int eval_jump(struct eval *ev, const struct instr *i, struct slot *top, uint32_t *n)
{
    enum op op = (enum op)i->op;
    bool yes = false;
    if (op == OP_JUMP)
        return 1;
    if (op == OP_CHAIN) {
        int rc = take(ev, top - 1, 2);
        if (rc >= 0)
            rc = ops_relation(ev, (enum relation)i->sub, top[-1].v, top[0].v, &yes);
        if (rc < 0)
            return rc;
        --*n;
        if (yes) {
            top[-1] = top[0];
            return 0;
        }
        (void)give_bool(ev, false, top - 1);
        return 1;
    }
    int rc = take(ev, top, 1);
    if (rc < 0)
        return rc;
    bool jump = ops_truth(top->v) == (op == OP_OR);
    if (!jump || op == OP_UNLESS)
        --*n;
    return jump;
}

static bool is_jump(enum op op)
{
    return op == OP_JUMP || op == OP_CHAIN || op == OP_AND || op == OP_OR || op == OP_UNLESS;
}

/* With a memo only. */
static int eval_once(struct eval *ev, const struct instr *i, uint32_t n, struct slot *ret,
                     uint32_t *ret_skip)
{
    int64_t keep = -1;
    uint32_t begin = ev->pc + 1, end = begin + ev->x->onces[i->a].n_code;
    *ret_skip = end - begin;
    if (eval_memo_get(ev, (uint32_t)i->a, ret, &keep))
        return 0;
    int rc = eval_block(ev, begin, end, n, ret);
    if (rc >= 0 && keep >= 0 && ret->v)
        eval_memo_put(ev, keep, ret->v);
    return rc;
}

/* What runs the code behind it; *ret_skip is how much of it there is. */
static int eval_blocks(struct eval *ev, const struct instr *i, struct slot *at, uint32_t n,
                       struct slot *ret, uint32_t *ret_skip)
{
    if (i->op == OP_FORM) {
        *ret_skip = (uint32_t)i->a;
        return eval_form(ev, (enum form)i->sub, (uint32_t)i->a, n, ret);
    }
    if (i->op == OP_ONCE)
        return eval_once(ev, i, n, ret, ret_skip);
    const struct loop *l = &ev->x->loops[i->a];
    *ret_skip = l->n_cond + l->n_item;
    return eval_loop(ev, l, at, n, ret);
}

int eval_block(struct eval *ev, uint32_t from, uint32_t to, uint32_t used, struct slot *ret)
{
    struct slot *stack = ev->stack;
    uint32_t n = used;
    for (uint32_t pc = from; pc < to;) {
        const struct instr *i = &ev->x->code[pc];
        ev->pc = pc;
        int rc = eval_steps(ev, 1);
        if (rc < 0)
            return rc;
        if (i->op == OP_ONCE && !ev->memo) {
            pc++; /* the code behind it is as good as any */
            continue;
        }
        if (is_jump((enum op)i->op)) {
            rc = eval_jump(ev, i, stack + n - 1, &n);
            pc += rc == 1 ? (uint32_t)i->a : 1;
        } else {
            uint32_t pops = operands(ev->x, i), skip = 0;
            struct slot made = {0};
            assert(pops <= n && n - pops < ev->x->max_stack);
            rc = i->op == OP_EACH || i->op == OP_FORM || i->op == OP_ONCE
                     ? eval_blocks(ev, i, stack + n - pops, n, &made, &skip)
                     : eval_make(ev, i, stack + n - pops, &made);
            n -= pops;
            stack[n++] = made;
            pc += 1 + skip;
        }
        if (rc < 0)
            return rc;
    }
    assert(n == used + 1);
    *ret = stack[used];
    return 0;
}

static int eval_begin(const struct expr *x, const struct expr_scope *scope, struct arena *mem,
                      bool defined, struct slot *ret, struct err *e)
{
    enum { SMALL = 32 };
    struct slot small[SMALL];
    const struct value *locals[EXPR_MAX_DEPTH]; /* each is set before it is read */
    struct expr_budget *budget = scope ? scope->budget : NULL;
    struct eval ev = {.x = x, .scope = scope, .view = scope, .locals = locals, .mem = mem, .e = e};
    ev.memo = scope ? scope->memo : NULL;
    ev.bytes_from = mem->total_bytes;
    ev.max_steps = budget ? budget->steps : EXPR_MAX_STEPS;
    ev.max_bytes = budget ? budget->bytes : EXPR_MAX_BYTES;
    struct slot *stack = x->max_stack > SMALL ? xcalloc(x->max_stack, sizeof *stack) : small;
    struct slot made;
    ev.stack = stack;
    int rc = eval_block(&ev, 0, x->n_code, 0, &made);
    if (rc >= 0 && defined && !made.v)
        rc = eval_undefined(&ev, &made);
    if (stack != small)
        free(stack);
    if (ev.patterns)
        eval_patterns_free(ev.patterns);
    if (budget) {
        budget->steps -= ev.steps;
        budget->bytes = eval_bytes_left(&ev);
    }
    if (rc >= 0)
        *ret = made;
    return rc < 0 ? rc : 0;
}

int expr_eval(const struct expr *x, const struct expr_scope *scope, struct arena *mem,
              const struct value **ret_v, struct err *e)
{
    struct slot made;
    int rc = eval_begin(x, scope, mem, false, &made, e);
    if (rc >= 0)
        *ret_v = made.v;
    return rc;
}

int expr_eval_defined(const struct expr *x, const struct expr_scope *scope, struct arena *mem,
                      const struct value **ret_v, struct err *e)
{
    struct slot made;
    int rc = eval_begin(x, scope, mem, true, &made, e);
    if (rc >= 0)
        *ret_v = made.v;
    return rc;
}

int expr_eval_truth(const struct expr *x, const struct expr_scope *scope, struct err *e)
{
    SCOPED_ARENA(mem);
    struct slot made;
    int rc = eval_begin(x, scope, &mem, true, &made, e);
    return rc < 0 ? rc : ops_truth(made.v);
}
