/* rig.h - a worker and a stand-in for the server on one loop; everything the worker says is kept */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_WORKER_RIG_H
#define TESTS_WORKER_RIG_H

#include "base/arena.h"
#include "model/taskmsg.h"
#include "sys/scratch.h"
#include "worker/worker.h"

struct rig {
    struct loop *l;
    bool fake;
    struct queue *q;
    struct worker *w;
    char *dir;
    struct arena mem;
    VEC(struct taskmsg) got;
    size_t bad;                /* messages that could not be read */
    size_t wait_for;           /* results; the loop stops when there are so many */
    bool wait_for_log;         /* or at the first LOG */
    size_t wait_for_notes;     /* or when there are so many NOTEs */
    uint32_t wait_for_task;    /* or when this task has written ... */
    const char *wait_for_text; /* ... this; NULL: nothing */
    bool stopped;
};

static size_t rig_count(const struct rig *r, enum taskmsg_kind kind)
{
    size_t n = 0;
    for (size_t i = 0; i < r->got.n; i++)
        n += r->got.at[i].kind == kind;
    return n;
}

/* All that a task has written so far, in the order in which it came. */
__attribute__((unused)) static const char *rig_log_text(struct rig *r, uint32_t task)
{
    SCOPED_BUF(b);
    for (size_t i = 0; i < r->got.n; i++)
        if (r->got.at[i].kind == TASKMSG_LOG && r->got.at[i].task == task)
            buf_put(&b, r->got.at[i].chunk.s, r->got.at[i].chunk.n);
    return arena_strndup(&r->mem, buf_str(&b).s, b.len);
}

static bool rig_has_written(struct rig *r)
{
    return r->wait_for_text && strstr(rig_log_text(r, r->wait_for_task), r->wait_for_text);
}

static void rig_deliver(void *arg, const struct str *messages, size_t n)
{
    struct rig *r = arg;
    for (size_t i = 0; i < n; i++) {
        struct taskmsg m;
        struct err e;
        if (taskmsg_parse(&r->mem, messages[i], &m, &e) < 0)
            r->bad++;
        else
            vec_push(&r->got, m);
    }
    if ((r->wait_for && rig_count(r, TASKMSG_RESULT) >= r->wait_for) ||
        (r->wait_for_log && rig_count(r, TASKMSG_LOG)) ||
        (r->wait_for_notes && rig_count(r, TASKMSG_NOTE) >= r->wait_for_notes) ||
        rig_has_written(r))
        loop_stop(r->l);
}

/* NULL options: capacity 4, beats every second. */
static int rig_init(struct rig *r, bool fake, const struct worker_options *o)
{
    struct worker_options own = {.name = "w", .capacity = 4, .beat_ms = 1000};
    struct err e = {0};
    *r = (struct rig){.fake = fake, .q = queue_new_embedded(), .dir = scratch_new()};
    r->l = fake ? loop_new_fake(1000000) : loop_new();
    arena_init(&r->mem);
    queue_server_attach(r->q, r->l, rig_deliver, r);
    if (o)
        own = *o;
    own.run_dir = r->dir;
    own.runner = RUNNER_PATH;
    r->w = worker_new(r->l, r->q, &own, &e);
    if (!r->w)
        note("worker_new: %s", e.text);
    return r->w ? 0 : -(int)e.code;
}

static void rig_step(struct rig *r, uint64_t ms)
{
    loop_fake_advance(r->l, ms);
}

/* Real loops: until there are n results since the last rig_forget(). */
__attribute__((unused)) static void rig_wait(struct rig *r, size_t n)
{
    r->wait_for = n;
    if (rig_count(r, TASKMSG_RESULT) < n)
        scratch_run(r->l);
    r->wait_for = 0;
}

__attribute__((unused)) static void rig_wait_log(struct rig *r)
{
    r->wait_for_log = true;
    if (!rig_count(r, TASKMSG_LOG))
        scratch_run(r->l);
    r->wait_for_log = false;
}

__attribute__((unused)) static void rig_wait_notes(struct rig *r, size_t n)
{
    r->wait_for_notes = n;
    if (rig_count(r, TASKMSG_NOTE) < n)
        scratch_run(r->l);
    r->wait_for_notes = 0;
}

/* Until the task has written the text. */
__attribute__((unused)) static void rig_wait_text(struct rig *r, uint32_t task, const char *text)
{
    r->wait_for_task = task;
    r->wait_for_text = text;
    if (!rig_has_written(r))
        scratch_run(r->l);
    r->wait_for_text = NULL;
}

__attribute__((unused)) static void rig_forget(struct rig *r)
{
    vec_clear(&r->got);
}

static void rig_send(struct rig *r, const struct taskmsg *m)
{
    SCOPED_BUF(b);
    taskmsg_write(&b, m);
    queue_to_worker(r->q, buf_str(&b));
    queue_flush(r->q);
    if (r->fake)
        rig_step(r, 0);
}

__attribute__((unused)) static void rig_task(struct rig *r, uint32_t task, uint32_t attempt,
                                             uint32_t ask, const char *jig, const char *params)
{
    rig_send(r, &(struct taskmsg){.kind = TASKMSG_TASK,
                                  .task = task,
                                  .attempt = attempt,
                                  .ask = ask,
                                  .jig = str_of(jig),
                                  .params = str_of(params),
                                  .grace_ms = 200});
}

__attribute__((unused)) static void rig_cancel(struct rig *r, uint32_t task, uint32_t attempt,
                                               uint64_t grace_ms)
{
    rig_send(r,
             &(struct taskmsg){
                 .kind = TASKMSG_CANCEL, .task = task, .attempt = attempt, .grace_ms = grace_ms});
}

/* The latest RESULT of a run; one of no kind if there is none. */
__attribute__((returns_nonnull)) static const struct taskmsg *
rig_result(const struct rig *r, uint32_t task, uint32_t attempt)
{
    static const struct taskmsg none = {.kind = TASKMSG_KIND_COUNT, .text = {"", 0}};
    for (size_t i = r->got.n; i-- > 0;)
        if (r->got.at[i].kind == TASKMSG_RESULT && r->got.at[i].task == task &&
            r->got.at[i].attempt == attempt)
            return &r->got.at[i];
    return &none;
}

/* Its outcome, -1 if there is none. */
__attribute__((unused)) static int rig_outcome(const struct rig *r, uint32_t task, uint32_t attempt)
{
    const struct taskmsg *m = rig_result(r, task, attempt);
    return m->kind == TASKMSG_RESULT ? (int)m->outcome : -1;
}

__attribute__((unused)) static void rig_ack_all(struct rig *r)
{
    uint64_t seq = 0;
    for (size_t i = 0; i < r->got.n; i++)
        if (r->got.at[i].kind == TASKMSG_RESULT && r->got.at[i].seq > seq)
            seq = r->got.at[i].seq;
    rig_send(r, &(struct taskmsg){.kind = TASKMSG_ACK, .seq = seq});
}

static void rig_on_stopped(void *arg)
{
    struct rig *r = arg;
    r->stopped = true;
    loop_stop(r->l);
}

static void rig_done(struct rig *r)
{
    if (r->w && !r->stopped) {
        worker_stop(r->w, 0, rig_on_stopped, r);
        if (r->fake)
            rig_step(r, 100000);
        else
            scratch_run(r->l);
        ok(r->stopped, "the worker stops");
    }
    worker_free(r->w);
    queue_server_detach(r->q);
    queue_free(r->q);
    loop_free(r->l);
    is_int(r->bad, 0, "every message could be read");
    vec_done(&r->got);
    arena_done(&r->mem);
    scratch_end(r->dir);
}

#endif
