/* data_plan.c - the inputs of everybody that a plan makes or touches
 *
 * A plan comes from the planner with digests of what it knows: a role's defaults and a noderole's
 * own data.  What a noderole really sees depends on who will be above it, so all digests are made
 * here, over what is with the plan laid over it, just before it is applied.  Noderoles that live
 * and are not in the plan get a change of their own if their inputs will differ.
 *
 * Cost: a role without attributes and wants costs a look into a table.  Whoever has no document
 * above it has the same inputs as all others of its lens that have none, and these are made once.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "server/data_i.h"

#include <stdlib.h>
#include <string.h>

#include "base/json.h"

enum bareness { BARE_UNKNOWN, BARE_YES, BARE_NO };

struct planned {
    struct server *server;
    struct plan *plan;
    struct data_look look;
    struct sight_world world;
    uint8_t *fresh;     /* enum bareness of the plan's noderoles */
    struct u64map live; /* of others -> enum bareness */
    VEC(uint32_t) walk;
    bool shared; /* some deployment role has data, or will have */
};

/* --- is there any document above it, or of its own? --- */

static enum bareness bare_known(const struct planned *p, uint32_t id)
{
    uintptr_t known = BARE_UNKNOWN;
    if (id >= p->plan->base_noderole)
        return (enum bareness)p->fresh[id - p->plan->base_noderole];
    (void)u64map_get(&p->live, id, &known);
    return (enum bareness)known;
}

static void bare_note(struct planned *p, uint32_t id, enum bareness b)
{
    if (id >= p->plan->base_noderole)
        p->fresh[id - p->plan->base_noderole] = (uint8_t)b;
    else
        u64map_put(&p->live, id, b);
}

static bool has_shared(struct planned *p, uint32_t deployment, uint32_t role)
{
    for (uint32_t d = deployment; p->shared && d; d = p->world.deployment_parent(&p->look, d))
        if (p->world.deployment_role(&p->look, d, role))
            return true;
    return false;
}

static bool has_documents(struct planned *p, uint32_t id)
{
    const struct plan *plan = p->plan;
    if (id >= plan->base_noderole) {
        const struct plan_noderole *r = &plan->noderoles[id - plan->base_noderole];
        return r->user.n > 2 || hook_planned_system(p->server, id) ||
               has_shared(p, r->deployment, data_look_role(&p->look, id));
    }
    const struct inv_noderole *n = &p->server->inv.noderoles.at[id];
    const struct plan_change *c = data_look_change(&p->look, id);
    return n->user || n->system || n->wall || (c && (c->what & PLAN_C_DATA) && c->user.n > 2) ||
           has_shared(p, n->deployment, n->role);
}

/* Asks those above who are not known yet to come first; false if there are any. */
static bool bare_settle(struct planned *p, uint32_t id)
{
    struct sight_needs needs = p->world.needs(&p->look, id);
    enum bareness b = BARE_YES;
    size_t waiting = p->walk.n;
    for (uint32_t i = 0; i < needs.n && b == BARE_YES; i++) {
        if (needs.at[i].peer)
            continue; /* not merged: only who asks for peers sees it */
        enum bareness above = bare_known(p, needs.at[i].id);
        if (above == BARE_UNKNOWN)
            vec_push(&p->walk, needs.at[i].id);
        else
            b = above;
    }
    if (b == BARE_NO)
        p->walk.n = waiting;
    else if (p->walk.n > waiting)
        return false;
    bare_note(p, id, b);
    return true;
}

static bool is_bare(struct planned *p, uint32_t id)
{
    vec_clear(&p->walk);
    vec_push(&p->walk, id);
    while (p->walk.n > 0) {
        uint32_t at = p->walk.at[p->walk.n - 1];
        size_t depth = p->walk.n;
        if (bare_known(p, at) == BARE_UNKNOWN && has_documents(p, at))
            bare_note(p, at, BARE_NO);
        if (bare_known(p, at) != BARE_UNKNOWN || bare_settle(p, at))
            p->walk.n = depth - 1;
    }
    arena_reset(&p->look.mem);
    return bare_known(p, id) == BARE_YES;
}

/* --- digests --- */

static int planned_inputs(struct planned *p, uint32_t id, uint64_t *ret, struct err *e)
{
    const struct data_lens *l = data_look_lens(&p->look, id);
    if (l->lens.paths.n == 0) {
        *ret = p->server->data->nothing;
        return 0;
    }
    bool same = !l->lens.sees_node && !l->lens.sees_peers && is_bare(p, id);
    if (same && l->bare) {
        *ret = l->bare;
        return 0;
    }
    int rc = data_look_inputs(&p->look, id, ret, e);
    if (rc >= 0 && same)
        data_look_lens(&p->look, id)->bare = *ret;
    return rc;
}

static int fresh_digests(struct planned *p, struct err *e)
{
    int rc = 0;
    for (uint32_t i = 0; i < p->plan->n_noderoles && rc >= 0; i++)
        rc = planned_inputs(p, p->plan->base_noderole + i, &p->plan->noderoles[i].data, e);
    return rc;
}

/* --- who else is touched --- */

/* A parent more or less: what it brings, or took away. */
static void touched_by_parent(struct planned *p, struct data_touched *t, uint32_t child,
                              uint32_t parent)
{
    struct sight_noderole nr;
    if (!p->world.noderole(&p->look, parent, &nr))
        return;
    if (nr.member)
        data_touched_add(t, child); /* and nobody below: peers are seen by who needs them */
    else if (!is_bare(p, parent))
        data_touched_by(t, child, data_everything, true);
}

static void touched_by_change(struct planned *p, struct data_touched *t,
                              const struct plan_change *c)
{
    SCOPED_ARENA(mem);
    if (c->what & PLAN_C_REMOVE)
        return;
    if (c->what & PLAN_C_DATA) {
        struct value *now = NULL;
        struct err e;
        if (c->user.n && json_parse(&mem, c->user.s, c->user.n, NULL, &now, &e) < 0)
            now = NULL;
        const struct value *was = data_layer_get(p->server, c->noderole, DATA_USER);
        data_touched_by(t, c->noderole, sight_changed_paths(was, now, &mem), true);
    }
    if (c->what & (PLAN_C_DATA | PLAN_C_LENS | PLAN_C_PARENTS | PLAN_C_TASKS))
        data_touched_add(t, c->noderole); /* it may not have been told yet, and start with this */
    for (uint32_t i = 0; i < c->n_gains; i++)
        touched_by_parent(p, t, c->noderole, c->gains[i]);
    for (uint32_t i = 0; i < c->n_losses; i++)
        touched_by_parent(p, t, c->noderole, c->losses[i]);
}

struct shared_diff {
    struct planned *planned;
    struct data_touched *touched;
};

static void shared_touches(void *ctx, uint64_t key, const struct str *old, const struct str *now)
{
    struct shared_diff *d = ctx;
    struct server *s = d->planned->server;
    struct str name = desire_role_name(s->desire, snapshot_key_role(key));
    uintptr_t role;
    SCOPED_ARENA(mem);
    if (snapshot_key_node(key) != 0 || !strmap_get(&s->inv.role_by_name, name, &role))
        return;
    const struct value *was = old ? data_shared_entry(s, *old) : NULL;
    const struct value *is = now ? data_shared_entry(s, *now) : NULL;
    data_touched_shared(d->touched, d->planned->look.head_of, (uint32_t)role,
                        sight_changed_paths(was, is, &mem));
}

static void find_touched(struct planned *p, struct data_touched *t)
{
    const struct plan *plan = p->plan;
    for (uint32_t i = 0; i < plan->n_changes; i++)
        touched_by_change(p, t, &plan->changes[i]);
    for (uint32_t i = 0; i < plan->n_needs; i++)
        touched_by_parent(p, t, plan->needs[i].child, plan->needs[i].parent);
    if (p->look.head_of) {
        const struct snapshot *head = desire_head(p->server->desire, p->look.head_of);
        pmap_diff(head ? head->root : NULL, p->look.head, shared_touches,
                  &(struct shared_diff){p, t});
    }
}

/* --- changes of those who live --- */

struct other { /* a noderole that lives and will have other inputs */
    uint32_t noderole;
    uint64_t digest;
};
typedef VEC(struct other) others_v;

static int live_digests(struct planned *p, others_v *ret, struct err *e)
{
    SCOPED(data_touched) t = {.server = p->server};
    int rc = 0;
    find_touched(p, &t);
    for (size_t i = 0; i < t.ids.n && rc >= 0; i++) {
        const struct plan_change *c = data_look_change(&p->look, t.ids.at[i]);
        struct noderole_view v;
        uint64_t digest;
        if (!anneal_noderole(p->server->engine, t.ids.at[i], &v) ||
            (c ? c->what & PLAN_C_REMOVE : v.target == TARGET_ABSENT))
            continue;
        rc = planned_inputs(p, t.ids.at[i], &digest, e);
        if (rc >= 0 && (digest != v.data || (c && (c->what & PLAN_C_DATA))))
            vec_push(ret, ((struct other){t.ids.at[i], digest}));
    }
    return rc;
}

static int by_noderole(const void *x, const void *y)
{
    const struct plan_change *p = x, *q = y;
    return (p->noderole > q->noderole) - (p->noderole < q->noderole);
}

static void add_changes(struct server *s, struct plan *p, const others_v *others)
{
    uint32_t n = p->n_changes;
    if (others->n == 0)
        return;
    struct plan_change *all = arena_new(&p->mem, struct plan_change, n + others->n);
    if (n)
        memcpy(all, p->changes, n * sizeof *all);
    for (size_t i = 0; i < others->n; i++) {
        const struct other *o = &others->at[i];
        struct plan_change key = {.noderole = o->noderole};
        struct plan_change *c = n ? bsearch(&key, all, n, sizeof key, by_noderole) : NULL;
        if (!c) {
            c = &all[p->n_changes++];
            c->noderole = o->noderole;
        }
        if (!(c->what & PLAN_C_DATA)) { /* its own data stay what they are */
            const char *user = s->inv.noderoles.at[o->noderole].user;
            c->user = str_of(arena_strdup(&p->mem, user ? user : ""));
        }
        c->what |= PLAN_C_DATA;
        c->data = o->digest;
    }
    qsort(all, p->n_changes, sizeof *all, by_noderole);
    p->changes = all;
}

int data_plan_digests(struct server *s, struct plan *plan, uint32_t deployment,
                      const struct pmap *head, struct err *e)
{
    struct planned p = {.server = s, .plan = plan};
    others_v others = {0};
    int rc = data_plan_lenses(s, plan, e);
    if (rc < 0)
        return rc;
    hook_settle(s); /* what is due changes data, perhaps */
    s->data->planned = s->data->version;
    data_look_plan(&p.look, s, plan, deployment, head);
    p.world = data_look_world(&p.look);
    p.fresh = xcalloc((size_t)plan->n_noderoles + 1, 1);
    p.shared = s->data->shared.live > 0 || deployment;
    rc = fresh_digests(&p, e);
    if (rc >= 0)
        rc = live_digests(&p, &others, e);
    data_look_end(&p.look);
    if (rc >= 0)
        add_changes(s, plan, &others);
    vec_done(&others);
    vec_done(&p.walk);
    u64map_done(&p.live);
    free(p.fresh);
    return rc < 0 ? rc : 0;
}
