/* provider_read.c - providers: who makes machines, by which tasks, and what may be said to it
 *
 * Its tasks are read and resolved like those of a role; there are four actions and no others.  What
 * creates a machine is given a token that is equal in all its attempts, so a task that creates one
 * or looks whether it is there and leaves it open is repeated as one whose receiver recognises it.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "catalog/catalog_i.h"

#include "base/text.h"
#include "model/plan.h"
#include "model/states.h"

#define COUNT(table) (sizeof(table) / sizeof *(table))
/* The role of its machines is called CATALOG_MACHINE "." and the name, and names have 64 bytes. */
enum { PROVIDER_NAME_MAX = 64 - sizeof CATALOG_MACHINE };

/* --- labels --- */

static void provider_labels(struct load *l, const struct value *v, void *object)
{
    struct catalog_provider *p = object;

    if (v->kind != VALUE_MAP || v->n > CATALOG_MAX_LIST) {
        catalog_error(l, v, ERR_INVALID, "\"labels\" must be a map from labels to lists of values");
        return;
    }
    struct catalog_label *labels = arena_new(l->mem, struct catalog_label, v->n);
    for (uint32_t i = 0; i < v->n; i++) {
        struct value key = catalog_key_of(v, &v->members[i]);
        struct catalog_label label = {.name = catalog_read_name(l, &key, "a label")};
        label.values = catalog_read_name_list(l, &v->members[i].v, "a label");
        if (label.name.n && label.values.n)
            labels[p->n_labels++] = label;
        else if (label.name.n && v->members[i].v.kind == VALUE_LIST && !v->members[i].v.n)
            catalog_error(l, &key, ERR_INVALID, "label \"%s\" has no value", label.name.s);
    }
    p->labels = labels;
}

/* --- fields --- */

static const char *const by_names[] = {"user", "admin"};

static void field_by(struct load *l, const struct value *v, void *object)
{
    struct provider_field *f = object;
    f->by_admin = catalog_read_choice(l, v, "\"by\"", by_names, COUNT(by_names)) == 1;
}

static void field_override(struct load *l, const struct value *v, void *object)
{
    ((struct provider_field *)object)->may_override = catalog_read_bool(l, v, "\"override\"");
}

static void field_sensitive(struct load *l, const struct value *v, void *object)
{
    ((struct provider_field *)object)->sensitive = catalog_read_bool(l, v, "\"sensitive\"");
}

static void field_label(struct load *l, const struct value *v, void *object)
{
    ((struct provider_field *)object)->label = catalog_read_text(l, v, "\"label\"");
}

static void field_type(struct load *l, const struct value *v, void *object)
{
    ((struct provider_field *)object)->type = catalog_read_text(l, v, "\"type\"");
}

static void field_tip(struct load *l, const struct value *v, void *object)
{
    ((struct provider_field *)object)->tip = catalog_read_text(l, v, "\"tip\"");
}

static void field_options(struct load *l, const struct value *v, void *object)
{
    struct provider_field *f = object;
    f->choice = value_copy(l->mem, catalog_read_list(l, v, "\"options\""));
}

static void field_default(struct load *l, const struct value *v, void *object)
{
    ((struct provider_field *)object)->otherwise = value_copy(l->mem, v);
}

static const struct field field_fields[] = {
    {"by", field_by},           {"override", field_override}, {"sensitive", field_sensitive},
    {"label", field_label},     {"type", field_type},         {"tip", field_tip},
    {"options", field_options}, {"default", field_default},
};

static bool is_choice(const struct value *choice, const struct value *v)
{
    for (uint32_t i = 0; i < choice->n; i++)
        if (value_equal(&choice->items[i], v))
            return true;
    return false;
}

static void provider_fields(struct load *l, const struct value *v, void *object)
{
    struct catalog_provider *p = object;

    if (v->kind != VALUE_MAP || v->n > CATALOG_MAX_LIST) {
        catalog_error(l, v, ERR_INVALID, "\"fields\" must be a map from names to maps");
        return;
    }
    struct provider_field *fields = arena_new(l->mem, struct provider_field, v->n);
    for (uint32_t i = 0; i < v->n; i++) {
        const struct member *m = &v->members[i];
        struct value key = catalog_key_of(v, m);
        struct provider_field *f = &fields[p->n_fields];
        *f = (struct provider_field){.name = catalog_read_name(l, &key, "a field's name"),
                                     .where = catalog_where_of(&key)};
        if (!catalog_read_fields(l, &m->v, "a field", field_fields, COUNT(field_fields), f))
            continue;
        if (f->may_override && !f->by_admin)
            catalog_error(l, value_get(&m->v, "override"), ERR_INVALID,
                          "only a field that is said by an admin can be overridden");
        if (f->choice && f->otherwise && !is_choice(f->choice, f->otherwise))
            catalog_error(l, value_get(&m->v, "default"), ERR_INVALID,
                          "the default of \"%s\" is none of its options", f->name.s);
        p->n_fields += f->name.n > 0;
    }
    p->fields = fields;
}

static void provider_required(struct load *l, const struct value *v, void *object)
{
    struct catalog_provider *p = object;
    const struct value *list = catalog_read_list(l, v, "\"required\"");
    struct catalog_names *sets = arena_new(l->mem, struct catalog_names, list->n);

    for (uint32_t i = 0; i < list->n; i++) {
        struct catalog_names set = catalog_read_name_list(l, &list->items[i],
                                                          "a set of required fields");
        if (set.n)
            sets[p->n_required++] = set;
    }
    p->required = sets;
}

/* --- the other fields --- */

static void provider_jig(struct load *l, const struct value *v, void *object)
{
    struct load_provider *p = object;
    p->jig = (struct load_name){catalog_read_name(l, v, "a jig's name"), v};
}

static void provider_actions(struct load *l, const struct value *v, void *object)
{
    if (v->kind == VALUE_MAP)
        ((struct load_provider *)object)->actions = v; /* read when all tasks are known */
    else
        catalog_error(l, v, ERR_INVALID,
                      "\"actions\" must be a map from actions to lists of tasks");
}

static void provider_config(struct load *l, const struct value *v, void *object)
{
    ((struct catalog_provider *)object)->config = catalog_read_map(l, v, "\"config\"");
}

static void provider_max_nodes(struct load *l, const struct value *v, void *object)
{
    struct catalog_provider *p = object;
    p->max_nodes = catalog_read_u32(l, v, "\"max_nodes\"", 1, CATALOG_MAX_NODES);
}

static const struct field provider_shape_fields[] = {
    {"provider", catalog_kind_name},
    {"description", catalog_kind_description},
    {"jig", provider_jig},
    {"actions", provider_actions},
    {"config", provider_config},
    {"labels", provider_labels},
    {"fields", provider_fields},
    {"required", provider_required},
    {"max_nodes", provider_max_nodes},
};

/* Required fields that nobody has; when all fields are known. */
static void required_check(struct load *l, const struct load_provider *p)
{
    const struct value *sets = value_get(p->at, "required");
    struct strmap known = {0};

    for (uint32_t i = 0; i < p->provider.n_fields; i++)
        strmap_put(&known, p->provider.fields[i].name, i);
    for (uint32_t i = 0; value_is(sets, VALUE_LIST) && i < sets->n; i++)
        for (uint32_t k = 0; sets->items[i].kind == VALUE_LIST && k < sets->items[i].n; k++) {
            const struct value *item = &sets->items[i].items[k];
            struct str name = value_as_str(item);
            if (!text_is_name(name) || strmap_get(&known, name, NULL))
                continue;
            struct err *e = catalog_error(l, item, ERR_UNKNOWN_NAME, "there is no field \"%.*s\"",
                                          (int)name.n, name.s);
            catalog_hint_nearest(e, name, &known);
        }
    strmap_done(&known);
}

void catalog_read_provider(struct load *l, const struct value *v)
{
    static const struct kind_shape shape = {"provider", "a provider", provider_shape_fields,
                                            COUNT(provider_shape_fields)};
    struct load_provider p = {.at = v, .provider = {.jig = CATALOG_NONE, .config = l->no_values}};
    struct catalog_kind *kind = &p.provider.kind;

    if (!catalog_kind_read(l, v, &shape, &p.lenient, &p))
        return;
    catalog_excuse(l, p.lenient, &kind->fault, &kind->fault_where);
    required_check(l, &p);
    if (kind->name.n > PROVIDER_NAME_MAX)
        catalog_error(l, value_get(v, "provider"), ERR_INVALID,
                      "a provider's name is at most %d bytes: that of its machines is longer",
                      PROVIDER_NAME_MAX);
    catalog_excuse_none(l);
    KIND_ADD(l, providers, by_provider, "provider", p);
}

/* --- actions --- */

static int action_find(struct str name)
{
    for (int i = 0; i < PROVIDER_ACTION_COUNT; i++)
        if (str_is(name, provider_action_name(i)))
            return i;
    return -1;
}

static void action_unknown(struct load *l, const struct value *key)
{
    static const char *const names[] = {
#define X(id, text) text,
        PROVIDER_ACTIONS(X)
#undef X
    };
    struct err *e = catalog_error(l, key, ERR_INVALID, "a provider has no action \"%.*s\"",
                                  (int)key->n, key->s);
    const char *best = text_nearest(value_as_str(key), names, COUNT(names));
    if (best)
        (void)err_hint(e, "did you mean \"%s\"?", best);
    else
        (void)err_hint(e, "its actions are create, confirm, bootstrap and delete");
}

/* A machine is made once, looked at and deleted from outside; what failed in the middle is deleted
 * before another is made. */
static uint8_t action_flags(enum provider_action a)
{
    if (a == PROVIDER_CREATE || a == PROVIDER_CONFIRM)
        return DEF_F_OUTSIDE | DEF_F_LASTING | DEF_F_UNDONE;
    return a == PROVIDER_DELETE ? DEF_F_OUTSIDE : 0;
}

static void provider_resolve(struct load *l, struct load_provider *p)
{
    struct catalog_provider *out = &p->provider;

    if (p->jig.at)
        out->jig = p->jig.name.n ? catalog_jig_find(l, &p->jig, "jig") : CATALOG_NONE;
    else if (p->actions && p->actions->n)
        catalog_error(l, p->at, ERR_INVALID, "provider \"%s\" has actions and so needs a jig",
                      out->kind.name.s);
    for (uint32_t i = 0; p->actions && i < p->actions->n; i++) {
        const struct member *m = &p->actions->members[i];
        struct value key = catalog_key_of(p->actions, m);
        int action = action_find((struct str){m->key, m->key_n});
        if (action < 0) {
            action_unknown(l, &key);
            continue;
        }
        struct action_owner owner = {out->jig, REPEAT_SAFE,
                                     action_flags((enum provider_action)action)};
        /* What was only lost is asked for again, under the key that the machine was made with:
         * the loss of a look at it is no reason to delete it. */
        if (action == PROVIDER_CREATE || action == PROVIDER_CONFIRM)
            owner.repeat = REPEAT_TOKEN;
        out->actions[action] = catalog_action_resolve(l, &owner,
                                                      str_of(provider_action_name(action)),
                                                      catalog_read_list(l, &m->v, "an action"));
    }
    for (int i = 0; i < PROVIDER_ACTION_COUNT; i++) {
        out->actions[i].name = str_of(provider_action_name(i));
        if (out->kind.fault)
            out->actions[i].n_steps = 0; /* what it does is not known, and it is never used */
    }
}

void catalog_resolve_providers(struct load *l)
{
    for (size_t i = 0; i < l->providers.n; i++) {
        struct load_provider *p = &l->providers.at[i];
        catalog_excuse(l, p->lenient, &p->provider.kind.fault, &p->provider.kind.fault_where);
        provider_resolve(l, p);
    }
    catalog_excuse_none(l);
}
