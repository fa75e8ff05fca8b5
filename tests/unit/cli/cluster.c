/* cluster.c - see cluster.h */
/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster.h"

#define POOL                                                                                       \
    "{\"name\":\"p1\",\"size\":4,\"taken\":2,\"elsewhere\":0,\"closed\":true,\"note\":\"quota\","  \
    "\"waiting\":1,\"rev\":5}"
#define RESOURCE                                                                                   \
    "{\"id\":7,\"type\":\"dirs\",\"kind\":\"images\",\"name\":\"debian\",\"version\":2,"           \
    "\"state\":\"inactive\",\"digest\":\"cae66941d9efbd404e4d88758ea67670\",\"size\":0,"           \
    "\"created_at\":\"2026-01-02T03:04:05.678Z\",\"rev\":1}"
#define TENANT "{\"name\":\"lab\",\"places\":4,\"share\":3,\"used\":2,\"short\":true,\"rev\":7}"
#define PROVIDER                                                                                   \
    "{\"name\":\"lab\",\"type\":\"dirs\",\"fields\":{\"root\":\"/srv\",\"key\":\"***\"},"          \
    "\"sensitive\":[\"key\"],\"created_at\":\"2024-05-01T12:00:00Z\",\"rev\":3}"
#define PLUGIN                                                                                     \
    "{\"name\":\"dirs\",\"type\":\"provider\",\"version\":\"1.0\",\"description\":\"machines\","   \
    "\"directory\":\"/p/"                                                                          \
    "dirs\",\"dry_run\":true,\"actions\":[{\"name\":\"create\",\"timeout_ms\":1000,"               \
    "\"repeat\":\"token\",\"probe\":\"\"}],\"serves\":[{\"name\":\"dirs\",\"fields\":[{\"name\":"  \
    "\"root\",\"by\":\"admin\",\"label\":\"\",\"type\":\"text\",\"tip\":\"\",\"override\":true,"   \
    "\"sensitive\":false,\"options\":null,\"default\":null}],\"required\":{\"user\":[],\"admin\":" \
    "[]}}],\"fault\":null}"
#define JIG                                                                                        \
    "{\"name\":\"ssh\",\"implementation\":\"script\",\"implementor\":null,\"active\":false,"       \
    "\"reach\":\"node\",\"workers\":2,\"running\":1,\"waiting\":3,\"rev\":6}"
#define ROLE                                                                                       \
    "{\"name\":\"web\",\"barclamp\":\"site\",\"jig\":\"ssh\",\"requires\":[\"machine\"],"          \
    "\"uses\":[],\"provides\":[\"http\"],\"conflicts\":[],\"flags\":[\"milestone\"],"              \
    "\"strategy\":null,\"attributes\":{\"port\":{\"default\":80}},\"actions\":{\"converge\":[]},"  \
    "\"description\":\"a web server\"}"
#define DEPLOYMENT                                                                                 \
    "{\"id\":4,\"name\":\"prod\",\"parent\":\"system\",\"description\":\"production\",\"rev\":8,"  \
    "\"noderoles\":{\"ACTIVE\":3,\"ERROR\":1}}"
#define CATALOG                                                                                    \
    "{\"generation\":7,\"digest\":\"abc\",\"origin\":\"/srv/catalog\","                            \
    "\"loaded_at\":\"2023-11-14T22:13:00.000Z\",\"barclamps\":1,\"roles\":3,\"tasks\":9,"          \
    "\"report\":[{\"severity\":\"warning\",\"at\":\"roles/web.yaml:3:5\",\"text\":\"unused\","     \
    "\"line\":\"  - web\",\"hint\":\"leave it out\"}]}"
#define TOKEN(rest)                                                                                \
    "{\"id\":2,\"name\":\"ci\",\"scope\":\"operate\",\"tenant\":\"default\",\"created_at\":"       \
    "\"2023-11-14T22:13:00.000Z\","                                                                \
    "\"revoked\":false" rest "}"
#define SNAPSHOT                                                                                   \
    "{\"id\":4,\"deployment\":\"prod\",\"number\":2,\"state\":\"committed\",\"author\":\"ann\","   \
    "\"message\":\"bind 2 noderoles in prod\",\"catalog\":3,\"operation\":7,\"entries\":12,"       \
    "\"created_at\":null,\"ended_at\":null}"
#define OVERLAY_HEAD                                                                               \
    "{\"deployment\":\"prod\",\"barclamp\":null,\"graph\":\"default\",\"version\":2,"              \
    "\"author\":\"ann\",\"created_at\":\"2023-11-14T22:13:00.000Z\",\"message\":\"wait\","
#define OVERLAY                                                                                    \
    OVERLAY_HEAD "\"merged\":false,\"tasks\":[{\"id\":\"a\",\"type\":\"stage\"}],"                 \
                 "\"text\":\"# ours\\n- {id: a, type: stage}\",\"rev\":2}"
#define OVERLAY_SET                                                                                \
    OVERLAY_HEAD "\"merged\":false,\"tasks\":[{\"id\":\"a\",\"type\":\"stage\"}],\"text\":\"\","   \
                 "\"rev\":3,\"changed\":true,\"report\":[{\"severity\":\"warning\","               \
                 "\"at\":\"deployment_tasks of prod:1:3\",\"text\":\"doubtful\"}]}"
#define OVERLAY_DIFF                                                                               \
    "{\"graph\":\"default\",\"from\":1,\"to\":2,\"added\":[{\"id\":\"new\",\"after\":{}}],"        \
    "\"removed\":[{\"id\":\"old\",\"before\":{}}],\"changed\":[{\"id\":\"a\",\"keys\":[\"role\"]," \
    "\"before\":{\"id\":\"a\",\"role\":\"x\"},\"after\":{\"id\":\"a\",\"role\":\"y\"}}]}"
#define WORKER                                                                                     \
    "{\"name\":\"w1\",\"state\":\"attached\",\"capacity\":64,\"running\":3,"                       \
    "\"labels\":{\"rack\":\"r1\"},\"jigs\":[\"ssh\",\"noop\"],\"last_seen_ms\":4100,"              \
    "\"draining\":false,\"created_at\":\"2026-01-02T03:04:05.000Z\",\"rev\":2}"

#define CLUSTER_DONE CLUSTER_RESULT(OPERATION_JSON("running", 1, 0, 1))
#define REVISION(n, state)                                                                         \
    "{\"id\":4,\"deployment\":\"shop\",\"number\":" #n ",\"state\":\"" state                       \
    "\",\"catalog\":3,\"message\":\"m" #n "\"}"

static const struct {
    const char *route;
    int status;
    const char *body;
} answers[] = {
    {"GET /v1/version", 200, "{\"version\":\"9.9\",\"api\":\"v1\"}"},
    {"GET /v1/openapi.json", 200, "{\"openapi\":\"3.1.0\"}"},
    {"GET /v1/status", 200, STATUS_JSON},
    {"GET /v1/nodes", 200, LIST(NODE_JSON)},
    {"POST /v1/nodes", 201, NODE_JSON},
    {"GET /v1/nodes/n1", 200, NODE_JSON},
    {"PATCH /v1/nodes/n1", 200, NODE_JSON},
    {"DELETE /v1/nodes/n1", 204, ""},
    {"POST /v1/nodes/n1/report", 200, NODE_JSON},
    {"POST /v1/nodes/n1/redeploy", 202, OPERATION_JSON("running", 1, 0, 1)},
    {"POST /v1/announce", 201, "{\"id\":4,\"name\":\"n4\",\"new\":true}"},
    {"GET /v1/groups", 200, LIST("{\"name\":\"db\",\"count\":3}")},
    {"GET /v1/catalog", 200, CATALOG},
    {"POST /v1/catalog", 201, CATALOG},
    {"GET /v1/catalog/generations", 200, LIST(CATALOG)},
    {"GET /v1/barclamps", 200,
     LIST("{\"name\":\"site\",\"version\":\"1\",\"description\":\"ours\",\"roles\":[\"web\"]}")},
    {"GET /v1/catalog/files", 200,
     "{\"generation\":7,\"deployment\":null,\"overlays\":[\"site/graph_overlays/000001.yaml\"],"
     "\"files\":{\"site/barclamp.yaml\":\"barclamp: site\\n\","
     "\"site/graph_overlays/000001.yaml\":\"- {id: a, type: stage}\\n\"}}"},
    {"GET /v1/barclamps/site/deployment_tasks", 200, OVERLAY},
    {"PUT /v1/barclamps/site/deployment_tasks", 200, OVERLAY_SET},
    {"GET /v1/barclamps/site/deployment_tasks/versions", 200, LIST(OVERLAY_HEAD "\"tasks\":1}")},
    {"GET /v1/barclamps/site/deployment_tasks/diff", 200, OVERLAY_DIFF},
    {"GET /v1/deployments/prod/deployment_tasks", 200, OVERLAY},
    {"PUT /v1/deployments/prod/deployment_tasks", 200, OVERLAY_SET},
    {"GET /v1/deployments/prod/deployment_tasks/versions", 200, LIST(OVERLAY_HEAD "\"tasks\":1}")},
    {"GET /v1/deployments/prod/deployment_tasks/diff", 200, OVERLAY_DIFF},
    {"GET /v1/roles", 200, LIST(ROLE)},
    {"GET /v1/roles/web", 200, ROLE},
    {"GET /v1/roles/web/store", 200,
     "{\"role\":\"web\",\"rev\":4,\"store\":{\"taken\":{\"n1\":\"10.0.0.1\"}}}"},
    {"POST /v1/roles/web/rerun", 202, OPERATION_JSON("running", 1, 0, 1)},
    {"GET /v1/jigs", 200, LIST(JIG)},
    {"GET /v1/jigs/ssh", 200, JIG},
    {"PATCH /v1/jigs/ssh", 200, JIG},
    {"GET /v1/pools", 200, LIST(POOL)},
    {"GET /v1/pools/p1", 200, POOL},
    {"PUT /v1/pools/p1", 200, POOL},
    {"PUT /v1/pools/p2", 201, POOL},
    {"GET /v1/tenants", 200, LIST(TENANT)},
    {"POST /v1/tenants", 201, TENANT},
    {"GET /v1/tenants/lab", 200, TENANT},
    {"PATCH /v1/tenants/lab", 200, TENANT},
    {"DELETE /v1/tenants/lab", 204, ""},
    {"GET /v1/providers", 200, LIST(PROVIDER)},
    {"GET /v1/providers/lab", 200, PROVIDER},
    {"PUT /v1/providers/lab", 200, PROVIDER},
    {"PUT /v1/providers/lab2", 201, PROVIDER},
    {"DELETE /v1/providers/lab", 204, ""},
    {"GET /v1/plugins", 200, LIST(PLUGIN)},
    {"GET /v1/plugins/dirs", 200, PLUGIN},
    {"GET /v1/resources", 200, LIST(RESOURCE)},
    {"GET /v1/resources/7", 200, RESOURCE},
    {"POST /v1/resources", 201, RESOURCE},
    {"POST /v1/resources/7/stage", 200, RESOURCE},
    {"POST /v1/resources/7/recall", 200, RESOURCE},
    {"DELETE /v1/resources/7", 204, ""},
    {"POST /v1/resource-sync", 200, "{\"activated\":1,\"deactivated\":0}"},
    {"GET /v1/contents/cae66941d9efbd404e4d88758ea67670", 200,
     "{\"digest\":\"cae66941d9efbd404e4d88758ea67670\",\"received\":0,\"complete\":false}"},
    {"POST /v1/contents/cae66941d9efbd404e4d88758ea67670", 200,
     "{\"digest\":\"cae66941d9efbd404e4d88758ea67670\",\"received\":0,\"complete\":true}"},
    {"GET /v1/deployments", 200, LIST(DEPLOYMENT)},
    {"POST /v1/deployments", 201, DEPLOYMENT},
    {"GET /v1/deployments/prod", 200, DEPLOYMENT},
    {"PATCH /v1/deployments/prod", 200, DEPLOYMENT},
    {"DELETE /v1/deployments/prod", 204, ""},
    {"POST /v1/deployments/prod/bind", 202,
     "{\"operation\":" OPERATION_JSON(
         "running", 1, 0,
         1) ",\"steps\":[{\"role\":\"web\",\"node\":\"n1\",\"why\":\"requested\","
            "\"parents\":[{\"wanted\":\"database\",\"noderole\":\"database@n2\",\"found\":\"in the "
            "deployment\"},{\"wanted\":\"sql\",\"noderole\":\"database@n2\",\"found\":\"peer\","
            "\"used\":true}]},{\"role\":\"ntp\",\"node\":\"n1\",\"why\":\"required\",\"by\":\"web@"
            "n1\"},"
            "{\"role\":\"dns\",\"node\":\"n1\",\"why\":\"present\",\"other_data\":true}],"
            "\"noderoles\":[12],\"tasks\":4}"},
    {"GET /v1/noderoles", 200, LIST(NODEROLE_JSON)},
    {"GET /v1/noderoles/12", 200, NODEROLE_JSON},
    {"GET /v1/noderoles/12/data?explain=listen.port", 200,
     "{\"noderole\":12,\"path\":\"listen.port\",\"found\":true,\"visible\":81,\"layers\":["
     "{\"layer\":\"default\",\"part\":\"default\",\"noderole\":null,\"role\":\"web\",\"node\":null,"
     "\"deployment\":\"prod\",\"value\":80,\"wins\":false,\"cuts\":false},"
     "{\"layer\":\"ambient\",\"part\":\"wall\",\"noderole\":8,\"role\":\"ntp\",\"node\":\"n1\","
     "\"deployment\":\"prod\",\"value\":123,\"wins\":false,\"cuts\":false},"
     "{\"layer\":\"deployment-role\",\"part\":\"deployment-role\",\"noderole\":12,\"role\":\"web\","
     "\"node\":\"n1\",\"deployment\":\"prod\",\"value\":\"none\",\"wins\":false,\"cuts\":true},"
     "{\"layer\":\"user\",\"part\":\"user\",\"noderole\":12,\"role\":\"web\",\"node\":\"n1\","
     "\"deployment\":\"prod\",\"value\":81,\"wins\":true,\"cuts\":false}]}"},
    {"GET /v1/noderoles/12/data?explain=no", 200,
     "{\"noderole\":12,\"path\":\"no\",\"found\":false,\"visible\":null,\"layers\":[]}"},
    {"GET /v1/noderoles/12/data", 200,
     "{\"noderole\":12,\"data\":{\"listen\":{\"port\":81},\"node\":{\"name\":\"n1\"}}}"},
    {"PUT /v1/noderoles/12/data", 202, NODEROLE_JSON},
    {"POST /v1/noderoles/12/rerun", 202, OPERATION_JSON("running", 1, 0, 1)},
    {"POST /v1/noderoles/12/retry", 202, NODEROLE_JSON},
    {"GET /v1/operations", 200, LIST(OPERATION_JSON("succeeded", 4, 0, 0))},
    {"GET /v1/operations/3", 200, OPERATION_JSON("succeeded", 4, 0, 0)},
    {"POST /v1/operations/3/cancel", 202, OPERATION_JSON("cancelled", 1, 0, 0)},
    {"POST /v1/operations/3/retry", 202, OPERATION_JSON("running", 1, 0, 1)},
    {"POST /v1/operations/3/resume", 202, OPERATION_JSON("running", 1, 0, 1)},
    {"GET /v1/operations/3/history", 200, LIST(HISTORY_JSON)},
    {"GET /v1/operations/3/timeline", 200, TIMELINE_JSON},
    {"GET /v1/tasks", 200, LIST(TASK_JSON(6, "FAILED", "exit"))},
    {"GET /v1/tasks/5", 200, TASK_JSON(5, "DONE", "")},
    {"GET /v1/tasks/6", 200, TASK_JSON(6, "FAILED", "exit")},
    {"POST /v1/tasks/6/retry", 202, TASK_JSON(6, "PENDING", "retry")},
    {"POST /v1/tasks/6/poke", 202, TASK_JSON(6, "WAITING", "")},
    {"POST /v1/tasks/6/resolve", 202, TASK_JSON(6, "DONE", "resolved")},
    {"GET /v1/tasks/6/attempts", 200, LIST(ATTEMPT_JSON(1, "exit") "," ATTEMPT_JSON(2, "exit"))},
    {"GET /v1/workers", 200, LIST(WORKER)},
    {"GET /v1/workers/w1", 200, WORKER},
    {"PATCH /v1/workers/w1", 200, WORKER},
    {"DELETE /v1/workers/w1", 204, ""},
    {"POST /v1/worker-tokens", 200,
     "{\"secret\":\"anj_s\",\"fingerprint\":null,\"name\":null,"
     "\"expires_at\":\"2026-01-02T03:04:05.000Z\"}"},
    {"GET /v1/deployments/prod/snapshots", 200, LIST(SNAPSHOT)},
    {"POST /v1/deployments/prod/proposal", 201, SNAPSHOT},
    {"GET /v1/deployments/prod/proposal", 200, SNAPSHOT},
    {"PATCH /v1/deployments/prod/proposal", 200, SNAPSHOT},
    {"DELETE /v1/deployments/prod/proposal", 204, ""},
    {"GET /v1/deployments/prod/diff", 200,
     "{\"from\":" SNAPSHOT ",\"to\":{\"number\":5,\"state\":\"proposed\",\"catalog\":4},"
     "\"changes\":[{\"role\":\"web\",\"node\":\"n3\",\"noderole\":null,\"change\":\"added\","
     "\"before\":null,\"after\":{\"listen\":{\"port\":80}},\"gains\":[\"db@n1\"],\"losses\":[]},"
     "{\"role\":\"web\",\"node\":\"n1\",\"noderole\":12,\"change\":\"changed\","
     "\"before\":{\"listen\":{\"port\":80,\"tls\":true},\"motd\":\"hi\"},"
     "\"after\":{\"listen\":{\"port\":8080,\"tls\":true},\"name\":\"x\"},"
     "\"gains\":[],\"losses\":[\"db@n2\"]},"
     "{\"role\":\"web\",\"node\":null,\"noderole\":null,\"change\":\"changed\","
     "\"before\":{},\"after\":{\"motd\":\"all\"},\"gains\":[],\"losses\":[]},"
     "{\"role\":\"db\",\"node\":\"n2\",\"noderole\":13,\"change\":\"removed\",\"before\":{},"
     "\"after\":null,\"gains\":[],\"losses\":[]}],"
     "\"touched\":[{\"role\":\"lb\",\"node\":\"n4\",\"noderole\":14,\"deployment\":\"edge\","
     "\"why\":[\"parents\",\"data\"],\"gains\":[\"web@n3\"],\"losses\":[\"db@n2\"]},"
     "{\"role\":\"ntp\",\"node\":\"n1\",\"noderole\":8,\"deployment\":\"prod\","
     "\"why\":[\"definition\"],\"gains\":[],\"losses\":[]}],"
     "\"conflicts\":[{\"role\":\"web\",\"node\":\"n2\",\"noderole\":11,"
     "\"base\":{\"data\":{\"a\":{\"x\":1},\"b\":1},\"needs\":[\"db@n1\",\"ntp@n2\"]},"
     "\"head\":{\"data\":{\"a\":{\"x\":2},\"b\":1},\"needs\":[\"ntp@n2\"]},"
     "\"proposal\":{\"data\":{\"b\":1,\"c\":{}},\"needs\":[\"db@n1\",\"ntp@n2\"]}},"
     "{\"role\":\"web\",\"node\":\"n5\",\"noderole\":null,\"base\":null,\"head\":null,"
     "\"proposal\":{\"data\":{},\"needs\":[]}}],"
     "\"refused\":{\"code\":\"refused\",\"text\":\"web@n3 needs db@n1\",\"hint\":\"bind it\"},"
     "\"lost\":[{\"role\":\"web\",\"node\":\"n9\",\"text\":\"its node is gone\"}]}"},
    {"POST /v1/deployments/prod/commit", 202,
     "{\"snapshot\":" SNAPSHOT ",\"operation\":" OPERATION_JSON(
         "running", 1, 0, 1) ",\"added\":1,\"changed\":2,\"removed\":1,\"tasks\":5}"},
    {"POST /v1/deployments/prod/deploy", 202,
     "{\"operation\":" OPERATION_JSON(
         "running", 1, 0, 1) ",\"tasks\":{\"run\":2,\"left_out\":{"
                             "\"skipped\":1,\"condition is "
                             "false\":3},\"stages\":4,\"joins\":1},\"warnings\":[\"w\"],"
                             "\"plan\":null}"},
    {"GET /v1/deployments/prod/graph", 200,
     "{\"graph\":\"default\",\"format\":\"dot\",\"text\":\"digraph {}\\n\",\"plan\":null}"},
    {"POST /v1/deployments/prod/unbind", 200,
     "{\"snapshot\":" SNAPSHOT
     ",\"operation\":null,\"added\":0,\"changed\":0,\"removed\":0,\"tasks\":0}"},
    {"POST /v1/noderoles/12/abandon", 200,
     "{\"noderole\":12,\"name\":\"web@n1\",\"reason\":\"\",\"undone\":[\"remove-web\"]}"},
    {"GET /v1/clusters", 200, LIST(CLUSTER_JSON)},
    {"POST /v1/clusters", 202, CLUSTER_DONE},
    {"GET /v1/clusters/shop", 200, CLUSTER_JSON},
    {"PATCH /v1/clusters/shop", 200, CLUSTER_JSON},
    {"POST /v1/clusters/shop/expand", 202, CLUSTER_DONE},
    {"POST /v1/clusters/shop/shrink", 202, CLUSTER_DONE},
    {"POST /v1/clusters/shop/add-service", 202, CLUSTER_DONE},
    {"POST /v1/clusters/shop/remove-service", 202, CLUSTER_DONE},
    {"POST /v1/clusters/shop/configure", 202, CLUSTER_DONE},
    {"POST /v1/clusters/shop/start", 202, CLUSTER_DONE},
    {"POST /v1/clusters/shop/stop", 202, CLUSTER_DONE},
    {"POST /v1/clusters/shop/restart", 202, CLUSTER_DONE},
    {"POST /v1/clusters/shop/upgrade", 202, CLUSTER_DONE},
    {"POST /v1/clusters/shop/rollback", 202, CLUSTER_DONE},
    {"POST /v1/clusters/shop/act", 202, CLUSTER_DONE},
    {"POST /v1/clusters/shop/delete", 202, CLUSTER_DONE},
    {"GET /v1/deployments/shop/snapshots", 200,
     LIST(REVISION(4, "proposed") "," REVISION(3, "committed") "," REVISION(
         2, "recalled") "," REVISION(1, "archived"))},
    {"GET /v1/deployments/shop/diff", 200,
     "{\"from\":" REVISION(1, "archived") ",\"to\":" REVISION(
         3,
         "committed") ",\"changes\":[{\"role\":\"cluster\",\"node\":null,\"noderole\":null,"
                      "\"change\":\"changed\","
                      "\"before\":{\"config\":{\"web\":{\"port\":80}}},"
                      "\"after\":{\"config\":{\"web\":{\"port\":81}}},\"gains\":[],\"losses\":[]}],"
                      "\"touched\":[],\"conflicts\":[],\"lost\":[],\"refused\":null}"},
    {"GET /v1/tokens", 200, LIST(TOKEN(""))},
    {"POST /v1/tokens", 201, TOKEN(",\"secret\":\"anl_s3cret\"")},
    {"DELETE /v1/tokens/2", 204, ""},
    {"GET /v1/events", 200,
     "{\"items\":[" EVENT_JSON(999) "," EVENT_JSON(1000) "],\"next\":null,\"last\":1000}"},
    {"GET /v1/why/noderole/12", 200,
     "{\"object\":\"noderole\",\"id\":12,\"name\":\"web on n1\",\"state\":\"ERROR\","
     "\"summary\":\"its task install failed\",\"reasons\":[{\"rule\":\"failed\","
     "\"text\":\"task install failed\",\"object\":\"task\",\"id\":6,\"name\":\"install\","
     "\"remedy\":\"anneal task retry 6\"}]}"},
    {"POST /v1/admin/backup", 200, "{\"path\":\"/b/store.tar\",\"bytes\":14200000}"},
    {"POST /v1/admin/check", 200, "{\"ok\":true,\"findings\":[]}"},
    {"POST /v1/admin/confirm-dead", 200, "{\"suspect\":false}"},
};

struct fake *cluster_new(void)
{
    struct fake *f = fake_new();
    for (size_t i = 0; i < sizeof answers / sizeof *answers; i++)
        fake_on(f, answers[i].route, answers[i].status, answers[i].body);
    fake_on_headers(f, "GET /v1/tasks/6/attempts/2/log", 200, "Content-Type: text/plain\r\n",
                    "line 1\nline 2\nline 3\nline 4\nline 5\nline 6\n");
    return f;
}
