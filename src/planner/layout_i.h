/* layout_i.h - a layout in the making
 *
 *   layout.c        from end to end; the answer in names
 *   layout_pick.c   what was asked for, found in the catalog, or refused
 *   layout_offer.c  hardware and images: which are offered, which only exist
 *   layout_rule.c   the rules of template and roles as a problem
 *   layout_why.c    reasons and changes in words, with their place in the template
 *   layout_value.c  answers as documents, nodes that exist read back
 *   layout_name.c   what nodes are called
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLANNER_LAYOUT_I_H
#define PLANNER_LAYOUT_I_H

#include "base/alloc.h"
#include "planner/layout.h"

struct layout_offer { /* hardware or an image */
    struct str name;
    const struct catalog_offer *offer; /* NULL: the provider does not have it */
    bool old;                          /* no new node has it */
};
struct layout_offers { /* by name: the place is the solver's number */
    struct layout_offer *at;
    uint32_t n;
};
struct layout_set {  /* where a set of the problem comes from */
    uint32_t number; /* in the template; CATALOG_NONE: a role conflicts with another */
    uint32_t service;
};
struct layouting {
    struct arena *mem; /* of the answer */
    const struct layout_request *req;
    const struct catalog *c;
    const struct catalog_template *t;
    const struct catalog_provider *provider;
    const struct catalog_comparator *comparator;
    struct catalog_names services; /* by name: the place is the solver's number */
    const struct catalog_role **roles;
    struct layout_offers hardware, images;
    struct str resources[SOLVER_MAX_RESOURCES];
    struct str label; /* that is spread over; "": none */
    struct catalog_names values;
    struct solver_problem p;
    struct layout_set *together, *apart; /* by set of the problem */
    VEC(struct str) warnings;
    struct err *e;
};

/* layout_pick.c */
int layout_pick_services(struct layouting *x);
int layout_pick_requires(struct layouting *x); /* is everything there that they require? */
int layout_pick_provider(struct layouting *x);
int layout_pick_comparator(struct layouting *x);
/* ERR_UNKNOWN_NAME with the nearest key of `known`; what: "image". */
int layout_unknown(struct layouting *x, const char *what, struct str name,
                   const struct strmap *known);
/* ERR_REFUSED if it is at fault. */
int layout_sound(struct layouting *x, const char *what, const struct catalog_kind *kind);

/* layout_offer.c */
int layout_offers_pick(struct layouting *x);

/* layout_rule.c: x->p, when everything is picked. */
int layout_problem_make(struct layouting *x);

/* layout_why.c */
struct layout_reason layout_why(const struct layouting *x, struct solver_ref ref);
struct layout_change layout_remedy(const struct layouting *x, const struct solver_change *change);

/* Place of a name in a sorted list; CATALOG_NONE. */
uint32_t layout_names_find(struct catalog_names names, struct str name);
bool layout_names_have(struct catalog_names names, struct str name); /* sorted or not */
uint32_t layout_offers_find(const struct layout_offers *o, struct str name);
void layout_warn(struct layouting *x, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
