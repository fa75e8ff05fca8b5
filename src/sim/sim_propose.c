/* sim_propose.c - people want something else: they propose, edit, commit, recall, go back, and act
 * at once while others have a proposal open
 *
 * As the server does it for them (src/server/face_proposal.c, enact.c, wish.c), over the same
 * desired state, engine and commit step: an edit becomes the proposal's map whole or not at all; a
 * commit is the operation, the plan over what lives, the new head and the archived old one in one
 * group.  What the engine or a merge refuses must have changed nothing.
 *
 * Chance has a stream of its own: what is wanted does not depend on what else goes wrong.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/sim_i.h"

enum { CATALOG_EVENTS = 2500 }; /* there is a new catalog after so many */

static struct wants *wants(struct sim *s)
{
    return &s->desire.now;
}

static struct want_snapshot *snapshot(struct sim *s, uint32_t id)
{
    return &s->desire.now.snapshots.at[id];
}

static uint32_t deployment_draw(struct sim *s)
{
    return rng_from(&s->wish, SIM_DEPLOYMENT_FIRST, SIM_DEPLOYMENT_LAST);
}

static struct desire_author author_draw(struct sim *s)
{
    return (struct desire_author){.name = str_of(rng_chance(&s->wish, 500) ? "ada" : "bob"),
                                  .message = str_of(rng_chance(&s->wish, 500) ? "" : "a change"),
                                  .wall_ms = s->now_ms,
                                  .catalog = 1 + (uint32_t)(s->report->events / CATALOG_EVENTS)};
}

/* ---- the plain copy of what happens to snapshots ---- */

static uint32_t copy_new(struct sim *s, uint32_t deployment, enum snapshot_state state,
                         uint32_t catalog)
{
    uint32_t number = 1;
    for (size_t i = 1; i < wants(s)->snapshots.n; i++)
        number += snapshot(s, (uint32_t)i)->deployment == deployment;
    struct want_snapshot w = {.deployment = deployment,
                              .number = number,
                              .catalog = catalog,
                              .oldest = catalog,
                              .state = (uint8_t)state};
    vec_push(&wants(s)->snapshots, w);
    s->report->snapshots++;
    return (uint32_t)wants(s)->snapshots.n - 1;
}

static void copy_from_draft(struct sim *s, uint32_t id)
{
    sim_wants_clear(wants(s), id, false);
    sim_wants_clone(wants(s), WANT_DRAFT, id, false);
    sim_wants_clear(wants(s), WANT_DRAFT, false);
}

static void copy_commit(struct sim *s, uint32_t id, uint32_t catalog, uint32_t operation)
{
    struct want_snapshot *w = snapshot(s, id);
    uint32_t head = sim_desire_head(s, w->deployment);
    if (head)
        snapshot(s, head)->state = SNAPSHOT_ARCHIVED;
    sim_wants_clear(wants(s), id, true);
    copy_from_draft(s, id);
    w->state = SNAPSHOT_COMMITTED;
    w->catalog = w->oldest = catalog;
    w->operation = operation;
}

static uint32_t copy_advance(struct sim *s, uint32_t deployment, uint32_t catalog,
                             uint32_t operation)
{
    uint32_t head = sim_desire_head(s, deployment), oldest = catalog;
    for (size_t i = 0; head && i < wants(s)->entries.n; i++)
        if (wants(s)->entries.at[i].snapshot == head && snapshot(s, head)->oldest < oldest)
            oldest = snapshot(s, head)->oldest;
    if (head)
        snapshot(s, head)->state = SNAPSHOT_ARCHIVED;
    uint32_t id = copy_new(s, deployment, SNAPSHOT_COMMITTED, catalog);
    snapshot(s, id)->oldest = oldest;
    snapshot(s, id)->operation = operation;
    return id;
}

/* ---- propose, recall, go back ---- */

static void propose(struct sim *s, uint32_t deployment, uint32_t source)
{
    struct desire *d = s->server.desire;
    struct desire_author by = author_draw(s);
    uint32_t id = 0, head = sim_desire_head(s, deployment);
    struct err e;
    int r;
    if (source)
        by.catalog = snapshot(s, source)->catalog;
    desire_hold(d);
    r = desire_propose(d, deployment, desire_snapshot(d, source), &by, &id, &e);
    if (r >= 0 && source) /* all of it can come back: nodes do not go */
        r = desire_redraft(d, id, desire_draft(desire_snapshot(d, source)), &e);
    desire_release(d);
    if (r < 0) {
        sim_fail(s, "desire: a proposal was refused: %s", e.text);
        return;
    }
    uint32_t copy = copy_new(s, deployment, SNAPSHOT_PROPOSED, by.catalog);
    snapshot(s, copy)->source = source ? snapshot(s, source)->number : 0;
    if (source || head)
        sim_wants_clone(wants(s), source ? source : head, copy, false);
    if (head)
        sim_wants_clone(wants(s), head, copy, true);
    if (copy != id)
        sim_fail(s, "desire: a proposal is snapshot %u, not %u", id, copy);
    else
        sim_desire_changed(s, deployment, source ? "go back, deployment" : "propose, deployment");
}

void sim_propose_begin(struct sim *s)
{
    uint32_t deployment = deployment_draw(s);
    if (!sim_desire_proposal(s, deployment))
        propose(s, deployment, 0);
}

void sim_propose_recall(struct sim *s)
{
    uint32_t deployment = deployment_draw(s), id = sim_desire_proposal(s, deployment);
    struct err e;
    if (!id)
        return;
    if (desire_recall(s->server.desire, id, s->now_ms, &e) < 0)
        sim_fail(s, "desire: a proposal could not be recalled: %s", e.text);
    snapshot(s, id)->state = SNAPSHOT_RECALLED;
    sim_wants_clear(wants(s), id, false);
    sim_wants_clear(wants(s), id, true);
    sim_desire_changed(s, deployment, "recall, deployment");
}

/* ---- edit ---- */

void sim_propose_edit(struct sim *s)
{
    uint32_t deployment = deployment_draw(s), id = sim_desire_proposal(s, deployment);
    struct err e;
    if (!id)
        return;
    struct sim_draft d = sim_draft_open(s, deployment, id);
    sim_draft_change(s, &d);
    if (rng_chance(&s->wish, 150)) { /* as when the last of several edits is refused */
        sim_draft_drop(s, &d);
        sim_wants_compare(s, wants(s), s->server.desire, "after a dropped draft");
        return;
    }
    if (desire_redraft(s->server.desire, id, d.map, &e) < 0)
        sim_fail(s, "desire: a draft was refused: %s", e.text);
    copy_from_draft(s, id);
    sim_desire_changed(s, deployment, "edit, deployment");
}

/* ---- a map becomes what is wanted ---- */

/* The plan as one operation, over an earlier commit that is still open.  False: the server is gone,
 * or it failed. */
static bool apply(struct sim *s, uint32_t deployment, const struct plan *p, uint32_t *ret_op)
{
    uint32_t life = s->server.life, head = sim_desire_head(s, deployment);
    uint32_t was = head ? snapshot(s, head)->operation : 0;
    uint32_t op = anneal_operation_end(s->server.engine);
    struct operation_view v;
    bool open = was && anneal_operation(s->server.engine, was, &v) &&
                (v.state == OPERATION_RUNNING || v.held);
    struct event add = {.kind = EVENT_OPERATION_ADD,
                        .id = op,
                        .n = rng_from(&s->wish, 1, s->n_tenants),
                        .flag = CLASS_NORMAL};
    bool taken = sim_server_feed(s, &add, NULL) >= 0;
    if (taken && s->server.life == life)
        taken = sim_plan_feed(s, p, op, open ? was : 0) >= 0;
    if (!taken)
        sim_fail(s, "desire: a commit was looked at, and refused half done");
    *ret_op = op;
    return taken && s->server.life == life && !s->report->failed;
}

static bool is_empty(const struct plan *p, const struct snapshot_changes *diff)
{
    bool shared = false;
    for (uint32_t i = 0; i < diff->n_added; i++)
        shared |= !diff->added[i].node;
    for (uint32_t i = 0; i < diff->n_changed; i++)
        shared |= !diff->changed[i].node;
    for (uint32_t i = 0; i < diff->n_removed; i++)
        shared |= !diff->removed[i].node;
    return !shared && p->n_noderoles == 0 && p->n_changes == 0;
}

static uint32_t diff_size(const struct snapshot_changes *diff)
{
    return diff->n_added + diff->n_removed + diff->n_changed;
}

/* What lives follows the draft: in the engine, not yet as the head.  False: nothing has changed, or
 * the server is gone; the draft is given back. */
static bool follow(struct sim *s, struct sim_draft *d, struct arena *mem,
                   struct snapshot_changes *ret_diff, uint32_t *ret_op)
{
    const struct snapshot *head = desire_head(s->server.desire, d->deployment);
    uint64_t rows = s->desire.rows;
    uint64_t before = rng_chance(&s->wish, 50) ? anneal_digest(s->server.engine) : 0;
    SCOPED(plan) *p = NULL;
    struct err e;
    *ret_op = 0;
    if (snapshot_diff(mem, head ? head->root : NULL, d->map, ret_diff, &e) < 0) {
        sim_fail(s, "desire: two maps cannot be compared: %s", e.text);
        return false;
    }
    if (sim_revise_plan(s, d->deployment, d->map, ret_diff, &p, &e) < 0) {
        sim_draft_drop(s, d);
        s->report->refused++;
        sim_desire_unchanged(s, rows, "a refused commit,");
        if (before && anneal_digest(s->server.engine) != before)
            sim_fail(s, "desire: a refused commit changed something that lives");
        return false;
    }
    return is_empty(p, ret_diff) || apply(s, d->deployment, p, ret_op);
}

void sim_propose_commit(struct sim *s)
{
    SCOPED_ARENA(mem);
    uint32_t deployment = deployment_draw(s), id = sim_desire_proposal(s, deployment), op;
    uint32_t head = sim_desire_head(s, deployment);
    struct sim_draft d = {NULL, deployment};
    struct snapshot_conflicts conflicts;
    struct snapshot_changes diff;
    uint64_t rows = s->desire.rows;
    struct err e;
    if (!id)
        return;
    int r = desire_merge(s->server.desire, id, &mem, &d.map, &conflicts, &e);
    uint32_t expected = sim_wants_merge(wants(s), id, head);
    if (r < 0 || (uint32_t)r != expected) {
        sim_fail(s, "desire: a merge has %d conflicts, not %u", r, expected);
        return;
    }
    if (r > 0) {
        s->report->conflicts++;
        sim_desire_unchanged(s, rows, "a merge with conflicts,");
        return;
    }
    s->report->merges += head && desire_snapshot(s->server.desire, head)->root !=
                                     desire_snapshot(s->server.desire, id)->base;
    if (!follow(s, &d, &mem, &diff, &op))
        return;
    uint32_t catalog = snapshot(s, id)->catalog; /* whoever goes back wants that one */
    if (!snapshot(s, id)->source && head && snapshot(s, head)->catalog > catalog)
        catalog = snapshot(s, head)->catalog;
    desire_hold(s->server.desire);
    desire_commit(s->server.desire, id, d.map, catalog, op, s->now_ms);
    desire_release(s->server.desire);
    copy_commit(s, id, catalog, op);
    sim_desire_changed(s, deployment, "commit, deployment");
}

void sim_propose_rollback(struct sim *s)
{
    uint32_t deployment = deployment_draw(s), n = 0, source = 0;
    for (uint32_t id = 1; id < wants(s)->snapshots.n; id++)
        if (snapshot(s, id)->deployment == deployment &&
            snapshot(s, id)->state == SNAPSHOT_ARCHIVED && rng_below(&s->wish, ++n) == 0)
            source = id;
    if (source && !sim_desire_proposal(s, deployment))
        propose(s, deployment, source);
}

/* Entry by entry into the head as it is, without history: nodes that come and go. */
static void amend_head(struct sim *s, struct sim_draft *d, const struct snapshot_changes *diff)
{
    const struct snapshot_change *lists[] = {diff->added, diff->changed, diff->removed};
    const uint32_t n[] = {diff->n_added, diff->n_changed, diff->n_removed};
    struct desire_author by = author_draw(s);
    uint32_t head = sim_desire_head(s, d->deployment);
    struct err e;
    desire_hold(s->server.desire);
    for (int l = 0; l < 3; l++)
        for (uint32_t i = 0; i < n[l]; i++)
            if (desire_amend(s->server.desire, d->deployment, &by, lists[l][i].role,
                             lists[l][i].node, lists[l][i].now, &e) < 0)
                sim_fail(s, "desire: an amendment was refused: %s", e.text);
    desire_release(s->server.desire);
    desire_unref(s->server.desire, d->map);
    copy_from_draft(s, head ? head : copy_advance(s, d->deployment, by.catalog, 0));
}

void sim_propose_amend(struct sim *s)
{
    SCOPED_ARENA(mem);
    uint32_t deployment = deployment_draw(s), op;
    struct sim_draft d = sim_draft_open(s, deployment, sim_desire_head(s, deployment));
    struct snapshot_changes diff;
    bool in_place = rng_chance(&s->wish, 400);
    sim_draft_change(s, &d);
    if (!follow(s, &d, &mem, &diff, &op))
        return;
    if (diff_size(&diff) == 0) {
        sim_draft_drop(s, &d);
        return;
    }
    if (in_place) {
        amend_head(s, &d, &diff);
    } else {
        struct desire_author by = author_draw(s);
        desire_hold(s->server.desire);
        desire_advance_to(s->server.desire, deployment, d.map, &by, op);
        desire_release(s->server.desire);
        copy_from_draft(s, copy_advance(s, deployment, by.catalog, op));
    }
    sim_desire_changed(s, deployment, in_place ? "amend, deployment" : "advance, deployment");
}

/* ---- what must be refused, and must change nothing ---- */

static void must_refuse(struct sim *s, int r, enum errcode code, uint64_t rows, const char *what)
{
    if (r != -(int)code)
        sim_fail(s, "desire: %s came to %d", what, r);
    else
        sim_desire_unchanged(s, rows, what);
}

void sim_propose_nonsense(struct sim *s)
{
    SCOPED_ARENA(mem);
    struct desire *d = s->server.desire;
    uint32_t deployment = deployment_draw(s), id = rng_from(&s->wish, 1, desire_end(d)), got = 0;
    const struct snapshot *one = desire_snapshot(d, id);
    enum errcode code = one ? ERR_CONFLICT : ERR_NOT_FOUND;
    struct desire_author by = author_draw(s);
    struct snapshot_conflicts conflicts;
    struct pmap *root = NULL;
    uint64_t own = snapshot_key(1, 1), rows = s->desire.rows;
    uint32_t proposal = sim_desire_proposal(s, deployment), what = rng_below(&s->wish, 3);
    struct err e;
    if (one && one->state == SNAPSHOT_PROPOSED) {
        struct snapshot_entry entry = {.parents = &own, .n_parents = 1};
        root = desire_draft(one);
        int r = desire_draft_put(d, &root, own, &entry, &e);
        desire_unref(d, root);
        must_refuse(s, r, ERR_INVALID, rows, "an entry that needs itself,");
    } else if (what == 0) {
        must_refuse(s, desire_merge(d, id, &mem, &root, &conflicts, &e), code, rows,
                    "a commit of what is not proposed,");
    } else if (what == 1) {
        must_refuse(s, desire_recall(d, id, s->now_ms, &e), code, rows,
                    "a recall of what is not proposed,");
    } else {
        must_refuse(s, desire_redraft(d, id, desire_draft(one), &e), code, rows,
                    "a draft for what is not proposed,");
    }
    if (proposal)
        must_refuse(s, desire_propose(d, deployment, NULL, &by, &got, &e), ERR_CONFLICT, rows,
                    "a second proposal,");
}
