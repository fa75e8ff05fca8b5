/* server.c - opening, restoring, the clock, and the one way to change memory
 *
 * Start: open the store (it locks out a second server), restore rows, then reconcile: workers get a
 * grace to say what they hold.  From then on everything happens on the loop thread: requests and
 * results become events, events gather in a group, the group is written by the writer thread
 * (group.c), and only then do its replies, messages and published events leave.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/json.h"
#include "base/log.h"
#include "server/clusters.h"
#include "server/enlist.h"
#include "server/providers.h"
#include "server/relay.h"
#include "server/resources.h"
#include "server/deploy.h"
#include "server/forecast.h"
#include "server/pace.h"
#include "server/probing.h"
#include "server/restore.h"
#include "server/sealed.h"
#include "server/server_i.h"
#include "server/tally.h"
#include "server/tenants.h"
#include "sys/fs.h"

enum { BEAT_MS = 1000 };

uint64_t server_wall_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

uint64_t server_now(const struct server *s)
{
    return (uint64_t)((int64_t)loop_now_ms(s->loop) + s->clock_offset_ms);
}

struct commit_note server_note(const struct server_call *c, const void *fixed)
{
    return (struct commit_note){.actor = c ? c->who->name : NULL,
                                .tenant = c ? c->who->tenant : 1,
                                .wall_ms = server_wall_ms(),
                                .fixed = fixed};
}

struct commit_note server_note_task(const struct server *s, uint32_t task)
{
    return (struct commit_note){.tenant = anneal_task_tenant(s->engine, task),
                                .wall_ms = server_wall_ms()};
}

int server_writable(struct server *s, struct err *e)
{
    if (s->degraded.code != ERR_NONE) {
        *e = s->degraded;
        return -(int)e->code;
    }
    if (commit_must_wait(s->commit)) {
        err_set(e, ERR_BUSY, "a large loss is being written");
        return err_hint(e, "it takes a second at most: try again");
    }
    return 0;
}

static void forget_removed(struct server *s, const struct effects *fx)
{
    for (size_t i = 0; i < fx->changes.n; i++)
        if (fx->changes.at[i].table == ROWS_NODEROLE && fx->changes.at[i].to == NODEROLE_REMOVED)
            inventory_drop_noderole(&s->inv, fx->changes.at[i].id);
}

/* Needs that count from now on are seen from now on. */
static void tell_gained(struct server *s, const struct effects *fx)
{
    VEC(uint32_t) ids = {0};
    for (size_t i = 0; i < fx->gained.n; i++)
        vec_push(&ids, fx->gained.at[i]);
    if (ids.n > 0)
        data_tell(s, ids.at, ids.n);
    vec_done(&ids);
}

int server_apply(struct server *s, struct event *ev, const struct commit_note *note,
                 const struct effects **ret_fx, struct err *e)
{
    int r = server_writable(s, e);
    if (r < 0)
        return r;
    const struct effects *fx;
    hook_settle(s); /* of the events before, now that all about them is known */
    ev->at_ms = server_now(s);
    r = commit_event(s->commit, ev, note, &fx, e);
    if (r >= 0)
        forecast_follow(s, fx);
    if (r >= 0 && fx->stalled) {
        struct event stalled = {.kind = EVENT_STALLED, .id = fx->stalled};
        struct commit_note by_us = server_note(NULL, NULL);
        log_line(LOG_WARN, "operation.stalled", LOGI("operation", fx->stalled));
        commit_inventory(s->commit, &stalled, &by_us);
    }
    if (r >= 0) {
        hook_collect(s, ev, fx);
        forget_removed(s, fx);
        deploy_settle(s, fx);
    }
    if (r >= 0 && ret_fx)
        *ret_fx = fx;
    if (r >= 0)
        tell_gained(s, fx);
    if (r >= 0 && !ret_fx && ev->kind != EVENT_NODE_GONE)
        node_leave_settle(s);
    server_touch(s);
    return r;
}

static void timer_due(void *arg)
{
    struct server *s = arg;
    struct event ev = {.kind = EVENT_TICK};
    struct commit_note note = server_note(NULL, NULL);
    struct err e;
    if (server_apply(s, &ev, &note, NULL, &e) < 0)
        loop_timer_at(s->timer, loop_now_ms(s->loop) + 50); /* the writer is busy: a moment later */
}

void server_touch(struct server *s)
{
    uint64_t next = anneal_next_timer(s->engine);
    if (next == UINT64_MAX)
        loop_timer_stop(s->timer);
    else
        loop_timer_at(s->timer, (uint64_t)((int64_t)next - s->clock_offset_ms));
}

uint64_t server_pending_group(struct server *s)
{
    if (commit_has_work(s->commit))
        return commit_open_group(s->commit);
    return s->flying ? s->flying->number : 0;
}

void server_when_durable(struct server *s, uint64_t group, server_durable_f *fn, void *arg)
{
    /* A request that changed nothing names an open group that may never close. */
    if (group == commit_open_group(s->commit) && !commit_has_work(s->commit))
        group = s->flying ? s->flying->number : 0;
    if (group <= s->durable_group) {
        fn(arg, NULL);
        return;
    }
    vec_push(&s->waiters, ((struct durable_waiter){group, fn, arg}));
}

void server_when_durable_cancel(struct server *s, server_durable_f *fn, void *arg)
{
    for (size_t i = 0; i < s->waiters.n; i++)
        if (s->waiters.at[i].fn == fn && s->waiters.at[i].arg == arg)
            s->waiters.at[i].fn = NULL;
}

bool server_is_ready(struct server *s)
{
    return s->degraded.code == ERR_NONE && s->engine && !s->reloading;
}

/* ---- the first start ---- */

static int bootstrap(struct server *s, struct err *e)
{
    struct row_tenant tenant = {.name = str_of("default")};
    struct row_operation standing = {.kind = str_of("standing"),
                                     .title = str_of("what runs without a request"),
                                     .actor = str_of("system"),
                                     .created_ms = server_wall_ms()};
    struct row_deployment root = {.id = 1,
                                  .tenant = 1,
                                  .realm = 1,
                                  .name = str_of("system"),
                                  .created_ms = server_wall_ms(),
                                  .rev = 1,
                                  .body = str_of("{\"description\":\"the root deployment\"}")};
    struct event add_tenant = {.kind = EVENT_TENANT_ADD, .id = 1};
    struct event add_standing = {
        .kind = EVENT_OPERATION_ADD, .id = OPERATION_STANDING, .n = 1, .flag = CLASS_BACKGROUND};
    struct commit_note note = server_note(NULL, &tenant);
    int r = server_apply(s, &add_tenant, &note, NULL, e);
    if (r < 0)
        return r;
    tenant_name_add(s, TENANT_FIRST, tenant.name);
    note.fixed = &standing;
    if ((r = server_apply(s, &add_standing, &note, NULL, e)) < 0)
        return r;
    standing.id = OPERATION_STANDING;
    inventory_add_operation(&s->inv, &standing);
    commit_row(s->commit, ROWS_DEPLOYMENT, ROW_INSERT, &root);
    inventory_add_deployment(&s->inv, &root);
    commit_meta(s->commit)->next_deployment = 2;
    commit_meta(s->commit)->next_token = 1;
    return token_make_admin(s, e);
}

/* ---- restore, reconcile ---- */

static int load_catalog_row(void *arg, enum row_table t, const void *row, struct err *e)
{
    struct server *s = arg;
    const struct row_catalog *r = row;
    (void)t;
    int rc = catalog_from_row(r, &s->catalog, e);
    if (rc < 0)
        return rc;
    s->catalog_origin = xstrndup(r->origin.s, r->origin.n);
    s->catalog_loaded_ms = r->loaded_ms;
    return 0;
}

static void forget(struct server *s)
{
    data_free(s);
    commit_free(s->commit);
    anneal_free(s->engine);
    inventory_done(&s->inv);
    pace_free(s->pace);
    tally_free(s->tally);
    desire_free(s->desire);
    hooks_free(s->hooks);
    overlays_free(s->overlays);
    lease_free(s->lease);
    catalog_forget(s);
    free(s->catalog_origin);
    inbox_forget(s);
    s->commit = NULL;
    clusters_free(s->clusters);
    s->clusters = NULL;
    providers_free(s->providers);
    s->providers = NULL;
    enlist_free(s->enlist);
    s->enlist = NULL;
    resources_free(s->resources);
    s->resources = NULL;
    deploys_free(s->deploys);
    s->deploys = NULL;
    s->engine = NULL;
    s->pace = NULL;
    s->tally = NULL;
    s->desire = NULL;
    s->hooks = NULL;
    s->overlays = NULL;
    s->lease = NULL;
    s->catalog_origin = NULL;
    workers_acks_forget(s);
    run_notes_done(s);
    vec_done(&s->run_clocks);
    pulse_free(s->pulse);
    s->pulse = NULL;
    tenants_done(s);
}

static void note_row(void *arg, enum row_table t, enum row_verb verb, const void *row)
{
    struct server *s = arg;
    commit_row(s->commit, t, verb, row);
}

static void overlay_row(void *arg, enum row_verb verb, const struct row_overlay *row)
{
    note_row(arg, ROWS_OVERLAY, verb, row);
}

/* Memory from rows; arms nothing. */
int server_restore(struct server *s, struct err *e)
{
    struct row_meta meta;
    forget(s);
    s->data = data_new();
    s->hooks = hooks_new(s);
    int r = restore_engine(s->store, &s->engine, &s->commit, &meta, e);
    if (r < 0)
        return r;
    if ((r = inventory_load(&s->inv, s->store, e)) < 0)
        return r;
    for (uint32_t id = 1; id < s->inv.noderoles.n; id++) { /* put aside as gone */
        struct noderole_view v;
        if (s->inv.noderoles.at[id].role && !anneal_noderole(s->engine, id, &v))
            inventory_drop_noderole(&s->inv, id);
    }
    s->tally = tally_new(s->engine);
    s->pace = pace_new();
    if ((r = pace_load(s->pace, s->store, e)) < 0)
        return r;
    node_machines_load(s);
    node_leave_load(s);
    s->desire = desire_new(note_row, s);
    if ((r = desire_load(s->desire, s->store, e)) < 0)
        return r;
    if ((r = hook_stores_load(hook_stores_of(s), s->store, e)) < 0)
        return r;
    s->overlays = overlays_new(overlay_row, s);
    if ((r = overlays_load(s->overlays, s->store, e)) < 0)
        return r;
    s->clusters = clusters_new();
    if ((r = clusters_load(s, e)) < 0)
        return r;
    s->providers = providers_new(s->opts->plugin_path);
    if ((r = providers_load(s, e)) < 0)
        return r;
    s->enlist = enlist_new();
    if ((r = enlist_load(s, e)) < 0)
        return r;
    if ((r = resources_load(s, e)) < 0)
        return r;
    if ((r = tenants_load(s, e)) < 0)
        return r;
    s->deploys = deploys_new();
    if ((r = deploys_load(s, e)) < 0)
        return r;
    if (meta.catalog && (r = store_range(s->store, ROWS_CATALOG, meta.catalog, meta.catalog, false,
                                         1, load_catalog_row, s, e)) < 0)
        return r;
    s->durable_group = meta.group_no;
    s->run_no = meta.run_no;
    /* Nodes may have heard of attempts that this history knows nothing of: of one that a backup is
     * older than, or of a store that was here before. */
    if (meta.fence || !s->fence)
        s->fence = meta.fence ? meta.fence : server_wall_ms() / 1000;
    /* Engine time goes on where it stopped: while nobody looked, no deadline passed. */
    s->clock_offset_ms = (int64_t)(meta.now_ms ? meta.now_ms : 1) - (int64_t)loop_now_ms(s->loop);
    s->ring_first = meta.journal_seq + 1;
    s->ring_last = meta.journal_seq;
    return store_checkpoint_find(s->store, meta.journal_seq, &s->checkpoint_seq, e);
}

void server_reconcile(struct server *s)
{
    dispatch_reconcile(s);
    probing_load(s);
    server_touch(s);
}

static int start_run(struct server *s, struct err *e)
{
    struct event started = {.kind = EVENT_SERVER, .n = (uint32_t)(s->run_no + 1)};
    struct event policy = {.kind = EVENT_POLICY_SET,
                           .flag = strcmp(s->opts->on_error, "freeze-node") == 0};
    struct commit_note note = server_note(NULL, NULL);
    commit_meta(s->commit)->run_no = ++s->run_no;
    commit_meta(s->commit)->fence = s->fence;
    int r = engine_opts_tell(s, e);
    if (r >= 0 && s->durable_group == 0)
        r = bootstrap(s, e);
    if (r >= 0) {
        commit_inventory(s->commit, &started, &note);
        r = server_apply(s, &policy, &note, NULL, e);
    }
    if (r >= 0)
        workers_capacity(s); /* nobody has said HELLO yet */
    return r;
}

static int open_files(struct server *s, struct err *e)
{
    struct store_options writer = {.path = s->db_path};
    struct store_options reader = {.path = s->db_path, .read_only = true};
    int r = fs_mkdirs(s->data_dir, 0700, e);
    if (r >= 0)
        r = backup_unfinished(s->data_dir, e);
    if (r >= 0)
        r = fs_mkdirs(s->log_dir, 0700, e);
    if (r >= 0)
        r = store_open(&writer, &s->store, e);
    if (r >= 0)
        r = store_open(&reader, &s->reader, e);
    return r;
}

/* Sooner than when the first task needs a password. */
static int sealed_open(struct server *s, struct err *e)
{
    struct sealed_count n;
    int r = sealed_check(s->store, s->data_dir, &n, e);
    if (r >= 0 && n.shut)
        log_line(LOG_ERROR, "sealed.shut", LOGI("count", n.shut), LOGT("one", n.example),
                 LOGT("hint", "give their values again"));
    return r;
}

static void group_pump_call(void *arg)
{
    group_pump(arg);
}

int server_new(const struct server_options *o, struct server **ret_s, struct err *e)
{
    struct server *s = xcalloc(1, sizeof *s);
    s->loop = o->loop;
    s->queue = o->queue;
    s->opts = o->opts;
    s->data_dir = xstrdup(o->opts->data_dir);
    s->db_path = fs_join(s->data_dir, "anneal.db");
    s->log_dir = fs_join(s->data_dir, "logs");
    if (o->fingerprint && *o->fingerprint) {
        s->fingerprint = xstrdup(o->fingerprint);
        s->ca = o->ca ? xstrdup(o->ca) : NULL;
        s->own_ca = o->own_ca;
    }
    s->relay = relay_new(s);
    s->ring_cap = o->opts->event_ring;
    s->ring = xcalloc(s->ring_cap, sizeof *s->ring);
    s->started_ms = server_wall_ms();
    s->timer = loop_timer_new(s->loop, timer_due, s);
    s->beat = loop_timer_new(s->loop, dispatch_beat, s);
    s->writer = pool_new(s->loop, 1, "anneal-writer");
    s->background = pool_new(s->loop, 1, "anneal-back");
    int r = node_name_pattern_check(s->opts->node_pattern, e);
    if (r >= 0)
        r = catalog_builtin(&s->builtin, e);
    if (r >= 0)
        r = open_files(s, e);
    if (r >= 0)
        r = server_restore(s, e);
    if (r >= 0)
        r = sealed_open(s, e);
    if (r >= 0 && s->queue) {
        workers_expect(s, "embedded");
        r = workers_attach(s, "embedded", s->queue, e);
    }
    for (const struct enlisted *w = r >= 0 ? enlist_next(s, 0) : NULL; w; w = enlist_next(s, w->id))
        workers_expect(s, w->name);
    if (r >= 0) {
        server_reconcile(s);
        r = start_run(s, e);
    }
    if (r < 0) {
        server_free(s);
        return r;
    }
    loop_before_wait(s->loop, group_pump_call, s);
    loop_timer_at(s->beat, loop_now_ms(s->loop) + BEAT_MS);
    backup_open(s);
    admin_check_start(s);
    *ret_s = s;
    return 0;
}

void server_free(struct server *s)
{
    if (!s)
        return;
    relay_free(s->relay);
    s->relay = NULL;
    if (s->commit)
        group_drain(s);
    if (s->writer)
        pool_free(s->writer);
    s->backup.watch.stop = true;
    pool_free(s->background);
    backup_job_done(&s->backup);
    workers_done(s);
    loop_before_wait_off(s->loop, group_pump_call, s);
    if (s->timer)
        loop_timer_free(s->timer);
    if (s->beat)
        loop_timer_free(s->beat);
    forget(s);
    store_close(s->reader);
    store_close(s->store);
    eventring_done(s);
    catalog_unref(s->builtin);
    strmap_done(&s->node_numbers);
    vec_done(&s->leaving);
    vec_done(&s->waiters);
    vec_done(&s->answers);
    vec_done(&s->inbox);
    vec_done(&s->event_subs);
    vec_done(&s->log_subs);
    free(s->fingerprint);
    free(s->ca);
    free(s->data_dir);
    free(s->db_path);
    free(s->log_dir);
    free(s);
}
