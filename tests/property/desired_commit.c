/* desired_commit.c - proposals become heads, on both sides, or are refused by both */
/* SPDX-License-Identifier: Apache-2.0 */
#include "desired_run.h"

#include <string.h>

static void recall(struct run *x, struct naive_snapshot *s)
{
    struct err e = {0};
    run_log(x, " (recalled)");
    s->state = NAIVE_RECALLED;
    if (desire_recall(x->r.d, (uint32_t)naive_snapshot_id(x->v, s), x->r.now, &e) < 0)
        run_wrong(x, "recalling: %s", e.text);
}

/* The map to commit on both sides; false: conflicts, the same on both. */
static bool merge_try(struct run *x, struct naive_snapshot *s, struct naive_map *ret_map,
                      struct pmap **ret_root)
{
    static const struct naive_map empty;
    SCOPED_ARENA(mem);
    const struct naive_snapshot *head = naive_head(x->v, s->deployment);
    struct snapshot_conflicts conflicts = {0};
    struct err e = {0};
    int want = naive_map_merge(&s->base, head ? &head->map : &empty, &s->map, ret_map);
    int got = desire_merge(x->r.d, (uint32_t)naive_snapshot_id(x->v, s), &mem, ret_root, &conflicts,
                           &e);
    if (got != want)
        run_wrong(x, "merging gives %d conflicts, not %d", got, want);
    for (uint32_t i = 0; got > 0 && i < conflicts.n; i++) {
        const struct snapshot_conflict *c = &conflicts.at[i];
        int role = (int)c->role - 1, node = (int)c->node;
        const struct naive_entry *b = naive_entry(&s->base, role, node);
        const struct naive_entry *o = head ? naive_entry(&head->map, role, node) : NULL;
        const struct naive_entry *t = naive_entry(&s->map, role, node);
        if (naive_entry_equal(b, o) || naive_entry_equal(b, t) || naive_entry_equal(o, t) ||
            !c->base != !b || !c->ours != !o || !c->theirs != !t)
            run_wrong(x, "r%d@%d is no conflict", role, node);
    }
    x->counts.conflicts += got > 0;
    x->counts.merges += got == 0 && head && *naive_map_diff(&x->v->mem, &s->base, &head->map);
    return got == 0 && !*x->wrong;
}

static const char *diff_text(struct run *x, const struct pmap *old, const struct pmap *now)
{
    struct snapshot_changes diff;
    struct err e;
    SCOPED_BUF(b);
    if (snapshot_diff(&x->r.mem, old, now, &diff, &e) < 0)
        return arena_strdup(&x->r.mem, e.text);
    for (uint32_t i = 0; i < diff.n_added; i++)
        buf_printf(&b, "+%u@%u ", diff.added[i].role - 1, diff.added[i].node);
    for (uint32_t i = 0; i < diff.n_removed; i++)
        buf_printf(&b, "-%u@%u ", diff.removed[i].role - 1, diff.removed[i].node);
    for (uint32_t i = 0; i < diff.n_changed; i++) {
        uint8_t what = diff.changed[i].what;
        buf_printf(&b, "~%u@%u:%s%s%s ", diff.changed[i].role - 1, diff.changed[i].node,
                   what & SNAPSHOT_CHANGED_USER ? "u" : "",
                   what & SNAPSHOT_CHANGED_PARENTS ? "p" : "",
                   what & SNAPSHOT_CHANGED_FLAGS ? "f" : "");
    }
    return arena_strndup(&x->r.mem, buf_str(&b).s, b.len);
}

static void commit_count(struct run *x, const struct naive_plan *p)
{
    x->counts.commits++;
    x->counts.added += (unsigned)p->n_fresh;
    x->counts.peers += (unsigned)p->n_peers;
    for (int i = 0; i < p->n_changes; i++) {
        x->counts.removed += p->changes[i].removed;
        x->counts.back += p->changes[i].back;
        x->counts.changed += !p->changes[i].removed && !p->changes[i].back;
    }
}

/* The head says all that a noderole came to need. */
static void parents_note(const struct naive *v, struct naive_map *map, int id)
{
    const struct being *b = &v->beings[id];
    struct naive_entry t = *naive_entry(map, b->role, b->node);
    for (int k = 0; k < b->n_needs; k++)
        naive_entry_parent(&t, v->beings[b->needs[k].parent].role,
                           v->beings[b->needs[k].parent].node);
    naive_map_set(map, &t);
}

static void commit_done(struct run *x, struct naive_snapshot *s, const struct naive_map *map,
                        struct pmap *root, struct naive_plan *want, const struct plan *got)
{
    struct err e = {0};
    desire_commit(x->r.d, (uint32_t)naive_snapshot_id(x->v, s), root, 1, x->r.op, x->r.now);
    if (real_note_committed(&x->r, got, &e) < 0)
        run_wrong(x, "the head does not take peers: %s", e.text);
    naive_commit(x->v, s, map);
    naive_apply(x->v, want);
    run_note_peers(x->v, want, NULL);
    for (int i = 0; i < want->n_fresh; i++)
        parents_note(x->v, &s->map, want->fresh[i].id);
    for (int i = 0; i < want->n_changes; i++)
        if (want->changes[i].back)
            parents_note(x->v, &s->map, want->changes[i].id);
    commit_count(x, want);
}

static void commit_try(struct run *x, struct naive_snapshot *s, const struct naive_map *map,
                       struct pmap *root)
{
    static const struct naive_map empty;
    static struct naive_plan want;
    const struct naive_snapshot *head = naive_head(x->v, s->deployment);
    const struct snapshot *real_head = desire_head(x->r.d, (uint32_t)s->deployment);
    const struct pmap *old = real_head ? real_head->root : NULL;
    SCOPED(plan) *got = NULL;
    struct err e = {0};
    const char *diff = naive_map_diff(&x->v->mem, head ? &head->map : &empty, map);
    run_log(x, ": %s", diff);
    if (strcmp(diff, diff_text(x, old, root)) != 0)
        run_wrong(x, "the diff is %s, not %s", diff_text(x, old, root), diff);
    naive_revise(x->v, s->deployment, head ? &head->map : &empty, map, &want);
    int rc = real_revise(&x->r, (uint32_t)s->deployment, old, root, &got, &e);
    if (rc >= 0 && !want.refused)
        run_compare_plan(x, &want, got);
    if (rc >= 0 && !*x->wrong)
        rc = real_apply(&x->r, got, &e);
    if ((rc < 0) != want.refused)
        run_wrong(x, "the commit is %s%s, the model %s it", rc < 0 ? "refused: " : "accepted",
                  rc < 0 ? e.text : "", want.refused ? "refuses" : "accepts");
    if (rc >= 0 && !*x->wrong) {
        commit_done(x, s, map, root, &want, got);
        return;
    }
    run_log(x, " refused: %s", e.text);
    x->counts.commit_refusals++;
    desire_unref(x->r.d, root);
    if (!*x->wrong && !one_in(&x->d, 4))
        recall(x, s);
}

void run_commit(struct run *x)
{
    static struct naive_map map;
    struct pmap *root = NULL;
    struct naive_snapshot *s = run_any_proposal(x);
    if (!s)
        return;
    run_log(x, "commit in %d", s->deployment);
    if (merge_try(x, s, &map, &root))
        commit_try(x, s, &map, root);
    else if (!*x->wrong && one_in(&x->d, 2))
        recall(x, s);
}
