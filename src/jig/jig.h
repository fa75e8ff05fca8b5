/* jig.h - how tasks of one kind are executed
 *
 * A jig turns a request into exactly one result.  start() must not block: it spawns, arms or answers
 * through env->finish at once or later, always on the worker's loop.  Registration is the explicit table
 * in jig.c.  To add a jig: one file with a struct jig, one line in that table.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef JIG_JIG_H
#define JIG_JIG_H

#include "base/err.h"
#include "base/value.h"
#include "model/taskmsg.h"
#include "sys/loop.h"

struct jig_run; /* a jig's own state of one execution */
struct jig_result {
    enum outcome outcome;
    int exit_code;
    uint64_t again_ms;
    bool truncated;
    char text[256];
    const struct value *returns; /* a map, or NULL; valid during finish() */
};
struct task_request {
    const struct taskmsg *msg;
    const struct value *params, *data; /* parsed; live as long as the run */
};
struct jig_env { /* what a jig may use; supplied by the worker */
    struct loop *loop;
    const char *run_dir;   /* private directory for locks and scratch files */
    const char *runner;    /* path of the anneal-runner program */
    size_t max_output_bytes;
    void (*log)(void *ctx, int stream, const char *p, size_t n);
    void (*finish)(void *ctx, const struct jig_result *r); /* exactly once */
    void *ctx;
};
struct jig {
    const char *name;
    const char *help; /* one line */
    int (*check)(const struct value *params, struct err *e); /* pure */
    struct jig_run *(*start)(const struct jig_env *env, const struct task_request *req,
                             struct err *e);
    void (*cancel)(struct jig_run *run, uint64_t grace_ms); /* idempotent; result still arrives */
    void (*free)(struct jig_run *run);                      /* after finish only */
};
const struct jig *jig_find(struct str name);
/* The i-th jig, NULL past the end. */
const struct jig *jig_at(size_t i);

#endif
