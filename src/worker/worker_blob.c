/* worker_blob.c - contents of resources: fetched part by part, checked, kept while there is room
 *
 * Owns run_dir/resources.  A content is wanted once, however many runs need it; one part is under
 * way at a time, so that its size does not matter to anybody's memory.  When all of it is here and
 * has its digest, a file gets its mode and its name; an archive is unpacked first
 * (worker_unpack.c).  What has its final name is whole and is never changed again.
 *
 * The directory is emptied at start: what a worker finds there it would have to read to trust.
 * Invariants: a content with users is neither idle nor dropped; idle ones together have at most
 * blobs_max_bytes on disk; the same content as a file of another mode is another one here.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/worker_blob_i.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/base64.h"
#include "base/log.h"
#include "sys/fs.h"

static void blob_close(struct blob *b)
{
    if (b->fd >= 0)
        close(b->fd);
    b->fd = -1;
}

static void blob_drop(struct blob *b)
{
    struct err e;
    blob_close(b);
    unpack_end(b);
    (void)unlink(b->part);
    if (fs_remove_tree(b->path, &e) < 0 && e.code != ERR_NOT_FOUND)
        log_err(LOG_WARN, "worker-resource", &e);
    link_remove(&b->idle);
    link_remove(&b->asked);
    (void)strmap_del(&b->w->blobs, str_of(b->key));
    free(b->path);
    free(b->part);
    free(b);
}

/* --- asking --- */

static void want(struct blob *b, const struct taskmsg *by)
{
    b->by_task = by->task;
    b->by_attempt = by->attempt;
    worker_send(b->w, &(struct taskmsg){.kind = TASKMSG_WANT,
                                        .task = by->task,
                                        .attempt = by->attempt,
                                        .blob = str_of(b->digest),
                                        .offset = b->offset});
    b->asked_ms = loop_now_ms(b->w->loop);
    link_remove(&b->asked);
    link_append(&b->w->blobs_asked, &b->asked);
}

static void want_more(struct blob *b)
{
    want(b, &(struct taskmsg){.task = b->by_task, .attempt = b->by_attempt});
}

void blobs_ask_again(struct worker *w, uint64_t asked_before_ms)
{
    const struct link *last = w->blobs_asked.prev;
    for (struct link *l = w->blobs_asked.next, *next; l != &w->blobs_asked; l = next) {
        struct blob *b = LINK_OF(l, struct blob, asked);
        next = l == last ? &w->blobs_asked : l->next;
        if (b->asked_ms < asked_before_ms)
            want_more(b);
    }
}

/* --- its end --- */

void blob_failed(struct blob *b, enum outcome outcome, const char *text)
{
    char said[JIG_TEXT_BYTES];
    snprintf(said, sizeof said, "%.250s", text);
    blob_close(b);
    (void)unlink(b->part);
    link_remove(&b->asked);
    b->life = BLOB_GONE;
    runs_blob_failed(b->w, b, outcome, said);
}

static void blob_file_failed(struct blob *b, const char *what)
{
    char text[JIG_TEXT_BYTES];
    struct err e;
    (void)err_sys(&e, ERR_IO, errno, "cannot %s a resource", what);
    snprintf(text, sizeof text, "%.250s", e.text);
    blob_failed(b, OUTCOME_AGAIN, text);
}

void blob_ready(struct blob *b)
{
    b->life = BLOB_HERE;
    link_remove(&b->asked);
    if (b->users)
        runs_blob_came(b->w, b);
    else
        blob_idle(b);
}

static void blob_whole(struct blob *b)
{
    struct digest sum = digest_end(&b->sum);
    char hex[DIGEST_HEX];
    digest_hex(&sum, hex);
    link_remove(&b->asked);
    if (strcmp(hex, b->digest) != 0) {
        blob_failed(b, OUTCOME_AGAIN, "the content of a resource does not have its digest");
        return;
    }
    if (b->archive) {
        blob_close(b);
        b->life = BLOB_UNPACKING;
        unpack_begin(b);
        return;
    }
    if (fchmod(b->fd, b->mode) < 0 || rename(b->part, b->path) < 0) {
        blob_file_failed(b, "keep");
        return;
    }
    blob_close(b);
    b->bytes = b->size_bytes;
    blob_ready(b);
}

/* --- parts --- */

static void blob_begin(struct blob *b, const struct taskmsg *by)
{
    b->life = BLOB_COMING;
    b->offset = 0;
    digest_begin(&b->sum);
    (void)unlink(b->part);
    b->fd = open(b->part, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    want(b, by); /* also if there is nothing in it: whoever waits is told in one way */
}

static bool write_whole(int fd, struct str bytes)
{
    while (bytes.n > 0) {
        ssize_t n = write(fd, bytes.s, bytes.n);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return false;
        bytes = (struct str){bytes.s + n, bytes.n - (size_t)n};
    }
    return true;
}

static void blob_part(struct blob *b, struct str bytes)
{
    if (bytes.n > b->size_bytes - b->offset || (bytes.n == 0 && b->offset < b->size_bytes)) {
        blob_failed(b, OUTCOME_AGAIN, "the content of a resource does not have its size");
        return;
    }
    if (b->fd < 0 || !write_whole(b->fd, bytes)) {
        blob_file_failed(b, "write");
        return;
    }
    digest_add(&b->sum, bytes.s, bytes.n);
    b->offset += bytes.n;
    if (b->offset == b->size_bytes)
        blob_whole(b);
    else
        want_more(b);
}

/* The next one that waits for this part of this content. */
static struct blob *waiting_for(struct worker *w, const struct taskmsg *m)
{
    for (struct link *l = w->blobs_asked.next; l != &w->blobs_asked; l = l->next) {
        struct blob *b = LINK_OF(l, struct blob, asked);
        if (b->life == BLOB_COMING && str_is(m->blob, b->digest) && b->offset == m->offset)
            return b;
    }
    return NULL;
}

void blob_come(struct worker *w, const struct taskmsg *m)
{
    struct blob *b = waiting_for(w, m);
    SCOPED_BUF(bytes);
    if (!b)
        return; /* who waited for it was cancelled, or it came twice */
    if (m->missing) {
        SCOPED_BUF(text);
        buf_put(&text, m->text.n ? m->text.s : "", m->text.n);
        blob_failed(b, OUTCOME_AGAIN, text.data ? text.data : "a resource is missing");
    } else if (base64_read(&bytes, m->content)) {
        blob_part(b, buf_str(&bytes));
    } else {
        log_line(LOG_WARN, "worker-resource", LOGT("text", "a part that cannot be read"));
    }
}

/* --- users --- */

struct blob *blob_use(struct worker *w, const struct resource_named *r, const struct taskmsg *by)
{
    char key[RESOURCE_FILE_BYTES];
    uintptr_t found;
    resource_file_name(r, key);
    if (strmap_get(&w->blobs, str_of(key), &found)) {
        struct blob *b = (struct blob *)found;
        if (!link_empty(&b->idle)) {
            link_remove(&b->idle);
            w->blobs_bytes -= b->bytes;
        }
        b->users++;
        if (b->life == BLOB_GONE) /* it was missing: perhaps not any more */
            blob_begin(b, by);
        return b;
    }
    struct blob *b = xcalloc(1, sizeof *b);
    SCOPED_BUF(part);
    char *dir = fs_join(w->run_dir, JIG_RESOURCE_DIR);
    b->w = w;
    b->users = 1;
    b->fd = -1;
    b->archive = r->archive;
    b->mode = r->mode;
    b->size_bytes = r->size_bytes;
    memcpy(b->digest, r->digest.s, DIGEST_HEX - 1);
    memcpy(b->key, key, sizeof key);
    link_init(&b->idle);
    link_init(&b->asked);
    b->path = fs_join(dir, key);
    buf_printf(&part, "%s.part", b->path);
    b->part = xstrdup(part.data);
    free(dir);
    strmap_put(&w->blobs, str_of(b->key), (uintptr_t)b);
    blob_begin(b, by);
    return b;
}

void blob_idle(struct blob *b)
{
    struct worker *w = b->w;
    link_append(&w->blobs_idle, &b->idle);
    w->blobs_bytes += b->bytes;
    while (w->blobs_bytes > w->blobs_max_bytes) {
        struct blob *first = LINK_OF(w->blobs_idle.next, struct blob, idle);
        w->blobs_bytes -= first->bytes;
        blob_drop(first);
    }
}

void blob_unuse(struct blob *b)
{
    if (!b || --b->users > 0)
        return;
    if (b->life == BLOB_HERE)
        blob_idle(b);
    else if (b->life != BLOB_UNPACKING) /* that ends by itself, and is then kept */
        blob_drop(b);
}

void blobs_done(struct worker *w)
{
    for (size_t i = 0; i < w->blobs.n; i++)
        if (w->blobs.at[i].key) {
            struct blob *b = (struct blob *)w->blobs.at[i].val;
            blob_close(b);
            unpack_end(b);
            free(b->path);
            free(b->part);
            free(b);
        }
    strmap_done(&w->blobs);
}
