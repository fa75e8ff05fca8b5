/* node_leave.c - a node goes, and what is on it goes before it
 *
 * Without `cascade` a node goes only if nothing would have to be run for that: what is on it never
 * ran, or runs nothing.  With it, everything on the node is taken down by the engine, children
 * before parents, the machine last; the node is marked as leaving, so that nothing new is bound to
 * it, and goes by itself with the last of them.  On a node that is dead there is nobody to take
 * anything down: what is on it simply goes, and asking again does so for a node that died
 * meanwhile.
 *
 * Noderoles elsewhere that need something on the node are in the way and named, unless another of
 * the same role stays that they need as well: then they only lose one of their parents.
 *
 * What was wanted of the node leaves the heads of all deployments in the same group: an amendment,
 * no history.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "server/server_i.h"

enum { NAMED_MOST = 5 }; /* of what is in the way */

struct leave_loss {
    uint32_t child, parent; /* noderoles */
    uint64_t key;           /* of the parent */
};
struct leave {
    struct server *server;
    const struct server_call *call;
    uint32_t node;
    VEC(uint32_t) goers; /* everything on the node */
    VEC(uint64_t) keys;  /* of those, as desired state calls them */
    VEC(struct leave_loss) losses;
    struct plan *plan;
};

/* ---- what is in the way ---- */

static bool never_ran(const struct noderole_view *v)
{
    return v->n_tasks == 0 ||
           (v->run_count == 0 && (v->state == NODEROLE_BLOCKED || v->state == NODEROLE_TODO));
}

static void name_add(struct buf *b, uint32_t *n, const char *name)
{
    if ((*n)++ < NAMED_MOST)
        buf_printf(b, "%s%s", *n > 1 ? ", " : "", name);
}

static void name_rest(struct buf *b, uint32_t n)
{
    if (n > NAMED_MOST)
        buf_printf(b, " and %u more", n - NAMED_MOST);
}

static int check_never_ran(struct leave *l, struct err *e)
{
    struct server *s = l->server;
    SCOPED_BUF(names);
    uint32_t n = 0;
    for (size_t i = 0; i < l->goers.n; i++) {
        struct noderole_view v;
        if (anneal_noderole(s->engine, l->goers.at[i], &v) && !never_ran(&v))
            name_add(&names, &n, view_role_name(s, l->goers.at[i]));
    }
    if (n == 0)
        return 0;
    name_rest(&names, n);
    const char *name = s->inv.nodes.at[l->node].name;
    err_set(e, ERR_CONFLICT, "node %s still has %s", name, names.data);
    return err_hint(e, "`anneal node delete %s --cascade` takes down what is on it first", name);
}

/* Does it need another of that role, which stays? */
static bool needs_a_peer(const struct leave *l, uint32_t child, uint32_t parent)
{
    const struct server *s = l->server;
    struct quorum_view q = {0};
    uint32_t n, left = 0;
    const uint32_t *parents = anneal_parents(s->engine, child, &n);
    for (uint32_t i = 0; i < n; i++) {
        struct noderole_view v;
        left += s->inv.noderoles.at[parents[i]].role == s->inv.noderoles.at[parent].role &&
                anneal_noderole(s->engine, parents[i], &v) && v.node != l->node &&
                v.target != TARGET_ABSENT;
    }
    bool counts = anneal_quorum(s->engine, child, parent, &q) && !q.percent;
    return left >= (counts ? q.min : 1);
}

static int check_needed(struct leave *l, struct err *e)
{
    struct server *s = l->server;
    SCOPED_BUF(names);
    uint32_t n_named = 0;
    for (size_t i = 0; i < l->goers.n; i++) {
        uint32_t n, parent = l->goers.at[i];
        const uint32_t *children = anneal_children(s->engine, parent, &n);
        for (uint32_t k = 0; k < n; k++) {
            struct noderole_view v;
            if (!anneal_noderole(s->engine, children[k], &v) || v.node == l->node ||
                v.target == TARGET_ABSENT)
                continue;
            if (needs_a_peer(l, children[k], parent))
                vec_push(&l->losses, ((struct leave_loss){children[k], parent, l->keys.at[i]}));
            else
                name_add(&names, &n_named, view_noderole_name(s, l->call->mem, children[k]));
        }
    }
    if (n_named == 0)
        return 0;
    name_rest(&names, n_named);
    err_set(e, ERR_CONFLICT, "%s need what is on node %s", names.data,
            s->inv.nodes.at[l->node].name);
    return err_hint(e, "unbind them first, or bind what they need elsewhere");
}

/* ---- the plan ---- */

static int by_child(const void *x, const void *y)
{
    const struct leave_loss *a = x, *b = y;
    return (a->child > b->child) - (a->child < b->child);
}

/* One change for each child that loses parents, among those of the noderoles that go. */
static void losses_add(struct leave *l)
{
    struct plan *p = l->plan;
    struct plan_change *all = arena_new(&p->mem, struct plan_change, p->n_changes + l->losses.n);
    if (l->losses.n == 0)
        return;
    if (p->n_changes)
        memcpy(all, p->changes, p->n_changes * sizeof *all);
    qsort(l->losses.at, l->losses.n, sizeof *l->losses.at, by_child);
    for (size_t i = 0, end; i < l->losses.n; i = end) {
        uint32_t *ids = arena_new(&p->mem, uint32_t, l->losses.n);
        for (end = i; end < l->losses.n && l->losses.at[end].child == l->losses.at[i].child; end++)
            ids[end - i] = l->losses.at[end].parent;
        all[p->n_changes++] = (struct plan_change){.noderole = l->losses.at[i].child,
                                                   .what = PLAN_C_PARENTS,
                                                   .user = str_of(""),
                                                   .losses = ids,
                                                   .n_losses = (uint32_t)(end - i)};
    }
    p->changes = all;
    plan_changes_sort(p);
}

static int leave_plan(struct leave *l, struct err *e)
{
    struct server *s = l->server;
    struct node_view node = {0};
    struct world world;
    struct revise_change *changed = arena_new(l->call->mem, struct revise_change, l->goers.n + 1);
    (void)anneal_node(s->engine, l->node, &node);
    for (size_t i = 0; i < l->goers.n; i++) {
        struct noderole_view v = {0};
        (void)anneal_noderole(s->engine, l->goers.at[i], &v);
        changed[i] = (struct revise_change){.noderole = l->goers.at[i],
                                            .removed = true,
                                            .bare = node.alive == ALIVE_DEAD || never_ran(&v)};
    }
    struct revise_request req = {
        .deployment = 1, .changed = changed, .n_changed = (uint32_t)l->goers.n};
    struct planner_world view = world_of(&world, s);
    int rc = planner_revise(s->catalog ? s->catalog : s->builtin, &view, &req, &l->plan, e);
    world_done(&world);
    if (rc >= 0)
        losses_add(l);
    return rc;
}

static int wish_less(struct leave *l, const struct desire_author *by, struct err *e)
{
    struct server *s = l->server;
    int rc = 0;
    desire_hold(s->desire);
    for (size_t i = 0; i < l->losses.n && rc >= 0; i++)
        rc = wish_one_parent_less(s, l->call, by, l->losses.at[i].child, l->losses.at[i].key, e);
    for (size_t i = 0; i < l->goers.n && rc >= 0; i++)
        rc = desire_amend(s->desire, s->inv.noderoles.at[l->goers.at[i]].deployment, by,
                          snapshot_key_role(l->keys.at[i]), snapshot_key_node(l->keys.at[i]), NULL,
                          e);
    desire_release(s->desire);
    return rc;
}

/* ---- going ---- */

static int node_drop(struct server *s, const struct server_call *c, uint32_t id, struct err *e)
{
    struct event ev = {.kind = EVENT_NODE_GONE, .id = id};
    struct commit_note note = server_note(c, NULL);
    SCOPED_ARENA(mem);
    if (hook_watched(s, HOOK_ON_NODE_DELETE))
        hook_node(s, HOOK_ON_NODE_DELETE, id, NULL, view_node(s, &mem, id));
    int rc = server_apply(s, &ev, &note, NULL, e);
    if (rc < 0)
        return rc;
    for (size_t i = 0; i < s->leaving.n; i++)
        if (s->leaving.at[i] == id)
            s->leaving.at[i--] = s->leaving.at[--s->leaving.n];
    inventory_drop_node(&s->inv, id);
    return 0;
}

/* An attempt that was superseded may still run there. */
static bool is_empty(const struct server *s, uint32_t id)
{
    struct node_view v = {0};
    return !anneal_node_first_noderole(s->engine, id) &&
           (!anneal_node(s->engine, id, &v) || v.used == 0);
}

void node_leave_settle(struct server *s)
{
    for (size_t i = s->leaving.n; i-- > 0;) {
        uint32_t id = s->leaving.at[i];
        struct err e;
        if (is_empty(s, id) && node_drop(s, NULL, id, &e) < 0)
            log_line(LOG_WARN, "node.leave", LOGT("node", s->inv.nodes.at[id].name),
                     LOGT("error", e.text));
    }
}

void node_leave_load(struct server *s)
{
    vec_clear(&s->leaving);
    for (uint32_t id = 1; id < s->inv.nodes.n; id++)
        if (s->inv.nodes.at[id].leaving && !s->inv.nodes.at[id].gone)
            vec_push(&s->leaving, id);
}

static int leave_apply(struct leave *l, struct server_reply *r, struct err *e)
{
    struct server *s = l->server;
    const struct server_call *c = l->call;
    bool tasks = l->plan->n_tasks > 0;
    const char *title = arena_printf(c->mem, "delete %s", s->inv.nodes.at[l->node].name);
    struct desire_author by = wish_author(s, c, title);
    uint32_t op;
    struct face_work work = {tasks ? "delete" : NULL, title, CLASS_NORMAL, 0, 0, NULL};
    int rc = face_plan_apply(s, c, l->plan, &work, &op, e);
    if (rc < 0 || (rc = wish_less(l, &by, e)) < 0)
        return rc;
    if (s->inv.nodes.at[l->node].gone)
        return 0; /* it was leaving already, and went with what was applied */
    if (is_empty(s, l->node))
        return node_drop(s, c, l->node, e);
    if (!s->inv.nodes.at[l->node].leaving)
        vec_push(&s->leaving, l->node);
    node_body_leave(s, c, l->node, op);
    r->body = view_operation(s, c->mem, op);
    r->accepted = true;
    return 0;
}

int server_node_delete(struct server *s, const struct server_call *c, struct server_reply *r,
                       struct err *e)
{
    struct leave l = {.server = s, .call = c, .node = inventory_node_find(&s->inv, c->id[0])};
    bool cascade = strcmp(value_as_text(value_get(c->query, "cascade"), "false"), "true") == 0;
    int rc = server_writable(s, e);
    if (rc < 0)
        return rc;
    if (!l.node)
        return face_not_found(e, "node", c->id[0]);
    if ((rc = face_match(c, s->inv.nodes.at[l.node].rev, "node", c->id[0], e)) < 0)
        return rc;
    for (uint32_t id = anneal_node_first_noderole(s->engine, l.node); id;
         id = anneal_node_next_noderole(s->engine, id)) {
        vec_push(&l.goers, id);
        vec_push(&l.keys, wish_key(s, id)); /* before those who have them vanish */
    }
    if (l.goers.n == 0 && is_empty(s, l.node))
        rc = node_drop(s, c, l.node, e);
    else if ((cascade || (rc = check_never_ran(&l, e)) >= 0) && (rc = check_needed(&l, e)) >= 0 &&
             (rc = leave_plan(&l, e)) >= 0)
        rc = leave_apply(&l, r, e);
    if (rc >= 0)
        r->group = commit_open_group(s->commit);
    vec_done(&l.goers);
    vec_done(&l.keys);
    vec_done(&l.losses);
    plan_free(l.plan);
    return rc;
}
