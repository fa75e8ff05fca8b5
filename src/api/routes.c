/* routes.c - the one list of routes
 *
 * Lines of one path stand together, since OpenAPI groups methods by path.  A parameter's name
 * decides its schema (path_params below).  Success statuses say what the server's reply may turn
 * into: 204 without a body, 201 with a location, 202 while work goes on, 200 else. To add a route:
 * a line here, its schemas in schemas.json, its operation in server/server.h, a line in
 * docs/rfc/05-api.md, and a step in tests/contract/contract.py, which fails until it is exercised.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "api/api.h"
#include "api/book_i.h"

#include <string.h>

#define OP(name)            .id = #name, .op = server_##name
#define SPECIAL(name, what) .id = name, .special = API_SPECIAL_##what
#define DOC(group, text)    .tag = group, .summary = text
#define FOR(who)            .scope = SCOPE_##who
#define QUERY(...)                                                                                 \
    .query = (const struct api_param[])                                                            \
    {                                                                                              \
        __VA_ARGS__,                                                                               \
        {                                                                                          \
            0                                                                                      \
        }                                                                                          \
    }
#define TAKES(schema)           .request = schema
#define GIVES(schema, statuses) .response = schema, .success = (statuses)
#define GIVES_NOTHING           .success = API_204
#define LIST_OF(schema)         .response = schema, .success = API_200, .flags = API_LIST
#define FLAGS(f)                .flags = (f)
#define REFUSES(r)              .refuses = (r)

#define BY_NODE                                                                                    \
    {                                                                                              \
        "node", "NodeRef", "Of this node."                                                         \
    }
#define BY_ROLE                                                                                    \
    {                                                                                              \
        "role", "Name", "Of this role."                                                            \
    }
#define BY_DEPLOYMENT                                                                              \
    {                                                                                              \
        "deployment", "DeploymentRef", "Of this deployment."                                       \
    }
#define OF_GRAPH                                                                                   \
    {                                                                                              \
        "graph", "Name", "Over this graph; `default` unless told."                                 \
    }

/* clang-format off */
static const struct api_route routes[] = {
{API_GET, "/metrics", SPECIAL("metrics", METRICS), DOC("server", "Prometheus metrics"), FOR(NONE),
 GIVES(NULL, API_200), FLAGS(API_TEXT)},
{API_GET, "/v1/health", SPECIAL("health", HEALTH), DOC("server", "The process answers"), FOR(NONE),
 GIVES("Health", API_200)},
{API_GET, "/v1/ready", SPECIAL("ready", READY),
 DOC("server", "The server works; 503 until it does"), FOR(NONE), GIVES("Ready", API_200)},
{API_GET, "/v1/version", SPECIAL("version", VERSION), DOC("server", "What runs here"), FOR(NONE),
 GIVES("Version", API_200)},
{API_GET, "/v1/openapi.json", SPECIAL("openapi", OPENAPI), DOC("server", "This document"),
 FOR(NONE), GIVES("Document", API_200)},
{API_GET, "/v1/status", OP(status), DOC("server", "Counts, open operations, health of the store"),
 FOR(READ), GIVES("Status", API_200)},
{API_POST, "/v1/admin/backup", OP(admin_backup),
 DOC("server", "Back up all that the server needs to one archive"), FOR(ADMIN), TAKES("Backup"),
 GIVES("BackupResult", API_200 | API_202), REFUSES(API_409 | API_422)},
{API_POST, "/v1/admin/check", OP(admin_check), DOC("server", "Check the store"), FOR(ADMIN),
 GIVES("CheckResult", API_200)},
{API_POST, "/v1/admin/confirm-dead", OP(admin_confirm_dead),
 DOC("server", "The silent nodes are dead indeed"), FOR(ADMIN),
 GIVES("ConfirmDeadResult", API_200), REFUSES(API_409)},

{API_GET, "/v1/tokens", OP(token_list), DOC("tokens", "List tokens"), FOR(ADMIN), LIST_OF("Token")},
{API_POST, "/v1/tokens", OP(token_create),
 DOC("tokens", "Make a token; the only time its secret is shown"), FOR(ADMIN), TAKES("TokenCreate"),
 GIVES("Token", API_201), FLAGS(API_NO_STORE), REFUSES(API_409)},
{API_DELETE, "/v1/tokens/{id}", OP(token_revoke), DOC("tokens", "Revoke a token"), FOR(ADMIN),
 GIVES_NOTHING, REFUSES(API_409)},

{API_GET, "/v1/nodes", OP(node_list), DOC("nodes", "List nodes"), FOR(READ), LIST_OF("Node"),
 QUERY({"selector", "Selector", "Nodes that match."},
       {"state", "NoderoleState", "In this state."},
       {"alive", "AliveState", "Believed to be so."},
       BY_DEPLOYMENT)},
{API_POST, "/v1/nodes", OP(node_create), DOC("nodes", "Add a node"), FOR(OPERATE),
 TAKES("NodeCreate"), GIVES("Node", API_201), REFUSES(API_409 | API_422)},
{API_GET, "/v1/nodes/{node}", OP(node_get), DOC("nodes", "Read a node"), FOR(READ),
 GIVES("Node", API_200)},
{API_PATCH, "/v1/nodes/{node}", OP(node_patch), DOC("nodes", "Change a node"), FOR(OPERATE),
 TAKES("NodePatch"), GIVES("Node", API_200), FLAGS(API_IF_MATCH), REFUSES(API_409 | API_422)},
{API_DELETE, "/v1/nodes/{node}", OP(node_delete), DOC("nodes", "Remove a node"), FOR(OPERATE),
 GIVES("Operation", API_202 | API_204), FLAGS(API_IF_MATCH), REFUSES(API_409 | API_422),
 QUERY({"cascade", "Flag", "Take down what is on it first."})},
{API_POST, "/v1/nodes/{node}/report", OP(node_report), DOC("nodes", "Tell what a probe saw"),
 FOR(OPERATE), TAKES("NodeReport"), GIVES("Node", API_200), REFUSES(API_409 | API_422)},
{API_POST, "/v1/nodes/{node}/redeploy", OP(node_redeploy),
 DOC("nodes", "Begin from nothing: all that is on it runs again"), FOR(OPERATE),
 GIVES("Operation", API_202), REFUSES(API_409 | API_422)},
{API_POST, "/v1/announce", OP(announce), DOC("nodes", "A machine says that it is there"),
 FOR(ANNOUNCE), TAKES("Announce"), GIVES("Announced", API_200 | API_201),
 REFUSES(API_409 | API_422)},
{API_GET, "/v1/groups", OP(group_list), DOC("nodes", "List groups of nodes"), FOR(READ),
 LIST_OF("Group")},

{API_GET, "/v1/catalog", OP(catalog_get), DOC("catalog", "The live generation"), FOR(READ),
 GIVES("Catalog", API_200)},
{API_POST, "/v1/catalog", OP(catalog_load),
 DOC("catalog", "Load a generation, whole or not at all"), FOR(OPERATE), TAKES("CatalogLoad"),
 GIVES("Catalog", API_200 | API_201), REFUSES(API_409 | API_422)},
{API_GET, "/v1/catalog/generations", OP(catalog_generations), DOC("catalog", "List generations"),
 FOR(READ), LIST_OF("Catalog")},
{API_GET, "/v1/catalog/files", OP(catalog_files),
 DOC("catalog", "The files of the live generation, with what lies over its task graphs"), FOR(READ),
 GIVES("CatalogFiles", API_200),
 QUERY({"deployment", "DeploymentRef", "Also with what this deployment has over them."})},
{API_GET, "/v1/barclamps", OP(barclamp_list), DOC("catalog", "List barclamps"), FOR(READ),
 LIST_OF("Barclamp")},
{API_GET, "/v1/barclamps/{barclamp}/deployment_tasks", OP(barclamp_tasks),
 DOC("catalog", "Read what a barclamp has over a task graph"), FOR(READ),
 GIVES("TaskOverlay", API_200),
 QUERY(OF_GRAPH, {"version", "Count", "This one; the newest unless told, 0 is none."},
       {"merged", "Flag", "The whole graph that it gives."})},
{API_PUT, "/v1/barclamps/{barclamp}/deployment_tasks", OP(barclamp_tasks_set),
 DOC("catalog", "Lay other tasks over a task graph, whole or not at all"), FOR(OPERATE),
 TAKES("TaskOverlaySet"), GIVES("TaskOverlay", API_200), FLAGS(API_IF_MATCH),
 REFUSES(API_409 | API_422)},
{API_GET, "/v1/barclamps/{barclamp}/deployment_tasks/versions", OP(barclamp_tasks_versions),
 DOC("catalog", "List the versions of that, newest first"), FOR(READ),
 LIST_OF("TaskOverlayVersion"), QUERY(OF_GRAPH)},
{API_GET, "/v1/barclamps/{barclamp}/deployment_tasks/diff", OP(barclamp_tasks_diff),
 DOC("catalog", "What differs between the graphs that two versions give"), FOR(READ),
 GIVES("TaskOverlayDiff", API_200),
 QUERY(OF_GRAPH, {"from", "Count", "A version; the one before unless told, 0 is none."},
       {"to", "Count", "A version; the newest unless told."})},
{API_GET, "/v1/roles", OP(role_list), DOC("catalog", "List roles"), FOR(READ), LIST_OF("Role")},
{API_GET, "/v1/roles/{role}", OP(role_get), DOC("catalog", "Read a role"), FOR(READ),
 GIVES("Role", API_200)},
{API_GET, "/v1/roles/{role}/store", OP(role_store),
 DOC("catalog", "Read what hooks of a role keep"), FOR(READ), GIVES("RoleStore", API_200)},
{API_POST, "/v1/roles/{role}/rerun", OP(role_rerun),
 DOC("catalog", "Run a role again where it is bound"), FOR(OPERATE), TAKES("RoleRerun"),
 GIVES("Operation", API_200 | API_202), FLAGS(API_BODY_OPTIONAL), REFUSES(API_409 | API_422)},
{API_GET, "/v1/jigs", OP(jig_list), DOC("catalog", "List jigs"), FOR(READ), LIST_OF("Jig")},
{API_GET, "/v1/jigs/{jig}", OP(jig_get), DOC("catalog", "Read a jig"), FOR(READ),
 GIVES("Jig", API_200)},
{API_PATCH, "/v1/jigs/{jig}", OP(jig_patch), DOC("catalog", "Switch a jig on or off"), FOR(OPERATE),
 TAKES("JigPatch"), GIVES("Jig", API_200), FLAGS(API_IF_MATCH)},

{API_GET, "/v1/tenants", OP(tenant_list),
 DOC("tenants", "List tenants: all for the first one, itself for another"), FOR(READ),
 LIST_OF("Tenant")},
{API_POST, "/v1/tenants", OP(tenant_create), DOC("tenants", "Make a tenant"), FOR(ADMIN),
 TAKES("TenantCreate"), GIVES("Tenant", API_201), REFUSES(API_409 | API_422)},
{API_GET, "/v1/tenants/{tenant}", OP(tenant_get), DOC("tenants", "Read a tenant"), FOR(READ),
 GIVES("Tenant", API_200)},
{API_PATCH, "/v1/tenants/{tenant}", OP(tenant_patch),
 DOC("tenants", "Change how many places a tenant wishes for"), FOR(ADMIN), TAKES("TenantPatch"),
 GIVES("Tenant", API_200), FLAGS(API_IF_MATCH), REFUSES(API_422)},
{API_DELETE, "/v1/tenants/{tenant}", OP(tenant_delete),
 DOC("tenants", "Delete a tenant that has nothing left"), FOR(ADMIN), GIVES_NOTHING,
 FLAGS(API_IF_MATCH), REFUSES(API_409)},

{API_GET, "/v1/pools", OP(pool_list), DOC("pools", "List pools"), FOR(READ), LIST_OF("Pool")},
{API_GET, "/v1/pools/{pool}", OP(pool_get), DOC("pools", "Read a pool"), FOR(READ),
 GIVES("Pool", API_200)},
{API_PUT, "/v1/pools/{pool}", OP(pool_put), DOC("pools", "Set a pool; made if it is not there"),
 FOR(OPERATE), TAKES("PoolPut"), GIVES("Pool", API_200 | API_201), FLAGS(API_IF_MATCH),
 REFUSES(API_422)},

{API_GET, "/v1/providers", OP(provider_list),
 DOC("providers", "List providers; sensitive values are not shown"), FOR(READ),
 LIST_OF("Provider")},
{API_GET, "/v1/providers/{provider}", OP(provider_get), DOC("providers", "Read a provider"),
 FOR(READ), GIVES("Provider", API_200)},
{API_PUT, "/v1/providers/{provider}", OP(provider_put),
 DOC("providers", "Set fields of a provider; made if it is not there"), FOR(ADMIN),
 TAKES("ProviderPut"), GIVES("Provider", API_200 | API_201), FLAGS(API_IF_MATCH),
 REFUSES(API_409 | API_422)},
{API_DELETE, "/v1/providers/{provider}", OP(provider_delete),
 DOC("providers", "Forget what was said to a provider"), FOR(ADMIN), GIVES_NOTHING,
 FLAGS(API_IF_MATCH)},

{API_GET, "/v1/plugins", OP(plugin_list),
 DOC("providers", "List plugins, those that cannot be used included"), FOR(READ),
 LIST_OF("Plugin")},
{API_GET, "/v1/plugins/{plugin}", OP(plugin_get), DOC("providers", "Read a plugin"), FOR(READ),
 GIVES("Plugin", API_200)},

{API_GET, "/v1/resources", OP(resource_list),
 DOC("resources", "List versions of what plugins work with"), FOR(READ), LIST_OF("Resource"),
 QUERY({"type", "Name", "Of this type of plugin."}, {"kind", "Name", "Of this kind."},
       {"name", "Name", "Of this name."}, {"state", "ResourceState", "In this state."})},
{API_POST, "/v1/resources", OP(resource_create),
 DOC("resources", "Make a version of a content that was uploaded"), FOR(ADMIN),
 TAKES("ResourceCreate"), GIVES("Resource", API_200 | API_201), REFUSES(API_422)},
{API_GET, "/v1/resources/{id}", OP(resource_get), DOC("resources", "Read a version"), FOR(READ),
 GIVES("Resource", API_200)},
{API_DELETE, "/v1/resources/{id}", OP(resource_delete),
 DOC("resources", "Delete a version that is inactive"), FOR(ADMIN), GIVES_NOTHING,
 FLAGS(API_IF_MATCH), REFUSES(API_409)},
{API_POST, "/v1/resources/{id}/stage", OP(resource_stage),
 DOC("resources", "Let it be active at the next sync"), FOR(ADMIN), GIVES("Resource", API_200)},
{API_POST, "/v1/resources/{id}/recall", OP(resource_recall),
 DOC("resources", "Let it be inactive at the next sync"), FOR(ADMIN), GIVES("Resource", API_200)},
{API_POST, "/v1/resource-sync", OP(resource_sync),
 DOC("resources", "What is staged becomes active, what is recalled inactive; all or nothing"),
 FOR(ADMIN), GIVES("ResourceSync", API_200), REFUSES(API_409)},
{API_GET, "/v1/contents/{digest}", OP(content_get),
 DOC("resources", "How far a content was uploaded"), FOR(READ), GIVES("Content", API_200)},
{API_POST, "/v1/contents/{digest}", OP(content_put),
 DOC("resources", "Upload a part of a content, behind what is there"), FOR(ADMIN),
 TAKES("ContentPart"), GIVES("Content", API_200), REFUSES(API_409 | API_422)},

{API_GET, "/v1/clusters", OP(cluster_list), DOC("clusters", "List clusters"), FOR(READ),
 LIST_OF("Cluster"), QUERY({"state", "ClusterState", "Only those in this state."})},
{API_POST, "/v1/clusters", OP(cluster_create),
 DOC("clusters", "Make a cluster from a template, or see what that would be"), FOR(OPERATE),
 TAKES("ClusterCreate"), GIVES("ClusterResult", API_200 | API_201 | API_202),
 REFUSES(API_409 | API_422)},
{API_GET, "/v1/clusters/{cluster}", OP(cluster_get), DOC("clusters", "Read a cluster"), FOR(READ),
 GIVES("Cluster", API_200)},
{API_PATCH, "/v1/clusters/{cluster}", OP(cluster_patch),
 DOC("clusters", "Prolong or shorten a cluster's lease"), FOR(OPERATE), TAKES("ClusterPatch"),
 GIVES("Cluster", API_200), FLAGS(API_IF_MATCH), REFUSES(API_409 | API_422)},
{API_POST, "/v1/clusters/{cluster}/{verb}", OP(cluster_operate),
 DOC("clusters", "Expand, shrink, add-service, remove-service, configure, start, stop, restart, "
                 "upgrade, rollback, act or delete"),
 FOR(OPERATE), TAKES("ClusterOperate"), GIVES("ClusterResult", API_200 | API_202),
 FLAGS(API_BODY_OPTIONAL), REFUSES(API_409 | API_422)},

{API_GET, "/v1/deployments", OP(deployment_list), DOC("deployments", "List deployments"), FOR(READ),
 LIST_OF("Deployment")},
{API_POST, "/v1/deployments", OP(deployment_create), DOC("deployments", "Make a deployment"),
 FOR(OPERATE), TAKES("DeploymentCreate"), GIVES("Deployment", API_201), REFUSES(API_409 | API_422)},
{API_GET, "/v1/deployments/{deployment}", OP(deployment_get),
 DOC("deployments", "Read a deployment"), FOR(READ), GIVES("Deployment", API_200)},
{API_PATCH, "/v1/deployments/{deployment}", OP(deployment_patch),
 DOC("deployments", "Change a deployment"), FOR(OPERATE), TAKES("DeploymentPatch"),
 GIVES("Deployment", API_200), FLAGS(API_IF_MATCH)},
{API_DELETE, "/v1/deployments/{deployment}", OP(deployment_delete),
 DOC("deployments", "Remove an empty deployment"), FOR(OPERATE), GIVES_NOTHING, FLAGS(API_IF_MATCH),
 REFUSES(API_409 | API_422)},
{API_GET, "/v1/deployments/{deployment}/snapshots", OP(deployment_snapshots),
 DOC("deployments", "List what was and is wanted of a deployment, newest first"), FOR(READ),
 LIST_OF("Snapshot")},
{API_GET, "/v1/deployments/{deployment}/diff", OP(deployment_diff),
 DOC("deployments", "What differs between two snapshots, or would by the proposal"), FOR(READ),
 GIVES("Diff", API_200),
 QUERY({"from", "SnapshotRef", "A number, head (default) or proposal."},
       {"to", "SnapshotRef", "A number, head or proposal (default, if there is one)."})},
{API_POST, "/v1/deployments/{deployment}/proposal", OP(deployment_propose),
 DOC("deployments", "Begin a proposal"), FOR(OPERATE), TAKES("Propose"),
 GIVES("Snapshot", API_201), FLAGS(API_BODY_OPTIONAL), REFUSES(API_409 | API_422)},
{API_GET, "/v1/deployments/{deployment}/proposal", OP(deployment_proposal),
 DOC("deployments", "Read the proposal"), FOR(READ), GIVES("Snapshot", API_200)},
{API_PATCH, "/v1/deployments/{deployment}/proposal", OP(deployment_edit),
 DOC("deployments", "Change the proposal, whole or not at all"), FOR(OPERATE), TAKES("Edits"),
 GIVES("Snapshot", API_200), FLAGS(API_IF_MATCH), REFUSES(API_409 | API_422)},
{API_DELETE, "/v1/deployments/{deployment}/proposal", OP(deployment_recall),
 DOC("deployments", "Drop the proposal"), FOR(OPERATE), GIVES_NOTHING, FLAGS(API_IF_MATCH),
 REFUSES(API_409 | API_422)},
{API_POST, "/v1/deployments/{deployment}/commit", OP(deployment_commit),
 DOC("deployments", "Make the proposal what is wanted"), FOR(OPERATE), TAKES("Commit"),
 GIVES("CommitResult", API_200 | API_202), FLAGS(API_BODY_OPTIONAL), REFUSES(API_409 | API_422)},
{API_POST, "/v1/deployments/{deployment}/unbind", OP(deployment_unbind),
 DOC("deployments", "Take roles off nodes, whole or not at all"), FOR(OPERATE), TAKES("Unbind"),
 GIVES("CommitResult", API_200 | API_202), REFUSES(API_409 | API_422)},
{API_POST, "/v1/deployments/{deployment}/deploy", OP(deployment_deploy),
 DOC("deployments", "Run a task graph on the nodes of a deployment"), FOR(OPERATE),
 TAKES("Deploy"), GIVES("DeployResult", API_200 | API_202), FLAGS(API_BODY_OPTIONAL),
 REFUSES(API_409 | API_422)},
{API_GET, "/v1/deployments/{deployment}/graph", OP(deployment_graph),
 DOC("deployments", "A task graph laid over the nodes of a deployment"), FOR(READ),
 GIVES("GraphView", API_200), REFUSES(API_409 | API_422),
 QUERY({"graph", "GraphName", "Which of its graphs; default: default."},
       {"format", "GraphFormat", "json (default), dot, stages, roles or node."},
       {"node", "Text", "With format node: whose part."})},
{API_POST, "/v1/deployments/{deployment}/bind", OP(deployment_bind),
 DOC("deployments", "Bind roles to nodes, whole or not at all"), FOR(OPERATE), TAKES("Bind"),
 GIVES("BindResult", API_200 | API_202), REFUSES(API_409 | API_422)},
{API_GET, "/v1/deployments/{deployment}/deployment_tasks", OP(deployment_tasks),
 DOC("deployments", "Read what a deployment has over a task graph"), FOR(READ),
 GIVES("TaskOverlay", API_200),
 QUERY(OF_GRAPH, {"version", "Count", "This one; the newest unless told, 0 is none."},
       {"merged", "Flag", "The whole graph that it gives."})},
{API_PUT, "/v1/deployments/{deployment}/deployment_tasks", OP(deployment_tasks_set),
 DOC("deployments", "Lay other tasks over a task graph, whole or not at all"), FOR(OPERATE),
 TAKES("TaskOverlaySet"), GIVES("TaskOverlay", API_200), FLAGS(API_IF_MATCH),
 REFUSES(API_409 | API_422)},
{API_GET, "/v1/deployments/{deployment}/deployment_tasks/versions", OP(deployment_tasks_versions),
 DOC("deployments", "List the versions of that, newest first"), FOR(READ),
 LIST_OF("TaskOverlayVersion"), QUERY(OF_GRAPH)},
{API_GET, "/v1/deployments/{deployment}/deployment_tasks/diff", OP(deployment_tasks_diff),
 DOC("deployments", "What differs between the graphs that two versions give"), FOR(READ),
 GIVES("TaskOverlayDiff", API_200),
 QUERY(OF_GRAPH, {"from", "Count", "A version; the one before unless told, 0 is none."},
       {"to", "Count", "A version; the newest unless told."})},

{API_GET, "/v1/noderoles", OP(noderole_list), DOC("noderoles", "List noderoles"), FOR(READ),
 LIST_OF("Noderole"),
 QUERY({"state", "NoderoleState", "In this state."}, BY_ROLE, BY_NODE, BY_DEPLOYMENT)},
{API_GET, "/v1/noderoles/{id}", OP(noderole_get), DOC("noderoles", "Read a noderole"), FOR(READ),
 GIVES("Noderole", API_200)},
{API_PUT, "/v1/noderoles/{id}/data", OP(noderole_data), DOC("noderoles", "Replace its user data"),
 FOR(OPERATE), TAKES("Document"), GIVES("Noderole", API_200 | API_202), FLAGS(API_IF_MATCH),
 REFUSES(API_409 | API_422)},
{API_GET, "/v1/noderoles/{id}/data", OP(noderole_visible),
 DOC("noderoles", "What its runs see, or where one value comes from"), FOR(READ),
 GIVES("NoderoleData", API_200),
 QUERY({"explain", "DataPath", "Only this path, with every layer that has a value there."})},
{API_POST, "/v1/noderoles/{id}/rerun", OP(noderole_rerun), DOC("noderoles", "Run it again"),
 FOR(OPERATE), GIVES("Operation", API_200 | API_202), REFUSES(API_409 | API_422)},
{API_POST, "/v1/noderoles/{id}/retry", OP(noderole_retry),
 DOC("noderoles", "Retry what failed in it"), FOR(OPERATE), GIVES("Noderole", API_200 | API_202),
 REFUSES(API_409 | API_422)},
{API_POST, "/v1/noderoles/{id}/abandon", OP(noderole_abandon),
 DOC("noderoles", "Count a removal as done that cannot be"), FOR(OPERATE), TAKES("Abandon"),
 GIVES("Abandoned", API_200), FLAGS(API_BODY_OPTIONAL), REFUSES(API_409)},

{API_GET, "/v1/operations", OP(operation_list), DOC("operations", "List operations"), FOR(READ),
 LIST_OF("Operation"), QUERY({"state", "OperationState", "In this state."})},
{API_GET, "/v1/operations/{id}", OP(operation_get), DOC("operations", "Read an operation"),
 FOR(READ), GIVES("Operation", API_200)},
{API_POST, "/v1/operations/{id}/cancel", OP(operation_cancel),
 DOC("operations", "Start nothing more of it"), FOR(OPERATE), TAKES("OperationCancel"),
 GIVES("Operation", API_200 | API_202), FLAGS(API_BODY_OPTIONAL), REFUSES(API_409)},
{API_POST, "/v1/operations/{id}/retry", OP(operation_retry),
 DOC("operations", "Retry what failed in it"), FOR(OPERATE), GIVES("Operation", API_200 | API_202),
 REFUSES(API_409 | API_422)},
{API_POST, "/v1/operations/{id}/resume", OP(operation_resume),
 DOC("operations", "Lift the hold of a cancelled one, or go on with a roll-out that stopped"),
 FOR(OPERATE), TAKES("OperationResume"), GIVES("Operation", API_200 | API_202),
 FLAGS(API_BODY_OPTIONAL), REFUSES(API_409 | API_422)},
{API_GET, "/v1/operations/{id}/history", OP(operation_history),
 DOC("operations", "What ran in it, in the order of starts"), FOR(READ), LIST_OF("HistoryItem"),
 QUERY(BY_NODE, {"task", "Text", "Of tasks with this name."},
       {"state", "TaskState", "Of tasks in this state now."},
       {"failed", "Flag", "Attempts that failed."},
       {"all", "Flag", "Behind them, tasks that had no attempt in it."})},
{API_GET, "/v1/operations/{id}/timeline", OP(operation_timeline),
 DOC("operations", "When what ran on which node, and the longest chain"), FOR(READ),
 GIVES("Timeline", API_200), QUERY({"limit", "Limit", "No more than this many attempts."})},

{API_GET, "/v1/tasks", OP(task_list), DOC("tasks", "List tasks"), FOR(READ), LIST_OF("Task"),
 QUERY({"state", "TaskState", "In this state."}, BY_NODE,
       {"operation", "Id", "Of this operation."}, {"noderole", "Id", "Of this noderole."})},
{API_GET, "/v1/tasks/{id}", OP(task_get), DOC("tasks", "Read a task"), FOR(READ),
 GIVES("Task", API_200)},
{API_POST, "/v1/tasks/{id}/retry", OP(task_retry), DOC("tasks", "Retry it with a fresh budget"),
 FOR(OPERATE), GIVES("Task", API_200 | API_202), REFUSES(API_409 | API_422)},
{API_POST, "/v1/tasks/{id}/poke", OP(task_poke), DOC("tasks", "Ask a waiting one again now"),
 FOR(OPERATE), GIVES("Task", API_200 | API_202), REFUSES(API_409)},
{API_POST, "/v1/tasks/{id}/resolve", OP(task_resolve),
 DOC("tasks", "Say what became of an uncertain one"), FOR(OPERATE), TAKES("TaskResolve"),
 GIVES("Task", API_200 | API_202), REFUSES(API_409)},
{API_GET, "/v1/tasks/{id}/attempts", OP(task_attempts), DOC("tasks", "List its attempts"),
 FOR(READ), LIST_OF("Attempt")},
{API_GET, "/v1/tasks/{id}/attempts/{number}/log", SPECIAL("attempt_log", LOG),
 DOC("tasks", "What an attempt printed"), FOR(READ), GIVES(NULL, API_200), FLAGS(API_TEXT),
 QUERY({"from", "Count", "Skip this many bytes."},
       {"follow", "Flag", "Go on until the attempt has ended."})},

{API_GET, "/v1/workers", OP(worker_list), DOC("workers", "List workers"), FOR(READ),
 LIST_OF("Worker")},
{API_POST, "/v1/worker-tokens", OP(worker_token),
 DOC("workers", "Make a token that one worker may join with, once"), FOR(ADMIN),
 TAKES("WorkerInvite"), GIVES("WorkerToken", API_200),
 FLAGS(API_BODY_OPTIONAL | API_NO_STORE)},
{API_POST, "/v1/join", OP(worker_join),
 DOC("workers", "Trade such a token for a credential"), FOR(NONE), TAKES("WorkerJoin"),
 GIVES("WorkerJoined", API_200), FLAGS(API_NO_STORE), REFUSES(API_409 | API_422)},
{API_GET, "/v1/workers/{worker}", OP(worker_get), DOC("workers", "Read a worker"), FOR(READ),
 GIVES("Worker", API_200)},
{API_PATCH, "/v1/workers/{worker}", OP(worker_patch),
 DOC("workers", "Drain a worker, or change its labels"), FOR(OPERATE), TAKES("WorkerPatch"),
 GIVES("Worker", API_200), FLAGS(API_IF_MATCH), REFUSES(API_409)},
{API_DELETE, "/v1/workers/{worker}", OP(worker_delete),
 DOC("workers", "Remove a worker; its credential is of no use any more"), FOR(ADMIN),
 GIVES_NOTHING, FLAGS(API_IF_MATCH), REFUSES(API_409)},
{API_POST, "/v1/workers/{worker}/poll", SPECIAL("worker_poll", WORKER_POLL),
 DOC("workers", "Fetch what is for this worker, waiting for it"), FOR(WORKER), TAKES("WorkerPoll"),
 GIVES("WorkerBatch", API_200), FLAGS(API_NO_STORE), REFUSES(API_409)},
{API_POST, "/v1/workers/{worker}/messages", SPECIAL("worker_messages", WORKER_MESSAGES),
 DOC("workers", "Bring what this worker has to say"), FOR(WORKER), TAKES("WorkerMessages"),
 GIVES("WorkerTaken", API_200), FLAGS(API_NO_STORE), REFUSES(API_409)},
{API_GET, "/v1/events", SPECIAL("events", EVENTS), DOC("events", "Read or follow the journal"),
 FOR(READ), GIVES("EventList", API_200),
 QUERY({"since", "Count", "Events after this number; a stream starts now, a list at the oldest."},
       {"limit", "Limit", "At most so many; lists only."})},
{API_GET, "/v1/why/{kind}/{object}", OP(why), DOC("server", "Why is it as it is?"), FOR(READ),
 GIVES("Why", API_200)},
};

/* What a name in braces stands for, wherever it stands. */
static const struct api_param path_params[] = {
    {"node", "NodeRef", "Name or id of a node."},
    {"deployment", "DeploymentRef", "Name or id of a deployment."},
    {"cluster", "DeploymentRef", "Name or id of a cluster."},
    {"verb", "Name", "What is to be done with it."},
    {"role", "Name", "Name of a role."},
    {"barclamp", "Name", "Name of a barclamp."},
    {"jig", "Name", "Name of a jig."},
    {"pool", "Name", "Name of a pool."},
    {"provider", "Name", "Name of a provider."},
    {"plugin", "Name", "Name of a plugin."},
    {"worker", "Name", "Name of a worker."},
    {"digest", "Digest", "BLAKE2b-128 of the content."},
    {"tenant", "Name", "Name of a tenant."},
    {"id", "Id", "Its id."},
    {"number", "Id", "Number of an attempt, from 1."},
    {"kind", "WhyKind", "What kind of object."},
    {"object", "Text", "Its id or name; role@node for a binding."},
};
/* Of every list. */
static const struct api_param page_params[] = {
    {"limit", "Limit", "At most so many items; 100 unless told."},
    {"after", "Cursor", "Items after this cursor."},
    {0},
};
/* clang-format on */

const struct api_route *api_route_at(size_t i)
{
    return i < api_route_count() ? &routes[i] : NULL;
}

size_t api_route_count(void)
{
    return sizeof routes / sizeof *routes;
}

const struct api_param *api_path_param(struct str name)
{
    for (size_t i = 0; i < sizeof path_params / sizeof *path_params; i++)
        if (str_is(name, path_params[i].name))
            return &path_params[i];
    return NULL;
}

const struct api_param *api_page_params(void)
{
    return page_params;
}

bool api_keeps_answers(const struct api_route *r)
{
    return r->method == API_POST && !(r->flags & API_NO_STORE);
}

const char *api_method_name(enum api_method m)
{
    static const char *const names[] = {
#define X(id) #id,
        API_METHODS(X)
#undef X
    };
    return m < API_METHOD_COUNT ? names[m] : "?";
}

const char *api_scope_name(enum scope s)
{
    static const char *const names[] = {
        [SCOPE_NONE] = "none", [SCOPE_WORKER] = "worker",   [SCOPE_ANNOUNCE] = "announce",
        [SCOPE_READ] = "read", [SCOPE_OPERATE] = "operate", [SCOPE_ADMIN] = "admin",
    };
    return s <= SCOPE_ADMIN ? names[s] : "?";
}
