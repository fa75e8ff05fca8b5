/* provider_request.c - what a request for a cluster says to its provider
 *
 * Asked for is what the provider's type asks of users, and an admin's that may be overridden; what
 * is an admin's alone is refused by name, with where an admin says it.  Whether that is enough is
 * decided by all that is known: the provider, what the cluster has said before, this request.  Who
 * has no provider here is asked by the catalog's own list of fields.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/log.h"
#include "server/cluster_i.h"
#include "server/providers.h"

static enum plugin_field_type type_of(const struct provider_field *f)
{
    for (int i = 0; i < FIELD_TYPE_COUNT; i++)
        if (str_is(f->type, plugin_field_type_name((enum plugin_field_type)i)))
            return (enum plugin_field_type)i;
    return FIELD_TEXT;
}

/* The catalog's fields of a provider, as a plugin would have them. */
static const struct plugin_type *type_of_catalog(struct arena *mem,
                                                 const struct catalog_provider *p)
{
    struct plugin_type *t = arena_new(mem, struct plugin_type, 1);
    struct plugin_field *fields = arena_new(mem, struct plugin_field, p->n_fields);
    struct plugin_set *sets = arena_new(mem, struct plugin_set, p->n_required);
    for (uint32_t i = 0; i < p->n_fields; i++)
        fields[i] = (struct plugin_field){.name = p->fields[i].name,
                                          .type = type_of(&p->fields[i]),
                                          .by_admin = p->fields[i].by_admin,
                                          .may_override = p->fields[i].may_override,
                                          .sensitive = p->fields[i].sensitive,
                                          .options = p->fields[i].choice,
                                          .otherwise = p->fields[i].otherwise};
    for (uint32_t i = 0; i < p->n_required; i++)
        sets[i] = (struct plugin_set){p->required[i].at, p->required[i].n};
    *t = (struct plugin_type){.name = p->kind.name,
                              .fields = fields,
                              .n_fields = p->n_fields,
                              .required = {sets, NULL},
                              .n_required = {p->n_required, 0}};
    return t;
}

/* --- what only an admin says --- */

/* Where that is: in the provider, if there is one here, else in the catalog. */
static void admin_says(struct buf *b, const struct provider *p, struct str name,
                       const struct plugin_field *f)
{
    if (!p)
        buf_printf(b, "under `config` of provider %s in the catalog", name.s);
    else if (f->sensitive)
        buf_printf(b, "by `anneal provider set %s --set-file %s=FILE`", name.s, f->name.s);
    else
        buf_printf(b, "by `anneal provider set %s --set %s=...`", name.s, f->name.s);
}

static int admins_refused(const struct plugin_type *t, const struct provider *p, struct str name,
                          const struct value *given, struct err *e)
{
    for (uint32_t i = 0; value_is(given, VALUE_MAP) && i < given->n; i++) {
        const struct member *m = &given->members[i];
        const struct plugin_field *f = plugin_field_get(t, (struct str){m->key, m->key_n});
        SCOPED_BUF(where);
        if (!f || plugin_field_is_asked(f))
            continue;
        err_set(e, ERR_INVALID,
                "\"%s\" of provider %s is set by an administrator, not in a request", f->name.s,
                name.s);
        err_at(e, "/fields/%s", f->name.s);
        admin_says(&where, p, name, f);
        return err_hint(e, "leave it out; an administrator sets it for all clusters, %s",
                        where.data);
    }
    return 0;
}

struct missing {
    const struct plugin_field *admins; /* the first that is an admin's alone */
    bool asked;                        /* another may be said in a request */
};

static void missing_of(const struct plugin_type *t, int list, const struct value *has,
                       struct missing *ret)
{
    struct missing m = *ret;
    for (uint32_t i = 0; i < t->n_required[list]; i++) {
        const struct plugin_set *set = &t->required[list][i];
        uint32_t lacks = 0;
        for (uint32_t k = 0; k < set->n; k++) {
            const struct plugin_field *f = plugin_field_get(t, set->at[k]);
            if (plugin_field_is_known(t, has, set->at[k]))
                continue;
            lacks++;
            if (!f || plugin_field_is_asked(f))
                m.asked = true;
            else if (!m.admins)
                m.admins = f;
        }
        if (!lacks)
            return; /* one that is whole is enough */
    }
    *ret = m;
}

/* What is missing is given by whoever may: a remedy that a request does not have is none. */
static int missing_hint(const struct plugin_type *t, const struct provider *p, struct str name,
                        const struct value *has, struct err *e)
{
    struct missing m = {0};
    SCOPED_BUF(where);
    missing_of(t, 0, has, &m);
    missing_of(t, 1, has, &m);
    if (!m.admins)
        return err_hint(e, "give them as `fields`, or with --field and --field-file");
    admin_says(&where, p, name, m.admins);
    return err_hint(e, "%s%s is set by an administrator, %s",
                    m.asked ? "give what is yours as `fields`, or with --field and --field-file; "
                            : "",
                    m.admins->name.s, where.data);
}

/* --- requests --- */

static void dropped_log(const struct value *dropped, struct str provider)
{
    for (uint32_t i = 0; i < dropped->n; i++)
        log_line(
            LOG_WARN, "provider.field", LOGT("text", "nobody asks for it, so it does not count"),
            LOGT("field", value_as_text(&dropped->items[i], "")), LOGT("provider", provider.s));
}

int provider_request(struct server *s, struct arena *mem, const struct value *spec,
                     uint32_t deployment, const struct value *given, struct provider_said *ret,
                     struct err *e)
{
    struct str name = value_as_str(value_get(spec, "provider"));
    const struct provider *p = provider_named(s, name);
    const struct catalog_provider *c = s->catalog ? catalog_provider_get(s->catalog, name) : NULL;
    const struct value *before = value_get(spec, "fields");
    const struct plugin_type *t;
    int rc = 0;
    if (p)
        rc = provider_type(s, str_of(p->type), &t, e);
    else
        t = type_of_catalog(mem, c ? c : &(struct catalog_provider){.kind.name = name});
    if (rc < 0 || (rc = admins_refused(t, p, name, given, e)) < 0 ||
        (rc = plugin_fields_check(t, given, e)) < 0)
        return rc;
    struct plugin_split split = plugin_fields_split(mem, t, false, given);
    dropped_log(split.dropped, name);
    const struct value *has = value_map(mem);
    const struct value *layers[] = {c ? c->config : NULL,
                                    p ? provider_shown(mem, p->fields, &p->secret) : NULL,
                                    before,
                                    provider_shown(mem, NULL, credential_get(s, deployment)),
                                    split.plain,
                                    split.sensitive};
    for (size_t i = 0; i < sizeof layers / sizeof *layers; i++)
        if (layers[i])
            has = value_merge(mem, has, layers[i]);
    if ((rc = plugin_fields_complete(t, false, has, e)) < 0) {
        (void)err_wrap(e, "provider %s", name.s);
        return missing_hint(t, p, name, has, e);
    }
    *ret = (struct provider_said){before ? value_merge(mem, before, split.plain) : split.plain,
                                  split.sensitive};
    return 0;
}
