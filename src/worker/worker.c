/* worker.c - a worker's life: HELLO, beats, the end of an iteration, stopping
 *
 * Owns the run directory while it lives: a lock file keeps a second worker out, and what an earlier
 * one left in the scratch directory is removed.  The lock directory is kept: its records are what
 * protects tasks from being started twice.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/worker.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "sys/fs.h"
#include "worker/worker_i.h"

enum {
    CAPACITY_DEFAULT = 64,
    OUTPUT_DEFAULT = 1024 * 1024,
    BEAT_DEFAULT_MS = 5000,
    DOCUMENTS_DEFAULT = 64 << 20,
    RESOURCES_DEFAULT = 1 << 30,
    JIGS_MAX = 64,
    BEATS_A_LEASE = 6, /* at least: how soon silence is noticed, too */
    BEATS_A_PATIENCE = 3,
};

void worker_send(struct worker *w, const struct taskmsg *m)
{
    buf_clear(&w->out);
    taskmsg_write(&w->out, m);
    queue_to_server(w->mail, buf_str(&w->out));
    w->unflushed = true;
}

/* HELLO or BEAT: who we are and what we hold, the unacknowledged included. */
static void report(struct worker *w, enum taskmsg_kind kind, const struct held_attempt *released,
                   size_t n_released)
{
    VEC(struct held_attempt) held = {0};
    struct str jigs[JIGS_MAX];
    char host[HOST_NAME_MAX + 1] = "";
    struct taskmsg m = {.kind = kind,
                        .worker = str_of(w->name),
                        .capacity = w->capacity,
                        .version = str_of(ANNEAL_VERSION),
                        .labels = str_of(w->labels),
                        .draining = w->draining || w->stopping,
                        .released = released,
                        .n_released = (uint32_t)n_released};
    (void)gethostname(host, sizeof host - 1);
    m.host = str_of(host);
    for (struct link *l = w->held.next; l != &w->held; l = l->next) {
        const struct run *r = LINK_OF(l, struct run, of_worker);
        vec_push(&held, ((struct held_attempt){r->msg.task, r->msg.attempt}));
    }
    for (struct link *l = w->unacked.next; l != &w->unacked; l = l->next) {
        const struct answer *a = LINK_OF(l, struct answer, unacked);
        vec_push(&held, ((struct held_attempt){a->known->task, a->attempt}));
    }
    for (; m.n_jigs < JIGS_MAX && jig_at(m.n_jigs); m.n_jigs++)
        jigs[m.n_jigs] = str_of(jig_at(m.n_jigs)->name);
    SCOPED_BUF(plugins);
    if (kind == TASKMSG_HELLO) {
        jig_plugins_tell(w->plugins, &plugins);
        w->plugins_told = digest_64(plugins.data, plugins.len);
    }
    m.plugins = buf_str(&plugins);
    m.jigs = jigs;
    m.held = held.at;
    m.n_held = (uint32_t)held.n;
    worker_send(w, &m);
    vec_done(&held);
}

void worker_hello(struct worker *w)
{
    report(w, TASKMSG_HELLO, NULL, 0);
    answers_resend_older(w, UINT64_MAX);
    documents_ask_again(w, UINT64_MAX);
    blobs_ask_again(w, UINT64_MAX);
}

static uint64_t sooner(uint64_t ms, uint64_t than_ms)
{
    return ms && ms < than_ms ? ms : than_ms;
}

/* Often enough that a lost beat or two do not look like silence. */
uint64_t worker_beat_after_ms(const struct worker *w)
{
    uint64_t ms = sooner(w->lease_ms / BEATS_A_LEASE, w->beat_ms);
    return sooner(w->patience_ms / BEATS_A_PATIENCE, ms);
}

/* The server gives up what runs on our machine when it has not heard of us for the lease, and may
 * have it run elsewhere: what we cannot tell it about must have ended by then, its grace included.
 * What is on nodes goes on there. */
static void fence_self(struct worker *w, uint64_t now_ms)
{
    if (!w->lease_ms || now_ms < w->heard_ms + w->lease_ms / 3 * 2)
        return;
    uint64_t over_ms = w->heard_ms + w->lease_ms;
    uint64_t most_ms = now_ms < over_ms ? (over_ms - now_ms) / 2 : 0;
    for (struct link *l = w->held.next; l != &w->held; l = l->next) {
        struct run *r = LINK_OF(l, struct run, of_worker);
        if (r->life == LIFE_RUNNING && !travel_is_away(r))
            run_step_cancel(r, r->msg.grace_ms < most_ms ? r->msg.grace_ms : most_ms);
    }
}

/* Plugins come and go while we run: whoever is told what there was is told again. */
static bool plugins_changed(struct worker *w)
{
    SCOPED_BUF(now);
    if (!w->plugins)
        return false;
    jig_plugins_tell(w->plugins, &now);
    return digest_64(now.data, now.len) != w->plugins_told;
}

static void on_beat(void *arg)
{
    struct worker *w = arg;
    uint64_t now_ms = loop_now_ms(w->loop), patience_ms = RESEND_BEATS * w->beat_ms;
    report(w, plugins_changed(w) ? TASKMSG_HELLO : TASKMSG_BEAT, NULL, 0);
    fence_self(w, now_ms);
    nodes_tire(w);
    if (now_ms > patience_ms) {
        answers_resend_older(w, now_ms - patience_ms);
        documents_ask_again(w, now_ms - patience_ms);
        blobs_ask_again(w, now_ms - patience_ms);
    }
    loop_timer_at(w->beat, now_ms + worker_beat_after_ms(w));
}

static void leave_loop(struct worker *w)
{
    if (!w->attached)
        return;
    w->attached = false;
    queue_worker_detach(w->mail);
    loop_timer_stop(w->beat);
    loop_timer_stop(w->log_timer);
    loop_timer_stop(w->retry);
}

/* Each time before the loop waits: room is filled, the dead are freed, the server is woken once. */
static void settle(void *arg)
{
    struct worker *w = arg;
    runs_pump(w);
    runs_bury(w);
    nodes_bury(w);
    probes_flush(w);
    if (w->unflushed)
        queue_flush(w->mail);
    w->unflushed = false;
    if (w->stopping && w->attached && link_empty(&w->held)) {
        leave_loop(w);
        loop_post(w->loop, w->stopped, w->stopped_arg);
    }
}

static char *default_name(void)
{
    char host[HOST_NAME_MAX + 1] = "";
    struct buf b = {0};
    (void)gethostname(host, sizeof host - 1);
    buf_printf(&b, "%s:%d", host[0] ? host : "localhost", (int)getpid());
    return buf_take(&b, NULL);
}

static int make_dir(const char *run_dir, const char *name, bool fresh, struct err *e)
{
    char *path = fs_join(run_dir, name);
    int rc = fresh ? fs_remove_tree(path, e) : 0;
    if (rc == 0)
        rc = fs_mkdirs(path, 0700, e);
    free(path);
    return rc;
}

static int take_run_dir(struct worker *w, const char *run_dir, struct err *e)
{
    int rc = fs_mkdirs(run_dir, 0700, e);
    if (rc < 0)
        return rc;
    w->run_dir = realpath(run_dir, NULL); /* runners start elsewhere */
    if (!w->run_dir)
        return err_sys(e, ERR_IO, errno, "cannot resolve %s", run_dir);
    char *lock = fs_join(w->run_dir, "worker.lock");
    w->lock_fd = fs_lock(lock, e);
    free(lock);
    if (w->lock_fd < 0)
        return w->lock_fd;
    rc = make_dir(w->run_dir, JIG_LOCK_DIR, false, e);
    if (rc == 0)
        rc = make_dir(w->run_dir, JIG_SCRATCH_DIR, true, e);
    return rc < 0 ? rc : make_dir(w->run_dir, JIG_RESOURCE_DIR, true, e);
}

static uint64_t first_seq(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

struct worker *worker_new(struct loop *l, struct queue *q, const struct worker_options *o,
                          struct err *e)
{
    struct worker *w = xcalloc(1, sizeof *w);
    w->loop = l;
    w->mail = q;
    w->lock_fd = -1;
    w->name = o->name ? xstrdup(o->name) : default_name();
    w->labels = o->labels ? xstrdup(o->labels) : NULL;
    w->runner = xstrdup(o->runner ? o->runner : "anneal-runner");
    w->plugins = o->plugin_path ? jig_plugins_new(o->plugin_path) : NULL;
    w->capacity = o->capacity ? o->capacity : CAPACITY_DEFAULT;
    w->max_output_bytes = o->max_output_bytes ? o->max_output_bytes : OUTPUT_DEFAULT;
    w->beat_ms = o->beat_ms ? o->beat_ms : BEAT_DEFAULT_MS;
    w->documents_max_bytes = o->document_bytes ? o->document_bytes : DOCUMENTS_DEFAULT;
    w->blobs_max_bytes = o->resource_bytes ? o->resource_bytes : RESOURCES_DEFAULT;
    w->next_seq = first_seq();
    link_init(&w->idle);
    link_init(&w->held);
    link_init(&w->queue);
    link_init(&w->turning);
    link_init(&w->dirty);
    link_init(&w->graves);
    link_init(&w->unacked);
    link_init(&w->travels);
    link_init(&w->parked);
    link_init(&w->probes);
    arena_init(&w->probed_mem);
    link_init(&w->documents_idle);
    link_init(&w->documents_asked);
    link_init(&w->blobs_idle);
    link_init(&w->blobs_asked);
    arena_init(&w->scratch);
    w->beat = loop_timer_new(l, on_beat, w);
    w->log_timer = loop_timer_new(l, worker_log_flush, w);
    w->retry = loop_timer_new(l, parked_due, w);
    loop_before_wait(l, settle, w);
    if (nodes_start(w, o, e) < 0 || take_run_dir(w, o->run_dir, e) < 0) {
        worker_free(w);
        return NULL;
    }
    queue_worker_attach(q, l, worker_deliver, w);
    w->attached = true;
    worker_hello(w);
    loop_timer_at(w->beat, loop_now_ms(l) + w->beat_ms);
    return w;
}

void worker_drain(struct worker *w)
{
    w->draining = true;
    report(w, TASKMSG_BEAT, NULL, 0);
}

bool worker_is_idle(const struct worker *w)
{
    for (const struct link *l = w->held.next; l != &w->held; l = l->next)
        if (!LINK_OF(l, const struct run, of_worker)->travel)
            return false;
    return true;
}

void worker_stop(struct worker *w, uint64_t grace_ms, loop_call_f *done, void *arg)
{
    assert(!w->stopping);
    w->stopping = true;
    w->stopped = done;
    w->stopped_arg = arg;
    VEC(struct held_attempt) released = {0};
    for (struct link *l = w->held.next; l != &w->held;) {
        struct run *r = LINK_OF(l, struct run, of_worker);
        if (travel_is_away(r)) {
            vec_push(&released, ((struct held_attempt){r->msg.task, r->msg.attempt}));
            travel_release(r);
            l = w->held.next;
        } else if (r->life == LIFE_RUNNING) {
            run_step_cancel(r, grace_ms);
            l = l->next;
        } else { /* others may go with it */
            run_drop(r, r->life == LIFE_AHEAD ? OUTCOME_CANCELLED : OUTCOME_AGAIN,
                     "the worker stopped before it was started");
            l = w->held.next;
        }
    }
    report(w, TASKMSG_BEAT, released.at, released.n);
    vec_done(&released);
    loop_post(w->loop, settle, w); /* if nothing runs, there may be nothing else to wake the loop */
}

void worker_free(struct worker *w)
{
    if (!w)
        return;
    assert(w->n.running == 0);
    leave_loop(w);
    loop_before_wait_off(w->loop, settle, w);
    loop_unpost(w->loop, settle, w);
    while (!link_empty(&w->held)) {
        struct run *r = LINK_OF(w->held.next, struct run, of_worker);
        link_remove(&r->of_task);
        known_settle(w, r->known);
        run_free(r);
    }
    runs_bury(w);
    documents_done(w);
    blobs_done(w);
    memory_done(w);
    travels_done(w);
    probes_done(w);
    nodes_done(w);
    for (size_t i = 0; i < w->spare.n; i++) {
        arena_done(w->spare.at[i]);
        free(w->spare.at[i]);
    }
    vec_done(&w->spare);
    arena_done(&w->scratch);
    buf_done(&w->out);
    loop_timer_free(w->beat);
    loop_timer_free(w->log_timer);
    loop_timer_free(w->retry);
    if (w->lock_fd >= 0)
        close(w->lock_fd);
    free(w->name);
    free(w->labels);
    free(w->run_dir);
    free(w->runner);
    jig_plugins_free(w->plugins);
    free(w);
}

struct worker_counts worker_counts(const struct worker *w)
{
    return w->n;
}
