/* node_select.c - which nodes a selector means
 *
 * A node's body is parsed only when a term asks for a label or a group; a selector that is one
 * known name costs one look-up.  Each plain name must exist: a typing error is told, not taken for
 * "no nodes".
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/json.h"
#include "server/server_i.h"

struct lazy_body { /* of the node being matched */
    struct arena *mem;
    const char *text;
    struct value *body;
};

static const struct value *body_of(struct lazy_body *l)
{
    struct err e;
    if (!l->body && l->text && json_parse(l->mem, l->text, strlen(l->text), NULL, &l->body, &e) < 0)
        l->text = NULL;
    return l->body;
}

static struct str label_of(void *ctx, struct str key)
{
    const struct value *v = value_get_str(value_get(body_of(ctx), "labels"), key);
    return value_is(v, VALUE_STRING) ? value_as_str(v) : (struct str){NULL, 0};
}

static bool is_in_group(void *ctx, struct str group)
{
    const struct value *groups = value_get(body_of(ctx), "groups");
    for (uint32_t i = 0; value_is(groups, VALUE_LIST) && i < groups->n; i++)
        if (str_eq(value_as_str(&groups->items[i]), group))
            return true;
    return false;
}

bool node_select_match(struct server *s, struct arena *mem, const struct selector *sel, uint32_t id)
{
    struct lazy_body body = {mem, s->inv.nodes.at[id].body, NULL};
    struct selector_node node = {str_of(s->inv.nodes.at[id].name), label_of, is_in_group, &body};
    return selector_match(sel, &node);
}

/* A plain name is a node's or a group's. */
static int check_words(struct server *s, const struct selector *sel, struct err *e)
{
    enum selector_word kind;
    struct str key, text;
    for (size_t i = 0; selector_word_at(sel, i, &kind, &key, &text); i++) {
        if (kind != SELECTOR_NAME || strmap_get(&s->inv.node_by_name, text, NULL))
            continue;
        bool group = false;
        SCOPED_ARENA(mem);
        for (uint32_t id = 1; id < s->inv.nodes.n && !group; id++) {
            struct lazy_body body = {&mem, s->inv.nodes.at[id].body, NULL};
            group = !s->inv.nodes.at[id].gone && is_in_group(&body, text);
            arena_reset(&mem);
        }
        if (!group) {
            err_set(e, ERR_UNKNOWN_NAME, "no node and no group is called %.*s", (int)text.n,
                    text.s);
            return err_hint(e, "`anneal node list` and `anneal group list` show what there is");
        }
    }
    return 0;
}

int node_select(struct server *s, struct str text, struct id_list *ret_ids, struct err *e)
{
    SCOPED_ARENA(mem);
    SCOPED_ARENA(each);
    const struct selector *sel;
    uintptr_t one;
    if (strmap_get(&s->inv.node_by_name, text, &one)) {
        vec_push(&ret_ids->ids, (uint32_t)one);
        return 0;
    }
    int r = selector_parse(&mem, text, &sel, e);
    if (r < 0 || (r = check_words(s, sel, e)) < 0)
        return r;
    for (uint32_t id = 1; id < s->inv.nodes.n; id++) {
        if (s->inv.nodes.at[id].gone || !s->inv.nodes.at[id].name)
            continue;
        if (node_select_match(s, &each, sel, id))
            vec_push(&ret_ids->ids, id);
        arena_reset(&each);
    }
    return 0;
}
