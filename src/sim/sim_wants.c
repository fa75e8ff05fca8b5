/* sim_wants.c - a plain copy of desired state, to compare the real one with
 *
 * Every entry of every snapshot is one element of one list, copied where the real maps share:
 * nothing here knows a trie, a reference or a row.  It changes at the same moments, and is kept as
 * it was with the group that is closed and with the one that is stored, so that whatever is read
 * back can be held against it.
 *
 * Names.  A role is called by its deployment and a number; how desired state numbers it, and in
 * which order it learns of it, is the real one's business and found out by its name.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/sim_i.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- the list ---- */

struct want *sim_wants_find(const struct wants *w, uint32_t snapshot, bool base, uint32_t place)
{
    for (size_t i = 0; i < w->entries.n; i++) {
        struct want *t = &w->entries.at[i];
        if (t->snapshot == snapshot && t->base == base && t->place == place)
            return t;
    }
    return NULL;
}

void sim_wants_put(struct wants *w, const struct want *t)
{
    struct want *had = sim_wants_find(w, t->snapshot, t->base, t->place);
    if (had)
        *had = *t;
    else
        vec_push(&w->entries, *t);
}

void sim_wants_remove(struct wants *w, uint32_t snapshot, bool base, uint32_t place)
{
    struct want *had = sim_wants_find(w, snapshot, base, place);
    if (had)
        *had = w->entries.at[--w->entries.n];
}

void sim_wants_clear(struct wants *w, uint32_t snapshot, bool base)
{
    size_t kept = 0;
    for (size_t i = 0; i < w->entries.n; i++)
        if (w->entries.at[i].snapshot != snapshot || w->entries.at[i].base != base)
            w->entries.at[kept++] = w->entries.at[i];
    w->entries.n = kept;
}

void sim_wants_clone(struct wants *w, uint32_t from, uint32_t to, bool to_base)
{
    for (size_t i = 0, n = w->entries.n; i < n; i++) {
        struct want t = w->entries.at[i];
        if (t.snapshot != from || t.base)
            continue;
        t.snapshot = to;
        t.base = to_base;
        vec_push(&w->entries, t);
    }
}

uint32_t sim_wants_in_state(const struct wants *w, uint32_t deployment, enum snapshot_state state)
{
    for (size_t id = 1; id < w->snapshots.n; id++)
        if (w->snapshots.at[id].deployment == deployment && w->snapshots.at[id].state == state)
            return (uint32_t)id;
    return 0;
}

void sim_wants_copy(struct wants *to, const struct wants *from)
{
    vec_clear(&to->entries);
    vec_clear(&to->snapshots);
    for (size_t i = 0; i < from->entries.n; i++)
        vec_push(&to->entries, from->entries.at[i]);
    for (size_t i = 0; i < from->snapshots.n; i++)
        vec_push(&to->snapshots, from->snapshots.at[i]);
    to->version = from->version;
}

void sim_wants_done(struct wants *w)
{
    vec_done(&w->entries);
    vec_done(&w->snapshots);
}

/* ---- three ways ---- */

static bool same(const struct want *x, const struct want *y)
{
    if (!x || !y)
        return x == y;
    return x->user == y->user && x->flags == y->flags && x->n_parents == y->n_parents &&
           memcmp(x->parents, y->parents, x->n_parents * sizeof *x->parents) == 0;
}

uint32_t sim_wants_merge(struct wants *w, uint32_t proposal, uint32_t head)
{
    uint32_t conflicts = 0;
    struct wants seen = {0}; /* places that were looked at */
    sim_wants_clear(w, WANT_DRAFT, false);
    for (size_t i = 0, n = w->entries.n; i < n; i++) {
        const struct want *t = &w->entries.at[i];
        uint32_t place = t->place;
        if ((t->snapshot != proposal && (t->snapshot != head || head == 0)) ||
            sim_wants_find(&seen, 0, false, place))
            continue;
        vec_push(&seen.entries, ((struct want){.place = place}));
        const struct want *base = sim_wants_find(w, proposal, true, place);
        const struct want *ours = head ? sim_wants_find(w, head, false, place) : NULL;
        const struct want *theirs = sim_wants_find(w, proposal, false, place);
        bool kept = same(theirs, base) || same(theirs, ours);
        const struct want *one = kept ? ours : theirs;
        conflicts += !kept && !same(ours, base);
        if (!one)
            continue;
        struct want merged = *one;
        merged.snapshot = WANT_DRAFT;
        merged.base = false;
        vec_push(&w->entries, merged);
    }
    sim_wants_done(&seen);
    return conflicts;
}

/* ---- names ---- */

void sim_wants_role_name(char *b, size_t n, uint32_t deployment, uint32_t role)
{
    snprintf(b, n, "want-%u-%u", deployment, role);
}

struct sim_seat sim_wants_seat(struct str role, uint32_t node)
{
    char *at;
    if (role.n < 5 || memcmp(role.s, "want-", 5) != 0)
        return (struct sim_seat){0, 0};
    uint32_t deployment = (uint32_t)strtoul(role.s + 5, &at, 10);
    return (struct sim_seat){deployment, sim_place((uint32_t)strtoul(at + 1, NULL, 10), node)};
}

/* ---- comparing ---- */

struct comparing {
    struct sim *sim;
    const struct desire *desire;
    const struct wants *wants;
    const char *when;
    struct arena mem;
    uint32_t snapshot;
    uint64_t sum;
    uint32_t n;
    bool base, tell;
};

static uint64_t want_digest(const struct want *t)
{
    uint64_t d = mix64(mix64(t->place, t->user), t->flags);
    for (uint32_t i = 0; i < t->n_parents; i++)
        d = mix64(d, t->parents[i]);
    return d;
}

static int by_place(const void *x, const void *y)
{
    const uint32_t *p = x, *q = y;
    return (*p > *q) - (*p < *q);
}

/* The place that a key means in this deployment; 0 if the role has no such name. */
static uint32_t place_of(const struct comparing *c, uint64_t key)
{
    struct str name = desire_role_name(c->desire, snapshot_key_role(key));
    struct sim_seat seat = sim_wants_seat(name, snapshot_key_node(key));
    return seat.deployment == c->wants->snapshots.at[c->snapshot].deployment ? seat.place : 0;
}

static bool want_read(struct comparing *c, uint64_t key, struct str value, struct want *ret)
{
    struct snapshot_entry t;
    struct err e;
    if (snapshot_entry_decode(&c->mem, value, &t, &e) < 0 || t.n_parents > WANT_PARENTS_MOST)
        return false;
    *ret = (struct want){.snapshot = c->snapshot,
                         .place = place_of(c, key),
                         .flags = t.flags,
                         .n_parents = (uint8_t)t.n_parents,
                         .base = c->base};
    const char *text = desire_doc_text(c->desire, t.user).s;
    ret->user = strncmp(text, "{\"v\":", 5) == 0 ? (uint32_t)strtoul(text + 5, NULL, 10) : 0;
    for (uint32_t i = 0; i < t.n_parents; i++)
        ret->parents[i] = place_of(c, t.parents[i]);
    qsort(ret->parents, t.n_parents, sizeof *ret->parents, by_place);
    arena_reset(&c->mem);
    return true;
}

static void entry_sum(void *ctx, uint64_t key, struct str value)
{
    struct comparing *c = ctx;
    struct want t = {0};
    bool read = want_read(c, key, value, &t);
    c->n++;
    c->sum += read ? want_digest(&t) : 1;
    if (c->tell && !same(&t, sim_wants_find(c->wants, c->snapshot, c->base, t.place)))
        sim_fail(c->sim, "desire: %s snapshot %u%s has another entry for role %u on node %u",
                 c->when, c->snapshot, c->base ? ", in its base," : "", sim_place_role(t.place),
                 sim_place_node(t.place));
}

static void map_compare(struct comparing *c, const struct pmap *m, uint64_t sum, uint32_t n)
{
    c->sum = 0;
    c->n = 0;
    c->tell = false;
    pmap_each(m, entry_sum, c);
    if (c->sum == sum && c->n == n && pmap_count(m) == n)
        return;
    c->tell = true;
    pmap_each(m, entry_sum, c);
    sim_fail(c->sim, "desire: %s snapshot %u%s lacks an entry, or has one too many", c->when,
             c->snapshot, c->base ? ", in its base," : "");
}

static void snapshot_compare(struct comparing *c)
{
    const struct want_snapshot *w = &c->wants->snapshots.at[c->snapshot];
    const struct snapshot *r = desire_snapshot(c->desire, c->snapshot);
    if (!r || r->deployment != w->deployment || r->number != w->number || r->state != w->state) {
        sim_fail(c->sim, "desire: %s snapshot %u is %s, not %s", c->when, c->snapshot,
                 r ? snapshot_state_name(r->state) : "gone",
                 snapshot_state_name((enum snapshot_state)w->state));
        return;
    }
    if (r->source != w->source || r->operation != w->operation || r->catalog != w->catalog ||
        r->oldest != w->oldest)
        sim_fail(c->sim, "desire: %s snapshot %u has another source, operation or catalog", c->when,
                 c->snapshot);
    const struct snapshot *by_number = desire_numbered(c->desire, w->deployment, w->number);
    if (by_number != (w->state == SNAPSHOT_RECALLED ? NULL : r))
        sim_fail(c->sim, "desire: %s snapshot %u is not found by its number", c->when, c->snapshot);
    if ((w->state == SNAPSHOT_COMMITTED && desire_head(c->desire, w->deployment) != r) ||
        (w->state == SNAPSHOT_PROPOSED && desire_proposal(c->desire, w->deployment) != r))
        sim_fail(c->sim, "desire: %s snapshot %u is not where its state says", c->when,
                 c->snapshot);
}

/* How many of a deployment have a state; of those that are not history at most one may. */
static void check_alone(struct sim *s, const struct desire *d, const char *when)
{
    uint32_t alone[SIM_DEPLOYMENT_LAST + 1][2] = {{0}};
    for (uint32_t id = 1; id < desire_end(d); id++) {
        const struct snapshot *r = desire_snapshot(d, id);
        if (!r || r->state > SNAPSHOT_COMMITTED)
            continue;
        if (alone[r->deployment][r->state]++ > 0)
            sim_fail(s, "desire: %s deployment %u has two snapshots that are %s", when,
                     r->deployment, snapshot_state_name(r->state));
    }
    for (uint32_t i = SIM_DEPLOYMENT_FIRST; i <= SIM_DEPLOYMENT_LAST; i++)
        if (alone[i][SNAPSHOT_PROPOSED] != (desire_proposal(d, i) != NULL) ||
            alone[i][SNAPSHOT_COMMITTED] != (desire_head(d, i) != NULL))
            sim_fail(s, "desire: %s deployment %u has a head or a proposal that is none", when, i);
}

struct want_sums {
    uint64_t sum[2]; /* of the map, of its base */
    uint32_t n[2];
};

void sim_wants_compare(struct sim *s, const struct wants *w, const struct desire *d,
                       const char *when)
{
    struct comparing c = {.sim = s, .desire = d, .wants = w, .when = when};
    size_t n = w->snapshots.n;
    if (desire_end(d) != n) {
        sim_fail(s, "desire: %s there are %u snapshots, not %zu", when, desire_end(d) - 1, n - 1);
        return;
    }
    struct want_sums *sums = xcalloc(n, sizeof *sums);
    for (size_t i = 0; i < w->entries.n; i++) {
        const struct want *t = &w->entries.at[i];
        if (t->snapshot == WANT_DRAFT)
            continue;
        sums[t->snapshot].sum[t->base] += want_digest(t);
        sums[t->snapshot].n[t->base]++;
    }
    arena_init(&c.mem);
    for (c.snapshot = 1; c.snapshot < n && !s->report->failed; c.snapshot++) {
        const struct snapshot *r = desire_snapshot(d, c.snapshot);
        snapshot_compare(&c);
        for (int base = 0; base < 2 && !s->report->failed; base++) {
            c.base = base;
            map_compare(&c, base ? r->base : r->root, sums[c.snapshot].sum[base],
                        sums[c.snapshot].n[base]);
        }
    }
    check_alone(s, d, when);
    arena_done(&c.mem);
    free(sums);
}
