/* test_graphs.c - overlays through the server: laid together, versioned, refused with their places,
 * restored, and in the way of catalogs that they do not fit
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "server/graphs.h"

#include "server_rig.h"

#define ASK(...)                                                                                   \
    (struct rig_ask)                                                                               \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }
#define GROUP "- {id: web, type: group}\n"
#define TASKS                                                                                      \
    "- {id: prepare, type: shell, groups: [web], parameters: {cmd: 'true'}}\n"                     \
    "- {id: deploy, type: shell, groups: [web], requires: [prepare], parameters: {cmd: 'true'}}\n"

/* {path: text, ...} in pairs, the last NULL. */
static int load(struct rig *g, const char *const *files, bool dry)
{
    struct value *body = value_map(&g->mem), *map = value_map(&g->mem);
    struct server_call c = {.mem = &g->mem, .who = &g->who, .body = body};
    for (; *files; files += 2)
        value_put_text(&g->mem, map, files[0], files[1]);
    value_set(&g->mem, body, "files", map);
    value_put_bool(&g->mem, body, "dry_run", dry);
    g->reply = (struct server_reply){0};
    err_clear(&g->err);
    int rc = server_catalog_load(g->server, &c, &g->reply, &g->err);
    rig_settle(g);
    return rc;
}

static const char *const site[] = {
    "site/barclamp.yaml",
    "barclamp: site\nversion: 1.0.0\nroles: [{name: plain, jig: noop}]\n",
    "site/graphs/all.yaml",
    GROUP TASKS,
    "fuel/barclamp.yaml",
    "barclamp: fuel\nversion: 1.0.0\nlenient: true\ngraphs: {requires: "
    "same-node, circles: limit}\n",
    "fuel/graphs/net.yaml",
    "- {id: net, type: shell, role: '*', parameters: {cmd: 'true'}}\n",
    "site/graphs/next/a.yaml",
    GROUP "- {id: move, type: shell, groups: [web], parameters: {}}\n",
    NULL,
};

static void open_site(struct rig *g)
{
    rig_open(g);
    ok(load(g, site, false) >= 0, "the catalog is loaded: %s", g->err.text);
    rig_do(g, server_deployment_create, "Deployment", ASK(.body = "{'name': 'shop'}"));
    rig_do(g, server_deployment_create, "Deployment", ASK(.body = "{'name': 'depot'}"));
    rig_settle(g);
}

/* PUT of a text; \n in it as usual. */
static int set(struct rig *g, server_op_f *op, const char *whose, const char *text,
               const char *more)
{
    struct value *body = rig_json(g, more ? more : "{}");
    struct server_call c = {
        .mem = &g->mem, .who = &g->who, .id = {whose}, .body = body, .if_match = g->if_match};
    value_put_text(&g->mem, body, "text", text);
    g->reply = (struct server_reply){0};
    g->if_match = NULL;
    err_clear(&g->err);
    return op(g->server, &c, &g->reply, &g->err);
}

static void sets(struct rig *g, server_op_f *op, const char *whose, const char *text, int version)
{
    if (!ok(set(g, op, whose, text, NULL) >= 0, "%s is set", whose))
        printf("#   %s: %s\n", g->err.at, g->err.text);
    else
        ok(rig_shape(g, "TaskOverlay", g->reply.body), "the answer has its shape");
    is_int(rig_int(g, "version"), version, "as version %d", version);
}

static void refuses(struct rig *g, server_op_f *op, const char *whose, const char *text,
                    enum errcode code, const char *at, const char *words)
{
    SCOPED_BUF(all);
    is_int(set(g, op, whose, text, NULL), -(int)code, "%s is refused as %s", whose, err_name(code));
    is_text(g->err.at, at, "at %s", at);
    buf_printf(&all, "%s | %s", g->err.text, g->err.hint);
    has_text(all.data, words, "the refusal tells %s", words);
}

/* Ids of the graph of a deployment, with + for those that mean the same node: "web prepare net+".
 */
static const char *graph_of(struct rig *g, const char *deployment, const char *graph)
{
    SCOPED(graph_overlay) *o = NULL;
    SCOPED_BUF(b);
    uint32_t id = inventory_deployment_find(&g->server->inv, deployment);
    if (graphs_of(g->server, g->server->catalog, id, str_of(graph), &o, &g->err) < 0)
        return "none";
    for (uint32_t i = 0; i < o->graph.n_vertices; i++) {
        const struct graph_vertex *v = &o->graph.vertices[i];
        if (v->where.file == CATALOG_NONE)
            continue;
        buf_printf(&b, "%s%.*s%s", b.len ? " " : "", (int)v->id.n, v->id.s,
                   v->same_node ? "+" : "");
    }
    return arena_strndup(&g->mem, buf_str(&b).s, b.len);
}

static void test_layers(void)
{
    struct rig g;
    const struct catalog_graph *plain;
    struct graph_overlay *own;

    open_site(&g);
    is_text(graph_of(&g, "shop", "default"), "net+ web prepare deploy", "as the catalog has it");
    is_int(graphs_find(g.server, g.server->catalog, 2, str_of("default"), &plain, &own, &g.err), 0,
           "it is found");
    ok(plain == catalog_graph_get(g.server->catalog, str_of("default")) && !own,
       "nothing lies over it: it is the catalog's own");
    is_int(graphs_find(g.server, g.server->catalog, 2, str_of("defualt"), &plain, &own, &g.err),
           -ERR_NOT_FOUND, "a graph that nobody has");
    has_text(g.err.hint, "did you mean \"default\"?", "the nearest name");
    rig_do(&g, server_deployment_tasks, "TaskOverlay", ASK(.id = "shop"));
    ok(rig_int(&g, "version") == 0 && !rig_at(&g, "rev") && g.reply.rev == 0,
       "an overlay that was never set is version 0");

    sets(&g, server_deployment_tasks_set, "shop",
         "- {id: deploy, type: shell, groups: [web], parameters: {cmd: 'false'}}\n"
         "- {id: check, type: shell, groups: [web], requires: [deploy], parameters: {}}\n",
         1);
    is_text(graph_of(&g, "shop", "default"), "deploy check net+ web prepare",
            "what lies above comes first");
    is_text(graph_of(&g, "depot", "default"), "net+ web prepare deploy", "others are as before");
    is_int(graphs_find(g.server, g.server->catalog, 3, str_of("default"), &plain, &own, &g.err), 0,
           "theirs is found");
    ok(!own && plain == catalog_graph_get(g.server->catalog, str_of("default")),
       "and is the catalog's own");
    is_int(graphs_find(g.server, g.server->catalog, 2, str_of("default"), &plain, &own, &g.err), 0,
           "it is found");
    ok(own && plain == &own->graph, "as a graph of its own");
    graph_overlay_free(own);

    sets(&g, server_barclamp_tasks_set, "fuel",
         "- {id: net, type: shell, role: '*', parameters: {cmd: 'date'}}\n"
         "- {id: ntp, type: shell, role: '*', requires: [net, dreamt], parameters: {}}\n",
         1);
    has_text(rig_text(&g, "report.0.at"), "deployment_tasks of barclamp fuel:2:",
             "what is doubtful in a lenient barclamp is told with its place");
    is_text(graph_of(&g, "shop", "default"), "deploy check net+ ntp+ web prepare",
            "a barclamp's lies between, and is meant as the barclamp's files are");
    is_text(graph_of(&g, "depot", "default"), "net+ ntp+ web prepare deploy", "for all");
    is_text(graph_of(&g, "depot", "next"), "web move", "another graph is another graph");
    sets(&g, server_deployment_tasks_set, "shop", "[]", 2);
    is_text(graph_of(&g, "shop", "default"), "net+ ntp+ web prepare deploy",
            "an empty list takes it away");

    is_int(set(&g, server_deployment_tasks_set, "shop",
               "- {id: a, type: shell, role: '*', parameters: {}}\n", "{'graph': 'own'}"),
           0, "a graph that only an overlay has");
    is_text(graph_of(&g, "shop", "own"), "a", "is there");
    is_text(graph_of(&g, "depot", "own"), "none", "for who has it");
    rig_close(&g);
}

static void test_versions(void)
{
    static const char first[] = "# why\n- {id: deploy, type: shell, groups: [web], parameters: "
                                "{cmd: one}}\n";
    struct rig g;

    open_site(&g);
    sets(&g, server_deployment_tasks_set, "shop", first, 1);
    ok(value_as_bool(rig_at(&g, "changed"), false) && g.reply.group && g.reply.rev == 1,
       "which is a change, and durable before it is told");
    sets(&g, server_deployment_tasks_set, "shop", first, 1);
    ok(!value_as_bool(rig_at(&g, "changed"), true) && !g.reply.group, "the same again is none");
    g.if_match = "0";
    is_int(set(&g, server_deployment_tasks_set, "shop", "[]", NULL), -ERR_STALE,
           "who has not seen version 1 is refused");
    g.if_match = "1";
    is_int(set(&g, server_deployment_tasks_set, "shop",
               "- {id: extra, type: stage}\n- {id: deploy, type: shell, role: web, parameters: "
               "{cmd: one}}\n",
               "{'message': 'more', 'dry_run': true}"),
           0, "a dry run is checked");
    ok(rig_int(&g, "version") == 1 && value_as_bool(rig_at(&g, "changed"), false), "and is none");
    g.if_match = "1";
    is_int(set(&g, server_deployment_tasks_set, "shop",
               "- {id: extra, type: stage}\n- {id: deploy, type: shell, role: web, parameters: "
               "{cmd: one}}\n",
               "{'message': 'more'}"),
           0, "who has seen it is not refused");
    /* At once, before anything is durable: memory still has the text. */
    rig_do(&g, server_deployment_tasks, "TaskOverlay",
           ASK(.id = "shop", .query = "{'version': '1'}"));
    is_text(rig_text(&g, "text"), first, "version 1 byte for byte");
    rig_settle(&g);
    sets(&g, server_deployment_tasks_set, "shop", "[]", 3);
    rig_settle(&g);

    for (int i = 0; i < 2; i++) {
        rig_do(&g, server_deployment_tasks, "TaskOverlay",
               ASK(.id = "shop", .query = "{'version': '1'}"));
        is_text(rig_text(&g, "text"), first, "version 1 byte for byte, from the store");
        is_text(rig_text(&g, "tasks.0.parameters.cmd"), "one", "and as a list");
        rig_do(&g, server_deployment_tasks, "TaskOverlay",
               ASK(.id = "shop", .query = "{'version': '2', 'merged': 'true'}"));
        is_text(rig_text(&g, "tasks.0.id"), "extra", "what version 2 would give");
        is_text(rig_text(&g, "tasks.4.id"), "prepare", "with all that lies below");
        rig_list(&g, server_deployment_tasks_versions, "TaskOverlayVersion", ASK(.id = "shop"), 3);
        ok(rig_int(&g, "items.0.version") == 3 && rig_int(&g, "items.0.tasks") == 0 &&
               rig_int(&g, "items.1.tasks") == 2,
           "the newest first");
        is_text(rig_text(&g, "items.1.message"), "more", "with what was said");
        is_text(rig_text(&g, "items.1.author"), "admin", "and by whom");
        rig_restart(&g);
    }
    is_text(graph_of(&g, "shop", "default"), "net+ web prepare deploy", "3 is in force");
    rig_refuse(&g, server_deployment_tasks, ERR_NOT_FOUND, "versions 1 to 3 are kept",
               ASK(.id = "shop", .query = "{'version': '4'}"));
    rig_refuse(&g, server_deployment_tasks, ERR_NOT_FOUND, "did you mean \"shop\"?",
               ASK(.id = "shup"));
    rig_refuse(&g, server_barclamp_tasks, ERR_NOT_FOUND, "did you mean \"fuel\"?",
               ASK(.id = "fule"));
    rig_refuse(&g, server_deployment_tasks, ERR_INVALID, "?graph | ",
               ASK(.id = "shop", .query = "{'graph': 'A b'}"));
    rig_refuse(&g, server_deployment_tasks_set, ERR_INVALID,
               "/graph | \"roles\" cannot be the name",
               ASK(.id = "shop", .body = "{'graph': 'roles', 'tasks': []}"));
    rig_do(&g, server_deployment_delete, NULL, ASK(.id = "shop"));
    rig_do(&g, server_deployment_create, "Deployment", ASK(.body = "{'name': 'shop'}"));
    rig_restart(&g);
    rig_list(&g, server_deployment_tasks_versions, "TaskOverlayVersion", ASK(.id = "shop"), 0);
    rig_close(&g);
}

static void test_diff(void)
{
    struct rig g;

    open_site(&g);
    rig_do(&g, server_deployment_tasks_diff, "TaskOverlayDiff", ASK(.id = "shop"));
    ok(rig_int(&g, "from") == 0 && rig_int(&g, "to") == 0 && rig_at(&g, "added")->n == 0,
       "nothing differs from nothing");
    sets(&g, server_deployment_tasks_set, "shop",
         "- {id: deploy, type: shell, groups: [web], parameters: {cmd: 'true'}, version: 2}\n"
         "- {id: extra, type: stage}\n"
         "- {id: prepare, parameters: {cmd: 'true'}, type: shell, groups: [web]}\n",
         1);
    rig_do(&g, server_deployment_tasks_diff, "TaskOverlayDiff", ASK(.id = "shop"));
    ok(rig_int(&g, "from") == 0 && rig_int(&g, "to") == 1, "from the catalog to version 1");
    is_text(rig_text(&g, "added.0.id"), "extra", "what came");
    ok(rig_at(&g, "added")->n == 1 && rig_at(&g, "removed")->n == 0 &&
           rig_at(&g, "changed")->n == 1,
       "what is the same in another order is no change");
    is_text(rig_text(&g, "changed.0.id"), "deploy", "what changed");
    is_text(rig_text(&g, "changed.0.keys.0"), "version", "a key that came");
    is_text(rig_text(&g, "changed.0.keys.1"), "requires", "one that went");
    ok(rig_at(&g, "changed.0.keys")->n == 2 && rig_at(&g, "changed.0.before.requires") &&
           !rig_at(&g, "changed.0.after.requires"),
       "and both sides");
    sets(&g, server_deployment_tasks_set, "shop", "[]", 2);
    rig_settle(&g);
    rig_do(&g, server_deployment_tasks_diff, "TaskOverlayDiff", ASK(.id = "shop"));
    ok(rig_int(&g, "from") == 1 && rig_int(&g, "to") == 2, "from the one before to the newest");
    is_text(rig_text(&g, "removed.0.id"), "extra", "what went");
    rig_do(&g, server_deployment_tasks_diff, "TaskOverlayDiff",
           ASK(.id = "shop", .query = "{'from': '0', 'to': '2'}"));
    ok(rig_at(&g, "added")->n == 0 && rig_at(&g, "removed")->n == 0 &&
           rig_at(&g, "changed")->n == 0,
       "an empty overlay is as none");
    rig_refuse(&g, server_deployment_tasks_diff, ERR_NOT_FOUND, "?from | ",
               ASK(.id = "shop", .query = "{'from': '9'}"));
    rig_close(&g);
}

static void test_refusals(void)
{
    struct rig g;

    open_site(&g);
    refuses(&g, server_deployment_tasks_set, "shop",
            "- {id: a, type: shell, role: '*', requires: [prepair], parameters: {}}\n",
            ERR_UNKNOWN_NAME, "deployment_tasks of shop:1:46", "did you mean \"prepare\"?");
    has_text(g.err.line, "requires: [prepair]", "with its line");
    refuses(&g, server_deployment_tasks_set, "shop", "- {id: a, type: stage, requires: [a]}\n",
            ERR_CYCLE, "deployment_tasks of shop:1:35", "a");
    refuses(&g, server_deployment_tasks_set, "shop", "- {id: a\n", ERR_SYNTAX,
            "deployment_tasks of shop:2:1", "");
    refuses(&g, server_deployment_tasks_set, "shop", "", ERR_INVALID, "deployment_tasks of shop",
            "[] takes the overlay away");
    refuses(&g, server_deployment_tasks_set, "shop", "{a: 1}", ERR_INVALID,
            "deployment_tasks of shop", "expected a list of tasks, not map");
    refuses(&g, server_deployment_tasks_set, "shop", "[7]", ERR_INVALID,
            "deployment_tasks of shop:1:2", "");
    refuses(&g, server_deployment_tasks_set, "shop",
            "- {id: a, type: stage}\n- {id: a, type: stage}\n", ERR_EXISTS,
            "deployment_tasks of shop:2:3", "a");
    refuses(&g, server_deployment_tasks_set, "shop", "- {id: plain, type: group}\n", ERR_EXISTS,
            "deployment_tasks of shop:1:3", "plain");
    rig_refuse(&g, server_deployment_tasks_set, ERR_INVALID, "give `tasks`, a list, or `text`",
               ASK(.id = "shop", .body = "{}"));
    rig_refuse(&g, server_deployment_tasks_set, ERR_INVALID, "say the same in two ways",
               ASK(.id = "shop", .body = "{'text': '[]', 'tasks': []}"));
    rig_list(&g, server_deployment_tasks_versions, "TaskOverlayVersion", ASK(.id = "shop"), 0);

    /* What lies above must stand when what is below changes. */
    sets(&g, server_barclamp_tasks_set, "site",
         "- {id: extra, type: shell, role: '*', parameters: {}}\n", 1);
    rig_do(&g, server_deployment_tasks_set, "TaskOverlay",
           ASK(.id = "depot", .body = "{'tasks': [{'id': 'more', 'type': 'shell', 'role': '*', "
                                      "'requires': ['extra'], 'parameters': {}}]}"));
    has_text(rig_text(&g, "text"), "- id: more\n  type: shell\n", "a list is kept as YAML");
    refuses(&g, server_barclamp_tasks_set, "site", "[]", ERR_UNKNOWN_NAME,
            "deployment_tasks of depot:5:7", "with what deployment depot has over it: ");
    sets(&g, server_deployment_tasks_set, "depot", "[]", 2);
    sets(&g, server_barclamp_tasks_set, "site", "[]", 2);
    rig_close(&g);
}

static void test_catalogs(void)
{
    static const char *const less[] = {"site/barclamp.yaml", "barclamp: site\nversion: 1.0.0\n",
                                       "site/graphs/all.yaml", GROUP, NULL};
    static const char *const none[] = {"other/barclamp.yaml", "barclamp: other\nversion: 1.0.0\n",
                                       NULL};
    struct rig g;

    open_site(&g);
    sets(&g, server_deployment_tasks_set, "shop",
         "- {id: check, type: shell, groups: [web], requires: [deploy], parameters: {}}\n", 1);
    for (int dry = 1; dry >= 0; dry--) {
        is_int(load(&g, less, dry), -ERR_UNKNOWN_NAME, "a catalog that it does not fit is refused");
        has_text(g.err.text, "does not fit version 1 of the overlay of deployment shop",
                 "naming the overlay");
        is_text(g.err.at, "deployment_tasks of shop:1:54", "and the place in it");
        has_text(g.err.hint, "`anneal deployment tasks-set shop", "and the remedy");
    }
    is_int(g.server->catalog->number, 1, "the old one stays");
    sets(&g, server_deployment_tasks_set, "shop", "[]", 2);
    is_int(load(&g, less, true), 0, "without it there is nothing in the way");
    sets(&g, server_barclamp_tasks_set, "site", "- {id: extra, type: stage}\n", 1);
    is_int(load(&g, none, false), -ERR_UNKNOWN_NAME, "a catalog without a barclamp that has one");
    has_text(g.err.text, "of barclamp site: there is no barclamp site in it", "says so");
    is_int(load(&g, less, false), 0, "with the barclamp it is loaded");
    is_text(graph_of(&g, "shop", "default"), "extra web", "and what lies over it stays");
    rig_close(&g);
}

/* --- export --- */

static bool same_vertex(const struct graph_vertex *x, const struct graph_vertex *y)
{
    return str_eq(x->id, y->id) && x->same_node == y->same_node &&
           x->circles_limit == y->circles_limit && x->n_requires == y->n_requires &&
           x->n_required_for == y->n_required_for && value_equal(x->source, y->source);
}

static bool same_graph(const struct catalog_graph *x, const struct catalog_graph *y)
{
    bool same = x && y && x->n_vertices == y->n_vertices;
    for (uint32_t i = 0; same && i < x->n_vertices; i++)
        if (!same_vertex(&x->vertices[i], &y->vertices[i])) {
            printf("# %u: %s, %s\n", i, x->vertices[i].id.s, y->vertices[i].id.s);
            same = false;
        }
    return same;
}

/* The files, loaded elsewhere, have the graphs that the deployment runs. */
static void exports(struct rig *g, const char *deployment, const char *graph, uint32_t overlays)
{
    const char *query = arena_printf(&g->mem, "{'deployment': '%s'}", deployment);
    uint32_t id = inventory_deployment_find(&g->server->inv, deployment);
    struct catalog_report report = {0};
    SCOPED(catalog) *copy = NULL;
    SCOPED(graph_overlay) *runs = NULL;
    struct err e;

    rig_do(g, server_catalog_files, "CatalogFiles", ASK(.query = query));
    is_int(rig_at(g, "overlays")->n, overlays, "%u files are overlays", overlays);
    if (!ok(catalog_from_files(rig_at(g, "files"), 1, &report, &copy, &e) >= 0, "they are loaded"))
        printf("#   %s: %s\n", e.at, e.text);
    is_int(graphs_of(g->server, g->server->catalog, id, str_of(graph), &runs, &e), 0, "%s runs %s",
           deployment, graph);
    ok(copy && runs && same_graph(catalog_graph_get(copy, str_of(graph)), &runs->graph),
       "and has it from the files, in the same order");
    catalog_report_done(&report);
}

/* What was exported is loaded here. */
static void load_exported(struct rig *g)
{
    struct value *body = value_map(&g->mem);
    struct server_call c = {.mem = &g->mem, .who = &g->who, .body = body};
    value_set(&g->mem, body, "files", rig_at(g, "files"));
    ok(server_catalog_load(g->server, &c, &g->reply, &g->err) >= 0, "the files are loaded: %s",
       g->err.text);
    rig_settle(g);
}

static void test_export(void)
{
    static const char shop[] = "# of the shop\n"
                               "- {id: net, type: shell, role: '*', parameters: {cmd: shop}}\n"
                               "- {id: ntp, type: shell, role: web, parameters: {}}\n"
                               "- {id: deploy, type: shell, groups: [web], parameters: {}}\n"
                               "- {id: new, type: shell, groups: [web], parameters: {}}\n";
    struct rig g;

    open_site(&g);
    rig_refuse(&g, server_catalog_files, ERR_INVALID, "did you mean \"shop\"?",
               ASK(.query = "{'deployment': 'shap'}"));
    exports(&g, "shop", "default", 0);
    sets(&g, server_barclamp_tasks_set, "site",
         "- {id: net, type: shell, role: '*', parameters: {cmd: site}}\n"
         "- {id: web, type: group, description: another}\n",
         1);
    sets(&g, server_barclamp_tasks_set, "fuel",
         "- {id: ntp, type: shell, role: '*', requires: [net, dreamt], parameters: {}}\n"
         "- {id: prepare, type: shell, role: '*', parameters: {cmd: fuel}}\n",
         1);
    exports(&g, "depot", "default", 2);
    sets(&g, server_deployment_tasks_set, "shop", shop, 1);
    is_int(set(&g, server_deployment_tasks_set, "shop",
               "- {id: move, type: shell, groups: [web], parameters: {cmd: on}}\n",
               "{'graph': 'next'}"),
           0, "another graph");
    is_text(graph_of(&g, "shop", "default"), "net+ ntp+ deploy new web prepare",
            "what takes a place is meant as the lowest of its id");
    exports(&g, "depot", "default", 2);
    exports(&g, "shop", "next", 4);
    exports(&g, "shop", "default", 4);
    is_text(value_as_text(value_get(rig_at(&g, "files"), "deployment/graph_overlays/000003.yaml"),
                          NULL),
            shop, "byte for byte");

    /* Over files that have overlays already. */
    load_exported(&g);
    exports(&g, "shop", "default", 4);
    sets(&g, server_deployment_tasks_set, "depot",
         "- {id: ntp, type: shell, role: web, parameters: {cmd: depot}}\n"
         "- {id: new, type: shell, groups: [web], parameters: {cmd: depot}}\n",
         1);
    sets(&g, server_barclamp_tasks_set, "deployment",
         "- {id: new, type: shell, groups: [web], parameters: {cmd: two}}\n", 1);
    exports(&g, "depot", "default", 4);
    ok(value_get(rig_at(&g, "files"), "deployment-2/barclamp.yaml"), "in a folder that is free");
    load_exported(&g);
    exports(&g, "depot", "default", 4);
    rig_close(&g);
}

/* Folders within folders are not in the order of their barclamps. */
static void test_export_nested(void)
{
    static const char *const nested[] = {"site/barclamp.yaml",
                                         "barclamp: site\n",
                                         "site/deep/barclamp.yaml",
                                         "barclamp: deep\n",
                                         "site/graphs/all.yaml",
                                         GROUP "- {id: make, type: shell, role: '*'}\n",
                                         NULL};
    struct rig g;

    rig_open(&g);
    ok(load(&g, nested, false) >= 0, "a barclamp below another: %s %s", g.err.at, g.err.text);
    rig_do(&g, server_deployment_create, "Deployment", ASK(.body = "{'name': 'shop'}"));
    sets(&g, server_barclamp_tasks_set, "deep",
         "- {id: make, type: shell, role: '*', parameters: {cmd: deep}}\n"
         "- {id: extra, type: shell, role: '*', parameters: {cmd: deep}}\n",
         1);
    sets(&g, server_barclamp_tasks_set, "site",
         "- {id: extra, type: shell, role: '*', parameters: {cmd: site}}\n"
         "- {id: other, type: shell, role: '*', parameters: {cmd: site}}\n",
         1);
    is_text(graph_of(&g, "shop", "default"), "make extra other web", "deep lies over site");
    exports(&g, "shop", "default", 2);
    rig_close(&g);
}

int main(void)
{
    test_layers();
    test_versions();
    test_diff();
    test_refusals();
    test_catalogs();
    test_export();
    test_export_nested();
    return tap_done();
}
