/* provider_request.c - what a request for a cluster says to its provider
 *
 * Asked for is what the provider's type asks of users, and an admin's that may be overridden.
 * Whether that is enough is decided by all that is known: the provider, what the cluster has said
 * before, this request.  Who has no provider here is asked by the catalog's own list of fields.
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
    if (rc < 0 || (rc = plugin_fields_check(t, given, e)) < 0)
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
        return err_hint(e, "give them as `fields`, or with --field and --field-file");
    }
    *ret = (struct provider_said){before ? value_merge(mem, before, split.plain) : split.plain,
                                  split.sensitive};
    return 0;
}
