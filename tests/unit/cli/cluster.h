/* cluster.h - a small cluster behind a fake server: one answer for every route */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_CLUSTER_H
#define TESTS_CLUSTER_H

#include "fake_server.h"

/* Node n1, role web, jig ssh, pool p1, deployment prod, noderole 12, operation 3 (ended), tasks 5
 * (done) and 6 (failed), token 2, cluster shop. */
struct fake *cluster_new(void);

#define LIST(items) "{\"items\":[" items "],\"next\":null,\"total\":1}"
#define PROBLEM(name, detail)                                                                      \
    "{\"type\":\"urn:anneal:error:" name "\",\"title\":\"" name "\",\"detail\":\"" detail "\"}"
#define NODE_JSON                                                                                  \
    "{\"id\":1,\"name\":\"n1\",\"deployment\":\"prod\",\"available\":false,\"alive\":\"alive\","   \
    "\"admin\":false,\"slots\":1,\"labels\":{\"rack\":\"3\"},\"groups\":[\"db\",\"eu\"],"          \
    "\"addresses\":[\"10.0.0.1\"],\"machine_id\":null,\"boot_id\":null,\"facts\":{\"cpu\":8},"     \
    "\"note\":\"new disk\",\"rev\":7,\"state\":\"ACTIVE\",\"noderoles\":2}"
#define OPERATION_JSON(state, done, failed, running)                                               \
    "{\"id\":3,\"kind\":\"bind\",\"title\":\"web tier\",\"actor\":\"admin\",\"class\":\"normal\"," \
    "\"state\":\"" state "\",\"reason\":\"\",\"held\":false,"                                      \
    "\"created_at\":\"2023-11-14T22:12:20.000Z\",\"ended_at\":\"2023-11-14T22:13:10.000Z\","       \
    "\"progress\":{\"total\":4,\"done\":" #done ",\"running\":" #running ",\"failed\":" #failed    \
    ",\"waiting\":0,\"ready\":0,\"pending\":0,\"cancelled\":0,\"skipped\":0},\"eta_ms\":null,"     \
    "\"rev\":9}"
#define NODEROLE_JSON                                                                              \
    "{\"id\":12,\"role\":\"web\",\"node\":\"n1\",\"deployment\":\"prod\",\"state\":\"ERROR\","     \
    "\"target\":\"running\",\"generation\":1,\"cohort\":2,\"incarnation\":1,\"reason\":\"exit\","  \
    "\"run_count\":1,\"parents\":[7],\"children\":[],\"tasks\":[5,6],\"operation\":3,\"rev\":4,"   \
    "\"data\":{\"listen\":{\"port\":80},\"motd\":\"hello\"},\"wall\":{\"ip\":\"10.0.0.1\"}}"
#define TASK_JSON(id, state, reason)                                                               \
    "{\"id\":" #id ",\"name\":\"install\",\"noderole\":12,\"role\":\"web\",\"node\":\"n1\","       \
    "\"operation\":3,\"state\":\"" state "\",\"reason\":\"" reason "\",\"jig\":\"ssh\","           \
    "\"repeat\":\"safe\",\"attempt\":2,\"tries\":2,\"retries\":3,\"weight\":1,\"waiting_on\":0,"   \
    "\"deps\":[4],\"rev\":1,\"started_at\":\"2023-11-14T22:13:00.000Z\",\"deadline_at\":null,"     \
    "\"wake_at\":null}"
#define ATTEMPT_JSON(n, outcome)                                                                   \
    "{\"task\":6,\"number\":" #n ",\"node\":\"n1\",\"generation\":1,\"outcome\":\"" outcome "\","  \
    "\"phase\":\"test_pre\",\"exit_code\":3,\"started_at\":\"2023-11-14T22:13:00.000Z\","          \
    "\"ended_at\":\"2023-11-14T22:13:10.000Z\",\"asks\":0,\"note\":null,\"superseded\":false}"
#define HISTORY_JSON                                                                               \
    "{\"task\":5,\"name\":\"install\",\"role\":\"web\",\"node\":\"n1\",\"state\":\"DONE\","        \
    "\"number\":1,\"started_at\":\"2023-11-14T22:13:00.000Z\","                                    \
    "\"ended_at\":\"2023-11-14T22:13:10.000Z\",\"ran_ms\":10000,\"outcome\":\"failed\","           \
    "\"exit_code\":3,\"note\":\"no room\"},"                                                       \
    "{\"task\":6,\"name\":\"start\",\"role\":\"web\",\"node\":\"n1\",\"state\":\"SKIPPED\","       \
    "\"number\":null,\"started_at\":null,\"ended_at\":null,\"ran_ms\":null,\"outcome\":null,"      \
    "\"exit_code\":null,\"note\":null}"
#define TIMELINE_JSON                                                                              \
    "{\"operation\":3,\"from\":\"2023-11-14T22:12:20.000Z\","                                      \
    "\"to\":\"2023-11-14T22:12:40.000Z\",\"span_ms\":20000,\"nodes\":[{\"node\":\"n1\","           \
    "\"items\":[{\"task\":5,\"name\":\"install\",\"attempt\":1,\"outcome\":\"failed\","            \
    "\"start_ms\":0,\"end_ms\":5000},{\"task\":5,\"name\":\"install\",\"attempt\":2,"              \
    "\"outcome\":\"ok\",\"start_ms\":10000,\"end_ms\":15000}]},{\"node\":\"n2\","                  \
    "\"items\":[{\"task\":6,\"name\":\"start\",\"attempt\":1,\"outcome\":\"open\","                \
    "\"start_ms\":15000,\"end_ms\":null}]}],\"critical\":[{\"task\":5,\"name\":\"install\","       \
    "\"node\":\"n1\",\"start_ms\":10000,\"end_ms\":15000}],\"truncated\":true}"
/* Cluster shop: two nodes, revision 2 of its row 5. */
#define CLUSTER_JSON                                                                               \
    "{\"name\":\"shop\",\"id\":9,\"state\":\"active\",\"owner\":\"ann\",\"last\":\"expand\","      \
    "\"operation\":3,\"revision\":2,\"created_at\":\"2023-11-14T22:12:20.000Z\","                  \
    "\"expires_at\":\"2023-11-21T22:13:20.000Z\",\"rev\":5,\"waiting\":[\"stop\",\"delete\"],"     \
    "\"template\":\"shop\","                                                                       \
    "\"provider\":\"scratch\",\"services\":[\"db\",\"web\"],\"size\":2,"                           \
    "\"config\":{\"web\":{\"port\":80}},\"nodes\":[{\"name\":\"shop-1000.local\","                 \
    "\"number\":1000,\"hardware\":\"large\",\"image\":\"plain\",\"services\":[\"db\"],"            \
    "\"state\":\"ACTIVE\"},{\"name\":\"shop-1001.local\",\"number\":1001,"                         \
    "\"hardware\":\"small\",\"image\":\"plain\",\"services\":[\"web\"],\"state\":\"ERROR\"}]}"
#define CLUSTER_RESULT(operation)                                                                  \
    "{\"operation\":" operation                                                                    \
    ",\"cluster\":null,\"layout\":{\"status\":\"solved\",\"layout\":[{\"count\":1,"                \
    "\"services\":[\"db\"],\"hardware\":\"large\",\"image\":\"plain\",\"existing\":0},"            \
    "{\"count\":2,\"services\":[\"web\"],\"hardware\":\"small\",\"image\":\"plain\","              \
    "\"labels\":{\"rack\":\"r1\"}}],\"objective\":{\"cost\":0.275}},"                              \
    "\"difference\":{\"new_nodes\":[\"new 1\",\"new 2\"],\"given_up\":[\"shop-1001.local\"],"      \
    "\"changed\":[{\"node\":\"shop-1000.local\",\"added\":[\"web\",\"metrics\"],"                  \
    "\"removed\":[\"cache\"]}],\"config\":true},\"plan\":{\"tasks\":12,\"joins\":1,"               \
    "\"stages\":5,\"eta_ms\":65000}}"
#define STATUS_JSON                                                                                \
    "{\"version\":\"9.9\",\"state\":\"failed\",\"uptime_ms\":276000000,\"group\":10,"              \
    "\"journal\":1000,\"catalog\":7,"                                                              \
    "\"nodes\":{\"alive\":6,\"away\":1,\"dead\":1},\"noderoles\":{\"ACTIVE\":298,\"ERROR\":2},"    \
    "\"tasks\":{\"RUNNING\":12,\"FAILED\":1},\"operations\":[" OPERATION_JSON(                     \
        "running", 1, 0, 1) "],\"workers\":2,\"stalled\":false,\"suspect\":false,"                 \
                            "\"store\":{\"bytes\":14200000,\"check\":\"ok\"}}"
#define EVENT_JSON(id)                                                                             \
    "{\"id\":" #id ",\"at\":\"2023-11-14T22:13:00.120Z\",\"kind\":\"result\",\"actor\":\"w1\","    \
    "\"input\":{},\"changes\":[{\"object\":\"task\",\"id\":5,\"from\":\"RUNNING\","                \
    "\"to\":\"DONE\",\"reason\":null}]}"

#endif
