/* backup_restore.c - a backup becomes the data directory of a server
 *
 * Two passes: the first reads the archive to its end and writes nothing; the second unpacks it into
 * DIR/.restoring.  There the store is checked with what came with it, as a server would find it.
 * Then everything moves up into DIR, the store last.  A server does not start on a directory in
 * which this was not finished.  It works in place, by renames within one directory: DIR may be the
 * root of a file system, and the user who restores may have nothing above it.
 *
 * Files get the owner who restores and mode 0600, directories 0700, whatever the archive says.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/text.h"
#include "server/backup_i.h"
#include "server/sealed.h"
#include "sys/fs.h"

#define STAGE ".restoring" /* in the data directory */

static const char sqlite_mark[] = "SQLite format 3";

struct restoring {
    const struct backup_from *from;
    char *stage, *db;
    struct backup_seen seen;
    struct backup_sum sum;
};

/* --- the directory --- */

static int not_empty(const char *dir, const char *name, struct err *e)
{
    bool again = strcmp(name, STAGE) == 0;
    err_set(e, ERR_REFUSED,
            again ? "a restore into this directory was interrupted: %s is in it"
                  : "the directory is not empty: %s is in it",
            name);
    err_at(e, "%s", dir);
    return again ? err_hint(e, "empty the directory, and restore again")
                 : err_hint(e, "a backup is restored into an empty directory: stop the server and "
                               "move the old one away, or name another with --data-dir");
}

/* Nothing but what a file system has of its own, and what is left of a restore that had not come
 * far. */
static int directory_empty(const char *dir, struct err *e)
{
    char **names = NULL;
    size_t n = 0;
    const char *other = NULL;
    bool stage = false;
    int rc = fs_list(dir, &names, &n, e);
    for (size_t i = 0; i < n; i++) {
        if (strcmp(names[i], STAGE) == 0)
            stage = true;
        else if (strcmp(names[i], "lost+found") != 0 && !other)
            other = names[i];
    }
    if (rc >= 0 && other)
        rc = not_empty(dir, stage ? STAGE : other, e);
    for (size_t i = 0; i < n; i++)
        free(names[i]);
    free(names);
    return rc;
}

static int directory_take(const char *dir, int *ret_fd, struct err *e)
{
    int rc = fs_mkdirs(dir, 0700, e);
    if (rc < 0)
        return rc;
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return err_sys(e, ERR_IO, errno, "cannot open %s", dir);
    if (flock(fd, LOCK_EX | LOCK_NB) < 0)
        rc = err_set(e, ERR_BUSY, "somebody else restores into %s", dir);
    if (rc >= 0)
        rc = directory_empty(dir, e);
    if (rc < 0)
        close(fd);
    else
        *ret_fd = fd;
    return rc;
}

int backup_unfinished(const char *data_dir, struct err *e)
{
    char *stage = fs_join(data_dir, STAGE), *db = fs_join(data_dir, BACKUP_STORE);
    bool left = fs_is_dir(stage);
    /* The store comes last: if it is in place, and nothing waits any more, all of it is. */
    if (left && fs_exists(db) && rmdir(stage) == 0)
        left = false;
    free(stage);
    free(db);
    return left ? not_empty(data_dir, STAGE, e) : 0;
}

/* --- unpacking --- */

static int file_write(int fd, const char *bytes, size_t n)
{
    while (n > 0) {
        ssize_t put = write(fd, bytes, n);
        if (put < 0 && errno == EINTR)
            continue;
        if (put < 0)
            return -1;
        bytes += put;
        n -= (size_t)put;
    }
    return 0;
}

static int file_fail(const char *path, struct err *e)
{
    int sys = errno;
    return err_sys(e, sys == ENOSPC || sys == EDQUOT ? ERR_DISK_FULL : ERR_IO, sys,
                   "cannot write %s", path);
}

static int unpack_to(struct archive_in *in, const char *path, struct err *e)
{
    char *piece = xcalloc(1, ARCHIVE_PIECE_BYTES);
    size_t n = 0;
    int rc = 0, fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        rc = file_fail(path, e);
    while (rc >= 0) {
        rc = archive_read(in, piece, ARCHIVE_PIECE_BYTES, &n, e);
        if (rc < 0 || n == 0)
            break;
        if (file_write(fd, piece, n) < 0)
            rc = file_fail(path, e);
    }
    if (rc >= 0 && fsync(fd) < 0)
        rc = file_fail(path, e);
    if (fd >= 0)
        close(fd);
    explicit_bzero(piece, ARCHIVE_PIECE_BYTES);
    free(piece);
    return rc;
}

static int unpack_member(void *arg, struct archive_in *in, const struct archive_member *m,
                         struct err *e)
{
    struct restoring *k = arg;
    char *path = fs_join(k->stage, m->name);
    char *slash = strrchr(path, '/');
    *slash = '\0';
    int rc = fs_mkdirs(path, 0700, e);
    *slash = '/';
    if (rc >= 0)
        rc = unpack_to(in, path, e);
    free(path);
    return rc;
}

static int pass(struct restoring *k, backup_member_f *fn, struct backup_seen *ret, struct err *e)
{
    struct archive_in *in = NULL;
    int rc = archive_open(k->from->archive, k->from->passphrase, &in, e);
    if (rc >= 0)
        rc = backup_pass(in, fn, k, ret, e);
    archive_close(in);
    if (rc < 0 && !e->at[0])
        err_at(e, "%s", k->from->archive);
    return rc;
}

static int unpack(struct restoring *k, struct err *e)
{
    struct backup_seen again;
    int rc = fs_remove_tree(k->stage, e);
    if (rc >= 0)
        rc = fs_mkdirs(k->stage, 0700, e);
    if (rc >= 0)
        rc = pass(k, unpack_member, &again, e);
    if (rc >= 0 && memcmp(&again.digest, &k->seen.digest, sizeof again.digest) != 0)
        rc = err_set(e, ERR_CONFLICT, "%s was changed while it was read", k->from->archive);
    return rc;
}

/* As a server would find it, migrated if it is older; then it is of a history of its own. */
static int check(struct restoring *k, struct err *e)
{
    SCOPED_BUF(lock);
    int rc = store_check_full(k->db, e);
    if (rc >= 0)
        rc = backup_store_check(k->db, k->stage, true, &k->sum, e);
    if (rc >= 0 && k->sum.journal != k->seen.about.journal)
        rc = err_set(e, ERR_CORRUPT,
                     "its store ends with event %" PRIu64 ", and should with %" PRIu64,
                     k->sum.journal, k->seen.about.journal);
    if (rc >= 0)
        rc = store_restored(k->db, (uint64_t)time(NULL), e);
    if (rc < 0) {
        err_wrap(e, "what the backup holds");
        return err_hint(e, "take another backup: nothing was changed");
    }
    buf_printf(&lock, "%s.lock", k->db);
    (void)unlink(lock.data);
    return 0;
}

/* --- into place --- */

static int move_up(struct restoring *k, const char *name, struct err *e)
{
    char *from = fs_join(k->stage, name), *to = fs_join(k->from->data_dir, name);
    int rc = 0;
    if (fs_is_dir(from))
        rc = fs_sync_dir(from, e);
    if (rc >= 0 && rename(from, to) < 0)
        rc = err_sys(e, ERR_IO, errno, "cannot put %s in place", to);
    free(from);
    free(to);
    return rc;
}

/* The store last: with it in place all of it is. */
static int move_all(struct restoring *k, struct err *e)
{
    char **names = NULL;
    size_t n = 0;
    int rc = fs_sync_dir(k->stage, e);
    if (rc >= 0)
        rc = fs_list(k->stage, &names, &n, e);
    for (size_t i = 0; i < n; i++) {
        if (rc >= 0 && strcmp(names[i], BACKUP_STORE) != 0)
            rc = move_up(k, names[i], e);
        free(names[i]);
    }
    free(names);
    if (rc >= 0)
        rc = fs_sync_dir(k->from->data_dir, e);
    if (rc >= 0)
        rc = move_up(k, BACKUP_STORE, e);
    if (rc >= 0 && rmdir(k->stage) < 0)
        rc = err_sys(e, ERR_IO, errno, "cannot remove %s", k->stage);
    return rc < 0 ? rc : fs_sync_dir(k->from->data_dir, e);
}

static void tell(const struct restoring *k, struct buf *b)
{
    const char *dir = k->from->data_dir;
    const struct backup_seen *s = &k->seen;
    buf_printf(b, "restored %s from %s: all up to event %" PRIu64 ", %s, %s%s%s\n", dir,
               k->from->archive, s->about.journal, text_count(s->resources, "content").s,
               text_count(s->logs, "log").s, s->key ? ", the key of sealed values" : "",
               s->authority ? ", the authority that workers trust" : "");
    buf_printf(b,
               "the server it was taken from must not run any more; its settings are in "
               "%s/%s:\n    anneald --config %s/%s --data-dir %s\n",
               dir, BACKUP_SETTINGS, dir, BACKUP_SETTINGS, dir);
    buf_puts(b, "not in a backup: files that settings name outside of the data directory "
                "(ssh_identity, tls_cert, tls_key, plugin_path)\n");
}

static int restore_archive(const struct backup_from *f, struct buf *ret_lines, struct err *e)
{
    struct restoring k = {.from = f, .stage = fs_join(f->data_dir, STAGE)};
    struct err ignored;
    int fd = -1;
    k.db = fs_join(k.stage, BACKUP_STORE);
    /* The archive first: a directory is not made for one that is worth nothing. */
    int rc = pass(&k, NULL, &k.seen, e);
    if (rc >= 0)
        rc = directory_take(f->data_dir, &fd, e);
    if (rc >= 0) {
        rc = backup_room(f->data_dir, k.seen.bytes, e);
        if (rc >= 0)
            rc = unpack(&k, e);
        if (rc >= 0)
            rc = check(&k, e);
        if (rc < 0)
            (void)fs_remove_tree(k.stage, &ignored);
        else
            rc = move_all(&k, e);
    }
    if (rc >= 0)
        tell(&k, ret_lines);
    if (fd >= 0)
        close(fd);
    free(k.db);
    free(k.stage);
    return rc < 0 ? rc : 0;
}

/* --- a store alone, as backups were before they were whole --- */

static bool is_bare_store(const char *path)
{
    char head[sizeof sqlite_mark] = {0};
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    ssize_t n = fd >= 0 ? read(fd, head, sizeof head) : -1;
    if (fd >= 0)
        close(fd);
    return n == sizeof head && memcmp(head, sqlite_mark, sizeof head) == 0;
}

/* What is sealed in it needs the key that is in the directory. */
static void tell_sealed(const char *db, const char *dir, struct buf *b)
{
    struct store_options o = {.path = db};
    struct sealed_count sealed;
    struct store *s = NULL;
    struct err e;
    int rc = store_open(&o, &s, &e);
    if (rc >= 0)
        rc = sealed_check(s, dir, &sealed, &e);
    if (rc < 0)
        buf_printf(b, "warning: %s\n  %s\n", e.text, e.hint);
    store_close(s);
}

static int restore_bare(const struct backup_from *f, struct buf *ret_lines, struct err *e)
{
    char *to = fs_join(f->data_dir, BACKUP_STORE), *run = fs_join(f->data_dir, "run");
    int rc = fs_mkdirs(f->data_dir, 0700, e);
    if (rc >= 0)
        rc = backup_unfinished(f->data_dir, e);
    if (rc >= 0)
        rc = store_restore(f->archive, to, e);
    /* Locks tell of attempts that the restored store has not heard of, and would refuse lower
     * numbers. */
    if (rc >= 0 && fs_exists(run))
        rc = fs_remove_tree(run, e);
    if (rc >= 0) {
        buf_printf(ret_lines,
                   "restored %s from %s, a store alone: keys and contents of resources are "
                   "those of the directory\n",
                   to, f->archive);
        tell_sealed(to, f->data_dir, ret_lines);
    }
    free(run);
    free(to);
    return rc < 0 ? rc : 0;
}

int backup_restore(const struct backup_from *f, struct buf *ret_lines, struct err *e)
{
    return is_bare_store(f->archive) ? restore_bare(f, ret_lines, e)
                                     : restore_archive(f, ret_lines, e);
}
