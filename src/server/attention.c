/* attention.c - nodes and roll-outs that need a person, for whoever asks how things are
 *
 * Each kind of trouble is told once, with how many nodes have it, the first of them, and what to
 * do. A node is told under the trouble that comes first in the list: whoever is dead because it
 * shows another key needs to be trusted, not to be switched on.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/text.h"
#include "server/probing.h"
#include "server/rollouts.h"

enum trouble { TROUBLE_HOST_KEY, TROUBLE_AUTH, TROUBLE_DEAD, TROUBLE_REPLACED, TROUBLE_COUNT };
static const struct {
    const char *rule;
    const char *one;  /* behind "node NAME" */
    const char *many; /* behind "3 nodes" */
    const char *list; /* of many: where they are; NULL: one after the other */
} troubles[TROUBLE_COUNT] = {
    [TROUBLE_HOST_KEY] = {"host-key-changed", "shows another host key", "show another host key",
                          NULL},
    [TROUBLE_AUTH] = {"auth", "rejects our login", "reject our login", NULL},
    [TROUBLE_DEAD] = {"dead", "is dead", "are dead", "anneal node list --alive dead"},
    [TROUBLE_REPLACED] = {"replaced", "is another machine", "are other machines", NULL},
};

static bool is_replaced(const struct server *s, uint32_t node)
{
    for (uint32_t r = anneal_node_first_noderole(s->engine, node); r;
         r = anneal_node_next_noderole(s->engine, r)) {
        struct noderole_view v;
        struct task_view t;
        if (!anneal_noderole(s->engine, r, &v) || v.state != NODEROLE_ERROR)
            continue;
        for (uint32_t i = v.first_task; i < v.first_task + v.n_tasks; i++)
            if (anneal_task(s->engine, i, &t) && t.state == TASK_FAILED &&
                t.reason == REASON_REPLACED)
                return true;
    }
    return false;
}

static enum trouble trouble_of(const struct server *s, uint32_t node, const struct node_view *v)
{
    struct pulse_look l;
    if (pulse_look(s->pulse, node, &l) && l.tried_ms && l.end == PROBE_HOST_KEY)
        return TROUBLE_HOST_KEY;
    if (pulse_look(s->pulse, node, &l) && l.tried_ms && l.end == PROBE_AUTH)
        return TROUBLE_AUTH;
    if (v->alive == ALIVE_DEAD)
        return TROUBLE_DEAD;
    return v->errors && is_replaced(s, node) ? TROUBLE_REPLACED : TROUBLE_COUNT;
}

struct value *attention_view(struct server *s, struct arena *mem)
{
    uint32_t counts[TROUBLE_COUNT] = {0}, first[TROUBLE_COUNT] = {0};
    struct value *list = value_list(mem);
    for (uint32_t id = 1; id < anneal_node_end(s->engine); id++) {
        struct node_view v;
        if (!anneal_node(s->engine, id, &v) || v.gone)
            continue;
        enum trouble t = trouble_of(s, id, &v);
        if (t < TROUBLE_COUNT && counts[t]++ == 0)
            first[t] = id;
    }
    for (int t = 0; t < TROUBLE_COUNT; t++) {
        if (!counts[t])
            continue;
        const char *name = view_node_name(s, first[t]);
        const char *remedy = t == TROUBLE_REPLACED
                                 ? arena_printf(mem, "anneal node redeploy %s", name)
                                 : probing_remedy(s, mem, first[t]);
        struct value *v = value_map(mem);
        value_put_text(mem, v, "rule", troubles[t].rule);
        value_put_text(mem, v, "text",
                       counts[t] == 1
                           ? arena_printf(mem, "node %s %s", name, troubles[t].one)
                           : arena_printf(mem, "%u nodes %s", counts[t], troubles[t].many));
        value_put_text(mem, v, "remedy",
                       counts[t] > 1 && troubles[t].list ? troubles[t].list : remedy);
        value_put_int(mem, v, "count", counts[t]);
        value_put_text(mem, v, "node", name);
        value_add(mem, list, v);
    }
    rollouts_attention(s, mem, list);
    return list;
}
