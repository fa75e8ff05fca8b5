/* naive_state.c - states when all is quiet, by a fix point over parents (docs/rfc/01, 2 and 3)
 *
 * A bad noderole fails its first task whenever it runs.  Whether it runs at all is what is to be
 * known: it does if something that its tasks depend on is not as it was at their last success.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "naive.h"

static const char *data_of(struct naive *v, int id)
{
    const struct being *b = &v->beings[id];
    return naive_text(&v->mem, naive_merge(&v->mem, truth_defaults(&v->mem, &v->truth, b->role),
                                           naive_parse(&v->mem, b->user)));
}

/* What the tasks of a noderole depend on: its data, and who its parents are. */
static const char *depends_on(struct naive *v, int id)
{
    SCOPED_BUF(text);
    buf_puts(&text, data_of(v, id));
    for (int p = 1; p < v->end; p++)
        if (naive_needs(v, id, p, false))
            buf_printf(&text, " %d", p);
    return arena_strndup(&v->mem, text.data, text.len);
}

static bool is_needed(const struct naive *v, int id)
{
    for (int c = 1; c < v->end; c++)
        if (v->beings[c].exists && naive_needs(v, c, id, false))
            return true;
    return false;
}

static void vanish(struct naive *v, int id)
{
    v->beings[id].exists = false;
    v->beings[id].n_needs = 0;
    for (int c = 1; c < v->end; c++) { /* only sleeping needs are left */
        struct being *b = &v->beings[c];
        int kept = 0;
        for (int i = 0; i < b->n_needs; i++)
            if (b->needs[i].parent != id)
                b->needs[kept++] = b->needs[i];
        b->n_needs = kept;
    }
}

/* What failed of it is tried anew. */
static void correct(struct being *b)
{
    b->must_run |= b->failed;
    b->failed = b->rewound = false;
}

/* Needs that slept until this one was ACTIVE. */
static bool wake(struct naive *v, int id)
{
    bool any = false;
    for (int c = 1; c < v->end; c++)
        for (int i = 0; v->beings[c].exists && i < v->beings[c].n_needs; i++) {
            struct naive_need *n = &v->beings[c].needs[i];
            any |= n->parent == id && n->sleeps;
            if (n->parent == id && n->sleeps)
                correct(&v->beings[c]);
            n->sleeps &= n->parent != id;
        }
    if (any)
        naive_raise(v);
    return any;
}

/* Whoever used it and has not run without it, and what comes in its place. */
static bool is_used(const struct naive *v, int id)
{
    for (int i = 0; i < v->beings[id].n_users; i++) {
        const struct being *u = &v->beings[v->beings[id].users[i].id];
        if (u->exists && !u->leaving)
            return true;
    }
    return false;
}

static void let_go(struct naive *v, int user, bool ran)
{
    for (int id = 1; id < v->end; id++) {
        struct being *b = &v->beings[id];
        int kept = 0;
        for (int i = 0; i < b->n_users; i++)
            if (b->users[i].id != user || (!ran && !b->users[i].successor))
                b->users[kept++] = b->users[i];
        b->n_users = kept;
    }
}

static bool awaits(const struct being *b)
{
    bool any = false;
    for (int i = 0; i < b->n_needs; i++)
        any |= b->needs[i].sleeps && b->needs[i].awaited;
    return any;
}

static bool settle_leaver(struct naive *v, int id)
{
    struct being *b = &v->beings[id];
    const struct truth_role *r = &v->truth.roles[b->role];
    b->in_service = false;
    if (b->failed || is_needed(v, id) || is_used(v, id))
        return false;
    if (b->bad_down && r->stop + r->remove > 0) {
        b->failed = true;
        return true;
    }
    vanish(v, id);
    return true;
}

static void run(struct naive *v, int id, const char *inputs, naive_word_f *word, void *ctx)
{
    struct being *b = &v->beings[id];
    bool unseen = b->unsure;
    b->must_run = false;
    b->failed = unseen ? word(ctx, id).failed : b->bad;
    b->in_service = !b->failed;
    if (b->failed)
        return;
    let_go(v, id, true);
    b->passed = inputs;
    b->unsure = false;
}

bool naive_parents_in(const struct naive *v, int id)
{
    const struct being *b = &v->beings[id];
    bool all = true;
    for (int i = 0; i < b->n_needs; i++)
        all &= b->needs[i].sleeps || v->beings[b->needs[i].parent].in_service;
    return all;
}

/* True if anything moved. */
static bool settle_one(struct naive *v, int id, naive_word_f *word, void *ctx)
{
    struct being *b = &v->beings[id];
    bool parents_in = naive_parents_in(v, id), was_in = b->in_service;
    if (b->failed || !parents_in) {
        /* An ancestor fails while this one runs, and which is first is chance. */
        if (b->bad && b->could_run)
            b->failed |= word(ctx, id).failed;
        b->in_service = false;
        b->rewound |= b->failed && !parents_in;
        return was_in;
    }
    if (awaits(b))
        return false; /* as it is, in service or not */
    const char *inputs = depends_on(v, id);
    bool same = *b->passed && !strcmp(b->passed, inputs) && !b->must_run;
    if (same && !b->unsure)
        b->in_service = true;
    else
        run(v, id, inputs, word, ctx);
    if (b->in_service)
        let_go(v, id, false);
    bool woken = b->in_service && wake(v, id);
    return woken || was_in != b->in_service || (!same && !b->failed) || b->failed;
}

/* The next by (cohort, id) after `after`; 0: none.  Parents come first, so that a child sees them
 * as they will be. */
static int next_by_cohort(const struct naive *v, int after)
{
    int best = 0;
#define RANK(id) (v->beings[(id)].cohort * BEINGS_MOST + (id))
    for (int id = 1; id < v->end; id++)
        if (v->beings[id].exists && (!after || RANK(id) > RANK(after)) &&
            (!best || RANK(id) < RANK(best)))
            best = id;
#undef RANK
    return best;
}

void naive_settle(struct naive *v, naive_word_f *word, void *ctx)
{
    for (int id = 1; id < v->end; id++)
        v->beings[id].could_run = v->beings[id].exists && naive_parents_in(v, id);
    for (bool moved = true; moved;) {
        moved = false;
        for (int id = 0; (id = next_by_cohort(v, id));)
            moved |= v->beings[id].leaving ? settle_leaver(v, id) : settle_one(v, id, word, ctx);
    }
}

bool naive_catch_up(struct naive *v, naive_word_f *word, void *ctx, bool quiet)
{
    bool possible = true;
    for (int id = 1; id < v->end; id++) {
        struct being *b = &v->beings[id];
        if (!b->exists)
            continue;
        struct naive_word w = word(ctx, id);
        if (!w.exists) {
            possible &= b->leaving;
            vanish(v, id);
            continue;
        }
        possible &= !w.failed || b->failed || b->unsure || (b->leaving ? b->bad_down : b->bad);
        b->failed = w.failed;
        b->unsure = !b->leaving;
        for (int i = 0; i < b->n_needs; i++)
            b->needs[i] = (struct naive_need){.parent = b->needs[i].parent,
                                              .sleeps = !w.counts(ctx, id, b->needs[i].parent),
                                              .awaited = w.awaits(ctx, id, b->needs[i].parent)};
        b->n_users = 0;
        for (int u = 1; u < v->end && b->n_users < USERS_MOST; u++) {
            int waits = w.waits_for(ctx, id, u);
            if (waits)
                b->users[b->n_users++] = (struct naive_user){u, waits == 2};
        }
    }
    naive_raise(v);
    if (quiet)
        naive_settle(v, word, ctx);
    return possible;
}

void naive_configure(struct naive *v, int id, const char *user, bool otherwise)
{
    struct being *b = &v->beings[id];
    const char *before = data_of(v, id);
    b->user = user;
    if (otherwise || strcmp(before, data_of(v, id)))
        correct(b);
}

void naive_retry(struct naive *v, int id)
{
    struct being *b = &v->beings[id];
    b->must_run = !b->rewound;
    b->failed = b->rewound = false;
}

const char *naive_state(const struct naive *v, int id)
{
    const struct being *b = &v->beings[id];
    if (b->failed)
        return "ERROR";
    if (b->leaving)
        return "REMOVING";
    return !b->in_service ? "BLOCKED" : awaits(b) ? "STALE" : "ACTIVE";
}
