/* face_proposal.c - what is wanted, changed by steps: propose, edit, look at it, commit or recall
 *
 * A proposal is nobody's work yet.  Edits are made to a draft and become the proposal's map whole
 * or not at all; a commit is one plan in one group.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "server/clusters.h"
#include "server/enact.h"
#include "server/rollback.h"

static int deployment_named(struct server *s, const struct server_call *c, uint32_t *ret_id,
                            struct err *e)
{
    *ret_id = inventory_deployment_find(&s->inv, c->id[0]);
    return *ret_id ? 0 : face_not_found_near(e, "deployment", c->id[0], &s->inv.deployment_by_name);
}

static int proposal_of(struct server *s, const struct server_call *c, const struct snapshot **ret_p,
                       struct err *e)
{
    uint32_t id;
    int rc = deployment_named(s, c, &id, e);
    if (rc < 0)
        return rc;
    *ret_p = desire_proposal(s->desire, id);
    if (*ret_p)
        return face_match(c, view_snapshot_rev(*ret_p), "the proposal for",
                          s->inv.deployments.at[id].name, e);
    err_set(e, ERR_NOT_FOUND, "nothing is proposed for deployment %s",
            s->inv.deployments.at[id].name);
    return err_hint(e, "`anneal deployment propose %s` begins a proposal",
                    s->inv.deployments.at[id].name);
}

static int numbered(struct server *s, uint32_t deployment, uint64_t number,
                    const struct snapshot **ret_p, struct err *e)
{
    const char *name = s->inv.deployments.at[deployment].name;
    *ret_p = number <= UINT32_MAX ? desire_numbered(s->desire, deployment, (uint32_t)number) : NULL;
    if (*ret_p)
        return 0;
    err_set(e, ERR_NOT_FOUND, "deployment %s has no snapshot %llu", name,
            (unsigned long long)number);
    return err_hint(e, "`anneal deployment history %s` lists what there is", name);
}

/* ---- propose, show, recall ---- */

static int go_back(struct server *s, const struct server_call *c, const struct snapshot *source,
                   uint32_t proposal, struct err *e)
{
    const struct catalog *catalog;
    struct draft d;
    int rc = catalog_generation(s, source->catalog, &catalog, e);
    if (rc < 0)
        return rc;
    draft_open(&d, s, c->mem, catalog, source->deployment, source);
    rc = rollback_fit(&d, e);
    if (rc < 0) {
        draft_drop(&d);
        return rc;
    }
    return desire_redraft(s->desire, proposal, draft_take(&d), e);
}

int server_deployment_propose(struct server *s, const struct server_call *c, struct server_reply *r,
                              struct err *e)
{
    int64_t back = value_as_int(value_get(c->body, "rollback"), 0);
    const char *message = value_as_text(value_get(c->body, "message"), NULL);
    const struct snapshot *source = NULL;
    uint32_t id, proposal;
    int rc = server_writable(s, e);
    if (rc < 0 || (rc = deployment_named(s, c, &id, e)) < 0)
        return rc;
    if ((rc = cluster_refuses(s, id, e)) < 0)
        return rc;
    if (id == DEPLOYMENT_SYSTEM) {
        err_set(e, ERR_REFUSED, "%s is never proposed: nodes that come and go change it",
                s->inv.deployments.at[id].name);
        return err_hint(e, "`anneal deployment add NAME` makes one for roles of your own");
    }
    if (back && (rc = numbered(s, id, (uint64_t)back, &source, e)) < 0)
        return rc;
    if (!message)
        message = back ? arena_printf(c->mem, "back to %lld", (long long)back) : "";
    struct desire_author by = wish_author(s, c, message);
    by.catalog = source ? source->catalog : by.catalog;
    uint32_t source_id = source ? source->id : 0;
    desire_hold(s->desire);
    rc = desire_propose(s->desire, id, source, &by, &proposal, e);
    if (rc >= 0 && source_id &&
        (rc = go_back(s, c, desire_snapshot(s->desire, source_id), proposal, e)) < 0)
        (void)desire_recall(s->desire, proposal, server_wall_ms(), NULL);
    desire_release(s->desire);
    if (rc < 0)
        return rc;
    face_deployment_changed(s, c, id, "proposed");
    r->body = view_snapshot(s, c->mem, desire_snapshot(s->desire, proposal));
    r->rev = view_snapshot_rev(desire_snapshot(s->desire, proposal));
    r->location = arena_printf(c->mem, "/v1/deployments/%s/proposal",
                               s->inv.deployments.at[id].name);
    r->group = commit_open_group(s->commit);
    return 0;
}

int server_deployment_proposal(struct server *s, const struct server_call *c,
                               struct server_reply *r, struct err *e)
{
    const struct snapshot *p;
    int rc = proposal_of(s, c, &p, e);
    if (rc < 0)
        return rc;
    r->body = view_snapshot(s, c->mem, p);
    r->rev = view_snapshot_rev(p);
    return 0;
}

int server_deployment_recall(struct server *s, const struct server_call *c, struct server_reply *r,
                             struct err *e)
{
    const struct snapshot *p;
    int rc = server_writable(s, e);
    if (rc < 0 || (rc = proposal_of(s, c, &p, e)) < 0)
        return rc;
    uint32_t deployment = p->deployment;
    if ((rc = desire_recall(s->desire, p->id, server_wall_ms(), e)) < 0)
        return rc;
    face_deployment_changed(s, c, deployment, "recalled");
    r->group = commit_open_group(s->commit);
    return 0;
}

/* ---- edit ---- */

static int edit_nodes(struct server *s, const struct value *edit, struct id_list *ret,
                      struct err *e)
{
    struct str selector = value_as_str(value_get(edit, "nodes"));
    int rc = node_select(s, selector, ret, e);
    if (rc < 0 || ret->ids.n > 0)
        return rc;
    err_set(e, ERR_REFUSED, "\"%.*s\" selects no node for %s", (int)selector.n, selector.s,
            value_as_text(value_get(edit, "role"), ""));
    return err_hint(e, "`anneal node list` shows the nodes there are");
}

static int edit_one(struct draft *d, const struct value *edit, struct err *e)
{
    const char *what = value_as_text(value_get(edit, "edit"), "");
    struct str role = value_as_str(value_get(edit, "role"));
    const struct value *data = value_get(edit, "data");
    bool whole = strcmp(what, "replace-data") == 0, everywhere = !value_get(edit, "nodes");
    struct id_list nodes = {0};
    int rc = everywhere ? 0 : edit_nodes(d->server, edit, &nodes, e);
    if (rc >= 0 && everywhere && (strcmp(what, "bind") == 0 || strcmp(what, "unbind") == 0)) {
        rc = err_set(e, ERR_INVALID, "%s %.*s: which nodes?", what, (int)role.n, role.s);
    } else if (rc >= 0 && strcmp(what, "bind") == 0) {
        struct bind_item *items = arena_new(d->mem, struct bind_item, nodes.ids.n);
        for (size_t i = 0; i < nodes.ids.n; i++)
            items[i] = (struct bind_item){role, nodes.ids.at[i], data};
        rc = draft_bind(d, items, (uint32_t)nodes.ids.n, e);
    } else if (rc >= 0 && strcmp(what, "unbind") == 0) {
        rc = draft_unbind(d, role, nodes.ids.at, (uint32_t)nodes.ids.n,
                          value_as_bool(value_get(edit, "cascade"), false), e);
    } else if (rc >= 0 && !data) {
        rc = err_set(e, ERR_INVALID, "%s %.*s: which data?", what, (int)role.n, role.s);
    } else if (rc >= 0) {
        rc = draft_data(d, role, everywhere ? NULL : nodes.ids.at, (uint32_t)nodes.ids.n, data,
                        !whole, e);
    }
    vec_done(&nodes.ids);
    return rc;
}

int server_deployment_edit(struct server *s, const struct server_call *c, struct server_reply *r,
                           struct err *e)
{
    const struct value *edits = value_get(c->body, "edits");
    const struct snapshot *p;
    const struct catalog *catalog;
    struct draft d;
    int rc = server_writable(s, e);
    if (rc < 0 || (rc = proposal_of(s, c, &p, e)) < 0 ||
        (rc = catalog_generation(s, p->catalog, &catalog, e)) < 0)
        return rc;
    uint32_t id = p->id, deployment = p->deployment;
    draft_open(&d, s, c->mem, catalog, deployment, p);
    for (uint32_t i = 0; i < edits->n && rc >= 0; i++)
        if ((rc = edit_one(&d, &edits->items[i], e)) < 0) {
            const char *inside = arena_strndup(c->mem, e->at, strlen(e->at));
            rc = err_at(e, "/edits/%u%s", i, inside);
        }
    if (rc < 0) {
        draft_drop(&d);
        return rc;
    }
    if ((rc = desire_redraft(s->desire, id, draft_take(&d), e)) < 0)
        return rc;
    face_deployment_changed(s, c, deployment, "edited");
    r->body = view_snapshot(s, c->mem, desire_snapshot(s->desire, id));
    r->rev = view_snapshot_rev(desire_snapshot(s->desire, id));
    r->group = commit_open_group(s->commit);
    return 0;
}

/* ---- commit ---- */

static int tell_conflicts(struct server *s, const struct server_call *c, const struct snapshot *p,
                          const struct snapshot_conflicts *list, struct err *e)
{
    SCOPED_BUF(names);
    for (uint32_t i = 0; i < list->n && i < 5; i++)
        buf_printf(&names, "%s%s", i ? ", " : "",
                   view_key_name(s, c->mem, snapshot_key(list->at[i].role, list->at[i].node)));
    err_set(e, ERR_CONFLICT, "changed here and, since this was proposed, by others: %s%s",
            buf_str(&names).s, list->n > 5 ? " ..." : "");
    return err_hint(
        e,
        "`anneal deployment diff %s` shows both; edit yours to theirs, or recall and propose again",
        s->inv.deployments.at[p->deployment].name);
}

struct figures {
    uint32_t changed, removed;
    uint64_t tasks; /* new ones, and those that run again */
};

static void count_again(const struct server *s, uint32_t noderole, struct figures *f)
{
    struct noderole_view v = {0};
    f->changed++;
    if (anneal_noderole(s->engine, noderole, &v))
        f->tasks += v.n_tasks;
}

static struct figures figures_of(const struct revision *r)
{
    struct figures f = {.tasks = r->plan->n_tasks};
    struct u64map seen = {0};
    for (uint32_t i = 0; i < r->plan->n_changes; i++) {
        const struct plan_change *c = &r->plan->changes[i];
        u64map_put(&seen, c->noderole, 1);
        if (c->what & PLAN_C_REMOVE)
            f.removed++;
        else if (c->what & PLAN_C_TASKS) /* its new ones are counted */
            f.changed++;
        else if (revision_reruns(c))
            count_again(r->server, c->noderole, &f);
    }
    for (uint32_t i = 0; i < r->plan->n_needs; i++)
        if (u64map_put(&seen, r->plan->needs[i].child, 1))
            count_again(r->server, r->plan->needs[i].child, &f);
    u64map_done(&seen);
    return f;
}

static struct value *outcome(struct server *s, const struct server_call *c,
                             const struct revision *r, uint32_t op, bool dry)
{
    struct value *v = value_map(c->mem);
    struct figures f = figures_of(r);
    const struct snapshot *head = dry ? NULL : desire_head(s->desire, r->deployment);
    value_set(c->mem, v, "snapshot", head ? view_snapshot(s, c->mem, head) : value_null(c->mem));
    value_set(c->mem, v, "operation", op ? view_operation(s, c->mem, op) : value_null(c->mem));
    value_put_int(c->mem, v, "added", r->plan->n_noderoles);
    value_put_int(c->mem, v, "changed", f.changed);
    value_put_int(c->mem, v, "removed", f.removed);
    value_put_int(c->mem, v, "tasks", (int64_t)f.tasks);
    value_set(c->mem, v, "going", dry ? revision_going(r) : value_list(c->mem));
    value_set(c->mem, v, "touched", dry ? revision_touched(r, NULL) : value_list(c->mem));
    value_set(c->mem, v, "left",
              dry ? value_list(c->mem) : remedy_left(s, c->mem, r->deployment, op));
    return v;
}

int server_deployment_commit(struct server *s, const struct server_call *c, struct server_reply *r,
                             struct err *e)
{
    bool dry = value_as_bool(value_get(c->body, "dry_run"), false);
    const struct snapshot *p;
    const struct catalog *catalog;
    struct snapshot_conflicts conflicts;
    struct pmap *root = NULL;
    struct revision rev = {0};
    uint32_t op = 0;
    int rc = server_writable(s, e);
    if (rc < 0 || (rc = proposal_of(s, c, &p, e)) < 0 ||
        (rc = catalog_generation(s, revision_catalog(s, p), &catalog, e)) < 0 ||
        (rc = desire_merge(s->desire, p->id, c->mem, &root, &conflicts, e)) < 0)
        return rc;
    if (rc > 0)
        return tell_conflicts(s, c, p, &conflicts, e);
    uint32_t id = p->id, deployment = p->deployment;
    const char *title = p->message.n ? arena_strndup(c->mem, p->message.s, p->message.n)
                                     : arena_printf(c->mem, "commit %u of %s", p->number,
                                                    s->inv.deployments.at[deployment].name);
    rc = revision_make(&rev, s, c->mem, catalog, deployment, root, true, e);
    if (rc >= 0 && dry)
        rc = revision_try(&rev, e);
    if (rc >= 0 && !dry && !revision_is_empty(&rev))
        rc = revision_apply(&rev, c, "commit", title, &op, e);
    if (rc < 0 || dry) {
        desire_unref(s->desire, root);
    } else {
        desire_hold(s->desire);
        desire_commit(s->desire, id, root, catalog->number, op, server_wall_ms());
        rc = revision_settle(&rev, c, e);
        desire_release(s->desire);
        face_deployment_changed(s, c, deployment, "committed");
        r->accepted = op != 0;
        r->group = commit_open_group(s->commit);
    }
    if (rc >= 0)
        r->body = outcome(s, c, &rev, op, dry);
    revision_done(&rev);
    return rc;
}

/* ---- unbind at once ---- */

static int unbind_all(struct draft *d, const struct server_call *c, struct err *e)
{
    const struct value *bindings = value_get(c->body, "bindings");
    bool cascade = value_as_bool(value_get(c->body, "cascade"), false);
    int rc = 0;
    for (uint32_t i = 0; i < bindings->n && rc >= 0; i++) {
        struct id_list nodes = {0};
        rc = edit_nodes(d->server, &bindings->items[i], &nodes, e);
        if (rc >= 0)
            rc = draft_unbind(d, value_as_str(value_get(&bindings->items[i], "role")), nodes.ids.at,
                              (uint32_t)nodes.ids.n, cascade, e);
        if (rc < 0)
            rc = err_at(e, "/bindings/%u", i);
        vec_done(&nodes.ids);
    }
    return rc;
}

int server_deployment_unbind(struct server *s, const struct server_call *c, struct server_reply *r,
                             struct err *e)
{
    bool dry = value_as_bool(value_get(c->body, "dry_run"), false);
    const char *title = value_as_text(value_get(c->body, "title"), NULL);
    const struct catalog *catalog;
    struct revision rev = {0};
    struct draft d;
    uint32_t id, op = 0;
    int rc = server_writable(s, e);
    if (rc < 0 || (rc = deployment_named(s, c, &id, e)) < 0 || (rc = cluster_refuses(s, id, e)) < 0)
        return rc;
    const struct snapshot *head = desire_head(s->desire, id);
    if ((rc = catalog_generation(s, head ? head->catalog : 0, &catalog, e)) < 0)
        return rc;
    draft_open(&d, s, c->mem, catalog, id, head);
    if ((rc = unbind_all(&d, c, e)) < 0)
        draft_drop(&d);
    else
        rc = enact(&d, c, "unbind", title, dry, &rev, &op, e);
    if (rc >= 0 && !dry) {
        r->accepted = op != 0;
        r->group = commit_open_group(s->commit);
    }
    if (rc >= 0)
        r->body = outcome(s, c, &rev, op, dry);
    revision_done(&rev);
    return rc;
}
