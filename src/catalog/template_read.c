/* template_read.c - templates: which services, how many of each, what may share a node
 *
 * The same reader serves files of a catalog and bodies that clusters keep, so that whatever was
 * resolved once can be read back by the same rules.  It does not ask whether names exist: a body
 * outlives the catalog it was made from.  kind_resolve.c does, for files.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "catalog/catalog_i.h"

#include "base/text.h"

#define COUNT(table) (sizeof(table) / sizeof *(table))

/* --- defaults --- */

/* A name, or {name, config} whose config is that of the cluster under the name. */
static struct str service_name(struct load *l, const struct value *item)
{
    const struct value *name = item->kind == VALUE_MAP ? value_get(item, "name") : item;

    if (!name) {
        catalog_error(l, item, ERR_INVALID, "a service needs a name");
        return (struct str){"", 0};
    }
    for (uint32_t i = 0; item->kind == VALUE_MAP && i < item->n; i++)
        if (!str_is((struct str){item->members[i].key, item->members[i].key_n}, "name") &&
            !str_is((struct str){item->members[i].key, item->members[i].key_n}, "config"))
            catalog_error(l, &item->members[i].v, ERR_INVALID,
                          "a service is its name, or {name: NAME, config: {...}}");
    return catalog_read_name(l, name, "a service's name");
}

static void defaults_services(struct load *l, const struct value *v, void *object)
{
    struct catalog_template *t = object;
    const struct value *list = catalog_read_list(l, v, "\"services\"");
    struct str *names = arena_new(l->mem, struct str, list->n);
    struct strmap seen = {0};

    for (uint32_t i = 0; i < list->n; i++) {
        struct str name = service_name(l, &list->items[i]);
        if (!name.n)
            continue;
        if (strmap_put(&seen, name, i))
            names[t->services.n++] = name;
        else
            catalog_fault(l, CATALOG_WARNING, ERR_INVALID, catalog_where_of(&list->items[i]),
                          "\"services\" names \"%s\" twice", name.s);
    }
    strmap_done(&seen);
    t->services.at = names;
}

#define NAME_FIELD(function, field, what)                                                          \
    static void function(struct load *l, const struct value *v, void *object)                      \
    {                                                                                              \
        ((struct catalog_template *)object)->field = catalog_read_name(l, v, what);                \
    }
NAME_FIELD(defaults_provider, provider, "a provider's name")
NAME_FIELD(defaults_hardware, hardware, "the name of a hardware type")
NAME_FIELD(defaults_image, image, "an image's name")
NAME_FIELD(defaults_comparator, comparator, "a comparator's name")
NAME_FIELD(template_extends, extends, "a template's name")
#undef NAME_FIELD

static void defaults_domain(struct load *l, const struct value *v, void *object)
{
    struct catalog_template *t = object;
    t->domain = catalog_read_text(l, v, "\"domain\"");
    if (v->kind == VALUE_STRING && !text_is_dns_suffix(t->domain))
        catalog_error(l, v, ERR_INVALID, "\"%s\" cannot be a domain", t->domain.s);
}

static void defaults_config(struct load *l, const struct value *v, void *object)
{
    ((struct catalog_template *)object)->config = catalog_read_map(l, v, "\"config\"");
}

static const struct field defaults_fields[] = {
    {"services", defaults_services}, {"provider", defaults_provider},
    {"hardware", defaults_hardware}, {"image", defaults_image},
    {"domain", defaults_domain},     {"comparator", defaults_comparator},
    {"config", defaults_config},
};

static void template_defaults(struct load *l, const struct value *v, void *object)
{
    (void)catalog_read_fields(l, v, "\"defaults\"", defaults_fields, COUNT(defaults_fields),
                              object);
}

/* --- compatibility --- */

#define NAMES_FIELD(function, field, what)                                                         \
    static void function(struct load *l, const struct value *v, void *object)                      \
    {                                                                                              \
        ((struct catalog_template *)object)->field = catalog_read_name_list(l, v, what);           \
    }
NAMES_FIELD(compatible_hardware, may_hardware, "\"hardware\"")
NAMES_FIELD(compatible_images, may_images, "\"images\"")
NAMES_FIELD(compatible_services, may_services, "\"services\"")
NAMES_FIELD(template_includes, includes, "\"includes\"")
#undef NAMES_FIELD

static const struct field compatibility_fields[] = {
    {"hardware", compatible_hardware},
    {"images", compatible_images},
    {"services", compatible_services},
};

static void template_compatibility(struct load *l, const struct value *v, void *object)
{
    (void)catalog_read_fields(l, v, "\"compatibility\"", compatibility_fields,
                              COUNT(compatibility_fields), object);
}

/* --- administration --- */

static void lease_initial(struct load *l, const struct value *v, void *object)
{
    struct catalog_template *t = object;
    t->lease_initial_ms = catalog_read_duration(l, v, "\"initial\"", 0);
}

static void lease_max(struct load *l, const struct value *v, void *object)
{
    struct catalog_template *t = object;
    t->lease_max_ms = catalog_read_duration(l, v, "\"max\"", 0);
}

static void lease_step(struct load *l, const struct value *v, void *object)
{
    struct catalog_template *t = object;
    t->lease_step_ms = catalog_read_duration(l, v, "\"step\"", 0);
}

static const struct field lease_fields[] = {
    {"initial", lease_initial},
    {"max", lease_max},
    {"step", lease_step},
};

static void administration_lease(struct load *l, const struct value *v, void *object)
{
    struct catalog_template *t = object;
    if (!catalog_read_fields(l, v, "a lease", lease_fields, COUNT(lease_fields), t))
        return;
    t->has_lease = v->n > 0;
    if (t->lease_max_ms && t->lease_initial_ms > t->lease_max_ms)
        catalog_error(l, v, ERR_INVALID, "a lease begins with more than it can have at most");
}

static const struct field administration_fields[] = {{"lease", administration_lease}};

static void template_administration(struct load *l, const struct value *v, void *object)
{
    (void)catalog_read_fields(l, v, "\"administration\"", administration_fields,
                              COUNT(administration_fields), object);
}

/* --- callbacks and links --- */

static bool is_http(struct str s)
{
    struct str plain = {s.s, s.n < 7 ? s.n : 7}, secure = {s.s, s.n < 8 ? s.n : 8};
    return str_is(plain, "http://") || str_is(secure, "https://");
}

/* An @ before the path: whoever sees the template would see what is in front of it. */
static bool has_user(struct str url)
{
    size_t i = 0, slashes = 0;
    while (i < url.n && (slashes += url.s[i] == '/') < 3 && !strchr("?#", url.s[i]) &&
           url.s[i] != '@')
        i++;
    return i < url.n && url.s[i] == '@';
}

static void callbacks_url(struct load *l, const struct value *v, void *object)
{
    struct catalog_template *t = object;
    t->callback_url = catalog_read_text(l, v, "\"url\"");
    if (v->kind == VALUE_STRING && !is_http(t->callback_url))
        catalog_error(l, v, ERR_INVALID, "\"url\" must begin with http:// or https://");
    else if (v->kind == VALUE_STRING && has_user(t->callback_url))
        catalog_error(l, v, ERR_INVALID, "\"url\" must not hold a user name or a password");
}

static void callbacks_on(struct load *l, const struct value *v, void *object)
{
    static const char *const names[] = {
#define X(id, text) text,
        CALLBACKS(X)
#undef X
    };
    struct catalog_template *t = object;
    const struct value *list = catalog_read_list(l, v, "\"on\"");

    t->callbacks = 0;
    for (uint32_t i = 0; i < list->n; i++)
        t->callbacks |= 1u << catalog_read_choice(l, &list->items[i], "\"on\"", names,
                                                  COUNT(names));
}

static void callbacks_required(struct load *l, const struct value *v, void *object)
{
    ((struct catalog_template *)object)->callback_required = catalog_read_bool(l, v,
                                                                               "\"required\"");
}

static const struct field callback_fields[] = {
    {"url", callbacks_url}, {"on", callbacks_on}, {"required", callbacks_required}};

static void template_callbacks(struct load *l, const struct value *v, void *object)
{
    struct catalog_template *t = object;

    t->callbacks = (1u << CALLBACK_BIT_COUNT) - 1;
    if (catalog_read_fields(l, v, "\"callbacks\"", callback_fields, COUNT(callback_fields), t) &&
        !value_get(v, "url"))
        catalog_error(l, v, ERR_INVALID, "callbacks need \"url\"");
    if (t->callback_required && !(t->callbacks & 1u << CALLBACK_BIT_START))
        catalog_error(l, v, ERR_INVALID, "\"required\" is about the start, which is not in \"on\"");
}

static void link_label(struct load *l, const struct value *v, void *object)
{
    ((struct template_link *)object)->label = catalog_read_text(l, v, "\"label\"");
}

static void link_url(struct load *l, const struct value *v, void *object)
{
    ((struct template_link *)object)->url = catalog_read_text(l, v, "\"url\"");
}

static const struct field link_fields[] = {{"label", link_label}, {"url", link_url}};

static void template_links(struct load *l, const struct value *v, void *object)
{
    struct catalog_template *t = object;
    const struct value *list = catalog_read_list(l, v, "\"links\"");
    struct template_link *links = arena_new(l->mem, struct template_link, list->n);

    for (uint32_t i = 0; i < list->n; i++) {
        struct template_link *link = &links[t->n_links];
        if (!catalog_read_fields(l, &list->items[i], "a link", link_fields, COUNT(link_fields),
                                 link))
            continue;
        if (!value_get(&list->items[i], "label") || !value_get(&list->items[i], "url"))
            catalog_error(l, &list->items[i], ERR_INVALID, "a link needs \"label\" and \"url\"");
        t->n_links++;
    }
    t->links = links;
}

/* --- a template --- */

static void template_partial(struct load *l, const struct value *v, void *object)
{
    ((struct catalog_template *)object)->partial = catalog_read_bool(l, v, "\"partial\"");
}

static void template_immutable(struct load *l, const struct value *v, void *object)
{
    ((struct catalog_template *)object)->immutable = catalog_read_bool(l, v, "\"immutable\"");
}

static const struct field template_fields[] = {
    {"template", catalog_kind_name},
    {"description", catalog_kind_description},
    {"partial", template_partial},
    {"immutable", template_immutable},
    {"extends", template_extends},
    {"includes", template_includes},
    {"defaults", template_defaults},
    {"compatibility", template_compatibility},
    {"constraints", catalog_read_constraints},
    {"administration", template_administration},
    {"callbacks", template_callbacks},
    {"links", template_links},
};
static const struct kind_shape template_shape = {"template", "a template", template_fields,
                                                 COUNT(template_fields)};

bool catalog_template_fields(struct load *l, const struct value *v, struct catalog_template *t)
{
    bool lenient;

    *t = (struct catalog_template){
        .config = l->no_values, .min_nodes = 1, .max_nodes = CATALOG_NONE, .body = v};
    return catalog_kind_read(l, v, &template_shape, &lenient, t);
}

/* A partial is defaults and compatibility. */
static void partial_check(struct load *l, const struct catalog_template *t, const struct value *v)
{
    static const char *const others[] = {"extends",        "includes",  "constraints",
                                         "administration", "callbacks", "links"};

    for (size_t i = 0; t->partial && i < COUNT(others); i++)
        if (value_get(v, others[i]))
            catalog_error(l, value_get(v, others[i]), ERR_INVALID,
                          "a partial template has defaults and compatibility, not \"%s\"",
                          others[i]);
    if (t->immutable && !t->partial)
        catalog_error(l, value_get(v, "immutable"), ERR_INVALID,
                      "only a partial template can be immutable");
}

void catalog_read_template(struct load *l, const struct value *v)
{
    struct load_template t = {.at = v};
    struct catalog_kind *kind = &t.template.kind;

    if (!catalog_template_fields(l, v, &t.template))
        return;
    t.lenient = l->lenient;
    catalog_excuse(l, t.lenient, &kind->fault, &kind->fault_where);
    partial_check(l, &t.template, v);
    catalog_excuse_none(l);
    t.template.body = value_copy(l->mem, v);
    KIND_ADD(l, templates, by_template, "template", t);
}
