/* verbs_plugin_i.h - rows of the verbs about providers and plugins, for verbs.c */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_VERBS_PLUGIN_I_H
#define CLI_VERBS_PLUGIN_I_H

#include "cli/verbs_row_i.h"

/* One argument a line reads better than filled lines. */
/* clang-format off */
#define A_PROVIDER {"NAME", KIND_PROVIDER, 0, "name of a provider", NULL}
#define A_RESOURCE \
    {"RESOURCE", KIND_TEXT, 0, "[[TYPE/]KIND/]NAME[@VERSION]", NULL}
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
     .examples = "anneal plugin check examples/plugins/dirs"}, \
    {"resource", "list", "list versions of resources", cmd_resource_list, S, \
     .routes = "GET /v1/resources", \
     .opts = OPTS(OPT("type", "TYPE", KIND_TEXT, "of this type of plugin"), \
                  OPT("kind", "KIND", KIND_TEXT, "of this kind"), \
                  OPT("name", "NAME", KIND_TEXT, "of this name"), \
                  {"state", "STATE", KIND_WORD, 0, 0, "in this state", \
                   "inactive|staged|active|recalled"}, LIMIT)}, \
    {"resource", "show", "show the versions of a resource, or one of them", cmd_resource_show, S, \
     .routes = "GET /v1/resources, GET /v1/resources/{id}", \
     .args = {A_RESOURCE}}, \
    {"resource", "upload", "upload a file: a new version, inactive", cmd_resource_upload, S, \
     .routes = "GET /v1/contents/{digest}, POST /v1/contents/{digest}, POST /v1/resources", \
     .args = {{"TYPE/KIND", KIND_TEXT, 0, "type of plugin, and kind that it declares", NULL}, \
              {"NAME", KIND_TEXT, 0, "its name", NULL}, \
              {"FILE", KIND_FILE, 0, "its content", NULL}}, \
     .about = "An upload that was interrupted goes on where it was.  A content that the newest " \
              "version has already makes no other one.", \
     .examples = "anneal resource upload dirs/images debian debian-12.tar.gz"}, \
    {"resource", "stage", "let a version be active at the next sync", cmd_resource_stage, S, \
     .routes = "GET /v1/resources, POST /v1/resources/{id}/stage", \
     .args = {A_RESOURCE}, \
     .about = "Without a version: the newest.  The one that is active is recalled."}, \
    {"resource", "recall", "let a version be inactive at the next sync", cmd_resource_recall, S, \
     .routes = "GET /v1/resources, POST /v1/resources/{id}/recall", \
     .args = {A_RESOURCE}, \
     .about = "Without a version: the one that is staged, else the one that is active."}, \
    {"resource", "sync", "make staged versions active, recalled ones inactive", \
     cmd_resource_sync, S, \
     .routes = "POST /v1/resource-sync", \
     .about = "All of them at once, or none.  Tasks that run keep what they have."}, \
    {"resource", "delete", "delete a version that is inactive", cmd_resource_delete, S, \
     .routes = "GET /v1/resources, DELETE /v1/resources/{id}", \
     .args = {A_RESOURCE}, \
     .opts = OPTS(FLAG("yes", 'y', "do not ask"), REV)}
/* clang-format on */

#endif
