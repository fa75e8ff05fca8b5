/* layout_why.c - why there is no layout and what would help, in the words of a template
 *
 * A reason says what a rule demands, a remedy what to write instead, or to ask for.  The place of a
 * rule is looked for in the catalog as it is now: of the templates from the one in use upwards, the
 * first that says the same as the resolved one.  A cluster that was made of an older catalog is
 * told no place rather than a wrong one.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>

#include "base/text.h"
#include "planner/layout_i.h"

enum { NAMES_MOST = 8 }; /* told of a list */

struct telling {
    const struct layouting *x;
    struct buf b;
    const struct value *place; /* NULL: not known */
    struct catalog_where where;
};

/* --- places --- */

/* What a template says under constraints.KEY, and under name of that unless it is "". */
static const struct value *said(const struct value *body, const char *key, struct str name)
{
    const struct value *v = value_get(value_get(body, "constraints"), key);
    return name.n ? value_get_str(v, name) : v;
}

static const struct catalog_template *template_above(const struct catalog *c,
                                                     const struct catalog_template *t)
{
    return t->extends.n ? catalog_template_get(c, t->extends) : NULL;
}

/* Of a rule of a service (or of the size): itself, or one of its fields. */
static void place_rule(struct telling *w, const char *key, struct str name, const char *field)
{
    const struct layouting *x = w->x;
    const struct value *now = said(x->t->body, key, name);
    uint32_t depth = 0;
    for (const struct catalog_template *t = catalog_template_get(x->c, x->t->kind.name);
         t && now && depth++ < CATALOG_MAX_CHAIN; t = template_above(x->c, t)) {
        const struct value *v = said(t->body, key, name);
        if (!v)
            continue;
        const struct value *inner = value_get(v, field);
        if (value_equal(v, now))
            w->place = inner ? inner : v;
        return; /* the nearest counts */
    }
}

static bool same_names(const struct value *list, struct catalog_names names)
{
    bool same = list->n == names.n;
    for (uint32_t i = 0; same && i < names.n; i++)
        same = str_eq(value_as_str(&list->items[i]), names.at[i]);
    return same;
}

static void place_set(struct telling *w, const char *key, struct catalog_names names)
{
    const struct layouting *x = w->x;
    uint32_t depth = 0;
    for (const struct catalog_template *t = catalog_template_get(x->c, x->t->kind.name);
         t && !w->place && depth++ < CATALOG_MAX_CHAIN; t = template_above(x->c, t)) {
        const struct value *list = said(t->body, key, str_of(""));
        for (uint32_t i = 0; list && i < list->n && !w->place; i++)
            if (list->items[i].kind == VALUE_LIST && same_names(&list->items[i], names))
                w->place = &list->items[i];
    }
}

static void place_spread(struct telling *w, uint32_t service)
{
    const struct layouting *x = w->x;
    uint32_t depth = 0;
    for (const struct catalog_template *t = catalog_template_get(x->c, x->t->kind.name);
         t && !w->place && depth++ < CATALOG_MAX_CHAIN; t = template_above(x->c, t)) {
        const struct value *list = said(t->body, "spread", str_of(""));
        for (uint32_t i = 0; list && i < list->n; i++)
            if (str_eq(value_as_str(value_get(&list->items[i], "service")),
                       x->services.at[service]))
                w->place = &list->items[i];
    }
}

static struct str place_write(const struct telling *w)
{
    const struct layouting *x = w->x;
    struct catalog_where at = w->where;
    if (w->place)
        at = (struct catalog_where){w->place->source ? w->place->source - 1u : CATALOG_NONE,
                                    w->place->line, w->place->column};
    if (at.file >= x->c->n_files)
        return str_of("");
    return str_of(arena_printf(x->mem, "%s:%u:%u", x->c->files[at.file].s, at.line, at.column));
}

/* --- words --- */

static void name_put(struct buf *b, uint32_t i, uint32_t n, struct str name)
{
    if (i >= NAMES_MOST)
        return;
    buf_puts(b, i == 0 ? "" : i + 1 == n ? " and " : ", ");
    buf_put(b, name.s, name.n);
    if (i + 1 == NAMES_MOST && n > NAMES_MOST)
        buf_printf(b, " and %u more", n - NAMES_MOST);
}

static void set_put(struct telling *w, const struct solver_set *set)
{
    uint32_t n = 0, k = 0;
    for (uint32_t i = 0; i < w->x->services.n; i++)
        n += solver_set_has(set, i);
    for (uint32_t i = 0; i < w->x->services.n; i++)
        if (solver_set_has(set, i))
            name_put(&w->b, k++, n, w->x->services.at[i]);
}

/* The offers for new nodes that are, or are not, in the set. */
static void offers_put(struct telling *w, const struct layout_offers *all,
                       const struct solver_set *set, bool inside)
{
    uint32_t n = 0, k = 0;
    for (uint32_t i = 0; i < all->n; i++)
        n += !all->at[i].old && solver_set_has(set, i) == inside;
    for (uint32_t i = 0; i < all->n; i++)
        if (!all->at[i].old && solver_set_has(set, i) == inside)
            name_put(&w->b, k++, n, all->at[i].name);
}

static void names_put(struct telling *w, struct catalog_names names)
{
    for (uint32_t i = 0; i < names.n; i++)
        name_put(&w->b, i, names.n, names.at[i]);
}

static void milli_put(struct buf *b, int64_t milli)
{
    buf_i64(b, milli / CATALOG_AMOUNT_UNIT);
    if (milli % CATALOG_AMOUNT_UNIT) {
        char digits[8];
        int n = snprintf(digits, sizeof digits, ".%03d", (int)(milli % CATALOG_AMOUNT_UNIT));
        while (n > 0 && digits[n - 1] == '0')
            n--;
        buf_put(b, digits, (size_t)n);
    }
}

static void demands_put(struct telling *w, uint32_t service)
{
    const struct catalog_role *r = w->x->roles[service];
    for (uint32_t i = 0; i < r->n_demands; i++) {
        buf_printf(&w->b, "%s", i ? ", " : "");
        milli_put(&w->b, r->demands[i].milli);
        buf_printf(&w->b, " %s", r->demands[i].name.s);
    }
    w->where = r->where;
}

static void ratio_put(struct telling *w, const struct solver_ratio *r)
{
    const struct layouting *x = w->x;
    buf_printf(&w->b, "at %s ", r->at_most ? "most" : "least");
    if (r->den > 1)
        buf_printf(&w->b, "%u/%u ", r->num, r->den);
    else if (r->num != 1)
        buf_printf(&w->b, "%u times ", r->num);
    buf_puts(&w->b, "as many as ");
    if (r->of == SOLVER_NONE)
        buf_puts(&w->b, "there are nodes");
    else
        buf_printf(&w->b, "have %s", x->services.at[r->of].s);
    place_rule(w, "services", x->services.at[r->service], "ratio");
}

static void nodes_put(struct telling *w)
{
    const struct solver_problem *p = &w->x->p;
    const struct catalog_template *t = w->x->t;
    if (p->nodes_min == p->nodes_max)
        buf_puts(&w->b, text_count(p->nodes_min, "node").s);
    else
        buf_printf(&w->b, "%u to %u nodes", p->nodes_min, p->nodes_max);
    if (p->give_up)
        buf_printf(&w->b, ", %u given up", p->give_up);
    if (t->min_nodes > w->x->req->nodes_min || t->max_nodes < w->x->req->nodes_max)
        place_rule(w, "size", str_of(""), t->max_nodes < w->x->req->nodes_max ? "max" : "min");
}

/* Which service a rule belongs to; CATALOG_NONE: to several, or none. */
static uint32_t ref_service(const struct layouting *x, struct solver_ref ref)
{
    switch (ref.rule) {
    case SOLVER_RULE_MIN:
    case SOLVER_RULE_MAX:
    case SOLVER_RULE_STEP:
    case SOLVER_RULE_HARDWARE:
    case SOLVER_RULE_IMAGE:
    case SOLVER_RULE_REQUIRED:
    case SOLVER_RULE_EVERYWHERE:
    case SOLVER_RULE_DEMAND: return ref.index;
    case SOLVER_RULE_RATIO: return x->p.ratios[ref.index].service;
    case SOLVER_RULE_SPREAD: return x->p.spreads[ref.index].service;
    case SOLVER_RULE_TOGETHER:
    case SOLVER_RULE_APART:
    case SOLVER_RULE_NODES:
    case SOLVER_RULE_EXISTING:
    case SOLVER_RULE_OFFER:
    case SOLVER_RULE_COUNT: break;
    }
    return CATALOG_NONE;
}

/* --- reasons --- */

static void only_put(struct telling *w, uint32_t service, bool image)
{
    const struct layouting *x = w->x;
    const struct template_rule *r = template_rule_get(x->t, x->services.at[service]);
    const struct layout_offers *offers = image ? &x->images : &x->hardware;
    const struct solver_set all = solver_set_below(offers->n);
    if (!r)
        return;
    buf_printf(&w->b, "%s is allowed on %s ", x->services.at[service].s,
               image ? "image" : "hardware");
    names_put(w, image ? r->images : r->hardware);
    buf_puts(&w->b, " only, and there is ");
    offers_put(w, offers, &all, true);
    place_rule(w, "services", x->services.at[service], image ? "images" : "hardware");
}

static void apart_put(struct telling *w, uint32_t index)
{
    const struct layouting *x = w->x;
    const struct layout_set *from = &x->apart[index];
    set_put(w, &x->p.apart[index]);
    if (from->number != CATALOG_NONE) {
        buf_puts(&w->b, " must not all be on one node");
        place_set(w, "apart", x->t->apart[from->number]);
        return;
    }
    buf_puts(&w->b, " must not share a node: ");
    buf_printf(&w->b, "%s says so under \"conflicts\"", x->services.at[from->service].s);
    w->where = x->roles[from->service]->where;
}

/* min, max, step: a service and a number. */
static void count_put(struct telling *w, struct solver_ref ref)
{
    const struct layouting *x = w->x;
    const struct solver_service *s = &x->p.services[ref.index];
    const char *name = x->services.at[ref.index].s;
    if (ref.rule == SOLVER_RULE_MIN)
        buf_printf(&w->b, "%s is on at least %s", name, text_count(s->min, "node").s);
    else if (ref.rule == SOLVER_RULE_MAX)
        buf_printf(&w->b, "%s is on at most %s", name, text_count(s->max, "node").s);
    else
        buf_printf(&w->b, "%s is on %u nodes, or %u more, or twice as many more, ...", name, s->min,
                   s->step);
    place_rule(w, "services", x->services.at[ref.index], solver_rule_name(ref.rule));
}

static void everywhere_put(struct telling *w, uint32_t service)
{
    const struct layouting *x = w->x;
    bool ruled = template_rule_get(x->t, x->services.at[service]) != NULL;
    buf_printf(&w->b, "%s is on every node%s", x->services.at[service].s,
               ruled ? "" : ", for it has no rule of its own");
    if (ruled)
        place_rule(w, "services", x->services.at[service], "everywhere");
}

static void existing_put(struct telling *w)
{
    const struct layouting *x = w->x;
    uint64_t kept = 0;
    for (uint32_t i = 0; i < x->req->n_existing; i++)
        kept += x->req->existing[i].keep ? x->req->existing[i].count : 0;
    buf_puts(&w->b, "nodes that exist keep what they have");
    if (x->req->involved.n) {
        buf_puts(&w->b, ", but for ");
        names_put(w, x->req->involved);
    }
    if (kept)
        buf_printf(&w->b, "; %s must stay", text_count(kept, "node").s);
}

static void reason_put(struct telling *w, struct solver_ref ref)
{
    const struct layouting *x = w->x;
    switch (ref.rule) {
    case SOLVER_RULE_TOGETHER:
        set_put(w, &x->p.together[ref.index]);
        buf_puts(&w->b, " are together: a node that has one has all");
        place_set(w, "together", x->t->together[x->together[ref.index].number]);
        break;
    case SOLVER_RULE_APART: apart_put(w, ref.index); break;
    case SOLVER_RULE_MIN:
    case SOLVER_RULE_MAX:
    case SOLVER_RULE_STEP: count_put(w, ref); break;
    case SOLVER_RULE_RATIO:
        buf_printf(&w->b, "%s is on ", x->services.at[x->p.ratios[ref.index].service].s);
        ratio_put(w, &x->p.ratios[ref.index]);
        break;
    case SOLVER_RULE_HARDWARE: only_put(w, ref.index, false); break;
    case SOLVER_RULE_IMAGE: only_put(w, ref.index, true); break;
    case SOLVER_RULE_REQUIRED:
        buf_printf(&w->b, "%s is wanted: at least one node has it", x->services.at[ref.index].s);
        break;
    case SOLVER_RULE_EVERYWHERE: everywhere_put(w, ref.index); break;
    case SOLVER_RULE_DEMAND:
        buf_printf(&w->b, "%s demands ", x->services.at[ref.index].s);
        demands_put(w, ref.index);
        break;
    case SOLVER_RULE_SPREAD:
        buf_printf(&w->b, "%s is spread over %s: at most %u more nodes with one value than another",
                   x->services.at[x->p.spreads[ref.index].service].s, x->label.s,
                   x->p.spreads[ref.index].skew);
        place_spread(w, x->p.spreads[ref.index].service);
        break;
    case SOLVER_RULE_NODES:
        buf_puts(&w->b, "the cluster is to have ");
        nodes_put(w);
        break;
    case SOLVER_RULE_EXISTING: existing_put(w); break;
    case SOLVER_RULE_OFFER:
    case SOLVER_RULE_COUNT: buf_puts(&w->b, "nothing is offered"); break;
    }
}

static struct telling telling_of(const struct layouting *x)
{
    return (struct telling){.x = x, .where = {.file = CATALOG_NONE}};
}

static struct str telling_end(struct telling *w)
{
    struct str text = {arena_strndup(w->x->mem, buf_str(&w->b).s, w->b.len), w->b.len};
    buf_done(&w->b);
    return text;
}

static struct str service_name(const struct layouting *x, struct solver_ref ref)
{
    uint32_t s = ref_service(x, ref);
    return s == CATALOG_NONE ? str_of("") : x->services.at[s];
}

struct layout_reason layout_why(const struct layouting *x, struct solver_ref ref)
{
    struct telling w = telling_of(x);
    reason_put(&w, ref);
    struct str at = place_write(&w);
    return (struct layout_reason){ref.rule, service_name(x, ref), telling_end(&w), at};
}

/* --- remedies --- */

static void more_nodes_put(struct telling *w, const struct solver_change *c)
{
    const struct layouting *x = w->x;
    bool more = c->to > c->from;
    uint32_t asked = more ? x->req->nodes_max : x->req->nodes_min;
    int64_t size = more ? x->t->max_nodes : x->t->min_nodes;
    bool asks = more ? c->to > asked : c->to < asked;
    bool sizes = more ? size != CATALOG_NONE && c->to > size : c->to < size;
    if (asks)
        buf_printf(&w->b, "ask for %" PRId64 " nodes instead of %u", c->to, asked);
    if (sizes)
        buf_printf(&w->b, "%s%s size.%s of template %s from %" PRId64 " to %" PRId64,
                   asks ? ", and " : "", more ? "raise" : "lower", more ? "max" : "min",
                   x->t->kind.name.s, size, c->to);
    if (!asks && !sizes)
        buf_puts(&w->b, "give up fewer nodes");
}

static void allow_put(struct telling *w, uint32_t service, bool image)
{
    const struct layouting *x = w->x;
    const struct layout_offers *offers = image ? &x->images : &x->hardware;
    const struct solver_service *s = &x->p.services[service];
    buf_printf(&w->b, "allow %s on %s ", x->services.at[service].s, image ? "image" : "hardware");
    offers_put(w, offers, image ? &s->images : &s->hardware, false);
}

static void dropped_put(struct telling *w, struct solver_ref ref)
{
    const struct layouting *x = w->x;
    uint32_t s = ref_service(x, ref);
    const char *name = s == CATALOG_NONE ? "" : x->services.at[s].s;
    switch (ref.rule) {
    case SOLVER_RULE_TOGETHER:
        buf_puts(&w->b, "let ");
        set_put(w, &x->p.together[ref.index]);
        buf_puts(&w->b, " be on different nodes");
        break;
    case SOLVER_RULE_APART:
        buf_puts(&w->b, "let ");
        set_put(w, &x->p.apart[ref.index]);
        buf_puts(&w->b, " be on one node");
        break;
    case SOLVER_RULE_STEP:
        buf_printf(&w->b, "drop step %u of %s", x->p.services[s].step, name);
        break;
    case SOLVER_RULE_RATIO:
        buf_printf(&w->b, "drop the ratio of %s, ", name);
        ratio_put(w, &x->p.ratios[ref.index]);
        break;
    case SOLVER_RULE_HARDWARE: allow_put(w, s, false); break;
    case SOLVER_RULE_IMAGE: allow_put(w, s, true); break;
    case SOLVER_RULE_REQUIRED: buf_printf(&w->b, "leave %s out", name); break;
    case SOLVER_RULE_EVERYWHERE:
        buf_printf(&w->b, "let %s be on some nodes only: give it a rule without \"everywhere\"",
                   name);
        break;
    case SOLVER_RULE_DEMAND:
        buf_printf(&w->b, "lower what %s demands (", name);
        demands_put(w, s);
        buf_puts(&w->b, "), or offer larger hardware");
        break;
    case SOLVER_RULE_EXISTING:
        buf_puts(&w->b, "involve more services, so that nodes that exist may have them, or keep "
                        "fewer of the nodes");
        break;
    case SOLVER_RULE_MIN:
    case SOLVER_RULE_MAX:
    case SOLVER_RULE_SPREAD:
    case SOLVER_RULE_NODES:
    case SOLVER_RULE_OFFER:
    case SOLVER_RULE_COUNT: buf_printf(&w->b, "drop %s", solver_rule_name(ref.rule)); break;
    }
}

struct layout_change layout_remedy(const struct layouting *x, const struct solver_change *c)
{
    struct telling w = telling_of(x);
    struct layout_change ret = {.rule = c->ref.rule,
                                .service = service_name(x, c->ref),
                                .dropped = c->dropped,
                                .from = c->from,
                                .to = c->to};
    if (c->dropped)
        dropped_put(&w, c->ref);
    else if (c->ref.rule == SOLVER_RULE_NODES)
        more_nodes_put(&w, c);
    else if (c->ref.rule == SOLVER_RULE_SPREAD)
        buf_printf(&w.b, "raise the skew of %s over %s from %" PRId64 " to %" PRId64, ret.service.s,
                   x->label.s, c->from, c->to);
    else
        buf_printf(&w.b, "%s %s of %s from %" PRId64 " to %" PRId64,
                   c->ref.rule == SOLVER_RULE_MIN ? "lower" : "raise",
                   solver_rule_name(c->ref.rule), ret.service.s, c->from, c->to);
    ret.text = telling_end(&w);
    return ret;
}
