/* worker_memory.c - which runs were seen, and the results that nobody has confirmed yet
 *
 * Owns the table of known tasks and the list of unacknowledged answers.
 * Invariants: a known task is on the idle list iff it has neither runs nor answers; the idle list
 * has at most REMEMBERED_MAX entries, and the longest idle one is forgotten first; `unacked` is in
 * rising order of seq.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "worker/worker_i.h"

static struct known *known_find(struct worker *w, uint32_t task)
{
    uintptr_t found;
    return u64map_get(&w->tasks, task, &found) ? (struct known *)found : NULL;
}

static void known_forget(struct worker *w, struct known *k)
{
    link_remove(&k->idle);
    u64map_del(&w->tasks, k->task);
    free(k);
}

struct known *known_get(struct worker *w, uint32_t task)
{
    struct known *k = known_find(w, task);
    if (!k) {
        k = xcalloc(1, sizeof *k);
        k->task = task;
        link_init(&k->runs);
        link_init(&k->answers);
        link_init(&k->idle);
        u64map_put(&w->tasks, task, (uintptr_t)k);
    } else if (!link_empty(&k->idle)) {
        link_remove(&k->idle);
        w->n.remembered--;
    }
    return k;
}

void known_settle(struct worker *w, struct known *k)
{
    if (!link_empty(&k->runs) || !link_empty(&k->answers) || !link_empty(&k->idle))
        return;
    link_append(&w->idle, &k->idle);
    if (++w->n.remembered > REMEMBERED_MAX) {
        known_forget(w, LINK_OF(w->idle.next, struct known, idle));
        w->n.remembered--;
    }
}

struct answer *answer_find(const struct known *k, uint32_t attempt, const uint32_t *ask)
{
    for (struct link *l = k->answers.prev; l != &k->answers; l = l->prev) {
        struct answer *a = LINK_OF(l, struct answer, of_task);
        if (a->attempt == attempt && (!ask || a->ask == *ask))
            return a;
    }
    return NULL;
}

void answer_give(struct worker *w, struct known *k, struct taskmsg *result, struct travel *from)
{
    result->kind = TASKMSG_RESULT;
    result->task = k->task;
    result->seq = w->next_seq++;
    buf_clear(&w->out);
    taskmsg_write(&w->out, result);
    struct answer *a = xrealloc(NULL, 1, sizeof *a + w->out.len);
    *a = (struct answer){.known = k,
                         .attempt = result->attempt,
                         .ask = result->ask,
                         .seq = result->seq,
                         .travel = from,
                         .n = w->out.len};
    if (from)
        travel_awaits(from);
    memcpy(a->bytes, w->out.data, w->out.len);
    link_append(&k->answers, &a->of_task);
    link_append(&w->unacked, &a->unacked);
    w->n.unacknowledged++;
    if (k->any && k->attempt == a->attempt && k->ask == a->ask)
        k->again = result->outcome == OUTCOME_AGAIN;
    answer_resend(w, a);
}

void answer_resend(struct worker *w, struct answer *a)
{
    a->sent_ms = loop_now_ms(w->loop);
    queue_to_server(w->mail, (struct str){a->bytes, a->n});
    w->unflushed = true;
}

void answers_resend_older(struct worker *w, uint64_t sent_before_ms)
{
    for (struct link *l = w->unacked.next; l != &w->unacked; l = l->next) {
        struct answer *a = LINK_OF(l, struct answer, unacked);
        if (a->sent_ms < sent_before_ms)
            answer_resend(w, a);
    }
}

void answer_drop(struct worker *w, struct answer *a)
{
    link_remove(&a->of_task);
    link_remove(&a->unacked);
    w->n.unacknowledged--;
    if (a->travel)
        travel_acknowledged(a->travel);
    free(a);
}

/* A number that we have not given yet is an earlier life's, which had a later wall clock: what it
 * left is told first, and says nothing of ours. */
void answers_acknowledge(struct worker *w, uint64_t seq)
{
    if (seq >= w->next_seq && seq != UINT64_MAX)
        return;
    while (!link_empty(&w->unacked)) {
        struct answer *a = LINK_OF(w->unacked.next, struct answer, unacked);
        struct known *k = a->known;
        if (a->seq > seq)
            break;
        answer_drop(w, a);
        known_settle(w, k);
    }
}

void memory_done(struct worker *w)
{
    answers_acknowledge(w, UINT64_MAX);
    while (!link_empty(&w->idle))
        known_forget(w, LINK_OF(w->idle.next, struct known, idle));
    u64map_done(&w->tasks);
}
