/* face_why.c - why is it as it is: from an object to the cause that somebody can act on
 *
 * The engine names the nearest reasons.  Where a reason is another task or noderole, its own
 * reasons follow, in widening circles, each object once, until nothing is left to ask or the answer
 * is long enough.  The nearest reasons come first; the gravest of all is the summary.  There is no
 * recursion: the graph is the user's.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "server/probing.h"

enum { ASKED_MOST = 256 }; /* objects whose reasons are asked for, in one answer */

struct ask {
    enum row_table table;
    uint32_t id, depth;
};
struct asks { /* a queue that is also the list of what was asked */
    struct ask at[ASKED_MOST];
    uint32_t n;
};

static void ask_later(struct asks *q, enum row_table table, uint32_t id, uint32_t depth)
{
    for (uint32_t i = 0; i < q->n; i++)
        if (q->at[i].table == table && q->at[i].id == id)
            return;
    if (q->n < ASKED_MOST && depth <= WHY_MOST_DEPTH)
        q->at[q->n++] = (struct ask){table, id, depth};
}

/* An operation of which nothing may start waits, or failed, for tasks of others: the first such of
 * its own tells. */
static size_t behind_others(const struct server *s, uint32_t op, struct why *ret, size_t max)
{
    struct operation_view o;
    if (!anneal_operation(s->engine, op, &o) ||
        o.counts[TASK_PENDING] + o.counts[TASK_DEP_FAILED] == 0)
        return 0;
    for (uint32_t r = 1; r < anneal_noderole_end(s->engine); r++) {
        struct noderole_view v;
        bool ours = anneal_noderole(s->engine, r, &v) && v.operation == op &&
                    !noderole_in_service(v.state, v.target);
        size_t n = ours ? anneal_why_noderole(s->engine, r, ret, max) : 0;
        if (n > 0)
            return n;
    }
    return 0;
}

static size_t reasons_of(const struct server *s, enum row_table table, uint32_t id, struct why *ret,
                         size_t max)
{
    size_t n = 0;
    switch ((int)table) {
    case ROWS_TASK: return anneal_why_task(s->engine, id, ret, max);
    case ROWS_NODEROLE: return anneal_why_noderole(s->engine, id, ret, max);
    case ROWS_NODE: return anneal_why_node(s->engine, id, ret, max);
    case ROWS_OPERATION:
        n = anneal_why_operation(s->engine, id, ret, max);
        return n ? n : behind_others(s, id, ret, max);
    default: return 0;
    }
}

static uint32_t noderole_asked(const struct server *s, const struct ask *a)
{
    struct task_view t = {0};
    if (a->table == ROWS_TASK)
        (void)anneal_task(s->engine, a->id, &t);
    return a->table == ROWS_NODEROLE ? a->id : t.noderole;
}

void why_follow(struct why_answer *w, enum row_table table, uint32_t id)
{
    struct asks *q = arena_new(w->mem, struct asks, 1);
    struct why found[WHY_MOST_REASONS];
    uint32_t depth = w->depth;
    ask_later(q, table, id, depth);
    for (uint32_t i = 0; i < q->n && w->n_told < WHY_MOST_REASONS; i++) {
        struct ask a = q->at[i];
        size_t n = reasons_of(w->server, a.table, a.id, found, WHY_MOST_REASONS);
        w->depth = a.depth;
        w->child = noderole_asked(w->server, &a);
        for (size_t k = 0; k < n; k++) {
            (void)why_tell(w, &found[k]);
            if (found[k].rule == WHY_DEPENDS || found[k].rule == WHY_PARENT ||
                found[k].rule == WHY_NEEDED || found[k].rule == WHY_USED ||
                found[k].rule == WHY_SUCCESSOR)
                ask_later(q, found[k].table, found[k].id, a.depth + 1);
        }
    }
    w->depth = depth;
}

void why_reply(struct why_answer *w, const struct why_head *about, const char *fine,
               struct server_reply *r)
{
    struct value *v = value_map(w->mem);
    const char *summary = fine;
    if (w->cause)
        summary = w->cause_depth == 0 ? w->cause
                                      : arena_printf(w->mem, "it comes down to this: %s", w->cause);
    value_put_text(w->mem, v, "object", about->object);
    value_set(w->mem, v, "id", about->id ? value_int(w->mem, about->id) : value_null(w->mem));
    value_put_text(w->mem, v, "name", about->name);
    value_put_text(w->mem, v, "state", about->state);
    value_put_text(w->mem, v, "summary", summary);
    value_set(w->mem, v, "reasons", w->reasons);
    r->body = v;
}

/* ---- the engine's own objects ---- */

static int why_node(struct why_answer *w, const char *name, struct server_reply *r, struct err *e)
{
    struct server *s = w->server;
    uint32_t id = inventory_node_find(&s->inv, name);
    if (!id)
        return face_not_found_near(e, "node", name, &s->inv.node_by_name);
    why_follow(w, ROWS_NODE, id);
    probing_why(w, id);
    struct why_head h = {.object = "node",
                         .name = s->inv.nodes.at[id].name,
                         .state = noderole_state_name(view_node_state(s, id)),
                         .id = id};
    why_reply(
        w, &h,
        arena_printf(w->mem, "node %s is alive and available, and nothing runs on it", h.name), r);
    return 0;
}

static const char *noderole_fine(const struct why_answer *w, const struct noderole_view *v,
                                 const char *name)
{
    if (v->state == NODEROLE_ACTIVE)
        return arena_printf(w->mem, "%s is at its target: all its tasks and needs are in order",
                            name);
    return arena_printf(w->mem, "%s is %s%s%s%s", name, noderole_state_name(v->state),
                        v->reason ? " (" : "", reason_name(v->reason), v->reason ? ")" : "");
}

static int why_noderole(struct why_answer *w, const char *text, struct server_reply *r,
                        struct err *e)
{
    struct noderole_view v;
    uint32_t id;
    int rc = face_u32(text, "noderole", &id, e);
    if (rc < 0)
        return rc;
    if (!anneal_noderole(w->server->engine, id, &v))
        return face_not_found(e, "noderole", text);
    why_follow(w, ROWS_NODEROLE, id);
    probing_why_on(w, v.node);
    struct why_head h = {.object = "noderole",
                         .name = view_noderole_name(w->server, w->mem, id),
                         .state = noderole_state_name(v.state),
                         .id = id};
    why_reply(w, &h, noderole_fine(w, &v, h.name), r);
    return 0;
}

static int why_task(struct why_answer *w, const char *text, struct server_reply *r, struct err *e)
{
    struct task_view v;
    uint32_t id;
    int rc = face_u32(text, "task", &id, e);
    if (rc < 0)
        return rc;
    if (!anneal_task(w->server->engine, id, &v))
        return face_not_found(e, "task", text);
    why_follow(w, ROWS_TASK, id);
    probing_why_on(w, v.node);
    struct why_head h = {.object = "task",
                         .name = view_task_name(w->server, id),
                         .state = task_state_name(v.state),
                         .id = id};
    why_reply(w, &h,
              arena_printf(w->mem, "task %u of %s is %s", id,
                           view_noderole_name(w->server, w->mem, v.noderole), h.state),
              r);
    return 0;
}

static int why_operation(struct why_answer *w, const char *text, struct server_reply *r,
                         struct err *e)
{
    const struct inventory *v = &w->server->inv;
    struct operation_view o;
    uint32_t id;
    int rc = face_u32(text, "operation", &id, e);
    if (rc < 0)
        return rc;
    if (!anneal_operation(w->server->engine, id, &o))
        return face_not_found(e, "operation", text);
    why_follow(w, ROWS_OPERATION, id);
    const char *title = id < v->operations.n ? v->operations.at[id].title : NULL;
    struct why_head h = {.object = "operation",
                         .name = title ? title : "",
                         .state = operation_state_name(o.state),
                         .id = id};
    bool open = o.state == OPERATION_RUNNING;
    why_reply(w, &h,
              open ? arena_printf(w->mem, "operation %u is running", id)
                   : arena_printf(w->mem, "operation %u %s%s", id,
                                  o.state == OPERATION_CANCELLED || o.state == OPERATION_SUPERSEDED
                                      ? "was "
                                      : "",
                                  h.state),
              r);
    return 0;
}

typedef int why_f(struct why_answer *w, const char *text, struct server_reply *r, struct err *e);

int server_why(struct server *s, const struct server_call *c, struct server_reply *r, struct err *e)
{
    static const struct {
        const char *kind;
        why_f *fn;
    } kinds[] = {{"node", why_node}, {"noderole", why_noderole},   {"task", why_task},
                 {"jig", why_jig},   {"operation", why_operation}, {"role", why_role},
                 {"pool", why_pool}, {"binding", why_binding}};
    struct why_answer *w = arena_new(c->mem, struct why_answer, 1);
    w->server = s;
    w->mem = c->mem;
    w->reasons = value_list(c->mem);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(kinds[i].kind, c->id[0]) == 0)
            return kinds[i].fn(w, c->id[1], r, e);
    err_set(e, ERR_INVALID, "there is no kind of object \"%s\"", c->id[0]);
    return err_hint(e, "node, noderole, task, operation, role, jig, pool or binding");
}
