/* face_listwork.c - lists of noderoles, tasks and attempts: what there may be millions of
 *
 * A filter by node, role, deployment, noderole or operation is answered from the noderoles it
 * names, never by looking at every task.  Where the engine keeps the count, the walk ends with the
 * page.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "base/sort.h"
#include "server/server_i.h"

static void collect_node(const struct server *s, uint32_t node, struct id_list *l)
{
    for (uint32_t r = anneal_node_first_noderole(s->engine, node); r;
         r = anneal_node_next_noderole(s->engine, r))
        vec_push(&l->ids, r);
    sort_u32(l->ids.at, l->ids.n);
}

/* Instances of a role, of a deployment or of both; 0: any. */
static void collect_instances(const struct server *s, uint32_t role, uint32_t deployment,
                              struct id_list *l)
{
    const struct u64map *m = &s->inv.instances;
    for (size_t i = 0; i < m->n; i++) {
        if (!m->at[i].live || (role && m->at[i].key >> 32 != role) ||
            (deployment && (uint32_t)m->at[i].key != deployment))
            continue;
        const struct id_list *of = &s->inv.lists.at[m->at[i].val];
        for (size_t k = 0; k < of->ids.n; k++)
            vec_push(&l->ids, of->ids.at[k]);
    }
    sort_u32(l->ids.at, l->ids.n);
}

static int node_asked(const struct server *s, const struct server_call *c, uint32_t *ret_id,
                      struct err *e)
{
    const char *name = value_as_text(value_get(c->query, "node"), NULL);
    return name ? face_filter_node(s, name, ret_id, e) : 0;
}

/* ---- noderoles ---- */

struct noderole_filter {
    int state;
    uint32_t role, node, deployment;
    bool nobody; /* the role exists and is bound nowhere */
};

/* A role that is bound somewhere has a number; one that only the catalog knows has no instance. */
static int role_asked(const struct server *s, const char *name, struct noderole_filter *f,
                      struct err *e)
{
    uintptr_t id;
    if (strmap_get(&s->inv.role_by_name, str_of(name), &id)) {
        f->role = (uint32_t)id;
        return 0;
    }
    f->nobody = true;
    if (s->catalog && catalog_role_get(s->catalog, str_of(name)))
        return 0;
    const char *near = s->catalog ? catalog_role_nearest(s->catalog, str_of(name)) : NULL;
    err_set(e, ERR_INVALID, "there is no role %s", name);
    if (near)
        err_hint(e, "did you mean \"%s\"?", near);
    else
        err_hint(e, "`anneal role list` shows the roles there are");
    return err_at(e, "?role");
}

static int noderole_filter_read(const struct server *s, const struct server_call *c,
                                struct noderole_filter *f, struct err *e)
{
    const char *state = value_as_text(value_get(c->query, "state"), NULL);
    const char *role = value_as_text(value_get(c->query, "role"), NULL);
    const char *deployment = value_as_text(value_get(c->query, "deployment"), NULL);
    int r = 0;
    *f = (struct noderole_filter){.state = state ? noderole_state_find(state) : -1};
    if (role)
        r = role_asked(s, role, f, e);
    if (r >= 0 && deployment)
        r = face_filter_deployment(s, deployment, &f->deployment, e);
    return r < 0 ? r : node_asked(s, c, &f->node, e);
}

static bool noderole_passes(const struct server *s, const struct noderole_filter *f, uint32_t id)
{
    struct noderole_view v;
    if (id >= s->inv.noderoles.n || !anneal_noderole(s->engine, id, &v))
        return false;
    const struct inv_noderole *n = &s->inv.noderoles.at[id];
    /* What has been removed is history: shown when it is asked for. */
    return n->role && (f->state < 0 ? v.state != NODEROLE_REMOVED : v.state == f->state) &&
           (!f->role || n->role == f->role) && (!f->node || v.node == f->node) &&
           (!f->deployment || n->deployment == f->deployment);
}

static void noderole_offer(struct server *s, const struct server_call *c,
                           const struct noderole_filter *f, struct page *p, uint32_t id)
{
    if (noderole_passes(s, f, id) && page_wants(p, id))
        page_add(p, c, view_noderole(s, c->mem, id, false));
}

static uint64_t noderole_total(const struct server *s, int state)
{
    uint64_t noderoles[NODEROLE_STATE_COUNT], tasks[TASK_STATE_COUNT], n = 0;
    anneal_totals(s->engine, noderoles, tasks);
    for (int i = 0; i < NODEROLE_STATE_COUNT; i++)
        if (state < 0 ? i != NODEROLE_REMOVED : i == state)
            n += noderoles[i];
    return n;
}

int server_noderole_list(struct server *s, const struct server_call *c, struct server_reply *r,
                         struct err *e)
{
    struct noderole_filter f;
    struct page p;
    struct id_list l = {0};
    int rc = page_begin(&p, c, e);
    if (rc >= 0)
        rc = noderole_filter_read(s, c, &f, e);
    if (rc < 0)
        return rc;
    bool all = !f.node && !f.role && !f.deployment && !f.nobody;
    if (f.node)
        collect_node(s, f.node, &l);
    else if (!all && !f.nobody)
        collect_instances(s, f.role, f.deployment, &l);
    for (size_t i = 0; i < l.ids.n && !f.nobody; i++)
        noderole_offer(s, c, &f, &p, l.ids.at[i]);
    if (all) {
        uint64_t total = noderole_total(s, f.state), end = anneal_noderole_end(s->engine);
        for (uint64_t id = p.after + 1; total && id < end && !p.more; id++)
            noderole_offer(s, c, &f, &p, (uint32_t)id);
        p.total = total;
    }
    vec_done(&l.ids);
    page_end(&p, c, r);
    return 0;
}

/* ---- tasks ---- */

struct task_filter {
    int state;
    uint32_t node, operation, noderole;
};

static int id_asked(const struct server_call *c, const char *key, uint32_t *ret_id, struct err *e)
{
    const char *text = value_as_text(value_get(c->query, key), NULL);
    int r = text ? face_u32(text, key, ret_id, e) : 0;
    if (r >= 0)
        return 0;
    e->code = ERR_INVALID;
    return err_at(e, "?%s", key);
}

static int task_filter_read(const struct server *s, const struct server_call *c,
                            struct task_filter *f, struct err *e)
{
    const char *state = value_as_text(value_get(c->query, "state"), NULL);
    struct operation_view op;
    struct noderole_view nr;
    *f = (struct task_filter){.state = state ? task_state_find(state) : -1};
    int r = node_asked(s, c, &f->node, e);
    if (r < 0 || (r = id_asked(c, "operation", &f->operation, e)) < 0 ||
        (r = id_asked(c, "noderole", &f->noderole, e)) < 0)
        return r;
    if (f->operation && !anneal_operation(s->engine, f->operation, &op)) {
        err_set(e, ERR_INVALID, "there is no operation %u", f->operation);
        return err_at(e, "?operation");
    }
    if (f->noderole && !anneal_noderole(s->engine, f->noderole, &nr)) {
        err_set(e, ERR_INVALID, "there is no noderole %u", f->noderole);
        return err_at(e, "?noderole");
    }
    return 0;
}

struct task_run { /* the tasks of one noderole */
    uint32_t first, n;
};
struct task_runs {
    VEC(struct task_run) at;
};

static int by_first(const void *x, const void *y)
{
    const struct task_run *a = x, *b = y;
    return (a->first > b->first) - (a->first < b->first);
}

static void run_add(const struct server *s, const struct task_filter *f, struct task_runs *l,
                    uint32_t noderole)
{
    struct noderole_view v;
    if (anneal_noderole(s->engine, noderole, &v) && (!f->node || v.node == f->node) &&
        (!f->operation || v.operation == f->operation))
        vec_push(&l->at, ((struct task_run){v.first_task, v.n_tasks}));
}

static void runs_collect(const struct server *s, const struct task_filter *f, struct task_runs *l)
{
    if (f->noderole) {
        run_add(s, f, l, f->noderole);
    } else if (f->node) {
        for (uint32_t r = anneal_node_first_noderole(s->engine, f->node); r;
             r = anneal_node_next_noderole(s->engine, r))
            run_add(s, f, l, r);
    } else {
        for (uint32_t r = 1; r < anneal_noderole_end(s->engine); r++)
            run_add(s, f, l, r);
    }
    if (l->at.n > 1)
        qsort(l->at.at, l->at.n, sizeof *l->at.at, by_first);
}

/* How many there are, if the engine keeps count of just those; else false. */
static bool task_total(const struct server *s, const struct task_filter *f, uint64_t *ret_n)
{
    uint64_t noderoles[NODEROLE_STATE_COUNT], tasks[TASK_STATE_COUNT];
    struct operation_view op;
    if (f->node || f->noderole)
        return false;
    anneal_totals(s->engine, noderoles, tasks);
    if (f->operation) {
        (void)anneal_operation(s->engine, f->operation, &op);
        for (int i = 0; i < TASK_STATE_COUNT; i++)
            tasks[i] = op.counts[i];
    }
    *ret_n = 0;
    for (int i = 0; i < TASK_STATE_COUNT; i++)
        if (f->state < 0 || i == f->state)
            *ret_n += tasks[i];
    return true;
}

static void task_offer(struct server *s, const struct server_call *c, const struct task_filter *f,
                       struct page *p, uint32_t id)
{
    struct task_view v;
    /* What was replaced is nobody's any more: history, by its number. */
    if (anneal_task(s->engine, id, &v) && v.noderole && (f->state < 0 || v.state == f->state) &&
        page_wants(p, id))
        page_add(p, c, view_task(s, c->mem, id, false));
}

int server_task_list(struct server *s, const struct server_call *c, struct server_reply *r,
                     struct err *e)
{
    struct task_filter f;
    struct task_runs l = {0};
    struct page p;
    uint64_t total = 0;
    int rc = page_begin(&p, c, e);
    if (rc >= 0)
        rc = task_filter_read(s, c, &f, e);
    if (rc < 0)
        return rc;
    bool counted = task_total(s, &f, &total);
    if (!counted || (f.operation && total))
        runs_collect(s, &f, &l);
    else if (total)
        vec_push(&l.at, ((struct task_run){1, anneal_task_end(s->engine) - 1}));
    for (size_t i = 0; i < l.at.n && !(counted && p.more); i++) {
        uint64_t id = l.at.at[i].first, end = id + l.at.at[i].n;
        if (counted && id <= p.after)
            id = p.after + 1;
        for (; id < end && !(counted && p.more); id++)
            task_offer(s, c, &f, &p, (uint32_t)id);
    }
    if (counted)
        p.total = total;
    vec_done(&l.at);
    page_end(&p, c, r);
    return 0;
}

/* ---- attempts ---- */

struct attempt_list {
    struct server *server;
    const struct server_call *call;
    struct page *page;
};

static int attempt_offer(void *arg, enum row_table t, const void *row, struct err *e)
{
    struct attempt_list *l = arg;
    const struct row_attempt *r = row;
    (void)t;
    (void)e;
    if (page_wants(l->page, r->number))
        page_add(l->page, l->call, view_attempt(l->server, l->call->mem, r));
    return 0;
}

int server_task_attempts(struct server *s, const struct server_call *c, struct server_reply *r,
                         struct err *e)
{
    struct task_view v;
    struct page p;
    uint32_t id;
    int rc = face_u32(c->id[0], "task", &id, e);
    if (rc >= 0 && !anneal_task(s->engine, id, &v))
        rc = face_not_found(e, "task", c->id[0]);
    if (rc < 0 || (rc = page_begin(&p, c, e)) < 0)
        return rc;
    struct attempt_list l = {s, c, &p};
    rc = attempt_history_each(s, id, attempt_offer, &l, e);
    if (rc < 0)
        return rc;
    page_end(&p, c, r);
    return 0;
}
