/* shell_outcome.c - from the end of a program to a result
 *
 * The exit status is the program's own unless the runner refused to start it.  Both may be 125; the
 * record in the lock file tells which, and whether this very run was started before by a server
 * that did not live to see its end: that is LOST, not refused, since nobody can say what it did.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "jig/shell_i.h"
#include "sys/fs.h"
#include "sys/runner.h"

enum { EXIT_NOT_YET = 75 /* EX_TEMPFAIL */, AGAIN_DEFAULT_MS = 5000 };

#define SAY(r, ...) snprintf((r)->text, sizeof(r)->text, __VA_ARGS__)

/* 0 with NULL if nothing was returned. */
static int parse_returns(struct str text, struct arena *mem, const struct value **ret_v,
                         struct err *e)
{
    struct value *v = NULL;
    if (text.n > SHELL_RESULT_LIMIT)
        return err_set(e, ERR_TOO_LARGE, "more than %d bytes", (int)SHELL_RESULT_LIMIT);
    int rc = text.n ? json_parse(mem, text.s, text.n, NULL, &v, e) : 0;
    if (rc == 0 && v && v->kind != VALUE_MAP)
        rc = err_set(e, ERR_INVALID, "a %s, not a map", value_kind_name((enum value_kind)v->kind));
    if (rc == 0)
        *ret_v = v;
    return rc;
}

/* The returned map, from descriptor 3 or else from the file. */
static int read_returns(struct jig_run *run, struct arena *mem, const struct value **ret_v,
                        struct err *e)
{
    if (run->result.len == 0) {
        int rc = fs_read(run->result_path, SHELL_RESULT_LIMIT, &run->result, e);
        if (rc < 0 && rc != -ERR_NOT_FOUND)
            return rc;
    }
    return parse_returns(buf_str(&run->result), mem, ret_v, e);
}

static void say_failure(const char *last_line, struct jig_result *r)
{
    int code = r->exit_code;
    const char *sep = last_line[0] ? ": " : "";
    if (code > 128 && code <= 128 + 64)
        SAY(r, "ended by signal %d%s%s", code - 128, sep, last_line);
    else
        SAY(r, "exit status %d%s%s", code, sep, last_line);
}

/* rc: of reading what it returned, which is in r->returns; *e of that. */
static void judge_status(const char *last_line, int rc, const struct err *e, struct jig_result *r)
{
    if (r->exit_code == EXIT_NOT_YET) {
        int64_t again_ms = value_as_int(value_get(r->returns, "again_ms"), AGAIN_DEFAULT_MS);
        r->outcome = OUTCOME_AGAIN;
        r->again_ms = again_ms < 0 ? AGAIN_DEFAULT_MS : (uint64_t)again_ms;
    } else if (r->exit_code != 0) {
        r->outcome = OUTCOME_FAILED;
        say_failure(last_line, r);
    } else if (rc < 0) {
        r->outcome = OUTCOME_FAILED;
        SAY(r, "what it returned is unusable: %.64s%s%.120s", e->at, e->at[0] ? ": " : "", e->text);
    } else {
        r->outcome = OUTCOME_OK;
    }
}

void shell_status_judge(int status, struct str result, const char *last_line, struct arena *mem,
                        struct jig_result *r)
{
    struct err e = {0};
    *r = (struct jig_result){.exit_code = status};
    int rc = parse_returns(result, mem, &r->returns, &e);
    judge_status(last_line, rc, &e, r);
}

void shell_outcome_judge(struct jig_run *run, const struct proc_exit *x, struct arena *mem,
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
        struct err e = {0};
        int rc = read_returns(run, mem, &r.returns, &e);
        judge_status(jig_line_last(&run->line), rc, &e, &r);
    }
    if (run->cancelled && (r.outcome == OUTCOME_FAILED || r.outcome == OUTCOME_AGAIN))
        r.outcome = OUTCOME_CANCELLED;
    *ret_r = r;
}
