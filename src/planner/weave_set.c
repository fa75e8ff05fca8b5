/* weave_set.c - sets of instances that are waited for as a whole
 *
 * A set is a list of (task, class) in ascending order; equal lists are one set, so that thirty
 * tasks that wait for the database wait for one vertex.  Who waits for a set of one waits for that
 * instance itself.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "planner/weave_i.h"

/* Names are ids for those who read a plan: the second of a name is "name#2". */
static struct str name_once(struct weaving *x, struct str name)
{
    uintptr_t times = 0;
    (void)strmap_get(&x->join_names, name, &times);
    strmap_put(&x->join_names, name, times + 1);
    if (!times)
        return name;
    return str_of(arena_printf(&x->w->mem, "%.*s#%u", (int)name.n, name.s, (unsigned)times + 1));
}

uint32_t weave_join_add(struct weaving *x, enum weave_join_kind kind, uint32_t group,
                        struct str name)
{
    vec_push(&x->joins, ((struct weave_join){
                            .kind = (uint8_t)kind, .group = group, .name = name_once(x, name)}));
    return x->w->n_stages + x->w->n_tasks + (uint32_t)x->joins.n - 1;
}

void weave_in_add(struct weaving *x, uint32_t to, struct weave_source from)
{
    vec_push(&x->ins, ((struct weave_in){to, from}));
}

static uint64_t size_of(const struct weaving *x, const struct weave_source *at, uint32_t n)
{
    uint64_t size = 0;
    for (uint32_t i = 0; i < n; i++)
        size += at[i].class == WEAVE_NONE ? 1 : x->classes.at[at[i].class].nodes.n;
    return size;
}

uint32_t weave_set_get(struct weaving *x, const struct weave_source *at, uint32_t n,
                       struct str name)
{
    struct str key = {(const char *)at, n * sizeof *at};
    uintptr_t set = x->sets.n;
    if (n == 0)
        return WEAVE_NONE;
    if (strmap_get(&x->set_by_key, key, &set))
        return (uint32_t)set;
    struct weave_source *copy = arena_new(&x->mem, struct weave_source, n);
    memcpy(copy, at, n * sizeof *copy);
    strmap_put(&x->set_by_key, key, set);
    vec_push(&x->sets, ((struct weave_set){copy, n, size_of(x, copy, n), WEAVE_NONE, name}));
    return (uint32_t)set;
}

/* The only vertex of a set of one, else its join. */
static uint32_t set_vertex(struct weaving *x, uint32_t set)
{
    struct weave_set *s = &x->sets.at[set];
    if (s->size == 1) {
        struct weave_source only = s->at[0];
        if (only.class == WEAVE_NONE)
            return only.task;
        const struct weave_class *c = &x->classes.at[only.class];
        return weave_instance(x, c->nodes.at[0], weave_pos(c, only.task));
    }
    if (s->join == WEAVE_NONE) {
        uint32_t join = weave_join_add(x, WEAVE_JOIN_SET, WEAVE_NONE, s->name);
        s->join = join;
        for (uint32_t i = 0; i < s->n; i++)
            weave_in_add(x, join, s->at[i]);
    }
    return s->join;
}

void weave_class_waits(struct weaving *x, uint32_t class, uint32_t pos, uint32_t set)
{
    if (set != WEAVE_NONE && x->sets.at[set].size > 0)
        weave_dep_add(&x->classes.at[class], pos, set_vertex(x, set));
}

/* A stage or join takes the set's instances itself: a second vertex between them helps nobody,
 * unless it is there already. */
void weave_vertex_waits(struct weaving *x, uint32_t to, uint32_t set)
{
    if (set == WEAVE_NONE)
        return;
    const struct weave_set *s = &x->sets.at[set];
    if (s->join != WEAVE_NONE) {
        weave_in_add(x, to, (struct weave_source){s->join, WEAVE_NONE});
        return;
    }
    for (uint32_t i = 0; i < s->n; i++)
        weave_in_add(x, to, s->at[i]);
}
