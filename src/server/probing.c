/* probing.c - probes out to workers, and what they saw in to the engine
 *
 * When a node is due is pulse.c's.  Here it is decided whether it is asked at all, by whom and for
 * what, and whether an answer is news:
 *
 *   not asked   nodes whose machine is not there yet, or is being taken away; nodes that are the
 *               worker's own machine, which are there when a worker is
 *   who         which machine it is, and in which boot, is asked of all that are not simply alive,
 *               after every silence, after a failed use, and once after a start of ours
 *   news        another state, another machine, another boot, the end of a silence; of silences as
 *               many as the engine needs to count, and the one that is long enough
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "server/probing.h"

#include "base/log.h"
#include "server/clusters.h"
#include "server/data_i.h"

enum {
    BATCH = 64,        /* nodes in a message */
    FLYING_MOST = 512, /* probes under way, for each worker */
    PROBE_TIMEOUT_MS = 5000,
};

static bool is_on(const struct server *s)
{
    return s->pulse != NULL;
}

void probing_load(struct server *s)
{
    uint32_t end = anneal_node_end(s->engine);
    uint64_t now = server_now(s);
    pulse_free(s->pulse);
    s->pulse = s->opts->probe_interval ? pulse_new(s->opts->probe_interval, now) : NULL;
    s->probed_nodes = end;
    for (uint32_t id = 1; is_on(s) && id < end; id++)
        pulse_add(s->pulse, id, now + pulse_spread(s->pulse, id, end));
}

/* ---- who is asked ---- */

/* Does this task stand for a machine that is not there: one that is still to be made (which is what
 * is taken back if it fails), or that is being taken away?  What a machine needs done on itself
 * waits for us to see it. */
static bool unsettles(const struct server *s, uint32_t task, bool absent)
{
    struct task_view t;
    if (!anneal_task(s->engine, task, &t) || t.passive)
        return false;
    if (!t.undone && taskmsg_jig_on_node(str_of(s->inv.defs.at[t.def].type)))
        return false;
    if (absent)
        return t.state == TASK_RUNNING || t.state == TASK_WAITING || t.state == TASK_DONE;
    return !task_state_passed(t.state);
}

/* Only of a node that nobody has seen: once it was there, its machine was. */
static bool machine_is_settled(const struct server *s, uint32_t node, enum alive_state alive)
{
    for (uint32_t r = anneal_node_first_noderole(s->engine, node); r;
         r = anneal_node_next_noderole(s->engine, r)) {
        struct noderole_view v;
        if (!cluster_is_machine(str_of(view_role_name(s, r))) ||
            !anneal_noderole(s->engine, r, &v) ||
            (alive != ALIVE_UNKNOWN && v.target != TARGET_ABSENT))
            continue;
        for (uint32_t t = v.first_task; t < v.first_task + v.n_tasks; t++)
            if (unsettles(s, t, v.target == TARGET_ABSENT))
                return false;
    }
    return true;
}

static bool asks_who(const struct server *s, uint32_t node, const struct node_view *v)
{
    return v->alive != ALIVE_ALIVE || v->silent_ms || v->away_until_ms ||
           pulse_wants_who(s->pulse, node);
}

/* ---- news ---- */

static const struct caller prober = {.name = "probe", .tenant = 1};

static void seen(struct server *s, uint32_t node, struct str machine, struct str boot)
{
    SCOPED_ARENA(mem);
    struct server_call c = {.mem = &mem, .who = &prober};
    const struct value *before = hook_watched(s, HOOK_ON_NODE_CHANGE) ? view_node(s, &mem, node)
                                                                      : NULL;
    struct value *report = value_map(&mem);
    struct err e;
    if (machine.n)
        value_set(&mem, report, "machine_id", value_str(&mem, machine));
    if (boot.n)
        value_set(&mem, report, "boot_id", value_str(&mem, boot));
    if (node_seen(s, &c, node, value_as_text(value_get(report, "machine_id"), NULL),
                  value_as_text(value_get(report, "boot_id"), NULL), &e) < 0) {
        log_err(LOG_WARN, "probe.refused", &e);
        return;
    }
    if (report->n)
        node_body_refresh(s, &c, node, report);
    if (before)
        hook_node(s, HOOK_ON_NODE_CHANGE, node, before, view_node(s, &mem, node));
}

static void silent(struct server *s, uint32_t node)
{
    SCOPED_ARENA(mem);
    struct server_call c = {.mem = &mem, .who = &prober};
    struct commit_note note = server_note(&c, NULL);
    struct event ev = {.kind = EVENT_NODE_SILENT, .id = node};
    const struct value *before = hook_watched(s, HOOK_ON_NODE_CHANGE) ? view_node(s, &mem, node)
                                                                      : NULL;
    struct err e;
    if (server_apply(s, &ev, &note, NULL, &e) < 0)
        log_err(LOG_WARN, "probe.refused", &e);
    else if (before)
        hook_node(s, HOOK_ON_NODE_CHANGE, node, before, view_node(s, &mem, node));
}

static bool is_news(const struct node_view *v, const struct probe_answer *a)
{
    SCOPED_ARENA(mem);
    uint64_t machine = node_id_digest(arena_strndup(&mem, a->machine_id.s, a->machine_id.n));
    uint64_t boot = node_id_digest(arena_strndup(&mem, a->boot_id.s, a->boot_id.n));
    bool other = (machine && machine != v->machine) || (boot && boot != v->boot);
    if (v->alive == ALIVE_AWAY) /* it comes back when its task says so */
        return other;
    return other || v->alive != ALIVE_ALIVE || v->silent_ms || v->away_until_ms;
}

/* The engine counts silences up to what it needs, and then wants one that is late enough. */
static bool silence_counts(const struct server *s, const struct node_view *v)
{
    struct engine_settings by;
    (void)anneal_settings(s->engine, &by);
    if (v->alive != ALIVE_ALIVE)
        return false;
    if (!v->silent_ms || v->probes + 1 < by.probe_count)
        return true;
    return server_now(s) - v->silent_ms >= by.dead_after_ms && !anneal_suspect(s->engine);
}

/* ---- out ---- */

struct batch_item {
    struct worker_info *to;
    struct probe_ask ask;
};
struct batch {
    struct arena mem; /* of the texts: what is seen meanwhile may move those of the server */
    VEC(struct batch_item) items;
};

static void batch_send(struct server *s, struct batch *b)
{
    for (size_t i = 0; i < b->items.n; i++) {
        struct worker_info *to = b->items.at[i].to;
        struct probe_ask asks[BATCH];
        uint32_t n = 0;
        for (size_t k = i; to && k < b->items.n && n < BATCH; k++)
            if (b->items.at[k].to == to) {
                asks[n++] = b->items.at[k].ask;
                b->items.at[k].to = NULL;
            }
        if (n == 0)
            continue;
        workers_send(to, &(struct taskmsg){.kind = TASKMSG_PROBE,
                                           .timeout_ms = PROBE_TIMEOUT_MS,
                                           .probes = asks,
                                           .n_probes = n});
        i--; /* there may be more for the same one */
    }
    if (b->items.n)
        workers_flush(s);
}

/* A node that is the worker's own machine is there when a worker is.  Which machine that is depends
 * on the worker, so it is not asked, and that it is dead is a person's word alone. */
static void look_here(struct server *s, uint32_t node, const struct node_view *v)
{
    if (v->alive != ALIVE_UNKNOWN)
        return;
    pulse_seen(s->pulse, node, "worker", server_now(s));
    seen(s, node, (struct str){0}, (struct str){0});
}

static void look(struct server *s, uint32_t node, struct batch *b)
{
    uint64_t now = server_now(s);
    struct node_view v;
    if (!anneal_node(s->engine, node, &v) || v.gone || s->inv.nodes.at[node].gone) {
        pulse_drop(s->pulse, node);
        return;
    }
    const struct data_node *n = data_node_get(s, node);
    struct pulse_look was = {0};
    (void)pulse_look(s->pulse, node, &was);
    struct worker_info *w = workers_prober(s, node, was.tries);
    bool settled = machine_is_settled(s, node, (enum alive_state)v.alive);
    if (!w || !n->by_ssh || !settled) {
        bool anxious = v.alive != ALIVE_ALIVE; /* of no one: to look again costs next to nothing */
        pulse_later(s->pulse, node, now + pulse_pause(s->pulse, ALIVE_ALIVE, anxious, 0));
        if (w && settled)
            look_here(s, node, &v);
        return;
    }
    bool who = asks_who(s, node, &v);
    struct batch_item *x = vec_add(&b->items);
    *x = (struct batch_item){
        .to = w,
        .ask = {.node = str_of(arena_strdup(&b->mem, s->inv.nodes.at[node].name)),
                .access = {arena_strndup(&b->mem, n->access.s, n->access.n), n->access.n},
                .node_id = node,
                .access_rev = dispatch_access_rev(s, node),
                .number = pulse_asked(s->pulse, node, who, now),
                .who = who}};
}

void probing_beat(struct server *s)
{
    struct batch b = {0};
    struct err e;
    uint32_t node, most = FLYING_MOST * (uint32_t)workers_present(s);
    if (!is_on(s))
        return;
    arena_init(&b.mem);
    pulse_turn(s->pulse, server_now(s));
    for (; s->probed_nodes < anneal_node_end(s->engine); s->probed_nodes++)
        pulse_add(s->pulse, s->probed_nodes, 0);
    while (server_writable(s, &e) >= 0 && pulse_flying(s->pulse) < most &&
           (node = pulse_next(s->pulse)))
        look(s, node, &b);
    batch_send(s, &b);
    vec_done(&b.items);
    arena_done(&b.mem);
}

/* ---- in ---- */

static void answered(struct worker_info *w, uint32_t node, const struct probe_answer *a)
{
    struct server *s = w->server;
    uint64_t now = server_now(s);
    struct node_view v;
    struct pulse_look l = {0};
    if (!pulse_answered(s->pulse, node, a, now) || !anneal_node(s->engine, node, &v))
        return;
    (void)pulse_look(s->pulse, node, &l);
    if (a->end == PROBE_ANSWERS) {
        if (l.who) /* it has a connection there now */
            workers_reached(s, node, w);
        if (is_news(&v, a) && l.who)
            seen(s, node, a->machine_id, a->boot_id);
        else if (is_news(&v, a)) /* it became that while the probe was under way */
            pulse_hurry(s->pulse, node);
    } else if (a->end == PROBE_SILENT && silence_counts(s, &v)) {
        silent(s, node);
    }
    uint8_t was = v.alive;
    (void)anneal_node(s->engine, node, &v);
    if (v.alive != was)
        pulse_turned(s->pulse, node);
    (void)pulse_look(s->pulse, node, &l);
    pulse_later(s->pulse, node,
                now + pulse_pause(s->pulse, (enum alive_state)v.alive,
                                  v.silent_ms != 0 || l.tries > 0, l.vain));
}

bool probing_answers(struct worker_info *w, const struct taskmsg *m)
{
    struct server *s = w->server;
    struct err e;
    if (!is_on(s))
        return true;
    if (server_writable(s, &e) < 0)
        return false;
    SCOPED_ARENA(mem);
    for (uint32_t i = 0; i < m->n_answers; i++) {
        const struct probe_answer *a = &m->answers[i];
        uint32_t node = inventory_node_find(&s->inv, arena_strndup(&mem, a->node.s, a->node.n));
        if (a->node_id && a->node_id != node)
            continue; /* of one that had this name before */
        if (node && a->end == PROBE_MISSED)
            probing_hurry(s, node);
        else if (node)
            answered(w, node, a);
    }
    return true;
}

/* ---- use ---- */

void probing_used(struct server *s, uint32_t task, const struct taskmsg *result)
{
    struct task_view t;
    struct node_view v;
    bool ran = result->exit_code >= 0 &&
               (result->outcome == OUTCOME_OK || result->outcome == OUTCOME_FAILED);
    if (!is_on(s) || !ran || !anneal_task(s->engine, task, &t) || !t.node ||
        !anneal_node(s->engine, t.node, &v) ||
        !taskmsg_jig_on_node(str_of(s->inv.defs.at[t.def].type)) ||
        !data_node_get(s, t.node)->by_ssh)
        return;
    if (asks_who(s, t.node, &v)) {
        pulse_hurry(s->pulse, t.node);
        return;
    }
    pulse_seen(s->pulse, t.node, "task", server_now(s));
    pulse_later(s->pulse, t.node, server_now(s) + pulse_pause(s->pulse, ALIVE_ALIVE, false, 0));
}

void probing_told(struct server *s, uint32_t node, bool alive)
{
    if (!is_on(s))
        return;
    if (alive)
        pulse_seen(s->pulse, node, "report", server_now(s));
    else
        pulse_put_off(s->pulse, node, server_now(s) + pulse_longest(s->pulse));
}

void probing_hurry(struct server *s, uint32_t node)
{
    if (is_on(s))
        pulse_hurry(s->pulse, node);
}
