/* test_rules_attempt.c - attempts where several rules meet: stops, pokes, resolutions, later runs
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "draft.h"

static void test_every_attempt_has_an_end(void)
{
    struct rig r;
    rig_init_with(&r, 1, 4, &(struct engine_settings){.timeout_ms = 5000, .stop_grace_ms = 100});
    uint32_t t = rig_one(&r, 1, (struct plan_def){0});
    ok(rig_task_at(&r, t).deadline_ms > 0, "every attempt has a deadline");
    rig_after(&r, 5100);
    ok(rig_was_stopped(&r, t), "one without a timeout of its own is stopped by the engine's");
    rig_after(&r, 100);
    is_int(rig_task_at(&r, t).attempt, 2, "lost after the grace, and started again");
    is_int(rig_task_at(&r, t).tries, 0, "being lost uses no budget");
    rig_done(&r);
}

static void test_answers_to_older_questions(void)
{
    struct rig r;
    rig_init_with(&r, 1, 4, NULL);
    uint32_t t = rig_one(&r, 1, (struct plan_def){0});
    rig_reply_again(&r, t, 100);
    rig_after(&r, 100);
    is_int(rig_task_at(&r, t).asks, 1, "asked again");
    rig_step(&r, (struct event){.kind = EVENT_RESULT, .id = t, .attempt = 1, .flag = OUTCOME_OK});
    is_task(&r, t, RUNNING, "an answer to the question before is stale");
    is_int(r.fx.changes.n + r.fx.attempts.n, 0, "and changes nothing");
    is_int(rig_reply_as(&r, 99, 1, OUTCOME_OK), ERR_NOT_FOUND, "a task that does not exist");
    is_int(rig_reply_as(&r, t, 1, OUTCOME_COUNT), ERR_NOT_FOUND, "an outcome that does not exist");
    rig_done(&r);
}

static void test_a_poke_is_not_forgotten(void)
{
    struct rig r;
    rig_init_with(&r, 1, 1, NULL);
    uint32_t t = rig_one(&r, 1, (struct plan_def){0});
    rig_reply_again(&r, t, 3600000);
    uint32_t other = rig_one(&r, 1, (struct plan_def){0});
    rig_step(&r, (struct event){.kind = EVENT_POKE, .id = t});
    is_task(&r, t, WAITING, "poked while its node is busy");
    is_int(rig_task_at(&r, t).wake_ms, r.now, "its row says so: a restart does not forget");
    is_int(r.fx.attempts.n, 1, "and is written");
    rig_reply(&r, other, OUTCOME_OK);
    is_task(&r, t, RUNNING, "it is asked as soon as there is room");
    rig_done(&r);
}

static void test_stopping_one_may_still_wait(void)
{
    struct rig r;
    rig_init_with(&r, 1, 4, &(struct engine_settings){.stop_grace_ms = 1000});
    uint32_t t = rig_one(&r, 1, (struct plan_def){.timeout_ms = 1000, .deadline_ms = 60000});
    rig_after(&r, 2000);
    ok(rig_was_stopped(&r, t), "told to stop");
    rig_reply_again(&r, t, 5000);
    is_task(&r, t, WAITING, "it answers: not yet");
    rig_after(&r, 4999);
    is_task(&r, t, WAITING, "and is left alone until its time");
    rig_after(&r, 1);
    is_task(&r, t, RUNNING, "asked again");
    rig_after(&r, 1999);
    ok(!rig_was_stopped(&r, t), "with the full time to answer");
    rig_after(&r, 1);
    ok(rig_was_stopped(&r, t), "and not more");
    rig_done(&r);
}

static void test_uncertain_is_not_overruled(void)
{
    struct rig r;
    rig_init_with(&r, 1, 4, NULL);
    uint32_t t = rig_one(&r, 1, (struct plan_def){.repeat = REPEAT_ONCE, .retries = 9});
    rig_reply(&r, t, OUTCOME_LOST);
    is_reason(rig_task_at(&r, t).reason, UNCERTAIN, "nobody knows whether it happened");
    is_int(-rig_try(&r, (struct event){.kind = EVENT_RETRY_TASK, .id = t}), ERR_CONFLICT,
           "no retry");
    has_text(r.e.hint, "resolve", "the refusal says what to do");
    is_int(-rig_try(&r, (struct event){.kind = EVENT_RETRY_NODEROLE, .id = 1}), ERR_CONFLICT,
           "nor of its noderole");
    is_int(-rig_try(&r, (struct event){.kind = EVENT_RETRY_OPERATION, .id = RIG_OP}), ERR_CONFLICT,
           "nor of its operation");
    uint32_t ids[] = {1};
    is_int(-rig_try(&r, (struct event){.kind = EVENT_RERUN, .op = 1, .ids = ids, .n_ids = 1}),
           ERR_CONFLICT, "nor a re-run");
    has_text(r.e.hint, "resolve", "which says what to do");
    rig_step(&r, (struct event){.kind = EVENT_NODE_DEAD, .id = 1});
    rig_step(&r, (struct event){.kind = EVENT_NODE_SEEN, .id = 1, .a = 555, .b = 556});
    is_reason(rig_task_at(&r, t).reason, UNCERTAIN, "nor by another machine under its name");
    rig_done(&r);
}

static void test_waiting_leaves_nothing_unknown(void)
{
    struct rig r;
    rig_init_with(&r, 1, 4, NULL);
    uint32_t t = rig_one(&r, 1, (struct plan_def){.repeat = REPEAT_ONCE, .retries = 1});
    rig_reply_again(&r, t, 100);
    rig_step(&r, (struct event){.kind = EVENT_NODE_DEAD, .id = 1});
    is_task(&r, t, READY, "nothing of it ran when the node died: it may start again");
    rig_done(&r);
}

/* Its run was over before anybody said what became of it. */
static void test_resolve_done_in_a_later_run(void)
{
    struct rig r;
    rig_init_with(&r, 2, 4, NULL);
    struct draft m = draft_new(&r);
    uint32_t once = draft_def(&m, (struct plan_def){.repeat = REPEAT_ONCE});
    uint32_t safe = draft_def(&m, (struct plan_def){0});
    uint32_t parent = draft_noderole(&m, 1, 0, NONE);
    uint32_t p = draft_task(&m, safe, 0, 3, NONE);
    uint32_t child = draft_noderole(&m, 2, 0, IDS(parent));
    uint32_t first = draft_task(&m, safe, 0, 2, IDS(p));
    uint32_t second = draft_task(&m, once, 0, 1, IDS(first));
    draft_apply(&m);
    rig_reply(&r, p, OUTCOME_OK);
    rig_reply(&r, first, OUTCOME_OK);
    rig_reply(&r, second, OUTCOME_LOST);
    rig_step(&r, (struct event){.kind = EVENT_NODE_DEAD, .id = 1});
    is_task(&r, first, PENDING, "the parent was lost: the child starts over");
    is_task(&r, second, FAILED, "but for what is uncertain");
    rig_step(&r, (struct event){.kind = EVENT_RESOLVE, .id = second, .flag = RESOLVE_DONE});
    is_task(&r, second, PENDING, "resolved: it begins again with the new run");
    is_noderole(&r, child, BLOCKED, "behind its parent");
    rig_step(&r, (struct event){.kind = EVENT_NODE_SEEN, .id = 1, .a = 101, .b = 1});
    is_noderole(&r, parent, ACTIVE, "the parent returns as it was");
    is_noderole(&r, child, ACTIVE, "and all the child did counts: nothing runs twice");
    rig_done(&r);
}

int main(void)
{
    test_every_attempt_has_an_end();
    test_answers_to_older_questions();
    test_a_poke_is_not_forgotten();
    test_stopping_one_may_still_wait();
    test_uncertain_is_not_overruled();
    test_waiting_leaves_nothing_unknown();
    test_resolve_done_in_a_later_run();
    return tap_done();
}
