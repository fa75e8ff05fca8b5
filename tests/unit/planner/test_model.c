/* test_model.c - random catalogs and requests against a binder that only loops
 *
 * The naive binder below keeps one flat list of instances, asks every question by looking at all of
 * them, and proves the whole graph acyclic after the fact.  Both must agree on whether a request is
 * refused, and if not on every noderole, parent, need and cohort.  A seed that fails can be given
 * as an argument.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "tap.h"

#include "fake_world.h"

enum { MAX_INSTANCES = 400, MAX_PARENTS = 400 };

/* --- chance --- */

static uint64_t chance_state;

static uint32_t chance(uint32_t below)
{
    chance_state ^= chance_state << 13;
    chance_state ^= chance_state >> 7;
    chance_state ^= chance_state << 17;
    return (uint32_t)((chance_state >> 16) % below);
}

static void list_put(struct buf *b, const char *key, uint32_t most, uint32_t roles, uint32_t names)
{
    uint32_t n = roles + names ? chance(most + 1) : 0;
    bool used[64] = {0};
    buf_printf(b, ", %s: [", key);
    for (uint32_t i = 0, put = 0; i < n; i++) {
        uint32_t pick = chance(roles + names);
        if (used[pick])
            continue;
        used[pick] = true;
        buf_printf(b, "%s%s%u", put++ ? ", " : "", pick < roles ? "r" : "p",
                   pick < roles ? pick : pick - roles);
    }
    buf_puts(b, "]");
}

static void catalog_text(struct buf *b)
{
    static const char *const strategies[] = {"{type: parallel}", "{type: one_by_one}",
                                             "{type: rolling, max: 2}"};
    static const char *const steps[] = {
        "[{name: a}]", "[{name: a}, {name: b}]",
        "[{name: c, requires: [a]}, {name: a, requires: []}, {name: b, requires: [a]}]",
        "[{name: a, requires: []}, {name: b, requires: []}]"};
    uint32_t roles = 4 + chance(10), names = 3;

    /* Every name is provided by somebody, so that it can be wanted. */
    buf_puts(b, "barclamp: t\nroles:\n  - {name: s0, provides: [p0, p1]}\n  - {name: s1, provides: "
                "[p1, p2]}\n");
    for (uint32_t i = 0; i < roles; i++) {
        buf_printf(b, "  - {name: r%u, jig: shell", i);
        list_put(b, "requires", 3, i, chance(4) ? 0 : names);
        list_put(b, "uses", 1, i, chance(8) ? 0 : names);
        list_put(b, "provides", chance(5) ? 0 : 2, 0, names);
        list_put(b, "conflicts", chance(8) ? 0 : 1, i, 0);
        buf_puts(b, ", flags: [");
        buf_printf(b, "%s%s%s", chance(4) ? "" : "implicit, ", chance(5) ? "" : "cluster, ",
                   chance(20) ? "" : "abstract");
        buf_printf(b, "], strategy: %s, actions: {converge: %s}}\n", strategies[chance(3)],
                   steps[chance(4)]);
    }
}

/* --- the naive binder --- */

struct instance {
    uint32_t role, node, deployment, cohort;
    uint32_t id; /* 0: new */
    uint32_t parents[MAX_PARENTS], n_parents;
};
struct naive {
    const struct catalog *c;
    const struct fake_world *w;
    struct instance at[MAX_INSTANCES];
    uint32_t n, n_live, target;
    bool refused;
};

static bool offers(const struct catalog_role *r, uint32_t name)
{
    bool yes = r->name_id == name;
    for (uint32_t i = 0; i < r->n_provides; i++)
        yes |= r->provides[i] == name;
    return yes;
}

static bool one_sided_clash(const struct catalog_role *a, const struct catalog_role *b)
{
    bool yes = offers(b, a->name_id);
    for (uint32_t i = 0; i < a->n_conflicts; i++)
        yes |= offers(b, a->conflicts[i]);
    for (uint32_t i = 0; i < a->n_provides; i++)
        yes |= offers(b, a->provides[i]);
    return yes;
}

static bool ring_among(const struct naive *v)
{
    static bool reach[MAX_INSTANCES][MAX_INSTANCES];
    memset(reach, 0, sizeof reach);
    for (uint32_t i = 0; i < v->n; i++)
        for (uint32_t k = 0; k < v->at[i].n_parents; k++)
            reach[i][v->at[i].parents[k]] = true;
    for (uint32_t k = 0; k < v->n; k++)
        for (uint32_t i = 0; i < v->n; i++)
            for (uint32_t j = 0; reach[i][k] && j < v->n; j++)
                reach[i][j] |= reach[k][j];
    for (uint32_t i = 0; i < v->n; i++)
        if (reach[i][i])
            return true;
    return false;
}

static uint32_t naive_create(struct naive *v, uint32_t role, uint32_t node)
{
    const struct catalog_role *r = &v->c->roles[role];
    v->refused |= (r->flags & ROLE_F_ABSTRACT) != 0 || v->n == MAX_INSTANCES;
    for (uint32_t i = 0; i < v->n; i++) {
        const struct catalog_role *other = &v->c->roles[v->at[i].role];
        if (v->at[i].node == node)
            v->refused |= one_sided_clash(r, other) || one_sided_clash(other, r);
    }
    if (v->refused)
        return 0;
    v->at[v->n] = (struct instance){.role = role, .node = node, .deployment = v->target};
    return v->n++;
}

/* Lower is better: live before new, then cohort, then number. */
static bool better(const struct naive *v, uint32_t a, uint32_t b)
{
    const struct instance *x = &v->at[a], *y = &v->at[b];
    if (!x->id != !y->id)
        return x->id != 0;
    if (x->id && x->cohort != y->cohort)
        return x->cohort < y->cohort;
    return a < b;
}

static int naive_find(const struct naive *v, uint32_t asking, uint32_t name)
{
    uint32_t role = v->c->names[name].role;

    for (uint32_t i = 0; i < v->n; i++)
        if (i != asking && v->at[i].node == v->at[asking].node &&
            offers(&v->c->roles[v->at[i].role], name))
            return (int)i;
    if (role != CATALOG_NONE && v->c->roles[role].flags & ROLE_F_IMPLICIT)
        return -1;
    for (uint32_t d = v->target; d; d = v->w->deployments.at[d - 1].parent)
        for (unsigned itself = 2; itself-- > 0;) {
            int best = -1;
            for (uint32_t i = 0; i < v->n; i++)
                if (i != asking && v->at[i].deployment == d &&
                    (itself ? v->at[i].role == role : offers(&v->c->roles[v->at[i].role], name)) &&
                    (best < 0 || better(v, i, (uint32_t)best)))
                    best = (int)i;
            if (best >= 0)
                return best;
        }
    return -1;
}

static void naive_link(struct naive *v, uint32_t child, uint32_t parent)
{
    struct instance *c = &v->at[child];
    for (uint32_t i = 0; i < c->n_parents; i++)
        if (c->parents[i] == parent)
            return;
    if (child != parent && c->n_parents < MAX_PARENTS)
        c->parents[c->n_parents++] = parent;
}

static void naive_bind(struct naive *v, const struct bind_request *req)
{
    v->target = req->deployment;
    v->n_live = v->n;
    for (uint32_t i = 0; i < req->n_items && !v->refused; i++) {
        uint32_t role = (uint32_t)(catalog_role_get(v->c, req->items[i].role) - v->c->roles);
        bool there = false;
        for (uint32_t k = 0; k < v->n; k++)
            there |= v->at[k].role == role && v->at[k].node == req->items[i].node;
        if (!there)
            naive_create(v, role, req->items[i].node);
    }
    for (uint32_t i = v->n_live; i < v->n && !v->refused; i++) {
        const struct catalog_role *r = &v->c->roles[v->at[i].role];
        for (uint32_t k = 0; k < r->n_requires && !v->refused; k++) {
            const struct catalog_name *name = &v->c->names[r->requires[k].name];
            int found = naive_find(v, i, r->requires[k].name);
            if (found < 0 && name->role == CATALOG_NONE && name->n_providers != 1)
                v->refused = true;
            else if (found < 0)
                found = (int)naive_create(
                    v, name->role == CATALOG_NONE ? name->providers[0] : name->role, v->at[i].node);
            if (!v->refused)
                naive_link(v, i, (uint32_t)found);
        }
    }
    for (uint32_t i = v->n_live; i < v->n && !v->refused; i++) {
        const struct catalog_role *r = &v->c->roles[v->at[i].role];
        for (uint32_t k = 0; k < r->n_uses; k++) {
            int found = naive_find(v, i, r->uses[k].name);
            if (found >= 0)
                naive_link(v, i, (uint32_t)found);
        }
    }
    uint32_t machine = (uint32_t)(catalog_role_get(v->c, str_of(CATALOG_MACHINE)) - v->c->roles);
    for (uint32_t i = v->n_live; i < v->n && !v->refused; i++)
        for (uint32_t k = 0; k < v->n; k++)
            if (v->at[k].role == machine && v->at[k].node == v->at[i].node)
                naive_link(v, i, k);
    /* Peers: who needs one needs all of that role and deployment; of old needs only new peers
     * count. */
    for (uint32_t i = 0; i < v->n && !v->refused; i++)
        for (uint32_t k = 0, n = v->at[i].n_parents; k < n; k++) {
            struct instance parent = v->at[v->at[i].parents[k]];
            if (!(v->c->roles[parent.role].flags & ROLE_F_CLUSTER))
                continue;
            for (uint32_t j = i < v->n_live ? v->n_live : 0; j < v->n; j++)
                if (v->at[j].role == parent.role && v->at[j].deployment == parent.deployment)
                    naive_link(v, i, j);
        }
    v->refused |= ring_among(v);
}

/* --- comparing --- */

static uint32_t naive_of_ref(const struct naive *v, const struct plan *p, uint32_t ref)
{
    if (!(ref & PLAN_NEW))
        return ref - 1;
    const struct plan_noderole *r = &p->noderoles[ref & ~PLAN_NEW];
    for (uint32_t i = v->n_live; i < v->n; i++)
        if (v->at[i].node == r->node && str_eq(v->c->roles[v->at[i].role].name, r->role))
            return i;
    return UINT32_MAX;
}

static const char *noderole_wrong(const struct naive *v, const struct plan *p, uint32_t number)
{
    const struct plan_noderole *r = &p->noderoles[number];
    uint32_t at = naive_of_ref(v, p, number | PLAN_NEW), cohort = 0;
    if (at == UINT32_MAX)
        return "a noderole too many";
    const struct instance *x = &v->at[at];
    if (x->n_parents != r->n_parents)
        return "number of parents";
    for (uint32_t i = 0; i < r->n_parents; i++) {
        uint32_t parent = naive_of_ref(v, p, r->parents[i]);
        bool known = false;
        for (uint32_t k = 0; k < x->n_parents; k++)
            known |= x->parents[k] == parent;
        if (!known)
            return "another parent";
        uint32_t below = r->parents[i] & PLAN_NEW ? p->noderoles[r->parents[i] & ~PLAN_NEW].cohort
                                                  : v->at[parent].cohort;
        cohort = below + 1 > cohort ? below + 1 : cohort;
    }
    return cohort == r->cohort ? NULL : "cohort";
}

/* First tasks wait for nothing but what the strategy says: needs order by themselves. */
static const char *tasks_wrong(const struct naive *v, const struct plan *p)
{
    for (uint32_t i = 0; i < p->n_tasks; i++) {
        const struct plan_task *t = &p->tasks[i];
        const struct plan_noderole *nr = &p->noderoles[t->noderole & ~PLAN_NEW];
        uint32_t own = 0;
        for (uint32_t k = 0; k < t->n_deps; k++) {
            uint32_t dep = t->deps[k] & ~PLAN_NEW;
            if (t->deps[k] & PLAN_NEW && dep >= i)
                return "a task before one that it waits for";
            if (t->deps[k] & PLAN_NEW && p->tasks[dep].weight <= t->weight)
                return "weight";
            own += t->deps[k] & PLAN_NEW && p->tasks[dep].noderole == t->noderole;
        }
        if (own) {
            if (own != t->n_deps)
                return "an inner task waits outside";
            continue;
        }
        /* Parents need no edges; those in the plan are further from its end. */
        for (uint32_t k = 0; k < nr->n_parents; k++) {
            if (!(nr->parents[k] & PLAN_NEW))
                continue;
            const struct plan_noderole *up = &p->noderoles[nr->parents[k] & ~PLAN_NEW];
            for (uint32_t s = up->first_task; s < up->first_task + up->n_tasks; s++)
                if (p->tasks[s].weight <= t->weight)
                    return "weight over a need";
        }
        const struct catalog_role *role = catalog_role_get(v->c, nr->role);
        if (t->n_deps != 0)
            return "a first task waits for more than its parents";
        if ((t->span != 0) != (role->strategy != STRATEGY_PARALLEL))
            return "span";
    }
    return NULL;
}

static const char *plan_wrong(const struct naive *v, const struct plan *p)
{
    uint32_t needs = 0;
    if (p->n_noderoles != v->n - v->n_live)
        return "number of noderoles";
    for (uint32_t i = 0; i < p->n_noderoles; i++) {
        const char *wrong = noderole_wrong(v, p, i);
        if (wrong)
            return wrong;
    }
    for (uint32_t i = 0; i < v->n_live; i++)
        for (uint32_t k = 0; k < v->at[i].n_parents; k++)
            if (v->at[i].parents[k] >= v->n_live) {
                bool told = false;
                for (uint32_t n = 0; n < p->n_needs; n++)
                    told |= p->needs[n].child == i + 1 &&
                            naive_of_ref(v, p, p->needs[n].parent) == v->at[i].parents[k];
                if (!told)
                    return "a need of a live noderole is missing";
                needs++;
            }
    return needs == p->n_needs ? tasks_wrong(v, p) : "number of needs";
}

/* --- one seed --- */

struct counts {
    unsigned catalogs, plans, refusals, needs, rings;
};

static void naive_from_world(struct naive *v, const struct catalog *c, const struct fake_world *w)
{
    v->c = c;
    v->w = w;
    v->refused = false;
    v->n = (uint32_t)w->noderoles.n;
    for (uint32_t i = 0; i < v->n; i++) {
        const struct fake_noderole *n = &w->noderoles.at[i];
        struct instance *x = &v->at[i];
        x->role = (uint32_t)(catalog_role_get(c, str_of(n->role)) - c->roles);
        x->node = n->node;
        x->deployment = n->deployment;
        x->cohort = n->cohort;
        x->id = i + 1;
        x->n_parents = 0;
        for (size_t k = 0; k < n->parents.n; k++)
            x->parents[x->n_parents++] = n->parents.at[k] - 1;
    }
}

/* False if the two disagree. */
static bool request_run(const struct catalog *c, struct fake_world *w, struct naive *v,
                        struct counts *counts, uint64_t seed)
{
    struct bind_item items[6];
    struct bind_request req = {1 + chance(4), items, 1 + chance(6)};
    struct plan *p = NULL;
    struct err e = {0};

    for (uint32_t i = 0; i < req.n_items; i++)
        items[i] = (struct bind_item){c->roles[chance(c->n_roles)].name,
                                      1 + chance((uint32_t)w->nodes.n), NULL};
    naive_from_world(v, c, w);
    naive_bind(v, &req);
    int r = planner_bind(c, &w->face, &req, &p, NULL, &e);
    if ((r < 0) != v->refused) {
        note("seed %llu: naive %s, planner: %s", (unsigned long long)seed,
             v->refused ? "refuses" : "binds", r < 0 ? e.text : "binds");
        plan_free(p);
        return false;
    }
    if (r < 0) {
        counts->refusals++;
        counts->rings += r == -ERR_CYCLE;
        return e.text[0] != '\0';
    }
    const char *wrong = plan_wrong(v, p);
    if (wrong)
        note("seed %llu: %s", (unsigned long long)seed, wrong);
    counts->plans += p->n_noderoles > 0;
    counts->needs += p->n_needs;
    fake_apply(w, p);
    fake_raise(w);
    plan_free(p);
    return !wrong;
}

static bool seed_run(uint64_t seed, struct naive *v, struct counts *counts)
{
    struct buf text = {0};
    struct catalog_report report = {0};
    struct catalog *c = NULL;
    struct fake_world w;
    struct err e;
    bool good = true;

    chance_state = seed * 0x9e3779b97f4a7c15ull + 1;
    catalog_text(&text);
    struct catalog_file file = {str_of("barclamp.yaml"), buf_str(&text)};
    struct catalog_source source = {&file, 1};
    if (catalog_load(&source, NULL, 1, &report, &c, &e) == 0) {
        counts->catalogs++;
        fake_init(&w, c, 2 + chance(4));
        vec_push(&w.deployments, ((struct fake_deployment){"a", 1}));
        vec_push(&w.deployments, ((struct fake_deployment){"b", 1}));
        vec_push(&w.deployments, ((struct fake_deployment){"c", 2}));
        for (unsigned i = 0; i < 8 && good; i++)
            good = request_run(c, &w, v, counts, seed);
        fake_done(&w);
    } else {
        good = e.code == ERR_CYCLE; /* the only fault these catalogs can have */
    }
    if (!good)
        note("%s", text.data);
    catalog_unref(c);
    catalog_report_done(&report);
    buf_done(&text);
    return good;
}

int main(int argc, char **argv)
{
    static struct naive v;
    struct counts counts = {0};
    uint64_t first = argc > 1 ? strtoull(argv[1], NULL, 10) : 1, seeds = argc > 1 ? 1 : 1500;
    uint64_t failed = 0;

    for (uint64_t seed = first; seed < first + seeds && !failed; seed++)
        if (!seed_run(seed, &v, &counts))
            failed = seed;
    is_int(failed, 0, "%llu seeds: both binders agree", (unsigned long long)seeds);
    note("%u catalogs, %u plans, %u refusals of which %u circles, %u needs", counts.catalogs,
         counts.plans, counts.refusals, counts.rings, counts.needs);
    if (argc == 1) {
        ok(counts.plans > 2000, "there were plans");
        ok(counts.refusals > 500, "and refusals");
        ok(counts.rings > 10, "and circles");
        ok(counts.needs > 100, "and new needs of live noderoles");
    }
    return tap_done();
}
