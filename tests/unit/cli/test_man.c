/* test_man.c - manual pages: complete, valid, and found where man looks */
/* SPDX-License-Identifier: Apache-2.0 */
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "cli/verbs_i.h"
#include "cli_case.h"
#include "sys/daemon_args.h"
#include "sys/fs.h"
#include "sys/opts.h"
#include "tap.h"
#include "workdir.h"

/* Requests that pages may use; anything else at the start of a line is a mistake. */
static const char *bad_request(const char *page)
{
    static const char *const known[] = {".TH ", ".SH ",  ".SS ",  ".TP\n", ".B ",   ".BR ", ".PP\n",
                                        ".RS ", ".RE\n", ".nf\n", ".fi\n", ".br\n", ".I "};
    for (const char *p = page; *p;) {
        bool good = *p != '.' && *p != '\'';
        for (size_t i = 0; i < sizeof known / sizeof *known && !good; i++)
            good = !strncmp(p, known[i], strlen(known[i]));
        if (!good)
            return p;
        const char *end = strchr(p, '\n');
        if (!end)
            return "no newline at the end";
        p = end + 1;
    }
    return "";
}

static bool have_man(void)
{
    return !system("man -l --warnings /dev/null >/dev/null 2>&1; man --version >/dev/null 2>&1");
}

/* What the formatter complains about, "" if nothing. */
static void man_check(const char *file, struct buf *ret)
{
    char command[512];
    snprintf(command, sizeof command,
             "MANROFFSEQ= LC_ALL=C.UTF-8 man --warnings -E UTF-8 -l -Tutf8 %s 2>&1 >/dev/null",
             file);
    FILE *f = popen(command, "r");
    char line[256];
    buf_clear(ret);
    while (f && fgets(line, sizeof line, f))
        buf_puts(ret, line);
    if (f)
        pclose(f);
}

static void test_pages(void)
{
    char *dir = workdir_new("man");
    struct cli_case c = {0};
    struct err e;
    SCOPED_BUF(line);
    SCOPED_BUF(said);
    buf_printf(&line, "man --dir %s", dir);
    is_int(case_run(&c, line.data), 0, "all pages are written");
    has_text(c.out, "pages written", "and counted");
    is_int(case_run(&c, "man"), 0, "all pages are listed");
    char *list = xstrdup(c.out);
    bool man = have_man();
    int pages = 0;
    for (char *page = strtok(list, "\n"); page; page = strtok(NULL, "\n"), pages++) {
        SCOPED_BUF(path);
        SCOPED_BUF(text);
        buf_printf(&path, "%s/man%s/%s", dir, strrchr(page, '.') + 1, page);
        is_int(fs_read(path.data, 1 << 20, &text, &e), 0, "%s is there", page);
        is_text(bad_request(buf_str(&text).s), "", "%s holds only known requests", page);
        buf_clear(&line);
        buf_printf(&line, "man %s", page);
        case_run(&c, line.data);
        is_text(c.out, buf_str(&text).s, "%s is printed as it is written", page);
        if (!man) {
            skip("man is not installed");
            continue;
        }
        man_check(path.data, &said);
        is_text(buf_str(&said).s, "", "%s: the formatter has no complaint", page);
    }
    int nouns = 0;
    for (const struct cli_noun *n = cli_nouns; n->name; n++)
        nouns += n->help != NULL;
    is_int(pages, nouns + 5, "a page for each noun and five more");
    free(list);
    free(dir);
    case_done(&c);
}

static void test_content(void)
{
    struct cli_case c = {0};
    is_int(case_run(&c, "man anneal-node.1"), 0, "the page of a noun");
    has_text(c.out, "\\-\\-unavailable", "has options with real dashes");
    has_text(c.out, "anneal node add [NAME] [OPTIONS]", "and usage");
    ok(!strstr(c.out, "\n--"), "and no bare dashes");
    is_int(case_run(&c, "man anneal.1"), 0, "the main page");
    has_text(c.out, ".SH EXIT STATUS", "has exit codes");
    has_text(c.out, "unreachable.\n", "by name");
    is_int(case_run(&c, "man anneald.conf.5"), 0, "the page of settings");
    for (int k = 0; k < OPTS_KEY_COUNT; k++) {
        char item[80];
        snprintf(item, sizeof item, ".TP\n.B %s\n", opts_info((enum opts_key)k)->name);
        has_text(c.out, item, "setting %s is described", opts_info((enum opts_key)k)->name);
    }
    is_int(case_run(&c, "man anneald.8"), 0, "the server's page");
    for (int a = 0; a < DAEMON_ARG_COUNT; a++) {
        SCOPED_BUF(item);
        buf_puts(&item, ".TP\n.B \\-\\-");
        for (const char *p = daemon_arg_info((enum daemon_arg)a)->name; *p; p++)
            buf_printf(&item, "%s%c", *p == '-' ? "\\" : "", *p);
        has_text(c.out, item.data, "--%s is described", daemon_arg_info((enum daemon_arg)a)->name);
    }
    is_int(case_run(&c, "man anneal-frob.1"), 4, "a page that is not there");
    has_text(c.err, "no page \"anneal-frob.1\"", "is named");
    is_int(case_run(&c, "man anneal.1 --dir /tmp"), 2, "one page or all");
    is_int(case_run(&c, "man --dir /proc/nowhere"), 4, "a directory that cannot be made");
    case_done(&c);
}

int main(void)
{
    test_pages();
    test_content();
    return tap_done();
}
