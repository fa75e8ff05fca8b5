/* plugin_read.c - a descriptor: who the plugin is, what it can be asked, where its program lies
 *
 * The program is named relative to the plugin's directory and stays inside it: whoever may write a
 * descriptor does not thereby choose any program of the machine.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "base/text.h"
#include "base/yaml.h"
#include "plugin/plugin_i.h"

#define COUNT(table) (sizeof(table) / sizeof *(table))

static const char *const kinds[] = {
#define X(id, text) [PLUGIN_##id] = (text),
    PLUGIN_KINDS(X)
#undef X
};

const char *plugin_kind_name(enum plugin_kind k)
{
    return k < PLUGIN_KIND_COUNT ? kinds[k] : "unknown";
}

/* --- actions --- */

static void action_timeout(struct plugin_reader *r, const struct value *v, void *object)
{
    struct plugin_action *a = object;
    struct err e;
    if (v->kind == VALUE_INT && v->i > 0 && v->i <= INT32_MAX)
        a->timeout_ms = (uint64_t)v->i * 1000;
    else if (v->kind != VALUE_STRING || text_duration_ms(value_as_str(v), &a->timeout_ms, &e) < 0 ||
             !a->timeout_ms)
        plugin_fault_at(r, v, "\"timeout\" must be a time above 0, as in 30s or 5m");
}

static void action_repeat(struct plugin_reader *r, const struct value *v, void *object)
{
    static const char *const repeats[] = {
#define X(id, text) [REPEAT_##id] = (text),
        REPEATS(X)
#undef X
    };
    ((struct plugin_action *)object)->repeat = (enum repeat)plugin_get_choice(
        r, v, "\"repeat\"", repeats, COUNT(repeats));
}

static void action_probe(struct plugin_reader *r, const struct value *v, void *object)
{
    ((struct plugin_action *)object)->probe = plugin_get_name(r, v, "an action");
}

static void action_leaves(struct plugin_reader *r, const struct value *v, void *object)
{
    ((struct plugin_action *)object)->leaves = plugin_get_bool(r, v, "\"leaves\"");
}

static void probes_check(struct plugin_reader *r, const struct value *map, const struct plugin *p)
{
    for (uint32_t i = 0; i < p->n_actions; i++) {
        const struct plugin_action *a = &p->actions[i];
        const struct value *at = value_get(value_get_str(map, a->name), "probe");
        const struct plugin_action *probe = plugin_action_get(p, a->probe);
        if (a->probe.n && !probe)
            plugin_fault_at(r, at, "there is no action \"%s\" to probe with", a->probe.s);
        else if (probe && (probe->probe.n || probe == a))
            plugin_fault_at(r, at, "\"%s\" cannot probe: it has a probe itself", a->probe.s);
    }
}

static void plugin_actions(struct plugin_reader *r, const struct value *v, void *object)
{
    static const struct plugin_part parts[] = {{"timeout", action_timeout, false},
                                               {"repeat", action_repeat, false},
                                               {"probe", action_probe, false},
                                               {"leaves", action_leaves, false}};
    const struct value *map = plugin_get_map(r, v, "\"actions\"");
    struct plugin *p = object;
    if (!map)
        return;
    if (!map->n)
        plugin_fault_at(r, v, "\"actions\" is empty: there is nothing to ask it for");
    struct plugin_action *all = arena_new(r->mem, struct plugin_action, map->n);
    for (uint32_t i = 0; i < map->n; i++) {
        struct value key = plugin_key_of(map, &map->members[i]);
        all[i] = (struct plugin_action){.name = plugin_get_name(r, &key, "an action"),
                                        .probe = {"", 0}};
        plugin_get_parts(r, &map->members[i].v, "an action", parts, COUNT(parts), &all[i]);
    }
    p->actions = all;
    p->n_actions = map->n;
    if (!r->bad)
        probes_check(r, map, p);
}

/* --- the rest --- */

static void plugin_name(struct plugin_reader *r, const struct value *v, void *object)
{
    struct str s = ((struct plugin *)object)->name = plugin_get_text(r, v, "\"plugin\"");
    bool first = !r->bad;
    if (first && !text_is_name(s)) {
        plugin_fault_at(r, v, "\"%.80s\" is no name for a plugin", s.s);
        plugin_fault_hint(r, "lower-case letters, digits and . _ -, beginning with one of the "
                             "first two");
    }
}

static void plugin_type(struct plugin_reader *r, const struct value *v, void *object)
{
    ((struct plugin *)object)->kind = (enum plugin_kind)plugin_get_choice(r, v, "\"type\"", kinds,
                                                                          COUNT(kinds));
}

static void plugin_version(struct plugin_reader *r, const struct value *v, void *object)
{
    ((struct plugin *)object)->version = plugin_get_text(r, v, "\"version\"");
}

static void plugin_description(struct plugin_reader *r, const struct value *v, void *object)
{
    ((struct plugin *)object)->description = plugin_get_text(r, v, "\"description\"");
}

static void plugin_protocol(struct plugin_reader *r, const struct value *v, void *object)
{
    (void)object;
    if (value_is(v, VALUE_INT) && v->i == PLUGIN_PROTOCOL)
        return;
    bool first = !r->bad;
    plugin_fault_at(r, v, "this protocol is not known");
    if (first)
        plugin_fault_hint(r, "write \"protocol: %d\"", PLUGIN_PROTOCOL);
}

static void plugin_executable(struct plugin_reader *r, const struct value *v, void *object)
{
    struct str s = ((struct plugin *)object)->executable = plugin_get_text(r, v, "\"executable\"");
    bool outside = !s.n || s.s[0] == '/' || str_is(s, "..") || !strncmp(s.s, "../", 3) ||
                   strstr(s.s, "/../") || (s.n > 3 && !strcmp(s.s + s.n - 3, "/.."));
    if (outside) {
        bool first = !r->bad;
        plugin_fault_at(r, v, "\"executable\" must name a program inside the plugin's directory");
        if (first)
            plugin_fault_hint(r, "as in \"run.sh\" or \"bin/run\"");
    }
}

static void plugin_dry_run(struct plugin_reader *r, const struct value *v, void *object)
{
    ((struct plugin *)object)->dry_run = plugin_get_bool(r, v, "\"dry_run\"");
}

static void plugin_types(struct plugin_reader *r, const struct value *v, void *object)
{
    const struct value *map = plugin_get_map(r, v, "\"types\"");
    struct plugin *p = object;
    struct plugin_type *all = arena_new(r->mem, struct plugin_type, map ? map->n : 0);
    for (uint32_t i = 0; map && i < map->n; i++) {
        struct value key = plugin_key_of(map, &map->members[i]);
        all[i].name = plugin_get_name(r, &key, "a type");
        plugin_get_type(r, &map->members[i].v, &all[i]);
    }
    p->types = all;
    p->n_types = map ? map->n : 0;
}

int plugin_read(struct arena *mem, struct str dir, struct str text, const struct plugin **ret,
                struct err *e)
{
    static const struct plugin_part parts[] = {
        {"plugin", plugin_name, true},           {"type", plugin_type, true},
        {"version", plugin_version, true},       {"protocol", plugin_protocol, true},
        {"executable", plugin_executable, true}, {"actions", plugin_actions, true},
        {"types", plugin_types, false},          {"description", plugin_description, false},
        {"dry_run", plugin_dry_run, false},
    };
    struct plugin *p = arena_new(mem, struct plugin, 1);
    const char *file = arena_printf(mem, "%.*s/%s", (int)dir.n, dir.s, PLUGIN_FILE);
    struct yaml_options o = {.name = file, .max_depth = 20, .max_values = 20000};
    struct value *v;
    struct err own;
    struct plugin_reader r = {.mem = mem, .file = file, .text = text, .e = e ? e : &own};
    if (text.n > PLUGIN_MAX_BYTES) {
        err_set(r.e, ERR_TOO_LARGE, "a descriptor is at most %d bytes", (int)PLUGIN_MAX_BYTES);
        return err_at(r.e, "%s", file);
    }
    int rc = yaml_parse(mem, text.s, text.n, &o, &v, r.e);
    if (rc < 0)
        return rc;
    p->dir = (struct str){arena_strndup(mem, dir.s, dir.n), dir.n};
    p->description = (struct str){"", 0};
    plugin_get_parts(&r, v, "a descriptor", parts, COUNT(parts), p);
    if (r.bad)
        return -(int)r.e->code;
    *ret = p;
    return 0;
}

/* --- finding --- */

const struct plugin_action *plugin_action_get(const struct plugin *p, struct str name)
{
    for (uint32_t i = 0; i < p->n_actions; i++)
        if (str_eq(p->actions[i].name, name))
            return &p->actions[i];
    return NULL;
}

const struct plugin_type *plugin_type_get(const struct plugin *p, struct str name)
{
    for (uint32_t i = 0; i < p->n_types; i++)
        if (str_eq(p->types[i].name, name))
            return &p->types[i];
    return NULL;
}

const struct plugin_field *plugin_field_get(const struct plugin_type *t, struct str name)
{
    for (uint32_t i = 0; i < t->n_fields; i++)
        if (str_eq(t->fields[i].name, name))
            return &t->fields[i];
    return NULL;
}

const struct plugin_resource *plugin_resource_get(const struct plugin_type *t, struct str name)
{
    for (uint32_t i = 0; i < t->n_resources; i++)
        if (str_eq(t->resources[i].name, name))
            return &t->resources[i];
    return NULL;
}
