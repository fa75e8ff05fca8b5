/* jig.h - how tasks of one kind are executed
 *
 * A jig turns a request into exactly one result.  start() must not block: it spawns, arms or
 * answers through env->finish at once or later, always on the worker's loop.  Registration is the
 * explicit table in jig.c.  To add a jig: one file with a struct jig, one line in that table.
 *
 *   callback  tells params.url what happened: a signed POST of params.body
 *   copy_files  writes files of the worker's machine to params.files[].dst on the node
 *   noop    answers ok at once; params.returns is returned
 *   master_shell  as shell, but always on the worker's machine
 *   plugin  asks the plugin that params.action and params.type are for (docs/rfc/10-plugins.md)
 *   puppet  applies params.manifest on the node
 *   reboot  boots the node and is done when it is up again
 *   rsync   makes params.dst on the node what params.src is here
 *   shell   runs params.command, or params.script by /bin/sh, on the node
 *   script  runs the program params.file with params.args on the node
 *   test    does what its parameters say, in no process: sleeps, fails, asks to be asked again
 *   upload_file  writes params.data to params.path on the node, whole or not at all
 *   upload_files  the same for the texts of params.files
 *
 * What a program of shell and script gets and may answer is in jig_shell.c.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef JIG_JIG_H
#define JIG_JIG_H

#include "base/err.h"
#include "base/value.h"
#include "model/taskmsg.h"
#include "reach/reach.h"
#include "sys/loop.h"

enum { JIG_TEXT_BYTES = 256, JIG_RUN_STEPS = 2 };

struct jig_run; /* a jig's own state of one execution */
struct jig_result {
    enum outcome outcome;
    int exit_code;
    uint64_t again_ms;
    bool truncated;
    char text[JIG_TEXT_BYTES];   /* for people; "" if there is nothing to say */
    const struct value *returns; /* a map, or NULL; valid during finish() */
    bool whole;                  /* it is all of the data as they are now, not what is added */
};
struct task_request {
    const struct taskmsg *msg;
    const struct value *params, *data; /* parsed, NULL if empty; live as long as the run */
    /* Of one run: what it starts one after the other, from 0.  A jig may start JIG_RUN_STEPS, this
     * one and those behind it. */
    uint32_t step;
    uint32_t part; /* which of the jig's own steps on the node, from 0 */
    bool complete; /* next() has said of this part that nothing follows */
};
struct jig_route {            /* how ssh reaches the node of a task; texts in the caller's arena */
    const char *address;      /* what ssh is to be given as the host; NULL: it is this machine */
    struct str config, known; /* an ssh configuration, and the host keys for the path it names */
    const char *agent;        /* the socket of one, if its keys may be used; NULL: they may not */
    bool sudo;                /* what runs there runs by sudo -n */
};
struct jig_env { /* what a jig may use; supplied by the worker, lives as long as the run */
    struct loop *loop;
    const char *run_dir; /* absolute; private; holds jig_dirs[] */
    const char *runner;  /* path of the anneal-runner program */
    size_t max_output_bytes;
    struct jig_plugins *plugins; /* NULL: this worker has none */
    /* For programs of this machine that use ssh themselves.  NULL: every node is this machine. */
    int (*route)(void *ctx, const char *known_path, struct arena *mem, struct jig_route *ret_r,
                 struct err *e);
    /* There were no host keys, and this is in the file now. */
    void (*learned)(void *ctx, struct str known);
    void (*log)(void *ctx, int stream, const char *p, size_t n);
    /* Exactly once per successful start, perhaps within it.  The run stays until free(). */
    void (*finish)(void *ctx, const struct jig_result *r);
    void *ctx;
};
struct jig {
    const char *name;
    const char *help;                                        /* one line */
    int (*check)(const struct value *params, struct err *e); /* pure; params may be NULL */
    /* Parameters have passed check().  A failure means that nothing was started and finish() will
     * not be called.  *ret_run may be NULL if finish() was called already. */
    int (*start)(const struct jig_env *env, const struct task_request *req,
                 struct jig_run **ret_run, struct err *e);
    /* Idempotent; the result still arrives, never within this call.  A shorter grace wins. */
    void (*cancel)(struct jig_run *run, uint64_t grace_ms);
    void (*free)(struct jig_run *run); /* after finish only, not within it */
    /* In a no-op run this is called instead of start(): tells the log what would be done, changes
     * nothing, and may set the text of the result, which is a success unless it says otherwise.
     * NULL: there is nothing to tell. */
    void (*preview)(const struct jig_env *env, const struct task_request *req,
                    struct jig_result *r);
    bool tells; /* a no-op is started as well: start() looks at msg->no_op, changes nothing and
                 * returns nothing */
    /* Jigs that act on the node of their task have these two; start() is for the case that the node
     * is the worker's own machine.  What to run there for this part, its texts in `mem`; the run's
     * identity and limits are filled in by others.  A part above 0 is what next() said, asked for
     * again because it was lost on the way. */
    int (*step)(const struct task_request *req, struct arena *mem, struct reach_step *ret_s,
                struct err *e);
    /* It was run to its end: is there something to run behind it?  1 with that in ret_s, to be
     * judged with req->part one higher; 0: no, and judge() is asked.  At most JIG_RUN_STEPS parts.
     * NULL: never. */
    int (*next)(const struct jig_env *env, const struct task_request *req,
                const struct reach_end *end, struct arena *mem, struct reach_step *ret_s,
                struct err *e);
    /* It was run to its end: what that means.  `mem` holds ret_r->returns. */
    void (*judge)(const struct task_request *req, const struct reach_end *end,
                  const char *last_line, struct arena *mem, struct jig_result *ret_r);
    bool programs; /* params.env and params.cwd are its programs' own; tests of the task share them
                    */
};
const struct jig *jig_find(struct str name);
/* The i-th jig by name, NULL past the end. */
const struct jig *jig_at(size_t i);

/* The plugins of a worker: read when they are first needed, and again when something about them has
 * changed.  `path` is a list of directories, separated by colons. */
struct jig_plugins;
struct jig_plugins *jig_plugins_new(const char *path);
void jig_plugins_free(struct jig_plugins *p); /* NULL: nothing */
/* Those that can be used, as JSON text [{name, type, version, serves: [type]}]; NULL: none. */
void jig_plugins_tell(struct jig_plugins *p, struct buf *b);
/* For the text of a failure: the last line written that is not blank. */
struct jig_line {
    char now[160], last[160];
    size_t n;
};
void jig_line_note(struct jig_line *l, const char *p, size_t n);
const char *jig_line_last(struct jig_line *l);

/* Directories in run_dir that must exist: lock files stay over restarts, scratch files do not. */
#define JIG_LOCK_DIR    "locks"
#define JIG_SCRATCH_DIR "scratch"
/* Contents of resources, by resource_file_name(); the worker sees that they are there. */
#define JIG_RESOURCE_DIR "resources"

#endif
