/* bind_find.c - which noderole answers a want
 *
 * The search is the one planner.h describes, in that order and with no tie left open.  It never
 * answers with the one who asks: a role may both require and provide a name, as a proxy does.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "planner/bind_i.h"

struct found {
    uint32_t ref, deployment;
    enum bind_found how;
};

struct planner_ids bind_instances(struct bind *b, uint32_t role, uint32_t deployment)
{
    uint64_t key = (uint64_t)deployment << 32 | role;
    uintptr_t known;

    if (u64map_get(&b->instances, key, &known))
        return *(const struct planner_ids *)known;
    struct planner_ids live = b->world->instances(b->world->ctx, b->cat->roles[role].name,
                                                  deployment);
    uint32_t *ids = arena_new(&b->scratch, uint32_t, live.n);
    struct planner_ids *kept = arena_new(&b->scratch, struct planner_ids, 1);
    uint32_t n = 0;
    for (uint32_t i = 0; i < live.n; i++)
        if (!u64map_get(&b->leaving, live.at[i], NULL))
            ids[n++] = live.at[i];
    *kept = (struct planner_ids){ids, n};
    if (deployment == b->req->deployment && b->roles[role].returns)
        *kept = bind_back_among(b, role, *kept);
    u64map_put(&b->instances, key, (uintptr_t)kept);
    return *kept;
}

/* The first live instance; 0: none.  A name that every node has must not cost a list of them. */
static uint32_t lowest_live(struct bind *b, uint32_t role, uint32_t deployment)
{
    if (b->world->lowest && b->leaving.n == 0)
        return b->world->lowest(b->world->ctx, b->cat->roles[role].name, deployment);
    struct planner_ids live = bind_instances(b, role, deployment);
    return live.n ? live.at[0] : 0;
}

/* The lowest instance of a role in a deployment: live ones by (cohort, id), then new ones. */
static bool lowest_instance(struct bind *b, uint32_t role, uint32_t deployment, uint32_t asking,
                            uint32_t *ret_ref)
{
    uint32_t live = lowest_live(b, role, deployment);
    uint32_t number = b->roles[role].first_new;

    if (live) {
        *ret_ref = live;
        return true;
    }
    if (number == asking && number != BIND_NONE)
        number = b->fresh.at[number].next;
    if (deployment != b->req->deployment || number == BIND_NONE)
        return false;
    *ret_ref = number | PLAN_NEW;
    return true;
}

/* Is a before b?  Live before new, then by (cohort, id), new ones by number. */
static bool ref_before(const struct bind *b, uint32_t x, uint32_t y)
{
    struct planner_noderole xi, yi;

    if ((x | y) & PLAN_NEW)
        return x < y; /* an id is below every PLAN_NEW */
    b->world->noderole(b->world->ctx, x, &xi);
    b->world->noderole(b->world->ctx, y, &yi);
    return xi.cohort != yi.cohort ? xi.cohort < yi.cohort : x < y;
}

static bool find_in_deployment(struct bind *b, uint32_t name, uint32_t deployment, uint32_t asking,
                               uint32_t *ret_ref)
{
    const struct catalog_name *n = &b->cat->names[name];
    bool any = false;
    uint32_t ref;

    if (n->role != CATALOG_NONE && lowest_instance(b, n->role, deployment, asking, ret_ref))
        return true;
    for (uint32_t i = 0; i < n->n_providers; i++)
        if (lowest_instance(b, n->providers[i], deployment, asking, &ref) &&
            (!any || ref_before(b, ref, *ret_ref))) {
            *ret_ref = ref;
            any = true;
        }
    return any;
}

static struct found found_on_node(struct bind *b, uint32_t name, uint32_t ref)
{
    struct found f = {ref, b->req->deployment, FOUND_PROVIDED};
    struct planner_noderole info;

    if (bind_ref_role(b, ref) == b->cat->names[name].role)
        f.how = FOUND_ON_NODE;
    if (!(ref & PLAN_NEW)) {
        b->world->noderole(b->world->ctx, ref, &info);
        f.deployment = info.deployment;
    }
    return f;
}

/* Everything but creating. */
static bool find_present(struct bind *b, uint32_t asking, uint32_t name, struct found *ret)
{
    const struct catalog_name *n = &b->cat->names[name];
    uint32_t ref;

    if (bind_node_holder(b, b->fresh.at[asking].node, name, &ref) && ref != (asking | PLAN_NEW)) {
        *ret = found_on_node(b, name, ref);
        return true;
    }
    if (n->role != CATALOG_NONE && b->cat->roles[n->role].flags & ROLE_F_IMPLICIT)
        return false;
    for (uint32_t i = 0; i < b->n_deployments; i++)
        if (find_in_deployment(b, name, b->deployments[i], asking, &ref)) {
            *ret = (struct found){ref, b->deployments[i], FOUND_IN_DEPLOYMENT};
            return true;
        }
    return false;
}

/* The role to create for a name: the one called so, or the only one that provides it. */
static int role_for(struct bind *b, uint32_t asking, uint32_t name, uint32_t *ret_role)
{
    const struct catalog_name *n = &b->cat->names[name];
    struct buf text = {0};

    if (n->role != CATALOG_NONE || n->n_providers == 1) {
        *ret_role = n->role != CATALOG_NONE ? n->role : n->providers[0];
        return 0;
    }
    for (uint32_t i = 0; i < n->n_providers && i < 8; i++)
        buf_printf(&text, "%s%s", i ? ", " : "", b->cat->roles[n->providers[i]].name.s);
    (void)err_set(b->err, ERR_REFUSED, "%snobody provides it yet, and %u roles could",
                  bind_chain_text(b, asking, name), n->n_providers);
    (void)err_hint(b->err, "bind one of them as well: %s", buf_str(&text).s);
    buf_done(&text);
    return -ERR_REFUSED;
}

static int find_or_create(struct bind *b, uint32_t asking, uint32_t name, struct found *ret)
{
    uint32_t role, number;
    int r;

    if (find_present(b, asking, name, ret))
        return 0;
    if ((r = role_for(b, asking, name, &role)) < 0 ||
        (r = bind_create(b, role, b->fresh.at[asking].node, asking, name, &number)) < 0)
        return r;
    *ret = (struct found){number | PLAN_NEW, b->req->deployment, FOUND_CREATED};
    return 0;
}

static void link_add(struct bind *b, uint32_t child, uint32_t name, const struct found *f,
                     bool used)
{
    vec_push(&b->links, ((struct bind_link){.child = child,
                                            .ref = f->ref,
                                            .name = name,
                                            .deployment = f->deployment,
                                            .found = (uint8_t)f->how,
                                            .used = used}));
}

/* The list of new noderoles grows while it is walked: what is created has needs of its own. */
int bind_find_required(struct bind *b)
{
    for (uint32_t i = 0; i < b->fresh.n; i++) {
        const struct catalog_role *role = bind_role_of(b, i);
        for (uint32_t k = 0; k < role->n_requires; k++) {
            struct found f;
            int r = find_or_create(b, i, role->requires[k].name, &f);
            if (r < 0)
                return r;
            link_add(b, i, role->requires[k].name, &f, false);
        }
    }
    return 0;
}

void bind_find_used(struct bind *b)
{
    for (uint32_t i = 0; i < b->fresh.n; i++) {
        const struct catalog_role *role = bind_role_of(b, i);
        for (uint32_t k = 0; k < role->n_uses; k++) {
            struct found f;
            if (find_present(b, i, role->uses[k].name, &f))
                link_add(b, i, role->uses[k].name, &f, true);
        }
    }
}

/* --- every parent once, with its peers --- */

struct settling {
    struct bind *b;
    uint32_t child;
    uint32_t *seen_new; /* child + 1 that has it as a parent already */
    struct u64map seen_live;
};

static void parent_add(struct settling *s, const struct bind_link *link, uint32_t ref,
                       enum bind_found how)
{
    uintptr_t last = 0;

    if (ref == (s->child | PLAN_NEW))
        return;
    if (ref & PLAN_NEW) {
        uint32_t *seen = &s->seen_new[ref & ~PLAN_NEW];
        last = *seen;
        *seen = s->child + 1;
    } else {
        u64map_get(&s->seen_live, ref, &last);
        u64map_put(&s->seen_live, ref, s->child + 1);
    }
    if (last == s->child + 1)
        return;
    struct bind_link parent = *link;
    parent.ref = ref;
    parent.found = (uint8_t)how;
    vec_push(&s->b->parents, parent);
}

static void link_settle(struct settling *s, const struct bind_link *link)
{
    struct bind *b = s->b;
    uint32_t role = bind_ref_role(b, link->ref);

    parent_add(s, link, link->ref, (enum bind_found)link->found);
    if (role == CATALOG_NONE || !(b->cat->roles[role].flags & ROLE_F_CLUSTER))
        return;
    struct planner_ids live = bind_instances(b, role, link->deployment);
    for (uint32_t i = 0; i < live.n; i++)
        parent_add(s, link, live.at[i], FOUND_PEER);
    if (link->deployment != b->req->deployment)
        return;
    for (uint32_t i = b->roles[role].first_new; i != BIND_NONE; i = b->fresh.at[i].next)
        parent_add(s, link, i | PLAN_NEW, FOUND_PEER);
}

/* Whatever is on a node needs the machine, if that is bound to it. */
static void machine_settle(struct settling *s)
{
    struct bind *b = s->b;
    uint32_t ref;

    if (bind_role_of(b, s->child)->name_id == b->machine ||
        !bind_node_holder(b, b->fresh.at[s->child].node, b->machine, &ref) ||
        ref == (s->child | PLAN_NEW))
        return;
    struct found f = found_on_node(b, b->machine, ref);
    struct bind_link link = {s->child, f.ref, b->machine, f.deployment, (uint8_t)f.how, false};
    parent_add(s, &link, f.ref, f.how);
}

int bind_settle_parents(struct bind *b)
{
    struct settling s = {.b = b, .seen_new = arena_new(&b->scratch, uint32_t, b->fresh.n)};
    size_t required = 0, used = 0;
    int r = 0;

    while (used < b->links.n && !b->links.at[used].used)
        used++;
    for (uint32_t i = 0; i < b->fresh.n && !r; i++) {
        s.child = i;
        b->fresh.at[i].first_link = (uint32_t)b->parents.n;
        machine_settle(&s);
        for (; required < b->links.n && !b->links.at[required].used &&
               b->links.at[required].child == i;
             required++)
            link_settle(&s, &b->links.at[required]);
        for (; used < b->links.n && b->links.at[used].child == i; used++)
            link_settle(&s, &b->links.at[used]);
        b->fresh.at[i].n_links = (uint32_t)b->parents.n - b->fresh.at[i].first_link;
        if (b->parents.n > b->max_needs)
            r = err_set(b->err, ERR_LIMIT, "more than %u needs in one plan", b->max_needs);
    }
    u64map_done(&s.seen_live);
    return r;
}
