/* fake_deployment.c - deployments, their proposals and snapshots: answers of the right form */
/* SPDX-License-Identifier: Apache-2.0 */
#include "fake_i.h"

#include <stdio.h>

int server_deployment_create(struct server *s, const struct server_call *c, struct server_reply *r,
                             struct err *e)
{
    const char *name = value_as_text(value_get(c->body, "name"), "");
    int rc = fake_begin(s, c, "deployment_create", e);
    if (rc < 0)
        return rc;
    if (fake_row_find(s, FAKE_DEPLOYMENTS, name))
        return err_set(e, ERR_EXISTS, "there is a deployment \"%s\" already", name);
    char json[256];
    snprintf(json, sizeof json,
             "{\"id\":%u,\"name\":\"\",\"parent\":\"system\",\"description\":\"\",\"rev\":1,"
             "\"noderoles\":{}}",
             ++s->next_id);
    struct value *row = fake_row_add(s, FAKE_DEPLOYMENTS, json);
    fake_lay_over(s, row, c->body, false);
    return fake_made(s, c, row, "/v1/deployments", r);
}

int server_deployment_patch(struct server *s, const struct server_call *c, struct server_reply *r,
                            struct err *e)
{
    int rc = fake_begin(s, c, "deployment_patch", e);
    return rc < 0 ? rc
                  : fake_patch(s, c, FAKE_DEPLOYMENTS, "deployment", "deployment.changed", r, e);
}

int server_deployment_bind(struct server *s, const struct server_call *c, struct server_reply *r,
                           struct err *e)
{
    bool dry = value_as_bool(value_get(c->body, "dry_run"), false);
    int rc = fake_document(s, c, "deployment_bind",
                           dry ? "{\"operation\":null,\"steps\":[{}],\"noderoles\":[],\"tasks\":1}"
                               : "{\"operation\":{},\"steps\":[{}],\"noderoles\":[1],\"tasks\":1}",
                           r, e);
    if (rc < 0)
        return rc;
    if (!fake_row_find(s, FAKE_DEPLOYMENTS, c->id[0]))
        return fake_lacks("deployment", c->id[0], e);
    if (!dry) {
        struct value *v = value_copy(c->mem, r->body);
        value_set(c->mem, v, "operation", fake_row_find(s, FAKE_OPERATIONS, "1"));
        r->body = v;
        r->group = fake_write(s, "plan.apply");
        r->accepted = true;
    }
    return 0;
}

int server_deployment_deploy(struct server *s, const struct server_call *c, struct server_reply *r,
                             struct err *e)
{
    int rc = fake_document(s, c, "deployment_deploy",
                           "{\"operation\":null,\"tasks\":{\"run\":2,\"left_out\":{\"skipped\":1},"
                           "\"stages\":4,\"joins\":1},\"warnings\":[],\"plan\":{\"tasks\":[]}}",
                           r, e);
    if (rc >= 0 && !fake_row_find(s, FAKE_DEPLOYMENTS, c->id[0]))
        return fake_lacks("deployment", c->id[0], e);
    return rc;
}

int server_deployment_graph(struct server *s, const struct server_call *c, struct server_reply *r,
                            struct err *e)
{
    int rc = fake_document(s, c, "deployment_graph",
                           "{\"graph\":\"default\",\"format\":\"dot\",\"text\":\"digraph {}\","
                           "\"plan\":null}",
                           r, e);
    if (rc >= 0 && !fake_row_find(s, FAKE_DEPLOYMENTS, c->id[0]))
        return fake_lacks("deployment", c->id[0], e);
    return rc;
}

const char fake_snapshot_text[] =
    "{\"id\":1,\"deployment\":\"prod\",\"number\":1,\"state\":\"committed\",\"author\":"
    "\"admin\",\"message\":\"bind\",\"catalog\":1,\"source\":null,\"operation\":null,"
    "\"entries\":2,\"created_at\":null,\"ended_at\":null,\"rev\":1}";
static const char diff[] = "{\"from\":null,\"to\":null,\"changes\":[],\"conflicts\":[],\"lost\":[],"
                           "\"touched\":[],\"refused\":null}";
static const char outcome[] = "{\"snapshot\":null,\"operation\":null,\"added\":0,\"changed\":1,"
                              "\"removed\":0,\"tasks\":0,\"going\":[],\"touched\":[]}";

/* Of a deployment that is there; a write tells of an event. */
static int of_deployment(struct server *s, const struct server_call *c, const char *op,
                         const char *json, const char *event, struct server_reply *r, struct err *e)
{
    int rc = fake_document(s, c, op, json, r, e);
    if (rc >= 0 && !fake_row_find(s, FAKE_DEPLOYMENTS, c->id[0]))
        rc = fake_lacks("deployment", c->id[0], e);
    if (rc >= 0)
        r->rev = (uint64_t)value_as_int(value_get(r->body, "rev"), 0);
    if (rc >= 0 && event)
        r->group = fake_write(s, event);
    return rc;
}

int server_deployment_diff(struct server *s, const struct server_call *c, struct server_reply *r,
                           struct err *e)
{
    return of_deployment(s, c, "deployment_diff", diff, NULL, r, e);
}

int server_deployment_propose(struct server *s, const struct server_call *c, struct server_reply *r,
                              struct err *e)
{
    r->location = "/v1/deployments/system/proposal";
    return of_deployment(s, c, "deployment_propose", fake_snapshot_text, "deployment.changed", r,
                         e);
}

int server_deployment_proposal(struct server *s, const struct server_call *c,
                               struct server_reply *r, struct err *e)
{
    return of_deployment(s, c, "deployment_proposal", fake_snapshot_text, NULL, r, e);
}

int server_deployment_edit(struct server *s, const struct server_call *c, struct server_reply *r,
                           struct err *e)
{
    return of_deployment(s, c, "deployment_edit", fake_snapshot_text, "deployment.changed", r, e);
}

int server_deployment_recall(struct server *s, const struct server_call *c, struct server_reply *r,
                             struct err *e)
{
    int rc = of_deployment(s, c, "deployment_recall", fake_snapshot_text, "deployment.changed", r,
                           e);
    r->body = NULL;
    return rc;
}

int server_deployment_commit(struct server *s, const struct server_call *c, struct server_reply *r,
                             struct err *e)
{
    return of_deployment(s, c, "deployment_commit", outcome, "plan.apply", r, e);
}

int server_deployment_unbind(struct server *s, const struct server_call *c, struct server_reply *r,
                             struct err *e)
{
    return of_deployment(s, c, "deployment_unbind", outcome, "plan.apply", r, e);
}

int server_deployment_snapshots(struct server *s, const struct server_call *c,
                                struct server_reply *r, struct err *e)
{
    int rc = fake_begin_on(s, c, "deployment_snapshots", FAKE_DEPLOYMENTS, "deployment", NULL, e);
    return rc < 0 ? rc : fake_list(s, c, FAKE_SNAPSHOTS, r);
}
