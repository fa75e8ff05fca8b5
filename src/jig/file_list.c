/* file_list.c - files by parameters
 *
 *   upload_files  files: [{path, data, mode, dir_mode, owner, group}, ...]
 *   copy_files    files: [{src, dst, mode, dir_mode, owner, group}, ...]
 *   both          mode, dir_mode, owner, group beside `files`: for those that do not say
 *
 * Fuel's names are understood as well: dst for path, permissions for mode, dir_permissions for
 * dir_mode.  A src that is a directory stands for all files below it, which get their places below
 * dst.  Links to files count as what they lead to; what is neither a file nor a directory, and a
 * link to a directory, which may lead back, are refused: rsync is the jig for such trees.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "jig/file_i.h"
#include "sys/fs.h"

enum { MODE_DIGITS = 4, OWNER_MAX = 64 };

/* --- checks --- */

static bool has_dots(struct str path)
{
    for (size_t i = 0; i + 2 < path.n; i++)
        if (!memcmp(path.s + i, "/..", 3) && (i + 3 == path.n || path.s[i + 3] == '/'))
            return true;
    return false;
}

static int check_path(struct str path, const char *name, bool may_be_dir, struct err *e)
{
    if (!path.n || path.s[0] != '/')
        return jig_param_refuse(e, name, "must be absolute");
    if (path.n >= PATH_MAX)
        return jig_param_refuse(e, name, "is longer than a path can be");
    if (has_dots(path))
        return jig_param_refuse(e, name, "must not contain \"..\"");
    if (path.s[path.n - 1] == '/' && !may_be_dir)
        return jig_param_refuse(e, name, "must be that of a file, not end in a slash");
    return 0;
}

/* Absent, or up to so many octal digits. */
static int check_mode(const struct value *params, const char *name, size_t digits, struct err *e)
{
    struct str text = value_as_str(value_get(params, name));
    bool good = text.n >= 1 && text.n <= MODE_DIGITS;
    for (size_t i = 0; good && i < text.n; i++)
        good = text.s[i] >= '0' && text.s[i] <= '7';
    good = good && (text.n <= digits || text.s[0] == '0');
    return good || !value_get(params, name)
               ? 0
               : jig_param_refuse(e, name, "must be octal, as in \"0644\"");
}

/* Absent, or a name or number as chown takes it. */
static int check_owner(const struct value *params, const char *name, struct err *e)
{
    const char *text = value_as_text(value_get(params, name), NULL);
    bool good = !text || (*text && *text != '-' && strlen(text) <= OWNER_MAX &&
                          !strpbrk(text, ": \t\n'\"\\/"));
    return good ? 0 : jig_param_refuse(e, name, "must be a name or a number");
}

int file_params_check(const struct value *params, const char *path_name, struct err *e)
{
    static const char *const modes[] = {"mode", "permissions"},
                             *const dirs[] = {"dir_mode", "dir_permissions"},
                             *const owners[] = {"owner", "group"};
    int rc = path_name ? check_path(value_as_str(value_get(params, path_name)), path_name, false, e)
                       : 0;
    for (size_t i = 0; i < 2 && rc == 0; i++)
        rc = check_mode(params, modes[i], MODE_DIGITS, e);
    for (size_t i = 0; i < 2 && rc == 0; i++)
        rc = check_mode(params, dirs[i], MODE_DIGITS - 1, e);
    for (size_t i = 0; i < 2 && rc == 0; i++)
        rc = check_owner(params, owners[i], e);
    return rc;
}

static int check_one(const struct value *f, bool copies, struct err *e)
{
    static const struct jig_param uploads[] = {{"path", PARAM_STRING},
                                               {"dst", PARAM_STRING},
                                               {"data", PARAM_STRING},
                                               {"mode", PARAM_STRING},
                                               {"dir_mode", PARAM_STRING},
                                               {"permissions", PARAM_STRING},
                                               {"dir_permissions", PARAM_STRING},
                                               {"owner", PARAM_STRING},
                                               {"group", PARAM_STRING}};
    static const struct jig_param copied[] = {{"src", PARAM_STRING},
                                              {"dst", PARAM_STRING},
                                              {"path", PARAM_STRING},
                                              {"mode", PARAM_STRING},
                                              {"dir_mode", PARAM_STRING},
                                              {"permissions", PARAM_STRING},
                                              {"dir_permissions", PARAM_STRING},
                                              {"owner", PARAM_STRING},
                                              {"group", PARAM_STRING}};
    const char *to = value_get(f, "path") ? "path" : "dst", *from = copies ? "src" : "data";
    int rc = jig_params_check(f, copies ? copied : uploads, sizeof uploads / sizeof *uploads, true,
                              e);
    if (rc == 0 && (!value_get(f, to) || !value_get(f, from)))
        rc = err_set(e, ERR_INVALID, "a file needs %s and %s", copies ? "dst" : "path", from);
    if (rc == 0)
        rc = check_path(value_as_str(value_get(f, to)), to, copies, e);
    if (rc == 0 && copies)
        rc = check_path(value_as_str(value_get(f, from)), from, true, e);
    if (rc == 0 && !copies && value_as_str(value_get(f, from)).n > FILE_MAX_BYTES) {
        rc = err_set(e, ERR_TOO_LARGE, "data is larger than %d bytes", (int)FILE_MAX_BYTES);
        err_at(e, "/data");
    }
    return rc < 0 ? rc : file_params_check(f, NULL, e);
}

int file_list_check(const struct value *params, bool copies, struct err *e)
{
    static const struct jig_param table[] = {{"files", PARAM_MAPS},
                                             {"mode", PARAM_STRING},
                                             {"dir_mode", PARAM_STRING},
                                             {"permissions", PARAM_STRING},
                                             {"dir_permissions", PARAM_STRING},
                                             {"owner", PARAM_STRING},
                                             {"group", PARAM_STRING}};
    int rc = jig_params_check(params, table, sizeof table / sizeof *table, true, e);
    const struct value *files = value_get(params, "files");
    if (rc == 0 && (!files || !files->n))
        rc = err_set(e, ERR_INVALID, "files, a list of what to write, is missing or empty");
    if (rc == 0)
        rc = file_params_check(params, NULL, e);
    for (uint32_t i = 0; rc == 0 && i < files->n; i++) {
        rc = check_one(&files->items[i], copies, e);
        if (rc < 0) {
            char at[sizeof e->at];
            snprintf(at, sizeof at, "%s", e->at);
            err_at(e, "/files/%u%.160s", i, at);
        }
    }
    if (rc == 0 && files->n > FILE_LIST_MAX)
        rc = err_set(e, ERR_TOO_LARGE, "more than %d files", (int)FILE_LIST_MAX);
    return rc;
}

/* --- lists --- */

static const char *said(const struct value *own, const struct value *all, const char *name,
                        const char *alias, const char *otherwise)
{
    const struct value *const at[] = {own, all};
    for (size_t i = 0; i < 2; i++) {
        const struct value *v = value_get(at[i], name);
        v = v || !alias ? v : value_get(at[i], alias);
        if (v)
            return value_as_text(v, otherwise);
    }
    return otherwise;
}

struct file_want file_want_of(const struct value *params, const struct value *all,
                              const char *otherwise_dir_mode)
{
    const char *mode = said(params, all, "mode", "permissions", "0644");
    const char *dir_mode = said(params, all, "dir_mode", "dir_permissions", otherwise_dir_mode);
    return (struct file_want){.path = said(params, NULL, "path", "dst", ""),
                              .data = value_as_str(value_get(params, "data")),
                              .mode = (unsigned)strtoul(mode, NULL, 8),
                              .dir_mode = dir_mode ? (unsigned)strtoul(dir_mode, NULL, 8) : 0,
                              .owner = said(params, all, "owner", NULL, NULL),
                              .group = said(params, all, "group", NULL, NULL)};
}

struct making {
    struct arena *mem;
    struct file_list *list;
    size_t room;
    struct err *e;
};

static int list_add(struct making *m, struct file_want f)
{
    struct file_list *l = m->list;
    if (l->n == FILE_LIST_MAX)
        return err_set(m->e, ERR_TOO_LARGE, "more than %d files: rsync is the jig for them",
                       (int)FILE_LIST_MAX);
    l->bytes += f.data.n;
    if (l->bytes > FILE_LIST_BYTES)
        return err_set(m->e, ERR_TOO_LARGE,
                       "more than %d bytes of files: rsync is the jig for them",
                       (int)FILE_LIST_BYTES);
    if (l->n == m->room) {
        m->room = m->room ? 2 * m->room : 16;
        struct file_want *more = arena_new(m->mem, struct file_want, m->room);
        if (l->n)
            memcpy(more, l->at, l->n * sizeof *more);
        l->at = more;
    }
    l->at[l->n++] = f;
    return 0;
}

/* f has everything but path, data and, if `keeps`, mode. */
static int copy_one(struct making *m, struct file_want f, const char *src, const char *dst,
                    bool keeps)
{
    struct stat st;
    SCOPED_BUF(b);
    int rc = fs_read(src, FILE_LIST_BYTES - m->list->bytes, &b, m->e);
    if (rc == -ERR_TOO_LARGE)
        return err_set(m->e, ERR_TOO_LARGE,
                       "more than %d bytes of files: rsync is the jig for them",
                       (int)FILE_LIST_BYTES);
    if (rc < 0)
        return rc;
    if (keeps && stat(src, &st) == 0)
        f.mode = st.st_mode & 07777;
    f.path = arena_strdup(m->mem, dst);
    f.data = (struct str){arena_strndup(m->mem, buf_str(&b).s, b.len), b.len};
    return list_add(m, f);
}

struct pair {
    char *src, *dst;
};
struct pairs { /* directories that are still to be read */
    struct pair *at;
    size_t n, cap;
};

static int copy_entry(struct making *m, const struct file_want *f, const char *src, const char *dst,
                      bool keeps, struct pairs *todo)
{
    struct stat st, link;
    if (stat(src, &st) < 0 || lstat(src, &link) < 0)
        return err_sys(m->e, errno == ENOENT ? ERR_NOT_FOUND : ERR_IO, errno, "cannot look at %s",
                       src);
    if (S_ISREG(st.st_mode))
        return copy_one(m, *f, src, dst, keeps);
    if (!S_ISDIR(st.st_mode) || S_ISLNK(link.st_mode))
        return err_set(m->e, ERR_INVALID, "%s is %s: rsync is the jig for such trees", src,
                       S_ISDIR(st.st_mode) ? "a link to a directory" : "no file");
    vec_push(todo, ((struct pair){xstrdup(src), xstrdup(dst)}));
    return 0;
}

static int copy_directory(struct making *m, const struct file_want *f, const struct pair *dir,
                          bool keeps, struct pairs *todo)
{
    char **names = NULL;
    size_t n = 0;
    int rc = fs_list(dir->src, &names, &n, m->e);
    for (size_t i = 0; rc >= 0 && i < n; i++) {
        char *src = fs_join(dir->src, names[i]), *dst = fs_join(dir->dst, names[i]);
        rc = strlen(dst) < PATH_MAX ? copy_entry(m, f, src, dst, keeps, todo)
                                    : err_set(m->e, ERR_INVALID, "%s is too long a path", dst);
        free(src);
        free(dst);
    }
    for (size_t i = 0; i < n; i++)
        free(names[i]);
    free(names);
    return rc < 0 ? rc : 0;
}

static int copy_tree(struct making *m, const struct value *v, const struct value *all)
{
    const char *src = value_as_text(value_get(v, "src"), ""), *name = strrchr(src, '/') + 1;
    struct file_want f = file_want_of(v, all, "0755");
    bool keeps = !said(v, all, "mode", "permissions", NULL);
    struct pairs todo = {0};
    size_t n = strlen(f.path);
    char *dst = n && f.path[n - 1] == '/' && *name && !fs_is_dir(src) ? fs_join(f.path, name)
                                                                      : xstrdup(f.path);
    int rc = fs_is_dir(src) ? 0 : copy_entry(m, &f, src, dst, keeps, &todo);
    if (fs_is_dir(src)) /* a link that is named itself is followed */
        vec_push(&todo, ((struct pair){xstrdup(src), xstrdup(dst)}));
    while (todo.n) {
        struct pair dir = todo.at[--todo.n];
        if (rc == 0)
            rc = copy_directory(m, &f, &dir, keeps, &todo);
        free(dir.src);
        free(dir.dst);
    }
    vec_done(&todo);
    free(dst);
    return rc;
}

int file_list_make(const struct value *params, bool copies, struct arena *mem,
                   struct file_list *ret_list, struct err *e)
{
    const struct value *files = value_get(params, "files");
    *ret_list = (struct file_list){0};
    struct making m = {.mem = mem, .list = ret_list, .e = e};
    int rc = 0;
    for (uint32_t i = 0; rc == 0 && i < files->n; i++)
        rc = copies ? copy_tree(&m, &files->items[i], params)
                    : list_add(&m, file_want_of(&files->items[i], params, "0755"));
    if (rc == 0 && !ret_list->n)
        rc = err_set(e, ERR_NOT_FOUND, "there is no file in what is to be copied");
    return rc;
}
