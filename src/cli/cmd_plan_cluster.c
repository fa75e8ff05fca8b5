/* cmd_plan_cluster.c - what an operation on a cluster would do, without a server
 *
 * A cluster is a layout that was read or is solved, and its nodes are numbered in the order of the
 * layout.  An operation that changes the layout (expand, shrink, add and remove services) solves
 * once more, with these nodes as what exists; of nodes that are alike those with the highest
 * numbers are given up.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/text.h"
#include "cli/cli_layout_i.h"
#include "cli/table_i.h"
#include "planner/layout_phase.h"
#include "planner/phase_plan.h"
#include "planner/phase_write.h"

struct place { /* a node of the cluster */
    const struct str *services;
    uint32_t n_services;
    bool picked; /* the operation is about it */
};
struct cluster_run {
    struct cli *c;
    struct cli_layout l;
    enum phase_op op;
    struct catalog_names asked; /* --services */
    const struct layout_node *nodes;
    uint32_t n_nodes; /* entries */
    VEC(struct place) places;
    struct catalog_names services; /* of all of them */
    bool by_node;                  /* only nodes that are picked */
    struct phase_cluster cluster;
    bool stopped; /* there is no layout, and that was told */
};

/* --- options --- */

int cli_plan_cluster_check(struct cli *c, struct err *e)
{
    static const char *const of_graphs[] = {
        "graph",         "start",    "end",  "only", "skip",    "on",    "event",    "conditions",
        "limit-circles", "simulate", "fail", "seed", "workers", "roles", "node-file"};
    static const char *const of_clusters[] = {
        "operation", "services", "provider", "hardware", "image",   "comparator", "steps",
        "existing",  "add",      "remove",   "action",   "cluster", "domain"};
    bool cluster = cli_has(c, "template");
    for (size_t i = 0; cluster && i < sizeof of_graphs / sizeof *of_graphs; i++)
        if (cli_has(c, of_graphs[i]))
            return err_set(e, ERR_INVALID,
                           "--%s is about a task graph, and --template about a "
                           "cluster",
                           of_graphs[i]);
    for (size_t i = 0; !cluster && i < sizeof of_clusters / sizeof *of_clusters; i++)
        if (cli_has(c, of_clusters[i])) {
            err_set(e, ERR_INVALID, "--%s is about a cluster", of_clusters[i]);
            return err_hint(e, "`--template NAME` says of which template");
        }
    return 0;
}

/* Each option with the operation that it goes with, and that needs it. */
static int operation_check(struct cluster_run *p, struct err *e)
{
    static const struct {
        const char *option;
        enum phase_op op;
    } pairs[] = {{"add", PHASE_OP_EXPAND}, {"remove", PHASE_OP_SHRINK}, {"action", PHASE_OP_ACT}};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        bool has = cli_has(p->c, pairs[i].option), is = p->op == pairs[i].op;
        if (has != is)
            return err_set(e, ERR_INVALID,
                           has ? "--%s goes with --operation %s"
                               : "--%s is said with --operation %s",
                           pairs[i].option, phase_op_name(pairs[i].op));
    }
    bool needs = p->op == PHASE_OP_ADD || p->op == PHASE_OP_REMOVE;
    if (needs && !p->asked.n)
        return err_set(e, ERR_INVALID, "--operation %s: --services says which",
                       phase_op_name(p->op));
    if (p->asked.n && (p->op == PHASE_OP_EXPAND || p->op == PHASE_OP_SHRINK))
        return err_set(e, ERR_INVALID, "--operation %s is about nodes, not about services",
                       phase_op_name(p->op));
    if (p->l.given && p->asked.n && p->op == PHASE_OP_CREATE)
        return err_set(e, ERR_INVALID, "--existing says what the cluster has: without --services");
    if (p->l.given && p->l.sized)
        return err_set(e, ERR_INVALID, "--existing says how many nodes there are: without --nodes");
    if (!p->l.given && !p->l.sized) {
        err_set(e, ERR_INVALID, "how large the cluster is is said with --nodes or --existing");
        return err_hint(e, "`--nodes 5`, or a layout as `anneal solve -o json` writes it");
    }
    return 0;
}

/* --- nodes --- */

static void place_add(struct cluster_run *p, const struct str *services, uint32_t n, bool picked)
{
    vec_push(&p->places, ((struct place){services, n, picked}));
}

/* A layout as the nodes that exist of the next question. */
static void nodes_take(struct cluster_run *p, const struct layout_answer *a)
{
    struct layout_node *nodes = arena_new(&p->c->mem, struct layout_node, a->n_kinds);
    for (uint32_t i = 0; i < a->n_kinds; i++) {
        const struct layout_kind *k = &a->kinds[i];
        nodes[i] = (struct layout_node){.services = {k->services, k->n_services},
                                        .hardware = k->hardware,
                                        .image = k->image,
                                        .labels = k->labels,
                                        .n_labels = k->n_labels,
                                        .count = k->count};
    }
    p->nodes = nodes;
    p->n_nodes = a->n_kinds;
}

/* Solves; what has no layout is shown, and ends the verb. */
static int solve(struct cluster_run *p, const struct layout_request *req, struct layout_answer *a,
                 struct err *e)
{
    int rc = cli_layout_solve(&p->l, req, a, e);
    if (rc < 0 || a->status == SOLVER_SOLVED)
        return rc;
    const char *format = cli_option(p->c, "output");
    if (format && strcmp(format, "json") != 0 && strcmp(format, "yaml") != 0)
        p->c->format = OUT_TABLE;
    cli_layout_show(&p->l, a);
    p->stopped = true;
    return 0;
}

static int cluster_find(struct cluster_run *p, struct err *e)
{
    struct layout_answer a;
    struct layout_request req = cli_layout_request(&p->l, p->l.nodes, p->l.n_nodes);
    if (p->op == PHASE_OP_CREATE)
        req.services = p->asked;
    if (p->l.given) { /* what is there is there; what shall be made must be sound */
        struct catalog_names unused;
        p->nodes = p->l.nodes;
        p->n_nodes = p->l.n_nodes;
        return p->op == PHASE_OP_CREATE ? layout_services(&p->c->mem, &req, &unused, e) : 0;
    }
    int rc = solve(p, &req, &a, e);
    if (rc >= 0 && !p->stopped)
        nodes_take(p, &a);
    return rc;
}

static uint32_t nodes_count(const struct cluster_run *p)
{
    uint64_t n = 0;
    for (uint32_t i = 0; i < p->n_nodes; i++)
        n += p->nodes[i].count;
    return (uint32_t)n;
}

static bool is_asked(const struct cluster_run *p, struct str name)
{
    for (uint32_t i = 0; i < p->asked.n; i++)
        if (str_eq(p->asked.at[i], name))
            return true;
    return false;
}

/* Are they all there, or (there false) all new? */
static int asked_check(struct cluster_run *p, bool there, struct err *e)
{
    for (uint32_t i = 0; i < p->asked.n; i++) {
        bool found = false;
        for (uint32_t k = 0; k < p->n_nodes && !found; k++)
            for (uint32_t s = 0; s < p->nodes[k].services.n && !found; s++)
                found = str_eq(p->nodes[k].services.at[s], p->asked.at[i]);
        if (found != there)
            return err_set(e, ERR_INVALID, "--services: the cluster has %s %s", found ? "a" : "no",
                           p->asked.at[i].s);
    }
    return 0;
}

/* What is left of the services when those that were asked for are gone. */
static struct catalog_names services_left(struct cluster_run *p)
{
    size_t room = 0;
    uint32_t n = 0;
    for (uint32_t i = 0; i < p->n_nodes; i++)
        room += p->nodes[i].services.n;
    struct str *names = arena_new(&p->c->mem, struct str, room);
    for (uint32_t i = 0; i < p->n_nodes; i++)
        for (uint32_t s = 0; s < p->nodes[i].services.n; s++)
            if (!is_asked(p, p->nodes[i].services.at[s]))
                names[n++] = p->nodes[i].services.at[s];
    return (struct catalog_names){names, n};
}

static void places_kept(struct cluster_run *p)
{
    for (uint32_t i = 0; i < p->n_nodes; i++)
        for (uint32_t k = 0; k < p->nodes[i].count; k++)
            place_add(p, p->nodes[i].services.at, p->nodes[i].services.n, false);
}

/* The nodes of each entry in their order, as what became of them; those given up have the highest
 * numbers of theirs.  New ones are behind all. */
static void places_changed(struct cluster_run *p, const struct layout_answer *a)
{
    for (uint32_t i = 0; i < p->n_nodes; i++) {
        for (uint32_t k = 0; k < a->n_kinds; k++)
            for (uint32_t n = 0; a->kinds[k].existing == i && n < a->kinds[k].count; n++)
                place_add(p, a->kinds[k].services, a->kinds[k].n_services, false);
        for (uint32_t n = 0; n < a->given_up[i]; n++)
            place_add(p, p->nodes[i].services.at, p->nodes[i].services.n, true);
    }
    for (uint32_t k = 0; k < a->n_kinds; k++)
        for (uint32_t n = 0; a->kinds[k].existing == LAYOUT_NEW && n < a->kinds[k].count; n++)
            place_add(p, a->kinds[k].services, a->kinds[k].n_services, true);
}

static int change_request(struct cluster_run *p, struct layout_request *req, struct err *e)
{
    uint64_t more = cli_number(p->c, "add", 0), fewer = cli_number(p->c, "remove", 0);
    uint32_t n = nodes_count(p);
    int rc = 0;
    if (p->op == PHASE_OP_ADD || p->op == PHASE_OP_REMOVE)
        rc = asked_check(p, p->op == PHASE_OP_REMOVE, e);
    if (more > SOLVER_MAX_NODES || fewer >= n)
        return err_set(e, ERR_INVALID, "--%s %" PRIu64 ": the cluster has %s",
                       fewer ? "remove" : "add", fewer ? fewer : more, text_count(n, "node").s);
    struct layout_node *nodes = arena_new(&p->c->mem, struct layout_node, p->n_nodes);
    for (uint32_t i = 0; i < p->n_nodes; i++) {
        nodes[i] = p->nodes[i];
        nodes[i].keep |= p->op != PHASE_OP_SHRINK; /* nothing is replaced */
    }
    *req = cli_layout_request(&p->l, nodes, p->n_nodes);
    req->nodes_min = req->nodes_max = n + (uint32_t)more - (uint32_t)fewer;
    req->give_up = (uint32_t)fewer;
    if (p->op == PHASE_OP_ADD)
        req->involved = p->asked;
    if (p->op == PHASE_OP_REMOVE)
        req->services = services_left(p);
    return rc;
}

/* A shrink that has to put new nodes in the place of old ones is none. */
static int replaced_check(struct cluster_run *p, const struct layout_answer *a, struct err *e)
{
    uint64_t fresh = 0;
    for (uint32_t i = 0; i < a->n_kinds; i++)
        fresh += a->kinds[i].existing == LAYOUT_NEW ? a->kinds[i].count : 0;
    if (p->op != PHASE_OP_SHRINK || !fresh)
        return 0;
    err_set(e, ERR_REFUSED, "the nodes that are left allow no layout: %s would have to be replaced",
            text_count(fresh, "node").s);
    return err_hint(e, "`anneal solve --existing FILE --remove-nodes N` shows by what");
}

static int places_make(struct cluster_run *p, struct err *e)
{
    struct layout_request req;
    struct layout_answer a;
    bool sizes = p->op == PHASE_OP_EXPAND || p->op == PHASE_OP_SHRINK;
    if (!sizes && p->op != PHASE_OP_ADD && p->op != PHASE_OP_REMOVE) {
        places_kept(p);
        return 0;
    }
    int rc = change_request(p, &req, e);
    if (rc < 0 || (rc = solve(p, &req, &a, e)) < 0 || p->stopped)
        return rc;
    if ((rc = replaced_check(p, &a, e)) < 0)
        return rc;
    p->by_node = sizes;
    if (p->op == PHASE_OP_REMOVE) /* they are still there while they are removed */
        places_kept(p);
    else
        places_changed(p, &a);
    return 0;
}

/* --- the graph --- */

static int by_name(const void *a, const void *b)
{
    return str_cmp(*(const struct str *)a, *(const struct str *)b);
}

static uint32_t service_find(const struct cluster_run *p, struct str name)
{
    const struct str *at = bsearch(&name, p->services.at, p->services.n, sizeof name, by_name);
    return at ? (uint32_t)(at - p->services.at) : PHASE_NIL;
}

/* All services that a node has.  Nodes that are alike share their list. */
static void services_collect(struct cluster_run *p)
{
    VEC(struct str) all = {0};
    const struct str *last = NULL;
    for (size_t i = 0; i < p->places.n; i++) {
        for (uint32_t s = 0; p->places.at[i].services != last && s < p->places.at[i].n_services;
             s++)
            vec_push(&all, p->places.at[i].services[s]);
        last = p->places.at[i].services;
    }
    struct str *names = arena_new(&p->c->mem, struct str, all.n);
    uint32_t n = 0;
    if (all.n)
        qsort(all.at, all.n, sizeof *all.at, by_name);
    for (size_t i = 0; i < all.n; i++)
        if (!n || !str_eq(names[n - 1], all.at[i]))
            names[n++] = all.at[i];
    p->services = (struct catalog_names){names, n};
    vec_done(&all);
}

static struct str text_option(struct cli *c, const char *option, struct str otherwise)
{
    const char *text = cli_option(c, option);
    return text ? str_of(text) : otherwise;
}

static int nodes_make(struct cluster_run *p, struct err *e)
{
    const struct catalog_template *t = p->l.template;
    struct str cluster = text_option(p->c, "cluster", t->kind.name);
    struct str domain = text_option(p->c, "domain", t->domain);
    uint16_t machine = p->l.provider ? phase_provider_has(p->l.provider) : 0;
    struct phase_node *nodes = arena_new(&p->c->mem, struct phase_node, p->places.n);
    SCOPED_BUF(name);
    for (size_t i = 0; i < p->places.n; i++) {
        const struct place *at = &p->places.at[i];
        uint32_t *services = arena_new(&p->c->mem, uint32_t, at->n_services);
        buf_clear(&name);
        int rc = layout_node_name(&name, cluster, LAYOUT_FIRST_NUMBER + i, domain, e);
        if (rc < 0)
            return rc;
        for (uint32_t s = 0; s < at->n_services; s++)
            services[s] = service_find(p, at->services[s]);
        nodes[i] = (struct phase_node){
            .name = {arena_strndup(&p->c->mem, name.data, name.len), name.len},
            .services = services,
            .n_services = at->n_services,
            .machine = machine};
    }
    p->cluster.nodes = nodes;
    p->cluster.n_nodes = (uint32_t)p->places.n;
    return 0;
}

static int request_make(struct cluster_run *p, struct phase_request *req, struct err *e)
{
    bool *services = arena_new(&p->c->mem, bool, p->services.n);
    bool *nodes = arena_new(&p->c->mem, bool, p->places.n);
    *req = (struct phase_request){.op = p->op};
    for (uint32_t i = 0; i < p->asked.n && p->op != PHASE_OP_CREATE; i++) {
        uint32_t s = service_find(p, p->asked.at[i]);
        if (s == PHASE_NIL)
            return err_set(e, ERR_INVALID, "--services: the cluster has no %s", p->asked.at[i].s);
        services[s] = true;
        req->services = services;
    }
    for (size_t i = 0; i < p->places.n; i++)
        nodes[i] = p->places.at[i].picked;
    req->nodes = p->by_node ? nodes : NULL;
    return 0;
}

static int graph_make(struct cluster_run *p, struct phase_graph **ret, struct err *e)
{
    SCOPED(phase_deps) *deps = NULL;
    struct phase_request req;
    struct phase_work work;
    services_collect(p);
    int rc = layout_phase_services(&p->c->mem, p->l.catalog, p->services,
                                   text_option(p->c, "action", str_of("")), &p->cluster.services,
                                   e);
    p->cluster.n_services = p->services.n;
    /* What a service requires was looked for with the layout. */
    if (rc < 0 || (rc = nodes_make(p, e)) < 0 || (rc = request_make(p, &req, e)) < 0 ||
        (rc = phase_deps_make(p->cluster.services, p->services.n, true, &deps, e)) < 0 ||
        (rc = phase_work_init(&work, &p->cluster, &p->c->mem, e)) < 0 ||
        (rc = phase_request_op(&req, &p->cluster, deps, &work, e)) < 0)
        return rc;
    return phase_graph_make(&p->cluster, deps, &work, ret, e);
}

/* --- output --- */

static struct value *row_of(struct cluster_run *p, const struct phase_graph *g, uint32_t v)
{
    const struct phase_vertex *at = &g->vertices[v];
    struct arena *a = &p->c->mem;
    struct value *row = value_map(a);
    value_put_int(a, row, "level", at->level + 1);
    value_put_text(a, row, "phase", phase_kind_name((enum phase_kind)at->kind));
    value_put_text(a, row, "service",
                   at->service == PHASE_NIL ? NULL : p->services.at[at->service].s);
    value_put_text(a, row, "node", p->cluster.nodes[at->node].name.s);
    value_put_text(a, row, "why", at->pulled ? "needed" : "asked");
    return row;
}

static void table_print(struct cluster_run *p, const struct phase_graph *g)
{
    static const struct field fields[] = {{"LEVEL", "level", SHOW_TEXT, COLUMN_RIGHT},
                                          {"PHASE", "phase"},
                                          {"SERVICE", "service"},
                                          {"NODE", "node"},
                                          {"WHY", "why"},
                                          {0}};
    struct arena *a = &p->c->mem;
    struct value *list = value_list(a), *v = value_map(a);
    uint32_t *first = arena_new(a, uint32_t, g->n_levels + 2);
    uint32_t *order = arena_new(a, uint32_t, g->n_tasks);
    for (uint32_t i = 0; i < g->n_tasks; i++)
        first[g->vertices[i].level + 1]++;
    for (uint32_t i = 0; i <= g->n_levels; i++)
        first[i + 1] += first[i];
    for (uint32_t i = 0; i < g->n_tasks; i++)
        order[first[g->vertices[i].level]++] = i;
    for (uint32_t i = 0; i < g->n_tasks; i++)
        value_add(a, list, row_of(p, g, order[i]));
    value_set(a, v, "items", list);
    cli_print_list(p->c, v, fields, "node", "tasks");
    cli_say(p->c, "%s of %s on %s, in %s", text_count(g->n_tasks, "task").s, phase_op_name(p->op),
            text_count(p->cluster.n_nodes, "node").s, text_count(g->n_levels, "level").s);
}

static int graph_print(struct cluster_run *p, const struct phase_graph *g, struct err *e)
{
    SCOPED_BUF(text);
    const char *format = cli_option(p->c, "output");
    struct value *v;
    if (format && !strcmp(format, "dot")) {
        phase_write_dot(&text, g);
    } else if (format && !strcmp(format, "stages")) {
        phase_write_stages(&text, g);
    } else if (format && strcmp(format, "table") != 0) {
        phase_write_json(&text, g);
    } else {
        table_print(p, g);
        return 0;
    }
    if (p->c->format != OUT_YAML) {
        cli_put(p->c, &text);
        return 0;
    }
    int rc = json_parse(&p->c->mem, text.data, text.len, NULL, &v, e);
    if (rc >= 0)
        (void)cli_print_data(p->c, v, "tasks");
    return rc;
}

static int plan_make(struct cluster_run *p, struct err *e)
{
    SCOPED(phase_graph) *g = NULL;
    int rc = cli_names(p->c, "services", &p->asked, e);
    if (rc < 0 || (rc = operation_check(p, e)) < 0 || (rc = cluster_find(p, e)) < 0 || p->stopped)
        return rc;
    if ((rc = places_make(p, e)) < 0 || p->stopped || (rc = graph_make(p, &g, e)) < 0)
        return rc;
    return graph_print(p, g, e);
}

int cli_plan_cluster(struct cli *c, struct err *e)
{
    struct cluster_run p = {.c = c, .op = PHASE_OP_CREATE};
    const char *word = cli_word(c, "operation");
    if (word)
        p.op = (enum phase_op)phase_op_from(str_of(word));
    int rc = cli_layout_read(c, &p.l, e);
    if (rc >= 0)
        rc = plan_make(&p, e);
    vec_done(&p.places);
    catalog_unref(p.l.catalog);
    return rc;
}
