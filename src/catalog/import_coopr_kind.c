/* import_coopr_kind.c - hardware, images and providers of Coopr
 *
 * Numbers there are texts; here they are numbers, so that what services demand can be compared with
 * them.  Fields of a provider come from the descriptor of its type, where the source has one.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "catalog/import_coopr_i.h"

#include "base/text.h"

#define COUNT(table) (sizeof(table) / sizeof *(table))

static void head_put(struct coopr *o, struct value *out, const char *key,
                     const struct coopr_item *item)
{
    struct value *text;

    value_put_text(o->x.mem, out, key, item->name);
    if ((text = crow_description(&o->x, value_get(item->v, "description"), item->name)))
        value_set(o->x.mem, out, "description", text);
}

/* --- hardware and images --- */

/* One entry of a providermap: the name that the provider has for it, and what else it says. */
static struct value *offer_translate(struct coopr *o, const struct value *from, const char *key,
                                     const char *what)
{
    struct str own = crow_text(&o->x, value_get(from, key));
    struct value *out = value_map(o->x.mem);

    if (!own.n || own.n > CATALOG_MAX_TEXT) {
        crow_tell(&o->x, IMPORT_LEFT_OUT, from, what, "a provider does not say its %s", key);
        return NULL;
    }
    value_set(o->x.mem, out, key, value_str(o->x.mem, own));
    for (uint32_t i = 0; i < from->n; i++) {
        const struct member *m = &from->members[i];
        struct str name = {m->key, m->key_n};
        const struct value *number = coopr_number(o, &m->v);
        if (str_is(name, key))
            continue;
        if (str_is(name, "sshuser"))
            value_set(o->x.mem, out, "user", value_str(o->x.mem, crow_text(&o->x, &m->v)));
        else if (str_is(name, "cost") && !number)
            crow_tell(&o->x, IMPORT_LEFT_OUT, &m->v, what, "its cost is no number");
        else
            value_set_str(o->x.mem, out, name, number ? number : value_copy(o->x.mem, &m->v));
    }
    return out;
}

static void offers_translate(struct coopr *o, struct value *out, const struct coopr_item *item,
                             const char *key)
{
    const struct value *map = value_get(item->v, "providermap");
    struct value *providers = value_map(o->x.mem);

    for (uint32_t i = 0; value_is(map, VALUE_MAP) && i < map->n; i++) {
        const struct member *m = &map->members[i];
        struct value name = m->v;
        name.kind = VALUE_STRING;
        name.s = m->key;
        name.n = m->key_n;
        const char *provider = coopr_ref(o, COOPR_PROVIDER, &name, item->name);
        struct value *offer = provider && m->v.kind == VALUE_MAP
                                  ? offer_translate(o, &m->v, key, item->name)
                                  : NULL;
        if (offer)
            value_set(o->x.mem, providers, provider, offer);
    }
    if (providers->n)
        value_set(o->x.mem, out, "providers", providers);
}

struct value *coopr_hardware(struct coopr *o, const struct coopr_item *item)
{
    static const char *const known[] = {"name", "description", "providermap"};
    struct value *out = value_map(o->x.mem);

    head_put(o, out, "hardware", item);
    offers_translate(o, out, item, "flavor");
    coopr_rest(o, item->v, known, COUNT(known), item->name, "hardware of ours has nothing like it");
    return out;
}

struct value *coopr_image(struct coopr *o, const struct coopr_item *item)
{
    static const char *const known[] = {"name", "description", "providermap"};
    struct value *out = value_map(o->x.mem);

    head_put(o, out, "image", item);
    offers_translate(o, out, item, "image");
    coopr_rest(o, item->v, known, COUNT(known), item->name, "images of ours have nothing like it");
    return out;
}

/* --- descriptors --- */

static void type_note(struct coopr *o, struct str type, const struct value *v)
{
    static const char *const known[] = {"name", "description", "parameters"};
    const struct value *parameters = value_get(v, "parameters");

    if (value_is(parameters, VALUE_MAP) && !strmap_get(&o->types, type, NULL))
        strmap_put(&o->types, type, (uintptr_t)parameters);
    coopr_rest(o, v, known, COUNT(known), crow_shown(&o->x, type), "jigs describe themselves");
}

void coopr_plugin(struct coopr *o, const struct value *v)
{
    const struct value *types = value_get(v, "providertypes");
    struct str file = crow_file(&o->x, v);

    if (value_is(types, VALUE_LIST)) {
        for (uint32_t i = 0; i < types->n; i++) {
            struct str type = crow_text(&o->x, &types->items[i]);
            if (value_get_str(v, type))
                type_note(o, type, value_get_str(v, type));
        }
    } else if (value_get(v, "automatortypes") || memmem(file.s, file.n, "automator", 9)) {
        crow_tell_at(&o->x, IMPORT_LEFT_OUT, file, 0, "this file",
                     "it describes what executes services: jigs describe themselves");
    } else {
        type_note(o, crow_text(&o->x, value_get(v, "name")), v);
    }
}

/* --- fields of providers --- */

static struct value *field_translate(struct coopr *o, const struct value *from, bool admin,
                                     const char *what)
{
    static const char *const known[] = {"label",     "type",    "tip",    "override",
                                        "sensitive", "options", "default"};
    static const char *const texts[] = {"label", "type", "tip"};
    struct value *out = value_map(o->x.mem);
    const struct value *options = value_get(from, "options"), *otherwise;
    bool password = str_is(crow_text(&o->x, value_get(from, "type")), "password");

    if (admin)
        value_put_text(o->x.mem, out, "by", "admin");
    if (admin && value_as_bool(value_get(from, "override"), false))
        value_put_bool(o->x.mem, out, "override", true);
    if (password || value_as_bool(value_get(from, "sensitive"), false))
        value_put_bool(o->x.mem, out, "sensitive", true);
    for (size_t i = 0; i < COUNT(texts); i++) {
        struct str text = crow_text(&o->x, value_get(from, texts[i]));
        if (text.n && text.n <= CATALOG_MAX_TEXT)
            value_set(o->x.mem, out, texts[i], value_str(o->x.mem, text));
    }
    if (value_is(options, VALUE_LIST) && options->n <= CATALOG_MAX_LIST)
        value_set(o->x.mem, out, "options", value_copy(o->x.mem, options));
    if ((otherwise = value_get(from, "default")))
        value_set(o->x.mem, out, "default", value_copy(o->x.mem, otherwise));
    coopr_rest(o, from, known, COUNT(known), what, "fields of ours have nothing like it");
    return out;
}

static void fields_translate(struct coopr *o, struct value *fields, const struct value *from,
                             bool admin, const char *what)
{
    for (uint32_t i = 0; value_is(from, VALUE_MAP) && i < from->n; i++) {
        const struct member *m = &from->members[i];
        struct str key = {m->key, m->key_n};
        if (!text_is_name(key) || fields->n >= CATALOG_MAX_LIST)
            crow_tell(&o->x, IMPORT_LEFT_OUT, &m->v, what, "%s cannot be a field's name",
                      crow_shown(&o->x, key));
        else if (!value_get_str(fields, key))
            value_set_str(o->x.mem, fields, key, field_translate(o, &m->v, admin, what));
    }
}

/* A list of sets that are not empty; NULL: nothing is required. */
static const struct value *required_of(const struct value *parameters, const char *who)
{
    const struct value *sets = value_get(value_get(parameters, who), "required");

    for (uint32_t i = 0; value_is(sets, VALUE_LIST) && i < sets->n; i++)
        if (sets->items[i].kind != VALUE_LIST || !sets->items[i].n)
            return NULL; /* an empty set is always there */
    return value_is(sets, VALUE_LIST) && sets->n ? sets : NULL;
}

static void set_unite(struct coopr *o, struct value *set, const struct value *from,
                      const struct value *fields)
{
    for (uint32_t i = 0; from && i < from->n; i++)
        if (value_get_str(fields, value_as_str(&from->items[i])))
            value_add(o->x.mem, set, &from->items[i]);
}

/* One set of the admin's and one of the user's must be whole: so must one of all pairs. */
static void required_put(struct coopr *o, struct value *out, const struct value *parameters,
                         const struct value *fields)
{
    const struct value *admin = required_of(parameters, "admin"),
                       *user = required_of(parameters, "user");
    struct value *sets = value_list(o->x.mem);
    uint32_t n_admin = admin ? admin->n : 1, n_user = user ? user->n : 1;

    for (uint32_t i = 0; (admin || user) && i < n_admin; i++)
        for (uint32_t k = 0; k < n_user && sets->n < CATALOG_MAX_LIST; k++) {
            struct value *set = value_list(o->x.mem);
            set_unite(o, set, admin ? &admin->items[i] : NULL, fields);
            set_unite(o, set, user ? &user->items[k] : NULL, fields);
            if (set->n)
                value_add(o->x.mem, sets, set);
        }
    if (sets->n)
        value_set(o->x.mem, out, "required", sets);
}

static void secrets_tell(struct coopr *o, const struct value *config, const struct value *fields,
                         const char *what)
{
    for (uint32_t i = 0; value_is(config, VALUE_MAP) && i < config->n; i++) {
        struct str key = {config->members[i].key, config->members[i].key_n};
        const struct value *field = value_get_str(fields, key);
        if (value_as_bool(value_get(field, "sensitive"), false) &&
            crow_text(&o->x, &config->members[i].v).n)
            crow_tell(&o->x, IMPORT_CHANGED, &config->members[i].v, what,
                      "%s is a secret, and stands in its file as it stood here",
                      crow_shown(&o->x, key));
    }
}

/* --- providers --- */

static void action_put(struct coopr *o, struct value *actions, const char *action, const char *name)
{
    struct value *task = coopr_task(o, action, name), *params = value_map(o->x.mem);
    struct value *list = value_list(o->x.mem);

    value_put_text(o->x.mem, params, "action", action);
    value_set(o->x.mem, task, "params", params);
    value_add(o->x.mem, list, task);
    value_set(o->x.mem, actions, action, list);
}

/* What executes the services of a node is brought to it first, by whatever executes them. */
static void bootstrap_put(struct coopr *o, struct value *actions, const struct coopr_item *item)
{
    struct value *list = value_list(o->x.mem);

    for (size_t i = 0; i < o->automators.n && list->n < CATALOG_MAX_LIST; i++) {
        struct str type = {o->automators.at[i].key, o->automators.at[i].len};
        const char *jig = coopr_jig(o, item->v, type);
        struct value *task, *params;
        if (!strcmp(jig, "shell"))
            continue;
        task = coopr_task(o, "bootstrap", jig);
        params = value_map(o->x.mem);
        value_put_text(o->x.mem, task, "type", jig);
        value_put_text(o->x.mem, params, "action", "bootstrap");
        value_set(o->x.mem, task, "params", params);
        value_add(o->x.mem, list, task);
    }
    if (!list->n)
        return;
    value_set(o->x.mem, actions, "bootstrap", list);
    crow_tell(&o->x, IMPORT_CHANGED, item->v, item->name,
              "bootstrap is of every kind that services have, not of those on a node");
}

struct value *coopr_provider(struct coopr *o, const struct coopr_item *item)
{
    static const char *const known[] = {"name", "description", "providertype", "provisioner"};
    const struct value *type = value_get(item->v, "providertype");
    const struct value *config = value_get(item->v, "provisioner");
    struct value *out = value_map(o->x.mem), *actions = value_map(o->x.mem);
    struct value *fields = value_map(o->x.mem);
    struct str given = crow_text(&o->x, type);
    uintptr_t parameters;

    head_put(o, out, "provider", item);
    if (given.n) {
        value_put_text(o->x.mem, out, "jig", coopr_jig(o, type, given));
        action_put(o, actions, "create", item->name);
        action_put(o, actions, "confirm", item->name);
        bootstrap_put(o, actions, item);
        action_put(o, actions, "delete", item->name);
        value_set(o->x.mem, out, "actions", actions);
    } else {
        crow_tell(&o->x, IMPORT_FAULT, item->v, item->name, "it has no type, and so no actions");
    }
    if (value_is(config, VALUE_MAP))
        value_set(o->x.mem, out, "config", value_copy(o->x.mem, config));
    if (given.n && strmap_get(&o->types, given, &parameters)) {
        const struct value *p = (const struct value *)parameters;
        fields_translate(o, fields, value_at(p, "admin.fields"), true, item->name);
        fields_translate(o, fields, value_at(p, "user.fields"), false, item->name);
        if (fields->n)
            value_set(o->x.mem, out, "fields", fields);
        required_put(o, out, p, fields);
        secrets_tell(o, config, fields, item->name);
    }
    coopr_rest(o, item->v, known, COUNT(known), item->name,
               "providers of ours have nothing like it");
    return out;
}
