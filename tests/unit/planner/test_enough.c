/* test_enough.c - of a cluster so many are enough: what plans say of it (RFC 04, section 5) */
/* SPDX-License-Identifier: Apache-2.0 */
#include "tap.h"

#include <stddef.h>

#include "bind_scene.h"

static const char *const one_is_enough =
    "barclamp: t\nroles:\n"
    "  - {name: replica, flags: [cluster], provides: [store]}\n"
    "  - {name: base}\n"
    "  - {name: web, requires: [base, {role: replica, min: 1}]}\n"
    "  - {name: pair, requires: [{role: store, min: 2}]}\n"
    "  - {name: most, requires: [{role: store, min: \"60%\"}]}\n";
static const char *const all_are_needed =
    "barclamp: t\nroles:\n"
    "  - {name: replica, flags: [cluster], provides: [store]}\n"
    "  - {name: base}\n"
    "  - {name: web, requires: [base, replica]}\n"
    "  - {name: pair, requires: [store]}\n"
    "  - {name: most, requires: [store]}\n";

/* ---- quorums of the fake world: told by the plans that it had ---- */

struct counted {
    uint32_t child, parent, first, min;
    bool percent;
};
struct bed {
    struct scene s;
    VEC(struct counted) counted;
    VEC(uint32_t) parents;
    void (*noderole)(void *ctx, uint32_t id, struct planner_noderole *ret);
    struct plan *plan;
};
static struct bed *bed_of(void *ctx)
{
    return (struct bed *)((char *)ctx - offsetof(struct bed, s.world));
}

static struct planner_ids bed_parents(void *ctx, uint32_t id)
{
    struct bed *d = bed_of(ctx);
    const struct fake_noderole *n = &d->s.world.noderoles.at[id - 1];
    vec_clear(&d->parents);
    for (size_t i = 0; i < n->parents.n; i++)
        vec_push(&d->parents, n->parents.at[i]);
    return (struct planner_ids){d->parents.at, (uint32_t)d->parents.n};
}

static bool bed_enough(void *ctx, uint32_t child, uint32_t parent, struct planner_enough *ret)
{
    struct bed *d = bed_of(ctx);
    for (size_t i = 0; i < d->counted.n; i++)
        if (d->counted.at[i].child == child && d->counted.at[i].parent == parent) {
            *ret = (struct planner_enough){d->counted.at[i].min, d->counted.at[i].percent,
                                           d->counted.at[i].first};
            return true;
        }
    return false;
}

static void bed_noderole(void *ctx, uint32_t id, struct planner_noderole *ret)
{
    struct bed *d = bed_of(ctx);
    d->noderole(ctx, id, ret);
    for (size_t i = 0; i < d->counted.n; i++)
        ret->counts |= d->counted.at[i].child == id;
}

static void bed_open(struct bed *d, const char *catalog)
{
    *d = (struct bed){0};
    scene_open(&d->s, catalog, 8);
    d->noderole = d->s.world.face.noderole;
    d->s.world.face.noderole = bed_noderole;
    d->s.world.face.parents = bed_parents;
    d->s.world.face.enough = bed_enough;
}

static void bed_close(struct bed *d)
{
    plan_free(d->plan);
    vec_done(&d->counted);
    vec_done(&d->parents);
    scene_close(&d->s);
}

static void count_quorums(struct bed *d, uint32_t child, const struct plan_quorum *q, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t k = 0; k < q[i].n_members; k++)
            vec_push(&d->counted, ((struct counted){child, q[i].members[k], q[i].members[0],
                                                    q[i].min, q[i].percent}));
}

/* Binds one after the other, all of them there afterwards. */
static int bind(struct bed *d, const char *role, uint32_t node)
{
    struct bind_item item = {str_of(role), node, NULL};
    struct bind_request req = {1, &item, 1};
    plan_free(d->plan);
    d->plan = NULL;
    int r = planner_bind(d->s.cat, &d->s.world.face, &req, &d->plan, NULL, &d->s.err);
    if (r < 0)
        return r;
    fake_apply(&d->s.world, d->plan);
    for (uint32_t i = 0; i < d->plan->n_noderoles; i++)
        count_quorums(d, d->plan->base_noderole + i, d->plan->noderoles[i].quorums,
                      d->plan->noderoles[i].n_quorums);
    return (int)d->plan->n_noderoles;
}

static int revise(struct bed *d, const char *catalog, struct revise_change c)
{
    struct catalog *cat = fake_catalog(catalog);
    struct revise_request req = {.deployment = 1, .changed = &c, .n_changed = 1};
    plan_free(d->plan);
    d->plan = NULL;
    int r = planner_revise(cat, &d->s.world.face, &req, &d->plan, &d->s.err);
    catalog_unref(cat);
    return r;
}

static void bound(void)
{
    struct bed d;
    bed_open(&d, one_is_enough);
    is_int(bind(&d, "replica", 1), 1, "replica@n1");
    is_int(bind(&d, "replica", 2), 1, "replica@n2");
    is_int(d.plan->noderoles[0].n_quorums, 0, "who says nothing counts nothing");
    is_int(bind(&d, "web", 3), 2, "web@n3, with its base");
    const struct plan_noderole *web = &d.plan->noderoles[1];
    is_int(web->n_parents, 3, "it needs its base and each of the cluster");
    is_int(web->n_quorums, 1, "and counts once");
    is_int(web->quorums[0].min, 1, "one is enough");
    is_int(web->quorums[0].n_members, 2, "of two");
    ok(web->quorums[0].members[0] == 1 && web->quorums[0].members[1] == 2,
       "by id, without its base");
    is_int(bind(&d, "most", 4), 1, "most@n4");
    ok(d.plan->noderoles[0].quorums[0].percent && d.plan->noderoles[0].quorums[0].min == 60,
       "a provided name, and a percentage");
    is_int(bind(&d, "replica", 5), 1, "replica@n5");
    is_int(d.plan->n_needs, 2, "those who need the cluster need the new one");
    ok(d.plan->needs[0].like == 1 && d.plan->needs[1].like == 1, "beside those that they have");
    bed_close(&d);
}

static void bound_in_one(void)
{
    struct bed d;
    bed_open(&d, one_is_enough);
    struct bind_item items[] = {
        {str_of("pair"), 1, NULL}, {str_of("replica"), 3, NULL}, {str_of("replica"), 2, NULL}};
    struct bind_request req = {1, items, 3};
    is_int(planner_bind(d.s.cat, &d.s.world.face, &req, &d.plan, NULL, &d.s.err), 0, "all at once");
    const struct plan_noderole *pair = &d.plan->noderoles[2];
    is_int(pair->quorums[0].n_members, 2, "both are members");
    ok(pair->quorums[0].members[0] == (PLAN_NEW | 0) &&
           pair->quorums[0].members[1] == (PLAN_NEW | 1),
       "in the order of the plan");
    bed_close(&d);
}

static void too_few(void)
{
    struct bed d;
    bed_open(&d, one_is_enough);
    is_int(bind(&d, "pair", 1), -ERR_REFUSED, "one would be created, two are asked for");
    is_text(d.s.err.text, "pair@n1 requires 2 of store, and there is 1", "says how many of what");
    has_text(d.s.err.hint, "bind more of store", "with a remedy");
    (void)bind(&d, "replica", 1);
    (void)bind(&d, "replica", 2);
    is_int(bind(&d, "pair", 3), 1, "with two it is bound");
    uint32_t lost[] = {2};
    is_int(
        revise(&d, one_is_enough,
               (struct revise_change){.noderole = 3, .keep = true, .losses = lost, .n_losses = 1}),
        -ERR_REFUSED, "one of two cannot go");
    is_text(d.s.err.text, "pair@n3 requires 2 of replica, and there is 1", "says whose");
    bed_close(&d);
}

static void another_catalog(void)
{
    struct bed d;
    bed_open(&d, all_are_needed);
    (void)bind(&d, "replica", 1);
    (void)bind(&d, "replica", 2);
    (void)bind(&d, "web", 3);
    is_int(d.plan->noderoles[1].n_quorums, 0, "all are needed");
    is_int(revise(&d, one_is_enough, (struct revise_change){.noderole = 4, .keep = true}), 0,
           "who keeps its definition");
    is_int(d.plan->n_changes, 0, "keeps that");
    is_int(revise(&d, one_is_enough, (struct revise_change){.noderole = 4}), 0, "another catalog");
    is_int(d.plan->n_changes, 1, "changes it");
    is_int(d.plan->changes[0].what, PLAN_C_QUORUMS, "in nothing but that");
    is_int(d.plan->changes[0].quorums[0].n_members, 2, "one of two is enough");
    count_quorums(&d, 4, d.plan->changes[0].quorums, 1);
    is_int(revise(&d, one_is_enough, (struct revise_change){.noderole = 4}), 0, "the same again");
    is_int(d.plan->n_changes, 0, "is no change");
    is_int(revise(&d, all_are_needed, (struct revise_change){.noderole = 4}), 0, "and back");
    is_int(d.plan->changes[0].what, PLAN_C_QUORUMS, "is one");
    is_int(d.plan->changes[0].n_quorums, 0, "all are needed");
    bed_close(&d);
}

static void gained_as_it_is(void)
{
    struct bed d;
    bed_open(&d, one_is_enough);
    (void)bind(&d, "replica", 1);
    (void)bind(&d, "web", 3);
    (void)bind(&d, "replica", 2);
    struct fake_noderole *web = &d.s.world.noderoles.at[2];
    web->parents.n--; /* as if it had been bound before that one came */
    uint32_t gained[] = {4};
    is_int(
        revise(&d, all_are_needed,
               (struct revise_change){.noderole = 3, .keep = true, .gains = gained, .n_gains = 1}),
        0, "one more of the cluster for one that keeps its definition");
    is_int(d.plan->changes[0].what, PLAN_C_PARENTS | PLAN_C_QUORUMS,
           "is a member beside the other");
    is_int(d.plan->changes[0].quorums[0].n_members, 2, "of two");
    bed_close(&d);
}

int main(void)
{
    bound();
    bound_in_one();
    too_few();
    another_catalog();
    gained_as_it_is();
    return tap_done();
}
