/* test_phase_model.c - random clusters and tables, against the rules written out pair by pair
 *
 * The model knows no joins, no bits and no reduction: it resolves names by looking at all of them,
 * closes relations by trying all three, and writes an edge for every pair of tasks that a rule of
 * RFC 08, section 5, orders.  Then: the same tasks, the same order between all of them and no more,
 * the same stages; and a circle is refused exactly where the model has one.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "phase_bed.h"

#include "base/digest.h"

enum { SERVICES = 7, NODES = 5, NAMES = 10, TASKS = 400, ROUNDS = 20000 };

struct chance {
    uint64_t key, n;
};

static uint32_t below(struct chance *r, uint32_t n)
{
    uint64_t i = ++r->n;
    return (uint32_t)((mix64(mix64(r->key, i), i) >> 33) % n);
}

static bool one_in(struct chance *r, uint32_t n)
{
    return below(r, n) == 0;
}

/* --- the model --- */

struct model_task {
    uint32_t node, service, kind;
    bool in_turn, first, last, starts; /* starts: stands for a start */
};
struct model {
    bool reach[2][SERVICES][SERVICES]; /* install, run: depends on */
    bool any[SERVICES][SERVICES];
    uint32_t n;
    struct model_task tasks[TASKS];
    bool before[TASKS][TASKS];
};

static bool name_means(const struct phase_service *s, struct str name)
{
    bool is = str_eq(s->name, name);
    for (uint32_t i = 0; i < s->n_provides; i++)
        is = is || str_eq(s->provides[i], name);
    return is;
}

static void close_over(bool r[SERVICES][SERVICES], uint32_t n)
{
    for (uint32_t k = 0; k < n; k++)
        for (uint32_t i = 0; i < n; i++)
            for (uint32_t j = 0; j < n; j++)
                r[i][j] = r[i][j] || (r[i][k] && r[k][j]);
}

/* False: something depends on itself. */
static bool model_reach(const struct phase_bed *b, struct model *m)
{
    uint32_t n = (uint32_t)b->services.n;
    bool sound = true;
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t k = 0; k < b->services.at[i].n_depends; k++)
            for (uint32_t j = 0; j < n; j++)
                if (i != j && name_means(&b->services.at[j], b->services.at[i].depends[k].name))
                    for (int w = 0; w < 2; w++)
                        if (b->services.at[i].depends[k].when >> w & 1)
                            m->reach[w][i][j] = m->any[i][j] = true;
    close_over(m->reach[0], n);
    close_over(m->reach[1], n);
    close_over(m->any, n);
    for (uint32_t i = 0; i < n; i++)
        sound = sound && !m->reach[0][i][i] && !m->reach[1][i][i];
    return sound;
}

/* Who depends on each other are of one part. */
static bool one_part(const struct model *m, uint32_t a, uint32_t b)
{
    return a == b || (m->any[a][b] && m->any[b][a]);
}

static bool is_single(const struct model *m, uint32_t n, uint32_t a)
{
    for (uint32_t b = 0; b < n; b++)
        if (b != a && one_part(m, a, b))
            return false;
    return true;
}

static void model_tasks(const struct phase_bed *b, struct model *m)
{
    for (uint32_t node = 0; node < b->nodes.n; node++) {
        const struct phase_node *at = &b->nodes.at[node];
        for (uint32_t k = 0; k < PHASE_KIND_COUNT; k++)
            if (k != PHASE_DELETE && (b->w.machine[node] & at->machine) >> k & 1)
                m->tasks[m->n++] = (struct model_task){
                    .node = node, .service = PHASE_NIL, .kind = k};
        for (uint32_t i = 0; i < at->n_services; i++) {
            uint32_t s = at->services[i], from = m->n, cell = b->w.cells[b->w.first[node] + i];
            uint32_t phases = cell & b->services.at[s].actions;
            bool turn = cell & PHASE_F_IN_TURN;
            for (uint32_t k = PHASE_STOP; k < PHASE_DELETE; k++)
                if (phases >> k & 1)
                    m->tasks[m->n++] = (struct model_task){
                        .node = node,
                        .service = s,
                        .kind = k,
                        .in_turn = turn,
                        .starts = k == PHASE_START ||
                                  (turn && k == PHASE_UPGRADE && !(phases & PHASE_F_START) &&
                                   is_single(m, (uint32_t)b->services.n, s))};
            if (m->n > from)
                m->tasks[from].first = m->tasks[m->n - 1].last = true;
        }
        if (b->w.machine[node] & at->machine & PHASE_F_DELETE)
            m->tasks[m->n++] = (struct model_task){
                .node = node, .service = PHASE_NIL, .kind = PHASE_DELETE};
    }
}

static bool is_installing(const struct model_task *t)
{
    return t->kind == PHASE_INSTALL || t->kind == PHASE_UPGRADE;
}

/* Does a rule say that x comes before y?  Of different services. */
static bool services_order(const struct model *m, const struct model_task *x,
                           const struct model_task *y)
{
    uint32_t a = x->service, b = y->service;
    bool y_needs_x_run = m->reach[1][b][a], x_needs_y_run = m->reach[1][a][b];
    if (y_needs_x_run && x->starts && (y->starts || y->kind == PHASE_INITIALIZE))
        return true;
    if (m->reach[0][b][a] && is_installing(x) && is_installing(y))
        return true;
    if (x_needs_y_run && x->kind == PHASE_STOP && y->kind == PHASE_STOP) {
        if (!x->in_turn && !y->in_turn)
            return true;
        if (x->in_turn && y->in_turn && one_part(m, a, b))
            return true;
    }
    if (m->reach[0][a][b] && x->kind == PHASE_REMOVE && y->kind == PHASE_REMOVE)
        return true;
    if (y_needs_x_run && x->kind == PHASE_ACTION && y->kind == PHASE_ACTION)
        return true;
    return x->in_turn && y->in_turn && x->last && y->first && m->any[b][a] && !one_part(m, a, b);
}

static bool model_rule(const struct phase_bed *b, const struct model *m, uint32_t i, uint32_t j)
{
    const struct model_task *x = &m->tasks[i], *y = &m->tasks[j];
    bool machine_x = x->service == PHASE_NIL, machine_y = y->service == PHASE_NIL;
    if (i == j)
        return false;
    if (x->node == y->node && (machine_x || machine_y)) {
        if (machine_x && x->kind != PHASE_DELETE && (!machine_y || i < j))
            return true;
        return !machine_x && y->kind == PHASE_DELETE;
    }
    if (machine_x || machine_y)
        return false;
    if (x->service != y->service)
        return services_order(m, x, y);
    if (x->node == y->node)
        return i < j;
    return b->services.at[x->service].strategy == STRATEGY_ONE_BY_ONE && x->in_turn && y->in_turn &&
           x->last && y->first && x->node < y->node &&
           is_single(m, (uint32_t)b->services.n, x->service);
}

static void model_order(const struct phase_bed *b, struct model *m)
{
    for (uint32_t i = 0; i < m->n; i++)
        for (uint32_t j = 0; j < m->n; j++)
            m->before[i][j] = model_rule(b, m, i, j);
    for (uint32_t k = 0; k < m->n; k++)
        for (uint32_t i = 0; i < m->n; i++)
            for (uint32_t j = 0; m->before[i][k] && j < m->n; j++)
                m->before[i][j] = m->before[i][j] || m->before[k][j];
}

/* --- chance makes a cluster --- */

static struct str name_of(struct phase_bed *b, uint32_t i)
{
    return str_of(arena_printf(&b->mem, "s%u", i));
}

static void services_make(struct phase_bed *b, struct chance *r)
{
    uint32_t n = 1 + below(r, SERVICES), turn[2] = {below(r, SERVICES), below(r, SERVICES)};
    bool circles = one_in(r, 4); /* dependencies may go any way */
    for (uint32_t i = 0; i < n; i++) {
        struct phase_service s = {.name = name_of(b, i),
                                  .strategy = (uint8_t)below(r, STRATEGY_COUNT),
                                  .max = 1 + below(r, 3),
                                  .actions = (uint16_t)(PHASE_F_SERVICE & ~below(r, 1u << 15))};
        if (one_in(r, 3))
            s.actions = PHASE_F_SERVICE;
        if (one_in(r, 5))
            bed_provide(b, &s, name_of(b, below(r, NAMES)));
        for (uint32_t k = 0; k < n; k++)
            for (int w = 0; w < 2; w++) {
                uint32_t mine = (i + turn[w]) % n, other = (k + turn[w]) % n;
                if ((circles ? i != k && one_in(r, 8) : mine > other && one_in(r, 3)))
                    bed_depend(b, &s, name_of(b, k), (uint8_t)(1u << w), one_in(r, 2));
            }
        if (one_in(r, 6))
            bed_depend(b, &s, name_of(b, NAMES - 1), PHASE_AT_RUN | PHASE_AT_INSTALL, false);
        vec_push(&b->services, s);
    }
}

static void nodes_make(struct phase_bed *b, struct chance *r)
{
    uint32_t n = 1 + below(r, NODES);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t *services = arena_new(&b->mem, uint32_t, b->services.n);
        struct phase_node node = {
            .name = str_of(arena_printf(&b->mem, "n%u", i)),
            .services = services,
            .machine = (uint16_t)(one_in(r, 3) ? below(r, 1u << 12) : PHASE_F_MACHINE)};
        for (uint32_t s = 0; s < b->services.n; s++)
            if (!one_in(r, 3))
                services[node.n_services++] = s;
        vec_push(&b->nodes, node);
    }
}

/* Everything at once: as a rollback may want it. */
static void table_make(struct phase_bed *b, struct chance *r)
{
    static const uint16_t chains[] = {
        PHASE_F_INSTALL | PHASE_F_CONFIGURE | PHASE_F_INITIALIZE | PHASE_F_START,
        PHASE_F_STOP | PHASE_F_REMOVE,
        PHASE_F_STOP | PHASE_F_START,
        PHASE_F_UPGRADE | PHASE_F_IN_TURN,
        PHASE_F_STOP | PHASE_F_INSTALL | PHASE_F_CONFIGURE | PHASE_F_START | PHASE_F_IN_TURN,
        PHASE_F_START,
        PHASE_F_ACTION,
        0,
    };
    bool wild = one_in(r, 3);
    uint32_t mostly = below(r, 8);
    for (uint32_t i = 0; i < b->nodes.n; i++) {
        b->w.machine[i] = PHASE_F_MACHINE & (uint16_t)below(r, 1u << 12);
        for (uint32_t k = b->w.first[i]; k < b->w.first[i + 1]; k++) {
            b->w.cells[k] = chains[one_in(r, 2) ? mostly : below(r, 8)];
            if (wild)
                b->w.cells[k] = PHASE_F_SERVICE & (uint16_t)below(r, 1u << 12);
            if (wild && !(b->w.cells[k] & PHASE_F_REMOVE) && one_in(r, 2))
                b->w.cells[k] |= PHASE_F_IN_TURN;
        }
    }
}

/* --- comparing --- */

static bool tasks_same(const struct phase_graph *g, const struct model *m)
{
    bool same = g->n_tasks == m->n;
    for (uint32_t v = 0; same && v < m->n; v++)
        same = g->vertices[v].node == m->tasks[v].node &&
               g->vertices[v].service == m->tasks[v].service &&
               g->vertices[v].kind == m->tasks[v].kind;
    return same;
}

/* What the graph orders, joins included, and its levels. */
static bool order_same(const struct phase_graph *g, const struct model *m)
{
    static bool reach[TASKS * 2][TASKS];
    memset(reach, 0, sizeof reach);
    for (uint32_t i = 0; i < g->n; i++) {
        uint32_t v = g->order[i];
        for (uint32_t k = g->first[v]; k < g->first[v + 1]; k++) {
            uint32_t dep = g->deps[k];
            for (uint32_t t = 0; t < g->n_tasks; t++)
                reach[v][t] |= reach[dep][t];
            if (dep < g->n_tasks)
                reach[v][dep] = true;
        }
    }
    for (uint32_t x = 0; x < m->n; x++)
        for (uint32_t y = 0; y < m->n; y++)
            if (reach[y][x] != m->before[x][y])
                return false;
    return true;
}

static bool levels_same(const struct phase_graph *g, const struct model *m, struct arena *mem)
{
    struct phase_stages st;
    bool same = true;
    phase_stages(g, mem, &st);
    for (uint32_t stage = 0, level = 0; stage < st.n; stage++) {
        level += stage >= st.level_end[level];
        bool on[NODES] = {false};
        for (uint32_t i = st.first[stage]; i < st.first[stage + 1]; i++) {
            uint32_t v = st.tasks[i];
            same = same && g->vertices[v].level == level && !on[g->vertices[v].node];
            on[g->vertices[v].node] = true;
        }
    }
    for (uint32_t y = 0; same && y < m->n; y++) { /* longest way = as the levels before it say */
        uint32_t level = 0;
        for (uint32_t x = 0; x < m->n; x++)
            if (m->before[x][y] && g->vertices[x].level >= level)
                level = g->vertices[x].level + 1;
        same = g->vertices[y].level == level;
    }
    return same && st.first[st.n] == m->n;
}

/* A set of one needs no join, and no edge is there twice. */
static bool edges_thrifty(const struct phase_graph *g)
{
    for (uint32_t v = 0; v < g->n; v++) {
        if (v >= g->n_tasks && g->first[v + 1] - g->first[v] < 2)
            return false;
        for (uint32_t i = g->first[v]; i < g->first[v + 1]; i++)
            for (uint32_t k = i + 1; k < g->first[v + 1]; k++)
                if (g->deps[i] == g->deps[k])
                    return false;
    }
    return true;
}

static const char *round_run(uint64_t seed, unsigned *circles, unsigned *joins)
{
    static struct model m;
    struct chance r = {.key = seed};
    struct phase_bed b;
    const char *wrong = NULL;
    m = (struct model){0};
    bed_init(&b);
    b.lenient = true;
    services_make(&b, &r);
    nodes_make(&b, &r);
    bool sound = model_reach(&b, &m);
    int rc = bed_deps(&b);
    if (!sound || rc < 0) {
        wrong = rc == -ERR_CYCLE && !sound ? NULL : "circles";
        *circles += !sound;
        bed_done(&b);
        return wrong;
    }
    phase_work_init(&b.w, &b.c, &b.mem, NULL);
    table_make(&b, &r);
    model_tasks(&b, &m);
    model_order(&b, &m);
    for (uint32_t i = 0; i < m.n; i++)
        wrong = m.before[i][i] ? "the model itself" : wrong;
    if (bed_graph(&b) < 0)
        wrong = "refused";
    else if (!tasks_same(b.g, &m))
        wrong = "tasks";
    else if (!order_same(b.g, &m))
        wrong = "order";
    else if (!levels_same(b.g, &m, &b.mem))
        wrong = "levels";
    else if (!edges_thrifty(b.g))
        wrong = "edges";
    *joins += b.g ? b.g->n_joins : 0;
    bed_done(&b);
    return wrong;
}

int main(void)
{
    unsigned bad = 0, circles = 0, joins = 0;
    for (uint64_t seed = 1; seed <= ROUNDS; seed++) {
        const char *wrong = round_run(seed, &circles, &joins);
        if (wrong && ++bad <= 10)
            ok(false, "seed %llu: %s differ", (unsigned long long)seed, wrong);
    }
    is_int(bad, 0, "%d random clusters are as the rules say, pair by pair", ROUNDS);
    ok(circles > 100, "circles were among them (%u)", circles);
    ok(joins > 5000, "and joins (%u)", joins);
    return tap_done();
}
