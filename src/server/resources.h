/* resources.h - versions of what plugins work with: rows, memory, what a task gets
 *
 * A version is a row and a content; contents are shared by digest (resource_files.h).  A row is
 * made only when its content is here, whole; a content goes only when no row has it and that is
 * durable. So a crash at any time leaves no row without content.  States are
 * plugin/plugin_versions.h.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SERVER_RESOURCES_H
#define SERVER_RESOURCES_H

#include "model/taskmsg.h"
#include "plugin/plugin.h"
#include "plugin/plugin_versions.h"
#include "server/resource_files.h"
#include "server/server_i.h"

struct resource {
    uint32_t id, rev, tenant, version;
    char *type, *kind, *name; /* type NULL: it is gone */
    char digest[DIGEST_HEX];
    uint64_t size_bytes, created_ms;
    enum resource_state state;
};

struct resources;
/* Makes s->resources. */
int resources_load(struct server *s, struct err *e);
void resources_free(struct resources *all); /* NULL: nothing */
void resources_beat(struct server *s);      /* contents that nobody has any more go */
struct resource_files *resources_files(const struct server *s);

/* Borrowed until the next change; NULL: there is none. */
const struct resource *resource_get(const struct server *s, uint32_t id);
const struct resource *resource_next(const struct server *s, uint32_t after); /* by id */
/* The newest version of a name. */
struct resource_key {
    uint32_t tenant;
    struct str type, kind, name;
};
const struct resource *resource_newest(const struct server *s, const struct resource_key *k);

/* A new version, INACTIVE; its content is here. */
int resource_add(struct server *s, const struct server_call *c, const struct resource_key *k,
                 struct str digest, uint64_t size_bytes, const struct resource **ret,
                 struct err *e);
void resource_stage(struct server *s, const struct server_call *c, const struct resource *r);
void resource_recall(struct server *s, const struct server_call *c, const struct resource *r);
/* Of a tenant: all staged become active, all recalled inactive, in one group.  If the content of
 * one is missing nothing happens: ERR_CONFLICT. */
struct resource_synced {
    uint32_t activated, deactivated;
};
int resource_sync(struct server *s, const struct server_call *c, struct resource_synced *ret,
                  struct err *e);
void resource_drop(struct server *s, const struct server_call *c, const struct resource *r);

/* How a type of plugin wants this kind.  ERR_UNKNOWN_NAME. */
int resource_kind(struct server *s, struct str type, struct str kind,
                  const struct plugin_resource **ret, struct err *e);

/* --- tasks --- */

/* Of a task that a plugin runs: m->resources, in the arena.  Others stay as they are. */
void resource_send(struct server *s, struct arena *mem, struct taskmsg *m);
/* A worker wants a part of a content: the answer, its texts in the arena. */
void resource_want(struct server *s, struct arena *mem, const struct taskmsg *want,
                   struct taskmsg *ret);

#endif
