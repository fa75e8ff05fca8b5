/* worker_chain.c - runs that begin behind another one, without anybody being asked
 *
 * A TASK that names what it begins behind is held until that has ended.  If that has succeeded and
 * returned nothing it begins at once, in the place that has become free; otherwise it is forgotten
 * without an answer, and with it all that is behind it: the answer before it says so (`last`). Data
 * that were returned end a chain because what comes next may see them, and only the server renders.
 *
 * Invariant: before and after of neighbours name each other; nobody has a `before` that has ended.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/worker_i.h"

bool chain_join(struct run *r)
{
    uintptr_t found;
    if (!u64map_get(&r->w->tasks, r->msg.behind, &found))
        return false;
    const struct known *k = (const struct known *)found;
    if (link_empty(&k->runs))
        return false;
    struct run *before = LINK_OF(k->runs.prev, struct run, of_task);
    if (before == r || before->after)
        return false;
    before->after = r;
    r->before = before;
    return true;
}

/* They are sent right behind the first one; it waits for them, for else it could be over before
 * they are here. */
bool chain_complete(const struct run *r)
{
    uint32_t n = r->msg.followers;
    for (; r->after && n > 0; n--)
        r = r->after;
    return n == 0;
}

void chain_gathered(struct run *r)
{
    while (r->before)
        r = r->before;
    if (r->life == LIFE_GATHERING && chain_complete(r))
        run_enqueue(r, false);
}

bool chain_goes_on(const struct run *r, const struct taskmsg *result)
{
    return r->after && result->outcome == OUTCOME_OK && !result->returns.n && !result->gone.n &&
           !r->w->stopping;
}

void chain_forget(struct run *r)
{
    for (struct run *after; r; r = after) {
        struct known *k = r->known;
        after = r->after;
        r->before = r->after = NULL;
        run_leave(r);
        known_settle(r->w, k);
    }
}

void chain_ended(struct run *r, bool goes_on)
{
    struct run *after = r->after;
    if (r->before)
        r->before->after = NULL;
    r->before = r->after = NULL;
    if (!after)
        return;
    after->before = NULL;
    if (!goes_on)
        chain_forget(after);
    else
        run_enqueue(after, true);
}
