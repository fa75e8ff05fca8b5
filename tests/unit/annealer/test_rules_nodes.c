/* test_rules_nodes.c - what we believe of nodes: unknown, alive, away, dead, replaced, unavailable,
 * frozen
 *
 * Section 7 of the engine's rules.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "draft.h"

#define is_alive(r, id, want, ...)                                                                 \
    is_text(alive_state_name(rig_node_at((r), (id)).alive), alive_state_name(ALIVE_##want),        \
            __VA_ARGS__)

static int silent(struct rig *r, uint32_t node)
{
    return -rig_try(r, (struct event){.kind = EVENT_NODE_SILENT, .id = node});
}
static int seen(struct rig *r, uint32_t node, uint64_t machine, uint64_t boot)
{
    return -rig_try(r,
                    (struct event){.kind = EVENT_NODE_SEEN, .id = node, .a = machine, .b = boot});
}
static int available(struct rig *r, uint32_t node, bool yes)
{
    return -rig_try(r, (struct event){.kind = EVENT_NODE_AVAILABLE, .id = node, .flag = yes});
}

static void test_starts_need_a_live_node(void)
{
    struct rig r;
    rig_init(&r, 0);
    rig_step(&r, (struct event){.kind = EVENT_NODE_ADD, .id = 1, .n = 1, .flag = 1});
    uint32_t inside = rig_one(&r, 1, (struct plan_def){0});
    is_alive(&r, 1, UNKNOWN, "never seen");
    is_task(&r, inside, READY, "what reaches into the node waits");
    uint32_t outside = rig_one(&r, 1, (struct plan_def){.flags = DEF_F_OUTSIDE});
    is_task(&r, outside, RUNNING, "what reaches a provider does not");
    rig_reply(&r, outside, OUTCOME_OK);
    seen(&r, 1, 11, 12);
    is_task(&r, inside, RUNNING, "seen");
    rig_done(&r);
}

static void test_death_takes_probes_and_time(void)
{
    struct rig r;
    rig_init_with(&r, 10, 9, &(struct engine_settings){.dead_after_ms = 10000, .probe_count = 3});
    uint32_t t = rig_one(&r, 1, (struct plan_def){0});
    silent(&r, 1);
    silent(&r, 1);
    silent(&r, 1);
    is_alive(&r, 1, ALIVE, "three probes at once are not enough");
    r.now += 9999;
    silent(&r, 1);
    is_alive(&r, 1, ALIVE, "nor is time a little short");
    r.now += 1;
    silent(&r, 1);
    is_alive(&r, 1, DEAD, "ten seconds and three probes are");
    is_task(&r, t, READY, "what ran there is lost and may run again");
    is_int(rig_task_at(&r, t).attempt, 1, "not before the node is back");
    silent(&r, 1);
    is_alive(&r, 1, DEAD, "it cannot get worse");
    rig_done(&r);

    rig_init_with(&r, 10, 9, &(struct engine_settings){.dead_after_ms = 10000, .probe_count = 3});
    silent(&r, 2);
    r.now += 20000;
    silent(&r, 2);
    is_alive(&r, 2, ALIVE, "time without probes is not enough");
    seen(&r, 2, 102, 1);
    is_int(rig_node_at(&r, 2).silent_ms, 0, "an answer ends the silence");
    silent(&r, 2);
    silent(&r, 2);
    silent(&r, 2);
    is_alive(&r, 2, ALIVE, "and the count begins anew");
    rig_done(&r);
}

static void test_outside_attempts_survive_their_node(void)
{
    struct rig r;
    rig_init(&r, 1);
    rig_step(&r, (struct event){.kind = EVENT_NODE_SLOTS, .id = 1, .n = 2});
    uint32_t out = rig_one(&r, 1, (struct plan_def){.flags = DEF_F_OUTSIDE});
    uint32_t in = rig_one(&r, 1, (struct plan_def){0});
    rig_step(&r, (struct event){.kind = EVENT_NODE_DEAD, .id = 1});
    ok(!anneal_attempt_open(r.a, in, 1), "an attempt on the node is lost with it");
    ok(anneal_attempt_open(r.a, out, 1), "one that runs elsewhere is not");
    is_task(&r, out, PENDING, "its noderole is");
    rig_reply(&r, out, OUTCOME_OK);
    is_task(&r, out, RUNNING, "when it has ended, the new run needs no live node");
    is_int(-rig_try(&r, (struct event){.kind = EVENT_NODE_DEAD, .id = 1}), ERR_CONFLICT,
           "dead is dead");
    rig_done(&r);
}

static void silence(struct rig *r, uint32_t from, uint32_t to)
{
    for (int probe = 0; probe < 3; probe++) {
        for (uint32_t id = from; id <= to; id++)
            silent(r, id);
        r->now += 30000;
    }
    for (uint32_t id = from; id <= to; id++)
        silent(r, id);
}

static void test_suspect_self(void)
{
    struct rig r;
    rig_init(&r, 20);
    silence(&r, 1, 4);
    is_alive(&r, 4, DEAD, "four of twenty are dead");
    ok(!anneal_suspect(r.a), "that is within what happens");
    rig_done(&r);

    rig_init(&r, 20);
    silence(&r, 1, 6);
    ok(anneal_suspect(r.a), "six of twenty together: the fault is more likely ours");
    is_alive(&r, 1, ALIVE, "none is declared dead");
    seen(&r, 1, 101, 1);
    seen(&r, 2, 102, 1);
    ok(anneal_suspect(r.a), "two of six answer");
    seen(&r, 3, 103, 1);
    ok(!anneal_suspect(r.a), "half of them do: it was not us");
    silent(&r, 6);
    is_alive(&r, 6, DEAD, "who is still silent is dead");
    rig_done(&r);

    rig_init(&r, 20);
    is_int(-rig_try(&r, (struct event){.kind = EVENT_DEAD_CONFIRM}), ERR_CONFLICT,
           "nothing to confirm");
    silence(&r, 1, 6);
    silent(&r, 7);
    is_int(rig_try(&r, (struct event){.kind = EVENT_DEAD_CONFIRM}), 0, "an operator's word");
    is_alive(&r, 1, DEAD, "they are dead");
    is_alive(&r, 6, DEAD, "all of them");
    is_alive(&r, 7, ALIVE, "but for one that only just fell silent");
    ok(!anneal_suspect(r.a), "and no longer suspected");
    rig_done(&r);
}

static void test_few_nodes_are_never_a_crowd(void)
{
    struct rig r;
    rig_init(&r, 4);
    silence(&r, 1, 4);
    is_alive(&r, 4, DEAD, "four of four, below the least number that counts");
    rig_done(&r);
}

static void test_away(void)
{
    struct rig r;
    rig_init(&r, 2);
    struct draft m = draft_new(&r);
    uint32_t soft = draft_def(&m, (struct plan_def){0});
    uint32_t down = draft_def(&m, (struct plan_def){.flags = DEF_F_TAKES_DOWN, .hold = HOLD_NODE});
    uint32_t below = draft_noderole(&m, 1, 0, NONE);
    uint32_t b = draft_task(&m, soft, 0, 1, NONE);
    draft_noderole(&m, 1, 0, NONE);
    uint32_t reboot = draft_task(&m, down, 0, 1, IDS(b));
    draft_apply(&m);
    rig_reply(&r, b, OUTCOME_OK);
    is_task(&r, reboot, RUNNING, "a task takes its node down");
    is_alive(&r, 1, AWAY, "which is expected to fall silent");
    for (int i = 0; i < 9; i++) {
        r.now += 30000;
        silent(&r, 1);
    }
    is_alive(&r, 1, AWAY, "however long");
    is_noderole(&r, below, ACTIVE, "nothing ripples");
    rig_reply_again(&r, reboot, 1000);
    rig_after(&r, 1000);
    is_task(&r, reboot, RUNNING, "it is asked again while the node is away");
    seen(&r, 1, 101, 777);
    is_alive(&r, 1, AWAY, "seen, but it is the task's word that counts");
    is_noderole(&r, below, ACTIVE, "a planned boot re-runs nothing");
    rig_reply(&r, reboot, OUTCOME_OK);
    is_alive(&r, 1, ALIVE, "it has ended");
    seen(&r, 1, 101, 777);
    is_int(r.fx.sends.n, 0, "and all is as it should be");
    rig_done(&r);
}

static void test_new_boot_seen_after_the_end(void)
{
    struct rig r;
    rig_init(&r, 1);
    uint32_t soft = rig_one(&r, 1, (struct plan_def){0});
    rig_reply(&r, soft, OUTCOME_OK);
    uint32_t reboot = rig_one(&r, 1, (struct plan_def){.flags = DEF_F_TAKES_DOWN});
    rig_reply(&r, reboot, OUTCOME_OK);
    is_alive(&r, 1, ALIVE, "the task says that the node is back");
    seen(&r, 1, 101, 778);
    is_task(&r, soft, DONE, "the new boot was planned, and ripples no more than the task did");
    is_task(&r, reboot, DONE, "nor is it a reason to boot again, without end");
    seen(&r, 1, 101, 779);
    is_task(&r, soft, RUNNING, "a boot that nobody planned is one to run again");
    is_task(&r, reboot, DONE, "for whom a boot matters");
    rig_done(&r);
}

static void test_return_with_another_boot(void)
{
    struct rig r;
    rig_init(&r, 1);
    uint32_t t = rig_one(&r, 1, (struct plan_def){0});
    rig_reply(&r, t, OUTCOME_OK);
    rig_step(&r, (struct event){.kind = EVENT_NODE_DEAD, .id = 1});
    seen(&r, 1, 101, 1);
    is_task(&r, t, DONE, "same machine, same boot: unchanged");
    is_int(rig_task_at(&r, t).attempt, 1, "nothing runs");
    rig_step(&r, (struct event){.kind = EVENT_NODE_DEAD, .id = 1});
    seen(&r, 1, 101, 888);
    is_task(&r, t, RUNNING, "another boot: it runs again");
    rig_done(&r);
}

static void test_replaced(void)
{
    struct rig r;
    rig_init(&r, 2);
    struct draft m = draft_new(&r);
    uint32_t d = draft_def(&m, (struct plan_def){.flags = DEF_F_SURVIVES_REBOOT});
    uint32_t parent = draft_noderole(&m, 1, 0, NONE);
    uint32_t p = draft_task(&m, d, 0, 2, NONE);
    uint32_t child = draft_noderole(&m, 2, 0, IDS(parent));
    uint32_t c = draft_task(&m, d, 0, 1, IDS(p));
    draft_noderole(&m, 1, 0, IDS(child)); /* has not begun */
    uint32_t late = draft_task(&m, d, 0, 1, IDS(c));
    draft_apply(&m);
    rig_reply(&r, p, OUTCOME_OK);
    uint32_t incarnation = rig_noderole_at(&r, parent).incarnation;
    seen(&r, 1, 666, 1);
    is_noderole(&r, parent, ERROR, "another machine under its name");
    is_reason(rig_task_at(&r, p).reason, REPLACED, "its reason");
    is_int(rig_noderole_at(&r, parent).incarnation, incarnation + 1, "another incarnation");
    is_noderole(&r, child, BLOCKED, "its children are lost");
    is_int(rig_task_at(&r, late).reason == REASON_REPLACED, 0,
           "what never ran there is not touched");
    rig_step(&r, (struct event){.kind = EVENT_RETRY_NODEROLE, .id = parent});
    is_task(&r, p, RUNNING, "a person says: make it what the old one was");
    rig_reply_as(&r, c, 1, OUTCOME_OK); /* of a run that is over */
    rig_finish(&r);
    is_noderole(&r, child, ACTIVE, "and everything follows");
    is_int(rig_task_at(&r, c).attempt, 2, "the child ran again: its parent is another one");
    rig_done(&r);
}

static void test_unavailable(void)
{
    struct rig r;
    rig_init_with(&r, 1, 9, &(struct engine_settings){.stop_grace_ms = 1000});
    rig_step(&r, (struct event){.kind = EVENT_NODE_SLOTS, .id = 1, .n = 3});
    uint32_t runs = rig_one(&r, 1, (struct plan_def){.timeout_ms = 5000});
    uint32_t waits = rig_one(&r, 1, (struct plan_def){.deadline_ms = 20000});
    rig_reply_again(&r, waits, 3000);
    r.now += 1000;
    available(&r, 1, false);
    uint32_t late = rig_one(&r, 1, (struct plan_def){.flags = DEF_F_OUTSIDE});
    is_task(&r, late, READY, "no starts, not even of what reaches elsewhere");
    rig_after(&r, 3600000);
    is_task(&r, waits, WAITING, "no asks");
    ok(!rig_was_stopped(&r, runs), "deadlines stand still");
    is_int(anneal_next_timer(r.a) == UINT64_MAX, 1, "nothing is armed");
    rig_reply(&r, runs, OUTCOME_OK);
    is_task(&r, runs, DONE, "results still apply");
    available(&r, 1, true);
    is_task(&r, late, RUNNING, "available again");
    is_task(&r, waits, WAITING, "its time goes on where it stood");
    rig_after(&r, 1999);
    is_task(&r, waits, WAITING, "two of its three seconds were left");
    rig_after(&r, 1);
    is_task(&r, waits, RUNNING, "and are over");
    is_int(available(&r, 1, true), 0, "saying it twice is harmless");
    rig_done(&r);
}

static void test_answers_while_unavailable(void)
{
    struct rig r;
    rig_init_with(&r, 1, 9, &(struct engine_settings){.stop_grace_ms = 1000});
    uint32_t t = rig_one(&r, 1, (struct plan_def){.deadline_ms = 3600000});
    available(&r, 1, false);
    rig_reply_again(&r, t, 5000);
    rig_after(&r, 600000);
    available(&r, 1, true);
    rig_after(&r, 4999);
    is_task(&r, t, WAITING, "what it asked for counts from the moment its clock runs again");
    rig_after(&r, 1);
    is_task(&r, t, RUNNING, "five seconds");
    available(&r, 1, false);
    rig_step(&r, (struct event){.kind = EVENT_CANCEL, .id = RIG_OP, .flag = 1});
    ok(rig_was_stopped(&r, t), "an abort reaches it");
    rig_after(&r, 600000);
    available(&r, 1, true);
    rig_after(&r, 999);
    ok(anneal_attempt_open(r.a, t, 1), "it has the whole grace, and no more");
    rig_after(&r, 1);
    ok(!anneal_attempt_open(r.a, t, 1), "then it is lost");
    rig_done(&r);
}

static void test_freeze_policy(void)
{
    struct rig r;
    rig_init(&r, 2);
    uint32_t bad = rig_one(&r, 1, (struct plan_def){0}),
             other = rig_one(&r, 1, (struct plan_def){0});
    uint32_t elsewhere = rig_one(&r, 2, (struct plan_def){0});
    rig_reply(&r, bad, OUTCOME_FAILED);
    is_task(&r, other, RUNNING, "an error does not stop its node's other work");
    rig_reply(&r, other, OUTCOME_OK);
    rig_step(&r, (struct event){.kind = EVENT_POLICY_SET, .flag = 1});
    uint32_t third = rig_one(&r, 1, (struct plan_def){0});
    ok(rig_node_at(&r, 1).frozen, "unless the policy says so");
    is_task(&r, third, READY, "nothing starts there");
    rig_reply(&r, elsewhere, OUTCOME_OK);
    uint32_t fourth = rig_one(&r, 2, (struct plan_def){0});
    is_task(&r, fourth, RUNNING, "elsewhere it does");
    rig_step(&r, (struct event){.kind = EVENT_RETRY_TASK, .id = bad});
    ok(rig_was_sent(&r, bad) || rig_was_sent(&r, third), "with the error gone the node thaws");
    rig_reply(&r, bad, OUTCOME_FAILED);
    rig_finish(&r);
    is_task(&r, third, READY, "frozen again");
    rig_step(&r, (struct event){.kind = EVENT_POLICY_SET});
    is_task(&r, third, RUNNING, "or with the policy");
    rig_done(&r);
}

static void test_add_and_gone(void)
{
    struct rig r;
    rig_init(&r, 2);
    rig_one(&r, 1, (struct plan_def){0});
    is_int(-rig_try(&r, (struct event){.kind = EVENT_NODE_ADD, .id = 1}), ERR_EXISTS, "exists");
    is_int(-rig_try(&r, (struct event){.kind = EVENT_NODE_ADD, .id = 0}), ERR_EXISTS, "nobody");
    is_int(-rig_try(&r, (struct event){.kind = EVENT_NODE_ADD, .id = 9, .extra = 44}), ERR_INVALID,
           "no such aliveness");
    is_int(-rig_try(&r, (struct event){.kind = EVENT_NODE_GONE, .id = 1}), ERR_CONFLICT,
           "a node with noderoles stays");
    silent(&r, 2);
    is_int(rig_try(&r, (struct event){.kind = EVENT_NODE_GONE, .id = 2}), 0, "one without may go");
    ok(rig_node_at(&r, 2).gone, "it is gone");
    is_int(silent(&r, 2), ERR_NOT_FOUND, "nobody asks for it any more");
    is_int(available(&r, 77, true), ERR_NOT_FOUND, "nor for one that never was");
    rig_done(&r);
}

int main(void)
{
    test_starts_need_a_live_node();
    test_death_takes_probes_and_time();
    test_outside_attempts_survive_their_node();
    test_suspect_self();
    test_few_nodes_are_never_a_crowd();
    test_away();
    test_new_boot_seen_after_the_end();
    test_return_with_another_boot();
    test_replaced();
    test_unavailable();
    test_answers_while_unavailable();
    test_freeze_policy();
    test_add_and_gone();
    return tap_done();
}
