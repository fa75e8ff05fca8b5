/* cli.h - the command `anneal`: everything it does between its arguments and its exit code
 *
 * All contact with the outside goes through struct cli_env, so that a test can be the terminal, the
 * environment and the clock.  The verbs, their options and their help are one table,
 * src/cli/verbs.c.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_CLI_H
#define CLI_CLI_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct cli_env {
    FILE *in, *out, *err;
    bool in_tty, out_tty, err_tty;
    /* Columns and lines of the terminal; asked before each redraw. */
    void (*size)(void *arg, int *ret_columns, int *ret_lines);
    const char *(*variable)(void *arg, const char *name); /* getenv */
    int64_t (*wall_ms)(void *arg);                        /* since 1970, UTC */
    uint64_t (*clock_ms)(void *arg);                      /* never runs backwards */
    /* Becomes another program; returns -1 with errno only if that fails. */
    int (*exec)(void *arg, const char *path, char *const argv[]);
    /* A display that moves the cursor begins or ends; NULL: nobody needs to know. */
    void (*live)(void *arg, bool on);
    /* The simulator's main(), NULL in a build without one. */
    int (*sim)(int argc, char **argv);
    void *arg;
};

/* Returns the exit code.  Writes to env's files only, and flushes them. */
int cli_run(const struct cli_env *env, int argc, char **argv);
/* cli_run() on this process's terminal, environment and clock. */
int cli_main(int argc, char **argv, int (*sim)(int argc, char **argv));

#endif
