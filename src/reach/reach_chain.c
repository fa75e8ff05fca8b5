/* reach_chain.c - one chain over a link: sent, followed, and told of in order
 *
 * Two streams come back, each in its own time.  An end is told only when the log has passed its
 * step or the session is over, and never before those in front of it.
 *
 *   SENDING     the session was asked for; without a runner there: once more, with it
 *   ATTACHING   the same for a chain that is there already
 *   over seen   the session should end by itself; if somebody on the node keeps its output open it
 *               is closed after LINGER_MS
 *
 * What the end of a session means without the event "over": before the runner answered, nothing was
 * begun; afterwards, anything.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "reach/reach_i.h"

enum { LINGER_MS = 2000, LONG_RUN_MS = 5000, TEXT_BYTES = 512 };

struct told { /* an end that has arrived */
    bool there, given;
    struct reach_end end;
    char *result, *note;
};
struct reach_chain {
    struct reach_chain_spec spec; /* without what is the caller's: steps, and root is a copy */
    char *root;
    struct reach_run *runs;
    struct reach_name name;      /* of the archive, for a second sending */
    char chain[REACH_CHAIN_HEX]; /* followed */
    struct buf archive;          /* the runner first, which is left out if the node has it */
    size_t runner_bytes;         /* of it in the archive */
    struct reach_call *call;
    struct reach_events events;
    struct reach_log log;
    struct loop_timer *linger;
    struct loop_timer *long_run; /* armed while the node keeps no limits of a chain that has some */
    struct reach_ask *watch;
    bool limited;
    bool attached, with_runner;
    bool answered, over, no_runner, bad; /* seen on the event stream */
    bool lost, unknown, error;           /* why it is over */
    char held[REACH_CHAIN_HEX];          /* another chain has our first step */
    uint32_t map[REACH_STEPS_MAX + 1];   /* number there -> our index + 1; 0: not ours */
    struct told told[REACH_STEPS_MAX];
    size_t given; /* ends told to the owner */
    char text[TEXT_BYTES];
};

static int session_start(struct reach_chain *c, struct err *e);

static void session_reset(struct reach_chain *c)
{
    if (c->call)
        c->spec.link->close(c->spec.link, c->call);
    c->call = NULL;
    reach_events_done(&c->events);
    reach_log_done(&c->log);
    c->events = (struct reach_events){0};
    c->log = (struct reach_log){0};
    c->answered = c->over = c->no_runner = c->bad = c->lost = c->unknown = c->error = false;
    loop_timer_stop(c->linger);
    loop_timer_stop(c->long_run);
}

void reach_chain_free(struct reach_chain *c)
{
    if (!c)
        return;
    session_reset(c);
    reach_ask_free(c->watch);
    loop_timer_free(c->long_run);
    loop_timer_free(c->linger);
    for (size_t i = 0; i < c->spec.n; i++) {
        free(c->told[i].result);
        free(c->told[i].note);
    }
    buf_done(&c->archive);
    free(c->root);
    free(c->runs);
    free(c);
}

/* Tells the ends that are due: those that the log has passed, or all when there is no more log. */
static void ends_give(struct reach_chain *c, bool all)
{
    while (c->given < c->spec.n) {
        struct told *t = &c->told[c->given];
        size_t there = 0;
        for (uint32_t k = 1; k <= REACH_STEPS_MAX; k++)
            if (c->map[k] == c->given + 1)
                there = k;
        if (!t->there || (!all && there > c->log.passed))
            return;
        t->given = true;
        c->spec.on_end(c->spec.arg, (unsigned)c->given++, &t->end);
    }
}

static void on_log_bytes(void *arg, uint32_t step, const char *p, size_t n)
{
    struct reach_chain *c = arg;
    uint32_t ours = step <= REACH_STEPS_MAX ? c->map[step] : 0;
    if (!n)
        ends_give(c, false);
    else if (ours && !c->told[ours - 1].given)
        c->spec.on_log(c->spec.arg, ours - 1, p, n);
}

static void end_keep(struct reach_chain *c, const struct reach_event *ev)
{
    uint32_t ours = c->map[ev->n];
    struct told *t = ours ? &c->told[ours - 1] : NULL;
    if (!t || t->there)
        return;
    if (ev->end.what == REACH_HELD && ours == 1 && ev->end.note.n == REACH_CHAIN_HEX - 1) {
        snprintf(c->held, sizeof c->held, "%.*s", (int)ev->end.note.n, ev->end.note.s);
        if (reach_id_valid(c->held))
            return; /* not told: that chain is followed instead */
        c->held[0] = '\0';
    }
    t->there = true;
    t->end = ev->end;
    t->result = xstrndup(ev->end.result.s, ev->end.result.n);
    t->note = xstrndup(ev->end.note.s, ev->end.note.n);
    t->end.result.s = t->result;
    t->end.note.s = t->note;
    ends_give(c, false);
}

/* Which of ours a step of the attached chain is. */
static void step_map(struct reach_chain *c, const struct reach_event *ev)
{
    for (size_t i = 0; i < c->spec.n; i++) {
        const struct reach_run *r = &c->runs[i];
        if (r->task == ev->run.task && r->fence == ev->run.fence && r->attempt == ev->run.attempt &&
            r->ask == ev->run.ask && r->step == ev->run.step)
            c->map[ev->n] = (uint32_t)i + 1;
    }
}

static void over_note(struct reach_chain *c, const struct reach_event *ev)
{
    c->over = true;
    c->lost = str_is(ev->text, "lost");
    c->unknown = str_is(ev->text, "unknown");
    c->error = str_is(ev->text, "error");
    if (ev->note.n)
        snprintf(c->text, sizeof c->text, "%.*s", (int)ev->note.n, ev->note.s);
    loop_timer_stop(c->long_run);
    loop_timer_at(c->linger, loop_now_ms(c->spec.loop) + LINGER_MS);
}

static void on_event(void *arg, const struct reach_event *ev)
{
    struct reach_chain *c = arg;
    if (c->over || c->bad)
        return;
    switch (ev->kind) {
    case REACH_EV_CHAIN:
        c->answered = true;
        c->spec.link->has_runner = true;
        if (c->limited && !c->attached)
            loop_timer_at(c->long_run, loop_now_ms(c->spec.loop) + LONG_RUN_MS);
        if (c->spec.on_answer)
            c->spec.on_answer(c->spec.arg);
        break;
    case REACH_EV_STEP:
        if (c->attached)
            step_map(c, ev);
        break;
    case REACH_EV_END: end_keep(c, ev); break;
    case REACH_EV_OVER: over_note(c, ev); break;
    case REACH_EV_NO_RUNNER: c->no_runner = true; break;
    case REACH_EV_BAD: c->bad = true; break;
    case REACH_EV_LINE: break;
    }
}

static void on_session_output(void *arg, int stream, const char *p, size_t n)
{
    struct reach_chain *c = arg;
    if (stream == 1)
        reach_log_push(&c->log, p, n, on_log_bytes, c);
    else
        reach_events_push(&c->events, p, n, on_event, c);
}

static void give_over(struct reach_chain *c, enum reach_over_kind kind, enum reach_fail fail)
{
    struct reach_over over = {
        .kind = kind, .fail = fail, .chain = c->chain, .text = kind == REACH_OVER ? "" : c->text};
    c->spec.on_over(c->spec.arg, &over); /* may free c */
}

/* The runner has said its last word: what was not told of did not begin, or is lost. */
static void chain_over(struct reach_chain *c)
{
    bool lost = c->lost || c->unknown;
    for (size_t i = 0; i < c->spec.n; i++) {
        struct told *t = &c->told[i];
        if (t->there)
            continue;
        t->there = true;
        t->end = (struct reach_end){.what = lost ? REACH_LOST : REACH_SKIPPED,
                                    .status = -1,
                                    .note = str_of(lost ? c->text : "")};
        /* A dead director began none behind the one it died in; a node that knows nothing may have
         * known all. */
        lost = lost && c->unknown;
    }
    ends_give(c, true);
    give_over(c, REACH_OVER, REACH_FAIL_NONE);
}

/* The session ended without the event "over". */
static void chain_cut(struct reach_chain *c, const struct reach_exec_end *end)
{
    bool begun = end->ran && (c->answered || c->attached || end->fail != REACH_FAIL_NONE);
    const char *said = c->events.noise;
    if (end->text[0])
        snprintf(c->text, sizeof c->text, "%s", end->text);
    else if (c->bad)
        snprintf(c->text, sizeof c->text, "the node says what no runner says");
    else if (said[0])
        snprintf(c->text, sizeof c->text, "%s (status %d)", said, end->status);
    else
        snprintf(c->text, sizeof c->text, "the session ended with status %d", end->status);
    ends_give(c, true); /* what has arrived counts, in order; the rest comes by attaching */
    give_over(c, begun ? REACH_CUT : REACH_NEVER, end->fail);
}

static bool session_again(struct reach_chain *c)
{
    struct err e = {0};
    session_reset(c);
    if (session_start(c, &e) == 0)
        return true;
    snprintf(c->text, sizeof c->text, "%s", e.text);
    return false;
}

static void on_session_end(void *arg, const struct reach_exec_end *end)
{
    struct reach_chain *c = arg;
    c->call = NULL;
    loop_timer_stop(c->linger);
    reach_log_flush(&c->log, on_log_bytes, c);
    if (c->no_runner && !c->with_runner) {
        c->with_runner = true;
        c->spec.link->has_runner = false;
        if (!session_again(c))
            give_over(c, c->attached ? REACH_CUT : REACH_NEVER, REACH_FAIL_NONE);
    } else if (c->over && c->held[0] && !c->attached) {
        c->attached = true;
        c->with_runner = false;
        snprintf(c->chain, sizeof c->chain, "%s", c->held);
        memset(c->map, 0, sizeof c->map);
        if (!session_again(c))
            give_over(c, REACH_CUT, REACH_FAIL_NONE);
    } else if (c->over && c->error) {
        give_over(c, c->attached ? REACH_CUT : REACH_NEVER, REACH_FAIL_NONE);
    } else if (c->over) {
        chain_over(c);
    } else {
        chain_cut(c, end);
    }
}

static void on_linger(void *arg)
{
    struct reach_chain *c = arg;
    struct reach_exec_end end = {.ran = true, .text = ""};
    if (!c->call)
        return;
    c->spec.link->close(c->spec.link, c->call);
    on_session_end(c, &end);
}

static void on_watched(void *arg, const struct reach_answer *answer)
{
    struct reach_chain *c = arg;
    reach_ask_free(c->watch);
    c->watch = NULL;
    (void)answer; /* whoever attaches later has the limits kept, too */
}

static void on_long_run(void *arg)
{
    struct reach_chain *c = arg;
    struct err e;
    if (!c->watch &&
        reach_watch(c->spec.link, &c->spec.options, c->chain, on_watched, c, &c->watch, &e) < 0)
        c->watch = NULL;
}

static int session_start(struct reach_chain *c, struct err *e)
{
    SCOPED_BUF(command);
    char verb[64];
    struct reach_exec x = {.on_output = on_session_output, .on_end = on_session_end, .arg = c};
    snprintf(verb, sizeof verb, "%s %s", c->attached ? "attach" : "run", c->chain);
    if (c->attached && c->with_runner) {
        buf_clear(&c->archive);
        reach_pack_runner(&c->archive, &c->name);
        reach_pack_end(&c->archive);
        reach_command_install(&command, &c->spec.options, c->name.chain, verb);
        x.input = buf_str(&c->archive);
    } else if (c->with_runner) {
        reach_command_unpack(&command, &c->spec.options, c->chain);
        x.input = buf_str(&c->archive);
    } else {
        reach_command_verb(&command, &c->spec.options, verb);
        if (!c->attached)
            x.input = (struct str){c->archive.data + c->runner_bytes,
                                   c->archive.len - c->runner_bytes};
    }
    x.command = command.data;
    return c->spec.link->exec(c->spec.link, &x, &c->call, e);
}

static struct reach_chain *chain_new(const struct reach_chain_spec *spec)
{
    struct reach_chain *c = xcalloc(1, sizeof *c);
    c->spec = *spec;
    c->spec.steps = NULL;
    c->root = spec->options.root ? xstrdup(spec->options.root) : NULL;
    c->spec.options.root = c->root;
    c->runs = xcalloc(spec->n ? spec->n : 1, sizeof *c->runs);
    for (size_t i = 0; i < spec->n; i++)
        c->runs[i] = spec->steps[i].run;
    c->linger = loop_timer_new(spec->loop, on_linger, c);
    c->long_run = loop_timer_new(spec->loop, on_long_run, c);
    return c;
}

static int chain_begin(struct reach_chain *c, struct reach_chain **ret_c, struct err *e)
{
    int rc = session_start(c, e);
    if (rc < 0) {
        reach_chain_free(c);
        return rc;
    }
    *ret_c = c;
    return 0;
}

int reach_chain_start(const struct reach_chain_spec *spec, struct reach_chain **ret_c,
                      struct err *e)
{
    int rc = reach_options_check(&spec->options, e);
    if (rc < 0)
        return rc;
    struct reach_chain *c = chain_new(spec);
    reach_name_make(&c->name);
    memcpy(c->chain, c->name.chain, sizeof c->chain);
    for (uint32_t i = 0; i < spec->n && i < REACH_STEPS_MAX; i++) {
        c->map[i + 1] = i + 1;
        c->limited = c->limited || spec->steps[i].limit_s > 0;
    }
    c->with_runner = !spec->link->has_runner;
    c->runner_bytes = reach_pack_runner(&c->archive, &c->name);
    rc = reach_pack(spec->steps, spec->n, &c->name, false, &c->archive, e);
    if (rc < 0) {
        reach_chain_free(c);
        return rc;
    }
    return chain_begin(c, ret_c, e);
}

int reach_chain_attach(const struct reach_chain_spec *spec, const char *chain,
                       struct reach_chain **ret_c, struct err *e)
{
    int rc = reach_options_check(&spec->options, e);
    if (rc < 0)
        return rc;
    if (!reach_id_valid(chain) || !spec->n || spec->n > REACH_STEPS_MAX)
        return err_set(e, ERR_INVALID, "no chain of 1 to %d steps with an id",
                       (int)REACH_STEPS_MAX);
    struct reach_chain *c = chain_new(spec);
    c->attached = true;
    reach_name_make(&c->name);
    memcpy(c->chain, chain, sizeof c->chain);
    return chain_begin(c, ret_c, e);
}
