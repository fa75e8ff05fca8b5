/* revision.c - a difference of two maps becomes one plan
 *
 * Maps call a noderole by role and node; who answers to that now is looked up here.  One that is
 * wanted again while it is on its way out comes back as itself.  Where the catalog differs from the
 * one that the head was brought to, everything that stays is looked at: the planner leaves out what
 * comes to nothing.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "server/revision.h"

#include <stdlib.h>
#include <string.h>

#include "base/json.h"

struct making {
    struct revision *r;
    struct err *e;
    VEC(struct revise_entry) added;
    VEC(struct revise_change) changed;
    struct u64map added_by_key; /* -> index */
    struct u64map changed_by_id;
    const struct pmap *now;
    bool renew;
};

static const char *key_name(const struct revision *r, uint64_t key)
{
    struct str role = desire_role_name(r->server->desire, snapshot_key_role(key));
    const char *node = view_node_name(r->server, snapshot_key_node(key));
    return arena_printf(r->mem, "%.*s@%s", (int)role.n, role.s, node ? node : "?");
}

static struct revise_change *change_for(struct making *m, uint32_t id)
{
    uintptr_t at;
    if (!u64map_get(&m->changed_by_id, id, &at)) {
        at = m->changed.n;
        u64map_put(&m->changed_by_id, id, at);
        vec_push(&m->changed, ((struct revise_change){.noderole = id, .keep = !m->renew}));
    }
    return &m->changed.at[at];
}

/* --- parents --- */

static int parent_ref(struct making *m, uint64_t child, uint64_t parent, uint32_t *ret)
{
    uintptr_t i;
    uint32_t going = 0;
    if (u64map_get(&m->added_by_key, parent, &i)) {
        *ret = PLAN_NEW | (uint32_t)i;
        return 0;
    }
    *ret = wish_live(m->r->server, parent, &going);
    if (!*ret && going && u64map_get(&m->changed_by_id, going, &i) && m->changed.at[i].back)
        *ret = going;
    if (*ret)
        return 0;
    err_set(m->e, ERR_REFUSED, "%s needs %s, which is %s", key_name(m->r, child),
            key_name(m->r, parent), going ? "being removed" : "not bound");
    return err_hint(m->e, "bind it, or unbind %s", key_name(m->r, child));
}

static int parent_refs(struct making *m, uint64_t key, const struct snapshot_entry *t,
                       const uint32_t **ret)
{
    uint32_t *refs = arena_new(m->r->mem, uint32_t, t->n_parents);
    for (uint32_t i = 0; i < t->n_parents; i++) {
        int rc = parent_ref(m, key, t->parents[i], &refs[i]);
        if (rc < 0)
            return rc;
    }
    *ret = refs;
    return 0;
}

static bool among(const uint32_t *ids, uint32_t n, uint32_t id)
{
    for (uint32_t i = 0; i < n; i++)
        if (ids[i] == id)
            return true;
    return false;
}

/* What it needs in the engine becomes what its entry wants. */
static int set_parents(struct making *m, uint32_t id, uint64_t key, const struct snapshot_entry *t)
{
    struct anneal *engine = m->r->server->engine;
    uint32_t n_live = anneal_needs(engine, id, NULL, 0), n_gains = 0, n_losses = 0;
    uint32_t *live = arena_new(m->r->mem, uint32_t, n_live);
    const uint32_t *wanted;
    (void)anneal_needs(engine, id, live, n_live);
    int rc = parent_refs(m, key, t, &wanted);
    if (rc < 0)
        return rc;
    uint32_t *gains = arena_new(m->r->mem, uint32_t, t->n_parents);
    uint32_t *losses = arena_new(m->r->mem, uint32_t, n_live);
    for (uint32_t i = 0; i < t->n_parents; i++)
        if (!among(live, n_live, wanted[i]))
            gains[n_gains++] = wanted[i];
    for (uint32_t i = 0; i < n_live; i++)
        if (!among(wanted, t->n_parents, live[i]))
            losses[n_losses++] = live[i];
    struct revise_change *c = change_for(m, id);
    c->gains = gains;
    c->n_gains = n_gains;
    c->losses = losses;
    c->n_losses = n_losses;
    return 0;
}

/* --- entries --- */

static void set_user(struct making *m, uint32_t id, const struct snapshot_entry *t)
{
    struct revise_change *c = change_for(m, id);
    struct str text = desire_doc_text(m->r->server->desire, t->user);
    const char *has = m->r->server->inv.noderoles.at[id].user;
    c->user = wish_document(m->r->server, m->r->mem, t->user);
    c->other_user = !str_eq(text, str_of(has ? has : "{}"));
}

/* First who is there, so that everybody's parents can be found. */
static int entry_count_in(struct making *m, const struct snapshot_change *c)
{
    struct server *s = m->r->server;
    uint64_t key = snapshot_key(c->role, c->node);
    uint32_t going, id = wish_live(s, key, &going);
    if (!c->node)
        return 0;
    if (id && s->inv.noderoles.at[id].deployment != m->r->deployment) {
        err_set(m->e, ERR_REFUSED, "%s is bound in deployment %s already", key_name(m->r, key),
                view_deployment_name(s, s->inv.noderoles.at[id].deployment));
        return err_hint(m->e, "a role is on a node once: unbind it there, or leave it out here");
    }
    if (going && s->inv.noderoles.at[going].deployment != m->r->deployment) {
        err_set(m->e, ERR_CONFLICT, "%s is still being removed from deployment %s",
                key_name(m->r, key),
                view_deployment_name(s, s->inv.noderoles.at[going].deployment));
        return err_hint(m->e, "wait until it is gone: `anneal noderole show %u`", going);
    }
    if (id || going) {
        struct revise_change *change = change_for(m, id ? id : going);
        change->back = !id;
        change->keep = change->keep && id;
        if (!id)
            vec_push(&m->r->back, going);
        return 0;
    }
    u64map_put(&m->added_by_key, key, m->added.n);
    vec_push(&m->added, ((struct revise_entry){.role = desire_role_name(s->desire, c->role),
                                               .node = c->node,
                                               .user = wish_document(s, m->r->mem, c->now->user)}));
    return 0;
}

static int entry_fill_in(struct making *m, const struct snapshot_change *c)
{
    uint64_t key = snapshot_key(c->role, c->node);
    uintptr_t i;
    uint32_t going, id = wish_live(m->r->server, key, &going);
    if (!c->node)
        return 0;
    if (u64map_get(&m->added_by_key, key, &i)) {
        m->added.at[i].n_parents = c->now->n_parents;
        return parent_refs(m, key, c->now, &m->added.at[i].parents);
    }
    set_user(m, id ? id : going, c->now);
    if (!c->old || (c->what & SNAPSHOT_CHANGED_PARENTS))
        return set_parents(m, id ? id : going, key, c->now);
    return 0;
}

/* --- what a removal does to those who stay --- */

static int foreign_loss(struct making *m, uint32_t child, uint32_t parent)
{
    struct server *s = m->r->server;
    const struct catalog_role *role = catalog_role_get(m->r->catalog,
                                                       str_of(view_role_name(s, parent)));
    uint32_t n = anneal_needs(s->engine, child, NULL, 0);
    uint32_t *parents = arena_new(m->r->mem, uint32_t, n);
    (void)anneal_needs(s->engine, child, parents, n);
    bool cluster = role && (role->flags & ROLE_F_CLUSTER), other = false;
    for (uint32_t i = 0; cluster && i < n; i++)
        other |= parents[i] != parent &&
                 s->inv.noderoles.at[parents[i]].role == s->inv.noderoles.at[parent].role &&
                 !(u64map_get(&m->changed_by_id, parents[i], NULL) &&
                   change_for(m, parents[i])->removed);
    if (!other) {
        err_set(m->e, ERR_REFUSED, "%s in deployment %s needs %s",
                view_noderole_name(s, m->r->mem, child),
                view_deployment_name(s, s->inv.noderoles.at[child].deployment),
                view_noderole_name(s, m->r->mem, parent));
        return err_hint(m->e, "unbind that first, in its own deployment");
    }
    struct revise_change *c = change_for(m, child);
    c->keep = true; /* the catalog of its own deployment is none of our business */
    uint32_t *losses = arena_new(m->r->mem, uint32_t, c->n_losses + 1);
    if (c->n_losses)
        memcpy(losses, c->losses, c->n_losses * sizeof *losses);
    losses[c->n_losses++] = parent;
    c->losses = losses;
    c->user = view_json(m->r->mem, s->inv.noderoles.at[child].user);
    vec_push(&m->r->losses, ((struct revision_loss){child, wish_key(s, parent)}));
    return 0;
}

static int losses_of(struct making *m, uint32_t parent)
{
    struct server *s = m->r->server;
    uint32_t n = anneal_needed_by(s->engine, parent, NULL, 0);
    uint32_t *children = arena_new(m->r->mem, uint32_t, n);
    (void)anneal_needed_by(s->engine, parent, children, n);
    for (uint32_t i = 0; i < n; i++) {
        struct noderole_view v;
        (void)anneal_noderole(s->engine, children[i], &v);
        if (v.target == TARGET_ABSENT ||
            s->inv.noderoles.at[children[i]].deployment == m->r->deployment)
            continue; /* it goes, or its own entry says what becomes of it */
        int rc = foreign_loss(m, children[i], parent);
        if (rc < 0)
            return rc;
    }
    return 0;
}

/* --- another catalog --- */

/* How a noderole is taken down is known by its role alone.  A catalog that has forgotten the role
 * would take it down without running what the one before wanted to be run. */
static int forgotten(struct making *m, const struct snapshot *head, uint32_t id)
{
    struct server *s = m->r->server;
    struct str role = str_of(view_role_name(s, id));
    const struct catalog *before;
    if (!m->renew || !head || catalog_role_get(m->r->catalog, role))
        return 0;
    int rc = catalog_generation(s, head->catalog, &before, m->e);
    const struct catalog_role *was = rc < 0 ? NULL : catalog_role_get(before, role);
    if (!was ||
        !(catalog_action_get(was, str_of("stop")) || catalog_action_get(was, str_of("remove"))))
        return rc;
    const char *name = view_noderole_name(s, m->r->mem, id);
    err_set(m->e, ERR_REFUSED,
            "%s cannot be taken down by generation %u of the catalog, which has no role %s", name,
            m->r->catalog->number, role.s);
    return err_hint(m->e, "`anneal deployment unbind %s %s=%s` takes it down as generation %u says",
                    view_deployment_name(s, m->r->deployment), role.s,
                    view_node_name(s, s->inv.noderoles.at[id].node), head->catalog);
}

struct staying {
    struct making *m;
    int rc;
};

static void look_at(void *ctx, uint64_t key, struct str value)
{
    struct staying *st = ctx;
    struct making *m = st->m;
    struct snapshot_entry t;
    uint32_t id = st->rc < 0 || !snapshot_key_node(key) ? 0 : wish_live(m->r->server, key, NULL);
    if (!id || u64map_get(&m->changed_by_id, id, NULL))
        return;
    st->rc = snapshot_entry_decode(m->r->mem, value, &t, m->e);
    if (st->rc >= 0)
        set_user(m, id, &t);
}

/* --- from end to end --- */

static int make(struct making *m, const struct snapshot *head)
{
    struct revision *r = m->r;
    const struct snapshot_changes *d = &r->diff;
    struct staying st = {m, 0};
    int rc = 0;
    for (uint32_t i = 0; i < d->n_removed && rc >= 0; i++) {
        uint64_t key = snapshot_key(d->removed[i].role, d->removed[i].node);
        uint32_t id = d->removed[i].node ? wish_live(r->server, key, NULL) : 0;
        if (id && (rc = forgotten(m, head, id)) >= 0)
            change_for(m, id)->removed = true;
    }
    for (uint32_t i = 0; i < d->n_added && rc >= 0; i++)
        rc = entry_count_in(m, &d->added[i]);
    for (uint32_t i = 0; i < d->n_changed && rc >= 0; i++)
        rc = entry_count_in(m, &d->changed[i]);
    for (uint32_t i = 0; i < d->n_added && rc >= 0; i++)
        rc = entry_fill_in(m, &d->added[i]);
    for (uint32_t i = 0; i < d->n_changed && rc >= 0; i++)
        rc = entry_fill_in(m, &d->changed[i]);
    for (size_t i = 0; i < m->changed.n && rc >= 0; i++)
        if (m->changed.at[i].removed)
            rc = losses_of(m, m->changed.at[i].noderole);
    if (rc >= 0 && m->renew && head &&
        (head->catalog != r->catalog->number || head->oldest != head->catalog)) {
        pmap_each(m->now, look_at, &st);
        rc = st.rc;
    }
    return rc;
}

int revision_make(struct revision *r, struct server *s, struct arena *mem, const struct catalog *c,
                  uint32_t deployment, const struct pmap *now, bool renew, struct err *e)
{
    const struct snapshot *head = desire_head(s->desire, deployment);
    struct making m = {.r = r, .e = e, .now = now, .renew = renew};
    struct world world;
    struct planner_world view = world_of(&world, s);
    *r = (struct revision){
        .server = s, .mem = mem, .catalog = c, .deployment = deployment, .now = now};
    int rc = snapshot_diff(mem, head ? head->root : NULL, now, &r->diff, e);
    if (rc >= 0)
        rc = make(&m, head);
    if (rc >= 0) {
        struct revise_request req = {.deployment = deployment,
                                     .added = m.added.at,
                                     .n_added = (uint32_t)m.added.n,
                                     .changed = m.changed.at,
                                     .n_changed = (uint32_t)m.changed.n};
        rc = planner_revise(c, &view, &req, &r->plan, e);
    }
    world_done(&world);
    vec_done(&m.added);
    vec_done(&m.changed);
    u64map_done(&m.added_by_key);
    u64map_done(&m.changed_by_id);
    return rc;
}

void revision_done(struct revision *r)
{
    plan_free(r->plan);
    vec_done(&r->losses);
    vec_done(&r->back);
}

/* Data of a deployment role may concern anybody. */
static bool changes_shared(const struct revision *r)
{
    const struct snapshot_change *lists[] = {r->diff.added, r->diff.changed, r->diff.removed};
    const uint32_t n[] = {r->diff.n_added, r->diff.n_changed, r->diff.n_removed};
    for (int l = 0; l < 3; l++)
        for (uint32_t i = 0; i < n[l]; i++)
            if (!lists[l][i].node)
                return true;
    return false;
}

bool revision_is_empty(const struct revision *r)
{
    return !changes_shared(r) && r->plan->n_noderoles == 0 && r->plan->n_changes == 0 &&
           r->plan->n_sizes == 0 && r->plan->n_needs == 0;
}

/* Whoever goes back wants that catalog; else nobody wants an older one than there is. */
uint32_t revision_catalog(const struct server *s, const struct snapshot *p)
{
    const struct snapshot *head = desire_head(s->desire, p->deployment);
    return !p->source && head && head->catalog > p->catalog ? head->catalog : p->catalog;
}

/* --- applying --- */

int revision_try(struct revision *r, struct err *e)
{
    int rc = wish_check(r->server, r->deployment, r->plan, e);
    return rc < 0 ? rc : face_plan_try(r->server, r->plan, r->deployment, r->now, e);
}

/* An earlier commit that is still open: its work goes on in the next. */
static uint32_t open_commit(const struct revision *r)
{
    const struct snapshot *head = desire_head(r->server->desire, r->deployment);
    struct operation_view v;
    bool open = head && head->operation &&
                anneal_operation(r->server->engine, head->operation, &v) &&
                (v.state == OPERATION_RUNNING || v.held);
    return open ? head->operation : 0;
}

int revision_apply(struct revision *r, const struct server_call *c, const char *kind,
                   const char *title, uint32_t *ret_op, struct err *e)
{
    int class = start_class_find(value_as_text(value_get(c->body, "class"), "normal"));
    int rc = wish_check(r->server, r->deployment, r->plan, e);
    struct face_work work = {kind,           title,         (enum start_class) class,
                             open_commit(r), r->deployment, r->now};
    return rc < 0 ? rc : face_plan_apply(r->server, c, r->plan, &work, ret_op, e);
}

int revision_settle(struct revision *r, const struct server_call *c, struct err *e)
{
    struct desire_author by = wish_author(r->server, c, "");
    int rc = 0;
    data_plan_keep(r->server, r->plan); /* only now everybody sees what its digests are of */
    for (uint32_t i = 0; i < r->plan->n_noderoles && rc >= 0; i++)
        rc = wish_settle_parents(r->server, c, &by, r->plan->base_noderole + i, e);
    for (size_t i = 0; i < r->back.n && rc >= 0; i++)
        rc = wish_settle_parents(r->server, c, &by, r->back.at[i], e);
    for (uint32_t i = 0; i < r->plan->n_needs && rc >= 0; i++)
        rc = wish_one_more_parent(r->server, c, &by, &r->plan->needs[i], e);
    for (size_t i = 0; i < r->losses.n && rc >= 0; i++)
        rc = wish_one_parent_less(r->server, c, &by, r->losses.at[i].child, r->losses.at[i].parent,
                                  e);
    return rc < 0 ? rc : 0;
}
