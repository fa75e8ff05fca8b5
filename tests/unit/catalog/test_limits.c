/* test_limits.c - large catalogs load quickly, too large ones are refused */
/* SPDX-License-Identifier: Apache-2.0 */
#include "tap.h"

#include <time.h>

#include "catalog_files.h"

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static int load(struct str text, struct catalog_report *report, struct catalog **ret_c,
                struct err *e)
{
    struct catalog_file file = {str_of("barclamp.yaml"), text};
    struct catalog_source source = {&file, 1};
    catalog_report_done(report);
    return catalog_load(&source, NULL, 1, report, ret_c, e);
}

/* Ten thousand roles as they are written; the time is told, not judged. */
static void test_ten_thousand(void)
{
    SCOPED_BUF(text);
    struct catalog_report report = {0};
    struct catalog *c = NULL;
    struct err e;

    buf_puts(&text, "barclamp: big\nroles:\n");
    for (unsigned i = 0; i < 10000; i++) {
        buf_printf(&text, "  - name: role-%u\n    description: number %u of many\n    jig: shell\n",
                   i, i);
        buf_printf(&text, "    requires: [");
        for (unsigned k = 1; k <= 5 && k * 7 <= i; k++)
            buf_printf(&text, "%srole-%u", k > 1 ? ", " : "", i - k * 7);
        buf_printf(&text, "]\n    provides: [name-%u]\n", i % 1000);
        buf_puts(&text, "    attributes: {port: {schema: {type: integer}, default: 5}}\n"
                        "    actions: {converge: [{name: a, params: {command: x}}, {name: b}]}\n");
    }
    double start = now_ms();
    is_int(load(buf_str(&text), &report, &c, &e), 0, "ten thousand roles");
    note("%zu bytes in %.0f ms", text.len, now_ms() - start);
    is_int(c->n_roles, 10001, "are there, and the machine");
    is_int(c->n_tasks, 20001, "with their tasks");
    bool above = true;
    for (uint32_t i = 0; i < c->n_roles; i++)
        for (uint32_t k = 0; k < c->roles[i].n_requires; k++)
            above &= c->roles[c->names[c->roles[i].requires[k].name].role].cohort <
                     c->roles[i].cohort;
    ok(above, "each above what it requires");
    ok(report.n_warnings > 0, "needless requirements are found");
    catalog_unref(c);
    catalog_report_done(&report);
}

/* A chain as long as a catalog may be: no step of the load may recurse, or be quadratic. */
static void test_longest_chain(void)
{
    SCOPED_BUF(text);
    struct catalog_report report = {0};
    struct catalog *c = NULL;
    struct err e;

    buf_puts(&text, "barclamp: big\nroles:\n");
    for (unsigned i = CATALOG_MAX_ROLES; i > 0; i--)
        buf_printf(&text, "  - {name: r%u, requires: [r%u]}\n", i, i - 1);
    buf_printf(&text, "  - {name: r0, requires: [r%u]}\n", CATALOG_MAX_ROLES);
    is_int(load(buf_str(&text), &report, &c, &e), -ERR_LIMIT, "one role too many");
    has_text(e.text, "more than 100000 roles", "is told");
    buf_clear(&text);
    buf_puts(&text, "barclamp: big\nroles:\n");
    for (unsigned i = CATALOG_MAX_ROLES - 1; i > 0; i--)
        buf_printf(&text, "  - {name: r%u, requires: [r%u]}\n", i, i - 1);
    size_t before = text.len;
    buf_puts(&text, "  - {name: r0}\n");
    double start = now_ms();
    is_int(load(buf_str(&text), &report, &c, &e), 0, "a chain of all roles");
    note("%.0f ms", now_ms() - start);
    is_int(c->roles[0].cohort, CATALOG_MAX_ROLES - 1, "to its end");
    catalog_unref(c);
    c = NULL;
    text.len = before;
    buf_printf(&text, "  - {name: r0, requires: [r%u]}\n", CATALOG_MAX_ROLES - 1);
    is_int(load(buf_str(&text), &report, &c, &e), -ERR_CYCLE, "a circle of all roles");
    catalog_report_done(&report);
}

/* Many ways down: the search for needless requirements has a budget. */
static void test_dense(void)
{
    SCOPED_BUF(text);
    struct catalog_report report = {0};
    struct catalog *c = NULL;
    struct err e;

    buf_puts(&text, "barclamp: big\nroles:\n");
    for (unsigned i = 0; i < 4000; i++) {
        buf_printf(&text, "  - {name: r%u, requires: [", i);
        for (unsigned k = 0; k < 60 && k < i; k++)
            buf_printf(&text, "%sr%u", k ? ", " : "", (i * 31 + k * 17) % i);
        buf_puts(&text, "]}\n");
    }
    is_int(load(buf_str(&text), &report, &c, &e), 0, "a dense catalog");
    ok(report.n_warnings > CATALOG_MAX_REPORT, "with much that is needless");
    is_int(report.entries.n, CATALOG_MAX_REPORT, "is told as far as it is kept");
    catalog_unref(c);
    catalog_report_done(&report);
}

/* Head, n times one with # for the number and a comma between if there is a #, tail. */
static void fill(struct buf *b, const char *head, const char *one, unsigned n, const char *tail)
{
    buf_clear(b);
    buf_puts(b, head);
    for (unsigned i = 0; i < n; i++) {
        buf_puts(b, i && strchr(one, '#') ? ", " : "");
        for (const char *c = one; *c; c++)
            if (*c == '#')
                buf_u64(b, i);
            else
                buf_putc(b, *c);
    }
    buf_puts(b, tail);
}

static void test_lists(void)
{
    SCOPED_BUF(text);
    struct catalog_report report = {0};
    struct catalog *c = NULL;
    struct err e;

    fill(&text, "barclamp: x\nroles: [{name: a, provides: [", "p#", CATALOG_MAX_LIST, "]}]\n");
    is_int(load(buf_str(&text), &report, &c, &e), 0, "a full list");
    catalog_unref(c);
    c = NULL;
    fill(&text, "barclamp: x\nroles: [{name: a, provides: [", "p#", CATALOG_MAX_LIST + 1, "]}]\n");
    is_int(load(buf_str(&text), &report, &c, &e), -ERR_LIMIT, "a list that is too long");
    has_text(e.text, "has 1001 entries, 1000 at most", "is told");
    fill(&text, "barclamp: x\njigs: [", "{name: j#}", CATALOG_MAX_JIGS + 1, "]\n");
    is_int(load(buf_str(&text), &report, &c, &e), -ERR_LIMIT, "too many jigs");
    fill(&text, "barclamp: x\npools: {", "p#: 1", CATALOG_MAX_POOLS + 1, "}\n");
    is_int(load(buf_str(&text), &report, &c, &e), -ERR_LIMIT, "too many pools");
    fill(&text, "barclamp: x\nroles: [{name: a, attributes: {", "p#: {}", 1001, "}}]\n");
    is_int(load(buf_str(&text), &report, &c, &e), -ERR_INVALID, "too many attributes");
    fill(&text, "barclamp: x\nroles: [{name: a, actions: {", "p#: []", 1001, "}}]\n");
    is_int(load(buf_str(&text), &report, &c, &e), -ERR_INVALID, "too many actions");
    fill(&text, "barclamp: x\ndescription: ", "0123456789", CATALOG_MAX_TEXT / 10 + 1, "\n");
    is_int(load(buf_str(&text), &report, &c, &e), -ERR_LIMIT, "too much text");
    fill(&text, "barclamp: x\nroles: [{name: ", "a123456789", 7, "}]\n");
    is_int(load(buf_str(&text), &report, &c, &e), -ERR_INVALID, "too long a name");
    fill(&text, "barclamp: x\nroles: [{name: a, attributes: {", "a1234567890", 7, ": {}}}]\n");
    is_int(load(buf_str(&text), &report, &c, &e), -ERR_INVALID, "too long an attribute's name");
    catalog_report_done(&report);
}

static void test_files(void)
{
    struct catalog_report report = {0};
    struct catalog *c = NULL;
    struct err e;
    size_t n = CATALOG_MAX_FILES + 1, bytes = CATALOG_MAX_FILE_BYTES + 1;
    struct catalog_file *files = xcalloc(n, sizeof *files);
    char(*paths)[24] = xcalloc(n, sizeof *paths), *text = xcalloc(1, bytes);
    struct catalog_source source = {files, n};

    for (size_t i = 0; i < n; i++) {
        snprintf(paths[i], sizeof paths[i], "x/roles/%zu.yaml", i);
        files[i] = (struct catalog_file){str_of(paths[i]), str_of("[]")};
    }
    is_int(catalog_load(&source, NULL, 1, &report, &c, &e), -ERR_LIMIT, "too many files");
    catalog_report_done(&report);
    memset(text, '#', bytes);
    files[0] = (struct catalog_file){str_of("barclamp.yaml"), {text, bytes}};
    source.n = 1;
    is_int(catalog_load(&source, NULL, 1, &report, &c, &e), -ERR_LIMIT, "too large a file");
    is_text(e.at, "barclamp.yaml", "is named");
    catalog_report_done(&report);
    /* The sum counts what is read, so one text may stand for many files. */
    for (size_t i = 0; i < 20; i++)
        files[i].text = (struct str){text, bytes - 1};
    source.n = 20;
    is_int(catalog_load(&source, NULL, 1, &report, &c, &e), -ERR_LIMIT, "too much in all");
    catalog_report_done(&report);
    free(files);
    free(paths);
    free(text);
}

int main(void)
{
    test_ten_thousand();
    test_longest_chain();
    test_dense();
    test_lists();
    test_files();
    return tap_done();
}
