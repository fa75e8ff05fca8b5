/* want_resolve.c - what a role reads of the noderoles above it
 *
 *     wants: [database.port, /site/ntp/servers]
 *
 * ROLE.ATTRIBUTE is an attribute of that role, or of the roles that provide that name, at the path
 * where it lives there; whoever reads it needs ROLE as if it were required.  A path that begins
 * with a slash may come from anywhere above and needs nobody.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "catalog/catalog.h"
#include "catalog/catalog_i.h"

#include "base/text.h"

struct reads { /* of one role, being collected */
    struct load *l;
    struct load_role *role;
    VEC(struct catalog_read) at;
    VEC(const struct value *) where;
    bool full;
};

/* At most 64 bytes of what a user wrote, for a message. */
static int shown(struct str s)
{
    return (int)text_utf8_prefix(s.s, s.n < 64 ? s.n : 64);
}

/* False if it was there already. */
static bool read_add(struct reads *r, struct str path, uint32_t name, struct str attribute,
                     const struct value *at)
{
    for (size_t i = 0; i < r->at.n; i++)
        if (r->at.at[i].name == name && str_eq(r->at.at[i].path, path))
            return false;
    if (r->at.n == CATALOG_MAX_LIST) {
        if (!r->full)
            catalog_error(r->l, at, ERR_LIMIT, "\"wants\" leads to more than %d paths",
                          CATALOG_MAX_LIST);
        r->full = true;
        return true;
    }
    vec_push(&r->at, ((struct catalog_read){path, name, attribute, catalog_where_of(at)}));
    vec_push(&r->where, at);
    return true;
}

static void said_twice(struct reads *r, const struct value *at, struct str text)
{
    catalog_fault(r->l, CATALOG_WARNING, ERR_INVALID, catalog_where_of(at),
                  "\"wants\" names \"%.*s\" twice", shown(text), text.s);
}

/* --- attributes --- */

/* The nearest attribute of the role called so, or of the first that provides the name. */
static void hint_attribute(struct load *l, struct err *e, const struct catalog_name *owner,
                           struct str attribute)
{
    uint32_t role = owner->role != CATALOG_NONE ? owner->role : owner->providers[0];
    const struct value *known = l->roles.at[role].role.attributes;
    struct strmap names = {0};

    for (uint32_t i = 0; e && i < known->n; i++)
        strmap_put(&names, (struct str){known->members[i].key, known->members[i].key_n}, i);
    catalog_hint_nearest(e, attribute, &names);
    strmap_done(&names);
}

/* Adds the attribute as the role has it; false if it has none of that name. */
static bool attribute_add_of(struct reads *r, uint32_t role, uint32_t name, struct str attribute,
                             const struct value *at, bool *ret_new)
{
    struct str path;

    if (!catalog_attribute_find(&r->l->roles.at[role].role, attribute, &path))
        return false;
    *ret_new |= read_add(r, path, name, attribute, at);
    return true;
}

static void attribute_want(struct reads *r, const struct value *at, struct str owner,
                           struct str attribute)
{
    struct load *l = r->l;
    const char *self = r->role->role.name.s;
    bool any = false, fresh = false;
    uintptr_t id;

    if (!strmap_get(&l->by_name, owner, &id)) {
        struct err *e = catalog_error(
            l, at, ERR_UNKNOWN_NAME,
            "role \"%s\" wants an attribute of \"%.*s\", which no role is "
            "or provides",
            self, shown(owner), owner.s);
        catalog_hint_nearest(e, owner, &l->by_name);
        return;
    }
    const struct catalog_name *name = &l->names.at[id];
    if (id == r->role->role.name_id) {
        catalog_error(l, at, ERR_INVALID, "role \"%s\" wants an attribute of its own", self);
        return;
    }
    if (name->role != CATALOG_NONE)
        any = attribute_add_of(r, name->role, (uint32_t)id, attribute, at, &fresh);
    for (uint32_t i = 0; name->role == CATALOG_NONE && i < name->n_providers && !r->full; i++)
        any |= attribute_add_of(r, name->providers[i], (uint32_t)id, attribute, at, &fresh);
    if (!any) {
        struct err *e = catalog_error(
            l, at, ERR_UNKNOWN_NAME, "role \"%s\" wants \"%.*s\", but \"%s\" has no such attribute",
            self, shown(attribute), attribute.s, name->name.s);
        hint_attribute(l, e, name, attribute);
    } else if (!fresh) {
        said_twice(r, at, value_as_str(at));
    }
}

/* --- one want --- */

static void want_read(struct reads *r, const struct value *item)
{
    struct str text = catalog_read_text(r->l, item, "a want"), path;
    size_t dot = text.n;

    if (!text.n && item->kind == VALUE_STRING)
        catalog_error(r->l, item, ERR_INVALID, "a want is ROLE.ATTRIBUTE or /a/path");
    if (!text.n)
        return;
    if (text.s[0] == '/') {
        struct value rest = *item;
        rest.s = text.s + 1;
        rest.n = (uint32_t)text.n - 1;
        path = catalog_read_path(r->l, &rest, "a path");
        if (path.n && !read_add(r, path, CATALOG_NONE, (struct str){"", 0}, item))
            said_twice(r, item, text);
        return;
    }
    while (dot && text.s[dot - 1] != '.')
        dot--;
    if (dot < 2 || dot == text.n) {
        struct err *e = catalog_error(r->l, item, ERR_INVALID,
                                      "\"%.*s\" cannot be a want: it names no attribute",
                                      shown(text), text.s);
        (void)err_hint(e, "write ROLE.ATTRIBUTE, or /a/path");
        return;
    }
    attribute_want(r, item, (struct str){text.s, dot - 1},
                   (struct str){text.s + dot, text.n - dot});
}

void catalog_resolve_wants(struct load *l, struct load_role *r)
{
    if (!r->wants || !r->wants->n)
        return;
    struct reads reads = {.l = l, .role = r};
    for (uint32_t i = 0; i < r->wants->n && !reads.full; i++)
        want_read(&reads, &r->wants->items[i]);
    struct catalog_read *kept = arena_new(l->mem, struct catalog_read, reads.at.n);
    const struct value **where = arena_new(&l->scratch, const struct value *, reads.at.n);
    for (size_t i = 0; i < reads.at.n; i++) {
        kept[i] = reads.at.at[i];
        where[i] = reads.where.at[i];
    }
    r->role.wants = kept;
    r->role.n_wants = (uint32_t)reads.at.n;
    r->wants_at = where;
    vec_done(&reads.at);
    vec_done(&reads.where);
}
