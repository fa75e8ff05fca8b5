/* bench_solver.c - layouts: real templates, large made-up ones, tight ones, impossible ones
 *
 *   bench_solver run [COOPR [CASE]] every case, or one; COOPR: a directory with its templates
 *   bench_solver describe CASE      the problem of one case
 * Writes lines of JSON for bench_solver.py, which knows the bars and the peers.  A time, of CPU, is
 * the best of some rounds from the problem to the answer, reasons included where there is none.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "base/json.h"
#include "solver/solver.h"

enum { ROUNDS = 5, TIGHT_SEEDS = 20, PEER_SEEDS = 5, SYNTHETIC = 30, FLAVOURS = 5 };

struct site {
    struct arena mem;
    const char *only; /* the case to describe; NULL: run all */
    const char *one;  /* the only case to run; NULL: all */
    const char *dir;
};

static double cpu_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static const struct solver_key by_cost[] = {{.by = SOLVER_COST},
                                            {.by = SOLVER_SERVICES, .more = true}};

/* --- output --- */

static void set_write(struct jsonw *w, const struct solver_set *s, uint32_t n)
{
    jsonw_list(w);
    for (uint32_t i = 0; i < n; i++)
        if (solver_set_has(s, i))
            jsonw_u64(w, i);
    jsonw_end(w);
}

static void sets_write(struct jsonw *w, const char *key, const struct solver_set *sets, uint32_t n,
                       uint32_t of)
{
    jsonw_key(w, key);
    jsonw_list(w);
    for (uint32_t i = 0; i < n; i++)
        set_write(w, &sets[i], of);
    jsonw_end(w);
}

static void amounts_write(struct jsonw *w, const char *key, const int64_t *at, uint32_t n)
{
    jsonw_key(w, key);
    jsonw_list(w);
    for (uint32_t i = 0; i < n; i++)
        jsonw_i64(w, at ? at[i] : 0);
    jsonw_end(w);
}

static void problem_write(struct jsonw *w, const struct solver_problem *p)
{
    jsonw_map(w);
    jsonw_key(w, "nodes");
    jsonw_u64(w, p->nodes_min);
    jsonw_key(w, "services");
    jsonw_list(w);
    for (uint32_t i = 0; i < p->n_services; i++) {
        const struct solver_service *s = &p->services[i];
        jsonw_map(w);
        jsonw_key(w, "min");
        jsonw_u64(w, s->min || !s->required ? s->min : 1);
        jsonw_key(w, "max");
        jsonw_u64(w, s->max < p->nodes_max ? s->max : p->nodes_max);
        amounts_write(w, "demand", s->demand, p->n_resources);
        jsonw_end(w);
    }
    jsonw_end(w);
    jsonw_key(w, "hardware");
    jsonw_list(w);
    for (uint32_t i = 0; i < p->n_hardware; i++) {
        jsonw_map(w);
        jsonw_key(w, "cost");
        jsonw_i64(w, p->hardware[i].cost);
        amounts_write(w, "capacity", p->hardware[i].capacity, p->n_resources);
        jsonw_end(w);
    }
    jsonw_end(w);
    sets_write(w, "together", p->together, p->n_together, p->n_services);
    sets_write(w, "apart", p->apart, p->n_apart, p->n_services);
    jsonw_end(w);
}

static void answer_write(const char *name, const struct solver_problem *p,
                         const struct solver_answer *a, double ms)
{
    SCOPED_BUF(out);
    struct jsonw w;
    jsonw_init(&w, &out);
    jsonw_map(&w);
    jsonw_key(&w, "case");
    jsonw_text(&w, name);
    jsonw_key(&w, "ms");
    jsonw_value(&w, &(struct value){.kind = VALUE_REAL, .r = ms});
    jsonw_key(&w, "status");
    jsonw_text(&w, solver_status_name(a->status));
    jsonw_key(&w, "settled");
    jsonw_bool(&w, a->settled);
    jsonw_key(&w, "steps");
    jsonw_u64(&w, a->steps);
    jsonw_key(&w, "kinds");
    jsonw_u64(&w, a->n_kinds);
    jsonw_key(&w, "conflict");
    jsonw_u64(&w, a->n_conflict);
    jsonw_key(&w, "bound");
    jsonw_i64(&w, a->has_bound ? a->bound : 0);
    amounts_write(&w, "values", a->values, a->has_layout ? p->n_keys : 0);
    jsonw_end(&w);
    printf("%.*s\n", (int)out.len, out.data);
    fflush(stdout);
}

static void case_run(struct site *site, const char *name, const struct solver_problem *p)
{
    const struct solver_options o = {.want_conflict = true};
    struct err e;
    double best = 1e18;
    if (site->one && strcmp(site->one, name))
        return;
    if (site->only) {
        SCOPED_BUF(out);
        struct jsonw w;
        jsonw_init(&w, &out);
        if (strcmp(site->only, name))
            return;
        problem_write(&w, p);
        printf("%.*s\n", (int)out.len, out.data);
        return;
    }
    for (int i = 0; i < ROUNDS; i++) {
        SCOPED_ARENA(mem);
        const struct solver_answer *a;
        double from = cpu_ms();
        if (solver_solve(&mem, p, &o, &a, &e) < 0) {
            fprintf(stderr, "%s: %s\n", name, e.text);
            exit(1);
        }
        double ms = cpu_ms() - from;
        best = ms < best ? ms : best;
        if (i + 1 == ROUNDS || ms > 200) {
            answer_write(name, p, a, best);
            return;
        }
    }
}

/* --- made up --- */

static struct solver_service *services_new(struct site *s, struct solver_problem *p, uint32_t n)
{
    struct solver_service *at = arena_new(&s->mem, struct solver_service, n);
    p->n_services = n;
    p->services = at;
    for (uint32_t i = 0; i < n; i++) {
        at[i].max = SOLVER_ANY;
        at[i].required = true;
        at[i].hardware = solver_set_below(p->n_hardware);
        at[i].images = solver_set_below(p->n_images);
    }
    return at;
}

static void nodes_set(struct solver_problem *p, uint32_t n)
{
    p->nodes_min = p->nodes_max = n;
}

static void orders_run(struct site *site, const char *family, struct solver_problem *p)
{
    p->keys = by_cost;
    p->n_keys = 2;
    case_run(site, arena_printf(&site->mem, "%s.cost", family), p);
    p->n_keys = 0;
    case_run(site, arena_printf(&site->mem, "%s.coopr", family), p);
}

static void synthetic(struct site *site)
{
    static const struct solver_hardware hardware[] = {{.cost = 350000}, {.cost = 175000}};
    struct solver_set fives[SYNTHETIC / 5] = {0};
    struct solver_problem p = {.n_hardware = 2, .n_images = 1, .hardware = hardware};
    struct solver_service *s = services_new(site, &p, SYNTHETIC);
    nodes_set(&p, 10000);
    for (uint32_t i = 0; i < SYNTHETIC; i++)
        s[i].min = 1;
    orders_run(site, "loose", &p);
    for (uint32_t i = 3; i < SYNTHETIC; i++)
        s[i].max = 1;
    orders_run(site, "masters", &p);
    for (uint32_t i = 0; i < SYNTHETIC; i++) {
        s[i].max = SOLVER_ANY;
        solver_set_add(&fives[i / 5], i);
    }
    p.together = fives;
    p.n_together = SYNTHETIC / 5;
    orders_run(site, "grouped", &p);
}

/* Four services that exclude each other, each on a quarter of the nodes and one more. */
static void impossible(struct site *site)
{
    static const struct solver_hardware hardware[] = {{.cost = 1}};
    struct solver_set pairs[6] = {0};
    struct solver_problem p = {.n_hardware = 1, .n_images = 1, .hardware = hardware};
    struct solver_service *s = services_new(site, &p, 4);
    nodes_set(&p, 5000);
    p.apart = pairs;
    for (uint32_t i = 0; i < 4; i++) {
        s[i].min = 5000 / 4 + 1;
        for (uint32_t k = 0; k < i; k++) {
            solver_set_add(&pairs[p.n_apart], i);
            solver_set_add(&pairs[p.n_apart++], k);
        }
    }
    case_run(site, "impossible", &p);
}

static uint32_t chance(uint64_t *state, uint32_t below)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return (uint32_t)((*state >> 20) % below);
}

/* Demands and counts by chance, flavours whose prices do not follow their sizes quite. */
static void tight(struct site *site, uint64_t seed, uint32_t services, uint32_t nodes,
                  const char *family)
{
    static const int64_t sizes[FLAVOURS][2] = {{2, 4}, {4, 8}, {8, 15}, {12, 32}, {16, 60}};
    static const int64_t costs[FLAVOURS] = {60000, 119000, 224000, 413000, 719000};
    struct solver_hardware hardware[FLAVOURS];
    uint64_t state = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
    struct solver_problem p = {.n_hardware = FLAVOURS, .n_images = 1, .n_resources = 2};
    for (uint32_t i = 0; i < FLAVOURS; i++)
        hardware[i] = (struct solver_hardware){costs[i], sizes[i]};
    p.hardware = hardware;
    struct solver_service *s = services_new(site, &p, services);
    nodes_set(&p, nodes);
    for (uint32_t i = 0; i < services; i++) {
        int64_t *demand = arena_new(&site->mem, int64_t, 2);
        demand[0] = 1 + chance(&state, 4);
        demand[1] = 1 + chance(&state, 12);
        s[i].demand = demand;
        s[i].min = 1 + chance(&state, nodes * 2 / 5);
        s[i].max = s[i].min + chance(&state, nodes / 2);
    }
    p.keys = by_cost;
    p.n_keys = 2;
    case_run(site, arena_printf(&site->mem, "%s.%llu", family, (unsigned long long)seed), &p);
}

/* --- real templates --- */

static struct value *file_parse(struct site *site, const char *path)
{
    SCOPED_BUF(text);
    char part[4096];
    struct value *v;
    struct err e;
    size_t n;
    FILE *f = fopen(path, "re");
    if (!f)
        return NULL;
    while ((n = fread(part, 1, sizeof part, f)) > 0)
        buf_put(&text, part, n);
    fclose(f);
    const char *kept = arena_strndup(&site->mem, text.data, text.len);
    return json_parse(&site->mem, kept, text.len, NULL, &v, &e) < 0 ? NULL : v;
}

struct names {
    const char **at;
    uint32_t n;
};

static int by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static struct names names_of(struct site *site, const struct value *list)
{
    struct names names = {arena_new(&site->mem, const char *, list ? list->n : 0), 0};
    for (uint32_t i = 0; list && i < list->n; i++)
        names.at[names.n++] = value_as_text(&list->items[i], "");
    qsort(names.at, names.n, sizeof *names.at, by_name);
    return names;
}

static uint32_t name_find(const struct names *names, const char *name)
{
    uint32_t i = 0;
    while (i < names->n && strcmp(names->at[i], name))
        i++;
    return i;
}

/* Of sets together those members that are there; of sets apart only whole ones. */
static struct solver_set *sets_of(struct site *site, const struct names *names,
                                  const struct value *list, bool whole, uint32_t *ret_n)
{
    struct solver_set *sets = arena_new(&site->mem, struct solver_set, list ? list->n : 0);
    *ret_n = 0;
    for (uint32_t i = 0; list && i < list->n; i++) {
        struct solver_set s = {{0}};
        uint32_t there = 0;
        for (uint32_t k = 0; k < list->items[i].n; k++) {
            uint32_t id = name_find(names, value_as_text(&list->items[i].items[k], ""));
            if (id == names->n)
                continue;
            solver_set_add(&s, id);
            there++;
        }
        if (there && (!whole || there == list->items[i].n))
            sets[(*ret_n)++] = s;
    }
    return sets;
}

static void real(struct site *site, const char *name, uint32_t nodes)
{
    const struct value *t = file_parse(
        site, arena_printf(&site->mem, "%s/current/clustertemplates/%s.json", site->dir, name));
    if (!t)
        return;
    struct names services = names_of(site, value_at(t, "defaults.services"));
    struct names hardware = names_of(site, value_at(t, "compatibility.hardwaretypes"));
    struct names images = names_of(site, value_at(t, "compatibility.imagetypes"));
    struct solver_problem p = {.n_hardware = hardware.n, .n_images = images.n};
    struct solver_hardware *h = arena_new(&site->mem, struct solver_hardware, hardware.n);
    for (uint32_t i = 0; i < hardware.n; i++) {
        const struct value *file = file_parse(site, arena_printf(&site->mem,
                                                                 "%s/current/hardwaretypes/%s.json",
                                                                 site->dir, hardware.at[i]));
        const char *cost = value_as_text(value_at(file, "providermap.rackspace.cost"), "0");
        h[i].cost = (int64_t)(strtod(cost, NULL) * 1e6 + 0.5);
    }
    p.hardware = h;
    struct solver_service *s = services_new(site, &p, services.n);
    const struct value *rules = value_at(t, "constraints.services");
    p.together = sets_of(site, &services, value_at(t, "constraints.layout.mustcoexist"), false,
                         &p.n_together);
    p.apart = sets_of(site, &services, value_at(t, "constraints.layout.cantcoexist"), true,
                      &p.n_apart);
    for (uint32_t i = 0; i < services.n; i++) {
        const struct value *rule = value_get(rules, services.at[i]);
        int64_t max = value_as_int(value_at(rule, "quantities.max"), SOLVER_ANY);
        s[i].min = (uint32_t)value_as_int(value_at(rule, "quantities.min"), 0);
        s[i].max = max < 50 ? (uint32_t)max : SOLVER_ANY; /* what limits size is lifted */
        bool bare = rule == NULL;
        for (uint32_t k = 0; k < p.n_together; k++)
            bare &= !solver_set_has(&p.together[k], i);
        for (uint32_t k = 0; k < p.n_apart; k++)
            bare &= !solver_set_has(&p.apart[k], i);
        s[i].everywhere = bare;
    }
    nodes_set(&p, nodes);
    orders_run(site, arena_printf(&site->mem, "%s.%u", name, nodes), &p);
}

int main(int argc, char **argv)
{
    struct site site = {.only = argc > 2 && !strcmp(argv[1], "describe") ? argv[2] : NULL};
    arena_init(&site.mem);
    site.one = argc > 3 ? argv[3] : NULL;
    site.dir = !site.only && argc > 2 ? argv[2] : NULL;
    static const uint32_t sizes[] = {5, 50, 500, 5000};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes && site.dir; i++) {
        real(&site, "hadoop-distributed", sizes[i]);
        real(&site, "cdap-distributed", sizes[i]);
    }
    synthetic(&site);
    impossible(&site);
    for (uint64_t seed = 1; seed <= TIGHT_SEEDS; seed++)
        tight(&site, seed, SYNTHETIC, 1000, "tight");
    for (uint64_t seed = 1; seed <= PEER_SEEDS; seed++) {
        tight(&site, seed, 16, 1000, "sixteen");
        tight(&site, seed, 4, 10, "four");
    }
    arena_done(&site.mem);
    return 0;
}
