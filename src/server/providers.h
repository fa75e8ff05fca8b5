/* providers.h - what admins and requests have said to providers, and the plugins that ask for it
 *
 * A provider here is a name, the type of plugin that it is, and values of that type's fields.  It
 * belongs to the provider of the same name in the catalog; either may be there without the other.
 * A credential is what a request said in confidence about one cluster.
 *
 * Sensitive values are kept sealed (vault.h) and known here by name only; they are opened in one
 * place, provider_send(), for a task that is about to leave.  docs/rfc/10-plugins.md, section 5.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SERVER_PROVIDERS_H
#define SERVER_PROVIDERS_H

#include "model/taskmsg.h"
#include "plugin/plugin.h"
#include "server/server_i.h"

struct sealed {  /* values that nobody is shown */
    char *text;  /* sealed JSON of a map; NULL: none */
    char *names; /* JSON: a list of what it holds; NULL: none */
};
struct provider {
    uint32_t id, rev, tenant;
    char *name, *type;
    char *fields; /* JSON: a map, of what is not sensitive */
    uint64_t created_ms;
    struct sealed secret;
};

struct providers;
struct providers *providers_new(const char *plugin_path);
void providers_free(struct providers *all); /* NULL: nothing */
int providers_load(struct server *s, struct err *e);

/* The plugins of the server's own directories, as they are now; borrowed until the next call. */
const struct plugins *providers_plugins(struct server *s);

/* Borrowed; NULL: there is none. */
const struct provider *provider_named(const struct server *s, struct str name);
const struct provider *provider_next(const struct server *s, uint32_t after); /* by id */
/* A new one (id 0) or another content of one.  Fields that are null go, and with
 * another type all that were said to the one before.  Answers with
 * the one that is kept. */
int provider_put(struct server *s, const struct server_call *c, struct str name, struct str type,
                 const struct value *plain, const struct value *sensitive,
                 const struct provider **ret, struct err *e);
void provider_drop(struct server *s, const struct server_call *c, const struct provider *p);
/* The type that its plugin serves.  ERR_UNKNOWN_NAME. */
int provider_type(struct server *s, struct str type, const struct plugin_type **ret, struct err *e);
/* Names of what is sealed, as a list. */
struct value *sealed_names(struct arena *mem, const struct sealed *x);
/* A map of all names that have a value, values hidden: MASK_TEXT where they are sensitive. */
struct value *provider_shown(struct arena *mem, const char *fields, const struct sealed *secret);

/* --- what clusters have said in confidence --- */

/* NULL: nothing. */
const struct sealed *credential_get(const struct server *s, uint32_t deployment);
/* Laid over what is there; null takes a value away. */
int credential_put(struct server *s, uint32_t deployment, const struct value *sensitive,
                   struct err *e);
void credential_wipe(struct server *s, uint32_t deployment);

/* --- requests and tasks --- */

/* What a request says to the provider of a cluster, against what is known already.  `spec`: the
 * cluster's document; what is plain is to be kept in it.  ERR_INVALID lists what is missing. */
struct provider_said {
    const struct value *plain, *sensitive; /* maps */
};
int provider_request(struct server *s, struct arena *mem, const struct value *spec,
                     uint32_t deployment, const struct value *given, struct provider_said *ret,
                     struct err *e);
/* Of a task that a plugin runs: m->fields and m->secrets, in the arena.  Others stay as they are.
 */
int provider_send(struct server *s, uint32_t task, struct arena *mem, struct taskmsg *m,
                  struct err *e);

#endif
