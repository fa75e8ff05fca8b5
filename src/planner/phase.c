/* phase.c - from a table of phases to a graph: vertices, edges, order, weights
 *
 * Three passes over the nodes: how many tasks there are; the tasks, and which sets they are in;
 * what each waits for.  In between phase_rule.c says which sets wait for which.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "planner/phase.h"

#include <stdlib.h>

#include "base/sort.h"
#include "catalog/catalog.h"
#include "graph/graph.h"
#include "planner/phase_i.h"

static const char *const kind_names[] = {
#define X(id, text) [PHASE_##id] = text,
    PHASE_KINDS(X)
#undef X
};

const char *phase_kind_name(enum phase_kind k)
{
    return k < PHASE_KIND_COUNT ? kind_names[k] : "join";
}

int phase_kind_from(struct str name)
{
    for (int k = 0; k < PHASE_KIND_COUNT; k++)
        if (str_is(name, kind_names[k]))
            return k;
    return -1;
}

/* --- cells --- */

static uint32_t service_at(const struct phasing *x, uint32_t node, uint32_t i)
{
    return x->c->nodes[node].services[i];
}

/* What of a cell is done: what the service has no action for closes up. */
static uint16_t cell_phases(const struct phasing *x, uint32_t node, uint32_t i)
{
    uint16_t has = x->c->services[service_at(x, node, i)].actions;
    return x->w->cells[x->w->first[node] + i] & has & PHASE_F_SERVICE;
}

static bool cell_in_turn(const struct phasing *x, uint32_t node, uint32_t i)
{
    return x->w->cells[x->w->first[node] + i] & PHASE_F_IN_TURN;
}

static uint16_t machine_phases(const struct phasing *x, uint32_t node)
{
    return x->w->machine[node] & x->c->nodes[node].machine & PHASE_F_MACHINE;
}

/* Only who depends on nobody that depends on it can go node by node. */
static bool is_single(const struct phasing *x, uint32_t service)
{
    return x->d->part_size[x->d->part[service]] == 1;
}

/* Is it one of those that go a few at a time? */
static bool cell_rolls(const struct phasing *x, uint32_t node, uint32_t i)
{
    uint32_t service = service_at(x, node, i);
    return cell_in_turn(x, node, i) && is_single(x, service) &&
           x->c->services[service].strategy != STRATEGY_PARALLEL;
}

static int cell_check(const struct phasing *x, uint32_t node, uint32_t i)
{
    uint16_t cell = x->w->cells[x->w->first[node] + i];
    struct str name = x->c->nodes[node].name;
    if (cell & ~(PHASE_F_SERVICE | PHASE_F_IN_TURN))
        return err_set(x->e, ERR_INVALID, "a service of %.*s has a phase of machines", (int)name.n,
                       name.s);
    if ((cell & PHASE_F_IN_TURN) && (cell & PHASE_F_REMOVE))
        return err_set(x->e, ERR_INVALID, "a service of %.*s cannot be removed in turn",
                       (int)name.n, name.s);
    return 0;
}

static int tasks_count(struct phasing *x, uint64_t *ret)
{
    int rc = 0;
    for (uint32_t node = 0; node < x->c->n_nodes && rc >= 0; node++) {
        *ret += (uint32_t)__builtin_popcount(machine_phases(x, node));
        for (uint32_t i = 0; i < x->c->nodes[node].n_services && rc >= 0; i++) {
            *ret += (uint32_t)__builtin_popcount(cell_phases(x, node, i));
            rc = cell_check(x, node, i);
        }
    }
    if (rc >= 0 && *ret > PHASE_MAX_VERTICES)
        return err_set(x->e, ERR_LIMIT, "%llu tasks in one plan, more than %d",
                       (unsigned long long)*ret, PHASE_MAX_VERTICES);
    return rc;
}

/* --- tasks, and the sets they are in --- */

static void sets_note(struct phasing *x, uint32_t v, uint32_t service, uint32_t found,
                      uint32_t waits)
{
    struct phase_sets *s = &x->sets[service];
    x->found_in[v] = (uint8_t)found;
    x->waits_as[v] = (uint8_t)waits;
    for (; found; found &= found - 1) {
        int set = __builtin_ctz(found);
        s->n[set]++;
        s->one[set] = v;
    }
    for (; waits; waits &= waits - 1)
        s->waiting[__builtin_ctz(waits)]++;
}

static uint32_t span_new(struct phasing *x, uint32_t service)
{
    const struct phase_service *s = &x->c->services[service];
    if (s->strategy != STRATEGY_ROLLING)
        return 0;
    if (!x->pool_of[service]) {
        vec_push(&x->pools, ((struct phase_pool){service, s->max ? s->max : 1}));
        x->pool_of[service] = (uint32_t)x->pools.n;
    }
    vec_push(&x->spans, x->pool_of[service] - 1);
    return (uint32_t)x->spans.n;
}

/* Found in what set, and waiting as a member of which; as bits. */
static uint32_t sets_of(enum phase_kind k, bool in_turn, bool stands_for_start)
{
    static const uint8_t sets[PHASE_KIND_COUNT] = {
        [PHASE_STOP] = 1u << SET_STOPPED,       [PHASE_REMOVE] = 1u << SET_REMOVED,
        [PHASE_UPGRADE] = 1u << SET_INSTALLED,  [PHASE_INSTALL] = 1u << SET_INSTALLED,
        [PHASE_INITIALIZE] = 1u << SET_STARTED, [PHASE_START] = 1u << SET_STARTED,
        [PHASE_ACTION] = 1u << SET_ACTED,
    };
    if (k == PHASE_STOP && in_turn)
        return 1u << SET_STOPPED_IN_TURN;
    return sets[k] | (k == PHASE_UPGRADE && stands_for_start ? 1u << SET_STARTED : 0);
}

static uint32_t cell_fill(struct phasing *x, uint32_t node, uint32_t i, uint32_t v)
{
    uint32_t service = service_at(x, node, i), phases = cell_phases(x, node, i);
    bool in_turn = cell_in_turn(x, node, i);
    bool starts = in_turn && !(phases & PHASE_F_START) && is_single(x, service);
    bool rolls = cell_rolls(x, node, i);
    uint32_t span = rolls && phases ? span_new(x, service) : 0;
    uint16_t pulled = x->w->pulled[x->w->first[node] + i];
    for (uint32_t left = phases; left; left &= left - 1, v++) {
        enum phase_kind k = (enum phase_kind)__builtin_ctz(left);
        uint32_t waits = sets_of(k, in_turn, starts);
        uint32_t found = k == PHASE_INITIALIZE ? 0 : waits;
        if (in_turn && left == phases)
            waits |= 1u << SET_TURN;
        if (in_turn && !(left & (left - 1)))
            found |= 1u << SET_TURN;
        x->g->vertices[v] = (struct phase_vertex){.node = node,
                                                  .service = service,
                                                  .span = span,
                                                  .kind = (uint8_t)k,
                                                  .pulled = pulled >> k & 1,
                                                  .rolls = rolls};
        sets_note(x, v, service, found, waits);
    }
    return v;
}

static uint32_t machine_fill(struct phasing *x, uint32_t node, uint32_t phases, uint32_t v)
{
    for (; phases; phases &= phases - 1)
        x->g->vertices[v++] = (struct phase_vertex){
            .node = node, .service = PHASE_NIL, .kind = (uint8_t)__builtin_ctz(phases)};
    return v;
}

static void tasks_fill(struct phasing *x)
{
    struct phase_graph *g = x->g;
    uint32_t v = 0, *base = arena_new(&g->mem, uint32_t, x->c->n_nodes + 1);
    /* A service has at most two joins for each set; one more stands for all machines. */
    g->vertices = arena_new(&g->mem, struct phase_vertex,
                            g->n_tasks + 2 * (size_t)SET_COUNT * x->c->n_services + 1);
    x->found_in = arena_new(&x->mem, uint8_t, g->n_tasks);
    x->waits_as = arena_new(&x->mem, uint8_t, g->n_tasks);
    for (uint32_t node = 0; node < x->c->n_nodes; node++) {
        uint32_t machine = machine_phases(x, node);
        base[node] = v;
        v = machine_fill(x, node, machine & ~PHASE_F_DELETE, v);
        for (uint32_t i = 0; i < x->c->nodes[node].n_services; i++)
            v = cell_fill(x, node, i, v);
        v = machine_fill(x, node, machine & PHASE_F_DELETE, v);
    }
    base[x->c->n_nodes] = v;
    g->base = base;
}

/* --- edges --- */

struct edges { /* being written, in the order of vertices */
    uint32_t *first, *deps, n;
};

/* What the sets of this task wait for; where it is in several, one may be said twice. */
static void waits_put(struct phasing *x, uint32_t v, const struct phase_sets *s, struct edges *to)
{
    uint32_t sets = x->waits_as[v], from = to->n;
    bool several = sets & (sets - 1);
    for (; sets; sets &= sets - 1) {
        int set = __builtin_ctz(sets);
        for (uint32_t i = 0; i < s->n_from[set]; i++)
            to->deps[to->n++] = x->waits.at[s->from[set] + i];
    }
    if (!several)
        return;
    uint32_t end = to->n;
    sort_u32(to->deps + from, end - from);
    to->n = from;
    for (uint32_t i = from; i < end; i++)
        if (i == from || to->deps[i] != to->deps[i - 1])
            to->deps[to->n++] = to->deps[i];
}

static uint32_t cell_edges(struct phasing *x, uint32_t node, uint32_t i, uint32_t v,
                           uint32_t machine, struct edges *to)
{
    uint32_t service = service_at(x, node, i);
    uint32_t n = (uint32_t)__builtin_popcount(cell_phases(x, node, i)), end = v + n;
    bool one_by_one = n && cell_rolls(x, node, i) &&
                      x->c->services[service].strategy == STRATEGY_ONE_BY_ONE;
    bool told = x->established == PHASE_NIL;
    for (uint32_t at = v; at < end; at++) {
        to->first[at] = to->n;
        if (!told && x->g->vertices[at].kind >= PHASE_CONFIGURE) {
            to->deps[to->n++] = x->established;
            told = true;
        }
        if (at > v)
            to->deps[to->n++] = at - 1;
        else if (machine != PHASE_NIL)
            to->deps[to->n++] = machine;
        if (at == v && one_by_one && x->last_in_turn[service] != PHASE_NIL)
            to->deps[to->n++] = x->last_in_turn[service];
        waits_put(x, at, &x->sets[service], to);
    }
    if (one_by_one)
        x->last_in_turn[service] = end - 1;
    return end;
}

static void node_edges(struct phasing *x, uint32_t node, struct edges *to)
{
    uint32_t v = x->g->base[node], machine = PHASE_NIL, phases = machine_phases(x, node), tasks;
    for (uint32_t left = phases & ~PHASE_F_DELETE; left; left &= left - 1, v++) {
        to->first[v] = to->n;
        if (machine != PHASE_NIL)
            to->deps[to->n++] = machine;
        machine = v;
    }
    tasks = v;
    for (uint32_t i = 0; i < x->c->nodes[node].n_services; i++)
        v = cell_edges(x, node, i, v, machine, to);
    if (!(phases & PHASE_F_DELETE))
        return;
    to->first[v] = to->n;
    if (tasks == v && machine != PHASE_NIL)
        to->deps[to->n++] = machine;
    for (uint32_t at = tasks; at < v; at++) /* the end of each cell */
        if (at + 1 == v || x->g->vertices[at].service != x->g->vertices[at + 1].service)
            to->deps[to->n++] = at;
}

/* Joins: of tasks, of which each set gets its own in their order; of joins. */
static void join_edges(struct phasing *x, struct edges *to)
{
    uint32_t n_tasks = x->g->n_tasks;
    uint32_t *at = arena_new(&x->mem, uint32_t, x->joins.n);
    for (uint32_t j = 0; j < x->joins.n; j++) {
        const struct phase_joining *from = &x->joining.at[j];
        at[j] = to->first[n_tasks + j] = to->n;
        if (from->set != PHASE_NIL)
            to->n += x->sets[from->set / SET_COUNT].n[from->set % SET_COUNT];
        for (uint32_t i = 0; from->set == PHASE_NIL && i < from->n; i++)
            to->deps[to->n++] = x->waits.at[from->from + i];
    }
    for (uint32_t v = 0; x->joins.n && v < n_tasks; v++)
        for (uint32_t sets = x->found_in[v]; sets; sets &= sets - 1) {
            uint32_t join = x->sets[x->g->vertices[v].service].join[__builtin_ctz(sets)];
            if (join)
                to->deps[at[join - n_tasks]++] = v;
        }
}

static void edges_fill(struct phasing *x)
{
    struct phase_graph *g = x->g;
    struct edges to = {.first = arena_new(&g->mem, uint32_t, (size_t)g->n + 1),
                       .deps = arena_new(&g->mem, uint32_t, x->n_edges)};
    for (uint32_t node = 0; node < x->c->n_nodes; node++)
        node_edges(x, node, &to);
    join_edges(x, &to);
    to.first[g->n] = to.n;
    g->first = to.first;
    g->deps = to.deps;
}

/* --- order --- */

static uint32_t cost(const struct phase_graph *g, uint32_t v)
{
    return v < g->n_tasks;
}

static void levels_and_weights(struct phase_graph *g)
{
    for (uint32_t i = 0; i < g->n; i++) {
        uint32_t v = g->order[i], level = 0;
        for (uint32_t k = g->first[v]; k < g->first[v + 1]; k++) {
            uint32_t behind = g->vertices[g->deps[k]].level + cost(g, g->deps[k]);
            level = behind > level ? behind : level;
        }
        g->vertices[v].level = level;
        if (cost(g, v) && level >= g->n_levels)
            g->n_levels = level + 1;
    }
    for (uint32_t i = g->n; i-- > 0;) {
        uint32_t v = g->order[i], weight = g->vertices[v].weight += cost(g, v);
        for (uint32_t k = g->first[v]; k < g->first[v + 1]; k++) {
            struct phase_vertex *before = &g->vertices[g->deps[k]];
            before->weight = weight > before->weight ? weight : before->weight;
        }
    }
}

static int order_find(struct phasing *x)
{
    struct phase_graph *g = x->g;
    uint32_t *left = xcalloc((size_t)g->n + 1, sizeof *left);
    g->order = arena_new(&g->mem, uint32_t, g->n);
    uint32_t done = graph_levels(g->n, g->first, g->deps, g->order, left);
    free(left);
    if (done < g->n) /* the rules have no circle: RFC 08 */
        return err_set(x->e, ERR_INTERNAL, "%u tasks of a plan wait for each other", g->n - done);
    levels_and_weights(g);
    return 0;
}

/* --- from end to end --- */

static void joins_keep(struct phasing *x)
{
    struct phase_graph *g = x->g;
    struct phase_join *joins = arena_new(&g->mem, struct phase_join, x->joins.n);
    struct phase_pool *pools = arena_new(&g->mem, struct phase_pool, x->pools.n);
    uint32_t *spans = arena_new(&g->mem, uint32_t, x->spans.n);
    for (size_t i = 0; i < x->joins.n; i++) {
        joins[i] = x->joins.at[i];
        g->vertices[g->n_tasks + i] = (struct phase_vertex){
            .node = PHASE_NIL, .service = joins[i].service, .kind = PHASE_JOIN};
    }
    for (size_t i = 0; i < x->pools.n; i++)
        pools[i] = x->pools.at[i];
    for (size_t i = 0; i < x->spans.n; i++)
        spans[i] = x->spans.at[i];
    g->joins = joins;
    g->pools = pools;
    g->n_pools = (uint32_t)x->pools.n;
    g->spans = spans;
    g->n_spans = (uint32_t)x->spans.n;
}

/* One join of the last that each machine goes through before anybody can work on it. */
static void established_join(struct phasing *x)
{
    uint32_t from = (uint32_t)x->waits.n, n = 0;
    x->established = PHASE_NIL;
    for (uint32_t node = 0; x->w->established && node < x->c->n_nodes; node++) {
        uint32_t made = machine_phases(x, node) & (PHASE_F_CREATE | PHASE_F_CONFIRM);
        if (!made)
            continue;
        vec_push(&x->waits, x->g->base[node] + (uint32_t)__builtin_popcount(made) - 1);
        n++;
    }
    if (!n)
        return;
    vec_push(&x->joins, ((struct phase_join){PHASE_NIL, PHASE_CONFIRM, false}));
    vec_push(&x->joining, ((struct phase_joining){PHASE_NIL, from, n}));
    x->established = x->g->n_tasks + (uint32_t)x->joins.n - 1;
    x->n_edges += n + (uint64_t)x->g->n_tasks;
}

static int graph_build(struct phasing *x)
{
    struct phase_graph *g = x->g;
    uint64_t n = 0;
    int rc = tasks_count(x, &n);
    if (rc < 0)
        return rc;
    g->n_tasks = (uint32_t)n;
    x->sets = arena_new(&x->mem, struct phase_sets, x->c->n_services);
    x->last_in_turn = arena_new(&x->mem, uint32_t, x->c->n_services);
    x->pool_of = arena_new(&x->mem, uint32_t, x->c->n_services);
    for (uint32_t i = 0; i < x->c->n_services; i++)
        x->last_in_turn[i] = PHASE_NIL;
    x->n_edges = 3 *
                 n; /* on a node: what comes before; the one before in turn; the end of a cell */
    tasks_fill(x);
    rc = phase_rules(x);
    if (rc < 0)
        return rc;
    established_join(x);
    g->n_joins = (uint32_t)x->joins.n;
    g->n = g->n_tasks + g->n_joins;
    joins_keep(x);
    edges_fill(x);
    return order_find(x);
}

int phase_graph_make(const struct phase_cluster *c, const struct phase_deps *d,
                     const struct phase_work *w, struct phase_graph **ret, struct err *e)
{
    struct err unread;
    struct phasing x = {.c = c, .d = d, .w = w, .e = e ? e : &unread};
    x.g = xcalloc(1, sizeof *x.g);
    x.g->cluster = c;
    arena_init(&x.g->mem);
    arena_init(&x.mem);
    int rc = graph_build(&x);
    vec_done(&x.waits);
    vec_done(&x.joins);
    vec_done(&x.joining);
    vec_done(&x.pools);
    vec_done(&x.spans);
    arena_done(&x.mem);
    if (rc >= 0)
        *ret = x.g;
    else
        phase_graph_free(x.g);
    return rc < 0 ? rc : 0;
}

void phase_graph_free(struct phase_graph *g)
{
    if (!g)
        return;
    arena_done(&g->mem);
    free(g);
}
