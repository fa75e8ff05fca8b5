/* jig_upload.c - a file on the node, written whole or not at all: the jig upload_file
 *
 *   path      absolute, without "..", not ending in a slash
 *   data      its content, text of at most 1 MiB
 *   mode      octal digits in quotes, default "0644"
 *   dir_mode  the same, of parent directories that are missing; without it they are not made
 *
 * The content goes to a new file beside the path, which then takes its place: who reads the path
 * sees the old file or the new one, and a symbolic link there is replaced, never followed.  A file
 * that has this content and mode already is left alone, so that whoever watches it is not woken.
 * Directories in between may be links, as /var/run is.
 *
 * All is done inside start(): what is written is small and local, and a helper thread would cost
 * more than the write does.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "jig/jig_i.h"
#include "sys/fs.h"

enum { UPLOAD_MAX_BYTES = 1024 * 1024, MODE_DIGITS = 4 };

struct upload { /* the parameters, once they are known to be sound */
    const char *path;
    struct str data;
    mode_t mode, dir_mode;
    bool makes_dirs;
};
enum upload_need { UPLOAD_NOTHING, UPLOAD_NEW, UPLOAD_CONTENT, UPLOAD_MODE };

static bool has_dots(struct str path)
{
    for (size_t i = 0; i + 2 < path.n; i++)
        if (!memcmp(path.s + i, "/..", 3) && (i + 3 == path.n || path.s[i + 3] == '/'))
            return true;
    return false;
}

static int check_path(struct str path, struct err *e)
{
    if (!path.n || path.s[0] != '/')
        return jig_param_refuse(e, "path", "must be absolute");
    if (path.n >= PATH_MAX)
        return jig_param_refuse(e, "path", "is longer than a path can be");
    if (has_dots(path))
        return jig_param_refuse(e, "path", "must not contain \"..\"");
    if (path.s[path.n - 1] == '/')
        return jig_param_refuse(e, "path", "must be that of a file, not end in a slash");
    return 0;
}

/* Absent, or up to four octal digits. */
static int check_mode(const struct value *params, const char *name, struct err *e)
{
    struct str text = value_as_str(value_get(params, name));
    bool good = text.n >= 1 && text.n <= MODE_DIGITS;
    for (size_t i = 0; good && i < text.n; i++)
        good = text.s[i] >= '0' && text.s[i] <= '7';
    return good || !value_get(params, name)
               ? 0
               : jig_param_refuse(e, name, "must be octal, as in \"0644\"");
}

static int upload_check(const struct value *params, struct err *e)
{
    static const struct jig_param table[] = {{"path", PARAM_STRING},
                                             {"data", PARAM_STRING},
                                             {"mode", PARAM_STRING},
                                             {"dir_mode", PARAM_STRING}};
    int rc = jig_params_check(params, table, sizeof table / sizeof table[0], true, e);
    if (rc == 0 && !(value_get(params, "path") && value_get(params, "data")))
        rc = err_set(e, ERR_INVALID, "an upload needs path and data");
    if (rc == 0)
        rc = check_path(value_as_str(value_get(params, "path")), e);
    if (rc == 0 && value_as_str(value_get(params, "data")).n > UPLOAD_MAX_BYTES) {
        rc = err_set(e, ERR_TOO_LARGE, "data is larger than %d bytes", (int)UPLOAD_MAX_BYTES);
        err_at(e, "/data");
    }
    if (rc == 0)
        rc = check_mode(params, "mode", e);
    return rc < 0 ? rc : check_mode(params, "dir_mode", e);
}

static struct upload upload_of(const struct value *params)
{
    const char *dir_mode = value_as_text(value_get(params, "dir_mode"), NULL);
    return (struct upload){
        .path = value_as_text(value_get(params, "path"), ""),
        .data = value_as_str(value_get(params, "data")),
        .mode = (mode_t)strtoul(value_as_text(value_get(params, "mode"), "0644"), NULL, 8),
        .dir_mode = dir_mode ? (mode_t)strtoul(dir_mode, NULL, 8) : 0,
        .makes_dirs = dir_mode != NULL};
}

/* What is to be done, by what is there now.  Errors: it cannot be done whatever is written. */
static int upload_examine(const struct upload *u, enum upload_need *ret_need, struct err *e)
{
    struct stat st;
    struct err unread;
    SCOPED_BUF(now);
    if (lstat(u->path, &st) < 0) {
        if (errno != ENOENT && errno != ENOTDIR)
            return err_sys(e, ERR_IO, errno, "cannot look at %s", u->path);
        *ret_need = UPLOAD_NEW;
        return 0;
    }
    if (S_ISDIR(st.st_mode))
        return err_set(e, ERR_INVALID, "%s is a directory", u->path);
    bool same = S_ISREG(st.st_mode) && st.st_size == (off_t)u->data.n &&
                fs_read(u->path, UPLOAD_MAX_BYTES, &now, &unread) >= 0 && now.len == u->data.n &&
                (!now.len || !memcmp(now.data, u->data.s, now.len));
    *ret_need = !same                             ? UPLOAD_CONTENT
                : (st.st_mode & 07777) != u->mode ? UPLOAD_MODE
                                                  : UPLOAD_NOTHING;
    return 0;
}

static int upload_write(const struct upload *u, struct err *e)
{
    char *dir = xstrdup(u->path);
    *strrchr(dir, '/') = '\0';
    int rc = u->makes_dirs && dir[0] ? fs_mkdirs(dir, u->dir_mode, e) : 0;
    free(dir);
    return rc < 0 ? rc : fs_write_atomic(u->path, u->data.s, u->data.n, u->mode, e);
}

static int upload_start(const struct jig_env *env, const struct task_request *req,
                        struct jig_run **ret_run, struct err *e)
{
    static const char *const told[] = {[UPLOAD_NOTHING] = "unchanged",
                                       [UPLOAD_NEW] = "written, there was none",
                                       [UPLOAD_CONTENT] = "written, its content has changed",
                                       [UPLOAD_MODE] = "written, its mode has changed"};
    struct upload u = upload_of(req->params);
    struct jig_result r = {.outcome = OUTCOME_OK};
    enum upload_need need;
    int rc = upload_examine(&u, &need, e);
    if (rc == 0 && need != UPLOAD_NOTHING)
        rc = upload_write(&u, e);
    if (rc < 0)
        return rc;
    snprintf(r.text, sizeof r.text, "%s", told[need]);
    *ret_run = NULL;
    env->finish(env->ctx, &r);
    return 0;
}

static void upload_preview(const struct jig_env *env, const struct task_request *req,
                           struct jig_result *r)
{
    static const char *const told[] = {[UPLOAD_NOTHING] = "no-op: unchanged",
                                       [UPLOAD_NEW] = "no-op: would be written, there is none",
                                       [UPLOAD_CONTENT] = "no-op: its content would change",
                                       [UPLOAD_MODE] = "no-op: its mode would change"};
    struct upload u = upload_of(req->params);
    enum upload_need need;
    struct err e = {0};
    SCOPED_BUF(b);
    if (upload_examine(&u, &need, &e) < 0) {
        r->outcome = OUTCOME_FAILED;
        r->exit_code = -1;
        snprintf(r->text, sizeof r->text, "no-op: %.240s", e.text);
        return;
    }
    snprintf(r->text, sizeof r->text, "%s", told[need]);
    buf_printf(&b, "%s: %zu bytes, mode %04o: %s\n", u.path, u.data.n, (unsigned)u.mode,
               told[need] + sizeof "no-op: " - 1);
    env->log(env->ctx, 1, b.data, b.len);
}

static int upload_step(const struct task_request *req, struct arena *mem, struct reach_step *ret_s,
                       struct err *e)
{
    struct upload u = upload_of(req->params);
    struct reach_put *put = arena_new(mem, struct reach_put, 1);
    (void)e;
    *put = (struct reach_put){
        .path = u.path, .content = u.data, .mode = u.mode, .dir_mode = u.dir_mode};
    ret_s->kind = REACH_PUT;
    ret_s->puts = put;
    ret_s->puts_n = 1;
    return 0;
}

/* The runner says what it found: "unchanged", or what it changed. */
static void upload_judge(const struct task_request *req, const struct reach_end *end,
                         const char *last_line, struct arena *mem, struct jig_result *r)
{
    bool same = str_is(end->note, "unchanged");
    (void)req;
    (void)mem;
    *r = (struct jig_result){.exit_code = end->status,
                             .outcome = end->status == 0 ? OUTCOME_OK : OUTCOME_FAILED};
    if (end->status == 0)
        snprintf(r->text, sizeof r->text, "%s", same ? "unchanged" : "written");
    else
        snprintf(r->text, sizeof r->text, "%s", last_line[0] ? last_line : "it was not written");
}

const struct jig jig_upload = {
    .name = "upload_file",
    .help = "writes params.data to the file params.path on the node",
    .check = upload_check,
    .start = upload_start,
    .step = upload_step,
    .judge = upload_judge,
    .preview = upload_preview,
};
