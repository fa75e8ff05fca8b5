/* bind.c - a request from end to end
 *
 * Each step works on everything at once: first all that the request names is created, then what
 * that needs is found or created, then what it uses, then peers, circles, cohorts and tasks.  So
 * the order of a request decides at most between equals, and nothing that a refusal would have to
 * undo is ever done.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "planner/planner.h"
#include "planner/bind_i.h"

#include <stdio.h>

#include "base/digest.h"
#include "base/json.h"
#include "base/text.h"
#include "model/lens.h"

const char *bind_why_name(enum bind_why w)
{
    static const char *const names[BIND_WHY_COUNT] = {
#define X(id, text) text,
        BIND_WHYS(X)
#undef X
    };
    return (unsigned)w < BIND_WHY_COUNT ? names[w] : "?";
}

const char *bind_found_name(enum bind_found f)
{
    static const char *const names[FOUND_COUNT] = {
#define X(id, text) text,
        BIND_FOUNDS(X)
#undef X
    };
    return (unsigned)f < FOUND_COUNT ? names[f] : "?";
}

void planner_pool_name(uint32_t deployment, struct str role, char ret[PLANNER_POOL_NAME])
{
    snprintf(ret, PLANNER_POOL_NAME, "role:%u/%.*s", deployment, (int)role.n, role.s);
}

/* --- data --- */

int planner_data(struct arena *a, const struct catalog_role *role, const struct value *user,
                 const struct value **ret_data, uint64_t *ret_digest, struct err *e)
{
    SCOPED_BUF(text);
    int r = lens_data(a, role->schema, role->defaults, user, ret_data, e);
    if (r < 0)
        return r;
    json_write_canonical(&text, *ret_data);
    *ret_digest = digest_64(text.data, text.len);
    return 0;
}

/* Most noderoles have no data of their own: the defaults' digest is made once a role. */
int bind_data(struct bind *b, uint32_t role, const struct value *user, uint64_t *ret)
{
    struct bind_role *known = &b->roles[role];
    bool plain = !value_is(user, VALUE_MAP) || !user->n;
    const struct value *data;

    if (plain && known->has_data) {
        *ret = known->data;
        return 0;
    }
    int r = planner_data(&b->scratch, &b->cat->roles[role], user, &data, ret, b->err);
    if (r < 0 || !plain)
        return r;
    known->has_data = true;
    known->data = *ret;
    return 0;
}

uint64_t bind_inputs(const struct bind *b, uint32_t noderole, const struct value *user,
                     uint64_t data)
{
    return b->world->inputs ? b->world->inputs(b->world->ctx, noderole, user) : data;
}

/* --- what the request names --- */

static int item_role(struct bind *b, const struct bind_item *item, uint32_t *ret_role)
{
    uint32_t name = catalog_name_find(b->cat, item->role);
    int shown = (int)text_utf8_prefix(item->role.s, item->role.n < 64 ? item->role.n : 64);

    if (name != CATALOG_NONE && b->cat->names[name].role != CATALOG_NONE) {
        *ret_role = b->cat->names[name].role;
        return 0;
    }
    int r = err_set(b->err, ERR_UNKNOWN_NAME,
                    "there is no role %.*s in generation %u of the catalog", shown, item->role.s,
                    b->cat->number);
    if (name != CATALOG_NONE) {
        const struct catalog_name *n = &b->cat->names[name];
        (void)err_hint(b->err, "%s is provided by roles such as %s: bind one of them", n->name.s,
                       b->cat->roles[n->providers[0]].name.s);
        return r;
    }
    const char *best = catalog_role_nearest(b->cat, item->role);
    if (best)
        (void)err_hint(b->err, "did you mean \"%s\"?", best);
    else
        (void)err_hint(b->err, "`anneal role list` shows the roles there are");
    return r;
}

static bool same_data(const struct value *a, const struct value *b)
{
    bool no_a = !value_is(a, VALUE_MAP) || !a->n, no_b = !value_is(b, VALUE_MAP) || !b->n;
    return no_a || no_b ? no_a == no_b : value_equal(a, b);
}

/* Whose tasks a noderole of a group has, its deployment says: it cannot stand for another one. */
static int group_elsewhere(struct bind *b, uint32_t ref, uint32_t deployment)
{
    struct str name = str_of("?");
    uint32_t parent;
    (void)b->world->deployment(b->world->ctx, deployment, &name, &parent);
    err_set(b->err, ERR_CONFLICT, "%s is in deployment %.*s", bind_ref_text(b, ref), (int)name.n,
            name.s);
    return err_hint(b->err, "a node is in a group for one deployment only: unbind it there first");
}

/* The role is on the node already: live, or named twice. */
static int item_present(struct bind *b, uint32_t number, uint32_t ref, uint64_t data)
{
    const struct bind_item *item = &b->req->items[number];
    struct planner_noderole info;

    if (ref & PLAN_NEW) {
        if (same_data(b->fresh.at[ref & ~PLAN_NEW].user, item->user))
            return 0;
        return err_set(b->err, ERR_INVALID, "%s is requested twice, with different data",
                       bind_ref_text(b, ref));
    }
    b->world->noderole(b->world->ctx, ref, &info);
    if (b->cat->roles[bind_ref_role(b, ref)].group && info.deployment != b->req->deployment)
        return group_elsewhere(b, ref, info.deployment);
    bool other = info.data != bind_inputs(b, ref, item->user, data);
    vec_push(&b->present, ((struct bind_present){ref, number, other}));
    return 0;
}

static int item_bind(struct bind *b, uint32_t number)
{
    const struct bind_item *item = &b->req->items[number];
    uint32_t role = 0, ref, created;
    uint64_t data = 0;
    int r;

    if ((r = item_role(b, item, &role)) < 0 || (r = bind_node_open(b, item->node)) < 0)
        return r;
    if ((r = bind_data(b, role, item->user, &data)) < 0) {
        (void)err_wrap(b->err, "%s@%s", b->cat->roles[role].name.s, bind_node_text(b, item->node));
        return r;
    }
    if (bind_node_holder(b, item->node, b->cat->roles[role].name_id, &ref) &&
        bind_ref_role(b, ref) == role)
        return item_present(b, number, ref, data);
    if ((r = bind_create(b, role, item->node, BIND_NONE, BIND_NONE, &created)) < 0)
        return r;
    b->fresh.at[created].user = item->user;
    b->fresh.at[created].data = data;
    return 0;
}

/* Digests of what nobody asked for by name, and so has its defaults. */
static int created_data(struct bind *b)
{
    for (uint32_t i = 0; i < b->fresh.n; i++) {
        struct bind_new *nr = &b->fresh.at[i];
        int r = nr->because == BIND_NONE ? 0 : bind_data(b, nr->role, NULL, &nr->data);
        if (r < 0)
            return r;
    }
    return 0;
}

int bind_deployments_open(struct bind *b)
{
    VEC(uint32_t) chain = {0};
    uint32_t at = b->req->deployment, parent = 0;
    struct str name;

    while (at && chain.n < PLANNER_MAX_DEPTH &&
           b->world->deployment(b->world->ctx, at, &name, &parent)) {
        vec_push(&chain, at);
        at = parent;
    }
    b->n_deployments = (uint32_t)chain.n;
    b->deployments = arena_new(&b->scratch, uint32_t, chain.n);
    for (size_t i = 0; i < chain.n; i++)
        b->deployments[i] = chain.at[i];
    vec_done(&chain);
    if (!b->n_deployments)
        return err_set(b->err, ERR_UNKNOWN_NAME, "there is no deployment %u", b->req->deployment);
    if (at)
        return err_set(b->err, ERR_CORRUPT, "deployment %u does not lead to a root", at);
    return 0;
}

/* --- from end to end --- */

static int bind_all(struct bind *b, struct plan *p)
{
    int r = bind_deployments_open(b);

    for (uint32_t i = 0; i < b->req->n_items && r >= 0; i++)
        r = item_bind(b, i);
    if (r < 0 || (r = bind_find_required(b)) < 0)
        return r;
    bind_find_used(b);
    if ((r = bind_settle_parents(b)) < 0 || (r = bind_cohorts(b)) < 0 || (r = bind_needs(b)) < 0 ||
        (r = bind_enough(b)) < 0 || (r = created_data(b)) < 0)
        return r;
    return bind_expand(b, p);
}

void bind_init(struct bind *b)
{
    const struct bind_request *req = b->req;

    arena_init(&b->scratch);
    b->max_noderoles = req->max_noderoles ? req->max_noderoles : PLANNER_MAX_NODEROLES;
    b->max_needs = req->max_needs ? req->max_needs : PLANNER_MAX_NEEDS;
    b->max_tasks = req->max_tasks ? req->max_tasks : PLANNER_MAX_TASKS;
    b->machine = catalog_name_find(b->cat, str_of(CATALOG_MACHINE));
    b->roles = arena_new(&b->scratch, struct bind_role, b->cat->n_roles);
    b->jigs = arena_new(&b->scratch, struct bind_jig, b->cat->n_jigs);
    for (uint32_t i = 0; i < b->cat->n_roles; i++)
        b->roles[i].first_new = b->roles[i].last_new = BIND_NONE;
}

void bind_done(struct bind *b)
{
    vec_done(&b->fresh);
    vec_done(&b->links);
    vec_done(&b->parents);
    vec_done(&b->present);
    vec_done(&b->needs);
    vec_done(&b->changes);
    u64map_done(&b->instances);
    u64map_done(&b->nodes);
    u64map_done(&b->held);
    u64map_done(&b->refused);
    u64map_done(&b->leaving);
    u64map_done(&b->back);
    u64map_done(&b->gained);
    u64map_done(&b->lost);
    arena_done(&b->scratch);
}

int planner_bind(const struct catalog *c, const struct planner_world *w,
                 const struct bind_request *req, struct plan **ret_plan,
                 struct planner_steps **ret_steps, struct err *e)
{
    SCOPED(plan) *p = plan_new();
    struct err unread;
    struct bind b = {.cat = c, .world = w, .req = req, .err = e ? e : &unread};

    bind_init(&b);
    p->catalog = c->number;
    int r = bind_all(&b, p);
    if (r >= 0) {
        if (ret_steps)
            *ret_steps = bind_steps_make(&b);
        *ret_plan = p;
        p = NULL;
        r = 0;
    }
    bind_done(&b);
    return r;
}
