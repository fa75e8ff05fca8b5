/* cluster_missing.c - what of a cluster was never made
 *
 * A noderole was made if a run of it was ever complete, or if it has nothing to run.  That holds
 * whatever tasks it has by now: those of an operation that only kept what never was do not count.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "server/cluster_i.h"

bool cluster_made(const struct server *s, uint32_t noderole)
{
    struct noderole_view nr;
    struct task_view t;
    if (!anneal_noderole(s->engine, noderole, &nr))
        return false;
    if (nr.run_count)
        return true;
    for (uint32_t i = nr.first_task; i < nr.first_task + nr.n_tasks; i++)
        if (anneal_task(s->engine, i, &t) &&
            (t.rule == RULE_RUN || t.rule == RULE_KEEP || t.rule == RULE_ONCE))
            return false;
    return true;
}

/* --- what it is --- */

static bool part_of(const struct server *s, uint32_t noderole, struct cluster_part *ret)
{
    struct noderole_view nr;
    struct operation_view op = {0};
    struct node_view node = {0};
    if (!anneal_noderole(s->engine, noderole, &nr) || !nr.node)
        return false; /* joins and callbacks are of no node: an operation's, not the cluster's */
    (void)anneal_operation(s->engine, nr.operation, &op);
    (void)anneal_node(s->engine, nr.node, &node);
    *ret = (struct cluster_part){.state = nr.state,
                                 .target = nr.target,
                                 .made = cluster_made(s, noderole),
                                 .held = op.held,
                                 .dead = node.alive == ALIVE_DEAD};
    return true;
}

struct cluster_sum cluster_sum_of(const struct server *s, const struct cluster *c)
{
    const struct u64map *m = &s->inv.instances;
    struct cluster_sum sum = {0};
    struct cluster_part part;
    struct operation_view op;
    sum.open = anneal_operation(s->engine, c->operation, &op) && op.state == OPERATION_RUNNING;
    for (size_t i = 0; i < m->n; i++) {
        if (!m->at[i].live || (uint32_t)m->at[i].key != c->deployment)
            continue;
        const struct id_list *of = &s->inv.lists.at[m->at[i].val];
        for (size_t k = 0; k < of->ids.n; k++)
            if (part_of(s, of->ids.at[k], &part))
                cluster_sum_add(&sum, &part);
    }
    return sum;
}

enum cluster_state cluster_state_now(const struct server *s, const struct cluster *c)
{
    struct cluster_sum sum = cluster_sum_of(s, c);
    return cluster_state_of(&sum);
}

/* --- who it is --- */

struct value *cluster_missing_names(const struct server *s, struct arena *mem,
                                    const struct cluster *c)
{
    const struct u64map *m = &s->inv.instances;
    struct value *list = value_list(mem);
    struct cluster_part part;
    for (size_t i = 0; i < m->n; i++) {
        if (!m->at[i].live || (uint32_t)m->at[i].key != c->deployment)
            continue;
        const struct id_list *of = &s->inv.lists.at[m->at[i].val];
        for (size_t k = 0; k < of->ids.n; k++)
            if (part_of(s, of->ids.at[k], &part) && part.target != TARGET_ABSENT && !part.made)
                value_add(mem, list, value_text(mem, view_noderole_name(s, mem, of->ids.at[k])));
    }
    return list;
}
