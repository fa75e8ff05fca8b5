/* verbs_nouns.c - what verbs are about, in the order of help, and what goes with every verb */
/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/verbs_i.h"

/* clang-format off */
const struct cli_noun cli_nouns[] = {
    {"status", "what the cluster is doing and what needs attention", "The cluster"},
    {"watch", "open operations, live", "The cluster"},
    {"why", "why something is as it is, and what to do about it", "The cluster"},
    {"events", "what happened, and what happens", "The cluster"},
    {"node", "machines", "Objects"},
    {"group", "groups of nodes", "Objects"},
    {"deployment", "what runs where", "Objects"},
    {"cluster", "deployments made from templates, machines and all", "Objects"},
    {"noderole", "one role on one node", "Objects"},
    {"operation", "requests and the work they caused", "Work"},
    {"task", "steps of that work", "Work"},
    {"worker", "who runs tasks", "Work"},
    {"pool", "limits on what runs at once", "Work"},
    {"catalog", "what can be run", "The catalog"},
    {"barclamp", "packages of roles", "The catalog"},
    {"role", "what a node can be", "The catalog"},
    {"jig", "how tasks are run", "The catalog"},
    {"lint", "check a catalog without a server", "The catalog"},
    {"solve", "find which services go on which nodes, without a server", "The catalog"},
    {"plan", "plan a task graph or a cluster, without a server", "The catalog"},
    {"import", "catalogs of other systems", "The catalog"},
    {"token", "who may do what", "Administration"},
    {"admin", "backup, restore, checks", "Administration"},
    {"sim", "the engine on virtual time", "Administration"},
    {"openapi", "the server's OpenAPI document", "Administration"},
    {"version", "versions", "Administration"},
    {"help", "help on a noun or a verb", "Administration"},
    {"completion", "shell completion", "Administration"},
    {"man", "manual pages", "Administration"},
    {"__complete", NULL, NULL},
    {0},
};

const struct cli_opt cli_globals[] = {
    {"server", "URL", KIND_TEXT, 0, 0, "address of the server (default http://127.0.0.1:7480)",
        NULL},
    {"token-file", "FILE", KIND_FILE, 0, 0, "file that holds the token", NULL},
    {"cacert", "FILE", KIND_FILE, 0, 0, "authority that signed the server's certificate (PEM)",
        NULL},
    {"output", "FORMAT", KIND_WORD, 0, 'o', "table, json, yaml or name", "table|json|yaml|name"},
    {"wait", "TIMEOUT", KIND_DURATION, ARG_OPTIONAL, 0,
        "follow the operation to its end, or for TIMEOUT at most", NULL},
    {"timeout", "DURATION", KIND_DURATION, ARG_POSITIVE, 0,
        "how long an answer may take (default 30s)", NULL},
    {"color", NULL, KIND_FLAG, 0, 0, "colour even if the output is no terminal", NULL},
    {"no-color", NULL, KIND_FLAG, 0, 0, "no colour", NULL},
    {"quiet", NULL, KIND_FLAG, 0, 'q', "print results and errors only", NULL},
    {"verbose", NULL, KIND_FLAG, 0, 'v',
        "more columns; each exchange with the server on standard error", NULL},
    {"help", NULL, KIND_FLAG, 0, 'h', "help on what was typed so far", NULL},
    {"version", NULL, KIND_FLAG, 0, 0, "the version of this program", NULL},
    {0},
};

const struct cli_variable cli_variables[] = {
    {"ANNEAL_SERVER", "address of the server, as --server"},
    {"ANNEAL_TOKEN", "the token itself"},
    {"ANNEAL_TOKEN_FILE", "file that holds the token, as --token-file"},
    {"NO_COLOR", "no colour if set and not empty"},
    {"XDG_CONFIG_HOME", "where anneal/token is looked for (default ~/.config)"},
    {0},
};
