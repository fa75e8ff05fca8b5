/* worker_document.c - documents that messages name by digest
 *
 * Owns the table of them.  Each is asked for once, however many runs need it, and parsed once; the
 * trees are shared by all runs that see it, which only read.  What comes is checked against its
 * digest, so that a run sees what it was meant to or nothing.
 * Invariants: a document with users is neither idle nor dropped; the idle ones together have at
 * most documents_max_bytes of text; one that is not here has users or is gone.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "base/json.h"
#include "base/log.h"
#include "worker/worker_i.h"

static void document_drop(struct document *d)
{
    link_remove(&d->idle);
    link_remove(&d->asked);
    (void)strmap_del(&d->w->documents, str_of(d->digest));
    arena_done(&d->mem);
    free(d);
}

static void ask(struct document *d, const struct taskmsg *by)
{
    worker_send(d->w, &(struct taskmsg){.kind = TASKMSG_FETCH,
                                        .task = by->task,
                                        .attempt = by->attempt,
                                        .document = str_of(d->digest)});
    d->asked_ms = loop_now_ms(d->w->loop);
    link_remove(&d->asked);
    link_append(&d->w->documents_asked, &d->asked);
}

struct document *document_use(struct worker *w, struct str digest, const struct taskmsg *by)
{
    uintptr_t found;
    if (digest.n == 0 || digest.n >= DIGEST_HEX)
        return NULL;
    if (strmap_get(&w->documents, digest, &found)) {
        struct document *d = (struct document *)found;
        if (!link_empty(&d->idle)) {
            link_remove(&d->idle);
            w->documents_bytes -= d->bytes;
        }
        if (!d->v && link_empty(&d->asked)) /* it was missing: perhaps not any more */
            ask(d, by);
        d->users++;
        return d;
    }
    struct document *d = xcalloc(1, sizeof *d);
    d->w = w;
    d->users = 1;
    memcpy(d->digest, digest.s, digest.n);
    link_init(&d->idle);
    link_init(&d->asked);
    arena_init(&d->mem);
    strmap_put(&w->documents, digest, (uintptr_t)d);
    ask(d, by);
    return d;
}

void document_unuse(struct document *d)
{
    if (!d || --d->users > 0)
        return;
    struct worker *w = d->w;
    if (!d->v) { /* nobody waits for it any more */
        document_drop(d);
        return;
    }
    link_append(&w->documents_idle, &d->idle);
    w->documents_bytes += d->bytes;
    while (w->documents_bytes > w->documents_max_bytes) {
        struct document *first = LINK_OF(w->documents_idle.next, struct document, idle);
        w->documents_bytes -= first->bytes;
        document_drop(first);
    }
}

static int document_read(struct document *d, struct str content, struct err *e)
{
    struct json_options o = {.max_depth = DATA_MAX_DEPTH, .name = "document"};
    struct digest sum = digest_of(content.s, content.n);
    struct value *v;
    char hex[DIGEST_HEX];
    digest_hex(&sum, hex);
    if (strcmp(hex, d->digest) != 0)
        return err_set(e, ERR_CORRUPT, "a document does not have the digest it was asked for by");
    int rc = json_parse(&d->mem, content.s, content.n, &o, &v, e);
    if (rc < 0)
        return rc;
    d->v = v;
    d->text = (struct str){arena_strndup(&d->mem, content.s, content.n), content.n};
    d->bytes = content.n;
    return 0;
}

void document_come(struct worker *w, const struct taskmsg *m)
{
    uintptr_t found;
    struct err e = {0};
    if (!strmap_get(&w->documents, m->document, &found))
        return; /* who waited for it was cancelled */
    struct document *d = (struct document *)found;
    if (d->v)
        return;
    if (!m->missing && document_read(d, m->content, &e) < 0) {
        log_err(LOG_WARN, "worker-document", &e);
        return; /* it will be asked for again */
    }
    link_remove(&d->asked);
    if (m->missing)
        runs_document_missing(w, d);
    else
        runs_document_came(w, d);
}

/* In the name of any run that waits for it. */
static const struct taskmsg *waiter(const struct worker *w, const struct document *d)
{
    for (const struct link *l = w->held.next; l != &w->held; l = l->next) {
        const struct run *r = LINK_OF(l, struct run, of_worker);
        for (size_t i = 0; i < RUN_DOCUMENTS; i++)
            if (r->documents[i] == d)
                return &r->msg;
    }
    return NULL;
}

/* Asked for again they move to the end: the walk stops with whoever was last. */
void documents_ask_again(struct worker *w, uint64_t asked_before_ms)
{
    const struct link *last = w->documents_asked.prev;
    for (struct link *l = w->documents_asked.next, *next; l != &w->documents_asked; l = next) {
        struct document *d = LINK_OF(l, struct document, asked);
        const struct taskmsg *by = waiter(w, d);
        next = l == last ? &w->documents_asked : l->next;
        if (d->asked_ms < asked_before_ms && by)
            ask(d, by);
    }
}

void documents_done(struct worker *w)
{
    for (size_t i = 0; i < w->documents.n; i++)
        if (w->documents.at[i].key) {
            struct document *d = (struct document *)w->documents.at[i].val;
            arena_done(&d->mem);
            free(d);
        }
    strmap_done(&w->documents);
}
