/* test_nodes.c - what is believed of nodes and what follows from it (RFC 01, section 7)
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "rig.h"

static const char *alive(const struct rig *r, uint32_t id)
{
    struct node_view v = {0};
    anneal_node(r->a, id, &v);
    return alive_state_name(v.alive);
}

static void silence(struct rig *r, uint32_t from, uint32_t to)
{
    for (uint32_t n = from; n <= to; n++)
        rig_do(r, EVENT_NODE_SILENT, n);
}

static void silent_to_dead(void)
{
    struct rig r;
    rig_init(&r, 1);
    silence(&r, 1, 1);
    r.now += 30000;
    silence(&r, 1, 1);
    r.now += 29999;
    silence(&r, 1, 1);
    is_text(alive(&r, 1), "alive", "three probes in less than 60 s are not enough");
    r.now += 1;
    silence(&r, 1, 1);
    is_text(alive(&r, 1), "dead", "enough probes over enough time: dead");
    rig_done(&r);

    rig_init(&r, 1);
    silence(&r, 1, 1);
    r.now += 90000;
    silence(&r, 1, 1);
    is_text(alive(&r, 1), "alive", "two probes are too few, however far apart");
    silence(&r, 1, 1);
    is_text(alive(&r, 1), "dead", "the third is enough");
    rig_done(&r);
}

static void an_answer_ends_silence(void)
{
    struct rig r;
    struct node_view v;
    rig_init(&r, 1);
    silence(&r, 1, 1);
    silence(&r, 1, 1);
    rig_seen(&r, 1, 101, 1);
    anneal_node(r.a, 1, &v);
    is_int(v.silent_ms, 0, "an answer ends the silence");
    r.now += 90000;
    silence(&r, 1, 1);
    is_text(alive(&r, 1), "alive", "and the count begins anew");
    rig_seen(&r, 1, 101, 1);
    rig_seen(&r, 1, 101, 1);
    is_int(r.fx.changes.n, 0, "a report that tells nothing new changes nothing");
    rig_done(&r);
}

static void suspect(struct rig *r)
{
    rig_init(r, 8);
    rig_plan(r, RIG_OP, "a@1");
    rig_ok(r, "a");
    silence(r, 1, 6);
    r->now += 60000;
    silence(r, 1, 6);
    ok(!anneal_suspect(r->a), "not before a death is due");
    silence(r, 1, 6);
}

static void suspect_self(void)
{
    struct rig r;
    suspect(&r);
    ok(anneal_suspect(r.a), "so many silent at once: the fault is more likely ours");
    is_text(alive(&r, 1), "alive", "nobody is declared dead");
    is_text(rig_states(&r, "a"), "ACTIVE", "and nothing is lost");
    rig_seen(&r, 1, 101, 1);
    rig_seen(&r, 2, 102, 1);
    ok(anneal_suspect(r.a), "until half of them have answered");
    rig_seen(&r, 3, 103, 1);
    ok(!anneal_suspect(r.a), "then it is over");
    silence(&r, 4, 4);
    is_text(alive(&r, 4), "dead", "and who is still silent is dead");
    rig_done(&r);
}

static void suspect_confirmed(void)
{
    struct rig r;
    suspect(&r);
    rig_do(&r, EVENT_DEAD_CONFIRM, 0);
    ok(!anneal_suspect(r.a), "an operator's word ends it");
    for (uint32_t n = 1; n <= 8; n++)
        is_text(alive(&r, n), n <= 6 ? "dead" : "alive", "confirmed: node %u", n);
    is_text(rig_states(&r, "a"), "TODO", "what was on them is lost");
    is_int(rig_try(&r, (struct event){.kind = EVENT_DEAD_CONFIRM}), -ERR_CONFLICT,
           "nothing is left to confirm");
    rig_done(&r);
}

static void few_are_no_suspicion(void)
{
    struct rig r;
    rig_init(&r, 8);
    silence(&r, 1, 4);
    r.now += 60000;
    silence(&r, 1, 4);
    silence(&r, 1, 4);
    is_text(alive(&r, 4), "dead", "fewer than five are just dead");
    ok(!anneal_suspect(r.a), "and no suspicion");
    rig_done(&r);
}

static void one_word_is_enough(void)
{
    struct rig r;
    suspect(&r);
    rig_do(&r, EVENT_NODE_DEAD, 1);
    is_text(alive(&r, 1), "dead", "an operator may declare one dead at any time");
    is_text(alive(&r, 2), "alive", "and only that one");
    rig_done(&r);
}

static void away(void)
{
    struct rig r;
    rig_init(&r, 2);
    rig_def(&r, (struct plan_def){.flags = DEF_F_TAKES_DOWN});
    rig_plan(&r, RIG_OP, "a@1 boot@1=1>a after@1>boot child@2<a");
    rig_ok(&r, "a");
    is_text(rig_started(&r), "boot child", "what takes its node down starts");
    is_text(alive(&r, 1), "away", "its node is away");
    rig_ok(&r, "child");
    for (int i = 0; i < 5; i++) {
        r.now += 60000;
        silence(&r, 1, 1);
    }
    is_text(alive(&r, 1), "away", "silence is expected");
    is_text(rig_states(&r, "a child"), "ACTIVE ACTIVE", "nothing ripples");
    rig_again(&r, "boot", 1000);
    rig_after(&r, 1000);
    is_text(rig_started(&r), "boot/1", "it is asked while the node is away");
    rig_seen(&r, 1, 101, 2);
    rig_ok(&r, "boot");
    is_text(alive(&r, 1), "alive", "when it ends the node counts as alive");
    is_text(rig_started(&r), "after", "and work goes on there");
    is_text(rig_states(&r, "boot"), "ACTIVE", "the boot it made does not undo it");
    rig_done(&r);
}

static void available(void)
{
    struct rig r;
    rig_init(&r, 1);
    rig_step(&r, (struct event){.kind = EVENT_NODE_AVAILABLE, .id = 1, .flag = 0});
    rig_plan(&r, RIG_OP, "a@1");
    is_text(rig_started(&r), "", "no starts on an unavailable node");
    rig_step(&r, (struct event){.kind = EVENT_NODE_AVAILABLE, .id = 1, .flag = 1});
    is_text(rig_started(&r), "a", "until it is available");
    rig_step(&r, (struct event){.kind = EVENT_NODE_AVAILABLE, .id = 1, .flag = 1});
    is_int(r.fx.changes.n, 0, "said twice is said once");
    rig_done(&r);
}

static void unknown_is_not_alive(void)
{
    struct rig r;
    rig_init(&r, 0);
    rig_def(&r, (struct plan_def){.flags = DEF_F_OUTSIDE});
    rig_step(&r, (struct event){.kind = EVENT_NODE_ADD, .id = 1, .n = 2, .flag = 1});
    rig_plan(&r, RIG_OP, "make@1=1 inside@1");
    is_text(rig_started(&r), "make", "what reaches elsewhere needs no living node");
    rig_seen(&r, 1, 101, 1);
    is_text(rig_started(&r), "inside", "what reaches into it does");
    rig_done(&r);
}

static void freeze_on_error(void)
{
    struct rig r;
    struct node_view v;
    rig_init(&r, 2);
    rig_plan(&r, RIG_OP, "a@1 b@1 c@2");
    rig_step(&r, (struct event){.kind = EVENT_POLICY_SET, .flag = 1});
    rig_fail(&r, "a");
    is_text(rig_started(&r), "", "by policy an error freezes its node");
    anneal_node(r.a, 1, &v);
    ok(v.frozen && v.errors == 1, "which says so");
    rig_step(&r, (struct event){.kind = EVENT_POLICY_SET, .flag = 0});
    is_text(rig_started(&r), "b", "without it other work goes on");
    rig_done(&r);
}

static void frozen_until_retried(void)
{
    struct rig r;
    rig_init(&r, 1);
    rig_step(&r, (struct event){.kind = EVENT_POLICY_SET, .flag = 1});
    rig_plan(&r, RIG_OP, "a@1#5 b@1");
    rig_fail(&r, "a");
    rig_do(&r, EVENT_RETRY_TASK, rig_task(&r, "a"));
    is_text(rig_started(&r), "a", "a retry thaws it: no noderole is in error");
    rig_ok(&r, "a");
    is_text(rig_started(&r), "b", "and the rest follows");
    rig_done(&r);
}

static void gone(void)
{
    struct rig r;
    struct node_view v;
    rig_init(&r, 2);
    rig_plan(&r, RIG_OP, "a@1");
    is_int(rig_try(&r, (struct event){.kind = EVENT_NODE_GONE, .id = 1}), -ERR_CONFLICT,
           "a node with noderoles cannot go");
    rig_do(&r, EVENT_NODE_GONE, 2);
    anneal_node(r.a, 2, &v);
    ok(v.gone, "an empty one can");
    is_int(rig_try(&r, (struct event){.kind = EVENT_NODE_SEEN, .id = 2}), -ERR_NOT_FOUND,
           "and is not heard of again");
    is_int(rig_try(&r, (struct event){.kind = EVENT_NODE_ADD, .id = 1, .n = 1}), -ERR_EXISTS,
           "a node that exists is not added");
    is_int(rig_try(&r, (struct event){.kind = EVENT_NODE_ADD, .id = 5, .extra = 99}), -ERR_INVALID,
           "nor one in no state");
    rig_done(&r);
}

int main(void)
{
    silent_to_dead();
    an_answer_ends_silence();
    suspect_self();
    suspect_confirmed();
    few_are_no_suspicion();
    one_word_is_enough();
    away();
    available();
    unknown_is_not_alive();
    freeze_on_error();
    frozen_until_retried();
    gone();
    return tap_done();
}
