/* wish.c - what is wanted, as seen by requests that act at once: noted as history
 *
 * A request that binds or configures at once makes history like one that was proposed: a new head
 * with what it added.  The names of the two worlds meet here: desired state calls a noderole by
 * role and node, the engine by its id.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json.h"
#include "base/sort.h"
#include "server/server_i.h"

uint64_t wish_key(struct server *s, uint32_t noderole)
{
    struct noderole_view v = {0};
    (void)anneal_noderole(s->engine, noderole, &v);
    return snapshot_key(desire_role(s->desire, str_of(view_role_name(s, noderole))), v.node);
}

uint32_t wish_live(const struct server *s, uint64_t key, uint32_t *ret_going)
{
    struct str name = desire_role_name(s->desire, snapshot_key_role(key));
    uint32_t going = 0, stays = 0;
    uintptr_t role;
    if (strmap_get(&s->inv.role_by_name, name, &role))
        for (uint32_t id = anneal_node_first_noderole(s->engine, snapshot_key_node(key));
             id && !stays; id = anneal_node_next_noderole(s->engine, id)) {
            struct noderole_view v;
            if (s->inv.noderoles.at[id].role != role || !anneal_noderole(s->engine, id, &v))
                continue;
            *(v.target == TARGET_ABSENT ? &going : &stays) = id;
        }
    if (ret_going)
        *ret_going = going;
    return stays;
}

const struct value *wish_document(const struct server *s, struct arena *mem, uint64_t document)
{
    return document ? view_json(mem, desire_doc_text(s->desire, document).s) : NULL;
}

struct desire_author wish_author(const struct server *s, const struct server_call *c,
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
    uint64_t key = wish_key(s, noderole);
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
        parents[k] = wish_key(s, r->parents[k]);
    sort_u64(parents, r->n_parents);
    int rc = desire_doc(s->desire, r->user, &t.user, e);
    return rc < 0 ? rc : entry_amend(s, by, p->base_noderole + i, &t, e);
}

/* A noderole that lives has one parent more: a peer that joined what it needs. */
int wish_one_more_parent(struct server *s, const struct server_call *c,
                         const struct desire_author *by, const struct plan_need *need,
                         struct err *e)
{
    const struct snapshot *head = desire_head(s->desire,
                                              s->inv.noderoles.at[need->child].deployment);
    struct snapshot_entry t = {0};
    int rc = head ? snapshot_find_key(c->mem, head->root, wish_key(s, need->child), &t, e) : 0;
    if (rc <= 0)
        return rc;
    uint64_t *parents = arena_new(c->mem, uint64_t, t.n_parents + 1);
    for (uint32_t i = 0; i < t.n_parents; i++)
        parents[i] = t.parents[i];
    parents[t.n_parents++] = wish_key(s, need->parent);
    sort_u64(parents, t.n_parents);
    t.parents = parents;
    return entry_amend(s, by, need->child, &t, e);
}

/* Binding may have found more of a cluster than the entry knew. */
int wish_settle_parents(struct server *s, const struct server_call *c,
                        const struct desire_author *by, uint32_t noderole, struct err *e)
{
    const struct snapshot *head = desire_head(s->desire, s->inv.noderoles.at[noderole].deployment);
    struct snapshot_entry t = {0};
    uint32_t n = anneal_needs(s->engine, noderole, NULL, 0);
    int rc = head ? snapshot_find_key(c->mem, head->root, wish_key(s, noderole), &t, e) : 0;
    if (rc <= 0 || t.n_parents == n)
        return rc;
    uint32_t *ids = arena_new(c->mem, uint32_t, n);
    uint64_t *parents = arena_new(c->mem, uint64_t, n);
    (void)anneal_needs(s->engine, noderole, ids, n);
    for (uint32_t i = 0; i < n; i++)
        parents[i] = wish_key(s, ids[i]);
    sort_u64(parents, n);
    t.parents = parents;
    t.n_parents = n;
    t.used = NULL;
    return entry_amend(s, by, noderole, &t, e);
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

/* Entries of the head for what a plan brought; rows are told together by the caller. */
static int note_plan(struct server *s, const struct server_call *c, const struct bind_request *req,
                     const struct plan *p, const struct desire_author *by, struct err *e)
{
    struct u64map requested = {0};
    int rc = 0;
    for (uint32_t i = 0; i < req->n_items; i++)
        u64map_put(&requested,
                   snapshot_key(desire_role(s->desire, req->items[i].role), req->items[i].node), 1);
    for (uint32_t i = 0; i < p->n_noderoles && rc >= 0; i++)
        rc = new_entry(s, c, by, p, i,
                       u64map_get(&requested, wish_key(s, p->base_noderole + i), NULL), e);
    for (uint32_t i = 0; i < p->n_needs && rc >= 0; i++)
        rc = wish_one_more_parent(s, c, by, &p->needs[i], e);
    u64map_done(&requested);
    return rc;
}

int wish_bound(struct server *s, const struct server_call *c, const struct bind_request *req,
               const struct plan *p, const char *title, uint32_t op, struct err *e)
{
    struct desire_author by = wish_author(s, c, title);
    if (p->n_noderoles == 0)
        return 0;
    desire_hold(s->desire);
    desire_advance(s->desire, req->deployment, &by, op);
    int rc = note_plan(s, c, req, p, &by, e);
    desire_release(s->desire);
    return rc;
}

int wish_amended(struct server *s, const struct server_call *c, const struct bind_request *req,
                 const struct plan *p, const char *title, struct err *e)
{
    struct desire_author by = wish_author(s, c, title);
    desire_hold(s->desire);
    int rc = note_plan(s, c, req, p, &by, e);
    desire_release(s->desire);
    return rc;
}

int wish_one_parent_less(struct server *s, const struct server_call *c,
                         const struct desire_author *by, uint32_t noderole, uint64_t parent,
                         struct err *e)
{
    const struct snapshot *head = desire_head(s->desire, s->inv.noderoles.at[noderole].deployment);
    struct snapshot_entry t = {0};
    int rc = head ? snapshot_find_key(c->mem, head->root, wish_key(s, noderole), &t, e) : 0;
    if (rc <= 0)
        return rc;
    uint64_t *parents = arena_new(c->mem, uint64_t, t.n_parents);
    uint8_t *used = arena_new(c->mem, uint8_t, t.n_parents / 8 + 1);
    uint32_t n = 0;
    for (uint32_t i = 0; i < t.n_parents; i++) {
        if (t.parents[i] == parent)
            continue;
        if (snapshot_parent_is_used(&t, i))
            used[n / 8] |= (uint8_t)(1u << n % 8);
        parents[n++] = t.parents[i];
    }
    t.parents = parents;
    t.n_parents = n;
    t.used = t.used ? used : NULL;
    return entry_amend(s, by, noderole, &t, e);
}

int wish_configured(struct server *s, const struct server_call *c, uint32_t noderole,
                    struct str user, uint32_t op, struct err *e)
{
    uint32_t deployment = s->inv.noderoles.at[noderole].deployment;
    const char *title = arena_printf(c->mem, "configure %s",
                                     view_noderole_name(s, c->mem, noderole));
    struct desire_author by = wish_author(s, c, title);
    const struct snapshot *head = desire_head(s->desire, deployment);
    struct snapshot_entry t = {0};
    int rc = head ? snapshot_find_key(c->mem, head->root, wish_key(s, noderole), &t, e) : 0;
    uint64_t was = t.user;
    if (rc <= 0 || (rc = desire_doc(s->desire, user, &t.user, e)) < 0 || t.user == was)
        return rc < 0 ? rc : 0;
    desire_hold(s->desire);
    desire_advance(s->desire, deployment, &by, op);
    rc = entry_amend(s, &by, noderole, &t, e);
    desire_release(s->desire);
    return rc < 0 ? rc : 0;
}
