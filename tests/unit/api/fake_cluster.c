/* fake_cluster.c - clusters of the fake server: documents, one of each shape */
/* SPDX-License-Identifier: Apache-2.0 */
#include "fake_i.h"

#include <string.h>

#define CLUSTER                                                                                    \
    "{\"name\":\"shop\",\"id\":9,\"state\":\"active\",\"owner\":\"operator\",\"last\":\"create\"," \
    "\"operation\":1,\"revision\":1,\"created_at\":\"2026-01-01T00:00:00.000Z\","                  \
    "\"expires_at\":null,\"rev\":1,\"template\":\"web\",\"provider\":\"scratch\","                 \
    "\"services\":[\"front\"],\"size\":1"

static int known(const struct server_call *c, struct err *e)
{
    return str_is(str_of(c->id[0]), "shop") ? 0 : fake_lacks("cluster", c->id[0], e);
}

int server_cluster_list(struct server *s, const struct server_call *c, struct server_reply *r,
                        struct err *e)
{
    return fake_document(s, c, "cluster_list",
                         "{\"items\":[" CLUSTER "}],\"next\":null,\"total\":1}", r, e);
}

int server_cluster_get(struct server *s, const struct server_call *c, struct server_reply *r,
                       struct err *e)
{
    int rc = fake_document(s, c, "cluster_get",
                           CLUSTER ",\"config\":{},\"nodes\":[{\"name\":\"shop-1000.local\","
                                   "\"number\":1000,\"hardware\":\"small\",\"image\":\"plain\","
                                   "\"services\":[\"front\"],\"state\":\"ACTIVE\"}]}",
                           r, e);
    r->rev = 1;
    return rc < 0 ? rc : known(c, e);
}

int server_cluster_patch(struct server *s, const struct server_call *c, struct server_reply *r,
                         struct err *e)
{
    int rc = server_cluster_get(s, c, r, e);
    if (rc >= 0)
        r->group = fake_write(s, "deployment.changed");
    return rc;
}

static int result(struct server *s, const struct server_call *c, const char *op,
                  struct server_reply *r, struct err *e)
{
    bool dry = value_as_bool(value_get(c->body, "dry_run"), false);
    int rc = fake_document(
        s, c, op,
        "{\"operation\":null,\"cluster\":null,\"layout\":{\"status\":\"solved\"},"
        "\"difference\":{\"new_nodes\":[\"new 1\"],\"given_up\":[],"
        "\"changed\":[],\"config\":false},"
        "\"plan\":{\"tasks\":7,\"joins\":0,\"stages\":7}}",
        r, e);
    if (rc >= 0 && !dry) {
        struct value *v = value_copy(c->mem, r->body);
        value_set(c->mem, v, "operation", fake_row_find(s, FAKE_OPERATIONS, "1"));
        r->body = v;
        r->group = fake_write(s, "plan.apply");
        r->accepted = true;
    }
    return rc;
}

int server_cluster_create(struct server *s, const struct server_call *c, struct server_reply *r,
                          struct err *e)
{
    return result(s, c, "cluster_create", r, e);
}

int server_cluster_operate(struct server *s, const struct server_call *c, struct server_reply *r,
                           struct err *e)
{
    static const char *const verbs[] = {"expand",    "shrink",   "add-service", "remove-service",
                                        "configure", "start",    "stop",        "restart",
                                        "upgrade",   "rollback", "act",         "delete"};
    int rc = known(c, e);
    bool is = false;
    for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++)
        is |= !strcmp(c->id[1], verbs[i]);
    if (rc >= 0 && !is)
        return fake_lacks("operation", c->id[1], e);
    return rc < 0 ? rc : result(s, c, "cluster_operate", r, e);
}
