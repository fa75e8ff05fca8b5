/* phase_deps.c - what services depend on: names resolved, circles told, reachability as bits
 *
 * Two relations, install and run; each must be without a circle.  Their union need not be: a
 * service may be installed after another one that needs it to run.  Names that nobody has are kept
 * as vertices of their own, behind the services: they order nothing, and a person sees them.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "base/map.h"
#include "graph/graph.h"
#include "planner/phase_i.h"

enum { NAMES_MAX = 2 * PHASE_MAX_SERVICES, LINKS_MAX = 4000000 };

struct provider { /* a list for each name */
    uint32_t service, next;
};
struct link { /* from depends on to */
    uint32_t from, to;
    uint8_t when;
};
struct resolving {
    const struct phase_service *services;
    struct phase_deps *d;
    struct err *e;
    struct strmap numbers; /* name -> head of its list; of an absent one NAME_ABSENT + number */
    VEC(struct provider) providers;
    VEC(struct str) names;
    VEC(struct link) links;
};
#define NAME_ABSENT ((uintptr_t)1 << 31)

/* --- names --- */

static void provider_add(struct resolving *r, struct str name, uint32_t service)
{
    uintptr_t head = PHASE_NIL;
    (void)strmap_get(&r->numbers, name, &head);
    for (uint32_t i = (uint32_t)head; i != PHASE_NIL; i = r->providers.at[i].next)
        if (r->providers.at[i].service == service)
            return;
    vec_push(&r->providers, ((struct provider){service, (uint32_t)head}));
    strmap_put(&r->numbers, name, r->providers.n - 1);
}

static int names_collect(struct resolving *r, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        const struct phase_service *s = &r->services[i];
        if (strmap_get(&r->numbers, s->name, NULL))
            return err_set(r->e, ERR_EXISTS, "two services are called %.*s", (int)s->name.n,
                           s->name.s);
        provider_add(r, s->name, i);
        vec_push(&r->names, s->name);
    }
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t k = 0; k < r->services[i].n_provides; k++)
            provider_add(r, r->services[i].provides[k], i);
    return 0;
}

static void link_add(struct resolving *r, uint32_t from, uint32_t to, uint8_t when)
{
    if (from != to)
        vec_push(&r->links, ((struct link){from, to, when}));
}

static int depend_resolve(struct resolving *r, uint32_t from, const struct phase_depend *dep,
                          bool lenient)
{
    uintptr_t head;
    struct str name = r->services[from].name;
    if (!strmap_get(&r->numbers, dep->name, &head)) {
        if (dep->required && !lenient)
            return err_set(r->e, ERR_REFUSED,
                           "service %.*s requires %.*s, which is not in the cluster", (int)name.n,
                           name.s, (int)dep->name.n, dep->name.s);
        if (r->names.n == NAMES_MAX)
            return err_set(r->e, ERR_LIMIT, "services depend on more than %d names", NAMES_MAX);
        head = NAME_ABSENT + r->names.n;
        strmap_put(&r->numbers, dep->name, head);
        vec_push(&r->names, dep->name);
    }
    if (head >= NAME_ABSENT) {
        link_add(r, from, (uint32_t)(head - NAME_ABSENT), dep->when);
        return 0;
    }
    for (uint32_t i = (uint32_t)head; i != PHASE_NIL; i = r->providers.at[i].next)
        link_add(r, from, r->providers.at[i].service, dep->when);
    if (r->links.n > LINKS_MAX) /* by what they provide: n services may have n * n */
        return err_set(r->e, ERR_LIMIT, "services depend on each other in more than %d ways",
                       LINKS_MAX);
    return 0;
}

static int depends_resolve(struct resolving *r, uint32_t n, bool lenient)
{
    int rc = names_collect(r, n);
    for (uint32_t i = 0; i < n && rc >= 0; i++)
        for (uint32_t k = 0; k < r->services[i].n_depends && rc >= 0; k++)
            rc = depend_resolve(r, i, &r->services[i].depends[k], lenient);
    return rc;
}

/* --- one relation --- */

struct csr {
    uint32_t *first, *deps;
};

static struct csr links_sorted(const struct resolving *r, struct arena *a, uint8_t when)
{
    uint32_t n = r->d->n;
    struct csr c = {arena_new(a, uint32_t, n + 2), arena_new(a, uint32_t, r->links.n)};
    for (size_t i = 0; i < r->links.n; i++)
        if (r->links.at[i].when & when)
            c.first[r->links.at[i].from + 2]++;
    for (uint32_t v = 0; v < n; v++)
        c.first[v + 2] += c.first[v + 1];
    for (size_t i = 0; i < r->links.n; i++)
        if (r->links.at[i].when & when)
            c.deps[c.first[r->links.at[i].from + 1]++] = r->links.at[i].to;
    return c;
}

/* From the service with the lowest number on; each depends on the next. */
static int circle_tell(const struct resolving *r, const char *what, const uint32_t *circle,
                       uint32_t n)
{
    SCOPED_BUF(text);
    uint32_t lowest = 0;
    for (uint32_t i = 1; i < n; i++)
        if (circle[i] < circle[lowest])
            lowest = i;
    for (uint32_t i = 0; i <= n; i++) {
        struct str name = r->names.at[circle[(lowest + 2 * n - i) % n]];
        buf_printf(&text, "%s%.*s", i ? " > " : "", (int)name.n, name.s);
    }
    err_set(r->e, ERR_CYCLE, "%s dependencies of services go in a circle: %s", what, text.data);
    return err_hint(r->e, "each depends on the next; one of them must not");
}

static int places_sort(struct resolving *r, struct arena *scratch, const struct csr *c,
                       enum phase_when when, struct phase_reach *ret)
{
    uint32_t n = r->d->n, circle_n = 0;
    uint32_t *circle = arena_new(scratch, uint32_t, n);
    ret->place = arena_new(&r->d->mem, uint32_t, n);
    ret->number = arena_new(&r->d->mem, uint32_t, n);
    if (!graph_sort(n, c->first, c->deps, ret->number, circle, &circle_n))
        return circle_tell(r, when == PHASE_WHEN_INSTALL ? "install" : "run", circle, circle_n);
    for (uint32_t i = 0; i < n; i++)
        ret->place[ret->number[i]] = i;
    return 0;
}

/* Part by part, those that are depended on first. */
static void places_of_parts(struct phase_deps *d, struct arena *scratch, const struct csr *c,
                            struct phase_reach *ret)
{
    d->part = arena_new(&d->mem, uint32_t, d->n);
    d->part_size = arena_new(&d->mem, uint32_t, d->n);
    uint32_t n_parts = graph_parts(d->n, c->first, c->deps, d->part), at = 0;
    uint32_t *next = arena_new(scratch, uint32_t, n_parts + 1);
    ret->place = arena_new(&d->mem, uint32_t, d->n);
    ret->number = arena_new(&d->mem, uint32_t, d->n);
    for (uint32_t i = 0; i < d->n; i++)
        d->part_size[d->part[i]]++;
    for (uint32_t p = 0; p < n_parts; p++) {
        next[p] = at;
        at += d->part_size[p];
    }
    for (uint32_t i = 0; i < d->n; i++) {
        ret->place[i] = next[d->part[i]]++;
        ret->number[ret->place[i]] = i;
    }
}

/* All of places [from, to), which reach each other if they are several. */
static void rows_join(const struct phase_deps *d, const struct csr *c, struct phase_reach *r,
                      uint32_t from, uint32_t to)
{
    uint64_t *row = r->ahead + (size_t)from * d->words;
    for (uint32_t p = from; p < to; p++) {
        uint32_t v = r->number[p];
        for (uint32_t k = c->first[v]; k < c->first[v + 1]; k++) {
            uint32_t q = r->place[c->deps[k]];
            const uint64_t *other = r->ahead + (size_t)q * d->words;
            phase_bit_set(row, q);
            for (uint32_t w = 0; q < from && w < d->words; w++)
                row[w] |= other[w];
        }
    }
    for (uint32_t p = to; p-- > from;) { /* none reaches itself */
        uint64_t *own = r->ahead + (size_t)p * d->words;
        for (uint32_t w = 0; p > from && w < d->words; w++)
            own[w] = row[w];
        for (uint32_t q = from; to - from > 1 && q < to; q++)
            phase_bit_set(own, q);
        own[p / 64] &= ~(UINT64_C(1) << (p % 64));
    }
}

static void rows_fill(struct phase_deps *d, const struct csr *c, bool parts, struct phase_reach *r)
{
    r->ahead = arena_new(&d->mem, uint64_t, (size_t)d->n * d->words);
    r->behind = arena_new(&d->mem, uint64_t, (size_t)d->n * d->words);
    for (uint32_t p = 0, size; p < d->n; p += size) {
        size = parts ? d->part_size[d->part[r->number[p]]] : 1;
        rows_join(d, c, r, p, p + size);
    }
    for (uint32_t p = 0; p < d->n; p++)
        for (uint32_t w = 0; w < d->words; w++)
            for (uint64_t bits = r->ahead[(size_t)p * d->words + w]; bits; bits &= bits - 1) {
                uint32_t q = w * 64 + (uint32_t)__builtin_ctzll(bits);
                phase_bit_set(r->behind + (size_t)q * d->words, p);
            }
}

static int relations_make(struct resolving *r)
{
    struct phase_deps *d = r->d;
    static const uint8_t bits[PHASE_WHEN_COUNT] = {PHASE_AT_INSTALL, PHASE_AT_RUN,
                                                   PHASE_AT_INSTALL | PHASE_AT_RUN};
    struct str *names = arena_new(&d->mem, struct str, r->names.n);
    int rc = 0;
    for (size_t i = 0; i < r->names.n; i++)
        names[i] = (struct str){arena_strndup(&d->mem, r->names.at[i].s, r->names.at[i].n),
                                r->names.at[i].n};
    d->names = names;
    d->n = (uint32_t)r->names.n;
    d->words = (d->n + 63) / 64;
    for (int w = 0; w < PHASE_WHEN_COUNT && rc >= 0; w++) {
        SCOPED_ARENA(scratch);
        struct csr c = links_sorted(r, &scratch, bits[w]);
        if (w == PHASE_WHEN_ANY)
            places_of_parts(d, &scratch, &c, &d->of[w]);
        else
            rc = places_sort(r, &scratch, &c, (enum phase_when)w, &d->of[w]);
        if (rc >= 0)
            rows_fill(d, &c, w == PHASE_WHEN_ANY, &d->of[w]);
    }
    return rc;
}

/* --- from end to end --- */

int phase_deps_make(const struct phase_service *services, uint32_t n, bool lenient,
                    struct phase_deps **ret, struct err *e)
{
    struct err unread;
    if (n > PHASE_MAX_SERVICES)
        return err_set(e, ERR_LIMIT, "%u services in a cluster, more than %d", n,
                       PHASE_MAX_SERVICES);
    struct resolving r = {.services = services, .e = e ? e : &unread};
    r.d = xcalloc(1, sizeof *r.d);
    arena_init(&r.d->mem);
    r.d->n_services = n;
    int rc = depends_resolve(&r, n, lenient);
    if (rc >= 0)
        rc = relations_make(&r);
    strmap_done(&r.numbers);
    vec_done(&r.providers);
    vec_done(&r.names);
    vec_done(&r.links);
    if (rc >= 0)
        *ret = r.d;
    else
        phase_deps_free(r.d);
    return rc < 0 ? rc : 0;
}

void phase_deps_free(struct phase_deps *d)
{
    if (!d)
        return;
    arena_done(&d->mem);
    free(d);
}
