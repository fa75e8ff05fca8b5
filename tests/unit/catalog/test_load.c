/* test_load.c - what loading reports, how much of it, and what it returns */
/* SPDX-License-Identifier: Apache-2.0 */
#include "tap.h"

#include "catalog_files.h"

static int load(const char *text, struct catalog_report *report, struct catalog **ret_c,
                struct err *e)
{
    struct catalog_file file = {str_of("barclamp.yaml"), str_of(text)};
    struct catalog_source source = {&file, 1};
    return catalog_load(&source, NULL, 1, report, ret_c, e);
}

static void test_whole_or_nothing(void)
{
    struct catalog_report report = {0};
    struct catalog *c = NULL;
    struct err e = {0};

    is_int(
        load("barclamp: x\nroles:\n  - {name: a, requires: [b]}\n  - {nme: c}\n", &report, &c, &e),
        -ERR_UNKNOWN_NAME, "refused with the code of the first error");
    ok(!c, "nothing is loaded");
    is_text(e.at, "barclamp.yaml:3:26", "the first error, where");
    has_text(e.text, "role \"a\" requires \"b\"", "and what");
    is_text(e.line, "  - {name: a, requires: [b]}", "with its line");
    is_int(report.n_errors, 3, "all are counted");
    is_int(report.entries.n, 3, "and kept");
    is_int(report.entries.at[1].where.line, 4, "in the order of the file");
    catalog_report_done(&report);
    is_int(load("barclamp: x\nroles: [{name: a, requires: [b]}]\n", &report, &c, NULL),
           -ERR_UNKNOWN_NAME, "nobody has to read the error");
    catalog_report_done(&report);
    is_int(load("barclamp: x\nroles: [{name: a}, {name: b, requires: [a, a]}]\n", &report, &c, &e),
           0, "a warning is no error");
    is_int(report.n_warnings, 1, "but is told");
    catalog_unref(c);
    catalog_report_done(&report);
}

static void test_enough(void)
{
    SCOPED_BUF(text);
    SCOPED_BUF(shown);
    struct catalog_report report = {0};
    struct catalog *c = NULL;
    struct err e;

    buf_puts(&text, "barclamp: x\nroles:\n");
    for (unsigned i = 0; i < 300; i++)
        buf_printf(&text, "  - {name: r%u, requires: [x%u], provides: [p, p], zzz: 1}\n", i, i);
    is_int(load(text.data, &report, &c, &e), -ERR_INVALID, "many faults");
    is_int(report.n_errors, 600, "all counted");
    is_int(report.n_warnings, 300, "warnings too");
    is_int(report.entries.n, 2 * CATALOG_MAX_REPORT, "but not all kept");
    catalog_report_write(&shown, &report);
    has_text(shown.data, "800 more not shown\n600 errors, 300 warnings\n", "and that is told");
    catalog_report_done(&report);
}

/* Notes stay behind what they explain, however entries are sorted. */
static void test_notes(void)
{
    struct catalog_report report = {0};
    struct catalog *c = NULL;
    struct err e;

    is_int(load("barclamp: x\n"
                "roles:\n"
                "  - {name: z, requires: [y]}\n"
                "  - {name: b, requires: [a]}\n"
                "  - {name: y, requires: [z]}\n"
                "  - {name: a, requires: [b]}\n",
                &report, &c, &e),
           -ERR_CYCLE, "two circles");
    is_int(report.n_errors, 2, "are two errors");
    is_int(report.entries.n, 6, "with a note for each edge");
    for (unsigned i = 0; i < 6; i++) {
        is_int(report.entries.at[i].severity, i % 3 ? CATALOG_NOTE : CATALOG_ERROR, "entry %u", i);
        is_int(report.entries.at[i].lead, i - i % 3, "belongs to");
    }
    catalog_report_done(&report);
}

/* A long circle shows some of its edges, many circles only some of them. */
static void test_many_circles(void)
{
    SCOPED_BUF(text);
    struct catalog_report report = {0};
    struct catalog *c = NULL;
    struct err e;

    buf_puts(&text, "barclamp: x\nroles:\n");
    for (unsigned i = 0; i < 50; i++)
        buf_printf(&text, "  - {name: a%u, requires: [a%u]}\n", i, (i + 1) % 50);
    is_int(load(text.data, &report, &c, &e), -ERR_CYCLE, "a circle of fifty");
    is_int(report.entries.n, 13, "shows twelve edges");
    has_text(e.text, "a0 -> a1 -> a2 -> ", "and the way");
    catalog_report_done(&report);
    buf_clear(&text);
    buf_puts(&text, "barclamp: x\nroles:\n");
    for (unsigned i = 0; i < 20; i++)
        buf_printf(&text, "  - {name: a%u, requires: [a%u]}\n", i, i);
    is_int(load(text.data, &report, &c, &e), -ERR_CYCLE, "twenty circles");
    is_int(report.n_errors, 8, "some of them are told");
    catalog_report_done(&report);
}

/* A jig's own check: pointers lead to the value, codes and hints are kept, each task is asked once.
 */
static unsigned asked;

static int fussy(const struct value *params, struct err *e)
{
    asked++;
    if (value_get(params, "fine"))
        return 0;
    (void)err_set(e, ERR_LIMIT, "too much");
    (void)err_hint(e, "less");
    return err_at(e, "/a/1");
}

static int silent(const struct value *params, struct err *e)
{
    (void)params;
    (void)e;
    return -1;
}

static void test_checks(void)
{
    static const struct catalog_check known[] = {
        {"shell", fussy}, {"script", silent}, {"noop", NULL}};
    struct catalog_checks checks = {known, 3};
    struct catalog_file file = {
        str_of("barclamp.yaml"),
        str_of("barclamp: x\n"
               "roles:\n"
               "  - {name: a, jig: shell, actions: {converge: [t, {name: u, params: {a: [1,\n"
               "     2]}}]}}\n"
               "  - {name: b, jig: shell, actions: {converge: [t]}}\n"
               "  - {name: c, jig: script, actions: {converge: [{name: v}]}}\n"
               "tasks: [{name: t, params: {fine: 1}}]\n")};
    struct catalog_source source = {&file, 1};
    struct catalog_report report = {0};
    struct catalog *c = NULL;
    struct err e;

    is_int(catalog_load(&source, &checks, 1, &report, &c, &e), -ERR_LIMIT, "the jig's own code");
    is_text(e.at, "barclamp.yaml:4:6", "the very value");
    is_text(e.text, "task \"u\": too much", "the jig's words");
    is_text(e.hint, "less", "and remedy");
    is_int(asked, 2, "each task once, however many roles run it");
    is_int(report.n_errors, 2, "a check without words counts as well");
    catalog_report_done(&report);
}

int main(void)
{
    test_whole_or_nothing();
    test_enough();
    test_notes();
    test_many_circles();
    test_checks();
    return tap_done();
}
