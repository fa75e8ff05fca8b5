/* rollouts.c - roll-outs of operations, for people */
/* SPDX-License-Identifier: Apache-2.0 */
#include "server/rollouts.h"

#include "base/text.h"
#include "server/clusters.h"
#include "server/desire.h"

struct rollout_count {
    uint32_t group, members, failed, left;
};
typedef VEC(struct rollout_count) rollout_counts_v;

static const char *group_name(const struct server *s, uint32_t group)
{
    const char *name = group - 1 < s->inv.groups.n ? s->inv.groups.at[group - 1] : NULL;
    return name ? name : "?";
}

static struct rollout_count *count_of(rollout_counts_v *all, uint32_t group)
{
    for (size_t i = 0; i < all->n; i++)
        if (all->at[i].group == group)
            return &all->at[i];
    vec_push(all, ((struct rollout_count){.group = group}));
    return &all->at[all->n - 1];
}

static bool is_member(const struct anneal *a, const struct noderole_view *v)
{
    struct group_view g;
    return v->node && v->group && anneal_group(a, v->group, &g) && g.stops;
}

static void counts_make(const struct server *s, uint32_t op, rollout_counts_v *ret)
{
    for (uint32_t id = 1; id < anneal_noderole_end(s->engine); id++) {
        struct noderole_view v;
        if (!anneal_noderole(s->engine, id, &v) || v.operation != op || !is_member(s->engine, &v))
            continue;
        struct rollout_count *c = count_of(ret, v.group);
        c->members++;
        c->failed += v.state == NODEROLE_ERROR;
        c->left += v.stopped;
    }
}

struct value *rollouts_view(struct server *s, struct arena *mem, uint32_t op)
{
    rollout_counts_v all = {0};
    struct value *list = value_list(mem);
    counts_make(s, op, &all);
    for (size_t i = 0; op != OPERATION_STANDING && i < all.n; i++) {
        const struct rollout_count *c = &all.at[i];
        struct value *v = value_map(mem);
        uint32_t may;
        bool spent = anneal_rollout(s->engine, c->group, op, &may) > may;
        value_put_text(mem, v, "name", arena_strdup(mem, group_name(s, c->group)));
        value_put_int(mem, v, "members", c->members);
        value_put_int(mem, v, "failed", c->failed);
        value_put_int(mem, v, "may_fail", may);
        value_put_int(mem, v, "left", c->left);
        value_put_bool(mem, v, "stopped", c->left > 0 || spent);
        value_add(mem, list, v);
    }
    vec_done(&all);
    return list;
}

uint32_t rollouts_left(const struct server *s, uint32_t group, uint32_t op)
{
    uint32_t left = 0;
    for (uint32_t id = 1; id < anneal_noderole_end(s->engine); id++) {
        struct noderole_view v;
        left += anneal_noderole(s->engine, id, &v) && v.group == group && v.operation == op &&
                v.stopped;
    }
    return left;
}

const char *rollouts_stop_text(const struct server *s, struct arena *mem, uint32_t group,
                               uint32_t op)
{
    uint32_t may, failed = anneal_rollout(s->engine, group, op, &may);
    uint32_t left = rollouts_left(s, group, op);
    const char *rest = left ? arena_printf(mem, "%s left as %s", text_count(left, "member").s,
                                           left == 1 ? "it is" : "they are")
                            : "no member was left to begin";
    if (failed <= may) /* some of those that failed are put right, or another operation's */
        return arena_printf(mem, "stopped; %s", rest);
    return arena_printf(mem, "stopped: %s failed, %u may; %s", text_count(failed, "member").s, may,
                        rest);
}

/* Whoever goes back has fled from what was before: that is no way back. */
static bool goes_back(const struct server *s, const struct snapshot *p)
{
    const char *kind = p->operation < s->inv.operations.n ? s->inv.operations.at[p->operation].kind
                                                          : NULL;
    return p->source || (kind && str_is(str_of(kind), "cluster-rollback"));
}

/* Did all of it come to pass, as far as is known? */
static bool was_good(const struct server *s, const struct snapshot *p)
{
    struct operation_view op;
    return !anneal_operation(s->engine, p->operation, &op) ||
           (op.state != OPERATION_FAILED && op.state != OPERATION_CANCELLED);
}

/* The last one before it that was good; 0: there is none that is known. */
static uint32_t good_before(const struct server *s, const struct snapshot *p)
{
    for (uint32_t number = p->number - 1; number > 0; number--) {
        const struct snapshot *one = desire_numbered(s->desire, p->deployment, number);
        if (!one)
            return 0;
        if (was_good(s, one))
            return number;
    }
    return 0;
}

const char *rollouts_way_back(struct server *s, struct arena *mem, uint32_t op)
{
    for (uint32_t id = 1; id < desire_end(s->desire); id++) {
        const struct snapshot *p = desire_snapshot(s->desire, id);
        if (!p || p->operation != op || desire_head(s->desire, p->deployment) != p)
            continue;
        uint32_t number = goes_back(s, p) ? 0 : good_before(s, p);
        if (!number)
            return NULL;
        const char *name = s->inv.deployments.at[p->deployment].name;
        if (cluster_get(s, p->deployment))
            return arena_printf(mem, "anneal cluster rollback %s %u", name, number);
        return arena_printf(mem, "anneal deployment rollback %s %u && anneal deployment commit %s",
                            name, number, name);
    }
    return NULL;
}

void rollouts_attention(struct server *s, struct arena *mem, struct value *list)
{
    uint32_t op = 0, group = 0, left = 0, others = 0;
    for (uint32_t id = 1; id < anneal_noderole_end(s->engine); id++) {
        struct noderole_view v;
        if (!anneal_noderole(s->engine, id, &v) || !v.stopped)
            continue;
        op = op ? op : v.operation;
        group = group ? group : v.group;
        if (v.group == group && v.operation == op)
            left++;
        else
            others++;
    }
    if (!op)
        return;
    struct value *v = value_map(mem);
    value_put_text(mem, v, "rule", "rollout");
    value_put_text(mem, v, "text",
                   arena_printf(mem, "the roll-out of %s stopped: %s left as %s%s",
                                group_name(s, group), text_count(left, "member").s,
                                left == 1 ? "it is" : "they are", others ? ", and of others" : ""));
    value_put_text(mem, v, "remedy", arena_printf(mem, "anneal operation show %u", op));
    value_put_int(mem, v, "count", left + others);
    value_put_text(mem, v, "node", NULL);
    value_put_int(mem, v, "operation", op);
    value_add(mem, list, v);
}
