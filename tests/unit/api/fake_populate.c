/* fake_populate.c - a small world: one of everything, three nodes */
/* SPDX-License-Identifier: Apache-2.0 */
#include "fake_i.h"

#include <stdio.h>

void fake_populate(struct server *s)
{
    static const char *const names[] = {"n1.example.org", "n2.example.org", "n3.example.org"};
    char json[512];

    for (unsigned i = 0; i < 3; i++) {
        snprintf(json, sizeof json,
                 "{\"id\":%u,\"name\":\"%s\",\"deployment\":\"system\",\"available\":true,"
                 "\"alive\":\"alive\",\"admin\":false,\"slots\":1,\"labels\":{\"rack\":\"r%u\"},"
                 "\"groups\":[\"web\"],\"addresses\":[\"10.0.0.%u\"],\"machine_id\":null,"
                 "\"boot_id\":null,\"facts\":{},\"note\":\"\",\"rev\":%u,\"state\":\"ACTIVE\","
                 "\"noderoles\":1}",
                 ++s->next_id, names[i], i, i, i + 1);
        fake_row_add(s, FAKE_NODES, json);
    }
    fake_row_add(s, FAKE_TOKENS,
                 "{\"id\":1,\"name\":\"root\",\"scope\":\"admin\",\"tenant\":\"default\","
                 "\"created_at\":\"" FAKE_NOW "\",\"revoked\":false}");
    fake_row_add(s, FAKE_TENANTS,
                 "{\"name\":\"default\",\"places\":0,\"share\":4,\"used\":0,\"short\":false,"
                 "\"rev\":1}");
    fake_row_add(s, FAKE_GROUPS, "{\"name\":\"web\",\"count\":3}");
    fake_row_add(s, FAKE_GENERATIONS, fake_catalog_text);
    fake_row_add(s, FAKE_BARCLAMPS,
                 "{\"name\":\"core\",\"version\":\"1\",\"description\":\"\",\"roles\":[\"web\"]}");
    fake_row_add(
        s, FAKE_ROLES,
        "{\"name\":\"web\",\"barclamp\":\"core\",\"jig\":\"script\",\"requires\":[],\"uses\":[],"
        "\"provides\":[],\"conflicts\":[],\"flags\":[],\"strategy\":null,\"attributes\":{},"
        "\"actions\":{},\"description\":\"\"}");
    fake_row_add(s, FAKE_JIGS,
                 "{\"name\":\"script\",\"implementation\":\"script\",\"implementor\":null,"
                 "\"active\":true,\"reach\":\"node\",\"workers\":1,\"rev\":1}");
    fake_row_add(s, FAKE_PLUGINS,
                 "{\"name\":\"dirs\",\"type\":\"provider\",\"version\":\"1.0\","
                 "\"description\":\"\",\"directory\":\"/plugins/dirs\",\"dry_run\":true,"
                 "\"actions\":[],\"serves\":[],\"fault\":null}");
    fake_row_add(
        s, FAKE_RESOURCES,
        "{\"id\":1,\"type\":\"dirs\",\"kind\":\"images\",\"name\":\"debian\",\"version\":1,"
        "\"state\":\"inactive\",\"digest\":\"00112233445566778899aabbccddeeff\","
        "\"size\":1,\"created_at\":\"" FAKE_NOW "\",\"rev\":1}");
    fake_row_add(s, FAKE_POOLS,
                 "{\"name\":\"updates\",\"size\":2,\"taken\":0,\"elsewhere\":0,\"closed\":false,"
                 "\"note\":\"\",\"waiting\":0,\"rev\":1}");
    fake_row_add(s, FAKE_DEPLOYMENTS,
                 "{\"id\":1,\"name\":\"system\",\"parent\":null,\"description\":\"\",\"rev\":1,"
                 "\"noderoles\":{\"ACTIVE\":1}}");
    fake_row_add(s, FAKE_NODEROLES,
                 "{\"id\":1,\"role\":\"web\",\"node\":\"n1.example.org\",\"deployment\":\"system\","
                 "\"state\":\"ACTIVE\",\"target\":\"running\",\"generation\":1,\"cohort\":0,"
                 "\"incarnation\":1,\"reason\":\"\",\"run_count\":1,\"parents\":[],\"children\":[],"
                 "\"tasks\":[1],\"operation\":1,\"rev\":1,\"data\":{},\"wall\":{}}");
    fake_row_add(
        s, FAKE_OPERATIONS,
        "{\"id\":1,\"kind\":\"bind\",\"title\":\"\",\"actor\":\"root\",\"class\":\"normal\","
        "\"state\":\"succeeded\",\"reason\":\"\",\"held\":false,\"created_at\":\"" FAKE_NOW
        "\",\"ended_at\":null,\"progress\":{\"total\":1,\"done\":1,\"running\":0,\"failed\":0,"
        "\"waiting\":0,\"ready\":0,\"pending\":0,\"cancelled\":0,\"skipped\":0,"
        "\"weight_done\":1,\"weight_total\":1,\"percent\":100},"
        "\"eta_ms\":null,\"rev\":1}");
    fake_row_add(s, FAKE_TASKS,
                 "{\"id\":1,\"name\":\"install\",\"noderole\":1,\"role\":\"web\","
                 "\"node\":\"n1.example.org\",\"operation\":1,\"state\":\"DONE\",\"reason\":\"\","
                 "\"jig\":\"script\",\"repeat\":\"safe\",\"attempt\":1,\"tries\":1,\"retries\":3,"
                 "\"weight\":1,\"waiting_on\":0,\"deps\":[],\"rev\":1,\"started_at\":\"" FAKE_NOW
                 "\",\"deadline_at\":null,\"wake_at\":null}");
    fake_row_add(s, FAKE_SNAPSHOTS, fake_snapshot_text);
    fake_row_add(s, FAKE_ATTEMPTS,
                 "{\"task\":1,\"number\":1,\"node\":\"n1.example.org\",\"generation\":1,"
                 "\"outcome\":\"ok\",\"phase\":\"\",\"exit_code\":0,\"started_at\":\"" FAKE_NOW
                 "\",\"ended_at\":\"" FAKE_NOW "\",\"asks\":0,\"note\":\"\",\"superseded\":false}");
    fake_row_add(s, FAKE_HISTORY,
                 "{\"task\":1,\"name\":\"install\",\"role\":\"web\",\"node\":\"n1.example.org\","
                 "\"state\":\"DONE\",\"number\":1,\"started_at\":\"" FAKE_NOW
                 "\",\"ended_at\":\"" FAKE_NOW
                 "\",\"ran_ms\":0,\"outcome\":\"ok\",\"exit_code\":0,\"note\":null}");
    fake_row_add(s, FAKE_WORKERS,
                 "{\"name\":\"w1\",\"state\":\"attached\",\"capacity\":8,\"running\":0,"
                 "\"labels\":{},\"jigs\":[\"script\"],\"last_seen_ms\":5,\"draining\":false,"
                 "\"created_at\":\"" FAKE_NOW "\",\"rev\":1}");
    fake_log_put(s, 1, 1, "hello\nworld\n");
    fake_log_end(s, 1, 1);
    s->next_id = 100;
}
