/* naive_sight.c - what a run sees, one document laid over the other (docs/rfc/06, section 7) */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "naive.h"

enum seen_as { STRANGER, ANCESTOR, PEER, NEIGHBOUR };

/* Members of a cluster are needed as a whole: shown as peers, neither merged nor followed. */
static bool is_member(const struct naive *v, int id)
{
    return v->truth.roles[v->beings[id].role].cluster;
}

static void relate(const struct naive *v, int self, enum seen_as *ret)
{
    for (int id = 0; id < v->end; id++)
        ret[id] = STRANGER;
    for (bool moved = true; moved;) {
        moved = false;
        for (int c = 1; c < v->end; c++)
            for (int p = 1; p < v->end; p++)
                if ((c == self || ret[c] == ANCESTOR) && ret[p] == STRANGER &&
                    naive_needs(v, c, p, false) && !is_member(v, p)) {
                    ret[p] = ANCESTOR;
                    moved = true;
                }
    }
    for (int id = 1; id < v->end; id++) {
        const struct being *b = &v->beings[id];
        if (!b->exists || id == self || ret[id] == ANCESTOR)
            continue;
        if (naive_needs(v, self, id, false))
            ret[id] = PEER;
        else if (b->in_service && b->node == v->beings[self].node)
            ret[id] = NEIGHBOUR;
    }
}

/* By (cohort, id). */
static int next_of(const struct naive *v, const enum seen_as *as, enum seen_as which, int after)
{
    int best = 0;
#define RANK(id) (v->beings[(id)].cohort * BEINGS_MOST + (id))
    for (int id = 1; id < v->end; id++)
        if (as[id] == which && (!after || RANK(id) > RANK(after)) &&
            (!best || RANK(id) < RANK(best)))
            best = id;
#undef RANK
    return best;
}

static const struct value *deployment_role(struct naive *v, const struct value *under, int d,
                                           int role)
{
    if (!d)
        return under;
    under = deployment_role(v, under, v->deployment_parent[d], role);
    const struct naive_snapshot *head = naive_head(v, d);
    const struct naive_entry *t = head ? naive_entry(&head->map, role, 0) : NULL;
    return t ? naive_merge(&v->mem, under, naive_parse(&v->mem, t->user)) : under;
}

static const struct value *block(struct naive *v, const struct value *under, int id)
{
    const struct being *b = &v->beings[id];
    under = deployment_role(v, under, b->deployment, b->role);
    under = naive_merge(&v->mem, under, naive_parse(&v->mem, b->wall));
    under = naive_merge(&v->mem, under, naive_parse(&v->mem, b->system));
    return naive_merge(&v->mem, under, naive_parse(&v->mem, b->user));
}

const struct value *naive_sight(struct naive *v, int id, bool ambient)
{
    enum seen_as as[BEINGS_MOST];
    const struct value *doc = truth_defaults(&v->mem, &v->truth, v->beings[id].role);
    relate(v, id, as);
    for (int x = 0; ambient && (x = next_of(v, as, NEIGHBOUR, x));)
        doc = block(v, doc, x);
    for (int x = 0; (x = next_of(v, as, ANCESTOR, x));)
        doc = block(v, doc, x);
    doc = block(v, doc, id);
    for (int x = 0; (x = next_of(v, as, PEER, x));) {
        char path[48];
        const struct value *one = block(v, value_map(&v->mem), x);
        snprintf(path, sizeof path, "peers/r%d/n%d", v->beings[x].role, v->beings[x].node);
        doc = naive_merge(&v->mem, doc, naive_at_path(&v->mem, path, one));
    }
    return doc;
}

static const struct value *value_below(const struct value *v, const char *path)
{
    while (v && *path) {
        size_t n = strcspn(path, "/");
        v = v->kind == VALUE_MAP ? value_get_str(v, (struct str){path, n}) : NULL;
        path += n + (path[n] == '/');
    }
    return v;
}

static void input_add(struct naive *v, struct buf *b, const struct value *doc, const char *path)
{
    const struct value *one = value_below(doc, path);
    buf_printf(b, "%s %s\n", path, one ? naive_text(&v->mem, one) : "absent");
}

/* What is read of a cluster is read of each of its members. */
const char *naive_inputs(struct naive *v, int id)
{
    const struct truth_role *r = &v->truth.roles[v->beings[id].role];
    const struct value *doc = naive_sight(v, id, false);
    SCOPED_BUF(b);
    for (int i = 0; i < r->n_attributes; i++)
        input_add(v, &b, doc, r->attributes[i].path);
    for (int i = 0; i < r->n_wants; i++) {
        input_add(v, &b, doc, r->wants[i].path);
        if (r->wants[i].role >= 0 && v->truth.roles[r->wants[i].role].cluster)
            input_add(v, &b, doc, arena_printf(&v->mem, "peers/r%d", r->wants[i].role));
    }
    return arena_strndup(&v->mem, buf_str(&b).s, b.len);
}
