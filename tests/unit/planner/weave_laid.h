/* weave_laid.h - a weave, who is there, and the plan of both, read by names */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_WEAVE_LAID_H
#define TESTS_WEAVE_LAID_H

#include "tap.h"

#include "fake_world.h"
#include "model/states.h"
#include "planner/weave_plan.h"
#include "weave_bed.h"

__attribute__((unused)) static const char native[] = "barclamp: t\n";
__attribute__((unused)) static const char same_node[] =
    "barclamp: t\ngraphs: {requires: same-node}\n";

/* A weave, who is there, and the plan of both. */
struct laid {
    struct weave_bed b;
    struct fake_world world;
    VEC(struct weave_member) members;
    VEC(uint32_t) carriers;
    struct weave_plan made;
    bool no_op;
    int rc;
};

HELPER bool laid_open(struct laid *l, const char *barclamp, const char *graph)
{
    *l = (struct laid){0};
    bed_init(&l->b);
    bool good = bed_graph(&l->b, barclamp, str_of(graph));
    if (good)
        fake_init(&l->world, l->b.catalog, 9);
    else
        ok(false, "loads: %s %s", l->b.err.at, l->b.err.text);
    return good;
}

HELPER void laid_close(struct laid *l)
{
    plan_free(l->made.plan);
    vec_done(&l->members);
    vec_done(&l->carriers);
    if (l->b.catalog)
        fake_done(&l->world);
    bed_done(&l->b);
}

/* A node and the noderoles that it has, by the names of their groups: "web db"; "-" is one of no
 * group.  What it answers to besides comes in `more`. */
HELPER void laid_node(struct laid *l, const char *name, const char *roles, const char *more)
{
    struct weave_bed *b = &l->b;
    bed_node(b, name, arena_printf(&b->mem, "%s %s", strcmp(roles, "-") ? roles : "", more));
    for (const char *at = roles; *at;) {
        size_t n = strcspn(at, " ");
        struct str role = {arena_strndup(&b->mem, at, n), n};
        uint32_t group = catalog_graph_find(b->graph, role);
        struct weave_member m = {.noderole = (uint32_t)l->members.n + 1,
                                 .group = group == CATALOG_NONE ? WEAVE_NONE : group,
                                 .node = (uint32_t)b->nodes.n - 1,
                                 .flags = NODEROLE_F_RERUN_ALWAYS};
        vec_push(&l->members, m);
        vec_push(&l->world.noderoles,
                 ((struct fake_noderole){
                     .role = role.s, .node = (uint32_t)b->nodes.n, .deployment = 1, .cohort = 1}));
        at += n + strspn(at + n, " ");
    }
}

HELPER bool laid_make(struct laid *l)
{
    if (bed_weave(&l->b) < 0) {
        ok(false, "weaves: %s", l->b.err.text);
        return false;
    }
    struct weave_plan_request req = {.weave = l->b.w,
                                     .of = &l->b.req,
                                     .cat = l->b.catalog,
                                     .world = &l->world.face,
                                     .deployment = 1,
                                     .members = l->members.at,
                                     .n_members = (uint32_t)l->members.n,
                                     .carriers = l->carriers.at,
                                     .n_carriers = (uint32_t)l->carriers.n,
                                     .no_op = l->no_op};
    plan_free(l->made.plan);
    l->made = (struct weave_plan){0};
    l->rc = weave_plan_make(&req, &l->made, &l->b.err);
    return l->rc >= 0;
}

HELPER bool laid_planned(struct laid *l)
{
    bool good = laid_make(l);
    if (!good)
        ok(false, "plans: %s", l->b.err.text);
    return good;
}

/* --- reading a plan --- */

HELPER const struct plan_task *task(struct laid *l, const char *name)
{
    uint32_t v = bed_find(&l->b, name);
    if (v == WEAVE_NONE) {
        printf("Bail out! no vertex %s\n", name);
        exit(1);
    }
    return &l->made.plan->tasks[l->made.task_of[v]];
}

HELPER const struct plan_def *def(struct laid *l, const struct plan_task *t)
{
    return &l->made.plan->defs[t->def & ~PLAN_NEW];
}

/* "web@n1"; "-" of one without a node. */
HELPER const char *place(struct laid *l, const struct plan_task *t)
{
    if (t->noderole & PLAN_NEW)
        return "-";
    const struct fake_noderole *nr = &l->world.noderoles.at[t->noderole - 1];
    return arena_printf(&l->b.mem, "%s@%s", nr->role, l->b.nodes.at[nr->node - 1].name.s);
}

/* "prepare", "install/n1", "join:x", and what is no vertex of the weave as "role@node:name". */
HELPER const char *task_name(struct laid *l, uint32_t ref)
{
    uint32_t i = ref & ~PLAN_NEW;
    const struct plan_task *t = &l->made.plan->tasks[i];
    for (uint32_t v = 0; v < l->b.w->n; v++)
        if (l->made.task_of[v] == i)
            return weave_vertex_name(l->b.w, &l->b.req, v, &l->b.mem).s;
    return arena_printf(&l->b.mem, "%s:%s", place(l, t), def(l, t)->name.s);
}

HELPER const char *deps(struct laid *l, const struct plan_task *t)
{
    const char **names = arena_new(&l->b.mem, const char *, t->n_deps);
    const char *all = "";
    for (uint32_t i = 0; i < t->n_deps; i++)
        names[i] = task_name(l, t->deps[i]);
    if (t->n_deps > 1)
        qsort(names, t->n_deps, sizeof *names, bed_by_text);
    for (uint32_t i = 0; i < t->n_deps; i++)
        all = arena_printf(&l->b.mem, "%s%s%s", all, i ? " " : "", names[i]);
    return all;
}

HELPER const struct plan_change *change(struct laid *l, uint32_t member)
{
    return plan_change_find(l->made.plan, l->members.at[member].noderole);
}

/* The task of a member that is no vertex of the weave; NULL: it has none. */
HELPER const struct plan_task *closing(struct laid *l, uint32_t member)
{
    const struct plan_change *c = change(l, member);
    for (uint32_t i = c->first_task; i < c->first_task + c->n_tasks; i++)
        if (str_is(def(l, &l->made.plan->tasks[i])->name, "shared"))
            return &l->made.plan->tasks[i];
    return NULL;
}

/* "group:web=2 task:x=1": the pools of the span of a task; "": it has none. */
HELPER const char *pools(struct laid *l, const struct plan_task *t)
{
    const struct plan *p = l->made.plan;
    const char *all = "";
    const struct plan_span *s = t->span ? &p->spans[t->span - 1] : NULL;
    for (uint32_t i = 0; s && i < s->n_pools; i++) {
        const struct plan_pool *pool = &p->pools[s->pools[i] & ~PLAN_NEW];
        const char *short_name = strrchr(pool->name.s, '/') + 1;
        all = arena_printf(&l->b.mem, "%s%s%s=%u", all, i ? " " : "", short_name, pool->size);
    }
    return all;
}

#define is_rule(t, want, ...)                                                                      \
    is_text(task_rule_name((enum task_rule)(t)->rule), task_rule_name(RULE_##want), __VA_ARGS__)

#endif
