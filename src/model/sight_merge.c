/* sight_merge.c - many maps laid over each other at once
 *
 * Laying k documents one after another over a growing one copies it k times.  Here the members of
 * all maps are put into one new map; a key that several of them have keeps a chain of the maps that
 * are still to be merged there, and each chain of more than one becomes a task for the work list.
 * Parts that one map alone has are shared, as value_merge() does; two maps are left to it.
 *
 * Invariant: a chain has the maps that the visible value is made of, weakest first and none empty.
 * Whatever is no map ends the chain before it; an empty map adds nothing to a chain.  That is what
 * merging pair by pair from the weakest gives; the other direction would not, because a value
 * between two maps hides the first from the second.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "model/sight.h"
#include "model/sight_i.h"

#include <stddef.h>

struct merge_link {
    const struct value *map;
    uint32_t tag;
    uint32_t next; /* in links; of the last: unused */
};
struct merge_chain {
    uint32_t first, last, n; /* n maps, joined by next */
};
struct merge_task { /* *to shall become the maps of the chain, at least two */
    struct value *to;
    struct merge_chain chain;
};
struct sight_merger {
    struct arena *a;
    bool tags;
    VEC(struct merge_link) links;
    VEC(struct merge_chain) chains; /* parallel to the members of the map in the making */
    VEC(struct merge_task) tasks;
};

static void sight_merger_scope_end(struct sight_merger *m)
{
    vec_done(&m->links);
    vec_done(&m->chains);
    vec_done(&m->tasks);
}

static void chain_add(struct sight_merger *m, struct merge_chain *c, const struct value *map,
                      uint32_t tag)
{
    uint32_t at = (uint32_t)m->links.n;
    vec_push(&m->links, ((struct merge_link){map, tag, 0}));
    if (c->n++)
        m->links.at[c->last].next = at;
    else
        c->first = at;
    c->last = at;
}

/* The number of the key's member in the map in the making; made if the key is new.  Documents of
 * one noderole, or of one role, mostly have the same keys in the same order: `guess` is the member
 * behind the one found last, and being right saves the search. */
static uint32_t merge_member(struct sight_merger *m, struct value *out, struct str key,
                             uint32_t guess)
{
    if (guess < out->n) {
        const struct member *next = &out->members[guess];
        if (str_eq((struct str){next->key, next->key_n}, key))
            return guess;
    }
    const struct value *v = value_get_str(out, key);
    if (v) {
        const char *at = (const char *)v - offsetof(struct member, v);
        return (uint32_t)((const struct member *)(const void *)at - out->members);
    }
    value_set_str(m->a, out, key, &(struct value){.kind = VALUE_NULL});
    vec_push(&m->chains, ((struct merge_chain){0}));
    return out->n - 1;
}

/* Lays one value over what the member has. */
static void merge_put(struct sight_merger *m, struct member *to, struct merge_chain *chain,
                      const struct member *from, uint32_t tag)
{
    bool map = from->v.kind == VALUE_MAP;
    if (map && chain->n) {
        if (from->v.n)
            chain_add(m, chain, &from->v, tag);
        return;
    }
    to->key_line = from->key_line;
    to->key_column = from->key_column;
    to->v = m->tags ? (struct value){.kind = VALUE_INT, .i = tag} : from->v;
    to->v.cap = 0; /* shared with its document */
    chain->n = 0;
    if (map && from->v.n)
        chain_add(m, chain, &from->v, tag);
}

static void merge_chain_maps(struct sight_merger *m, const struct merge_task *task)
{
    const struct value *last = m->links.at[task->chain.last].map;
    struct value out = {
        .kind = VALUE_MAP, .source = last->source, .line = last->line, .column = last->column};
    vec_clear(&m->chains);
    uint32_t at = task->chain.first;
    for (uint32_t k = 0; k < task->chain.n; k++) {
        const struct merge_link link = m->links.at[at];
        uint32_t to = 0;
        for (uint32_t i = 0; i < link.map->n; i++, to++) {
            const struct member *from = &link.map->members[i];
            to = merge_member(m, &out, (struct str){from->key, from->key_n}, to);
            merge_put(m, &out.members[to], &m->chains.at[to], from, link.tag);
        }
        at = link.next;
    }
    out.cap = 0;
    *task->to = out;
    for (uint32_t i = 0; i < out.n; i++)
        if (m->chains.at[i].n > 1)
            vec_push(&m->tasks, ((struct merge_task){&out.members[i].v, m->chains.at[i]}));
}

static void merge_task_run(struct sight_merger *m, const struct merge_task *task)
{
    if (m->tags || task->chain.n > 2) {
        merge_chain_maps(m, task);
        return;
    }
    const struct merge_link *under = &m->links.at[task->chain.first];
    const struct merge_link *over = &m->links.at[task->chain.last];
    *task->to = *value_merge(m->a, under->map, over->map);
    task->to->cap = 0;
}

const struct value *sight_merge(struct arena *a, const struct sight_item *items, size_t n,
                                bool tags)
{
    SCOPED(sight_merger) m = {.a = a, .tags = tags};
    struct merge_chain chain = {0};
    for (size_t i = 0; i < n; i++)
        if (value_is(items[i].map, VALUE_MAP) && items[i].map->n)
            chain_add(&m, &chain, items[i].map, items[i].tag);
    if (chain.n == 0)
        return NULL;
    if (chain.n == 1)
        return tags ? value_int(a, m.links.at[0].tag) : m.links.at[0].map;
    struct value *top = value_map(a);
    vec_push(&m.tasks, ((struct merge_task){top, chain}));
    while (m.tasks.n) {
        struct merge_task task = m.tasks.at[--m.tasks.n];
        merge_task_run(&m, &task);
    }
    return top;
}

static const struct value *layers_merge(const struct sight_layers *layers, struct arena *a,
                                        bool tags)
{
    sight_items_v items = {0};
    vec_reserve(&items, layers->n);
    for (uint32_t i = 0; i < layers->n; i++)
        vec_push(&items, ((struct sight_item){layers->at[i].doc, i}));
    const struct value *merged = sight_merge(a, items.at, items.n, tags);
    vec_done(&items);
    return merged;
}

const struct value *sight_data(const struct sight_layers *layers, struct arena *a)
{
    const struct value *merged = layers_merge(layers, a, false);
    return merged ? merged : value_map(a);
}

const struct value *sight_origins(const struct sight_layers *layers, struct arena *a)
{
    return layers_merge(layers, a, true);
}
