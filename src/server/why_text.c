/* why_text.c - reasons of the engine in words, each with the command that acts on it
 *
 * The engine says rule, object and number; here they become a sentence with names, and a remedy
 * that can be typed as it stands.  A rule of the engine without a sentence here does not compile.
 * How grave a reason is decides which of them is called the cause: a failure before a switch, a
 * switch before a queue, a queue before mere time.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <string.h>

#include "base/text.h"
#include "server/probing.h"
#include "server/rollouts.h"
#include "server/tenants.h"

enum gravity { GRAVITY_LINK, GRAVITY_TIME, GRAVITY_CHANGE, GRAVITY_PERSON };

struct told { /* what becomes of one reason */
    enum gravity gravity;
    struct why_head about;
    const char *text, *remedy;
    const char *see; /* a command that shows more */
};

/* ---- pieces ---- */

static const char *object_kind(enum row_table t)
{
    switch ((int)t) {
    case ROWS_TASK: return "task";
    case ROWS_NODE: return "node";
    case ROWS_NODEROLE: return "noderole";
    case ROWS_OPERATION: return "operation";
    case ROWS_POOL: return "pool";
    case ROWS_GROUP: return "group";
    case ROWS_JIG: return "jig";
    default: return NULL;
    }
}

static const char *or_unknown(const char *name)
{
    return name ? name : "?";
}

static struct why_head object_of(const struct why_answer *w, enum row_table t, uint32_t id)
{
    const struct server *s = w->server;
    struct why_head h = {.object = object_kind(t), .id = id};
    switch ((int)t) {
    case ROWS_TASK: h.name = view_task_name(s, id); break;
    case ROWS_NODE: h.name = view_node_name(s, id); break;
    case ROWS_NODEROLE: h.name = view_noderole_name(s, w->mem, id); break;
    case ROWS_OPERATION:
        h.name = id < s->inv.operations.n ? s->inv.operations.at[id].title : NULL;
        break;
    case ROWS_POOL: h.name = view_pool_name(s, id); break;
    case ROWS_GROUP: h.name = id - 1 < s->inv.groups.n ? s->inv.groups.at[id - 1] : NULL; break;
    case ROWS_JIG: h.name = view_jig_name(s, id); break;
    default: h.id = 0; break;
    }
    return h;
}

/* "task 30 (install of database@db1)" */
static const char *task_words(const struct why_answer *w, uint32_t id)
{
    struct task_view v = {0};
    (void)anneal_task(w->server->engine, id, &v);
    return arena_printf(w->mem, "task %u (%s of %s)", id, view_task_name(w->server, id),
                        view_noderole_name(w->server, w->mem, v.noderole));
}

/* What has nothing more to do: it ran, or it was left out, and then its definition says why. */
static const char *done_words(const struct why_answer *w, uint32_t id)
{
    const struct server *s = w->server;
    struct task_view v = {0};
    bool left_out = anneal_task(s->engine, id, &v) && v.rule == RULE_SKIP && v.def < s->inv.defs.n;
    const char *why = left_out ? s->inv.defs.at[v.def].type : NULL;
    return why ? arena_printf(w->mem, "%s was left out: %s", task_words(w, id), why)
               : arena_printf(w->mem, "%s has ended well", task_words(w, id));
}

static const char *operation_words(const struct why_answer *w, uint32_t id)
{
    const char *title = object_of(w, ROWS_OPERATION, id).name;
    return title && *title ? arena_printf(w->mem, "operation %u (%s)", id, title)
                           : arena_printf(w->mem, "operation %u", id);
}

/* "in 25s", "now" for an engine time. */
static const char *in_words(const struct why_answer *w, uint64_t engine_ms)
{
    char span[16];
    uint64_t now = server_now(w->server);
    if (engine_ms <= now)
        return "now";
    text_duration_show(engine_ms - now, span);
    return arena_printf(w->mem, "in %s", span);
}

static const char *command(const struct why_answer *w, const char *verb, uint32_t id)
{
    return arena_printf(w->mem, "anneal %s %u", verb, id);
}

/* One of a cluster of which some are enough is told with how many there are of it: in service, or,
 * where these are enough, complete, which one in service that runs is not. */
static const char *parent_words(const struct why_answer *w, uint32_t id)
{
    const struct server *s = w->server;
    const char *name = view_noderole_name(s, w->mem, id);
    struct noderole_view v = {0};
    struct quorum_view q;
    (void)anneal_noderole(s->engine, id, &v);
    const char *state = noderole_state_name(v.state);
    if (!anneal_quorum(s->engine, w->child, id, &q))
        return arena_printf(w->mem, "needs %s, which is %s", name, state);
    if (q.complete >= q.enough)
        return arena_printf(w->mem, "has enough of %s, and waits for %s, which is on its way (%s)",
                            view_role_name(s, id), name, state);
    if (q.serving >= q.enough || noderole_in_service(v.state, v.target))
        return arena_printf(w->mem,
                            "waits for %u of %u members of %s to be complete, %u %s: %s is %s",
                            q.enough, q.members, view_role_name(s, id), q.complete,
                            q.complete == 1 ? "is" : "are", name, state);
    return arena_printf(w->mem, "needs %u of %u members of %s in service, %u %s: %s is %s",
                        q.enough, q.members, view_role_name(s, id), q.serving,
                        q.serving == 1 ? "is" : "are", name, state);
}

/* ---- what became of the last attempt ---- */

struct last_words {
    struct arena *mem;
    const char *note;
    int64_t exit_code;
    bool found;
};

static int last_row(void *arg, enum row_table t, const void *row, struct err *e)
{
    struct last_words *l = arg;
    const struct row_attempt *r = row;
    (void)t;
    (void)e;
    l->found = r->outcome != ATTEMPT_OPEN;
    l->exit_code = r->exit_code;
    l->note = r->note.n ? arena_strndup(l->mem, r->note.s, r->note.n) : NULL;
    return 0;
}

/* ": exit 2, no such package" of an attempt, as far as the store knows it; "" otherwise. */
static const char *attempt_words(const struct why_answer *w, uint32_t task, uint64_t attempt)
{
    struct last_words l = {.mem = w->mem};
    if (attempt_history_one(w->server, task, (uint32_t)attempt, last_row, &l, NULL) < 0 || !l.found)
        return "";
    if (l.note && l.exit_code)
        return arena_printf(w->mem, ": exit %" PRId64 ", %s", l.exit_code, l.note);
    if (l.note)
        return arena_printf(w->mem, ": %s", l.note);
    return l.exit_code ? arena_printf(w->mem, ": exit %" PRId64, l.exit_code) : "";
}

/* What a failed attempt said of its test, as far as the store knows it. */
static const char *test_words(const struct why_answer *w, uint32_t task, uint64_t attempt)
{
    struct last_words l = {.mem = w->mem};
    if (attempt_history_one(w->server, task, (uint32_t)attempt, last_row, &l, NULL) < 0 ||
        !l.found || !l.note)
        return "";
    const char *said = strstr(l.note, " failed: "); /* the note names the test first */
    return arena_printf(w->mem, ": %s", said ? said + sizeof " failed: " - 1 : l.note);
}

/* Why it is not done yet, if it said so. */
static const char *waiting_words(const struct why_answer *w, uint32_t task, uint32_t attempt)
{
    struct last_words l = {.mem = w->mem};
    if (attempt_history_one(w->server, task, attempt, last_row, &l, NULL) < 0 || !l.note ||
        !l.note[0])
        return "";
    return arena_printf(w->mem, ": %s", l.note);
}

/* ---- rules about tasks ---- */

static void tell_failed(const struct why_answer *w, const struct why *y, struct told *t)
{
    struct task_view v = {0};
    (void)anneal_task(w->server->engine, y->id, &v);
    enum reason why = (enum reason)v.reason;
    bool unlogged = why == REASON_REPLACED || why == REASON_NODE_DEAD || why == REASON_LOST ||
                    v.attempt == 0;
    t->gravity = GRAVITY_PERSON;
    if (why == REASON_REPLACED)
        t->text = arena_printf(w->mem, "%s failed: another machine answers as node %s",
                               task_words(w, y->id), or_unknown(view_node_name(w->server, v.node)));
    else if (why == REASON_TEST_PRE)
        t->text = arena_printf(w->mem, "%s was not started: its test before the start failed%s",
                               task_words(w, y->id), test_words(w, y->id, v.attempt));
    else if (why == REASON_TEST_POST)
        t->text = arena_printf(w->mem, "%s failed: its test after the end failed%s",
                               task_words(w, y->id), test_words(w, y->id, v.attempt));
    else
        t->text = arena_printf(w->mem, "%s failed (%s)%s", task_words(w, y->id),
                               *reason_name(why) ? reason_name(why) : "exit",
                               attempt_words(w, y->id, v.attempt));
    t->remedy = remedy_of(w->server, w->mem, v.noderole);
    t->see = unlogged ? NULL : command(w, "task log", y->id);
}

static void tell_backoff(const struct why_answer *w, const struct why *y, struct told *t)
{
    struct task_view v = {0};
    (void)anneal_task(w->server->engine, y->id, &v);
    t->gravity = GRAVITY_TIME;
    t->text = arena_printf(w->mem, "%s failed %s and is tried again %s%s", task_words(w, y->id),
                           text_count(v.tries, "time").s, in_words(w, v.wake_ms),
                           attempt_words(w, y->id, v.attempt));
    t->remedy = command(w, "task poke", y->id);
}

/* Of a task that waits for its node or runs there: what a person can do, else `otherwise`. */
static const char *node_remedy(const struct why_answer *w, uint32_t node, const char *otherwise)
{
    return node && probing_untrusted(w->server, node) ? probing_remedy(w->server, w->mem, node)
                                                      : otherwise;
}

static void tell_waiting(const struct why_answer *w, const struct why *y, struct told *t)
{
    struct task_view v = {0};
    struct node_view n = {.available = 1};
    (void)anneal_task(w->server->engine, y->id, &v);
    (void)anneal_node(w->server->engine, v.node, &n);
    t->gravity = GRAVITY_TIME;
    /* While its node is unavailable the clock of a waiting task stands still. */
    t->text = arena_printf(w->mem, "%s answered \"not yet\" and is asked again %s%s",
                           task_words(w, y->id),
                           n.available ? in_words(w, v.wake_ms) : "when its node is available",
                           waiting_words(w, y->id, v.attempt));
    t->remedy = node_remedy(w, v.node, command(w, "task poke", y->id));
}

static void tell_running(const struct why_answer *w, const struct why *y, struct told *t)
{
    struct task_view v = {0};
    char since[16];
    uint64_t now = server_now(w->server);
    (void)anneal_task(w->server->engine, y->id, &v);
    text_duration_show(now > v.started_ms ? now - v.started_ms : 0, since);
    t->gravity = GRAVITY_TIME;
    const char *note = why_worker_words(w, y->id, v.attempt);
    if (!note)
        note = run_note_get(w->server, y->id, v.attempt);
    t->text = arena_printf(w->mem, "%s runs since %s, attempt %u%s%s", task_words(w, y->id), since,
                           v.attempt, note ? ": " : "", note ? note : "");
    t->remedy = node_remedy(w, v.node, arena_printf(w->mem, "anneal task log %u -f", y->id));
}

static void tell_busy(struct why_answer *w, const struct why *y, struct told *t)
{
    struct task_view v = {.node = y->id};
    bool by_task = y->table == ROWS_TASK && anneal_task(w->server->engine, y->id, &v);
    t->gravity = GRAVITY_TIME;
    t->text = arena_printf(w->mem, "node %s is busy%s%s",
                           or_unknown(view_node_name(w->server, v.node)), by_task ? " with " : "",
                           by_task ? task_words(w, y->id) : "");
    t->remedy = by_task ? arena_printf(w->mem, "anneal task log %u -f", y->id) : NULL;
}

/* ---- rules about nodes, pools, jigs and operations ---- */

static void tell_unavailable(const struct why_answer *w, const struct why *y, struct told *t)
{
    const struct server *s = w->server;
    const char *name = or_unknown(view_node_name(s, y->id));
    const struct value *body = view_json(
        w->mem, y->id < s->inv.nodes.n ? s->inv.nodes.at[y->id].body : NULL);
    const struct value *kept = value_get(body, "maintenance");
    const char *note = value_as_text(value_get(kept ? kept : body, "note"), NULL);
    t->gravity = GRAVITY_PERSON;
    if (kept) {
        t->text = arena_printf(w->mem, "node %s is in maintenance since %s, by %s%s%s", name,
                               value_as_text(value_get(kept, "since"), "?"),
                               value_as_text(value_get(kept, "by"), "?"), *note ? ": " : "", note);
        t->remedy = arena_printf(w->mem, "anneal node maintenance %s off", name);
        return;
    }
    t->text = arena_printf(w->mem, "node %s was made unavailable%s%s", name, note ? ": " : "",
                           note ? note : "");
    t->remedy = arena_printf(w->mem, "anneal node set %s --available", name);
}

static void tell_not_alive(const struct why_answer *w, const struct why *y, struct told *t)
{
    const char *name = or_unknown(view_node_name(w->server, y->id));
    struct node_view v = {0};
    (void)anneal_node(w->server->engine, y->id, &v);
    t->gravity = v.alive == ALIVE_AWAY ? GRAVITY_TIME : GRAVITY_PERSON;
    t->remedy = probing_remedy(w->server, w->mem, y->id);
    if (v.alive == ALIVE_DEAD)
        t->text = arena_printf(w->mem, "node %s is dead%s", name,
                               probing_words(w->server, w->mem, y->id));
    else if (v.alive == ALIVE_AWAY)
        t->text = arena_printf(w->mem, "node %s is away, as a task on it said it would be", name);
    else
        t->text = arena_printf(w->mem, "nobody has seen node %s alive yet%s", name,
                               probing_words(w->server, w->mem, y->id));
}

static void tell_pool(const struct why_answer *w, const struct why *y, struct told *t)
{
    const char *name = or_unknown(view_pool_name(w->server, y->id));
    const char *note = y->id < w->server->inv.pools.n ? w->server->inv.pools.at[y->id].note : NULL;
    struct pool_view v = {0};
    (void)anneal_pool(w->server->engine, y->id, &v);
    t->gravity = GRAVITY_CHANGE;
    if (y->rule == WHY_POOL_CLOSED) {
        t->gravity = GRAVITY_PERSON;
        t->text = arena_printf(w->mem, "pool %s is closed%s%s", name, note ? ": " : "",
                               note ? note : "");
        t->remedy = arena_printf(w->mem, "anneal pool set %s --open", name);
        return;
    }
    t->text = arena_printf(w->mem, "pool %s is full: %u taken and %u elsewhere, of %u", name,
                           v.taken, v.elsewhere, v.size);
    t->remedy = arena_printf(w->mem, "anneal pool set %s --size %u", name,
                             v.taken + v.elsewhere + 1);
}

static const char *all_places(const struct why_answer *w, uint64_t n)
{
    return n == 1 ? "the only place" : arena_printf(w->mem, "all %" PRIu64 " places", n);
}

static void tell_workers(const struct why_answer *w, const struct why *y, struct told *t)
{
    t->gravity = y->value ? GRAVITY_TIME : GRAVITY_PERSON;
    if (!y->value)
        t->text = "no worker has reported: nothing can run";
    else if (y->table == ROWS_JIG)
        t->text = arena_printf(w->mem, "%s of workers with jig %s %s taken",
                               all_places(w, y->value), or_unknown(view_jig_name(w->server, y->id)),
                               y->value == 1 ? "is" : "are");
    else
        t->text = arena_printf(w->mem, "%s of workers %s taken", all_places(w, y->value),
                               y->value == 1 ? "is" : "are");
    t->remedy = "anneal worker list";
}

static void tell_share(const struct why_answer *w, const struct why *y, struct told *t)
{
    t->gravity = GRAVITY_TIME;
    t->text = arena_printf(w->mem, "%s that tenant %s has of workers %s taken",
                           all_places(w, y->value), or_unknown(tenant_name(w->server, y->id)),
                           y->value == 1 ? "is" : "are");
    t->remedy = arena_printf(w->mem, "anneal tenant set %s --places N",
                             or_unknown(tenant_name(w->server, y->id)));
}

static void tell_operation(const struct why_answer *w, const struct why *y, struct told *t)
{
    struct operation_view v = {0};
    (void)anneal_operation(w->server->engine, y->id, &v);
    t->gravity = GRAVITY_PERSON;
    t->remedy = command(w, v.held ? "operation resume" : "operation retry", y->id);
    if (y->rule == WHY_STALLED)
        t->text = arena_printf(
            w->mem, "%s stalled: its tasks hold places in pools that others of them wait for",
            operation_words(w, y->id));
    else
        t->text = arena_printf(w->mem, "%s was cancelled%s", operation_words(w, y->id),
                               v.held ? " and is held" : "");
}

static void tell_tolerance(const struct why_answer *w, const struct why *y, struct told *t)
{
    struct group_view g = {0};
    t->gravity = GRAVITY_PERSON;
    if (y->table != ROWS_GROUP) {
        t->text = arena_printf(w->mem, "%s stopped: more failed than may",
                               operation_words(w, y->id));
        t->remedy = command(w, "operation retry", y->id);
        return;
    }
    (void)anneal_group(w->server->engine, y->id, &g);
    t->text = arena_printf(w->mem, "%u of group %s failed, %u may", g.failed,
                           or_unknown(t->about.name), g.may_fail);
}

static void tell_rollout(const struct why_answer *w, const struct why *y, struct told *t)
{
    t->gravity = GRAVITY_PERSON;
    t->text = arena_printf(w->mem, "the roll-out of %s in operation %" PRIu64 " %s",
                           or_unknown(t->about.name), y->value,
                           rollouts_stop_text(w->server, w->mem, y->id, (uint32_t)y->value));
    t->remedy = arena_printf(w->mem, "anneal operation resume %" PRIu64, y->value);
    t->see = arena_printf(w->mem, "anneal task list --operation %" PRIu64 " --state FAILED",
                          y->value);
}

/* Who goes waits for it; or it comes in place of what goes, and users wait too.  All of them can be
 * told not to. */
static void tell_leaving(const struct why_answer *w, const struct why *y, struct told *t)
{
    struct noderole_view v = {0}, asked = {0};
    (void)anneal_noderole(w->server->engine, y->id, &v);
    (void)anneal_noderole(w->server->engine, w->child, &asked);
    const char *name = view_noderole_name(w->server, w->mem, y->id);
    const char *state = noderole_state_name(v.state);
    if (y->rule == WHY_USED)
        t->text = arena_printf(w->mem, "goes when %s has let go of it, which is %s", name, state);
    else
        t->text = arena_printf(w->mem, "%s %s, which takes the place of what goes and is %s",
                               asked.target == TARGET_ABSENT ? "goes after" : "waits for", name,
                               state);
    t->remedy = arena_printf(w->mem, "anneal operation resume %" PRIu64 " --now", y->value);
}

static void tell(struct why_answer *w, const struct why *y, struct told *t)
{
    const struct server *s = w->server;
    const char *node = or_unknown(view_node_name(s, y->id));
    const char *jig = or_unknown(view_jig_name(s, y->id));
    t->about = object_of(w, y->table, y->id);
    switch (y->rule) {
    case WHY_DEPENDS: {
        struct task_view v = {0};
        (void)anneal_task(s->engine, y->id, &v);
        t->text = arena_printf(w->mem, "waits for %s, which is %s", task_words(w, y->id),
                               task_state_name(v.state));
        break;
    }
    case WHY_PARENT: t->text = parent_words(w, y->id); break;
    case WHY_NEEDED: {
        struct noderole_view v = {0};
        (void)anneal_noderole(s->engine, y->id, &v);
        t->text = arena_printf(w->mem, "goes after %s, which needs it and is %s",
                               view_noderole_name(s, w->mem, y->id), noderole_state_name(v.state));
        break;
    }
    case WHY_USED:
    case WHY_SUCCESSOR: tell_leaving(w, y, t); break;
    case WHY_NODE_AWAY: tell_not_alive(w, y, t); break;
    case WHY_NODE_UNAVAILABLE: tell_unavailable(w, y, t); break;
    case WHY_NODE_BUSY: tell_busy(w, y, t); break;
    case WHY_NODE_FROZEN:
        t->gravity = GRAVITY_PERSON;
        t->text = arena_printf(w->mem, "an error on node %s freezes all work there", node);
        t->remedy = arena_printf(w->mem, "anneal noderole list --node %s --state ERROR", node);
        break;
    case WHY_POOL_FULL:
    case WHY_POOL_CLOSED: tell_pool(w, y, t); break;
    case WHY_JIG_INACTIVE:
        t->gravity = GRAVITY_PERSON;
        t->text = arena_printf(w->mem, "jig %s is switched off", jig);
        t->remedy = arena_printf(w->mem, "anneal jig enable %s", jig);
        break;
    case WHY_JIG_NO_WORKER:
        t->gravity = GRAVITY_PERSON;
        t->text = arena_printf(w->mem, "no worker has jig %s", jig);
        t->remedy = "anneal worker list";
        break;
    case WHY_WORKERS_BUSY: tell_workers(w, y, t); break;
    case WHY_TENANT_FULL: tell_share(w, y, t); break;
    case WHY_HELD:
    case WHY_STALLED:
    case WHY_CANCELLED: tell_operation(w, y, t); break;
    case WHY_BACKOFF: tell_backoff(w, y, t); break;
    case WHY_WAITING: tell_waiting(w, y, t); break;
    case WHY_RUNNING: tell_running(w, y, t); break;
    case WHY_FAILED: tell_failed(w, y, t); break;
    case WHY_UNCERTAIN:
        t->gravity = GRAVITY_PERSON;
        t->text = arena_printf(w->mem,
                               "nobody knows whether %s happened, and it must not happen twice",
                               task_words(w, y->id));
        t->remedy = arena_printf(w->mem, "anneal task resolve %u done|failed|again", y->id);
        break;
    case WHY_TOLERANCE: tell_tolerance(w, y, t); break;
    case WHY_ROLLOUT: tell_rollout(w, y, t); break;
    case WHY_AHEAD:
        t->text = arena_printf(w->mem, "it was sent ahead, and begins on its node behind %s",
                               task_words(w, y->id));
        t->remedy = arena_printf(w->mem, "anneal why task/%u", y->id);
        break;
    case WHY_TOLERATED:
        t->text = arena_printf(w->mem, "%s failed, which its definition allows",
                               task_words(w, y->id));
        t->remedy = command(w, "task attempts", y->id);
        break;
    case WHY_HOLDER: {
        const char *pool = y->value < s->inv.pools.n && s->inv.pools.at[y->value].name
                               ? s->inv.pools.at[y->value].name
                               : "?";
        t->gravity = GRAVITY_PERSON;
        t->text = arena_printf(w->mem, "%s belongs to a span that holds pool %s",
                               task_words(w, y->id), pool);
        t->remedy = arena_printf(w->mem, "anneal pool set %s --size N, with room for one more",
                                 pool);
        break;
    }
    case WHY_SUPERSEDED:
        t->gravity = GRAVITY_TIME;
        t->text = arena_printf(w->mem, "an older attempt of %s still runs", task_words(w, y->id));
        t->remedy = command(w, "task attempts", y->id);
        break;
    case WHY_TURN:
        t->gravity = GRAVITY_TIME;
        t->text = arena_printf(w->mem, "nothing stands in the way of %s: its turn comes",
                               task_words(w, y->id));
        break;
    case WHY_SUSPECT:
        t->gravity = GRAVITY_PERSON;
        t->text = arena_printf(w->mem,
                               "node %s is silent, but with so many others that none is taken for "
                               "dead",
                               node);
        t->remedy = "anneal admin confirm-dead";
        break;
    case WHY_DONE: t->text = done_words(w, y->id); break;
    case WHY_RULE_COUNT: t->text = ""; break;
    }
}

/* ---- the list ---- */

void why_say(struct why_answer *w, int gravity, const char *rule, const struct why_head *about,
             const char *text, const char *remedy)
{
    struct value *v = value_map(w->mem);
    if (w->reasons->n >= WHY_MOST_REASONS)
        return;
    value_put_text(w->mem, v, "rule", rule);
    value_put_text(w->mem, v, "text", text);
    value_put_text(w->mem, v, "object", about->object);
    value_set(w->mem, v, "id", about->id ? value_int(w->mem, about->id) : value_null(w->mem));
    value_put_text(w->mem, v, "name", about->name);
    value_put_text(w->mem, v, "remedy", remedy);
    value_put_int(w->mem, v, "depth", w->depth);
    value_add(w->mem, w->reasons, v);
    if (gravity > w->gravity) {
        w->gravity = gravity;
        w->cause = value_as_text(value_get(v, "text"), "");
        w->cause_depth = w->depth;
    }
}

bool why_tell(struct why_answer *w, const struct why *y)
{
    struct told t = {.gravity = GRAVITY_LINK};
    for (uint32_t i = 0; i < w->n_told; i++)
        if (w->told[i].rule == y->rule && w->told[i].table == y->table && w->told[i].id == y->id)
            return false;
    if (w->n_told == WHY_MOST_REASONS)
        return false;
    w->told[w->n_told++] = *y;
    tell(w, y, &t);
    uint32_t said = w->reasons->n;
    why_say(w, (int)t.gravity, why_rule_name(y->rule), &t.about, t.text, t.remedy);
    if (t.see && w->reasons->n > said)
        value_put_text(w->mem, &w->reasons->items[said], "see", t.see);
    return true;
}
