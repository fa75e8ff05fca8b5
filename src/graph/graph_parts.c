/* graph_parts.c - who can reach each other: strongly connected components
 *
 * Tarjan's algorithm with a stack of its own, since graphs come from users.  A component is
 * finished when everything that it leads to is: so numbers rise from what is depended on to what
 * depends.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "base/alloc.h"
#include "graph/graph.h"

struct search {
    const uint32_t *first, *deps;
    uint32_t *seen; /* by vertex: when it was met, from 1 */
    uint32_t *low;  /* the earliest that it leads back to */
    uint32_t *next; /* its next edge */
    uint32_t *path; /* vertices being looked at */
    uint32_t *open; /* vertices of components that are not finished */
    uint32_t *part; /* the result; UINT32_MAX: not finished */
    uint32_t n_path, n_open, n_seen, n_parts;
};

static void vertex_enter(struct search *s, uint32_t v)
{
    s->seen[v] = s->low[v] = ++s->n_seen;
    s->next[v] = s->first[v];
    s->path[s->n_path++] = v;
    s->open[s->n_open++] = v;
}

static void vertex_leave(struct search *s, uint32_t v)
{
    s->n_path--;
    if (s->n_path && s->low[v] < s->low[s->path[s->n_path - 1]])
        s->low[s->path[s->n_path - 1]] = s->low[v];
    if (s->low[v] != s->seen[v])
        return;
    uint32_t member;
    do {
        member = s->open[--s->n_open];
        s->part[member] = s->n_parts;
    } while (member != v);
    s->n_parts++;
}

static void vertex_explore(struct search *s, uint32_t from)
{
    vertex_enter(s, from);
    while (s->n_path) {
        uint32_t v = s->path[s->n_path - 1];
        if (s->next[v] == s->first[v + 1]) {
            vertex_leave(s, v);
            continue;
        }
        uint32_t to = s->deps[s->next[v]++];
        if (!s->seen[to])
            vertex_enter(s, to);
        else if (s->part[to] == UINT32_MAX && s->seen[to] < s->low[v])
            s->low[v] = s->seen[to];
    }
}

uint32_t graph_parts(uint32_t n, const uint32_t *first, const uint32_t *deps, uint32_t *ret_part)
{
    size_t room = n ? n : 1;
    struct search s = {.first = first,
                       .deps = deps,
                       .seen = xcalloc(room, sizeof *s.seen),
                       .low = xcalloc(room, sizeof *s.low),
                       .next = xcalloc(room, sizeof *s.next),
                       .path = xcalloc(room, sizeof *s.path),
                       .open = xcalloc(room, sizeof *s.open),
                       .part = ret_part};
    for (uint32_t v = 0; v < n; v++)
        ret_part[v] = UINT32_MAX;
    for (uint32_t v = 0; v < n; v++)
        if (!s.seen[v])
            vertex_explore(&s, v);
    free(s.seen);
    free(s.low);
    free(s.next);
    free(s.path);
    free(s.open);
    return s.n_parts;
}
