/* verbs_tenant_i.h - rows of the verbs about tenants, for verbs.c */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_VERBS_TENANT_I_H
#define CLI_VERBS_TENANT_I_H

#include "cli/verbs_row_i.h"

/* One argument a line reads better than filled lines. */
/* clang-format off */
#define A_TENANT {"NAME", KIND_TENANT, 0, "name of a tenant", NULL}
#define PLACES(help) OPT("places", "N", KIND_NUMBER, help)

#define TENANT_ROWS \
    {"tenant", "list", "list tenants", cmd_tenant_list, S, \
     .routes = "GET /v1/tenants", \
     .opts = OPTS(LIMIT)}, \
    {"tenant", "show", "show one tenant: what it wishes for, has and uses", cmd_tenant_show, S, \
     .routes = "GET /v1/tenants/{tenant}", \
     .args = {A_TENANT}}, \
    {"tenant", "add", "make a tenant", cmd_tenant_add, S, \
     .routes = "POST /v1/tenants", \
     .args = {{"NAME", KIND_TEXT, 0, "its name", NULL}}, \
     .opts = OPTS(PLACES("places of workers that it wishes for (default: 0, what others leave)")), \
     .about = "A wish is met as long as workers offer enough; if they offer less, every tenant " \
              "has less in proportion.  Tenants without a wish share the rest.  Refused if " \
              "workers do not offer as many as all tenants wish for together.", \
     .examples = "anneal tenant add research --places 20\n" \
                 "anneal token add ci --tenant research --scope operate"}, \
    {"tenant", "set", "change how many places a tenant wishes for", cmd_tenant_set, S, \
     .routes = "GET /v1/tenants/{tenant}, PATCH /v1/tenants/{tenant}", \
     .args = {A_TENANT}, \
     .opts = OPTS(PLACES("places of workers that it wishes for; 0: none of its own"), REV), \
     .about = "What runs already runs on."}, \
    {"tenant", "delete", "delete a tenant", cmd_tenant_delete, S, \
     .routes = "GET /v1/tenants/{tenant}, DELETE /v1/tenants/{tenant}", \
     .args = {A_TENANT}, \
     .opts = OPTS(FLAG("yes", 'y', "do not ask"), REV), \
     .about = "Refused while it has unfinished operations, places, workers, resources, providers " \
              "or tokens that work; the answer names them."}
/* clang-format on */

#endif
