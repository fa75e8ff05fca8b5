/* test_layout_real.c - layouts and plans of templates that were in use
 *
 * What Coopr published is imported, found through ANNEAL_TEST_DATA: every template has a layout at
 * every size it allows, and what Coopr itself made of them (golden/coopr, kinds real_solve and
 * real_plan) comes out the same by way of catalog, template, layout and phases.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "tap.h"

#include <dirent.h>

#include "base/json.h"
#include "base/map.h"
#include "catalog/import_job.h"
#include "planner/layout.h"
#include "planner/layout_phase.h"
#include "planner/phase_plan.h"

struct real {
    struct arena mem;
    struct job job;
    const char *data;
    unsigned ran, passed, excepted, skipped;
};

static int coopr_import(struct real *r)
{
    struct catalog_source source;
    if (!files_read(&r->job.in, arena_printf(&r->mem, "%s/data/coopr/current", r->data), ""))
        return -ERR_NOT_FOUND;
    source = files_source(&r->job.in);
    r->job.rc = catalog_import_coopr(&source, &r->job.out, &r->job.e);
    return job_load(&r->job);
}

static struct layout_request request_of(struct real *r, const char *template, uint32_t nodes)
{
    struct layout_request req = {.catalog = r->job.cat, .nodes_min = nodes, .nodes_max = nodes};
    if (catalog_template_resolve(r->job.cat, str_of(template), &r->mem, &req.template, &r->job.e) <
        0)
        ok(false, "%s: %s", template, r->job.e.text);
    return req;
}

/* --- every template --- */

static void sizes_solve(struct real *r, const char *template)
{
    static const uint32_t sizes[] = {1, 2, 3, 5, 50, 500, 5000};
    unsigned solved = 0, tried = 0;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct layout_request req = request_of(r, template, sizes[i]);
        const struct layout_answer *a;
        uint64_t nodes = 0;
        if (!req.template || sizes[i] < req.template->min_nodes ||
            sizes[i] > req.template->max_nodes)
            continue;
        tried++;
        int rc = layout_solve(&r->mem, &req, &a, &r->job.e);
        for (uint32_t k = 0; rc == 0 && k < a->n_kinds; k++)
            nodes += a->kinds[k].count;
        if (rc == 0 && a->status == SOLVER_SOLVED && nodes == sizes[i])
            solved++;
        else
            note("%s at %u: %s", template, sizes[i],
                 rc < 0          ? r->job.e.text
                 : a->n_conflict ? a->conflict[0].text.s
                                 : "the wrong number of nodes");
    }
    ok(tried > 0 && solved == tried, "%s: a layout at each of %u sizes", template, tried);
}

static void test_templates(struct real *r)
{
    unsigned n = 0;
    for (uint32_t i = 0; i < r->job.cat->n_templates; i++)
        if (!r->job.cat->templates[i].partial && !r->job.cat->templates[i].kind.fault) {
            sizes_solve(r, r->job.cat->templates[i].kind.name.s);
            n++;
        }
    is_int(n, 14, "templates that were published whole");
    const struct catalog_template *t;
    is_int(catalog_template_resolve(r->job.cat, str_of("coopr-standalone-docker"), &r->mem, &t,
                                    &r->job.e),
           -ERR_REFUSED, "and one without its service");
    has_text(r->job.e.text, "there is no service \"coopr-standalone\"", "which is told");
}

/* --- what Coopr made of them --- */

static const char *text_at(const struct value *v, const char *key)
{
    return value_as_text(value_get(v, key), "");
}

/* The template that a case is about: the longest name that its id goes on with. */
static const char *template_of(const struct real *r, const char *id)
{
    const char *best = NULL, *at = strstr(id, "real-solve-") ? id + 11 : id + 10;
    if (!strncmp(at, "hadoop-allsvc", 13) || !strncmp(at, "restart-namenode", 16))
        at = "hadoop-distributed";
    for (uint32_t i = 0; i < r->job.cat->n_templates; i++) {
        struct str name = r->job.cat->templates[i].kind.name;
        if (!strncmp(at, name.s, name.n) && (!best || name.n > strlen(best)))
            best = name.s;
    }
    return best;
}

static struct catalog_names names_of(struct real *r, const struct value *list)
{
    struct str *names = arena_new(&r->mem, struct str, list->n);
    for (uint32_t i = 0; i < list->n; i++)
        names[i] = value_as_str(&list->items[i]);
    return (struct catalog_names){names, list->n};
}

static bool same_kind(const struct layout_kind *k, const struct value *want)
{
    const struct value *services = value_get(want, "services");
    bool same = k->count == value_as_int(value_get(want, "count"), 0) &&
                str_is(k->hardware, text_at(want, "hw")) &&
                str_is(k->image, text_at(want, "img")) && services->n == k->n_services;
    for (uint32_t i = 0; same && i < k->n_services; i++)
        same = str_eq(k->services[i], value_as_str(&services->items[i]));
    return same;
}

static bool same_layout(const struct layout_answer *a, const struct value *want)
{
    bool same = a->n_kinds == want->n;
    for (uint32_t i = 0; same && i < want->n; i++) {
        uint32_t k = 0;
        while (k < a->n_kinds && !same_kind(&a->kinds[k], &want->items[i]))
            k++;
        same = k < a->n_kinds;
    }
    return same;
}

static struct str only_of(const struct value *list)
{
    return list->n == 1 ? value_as_str(&list->items[0]) : str_of(LAYOUT_ANY);
}

/* Coopr's solver does not look at the size of a template, so that cases are of any. */
static void size_lift(struct real *r, const char *id, struct layout_request *req)
{
    struct catalog_template *t = arena_new(&r->mem, struct catalog_template, 1);
    if (req->nodes_min >= req->template->min_nodes && req->nodes_max <= req->template->max_nodes)
        return;
    note("%s: its template is not for %u nodes; here it is", id, req->nodes_max);
    *t = *req->template;
    t->min_nodes = 1;
    t->max_nodes = CATALOG_NONE;
    req->template = t;
}

static void solve_case(struct real *r, const char *id, const struct value *check)
{
    const struct value *in = value_get(check, "input"),
                       *want = value_get(value_get(check, "expect"), "set_of");
    struct layout_request req = request_of(r, template_of(r, id),
                                           (uint32_t)value_as_int(value_get(in, "nodes"), 0));
    const struct layout_answer *a = NULL;
    struct err e = {0};
    size_lift(r, id, &req);
    req.services = names_of(r, value_get(in, "services"));
    req.hardware = only_of(value_get(in, "hardware"));
    req.image = only_of(value_get(in, "images"));
    req.comparator = str_of("coopr");
    int rc = layout_solve(&r->mem, &req, &a, &e);
    r->ran++;
    r->passed += ok(rc == 0 && a->status == SOLVER_SOLVED && same_layout(a, want), "%s: %s", id,
                    rc < 0 ? e.text : "the layout that it was");
}

/* --- plans --- */

struct planned { /* a cluster whose nodes have the names of a case */
    struct catalog_names services;
    struct phase_cluster cluster;
    struct phase_graph *g;
};

static uint32_t place_of(struct catalog_names names, struct str name)
{
    for (uint32_t i = 0; i < names.n; i++)
        if (str_eq(names.at[i], name))
            return i;
    return PHASE_NIL;
}

/* Each node of the case gets a node of the layout with the same services; false: there is none. */
static bool nodes_match(struct real *r, const struct layout_answer *a, const struct value *nodes,
                        uint16_t machine, struct planned *p)
{
    struct phase_node *at = arena_new(&r->mem, struct phase_node, nodes->n);
    uint32_t *left = arena_new(&r->mem, uint32_t, a->n_kinds);
    for (uint32_t k = 0; k < a->n_kinds; k++)
        left[k] = a->kinds[k].count;
    for (uint32_t i = 0; i < nodes->n; i++) {
        struct catalog_names has = names_of(r, &nodes->members[i].v);
        uint32_t *services = arena_new(&r->mem, uint32_t, has.n), k = 0;
        for (; k < a->n_kinds; k++) {
            bool same = left[k] && a->kinds[k].n_services == has.n;
            for (uint32_t s = 0; same && s < has.n; s++)
                same = place_of((struct catalog_names){a->kinds[k].services, has.n}, has.at[s]) !=
                       PHASE_NIL;
            if (same)
                break;
        }
        if (k == a->n_kinds)
            return false;
        left[k]--;
        for (uint32_t s = 0; s < has.n; s++)
            services[s] = place_of(p->services, has.at[s]);
        at[i] = (struct phase_node){.name = {nodes->members[i].key, nodes->members[i].key_n},
                                    .services = services,
                                    .n_services = has.n,
                                    .machine = machine};
    }
    p->cluster.nodes = at;
    p->cluster.n_nodes = nodes->n;
    return true;
}

static const char *upper(struct arena *a, const char *s)
{
    char *copy = arena_strdup(a, s);
    for (char *c = copy; *c; c++)
        *c = (char)(*c >= 'a' && *c <= 'z' ? *c - 'a' + 'A' : *c);
    return copy;
}

static const char *task_name(struct real *r, const struct planned *p, uint32_t v)
{
    const struct phase_vertex *at = &p->g->vertices[v];
    struct str node = p->cluster.nodes[at->node].name;
    return arena_printf(&r->mem, "%.*s:%s%s%s", (int)node.n, node.s,
                        upper(&r->mem, phase_kind_name((enum phase_kind)at->kind)),
                        at->service == PHASE_NIL ? "" : ":",
                        at->service == PHASE_NIL ? "" : p->cluster.services[at->service].name.s);
}

static bool list_is(const struct value *want, const struct strmap *got)
{
    bool same = got->live == want->n;
    for (uint32_t i = 0; same && i < want->n; i++)
        same = strmap_get(got, value_as_str(&want->items[i]), NULL);
    return same;
}

static bool same_graph(struct real *r, const struct planned *p, const struct value *want)
{
    struct strmap tasks = {0}, edges = {0};
    uint32_t *deps = arena_new(&r->mem, uint32_t, p->g->n_tasks);
    const struct value *edges_want = value_get(want, "edges");
    for (uint32_t v = 0; v < p->g->n_tasks; v++) {
        const char *name = task_name(r, p, v);
        strmap_put(&tasks, str_of(name), 0);
        for (uint32_t i = 0, n = phase_edges(p->g, v, deps, p->g->n_tasks); i < n; i++)
            strmap_put(&edges,
                       str_of(arena_printf(&r->mem, "%s > %s", task_name(r, p, deps[i]), name)), 0);
    }
    bool same = list_is(value_get(want, "tasks"), &tasks) &&
                (!edges_want || list_is(edges_want, &edges));
    strmap_done(&tasks);
    strmap_done(&edges);
    return same;
}

static enum phase_op op_of(const char *action)
{
    static const struct {
        const char *action;
        enum phase_op op;
    } all[] = {
        {"CLUSTER_CREATE", PHASE_OP_CREATE},
        {"CLUSTER_DELETE", PHASE_OP_DELETE},
        {"CLUSTER_CONFIGURE", PHASE_OP_CONFIGURE},
        {"START_SERVICES", PHASE_OP_START},
        {"STOP_SERVICES", PHASE_OP_STOP},
        {"RESTART_SERVICES", PHASE_OP_RESTART},
        {"CLUSTER_CONFIGURE_WITH_RESTART", PHASE_OP_CONFIGURE_RESTART},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (!strcmp(all[i].action, action))
            return all[i].op;
    return PHASE_OP_COUNT;
}

static int plan_make(struct real *r, const struct value *in, struct planned *p, struct err *e)
{
    SCOPED(phase_deps) *deps = NULL;
    const struct value *planned = value_get(in, "planned_services");
    struct phase_request req = {.op = op_of(text_at(in, "action"))};
    struct phase_work work;
    bool *picked = arena_new(&r->mem, bool, p->services.n);
    for (uint32_t i = 0; planned && i < planned->n; i++)
        picked[place_of(p->services, value_as_str(&planned->items[i]))] = true;
    req.services = planned ? picked : NULL;
    int rc = layout_phase_services(&r->mem, r->job.cat, p->services, str_of(""),
                                   &p->cluster.services, e);
    p->cluster.n_services = p->services.n;
    if (rc < 0 || (rc = phase_deps_make(p->cluster.services, p->services.n, false, &deps, e)) < 0 ||
        (rc = phase_work_init(&work, &p->cluster, &r->mem, e)) < 0 ||
        (rc = phase_request_op(&req, &p->cluster, deps, &work, e)) < 0)
        return rc;
    return phase_graph_make(&p->cluster, deps, &work, &p->g, e);
}

static void plan_case(struct real *r, const char *id, const struct value *check)
{
    const struct value *in = value_get(check, "input"), *nodes = value_get(in, "nodes");
    const struct value *want = value_get(value_get(check, "expect"), "partial");
    struct layout_request req = request_of(r, template_of(r, id), nodes->n);
    const struct layout_answer *a;
    struct planned p = {0};
    struct err e = {0};
    size_lift(r, id, &req);
    req.comparator = str_of("coopr");
    int rc = layout_solve(&r->mem, &req, &a, &e);
    if (rc >= 0)
        rc = layout_services(&r->mem, &req, &p.services, &e);
    const struct catalog_provider *provider = catalog_provider_get(r->job.cat,
                                                                   req.template->provider);
    if (rc >= 0 && !nodes_match(r, a, nodes, phase_provider_has(provider), &p)) {
        note("skipped: %s: another layout than its template's", id);
        r->skipped++;
        return;
    }
    if (rc >= 0)
        rc = plan_make(r, in, &p, &e);
    r->ran++;
    r->passed += ok(rc >= 0 && same_graph(r, &p, want), "%s: %s", id,
                    rc < 0 ? e.text : "the tasks and edges that they were");
    phase_graph_free(p.g);
}

/* --- all cases --- */

static void case_run(struct real *r, const struct value *v)
{
    const struct value *checks = value_get(v, "checks");
    for (uint32_t i = 0; checks && i < checks->n; i++)
        if (!strcmp(text_at(v, "kind"), "real_solve"))
            solve_case(r, text_at(v, "id"), &checks->items[i]);
        else if (!strcmp(text_at(v, "kind"), "real_plan"))
            plan_case(r, text_at(v, "id"), &checks->items[i]);
}

static void test_golden(struct real *r)
{
    struct files all = {0};
    arena_init(&all.mem);
    ok(files_read(&all, arena_printf(&r->mem, "%s/golden/coopr", r->data), ""), "there are cases");
    for (size_t i = 0; i < all.at.n; i++) {
        struct value *v;
        struct err e;
        if (!strncmp(all.at.at[i].path.s, "real-", 5) &&
            !json_parse(&r->mem, all.at.at[i].text.s, all.at.at[i].text.n, NULL, &v, &e))
            case_run(r, v);
    }
    files_done(&all);
    note("coopr layouts and plans: %u ran, %u passed, %u excepted, %u skipped", r->ran, r->passed,
         r->excepted, r->skipped);
    ok(r->ran >= 15, "most of them are about templates that were published");
}

int main(void)
{
    struct real r = {.data = getenv("ANNEAL_TEST_DATA")};
    r.data = r.data ? r.data : "../shared";
    arena_init(&r.mem);
    arena_init(&r.job.in.mem);
    int rc = coopr_import(&r);
    if (rc == -ERR_NOT_FOUND) {
        skip("what Coopr published is not here");
    } else if (ok(rc == 0, "what Coopr published is imported: %s", r.job.e.text)) {
        test_templates(&r);
        test_golden(&r);
    }
    job_done(&r.job);
    arena_done(&r.mem);
    return tap_done();
}
