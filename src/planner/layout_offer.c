/* layout_offer.c - hardware and images: which are offered, which only exist
 *
 * Only what the provider has counts.  What the request names, else what the template names, is the
 * only one; where nobody names one, or "*" is asked for, all compatible ones are.  Nodes that exist
 * keep theirs, whatever is offered today.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "base/sort.h"
#include "planner/layout_i.h"

struct offering { /* one of the two kinds */
    struct layouting *x;
    const char *what, *field;
    bool image;
    struct str asked, otherwise;
    struct catalog_names may;
    VEC(struct layout_offer) list;
};

struct thing { /* hardware, or an image */
    const struct catalog_kind *kind;
    const struct catalog_offer *offer; /* of the provider; NULL: none */
};

static struct thing thing_at(const struct offering *o, uint32_t i)
{
    const struct catalog *c = o->x->c;
    struct str provider = o->x->provider->kind.name;
    if (o->image) {
        const struct catalog_image *m = &c->images[i];
        return (struct thing){&m->kind, catalog_offer_get(m->offers, m->n_offers, provider)};
    }
    const struct catalog_hardware *h = &c->hardware[i];
    return (struct thing){&h->kind, catalog_offer_get(h->offers, h->n_offers, provider)};
}

static uint32_t things(const struct offering *o)
{
    return o->image ? o->x->c->n_images : o->x->c->n_hardware;
}

static const struct strmap *index_of(const struct offering *o)
{
    return o->image ? &o->x->c->by_image : &o->x->c->by_hardware;
}

static bool compatible(const struct offering *o, struct str name)
{
    return !o->may.n || layout_names_have(o->may, name);
}

/* What the provider has and the template allows, for a hint. */
static void offers_hint(const struct offering *o)
{
    SCOPED_BUF(text);
    for (uint32_t i = 0; i < things(o) && text.len < 180; i++) {
        struct thing t = thing_at(o, i);
        if (t.offer && !t.kind->fault && compatible(o, t.kind->name))
            buf_printf(&text, "%s%s", text.len ? ", " : "", t.kind->name.s);
    }
    if (text.len)
        (void)err_hint(o->x->e, "there are %s", text.data);
}

static int named_add(struct offering *o, struct str name)
{
    struct layouting *x = o->x;
    uintptr_t at;
    if (!strmap_get(index_of(o), name, &at))
        return layout_unknown(x, o->what, name, index_of(o));
    struct thing t = thing_at(o, (uint32_t)at);
    int rc = layout_sound(x, o->what, t.kind);
    if (rc < 0)
        return rc;
    if (o->asked.n && !compatible(o, name) && !str_eq(name, o->otherwise)) {
        err_set(x->e, ERR_REFUSED, "%s \"%s\" is not compatible with template \"%s\"", o->what,
                t.kind->name.s, x->t->kind.name.s);
        offers_hint(o);
        return -ERR_REFUSED;
    }
    if (!t.offer) {
        err_set(x->e, ERR_REFUSED, "provider \"%s\" does not offer %s \"%s\"",
                x->provider->kind.name.s, o->what, t.kind->name.s);
        offers_hint(o);
        return -ERR_REFUSED;
    }
    vec_push(&o->list, ((struct layout_offer){t.kind->name, t.offer, false}));
    return 0;
}

static int compatible_add(struct offering *o)
{
    struct layouting *x = o->x;
    for (uint32_t i = 0; i < things(o); i++) {
        struct thing t = thing_at(o, i);
        if (t.offer && !t.kind->fault && compatible(o, t.kind->name))
            vec_push(&o->list, ((struct layout_offer){t.kind->name, t.offer, false}));
    }
    if (o->list.n)
        return 0;
    err_set(x->e, ERR_REFUSED, "provider \"%s\" offers no %s that template \"%s\" allows",
            x->provider->kind.name.s, o->what, x->t->kind.name.s);
    (void)err_hint(x->e, "an offer is an entry under \"providers\" of a file in %s", o->field);
    return -ERR_REFUSED;
}

static void existing_add(struct offering *o)
{
    for (uint32_t i = 0; i < o->x->req->n_existing; i++) {
        const struct layout_node *node = &o->x->req->existing[i];
        struct str name = o->image ? node->image : node->hardware;
        uintptr_t at;
        size_t k = 0;
        while (k < o->list.n && !str_eq(o->list.at[k].name, name))
            k++;
        if (k < o->list.n)
            continue;
        bool known = strmap_get(index_of(o), name, &at);
        struct thing t = known ? thing_at(o, (uint32_t)at) : (struct thing){0};
        vec_push(&o->list, ((struct layout_offer){name, t.offer, true}));
        if (!t.offer)
            layout_warn(o->x, "provider \"%s\" does not offer %s \"%.*s\" of nodes that exist",
                        o->x->provider->kind.name.s, o->what, (int)name.n, name.s);
    }
}

static int by_name(const void *a, const void *b)
{
    return str_cmp(((const struct layout_offer *)a)->name, ((const struct layout_offer *)b)->name);
}

static int offering_pick(struct offering *o, uint32_t most, struct layout_offers *ret)
{
    struct str name = o->asked.n ? o->asked : o->otherwise;
    bool any = !name.n || str_is(name, LAYOUT_ANY);
    int rc = any ? compatible_add(o) : named_add(o, name);
    if (rc < 0)
        return rc;
    existing_add(o);
    if (o->list.n > most) {
        err_set(o->x->e, ERR_TOO_LARGE, "%zu entries of %s; at most %u", o->list.n, o->field, most);
        (void)err_hint(o->x->e, "name one, or list fewer under \"compatibility\"");
        return -ERR_TOO_LARGE;
    }
    qsort(o->list.at, o->list.n, sizeof *o->list.at, by_name);
    ret->n = (uint32_t)o->list.n;
    ret->at = arena_new(o->x->mem, struct layout_offer, ret->n);
    for (uint32_t i = 0; i < ret->n; i++)
        ret->at[i] = o->list.at[i];
    return 0;
}

uint32_t layout_offers_find(const struct layout_offers *o, struct str name)
{
    size_t i = sort_first(o->at, o->n, it, str_cmp(it->name, name) >= 0);
    return i < o->n && str_eq(o->at[i].name, name) ? (uint32_t)i : CATALOG_NONE;
}

int layout_offers_pick(struct layouting *x)
{
    struct offering hardware = {.x = x,
                                .what = "hardware type",
                                .field = "hardware",
                                .asked = x->req->hardware,
                                .otherwise = x->t->hardware,
                                .may = x->t->may_hardware};
    struct offering images = {.x = x,
                              .what = "image",
                              .field = "images",
                              .image = true,
                              .asked = x->req->image,
                              .otherwise = x->t->image,
                              .may = x->t->may_images};
    int rc = offering_pick(&hardware, SOLVER_MAX_HARDWARE, &x->hardware);
    if (rc >= 0)
        rc = offering_pick(&images, SOLVER_MAX_IMAGES, &x->images);
    vec_done(&hardware.list);
    vec_done(&images.list);
    return rc;
}
