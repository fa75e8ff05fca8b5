/* cli_case.h - one run of the CLI inside a test: its terminal, environment and clock are the test's
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_CLI_CASE_H
#define TESTS_CLI_CASE_H

#include <stdbool.h>
#include <stdint.h>

#include "fake_server.h"

struct cli_case {
    struct fake *server; /* NULL: ANNEAL_SERVER names an address where nobody listens */
    bool tty;            /* both files are terminals */
    bool answers;        /* the input is one as well */
    int columns, lines;  /* 0: 80 x 24 */
    const char *input;   /* NULL: empty */
    const char *home;    /* NULL: a directory that is not there */
    const char *token;   /* NULL: anl_test; "": no token anywhere */
    const char *locale;  /* NULL: C.UTF-8 */
    bool no_color, dumb;
    int (*sim)(int argc, char **argv);
    /* set by the run */
    char *out, *err;
    int rc;
    int lives;           /* how often a live display began and ended */
    char executed[1024]; /* what exec was asked for, words joined by a space */
    uint64_t clock;      /* each look at it passes 100 ms */
};
enum { CASE_NOW_S = 1700000000 }; /* 2023-11-14T22:13:20Z */

/* Splits at spaces; '...' keeps them.  Frees what an earlier run left.  Returns the exit code. */
int case_run(struct cli_case *c, const char *line);
void case_done(struct cli_case *c);

#endif
