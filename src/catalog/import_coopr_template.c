/* import_coopr_template.c - a cluster template of Coopr, whole or partial, as one of ours
 *
 * What a template names and the source does not have is left out where it merely allows something,
 * and stays where it is asked for, so that the template is at fault and says so when it is used.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "catalog/import_coopr_i.h"

#include "base/text.h"
#include "model/schema.h"
#include "template/macro.h"

#define COUNT(table) (sizeof(table) / sizeof *(table))

static void put_unless_empty(struct coopr *o, struct value *map, const char *key,
                             const struct value *v)
{
    if (v && v->n)
        value_set(o->x.mem, map, key, v);
}

/* An integer, from a text or a number; NULL, and told, if it is none. */
static const struct value *integer_translate(struct coopr *o, const struct value *v,
                                             const char *what)
{
    const struct value *number = v ? coopr_number(o, v) : NULL;

    if (v && v->kind != VALUE_NULL && !value_is(number, VALUE_INT)) {
        crow_tell(&o->x, IMPORT_LEFT_OUT, v, what, "%s is no number of anything",
                  crow_shown(&o->x, crow_text(&o->x, v)));
        return NULL;
    }
    return number;
}

/* --- macros --- */

static void macros_tell(struct coopr *o, const struct value *v, const char *what)
{
    struct err e;

    if (!v || macro_value_validate(v, NULL, &e) == 0)
        return;
    const struct value *at = schema_pointer_get(v, e.at);
    crow_tell(&o->x, IMPORT_FAULT, at ? at : v, what, "%s", e.text);
}

/* --- defaults --- */

/* A name that is asked for: ours, or as it is if nobody has it, which is told. */
static const struct value *asked_for(struct coopr *o, enum coopr_kind kind, const struct value *v,
                                     const char *what)
{
    struct str given = crow_text(&o->x, v);
    uintptr_t known;

    if (!given.n)
        return NULL;
    if (strmap_get(&o->names[kind].by_given, given, &known))
        return value_text(o->x.mem, o->names[kind].at.at[known].ours);
    crow_tell(&o->x, IMPORT_FAULT, v, what, "asks for %s, which is not there",
              crow_shown(&o->x, given));
    return text_is_name(given) ? value_str(o->x.mem, given) : NULL;
}

static void services_translate(struct coopr *o, struct value *out, const struct value *list,
                               const char *what)
{
    struct value *services = value_list(o->x.mem);
    struct strmap seen = {0};

    list = crow_list(&o->x, list, what);
    for (uint32_t i = 0; i < list->n; i++) {
        const struct value *item = &list->items[i], *config = value_get(item, "config");
        const struct value *from = item->kind == VALUE_MAP ? value_get(item, "name") : item;
        const struct value *name = from ? asked_for(o, COOPR_SERVICE, from, what) : NULL;
        if (!name || !strmap_put(&seen, value_as_str(name), i))
            continue;
        if (value_is(config, VALUE_MAP)) {
            struct value *with = value_map(o->x.mem);
            value_set(o->x.mem, with, "name", name);
            value_set(o->x.mem, with, "config", value_copy(o->x.mem, config));
            macros_tell(o, config, what);
            name = with;
        }
        value_add(o->x.mem, services, name);
    }
    strmap_done(&seen);
    put_unless_empty(o, out, "services", services);
}

static void defaults_translate(struct coopr *o, struct value *out, const struct value *from,
                               const char *what)
{
    static const char *const known[] = {"services",  "provider",  "hardwaretype",
                                        "imagetype", "dnsSuffix", "config"};
    static const struct {
        const char *theirs, *ours;
        uint8_t kind;
    } names[] = {{"provider", "provider", COOPR_PROVIDER},
                 {"hardwaretype", "hardware", COOPR_HARDWARE},
                 {"imagetype", "image", COOPR_IMAGE}};
    const struct value *config = value_get(from, "config");
    const struct value *suffix = value_get(from, "dnsSuffix");
    struct value *defaults = value_map(o->x.mem);

    services_translate(o, defaults, value_get(from, "services"), what);
    for (size_t i = 0; i < COUNT(names); i++) {
        const struct value *name = asked_for(o, names[i].kind, value_get(from, names[i].theirs),
                                             what);
        if (name)
            value_set(o->x.mem, defaults, names[i].ours, name);
    }
    if (crow_text(&o->x, suffix).n && !text_is_dns_suffix(crow_text(&o->x, suffix)))
        crow_tell(&o->x, IMPORT_LEFT_OUT, suffix, what, "%s is no domain",
                  crow_shown(&o->x, crow_text(&o->x, suffix)));
    else if (crow_text(&o->x, suffix).n)
        value_set(o->x.mem, defaults, "domain", value_str(o->x.mem, crow_text(&o->x, suffix)));
    if (value_is(config, VALUE_MAP) && config->n) {
        value_set(o->x.mem, defaults, "config", value_copy(o->x.mem, config));
        macros_tell(o, config, what);
    }
    coopr_rest(o, from, known, COUNT(known), what, "defaults of ours have nothing like it");
    put_unless_empty(o, out, "defaults", defaults);
}

static void compatibility_translate(struct coopr *o, struct value *out, const struct value *from,
                                    const char *what)
{
    static const char *const known[] = {"hardwaretypes", "imagetypes", "services"};
    static const struct {
        const char *theirs, *ours;
        uint8_t kind;
    } lists[] = {{"hardwaretypes", "hardware", COOPR_HARDWARE},
                 {"imagetypes", "images", COOPR_IMAGE},
                 {"services", "services", COOPR_SERVICE}};
    struct value *compatibility = value_map(o->x.mem);

    for (size_t i = 0; i < COUNT(lists); i++)
        put_unless_empty(o, compatibility, lists[i].ours,
                         coopr_refs(o, lists[i].kind, value_get(from, lists[i].theirs), what));
    coopr_rest(o, from, known, COUNT(known), what, "compatibility of ours has nothing like it");
    put_unless_empty(o, out, "compatibility", compatibility);
}

/* --- constraints --- */

static void sets_translate(struct coopr *o, struct value *out, const char *key,
                           const struct value *from, uint32_t least, const char *what)
{
    struct value *sets = value_list(o->x.mem);

    from = crow_list(&o->x, from, what);
    for (uint32_t i = 0; i < from->n; i++) {
        struct value *set = coopr_refs(o, COOPR_SERVICE, &from->items[i], what);
        if (set && set->n >= least)
            value_add(o->x.mem, sets, set);
        else
            crow_tell(&o->x, IMPORT_LEFT_OUT, &from->items[i], what,
                      "a set of services that are to be %s has too few", key);
    }
    put_unless_empty(o, out, key, sets);
}

static struct value *rule_translate(struct coopr *o, const struct value *from, const char *what)
{
    static const char *const known[] = {"hardwaretypes", "imagetypes", "quantities"};
    static const char *const inner[] = {"min", "max"};
    const struct value *counts = value_get(from, "quantities");
    const struct value *min = integer_translate(o, value_get(counts, "min"), what);
    const struct value *max = integer_translate(o, value_get(counts, "max"), what);
    struct value *rule = value_map(o->x.mem);

    if (min && max && min->i > max->i) {
        crow_tell(&o->x, IMPORT_FAULT, counts, what, "at least %lld and at most %lld: both go",
                  (long long)min->i, (long long)max->i);
        min = max = NULL;
    }
    if (min)
        value_set(o->x.mem, rule, "min", min);
    else
        crow_tell(&o->x, IMPORT_CHANGED, from, what,
                  "says no least number: there it may be none, here it is one");
    if (max)
        value_set(o->x.mem, rule, "max", max);
    put_unless_empty(o, rule, "hardware",
                     coopr_refs(o, COOPR_HARDWARE, value_get(from, "hardwaretypes"), what));
    put_unless_empty(o, rule, "images",
                     coopr_refs(o, COOPR_IMAGE, value_get(from, "imagetypes"), what));
    coopr_rest(o, from, known, COUNT(known), what, "rules of ours have nothing like it");
    coopr_rest(o, counts, inner, COUNT(inner), what, "it never had an effect");
    return rule;
}

static void rules_translate(struct coopr *o, struct value *out, const struct value *from,
                            const char *what)
{
    struct value *rules = value_map(o->x.mem);

    for (uint32_t i = 0; value_is(from, VALUE_MAP) && i < from->n; i++) {
        const struct member *m = &from->members[i];
        struct value name = m->v;
        name.kind = VALUE_STRING;
        name.s = m->key;
        name.n = m->key_n;
        const char *service = coopr_ref(o, COOPR_SERVICE, &name, what);
        if (service)
            value_set(
                o->x.mem, rules, service,
                rule_translate(o, &m->v, arena_printf(&o->x.scratch, "%s %s", what, service)));
    }
    put_unless_empty(o, out, "services", rules);
}

static void constraints_translate(struct coopr *o, struct value *out, const struct value *from,
                                  const char *what)
{
    static const char *const known[] = {"layout", "services", "size"};
    static const char *const layouts[] = {"mustcoexist", "cantcoexist"};
    const struct value *layout = value_get(from, "layout"), *size = value_get(from, "size");
    const struct value *min = integer_translate(o, value_get(size, "min"), what);
    const struct value *max = integer_translate(o, value_get(size, "max"), what);
    struct value *constraints = value_map(o->x.mem), *sizes = value_map(o->x.mem);

    sets_translate(o, constraints, "together", value_get(layout, "mustcoexist"), 1, what);
    sets_translate(o, constraints, "apart", value_get(layout, "cantcoexist"), 2, what);
    if (min)
        value_set(o->x.mem, sizes, "min", min);
    if (max)
        value_set(o->x.mem, sizes, "max", max);
    put_unless_empty(o, constraints, "size", sizes);
    rules_translate(o, constraints, value_get(from, "services"), what);
    coopr_rest(o, from, known, COUNT(known), what, "constraints of ours have nothing like it");
    coopr_rest(o, layout, layouts, COUNT(layouts), what, "layouts of ours have nothing like it");
    put_unless_empty(o, out, "constraints", constraints);
}

/* --- administration, links, relatives --- */

static const struct value *lease_time(struct coopr *o, const struct value *v, const char *what)
{
    static const struct {
        uint64_t ms;
        const char *unit;
    } units[] = {{24 * 3600 * 1000ull, "d"}, {3600 * 1000, "h"}, {60 * 1000, "m"}, {1000, "s"}};
    const uint64_t most = 366ull * 24 * 3600 * 1000;
    struct str text = crow_text(&o->x, v);
    uint64_t ms;

    if (!text.n)
        return NULL;
    if (catalog_import_lease_ms(text, &ms, NULL) < 0 || ms > most) {
        crow_tell(&o->x, IMPORT_LEFT_OUT, v, what, "%s is no time that a lease can have",
                  crow_shown(&o->x, text));
        return NULL;
    }
    for (size_t i = 0; ms && i < COUNT(units); i++)
        if (ms % units[i].ms == 0)
            return value_text(o->x.mem,
                              arena_printf(&o->x.scratch, "%llu%s",
                                           (unsigned long long)(ms / units[i].ms), units[i].unit));
    return ms ? value_text(o->x.mem, arena_printf(&o->x.scratch, "%llums", (unsigned long long)ms))
              : value_int(o->x.mem, 0);
}

static void administration_translate(struct coopr *o, struct value *out, const struct value *from,
                                     const char *what)
{
    static const char *const known[] = {"leaseduration"};
    static const char *const times[] = {"initial", "max", "step"};
    const struct value *duration = value_get(from, "leaseduration");
    struct value *lease = value_map(o->x.mem), *administration = value_map(o->x.mem);

    for (size_t i = 0; i < COUNT(times); i++) {
        const struct value *v = value_get(duration, times[i]);
        const struct value *time = v ? lease_time(o, v, what) : NULL;
        if (time)
            value_set(o->x.mem, lease, times[i], time);
    }
    coopr_rest(o, from, known, COUNT(known), what, "administration of ours has nothing like it");
    put_unless_empty(o, administration, "lease", lease);
    put_unless_empty(o, out, "administration", administration);
}

static void links_translate(struct coopr *o, struct value *out, const struct value *from,
                            const char *what)
{
    static const char *const known[] = {"label", "url"};
    struct value *links = value_list(o->x.mem);

    from = crow_list(&o->x, from, what);
    for (uint32_t i = 0; i < from->n; i++) {
        struct value *link = value_map(o->x.mem);
        struct str label = crow_text(&o->x, value_get(&from->items[i], "label"));
        struct str url = crow_text(&o->x, value_get(&from->items[i], "url"));
        coopr_rest(o, &from->items[i], known, COUNT(known), what, "links of ours have no such");
        if (!url.n) {
            crow_tell(&o->x, IMPORT_LEFT_OUT, &from->items[i], what, "a link without url");
            continue;
        }
        value_set(o->x.mem, link, "label", value_str(o->x.mem, label.n ? label : url));
        value_set(o->x.mem, link, "url", value_str(o->x.mem, url));
        macros_tell(o, value_get(&from->items[i], "url"), what);
        value_add(o->x.mem, links, link);
    }
    put_unless_empty(o, out, "links", links);
}

/* {"name": N}, which may have a version that there is no other of, or N. */
static const struct value *relative(struct coopr *o, const struct value *v, const char *what)
{
    static const char *const known[] = {"name"};

    if (!value_is(v, VALUE_MAP))
        return asked_for(o, COOPR_TEMPLATE, v, what);
    coopr_rest(o, v, known, COUNT(known), what, "templates of ours are known by name");
    return asked_for(o, COOPR_TEMPLATE, value_get(v, "name"), what);
}

static void relatives_translate(struct coopr *o, struct value *out, const struct value *from,
                                const char *what)
{
    const struct value *extends = value_get(from, "extends"), *name;
    const struct value *includes = crow_list(&o->x, value_get(from, "includes"), what);
    struct value *list = value_list(o->x.mem);

    if (extends && extends->kind != VALUE_NULL && (name = relative(o, extends, what)))
        value_set(o->x.mem, out, "extends", name);
    for (uint32_t i = 0; i < includes->n; i++)
        if ((name = relative(o, &includes->items[i], what)))
            value_add(o->x.mem, list, name);
    put_unless_empty(o, out, "includes", list);
}

struct value *coopr_template(struct coopr *o, const struct coopr_item *item)
{
    static const char *const known[] = {
        "name",           "description", "defaults", "compatibility", "constraints",
        "administration", "links",       "extends",  "includes",      "immutable"};
    const struct value *v = item->v;
    struct value *out = value_map(o->x.mem), *text;
    bool partial = item->kind == COOPR_PARTIAL;

    value_put_text(o->x.mem, out, "template", item->name);
    if ((text = crow_description(&o->x, value_get(v, "description"), item->name)))
        value_set(o->x.mem, out, "description", text);
    if (partial)
        value_put_bool(o->x.mem, out, "partial", true);
    if (partial && value_as_bool(value_get(v, "immutable"), false))
        value_put_bool(o->x.mem, out, "immutable", true);
    if (!partial)
        relatives_translate(o, out, v, item->name);
    defaults_translate(o, out, value_get(v, "defaults"), item->name);
    compatibility_translate(o, out, value_get(v, "compatibility"), item->name);
    if (partial) {
        static const char *const of_partial[] = {"name", "description", "defaults", "compatibility",
                                                 "immutable"};
        coopr_rest(o, v, of_partial, COUNT(of_partial), item->name,
                   "of a partial template it never counted");
        return out;
    }
    constraints_translate(o, out, value_get(v, "constraints"), item->name);
    administration_translate(o, out, value_get(v, "administration"), item->name);
    links_translate(o, out, value_get(v, "links"), item->name);
    coopr_rest(o, v, known, COUNT(known), item->name, "templates of ours have nothing like it");
    return out;
}
