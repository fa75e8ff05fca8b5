/* cli_case.c - see cli_case.h */
/* SPDX-License-Identifier: Apache-2.0 */
#include "cli_case.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/str.h"
#include "cli/cli.h"

static void case_size(void *arg, int *ret_columns, int *ret_lines)
{
    struct cli_case *c = arg;
    *ret_columns = c->columns ? c->columns : 80;
    *ret_lines = c->lines ? c->lines : 24;
}

static const char *case_variable(void *arg, const char *name)
{
    struct cli_case *c = arg;
    if (!strcmp(name, "ANNEAL_SERVER"))
        return c->server ? fake_url(c->server) : fake_nowhere();
    if (!strcmp(name, "ANNEAL_TOKEN"))
        return c->token ? c->token : "anl_test";
    if (!strcmp(name, "HOME"))
        return c->home ? c->home : "/nonexistent/home";
    if (!strcmp(name, "LANG"))
        return c->locale ? c->locale : "C.UTF-8";
    if (!strcmp(name, "NO_COLOR"))
        return c->no_color ? "1" : NULL;
    if (!strcmp(name, "TERM"))
        return c->dumb ? "dumb" : "xterm";
    return NULL;
}

static int64_t case_wall(void *arg)
{
    (void)arg;
    return (int64_t)CASE_NOW_S * 1000;
}

static uint64_t case_clock(void *arg)
{
    struct cli_case *c = arg;
    return c->clock += 100;
}

static int case_exec(void *arg, const char *path, char *const argv[])
{
    struct cli_case *c = arg;
    size_t n = (size_t)snprintf(c->executed, sizeof c->executed, "%s", path);
    for (; *++argv && n < sizeof c->executed;)
        n += (size_t)snprintf(c->executed + n, sizeof c->executed - n, " %s", *argv);
    errno = ENOENT;
    return -1;
}

static void case_live(void *arg, bool on)
{
    struct cli_case *c = arg;
    (void)on;
    c->lives++;
}

/* Splits in place; argv ends with NULL. */
static int words_split(char *line, char **argv, int most)
{
    int n = 0;
    for (char *p = line; *p && n < most - 1;) {
        while (*p == ' ')
            p++;
        if (!*p)
            break;
        char *to = p;
        argv[n++] = p;
        for (bool quoted = false; *p && (quoted || *p != ' '); p++) {
            if (*p == '\'')
                quoted = !quoted;
            else
                *to++ = *p;
        }
        if (*p)
            p++;
        *to = '\0';
    }
    argv[n] = NULL;
    return n;
}

int case_run(struct cli_case *c, const char *line)
{
    char *argv[64] = {NULL};
    char *copy = xstrdup(line);
    size_t out_n, err_n;
    case_done(c);
    c->lives = 0;
    FILE *in = c->input ? fmemopen((void *)(uintptr_t)c->input, strlen(c->input), "r")
                        : fopen("/dev/null", "r");
    FILE *out = open_memstream(&c->out, &out_n), *err = open_memstream(&c->err, &err_n);
    if (!in || !out || !err)
        abort();
    const struct cli_env env = {.in = in,
                                .out = out,
                                .err = err,
                                .in_tty = c->answers,
                                .out_tty = c->tty,
                                .err_tty = c->tty,
                                .size = case_size,
                                .variable = case_variable,
                                .wall_ms = case_wall,
                                .clock_ms = case_clock,
                                .exec = case_exec,
                                .live = case_live,
                                .sim = c->sim,
                                .arg = c};
    char program[] = "anneal";
    argv[0] = program;
    int n = words_split(copy, argv + 1, 63);
    c->rc = cli_run(&env, n + 1, argv);
    fclose(in);
    fclose(out);
    fclose(err);
    free(copy);
    return c->rc;
}

void case_done(struct cli_case *c)
{
    free(c->out);
    free(c->err);
    c->out = c->err = NULL;
}
