/* data_digest.c - whose inputs a change concerns, and telling the engine
 *
 * Documents of a noderole are seen by those below it.  The way down ends at members of clusters:
 * who needs one sees its block among its peers, and nothing of what that one needs.  Only those
 * whose lens has a changed path among its inputs are looked at again, and only those whose digest
 * then differs are told; where no lens at all has such a path nobody is even visited.
 *
 * A noderole that waits for its first run is told late: just before the last of its parents is
 * done. A thousand members of a cluster would else each tell a thousand that need it, for nothing.
 * Nothing has to be remembered for that, so it is the same after a restart.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "server/data_i.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"

static const struct sight_path everything_path;
const struct sight_paths data_everything = {&everything_path, 1};

/* --- whom --- */

void data_touched_add(struct data_touched *t, uint32_t noderole)
{
    if (u64map_put(&t->known, noderole, 1))
        vec_push(&t->ids, noderole);
}

struct touch { /* one change on its way down */
    struct data_touched *out;
    struct sight_paths paths;
    VEC(uint8_t) of_lens; /* 1: not touched, 2: touched, 0: not asked yet */
    struct u64map seen;
    VEC(uint32_t) walk;
};

static void touch_done(struct touch *c)
{
    vec_done(&c->of_lens);
    vec_done(&c->walk);
    u64map_done(&c->seen);
}

static void touch(struct touch *c, uint32_t noderole)
{
    struct server *s = c->out->server;
    uint32_t lens = s->inv.noderoles.at[noderole].lens;
    while (c->of_lens.n <= lens)
        (void)vec_add(&c->of_lens);
    if (!c->of_lens.at[lens])
        c->of_lens.at[lens] = sight_lens_touched(&data_lens_get(s, lens)->lens.sight, c->paths) ? 2
                                                                                                : 1;
    if (c->of_lens.at[lens] == 2)
        data_touched_add(c->out, noderole);
}

static bool is_member(const struct server *s, uint32_t noderole, struct noderole_view *ret)
{
    return anneal_noderole(s->engine, noderole, ret) && (ret->flags & NODEROLE_F_CLUSTER);
}

static void touch_below(struct touch *c, uint32_t noderole)
{
    struct server *s = c->out->server;
    u64map_put(&c->seen, noderole, 1);
    vec_push(&c->walk, noderole);
    while (c->walk.n > 0) {
        uint32_t n, at = c->walk.at[--c->walk.n];
        const uint32_t *children = anneal_children(s->engine, at, &n);
        for (uint32_t i = 0; i < n; i++) {
            struct noderole_view v;
            if (!u64map_put(&c->seen, children[i], 1))
                continue;
            touch(c, children[i]);
            if (!is_member(s, children[i], &v))
                vec_push(&c->walk, children[i]);
        }
    }
}

/* Those who need a member see it as peers.<role>.<node>, and nobody below them does. */
static void touch_needers(struct data_touched *t, uint32_t noderole, uint32_t node,
                          struct sight_paths paths)
{
    struct server *s = t->server;
    SCOPED_ARENA(mem);
    struct str keys[] = {str_of("peers"), str_of(view_role_name(s, noderole)),
                         str_of(s->inv.nodes.at[node].name)};
    struct touch c = {.out = t,
                      .paths = sight_paths_under((struct sight_path){keys, 3}, paths, &mem)};
    uint32_t n;
    const uint32_t *children = anneal_children(s->engine, noderole, &n);
    for (uint32_t i = 0; data_wanted(s, c.paths) && i < n; i++)
        touch(&c, children[i]);
    touch_done(&c);
}

void data_touched_by(struct data_touched *t, uint32_t noderole, struct sight_paths paths,
                     bool itself)
{
    struct touch c = {.out = t, .paths = paths};
    struct noderole_view v = {0};
    bool member = is_member(t->server, noderole, &v), wanted = data_wanted(t->server, paths);
    if (itself && wanted)
        touch(&c, noderole);
    if (member)
        touch_needers(t, noderole, v.node, paths);
    else if (wanted)
        touch_below(&c, noderole);
    touch_done(&c);
}

static bool is_below(const struct server *s, uint32_t deployment, uint32_t above)
{
    for (int i = 0; deployment && deployment != above && i < SIGHT_MAX_DEPTH; i++)
        deployment = s->inv.deployments.at[deployment].parent;
    return deployment == above;
}

void data_touched_shared(struct data_touched *t, uint32_t deployment, uint32_t role,
                         struct sight_paths paths)
{
    const struct server *s = t->server;
    for (uint32_t d = 1; d < s->inv.deployments.n; d++) {
        const struct id_list *l = is_below(s, d, deployment) ? inventory_instances(&s->inv, role, d)
                                                             : NULL;
        for (size_t i = 0; l && i < l->ids.n; i++)
            data_touched_by(t, l->ids.at[i], paths, true);
    }
}

/* --- telling --- */

enum { TELL_ROUNDS = 8 };

struct told {
    uint32_t id;
    uint64_t digest;
};
typedef VEC(struct told) told_v;

static int by_id(const void *x, const void *y)
{
    const uint32_t *p = x, *q = y;
    return (*p > *q) - (*p < *q);
}

static bool waits_for_others(const struct noderole_view *v)
{
    return v->run_count == 0 && v->state == NODEROLE_BLOCKED && v->gate > 0;
}

static void find_told(struct server *s, const uint32_t *ids, size_t n, bool waiting, told_v *ret)
{
    SCOPED(data_look) l;
    struct err e;
    data_look_begin(&l, s);
    for (size_t i = 0; i < n; i++) {
        struct noderole_view v;
        uint64_t digest;
        if (!anneal_noderole(s->engine, ids[i], &v) || v.target == TARGET_ABSENT ||
            (!waiting && waits_for_others(&v)))
            continue;
        if (data_look_inputs(&l, ids[i], &digest, &e) < 0)
            log_err(LOG_ERROR, "data.inputs", &e);
        else if (digest != v.data)
            vec_push(ret, ((struct told){ids[i], digest}));
    }
}

/* Until one has been told with which other data changed: hooks run before an event, too. */
static bool tell_some(struct server *s, const told_v *told)
{
    struct commit_note note = server_note(NULL, NULL);
    uint64_t version = s->data->version;
    struct err e;
    for (size_t i = 0; i < told->n && s->data->version == version; i++) {
        struct event ev = {.kind = EVENT_DATA_SET, .id = told->at[i].id, .a = told->at[i].digest};
        ev.op = anneal_joins(s->engine, ev.id, s->data->cause);
        ev.returned = s->data->returned;
        if (server_apply(s, &ev, &note, NULL, &e) < 0)
            log_err(LOG_ERROR, "data.told", &e);
    }
    return s->data->version == version;
}

/* All digests first: telling moves states, and what is seen must be of one moment.  If that moment
 * passes meanwhile it is all looked at again, a bounded number of times: what hooks change they
 * tell themselves. */
static void tell(struct server *s, uint32_t *ids, size_t n, bool waiting)
{
    told_v told = {0};
    if (n > 1)
        qsort(ids, n, sizeof *ids, by_id);
    for (int round = 0; round < TELL_ROUNDS; round++) {
        vec_clear(&told);
        find_told(s, ids, n, waiting, &told);
        if (tell_some(s, &told))
            break;
    }
    vec_done(&told);
}

void data_tell(struct server *s, uint32_t *ids, size_t n)
{
    tell(s, ids, n, false);
}

static bool ends_run(const struct server *s, uint32_t noderole, uint32_t task)
{
    struct noderole_view v;
    if (!anneal_noderole(s->engine, noderole, &v))
        return false;
    for (uint32_t id = v.first_task; id < v.first_task + v.n_tasks; id++) {
        struct task_view t;
        if (id != task && anneal_task(s->engine, id, &t) &&
            !task_state_passed((enum task_state)t.state))
            return false;
    }
    return true;
}

void data_completes(struct server *s, uint32_t noderole, uint32_t task)
{
    VEC(uint32_t) ids = {0};
    uint32_t n;
    if (!data_wanted(s, data_everything) || !ends_run(s, noderole, task))
        return;
    const uint32_t *children = anneal_children(s->engine, noderole, &n);
    for (uint32_t i = 0; i < n; i++) {
        struct noderole_view v;
        if (anneal_noderole(s->engine, children[i], &v) && waits_for_others(&v) &&
            anneal_opens(s->engine, children[i], noderole) &&
            data_lens_of(s, children[i])->lens.paths.n > 0)
            vec_push(&ids, children[i]);
    }
    if (ids.n > 0)
        tell(s, ids.at, ids.n, true);
    vec_done(&ids);
}

static void tell_touched(struct server *s, struct data_touched *t)
{
    if (t->ids.n > 0)
        data_tell(s, t->ids.at, t->ids.n);
}

void data_changed(struct server *s, uint32_t noderole, struct sight_paths paths,
                  enum data_layer layer)
{
    SCOPED(data_touched) t = {.server = s};
    uint32_t outer = s->data->cause; /* hooks that run meanwhile have causes of their own */
    bool returned = s->data->returned;
    data_touched_by(&t, noderole, paths, layer != DATA_WALL);
    s->data->cause = noderole;
    s->data->returned = layer != DATA_USER;
    tell_touched(s, &t);
    s->data->cause = outer;
    s->data->returned = returned;
}

void data_shared_changed(struct server *s, uint32_t deployment, struct str role,
                         struct sight_paths paths)
{
    SCOPED(data_touched) t = {.server = s};
    uintptr_t number;
    if (strmap_get(&s->inv.role_by_name, role, &number))
        data_touched_shared(&t, deployment, (uint32_t)number, paths);
    tell_touched(s, &t);
}

void data_moved(struct server *s, uint32_t noderole)
{
    if (s->data->shared.live > 0) /* only data of deployment roles depend on where one is */
        data_changed(s, noderole, data_everything, DATA_USER);
}

void data_node_changed(struct server *s, uint32_t node)
{
    SCOPED(data_touched) t = {.server = s};
    if (!data_wanted(s, (struct sight_paths){&(struct sight_path){&(struct str){"node", 4}, 1}, 1}))
        return;
    for (uint32_t id = anneal_node_first_noderole(s->engine, node); id;
         id = anneal_node_next_noderole(s->engine, id))
        if (data_lens_of(s, id)->lens.sees_node)
            data_touched_add(&t, id);
    tell_touched(s, &t);
}

int data_user_inputs(struct server *s, uint32_t noderole, const struct value *user,
                     uint64_t *ret_digest, struct err *e)
{
    SCOPED(data_look) l;
    data_look_begin(&l, s);
    l.user_of = noderole;
    l.user = user;
    l.cache = NULL; /* it must not learn what is not so yet */
    return data_look_inputs(&l, noderole, ret_digest, e);
}
