/* jig_files.c - several files on the node, each written whole or not at all: the jigs upload_files,
 * whose texts are parameters, and copy_files, whose texts are on the worker's machine
 *
 * What they take is in file_list.c.  Files that are as they should be are neither sent nor touched.
 * They are written in the order of the list, which ends at the first that cannot be.
 *
 * On this machine all is done inside start(): at most 16 MiB are read, compared and written.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "jig/file_i.h"

#define SAY(r, ...) snprintf((r)->text, sizeof(r)->text, __VA_ARGS__)

static void log_need(const struct jig_env *env, const struct file_want *f, enum file_need need,
                     bool no_op)
{
    SCOPED_BUF(b);
    buf_printf(&b, "%s: %zu bytes, mode %04o: %s%s\n", f->path, f->data.n, f->mode,
               no_op ? "would be written: " : "", file_need_text(need));
    env->log(env->ctx, 1, b.data, b.len);
}

static void say_count(struct jig_result *r, size_t changed, size_t n, bool no_op)
{
    const char *head = no_op ? "no-op: " : "";
    if (!changed)
        SAY(r, "%sunchanged: %zu file%s", head, n, n == 1 ? "" : "s");
    else
        SAY(r, "%s%zu of %zu files %s", head, changed, n, no_op ? "would be written" : "written");
}

static int files_start(bool copies, const struct jig_env *env, const struct task_request *req,
                       struct jig_run **ret_run, struct err *e)
{
    struct jig_result r = {.outcome = OUTCOME_OK};
    struct file_list list;
    size_t changed = 0;
    SCOPED_ARENA(mem);
    int rc = file_list_make(req->params, copies, &mem, &list, e);
    for (size_t i = 0; rc == 0 && i < list.n; i++) {
        enum file_need need;
        rc = file_local_examine(&list.at[i], &need, e);
        if (rc < 0 || need == FILE_SAME)
            continue;
        if (!req->msg->no_op)
            rc = file_local_write(&list.at[i], e);
        if (rc == 0)
            log_need(env, &list.at[i], need, req->msg->no_op);
        changed++;
    }
    if (rc < 0)
        return rc;
    say_count(&r, changed, list.n, req->msg->no_op);
    *ret_run = NULL;
    env->finish(env->ctx, &r);
    return 0;
}

static int files_step(bool copies, const struct task_request *req, struct arena *mem,
                      struct reach_step *ret_s, struct err *e)
{
    struct file_list list;
    int rc = file_list_make(req->params, copies, mem, &list, e);
    if (rc == 0 && req->part == 0)
        file_sum_step(&list, mem, ret_s);
    else if (rc == 0) /* which of them is not known any more: the node compares them all */
        (void)file_put_step(&list, NULL, mem, ret_s);
    return rc;
}

/* What is on this machine is read once more: what is written is what is there then. */
static int files_needs(bool copies, const struct task_request *req, const struct reach_end *end,
                       struct arena *mem, struct file_list *list, enum file_need **ret_needs,
                       struct err *e)
{
    int rc = file_list_make(req->params, copies, mem, list, e);
    return rc < 0 ? rc : file_sum_read(list, end->result, mem, ret_needs, e);
}

static int files_next(bool copies, const struct jig_env *env, const struct task_request *req,
                      const struct reach_end *end, struct arena *mem, struct reach_step *ret_s,
                      struct err *e)
{
    struct file_list list;
    enum file_need *needs;
    if (end->status != 0)
        return 0;
    int rc = files_needs(copies, req, end, mem, &list, &needs, e);
    for (size_t i = 0; rc == 0 && i < list.n; i++)
        if (needs[i] != FILE_SAME)
            log_need(env, &list.at[i], needs[i], req->msg->no_op);
    if (rc < 0)
        return rc;
    return !req->msg->no_op && file_put_step(&list, needs, mem, ret_s) ? 1 : 0;
}

static void files_judge(bool copies, const struct task_request *req, const struct reach_end *end,
                        const char *last_line, struct arena *mem, struct jig_result *r)
{
    struct file_list list;
    enum file_need *needs;
    struct err e = {0};
    size_t changed = 0;
    *r = (struct jig_result){.exit_code = end->status,
                             .outcome = end->status == 0 ? OUTCOME_OK : OUTCOME_FAILED};
    if (end->status != 0) {
        SAY(r, "%s", last_line[0] ? last_line : "the files could not be written");
    } else if (req->part > 0) {
        SAY(r, "written: %.*s", (int)(end->note.n < 100 ? end->note.n : 100), end->note.s);
    } else if (req->complete && !req->msg->no_op) { /* all are what they should be */
        size_t n = 0;
        while (2 * n + 1 < end->result.n && !memcmp(end->result.s + 2 * n, "f\n", 2))
            n++;
        say_count(r, 0, n, false);
    } else if (files_needs(copies, req, end, mem, &list, &needs, &e) < 0) {
        r->outcome = OUTCOME_FAILED;
        SAY(r, "%.240s", e.text);
    } else {
        for (size_t i = 0; i < list.n; i++)
            changed += needs[i] != FILE_SAME;
        say_count(r, changed, list.n, req->msg->no_op);
        if (changed && !req->msg->no_op) { /* it was cut before the second step */
            r->outcome = OUTCOME_FAILED;
            SAY(r, "ended before %zu of %zu files were written", changed, list.n);
        }
    }
}

/* The two of them. */
#define FILES_JIG(which, copies)                                                                   \
    static int which##_check(const struct value *params, struct err *e)                            \
    {                                                                                              \
        return file_list_check(params, copies, e);                                                 \
    }                                                                                              \
    static int which##_start(const struct jig_env *env, const struct task_request *req,            \
                             struct jig_run **ret_run, struct err *e)                              \
    {                                                                                              \
        return files_start(copies, env, req, ret_run, e);                                          \
    }                                                                                              \
    static int which##_step(const struct task_request *req, struct arena *mem,                     \
                            struct reach_step *ret_s, struct err *e)                               \
    {                                                                                              \
        return files_step(copies, req, mem, ret_s, e);                                             \
    }                                                                                              \
    static int which##_next(const struct jig_env *env, const struct task_request *req,             \
                            const struct reach_end *end, struct arena *mem,                        \
                            struct reach_step *ret_s, struct err *e)                               \
    {                                                                                              \
        return files_next(copies, env, req, end, mem, ret_s, e);                                   \
    }                                                                                              \
    static void which##_judge(const struct task_request *req, const struct reach_end *end,         \
                              const char *last_line, struct arena *mem, struct jig_result *r)      \
    {                                                                                              \
        files_judge(copies, req, end, last_line, mem, r);                                          \
    }
FILES_JIG(upload, false)
FILES_JIG(copy, true)

const struct jig jig_upload_files = {
    .name = "upload_files",
    .help = "writes the texts of params.files to files on the node",
    .check = upload_check,
    .start = upload_start,
    .step = upload_step,
    .next = upload_next,
    .judge = upload_judge,
    .tells = true,
};

const struct jig jig_copy_files = {
    .name = "copy_files",
    .help = "copies params.files from the worker's machine to the node",
    .check = copy_check,
    .start = copy_start,
    .step = copy_step,
    .next = copy_next,
    .judge = copy_judge,
    .tells = true,
};
