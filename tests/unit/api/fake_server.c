/* fake_server.c - the half of the fake that is not objects: tokens, groups, events, logs, keys */
/* SPDX-License-Identifier: Apache-2.0 */
#include "fake_i.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static void token_add(struct server *s, const char *secret, uint32_t tenant, enum scope scope,
                      const char *name)
{
    struct fake_token *t = vec_add(&s->tokens);
    snprintf(t->secret, sizeof t->secret, "%s", secret);
    t->who = (struct caller){.token = (uint32_t)s->tokens.n, .tenant = tenant, .scope = scope};
    snprintf(t->who.name, sizeof t->who.name, "%s", name);
}

struct server *fake_new(struct loop *l)
{
    struct server *s = xcalloc(1, sizeof *s);
    arena_init(&s->mem);
    s->loop = l;
    s->ready = true;
    s->first_kept = 1;
    token_add(s, FAKE_ADMIN, 1, SCOPE_ADMIN, "root");
    token_add(s, FAKE_OPERATE, 1, SCOPE_OPERATE, "ops");
    token_add(s, FAKE_READ, 1, SCOPE_READ, "watch");
    token_add(s, FAKE_OTHER, 2, SCOPE_READ, "stranger");
    return s;
}

void fake_free(struct server *s)
{
    for (size_t i = 0; i < s->events.n; i++)
        free(s->events.at[i].line);
    for (size_t i = 0; i < s->logs.n; i++)
        buf_done(&s->logs.at[i].bytes);
    for (size_t i = 0; i < s->keys.n; i++) {
        free(s->keys.at[i].key);
        free(s->keys.at[i].reply);
    }
    for (unsigned t = 0; t < FAKE_TABLE_COUNT; t++)
        vec_done(&s->table[t]);
    vec_done(&s->waits);
    vec_done(&s->tokens);
    vec_done(&s->events);
    vec_done(&s->event_watchers);
    vec_done(&s->logs);
    vec_done(&s->log_watchers);
    vec_done(&s->keys);
    buf_done(&s->last_query);
    buf_done(&s->last_body);
    buf_done(&s->last_ids);
    buf_done(&s->echo);
    arena_done(&s->mem);
    free(s);
}

int server_authenticate(struct server *s, const char *token, struct caller *ret_who, struct err *e)
{
    for (size_t i = 0; i < s->tokens.n; i++) {
        if (strcmp(s->tokens.at[i].secret, token) || s->tokens.at[i].revoked)
            continue;
        *ret_who = s->tokens.at[i].who;
        return 0;
    }
    err_set(e, ERR_UNAUTHORIZED, "this token is not known or was revoked");
    return err_hint(e, "ask an administrator for a new one");
}

void fake_revoke(struct server *s, const char *token)
{
    for (size_t i = 0; i < s->tokens.n; i++)
        if (!strcmp(s->tokens.at[i].secret, token))
            s->tokens.at[i].revoked = true;
}

/* --- groups --- */

static void settle(struct server *s, const struct err *failure)
{
    uint64_t group = s->open;

    if (!failure)
        s->durable = group;
    else
        s->open = s->durable;
    for (size_t i = 0; i < s->waits.n;) {
        struct fake_wait w = s->waits.at[i];
        if (w.group > group) {
            i++;
            continue;
        }
        memmove(s->waits.at + i, s->waits.at + i + 1, (--s->waits.n - i) * sizeof w);
        w.fn(w.arg, failure);
    }
}

void fake_commit(struct server *s)
{
    settle(s, NULL);
    for (size_t i = 0; i < s->event_watchers.n; i++)
        s->event_watchers.at[i].fn(s->event_watchers.at[i].arg);
}

void fake_refuse(struct server *s, enum errcode code, const char *text)
{
    struct err e;
    err_set(&e, code, "%s", text);
    settle(s, &e);
}

static void commit_posted(void *arg)
{
    struct server *s = arg;
    s->committing = false;
    fake_commit(s);
}

void fake_hold_groups(struct server *s, bool hold)
{
    s->hold = hold;
}

unsigned fake_waiting(const struct server *s)
{
    return (unsigned)s->waits.n;
}

uint64_t fake_write(struct server *s, const char *kind)
{
    if (s->open == s->durable)
        s->open++;
    fake_event(s, 1, kind);
    if (!s->hold && !s->committing) {
        s->committing = true;
        loop_post(s->loop, commit_posted, s);
    }
    return s->open;
}

void server_when_durable(struct server *s, uint64_t group, server_durable_f *fn, void *arg)
{
    if (group <= s->durable)
        fn(arg, NULL);
    else
        vec_push(&s->waits, ((struct fake_wait){group, fn, arg}));
}

void server_when_durable_cancel(struct server *s, server_durable_f *fn, void *arg)
{
    for (size_t i = 0; i < s->waits.n; i++)
        if (s->waits.at[i].fn == fn && s->waits.at[i].arg == arg) {
            memmove(s->waits.at + i, s->waits.at + i + 1, (--s->waits.n - i) * sizeof *s->waits.at);
            return;
        }
}

uint64_t server_pending_group(struct server *s)
{
    return s->open > s->durable ? s->open : 0;
}

/* --- idempotency --- */

int server_idempotent_find(struct server *s, const struct caller *who, const char *key,
                           uint64_t request, struct arena *mem, bool *ret_found,
                           uint32_t *ret_status, struct str *ret_reply, struct err *e)
{
    *ret_found = false;
    for (size_t i = 0; i < s->keys.n; i++) {
        const struct fake_key *k = &s->keys.at[i];
        if (k->tenant != who->tenant || strcmp(k->key, key))
            continue;
        if (k->request != request)
            return err_set(e, ERR_CONFLICT, "the key \"%s\" was used for another request", key);
        *ret_found = true;
        *ret_status = k->status;
        *ret_reply = str_of(arena_strdup(mem, k->reply));
        return 0;
    }
    return 0;
}

void server_idempotent_keep(struct server *s, const struct caller *who, const char *key,
                            uint64_t request, uint32_t status, struct str reply)
{
    vec_push(&s->keys, ((struct fake_key){who->tenant, status, request, s->open, xstrdup(key),
                                          xstrndup(reply.s, reply.n)}));
}

/* --- events --- */

void fake_event(struct server *s, uint32_t tenant, const char *kind)
{
    struct buf b = {0};
    uint64_t id = s->events.n ? s->events.at[s->events.n - 1].id + 1 : 1;
    buf_printf(&b,
               "{\"id\":%" PRIu64 ",\"at\":\"2026-01-02T03:04:05.678Z\",\"kind\":\"%s\","
               "\"actor\":\"root\",\"input\":{},\"changes\":[]}",
               id, kind);
    uint64_t group = s->open > s->durable ? s->open : 0;
    vec_push(&s->events, ((struct fake_event){id, group, tenant, buf_take(&b, NULL)}));
    if (s->open == s->durable) /* of no group: durable at once */
        for (size_t i = 0; i < s->event_watchers.n; i++)
            s->event_watchers.at[i].fn(s->event_watchers.at[i].arg);
}

void fake_events_trim(struct server *s, uint64_t first_kept)
{
    s->first_kept = first_kept;
}

void fake_events_cold(struct server *s, uint64_t upto)
{
    s->cold_upto = upto;
}

void fake_events_warm(struct server *s)
{
    s->cold_upto = 0;
    for (size_t i = 0; i < s->event_watchers.n; i++)
        s->event_watchers.at[i].fn(s->event_watchers.at[i].arg);
}

void fake_events_break(struct server *s, bool broken)
{
    s->events_broken = broken;
}

uint64_t fake_event_reads(const struct server *s)
{
    return s->event_reads;
}

int server_events_read(struct server *s, const struct caller *who, uint64_t since, uint32_t max,
                       struct buf *b, uint64_t *ret_last, uint64_t *ret_first_kept, struct err *e)
{
    uint32_t n = 0;
    s->event_reads++;
    if (s->events_broken)
        return err_set(e, ERR_IO, "the journal cannot be read");
    if (since < s->cold_upto)
        return 1;
    *ret_last = since;
    *ret_first_kept = s->first_kept;
    for (size_t i = 0; i < s->events.n && n < max; i++) {
        const struct fake_event *ev = &s->events.at[i];
        if (ev->group > s->durable)
            break;
        if (ev->id <= since || ev->id < s->first_kept)
            continue;
        *ret_last = ev->id;
        if (ev->tenant != who->tenant)
            continue;
        buf_puts(b, ev->line);
        buf_putc(b, '\n');
        n++;
    }
    return 0;
}

uint64_t server_events_last(struct server *s)
{
    size_t n = s->events.n;
    while (n && s->events.at[n - 1].group > s->durable)
        n--;
    return n ? s->events.at[n - 1].id : 0;
}

void server_events_subscribe(struct server *s, loop_call_f *fn, void *arg)
{
    vec_push(&s->event_watchers, ((struct fake_watcher){0, 0, fn, arg}));
}

void server_events_unsubscribe(struct server *s, loop_call_f *fn, void *arg)
{
    for (size_t i = 0; i < s->event_watchers.n; i++)
        if (s->event_watchers.at[i].fn == fn && s->event_watchers.at[i].arg == arg)
            s->event_watchers.at[i--] = s->event_watchers.at[--s->event_watchers.n];
}

/* --- logs --- */

static struct fake_log *log_of(struct server *s, uint32_t task, uint32_t attempt)
{
    for (size_t i = 0; i < s->logs.n; i++)
        if (s->logs.at[i].task == task && s->logs.at[i].attempt == attempt)
            return &s->logs.at[i];
    return NULL;
}

static void log_tell(struct server *s, uint32_t task, uint32_t attempt)
{
    for (size_t i = 0; i < s->log_watchers.n; i++)
        if (s->log_watchers.at[i].task == task && s->log_watchers.at[i].attempt == attempt)
            s->log_watchers.at[i].fn(s->log_watchers.at[i].arg);
}

void fake_log_put(struct server *s, uint32_t task, uint32_t attempt, const char *text)
{
    struct fake_log *l = log_of(s, task, attempt);
    if (!l) {
        l = vec_add(&s->logs);
        l->task = task;
        l->attempt = attempt;
    }
    buf_puts(&l->bytes, text);
    log_tell(s, task, attempt);
}

void fake_log_end(struct server *s, uint32_t task, uint32_t attempt)
{
    fake_log_put(s, task, attempt, "");
    struct fake_log *l = log_of(s, task, attempt);
    if (l)
        l->ended = true;
    log_tell(s, task, attempt);
}

void fake_log_break(struct server *s, bool broken)
{
    s->log_broken = broken;
}

unsigned fake_log_subscribers(const struct server *s)
{
    return (unsigned)s->log_watchers.n;
}

int server_log_read(struct server *s, const struct caller *who, uint32_t task, uint32_t attempt,
                    uint64_t from, size_t max, struct buf *b, bool *ret_ended, struct err *e)
{
    const struct fake_log *l = log_of(s, task, attempt);
    if (s->log_broken)
        return err_set(e, ERR_IO, "the log cannot be read");
    if (!l || who->tenant != 1)
        return err_set(e, ERR_NOT_FOUND, "task %u has no attempt %u", task, attempt);
    size_t left = from < l->bytes.len ? l->bytes.len - (size_t)from : 0;
    size_t n = left < max ? left : max;
    if (n)
        buf_put(b, l->bytes.data + from, n);
    *ret_ended = l->ended && n == left;
    return 0;
}

void server_log_subscribe(struct server *s, uint32_t task, uint32_t attempt, loop_call_f *fn,
                          void *arg)
{
    vec_push(&s->log_watchers, ((struct fake_watcher){task, attempt, fn, arg}));
}

void server_log_unsubscribe(struct server *s, loop_call_f *fn, void *arg)
{
    for (size_t i = 0; i < s->log_watchers.n; i++)
        if (s->log_watchers.at[i].fn == fn && s->log_watchers.at[i].arg == arg)
            s->log_watchers.at[i--] = s->log_watchers.at[--s->log_watchers.n];
}

/* --- the rest --- */

void server_metrics(struct server *s, struct buf *b)
{
    buf_printf(b, "# TYPE fake_calls counter\nfake_calls %u\n", s->calls);
}

bool server_is_ready(struct server *s)
{
    return s->ready;
}

void fake_ready(struct server *s, bool ready)
{
    s->ready = ready;
}

void fake_fail_next(struct server *s, enum errcode code, const char *text)
{
    s->fail_code = code;
    snprintf(s->fail_text, sizeof s->fail_text, "%s", text);
}

void fake_bulk_next(struct server *s, unsigned items)
{
    s->bulk = items;
}

unsigned fake_calls(const struct server *s)
{
    return s->calls;
}

const char *fake_last_call(const struct server *s)
{
    return s->last_call;
}

const char *fake_last_query(const struct server *s)
{
    return buf_str(&s->last_query).s;
}

const char *fake_last_body(const struct server *s)
{
    return buf_str(&s->last_body).s;
}

const char *fake_last_ids(const struct server *s)
{
    return buf_str(&s->last_ids).s;
}
