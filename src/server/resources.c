/* resources.c - versions of resources: rows and memory, and what tasks are told of them */
/* SPDX-License-Identifier: Apache-2.0 */
#include "server/resources.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/base64.h"
#include "base/json.h"
#include "base/log.h"
#include "base/sort.h"
#include "base/text.h"
#include "server/providers.h"

enum {
    RESOURCES_MOST = 10000,
    VERSIONS_MOST = 1000,    /* of one name */
    PART_BYTES = 256 * 1024, /* in one message */
    SWEEP_MS = 3600 * 1000,
};

struct unkept { /* a content that may have no row any more, once that is durable */
    char digest[DIGEST_HEX];
    uint64_t group;
};
struct resources {
    struct resource_files *files;
    VEC(struct resource) at; /* by id */
    struct strmap digests;   /* of rows -> how many have it */
    VEC(struct unkept) unkept;
    uint32_t n, last_id;
    uint64_t swept_ms;
};

/* --- memory --- */

static void digest_count(struct resources *all, const char *digest, int by)
{
    uintptr_t n = 0;
    (void)strmap_get(&all->digests, str_of(digest), &n);
    n += (uintptr_t)(intptr_t)by;
    if (n)
        strmap_put(&all->digests, str_of(digest), n);
    else
        (void)strmap_del(&all->digests, str_of(digest));
}

static bool digest_kept(void *arg, struct str digest)
{
    return strmap_get(&((struct resources *)arg)->digests, digest, NULL);
}

static struct resource *keep(struct resources *all, const struct resource *r)
{
    vec_push(&all->at, *r);
    digest_count(all, r->digest, 1);
    all->n++;
    if (r->id > all->last_id)
        all->last_id = r->id;
    return &all->at.at[all->at.n - 1];
}

static void resource_done(struct resource *r)
{
    free(r->type);
    free(r->kind);
    free(r->name);
    r->type = r->kind = r->name = NULL;
}

void resources_free(struct resources *all)
{
    if (!all)
        return;
    for (size_t i = 0; i < all->at.n; i++)
        resource_done(&all->at.at[i]);
    vec_done(&all->at);
    vec_done(&all->unkept);
    strmap_done(&all->digests);
    resource_files_free(all->files);
    free(all);
}

static int load_resource(void *arg, enum row_table t, const void *row, struct err *e)
{
    const struct row_resource *r = row;
    struct resource x = {.id = r->id,
                         .rev = r->rev,
                         .tenant = r->tenant,
                         .version = r->version,
                         .size_bytes = r->size_bytes,
                         .created_ms = r->created_ms,
                         .state = (enum resource_state)r->state};
    (void)t;
    if (!resource_digest_good(r->digest) || r->state >= RESOURCE_STATE_COUNT)
        return err_set(e, ERR_CORRUPT, "resource %u is damaged", r->id);
    memcpy(x.digest, r->digest.s, r->digest.n);
    x.type = xstrndup(r->type.s, r->type.n);
    x.kind = xstrndup(r->kind.s, r->kind.n);
    x.name = xstrndup(r->name.s, r->name.n);
    keep(arg, &x);
    return 0;
}

int resources_load(struct server *s, struct err *e)
{
    s->resources = xcalloc(1, sizeof *s->resources);
    int rc = resource_files_new(s->data_dir, &s->resources->files, e);
    return rc < 0 ? rc : store_each(s->store, ROWS_RESOURCE, load_resource, s->resources, e);
}

struct resource_files *resources_files(const struct server *s)
{
    return s->resources->files;
}

void resources_beat(struct server *s)
{
    struct resources *all = s->resources;
    uint64_t now = server_now(s);
    if (s->backup.running) /* it reads them, by rows of a moment ago */
        return;
    for (size_t i = 0; i < all->unkept.n;) {
        struct str digest = str_of(all->unkept.at[i].digest);
        if (all->unkept.at[i].group > s->durable_group) {
            i++;
            continue;
        }
        if (!digest_kept(all, digest))
            resource_files_drop(all->files, digest);
        all->unkept.at[i] = all->unkept.at[--all->unkept.n];
    }
    if (all->swept_ms && now < all->swept_ms + SWEEP_MS)
        return;
    all->swept_ms = now;
    resource_files_sweep(all->files, digest_kept, all);
}

/* --- finding --- */

/* Rows come and are made by rising ids, so that `at` is in their order. */
const struct resource *resource_next(const struct server *s, uint32_t after)
{
    const struct resources *all = s->resources;
    for (size_t i = sort_first(all->at.at, all->at.n, it, it->id > after); i < all->at.n; i++)
        if (all->at.at[i].type)
            return &all->at.at[i];
    return NULL;
}

const struct resource *resource_get(const struct server *s, uint32_t id)
{
    const struct resource *r = id ? resource_next(s, id - 1) : NULL;
    return r && r->id == id ? r : NULL;
}

static bool is_of(const struct resource *r, const struct resource_key *k)
{
    return r->type && r->tenant == k->tenant && str_is(k->type, r->type) &&
           str_is(k->kind, r->kind) && str_is(k->name, r->name);
}

const struct resource *resource_newest(const struct server *s, const struct resource_key *k)
{
    const struct resource *newest = NULL;
    for (size_t i = 0; i < s->resources->at.n; i++) {
        const struct resource *r = &s->resources->at.at[i];
        if (is_of(r, k) && (!newest || r->version > newest->version))
            newest = r;
    }
    return newest;
}

static const struct plugin_resource *kind_find(const struct plugins *all, struct str type,
                                               struct str kind)
{
    const struct plugin_resource *found = NULL;
    for (uint32_t i = 0; i < all->n && !found; i++) {
        const struct plugin_type *t = plugin_type_get(all->at[i], type);
        found = t ? plugin_resource_get(t, kind) : NULL;
    }
    return found;
}

int resource_kind(struct server *s, struct str type, struct str kind,
                  const struct plugin_resource **ret, struct err *e)
{
    const struct plugins *all = providers_plugins(s);
    const char *names[PLUGIN_MAX_LIST];
    uint32_t n = 0;
    bool served = false;
    if ((*ret = kind_find(all, type, kind)))
        return 0;
    for (uint32_t i = 0; i < all->n; i++) {
        const struct plugin_type *t = plugin_type_get(all->at[i], type);
        served |= t != NULL;
        for (uint32_t k = 0; t && k < t->n_resources && n < PLUGIN_MAX_LIST; k++)
            names[n++] = t->resources[k].name.s;
    }
    if (!served) {
        err_set(e, ERR_UNKNOWN_NAME, "no plugin serves type %.*s", (int)type.n, type.s);
        (void)err_at(e, "/type");
        return err_hint(e, "`anneal plugin list` shows the types there are");
    }
    err_set(e, ERR_UNKNOWN_NAME, "type %.*s has no resources of kind %.*s", (int)type.n, type.s,
            (int)kind.n, kind.s);
    (void)err_at(e, "/kind");
    const char *near = text_nearest(kind, names, n);
    return near ? err_hint(e, "did you mean %s?", near)
                : err_hint(e, "its descriptor says under `resources` which it has");
}

/* --- changes --- */

static void resource_row(struct server *s, enum row_verb verb, const struct resource *r)
{
    struct row_resource row = {.id = r->id,
                               .tenant = r->tenant,
                               .realm = 1,
                               .type = str_of(r->type),
                               .kind = str_of(r->kind),
                               .name = str_of(r->name),
                               .version = r->version,
                               .digest = str_of(r->digest),
                               .size_bytes = r->size_bytes,
                               .created_ms = r->created_ms,
                               .rev = r->rev,
                               .state = (uint8_t)r->state};
    commit_row(s->commit, ROWS_RESOURCE, verb, &row);
}

static void resource_tell(struct server *s, const struct server_call *c, const struct resource *r,
                          const char *state)
{
    struct event ev = {.kind = EVENT_RESOURCE, .id = r->id};
    struct commit_note note = server_note(c, NULL);
    struct value *v = value_map(c->mem);
    SCOPED_BUF(more);
    value_put_text(c->mem, v, "type", r->type);
    value_put_text(c->mem, v, "kind", r->kind);
    value_put_text(c->mem, v, "name", r->name);
    value_put_int(c->mem, v, "version", r->version);
    value_put_text(c->mem, v, "state", state);
    json_write(&more, v, 0);
    note.more = buf_str(&more);
    commit_inventory(s->commit, &ev, &note);
    server_touch(s);
}

int resource_add(struct server *s, const struct server_call *c, const struct resource_key *k,
                 struct str digest, uint64_t size_bytes, const struct resource **ret, struct err *e)
{
    struct resources *all = s->resources;
    uint32_t version = 0, versions = 0;
    for (size_t i = 0; i < all->at.n; i++)
        if (is_of(&all->at.at[i], k)) {
            versions++;
            version = all->at.at[i].version > version ? all->at.at[i].version : version;
        }
    if (all->n >= RESOURCES_MOST || versions >= VERSIONS_MOST) {
        err_set(e, ERR_LIMIT, "there are %u versions of resources already, %u of this name", all->n,
                versions);
        return err_hint(e, "`anneal resource delete` removes those that are not needed");
    }
    struct resource new = {.id = all->last_id + 1,
                           .rev = 1,
                           .tenant = k->tenant,
                           .version = version + 1,
                           .type = xstrndup(k->type.s, k->type.n),
                           .kind = xstrndup(k->kind.s, k->kind.n),
                           .name = xstrndup(k->name.s, k->name.n),
                           .size_bytes = size_bytes,
                           .created_ms = server_wall_ms(),
                           .state = RESOURCE_INACTIVE};
    memcpy(new.digest, digest.s, DIGEST_HEX - 1);
    const struct resource *r = keep(all, &new);
    resource_row(s, ROW_INSERT, r);
    resource_tell(s, c, r, resource_state_name(r->state));
    *ret = r;
    return 0;
}

/* What a change makes of all versions of one name becomes rows. */
struct name_versions {
    struct resource *of[VERSIONS_MOST];
    struct resource_version is[VERSIONS_MOST];
    size_t n;
};

static void versions_gather(struct server *s, const struct resource_key *k, struct name_versions *v)
{
    v->n = 0;
    for (size_t i = 0; i < s->resources->at.n && v->n < VERSIONS_MOST; i++) {
        struct resource *r = &s->resources->at.at[i];
        if (!is_of(r, k))
            continue;
        v->of[v->n] = r;
        v->is[v->n++] = (struct resource_version){r->version, r->state};
    }
}

static void versions_store(struct server *s, const struct server_call *c,
                           const struct name_versions *v, struct resource_synced *count)
{
    for (size_t i = 0; i < v->n; i++) {
        struct resource *r = v->of[i];
        if (r->state == v->is[i].state)
            continue;
        r->state = v->is[i].state;
        r->rev++;
        resource_row(s, ROW_UPDATE, r);
        resource_tell(s, c, r, resource_state_name(r->state));
        if (count && r->state == RESOURCE_ACTIVE)
            count->activated++;
        else if (count)
            count->deactivated++;
    }
}

static struct resource_key key_of(const struct resource *r)
{
    return (struct resource_key){r->tenant, str_of(r->type), str_of(r->kind), str_of(r->name)};
}

void resource_stage(struct server *s, const struct server_call *c, const struct resource *r)
{
    struct name_versions v;
    struct resource_key k = key_of(r);
    versions_gather(s, &k, &v);
    (void)resource_versions_stage(v.is, v.n, r->version);
    versions_store(s, c, &v, NULL);
}

void resource_recall(struct server *s, const struct server_call *c, const struct resource *r)
{
    struct name_versions v;
    struct resource_key k = key_of(r);
    versions_gather(s, &k, &v);
    (void)resource_versions_recall(v.is, v.n, r->version);
    versions_store(s, c, &v, NULL);
}

int resource_sync(struct server *s, const struct server_call *c, struct resource_synced *ret,
                  struct err *e)
{
    const struct resource *r;
    struct name_versions v;
    for (uint32_t at = 0; (r = resource_next(s, at)); at = r->id)
        if (r->tenant == c->who->tenant && r->state == RESOURCE_STAGED &&
            !resource_files_has(s->resources->files, str_of(r->digest), NULL)) {
            err_set(e, ERR_CONFLICT, "the content of %s/%s %s version %u is not on disk any more",
                    r->type, r->kind, r->name, r->version);
            return err_hint(e, "upload it again, or recall it; nothing was changed");
        }
    *ret = (struct resource_synced){0};
    for (uint32_t at = 0; (r = resource_next(s, at)); at = r->id) {
        bool pending = r->state == RESOURCE_STAGED || r->state == RESOURCE_RECALLED;
        if (r->tenant != c->who->tenant || !pending)
            continue;
        struct resource_key k = key_of(r);
        versions_gather(s, &k, &v);
        resource_versions_sync(v.is, v.n);
        versions_store(s, c, &v, ret);
    }
    return 0;
}

void resource_drop(struct server *s, const struct server_call *c, const struct resource *r)
{
    struct resources *all = s->resources;
    struct resource *own = (struct resource *)(uintptr_t)r;
    struct row_resource row = {.id = r->id};
    struct unkept gone = {.group = commit_open_group(s->commit)};
    commit_row(s->commit, ROWS_RESOURCE, ROW_DELETE, &row);
    resource_tell(s, c, r, "gone");
    memcpy(gone.digest, r->digest, sizeof gone.digest);
    vec_push(&all->unkept, gone);
    digest_count(all, r->digest, -1);
    all->n--;
    resource_done(own);
}

/* --- tasks --- */

/* Of the operation that the task is part of. */
static uint32_t tenant_of(const struct server *s, const struct taskmsg *m)
{
    struct task_view t;
    struct operation_view op;
    if (anneal_task(s->engine, m->task, &t) && anneal_operation(s->engine, t.operation, &op) &&
        op.tenant)
        return op.tenant;
    return 1;
}

void resource_send(struct server *s, struct arena *mem, struct taskmsg *m)
{
    VEC(struct resource_named) named = {0};
    const struct resource *r;
    if (!str_is(m->jig, "plugin") || s->resources->n == 0)
        return;
    const char *params = arena_strndup(mem, m->params.n ? m->params.s : "", m->params.n);
    const char *said = arena_strndup(mem, m->fields.n ? m->fields.s : "", m->fields.n);
    struct str type = value_as_str(value_get(view_json(mem, params), "type"));
    if (!type.n)
        type = value_as_str(value_get(view_json(mem, said), "type"));
    const struct plugins *all = type.n ? providers_plugins(s) : NULL;
    uint32_t tenant = tenant_of(s, m);
    for (uint32_t at = 0; all && (r = resource_next(s, at)); at = r->id) {
        if (r->tenant != tenant || !str_is(type, r->type) || !resource_state_live(r->state))
            continue;
        const struct plugin_resource *as = kind_find(all, type, str_of(r->kind));
        if (!as || named.n == RESOURCE_NAMED_MOST)
            continue; /* the plugin does not ask for it any more */
        vec_push(&named, ((struct resource_named){.kind = str_of(r->kind),
                                                  .name = str_of(r->name),
                                                  .digest = str_of(r->digest),
                                                  .version = r->version,
                                                  .mode = as->mode,
                                                  .size_bytes = r->size_bytes,
                                                  .archive = as->archive}));
    }
    if (named.n) {
        SCOPED_BUF(text);
        resources_write(&text, named.at, named.n);
        m->resources = (struct str){arena_strndup(mem, text.data, text.len), text.len};
    }
    vec_done(&named);
}

static const char *describe(const struct server *s, struct arena *mem, struct str digest)
{
    const struct resource *r;
    for (uint32_t at = 0; (r = resource_next(s, at)); at = r->id)
        if (str_is(digest, r->digest))
            return arena_printf(mem, "%s/%s %s version %u", r->type, r->kind, r->name, r->version);
    return NULL;
}

void resource_want(struct server *s, struct arena *mem, const struct taskmsg *want,
                   struct taskmsg *ret)
{
    SCOPED_BUF(bytes);
    SCOPED_BUF(text);
    struct err e = {0};
    const char *what = resource_digest_good(want->blob) ? describe(s, mem, want->blob) : NULL;
    *ret = (struct taskmsg){.kind = TASKMSG_PART, .blob = want->blob, .offset = want->offset};
    if (!what) {
        ret->missing = true;
        ret->text = str_of("the resource was deleted before it was fetched");
    } else if (resource_files_read(s->resources->files, want->blob, want->offset, PART_BYTES,
                                   &bytes, &e) < 0) {
        log_err(LOG_ERROR, "resource.content", &e);
        ret->missing = true;
        ret->text = str_of(arena_printf(
            mem, "the content of %s is not on the server's disk: %.160s", what, e.text));
    } else {
        base64_write(&text, buf_str(&bytes));
        ret->content = (struct str){arena_strndup(mem, text.data ? text.data : "", text.len),
                                    text.len};
    }
}
