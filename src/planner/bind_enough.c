/* bind_enough.c - how many members of a cluster are enough for those who need it
 *
 * A role may say of a cluster that it requires how many of it are enough.  The noderole then needs
 * every member, and the plan says of them together what is enough: a quorum.  Nothing of that is
 * desired state by itself: it follows from the role in the catalog that the noderole follows and
 * from the parents that it has, so catalogs that change, go back or are bound anew bring it along.
 *
 * A noderole whose definition stays keeps the quorums that it has: without what it loses, and with
 * what it gains beside members of the same role.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "planner/bind_i.h"

#include "base/sort.h"

/* The want of a role that a parent answers, by its own name before one that it provides; and that
 * says how many are enough.  CATALOG_NONE: the parent is needed by itself. */
static uint32_t counted_want(const struct catalog_role *role, const struct catalog_role *parent)
{
    uint32_t found = CATALOG_NONE;
    for (uint32_t k = 0; k < role->n_requires; k++) {
        const struct catalog_want *w = &role->requires[k];
        if (w->name == parent->name_id)
            return w->min ? k : CATALOG_NONE;
        for (uint32_t i = 0; i < parent->n_provides && found == CATALOG_NONE; i++)
            found = parent->provides[i] == w->name && w->min ? k : CATALOG_NONE;
    }
    return found;
}

static bool counts(const struct catalog_role *role)
{
    for (uint32_t k = 0; k < role->n_requires; k++)
        if (role->requires[k].min)
            return true;
    return false;
}

/* --- collecting --- */

struct parents { /* of one child, as they will be */
    struct bind *b;
    VEC(uint32_t) refs;
    VEC(uint32_t) groups; /* of each: its quorum, CATALOG_NONE: none */
};

static void parents_done(struct parents *p)
{
    vec_done(&p->refs);
    vec_done(&p->groups);
}

static void parent_add(struct parents *p, uint32_t ref, uint32_t group)
{
    vec_push(&p->refs, ref);
    vec_push(&p->groups, group);
}

static uint32_t group_of(const struct bind *b, const struct catalog_role *role, uint32_t ref)
{
    uint32_t parent = bind_ref_role(b, ref);
    return parent == CATALOG_NONE ? CATALOG_NONE : counted_want(role, &b->cat->roles[parent]);
}

/* The members of one group, as they were added; in scratch. */
static struct plan_quorum quorum_of(const struct parents *p, uint32_t group, uint32_t min,
                                    bool percent)
{
    uint32_t *members = arena_new(&p->b->scratch, uint32_t, p->refs.n);
    struct plan_quorum q = {min, percent, members, 0};
    for (size_t i = 0; i < p->refs.n; i++)
        if (p->groups.at[i] == group)
            members[q.n_members++] = p->refs.at[i];
    return q;
}

static int too_few(struct bind *b, uint32_t child, const char *cluster, const struct plan_quorum *q)
{
    (void)err_set(b->err, ERR_REFUSED, "%s requires %u of %s, and there %s %u",
                  bind_ref_text(b, child), q->min, cluster, q->n_members == 1 ? "is" : "are",
                  q->n_members);
    return err_hint(b->err, "bind more of %s, or let \"min\" in its role say less", cluster);
}

/* What the role says, of the parents collected. */
static int quorums_by_role(struct parents *p, uint32_t child, const struct catalog_role *role,
                           struct bind_quorums *ret)
{
    struct bind *b = p->b;
    struct plan_quorum *all = arena_new(&b->scratch, struct plan_quorum, role->n_requires);
    *ret = (struct bind_quorums){all, 0};
    for (uint32_t k = 0; k < role->n_requires; k++) {
        const struct catalog_want *w = &role->requires[k];
        if (!w->min)
            continue;
        struct plan_quorum q = quorum_of(p, k, w->min, w->percent);
        if (q.n_members == 0)
            continue; /* bound by a catalog that did not want it */
        if (!q.percent && q.n_members < q.min)
            return too_few(b, child, b->cat->names[w->name].name.s, &q);
        all[ret->n++] = q;
    }
    return 0;
}

/* --- new noderoles --- */

static int fresh_quorums(struct bind *b, uint32_t number)
{
    struct bind_new *nr = &b->fresh.at[number];
    const struct catalog_role *role = &b->cat->roles[nr->role];
    struct parents p = {.b = b};
    if (!counts(role))
        return 0;
    for (uint32_t i = 0; i < nr->n_links; i++) {
        uint32_t ref = b->parents.at[nr->first_link + i].ref;
        parent_add(&p, ref, group_of(b, role, ref));
    }
    int r = quorums_by_role(&p, number | PLAN_NEW, role, &nr->quorums);
    parents_done(&p);
    return r;
}

/* --- noderoles that live --- */

static bool listed(const uint32_t *refs, uint32_t n, uint32_t ref)
{
    for (uint32_t i = 0; i < n; i++)
        if (refs[i] == ref)
            return true;
    return false;
}

/* Parents that live and stay, with their quorum as it is: told by its first member. */
static void kept_parents(const struct bind_change *c, struct parents *p)
{
    const struct planner_world *w = p->b->world;
    struct planner_ids live = w->parents(w->ctx, c->noderole);
    for (uint32_t i = 0; i < live.n; i++) {
        struct planner_enough e;
        if (!listed(c->losses, c->n_losses, live.at[i]))
            parent_add(p, live.at[i],
                       w->enough(w->ctx, c->noderole, live.at[i], &e) ? e.first : CATALOG_NONE);
    }
}

/* Is each as it is, in number and in company? */
static bool same_quorums(struct bind *b, uint32_t child, const struct parents *is,
                         const struct catalog_role *role)
{
    const struct planner_world *w = b->world;
    uint32_t *first = arena_new(&b->scratch, uint32_t, role->n_requires);
    for (size_t i = 0; i < is->refs.n; i++) {
        uint32_t k = group_of(b, role, is->refs.at[i]);
        struct planner_enough e = {0};
        bool counted = w->enough(w->ctx, child, is->refs.at[i], &e);
        if (counted != (k != CATALOG_NONE))
            return false;
        if (!counted)
            continue;
        if (e.min != role->requires[k].min || e.percent != role->requires[k].percent ||
            (first[k] && first[k] != e.first))
            return false;
        first[k] = e.first;
    }
    for (uint32_t k = 0; k < role->n_requires; k++)
        for (uint32_t i = 0; first[k] && i < k; i++)
            if (first[i] == first[k])
                return false;
    return true;
}

static int renewed_quorums(struct bind *b, struct bind_change *c, struct parents *p)
{
    const struct catalog_role *role = &b->cat->roles[c->role];
    bool same = same_quorums(b, c->noderole, p, role);
    for (uint32_t i = 0; i < c->n_gains; i++) {
        parent_add(p, c->gains[i], 0);
        same &= group_of(b, role, c->gains[i]) == CATALOG_NONE;
    }
    for (size_t i = 0; i < b->needs.n; i++) /* they join by themselves if nothing else changes */
        if (b->needs.at[i].child == c->noderole)
            parent_add(p, b->needs.at[i].parent, 0);
    for (size_t i = 0; i < p->refs.n; i++)
        p->groups.at[i] = group_of(b, role, p->refs.at[i]);
    int r = quorums_by_role(p, c->noderole, role, &c->quorums);
    c->has_quorums = !same;
    return r;
}

/* The quorum of a parent of the same role as one that is gained; CATALOG_NONE: none has one. */
static uint32_t group_beside(const struct parents *p, uint32_t ref)
{
    uint32_t role = bind_ref_role(p->b, ref);
    for (size_t i = 0; i < p->refs.n; i++)
        if (p->groups.at[i] != CATALOG_NONE && bind_ref_role(p->b, p->refs.at[i]) == role)
            return p->groups.at[i];
    return CATALOG_NONE;
}

static const char *cluster_text(struct bind *b, uint32_t noderole)
{
    struct planner_noderole info;
    b->world->noderole(b->world->ctx, noderole, &info);
    return arena_strndup(&b->scratch, info.role.s, info.role.n);
}

static int kept_quorums(struct bind *b, struct bind_change *c, struct parents *p)
{
    const struct planner_world *w = b->world;
    size_t kept = p->refs.n;
    for (uint32_t i = 0; i < c->n_gains; i++) {
        uint32_t group = group_beside(p, c->gains[i]);
        parent_add(p, c->gains[i], group);
        c->has_quorums |= group != CATALOG_NONE;
    }
    for (uint32_t i = 0; i < c->n_losses; i++) {
        struct planner_enough e;
        if (!w->enough(w->ctx, c->noderole, c->losses[i], &e) || e.percent)
            continue;
        struct plan_quorum q = quorum_of(p, e.first, e.min, false);
        if (q.n_members < q.min)
            return too_few(b, c->noderole, cluster_text(b, c->losses[i]), &q);
    }
    struct plan_quorum *all = arena_new(&b->scratch, struct plan_quorum, kept);
    c->quorums.at = all;
    for (size_t i = 0; c->has_quorums && i < kept; i++) {
        struct planner_enough e = {0};
        uint32_t group = p->groups.at[i];
        bool met = group == CATALOG_NONE;
        for (size_t k = 0; k < i && !met; k++)
            met = p->groups.at[k] == group;
        if (met || !w->enough(w->ctx, c->noderole, p->refs.at[i], &e))
            continue;
        all[c->quorums.n++] = quorum_of(p, group, e.min, e.percent);
    }
    return 0;
}

static int change_quorums(struct bind *b, struct bind_change *c)
{
    const struct planner_world *w = b->world;
    bool by_role = c->role != CATALOG_NONE;
    struct parents p = {.b = b};
    struct planner_noderole info;
    if (c->removed || !w->parents)
        return 0;
    w->noderole(w->ctx, c->noderole, &info);
    if (!info.counts && !(by_role && counts(&b->cat->roles[c->role])))
        return 0;
    kept_parents(c, &p);
    int r = by_role ? renewed_quorums(b, c, &p) : kept_quorums(b, c, &p);
    parents_done(&p);
    return r;
}

int bind_enough(struct bind *b)
{
    int r = 0;
    for (uint32_t i = 0; i < b->fresh.n && r >= 0; i++)
        r = fresh_quorums(b, i);
    for (size_t i = 0; i < b->changes.n && r >= 0; i++)
        r = change_quorums(b, &b->changes.at[i]);
    return r;
}

const struct plan_quorum *bind_quorums_placed(const struct bind *b, const struct bind_quorums *from,
                                              struct arena *mem)
{
    struct plan_quorum *to = arena_new(mem, struct plan_quorum, from->n);
    for (uint32_t i = 0; i < from->n; i++) {
        uint32_t n = from->at[i].n_members, *members = arena_new(mem, uint32_t, n);
        for (uint32_t k = 0; k < n; k++)
            members[k] = bind_ref_placed(b, from->at[i].members[k]);
        sort_u32(members, n);
        to[i] = from->at[i];
        to[i].members = members;
    }
    return to;
}
