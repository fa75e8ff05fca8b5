/* test_weave_golden.c - facts about Fuel's graphs, found through ANNEAL_TEST_DATA
 *
 * Suites expand, partial_run, seed_examples, subgraph, task_filters, resolve_roles and priorities.
 * Where a case says by a note that the old program was wrong, what the note says is expected.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "tap.h"

#include "base/sort.h"
#include "base/text.h"
#include "catalog/taskgraph.h"
#include "weave_bed.h"

static const char imported[] = "barclamp: t\nlenient: true\ngraphs: {requires: same-node}\n";
static const char native[] = "barclamp: t\n";

struct tally {
    unsigned ran, passed;
};

static const char *text_at(const struct value *v, const char *key)
{
    return value_as_text(value_get(v, key), "");
}

static struct str json_of(struct arena *a, const struct value *v)
{
    SCOPED_BUF(b);
    json_write(&b, v, 0);
    return (struct str){arena_strndup(a, b.data, b.len), b.len};
}

static bool says(const struct value *list, const char *text)
{
    for (uint32_t i = 0; list && i < list->n; i++)
        if (!strcmp(value_as_text(&list->items[i], ""), text))
            return true;
    return false;
}

/* --- nodes --- */

/* {"uid": ["tag", ...]} */
static void nodes_by_uid(struct weave_bed *b, const struct value *nodes, bool deployed)
{
    for (uint32_t i = 0; nodes && i < nodes->n; i++) {
        const struct member *m = &nodes->members[i];
        const char *names = "";
        for (uint32_t k = 0; k < m->v.n; k++)
            names = arena_printf(&b->mem, "%s %s", names, value_as_text(&m->v.items[k], ""));
        bed_node(b, m->key, names);
        b->nodes.at[b->nodes.n - 1].deployed = deployed;
    }
}

/* {"role": ["node", ...]}, in the order in which nodes are named. */
static void nodes_by_role(struct weave_bed *b, const struct value *roles)
{
    for (uint32_t i = 0; i < roles->n; i++)
        for (uint32_t k = 0; k < roles->members[i].v.n; k++)
            bed_node(b, value_as_text(&roles->members[i].v.items[k], ""), roles->members[i].key);
}

/* --- expand --- */

struct conditions {
    struct weave_bed *bed;
    const struct value *false_on;
};

static int condition_is(void *ctx, uint32_t task, uint32_t node, struct err *e)
{
    const struct conditions *k = ctx;
    (void)e;
    for (uint32_t i = 0; k->false_on && i < k->false_on->n; i++) {
        const struct value *pair = &k->false_on->items[i];
        if (str_is(k->bed->graph->vertices[task].id, value_as_text(&pair->items[0], "")) &&
            node < k->bed->nodes.n &&
            str_is(k->bed->nodes.at[node].name, value_as_text(&pair->items[1], "")))
            return 0;
    }
    return 1;
}

/* Every task gets a condition, so that it is asked for. */
static struct str tasks_with_conditions(struct arena *a, const struct value *tasks)
{
    struct value *list = value_list(a);
    for (uint32_t i = 0; i < tasks->n; i++) {
        struct value *t = value_copy(a, &tasks->items[i]);
        const char *type = text_at(t, "type");
        if (strcmp(type, "stage") && strcmp(type, "group") && strcmp(type, "role"))
            value_put_text(a, t, "condition", "true");
        value_add(a, list, t);
    }
    return json_of(a, list);
}

static void edge_note(struct strmap *edges, struct arena *a, const char *from, const char *to)
{
    strmap_put(edges, str_of(arena_printf(a, "%s > %s", from, to)), 1);
}

/* "task/null" is a stage, which we call by its id. */
static const char *ref_of(struct arena *a, const char *ref)
{
    size_t n = strlen(ref);
    return n > 5 && !strcmp(ref + n - 5, "/null") ? arena_strndup(a, ref, n - 5) : ref;
}

static void edges_wanted(struct arena *a, const struct value *by_node, struct strmap *edges)
{
    for (uint32_t i = 0; i < by_node->n; i++)
        for (uint32_t k = 0; k < by_node->members[i].v.n; k++) {
            const struct value *t = &by_node->members[i].v.items[k];
            const char *me = ref_of(
                a, arena_printf(a, "%s/%s", text_at(t, "id"), by_node->members[i].key));
            const struct value *before = value_get(t, "requires");
            const struct value *after = value_get(t, "required_for");
            for (uint32_t n = 0; before && n < before->n; n++)
                edge_note(edges, a, ref_of(a, value_as_text(&before->items[n], "")), me);
            for (uint32_t n = 0; after && n < after->n; n++)
                edge_note(edges, a, me, ref_of(a, value_as_text(&after->items[n], "")));
        }
}

static void edges_woven(struct weave_bed *b, struct strmap *edges)
{
    uint32_t *ids = arena_new(&b->mem, uint32_t, b->w->n);
    for (uint32_t v = 0; v < b->w->n_stages + b->w->n_tasks; v++) {
        uint32_t n = weave_plain_deps(b->w, v, ids, b->w->n);
        for (uint32_t i = 0; i < n; i++)
            edge_note(edges, &b->mem, weave_vertex_name(b->w, &b->req, ids[i], &b->mem).s,
                      weave_vertex_name(b->w, &b->req, v, &b->mem).s);
    }
}

static bool same_keys(const struct strmap *x, const struct strmap *y)
{
    bool same = x->live == y->live;
    for (size_t i = 0; i < x->n; i++)
        same = same && strmap_get(y, str_of(x->at[i].key), NULL);
    return same;
}

static bool types_same(struct weave_bed *b, const struct value *by_node)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < by_node->n; i++)
        for (uint32_t k = 0; k < by_node->members[i].v.n; k++, n++) {
            const struct value *t = &by_node->members[i].v.items[k];
            uint32_t v = bed_find(b,
                                  ref_of(&b->mem, arena_printf(&b->mem, "%s/%s", text_at(t, "id"),
                                                               by_node->members[i].key)));
            if (v == WEAVE_NONE)
                return false;
            bool out = b->w->vertices[v].reason != WEAVE_RUN ||
                       b->w->vertices[v].kind == WEAVE_STAGE;
            if (out != !strcmp(text_at(t, "type"), "skipped"))
                return false;
        }
    return n == b->w->n_stages + b->w->n_tasks;
}

/* The expected result of this case has circles, which we tell; its edges are looked at as they are.
 */
static bool expand_circle(struct weave_bed *b)
{
    bool told = bed_weave(b) == -ERR_CONFLICT && strstr(b->err.text, "waits for");
    b->req.unsorted = true;
    return told;
}

/* The first node of those that run it, as the note says. */
static bool expand_any(struct weave_bed *b)
{
    return bed_weave(b) == 0 && !strcmp(bed_deps(b, "ntp-client/1"), "ntp-server/2");
}

static bool run_expand(struct weave_bed *b, const struct value *suite, const struct value *c)
{
    (void)suite;
    const struct value *in = value_get(c, "in"), *out = value_get(c, "out");
    struct conditions k = {b, value_get(in, "false_on")};
    nodes_by_uid(b, value_get(in, "nodes"), false);
    if (!bed_graph(b, imported, tasks_with_conditions(&b->mem, value_get(in, "tasks"))))
        return false;
    b->req.condition = condition_is;
    b->req.ctx = &k;
    bool circle = !strcmp(text_at(c, "name"), "integration");
    if (circle && !expand_circle(b))
        return false;
    if (!strcmp(text_at(c, "name"), "policy_any_single_edge"))
        return expand_any(b);
    if (bed_weave(b) < 0)
        return false;
    struct strmap want = {0}, got = {0};
    edges_wanted(&b->mem, value_get(out, "tasks"), &want);
    edges_woven(b, &got);
    bool good = same_keys(&want, &got) && (circle || types_same(b, value_get(out, "tasks")));
    strmap_done(&want);
    strmap_done(&got);
    return good;
}

/* --- seed_examples --- */

/* Nodes by the level of their first task: a wave is those of one level. */
static bool waves_are(struct weave_bed *b, const struct value *waves)
{
    uint32_t last = 0, seen = 0;
    for (uint32_t i = 0; i < waves->n; i++) {
        uint32_t level = WEAVE_NONE;
        for (uint32_t k = 0; k < waves->items[i].n; k++) {
            const char *name = value_as_text(&waves->items[i].items[k], "");
            uint32_t first = WEAVE_NONE;
            for (uint32_t v = b->w->n_stages; v < b->w->n_stages + b->w->n_tasks; v++) {
                const struct weave_vertex *at = &b->w->vertices[v];
                if (at->node < b->nodes.n && str_is(b->nodes.at[at->node].name, name) &&
                    at->level < first)
                    first = at->level;
            }
            seen++;
            if (first == WEAVE_NONE || (level != WEAVE_NONE && level != first))
                return false;
            level = first;
        }
        if (i && level <= last)
            return false;
        last = level;
    }
    return seen == b->nodes.n;
}

static bool order_is(struct weave_bed *b, const struct value *order)
{
    uint32_t at = 0;
    for (uint32_t i = 0; i < b->w->n; i++) {
        uint32_t v = b->w->order[i];
        if (b->w->vertices[v].kind == WEAVE_TASK &&
            (at >= order->n || strcmp(weave_vertex_name(b->w, &b->req, v, &b->mem).s,
                                      value_as_text(&order->items[at++], ""))))
            return false;
    }
    return at == order->n;
}

static bool run_seed(struct weave_bed *b, const struct value *suite, const struct value *c)
{
    (void)suite;
    const struct value *in = value_get(c, "in"), *out = value_get(c, "out");
    nodes_by_role(b, value_get(in, "nodes"));
    /* An excerpt may name a stage that it does not show. */
    struct value *tasks = value_copy(&b->mem, value_get(in, "tasks"));
    if (!strcmp(text_at(c, "name"), "alternative_tasks_as_roles")) {
        struct value *deploy = value_map(&b->mem);
        value_put_text(&b->mem, deploy, "id", "deploy");
        value_put_text(&b->mem, deploy, "type", "stage");
        value_add(&b->mem, tasks, deploy);
    }
    if (!bed_graph(b, native, json_of(&b->mem, tasks)) || bed_weave(b) < 0)
        return false;
    const struct value *waves = value_get(out, "waves");
    return waves ? waves_are(b, waves) : order_is(b, value_get(out, "order"));
}

/* --- partial_run: edges are of instances, so they come as data of each node --- */

struct parts {
    struct weave_bed *bed;
    const struct value *edges;
    const struct value *sync; /* nodes whose tasks are stages */
    struct expr_var var;
    struct expr_scope scope;
};

static void ref_split(const char *ref, struct str *ret_task, struct str *ret_node)
{
    const char *slash = strchr(ref, '/');
    *ret_task = (struct str){ref, (size_t)(slash - ref)};
    *ret_node = str_of(slash + 1);
}

static void item_add(struct parts *p, struct value *lists, struct str task, const char *other)
{
    struct arena *a = &p->bed->mem;
    struct str name, node;
    ref_split(other, &name, &node);
    struct value *item = value_map(a);
    value_set(a, item, "name", value_str(a, name));
    value_set(a, item, "role", str_is(node, "sync_node") ? value_null(a) : value_str(a, node));
    const struct value *had = value_get_str(lists, task);
    struct value *list = had ? value_copy(a, had) : value_list(a);
    value_add(a, list, item);
    value_set_str(a, lists, task, list);
}

static const struct expr_scope *parts_scope(void *ctx, uint32_t node)
{
    struct parts *p = ctx;
    struct arena *a = &p->bed->mem;
    struct value *data = value_map(a), *before = value_map(a), *after = value_map(a);
    struct str me = node < p->bed->nodes.n ? p->bed->nodes.at[node].name : str_of("");
    for (uint32_t i = 0; i < p->edges->n; i++) {
        const char *from = value_as_text(&p->edges->items[i].items[0], "");
        const char *to = value_as_text(&p->edges->items[i].items[1], "");
        struct str task, at;
        ref_split(to, &task, &at);
        if (str_eq(at, me))
            item_add(p, before, task, from);
        ref_split(from, &task, &at);
        if (str_eq(at, me) && strstr(to, "/sync_node"))
            item_add(p, after, task, to);
    }
    value_set(a, data, "before", before);
    value_set(a, data, "after", after);
    p->var = (struct expr_var){str_of("data"), data};
    p->scope = (struct expr_scope){.vars = &p->var, .n = 1};
    return &p->scope;
}

static struct str parts_graph(struct arena *a, const struct value *nodes)
{
    struct value *list = value_list(a), *seen = value_map(a);
    for (uint32_t i = 0; i < nodes->n; i++)
        for (uint32_t k = 0; k < nodes->members[i].v.n; k++) {
            const char *id = value_as_text(&nodes->members[i].v.items[k], "");
            bool stage = !strcmp(nodes->members[i].key, "sync_node");
            if (value_get(seen, id))
                continue;
            value_put_bool(a, seen, id, true);
            struct value *t = value_map(a), *roles = value_list(a);
            for (uint32_t n = 0; n < nodes->n; n++)
                if (says(&nodes->members[n].v, id))
                    value_add(a, roles, value_text(a, nodes->members[n].key));
            value_put_text(a, t, "id", id);
            value_put_text(a, t, "type", stage ? "stage" : "puppet");
            if (!stage) {
                struct value *x = value_map(a), *y = value_map(a);
                value_set(a, t, "role", roles);
                value_put_text(a, x, "expr",
                               arena_printf(a, "data.before['%s'] | default([])", id));
                value_put_text(a, y, "expr", arena_printf(a, "data.after['%s'] | default([])", id));
                value_set(a, t, "cross_depends", x);
                value_set(a, t, "cross_depended_by", y);
            }
            value_add(a, list, t);
        }
    return json_of(a, list);
}

static void words_take(struct arena *a, const struct value *list, const struct str **ret,
                       uint32_t *ret_n)
{
    struct str *words = arena_new(a, struct str, list ? list->n : 0);
    *ret_n = list ? list->n : 0;
    for (uint32_t i = 0; i < *ret_n; i++)
        words[i] = str_of(value_as_text(&list->items[i], ""));
    *ret = words;
}

static bool runs_are(struct weave_bed *b, const struct value *run)
{
    uint32_t n = 0;
    for (uint32_t v = 0; v < b->w->n_stages + b->w->n_tasks; v++) {
        const struct weave_vertex *at = &b->w->vertices[v];
        const char *name = weave_vertex_name(b->w, &b->req, v, &b->mem).s;
        if (at->kind == WEAVE_STAGE)
            continue; /* it runs nothing */
        if ((at->reason == WEAVE_RUN) != says(run, name))
            return false;
        n += at->reason == WEAVE_RUN;
    }
    return n > 0;
}

/* Ranges are looked at through words: who is meant by task/1,3-5. */
static bool run_range(struct weave_bed *b, const struct value *in, const struct value *out)
{
    const struct value *sane = value_get(out, "sane");
    for (int i = 0; i < 8; i++)
        bed_node(b, arena_printf(&b->mem, "%d", i), "r");
    bed_node(b, "a", "r");
    bed_node(b, "b", "r");
    if (!bed_graph(b, native, str_of("[{id: t, type: shell, role: r}]")))
        return false;
    struct str word = str_of(arena_printf(&b->mem, "t/%s", text_at(in, "range")));
    struct weave_pick pick = {.only = &word, .n_only = 1};
    b->req.pick = &pick;
    if (bed_weave(b) < 0)
        return false;
    for (uint32_t v = b->w->n_stages; v < b->w->n_stages + b->w->n_tasks; v++) {
        const struct weave_vertex *at = &b->w->vertices[v];
        if ((at->reason == WEAVE_RUN) != says(sane, b->nodes.at[at->node].name.s))
            return false;
    }
    return true;
}

static bool run_partial(struct weave_bed *b, const struct value *suite, const struct value *c)
{
    (void)suite;
    const struct value *in = value_get(c, "in"), *out = value_get(c, "out");
    if (value_get(in, "range"))
        return run_range(b, in, out);
    const struct value *nodes = value_get(in, "nodes"), *parts = value_get(in, "subgraphs");
    struct parts p = {.bed = b, .edges = value_get(in, "edges")};
    for (uint32_t i = 0; i < nodes->n; i++)
        if (strcmp(nodes->members[i].key, "sync_node"))
            bed_node(b, nodes->members[i].key, nodes->members[i].key);
    struct weave_part list[4];
    struct weave_pick pick = {.parts = list, .n_parts = parts->n};
    for (uint32_t i = 0; i < parts->n && i < 4; i++) {
        words_take(&b->mem, value_get(&parts->items[i], "start"), &list[i].starts,
                   &list[i].n_starts);
        words_take(&b->mem, value_get(&parts->items[i], "end"), &list[i].ends, &list[i].n_ends);
    }
    b->req.pick = &pick;
    b->req.scope = parts_scope;
    b->req.ctx = &p;
    return bed_graph(b, native, parts_graph(&b->mem, nodes)) && bed_weave(b) == 0 &&
           runs_are(b, value_get(out, "run"));
}

/* --- task_filters: one node of the group in question, or nodes as given --- */

static bool tasks_run_in(struct weave_bed *b, const struct value *wanted)
{
    uint32_t at = 0;
    for (uint32_t i = 0; i < b->w->n; i++) {
        const struct weave_vertex *v = &b->w->vertices[b->w->order[i]];
        if (v->kind != WEAVE_TASK || v->reason != WEAVE_RUN)
            continue;
        if (at >= wanted->n ||
            !str_is(b->graph->vertices[v->task].id, value_as_text(&wanted->items[at++], "")))
            return false;
    }
    return at == wanted->n;
}

static bool has_reason(struct weave_bed *b, const struct value *ids, bool run)
{
    for (uint32_t i = 0; ids && i < ids->n; i++)
        for (uint32_t v = b->w->n_stages; v < b->w->n_stages + b->w->n_tasks; v++)
            if (str_is(b->graph->vertices[b->w->vertices[v].task].id,
                       value_as_text(&ids->items[i], "")) &&
                (b->w->vertices[v].reason == WEAVE_RUN) != run)
                return false;
    return true;
}

static bool types_by_node(struct weave_bed *b, const struct value *types)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < types->n; i++)
        for (uint32_t k = 0; k < types->members[i].v.n; k++, n++) {
            const struct member *m = &types->members[i].v.members[k];
            uint32_t v = bed_find(b, arena_printf(&b->mem, "%s/%s", m->key, types->members[i].key));
            bool out = !strcmp(value_as_text(&m->v, ""), "skipped");
            if (v == WEAVE_NONE || out != (b->w->vertices[v].reason != WEAVE_RUN))
                return false;
        }
    return n == b->w->n_tasks;
}

/* {"run": {node: [ids]}, "present": {node: [ids]}} */
static bool members_run(struct weave_bed *b, const struct value *out)
{
    for (uint32_t v = b->w->n_stages; v < b->w->n_stages + b->w->n_tasks; v++) {
        const struct weave_vertex *at = &b->w->vertices[v];
        const char *node = b->nodes.at[at->node].name.s, *id = b->graph->vertices[at->task].id.s;
        if (!says(value_get(value_get(out, "present"), node), id) ||
            says(value_get(value_get(out, "run"), node), id) != (at->reason == WEAVE_RUN))
            return false;
    }
    return b->w->n_tasks == 3;
}

/* Without nodes of its own a case is about one node that every task is for. */
static struct str for_everybody(struct arena *a, const struct value *tasks)
{
    struct value *list = value_list(a);
    for (uint32_t i = 0; i < tasks->n; i++) {
        struct value *t = value_map(a);
        for (uint32_t k = 0; k < tasks->items[i].n; k++)
            if (strcmp(tasks->items[i].members[k].key, "skipped"))
                value_set(a, t, tasks->items[i].members[k].key, &tasks->items[i].members[k].v);
        if (strcmp(text_at(t, "type"), "stage"))
            value_put_text(a, t, "role", "all");
        value_add(a, list, t);
    }
    return json_of(a, list);
}

static bool run_filters(struct weave_bed *b, const struct value *suite, const struct value *c)
{
    (void)suite;
    const struct value *in = value_get(c, "in"), *out = value_get(c, "out");
    const struct value *tasks = value_get(in, "tasks"), *ids = value_get(in, "ids");
    const char *group = value_as_text(value_get(in, "group"), NULL);
    struct weave_pick pick = {0};
    struct weave_part part = {0};
    struct str start = str_of(text_at(in, "start")), end = str_of(text_at(in, "end"));
    words_take(&b->mem, ids ? ids : value_get(in, "only"), &pick.only, &pick.n_only);
    words_take(&b->mem, value_get(in, "events"), &pick.events, &pick.n_events);
    if (start.n) {
        part = (struct weave_part){&start, &end, 1, 1};
        pick.parts = &part;
        pick.n_parts = 1;
    }
    bool given = value_get(in, "nodes") || value_get(in, "deploy_nodes");
    nodes_by_uid(b, value_get(in, "nodes"), false);
    nodes_by_uid(b, value_get(in, "deploy_nodes"), false);
    nodes_by_uid(b, value_get(in, "affected_nodes"), true);
    if (group)
        bed_node(b, "n", group);
    else if (!given)
        bed_node(b, "n", "all");
    if (!given)
        b->nodes.at[0].deployed = true;
    b->req.pick = &pick;
    struct str text = group || given ? json_of(&b->mem, tasks) : for_everybody(&b->mem, tasks);
    if (!bed_graph(b, imported, text) || bed_weave(b) < 0)
        return false;
    if (group)
        return tasks_run_in(b, value_get(out, "group_tasks")) &&
               has_reason(b, value_get(out, "skipped_include"), false);
    if (value_get(out, "types"))
        return types_by_node(b, value_get(out, "types"));
    if (ids)
        return members_run(b, out);
    const struct value *run = value_get(out, "run");
    return tasks_run_in(b, run ? run : value_get(out, "vertices")) &&
           has_reason(b, value_get(out, "skipped"), false);
}

/* --- subgraph and resolve_roles: what is "@suite" is the suite's --- */

static const struct value *shared(const struct value *suite, const struct value *in,
                                  const char *key)
{
    const struct value *v = value_get(in, key);
    return v && v->kind == VALUE_STRING ? value_get(suite, key) : v;
}

static bool run_subgraph(struct weave_bed *b, const struct value *suite, const struct value *c)
{
    const struct value *in = value_get(c, "in"), *out = value_get(c, "out");
    const char *start = value_as_text(value_get(in, "start"), NULL);
    const char *end = value_as_text(value_get(in, "end"), NULL);
    const struct value *want = value_get(out, "vertices");
    struct graph_plain p;
    uint32_t n = 0;
    if (!bed_graph(b, imported, json_of(&b->mem, shared(suite, in, "tasks"))))
        return false;
    graph_plain_build(&b->mem, b->graph, &p);
    uint32_t from = start ? catalog_graph_find(b->graph, str_of(start)) : CATALOG_NONE;
    uint32_t to = end ? catalog_graph_find(b->graph, str_of(end)) : CATALOG_NONE;
    if (value_get(out, "error"))
        return start && from == CATALOG_NONE;
    bool *part = arena_new(&b->mem, bool, p.n);
    graph_plain_part(&p, from, to, &b->mem, part);
    for (uint32_t v = 0; v < p.n; v++) {
        n += part[v];
        if (part[v] && !says(want, p.names[v].s))
            return false;
    }
    return n == want->n;
}

static bool run_resolve(struct weave_bed *b, const struct value *suite, const struct value *c)
{
    const struct value *in = value_get(c, "in"), *out = value_get(c, "out");
    const struct value *names = value_get(in, "names");
    struct value *list = value_list(&b->mem), *t = value_map(&b->mem), *after;
    value_put_text(&b->mem, t, "id", "t");
    value_put_text(&b->mem, t, "type", "shell");
    if (names) { /* a pattern and names: a node for each name */
        struct value *words = value_list(&b->mem);
        value_add(&b->mem, words, value_get(in, "pattern"));
        value_set(&b->mem, t, "role", words);
        for (uint32_t i = 0; i < names->n; i++)
            bed_node(b, value_as_text(&names->items[i], ""), value_as_text(&names->items[i], ""));
    } else {
        nodes_by_uid(b, shared(suite, in, "nodes"), false);
        if (value_get(in, "select")->kind != VALUE_NULL)
            value_set(&b->mem, t, "role", value_get(in, "select"));
    }
    value_add(&b->mem, list, t);
    if (value_get(in, "policy")) { /* one that waits for any of them, from elsewhere */
        struct value *item = value_map(&b->mem), *items = value_list(&b->mem);
        after = value_map(&b->mem);
        value_put_text(&b->mem, item, "name", "t");
        value_put_text(&b->mem, item, "policy", "any");
        value_add(&b->mem, items, item);
        value_put_text(&b->mem, after, "id", "after");
        value_put_text(&b->mem, after, "type", "shell");
        value_put_text(&b->mem, after, "role", "master");
        value_set(&b->mem, after, "cross_depends", items);
        value_add(&b->mem, list, after);
    }
    if (!bed_graph(b, imported, json_of(&b->mem, list)) || bed_weave(b) < 0)
        return false;
    if (value_get(in, "policy")) {
        const char *only = bed_deps(b, "after/master");
        return !strncmp(only, "t/", 2) && says(value_get(out, "member_of"), only + 2);
    }
    const struct value *match = value_get(out, "match"), *uids = value_get(out, "uids");
    for (uint32_t i = 0; match && i < match->n; i++) {
        const char *ref = arena_printf(&b->mem, "t/%s", value_as_text(&names->items[i], ""));
        if ((bed_find(b, ref) != WEAVE_NONE) != value_as_bool(&match->items[i], false))
            return false;
    }
    for (uint32_t i = 0; uids && i < uids->n; i++)
        if (bed_find(b, arena_printf(&b->mem, "t/%s", value_as_text(&uids->items[i], ""))) ==
            WEAVE_NONE)
            return false;
    return match || b->w->n_tasks == uids->n;
}

/* --- priorities: a task for each group, and its number on each node --- */

static bool run_priorities(struct weave_bed *b, const struct value *suite, const struct value *c)
{
    (void)suite;
    const struct value *in = value_get(c, "in"), *groups = value_get(in, "groups");
    const struct value *nodes = value_get(in, "nodes"), *want;
    struct value *list = value_list(&b->mem), *stage;
    static const char *const stages[] = {"deploy_start", "deploy_end"};
    for (int i = 0; i < 2; i++) {
        stage = value_map(&b->mem);
        value_put_text(&b->mem, stage, "id", stages[i]);
        value_put_text(&b->mem, stage, "type", "stage");
        value_add(&b->mem, list, stage);
    }
    for (uint32_t i = 0; i < groups->n; i++) {
        struct value *t = value_map(&b->mem), *g = value_copy(&b->mem, &groups->items[i]);
        struct value *plain = value_map(&b->mem);
        for (uint32_t k = 0; k < g->n; k++) /* tasks of the real file that are not here */
            if (strcmp(g->members[k].key, "tasks"))
                value_set(&b->mem, plain, g->members[k].key, &g->members[k].v);
        value_put_text(&b->mem, t, "id",
                       arena_printf(&b->mem, "t-%s", text_at(&groups->items[i], "id")));
        value_put_text(&b->mem, t, "type", "shell");
        value_set(&b->mem, t, "role", value_get(&groups->items[i], "role"));
        value_add(&b->mem, list, plain);
        value_add(&b->mem, list, t);
    }
    for (uint32_t i = 0; i < nodes->n; i++) { /* a node is there once, with all its roles */
        const char *uid = value_as_text(&nodes->items[i].items[0], ""), *names = "";
        bool known = false;
        for (size_t k = 0; k < b->nodes.n; k++)
            known |= str_is(b->nodes.at[k].name, uid);
        for (uint32_t k = i; k < nodes->n && !known; k++)
            if (!strcmp(value_as_text(&nodes->items[k].items[0], ""), uid))
                names = arena_printf(&b->mem, "%s %s", names,
                                     value_as_text(&nodes->items[k].items[1], ""));
        if (!known)
            bed_node(b, uid, names);
    }
    if (!bed_graph(b, native, json_of(&b->mem, list)) || bed_weave(b) < 0)
        return false;
    uint32_t *got = arena_new(&b->mem, uint32_t, b->w->n);
    weave_priorities(b->w, got);
    want = value_get(value_get(c, "out"), "priorities");
    for (uint32_t i = 0; i < want->n; i++) {
        const struct value *row = &want->items[i];
        uint32_t v = bed_find(b, arena_printf(&b->mem, "t-%s/%s", value_as_text(&row->items[1], ""),
                                              value_as_text(&row->items[0], "")));
        if (v == WEAVE_NONE || got[v] != (uint32_t)value_as_int(&row->items[2], 0)) {
            err_set(&b->err, ERR_INVALID, "%s %s: %u", value_as_text(&row->items[1], ""),
                    value_as_text(&row->items[0], ""), v == WEAVE_NONE ? 0 : got[v]);
            return false;
        }
    }
    return want->n > 0;
}

/* --- all --- */

typedef bool case_f(struct weave_bed *b, const struct value *suite, const struct value *c);

static struct value *suite_read(struct arena *a, const char *data, const char *name)
{
    const char *path = arena_printf(a, "%s/golden/fuel/%s.json", data, name);
    FILE *f = fopen(path, "r");
    SCOPED_BUF(text);
    char chunk[65536];
    struct value *v = NULL;
    struct err e;
    if (!f)
        return NULL;
    for (size_t n; (n = fread(chunk, 1, sizeof chunk, f)) > 0;)
        buf_put(&text, chunk, n);
    fclose(f);
    if (json_parse(a, arena_strndup(a, text.data, text.len), text.len, NULL, &v, &e) < 0)
        ok(false, "%s: %s", path, e.text);
    return v;
}

static void run_suite(const char *data, const char *name, case_f *run)
{
    SCOPED_ARENA(mem);
    struct tally t = {0};
    const struct value *suite = suite_read(&mem, data, name);
    const struct value *cases = value_get(suite, "cases");
    if (!suite) {
        skip("the facts about Fuel are not here");
        return;
    }
    for (uint32_t i = 0; i < cases->n; i++) {
        struct weave_bed b;
        bed_init(&b);
        bool good = run(&b, suite, &cases->items[i]);
        t.ran++;
        t.passed += ok(good, "%s: %s%s%s", name, text_at(&cases->items[i], "name"),
                       b.err.text[0] && !good ? ": " : "", good ? "" : b.err.text);
        bed_done(&b);
    }
    note("%s: %u cases ran, %u passed, 0 excepted, 0 skipped", name, t.ran, t.passed);
}

int main(void)
{
    const char *data = getenv("ANNEAL_TEST_DATA");
    data = data ? data : "../shared";
    run_suite(data, "expand", run_expand);
    run_suite(data, "seed_examples", run_seed);
    run_suite(data, "partial_run", run_partial);
    run_suite(data, "task_filters", run_filters);
    run_suite(data, "priorities", run_priorities);
    run_suite(data, "subgraph", run_subgraph);
    run_suite(data, "resolve_roles", run_resolve);
    return tap_done();
}
