/* face_history.c - what was and is wanted: the list of snapshots, and what differs between two
 *
 * A diff with a proposal is what committing it would change in the head of now: if that has moved
 * on, what others changed since is not part of it, and what both changed differently is told as a
 * conflict, with all three sides.  Whom else the commit would concern comes from its plan.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/text.h"
#include "server/revision.h"
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
    for (uint32_t i = desire_end(s->desire); i-- > 1;) { /* newest first: places rise as ids fall */
        const struct snapshot *snapshot = desire_snapshot(s->desire, i);
        if (snapshot && snapshot->deployment == id && page_wants(&p, UINT32_MAX - i))
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

/* --- a proposal and the head that it would be laid over --- */

/* What is left of what the proposal changed since its base: not what is in conflict, and not what
 * the head has by now. */
static uint32_t changes_left(struct snapshot_change *at, uint32_t n, const struct snapshot *head,
                             const struct snapshot *p, const struct u64map *conflicts)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < n; i++) {
        uint64_t key = snapshot_key(at[i].role, at[i].node);
        struct str theirs = {0}, ours = {0};
        bool there = head && pmap_get(head->root, key, &theirs);
        bool here = pmap_get(p->root, key, &ours);
        bool same = there == here && (!there || str_eq(theirs, ours));
        if (!same && !u64map_get(conflicts, key, NULL))
            at[kept++] = at[i];
    }
    return kept;
}

static int changes_beside(struct server *s, const struct server_call *c, const struct snapshot *p,
                          const struct snapshot_conflicts *list, struct snapshot_changes *ret,
                          struct err *e)
{
    const struct snapshot *head = desire_head(s->desire, p->deployment);
    struct u64map conflicts = {0};
    int rc = snapshot_diff(c->mem, p->base, p->root, ret, e);
    if (rc < 0)
        return rc;
    for (uint32_t i = 0; i < list->n; i++)
        u64map_put(&conflicts, snapshot_key(list->at[i].role, list->at[i].node), 1);
    ret->n_added = changes_left(ret->added, ret->n_added, head, p, &conflicts);
    ret->n_changed = changes_left(ret->changed, ret->n_changed, head, p, &conflicts);
    ret->n_removed = changes_left(ret->removed, ret->n_removed, head, p, &conflicts);
    u64map_done(&conflicts);
    return 0;
}

static struct value *refusal_value(struct arena *a, const struct err *e)
{
    struct value *v = value_map(a);
    value_put_text(a, v, "code", err_name(e->code));
    value_put_text(a, v, "text", e->text);
    value_put_text(a, v, "hint", *e->hint ? e->hint : NULL);
    return v;
}

/* Whom a commit of this map would concern as well, or why there would be none. */
static void put_touched(struct server *s, const struct server_call *c, const struct snapshot *p,
                        const struct pmap *root, struct value *changes, struct value *v)
{
    const struct catalog *catalog;
    struct revision rev = {0};
    struct err refusal;
    int rc = catalog_generation(s, revision_catalog(s, p), &catalog, &refusal);
    if (rc >= 0)
        rc = revision_make(&rev, s, c->mem, catalog, p->deployment, root, true, &refusal);
    if (rc >= 0)
        rc = face_plan_look(s, rev.plan, p->deployment, root, &refusal);
    if (rc >= 0)
        value_set(c->mem, v, "touched", revision_touched(&rev, changes));
    else
        value_set(c->mem, v, "refused", refusal_value(c->mem, &refusal));
    revision_done(&rev);
}

static int put_proposed(struct server *s, const struct server_call *c, const struct snapshot *p,
                        struct value *v, struct err *e)
{
    const struct snapshot *head = desire_head(s->desire, p->deployment);
    struct snapshot_conflicts conflicts = {0};
    struct snapshot_changes diff;
    struct pmap *root = NULL;
    int rc = desire_merge(s->desire, p->id, c->mem, &root, &conflicts, e);
    bool clean = rc == 0;
    if (rc < 0)
        return rc;
    value_set(c->mem, v, "conflicts", view_conflicts(s, c->mem, &conflicts));
    rc = clean ? snapshot_diff(c->mem, head ? head->root : NULL, root, &diff, e)
               : changes_beside(s, c, p, &conflicts, &diff, e);
    if (rc >= 0) {
        struct value *changes = view_changes(s, c->mem, &diff);
        if (clean)
            put_touched(s, c, p, root, changes, v);
        value_set(c->mem, v, "changes", changes);
    }
    if (clean)
        desire_unref(s->desire, root);
    return rc;
}

static int put_lost(struct server *s, const struct server_call *c, const struct snapshot *p,
                    struct value *v, struct err *e)
{
    struct value *lost;
    const struct catalog *catalog;
    struct draft d;
    int rc = catalog_generation(s, p->catalog, &catalog, e);
    if (rc < 0)
        return rc;
    draft_open(&d, s, c->mem, catalog, p->deployment, p);
    rc = rollback_lost(&d, desire_numbered(s->desire, p->deployment, p->source), &lost, e);
    draft_drop(&d);
    if (rc >= 0)
        value_set(c->mem, v, "lost", lost);
    return rc;
}

static int put_between(struct server *s, const struct server_call *c, const struct snapshot *a,
                       const struct snapshot *b, struct value *v, struct err *e)
{
    struct snapshot_changes diff;
    int rc = snapshot_diff(c->mem, a ? a->root : NULL, b ? b->root : NULL, &diff, e);
    if (rc >= 0)
        value_set(c->mem, v, "changes", view_changes(s, c->mem, &diff));
    return rc;
}

int server_deployment_diff(struct server *s, const struct server_call *c, struct server_reply *r,
                           struct err *e)
{
    static const char *const lists[] = {"changes", "conflicts", "lost", "touched"};
    uint32_t id = inventory_deployment_find(&s->inv, c->id[0]);
    const char *from = value_as_text(value_get(c->query, "from"), "head");
    const char *to = value_as_text(value_get(c->query, "to"), NULL);
    const struct snapshot *a = NULL, *b = NULL;
    struct value *v = value_map(c->mem);
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
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        value_set(c->mem, v, lists[i], value_list(c->mem));
    value_set(c->mem, v, "refused", value_null(c->mem));
    bool proposed = b && b->state == SNAPSHOT_PROPOSED;
    rc = proposed && a == desire_head(s->desire, id) ? put_proposed(s, c, b, v, e)
                                                     : put_between(s, c, a, b, v, e);
    if (rc >= 0 && proposed && b->source)
        rc = put_lost(s, c, b, v, e);
    r->body = v;
    return rc;
}
