/* plugins.c - all plugins that were found, and which of them a task is for */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "base/alloc.h"
#include "base/sort.h"
#include "base/text.h"
#include "plugin/plugin.h"

struct plugins_build {
    struct arena *mem;
    VEC(const struct plugin *) good;
    VEC(struct plugin_fault) faults;
};

static struct err *fault_add(struct plugins_build *b, struct str dir)
{
    struct plugin_fault *f = vec_add(&b->faults);
    f->dir = (struct str){arena_strndup(b->mem, dir.s, dir.n), dir.n};
    return &f->err;
}

/* --- two that claim the same --- */

static const char *clash(const struct plugin *a, const struct plugin *b, struct arena *mem)
{
    if (str_eq(a->name, b->name))
        return arena_printf(mem, "the name %s", a->name.s);
    for (uint32_t i = 0; a->kind == b->kind && i < a->n_types; i++)
        if (plugin_type_get(b, a->types[i].name))
            return arena_printf(mem, "%s type %s", plugin_kind_name(a->kind), a->types[i].name.s);
    return NULL;
}

static void clashes_drop(struct plugins_build *b)
{
    bool *bad = xcalloc(b->good.n + 1, sizeof *bad);
    for (size_t i = 0; i < b->good.n; i++)
        for (size_t k = 0; k < b->good.n; k++) {
            const struct plugin *p = b->good.at[i], *other = b->good.at[k];
            const char *what = i == k ? NULL : clash(p, other, b->mem);
            if (!what || bad[i])
                continue;
            bad[i] = true;
            struct err *e = fault_add(b, p->dir);
            err_set(e, ERR_CONFLICT, "%s is claimed by %s as well", what, other->dir.s);
            err_at(e, "%s/%s", p->dir.s, PLUGIN_FILE);
            err_hint(e, "remove one of the two; until then neither is used");
        }
    size_t n = 0;
    for (size_t i = 0; i < b->good.n; i++)
        if (!bad[i])
            b->good.at[n++] = b->good.at[i];
    b->good.n = n;
    free(bad);
}

static int by_name(const void *x, const void *y)
{
    const struct plugin *const *a = x, *const *b = y;
    return str_cmp((*a)->name, (*b)->name);
}

const struct plugins *plugins_read(struct arena *mem, const struct plugin_text *texts, size_t n)
{
    struct plugins *all = arena_new(mem, struct plugins, 1);
    struct plugins_build b = {.mem = mem};
    for (size_t i = 0; i < n; i++) {
        const struct plugin *p;
        struct err e;
        if (b.good.n == PLUGIN_MAX)
            err_set(&e, ERR_LIMIT, "there are more than %d plugins", PLUGIN_MAX);
        else if (texts[i].unreadable)
            e = *texts[i].unreadable;
        else if (plugin_read(mem, texts[i].dir, texts[i].text, &p, &e) >= 0) {
            vec_push(&b.good, p);
            continue;
        }
        *fault_add(&b, texts[i].dir) = e;
    }
    clashes_drop(&b);
    if (b.good.n)
        qsort(b.good.at, b.good.n, sizeof *b.good.at, by_name);
    const struct plugin **good = arena_new(mem, const struct plugin *, b.good.n);
    struct plugin_fault *faults = arena_new(mem, struct plugin_fault, b.faults.n);
    if (b.good.n)
        memcpy(good, b.good.at, b.good.n * sizeof *good);
    if (b.faults.n)
        memcpy(faults, b.faults.at, b.faults.n * sizeof *faults);
    *all = (struct plugins){good, (uint32_t)b.good.n, faults, (uint32_t)b.faults.n};
    vec_done(&b.good);
    vec_done(&b.faults);
    return all;
}

/* --- finding --- */

static int not_found(const struct plugins *all, struct err *e)
{
    if (all->n_faults)
        return err_hint(e, "%u that cannot be used: `anneal plugin list` shows why", all->n_faults);
    if (!all->n)
        return err_hint(e, "no plugin was found: is plugin_path right?");
    return err_hint(e, "`anneal plugin list` shows those there are");
}

int plugins_find(const struct plugins *all, struct str name, const struct plugin **ret,
                 struct err *e)
{
    VEC(const char *) names = {0};
    for (uint32_t i = 0; i < all->n; i++) {
        if (str_eq(all->at[i]->name, name)) {
            *ret = all->at[i];
            vec_done(&names);
            return 0;
        }
        vec_push(&names, all->at[i]->name.s);
    }
    const char *near = text_nearest(name, names.at, names.n);
    int rc = err_set(e, ERR_UNKNOWN_NAME, "there is no plugin \"%.*s\"",
                     (int)(name.n < 64 ? name.n : 64), name.s);
    rc = near ? err_hint(e, "did you mean %s?", near) : not_found(all, e);
    vec_done(&names);
    return rc;
}

int plugins_find_type(const struct plugins *all, enum plugin_kind kind, struct str type,
                      const struct plugin **ret, struct err *e)
{
    for (uint32_t i = 0; i < all->n; i++)
        if (all->at[i]->kind == kind && plugin_type_get(all->at[i], type)) {
            *ret = all->at[i];
            return 0;
        }
    err_set(e, ERR_UNKNOWN_NAME, "no plugin serves %s type \"%.*s\"", plugin_kind_name(kind),
            (int)(type.n < 64 ? type.n : 64), type.s);
    return not_found(all, e);
}

bool plugin_kind_of_action(struct str action, enum plugin_kind *ret)
{
    static const struct {
        const char *action;
        enum plugin_kind kind;
    } table[] = {
        {"create", PLUGIN_PROVIDER},
        {"confirm", PLUGIN_PROVIDER},
        {"delete", PLUGIN_PROVIDER},
        {"bootstrap", PLUGIN_AUTOMATOR},
        {"install", PLUGIN_AUTOMATOR},
        {"configure", PLUGIN_AUTOMATOR},
        {"initialize", PLUGIN_AUTOMATOR},
        {"start", PLUGIN_AUTOMATOR},
        {"stop", PLUGIN_AUTOMATOR},
        {"restart", PLUGIN_AUTOMATOR},
        {"upgrade", PLUGIN_AUTOMATOR},
        {"remove", PLUGIN_AUTOMATOR},
        {"on", PLUGIN_POWER},
        {"off", PLUGIN_POWER},
        {"cycle", PLUGIN_POWER},
        {"status", PLUGIN_POWER},
        {"drain", PLUGIN_WLM},
        {"drained", PLUGIN_WLM},
        {"resume", PLUGIN_WLM},
        {"fetch", PLUGIN_VCS},
        {"revision", PLUGIN_VCS},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (str_is(action, table[i].action)) {
            *ret = table[i].kind;
            return true;
        }
    return false;
}

static int action_find(const struct plugin *p, struct str name, const struct plugin_action **ret,
                       struct err *e)
{
    VEC(const char *) names = {0};
    if ((*ret = plugin_action_get(p, name)))
        return 0;
    for (uint32_t i = 0; i < p->n_actions; i++)
        vec_push(&names, p->actions[i].name.s);
    const char *near = text_nearest(name, names.at, names.n);
    int rc = err_set(e, ERR_UNKNOWN_NAME, "plugin %s has no action \"%.*s\"", p->name.s,
                     (int)(name.n < 64 ? name.n : 64), name.s);
    if (near)
        rc = err_hint(e, "did you mean %s?", near);
    vec_done(&names);
    return rc;
}

int plugins_match(const struct plugins *all, const struct plugin_ask *ask, struct plugin_match *ret,
                  struct err *e)
{
    enum plugin_kind kind;
    const struct plugin *p;
    int rc;
    if (ask->plugin.n) {
        rc = plugins_find(all, ask->plugin, &p, e);
    } else if (!plugin_kind_of_action(ask->action, &kind)) {
        rc = err_set(e, ERR_UNKNOWN_NAME, "no type of plugin is asked to \"%.*s\"",
                     (int)(ask->action.n < 64 ? ask->action.n : 64), ask->action.s);
        rc = err_hint(e, "name the plugin with \"plugin\", or the action with \"action\"");
    } else if (!ask->type.n) {
        rc = err_set(e, ERR_INVALID, "it is not said which type of %s is asked",
                     plugin_kind_name(kind));
        rc = err_hint(e, "set \"type\", or \"plugin\"");
    } else {
        rc = plugins_find_type(all, kind, ask->type, &p, e);
    }
    if (rc < 0 || (rc = action_find(p, ask->action, &ret->action, e)) < 0)
        return rc;
    ret->plugin = p;
    ret->type = plugin_type_get(p, ask->type);
    return 0;
}
