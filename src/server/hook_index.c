/* hook_index.c - which roles have hooks for what, so that all others cost next to nothing
 *
 * Made once for each generation of the catalog.  A transition of a noderole whose role has no hooks
 * costs a look into a table; a change of a node that nobody watches costs a comparison of its
 * fields.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "server/hooks_i.h"

void hook_index_done(struct hook_index *x)
{
    vec_done(&x->role);
    for (int i = 0; i < HOOK_NODE_EVENTS; i++)
        vec_done(&x->roles[i]);
    strmap_done(&x->fields);
    *x = (struct hook_index){0};
}

static void watch_fields(struct hook_index *x, const struct catalog_hooks *hooks)
{
    if (!hooks || !(hooks->events >> HOOK_ON_NODE_CHANGE & 1))
        return;
    x->all_fields |= hooks->n_fields == 0;
    for (uint32_t i = 0; i < hooks->n_fields; i++) {
        struct str field = hooks->fields[i];
        const char *slash = memchr(field.s, '/', field.n);
        strmap_put(&x->fields, (struct str){field.s, slash ? (size_t)(slash - field.s) : field.n},
                   1);
    }
}

static void index_make(struct hook_index *x, const struct catalog *c)
{
    hook_index_done(x);
    x->catalog = c->number;
    for (uint32_t i = 0; i < c->n_roles; i++) {
        const struct catalog_role *r = &c->roles[i];
        if (!r->hook_events || r->fault)
            continue;
        x->any |= r->hook_events;
        for (int k = 0; k < HOOK_NODE_EVENTS; k++)
            if (r->hook_events >> (HOOK_ON_NODE_CREATE + k) & 1)
                vec_push(&x->roles[k], i);
        watch_fields(x, r->hooks);
        watch_fields(x, catalog_role_shared_hooks(c, r));
    }
}

const struct hook_index *hook_index_of(struct server *s)
{
    struct hook_index *x = &s->hooks->index;
    if (!s->catalog)
        return x;
    if (x->catalog != s->catalog->number)
        index_make(x, s->catalog);
    return x;
}

/* By the inventory's number of a role: its place in the catalog + 1, 0 if it is not there. */
static uint32_t place_of_role(struct server *s, uint32_t role)
{
    struct hook_index *x = &s->hooks->index;
    (void)hook_index_of(s);
    while (x->role.n <= role) {
        const char *name = x->role.n < s->inv.role_names.n ? s->inv.role_names.at[x->role.n] : "";
        const struct catalog_role *r = s->catalog ? catalog_role_get(s->catalog, str_of(name))
                                                  : NULL;
        vec_push(&x->role, r ? (uint32_t)(r - s->catalog->roles) + 1 : 0);
    }
    return x->role.at[role];
}

const struct catalog_role *hook_role_of(struct server *s, uint32_t noderole)
{
    if (noderole >= s->inv.noderoles.n || !s->inv.noderoles.at[noderole].role)
        return NULL;
    uint32_t place = place_of_role(s, s->inv.noderoles.at[noderole].role);
    return place ? &s->catalog->roles[place - 1] : NULL;
}

uint32_t hook_events_of(struct server *s, uint32_t noderole)
{
    if (noderole >= s->inv.noderoles.n || !s->inv.noderoles.at[noderole].role)
        return hook_index_of(s)->any; /* a plan just brought it: looked at when its turn comes */
    const struct catalog_role *r = hook_role_of(s, noderole);
    return r && !r->fault ? r->hook_events : 0;
}

bool hook_watched(struct server *s, enum hook_event event)
{
    return hook_index_of(s)->any >> event & 1;
}
