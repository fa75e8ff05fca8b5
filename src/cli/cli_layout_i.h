/* cli_layout_i.h - what the verbs about layouts share: options to a request, and an answer shown */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_CLI_LAYOUT_I_H
#define CLI_CLI_LAYOUT_I_H

#include "cli/cli_i.h"
#include "planner/layout.h"

struct cli_layout {
    struct cli *c;
    struct catalog *catalog; /* its owner unrefs it */
    const struct catalog_template *template;
    const struct catalog_provider *provider; /* that is asked for, or the template's; may be NULL */
    bool sized;                              /* --nodes was given */
    uint32_t nodes_min, nodes_max;
    bool given;                      /* --existing was */
    const struct layout_node *nodes; /* as its file lists them, which is the order of numbers */
    uint32_t n_nodes;
    uint64_t n_all; /* how many they are together */
};
/* Catalog, template, --nodes, --existing. */
int cli_layout_read(struct cli *c, struct cli_layout *ret, struct err *e);
/* --nodes N or MIN-MAX: 1; 0 if it was not given, and nothing is written. */
int cli_size_read(struct cli *c, uint32_t *ret_min, uint32_t *ret_max, struct err *e);
/* Names with commas between; what: "--services" or "SERVICE", for the message. */
int cli_names_split(struct cli *c, const char *what, const char *text, struct catalog_names *ret,
                    struct err *e);
/* The same of an option, which may be said several times; none: none. */
int cli_names(struct cli *c, const char *option, struct catalog_names *ret, struct err *e);
/* A request that has --provider, --hardware, --image, --comparator and --steps.  Nodes that exist
 * are taken in turn from the last: the highest number goes first. */
struct layout_request cli_layout_request(struct cli_layout *l, const struct layout_node *existing,
                                         uint32_t n);
/* Solves, warns; entries of the answer are those of `existing` as it was handed in above. */
int cli_layout_solve(struct cli_layout *l, const struct layout_request *req,
                     struct layout_answer *ret, struct err *e);
/* Kinds of nodes, as documents of a layout list them, for people.  Columns that none of them has
 * anything for are left out; "cost" and "nodes" are texts that the caller adds. */
void cli_layout_table(struct cli *c, const struct value *kinds);
/* As documents or for people; sets the exit code. */
void cli_layout_show(struct cli_layout *l, const struct layout_answer *a);

/* --- cmd_plan_cluster.c: anneal plan --template --- */
int cli_plan_cluster(struct cli *c, struct err *e);
/* Do the options go together?  Those of task graphs go without --template. */
int cli_plan_cluster_check(struct cli *c, struct err *e);

#endif
