/* file_local.c - a file on this machine: what is there, and writing it whole or not at all
 *
 * The content goes to a new file beside the path, which then takes its place: who reads the path
 * sees the old file or the new one, and a symbolic link there is replaced, never followed.
 * Directories in between may be links, as /var/run is.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/text.h"
#include "jig/file_i.h"
#include "sys/fs.h"

enum { ACCOUNT_BYTES = 16 * 1024 };

const char *file_need_text(enum file_need need)
{
    static const char *const texts[] = {[FILE_SAME] = "unchanged",
                                        [FILE_NEW] = "new",
                                        [FILE_CONTENT] = "content",
                                        [FILE_MODE] = "mode",
                                        [FILE_OWNER] = "owner"};
    return texts[need];
}

/* As chown: a name that there is, else a number.  -1: not said. */
static int user_find(const char *name, uid_t *ret_uid, struct err *e)
{
    struct passwd pw, *found = NULL;
    char bytes[ACCOUNT_BYTES];
    uint64_t number;
    *ret_uid = (uid_t)-1;
    if (!name)
        return 0;
    if (getpwnam_r(name, &pw, bytes, sizeof bytes, &found) == 0 && found)
        *ret_uid = pw.pw_uid;
    else if (text_u64(str_of(name), UINT32_MAX - 1, &number, NULL) == 0)
        *ret_uid = (uid_t)number;
    else
        return err_set(e, ERR_UNKNOWN_NAME, "there is no user %s", name);
    return 0;
}

static int group_find(const char *name, gid_t *ret_gid, struct err *e)
{
    struct group gr, *found = NULL;
    char bytes[ACCOUNT_BYTES];
    uint64_t number;
    *ret_gid = (gid_t)-1;
    if (!name)
        return 0;
    if (getgrnam_r(name, &gr, bytes, sizeof bytes, &found) == 0 && found)
        *ret_gid = gr.gr_gid;
    else if (text_u64(str_of(name), UINT32_MAX - 1, &number, NULL) == 0)
        *ret_gid = (gid_t)number;
    else
        return err_set(e, ERR_UNKNOWN_NAME, "there is no group %s", name);
    return 0;
}

static bool has_content(const struct file_want *f, const struct stat *st)
{
    struct err unread;
    SCOPED_BUF(now);
    return S_ISREG(st->st_mode) && st->st_size == (off_t)f->data.n &&
           fs_read(f->path, f->data.n, &now, &unread) >= 0 && now.len == f->data.n &&
           (!now.len || !memcmp(now.data, f->data.s, now.len));
}

/* Errors: it cannot be done whatever is written. */
int file_local_examine(const struct file_want *f, enum file_need *ret_need, struct err *e)
{
    struct stat st;
    uid_t uid;
    gid_t gid;
    int rc = user_find(f->owner, &uid, e);
    if (rc == 0)
        rc = group_find(f->group, &gid, e);
    if (rc < 0)
        return rc;
    *ret_need = FILE_NEW;
    if (lstat(f->path, &st) < 0)
        return errno == ENOENT || errno == ENOTDIR
                   ? 0
                   : err_sys(e, ERR_IO, errno, "cannot look at %s", f->path);
    if (S_ISDIR(st.st_mode))
        return err_set(e, ERR_INVALID, "%s is a directory", f->path);
    bool owned = (uid == (uid_t)-1 || uid == st.st_uid) && (gid == (gid_t)-1 || gid == st.st_gid);
    *ret_need = !has_content(f, &st)              ? FILE_CONTENT
                : (st.st_mode & 07777) != f->mode ? FILE_MODE
                : !owned                          ? FILE_OWNER
                                                  : FILE_SAME;
    return 0;
}

int file_local_write(const struct file_want *f, struct err *e)
{
    char *dir = xstrdup(f->path);
    uid_t uid;
    gid_t gid;
    *strrchr(dir, '/') = '\0';
    int rc = f->dir_mode && dir[0] ? fs_mkdirs(dir, f->dir_mode, e) : 0;
    free(dir);
    if (rc == 0)
        rc = user_find(f->owner, &uid, e);
    if (rc == 0)
        rc = group_find(f->group, &gid, e);
    return rc < 0 ? rc : fs_write_owned(f->path, f->data.s, f->data.n, f->mode, uid, gid, e);
}
