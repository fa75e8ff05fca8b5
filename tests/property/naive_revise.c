/* naive_revise.c - from one map to the next, and plans made live (docs/rfc/06, sections 4 to 6) */
/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <string.h>

#include "naive.h"

static bool key_added(const struct naive_map *old, const struct naive_map *now, int role, int node)
{
    return node && naive_entry(now, role, node) && !naive_entry(old, role, node);
}

/* The noderole that a parent of an entry means; 0: there is none, and the plan is refused. */
static int resolve(const struct naive *v, const struct naive_plan *p, int role, int node)
{
    for (int i = 0; i < p->n_fresh; i++)
        if (p->fresh[i].role == role && p->fresh[i].node == node)
            return -1 - i;
    for (int i = 0; i < p->n_changes; i++) {
        const struct being *b = &v->beings[p->changes[i].id];
        if (p->changes[i].back && b->role == role && b->node == node)
            return p->changes[i].id;
    }
    return naive_living(v, role, node, 0);
}

static struct naive_change *change_of(struct naive_plan *p, int id)
{
    for (int i = 0; i < p->n_changes; i++)
        if (p->changes[i].id == id)
            return &p->changes[i];
    return NULL;
}

static void change_parents(const struct naive *v, struct naive_plan *p, struct naive_change *c,
                           const struct naive_entry *t)
{
    const struct being *b = &v->beings[c->id];
    int wanted[PARENTS_MOST];
    for (int i = 0; i < t->n_parents; i++) {
        wanted[i] = resolve(v, p, t->parents[i].role, t->parents[i].node);
        p->refused |= !wanted[i];
        if (wanted[i] < 0 || !naive_needs(v, c->id, wanted[i], true))
            c->gains[c->n_gains++] = wanted[i];
    }
    for (int i = 0; i < b->n_needs; i++) {
        bool kept = false;
        for (int k = 0; k < t->n_parents; k++)
            kept |= wanted[k] == b->needs[i].parent;
        if (!kept)
            c->losses[c->n_losses++] = b->needs[i].parent;
    }
}

static void entries_take(struct naive *v, struct naive_plan *p, const struct naive_map *old,
                         const struct naive_map *now)
{
    for (int role = 0; role < ROLES_MOST; role++)
        for (int node = 1; node <= NODES_MOST; node++) {
            const struct naive_entry *o = naive_entry(old, role, node);
            const struct naive_entry *n = naive_entry(now, role, node);
            int leaver = naive_leaver(v, role, node, p->deployment);
            struct naive_change c = {.user = n ? n->user : ""};
            if (n && !naive_entry_equal(o, n))
                p->refused |= !truth_accepts(&v->truth, role, naive_parse(&v->mem, n->user));
            if (key_added(old, now, role, node) && !leaver) {
                assert(p->n_fresh < NEW_MOST);
                p->fresh[p->n_fresh++] = (struct naive_new){
                    .role = role, .node = node, .requested = n->requested, .user = n->user};
                continue;
            }
            if (naive_entry_equal(o, n))
                continue;
            c.id = o ? naive_living(v, role, node, p->deployment) : leaver;
            c.back = !o;
            c.removed = !n;
            c.other_user = n && strcmp(v->beings[c.id].user, n->user) != 0;
            p->changes[p->n_changes++] = c;
        }
}

/* On one node a name has one holder. */
static bool node_is_crowded(const struct naive *v, const struct naive_plan *p)
{
    int roles[BEINGS_MOST + NEW_MOST], nodes[BEINGS_MOST + NEW_MOST], n = 0;
    for (int id = 1; id < v->end; id++) {
        bool there = v->beings[id].exists && !v->beings[id].leaving;
        for (int i = 0; i < p->n_changes; i++)
            if (p->changes[i].id == id)
                there = !p->changes[i].removed;
        if (!there)
            continue;
        roles[n] = v->beings[id].role;
        nodes[n++] = v->beings[id].node;
    }
    for (int i = 0; i < p->n_fresh; i++) {
        roles[n] = p->fresh[i].role;
        nodes[n++] = p->fresh[i].node;
    }
    for (int i = 0; i < n; i++)
        for (int k = 0; k < i; k++)
            if (nodes[i] == nodes[k] && truth_clash(&v->truth, roles[i], roles[k]))
                return true;
    return false;
}

static bool goes(const struct naive *v, struct naive_plan *p, int ref)
{
    if (ref < 0)
        return false;
    const struct naive_change *c = change_of(p, ref);
    return c ? c->removed : v->beings[ref].leaving;
}

/* Who goes is needed only by those who go. */
static bool goer_is_needed(const struct naive *v, struct naive_plan *p)
{
    for (int i = 0; i < p->n_fresh; i++)
        for (int k = 0; k < p->fresh[i].n_parents; k++)
            if (goes(v, p, p->fresh[i].parents[k]))
                return true;
    for (int id = 1; id < v->end; id++) {
        const struct naive_change *c = change_of(p, id);
        if (!v->beings[id].exists || goes(v, p, id))
            continue;
        for (int i = 0; i < v->beings[id].n_needs; i++) {
            bool lost = false;
            for (int k = 0; c && k < c->n_losses; k++)
                lost |= c->losses[k] == v->beings[id].needs[i].parent;
            if (!lost && goes(v, p, v->beings[id].needs[i].parent))
                return true;
        }
        for (int k = 0; c && k < c->n_gains; k++)
            if (goes(v, p, c->gains[k]))
                return true;
    }
    return false;
}

void naive_revise(struct naive *v, int deployment, const struct naive_map *old,
                  const struct naive_map *now, struct naive_plan *ret)
{
    struct naive_plan *p = ret;
    *p = (struct naive_plan){.deployment = deployment};
    entries_take(v, p, old, now);
    for (int i = 0; i < p->n_fresh; i++) {
        const struct naive_entry *t = naive_entry(now, p->fresh[i].role, p->fresh[i].node);
        for (int k = 0; k < t->n_parents; k++) {
            int ref = resolve(v, p, t->parents[k].role, t->parents[k].node);
            p->refused |= !ref;
            p->fresh[i].parents[p->fresh[i].n_parents++] = ref;
        }
    }
    for (int i = 0; i < p->n_changes; i++) {
        struct naive_change *c = &p->changes[i];
        if (!c->removed)
            change_parents(v, p, c, naive_entry(now, v->beings[c->id].role, v->beings[c->id].node));
    }
    p->refused = p->refused || node_is_crowded(v, p) || goer_is_needed(v, p);
    naive_plan_finish(v, p);
}

/* --- a plan becomes true --- */

static int ref_id(const struct naive_plan *p, int ref)
{
    return ref < 0 ? p->fresh[-1 - ref].id : ref;
}

/* A new parent takes nobody out of service: the need sleeps until that parent is ACTIVE. */
static void need_add(struct naive *v, int child, int parent)
{
    struct being *c = &v->beings[child];
    bool begun = c->in_service || c->failed;
    bool sleeps = begun && !c->leaving && !v->beings[parent].in_service;
    assert(c->n_needs < PARENTS_MOST);
    c->needs[c->n_needs++] = (struct naive_need){parent, sleeps || v->open, false};
}

static void use_add(struct naive *v, int goer, int user, bool successor)
{
    struct being *b = &v->beings[goer];
    for (int i = 0; i < b->n_users; i++)
        if (b->users[i].id == user)
            return;
    assert(b->n_users < USERS_MOST);
    b->users[b->n_users++] = (struct naive_user){user, successor};
}

static void change_apply(struct naive *v, const struct naive_plan *p, const struct naive_change *c)
{
    struct being *b = &v->beings[c->id];
    int kept = 0;
    for (int i = 0; i < b->n_needs; i++) {
        bool lost = false;
        for (int k = 0; k < c->n_losses; k++)
            lost |= c->losses[k] == b->needs[i].parent;
        if (lost && !b->needs[i].sleeps && b->in_service && !c->removed)
            use_add(v, b->needs[i].parent, c->id, false);
        if (!lost)
            b->needs[kept++] = b->needs[i];
    }
    b->n_needs = kept;
    if (c->removed || c->back) { /* other tasks: what the old ones did does not count */
        b->leaving = c->removed;
        b->failed = b->rewound = b->must_run = b->in_service = false;
        b->passed = "";
    }
    if (!c->removed)
        naive_configure(v, c->id, c->user,
                        c->n_losses || c->n_gains || strcmp(b->user, c->user) != 0);
    for (int k = 0; k < c->n_gains; k++)
        need_add(v, c->id, ref_id(p, c->gains[k]));
}

void naive_raise(struct naive *v)
{
    for (bool moved = true; moved;) {
        moved = false;
        for (int id = 1; id < v->end; id++)
            for (int i = 0; v->beings[id].exists && i < v->beings[id].n_needs; i++) {
                const struct naive_need *n = &v->beings[id].needs[i];
                if (n->sleeps || v->beings[id].cohort > v->beings[n->parent].cohort)
                    continue;
                v->beings[id].cohort = v->beings[n->parent].cohort + 1;
                moved = true;
            }
    }
}

static bool is_peer(const struct naive_plan *p, int child, int parent)
{
    for (int i = 0; i < p->n_peers; i++)
        if (p->peers[i].child == child && p->peers[i].parent == parent)
            return true;
    return false;
}

/* Whoever loses a parent and gets a new one has both before it runs; members of a cluster that go
 * wait for those that come. */
static void leave_in_order(struct naive *v, const struct naive_plan *p, int end)
{
    for (int i = 0; i < p->n_changes; i++) {
        struct being *b = &v->beings[p->changes[i].id];
        for (int k = 0; !b->leaving && p->changes[i].n_losses && k < b->n_needs; k++)
            b->needs[k].awaited |= b->needs[k].sleeps &&
                                   (b->needs[k].parent >= end ||
                                    is_peer(p, p->changes[i].id, b->needs[k].parent));
        for (int k = 0; b->leaving && k < p->n_fresh; k++)
            if (p->fresh[k].role == b->role && v->truth.roles[b->role].cluster)
                use_add(v, p->changes[i].id, p->fresh[k].id, true);
    }
}

void naive_apply(struct naive *v, struct naive_plan *p)
{
    int end = v->end;
    assert(end + p->n_fresh < BEINGS_MOST);
    v->end += p->n_fresh;
    for (int i = 0; i < p->n_fresh; i++) {
        const struct naive_new *f = &p->fresh[i];
        struct being *b = &v->beings[f->id];
        *b = (struct being){.exists = true,
                            .role = f->role,
                            .node = f->node,
                            .deployment = p->deployment,
                            .cohort = f->cohort,
                            .user = f->user,
                            .wall = "",
                            .system = "",
                            .passed = ""};
        for (int k = 0; k < f->n_parents; k++)
            b->needs[b->n_needs++] = (struct naive_need){ref_id(p, f->parents[k]), false};
    }
    for (int i = 0; i < p->n_changes; i++)
        change_apply(v, p, &p->changes[i]);
    for (int i = 0; i < p->n_peers; i++)
        need_add(v, p->peers[i].child, ref_id(p, p->peers[i].parent));
    leave_in_order(v, p, end);
    naive_raise(v);
}
