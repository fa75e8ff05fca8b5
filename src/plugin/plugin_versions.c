/* plugin_versions.c - states of versions, and the list of resources in a task */
/* SPDX-License-Identifier: Apache-2.0 */
#include "plugin/plugin_versions.h"

#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/text.h"

enum { FILE_MODE_MOST = 0777 };

/* --- states --- */

static struct resource_version *version_find(struct resource_version *all, size_t n,
                                             uint32_t version)
{
    for (size_t i = 0; i < n; i++)
        if (all[i].version == version)
            return &all[i];
    return NULL;
}

static void states_replace(struct resource_version *all, size_t n, enum resource_state from,
                           enum resource_state to)
{
    for (size_t i = 0; i < n; i++)
        if (all[i].state == from)
            all[i].state = to;
}

bool resource_versions_stage(struct resource_version *all, size_t n, uint32_t version)
{
    struct resource_version *v = version_find(all, n, version);
    if (!v)
        return false;
    if (v->state == RESOURCE_STAGED || v->state == RESOURCE_ACTIVE)
        return true;
    bool was_live = v->state == RESOURCE_RECALLED;
    states_replace(all, n, RESOURCE_STAGED, RESOURCE_INACTIVE);
    states_replace(all, n, RESOURCE_ACTIVE, RESOURCE_RECALLED);
    v->state = was_live ? RESOURCE_ACTIVE : RESOURCE_STAGED;
    return true;
}

bool resource_versions_recall(struct resource_version *all, size_t n, uint32_t version)
{
    struct resource_version *v = version_find(all, n, version);
    if (v && v->state == RESOURCE_STAGED)
        v->state = RESOURCE_INACTIVE;
    else if (v && v->state == RESOURCE_ACTIVE)
        v->state = RESOURCE_RECALLED;
    return v != NULL;
}

void resource_versions_sync(struct resource_version *all, size_t n)
{
    states_replace(all, n, RESOURCE_RECALLED, RESOURCE_INACTIVE);
    states_replace(all, n, RESOURCE_STAGED, RESOURCE_ACTIVE);
}

bool resource_state_live(enum resource_state s)
{
    return s == RESOURCE_ACTIVE || s == RESOURCE_RECALLED;
}

/* --- in a task --- */

bool resource_digest_good(struct str digest)
{
    if (digest.n != DIGEST_HEX - 1)
        return false;
    for (size_t i = 0; i < digest.n; i++)
        if (!strchr("0123456789abcdef", digest.s[i]) || !digest.s[i])
            return false;
    return true;
}

void resource_file_name(const struct resource_named *r, char ret[RESOURCE_FILE_BYTES])
{
    if (r->archive)
        snprintf(ret, RESOURCE_FILE_BYTES, "%.*s.d", DIGEST_HEX - 1, r->digest.s);
    else
        snprintf(ret, RESOURCE_FILE_BYTES, "%.*s.%04o", DIGEST_HEX - 1, r->digest.s,
                 r->mode & FILE_MODE_MOST);
}

void resources_write(struct buf *b, const struct resource_named *all, size_t n)
{
    struct jsonw w;
    jsonw_init(&w, b);
    jsonw_list(&w);
    for (size_t i = 0; i < n; i++) {
        jsonw_map(&w);
        jsonw_key(&w, "kind");
        jsonw_str(&w, all[i].kind);
        jsonw_key(&w, "name");
        jsonw_str(&w, all[i].name);
        jsonw_key(&w, "version");
        jsonw_u64(&w, all[i].version);
        jsonw_key(&w, "digest");
        jsonw_str(&w, all[i].digest);
        jsonw_key(&w, "size");
        jsonw_u64(&w, all[i].size_bytes);
        jsonw_key(&w, "archive");
        jsonw_bool(&w, all[i].archive);
        jsonw_key(&w, "mode");
        jsonw_u64(&w, all[i].mode);
        jsonw_end(&w);
    }
    jsonw_end(&w);
}

static int resource_read(const struct value *v, struct resource_named *ret, struct err *e)
{
    const struct value *archive = value_get(v, "archive");
    int64_t version = value_as_int(value_get(v, "version"), 0);
    int64_t size = value_as_int(value_get(v, "size"), -1);
    int64_t mode = value_as_int(value_get(v, "mode"), -1);
    *ret = (struct resource_named){.kind = value_as_str(value_get(v, "kind")),
                                   .name = value_as_str(value_get(v, "name")),
                                   .digest = value_as_str(value_get(v, "digest"))};
    if (!text_is_name(ret->kind) || !text_is_name(ret->name))
        return err_set(e, ERR_INVALID, "resources: one has no name");
    if (!resource_digest_good(ret->digest))
        return err_set(e, ERR_INVALID, "resources: %s/%s has no digest", ret->kind.s, ret->name.s);
    if (version < 1 || version > UINT32_MAX || size < 0 || mode < 0 || mode > FILE_MODE_MOST ||
        !value_is(archive, VALUE_BOOL))
        return err_set(e, ERR_INVALID, "resources: %s/%s is not described", ret->kind.s,
                       ret->name.s);
    ret->version = (uint32_t)version;
    ret->mode = (uint32_t)mode;
    ret->size_bytes = (uint64_t)size;
    ret->archive = archive->b;
    return 0;
}

int resources_read(struct arena *mem, struct str text, const struct resource_named **ret,
                   uint32_t *ret_n, struct err *e)
{
    struct value *list;
    int rc = json_parse(mem, text.s, text.n, &(struct json_options){.name = "resources"}, &list, e);
    if (rc < 0)
        return rc;
    if (list->kind != VALUE_LIST || list->n > RESOURCE_NAMED_MOST)
        return err_set(e, ERR_INVALID, "resources: a list of at most %d was expected",
                       RESOURCE_NAMED_MOST);
    struct resource_named *all = arena_new(mem, struct resource_named, list->n);
    for (uint32_t i = 0; i < list->n; i++)
        if ((rc = resource_read(&list->items[i], &all[i], e)) < 0)
            return rc;
    *ret = all;
    *ret_n = list->n;
    return 0;
}
