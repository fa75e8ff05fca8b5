/* phase_bed.h - clusters for tests of phases, said in a few words
 *
 * A service is a line "name: install configure start; provides x; run a b; uses c; install d;
 * rolling 2"; a node a line "n1: a b c".  After what is asked for the graph is made; tasks have
 * names as "n1:start:a", "n1:create".
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_PHASE_BED_H
#define TESTS_PHASE_BED_H

#include "tap.h"

#include "base/alloc.h"
#include "catalog/catalog.h"
#include "planner/phase.h"

#ifndef HELPER
#define HELPER __attribute__((unused)) static
#endif

struct phase_bed {
    struct arena mem;
    VEC(struct phase_service) services;
    VEC(struct phase_node) nodes;
    struct phase_cluster c;
    struct phase_deps *d;
    struct phase_work w;
    struct phase_graph *g;
    bool lenient;
    struct err err;
};

HELPER void bed_init(struct phase_bed *b)
{
    *b = (struct phase_bed){0};
    arena_init(&b->mem);
}

HELPER void bed_done(struct phase_bed *b)
{
    phase_graph_free(b->g);
    phase_deps_free(b->d);
    vec_done(&b->services);
    vec_done(&b->nodes);
    arena_done(&b->mem);
}

HELPER uint32_t bed_service_find(const struct phase_bed *b, struct str name)
{
    for (uint32_t i = 0; i < b->services.n; i++)
        if (str_eq(b->services.at[i].name, name))
            return i;
    return PHASE_NIL;
}

/* The next word; empty at the end of the text. */
HELPER struct str bed_word(const char **at)
{
    *at += strspn(*at, " ");
    struct str w = {*at, strcspn(*at, " ;:")};
    *at += w.n;
    return w;
}

HELPER void bed_depend(struct phase_bed *b, struct phase_service *s, struct str name, uint8_t when,
                       bool required)
{
    struct phase_depend *more = arena_new(&b->mem, struct phase_depend, s->n_depends + 1);
    for (uint32_t i = 0; i < s->n_depends; i++)
        more[i] = s->depends[i];
    more[s->n_depends++] = (struct phase_depend){name, when, required};
    s->depends = more;
}

HELPER void bed_provide(struct phase_bed *b, struct phase_service *s, struct str name)
{
    struct str *more = arena_new(&b->mem, struct str, s->n_provides + 1);
    for (uint32_t i = 0; i < s->n_provides; i++)
        more[i] = s->provides[i];
    more[s->n_provides++] = name;
    s->provides = more;
}

HELPER void bed_service(struct phase_bed *b, const char *text)
{
    const char *at = arena_strdup(&b->mem, text);
    struct phase_service s = {.name = bed_word(&at)};
    at += *at == ':';
    for (struct str w; (w = bed_word(&at)).n;) {
        if (!str_is(w, "all"))
            s.actions |= (uint16_t)(1u << phase_kind_from(w));
        else
            s.actions |= PHASE_F_SERVICE & ~(PHASE_F_UPGRADE | PHASE_F_ACTION);
    }
    while (*at == ';') {
        at++;
        struct str what = bed_word(&at);
        for (struct str w; (w = bed_word(&at)).n;) {
            if (str_is(what, "provides"))
                bed_provide(b, &s, w);
            else if (str_is(what, "rolling"))
                s.max = (uint32_t)strtoul(w.s, NULL, 10);
            else
                bed_depend(b, &s, w, str_is(what, "install") ? PHASE_AT_INSTALL : PHASE_AT_RUN,
                           !str_is(what, "uses"));
        }
        if (str_is(what, "rolling"))
            s.strategy = STRATEGY_ROLLING;
        if (str_is(what, "one_by_one"))
            s.strategy = STRATEGY_ONE_BY_ONE;
    }
    vec_push(&b->services, s);
}

HELPER void bed_node(struct phase_bed *b, const char *text)
{
    const char *at = arena_strdup(&b->mem, text);
    uint32_t *services = arena_new(&b->mem, uint32_t, b->services.n);
    struct phase_node n = {.name = bed_word(&at), .services = services, .machine = PHASE_F_MACHINE};
    at += *at == ':';
    for (struct str w; (w = bed_word(&at)).n;)
        services[n.n_services++] = bed_service_find(b, w);
    vec_push(&b->nodes, n);
}

/* --- making it --- */

HELPER int bed_deps(struct phase_bed *b)
{
    b->c = (struct phase_cluster){b->services.at, (uint32_t)b->services.n, b->nodes.at,
                                  (uint32_t)b->nodes.n};
    phase_deps_free(b->d);
    b->d = NULL;
    return phase_deps_make(b->services.at, (uint32_t)b->services.n, b->lenient, &b->d, &b->err);
}

HELPER int bed_graph(struct phase_bed *b)
{
    phase_graph_free(b->g);
    b->g = NULL;
    return phase_graph_make(&b->c, b->d, &b->w, &b->g, &b->err);
}

HELPER int bed_op(struct phase_bed *b, const struct phase_request *req)
{
    int rc = bed_deps(b);
    if (rc >= 0)
        rc = phase_work_init(&b->w, &b->c, &b->mem, &b->err);
    if (rc >= 0)
        rc = phase_request_op(req, &b->c, b->d, &b->w, &b->err);
    return rc < 0 ? rc : bed_graph(b);
}

/* Services and nodes by name, with blanks between; "": all. */
HELPER bool bed_does(struct phase_bed *b, enum phase_op op, const char *services, const char *nodes)
{
    bool *s = arena_new(&b->mem, bool, b->services.n), *n = arena_new(&b->mem, bool, b->nodes.n);
    struct phase_request req = {op, *services ? s : NULL, *nodes ? n : NULL, false};
    for (struct str w; (w = bed_word(&services)).n;)
        s[bed_service_find(b, w)] = true;
    for (struct str w; (w = bed_word(&nodes)).n;)
        for (uint32_t i = 0; i < b->nodes.n; i++)
            n[i] |= str_eq(b->nodes.at[i].name, w);
    if (bed_op(b, &req) >= 0)
        return true;
    return ok(false, "%s: %s", phase_op_name(op), b->err.text);
}

/* --- looking at it --- */

HELPER const char *bed_name(struct phase_bed *b, uint32_t v)
{
    const struct phase_vertex *at = &b->g->vertices[v];
    struct str node = b->nodes.at[at->node].name;
    const char *kind = phase_kind_name((enum phase_kind)at->kind);
    if (at->service == PHASE_NIL)
        return arena_printf(&b->mem, "%.*s:%s", (int)node.n, node.s, kind);
    struct str s = b->services.at[at->service].name;
    return arena_printf(&b->mem, "%.*s:%s:%.*s", (int)node.n, node.s, kind, (int)s.n, s.s);
}

/* All tasks, in order, with blanks between. */
HELPER const char *bed_tasks(struct phase_bed *b)
{
    SCOPED_BUF(text);
    for (uint32_t v = 0; v < b->g->n_tasks; v++)
        buf_printf(&text, "%s%s", v ? " " : "", bed_name(b, v));
    return arena_strndup(&b->mem, buf_str(&text).s, text.len);
}

HELPER uint32_t bed_find(struct phase_bed *b, const char *name)
{
    for (uint32_t v = 0; v < b->g->n_tasks; v++)
        if (!strcmp(bed_name(b, v), name))
            return v;
    return PHASE_NIL;
}

/* What a task waits for, joins looked through. */
HELPER const char *bed_before(struct phase_bed *b, const char *name)
{
    SCOPED_BUF(text);
    uint32_t v = bed_find(b, name), *deps = arena_new(&b->mem, uint32_t, b->g->n_tasks);
    if (v == PHASE_NIL)
        return "no such task";
    for (uint32_t i = 0, n = phase_edges(b->g, v, deps, b->g->n_tasks); i < n; i++)
        buf_printf(&text, "%s%s", i ? " " : "", bed_name(b, deps[i]));
    return arena_strndup(&b->mem, buf_str(&text).s, text.len);
}

#endif
