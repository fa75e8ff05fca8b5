/* import_coopr_service.c - a service of Coopr as a role with phases
 *
 * An action of theirs is one task of ours.  What runs by `shell` becomes a script of our jig of
 * that name; everything else keeps its fields as they were, for a jig that is named after the type.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "catalog/import_coopr_i.h"

#include "base/text.h"

#define COUNT(table) (sizeof(table) / sizeof *(table))

/* --- dependencies --- */

/* Names that are services or provided.  One that nobody has stays, if keep says so: the role is at
 * fault then, or it is merely used. */
static struct value *names_translate(struct coopr *o, const struct value *list, bool keep,
                                     const char *what, const char *verb)
{
    struct value *out = value_list(o->x.mem);
    struct strmap seen = {0};

    list = crow_list(&o->x, list, what);
    for (uint32_t i = 0; i < list->n; i++) {
        struct str given = crow_text(&o->x, &list->items[i]);
        uintptr_t known;
        const char *name = NULL;
        if (!given.n)
            continue;
        if (strmap_get(&o->names[COOPR_SERVICE].by_given, given, &known))
            name = o->names[COOPR_SERVICE].at.at[known].ours;
        else {
            crow_tell(&o->x, keep ? IMPORT_FAULT : IMPORT_LEFT_OUT, &list->items[i], what,
                      "%s %s, which no service is or provides", verb, crow_shown(&o->x, given));
            if (keep && text_is_name(given))
                name = arena_strndup(o->x.mem, given.s, given.n);
        }
        if (name && strmap_put(&seen, str_of(name), i))
            value_add(o->x.mem, out, value_text(o->x.mem, name));
    }
    strmap_done(&seen);
    return out;
}

static void depends_put(struct coopr *o, struct value *role, const struct value *dependencies,
                        const char *field, const char *verb, const char *what)
{
    static const char *const theirs[DEPEND_COUNT] = {
        [DEPEND_INSTALL] = "install", [DEPEND_RUN] = "runtime"};
    struct value *map = value_map(o->x.mem);

    for (int k = 0; k < DEPEND_COUNT; k++) {
        const struct value *list = value_get(value_get(dependencies, theirs[k]), field);
        struct value *names = names_translate(o, list, true, what, verb);
        if (names->n)
            value_set(o->x.mem, map, depend_name((enum depend_kind)k), names);
        o->x.out->counts.requires += names->n;
    }
    if (map->n)
        value_set(o->x.mem, role, field, map);
}

static void dependencies_translate(struct coopr *o, struct value *role, const struct value *v,
                                   const char *what)
{
    static const char *const known[] = {"provides", "conflicts", "install", "runtime"};
    static const char *const inner[] = {"requires", "uses"};
    const struct value *deps = value_get(v, "dependencies"), *flat = value_get(v, "dependson");
    struct value *names = names_translate(o, value_get(deps, "provides"), false, what, "provides");

    if (names->n)
        value_set(o->x.mem, role, "provides", names);
    names = names_translate(o, value_get(deps, "conflicts"), false, what, "conflicts with");
    if (names->n)
        value_set(o->x.mem, role, "conflicts", names);
    depends_put(o, role, deps, "requires", "requires", what);
    depends_put(o, role, deps, "uses", "uses", what);
    coopr_rest(o, deps, known, COUNT(known), what, "dependencies of ours have nothing like it");
    coopr_rest(o, value_get(deps, "install"), inner, COUNT(inner), what, "it is not known");
    coopr_rest(o, value_get(deps, "runtime"), inner, COUNT(inner), what, "it is not known");
    names = names_translate(o, flat, true, what, "depends on");
    if (names->n) { /* before there were several kinds, all were about running */
        struct value *map = value_map(o->x.mem);
        value_set(o->x.mem, map, depend_name(DEPEND_RUN), names);
        value_set(o->x.mem, role, "requires", map);
        o->x.out->counts.requires += names->n;
        crow_tell(&o->x, IMPORT_CHANGED, flat, what, "dependson is what it requires to run");
    }
}

/* --- actions --- */

/* What an action has besides its type; older ones have it without `fields`. */
static const struct value *action_fields(struct coopr *o, const struct value *action)
{
    const struct value *fields = value_get(action, "fields");
    struct value *out;

    if (value_is(fields, VALUE_MAP))
        return fields;
    out = value_map(&o->x.scratch);
    for (uint32_t i = 0; value_is(action, VALUE_MAP) && i < action->n; i++) {
        struct str key = {action->members[i].key, action->members[i].key_n};
        if (!str_is(key, "type"))
            value_set_str(&o->x.scratch, out, key, &action->members[i].v);
    }
    return out;
}

static struct value *shell_params(struct coopr *o, const struct value *fields, const char *what)
{
    static const char *const known[] = {"script", "args"};
    const struct value *script = value_get(fields, "script");
    struct str command = crow_text(&o->x, script);
    struct str args = crow_text(&o->x, value_get(fields, "args"));
    struct value *params = value_map(o->x.mem);
    SCOPED_BUF(text);

    buf_printf(&text, "%.*s%s%.*s", (int)command.n, command.s, args.n ? " " : "", (int)args.n,
               args.s);
    value_set(o->x.mem, params, "script", value_str(o->x.mem, buf_str(&text)));
    coopr_rest(o, fields, known, COUNT(known), what, "the shell has no use for it");
    if (command.n)
        crow_tell(&o->x, IMPORT_CHANGED, script, what,
                  "runs as a command: a script that was uploaded must be where it is found");
    return params;
}

static const struct value *action_task(struct coopr *o, const char *action, const struct value *v,
                                       const char *role_jig, const char *name)
{
    const char *what = arena_printf(&o->x.scratch, "%s %s", name, action);
    const struct value *type = value_get(v, "type"), *fields = action_fields(o, v);
    struct str given = crow_text(&o->x, type);
    struct value *task = coopr_task(o, action, name), *params;
    const char *jig = given.n ? coopr_jig(o, type, given) : role_jig;

    if (strcmp(jig, role_jig))
        value_put_text(o->x.mem, task, "type", jig);
    if (!strcmp(jig, "shell")) {
        params = shell_params(o, fields, what);
    } else {
        params = value_map(o->x.mem);
        value_put_text(o->x.mem, params, "action", action);
        value_set(o->x.mem, params, "fields", value_copy(o->x.mem, fields));
    }
    value_set(o->x.mem, task, "params", params);
    return task;
}

static const char *first_jig(struct coopr *o, const struct value *actions)
{
    const char *first = NULL;

    for (uint32_t i = 0; value_is(actions, VALUE_MAP) && i < actions->n; i++) {
        const struct value *type = value_get(&actions->members[i].v, "type");
        struct str given = crow_text(&o->x, type);
        if (!given.n)
            continue;
        strmap_put(&o->automators, given, 0);
        const char *jig = coopr_jig(o, type, given);
        first = first ? first : jig;
    }
    return first ? first : "noop";
}

static struct value *actions_translate(struct coopr *o, const struct value *actions,
                                       const char *jig, const char *name)
{
    struct value *out = value_map(o->x.mem);

    for (uint32_t i = 0; value_is(actions, VALUE_MAP) && i < actions->n; i++) {
        const struct member *m = &actions->members[i];
        struct strmap none = {0};
        const char *action = crow_name_make(&o->x, &none, (struct str){m->key, m->key_n});
        struct value *list = value_list(o->x.mem);
        if (!strcmp(action, "converge") || value_get(out, action)) {
            crow_tell(&o->x, IMPORT_LEFT_OUT, &m->v, name,
                      "action %s: ours of that name is another", action);
            continue;
        }
        value_add(o->x.mem, list, action_task(o, action, &m->v, jig, name));
        value_set(o->x.mem, out, action, list);
    }
    if (!out->n) /* a service all the same */
        value_set(o->x.mem, out, "install", value_list(o->x.mem));
    return out;
}

struct value *coopr_service(struct coopr *o, const struct coopr_item *item)
{
    static const char *const known[] = {"name",      "description", "dependencies",
                                        "dependson", "provisioner", "version"};
    static const char *const inner[] = {"actions"};
    const struct value *actions = value_at(item->v, "provisioner.actions");
    struct crow *x = &o->x;
    struct value *role = value_map(x->mem), *text, *flags = value_list(x->mem);
    const char *jig = first_jig(o, actions);

    value_put_text(x->mem, role, "name", item->name);
    if ((text = crow_description(x, value_get(item->v, "description"), item->name)))
        value_set(x->mem, role, "description", text);
    value_put_text(x->mem, role, "jig", jig);
    value_add(x->mem, flags, value_text(x->mem, "service"));
    value_set(x->mem, role, "flags", flags);
    if (value_get(item->v, "version"))
        value_set(x->mem, role, "version",
                  value_str(x->mem, crow_text(x, value_get(item->v, "version"))));
    dependencies_translate(o, role, item->v, item->name);
    value_set(x->mem, role, "actions", actions_translate(o, actions, jig, item->name));
    coopr_rest(o, item->v, known, COUNT(known), item->name,
               "services of ours have nothing like it");
    coopr_rest(o, value_get(item->v, "provisioner"), inner, COUNT(inner), item->name,
               "services of ours have nothing like it");
    return role;
}
