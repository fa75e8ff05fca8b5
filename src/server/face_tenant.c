/* face_tenant.c - tenants as objects: made, listed, given another wish, deleted
 *
 * The first tenant is the house: its admins make and change the others, and its tokens see all of
 * them.  Whoever is of another tenant sees that one only.  A wish is taken while workers offer
 * enough for all wishes together; if they offer less later, everybody has less (tenants.h), and
 * the tenant says that it is short.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json.h"
#include "base/text.h"
#include "server/enlist.h"
#include "server/providers.h"
#include "server/resources.h"
#include "server/tenants.h"

enum { NAMED_MOST = 4 }; /* of what a tenant still has, in a refusal */

/* ---- looking ---- */

static struct value *view_tenant(const struct server *s, struct arena *a, uint32_t id)
{
    struct value *v = value_map(a);
    struct tenant_view t = {0};
    (void)anneal_tenant(s->engine, id, &t);
    uint32_t share = t.share == TENANT_ALL ? anneal_capacity(s->engine, NULL) : t.share;
    value_put_text(a, v, "name", tenant_name(s, id));
    value_put_int(a, v, "places", t.wish);
    value_put_int(a, v, "share", share);
    value_put_int(a, v, "used", t.used);
    value_put_bool(a, v, "short", share < t.wish);
    value_put_int(a, v, "rev", s->tenants.at[id].rev);
    return v;
}

static bool may_see(const struct server_call *c, uint32_t id)
{
    return c->who->tenant == TENANT_FIRST || c->who->tenant == id;
}

static int tenant_asked(const struct server *s, const struct server_call *c, uint32_t *ret_id,
                        struct err *e)
{
    *ret_id = tenant_find(s, c->id[0]);
    return *ret_id && may_see(c, *ret_id) ? 0 : face_not_found(e, "tenant", c->id[0]);
}

static void reply_with(struct server *s, const struct server_call *c, uint32_t id,
                       struct server_reply *r)
{
    r->body = view_tenant(s, c->mem, id);
    r->rev = s->tenants.at[id].rev;
    r->live = true;
}

int server_tenant_list(struct server *s, const struct server_call *c, struct server_reply *r,
                       struct err *e)
{
    struct page p;
    int rc = page_begin(&p, c, e);
    if (rc < 0)
        return rc;
    for (uint32_t id = 1; id < s->tenants.n; id++)
        if (tenant_lives(s, id) && may_see(c, id) && page_wants(&p, id))
            page_add(&p, c, view_tenant(s, c->mem, id));
    page_end(&p, c, r);
    return 0;
}

int server_tenant_get(struct server *s, const struct server_call *c, struct server_reply *r,
                      struct err *e)
{
    uint32_t id;
    int rc = tenant_asked(s, c, &id, e);
    if (rc >= 0)
        reply_with(s, c, id, r);
    return rc;
}

/* ---- changing ---- */

static int may_change(struct server *s, const struct server_call *c, struct err *e)
{
    if (c->who->tenant != TENANT_FIRST) {
        err_set(e, ERR_FORBIDDEN, "only tenant %s changes tenants", tenant_name(s, TENANT_FIRST));
        return err_hint(e, "ask whoever has a token of scope admin there");
    }
    return server_writable(s, e);
}

/* More than it has now must be there for all: a promise is not made at others' cost. */
static int wish_fits(const struct server *s, uint32_t id, uint32_t has, uint32_t wish,
                     struct err *e)
{
    uint64_t others = 0;
    uint32_t all = anneal_capacity(s->engine, NULL);
    struct tenant_view v;
    for (uint32_t i = 1; i < anneal_tenant_end(s->engine); i++)
        if (i != id && anneal_tenant(s->engine, i, &v) && !v.gone)
            others += v.wish;
    if (wish <= has || others + wish <= all)
        return 0;
    err_set(e, ERR_REFUSED,
            "workers offer %u places, and other tenants wish for %llu of them: %u "
            "are too many",
            all, (unsigned long long)others, wish);
    err_at(e, "/places");
    if (others < all)
        return err_hint(e, "wish for %llu at most, or start workers",
                        (unsigned long long)(all - others));
    return err_hint(e, "start workers (`anneal worker list` shows those there are), or take "
                       "places from another tenant");
}

static int tenant_apply(struct server *s, const struct server_call *c, struct event *ev,
                        const char *name, struct err *e)
{
    struct row_tenant fixed = {.id = ev->id, .name = str_of(name)};
    struct commit_note note = server_note(c, &fixed);
    SCOPED_BUF(more);
    buf_puts(&more, "{\"name\":");
    json_write_string(&more, str_of(name));
    buf_putc(&more, '}');
    note.more = buf_str(&more);
    return server_apply(s, ev, &note, NULL, e);
}

static int tenant_wish(struct server *s, const struct server_call *c, uint32_t id, uint32_t wish,
                       bool gone, struct err *e)
{
    struct tenant_view v = {0};
    (void)anneal_tenant(s->engine, id, &v);
    struct event ev = {
        .kind = EVENT_TENANT_SET, .id = id, .n = v.share, .extra = wish, .flag = gone};
    int rc = tenant_apply(s, c, &ev, tenant_name(s, id), e);
    if (rc < 0)
        return rc;
    s->tenants.at[id].rev++;
    tenants_rebalance(s);
    return 0;
}

static uint32_t places_asked(const struct server_call *c)
{
    return (uint32_t)value_as_int(value_get(c->body, "places"), 0);
}

static int name_check(const struct server *s, const char *name, struct err *e)
{
    if (!text_is_name(str_of(name))) {
        err_set(e, ERR_INVALID, "\"%s\" is not a name for a tenant", name);
        err_at(e, "/name");
        return err_hint(e,
                        "lower-case letters, digits and . _ -, beginning with a letter or digit");
    }
    if (tenant_find(s, name)) {
        err_set(e, ERR_EXISTS, "there is a tenant %s already", name);
        err_at(e, "/name");
        return err_hint(e, "`anneal tenant set %s --places N` changes it", name);
    }
    return 0;
}

int server_tenant_create(struct server *s, const struct server_call *c, struct server_reply *r,
                         struct err *e)
{
    const char *name = value_as_text(value_get(c->body, "name"), "");
    uint32_t id = anneal_tenant_end(s->engine);
    int rc = may_change(s, c, e);
    if (rc < 0 || (rc = name_check(s, name, e)) < 0 ||
        (rc = wish_fits(s, id, 0, places_asked(c), e)) < 0)
        return rc;
    struct event ev = {.kind = EVENT_TENANT_ADD, .id = id};
    if ((rc = tenant_apply(s, c, &ev, name, e)) < 0)
        return rc;
    tenant_name_add(s, id, str_of(name));
    if (places_asked(c) == 0)
        tenants_rebalance(s);
    else if ((rc = tenant_wish(s, c, id, places_asked(c), false, e)) < 0)
        return rc;
    s->tenants.at[id].rev = 1;
    reply_with(s, c, id, r);
    r->location = arena_printf(c->mem, "/v1/tenants/%s", name);
    r->group = commit_open_group(s->commit);
    return 0;
}

int server_tenant_patch(struct server *s, const struct server_call *c, struct server_reply *r,
                        struct err *e)
{
    uint32_t id;
    struct tenant_view v;
    int rc = may_change(s, c, e);
    if (rc < 0 || (rc = tenant_asked(s, c, &id, e)) < 0 ||
        (rc = face_match(c, s->tenants.at[id].rev, "tenant", c->id[0], e)) < 0)
        return rc;
    (void)anneal_tenant(s->engine, id, &v);
    if ((rc = wish_fits(s, id, v.wish, places_asked(c), e)) < 0 ||
        (rc = tenant_wish(s, c, id, places_asked(c), false, e)) < 0)
        return rc;
    reply_with(s, c, id, r);
    r->group = commit_open_group(s->commit);
    return 0;
}

/* ---- deleting ---- */

/* What a tenant still has, kind by kind: the first few of each, and how to be rid of the first. */
struct leftover {
    struct buf text;
    const char *remedy; /* NULL: it has nothing */
    uint32_t n;         /* of this kind, so far */
};

static void leftover_add(struct leftover *l, const char *kind, const char *one, const char *remedy)
{
    if (!l->remedy)
        l->remedy = remedy;
    if (l->n == 0)
        buf_printf(&l->text, "%s%s ", l->text.len ? "; " : "", kind);
    if (l->n < NAMED_MOST)
        buf_printf(&l->text, "%s%s", l->n ? ", " : "", one);
    l->n++;
}

static void leftover_end(struct leftover *l)
{
    if (l->n > NAMED_MOST)
        buf_printf(&l->text, " and %u more", l->n - NAMED_MOST);
    l->n = 0;
}

static void left_of_work(const struct server *s, struct arena *a, uint32_t id, struct leftover *l)
{
    struct tenant_view v = {0};
    struct operation_view op;
    for (uint32_t i = 1; i < anneal_operation_end(s->engine); i++)
        if (anneal_operation(s->engine, i, &op) && op.tenant == id && op.state == OPERATION_RUNNING)
            leftover_add(l, "unfinished operations", arena_printf(a, "%u", i),
                         arena_printf(a, "anneal operation cancel %u", i));
    leftover_end(l);
    (void)anneal_tenant(s->engine, id, &v);
    if (v.wish > 0)
        leftover_add(l, "places", arena_printf(a, "%u", v.wish),
                     arena_printf(a, "anneal tenant set %s --places 0", tenant_name(s, id)));
    leftover_end(l);
}

static void left_of_objects(const struct server *s, struct arena *a, uint32_t id,
                            struct leftover *l)
{
    for (const struct enlisted *w = enlist_next(s, 0); w; w = enlist_next(s, w->id))
        if (w->tenant == id)
            leftover_add(l, "workers", w->name,
                         arena_printf(a, "anneal worker remove %s", w->name));
    leftover_end(l);
    for (const struct resource *r = resource_next(s, 0); r; r = resource_next(s, r->id))
        if (r->tenant == id)
            leftover_add(l, "resources", arena_printf(a, "%u", r->id),
                         arena_printf(a, "anneal resource delete %s/%s/%s@%u", r->type, r->kind,
                                      r->name, r->version));
    leftover_end(l);
    for (const struct provider *p = provider_next(s, 0); p; p = provider_next(s, p->id))
        if (p->tenant == id)
            leftover_add(l, "providers", p->name,
                         arena_printf(a, "anneal provider remove %s", p->name));
    leftover_end(l);
}

/* Last, for the rest is removed with one of them. */
static void left_of_tokens(const struct server *s, struct arena *a, uint32_t id, struct leftover *l)
{
    for (uint32_t i = 1; i < s->inv.tokens.n; i++) {
        const struct inv_token *t = &s->inv.tokens.at[i];
        if (t->name && !t->revoked && t->tenant == id)
            leftover_add(l, "tokens", arena_printf(a, "%u", i),
                         arena_printf(a, "anneal token revoke %u", i));
    }
    leftover_end(l);
}

int server_tenant_delete(struct server *s, const struct server_call *c, struct server_reply *r,
                         struct err *e)
{
    uint32_t id;
    struct leftover left = {0};
    int rc = may_change(s, c, e);
    if (rc < 0 || (rc = tenant_asked(s, c, &id, e)) < 0 ||
        (rc = face_match(c, s->tenants.at[id].rev, "tenant", c->id[0], e)) < 0)
        return rc;
    if (id == TENANT_FIRST) {
        err_set(e, ERR_CONFLICT, "tenant %s is the first and stays", c->id[0]);
        return err_hint(e, "`anneal tenant set %s --places N` changes what it has", c->id[0]);
    }
    left_of_work(s, c->mem, id, &left);
    left_of_objects(s, c->mem, id, &left);
    left_of_tokens(s, c->mem, id, &left);
    if (left.remedy) {
        err_set(e, ERR_CONFLICT, "tenant %s still has %s", c->id[0], left.text.data);
        rc = err_hint(e, "first: `%s`", left.remedy);
    } else if ((rc = tenant_wish(s, c, id, 0, true, e)) >= 0) {
        r->group = commit_open_group(s->commit);
    }
    buf_done(&left.text);
    return rc;
}
