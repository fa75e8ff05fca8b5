/* worker_step.c - what a run starts one after the other: a test, the task, a test
 *
 * A task's message may carry tests: commands for the jig shell, run before (pre) and after (post)
 * the task within the same attempt, with its data, its input and, where its jig runs programs, its
 * environment and directory.  A test that fails is repeated as often as it says, an interval after
 * the try before it: in between the run rests, which is a timer and nothing else.  A pre that fails
 * for good means that the task was not started; a post, that it ran and has failed: what it
 * returned does not count.  A run that is asked again (`ask` above 0) has passed its pre before.
 * post comes after the final ok only.
 *
 * Steps never follow each other on one stack: a step that ends puts its run into w->turning, and
 * runs_pump() goes on from there, when no jig is on the stack and the state of the last one can be
 * freed.  Each step has a number of its own, so that the runner, which never repeats what was
 * started, can tell them apart.
 *
 * The attempt's deadline, a cancel, and whoever else ends the run, end whichever step runs, or its
 * rest, and no further one is started.  A test's own time-out makes that try fail, nothing else.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/json.h"
#include "model/sight.h"
#include "worker/worker_i.h"

enum { TEST_MAX_RETRIES = 1000 };
static const uint64_t test_interval_ms = TASKMSG_TEST_INTERVAL_MS,
                      test_max_interval_ms = 366ull * 24 * 3600 * 1000; /* as catalogs have it */

static const struct jig *test_jig(void)
{
    return jig_find(str_of("shell"));
}

/* --- what the message says --- */

static int bad_test(struct err *e, const char *which, const char *why)
{
    int rc = err_set(e, ERR_INVALID, "the test \"%s\" %s", which, why);
    err_at(e, "/tests/%s", which);
    return rc;
}

/* What is not said stays. */
static int read_number(const struct value *test, const char *which, const char *name, uint64_t most,
                       uint64_t *ret_n, struct err *e)
{
    const struct value *v = value_get(test, name);
    if (v && (v->kind != VALUE_INT || v->i < 0 || (uint64_t)v->i > most))
        return bad_test(e, which, "has a number that is none, or too large");
    if (v)
        *ret_n = (uint64_t)v->i;
    return 0;
}

/* A script with the environment and the directory of the task's own programs. */
static const struct value *test_params(const struct run *r, const struct value *cmd)
{
    static const char *const shared[] = {"env", "cwd"};
    struct value *params = value_map(r->mem);
    value_set(r->mem, params, "script", cmd);
    for (size_t i = 0; r->jig->programs && i < sizeof shared / sizeof *shared; i++)
        if (value_get(r->req.params, shared[i]))
            value_set(r->mem, params, shared[i], value_get(r->req.params, shared[i]));
    return params;
}

static int read_test(struct run *r, const struct value *tests, const char *which,
                     struct run_test *t, struct err *e)
{
    const struct value *v = value_get(tests, which), *cmd = value_get(v, "cmd");
    uint64_t retries = 0;
    if (!v)
        return 0;
    if (!value_is(v, VALUE_MAP) || !value_is(cmd, VALUE_STRING) || !cmd->n)
        return bad_test(e, which, "must be a map with a command \"cmd\"");
    int rc = read_number(v, which, "timeout_ms", INT64_MAX, &t->timeout_ms, e);
    if (rc == 0)
        rc = read_number(v, which, "retries", TEST_MAX_RETRIES, &retries, e);
    t->interval_ms = test_interval_ms;
    if (rc == 0)
        rc = read_number(v, which, "interval_ms", test_max_interval_ms, &t->interval_ms, e);
    if (rc < 0)
        return rc;
    t->cmd = value_as_str(cmd);
    t->tries = (uint32_t)retries + 1;
    t->req = (struct task_request){
        .msg = &r->msg, .params = test_params(r, cmd), .data = r->req.data};
    return test_jig()->check(t->req.params, e);
}

int run_tests_read(struct run *r, struct err *e)
{
    struct value *tests = NULL;
    if (!r->msg.tests.n)
        return 0;
    int rc = json_parse(r->mem, r->msg.tests.s, r->msg.tests.n,
                        &(struct json_options){.name = "tests"}, &tests, e);
    if (rc == 0 && tests->kind != VALUE_MAP)
        rc = err_set(e, ERR_INVALID, "tests must be a map");
    if (rc == 0)
        rc = read_test(r, tests, "pre", &r->pre, e);
    return rc < 0 ? rc : read_test(r, tests, "post", &r->post, e);
}

/* --- steps --- */

/* The test that is run in the present phase; NULL: it is the task's. */
static struct run_test *test_of(struct run *r)
{
    return r->phase == PHASE_TEST_PRE ? &r->pre : r->phase == PHASE_TEST_POST ? &r->post : NULL;
}

/* Nothing further may be started. */
static bool is_cut(const struct run *r)
{
    return r->cut || r->timed_out || r->cancelled || r->w->stopping;
}

/* "--- test_pre: first line of the command".  What was written before comes before it, whatever
 * stream it is on. */
static void log_border(struct run *r, const struct run_test *t)
{
    SCOPED_BUF(b);
    run_log_flush(r, true);
    buf_printf(&b, "--- %s", phase_name(r->phase));
    if (t && t->tried > 1)
        buf_printf(&b, ", try %" PRIu32 " of %" PRIu32, t->tried, t->tries);
    if (t) {
        const char *end = memchr(t->cmd.s, '\n', t->cmd.n);
        buf_puts(&b, ": ");
        buf_put(&b, t->cmd.s, end ? (size_t)(end - t->cmd.s) : t->cmd.n);
        if (end && end + 1 < t->cmd.s + t->cmd.n)
            buf_puts(&b, " ...");
    }
    buf_putc(&b, '\n');
    run_log(r, 1, b.data, b.len);
}

static void step_cancel(struct run *r, uint64_t grace_ms)
{
    if (r->step_on && run_is_parked(r))
        run_hurry(r); /* and is told to end as soon as it is reached */
    else if (r->step_on && r->travel)
        travel_stop(r, grace_ms);
    else if (r->step_on)
        r->step_jig->cancel(r->step_run, grace_ms);
}

/* It goes on with the next try, or to its end; runs_pump() sees to that. */
static void rest_over(struct run *r)
{
    loop_timer_stop(r->test_timer);
    r->resting = false;
    link_append(&r->w->turning, &r->turning);
}

/* A try has taken its time, or its interval is over. */
static void on_test_time(void *arg)
{
    struct run *r = arg;
    if (r->life != LIFE_RUNNING)
        return; /* it was left a moment ago, and is freed in the next */
    if (r->resting) {
        rest_over(r);
        return;
    }
    r->test_late = true;
    step_cancel(r, r->msg.grace_ms);
}

static void arm_test(struct run *r, uint64_t ms)
{
    if (!ms)
        return;
    if (!r->test_timer)
        r->test_timer = loop_timer_new(r->w->loop, on_test_time, r);
    loop_timer_at(r->test_timer, loop_now_ms(r->w->loop) + ms);
}

/* Nothing of the last try is held.  What it wrote is told now: it may be long until the next. */
static void rest(struct run *r, uint64_t ms)
{
    run_log_flush(r, true);
    r->resting = true;
    arm_test(r, ms);
}

static void test_failed(struct run *r, const struct run_test *t, const struct jig_result *res);

/* Here, or on the node of the task. */
static int step_start(struct run *r, const struct jig *jig, const struct task_request *req,
                      struct err *e)
{
    return travel_wanted(r, jig) ? travel_begin(r, jig, req, e)
                                 : jig->start(&r->env, req, &r->step_run, e);
}

static void start_test(struct run *r, struct run_test *t)
{
    struct err e = {0};
    t->tried++;
    t->req.step = r->steps++;
    r->step_jig = test_jig();
    r->test_late = false;
    log_border(r, t);
    r->step_on = true;
    if (step_start(r, r->step_jig, &t->req, &e) == 0) {
        if (r->step_on)
            arm_test(r, t->timeout_ms);
        return;
    }
    /* Not the test's own failure: to try again at once would only meet the same. */
    struct jig_result res = {.outcome = OUTCOME_FAILED, .exit_code = -1};
    snprintf(res.text, sizeof res.text, "%.220s", e.text);
    r->step_on = false;
    test_failed(r, t, &res);
}

static void start_task(struct run *r)
{
    struct err e = {0};
    if (r->steps)
        log_border(r, NULL);
    r->req.step = r->steps;
    r->steps += JIG_RUN_STEPS;
    r->step_jig = r->jig;
    r->step_on = true;
    if (step_start(r, r->jig, &r->req, &e) == 0)
        return;
    r->step_on = false;
    run_end_error(r, OUTCOME_FAILED, &e);
}

static void start_step(struct run *r)
{
    struct run_test *t = test_of(r);
    if (t)
        start_test(r, t);
    else
        start_task(r);
}

void run_steps_begin(struct run *r)
{
    r->phase = r->pre.req.params && r->msg.ask == 0 ? PHASE_TEST_PRE : PHASE_TASK;
    start_step(r);
}

static void free_step(struct run *r)
{
    if (r->step_run)
        r->step_jig->free(r->step_run);
    r->step_run = NULL;
}

void run_steps_done(struct run *r)
{
    free_step(r);
    link_remove(&r->turning);
    loop_timer_free(r->test_timer);
    buf_done(&r->returns);
    buf_done(&r->gone);
}

void run_step_next(struct run *r)
{
    const struct run_test *t = test_of(r);
    uint64_t rest_ms = r->rest_ms;
    link_remove(&r->turning);
    free_step(r);
    r->rest_ms = 0;
    if (!is_cut(r)) {
        if (rest_ms)
            rest(r, rest_ms);
        else
            start_step(r);
        return;
    }
    struct jig_result res = {.outcome = OUTCOME_CANCELLED, .exit_code = -1};
    snprintf(res.text, sizeof res.text, "ended before %sits %s",
             t && t->tried ? "the next try of " : "", phase_name(r->phase));
    buf_clear(&r->returns);
    buf_clear(&r->gone);
    run_end(r, &res);
}

void run_step_cancel(struct run *r, uint64_t grace_ms)
{
    assert(r->life == LIFE_RUNNING);
    r->cut = true;
    if (r->resting)
        rest_over(r);
    else
        step_cancel(r, grace_ms);
}

/* --- ends --- */

/* What a run returned, as far as it had not been sent so: a value that only passed through is not
 * its own, and must not outlive a change of it elsewhere. */
static void keep_returns(struct run *r, const struct jig_result *res)
{
    SCOPED_ARENA(mem);
    struct sight_wall wall = sight_wall(r->req.data, res->returns, &mem);
    if (wall.doc)
        json_write(&r->returns, wall.doc, 0);
    if (!res->whole || wall.gone.n == 0)
        return;
    struct jsonw w;
    jsonw_init(&w, &r->gone);
    jsonw_list(&w);
    for (uint32_t i = 0; i < wall.gone.n; i++) {
        jsonw_list(&w);
        for (uint32_t k = 0; k < wall.gone.at[i].n; k++)
            jsonw_str(&w, wall.gone.at[i].keys[k]);
        jsonw_end(&w);
    }
    jsonw_end(&w);
}

/* The next step is started by runs_pump().  Until that ends, an answer would come from here: the
 * travel of the last one goes when its node has told everything. */
static void turn_to(struct run *r, enum phase next)
{
    r->phase = next;
    r->answered_from = NULL;
    link_append(&r->w->turning, &r->turning);
}

static void task_ended(struct run *r, const struct jig_result *res)
{
    keep_returns(r, res);
    if (!r->post.req.params || res->outcome != OUTCOME_OK) {
        run_end(r, res);
        return;
    }
    r->done = *res;
    r->done.returns = NULL;
    turn_to(r, PHASE_TEST_POST);
}

/* It did not pass, and is not tried again. */
static void test_failed(struct run *r, const struct run_test *t, const struct jig_result *res)
{
    struct jig_result failed = *res;
    failed.again_ms = 0;
    if (failed.outcome == OUTCOME_AGAIN) /* a test has nothing to wait for */
        snprintf(failed.text, sizeof failed.text, "exit status %d", failed.exit_code);
    if (r->test_late && !is_cut(r))
        snprintf(failed.text, sizeof failed.text, "ran longer than %" PRIu64 " ms", t->timeout_ms);
    if (failed.outcome == OUTCOME_AGAIN || (r->test_late && !is_cut(r)))
        failed.outcome = OUTCOME_FAILED;
    char text[sizeof failed.text];
    memcpy(text, failed.text, sizeof text);
    snprintf(failed.text, sizeof failed.text, "%s%s: %.220s", phase_name(r->phase),
             failed.outcome == OUTCOME_FAILED ? " failed" : "", text);
    buf_clear(&r->returns);
    buf_clear(&r->gone);
    run_end(r, &failed);
}

static void test_ended(struct run *r, struct run_test *t, const struct jig_result *res)
{
    bool known = res->outcome != OUTCOME_LOST && res->outcome != OUTCOME_REFUSED;
    r->truncated = r->truncated || res->truncated;
    if (res->outcome == OUTCOME_OK && r->phase == PHASE_TEST_PRE) {
        turn_to(r, PHASE_TASK);
    } else if (res->outcome == OUTCOME_OK) {
        run_end(r, &r->done);
    } else if (known && !is_cut(r) && t->tried < t->tries) {
        r->rest_ms = t->interval_ms;
        turn_to(r, r->phase);
    } else {
        test_failed(r, t, res);
    }
}

void run_step_finished(void *run, const struct jig_result *res)
{
    struct run *r = run;
    struct run_test *t = test_of(r);
    assert(r->step_on);
    r->step_on = false;
    if (r->test_timer)
        loop_timer_stop(r->test_timer);
    if (t)
        test_ended(r, t, res);
    else
        task_ended(r, res);
}
