/* view_util.c - what all views share: times, names, documents and lists of ids
 *
 * The engine counts milliseconds of its own; people read the wall clock.  A time of the engine is
 * shown as far from now as it is from the engine's now, so that a step of the wall clock moves what
 * is shown and nothing else.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>
#include <time.h>

#include "base/json.h"
#include "server/server_i.h"

const char *view_time(struct arena *a, uint64_t wall_ms)
{
    char text[32];
    struct tm tm;
    time_t seconds = (time_t)(wall_ms / 1000);
    if (!wall_ms || !gmtime_r(&seconds, &tm))
        return NULL;
    strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &tm);
    return arena_printf(a, "%s.%03uZ", text, (unsigned)(wall_ms % 1000));
}

uint64_t view_wall(const struct server *s, uint64_t engine_ms)
{
    if (!engine_ms)
        return 0;
    int64_t ago = (int64_t)(server_now(s) - engine_ms), wall = (int64_t)server_wall_ms();
    return wall > ago ? (uint64_t)(wall - ago) : 1;
}

struct value *view_json(struct arena *a, const char *text)
{
    struct value *v;
    /* What is kept was written by us; a map is all that a reader may rely on. */
    if (!text || json_parse(a, text, strlen(text), NULL, &v, NULL) < 0 || v->kind != VALUE_MAP)
        return value_map(a);
    return v;
}

struct value *view_ids(struct arena *a, const uint32_t *ids, uint32_t n)
{
    struct value *list = value_list(a);
    for (uint32_t i = 0; i < n; i++)
        value_add(a, list, value_int(a, ids[i]));
    return list;
}

const char *view_node_name(const struct server *s, uint32_t id)
{
    return id < s->inv.nodes.n ? s->inv.nodes.at[id].name : NULL;
}

const char *view_deployment_name(const struct server *s, uint32_t id)
{
    return id < s->inv.deployments.n ? s->inv.deployments.at[id].name : NULL;
}

const char *view_jig_name(const struct server *s, uint32_t id)
{
    return id < s->inv.jigs.n ? s->inv.jigs.at[id].name : NULL;
}

const char *view_pool_name(const struct server *s, uint32_t id)
{
    return id < s->inv.pools.n ? s->inv.pools.at[id].name : NULL;
}

const char *view_role_name(const struct server *s, uint32_t noderole)
{
    if (noderole == 0 || noderole >= s->inv.noderoles.n)
        return "?";
    return s->inv.role_names.at[s->inv.noderoles.at[noderole].role];
}

const char *view_noderole_name(const struct server *s, struct arena *a, uint32_t id)
{
    struct noderole_view v;
    bool there = anneal_noderole(s->engine, id, &v);
    const char *node = there ? view_node_name(s, v.node) : NULL;
    if (there && !v.node) /* stages and joins of a deployment */
        return view_role_name(s, id);
    return arena_printf(a, "%s@%s", view_role_name(s, id), node ? node : "?");
}

const char *view_task_name(const struct server *s, uint32_t id)
{
    struct task_view v;
    if (!anneal_task(s->engine, id, &v) || v.def >= s->inv.defs.n || !s->inv.defs.at[v.def].name)
        return "?";
    return s->inv.defs.at[v.def].name;
}

const struct value *view_worker_plugins(struct arena *a, const struct worker_info *w)
{
    struct value *list = NULL;
    if (!w->plugins || json_parse(a, w->plugins, strlen(w->plugins), NULL, &list, NULL) < 0 ||
        list->kind != VALUE_LIST)
        return value_list(a);
    return list;
}
