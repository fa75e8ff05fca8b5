/* action_resolve.c - a role's actions: which task, by which jig, after which others
 *
 * A task that lists `requires` waits for exactly those of its action; one that does not waits for
 * the task listed before it.  So a plain list runs from top to bottom.
 *
 * A role that has phases and no converge is a service.  Its converge is the phases that bring it
 * up, one after the other, so that it can be bound like any role; whoever plans single phases finds
 * them under their names.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "catalog/catalog.h"
#include "catalog/catalog_i.h"

#include "base/text.h"
#include "graph/graph.h"
#include "model/plan.h"
#include "model/schema.h"
#include "model/states.h"

struct steps { /* one action being resolved */
    struct catalog_step *at;
    const struct value **where;
    uint32_t n;
};

static const struct catalog_check *check_find(const struct load *l, struct str implementation)
{
    for (size_t i = 0; l->checks && i < l->checks->n; i++)
        if (str_is(implementation, l->checks->at[i].implementation))
            return &l->checks->at[i];
    return NULL;
}

/* Each task is shown once to each implementation that may get it. */
static void params_check(struct load *l, struct load_task *t, struct str implementation)
{
    const struct catalog_check *c = check_find(l, implementation);
    struct err why;

    if (!c || !c->params || str_eq(t->checked, implementation))
        return;
    t->checked = implementation;
    err_clear(&why);
    if (c->params(t->task.params, &why) >= 0)
        return;
    const struct value *at = schema_pointer_get(t->params, why.at);
    if (!at)
        at = t->at;
    struct err *e = catalog_error(l, at, why.code ? why.code : ERR_INVALID, "task \"%s\": %s",
                                  t->task.name.s, why.text);
    if (why.hint[0])
        (void)err_hint(e, "%s", why.hint);
}

/* The jig that runs a task: its owner's, unless the task is for another implementation. */
static uint32_t step_jig(struct load *l, uint32_t jig, struct load_task *t)
{
    uintptr_t id;

    if (jig == CATALOG_NONE)
        return CATALOG_NONE; /* reported already */
    if (!t->type.at || str_eq(t->type.name, l->jigs.at[jig].jig.implementation))
        return jig;
    if (strmap_get(&l->by_jig, t->type.name, &id))
        return (uint32_t)id;
    struct err *e = catalog_error(l, t->type.at, ERR_UNKNOWN_NAME,
                                  "task \"%s\" is of type \"%s\", which no jig implements",
                                  t->task.name.s, t->type.name.s);
    catalog_hint_nearest(e, t->type.name, &l->by_jig);
    return CATALOG_NONE;
}

/* The task that an entry of an action names or is; CATALOG_NONE, and reported, if there is none. */
static uint32_t step_task(struct load *l, const struct value *item)
{
    uintptr_t id;

    if (item->kind == VALUE_MAP)
        return catalog_read_task_inline(l, item);
    struct str name = catalog_read_name(l, item, "a task's name");
    if (!name.n)
        return CATALOG_NONE;
    if (strmap_get(&l->by_task, name, &id))
        return (uint32_t)id;
    struct err *e = catalog_error(l, item, ERR_UNKNOWN_NAME, "unknown task \"%s\"", name.s);
    catalog_hint_nearest(e, name, &l->by_task);
    return CATALOG_NONE;
}

static uint32_t step_find(const struct load *l, const struct steps *s, struct str name)
{
    for (uint32_t i = 0; i < s->n; i++)
        if (str_eq(l->tasks.at[s->at[i].task].task.name, name))
            return i;
    return CATALOG_NONE;
}

static void step_add(struct load *l, const struct action_owner *owner, struct steps *s,
                     const struct value *item)
{
    uint32_t task = step_task(l, item);
    if (task == CATALOG_NONE)
        return;
    struct load_task *t = &l->tasks.at[task];
    uint32_t first = step_find(l, s, t->task.name);
    if (first != CATALOG_NONE) {
        catalog_twice(l, "task", t->task.name, catalog_where_of(item),
                      catalog_where_of(s->where[first]));
        return;
    }
    struct catalog_step step = {.task = task, .jig = step_jig(l, owner->jig, t)};
    step.repeat = t->repeat >= 0 ? (uint8_t)t->repeat : owner->repeat;
    step.flags = owner->flags;
    if (t->lasting >= 0)
        step.flags &= (uint8_t)~DEF_F_LASTING; /* it says so itself */
    if (step.jig != CATALOG_NONE)
        params_check(l, t, l->jigs.at[step.jig].jig.implementation);
    s->where[s->n] = item;
    s->at[s->n++] = step;
}

static void step_after(struct load *l, struct steps *s, uint32_t step)
{
    const struct load_task *t = &l->tasks.at[s->at[step].task];
    uint32_t room = t->requires.given ? t->requires.n : 1, n = 0;
    uint32_t *after = arena_new(l->mem, uint32_t, room);

    if (!t->requires.given && step)
        after[n++] = step - 1;
    for (uint32_t i = 0; i < t->requires.n; i++) {
        uint32_t other = step_find(l, s, t->requires.at[i].name);
        if (other != CATALOG_NONE) {
            after[n++] = other;
            continue;
        }
        struct err *e = catalog_error(l, t->requires.at[i].at, ERR_UNKNOWN_NAME,
                                      "task \"%s\" requires \"%s\", which is not in this action",
                                      t->task.name.s, t->requires.at[i].name.s);
        if (!e)
            continue;
        struct strmap names = {0};
        for (uint32_t k = 0; k < s->n; k++)
            strmap_put(&names, l->tasks.at[s->at[k].task].task.name, k);
        catalog_hint_nearest(e, t->requires.at[i].name, &names);
        strmap_done(&names);
    }
    s->at[step].after = after;
    s->at[step].n_after = n;
}

/* graph_sort() tells a circle as "each needs the one before it"; people read it the other way. */
static void steps_circle(struct load *l, const struct steps *s, const uint32_t *circle, uint32_t n)
{
    SCOPED_BUF(path);

    for (uint32_t i = 0; i <= n; i++) {
        uint32_t task = s->at[circle[(2 * n - 1 - i) % n]].task;
        buf_printf(&path, "%s%s", i ? " -> " : "", l->tasks.at[task].task.name.s);
    }
    catalog_error(l, s->where[circle[n - 1]], ERR_CYCLE, "tasks require each other: %s", path.data);
}

static const uint32_t *steps_order(struct load *l, const struct steps *s)
{
    SCOPED_ARENA(mem);
    uint32_t *first = arena_new(&mem, uint32_t, s->n + 1), n_deps = 0, n_circle = 0;
    uint32_t *order = arena_new(l->mem, uint32_t, s->n), *circle = arena_new(&mem, uint32_t, s->n);

    for (uint32_t i = 0; i < s->n; i++)
        first[i + 1] = first[i] + s->at[i].n_after;
    uint32_t *deps = arena_new(&mem, uint32_t, first[s->n]);
    for (uint32_t i = 0; i < s->n; i++)
        for (uint32_t k = 0; k < s->at[i].n_after; k++)
            deps[n_deps++] = s->at[i].after[k];
    if (!graph_sort(s->n, first, deps, order, circle, &n_circle))
        steps_circle(l, s, circle, n_circle);
    return order;
}

struct catalog_action catalog_action_resolve(struct load *l, const struct action_owner *owner,
                                             struct str name, const struct value *list)
{
    struct steps s = {arena_new(l->mem, struct catalog_step, list->n),
                      arena_new(&l->scratch, const struct value *, list->n), 0};

    for (uint32_t i = 0; i < list->n; i++)
        step_add(l, owner, &s, &list->items[i]);
    for (uint32_t i = 0; i < s.n; i++)
        step_after(l, &s, i);
    return (struct catalog_action){name, s.at, steps_order(l, &s), s.n};
}

static struct catalog_action action_noop(struct load *l, uint32_t noop)
{
    struct catalog_step *step = arena_new(l->mem, struct catalog_step, 1);
    uintptr_t jig = 0;
    strmap_get(&l->by_jig, str_of("noop"), &jig);
    *step = (struct catalog_step){.task = noop, .jig = (uint32_t)jig, .repeat = REPEAT_SAFE};
    return (struct catalog_action){str_of("converge"), step, arena_new(l->mem, uint32_t, 1), 1};
}

/* --- services --- */

static const char *const phases[] = {"install", "configure", "initialize", "start"};
static const char *const other_phases[] = {"stop", "upgrade", "remove"};

static bool is_one_of(struct str name, const char *const *names, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (str_is(name, names[i]))
            return true;
    return false;
}

/* Has it a phase, and no converge of its own? */
static bool is_phased(const struct value *actions)
{
    bool any = false;

    for (uint32_t i = 0; actions && i < actions->n; i++) {
        struct str name = {actions->members[i].key, actions->members[i].key_n};
        if (str_is(name, "converge"))
            return false;
        any |= is_one_of(name, phases, sizeof phases / sizeof *phases) ||
               is_one_of(name, other_phases, sizeof other_phases / sizeof *other_phases);
    }
    return any;
}

/* Steps of one phase behind those of others: what waits for nothing in it waits for the last of the
 * phase before, [last, *n). */
static void phase_append(struct load *l, const struct catalog_action *a, uint32_t last,
                         struct catalog_step *steps, uint32_t *order, uint32_t *n)
{
    uint32_t base = *n, n_sinks = 0;
    uint32_t *sinks = arena_new(l->mem, uint32_t, base - last);
    bool *followed = arena_new(&l->scratch, bool, base - last);

    for (uint32_t i = last; i < base; i++)
        for (uint32_t k = 0; k < steps[i].n_after; k++)
            if (steps[i].after[k] >= last)
                followed[steps[i].after[k] - last] = true;
    for (uint32_t i = last; i < base; i++)
        if (!followed[i - last])
            sinks[n_sinks++] = i;
    for (uint32_t i = 0; i < a->n_steps; i++) {
        struct catalog_step step = a->steps[i];
        uint32_t *after = arena_new(l->mem, uint32_t, step.n_after);
        for (uint32_t k = 0; k < step.n_after; k++)
            after[k] = base + step.after[k];
        step.after = step.n_after ? after : sinks;
        step.n_after = step.n_after ? step.n_after : n_sinks;
        order[base + i] = base + a->order[i];
        steps[base + i] = step;
    }
    *n = base + a->n_steps;
}

/* What brings a service up, made of its phases. */
static struct catalog_action phases_join(struct load *l, const struct catalog_action *actions,
                                         uint32_t n_actions)
{
    const struct catalog_action *found[sizeof phases / sizeof *phases] = {0};
    uint32_t room = 0, n = 0, last = 0;

    for (size_t p = 0; p < sizeof phases / sizeof *phases; p++)
        for (uint32_t i = 1; i < n_actions; i++)
            if (str_is(actions[i].name, phases[p])) {
                found[p] = &actions[i];
                room += actions[i].n_steps;
            }
    struct catalog_step *steps = arena_new(l->mem, struct catalog_step, room);
    uint32_t *order = arena_new(l->mem, uint32_t, room);
    for (size_t p = 0; p < sizeof phases / sizeof *phases; p++) {
        if (!found[p] || !found[p]->n_steps)
            continue;
        uint32_t first = n;
        phase_append(l, found[p], last, steps, order, &n);
        last = first;
    }
    return (struct catalog_action){str_of("converge"), steps, order, n};
}

static struct action_owner role_owner(const struct catalog_role *role, struct str action)
{
    struct action_owner owner = {role->jig, REPEAT_SAFE, 0};

    if (role->flags & ROLE_F_DESTRUCTIVE)
        owner.repeat = REPEAT_ONCE;
    if (role->phased && (str_is(action, "install") || str_is(action, "initialize")))
        owner.flags = DEF_F_LASTING;
    return owner;
}

/* --- all of them --- */

void catalog_resolve_actions(struct load *l, uint32_t role, uint32_t noop)
{
    struct load_role *r = &l->roles.at[role];
    uint32_t listed = r->actions ? r->actions->n : 0, n = 1;
    uint64_t faults = l->n_faults;
    struct catalog_action *actions = arena_new(l->mem, struct catalog_action, listed + 1);

    r->role.phased = is_phased(r->actions);
    for (uint32_t i = 0; i < listed; i++) {
        const struct member *m = &r->actions->members[i];
        struct str name = {arena_strndup(l->mem, m->key, m->key_n), m->key_n};
        if (!text_is_name(name)) {
            catalog_error(l, &m->v, ERR_INVALID, "\"%s\" cannot be an action's name", name.s);
            continue;
        }
        const struct value *list = catalog_read_list(l, &m->v, "an action");
        bool converge = str_is(name, "converge");
        struct action_owner owner = role_owner(&r->role, name);
        actions[converge ? 0 : n++] = catalog_action_resolve(l, &owner, name, list);
    }
    if (r->role.phased)
        actions[0] = phases_join(l, actions, n);
    if (l->excused && (l->n_faults != faults || r->role.jig == CATALOG_NONE)) {
        n = 1; /* what it does is not known, and it is never bound */
        actions[0].n_steps = 0;
    }
    if (!r->at && !r->role.group)
        actions[0].name = str_of("converge"); /* built in: nothing to run */
    else if (!actions[0].n_steps)
        actions[0] = action_noop(l, noop);
    if (l->excused && r->role.jig == CATALOG_NONE)
        r->role.jig = actions[0].steps[0].jig;
    r->role.actions = actions;
    r->role.n_actions = n;
}
