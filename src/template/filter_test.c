/* filter_test.c - tests: what comes behind `is`, and what select() asks */
/* SPDX-License-Identifier: Apache-2.0 */
#include "template/expr.h"
#include "template/expr_i.h"

static bool many(const struct value *v)
{
    return v->kind == VALUE_STRING || v->kind == VALUE_LIST || v->kind == VALUE_MAP;
}

/* A question about what kind of thing the subject is.  What is undefined is of no kind. */
#define KIND_TEST(name, answer)                                                                    \
    int expr_test_##name(struct eval *ev, const struct slot *args, uint32_t n, struct slot *ret)   \
    {                                                                                              \
        (void)n;                                                                                   \
        const struct value *v = args[0].v;                                                         \
        return give_bool(ev, (answer), ret);                                                       \
    }
KIND_TEST(defined, v != NULL)
KIND_TEST(undefined, v == NULL)
KIND_TEST(none, value_is(v, VALUE_NULL))
KIND_TEST(boolean, value_is(v, VALUE_BOOL))
KIND_TEST(true, value_is(v, VALUE_BOOL) && v->b)
KIND_TEST(false, value_is(v, VALUE_BOOL) && !v->b)
KIND_TEST(number, v &&ops_is_number(v)) /* a boolean is one, as in Python */
KIND_TEST(integer, value_is(v, VALUE_INT))
KIND_TEST(float, value_is(v, VALUE_REAL))
KIND_TEST(string, value_is(v, VALUE_STRING))
KIND_TEST(mapping, value_is(v, VALUE_MAP))
KIND_TEST(sequence, v &&many(v))
KIND_TEST(iterable, many(v))

/* The operators by name. */
#define RELATION_TEST(name, relation)                                                              \
    int expr_test_##name(struct eval *ev, const struct slot *args, uint32_t n, struct slot *ret)   \
    {                                                                                              \
        (void)n;                                                                                   \
        bool yes = false;                                                                          \
        int rc = ops_relation(ev, (relation), args[0].v, args[1].v, &yes);                         \
        return rc < 0 ? rc : give_bool(ev, yes, ret);                                              \
    }
RELATION_TEST(eq, REL_EQ)
RELATION_TEST(ne, REL_NE)
RELATION_TEST(lt, REL_LT)
RELATION_TEST(le, REL_LE)
RELATION_TEST(gt, REL_GT)
RELATION_TEST(ge, REL_GE)
RELATION_TEST(in, REL_IN)

/* Is value % num equal to `rest`? */
static int leaves(struct eval *ev, const struct value *v, const struct value *num, int64_t rest,
                  struct slot *ret)
{
    bool same = false;
    struct slot left;
    int rc = ops_is_number(v) ? 0 : eval_wrong(ev, v, "value", "a number");
    if (rc >= 0 && !ops_is_number(num))
        rc = eval_wrong(ev, num, "num", "a number");
    if (rc >= 0)
        rc = ops_arith(ev, TOKEN_MOD, v, num, &left);
    if (rc >= 0)
        rc = ops_equal(ev, left.v, &(struct value){.kind = VALUE_INT, .i = rest}, &same);
    return rc < 0 ? rc : give_bool(ev, same, ret);
}

static const struct value two = {.kind = VALUE_INT, .i = 2};

int expr_test_even(struct eval *ev, const struct slot *args, uint32_t n, struct slot *ret)
{
    (void)n;
    return leaves(ev, args[0].v, &two, 0, ret);
}

int expr_test_odd(struct eval *ev, const struct slot *args, uint32_t n, struct slot *ret)
{
    (void)n;
    return leaves(ev, args[0].v, &two, 1, ret);
}

int expr_test_divisibleby(struct eval *ev, const struct slot *args, uint32_t n, struct slot *ret)
{
    (void)n;
    return leaves(ev, args[0].v, args[1].v, 0, ret);
}
