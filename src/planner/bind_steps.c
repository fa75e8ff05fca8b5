/* bind_steps.c - a plan as told to people before it is applied: who, why, and how found */
/* SPDX-License-Identifier: Apache-2.0 */
#include "planner/bind_i.h"

#include <stdlib.h>

static struct str copy(struct arena *a, const char *s)
{
    return str_of(arena_strdup(a, s));
}

static struct str deployment_name(struct bind *b, struct arena *a, uint32_t deployment)
{
    struct str name;
    uint32_t parent;
    if (!b->world->deployment(b->world->ctx, deployment, &name, &parent))
        return copy(a, "?");
    return (struct str){arena_strndup(a, name.s, name.n), name.n};
}

static uint32_t placed(const struct bind *b, uint32_t ref)
{
    return ref & PLAN_NEW ? b->fresh.at[ref & ~PLAN_NEW].place | PLAN_NEW : ref;
}

static void step_parents(struct bind *b, struct arena *a, uint32_t number,
                         struct planner_step *step)
{
    const struct bind_new *nr = &b->fresh.at[number];
    struct planner_parent *parents = arena_new(a, struct planner_parent, nr->n_links);

    for (uint32_t i = 0; i < nr->n_links; i++) {
        const struct bind_link *link = &b->parents.at[nr->first_link + i];
        struct str wanted = b->cat->names[link->name].name;
        parents[i] = (struct planner_parent){
            .wanted = {arena_strndup(a, wanted.s, wanted.n), wanted.n},
            .noderole = copy(a, bind_ref_text(b, link->ref)),
            .deployment = deployment_name(b, a, link->deployment),
            .ref = placed(b, link->ref),
            .found = link->found,
            .used = link->used,
        };
    }
    step->parents = parents;
    step->n_parents = nr->n_links;
}

static void step_new(struct bind *b, struct arena *a, uint32_t number, struct planner_step *step)
{
    const struct bind_new *nr = &b->fresh.at[number];

    step->role = copy(a, b->cat->roles[nr->role].name.s);
    step->node = copy(a, bind_node_text(b, nr->node));
    step->node_id = nr->node;
    step->ref = nr->place | PLAN_NEW;
    step->why = nr->because == BIND_NONE ? BIND_REQUESTED : BIND_REQUIRED;
    if (nr->because != BIND_NONE) {
        step->by = copy(a, bind_ref_text(b, nr->because | PLAN_NEW));
        step->wanted = copy(a, b->cat->names[nr->wanted].name.s);
    }
    step_parents(b, a, number, step);
}

static void step_present(struct bind *b, struct arena *a, const struct bind_present *p,
                         struct planner_step *step)
{
    const struct bind_item *item = &b->req->items[p->item];

    step->role = (struct str){arena_strndup(a, item->role.s, item->role.n), item->role.n};
    step->node = copy(a, bind_node_text(b, item->node));
    step->node_id = item->node;
    step->ref = p->id;
    step->why = BIND_PRESENT;
    step->other_data = p->other_data;
}

struct planner_steps *bind_steps_make(struct bind *b)
{
    struct planner_steps *s = xcalloc(1, sizeof *s);
    uint32_t present = (uint32_t)b->present.n;

    arena_init(&s->mem);
    s->n = present + (uint32_t)b->fresh.n;
    s->deployment = deployment_name(b, &s->mem, b->req->deployment);
    struct planner_step *at = arena_new(&s->mem, struct planner_step, s->n);
    for (uint32_t i = 0; i < present; i++)
        step_present(b, &s->mem, &b->present.at[i], &at[i]);
    for (uint32_t i = 0; i < b->fresh.n; i++)
        step_new(b, &s->mem, b->order[i], &at[present + i]);
    s->at = at;
    return s;
}

void planner_steps_free(struct planner_steps *s)
{
    if (!s)
        return;
    arena_done(&s->mem);
    free(s);
}

/* --- showing --- */

static struct value *parent_value(struct arena *a, const struct planner_parent *p)
{
    struct value *v = value_map(a);
    value_put_text(a, v, "wanted", p->wanted.s);
    value_put_text(a, v, "noderole", p->noderole.s);
    value_put_text(a, v, "deployment", p->deployment.s);
    value_put_text(a, v, "found", bind_found_name((enum bind_found)p->found));
    value_put_bool(a, v, "new", p->ref & PLAN_NEW);
    value_put_bool(a, v, "used", p->used);
    return v;
}

struct value *planner_steps_value(struct arena *a, const struct planner_steps *s)
{
    struct value *list = value_list(a);

    for (uint32_t i = 0; i < s->n; i++) {
        const struct planner_step *step = &s->at[i];
        struct value *v = value_map(a), *parents = value_list(a);
        value_put_text(a, v, "role", step->role.s);
        value_put_text(a, v, "node", step->node.s);
        value_put_text(a, v, "why", bind_why_name((enum bind_why)step->why));
        if (step->why == BIND_REQUIRED) {
            value_put_text(a, v, "by", step->by.s);
            value_put_text(a, v, "wanted", step->wanted.s);
        }
        if (step->why == BIND_PRESENT) {
            value_put_int(a, v, "id", step->ref);
            value_put_bool(a, v, "other_data", step->other_data);
        }
        for (uint32_t k = 0; k < step->n_parents; k++)
            value_add(a, parents, parent_value(a, &step->parents[k]));
        value_set(a, v, "parents", parents);
        value_add(a, list, v);
    }
    return list;
}
