/* cluster_payload.c - what tasks told about a node of a cluster
 *
 * Each task that succeeds leaves what it returned under results.<task>; the keys that its
 * definition declares also become part of the node's config, as plain keys.  Nothing that a task
 * returns can take the place of anything else: reserved keys cannot be declared (RFC 08, section
 * 7).  It is kept with the node and goes with it.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "server/cluster_i.h"

enum { PAYLOAD_BYTES = 1 << 20 }; /* of one node */

static struct value *part(struct arena *mem, const struct value *body, const char *key)
{
    const struct value *was = value_get(body, key);
    struct value *now = value_map(mem);
    for (uint32_t i = 0; value_is(was, VALUE_MAP) && i < was->n; i++)
        value_set(mem, now, was->members[i].key, &was->members[i].v);
    return now;
}

static int keep(struct server *s, uint32_t node, struct arena *mem, const struct value *results,
                const struct value *config, struct err *e)
{
    struct value *body = value_map(mem);
    SCOPED_BUF(text);
    value_set(mem, body, "config", config);
    value_set(mem, body, "results", results);
    json_write_canonical(&text, body);
    if (text.len > PAYLOAD_BYTES)
        return err_set(e, ERR_LIMIT, "node %s would have %zu bytes of results, more than %d",
                       view_node_name(s, node), text.len, PAYLOAD_BYTES);
    cluster_payload_put(s, node, buf_str(&text));
    return 0;
}

int cluster_returned(struct server *s, uint32_t task, struct str returns, struct err *e)
{
    struct task_view t;
    struct value *given;
    SCOPED_ARENA(mem);
    if (!returns.n || !anneal_task(s->engine, task, &t) || !t.node || !t.noderole ||
        !cluster_get(s, s->inv.noderoles.at[t.noderole].deployment))
        return 0;
    int rc = json_parse(&mem, returns.s, returns.n, NULL, &given, e);
    if (rc < 0)
        return rc;
    if (cluster_is_machine(str_of(view_role_name(s, t.noderole))) &&
        (rc = cluster_machine_told(s, t.node, &mem, given, e)) < 0)
        return rc;
    const struct inv_def *def = &s->inv.defs.at[t.def];
    const struct value *body = view_json(&mem, cluster_payload(s, t.node).s);
    struct value *declared = NULL;
    struct value *results = part(&mem, body, "results"), *config = part(&mem, body, "config");
    if (*def->returns &&
        (rc = json_parse(&mem, def->returns, strlen(def->returns), NULL, &declared, e)) < 0)
        return rc;
    /* It is told as what differs from before. */
    value_set(&mem, results, def->name, value_merge(&mem, value_get(results, def->name), given));
    for (uint32_t i = 0; value_is(declared, VALUE_LIST) && i < declared->n; i++) {
        const char *key = value_as_text(&declared->items[i], "");
        const struct value *v = value_get(given, key);
        if (v)
            value_set(&mem, config, key, v);
    }
    return keep(s, t.node, &mem, results, config, e);
}
