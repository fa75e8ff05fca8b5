/* sim_commit.c - the server's life: groups closed, written and released; death, and return from
 * what is stored
 *
 * Each stage of a group is a step of its own on the agenda, so that a crash fits between any two of
 * them.  What will happen to the server is drawn when a group closes: from then on an image of
 * memory is taken at every close, and whatever is read back later must equal the image of the group
 * it ends with (invariant 7).  At a release, what leaves is compared with what the engine asked for
 * (invariant 11).
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/sim_i.h"

#include <inttypes.h>

#include "server/restore.h"

enum { LEASE_MS = 10000, RECOVER_GRACE_MS = 8000, FATE_PER_MILLE = 5 };

static void lease_open_attempt(void *arg, const struct open_attempt *o)
{
    struct sim *s = arg;
    if (!o->waiting)
        lease_restore(s->server.lease, o->task, o->attempt, LEASE_MS, s->now_ms + RECOVER_GRACE_MS);
}

void sim_server_boot(struct sim *s)
{
    struct sim_server *v = &s->server;
    struct err e;
    (void)store_open(&(struct store_options){0}, &v->store, &e); /* memory: cannot fail */
    v->engine = anneal_new();
    v->commit = commit_new(v->engine, 0, 0);
    commit_set_slice(v->commit, s->slice_rows);
    sim_hooks_boot(s);
    sim_desire_boot(s);
    v->lease = lease_new();
    v->up = true;
    v->close_at = 4;
}

static void memory_drop(struct sim_server *v)
{
    group_free(v->group);
    commit_free(v->commit);
    anneal_free(v->engine);
    lease_free(v->lease);
    sim_hooks_drop(v);
    desire_free(v->desire);
    v->desire = NULL;
    v->group = NULL;
    v->commit = NULL;
    v->engine = NULL;
    v->lease = NULL;
    vec_clear(&v->acks);
    vec_clear(&v->sends_open);
    vec_clear(&v->stops_open);
    vec_clear(&v->sends_closed);
    vec_clear(&v->stops_closed);
    v->closing = v->close_wanted = false;
    v->life++;
}

void sim_server_free(struct sim *s)
{
    struct sim_server *v = &s->server;
    memory_drop(v);
    store_close(v->store);
    vec_done(&v->acks);
    vec_done(&v->sends_open);
    vec_done(&v->stops_open);
    vec_done(&v->sends_closed);
    vec_done(&v->stops_closed);
    for (int i = 0; i < SIM_IMAGES_KEPT; i++)
        buf_done(&v->images[i].rows);
    buf_done(&v->checkpoint);
    buf_done(&v->checkpoint_next);
}

void sim_server_close_soon(struct sim *s)
{
    struct sim_server *v = &s->server;
    if (v->closing || (commit_pending(v->commit) == 0 && !commit_must_wait(v->commit)))
        return;
    uint64_t delay_ms = commit_pending(v->commit) >= v->close_at
                            ? 0
                            : rng_from(&s->serve, 1, rng_chance(&s->serve, 500) ? 20 : 400);
    if (delay_ms > 0 && commit_pending(v->commit) > 1)
        return; /* its timer runs already */
    v->closing = delay_ms == 0;
    sim_after(s, delay_ms, (struct agenda_item){.kind = AGENDA_CLOSE, .life = v->life});
}

/* ---- what will become of it ---- */

void sim_server_image(struct sim *s, uint64_t group)
{
    struct sim_server *v = &s->server;
    struct sim_image *m = &v->images[group % SIM_IMAGES_KEPT];
    m->group = group;
    buf_clear(&m->rows);
    anneal_save(v->engine, &m->rows);
    s->report->images++;
}

static enum sim_fate fate_draw(struct sim *s)
{
    static const struct {
        enum sim_fault needs;
        enum sim_fate fate;
    } fates[] = {{SIM_CRASH, FATE_CRASH}, {SIM_REFUSE, FATE_REFUSE}, {SIM_UNKNOWN, FATE_UNKNOWN}};
    uint32_t i = rng_below(&s->serve, 6);
    if (i < 3 && sim_has(s, fates[i].needs))
        return fates[i].fate;
    return i == 3 && sim_has(s, SIM_CRASH) ? FATE_CRASH : FATE_VERIFY;
}

static void fate_at_close(struct sim *s, const struct group *g)
{
    struct sim_server *v = &s->server;
    if (v->fate == FATE_NONE && rng_chance(&s->serve, FATE_PER_MILLE)) {
        v->fate = fate_draw(s);
        v->fate_group = g->number;
        v->fate_armed = false;
        if (v->fate == FATE_VERIFY) {
            buf_clear(&v->checkpoint_next);
            anneal_save(v->engine, &v->checkpoint_next);
            v->checkpoint_next_seq = g->last_seq;
            v->checkpoint_next_group = g->number;
        }
    }
    if (v->fate != FATE_NONE || s->opt.verify)
        sim_server_image(s, g->number);
}

static void checkpoint_adopt(struct sim *s)
{
    struct sim_server *v = &s->server;
    struct buf old = v->checkpoint;
    uint32_t dropped;
    v->checkpoint = v->checkpoint_next;
    v->checkpoint_seq = v->checkpoint_next_seq;
    v->checkpoint_next = old;
    v->checkpoint_next_group = 0;
    /* Retention: what lies before the checkpoint is not needed to replay from it. */
    (void)store_trim(v->store, ROWS_JOURNAL, 0, v->checkpoint_seq, 0, &dropped, NULL);
    (void)store_trim(v->store, ROWS_PLAN, 0, v->checkpoint_seq, 0, &dropped, NULL);
}

static void fate_at_durable(struct sim *s, uint64_t number)
{
    struct sim_server *v = &s->server;
    if (s->opt.verify)
        sim_server_verify(s);
    if (v->fate == FATE_NONE || v->fate_armed || number < v->fate_group)
        return;
    v->fate_armed = true;
    v->fate_steps = rng_below(&s->serve, 9);
    switch (v->fate) {
    case FATE_VERIFY:
        sim_server_verify(s);
        if (v->checkpoint_next_group == number)
            checkpoint_adopt(s);
        v->fate = FATE_NONE;
        break;
    case FATE_REFUSE:
    case FATE_UNKNOWN:
        store_inject(v->store, rng_from(&s->serve, 1, 4), ERR_IO, v->fate == FATE_UNKNOWN);
        break;
    case FATE_CRASH:
    case FATE_NONE: break;
    }
}

void sim_server_micro_step(struct sim *s)
{
    struct sim_server *v = &s->server;
    if (v->fate != FATE_CRASH || !v->fate_armed || v->fate_steps-- > 0)
        return;
    v->fate = FATE_NONE;
    s->report->faults[SIM_CRASH]++;
    sim_server_crash(s);
}

/* ---- a group's way ---- */

static void list_hand_over(struct sim_dispatches *from, struct sim_dispatches *to)
{
    struct sim_dispatches used = *to;
    *to = *from;
    *from = used;
    vec_clear(from);
}

void sim_server_close(struct sim *s)
{
    struct sim_server *v = &s->server;
    if (v->group) { /* one is on its way: this one closes after it */
        v->close_wanted = true;
        return;
    }
    v->closing = v->close_wanted = false;
    v->group = commit_close(v->commit);
    if (!v->group)
        return;
    v->slice = 0;
    v->close_at = rng_from(&s->serve, 1, 8);
    list_hand_over(&v->sends_open, &v->sends_closed);
    list_hand_over(&v->stops_open, &v->stops_closed);
    s->report->groups++;
    sim_desire_closed(s, v->group->number);
    fate_at_close(s, v->group);
    sim_trace_step(s, "close group", v->group->number);
    sim_after(s, rng_from(&s->serve, 0, 4),
              (struct agenda_item){.kind = AGENDA_SLICE, .life = v->life});
    sim_server_micro_step(s);
}

/* The book of what is stored, as a worker may rely on it. */
static void book_durable(struct sim *s, const struct row_op *ops, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (ops[i].table != ROWS_ATTEMPT)
            continue;
        const struct row_attempt *r = ops[i].row;
        struct sim_task *t = &s->tasks.at[r->task];
        if (r->number > t->durable_attempt) {
            t->durable_attempt = r->number;
            t->durable_ask = r->asks;
        } else if (r->number == t->durable_attempt && r->asks > t->durable_ask) {
            t->durable_ask = r->asks;
        }
    }
}

static int read_group_no(void *arg, enum row_table t, const void *row, struct err *e)
{
    (void)t;
    (void)e;
    *(uint64_t *)arg = ((const struct row_meta *)row)->group_no;
    return 0;
}

/* The store said that it failed: the group's number tells what is true. */
static bool commit_was_refused(struct sim *s)
{
    struct sim_server *v = &s->server;
    uint64_t stored = 0;
    bool unknown = v->fate == FATE_UNKNOWN;
    s->report->faults[unknown ? SIM_UNKNOWN : SIM_REFUSE]++;
    v->fate = FATE_NONE;
    (void)store_each(v->store, ROWS_META, read_group_no, &stored, NULL);
    return stored != v->group->number;
}

static void reload(struct sim *s)
{
    sim_trace_step(s, "commit refused, memory dropped at group", s->server.group->number);
    memory_drop(&s->server);
    s->server.up = false;
    sim_server_start(s);
}

void sim_server_slice(struct sim *s)
{
    struct sim_server *v = &s->server;
    const struct group *g = v->group;
    size_t from = v->slice ? g->slices.at[v->slice - 1] : 0, n = g->slices.at[v->slice] - from;
    struct err e;
    bool expected = v->fate == FATE_REFUSE || v->fate == FATE_UNKNOWN;
    int r = store_commit(v->store, g->ops.at + from, n, &e);
    if (r < 0 && !expected) {
        sim_fail(s, "the store refused group %" PRIu64 ": %s", g->number, e.text);
        return;
    }
    if (r < 0 && commit_was_refused(s)) {
        reload(s);
        return;
    }
    book_durable(s, g->ops.at + from, n);
    v->slice++;
    s->report->slices++;
    sim_trace_step(s, v->slice < g->slices.n ? "slice of group" : "group durable", g->number);
    if (v->slice < g->slices.n) {
        sim_after(s, rng_from(&s->serve, 0, 4),
                  (struct agenda_item){.kind = AGENDA_SLICE, .life = v->life});
    } else {
        v->durable = g->number;
        commit_durable(v->commit, g->number);
        sim_desire_durable(s);
        fate_at_durable(s, g->number);
        sim_after(s, 0, (struct agenda_item){.kind = AGENDA_RELEASE, .life = v->life});
    }
    sim_server_micro_step(s);
}

static bool same_dispatches(const struct dispatch *x, size_t nx, const struct dispatch *y,
                            size_t ny)
{
    if (nx != ny)
        return false;
    for (size_t i = 0; i < nx; i++)
        if (x[i].task != y[i].task || x[i].attempt != y[i].attempt || x[i].asks != y[i].asks)
            return false;
    return true;
}

static void release_acks(struct sim *s)
{
    struct sim_server *v = &s->server;
    size_t kept = 0;
    for (size_t i = 0; i < v->acks.n; i++) {
        const struct sim_ack *k = &v->acks.at[i];
        if (k->group > v->durable) {
            v->acks.at[kept++] = *k;
            continue;
        }
        sim_net_send(s, (struct agenda_item){.kind = AGENDA_ACK,
                                             .who = k->worker,
                                             .life = s->workers[k->worker].life,
                                             .task = k->task,
                                             .attempt = k->attempt,
                                             .ask = k->ask});
    }
    v->acks.n = kept;
}

void sim_server_release(struct sim *s)
{
    struct sim_server *v = &s->server;
    struct group *g = v->group;
    if (!same_dispatches(g->sends.at, g->sends.n, v->sends_closed.at, v->sends_closed.n) ||
        !same_dispatches(g->stops.at, g->stops.n, v->stops_closed.at, v->stops_closed.n))
        sim_fail(s,
                 "invariant 11: group %" PRIu64 " sends %zu and stops %zu, the engine asked for "
                 "%zu and %zu",
                 g->number, g->sends.n, g->stops.n, v->sends_closed.n, v->stops_closed.n);
    for (size_t i = 0; i < g->sends.n + g->stops.n; i++) {
        bool send = i < g->sends.n;
        const struct dispatch *d = send ? &g->sends.at[i] : &g->stops.at[i - g->sends.n];
        uint32_t worker = sim_worker_choose(s, d->task);
        if (send)
            lease_hold(v->lease,
                       &(struct lease_given){.task = d->task,
                                             .attempt = d->attempt,
                                             .worker = SIM_LEASE_WORKER,
                                             .lease_ms = LEASE_MS},
                       s->now_ms);
        if (send && d->behind) { /* it travels with the one before it */
            struct sim_task *before = &s->tasks.at[d->behind];
            before->next = d->task;
            before->next_attempt = d->attempt;
            before->next_of = g->sends.at[i - 1].attempt;
            continue;
        }
        for (uint32_t w = 0; w < s->n_workers; w++) /* a stop goes to whoever may hold it */
            if (send ? w == worker : s->workers[w].up)
                sim_net_send(s, (struct agenda_item){.kind = send ? AGENDA_TASK : AGENDA_STOP,
                                                     .who = w,
                                                     .task = d->task,
                                                     .attempt = d->attempt,
                                                     .ask = d->asks});
    }
    release_acks(s);
    sim_trace_step(s, "group released", g->number);
    group_free(g);
    v->group = NULL;
    vec_clear(&v->sends_closed);
    vec_clear(&v->stops_closed);
    if (v->close_wanted || commit_must_wait(v->commit))
        sim_server_close(s);
    sim_server_micro_step(s);
}

/* ---- death and return ---- */

void sim_server_crash(struct sim *s)
{
    struct sim_server *v = &s->server;
    if (!v->up)
        return;
    sim_trace_step(s, "server crash after group", v->durable);
    memory_drop(v);
    v->up = false;
    if (rng_chance(&s->serve, 400)) /* its workers were threads of it */
        for (uint32_t w = 0; w < s->n_workers; w++)
            sim_worker_crash(s, w, rng_from(&s->serve, 100, 3000));
    sim_after(s, rng_from(&s->serve, 10, 20000), (struct agenda_item){.kind = AGENDA_SERVER_UP});
}

/* Is this engine what memory was when that group was closed? */
static void compare(struct sim *s, const char *what, struct anneal *a, const struct sim_image *m)
{
    struct buf *rows = &s->scratch;
    SCOPED_BUF(words);
    struct err e;
    buf_clear(rows);
    anneal_save(a, rows);
    if (!sim_diff_none(buf_str(&m->rows), buf_str(rows))) {
        sim_diff_write(&words, buf_str(&m->rows), buf_str(rows));
        sim_fail(s, "invariant 7: what was %s up to group %" PRIu64 " differs from memory: %s",
                 what, m->group, words.data);
    } else if (anneal_check(a, &e) < 0) {
        sim_fail(s, "%s up to group %" PRIu64 ": %s", what, m->group, e.text);
    }
}

static void compare_stored(struct sim *s, struct anneal *a, const struct row_meta *meta,
                           struct store *store, bool replay)
{
    struct sim_server *v = &s->server;
    const struct sim_image *m = &v->images[meta->group_no % SIM_IMAGES_KEPT];
    struct anneal *replayed = NULL;
    struct err e;
    if (m->group != meta->group_no) {
        sim_fail(s, "group %" PRIu64 " was read back, its image was not taken", meta->group_no);
        return;
    }
    s->report->restores++;
    compare(s, "read back", a, m);
    if (!replay)
        return;
    s->report->replays++;
    if (restore_replay_engine(store, buf_str(&v->checkpoint), v->checkpoint_seq, &replayed, &e) < 0)
        sim_fail(s, "invariant 7: replay up to group %" PRIu64 ": %s", m->group, e.text);
    else
        compare(s, "replayed", replayed, m);
    anneal_free(replayed);
}

void sim_server_verify(struct sim *s)
{
    struct store *store = store_mem_reopen(s->server.store);
    struct anneal *a = NULL;
    struct commit *c = NULL;
    struct row_meta meta;
    struct err e;
    if (restore_engine(store, &a, &c, &meta, &e) < 0)
        sim_fail(s, "invariant 7: restore: %s", e.text);
    else {
        compare_stored(s, a, &meta, store, true);
        sim_desire_verify(s, store, meta.group_no);
    }
    commit_free(c);
    anneal_free(a);
    store_close(store);
}

/* ---- what it is started with ---- */

/* Whoever starts it again may have changed its settings meanwhile. */
static void settings_draw(struct sim *s)
{
    struct rng *r = &s->start;
    if (!sim_has(s, SIM_SETTINGS) || !rng_chance(r, 400))
        return;
    s->report->faults[SIM_SETTINGS]++;
    s->settings.dead_after_ms = rng_from(r, 2000, 40000);
    s->settings.probe_count = rng_from(r, 1, 6);
    s->settings.suspect_percent = rng_from(r, 5, 60);
    s->settings.suspect_min = rng_from(r, 2, 8);
    s->settings.timeout_ms = rng_from(r, 60000, 240000);
    s->settings.stop_grace_ms = rng_from(r, 1000, 10000);
    s->settings.cone_large = rng_chance(r, 500) ? rng_from(r, 2, 6) : 5000;
}

void sim_server_settings(struct sim *s)
{
    struct event ev = {.kind = EVENT_SETTINGS_SET, .settings = s->settings};
    struct engine_settings told;
    if (anneal_settings(s->server.engine, &told) && engine_settings_equal(&told, &s->settings))
        return;
    if (sim_server_feed(s, &ev, NULL) < 0)
        sim_fail(s, "the settings of a start were refused");
}

/* What was not stored has not happened: the book forgets it. */
static void book_rewind(struct sim *s)
{
    struct sim_server *v = &s->server;
    s->tasks.n = anneal_task_end(v->engine);
    s->defs.n = anneal_def_end(v->engine);
    s->marks.n = s->seats.n = anneal_noderole_end(v->engine);
    for (size_t i = 1; i < s->tasks.n; i++) {
        struct sim_task *t = &s->tasks.at[i];
        struct task_view now;
        t->turn_mark = s->report->starts;
        if (anneal_task(v->engine, (uint32_t)i, &now))
            t->def = now.def;
        if (t->once_group > v->durable) {
            t->once_open = true;
            t->once_group = 0;
        }
    }
}

void sim_server_start(struct sim *s)
{
    struct sim_server *v = &s->server;
    struct store *store = store_mem_reopen(v->store);
    struct row_meta meta;
    struct err e;
    store_close(v->store);
    v->store = store;
    if (restore_engine(store, &v->engine, &v->commit, &meta, &e) < 0) {
        sim_fail(s, "invariant 7: restart: %s", e.text);
        return;
    }
    commit_set_slice(v->commit, s->slice_rows);
    v->up = true;
    v->durable = meta.group_no;
    v->skew_ms = s->now_ms - meta.now_ms;
    v->lease = lease_new();
    v->reported = 0;
    v->fate = FATE_NONE;
    v->checkpoint_next_group = 0;
    sim_trace_step(s, "server starts from group", meta.group_no);
    compare_stored(s, v->engine, &meta, store, rng_chance(&s->serve, 500));
    sim_hooks_load(s);
    book_rewind(s);
    sim_check_restored(s);
    sim_desire_load(s, meta.group_no);
    anneal_each_open_attempt(v->engine, lease_open_attempt, s);
    sim_server_image(s, meta.group_no + 1);
    sim_server_close(s); /* what had to be repaired is written first */
    settings_draw(s);
    sim_server_settings(s);
}
