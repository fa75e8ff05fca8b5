/* face_list.c - lists of nodes, groups, deployments, operations and workers
 *
 * Filters that name what does not exist are refused, so that a typo is not taken for an empty
 * answer.  A list without filters knows its total beforehand and costs its page, not its length.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "server/server_i.h"

/* -1: not asked for.  The API has checked that it is one of the words. */
static int state_asked(const struct server_call *c, const char *key, int (*find)(const char *name))
{
    const char *word = value_as_text(value_get(c->query, key), NULL);
    return word ? find(word) : -1;
}

/* ---- nodes ---- */

struct node_filter {
    const struct selector *selector;
    int state, alive;
    uint32_t deployment;
    bool any; /* something is asked for */
};

static int node_filter_read(struct server *s, const struct server_call *c, struct node_filter *f,
                            struct err *e)
{
    const struct value *selector = value_get(c->query, "selector");
    const char *deployment = value_as_text(value_get(c->query, "deployment"), NULL);
    int r = 0;
    *f = (struct node_filter){.state = state_asked(c, "state", noderole_state_find),
                              .alive = state_asked(c, "alive", alive_state_find)};
    if (deployment && (r = face_filter_deployment(s, deployment, &f->deployment, e)) < 0)
        return r;
    if (selector)
        r = selector_parse(c->mem, value_as_str(selector), &f->selector, e);
    f->any = selector || deployment || f->state >= 0 || f->alive >= 0;
    return r;
}

static bool node_passes(struct server *s, struct arena *scratch, const struct node_filter *f,
                        uint32_t id)
{
    struct node_view v;
    const struct inv_node *n = &s->inv.nodes.at[id];
    if (!n->name || n->gone)
        return false;
    if (f->deployment && n->deployment != f->deployment)
        return false;
    if (f->alive >= 0 && (!anneal_node(s->engine, id, &v) || v.alive != f->alive))
        return false;
    arena_reset(scratch);
    if (f->selector && !node_select_match(s, scratch, f->selector, id))
        return false;
    return f->state < 0 || (int)view_node_state(s, id) == f->state;
}

int server_node_list(struct server *s, const struct server_call *c, struct server_reply *r,
                     struct err *e)
{
    struct node_filter f;
    struct page p;
    SCOPED_ARENA(scratch);
    int rc = page_begin(&p, c, e);
    if (rc >= 0)
        rc = node_filter_read(s, c, &f, e);
    if (rc < 0)
        return rc;
    uint64_t from = f.any ? 1 : p.after + 1;
    for (uint64_t id = from; id < s->inv.nodes.n && (f.any || !p.more); id++)
        if (node_passes(s, &scratch, &f, (uint32_t)id) && page_wants(&p, id))
            page_add(&p, c, view_node(s, c->mem, (uint32_t)id));
    if (!f.any)
        p.total = s->inv.node_by_name.live;
    page_end(&p, c, r);
    return 0;
}

/* ---- groups ---- */

static int entry_by_key(const void *x, const void *y)
{
    const struct strmap_entry *a = x, *b = y;
    return strcmp(a->key, b->key);
}

static void count_groups(const struct server *s, struct arena *scratch, uint32_t node,
                         struct strmap *counts)
{
    arena_reset(scratch);
    const struct value *groups = value_get(view_json(scratch, s->inv.nodes.at[node].body),
                                           "groups");
    for (uint32_t i = 0; value_is(groups, VALUE_LIST) && i < groups->n; i++) {
        struct str name = value_as_str(&groups->items[i]);
        uintptr_t n = 0;
        (void)strmap_get(counts, name, &n);
        strmap_put(counts, name, n + 1);
    }
}

int server_group_list(struct server *s, const struct server_call *c, struct server_reply *r,
                      struct err *e)
{
    struct strmap counts = {0};
    struct page p;
    SCOPED_ARENA(scratch);
    int rc = page_begin(&p, c, e);
    if (rc < 0)
        return rc;
    for (uint32_t id = 1; id < s->inv.nodes.n; id++)
        if (s->inv.nodes.at[id].name && !s->inv.nodes.at[id].gone)
            count_groups(s, &scratch, id, &counts);
    struct strmap_entry *sorted = arena_new(c->mem, struct strmap_entry, counts.n ? counts.n : 1);
    if (counts.n)
        memcpy(sorted, counts.at, counts.n * sizeof *sorted);
    qsort(sorted, counts.n, sizeof *sorted, entry_by_key);
    for (size_t i = 0; i < counts.n; i++) {
        if (!page_wants(&p, i + 1))
            continue;
        struct value *v = value_map(c->mem);
        value_put_text(c->mem, v, "name", sorted[i].key);
        value_put_int(c->mem, v, "count", (int64_t)sorted[i].val);
        page_add(&p, c, v);
    }
    strmap_done(&counts);
    page_end(&p, c, r);
    return 0;
}

/* ---- deployments, operations, workers ---- */

int server_deployment_list(struct server *s, const struct server_call *c, struct server_reply *r,
                           struct err *e)
{
    struct page p;
    int rc = page_begin(&p, c, e);
    if (rc < 0)
        return rc;
    for (uint32_t id = 1; id < s->inv.deployments.n; id++) {
        const struct inv_deployment *d = &s->inv.deployments.at[id];
        if (d->name && !d->gone && page_wants(&p, id))
            page_add(&p, c, view_deployment(s, c->mem, id));
    }
    page_end(&p, c, r);
    return 0;
}

int server_operation_list(struct server *s, const struct server_call *c, struct server_reply *r,
                          struct err *e)
{
    struct page p;
    int state = state_asked(c, "state", operation_state_find);
    int rc = page_begin(&p, c, e);
    if (rc < 0)
        return rc;
    for (uint32_t id = 1; id < anneal_operation_end(s->engine); id++) {
        struct operation_view v;
        if (anneal_operation(s->engine, id, &v) && (state < 0 || v.state == state) &&
            page_wants(&p, id))
            page_add(&p, c, view_operation(s, c->mem, id));
    }
    page_end(&p, c, r);
    return 0;
}

static struct value *worker_value(struct server *s, struct arena *a, const struct worker_info *w)
{
    struct value *v = value_map(a), *jigs = value_list(a);
    uint64_t now = server_now(s);
    for (size_t i = 0; i < w->jigs.n; i++)
        value_add(a, jigs, value_text(a, w->jigs.at[i]));
    value_put_text(a, v, "name", w->name);
    value_put_int(a, v, "capacity", w->capacity);
    value_put_int(a, v, "running", w->running);
    value_set(a, v, "jigs", jigs);
    value_put_int(a, v, "last_seen_ms", now > w->seen_ms ? (int64_t)(now - w->seen_ms) : 0);
    return v;
}

int server_worker_list(struct server *s, const struct server_call *c, struct server_reply *r,
                       struct err *e)
{
    struct page p;
    int rc = page_begin(&p, c, e);
    if (rc < 0)
        return rc;
    for (size_t i = 0; i < s->workers.n; i++)
        if (s->workers.at[i]->capacity > 0 && page_wants(&p, i + 1))
            page_add(&p, c, worker_value(s, c->mem, s->workers.at[i]));
    page_end(&p, c, r);
    return 0;
}
