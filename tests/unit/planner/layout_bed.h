/* layout_bed.h - a small site for tests of layouts, and layouts as a line of text
 *
 * A test says what a template's constraints are and what is asked for; a layout reads
 * "1 base,db large/centos; 2 base,web small/centos rack=r1 was 0".
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_LAYOUT_BED_H
#define TESTS_LAYOUT_BED_H

#include "tap.h"

#include "base/alloc.h"
#include "base/json.h"
#include "planner/layout.h"

#ifndef HELPER
#define HELPER __attribute__((unused)) static
#endif

/* Six services and what they run on; one role that is none, one service at fault. */
static const char site_text[] = "barclamp: site\n"
                                "jigs: [{name: sh, implementation: noop}]\n";
static const char roles_text[] =
    "- {name: base, jig: sh, actions: {install: [{name: t}]}}\n"
    "- {name: web, jig: sh, actions: {install: [{name: t}]}}\n"
    "- {name: db, jig: sh, provides: [sql], actions: {install: [{name: t}]}}\n"
    "- {name: cache, jig: sh, actions: {install: [{name: t}]}}\n"
    "- {name: app, jig: sh, requires: {run: [sql]}, actions: {install: [{name: t}]}}\n"
    "- {name: hog, jig: sh, demands: {ram: 4}, actions: {install: [{name: t}]}}\n"
    "- {name: rival, jig: sh, conflicts: [sql], actions: {install: [{name: t}]}}\n"
    "- {name: plain, jig: sh, actions: {converge: [{name: t}]}}\n";
static const char hardware_text[] =
    "- {hardware: small, providers: {acme: {flavor: s, cost: 0.05, ram: 6}}}\n"
    "- {hardware: large, providers: {acme: {flavor: l, cost: 0.2, ram: 8.5}}}\n"
    "- {hardware: gift, providers: {acme: {flavor: g, ram: 1}}}\n"
    "- {hardware: gold, providers: {other: {flavor: x, cost: 9}}}\n";
static const char images_text[] = "- {image: centos, providers: {acme: {image: c}}}\n"
                                  "- {image: ubuntu, providers: {acme: {image: u}}}\n"
                                  "- {image: exotic, providers: {other: {image: e}}}\n";
static const char providers_text[] =
    "- {provider: acme, jig: sh, actions: {create: [{name: t}]}, labels: {rack: [r1, r2]}}\n"
    "- {provider: other, jig: sh, actions: {create: [{name: t}]}}\n";
static const char comparators_text[] = "- {comparator: roomy, keys: [-ram, cost]}\n";
static const char broken_text[] = "barclamp: old\nlenient: true\n"
                                  "jigs: [{name: osh, implementation: noop}]\n"
                                  "roles:\n"
                                  "  - {name: relic, jig: osh, requires: {run: [nobody]}, "
                                  "actions: {install: [{name: t}]}}\n";

struct layout_bed {
    struct arena mem;
    struct catalog *c;
    const struct catalog_template *t;
    const struct layout_answer *a;
    struct err err;
};
struct bed_ask {             /* "" and 0: not said */
    const char *constraints; /* of the template, YAML on one line */
    const char *services, *involved, *existing, *hardware, *image, *provider, *comparator;
    uint32_t min, max, give_up;
    uint64_t steps;
};

HELPER int bed_load(struct layout_bed *b, const char *template)
{
    const struct catalog_file files[] = {
        {str_of("site/barclamp.yaml"), str_of(site_text)},
        {str_of("site/roles/all.yaml"), str_of(roles_text)},
        {str_of("site/hardware/all.yaml"), str_of(hardware_text)},
        {str_of("site/images/all.yaml"), str_of(images_text)},
        {str_of("site/providers/all.yaml"), str_of(providers_text)},
        {str_of("site/comparators/all.yaml"), str_of(comparators_text)},
        {str_of("site/templates/shop.yaml"), str_of(template)},
        {str_of("old/barclamp.yaml"), str_of(broken_text)},
    };
    struct catalog_source source = {files, sizeof files / sizeof *files};
    struct catalog_report report = {0};
    int rc = catalog_load(&source, NULL, 1, &report, &b->c, &b->err);
    catalog_report_done(&report);
    return rc < 0 ? rc : catalog_template_resolve(b->c, str_of("shop"), &b->mem, &b->t, &b->err);
}

HELPER void bed_done(struct layout_bed *b)
{
    catalog_unref(b->c);
    arena_done(&b->mem);
}

HELPER struct catalog_names bed_names(struct arena *mem, const char *text)
{
    struct str *names = arena_new(mem, struct str, strlen(text ? text : "") + 1);
    uint32_t n = 0;
    for (const char *at = text ? text : ""; *at; at += *at == ',') {
        names[n++] = (struct str){at, strcspn(at, ",")};
        at += names[n - 1].n;
    }
    return (struct catalog_names){names, n};
}

/* Solves with the template's constraints; what it was refused for is in b->err. */
HELPER int bed_solve(struct layout_bed *b, const struct bed_ask *ask)
{
    *b = (struct layout_bed){0};
    arena_init(&b->mem);
    const char *template = arena_printf(
        &b->mem,
        "template: shop\n"
        "defaults: {services: [base, web, db], provider: acme, hardware: small, image: centos}\n"
        "compatibility: {hardware: [small, large, gold], images: [centos, ubuntu], services: "
        "[base, web, db, cache, app, hog, rival]}\n"
        "constraints: {%s}\n",
        ask->constraints ? ask->constraints : "");
    struct layout_request req = {.services = bed_names(&b->mem, ask->services),
                                 .involved = bed_names(&b->mem, ask->involved),
                                 .provider = str_of(ask->provider ? ask->provider : ""),
                                 .hardware = str_of(ask->hardware ? ask->hardware : ""),
                                 .image = str_of(ask->image ? ask->image : ""),
                                 .comparator = str_of(ask->comparator ? ask->comparator : ""),
                                 .nodes_min = ask->min,
                                 .nodes_max = ask->max ? ask->max : ask->min,
                                 .give_up = ask->give_up,
                                 .max_steps = ask->steps};
    int rc = bed_load(b, template);
    if (rc >= 0 && ask->existing) {
        struct value *v;
        rc = json_parse(&b->mem, ask->existing, strlen(ask->existing), NULL, &v, &b->err);
        if (rc >= 0)
            rc = layout_nodes_read(&b->mem, v, &req.existing, &req.n_existing, &b->err);
    }
    req.catalog = b->c;
    req.template = b->t;
    return rc < 0 ? rc : layout_solve(&b->mem, &req, &b->a, &b->err);
}

HELPER const char *bed_layout(struct layout_bed *b)
{
    SCOPED_BUF(text);
    for (uint32_t i = 0; i < b->a->n_kinds; i++) {
        const struct layout_kind *k = &b->a->kinds[i];
        buf_printf(&text, "%s%u ", i ? "; " : "", k->count);
        for (uint32_t s = 0; s < k->n_services; s++)
            buf_printf(&text, "%s%.*s", s ? "," : "", (int)k->services[s].n, k->services[s].s);
        buf_printf(&text, " %.*s/%.*s", (int)k->hardware.n, k->hardware.s, (int)k->image.n,
                   k->image.s);
        for (uint32_t l = 0; l < k->n_labels; l++)
            buf_printf(&text, " %.*s=%.*s", (int)k->labels[l].name.n, k->labels[l].name.s,
                       (int)k->labels[l].value.n, k->labels[l].value.s);
        if (k->existing != LAYOUT_NEW)
            buf_printf(&text, " was %u", k->existing);
    }
    return arena_strndup(&b->mem, buf_str(&text).s, text.len);
}

/* "a; b" of a conflict, or of what helps. */
HELPER const char *bed_why(struct layout_bed *b, bool remedy)
{
    SCOPED_BUF(text);
    for (uint32_t i = 0; i < (remedy ? b->a->n_relaxation : b->a->n_conflict); i++)
        buf_printf(&text, "%s%s", i ? "; " : "",
                   remedy ? b->a->relaxation[i].text.s : b->a->conflict[i].text.s);
    return arena_strndup(&b->mem, buf_str(&text).s, text.len);
}

#endif
