/* worker_run.c - one run from its message to its result
 *
 * Owns the order of starting, the deadline and the end; what a run starts is worker_step.c.  A run
 * leaves the table of held ones in the same step that gives its answer, so the pair (held,
 * unacknowledged) never has a gap that a BEAT could show. A jig's finish may come inside its start,
 * and does so for whole bursts of noops: nothing here starts another run from within finish.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/json.h"
#include "worker/worker_blob_i.h"

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
    struct str *all[] = {&m->jig,   &m->name,   &m->node,   &m->address, &m->access,
                         &m->key,   &m->params, &m->data,   &m->under,   &m->over,
                         &m->tests, &m->digest, &m->fields, &m->secrets, &m->resources};
    return i < sizeof all / sizeof all[0] ? all[i] : NULL;
}

bool run_has_documents(const struct run *r)
{
    for (size_t i = 0; i < RUN_DOCUMENTS; i++)
        if (r->documents[i] && !r->documents[i]->v)
            return false;
    for (uint32_t i = 0; i < r->n_blobs; i++)
        if (r->blobs[i]->life != BLOB_HERE)
            return false;
    return true;
}

/* A list that cannot be read is the jig's to complain about. */
static void run_blobs_use(struct run *r)
{
    SCOPED_ARENA(mem);
    const struct resource_named *all;
    uint32_t n;
    struct err ignored;
    if (!r->msg.resources.n || resources_read(&mem, r->msg.resources, &all, &n, &ignored) < 0)
        return;
    r->blobs = xcalloc(n ? n : 1, sizeof *r->blobs);
    for (uint32_t i = 0; i < n; i++)
        r->blobs[r->n_blobs++] = blob_use(r->w, &all[i], &r->msg);
}

static bool run_needs(const struct run *r, const struct blob *b)
{
    for (uint32_t i = 0; i < r->n_blobs; i++)
        if (r->blobs[i] == b)
            return true;
    return false;
}

void run_enqueue(struct run *r, bool first)
{
    struct link *queue = &r->w->queue;
    r->life = !chain_complete(r)     ? LIFE_GATHERING
              : run_has_documents(r) ? LIFE_QUEUED
                                     : LIFE_FETCHING;
    if (r->life == LIFE_QUEUED)
        link_append(first ? queue->next : queue, &r->queued);
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
    link_init(&r->turning);
    link_init(&r->parked);
    if (copy.since_ms)
        r->away_ms = loop_now_ms(w->loop);
    r->documents[0] = document_use(w, copy.under, &r->msg);
    r->documents[1] = document_use(w, copy.over, &r->msg);
    run_blobs_use(r);
    r->life = copy.behind ? LIFE_AHEAD : LIFE_BEHIND;
    if (r->life == LIFE_BEHIND && link_empty(&k->runs))
        run_enqueue(r, false); /* the first run of its task: it starts when there is room */
    link_append(&k->runs, &r->of_task);
    link_append(&w->held, &r->of_worker);
    w->n.queued++;
    if (r->life == LIFE_AHEAD && !chain_join(r))
        run_drop(r, OUTCOME_CANCELLED, "what it was to begin behind is not here");
    else if (r->life == LIFE_AHEAD)
        chain_gathered(r);
    return r;
}

void run_free(struct run *r)
{
    travel_leave(r);
    link_remove(&r->of_worker);
    link_remove(&r->dirty);
    link_remove(&r->parked);
    run_steps_done(r);
    loop_timer_free(r->deadline);
    arena_return(r->w, r->mem);
    free(r->new_access);
    for (size_t i = 0; i < RUN_DOCUMENTS; i++)
        document_unuse(r->documents[i]);
    for (uint32_t i = 0; i < r->n_blobs; i++)
        blob_unuse(r->blobs[i]);
    free(r->blobs);
    buf_done(&r->out[0].text);
    buf_done(&r->out[1].text);
    if (r->msg.secrets.n)
        explicit_bzero((char *)(uintptr_t)r->msg.secrets.s, r->msg.secrets.n);
    free(r);
}

void runs_bury(struct worker *w)
{
    while (!link_empty(&w->graves))
        run_free(LINK_OF(w->graves.next, struct run, of_worker));
}

/* The next run of its task may start. */
void run_leave(struct run *r)
{
    struct worker *w = r->w;
    if (r->life == LIFE_RUNNING)
        w->n.running--;
    else
        w->n.queued--;
    r->life = LIFE_ENDED;
    link_remove(&r->queued);
    link_remove(&r->parked);
    link_remove(&r->of_task);
    link_remove(&r->of_worker);
    link_append(&w->graves, &r->of_worker);
    if (link_empty(&r->known->runs))
        return;
    struct run *next = LINK_OF(r->known->runs.next, struct run, of_task);
    if (next->life == LIFE_BEHIND)
        run_enqueue(next, false);
}

static void give(struct run *r, struct taskmsg *result)
{
    struct known *k = r->known;
    result->attempt = r->msg.attempt;
    result->ask = r->msg.ask;
    bool goes_on = chain_goes_on(r, result);
    result->last = r->after && !goes_on;
    run_leave(r);
    answer_give(r->w, k, result, r->answered_from);
    chain_ended(r, goes_on);
}

void run_drop(struct run *r, enum outcome outcome, const char *text)
{
    struct taskmsg result = {.outcome = outcome, .exit_code = -1, .text = str_of(text)};
    assert(r->life != LIFE_RUNNING);
    give(r, &result);
}

void runs_document_came(struct worker *w, struct document *d)
{
    for (struct link *l = w->held.next; l != &w->held; l = l->next) {
        struct run *r = LINK_OF(l, struct run, of_worker);
        bool waits = r->documents[0] == d || r->documents[1] == d;
        if (waits && r->life == LIFE_FETCHING)
            run_enqueue(r, false);
    }
    runs_pump(w);
}

/* What they were to see has changed: asked again, they get what there is now. */
void runs_document_missing(struct worker *w, struct document *d)
{
    for (struct link *l = w->held.next; l != &w->held;) {
        struct run *r = LINK_OF(l, struct run, of_worker);
        l = l->next;
        if (r->documents[0] != d && r->documents[1] != d)
            continue;
        run_drop(r, r->life == LIFE_AHEAD ? OUTCOME_CANCELLED : OUTCOME_AGAIN,
                 "what it was to see has changed before it was started");
        l = w->held.next; /* others may have gone with it */
    }
}

void runs_blob_came(struct worker *w, struct blob *b)
{
    for (struct link *l = w->held.next; l != &w->held; l = l->next) {
        struct run *r = LINK_OF(l, struct run, of_worker);
        if (r->life == LIFE_FETCHING && run_needs(r, b))
            run_enqueue(r, false);
    }
    runs_pump(w);
}

void runs_blob_failed(struct worker *w, struct blob *b, enum outcome outcome, const char *text)
{
    for (struct link *l = w->held.next; l != &w->held;) {
        struct run *r = LINK_OF(l, struct run, of_worker);
        struct taskmsg result = {.outcome = r->life == LIFE_AHEAD ? OUTCOME_CANCELLED : outcome,
                                 .exit_code = -1,
                                 .again_ms = BLOB_AGAIN_MS,
                                 .text = str_of(text)};
        l = l->next;
        if (r->life == LIFE_RUNNING || !run_needs(r, b))
            continue;
        give(r, &result);
        l = w->held.next; /* others may have gone with it */
    }
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

/* The result, with this text unless it ran out of time. */
static void end_with(struct run *r, const struct jig_result *res, const char *text)
{
    char late[96];
    bool tested = r->pre.req.params || r->post.req.params;
    struct taskmsg result = {.outcome = final_outcome(r, res->outcome),
                             .phase = tested ? r->phase : PHASE_NONE,
                             .exit_code = res->exit_code,
                             .again_ms = res->again_ms,
                             .ran_ms = loop_now_ms(r->w->loop) - r->started_ms,
                             .truncated = res->truncated || r->truncated,
                             .returns = buf_str(&r->returns),
                             .gone = buf_str(&r->gone),
                             .digest = str_of(r->took ? r->given : "")};
    assert(r->life == LIFE_RUNNING);
    run_log_flush(r, true);
    snprintf(late, sizeof late, "ran longer than %llu ms%s%s",
             (unsigned long long)r->msg.timeout_ms, tested ? ", until its " : "",
             phase_name(result.phase));
    result.text = str_of(r->timed_out && result.outcome == OUTCOME_TIMEOUT ? late : text);
    give(r, &result);
    if (r->deadline)
        loop_timer_stop(r->deadline);
}

void run_end(struct run *r, const struct jig_result *res)
{
    end_with(r, res, res->text);
}

void run_end_error(struct run *r, enum outcome outcome, const struct err *e)
{
    char text[sizeof e->at + sizeof e->text + 4];
    snprintf(text, sizeof text, "%s%s%s", e->at, e->at[0] ? ": " : "", e->text);
    end_with(r, &(struct jig_result){.outcome = outcome, .exit_code = -1}, text);
}

static void on_deadline(void *arg)
{
    struct run *r = arg;
    r->timed_out = true;
    run_step_cancel(r, r->msg.grace_ms);
}

/* Have they a key of their own each?  Then one behind the other is both. */
static bool apart(const struct value *a, const struct value *b)
{
    if (!value_is(a, VALUE_MAP) || !value_is(b, VALUE_MAP) || !a->n || !b->n)
        return false;
    for (uint32_t i = 0; i < b->n; i++)
        if (value_get(a, b->members[i].key))
            return false;
    return true;
}

/* Only programs are given text, and a large document over small data is not written anew for each
 * of them: its own text is put behind theirs. */
static void data_write(struct run *r, const struct value *v)
{
    const struct document *over = r->documents[1];
    SCOPED_BUF(text);
    if (!r->jig->programs && !r->msg.tests.n)
        return;
    if (!r->documents[0] && over && apart(r->req.data, over->v) && over->text.s[0] == '{' &&
        r->msg.data.s[r->msg.data.n - 1] == '}') {
        buf_put(&text, r->msg.data.s, r->msg.data.n - 1);
        buf_putc(&text, ',');
        buf_put(&text, over->text.s + 1, over->text.n - 1);
    } else {
        json_write_canonical(&text, v);
    }
    r->msg.data = (struct str){arena_strndup(r->mem, text.data, text.len), text.len};
}

/* What the task sees is what is in the message with the documents under and over it. */
static int lay_documents(struct run *r, struct err *e)
{
    const struct document *under = r->documents[0], *over = r->documents[1];
    if ((r->msg.under.n && !under) || (r->msg.over.n && !over))
        return err_set(e, ERR_INVALID, "a document is named by something that is no digest");
    if (!under && !over)
        return 0;
    const struct value *v = r->req.data;
    if (under)
        v = v ? value_merge(r->mem, under->v, v) : under->v;
    if (over)
        v = v ? value_merge(r->mem, v, over->v) : over->v;
    data_write(r, v);
    r->req.data = v;
    return 0;
}

static int parse_texts(struct run *r, struct err *e)
{
    struct value *params = NULL, *data = NULL;
    char digest[DIGEST_HEX];
    int rc = 0;
    if (r->msg.digest.n) {
        taskmsg_digest(&r->msg, digest);
        if (!str_is(r->msg.digest, digest))
            return err_set(e, ERR_CORRUPT,
                           "parameters and data do not have the digest sent with them");
    }
    if (r->msg.params.n)
        rc = json_parse(r->mem, r->msg.params.s, r->msg.params.n,
                        &(struct json_options){.name = "params"}, &params, e);
    if (rc == 0 && r->msg.data.n)
        rc = json_parse(r->mem, r->msg.data.s, r->msg.data.n,
                        &(struct json_options){.name = "data", .max_depth = DATA_MAX_DEPTH}, &data,
                        e);
    r->req = (struct task_request){.msg = &r->msg, .params = params, .data = data};
    return rc < 0 ? rc : lay_documents(r, e);
}

/* Everything that can be wrong with a request before its jig is asked to start. */
int run_prepare(struct run *r, struct err *e)
{
    if (r->prepared)
        return 0;
    r->jig = jig_find(r->msg.jig);
    if (!r->jig)
        return err_set(e, ERR_UNKNOWN_NAME, "this worker has no jig \"%.*s\"", (int)r->msg.jig.n,
                       r->msg.jig.s);
    if (!r->mem)
        r->mem = arena_borrow(r->w);
    int rc = parse_texts(r, e);
    if (rc == 0)
        rc = r->jig->check(r->req.params, e);
    if (rc == 0 && !r->msg.no_op)
        rc = run_tests_read(r, e);
    r->prepared = rc == 0;
    return rc;
}

/* Nothing is started: what the jig would do is told, if it can tell. */
static void preview(struct run *r)
{
    struct jig_result res = {.outcome = OUTCOME_OK, .text = "no-op: not run"};
    if (r->jig->preview)
        r->jig->preview(&r->env, &r->req, &res);
    run_end(r, &res);
}

static void start(struct run *r)
{
    struct worker *w = r->w;
    struct err e = {0};
    r->env = (struct jig_env){.loop = w->loop,
                              .run_dir = w->run_dir,
                              .runner = w->runner,
                              .max_output_bytes = w->max_output_bytes,
                              .plugins = w->plugins,
                              .route = node_route,
                              .learned = node_learned,
                              .log = run_log,
                              .finish = run_step_finished,
                              .ctx = r};
    link_remove(&r->queued);
    r->life = LIFE_RUNNING;
    w->n.queued--;
    w->n.running++;
    r->started_ms = loop_now_ms(w->loop);
    if (run_prepare(r, &e) < 0) {
        run_end_error(r, OUTCOME_REFUSED, &e);
        return;
    }
    if (r->msg.no_op && !r->jig->tells)
        preview(r);
    else
        run_steps_begin(r);
    if (r->life == LIFE_RUNNING && r->msg.timeout_ms) {
        r->deadline = loop_timer_new(w->loop, on_deadline, r);
        loop_timer_at(r->deadline, r->started_ms + r->msg.timeout_ms);
    }
}

void runs_pump(struct worker *w)
{
    for (;;) {
        struct run *r;
        if (!link_empty(&w->turning)) {
            r = LINK_OF(w->turning.next, struct run, turning);
            run_step_next(r);
        } else if (w->n.running < w->capacity && !link_empty(&w->queue)) {
            r = LINK_OF(w->queue.next, struct run, queued);
            start(r);
        } else {
            return;
        }
        if (r->life == LIFE_ENDED)
            run_free(r); /* its jig has returned: no need to wait for the hook */
    }
}

void run_cancel(struct run *r, uint64_t grace_ms)
{
    r->cancelled = true;
    if (r->life != LIFE_RUNNING && r->travel) { /* it may have begun: its node will tell */
        travel_stop(r, grace_ms);
        return;
    }
    if (r->life != LIFE_RUNNING) {
        run_drop(r, OUTCOME_CANCELLED, "cancelled before it was started");
        return;
    }
    if (r->deadline) /* it is being ended already, and the answer is to say why */
        loop_timer_stop(r->deadline);
    run_step_cancel(r, grace_ms);
}
