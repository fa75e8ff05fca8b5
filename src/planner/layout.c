/* layout.c - from a request to a layout in names, from end to end */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "planner/layout_i.h"

void layout_warn(struct layouting *x, const char *fmt, ...)
{
    char text[512];
    va_list ap;
    va_start(ap, fmt);
    (void)vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    vec_push(&x->warnings, str_of(arena_strdup(x->mem, text)));
}

/* --- the answer in names --- */

/* Where nobody is spread any value will do, and none is chosen. */
static bool is_spread(const struct layouting *x, const struct solver_set *services)
{
    for (uint32_t i = 0; i < x->p.n_spreads; i++)
        if (solver_set_has(services, x->p.spreads[i].service))
            return true;
    return false;
}

static void kind_fill(const struct layouting *x, const struct solver_kind *from,
                      struct layout_kind *k)
{
    struct str *services = arena_new(x->mem, struct str, x->services.n);
    *k = (struct layout_kind){.count = from->count,
                              .services = services,
                              .hardware = x->hardware.at[from->hardware].name,
                              .image = x->images.at[from->image].name,
                              .existing = from->existing,
                              .cost = x->p.hardware[from->hardware].cost};
    for (uint32_t i = 0; i < x->services.n; i++)
        if (solver_set_has(&from->services, i))
            services[k->n_services++] = x->services.at[i];
    if (from->existing != SOLVER_NONE) {
        k->labels = x->req->existing[from->existing].labels;
        k->n_labels = x->req->existing[from->existing].n_labels;
    } else if (is_spread(x, &from->services) && from->value != SOLVER_NONE) {
        struct layout_label *label = arena_new(x->mem, struct layout_label, 1);
        *label = (struct layout_label){x->label, x->values.at[from->value]};
        k->labels = label;
        k->n_labels = 1;
    }
}

/* Adds it to one that differs in nothing that is told; false: there is none. */
static bool kind_joins(const struct layouting *x, const struct solver_answer *s, uint32_t number,
                       struct layout_kind *kinds, const uint32_t *place)
{
    const struct solver_kind *k = &s->kinds[number];
    for (uint32_t i = 0; i < number; i++) {
        const struct solver_kind *o = &s->kinds[i];
        if (k->existing == o->existing && k->hardware == o->hardware && k->image == o->image &&
            !memcmp(&k->services, &o->services, sizeof k->services) &&
            (k->existing != SOLVER_NONE || !is_spread(x, &k->services))) {
            kinds[place[i]].count += k->count;
            return true;
        }
    }
    return false;
}

static struct layout_goal goal_of(const struct layouting *x, uint32_t key, int64_t value)
{
    enum solver_key_by by = x->p.keys[key].by;
    return (struct layout_goal){x->comparator->keys[key].name, value,
                                by == SOLVER_COST       ? CATALOG_COST_UNIT
                                : by == SOLVER_RESOURCE ? CATALOG_AMOUNT_UNIT
                                                        : 1};
}

static void layout_fill(struct layouting *x, const struct solver_answer *s, struct layout_answer *a)
{
    struct layout_kind *kinds = arena_new(x->mem, struct layout_kind, s->n_kinds);
    struct layout_goal *goals = arena_new(x->mem, struct layout_goal, x->p.n_keys);
    uint32_t *place = arena_new(x->mem, uint32_t, s->n_kinds);
    for (uint32_t i = 0; i < s->n_kinds; i++) {
        place[i] = a->n_kinds;
        if (!kind_joins(x, s, i, kinds, place))
            kind_fill(x, &s->kinds[i], &kinds[a->n_kinds++]);
    }
    for (uint32_t i = 0; i < x->p.n_keys; i++)
        goals[i] = goal_of(x, i, s->values[i]);
    a->has_layout = true;
    a->settled = s->settled;
    a->kinds = kinds;
    a->given_up = s->given_up;
    a->n_existing = x->p.n_existing;
    a->goals = goals;
    a->n_goals = x->p.n_keys;
    if (!s->settled)
        layout_warn(x,
                    "no layout is better by \"%s\", but of those as good the first by name was "
                    "not searched for to the end",
                    x->comparator->kind.name.s);
}

/* A minimum that gives way because the service is left out altogether. */
static bool is_left_out(const struct solver_answer *s, const struct solver_change *c)
{
    for (uint32_t i = 0; c->ref.rule == SOLVER_RULE_MIN && c->to == 0 && i < s->n_changes; i++)
        if (s->changes[i].ref.rule == SOLVER_RULE_REQUIRED &&
            s->changes[i].ref.index == c->ref.index)
            return true;
    return false;
}

static void reasons_fill(struct layouting *x, const struct solver_answer *s,
                         struct layout_answer *a)
{
    struct layout_reason *conflict = arena_new(x->mem, struct layout_reason, s->n_conflict);
    struct layout_change *changes = arena_new(x->mem, struct layout_change, s->n_changes);
    for (uint32_t i = 0; i < s->n_conflict; i++)
        conflict[i] = layout_why(x, s->conflict[i]);
    for (uint32_t i = 0; i < s->n_changes; i++)
        if (!is_left_out(s, &s->changes[i]))
            changes[a->n_relaxation++] = layout_remedy(x, &s->changes[i]);
    a->conflict = conflict;
    a->n_conflict = s->n_conflict;
    a->relaxation = changes;
    if (!s->irreducible)
        layout_warn(x, "steps ran out: the conflict may name more than it must");
    if (!s->least)
        layout_warn(x, s->has_relaxation ? "steps ran out: less may help too"
                                         : "steps ran out before anything was found that helps");
}

static const struct layout_answer *answer_make(struct layouting *x, const struct solver_answer *s)
{
    struct layout_answer *a = arena_new(x->mem, struct layout_answer, 1);
    a->status = s->status;
    a->steps = s->steps;
    if (s->has_layout)
        layout_fill(x, s, a);
    if (s->status == SOLVER_UNSATISFIABLE)
        reasons_fill(x, s, a);
    /* Where nodes exist the bound may be of nodes given up, which is no goal of anybody's. */
    if (s->has_bound && x->p.n_keys && !x->p.n_existing) {
        a->has_bound = true;
        a->bound = goal_of(x, 0, s->bound);
    }
    struct str *warnings = arena_new(x->mem, struct str, x->warnings.n);
    for (size_t i = 0; i < x->warnings.n; i++)
        warnings[i] = x->warnings.at[i];
    a->warnings = warnings;
    a->n_warnings = (uint32_t)x->warnings.n;
    return a;
}

/* --- from end to end --- */

static struct layouting layouting_of(struct arena *mem, const struct layout_request *req,
                                     struct err *e)
{
    return (struct layouting){
        .mem = mem, .req = req, .c = req->catalog, .t = req->template, .e = e};
}

int layout_services(struct arena *mem, const struct layout_request *req, struct catalog_names *ret,
                    struct err *e)
{
    struct layouting x = layouting_of(mem, req, e);
    int rc = layout_pick_services(&x);
    if (rc < 0 || (rc = layout_pick_requires(&x)) < 0)
        return rc;
    *ret = x.services;
    return 0;
}

static int problem_of(struct layouting *x)
{
    int rc = layout_pick_services(x);
    if (rc < 0 || (rc = layout_pick_requires(x)) < 0 || (rc = layout_pick_provider(x)) < 0 ||
        (rc = layout_offers_pick(x)) < 0 || (rc = layout_pick_comparator(x)) < 0)
        return rc;
    return layout_problem_make(x);
}

int layout_solve(struct arena *mem, const struct layout_request *req,
                 const struct layout_answer **ret_answer, struct err *e)
{
    struct layouting x = layouting_of(mem, req, e);
    struct solver_options o = {
        .max_steps = req->max_steps, .want_conflict = true, .want_relaxation = true};
    const struct solver_answer *s;
    int rc = problem_of(&x);
    if (rc >= 0)
        rc = solver_solve(mem, &x.p, &o, &s, e);
    if (rc >= 0)
        *ret_answer = answer_make(&x, s);
    vec_done(&x.warnings);
    return rc < 0 ? rc : 0;
}
