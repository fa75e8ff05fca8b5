/* catalog.c - a loaded generation: shared, looked up, freed
 *
 * Nothing here changes a catalog; what makes one is catalog_load.c and the files it calls.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "catalog/catalog.h"

#include <assert.h>
#include <stdlib.h>

#include "base/text.h"
#include "catalog/taskgraph.h"

const char *role_flag_name(enum role_flag_bit bit)
{
    static const char *const names[ROLE_BIT_COUNT] = {
#define X(id, text) text,
        ROLE_FLAGS(X)
#undef X
    };
    return (unsigned)bit < ROLE_BIT_COUNT ? names[bit] : "?";
}

const char *strategy_name(enum strategy s)
{
    static const char *const names[STRATEGY_COUNT] = {
#define X(id, text) text,
        STRATEGIES(X)
#undef X
    };
    return (unsigned)s < STRATEGY_COUNT ? names[s] : "?";
}

const char *rerun_name(enum rerun r)
{
    static const char *const names[RERUN_COUNT] = {
#define X(id, text) text,
        RERUNS(X)
#undef X
    };
    return (unsigned)r < RERUN_COUNT ? names[r] : "?";
}

const char *depend_name(enum depend_kind k)
{
    static const char *const names[DEPEND_COUNT] = {
#define X(id, text) text,
        DEPENDS(X)
#undef X
    };
    return (unsigned)k < DEPEND_COUNT ? names[k] : "?";
}

struct catalog *catalog_ref(struct catalog *c)
{
    uint32_t before = __atomic_fetch_add(&c->refs, 1, __ATOMIC_RELAXED);
    assert(before > 0 && before < UINT32_MAX);
    return c;
}

void catalog_unref(struct catalog *c)
{
    if (!c)
        return;
    /* What other threads did with the catalog must be over before it goes. */
    uint32_t before = __atomic_fetch_sub(&c->refs, 1, __ATOMIC_ACQ_REL);
    assert(before > 0);
    if (before > 1)
        return;
    strmap_done(&c->by_barclamp);
    strmap_done(&c->by_jig);
    strmap_done(&c->by_pool);
    strmap_done(&c->by_task);
    strmap_done(&c->by_name);
    strmap_done(&c->by_hardware);
    strmap_done(&c->by_image);
    strmap_done(&c->by_provider);
    strmap_done(&c->by_template);
    strmap_done(&c->by_comparator);
    for (uint32_t i = 0; i < c->n_graphs; i++)
        strmap_done((struct strmap *)&c->graphs[i].by_id);
    graph_patterns_free(c->patterns);
    arena_done(&c->mem);
    free(c);
}

static uint32_t index_of(const struct strmap *map, struct str name)
{
    uintptr_t i;
    return strmap_get(map, name, &i) ? (uint32_t)i : CATALOG_NONE;
}

const struct catalog_barclamp *catalog_barclamp_get(const struct catalog *c, struct str name)
{
    uint32_t i = index_of(&c->by_barclamp, name);
    return i == CATALOG_NONE ? NULL : &c->barclamps[i];
}

const struct catalog_jig *catalog_jig_get(const struct catalog *c, struct str name)
{
    uint32_t i = index_of(&c->by_jig, name);
    return i == CATALOG_NONE ? NULL : &c->jigs[i];
}

const struct catalog_pool *catalog_pool_get(const struct catalog *c, struct str name)
{
    uint32_t i = index_of(&c->by_pool, name);
    return i == CATALOG_NONE ? NULL : &c->pools[i];
}

const struct catalog_task *catalog_task_get(const struct catalog *c, struct str name)
{
    uint32_t i = index_of(&c->by_task, name);
    return i == CATALOG_NONE ? NULL : &c->tasks[i];
}

uint32_t catalog_name_find(const struct catalog *c, struct str name)
{
    return index_of(&c->by_name, name);
}

const struct catalog_role *catalog_role_get(const struct catalog *c, struct str name)
{
    uint32_t i = index_of(&c->by_name, name);
    if (i == CATALOG_NONE || c->names[i].role == CATALOG_NONE)
        return NULL;
    return &c->roles[c->names[i].role];
}

const struct catalog_graph *catalog_graph_get(const struct catalog *c, struct str name)
{
    for (uint32_t i = 0; i < c->n_graphs; i++)
        if (str_eq(c->graphs[i].name, name))
            return &c->graphs[i];
    return NULL;
}

uint32_t catalog_graph_find(const struct catalog_graph *g, struct str id)
{
    return index_of(&g->by_id, id);
}

uint32_t catalog_graph_count(const struct catalog_graph *g, enum vertex_kind kind)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < g->n_vertices; i++)
        n += g->vertices[i].kind == kind;
    return n;
}

const struct catalog_action *catalog_action_get(const struct catalog_role *r, struct str name)
{
    for (uint32_t i = 0; i < r->n_actions; i++)
        if (str_eq(r->actions[i].name, name))
            return &r->actions[i];
    return NULL;
}

uint32_t catalog_roles_written(const struct catalog *c)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < c->n_roles; i++)
        n += c->roles[i].barclamp != CATALOG_NONE && !c->roles[i].machine;
    return n;
}

uint32_t catalog_tasks_written(const struct catalog *c)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < c->n_tasks; i++)
        n += c->tasks[i].where.file != CATALOG_NONE;
    for (uint32_t i = 0; i < c->n_graphs; i++)
        n += catalog_graph_count(&c->graphs[i], VERTEX_TASK);
    return n;
}

const char *catalog_role_nearest(const struct catalog *c, struct str name)
{
    SCOPED_ARENA(mem);
    const char **names = arena_new(&mem, const char *, c->n_roles + 1);
    for (uint32_t i = 0; i < c->n_roles; i++)
        names[i] = c->roles[i].name.s;
    return text_nearest(name, names, c->n_roles);
}
