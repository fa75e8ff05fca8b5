/* naive_bind.c - who is bound with which parents (docs/rfc/04, section 5), by looking at everybody
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <string.h>

#include "naive.h"

/* --- noderoles that live --- */

int naive_living(const struct naive *v, int role, int node, int deployment)
{
    for (int id = 1; id < v->end; id++) {
        const struct being *b = &v->beings[id];
        if (b->exists && !b->leaving && b->role == role && b->node == node &&
            (!deployment || b->deployment == deployment))
            return id;
    }
    return 0;
}

int naive_leaver(const struct naive *v, int role, int node, int deployment)
{
    for (int id = v->end - 1; id > 0; id--) {
        const struct being *b = &v->beings[id];
        if (b->exists && b->leaving && b->role == role && b->node == node &&
            b->deployment == deployment)
            return id;
    }
    return 0;
}

bool naive_needs(const struct naive *v, int child, int parent, bool also_sleeping)
{
    const struct being *b = &v->beings[child];
    for (int i = 0; i < b->n_needs; i++)
        if (b->needs[i].parent == parent && (also_sleeping || !b->needs[i].sleeps))
            return true;
    return false;
}

/* --- refs: an id, or -1 - index of a new one --- */

static int ref_role(const struct naive *v, const struct naive_plan *p, int ref)
{
    return ref < 0 ? p->fresh[-1 - ref].role : v->beings[ref].role;
}

static int ref_node(const struct naive *v, const struct naive_plan *p, int ref)
{
    return ref < 0 ? p->fresh[-1 - ref].node : v->beings[ref].node;
}

static int ref_deployment(const struct naive *v, const struct naive_plan *p, int ref)
{
    return ref < 0 ? p->deployment : v->beings[ref].deployment;
}

bool naive_is_back(const struct naive_plan *p, int ref)
{
    for (int i = 0; i < p->n_changes; i++)
        if (p->changes[i].id == ref && p->changes[i].back)
            return true;
    return false;
}

/* What there is once the plan is applied: living ones that stay, or come back, then new ones as
 * they came up. */
static int refs_present(const struct naive *v, const struct naive_plan *p, int *ret)
{
    int n = 0;
    for (int id = 1; id < v->end; id++) {
        bool there = v->beings[id].exists && (!v->beings[id].leaving || naive_is_back(p, id));
        for (int i = 0; i < p->n_changes; i++)
            there &= p->changes[i].id != id || !p->changes[i].removed;
        if (there)
            ret[n++] = id;
    }
    for (int i = 0; i < p->n_fresh; i++)
        ret[n++] = -1 - i;
    return n;
}

static bool ref_before(const struct naive *v, int a, int b)
{
    if (a < 0 || b < 0)
        return a < 0 && b < 0 ? a > b : b < 0;
    if (v->beings[a].cohort != v->beings[b].cohort)
        return v->beings[a].cohort < v->beings[b].cohort;
    return a < b;
}

/* --- finding and creating --- */

static void parent_add(struct naive_new *f, int ref)
{
    for (int i = 0; i < f->n_parents; i++)
        if (f->parents[i] == ref)
            return;
    assert(f->n_parents < PARENTS_MOST);
    f->parents[f->n_parents++] = ref;
}

static int create(const struct naive *v, struct naive_plan *p, int role, int node)
{
    int refs[BEINGS_MOST], n = refs_present(v, p, refs);
    p->refused |= v->truth.roles[role].abstract || p->n_fresh == NEW_MOST;
    for (int i = 0; i < n; i++)
        if (ref_node(v, p, refs[i]) == node)
            p->refused |= truth_clash(&v->truth, role, ref_role(v, p, refs[i]));
    if (p->refused)
        return 0;
    p->fresh[p->n_fresh] = (struct naive_new){.role = role, .node = node, .user = ""};
    return -1 - p->n_fresh++;
}

/* 0 if nobody answers. */
static int find(const struct naive *v, const struct naive_plan *p, int asking, int name)
{
    int refs[BEINGS_MOST], n = refs_present(v, p, refs);
    for (int i = 0; i < n; i++)
        if (refs[i] != asking && ref_node(v, p, refs[i]) == ref_node(v, p, asking) &&
            truth_offers(&v->truth, ref_role(v, p, refs[i]), name))
            return refs[i];
    if (name < PROVIDED && v->truth.roles[name].implicit)
        return 0;
    for (int d = p->deployment; d; d = v->deployment_parent[d])
        for (int provided = 0; provided < 2; provided++) {
            int best = 0;
            for (int i = 0; i < n; i++) {
                int role = ref_role(v, p, refs[i]);
                if (refs[i] != asking && ref_deployment(v, p, refs[i]) == d &&
                    (provided ? truth_offers(&v->truth, role, name) : role == name) &&
                    (!best || ref_before(v, refs[i], best)))
                    best = refs[i];
            }
            if (best)
                return best;
        }
    return 0;
}

/* The role to create for a name; -1: several could be meant. */
static int role_of_name(const struct truth *t, int name)
{
    int role = -1, n = 0;
    if (name < PROVIDED)
        return name;
    for (int i = 0; i < t->n; i++)
        if (truth_offers(t, i, name)) {
            role = i;
            n++;
        }
    return n == 1 ? role : -1;
}

static void find_required(const struct naive *v, struct naive_plan *p, int i)
{
    struct truth_list names = truth_required(&v->truth, p->fresh[i].role);
    for (int k = 0; k < names.n && !p->refused; k++) {
        int ref = find(v, p, -1 - i, names.at[k]);
        if (!ref) {
            int role = role_of_name(&v->truth, names.at[k]);
            p->refused |= role < 0;
            ref = p->refused ? 0 : create(v, p, role, p->fresh[i].node);
        }
        if (!p->refused)
            parent_add(&p->fresh[i], ref);
    }
}

void naive_bind(struct naive *v, int deployment, const struct naive_item *items, int n,
                struct naive_plan *ret)
{
    struct naive_plan *p = ret;
    *p = (struct naive_plan){.deployment = deployment};
    for (int i = 0; i < n && !p->refused; i++) {
        const struct naive_item *it = &items[i];
        p->refused |= !truth_accepts(&v->truth, it->role, naive_parse(&v->mem, it->user));
        int twice = -1;
        for (int k = 0; k < p->n_fresh; k++)
            if (p->fresh[k].role == it->role && p->fresh[k].node == it->node)
                twice = k;
        if (twice >= 0)
            p->refused |= strcmp(p->fresh[twice].user, it->user) != 0;
        if (p->refused || twice >= 0 || naive_living(v, it->role, it->node, 0))
            continue;
        int ref = create(v, p, it->role, it->node);
        if (!p->refused) {
            p->fresh[-1 - ref].requested = true;
            p->fresh[-1 - ref].user = it->user;
        }
    }
    for (int i = 0; i < p->n_fresh && !p->refused; i++) /* grows while it is walked */
        find_required(v, p, i);
    for (int i = 0; i < p->n_fresh && !p->refused; i++) {
        const struct truth_list *names = &v->truth.roles[p->fresh[i].role].uses;
        for (int k = 0; k < names->n; k++) {
            int ref = find(v, p, -1 - i, names->at[k]);
            if (ref)
                parent_add(&p->fresh[i], ref);
        }
    }
    naive_plan_finish(v, p);
}

/* --- what every plan ends with --- */

static bool is_lost(const struct naive_plan *p, int child, int parent)
{
    for (int i = 0; i < p->n_changes; i++)
        for (int k = 0; p->changes[i].id == child && k < p->changes[i].n_losses; k++)
            if (p->changes[i].losses[k] == parent)
                return true;
    return false;
}

static bool list_drop(int *list, int *n, int ref)
{
    for (int i = 0; i < *n; i++)
        if (list[i] == ref) {
            list[i] = list[--*n];
            return true;
        }
    return false;
}

/* Who comes back to one of a cluster gets all of it; what it never lost it keeps. */
static void regain(const struct naive *v, const struct naive_plan *p, struct naive_change *c,
                   const int *refs, int n)
{
    int has[PARENTS_MOST * 2], found = 0;
    for (int i = 0; i < v->beings[c->id].n_needs; i++)
        if (!is_lost(p, c->id, v->beings[c->id].needs[i].parent))
            has[found++] = v->beings[c->id].needs[i].parent;
    for (int i = 0; i < c->n_gains; i++)
        has[found++] = c->gains[i];
    for (int i = 0, first = found; i < first; i++)
        for (int j = 0; v->truth.roles[ref_role(v, p, has[i])].cluster && j < n; j++) {
            bool known = refs[j] == c->id || ref_role(v, p, refs[j]) != ref_role(v, p, has[i]) ||
                         ref_deployment(v, p, refs[j]) != ref_deployment(v, p, has[i]);
            for (int k = 0; k < found; k++)
                known |= has[k] == refs[j];
            if (known)
                continue;
            has[found++] = refs[j];
            if (!list_drop(c->losses, &c->n_losses, refs[j]))
                c->gains[c->n_gains++] = refs[j];
        }
}

/* Who got one of a cluster gets all; those who live and need one get each that is new. */
static void peers_add(const struct naive *v, struct naive_plan *p)
{
    int refs[BEINGS_MOST], n = refs_present(v, p, refs);
    for (int i = 0; i < p->n_fresh; i++)
        for (int k = 0, found = p->fresh[i].n_parents; k < found; k++) {
            int ref = p->fresh[i].parents[k], role = ref_role(v, p, ref);
            for (int j = 0; v->truth.roles[role].cluster && j < n; j++)
                if (refs[j] != -1 - i && ref_role(v, p, refs[j]) == role &&
                    ref_deployment(v, p, refs[j]) == ref_deployment(v, p, ref))
                    parent_add(&p->fresh[i], refs[j]);
        }
    for (int i = 0; i < p->n_changes; i++)
        if (p->changes[i].back)
            regain(v, p, &p->changes[i], refs, n);
    for (int c = 0; c < n && refs[c] > 0; c++)
        for (int m = 0; m < n; m++) {
            bool wants = false, comes = refs[m] < 0 || naive_is_back(p, refs[m]);
            int role = ref_role(v, p, refs[m]);
            if (!comes || naive_is_back(p, refs[c]) || !v->truth.roles[role].cluster)
                continue;
            for (int k = 0; k < n && refs[k] > 0; k++)
                wants |= v->beings[refs[k]].role == role &&
                         v->beings[refs[k]].deployment == p->deployment &&
                         naive_needs(v, refs[c], refs[k], true) && !is_lost(p, refs[c], refs[k]);
            for (int k = 0; k < p->n_changes; k++) /* it has said so itself */
                for (int g = 0; p->changes[k].id == refs[c] && g < p->changes[k].n_gains; g++)
                    wants &= p->changes[k].gains[g] != refs[m];
            if (!wants)
                continue;
            assert(p->n_peers < NEW_MOST * 8);
            p->peers[p->n_peers].child = refs[c];
            p->peers[p->n_peers++].parent = refs[m];
        }
}

struct naive_edges { /* vertices: ids, then new ones from `end` on */
    int from[4096], to[4096], n;
};

static void edge_add(const struct naive *v, struct naive_edges *g, int parent, int child)
{
    assert(g->n < 4096);
    g->from[g->n] = parent < 0 ? v->end - 1 - parent : parent;
    g->to[g->n++] = child < 0 ? v->end - 1 - child : child;
}

/* Takes away whoever has no parent left, until nobody has: what remains goes in circles. */
static bool has_circle(const struct naive *v, const struct naive_plan *p)
{
    static struct naive_edges g; /* large; filled anew by each call */
    bool gone[BEINGS_MOST + NEW_MOST] = {0};
    g.n = 0;
    for (int c = 1; c < v->end; c++)
        for (int i = 0; v->beings[c].exists && i < v->beings[c].n_needs; i++)
            if (!is_lost(p, c, v->beings[c].needs[i].parent))
                edge_add(v, &g, v->beings[c].needs[i].parent, c);
    for (int i = 0; i < p->n_fresh; i++)
        for (int k = 0; k < p->fresh[i].n_parents; k++)
            edge_add(v, &g, p->fresh[i].parents[k], -1 - i);
    for (int i = 0; i < p->n_changes; i++)
        for (int k = 0; k < p->changes[i].n_gains; k++)
            edge_add(v, &g, p->changes[i].gains[k], p->changes[i].id);
    for (int i = 0; i < p->n_peers; i++)
        edge_add(v, &g, p->peers[i].parent, p->peers[i].child);
    for (bool moved = true; moved;) {
        moved = false;
        for (int x = 1; x < v->end + p->n_fresh; x++) {
            bool held = gone[x];
            for (int i = 0; i < g.n && !held; i++)
                held = g.to[i] == x && !gone[g.from[i]];
            moved |= !held;
            gone[x] |= !held;
        }
    }
    for (int x = 1; x < v->end + p->n_fresh; x++)
        if (!gone[x])
            return true;
    return false;
}

static int ref_cohort(const struct naive *v, const struct naive_plan *p, int ref)
{
    return ref < 0 ? p->fresh[-1 - ref].cohort : v->beings[ref].cohort;
}

/* One above the highest parent; ids by (cohort, node, order of creation). */
static void cohorts_give(const struct naive *v, struct naive_plan *p)
{
    for (bool moved = true; moved;) {
        moved = false;
        for (int i = 0; i < p->n_fresh; i++)
            for (int k = 0; k < p->fresh[i].n_parents; k++)
                if (p->fresh[i].cohort <= ref_cohort(v, p, p->fresh[i].parents[k])) {
                    p->fresh[i].cohort = ref_cohort(v, p, p->fresh[i].parents[k]) + 1;
                    moved = true;
                }
    }
    for (int i = 0; i < p->n_fresh; i++) {
        p->fresh[i].id = v->end;
        for (int k = 0; k < p->n_fresh; k++) {
            const struct naive_new *a = &p->fresh[k], *b = &p->fresh[i];
            bool before = a->cohort != b->cohort ? a->cohort < b->cohort
                          : a->node != b->node   ? a->node < b->node
                                                 : k < i;
            p->fresh[i].id += before;
        }
    }
}

void naive_plan_finish(struct naive *v, struct naive_plan *p)
{
    if (p->refused)
        return;
    peers_add(v, p);
    p->refused = has_circle(v, p);
    if (!p->refused)
        cohorts_give(v, p);
}
