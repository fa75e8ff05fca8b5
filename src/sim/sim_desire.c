/* sim_desire.c - desired state in the simulated world: with the server's groups, its death and its
 * return, and what must be true of it
 *
 * The real desired state (server/desire.h) notes its rows in the open group, beside what the engine
 * changed.  The plain copy of sim_wants.c changes at the same moments and is kept as it was with
 * the closed group and with the stored one.
 *
 * What is checked.  After every change: the real maps and the copy are the same, of each deployment
 * at most one is proposed and one committed, and what is archived is as it was.  After every
 * restart: what was read back is the copy of that group, whole.  And besides, every few steps: who
 * lives through a snapshot is who the head wants, with the parents it wants, so that a commit of
 * which one half was stored is seen.  Nodes of maps are as many in memory as in the store, none of
 * them unreachable.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/sim_i.h"

#include <inttypes.h>

uint32_t sim_desire_head(const struct sim *s, uint32_t deployment)
{
    return sim_wants_in_state(&s->desire.now, deployment, SNAPSHOT_COMMITTED);
}

uint32_t sim_desire_proposal(const struct sim *s, uint32_t deployment)
{
    return sim_wants_in_state(&s->desire.now, deployment, SNAPSHOT_PROPOSED);
}

/* ---- who lives, and who is wanted ---- */

static void check_entry(struct sim *s, uint32_t deployment, const struct want *t, const char *when)
{
    const struct anneal *a = s->server.engine;
    uint32_t id = sim_revise_live(s, deployment, t->place, NULL), parents[WANT_PARENTS_MOST];
    if (!id) {
        sim_fail(s, "desire: %s the head of deployment %u wants role %u on node %u, nobody lives",
                 when, deployment, sim_place_role(t->place), sim_place_node(t->place));
        return;
    }
    uint32_t n = anneal_needs(a, id, parents, WANT_PARENTS_MOST);
    bool same = n == t->n_parents;
    for (uint32_t i = 0; same && i < n; i++) {
        bool found = false;
        for (uint32_t k = 0; k < n; k++)
            found |= s->seats.at[parents[i]].deployment == deployment &&
                     s->seats.at[parents[i]].place == t->parents[k];
        same = found;
    }
    if (!same)
        sim_fail(s, "desire: %s noderole %u has other parents than its entry", when, id);
}

void sim_desire_check(struct sim *s, const char *when)
{
    uint32_t wanted[SIM_DEPLOYMENT_LAST + 1] = {0}, lives[SIM_DEPLOYMENT_LAST + 1] = {0};
    const struct wants *w = &s->desire.now;
    for (size_t i = 0; i < w->entries.n && !s->report->failed; i++) {
        const struct want *t = &w->entries.at[i];
        if (t->snapshot == WANT_DRAFT || t->base || sim_place_node(t->place) == 0 ||
            w->snapshots.at[t->snapshot].state != SNAPSHOT_COMMITTED)
            continue;
        uint32_t deployment = w->snapshots.at[t->snapshot].deployment;
        wanted[deployment]++;
        check_entry(s, deployment, t, when);
    }
    for (uint32_t id = 1; id < s->seats.n; id++) {
        struct noderole_view v;
        if (sim_plan_seated(s, id) && anneal_noderole(s->server.engine, id, &v) &&
            v.target != TARGET_ABSENT)
            lives[s->seats.at[id].deployment]++;
    }
    for (uint32_t i = SIM_DEPLOYMENT_FIRST; i <= SIM_DEPLOYMENT_LAST; i++)
        if (wanted[i] != lives[i])
            sim_fail(s, "desire: %s deployment %u has %u noderoles, its head wants %u", when, i,
                     lives[i], wanted[i]);
}

/* ---- after a change, or none ---- */

void sim_desire_changed(struct sim *s, uint32_t deployment, const char *what)
{
    struct event ev = {.kind = EVENT_DEPLOYMENT, .id = deployment};
    commit_inventory(s->server.commit, &ev, &(struct commit_note){.actor = "operator"});
    s->desire.now.version++;
    sim_trace_step(s, what, deployment);
    sim_wants_compare(s, &s->desire.now, s->server.desire, "after a change");
    sim_desire_check(s, "after a change");
    sim_server_close_soon(s);
    sim_server_micro_step(s);
}

void sim_desire_unchanged(struct sim *s, uint64_t rows, const char *what)
{
    if (s->desire.rows != rows)
        sim_fail(s, "desire: %s was refused and told %" PRIu64 " rows", what,
                 s->desire.rows - rows);
    else
        sim_wants_compare(s, &s->desire.now, s->server.desire, what);
}

/* ---- with the server ---- */

static void note_row(void *arg, enum row_table t, enum row_verb verb, const void *row)
{
    struct sim *s = arg;
    s->desire.rows++;
    s->desire.tries += t == ROWS_TRIE;
    commit_row(s->server.commit, t, verb, row);
}

void sim_desire_boot(struct sim *s)
{
    s->server.desire = desire_new(note_row, s);
    (void)vec_add(&s->desire.now.snapshots); /* 0 is nobody */
    sim_wants_copy(&s->desire.closed, &s->desire.now);
    sim_wants_copy(&s->desire.durable, &s->desire.now);
}

void sim_desire_free(struct sim *s)
{
    sim_wants_done(&s->desire.now);
    sim_wants_done(&s->desire.closed);
    sim_wants_done(&s->desire.durable);
}

static void copy_if_other(struct wants *to, const struct wants *from)
{
    if (to->version != from->version)
        sim_wants_copy(to, from);
}

void sim_desire_closed(struct sim *s, uint64_t group)
{
    s->desire.closed_group = group;
    copy_if_other(&s->desire.closed, &s->desire.now);
}

void sim_desire_durable(struct sim *s)
{
    copy_if_other(&s->desire.durable, &s->desire.closed);
}

static const struct wants *stored_with(const struct sim *s, uint64_t group)
{
    return group >= s->desire.closed_group ? &s->desire.closed : &s->desire.durable;
}

static void read_back(struct sim *s, struct desire *d, struct store *store, const struct wants *w,
                      const uint64_t *tries)
{
    uint64_t before = *tries;
    struct err e;
    if (desire_load(d, store, &e) < 0)
        sim_fail(s, "desire: what was stored cannot be read back: %s", e.text);
    else if (*tries != before)
        sim_fail(s, "desire: %" PRIu64 " nodes of maps are stored that no snapshot refers to",
                 *tries - before);
    else
        sim_wants_compare(s, w, d, "read back,");
}

void sim_desire_load(struct sim *s, uint64_t group)
{
    copy_if_other(&s->desire.now, stored_with(s, group));
    copy_if_other(&s->desire.closed, &s->desire.now);
    copy_if_other(&s->desire.durable, &s->desire.now);
    s->desire.closed_group = group;
    s->server.desire = desire_new(note_row, s);
    read_back(s, s->server.desire, s->server.store, &s->desire.now, &s->desire.tries);
    if (!s->report->failed)
        sim_desire_check(s, "after a restart");
}

static void count_row(void *arg, enum row_table t, enum row_verb verb, const void *row)
{
    (void)verb;
    (void)row;
    *(uint64_t *)arg += t == ROWS_TRIE;
}

void sim_desire_verify(struct sim *s, struct store *store, uint64_t group)
{
    const struct wants *w = stored_with(s, group);
    uint64_t tries = 0;
    struct desire *d = desire_new(count_row, &tries);
    read_back(s, d, store, w, &tries);
    if (!s->report->failed && w->version == s->desire.now.version &&
        desire_map_nodes(d) != desire_map_nodes(s->server.desire))
        sim_fail(s, "desire: maps have %zu nodes in memory, %zu in the store",
                 desire_map_nodes(s->server.desire), desire_map_nodes(d));
    desire_free(d);
}
