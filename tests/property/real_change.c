/* real_change.c - from requests and maps to plans, from plans to noderoles and entries */
/* SPDX-License-Identifier: Apache-2.0 */
#include "real.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/sort.h"
#include "edit_entry.h"
#include "model/taskmsg.h"

int real_step(struct real *r, struct event ev, struct err *e)
{
    ev.at_ms = ++r->now;
    return anneal_step(r->a, &ev, &r->fx, e);
}

uint32_t real_operation(struct real *r)
{
    struct err e;
    struct event ev = {.kind = EVENT_OPERATION_ADD, .id = ++r->op, .n = 1, .flag = CLASS_NORMAL};
    if (real_step(r, ev, &e) < 0)
        printf("Bail out! no operation: %s\n", e.text);
    return r->op;
}

int real_bind(struct real *r, const struct bind_request *req, struct plan **ret_p, struct err *e)
{
    return planner_bind(r->cat, &r->world, req, ret_p, NULL, e);
}

/* --- from two maps to one plan --- */

struct revision {
    struct real *r;
    uint32_t deployment;
    struct snapshot_changes diff;
    VEC(struct revise_entry) added;
    VEC(uint64_t) added_keys;
    VEC(struct revise_change) changed;
    VEC(const struct snapshot_change *) of_changed; /* NULL: removed */
};

static const struct value *user_of(struct real *r, uint64_t doc)
{
    struct value *v = NULL;
    struct err e;
    struct str text = desire_doc_text(r->d, doc);
    if (doc && json_parse(&r->mem, text.s, text.n, NULL, &v, &e) < 0)
        printf("Bail out! %s: %s\n", text.s, e.text);
    return v;
}

/* The noderole that a key means: one of this plan, one that comes back by it, one that lives. */
static uint32_t ref_of(const struct revision *x, uint64_t key)
{
    for (uint32_t i = 0; i < x->added_keys.n; i++)
        if (x->added_keys.at[i] == key)
            return i | PLAN_NEW;
    for (uint32_t i = 0; i < x->changed.n; i++)
        if (x->changed.at[i].back && real_key(x->r, x->changed.at[i].noderole) == key)
            return x->changed.at[i].noderole;
    return real_living(x->r, snapshot_key_role(key) - 1, snapshot_key_node(key), 0);
}

static int refs_of(const struct revision *x, const struct snapshot_entry *t, uint32_t **ret,
                   struct err *e)
{
    *ret = arena_new(&x->r->mem, uint32_t, t->n_parents + 1);
    for (uint32_t i = 0; i < t->n_parents; i++)
        if (!((*ret)[i] = ref_of(x, t->parents[i])))
            return err_set(e, ERR_REFUSED, "a parent is not there");
    return 0;
}

static uint32_t all_parents(struct real *r, uint32_t id, uint32_t **ret)
{
    uint32_t n = anneal_needs(r->a, id, NULL, 0);
    *ret = arena_new(&r->mem, uint32_t, n + 1);
    return anneal_needs(r->a, id, *ret, n);
}

static bool listed(const uint32_t *ids, uint32_t n, uint32_t id)
{
    for (uint32_t i = 0; i < n; i++)
        if (ids[i] == id)
            return true;
    return false;
}

static int change_parents(struct revision *x, struct revise_change *c,
                          const struct snapshot_entry *t, struct err *e)
{
    uint32_t *wanted, *has, n = all_parents(x->r, c->noderole, &has);
    int rc = refs_of(x, t, &wanted, e);
    uint32_t *gains = arena_new(&x->r->mem, uint32_t, t->n_parents + 1);
    uint32_t *losses = arena_new(&x->r->mem, uint32_t, n + 1);
    c->gains = gains;
    c->losses = losses;
    for (uint32_t i = 0; rc >= 0 && i < t->n_parents; i++)
        if (!listed(has, n, wanted[i]))
            gains[c->n_gains++] = wanted[i];
    for (uint32_t i = 0; rc >= 0 && i < n; i++)
        if (!listed(wanted, t->n_parents, has[i]))
            losses[c->n_losses++] = has[i];
    return rc;
}

static void revision_collect(struct revision *x)
{
    struct real *r = x->r;
    for (uint32_t i = 0; i < x->diff.n_removed + x->diff.n_changed + x->diff.n_added; i++) {
        uint32_t k = i;
        const struct snapshot_change *s = k < x->diff.n_removed ? &x->diff.removed[k]
                                          : (k -= x->diff.n_removed) < x->diff.n_changed
                                              ? &x->diff.changed[k]
                                              : &x->diff.added[k - x->diff.n_changed];
        uint32_t role = s->role - 1, leaver = real_leaver(r, role, s->node, x->deployment);
        if (!s->node)
            continue; /* a deployment role is data only */
        const struct value *user = s->now ? user_of(r, s->now->user) : NULL;
        if (!s->old && !leaver) {
            vec_push(&x->added,
                     ((struct revise_entry){
                         .role = r->cat->roles[role].name, .node = s->node, .user = user}));
            vec_push(&x->added_keys, snapshot_key(s->role, s->node));
            continue;
        }
        struct revise_change c = {.user = user, .removed = !s->now, .back = !s->old};
        c.noderole = s->old ? real_living(r, role, s->node, x->deployment) : leaver;
        c.other_user = s->now &&
                       !str_is(desire_doc_text(r->d, s->now->user),
                               *r->beings.at[c.noderole].user ? r->beings.at[c.noderole].user
                                                              : "{}");
        vec_push(&x->changed, c);
        vec_push(&x->of_changed, s->now ? s : NULL);
    }
}

static int revision_resolve(struct revision *x, struct err *e)
{
    int rc = 0;
    for (uint32_t i = 0, k = 0; rc >= 0 && i < x->diff.n_added; i++) {
        const struct snapshot_change *s = &x->diff.added[i];
        uint32_t *parents;
        if (k == x->added.n || x->added_keys.at[k] != snapshot_key(s->role, s->node))
            continue;
        rc = refs_of(x, s->now, &parents, e);
        x->added.at[k].parents = parents;
        x->added.at[k++].n_parents = s->now->n_parents;
    }
    for (uint32_t i = 0; rc >= 0 && i < x->changed.n; i++)
        if (x->of_changed.at[i])
            rc = change_parents(x, &x->changed.at[i], x->of_changed.at[i]->now, e);
    return rc;
}

int real_revise(struct real *r, uint32_t deployment, const struct pmap *old, const struct pmap *now,
                struct plan **ret_p, struct err *e)
{
    struct revision x = {.r = r, .deployment = deployment};
    int rc = snapshot_diff(&r->mem, old, now, &x.diff, e);
    if (rc >= 0) {
        revision_collect(&x);
        rc = revision_resolve(&x, e);
    }
    const struct revise_request req = {.deployment = deployment,
                                       .added = x.added.at,
                                       .n_added = (uint32_t)x.added.n,
                                       .changed = x.changed.at,
                                       .n_changed = (uint32_t)x.changed.n};
    if (rc >= 0)
        rc = planner_revise(r->cat, &r->world, &req, ret_p, e);
    vec_done(&x.added);
    vec_done(&x.added_keys);
    vec_done(&x.changed);
    vec_done(&x.of_changed);
    return rc;
}

/* --- plans become true --- */

int real_check(const struct real *r, struct plan *p, struct err *e)
{
    plan_rebase(p, anneal_def_end(r->a), anneal_noderole_end(r->a), anneal_task_end(r->a),
                anneal_span_end(r->a), anneal_pool_end(r->a));
    return anneal_plan_check(r->a, p, e);
}

int real_apply(struct real *r, struct plan *p, struct err *e)
{
    int ok = real_check(r, p, e);
    if (ok < 0)
        return ok;
    uint32_t op = real_operation(r);
    int rc = real_step(r, (struct event){.kind = EVENT_PLAN_APPLY, .op = op, .plan = p}, e);
    if (rc < 0)
        return rc;
    for (uint32_t i = 0; i < p->n_defs; i++)
        vec_push(&r->defs, p->defs[i].digest);
    for (uint32_t i = 0; i < p->n_noderoles; i++) {
        const struct plan_noderole *n = &p->noderoles[i];
        struct real_being b = {
            .role = (uint32_t)(catalog_role_get(r->cat, n->role) - r->cat->roles),
            .deployment = n->deployment,
            .user = str_is(n->user, "{}") ? "" : arena_strndup(&r->mem, n->user.s, n->user.n),
            .wall = "",
            .system = ""};
        vec_push(&r->beings, b);
    }
    for (uint32_t i = 0; i < p->n_changes; i++) {
        const struct plan_change *c = &p->changes[i];
        if (c->what & PLAN_C_DATA)
            r->beings.at[c->noderole].user = str_is(c->user, "{}")
                                                 ? ""
                                                 : arena_strndup(&r->mem, c->user.s, c->user.n);
    }
    return 0;
}

/* Keys of refs of a plan that may or may not be applied. */
static uint64_t ref_key(const struct real *r, const struct plan *p, uint32_t ref)
{
    uint32_t i = p->rebased && ref >= p->base_noderole ? ref - p->base_noderole : ref & ~PLAN_NEW;
    if (!(ref & PLAN_NEW) && !(p->rebased && ref >= p->base_noderole))
        return real_key(r, ref);
    const struct plan_noderole *n = &p->noderoles[i];
    return snapshot_key(desire_role_find(r->d, n->role), n->node);
}

static int entry_put(struct real *r, uint32_t deployment, uint32_t proposal, uint64_t key,
                     const struct snapshot_entry *t, struct err *e)
{
    struct desire_author by = real_author(r);
    uint32_t role = snapshot_key_role(key), node = snapshot_key_node(key);
    return proposal ? desire_edit(r->d, proposal, role, node, t, e)
                    : desire_amend(r->d, deployment, &by, role, node, t, e);
}

static int note_new(struct real *r, const struct plan *p, uint32_t i, uint32_t proposal,
                    const uint64_t *requested, uint32_t n_requested, struct err *e)
{
    const struct plan_noderole *n = &p->noderoles[i];
    uint64_t *parents = arena_new(&r->mem, uint64_t, n->n_parents + 1);
    uint64_t key = snapshot_key(desire_role_find(r->d, n->role), n->node);
    struct snapshot_entry t = {.parents = parents, .n_parents = n->n_parents};
    for (uint32_t k = 0; k < n_requested; k++)
        t.flags |= requested[k] == key ? SNAPSHOT_F_REQUESTED : 0;
    for (uint32_t k = 0; k < n->n_parents; k++)
        parents[k] = ref_key(r, p, n->parents[k]);
    sort_u64(parents, n->n_parents);
    int rc = desire_doc(r->d, n->user, &t.user, e);
    return rc < 0 ? rc : entry_put(r, n->deployment, proposal, key, &t, e);
}

/* One parent more in an entry of the head, or of a proposal; nothing if it has that, or is not in
 * the map. */
static int entry_gain(struct real *r, uint32_t deployment, uint32_t proposal, uint64_t key,
                      uint64_t parent, struct err *e)
{
    const struct snapshot *s = proposal ? desire_snapshot(r->d, proposal)
                                        : desire_head(r->d, deployment);
    struct snapshot_entry t = {0};
    int rc = !s || s->deployment != deployment ? 0
                                               : snapshot_find_key(&r->mem, s->root, key, &t, e);
    if (rc <= 0)
        return rc;
    uint64_t *parents = arena_new(&r->mem, uint64_t, t.n_parents + 1);
    uint8_t *used = arena_new(&r->mem, uint8_t, t.n_parents / 8 + 1);
    uint32_t n = 0;
    for (uint32_t i = 0; i < t.n_parents; i++) {
        if (t.parents[i] == parent)
            return 0;
        if (n == i && t.parents[i] > parent)
            parents[n++] = parent;
        used[n / 8] |= (uint8_t)((uint32_t)snapshot_parent_is_used(&t, i) << n % 8);
        parents[n++] = t.parents[i];
    }
    if (n == t.n_parents)
        parents[n++] = parent;
    t.parents = parents;
    t.used = used;
    t.n_parents = n;
    return entry_put(r, deployment, proposal, key, &t, e);
}

static int note_peers(struct real *r, const struct plan *p, uint32_t proposal, struct err *e)
{
    int rc = 0;
    for (uint32_t i = 0; rc >= 0 && i < p->n_needs; i++)
        rc = entry_gain(r, r->beings.at[p->needs[i].child].deployment, proposal,
                        real_key(r, p->needs[i].child), ref_key(r, p, p->needs[i].parent), e);
    return rc;
}

int real_note(struct real *r, const struct plan *p, uint32_t proposal, const uint64_t *requested,
              uint32_t n_requested, struct err *e)
{
    int rc = 0;
    for (uint32_t i = 0; rc >= 0 && i < p->n_noderoles; i++)
        rc = note_new(r, p, i, proposal, requested, n_requested, e);
    return rc < 0 ? rc : note_peers(r, p, proposal, e);
}

static int note_needs(struct real *r, uint32_t noderole, struct err *e)
{
    uint32_t n = anneal_needs(r->a, noderole, NULL, 0);
    uint32_t *ids = arena_new(&r->mem, uint32_t, n + 1);
    int rc = 0;
    (void)anneal_needs(r->a, noderole, ids, n);
    for (uint32_t i = 0; rc >= 0 && i < n; i++)
        rc = entry_gain(r, r->beings.at[noderole].deployment, 0, real_key(r, noderole),
                        real_key(r, ids[i]), e);
    return rc;
}

int real_note_committed(struct real *r, const struct plan *p, struct err *e)
{
    int rc = 0;
    for (uint32_t i = 0; rc >= 0 && i < p->n_noderoles; i++) {
        const struct plan_noderole *n = &p->noderoles[i];
        for (uint32_t k = 0; rc >= 0 && k < n->n_parents; k++)
            rc = entry_gain(r, n->deployment, 0, real_key(r, p->base_noderole + i),
                            ref_key(r, p, n->parents[k]), e);
    }
    for (uint32_t i = 0; rc >= 0 && i < p->n_changes; i++)
        if ((p->changes[i].what & PLAN_C_TASKS) && !p->changes[i].keeps) /* it is taken back */
            rc = note_needs(r, p->changes[i].noderole, e);
    return rc < 0 ? rc : note_peers(r, p, 0, e);
}

/* --- work --- */

struct open_list {
    VEC(struct open_attempt) at;
};

static void open_add(void *arg, const struct open_attempt *o)
{
    struct open_list *l = arg;
    vec_push(&l->at, *o);
}

bool real_work(struct real *r, struct dice *d, real_fails_f *fails, void *ctx)
{
    struct open_list open = {0};
    struct task_view t = {0};
    struct noderole_view v = {0};
    struct err e;
    anneal_each_open_attempt(r->a, open_add, &open);
    if (!open.at.n) {
        vec_done(&open.at);
        return false;
    }
    struct open_attempt o = open.at.at[roll(d, (uint32_t)open.at.n)];
    vec_done(&open.at);
    (void)anneal_task(r->a, o.task, &t);
    struct event ev = {.kind = EVENT_RESULT,
                       .id = o.task,
                       .attempt = o.attempt,
                       .extra = o.asks,
                       .flag = OUTCOME_OK};
    if (t.noderole && anneal_noderole(r->a, t.noderole, &v)) {
        bool removal = v.target == TARGET_ABSENT;
        if (fails(ctx, t.noderole, removal) && o.task == v.first_task) {
            ev.flag = OUTCOME_FAILED;
            ev.exit_code = 1;
        }
    }
    if (real_step(r, ev, &e) < 0)
        printf("Bail out! a result is refused: %s\n", e.text);
    return true;
}
