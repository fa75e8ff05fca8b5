/* hook_scope.c - what a hook can look at, made only as far as it does
 *
 * A compiled hook knows what it reads.  A name that it does not read is not made, and of those that
 * cost more than a look-up (facts of a node, lists of nodes) only what is read: a hook that reads
 * one field costs one field.  docs/hooks.md says what each name is.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "server/hooks_i.h"

enum { BOUND_MOST = 20000 }; /* nodes of one role that a hook may go through */

static const char *const scope_names[HOOK_NAME_COUNT] = {
#define X(id, name, events) name,
    HOOK_NAMES(X)
#undef X
};

/* Is a path read that is, lies below, or (with part NULL) begins with a name? */
static bool reads(const struct hook *h, const char *name, struct str part)
{
    size_t n = strlen(name);
    struct str path;
    for (size_t i = 0; hook_read_at(h, i, &path); i++) {
        if (path.n < n || memcmp(path.s, name, n) != 0 || (path.n > n && path.s[n] != '.'))
            continue;
        if (!part.n || path.n == n)
            return true;
        struct str rest = {path.s + n + 1, path.n - n - 1};
        if (rest.n >= part.n && memcmp(rest.s, part.s, part.n) == 0 &&
            (rest.n == part.n || rest.s[part.n] == '.'))
            return true;
    }
    return false;
}

/* ---- data ---- */

static const struct value *doc_of(struct arena *mem, const char *text)
{
    return text && *text ? view_json(mem, text) : NULL;
}

/* Data of a role in the deployments above and its own: the weakest, the root's, first. */
static const struct value *deployment_data(struct server *s, struct str role, uint32_t deployment,
                                           const struct value *under, struct arena *mem)
{
    uint32_t chain[1000], n = 0, number = desire_role_find(s->desire, role);
    for (; number && deployment && n < sizeof chain / sizeof *chain;
         deployment = s->inv.deployments.at[deployment].parent)
        chain[n++] = deployment;
    while (n-- > 0) {
        const struct snapshot *head = desire_head(s->desire, chain[n]);
        struct snapshot_entry t = {0};
        struct err e;
        if (head && snapshot_find_key(mem, head->root, snapshot_key(number, 0), &t, &e) > 0 &&
            t.user) {
            struct str text = desire_doc_text(s->desire, t.user);
            under = value_merge(mem, under, view_json(mem, arena_strndup(mem, text.s, text.n)));
        }
    }
    return under;
}

const struct value *hook_own_data(struct server *s, const struct catalog_role *role,
                                  uint32_t deployment, const char *wall, const char *system,
                                  const char *user, struct arena *mem)
{
    const char *layers[] = {wall, system, user};
    const struct value *v = deployment_data(s, role->name, deployment, role->defaults, mem);
    for (size_t i = 0; i < sizeof layers / sizeof *layers; i++) {
        const struct value *doc = doc_of(mem, layers[i]);
        v = doc ? value_merge(mem, v, doc) : v;
    }
    return v ? v : value_map(mem);
}

static const struct value *data_value(struct server *s, const struct hook_subject *u,
                                      struct arena *mem)
{
    if (u->data)
        return u->data;
    const struct inv_noderole *n = &s->inv.noderoles.at[u->noderole];
    return hook_own_data(s, u->role, u->deployment, n->wall, n->system, n->user, mem);
}

/* ---- the others ---- */

static const struct value *noderole_value(struct server *s, const struct hook_subject *u,
                                          struct arena *mem)
{
    struct value *v = value_map(mem);
    struct noderole_view view = {0};
    bool lives = anneal_noderole(s->engine, u->noderole, &view);
    value_put_int(mem, v, "id", u->noderole);
    value_put_text(mem, v, "name", hook_subject_name(s, u, mem));
    value_put_text(mem, v, "node", hook_node_name(s, u->node));
    value_put_text(mem, v, "deployment", view_deployment_name(s, u->deployment));
    value_put_text(mem, v, "state",
                   lives      ? noderole_state_name((enum noderole_state)view.state)
                   : u->state ? u->state
                              : noderole_state_name(NODEROLE_REMOVED));
    value_put_text(mem, v, "target", target_name((enum target)view.target));
    value_put_int(mem, v, "runs", view.run_count);
    return v;
}

/* A node that is about to be: what was asked for, and what it will have without being asked. */
static const struct value *guest_value(const struct hook_guest *guest, struct arena *mem)
{
    static const char *const lists[] = {"groups", "addresses"}, *const maps[] = {"labels", "facts"};
    struct value *v = value_copy(mem, guest->body);
    value_put_text(mem, v, "name", guest->name);
    for (size_t i = 0; i < 2; i++) {
        if (!value_get(v, lists[i]))
            value_set(mem, v, lists[i], value_list(mem));
        if (!value_get(v, maps[i]))
            value_set(mem, v, maps[i], value_map(mem));
    }
    if (!value_get(v, "alive"))
        value_put_text(mem, v, "alive", alive_state_name(ALIVE_UNKNOWN));
    if (!value_get(v, "available"))
        value_put_bool(mem, v, "available", true);
    if (!value_get(v, "admin"))
        value_put_bool(mem, v, "admin", false);
    return v;
}

static const struct value *node_value(struct server *s, const struct hook *h,
                                      const struct hook_subject *u, struct arena *mem)
{
    struct str path;
    bool whole = false;
    if (u->after)
        return u->after;
    for (size_t i = 0; hook_read_at(h, i, &path); i++)
        whole |= path.n >= 4 && memcmp(path.s, "node", 4) == 0 &&
                 (path.n == 4 || path.s[4] == '.') && !str_is(path, "node.name");
    if (s->hooks->guest && s->hooks->guest->node == u->node)
        return guest_value(s->hooks->guest, mem);
    if (whole)
        return view_node(s, mem, u->node);
    struct value *v = value_map(mem);
    value_put_text(mem, v, "name", view_node_name(s, u->node));
    return v;
}

static int id_order(const void *x, const void *y)
{
    uint32_t a = *(const uint32_t *)x, b = *(const uint32_t *)y;
    return (a > b) - (a < b);
}

/* Names of the nodes where a role is bound, in the order in which it was. */
static int bound_nodes(struct server *s, struct str role, struct arena *mem,
                       const struct value **ret_v, struct err *e)
{
    struct value *list = value_list(mem);
    VEC(uint32_t) ids = {0};
    uintptr_t number;
    int rc = 0;
    if (strmap_get(&s->inv.role_by_name, role, &number))
        for (uint32_t d = 1; d < s->inv.deployments.n; d++) {
            const struct id_list *l = inventory_instances(&s->inv, (uint32_t)number, d);
            for (size_t i = 0; l && i < l->ids.n; i++)
                vec_push(&ids, l->ids.at[i]);
        }
    if (ids.n > BOUND_MOST)
        rc = err_set(e, ERR_LIMIT, "%.*s is bound to %zu nodes; a hook may look at %d", (int)role.n,
                     role.s, ids.n, BOUND_MOST);
    else if (ids.n)
        qsort(ids.at, ids.n, sizeof *ids.at, id_order);
    for (size_t i = 0; rc >= 0 && i < ids.n; i++) {
        struct noderole_view v;
        if (anneal_noderole(s->engine, ids.at[i], &v))
            value_add(mem, list, value_text(mem, view_node_name(s, v.node)));
    }
    vec_done(&ids);
    *ret_v = list;
    return rc;
}

static int bound_value(struct server *s, const struct hook *h, const struct hook_subject *u,
                       struct arena *mem, const struct value **ret_v, struct err *e)
{
    struct value *map = value_map(mem);
    int rc = 0;
    for (uint32_t i = 0; rc >= 0 && i < s->catalog->n_roles; i++) {
        const struct catalog_role *r = &s->catalog->roles[i];
        const struct value *nodes;
        if (r->barclamp != u->role->barclamp || !reads(h, "bound", r->name))
            continue;
        rc = bound_nodes(s, r->name, mem, &nodes, e);
        if (rc >= 0)
            value_set_str(mem, map, r->name, nodes);
    }
    *ret_v = map;
    return rc;
}

const struct value *hook_changed_fields(const struct value *before, const struct value *after,
                                        struct arena *mem)
{
    /* These follow from others, or say only that something changed. */
    static const char *const derived[] = {"rev", "state", "noderoles"};
    struct value *list = value_list(mem);
    for (uint32_t i = 0; value_is(after, VALUE_MAP) && i < after->n; i++) {
        const struct member *m = &after->members[i];
        struct str key = {m->key, m->key_n};
        bool told = true;
        for (size_t k = 0; k < sizeof derived / sizeof *derived; k++)
            told &= !str_is(key, derived[k]);
        const struct value *was = value_get_str(before, key);
        if (told && (!was || !value_equal(was, &m->v)))
            value_add(mem, list, value_str(mem, key));
    }
    return list;
}

/* ---- all together ---- */

static int name_value(struct server *s, enum hook_name name, const struct hook *h,
                      const struct hook_subject *u, struct arena *mem, const struct value **ret_v,
                      struct err *e)
{
    switch (name) {
    case HOOK_NAME_EVENT: *ret_v = value_text(mem, hook_event_name(hook_event_of(h))); break;
    case HOOK_NAME_ROLE: *ret_v = value_str(mem, u->role->name); break;
    case HOOK_NAME_NODEROLE: *ret_v = noderole_value(s, u, mem); break;
    case HOOK_NAME_DATA: *ret_v = data_value(s, u, mem); break;
    case HOOK_NAME_NODE: *ret_v = node_value(s, h, u, mem); break;
    case HOOK_NAME_OLD: *ret_v = u->before; break;
    case HOOK_NAME_CHANGED: *ret_v = u->changed; break;
    case HOOK_NAME_STORE:
        *ret_v = hook_store_get(s->hooks->stores, desire_role(s->desire, u->role->name));
        break;
    case HOOK_NAME_BOUND: return bound_value(s, h, u, mem, ret_v, e);
    case HOOK_NAME_COUNT: break;
    }
    return 0;
}

int hook_scope_make(struct server *s, const struct hook *h, const struct hook_subject *u,
                    struct arena *mem, struct hook_scope *ret, struct err *e)
{
    uint32_t n = 0;
    int rc = 0;
    for (int i = 0; rc >= 0 && i < HOOK_NAME_COUNT; i++) {
        struct expr_var var = {str_of(scope_names[i]), NULL};
        if (!reads(h, scope_names[i], (struct str){"", 0}))
            continue;
        rc = name_value(s, (enum hook_name)i, h, u, mem, &var.v, e);
        ret->vars[n++] = var;
    }
    ret->budget = (struct expr_budget){.steps = EXPR_MAX_STEPS, .bytes = EXPR_MAX_BYTES};
    ret->scope = (struct expr_scope){.vars = ret->vars, .n = n, .budget = &ret->budget};
    return rc;
}
