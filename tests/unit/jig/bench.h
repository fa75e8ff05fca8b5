/* bench.h - one run of a jig outside a worker: what it logged and how it ended */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_JIG_BENCH_H
#define TESTS_JIG_BENCH_H

#include "base/json.h"
#include "jig/jig.h"
#include "sys/scratch.h"

#define TEXT(b) (buf_str(&(b)).s) /* of a buffer that may be empty */

struct bench {
    struct loop *l;
    char *dir; /* run_dir */
    const char *runner;
    size_t max_output;
    uint32_t task, attempt, ask, step;
    struct jig_plugins *plugins;
    const char *fields, *secrets; /* of the message; NULL: none */
    bool no_op;
    /* of the last run */
    struct arena mem;
    struct taskmsg msg;
    struct task_request req;
    struct jig_env env;
    const struct jig *jig;
    struct jig_run *run;
    struct jig_result r;
    struct buf log[2], returns;
    int finished;
    bool stops; /* the loop, when it finishes */
    struct err e;
    void (*on_log)(struct bench *b); /* what the test does when something is logged */
};

static void bench_log(void *ctx, int stream, const char *p, size_t n)
{
    struct bench *b = ctx;
    buf_put(&b->log[stream - 1], p, n);
    if (b->on_log)
        b->on_log(b);
}

static void bench_finish(void *ctx, const struct jig_result *r)
{
    struct bench *b = ctx;
    b->r = *r;
    b->finished++;
    if (r->returns)
        json_write(&b->returns, r->returns, 0);
    if (b->stops)
        loop_stop(b->l);
}

static void bench_init(struct bench *b, const char *runner)
{
    struct err e;
    *b = (struct bench){.l = loop_new(),
                        .dir = scratch_new(),
                        .runner = runner,
                        .max_output = 1 << 20,
                        .task = 1,
                        .attempt = 1};
    char *locks = fs_join(b->dir, JIG_LOCK_DIR), *scratch = fs_join(b->dir, JIG_SCRATCH_DIR);
    arena_init(&b->mem);
    if (fs_mkdirs(locks, 0700, &e) < 0 || fs_mkdirs(scratch, 0700, &e) < 0)
        exit(1);
    free(locks);
    free(scratch);
}

/* Everything up to check(), whose return value this is. */
static int bench_ready(struct bench *b, const char *jig, const char *params, const char *data)
{
    struct value *p = NULL, *d = NULL;
    arena_reset(&b->mem);
    buf_clear(&b->log[0]);
    buf_clear(&b->log[1]);
    buf_clear(&b->returns);
    b->finished = 0;
    b->stops = false;
    b->run = NULL;
    b->e = (struct err){0};
    b->msg = (struct taskmsg){.kind = TASKMSG_TASK,
                              .task = b->task,
                              .attempt = b->attempt,
                              .ask = b->ask,
                              .jig = str_of(jig),
                              .name = str_of("a \"task\""),
                              .node = str_of("n1.example"),
                              .address = str_of("10.0.0.9"),
                              .key = str_of("key-1"),
                              .params = str_of(params),
                              .data = str_of(data),
                              .fields = str_of(b->fields),
                              .secrets = str_of(b->secrets),
                              .no_op = b->no_op,
                              .grace_ms = 60000};
    if (*params && json_parse(&b->mem, params, strlen(params), NULL, &p, &b->e) < 0)
        return -1000;
    if (*data && json_parse(&b->mem, data, strlen(data), NULL, &d, &b->e) < 0)
        return -1000;
    b->req = (struct task_request){.msg = &b->msg, .params = p, .data = d, .step = b->step};
    b->env = (struct jig_env){.loop = b->l,
                              .run_dir = b->dir,
                              .runner = b->runner,
                              .max_output_bytes = b->max_output,
                              .plugins = b->plugins,
                              .log = bench_log,
                              .finish = bench_finish,
                              .ctx = b};
    b->jig = jig_find(str_of(jig));
    if (!b->jig)
        return -1001;
    return b->jig->check(p, &b->e);
}

/* check() and start(): the return value of whichever fails, else 0. */
static int bench_start(struct bench *b, const char *jig, const char *params, const char *data)
{
    int rc = bench_ready(b, jig, params, data);
    return rc < 0 ? rc : b->jig->start(&b->env, &b->req, &b->run, &b->e);
}

static void bench_end(struct bench *b)
{
    b->stops = true;
    if (!b->finished)
        scratch_run(b->l);
    if (b->run)
        b->jig->free(b->run);
    b->run = NULL;
}

/* The outcome, or a negative code if it was not started. */
__attribute__((unused)) static int bench_run(struct bench *b, const char *jig, const char *params)
{
    int rc = bench_start(b, jig, params, "");
    if (rc < 0)
        return rc;
    bench_end(b);
    return (int)b->r.outcome;
}

static void bench_done(struct bench *b)
{
    arena_done(&b->mem);
    buf_done(&b->log[0]);
    buf_done(&b->log[1]);
    buf_done(&b->returns);
    loop_free(b->l);
    scratch_end(b->dir);
}

#endif
