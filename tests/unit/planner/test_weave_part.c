/* test_weave_part.c - facts about runs of a part of Fuel's graphs, found through ANNEAL_TEST_DATA
 *
 * Suites partial_run and task_filters; notes of cases overrule their values.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "weave_golden.h"

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
    if (!bed_graph(b, NATIVE, str_of("[{id: t, type: shell, role: r}]")))
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
    return bed_graph(b, NATIVE, parts_graph(&b->mem, nodes)) && bed_weave(b) == 0 &&
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
    if (!bed_graph(b, IMPORTED, text) || bed_weave(b) < 0)
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

int main(void)
{
    const char *data = golden_data();
    run_suite(data, "partial_run", run_partial);
    run_suite(data, "task_filters", run_filters);
    return tap_done();
}
