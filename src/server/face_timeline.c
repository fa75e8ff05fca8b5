/* face_timeline.c - an operation as bars: who did what from when to when, and the longest chain
 *
 * Times are milliseconds from the operation's beginning by the wall clock.  An attempt that is open
 * has no end yet.  Both clocks are whole milliseconds, read one after the other: within one life of
 * the server bars lie by the engine's, so that what began after another's end is never drawn before
 * it.  Bounded by `limit`: the attempts that started first, and a mark that there are
 * more.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/text.h"
#include "model/taskmsg.h"
#include "server/chronicle.h"

enum { TIMELINE_DEFAULT = 1000, CLOCKS_APART_MS = 2 };

struct timeline {
    struct server *server;
    struct arena *mem;
    struct value *nodes;
    struct u64map at; /* node -> place in `lists` */
    VEC(struct value *) lists;
    uint64_t from_ms;  /* wall */
    int64_t offset_ms; /* of the wall clock to the engine's, as of the last bar */
    uint32_t limit, n;
    bool truncated;
};

static int64_t since(uint64_t from_ms, uint64_t wall_ms)
{
    return wall_ms > from_ms ? (int64_t)(wall_ms - from_ms) : 0;
}

/* The items of a node, which come to the answer in the order of their first. */
static struct value *items_of(struct timeline *t, uint32_t node)
{
    uintptr_t at;
    if (u64map_get(&t->at, node, &at))
        return t->lists.at[at];
    struct value *items = value_list(t->mem);
    u64map_put(&t->at, node, t->lists.n);
    vec_push(&t->lists, items);
    return items;
}

/* When it began, by the wall clock; a step of a millisecond or two is how clocks are read. */
static uint64_t began_wall(struct timeline *t, const struct row_attempt *r)
{
    int64_t offset = (int64_t)(attempt_began_wall_ms(r) - attempt_began_ms(r));
    int64_t step = offset - t->offset_ms;
    if (step < -CLOCKS_APART_MS || step > CLOCKS_APART_MS)
        t->offset_ms = offset;
    return attempt_began_ms(r) + (uint64_t)t->offset_ms;
}

static struct value *bar_of(struct timeline *t, const struct row_attempt *r)
{
    struct value *v = value_map(t->mem);
    bool open = r->outcome == ATTEMPT_OPEN;
    int64_t start = since(t->from_ms, began_wall(t, r));
    int64_t ran = r->ended_ms > attempt_began_ms(r) ? (int64_t)(r->ended_ms - attempt_began_ms(r))
                                                    : 0;
    value_put_int(t->mem, v, "task", r->task);
    value_put_text(t->mem, v, "name", view_task_name(t->server, r->task));
    value_put_int(t->mem, v, "attempt", r->number);
    value_put_text(t->mem, v, "outcome", open ? "open" : outcome_name((enum outcome)r->outcome));
    value_put_int(t->mem, v, "start_ms", start);
    value_set(t->mem, v, "end_ms", open ? value_null(t->mem) : value_int(t->mem, start + ran));
    return v;
}

static int bar_add(void *arg, enum row_table table, const void *row, struct err *e)
{
    struct timeline *t = arg;
    const struct row_attempt *r = row;
    (void)table;
    (void)e;
    t->truncated = t->n == t->limit;
    if (t->truncated)
        return 1;
    t->n++;
    value_add(t->mem, items_of(t, r->node), bar_of(t, r));
    return 0;
}

static void nodes_put(struct timeline *t)
{
    t->nodes = value_list(t->mem);
    for (size_t i = 0; i < t->at.n; i++) {
        struct value *v = value_map(t->mem);
        value_put_text(t->mem, v, "node", view_node_name(t->server, (uint32_t)t->at.at[i].key));
        value_set(t->mem, v, "items", t->lists.at[t->at.at[i].val]);
        value_add(t->mem, t->nodes, v);
    }
}

static struct value *chain_value(const struct timeline *t, const struct critical *c)
{
    struct value *list = value_list(t->mem);
    for (size_t i = 0; i < c->steps.n; i++) {
        const struct critical_step *step = &c->steps.at[i];
        struct value *v = value_map(t->mem);
        int64_t start = since(t->from_ms, step->started_wall_ms);
        value_put_int(t->mem, v, "task", step->task);
        value_put_text(t->mem, v, "name", view_task_name(t->server, step->task));
        value_put_text(t->mem, v, "node", view_node_name(t->server, step->node));
        value_put_int(t->mem, v, "start_ms", start);
        value_put_int(t->mem, v, "end_ms", start + (int64_t)step->ran_ms);
        value_add(t->mem, list, v);
    }
    return list;
}

static int limit_asked(const struct server_call *c, uint32_t *ret_limit, struct err *e)
{
    const struct value *limit = value_get(c->query, "limit");
    uint64_t n = TIMELINE_DEFAULT;
    int rc = limit ? text_u64(value_as_str(limit), UINT32_MAX, &n, e) : 0;
    *ret_limit = (uint32_t)n;
    return rc < 0 ? err_at(e, "?limit") : 0;
}

static struct value *answer(const struct timeline *t, uint32_t id, uint64_t to_ms,
                            const struct critical *critical)
{
    struct value *v = value_map(t->mem);
    value_put_int(t->mem, v, "operation", id);
    value_put_text(t->mem, v, "from", view_time(t->mem, t->from_ms ? t->from_ms : 1));
    value_put_text(t->mem, v, "to", view_time(t->mem, to_ms));
    value_put_int(t->mem, v, "span_ms", since(t->from_ms, to_ms));
    value_set(t->mem, v, "nodes", t->nodes);
    value_set(t->mem, v, "critical", chain_value(t, critical));
    value_put_bool(t->mem, v, "truncated", t->truncated);
    return v;
}

int server_operation_timeline(struct server *s, const struct server_call *c, struct server_reply *r,
                              struct err *e)
{
    struct timeline t = {.server = s, .mem = c->mem};
    struct critical critical = {0};
    struct operation_view v;
    uint32_t id;
    int rc = chronicle_operation(s, c, &id, &v, e);
    if (rc < 0 || (rc = limit_asked(c, &t.limit, e)) < 0)
        return rc;
    uint64_t to_ms = v.ended_ms ? view_wall(s, v.ended_ms) : server_wall_ms();
    t.from_ms = id < s->inv.operations.n ? s->inv.operations.at[id].created_ms : 0;
    rc = store_attempts_of(s->reader, id, 0, UINT64_MAX, false, 0, bar_add, &t, e);
    if (rc >= 0)
        rc = critical_find(s, id, &critical, e);
    if (rc >= 0) {
        nodes_put(&t);
        r->body = answer(&t, id, to_ms, &critical);
        r->live = true;
    }
    u64map_done(&t.at);
    vec_done(&t.lists);
    vec_done(&critical.steps);
    return rc < 0 ? rc : 0;
}
