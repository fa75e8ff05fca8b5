/* hook_run.c - hooks of transitions: collected, run when all has settled, done in the open group
 *
 * One hook is evaluated against what memory shows and then done whole, before the next one is
 * evaluated: data of noderoles through data.h, its role's store, runs at the end of the round.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <time.h>

#include "base/json.h"
#include "base/log.h"
#include "server/hooks_i.h"

enum { TOLD_MOST = 20 }; /* failures journalled in one settling; all are counted and logged */

static uint64_t now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

static void store_row(void *arg, enum row_verb verb, const struct row_role_store *row)
{
    struct server *s = arg;
    commit_row(s->commit, ROWS_ROLE_STORE, verb, row);
}

struct hooks *hooks_new(struct server *s)
{
    struct hooks *h = xcalloc(1, sizeof *h);
    h->stores = hook_stores_new(store_row, s);
    h->slow_us = HOOK_SLOW_MS * 1000;
    arena_init(&h->trial.mem);
    return h;
}

static void gone_clear(struct hooks *h)
{
    for (size_t i = 0; i < h->gone.n; i++) {
        free(h->gone.at[i].user);
        free(h->gone.at[i].system);
        free(h->gone.at[i].wall);
    }
    vec_clear(&h->gone);
}

void hooks_free(struct hooks *h)
{
    if (!h)
        return;
    gone_clear(h);
    vec_done(&h->gone);
    hook_index_done(&h->index);
    hook_rounds_done(&h->rounds);
    hook_stores_free(h->stores);
    vec_done(&h->trial.wants);
    vec_done(&h->trial.runs);
    u64map_done(&h->trial.systems);
    arena_done(&h->trial.mem);
    strmap_done(&h->slow);
    free(h);
}

struct hook_figures hook_figures(const struct server *s)
{
    return s->hooks->figures;
}

bool hook_slow_at(const struct server *s, size_t i, const char **ret_name, uint64_t *ret_n)
{
    if (i >= s->hooks->slow.n)
        return false;
    *ret_name = s->hooks->slow.at[i].key;
    *ret_n = s->hooks->slow.at[i].val;
    return true;
}

struct hook_stores *hook_stores_of(struct server *s)
{
    return s->hooks->stores;
}

const struct value *hook_store_of(struct server *s, struct str role, uint32_t *ret_rev)
{
    uint32_t number = desire_role_find(s->desire, role);
    *ret_rev = number ? hook_store_rev(s->hooks->stores, number) : 0;
    return number ? hook_store_get(s->hooks->stores, number) : NULL;
}

/* ---- saying what went wrong ---- */

const char *hook_node_name(struct server *s, uint32_t node)
{
    const struct hook_guest *guest = s->hooks->guest;
    return guest && guest->node == node ? guest->name : view_node_name(s, node);
}

const char *hook_subject_name(struct server *s, const struct hook_subject *u, struct arena *mem)
{
    const char *node = hook_node_name(s, u->node);
    return arena_printf(mem, "%s@%s", u->role->name.s, node ? node : "");
}

static void journal_failure(struct server *s, uint32_t noderole, const char *hook,
                            const char *object, const struct err *why)
{
    SCOPED_BUF(more);
    struct jsonw w;
    struct event ev = {.kind = EVENT_HOOK, .id = noderole};
    struct commit_note note = server_note(NULL, NULL);
    if (s->hooks->told++ >= TOLD_MOST)
        return;
    jsonw_init(&w, &more);
    jsonw_map(&w);
    jsonw_key(&w, "hook");
    jsonw_text(&w, hook);
    jsonw_key(&w, "object");
    jsonw_text(&w, object);
    jsonw_key(&w, "at");
    jsonw_text(&w, why->at);
    jsonw_key(&w, "text");
    jsonw_text(&w, why->text);
    jsonw_end(&w);
    note.more = buf_str(&more);
    commit_inventory(s->commit, &ev, &note);
}

void hook_failed(struct server *s, enum hook_event event, const struct hook_subject *u,
                 const struct err *why)
{
    SCOPED_ARENA(mem);
    const char *name = hook_subject_name(s, u, &mem);
    s->hooks->figures.failures++;
    log_line(LOG_WARN, "hook.failed", LOGT("hook", hook_event_name(event)), LOGT("object", name),
             LOGI("noderole", u->noderole), LOGT("at", why->at), LOGT("text", why->text));
    journal_failure(s, u->noderole, hook_event_name(event), name, why);
}

/* Past the limit of time it still counts: it is named, so that somebody looks at it. */
static void time_check(struct server *s, enum hook_event event, const struct hook_subject *u,
                       uint64_t us)
{
    SCOPED_ARENA(mem);
    if (us <= s->hooks->slow_us)
        return;
    const char *name = arena_printf(&mem, "%s %s", u->role->name.s, hook_event_name(event));
    uintptr_t n = 0;
    (void)strmap_get(&s->hooks->slow, str_of(name), &n);
    strmap_put(&s->hooks->slow, str_of(name), n + 1);
    s->hooks->figures.slow++;
    log_line(LOG_WARN, "hook.slow", LOGT("hook", hook_event_name(event)),
             LOGT("role", u->role->name.s), LOGT("object", hook_subject_name(s, u, &mem)),
             LOGI("ms", us / 1000));
}

/* ---- one hook ---- */

int hook_try(struct server *s, const struct hook *h, const struct hook_subject *u,
             struct arena *mem, struct hook_outcome *ret, struct err *e)
{
    struct hook_scope scope;
    uint64_t began = now_us();
    int rc = hook_scope_make(s, h, u, mem, &scope, e);
    if (rc >= 0)
        rc = hook_eval(h, &scope.scope, mem, ret, e);
    s->hooks->figures.runs++;
    time_check(s, hook_event_of(h), u, now_us() - began);
    return rc;
}

uint32_t hook_target(struct server *s, const struct hook_subject *u, struct str role,
                     struct str node)
{
    uint32_t on = u->node;
    if (!role.n && !node.n)
        return u->noderole;
    if (node.n) {
        uintptr_t id;
        if (!strmap_get(&s->inv.node_by_name, node, &id))
            return 0;
        on = (uint32_t)id;
    }
    for (uint32_t id = anneal_node_first_noderole(s->engine, on); id;
         id = anneal_node_next_noderole(s->engine, id)) {
        const struct catalog_role *r = hook_role_of(s, id);
        if (r && str_eq(r->name, role))
            return id;
    }
    return 0;
}

/* ---- what came out ---- */

static bool is_store(const struct hook_action *a)
{
    return a->verb == HOOK_STORE || a->verb == HOOK_UNSTORE;
}

int hook_store_actions(struct server *s, const struct hook_subject *u,
                       const struct hook_outcome *out, bool only_check, struct err *e)
{
    uint32_t n = 0, role = desire_role(s->desire, u->role->name);
    for (uint32_t i = 0; i < out->n; i++)
        n += is_store(&out->at[i]);
    if (n == 0)
        return 0;
    struct hook_store_edit *edits = xcalloc(n, sizeof *edits);
    n = 0;
    for (uint32_t i = 0; i < out->n; i++)
        if (is_store(&out->at[i]))
            edits[n++] = (struct hook_store_edit){out->at[i].path, out->at[i].v};
    int rc = (only_check ? hook_store_check : hook_store_edit)(s->hooks->stores, role, edits, n, e);
    free(edits);
    return rc;
}

typedef VEC(struct data_edit) edits_v;

/* Would system data take these edits? */
static int edits_fit(struct server *s, uint32_t noderole, const edits_v *edits, struct err *e)
{
    SCOPED_ARENA(mem);
    SCOPED_BUF(text);
    struct value *doc = value_copy(&mem, view_json(&mem, s->inv.noderoles.at[noderole].system));
    int rc = 0;
    for (size_t i = 0; rc >= 0 && i < edits->n; i++)
        rc = hook_tree_edit(&mem, doc, edits->at[i].path,
                            edits->at[i].v ? value_copy(&mem, edits->at[i].v) : NULL, e);
    json_write(&text, doc, 0);
    if (rc >= 0 && text.len > DESIRE_DOC_BYTES)
        rc = err_set(e, ERR_LIMIT, "system data would be %zu bytes; at most %d are kept", text.len,
                     DESIRE_DOC_BYTES);
    return rc;
}

/* Data of noderoles, those that follow each other on one noderole at once. */
static int data_actions(struct server *s, const struct hook_subject *u,
                        const struct hook_outcome *out, bool only_check, struct err *e)
{
    edits_v edits = {0};
    uint32_t of = 0;
    int rc = 0;
    for (uint32_t i = 0; rc >= 0 && i <= out->n; i++) {
        const struct hook_action *a = i < out->n ? &out->at[i] : NULL;
        bool data = a && (a->verb == HOOK_SET || a->verb == HOOK_UNSET);
        uint32_t target = data ? hook_target(s, u, a->role, a->node) : 0;
        if (a && !target)
            continue; /* nothing for data, or not bound there */
        if (target != of && edits.n) {
            rc = only_check ? edits_fit(s, of, &edits, e)
                            : data_system_edit(s, of, edits.at, (uint32_t)edits.n, e);
            vec_clear(&edits);
        }
        of = target;
        if (target)
            vec_push(&edits, ((struct data_edit){a->path, a->v}));
    }
    vec_done(&edits);
    return rc < 0 ? rc : 0;
}

/* All of it or nothing: everything is looked at before anything is done. */
static int outcome_do(struct server *s, const struct hook_subject *u,
                      const struct hook_outcome *out, struct err *e)
{
    int rc = hook_store_actions(s, u, out, true, e);
    if (rc >= 0)
        rc = data_actions(s, u, out, true, e);
    if (rc >= 0)
        rc = data_actions(s, u, out, false, e);
    if (rc >= 0)
        rc = hook_store_actions(s, u, out, false, e);
    for (uint32_t i = 0; rc >= 0 && i < out->n; i++) {
        const struct hook_action *a = &out->at[i];
        uint32_t id = a->verb == HOOK_ENQUEUE ? hook_target(s, u, a->role, a->node) : 0;
        if (id)
            hook_rounds_enqueue(&s->hooks->rounds, id);
    }
    return rc;
}

void hook_perform(struct server *s, const struct hook *h, const struct hook_subject *u)
{
    SCOPED_ARENA(mem);
    struct hook_outcome out = {0};
    struct err e;
    err_clear(&e);
    int rc = hook_try(s, h, u, &mem, &out, &e);
    if (rc >= 0)
        rc = outcome_do(s, u, &out, &e);
    if (rc < 0) {
        if (!e.at[0])
            hook_where(h, e.at, sizeof e.at);
        hook_failed(s, hook_event_of(h), u, &e);
    }
}

/* ---- turns ---- */

static uint32_t mask_of(void *ctx, uint32_t noderole)
{
    return hook_events_of(ctx, noderole);
}

static char *text_keep(const char *text)
{
    return text ? xstrdup(text) : NULL;
}

void hook_collect(struct server *s, const struct event *ev, const struct effects *fx)
{
    uint32_t any = hook_index_of(s)->any;
    hook_rounds_collect(&s->hooks->rounds, s->engine, ev, fx, any, mask_of, s);
    for (size_t i = 0; any >> HOOK_ON_REMOVED & 1 && i < fx->changes.n; i++) {
        const struct change *ch = &fx->changes.at[i];
        if (ch->table != ROWS_NODEROLE || ch->to != NODEROLE_REMOVED ||
            ch->id >= s->inv.noderoles.n || !(hook_events_of(s, ch->id) >> HOOK_ON_REMOVED & 1))
            continue;
        const struct inv_noderole *n = &s->inv.noderoles.at[ch->id];
        vec_push(&s->hooks->gone, ((struct hook_gone){.noderole = ch->id,
                                                      .node = n->node,
                                                      .deployment = n->deployment,
                                                      .role = n->role,
                                                      .user = text_keep(n->user),
                                                      .system = text_keep(n->system),
                                                      .wall = text_keep(n->wall)}));
    }
}

static void perform_all(struct server *s, enum hook_event event, const struct hook_subject *u)
{
    const struct catalog_hooks *both[] = {catalog_role_shared_hooks(s->catalog, u->role),
                                          u->role->hooks};
    for (size_t i = 0; i < sizeof both / sizeof *both; i++)
        if (both[i] && both[i]->at[event])
            hook_perform(s, both[i]->at[event], u);
}

static void removed_turn(struct server *s, const struct hook_turn *t)
{
    SCOPED_ARENA(mem);
    for (size_t i = 0; i < s->hooks->gone.n; i++) {
        const struct hook_gone *g = &s->hooks->gone.at[i];
        const struct catalog_role *role = hook_role_of(s, g->noderole);
        if (g->noderole != t->id || !role)
            continue;
        struct hook_subject u = {
            .role = role, .noderole = g->noderole, .node = g->node, .deployment = g->deployment};
        u.data = hook_own_data(s, role, g->deployment, g->wall, g->system, g->user, &mem);
        perform_all(s, HOOK_ON_REMOVED, &u);
        return;
    }
}

static void node_turn(struct server *s, const struct hook_turn *t)
{
    SCOPED_ARENA(mem);
    if (t->id >= s->inv.nodes.n || !s->inv.nodes.at[t->id].name || s->inv.nodes.at[t->id].gone)
        return;
    const struct value *after = view_node(s, &mem, t->id);
    struct value *before = value_copy(&mem, after);
    value_put_text(&mem, before, "alive", alive_state_name((enum alive_state)t->from));
    hook_node(s, HOOK_ON_NODE_CHANGE, t->id, before, after);
}

static void turn(void *ctx, const struct hook_turn *t)
{
    struct server *s = ctx;
    enum hook_event event = (enum hook_event)t->event;
    struct noderole_view v;
    if (event == HOOK_ON_NODE_CHANGE) {
        node_turn(s, t);
        return;
    }
    if (event == HOOK_ON_REMOVED) {
        removed_turn(s, t);
        return;
    }
    const struct catalog_role *role = hook_role_of(s, t->id);
    if (!role || !(role->hook_events >> event & 1) || !anneal_noderole(s->engine, t->id, &v))
        return;
    struct hook_subject u = {.role = role,
                             .noderole = t->id,
                             .node = v.node,
                             .deployment = s->inv.noderoles.at[t->id].deployment};
    perform_all(s, event, &u);
}

/* A noderole that belongs to an open operation stays there; the others run without a request. */
static uint32_t operation_for(const struct server *s, uint32_t noderole)
{
    struct noderole_view v;
    struct operation_view op;
    if (anneal_noderole(s->engine, noderole, &v) && anneal_operation(s->engine, v.operation, &op) &&
        op.state == OPERATION_RUNNING)
        return v.operation;
    return OPERATION_STANDING;
}

/* One that failed waits for its retry: a hook must not make it fail for ever.  One that goes does
 * not come back. */
static void rerun(void *ctx, const uint32_t *ids, uint32_t n)
{
    struct server *s = ctx;
    uint32_t *ops = xcalloc(n, sizeof *ops), *some = xcalloc(n, sizeof *some);
    for (uint32_t i = 0; i < n; i++)
        ops[i] = operation_for(s, ids[i]);
    for (uint32_t i = 0; i < n; i++) {
        struct event ev = {.kind = EVENT_RERUN, .op = ops[i], .ids = some};
        struct commit_note note = server_note(NULL, NULL);
        struct noderole_view v;
        struct err e;
        if (!ops[i])
            continue; /* went with one before it */
        for (uint32_t k = i; k < n; k++)
            if (ops[k] == ev.op) {
                ops[k] = 0;
                if (anneal_noderole(s->engine, ids[k], &v) && v.state != NODEROLE_ERROR &&
                    v.target != TARGET_ABSENT)
                    some[ev.n_ids++] = ids[k];
            }
        if (ev.n_ids && server_apply(s, &ev, &note, NULL, &e) < 0)
            log_err(LOG_WARN, "hook.rerun", &e);
    }
    free(ops);
    free(some);
}

static void ring(void *ctx, const struct hook_turn *turns, uint32_t n)
{
    struct server *s = ctx;
    SCOPED_ARENA(mem);
    SCOPED_BUF(names);
    struct err why;
    for (uint32_t i = 0; i < n; i++)
        buf_printf(
            &names, "%s%s of %s", i ? ", " : "", hook_event_name((enum hook_event)turns[i].event),
            turns[i].event == HOOK_ON_NODE_CHANGE ? view_node_name(s, turns[i].id)
                                                  : view_noderole_name(s, &mem, turns[i].id));
    err_set(&why, ERR_CYCLE, "hooks follow from hooks for more than %d rounds: %s", HOOK_ROUNDS,
            names.data);
    s->hooks->figures.rings++;
    log_line(LOG_ERROR, "hook.ring", LOGT("hooks", names.data), LOGI("rounds", HOOK_ROUNDS));
    journal_failure(s, turns[0].event == HOOK_ON_NODE_CHANGE ? 0 : turns[0].id,
                    hook_event_name((enum hook_event)turns[0].event),
                    turns[0].event == HOOK_ON_NODE_CHANGE
                        ? view_node_name(s, turns[0].id)
                        : view_noderole_name(s, &mem, turns[0].id),
                    &why);
}

void hook_settle(struct server *s)
{
    struct hooks *h = s->hooks;
    struct hook_round_ops ops = {.ctx = s, .turn = turn, .rerun = rerun, .ring = ring};
    if (h->rounds.running || (h->rounds.due.n == 0 && h->rounds.runs.n == 0))
        return;
    h->told = 0;
    commit_join(s->commit, true);
    hook_rounds_run(&h->rounds, s->engine, &ops);
    commit_join(s->commit, false);
    gone_clear(h);
    hook_stores_flush(h->stores);
    server_touch(s);
}
