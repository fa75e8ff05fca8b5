/* test_lint.c - a catalog checked without a server: every error with its place, its line and a
 * caret */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/str.h"
#include "cli/cli_i.h"
#include "cli/term_i.h"
#include "cli_case.h"
#include "dir_case.h"
#include "sys/fs.h"
#include "tap.h"

static int lint(struct cli_case *c, const char *options)
{
    SCOPED_BUF(line);
    buf_printf(&line, "lint %s %s", dir, options);
    return case_run(c, line.data);
}

static void test_lint(void)
{
    struct cli_case c = {0};
    dir = workdir_new("lint");
    file_put("barclamp.yaml", "barclamp: site\n"
                              "jigs:\n"
                              "  - {name: sh, implementation: noop}\n"
                              "roles:\n"
                              "  - {name: web, jig: sh, requires: [databse]}\n"
                              "  - {name: database, jig: sh}\n");
    is_int(lint(&c, ""), 2, "a catalog with an error");
    has_text(c.out, "barclamp.yaml:5:37: error:", "has its place");
    has_text(c.out, "\n      - {name: web, jig: sh, requires: [databse]}\n", "its line");
    has_text(c.out, "\n                                        ^\n", "a caret below the word");
    has_text(c.out, "1 error, 0 warnings\n", "and a count");
    is_text(c.err, "", "all of it on standard output");
    is_int(lint(&c, "-o json"), 2, "the same in JSON");
    has_text(c.out, "\"severity\":\"error\"", "has the severity");
    has_text(c.out, "\"at\":\"barclamp.yaml:5:37\"", "the place");
    has_text(c.out, "\"errors\":1", "the count");
    file_put("barclamp.yaml", "barclamp: site\n"
                              "jigs:\n"
                              "  - {name: sh, implementation: noop}\n"
                              "roles:\n"
                              "  - {name: web, jig: sh}\n");
    is_int(lint(&c, ""), 0, "a catalog without errors");
    has_text(c.out, ": 1 barclamp, 1 role, ", "is counted");
    is_int(lint(&c, "-q"), 0, "quietly");
    ok(!strstr(c.out, "1 barclamp"), "it is not");
    file_put("barclamp.yaml", "barclamp: site\n"
                              "roles:\n"
                              "  - {name: web, provides: [web]}\n");
    is_int(lint(&c, ""), 0, "a catalog with a warning");
    has_text(c.out, "barclamp.yaml:3:28: warning: ", "shows it");
    has_text(c.out, "0 errors, 1 warning\n", "and counts it");
    is_int(lint(&c, "--strict"), 2, "which --strict takes for an error");
    file_put("barclamp.yaml", "barclamp: [site\n");
    is_int(lint(&c, ""), 2, "YAML that is broken");
    has_text(c.out, "barclamp.yaml:", "is named");
    is_int(case_run(&c, "lint /nonexistent"), 4, "no directory");
    case_done(&c);
    free(dir);
}

/* Where the caret stands, for places of all sorts. */
static void test_caret(void)
{
    static const struct {
        const char *at, *line, *drawn;
    } cases[] = {
        {"f.yaml:3:3", "a: b", "    a: b\n      ^\n"},
        {"f.yaml:3:1", "a", "    a\n    ^\n"},
        {"f.yaml:1:4", "\u8cc7\u6599 x", "    \u8cc7\u6599 x\n         ^\n"},
        {"f.yaml:1:9", "short", "    short\n"},
        {"f.yaml:1:0", "zero", "    zero\n"},
        {"f.yaml", "no place", "    no place\n"},
        {"/labels/rack", "pointer", "    pointer\n"},
        {"f:3", "line only", "    line only\n"},
        {":3", "nothing before", "    nothing before\n"},
        {"f.yaml:3:3x", "not a number", "    not a number\n"},
        {"f.yaml:1:1", "", ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        SCOPED_BUF(b);
        const struct look look = {.utf8 = true};
        struct pen pen = {.b = &b, .look = &look};
        struct err e;
        err_set(&e, ERR_SYNTAX, "x");
        err_at(&e, "%s", cases[i].at);
        err_line(&e, cases[i].line, strlen(cases[i].line));
        cli_put_source(&pen, &e);
        is_text(buf_str(&b).s, cases[i].drawn, "caret of %s in \"%s\"", cases[i].at, cases[i].line);
    }
}

int main(void)
{
    test_lint();
    test_caret();
    return tap_done();
}
