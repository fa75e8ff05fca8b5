/* jig_upload.c - a file on the node, written whole or not at all: the jig upload_file
 *
 *   path          absolute, without "..", not ending in a slash
 *   data          its content, text of at most 1 MiB
 *   mode          octal digits in quotes, default "0644"
 *   dir_mode      the same, of parent directories that are missing; without it they are not made
 *   owner, group  names or numbers; without them as they come
 *
 * A file that is as it should be is left alone, so that whoever watches it is not woken.
 *
 * All is done inside start(): what is written is small and local, and a helper thread would cost
 * more than the write does.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "jig/file_i.h"

static int upload_check(const struct value *params, struct err *e)
{
    static const struct jig_param table[] = {{"path", PARAM_STRING},  {"data", PARAM_STRING},
                                             {"mode", PARAM_STRING},  {"dir_mode", PARAM_STRING},
                                             {"owner", PARAM_STRING}, {"group", PARAM_STRING}};
    int rc = jig_params_check(params, table, sizeof table / sizeof table[0], true, e);
    if (rc == 0 && !(value_get(params, "path") && value_get(params, "data")))
        rc = err_set(e, ERR_INVALID, "an upload needs path and data");
    if (rc == 0 && value_as_str(value_get(params, "data")).n > FILE_MAX_BYTES) {
        rc = err_set(e, ERR_TOO_LARGE, "data is larger than %d bytes", (int)FILE_MAX_BYTES);
        err_at(e, "/data");
    }
    return rc < 0 ? rc : file_params_check(params, "path", e);
}

static void preview_tell(const struct file_want *f, enum file_need need, const struct jig_env *env,
                         struct jig_result *r)
{
    static const char *const told[] = {[FILE_SAME] = "no-op: unchanged",
                                       [FILE_NEW] = "no-op: would be written, there is none",
                                       [FILE_CONTENT] = "no-op: its content would change",
                                       [FILE_MODE] = "no-op: its mode would change",
                                       [FILE_OWNER] = "no-op: its owner would change"};
    SCOPED_BUF(b);
    snprintf(r->text, sizeof r->text, "%s", told[need]);
    buf_printf(&b, "%s: %zu bytes, mode %04o: %s\n", f->path, f->data.n, f->mode,
               told[need] + sizeof "no-op: " - 1);
    if (env)
        env->log(env->ctx, 1, b.data, b.len);
}

static void preview_failed(const struct err *e, struct jig_result *r)
{
    r->outcome = OUTCOME_FAILED;
    r->exit_code = -1;
    snprintf(r->text, sizeof r->text, "no-op: %.240s", e->text);
}

static void upload_preview(const struct file_want *f, const struct jig_env *env,
                           struct jig_result *r)
{
    enum file_need need;
    struct err e = {0};
    if (file_local_examine(f, &need, &e) < 0)
        preview_failed(&e, r);
    else
        preview_tell(f, need, env, r);
}

static int upload_start(const struct jig_env *env, const struct task_request *req,
                        struct jig_run **ret_run, struct err *e)
{
    static const char *const told[] = {[FILE_SAME] = "unchanged",
                                       [FILE_NEW] = "written, there was none",
                                       [FILE_CONTENT] = "written, its content has changed",
                                       [FILE_MODE] = "written, its mode has changed",
                                       [FILE_OWNER] = "written, its owner has changed"};
    struct file_want f = file_want_of(req->params, NULL, NULL);
    struct jig_result r = {.outcome = OUTCOME_OK};
    enum file_need need;
    *ret_run = NULL;
    if (req->msg->no_op) {
        upload_preview(&f, env, &r);
        env->finish(env->ctx, &r);
        return 0;
    }
    int rc = file_local_examine(&f, &need, e);
    if (rc == 0 && need != FILE_SAME)
        rc = file_local_write(&f, e);
    if (rc < 0)
        return rc;
    snprintf(r.text, sizeof r.text, "%s", told[need]);
    env->finish(env->ctx, &r);
    return 0;
}

/* One file is put without a look before it: the node compares, and it is one round trip either way.
 */
static int upload_step(const struct task_request *req, struct arena *mem, struct reach_step *ret_s,
                       struct err *e)
{
    struct file_want *f = arena_new(mem, struct file_want, 1);
    struct file_list list = {f, 1, 0};
    (void)e;
    *f = file_want_of(req->params, NULL, NULL);
    if (req->msg->no_op)
        file_sum_step(&list, mem, ret_s);
    else
        (void)file_put_step(&list, NULL, mem, ret_s);
    return 0;
}

static void judge_no_op(const struct task_request *req, const struct reach_end *end,
                        struct arena *mem, struct jig_result *r)
{
    struct file_want f = file_want_of(req->params, NULL, NULL);
    struct file_list list = {&f, 1, f.data.n};
    enum file_need *needs;
    struct err e = {0};
    if (file_sum_read(&list, end->result, mem, &needs, &e) < 0)
        preview_failed(&e, r);
    else
        preview_tell(&f, needs[0], NULL, r);
}

/* The runner says what it found: "unchanged", or what it changed. */
static void upload_judge(const struct task_request *req, const struct reach_end *end,
                         const char *last_line, struct arena *mem, struct jig_result *r)
{
    bool same = str_is(end->note, "unchanged");
    *r = (struct jig_result){.exit_code = end->status,
                             .outcome = end->status == 0 ? OUTCOME_OK : OUTCOME_FAILED};
    if (end->status != 0)
        snprintf(r->text, sizeof r->text, "%s", last_line[0] ? last_line : "it was not written");
    else if (req->msg->no_op)
        judge_no_op(req, end, mem, r);
    else
        snprintf(r->text, sizeof r->text, "%s", same ? "unchanged" : "written");
}

const struct jig jig_upload = {
    .name = "upload_file",
    .help = "writes params.data to the file params.path on the node",
    .check = upload_check,
    .start = upload_start,
    .step = upload_step,
    .judge = upload_judge,
    .tells = true,
};
