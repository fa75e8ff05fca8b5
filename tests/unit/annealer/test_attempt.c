/* test_attempt.c - what becomes of an attempt: retries, limits, losses (RFC 01, sections 5 and 6)
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "rig.h"

static void backoff_doubles(void)
{
    struct rig r;
    rig_init(&r, 1);
    rig_def(&r, (struct plan_def){.retries = 3, .backoff_ms = 1000});
    rig_plan(&r, RIG_OP, "a@1=1");
    uint64_t wait = 1000;
    for (int failure = 1; failure <= 3; failure++, wait *= 2) {
        rig_fail(&r, "a");
        is_text(rig_tasks(&r, "a"), "PENDING:back-off", "failure %d: back-off", failure);
        is_int(rig_view(&r, "a").wake_ms - r.now, wait, "failure %d: %llu ms", failure,
               (unsigned long long)wait);
        rig_after(&r, wait - 1);
        is_text(rig_started(&r), "", "failure %d: not before that", failure);
        rig_after(&r, 1);
        is_text(rig_started(&r), "a", "failure %d: then the next attempt", failure);
    }
    is_int(rig_view(&r, "a").attempt, 4, "attempts are numbered from 1 without reuse");
    rig_fail(&r, "a");
    is_text(rig_tasks(&r, "a"), "FAILED:exit", "the budget is used up");
    rig_do(&r, EVENT_RETRY_TASK, rig_task(&r, "a"));
    is_text(rig_started(&r), "a", "a person's retry starts it at once");
    rig_fail(&r, "a");
    is_int(rig_view(&r, "a").wake_ms - r.now, 1000, "with a fresh budget");
    rig_done(&r);
}

static void backoff_has_a_limit(void)
{
    struct rig r;
    rig_init(&r, 1);
    rig_def(&r, (struct plan_def){.retries = 30, .backoff_ms = 400 * 1000});
    rig_plan(&r, RIG_OP, "a@1=1");
    for (int i = 0; i < 25; i++) {
        rig_fail(&r, "a");
        if (i > 0 && rig_view(&r, "a").wake_ms - r.now != 600 * 1000)
            ok(false, "failure %d: a back-off of %llu", i,
               (unsigned long long)(rig_view(&r, "a").wake_ms - r.now));
        rig_after(&r, 600 * 1000);
    }
    is_int(rig_view(&r, "a").attempt, 26, "25 back-offs of at most 10 minutes");
    rig_done(&r);
}

static void poke_ends_backoff(void)
{
    struct rig r;
    rig_init(&r, 1);
    rig_def(&r, (struct plan_def){.retries = 1, .backoff_ms = 1000});
    rig_plan(&r, RIG_OP, "a@1=1");
    rig_fail(&r, "a");
    rig_do(&r, EVENT_POKE, rig_task(&r, "a"));
    is_text(rig_started(&r), "a", "a poke ends a back-off");
    is_int(rig_try(&r, (struct event){.kind = EVENT_POKE, .id = rig_task(&r, "a")}), -ERR_CONFLICT,
           "what runs cannot be poked");
    rig_done(&r);
}

static void success_gives_the_budget_back(void)
{
    struct rig r;
    rig_init(&r, 1);
    rig_def(&r, (struct plan_def){.retries = 1});
    rig_plan(&r, RIG_OP, "a@1=1");
    rig_fail(&r, "a");
    is_text(rig_started(&r), "a", "without back-off the next attempt starts at once");
    rig_ok(&r, "a");
    rig_data(&r, "a", 1);
    rig_fail(&r, "a");
    is_text(rig_started(&r), "a", "the next run has the whole budget");
    rig_fail(&r, "a");
    is_text(rig_tasks(&r, "a"), "FAILED:exit", "and no more");
    rig_done(&r);
}

static void timeout_outcome(void)
{
    struct rig r;
    rig_init(&r, 1);
    rig_def(&r, (struct plan_def){.retries = 1});
    rig_plan(&r, RIG_OP, "a@1=1");
    rig_answer(&r, "a", OUTCOME_TIMEOUT);
    is_text(rig_started(&r), "a", "a timeout uses up budget");
    rig_answer(&r, "a", OUTCOME_TIMEOUT);
    is_text(rig_tasks(&r, "a"), "FAILED:timeout", "and then is final");
    rig_done(&r);
}

static void refused_is_final(void)
{
    struct rig r;
    rig_init(&r, 1);
    rig_def(&r, (struct plan_def){.retries = 5});
    rig_plan(&r, RIG_OP, "a@1=1");
    rig_answer(&r, "a", OUTCOME_REFUSED);
    is_text(rig_tasks(&r, "a"), "FAILED:refused", "what was refused is never retried");
    rig_done(&r);
}

/* The engine does not trust the worker to end what runs too long. */
static void stop_then_lost(void)
{
    struct rig r;
    rig_init(&r, 1);
    rig_def(&r, (struct plan_def){.timeout_ms = 10000});
    rig_plan(&r, RIG_OP, "a@1=1");
    is_int(anneal_next_timer(r.a) - r.now, 40000, "a timer at timeout and grace");
    rig_after(&r, 39999);
    is_text(rig_stopped(&r), "", "not told before");
    rig_after(&r, 1);
    is_text(rig_stopped(&r), "a", "told to stop");
    is_text(rig_tasks(&r, "a"), "RUNNING", "it still runs, for all we know");
    rig_after(&r, 29999);
    is_text(rig_tasks(&r, "a"), "RUNNING", "for 30 s more");
    rig_after(&r, 1);
    is_text(rig_started(&r), "a", "then it is lost, and safe to repeat");
    is_int(rig_view(&r, "a").attempt, 2, "under a new number");
    is_int(rig_view(&r, "a").tries, 0, "which uses no budget");
    rig_done(&r);
}

static void stopped_in_time(void)
{
    struct rig r;
    rig_init(&r, 1);
    rig_def(&r, (struct plan_def){.timeout_ms = 10000});
    rig_plan(&r, RIG_OP, "a@1=1");
    rig_after(&r, 40000);
    rig_answer(&r, "a", OUTCOME_CANCELLED);
    is_text(rig_tasks(&r, "a"), "FAILED:timeout", "ended when told to: a timeout");
    rig_done(&r);
}

static void stale_results(void)
{
    struct rig r;
    rig_init(&r, 1);
    rig_def(&r, (struct plan_def){.retries = 1});
    rig_plan(&r, RIG_OP, "a@1=1");
    struct event first = rig_result(&r, "a", OUTCOME_FAILED);
    rig_step(&r, first);
    uint64_t digest = anneal_digest(r.a);
    rig_step(&r, first);
    is_int(anneal_digest(r.a) == digest, 1, "a duplicate changes nothing");
    is_int(r.fx.changes.n + r.fx.attempts.n, 0, "and writes nothing");
    struct event other = rig_result(&r, "a", OUTCOME_OK);
    other.extra = 1;
    rig_step(&r, other);
    is_int(anneal_digest(r.a) == digest, 1, "nor does an answer to another ask");
    other.extra = 0;
    other.attempt = 9;
    rig_step(&r, other);
    is_int(anneal_digest(r.a) == digest, 1, "nor to an attempt that never was");
    rig_ok(&r, "a");
    digest = anneal_digest(r.a);
    rig_fail(&r, "a");
    is_int(anneal_digest(r.a) == digest, 1, "nor a failure after the success");
    is_int(rig_try(&r, (struct event){.kind = EVENT_RESULT, .id = 77}), -ERR_NOT_FOUND,
           "a result of no task is refused");
    is_int(rig_try(&r, (struct event){.kind = EVENT_RESULT, .id = 1, .flag = OUTCOME_COUNT}),
           -ERR_NOT_FOUND, "and so is no outcome");
    rig_done(&r);
}

static void lost(enum repeat repeat, const char *want)
{
    struct rig r;
    rig_init(&r, 1);
    rig_def(&r, (struct plan_def){.repeat = (uint8_t)repeat});
    rig_plan(&r, RIG_OP, "a@1=1");
    rig_answer(&r, "a", OUTCOME_LOST);
    is_text(rig_tasks(&r, "a"), want, "lost, %s: %s", repeat_name(repeat), want);
    is_int(rig_nr(&r, "a").generation, 1, "lost, %s: the run, and with it the key, stays",
           repeat_name(repeat));
    is_int(rig_view(&r, "a").tries, 0, "lost, %s: no budget used", repeat_name(repeat));
    rig_done(&r);
}

static void once_cut(enum outcome o)
{
    struct rig r;
    rig_init(&r, 1);
    rig_def(&r, (struct plan_def){.repeat = REPEAT_ONCE, .retries = 3});
    rig_plan(&r, RIG_OP, "a@1=1");
    rig_answer(&r, "a", o);
    is_text(rig_tasks(&r, "a"), "FAILED:uncertain", "once, %s: how far it came nobody knows",
            outcome_name(o));
    is_int(rig_try(&r, (struct event){.kind = EVENT_RETRY_TASK, .id = rig_task(&r, "a")}),
           -ERR_CONFLICT, "once, %s: a retry is refused", outcome_name(o));
    rig_done(&r);
}

/* Why a task has failed, by the phase in which its attempt ended, and what is kept of it. */
static void phases(enum phase phase, enum outcome o, const char *want)
{
    struct rig r;
    rig_init(&r, 1);
    rig_plan(&r, RIG_OP, "a@1");
    struct event ev = rig_result(&r, "a", o);
    ev.phase = (uint8_t)phase;
    rig_step(&r, ev);
    is_text(rig_tasks(&r, "a"), want, "%s in \"%s\": %s", outcome_name(o), phase_name(phase), want);
    is_int(r.fx.attempts.n, 1, "its attempt ends");
    is_int(r.fx.attempts.at[0].row.phase, phase, "in that phase");
    rig_done(&r);
}

static void phases_retried(void)
{
    struct rig r;
    rig_init(&r, 1);
    rig_def(&r, (struct plan_def){.retries = 1});
    rig_plan(&r, RIG_OP, "a@1=1");
    struct event ev = rig_result(&r, "a", OUTCOME_FAILED);
    ev.phase = PHASE_COUNT;
    is_int(rig_try(&r, ev), -ERR_NOT_FOUND, "there is no such phase");
    ev.phase = PHASE_TEST_PRE;
    rig_step(&r, ev);
    is_text(rig_started(&r), "a", "a task whose test failed is tried again");
    ev = rig_result(&r, "a", OUTCOME_FAILED);
    ev.phase = PHASE_TEST_POST;
    rig_step(&r, ev);
    is_text(rig_tasks(&r, "a"), "FAILED:test-post", "until its budget is used up");
    rig_done(&r);
}

/* In its first test it had not begun, so nobody need be asked what it has done. */
static void once_cut_before(enum outcome o)
{
    struct rig r;
    rig_init(&r, 1);
    rig_def(&r, (struct plan_def){.repeat = REPEAT_ONCE});
    rig_plan(&r, RIG_OP, "a@1=1");
    struct event ev = rig_result(&r, "a", o);
    ev.phase = PHASE_TEST_PRE;
    rig_step(&r, ev);
    is_text(rig_tasks(&r, "a"), "FAILED:timeout", "once, %s in its first test: it never began",
            outcome_name(o));
    is_int(rig_try(&r, (struct event){.kind = EVENT_RETRY_TASK, .id = rig_task(&r, "a")}), 0,
           "once, %s: it may be tried again", outcome_name(o));
    rig_done(&r);
}

static void once_superseded_and_lost(void)
{
    struct rig r;
    rig_init(&r, 2);
    rig_def(&r, (struct plan_def){.repeat = REPEAT_ONCE});
    rig_plan(&r, RIG_OP, "a@1 b@2=1<a");
    rig_ok(&r, "a");
    rig_do(&r, EVENT_NODE_DEAD, 1);
    rig_answer(&r, "b", OUTCOME_LOST);
    is_text(rig_tasks(&r, "b"), "FAILED:uncertain", "superseded and lost: still uncertain");
    rig_done(&r);
}

static void resolve(uint8_t word, const char *task, const char *started, const char *op)
{
    struct rig r;
    rig_init(&r, 2);
    rig_def(&r, (struct plan_def){.repeat = REPEAT_ONCE});
    rig_plan(&r, RIG_OP, "a@1=1 b@2<a");
    rig_answer(&r, "a", OUTCOME_LOST);
    is_text(rig_tasks(&r, "b"), "DEP_FAILED:dependency", "resolve %u: what hangs on it failed",
            word);
    rig_step(&r, (struct event){.kind = EVENT_RESOLVE, .id = rig_task(&r, "a"), .flag = word});
    is_text(rig_started(&r), started, "resolve %u: starts \"%s\"", word, started);
    is_text(rig_tasks(&r, "a"), task, "resolve %u: %s", word, task);
    is_text(rig_op_text(&r, RIG_OP), op, "resolve %u: the operation is %s", word, op);
    is_int(rig_try(&r, (struct event){.kind = EVENT_RESOLVE, .id = rig_task(&r, "a")}),
           -ERR_CONFLICT, "resolve %u: only once", word);
    rig_done(&r);
}

int main(void)
{
    backoff_doubles();
    backoff_has_a_limit();
    poke_ends_backoff();
    success_gives_the_budget_back();
    timeout_outcome();
    refused_is_final();
    stop_then_lost();
    stopped_in_time();
    stale_results();
    lost(REPEAT_SAFE, "RUNNING");
    lost(REPEAT_TOKEN, "RUNNING");
    lost(REPEAT_ONCE, "FAILED:uncertain");
    once_cut(OUTCOME_TIMEOUT);
    once_cut(OUTCOME_CANCELLED);
    phases(PHASE_NONE, OUTCOME_FAILED, "FAILED:exit");
    phases(PHASE_TASK, OUTCOME_FAILED, "FAILED:exit");
    phases(PHASE_TEST_PRE, OUTCOME_FAILED, "FAILED:test-pre");
    phases(PHASE_TEST_POST, OUTCOME_FAILED, "FAILED:test-post");
    phases(PHASE_TEST_PRE, OUTCOME_TIMEOUT, "FAILED:timeout");
    phases(PHASE_TEST_POST, OUTCOME_OK, "DONE");
    phases_retried();
    once_cut_before(OUTCOME_TIMEOUT);
    once_cut_before(OUTCOME_CANCELLED);
    once_superseded_and_lost();
    resolve(RESOLVE_DONE, "DONE:resolved", "b", "running retry");
    resolve(RESOLVE_FAILED, "FAILED:resolved", "", "failed dependency");
    resolve(RESOLVE_AGAIN, "RUNNING", "a", "running retry");
    return tap_done();
}
