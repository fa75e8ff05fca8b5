/* face_history.c - what was and is wanted: the list of snapshots, and what differs between two
 *
 * A diff with a proposal is what committing it would change: if the head has moved on, what others
 * changed since is not part of it, and what both changed differently is told as a conflict.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/text.h"
#include "server/rollback.h"

int server_deployment_snapshots(struct server *s, const struct server_call *c,
                                struct server_reply *r, struct err *e)
{
    uint32_t id = inventory_deployment_find(&s->inv, c->id[0]);
    struct page p;
    int rc;
    if (!id)
        return face_not_found_near(e, "deployment", c->id[0], &s->inv.deployment_by_name);
    if ((rc = page_begin(&p, c, e)) < 0)
        return rc;
    for (uint32_t i = 1; i < desire_end(s->desire); i++) {
        const struct snapshot *snapshot = desire_snapshot(s->desire, i);
        if (snapshot && snapshot->deployment == id && page_wants(&p, i))
            page_add(&p, c, view_snapshot(s, c->mem, snapshot));
    }
    page_end(&p, c, r);
    return 0;
}

/* "head", "proposal", or a number.  NULL for a head that nobody has made yet. */
static int side_of(struct server *s, uint32_t deployment, const char *word, const char *parameter,
                   const struct snapshot **ret_p, struct err *e)
{
    const char *name = s->inv.deployments.at[deployment].name;
    uint64_t number;
    if (strcmp(word, "head") == 0) {
        *ret_p = desire_head(s->desire, deployment);
        return 0;
    }
    if (strcmp(word, "proposal") == 0) {
        *ret_p = desire_proposal(s->desire, deployment);
        if (*ret_p)
            return 0;
        err_set(e, ERR_NOT_FOUND, "nothing is proposed for deployment %s", name);
        return err_hint(e, "`anneal deployment propose %s` begins a proposal", name);
    }
    if (text_u64(str_of(word), UINT32_MAX, &number, e) < 0) {
        err_set(e, ERR_INVALID, "\"%s\" is neither head, proposal nor the number of a snapshot",
                word);
        return err_at(e, "?%s", parameter);
    }
    *ret_p = desire_numbered(s->desire, deployment, (uint32_t)number);
    if (*ret_p)
        return 0;
    err_set(e, ERR_NOT_FOUND, "deployment %s has no snapshot %s", name, word);
    return err_hint(e, "`anneal deployment history %s` lists what there is", name);
}

static void put_side(struct server *s, struct arena *a, struct value *v, const char *key,
                     const struct snapshot *p)
{
    value_set(a, v, key, p ? view_snapshot(s, a, p) : value_null(a));
}

/* The head of now if the proposal would be laid over it; else, where both sides changed the same,
 * the map that the proposal was made from. */
static int merged(struct server *s, const struct server_call *c, const struct snapshot *p,
                  struct pmap **ret_root, struct value *v, struct err *e)
{
    struct snapshot_conflicts list = {0};
    int rc = desire_merge(s->desire, p->id, c->mem, ret_root, &list, e);
    value_set(c->mem, v, "conflicts", view_conflicts(s, c->mem, &list));
    return rc;
}

int server_deployment_diff(struct server *s, const struct server_call *c, struct server_reply *r,
                           struct err *e)
{
    uint32_t id = inventory_deployment_find(&s->inv, c->id[0]);
    const char *from = value_as_text(value_get(c->query, "from"), "head");
    const char *to = value_as_text(value_get(c->query, "to"), NULL);
    const struct snapshot *a = NULL, *b = NULL;
    struct value *v = value_map(c->mem), *lost = value_list(c->mem);
    struct snapshot_changes changes;
    struct pmap *root = NULL;
    int rc;
    if (!id)
        return face_not_found_near(e, "deployment", c->id[0], &s->inv.deployment_by_name);
    if (!to)
        to = desire_proposal(s->desire, id) ? "proposal" : "head";
    if ((rc = side_of(s, id, from, "from", &a, e)) < 0 ||
        (rc = side_of(s, id, to, "to", &b, e)) < 0)
        return rc;
    put_side(s, c->mem, v, "from", a);
    put_side(s, c->mem, v, "to", b);
    value_set(c->mem, v, "conflicts", value_list(c->mem));
    bool lays_over = b && b->state == SNAPSHOT_PROPOSED && a == desire_head(s->desire, id);
    if (lays_over && (rc = merged(s, c, b, &root, v, e)) < 0)
        return rc;
    bool clean = lays_over && rc == 0;
    rc = snapshot_diff(c->mem,
                       lays_over && !clean ? b->base
                       : a                 ? a->root
                                           : NULL,
                       clean ? root
                       : b   ? b->root
                             : NULL,
                       &changes, e);
    if (rc >= 0)
        value_set(c->mem, v, "changes", view_changes(s, c->mem, &changes));
    if (rc >= 0 && b && b->source && b->state == SNAPSHOT_PROPOSED) {
        const struct catalog *catalog;
        struct draft d;
        if ((rc = catalog_generation(s, b->catalog, &catalog, e)) >= 0) {
            draft_open(&d, s, c->mem, catalog, id, b);
            rc = rollback_lost(&d, desire_numbered(s->desire, id, b->source), &lost, e);
            draft_drop(&d);
        }
    }
    value_set(c->mem, v, "lost", lost);
    if (clean)
        desire_unref(s->desire, root);
    r->body = v;
    return rc;
}
