/* progress_i.h - a picture of running operations, and a painter that redraws it in place
 *
 * Drawing is pure: a picture, a look and a time give lines.  Painting turns frames into what a
 * terminal has to be sent so that each frame replaces the one before.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_PROGRESS_I_H
#define CLI_PROGRESS_I_H

#include "base/value.h"
#include "cli/term_i.h"

struct progress_outcome { /* of one that did not end well: tasks that do something */
    bool known;
    int64_t done, failed, never_ran, undone;
    const char *what; /* the first that failed, "create on n1"; "": none is named */
};
struct progress_rollout { /* that stopped */
    const char *name;
    int64_t members, failed, may_fail, left;
};
struct progress_op {
    int64_t id;
    const char *kind, *title, *state;
    int64_t total, done, failed, running, waiting, ready, pending, cancelled, skipped;
    int64_t percent;              /* of the work in it; -1: not told */
    int64_t eta_ms;               /* -1: not known */
    int64_t created_ms, ended_ms; /* -1: not known, not yet */
    bool held;
    struct progress_outcome outcome;
    struct progress_rollout *rollouts; /* those that stopped */
    size_t n_rollouts;
    const char *rollback; /* the command that takes it back; "": none */
};
struct progress_task {
    int64_t id, operation, attempt;
    const char *name, *node, *state, *reason;
    int64_t started_ms; /* -1: not known */
};
struct progress {
    struct progress_op *ops;
    struct progress_task *running, *failed; /* of all ops; running ones oldest first */
    size_t n_ops, n_running, n_failed;
    const char *lost; /* why the picture may be old; NULL: it is not */
    bool all;         /* of everything, not of one operation */
};

struct progress_op progress_op_read(struct arena *mem, const struct value *v);
struct progress_task progress_task_read(struct arena *mem, const struct value *v);
bool progress_op_ended(const struct progress_op *op);
int progress_percent(const struct progress_op *op);
/* At most `lines` lines of at most look->columns. */
void progress_draw(struct buf *b, const struct look *look, int lines, const struct progress *p,
                   int64_t now_ms);
/* One operation as one line without colour or bar, for logs. */
void progress_line(struct buf *b, const struct progress_op *op);
/* "operation 14 failed after 3m12s: 104 of 200 tasks done, 2 failed (create on n1, and 1 more), 94
 * never ran" */
void progress_summary(struct buf *b, const struct progress_op *op);
/* Of each roll-out of it that stopped a line, then the commands that go on or back; each line
 * begins with `margin`.  Nothing if none has. */
void progress_rollouts_put(struct buf *b, const struct progress_op *op, const char *margin);
/* The part of it behind the colon. */
void progress_outcome_put(struct buf *b, const struct progress_outcome *o);

struct painter {
    int drawn;   /* lines of the frame on the screen, the cursor below them */
    int columns; /* of the terminal then */
    bool hidden; /* the cursor is */
};
/* Appends what replaces the last frame by this one. */
void painter_paint(struct painter *p, struct buf *out, const char *frame, int columns);
/* Takes the frame away, so that ordinary lines can be written where it was. */
void painter_clear(struct painter *p, struct buf *out);
/* Leaves the frame where it is. */
void painter_end(struct painter *p, struct buf *out);

#endif
