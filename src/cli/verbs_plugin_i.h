/* verbs_plugin_i.h - rows of the verbs about providers and plugins, for verbs.c */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_VERBS_PLUGIN_I_H
#define CLI_VERBS_PLUGIN_I_H

#include "cli/verbs_row_i.h"

/* One argument a line reads better than filled lines. */
/* clang-format off */
#define A_PROVIDER {"NAME", KIND_PROVIDER, 0, "name of a provider", NULL}
#define PROVIDER_ROUTES "GET /v1/providers/{provider}, PUT /v1/providers/{provider}"
#define PROVIDER_FIELDS \
    MANY("set", "FIELD=VALUE", KIND_TEXT, "a field: a JSON value or plain text; may be repeated"), \
    MANY("set-file", "FIELD=FILE", KIND_TEXT, \
         "a field whose text is in a file (- is standard input): for what is secret")
#define SECRETS_ABOUT \
    "What is sensitive is given with --set-file, so that it is in no history and no list of " \
    "processes; the server seals it and never tells it again."

#define PLUGIN_ROWS \
    {"provider", "list", "list providers", cmd_provider_list, S, \
     .routes = "GET /v1/providers", \
     .opts = OPTS(LIMIT)}, \
    {"provider", "show", "show one provider", cmd_provider_show, S, \
     .routes = "GET /v1/providers/{provider}", \
     .args = {A_PROVIDER}, \
     .about = "Sensitive values are shown as ***."}, \
    {"provider", "add", "say to a plugin what a provider of the catalog needs", \
     cmd_provider_add, S, \
     .routes = PROVIDER_ROUTES, \
     .args = {{"NAME", KIND_TEXT, 0, "its name in the catalog", NULL}}, \
     .opts = OPTS(OPT("type", "TYPE", KIND_TEXT, "which type of plugin it is"), PROVIDER_FIELDS, \
                  REV), \
     .about = SECRETS_ABOUT, \
     .examples = "anneal provider add lab --type dirs --set root=/srv --set-file key=key.txt"}, \
    {"provider", "set", "change fields of a provider", cmd_provider_set, S, \
     .routes = PROVIDER_ROUTES, \
     .args = {A_PROVIDER}, \
     .opts = OPTS(OPT("type", "TYPE", KIND_TEXT, "which type of plugin it is"), PROVIDER_FIELDS, \
                  MANY("unset", "FIELD", KIND_TEXT, "take the value of a field away"), REV), \
     .about = "Only what is named changes.  " SECRETS_ABOUT}, \
    {"provider", "remove", "forget what was said to a provider", cmd_provider_remove, S, \
     .routes = "GET /v1/providers/{provider}, DELETE /v1/providers/{provider}", \
     .args = {A_PROVIDER}, \
     .opts = OPTS(FLAG("yes", 'y', "do not ask"), REV)}, \
    {"plugin", "list", "list plugins", cmd_plugin_list, S, \
     .routes = "GET /v1/plugins", \
     .opts = OPTS(LIMIT), \
     .about = "Those that cannot be used too, with the reason."}, \
    {"plugin", "show", "show one plugin: its actions, and what it asks for", cmd_plugin_show, S, \
     .routes = "GET /v1/plugins/{plugin}", \
     .args = {{"NAME", KIND_PLUGIN, 0, "name of a plugin", NULL}}}, \
    {"plugin", "check", "hold a plugin against its descriptor and the protocol", \
     cmd_plugin_check, 0, \
     .args = {{"DIR", KIND_FILE, 0, "its directory, with plugin.yaml, perhaps tests.yaml", NULL}}, \
     .about = "Runs the plugin with nonsense, with the calls of tests.yaml, twice with the same " \
              "key, and ends it; looks for secrets in all that it said.  Needs no server.", \
     .examples = "anneal plugin check examples/plugins/dirs"}
/* clang-format on */

#endif
