/* verbs_cluster_i.h - rows of the verbs about clusters, for verbs.c, and the options they share */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_VERBS_CLUSTER_I_H
#define CLI_VERBS_CLUSTER_I_H

#include "cli/verbs_row_i.h"

/* One argument a line reads better than filled lines. */
/* clang-format off */
static const char cluster_states[] = CLUSTER_STATES(WORD_TEXT);

#define OPERATE_ROUTE   "POST /v1/clusters/{cluster}/{verb}"
#define DESTROY_ROUTES  "GET /v1/clusters/{cluster}, " OPERATE_ROUTE
#define ASKS "On a terminal it shows what will go, and asks first."

#define A_CLUSTER   {"NAME", KIND_CLUSTER, 0, "name or id of a cluster", NULL}
#define A_SERVICES \
    {"SERVICE", KIND_TEXT, ARG_MANY, "names of services; commas may be between them", NULL}
#define SERVICES \
    MANY("services", "NAMES", KIND_TEXT, "only these services, with commas between")
#define IN_TURN  FLAG("in-turn", 0, "a few nodes at a time, as the strategies of services say")
#define STEPS    {"steps", "N", KIND_NUMBER, ARG_POSITIVE, 0, \
                  "cut the solver's search off after so many steps", NULL}
#define DRY_RUN  FLAG("dry-run", 'n', "show layout, changes and size of the plan, change nothing")
#define QUEUE \
    FLAG("queue", 0, "if something else is under way, wait for its end instead of being refused")
#define URGENCY \
    PICK("class", "CLASS", classes, "how urgent it is"), \
    OPT("title", "TEXT", KIND_TEXT, "a title for the operation")
#define YES      FLAG("yes", 'y', "do not ask")
#define RESIZE(how) \
    {"by", "N", KIND_NUMBER, ARG_POSITIVE, 0, "so many " how, NULL}, \
    {"to", "N", KIND_NUMBER, ARG_POSITIVE, 0, "so many in all", NULL}
#define CONFIG(below) \
    OPT("config", "FILE", KIND_FILE, \
        "configuration, YAML or JSON, laid over " below "; - reads standard input"), \
    MANY("set", "PATH=VALUE", KIND_TEXT, \
         "one key of it: a dotted path and a JSON value or plain text; may be repeated"), \
    FLAG("replace-config", 0, "what is given is all of it, instead of laid over " below)

#define FIELDS \
    MANY("field", "FIELD=VALUE", KIND_TEXT, \
         "what the provider asks for (see `anneal plugin show`), or @FILE that has it; may be " \
         "repeated"), \
    MANY("field-file", "FIELD=FILE", KIND_TEXT, \
         "the same, the text being in a file (- is standard input): for what is secret")

#define CLUSTER_ROWS \
    {"cluster", "list", "list clusters", cmd_cluster_list, S, \
     .routes = "GET /v1/clusters", \
     .opts = OPTS(PICK("state", "STATE", cluster_states, "only clusters in this state"), LIMIT), \
     .about = "pending: something is under way; active: all of it is where it is wanted; " \
              "incomplete: something of it was never made, or would not go; inconsistent: " \
              "something that was there is not as it should be.", \
     .examples = "anneal cluster list --state inconsistent"}, \
    {"cluster", "show", "show one cluster with its nodes", cmd_cluster_show, S, \
     .routes = "GET /v1/clusters/{cluster}", \
     .args = {A_CLUSTER}}, \
    {"cluster", "create", "make a cluster from a template", cmd_cluster_create, W, \
     .routes = "POST /v1/clusters", \
     .args = {{"NAME", KIND_TEXT, 0, "its name", NULL}}, \
     .opts = OPTS(OPT("template", "NAME", KIND_TEXT, "which template of the catalog"), \
                  OPT("nodes", "N|MIN-MAX", KIND_TEXT, \
                      "how many nodes (default: as few as the template allows)"), \
                  MANY("services", "NAMES", KIND_TEXT, \
                       "what it shall have, with commas between (default: the template's)"), \
                  OPT("provider", "NAME", KIND_TEXT, \
                      "who makes the machines (default: the template's)"), \
                  OPT("hardware", "NAME", KIND_TEXT, \
                      "the only hardware; *: any that is compatible (default: the template's)"), \
                  OPT("image", "NAME", KIND_TEXT, "the only image, the same way"), \
                  OPT("comparator", "NAME", KIND_TEXT, \
                      "which layout is better: cost, fewest-nodes, coopr, or one of the catalog"), \
                  OPT("domain", "NAME", KIND_TEXT, \
                      "behind the names of nodes (default: the template's, or local)"), \
                  CONFIG("the template's"), FIELDS, \
                  OPT("lease", "DURATION", KIND_TEXT, \
                      "how long it is lent, as 30d, or forever (default: the template's)"), \
                  STEPS, DRY_RUN, URGENCY), \
     .about = "The solver finds which services go on which nodes, the provider makes the " \
              "machines, and the services come up in the order that they depend on each other " \
              "in.  Where no layout is possible the refusal says which rules contradict each " \
              "other, and what would help.", \
     .examples = "anneal cluster create shop --template shop --nodes 5 --dry-run\n" \
                 "anneal cluster create shop --template shop --nodes 3-7 --lease 14d --wait\n" \
                 "anneal cluster create shop --template shop --set web.threads=8 --hardware '*'"}, \
    {"cluster", "expand", "give a cluster more nodes", cmd_cluster_expand, W, \
     .routes = OPERATE_ROUTE, \
     .args = {A_CLUSTER}, \
     .opts = OPTS(RESIZE("more"), STEPS, FIELDS, DRY_RUN, QUEUE, URGENCY), \
     .about = "What the nodes have that are there already stays as it is.", \
     .examples = "anneal cluster expand shop --by 2 --dry-run\n" \
                 "anneal cluster expand shop --to 8 --wait"}, \
    {"cluster", "shrink", "take nodes from a cluster", cmd_cluster_shrink, W, \
     .routes = DESTROY_ROUTES, \
     .args = {A_CLUSTER}, \
     .opts = OPTS(RESIZE("fewer"), STEPS, FIELDS, DRY_RUN, QUEUE, URGENCY, YES, REV), \
     .about = "Dead nodes go first, then those in error, then those with the highest numbers; " \
              "the rules of the template hold for what is left.  " ASKS, \
     .examples = "anneal cluster shrink shop --by 1 --dry-run"}, \
    {"cluster", "add-service", "put more services on a cluster", cmd_cluster_add_service, W, \
     .routes = OPERATE_ROUTE, \
     .args = {A_CLUSTER, A_SERVICES}, \
     .opts = OPTS(STEPS, FIELDS, DRY_RUN, QUEUE, URGENCY), \
     .about = "They go on nodes that are there, as the rules of the template allow; no other " \
              "service moves.", \
     .examples = "anneal cluster add-service shop metrics --wait"}, \
    {"cluster", "remove-service", "take services off a cluster", cmd_cluster_remove_service, W, \
     .routes = DESTROY_ROUTES, \
     .args = {A_CLUSTER, A_SERVICES}, \
     .opts = OPTS(STEPS, FIELDS, DRY_RUN, QUEUE, URGENCY, YES, REV), \
     .about = "By their stop and remove actions.  Refused while a service that stays requires " \
              "them.  " ASKS, \
     .examples = "anneal cluster remove-service shop metrics"}, \
    {"cluster", "configure", "change the configuration of a cluster", cmd_cluster_operate, W, \
     .routes = OPERATE_ROUTE, \
     .args = {A_CLUSTER}, \
     .opts = OPTS(CONFIG("what there is"), SERVICES, \
                  FLAG("restart", 0, "stop them before and start them again after it"), IN_TURN, \
                  FIELDS, DRY_RUN, QUEUE, URGENCY), \
     .about = "Runs the configure action, of all services unless some are named.  Without " \
              "--config and --set the configuration stays, and is only applied again.", \
     .examples = "anneal cluster configure shop --set web.threads=16 --services web --restart " \
                 "--in-turn"}, \
    {"cluster", "start", "start services of a cluster", cmd_cluster_operate, W, \
     .routes = OPERATE_ROUTE, \
     .args = {A_CLUSTER}, \
     .opts = OPTS(SERVICES, FIELDS, DRY_RUN, QUEUE, URGENCY), \
     .about = "All of them, or those that are named and all that they depend on, on whatever " \
              "node."}, \
    {"cluster", "stop", "stop services of a cluster", cmd_cluster_operate, W, \
     .routes = OPERATE_ROUTE, \
     .args = {A_CLUSTER}, \
     .opts = OPTS(SERVICES, FIELDS, DRY_RUN, QUEUE, URGENCY), \
     .about = "All of them, or those that are named and all that depend on them.  They stay " \
              "stopped, also after a reboot, until they are started."}, \
    {"cluster", "restart", "restart services of a cluster", cmd_cluster_operate, W, \
     .routes = OPERATE_ROUTE, \
     .args = {A_CLUSTER}, \
     .opts = OPTS(SERVICES, IN_TURN, FIELDS, DRY_RUN, QUEUE, URGENCY), \
     .about = "What depends on them goes down before and comes up after them.  With --in-turn " \
              "they restart a few nodes at a time, as their strategy says, and nobody is taken " \
              "along.", \
     .examples = "anneal cluster restart shop --services web --in-turn --wait"}, \
    {"cluster", "upgrade", "bring a cluster to the newest catalog", cmd_cluster_operate, W, \
     .routes = OPERATE_ROUTE, \
     .args = {A_CLUSTER}, \
     .opts = OPTS(OPT("template", "NAME", KIND_TEXT, \
                      "another template (default: its own, as it is now)"), \
                  IN_TURN, STEPS, FIELDS, DRY_RUN, QUEUE, URGENCY), \
     .about = "Services whose definition has changed run their upgrade action, or stop, install, " \
              "configure and start."}, \
    {"cluster", "rollback", "bring a cluster back to what it was", cmd_cluster_rollback, W, \
     .routes = DESTROY_ROUTES, \
     .args = {A_CLUSTER, \
              {"REVISION", KIND_NUMBER, ARG_POSITIVE, "a number of its history", NULL}}, \
     .opts = OPTS(FIELDS, DRY_RUN, QUEUE, URGENCY, YES, REV), \
     .about = "Its layout, configuration and definitions as they were wanted then.  Nodes that " \
              "are no more are made anew, those that came since are given up.  " ASKS, \
     .examples = "anneal cluster history shop\nanneal cluster rollback shop 2 --dry-run"}, \
    {"cluster", "act", "run an action of its services", cmd_cluster_act, W, \
     .routes = OPERATE_ROUTE, \
     .args = {A_CLUSTER, {"ACTION", KIND_TEXT, 0, "an action that services have", NULL}}, \
     .opts = OPTS(SERVICES, FIELDS, DRY_RUN, QUEUE, URGENCY), \
     .about = "On every node, of all services that have it or of those that are named.", \
     .examples = "anneal cluster act shop backup --services database --wait"}, \
    {"cluster", "delete", "delete a cluster and its machines", cmd_cluster_delete, W, \
     .routes = DESTROY_ROUTES, \
     .args = {A_CLUSTER}, \
     .opts = OPTS(FIELDS, DRY_RUN, QUEUE, URGENCY, YES, REV), \
     .about = ASKS, \
     .examples = "anneal cluster delete shop --yes --wait"}, \
    {"cluster", "lease", "say how long a cluster is lent from now on", cmd_cluster_lease, S, \
     .routes = "GET /v1/clusters/{cluster}, PATCH /v1/clusters/{cluster}", \
     .args = {A_CLUSTER, {"DURATION", KIND_TEXT, 0, "as 7d, or forever", NULL}}, \
     .opts = OPTS(REV), \
     .about = "A cluster whose lease is over is deleted.  How far a lease may be prolonged, and " \
              "how far at a time, is the template's word.", \
     .examples = "anneal cluster lease shop 7d"}, \
    {"cluster", "history", "list what was and is wanted of a cluster", cmd_deployment_history, S, \
     .routes = "GET /v1/deployments/{deployment}/snapshots", \
     .args = {A_CLUSTER}, \
     .opts = OPTS(LIMIT), \
     .about = "Newest first; the numbers are those of `anneal cluster diff` and `rollback`."}, \
    {"cluster", "diff", "show what differs between two revisions", cmd_cluster_diff, S, \
     .routes = "GET /v1/deployments/{deployment}/snapshots, " \
               "GET /v1/deployments/{deployment}/diff", \
     .args = {A_CLUSTER}, \
     .opts = OPTS(OPT("from", "REVISION", KIND_TEXT, \
                      "a number of the history, or head (default: the one before)"), \
                  OPT("to", "REVISION", KIND_TEXT, "likewise (default: head)")), \
     .about = "By default what the last change was.  Services are told as SERVICE@NODE, the " \
              "configuration as data of `cluster`.", \
     .examples = "anneal cluster diff shop\nanneal cluster diff shop --from 1 --to 3"}
/* clang-format on */

#endif
