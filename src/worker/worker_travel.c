/* worker_travel.c - runs that are on their node, one or several as a chain
 *
 * A run whose jig acts on the node goes there as a step; those that are to begin behind it go along
 * in the same archive, as far as they are for the same node and all they need is here.  Each is
 * RUNNING from the answer of the one before it on, as anywhere else: the chain on the node is a
 * faster way to do the same thing, not another rule.
 *
 * What the node says of a step is told in order.  A connection that broke in the middle leaves
 * behind what only the node knows: it is asked as soon as it can be reached (worker_park.c), by
 * sending the same runs again, which the runner there recognises.  One that was never made leaves
 * nothing: "not yet", with the reason, so that the attempt waits without a worker until then.
 *
 * A travel lives until the node has told everything and the server has every answer; then the node
 * may forget what it keeps.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "worker/worker_i.h"

enum { UNREACHED_MS = 5000, UNTRUSTED_MS = 30000, AT_ONCE_MS = 1, LIMIT_SPARE_S = 30 };

struct travel {
    struct worker *w;
    struct node *node;
    struct link of_worker;
    struct reach_chain *chain; /* NULL: it is over */
    char name[REACH_CHAIN_HEX];
    struct run *runs[REACH_STEPS_MAX]; /* NULL: told, or forgotten */
    const struct jig *jigs[REACH_STEPS_MAX];
    const struct task_request *requests[REACH_STEPS_MAX]; /* of the runs */
    bool boots[REACH_STEPS_MAX]; /* the machine is told to boot: its silence says nothing */
    size_t n;
    uint64_t access_rev; /* how the node was to be reached when this was sent */
    uint32_t waiting;    /* answers that are not acknowledged */
    bool over, began;    /* began: something of it may have */
    VEC(struct reach_ask *) stops;
};

static void travel_free(struct travel *t)
{
    for (size_t i = 0; i < t->n; i++)
        if (t->runs[i])
            t->runs[i]->travel = NULL;
    for (size_t i = 0; i < t->stops.n; i++)
        reach_ask_free(t->stops.at[i]);
    vec_done(&t->stops);
    reach_chain_free(t->chain);
    link_remove(&t->of_worker);
    node_unuse(t->node);
    free(t);
}

static void travel_settle(struct travel *t)
{
    if (!t->over || t->waiting > 0)
        return;
    if (t->began)
        node_forget_later(t->node, t->name);
    travel_free(t);
}

void travel_awaits(struct travel *t)
{
    t->waiting++;
}

void travel_acknowledged(struct travel *t)
{
    t->waiting--;
    travel_settle(t);
}

void travel_leave(struct run *r)
{
    if (r->travel)
        r->travel->runs[r->travel_at] = NULL;
    r->travel = NULL;
}

/* ---- what the node says ---- */

static void on_log(void *arg, unsigned step, const char *p, size_t n)
{
    struct travel *t = arg;
    struct run *r = t->runs[step];
    if (!r)
        return;
    jig_line_note(&r->line, p, n);
    run_log(r, 1, p, n);
}

/* One that has not come to an end by itself. */
static void say(struct jig_result *r, enum outcome outcome, const char *what, struct str note)
{
    *r = (struct jig_result){.outcome = outcome,
                             .exit_code = -1,
                             .again_ms = outcome == OUTCOME_AGAIN ? UNREACHED_MS : 0};
    snprintf(r->text, sizeof r->text, "%s%s%.*s", what, note.n ? ": " : "",
             (int)(note.n < 160 ? note.n : 160), note.n ? note.s : "");
}

static void judge(struct travel *t, unsigned step, const struct reach_end *end, struct arena *mem,
                  struct jig_result *ret)
{
    struct run *r = t->runs[step];
    switch (end->what) {
    case REACH_DONE:
        t->jigs[step]->judge(t->requests[step], end, jig_line_last(&r->line), mem, ret);
        break;
    case REACH_STOPPED: say(ret, OUTCOME_CANCELLED, "told to end", end->note); break;
    case REACH_LIMIT:
        r->timed_out = true;
        say(ret, OUTCOME_CANCELLED, "ran too long", end->note);
        break;
    case REACH_REFUSED:
        /* Of one with tests or with parts, sent again from its beginning, a later one of these may
         * be the later run. */
        if (r->msg.since_ms && (r->msg.tests.n || t->jigs[step]->next))
            say(ret, OUTCOME_LOST, "it was begun before, and got further", end->note);
        else
            say(ret, OUTCOME_REFUSED, "the node knows a later run", end->note);
        break;
    case REACH_LOST:
    case REACH_HELD:
        say(ret, t->boots[step] ? OUTCOME_AGAIN : OUTCOME_LOST,
            "it was begun before, and its end was not seen", end->note);
        break;
    case REACH_FULL: say(ret, OUTCOME_FAILED, "no space left on the node", end->note); break;
    case REACH_UNRUN: say(ret, OUTCOME_FAILED, "it could not be begun", end->note); break;
    case REACH_SKIPPED: say(ret, OUTCOME_CANCELLED, "the chain ended before it", end->note); break;
    case REACH_WHAT_COUNT: break;
    }
    if (r->cancelled && (ret->outcome == OUTCOME_FAILED || ret->outcome == OUTCOME_AGAIN))
        ret->outcome = OUTCOME_CANCELLED;
    if (end->left > 0) {
        SCOPED_BUF(b);
        buf_printf(&b, "--- %u process%s left behind and ended\n", end->left,
                   end->left == 1 ? " was" : "es were");
        run_log(r, 1, b.data, b.len);
    }
}

/* Sent again by itself: it was to go on, and the node did not think so. */
static bool starts_anew(struct run *r, const struct reach_end *end)
{
    return end->what == REACH_SKIPPED && !r->cancelled && !r->timed_out && !r->w->stopping;
}

static void finish(struct run *r, struct travel *t, const struct jig_result *res)
{
    travel_leave(r);
    r->answered_from = t;
    run_step_finished(r, res);
}

/* Everything of a step but what it runs. */
static void step_blank(const struct task_request *req, struct reach_step *s)
{
    const struct taskmsg *m = req->msg;
    *s = (struct reach_step){.run = {.fence = m->fence,
                                     .task = m->task,
                                     .attempt = m->attempt,
                                     .ask = m->ask,
                                     .step = req->step},
                             .umask_bits = 022,
                             .grace_s = (uint32_t)((m->grace_ms + 999) / 1000)};
    if (m->timeout_ms)
        s->limit_s = (uint32_t)(m->timeout_ms / 1000) + LIMIT_SPARE_S;
}

static int travel_send(struct run *r, const struct jig *jig, const struct task_request *req,
                       const struct reach_step *first, struct err *e);

/* Has its jig something to run behind it?  Then that is on its way, or could not be sent. */
static bool goes_further(struct travel *t, unsigned step, const struct reach_end *end)
{
    struct run *r = t->runs[step];
    const struct jig *jig = t->jigs[step];
    struct reach_step s;
    struct jig_result res;
    struct err e = {0};
    if (end->what != REACH_DONE || !jig->next || t->requests[step] != &r->req || r->cancelled ||
        r->timed_out || r->w->stopping || r->req.part + 1 >= JIG_RUN_STEPS)
        return false;
    step_blank(&r->req, &s);
    int rc = jig->next(&r->env, &r->req, end, r->mem, &s, &e);
    if (rc == 0) {
        r->req.complete = true;
        return false;
    }
    travel_leave(r);
    if (rc > 0) {
        r->req.part++;
        s.run.step = ++r->req.step;
        r->away_ms = 0; /* nothing of this has begun */
        rc = travel_send(r, jig, &r->req, &s, &e);
    }
    if (rc < 0) {
        say(&res, OUTCOME_FAILED, e.text, (struct str){0});
        run_step_finished(r, &res);
    }
    return true;
}

static void on_end(void *arg, unsigned step, const struct reach_end *end)
{
    struct travel *t = arg;
    struct worker *w = t->w;
    struct run *r = t->runs[step];
    struct jig_result res;
    struct err e;
    SCOPED_ARENA(mem);
    if (end->what != REACH_SKIPPED)
        t->began = true;
    if (!r)
        return;
    r->took = end->what == REACH_DONE;
    if (r->life != LIFE_RUNNING) { /* nothing began of it: it is as if it had not been sent */
        travel_leave(r);
        return;
    }
    run_reached(r);
    if (starts_anew(r, end)) {
        r->away_ms = 0;
        r->msg.since_ms = 0;
        const struct jig *jig = t->jigs[step];
        const struct task_request *req = t->requests[step];
        travel_leave(r);
        if (travel_begin(r, jig, req, &e) < 0) {
            say(&res, OUTCOME_FAILED, e.text, (struct str){0});
            run_step_finished(r, &res);
        }
    } else if (!goes_further(t, step, end)) {
        judge(t, step, end, &mem, &res);
        finish(r, t, &res);
    }
    runs_pump(w); /* who goes on behind it is RUNNING before its own end is told */
}

static void unreached(const struct reach_over *over, struct jig_result *ret)
{
    say(ret, over->fail == REACH_FAIL_NONE ? OUTCOME_FAILED : OUTCOME_AGAIN, over->text,
        (struct str){0});
}

/* When to try a node again that is there and not trusted, or does not trust us; 0: it was something
 * else.  People have to see to that, and may have done so while this was on its way. */
static uint64_t untrusted_ms(const struct travel *t, const struct run *r,
                             const struct reach_over *over)
{
    if (over->fail != REACH_FAIL_HOST_KEY && over->fail != REACH_FAIL_AUTH)
        return 0;
    return r->msg.access_rev > t->access_rev ? AT_ONCE_MS : UNTRUSTED_MS;
}

/* Only the node can say what became of it. */
static bool may_be_there(const struct run *r, const struct reach_over *over)
{
    bool first_test = r->phase == PHASE_TEST_PRE && over->fail != REACH_FAIL_NONE;
    return over->kind == REACH_CUT || r->away_ms || first_test; /* "not yet" would pass that over */
}

static void on_answer(void *arg)
{
    struct travel *t = arg;
    for (size_t i = 0; i < t->n; i++)
        if (t->runs[i] && t->runs[i]->life == LIFE_RUNNING)
            run_reached(t->runs[i]);
}

static void on_over(void *arg, const struct reach_over *over)
{
    struct travel *t = arg;
    struct worker *w = t->w;
    struct jig_result res;
    snprintf(t->name, sizeof t->name, "%s", over->chain ? over->chain : "");
    if (over->fail != REACH_FAIL_NONE && over->fail != REACH_FAIL_LIMIT)
        probe_missed(t->node, over->text);
    t->began = t->began || over->kind == REACH_CUT;
    for (size_t i = 0; i < t->n; i++) {
        struct run *r = t->runs[i];
        if (!r)
            continue;
        if (r->life != LIFE_RUNNING) {
            travel_leave(r); /* what becomes of it follows from the one before it */
            continue;
        }
        bool boots = t->boots[i]; /* then silence is what was asked for */
        if (may_be_there(r, over) && !boots && !r->cancelled && !r->timed_out) {
            if (over->kind == REACH_CUT && !r->away_ms)
                r->away_ms = loop_now_ms(w->loop);
            travel_leave(r);
            t->began = false; /* the node is to keep it until that is known */
            run_park(r, over->text, untrusted_ms(t, r, over));
            continue;
        }
        if (may_be_there(r, over))
            say(&res, boots ? OUTCOME_AGAIN : OUTCOME_LOST, over->text, (struct str){0});
        else
            unreached(over, &res);
        if (res.outcome == OUTCOME_AGAIN && untrusted_ms(t, r, over))
            res.again_ms = untrusted_ms(t, r, over);
        if (r->cancelled && res.outcome == OUTCOME_AGAIN)
            res.outcome = OUTCOME_CANCELLED;
        finish(r, t, &res);
    }
    reach_chain_free(t->chain);
    t->chain = NULL;
    t->over = true;
    travel_settle(t);
    runs_pump(w);
}

/* ---- sending ---- */

bool travel_wanted(const struct run *r, const struct jig *jig)
{
    return jig->step && node_is_elsewhere(r);
}

/* How long ago it may have begun; 0: it has not. */
static uint32_t since_s(const struct run *r)
{
    if (!r->away_ms)
        return 0;
    uint64_t s = (r->msg.since_ms + loop_now_ms(r->w->loop) - r->away_ms) / 1000 + 1;
    return s < INT32_MAX / 100 ? (uint32_t)s : INT32_MAX / 100;
}

static int step_make(struct run *r, const struct jig *jig, const struct task_request *req,
                     struct reach_step *s, struct err *e)
{
    step_blank(req, s);
    s->since_s = since_s(r);
    return jig->step(req, r->mem, s, e);
}

/* May it go along?  If anything is wrong with it, that is found when its turn comes. */
static bool goes_along(const struct run *first, struct run *r)
{
    struct err e;
    return r->life == LIFE_AHEAD && !r->cancelled && !r->msg.no_op && run_has_documents(r) &&
           str_eq(r->msg.node, first->msg.node) && str_eq(r->msg.access, first->msg.access) &&
           run_prepare(r, &e) == 0 && r->jig->step && !r->msg.tests.n;
}

/* What an earlier server or another worker has sent may have been rendered from other data: if that
 * is what runs there, this is not its digest. */
static void note_given(struct run *r, const struct task_request *req, const struct reach_step *s)
{
    char hex[DIGEST_HEX];
    if (req != &r->req || r->msg.since_ms)
        return;
    reach_step_digest(s, hex);
    if (hex[0])
        memcpy(r->given, hex, sizeof hex);
}

static void gather(struct travel *t, struct run *r, const struct jig *jig,
                   const struct task_request *req, const struct reach_step *s)
{
    note_given(r, req, s);
    t->runs[t->n] = r;
    t->jigs[t->n] = jig;
    t->requests[t->n] = req;
    r->travel = t;
    r->travel_at = (unsigned)t->n++;
    r->line = (struct jig_line){0};
}

/* first: what it starts with; NULL: what its jig says. */
static int travel_send(struct run *r, const struct jig *jig, const struct task_request *req,
                       const struct reach_step *first, struct err *e)
{
    struct reach_step steps[REACH_STEPS_MAX];
    r->away_jig = jig;
    r->away_req = req;
    if (r->travel)
        return 0; /* it went along with the one before it */
    struct node *node = node_get(r->w, &r->msg, e);
    if (!node)
        return -(int)e->code;
    struct travel *t = xcalloc(1, sizeof *t);
    t->w = r->w;
    t->node = node_use(node);
    t->access_rev = node->access_rev;
    link_append(&r->w->travels, &t->of_worker);
    int rc = 0;
    if (first)
        steps[0] = *first;
    else
        rc = step_make(r, jig, req, &steps[0], e);
    t->boots[0] = steps[0].kind == REACH_REBOOT;
    gather(t, r, jig, req, &steps[0]);
    for (struct run *next = r->msg.tests.n ? NULL : r->after;
         rc == 0 && next && t->n < REACH_STEPS_MAX && goes_along(r, next); next = next->after) {
        struct err later;
        if (step_make(next, next->jig, &next->req, &steps[t->n], &later) < 0)
            break;
        t->boots[t->n] = steps[t->n].kind == REACH_REBOOT;
        gather(t, next, next->jig, &next->req, &steps[t->n]);
    }
    struct reach_chain_spec spec = {.loop = r->w->loop,
                                    .link = &node->link,
                                    .options = node->options,
                                    .steps = steps,
                                    .n = t->n,
                                    .on_log = on_log,
                                    .on_end = on_end,
                                    .on_answer = on_answer,
                                    .on_over = on_over,
                                    .arg = t};
    if (rc == 0)
        rc = reach_chain_start(&spec, &t->chain, e);
    if (rc < 0)
        travel_free(t);
    else if (r->cancelled || r->timed_out)
        travel_stop(r, r->msg.grace_ms); /* that was said while it could not be reached */
    return rc;
}

int travel_begin(struct run *r, const struct jig *jig, const struct task_request *req,
                 struct err *e)
{
    return travel_send(r, jig, req, NULL, e);
}

/* ---- ending ---- */

static void stopped(void *arg, const struct reach_answer *answer)
{
    (void)arg;
    (void)answer; /* what became of it the chain tells */
}

void travel_stop(struct run *r, uint64_t grace_ms)
{
    struct travel *t = r->travel;
    struct reach_ask *ask;
    struct err e;
    if (reach_stop(&t->node->link, &t->node->options, r->msg.task, r->msg.attempt,
                   (uint32_t)((grace_ms + 999) / 1000), stopped, t, &ask, &e) == 0)
        vec_push(&t->stops, ask);
}

bool travel_is_away(const struct run *r)
{
    return r->life == LIFE_RUNNING && (r->travel || run_is_parked(r));
}

void travel_release(struct run *r)
{
    struct travel *t = r->travel;
    struct run *last = r;
    for (; last; last = last->after)
        travel_leave(last);
    chain_forget(r);
    if (t && t->chain) { /* nobody is left whom it could tell anything */
        reach_chain_free(t->chain);
        t->chain = NULL;
        t->over = true;
        t->began = false; /* whoever has it now says when it may be forgotten */
        travel_settle(t);
    }
}

void travels_done(struct worker *w)
{
    while (!link_empty(&w->travels))
        travel_free(LINK_OF(w->travels.next, struct travel, of_worker));
}
