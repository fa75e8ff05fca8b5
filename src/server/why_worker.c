/* why_worker.c - what is waited for when nobody says how a running task is
 *
 * A worker names what it holds with every beat.  One that misses some has died, or cannot be heard;
 * the task goes on, and what becomes of it is decided when its lease is over: on a node another
 * worker asks for it, on the worker's own machine it is lost.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/text.h"
#include "server/lease.h"
#include "server/server_i.h"
#include "server/workers.h"

enum { BEATS_MISSED = 2, BEATS_A_LEASE = 6 }; /* a worker beats so often at least */

/* Its last part: what will be done, and when. */
static const char *then_words(const struct why_answer *w, uint32_t task, uint64_t in_ms,
                              const struct worker_info *has)
{
    const struct server *s = w->server;
    struct task_view v = {0};
    char in[16];
    bool others = workers_present(s) > (has && has->capacity ? 1u : 0u);
    text_duration_show(in_ms, in);
    (void)anneal_task(s->engine, task, &v);
    if (!dispatch_travels(w->server, task))
        return arena_printf(w->mem, "in %s it is taken for lost", in);
    return arena_printf(w->mem, "in %s %s asks node %s about it", in,
                        others ? "another one" : "the next worker that comes",
                        view_node_name(s, v.node));
}

const char *why_worker_words(const struct why_answer *w, uint32_t task, uint32_t attempt)
{
    struct server *s = w->server;
    struct lease_view l;
    uint64_t now = server_now(s);
    char since[16];
    if (!lease_find(s->lease, task, attempt, &l))
        return NULL;
    const struct worker_info *has = workers_get(s, l.worker);
    const char *then = then_words(w, task, l.over_ms > now ? l.over_ms - now : 0, has);
    if (!l.heard_ms)
        return arena_printf(w->mem,
                            "the server was started anew and no worker has said yet that it has "
                            "it; %s",
                            then);
    uint64_t silent_ms = now > l.heard_ms ? now - l.heard_ms : 0;
    if (silent_ms <= (l.over_ms - l.heard_ms) * BEATS_MISSED / BEATS_A_LEASE)
        return NULL;
    text_duration_show(silent_ms, since);
    if (!has)
        return arena_printf(w->mem, "no worker has it since %s; %s", since, then);
    return arena_printf(w->mem, "worker %s is silent since %s; %s", has->name, since, then);
}
