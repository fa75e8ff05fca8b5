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
#include <sys/resource.h>
#include <unistd.h>

#include "api/api.h"
#include "base/alloc.h"
#include "base/log.h"
#include "queue/queue.h"
#include "server/server.h"
#include "server/verify.h"
#include "store/store.h"
#include "sys/fs.h"
#include "sys/loop.h"
#include "sys/opts.h"
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
    char *run_dir, *runner;
};

static void usage(FILE *to)
{
    fprintf(to, "usage: anneald [--config FILE] [--set KEY=VALUE]... [--data-dir DIR] [--listen "
                "ADDRESS:PORT]\n"
                "       anneald --restore BACKUP [--data-dir DIR]   put a backup in place; no "
                "server may run\n"
                "       anneald --verify [--data-dir DIR]           replay the journal and compare "
                "with what is stored\n"
                "       anneald --settings | --version | --help\n"
                "\nWith no configuration it serves on 127.0.0.1:7480 and keeps its data in "
                "/var/lib/anneal.\n"
                "The admin token of a new installation is written to DATA_DIR/admin.token.\n");
}

static int complain(const struct err *e)
{
    char text[1400];
    fprintf(stderr, "anneald: %s\n", err_format(e, text, sizeof text));
    return err_exit(e->code);
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

/* The runner lies beside this program, or where it was installed. */
static char *find_runner(void)
{
    char self[4096];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    if (n <= 0)
        return xstrdup("anneal-runner");
    self[n] = '\0';
    char *slash = strrchr(self, '/');
    *slash = '\0';
    char *beside = fs_join(self, "anneal-runner");
    if (fs_exists(beside))
        return beside;
    free(beside);
    return fs_join(self, "../libexec/anneal/anneal-runner");
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

static int start_parts(struct program *p, struct err *e)
{
    struct server_options so = {.loop = p->loop, .queue = p->queue, .opts = &p->opts};
    struct api_options ao = {.listen = p->opts.listen,
                             .tls_cert = p->opts.tls_cert,
                             .tls_key = p->opts.tls_key,
                             .body_limit = p->opts.body_limit,
                             .page_limit = (uint32_t)p->opts.page_limit,
                             .max_streams = (uint32_t)p->opts.max_streams};
    int r = server_new(&so, &p->server, e);
    if (r < 0)
        return r;
    if (p->opts.worker_enabled) {
        p->run_dir = fs_join(p->opts.data_dir, "run");
        p->runner = find_runner();
        struct worker_options wo = {.name = "embedded",
                                    .capacity = (uint32_t)p->opts.worker_capacity,
                                    .run_dir = p->run_dir,
                                    .runner = p->runner,
                                    .max_output_bytes = p->opts.worker_output_limit,
                                    .beat_ms = 1000};
        p->worker = worker_thread_start(p->queue, &wo, e);
        if (!p->worker)
            return -(int)e->code;
    }
    return api_new(p->loop, p->server, &ao, &p->api, e);
}

static void set_log_level(const char *name)
{
    static const char *const names[] = {"error", "warn", "info", "debug"};
    for (int i = 0; i < 4; i++)
        if (strcmp(name, names[i]) == 0)
            log_set_level((enum log_level)i);
}

/* A stream or a connection is a descriptor each; the soft limit is meant for programs with few. */
static void raise_descriptor_limit(void)
{
    struct rlimit l;
    if (getrlimit(RLIMIT_NOFILE, &l) == 0 && l.rlim_cur < l.rlim_max) {
        l.rlim_cur = l.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &l);
    }
}

static int serve(struct program *p)
{
    struct err e = {0};
    raise_descriptor_limit();
    set_log_level(p->opts.log_level);
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
    return r < 0 ? complain(&e) : 0;
}

static int restore_backup(const struct opts *o, const char *from)
{
    struct err e;
    char *to = fs_join(o->data_dir, "anneal.db");
    int r = fs_mkdirs(o->data_dir, 0700, &e);
    if (r >= 0)
        r = store_restore(from, to, &e);
    /* Locks tell of attempts that the restored store has not heard of, and would refuse lower
     * numbers. */
    char *run = fs_join(o->data_dir, "run");
    if (r >= 0 && fs_exists(run))
        r = fs_remove_tree(run, &e);
    if (r >= 0)
        printf("restored %s from %s\n", to, from);
    free(run);
    free(to);
    return r < 0 ? complain(&e) : 0;
}

static int verify(const struct opts *o)
{
    struct err e;
    char *path = fs_join(o->data_dir, "anneal.db");
    uint64_t events = 0;
    int r = verify_store(path, o, &events, &e);
    free(path);
    if (r < 0)
        return complain(&e);
    printf("%llu events replayed from the last checkpoint give what is stored\n",
           (unsigned long long)events);
    return 0;
}

int main(int argc, char **argv)
{
    enum { CONFIG = 1000, SET, DATA_DIR, LISTEN, RESTORE, VERIFY, SETTINGS, VERSION, HELP };
    static const struct option options[] = {{"config", required_argument, NULL, CONFIG},
                                            {"set", required_argument, NULL, SET},
                                            {"data-dir", required_argument, NULL, DATA_DIR},
                                            {"listen", required_argument, NULL, LISTEN},
                                            {"restore", required_argument, NULL, RESTORE},
                                            {"verify", no_argument, NULL, VERIFY},
                                            {"settings", no_argument, NULL, SETTINGS},
                                            {"version", no_argument, NULL, VERSION},
                                            {"help", no_argument, NULL, HELP},
                                            {0}};
    struct program p = {0};
    struct err e;
    const char *restore = NULL;
    int want = 0, r = 0, opt;
    opts_init(&p.opts);
    while (r >= 0 && (opt = getopt_long(argc, argv, "", options, NULL)) != -1) {
        char text[4200];
        switch (opt) {
        case CONFIG: r = opts_load(&p.opts, optarg, &e); break;
        case SET: r = opts_set(&p.opts, optarg, &e); break;
        case DATA_DIR:
            snprintf(text, sizeof text, "data_dir=%s", optarg);
            r = opts_set(&p.opts, text, &e);
            break;
        case LISTEN:
            snprintf(text, sizeof text, "listen=%s", optarg);
            r = opts_set(&p.opts, text, &e);
            break;
        case RESTORE: restore = optarg; break;
        case VERSION:
            printf("anneald %s\n", ANNEAL_VERSION);
            opts_done(&p.opts);
            return 0;
        case HELP:
            usage(stdout);
            opts_done(&p.opts);
            return 0;
        case VERIFY:
        case SETTINGS: want = opt; break;
        default:
            usage(stderr);
            opts_done(&p.opts);
            return 2;
        }
    }
    if (r >= 0 && optind < argc)
        r = err_set(&e, ERR_INVALID, "\"%s\" is not understood; see --help", argv[optind]);
    if (r >= 0)
        r = opts_check(&p.opts, &e);
    int code;
    if (r < 0)
        code = complain(&e);
    else if (restore)
        code = restore_backup(&p.opts, restore);
    else if (want == VERIFY)
        code = verify(&p.opts);
    else if (want == SETTINGS)
        code = (show_settings(&p.opts), 0);
    else
        code = serve(&p);
    opts_done(&p.opts);
    return code;
}
