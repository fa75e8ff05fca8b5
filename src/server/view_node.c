/* view_node.c - a node as a value: the engine's belief, the administrator's words, and the worst of
 * what is on it */
/* SPDX-License-Identifier: Apache-2.0 */
#include "server/probing.h"

/* How much a state matters when one word must stand for all; what is in service or gone does not.
 * The order is Crowbar's: an error is shown before work under way, work under way before work to
 * come. */
static int gravity(enum noderole_state s)
{
    switch (s) {
    case NODEROLE_ERROR: return 5;
    case NODEROLE_TRANSITION:
    case NODEROLE_REMOVING: return 4;
    case NODEROLE_TODO: return 3;
    case NODEROLE_BLOCKED: return 2;
    case NODEROLE_PROPOSED: return 1;
    case NODEROLE_ACTIVE:
    case NODEROLE_STALE:
    case NODEROLE_REMOVED:
    case NODEROLE_STATE_COUNT: break;
    }
    return 0;
}

enum noderole_state view_node_state(const struct server *s, uint32_t id)
{
    enum noderole_state worst = NODEROLE_ACTIVE;
    for (uint32_t r = anneal_node_first_noderole(s->engine, id); r;
         r = anneal_node_next_noderole(s->engine, r)) {
        struct noderole_view v;
        if (anneal_noderole(s->engine, r, &v) && gravity(v.state) > gravity(worst))
            worst = v.state == NODEROLE_REMOVING ? NODEROLE_TRANSITION : v.state;
    }
    return worst;
}

/* A field of the body if it is of the kind that is promised, else an empty one. */
static const struct value *field(struct arena *a, const struct value *body, const char *key,
                                 enum value_kind kind)
{
    const struct value *v = value_get(body, key);
    if (value_is(v, kind))
        return v;
    return kind == VALUE_MAP ? value_map(a) : value_list(a);
}

struct value *view_node(struct server *s, struct arena *a, uint32_t id)
{
    const struct inv_node *n = &s->inv.nodes.at[id];
    const struct value *body = view_json(a, n->body);
    struct value *v = value_map(a);
    struct node_view e = {0};

    (void)anneal_node(s->engine, id, &e);
    value_put_int(a, v, "id", id);
    value_put_text(a, v, "name", n->name);
    value_put_text(a, v, "deployment", view_deployment_name(s, n->deployment));
    value_put_text(a, v, "state", noderole_state_name(view_node_state(s, id)));
    value_put_bool(a, v, "available", e.available);
    value_put_text(a, v, "alive", alive_state_name(e.alive));
    value_put_bool(a, v, "admin", value_as_bool(value_get(body, "admin"), false));
    value_put_int(a, v, "slots", e.slots);
    value_set(a, v, "labels", field(a, body, "labels", VALUE_MAP));
    value_set(a, v, "groups", field(a, body, "groups", VALUE_LIST));
    value_set(a, v, "addresses", field(a, body, "addresses", VALUE_LIST));
    value_set(a, v, "access", field(a, body, "access", VALUE_MAP));
    value_set(a, v, "probe", probing_view(s, a, id));
    value_put_text(a, v, "machine_id", value_as_text(value_get(body, "machine_id"), NULL));
    value_put_text(a, v, "boot_id", value_as_text(value_get(body, "boot_id"), NULL));
    value_set(a, v, "facts", field(a, body, "facts", VALUE_MAP));
    value_put_text(a, v, "note", value_as_text(value_get(body, "note"), NULL));
    const struct value *maintenance = value_get(body, "maintenance");
    value_set(a, v, "maintenance", maintenance ? maintenance : value_null(a));
    value_put_text(a, v, "boot_environment",
                   value_as_text(value_get(body, "boot_environment"), NULL));
    value_put_bool(a, v, "leaving", n->leaving != 0);
    value_put_int(a, v, "noderoles", e.noderoles);
    value_put_int(a, v, "rev", n->rev);
    return v;
}
