/* face_provider.c - requests: providers and their fields, and the plugins that ask for them
 *
 * A sensitive value comes in and never goes out: whoever reads a provider sees MASK_TEXT in its
 * place, and that it has one.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "base/text.h"
#include "server/providers.h"

/* --- providers --- */

static struct value *view_provider(struct arena *a, const struct provider *p)
{
    struct value *v = value_map(a);
    value_put_text(a, v, "name", p->name);
    value_put_text(a, v, "type", p->type);
    value_set(a, v, "fields", provider_shown(a, p->fields, &p->secret));
    value_set(a, v, "sensitive", sealed_names(a, &p->secret));
    value_put_text(a, v, "created_at", view_time(a, p->created_ms));
    value_put_int(a, v, "rev", p->rev);
    return v;
}

static int provider_found(struct server *s, const struct server_call *c,
                          const struct provider **ret, struct err *e)
{
    *ret = provider_named(s, str_of(c->id[0]));
    if (*ret && (*ret)->tenant == c->who->tenant)
        return 0;
    *ret = NULL;
    face_not_found(e, "provider", c->id[0]);
    return err_hint(e, "`anneal provider list` shows those there are");
}

int server_provider_list(struct server *s, const struct server_call *c, struct server_reply *r,
                         struct err *e)
{
    const struct provider *p;
    struct page page;
    int rc = page_begin(&page, c, e);
    if (rc < 0)
        return rc;
    for (uint32_t at = 0; (p = provider_next(s, at)); at = p->id)
        if (p->tenant == c->who->tenant && page_wants(&page, p->id))
            page_add(&page, c, view_provider(c->mem, p));
    page_end(&page, c, r);
    return 0;
}

int server_provider_get(struct server *s, const struct server_call *c, struct server_reply *r,
                        struct err *e)
{
    const struct provider *p;
    int rc = provider_found(s, c, &p, e);
    if (rc < 0)
        return rc;
    r->body = view_provider(c->mem, p);
    r->rev = p->rev;
    return 0;
}

/* Fields that the type does not ask an admin for are refused by name: an admin can mend it. */
static int fields_refused(const struct plugin_type *t, const struct value *dropped, struct err *e)
{
    const char *names[PLUGIN_MAX_LIST];
    uint32_t n = 0;
    if (!dropped->n)
        return 0;
    struct str name = value_as_str(&dropped->items[0]);
    const struct plugin_field *f = plugin_field_get(t, name);
    for (uint32_t i = 0; i < t->n_fields && n < PLUGIN_MAX_LIST; i++)
        if (t->fields[i].by_admin)
            names[n++] = t->fields[i].name.s;
    const char *near = text_nearest(name, names, n);
    if (f)
        err_set(e, ERR_INVALID, "\"%s\" is said in each request, not here", name.s);
    else
        err_set(e, ERR_INVALID, "type %s has no field \"%s\"", t->name.s, name.s);
    err_at(e, "/fields/%s", name.s);
    if (near)
        return err_hint(e, "did you mean %s?", near);
    return err_hint(e, "`anneal plugin show` tells what its types ask for");
}

static int provider_new_check(const struct server_call *c, struct err *e)
{
    if (c->if_match && c->if_match[0] != '*') {
        err_set(e, ERR_STALE, "there is no provider %s, so it has no revision %s", c->id[0],
                c->if_match);
        return err_hint(e, "use If-Match * to make it");
    }
    if (!text_is_name(str_of(c->id[0]))) {
        err_set(e, ERR_INVALID, "\"%s\" is not a name for a provider", c->id[0]);
        err_at(e, "{provider}");
        return err_hint(e,
                        "lower-case letters, digits and . _ -, beginning with a letter or digit");
    }
    if (!value_get(c->body, "type")) {
        err_set(e, ERR_REFUSED, "a new provider needs a type");
        return err_at(e, "/type");
    }
    return 0;
}

int server_provider_put(struct server *s, const struct server_call *c, struct server_reply *r,
                        struct err *e)
{
    static const struct value nothing = {.kind = VALUE_MAP};
    const struct provider *p = provider_named(s, str_of(c->id[0]));
    const struct value *given = value_get(c->body, "fields");
    const struct plugin_type *t;
    bool new = !p;
    int rc = server_writable(s, e);
    if (rc < 0)
        return rc;
    if (p && p->tenant != c->who->tenant)
        return err_set(e, ERR_EXISTS, "the name %s is taken", c->id[0]);
    rc = new ? provider_new_check(c, e) : face_match(c, p->rev, "provider", c->id[0], e);
    if (rc < 0)
        return rc;
    struct str type = value_as_str(value_get(c->body, "type"));
    if (!type.n)
        type = str_of(arena_strdup(c->mem, p->type));
    if ((rc = provider_type(s, type, &t, e)) < 0) {
        err_at(e, "/type");
        return rc;
    }
    bool anew = new || !str_is(type, p->type);
    given = given ? given : &nothing;
    struct plugin_split split = plugin_fields_split(c->mem, t, true, given);
    if ((rc = fields_refused(t, split.dropped, e)) < 0 ||
        (rc = plugin_fields_check(t, given, e)) < 0)
        return rc;
    const struct value *has = value_merge(
        c->mem, anew ? &nothing : provider_shown(c->mem, p->fields, &p->secret), given);
    if ((rc = plugin_fields_complete(t, true, has, e)) < 0 ||
        (rc = provider_put(s, c, str_of(c->id[0]), type, split.plain, split.sensitive, &p, e)) < 0)
        return rc;
    r->body = view_provider(c->mem, p);
    r->rev = p->rev;
    if (new)
        r->location = arena_printf(c->mem, "/v1/providers/%s", c->id[0]);
    r->group = commit_open_group(s->commit);
    return 0;
}

int server_provider_delete(struct server *s, const struct server_call *c, struct server_reply *r,
                           struct err *e)
{
    const struct provider *p;
    int rc = server_writable(s, e);
    if (rc < 0 || (rc = provider_found(s, c, &p, e)) < 0 ||
        (rc = face_match(c, p->rev, "provider", c->id[0], e)) < 0)
        return rc;
    provider_drop(s, c, p);
    r->group = commit_open_group(s->commit);
    return 0;
}

/* --- plugins --- */

static void text_put(struct arena *a, struct value *v, const char *key, struct str s)
{
    value_set(a, v, key, value_str(a, s));
}

static struct value *view_field(struct arena *a, const struct plugin_field *f)
{
    struct value *v = value_map(a);
    text_put(a, v, "name", f->name);
    value_put_text(a, v, "by", f->by_admin ? "admin" : "user");
    text_put(a, v, "label", f->label);
    value_put_text(a, v, "type", plugin_field_type_name(f->type));
    text_put(a, v, "tip", f->tip);
    value_put_bool(a, v, "override", f->may_override);
    value_put_bool(a, v, "sensitive", f->sensitive);
    value_set(a, v, "options", f->options ? f->options : value_null(a));
    value_set(a, v, "default", f->otherwise ? f->otherwise : value_null(a));
    return v;
}

static struct value *view_sets(struct arena *a, const struct plugin_set *sets, uint32_t n)
{
    struct value *list = value_list(a);
    for (uint32_t i = 0; i < n; i++) {
        struct value *set = value_list(a);
        for (uint32_t k = 0; k < sets[i].n; k++)
            value_add(a, set, value_str(a, sets[i].at[k]));
        value_add(a, list, set);
    }
    return list;
}

static struct value *view_type(struct arena *a, const struct plugin_type *t)
{
    struct value *v = value_map(a), *fields = value_list(a), *required = value_map(a);
    struct value *resources = value_list(a);
    for (uint32_t i = 0; i < t->n_fields; i++)
        value_add(a, fields, view_field(a, &t->fields[i]));
    value_set(a, required, "user", view_sets(a, t->required[0], t->n_required[0]));
    value_set(a, required, "admin", view_sets(a, t->required[1], t->n_required[1]));
    for (uint32_t i = 0; i < t->n_resources; i++) {
        struct value *one = value_map(a);
        text_put(a, one, "kind", t->resources[i].name);
        value_put_text(a, one, "format", t->resources[i].archive ? "archive" : "file");
        value_put_text(a, one, "permissions", arena_printf(a, "%04o", t->resources[i].mode));
        value_add(a, resources, one);
    }
    text_put(a, v, "name", t->name);
    value_set(a, v, "fields", fields);
    value_set(a, v, "required", required);
    value_set(a, v, "resources", resources);
    return v;
}

static struct value *view_actions(struct arena *a, const struct plugin *p)
{
    struct value *list = value_list(a);
    for (uint32_t i = 0; i < p->n_actions; i++) {
        const struct plugin_action *x = &p->actions[i];
        struct value *v = value_map(a);
        text_put(a, v, "name", x->name);
        value_put_int(a, v, "timeout_ms", (int64_t)x->timeout_ms);
        value_put_text(a, v, "repeat", repeat_name(x->repeat));
        text_put(a, v, "probe", x->probe);
        value_put_bool(a, v, "leaves", x->leaves);
        value_add(a, list, v);
    }
    return list;
}

/* Which workers have said that they have it, and in which version. */
static struct value *view_holders(const struct server *s, struct arena *a, struct str plugin)
{
    struct value *list = value_list(a);
    for (size_t i = 0; i < s->workers.n; i++) {
        if (s->workers.at[i]->capacity == 0)
            continue; /* not heard of */
        const struct value *all = view_worker_plugins(a, s->workers.at[i]);
        for (uint32_t k = 0; k < all->n; k++) {
            struct value *v = value_map(a);
            if (!str_eq(value_as_str(value_get(&all->items[k], "name")), plugin))
                continue;
            value_put_text(a, v, "name", s->workers.at[i]->name);
            text_put(a, v, "version", value_as_str(value_get(&all->items[k], "version")));
            value_add(a, list, v);
        }
    }
    return list;
}

static struct value *view_plugin(const struct server *s, struct arena *a, const struct plugin *p)
{
    struct value *v = value_map(a), *types = value_list(a);
    for (uint32_t i = 0; i < p->n_types; i++)
        value_add(a, types, view_type(a, &p->types[i]));
    text_put(a, v, "name", p->name);
    value_put_text(a, v, "type", plugin_kind_name(p->kind));
    text_put(a, v, "version", p->version);
    text_put(a, v, "description", p->description);
    text_put(a, v, "directory", p->dir);
    value_put_bool(a, v, "dry_run", p->dry_run);
    value_set(a, v, "actions", view_actions(a, p));
    value_set(a, v, "serves", types);
    value_set(a, v, "workers", view_holders(s, a, p->name));
    value_set(a, v, "fault", value_null(a));
    return v;
}

/* One that cannot be used: where it is, and why. */
static struct value *view_fault(struct arena *a, const struct plugin_fault *f)
{
    struct value *v = value_map(a);
    const char *slash = strrchr(f->dir.s, '/');
    value_put_text(a, v, "name", slash ? slash + 1 : f->dir.s);
    text_put(a, v, "directory", f->dir);
    value_put_text(a, v, "fault",
                   arena_printf(a, "%s%s%s", f->err.at, f->err.at[0] ? ": " : "", f->err.text));
    return v;
}

/* Those of a worker that the server does not have, each where it is first told. */
static void page_strangers(struct server *s, const struct server_call *c, struct page *p,
                           uint64_t id)
{
    const struct plugins *all = providers_plugins(s);
    struct strmap seen = {0};
    for (uint32_t i = 0; i < all->n; i++)
        strmap_put(&seen, all->at[i]->name, 1);
    for (size_t i = 0; i < s->workers.n; i++) {
        if (s->workers.at[i]->capacity == 0)
            continue;
        const struct value *list = view_worker_plugins(c->mem, s->workers.at[i]);
        for (uint32_t k = 0; k < list->n; k++) {
            struct str name = value_as_str(value_get(&list->items[k], "name"));
            if (!name.n || !strmap_put(&seen, name, 1) || !page_wants(p, ++id))
                continue;
            struct value *v = value_map(c->mem);
            text_put(c->mem, v, "name", name);
            value_put_text(c->mem, v, "directory", "");
            value_set(c->mem, v, "workers", view_holders(s, c->mem, name));
            value_put_text(c->mem, v, "fault",
                           arena_printf(c->mem, "worker %s has it, the server does not",
                                        s->workers.at[i]->name));
            page_add(p, c, v);
        }
    }
    strmap_done(&seen);
}

int server_plugin_list(struct server *s, const struct server_call *c, struct server_reply *r,
                       struct err *e)
{
    const struct plugins *all = providers_plugins(s);
    struct page p;
    int rc = page_begin(&p, c, e);
    if (rc < 0)
        return rc;
    for (uint32_t i = 0; i < all->n; i++)
        if (page_wants(&p, i + 1))
            page_add(&p, c, view_plugin(s, c->mem, all->at[i]));
    for (uint32_t i = 0; i < all->n_faults; i++)
        if (page_wants(&p, all->n + i + 1))
            page_add(&p, c, view_fault(c->mem, &all->faults[i]));
    page_strangers(s, c, &p, all->n + all->n_faults);
    page_end(&p, c, r);
    return 0;
}

int server_plugin_get(struct server *s, const struct server_call *c, struct server_reply *r,
                      struct err *e)
{
    const struct plugin *p;
    int rc = plugins_find(providers_plugins(s), str_of(c->id[0]), &p, e);
    if (rc < 0) {
        char hint[sizeof e->hint];
        snprintf(hint, sizeof hint, "%s", e->hint);
        face_not_found(e, "plugin", c->id[0]);
        return err_hint(e, "%s", hint);
    }
    r->body = view_plugin(s, c->mem, p);
    r->live = true;
    return 0;
}
