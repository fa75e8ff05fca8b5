/* reach.h - chains of tasks on a node: packed, sent, followed, collected (docs/rfc/09, section 5)
 *
 * A chain is up to 64 steps that run on one node one after the other without coming back in
 * between.  It is packed into one tar archive, given to the runner there (runner.sh, which travels
 * along if the node lacks it), and followed by two streams: events and the log.
 *
 * What this promises, whatever breaks:
 *   - on_end comes once for each step, in order, behind all of the step's log that there is;
 *   - a step is reported REACH_DONE only with the status that its program ended with;
 *   - then on_over comes, once.  REACH_CUT says that the connection broke and the rest of the chain
 *     may be running: reach_chain_attach() collects it later, from any worker;
 *   - the node keeps results until reach_ack().
 *
 * How commands get there is a link's business: a table that an ssh connection fills.  A command is
 * a fixed text with ids of [0-9a-f.] in it; all data travel as its input.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef REACH_REACH_H
#define REACH_REACH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "sys/loop.h"

enum {
    REACH_STEPS_MAX = 64,             /* of a chain */
    REACH_PATHS_MAX = 1024,           /* of a step that sums */
    REACH_RESULT_MAX = 1024 * 1024,   /* bytes; a longer one arrives as one byte more than that */
    REACH_ARCHIVE_MAX = 64 * 1048576, /* bytes of a chain */
    REACH_CHAIN_HEX = 17,             /* id of a chain: 16 digits and NUL */
    REACH_NONCE_HEX = 33,
};

/* ---- what to run ---- */

struct reach_run {  /* of one task; runs are ordered by (fence, attempt, ask, step) */
    uint64_t fence; /* below 2^63 */
    uint32_t task, attempt, ask, step;
};
enum reach_kind {
    REACH_ARGV,   /* a program and its arguments */
    REACH_SCRIPT, /* text for /bin/sh */
    REACH_PUT,    /* files; the note of the end is "unchanged" or "changed 2 of 3" */
    REACH_SUM,    /* what is at some paths: the result is for reach_sums_parse() */
    REACH_REBOOT, /* the machine, by argv or by what there is: 75 until it has booted, then 0 */
};
struct reach_variable {
    const char *name, *value;
};
struct reach_put {
    const char *path; /* absolute */
    struct str content;
    unsigned mode;             /* up to 07777 */
    const char *owner, *group; /* name or number; NULL: as it comes */
    unsigned dir_mode;         /* of missing parents, up to 0777; 0: they are not made */
};
struct reach_step {
    struct reach_run run;
    enum reach_kind kind;
    const char *const *argv; /* ends with NULL; argv[0] is looked up in the PATH of the step */
    struct str script;
    const struct reach_variable *env; /* added to PATH, HOME, LANG and a few others of the node's */
    size_t env_n;
    const char *cwd;  /* NULL: / */
    struct str input; /* standard input; empty: /dev/null */
    unsigned umask_bits;
    uint32_t limit_s; /* the node itself ends a longer step, within 30 s of that; 0: no limit */
    uint32_t since_s; /* it may have begun so long ago; if the node knows nothing of it and was
                       * started since, that is lost; 0: it has not */
    uint32_t grace_s; /* from TERM to KILL, of this step and of an earlier run that it follows */
    /* Of a program these are files of its own, "$ANNEAL_FILES.1" and so on: only content counts. */
    const struct reach_put *puts;
    size_t puts_n;
    /* Of [A-Za-z0-9._-], equal in all runs of one purpose: what boots are remembered under.  A
     * program that exits with 76 is not run again before the machine has booted.  NULL: none. */
    const char *boot_key;
    const char *const *paths; /* absolute */
    size_t paths_n;
};
/* Of the bytes that the node is given to work with: the input, then the files, one behind the
 * other. Whoever is there can make it again: b2sum -l 128.  "" if it is given neither. */
void reach_step_digest(const struct reach_step *s, char ret_hex[33]);
struct reach_name { /* of one chain; made anew for each */
    char chain[REACH_CHAIN_HEX], nonce[REACH_NONCE_HEX];
};
void reach_name_make(struct reach_name *ret_name);
/* The archive of a chain, appended to b.  Pure: equal arguments give equal bytes.  ERR_INVALID for
 * what no program could be given (a NUL in an argument, a name that is none), ERR_TOO_LARGE. */
int reach_pack(const struct reach_step *steps, size_t n, const struct reach_name *name,
               bool with_runner, struct buf *b, struct err *e);
/* The runner's text and the digest of it that names it on nodes. */
struct str reach_runner_text(void);
const char *reach_runner_digest(char ret_hex[33]);

/* ---- how commands get to a node ---- */

enum reach_fail {
    REACH_FAIL_NONE, /* it ended by itself */
    REACH_FAIL_UNREACHABLE,
    REACH_FAIL_HOST_KEY,
    REACH_FAIL_AUTH,
    REACH_FAIL_LOST,
    REACH_FAIL_LIMIT,
};
struct reach_exec_end {
    bool ran;   /* false: it certainly was not started */
    int status; /* exit status if it ended by itself, 128 + n for signal n */
    enum reach_fail fail;
    const char *text; /* for people; valid during the call */
};
struct reach_exec {
    const char *command;
    struct str input;                                                  /* copied */
    void (*on_output)(void *arg, int stream, const char *p, size_t n); /* 1 or 2 */
    void (*on_end)(void *arg, const struct reach_exec_end *end);       /* once, the last call */
    void *arg;
};
struct reach_call; /* a link's own */
struct reach_link {
    /* Callbacks come later, never from within.  The call is the link's again after on_end. */
    int (*exec)(struct reach_link *l, const struct reach_exec *x, struct reach_call **ret_call,
                struct err *e);
    /* Before on_end: not wanted any more; no callback comes.  What runs goes on running. */
    void (*close)(struct reach_link *l, struct reach_call *call);
    bool has_runner; /* ours: what we believe of the node; a link sets it false when it connects */
};

struct reach_options {
    bool sudo;        /* the runner is started by sudo -n */
    const char *root; /* where its directory "anneal" is, of [A-Za-z0-9/._-]; NULL: in /run or
                         $HOME/.anneal/ID */
};

/* ---- chains ---- */

#define REACH_WHATS(X)                                                                             \
    X(DONE, "done")       /* ended with status */                                                  \
    X(STOPPED, "stopped") /* after a stop; with a status if it had begun */                        \
    X(LIMIT, "limit")     /* after its limit_s */                                                  \
    X(REFUSED,                                                                                     \
      "refused")      /* a later run of the task is known there: note is fence.attempt.ask.step */ \
    X(LOST, "lost")   /* it was begun and nobody can say how it ended */                           \
    X(HELD, "held")   /* another chain there has this very run: note is its id */                  \
    X(FULL, "full")   /* no space for record or result */                                          \
    X(UNRUN, "unrun") /* it could not be begun; the note says why */                               \
    X(SKIPPED, "skipped") /* the chain ended before it */
enum reach_what {
#define X(id, text) REACH_##id,
    REACH_WHATS(X)
#undef X
        REACH_WHAT_COUNT
};
const char *reach_what_text(enum reach_what what);
struct reach_end {
    enum reach_what what;
    int status;        /* 128 + n for signal n; -1: it was not begun, or nobody knows */
    uint32_t left;     /* processes that it left behind and that were ended */
    struct str result; /* valid during the call, as is the note */
    struct str note;
};
enum reach_over_kind {
    REACH_OVER,  /* every step was told with what became of it */
    REACH_CUT,   /* those not told may be running there: attach later */
    REACH_NEVER, /* nothing was begun, no end was told: `fail` if there was no connection */
};
struct reach_over {
    enum reach_over_kind kind;
    enum reach_fail fail;
    const char *chain; /* id of the chain that was followed: for attach and ack */
    const char *text;  /* for people, "" for REACH_OVER */
};
struct reach_chain_spec {
    struct loop *loop;
    struct reach_link *link;
    struct reach_options options;
    const struct reach_step *steps; /* for an attach only `run` of each counts */
    size_t n;
    void (*on_log)(void *arg, unsigned step, const char *p, size_t n); /* steps count from 0 */
    void (*on_end)(void *arg, unsigned step, const struct reach_end *end);
    void (*on_answer)(void *arg); /* the runner there has spoken; NULL: nobody asks */
    void (*on_over)(void *arg, const struct reach_over *over); /* may call reach_chain_free() */
    void *arg;
};
struct reach_chain;
/* If another chain there has the first step's run (another worker sent it), that one is attached
 * to, and told of are those of our steps that it has. */
int reach_chain_start(const struct reach_chain_spec *spec, struct reach_chain **ret_c,
                      struct err *e);
int reach_chain_attach(const struct reach_chain_spec *spec, const char *chain,
                       struct reach_chain **ret_c, struct err *e);
/* At any time; before on_over the chain goes on running there. */
void reach_chain_free(struct reach_chain *c);

/* ---- questions: one command, one answer ---- */

enum reach_answer_kind {
    REACH_ANSWERED, /* lines hold the answer */
    REACH_UNASKED,  /* it did not get there */
    REACH_UNKNOWN,  /* the connection broke: it may have been done */
};
struct reach_answer {
    enum reach_answer_kind kind;
    enum reach_fail fail;
    struct str lines; /* of "stopped\n", "none\n" ...: without the verb; valid during the call */
    const char *text;
};
typedef void reach_answer_f(void *arg, const struct reach_answer *answer);
struct reach_ask;
/* stop: none, ended, stopped or stuck.  held: "TASK FENCE ATTEMPT ASK STEP CHAIN N STATE" each.
 * facts: "NAME VALUE" each.  ack: "CHAIN running" for those that were left alone. */
int reach_stop(struct reach_link *l, const struct reach_options *o, uint32_t task, uint32_t attempt,
               uint32_t grace_s, reach_answer_f *fn, void *arg, struct reach_ask **ret_a,
               struct err *e);
int reach_ack(struct reach_link *l, const struct reach_options *o, const char *const *chains,
              size_t n, reach_answer_f *fn, void *arg, struct reach_ask **ret_a, struct err *e);
int reach_held(struct reach_link *l, const struct reach_options *o, reach_answer_f *fn, void *arg,
               struct reach_ask **ret_a, struct err *e);
int reach_facts(struct reach_link *l, const struct reach_options *o, reach_answer_f *fn, void *arg,
                struct reach_ask **ret_a, struct err *e);
void reach_ask_free(struct reach_ask *a); /* at any time, the answer's callback included */

/* ---- the result of a step that sums ---- */

struct reach_sum {
    char type; /* f d l (link) o (other) - (nothing) */
    unsigned mode;
    struct str owner, uid, group, gid;
    uint64_t size;
    char sha256[65]; /* of f, else "" */
};
/* One for each path, in their order; text that lives as long as `result`. */
int reach_sums_parse(struct arena *mem, struct str result, size_t paths_n,
                     struct reach_sum **ret_sums, struct err *e);

#endif
