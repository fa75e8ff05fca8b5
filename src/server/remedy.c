/* remedy.c - the command that helps a noderole in ERROR, and who an operation leaves there
 *
 * A change begins a new run of what is in ERROR, except where a failure waits for a person's own
 * word (annealer/correct.c).  Whoever asks for a change is told who it left as it was, each with
 * the command that helps; `why` names the same command.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "server/rollouts.h"
#include "server/server_i.h"

enum { LEFT_MOST = 20, SHOWN_MOST = 1000 };

/* The task that keeps it in ERROR: one that waits for a person's own word comes first. */
static bool failed_task(const struct server *s, const struct noderole_view *v,
                        struct task_view *ret_t)
{
    bool found = false;
    for (uint32_t id = v->first_task; id < v->first_task + v->n_tasks; id++) {
        struct task_view t;
        if (!anneal_task(s->engine, id, &t) || t.state != TASK_FAILED)
            continue;
        bool word = t.reason == REASON_UNCERTAIN || t.reason == REASON_REPLACED;
        if (!found || word)
            *ret_t = t;
        found = true;
        if (word)
            break;
    }
    return found;
}

bool remedy_waits_for_word(const struct server *s, uint32_t noderole)
{
    struct noderole_view v;
    struct task_view t;
    return anneal_noderole(s->engine, noderole, &v) && failed_task(s, &v, &t) &&
           (t.reason == REASON_UNCERTAIN || t.reason == REASON_REPLACED);
}

const char *remedy_of(const struct server *s, struct arena *mem, uint32_t noderole)
{
    struct noderole_view v;
    struct task_view t = {0};
    if (!anneal_noderole(s->engine, noderole, &v) || !failed_task(s, &v, &t))
        return NULL;
    if (t.reason == REASON_UNCERTAIN)
        return arena_printf(mem, "anneal task resolve %u done|failed|again", t.id);
    const char *node = view_node_name(s, v.node);
    if (t.reason == REASON_REPLACED && node && v.target != TARGET_ABSENT)
        return arena_printf(mem, "anneal node redeploy %s", node);
    if (!node || (v.parents_out > 0 && v.target == TARGET_RUNNING))
        return arena_printf(mem, "anneal operation retry %u", v.operation);
    return arena_printf(mem, "anneal noderole retry %u", noderole);
}

static struct value *left_one(const struct server *s, struct arena *mem, uint32_t noderole)
{
    struct noderole_view v = {0};
    struct task_view t = {0};
    struct value *one = value_map(mem);
    (void)anneal_noderole(s->engine, noderole, &v);
    (void)failed_task(s, &v, &t);
    value_put_int(mem, one, "noderole", noderole);
    value_put_text(mem, one, "name", view_noderole_name(s, mem, noderole));
    value_put_int(mem, one, "operation", v.operation);
    value_put_text(mem, one, "task", view_task_name(s, t.id));
    value_put_text(mem, one, "reason", reason_name((enum reason)t.reason));
    value_put_text(mem, one, "remedy", remedy_of(s, mem, noderole));
    return one;
}

static bool left_by(const struct server *s, uint32_t noderole, uint32_t op)
{
    struct noderole_view v;
    return anneal_noderole(s->engine, noderole, &v) && v.state == NODEROLE_ERROR &&
           v.operation != op;
}

struct value *remedy_left(const struct server *s, struct arena *mem, uint32_t deployment,
                          uint32_t op)
{
    struct value *list = value_list(mem);
    uint64_t noderoles[NODEROLE_STATE_COUNT], tasks[TASK_STATE_COUNT];
    anneal_totals(s->engine, noderoles, tasks);
    for (uint32_t id = 1;
         noderoles[NODEROLE_ERROR] > 0 && id < s->inv.noderoles.n && list->n < LEFT_MOST; id++)
        if (s->inv.noderoles.at[id].deployment == deployment && left_by(s, id, op))
            value_add(mem, list, left_one(s, mem, id));
    return list;
}

struct value *remedy_left_alone(const struct server *s, struct arena *mem, const uint32_t *ids,
                                size_t n, uint32_t op)
{
    struct value *list = value_list(mem);
    for (size_t i = 0; i < n && list->n < LEFT_MOST; i++)
        if (left_by(s, ids[i], op))
            value_add(mem, list, left_one(s, mem, ids[i]));
    return list;
}

/* --- of a cluster --- */

/* Of many that one roll-out left the command that goes on with all of them. */
static const char *standing_remedy(const struct server *s, struct arena *mem,
                                   const struct noderole_view *v)
{
    if (v->stopped && v->state != NODEROLE_ERROR)
        return arena_printf(mem, "anneal operation resume %u", v->operation);
    if (v->group && !remedy_waits_for_word(s, v->id) && v->operation != OPERATION_STANDING &&
        rollouts_left(s, v->group, v->operation))
        return arena_printf(mem, "anneal operation retry %u", v->operation);
    return remedy_of(s, mem, v->id);
}

static struct value *standing_one(const struct server *s, struct arena *mem,
                                  const struct noderole_view *v)
{
    struct value *one = left_one(s, mem, v->id);
    if (v->state != NODEROLE_ERROR)
        value_put_text(mem, one, "reason", reason_name(REASON_ROLLOUT));
    value_put_text(mem, one, "state", noderole_state_name((enum noderole_state)v->state));
    value_put_text(mem, one, "remedy", standing_remedy(s, mem, v));
    return one;
}

struct value *remedy_standing(const struct server *s, struct arena *mem, uint32_t deployment,
                              uint32_t op)
{
    struct value *list = value_list(mem);
    struct noderole_view v;
    for (uint32_t id = 1; id < s->inv.noderoles.n && list->n < (op ? LEFT_MOST : SHOWN_MOST); id++)
        if (s->inv.noderoles.at[id].deployment == deployment &&
            anneal_noderole(s->engine, id, &v) && v.operation != op &&
            (v.state == NODEROLE_ERROR || v.stopped))
            value_add(mem, list, standing_one(s, mem, &v));
    return list;
}
