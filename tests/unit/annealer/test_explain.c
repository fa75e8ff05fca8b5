/* test_explain.c - every rule of why, at least once, with the object to act on (RFC 01, section 4)
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "rig.h"

struct seen {
    bool rule[WHY_RULE_COUNT];
};

/* "rule table id", separated by commas, as said. */
static const char *told(struct rig *r, struct seen *seen, const struct why *why, size_t n)
{
    buf_clear(&r->text);
    for (size_t i = 0; i < n; i++) {
        seen->rule[why[i].rule] = true;
        buf_printf(&r->text, "%s%s %s %u", i ? ", " : "", why_rule_name(why[i].rule),
                   row_layouts[why[i].table].name, why[i].id);
    }
    return rig_text(r);
}

static const char *task_why(struct rig *r, struct seen *seen, const char *task)
{
    struct why why[8];
    return told(r, seen, why, anneal_why_task(r->a, rig_task(r, task), why, 8));
}

static const char *noderole_why(struct rig *r, struct seen *seen, const char *name)
{
    struct why why[8];
    return told(r, seen, why, anneal_why_noderole(r->a, rig_nr(r, name).id, why, 8));
}

static const char *node_why(struct rig *r, struct seen *seen, uint32_t node)
{
    struct why why[8];
    return told(r, seen, why, anneal_why_node(r->a, node, why, 8));
}

static const char *operation_why(struct rig *r, struct seen *seen, uint32_t op)
{
    struct why why[8];
    return told(r, seen, why, anneal_why_operation(r->a, op, why, 8));
}

static void graph(struct seen *seen)
{
    struct rig r;
    rig_init(&r, 2);
    rig_plan(&r, RIG_OP, "a@1 b@2<a");
    is_text(task_why(&r, seen, "a"), "running task 1", "it runs");
    is_text(task_why(&r, seen, "b"), "parent-not-in-service noderole 1",
            "it waits for what it needs");
    is_text(noderole_why(&r, seen, "b"), "parent-not-in-service noderole 1",
            "its parent is not in service");
    is_text(operation_why(&r, seen, RIG_OP), "running task 1", "the operation waits for what runs");
    rig_ok(&r, "a");
    is_text(task_why(&r, seen, "a"), "done task 1", "it is done");
    rig_do(&r, EVENT_NODE_DEAD, 1);
    is_text(task_why(&r, seen, "b"), "older-attempt-runs task 2, parent-not-in-service noderole 1",
            "an older attempt still runs");
    is_text(task_why(&r, seen, "a"), "node-not-alive node 1", "its node is dead");
    is_text(node_why(&r, seen, 1), "node-not-alive node 1", "the node says so");
    is_text(node_why(&r, seen, 2), "running task 2", "a node with something running");
    rig_done(&r);
}

static void limits(struct seen *seen)
{
    struct rig r;
    rig_init(&r, 1);
    rig_plan(&r, RIG_OP, "a@1 b@1");
    is_text(task_why(&r, seen, "b"), "node-busy task 1", "its node is busy with another task");
    rig_ok(&r, "a");
    rig_step(&r, (struct event){.kind = EVENT_CAPACITY_SET, .n = 0});
    rig_data(&r, "a", 1);
    is_text(task_why(&r, seen, "a"), "node-busy task 2, workers-busy meta 1",
            "all that keeps it back, nearest first");
    rig_step(&r, (struct event){.kind = EVENT_JIG_SET, .id = 1, .flag = 1, .n = 0});
    rig_ok(&r, "b");
    is_text(task_why(&r, seen, "a"), "jig-without-worker jig 1, workers-busy meta 1",
            "no worker has its jig");
    rig_step(&r, (struct event){.kind = EVENT_JIG_SET, .id = 1, .flag = 0, .n = 5});
    rig_step(&r, (struct event){.kind = EVENT_CAPACITY_SET, .n = 5});
    is_text(task_why(&r, seen, "a"), "jig-inactive jig 1", "its jig is not active");
    rig_step(&r, (struct event){.kind = EVENT_NODE_AVAILABLE, .id = 1, .flag = 0});
    is_text(task_why(&r, seen, "a"), "node-unavailable node 1, jig-inactive jig 1",
            "its node is not available either");
    is_text(node_why(&r, seen, 1), "node-unavailable node 1", "the node says so");
    rig_done(&r);

    rig_init(&r, 2);
    rig_step(&r, (struct event){.kind = EVENT_JIG_SET, .id = 1, .flag = 1, .n = 1});
    rig_plan(&r, RIG_OP, "a@1 b@2");
    is_text(task_why(&r, seen, "b"), "workers-busy jig 1", "the workers of its jig are busy");
    rig_done(&r);

    rig_init(&r, 2);
    rig_step(&r, (struct event){.kind = EVENT_TENANT_SET, .id = 1, .n = 1});
    rig_plan(&r, RIG_OP, "a@1 b@2");
    is_text(task_why(&r, seen, "b"), "tenant-share-taken tenant 1", "its tenant's share is taken");
    rig_done(&r);
}

static void pools(struct seen *seen)
{
    struct rig r;
    rig_init(&r, 2);
    rig_step(&r, (struct event){.kind = EVENT_POOL_SET, .id = 1, .n = 1});
    rig_plan(&r, RIG_OP, "a@1+1#5 b@2+1");
    is_text(task_why(&r, seen, "b"), "pool-full pool 1", "its pool is full");
    rig_step(&r, (struct event){.kind = EVENT_POOL_SET, .id = 1, .n = 1, .flag = 1});
    is_text(task_why(&r, seen, "b"), "pool-closed pool 1", "its pool is closed");
    rig_done(&r);
}

static void ends(struct seen *seen)
{
    struct rig r;
    rig_init(&r, 3);
    rig_def(&r, (struct plan_def){.repeat = REPEAT_ONCE});
    rig_def(&r, (struct plan_def){.retries = 1, .backoff_ms = 1000});
    rig_plan(&r, RIG_OP, "bad@1 once@2=1 slow@3=2 below@3<bad next@1");
    rig_fail(&r, "slow");
    is_text(task_why(&r, seen, "slow"), "back-off task 3", "asleep before its next try");
    rig_after(&r, 1000);
    rig_again(&r, "slow", 60000);
    is_text(task_why(&r, seen, "slow"), "waiting task 3", "it said not yet");
    is_text(node_why(&r, seen, 3), "waiting task 3", "the node tells the same");
    rig_step(&r, (struct event){.kind = EVENT_NODE_AVAILABLE, .id = 3, .flag = 0});
    is_text(task_why(&r, seen, "slow"), "waiting task 3, node-unavailable node 3",
            "and its clock stands still");
    rig_answer(&r, "once", OUTCOME_LOST);
    is_text(task_why(&r, seen, "once"), "uncertain task 2", "nobody knows");
    rig_step(&r, (struct event){.kind = EVENT_POLICY_SET, .flag = 1});
    rig_fail(&r, "bad");
    is_text(task_why(&r, seen, "bad"), "failed task 1", "it failed");
    is_text(task_why(&r, seen, "below"), "parent-not-in-service noderole 1",
            "and what hangs on it names it");
    is_text(task_why(&r, seen, "next"), "node-frozen node 1", "its node is frozen by an error");
    is_text(node_why(&r, seen, 1), "node-frozen node 1, failed task 1",
            "the node names the failure");
    rig_do(&r, EVENT_CANCEL, RIG_OP);
    is_text(task_why(&r, seen, "slow"), "cancelled operation 2", "it was cancelled");
    is_text(task_why(&r, seen, "next"), "operation-held operation 2, node-frozen node 1",
            "its operation is held");
    is_text(operation_why(&r, seen, RIG_OP),
            "operation-held operation 2, failed task 1, uncertain task 2, "
            "operation-held operation 2, node-frozen node 1",
            "the operation tells all of it");
    rig_done(&r);
}

static void stalled(struct seen *seen)
{
    struct rig r;
    rig_init(&r, 2);
    rig_step(&r, (struct event){.kind = EVENT_POOL_SET, .id = 1, .n = 1});
    struct plan *p = rig_plan_new(&r, "a@1:2+1#5 b@2+1");
    uint32_t deps[] = {p->base_task, p->base_task + 2}; /* a.2 waits for b as well */
    p->tasks[1].deps = deps;
    p->tasks[1].n_deps = 2;
    rig_step(&r, (struct event){.kind = EVENT_PLAN_APPLY, .op = RIG_OP, .plan = p});
    plan_free(p);
    rig_ok(&r, "a.1");
    is_text(task_why(&r, seen, "b"), "stalled operation 2, pool-full pool 1", "it is stalled");
    is_text(operation_why(&r, seen, RIG_OP),
            "stalled operation 2, pool-full pool 1, holds-pool task 2, waits-for-task task 3, "
            "stalled operation 2, pool-full pool 1",
            "the circle: the pool, who holds it, and what that waits for");
    rig_done(&r);
}

static void suspect(struct seen *seen)
{
    struct rig r;
    rig_init(&r, 6);
    for (int probe = 0; probe < 3; probe++, r.now += 30000)
        for (uint32_t n = 1; n <= 6; n++)
            rig_do(&r, EVENT_NODE_SILENT, n);
    is_text(node_why(&r, seen, 1), "suspect-self node 1", "no death is declared of a silent node");
    rig_done(&r);
}

/* At the end of a step nobody is left whose turn it is; read back with more workers, somebody is.
 */
static void sent_ahead(struct seen *seen)
{
    struct rig r;
    rig_init(&r, 1);
    rig_def(&r, (struct plan_def){.flags = DEF_F_CHAINS});
    rig_plan(&r, RIG_OP, "a@1:2=1");
    is_text(task_why(&r, seen, "a.2"), "sent-ahead task 1, waits-for-task task 1",
            "it was sent ahead, and has not begun");
    rig_done(&r);
}

static void its_turn(struct seen *seen)
{
    struct rig r;
    struct err e;
    rig_init(&r, 2);
    rig_step(&r, (struct event){.kind = EVENT_CAPACITY_SET, .n = 1});
    rig_plan(&r, RIG_OP, "a@1 b@2");
    struct buf b = {0};
    anneal_save(r.a, &b);
    struct anneal *more = anneal_new();
    union row_any row;
    for (size_t at = 0; at < b.len;) {
        enum row_table t = (enum row_table)(uint8_t)b.data[at++];
        at += row_decode(t, (struct str){b.data + at, b.len - at}, &row);
        if (t == ROWS_META)
            row.meta.capacity = 2;
        if (anneal_load(more, t, &row, &e) < 0)
            ok(false, "a row is refused");
    }
    is_int(anneal_load_end(more, &e), 0, "read back with one worker more");
    struct anneal *was = r.a;
    r.a = more;
    is_text(task_why(&r, seen, "b"), "its-turn-comes task 2", "nothing keeps it back but its turn");
    rig_do(&r, EVENT_TICK, 0);
    is_text(rig_started(&r), "b", "which comes with the next step");
    anneal_free(was);
    buf_done(&b);
    rig_done(&r);
}

/* One that stays loses it, and gets another in its place. */
static void leaving(struct seen *seen)
{
    struct rig r;
    rig_init(&r, 3);
    rig_plan(&r, RIG_OP, "a@1 b@2<a");
    rig_all_ok(&r, "a b");
    struct plan *p = rig_plan_new(&r, "c@3");
    static const uint32_t lost[] = {1};
    p->changes = arena_new(&p->mem, struct plan_change, 2);
    p->changes[0] = (struct plan_change){
        .noderole = 1, .what = PLAN_C_REMOVE, .first_task = p->n_tasks, .n_tasks = 0};
    p->changes[1] = (struct plan_change){
        .noderole = 2, .what = PLAN_C_PARENTS, .losses = lost, .n_losses = 1};
    p->n_changes = 2;
    p->needs = arena_new(&p->mem, struct plan_need, 1);
    p->needs[p->n_needs++] = (struct plan_need){2, p->base_noderole};
    rig_op_add(&r, 3, 1, CLASS_NORMAL);
    rig_step(&r, (struct event){.kind = EVENT_PLAN_APPLY, .op = 3, .plan = p});
    plan_free(p);
    is_text(noderole_why(&r, seen, "a"), "still-used noderole 2", "it goes after its user is told");
    is_text(noderole_why(&r, seen, "b"), "successor-not-in-service noderole 3",
            "which has another");
    rig_all_ok(&r, "c b");
    rig_done(&r);
}

static void removal(struct seen *seen)
{
    struct rig r;
    rig_init(&r, 2);
    rig_plan(&r, RIG_OP, "a@1 b@2<a");
    rig_all_ok(&r, "a b");
    struct plan *p = rig_plan_new(&r, "");
    p->changes = arena_new(&p->mem, struct plan_change, 2);
    for (uint32_t i = 0; i < 2; i++) {
        p->changes[i] = (struct plan_change){
            .noderole = i + 1, .what = PLAN_C_REMOVE, .first_task = i, .n_tasks = 1};
        p->tasks[p->n_tasks++] = (struct plan_task){
            .noderole = i + 1, .def = p->base_def, .weight = 1};
    }
    p->n_changes = 2;
    rig_op_add(&r, 3, 1, CLASS_NORMAL);
    rig_step(&r, (struct event){.kind = EVENT_PLAN_APPLY, .op = 3, .plan = p});
    plan_free(p);
    is_text(noderole_why(&r, seen, "a"), "still-needed noderole 2", "it goes after its child");
    rig_fail(&r, "b");
    is_text(rig_op_text(&r, 3), "failed dependency", "and fails with it");
    rig_do(&r, EVENT_ABANDON, 2);
    is_text(rig_started(&r), "a", "until the child is gone after all");
    rig_done(&r);
}

/* Through joins to who holds them; and what a group's tolerance did. */
static void joins_and_groups(struct seen *seen)
{
    struct rig r;
    rig_init(&r, 4);
    char may = rig_def(&r, (struct plan_def){.flags = DEF_F_MAY_FAIL});
    char text[96];
    rig_group(&r, 0);
    snprintf(text, sizeof text, "a@1%%1 b@2 c@3=%c j@0~a>a,b k@0~e>j d@4>k", may);
    rig_plan(&r, RIG_OP, text);
    is_text(task_why(&r, seen, "d"), "waits-for-task task 1, waits-for-task task 2",
            "through joins to those that hold them");
    rig_fail(&r, "c");
    is_text(task_why(&r, seen, "c"), "failure-tolerated task 3", "a failure that may be");
    rig_fail(&r, "a");
    rig_ok(&r, "b");
    is_text(task_why(&r, seen, "d"), "tolerance-exceeded operation 2", "what never started");
    is_text(operation_why(&r, seen, RIG_OP),
            "tolerance-exceeded operation 2, tolerance-exceeded grp 1, failed task 1",
            "of the operation: by which group, and what failed of it");
    rig_done(&r);
}

static void stopped_rollout(struct seen *seen)
{
    struct rig r;
    rig_init(&r, 3);
    r.groups[rig_group(&r, 0) - 1].stops = true;
    rig_plan(&r, RIG_OP, "a@1%1 b@2%1>a c@3<b");
    rig_fail(&r, "a");
    is_text(task_why(&r, seen, "b"), "rollout-stopped grp 1", "what its roll-out stopped");
    is_text(task_why(&r, seen, "c"), "parent-not-in-service noderole 2", "and what waits for it");
    is_text(operation_why(&r, seen, RIG_OP), "rollout-stopped grp 1, failed task 1",
            "of the operation: which roll-out, and what failed of it");
    rig_done(&r);
}

/* Of a cluster of which some are enough, those that can be the ones that are missed. */
static void enough(struct seen *seen)
{
    struct rig r;
    struct quorum_view q = {0};
    rig_init(&r, 5);
    rig_plan(&r, RIG_OP, "a@1 b@2 c@3 d@4 web@5<a,b,c,d&2");
    rig_fail(&r, "a");
    rig_fail(&r, "b");
    is_text(task_why(&r, seen, "web"),
            "parent-not-in-service noderole 3, parent-not-in-service noderole 4",
            "those on their way, if they will do");
    rig_fail(&r, "c");
    is_text(task_why(&r, seen, "web"),
            "parent-not-in-service noderole 1, parent-not-in-service noderole 2, "
            "parent-not-in-service noderole 3, parent-not-in-service noderole 4",
            "else all that are not complete");
    rig_data(&r, "a", 5);
    rig_data(&r, "b", 5);
    rig_all_ok(&r, "a b d web");
    rig_data(&r, "a", 6);
    rig_fail(&r, "a");
    rig_data(&r, "b", 6);
    rig_data(&r, "web", 6);
    is_text(rig_states(&r, "a b c d web"), "ERROR STALE ERROR ACTIVE STALE", "two are in service");
    is_text(task_why(&r, seen, "web"), "parent-not-in-service noderole 2",
            "a refresh waits for the one that runs, not for those that failed");
    (void)anneal_quorum(r.a, rig_nr(&r, "web").id, rig_nr(&r, "b").id, &q);
    ok(q.enough == 2 && q.serving == 2 && q.complete == 1, "it serves and is not complete");
    rig_data(&r, "d", 6);
    rig_fail(&r, "d");
    is_text(rig_states(&r, "a b c d web"), "ERROR STALE ERROR ERROR BLOCKED", "one is in service");
    is_text(task_why(&r, seen, "web"),
            "parent-not-in-service noderole 1, parent-not-in-service noderole 3, "
            "parent-not-in-service noderole 4",
            "and is not one of those that are missed");
    is_text(noderole_why(&r, seen, "web"),
            "parent-not-in-service noderole 1, parent-not-in-service noderole 3, "
            "parent-not-in-service noderole 4",
            "of its noderole the same");
    rig_done(&r);
}

static void nothing_there(void)
{
    struct rig r;
    struct why why[1];
    rig_init(&r, 1);
    rig_plan(&r, RIG_OP, "a@1 b@1");
    is_int(anneal_why_task(r.a, 9, why, 1), 0, "no task, no reason");
    is_int(anneal_why_noderole(r.a, 9, why, 1), 0, "no noderole, no reason");
    is_int(anneal_why_node(r.a, 9, why, 1), 0, "no node, no reason");
    is_int(anneal_why_operation(r.a, 9, why, 1), 0, "no operation, no reason");
    is_int(anneal_why_operation(r.a, RIG_OP, why, 1), 1, "no more than asked for");
    is_int(anneal_why_operation(r.a, RIG_OP, why, 0), 0, "and none if none is asked for");
    is_text(why_rule_name(WHY_RULE_COUNT), "?", "a rule that is none has no name");
    rig_done(&r);
}

int main(void)
{
    struct seen seen = {0};
    graph(&seen);
    limits(&seen);
    pools(&seen);
    ends(&seen);
    stalled(&seen);
    suspect(&seen);
    its_turn(&seen);
    sent_ahead(&seen);
    removal(&seen);
    leaving(&seen);
    joins_and_groups(&seen);
    stopped_rollout(&seen);
    enough(&seen);
    nothing_there();
    for (int i = 0; i < WHY_RULE_COUNT; i++)
        ok(seen.rule[i], "%s was told", why_rule_name((enum why_rule)i));
    return tap_done();
}
