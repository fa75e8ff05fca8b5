/* idempotent.c - answers kept for requests that may be sent twice
 *
 * The key is hashed with its tenant; the answer's row joins the group of the write it answers, so
 * that after a crash either both are there or neither.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/digest.h"
#include "base/log.h"
#include "server/server_i.h"

static uint64_t row_id(const struct caller *who, const char *key)
{
    uint64_t h = mix64(digest_64(key, strlen(key)), who->tenant);
    return h >> 1 ? h >> 1 : 1; /* keys of rows are positive */
}

enum { KEEP_MS = 24 * 3600 * 1000, EXPIRE_AT_ONCE = 5000 };

struct finding {
    struct arena *mem;
    uint64_t request;
    bool found, other;
    uint32_t status;
    struct str reply;
};

static int found_row(void *arg, enum row_table t, const void *row, struct err *e)
{
    struct finding *f = arg;
    const struct row_idempotent *r = row;
    (void)t;
    (void)e;
    if (r->created_ms + KEEP_MS < server_wall_ms())
        return 0; /* too old to count; idempotent_expire() takes it away */
    f->found = true;
    f->other = r->request != f->request;
    f->status = r->status;
    f->reply = (struct str){arena_strndup(f->mem, r->reply.s, r->reply.n), r->reply.n};
    return 0;
}

int server_idempotent_find(struct server *s, const struct caller *who, const char *key,
                           uint64_t request, struct arena *mem, bool *ret_found,
                           uint32_t *ret_status, struct str *ret_reply, struct err *e)
{
    struct finding f = {.mem = mem, .request = request};
    uint64_t id = row_id(who, key);
    for (size_t i = 0; i < s->answers.n; i++) /* not durable yet */
        if (s->answers.at[i].id == id)
            return err_set(e, ERR_BUSY, "a request with this Idempotency-Key is under way");
    int r = store_range(s->reader, ROWS_IDEMPOTENT, id, id, false, 1, found_row, &f, e);
    if (r < 0)
        return r;
    if (f.other) {
        err_set(e, ERR_CONFLICT, "this Idempotency-Key was used with another request");
        return err_hint(e, "use a new key for a new request");
    }
    *ret_found = f.found;
    *ret_status = f.status;
    *ret_reply = f.reply;
    return 0;
}

void server_idempotent_keep(struct server *s, const struct caller *who, const char *key,
                            uint64_t request, uint32_t status, struct str reply)
{
    struct row_idempotent row = {.id = row_id(who, key),
                                 .tenant = who->tenant,
                                 .realm = 1,
                                 .request = request,
                                 .created_ms = server_wall_ms(),
                                 .status = status,
                                 .reply = reply};
    commit_row(s->commit, ROWS_IDEMPOTENT, ROW_PUT, &row);
    vec_push(&s->answers, ((struct pending_answer){row.id, commit_open_group(s->commit)}));
}

static int expired_row(void *arg, enum row_table t, const void *row, struct err *e)
{
    struct server *s = arg;
    const struct row_idempotent *r = row;
    (void)e;
    if (r->created_ms + KEEP_MS >= server_wall_ms())
        return 0;
    commit_row(s->commit, t, ROW_DELETE, r);
    return ++s->expiring >= EXPIRE_AT_ONCE; /* the rest next time */
}

void idempotent_expire(struct server *s)
{
    struct err e;
    s->expiring = 0;
    if (store_each(s->reader, ROWS_IDEMPOTENT, expired_row, s, &e) < 0)
        log_err(LOG_WARN, "idempotent.expire", &e);
}

void idempotent_durable(struct server *s, uint64_t group)
{
    size_t keep = 0;
    for (size_t i = 0; i < s->answers.n; i++)
        if (s->answers.at[i].group > group)
            s->answers.at[keep++] = s->answers.at[i];
    s->answers.n = keep;
}
