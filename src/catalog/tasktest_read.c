/* tasktest_read.c - a test of a task: a command, or {cmd, timeout, retries, interval}
 *
 * The same on tasks of roles and on vertices of graphs.  null is no test, so that an overlay can
 * take one away.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/text.h"
#include "catalog/catalog_i.h"
#include "model/taskmsg.h"

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

static void test_interval(struct load *l, const struct value *v, void *object)
{
    ((struct graph_test *)object)->interval_ms = catalog_read_duration(l, v, "\"interval\"", 0);
}

static const struct field test_fields[] = {
    {"cmd", test_cmd},
    {"timeout", test_timeout},
    {"retries", test_retries},
    {"interval", test_interval},
};

void catalog_read_test(struct load *l, const struct value *v, struct graph_test *t)
{
    t->interval_ms = TASKMSG_TEST_INTERVAL_MS;
    if (v->kind == VALUE_STRING)
        test_cmd(l, v, t);
    else if (v->kind != VALUE_NULL &&
             catalog_read_fields(l, v, "a test", test_fields,
                                 sizeof test_fields / sizeof *test_fields, t) &&
             !value_get(v, "cmd"))
        catalog_error(l, v, ERR_INVALID, "a test needs a command");
    if (value_get(v, "interval") && !t->retries)
        catalog_fault(l, CATALOG_WARNING, ERR_INVALID, catalog_where_of(value_get(v, "interval")),
                      "\"interval\" is between tries, and there is one: \"retries\" is not said");
}

void catalog_test_fits(struct load *l, const struct value *v, const struct graph_test *t,
                       uint64_t timeout_ms)
{
    uint64_t waits_ms = t->retries * t->interval_ms;
    char waits[16], timeout[16];
    if (!v || !t->cmd.n || waits_ms < timeout_ms)
        return;
    text_duration_show(waits_ms, waits);
    text_duration_show(timeout_ms, timeout);
    struct err *e = catalog_fault(l, CATALOG_WARNING, ERR_INVALID, catalog_where_of(v),
                                  "its last tries cannot run: it waits %s between them, and its "
                                  "task has %s for everything",
                                  waits, timeout);
    err_hint(e, "give the task a longer \"timeout\", or the test a shorter \"interval\"");
}
