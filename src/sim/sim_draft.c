/* sim_draft.c - entries come, change and go in a draft
 *
 * A draft is edited twice: as a map by desired state, and plainly.  What an edit takes away is
 * taken from whoever needs it, or they go along, as when somebody unbinds: a draft names no parent
 * that it does not have.  Two drafts merged may, and are refused then.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/sim_i.h"

#include <stdio.h>
#include <stdlib.h>

enum {
    SEATS_MOST = 7, /* entries on nodes that edits leave in a deployment */
    USERS = 6,      /* different data */
    EDITS_MOST = 4,
};

static struct wants *wants(struct sim *s)
{
    return &s->desire.now;
}

/* ---- what desired state calls it ---- */

static int by_key(const void *x, const void *y)
{
    const uint64_t *p = x, *q = y;
    return (*p > *q) - (*p < *q);
}

uint64_t sim_draft_key(struct sim *s, uint32_t deployment, uint32_t place)
{
    char name[32];
    sim_wants_role_name(name, sizeof name, deployment, sim_place_role(place));
    return snapshot_key(desire_role(s->server.desire, str_of(name)), sim_place_node(place));
}

struct snapshot_entry sim_draft_entry(struct sim *s, uint32_t deployment, const struct want *t,
                                      struct arena *mem)
{
    uint64_t *parents = arena_new(mem, uint64_t, WANT_PARENTS_MOST);
    struct snapshot_entry entry = {
        .flags = t->flags, .parents = parents, .n_parents = t->n_parents};
    char text[32] = "{}";
    struct err e;
    for (uint32_t i = 0; i < t->n_parents; i++)
        parents[i] = sim_draft_key(s, deployment, t->parents[i]);
    qsort(parents, t->n_parents, sizeof *parents, by_key);
    if (t->user)
        snprintf(text, sizeof text, "{\"v\":%u}", t->user);
    if (desire_doc(s->server.desire, str_of(text), &entry.user, &e) < 0)
        sim_fail(s, "desire: a document was refused: %s", e.text);
    return entry;
}

/* ---- a draft ---- */

struct sim_draft sim_draft_open(struct sim *s, uint32_t deployment, uint32_t snapshot)
{
    sim_wants_clear(wants(s), WANT_DRAFT, false);
    if (snapshot)
        sim_wants_clone(wants(s), snapshot, WANT_DRAFT, false);
    return (struct sim_draft){desire_draft(desire_snapshot(s->server.desire, snapshot)),
                              deployment};
}

void sim_draft_drop(struct sim *s, struct sim_draft *d)
{
    desire_unref(s->server.desire, d->map);
    sim_wants_clear(wants(s), WANT_DRAFT, false);
}

static void put(struct sim *s, struct sim_draft *d, struct want t)
{
    SCOPED_ARENA(mem);
    struct err e;
    t.snapshot = WANT_DRAFT;
    const struct want *had = sim_wants_find(wants(s), WANT_DRAFT, false, t.place);
    bool other = !had || had->user != t.user || had->flags != t.flags ||
                 had->n_parents != t.n_parents ||
                 memcmp(had->parents, t.parents, t.n_parents * sizeof *t.parents) != 0;
    struct snapshot_entry entry = sim_draft_entry(s, d->deployment, &t, &mem);
    int r = desire_draft_put(s->server.desire, &d->map, sim_draft_key(s, d->deployment, t.place),
                             &entry, &e);
    if (r != other)
        sim_fail(s, "desire: an entry %s",
                 r < 0 ? e.text : "was as it is, and changed, or did not");
    sim_wants_put(wants(s), &t);
}

static void take(struct sim *s, struct sim_draft *d, uint32_t place)
{
    struct err e;
    bool had = sim_wants_find(wants(s), WANT_DRAFT, false, place) != NULL;
    int r = desire_draft_put(s->server.desire, &d->map, sim_draft_key(s, d->deployment, place),
                             NULL, &e);
    if (r != had)
        sim_fail(s, "desire: an entry could not be taken out, or was not there");
    sim_wants_remove(wants(s), WANT_DRAFT, false, place);
}

/* ---- changes ---- */

/* One with a node, of a role below this one; NULL if there is none. */
static const struct want *any_entry(struct sim *s, uint32_t below_role)
{
    const struct wants *w = wants(s);
    const struct want *found = NULL;
    uint32_t n = 0;
    for (size_t i = 0; i < w->entries.n; i++) {
        const struct want *t = &w->entries.at[i];
        if (t->snapshot == WANT_DRAFT && sim_place_node(t->place) > 0 &&
            sim_place_role(t->place) < below_role && rng_below(&s->wish, ++n) == 0)
            found = t;
    }
    return found;
}

static uint32_t seats(struct sim *s)
{
    uint32_t n = 0;
    for (size_t i = 0; i < wants(s)->entries.n; i++)
        n += wants(s)->entries.at[i].snapshot == WANT_DRAFT &&
             sim_place_node(wants(s)->entries.at[i].place) > 0;
    return n;
}

static void parent_add(struct want *t, uint32_t place)
{
    uint32_t at = 0;
    while (at < t->n_parents && t->parents[at] < place)
        at++;
    if (t->n_parents == WANT_PARENTS_MOST || (at < t->n_parents && t->parents[at] == place))
        return;
    memmove(&t->parents[at + 1], &t->parents[at], (t->n_parents - at) * sizeof *t->parents);
    t->parents[at] = place;
    t->n_parents++;
}

static void parents_draw(struct sim *s, struct want *t)
{
    t->n_parents = 0;
    memset(t->parents, 0, sizeof t->parents);
    for (uint32_t i = rng_below(&s->wish, WANT_PARENTS_MOST + 1); i > 0; i--) {
        const struct want *parent = any_entry(s, sim_place_role(t->place));
        if (parent)
            parent_add(t, parent->place);
    }
}

static void change_add(struct sim *s, struct sim_draft *d)
{
    uint32_t nodes = s->n_nodes < SIM_ROLE_NODES ? s->n_nodes : SIM_ROLE_NODES;
    struct want t = {
        .place = sim_place(rng_from(&s->wish, 1, SIM_ROLES), rng_from(&s->wish, 1, nodes)),
        .user = rng_below(&s->wish, USERS),
        .flags = rng_chance(&s->wish, 500) ? SNAPSHOT_F_REQUESTED : 0};
    const struct want *had = sim_wants_find(wants(s), WANT_DRAFT, false, t.place);
    if (!had && seats(s) >= SEATS_MOST)
        return;
    parents_draw(s, &t);
    put(s, d, t);
}

/* Whoever needs it loses that parent, or goes as well, and so on downwards: a parent's role is
 * always the lower one. */
static void change_remove(struct sim *s, struct sim_draft *d)
{
    const struct want *first = any_entry(s, UINT32_MAX);
    uint32_t gone[SIM_ROLES * SIM_ROLE_NODES], n = 0;
    bool cascade = rng_chance(&s->wish, 500);
    if (!first)
        return;
    gone[n++] = first->place;
    take(s, d, gone[0]);
    for (uint32_t k = 0; k < n; k++)
        for (uint32_t i = 0; i < SIM_ROLES * SIM_ROLE_NODES; i++) {
            uint32_t place = sim_place(1 + i / SIM_ROLE_NODES, 1 + i % SIM_ROLE_NODES);
            const struct want *had = sim_wants_find(wants(s), WANT_DRAFT, false, place);
            struct want t = had ? *had : (struct want){0};
            uint32_t kept = 0;
            for (uint32_t j = 0; j < t.n_parents; j++)
                if (t.parents[j] != gone[k])
                    t.parents[kept++] = t.parents[j];
            if (kept == t.n_parents)
                continue;
            memset(&t.parents[kept], 0, (WANT_PARENTS_MOST - kept) * sizeof *t.parents);
            t.n_parents = (uint8_t)kept;
            if (cascade) {
                gone[n++] = place;
                take(s, d, place);
            } else {
                put(s, d, t);
            }
        }
}

static void change_alter(struct sim *s, struct sim_draft *d)
{
    const struct want *had = any_entry(s, UINT32_MAX);
    if (!had)
        return;
    struct want t = *had;
    if (rng_chance(&s->wish, 600))
        t.user = rng_below(&s->wish, USERS);
    else
        parents_draw(s, &t);
    put(s, d, t);
}

/* Data of a role in the deployment, whether anybody has that role or not. */
static void change_role(struct sim *s, struct sim_draft *d)
{
    struct want t = {.place = sim_place(rng_from(&s->wish, 1, SIM_ROLES_DATA), 0),
                     .user = rng_from(&s->wish, 1, USERS - 1)};
    if (rng_chance(&s->wish, 300))
        take(s, d, t.place);
    else
        put(s, d, t);
}

void sim_draft_change(struct sim *s, struct sim_draft *d)
{
    for (uint32_t i = rng_from(&s->wish, 1, EDITS_MOST); i > 0; i--) {
        uint32_t what = rng_below(&s->wish, 10);
        if (what < 4)
            change_add(s, d);
        else if (what < 5)
            change_remove(s, d);
        else if (what < 7)
            change_alter(s, d);
        else
            change_role(s, d);
    }
}
