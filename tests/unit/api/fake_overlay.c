/* fake_overlay.c - overlays of task graphs and the files of a catalog: answers of the right form */
/* SPDX-License-Identifier: Apache-2.0 */
#include "fake_i.h"

static const char overlay_form[] =
    "{\"deployment\":null,\"barclamp\":null,\"graph\":\"default\",\"version\":1,"
    "\"author\":\"admin\",\"created_at\":\"" FAKE_NOW "\",\"message\":\"\",\"merged\":false,"
    "\"tasks\":[{\"id\":\"a\",\"type\":\"stage\"}],\"text\":\"- {id: a, type: stage}\\n\","
    "\"rev\":1}";
static const char versions_form[] =
    "{\"items\":[{\"deployment\":null,\"barclamp\":null,\"graph\":\"default\",\"version\":1,"
    "\"author\":\"admin\",\"created_at\":\"" FAKE_NOW "\",\"message\":\"\",\"tasks\":1}],"
    "\"next\":null,\"total\":1}";
static const char diff_form[] =
    "{\"graph\":\"default\",\"from\":0,\"to\":1,\"added\":[{\"id\":\"a\",\"after\":{\"id\":\"a\","
    "\"type\":\"stage\"}}],\"removed\":[],\"changed\":[]}";

/* Of a deployment or a barclamp that is there. */
static int answer_of(struct server *s, const struct server_call *c, const char *op,
                     enum fake_table t, const char *json, struct server_reply *r, struct err *e)
{
    const char *what = t == FAKE_DEPLOYMENTS ? "deployment" : "barclamp";
    int rc = fake_document(s, c, op, json, r, e);
    if (rc >= 0 && !fake_row_find(s, t, c->id[0]))
        rc = fake_lacks(what, c->id[0], e);
    if (rc < 0 || json == versions_form || json == diff_form)
        return rc;
    struct value *v = value_copy(c->mem, r->body);
    value_put_text(c->mem, v, what, c->id[0]);
    r->body = v;
    r->rev = (uint64_t)value_as_int(value_get(v, "rev"), 0);
    return 0;
}

static int set(struct server *s, const struct server_call *c, const char *op, enum fake_table t,
               struct server_reply *r, struct err *e)
{
    int rc = answer_of(s, c, op, t, overlay_form, r, e);
    if (rc >= 0)
        rc = fake_match(c, r->body, e);
    if (rc < 0)
        return rc;
    struct value *v = value_copy(c->mem, r->body);
    value_put_bool(c->mem, v, "changed", true);
    value_set(c->mem, v, "report", value_list(c->mem));
    r->body = v;
    r->group = fake_write(s, "overlay.changed");
    return 0;
}

#define OPERATION(name, call)                                                                      \
    int server_##name(struct server *s, const struct server_call *c, struct server_reply *r,       \
                      struct err *e)                                                               \
    {                                                                                              \
        return call;                                                                               \
    }
#define OVERLAY_OF(noun, t)                                                                        \
    OPERATION(noun##_tasks, answer_of(s, c, #noun "_tasks", t, overlay_form, r, e))                \
    OPERATION(noun##_tasks_set, set(s, c, #noun "_tasks_set", t, r, e))                            \
    OPERATION(noun##_tasks_versions,                                                               \
              answer_of(s, c, #noun "_tasks_versions", t, versions_form, r, e))                    \
    OPERATION(noun##_tasks_diff, answer_of(s, c, #noun "_tasks_diff", t, diff_form, r, e))
OVERLAY_OF(deployment, FAKE_DEPLOYMENTS)
OVERLAY_OF(barclamp, FAKE_BARCLAMPS)

int server_catalog_files(struct server *s, const struct server_call *c, struct server_reply *r,
                         struct err *e)
{
    const char *deployment = value_as_text(value_get(c->query, "deployment"), NULL);
    int rc = fake_document(s, c, "catalog_files",
                           "{\"generation\":1,\"deployment\":null,\"overlays\":[],\"files\":"
                           "{\"core/barclamp.yaml\":\"barclamp: core\\n\"}}",
                           r, e);
    if (rc >= 0 && deployment && !fake_row_find(s, FAKE_DEPLOYMENTS, deployment))
        rc = err_set(e, ERR_INVALID, "there is no deployment \"%s\"", deployment);
    if (rc < 0)
        err_at(e, "?deployment");
    return rc;
}
