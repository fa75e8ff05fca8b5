/* wish.c - what is wanted, as seen by requests: noted when they act at once, listed as history
 *
 * A request that binds or configures at once makes history like one that was proposed: a new head
 * with what it added.  The names of the two worlds meet here: desired state calls a noderole by
 * role and node, the engine by its id.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "base/json.h"
#include "server/server_i.h"

/* Role and node of a noderole that lives, as desired state calls it. */
static uint64_t key_of(struct server *s, uint32_t noderole)
{
    struct noderole_view v = {0};
    (void)anneal_noderole(s->engine, noderole, &v);
    return snapshot_key(desire_role(s->desire, str_of(view_role_name(s, noderole))), v.node);
}

static int by_key(const void *x, const void *y)
{
    const uint64_t *p = x, *q = y;
    return (*p > *q) - (*p < *q);
}

static struct desire_author author_of(const struct server *s, const struct server_call *c,
                                      const char *message)
{
    return (struct desire_author){.name = str_of(c->who->name),
                                  .message = str_of(message),
                                  .wall_ms = server_wall_ms(),
                                  .catalog = s->catalog ? s->catalog->number : 0};
}

static int entry_amend(struct server *s, const struct desire_author *by, uint32_t noderole,
                       const struct snapshot_entry *t, struct err *e)
{
    uint64_t key = key_of(s, noderole);
    return desire_amend(s->desire, s->inv.noderoles.at[noderole].deployment, by,
                        snapshot_key_role(key), snapshot_key_node(key), t, e);
}

static int new_entry(struct server *s, const struct server_call *c, const struct desire_author *by,
                     const struct plan *p, uint32_t i, bool requested, struct err *e)
{
    const struct plan_noderole *r = &p->noderoles[i];
    uint64_t *parents = arena_new(c->mem, uint64_t, r->n_parents);
    struct snapshot_entry t = {.flags = requested ? SNAPSHOT_F_REQUESTED : 0,
                               .parents = parents,
                               .n_parents = r->n_parents};
    for (uint32_t k = 0; k < r->n_parents; k++)
        parents[k] = key_of(s, r->parents[k]);
    if (r->n_parents)
        qsort(parents, r->n_parents, sizeof *parents, by_key);
    int rc = desire_doc(s->desire, r->user, &t.user, e);
    return rc < 0 ? rc : entry_amend(s, by, p->base_noderole + i, &t, e);
}

/* A noderole that lives has one parent more: a peer that joined what it needs. */
static int one_more_parent(struct server *s, const struct server_call *c,
                           const struct desire_author *by, const struct plan_need *need,
                           struct err *e)
{
    const struct snapshot *head = desire_head(s->desire,
                                              s->inv.noderoles.at[need->child].deployment);
    struct snapshot_entry t = {0};
    int rc = head ? snapshot_find_key(c->mem, head->root, key_of(s, need->child), &t, e) : 0;
    if (rc <= 0)
        return rc;
    uint64_t *parents = arena_new(c->mem, uint64_t, t.n_parents + 1);
    for (uint32_t i = 0; i < t.n_parents; i++)
        parents[i] = t.parents[i];
    parents[t.n_parents++] = key_of(s, need->parent);
    qsort(parents, t.n_parents, sizeof *parents, by_key);
    t.parents = parents;
    return entry_amend(s, by, need->child, &t, e);
}

/* Noting must not fail once a plan is applied: what could is looked at before. */
int wish_check(const struct server *s, uint32_t deployment, const struct plan *p, struct err *e)
{
    const struct snapshot *head = desire_head(s->desire, deployment);
    if ((head ? pmap_count(head->root) : 0) + p->n_noderoles > SNAPSHOT_ENTRIES_MAX)
        return err_set(e, ERR_LIMIT, "a deployment holds at most %d noderoles",
                       SNAPSHOT_ENTRIES_MAX);
    for (uint32_t i = 0; i < p->n_noderoles; i++) {
        if (p->noderoles[i].n_parents > SNAPSHOT_PARENTS_MAX)
            return err_set(e, ERR_LIMIT, "%.*s would need %u others; at most %d are possible",
                           (int)p->noderoles[i].role.n, p->noderoles[i].role.s,
                           p->noderoles[i].n_parents, SNAPSHOT_PARENTS_MAX);
        int rc = wish_check_data(p->noderoles[i].user, e);
        if (rc < 0)
            return rc;
    }
    return 0;
}

int wish_check_data(struct str user, struct err *e)
{
    if (user.n <= DESIRE_DOC_BYTES)
        return 0;
    err_set(e, ERR_LIMIT, "data of %zu bytes for one noderole; at most %d are kept", user.n,
            DESIRE_DOC_BYTES);
    return err_hint(e, "keep what is large in files that a task fetches");
}

int wish_bound(struct server *s, const struct server_call *c, const struct bind_request *req,
               const struct plan *p, const char *title, uint32_t op, struct err *e)
{
    struct desire_author by = author_of(s, c, title);
    struct u64map requested = {0};
    int rc = 0;
    if (p->n_noderoles == 0)
        return 0;
    for (uint32_t i = 0; i < req->n_items; i++)
        u64map_put(&requested,
                   snapshot_key(desire_role(s->desire, req->items[i].role), req->items[i].node), 1);
    desire_hold(s->desire);
    desire_advance(s->desire, req->deployment, &by, op);
    for (uint32_t i = 0; i < p->n_noderoles && rc >= 0; i++)
        rc = new_entry(s, c, &by, p, i,
                       u64map_get(&requested, key_of(s, p->base_noderole + i), NULL), e);
    for (uint32_t i = 0; i < p->n_needs && rc >= 0; i++)
        rc = one_more_parent(s, c, &by, &p->needs[i], e);
    desire_release(s->desire);
    u64map_done(&requested);
    return rc;
}

int wish_configured(struct server *s, const struct server_call *c, uint32_t noderole,
                    struct str user, uint32_t op, struct err *e)
{
    uint32_t deployment = s->inv.noderoles.at[noderole].deployment;
    const char *title = arena_printf(c->mem, "configure %s",
                                     view_noderole_name(s, c->mem, noderole));
    struct desire_author by = author_of(s, c, title);
    const struct snapshot *head = desire_head(s->desire, deployment);
    struct snapshot_entry t = {0};
    int rc = head ? snapshot_find_key(c->mem, head->root, key_of(s, noderole), &t, e) : 0;
    uint64_t was = t.user;
    if (rc <= 0 || (rc = desire_doc(s->desire, user, &t.user, e)) < 0 || t.user == was)
        return rc < 0 ? rc : 0;
    desire_hold(s->desire);
    desire_advance(s->desire, deployment, &by, op);
    rc = entry_amend(s, &by, noderole, &t, e);
    desire_release(s->desire);
    return rc < 0 ? rc : 0;
}

static struct value *view_snapshot(struct server *s, struct arena *a, const struct snapshot *p)
{
    struct value *v = value_map(a);
    value_put_int(a, v, "id", p->id);
    value_put_text(a, v, "deployment", s->inv.deployments.at[p->deployment].name);
    value_put_int(a, v, "number", p->number);
    value_put_text(a, v, "state", snapshot_state_name(p->state));
    value_set(a, v, "author", value_str(a, p->author));
    value_set(a, v, "message", value_str(a, p->message));
    value_put_int(a, v, "catalog", p->catalog);
    value_set(a, v, "operation", p->operation ? value_int(a, p->operation) : value_null(a));
    value_put_int(a, v, "entries", (int64_t)pmap_count(p->root));
    value_put_text(a, v, "created_at", view_time(a, p->created_ms));
    value_put_text(a, v, "ended_at", view_time(a, p->ended_ms));
    return v;
}

int server_deployment_snapshots(struct server *s, const struct server_call *c,
                                struct server_reply *r, struct err *e)
{
    uint32_t id = inventory_deployment_find(&s->inv, c->id[0]);
    struct page p;
    int rc;
    if (!id)
        return face_not_found_near(e, "deployment", c->id[0], &s->inv.deployment_by_name);
    if ((rc = page_begin(&p, c, e)) < 0)
        return rc;
    for (uint32_t i = 1; i < desire_end(s->desire); i++) {
        const struct snapshot *snapshot = desire_snapshot(s->desire, i);
        if (snapshot && snapshot->deployment == id && page_wants(&p, i))
            page_add(&p, c, view_snapshot(s, c->mem, snapshot));
    }
    page_end(&p, c, r);
    return 0;
}
