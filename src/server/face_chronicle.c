/* face_chronicle.c - the history of an operation: what ran, in the order in which it started
 *
 * An attempt carries the operation in which it started, so that its history stays whole when
 * noderoles move on to later operations or their tasks are replaced.  A page reads a bounded number
 * of rows, whatever the filters: one that found little ends early and says where to go on.
 *
 * Tasks that had no attempt in it come behind all attempts, if they are asked for.  They are those
 * of the noderoles that belong to the operation now: an operation that has ended loses them to
 * later ones.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/text.h"
#include "model/taskmsg.h"
#include "server/chronicle.h"

enum {
    SCAN_MOST = 5000, /* rows and tasks that one page looks at */
    TASK_BITS = 20,   /* of a cursor: place of a task in its noderole */
};
#define TASKS_FROM (UINT64_C(1) << 62) /* cursors from here on are of tasks: noderole and place */

struct history {
    struct server *server;
    const struct server_call *call;
    struct page page;
    uint32_t operation, node, looked;
    int state;        /* of the task, as it is now; -1: any */
    const char *name; /* of the task; NULL: any */
    bool failed, all;
};

static bool flag_asked(const struct server_call *c, const char *key)
{
    return strcmp(value_as_text(value_get(c->query, key), "false"), "true") == 0;
}

bool chronicle_failed(uint8_t outcome)
{
    return outcome == OUTCOME_FAILED || outcome == OUTCOME_TIMEOUT || outcome == OUTCOME_LOST ||
           outcome == OUTCOME_REFUSED;
}

const char *chronicle_role(const struct server *s, uint32_t task)
{
    struct task_view v;
    if (!anneal_task(s->engine, task, &v) || v.def >= s->inv.defs.n)
        return "?";
    if (v.noderole)
        return view_role_name(s, v.noderole);
    /* One that was replaced is of no noderole: by its definition. */
    return s->inv.role_names.at[s->inv.defs.at[v.def].role];
}

int chronicle_operation(const struct server *s, const struct server_call *c, uint32_t *ret_id,
                        struct operation_view *ret_v, struct err *e)
{
    int rc = face_u32(c->id[0], "operation", ret_id, e);
    if (rc < 0)
        return rc;
    return anneal_operation(s->engine, *ret_id, ret_v) ? 0
                                                       : face_not_found(e, "operation", c->id[0]);
}

static bool task_passes(const struct history *h, uint32_t task, uint32_t node)
{
    struct task_view v;
    return (!h->node || node == h->node) &&
           (!h->name || strcmp(view_task_name(h->server, task), h->name) == 0) &&
           (h->state < 0 ||
            (anneal_task(h->server->engine, task, &v) && v.noderole && v.state == h->state));
}

/* What an item says of its task, whether it ran or not. */
static struct value *item_of(const struct history *h, uint32_t task, uint32_t node)
{
    struct arena *a = h->call->mem;
    struct value *v = value_map(a);
    struct task_view t = {0};
    bool there = anneal_task(h->server->engine, task, &t) && t.noderole;
    value_put_int(a, v, "task", task);
    value_put_text(a, v, "name", view_task_name(h->server, task));
    value_put_text(a, v, "role", chronicle_role(h->server, task));
    value_put_text(a, v, "node", view_node_name(h->server, node));
    value_put_text(a, v, "state", there ? task_state_name(t.state) : NULL);
    return v;
}

static struct value *attempt_item(const struct history *h, const struct row_attempt *r)
{
    struct arena *a = h->call->mem;
    struct value *v = item_of(h, r->task, r->node);
    bool open = r->outcome == ATTEMPT_OPEN;
    uint64_t ran_ms = r->ended_ms > attempt_began_ms(r) ? r->ended_ms - attempt_began_ms(r) : 0;
    value_put_int(a, v, "number", r->number);
    value_put_text(a, v, "started_at", view_time(a, attempt_began_wall_ms(r)));
    value_put_text(a, v, "ended_at", open ? NULL : view_time(a, attempt_began_wall_ms(r) + ran_ms));
    value_set(a, v, "ran_ms", open ? value_null(a) : value_int(a, (int64_t)ran_ms));
    value_put_text(a, v, "outcome", open ? "open" : outcome_name((enum outcome)r->outcome));
    value_set(a, v, "exit_code", open ? value_null(a) : value_int(a, r->exit_code));
    value_set(a, v, "note", r->note.n ? value_str(a, r->note) : value_null(a));
    return v;
}

static struct value *task_item(const struct history *h, uint32_t task, uint32_t node)
{
    static const char *const absent[] = {"number",  "started_at", "ended_at", "ran_ms",
                                         "outcome", "exit_code",  "note"};
    struct value *v = item_of(h, task, node);
    for (size_t i = 0; i < sizeof absent / sizeof *absent; i++)
        value_set(h->call->mem, v, absent[i], value_null(h->call->mem));
    return v;
}

/* Is there room to look at one more?  Else the page ends before it. */
static bool may_look(struct history *h)
{
    h->page.more = h->page.n == h->page.limit || h->looked == SCAN_MOST;
    return !h->page.more;
}

static void looked_at(struct history *h, uint64_t cursor, struct value *item)
{
    h->looked++;
    h->page.last = cursor;
    if (item) {
        h->page.n++;
        page_add(&h->page, h->call, item);
    }
}

static int attempt_seen(void *arg, enum row_table t, const void *row, struct err *e)
{
    struct history *h = arg;
    const struct row_attempt *r = row;
    (void)t;
    (void)e;
    if (!may_look(h))
        return 1;
    bool wanted = (!h->failed || chronicle_failed(r->outcome)) && task_passes(h, r->task, r->node);
    looked_at(h, r->id, wanted ? attempt_item(h, r) : NULL);
    return 0;
}

/* ---- tasks that never ran in it ---- */

static int task_seen(struct history *h, const struct noderole_view *nr, uint32_t place,
                     struct err *e)
{
    uint32_t task = nr->first_task + place;
    struct task_view v;
    struct row_attempt r;
    bool ran = false;
    int rc = 0;
    if (!anneal_task(h->server->engine, task, &v))
        return 0;
    if (v.attempt > 0)
        rc = attempt_history_in(h->server, task, h->operation, &r, &ran, e);
    bool wanted = rc >= 0 && !ran && task_passes(h, task, nr->node) &&
                  (!h->failed || v.state == TASK_FAILED || v.state == TASK_DEP_FAILED);
    looked_at(h, TASKS_FROM | (uint64_t)nr->id << TASK_BITS | place,
              wanted ? task_item(h, task, nr->node) : NULL);
    return rc;
}

static int tasks_after(struct history *h, uint64_t cursor, struct err *e)
{
    bool begun = cursor >= TASKS_FROM;
    uint32_t first = begun ? (uint32_t)((cursor & ~TASKS_FROM) >> TASK_BITS) : 1;
    uint32_t place = begun ? (uint32_t)(cursor & ((1u << TASK_BITS) - 1)) + 1 : 0;
    for (uint32_t id = first; id < anneal_noderole_end(h->server->engine); id++, place = 0) {
        struct noderole_view nr;
        if (!anneal_noderole(h->server->engine, id, &nr) || nr.operation != h->operation)
            continue;
        for (; place < nr.n_tasks; place++) {
            if (!may_look(h))
                return 0;
            int rc = task_seen(h, &nr, place, e);
            if (rc < 0)
                return rc;
        }
    }
    return 0;
}

int server_operation_history(struct server *s, const struct server_call *c, struct server_reply *r,
                             struct err *e)
{
    const char *state = value_as_text(value_get(c->query, "state"), NULL);
    const char *node = value_as_text(value_get(c->query, "node"), NULL);
    struct history h = {.server = s,
                        .call = c,
                        .state = state ? task_state_find(state) : -1,
                        .name = value_as_text(value_get(c->query, "task"), NULL),
                        .failed = flag_asked(c, "failed"),
                        .all = flag_asked(c, "all")};
    struct operation_view v;
    int rc = chronicle_operation(s, c, &h.operation, &v, e);
    if (rc >= 0 && node)
        rc = face_filter_node(s, node, &h.node, e);
    if (rc < 0 || (rc = page_begin(&h.page, c, e)) < 0)
        return rc;
    uint64_t after = h.page.after;
    if (after < TASKS_FROM)
        rc = store_attempts_of(s->reader, h.operation, after + 1, TASKS_FROM - 1, false, 0,
                               attempt_seen, &h, e);
    if (rc >= 0 && h.all && !h.page.more)
        rc = tasks_after(&h, after, e);
    if (rc >= 0)
        rc = store_attempts_count(s->reader, h.operation, &h.page.total, e);
    if (rc < 0)
        return rc;
    page_end(&h.page, c, r);
    return 0;
}
