/* verbs_row_i.h - how rows of the table of verbs are written: words, options and arguments that
 * many of them share
 *
 * For verbs.c, and for files that hold what is long of its rows.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_VERBS_ROW_I_H
#define CLI_VERBS_ROW_I_H

#include "cli/verbs_i.h"
#include "model/states.h"

/* One argument a line reads better than filled lines. */
/* clang-format off */
#define WORD(id)          "|" #id
#define WORD_TEXT(id, t)  "|" t
static const char noderole_states[] = NODEROLE_STATES(WORD);
static const char task_states[] = TASK_STATES(WORD);
static const char alive_states[] = ALIVE_STATES(WORD_TEXT);
static const char operation_states[] = OPERATION_STATES(WORD_TEXT);
static const char classes[] = CLASSES(WORD_TEXT);

#define OPTS(...)   ((const struct cli_opt[]){__VA_ARGS__, {0}})
#define FLAG(name, letter, help)            {(name), NULL, KIND_FLAG, 0, (letter), (help), NULL}
#define OPT(name, value, kind, help)        {(name), (value), (kind), 0, 0, (help), NULL}
#define MANY(name, value, kind, help)       {(name), (value), (kind), ARG_MANY, 0, (help), NULL}
#define PICK(name, value, words, help)      {(name), (value), KIND_WORD, 0, 0, (help), (words)}
#define LIMIT \
    {"limit", "N", KIND_NUMBER, ARG_POSITIVE, 0, \
     "no more than N rows; all pages are read otherwise", NULL}
#define REV \
    OPT("rev", "N", KIND_NUMBER, \
        "change it only if it is still at revision N (default: the one read just before)")
#define NO_WAIT FLAG("no-wait", 0, "do not wait for its end")
#define GRAPH  OPT("graph", "NAME", KIND_TEXT, "the graph (default: default)")
#define DATA   OPT("data", "FILE", KIND_FILE, "YAML or JSON; - reads standard input")
#define NODE_FIELDS \
    OPT("deployment", "NAME", KIND_DEPLOYMENT, "its home deployment"), \
    MANY("label", "KEY=VALUE", KIND_TEXT, "set a label; may be repeated"), \
    MANY("group", "NAME", KIND_TEXT, "put it in a group; may be repeated"), \
    MANY("address", "ADDRESS", KIND_TEXT, "an address, the preferred one first; replaces all"), \
    MANY("access", "KEY=VALUE", KIND_TEXT, \
         "how it is reached: via, user, port, identity, jump, config, sudo, trust; null forgets; " \
         "may be repeated"), \
    OPT("slots", "N", KIND_NUMBER, "how many tasks may run on it at once"), \
    FLAG("admin", 0, "it is an administrative node"), \
    FLAG("available", 0, "work may start on it"), \
    FLAG("unavailable", 0, "no work starts on it; deadlines stand still"), \
    PICK("alive", "STATE", alive_states, "what we believe of it"), \
    OPT("facts", "FILE", KIND_FILE, "discovered facts, YAML or JSON; - reads standard input"), \
    OPT("boot-environment", "NAME", KIND_TEXT, "what it shall boot next"), \
    OPT("note", "TEXT", KIND_TEXT, "a note")

#define A_NODE   {"NODE", KIND_NODE, 0, "name or id of a node", NULL}
#define A_ROLE   {"ROLE", KIND_ROLE, 0, "name of a role", NULL}
#define A_JIG    {"JIG", KIND_JIG, 0, "name of a jig", NULL}
#define A_POOL   {"POOL", KIND_POOL, 0, "name of a pool", NULL}
#define A_BARC   {"NAME", KIND_BARCLAMP, 0, "name of a barclamp", NULL}
#define A_DEPL   {"NAME", KIND_DEPLOYMENT, 0, "name or id of a deployment", NULL}
#define A_NR     {"ID", KIND_NODEROLE, 0, "number of a noderole", NULL}
#define A_OP     {"ID", KIND_OPERATION, 0, "number of an operation", NULL}
#define A_TASK   {"ID", KIND_TASK, 0, "number of a task", NULL}

#define S VERB_SERVER
#define W (VERB_SERVER | VERB_WAIT)

/* What lies over task graphs: the same for whoever may have something there. */
#define TASKS_VERBS(noun, arg, route, below) \
    {#noun, "tasks", "print what a " #noun " has over a task graph", cmd_##noun##_tasks, S, \
     .routes = "GET " route, \
     .args = {arg}, \
     .opts = OPTS(GRAPH, OPT("number", "N", KIND_NUMBER, "version N (default: the newest)"), \
                  FLAG("merged", 0, "the whole graph that it gives")), \
     .about = "As it was given, to be edited and set again."}, \
    {#noun, "tasks-set", "lay tasks over those of a task graph", cmd_##noun##_tasks_set, S, \
     .routes = "GET " route ", PUT " route, \
     .args = {arg, {"FILE", KIND_FILE, 0, "a list, YAML or JSON; - reads standard input", NULL}}, \
     .opts = OPTS(GRAPH, OPT("message", "TEXT", KIND_TEXT, "what it is for"), \
                  FLAG("dry-run", 'n', "check it only"), REV), \
     .about = "Whole tasks, groups and stages by their ids, over those of the " below ".  " \
              "Checked with all that lies below and above it; a refusal names line and column.  " \
              "A list without anything in it, [], takes it away again.", \
     .examples = "anneal " #noun " tasks NAME > tasks.yaml\n" \
                 "anneal " #noun " tasks-set NAME tasks.yaml --message 'wait for the switch'"}, \
    {#noun, "tasks-diff", "show what differs between two versions of that", \
     cmd_##noun##_tasks_diff, S, \
     .routes = "GET " route "/diff", \
     .args = {arg}, \
     .opts = OPTS(GRAPH, \
                  OPT("from", "N", KIND_NUMBER, "a version (default: the one before); 0 is none"), \
                  OPT("to", "N", KIND_NUMBER, "a version (default: the newest)")), \
     .about = "In the graph that they give: tasks that came (+), changed (~) or went (-)."}, \
    {#noun, "tasks-history", "list the versions of that", cmd_##noun##_tasks_history, S, \
     .routes = "GET " route "/versions", \
     .args = {arg}, \
     .opts = OPTS(GRAPH, LIMIT)}
/* clang-format on */

#endif
