/* face_resource.c - requests: resources of plugins and their contents
 *
 * Uploading is two things: the content, part by part under its digest, then a version that has it.
 * Either can be repeated: a part that is here is answered with how far the content is, and the same
 * content as the newest version has is that version.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>

#include "base/base64.h"
#include "base/text.h"
#include "server/resources.h"

static struct value *view_resource(struct arena *a, const struct resource *r)
{
    struct value *v = value_map(a);
    value_put_int(a, v, "id", r->id);
    value_put_text(a, v, "type", r->type);
    value_put_text(a, v, "kind", r->kind);
    value_put_text(a, v, "name", r->name);
    value_put_int(a, v, "version", r->version);
    value_put_text(a, v, "state", resource_state_name(r->state));
    value_put_text(a, v, "digest", r->digest);
    value_put_int(a, v, "size", (int64_t)r->size_bytes);
    value_put_text(a, v, "created_at", view_time(a, r->created_ms));
    value_put_int(a, v, "rev", r->rev);
    return v;
}

static int resource_found(struct server *s, const struct server_call *c,
                          const struct resource **ret, struct err *e)
{
    uint32_t id;
    int rc = face_u32(c->id[0], "resource", &id, e);
    if (rc < 0)
        return rc;
    *ret = resource_get(s, id);
    return *ret && (*ret)->tenant == c->who->tenant ? 0 : face_not_found(e, "resource", c->id[0]);
}

/* --- contents --- */

static int digest_check(const struct server_call *c, struct err *e)
{
    if (resource_digest_good(str_of(c->id[0])))
        return 0;
    err_set(e, ERR_NOT_FOUND, "%s is not a digest", c->id[0]);
    return err_hint(e, "%d lower-case hexadecimal digits: BLAKE2b of %d bytes, as `b2sum -l 128`",
                    DIGEST_HEX - 1, DIGEST_BYTES);
}

static struct value *view_content(struct arena *a, const char *digest,
                                  const struct resource_part *part)
{
    struct value *v = value_map(a);
    value_put_text(a, v, "digest", digest);
    value_put_int(a, v, "received", (int64_t)part->received);
    value_put_bool(a, v, "complete", part->complete);
    return v;
}

int server_content_get(struct server *s, const struct server_call *c, struct server_reply *r,
                       struct err *e)
{
    struct resource_part part;
    int rc = digest_check(c, e);
    if (rc < 0)
        return rc;
    rc = resource_files_look(resources_files(s), str_of(c->id[0]), &part, e);
    if (rc == -ERR_NOT_FOUND)
        return err_set(e, ERR_NOT_FOUND, "nothing of content %s is here", c->id[0]);
    if (rc < 0)
        return rc;
    r->body = view_content(c->mem, c->id[0], &part);
    return 0;
}

int server_content_put(struct server *s, const struct server_call *c, struct server_reply *r,
                       struct err *e)
{
    uint64_t size = (uint64_t)value_as_int(value_get(c->body, "size"), 0);
    uint64_t offset = (uint64_t)value_as_int(value_get(c->body, "offset"), 0);
    struct resource_part part;
    SCOPED_BUF(bytes);
    int rc = server_writable(s, e);
    if (rc < 0 || (rc = digest_check(c, e)) < 0)
        return rc;
    if (size > s->opts->resource_limit) {
        err_set(e, ERR_TOO_LARGE, "a resource may have %" PRIu64 " bytes at most",
                s->opts->resource_limit);
        (void)err_at(e, "/size");
        return err_hint(e, "raise resource_limit in the server's configuration");
    }
    if (!base64_read(&bytes, face_body_text(c, "content"))) {
        err_set(e, ERR_INVALID, "the content is not base64");
        return err_at(e, "/content");
    }
    rc = resource_files_put(resources_files(s), str_of(c->id[0]), size, offset, buf_str(&bytes),
                            &part, e);
    if (rc >= 0)
        r->body = view_content(c->mem, c->id[0], &part);
    return rc;
}

/* --- versions --- */

static bool is_wanted(const struct server_call *c, const struct resource *r)
{
    const struct {
        const char *key, *is;
    } all[] = {{"type", r->type},
               {"kind", r->kind},
               {"name", r->name},
               {"state", resource_state_name(r->state)}};
    if (r->tenant != c->who->tenant)
        return false;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        const struct value *asked = value_get(c->query, all[i].key);
        if (asked && !str_is(value_as_str(asked), all[i].is))
            return false;
    }
    return true;
}

int server_resource_list(struct server *s, const struct server_call *c, struct server_reply *r,
                         struct err *e)
{
    const struct resource *x;
    struct page page;
    int rc = page_begin(&page, c, e);
    if (rc < 0)
        return rc;
    for (uint32_t at = 0; (x = resource_next(s, at)); at = x->id)
        if (is_wanted(c, x) && page_wants(&page, x->id))
            page_add(&page, c, view_resource(c->mem, x));
    page_end(&page, c, r);
    return 0;
}

int server_resource_create(struct server *s, const struct server_call *c, struct server_reply *r,
                           struct err *e)
{
    struct resource_key k = {.tenant = c->who->tenant,
                             .type = face_body_text(c, "type"),
                             .kind = face_body_text(c, "kind"),
                             .name = face_body_text(c, "name")};
    struct str digest = face_body_text(c, "digest");
    const struct plugin_resource *as;
    uint64_t size;
    int rc = server_writable(s, e);
    if (rc < 0 || (rc = resource_kind(s, k.type, k.kind, &as, e)) < 0)
        return rc;
    if (!text_is_name(k.name)) {
        err_set(e, ERR_INVALID, "\"%.*s\" is not a name for a resource", (int)k.name.n, k.name.s);
        (void)err_at(e, "/name");
        return err_hint(e,
                        "lower-case letters, digits and . _ -, beginning with a letter or digit");
    }
    if (!resource_digest_good(digest) || !resource_files_has(resources_files(s), digest, &size)) {
        err_set(e, ERR_REFUSED, "the content is not here, or not all of it");
        (void)err_at(e, "/digest");
        return err_hint(e, "upload it first: POST /v1/contents/{digest}");
    }
    const struct resource *x = resource_newest(s, &k);
    if (!x || !str_is(digest, x->digest)) {
        if ((rc = resource_add(s, c, &k, digest, size, &x, e)) < 0)
            return rc;
        r->location = arena_printf(c->mem, "/v1/resources/%u", x->id);
    }
    r->body = view_resource(c->mem, x);
    r->rev = x->rev;
    r->group = commit_open_group(s->commit);
    return 0;
}

int server_resource_get(struct server *s, const struct server_call *c, struct server_reply *r,
                        struct err *e)
{
    const struct resource *x;
    int rc = resource_found(s, c, &x, e);
    if (rc < 0)
        return rc;
    r->body = view_resource(c->mem, x);
    r->rev = x->rev;
    return 0;
}

static int change_state(struct server *s, const struct server_call *c, struct server_reply *r,
                        void (*change)(struct server *, const struct server_call *,
                                       const struct resource *),
                        struct err *e)
{
    const struct resource *x;
    int rc = server_writable(s, e);
    if (rc < 0 || (rc = resource_found(s, c, &x, e)) < 0)
        return rc;
    change(s, c, x);
    r->body = view_resource(c->mem, x);
    r->rev = x->rev;
    r->group = commit_open_group(s->commit);
    return 0;
}

int server_resource_stage(struct server *s, const struct server_call *c, struct server_reply *r,
                          struct err *e)
{
    return change_state(s, c, r, resource_stage, e);
}

int server_resource_recall(struct server *s, const struct server_call *c, struct server_reply *r,
                           struct err *e)
{
    return change_state(s, c, r, resource_recall, e);
}

int server_resource_sync(struct server *s, const struct server_call *c, struct server_reply *r,
                         struct err *e)
{
    struct resource_synced done;
    int rc = server_writable(s, e);
    if (rc < 0 || (rc = resource_sync(s, c, &done, e)) < 0)
        return rc;
    struct value *v = value_map(c->mem);
    value_put_int(c->mem, v, "activated", done.activated);
    value_put_int(c->mem, v, "deactivated", done.deactivated);
    r->body = v;
    r->group = commit_open_group(s->commit);
    return 0;
}

int server_resource_delete(struct server *s, const struct server_call *c, struct server_reply *r,
                           struct err *e)
{
    const struct resource *x;
    int rc = server_writable(s, e);
    if (rc < 0 || (rc = resource_found(s, c, &x, e)) < 0 ||
        (rc = face_match(c, x->rev, "resource", c->id[0], e)) < 0)
        return rc;
    if (x->state != RESOURCE_INACTIVE) {
        err_set(e, ERR_CONFLICT, "%s/%s %s version %u is %s", x->type, x->kind, x->name, x->version,
                resource_state_name(x->state));
        return err_hint(e, "recall it and sync first");
    }
    resource_drop(s, c, x);
    r->group = commit_open_group(s->commit);
    return 0;
}
