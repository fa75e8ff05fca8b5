/* program_status.c - what the exit status of a program and what it returned mean
 *
 *   0    done; the JSON map that it returned, if any, is what the task returns
 *   75   not yet: to be asked again in the returned again_ms
 *   76   the machine is to be booted, then it is to be asked again: who can do that has done it
 *        before it is asked here (shell_node.c)
 *   else failed
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "base/json.h"
#include "jig/program_run_i.h"

enum { EXIT_NOT_YET = 75 /* EX_TEMPFAIL */, AGAIN_DEFAULT_MS = 5000 };

#define SAY(r, ...) snprintf((r)->text, sizeof(r)->text, __VA_ARGS__)

/* 0 with NULL if nothing was returned. */
static int parse_returns(struct str text, struct arena *mem, const struct value **ret_v,
                         struct err *e)
{
    struct value *v = NULL;
    if (text.n > PROGRAM_RESULT_LIMIT)
        return err_set(e, ERR_TOO_LARGE, "more than %d bytes", (int)PROGRAM_RESULT_LIMIT);
    int rc = text.n ? json_parse(mem, text.s, text.n, NULL, &v, e) : 0;
    if (rc == 0 && v && v->kind != VALUE_MAP)
        rc = err_set(e, ERR_INVALID, "a %s, not a map", value_kind_name((enum value_kind)v->kind));
    if (rc == 0)
        *ret_v = v;
    return rc;
}

void program_failure_say(const char *last_line, struct jig_result *r)
{
    int code = r->exit_code;
    const char *sep = last_line[0] ? ": " : "";
    if (code > 128 && code <= 128 + 64)
        SAY(r, "ended by signal %d%s%s", code - 128, sep, last_line);
    else
        SAY(r, "exit status %d%s%s", code, sep, last_line);
}

void program_status_judge(const struct reach_end *end, const char *last_line, struct arena *mem,
                          struct jig_result *r)
{
    struct err e = {0};
    *r = (struct jig_result){.exit_code = end->status};
    int rc = parse_returns(end->result, mem, &r->returns, &e);
    if (r->exit_code == EXIT_NOT_YET) {
        int64_t again_ms = value_as_int(value_get(r->returns, "again_ms"), AGAIN_DEFAULT_MS);
        r->outcome = OUTCOME_AGAIN;
        r->again_ms = again_ms < 0 ? AGAIN_DEFAULT_MS : (uint64_t)again_ms;
    } else if (r->exit_code == PROGRAM_REBOOT) {
        r->outcome = OUTCOME_FAILED;
        r->returns = NULL;
        SAY(r, "exit status %d: it asks for a boot of a machine that is not to be booted for it",
            PROGRAM_REBOOT);
    } else if (r->exit_code != 0) {
        r->outcome = OUTCOME_FAILED;
        program_failure_say(last_line, r);
    } else if (rc < 0) {
        r->outcome = OUTCOME_FAILED;
        SAY(r, "what it returned is unusable: %.64s%s%.120s", e.at, e.at[0] ? ": " : "", e.text);
    } else {
        r->outcome = OUTCOME_OK;
    }
}
