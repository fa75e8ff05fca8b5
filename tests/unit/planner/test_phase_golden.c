/* test_phase_golden.c - facts about Coopr's planner, found through ANNEAL_TEST_DATA
 *
 * Checks with one of the ops plan, linearize, deps, stage_split and depends_on, of whatever kind of
 * case; of a defect the correct answer.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>

#include "phase_bed.h"

#include "base/json.h"
#include "base/map.h"
#include "base/sort.h"
#include "graph/graph.h"

static const char *text_at(const struct value *v, const char *key)
{
    return value_as_text(value_get(v, key), "");
}

static bool same_keys(const struct strmap *x, const struct strmap *y)
{
    bool same = x->live == y->live;
    for (size_t i = 0; i < x->n; i++)
        same = same && strmap_get(y, str_of(x->at[i].key), NULL);
    return same;
}

/* A list of texts, as a set. */
static bool list_is(const struct value *list, const struct strmap *got)
{
    struct strmap want = {0};
    for (uint32_t i = 0; i < list->n; i++)
        strmap_put(&want, str_of(value_as_text(&list->items[i], "")), 1);
    bool same = same_keys(&want, got);
    strmap_done(&want);
    return same;
}

static struct str upper(struct arena *a, const char *s)
{
    char *copy = arena_strdup(a, s);
    for (char *c = copy; *c; c++)
        *c = (char)(*c >= 'a' && *c <= 'z' ? *c - 'a' + 'A' : *c);
    return str_of(copy);
}

static int kind_of(struct arena *a, const char *s)
{
    for (int k = 0; k < PHASE_KIND_COUNT; k++)
        if (str_is(upper(a, phase_kind_name((enum phase_kind)k)), s))
            return k;
    return -1;
}

/* --- reading a cluster --- */

static void names_depend(struct phase_bed *b, struct phase_service *s, const struct value *names,
                         uint8_t when, bool required)
{
    for (uint32_t i = 0; names && i < names->n; i++)
        bed_depend(b, s, str_of(value_as_text(&names->items[i], "")), when, required);
}

static void services_read(struct phase_bed *b, const struct value *services)
{
    for (uint32_t i = 0; i < services->n; i++) {
        const struct value *from = &services->members[i].v;
        const struct value *actions = value_get(from, "actions");
        const struct value *provides = value_get(from, "provides");
        struct phase_service s = {.name = str_of(services->members[i].key)};
        for (uint32_t k = 0; k < actions->n; k++)
            s.actions |= (uint16_t)(1u << kind_of(&b->mem, value_as_text(&actions->items[k], "")));
        for (uint32_t k = 0; provides && k < provides->n; k++)
            bed_provide(b, &s, str_of(value_as_text(&provides->items[k], "")));
        names_depend(b, &s, value_get(from, "install_requires"), PHASE_AT_INSTALL, true);
        names_depend(b, &s, value_get(from, "install_uses"), PHASE_AT_INSTALL, false);
        names_depend(b, &s, value_get(from, "runtime_requires"), PHASE_AT_RUN, true);
        names_depend(b, &s, value_get(from, "runtime_uses"), PHASE_AT_RUN, false);
        vec_push(&b->services, s);
    }
}

static void nodes_read(struct phase_bed *b, const struct value *nodes)
{
    for (uint32_t i = 0; i < nodes->n; i++) {
        const struct value *names = &nodes->members[i].v;
        uint32_t *services = arena_new(&b->mem, uint32_t, names->n);
        for (uint32_t k = 0; k < names->n; k++)
            services[k] = bed_service_find(b, str_of(value_as_text(&names->items[k], "")));
        vec_push(&b->nodes, ((struct phase_node){.name = str_of(nodes->members[i].key),
                                                 .services = services,
                                                 .n_services = names->n,
                                                 .machine = PHASE_F_MACHINE}));
    }
}

/* --- plan --- */

static const struct {
    const char *action;
    enum phase_op op;
} actions[] = {
    {"CLUSTER_CREATE", PHASE_OP_CREATE},
    {"CLUSTER_DELETE", PHASE_OP_DELETE},
    {"CLUSTER_CONFIGURE", PHASE_OP_CONFIGURE},
    {"CLUSTER_CONFIGURE_WITH_RESTART", PHASE_OP_CONFIGURE_RESTART},
    {"START_SERVICES", PHASE_OP_START},
    {"STOP_SERVICES", PHASE_OP_STOP},
    {"RESTART_SERVICES", PHASE_OP_RESTART},
    {"ADD_SERVICES", PHASE_OP_ADD},
};

static struct str task_name(struct phase_bed *b, uint32_t v)
{
    const struct phase_vertex *at = &b->g->vertices[v];
    struct str node = b->nodes.at[at->node].name;
    struct str kind = upper(&b->mem, phase_kind_name((enum phase_kind)at->kind));
    struct str s = at->service == PHASE_NIL ? str_of("") : b->services.at[at->service].name;
    return str_of(arena_printf(&b->mem, "%.*s:%s%s%.*s", (int)node.n, node.s, kind.s,
                               s.n ? ":" : "", (int)s.n, s.s));
}

static bool tasks_are(struct phase_bed *b, const struct value *want)
{
    struct strmap got = {0};
    for (uint32_t v = 0; v < b->g->n_tasks; v++)
        strmap_put(&got, task_name(b, v), 1);
    bool same = list_is(want, &got);
    strmap_done(&got);
    return same;
}

static bool edges_are(struct phase_bed *b, const struct value *want)
{
    struct strmap got = {0};
    uint32_t *deps = arena_new(&b->mem, uint32_t, b->g->n_tasks);
    for (uint32_t v = 0; v < b->g->n_tasks; v++)
        for (uint32_t i = 0, n = phase_edges(b->g, v, deps, b->g->n_tasks); i < n; i++)
            strmap_put(&got,
                       str_of(arena_printf(&b->mem, "%s > %s", task_name(b, deps[i]).s,
                                           task_name(b, v).s)),
                       1);
    bool same = list_is(want, &got) && phase_edges_count(b->g) == want->n;
    strmap_done(&got);
    return same;
}

static bool stages_are(struct phase_bed *b, const struct value *want, const struct value *sizes)
{
    struct phase_stages st;
    bool same = true;
    phase_stages(b->g, &b->mem, &st);
    for (uint32_t l = 0, stage = 0; want && l < want->n; l++) {
        struct strmap got = {0};
        if (l >= st.n_levels)
            return false;
        for (; stage < st.level_end[l]; stage++)
            for (uint32_t i = st.first[stage]; i < st.first[stage + 1]; i++)
                strmap_put(&got, task_name(b, st.tasks[i]), 1);
        same = same && list_is(&want->items[l], &got);
        strmap_done(&got);
    }
    for (uint32_t i = 0; sizes && i < sizes->n; i++)
        same = same && i < st.n &&
               st.first[i + 1] - st.first[i] == (uint32_t)value_as_int(&sizes->items[i], 0);
    return same && (!want || st.n_levels == want->n) && (!sizes || st.n == sizes->n);
}

static const bool *picked(struct phase_bed *b, const struct value *names, bool nodes)
{
    size_t n = nodes ? b->nodes.n : b->services.n;
    bool *all = names ? arena_new(&b->mem, bool, n) : NULL;
    for (size_t i = 0; names && i < n; i++)
        for (uint32_t k = 0; k < names->n; k++)
            all[i] |= str_is(nodes ? b->nodes.at[i].name : b->services.at[i].name,
                             value_as_text(&names->items[k], ""));
    return all;
}

static bool plan_case(struct phase_bed *b, const struct value *in, const struct value *want)
{
    struct phase_request req = {.op = PHASE_OP_COUNT};
    services_read(b, value_get(in, "services"));
    nodes_read(b, value_get(in, "nodes"));
    for (size_t i = 0; i < sizeof actions / sizeof *actions; i++)
        if (!strcmp(actions[i].action, text_at(in, "action")))
            req.op = actions[i].op;
    req.services = picked(b, value_get(in, "planned_services"), false);
    req.nodes = picked(b, value_get(in, "planned_nodes"), true);
    int rc = bed_op(b, &req);
    if (value_get(want, "error")) { /* "dependency cycle a>b>c>a", as we write it */
        SCOPED_BUF(circle);
        const char *at = strrchr(text_at(want, "error"), ' ');
        for (at = at ? at + 1 : ""; *at; at++)
            buf_puts(&circle, *at == '>' ? " > " : (char[]){*at, '\0'});
        return rc == -ERR_CYCLE && strstr(b->err.text, circle.data);
    }
    const struct value *tasks = value_get(want, "tasks"), *edges = value_get(want, "edges");
    return rc >= 0 && (!tasks || tasks_are(b, tasks)) && (!edges || edges_are(b, edges)) &&
           stages_are(b, value_get(want, "stages"), value_get(want, "split_stage_sizes"));
}

/* --- deps, depends_on --- */

static bool relation_is(struct phase_bed *b, enum phase_when when, const struct value *want)
{
    uint32_t *deps = arena_new(&b->mem, uint32_t, phase_deps_names(b->d)), with = 0;
    bool same = true;
    for (uint32_t s = 0; s < b->services.n; s++) {
        struct strmap got = {0};
        const struct value *of = value_get(
            want, arena_strndup(&b->mem, b->services.at[s].name.s, b->services.at[s].name.n));
        uint32_t n = phase_deps_direct(b->d, when, s, deps);
        for (uint32_t i = 0; i < n; i++)
            strmap_put(&got, phase_deps_name(b->d, deps[i]), 1);
        same = same && (of ? list_is(of, &got) : n == 0);
        with += n > 0;
        strmap_done(&got);
    }
    return same && with == want->n;
}

static bool actions_are(struct phase_bed *b, const struct value *want)
{
    uint32_t *deps = arena_new(&b->mem, uint32_t, b->services.n), with = 0;
    bool same = true;
    for (uint32_t s = 0; s < b->services.n; s++)
        for (int k = PHASE_STOP; k < PHASE_DELETE; k++) {
            struct strmap got = {0};
            if (!(b->services.at[s].actions >> k & 1))
                continue;
            uint32_t n = phase_deps_waits(b->d, b->services.at, (enum phase_kind)k, s, deps);
            int of_kind = k == PHASE_INITIALIZE ? PHASE_START : k;
            struct str from = upper(&b->mem, phase_kind_name((enum phase_kind)of_kind));
            struct str to = upper(&b->mem, phase_kind_name((enum phase_kind)k));
            for (uint32_t i = 0; i < n; i++) {
                struct str name = b->services.at[deps[i]].name;
                strmap_put(
                    &got, str_of(arena_printf(&b->mem, "%s:%.*s", from.s, (int)name.n, name.s)), 1);
            }
            const struct value *of = value_get(want, arena_printf(&b->mem, "%s:%.*s", to.s,
                                                                  (int)b->services.at[s].name.n,
                                                                  b->services.at[s].name.s));
            same = same && (of ? list_is(of, &got) : n == 0);
            with += n > 0;
            strmap_done(&got);
        }
    return same && with == want->n;
}

static bool deps_case(struct phase_bed *b, const struct value *in, const struct value *want)
{
    const struct value *run = value_get(want, "runtime"), *install = value_get(want, "install");
    const struct value *of_actions = value_get(want, "actions");
    services_read(b, value_get(in, "services"));
    return bed_deps(b) >= 0 && (!run || relation_is(b, PHASE_WHEN_RUN, run)) &&
           (!install || relation_is(b, PHASE_WHEN_INSTALL, install)) &&
           (!of_actions || actions_are(b, of_actions));
}

static bool depends_on_case(struct phase_bed *b, const struct value *in, const struct value *want)
{
    const struct value *deps = value_get(in, "deps");
    bed_service(b, text_at(in, "a"));
    if (bed_service_find(b, str_of(text_at(in, "b"))) == PHASE_NIL)
        bed_service(b, text_at(in, "b"));
    for (uint32_t i = 0; i < deps->n; i++)
        if (bed_service_find(b, str_of(deps->members[i].key)) == PHASE_NIL)
            bed_service(b, deps->members[i].key);
    for (uint32_t i = 0; i < deps->n; i++)
        names_depend(b, &b->services.at[bed_service_find(b, str_of(deps->members[i].key))],
                     &deps->members[i].v, PHASE_AT_RUN, false);
    return bed_deps(b) >= 0 &&
           phase_depends(b->d, PHASE_WHEN_RUN, bed_service_find(b, str_of(text_at(in, "a"))),
                         bed_service_find(b, str_of(text_at(in, "b")))) ==
               value_as_bool(want, false);
}

/* --- linearize, stage_split --- */

struct flow_read {
    struct strmap tasks, nodes;
    VEC(uint32_t) node;
    VEC(uint64_t) edges; /* to << 32 | from */
};

static uint32_t flow_task(struct flow_read *f, struct str name)
{
    uintptr_t v, node;
    if (strmap_get(&f->tasks, name, &v))
        return (uint32_t)v;
    const char *colon = memchr(name.s, ':', name.n);
    struct str host = {name.s, colon ? (size_t)(colon - name.s) : name.n};
    if (!strmap_get(&f->nodes, host, &node)) {
        node = f->nodes.n;
        strmap_put(&f->nodes, host, node);
    }
    strmap_put(&f->tasks, name, f->node.n);
    vec_push(&f->node, (uint32_t)node);
    return (uint32_t)f->node.n - 1;
}

static void flow_edge(struct flow_read *f, uint32_t from, uint32_t to)
{
    vec_push(&f->edges, (uint64_t)to << 32 | from);
}

static void flow_stages(struct flow_read *f, struct arena *mem, struct phase_stages *ret)
{
    uint32_t n = (uint32_t)f->node.n, *first = arena_new(mem, uint32_t, n + 1);
    uint32_t *deps = arena_new(mem, uint32_t, f->edges.n), *left = arena_new(mem, uint32_t, n);
    uint32_t *order = arena_new(mem, uint32_t, n);
    sort_u64(f->edges.at, f->edges.n);
    for (size_t i = 0; i < f->edges.n; i++) {
        first[(f->edges.at[i] >> 32) + 1]++;
        deps[i] = (uint32_t)f->edges.at[i];
    }
    for (uint32_t v = 0; v < n; v++)
        first[v + 1] += first[v];
    graph_levels(n, first, deps, order, left);
    phase_flow_stages(&(struct phase_flow){n, (uint32_t)f->nodes.n, first, deps, order, f->node.at},
                      mem, ret);
}

static void flow_done(struct flow_read *f)
{
    strmap_done(&f->tasks);
    strmap_done(&f->nodes);
    vec_done(&f->node);
    vec_done(&f->edges);
}

/* Stages [from, to) are together what the list says. */
static bool flow_is(const struct flow_read *f, const struct phase_stages *st, uint32_t from,
                    uint32_t to, const struct value *want)
{
    struct strmap got = {0};
    for (uint32_t i = st->first[from]; i < st->first[to]; i++)
        strmap_put(&got, str_of(f->tasks.at[st->tasks[i]].key), 1);
    bool same = list_is(want, &got);
    strmap_done(&got);
    return same;
}

static bool linearize_case(struct phase_bed *b, const struct value *in, const struct value *want)
{
    const struct value *edges = value_get(in, "edges"), *stages = value_get(want, "stages");
    struct flow_read f = {0};
    struct phase_stages st;
    for (uint32_t i = 0; i < edges->n; i++) {
        const char *text = value_as_text(&edges->items[i], ""), *arrow = strstr(text, " > ");
        uint32_t from = flow_task(&f, (struct str){text, (size_t)(arrow - text)});
        flow_edge(&f, from, flow_task(&f, str_of(arrow + 3)));
    }
    flow_stages(&f, &b->mem, &st);
    bool same = st.n_levels == stages->n;
    for (uint32_t l = 0; same && l < stages->n; l++)
        same = flow_is(&f, &st, l ? st.level_end[l - 1] : 0, st.level_end[l], &stages->items[l]);
    flow_done(&f);
    return same;
}

/* Stages are given: each task waits for all of the stage before. */
static bool stage_split_case(struct phase_bed *b, const struct value *in, const struct value *want)
{
    const struct value *stages = value_get(in, "stages");
    struct flow_read f = {0};
    struct phase_stages st;
    for (uint32_t l = 0; l < stages->n; l++)
        for (uint32_t i = 0; i < stages->items[l].n; i++) {
            uint32_t v = flow_task(&f, str_of(value_as_text(&stages->items[l].items[i], "")));
            for (uint32_t k = 0; l && k < stages->items[l - 1].n; k++)
                flow_edge(&f,
                          flow_task(&f, str_of(value_as_text(&stages->items[l - 1].items[k], ""))),
                          v);
        }
    flow_stages(&f, &b->mem, &st);
    bool same = st.n == want->n;
    for (uint32_t i = 0; same && i < want->n; i++)
        same = flow_is(&f, &st, i, i + 1, &want->items[i]);
    flow_done(&f);
    return same;
}

/* --- all cases --- */

static const struct {
    const char *op;
    bool (*run)(struct phase_bed *b, const struct value *in, const struct value *want);
} op_cases[] = {
    {"plan", plan_case},
    {"deps", deps_case},
    {"depends_on", depends_on_case},
    {"linearize", linearize_case},
    {"stage_split", stage_split_case},
};

struct tally {
    unsigned ran, passed;
};

static void check_run(const struct value *c, const struct value *check, struct tally *t)
{
    const struct value *want = value_get(c, "correct");
    want = want ? want : value_get(check, "expect");
    if (value_get(want, "partial"))
        want = value_get(want, "partial");
    for (size_t i = 0; i < sizeof op_cases / sizeof *op_cases; i++) {
        struct phase_bed b;
        if (strcmp(op_cases[i].op, text_at(check, "op")))
            continue;
        bed_init(&b);
        bool good = op_cases[i].run(&b, value_get(check, "input"), want);
        t->ran++;
        t->passed += ok(good, "%s: %s%s%s", text_at(c, "id"), op_cases[i].op,
                        b.err.text[0] && !good ? ": " : "", good ? "" : b.err.text);
        bed_done(&b);
    }
}

static void file_run(const char *path, struct tally *t)
{
    SCOPED_ARENA(mem);
    SCOPED_BUF(text);
    FILE *f = fopen(path, "r");
    char chunk[65536];
    struct value *v;
    struct err e;
    for (size_t n; f && (n = fread(chunk, 1, sizeof chunk, f)) > 0;)
        buf_put(&text, chunk, n);
    if (f)
        fclose(f);
    if (json_parse(&mem, text.data, text.len, NULL, &v, &e) < 0) {
        ok(false, "%s: %s", path, e.text);
        return;
    }
    const struct value *checks = value_get(v, "checks");
    for (uint32_t i = 0; checks && i < checks->n; i++)
        check_run(v, &checks->items[i], t);
}

static int is_case(const struct dirent *d)
{
    size_t n = strlen(d->d_name);
    return n > 5 && !strcmp(d->d_name + n - 5, ".json");
}

int main(void)
{
    SCOPED_ARENA(mem);
    const char *data = getenv("ANNEAL_TEST_DATA");
    const char *dir = arena_printf(&mem, "%s/golden/coopr", data ? data : "../shared");
    struct dirent **files;
    struct tally t = {0};
    int n = scandir(dir, &files, is_case, alphasort);
    if (n < 0) {
        skip("the facts about Coopr are not here");
        return tap_done();
    }
    for (int i = 0; i < n; i++) {
        file_run(arena_printf(&mem, "%s/%s", dir, files[i]->d_name), &t);
        free(files[i]);
    }
    free(files);
    note("coopr planner: %u checks ran, %u passed, 0 excepted, 0 skipped", t.ran, t.passed);
    ok(t.ran > 0, "there are cases of the planner");
    return tap_done();
}
