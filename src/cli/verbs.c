/* verbs.c - every command of `anneal`, listed once
 *
 * The order of rows is the order of help, man pages and reference.  To add a command: a row here,
 * its name in CLI_VERBS, its function in the file of its noun, and a case in
 * tests/unit/cli/test_routes.c, which checks that the routes a row names are the ones it asks.
 */
/* SPDX-License-Identifier: Apache-2.0 */
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

const struct cli_verb cli_verbs[] = {
    {"status", NULL, "what the cluster is doing and what needs attention", cmd_status, S,
     .routes = "GET /v1/status",
     .opts = OPTS(FLAG("check", 0, "exit with 11 if something needs attention"))},
    {"watch", NULL, "open operations, live", cmd_watch, S,
     .routes = "GET /v1/operations, GET /v1/operations/{id}, GET /v1/tasks, GET /v1/events",
     .about = "Redraws in place on a terminal, prints a line per change elsewhere.  Driven by "
              "the server's events.  Ends with Ctrl-C."},
    {"why", NULL, "why something is as it is, and what to do about it", cmd_why, S,
     .routes = "GET /v1/why/{kind}/{object}",
     .args = {{"OBJECT", KIND_OBJECT, 0, "kind/id, role@node, or a bare number or name",
               "node|noderole|task|operation|role|jig|pool|binding"}},
     .opts = OPTS(OPT("depth", "N", KIND_NUMBER,
                      "how far reasons are followed to their own reasons (default 6)")),
     .about = "OBJECT is noderole/12, node/db1.example.org, task/5, operation/3, role/web, "
              "jig/ssh, pool/global, or role@node to ask why a role was or would not be bound "
              "there.  A bare number or name is looked up as each kind in turn; the answer says "
              "what it was taken for.",
     .examples = "anneal why noderole/12\n"
                 "anneal why web@db1.example.org\n"
                 "anneal why db1.example.org"},
    {"events", NULL, "what happened, and with -f what happens", cmd_events, S,
     .routes = "GET /v1/events, GET /v1/status",
     .opts = OPTS(FLAG("follow", 'f', "go on with new events as they come"),
                  OPT("since", "N", KIND_NUMBER, "events after number N (default: the last 50)"),
                  LIMIT),
     .about = "With -o json each event is one line.  A subscription survives a restart of the "
              "server: it resumes after the last event seen.",
     .examples = "anneal events -f\nanneal events --since 1200 -o json | jq .kind"},

    {"node", "list", "list nodes", cmd_node_list, S,
     .routes = "GET /v1/nodes",
     .args = {{"SELECTOR", KIND_SELECTOR, ARG_OPTIONAL, "which nodes; all if left out", NULL}},
     .opts = OPTS(PICK("state", "STATE", noderole_states, "only nodes in this state"),
                  PICK("alive", "STATE", alive_states, "only nodes believed to be so"),
                  OPT("deployment", "NAME", KIND_DEPLOYMENT, "only nodes at home there"),
                  LIMIT),
     .about = "A selector is made of terms: a name or glob, a group, key=value of a label.  "
              "A comma is or, & is and, ! is not.",
     .examples = "anneal node list\n"
                 "anneal node list 'rack=3&!db*'\n"
                 "anneal node list --alive dead -o name"},
    {"node", "show", "show one node", cmd_node_show, S,
     .routes = "GET /v1/nodes/{node}, GET /v1/noderoles",
     .args = {A_NODE}},
    {"node", "add", "add a node", cmd_node_add, S,
     .routes = "POST /v1/nodes",
     .args = {{"NAME", KIND_TEXT, ARG_OPTIONAL,
               "fully qualified name; made from node_pattern if left out", NULL}},
     .opts = OPTS(NODE_FIELDS),
     .about = "The node gets the role machine and the discovery roles whose jig is active, or with "
              "--admin the bootstrap roles.  Roles of a catalog that is loaded later are bound "
              "with `anneal deployment bind system ROLE=NODE`.",
     .examples = "anneal node add db1.example.org --label rack=3 --group db --address 10.0.3.1 "
                 "--available"},
    {"node", "set", "change a node", cmd_node_set, S,
     .routes = "GET /v1/nodes/{node}, PATCH /v1/nodes/{node}",
     .args = {A_NODE},
     .opts = OPTS(NODE_FIELDS,
                  FLAG("no-admin", 0, "it is no administrative node"),
                  MANY("unlabel", "KEY", KIND_TEXT, "remove a label; may be repeated"),
                  MANY("ungroup", "NAME", KIND_TEXT, "take it out of a group; may be repeated"),
                  REV),
     .about = "Only what is named changes.",
     .examples = "anneal node set db1.example.org --unavailable --note 'new disk, back on Friday'"},
    {"node", "delete", "delete nodes", cmd_node_delete, W,
     .routes = "GET /v1/nodes/{node}, DELETE /v1/nodes/{node}",
     .args = {{"NODE", KIND_NODE, ARG_MANY, "name or id of a node", NULL}},
     .opts = OPTS(FLAG("cascade", 0, "take down what is on them first"), REV),
     .about = "Refused while something that ran is on a node; the refusal names it.  With "
              "--cascade all that is on it is taken down, children before parents; the node goes "
              "with the last of it.  On a dead node nothing is taken down: it is only forgotten.",
     .examples = "anneal node delete db3.example.org --cascade --wait"},
    {"node", "report", "say what a probe or a person saw of a node", cmd_node_report, S,
     .routes = "POST /v1/nodes/{node}/report",
     .args = {A_NODE,
              {"STATE", KIND_WORD, 0,
               "alive or silent as a probe sees it; dead is an operator's word",
               "alive|silent|dead"}},
     .opts = OPTS(OPT("machine-id", "ID", KIND_TEXT, "the machine's id"),
                  OPT("boot-id", "ID", KIND_TEXT, "the id of this boot"))},
    {"node", "maintenance", "keep hands off a node, or end that", cmd_node_maintenance, S,
     .routes = "GET /v1/nodes/{node}, PATCH /v1/nodes/{node}",
     .args = {A_NODE, {"on|off", KIND_WORD, 0, "whether it is in maintenance", "on|off"}},
     .opts = OPTS(OPT("note", "TEXT", KIND_TEXT, "why"), REV),
     .about = "No work starts on a node in maintenance and its deadlines stand still.  Who asked, "
              "why and since when is shown with the node and by `anneal why`.",
     .examples = "anneal node maintenance db1.example.org on --note 'new disk, back on Friday'"},
    {"node", "redeploy", "run everything on a node again, from nothing", cmd_node_redeploy, W,
     .routes = "POST /v1/nodes/{node}/redeploy",
     .args = {A_NODE},
     .about = "All that is on the node runs as it did the first time, destructive roles included, "
              "and what needs it elsewhere follows."},
    {"node", "announce", "tell the server that this machine is there", cmd_node_announce, S,
     .routes = "POST /v1/announce",
     .args = {{"NAME", KIND_TEXT, ARG_OPTIONAL,
               "fully qualified name; made from node_pattern if left out", NULL}},
     .opts = OPTS(OPT("machine-id", "ID", KIND_TEXT, "instead of that in /etc/machine-id"),
                  OPT("boot-id", "ID", KIND_TEXT, "instead of that of the running kernel"),
                  MANY("address", "ADDRESS", KIND_TEXT,
                       "instead of those of its interfaces; may be repeated"),
                  OPT("facts", "FILE", KIND_FILE,
                      "more facts, YAML or JSON; - reads standard input")),
     .about = "Runs on the machine itself, with a token of scope announce, which allows nothing "
              "else.  A machine that is not known becomes a node; one that is known is alive.  "
              "Announcing again changes nothing.",
     .examples = "anneal node announce\nanneal node announce db1.example.org"},
    {"group", "list", "list groups and how many nodes are in each", cmd_group_list, S,
     .routes = "GET /v1/groups",
     .opts = OPTS(LIMIT)},

    {"deployment", "list", "list deployments", cmd_deployment_list, S,
     .routes = "GET /v1/deployments",
     .opts = OPTS(LIMIT)},
    {"deployment", "show", "show one deployment", cmd_deployment_show, S,
     .routes = "GET /v1/deployments/{deployment}, GET /v1/noderoles",
     .args = {A_DEPL}},
    {"deployment", "add", "add a deployment", cmd_deployment_add, S,
     .routes = "POST /v1/deployments",
     .args = {{"NAME", KIND_TEXT, 0, "its name", NULL}},
     .opts = OPTS(OPT("parent", "NAME", KIND_DEPLOYMENT,
                      "the deployment above it (default: system)"),
                  OPT("description", "TEXT", KIND_TEXT, "what it is for"))},
    {"deployment", "set", "change a deployment", cmd_deployment_set, S,
     .routes = "GET /v1/deployments/{deployment}, PATCH /v1/deployments/{deployment}",
     .args = {A_DEPL},
     .opts = OPTS(OPT("description", "TEXT", KIND_TEXT, "what it is for"), REV)},
    {"deployment", "delete", "delete an empty deployment", cmd_deployment_delete, S,
     .routes = "GET /v1/deployments/{deployment}, DELETE /v1/deployments/{deployment}",
     .args = {A_DEPL},
     .opts = OPTS(REV)},
    {"deployment", "history", "list what was and is wanted", cmd_deployment_history, S,
     .routes = "GET /v1/deployments/{deployment}/snapshots",
     .args = {A_DEPL},
     .opts = OPTS(LIMIT),
     .about = "Newest first.  A proposal has its number from when it began: what others committed "
              "meanwhile has higher ones, so the head need not be the first."},
    {"deployment", "bind", "bind roles to nodes and run them", cmd_deployment_bind, W,
     .routes = "POST /v1/deployments/{deployment}/bind",
     .args = {A_DEPL,
              {"ROLE=SELECTOR", KIND_BINDING, ARG_MANY, "a role and the nodes it shall run on",
               NULL}},
     .opts = OPTS(MANY("data", "[ROLE=]FILE", KIND_FILE,
                       "the role's data, YAML or JSON; - reads standard input"),
                  FLAG("dry-run", 'n', "show the steps, change nothing"),
                  PICK("class", "CLASS", classes, "how urgent it is"),
                  OPT("title", "TEXT", KIND_TEXT, "a title for the operation")),
     .about = "Planned whole, applied whole or not at all; a refusal names the chain that led to "
              "it.",
     .examples = "anneal deployment bind prod database=db1.example.org web='web*' --dry-run\n"
                 "anneal deployment bind prod web='rack=3' --data web.yaml --wait"},

    {"deployment", "deploy", "run a task graph on its nodes", cmd_deployment_deploy, W,
     .routes = "POST /v1/deployments/{deployment}/deploy",
     .args = {A_DEPL},
     .opts = OPTS(OPT("graph", "NAME", KIND_TEXT, "which of its graphs; default: default"),
                  MANY("start", "TASK", KIND_TEXT, "from there on: task, task/node, a stage"),
                  MANY("end", "TASK", KIND_TEXT, "up to there"),
                  MANY("only", "TASK", KIND_TEXT, "these tasks only"),
                  MANY("skip", "TASK", KIND_TEXT, "all but these"),
                  OPT("on", "SELECTOR", KIND_SELECTOR, "on these nodes only"),
                  MANY("event", "NAME", KIND_TEXT,
                       "on nodes deployed before, what is to run again for this"),
                  FLAG("force", 0, "as if nothing had been deployed before"),
                  FLAG("no-op", 0, "run it, and change nothing on the nodes"),
                  FLAG("limit-circles", 0, "a strategy that dependencies contradict is a limit"),
                  FLAG("dry-run", 'n', "show what would run, change nothing"),
                  PICK("class", "CLASS", classes, "how urgent it is"),
                  OPT("title", "TEXT", KIND_TEXT, "a title for the operation")),
     .about = "The graph is woven over the nodes bound to its groups, checked whole, and run as "
              "one operation.  Conditions leave out what has not changed since a task last "
              "succeeded; what is left out keeps its place in the order.  A word that matches "
              "nothing is an error.  `anneal operation cancel`, `resume` and `retry` stop it and "
              "go on.",
     .examples = "anneal deployment deploy prod --dry-run\n"
                 "anneal deployment deploy prod --start netconfig --on rack=3 --wait"},
    {"deployment", "graph", "show its task graph", cmd_deployment_graph, S,
     .routes = "GET /v1/deployments/{deployment}/graph",
     .args = {A_DEPL},
     .opts = OPTS(OPT("graph", "NAME", KIND_TEXT, "which of its graphs; default: default"),
                  PICK("format", "FORMAT", "tasks|dot|stages|roles", "in which form"),
                  OPT("node-file", "NODE", KIND_NODE,
                      "this node's part, as the file that a node gets")),
     .about = "roles is the graph as it is written, for dot(1); dot is the whole, task by task; "
              "stages lists what runs before which stage.",
     .examples = "anneal deployment graph prod --format roles | dot -Tsvg > graph.svg"},

    {"deployment", "unbind", "take roles off nodes", cmd_deployment_unbind, W,
     .routes = "POST /v1/deployments/{deployment}/unbind",
     .args = {A_DEPL,
              {"ROLE=SELECTOR", KIND_BINDING, ARG_MANY, "a role and the nodes it shall leave",
               NULL}},
     .opts = OPTS(FLAG("cascade", 0, "with everything that needs it"),
                  FLAG("dry-run", 'n', "list what would go, in order; change nothing"),
                  PICK("class", "CLASS", classes, "how urgent it is"),
                  OPT("title", "TEXT", KIND_TEXT, "a title for the operation")),
     .about = "Children before parents, each by its role's stop and remove actions.  Refused while "
              "something needs it, by name; --cascade takes that along.",
     .examples = "anneal deployment unbind prod web=web3.example.org --wait"},
    {"deployment", "propose", "begin to change what is wanted", cmd_deployment_propose, S,
     .routes = "POST /v1/deployments/{deployment}/proposal",
     .args = {A_DEPL},
     .opts = OPTS(OPT("message", "TEXT", KIND_TEXT, "what it is for")),
     .about = "A proposal is the committed state being changed; nothing runs before it is "
              "committed.  There is one at a time."},
    {"deployment", "edit", "change the proposal", cmd_deployment_edit, S,
     .routes = "GET /v1/deployments/{deployment}/proposal, "
               "PATCH /v1/deployments/{deployment}/proposal",
     .args = {A_DEPL},
     .opts = OPTS(MANY("bind", "ROLE=SELECTOR", KIND_BINDING, "a role and the nodes it shall join"),
                  MANY("unbind", "ROLE=SELECTOR", KIND_BINDING,
                       "a role and the nodes it shall leave"),
                  FLAG("cascade", 0, "unbind everything that needs it as well"),
                  MANY("set", "ROLE@SELECTOR:PATH=VALUE", KIND_TEXT,
                       "data of what is bound; without @SELECTOR, of the whole deployment"),
                  MANY("data", "ROLE=FILE", KIND_TEXT, "data of a role that --bind names"),
                  MANY("file", "FILE", KIND_FILE, "a list of edits, YAML or JSON"), REV),
     .about = "Edits are made in the order file, unbind, bind, set; all of them or none.",
     .examples = "anneal deployment edit prod --bind web=web3 --set web@web3:listen.port=8080\n"
                 "anneal deployment edit prod --unbind database=db2 --cascade"},
    {"deployment", "diff", "show what the proposal changes", cmd_deployment_diff, S,
     .routes = "GET /v1/deployments/{deployment}/diff",
     .args = {A_DEPL,
              {"FROM", KIND_TEXT, ARG_OPTIONAL, "a number of the history, head or proposal", NULL},
              {"TO", KIND_TEXT, ARG_OPTIONAL, "likewise", NULL}},
     .about =
         "Between any two snapshots; by default from the head to the proposal.  + comes, - goes, ~ "
         "changes; * is concerned without being changed itself: it gains or loses a parent, sees "
         "other data or is defined otherwise, and runs again; ! is in the way of a commit.  What "
         "tasks will return is not known yet: who reads that may run again, too.",
     .examples = "anneal deployment diff prod 3 head"},
    {"deployment", "commit", "make the proposal what is wanted", cmd_deployment_commit, W,
     .routes = "POST /v1/deployments/{deployment}/commit",
     .args = {A_DEPL},
     .opts = OPTS(FLAG("dry-run", 'n', "plan it, say whom it concerns, change nothing"),
                  PICK("class", "CLASS", classes, "how urgent it is")),
     .about = "Touches what changed and nothing else.  If others have committed since it was "
              "proposed, both changes are merged; what both changed differently is refused.  "
              "Whoever runs again because of what changed or of what a task returned belongs to "
              "the same operation: --wait ends when all of that is at rest."},
    {"deployment", "recall", "drop the proposal", cmd_deployment_recall, S,
     .routes = "GET /v1/deployments/{deployment}/proposal, "
               "DELETE /v1/deployments/{deployment}/proposal",
     .args = {A_DEPL},
     .opts = OPTS(REV)},
    {"deployment", "rollback", "propose what was wanted before", cmd_deployment_rollback, S,
     .routes = "POST /v1/deployments/{deployment}/proposal, "
               "GET /v1/deployments/{deployment}/diff",
     .args = {A_DEPL, {"NUMBER", KIND_NUMBER, ARG_POSITIVE, "a number of the history", NULL}},
     .opts = OPTS(OPT("message", "TEXT", KIND_TEXT, "what it is for")),
     .about = "With the catalog of that time.  What cannot come back is listed; `anneal deployment "
              "commit` then brings about the rest."},
    TASKS_VERBS(deployment, A_DEPL, "/v1/deployments/{deployment}/deployment_tasks",
                "catalog and of what its barclamps have over it"),

    {"noderole", "list", "list noderoles", cmd_noderole_list, S,
     .routes = "GET /v1/noderoles",
     .opts = OPTS(PICK("state", "STATE", noderole_states, "only those in this state"),
                  OPT("role", "ROLE", KIND_ROLE, "only those of this role"),
                  OPT("node", "NODE", KIND_NODE, "only those on this node"),
                  OPT("deployment", "NAME", KIND_DEPLOYMENT, "only those of this deployment"),
                  LIMIT),
     .examples = "anneal noderole list --state ERROR"},
    {"noderole", "show", "show one noderole with its tasks", cmd_noderole_show, S,
     .routes = "GET /v1/noderoles/{id}, GET /v1/tasks",
     .args = {A_NR}},
    {"noderole", "data", "print the data of a noderole", cmd_noderole_data, S,
     .routes = "GET /v1/noderoles/{id}, GET /v1/noderoles/{id}/data",
     .args = {A_NR, {"PATH", KIND_TEXT, ARG_OPTIONAL, "a dotted path into it", NULL}},
     .opts = OPTS(FLAG("wall", 0, "what its runs returned instead"),
                  FLAG("system", 0, "what the system keeps for it instead"),
                  FLAG("visible", 0, "all that its runs see instead"),
                  OPT("explain", "PATH", KIND_TEXT,
                      "who gave the value at a dotted path, the weakest first")),
     .about = "By default it is what users gave it.",
     .examples = "anneal noderole data 12 listen.port\n"
                 "anneal noderole data 12 --visible\n"
                 "anneal noderole data 12 --explain network.domain"},
    {"noderole", "tree", "show who needs whom", cmd_noderole_tree, S,
     .routes = "GET /v1/noderoles",
     .args = {{"ID", KIND_NODEROLE, ARG_OPTIONAL,
               "a noderole to begin with: it and all that need it", NULL}},
     .opts = OPTS(FLAG("up", 0, "what it needs instead of what needs it"),
                  FLAG("dot", 0, "a graph for Graphviz"),
                  OPT("role", "ROLE", KIND_ROLE, "only those of this role"),
                  OPT("node", "NODE", KIND_NODE, "only those on this node"),
                  OPT("deployment", "NAME", KIND_DEPLOYMENT, "only those of this deployment")),
     .about = "Each noderole stands below those it needs, by cohort and number; where it comes up "
              "again, a line refers to the first place.  Needs of noderoles that the options leave "
              "out are not shown.  With -o json or yaml: the noderoles, and the edges between "
              "them.",
     .examples = "anneal noderole tree --deployment prod\n"
                 "anneal noderole tree 12 --up\n"
                 "anneal noderole tree --dot | dot -Tsvg > needs.svg"},
    {"noderole", "set", "set the data of a noderole", cmd_noderole_set, W,
     .routes = "GET /v1/noderoles/{id}, PUT /v1/noderoles/{id}/data",
     .args = {A_NR,
              {"PATH=VALUE", KIND_TEXT, ARG_OPTIONAL | ARG_MANY,
               "a dotted path and a JSON value or plain text", NULL}},
     .opts = OPTS(DATA, REV),
     .about = "With --data the file replaces the whole document, with PATH=VALUE single keys of "
              "it change; both together set keys in the file's document.",
     .examples = "anneal noderole set 12 listen.port=8080 'motd=hello there'\n"
                 "anneal noderole set 12 --data web.yaml --wait"},
    {"noderole", "rerun", "run a noderole again", cmd_noderole_rerun, W,
     .routes = "POST /v1/noderoles/{id}/rerun",
     .args = {A_NR}},
    {"noderole", "retry", "run the failed tasks of a noderole again", cmd_noderole_retry, W,
     .routes = "POST /v1/noderoles/{id}/retry",
     .args = {A_NR}},
    {"noderole", "abandon", "count a removal as done that cannot be", cmd_noderole_abandon, S,
     .routes = "POST /v1/noderoles/{id}/abandon",
     .args = {A_NR},
     .opts = OPTS(OPT("reason", "TEXT", KIND_TEXT, "why, for the journal")),
     .about = "For a removal whose tasks fail for good, as on a machine that burnt down.  What "
              "they did not do is noted and may remain on the node."},

    {"operation", "list", "list operations", cmd_operation_list, S,
     .routes = "GET /v1/operations",
     .opts = OPTS(PICK("state", "STATE", operation_states, "only those in this state"), LIMIT)},
    {"operation", "show", "show one operation with its running and failed tasks",
     cmd_operation_show, S,
     .routes = "GET /v1/operations/{id}, GET /v1/tasks",
     .args = {A_OP}},
    {"operation", "watch", "follow one operation to its end", cmd_operation_watch, S,
     .routes = "GET /v1/operations/{id}, GET /v1/tasks, GET /v1/events, "
               "GET /v1/tasks/{id}/attempts/{number}/log",
     .args = {A_OP},
     .about = "Ends with the operation: 0 if it succeeded, 11 if it failed, 5 if it was "
              "cancelled or superseded.  Ctrl-C ends the watching, not the operation."},
    {"operation", "cancel", "start nothing new of an operation", cmd_operation_cancel, W,
     .routes = "POST /v1/operations/{id}/cancel",
     .args = {A_OP},
     .opts = OPTS(FLAG("abort", 0, "end running tasks too, after a grace")),
     .about = "What is unfinished is held until it is resumed or retried."},
    {"operation", "retry", "run what failed or was cancelled again", cmd_operation_retry, W,
     .routes = "POST /v1/operations/{id}/retry",
     .args = {A_OP}},
    {"operation", "resume", "go on with a cancelled operation", cmd_operation_resume, W,
     .routes = "POST /v1/operations/{id}/resume",
     .args = {A_OP}},
    {"operation", "history", "list what ran in an operation, as it started", cmd_operation_history,
     S,
     .routes = "GET /v1/operations/{id}/history",
     .args = {A_OP},
     .opts = OPTS(FLAG("all", 0, "tasks that had no attempt in it too, behind the others"),
                  FLAG("failed", 0, "only attempts that failed"),
                  OPT("node", "NODE", KIND_NODE, "only those on this node"),
                  OPT("task", "NAME", KIND_TEXT, "only those of tasks with this name"),
                  PICK("state", "STATE", task_states, "only those of tasks in this state now"),
                  LIMIT),
     .about = "Attempts stay in the history of the operation in which they started, also when "
              "their tasks are replaced or run again later.",
     .examples = "anneal operation history 14 --failed\nanneal operation history 14 --node db1"},
    {"operation", "timeline", "draw when what ran, and the longest chain", cmd_operation_timeline,
     S,
     .routes = "GET /v1/operations/{id}/timeline",
     .args = {A_OP},
     .opts = OPTS({"limit", "N", KIND_NUMBER, ARG_POSITIVE, 0, "no more than N attempts", NULL}),
     .about = "A line for each attempt, or for each node if there are many.  The longest chain "
              "goes back from the task that ended last, each time to what it waited for longest."},

    {"task", "list", "list tasks", cmd_task_list, S,
     .routes = "GET /v1/tasks",
     .opts = OPTS(PICK("state", "STATE", task_states, "only those in this state"),
                  OPT("node", "NODE", KIND_NODE, "only those on this node"),
                  OPT("operation", "ID", KIND_OPERATION, "only those of this operation"),
                  OPT("noderole", "ID", KIND_NODEROLE, "only those of this noderole"),
                  LIMIT),
     .examples = "anneal task list --state FAILED\nanneal task list --operation 14"},
    {"task", "show", "show one task with its attempts", cmd_task_show, S,
     .routes = "GET /v1/tasks/{id}, GET /v1/tasks/{id}/attempts",
     .args = {A_TASK}},
    {"task", "retry", "run a failed task again", cmd_task_retry, W,
     .routes = "POST /v1/tasks/{id}/retry",
     .args = {A_TASK}},
    {"task", "poke", "ask a waiting task again now", cmd_task_poke, S,
     .routes = "POST /v1/tasks/{id}/poke",
     .args = {A_TASK}},
    {"task", "resolve", "say how a task of unknown outcome really ended", cmd_task_resolve, W,
     .routes = "POST /v1/tasks/{id}/resolve",
     .args = {A_TASK,
              {"OUTCOME", KIND_WORD, 0,
               "done or failed as it was found to be; again runs it once more",
               "done|failed|again"}},
     .about = "A task that may run only once and whose outcome was lost is not started again "
              "before somebody has looked."},
    {"task", "attempts", "list the attempts of a task", cmd_task_attempts, S,
     .routes = "GET /v1/tasks/{id}/attempts",
     .args = {A_TASK},
     .opts = OPTS(LIMIT)},
    {"task", "log", "print what an attempt wrote", cmd_task_log, S,
     .routes = "GET /v1/tasks/{id}/attempts, GET /v1/tasks/{id}/attempts/{number}/log",
     .args = {A_TASK},
     .opts = OPTS(FLAG("follow", 'f', "go on until the attempt ends"),
                  OPT("attempt", "N", KIND_NUMBER, "which attempt (default: the last)"),
                  OPT("tail", "BYTES", KIND_NUMBER,
                      "only about the last BYTES, from a line's start")),
     .about = "On a terminal everything but colours is filtered from the output; elsewhere it is "
              "written byte for byte.",
     .examples = "anneal task log 812 -f"},

    {"role", "list", "list roles", cmd_role_list, S,
     .routes = "GET /v1/roles",
     .opts = OPTS(LIMIT)},
    {"role", "show", "show one role", cmd_role_show, S,
     .routes = "GET /v1/roles/{role}",
     .args = {A_ROLE}},
    {"role", "rerun", "run a role again on its nodes", cmd_role_rerun, W,
     .routes = "POST /v1/roles/{role}/rerun",
     .args = {A_ROLE},
     .opts = OPTS(OPT("deployment", "NAME", KIND_DEPLOYMENT, "only in this deployment"),
                  OPT("nodes", "SELECTOR", KIND_SELECTOR, "only on these nodes"))},
    {"role", "store", "show what hooks of a role keep", cmd_role_store, S,
     .routes = "GET /v1/roles/{role}/store",
     .args = {A_ROLE}},
    {"jig", "list", "list jigs", cmd_jig_list, S,
     .routes = "GET /v1/jigs",
     .opts = OPTS(LIMIT)},
    {"jig", "show", "show one jig", cmd_jig_show, S,
     .routes = "GET /v1/jigs/{jig}",
     .args = {A_JIG}},
    {"jig", "enable", "let a jig run tasks", cmd_jig_enable, S,
     .routes = "GET /v1/jigs/{jig}, PATCH /v1/jigs/{jig}",
     .args = {A_JIG},
     .opts = OPTS(REV)},
    {"jig", "disable", "hold all tasks of a jig", cmd_jig_disable, S,
     .routes = "GET /v1/jigs/{jig}, PATCH /v1/jigs/{jig}",
     .args = {A_JIG},
     .opts = OPTS(REV)},
    {"pool", "list", "list pools", cmd_pool_list, S,
     .routes = "GET /v1/pools",
     .opts = OPTS(LIMIT)},
    {"pool", "show", "show one pool", cmd_pool_show, S,
     .routes = "GET /v1/pools/{pool}",
     .args = {A_POOL}},
    {"pool", "set", "change a pool", cmd_pool_set, S,
     .routes = "GET /v1/pools/{pool}, PUT /v1/pools/{pool}",
     .args = {A_POOL},
     .opts = OPTS(OPT("size", "N", KIND_NUMBER, "how many may be taken at once"),
                  OPT("elsewhere", "N", KIND_NUMBER, "how many are taken outside of our sight"),
                  FLAG("close", 0, "nothing more is taken"),
                  FLAG("open", 0, "taking is allowed again"),
                  OPT("note", "TEXT", KIND_TEXT, "why"),
                  REV),
     .about = "Only what is named changes.",
     .examples = "anneal pool set provider.ec2 --close --note 'quota exceeded'"},
    {"barclamp", "list", "list barclamps", cmd_barclamp_list, S,
     .routes = "GET /v1/barclamps",
     .opts = OPTS(LIMIT)},
    TASKS_VERBS(barclamp, A_BARC, "/v1/barclamps/{barclamp}/deployment_tasks",
                "catalog, for all deployments"),
    {"catalog", "show", "show the catalog in use", cmd_catalog_show, S,
     .routes = "GET /v1/catalog"},
    {"catalog", "load", "load a catalog from a directory", cmd_catalog_load, S,
     .routes = "POST /v1/catalog",
     .args = {{"DIR", KIND_DIR, 0, "a directory of barclamps", NULL}},
     .opts = OPTS(FLAG("dry-run", 'n', "check it only"),
                  OPT("origin", "TEXT", KIND_TEXT, "where it comes from (default: DIR)")),
     .about = "Loaded whole or not at all.  Files whose names begin with a dot are left out."},
    {"catalog", "export", "write the catalog in use into a directory", cmd_catalog_export, S,
     .routes = "GET /v1/catalog/files",
     .args = {{"DIR", KIND_DIR, 0, "a directory that is empty or not there yet", NULL}},
     .opts = OPTS(OPT("deployment", "NAME", KIND_DEPLOYMENT,
                      "with what this deployment has over the task graphs")),
     .about = "Files are as they were loaded.  What barclamps have over the task graphs, and with "
              "--deployment what that has, is written beside them, so that `anneal lint` and "
              "`anneal plan` see the graphs that are run.",
     .examples = "anneal catalog export ./catalog --deployment prod\n"
                 "anneal plan ./catalog --nodes nodes.yaml"},
    {"catalog", "history", "list the generations of the catalog", cmd_catalog_history, S,
     .routes = "GET /v1/catalog/generations",
     .opts = OPTS(LIMIT)},
    {"lint", NULL, "check a catalog without a server", cmd_lint, 0,
     .args = {{"DIR", KIND_DIR, 0, "a directory of barclamps", NULL}},
     .opts = OPTS(FLAG("strict", 0, "warnings count as errors")),
     .about = "Prints every error with its file, line and column.  Exits with 2 if there are "
              "errors.",
     .examples = "anneal lint ./catalog"},
    {"plan", NULL, "lay a task graph over nodes, without a server", cmd_plan, 0,
     .args = {{"CATALOG", KIND_DIR, 0, "a directory of barclamps", NULL}},
     .opts = OPTS(OPT("nodes", "FILE", KIND_FILE, "nodes and their roles: nodes: [{name, roles}]"),
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
                  {"output", "FORMAT", KIND_WORD, 0, 'o', "table, json, yaml, dot or stages",
                   "table|json|yaml|dot|stages"}),
     .about = "A WORD is a task, a stage or a group; TASK/NODE and TASK/1,3-5 are single ones.  "
              "What is left out keeps its place in the order.  Exits with 5 if tasks wait for each "
              "other in a circle.\n\nWith --simulate the engine that a server has runs the graph, "
              "without a server and without executing anything, and every task is listed with how "
              "it ended, what failed first.  Exits with 11 if the operation fails.",
     .examples = "anneal plan ./catalog --nodes nodes.yaml -o stages\n"
                 "anneal plan ./catalog --nodes nodes.yaml --simulate --fail db/node-2\n"
                 "anneal plan ./catalog --nodes nodes.yaml --start netconfig --on compute -o json"},
    {"import", "crowbar", "make a catalog of Crowbar's barclamps", cmd_import_crowbar, 0,
     .args = {{"SRC", KIND_DIR, 0, "a directory with barclamps, or one barclamp's file", NULL},
              {"DST", KIND_DIR, 0, "where the catalog is written; made if it is not there", NULL}},
     .opts = OPTS(MANY("map", "JIG=IMPLEMENTATION", KIND_TEXT,
                       "run a jig by this implementation, and switch it on; may be repeated"),
                  FLAG("force", 0, "write into a DST that is not empty; other files stay")),
     .about = "Reads the .yml and .yaml files below SRC, and the scripts in script/roles/ROLE/.  "
              "Every thing that the result does not say as the source did is one line, with its "
              "file and line.  Jigs that nothing of ours executes are switched off unless they "
              "are mapped.  The result is checked as `anneal lint` would; exits with 2 if it does "
              "not load.",
     .examples = "anneal import crowbar ./core/barclamps ./catalog\n"
                 "anneal import crowbar ./core ./catalog --map chef=shell"},
    {"import", "coopr", "make a catalog of Coopr's templates and services", cmd_import_coopr, 0,
     .args = {{"SRC", KIND_DIR, 0, "a directory with JSON files, or one of them", NULL},
              {"DST", KIND_DIR, 0, "where the catalog is written; made if it is not there", NULL}},
     .opts = OPTS(FLAG("force", 0, "write into a DST that is not empty; other files stay")),
     .about = "Reads the .json files below SRC: cluster templates, services, hardware types, image "
              "types, providers, descriptors of plugins, or a whole export.  The result is one "
              "barclamp, coopr, which is lenient.  Jigs that nothing of ours executes are switched "
              "off.  Every thing that the result does not say as the source did is one line, with "
              "its file and line.  The result is checked as `anneal lint` would; exits with 2 if "
              "it does not load.",
     .examples = "anneal import coopr ./coopr-templates ./catalog"},
    {"import", "fuel", "make a catalog of Fuel's task files", cmd_import_fuel, 0,
     .args = {{"SRC", KIND_DIR, 0, "a directory with task files, or one of them", NULL},
              {"DST", KIND_DIR, 0, "where the catalog is written; made if it is not there", NULL}},
     .opts = OPTS(FLAG("limit-circles", 0,
                       "a strategy that dependencies contradict is a limit, not an order"),
                  FLAG("force", 0, "write into a DST that is not empty; other files stay")),
     .about = "Reads the files called tasks.yaml below SRC, and those of a flat copy whose names "
              "end in .tasks.yaml.  Files below graphs/X/ (or graphs__X.tasks.yaml) are graph X, "
              "all others the graph default.  The result is one barclamp, fuel, which is lenient "
              "and in which tasks require others of their own node.  Conditions are translated; "
              "one that has no equal is always true.  Every thing that the result does not say as "
              "the source did is one line, with its file and line.  The result is checked as "
              "`anneal lint` would; exits with 2 if it does not load.",
     .examples = "anneal import fuel ./fuel-library ./catalog\n"
                 "anneal import fuel ./fuel-library ./catalog --limit-circles"},

    {"worker", "list", "list workers", cmd_worker_list, S,
     .routes = "GET /v1/workers",
     .opts = OPTS(LIMIT)},
    {"token", "list", "list tokens", cmd_token_list, S,
     .routes = "GET /v1/tokens",
     .opts = OPTS(LIMIT)},
    {"token", "add", "make a token", cmd_token_add, S,
     .routes = "POST /v1/tokens",
     .args = {{"NAME", KIND_TEXT, 0, "whom it is for; the journal shows it", NULL}},
     .opts = OPTS(PICK("scope", "SCOPE", "announce|read|operate|admin",
                       "what it allows (default: read)"),
                  OPT("save", "FILE", KIND_FILE,
                      "write the secret there (mode 0600) instead of printing it")),
     .about = "The secret is shown this once.",
     .examples = "anneal token add ci --scope operate --save ~/.config/anneal/token"},
    {"token", "revoke", "revoke a token", cmd_token_revoke, S,
     .routes = "DELETE /v1/tokens/{id}",
     .args = {{"ID", KIND_TOKEN, 0, "number of a token", NULL}}},
    {"admin", "backup", "write a consistent copy of the store", cmd_admin_backup, S,
     .routes = "POST /v1/admin/backup, GET /v1/status",
     .args = {{"PATH", KIND_FILE, 0, "a new file on the server's machine", NULL}},
     .opts = OPTS(NO_WAIT)},
    {"admin", "restore", "put a backup in place of the store; the server must not run",
     cmd_admin_restore, 0,
     .args = {{"FROM", KIND_FILE, 0, "a file made by admin backup", NULL}},
     .opts = OPTS(OPT("data-dir", "DIR", KIND_DIR, "the server's data directory")),
     .about = "Runs `anneald --restore FROM --data-dir DIR`, from the directory of this program "
              "or from sbin beside it."},
    {"admin", "check", "check the store and the state built from it", cmd_admin_check, S,
     .routes = "POST /v1/admin/check, GET /v1/status",
     .opts = OPTS(NO_WAIT)},
    {"admin", "confirm-dead", "confirm that silent nodes are dead", cmd_admin_confirm_dead, S,
     .routes = "POST /v1/admin/confirm-dead",
     .about = "When many nodes fall silent at once the server suspects itself and declares none "
              "of them dead.  This is the operator's word that they are."},

    {"openapi", NULL, "print the server's OpenAPI document", cmd_openapi, S | VERB_OPEN,
     .routes = "GET /v1/openapi.json"},
    {"sim", NULL, "run the engine on virtual time", cmd_sim, VERB_RAW,
     .args = {{"ARGUMENT", KIND_TEXT, ARG_OPTIONAL | ARG_MANY, "see `anneal sim --help`", NULL}}},
    {"version", NULL, "versions of this program and of the server", cmd_version, VERB_OPEN,
     .routes = "GET /v1/version",
     .opts = OPTS(FLAG("client", 0, "this program's only"))},
    {"help", NULL, "help on a noun or a verb", cmd_help, 0,
     .args = {{"NOUN", KIND_TEXT, ARG_OPTIONAL, NULL, NULL},
              {"VERB", KIND_TEXT, ARG_OPTIONAL, NULL, NULL}},
     .opts = OPTS(FLAG("markdown", 0, "the whole reference in Markdown"))},
    {"completion", NULL, "print the completion script of a shell", cmd_completion, 0,
     .args = {{"SHELL", KIND_WORD, 0, "which shell", "bash"}},
     .examples = "source <(anneal completion bash)"},
    {"man", NULL, "write the manual pages", cmd_man, 0,
     .args = {{"PAGE", KIND_TEXT, ARG_OPTIONAL, "one page to print, such as anneal-node.1", NULL}},
     .opts = OPTS(OPT("dir", "DIR", KIND_DIR, "write all pages there")),
     .examples = "anneal man anneal-node.1 | man -l -\nanneal man --dir /usr/local/share/man"},
    {"__complete", NULL, "candidates for the shell", cmd_complete, VERB_RAW | VERB_HIDDEN},
    {0},
};
