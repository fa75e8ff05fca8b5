/* test_chain.c - tasks sent ahead, to run one behind the other (RFC 09, section 6) */
/* SPDX-License-Identifier: Apache-2.0 */
#include "draft.h"

/* What was sent to begin behind something, as "task<before ...", and what began by that. */
static const char *ahead(struct rig *r)
{
    static char text[512];
    size_t n = 0;
    text[0] = '\0';
    for (size_t i = 0; i < r->fx.sends.n; i++) {
        const struct dispatch *d = &r->fx.sends.at[i];
        if (d->behind)
            n += (size_t)snprintf(text + n, sizeof text - n, "%s%u<%u", n ? " " : "", d->task,
                                  d->behind);
    }
    return text;
}

static const char *turns(struct rig *r)
{
    static char text[512];
    size_t n = 0;
    text[0] = '\0';
    for (size_t i = 0; i < r->fx.turns.n; i++)
        n += (size_t)snprintf(text + n, sizeof text - n, "%s%u", n ? " " : "",
                              r->fx.turns.at[i].task);
    return text;
}

/* A rig whose definition '1' chains. */
static void begin(struct rig *r, uint32_t nodes)
{
    rig_init(r, nodes);
    rig_def(r, (struct plan_def){.flags = DEF_F_CHAINS, .retries = 1, .backoff_ms = 1000});
}

static void straight(void)
{
    struct rig r;
    begin(&r, 1);
    rig_plan(&r, RIG_OP, "a@1:3=1 b@1:2<a=1");
    is_text(ahead(&r), "2<1 3<2 4<3 5<4", "tasks of a noderole, then of one that needs it");
    is_text(rig_tasks(&r, "a a.2 b"), "RUNNING PENDING PENDING", "they have not begun");
    is_text(rig_states(&r, "a b"), "TRANSITION BLOCKED", "nor have their noderoles");
    struct why why[4];
    is_int(anneal_why_task(r.a, 2, why, 4) > 0, 1, "there is a reason");
    is_int(why[0].rule, WHY_AHEAD, "they were sent ahead");
    is_int(why[0].id, 1, "behind the first");
    rig_ok(&r, "a");
    is_text(turns(&r), "2", "the next one begins by itself");
    is_int((int64_t)r.fx.sends.n, 0, "nothing is sent for it");
    is_int(rig_view(&r, "a.2").attempt, 1, "it is the attempt that was sent");
    rig_all_ok(&r, "a.2 a.3");
    is_text(rig_states(&r, "a b"), "ACTIVE TRANSITION", "from noderole to noderole");
    rig_all_ok(&r, "b b.2");
    is_text(rig_states(&r, "a b"), "ACTIVE ACTIVE", "to the end");
    is_text(rig_op_text(&r, RIG_OP), "succeeded", "which ends the operation");
    rig_done(&r);
}

/* An answer with which nothing behind it has begun. */
static void answer_last(struct rig *r, const char *task, enum outcome o)
{
    struct event ev = rig_result(r, task, o);
    ev.last = true;
    rig_step(r, ev);
}

static void broken(void)
{
    struct rig r;
    begin(&r, 1);
    rig_plan(&r, RIG_OP, "a@1:4=1");
    answer_last(&r, "a", OUTCOME_OK);
    is_text(turns(&r), "", "what returned data ends the chain");
    is_text(ahead(&r), "3<2 4<3",
            "the next one starts with what there is now, and others behind it");
    is_int(rig_view(&r, "a.2").attempt, 2, "as another attempt");
    rig_fail(&r, "a.2");
    is_text(rig_tasks(&r, "a.2 a.3"), "PENDING:back-off PENDING",
            "nothing begins behind a failure");
    rig_after(&r, 1000);
    is_text(rig_tasks(&r, "a.2"), "RUNNING", "which is tried again");
    is_int(rig_view(&r, "a.3").tries, 0, "what was never begun has used up nothing");
    rig_again(&r, "a.2", 500);
    is_text(rig_tasks(&r, "a.2 a.3"), "WAITING PENDING", "nor behind one that is not done yet");
    is_int(anneal_attempt_open(r.a, 3, rig_view(&r, "a.3").attempt), 0, "they are closed");
    rig_done(&r);
}

static void withdrawn(void)
{
    struct rig r;
    begin(&r, 1);
    rig_plan(&r, RIG_OP, "a@1:3=1");
    rig_step(&r, (struct event){.kind = EVENT_CANCEL, .id = RIG_OP});
    is_int((int64_t)r.fx.stops.n, 2, "a hold stops what is ahead");
    is_text(rig_tasks(&r, "a a.2"), "RUNNING PENDING", "and lets go on what runs");
    rig_ok(&r, "a");
    is_text(rig_tasks(&r, "a a.2"), "DONE PENDING", "the next one may have begun all the same");
    struct node_view n;
    (void)anneal_node(r.a, 1, &n);
    is_int(n.used, 1, "so it has the slot");
    rig_step(
        &r,
        (struct event){
            .kind = EVENT_RESULT, .id = 2, .attempt = 1, .flag = OUTCOME_CANCELLED, .last = true});
    (void)anneal_node(r.a, 1, &n);
    is_int(n.used, 0, "until it is known to have ended");
    is_text(rig_op_text(&r, RIG_OP), "cancelled cancelled", "then the operation has");
    rig_do(&r, EVENT_RESUME, RIG_OP);
    is_text(rig_tasks(&r, "a.2"), "RUNNING", "resumed, it starts as any other");
    rig_done(&r);
}

/* Workers go, and after a restart there is none before the first has come: what has begun goes on.
 */
static void fewer_places(void)
{
    struct rig r;
    begin(&r, 2);
    rig_plan(&r, RIG_OP, "a@1:4=1 b@2:2=1");
    rig_step(&r, (struct event){.kind = EVENT_CAPACITY_SET, .n = 0});
    rig_ok(&r, "a");
    is_text(turns(&r), "2", "workers offer nothing: the next one has the place of the last");
    is_int((int64_t)r.fx.stops.n, 0, "and is not told to end");
    rig_step(&r, (struct event){.kind = EVENT_JIG_SET, .id = 1, .flag = 1, .n = 0});
    rig_ok(&r, "a.2");
    is_text(turns(&r), "3", "none of them has its jig: neither");
    rig_step(&r, (struct event){.kind = EVENT_TENANT_SET, .id = 1, .n = 1});
    rig_ok(&r, "a.3");
    is_text(turns(&r), "4", "its tenant has less than runs: neither");
    is_text(rig_tasks(&r, "a.4 b"), "RUNNING RUNNING", "as everything else that runs");
    struct err e;
    is_int(anneal_check(r.a, &e), 0, "which is sound");
    rig_step(&r, (struct event){.kind = EVENT_JIG_SET, .id = 1, .flag = 0, .n = 5});
    rig_ok(&r, "b");
    is_text(turns(&r), "", "its jig is switched off: it does not go on");
    is_int((int64_t)r.fx.stops.n, 1, "and is told to end");
    rig_done(&r);
}

/* What only the node keeps from starting goes along; what could run beside it does not. */
static void beside(void)
{
    struct rig r;
    begin(&r, 1);
    rig_plan(&r, RIG_OP, "a@1=1#9 b@1=1#8 c@1=1#7");
    is_text(ahead(&r), "2<1 3<2", "others that wait for the node, in their order");
    is_text(rig_tasks(&r, "b c"), "READY READY", "they wait for nothing else");
    is_text(rig_states(&r, "a b c"), "TRANSITION TODO TODO", "and are to do");
    rig_fail(&r, "a");
    is_text(rig_started(&r), "b c", "the next one starts though the first has failed");
    rig_done(&r);
    begin(&r, 1);
    rig_step(&r, (struct event){.kind = EVENT_NODE_SLOTS, .id = 1, .n = 2});
    rig_plan(&r, RIG_OP, "a@1:2=1 b@1:2=1");
    is_text(ahead(&r), "2<1 4<3", "with room for two, only what waits for the one before");
    rig_done(&r);
}

static void not_ahead(void)
{
    struct rig r;
    begin(&r, 2);
    char once = rig_def(&r, (struct plan_def){.flags = DEF_F_CHAINS, .repeat = REPEAT_ONCE});
    char down = rig_def(&r, (struct plan_def){.flags = DEF_F_CHAINS | DEF_F_TAKES_DOWN});
    char text[64];
    rig_plan(&r, RIG_OP, "a@1=1 b@2<a=1");
    is_text(ahead(&r), "", "not what is on another node");
    rig_plan(&r, RIG_OP, "c@2=1 d@2<b,c=1");
    is_text(ahead(&r), "", "not what waits for another one too");
    rig_all_ok(&r, "c a b d");
    snprintf(text, sizeof text, "e@1:2=%c", once);
    rig_plan(&r, OPERATION_STANDING, text);
    is_text(ahead(&r), "", "not what must not happen twice");
    rig_all_ok(&r, "e e.2");
    snprintf(text, sizeof text, "f@1:2=%c", down);
    rig_plan(&r, OPERATION_STANDING, text);
    is_text(ahead(&r), "", "not what takes its node down");
    rig_done(&r);
}

/* Nobody knows what became of it. */
static void lost(void)
{
    struct rig r;
    begin(&r, 1);
    rig_plan(&r, RIG_OP, "a@1:3=1");
    rig_answer(&r, "a", OUTCOME_LOST);
    is_text(rig_tasks(&r, "a a.2"), "RUNNING PENDING", "the first is repeated");
    is_int(rig_view(&r, "a.2").attempt, 2, "and those behind it are sent anew");
    is_int(rig_view(&r, "a.2").tried, 1, "one that may have begun counts as tried");
    rig_step(&r, (struct event){.kind = EVENT_RESULT, .id = 2, .attempt = 2, .flag = OUTCOME_OK});
    is_text(rig_tasks(&r, "a a.2"), "RUNNING PENDING", "an answer that has overtaken another's");
    is_int((int64_t)(r.fx.changes.n + r.fx.attempts.n), 0, "is not applied");
    rig_done(&r);
}

/* Inputs that are others by the time of its turn. */
static void changed(void)
{
    struct rig r;
    begin(&r, 1);
    rig_plan(&r, RIG_OP, "a@1=1 b@1<a=1");
    rig_data(&r, "b", 4711);
    rig_ok(&r, "a");
    is_text(turns(&r), "", "it was sent with other data");
    is_text(rig_stopped(&r), "b", "and is told to end");
    rig_step(&r,
             (struct event){
                 .kind = EVENT_RESULT, .id = 2, .attempt = 1, .flag = OUTCOME_OK, .last = true});
    is_text(rig_started(&r), "b", "whatever it says, it runs again");
    rig_done(&r);
}

/* A node that counts as alive by somebody's word is looked at while a chain runs there. */
static void boot_learnt(void)
{
    struct rig r;
    begin(&r, 1);
    rig_step(&r, (struct event){
                     .kind = EVENT_NODE_ADD, .id = 2, .n = 1, .flag = 1, .extra = ALIVE_ALIVE});
    rig_plan(&r, RIG_OP, "a@2:3=1");
    is_text(ahead(&r), "2<1 3<2", "a chain on a node whose boot nobody knows");
    rig_ok(&r, "a");
    rig_seen(&r, 2, 102, 7);
    rig_ok(&r, "a.2");
    is_text(turns(&r), "3", "its boot is told: that is the boot the chain runs in");
    is_int((int64_t)r.fx.stops.n, 0, "and nothing is ended");
    rig_ok(&r, "a.3");
    is_text(rig_states(&r, "a"), "ACTIVE", "it comes to its end");
    rig_do(&r, EVENT_NODE_DEAD, 2);
    rig_seen(&r, 2, 102, 7);
    is_text(rig_states(&r, "a"), "ACTIVE", "back in that boot nothing runs again");
    is_text(rig_started(&r), "", "(indeed)");
    rig_seen(&r, 2, 102, 8);
    is_text(rig_started(&r), "a.1 a.2 a.3", "in another one it does");
    rig_done(&r);
}

int main(void)
{
    boot_learnt();
    straight();
    broken();
    withdrawn();
    fewer_places();
    beside();
    not_ahead();
    lost();
    changed();
    return tap_done();
}
