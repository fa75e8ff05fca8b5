/* face_overlay.c - what barclamps and deployments have over the task graphs: read, set, listed
 *
 * The same for both, but for whose it is.  The revision of an overlay is the number of its newest
 * version, 0 while there is none.  What is set is checked with all that lies below and above it
 * before it becomes a version; setting what is in force already makes none.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "server/face_overlay.h"

#include "base/json.h"
#include "base/text.h"
#include "base/yaml.h"

/* --- whose --- */

const struct catalog *overlay_catalog(const struct server *s)
{
    return s->catalog ? s->catalog : s->builtin;
}

/* As a folder of a catalog it would be read as something else: docs/rfc/04-catalog.md, section 1.
 */
static bool graph_is_folder(struct str name)
{
    static const char *const folders[] = {"graphs", "graph_overlays", "roles", "tasks"};
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
        if (str_is(name, folders[i]))
            return true;
    return false;
}

/* The graph that the query or the body names. */
static int graph_named(const struct value *from, const char *at, struct str *ret, struct err *e)
{
    const struct value *named = value_get(from, "graph");
    struct str name = named ? value_as_str(named) : str_of(GRAPHS_DEFAULT);

    if (!text_is_name(name) || graph_is_folder(name)) {
        err_set(e, ERR_INVALID, "\"%.*s\" cannot be the name of a graph",
                (int)text_utf8_prefix(name.s, name.n < 64 ? name.n : 64), name.s);
        err_at(e, "%s", at);
        return err_hint(e,
                        "lower-case letters, digits and . _ -, beginning with a letter or digit; "
                        "not graphs, graph_overlays, roles or tasks");
    }
    *ret = name;
    return 0;
}

int overlay_named(struct server *s, const struct server_call *c, enum overlay_scope scope,
                  struct overlay_key *ret, struct err *e)
{
    const struct catalog *cat = overlay_catalog(s);
    struct overlay_key k = {.scope = (uint8_t)scope, .barclamp = {"", 0}};

    if (scope == OVERLAY_DEPLOYMENT) {
        k.deployment = inventory_deployment_find(&s->inv, c->id[0]);
        if (!k.deployment)
            return face_not_found_near(e, "deployment", c->id[0], &s->inv.deployment_by_name);
    } else {
        k.barclamp = str_of(c->id[0]);
        if (!catalog_barclamp_get(cat, k.barclamp))
            return face_not_found_near(e, "barclamp", c->id[0], &cat->by_barclamp);
    }
    int rc = c->body ? graph_named(c->body, "/graph", &k.graph, e)
                     : graph_named(c->query, "?graph", &k.graph, e);
    if (rc >= 0)
        *ret = k;
    return rc;
}

int overlay_version_of(struct server *s, const struct overlay_key *k, const struct server_call *c,
                       const char *parameter, uint32_t otherwise, uint32_t *ret_version,
                       const struct overlay **ret, struct err *e)
{
    const struct value *asked = value_get(c->query, parameter);
    uint64_t n = otherwise;

    if (asked && text_u64(value_as_str(asked), UINT32_MAX, &n, e) < 0)
        return err_at(e, "?%s", parameter);
    *ret = overlays_version(s->overlays, k, (uint32_t)n);
    *ret_version = (uint32_t)n;
    if (*ret || n == 0)
        return 0;
    const struct overlay *first;
    uint32_t kept = overlays_versions(s->overlays, k, &first);
    err_set(e, ERR_NOT_FOUND, "%s has no version %u", graphs_layer_name(s, c->mem, k), (uint32_t)n);
    err_at(e, "?%s", parameter);
    if (!kept)
        return err_hint(e, "nothing was laid over this graph yet; 0 is the catalog alone");
    return err_hint(e, "versions %u to %u are kept; 0 is what lies below", first->version,
                    first[kept - 1].version);
}

int overlay_trial(struct server *s, const struct overlay_key *k, const struct overlay *v,
                  struct arena *mem, struct graphs_trial *ret, struct err *e)
{
    *ret = (struct graphs_trial){.key = *k, .text = {"", 0}};
    if (!v)
        return 0;
    int rc = graphs_text(s, v, mem, &ret->text, e);
    return rc < 0 ? rc : graphs_parse(s, k, ret->text, mem, &ret->tasks, e);
}

/* --- reading --- */

static struct value *head_view(struct server *s, struct arena *a, const struct overlay_key *k,
                               const struct overlay *v)
{
    struct value *out = value_map(a);
    bool own = k->scope == OVERLAY_DEPLOYMENT;
    value_put_text(a, out, "deployment", own ? view_deployment_name(s, k->deployment) : NULL);
    value_put_text(a, out, "barclamp", own ? NULL : k->barclamp.s);
    value_set(a, out, "graph", value_str(a, k->graph));
    value_put_int(a, out, "version", v ? v->version : 0);
    value_set(a, out, "author", value_str(a, v ? v->author : str_of("")));
    value_put_text(a, out, "created_at", v ? view_time(a, v->created_ms) : NULL);
    value_set(a, out, "message", value_str(a, v ? v->message : str_of("")));
    return out;
}

/* What has no version has no revision. */
static void rev_put(struct arena *a, struct value *out, const struct overlay *v)
{
    if (v)
        value_put_int(a, out, "rev", v->version);
}

static struct value *overlay_view(struct server *s, struct arena *a, const struct graphs_trial *t,
                                  const struct overlay *v)
{
    struct value *out = head_view(s, a, &t->key, v);
    value_put_bool(a, out, "merged", false);
    value_set(a, out, "tasks", t->tasks ? t->tasks : value_list(a));
    value_set(a, out, "text", value_str(a, t->text));
    rev_put(a, out, v);
    return out;
}

/* As files of a catalog would have it: what is built in is not written there. */
static struct value *merged_view(struct server *s, struct arena *a, const struct overlay_key *k,
                                 const struct overlay *v, const struct catalog_graph *g)
{
    struct value *out = head_view(s, a, k, v), *tasks = value_list(a);
    SCOPED_BUF(text);

    for (uint32_t i = 0; i < g->n_vertices; i++)
        if (g->vertices[i].where.file != CATALOG_NONE)
            value_add(a, tasks, value_copy(a, g->vertices[i].source));
    yaml_write(&text, tasks);
    value_put_bool(a, out, "merged", true);
    value_set(a, out, "tasks", tasks);
    value_set(a, out, "text", value_str(a, buf_str(&text)));
    rev_put(a, out, v);
    return out;
}

static int overlay_get(struct server *s, const struct server_call *c, enum overlay_scope scope,
                       struct server_reply *r, struct err *e)
{
    struct overlay_key k;
    struct graphs_trial trial;
    const struct overlay *v, *newest;
    uint32_t version;
    int rc = overlay_named(s, c, scope, &k, e);

    if (rc < 0)
        return rc;
    newest = overlays_newest(s->overlays, &k);
    rc = overlay_version_of(s, &k, c, "version", newest ? newest->version : 0, &version, &v, e);
    if (rc < 0 || (rc = overlay_trial(s, &k, v, c->mem, &trial, e)) < 0)
        return rc;
    r->rev = version;
    if (!str_is(value_as_str(value_get(c->query, "merged")), "true")) {
        r->body = overlay_view(s, c->mem, &trial, v);
        return 0;
    }
    struct catalog_report report = {0};
    SCOPED(graph_overlay) *merged = NULL;
    rc = graphs_merge(s, overlay_catalog(s), k.deployment, k.graph, &trial, &report, &merged, e);
    catalog_report_done(&report);
    if (rc < 0)
        return rc;
    r->body = merged_view(s, c->mem, &k, v, &merged->graph);
    r->live = true; /* what lies below has revisions of its own */
    return 0;
}

static int overlay_list(struct server *s, const struct server_call *c, enum overlay_scope scope,
                        struct server_reply *r, struct err *e)
{
    struct overlay_key k;
    const struct overlay *first;
    struct page p;
    int rc = overlay_named(s, c, scope, &k, e);

    if (rc < 0 || (rc = page_begin(&p, c, e)) < 0)
        return rc;
    for (uint32_t i = overlays_versions(s->overlays, &k, &first); i-- > 0;) {
        if (!page_wants(&p, UINT32_MAX - first[i].version)) /* newest first */
            continue;
        struct value *item = head_view(s, c->mem, &k, &first[i]);
        value_put_int(c->mem, item, "tasks", first[i].tasks);
        page_add(&p, c, item);
    }
    page_end(&p, c, r);
    return 0;
}

/* --- setting --- */

/* Either the text or the list, which then is written as text. */
static int body_tasks(struct server *s, const struct server_call *c, const struct overlay_key *k,
                      struct graphs_trial *ret, struct err *e)
{
    const struct value *text = value_get(c->body, "text"), *tasks = value_get(c->body, "tasks");
    struct graphs_trial t = {.key = *k, .text = value_as_str(text)};

    if (!text == !tasks) {
        err_set(e, ERR_INVALID, text ? "text and tasks say the same in two ways" : "no tasks");
        err_at(e, "/%s", text ? "text" : "tasks");
        return err_hint(e,
                        "give `tasks`, a list, or `text`, the same as YAML; [] takes the overlay "
                        "away");
    }
    if (tasks) {
        SCOPED_BUF(b);
        yaml_write(&b, tasks);
        t.text = (struct str){arena_strndup(c->mem, buf_str(&b).s, b.len), b.len};
    }
    if (t.text.n > OVERLAY_MAX_BYTES) {
        err_set(e, ERR_LIMIT, "an overlay is at most %d bytes", OVERLAY_MAX_BYTES);
        return err_at(e, "/%s", text ? "text" : "tasks");
    }
    int rc = graphs_parse(s, k, t.text, c->mem, &t.tasks, e);
    if (rc >= 0)
        *ret = t;
    return rc;
}

static void tell_changed(struct server *s, const struct server_call *c, const struct overlay_key *k,
                         const struct overlay *v)
{
    struct event ev = {.kind = EVENT_OVERLAY, .id = v->id};
    struct commit_note note = server_note(c, NULL);
    SCOPED_BUF(more);
    json_write(&more, head_view(s, c->mem, k, v), 0);
    note.more = buf_str(&more);
    commit_inventory(s->commit, &ev, &note);
    server_touch(s);
}

static int version_add(struct server *s, const struct server_call *c, const struct graphs_trial *t,
                       const struct overlay **ret, struct err *e)
{
    const struct overlay next = {.tasks = t->tasks->n,
                                 .created_ms = server_wall_ms(),
                                 .author = str_of(c->who->name),
                                 .message = face_body_text(c, "message"),
                                 .text = t->text,
                                 .group = commit_open_group(s->commit)};
    int rc = overlays_put(s->overlays, &t->key, &next, c->who->tenant, s->durable_group, ret, e);
    if (rc >= 0)
        tell_changed(s, c, &t->key, *ret);
    return rc;
}

static int overlay_set(struct server *s, const struct server_call *c, enum overlay_scope scope,
                       struct server_reply *r, struct err *e)
{
    const struct catalog *cat = overlay_catalog(s);
    bool dry = value_as_bool(value_get(c->body, "dry_run"), false);
    struct overlay_key k;
    struct graphs_trial trial;
    struct catalog_report report = {0};
    int rc = server_writable(s, e);

    if (rc < 0 || (rc = overlay_named(s, c, scope, &k, e)) < 0)
        return rc;
    const struct overlay *v = overlays_newest(s->overlays, &k);
    rc = face_match(c, v ? v->version : 0, "overlay", graphs_layer_name(s, c->mem, &k), e);
    if (rc < 0 || (rc = body_tasks(s, c, &k, &trial, e)) < 0)
        return rc;
    rc = graphs_check(s, cat, &trial, &report, e);
    bool changes = v ? !str_eq(v->text, trial.text) : trial.tasks->n > 0;
    if (rc >= 0 && changes && !dry) {
        rc = version_add(s, c, &trial, &v, e);
        r->group = commit_open_group(s->commit);
    }
    if (rc >= 0) {
        struct value *out = overlay_view(s, c->mem, &trial, v);
        value_put_bool(c->mem, out, "changed", changes);
        value_set(c->mem, out, "report", view_report(c->mem, &report, cat->n_files));
        r->body = out;
        r->rev = v ? v->version : 0;
    }
    catalog_report_done(&report);
    return rc < 0 ? rc : 0;
}

/* --- the routes --- */

#define OPERATION(name, scope, does)                                                               \
    int server_##name(struct server *s, const struct server_call *c, struct server_reply *r,       \
                      struct err *e)                                                               \
    {                                                                                              \
        return does(s, c, scope, r, e);                                                            \
    }
OPERATION(deployment_tasks, OVERLAY_DEPLOYMENT, overlay_get)
OPERATION(deployment_tasks_set, OVERLAY_DEPLOYMENT, overlay_set)
OPERATION(deployment_tasks_versions, OVERLAY_DEPLOYMENT, overlay_list)
OPERATION(deployment_tasks_diff, OVERLAY_DEPLOYMENT, overlay_diff)
OPERATION(barclamp_tasks, OVERLAY_BARCLAMP, overlay_get)
OPERATION(barclamp_tasks_set, OVERLAY_BARCLAMP, overlay_set)
OPERATION(barclamp_tasks_versions, OVERLAY_BARCLAMP, overlay_list)
OPERATION(barclamp_tasks_diff, OVERLAY_BARCLAMP, overlay_diff)
