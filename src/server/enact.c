/* enact.c - for requests that act at once and change what lives: a draft, its revision, a new head
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "server/enact.h"

#include "base/text.h"

static const char *removal_title(const struct revision *r, struct arena *mem)
{
    return arena_printf(mem, "unbind %s in %s", text_count(r->diff.n_removed, "noderole").s,
                        r->server->inv.deployments.at[r->deployment].name);
}

int enact(struct draft *d, const struct server_call *c, const char *kind, const char *title,
          bool dry, struct revision *ret_r, uint32_t *ret_op, struct err *e)
{
    struct server *s = d->server;
    int rc = revision_make(ret_r, s, c->mem, d->catalog, d->deployment, d->map, false, e);
    *ret_op = 0;
    if (rc >= 0 && !title)
        title = removal_title(ret_r, c->mem);
    if (rc >= 0 && dry)
        rc = revision_try(ret_r, e);
    if (rc >= 0 && !dry && !revision_is_empty(ret_r))
        rc = revision_apply(ret_r, c, kind, title, ret_op, e);
    if (rc < 0 || dry) {
        draft_drop(d);
        return rc;
    }
    struct desire_author by = wish_author(s, c, title);
    by.catalog = d->catalog->number;
    desire_hold(s->desire);
    desire_advance_to(s->desire, d->deployment, draft_take(d), &by, *ret_op);
    rc = revision_settle(ret_r, c, e);
    desire_release(s->desire);
    return rc;
}

int enact_bindings(struct server *s, const struct server_call *c, const struct bind_request *req,
                   const char *title, uint32_t *ret_op, struct err *e)
{
    struct revision r = {0};
    struct draft d;
    draft_open(&d, s, c->mem, s->catalog, req->deployment, desire_head(s->desire, req->deployment));
    int rc = draft_bind(&d, req->items, req->n_items, e);
    if (rc < 0)
        draft_drop(&d);
    else
        rc = enact(&d, c, "bind", title, false, &r, ret_op, e);
    revision_done(&r);
    return rc;
}
