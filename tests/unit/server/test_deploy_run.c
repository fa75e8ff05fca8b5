/* test_deploy_run.c - graphs that run: limits and tolerance, what comes in between, what is kept
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "deploy_bench.h"

/* --- groups --- */

static void test_tolerance(void)
{
    static const char graph[] = "- {id: web, type: group, fault_tolerance: 1}\n"
                                "- {id: db, type: group, fault_tolerance: 0, requires: [web]}\n"
                                "- {id: w, type: local, groups: [web]}\n"
                                "- {id: q, type: local, groups: [db]}\n";
    struct bench b;
    begin(&b, graph);
    bind(&b, "web", "n1,n2");
    bind(&b, "db", "n3");
    deploy(&b, "{}");
    work(&b, "w@n1");
    is_text(ran(&b), "w@n1 w@n2 q@n3", "one may fail");
    is_text(op_state(&b, last_op(&b)), "succeeded-with-failures", "and it is told");
    restarts(&b);
    deploy(&b, "{}");
    work(&b, "w@");
    is_text(ran(&b), "w@n1 w@n2", "two may not");
    is_text(op_state(&b, last_op(&b)), "failed", "then nothing else runs");
    deploy(&b, "{}");
    work(&b, "q@");
    is_text(op_state(&b, last_op(&b)), "failed", "a group that may lose nobody fails all");
    restarts(&b);
    runs(&b, "{}", "w@n1 w@n2 q@n3", "and all is well again");
    is_text(op_state(&b, last_op(&b)), "succeeded", "in the end");
    end(&b);
}

static void test_pools(void)
{
    static const char graph[] =
        "- {id: web, type: group}\n"
        "- {id: w, type: local, groups: [web], strategy: {type: parallel, amount: {expr: "
        "common.n}}, parameters: {v: {expr: common.v}}}\n";
    struct bench b;
    begin(&b, graph);
    bind(&b, "web", "n1,n2,n3");
    common(&b, "{'n': 1, 'v': 1}");
    deploy(&b, "{}");
    is_text(ran(&b), "w@n1", "one at once");
    work(&b, NULL);
    common(&b, "{'n': 2, 'v': 1}");
    deploy(&b, "{}");
    is_text(ran(&b), "w@n1 w@n2", "then two");
    work(&b, NULL);
    restarts(&b);
    common(&b, "{'n': 3}");
    refused(&b, ERR_UNKNOWN_NAME, "parameters of w", "{}");
    common(&b, "{'n': 3, 'v': 1}");
    room_for(&b, 1);
    refused(&b, ERR_LIMIT, "max_tasks", "{}");
    b.g.opts.max_tasks = 1000;
    common(&b, "{'n': 1, 'v': 1}");
    deploy(&b, "{}");
    is_text(ran(&b), "w@n1", "and one again");
    work(&b, NULL);
    is_text(ran(&b), "w@n1 w@n2 w@n3", "each in its turn");
    end(&b);
}

/* --- while it runs, and afterwards --- */

static uint32_t carrier(struct bench *b)
{
    (void)rig_call(&b->g, server_noderole_list, ASK(.query = "{'role': 'task-graph'}"));
    return (uint32_t)rig_int(&b->g, "items.0.id");
}

static void why(struct bench *b, const char *kind, uint32_t id, const char *words)
{
    rig_do(&b->g, server_why, "Why", ASK(.id = kind, .id2 = rig_id(&b->g, id)));
    SCOPED_BUF(text);
    json_write(&text, b->g.reply.body, 0);
    has_text(text.data, words, "why %s tells %s", kind, words);
    ok(!strstr(text.data, "(null)") && !strstr(text.data, "@?"), "in words");
}

static void test_meanwhile(void)
{
    static const char graph[] =
        "- {id: web, type: group, required_for: [deployment]}\n"
        "- {id: one, type: local, groups: [web]}\n"
        "- {id: never, type: local, groups: [web], condition: 'false', requires: [one]}\n"
        "- {id: two, type: local, role: '*', requires: [deployment]}\n";
    struct bench b;
    begin(&b, graph);
    bind(&b, "web", "n1,n2");
    deploy(&b, "{}");
    uint32_t op = last_op(&b), id = carrier(&b);
    struct noderole_view v;
    ok(anneal_noderole(b.g.server->engine, id, &v) && !v.node, "stages are of no node");
    rig_do(&b.g, server_noderole_get, "Noderole", ASK(.id = rig_id(&b.g, id)));
    why(&b, "noderole", id, "task-graph");
    for (uint32_t t = v.first_task; t < v.first_task + v.n_tasks; t++)
        why(&b, "task", t, "task");
    why(&b, "task", rig_task_of(&b.g, "web", "n1", 1), "never");
    rig_refuse(&b.g, server_noderole_rerun, ERR_CONFLICT, "task-graph",
               ASK(.id = rig_id(&b.g, id)));
    rig_do(&b.g, server_status, "Status", ASK(.id = NULL));
    rig_do(&b.g, server_operation_timeline, "Timeline", ASK(.id = rig_id(&b.g, op)));
    common(&b, "{'x': 1}");
    is_text(op_state(&b, op), "running", "a commit of data leaves it alone");
    loads(&b, graph);
    is_text(op_state(&b, op), "running", "and so does a catalog");
    rig_refuse(&b.g, server_node_redeploy, ERR_CONFLICT, "which is open", ASK(.id = "n1"));
    unbind(&b, "web", "n2");
    work(&b, NULL);
    is_text(op_state(&b, op), "succeeded", "it ends without a node that left");
    has_text(ran(&b), "two@n1", "and has run on the others");
    rig_do(&b.g, server_noderole_rerun, "Operation", ASK(.id = rig_id(&b.g, id)));
    has_text(rig_text(&b.g, "title"), "re-run task-graph", "stages can be passed again");
    ok(!strstr(rig_text(&b.g, "title"), "null"), "under a name");
    rig_settle(&b.g);
    work(&b, NULL);
    is_text(op_state(&b, last_op(&b)), "succeeded", "which ends");
    restarts(&b);
    deploy(&b, "{}");
    rig_do(&b.g, server_operation_cancel, "Operation", ASK(.id = rig_id(&b.g, last_op(&b))));
    work(&b, NULL);
    is_text(op_state(&b, last_op(&b)), "cancelled", "a run is stopped");
    restarts(&b);
    rig_refuse(&b.g, server_deployment_delete, ERR_CONFLICT, "web@n1", ASK(.id = "d"));
    unbind(&b, "web", "n1");
    work(&b, NULL);
    b.g.if_match = "*";
    rig_do(&b.g, server_deployment_delete, NULL, ASK(.id = "d"));
    rig_settle(&b.g);
    (void)rig_call(&b.g, server_noderole_list, ASK(.query = "{'role': 'task-graph'}"));
    is_int(rig_int(&b.g, "total"), 0, "its stages go with a deployment");
    end(&b);
}

static void node_alive(struct bench *b, const char *node, const char *alive)
{
    b->g.if_match = "*";
    rig_do(&b->g, server_node_patch, "Node",
           ASK(.id = node, .body = arena_printf(&b->g.mem, "{'alive': '%s'}", alive)));
    rig_settle(&b->g);
}

static void test_lives(void)
{
    static const char graph[] =
        "- {id: web, type: group}\n"
        "- {id: one, type: local, groups: [web], condition: changed(common.x)}\n"
        "- {id: two, type: local, groups: [web], requires: [one], condition: changed(common.x),\n"
        "   cross_depends: [{name: one, role: web}]}\n"
        "- {id: far, type: local, role: plain, cross_depends: [{name: two, role: web}]}\n";
    struct bench b;
    begin(&b, graph);
    bind(&b, "web", "n1,n2");
    bind(&b, "plain", "n3");
    common(&b, "{'x': 1}");
    deploy(&b, "{}");
    uint32_t op = last_op(&b);
    node_alive(&b, "n1", "dead");
    work(&b, NULL);
    is_text(op_state(&b, op), "running", "a node that dies is waited for");
    why(&b, "operation", op, "n1");
    why(&b, "noderole", carrier(&b), "n1");
    restarts(&b);
    node_alive(&b, "n1", "alive");
    work(&b, NULL);
    is_text(op_state(&b, op), "succeeded", "until it is back");
    is_text(ran(&b), "one@n1 one@n2 one@n1 two@n1 two@n2 far@n3", "and does what it has not done");
    runs(&b, "{}", "far@n3", "what it did has been seen");

    common(&b, "{'x': 2}");
    deploy(&b, "{}");
    op = last_op(&b);
    work(&b, "one@n1");
    is_text(op_state(&b, op), "failed", "a task fails");
    rig_do(&b.g, server_noderole_retry, "Noderole",
           ASK(.id = rig_id(&b.g, rig_noderole(&b.g, "web", "n1"))));
    rig_settle(&b.g);
    work(&b, NULL);
    why(&b, "noderole", rig_noderole(&b.g, "web", "n1"), "web@n1");
    is_text(ran(&b), "one@n1 one@n2 one@n1 two@n1 two@n2 far@n3", "a noderole is tried again");
    is_text(op_state(&b, op), "succeeded", "and the run ends after all");
    restarts(&b);
    runs(&b, "{}", "far@n3", "with everything seen");

    buf_clear(&b.ran);
    rig_do(&b.g, server_role_rerun, "Operation", ASK(.id = "web", .body = "{'deployment': 'd'}"));
    rig_settle(&b.g);
    work(&b, NULL);
    is_text(op_state(&b, last_op(&b)), "succeeded", "a group is run again as it was left");
    is_text(ran(&b), "", "what was left out stays so");
    rig_refuse(&b.g, server_node_delete, ERR_CONFLICT, "n2", ASK(.id = "n2"));
    deploy(&b, "{'force': true}");
    op = last_op(&b);
    b.g.if_match = "*";
    rig_do(&b.g, server_node_delete, "Operation", ASK(.id = "n2", .query = "{'cascade': 'true'}"));
    rig_settle(&b.g);
    work(&b, NULL);
    is_text(op_state(&b, op), "succeeded", "a node that is deleted is not waited for");
    restarts(&b);
    end(&b);
}

/* --- what is kept --- */

static int count_row(void *arg, enum row_table t, const void *row, struct err *e)
{
    (void)t;
    (void)row;
    (void)e;
    ++*(int *)arg;
    return 0;
}

static int documents(struct bench *b)
{
    struct err e;
    int n = 0;
    rig_settle(&b->g);
    is_int(store_each(b->g.server->reader, ROWS_DEPLOY_DOC, count_row, &n, &e), 0, "they are read");
    return n;
}

static void test_documents(void)
{
    static const char graph[] = "- {id: web, type: group}\n- {id: t, type: local, groups: [web]}\n";
    struct bench b;
    begin(&b, graph);
    bind(&b, "web", "n1,n2");
    runs(&b, "{}", "t@n1 t@n2", "a run");
    is_int(documents(&b), 3, "one for all and one for each node");
    for (int i = 0; i < 3; i++) {
        common(&b, arena_printf(&b.g.mem, "{'x': %d}", i));
        runs(&b, "{}", "t@n1 t@n2", "and another");
    }
    is_int(documents(&b), 6, "are kept by content");
    rig_restart(&b.g);
    hello(&b);
    is_int(documents(&b), 3, "what nobody refers to goes at the next start");
    restarts(&b);
    is_int(documents(&b), 3, "and nothing else");
    unbind(&b, "web", "n2");
    work(&b, NULL);
    rig_restart(&b.g);
    hello(&b);
    is_int(documents(&b), 2, "a node that leaves takes its own along");
    end(&b);
}

/* --- in any order --- */

enum { TASKS = 2, NODES = 3 };
struct walk { /* what should be known, beside the server */
    struct bench b;
    uint32_t random;
    int x, op_x;            /* data now, and of the last run */
    int seen[TASKS][NODES]; /* x at the last success; 0: none */
    bool bound[NODES], failed[NODES];
    bool runs[TASKS][NODES]; /* in the last run */
};
static const char *const task_names[TASKS] = {"one", "two"};

static uint32_t any(struct walk *w, uint32_t below)
{
    w->random = w->random * 1664525 + 1013904223;
    return (w->random >> 16) % below;
}

/* Begins a run and holds what would run against what should. */
static void walk_deploy(struct walk *w)
{
    uint32_t n = 0;
    for (int t = 0; t < TASKS; t++)
        for (int i = 0; i < NODES; i++) {
            w->runs[t][i] = w->bound[i] && (w->failed[i] || w->seen[t][i] != w->x);
            n += w->runs[t][i];
        }
    w->op_x = w->x;
    deploy(&w->b, "{}");
    is_int(rig_int(&w->b.g, "tasks.run"), n, "%u tasks run", n);
}

static void walk_settle(struct walk *w)
{
    for (int i = 0; i < NODES; i++) {
        w->failed[i] = false;
        for (int t = 0; t < TASKS; t++)
            if (w->runs[t][i])
                w->seen[t][i] = w->op_x;
    }
}

static void walk_forget(struct walk *w, int node)
{
    for (int t = 0; t < TASKS; t++)
        w->seen[t][node] = 0;
}

/* One task fails; sometimes it is tried again. */
static void walk_fail(struct walk *w)
{
    int t = (int)any(w, TASKS), i = (int)any(w, NODES);
    walk_deploy(w);
    work(&w->b, arena_printf(&w->b.g.mem, "%s@n%d", task_names[t], i + 1));
    walk_settle(w);
    if (!w->runs[t][i])
        return;
    walk_forget(w, i);
    is_text(op_state(&w->b, last_op(&w->b)), "failed", "%s fails on n%d", task_names[t], i + 1);
    w->failed[i] = any(w, 2);
    if (w->failed[i])
        return;
    rig_do(&w->b.g, server_operation_retry, "Operation",
           ASK(.id = rig_id(&w->b.g, last_op(&w->b))));
    rig_settle(&w->b.g);
    work(&w->b, NULL);
    is_text(op_state(&w->b, last_op(&w->b)), "succeeded", "and not the next time");
    walk_settle(w);
}

/* Stopped in the middle: what has begun has not been done, what has not is what it was. */
static void walk_stop(struct walk *w)
{
    walk_deploy(w);
    size_t first = w->b.done, good = first + any(w, TASKS * NODES);
    while (w->b.done < w->b.jobs.n && w->b.done < good) {
        struct job j = w->b.jobs.at[w->b.done++];
        answer(&w->b, &j, OUTCOME_OK);
    }
    if (strcmp(op_state(&w->b, last_op(&w->b)), "running") != 0) {
        walk_settle(w);
        return;
    }
    rig_do(&w->b.g, server_operation_cancel, "Operation",
           ASK(.id = rig_id(&w->b.g, last_op(&w->b)), .body = "{'abort': true}"));
    rig_settle(&w->b.g);
    for (size_t k = first; k < w->b.jobs.n; k++) {
        const char *what = w->b.jobs.at[k].what;
        int i = what[5] - '1'; /* "one@n1" */
        w->seen[!strncmp(what, "two", 3)][i] = k < w->b.done ? w->op_x : 0;
    }
    while (w->b.done < w->b.jobs.n) {
        struct job j = w->b.jobs.at[w->b.done++];
        answer(&w->b, &j, OUTCOME_CANCELLED);
    }
    for (int i = 0; i < NODES; i++)
        w->failed[i] = false;
    is_text(op_state(&w->b, last_op(&w->b)), "cancelled", "a run is stopped");
}

static void walk_step(struct walk *w)
{
    int i = (int)any(w, NODES);
    const char *node = arena_printf(&w->b.g.mem, "n%d", i + 1);
    switch (any(w, 7)) {
    case 0:
    case 1:
        w->x = 1 + (int)any(w, 3);
        common(&w->b, arena_printf(&w->b.g.mem, "{'x': %d}", w->x));
        break;
    case 2:
        walk_deploy(w);
        work(&w->b, NULL);
        walk_settle(w);
        is_text(op_state(&w->b, last_op(&w->b)), "succeeded", "a run ends");
        break;
    case 3: walk_fail(w); break;
    case 4: walk_stop(w); break;
    case 5:
        if (w->bound[i] && w->bound[0] + w->bound[1] + w->bound[2] > 1) {
            unbind(&w->b, "web", node);
            work(&w->b, NULL);
            walk_forget(w, i);
            w->bound[i] = w->failed[i] = false;
        } else if (!w->bound[i]) {
            bind(&w->b, "web", node);
            w->bound[i] = true;
        }
        break;
    default: restarts(&w->b); break;
    }
}

static void test_any_order(uint32_t seed)
{
    static const char graph[] =
        "- {id: web, type: group}\n"
        "- {id: one, type: local, groups: [web], condition: changed(common.x)}\n"
        "- {id: two, type: local, groups: [web], requires: [one], condition: changed(common.x)}\n";
    struct walk w = {.random = seed, .x = 1, .bound = {true, true, true}};
    printf("# seed %u\n", seed);
    begin(&w.b, graph);
    bind(&w.b, "web", "n1,n2,n3");
    common(&w.b, "{'x': 1}");
    for (int i = 0; i < 40; i++)
        walk_step(&w);
    restarts(&w.b);
    end(&w.b);
}

int main(void)
{
    test_tolerance();
    test_pools();
    test_meanwhile();
    test_lives();
    test_documents();
    for (uint32_t seed = 1; seed <= 3; seed++)
        test_any_order(seed);
    return tap_done();
}
