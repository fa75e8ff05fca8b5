/* test_weave_golden.c - facts about Fuel's graphs, found through ANNEAL_TEST_DATA
 *
 * Suites expand, seed_examples, subgraph, resolve_roles and priorities.  Where a case says by a
 * note that the old program was wrong, what the note says is expected.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "weave_golden.h"

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
    if (!bed_graph(b, IMPORTED, tasks_with_conditions(&b->mem, value_get(in, "tasks"))))
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
    if (!bed_graph(b, NATIVE, json_of(&b->mem, tasks)) || bed_weave(b) < 0)
        return false;
    const struct value *waves = value_get(out, "waves");
    return waves ? waves_are(b, waves) : order_is(b, value_get(out, "order"));
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
    if (!bed_graph(b, IMPORTED, json_of(&b->mem, shared(suite, in, "tasks"))))
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
    if (!bed_graph(b, IMPORTED, json_of(&b->mem, list)) || bed_weave(b) < 0)
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
    if (!bed_graph(b, NATIVE, json_of(&b->mem, list)) || bed_weave(b) < 0)
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

int main(void)
{
    const char *data = golden_data();
    run_suite(data, "expand", run_expand);
    run_suite(data, "seed_examples", run_seed);
    run_suite(data, "priorities", run_priorities);
    run_suite(data, "subgraph", run_subgraph);
    run_suite(data, "resolve_roles", run_resolve);
    return tap_done();
}
