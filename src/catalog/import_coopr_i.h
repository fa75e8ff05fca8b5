/* import_coopr_i.h - one import of Coopr's entities in the making
 *
 *   import_coopr.c            which texts count, what each is, who is called what; the steps
 *   import_coopr_service.c    services to roles with phases
 *   import_coopr_kind.c       hardware, images, providers and their plugin descriptors
 *   import_coopr_template.c   templates, whole and partial
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CATALOG_IMPORT_COOPR_I_H
#define CATALOG_IMPORT_COOPR_I_H

#include "catalog/import_i.h"
#include "catalog/kinds.h"

#define COOPR_BARCLAMP "coopr"

/* What an entity is, its folder here, its list in an export of theirs, and what people call it. */
#define COOPR_KINDS(X)                                                                             \
    X(SERVICE, "roles", "services", "service")                                                     \
    X(HARDWARE, "hardware", "hardwaretypes", "hardware type")                                      \
    X(IMAGE, "images", "imagetypes", "image")                                                      \
    X(PROVIDER, "providers", "providers", "provider")                                              \
    X(TEMPLATE, "templates", "clustertemplates", "template")                                       \
    X(PARTIAL, "templates", "partialtemplates", "template")
enum coopr_kind {
#define X(id, folder, list, what) COOPR_##id,
    COOPR_KINDS(X)
#undef X
        COOPR_KIND_COUNT
};

struct coopr_item {
    uint8_t kind;     /* enum coopr_kind */
    const char *name; /* ours */
    const struct value *v;
};
struct coopr {
    struct crow x;
    VEC(struct coopr_item) items;
    /* By kind; those of templates are in TEMPLATE, whole or partial.  Names that services provide
     * are in SERVICE too, as they are one name space here. */
    struct crow_names names[COOPR_KIND_COUNT];
    struct strmap taken[COOPR_KIND_COUNT]; /* given names that an item has */
    struct strmap types;                   /* provider type -> parameters of its descriptor */
    struct crow_names jigs;                /* automator and provider types */
    struct strmap automators;              /* those of the services */
};

/* Our name of an entity that a value of the source names; NULL, and told about as left out of
 * `what`, if the source has none. */
const char *coopr_ref(struct coopr *o, enum coopr_kind kind, const struct value *v,
                      const char *what);
/* A list of such names, without those that are not there; NULL if none is left. */
struct value *coopr_refs(struct coopr *o, enum coopr_kind kind, const struct value *list,
                         const char *what);
/* The jig that executes a type. */
const char *coopr_jig(struct coopr *o, const struct value *type, struct str given);
/* A number from a text or a number of the source; NULL if it is none from 0 on. */
const struct value *coopr_number(struct coopr *o, const struct value *v);
/* Tells what of a map is not among the keys. */
void coopr_rest(struct coopr *o, const struct value *map, const char *const *known, size_t n,
                const char *what, const char *why);
/* {name, ...} of a task as all imported ones are. */
struct value *coopr_task(struct coopr *o, const char *action, const char *of);

struct value *coopr_service(struct coopr *o, const struct coopr_item *item);
struct value *coopr_hardware(struct coopr *o, const struct coopr_item *item);
struct value *coopr_image(struct coopr *o, const struct coopr_item *item);
struct value *coopr_provider(struct coopr *o, const struct coopr_item *item);
/* A descriptor of provider or automator types; what is kept of it are fields of providers. */
void coopr_plugin(struct coopr *o, const struct value *v);
struct value *coopr_template(struct coopr *o, const struct coopr_item *item);

#endif
