/* anneal_worker.c - the worker as a program of its own
 *
 * Joins once, with a token; works from then on for the server whose credential lies in its state
 * directory.  SIGTERM drains it: nothing new is taken, what runs on this machine gets its grace,
 * what runs on nodes goes on there, what is still to be said is said; a second SIGTERM ends it at
 * once.  What it cannot say it keeps on disk for its next start.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/log.h"
#include "beside.h"
#include "queue/remote.h"
#include "sys/fs.h"
#include "sys/loop.h"
#include "sys/worker_opts.h"
#include "worker/worker.h"
#include "worker_identity.h"

enum { STOP_GRACE_MS = 5000, SAY_MOST_MS = 10000, LOOK_MS = 50, TOKEN_MAX = 4096 };

struct program {
    struct worker_opts opts;
    struct worker_identity who;
    struct loop *loop;
    struct queue *queue;
    struct worker *worker;
    struct loop_timer *look;
    uint64_t drain_until; /* 0: it works */
    bool stopping, stopped;
    struct err refused; /* code != 0: the server does not know us */
    char *run_dir, *spool_dir, *runner, *plugins, *labels;
    int lock_fd;
};

static int complain(const struct err *e)
{
    char text[1400];
    fprintf(stderr, "anneal-worker: %s\n", err_format(e, text, sizeof text));
    return err_exit(e->code);
}

/* --- the end --- */

static void on_said(void *arg)
{
    struct program *p = arg;
    loop_stop(p->loop);
}

static void on_stopped(void *arg)
{
    struct program *p = arg;
    p->stopped = true;
    queue_remote_drain(p->queue, loop_now_ms(p->loop) + SAY_MOST_MS, on_said, p);
}

static void stop(struct program *p)
{
    if (p->stopping)
        return;
    p->stopping = true;
    loop_timer_stop(p->look);
    worker_stop(p->worker, STOP_GRACE_MS, on_stopped, p);
}

static void look_if_idle(void *arg)
{
    struct program *p = arg;
    uint64_t now = loop_now_ms(p->loop);
    if (worker_is_idle(p->worker) || now >= p->drain_until)
        stop(p);
    else
        loop_timer_at(p->look, now + LOOK_MS);
}

static void on_signal(void *arg)
{
    struct program *p = arg;
    if (p->drain_until) { /* the second one is meant: what is kept on disk stays there */
        log_line(LOG_WARN, "worker.ended", LOGT("why", "a second signal"));
        _exit(128 + SIGTERM);
    }
    p->drain_until = loop_now_ms(p->loop) + p->opts.grace + 1;
    log_line(LOG_INFO, "worker.draining", LOGI("grace_ms", p->opts.grace));
    worker_drain(p->worker);
    loop_timer_at(p->look, loop_now_ms(p->loop));
}

static void on_news(void *arg, enum queue_news what, const struct err *e)
{
    struct program *p = arg;
    switch (what) {
    case QUEUE_CONNECTED:
        log_line(LOG_INFO, "server.connected", LOGT("server", p->who.server));
        break;
    case QUEUE_LOST: log_err(LOG_WARN, "server.lost", e); break;
    case QUEUE_UNKEPT: log_err(LOG_ERROR, "spool", e); break;
    case QUEUE_UNWELCOME: log_err(LOG_ERROR, "message.refused", e); break;
    case QUEUE_REFUSED:
        log_err(LOG_ERROR, "server.refused", e);
        p->refused = *e;
        if (p->worker)
            stop(p);
        break;
    }
}

/* --- the start --- */

static int start_queue(struct program *p, struct err *e)
{
    struct queue_remote_options o = {.http = {.base = p->who.server,
                                              .cacert = p->who.ca,
                                              .any_name = p->who.own_ca,
                                              .token = {p->who.credential},
                                              .agent = "anneal-worker/" ANNEAL_VERSION},
                                     .name = p->who.name,
                                     .dir = p->spool_dir,
                                     .memory_bytes = p->opts.spool_memory,
                                     .spool_bytes = p->opts.spool_limit,
                                     .words = worker_words(),
                                     .news = on_news,
                                     .arg = p};
    return queue_new_remote(&o, &p->queue, e);
}

static int start_worker(struct program *p, struct err *e)
{
    const struct worker_opts *o = &p->opts;
    struct worker_options wo = {.name = p->who.name,
                                .labels = p->labels,
                                .capacity = (uint32_t)o->capacity,
                                .run_dir = p->run_dir,
                                .plugin_path = o->plugin_path[0] ? o->plugin_path : p->plugins,
                                .runner = p->runner,
                                .max_output_bytes = o->output_limit,
                                .beat_ms = o->beat,
                                .nodes_by_ssh = strcmp(o->node_access, "ssh") == 0,
                                .ssh_user = o->ssh_user,
                                .ssh_identity = o->ssh_identity,
                                .ssh_transport = o->ssh_transport,
                                .ssh_kex = o->ssh_kex,
                                .ssh_port = (uint16_t)o->ssh_port,
                                .ssh_keepalive_ms = (uint32_t)o->ssh_keepalive,
                                .ssh_idle_ms = (uint32_t)o->ssh_idle,
                                .ssh_pinned = strcmp(o->ssh_trust, "pinned") == 0,
                                .ssh_max_connections = (uint32_t)o->ssh_connections};
    p->worker = worker_new(p->loop, p->queue, &wo, e);
    return p->worker ? 0 : -(int)e->code;
}

static int start(struct program *p, struct err *e)
{
    p->run_dir = fs_join(p->opts.state_dir, "run");
    p->spool_dir = fs_join(p->opts.state_dir, "spool");
    p->runner = beside_runner();
    p->plugins = beside_plugins();
    p->labels = worker_labels_json(p->opts.labels, e);
    int r = p->labels ? worker_identity_load(&p->who, p->opts.state_dir, e) : -(int)e->code;
    if (r >= 0)
        r = start_queue(p, e);
    return r < 0 ? r : start_worker(p, e);
}

static int work(struct program *p)
{
    struct err e = {0};
    beside_descriptors();
    p->loop = loop_new();
    p->look = loop_timer_new(p->loop, look_if_idle, p);
    int r = start(p, &e);
    if (r >= 0) {
        struct loop_signal *term = loop_signal_new(p->loop, SIGTERM, on_signal, p);
        struct loop_signal *intr = loop_signal_new(p->loop, SIGINT, on_signal, p);
        log_line(LOG_INFO, "worker.ready", LOGT("name", p->who.name), LOGT("server", p->who.server),
                 LOGI("capacity", p->opts.capacity), LOGT("version", ANNEAL_VERSION));
        loop_run(p->loop);
        loop_signal_free(term);
        loop_signal_free(intr);
        log_line(LOG_INFO, "worker.stopped", LOGT("name", p->who.name),
                 LOGT("said", queue_remote_empty(p->queue) ? "everything" : "the rest is kept"));
    }
    worker_free(p->worker);
    queue_free(p->queue);
    loop_timer_free(p->look);
    loop_free(p->loop);
    worker_identity_done(&p->who);
    free(p->run_dir);
    free(p->spool_dir);
    free(p->runner);
    free(p->plugins);
    free(p->labels);
    if (r >= 0 && p->refused.code != ERR_NONE) {
        e = p->refused;
        r = -(int)e.code;
    }
    return r < 0 ? complain(&e) : 0;
}

/* --- the command line --- */

struct wish {
    enum worker_arg what; /* WORKER_ARG_COUNT: work */
    const char *token, *token_file;
    bool replace, join_only;
};

static int token_read(const char *file, struct buf *b, struct err *e)
{
    char chunk[TOKEN_MAX];
    if (strcmp(file, "-") != 0)
        return fs_read(file, TOKEN_MAX, b, e);
    size_t n = fread(chunk, 1, sizeof chunk, stdin);
    buf_put(b, chunk, n);
    explicit_bzero(chunk, sizeof chunk);
    return 0;
}

static int join(struct program *p, const struct wish *w, struct err *e)
{
    SCOPED_BUF(b);
    if (!w->token && !w->token_file)
        return 0;
    int r = w->token ? 0 : token_read(w->token_file, &b, e);
    if (r < 0)
        return r;
    if (w->token)
        buf_puts(&b, w->token);
    if (!b.data)
        return err_set(e, ERR_INVALID, "there is no token in %s", w->token_file);
    b.data[strcspn(b.data, " \t\r\n")] = '\0';
    struct worker_joining j = {
        .token = b.data, .name = p->opts.name, .labels = p->opts.labels, .replace = w->replace};
    r = worker_identity_join(&j, p->opts.state_dir, e);
    explicit_bzero(b.data, b.len);
    if (r >= 0)
        log_line(LOG_INFO, "worker.joined", LOGT("state_dir", p->opts.state_dir));
    return r;
}

/* The directory is ours alone from here on. */
static int take_state(struct program *p, struct err *e)
{
    int r = fs_mkdirs(p->opts.state_dir, 0700, e);
    if (r < 0)
        return r;
    char *lock = fs_join(p->opts.state_dir, "state.lock");
    p->lock_fd = fs_lock(lock, e);
    free(lock);
    return p->lock_fd < 0 ? p->lock_fd : 0;
}

static int serve(struct program *p, const struct wish *w)
{
    struct err e = {0};
    beside_log_level(p->opts.log_level);
    int r = take_state(p, &e);
    if (r >= 0)
        r = join(p, w, &e);
    int code = r < 0 ? complain(&e) : w->join_only ? 0 : work(p);
    if (p->lock_fd >= 0)
        close(p->lock_fd);
    return code;
}

static int set_key(struct program *p, const char *key, const char *value, struct err *e)
{
    SCOPED_BUF(b);
    buf_printf(&b, "%s=%s", key, value);
    return opts_table_set(worker_opts_table(), &p->opts, b.data, e);
}

static int arg_take(struct program *p, enum worker_arg arg, const char *value, struct wish *w,
                    struct err *e)
{
    switch (arg) {
    case WORKER_ARG_CONFIG: return opts_table_load(worker_opts_table(), &p->opts, value, e);
    case WORKER_ARG_SET: return opts_table_set(worker_opts_table(), &p->opts, value, e);
    case WORKER_ARG_STATE: return set_key(p, "state_dir", value, e);
    case WORKER_ARG_NAME: return set_key(p, "name", value, e);
    case WORKER_ARG_JOIN: w->token = value; return 0;
    case WORKER_ARG_JOIN_FILE: w->token_file = value; return 0;
    case WORKER_ARG_REPLACE: w->replace = true; return 0;
    case WORKER_ARG_JOIN_ONLY: w->join_only = true; return 0;
    case WORKER_ARG_SETTINGS:
    case WORKER_ARG_VERSION:
    case WORKER_ARG_HELP:
    case WORKER_ARG_COUNT: break;
    }
    w->what = arg;
    return 0;
}

static int args_parse(struct program *p, int argc, char **argv, struct wish *w, struct err *e)
{
    static const struct option options[] = {
#define X(id, name, value, help)                                                                   \
    {name, sizeof(value) > 1 ? required_argument : no_argument, NULL, WORKER_ARG_##id},
        WORKER_ARGS(X)
#undef X
            {0}
    };
    int r = 0, opt;
    opterr = 0; /* errors have one form here */
    while (r >= 0 && (opt = getopt_long(argc, argv, ":", options, NULL)) != -1) {
        if (opt == '?')
            r = err_set(e, ERR_INVALID, "unknown option %s", argv[optind - 1]);
        else if (opt == ':')
            r = err_set(e, ERR_INVALID, "%s needs a value", argv[optind - 1]);
        else
            r = arg_take(p, (enum worker_arg)opt, optarg, w, e);
        if (r < 0 && (opt == '?' || opt == ':'))
            err_hint(e, "`anneal-worker --help` lists the options");
        if (w->what == WORKER_ARG_HELP || w->what == WORKER_ARG_VERSION)
            return 0; /* whatever else is wrong */
    }
    if (r >= 0 && optind < argc) {
        r = err_set(e, ERR_INVALID, "\"%s\" is not understood", argv[optind]);
        err_hint(e, "`anneal-worker --help` lists the options");
    }
    if (r >= 0 && w->token && w->token_file)
        r = err_set(e, ERR_INVALID, "either --join or --join-file, not both");
    if (r >= 0 && w->join_only && !w->token && !w->token_file)
        r = err_set(e, ERR_INVALID, "--join-only needs a token: --join-file FILE");
    return r;
}

static void show_settings(const struct worker_opts *o)
{
    const struct opts_table *t = worker_opts_table();
    for (size_t k = 0; k < t->n; k++) {
        SCOPED_BUF(b);
        opts_table_show(t, o, k, &b);
        printf("%-20s %-24s # %s\n", t->infos[k].name, buf_str(&b).s, t->infos[k].help);
    }
}

static int wish_grant(struct program *p, const struct wish *w)
{
    SCOPED_BUF(b);
    switch (w->what) {
    case WORKER_ARG_HELP:
        worker_help(&b);
        fputs(b.data, stdout);
        return 0;
    case WORKER_ARG_VERSION: printf("anneal-worker %s\n", ANNEAL_VERSION); return 0;
    case WORKER_ARG_SETTINGS: show_settings(&p->opts); return 0;
    case WORKER_ARG_JOIN:
    case WORKER_ARG_JOIN_FILE:
    case WORKER_ARG_JOIN_ONLY:
    case WORKER_ARG_REPLACE:
    case WORKER_ARG_CONFIG:
    case WORKER_ARG_SET:
    case WORKER_ARG_STATE:
    case WORKER_ARG_NAME:
    case WORKER_ARG_COUNT: break;
    }
    return serve(p, w);
}

int main(int argc, char **argv)
{
    struct program p = {.lock_fd = -1};
    struct wish w = {.what = WORKER_ARG_COUNT};
    struct err e;
    worker_opts_init(&p.opts);
    int code = args_parse(&p, argc, argv, &w, &e) < 0 ? complain(&e) : wish_grant(&p, &w);
    worker_opts_done(&p.opts);
    return code;
}
