/* jig_reboot.c - the node is booted: the jig reboot
 *
 *   command  [program, argument...] that makes the node boot; default: systemctl reboot, else
 *            shutdown -r now, else reboot
 *
 * The node itself remembers in which boot it was first asked, where that outlives a boot
 * (reach/runner.sh), under the key that all attempts of a run have in common.  So nobody else has
 * to: asked in that boot it answers "not yet", asked in another one it is done, and one who asks
 * twice does not boot it twice.  In between it is silent, which is "not yet" as well.
 *
 * A node that is the worker's own machine is not booted: with it would go who should see it come
 * back.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "jig/boot_i.h"
#include "jig/program_i.h"

enum { BOOT_WAITS = 75 };

#define SAY(r, ...) snprintf((r)->text, sizeof(r)->text, __VA_ARGS__)

void boot_step_fill(const struct task_request *req, const struct value *command, struct arena *mem,
                    struct reach_step *s)
{
    uint32_t n = command ? command->n : 0;
    const char **argv = arena_new(mem, const char *, n + 1);
    for (uint32_t i = 0; i < n; i++)
        argv[i] = command->items[i].s;
    s->kind = REACH_REBOOT;
    s->argv = n ? argv : NULL;
    s->boot_key = arena_strndup(mem, req->msg->key.s, req->msg->key.n);
}

void boot_end_judge(const struct reach_end *end, const char *last_line, struct jig_result *r)
{
    *r = (struct jig_result){.exit_code = end->status, .outcome = OUTCOME_OK};
    if (end->status == 0) {
        SAY(r, "booted anew");
    } else if (end->status == BOOT_WAITS) {
        r->outcome = OUTCOME_AGAIN;
        r->again_ms = BOOT_AGAIN_MS;
        SAY(r, "told to boot, and not up again yet");
    } else {
        r->outcome = OUTCOME_FAILED;
        SAY(r, "it was not booted: %s", last_line[0] ? last_line : "nobody says why");
    }
}

static int reboot_check(const struct value *params, struct err *e)
{
    static const struct jig_param table[] = {{"command", PARAM_STRINGS}};
    int rc = jig_params_check(params, table, 1, true, e);
    const struct value *command = value_get(params, "command");
    if (rc == 0 && command && (!command->n || !command->items[0].n))
        rc = jig_param_refuse(e, "command", "is empty");
    return rc;
}

static int reboot_start(const struct jig_env *env, const struct task_request *req,
                        struct jig_run **ret_run, struct err *e)
{
    struct jig_result r = {.outcome = OUTCOME_REFUSED, .exit_code = -1};
    (void)req;
    (void)e;
    SAY(&r,
        "the node is the worker's own machine, and a worker does not boot that: nobody would be "
        "left to see it come back");
    *ret_run = NULL;
    env->finish(env->ctx, &r);
    return 0;
}

static int reboot_step(const struct task_request *req, struct arena *mem, struct reach_step *ret_s,
                       struct err *e)
{
    (void)e;
    boot_step_fill(req, value_get(req->params, "command"), mem, ret_s);
    return 0;
}

static void reboot_judge(const struct task_request *req, const struct reach_end *end,
                         const char *last_line, struct arena *mem, struct jig_result *r)
{
    (void)req;
    (void)mem;
    boot_end_judge(end, last_line, r);
}

static void reboot_preview(const struct jig_env *env, const struct task_request *req,
                           struct jig_result *r)
{
    const struct value *command = value_get(req->params, "command");
    SCOPED_BUF(b);
    buf_puts(&b, "would boot the node by");
    for (uint32_t i = 0; command && i < command->n; i++)
        buf_printf(&b, " %s", command->items[i].s);
    buf_puts(&b, command ? "\n" : " systemctl reboot, shutdown -r now or reboot\n");
    env->log(env->ctx, 1, b.data, b.len);
    SAY(r, "no-op: would boot the node");
}

const struct jig jig_reboot = {
    .name = "reboot",
    .help = "boots the node, and is done when it is up again",
    .check = reboot_check,
    .start = reboot_start,
    .step = reboot_step,
    .judge = reboot_judge,
    .preview = reboot_preview,
};
