/* verbs_row_i.h - how rows of the table of verbs are written */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_VERBS_ROW_I_H
#define CLI_VERBS_ROW_I_H

#include "cli/verbs_i.h"

/* clang-format off */
#define WORD(id)          "|" #id
#define WORD_TEXT(id, t)  "|" t

#define OPTS(...)   ((const struct cli_opt[]){__VA_ARGS__, {0}})
#define FLAG(name, letter, help)            {(name), NULL, KIND_FLAG, 0, (letter), (help), NULL}
#define OPT(name, value, kind, help)        {(name), (value), (kind), 0, 0, (help), NULL}
#define MANY(name, value, kind, help)       {(name), (value), (kind), ARG_MANY, 0, (help), NULL}
#define PICK(name, value, words, help)      {(name), (value), KIND_WORD, 0, 0, (help), (words)}
/* clang-format on */

/* verbs_layout.c */
extern const struct cli_opt verbs_solve_opts[], verbs_plan_opts[];
extern const char verbs_solve_about[], verbs_solve_examples[];
extern const char verbs_plan_about[], verbs_plan_examples[];

#endif
