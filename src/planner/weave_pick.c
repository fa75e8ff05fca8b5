/* weave_pick.c - what of a weave is left out
 *
 * What is left out stays where it is: whoever waits for it waits for what it would have waited for.
 * A word that matches nothing is an error: a typing error must not run everything.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "planner/weave_i.h"

/* --- words --- */

static bool number_of(struct str s, uint64_t *ret)
{
    *ret = 0;
    for (size_t i = 0; i < s.n; i++) {
        if (s.s[i] < '0' || s.s[i] > '9' || *ret > UINT64_MAX / 10 - 1)
            return false;
        *ret = *ret * 10 + (uint64_t)(s.s[i] - '0');
    }
    return s.n > 0;
}

static struct str cut(struct str *rest, char at)
{
    const char *found = rest->n ? memchr(rest->s, at, rest->n) : NULL;
    struct str head = {rest->s, found ? (size_t)(found - rest->s) : rest->n};
    *rest = found ? (struct str){found + 1, rest->n - head.n - 1} : (struct str){"", 0};
    return head;
}

/* "1,3-5": is the name one of them?  A range is of numbers; everything else is a name. */
static bool in_list(struct str list, struct str name)
{
    uint64_t at, from, to;
    bool number = number_of(name, &at), found = false;
    while (list.n > 0 && !found) {
        struct str item = cut(&list, ','), upper = item, lower = cut(&upper, '-');
        found = str_eq(item, name) || (number && number_of(lower, &from) && number_of(upper, &to) &&
                                       from <= at && at <= to);
    }
    return found;
}

static struct str node_name(const struct weave_request *req, uint32_t node)
{
    if (node == WEAVE_NONE)
        return str_of("");
    return node == req->n_nodes ? str_of(WEAVE_MASTER) : req->nodes[node].name;
}

static bool serves(const struct weave *w, uint32_t v, uint32_t group)
{
    for (const struct weave_role *r = weave_serves(w, v); r; r = r->next)
        if (r->group == group)
            return true;
    return false;
}

/* A word taken apart: the vertex of the graph, and which of its nodes. */
struct word {
    struct str id, nodes;
    bool some; /* only on those nodes */
    uint32_t at;
};

static struct word word_of(const struct weave *w, struct str text)
{
    const char *slash = memchr(text.s, '/', text.n);
    struct word x = {.id = {text.s, slash ? (size_t)(slash - text.s) : text.n}, .some = slash};
    x.nodes = slash ? (struct str){slash + 1, text.n - x.id.n - 1} : str_of("");
    x.at = catalog_graph_find(w->graph, x.id);
    return x;
}

/* Is it what the word means, on whatever node? */
static bool word_fits(const struct weave *w, const struct word *x, uint32_t v)
{
    const struct weave_vertex *at = &w->vertices[v];
    if (w->graph->vertices[x->at].kind == VERTEX_GROUP)
        return at->kind == WEAVE_TASK && serves(w, v, x->at);
    return at->task == x->at;
}

/* Marks what a word means; false if that is nothing. */
static bool word_mark(const struct weave *w, const struct weave_request *req, const struct word *x,
                      bool *ret)
{
    bool any = false;
    for (uint32_t v = 0; x->at != CATALOG_NONE && v < w->n_stages + w->n_tasks; v++)
        if (word_fits(w, x, v) &&
            (!x->some || in_list(x->nodes, node_name(req, w->vertices[v].node))))
            any = ret[v] = true;
    return any;
}

/* What is called nearly as the word's vertex, or as the node where it is not; NULL: nothing. */
static const char *word_nearest(const struct weave *w, const struct weave_request *req,
                                const struct word *x)
{
    VEC(const char *) names = {0};
    for (uint32_t i = 0; x->at == CATALOG_NONE && i < w->graph->n_vertices; i++)
        vec_push(&names, w->graph->vertices[i].id.s);
    for (uint32_t v = 0; x->at != CATALOG_NONE && v < w->n_stages + w->n_tasks; v++)
        if (word_fits(w, x, v))
            vec_push(&names, node_name(req, w->vertices[v].node).s);
    const char *nearest = text_nearest(x->at == CATALOG_NONE ? x->id : x->nodes, names.at, names.n);
    vec_done(&names);
    return nearest;
}

int weave_words_mark(const struct weave *w, const struct weave_request *req, const char *what,
                     const struct str *words, uint32_t n, bool *ret, struct err *e)
{
    for (uint32_t i = 0; i < n; i++) {
        struct word x = word_of(w, words[i]);
        if (word_mark(w, req, &x, ret))
            continue;
        const char *near = word_nearest(w, req, &x);
        err_set(e, ERR_NOT_FOUND, "%s: nothing is called %.*s here", what, (int)words[i].n,
                words[i].s);
        if (!near)
            return err_hint(e, "a task, a stage or a group, or TASK/NODE, TASK/1,3-5");
        if (x.at != CATALOG_NONE)
            return err_hint(e, "did you mean %.*s/%s?", (int)x.id.n, x.id.s, near);
        return err_hint(e, "did you mean %s%s%.*s?", near, x.some ? "/" : "", (int)x.nodes.n,
                        x.nodes.s);
    }
    return 0;
}

static int words_mark(struct weaving *x, const char *what, const struct str *words, uint32_t n,
                      bool *ret)
{
    return weave_words_mark(x->w, x->req, what, words, n, ret, x->e);
}

/* --- parts --- */

/* Between the chunks of a strategy: who goes first there is no matter of what needs what. */
static bool is_turn(const struct weave *w, uint32_t v)
{
    uint32_t join = v - w->n_stages - w->n_tasks;
    return v >= w->n_stages + w->n_tasks && w->joins[join].kind == WEAVE_JOIN_CHUNK;
}

static void forwards(const struct weave *w, bool *in)
{
    for (uint32_t i = 0; i < w->n; i++) {
        uint32_t v = w->order[i];
        for (uint32_t k = w->first[v]; k < w->first[v + 1] && !in[v] && !is_turn(w, v); k++)
            in[v] = in[w->deps[k]];
    }
}

static void backwards(const struct weave *w, bool *in)
{
    for (uint32_t i = w->n; i-- > 0;) {
        uint32_t v = w->order[i];
        for (uint32_t k = w->first[v]; k < w->first[v + 1] && in[v]; k++)
            in[w->deps[k]] |= !is_turn(w, w->deps[k]);
    }
}

static int part_mark(struct weaving *x, const struct weave_part *p, bool *ret)
{
    const struct weave *w = x->w;
    bool *behind = xcalloc(w->n, sizeof *behind), *before = xcalloc(w->n, sizeof *before);
    int rc = words_mark(x, "--start", p->starts, p->n_starts, behind);
    if (rc >= 0)
        rc = words_mark(x, "--end", p->ends, p->n_ends, before);
    if (rc >= 0) {
        forwards(w, behind);
        backwards(w, before);
        for (uint32_t v = 0; v < w->n; v++)
            ret[v] |= (!p->n_starts || behind[v]) && (!p->n_ends || before[v]);
    }
    free(behind);
    free(before);
    return rc;
}

/* --- all of it --- */

static void leave_out(struct weaving *x, const bool *in, bool keep, enum weave_reason why)
{
    struct weave *w = x->w;
    for (uint32_t v = w->n_stages; v < w->n_stages + w->n_tasks; v++)
        if (in[v] != keep && w->vertices[v].reason == WEAVE_RUN)
            w->vertices[v].reason = (uint8_t)why;
}

static bool has_event(const struct graph_vertex *t, struct str event)
{
    for (uint32_t i = 0; i < t->n_reexecute_on; i++)
        if (str_eq(t->reexecute_on[i], event))
            return true;
    return false;
}

static bool for_events(const struct graph_vertex *t, const struct weave_pick *p)
{
    for (uint32_t i = 0; i < p->n_events; i++)
        if (!has_event(t, p->events[i]))
            return false;
    return true;
}

static void pick_nodes(struct weaving *x, const struct weave_pick *p)
{
    struct weave *w = x->w;
    for (uint32_t v = w->n_stages; v < w->n_stages + w->n_tasks; v++) {
        struct weave_vertex *at = &w->vertices[v];
        bool master = at->node == x->req->n_nodes;
        if (at->reason != WEAVE_RUN)
            continue;
        if (p->on && !p->on[at->node])
            at->reason = WEAVE_NODE;
        else if (p->n_events && !master && x->req->nodes[at->node].deployed &&
                 !for_events(&x->g->vertices[at->task], p))
            at->reason = WEAVE_EVENT;
    }
}

static int pick(struct weaving *x, const struct weave_pick *p)
{
    bool *in = xcalloc(x->w->n ? x->w->n : 1, sizeof *in);
    int rc = 0;
    for (uint32_t i = 0; i < p->n_parts && rc >= 0; i++)
        rc = part_mark(x, &p->parts[i], in);
    if (rc >= 0 && p->n_parts)
        leave_out(x, in, true, WEAVE_PART);
    memset(in, 0, x->w->n * sizeof *in);
    if (rc >= 0 && p->n_only && (rc = words_mark(x, "--only", p->only, p->n_only, in)) >= 0)
        leave_out(x, in, true, WEAVE_NOT_ONLY);
    memset(in, 0, x->w->n * sizeof *in);
    if (rc >= 0 && p->n_skip && (rc = words_mark(x, "--skip", p->skip, p->n_skip, in)) >= 0)
        leave_out(x, in, false, WEAVE_SKIP);
    if (rc >= 0)
        pick_nodes(x, p);
    free(in);
    return rc;
}

int weave_leave_out(struct weaving *x)
{
    struct weave *w = x->w;
    for (uint32_t v = w->n_stages; v < w->n_stages + w->n_tasks; v++)
        if (str_is(x->g->vertices[w->vertices[v].task].type, "skipped"))
            w->vertices[v].reason = WEAVE_TYPE;
    int rc = x->req->pick ? pick(x, x->req->pick) : 0;
    for (uint32_t v = w->n_stages; x->req->condition && v < w->n_stages + w->n_tasks && rc >= 0;
         v++) {
        struct weave_vertex *at = &w->vertices[v];
        if (at->reason != WEAVE_RUN || !x->g->vertices[at->task].condition)
            continue;
        rc = x->req->condition(x->req->ctx, at->task, at->node, x->e);
        if (rc == 0)
            at->reason = WEAVE_CONDITION;
    }
    return rc < 0 ? rc : 0;
}
