/* test_graph_golden.c - published facts about Fuel's task graphs, as far as a catalog has them
 *
 * Cases are read from $ANNEAL_TEST_DATA/golden/fuel, by default ../shared beside the tree, and left
 * out, saying so, where they are not there.  Each suite prints how many cases passed, how many are
 * excepted because our rules say something else (docs/compatibility.md), and how many are run by
 * the tests of those who weave and run graphs: planner/weave_golden, sim/golden_deploy.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "tap.h"

#include "catalog_files.h"

#include "base/json.h"
#include "catalog/taskgraph.h"

static const char native[] = "barclamp: x\n";
static const char lenient[] = "barclamp: x\nlenient: true\ngraphs: {requires: same-node}\n";

/* --- the files --- */

struct suite {
    struct arena mem;
    const char *name;
    const struct value *top, *cases;
    uint32_t passed, excepted, elsewhere, failed;
};

static bool suite_begin(struct suite *s, const char *dir, const char *name)
{
    struct err e;
    struct value *top = NULL;

    *s = (struct suite){.name = name};
    arena_init(&s->mem);
    FILE *in = fopen(arena_printf(&s->mem, "%s/%s.json", dir, name), "rb");
    if (!in) {
        skip(arena_printf(&s->mem, "%s: no cases in %s", name, dir));
        return false;
    }
    enum { ROOM = 1 << 20 };
    char *text = arena_new(&s->mem, char, ROOM);
    size_t n = fread(text, 1, ROOM, in);
    fclose(in);
    if (!ok(json_parse(&s->mem, text, n, NULL, &top, &e) == 0, "%s is JSON", name))
        return false;
    s->top = top;
    s->cases = value_get(top, "cases");
    return ok(value_is(s->cases, VALUE_LIST) &&
                  s->cases->n == value_as_int(value_get(top, "count"), -1),
              "%s has all its cases", name);
}

static void suite_end(struct suite *s)
{
    if (s->cases) {
        note("%s: %u cases: %u passed, %u excepted, 0 skipped, %u run elsewhere", s->name,
             s->cases->n, s->passed, s->excepted, s->elsewhere);
        is_int(s->passed + s->excepted + s->elsewhere + s->failed, s->cases->n,
               "%s: every case is accounted for", s->name);
    }
    arena_done(&s->mem);
}

static const char *case_name(const struct value *c)
{
    return value_as_text(value_get(c, "name"), "?");
}

static void result(struct suite *s, const struct value *c, bool good, const char *what)
{
    ok(good, "%s/%s: %s", s->name, case_name(c), what);
    s->passed += good;
    s->failed += !good;
}

/* --- loading --- */

struct fixture {
    struct catalog_report report;
    struct catalog *c;
    const struct catalog_graph *g;
    struct err e;
    int code;
};

/* Expressions in our words; the import's tests are about the translation itself. */
static void words_ours(struct buf *text)
{
    static const struct {
        const char *theirs, *ours;
    } words[] = {{"\"yaql_exp\": \"$.x()\"", "\"expr\": \"data.x\""},
                 {"\"yaql_exp\": \"$.y()\"", "\"expr\": \"data.y\""}};

    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        const char *at = strstr(text->data, words[i].theirs);
        if (!at)
            continue;
        SCOPED_BUF(whole);
        buf_put(&whole, text->data, (size_t)(at - text->data));
        buf_puts(&whole, words[i].ours);
        buf_puts(&whole, at + strlen(words[i].theirs));
        buf_clear(text);
        buf_put(text, whole.data, whole.len);
    }
}

static void begin(struct fixture *f, const char *barclamp, const struct value *tasks)
{
    SCOPED_BUF(text);
    json_write(&text, tasks, 2);
    words_ours(&text);
    struct catalog_file files[] = {{str_of("barclamp.yaml"), str_of(barclamp)},
                                   {str_of("graphs/a.yaml"), {text.data, text.len}}};
    struct catalog_source source = {files, 2};

    *f = (struct fixture){0};
    f->code = catalog_load(&source, NULL, 1, &f->report, &f->c, &f->e);
    if (!f->code)
        f->g = catalog_graph_get(f->c, str_of("default"));
}

static void end(struct fixture *f)
{
    catalog_unref(f->c);
    catalog_report_done(&f->report);
}

static bool report_has(const struct catalog_report *r, const char *text)
{
    for (size_t i = 0; i < r->entries.n; i++)
        if (strstr(r->entries.at[i].err.text, text))
            return true;
    return false;
}

/* Every error says where. */
static bool report_placed(const struct catalog_report *r)
{
    for (size_t i = 0; i < r->entries.n; i++)
        if (!strstr(r->entries.at[i].err.at, "graphs/a.yaml:"))
            return false;
    return true;
}

static struct value *list_of(struct arena *a, const struct value *one)
{
    struct value *list = value_list(a);
    value_add(a, list, one);
    return list;
}

/* --- tolerances and limits --- */

static void test_tolerance(const char *dir)
{
    struct suite s;

    if (suite_begin(&s, dir, "fault_tolerance_value"))
        for (uint32_t i = 0; i < s.cases->n; i++) {
            const struct value *c = &s.cases->items[i];
            uint32_t total = (uint32_t)value_as_int(value_at(c, "in.total"), 0);
            struct value *group = value_map(&s.mem);
            struct fixture f;
            value_put_text(&s.mem, group, "id", "g");
            value_put_text(&s.mem, group, "type", "group");
            value_set(&s.mem, group, "fault_tolerance", value_at(c, "in.value"));
            begin(&f, "barclamp: x\ngraphs: {requires: same-node}\n", list_of(&s.mem, group));
            int64_t may = f.g ? graph_tolerance_of(&f.g->vertices[0].tolerance, total) : -2;
            /* Never too many was one more than there are. */
            may = may == -1 ? (int64_t)total + 1 : may;
            result(&s, c, may == value_as_int(value_at(c, "out.may_fail"), -3), "may fail");
            end(&f);
        }
    suite_end(&s);
}

static int64_t limit_of(struct arena *a, const struct value *strategy)
{
    struct value *task = value_map(a);
    struct fixture f;

    value_put_text(a, task, "id", "t");
    value_put_text(a, task, "type", "puppet");
    value_set(a, task, "strategy", strategy);
    begin(&f, lenient, list_of(a, task));
    int64_t limit = f.g ? (int64_t)graph_strategy_limit(&f.g->vertices[0].strategy) : -1;
    end(&f);
    return limit;
}

static void test_concurrency(const char *dir)
{
    struct suite s;

    if (suite_begin(&s, dir, "concurrency_value"))
        for (uint32_t i = 0; i < s.cases->n; i++) {
            const struct value *c = &s.cases->items[i], *strategy = value_at(c, "in.strategy");
            int64_t wanted = value_as_int(value_at(c, "out.limit"), -2);
            if (value_at(c, "in.max")) {
                s.elsewhere++; /* pools of the engine: sim/golden_deploy */
                continue;
            }
            if (value_at(c, "in.per_node_strategy")) {
                /* As its note says: what is declared counts, whatever becomes of a copy. */
                strategy = value_at(c, "in.per_node_strategy.0.1");
                wanted = value_as_int(value_get(strategy, "amount"), -2);
            } else if (!strategy) {
                struct value *map = value_map(&s.mem);
                value_put_text(&s.mem, map, "type", "parallel");
                value_set(&s.mem, map, "amount", value_at(c, "in.value"));
                strategy = map;
            }
            result(&s, c, limit_of(&s.mem, strategy) == wanted, "limit");
        }
    suite_end(&s);
}

/* --- patterns --- */

static void test_resolve_roles(const char *dir)
{
    struct suite s;

    if (suite_begin(&s, dir, "resolve_roles"))
        for (uint32_t i = 0; i < s.cases->n; i++) {
            const struct value *c = &s.cases->items[i], *names = value_at(c, "in.names");
            if (!names) {
                s.elsewhere++; /* over nodes: planner/weave_golden */
                continue;
            }
            struct value *task = value_map(&s.mem);
            struct fixture f;
            value_put_text(&s.mem, task, "id", "t");
            value_put_text(&s.mem, task, "type", "puppet");
            value_set(&s.mem, task, "role", value_at(c, "in.pattern"));
            begin(&f, lenient, list_of(&s.mem, task));
            bool good = f.g && f.g->vertices[0].nodes.n == 1;
            for (uint32_t k = 0; good && k < names->n; k++)
                good = graph_word_matches(&f.g->vertices[0].nodes.words[0],
                                          value_as_str(&names->items[k])) ==
                       value_as_bool(&value_at(c, "out.match")->items[k], false);
            result(&s, c, good, "matches");
            end(&f);
        }
    suite_end(&s);
}

/* --- what is valid --- */

static bool case_excepted(struct suite *s, const struct value *c, const char *const *names,
                          size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!strcmp(case_name(c), names[i])) {
            note("%s/%s is excepted", s->name, case_name(c));
            s->excepted++;
            return true;
        }
    return false;
}

/* Neither what the case names as undefined nor its circle may be missing from what we say. */
static bool says_same(const struct fixture *f, const struct value *out)
{
    const struct value *undefined = value_get(out, "undefined"), *circle = value_get(out, "cycle");

    for (uint32_t i = 0; undefined && i < undefined->n; i++)
        if (f->e.code != ERR_UNKNOWN_NAME || !strstr(f->e.text, undefined->items[i].s))
            return false;
    for (uint32_t i = 0; circle && i < circle->n; i++)
        if (f->e.code != ERR_CYCLE || !strstr(f->e.text, circle->items[i].s))
            return false;
    return true;
}

static void test_validation(const char *dir)
{
    /* RFC 07, section 3: a type that no jig implements loads, and is refused when it should run. */
    static const char *const excepted[] = {"schema_upload_files_not_in_enum"};
    struct suite s;

    if (suite_begin(&s, dir, "validation"))
        for (uint32_t i = 0; i < s.cases->n; i++) {
            const struct value *c = &s.cases->items[i], *out = value_get(c, "out");
            const struct value *tasks = value_at(c, "in.tasks"), *task = value_at(c, "in.task");
            const char *where = native;
            struct fixture f;
            if (case_excepted(&s, c, excepted, sizeof excepted / sizeof *excepted))
                continue;
            if (!tasks)
                tasks = task ? list_of(&s.mem, task) : value_at(c, "in.graph.tasks");
            /* A single task is looked at alone: what it names is elsewhere. */
            if (task && value_as_bool(value_get(out, "ok"), false))
                where = lenient;
            begin(&f, where, tasks);
            bool wanted = value_as_bool(value_get(out, "ok"), false);
            result(&s, c, !f.code == wanted && says_same(&f, out) && report_placed(&f.report),
                   f.code ? f.e.text : "valid");
            end(&f);
        }
    suite_end(&s);
}

static void test_lint(const char *dir)
{
    struct suite s;

    if (suite_begin(&s, dir, "lint"))
        for (uint32_t i = 0; i < s.cases->n; i++) {
            const struct value *c = &s.cases->items[i], *out = value_get(c, "out");
            const struct value *plus = value_at(c, "in.plus"), *tasks = value_at(c, "in.tasks");
            const char *kind = value_as_text(value_get(out, "kind"), "");
            struct fixture f;
            if (!tasks) {
                struct value *all = value_copy(&s.mem, value_get(s.top, "base"));
                for (uint32_t k = 0; k < plus->n; k++)
                    value_add(&s.mem, all, &plus->items[k]);
                tasks = all;
            }
            begin(&f, native, tasks);
            bool good;
            if (value_get(out, "cycles"))
                good = f.e.code == ERR_CYCLE && strstr(f.e.text, "deploy_start") &&
                       strstr(f.e.text, "pre_deployment_end") &&
                       strstr(f.e.text, "pre_deployment_start");
            else if (!strcmp(kind, "undefined"))
                good = f.e.code == ERR_UNKNOWN_NAME && strstr(f.e.text, "\"empty_node\"");
            else if (!strcmp(kind, "disconnected"))
                good = report_has(&f.report, "is in several parts");
            else if (!strcmp(kind, "schema"))
                good = f.e.code == ERR_INVALID;
            else
                good = !f.code && !f.report.entries.n;
            result(&s, c, good && report_placed(&f.report), f.code ? f.e.text : "valid");
            end(&f);
        }
    suite_end(&s);
}

/* --- the graph as it is written --- */

static bool edges_same(const struct graph_plain *p, const struct value *edges)
{
    uint32_t found = 0;

    for (uint32_t i = 0; i < edges->n; i++) {
        struct str from = value_as_str(&edges->items[i].items[0]);
        struct str to = value_as_str(&edges->items[i].items[1]);
        for (uint32_t k = 0; k < p->n_edges; k++)
            found += str_eq(p->names[p->edges[k].from], from) &&
                     str_eq(p->names[p->edges[k].to], to);
    }
    return found == edges->n && p->n_edges == edges->n;
}

static bool undefined_same(const struct graph_plain *p, const struct value *names)
{
    for (uint32_t i = 0; i < names->n; i++) {
        bool there = false;
        for (uint32_t k = p->n_defined; k < p->n; k++)
            there |= str_eq(p->names[k], value_as_str(&names->items[i]));
        if (!there)
            return false;
    }
    return p->n - p->n_defined == names->n;
}

static void test_graph_build(const char *dir)
{
    /* RFC 07, section 3: patterns are POSIX extended; looking ahead is none of them. */
    static const char *const excepted[] = {"groups_regex"};
    struct suite s;

    if (suite_begin(&s, dir, "graph_build"))
        for (uint32_t i = 0; i < s.cases->n; i++) {
            const struct value *c = &s.cases->items[i], *edges = value_at(c, "out.edges");
            struct graph_plain plain;
            struct fixture f;
            if (case_excepted(&s, c, excepted, sizeof excepted / sizeof *excepted))
                continue;
            if (!edges) {
                s.elsewhere++; /* the order of one group's tasks: sim/golden_deploy */
                continue;
            }
            begin(&f, lenient, value_at(c, "in.tasks"));
            bool good = f.g;
            if (good) {
                graph_plain_build(&s.mem, f.g, &plain);
                good = edges_same(&plain, edges) &&
                       undefined_same(&plain, value_at(c, "out.undefined"));
            }
            result(&s, c, good, f.code ? f.e.text : "edges");
            end(&f);
        }
    suite_end(&s);
}

/* --- overlays --- */

/* The field that the cases tell tasks apart by, in a place where ours may have it. */
static const struct value *marked(struct arena *a, const struct value *tasks)
{
    struct value *list = value_list(a);
    for (uint32_t i = 0; i < tasks->n; i++) {
        struct value *task = value_map(a), *parameters = value_map(a);
        for (uint32_t k = 0; k < tasks->items[i].n; k++) {
            const struct member *m = &tasks->items[i].members[k];
            if (!strcmp(m->key, "v"))
                value_set(a, parameters, "v", &m->v);
            else
                value_set(a, task, m->key, &m->v);
        }
        value_set(a, task, "parameters", parameters);
        value_add(a, list, task);
    }
    return list;
}

static bool merge_same(const struct catalog_graph *g, const struct value *out)
{
    const struct value *tasks = value_get(out, "tasks"), *order = value_get(out, "order");
    const struct value *requires = value_get(out, "requires");

    for (uint32_t i = 0; i < tasks->n; i++) {
        uint32_t v = catalog_graph_find(g, str_of(tasks->members[i].key));
        if (v == CATALOG_NONE || value_as_int(value_get(g->vertices[v].parameters, "v"), -1) !=
                                     value_as_int(&tasks->members[i].v, -2))
            return false;
        const struct value *wanted = value_get(requires, tasks->members[i].key);
        if (wanted && wanted->n != g->vertices[v].n_requires)
            return false;
    }
    for (uint32_t i = 0; order && i < order->n; i++)
        if (!str_eq(g->vertices[i].id, value_as_str(&order->items[i])))
            return false;
    return tasks->n == g->n_vertices;
}

static void test_merge(const char *dir)
{
    /* Graphs of ours have tasks only: what follows a run, and on which nodes, is an operation's. */
    static const char *const excepted[] = {"metadata", "default_callbacks"};
    struct suite s;

    if (suite_begin(&s, dir, "merge_graphs"))
        for (uint32_t i = 0; i < s.cases->n; i++) {
            const struct value *c = &s.cases->items[i], *in = value_get(c, "in");
            struct fixture f;
            if (case_excepted(&s, c, excepted, sizeof excepted / sizeof *excepted))
                continue;
            begin(&f, lenient, marked(&s.mem, value_get(in, "release")));
            struct graph_layer layers[] = {
                {"plugins", {"", 0}, marked(&s.mem, value_get(in, "plugins")), 0},
                {"cluster", {"", 0}, marked(&s.mem, value_get(in, "cluster")), 0}};
            struct catalog_report report = {0};
            SCOPED(graph_overlay) *o = NULL;
            struct err e = {0};
            bool good = f.c &&
                        graph_overlay_new(f.c, str_of("default"), layers, 2, &report, &o, &e) == 0;
            result(&s, c, good && merge_same(&o->graph, value_get(c, "out")), "merged");
            catalog_report_done(&report);
            end(&f);
        }
    suite_end(&s);
}

int main(int argc, char **argv)
{
    SCOPED_ARENA(mem);
    const char *data = getenv("ANNEAL_TEST_DATA");
    const char *dir = data ? arena_printf(&mem, "%s/golden/fuel", data)
                           : arena_printf(&mem, "%s/../shared/golden/fuel",
                                          argc > 1 ? argv[1] : ".");
    test_tolerance(dir);
    test_concurrency(dir);
    test_resolve_roles(dir);
    test_validation(dir);
    test_lint(dir);
    test_graph_build(dir);
    test_merge(dir);
    return tap_done();
}
