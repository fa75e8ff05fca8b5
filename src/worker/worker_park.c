/* worker_park.c - runs that go on on a node which cannot be reached
 *
 * The connection broke, or another worker sent the run and is gone: the program may be running
 * there, or have ended, and the node knows.  So the run stays what it is, RUNNING, and its node is
 * tried again after 1, 2, 4 ... 30 s until it answers; then the runner there tells what became of
 * it.  The server is told what is waited for, so that people can read it.  How long all this may
 * take is the attempt's own time limit.
 *
 * A run that is told to end meanwhile is tried once more at once.  If that fails nobody can say
 * what became of it.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>

#include "worker/worker_i.h"

enum { RETRY_LEAST_MS = 1000, RETRY_MOST_MS = 30000, RETRY_DOUBLINGS = 5 };

static void note(struct run *r, const char *text)
{
    struct taskmsg m = {
        .kind = TASKMSG_NOTE, .task = r->msg.task, .attempt = r->msg.attempt, .text = str_of(text)};
    worker_send(r->w, &m);
    r->noted = text[0] != '\0';
}

static void arm(struct worker *w)
{
    uint64_t next = UINT64_MAX;
    for (struct link *l = w->parked.next; l != &w->parked; l = l->next) {
        const struct run *r = LINK_OF(l, struct run, parked);
        next = r->retry_ms < next ? r->retry_ms : next;
    }
    if (next != UINT64_MAX)
        loop_timer_at(w->retry, next);
}

bool run_is_parked(const struct run *r)
{
    return r->parked.next && !link_empty(&r->parked);
}

void run_park(struct run *r, const char *why, uint64_t least_ms)
{
    struct worker *w = r->w;
    char text[400];
    uint64_t delay_ms = RETRY_LEAST_MS
                        << (r->retries < RETRY_DOUBLINGS ? r->retries : RETRY_DOUBLINGS);
    delay_ms = delay_ms < RETRY_MOST_MS ? delay_ms : RETRY_MOST_MS;
    r->retries++;
    r->retry_ms = loop_now_ms(w->loop) + (delay_ms > least_ms ? delay_ms : least_ms);
    link_append(&w->parked, &r->parked);
    snprintf(text, sizeof text, "node %.*s cannot be reached, the task may go on there: %.200s",
             (int)(r->msg.node.n < 120 ? r->msg.node.n : 120), r->msg.node.s, why);
    note(r, text);
    arm(w);
}

void run_unpark(struct run *r)
{
    link_remove(&r->parked);
}

void run_hurry(struct run *r)
{
    r->retry_ms = loop_now_ms(r->w->loop);
    arm(r->w);
}

void run_sent_again(struct run *r, const struct taskmsg *m)
{
    if (!str_eq(m->access, r->msg.access)) {
        char *old = r->new_access;
        r->new_access = xstrndup(m->access.n ? m->access.s : "", m->access.n);
        r->msg.access = str_of(r->new_access);
        free(old);
    }
    r->msg.access_rev = m->access_rev; /* of the same words, said anew: a key was forgotten */
    r->msg.node_id = m->node_id;
    if (run_is_parked(r))
        run_hurry(r);
}

void run_reached(struct run *r)
{
    r->retries = 0;
    if (r->noted)
        note(r, "");
}

/* Its node was taken away, and another one has its name: nobody can ask any more. */
static void run_orphaned(struct run *r)
{
    struct jig_result res = {.outcome = OUTCOME_LOST, .exit_code = -1};
    snprintf(res.text, sizeof res.text, "its node is gone, another one has its name");
    run_step_finished(r, &res);
}

void parked_due(void *worker)
{
    struct worker *w = worker;
    uint64_t now = loop_now_ms(w->loop);
    struct link due;
    link_init(&due);
    for (struct link *l = w->parked.next, *next; l != &w->parked; l = next) {
        struct run *r = LINK_OF(l, struct run, parked);
        next = l->next;
        if (r->retry_ms > now)
            continue;
        link_remove(&r->parked);
        link_append(&due, &r->parked);
    }
    while (!link_empty(&due)) {
        struct run *r = LINK_OF(due.next, struct run, parked);
        struct err e;
        link_remove(&r->parked);
        if (node_is_past(w, &r->msg))
            run_orphaned(r);
        else if (travel_begin(r, r->away_jig, r->away_req, &e) < 0)
            run_park(r, e.text, 0);
    }
    arm(w);
}
