/* backup_make.c - a backup is made: one moment of the store, and what goes with it
 *
 * The store is copied first, from one snapshot, beside the running server.  What the copy's rows
 * count on is then there for as long as this takes: keys never change, contents are never changed
 * under their name and are not removed meanwhile (resources.c).  So the archive holds together
 * although it is not made at one instant.
 *
 * It is written under another name, synced, and read back to its last byte before it gets its own.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/log.h"
#include "server/backup_i.h"
#include "sys/fs.h"

#define TMP_DIR "backup.tmp" /* in the data directory; the copy of the store */
#define PARTIAL ".partial"

struct making {
    const struct backup_wish *wish;
    struct backup_watch *watch;
    struct archive_out *out;
    struct backup_sum sum;
    char *tmp, *copy, *partial;
    struct backup_made made;
};

static int stopped(struct err *e)
{
    return err_set(e, ERR_BUSY, "the backup was given up: the server ends");
}

static int watched(void *arg, uint64_t bytes, struct err *e)
{
    struct making *k = arg;
    atomic_fetch_add(&k->watch->done, bytes);
    return atomic_load(&k->watch->stop) ? stopped(e) : 0;
}

/* --- the store --- */

static void copy_progress(void *arg, int done, int total)
{
    struct making *k = arg;
    (void)total;
    atomic_store(&k->watch->done, (uint64_t)done * 4096);
}

static int copy_store(struct making *k, struct err *e)
{
    char *db = fs_join(k->wish->data_dir, BACKUP_STORE);
    struct store_options reader = {.path = db, .read_only = true};
    struct store *from = NULL;
    int rc = fs_remove_tree(k->tmp, e);
    if (rc >= 0)
        rc = fs_mkdirs(k->tmp, 0700, e);
    if (rc >= 0)
        rc = store_open(&reader, &from, e);
    if (rc >= 0)
        rc = backup_room(k->wish->data_dir, store_bytes(from), e);
    if (rc >= 0) {
        atomic_store(&k->watch->total, 3 * store_bytes(from));
        rc = store_backup(from, k->copy, copy_progress, k, e);
    }
    store_close(from);
    if (rc >= 0)
        rc = backup_store_check(k->copy, k->wish->data_dir, false, &k->sum, e);
    free(db);
    return rc < 0 ? rc : 0;
}

/* --- members --- */

/* A file as it is now; `optional`: it may not be there. */
static int put_file(struct making *k, const char *path, const char *name, bool optional,
                    struct digest *ret_digest, struct err *e)
{
    struct stat st;
    struct digest d;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0 && errno == ENOENT && optional)
        return 0;
    if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
        int rc = err_sys(e, ERR_IO, errno, "cannot read %s", path);
        if (fd >= 0)
            close(fd);
        return rc;
    }
    int rc = archive_put_file(k->out, name, fd, (uint64_t)st.st_size, &d, e);
    close(fd);
    if (rc >= 0 && ret_digest)
        *ret_digest = d;
    return rc;
}

static int put_files(struct making *k, struct err *e)
{
    static const char *const names[] = {
#define X(file) file,
        BACKUP_FILES(X)
#undef X
    };
    int rc = 0;
    for (size_t i = 0; i < sizeof names / sizeof *names && rc >= 0; i++) {
        char *path = fs_join(k->wish->data_dir, names[i]);
        rc = put_file(k, path, names[i], true, NULL, e);
        free(path);
    }
    return rc;
}

static int put_content(void *arg, struct str digest, uint64_t bytes, struct err *e)
{
    struct making *k = arg;
    char name[ARCHIVE_NAME_MAX + 1], hex[DIGEST_HEX];
    struct digest sum = {0};
    (void)bytes;
    snprintf(name, sizeof name, "%s/%.*s", BACKUP_RESOURCES, (int)digest.n, digest.s);
    char *path = fs_join(k->wish->data_dir, name);
    int rc = put_file(k, path, name, false, &sum, e);
    digest_hex(&sum, hex);
    if (rc >= 0 && !str_is(digest, hex)) {
        err_set(e, ERR_CORRUPT, "the content %.*s of a resource is damaged on the server's disk",
                (int)digest.n, digest.s);
        err_at(e, "%s", path);
        rc = err_hint(e, "`anneal resource list` shows whose it is: upload it again, or delete "
                         "that version");
    }
    free(path);
    return rc;
}

static int put_contents(struct making *k, struct err *e)
{
    struct store_options reader = {.path = k->copy, .read_only = true};
    struct store *s = NULL;
    int rc = store_open(&reader, &s, e);
    if (rc >= 0)
        rc = backup_contents_each(s, put_content, k, e);
    store_close(s);
    return rc;
}

/* --- logs --- */

static int put_log(struct making *k, const char *part, const char *file, struct err *e)
{
    SCOPED_BUF(name);
    buf_printf(&name, "%s/%s/%s", BACKUP_LOGS, part, file);
    if (name.len > ARCHIVE_NAME_MAX || !backup_member_known(name.data))
        return 0;
    char *path = fs_join(k->wish->data_dir, name.data);
    int rc = put_file(k, path, name.data, true, NULL, e);
    free(path);
    return rc;
}

static void names_free(char **names, size_t n)
{
    for (size_t i = 0; i < n; i++)
        free(names[i]);
    free(names);
}

static int put_logs(struct making *k, struct err *e)
{
    char *dir = fs_join(k->wish->data_dir, BACKUP_LOGS), **parts = NULL;
    size_t n_parts = 0;
    int rc = fs_list(dir, &parts, &n_parts, e);
    if (rc == -ERR_NOT_FOUND)
        rc = 0;
    for (size_t i = 0; i < n_parts && rc >= 0; i++) {
        char *part = fs_join(dir, parts[i]), **files = NULL;
        size_t n = 0;
        if (fs_is_dir(part))
            rc = fs_list(part, &files, &n, e);
        for (size_t f = 0; f < n && rc >= 0; f++)
            rc = put_log(k, parts[i], files[f], e);
        names_free(files, n);
        free(part);
    }
    names_free(parts, n_parts);
    free(dir);
    return rc;
}

/* --- the archive --- */

static int put_about(struct making *k, struct err *e)
{
    SCOPED_BUF(text);
    struct backup_about about = {.format = BACKUP_FORMAT,
                                 .journal = k->sum.journal,
                                 .fence = k->sum.fence,
                                 .made_ms = k->wish->now_ms,
                                 .version = ANNEAL_VERSION};
    backup_about_write(&text, &about);
    return archive_put(k->out, BACKUP_ABOUT, buf_str(&text), e);
}

static int write_archive(struct making *k, struct err *e)
{
    const struct backup_wish *w = k->wish;
    int rc = archive_create(k->partial, w->passphrase, w->now_ms / 1000, &k->out, e);
    if (rc < 0)
        return rc;
    archive_watch(k->out, watched, k);
    rc = put_about(k, e);
    if (rc >= 0)
        rc = archive_put(k->out, BACKUP_SETTINGS, w->settings, e);
    if (rc >= 0)
        rc = put_files(k, e);
    if (rc >= 0)
        rc = put_file(k, k->copy, BACKUP_STORE, false, NULL, e);
    if (rc >= 0)
        rc = put_contents(k, e);
    if (rc >= 0 && w->logs)
        rc = put_logs(k, e);
    if (rc < 0)
        archive_abandon(k->out);
    else
        rc = archive_finish(k->out, &k->made.digest, e);
    k->out = NULL;
    return rc < 0 ? rc : 0;
}

static int read_member(void *arg, struct archive_in *in, const struct archive_member *m,
                       struct err *e)
{
    struct making *k = arg;
    char piece[16 * 1024];
    size_t n = 0;
    int rc;
    (void)m;
    do {
        rc = archive_read(in, piece, sizeof piece, &n, e);
        if (rc >= 0)
            rc = watched(k, n, e);
    } while (rc >= 0 && n > 0);
    explicit_bzero(piece, sizeof piece);
    return rc;
}

/* The store that is in it was checked as the copy that it was written from: what is compared here
 * is that the disk has the bytes that were written. */
static int read_back(struct making *k, struct err *e)
{
    struct archive_in *in = NULL;
    struct backup_seen seen;
    int rc = archive_open(k->partial, k->wish->passphrase, &in, e);
    if (rc >= 0)
        rc = backup_pass(in, read_member, k, &seen, e);
    archive_close(in);
    if (rc >= 0 && memcmp(&seen.digest, &k->made.digest, sizeof seen.digest) != 0)
        rc = err_set(e, ERR_CORRUPT, "what was written is not what the disk has");
    if (rc < 0)
        err_wrap(e, "reading the backup back");
    return rc;
}

static int make(struct making *k, struct err *e)
{
    struct stat st;
    SCOPED_BUF(dir);
    const char *slash = strrchr(k->wish->path, '/');
    uint64_t store;
    int rc = copy_store(k, e);
    if (rc < 0)
        return rc;
    store = stat(k->copy, &st) == 0 ? (uint64_t)st.st_size : 0;
    atomic_store(&k->watch->done, store);
    atomic_store(&k->watch->total, store + 2 * (store + k->sum.resource_bytes));
    buf_put(&dir, k->wish->path, slash ? (size_t)(slash - k->wish->path) + 1 : 0);
    rc = backup_room(buf_str(&dir).s, store + k->sum.resource_bytes, e);
    if (rc >= 0)
        rc = write_archive(k, e);
    if (rc < 0)
        return rc;
    rc = read_back(k, e);
    if (rc >= 0 && stat(k->partial, &st) == 0)
        k->made.bytes = (uint64_t)st.st_size;
    if (rc >= 0)
        rc = fs_name(k->partial, k->wish->path, e);
    if (rc < 0)
        (void)unlink(k->partial);
    return rc;
}

int backup_make(const struct backup_wish *w, struct backup_watch *watch, struct backup_made *ret,
                struct err *e)
{
    struct making k = {.wish = w, .watch = watch, .tmp = fs_join(w->data_dir, TMP_DIR)};
    SCOPED_BUF(partial);
    struct err ignored;
    buf_printf(&partial, "%s%s", w->path, PARTIAL);
    k.partial = partial.data;
    k.copy = fs_join(k.tmp, BACKUP_STORE);
    int rc = make(&k, e);
    (void)fs_remove_tree(k.tmp, &ignored);
    if (rc >= 0) {
        k.made.journal = k.sum.journal;
        *ret = k.made;
    }
    free(k.copy);
    free(k.tmp);
    return rc < 0 ? rc : 0;
}

/* --- what is in a directory of backups --- */

static bool ends_with(const char *name, const char *end)
{
    size_t n = strlen(name), m = strlen(end);
    return n > m && strcmp(name + n - m, end) == 0;
}

static void tidy_partial(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0)
        return;
    if (flock(fd, LOCK_EX | LOCK_NB) == 0) { /* another server may write here */
        log_line(LOG_INFO, "backup.left", LOGT("path", path));
        (void)unlink(path);
    }
    close(fd);
}

void backup_tidy(const char *data_dir, const char *dir)
{
    char *tmp = fs_join(data_dir, TMP_DIR), **names = NULL;
    size_t n = 0;
    struct err e;
    if (fs_remove_tree(tmp, &e) < 0)
        log_err(LOG_WARN, "backup.left", &e);
    if (fs_list(dir, &names, &n, &e) == 0)
        for (size_t i = 0; i < n; i++)
            if (ends_with(names[i], ".tar" PARTIAL) || ends_with(names[i], ".tar.sealed" PARTIAL)) {
                char *path = fs_join(dir, names[i]);
                tidy_partial(path);
                free(path);
            }
    names_free(names, n);
    free(tmp);
}

uint64_t backup_newest_ms(const char *dir)
{
    char **names = NULL;
    size_t n = 0;
    uint64_t newest = 0;
    struct err e;
    struct stat st;
    if (fs_list(dir, &names, &n, &e) < 0)
        return 0;
    for (size_t i = 0; i < n; i++) {
        char *path = fs_join(dir, names[i]);
        if ((ends_with(names[i], ".tar") || ends_with(names[i], ".tar.sealed")) &&
            stat(path, &st) == 0 && (uint64_t)st.st_mtime * 1000 > newest)
            newest = (uint64_t)st.st_mtime * 1000;
        free(path);
    }
    names_free(names, n);
    return newest;
}
