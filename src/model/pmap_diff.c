/* pmap_diff.c - two maps compared, three maps merged, at the cost of what differs
 *
 * Both maps are walked slot by slot together.  A side of the walk is a subtree, one entry or
 * nothing; an entry stands for the subtree that would hold it alone, so that entry against subtree
 * needs no case of its own.  Subtrees that are the same node are the same content and are left
 * alone. A subtree has two entries at least, so one that is walked against less has a difference in
 * it.
 *
 * A merge is the walk from base to theirs, with each difference looked up in ours.  Nothing here
 * knows what values mean.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "model/pmap_i.h"

struct side {
    const struct pmap *node; /* if not NULL, the rest means nothing */
    bool entry;
    uint64_t mixed;
    struct str value;
};

static uint32_t side_slots(const struct side *a, unsigned level)
{
    if (a->node)
        return a->node->here | a->node->below;
    return a->entry ? pmap_bit(a->mixed, level) : 0;
}

static struct side side_at(const struct side *a, unsigned level, uint32_t bit)
{
    if (!(side_slots(a, level) & bit))
        return (struct side){0};
    if (!a->node)
        return *a;
    if (a->node->below & bit)
        return (struct side){.node = a->node->body[pmap_index(a->node->below, bit)].node};
    unsigned i = pmap_index(a->node->here, bit);
    return (struct side){
        .entry = true, .mixed = pmap_keys(a->node)[i], .value = pmap_value(a->node, i)};
}

struct walk {
    pmap_diff_f *f;
    void *ctx;
    size_t nodes;
};

/* Neither side is a subtree. */
static void entries_compare(struct walk *w, const struct side *old, const struct side *now)
{
    bool same_key = old->entry && now->entry && old->mixed == now->mixed;
    if (same_key && str_eq(old->value, now->value))
        return;
    if (same_key) {
        w->f(w->ctx, pmap_unmix(old->mixed), &old->value, &now->value);
        return;
    }
    bool now_first = old->entry && now->entry && now->mixed < old->mixed;
    if (now_first)
        w->f(w->ctx, pmap_unmix(now->mixed), NULL, &now->value);
    if (old->entry)
        w->f(w->ctx, pmap_unmix(old->mixed), &old->value, NULL);
    if (now->entry && !now_first)
        w->f(w->ctx, pmap_unmix(now->mixed), NULL, &now->value);
}

static void sides_compare(struct walk *w, const struct side *old, const struct side *now,
                          unsigned level)
{
    if (!old->node && !now->node) {
        entries_compare(w, old, now);
        return;
    }
    if (old->node == now->node)
        return;
    w->nodes += !!old->node + !!now->node;
    for (uint32_t left = side_slots(old, level) | side_slots(now, level); left; left &= left - 1) {
        struct side a = side_at(old, level, left & -left), b = side_at(now, level, left & -left);
        sides_compare(w, &a, &b, level + 1);
    }
}

size_t pmap_diff(const struct pmap *old, const struct pmap *now, pmap_diff_f *f, void *ctx)
{
    struct walk w = {.f = f, .ctx = ctx};
    sides_compare(&w, &(struct side){.node = old}, &(struct side){.node = now}, 0);
    return w.nodes;
}

struct merge {
    struct pmap_space *space;
    const struct pmap *ours;
    struct pmap *merged; /* a reference of its own; of use while there is no conflict */
    pmap_conflict_f *f;
    void *ctx;
    size_t conflicts;
};

static bool both_equal(const struct str *a, const struct str *b)
{
    return a && b ? str_eq(*a, *b) : a == b;
}

static void merge_one(void *ctx, uint64_t key, const struct str *base, const struct str *theirs)
{
    struct merge *g = ctx;
    struct str value;
    const struct str *ours = pmap_get(g->ours, key, &value) ? &value : NULL;
    if (both_equal(ours, theirs))
        return;
    if (!both_equal(ours, base)) {
        g->conflicts++;
        g->f(g->ctx, key, base, ours, theirs);
    } else if (g->conflicts == 0) {
        if (theirs)
            pmap_set(g->space, &g->merged, key, *theirs);
        else
            pmap_remove(g->space, &g->merged, key);
    }
}

size_t pmap_merge(struct pmap_space *s, struct pmap *base, struct pmap *ours, struct pmap *theirs,
                  pmap_conflict_f *f, void *ctx, struct pmap **ret_merged)
{
    if (ours == base) {
        *ret_merged = pmap_ref(theirs);
        return 0;
    }
    struct merge g = {.space = s, .ours = ours, .merged = pmap_ref(ours), .f = f, .ctx = ctx};
    pmap_diff(base, theirs, merge_one, &g);
    if (g.conflicts)
        pmap_unref(s, g.merged);
    else
        *ret_merged = g.merged;
    return g.conflicts;
}
