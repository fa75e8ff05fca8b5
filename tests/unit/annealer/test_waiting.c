/* test_waiting.c - attempts that say "not yet" (RFC 01, section 5)
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "rig.h"

static void asked_again(void)
{
    struct rig r;
    uint32_t used;
    rig_init(&r, 1);
    rig_plan(&r, RIG_OP, "a@1");
    rig_again(&r, "a", 5000);
    is_text(rig_tasks(&r, "a"), "WAITING", "not yet: it waits");
    (void)anneal_capacity(r.a, &used);
    is_int(used, 0, "and holds no worker");
    is_text(rig_states(&r, "a"), "TRANSITION", "its noderole is under way");
    is_int(anneal_next_timer(r.a) - r.now, 5000, "it costs one timer");
    rig_after(&r, 4999);
    is_text(rig_started(&r), "", "not asked before its time");
    rig_after(&r, 1);
    is_text(rig_started(&r), "a/1", "then asked again");
    is_int(rig_view(&r, "a").attempt, 1, "under the same number");
    struct event late = rig_result(&r, "a", OUTCOME_AGAIN);
    late.extra = 0;
    rig_step(&r, late);
    is_text(rig_tasks(&r, "a"), "RUNNING", "a late answer to the first ask is no answer");
    rig_ok(&r, "a");
    is_text(rig_states(&r, "a"), "ACTIVE", "ok ends it");
    rig_done(&r);
}

static void at_least_ten(void)
{
    struct rig r;
    rig_init(&r, 1);
    rig_plan(&r, RIG_OP, "a@1");
    rig_again(&r, "a", 0);
    is_int(rig_view(&r, "a").wake_ms - r.now, 10, "again at once is again in 10 ms");
    rig_done(&r);
}

static void holds(enum hold hold, const char *started)
{
    struct rig r;
    rig_init(&r, 1);
    rig_def(&r, (struct plan_def){.hold = (uint8_t)hold});
    rig_plan(&r, RIG_OP, "a@1=1 b@1");
    rig_again(&r, "a", 5000);
    is_text(rig_started(&r), started, "hold %s: \"%s\" starts meanwhile", hold_name(hold), started);
    rig_after(&r, 5000);
    is_text(rig_started(&r), hold == HOLD_NODE ? "a/1" : "", "hold %s: its time comes",
            hold_name(hold));
    if (hold == HOLD_NOTHING) {
        is_text(rig_tasks(&r, "a"), "WAITING", "without the slot it queues like any other");
        rig_ok(&r, "b");
        is_text(rig_started(&r), "a/1", "and is asked when the slot is free");
    }
    rig_done(&r);
}

static void poke(void)
{
    struct rig r;
    rig_init(&r, 1);
    rig_plan(&r, RIG_OP, "a@1");
    rig_again(&r, "a", 3600 * 1000);
    rig_do(&r, EVENT_POKE, rig_task(&r, "a"));
    is_text(rig_started(&r), "a/1", "a poke asks now");
    rig_again(&r, "a", 3600 * 1000);
    rig_step(&r, (struct event){.kind = EVENT_NODE_AVAILABLE, .id = 1, .flag = 0});
    rig_do(&r, EVENT_POKE, rig_task(&r, "a"));
    is_text(rig_started(&r), "", "not while its node is unavailable");
    rig_step(&r, (struct event){.kind = EVENT_NODE_AVAILABLE, .id = 1, .flag = 1});
    is_text(rig_started(&r), "a/2", "but the poke is not forgotten");
    is_int(rig_try(&r, (struct event){.kind = EVENT_POKE, .id = 99}), -ERR_NOT_FOUND,
           "no such task");
    rig_done(&r);
}

static void deadline(void)
{
    struct rig r;
    rig_init(&r, 1);
    rig_def(&r, (struct plan_def){.deadline_ms = 10000, .retries = 5});
    rig_plan(&r, RIG_OP, "a@1=1");
    rig_again(&r, "a", 8000);
    rig_after(&r, 8000);
    rig_again(&r, "a", 8000);
    is_int(anneal_next_timer(r.a) - r.now, 2000, "the deadline counts from the attempt's start");
    rig_after(&r, 2000);
    is_text(rig_tasks(&r, "a"), "FAILED:deadline", "a waiting attempt ends with it, for good");
    rig_done(&r);

    rig_init(&r, 1);
    rig_def(&r, (struct plan_def){.deadline_ms = 10000, .timeout_ms = 60000});
    rig_plan(&r, RIG_OP, "a@1=1");
    rig_after(&r, 10000);
    is_text(rig_stopped(&r), "a", "a running one is told to stop");
    rig_done(&r);
}

static void unavailable_freezes_clocks(void)
{
    struct rig r;
    rig_init(&r, 1);
    rig_def(&r, (struct plan_def){.deadline_ms = 10000});
    rig_plan(&r, RIG_OP, "a@1=1");
    rig_again(&r, "a", 5000);
    rig_after(&r, 2000);
    rig_step(&r, (struct event){.kind = EVENT_NODE_AVAILABLE, .id = 1, .flag = 0});
    ok(anneal_next_timer(r.a) == UINT64_MAX, "no clock runs on an unavailable node");
    rig_after(&r, 1000000);
    is_text(rig_tasks(&r, "a"), "WAITING", "nothing expires there");
    rig_step(&r, (struct event){.kind = EVENT_NODE_AVAILABLE, .id = 1, .flag = 1});
    is_int(anneal_next_timer(r.a) - r.now, 3000, "what was left is left");
    rig_after(&r, 3000);
    is_text(rig_started(&r), "a/1", "and then it is asked");
    is_int(rig_view(&r, "a").deadline_ms - r.now, 5000, "its deadline moved as much");
    rig_done(&r);
}

static void result_on_unavailable_node(void)
{
    struct rig r;
    rig_init(&r, 1);
    rig_plan(&r, RIG_OP, "a@1:2");
    rig_step(&r, (struct event){.kind = EVENT_NODE_AVAILABLE, .id = 1, .flag = 0});
    rig_ok(&r, "a.1");
    is_text(rig_tasks(&r, "a.1 a.2"), "DONE READY", "results apply; nothing starts");
    rig_step(&r, (struct event){.kind = EVENT_NODE_AVAILABLE, .id = 1, .flag = 1});
    is_text(rig_started(&r), "a.2", "until it is available again");
    rig_done(&r);
}

static void cancel_reaches_it(void)
{
    struct rig r;
    rig_init(&r, 1);
    rig_plan(&r, RIG_OP, "a@1");
    rig_again(&r, "a", 5000);
    rig_do(&r, EVENT_CANCEL, RIG_OP);
    is_text(rig_tasks(&r, "a"), "CANCELLED:cancelled", "cancel ends a waiting attempt at once");
    is_text(rig_op_text(&r, RIG_OP), "cancelled cancelled", "and with it the operation");
    ok(anneal_next_timer(r.a) == UINT64_MAX, "no timer is left");
    rig_do(&r, EVENT_RESUME, RIG_OP);
    is_text(rig_started(&r), "a", "resumed, a new attempt starts");
    is_int(rig_view(&r, "a").attempt, 2, "with a new number");
    rig_done(&r);
}

static void death_of_its_node(void)
{
    struct rig r;
    rig_init(&r, 1);
    rig_def(&r, (struct plan_def){.repeat = REPEAT_ONCE});
    rig_plan(&r, RIG_OP, "a@1=1");
    rig_again(&r, "a", 5000);
    rig_do(&r, EVENT_NODE_DEAD, 1);
    rig_seen(&r, 1, 101, 1);
    is_text(rig_started(&r), "a", "waiting, nothing of a once task ran: it may start again");
    rig_done(&r);
}

int main(void)
{
    asked_again();
    at_least_ten();
    holds(HOLD_NOTHING, "b");
    holds(HOLD_NODE, "");
    poke();
    deadline();
    unavailable_freezes_clocks();
    result_on_unavailable_node();
    cancel_reaches_it();
    death_of_its_node();
    return tap_done();
}
