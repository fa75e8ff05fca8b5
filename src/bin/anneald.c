/* anneald.c - the server program: configuration, the parts, an orderly end
 *
 * The only place where server and worker meet.  With no configuration it starts a working system on
 * loopback.  SIGTERM and SIGINT end it in order: no new requests, what waits for its group is
 * answered, the worker's tasks get a grace, the last group is written.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/api.h"
#include "base/alloc.h"
#include "base/log.h"
#include "beside.h"
#include "offline.h"
#include "queue/queue.h"
#include "server/server.h"
#include "sys/daemon_args.h"
#include "sys/fs.h"
#include "sys/loop.h"
#include "sys/opts.h"
#include "tls/tls.h"
#include "worker/worker.h"

enum { STOP_GRACE_MS = 5000, QUIESCE_POLL_MS = 20, QUIESCE_MOST_MS = 5000 };

struct program {
    struct opts opts;
    struct loop *loop;
    struct queue *queue;
    struct server *server;
    struct api *api;
    struct worker_thread *worker;
    struct loop_timer *quiesce;
    uint64_t quiesce_until;
    struct tls_serving tls;
    char *run_dir, *runner, *plugins;
};

static void show_help(void)
{
    SCOPED_BUF(b);
    daemon_help(&b);
    fputs(b.data, stdout);
}

static void show_settings(const struct opts *o)
{
    for (int k = 0; k < OPTS_KEY_COUNT; k++) {
        SCOPED_BUF(b);
        opts_show(o, (enum opts_key)k, &b);
        printf("%-20s %-24s # %s\n", opts_info((enum opts_key)k)->name, buf_str(&b).s,
               opts_info((enum opts_key)k)->help);
    }
}

static void end_if_idle(void *arg)
{
    struct program *p = arg;
    if (api_is_idle(p->api) || loop_now_ms(p->loop) >= p->quiesce_until)
        loop_stop(p->loop);
    else
        loop_timer_at(p->quiesce, loop_now_ms(p->loop) + QUIESCE_POLL_MS);
}

static void on_signal(void *arg)
{
    struct program *p = arg;
    if (p->quiesce_until) { /* the second one is meant */
        loop_stop(p->loop);
        return;
    }
    log_line(LOG_INFO, "server.stopping");
    p->quiesce_until = loop_now_ms(p->loop) + QUIESCE_MOST_MS;
    api_quiesce(p->api);
    loop_timer_at(p->quiesce, loop_now_ms(p->loop));
}

static int choose_tls(struct program *p, struct err *e)
{
    struct tls_wish w = {.dir = p->opts.data_dir,
                         .cert = p->opts.tls_cert,
                         .key = p->opts.tls_key,
                         .mode = strcmp(p->opts.tls, "on") == 0    ? TLS_ON
                                 : strcmp(p->opts.tls, "off") == 0 ? TLS_OFF
                                                                   : TLS_AUTO};
    char *host;
    int r = api_listen_look(p->opts.listen, &w.loopback, &host, e);
    if (r < 0)
        return r;
    w.host = host;
    r = tls_serving_init(&p->tls, &w, e);
    free(host);
    return r;
}

static int start_parts(struct program *p, struct err *e)
{
    int r = choose_tls(p, e);
    if (r < 0)
        return r;
    struct server_options so = {.loop = p->loop,
                                .queue = p->opts.worker_enabled ? p->queue : NULL,
                                .opts = &p->opts,
                                .fingerprint = p->tls.fingerprint,
                                .ca = p->tls.ca,
                                .own_ca = p->tls.own};
    struct api_options ao = {.listen = p->opts.listen,
                             .tls_cert = p->tls.cert,
                             .tls_key = p->tls.key,
                             .body_limit = p->opts.body_limit,
                             .page_limit = (uint32_t)p->opts.page_limit,
                             .max_streams = (uint32_t)p->opts.max_streams};
    if (!p->opts.plugin_path[0])
        p->opts.plugin_path = p->plugins = beside_plugins();
    r = server_new(&so, &p->server, e);
    if (r < 0)
        return r;
    if (p->opts.worker_enabled) {
        p->run_dir = fs_join(p->opts.data_dir, "run");
        p->runner = beside_runner();
        struct worker_options wo = {.name = "embedded",
                                    .capacity = (uint32_t)p->opts.worker_capacity,
                                    .run_dir = p->run_dir,
                                    .plugin_path = p->opts.plugin_path,
                                    .resource_bytes = p->opts.resource_cache,
                                    .runner = p->runner,
                                    .max_output_bytes = p->opts.worker_output_limit,
                                    .beat_ms = 1000,
                                    .nodes_by_ssh = strcmp(p->opts.node_access, "ssh") == 0,
                                    .ssh_user = p->opts.ssh_user,
                                    .ssh_identity = p->opts.ssh_identity,
                                    .ssh_transport = p->opts.ssh_transport,
                                    .ssh_kex = p->opts.ssh_kex,
                                    .ssh_port = (uint16_t)p->opts.ssh_port,
                                    .ssh_keepalive_ms = (uint32_t)p->opts.ssh_keepalive,
                                    .ssh_idle_ms = (uint32_t)p->opts.ssh_idle,
                                    .ssh_pinned = strcmp(p->opts.ssh_trust, "pinned") == 0,
                                    .ssh_max_connections = (uint32_t)p->opts.ssh_connections};
        p->worker = worker_thread_start(p->queue, &wo, e);
        if (!p->worker)
            return -(int)e->code;
    }
    return api_new(p->loop, p->server, &ao, &p->api, e);
}

static int serve(struct program *p)
{
    struct err e = {0};
    beside_descriptors();
    beside_log_level(p->opts.log_level);
    p->loop = loop_new();
    p->queue = queue_new_embedded();
    p->quiesce = loop_timer_new(p->loop, end_if_idle, p);
    struct loop_signal *term = loop_signal_new(p->loop, SIGTERM, on_signal, p);
    struct loop_signal *intr = loop_signal_new(p->loop, SIGINT, on_signal, p);
    int r = start_parts(p, &e);
    if (r >= 0) {
        log_line(LOG_INFO, "server.ready", LOGT("listen", p->opts.listen),
                 LOGI("port", api_port(p->api)), LOGT("data_dir", p->opts.data_dir),
                 LOGT("version", ANNEAL_VERSION));
        loop_run(p->loop);
    }
    api_stop(p->api);
    if (p->worker)
        worker_thread_stop(p->worker, STOP_GRACE_MS);
    server_free(p->server);
    loop_signal_free(term);
    loop_signal_free(intr);
    loop_timer_free(p->quiesce);
    queue_free(p->queue);
    loop_free(p->loop);
    free(p->run_dir);
    free(p->runner);
    free(p->plugins);
    tls_serving_done(&p->tls);
    return r < 0 ? offline_complain(&e) : 0;
}

/* What is wanted besides serving. */
struct wish {
    enum daemon_arg what; /* DAEMON_ARG_COUNT: serve */
    const char *restore, *passphrase_file;
};

static int set_key(struct program *p, const char *key, const char *value, struct err *e)
{
    char text[4200];
    if (snprintf(text, sizeof text, "%s=%s", key, value) >= (int)sizeof text)
        return err_set(e, ERR_INVALID, "the value of %s is too long", key);
    return opts_set(&p->opts, text, e);
}

static int arg_take(struct program *p, enum daemon_arg arg, const char *value, struct wish *w,
                    struct err *e)
{
    switch (arg) {
    case DAEMON_CONFIG: return opts_load(&p->opts, value, e);
    case DAEMON_SET: return opts_set(&p->opts, value, e);
    case DAEMON_DATA_DIR: return set_key(p, "data_dir", value, e);
    case DAEMON_LISTEN: return set_key(p, "listen", value, e);
    case DAEMON_PASSPHRASE_FILE: w->passphrase_file = value; return 0;
    case DAEMON_RESTORE: w->restore = value; break;
    case DAEMON_FORGET_SECRETS:
    case DAEMON_VERIFY:
    case DAEMON_SETTINGS:
    case DAEMON_VERSION:
    case DAEMON_HELP:
    case DAEMON_ARG_COUNT: break;
    }
    if (w->what != DAEMON_ARG_COUNT && w->what != arg)
        return err_set(e, ERR_INVALID, "either --%s or --%s, not both",
                       daemon_arg_info(w->what)->name, daemon_arg_info(arg)->name);
    w->what = arg;
    return 0;
}

static int args_parse(struct program *p, int argc, char **argv, struct wish *w, struct err *e)
{
    static const struct option options[] = {
#define X(id, name, value, help)                                                                   \
    {name, sizeof(value) > 1 ? required_argument : no_argument, NULL, DAEMON_##id},
        DAEMON_ARGS(X)
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
            r = arg_take(p, (enum daemon_arg)opt, optarg, w, e);
        if (r < 0 && (opt == '?' || opt == ':'))
            err_hint(e, "`anneald --help` lists the options");
        if (w->what == DAEMON_HELP || w->what == DAEMON_VERSION)
            return 0; /* whatever else is wrong */
    }
    if (r >= 0 && optind < argc) {
        r = err_set(e, ERR_INVALID, "\"%s\" is not understood", argv[optind]);
        err_hint(e, "`anneald --help` lists the options");
    }
    if (r >= 0 && w->passphrase_file && w->what != DAEMON_RESTORE)
        r = err_set(e, ERR_INVALID, "--passphrase-file goes with --restore");
    return r < 0 ? r : opts_check(&p->opts, e);
}

static int wish_grant(struct program *p, const struct wish *w)
{
    switch (w->what) {
    case DAEMON_HELP: show_help(); return 0;
    case DAEMON_VERSION: printf("anneald %s\n", ANNEAL_VERSION); return 0;
    case DAEMON_SETTINGS: show_settings(&p->opts); return 0;
    case DAEMON_RESTORE: return offline_restore(&p->opts, w->restore, w->passphrase_file);
    case DAEMON_VERIFY: return offline_verify(&p->opts);
    case DAEMON_FORGET_SECRETS: return offline_forget(&p->opts);
    case DAEMON_PASSPHRASE_FILE:
    case DAEMON_CONFIG:
    case DAEMON_SET:
    case DAEMON_DATA_DIR:
    case DAEMON_LISTEN:
    case DAEMON_ARG_COUNT: break;
    }
    return serve(p);
}

int main(int argc, char **argv)
{
    struct program p = {0};
    struct wish w = {.what = DAEMON_ARG_COUNT};
    struct err e;
    opts_init(&p.opts);
    int code = args_parse(&p, argc, argv, &w, &e) < 0 ? offline_complain(&e) : wish_grant(&p, &w);
    opts_done(&p.opts);
    return code;
}
