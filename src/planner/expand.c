/* expand.c - noderoles become tasks, order edges, spans and pools
 *
 * A noderole's tasks are the steps of its role's converge action, written in an order in which each
 * comes after those it waits for.  That the first of them wait for all tasks of every parent is the
 * engine's rule and needs no edges here.  Since noderoles stand in the order of bind_cohort.c,
 * every task of a plan comes after all tasks that it waits for; weights are then one pass from the
 * end.
 *
 * A strategy is a pool that a span over all tasks of a noderole takes, of size 1 under one_by_one:
 * it holds whichever members of the role there are and by whatever plan they came.  A span takes
 * its pools in one step, so pools of single tasks join that span; without one each such task is a
 * span of its own.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "planner/expand_i.h"

#include <assert.h>

#include "base/digest.h"
#include "base/json.h"
#include "model/states.h"
#include "model/taskmsg.h"

const uint32_t *expand_refs(struct expansion *x)
{
    uint32_t *copy = arena_new(&x->plan->mem, uint32_t, x->refs.n);
    for (size_t i = 0; i < x->refs.n; i++)
        copy[i] = x->refs.at[i];
    return copy;
}

static struct str text_copy(struct expansion *x, struct str s)
{
    return (struct str){arena_strndup(&x->plan->mem, s.s, s.n), s.n};
}

/* --- pools --- */

static uint32_t pool_ref(struct expansion *x, struct str name, uint32_t size)
{
    uintptr_t known;
    if (strmap_get(&x->pools, name, &known))
        return (uint32_t)known;
    uint32_t ref = x->b->world->pool(x->b->world->ctx, name, NULL);
    if (!ref) {
        ref = (uint32_t)x->new_pools.n | PLAN_NEW;
        vec_push(&x->new_pools, ((struct plan_pool){text_copy(x, name), size}));
    }
    strmap_put(&x->pools, name, ref);
    return ref;
}

/* The pool of a role's strategy is as large as the catalog says now. */
static uint32_t strategy_pool(struct expansion *x, const struct catalog_role *role)
{
    uint32_t size = role->strategy == STRATEGY_ONE_BY_ONE ? 1 : role->max, is = 0;
    char name[PLANNER_POOL_NAME];

    planner_pool_name(x->b->req->deployment, role->name, name);
    uint32_t id = x->b->world->pool(x->b->world->ctx, str_of(name), &is);
    if (id && is != size)
        vec_push(&x->sizes, ((struct plan_size){id, size}));
    return pool_ref(x, str_of(name), size);
}

/* Adds a pool to those being collected, once. */
static void pool_collect(struct expansion *x, uint32_t ref)
{
    for (size_t i = 0; i < x->refs.n; i++)
        if (x->refs.at[i] == ref)
            return;
    vec_push(&x->refs, ref);
}

static void task_pools_collect(struct expansion *x, const struct catalog_task *t)
{
    for (uint32_t i = 0; i < t->n_pools; i++) {
        const struct catalog_pool *p = &x->b->cat->pools[t->pools[i]];
        pool_collect(x, pool_ref(x, p->name, p->size));
    }
}

static uint32_t span_add(struct expansion *x, const uint32_t *pools, uint32_t n)
{
    vec_push(&x->spans, ((struct plan_span){pools, n}));
    return (uint32_t)x->spans.n; /* index + 1 */
}

/* --- definitions --- */

/* What is as it is without being said is not part of it, so that digests stay what they were. */
static void test_put(struct arena *a, struct value *tests, const char *which,
                     const struct graph_test *t)
{
    struct value *v = value_map(a);

    if (!t->cmd.n)
        return;
    value_set(a, v, "cmd", value_str(a, t->cmd));
    if (t->timeout_ms)
        value_put_int(a, v, "timeout_ms", (int64_t)t->timeout_ms);
    if (t->retries)
        value_put_int(a, v, "retries", t->retries);
    if (t->retries && t->interval_ms != TASKMSG_TEST_INTERVAL_MS)
        value_put_int(a, v, "interval_ms", (int64_t)t->interval_ms);
    value_set(a, tests, which, v);
}

void expand_chains(struct plan_def *d, const struct value *tests)
{
    uint8_t never = DEF_F_OUTSIDE | DEF_F_TAKES_DOWN | DEF_F_UNDONE;
    if (!tests && d->repeat != REPEAT_ONCE && !(d->flags & never))
        d->flags |= DEF_F_CHAINS;
}

const struct value *expand_tests(struct arena *a, const struct graph_test *pre,
                                 const struct graph_test *post)
{
    struct value *tests = value_map(a);

    test_put(a, tests, "pre", pre);
    test_put(a, tests, "post", post);
    return tests->n ? tests : NULL;
}

/* What a definition is; what it does not have is not part of it, so that its digest stays. */
static struct value *def_value(struct arena *a, const struct plan_def *d, struct str jig,
                               struct str type, const struct value *params,
                               const struct value *tests, const struct value *returns)
{
    struct value *v = value_map(a);

    value_set(a, v, "name", value_str(a, d->name));
    value_set(a, v, "role", value_str(a, d->role));
    value_set(a, v, "jig", value_str(a, jig));
    value_set(a, v, "type", value_str(a, type));
    value_put_text(a, v, "repeat", repeat_name((enum repeat)d->repeat));
    value_put_text(a, v, "hold", hold_name((enum hold)d->hold));
    value_put_int(a, v, "flags", d->flags);
    value_put_int(a, v, "retries", d->retries);
    value_put_int(a, v, "backoff_ms", (int64_t)d->backoff_ms);
    value_put_int(a, v, "timeout_ms", (int64_t)d->timeout_ms);
    value_put_int(a, v, "deadline_ms", (int64_t)d->deadline_ms);
    value_set(a, v, "params", params);
    if (tests)
        value_set(a, v, "tests", tests);
    if (returns)
        value_set(a, v, "returns", returns);
    return v;
}

/* Keys that the task may put into the config of its node; NULL: none. */
static const struct value *def_returns(struct arena *a, const struct catalog_task *t)
{
    struct value *keys = value_list(a);

    for (uint32_t i = 0; i < t->n_returns; i++)
        value_add(a, keys, value_str(a, t->returns[i]));
    return keys->n ? keys : NULL;
}

static struct str def_body(struct arena *a, struct str type, const struct value *params,
                           const struct value *tests, const struct value *returns)
{
    SCOPED_BUF(text);
    struct jsonw w;

    jsonw_init(&w, &text);
    jsonw_map(&w);
    jsonw_key(&w, "type");
    jsonw_str(&w, type);
    jsonw_key(&w, "params");
    jsonw_value(&w, params);
    if (tests) {
        jsonw_key(&w, "tests");
        jsonw_value(&w, tests);
    }
    if (returns) {
        jsonw_key(&w, "returns");
        jsonw_value(&w, returns);
    }
    jsonw_end(&w);
    return (struct str){arena_strndup(a, text.data, text.len), text.len};
}

void expand_step_def(const struct catalog *cat, const struct catalog_role *role,
                     const struct catalog_step *step, uint32_t jig, struct arena *a,
                     struct plan_def *ret)
{
    const struct catalog_task *t = &cat->tasks[step->task];
    const struct catalog_jig *j = &cat->jigs[step->jig];
    SCOPED_ARENA(mem);
    SCOPED_BUF(text);
    struct plan_def d = {.name = t->name,
                         .role = role->name,
                         .jig = jig,
                         .repeat = step->repeat,
                         .hold = t->hold,
                         .flags = t->flags | step->flags,
                         .retries = t->retries,
                         .backoff_ms = t->backoff_ms,
                         .timeout_ms = t->timeout_ms,
                         .deadline_ms = t->deadline_ms};

    if (j->reach == REACH_OUTSIDE)
        d.flags |= DEF_F_OUTSIDE;
    if (str_is(j->implementation, "reboot")) /* what else could it do */
        d.flags |= DEF_F_TAKES_DOWN;
    const struct value *tests = expand_tests(&mem, &t->test_pre, &t->test_post);
    const struct value *returns = def_returns(&mem, t);
    json_write_canonical(
        &text, def_value(&mem, &d, j->name, j->implementation, t->params, tests, returns));
    d.digest = digest_64(text.data, text.len);
    expand_chains(&d, tests); /* which follows from what the digest is of */
    d.body = def_body(a, j->implementation, t->params, tests, returns);
    *ret = d;
}

/* A definition is what its digest says: one that the engine has, or that the plan brings along.
 * Role and task are part of it; a task that a role runs in several phases is the same in all. */
uint32_t expand_def(struct expansion *x, const struct catalog_role *role,
                    const struct catalog_step *step)
{
    struct plan_def d;

    expand_step_def(x->b->cat, role, step, x->b->jigs[step->jig].id, &x->plan->mem, &d);
    uint32_t ref = x->b->world->def(x->b->world->ctx, d.digest);
    uintptr_t known;
    if (!ref && u64map_get(&x->new_def, d.digest, &known))
        return (uint32_t)known;
    if (!ref) {
        ref = (uint32_t)x->new_defs.n | PLAN_NEW;
        u64map_put(&x->new_def, d.digest, ref);
        d.name = text_copy(x, d.name);
        d.role = text_copy(x, d.role);
        vec_push(&x->new_defs, d);
    }
    return ref;
}

/* --- roles --- */

static void strategy_pools(struct expansion *x, const struct catalog_role *role,
                           struct role_plan *rp)
{
    vec_clear(&x->refs);
    pool_collect(x, strategy_pool(x, role));
    for (uint32_t i = 0; i < rp->converge->n_steps; i++)
        task_pools_collect(x, &x->b->cat->tasks[rp->converge->steps[i].task]);
    rp->span_pools = expand_refs(x);
    rp->n_span_pools = (uint32_t)x->refs.n;
}

void expand_pools(struct expansion *x, const struct role_plan *rp, uint32_t position)
{
    const struct catalog_action *a = rp->converge;
    vec_clear(&x->refs);
    for (uint32_t i = 0; i < rp->n_span_pools; i++)
        vec_push(&x->refs, rp->span_pools[i]);
    if (!rp->span_pools)
        task_pools_collect(x, &x->b->cat->tasks[a->steps[a->order[position]].task]);
}

struct role_plan *expand_role(struct expansion *x, uint32_t number)
{
    struct arena *mem = &x->b->scratch;
    const struct catalog_role *role = &x->b->cat->roles[number];
    const struct catalog_action *a = &role->actions[0];

    if (x->roles[number])
        return x->roles[number];
    struct role_plan *rp = arena_new(mem, struct role_plan, 1);
    bool *followed = arena_new(mem, bool, a->n_steps);
    rp->converge = a;
    rp->defs = arena_new(mem, uint32_t, a->n_steps);
    rp->place = arena_new(mem, uint32_t, a->n_steps);
    rp->sinks = arena_new(mem, uint32_t, a->n_steps);
    for (uint32_t i = 0; i < a->n_steps; i++) {
        const struct catalog_step *step = &a->steps[a->order[i]];
        rp->place[a->order[i]] = i;
        rp->defs[i] = expand_def(x, role, step);
        for (uint32_t k = 0; k < step->n_after; k++)
            followed[step->after[k]] = true;
    }
    for (uint32_t i = 0; i < a->n_steps; i++)
        if (!followed[a->order[i]])
            rp->sinks[rp->n_sinks++] = i;
    if (role->strategy != STRATEGY_PARALLEL && a->n_steps)
        strategy_pools(x, role, rp);
    x->roles[number] = rp;
    return rp;
}

/* --- roll-outs --- */

uint32_t expand_rollout(struct expansion *x, uint32_t role)
{
    if (x->b->cat->roles[role].strategy == STRATEGY_PARALLEL)
        return 0;
    size_t i = 0;
    while (i < x->rollouts.n && x->rollouts.at[i].role != role)
        i++;
    if (i == x->rollouts.n)
        vec_push(&x->rollouts, ((struct expand_rollout){role, 0}));
    x->rollouts.at[i].members++;
    return (uint32_t)i + 1;
}

/* How many may fail is known when all members are. */
static void rollouts_seal(struct expansion *x)
{
    struct plan *p = x->plan;
    p->n_groups = (uint32_t)x->rollouts.n;
    p->groups = arena_new(&p->mem, struct plan_group, p->n_groups);
    for (uint32_t i = 0; i < p->n_groups; i++) {
        const struct catalog_role *role = &x->b->cat->roles[x->rollouts.at[i].role];
        int64_t may = graph_tolerance_of(&role->failures, x->rollouts.at[i].members);
        p->groups[i] = (struct plan_group){text_copy(x, role->name), may > 0 ? (uint32_t)may : 0,
                                           true};
    }
}

/* --- tasks --- */

void expand_converge(struct expansion *x, const struct role_plan *rp, uint32_t owner,
                     uint32_t first)
{
    uint32_t span = 0;

    if (rp->span_pools)
        span = span_add(x, rp->span_pools, rp->n_span_pools);
    for (uint32_t i = 0; i < rp->converge->n_steps; i++) {
        const struct catalog_step *step = &rp->converge->steps[rp->converge->order[i]];
        struct plan_task *t = &x->plan->tasks[first + i];
        *t = (struct plan_task){owner, rp->defs[i], 1, span, NULL, 0};
        if (step->n_after) {
            uint32_t *deps = arena_new(&x->plan->mem, uint32_t, step->n_after);
            for (uint32_t k = 0; k < step->n_after; k++)
                deps[k] = (first + rp->place[step->after[k]]) | PLAN_NEW;
            t->deps = deps;
            t->n_deps = step->n_after;
        }
        if (!span && x->b->cat->tasks[step->task].n_pools) {
            expand_pools(x, rp, i);
            t->span = span_add(x, expand_refs(x), (uint32_t)x->refs.n);
        }
    }
}

/* --- noderoles --- */

uint8_t planner_role_flags(const struct catalog_role *role)
{
    return (uint8_t)((role->rerun == RERUN_ALWAYS ? NODEROLE_F_RERUN_ALWAYS : 0) |
                     (role->flags & ROLE_F_DESTRUCTIVE ? NODEROLE_F_DESTRUCTIVE : 0) |
                     (role->flags & ROLE_F_CLUSTER ? NODEROLE_F_CLUSTER : 0) |
                     (role->flags & ROLE_F_IMPLICIT ? NODEROLE_F_IMPLICIT : 0));
}

uint32_t bind_ref_placed(const struct bind *b, uint32_t ref)
{
    return ref & PLAN_NEW ? b->fresh.at[ref & ~PLAN_NEW].place | PLAN_NEW : ref;
}

struct str expand_user(struct expansion *x, const struct value *user)
{
    SCOPED_BUF(text);
    if (!value_is(user, VALUE_MAP) || !user->n)
        return str_of("");
    json_write(&text, user, 0);
    return text_copy(x, buf_str(&text));
}

static void noderole_fill(struct expansion *x, uint32_t place, uint32_t first_task)
{
    const struct bind *b = x->b;
    const struct bind_new *from = &b->fresh.at[b->order[place]];
    const struct catalog_role *role = &b->cat->roles[from->role];
    struct plan_noderole *nr = &x->plan->noderoles[place];
    uint32_t *parents = arena_new(&x->plan->mem, uint32_t, from->n_links);

    for (uint32_t i = 0; i < from->n_links; i++)
        parents[i] = bind_ref_placed(b, b->parents.at[from->first_link + i].ref);
    *nr = (struct plan_noderole){.role = text_copy(x, role->name),
                                 .node = from->node,
                                 .deployment = b->req->deployment,
                                 .group = expand_rollout(x, from->role),
                                 .cohort = from->cohort,
                                 .flags = planner_role_flags(role),
                                 .data = from->data,
                                 .lens = role->lens_id,
                                 .first_task = first_task,
                                 .n_tasks = role->actions[0].n_steps,
                                 .parents = parents,
                                 .n_parents = from->n_links,
                                 .quorums = bind_quorums_placed(b, &from->quorums, &x->plan->mem),
                                 .n_quorums = from->quorums.n};
    nr->user = expand_user(x, from->user);
}

static void weight_raise(struct plan *p, uint32_t task, uint32_t least)
{
    if (p->tasks[task].weight < least)
        p->tasks[task].weight = least;
}

/* Passes the weights of tasks [first, end) on to what they wait for; the heaviest of them. */
static uint32_t weights_pass(struct plan *p, uint32_t first, uint32_t end)
{
    uint32_t heaviest = 0;
    for (uint32_t i = end; i-- > first;) {
        const struct plan_task *t = &p->tasks[i];
        heaviest = t->weight > heaviest ? t->weight : heaviest;
        for (uint32_t k = 0; k < t->n_deps; k++) {
            assert((t->deps[k] & PLAN_NEW) && (t->deps[k] & ~PLAN_NEW) < i);
            weight_raise(p, t->deps[k] & ~PLAN_NEW, t->weight + 1);
        }
    }
    return heaviest;
}

/* Tasks stand after those they wait for, noderoles after their parents: one pass from the end. */
static void weights(struct expansion *x, uint32_t first_changed)
{
    struct plan *p = x->plan;
    weights_pass(p, first_changed, p->n_tasks);
    for (uint32_t r = p->n_noderoles; r-- > 0;) {
        const struct plan_noderole *nr = &p->noderoles[r];
        uint32_t heaviest = weights_pass(p, nr->first_task, nr->first_task + nr->n_tasks);
        for (uint32_t k = 0; k < nr->n_parents; k++) {
            if (!(nr->parents[k] & PLAN_NEW))
                continue;
            uint32_t place = nr->parents[k] & ~PLAN_NEW;
            const struct role_plan *rp = x->roles[x->b->fresh.at[x->b->order[place]].role];
            for (uint32_t i = 0; i < rp->n_sinks; i++)
                weight_raise(p, p->noderoles[place].first_task + rp->sinks[i], heaviest + 1);
        }
    }
}

static void plan_seal(struct expansion *x)
{
    struct plan *p = x->plan;
#define SEAL(field, from, type)                                                                    \
    do {                                                                                           \
        p->field = arena_new(&p->mem, type, (from).n);                                             \
        for (size_t i = 0; i < (from).n; i++)                                                      \
            p->field[i] = (from).at[i];                                                            \
        p->n_##field = (uint32_t)(from).n;                                                         \
    } while (0)
    SEAL(defs, x->new_defs, struct plan_def);
    SEAL(pools, x->new_pools, struct plan_pool);
    SEAL(spans, x->spans, struct plan_span);
    SEAL(needs, x->b->needs, struct plan_need);
    SEAL(sizes, x->sizes, struct plan_size);
#undef SEAL
    rollouts_seal(x);
    for (uint32_t i = 0; i < p->n_needs; i++)
        p->needs[i].parent = bind_ref_placed(x->b, p->needs[i].parent);
}

static void expansion_done(struct expansion *x)
{
    strmap_done(&x->pools);
    vec_done(&x->new_defs);
    u64map_done(&x->new_def);
    vec_done(&x->new_pools);
    vec_done(&x->spans);
    vec_done(&x->sizes);
    vec_done(&x->refs);
    vec_done(&x->rollouts);
}

int bind_expand(struct bind *b, struct plan *p)
{
    struct expansion x = {.b = b, .plan = p};
    uint64_t n_tasks = 0, changed;

    p->n_noderoles = (uint32_t)b->fresh.n;
    p->noderoles = arena_new(&p->mem, struct plan_noderole, p->n_noderoles);
    x.roles = arena_new(&b->scratch, struct role_plan *, b->cat->n_roles);
    for (uint32_t i = 0; i < p->n_noderoles; i++) {
        noderole_fill(&x, i, (uint32_t)n_tasks);
        n_tasks += p->noderoles[i].n_tasks;
    }
    changed = expand_changes_count(&x);
    if (n_tasks + changed > b->max_tasks) {
        expansion_done(&x);
        return err_set(b->err, ERR_LIMIT, "more than %u tasks in one plan", b->max_tasks);
    }
    p->n_tasks = (uint32_t)(n_tasks + changed);
    p->tasks = arena_new(&p->mem, struct plan_task, p->n_tasks);
    for (uint32_t i = 0; i < p->n_noderoles; i++) {
        uint32_t role = b->fresh.at[b->order[i]].role;
        expand_converge(&x, expand_role(&x, role), i | PLAN_NEW, p->noderoles[i].first_task);
    }
    expand_changes_fill(&x, (uint32_t)n_tasks);
    expand_successors(&x);
    weights(&x, (uint32_t)n_tasks);
    plan_seal(&x);
    expansion_done(&x);
    return 0;
}
