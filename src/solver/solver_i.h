/* solver_i.h - the parts of the solver: model, linear programs, search
 *
 *     problem -> model (what one node may be: pools of nodes, rows of counts)
 *             -> engine (linear program over kinds made when needed, bounds that are proved,
 * branching)
 *             -> order (keys one after the other, then kinds in the original order)
 *             -> answer, or conflict and relaxation (the same, with rules left out)
 *
 * A *pool* is a number of nodes that may become the same things: each group of existing nodes that
 * are alike, and all new nodes.  A *kind* is what a node of a pool becomes.  Everything that is
 * counted over nodes is a *row*: an integer for each kind, and bounds for the sum.  *Extra* columns
 * are numbers that are no nodes: how many of a pool are given up, how many steps a count is away
 * from its minimum, the lowest count of a spread, how far a relaxed rule is exceeded.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SOLVER_SOLVER_I_H
#define SOLVER_SOLVER_I_H

#include "base/alloc.h"
#include "base/map.h"
#include "solver/solver.h"

#define ROW_INF INT64_C(4000000000000000000) /* as a bound of a row: none */
typedef __int128 wide;

/* --- sets --- */

static inline bool set_inside(const struct solver_set *a, const struct solver_set *in)
{
    uint64_t out = 0;
    for (int i = 0; i < SOLVER_SET_WORDS; i++)
        out |= a->w[i] & ~in->w[i];
    return out == 0;
}
static inline bool set_meets(const struct solver_set *a, const struct solver_set *b)
{
    uint64_t both = 0;
    for (int i = 0; i < SOLVER_SET_WORDS; i++)
        both |= a->w[i] & b->w[i];
    return both != 0;
}
static inline bool set_empty(const struct solver_set *a)
{
    uint64_t any = 0;
    for (int i = 0; i < SOLVER_SET_WORDS; i++)
        any |= a->w[i];
    return any == 0;
}
static inline bool set_same(const struct solver_set *a, const struct solver_set *b)
{
    uint64_t differ = 0;
    for (int i = 0; i < SOLVER_SET_WORDS; i++)
        differ |= a->w[i] ^ b->w[i];
    return differ == 0;
}
static inline void set_join(struct solver_set *a, const struct solver_set *b)
{
    for (int i = 0; i < SOLVER_SET_WORDS; i++)
        a->w[i] |= b->w[i];
}
static inline void set_cut(struct solver_set *a, const struct solver_set *b)
{
    for (int i = 0; i < SOLVER_SET_WORDS; i++)
        a->w[i] &= b->w[i];
}
static inline void set_take(struct solver_set *a, const struct solver_set *b)
{
    for (int i = 0; i < SOLVER_SET_WORDS; i++)
        a->w[i] &= ~b->w[i];
}
static inline uint32_t set_count(const struct solver_set *a)
{
    int n = 0;
    for (int i = 0; i < SOLVER_SET_WORDS; i++)
        n += __builtin_popcountll(a->w[i]);
    return (uint32_t)n;
}
/* The first id from id on; SOLVER_MAX_SERVICES if there is none. */
static inline uint32_t set_next(const struct solver_set *a, uint32_t id)
{
    for (uint32_t i = id / 64; i < SOLVER_SET_WORDS; i++) {
        uint64_t w = a->w[i];
        if (i == id / 64)
            w &= ~UINT64_C(0) << (id % 64);
        if (w)
            return i * 64 + (uint32_t)__builtin_ctzll(w);
    }
    return SOLVER_MAX_SERVICES;
}
#define SET_EACH(id, set)                                                                          \
    for (uint32_t id = set_next((set), 0); id < SOLVER_MAX_SERVICES; id = set_next((set), id + 1))
/* The one with the lowest id that the other has not comes first. */
static inline int set_order(const struct solver_set *a, const struct solver_set *b)
{
    for (int i = 0; i < SOLVER_SET_WORDS; i++) {
        uint64_t differ = a->w[i] ^ b->w[i];
        if (differ)
            return a->w[i] >> __builtin_ctzll(differ) & 1 ? -1 : 1;
    }
    return 0;
}

/* --- rules (solver_rules.c): a dense number for each, and which of them hold --- */

struct rules {
    uint32_t first[SOLVER_RULE_COUNT + 1];
    bool *off;     /* left out */
    bool *elastic; /* may be exceeded, at a price: how far */
};
void rules_init(struct rules *r, const struct solver_problem *p, struct arena *mem);
struct solver_ref rules_ref(const struct rules *r, uint32_t number);
/* Whether the problem has anything under that number. */
bool rules_meant(const struct solver_problem *p, struct solver_ref ref);
/* Whether a change of it is a number, rather than its absence. */
bool rules_numeric(enum solver_rule rule);
static inline bool rules_off(const struct rules *r, enum solver_rule rule, uint32_t index)
{
    return r->off[r->first[rule] + index];
}
static inline bool rules_elastic(const struct rules *r, enum solver_rule rule, uint32_t index)
{
    return r->elastic[r->first[rule] + index];
}

/* --- model (solver_model.c): what one node may be --- */

struct option { /* services that only come together */
    struct solver_set set;
    uint32_t size;
    const int64_t *demand; /* n_resources */
    uint32_t n_apart;
    const uint32_t *apart;    /* sets of the model that it meets */
    struct solver_set rivals; /* options (by number) that are never with it */
    bool pairs;               /* those are all that keeps others away from it, but for resources */
};
struct slot { /* hardware and image, and the services that may be there */
    uint32_t hardware, image;
    struct solver_set allowed;
    const int64_t *capacity; /* n_resources; NULL: without limit */
    uint32_t like;           /* the first slot of the pool that counts the same in every key */
};
struct pool {
    bool fresh;             /* new nodes, else a group of existing ones */
    bool keep;              /* none of them can be given up */
    uint32_t cap;           /* how many nodes at most */
    uint32_t turn;          /* the first entry of the group */
    uint32_t value, values; /* of the label: the first, and how many are possible */
    struct solver_set forced;
    const int64_t *forced_demand;
    uint32_t n_options, n_slots;
    struct option *options; /* by their lowest service */
    struct slot *slots;     /* by hardware, image */
};
struct model {
    const struct solver_problem *p;
    const struct rules *rules;
    struct arena *mem;
    uint32_t n_pools; /* groups in the order of their first entries, then the new nodes */
    struct pool *pools;
    uint32_t *group_of; /* of each entry */
    uint32_t n_apart;
    const struct solver_set *apart;
    uint32_t nodes_max; /* a bound for every count */
    bool by_hardware;   /* a key looks at it */
};
/* every: with all hardware and images, not only those that an answer could have. */
void model_build(struct model *m, const struct solver_problem *p, const struct rules *rules,
                 struct arena *mem, bool every);
/* How many nodes there may be where their number is left out: far more than asked for, but not so
 * many that what can never be even is looked for among all of them. */
static inline uint32_t model_nodes_loose(const struct solver_problem *p)
{
    uint64_t n = p->nodes_max;
    for (uint32_t i = 0; i < p->n_existing; i++)
        n += p->existing[i].count;
    n = 10 * n + 100;
    return n < SOLVER_MAX_NODES ? (uint32_t)n : SOLVER_MAX_NODES;
}
/* Whether there is any hardware, and any image, for new nodes. */
static inline bool model_offers(const struct solver_problem *p)
{
    struct solver_set hardware = solver_set_below(p->n_hardware);
    struct solver_set images = solver_set_below(p->n_images);
    return !set_inside(&hardware, &p->old_hardware) && !set_inside(&images, &p->old_images);
}
/* Whether two kinds of hardware count the same in every key. */
bool model_same_keys(const struct solver_problem *p, uint32_t a, uint32_t b);
static inline bool existing_alike(const struct solver_existing *a, const struct solver_existing *b)
{
    return set_same(&a->services, &b->services) && a->hardware == b->hardware &&
           a->image == b->image && a->value == b->value && a->keep == b->keep;
}
/* The first slot in which these services fit and that counts as this one does: the only one of them
 * that an answer can have. */
uint32_t model_slot_first(const struct model *m, const struct pool *pool, uint32_t slot,
                          const struct solver_set *services);
/* Options of which at most one of each class can be, classes made as they come: the most that the
 * options in among can add up to, by weight (NULL: by size), those first in order tried first. */
int64_t model_cover(const struct pool *pool, const uint32_t *order, const int64_t *weight,
                    uint32_t n, const struct solver_set *among);
/* What an added option does: false if it must not come to what is there. */
bool option_fits(const struct model *m, const struct option *o, const struct slot *slot,
                 const struct solver_set *with, const int64_t *used);

/* --- rows (solver_row.c) --- */

enum row_type {
    ROW_POOL,     /* nodes of pool a, and those given up */
    ROW_GIVEN,    /* nodes given up */
    ROW_NODES,    /* nodes */
    ROW_SERVICE,  /* nodes with service a */
    ROW_KEPT,     /* existing nodes with service a */
    ROW_STEP,     /* nodes with service a, less the steps */
    ROW_RATIO,    /* by ratio a */
    ROW_SPREAD,   /* nodes with service a and value b, less the lowest */
    ROW_VALUE,    /* nodes with service a and value b */
    ROW_HARDWARE, /* nodes with hardware that counts as a does */
    ROW_KEY,      /* by key a */
    ROW_EXCESS,   /* how far relaxed rules are exceeded */
};
struct row {
    enum row_type type;
    uint32_t a, b;
    int64_t lo, hi; /* as long as nothing is placed */
    int64_t unit;   /* a key: what all its coefficients were divided by */
    int64_t most;   /* the greatest coefficient, without sign */
    bool branch;    /* its sum is worth branching on */
};
enum extra_type { EXTRA_GIVEN, EXTRA_STEPS, EXTRA_LOWEST, EXTRA_EXCESS };
struct extra {
    enum extra_type type;
    uint32_t a; /* pool, service, spread or the number of a rule */
    int64_t lo, hi;
    uint32_t n;
    uint32_t *rows;
    int64_t *coefs;
};
struct rows {
    VEC(struct row) at;
    VEC(struct extra) extras;
    uint32_t nodes, given, excess; /* where these are; SOLVER_NONE: nowhere */
};
void rows_build(struct rows *r, const struct model *m);
void rows_done(struct rows *r);
/* What a node of this kind counts in a row. */
int64_t row_coef(const struct model *m, const struct row *row, const struct pool *pool,
                 const struct solver_set *services, uint32_t hardware, uint32_t value);

/* --- simplex (solver_simplex.c): linear programs in floating point, as a guide --- */

enum simplex_end { SIMPLEX_BEST, SIMPLEX_INFEASIBLE, SIMPLEX_STALLED };
struct simplex;
struct simplex *simplex_new(uint32_t rows);
void simplex_free(struct simplex *s);
void simplex_row_bounds(struct simplex *s, uint32_t row, double lo, double hi);
/* Returns its number. */
uint32_t simplex_column_add(struct simplex *s, uint32_t n, const uint32_t *rows,
                            const double *coefs, double lo, double hi);
void simplex_column_bounds(struct simplex *s, uint32_t column, double lo, double hi);
void simplex_column_cost(struct simplex *s, uint32_t column, double cost);
/* Minimises; adds what it did to *work, in multiples of some operations, and stalls at max_work. */
enum simplex_end simplex_run(struct simplex *s, uint64_t *work, uint64_t max_work);
/* Of the last run: prices of rows (where it was infeasible, of the sum of infeasibilities), values.
 */
const double *simplex_prices(const struct simplex *s);
double simplex_value(const struct simplex *s, uint32_t column);

/* --- engine (solver_engine.c, solver_bound.c, solver_price.c, solver_branch.c) --- */

struct column {    /* a kind, or an extra */
    uint32_t pool; /* SOLVER_NONE: an extra */
    uint32_t slot, value;
    struct solver_set services;
    int64_t lo, hi;    /* by branching */
    uint32_t first, n; /* cells */
};
struct cell {
    uint32_t row;
    int64_t coef;
};
struct proof {        /* multipliers of rows, and what they leave of the best kind of each pool */
    int64_t *rows;    /* n_rows */
    int64_t *surplus; /* n_pools: the most that a node gains over what its rows say, >= 0 */
    int64_t scale;    /* of the objective; 0: there is none, it proves that nothing fits */
    uint32_t objective;
    int sign;
    bool whole; /* surplus is that: nothing was passed over in haste */
};
enum { ENGINE_PROOFS = 24 };
struct engine {
    const struct model *m;
    const struct rows *rows;
    uint32_t n_rows;
    int64_t *lo, *hi;    /* of rows, as branching and the order have them */
    int64_t *placed;     /* of rows: what kinds that are settled count already */
    uint32_t *pool_left; /* nodes of each pool that are not settled */
    double *scale;       /* of rows in the linear program */
    struct simplex *lp;
    VEC(struct column) columns;
    uint32_t n_extras;      /* the first of them */
    VEC(uint32_t) bounded;  /* kinds that branching has bounded */
    VEC(struct cell) cells; /* of columns: what they count in rows, if not nothing */
    struct u64map by_kind;  /* columns by a digest of the kind; the first of them */
    uint32_t objective;     /* a row; SOLVER_NONE */
    int sign;               /* 1: as little as possible, -1: as much */
    uint64_t steps, max_steps;
    bool doubt;                         /* arithmetic could not prove what floating point said */
    struct proof proofs[ENGINE_PROOFS]; /* the latest that nothing fits */
    uint32_t n_proofs;
    struct pricer *pricer;
};
enum engine_end { ENGINE_FOUND, ENGINE_NONE, ENGINE_LIMIT };
struct point { /* how many of each column */
    int64_t *x;
    uint32_t n;
    bool there;
};

void engine_init(struct engine *g, const struct model *m, const struct rows *r, uint64_t max_steps);
void engine_done(struct engine *g);
static inline void engine_scope_end(struct engine *g)
{
    engine_done(g);
}
static inline bool engine_spent(const struct engine *g)
{
    return g->steps >= g->max_steps;
}
/* What a kind counts in rows: how many cells, of at most n_rows. */
uint32_t engine_cells(const struct engine *g, uint32_t pool, uint32_t slot, uint32_t value,
                      const struct solver_set *services, struct cell *ret_cells);
/* The column of a kind, SOLVER_NONE if it is not there; made if it is not there. */
uint32_t engine_column_find(const struct engine *g, uint32_t pool, uint32_t slot, uint32_t value,
                            const struct solver_set *services);
uint32_t engine_column(struct engine *g, uint32_t pool, uint32_t slot, uint32_t value,
                       const struct solver_set *services);
int64_t engine_coef(const struct engine *g, uint32_t row, uint32_t column);
/* Takes n nodes of a kind out of what is to be found; negative: puts them back. */
void engine_place(struct engine *g, uint32_t column, int64_t n);
/* Bounds of rows and columns to the linear program. */
void engine_bounds(struct engine *g, uint32_t row);
/* The best value of the objective, or anything that fits.  *point is where to begin, if it is
 * there, and the best found; *ret_bound, if it ends at the limit, what is never beaten. */
enum engine_end engine_search(struct engine *g, struct point *point, int64_t *ret_bound);
int64_t engine_value(const struct engine *g, const struct point *point, uint32_t row);
#define CELL_EACH(cell, g, column)                                                                 \
    for (const struct cell *cell = (g)->cells.at + (g)->columns.at[column].first,                  \
                           *cell##_end = cell + (g)->columns.at[column].n;                         \
         cell < cell##_end; cell++)
/* Whether a point keeps every row; sets the extras that follow from the rest. */
bool engine_holds(struct engine *g, struct point *point);
void point_done(struct point *point);
void point_copy(struct point *to, const struct point *from);

/* Integer multipliers from prices of the linear program. */
void proof_from_prices(struct engine *g, struct proof *f, const double *prices, bool feasibility);
/* The bound that it gives now: of the objective times scale, or > 0 if nothing fits. */
wide proof_bound(const struct engine *g, const struct proof *f);
/* By how much the bound of one without an objective rises with each node of a kind placed. */
wide proof_rate(const struct proof *f, uint32_t pool, const struct cell *cells, uint32_t n_cells);
/* Adds the kinds that a proof does not cover to the columns, sets what they exceed it by; how many
 * are new.  In haste it is content with a kind that helps where the best is hard to find. */
uint32_t price_all(struct engine *g, struct proof *f, bool haste);
struct pricer *pricer_new(const struct model *m);
void pricer_free(struct pricer *p);

/* --- cursor (solver_cursor.c): kinds of a pool in the original order --- */

struct cursor;
struct cursor *cursor_new(struct arena *mem, const struct model *m, uint32_t pool);
/* Goes to the next kind; false: no more, or *steps came to max_steps.  usable: services that may be
 * in it. */
bool cursor_next(struct cursor *c, const struct solver_set *usable, uint64_t *steps,
                 uint64_t max_steps);
/* Where it is. */
void cursor_get(const struct cursor *c, struct solver_set *ret_services, uint32_t *ret_slot,
                uint32_t *ret_value);

/* --- order (solver_order.c): the best layout, one question after the other --- */

struct placed {
    uint32_t column;
    int64_t count;
};
struct order {
    const struct solver_problem *p;
    struct model m;
    struct rows rows;
    struct engine g;
    struct point known;
    VEC(struct placed) placed;
    bool settled;
    uint32_t first_key; /* its row */
    int64_t bound;
    bool has_bound;
};
void order_init(struct order *o, const struct solver_problem *p, const struct rules *rules,
                struct arena *mem, uint64_t max_steps);
void order_done(struct order *o);
/* Everything; ENGINE_FOUND: known, with what is placed, is the best by all keys. */
enum engine_end order_run(struct order *o, struct arena *mem);
/* The best value of a row, which it then has. */
enum engine_end order_settle_row(struct order *o, uint32_t row, bool more);
/* The column that says how many of a pool are given up. */
uint32_t order_given_column(const struct order *o, uint32_t pool);

/* --- answers (solver_answer.c), reasons (solver_conflict.c, solver_relax.c) --- */

/* Whether anything fits with the rules as they are. */
enum engine_end order_fits(const struct solver_problem *p, const struct rules *rules,
                           uint64_t max_steps, uint64_t *steps);
/* By how little the elastic rules have to be exceeded; over and under (each by the number of the
 * rule): how far each is.  Under is of NODES only. */
enum engine_end order_excess(const struct solver_problem *p, const struct rules *rules,
                             uint64_t max_steps, uint64_t *steps, int64_t *ret_over,
                             int64_t *ret_under);
/* A conflict among the rules that are not off, by number; how many.  All are on afterwards. */
uint32_t conflict_reduce(const struct solver_problem *p, struct rules *rules, uint32_t *ret_list,
                         uint64_t max_steps, uint64_t *steps, bool *ret_limit);
void conflict_find(struct arena *mem, const struct solver_problem *p, uint64_t max_steps,
                   struct solver_answer *a);
void relax_find(struct arena *mem, const struct solver_problem *p, uint64_t max_steps,
                struct solver_answer *a);

#endif
