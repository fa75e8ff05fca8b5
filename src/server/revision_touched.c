/* revision_touched.c - whom a revision concerns beyond what was asked for
 *
 * A map says what its own deployment wants.  Committing it can concern more: who needs a cluster
 * gains a member that joins it, who needs one that goes loses it, whoever reads data of a
 * deployment role sees other data, and another catalog may define anybody otherwise.  All of that
 * is in the plan; here it is told by names.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "base/text.h"
#include "server/revision.h"

enum { TOUCHED_PARENTS = 1u << 0, TOUCHED_DATA = 1u << 1, TOUCHED_DEFINITION = 1u << 2 };

struct touched {
    uint32_t noderole, why;
    struct value *gains, *losses;
};
struct touching {
    const struct revision *r;
    VEC(struct touched) all;
    struct u64map index; /* noderole -> index into all */
    struct u64map named; /* noderole -> the value of its change, whose gains are completed */
};

/* Of a noderole that lives or that the plan will make. */
static const char *name_of(const struct revision *r, uint32_t id)
{
    const struct plan *p = r->plan;
    if (id < p->base_noderole)
        return view_noderole_name(r->server, r->mem, id);
    const struct plan_noderole *n = &p->noderoles[id - p->base_noderole];
    return arena_printf(r->mem, "%.*s@%s", (int)n->role.n, n->role.s,
                        view_node_name(r->server, n->node));
}

static struct touched *touched_for(struct touching *t, uint32_t noderole)
{
    struct arena *mem = t->r->mem;
    uintptr_t i = t->all.n;
    if (!u64map_get(&t->index, noderole, &i)) {
        u64map_put(&t->index, noderole, i);
        vec_push(&t->all, ((struct touched){noderole, 0, value_list(mem), value_list(mem)}));
    }
    return &t->all.at[i];
}

bool revision_reruns(const struct plan_change *c)
{
    return !(c->what & PLAN_C_REMOVE) && (c->what & ~(unsigned)(PLAN_C_LENS | PLAN_C_QUORUMS));
}

static void change_touches(struct touching *t, const struct plan_change *c)
{
    const struct revision *r = t->r;
    if (!revision_reruns(c) || u64map_get(&t->named, c->noderole, NULL))
        return;
    struct touched *n = touched_for(t, c->noderole);
    n->why |= (c->what & PLAN_C_PARENTS ? TOUCHED_PARENTS : 0) |
              (c->what & PLAN_C_DATA ? TOUCHED_DATA : 0) |
              (c->what & (PLAN_C_DEFS | PLAN_C_TASKS | PLAN_C_LENS) ? TOUCHED_DEFINITION : 0);
    for (uint32_t i = 0; i < c->n_gains; i++)
        value_add(r->mem, n->gains, value_text(r->mem, name_of(r, c->gains[i])));
    for (uint32_t i = 0; i < c->n_losses; i++)
        value_add(r->mem, n->losses, value_text(r->mem, name_of(r, c->losses[i])));
}

static void need_touches(struct touching *t, const struct plan_need *need)
{
    struct touched *n = touched_for(t, need->child);
    n->why |= TOUCHED_PARENTS;
    value_add(t->r->mem, n->gains, value_text(t->r->mem, name_of(t->r, need->parent)));
}

/* Who is named as changed gains this as well. */
static void change_complete(const struct revision *r, struct value *change, struct touched *n)
{
    const struct value *wanted = value_get(change, "gains");
    for (uint32_t i = 0; i < wanted->n; i++)
        value_add(r->mem, n->gains, &wanted->items[i]);
    view_sort(n->gains);
    value_set(r->mem, change, "gains", n->gains);
}

static struct value *touched_value(const struct revision *r, const struct touched *n)
{
    static const char *const words[] = {"parents", "data", "definition"};
    const struct inv_noderole *of = &r->server->inv.noderoles.at[n->noderole];
    struct value *v = value_map(r->mem), *why = value_list(r->mem);
    struct noderole_view view = {0};
    (void)anneal_noderole(r->server->engine, n->noderole, &view);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (n->why >> i & 1)
            value_add(r->mem, why, value_text(r->mem, words[i]));
    view_sort(n->gains);
    view_sort(n->losses);
    value_put_text(r->mem, v, "role", view_role_name(r->server, n->noderole));
    value_put_text(r->mem, v, "node", view_node_name(r->server, view.node));
    value_put_int(r->mem, v, "noderole", n->noderole);
    value_put_text(r->mem, v, "deployment", view_deployment_name(r->server, of->deployment));
    value_set(r->mem, v, "why", why);
    value_set(r->mem, v, "gains", n->gains);
    value_set(r->mem, v, "losses", n->losses);
    return v;
}

struct value *revision_touched(const struct revision *r, struct value *changes)
{
    struct touching t = {.r = r};
    struct value *list = value_list(r->mem);
    for (uint32_t i = 0; changes && i < changes->n; i++) {
        int64_t id = value_as_int(value_get(&changes->items[i], "noderole"), 0);
        if (id)
            u64map_put(&t.named, (uint64_t)id, (uintptr_t)&changes->items[i]);
    }
    for (uint32_t i = 0; i < r->plan->n_changes; i++)
        change_touches(&t, &r->plan->changes[i]);
    for (uint32_t i = 0; i < r->plan->n_needs; i++)
        need_touches(&t, &r->plan->needs[i]);
    for (size_t i = 0; i < t.all.n; i++) {
        uintptr_t change;
        if (u64map_get(&t.named, t.all.at[i].noderole, &change))
            change_complete(r, (struct value *)change, &t.all.at[i]);
        else
            value_add(r->mem, list, touched_value(r, &t.all.at[i]));
    }
    view_sort(list);
    vec_done(&t.all);
    u64map_done(&t.index);
    u64map_done(&t.named);
    return list;
}

/* --- what goes --- */

struct going {
    uint32_t noderole, cohort;
    const char *name;
};

static int by_turn(const void *x, const void *y)
{
    const struct going *p = x, *q = y;
    if (p->cohort != q->cohort) /* a child stands above each of its parents */
        return p->cohort > q->cohort ? -1 : 1;
    return text_natural_order(str_of(p->name), str_of(q->name));
}

struct value *revision_going(const struct revision *r)
{
    struct value *list = value_list(r->mem);
    VEC(struct going) all = {0};
    for (uint32_t i = 0; i < r->plan->n_changes; i++) {
        uint32_t id = r->plan->changes[i].noderole;
        struct noderole_view v = {0};
        if ((r->plan->changes[i].what & PLAN_C_REMOVE) &&
            anneal_noderole(r->server->engine, id, &v))
            vec_push(&all,
                     ((struct going){id, v.cohort, view_noderole_name(r->server, r->mem, id)}));
    }
    if (all.n > 1)
        qsort(all.at, all.n, sizeof *all.at, by_turn);
    for (size_t i = 0; i < all.n; i++) {
        struct noderole_view view = {0};
        struct value *v = value_map(r->mem);
        (void)anneal_noderole(r->server->engine, all.at[i].noderole, &view);
        value_put_text(r->mem, v, "role", view_role_name(r->server, all.at[i].noderole));
        value_put_text(r->mem, v, "node", view_node_name(r->server, view.node));
        value_put_int(r->mem, v, "noderole", all.at[i].noderole);
        value_add(r->mem, list, v);
    }
    vec_done(&all);
    return list;
}
