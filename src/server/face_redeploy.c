/* face_redeploy.c - a node begins from nothing (docs/rfc/01-engine.md, section 7) */
/* SPDX-License-Identifier: Apache-2.0 */
#include "server/deploy.h"

/* Work that is under way would be torn apart; work that has ended, well or not, is what is meant to
 * be done again. */
static int check_idle(struct server *s, uint32_t node, struct err *e)
{
    for (uint32_t id = anneal_node_first_noderole(s->engine, node); id;
         id = anneal_node_next_noderole(s->engine, id)) {
        struct noderole_view v;
        struct operation_view op;
        if (!anneal_noderole(s->engine, id, &v) || v.operation == OPERATION_STANDING ||
            !anneal_operation(s->engine, v.operation, &op) || op.state != OPERATION_RUNNING)
            continue;
        err_set(e, ERR_CONFLICT, "%s belongs to operation %u, which is open", view_role_name(s, id),
                v.operation);
        return err_hint(e, "wait for it (`anneal operation watch %u`) or cancel it", v.operation);
    }
    return 0;
}

int server_node_redeploy(struct server *s, const struct server_call *c, struct server_reply *r,
                         struct err *e)
{
    uint32_t id = inventory_node_find(&s->inv, c->id[0]), op;
    int rc = server_writable(s, e);
    if (rc < 0)
        return rc;
    if (!id)
        return face_not_found_near(e, "node", c->id[0], &s->inv.node_by_name);
    const char *name = s->inv.nodes.at[id].name;
    if (s->inv.nodes.at[id].leaving)
        return err_set(e, ERR_CONFLICT, "node %s is being removed", name);
    if (!anneal_node_first_noderole(s->engine, id)) {
        err_set(e, ERR_REFUSED, "nothing is bound to node %s", name);
        return err_hint(e, "`anneal deployment bind` binds roles to it");
    }
    struct event ev = {.kind = EVENT_REDEPLOY, .id = id};
    struct commit_note note = server_note(c, NULL);
    if ((rc = check_idle(s, id, e)) < 0 || (rc = anneal_redeploy_check(s->engine, id, e)) < 0 ||
        (rc = face_operation_add(s, c, "redeploy", arena_printf(c->mem, "redeploy %s", name),
                                 CLASS_NORMAL, &op, e)) < 0)
        return rc;
    ev.op = op;
    if ((rc = server_apply(s, &ev, &note, NULL, e)) < 0)
        return rc;
    deploy_forget_node(s, id);
    r->body = view_operation(s, c->mem, op);
    r->accepted = true;
    r->group = commit_open_group(s->commit);
    return 0;
}
