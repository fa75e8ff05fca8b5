/* test_target.c - one thing done to a noderole that lives: tasks kept and run once, tasks that
 * last, and a target that is stopped (RFC 01, sections 1, 2 and 3)
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "draft.h"

enum { INSTALL, CONFIGURE, STOP, START, PHASES };
struct service { /* of one node */
    uint32_t noderole, def[PHASES], task[PHASES];
};

/* install > configure > start; installing lasts. */
static struct service make(struct rig *r, uint32_t node, const uint32_t *parents, uint32_t n)
{
    struct service s = {0};
    struct draft m = draft_new(r);
    for (int i = 0; i < PHASES; i++)
        s.def[i] = draft_def(&m, (struct plan_def){.flags = i == INSTALL ? DEF_F_LASTING : 0});
    s.noderole = draft_noderole(&m, node, 0, parents, n);
    s.task[INSTALL] = draft_task(&m, s.def[INSTALL], 0, 3, NONE);
    s.task[CONFIGURE] = draft_task(&m, s.def[CONFIGURE], 0, 2, IDS(s.task[INSTALL]));
    s.task[START] = draft_task(&m, s.def[START], 0, 1, IDS(s.task[CONFIGURE]));
    is_int(draft_apply_to(&m, OPERATION_STANDING), 0, "a service on node %u", node);
    return s;
}

/* Its tasks anew: phases in order, each with a rule; -1 ends the list. */
static int again(struct rig *r, struct service *s, uint32_t op, enum target target,
                 const int (*list)[2])
{
    struct draft m = draft_new(r);
    struct plan_change *c = m.p->changes = arena_new(&m.p->mem, struct plan_change, 1);
    *c = (struct plan_change){.noderole = s->noderole,
                              .what = PLAN_C_TASKS,
                              .user = str_of(""),
                              .target = (uint8_t)target,
                              .reason = REASON_OPERATION};
    m.p->n_changes = 1;
    for (int i = 0; list[i][0] >= 0; i++) {
        uint32_t before = m.task + m.p->n_tasks - 1;
        m.p->tasks[m.p->n_tasks] = (struct plan_task){.noderole = s->noderole,
                                                      .def = s->def[list[i][0]],
                                                      .weight = 1,
                                                      .deps = draft_ids(&m, &before, 1),
                                                      .n_deps = i > 0,
                                                      .rule = (uint8_t)list[i][1]};
        s->task[list[i][0]] = m.task + m.p->n_tasks++;
    }
    c->n_tasks = m.p->n_tasks;
    rig_op_add(r, op, 1, CLASS_NORMAL);
    return draft_apply_to(&m, op);
}

static const int restart[][2] = {
    {INSTALL, RULE_KEEP}, {CONFIGURE, RULE_KEEP}, {STOP, RULE_ONCE}, {START, RULE_RUN}, {-1, 0}};
static const int stop[][2] = {
    {INSTALL, RULE_KEEP}, {CONFIGURE, RULE_KEEP}, {STOP, RULE_RUN}, {-1, 0}};
static const int start[][2] = {
    {INSTALL, RULE_KEEP}, {CONFIGURE, RULE_KEEP}, {START, RULE_RUN}, {-1, 0}};

static void restarts(void)
{
    struct rig r;
    rig_init(&r, 1);
    struct service s = make(&r, 1, NONE);
    rig_finish(&r);
    is_noderole(&r, s.noderole, ACTIVE, "made");
    again(&r, &s, 3, TARGET_RUNNING, restart);
    is_noderole(&r, s.noderole, STALE, "it stays in service while it is restarted");
    is_task(&r, s.task[CONFIGURE], SKIPPED, "what was done before is kept");
    is_reason(rig_task_at(&r, s.task[CONFIGURE]).reason, KEPT, "and says so");
    ok(rig_was_sent(&r, s.task[STOP]), "the first that runs is its stop");
    rig_finish(&r);
    is_noderole(&r, s.noderole, ACTIVE, "restarted");
    is_operation(&r, 3, SUCCEEDED, "and the operation is over");
    is_int(rig_task_at(&r, s.task[STOP]).rule, RULE_SKIP, "the stop was of this occasion");
    is_int(rig_task_at(&r, s.task[CONFIGURE]).rule, RULE_RUN, "what was kept is a task again");

    rig_step(&r, (struct event){.kind = EVENT_DATA_SET, .id = s.noderole, .a = 99});
    is_task(&r, s.task[INSTALL], DONE, "with other data installing is still done");
    is_reason(rig_task_at(&r, s.task[INSTALL]).reason, UNCHANGED, "without an attempt");
    ok(rig_was_sent(&r, s.task[CONFIGURE]), "configuring is not");
    rig_finish(&r);
    is_task(&r, s.task[STOP], SKIPPED, "and nothing is stopped");
    is_int(rig_task_at(&r, s.task[STOP]).attempt, 1, "a second time");
    rig_done(&r);
}

/* The run that the plan began goes on after a failure, a death and a restart of the server. */
static void restart_interrupted(void)
{
    struct rig r;
    rig_init(&r, 1);
    struct service s = make(&r, 1, NONE);
    rig_finish(&r);
    again(&r, &s, 3, TARGET_RUNNING, restart);
    rig_reply(&r, s.task[STOP], OUTCOME_FAILED);
    is_noderole(&r, s.noderole, ERROR, "its stop failed");
    rig_do(&r, EVENT_RETRY_OPERATION, 3);
    ok(rig_was_sent(&r, s.task[STOP]), "a retry stops it");
    rig_do(&r, EVENT_NODE_DEAD, 1);
    rig_seen(&r, 1, 101, 2);
    ok(rig_was_sent(&r, s.task[STOP]) && rig_task_at(&r, s.task[CONFIGURE]).attempt == 0,
       "after another boot it still is a restart");
    rig_finish(&r);
    is_noderole(&r, s.noderole, ACTIVE, "which ends");
    rig_done(&r);
}

static void stays_stopped(void)
{
    struct rig r;
    rig_init(&r, 2);
    struct service s = make(&r, 1, NONE);
    rig_finish(&r);
    struct service child = make(&r, 2, IDS(s.noderole));
    rig_finish(&r);
    is_noderole(&r, child.noderole, ACTIVE, "one needs it");
    again(&r, &s, 3, TARGET_STOPPED, stop);
    is_noderole(&r, child.noderole, BLOCKED, "who needs it is lost at once");
    is_reason(rig_noderole_at(&r, child.noderole).reason, PARENT_STOPPED, "and told why");
    rig_finish(&r);
    is_noderole(&r, s.noderole, ACTIVE, "stopped it is where it should be");
    is_noderole(&r, child.noderole, BLOCKED, "which is not in service");
    is_int(rig_task_at(&r, child.task[INSTALL]).state, TASK_PENDING, "nobody begins behind it");
    struct why why[4];
    is_int((int)anneal_why_noderole(r.a, child.noderole, why, 4) > 0 && why[0].rule == WHY_PARENT &&
               why[0].id == s.noderole,
           1, "why names the parent");

    rig_seen(&r, 1, 101, 7);
    ok(rig_was_sent(&r, s.task[CONFIGURE]), "another boot: it is configured");
    rig_finish(&r);
    is_int(rig_task_at(&r, s.task[STOP]).attempt, 2, "and stopped again");
    is_int(rig_noderole_at(&r, s.noderole).target, TARGET_STOPPED, "as it was");

    again(&r, &s, 4, TARGET_RUNNING, start);
    is_noderole(&r, child.noderole, BLOCKED, "to be started is not to run");
    rig_finish(&r);
    is_noderole(&r, s.noderole, ACTIVE, "started");
    is_noderole(&r, child.noderole, ACTIVE, "and who needs it follows");
    rig_done(&r);
}

/* Both are stopped by one plan, the child first. */
static void children_stop_first(void)
{
    struct rig r;
    rig_init(&r, 2);
    struct service s[2];
    s[0] = make(&r, 1, NONE);
    s[1] = make(&r, 2, IDS(s[0].noderole));
    rig_finish(&r);
    struct draft m = draft_new(&r);
    m.p->changes = arena_new(&m.p->mem, struct plan_change, 2);
    for (int i = 0; i < 2; i++) {
        uint32_t other = m.task + 1; /* the child's stop */
        m.p->changes[i] = (struct plan_change){.noderole = s[i].noderole,
                                               .what = PLAN_C_TASKS,
                                               .user = str_of(""),
                                               .target = TARGET_STOPPED,
                                               .first_task = m.p->n_tasks,
                                               .n_tasks = 1};
        m.p->tasks[m.p->n_tasks] = (struct plan_task){.noderole = s[i].noderole,
                                                      .def = s[i].def[STOP],
                                                      .weight = 1,
                                                      .deps = draft_ids(&m, &other, 1),
                                                      .n_deps = i == 0};
        s[i].task[STOP] = m.task + m.p->n_tasks++;
    }
    m.p->n_changes = 2;
    rig_op_add(&r, 3, 1, CLASS_NORMAL);
    is_int(draft_apply_to(&m, 3), 0, "one plan for both");
    ok(rig_was_sent(&r, s[1].task[STOP]), "the child is stopped first");
    is_task(&r, s[0].task[STOP], PENDING, "the parent waits for it");
    rig_finish(&r);
    is_noderole(&r, s[0].noderole, ACTIVE, "then it stops");
    is_noderole(&r, s[1].noderole, ACTIVE, "and a stopped child needs nobody in service");
    rig_done(&r);
}

static void runs_nowhere(void)
{
    struct rig r;
    rig_init(&r, 1);
    struct draft m = draft_new(&r);
    uint32_t inside = draft_def(&m, (struct plan_def){0});
    draft_noderole(&m, 0, 0, NONE);
    draft_task(&m, inside, 0, 1, NONE);
    is_int(draft_apply(&m), ERR_INVALID, "what reaches into a node needs one");
    m = draft_new(&r);
    uint32_t call = draft_def(&m, (struct plan_def){.flags = DEF_F_OUTSIDE, .retries = 1});
    draft_noderole(&m, 0, 0, NONE);
    uint32_t t = draft_task(&m, call, 0, 1, NONE);
    is_int(draft_apply(&m), 0, "what reaches elsewhere does not");
    ok(rig_was_sent(&r, t), "it starts");
    rig_reply(&r, t, OUTCOME_FAILED);
    is_task(&r, t, RUNNING, "is tried again as any other");
    rig_reply(&r, t, OUTCOME_OK);
    is_operation(&r, RIG_OP, SUCCEEDED, "and is part of its operation");
    rig_done(&r);
}

/* A call that tells how others ended is made again when they are tried again, and then only. */
static void told_again(void)
{
    struct rig r;
    struct noderole_view v = {0}, again = {0};
    rig_init(&r, 1);
    struct draft m = draft_new(&r);
    uint32_t work = draft_def(&m, (struct plan_def){0});
    uint32_t call = draft_def(&m, (struct plan_def){.flags = DEF_F_OUTSIDE | DEF_F_MAY_FAIL});
    draft_noderole(&m, 1, 0, NONE);
    uint32_t w = draft_task(&m, work, 0, 1, NONE);
    uint32_t carrier = draft_noderole(&m, 0, 0, NONE);
    uint32_t j = draft_task(&m, work, 0, 1, IDS(w));
    m.p->tasks[m.p->n_tasks - 1].rule = RULE_JOIN_ENDED;
    uint32_t c = draft_task(&m, call, 0, 1, IDS(j));
    is_int(draft_apply(&m), 0, "work, and a call when it has ended");
    is_task(&r, c, PENDING, "not before");
    rig_reply(&r, w, OUTCOME_FAILED);
    ok(rig_was_sent(&r, c), "it has failed: the call is made");
    (void)anneal_noderole(r.a, carrier, &v);
    rig_reply(&r, c, OUTCOME_OK);
    is_operation(&r, RIG_OP, FAILED, "that was the end");
    rig_do(&r, EVENT_RETRY_OPERATION, RIG_OP);
    is_task(&r, c, PENDING, "the work is tried again: what was told is not so any more");
    rig_reply(&r, w, OUTCOME_FAILED);
    is_task(&r, c, RUNNING, "it ends as before, and that is told again");
    (void)anneal_noderole(r.a, carrier, &again);
    ok(again.generation > v.generation, "under another key");
    rig_reply(&r, c, OUTCOME_FAILED);
    is_task(&r, c, TOLERATED, "which may fail");
    rig_do(&r, EVENT_RETRY_OPERATION, RIG_OP);
    is_task(&r, c, PENDING, "and is made up for with the next");
    rig_reply(&r, w, OUTCOME_OK);
    rig_reply(&r, c, OUTCOME_OK);
    is_operation(&r, RIG_OP, SUCCEEDED, "all is well");
    rig_do(&r, EVENT_NODE_DEAD, 1);
    is_task(&r, j, PENDING, "what the work did is lost later");
    is_task(&r, c, DONE, "but the operation is over: nobody is called");
    rig_done(&r);
}

int main(void)
{
    restarts();
    restart_interrupted();
    stays_stopped();
    children_stop_first();
    runs_nowhere();
    told_again();
    return tap_done();
}
