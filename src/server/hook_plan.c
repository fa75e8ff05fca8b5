/* hook_plan.c - hooks before a plan is applied: what they refuse, and what they want afterwards
 *
 * Stores change at once, so that five noderoles of one plan get five addresses; nothing of them is
 * written until the plan is applied, and a refusal takes all of it back.  Data and runs are kept:
 * the noderoles that they are for may not live yet.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "base/json.h"
#include "server/hooks_i.h"

enum {
    BEFORE = 1u << HOOK_ON_PROPOSED | 1u << HOOK_ON_BIND | 1u << HOOK_ON_COMMIT |
             1u << HOOK_ON_LEAVING,
};

static void trial_end(struct hooks *h)
{
    vec_clear(&h->trial.wants);
    vec_clear(&h->trial.runs);
    vec_clear(&h->trial.waits);
    u64map_done(&h->trial.systems);
    h->trial.systems = (struct u64map){0};
    arena_reset(&h->trial.mem);
    h->trial.open = false;
}

void hook_drop(struct server *s)
{
    if (!s->hooks->trial.open)
        return;
    hook_stores_revert(s->hooks->stores);
    trial_end(s->hooks);
}

void hook_close(struct server *s)
{
    hook_drop(s);
    hook_settle(s);
}

static struct str keep(struct arena *mem, struct str text)
{
    return (struct str){arena_strndup(mem, text.s, text.n), text.n};
}

static uint32_t want_target(struct server *s, const struct hook_want *w)
{
    struct hook_subject nobody = {0};
    return w->noderole ? w->noderole : hook_target(s, &nobody, w->role, w->node);
}

/* Who goes has it run before, where it is bound. */
static void want_run(struct server *s, enum hook_event event, uint32_t noderole,
                     const struct hook_want *w)
{
    struct hook_trial *t = &s->hooks->trial;
    uint32_t target = event == HOOK_ON_LEAVING ? want_target(s, w) : 0;
    if (event != HOOK_ON_LEAVING)
        vec_push(&t->runs, *w);
    else if (target && target != noderole)
        vec_push(&t->waits, ((struct plan_wait){noderole, target}));
}

/* What a hook wants for later; what it sets of its own noderole is seen by the next one. */
static int want_all(struct server *s, enum hook_event event, const struct hook_subject *u,
                    const struct hook_outcome *out, struct value *system, struct arena *mem,
                    struct err *e)
{
    struct hook_trial *t = &s->hooks->trial;
    int rc = 0;
    for (uint32_t i = 0; rc >= 0 && i < out->n; i++) {
        const struct hook_action *a = &out->at[i];
        struct hook_want w = {.role = a->role.n ? keep(&t->mem, a->role) : u->role->name};
        bool own = !a->role.n && !a->node.n;
        const char *node = hook_node_name(s, u->node);
        w.node = a->node.n ? keep(&t->mem, a->node) : str_of(arena_strdup(&t->mem, node));
        w.noderole = own ? u->noderole : 0;
        if (a->verb == HOOK_ENQUEUE) {
            want_run(s, event, u->noderole, &w);
        } else if (a->verb == HOOK_SET || a->verb == HOOK_UNSET) {
            w.edit = (struct data_edit){keep(&t->mem, a->path),
                                        a->v ? value_copy(&t->mem, a->v) : NULL};
            if (own) {
                rc = hook_tree_edit(mem, system, a->path, a->v ? value_copy(mem, a->v) : NULL, e);
                u64map_put(&t->systems, u->noderole, (uintptr_t)system);
            }
            vec_push(&t->wants, w);
        }
    }
    return rc;
}

static int refuse(struct server *s, const struct hook *h, const struct hook_subject *u,
                  const struct hook_outcome *out, struct err *e)
{
    SCOPED_ARENA(mem);
    const struct hook_action *last = &out->at[out->n - 1];
    s->hooks->figures.refusals++;
    err_set(e, ERR_REFUSED, "%s: %.*s", hook_subject_name(s, u, &mem), (int)last->text.n,
            last->text.s);
    return err_hint(e, "%s in %s:%u:%u says so", hook_event_name(hook_event_of(h)),
                    hook_file(h) ? hook_file(h) : "the catalog", last->line, last->column);
}

/* A hook that cannot say whether it agrees does not: nothing has happened yet that could be lost.
 */
static int broken(struct server *s, const struct hook *h, const struct hook_subject *u,
                  struct err *e)
{
    SCOPED_ARENA(mem);
    char at[sizeof e->at];
    hook_where(h, at, sizeof at);
    s->hooks->figures.failures++;
    struct err why = *e;
    err_set(e, ERR_REFUSED, "%s: its hook failed: %s", hook_subject_name(s, u, &mem), why.text);
    return err_hint(e, "see %s", why.at[0] ? why.at : at);
}

struct asked { /* one noderole of a plan, and its data as hooks see them */
    struct hook_subject u;
    const char *wall, *user;
    struct value *system;
};

static int ask(struct server *s, enum hook_event event, struct asked *q, struct err *e)
{
    const struct catalog_hooks *both[] = {catalog_role_shared_hooks(s->catalog, q->u.role),
                                          q->u.role->hooks};
    int rc = 0;
    for (size_t i = 0; rc >= 0 && i < sizeof both / sizeof *both; i++) {
        const struct hook *h = both[i] ? both[i]->at[event] : NULL;
        struct hook_outcome out = {0};
        SCOPED_ARENA(mem);
        SCOPED_BUF(system);
        if (!h)
            continue;
        json_write(&system, q->system, 0);
        q->u.data = hook_own_data(s, q->u.role, q->u.deployment, q->wall, buf_str(&system).s,
                                  q->user, &mem);
        rc = hook_try(s, h, &q->u, &mem, &out, e);
        if (rc >= 0 && out.refused)
            return refuse(s, h, &q->u, &out, e);
        if (rc >= 0)
            rc = hook_store_actions(s, &q->u, &out, false, e);
        if (rc >= 0)
            rc = want_all(s, event, &q->u, &out, q->system, &s->hooks->trial.mem, e);
        if (rc < 0)
            return broken(s, h, &q->u, e);
    }
    return rc;
}

/* ---- what a plan brings ---- */

struct place {
    uint32_t cohort, index;
};

static int by_place(const void *x, const void *y)
{
    const struct place *p = x, *q = y;
    if (p->cohort != q->cohort)
        return p->cohort < q->cohort ? -1 : 1;
    return (p->index > q->index) - (p->index < q->index);
}

static int ask_new(struct server *s, enum hook_event last, const struct plan *p, uint32_t i,
                   struct err *e)
{
    const struct plan_noderole *n = &p->noderoles[i];
    const struct catalog_role *role = catalog_role_get(s->catalog, n->role);
    struct arena *mem = &s->hooks->trial.mem;
    uint32_t base = p->rebased ? p->base_noderole : anneal_noderole_end(s->engine);
    int rc = 0;
    if (!role || !(role->hook_events & BEFORE))
        return 0;
    struct asked q = {.u = {.role = role,
                            .noderole = base + i,
                            .node = n->node,
                            .deployment = n->deployment,
                            .state = noderole_state_name(NODEROLE_PROPOSED)},
                      .user = arena_strndup(mem, n->user.n ? n->user.s : "", n->user.n),
                      .system = value_map(mem)};
    for (int event = HOOK_ON_PROPOSED; rc >= 0 && event <= (int)last; event++)
        rc = ask(s, (enum hook_event)event, &q, e);
    return rc;
}

static int ask_changed(struct server *s, const struct plan_change *c, struct err *e)
{
    const struct catalog_role *role = hook_role_of(s, c->noderole);
    const struct inv_noderole *n = &s->inv.noderoles.at[c->noderole];
    struct arena *mem = &s->hooks->trial.mem;
    struct noderole_view v;
    bool goes = c->what & PLAN_C_REMOVE;
    enum hook_event event = goes ? HOOK_ON_LEAVING : HOOK_ON_COMMIT;
    if (!role || !(role->hook_events >> event & 1) ||
        !anneal_noderole(s->engine, c->noderole, &v) || (goes && v.target == TARGET_ABSENT))
        return 0;
    struct asked q = {
        .u = {.role = role, .noderole = c->noderole, .node = v.node, .deployment = n->deployment},
        .wall = n->wall,
        .user = c->what & PLAN_C_DATA ? arena_strndup(mem, c->user.s, c->user.n) : n->user,
        .system = value_copy(mem, view_json(mem, n->system))};
    return ask(s, event, &q, e);
}

static int ask_plan(struct server *s, enum hook_event last, const struct plan *p, struct err *e)
{
    struct place *order = xcalloc(p->n_noderoles + 1, sizeof *order);
    int rc = 0;
    for (uint32_t i = 0; i < p->n_noderoles; i++)
        order[i] = (struct place){p->noderoles[i].cohort, i};
    qsort(order, p->n_noderoles, sizeof *order, by_place);
    for (uint32_t i = 0; rc >= 0 && i < p->n_noderoles; i++)
        rc = ask_new(s, last, p, order[i].index, e);
    for (uint32_t i = 0; rc >= 0 && last == HOOK_ON_COMMIT && i < p->n_changes; i++)
        rc = ask_changed(s, &p->changes[i], e);
    free(order);
    return rc;
}

int hook_before(struct server *s, enum hook_event event, const struct plan *plan, struct err *e)
{
    hook_drop(s);
    if (!s->catalog || !(hook_index_of(s)->any & BEFORE))
        return 0;
    hook_settle(s);
    hook_stores_flush(s->hooks->stores);
    s->hooks->trial.open = true;
    int rc = ask_plan(s, event == HOOK_ON_COMMIT ? HOOK_ON_COMMIT : HOOK_ON_BIND, plan, e);
    if (rc < 0 || event == HOOK_ON_PROPOSED)
        hook_drop(s);
    return rc < 0 ? rc : 0;
}

static int by_holder(const void *x, const void *y)
{
    const struct plan_wait *p = x, *q = y;
    if (p->holder != q->holder)
        return p->holder < q->holder ? -1 : 1;
    return (p->goer > q->goer) - (p->goer < q->goer);
}

void hook_waits(struct server *s, struct plan *plan)
{
    const struct hook_trial *t = &s->hooks->trial;
    if (!t->waits.n)
        return;
    qsort(t->waits.at, t->waits.n, sizeof *t->waits.at, by_holder);
    struct plan_wait *all = arena_new(&plan->mem, struct plan_wait, plan->n_waits + t->waits.n);
    for (uint32_t i = 0; i < plan->n_waits; i++)
        all[i] = plan->waits[i];
    plan->waits = all;
    for (size_t i = 0; i < t->waits.n; i++) {
        const struct plan_change *c = plan_change_find(plan, t->waits.at[i].holder);
        bool twice = i > 0 && by_holder(&t->waits.at[i - 1], &t->waits.at[i]) == 0;
        if (!twice && !(c && (c->what & PLAN_C_REMOVE)))
            all[plan->n_waits++] = t->waits.at[i];
    }
}

int hook_before_node(struct server *s, const struct hook_guest *guest, const struct plan *plan,
                     struct err *e)
{
    s->hooks->guest = guest;
    int rc = hook_before(s, HOOK_ON_PROPOSED, plan, e);
    s->hooks->guest = NULL;
    return rc;
}

const struct value *hook_planned_system(const struct server *s, uint32_t noderole)
{
    uintptr_t system;
    return u64map_get(&s->hooks->trial.systems, noderole, &system) ? (const struct value *)system
                                                                   : NULL;
}

/* ---- afterwards ---- */

static void want_failed(struct server *s, uint32_t noderole, const struct err *why)
{
    struct noderole_view v = {0};
    const struct catalog_role *role = hook_role_of(s, noderole);
    (void)anneal_noderole(s->engine, noderole, &v);
    if (role)
        hook_failed(s, HOOK_ON_BIND,
                    &(struct hook_subject){.role = role, .noderole = noderole, .node = v.node},
                    why);
}

void hook_after(struct server *s)
{
    struct hooks *h = s->hooks;
    struct hook_trial *t = &h->trial;
    VEC(struct data_edit) edits = {0};
    uint32_t of = 0;
    if (!t->open)
        return;
    h->rounds.running = true; /* transitions of these noderoles come after their data */
    for (size_t i = 0; i <= t->wants.n; i++) {
        struct err e;
        uint32_t target = i < t->wants.n ? want_target(s, &t->wants.at[i]) : 0;
        if (i < t->wants.n && !target)
            continue; /* not bound there */
        if (target != of && edits.n) {
            if (data_system_edit(s, of, edits.at, (uint32_t)edits.n, &e) < 0)
                want_failed(s, of, &e);
            vec_clear(&edits);
        }
        of = target;
        if (target)
            vec_push(&edits, t->wants.at[i].edit);
    }
    for (size_t i = 0; i < t->runs.n; i++) {
        uint32_t target = want_target(s, &t->runs.at[i]);
        if (target)
            hook_rounds_enqueue(&h->rounds, target);
    }
    h->rounds.running = false;
    vec_done(&edits);
    hook_stores_flush(h->stores);
    trial_end(h);
}
