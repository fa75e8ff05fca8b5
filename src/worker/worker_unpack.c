/* worker_unpack.c - archives of resources: looked into, unpacked, made read-only
 *
 * Three programs one after the other, each with an argument vector: tar lists the archive and
 * plugin_archive.c says whether it may be unpacked; tar unpacks it into a directory that nobody
 * knows yet; chmod takes the right to write away.  Then the directory gets its name.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "sys/fs.h"
#include "sys/proc.h"
#include "worker/worker_blob_i.h"

enum { LISTING_MOST = 1 << 30 };
enum unpack_step { UNPACK_LIST, UNPACK_EXTRACT, UNPACK_CHMOD };

struct unpacking {
    struct blob *b;
    enum unpack_step step;
    char *dir; /* where it is unpacked */
    struct proc *proc;
    struct archive_list list;
    struct jig_line line; /* of what it wrote to standard error */
};

static void unpacking_free(struct unpacking *u)
{
    struct err e;
    if (fs_remove_tree(u->dir, &e) < 0 && e.code != ERR_NOT_FOUND)
        log_err(LOG_WARN, "worker-resource", &e);
    archive_list_done(&u->list);
    free(u->dir);
    free(u);
}

/* Takes it off its content. */
static struct blob *unpacking_over(struct unpacking *u)
{
    struct blob *b = u->b;
    if (u->proc)
        proc_free(u->proc);
    b->unpacking = NULL;
    unpacking_free(u);
    return b;
}

void unpack_end(struct blob *b)
{
    struct unpacking *u = b->unpacking;
    if (!u)
        return;
    if (u->proc)
        proc_end(u->proc);
    b->unpacking = NULL;
    unpacking_free(u);
}

/* The archive will not be another next time: this is no reason to ask again. */
static void unpack_failed(struct unpacking *u, const char *why)
{
    char text[JIG_TEXT_BYTES];
    snprintf(text, sizeof text, "a resource cannot be unpacked: %.200s", why);
    blob_failed(unpacking_over(u), OUTCOME_FAILED, text);
}

static void unpack_step(struct unpacking *u);

static void unpacked(struct unpacking *u)
{
    struct blob *b = u->b;
    if (rename(u->dir, b->path) < 0) {
        unpack_failed(u, "it cannot be given its name");
        return;
    }
    b->bytes = u->list.bytes;
    (void)unlink(b->part);
    blob_ready(unpacking_over(u));
}

static void on_output(void *arg, int fd, const char *p, size_t n)
{
    struct unpacking *u = arg;
    if (fd == 1 && u->step == UNPACK_LIST)
        archive_list_feed(&u->list, (struct str){p, n});
    else if (fd == 2)
        jig_line_note(&u->line, p, n);
}

static void on_program_exit(void *arg, const struct proc_exit *x)
{
    struct unpacking *u = arg;
    struct err e = {0};
    const char *last = jig_line_last(&u->line);
    if (u->step == UNPACK_LIST && (archive_list_end(&u->list, &e) < 0 || x->truncated)) {
        unpack_failed(u, e.text[0] ? e.text : "its listing is too long");
        return;
    }
    if (x->code != 0) {
        unpack_failed(u, last && *last ? last : "the program failed");
        return;
    }
    proc_free(u->proc);
    u->proc = NULL;
    if (u->step == UNPACK_CHMOD) {
        unpacked(u);
        return;
    }
    u->step++;
    unpack_step(u);
}

static void unpack_step(struct unpacking *u)
{
    const struct blob *b = u->b;
    const char *const list[] = {"tar",
                                "--list",
                                "--verbose",
                                "--numeric-owner",
                                "--quoting-style=escape",
                                "--force-local",
                                "--file",
                                b->part,
                                NULL};
    const char *const extract[] = {"tar",
                                   "--extract",
                                   "--no-same-owner",
                                   "--no-same-permissions",
                                   "--force-local",
                                   "--directory",
                                   u->dir,
                                   "--file",
                                   b->part,
                                   NULL};
    const char *const protect[] = {"chmod", "-R", "a-w,a-s,u+rX", u->dir, NULL};
    const char *const *const argv[] = {list, extract, protect};
    const char *const envp[] = {"PATH=/usr/local/bin:/usr/bin:/bin", "LC_ALL=C", NULL};
    struct proc_spec spec = {.argv = argv[u->step],
                             .envp = envp,
                             .max_stdout = LISTING_MOST,
                             .on_output = on_output,
                             .on_exit = on_program_exit,
                             .arg = u};
    struct err e;
    u->line = (struct jig_line){0};
    if (u->step == UNPACK_EXTRACT && mkdir(u->dir, 0700) < 0) {
        err_sys(&e, ERR_IO, errno, "cannot make its directory");
        unpack_failed(u, e.text);
    } else if (proc_spawn(b->w->loop, &spec, &u->proc, &e) < 0) {
        unpack_failed(u, e.text);
    }
}

void unpack_begin(struct blob *b)
{
    struct unpacking *u = xcalloc(1, sizeof *u);
    SCOPED_BUF(dir);
    buf_printf(&dir, "%s.new", b->path);
    u->b = b;
    u->dir = xstrdup(dir.data);
    archive_list_init(&u->list, b->w->blobs_max_bytes);
    b->unpacking = u;
    unpack_step(u);
}
