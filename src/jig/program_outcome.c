/* program_outcome.c - from the end of a program on this machine to a result
 *
 * The exit status is the program's own unless the runner refused to start it.  Both may be 125; the
 * record in the lock file tells which, and whether this very run was started before by a server
 * that did not live to see its end: that is LOST, not refused, since nobody can say what it did.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "jig/program_run_i.h"
#include "sys/fs.h"
#include "sys/runner.h"

#define SAY(r, ...) snprintf((r)->text, sizeof(r)->text, __VA_ARGS__)

/* What it returned, from descriptor 3 or else from the file. */
static int read_result(struct jig_run *run, struct err *e)
{
    int rc = 0;
    if (run->result.len == 0) {
        char *path = program_run_result_path(run);
        rc = fs_read(path, PROGRAM_RESULT_LIMIT, &run->result, e);
        free(path);
    }
    return rc == -ERR_NOT_FOUND ? 0 : rc;
}

/* Of one that ran: what its jig says of its end. */
static void judge(struct jig_run *run, const struct proc_exit *x, struct arena *mem,
                  struct jig_result *r)
{
    struct err e = {0};
    struct reach_end end = {.what = REACH_DONE, .status = x->code};
    int rc = read_result(run, &e);
    end.result = buf_str(&run->result);
    end.note = str_of("");
    if (run->look)
        run->look(run, mem, &end);
    run->judge(run->req, &end, jig_line_last(&run->line), mem, r);
    if (rc < 0 && r->outcome == OUTCOME_OK) {
        *r = (struct jig_result){.outcome = OUTCOME_FAILED, .exit_code = x->code};
        SAY(r, "what it returned is unusable: %.200s", e.text);
    }
    r->truncated = x->truncated;
}

void program_outcome_judge(struct jig_run *run, const struct proc_exit *x, struct arena *mem,
                           struct jig_result *ret_r)
{
    struct jig_result r = {.exit_code = x->code, .truncated = x->truncated};
    if (run->cancelled && (x->signo == SIGTERM || x->signo == SIGQUIT)) {
        /* It blocks both before it does anything else, so this was our own, and nothing began. */
        r.outcome = OUTCOME_CANCELLED;
        SAY(&r, "told to end before the start");
    } else if (x->signo) { /* of the runner: a stranger killed it, and the program's end is unknown
                            */
        r.outcome = OUTCOME_LOST;
        SAY(&r, "the runner was ended by signal %d", x->signo);
    } else if (x->code != RUNNER_REFUSED ||
               !program_refused(run->lock_path, &run->id, proc_pid(run->proc),
                                jig_line_last(&run->line), &r)) {
        judge(run, x, mem, &r);
    }
    if (run->cancelled && (r.outcome == OUTCOME_FAILED || r.outcome == OUTCOME_AGAIN))
        r.outcome = OUTCOME_CANCELLED;
    *ret_r = r;
}
