/* eventring.c - durable events in memory, for whoever follows them
 *
 * The newest events are kept as JSON, formatted once when their group is durable.  Whoever asks for
 * older ones gets them from the store, and learns where the kept journal begins if retention has
 * taken some away.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "server/tenants.h"

void eventring_add(struct server *s, const struct group *g)
{
    if (g->first_seq > g->last_seq)
        return;
    SCOPED_BUF(b);
    for (size_t i = 0; i < g->ops.n; i++) {
        if (g->ops.at[i].table != ROWS_JOURNAL)
            continue;
        const struct row_journal *r = g->ops.at[i].row;
        struct ring_event *slot = &s->ring[r->id % s->ring_cap];
        buf_clear(&b);
        commit_event_json(&b, r);
        slot->json = xrealloc(slot->json, b.len + 1, 1);
        memcpy(slot->json, b.data, b.len + 1);
        slot->n = (uint32_t)b.len;
        slot->seq = r->id;
        slot->tenant = r->tenant;
    }
    s->ring_last = g->last_seq;
    if (s->ring_last - s->ring_first + 1 > s->ring_cap)
        s->ring_first = s->ring_last + 1 - s->ring_cap;
    for (size_t i = 0; i < s->event_subs.n; i++)
        if (s->event_subs.at[i].fn)
            s->event_subs.at[i].fn(s->event_subs.at[i].arg);
}

void eventring_done(struct server *s)
{
    for (size_t i = 0; i < s->ring_cap; i++)
        free(s->ring[i].json);
    free(s->ring);
}

/* The first tenant has the whole of the server, and so the whole of its journal. */
static bool may_read(uint32_t tenant, uint32_t of)
{
    return tenant == TENANT_FIRST || tenant == of;
}

struct reading {
    struct buf *out;
    uint32_t tenant;
    uint64_t last, first;
};

static int read_row(void *arg, enum row_table t, const void *row, struct err *e)
{
    struct reading *rd = arg;
    const struct row_journal *r = row;
    (void)t;
    (void)e;
    if (!rd->first)
        rd->first = r->id;
    rd->last = r->id;
    if (may_read(rd->tenant, r->tenant)) {
        commit_event_json(rd->out, r);
        buf_putc(rd->out, '\n');
    }
    return 0;
}

int server_events_read(struct server *s, const struct caller *who, uint64_t since, uint32_t max,
                       struct buf *b, uint64_t *ret_last, uint64_t *ret_first_kept, struct err *e)
{
    *ret_last = since;
    *ret_first_kept = since + 1;
    if (since >= s->ring_last)
        return 0;
    if (since + 1 >= s->ring_first) {
        uint64_t to = since + max < s->ring_last ? since + max : s->ring_last;
        for (uint64_t seq = since + 1; seq <= to; seq++) {
            const struct ring_event *ev = &s->ring[seq % s->ring_cap];
            if (ev->seq == seq && may_read(who->tenant, ev->tenant)) {
                buf_put(b, ev->json, ev->n);
                buf_putc(b, '\n');
            }
        }
        *ret_last = to;
        return 0;
    }
    struct reading rd = {b, who->tenant, since, 0};
    int r = store_range(s->reader, ROWS_JOURNAL, since + 1, s->ring_last, false, max, read_row, &rd,
                        e);
    if (r < 0)
        return r;
    *ret_last = rd.last > since ? rd.last : s->ring_first - 1;
    *ret_first_kept = rd.first ? rd.first : s->ring_first;
    return 0;
}

uint64_t server_events_last(struct server *s)
{
    return s->ring_last;
}

void server_events_subscribe(struct server *s, loop_call_f *fn, void *arg)
{
    for (size_t i = 0; i < s->event_subs.n; i++)
        if (!s->event_subs.at[i].fn) {
            s->event_subs.at[i] = (struct subscriber){fn, arg, 0};
            return;
        }
    vec_push(&s->event_subs, ((struct subscriber){fn, arg, 0}));
}

void server_events_unsubscribe(struct server *s, loop_call_f *fn, void *arg)
{
    for (size_t i = 0; i < s->event_subs.n; i++)
        if (s->event_subs.at[i].fn == fn && s->event_subs.at[i].arg == arg)
            s->event_subs.at[i].fn = NULL;
}
