/* phase_rule.c - which set of tasks waits for which
 *
 * Sets of different services are ordered by what the services depend on.  A service without tasks
 * of a kind is looked through: what counts is who reaches whom among those that have some, less
 * what follows from the rest.
 *
 * All of one set come before all of another.  A set of several tasks is waited for through a join;
 * where several tasks wait for several sets, they do through one more, which stands for all of
 * those.  So there are as many edges as tasks and dependencies, whatever their product is.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "planner/phase_i.h"

static const struct {
    enum phase_when when;
    bool behind; /* waits for those who depend on it */
    enum phase_reach_part parts;
    enum phase_kind kind; /* for people */
} rules[SET_COUNT] = {
    [SET_STARTED] = {PHASE_WHEN_RUN, false, PHASE_ALL_PARTS, PHASE_START},
    [SET_INSTALLED] = {PHASE_WHEN_INSTALL, false, PHASE_ALL_PARTS, PHASE_INSTALL},
    [SET_STOPPED] = {PHASE_WHEN_RUN, true, PHASE_ALL_PARTS, PHASE_STOP},
    /* Turns of services that depend on each other cannot follow each other: phase by phase. */
    [SET_STOPPED_IN_TURN] = {PHASE_WHEN_RUN, true, PHASE_OWN_PART, PHASE_STOP},
    [SET_REMOVED] = {PHASE_WHEN_INSTALL, true, PHASE_ALL_PARTS, PHASE_REMOVE},
    [SET_ACTED] = {PHASE_WHEN_RUN, false, PHASE_ALL_PARTS, PHASE_ACTION},
    [SET_TURN] = {PHASE_WHEN_ANY, false, PHASE_OTHER_PARTS, PHASE_JOIN},
};

static uint32_t join_add(struct phasing *x, uint32_t service, enum phase_set set, bool before,
                         struct phase_joining from)
{
    vec_push(&x->joins, ((struct phase_join){service, (uint8_t)rules[set].kind, before}));
    vec_push(&x->joining, from);
    return x->g->n_tasks + (uint32_t)x->joins.n - 1;
}

/* What stands for a set: the one task, or its join. */
static uint32_t set_vertex(struct phasing *x, uint32_t service, enum phase_set set)
{
    struct phase_sets *s = &x->sets[service];
    if (s->n[set] == 1)
        return s->one[set];
    if (!s->join[set]) { /* no join is vertex 0: there are tasks before it */
        s->join[set] = join_add(x, service, set, false,
                                (struct phase_joining){.set = service * SET_COUNT + (uint32_t)set});
        x->n_edges += s->n[set];
    }
    return s->join[set];
}

static void service_rule(struct phasing *x, const struct phase_cover *cover, uint32_t service,
                         enum phase_set set, uint32_t *others)
{
    struct phase_sets *s = &x->sets[service];
    uint32_t n = phase_cover_find(cover, service, others), from = (uint32_t)x->waits.n;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t v = set_vertex(x, others[i], set);
        vec_push(&x->waits, v);
    }
    if (n > 1 && s->waiting[set] > 1) {
        uint32_t all = join_add(x, service, set, true, (struct phase_joining){PHASE_NIL, from, n});
        x->n_edges += n;
        from = (uint32_t)x->waits.n;
        n = 1;
        vec_push(&x->waits, all);
    }
    s->from[set] = from;
    s->n_from[set] = n;
    x->n_edges += (uint64_t)n * s->waiting[set];
}

static void rule_apply(struct phasing *x, enum phase_set set, uint64_t *rows, uint32_t *others)
{
    const struct phase_deps *d = x->d;
    struct phase_cover cover = {.d = d,
                                .when = rules[set].when,
                                .behind = rules[set].behind,
                                .parts = rules[set].parts,
                                .among = rows,
                                .left = rows + d->words,
                                .gone = rows + 2 * (size_t)d->words};
    bool any = false;
    for (uint32_t w = 0; w < d->words; w++)
        rows[w] = 0;
    for (uint32_t i = 0; i < x->c->n_services; i++)
        if (x->sets[i].n[set]) {
            phase_bit_set(rows, d->of[rules[set].when].place[i]);
            any = true;
        }
    for (uint32_t i = 0; any && i < x->c->n_services; i++)
        if (x->sets[i].waiting[set])
            service_rule(x, &cover, i, set, others);
}

int phase_rules(struct phasing *x)
{
    uint64_t *rows = arena_new(&x->mem, uint64_t, 3 * (size_t)x->d->words);
    uint32_t *others = arena_new(&x->mem, uint32_t, x->d->n);
    for (int set = 0; set < SET_COUNT; set++)
        rule_apply(x, (enum phase_set)set, rows, others);
    uint64_t n = (uint64_t)x->g->n_tasks + x->joins.n;
    if (n > PHASE_MAX_VERTICES || x->n_edges > PHASE_MAX_EDGES)
        return err_set(x->e, ERR_LIMIT, "a plan of %llu tasks and %llu edges is too large",
                       (unsigned long long)n, (unsigned long long)x->n_edges);
    return 0;
}
