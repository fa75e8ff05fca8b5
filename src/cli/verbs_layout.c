/* verbs_layout.c - options and texts of the verbs about layouts and plans
 *
 * Their rows are in verbs.c, in the order of help; what makes them long is here.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/verbs_row_i.h"
#include "planner/phase.h"

/* clang-format off */
static const char phase_ops[] = PHASE_OPS(WORD_TEXT);

/* What a layout is asked for, beside services. */
#define LAYOUT_FIELDS \
    OPT("provider", "NAME", KIND_TEXT, "who makes the machines (default: the template's)"), \
    OPT("hardware", "NAME", KIND_TEXT, \
        "the only hardware of new nodes; *: any that is compatible (default: the template's)"), \
    OPT("image", "NAME", KIND_TEXT, "the only image of new nodes, the same way"), \
    OPT("comparator", "NAME", KIND_TEXT, \
        "which layout is better: cost, fewest-nodes, coopr, or one of the catalog"), \
    OPT("steps", "N", KIND_NUMBER, "cut the search off after so many steps")

const struct cli_opt verbs_solve_opts[] = {
    OPT("template", "NAME", KIND_TEXT, "which template of the catalog"),
    OPT("nodes", "N|MIN-MAX", KIND_TEXT,
        "how many nodes (default: as many as exist)"),
    MANY("services", "NAMES", KIND_TEXT,
         "what the cluster shall have, with commas between (default: the "
         "template's, or what nodes that exist have)"),
    LAYOUT_FIELDS,
    OPT("existing", "FILE", KIND_FILE,
        "nodes that are there: a layout, as this verb writes it"),
    OPT("remove-nodes", "N", KIND_NUMBER,
        "so many of them go, from the end of FILE unless others must"),
    MANY("involved", "NAMES", KIND_TEXT,
         "services that may come to nodes that exist, and go from them"),
    {0},
};
const char verbs_solve_about[] =
    "Reads a template, the services it is about, and the hardware and images of its "
    "provider, and finds the best layout: kinds of nodes and how many there are of "
    "each.  Where rules contradict each other it names those that do, with their place, "
    "and the least change that helps.  Exits with 6 if there is no layout, and with 7 "
    "if the search was cut off.\n\nWith --existing the layout of a cluster that is "
    "there changes: its nodes keep what they have, but for services that are involved "
    "or no longer wanted.";
const char verbs_solve_examples[] =
    "anneal solve ./catalog --template hadoop --nodes 5\n"
    "anneal solve ./catalog --template hadoop --nodes 5 -o json >five.json\n"
    "anneal solve ./catalog --template hadoop --existing five.json --nodes 8\n"
    "anneal solve ./catalog --template hadoop --nodes 3-7 --comparator fewest-nodes";

const struct cli_opt verbs_plan_opts[] = {
    OPT("nodes", "FILE|N", KIND_FILE,
        "nodes and their roles: nodes: [{name, roles}]; of a template how many"),
    OPT("graph", "NAME", KIND_TEXT, "which graph of the catalog (default: default)"),
    MANY("start", "WORD", KIND_TEXT, "what comes behind this; may be repeated"),
    MANY("end", "WORD", KIND_TEXT, "what comes before this; may be repeated"),
    MANY("only", "WORD", KIND_TEXT, "nothing but this; may be repeated"),
    MANY("skip", "WORD", KIND_TEXT, "all but this; may be repeated"),
    OPT("on", "NAME", KIND_TEXT, "on this node, or on nodes of this role"),
    MANY("event", "NAME", KIND_TEXT,
         "on nodes deployed before, only what is run again for it"),
    FLAG("conditions", 0, "evaluate conditions; without it all are true"),
    FLAG("limit-circles", 0, "strategies that dependencies contradict become limits"),
    FLAG("simulate", 0, "run it in virtual time and tell how everything ends"),
    MANY("fail", "WORD", KIND_TEXT,
         "with --simulate: this fails each time; may be repeated"),
    OPT("seed", "N", KIND_NUMBER,
        "with --simulate: draws the order in which tasks end (default: 1)"),
    OPT("workers", "N", KIND_NUMBER,
        "with --simulate: tasks that run at once (default: 8)"),
    FLAG("roles", 0, "the graph as it is written, for Graphviz"),
    OPT("node-file", "NODE", KIND_TEXT,
        "the part of one node, with priorities, as YAML or JSON"),
    OPT("template", "NAME", KIND_TEXT, "plan a cluster of this template instead"),
    PICK("operation", "WORD", phase_ops,
         "what is done with the cluster (default: create)"),
    MANY("services", "NAMES", KIND_TEXT,
         "of create what it shall have; of others what they are about"),
    LAYOUT_FIELDS,
    OPT("existing", "FILE", KIND_FILE,
        "the layout of the cluster, as `anneal solve -o json` writes it"),
    OPT("add", "N", KIND_NUMBER, "of expand: how many nodes"),
    OPT("remove", "N", KIND_NUMBER, "of shrink: how many nodes"),
    OPT("action", "NAME", KIND_TEXT, "of act: which action of the services"),
    OPT("cluster", "NAME", KIND_TEXT,
        "what nodes are named after (default: the template)"),
    OPT("domain", "NAME", KIND_TEXT,
        "behind the names of nodes (default: the template's, or local)"),
    {"output", "FORMAT", KIND_WORD, 0, 'o', "table, json, yaml, dot or stages",
     "table|json|yaml|dot|stages"},
    {0},
};
const char verbs_plan_about[] =
    "A WORD is a task, a stage or a group; TASK/NODE and TASK/1,3-5 are single ones.  "
    "What is left out keeps its place in the order.  Exits with 5 if tasks wait for each "
    "other in a circle.\n\nWith --simulate the engine that a server has runs the graph, "
    "without a server and without executing anything, and every task is listed with how "
    "it ended, what failed first.  Exits with 11 if the operation fails.\n\nWith --template "
    "the plan is of a cluster: its layout is solved, or read with --existing, its nodes "
    "are numbered from 1000, and the phases of its machines and services are laid out "
    "in the order that they depend on each other in.  Where no layout is found it is "
    "told why, as `anneal solve` does.";
const char verbs_plan_examples[] =
    "anneal plan ./catalog --nodes nodes.yaml -o stages\n"
    "anneal plan ./catalog --nodes nodes.yaml --simulate --fail db/node-2\n"
    "anneal plan ./catalog --nodes nodes.yaml --start netconfig --on compute -o json\n"
    "anneal plan ./catalog --template hadoop --nodes 5 -o stages\n"
    "anneal plan ./catalog --template hadoop --existing five.json --operation restart";
/* clang-format on */
