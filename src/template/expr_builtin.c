/* expr_builtin.c - the tables of what is built in, and how to find something in them
 *
 * The rows are in expr_i.h, once; functions, tables and documentation follow from them.  To add a
 * filter: a row there, its function in the filter_*.c file that fits, a row in docs/expressions.md.
 * Forms look like functions and are listed with them; their arguments are not values but code.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "template/expr.h"
#include "template/expr_i.h"

#include <assert.h>

#include "base/text.h"

static const struct builtin filters[] = {
#define X(name, f, params, min, flags) {name, params, expr_filter_##f, min, flags, FORM_NONE},
    EXPR_FILTERS(X)
#undef X
};
static const struct builtin tests[] = {
#define X(name, f, params, min, flags) {name, params, expr_test_##f, min, flags, FORM_NONE},
    EXPR_TESTS(X)
#undef X
};
static const struct builtin functions[] = {
#define X(name, f, params, min, flags) {name, params, expr_fn_##f, min, flags, FORM_NONE},
    EXPR_FUNCTIONS(X)
#undef X
#define X(id, text, args) {.name = text, .params = args, .min = 1, .form = FORM_##id},
        EXPR_FORMS(X)
#undef X
};

static const struct {
    const struct builtin *at;
    size_t n;
} tables[EXPR_TABLE_COUNT] = {
    [EXPR_TABLE_FILTERS] = {filters, sizeof filters / sizeof *filters},
    [EXPR_TABLE_TESTS] = {tests, sizeof tests / sizeof *tests},
    [EXPR_TABLE_FUNCTIONS] = {functions, sizeof functions / sizeof *functions},
};

const struct builtin *builtin_find(enum expr_table table, struct str name)
{
    for (size_t i = 0; i < tables[table].n; i++)
        if (str_is(name, tables[table].at[i].name))
            return &tables[table].at[i];
    return NULL;
}

const char *builtin_nearest(enum expr_table table, struct str name)
{
    enum { MOST = 64 };
    const char *names[MOST];
    assert(tables[table].n <= MOST);
    for (size_t i = 0; i < tables[table].n; i++)
        names[i] = tables[table].at[i].name;
    return text_nearest(name, names, tables[table].n);
}

/* Calls for each name in a list of parameters; a "*" is one of them. */
static bool param_next(const char **at, struct str *ret_name)
{
    while (**at == ' ')
        (*at)++;
    size_t n = strcspn(*at, " ");
    *ret_name = (struct str){*at, n};
    *at += n;
    return n > 0;
}

void builtin_params(const char *params, uint32_t *ret_places, uint32_t *ret_names)
{
    uint32_t n = 0, places = UINT32_MAX;
    struct str name;
    while (param_next(&params, &name)) {
        if (str_is(name, "*"))
            places = n;
        else
            n++;
    }
    *ret_places = places < n ? places : n;
    *ret_names = n;
}

int builtin_param_find(const char *params, struct str wanted)
{
    int n = 0;
    struct str name;
    while (param_next(&params, &name)) {
        if (str_is(name, "*"))
            continue;
        if (str_eq(name, wanted))
            return n;
        n++;
    }
    return -1;
}

bool expr_builtin_at(enum expr_table table, size_t i, const char **ret_name,
                     const char **ret_params)
{
    if (table >= EXPR_TABLE_COUNT || i >= tables[table].n)
        return false;
    *ret_name = tables[table].at[i].name;
    *ret_params = tables[table].at[i].params;
    return true;
}
