/* reach_i.h - the parts of reach: shell text, archive, commands, the two streams */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef REACH_REACH_I_H
#define REACH_REACH_I_H

#include "reach/reach.h"

/* reach_runner.c, made from runner.sh by tools/embed_text.py */
extern const char reach_runner_sh[];
extern const size_t reach_runner_sh_n;
/* reach_session.c, made from session.c by tools/embed_bytes.py, where REACH_SESSION_LOADER says
 * which file tells a machine of its kind */
extern const unsigned char reach_session[];
extern const size_t reach_session_n;

/* reach_code.c: the file "chain" of an archive */
int reach_code_check(const struct reach_step *steps, size_t n, struct err *e);
void reach_code_write(struct buf *b, const struct reach_step *steps, size_t n,
                      const struct reach_name *name);
/* text as one word of a shell, whatever bytes but NUL are in it */
void reach_code_quote(struct buf *b, const char *text);

/* reach_group.c: runs of files of a step; begin with {0}.  Each is of one file, or of several that
 * go into one directory in the same way, with short names that differ. */
struct reach_group {
    size_t first, n;
};
bool reach_group_next(const struct reach_step *s, struct reach_group *g);
const char *reach_group_name(const struct reach_put *p); /* its name in its directory */
size_t reach_group_directory(const struct reach_put *p); /* bytes of its path, without the slash */

/* reach_pack.c: the runner as a member, for which an archive can be sent without it; its bytes */
size_t reach_pack_runner(struct buf *b, const struct reach_name *name);
void reach_pack_end(struct buf *b);

/* reach_command.c: what a login shell is asked to run */
int reach_options_check(const struct reach_options *o, struct err *e);
bool reach_id_valid(const char *id); /* of a chain */
/* A chain with the runner in its archive; a verb with an archive of the runner alone, unpacked as
 * `temporary`; a verb on a node that should have the runner. */
void reach_command_unpack(struct buf *b, const struct reach_options *o, const char *chain);
void reach_command_install(struct buf *b, const struct reach_options *o, const char *temporary,
                           const char *verb_and_ids);
void reach_command_verb(struct buf *b, const struct reach_options *o, const char *verb_and_ids);

/* reach_ask.c: the node is to keep the limits of this chain by itself from now on */
int reach_watch(struct reach_link *l, const struct reach_options *o, const char *chain,
                reach_answer_f *fn, void *arg, struct reach_ask **ret_a, struct err *e);

/* reach_events.c: standard error of a session, in pieces of any size */
enum reach_event_kind {
    REACH_EV_CHAIN,     /* accepted; records are taken, or another chain is attached to */
    REACH_EV_STEP,      /* n is the step of `run` */
    REACH_EV_END,       /* n, end */
    REACH_EV_OVER,      /* text: reason; note */
    REACH_EV_NO_RUNNER, /* the node has no runner of ours */
    REACH_EV_LINE,      /* an answer: text is the verb, note the rest */
    REACH_EV_BAD,       /* what no runner says */
};
struct reach_event {
    enum reach_event_kind kind;
    uint32_t n;
    struct str text, note;
    struct reach_run run;
    struct reach_end end;
};
typedef void reach_event_f(void *arg, const struct reach_event *ev);
enum { REACH_NOISE_BYTES = 256 };
struct reach_events { /* all-zero is a new one */
    struct buf line;
    bool line_long, result_on;
    size_t result_left;
    struct reach_event held; /* an end whose result is arriving; texts are in `kept` */
    struct buf kept, result;
    char noise[REACH_NOISE_BYTES]; /* the last line that was no event: what a shell or sudo said */
};
void reach_events_push(struct reach_events *s, const char *p, size_t n, reach_event_f *fn,
                       void *arg);
void reach_events_done(struct reach_events *s);

/* reach_log.c: standard output of a session, in pieces of any size */
/* Bytes of a step, from 1; without bytes: the log of steps up to this one is complete. */
typedef void reach_log_f(void *arg, uint32_t step, const char *p, size_t n);
struct reach_log { /* all-zero is a new one */
    bool open;     /* the nonce is known */
    char nonce[REACH_NONCE_HEX];
    uint32_t passed; /* the log of steps up to this one is complete */
    struct buf pending;
};
void reach_log_push(struct reach_log *s, const char *p, size_t n, reach_log_f *fn, void *arg);
/* What was held back because it might have become a marker. */
void reach_log_flush(struct reach_log *s, reach_log_f *fn, void *arg);
void reach_log_done(struct reach_log *s);

#endif
