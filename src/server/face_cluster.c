/* face_cluster.c - requests: clusters made, changed, looked at
 *
 * Each operation is the same few steps: what is asked for, what the cluster is, the layout, the
 * graph; then either shown or done.  Operations of one cluster come one after the other.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "server/cluster_i.h"
#include "server/providers.h"
#include "template/macro.h"

/* --- what is asked for --- */

static struct str body_name(const struct server_call *c, const char *key)
{
    struct str s = value_as_str(value_get(c->body, key));
    return s.n ? s : (struct str){"", 0};
}

static int nodes_read(const struct server_call *c, struct cluster_ask *ask, struct err *e)
{
    const struct value *v = value_get(c->body, "nodes");
    if (value_is(v, VALUE_INT)) {
        ask->nodes_min = ask->nodes_max = (uint32_t)value_as_int(v, 0);
    } else if (value_is(v, VALUE_MAP)) {
        ask->nodes_min = (uint32_t)value_as_int(value_get(v, "min"), 1);
        ask->nodes_max = (uint32_t)value_as_int(value_get(v, "max"), ask->nodes_min);
    }
    ask->by = (uint32_t)value_as_int(value_get(c->body, "by"), 0);
    if (ask->nodes_max >= ask->nodes_min)
        return 0;
    err_set(e, ERR_INVALID, "at least %u and at most %u nodes cannot be", ask->nodes_min,
            ask->nodes_max);
    return err_at(e, "/nodes");
}

static int ask_read(const struct server_call *c, enum cluster_verb verb, uint32_t deployment,
                    struct cluster_ask *ret, struct err *e)
{
    *ret = (struct cluster_ask){
        .verb = verb,
        .deployment = deployment,
        .services = cluster_names(c->mem, value_get(c->body, "services")),
        .name = body_name(c, "name"),
        .template = body_name(c, "template"),
        .provider = body_name(c, "provider"),
        .hardware = body_name(c, "hardware"),
        .image = body_name(c, "image"),
        .comparator = body_name(c, "comparator"),
        .domain = body_name(c, "domain"),
        .config = value_get(c->body, "config"),
        .merge = value_as_bool(value_get(c->body, "merge"), true),
        .restart = value_as_bool(value_get(c->body, "restart"), false),
        .in_turn = value_as_bool(value_get(c->body, "in_turn"), false),
        .revision = (uint32_t)value_as_int(value_get(c->body, "revision"), 0),
        .action = body_name(c, "action"),
        .max_steps = (uint64_t)value_as_int(value_get(c->body, "max_steps"), 0)};
    return nodes_read(c, ret, e);
}

static int cluster_named(struct server *s, const struct server_call *c, const struct cluster **ret,
                         struct err *e)
{
    uint32_t id = inventory_deployment_find(&s->inv, c->id[0]);
    *ret = cluster_get(s, id);
    if (*ret)
        return 0;
    if (id) {
        err_set(e, ERR_NOT_FOUND, "deployment %s is no cluster", c->id[0]);
        return err_hint(e, "`anneal cluster list` shows those there are");
    }
    return face_not_found_near(e, "cluster", c->id[0], &s->inv.deployment_by_name);
}

/* --- the document --- */

/* Macros that cannot be read, or name a service that can never be there, are told here, not when a
 * task runs. */
static int config_check(struct cluster_work *w, struct err *e)
{
    const struct value *config = value_get(w->now.spec, "config");
    const struct catalog_template *t;
    struct strmap known = {0};
    int rc = cluster_template(w->mem, w->now.spec, &t, e);
    if (rc < 0 || !config)
        return rc;
    struct catalog_names has = cluster_services(w->mem, w->now.spec);
    for (uint32_t i = 0; i < has.n; i++)
        strmap_put(&known, has.at[i], 1);
    for (uint32_t i = 0; i < t->may_services.n; i++)
        strmap_put(&known, t->may_services.at[i], 1);
    rc = macro_value_validate(config, t->may_services.n ? &known : NULL, e);
    strmap_done(&known);
    if (rc < 0)
        (void)err_at(e, "/config%s", arena_strdup(w->mem, e->at));
    return rc;
}

/* How long a cluster is lent: what was asked for, within what the template allows. */
static int lease_read(struct cluster_work *w, const struct server_call *c, struct cluster_ask *ask,
                      struct err *e)
{
    const struct catalog_template *t;
    const char *text = value_as_text(value_get(c->body, "lease"), NULL);
    char shown[16];
    int rc = cluster_template(w->mem, w->now.spec, &t, e);
    if (rc < 0)
        return rc;
    ask->lease_ms = t->lease_initial_ms;
    if (!text)
        return 0;
    if (!strcmp(text, "forever"))
        ask->lease_ms = 0;
    else if ((rc = text_duration_ms(str_of(text), &ask->lease_ms, e)) < 0)
        return err_at(e, "/lease");
    if (!t->lease_initial_ms || (ask->lease_ms && ask->lease_ms <= t->lease_initial_ms))
        return 0;
    text_duration_show(t->lease_initial_ms, shown);
    err_set(e, ERR_REFUSED, "template %s lends for at most %s at first", t->kind.name.s, shown);
    return err_at(e, "/lease");
}

/* --- one operation --- */

static int check_idle(struct server *s, const struct cluster *is, struct err *e)
{
    struct operation_view v;
    if (!is->operation || !anneal_operation(s->engine, is->operation, &v) ||
        v.state != OPERATION_RUNNING)
        return 0;
    const char *name = view_deployment_name(s, is->deployment);
    err_set(e, ERR_CONFLICT, "operation %u (%s) of cluster %s is under way", is->operation,
            cluster_verb_name(is->verb), name);
    return err_hint(e, "wait for it (`anneal operation watch %u`), or cancel it", is->operation);
}

static int answer(struct cluster_work *w, const struct server_call *c, uint32_t op, bool dry,
                  struct value *difference, struct server_reply *r)
{
    struct value *v = value_map(c->mem);
    const struct cluster *is = cluster_get(w->server, w->now.deployment);
    value_set(c->mem, v, "operation",
              op ? view_operation(w->server, c->mem, op) : value_null(c->mem));
    value_set(c->mem, v, "cluster",
              is && !dry ? view_cluster(w->server, c->mem, is, true) : value_null(c->mem));
    value_set(c->mem, v, "layout",
              w->layout ? layout_answer_value(c->mem, w->layout) : value_null(c->mem));
    value_set(c->mem, v, "difference", difference);
    value_set(c->mem, v, "plan", cluster_plan_value(w));
    value_set(c->mem, v, "left", is ? cluster_left(w, is->deployment, op) : value_list(c->mem));
    r->body = v;
    r->accepted = op != 0;
    if (!dry)
        r->group = commit_open_group(w->server->commit);
    return 0;
}

/* What is said to the provider: the plain part becomes one of the document, the rest waits in `ret`
 * until the cluster is there to have it. */
static int fields_read(struct cluster_work *w, const struct server_call *c,
                       struct provider_said *ret, struct err *e)
{
    const struct value *given = value_get(c->body, "fields");
    int rc = provider_request(w->server, w->mem, w->now.spec, w->now.deployment, given, ret, e);
    if (rc < 0 || !ret->plain->n)
        return rc;
    struct value *spec = value_map(w->mem);
    for (uint32_t i = 0; i < w->now.spec->n; i++)
        value_set(w->mem, spec, w->now.spec->members[i].key, &w->now.spec->members[i].v);
    value_set(w->mem, spec, "fields", ret->plain);
    w->now.spec = spec;
    return 0;
}

static int operate(struct server *s, const struct server_call *c, struct cluster_ask *ask,
                   struct server_reply *r, struct err *e)
{
    bool dry = value_as_bool(value_get(c->body, "dry_run"), false);
    struct provider_said said = {0};
    struct cluster_work w;
    uint32_t op = 0;
    int rc = cluster_work_begin(&w, s, c->mem, ask, e);
    if (rc >= 0)
        rc = cluster_deleted_refuses(&w, e);
    if (rc >= 0)
        rc = cluster_layout(&w, e);
    if (rc >= 0)
        rc = fields_read(&w, c, &said, e);
    if (rc >= 0 && ask->verb == CLUSTER_CREATE)
        rc = lease_read(&w, c, ask, e);
    if (rc >= 0 && ask->verb != CLUSTER_DELETE)
        rc = config_check(&w, e);
    /* Made twice if it is done: what it comes to is known before anything changes. */
    if (rc >= 0)
        rc = cluster_graph(&w, e);
    struct value *difference = rc >= 0 ? cluster_difference_value(&w) : NULL;
    if (rc >= 0 && !dry) {
        cluster_graph_drop(&w);
        rc = cluster_enact(&w, c, &op, e);
        if (rc >= 0)
            rc = credential_put(s, w.now.deployment, said.sensitive, e);
    }
    if (rc >= 0)
        rc = answer(&w, c, op, dry, difference, r);
    cluster_work_done(&w);
    return rc;
}

/* --- one after the other --- */

enum { WAITING_MOST = 16 };

/* A request that waits is kept as it is, but for what is sensitive in it: that is sealed at once.
 */
static int fields_set_aside(struct server *s, const struct server_call *c, const struct cluster *is,
                            const struct value **ret, struct err *e)
{
    const struct value *given = value_get(c->body, "fields");
    struct provider_said said;
    struct value *body = value_map(c->mem);
    *ret = c->body ? c->body : body;
    if (!given)
        return 0;
    const struct cluster_look *look = data_cluster_look(s, is->deployment, e);
    if (!look)
        return err_set(e, ERR_NOT_FOUND, "its cluster is gone");
    int rc = provider_request(s, c->mem, look->spec, is->deployment, given, &said, e);
    if (rc < 0 || (rc = credential_put(s, is->deployment, said.sensitive, e)) < 0)
        return rc;
    for (uint32_t i = 0; i < c->body->n; i++)
        value_set(c->mem, body, c->body->members[i].key, &c->body->members[i].v);
    value_set(c->mem, body, "fields", said.plain);
    *ret = body;
    return 0;
}

static int queue_add(struct server *s, const struct server_call *c, const struct cluster *is,
                     struct server_reply *r, struct err *e)
{
    struct value *list = value_list(c->mem), *one = value_map(c->mem);
    const struct value *body;
    SCOPED_BUF(text);
    int rc = is->waiting ? json_parse(c->mem, is->waiting, strlen(is->waiting), NULL, &list, e) : 0;
    if (rc < 0)
        return rc;
    if (list->n >= WAITING_MOST)
        return err_set(e, ERR_LIMIT, "%u operations wait for cluster %s already", list->n,
                       c->id[0]);
    value_put_text(c->mem, one, "verb", c->id[1]);
    value_put_text(c->mem, one, "who", c->who->name);
    value_put_int(c->mem, one, "tenant", c->who->tenant);
    if ((rc = fields_set_aside(s, c, is, &body, e)) < 0)
        return rc;
    value_set(c->mem, one, "body", body);
    value_add(c->mem, list, one);
    json_write_canonical(&text, list);
    cluster_set_waiting(s, is->deployment, buf_str(&text));
    face_deployment_changed(s, c, is->deployment, "queued");
    struct value *v = value_map(c->mem);
    value_set(c->mem, v, "operation", value_null(c->mem));
    value_set(c->mem, v, "cluster", view_cluster(s, c->mem, is, true));
    value_set(c->mem, v, "layout", value_null(c->mem));
    value_set(c->mem, v, "difference", value_null(c->mem));
    value_set(c->mem, v, "plan", value_null(c->mem));
    value_set(c->mem, v, "left", value_list(c->mem));
    r->body = v;
    r->accepted = true;
    r->group = commit_open_group(s->commit);
    return 0;
}

int server_cluster_create(struct server *s, const struct server_call *c, struct server_reply *r,
                          struct err *e)
{
    struct cluster_ask ask;
    int rc = server_writable(s, e);
    if (rc < 0 || (rc = ask_read(c, CLUSTER_CREATE, 0, &ask, e)) < 0 ||
        (rc = face_deployment_name(s, ask.name, e)) < 0)
        return rc;
    rc = operate(s, c, &ask, r, e);
    if (rc >= 0 && r->accepted)
        r->location = arena_printf(c->mem, "/v1/clusters/%s", ask.name.s);
    return rc;
}

int server_cluster_operate(struct server *s, const struct server_call *c, struct server_reply *r,
                           struct err *e)
{
    struct cluster_ask ask;
    const struct cluster *is;
    int verb = cluster_verb_find(str_of(c->id[1]));
    int rc = server_writable(s, e);
    if (rc < 0 || (rc = cluster_named(s, c, &is, e)) < 0)
        return rc;
    if (verb <= CLUSTER_CREATE) {
        err_set(e, ERR_NOT_FOUND, "a cluster has no operation \"%s\"", c->id[1]);
        return err_hint(e, "expand, shrink, add-service, remove-service, configure, start, stop, "
                           "restart, upgrade, rollback, act or delete");
    }
    if ((rc = face_match(c, is->rev, "cluster", c->id[0], e)) < 0 ||
        (rc = ask_read(c, (enum cluster_verb)verb, is->deployment, &ask, e)) < 0)
        return rc;
    /* Whoever only looks sees what it would be now, whatever is under way. */
    rc = value_as_bool(value_get(c->body, "dry_run"), false) ? 0 : check_idle(s, is, e);
    if (rc == -ERR_CONFLICT && value_as_bool(value_get(c->body, "queue"), false))
        return queue_add(s, c, is, r, e);
    return rc < 0 ? rc : operate(s, c, &ask, r, e);
}

/* The next that waits, now that the one before it has ended well.  What refuses it now is told in
 * the log and the journal: nobody is there to be answered. */
int cluster_queue_next(struct server *s, uint32_t deployment, struct arena *mem, struct err *e)
{
    const struct cluster *is = cluster_get(s, deployment);
    struct value *list = NULL, *rest = value_list(mem);
    struct caller who = {.scope = SCOPE_OPERATE};
    struct server_reply r = {0};
    struct cluster_ask ask;
    SCOPED_BUF(text);
    int rc = json_parse(mem, is->waiting, strlen(is->waiting), NULL, &list, e);
    if (rc < 0)
        return rc;
    for (uint32_t i = 1; i < list->n; i++)
        value_add(mem, rest, &list->items[i]);
    const struct value *next = &list->items[0];
    if (rest->n)
        json_write_canonical(&text, rest);
    cluster_set_waiting(s, deployment, buf_str(&text));
    who.tenant = (uint32_t)value_as_int(value_get(next, "tenant"), 1);
    snprintf(who.name, sizeof who.name, "%s", value_as_text(value_get(next, "who"), "?"));
    struct server_call call = {.mem = mem, .who = &who, .body = value_get(next, "body")};
    int verb = cluster_verb_find(value_as_str(value_get(next, "verb")));
    rc = ask_read(&call, (enum cluster_verb)verb, deployment, &ask, e);
    return rc < 0 ? rc : operate(s, &call, &ask, &r, e);
}

/* --- looking --- */

int server_cluster_get(struct server *s, const struct server_call *c, struct server_reply *r,
                       struct err *e)
{
    const struct cluster *is;
    int rc = cluster_named(s, c, &is, e);
    if (rc < 0)
        return rc;
    r->body = view_cluster(s, c->mem, is, true);
    r->rev = is->rev;
    r->live = true;
    return 0;
}

int server_cluster_list(struct server *s, const struct server_call *c, struct server_reply *r,
                        struct err *e)
{
    const char *state = value_as_text(value_get(c->query, "state"), NULL);
    struct page p;
    int rc = page_begin(&p, c, e);
    if (rc < 0)
        return rc;
    const struct cluster *is;
    for (uint32_t at = 0; (is = cluster_next(s, at)); at = is->deployment)
        if ((!state || !strcmp(state, cluster_state_name(cluster_state_now(s, is)))) &&
            page_wants(&p, is->deployment))
            page_add(&p, c, view_cluster(s, c->mem, is, false));
    page_end(&p, c, r);
    return 0;
}

/* --- leases --- */

static int lease_check(struct server *s, struct arena *mem, const struct cluster *is,
                       uint64_t until, struct err *e)
{
    const struct snapshot *head = desire_head(s->desire, is->deployment);
    const struct catalog_template *t;
    const struct catalog *cat;
    struct cluster_look l;
    int rc = catalog_generation(s, head->catalog, &cat, e);
    if (rc < 0 || (rc = cluster_look(&l, s, mem, cat, is->deployment, head->root, e)) < 0)
        return rc;
    rc = cluster_template(mem, l.spec, &t, e);
    cluster_look_done(&l);
    if (rc < 0 || (rc = template_lease_check(t, is->created_ms, is->lease_ms, until, e)) >= 0)
        return rc;
    uint64_t most = t->lease_max_ms ? is->created_ms + t->lease_max_ms : UINT64_MAX;
    uint64_t next = t->lease_step_ms ? is->lease_ms + t->lease_step_ms : UINT64_MAX;
    return err_hint(e, "until %s at most", view_time(mem, next < most ? next : most));
}

int server_cluster_patch(struct server *s, const struct server_call *c, struct server_reply *r,
                         struct err *e)
{
    const struct value *v = value_get(c->body, "expires_in");
    const struct cluster *is;
    uint64_t ms = 0;
    int rc = server_writable(s, e);
    if (rc < 0 || (rc = cluster_named(s, c, &is, e)) < 0 ||
        (rc = face_match(c, is->rev, "cluster", c->id[0], e)) < 0 ||
        (rc = check_idle(s, is, e)) < 0)
        return rc;
    struct cluster now = *is;
    if (v && strcmp(value_as_text(v, ""), "forever") != 0 &&
        (rc = text_duration_ms(value_as_str(v), &ms, e)) < 0)
        return err_at(e, "/expires_in");
    if (v) {
        now.lease_ms = ms ? server_wall_ms() + ms : 0;
        if ((rc = lease_check(s, c->mem, is, now.lease_ms, e)) < 0)
            return rc;
        cluster_put(s, &now);
        face_deployment_changed(s, c, is->deployment, "lease");
        r->group = commit_open_group(s->commit);
    }
    is = cluster_get(s, now.deployment);
    r->body = view_cluster(s, c->mem, is, true);
    r->rev = is->rev;
    return 0;
}
