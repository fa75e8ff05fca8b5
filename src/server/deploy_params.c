/* deploy_params.c - parameters of a task with expressions in them, node by node
 *
 * Wherever a value may stand, {expr: TEXT} may.  Each is compiled once for a deploy and evaluated
 * for each node that the task runs on.  A task of type WEAVE_NODE_FILE gets its node's part of the
 * graph to write.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json.h"
#include "base/yaml.h"
#include "planner/weave_write.h"
#include "server/deploy.h"

struct spot { /* an expression in the tree */
    const struct value *at;
    const struct expr *x;
};
struct deploy_params {
    struct spot *spots;
    uint32_t n;
};

static const struct value *expression_of(const struct value *v)
{
    const struct value *text = v->kind == VALUE_MAP && v->n == 1 ? value_get(v, "expr") : NULL;
    return value_is(text, VALUE_STRING) ? text : NULL;
}

typedef VEC(const struct value *) values_v;

static void children_push(values_v *walk, const struct value *v)
{
    for (uint32_t i = 0; v->kind == VALUE_LIST && i < v->n; i++)
        vec_push(walk, &v->items[i]);
    for (uint32_t i = 0; v->kind == VALUE_MAP && i < v->n; i++)
        vec_push(walk, &v->members[i].v);
}

static int spots_find(struct deploy *d, const struct graph_vertex *t, struct deploy_params **ret,
                      struct err *e)
{
    VEC(struct spot) spots = {0};
    values_v walk = {0};
    int rc = 0;
    if (t->parameters)
        vec_push(&walk, t->parameters);
    while (walk.n && rc >= 0) {
        const struct value *v = walk.at[--walk.n], *text = expression_of(v);
        struct spot spot = {.at = v};
        if (!text) {
            children_push(&walk, v);
            continue;
        }
        rc = expr_compile(d->mem, value_as_str(text), NULL, &spot.x, e);
        vec_push(&spots, spot);
    }
    struct deploy_params *p = arena_new(d->mem, struct deploy_params, 1);
    p->n = (uint32_t)spots.n;
    p->spots = arena_new(d->mem, struct spot, p->n);
    for (uint32_t i = 0; i < p->n; i++)
        p->spots[i] = spots.at[i];
    vec_done(&spots);
    vec_done(&walk);
    *ret = p;
    return rc < 0 ? err_wrap(e, "parameters of %s", t->id.s) : 0;
}

static int spot_fill(struct deploy *d, const struct graph_vertex *t, uint32_t node,
                     const struct spot *spot, struct value *to, struct err *e)
{
    const struct value *v;
    int rc = expr_eval_defined(spot->x, deploy_scope(d, node), d->mem, &v, e);
    if (rc < 0)
        return err_wrap(e, "parameters of %s", t->id.s);
    *to = *v;
    return 0;
}

/* A copy has the shape of what it was made of: both are walked together. */
static int params_fill(struct deploy *d, const struct graph_vertex *t, uint32_t node,
                       const struct deploy_params *p, struct value *copy, struct err *e)
{
    VEC(struct {
        const struct value *from;
        struct value *to;
    })
    walk = {0};
    int rc = 0;
    vec_reserve(&walk, 1);
    walk.at[walk.n].from = t->parameters;
    walk.at[walk.n++].to = copy;
    while (walk.n && rc >= 0) {
        const struct value *from = walk.at[--walk.n].from;
        struct value *to = walk.at[walk.n].to;
        const struct spot *spot = NULL;
        for (uint32_t i = 0; i < p->n && !spot; i++)
            spot = p->spots[i].at == from ? &p->spots[i] : NULL;
        if (spot) {
            rc = spot_fill(d, t, node, spot, to, e);
            continue;
        }
        uint32_t n = from->kind == VALUE_LIST || from->kind == VALUE_MAP ? from->n : 0;
        for (uint32_t i = 0; i < n; i++) {
            bool list = from->kind == VALUE_LIST;
            vec_reserve(&walk, walk.n + 1);
            walk.at[walk.n].from = list ? &from->items[i] : &from->members[i].v;
            walk.at[walk.n++].to = (struct value *)(list ? &to->items[i] : &to->members[i].v);
        }
    }
    vec_done(&walk);
    return rc;
}

static int params_evaluate(struct deploy *d, uint32_t task, uint32_t node, const struct value **ret,
                           struct err *e)
{
    const struct graph_vertex *t = &d->graph->vertices[task];
    int rc = d->params[task] ? 0 : spots_find(d, t, &d->params[task], e);
    *ret = t->parameters;
    if (rc < 0 || !d->params[task]->n)
        return rc;
    struct value *copy = value_copy(d->mem, t->parameters);
    *ret = copy;
    return params_fill(d, t, node, d->params[task], copy, e);
}

/* --- the file of a node --- */

/* In such a file, one that brings it is as it was written. */
static int params_in_file(void *ctx, uint32_t task, uint32_t node, const struct value **ret,
                          struct err *e)
{
    struct deploy *d = ctx;
    *ret = d->graph->vertices[task].parameters;
    return str_is(d->graph->vertices[task].type, WEAVE_NODE_FILE)
               ? 0
               : params_evaluate(d, task, node, ret, e);
}

int deploy_node_file(struct deploy *d, uint32_t node, struct buf *text, struct err *e)
{
    if (!d->priorities) {
        d->priorities = arena_new(d->mem, uint32_t, d->weave->n);
        weave_priorities(d->weave, d->priorities);
    }
    const struct value *settings = value_merge(d->mem, d->common, d->own[node].data);
    struct weave_node_file file = {.req = &d->req,
                                   .node = node,
                                   .priorities = d->priorities,
                                   .settings = settings,
                                   .parameters = params_in_file,
                                   .ctx = d};
    return weave_write_node(text, d->weave, &file, e);
}

/* Settings may be secret: for its owner only, unless it is said otherwise. */
static int params_upload(struct deploy *d, uint32_t node, const struct value **ret, struct err *e)
{
    SCOPED_BUF(json);
    SCOPED_BUF(yaml);
    struct value *all = value_map(d->mem), *doc;
    int rc = deploy_node_file(d, node, &json, e);
    if (rc < 0 || (rc = json_parse(d->mem, json.data, json.len, NULL, &doc, e)) < 0)
        return rc;
    yaml_write(&yaml, doc);
    value_put_text(d->mem, all, "mode", "0600");
    value_set(d->mem, all, "data", value_str(d->mem, buf_str(&yaml)));
    *ret = *ret ? value_merge(d->mem, all, *ret) : all;
    return 0;
}

int deploy_parameters(void *ctx, uint32_t task, uint32_t node, const struct value **ret,
                      struct err *e)
{
    struct deploy *d = ctx;
    int rc = params_evaluate(d, task, node, ret, e);
    if (rc >= 0 && str_is(d->graph->vertices[task].type, WEAVE_NODE_FILE))
        rc = params_upload(d, node, ret, e);
    return rc;
}
