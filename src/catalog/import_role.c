/* import_role.c - one role of Crowbar as one of ours
 *
 * What a role does is in code that is not part of its YAML: shell scripts for the jig `script`,
 * which are taken along if the source has them, recipes and Ruby for the others.  A role whose work
 * could not be brought along gets a task that does nothing and says so; with its jig off it cannot
 * be bound anyway until a site decides what should happen.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "catalog/import.h"
#include "catalog/import_i.h"

/* --- lists of names --- */

/* Adds our name for one of the source, once; false if there is nothing to add. */
static const char *list_name(struct crow *x, const struct crow_role *r, const struct value *v)
{
    if (crow_text(x, v).n)
        return crow_name(x, &x->role_names, v, r->name);
    crow_tell(x, IMPORT_LEFT_OUT, v, r->name, "this is no name");
    return NULL;
}

static bool is_known(const struct crow *x, const char *name)
{
    return strmap_get(&x->known, str_of(name), NULL);
}

static bool is_in(const struct value *list, const char *text)
{
    for (uint32_t i = 0; i < list->n; i++)
        if (str_is(value_as_str(&list->items[i]), text))
            return true;
    return false;
}

static struct value *role_requires(struct crow *x, const struct crow_role *r)
{
    const struct value *from = crow_list(x, value_get(r->at, "requires"), r->name);
    struct value *out = value_list(x->mem);

    for (uint32_t i = 0; i < from->n; i++) {
        const char *name = list_name(x, r, &from->items[i]);
        if (!name || is_in(out, name))
            continue;
        if (!is_known(x, name)) {
            crow_tell(x, IMPORT_FAULT, &from->items[i], r->name,
                      "requires %s, which no role is or provides; it cannot be bound", name);
            x->barclamps.at[r->barclamp].lenient = true;
        }
        value_add(x->mem, out, value_text(x->mem, name));
    }
    for (size_t i = 0; i < r->attached.n; i++)
        if (!is_in(out, r->attached.at[i]))
            value_add(x->mem, out, value_text(x->mem, r->attached.at[i]));
    x->out->counts.requires += out->n;
    return out;
}

static struct value *role_provides(struct crow *x, const struct crow_role *r)
{
    const struct value *from = crow_list(x, value_get(r->at, "provides"), r->name);
    struct value *out = value_list(x->mem);

    for (uint32_t i = 0; i < from->n; i++) {
        const char *name = list_name(x, r, &from->items[i]);
        if (name && !is_in(out, name))
            value_add(x->mem, out, value_text(x->mem, name));
    }
    return out;
}

static struct value *role_conflicts(struct crow *x, const struct crow_role *r)
{
    const struct value *from = crow_list(x, value_get(r->at, "conflicts"), r->name);
    struct value *out = value_list(x->mem);

    for (uint32_t i = 0; i < from->n; i++) {
        const char *name = list_name(x, r, &from->items[i]);
        if (!name || is_in(out, name))
            continue;
        if (!is_known(x, name) || str_is(str_of(name), r->name))
            crow_tell(x, IMPORT_LEFT_OUT, &from->items[i], r->name, "conflicts with %s, which %s",
                      name, is_known(x, name) ? "is itself" : "no role is or provides");
        else
            value_add(x->mem, out, value_text(x->mem, name));
    }
    return out;
}

static struct value *role_flags(struct crow *x, const struct crow_role *r)
{
    const struct value *from = crow_list(x, value_get(r->at, "flags"), r->name);
    struct value *out = value_list(x->mem);

    for (uint32_t i = 0; i < from->n; i++) {
        struct str name = crow_text(x, &from->items[i]);
        unsigned bit = 0;
        while (bit < ROLE_BIT_COUNT && !str_is(name, role_flag_name(bit)))
            bit++;
        if (bit < ROLE_BIT_COUNT && !is_in(out, role_flag_name(bit)))
            value_add(x->mem, out, value_text(x->mem, role_flag_name(bit)));
        else if (bit == ROLE_BIT_COUNT)
            crow_tell(x, IMPORT_LEFT_OUT, &from->items[i], r->name, "flag %s is not known",
                      crow_shown(x, name));
    }
    return out;
}

/* --- wants --- */

static const char *want_text(struct crow *x, const struct crow_role *r, const struct value *v)
{
    const struct value *name = v->kind == VALUE_MAP ? value_get(v, "name") : v;
    struct str given = crow_text(x, name);
    uintptr_t number;

    if (v->kind == VALUE_MAP && value_get(v, "at"))
        crow_tell(x, IMPORT_LEFT_OUT, value_get(v, "at"), r->name,
                  "wants %s at another place: it is where its owner has it", crow_shown(x, given));
    if (!strmap_get(&x->by_owned, given, &number)) {
        crow_tell(x, IMPORT_FAULT, v, r->name, "wants %s, which nobody has; left out",
                  crow_shown(x, given));
        x->barclamps.at[r->barclamp].lenient = true;
        return NULL;
    }
    const struct crow_attribute *a = &x->attributes.at[number];
    if (a->role == CATALOG_NONE) {
        crow_tell(x, IMPORT_CHANGED, v, r->name, "wants %s of its node, written as the path /%s",
                  a->name, a->path);
        return arena_printf(x->mem, "/%s", a->path);
    }
    if (&x->roles.at[a->role] == r) {
        crow_tell(x, IMPORT_LEFT_OUT, v, r->name, "wants %s, which is its own", a->name);
        return NULL;
    }
    return arena_printf(x->mem, "%s.%s", x->roles.at[a->role].name, a->name);
}

static struct value *role_wants(struct crow *x, const struct crow_role *r)
{
    const struct value *from = crow_list(x, value_get(r->at, "wants-attribs"), r->name);
    struct value *out = value_list(x->mem);

    for (uint32_t i = 0; i < from->n; i++) {
        const char *text = want_text(x, r, &from->items[i]);
        if (text && !is_in(out, text))
            value_add(x->mem, out, value_text(x->mem, text));
    }
    x->out->counts.wants += out->n;
    return out;
}

/* --- what it does --- */

static bool ends_in_sh(struct str path)
{
    return path.n > 3 && !memcmp(path.s + path.n - 3, ".sh", 3);
}

static struct value *task_new(struct crow *x, const char *name, const char *description)
{
    struct value *task = value_map(x->mem);
    value_put_text(x->mem, task, "name", name);
    value_put_text(x->mem, task, "description", description);
    return task;
}

static struct value *script_task(struct crow *x, const struct crow_role *r,
                                 const struct crow_script *s, struct strmap *names)
{
    enum { SHOWN = 1000 };
    struct str base = s->path;
    struct value *params = value_map(x->mem);

    for (size_t i = s->path.n; i-- > 0 && s->path.s[i] != '/';)
        base = (struct str){s->path.s + i, s->path.n - i};
    base.n -= 3; /* ".sh" */
    const char *name = crow_name_make(x, names, base);
    strmap_put(names, str_of(name), 1);
    if (!str_is(base, name))
        crow_tell_at(x, IMPORT_CHANGED, s->path, 0, r->name,
                     arena_printf(&x->scratch, "its task is called %s", name));
    crow_tell_at(x, IMPORT_CHANGED, s->path, 0, r->name,
                 "runs by /bin/sh where the worker is, without Crowbar's read_attribute and "
                 "write_attribute: data comes on standard input");
    struct value *task = task_new(x, name,
                                  arena_printf(&x->scratch, "from %.*s",
                                               (int)(s->path.n < SHOWN ? s->path.n : SHOWN),
                                               s->path.s));
    value_set(x->mem, params, "script", value_str(x->mem, s->text));
    value_set(x->mem, task, "params", params);
    x->out->counts.scripts++;
    return task;
}

/* The scripts were sourced in the order of their names, as a list of tasks runs. */
static struct value *script_tasks(struct crow *x, const struct crow_role *r)
{
    struct value *out = value_list(x->mem);
    struct strmap names = {0};

    for (size_t i = 0; i < x->scripts.n; i++) {
        struct crow_script *s = &x->scripts.at[i];
        if (!str_eq(s->role, r->given))
            continue;
        s->seen = true;
        if (ends_in_sh(s->path))
            value_add(x->mem, out, script_task(x, r, s, &names));
        else
            crow_tell_at(x, IMPORT_LEFT_OUT, s->path, 0, r->name,
                         "this file lies beside its scripts; tasks carry scripts only");
    }
    strmap_done(&names);
    return out;
}

/* The test jig slept for its attribute `delay`, and failed for one role. */
static struct value *test_task(struct crow *x, const struct crow_role *r)
{
    enum { MOST_SECONDS = 3600 };
    struct value *task = task_new(x, r->name, "as Crowbar's test jig did");
    struct value *params = value_map(x->mem);

    for (uint32_t i = r->first_attribute; i < r->first_attribute + r->n_attributes; i++) {
        const struct crow_attribute *a = &x->attributes.at[i];
        int64_t delay = value_as_int(value_get(a->at, "default"), 0);
        if (a->kept && str_is(str_of(a->path), "delay") && delay > 0 && delay < MOST_SECONDS)
            value_put_int(x->mem, params, "sleep_ms", delay * 1000);
    }
    if (str_is(r->given, "test-fails"))
        value_put_int(x->mem, params, "exit", 1);
    if (params->n)
        value_set(x->mem, task, "params", params);
    return task;
}

static struct value *placeholder(struct crow *x, const struct crow_role *r, const char *jig)
{
    const char *lost = !strcmp(jig, "script")          ? "its scripts are not in the source"
                       : !strcmp(jig, "role-provided") ? "its work is Ruby code of Crowbar"
                                                       : "its work is not part of its YAML";
    struct value *task = task_new(x, "placeholder", lost);

    value_put_text(x->mem, task, "type", "noop");
    crow_tell(x, IMPORT_LEFT_OUT, value_get(r->at, "jig"), r->name,
              "what jig %s does for it: %s; a placeholder does nothing", jig, lost);
    return task;
}

static struct value *role_actions(struct crow *x, const struct crow_role *r)
{
    struct str given = crow_text(x, value_get(r->at, "jig"));
    struct value *tasks = value_list(x->mem), *actions = value_map(x->mem);

    if (!given.n || str_is(given, "noop"))
        return NULL;
    if (str_is(given, "script"))
        tasks = script_tasks(x, r);
    else if (str_is(given, "test"))
        value_add(x->mem, tasks, test_task(x, r));
    if (!tasks->n)
        value_add(x->mem, tasks, placeholder(x, r, crow_shown(x, given)));
    value_set(x->mem, actions, "converge", tasks);
    return actions;
}

/* --- all of it --- */

static void role_rest(struct crow *x, const struct crow_role *r)
{
    static const char *const known[] = {"name",     "description",  "jig",   "requires",
                                        "provides", "conflicts",    "flags", "attribs",
                                        "attaches", "wants-attribs"};
    size_t n = sizeof known / sizeof *known;

    for (uint32_t i = 0; i < r->at->n; i++) {
        const struct member *m = &r->at->members[i];
        struct str key = {m->key, m->key_n};
        size_t k = 0;
        while (k < n && !str_is(key, known[k]))
            k++;
        if (k == n)
            crow_tell(x, IMPORT_LEFT_OUT, &m->v, r->name, "%s %s: %s", crow_shown(x, key),
                      crow_shown(x, crow_text(x, &m->v)),
                      str_is(key, "type") ? "a class of Ruby, with whatever hooks it has"
                                          : "roles of ours have nothing like it");
    }
}

static void put_list(struct crow *x, struct value *role, const char *key, const struct value *list)
{
    if (list->n)
        value_set(x->mem, role, key, list);
}

struct value *crow_role_value(struct crow *x, const struct crow_role *r)
{
    struct value *role = value_map(x->mem), *v;
    const struct value *jig = value_get(r->at, "jig");

    value_put_text(x->mem, role, "name", r->name);
    if ((v = crow_description(x, value_get(r->at, "description"), r->name)))
        value_set(x->mem, role, "description", v);
    if (crow_text(x, jig).n)
        value_put_text(x->mem, role, "jig", crow_name(x, &x->jig_names, jig, "jig"));
    put_list(x, role, "flags", role_flags(x, r));
    put_list(x, role, "requires", role_requires(x, r));
    put_list(x, role, "wants", role_wants(x, r));
    put_list(x, role, "provides", role_provides(x, r));
    put_list(x, role, "conflicts", role_conflicts(x, r));
    if ((v = crow_attributes_value(x, r->first_attribute, r->n_attributes, r->name,
                                   &x->out->counts.attributes)))
        value_set(x->mem, role, "attributes", v);
    if ((v = role_actions(x, r)))
        value_set(x->mem, role, "actions", v);
    role_rest(x, r);
    return role;
}
