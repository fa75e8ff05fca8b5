/* expr_ops.c - operators on values, by Python's rules
 *
 * Booleans count as 0 and 1, integers and reals compare by what they are worth and not by what a
 * double makes of them, // and % round towards minus infinity, / gives a real.  Where Python would
 * go on with larger integers or with infinity this is an error: an int64 that overflows silently is
 * how an address ends up in the wrong network.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "template/expr.h"
#include "template/expr_i.h"

#include <assert.h>
#include <math.h>

bool ops_truth(const struct value *v)
{
    switch ((enum value_kind)v->kind) {
    case VALUE_NULL: return false;
    case VALUE_BOOL: return v->b;
    case VALUE_INT: return v->i != 0;
    case VALUE_REAL: return v->r != 0;
    case VALUE_STRING:
    case VALUE_LIST:
    case VALUE_MAP: return v->n != 0;
    case VALUE_KIND_COUNT: break;
    }
    return false;
}

bool ops_is_number(const struct value *v)
{
    return v->kind == VALUE_INT || v->kind == VALUE_REAL || v->kind == VALUE_BOOL;
}

static int64_t int_of(const struct value *v)
{
    return v->kind == VALUE_BOOL ? v->b : v->i;
}

static double real_of(const struct value *v)
{
    return v->kind == VALUE_REAL ? v->r : (double)int_of(v);
}

/* --- comparing --- */

/* -1, 0 or 1; exact, though a double cannot hold every int64. */
static int order_int_real(int64_t i, double r)
{
    if (r >= 9223372036854775808.0)
        return -1;
    if (r < -9223372036854775808.0)
        return 1;
    double whole = trunc(r);
    int64_t w = (int64_t)whole;
    if (i != w)
        return i < w ? -1 : 1;
    return r > whole ? -1 : r < whole ? 1 : 0;
}

static int order_numbers(const struct value *a, const struct value *b)
{
    if (a->kind == VALUE_REAL && b->kind == VALUE_REAL)
        return a->r < b->r ? -1 : a->r > b->r;
    if (a->kind == VALUE_REAL)
        return -order_int_real(int_of(b), a->r);
    if (b->kind == VALUE_REAL)
        return order_int_real(int_of(a), b->r);
    return int_of(a) < int_of(b) ? -1 : int_of(a) > int_of(b);
}

static int too_deep(struct eval *ev)
{
    return eval_fail(ev, ERR_LIMIT, "a value nested deeper than the limit of %d", EXPR_MAX_TREE);
}

/* The member of that name; two states of one map mostly have it in the same place. */
static const struct value *member_like(const struct value *map, uint32_t at, const struct member *m)
{
    const struct member *same = &map->members[at];
    if (same->key_n == m->key_n && memcmp(same->key, m->key, m->key_n) == 0)
        return &same->v;
    return value_get_str(map, (struct str){m->key, m->key_n});
}

static int equal_at(struct eval *ev, const struct value *a, const struct value *b, unsigned depth,
                    bool *ret)
{
    int rc = eval_steps(ev, 1);
    if (rc < 0)
        return rc;
    *ret = true;
    if (a == b)
        return 0;
    if (ops_is_number(a) && ops_is_number(b)) {
        *ret = order_numbers(a, b) == 0;
        return 0;
    }
    *ret = a->kind == b->kind && a->n == b->n;
    if (!*ret || a->kind == VALUE_NULL)
        return 0;
    if (a->kind == VALUE_STRING) {
        *ret = str_eq(value_as_str(a), value_as_str(b));
        return eval_steps(ev, a->n / 256);
    }
    if (a->items == b->items) /* copies of one value share what it holds */
        return 0;
    if (depth == EXPR_MAX_TREE)
        return too_deep(ev);
    for (uint32_t i = 0; i < a->n && *ret && rc >= 0; i++) {
        if (a->kind == VALUE_LIST) {
            rc = equal_at(ev, &a->items[i], &b->items[i], depth + 1, ret);
            continue;
        }
        const struct member *m = &a->members[i];
        const struct value *other = member_like(b, i, m);
        *ret = other != NULL;
        if (other)
            rc = equal_at(ev, &m->v, other, depth + 1, ret);
    }
    return rc;
}

int ops_equal(struct eval *ev, const struct value *a, const struct value *b, bool *ret)
{
    return equal_at(ev, a, b, 0, ret);
}

static int order_at(struct eval *ev, const struct value *a, const struct value *b, unsigned depth,
                    int *ret)
{
    int rc = eval_steps(ev, 1);
    if (rc < 0)
        return rc;
    if (ops_is_number(a) && ops_is_number(b)) {
        *ret = order_numbers(a, b);
        return 0;
    }
    if (a->kind == VALUE_STRING && b->kind == VALUE_STRING) {
        *ret = str_cmp(value_as_str(a), value_as_str(b));
        return eval_steps(ev, (a->n < b->n ? a->n : b->n) / 256);
    }
    if (a->kind != VALUE_LIST || b->kind != VALUE_LIST)
        return eval_fail(ev, ERR_INVALID, "%s and %s have no order", show_kind(a), show_kind(b));
    if (depth == EXPR_MAX_TREE)
        return too_deep(ev);
    for (uint32_t i = 0; i < a->n && i < b->n; i++) {
        bool same; /* only what differs must have an order */
        rc = equal_at(ev, &a->items[i], &b->items[i], depth + 1, &same);
        if (rc < 0)
            return rc;
        if (!same)
            return order_at(ev, &a->items[i], &b->items[i], depth + 1, ret);
    }
    *ret = a->n < b->n ? -1 : a->n > b->n;
    return 0;
}

int ops_order(struct eval *ev, const struct value *a, const struct value *b, int *ret)
{
    return order_at(ev, a, b, 0, ret);
}

static int contains(struct eval *ev, const struct value *what, const struct value *in, bool *ret)
{
    int rc = 0;
    *ret = false;
    if (in->kind == VALUE_MAP) {
        if (what->kind == VALUE_LIST || what->kind == VALUE_MAP)
            return eval_fail(ev, ERR_INVALID, "%s cannot be a key", show_kind(what));
        *ret = what->kind == VALUE_STRING && value_get_str(in, value_as_str(what));
        return 0;
    }
    if (in->kind == VALUE_STRING) {
        if (what->kind != VALUE_STRING)
            return eval_wrong(ev, what, "what may be in text", "text");
        *ret = memmem(in->s, in->n, what->s, what->n) != NULL;
        return eval_steps_text(ev, in->n);
    }
    if (in->kind != VALUE_LIST)
        return eval_wrong(ev, in, "what is behind \"in\"", "a list, a map or text");
    for (uint32_t i = 0; i < in->n && !*ret && rc >= 0; i++)
        rc = ops_equal(ev, what, &in->items[i], ret);
    return rc;
}

int ops_relation(struct eval *ev, enum relation r, const struct value *a, const struct value *b,
                 bool *ret)
{
    int order = 0, rc;
    if (r == REL_IN || r == REL_NOT_IN)
        rc = contains(ev, a, b, ret);
    else if (r == REL_EQ || r == REL_NE)
        rc = ops_equal(ev, a, b, ret);
    else
        rc = ops_order(ev, a, b, &order);
    if (rc < 0)
        return rc;
    switch (r) {
    case REL_EQ:
    case REL_IN: break;
    case REL_NE:
    case REL_NOT_IN: *ret = !*ret; break;
    case REL_LT: *ret = order < 0; break;
    case REL_LE: *ret = order <= 0; break;
    case REL_GT: *ret = order > 0; break;
    case REL_GE: *ret = order >= 0; break;
    }
    return 0;
}

/* --- arithmetic --- */

static int overflow(struct eval *ev)
{
    return eval_fail(ev, ERR_INVALID, "the result does not fit 64 bits");
}

static int by_zero(struct eval *ev)
{
    return eval_fail(ev, ERR_INVALID, "division by zero");
}

static int power_int(struct eval *ev, int64_t base, int64_t n, struct slot *ret)
{
    int64_t product = 1;
    bool fits = true;
    while (n > 0 && fits) {
        if (n & 1)
            fits = !__builtin_mul_overflow(product, base, &product);
        n >>= 1;
        if (n && fits)
            fits = !__builtin_mul_overflow(base, base, &base);
    }
    return fits ? give_int(ev, product, ret) : overflow(ev);
}

static int arith_int(struct eval *ev, enum token_kind op, int64_t a, int64_t b, struct slot *ret)
{
    int64_t r;
    if (op == TOKEN_ADD)
        return __builtin_add_overflow(a, b, &r) ? overflow(ev) : give_int(ev, r, ret);
    if (op == TOKEN_SUB)
        return __builtin_sub_overflow(a, b, &r) ? overflow(ev) : give_int(ev, r, ret);
    if (op == TOKEN_MUL)
        return __builtin_mul_overflow(a, b, &r) ? overflow(ev) : give_int(ev, r, ret);
    if (op == TOKEN_POW && b >= 0)
        return power_int(ev, a, b, ret);
    if (op == TOKEN_POW)
        return a == 0 ? by_zero(ev) : give_real(ev, pow((double)a, (double)b), ret);
    if (b == 0)
        return by_zero(ev);
    if (op == TOKEN_DIV)
        return give_real(ev, (double)((long double)a / (long double)b), ret);
    if (b == -1) /* INT64_MIN / -1 is a trap, not a number */
        return op == TOKEN_MOD                    ? give_int(ev, 0, ret)
               : __builtin_sub_overflow(0, a, &r) ? overflow(ev)
                                                  : give_int(ev, r, ret);
    int64_t rest = a % b;
    bool down = rest && (rest < 0) != (b < 0);
    return give_int(ev, op == TOKEN_MOD ? rest + (down ? b : 0) : a / b - down, ret);
}

static int arith_real(struct eval *ev, enum token_kind op, double a, double b, struct slot *ret)
{
    if (op == TOKEN_ADD)
        return give_real(ev, a + b, ret);
    if (op == TOKEN_SUB)
        return give_real(ev, a - b, ret);
    if (op == TOKEN_MUL)
        return give_real(ev, a * b, ret);
    if (op == TOKEN_POW) {
        if (a == 0 && b < 0)
            return by_zero(ev);
        return give_real(ev, pow(a, b), ret);
    }
    if (b == 0)
        return by_zero(ev);
    if (op == TOKEN_DIV)
        return give_real(ev, a / b, ret);
    /* The quotient is made from the remainder, which is exact, so that both agree. */
    double rest = fmod(a, b), quotient = (a - rest) / b;
    if (rest != 0) {
        if ((rest < 0) != (b < 0)) {
            rest += b;
            quotient -= 1;
        }
    } else {
        rest = copysign(0.0, b);
    }
    if (op == TOKEN_MOD)
        return give_real(ev, rest, ret);
    if (quotient == 0)
        return give_real(ev, copysign(0.0, a / b), ret);
    double whole = floor(quotient);
    return give_real(ev, quotient - whole > 0.5 ? whole + 1 : whole, ret);
}

/* text * n and list * n */
static int repeat(struct eval *ev, const struct value *v, int64_t times, struct slot *ret)
{
    uint64_t n = times > 0 ? (uint64_t)times : 0, all;
    if (__builtin_mul_overflow(n, (uint64_t)v->n, &all) || all > UINT32_MAX)
        all = UINT32_MAX; /* past every budget */
    if (v->kind == VALUE_STRING) {
        SCOPED_BUF(text);
        int rc = eval_bytes(ev, all);
        if (rc >= 0)
            rc = eval_steps_text(ev, all);
        while (rc >= 0 && text.len < all)
            buf_put(&text, v->s, v->n);
        return rc < 0 ? rc : give_text(ev, buf_str(&text), ret);
    }
    struct value *list;
    int rc = eval_list(ev, (uint32_t)all, &list);
    if (rc < 0)
        return rc;
    while (list->n < all)
        eval_list_put(list, &v->items[list->n % v->n]);
    return give_value(ev, list, ret);
}

static int join_two(struct eval *ev, const struct value *a, const struct value *b, struct slot *ret)
{
    if (a->kind == VALUE_STRING) {
        SCOPED_BUF(text);
        int rc = eval_bytes(ev, (size_t)a->n + b->n);
        if (rc < 0)
            return rc;
        buf_put(&text, a->s, a->n);
        buf_put(&text, b->s, b->n);
        return give_text(ev, buf_str(&text), ret);
    }
    struct value *list;
    if ((uint64_t)a->n + b->n >= UINT32_MAX)
        return eval_bytes(ev, SIZE_MAX);
    int rc = eval_list(ev, a->n + b->n, &list);
    if (rc < 0)
        return rc;
    for (uint32_t i = 0; i < a->n; i++)
        eval_list_put(list, &a->items[i]);
    for (uint32_t i = 0; i < b->n; i++)
        eval_list_put(list, &b->items[i]);
    return give_value(ev, list, ret);
}

static bool is_sequence(const struct value *v)
{
    return v->kind == VALUE_STRING || v->kind == VALUE_LIST;
}

static bool is_whole(const struct value *v)
{
    return v->kind == VALUE_INT || v->kind == VALUE_BOOL;
}

int ops_arith(struct eval *ev, enum token_kind op, const struct value *a, const struct value *b,
              struct slot *ret)
{
    if (is_whole(a) && is_whole(b))
        return arith_int(ev, op, int_of(a), int_of(b), ret);
    if (ops_is_number(a) && ops_is_number(b))
        return arith_real(ev, op, real_of(a), real_of(b), ret);
    if (op == TOKEN_ADD && is_sequence(a) && a->kind == b->kind)
        return join_two(ev, a, b, ret);
    if (op == TOKEN_MUL && is_sequence(a) && is_whole(b))
        return repeat(ev, a, int_of(b), ret);
    if (op == TOKEN_MUL && is_sequence(b) && is_whole(a))
        return repeat(ev, b, int_of(a), ret);
    const struct instr *i = &ev->x->code[ev->pc];
    bool twice = op == TOKEN_POW || op == TOKEN_FLOORDIV;
    if (ev->quiet)
        return -ERR_INVALID;
    int rc = err_set(ev->e, ERR_INVALID, "%.*s cannot be applied to %s and %s", twice ? 2 : 1,
                     ev->x->src.text.s + i->pos, show_kind(a), show_kind(b));
    if (op == TOKEN_ADD && (a->kind == VALUE_STRING || b->kind == VALUE_STRING))
        (void)err_hint(ev->e, "~ joins texts of anything");
    return expr_point(&ev->x->src, i->pos, rc, ev->e);
}

int ops_negate(struct eval *ev, bool minus, const struct value *v, struct slot *ret)
{
    int64_t r;
    if (!ops_is_number(v))
        return eval_wrong(ev, v, "what has a sign", "a number");
    if (v->kind == VALUE_REAL)
        return give_real(ev, minus ? -v->r : v->r, ret);
    if (!minus)
        return give_int(ev, int_of(v), ret);
    return __builtin_sub_overflow(0, int_of(v), &r) ? overflow(ev) : give_int(ev, r, ret);
}

/* --- slices --- */

/* A bound brought into [low, high], as Python does. */
static int64_t slice_bound(const struct value *v, int64_t n, int64_t otherwise, int64_t low,
                           int64_t high)
{
    if (v->kind == VALUE_NULL)
        return otherwise;
    int64_t i = int_of(v);
    if (i < 0)
        i = i < -n ? low : i + n;
    return i < low ? low : i > high ? high : i;
}

struct slice {
    int64_t start, step;
    uint32_t count;
};

static int slice_list(struct eval *ev, const struct value *of, struct slice s, struct slot *ret)
{
    struct value *list;
    int rc = eval_list(ev, s.count, &list);
    if (rc < 0)
        return rc;
    for (int64_t k = 0; k < s.count; k++)
        eval_list_put(list, &of->items[s.start + k * s.step]);
    return give_value(ev, list, ret);
}

static int slice_text(struct eval *ev, const struct value *of, struct slice s, struct slot *ret)
{
    SCOPED_BUF(text);
    VEC(uint32_t) at = {0}; /* where each character begins, and the end */
    for (uint32_t i = 0; i < of->n;) {
        size_t len;
        chars_at((struct str){of->s + i, of->n - i}, &len);
        vec_push(&at, i);
        i += (uint32_t)len;
    }
    vec_push(&at, of->n);
    for (int64_t k = 0; k < s.count; k++) {
        uint32_t from = at.at[s.start + k * s.step], to = at.at[s.start + k * s.step + 1];
        buf_put(&text, of->s + from, to - from);
    }
    vec_done(&at);
    return give_text(ev, buf_str(&text), ret);
}

/* Container, start, stop, step. */
int ops_slice(struct eval *ev, const struct slot *at, struct slot *ret)
{
    const struct value *of = at[0].v;
    for (int i = 1; i <= 3; i++)
        if (at[i].v->kind != VALUE_NULL && !is_whole(at[i].v))
            return eval_wrong(ev, at[i].v, "a bound of a slice", "an integer");
    if (!is_sequence(of))
        return eval_wrong(ev, of, "what is cut", "a list or text");
    int64_t step = at[3].v->kind == VALUE_NULL ? 1 : int_of(at[3].v);
    if (step == 0)
        return eval_fail(ev, ERR_INVALID, "the step of a slice cannot be 0");
    int rc = eval_steps_text(ev, of->n);
    if (rc < 0)
        return rc;
    int64_t n = of->kind == VALUE_LIST ? of->n : (int64_t)chars_count(value_as_str(of));
    int64_t low = step > 0 ? 0 : -1, high = step > 0 ? n : n - 1;
    int64_t start = slice_bound(at[1].v, n, step > 0 ? 0 : n - 1, low, high);
    int64_t stop = slice_bound(at[2].v, n, step > 0 ? n : -1, low, high);
    uint64_t wide = step > 0 ? (uint64_t)step : 0 - (uint64_t)step;
    int64_t span = step > 0 ? stop - start : start - stop;
    struct slice s = {start, step, span <= 0 ? 0 : (uint32_t)(((uint64_t)span - 1) / wide + 1)};
    return of->kind == VALUE_LIST ? slice_list(ev, of, s, ret) : slice_text(ev, of, s, ret);
}
