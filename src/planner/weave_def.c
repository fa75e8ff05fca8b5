/* weave_def.c - tasks of a graph as definitions of the engine
 *
 * A definition is what its digest says.  All instances of a task share one, unless its parameters
 * depend on the node.  What is left out has one of its own that nothing executes and that tells
 * why; so have stages and joins, by their names.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "planner/weave_plan_i.h"

#include "base/digest.h"
#include "base/json.h"
#include "base/text.h"
#include "model/states.h"
#include "planner/expand_i.h"

enum { TIMEOUT_MS = 3600 * 1000, BACKOFF_MS = 1000 };

/* What a graph calls otherwise than the jig of that type does. */
static const struct {
    const char *type, *in_graph, *of_jig; /* of_jig NULL: the jig has no use for it */
} renamed[] = {
    {"shell", "cmd", "script"},
    {"upload_file", "permissions", "mode"},
    {"upload_file", "dir_permissions", "dir_mode"},
    {"upload_file", "cwd", NULL},
    {"upload_files", "cwd", NULL},
    {"copy_files", "cwd", NULL},
    {"rsync", "cwd", NULL},
    {"sync", "cwd", NULL},
    {"reboot", "cwd", NULL},
};

static const char *jig_param_name(struct str type, const char *key)
{
    static const char *const engines[] = {"timeout", "retries", "interval", "strategy"};
    for (size_t i = 0; i < sizeof engines / sizeof *engines; i++)
        if (!strcmp(key, engines[i]))
            return NULL;
    for (size_t i = 0; i < sizeof renamed / sizeof *renamed; i++)
        if (str_is(type, renamed[i].type) && !strcmp(key, renamed[i].in_graph))
            return renamed[i].of_jig;
    return key;
}

/* Of a task for the jig that is called as its type; those that the engine goes by are not its. */
static struct value *jig_params(struct arena *a, const struct graph_vertex *t,
                                const struct value *params)
{
    struct value *out = value_map(a);
    for (uint32_t i = 0; value_is(params, VALUE_MAP) && i < params->n; i++) {
        const char *name = jig_param_name(t->type, params->members[i].key);
        if (name)
            value_set(a, out, name, &params->members[i].v);
    }
    return out;
}

static struct str text_keep(struct laying *l, const char *s, size_t n)
{
    return (struct str){arena_strndup(&l->plan->mem, s, n), n};
}

/* One that the engine has, or that the plan brings along. */
static uint32_t def_ref(struct laying *l, struct plan_def d, const struct value *body)
{
    SCOPED_ARENA(mem);
    SCOPED_BUF(text);
    struct value *all = value_map(&mem);
    uintptr_t known;
    value_set(&mem, all, "name", value_str(&mem, d.name));
    value_put_int(&mem, all, "jig", d.jig);
    value_put_int(&mem, all, "flags", d.flags);
    value_put_int(&mem, all, "retries", d.retries);
    value_put_int(&mem, all, "backoff_ms", (int64_t)d.backoff_ms);
    value_put_int(&mem, all, "timeout_ms", (int64_t)d.timeout_ms);
    value_set(&mem, all, "body", body);
    json_write_canonical(&text, all);
    d.digest = digest_64(text.data, text.len);
    if (u64map_get(&l->def_known, d.digest, &known))
        return (uint32_t)known;
    uint32_t ref = l->req->world->def(l->req->world->ctx, d.digest);
    if (!ref) {
        ref = (uint32_t)l->defs.n | PLAN_NEW;
        buf_clear(&text);
        json_write_canonical(&text, body);
        d.name = text_keep(l, d.name.s, d.name.n);
        d.role = str_of(CATALOG_CARRIER);
        d.body = text_keep(l, text.data, text.len);
        vec_push(&l->defs, d);
    }
    u64map_put(&l->def_known, d.digest, ref);
    return ref;
}

uint32_t weave_def_passive(struct laying *l, struct str name, const char *what)
{
    SCOPED_ARENA(mem);
    struct value *body = value_map(&mem);
    value_put_text(&mem, body, "type", what);
    value_set(&mem, body, "params", value_map(&mem));
    return def_ref(l, (struct plan_def){.name = name, .repeat = REPEAT_SAFE}, body);
}

static const struct catalog_jig *jig_of(const struct laying *l, const struct graph_vertex *t)
{
    struct str name = str_is(t->type, "sync")            ? str_of("rsync")
                      : str_is(t->type, WEAVE_NODE_FILE) ? str_of("upload_file")
                                                         : t->type;
    const struct catalog_jig *jig = catalog_jig_get(l->req->cat, name);
    return jig ? jig : l->req->any_jig;
}

static uint32_t def_make(struct laying *l, const struct graph_vertex *t, const struct value *params,
                         bool aside)
{
    SCOPED_ARENA(mem);
    const struct catalog_jig *jig = jig_of(l, t);
    struct value *body = value_map(&mem);
    struct plan_def d = {.name = t->id,
                         .repeat = REPEAT_SAFE,
                         .retries = t->retries == CATALOG_NONE ? 0 : t->retries,
                         .backoff_ms = t->interval_ms ? t->interval_ms : BACKOFF_MS,
                         .timeout_ms = t->timeout_ms ? t->timeout_ms : TIMEOUT_MS,
                         .flags = DEF_F_SURVIVES_REBOOT};
    bool active;
    (void)l->req->world->jig(l->req->world->ctx, jig->name, &d.jig, &active);
    if (!t->fail_on_error)
        d.flags |= DEF_F_MAY_FAIL;
    if (aside)
        d.flags |= DEF_F_ASIDE;
    if (jig->reach == REACH_OUTSIDE)
        d.flags |= DEF_F_OUTSIDE;
    if (str_is(jig->implementation, "reboot") && !l->req->no_op) {
        d.flags |= DEF_F_TAKES_DOWN;
        d.deadline_ms = d.timeout_ms; /* to be up again is part of it, not what comes after */
    }
    value_set(&mem, body, "type", value_str(&mem, jig->implementation));
    value_set(&mem, body, "params", jig_params(&mem, t, params));
    const struct value *tests = expand_tests(&mem, &t->test_pre, &t->test_post);
    if (tests)
        value_set(&mem, body, "tests", tests);
    expand_chains(&d, tests);
    if (l->req->no_op)
        value_put_bool(&mem, body, "no_op", true);
    return def_ref(l, d, body);
}

uint32_t weave_def_run(struct laying *l, uint32_t v)
{
    const struct weave_vertex *at = &l->w->vertices[v];
    const struct graph_vertex *t = &l->g->vertices[at->task];
    const struct value *params = NULL;
    bool aside = weave_aside(l, v); /* whatever runs has a place */
    if (l->def_of[aside][at->task])
        return l->def_of[aside][at->task];
    if (l->req->parameters) {
        if (l->req->parameters(l->req->ctx, at->task, at->node, &params, l->e) < 0)
            return 0;
        if (params != t->parameters) /* of this node only */
            return def_make(l, t, params, aside);
    }
    return l->def_of[aside][at->task] = def_make(l, t, t->parameters, aside);
}

/* --- what nothing executes --- */

struct missing {
    struct str type, task;
    uint32_t instances;
};

static int missing_tell(struct laying *l, const struct missing *m, size_t n)
{
    SCOPED_BUF(text);
    for (size_t i = 0; i < n && i < 8; i++)
        buf_printf(&text, "%s%.*s (%.*s%s%s)", i ? ", " : "", (int)m[i].type.n, m[i].type.s,
                   (int)m[i].task.n, m[i].task.s, m[i].instances > 1 ? " and others, " : "",
                   m[i].instances > 1 ? text_count(m[i].instances, "task").s : "");
    if (n > 8)
        buf_printf(&text, " and %zu more", n - 8);
    err_set(l->e, ERR_REFUSED, "no jig executes tasks of type %s", text.data);
    return err_hint(l->e,
                    "`anneal jig list` shows what there is; --only and --skip leave tasks out");
}

static bool type_runs(struct laying *l, const struct graph_vertex *t)
{
    const struct catalog_jig *jig = jig_of(l, t);
    uint32_t id;
    bool active;
    return jig && l->req->world->jig(l->req->world->ctx, jig->name, &id, &active);
}

int weave_types_check(struct laying *l)
{
    struct strmap known = {0};
    VEC(struct missing) all = {0};
    int rc = 0;
    for (uint32_t v = l->w->n_stages; v < l->w->n_stages + l->w->n_tasks; v++) {
        const struct weave_vertex *at = &l->w->vertices[v];
        const struct graph_vertex *t = &l->g->vertices[at->task];
        uintptr_t i;
        if (at->reason != WEAVE_RUN)
            continue;
        if (!strmap_get(&known, t->type, &i)) {
            i = type_runs(l, t) ? SIZE_MAX : all.n;
            strmap_put(&known, t->type, i);
            if (i != SIZE_MAX)
                vec_push(&all, ((struct missing){t->type, t->id, 0}));
        }
        if (i != SIZE_MAX)
            all.at[i].instances++;
    }
    if (all.n)
        rc = missing_tell(l, all.at, all.n);
    vec_done(&all);
    strmap_done(&known);
    return rc;
}
