/* template_merge.c - a template with all that it extends and includes, as one document
 *
 * Merged are bodies, not structs: what comes out is a body in the format of templates, without
 * `extends` and `includes`, and is read by the reader that reads files.  So what a cluster keeps is
 * the template it was made from, legible, and read back by the same rules.
 *
 * From the root of `extends` down, of each template first its `includes` in order, then itself.
 * Lists are united, scalars replaced, config replaced by top-level key, rules by service, size,
 * lease and callbacks by the last that says anything.  An immutable partial fixes the keys of its
 * config: nobody may set them after it.  What must be there is looked for when all is merged.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "catalog/catalog_i.h"

#include "base/json.h"
#include "base/text.h"

struct merging {
    struct arena *a;
    const struct template_part *part; /* being merged */
    struct value *defaults, *services, *config;
    struct value *compatibility, *constraints, *rules;
    const struct value *lease, *callbacks;
    struct value *links;
    struct strmap fixed;    /* key of the config -> body of the partial that fixed it */
    const struct value *at; /* what is wrong */
    struct err *e;
};

static struct str part_name(const struct value *body)
{
    return value_as_str(value_get(body, "template"));
}

/* --- config --- */

static int config_set(struct merging *m, struct str key, const struct value *v)
{
    struct str name = part_name(m->part->body);
    uintptr_t by;

    if (strmap_get(&m->fixed, key, &by)) {
        struct str owner = part_name((const struct value *)by);
        if (!str_eq(owner, name)) {
            m->at = v;
            return err_set(m->e, ERR_REFUSED,
                           "template \"%.*s\" sets config \"%.*s\", which \"%.*s\" has fixed",
                           (int)name.n, name.s, (int)key.n, key.s, (int)owner.n, owner.s);
        }
    }
    if (m->part->immutable)
        strmap_put(&m->fixed, key, (uintptr_t)m->part->body);
    value_set_str(m->a, m->config, key, v);
    return 0;
}

static int config_merge(struct merging *m, const struct value *config)
{
    int rc = 0;

    for (uint32_t i = 0; rc == 0 && value_is(config, VALUE_MAP) && i < config->n; i++) {
        const struct member *from = &config->members[i];
        rc = config_set(m, (struct str){from->key, from->key_n}, &from->v);
    }
    return rc;
}

/* --- lists --- */

static bool list_has(const struct value *list, const struct value *v)
{
    for (uint32_t i = 0; i < list->n; i++)
        if (value_equal(&list->items[i], v))
            return true;
    return false;
}

/* The same elements in any order: lists that name a set. */
static bool same_set(const struct value *a, const struct value *b)
{
    if (a->kind != VALUE_LIST || b->kind != VALUE_LIST || a->n != b->n)
        return false;
    for (uint32_t i = 0; i < a->n; i++)
        if (!list_has(b, &a->items[i]))
            return false;
    return true;
}

static bool list_has_set(const struct value *list, const struct value *v)
{
    for (uint32_t i = 0; i < list->n; i++)
        if (same_set(&list->items[i], v))
            return true;
    return false;
}

/* Adds what is not there yet to the list under the key. */
static void list_unite(struct arena *a, struct value *map, const char *key,
                       const struct value *more,
                       bool (*has)(const struct value *list, const struct value *v))
{
    const struct value *old = value_get(map, key);
    struct value *list = value_list(a);

    for (uint32_t i = 0; old && i < old->n; i++)
        value_add(a, list, &old->items[i]);
    for (uint32_t i = 0; value_is(more, VALUE_LIST) && i < more->n; i++)
        if (!has(list, &more->items[i]))
            value_add(a, list, &more->items[i]);
    if (list->n)
        value_set(a, map, key, list);
}

/* --- sections --- */

static int services_merge(struct merging *m, const struct value *list)
{
    int rc = 0;

    for (uint32_t i = 0; rc == 0 && value_is(list, VALUE_LIST) && i < list->n; i++) {
        const struct value *item = &list->items[i];
        const struct value *config = value_get(item, "config");
        if (item->kind == VALUE_MAP)
            item = value_get(item, "name");
        if (item && config)
            rc = config_set(m, value_as_str(item), config);
        if (item && !list_has(m->services, item))
            value_add(m->a, m->services, item);
    }
    return rc;
}

static int defaults_merge(struct merging *m, const struct value *from)
{
    static const char *const scalars[] = {"provider", "hardware", "image", "domain", "comparator"};
    int rc = services_merge(m, value_get(from, "services"));

    for (size_t i = 0; i < sizeof scalars / sizeof *scalars; i++) {
        const struct value *v = value_get(from, scalars[i]);
        if (v && value_as_str(v).n)
            value_set(m->a, m->defaults, scalars[i], v);
    }
    return rc < 0 ? rc : config_merge(m, value_get(from, "config"));
}

static void compatibility_merge(struct merging *m, const struct value *from)
{
    static const char *const lists[] = {"hardware", "images", "services"};

    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        list_unite(m->a, m->compatibility, lists[i], value_get(from, lists[i]), list_has);
}

/* Of two spreads of a service over the same label the later stands. */
static bool spread_has(const struct value *list, const struct value *v)
{
    for (uint32_t i = 0; i < list->n; i++) {
        const struct value *old = &list->items[i];
        if (value_equal(value_get(old, "service"), value_get(v, "service")) &&
            value_equal(value_get(old, "over"), value_get(v, "over"))) {
            list->items[i] = *v;
            return true;
        }
    }
    return false;
}

static void constraints_merge(struct merging *m, const struct value *from)
{
    const struct value *size = value_get(from, "size"), *rules = value_get(from, "services");

    list_unite(m->a, m->constraints, "together", value_get(from, "together"), list_has_set);
    list_unite(m->a, m->constraints, "apart", value_get(from, "apart"), list_has_set);
    list_unite(m->a, m->constraints, "spread", value_get(from, "spread"), spread_has);
    if (value_is(size, VALUE_MAP) && size->n)
        value_set(m->a, m->constraints, "size", size);
    for (uint32_t i = 0; value_is(rules, VALUE_MAP) && i < rules->n; i++)
        value_set(m->a, m->rules, rules->members[i].key, &rules->members[i].v);
}

static int part_merge(struct merging *m, const struct template_part *part)
{
    const struct value *lease = value_at(part->body, "administration.lease");
    const struct value *callbacks = value_get(part->body, "callbacks");

    m->part = part;
    int rc = defaults_merge(m, value_get(part->body, "defaults"));
    compatibility_merge(m, value_get(part->body, "compatibility"));
    if (rc < 0 || part->partial)
        return rc;
    constraints_merge(m, value_get(part->body, "constraints"));
    if (value_is(lease, VALUE_MAP) && lease->n)
        m->lease = lease;
    if (value_is(callbacks, VALUE_MAP) && callbacks->n)
        m->callbacks = callbacks;
    list_unite(m->a, m->links, "links", value_get(part->body, "links"), list_has);
    return 0;
}

/* --- the document --- */

static void set_unless_empty(struct arena *a, struct value *map, const char *key,
                             const struct value *v)
{
    if (v && v->n)
        value_set(a, map, key, v);
}

static const struct value *merged_body(struct merging *m, const struct value *leaf)
{
    struct arena *a = m->a;
    struct value *body = value_map(a), *administration = value_map(a);

    value_set(a, body, "template", value_get(leaf, "template"));
    if (value_get(leaf, "description"))
        value_set(a, body, "description", value_get(leaf, "description"));
    set_unless_empty(a, m->defaults, "services", m->services);
    set_unless_empty(a, m->defaults, "config", m->config);
    set_unless_empty(a, m->constraints, "services", m->rules);
    set_unless_empty(a, administration, "lease", m->lease);
    set_unless_empty(a, body, "defaults", m->defaults);
    set_unless_empty(a, body, "compatibility", m->compatibility);
    set_unless_empty(a, body, "constraints", m->constraints);
    set_unless_empty(a, body, "administration", administration);
    set_unless_empty(a, body, "callbacks", m->callbacks);
    set_unless_empty(a, body, "links", value_get(m->links, "links"));
    return body;
}

/* The body of all parts together; on failure *ret_at is what is wrong. */
static int bodies_merge(const struct template_part *parts, size_t n, struct arena *a,
                        const struct value **ret_body, const struct value **ret_at, struct err *e)
{
    struct merging m = {.a = a,
                        .defaults = value_map(a),
                        .services = value_list(a),
                        .config = value_map(a),
                        .compatibility = value_map(a),
                        .constraints = value_map(a),
                        .rules = value_map(a),
                        .links = value_map(a),
                        .e = e};
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < n; i++)
        rc = part_merge(&m, &parts[i]);
    if (rc == 0)
        *ret_body = merged_body(&m, parts[n - 1].body);
    *ret_at = m.at;
    strmap_done(&m.fixed);
    return rc;
}

/* --- reading it back --- */

/* As JSON and back, so that nothing of it points into files that are gone. */
static int body_read(struct arena *a, const struct value *body, struct catalog_template *t,
                     struct err *e)
{
    struct catalog_report report = {0};
    struct load l = {.mem = a, .report = &report};
    struct value *own = NULL;
    SCOPED_BUF(text);

    json_write(&text, body, 0);
    int rc = json_parse(a, text.data, text.len, NULL, &own, e);
    if (rc < 0)
        return rc;
    arena_init(&l.scratch);
    l.no_values = value_map(a);
    bool named = catalog_template_fields(&l, own, t);
    if (report.n_errors || !named) {
        catalog_report_sort(&report);
        *e = *catalog_first_error(&report);
        rc = err_wrap(e, "a template that is kept");
    }
    t->resolved = true;
    catalog_load_done(&l);
    catalog_report_done(&report);
    return rc;
}

int catalog_template_read(struct arena *a, const struct value *body,
                          const struct catalog_template **ret, struct err *e)
{
    struct catalog_template *t = arena_new(a, struct catalog_template, 1);
    struct err own;
    int rc = body_read(a, body, t, &own);

    if (rc < 0) {
        if (e)
            *e = own;
        return rc;
    }
    *ret = t;
    return 0;
}

/* --- resolving --- */

int catalog_template_merge(const struct template_part *parts, size_t n, struct arena *a,
                           const struct catalog_template **ret, struct err *e)
{
    const struct value *body, *at;
    const struct catalog_template *t;
    SCOPED_ARENA(mem);
    int rc = bodies_merge(parts, n, &mem, &body, &at, e);

    if (rc < 0 || (rc = catalog_template_read(a, body, &t, e)) < 0)
        return rc;
    const char *lacks = !t->services.n ? "services" : !t->provider.n ? "a provider" : NULL;
    if (lacks) {
        err_set(e, ERR_REFUSED, "template \"%s\" lacks %s", t->kind.name.s, lacks);
        err_hint(e, "say so under \"defaults\", of it or of what it extends or includes");
        return -ERR_REFUSED;
    }
    *ret = t;
    return 0;
}

static const char *template_nearest(const struct catalog *c, struct str name)
{
    SCOPED_ARENA(mem);
    const char **names = arena_new(&mem, const char *, c->n_templates + 1);
    uint32_t n = 0;

    for (uint32_t i = 0; i < c->n_templates; i++)
        if (!c->templates[i].partial)
            names[n++] = c->templates[i].kind.name.s;
    return text_nearest(name, names, n);
}

static int template_usable(const struct catalog *c, const struct catalog_template *t, struct err *e)
{
    const struct catalog_kind *kind = &t->kind;

    if (!kind->fault)
        return 0;
    int rc = err_set(e, ERR_REFUSED, "template \"%s\" cannot be used: %s", kind->name.s,
                     kind->fault);
    if (kind->fault_where.file != CATALOG_NONE)
        err_at(e, "%s:%u:%u", c->files[kind->fault_where.file].s, kind->fault_where.line,
               kind->fault_where.column);
    return rc;
}

/* Appends the template behind what it includes. */
static int parts_add(const struct catalog *c, const struct catalog_template *t,
                     struct template_part *parts, size_t *n, struct err *e)
{
    int rc = template_usable(c, t, e);

    for (uint32_t i = 0; rc == 0 && i < t->includes.n; i++) {
        const struct catalog_template *p = catalog_template_get(c, t->includes.at[i]);
        rc = template_usable(c, p, e);
        parts[(*n)++] = (struct template_part){p->body, true, p->immutable};
    }
    if (rc == 0)
        parts[(*n)++] = (struct template_part){t->body, false, false};
    return rc;
}

int catalog_template_resolve(const struct catalog *c, struct str name, struct arena *a,
                             const struct catalog_template **ret, struct err *e)
{
    const struct catalog_template *chain[CATALOG_MAX_CHAIN], *t = catalog_template_get(c, name);
    size_t n_chain = 0, n = 0, room = 0;
    SCOPED_ARENA(mem);
    int rc = 0;

    if (!t) {
        rc = err_set(e, ERR_UNKNOWN_NAME, "there is no template \"%.*s\"", (int)name.n, name.s);
        const char *best = template_nearest(c, name);
        if (best)
            err_hint(e, "did you mean \"%s\"?", best);
        return rc;
    }
    if (t->partial)
        return err_set(e, ERR_REFUSED, "template \"%s\" is partial: others include it",
                       t->kind.name.s);
    /* That there are as many at most, and no circle, was seen when they were loaded; one that
     * extends what is not there is at fault. */
    for (; t && n_chain < CATALOG_MAX_CHAIN;
         t = t->extends.n ? catalog_template_get(c, t->extends) : NULL) {
        if ((rc = template_usable(c, t, e)) < 0)
            return rc;
        chain[n_chain++] = t;
        room += 1 + t->includes.n;
    }
    struct template_part *parts = arena_new(&mem, struct template_part, room);
    while (rc == 0 && n_chain)
        rc = parts_add(c, chain[--n_chain], parts, &n, e);
    return rc < 0 ? rc : catalog_template_merge(parts, n, a, ret, e);
}

/* --- when a catalog is loaded --- */

static struct load_template *template_find(struct load *l, struct str name)
{
    uintptr_t i;
    return strmap_get(&l->by_template, name, &i) ? &l->templates.at[i] : NULL;
}

static void name_unknown(struct load *l, const struct value *at, struct str name)
{
    struct err *e = catalog_error(l, at, ERR_UNKNOWN_NAME, "there is no template \"%s\"", name.s);
    catalog_hint_nearest(e, name, &l->by_template);
}

static void relatives_check(struct load *l, struct load_template *t)
{
    const struct value *extends = value_get(t->at, "extends");
    const struct value *includes = value_get(t->at, "includes");
    const struct load_template *other;

    if (t->template.extends.n) {
        if (!(other = template_find(l, t->template.extends)))
            name_unknown(l, extends, t->template.extends);
        else if (other->template.partial)
            catalog_error(l, extends, ERR_INVALID, "\"%s\" is partial: include it",
                          t->template.extends.s);
    }
    for (uint32_t i = 0; value_is(includes, VALUE_LIST) && i < includes->n; i++) {
        struct str name = value_as_str(&includes->items[i]);
        if (!text_is_name(name))
            continue; /* reported already */
        if (!(other = template_find(l, name)))
            name_unknown(l, &includes->items[i], name);
        else if (!other->template.partial)
            catalog_error(l, &includes->items[i], ERR_INVALID, "\"%s\" is not partial: extend it",
                          name.s);
    }
}

/* True if the way up from it ends.  A circle is told once, by its lowest member. */
static bool chain_ends(struct load *l, uint32_t number)
{
    uint32_t chain[CATALOG_MAX_CHAIN], n = 0, lowest = number;
    const struct load_template *t = &l->templates.at[number];
    SCOPED_BUF(path);

    buf_puts(&path, t->template.kind.name.s);
    for (chain[n++] = number; t->template.extends.n; chain[n++] = (uint32_t)(t - l->templates.at)) {
        if (!(t = template_find(l, t->template.extends)))
            return false;
        uint32_t at = (uint32_t)(t - l->templates.at);
        lowest = at < lowest ? at : lowest;
        buf_printf(&path, " -> %s", t->template.kind.name.s);
        if (at == number && lowest == number)
            catalog_error(l, value_get(l->templates.at[number].at, "extends"), ERR_CYCLE,
                          "templates extend each other: %s", path.data);
        for (uint32_t i = 0; i < n; i++)
            if (chain[i] == at)
                return false; /* in a circle, or on the way into one */
        if (n == CATALOG_MAX_CHAIN) {
            catalog_error(l, l->templates.at[number].at, ERR_LIMIT,
                          "more than %d templates over each other", CATALOG_MAX_CHAIN);
            return false;
        }
    }
    return true;
}

/* Merges it as a cluster would: what nobody may set and somebody does, and what looks like a slip.
 */
static void merged_check(struct load *l, uint32_t number)
{
    const struct load_template *chain[CATALOG_MAX_CHAIN];
    size_t n_chain = 0, n = 0, room = 0;
    const struct value *body, *at = NULL;
    struct err e;
    SCOPED_ARENA(mem);

    for (const struct load_template *t = &l->templates.at[number]; t;
         t = t->template.extends.n ? template_find(l, t->template.extends) : NULL) {
        chain[n_chain++] = t;
        room += 1 + t->template.includes.n;
    }
    struct template_part *parts = arena_new(&mem, struct template_part, room);
    while (n_chain) {
        const struct load_template *t = chain[--n_chain];
        for (uint32_t i = 0; i < t->template.includes.n; i++) {
            const struct load_template *p = template_find(l, t->template.includes.at[i]);
            if (p)
                parts[n++] = (struct template_part){p->template.body, true, p->template.immutable};
        }
        parts[n++] = (struct template_part){t->template.body, false, false};
    }
    if (bodies_merge(parts, n, &mem, &body, &at, &e) < 0)
        catalog_error(l, at, e.code, "%s", e.text);
    else if (!l->templates.at[number].template.partial)
        catalog_template_lint(l, &l->templates.at[number], body);
}

void catalog_resolve_templates(struct load *l)
{
    for (uint32_t i = 0; i < l->templates.n; i++) {
        struct load_template *t = &l->templates.at[i];
        struct catalog_kind *kind = &t->template.kind;
        catalog_excuse(l, t->lenient, &kind->fault, &kind->fault_where);
        uint64_t faults = l->n_faults;
        relatives_check(l, t);
        if (chain_ends(l, i) && l->n_faults == faults)
            merged_check(l, i);
    }
    catalog_excuse_none(l);
}
