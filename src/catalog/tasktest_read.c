/* tasktest_read.c - a test of a task: a command, or {cmd, timeout, retries}
 *
 * The same on tasks of roles and on vertices of graphs.  null is no test, so that an overlay can
 * take one away.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "catalog/catalog_i.h"

enum { TEST_MAX_RETRIES = 1000 };

static void test_cmd(struct load *l, const struct value *v, void *object)
{
    struct graph_test *t = object;
    t->cmd = catalog_read_text(l, v, "a test's \"cmd\"");
    if (v->kind == VALUE_STRING && !t->cmd.n)
        catalog_error(l, v, ERR_INVALID, "a test needs a command");
    if (t->cmd.n && memchr(t->cmd.s, '\0', t->cmd.n))
        catalog_error(l, v, ERR_INVALID, "a command must not contain a NUL");
}

static void test_timeout(struct load *l, const struct value *v, void *object)
{
    ((struct graph_test *)object)->timeout_ms = catalog_read_duration(l, v, "\"timeout\"", 1);
}

static void test_retries(struct load *l, const struct value *v, void *object)
{
    struct graph_test *t = object;
    t->retries = catalog_read_u32(l, v, "\"retries\"", 0, TEST_MAX_RETRIES);
}

static const struct field test_fields[] = {
    {"cmd", test_cmd},
    {"timeout", test_timeout},
    {"retries", test_retries},
};

void catalog_read_test(struct load *l, const struct value *v, struct graph_test *t)
{
    if (v->kind == VALUE_STRING)
        test_cmd(l, v, t);
    else if (v->kind != VALUE_NULL &&
             catalog_read_fields(l, v, "a test", test_fields,
                                 sizeof test_fields / sizeof *test_fields, t) &&
             !value_get(v, "cmd"))
        catalog_error(l, v, ERR_INVALID, "a test needs a command");
}
