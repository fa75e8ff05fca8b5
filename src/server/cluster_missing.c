/* cluster_missing.c - what of a cluster was never made, and what operations do about it
 *
 * A noderole was made if a run of it was ever complete, or if it has nothing to run.  That holds
 * whatever tasks it has by now: those of an operation that only kept what never was do not count.
 *
 * An operation that leads to a cluster that serves finishes what is missing, wherever it is, beside
 * what was asked for: no other way leads there.  One that makes nothing (stop, act, remove-service,
 * shrink) does not begin to make machines: it is refused, unless what is missing goes with it.
 * docs/rfc/08-clusters.md, section 8.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "server/cluster_i.h"

enum { NAMED_MOST = 3 };

bool cluster_made(const struct server *s, uint32_t noderole)
{
    struct noderole_view nr;
    struct task_view t;
    if (!anneal_noderole(s->engine, noderole, &nr))
        return false;
    if (nr.run_count)
        return true;
    for (uint32_t i = nr.first_task; i < nr.first_task + nr.n_tasks; i++)
        if (anneal_task(s->engine, i, &t) &&
            (t.rule == RULE_RUN || t.rule == RULE_KEEP || t.rule == RULE_ONCE))
            return false;
    return true;
}

/* --- what it is --- */

static bool part_of(const struct server *s, uint32_t noderole, struct cluster_part *ret)
{
    struct noderole_view nr;
    struct operation_view op = {0};
    struct node_view node = {0};
    if (!anneal_noderole(s->engine, noderole, &nr) || !nr.node)
        return false; /* joins and callbacks are of no node: an operation's, not the cluster's */
    (void)anneal_operation(s->engine, nr.operation, &op);
    (void)anneal_node(s->engine, nr.node, &node);
    *ret = (struct cluster_part){.state = nr.state,
                                 .target = nr.target,
                                 .made = cluster_made(s, noderole),
                                 .held = op.held,
                                 .dead = node.alive == ALIVE_DEAD};
    return true;
}

typedef void part_f(void *ctx, uint32_t noderole, const struct cluster_part *p);

static void parts_each(const struct server *s, uint32_t deployment, part_f *fn, void *ctx)
{
    const struct u64map *m = &s->inv.instances;
    struct cluster_part part;
    for (size_t i = 0; i < m->n; i++) {
        if (!m->at[i].live || (uint32_t)m->at[i].key != deployment)
            continue;
        const struct id_list *of = &s->inv.lists.at[m->at[i].val];
        for (size_t k = 0; k < of->ids.n; k++)
            if (part_of(s, of->ids.at[k], &part))
                fn(ctx, of->ids.at[k], &part);
    }
}

static void part_count(void *ctx, uint32_t noderole, const struct cluster_part *p)
{
    (void)noderole;
    cluster_sum_add(ctx, p);
}

enum cluster_state cluster_state_now(const struct server *s, const struct cluster *c)
{
    struct operation_view op;
    struct cluster_sum sum = {.open = anneal_operation(s->engine, c->operation, &op) &&
                                      op.state == OPERATION_RUNNING};
    parts_each(s, c->deployment, part_count, &sum);
    return cluster_state_of(&sum);
}

struct missing_list {
    const struct server *server;
    struct arena *mem;
    struct value *names;
};

static void missing_add(void *ctx, uint32_t noderole, const struct cluster_part *p)
{
    struct missing_list *l = ctx;
    if (p->target != TARGET_ABSENT && !p->made)
        value_add(l->mem, l->names,
                  value_text(l->mem, view_noderole_name(l->server, l->mem, noderole)));
}

struct value *cluster_missing_names(const struct server *s, struct arena *mem,
                                    const struct cluster *c)
{
    struct missing_list l = {s, mem, value_list(mem)};
    parts_each(s, c->deployment, missing_add, &l);
    return l.names;
}

/* --- in an operation --- */

bool cluster_machine_missing(const struct cluster_work *w, const struct cluster_node *n)
{
    const struct server *s = w->server;
    uint32_t role = n->id ? desire_role_find(s->desire, n->machine) : 0;
    uint32_t live = role ? wish_live(s, snapshot_key(role, n->id), NULL) : 0;
    return live && !cluster_made(s, live);
}

/* What its machine lacks.  One that answered once is there, and only its bootstrap is not. */
static uint16_t machine_lacks(const struct server *s, uint32_t noderole, bool *ret_clears)
{
    struct noderole_view nr;
    struct node_view node = {0};
    struct task_view t;
    bool there = true, maybe = false;
    if (!anneal_noderole(s->engine, noderole, &nr))
        return 0;
    (void)anneal_node(s->engine, nr.node, &node);
    for (uint32_t i = nr.first_task; i < nr.first_task + nr.n_tasks; i++)
        if (anneal_task(s->engine, i, &t) && t.undone) {
            there &= t.done;
            maybe |= t.done || t.tried;
        }
    there &= node.alive != ALIVE_UNKNOWN;
    *ret_clears = maybe && !there;
    return there ? PHASE_F_BOOTSTRAP : CLUSTER_MACHINE;
}

struct found {
    uint32_t n, first; /* noderole */
    struct buf names;
};

static void found_add(struct cluster_work *w, struct found *f, uint32_t noderole)
{
    if (f->n < NAMED_MOST)
        buf_printf(&f->names, "%s%s", f->n ? ", " : "",
                   view_noderole_name(w->server, w->mem, noderole));
    if (!f->n++)
        f->first = noderole;
}

static void missing_find(struct cluster_work *w, struct found *f)
{
    for (size_t i = 0; i < w->nodes.n; i++) {
        struct work_node *n = &w->nodes.at[i];
        if (!n->was || !n->now)
            continue;
        n->missing = n->machine && !cluster_made(w->server, n->machine);
        if (n->missing)
            found_add(w, f, n->machine);
        for (size_t k = 0; k < n->cells.n; k++) {
            struct work_cell *c = &n->cells.at[k];
            c->missing = c->has && c->noderole && !cluster_made(w->server, c->noderole);
            if (c->missing)
                found_add(w, f, c->noderole);
        }
    }
}

static int refuse(struct cluster_work *w, const struct found *f, struct err *e)
{
    const struct server *s = w->server;
    const char *name = view_deployment_name(s, w->now.deployment), *retry = "";
    struct noderole_view nr;
    struct operation_view op;
    bool ended = anneal_noderole(s->engine, f->first, &nr) &&
                 anneal_operation(s->engine, nr.operation, &op) &&
                 (op.state == OPERATION_FAILED || op.state == OPERATION_CANCELLED);
    const char *more = f->n > NAMED_MOST ? arena_printf(w->mem, ", and %u more", f->n - NAMED_MOST)
                                         : "";
    if (ended)
        retry = arena_printf(w->mem, "`anneal operation %s %u` or ",
                             op.state == OPERATION_FAILED ? "retry" : "resume", nr.operation);
    err_set(e, ERR_CONFLICT, "cluster %s is incomplete: %s%s %s never made", name, f->names.data,
            more, f->n > 1 ? "were" : "was");
    return err_hint(e,
                    "%s`anneal cluster start %s` finishes it; `anneal cluster shrink` gives nodes "
                    "up, `anneal cluster delete` all of it",
                    retry, name);
}

static bool node_differs(const struct cluster_look *x, const struct cluster_node *a,
                         const struct cluster_look *y, const struct cluster_node *b)
{
    uintptr_t at;
    if (a->id != b->id || a->roles.n != b->roles.n)
        return true;
    for (size_t i = 0; i < a->roles.n; i++)
        if (!strmap_get(&y->role_by_name, x->roles.at[a->roles.at[i]].name, &at) ||
            !cluster_node_has(b, (uint32_t)at))
            return true;
    return false;
}

/* All that tasks are told of a cluster comes from these; addresses come by themselves. */
static bool wants_differ(const struct cluster_look *x, const struct cluster_look *y)
{
    bool differ = x->nodes.n != y->nodes.n ||
                  !value_equal(value_get(x->spec, "config"), value_get(y->spec, "config"));
    for (size_t i = 0; i < x->nodes.n && !differ; i++)
        differ = node_differs(x, &x->nodes.at[i], y, &y->nodes.at[i]);
    return differ;
}

/* The revision that an operation made; NULL: it made none, or nobody knows it any more. */
static const struct snapshot *revision_of(const struct server *s, uint32_t deployment, uint32_t op)
{
    for (uint32_t id = desire_end(s->desire); id-- > 1;) {
        const struct snapshot *p = desire_snapshot(s->desire, id);
        if (p && p->deployment == deployment && p->operation == op && p->root)
            return p;
    }
    return NULL;
}

bool cluster_missing_outdated(struct cluster_work *w, uint32_t noderole)
{
    struct noderole_view nr;
    struct cluster_look then;
    struct err e;
    if (!anneal_noderole(w->server->engine, noderole, &nr))
        return true;
    if (w->then_operation == nr.operation)
        return w->then_differs;
    /* Whatever changed what is wanted has taken up all that was missing, so that what was done
     * of it by then was done, or found to be done, with what its last operation wanted. */
    const struct snapshot *p = revision_of(w->server, w->was.deployment, nr.operation);
    w->then_operation = nr.operation;
    w->then_differs = true;
    if (!p)
        return true;
    if (cluster_look(&then, w->server, w->mem, w->was.catalog, w->was.deployment, p->root, &e) >= 0)
        w->then_differs = wants_differ(&then, &w->now);
    cluster_look_done(&then);
    return w->then_differs;
}

/* As if they were new: what was done of them already is found later (cells_settle()). */
static void missing_fill(struct cluster_work *w)
{
    for (size_t i = 0; i < w->nodes.n; i++) {
        struct work_node *n = &w->nodes.at[i];
        if (n->missing)
            w->work.machine[i] |= machine_lacks(w->server, n->machine, &n->clears) &
                                  w->phase_nodes[i].machine;
        for (size_t k = 0; k < n->cells.n; k++) {
            struct work_cell *c = &n->cells.at[k];
            uint32_t at = w->work.first[i] + (uint32_t)k;
            if (!c->missing)
                continue;
            c->asked = w->work.cells[at] & PHASE_F_SERVICE & (uint16_t)~w->work.pulled[at];
            w->work.cells[at] = CLUSTER_UP & w->services[c->role].actions;
            w->work.pulled[at] = 0;
        }
    }
}

int cluster_missing(struct cluster_work *w, struct err *e)
{
    struct found f = {0};
    int rc = 0;
    missing_find(w, &f);
    switch (w->ask->verb) {
    case CLUSTER_STOP:
    case CLUSTER_ACT:
    case CLUSTER_REMOVE:
    case CLUSTER_SHRINK: rc = f.n ? refuse(w, &f, e) : 0; break;
    case CLUSTER_EXPAND:
    case CLUSTER_ADD:
    case CLUSTER_CONFIGURE:
    case CLUSTER_START:
    case CLUSTER_RESTART:
    case CLUSTER_UPGRADE:
    case CLUSTER_ROLLBACK: missing_fill(w); break;
    case CLUSTER_NONE:
    case CLUSTER_CREATE:
    case CLUSTER_DELETE:
    case CLUSTER_VERB_COUNT: break;
    }
    buf_done(&f.names);
    return rc;
}

int cluster_deleted_refuses(struct cluster_work *w, struct err *e)
{
    if (!w->ask->deployment || w->ask->verb == CLUSTER_DELETE || w->was.nodes.n)
        return 0;
    const char *name = view_deployment_name(w->server, w->ask->deployment);
    cluster_look_left(&w->was);
    if (w->was.nodes.n)
        err_set(e, ERR_CONFLICT, "cluster %s was to be deleted, but for %s, which would not go",
                name, w->was.nodes.at[0].name.s);
    else
        err_set(e, ERR_CONFLICT, "cluster %s is deleted", name);
    return err_hint(e, "`anneal cluster delete %s` goes on with it", name);
}
