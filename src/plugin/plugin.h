/* plugin.h - what plugins say of themselves, and which of them a task is for
 *
 * A plugin is a program in a directory with a descriptor, plugin.yaml.  Here descriptors are read
 * and held against each other, fields are held against what was said of them, and the plugin that a
 * task is for is found.  Nothing here opens a file or runs a program: texts come in, values go out.
 *
 * Everything read lies in the arena of the caller and is not changed afterwards.  The format, and
 * what a plugin is given and answers, is docs/rfc/10-plugins.md.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLUGIN_PLUGIN_H
#define PLUGIN_PLUGIN_H

#include "base/err.h"
#include "base/value.h"
#include "model/states.h"

#define PLUGIN_FILE "plugin.yaml"
enum {
    PLUGIN_PROTOCOL = 1,
    PLUGIN_MAX_BYTES = 256 * 1024, /* of a descriptor */
    PLUGIN_MAX_LIST = 200,         /* actions, types, fields of a type ... */
    PLUGIN_MAX = 1000,             /* plugins known at once */
    PLUGIN_SECRET_LEAST = 4,       /* bytes of a sensitive value */
    PLUGIN_SECRET_MOST = 64 * 1024,
};

#define PLUGIN_KINDS(X)                                                                            \
    X(PROVIDER, "provider")                                                                        \
    X(AUTOMATOR, "automator")                                                                      \
    X(WLM, "wlm")                                                                                  \
    X(POWER, "power")                                                                              \
    X(VCS, "vcs")
enum plugin_kind {
#define X(id, text) PLUGIN_##id,
    PLUGIN_KINDS(X)
#undef X
        PLUGIN_KIND_COUNT
};
const char *plugin_kind_name(enum plugin_kind k);

#define PLUGIN_FIELD_TYPES(X)                                                                      \
    X(TEXT, "text")                                                                                \
    X(PASSWORD, "password")                                                                        \
    X(TEXTAREA, "textarea")                                                                        \
    X(SELECT, "select")                                                                            \
    X(CHECKBOX, "checkbox")                                                                        \
    X(NUMBER, "number")
enum plugin_field_type {
#define X(id, text) FIELD_##id,
    PLUGIN_FIELD_TYPES(X)
#undef X
        FIELD_TYPE_COUNT
};
const char *plugin_field_type_name(enum plugin_field_type t);

struct plugin_field {
    struct str name, label, tip;
    enum plugin_field_type type;
    bool by_admin;                 /* said once for a provider; else in each request */
    bool may_override;             /* of an admin's: a request may say otherwise */
    bool sensitive;                /* kept apart, sealed, never shown */
    const struct value *options;   /* a list that the value must be of; NULL: anything */
    const struct value *otherwise; /* default; NULL: none */
};
struct plugin_set { /* names of fields that count only together */
    const struct str *at;
    uint32_t n;
};
struct plugin_resource {
    struct str name;
    bool archive;  /* unpacked for the plugin; else a file */
    uint32_t mode; /* of the file */
};
struct plugin_type { /* a provider type or an action type */
    struct str name;
    const struct plugin_field *fields;
    uint32_t n_fields;
    const struct plugin_set *required[2]; /* of users, of admins: one of each must be whole */
    uint32_t n_required[2];
    const struct plugin_resource *resources;
    uint32_t n_resources;
};
struct plugin_action {
    struct str name;
    uint64_t timeout_ms; /* 0: that of the attempt */
    enum repeat repeat;
    struct str probe; /* another action, "" for none */
    bool leaves;      /* what it starts may stay: machines */
};
struct plugin {
    struct str name, version, description;
    struct str dir;        /* where it is; absolute */
    struct str executable; /* relative to that */
    enum plugin_kind kind;
    bool dry_run;
    const struct plugin_action *actions;
    uint32_t n_actions;
    const struct plugin_type *types;
    uint32_t n_types;
};

/* One descriptor; errors are at dir/plugin.yaml:line:column. */
int plugin_read(struct arena *mem, struct str dir, struct str text, const struct plugin **ret,
                struct err *e);
const struct plugin_action *plugin_action_get(const struct plugin *p, struct str name);
const struct plugin_type *plugin_type_get(const struct plugin *p, struct str name);
const struct plugin_field *plugin_field_get(const struct plugin_type *t, struct str name);
const struct plugin_resource *plugin_resource_get(const struct plugin_type *t, struct str name);

/* --- all of them --- */

struct plugin_text { /* a descriptor as it was found */
    struct str dir;
    struct str text;
    const struct err *unreadable; /* NULL: it was read */
};
struct plugin_fault { /* a plugin that cannot be used, and why */
    struct str dir;
    struct err err;
};
struct plugins {
    const struct plugin *const *at; /* by name */
    uint32_t n;
    const struct plugin_fault *faults;
    uint32_t n_faults;
};
/* Never fails: what is wrong with one does not keep the others from being used.  Of two that claim
 * the same name, or the same type of the same kind, neither is. */
const struct plugins *plugins_read(struct arena *mem, const struct plugin_text *texts, size_t n);

/* ERR_UNKNOWN_NAME, with the nearest name, or with what is wrong with it. */
int plugins_find(const struct plugins *all, struct str name, const struct plugin **ret,
                 struct err *e);
int plugins_find_type(const struct plugins *all, enum plugin_kind kind, struct str type,
                      const struct plugin **ret, struct err *e);
/* Which kind of plugin does what an action says?  False: no table has it. */
bool plugin_kind_of_action(struct str action, enum plugin_kind *ret);

/* For a task: by name if one is given, else action -> kind, kind and type -> plugin. */
struct plugin_ask {
    struct str plugin, action, type;
};
struct plugin_match {
    const struct plugin *plugin;
    const struct plugin_action *action;
    const struct plugin_type *type; /* NULL: it serves none of that name */
};
int plugins_match(const struct plugins *all, const struct plugin_ask *ask, struct plugin_match *ret,
                  struct err *e);

/* --- fields --- */

/* What of the fields that an admin gives (for a provider) or a request gives (for a cluster)
 * counts. Sensitive ones apart, the rest listed by name; each is a map, a map and a list, in the
 * arena. */
struct plugin_split {
    const struct value *plain, *sensitive, *dropped;
};
struct plugin_split plugin_fields_split(struct arena *mem, const struct plugin_type *t,
                                        bool by_admin, const struct value *given);
/* May a request say it?  Else it is an admin's alone. */
bool plugin_field_is_asked(const struct plugin_field *f);
/* Has it a value, or a default? */
bool plugin_field_is_known(const struct plugin_type *t, const struct value *has, struct str name);
/* Values of the fields there are: types, options, lengths of secrets.  Null takes a value away and
 * is always right.  Errors are at /fields/NAME. */
int plugin_fields_check(const struct plugin_type *t, const struct value *given, struct err *e);
/* Is one set of each list whole?  `names` says which fields have a value (a map; values do not
 * matter unless null or empty text); defaults count.  ERR_INVALID lists what each set lacks. */
int plugin_fields_complete(const struct plugin_type *t, bool admins_only, const struct value *has,
                           struct err *e);
/* Defaults, of fields that have one. */
const struct value *plugin_fields_defaults(struct arena *mem, const struct plugin_type *t);

#endif
