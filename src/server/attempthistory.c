/* attempthistory.c - the attempts of a task, found from its newest one
 *
 * Attempts are stored in the order in which they started, of whatever tasks, and each names the one
 * before it.  So a history is walked backwards.  It may begin in groups that are not durable yet:
 * their rows only show the way.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "server/server_i.h"

enum { BACK_MOST = 1000 }; /* attempts of a task since an operation */

struct walk {
    struct server *server;
    uint64_t id;     /* where it is, 0 at the end */
    uint32_t wanted; /* a number; 0: all of them */
    VEC(uint64_t) seen;
};

static int look(void *arg, enum row_table t, const void *row, struct err *e)
{
    struct walk *w = arg;
    const struct row_attempt *r = row;
    (void)t;
    (void)e;
    if ((w->wanted == 0 || r->number == w->wanted) && attempt_began(r))
        vec_push(&w->seen, r->id);
    w->id = r->number > w->wanted ? r->previous : 0;
    return 0;
}

/* Ids of stored attempts, newest first. */
static int walk_back(struct walk *w, struct err *e)
{
    while (w->id) {
        uint64_t at = w->id;
        const struct row_attempt *starting = commit_attempt_starting(w->server->commit,
                                                                     w->server->flying, at);
        if (starting) {
            w->id = starting->previous;
            continue;
        }
        w->id = 0; /* unless its row tells of another */
        int r = store_range(w->server->reader, ROWS_ATTEMPT, at, at, false, 1, look, w, e);
        if (r < 0)
            return r;
    }
    return 0;
}

static int history(struct server *s, uint32_t task, uint32_t wanted, store_row_f *fn, void *arg,
                   struct err *e)
{
    struct walk w = {.server = s, .id = commit_last_attempt(s->commit, task), .wanted = wanted};
    int r = walk_back(&w, e);
    for (size_t i = w.seen.n; r >= 0 && i-- > 0;)
        r = store_range(s->reader, ROWS_ATTEMPT, w.seen.at[i], w.seen.at[i], false, 1, fn, arg, e);
    vec_done(&w.seen);
    return r;
}

int attempt_history_each(struct server *s, uint32_t task, store_row_f *fn, void *arg, struct err *e)
{
    return history(s, task, 0, fn, arg, e);
}

int attempt_history_one(struct server *s, uint32_t task, uint32_t number, store_row_f *fn,
                        void *arg, struct err *e)
{
    return number ? history(s, task, number, fn, arg, e) : 0;
}

static int take_row(void *arg, enum row_table t, const void *row, struct err *e)
{
    (void)t;
    (void)e;
    *(struct row_attempt *)arg = *(const struct row_attempt *)row;
    ((struct row_attempt *)arg)->note = (struct str){"", 0};
    return 0;
}

/* Later operations come first on the way back; a task has few attempts in each. */
int attempt_history_in(struct server *s, uint32_t task, uint32_t operation,
                       struct row_attempt *ret_row, bool *ret_found, struct err *e)
{
    struct row_attempt at;
    uint64_t id = commit_last_attempt(s->commit, task);
    *ret_found = false;
    for (int steps = 0; id && steps < BACK_MOST; steps++, id = at.previous) {
        const struct row_attempt *starting = commit_attempt_starting(s->commit, s->flying, id);
        at = (struct row_attempt){0};
        if (starting) {
            at.previous = starting->previous;
            continue;
        }
        int r = store_range(s->reader, ROWS_ATTEMPT, id, id, false, 1, take_row, &at, e);
        if (r < 0)
            return r;
        if (at.id && at.operation == operation && attempt_began(&at)) {
            *ret_row = at;
            *ret_found = true;
            return 0;
        }
        if (at.operation != OPERATION_STANDING && at.operation < operation)
            return 0; /* it has never been in it: operations are numbered as they begin */
    }
    return 0;
}
