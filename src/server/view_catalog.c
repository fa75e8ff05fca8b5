/* view_catalog.c - what the catalog offers (roles, barclamps, jigs) and the pools that limit it, as
 * values
 *
 * Jigs and pools outlive the generation that named them: the engine knows whether they work, the
 * catalog what they are.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "server/server_i.h"

static void put_str(struct arena *a, struct value *map, const char *key, struct str s)
{
    value_set(a, map, key, value_str(a, s));
}

static uint32_t workers_with(const struct server *s, const char *implementation)
{
    uint32_t n = 0;
    for (size_t i = 0; i < s->workers.n; i++)
        for (size_t k = 0; k < s->workers.at[i]->jigs.n; k++)
            if (strcmp(s->workers.at[i]->jigs.at[k], implementation) == 0) {
                n++;
                break;
            }
    return n;
}

struct value *view_jig(struct server *s, struct arena *a, uint32_t id)
{
    const struct inv_named *named = &s->inv.jigs.at[id];
    const struct catalog_jig *j = s->catalog ? catalog_jig_get(s->catalog, str_of(named->name))
                                             : NULL;
    struct value *v = value_map(a);
    struct jig_view e = {0};
    bool has_implementor = j && j->implementor != CATALOG_NONE;
    const char *implementation = j ? j->implementation.s : named->name;

    (void)anneal_jig(s->engine, id, &e);
    value_put_text(a, v, "name", named->name);
    value_put_text(a, v, "implementation", implementation);
    value_put_text(a, v, "implementor",
                   has_implementor ? s->catalog->roles[j->implementor].name.s : NULL);
    value_put_bool(a, v, "active", e.active);
    value_put_text(a, v, "reach", reach_name(j ? j->reach : REACH_NODE));
    value_put_int(a, v, "workers", workers_with(s, implementation));
    value_put_int(a, v, "running", e.taken);
    value_put_int(a, v, "waiting", e.waiting);
    value_put_int(a, v, "rev", named->rev);
    return v;
}

struct value *view_pool(struct server *s, struct arena *a, uint32_t id)
{
    const struct inv_named *named = &s->inv.pools.at[id];
    struct value *v = value_map(a);
    struct pool_view e = {0};

    (void)anneal_pool(s->engine, id, &e);
    value_put_text(a, v, "name", named->name);
    value_put_int(a, v, "size", e.size);
    value_put_int(a, v, "taken", e.taken);
    value_put_int(a, v, "elsewhere", e.elsewhere);
    value_put_bool(a, v, "closed", e.closed);
    value_put_text(a, v, "note", named->note);
    value_put_int(a, v, "waiting", e.waiting);
    value_put_int(a, v, "rev", named->rev);
    return v;
}

/* ---- roles ---- */

static struct value *wants(const struct catalog *c, struct arena *a, const struct catalog_want *w,
                           uint32_t n)
{
    struct value *list = value_list(a);
    for (uint32_t i = 0; i < n; i++)
        value_add(a, list, value_str(a, c->names[w[i].name].name));
    return list;
}

static struct value *names(const struct catalog *c, struct arena *a, const uint32_t *at, uint32_t n)
{
    struct value *list = value_list(a);
    for (uint32_t i = 0; i < n; i++)
        value_add(a, list, value_str(a, c->names[at[i]].name));
    return list;
}

static struct value *flags(struct arena *a, uint32_t set)
{
    struct value *list = value_list(a);
    for (int i = 0; i < ROLE_BIT_COUNT; i++)
        if (set & 1u << i)
            value_add(a, list, value_text(a, role_flag_name((enum role_flag_bit)i)));
    return list;
}

/* How many of which cluster are enough. */
static struct value *enough(const struct catalog *c, struct arena *a, const struct catalog_role *r)
{
    struct value *v = value_map(a);
    for (uint32_t i = 0; i < r->n_requires; i++)
        if (r->requires[i].min)
            value_put_text(
                a, v, c->names[r->requires[i].name].name.s,
                arena_printf(a, "%u%s", r->requires[i].min, r->requires[i].percent ? "%" : ""));
    return v;
}

static struct value *strategy(struct arena *a, const struct catalog_role *r)
{
    struct value *v = value_map(a);
    value_put_text(a, v, "type", strategy_name(r->strategy));
    if (r->strategy == STRATEGY_ROLLING)
        value_put_int(a, v, "max", r->max);
    if (r->strategy != STRATEGY_PARALLEL)
        value_put_text(
            a, v, "failures",
            arena_printf(a, "%d%s", (int)r->failures.value, r->failures.percent ? "%" : ""));
    return v;
}

static struct value *steps(const struct catalog *c, struct arena *a, const struct catalog_action *x)
{
    struct value *list = value_list(a);
    for (uint32_t i = 0; i < x->n_steps; i++) {
        const struct catalog_step *step = &x->steps[i];
        struct value *v = value_map(a), *after = value_list(a);
        for (uint32_t k = 0; k < step->n_after; k++)
            value_add(a, after, value_str(a, c->tasks[x->steps[step->after[k]].task].name));
        put_str(a, v, "task", c->tasks[step->task].name);
        put_str(a, v, "jig", c->jigs[step->jig].name);
        value_put_text(a, v, "repeat", repeat_name(step->repeat));
        value_set(a, v, "after", after);
        value_add(a, list, v);
    }
    return list;
}

struct value *view_role(struct server *s, struct arena *a, const struct catalog_role *r)
{
    const struct catalog *c = s->catalog;
    struct value *v = value_map(a), *actions = value_map(a);

    for (uint32_t i = 0; i < r->n_actions; i++)
        value_set_str(a, actions, r->actions[i].name, steps(c, a, &r->actions[i]));
    put_str(a, v, "name", r->name);
    value_set(a, v, "barclamp",
              r->barclamp == CATALOG_NONE ? value_text(a, "")
                                          : value_str(a, c->barclamps[r->barclamp].name));
    value_set(a, v, "jig",
              r->jig == CATALOG_NONE ? value_null(a) : value_str(a, c->jigs[r->jig].name));
    value_set(a, v, "requires", wants(c, a, r->requires, r->n_requires));
    value_set(a, v, "enough", enough(c, a, r));
    value_set(a, v, "uses", wants(c, a, r->uses, r->n_uses));
    value_set(a, v, "provides", names(c, a, r->provides, r->n_provides));
    value_set(a, v, "conflicts", names(c, a, r->conflicts, r->n_conflicts));
    value_set(a, v, "flags", flags(a, r->flags));
    value_set(a, v, "strategy", strategy(a, r));
    value_put_text(a, v, "rerun", rerun_name(r->rerun));
    value_set(a, v, "attributes",
              value_is(r->attributes, VALUE_MAP) ? value_copy(a, r->attributes) : value_map(a));
    value_set(a, v, "actions", actions);
    put_str(a, v, "description", r->description);
    return v;
}

struct value *view_barclamp(struct server *s, struct arena *a, uint32_t index)
{
    const struct catalog *c = s->catalog;
    const struct catalog_barclamp *b = &c->barclamps[index];
    struct value *v = value_map(a), *roles = value_list(a);

    for (uint32_t i = 0; i < c->n_roles; i++)
        if (c->roles[i].barclamp == index)
            value_add(a, roles, value_str(a, c->roles[i].name));
    put_str(a, v, "name", b->name);
    put_str(a, v, "version", b->version);
    put_str(a, v, "description", b->description);
    value_set(a, v, "roles", roles);
    return v;
}

struct value *view_catalog(struct server *s, struct arena *a)
{
    const struct catalog *c = s->catalog;
    struct value *v = value_map(a);
    char hex[DIGEST_HEX];

    digest_hex(&c->digest, hex);
    value_put_int(a, v, "generation", c->number);
    value_put_text(a, v, "digest", hex);
    value_put_text(a, v, "origin", s->catalog_origin ? s->catalog_origin : "");
    value_put_text(a, v, "loaded_at", view_time(a, s->catalog_loaded_ms));
    value_put_int(a, v, "barclamps", c->n_barclamps);
    value_put_int(a, v, "roles", catalog_roles_written(c));
    value_put_int(a, v, "tasks", catalog_tasks_written(c));
    return v;
}

struct value *view_report(struct arena *mem, const struct catalog_report *report,
                          uint32_t from_file)
{
    static const char *const severity[] = {"error", "warning", "note"};
    struct value *list = value_list(mem);
    for (size_t i = 0; i < report->entries.n; i++) {
        const struct catalog_entry *en = &report->entries.at[i];
        if (report->entries.at[en->lead].where.file < from_file)
            continue;
        struct value *v = value_map(mem);
        value_put_text(mem, v, "severity", severity[en->severity]);
        value_put_text(mem, v, "at", en->err.at);
        value_put_text(mem, v, "text", en->err.text);
        if (en->err.line[0])
            value_put_text(mem, v, "line", en->err.line);
        if (en->err.hint[0])
            value_put_text(mem, v, "hint", en->err.hint);
        value_add(mem, list, v);
    }
    return list;
}
