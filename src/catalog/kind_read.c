/* kind_read.c - hardware, images and comparators; and what is common to all kinds
 *
 * Hardware and images are what providers have under names of their own: a map from providers to
 * what each calls it and knows about it.  Every number of hardware but its cost is a capacity that
 * services may demand; everything, whatever it is, goes to the provider's tasks as it was written.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "catalog/catalog_i.h"

#include <math.h>

#include "base/text.h"

#define COUNT(table) (sizeof(table) / sizeof *(table))

/* --- all kinds --- */

void catalog_kind_name(struct load *l, const struct value *v, void *object)
{
    ((struct catalog_kind *)object)->name = catalog_read_name(l, v, "its name");
}

void catalog_kind_description(struct load *l, const struct value *v, void *object)
{
    ((struct catalog_kind *)object)->description = catalog_read_text(l, v, "\"description\"");
}

bool catalog_kind_read(struct load *l, const struct value *v, const struct kind_shape *shape,
                       bool *ret_lenient, void *object)
{
    struct catalog_kind *kind = object;
    bool lenient = l->lenient && text_is_name(value_as_str(value_get(v, shape->key)));

    *kind = (struct catalog_kind){.barclamp = l->barclamp, .where = catalog_where_of(v)};
    catalog_excuse(l, lenient, &kind->fault, &kind->fault_where);
    bool map = catalog_read_fields(l, v, shape->what, shape->fields, shape->n_fields, object);
    catalog_excuse_none(l);
    *ret_lenient = lenient;
    if (map && !value_get(v, shape->key)) {
        struct err *e = catalog_error(l, v, ERR_INVALID, "%s needs a name", shape->what);
        (void)err_hint(e, "begin it with \"%s: NAME\"", shape->key);
    }
    return kind->name.n > 0;
}

bool catalog_kind_index(struct load *l, struct strmap *index, const void *at, size_t n, size_t size,
                        const char *what, const struct catalog_kind *kind)
{
    if (n >= CATALOG_MAX_KINDS) {
        catalog_fault(l, CATALOG_ERROR, ERR_LIMIT, kind->where, "more than %d %ss",
                      CATALOG_MAX_KINDS, what);
        return false;
    }
    uint32_t first = catalog_index_add(index, kind->name, (uint32_t)n);
    if (first != CATALOG_NONE) {
        const struct catalog_kind *other = (const void *)((const char *)at + first * size);
        catalog_twice(l, what, kind->name, kind->where, other->where);
    }
    return true;
}

/* --- offers --- */

static struct str offer_text(struct load *l, const struct value *map, const char *key,
                             const char *otherwise)
{
    const struct value *v = value_get(map, key);

    if (v)
        return catalog_read_text(l, v, key);
    if (!otherwise)
        catalog_error(l, map, ERR_INVALID, "the provider's name for it is missing: \"%s\"", key);
    return str_of(otherwise ? otherwise : "");
}

/* Every number of it that is not its cost; finer parts than we reckon with are not there. */
static void offer_capacities(struct load *l, const struct value *map, struct catalog_offer *o)
{
    struct catalog_amount *amounts = arena_new(l->mem, struct catalog_amount, map->n);
    uint32_t n = 0;

    for (uint32_t i = 0; i < map->n; i++) {
        const struct member *m = &map->members[i];
        struct str key = {m->key, m->key_n};
        bool number = m->v.kind == VALUE_INT || m->v.kind == VALUE_REAL;
        double worth = m->v.kind == VALUE_INT ? (double)m->v.i : number ? m->v.r : -1;
        if (!number || str_is(key, "cost") || !text_is_name(key) || worth < 0 || worth > 1e9)
            continue;
        amounts[n++] = (struct catalog_amount){
            {arena_strndup(l->mem, key.s, key.n), key.n},
            (int64_t)floor(worth * (double)CATALOG_AMOUNT_UNIT + 1e-6)};
    }
    o->capacities = amounts;
    o->n_capacities = n;
}

static void offer_read_hardware(struct load *l, const struct value *map, struct catalog_offer *o)
{
    const struct value *cost = value_get(map, "cost");

    o->flavor = offer_text(l, map, "flavor", NULL);
    o->has_cost = cost != NULL;
    if (cost)
        o->cost = catalog_read_amount(l, cost, "\"cost\"", CATALOG_COST_UNIT);
    offer_capacities(l, map, o);
}

static void offer_read_image(struct load *l, const struct value *map, struct catalog_offer *o)
{
    o->image = offer_text(l, map, "image", NULL);
    o->user = offer_text(l, map, "user", "root");
}

static struct catalog_offer *offers_read(struct load *l, const struct value *v,
                                         void (*one)(struct load *l, const struct value *map,
                                                     struct catalog_offer *o),
                                         uint32_t *ret_n)
{
    *ret_n = 0;
    if (v->kind != VALUE_MAP || v->n > CATALOG_MAX_LIST) {
        catalog_error(l, v, ERR_INVALID, "\"providers\" must be a map from providers to maps");
        return NULL;
    }
    struct catalog_offer *offers = arena_new(l->mem, struct catalog_offer, v->n);
    for (uint32_t i = 0; i < v->n; i++) {
        const struct value *map = &v->members[i].v;
        struct value key = catalog_key_of(v, &v->members[i]);
        struct catalog_offer *o = &offers[*ret_n];
        *o = (struct catalog_offer){.provider = CATALOG_NONE, .where = catalog_where_of(&key)};
        o->provider_name = catalog_read_name(l, &key, "a provider's name");
        o->data = catalog_read_map(l, map, "what a provider has");
        if (map->kind == VALUE_MAP)
            one(l, map, o);
        *ret_n += o->provider_name.n > 0;
    }
    return offers;
}

static void offers_need(struct load *l, const struct value *v, const struct catalog_kind *kind,
                        uint32_t n)
{
    if (!n && !value_get(v, "providers"))
        catalog_fault(l, CATALOG_WARNING, ERR_INVALID, kind->where, "no provider has \"%s\"",
                      kind->name.s);
}

/* --- hardware --- */

static void hardware_providers(struct load *l, const struct value *v, void *object)
{
    struct load_hardware *h = object;
    h->offers = offers_read(l, v, offer_read_hardware, &h->hardware.n_offers);
    h->hardware.offers = h->offers;
}

static const struct field hardware_fields[] = {
    {"hardware", catalog_kind_name},
    {"description", catalog_kind_description},
    {"providers", hardware_providers},
};

void catalog_read_hardware(struct load *l, const struct value *v)
{
    static const struct kind_shape shape = {"hardware", "a hardware type", hardware_fields,
                                            COUNT(hardware_fields)};
    struct load_hardware h = {.at = v};

    if (!catalog_kind_read(l, v, &shape, &h.lenient, &h))
        return;
    offers_need(l, v, &h.hardware.kind, h.hardware.n_offers);
    KIND_ADD(l, hardware, by_hardware, "hardware type", h);
}

/* --- images --- */

static void image_providers(struct load *l, const struct value *v, void *object)
{
    struct load_image *i = object;
    i->offers = offers_read(l, v, offer_read_image, &i->image.n_offers);
    i->image.offers = i->offers;
}

static const struct field image_fields[] = {
    {"image", catalog_kind_name},
    {"description", catalog_kind_description},
    {"providers", image_providers},
};

void catalog_read_image(struct load *l, const struct value *v)
{
    static const struct kind_shape shape = {"image", "an image", image_fields, COUNT(image_fields)};
    struct load_image i = {.at = v};

    if (!catalog_kind_read(l, v, &shape, &i.lenient, &i))
        return;
    offers_need(l, v, &i.image.kind, i.image.n_offers);
    KIND_ADD(l, images, by_image, "image", i);
}

/* --- comparators --- */

static void comparator_keys(struct load *l, const struct value *v, void *object)
{
    struct catalog_comparator *c = object;
    const struct value *list = catalog_read_list(l, v, "\"keys\"");
    struct comparator_key *keys = arena_new(l->mem, struct comparator_key, list->n);
    struct strmap seen = {0};

    for (uint32_t i = 0; i < list->n; i++) {
        struct value item = list->items[i];
        bool more = item.kind == VALUE_STRING && item.n && item.s[0] == '-';
        item.s += more;
        item.n -= more;
        struct str name = catalog_read_name(l, &item, "a key, which may begin with \"-\"");
        if (!name.n)
            continue;
        if (strmap_put(&seen, name, i))
            keys[c->n_keys++] = (struct comparator_key){name, more};
        else
            catalog_error(l, &item, ERR_INVALID, "\"%s\" is compared already", name.s);
    }
    strmap_done(&seen);
    c->keys = keys;
}

static const struct field comparator_fields[] = {
    {"comparator", catalog_kind_name},
    {"description", catalog_kind_description},
    {"keys", comparator_keys},
};

void catalog_read_comparator(struct load *l, const struct value *v)
{
    static const struct kind_shape shape = {"comparator", "a comparator", comparator_fields,
                                            COUNT(comparator_fields)};
    struct load_comparator c = {.at = v};

    if (!catalog_kind_read(l, v, &shape, &c.lenient, &c))
        return;
    KIND_ADD(l, comparators, by_comparator, "comparator", c);
}

/* Those that are in every generation; a catalog may have others, not others of these names. */
void catalog_builtin_comparators(struct load *l)
{
    static const struct comparator_key cost[] = {{{"cost", 4}, false}, {{"services", 8}, true}};
    static const struct comparator_key fewest[] = {
        {{"nodes", 5}, false}, {{"cost", 4}, false}, {{"services", 8}, true}};
    static const struct {
        const char *name, *description;
        const struct comparator_key *keys;
        uint32_t n_keys;
    } built_in[] = {
        {"cost", "the cheapest", cost, COUNT(cost)},
        {"fewest-nodes", "the fewest nodes, then the cheapest", fewest, COUNT(fewest)},
        {"coopr", "the original order alone", NULL, 0},
    };

    for (size_t i = 0; i < COUNT(built_in); i++) {
        struct load_comparator c = {0};
        struct catalog_kind *kind = &c.comparator.kind;
        uintptr_t taken;
        kind->name = str_of(built_in[i].name);
        kind->description = str_of(built_in[i].description);
        kind->barclamp = CATALOG_NONE;
        kind->where.file = CATALOG_NONE;
        c.comparator.keys = built_in[i].keys;
        c.comparator.n_keys = built_in[i].n_keys;
        if (strmap_get(&l->by_comparator, kind->name, &taken)) {
            catalog_fault(l, CATALOG_ERROR, ERR_EXISTS,
                          l->comparators.at[taken].comparator.kind.where,
                          "comparator \"%s\" is built in", kind->name.s);
            continue;
        }
        strmap_put(&l->by_comparator, kind->name, l->comparators.n);
        vec_push(&l->comparators, c);
    }
}
