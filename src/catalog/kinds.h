/* kinds.h - what clusters are made of besides roles: hardware, images, providers, templates and
 * comparators
 *
 * They are read from files beside those of roles and belong to the same generation (catalog.h).
 * Between generations everything is known by name, and a template keeps the names it was written
 * with: resolved, it is one JSON document that a cluster keeps and reads back years later, whatever
 * the catalog has become (template_merge.c).
 *
 * Quantities are integers.  Costs are millionths of whatever unit a site reckons in, capacities and
 * demands are thousandths, so that 7.5 is 7500 and sums are exact.
 *
 * A kind of a lenient barclamp that is at fault is kept under its name with the first of its
 * faults, as a role is, and whoever needs it is refused with that fault.
 *
 * The format is docs/rfc/08-clusters.md, section 3.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CATALOG_KINDS_H
#define CATALOG_KINDS_H

#include "catalog/catalog.h"

#define CATALOG_COST_UNIT   1000000ll
#define CATALOG_AMOUNT_UNIT 1000ll
enum {                              /* what a user may size */
       CATALOG_MAX_KINDS = 20000,   /* of hardware, of images ... each */
       CATALOG_MAX_NODES = 1000000, /* of one cluster */
       CATALOG_MAX_COUNT =
           1000000,            /* instances of a service, numerator or denominator of a ratio */
       CATALOG_MAX_CHAIN = 64, /* templates over each other */
};

struct catalog_names { /* a list of names as written, each once */
    const struct str *at;
    uint32_t n;
};
struct catalog_kind { /* what all of them have */
    struct str name, description;
    uint32_t barclamp; /* CATALOG_NONE: built in */
    struct catalog_where where;
    const char *fault; /* of a lenient barclamp: it cannot be used, and why; NULL: sound */
    struct catalog_where fault_where;
};

/* --- hardware and images --- */

struct catalog_offer { /* hardware, or an image, as one provider has it */
    struct str provider_name;
    uint32_t provider;                       /* in catalog.providers; CATALOG_NONE: a fault */
    const struct value *data;                /* the map as written: for the provider's tasks */
    struct str flavor;                       /* hardware */
    bool has_cost;                           /* hardware: whether one is known; else cost is 0 */
    int64_t cost;                            /* millionths */
    const struct catalog_amount *capacities; /* hardware: every number but the cost */
    uint32_t n_capacities;
    struct str image, user; /* image: what the provider calls it; who logs in, default root */
    struct catalog_where where;
};
struct catalog_hardware {
    struct catalog_kind kind;
    const struct catalog_offer *offers; /* as listed, each provider once */
    uint32_t n_offers;
};
struct catalog_image {
    struct catalog_kind kind;
    const struct catalog_offer *offers;
    uint32_t n_offers;
};
/* NULL: that provider does not have it. */
const struct catalog_offer *catalog_offer_get(const struct catalog_offer *offers, uint32_t n,
                                              struct str provider);
/* 0 if there is none of that name. */
int64_t catalog_amount_get(const struct catalog_amount *amounts, uint32_t n, struct str name);

/* --- providers --- */

#define PROVIDER_ACTIONS(X)                                                                        \
    X(CREATE, "create")                                                                            \
    X(CONFIRM, "confirm")                                                                          \
    X(BOOTSTRAP, "bootstrap")                                                                      \
    X(DELETE, "delete")
enum provider_action {
#define X(id, text) PROVIDER_##id,
    PROVIDER_ACTIONS(X)
#undef X
        PROVIDER_ACTION_COUNT
};
const char *provider_action_name(enum provider_action a);

struct catalog_label { /* values that new nodes may be given */
    struct str name;
    struct catalog_names values;
};
struct provider_field { /* what may be said to a provider besides its config */
    struct str name, label, type, tip;
    bool by_admin;                 /* in the catalog; else by whoever makes a cluster */
    bool may_override;             /* of an admin's: a request may say otherwise */
    bool sensitive;                /* kept apart from everything else, never shown */
    const struct value *choice;    /* a list that the value must be of; NULL: anything */
    const struct value *otherwise; /* its default; NULL: none */
    struct catalog_where where;
};
struct catalog_provider {
    struct catalog_kind kind;
    uint32_t jig; /* of its tasks; CATALOG_NONE: it has none */
    struct catalog_action actions[PROVIDER_ACTION_COUNT]; /* without steps where it has none */
    const struct value *config;                           /* a map, handed to its tasks */
    const struct catalog_label *labels;
    uint32_t n_labels;
    uint32_t max_nodes; /* machines being made and kept at once; 0: any number */
    const struct provider_field *fields;
    uint32_t n_fields;
    const struct catalog_names *required; /* sets of fields of which one must be given whole */
    uint32_t n_required;
};
const struct provider_field *provider_field_get(const struct catalog_provider *p, struct str name);
/* What of the fields that a request gives goes to the provider: those of users, and an admin's that
 * may be overridden.  Sensitive ones apart.  The rest is listed by name: nothing of it counts, and
 * the caller says so.  Each is a map, a map and a list, in the arena. */
void provider_fields_split(struct arena *a, const struct catalog_provider *p,
                           const struct value *given, const struct value **ret_plain,
                           const struct value **ret_sensitive, const struct value **ret_dropped);
/* Is one of the sets of required fields there, from the request, the config or a default?
 * ERR_INVALID names what is missing of each. */
int provider_fields_check(const struct catalog_provider *p, const struct value *given,
                          struct err *e);

/* --- templates --- */

struct template_fraction { /* den 0: not given */
    uint32_t num, den;
};
struct template_rule { /* of one service */
    struct str service;
    uint32_t min, max, step;               /* max CATALOG_NONE: any number; min by default 1 */
    struct catalog_names hardware, images; /* none: any */
    bool everywhere;                       /* on every node */
    struct str ratio_of;                   /* "nodes", or a service; "": no ratio */
    struct template_fraction ratio_min, ratio_max;
};
struct template_spread {
    struct str service, over; /* over: a label */
    uint32_t skew;            /* most that two values of the label may differ by */
};
struct template_link { /* where people find what a cluster offers; the url may have macros */
    struct str label, url;
};
#define CALLBACKS(X)                                                                               \
    X(START, "start")                                                                              \
    X(SUCCESS, "success")                                                                          \
    X(FAILURE, "failure")
enum callback_bit {
#define X(id, text) CALLBACK_BIT_##id,
    CALLBACKS(X)
#undef X
        CALLBACK_BIT_COUNT
};
const char *callback_name(enum callback_bit bit);

struct catalog_template {
    struct catalog_kind kind;
    bool partial, immutable;
    bool resolved; /* nothing is left to be merged */
    struct str extends;
    struct catalog_names includes;
    /* defaults */
    struct catalog_names services;
    struct str provider, hardware, image, domain, comparator; /* "": not said */
    const struct value *config;                               /* a map */
    /* compatibility; none: all */
    struct catalog_names may_hardware, may_images, may_services;
    /* constraints */
    const struct catalog_names *together, *apart;
    uint32_t n_together, n_apart;
    uint32_t min_nodes, max_nodes; /* 1 and CATALOG_NONE unless said */
    const struct template_rule *rules;
    uint32_t n_rules;
    const struct template_spread *spreads;
    uint32_t n_spreads;
    /* administration */
    bool has_lease;
    uint64_t lease_initial_ms, lease_max_ms, lease_step_ms; /* 0: for ever, no end, none */
    struct str callback_url;                                /* "": no callbacks */
    uint32_t callbacks;                                     /* 1u << enum callback_bit */
    bool callback_required; /* that of the start must be taken, or nothing is run */
    const struct template_link *links;
    uint32_t n_links;
    const struct value *body; /* as written; resolved: what it is kept as */
};
const struct template_rule *template_rule_get(const struct catalog_template *t, struct str service);

/* The template with all that it extends and includes merged into it; in the arena, and independent
 * of the catalog.  ERR_UNKNOWN_NAME, with the nearest, if there is none; ERR_REFUSED if it is a
 * partial, at fault, lacks services or a provider, or sets what an immutable partial has fixed. */
int catalog_template_resolve(const struct catalog *c, struct str name, struct arena *a,
                             const struct catalog_template **ret, struct err *e);
/* The same of bodies that are at hand, in the order in which they are merged; the last is it. */
struct template_part {
    const struct value *body;
    bool partial, immutable;
};
int catalog_template_merge(const struct template_part *parts, size_t n, struct arena *a,
                           const struct catalog_template **ret, struct err *e);
/* Reads back the body of one that was resolved. */
int catalog_template_read(struct arena *a, const struct value *body,
                          const struct catalog_template **ret, struct err *e);

/* May a lease that ends at `ends` end at `until` instead?  Times on one clock, 0: never. Shortening
 * is free, though not to before it began; prolonging is by a step at a time, not past the most.
 * ERR_REFUSED. */
int template_lease_check(const struct catalog_template *t, uint64_t began, uint64_t ends,
                         uint64_t until, struct err *e);

/* --- comparators --- */

struct comparator_key {
    struct str name; /* cost, nodes, services, or a capacity */
    bool more;       /* more is better */
};
struct catalog_comparator {
    struct catalog_kind kind;
    const struct comparator_key *keys;
    uint32_t n_keys;
};

/* Borrowed, NULL if there is none. */
const struct catalog_hardware *catalog_hardware_get(const struct catalog *c, struct str name);
const struct catalog_image *catalog_image_get(const struct catalog *c, struct str name);
const struct catalog_provider *catalog_provider_get(const struct catalog *c, struct str name);
const struct catalog_template *catalog_template_get(const struct catalog *c, struct str name);
const struct catalog_comparator *catalog_comparator_get(const struct catalog *c, struct str name);

#endif
