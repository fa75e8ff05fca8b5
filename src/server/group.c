/* group.c - groups on their way to the store, and what leaves when they are there
 *
 * Each time the loop is about to wait, the open group is closed and given to the writer thread,
 * unless one is still being written: then it goes on gathering, which is what makes groups large
 * under load and immediate otherwise.  Release order once durable: acknowledgements, task messages,
 * replies, events.
 *
 * A refused commit changed nothing in the store: memory is thrown away and read again, whoever
 * waited for the group is told, and writes are refused until a probe of the store succeeds.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "base/log.h"
#include "server/checkpoint.h"
#include "server/server_i.h"

struct flight {
    struct server *server;
    struct group *group;
    struct err failure;
};

static void write_group(void *arg)
{
    struct flight *f = arg;
    size_t from = 0;
    f->failure.code = ERR_NONE;
    for (size_t i = 0; i < f->group->slices.n; i++) {
        size_t to = f->group->slices.at[i];
        if (store_commit(f->server->store, f->group->ops.at + from, to - from, &f->failure) < 0)
            return;
        from = to;
    }
}

static void tell_waiters(struct server *s, uint64_t durable, const struct err *failure)
{
    /* Callbacks may add waiters: take those that are due off the list first. */
    VEC(struct durable_waiter) due = {0};
    size_t keep = 0;
    for (size_t i = 0; i < s->waiters.n; i++) {
        struct durable_waiter w = s->waiters.at[i];
        if (failure || w.group <= durable) {
            if (w.fn)
                vec_push(&due, w);
        } else {
            s->waiters.at[keep++] = w;
        }
    }
    s->waiters.n = keep;
    for (size_t i = 0; i < due.n; i++)
        due.at[i].fn(due.at[i].arg, failure);
    vec_done(&due);
}

static void probe(struct server *s);

static void probe_done(void *arg)
{
    struct flight *f = arg;
    struct server *s = f->server;
    if (f->failure.code == ERR_NONE) {
        log_line(LOG_INFO, "store.recovered", LOGT("path", s->db_path));
        s->degraded.code = ERR_NONE;
        if (engine_opts_tell(s, &f->failure) < 0) /* what was refused may have been that */
            log_err(LOG_ERROR, "settings.refused", &f->failure);
        server_touch(s);
    } else {
        s->degraded = f->failure;
    }
    s->reloading = false;
    s->flying = NULL;
    s->flight = NULL;
    group_free(f->group);
    free(f);
}

/* Writes the meta row as it is: tells whether the store takes writes again. */
static void probe(struct server *s)
{
    struct flight *f = xcalloc(1, sizeof *f);
    f->server = s;
    f->group = xcalloc(1, sizeof *f->group);
    arena_init(&f->group->mem);
    f->group->number = s->durable_group;
    struct row_meta *m = arena_new(&f->group->mem, struct row_meta, 1);
    anneal_row(s->engine, ROWS_META, 1, m);
    m->group_no = s->durable_group;
    m->journal_seq = s->ring_last;
    m->next_deployment = commit_meta(s->commit)->next_deployment;
    m->next_token = commit_meta(s->commit)->next_token;
    m->catalog = commit_meta(s->commit)->catalog;
    m->run_no = s->run_no;
    m->attempts = commit_meta(s->commit)->attempts;
    m->fence = s->fence;
    m->engine = str_of(ANNEAL_VERSION);
    vec_push(&f->group->ops, ((struct row_op){ROWS_META, ROW_PUT, m}));
    vec_push(&f->group->slices, (size_t)1);
    s->flying = f->group;
    s->flight = f;
    s->reloading = true;
    pool_submit(s->writer, write_group, probe_done, f);
}

struct read_back {
    uint64_t group;
};

static int read_group(void *arg, enum row_table t, const void *row, struct err *e)
{
    (void)t;
    (void)e;
    ((struct read_back *)arg)->group = ((const struct row_meta *)row)->group_no;
    return 0;
}

/* A write that failed in the middle may have happened.  The handle is of no use any more: a new one
 * tells which group is the last. */
static bool landed_after_all(struct server *s, const struct group *g)
{
    struct store_options o = {.path = s->db_path};
    struct read_back back = {0};
    struct err e;
    store_close(s->store);
    s->store = NULL;
    if (store_open(&o, &s->store, &e) < 0 ||
        store_each(s->store, ROWS_META, read_group, &back, &e) < 0) {
        log_err(LOG_ERROR, "store.reopen", &e);
        loop_stop(s->loop); /* what is stored cannot be read: nothing sensible is left to do */
        return false;
    }
    return back.group >= g->number; /* its last transaction makes a group true */
}

static void refused(struct server *s, const struct err *failure)
{
    struct err e;
    if (!s->store)
        return;
    log_err(LOG_ERROR, "store.refused", failure);
    s->degraded = *failure;
    if (!s->degraded.hint[0])
        err_hint(&s->degraded,
                 "nothing was lost: writes are taken again once the store accepts them");
    if (server_restore(s, &e) < 0) {
        log_err(LOG_ERROR, "store.reload", &e);
        loop_stop(s->loop); /* what is stored cannot be read: nothing sensible is left to do */
        return;
    }
    server_reconcile(s);
    idempotent_durable(s, UINT64_MAX);
    tell_waiters(s, 0, &s->degraded);
}

static void released(struct server *s, struct group *g)
{
    s->durable_group = g->number;
    s->groups++;
    s->rows_written += g->ops.n;
    commit_durable(s->commit, g->number);
    idempotent_durable(s, g->number);
    eventring_add(s, g);
    dispatch_group(s, g);
    tell_waiters(s, g->number, NULL);
}

static void write_done(void *arg)
{
    struct flight *f = arg;
    struct server *s = f->server;
    s->flying = NULL;
    s->flight = NULL;
    bool unknown = f->failure.code == ERR_IO;
    if (f->failure.code == ERR_NONE || (unknown && landed_after_all(s, f->group)))
        released(s, f->group);
    else
        refused(s, &f->failure);
    group_free(f->group);
    free(f);
    inbox_pump(s);
    checkpoint_consider(s);
    group_pump(s);
}

void group_pump(struct server *s)
{
    if (s->flying || s->reloading || !s->commit || s->degraded.code != ERR_NONE)
        return;
    hook_close(s);
    struct group *g = commit_close(s->commit);
    if (!g)
        return;
    struct flight *f = xcalloc(1, sizeof *f);
    f->server = s;
    f->group = g;
    s->flying = g;
    s->flight = f;
    workers_acks_flying(s);
    pool_submit(s->writer, write_group, write_done, f);
}

void group_probe(struct server *s)
{
    if (s->degraded.code != ERR_NONE && !s->flying)
        probe(s);
}

/* At the end: what flies lands, what is open is written from here.  Nothing is released any more.
 */
void group_drain(struct server *s)
{
    struct flight *f = s->flight;
    pool_free(s->writer);
    s->writer = NULL;
    bool good = s->degraded.code == ERR_NONE;
    if (f) {
        good = good && f->failure.code == ERR_NONE;
        group_free(f->group);
        free(f);
        s->flight = NULL;
    }
    if (good)
        hook_close(s);
    struct group *g = good ? commit_close(s->commit) : NULL;
    if (!g)
        return;
    struct flight last = {.server = s, .group = g};
    write_group(&last);
    if (last.failure.code != ERR_NONE)
        log_err(LOG_ERROR, "store.refused", &last.failure);
    group_free(g);
}
