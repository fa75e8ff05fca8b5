/* worker_run.c - one run from its message to its result
 *
 * Owns the order of starting, the deadline and the end.  A run leaves the table of held ones in the
 * same step that gives its answer, so the pair (held, unacknowledged) never has a gap that a BEAT
 * could show. A jig's finish may come inside its start, and does so for whole bursts of noops:
 * nothing here starts another run from within finish.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/json.h"
#include "worker/worker_i.h"

static struct arena *arena_borrow(struct worker *w)
{
    if (w->spare.n)
        return w->spare.at[--w->spare.n];
    struct arena *a = xcalloc(1, sizeof *a);
    arena_init(a);
    return a;
}

static void arena_return(struct worker *w, struct arena *a)
{
    if (a && w->spare.n < SPARE_ARENAS) {
        arena_reset(a);
        vec_push(&w->spare, a);
    } else if (a) {
        arena_done(a);
        free(a);
    }
}

/* Texts of a TASK, which must outlive the batch they came in. */
static struct str *task_texts(struct taskmsg *m, size_t i)
{
    struct str *all[] = {&m->jig, &m->name,   &m->node, &m->address,
                         &m->key, &m->params, &m->data, &m->digest};
    return i < sizeof all / sizeof all[0] ? all[i] : NULL;
}

struct run *run_new(struct worker *w, struct known *k, const struct taskmsg *m)
{
    struct taskmsg copy = *m;
    size_t total = 0;
    for (size_t i = 0; task_texts(&copy, i); i++)
        total += task_texts(&copy, i)->n;
    struct run *r = xcalloc(1, sizeof *r + total);
    char *at = r->bytes;
    for (size_t i = 0; task_texts(&copy, i); i++) {
        struct str *s = task_texts(&copy, i);
        if (s->n)
            memcpy(at, s->s, s->n);
        s->s = at;
        at += s->n;
    }
    r->w = w;
    r->known = k;
    r->msg = copy;
    link_init(&r->queued);
    link_init(&r->dirty);
    r->phase = link_empty(&k->runs) ? PHASE_QUEUED : PHASE_BEHIND;
    link_append(&k->runs, &r->of_task);
    link_append(&w->held, &r->of_worker);
    if (r->phase == PHASE_QUEUED)
        link_append(&w->queue, &r->queued);
    w->n.queued++;
    return r;
}

void run_free(struct run *r)
{
    link_remove(&r->of_worker);
    link_remove(&r->dirty);
    if (r->jig_run)
        r->jig->free(r->jig_run);
    loop_timer_free(r->deadline);
    arena_return(r->w, r->mem);
    buf_done(&r->out[0].text);
    buf_done(&r->out[1].text);
    free(r);
}

void runs_bury(struct worker *w)
{
    while (!link_empty(&w->graves))
        run_free(LINK_OF(w->graves.next, struct run, of_worker));
}

/* Takes the run out of everything it is held in; the next run of its task may start. */
static void leave(struct run *r)
{
    struct worker *w = r->w;
    if (r->phase == PHASE_RUNNING)
        w->n.running--;
    else
        w->n.queued--;
    r->phase = PHASE_ENDED;
    link_remove(&r->queued);
    link_remove(&r->of_task);
    link_remove(&r->of_worker);
    link_append(&w->graves, &r->of_worker);
    if (link_empty(&r->known->runs))
        return;
    struct run *next = LINK_OF(r->known->runs.next, struct run, of_task);
    if (next->phase == PHASE_BEHIND) {
        next->phase = PHASE_QUEUED;
        link_append(&w->queue, &next->queued);
    }
}

static void give(struct run *r, struct taskmsg *result)
{
    struct known *k = r->known;
    result->attempt = r->msg.attempt;
    result->ask = r->msg.ask;
    leave(r);
    answer_give(r->w, k, result);
}

void run_drop(struct run *r, enum outcome outcome, const char *text)
{
    struct taskmsg result = {.outcome = outcome, .exit_code = -1, .text = str_of(text)};
    assert(r->phase != PHASE_RUNNING);
    give(r, &result);
}

static enum outcome final_outcome(const struct run *r, enum outcome said)
{
    bool ended_by_us = said == OUTCOME_CANCELLED || said == OUTCOME_FAILED || said == OUTCOME_AGAIN;
    if (r->timed_out && ended_by_us)
        return OUTCOME_TIMEOUT;
    if (said == OUTCOME_CANCELLED && !r->cancelled)
        return OUTCOME_LOST; /* we stopped, nobody wanted it cancelled */
    return said;             /* OK included: it got there before we could stop it */
}

static void on_finish(void *ctx, const struct jig_result *res)
{
    struct run *r = ctx;
    struct buf returns = {0};
    char text[sizeof res->text + 64];
    struct taskmsg result = {.outcome = final_outcome(r, res->outcome),
                             .exit_code = res->exit_code,
                             .again_ms = res->again_ms,
                             .ran_ms = loop_now_ms(r->w->loop) - r->started_ms,
                             .truncated = res->truncated || r->truncated};
    assert(r->phase == PHASE_RUNNING);
    run_log_flush(r, true);
    if (res->returns && res->returns->n) {
        json_write(&returns, res->returns, 0);
        result.returns = buf_str(&returns);
    }
    if (result.outcome == OUTCOME_TIMEOUT)
        snprintf(text, sizeof text, "ran longer than %llu ms",
                 (unsigned long long)r->msg.timeout_ms);
    else
        snprintf(text, sizeof text, "%s", res->text);
    result.text = str_of(text);
    give(r, &result);
    buf_done(&returns);
    if (r->deadline)
        loop_timer_stop(r->deadline);
}

static void on_deadline(void *arg)
{
    struct run *r = arg;
    r->timed_out = true;
    r->jig->cancel(r->jig_run, r->msg.grace_ms);
}

static int parse_texts(struct run *r, struct err *e)
{
    struct value *params = NULL, *data = NULL;
    char digest[DIGEST_HEX];
    int rc = 0;
    if (r->msg.digest.n) {
        taskmsg_digest(r->msg.params, r->msg.data, digest);
        if (!str_is(r->msg.digest, digest))
            return err_set(e, ERR_CORRUPT,
                           "parameters and data do not have the digest sent with them");
    }
    if (r->msg.params.n)
        rc = json_parse(r->mem, r->msg.params.s, r->msg.params.n,
                        &(struct json_options){.name = "params"}, &params, e);
    if (rc == 0 && r->msg.data.n)
        rc = json_parse(r->mem, r->msg.data.s, r->msg.data.n,
                        &(struct json_options){.name = "data"}, &data, e);
    r->req = (struct task_request){.msg = &r->msg, .params = params, .data = data};
    return rc;
}

/* Everything that can be wrong with a request before its jig is asked to start. */
static int examine(struct run *r, struct err *e)
{
    r->jig = jig_find(r->msg.jig);
    if (!r->jig)
        return err_set(e, ERR_UNKNOWN_NAME, "this worker has no jig \"%.*s\"", (int)r->msg.jig.n,
                       r->msg.jig.s);
    r->mem = arena_borrow(r->w);
    int rc = parse_texts(r, e);
    return rc < 0 ? rc : r->jig->check(r->req.params, e);
}

static void answer_error(struct run *r, enum outcome outcome, const struct err *e)
{
    char text[sizeof e->at + sizeof e->text + 4];
    snprintf(text, sizeof text, "%s%s%s", e->at, e->at[0] ? ": " : "", e->text);
    struct taskmsg result = {.outcome = outcome, .exit_code = -1, .text = str_of(text)};
    give(r, &result);
}

static void start(struct run *r)
{
    struct worker *w = r->w;
    struct err e = {0};
    r->env = (struct jig_env){.loop = w->loop,
                              .run_dir = w->run_dir,
                              .runner = w->runner,
                              .max_output_bytes = w->max_output_bytes,
                              .log = run_log,
                              .finish = on_finish,
                              .ctx = r};
    link_remove(&r->queued);
    r->phase = PHASE_RUNNING;
    w->n.queued--;
    w->n.running++;
    if (examine(r, &e) < 0) {
        answer_error(r, OUTCOME_REFUSED, &e);
        return;
    }
    r->started_ms = loop_now_ms(w->loop);
    if (r->jig->start(&r->env, &r->req, &r->jig_run, &e) < 0) {
        answer_error(r, OUTCOME_FAILED, &e);
        return;
    }
    if (r->phase == PHASE_RUNNING && r->msg.timeout_ms) {
        r->deadline = loop_timer_new(w->loop, on_deadline, r);
        loop_timer_at(r->deadline, r->started_ms + r->msg.timeout_ms);
    }
}

void runs_pump(struct worker *w)
{
    while (w->n.running < w->capacity && !link_empty(&w->queue)) {
        struct run *r = LINK_OF(w->queue.next, struct run, queued);
        start(r);
        if (r->phase == PHASE_ENDED)
            run_free(r); /* its jig has returned: no need to wait for the hook */
    }
}

void run_cancel(struct run *r, uint64_t grace_ms)
{
    r->cancelled = true;
    if (r->phase != PHASE_RUNNING) {
        run_drop(r, OUTCOME_CANCELLED, "cancelled before it was started");
        return;
    }
    if (r->deadline) /* it is being ended already, and the answer is to say why */
        loop_timer_stop(r->deadline);
    r->jig->cancel(r->jig_run, grace_ms);
}
