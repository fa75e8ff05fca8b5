/* weave_priority.c - numbers that say what comes first, for those who know nothing but numbers
 *
 * An executor that takes tasks by priority does equal numbers together, and one task at a time on
 * each node: so a number is above those of all that a task waits for, and above the last one of its
 * node.  Steps of a hundred leave room for what others put in between.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "base/alloc.h"
#include "base/json.h"
#include "planner/weave.h"
#include "planner/weave_write.h"

enum { STEP = 100 };

void weave_priorities(const struct weave *w, uint32_t *ret)
{
    uint32_t *of_node = xcalloc((size_t)w->n_nodes + 1, sizeof *of_node);
    for (uint32_t i = 0; i < w->n; i++) {
        uint32_t v = w->order[i], last = 0;
        const struct weave_vertex *at = &w->vertices[v];
        for (uint32_t k = w->first[v]; k < w->first[v + 1]; k++)
            last = ret[w->deps[k]] > last ? ret[w->deps[k]] : last;
        if (at->kind == WEAVE_TASK) {
            last = of_node[at->node] > last ? of_node[at->node] : last;
            last += STEP;
            of_node[at->node] = last;
        }
        ret[v] = last; /* a stage or a join only passes on what came before it */
    }
    free(of_node);
}

struct place {
    uint32_t priority, v;
};

static int by_priority(const void *x, const void *y)
{
    const struct place *p = x, *q = y;
    return (p->priority > q->priority) - (p->priority < q->priority);
}

static int put_task(struct jsonw *j, const struct weave *w, const struct weave_node_file *f,
                    const struct place *p, struct err *e)
{
    const struct weave_vertex *at = &w->vertices[p->v];
    const struct graph_vertex *t = &w->graph->vertices[at->task];
    const struct value *parameters = t->parameters;
    int rc = f->parameters && at->reason == WEAVE_RUN
                 ? f->parameters(f->ctx, at->task, at->node, &parameters, e)
                 : 0;
    if (rc < 0)
        return rc;
    jsonw_map(j);
    jsonw_key(j, "id");
    jsonw_str(j, t->id);
    jsonw_key(j, "priority");
    jsonw_u64(j, p->priority);
    jsonw_key(j, "type");
    jsonw_str(j, at->reason == WEAVE_RUN ? t->type : str_of("skipped"));
    jsonw_key(j, "uids");
    jsonw_list(j);
    jsonw_str(j, f->node == w->n_nodes ? str_of(WEAVE_MASTER) : f->req->nodes[f->node].name);
    jsonw_end(j);
    jsonw_key(j, "parameters");
    if (parameters) {
        jsonw_value(j, parameters);
    } else {
        jsonw_map(j);
        jsonw_end(j);
    }
    jsonw_end(j);
    return 0;
}

int weave_write_node(struct buf *b, const struct weave *w, const struct weave_node_file *f,
                     struct err *e)
{
    uint32_t from = w->base[f->node], to = w->base[f->node + 1], n = 0;
    uint32_t *all = f->priorities ? NULL : xcalloc((size_t)w->n + 1, sizeof *all);
    struct place *places = xcalloc((size_t)(to - from) + 1, sizeof *places);
    struct jsonw j;
    int rc = 0;
    if (all)
        weave_priorities(w, all);
    for (uint32_t v = from; v < to; v++)
        places[n++] = (struct place){all ? all[v] : f->priorities[v], v};
    qsort(places, n, sizeof *places, by_priority);
    jsonw_init(&j, b);
    jsonw_map(&j);
    jsonw_key(&j, "tasks");
    jsonw_list(&j);
    for (uint32_t i = 0; i < n && rc >= 0; i++)
        rc = put_task(&j, w, f, &places[i], e);
    jsonw_end(&j);
    if (f->settings) {
        jsonw_key(&j, "settings");
        jsonw_value(&j, f->settings);
    }
    jsonw_end(&j);
    free(all);
    free(places);
    return rc;
}
