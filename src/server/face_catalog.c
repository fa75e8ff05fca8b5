/* face_catalog.c - what the live catalog offers, its history, and the jigs and pools that the
 * engine knows
 *
 * Before the first load there are no roles and no barclamps, which is an empty list; the catalog
 * itself is not found.  Jigs and pools stay known by number when a later generation leaves them
 * out.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "server/server_i.h"

int server_catalog_get(struct server *s, const struct server_call *c, struct server_reply *r,
                       struct err *e)
{
    if (!s->catalog) {
        err_set(e, ERR_NOT_FOUND, "no catalog is loaded");
        return err_hint(e, "`anneal catalog load DIR` loads one");
    }
    r->body = view_catalog(s, c->mem);
    r->rev = s->catalog->number;
    return 0;
}

struct generation_list {
    const struct server_call *call;
    struct page *page;
};

static int generation_offer(void *arg, enum row_table t, const void *row, struct err *e)
{
    struct generation_list *l = arg;
    const struct row_catalog *g = row;
    struct arena *a = l->call->mem;
    (void)t;
    (void)e;
    if (!page_wants(l->page, g->id))
        return 0;
    struct value *v = value_map(a);
    value_put_int(a, v, "generation", g->id);
    value_set(a, v, "digest", value_str(a, g->digest));
    value_set(a, v, "origin", value_str(a, g->origin));
    value_put_text(a, v, "loaded_at", view_time(a, g->loaded_ms));
    page_add(l->page, l->call, v);
    return 0;
}

/* A row holds all files of its generation, so no more rows are read than the page shows.
 * Generations are numbered from 1 without gaps and all are kept: the live one's number counts them.
 */
int server_catalog_generations(struct server *s, const struct server_call *c,
                               struct server_reply *r, struct err *e)
{
    struct page p;
    int rc = page_begin(&p, c, e);
    if (rc < 0)
        return rc;
    struct generation_list l = {c, &p};
    uint64_t last = s->catalog ? s->catalog->number : 0;
    if (p.after < last)
        rc = store_range(s->reader, ROWS_CATALOG, p.after + 1, last, false, p.limit,
                         generation_offer, &l, e);
    if (rc < 0)
        return rc;
    p.more = p.n == p.limit && p.last < last;
    p.total = last;
    page_end(&p, c, r);
    return 0;
}

int server_barclamp_list(struct server *s, const struct server_call *c, struct server_reply *r,
                         struct err *e)
{
    struct page p;
    int rc = page_begin(&p, c, e);
    if (rc < 0)
        return rc;
    for (uint32_t i = 0; s->catalog && i < s->catalog->n_barclamps; i++)
        if (page_wants(&p, i + 1u))
            page_add(&p, c, view_barclamp(s, c->mem, i));
    page_end(&p, c, r);
    return 0;
}

int server_role_list(struct server *s, const struct server_call *c, struct server_reply *r,
                     struct err *e)
{
    struct page p;
    int rc = page_begin(&p, c, e);
    if (rc < 0)
        return rc;
    for (uint32_t i = 0; s->catalog && i < s->catalog->n_roles; i++)
        if (page_wants(&p, i + 1u))
            page_add(&p, c, view_role(s, c->mem, &s->catalog->roles[i]));
    page_end(&p, c, r);
    return 0;
}

int server_role_get(struct server *s, const struct server_call *c, struct server_reply *r,
                    struct err *e)
{
    struct str name = str_of(c->id[0]);
    const struct catalog_role *role = s->catalog ? catalog_role_get(s->catalog, name) : NULL;
    if (!role) {
        const char *near = s->catalog ? catalog_role_nearest(s->catalog, name) : NULL;
        int rc = face_not_found(e, "role", c->id[0]);
        if (near)
            err_hint(e, "did you mean \"%s\"?", near);
        return rc;
    }
    r->body = view_role(s, c->mem, role);
    r->rev = s->catalog->number;
    return 0;
}

/* Also of a role that has left the catalog: what it kept is still there. */
int server_role_store(struct server *s, const struct server_call *c, struct server_reply *r,
                      struct err *e)
{
    uint32_t rev;
    const struct value *store = hook_store_of(s, str_of(c->id[0]), &rev);
    if (!rev && server_role_get(s, c, r, e) < 0)
        return -(int)e->code;
    struct value *v = value_map(c->mem);
    value_put_text(c->mem, v, "role", c->id[0]);
    value_put_int(c->mem, v, "rev", rev + 1); /* 0 would be no revision */
    value_set(c->mem, v, "store", rev ? value_copy(c->mem, store) : value_map(c->mem));
    r->body = v;
    r->rev = rev + 1;
    return 0;
}

/* ---- jigs and pools ---- */

int server_jig_list(struct server *s, const struct server_call *c, struct server_reply *r,
                    struct err *e)
{
    struct page p;
    int rc = page_begin(&p, c, e);
    if (rc < 0)
        return rc;
    for (uint32_t id = 1; id < s->inv.jigs.n; id++)
        if (s->inv.jigs.at[id].name && page_wants(&p, id))
            page_add(&p, c, view_jig(s, c->mem, id));
    page_end(&p, c, r);
    return 0;
}

int server_jig_get(struct server *s, const struct server_call *c, struct server_reply *r,
                   struct err *e)
{
    uintptr_t id;
    if (!strmap_get(&s->inv.jig_by_name, str_of(c->id[0]), &id))
        return face_not_found_near(e, "jig", c->id[0], &s->inv.jig_by_name);
    r->body = view_jig(s, c->mem, (uint32_t)id);
    r->rev = s->inv.jigs.at[id].rev;
    r->live = true;
    return 0;
}

int server_pool_list(struct server *s, const struct server_call *c, struct server_reply *r,
                     struct err *e)
{
    struct page p;
    int rc = page_begin(&p, c, e);
    if (rc < 0)
        return rc;
    for (uint32_t id = 1; id < s->inv.pools.n; id++)
        if (s->inv.pools.at[id].name && page_wants(&p, id))
            page_add(&p, c, view_pool(s, c->mem, id));
    page_end(&p, c, r);
    return 0;
}

int server_pool_get(struct server *s, const struct server_call *c, struct server_reply *r,
                    struct err *e)
{
    uintptr_t id;
    if (!strmap_get(&s->inv.pool_by_name, str_of(c->id[0]), &id))
        return face_not_found_near(e, "pool", c->id[0], &s->inv.pool_by_name);
    r->body = view_pool(s, c->mem, (uint32_t)id);
    r->rev = s->inv.pools.at[id].rev;
    r->live = true;
    return 0;
}
