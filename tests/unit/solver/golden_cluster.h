/* golden_cluster.h - Coopr's words for a cluster made into a problem of the solver
 *
 * Names are numbered in their order.  As whoever reads templates does, it leaves out rules for
 * services that are not there and puts services without any rule everywhere.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_GOLDEN_CLUSTER_H
#define TESTS_GOLDEN_CLUSTER_H

#include "tap.h"

#include "base/json.h"
#include "solver/solver.h"

enum { GOLDEN_SETS = 64, GOLDEN_NAMES = 64, GOLDEN_LAYOUT = 64 };

struct golden_names {
    const char *at[GOLDEN_NAMES];
    uint32_t n;
};
struct golden_cluster {
    struct golden_names services, hardware, images;
    struct solver_problem p;
    struct solver_service service[GOLDEN_NAMES];
    struct solver_hardware kind[GOLDEN_NAMES];
    struct solver_set together[GOLDEN_SETS], apart[GOLDEN_SETS];
    struct solver_existing existing[GOLDEN_LAYOUT];
};

static void name_put(struct golden_names *names, const char *name)
{
    uint32_t i = names->n;
    for (uint32_t k = 0; k < names->n; k++)
        if (!strcmp(names->at[k], name))
            return;
    for (; i > 0 && strcmp(names->at[i - 1], name) > 0; i--)
        names->at[i] = names->at[i - 1];
    names->at[i] = name;
    names->n++;
}

static void names_put(struct golden_names *names, const struct value *list)
{
    for (uint32_t i = 0; list && i < list->n; i++)
        name_put(names, value_as_text(&list->items[i], ""));
}

static uint32_t name_id(const struct golden_names *names, const char *name)
{
    uint32_t i = 0;
    while (i < names->n && strcmp(names->at[i], name))
        i++;
    return i < names->n ? i : SOLVER_NONE;
}

/* The set of a list of names, of those that are there; *ret_whole: all are. */
static struct solver_set names_set(const struct golden_names *names, const struct value *list,
                                   bool *ret_whole)
{
    struct solver_set s = {{0}};
    bool whole = true;
    for (uint32_t i = 0; list && i < list->n; i++) {
        uint32_t id = name_id(names, value_as_text(&list->items[i], ""));
        whole &= id != SOLVER_NONE;
        if (id != SOLVER_NONE)
            solver_set_add(&s, id);
    }
    if (ret_whole)
        *ret_whole = whole;
    return s;
}

static bool set_is_empty(const struct solver_set *s)
{
    for (int i = 0; i < SOLVER_SET_WORDS; i++)
        if (s->w[i])
            return false;
    return true;
}

static bool in_sets(const struct value *sets, const char *name)
{
    for (uint32_t i = 0; sets && i < sets->n; i++)
        for (uint32_t k = 0; k < sets->items[i].n; k++)
            if (!strcmp(value_as_text(&sets->items[i].items[k], ""), name))
                return true;
    return false;
}

static void rules_read(struct golden_cluster *g, const struct value *constraints)
{
    const struct value *must = value_get(constraints, "must"),
                       *cant = value_get(constraints, "cant");
    const struct value *rules = value_get(constraints, "services");
    for (uint32_t i = 0; must && i < must->n; i++) {
        struct solver_set s = names_set(&g->services, &must->items[i], NULL);
        if (!set_is_empty(&s))
            g->together[g->p.n_together++] = s;
    }
    for (uint32_t i = 0; cant && i < cant->n; i++) {
        bool whole;
        struct solver_set s = names_set(&g->services, &cant->items[i], &whole);
        if (whole)
            g->apart[g->p.n_apart++] = s;
    }
    for (uint32_t i = 0; i < g->services.n; i++) {
        const struct value *rule = value_get(rules, g->services.at[i]);
        const struct value *hw = value_get(rule, "hw"), *img = value_get(rule, "img");
        struct solver_service *s = &g->service[i];
        s->min = (uint32_t)value_as_int(value_get(rule, "min"), 0);
        s->max = (uint32_t)value_as_int(value_get(rule, "max"), SOLVER_ANY);
        s->hardware = hw && hw->n ? names_set(&g->hardware, hw, NULL)
                                  : solver_set_below(g->hardware.n);
        s->images = img && img->n ? names_set(&g->images, img, NULL)
                                  : solver_set_below(g->images.n);
        s->everywhere = !rule && !in_sets(must, g->services.at[i]) &&
                        !in_sets(cant, g->services.at[i]);
    }
}

/* Names must be put before. */
static void golden_build(struct golden_cluster *g, const struct value *constraints)
{
    struct solver_problem *p = &g->p;
    p->n_services = g->services.n;
    p->n_hardware = g->hardware.n;
    p->n_images = g->images.n;
    p->services = g->service;
    p->hardware = g->kind;
    p->together = g->together;
    p->apart = g->apart;
    p->existing = g->existing;
    rules_read(g, constraints);
}

static void golden_nodes(struct golden_cluster *g, uint32_t n)
{
    g->p.nodes_min = g->p.nodes_max = n;
}

/* Puts the names that a layout has. */
static void layout_names(struct golden_cluster *g, const struct value *layout)
{
    for (uint32_t i = 0; layout && i < layout->n; i++) {
        const struct value *k = &layout->items[i];
        names_put(&g->services, value_get(k, "services"));
        name_put(&g->hardware, value_as_text(value_get(k, "hw"), ""));
        name_put(&g->images, value_as_text(value_get(k, "img"), ""));
    }
}

/* One kind of a layout; its count is 0 if it says none. */
static struct solver_kind golden_kind(const struct golden_cluster *g, const struct value *v)
{
    return (struct solver_kind){
        .services = names_set(&g->services, value_get(v, "services"), NULL),
        .hardware = name_id(&g->hardware, value_as_text(value_get(v, "hw"), "")),
        .image = name_id(&g->images, value_as_text(value_get(v, "img"), "")),
        .value = SOLVER_NONE,
        .existing = SOLVER_NONE,
        .count = (uint32_t)value_as_int(value_get(v, "count"), 0),
    };
}

static bool kind_same(const struct solver_kind *a, const struct solver_kind *b)
{
    return !memcmp(&a->services, &b->services, sizeof a->services) && a->hardware == b->hardware &&
           a->image == b->image;
}

/* Whether kinds are those of a list, in any order; entries that are alike are taken together. */
static bool kinds_match(const struct golden_cluster *g, const struct solver_kind *kinds, uint32_t n,
                        const struct value *want)
{
    uint32_t total = 0, wanted = 0;
    for (uint32_t i = 0; i < n; i++)
        total += kinds[i].count;
    for (uint32_t i = 0; i < want->n; i++) {
        struct solver_kind w = golden_kind(g, &want->items[i]);
        uint32_t got = 0, times = 0;
        wanted += w.count;
        for (uint32_t k = 0; k < n; k++)
            if (kind_same(&kinds[k], &w)) {
                got += kinds[k].count;
                times++;
            }
        if (got != w.count || !times)
            return false;
    }
    return total == wanted && (total || n == want->n);
}

#endif
