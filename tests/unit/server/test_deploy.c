/* test_deploy.c - graphs on the nodes of a deployment: who is there, what conditions compare with,
 * parameters, what refuses a run
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "deploy_bench.h"

/* --- who is there --- */

static void test_nodes(void)
{
    static const char graph[] = "- {id: web, type: group}\n"
                                "- {id: on-web, type: local, groups: [web]}\n"
                                "- {id: on-plain, type: local, role: plain, requires: [on-web]}\n"
                                "- {id: on-rack, type: local, role: rack, requires: [on-plain]}\n"
                                "- {id: all, type: local, role: '*', requires: [on-rack]}\n"
                                "- {id: boss, type: local, role: master, requires: [all]}\n";
    struct bench b;
    begin(&b, graph);
    refused(&b, ERR_REFUSED, "nothing is bound in deployment d", "{}");
    bind(&b, "web", "n1");
    bind(&b, "plain", "n2,n4");
    refused(&b, ERR_REFUSED, "boss runs on the master, and no node of deployment d is it", "{}");
    refused(&b, ERR_NOT_FOUND, "--on n3 selects no node of deployment d",
            "{'on': 'n3', 'skip': ['boss']}");
    is_int(rig_noderole(&b.g, "task-graph", "n2"), 0, "what carries tasks is bound by a run only");
    runs(&b, "{'skip': ['boss']}",
         "on-web@n1 on-plain@n4 on-rack@n4 all@n4 on-plain@n2 all@n1 all@n2",
         "nodes answer to their roles and groups, without a master what needs none runs");
    ok(rig_noderole(&b.g, "task-graph", "n2") && rig_noderole(&b.g, "task-graph", "n4"),
       "nodes with ordinary roles only get what carries tasks");
    is_int(rig_noderole(&b.g, "task-graph", "n1"), 0, "others do not");
    is_int(rig_noderole(&b.g, "task-graph", "n3"), 0, "nor do those that are not in the graph");
    bind(&b, "master", "n3");
    runs(&b, "{}", "on-web@n1 on-plain@n4 on-rack@n4 all@n4 on-plain@n2 all@n1 all@n2 boss@n3",
         "one that is the master only has no names");
    runs(&b, "{'on': 'n3'}", "boss@n3", "and is chosen as any other node is");
    restarts(&b);
    bind(&b, "master", "n1");
    refused(&b, ERR_REFUSED, "two nodes have the role master: n1 and n3", "{}");
    unbind(&b, "master", "n3");
    runs(&b, "{'on': 'n1'}", "on-web@n1 all@n1 boss@n1", "whoever else it is, it is the master");
    restarts(&b);
    end(&b);
}

/* --- what conditions compare with --- */

static void test_conditions(void)
{
    static const char graph[] =
        "- {id: web, type: group}\n"
        "- {id: one, type: local, groups: [web], condition: changed(common.x)}\n"
        "- {id: two, type: local, groups: [web], condition: changed(common.x), requires: [one]}\n"
        "- {id: own, type: local, groups: [web], condition: changed(node.y), requires: [two]}\n";
    struct bench b;
    begin(&b, graph);
    bind_data(&b, "web", "n1,n2", "{'y': 0}");
    common(&b, "{'x': 1}");
    runs(&b, "{}", "one@n1 two@n1 own@n1 one@n2 two@n2 own@n2", "at first everything has changed");
    runs(&b, "{}", "", "then nothing");
    is_text(op_state(&b, last_op(&b)), "succeeded", "and the run has ended");
    restarts(&b);
    common(&b, "{'x': 2}");
    runs(&b, "{'skip': ['two']}", "one@n1 one@n2", "a task is left out");
    runs(&b, "{}", "two@n1 two@n2", "and has seen nothing since");
    common(&b, "{'x': 1}");
    runs(&b, "{'only': ['one/n1']}", "one@n1", "back to what was");
    runs(&b, "{}", "one@n2 two@n2 two@n1", "is a change for those that saw something else");
    restarts(&b);
    runs(&b, "{'no_op': true, 'force': true}", "one@n1 two@n1 own@n1 one@n2 two@n2 own@n2",
         "forced, everything runs");
    common(&b, "{'x': 3}");
    runs(&b, "{'no_op': true}", "one@n1 two@n1 one@n2 two@n2", "a run that changes nothing");
    runs(&b, "{}", "one@n1 two@n1 one@n2 two@n2", "has not been one");

    const char *n1 = rig_id(&b.g, rig_noderole(&b.g, "web", "n1"));
    b.g.if_match = "*";
    buf_clear(&b.ran);
    rig_do(&b.g, server_noderole_data, "Noderole", ASK(.id = n1, .body = "{'y': 1}"));
    rig_settle(&b.g);
    work(&b, NULL);
    is_text(ran(&b), "", "data of a noderole run nothing by themselves");
    runs(&b, "{}", "own@n1", "but are seen by the next run");
    restarts(&b);

    common(&b, "{'x': 4}");
    deploy(&b, "{}");
    work(&b, "two@n1");
    is_text(op_state(&b, last_op(&b)), "failed", "a task fails");
    restarts(&b);
    runs(&b, "{}", "one@n1 two@n1 own@n1", "a node that failed has seen nothing");
    runs(&b, "{}", "", "until it is well again");

    common(&b, "{'x': 5}");
    deploy(&b, "{}");
    work(&b, "two@n1");
    rig_do(&b.g, server_operation_retry, "Operation", ASK(.id = rig_id(&b.g, last_op(&b))));
    rig_settle(&b.g);
    work(&b, NULL);
    is_text(op_state(&b, last_op(&b)), "succeeded", "what failed is tried again");
    runs(&b, "{}", "own@n1", "and has seen what it has been tried with");
    restarts(&b);

    rig_do(&b.g, server_node_redeploy, "Operation", ASK(.id = "n2"));
    rig_settle(&b.g);
    work(&b, NULL);
    runs(&b, "{}", "one@n2 two@n2 own@n2", "a node that began from nothing has seen nothing");
    restarts(&b);
    end(&b);
}

/* A task that was tried with other data and not done is not what it was. */
static void test_half_done(void)
{
    static const char graph[] =
        "- {id: web, type: group}\n"
        "- {id: one, type: local, groups: [web], condition: changed(common.x)}\n"
        "- {id: may, type: local, groups: [web], condition: changed(common.x), requires: [one],\n"
        "   fail_on_error: false}\n";
    struct bench b;
    begin(&b, graph);
    bind(&b, "web", "n1");
    common(&b, "{'x': 1}");
    runs(&b, "{}", "one@n1 may@n1", "with the first data");
    common(&b, "{'x': 2}");
    deploy(&b, "{}");
    is_text(ran(&b), "one@n1 may@n1", "with others it has begun, and what follows was sent ahead");
    rig_do(&b.g, server_operation_cancel, "Operation",
           ASK(.id = rig_id(&b.g, last_op(&b)), .body = "{'abort': true}"));
    rig_settle(&b.g);
    answer(&b, &b.jobs.at[b.done++], OUTCOME_CANCELLED);
    is_text(op_state(&b, last_op(&b)), "cancelled", "and is stopped");
    common(&b, "{'x': 1}");
    runs(&b, "{}", "one@n1", "so it runs again with what it saw before, and only that");
    common(&b, "{'x': 2}");
    deploy(&b, "{}");
    work(&b, "may@n1");
    is_text(ran(&b), "one@n1 may@n1", "one that may fail");
    common(&b, "{'x': 1}");
    runs(&b, "{}", "one@n1 may@n1", "has not been done when it has failed");
    restarts(&b);
    end(&b);
}

/* Another group has the task now. */
static void test_moved(void)
{
#define OWNED(group)                                                                               \
    "- {id: a, type: group}\n- {id: b, type: group}\n"                                             \
    "- {id: t, type: local, groups: [" group "], condition: changed(common.x)}\n"
    struct bench b;
    begin(&b, OWNED("a"));
    bind(&b, "a", "n1");
    bind(&b, "b", "n1");
    common(&b, "{'x': 1}");
    runs(&b, "{}", "t@n1", "a group has it");
    loads(&b, OWNED("b"));
    common(&b, "{'x': 2}");
    runs(&b, "{}", "t@n1", "another one has it");
    common(&b, "{'x': 1}");
    runs(&b, "{}", "t@n1", "what the first one saw is forgotten");
    runs(&b, "{}", "", "and what the other saw is not");
    restarts(&b);
    end(&b);
}

/* --- parameters --- */

static const char *params_of(const struct bench *b, const char *what)
{
    for (size_t i = b->jobs.n; i-- > 0;)
        if (!strcmp(b->jobs.at[i].what, what))
            return b->jobs.at[i].params;
    return "";
}

static void test_parameters(void)
{
    static const char graph[] =
        "- {id: web, type: group}\n"
        "- id: t\n"
        "  type: local\n"
        "  groups: [web]\n"
        "  parameters:\n"
        "    deep: [1, {a: {expr: node.name}, b: [{expr: 'common.x + 1'}, 3]}]\n"
        "    whole: {expr: common.map}\n"
        "    map: {expr: common.x, not: one}\n"
        "    timeout: 5\n"
        "- {id: file, type: node_file, groups: [web], requires: [t],\n"
        "   parameters: {path: /etc/settings.yaml, permissions: '0640'}}\n";
    struct bench b;
    begin(&b, graph);
    bind(&b, "web", "n1,n2");
    refused(&b, ERR_UNKNOWN_NAME, "parameters of t", "{}");
    common(&b, "{'x': 6, 'map': {'k': [true, null]}}");
    runs(&b, "{}", "t@n1 file@n1 t@n2 file@n2", "with what they read they run");
    is_text(params_of(&b, "t@n1"),
            "{\"deep\":[1,{\"a\":\"n1\",\"b\":[7,3]}],\"map\":{\"expr\":\"common.x\",\"not\":"
            "\"one\"},\"whole\":{\"k\":[true,null]}}",
            "expressions in lists and maps");
    has_text(params_of(&b, "t@n2"), "\"a\":\"n2\"", "are those of the node");
    const char *file = params_of(&b, "file@n2");
    has_text(file, "\"path\":\"/etc/settings.yaml\"", "the file of a node is uploaded");
    has_text(file, "0640", "as it is said");
    has_text(file, "x: 6", "with its settings");
    has_text(file, "n2", "and its name");
    ok(!strstr(file, "n1"), "and nothing of others");
    restarts(&b);
    end(&b);
}

/* --- refusals --- */

static void test_refusals(void)
{
    static const char graph[] =
        "- {id: web, type: group}\n"
        "- {id: t, type: local, groups: [web]}\n"
        "- {id: strange, type: alien, role: plain}\n"
        "- {id: asks, type: local, role: plain, condition: common.nothing}\n"
        "- {id: reads, type: local, role: plain, parameters: {v: {expr: common.nothing}}}\n";
    static const char circle[] =
        "- {id: web, type: group, strategy: {type: one_by_one}}\n"
        "- {id: x, type: local, groups: [web]}\n"
        "- {id: y, type: local, groups: [web], cross_depends: [{name: x, role: web}]}\n";
    static const char window[] =
        "- {id: web, type: group, strategy: {type: rolling, amount: 1}}\n"
        "- {id: x, type: local, groups: [web]}\n"
        "- {id: y, type: local, groups: [web], cross_depends: [{name: x, role: web}]}\n";
    struct bench b;
    begin(&b, graph);
    bind(&b, "web", "n1");
    bind(&b, "plain", "n2");
    rig_refuse(&b.g, server_deployment_deploy, ERR_NOT_FOUND, "deployment e",
               ASK(.id = "e", .body = "{}"));
    refused(&b, ERR_NOT_FOUND, "graph", "{'graph': 'other'}");
    refused(&b, ERR_NOT_FOUND, "--only: nothing is called tt", "{'only': ['tt']}");
    refused(&b, ERR_UNKNOWN_NAME, "condition of asks on n2", "{'skip': ['strange', 'reads']}");
    refused(&b, ERR_REFUSED, "no jig executes tasks of type alien (strange)",
            "{'skip': ['asks', 'reads']}");
    refused(&b, ERR_UNKNOWN_NAME, "parameters of reads", "{'skip': ['asks', 'strange']}");
    is_int(rig_noderole(&b.g, "task-graph", "n2"), 0, "not even what would carry tasks");
    deploy(&b, "{'only': ['t']}");
    uint32_t op = last_op(&b);
    refused(&b, ERR_CONFLICT, arena_printf(&b.g.mem, "belongs to operation %u, which is open", op),
            "{'only': ['t']}");
    work(&b, NULL);
    is_text(op_state(&b, op), "succeeded", "which ends nevertheless");
    room_for(&b, 1);
    refused(&b, ERR_LIMIT, "max_tasks", "{'only': ['t']}");
    b.g.opts.max_tasks = 2;
    refused(&b, ERR_LIMIT, "max_tasks in the configuration is 2", "{'only': ['t']}");
    b.g.opts.max_tasks = 1000;
    loads(&b, circle);
    bind(&b, "web", "n2");
    refused(&b, ERR_CONFLICT, "strategy", "{}");
    loads(&b, window);
    refused(&b, ERR_CONFLICT, "y/n1 waits for web on n2", "{}");
    runs(&b, "{'limit_circles': true}", "x@n1 x@n2 y@n1 y@n2", "as a limit it runs");
    has_text(rig_text(&b.g, "warnings.0"), "strategy rolling of web is a limit", "with a warning");
    end(&b);
}

/* More than the engine takes is refused in words, before it is tried. */
static void test_limits(void)
{
    enum { MANY = PLAN_MOST_TASKS + 1 };
    SCOPED_BUF(graph);
    struct bench b;
    buf_puts(&graph, "- {id: web, type: group}\n");
    for (int i = 0; i < MANY; i++)
        buf_printf(&graph, "- {id: t%d, type: local, groups: web}\n", i);
    begin(&b, graph.data);
    bind(&b, "web", "n1");
    refused(&b, ERR_LIMIT, "a noderole of n1 would have 60001 tasks, more than 60000", "{}");
    is_int(load(&b, SITE "  - {name: master, jig: local}\n", "- {id: web, type: group}\n"),
           -ERR_INVALID, "a role that is called as one that comes with graphs");
    has_text(b.g.err.text, "a catalog with task graphs has a role master of its own", "is refused");
    end(&b);
}

/* Two deployments over the same nodes. */
static void test_two(void)
{
    static const char graph[] = "- {id: web, type: group}\n"
                                "- {id: all, type: local, role: '*'}\n"
                                "- {id: boss, type: local, role: master}\n";
    struct bench b;
    begin(&b, graph);
    rig_do(&b.g, server_deployment_create, "Deployment", ASK(.body = "{'name': 'e'}"));
    bind(&b, "plain", "n1");
    bind(&b, "master", "n3");
    rig_refuse(&b.g, server_deployment_bind, ERR_CONFLICT, "master@n3 is in deployment d",
               ASK(.id = "e", .body = "{'bindings': [{'role': 'master', 'nodes': 'n3'}]}"));
    rig_do(&b.g, server_deployment_bind, "BindResult",
           ASK(.id = "e", .body = "{'bindings': [{'role': 'task-graph', 'nodes': 'n1'}]}"));
    refused(&b, ERR_CONFLICT, "task-graph@n1 is in deployment e", "{}");
    bind(&b, "web", "n1");
    runs(&b, "{}", "boss@n3 all@n1", "one that is in a group needs nothing else");
    restarts(&b);
    end(&b);
}

int main(void)
{
    test_nodes();
    test_conditions();
    test_half_done();
    test_moved();
    test_parameters();
    test_refusals();
    test_limits();
    test_two();
    return tap_done();
}
