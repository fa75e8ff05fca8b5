/* filter_number.c - filters that make or take numbers, and range() */
/* SPDX-License-Identifier: Apache-2.0 */
#include "template/expr.h"
#include "template/expr_i.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/text.h"

/* The whole part of a real, if it fits. */
static bool whole_of(double r, int64_t *ret_i)
{
    if (!(r > -9223372036854775809.0 && r < 9223372036854775808.0))
        return false;
    *ret_i = (int64_t)r;
    return true;
}

static int64_t int_of(const struct value *v)
{
    return v->kind == VALUE_BOOL ? v->b : v->i;
}

static bool is_whole(const struct value *v)
{
    return v->kind == VALUE_INT || v->kind == VALUE_BOOL;
}

static int large(struct eval *ev)
{
    return eval_fail(ev, ERR_INVALID, "the result does not fit 64 bits");
}

int expr_filter_int(struct eval *ev, const struct slot *args, uint32_t n, struct slot *ret)
{
    (void)n;
    const struct value *v = args[0].v;
    int64_t i = 0, base = 10;
    double r;
    if (args[2].v) {
        if (args[2].v->kind != VALUE_INT)
            return eval_wrong(ev, args[2].v, "base", "an integer");
        base = args[2].v->i;
        if (base != 0 && (base < 2 || base > 36))
            return eval_fail(ev, ERR_INVALID, "base must be 0 or from 2 to 36");
    }
    if (v->kind == VALUE_STRING) {
        enum read_int read = chars_read_int(value_as_str(v), (uint32_t)base, &i);
        if (read == READ_INT_OK)
            return give_int(ev, i, ret);
        if (read == READ_INT_LARGE)
            return large(ev);
        if (chars_read_real(value_as_str(v), &r))
            return whole_of(r, &i) ? give_int(ev, i, ret) : large(ev);
    } else if (is_whole(v)) {
        return give_int(ev, int_of(v), ret);
    } else if (v->kind == VALUE_REAL) {
        return whole_of(v->r, &i) ? give_int(ev, i, ret) : large(ev);
    }
    return args[1].v ? give_value(ev, args[1].v, ret) : give_int(ev, 0, ret);
}

int expr_filter_float(struct eval *ev, const struct slot *args, uint32_t n, struct slot *ret)
{
    (void)n;
    const struct value *v = args[0].v;
    double r;
    if (v->kind == VALUE_REAL)
        return give_value(ev, v, ret);
    if (is_whole(v))
        return give_real(ev, (double)int_of(v), ret);
    if (v->kind == VALUE_STRING && chars_read_real(value_as_str(v), &r))
        return give_real(ev, r, ret);
    return args[1].v ? give_value(ev, args[1].v, ret) : give_real(ev, 0, ret);
}

int expr_filter_bool(struct eval *ev, const struct slot *args, uint32_t n, struct slot *ret)
{
    (void)n;
    static const char *const words[] = {"true", "yes", "on", "1", "false", "no", "off", "0", ""};
    enum { TRUE_WORDS = 4 };
    const struct value *v = args[0].v;
    if (v->kind == VALUE_NULL || ops_is_number(v))
        return give_bool(ev, ops_truth(v), ret);
    if (v->kind != VALUE_STRING)
        return eval_wrong(ev, v, "value", "a boolean, a number or text");
    struct str s = chars_trim(value_as_str(v));
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (s.n == strlen(words[i]) && strncasecmp(s.s, words[i], s.n) == 0)
            return give_bool(ev, i < TRUE_WORDS, ret);
    return eval_fail(ev, ERR_INVALID, "\"%.*s\" is neither true nor false", expr_shown(s), s.s);
}

int expr_filter_abs(struct eval *ev, const struct slot *args, uint32_t n, struct slot *ret)
{
    (void)n;
    const struct value *v = args[0].v;
    if (v->kind == VALUE_REAL)
        return give_real(ev, fabs(v->r), ret);
    if (!is_whole(v))
        return eval_wrong(ev, v, "value", "a number");
    return ops_negate(ev, int_of(v) < 0, v, ret);
}

/* --- round --- */

/* Half goes to the even neighbour, as in Python. */
static int round_int(struct eval *ev, int64_t i, int64_t precision, struct slot *ret)
{
    int64_t unit = 1;
    if (precision >= 0)
        return give_int(ev, i, ret);
    for (; precision < 0; precision++)
        if (__builtin_mul_overflow(unit, 10, &unit))
            return give_int(ev, 0, ret);
    int64_t rest = i % unit, base = i - rest, up = rest < 0 ? -unit : unit;
    int64_t past = rest < 0 ? -rest : rest, left = unit - past;
    bool away = past > left || (past == left && (base / unit) % 2 != 0);
    if (away && __builtin_add_overflow(base, up, &base))
        return large(ev);
    return give_int(ev, base, ret);
}

/* Printing rounds the exact value of a double; reading it back gives the nearest one. */
static double round_digits(double r, int precision)
{
    char text[400 + 340];
    if (precision > 340)
        return r;
    snprintf(text, sizeof text, "%.*f", precision, r);
    return strtod(text, NULL);
}

static double round_tens(double r, int tens)
{
    if (tens > 308)
        return copysign(0.0, r);
    double unit = pow(10, tens), rest = fmod(r, unit), base = r - rest;
    double half = unit / 2, past = fabs(rest);
    if (past > half || (past == half && fmod(base / unit, 2) != 0))
        base += copysign(unit, r);
    return base;
}

int expr_filter_round(struct eval *ev, const struct slot *args, uint32_t n, struct slot *ret)
{
    (void)n;
    const struct value *v = args[0].v;
    int64_t precision = 0;
    struct str method = {"common", 6};
    if (!ops_is_number(v))
        return eval_wrong(ev, v, "value", "a number");
    if (args[1].v && args[1].v->kind != VALUE_INT)
        return eval_wrong(ev, args[1].v, "precision", "an integer");
    if (args[1].v)
        precision = args[1].v->i < -400 ? -400 : args[1].v->i > 400 ? 400 : args[1].v->i;
    if (args[2].v)
        method = value_as_str(args[2].v);
    if (str_is(method, "common")) {
        if (is_whole(v))
            return round_int(ev, int_of(v), precision, ret);
        return give_real(ev,
                         precision < 0 ? round_tens(v->r, (int)-precision)
                                       : round_digits(v->r, (int)precision),
                         ret);
    }
    if (!str_is(method, "ceil") && !str_is(method, "floor"))
        return eval_fail(ev, ERR_INVALID, "method must be common, ceil or floor");
    double unit = pow(10, (double)precision), r = v->kind == VALUE_REAL ? v->r : (double)int_of(v);
    double scaled = r * unit;
    return give_real(ev, (str_is(method, "ceil") ? ceil(scaled) : floor(scaled)) / unit, ret);
}

/* --- range --- */

int expr_fn_range(struct eval *ev, const struct slot *args, uint32_t n, struct slot *ret)
{
    (void)n;
    static const char *const names[] = {"start", "stop", "step"};
    int64_t at[3] = {0, 0, 1};
    for (int i = 0; i < 3; i++) {
        if (args[i].v && !is_whole(args[i].v))
            return eval_wrong(ev, args[i].v, names[i], "an integer");
        at[i] = args[i].v ? int_of(args[i].v) : at[i];
    }
    if (!args[1].v) { /* range(stop) */
        at[1] = at[0];
        at[0] = 0;
    }
    if (at[2] == 0)
        return eval_fail(ev, ERR_INVALID, "step cannot be 0");
    uint64_t wide = at[2] > 0 ? (uint64_t)at[2] : 0 - (uint64_t)at[2];
    uint64_t span = at[2] > 0 ? (uint64_t)at[1] - (uint64_t)at[0]
                              : (uint64_t)at[0] - (uint64_t)at[1];
    bool empty = at[2] > 0 ? at[0] >= at[1] : at[0] <= at[1];
    uint64_t count = empty ? 0 : (span - 1) / wide + 1;
    struct value *list;
    int rc = eval_list(ev, count < UINT32_MAX ? (uint32_t)count : UINT32_MAX, &list);
    if (rc < 0)
        return rc;
    for (uint64_t i = 0; i < count; i++)
        eval_list_put(list, &(struct value){.kind = VALUE_INT,
                                            .i = (int64_t)((uint64_t)at[0] + i * (uint64_t)at[2])});
    return give_value(ev, list, ret);
}
