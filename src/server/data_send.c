/* data_send.c - what a task is sent
 *
 * A message holds small data whole.  Where what lies below a noderole's own documents is large (its
 * ancestors, its neighbours, defaults), or the document of its peers is, they are named by digest:
 * many tasks of many noderoles see the same ones, and a worker asks for each once.  The task sees
 * `under`, with `data` laid over it, with `over` laid over that.
 *
 * Laying documents over each other in another order than one by one gives the same unless something
 * in the middle replaces a map by something else and a later one puts a map there again.  So what a
 * message means is compared with what sight says before it is sent; if they differ, everything but
 * the peers goes as one document.
 *
 * Documents are kept for whoever asks, bounded by two generations: those that nobody asked for in a
 * while go.  They can be made again as long as what they were made of has not changed.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "server/clusters.h"
#include "server/data_i.h"

#include <stdlib.h>
#include <string.h>

#include "base/json.h"

/* Below this, naming a document costs more than sending it: its digest, a question, an answer and a
 * place on both sides. */
enum { INLINE_BYTES = 4096 };

/* --- documents by digest --- */

void data_sent_done(struct data_sent *g)
{
    for (size_t i = 0; i < g->at.n; i++)
        if (g->at.at[i].key)
            free((void *)g->at.at[i].val);
    strmap_done(&g->at);
    g->bytes = 0;
}

static void sent_add(struct data *d, struct data_text *t)
{
    if (d->young.bytes > 0 && d->young.bytes + t->n > DATA_SENT_BYTES / 2) {
        data_sent_done(&d->old);
        d->old = d->young;
        d->young = (struct data_sent){0};
    }
    d->young.bytes += t->n;
    strmap_put(&d->young.at, str_of(t->digest), (uintptr_t)t);
}

struct str data_sent_get(struct server *s, struct str digest)
{
    struct data *d = s->data;
    uintptr_t found;
    if (!strmap_get(&d->young.at, digest, &found)) {
        if (!strmap_get(&d->old.at, digest, &found))
            return (struct str){"", 0};
        strmap_del(&d->old.at, digest);
        d->old.bytes -= ((struct data_text *)found)->n;
        sent_add(d, (struct data_text *)found);
    }
    const struct data_text *t = (const struct data_text *)found;
    return (struct str){t->bytes, t->n};
}

/* Keeps the text and gives its digest. */
static struct str sent_keep(struct server *s, struct str text, struct arena *a)
{
    char hex[DIGEST_HEX];
    struct digest sum = digest_of(text.s, text.n);
    digest_hex(&sum, hex);
    if (!data_sent_get(s, str_of(hex)).n) {
        struct data_text *t = xcalloc(1, sizeof *t + text.n);
        memcpy(t->digest, hex, sizeof hex);
        t->n = text.n;
        memcpy(t->bytes, text.s, text.n);
        sent_add(s->data, t);
    }
    return str_of(arena_strdup(a, hex));
}

/* --- one task --- */

static bool needs_peers(const struct server *s, uint32_t noderole)
{
    uint32_t n;
    const uint32_t *parents = anneal_parents(s->engine, noderole, &n);
    for (uint32_t i = 0; i < n; i++) {
        struct noderole_view v;
        if (anneal_noderole(s->engine, parents[i], &v) && (v.flags & NODEROLE_F_CLUSTER))
            return true;
    }
    return false;
}

static struct str text_of(const struct value *v, struct arena *a)
{
    SCOPED_BUF(b);
    json_write_canonical(&b, v);
    return (struct str){arena_strndup(a, b.data, b.len), b.len};
}

struct split {                 /* the layers of one noderole */
    struct sight_layers under; /* weaker than its own */
    struct sight_layers rest;  /* its own and its node's; peers, unless they go apart */
    struct sight_layers all;   /* both */
};

static struct split split_layers(const struct sight_layers *l, uint32_t noderole)
{
    uint32_t n = l->n, k = 0;
    while (k < n && (l->at[k].kind == SIGHT_DEFAULT || l->at[k].kind == SIGHT_AMBIENT ||
                     l->at[k].noderole != noderole))
        k++;
    return (struct split){{l->at, k}, {l->at + k, n - k}, *l};
}

/* The digest of a document of peers, "" if it is small: told once while the cache has it. */
static struct str peers_apart(struct data_look *l, const struct value *doc, struct arena *a)
{
    struct data *d = l->server->data;
    bool shared = l->cache && !l->own_cache;
    struct str digest = {"", 0};
    uintptr_t known;
    if (shared && u64map_get(&d->peers, (uintptr_t)doc, &known)) {
        digest = str_of((const char *)known);
        if (!digest.n || data_sent_get(l->server, digest).n)
            return digest;
    }
    struct str text = text_of(doc, a);
    if (text.n >= INLINE_BYTES)
        digest = sent_keep(l->server, text, a);
    if (shared)
        u64map_put(&d->peers, (uintptr_t)doc, (uintptr_t)arena_strdup(&d->parsed, digest.s));
    return digest;
}

static void render_parts(struct data_look *l, uint32_t noderole, struct split *p,
                         const struct value *cluster, struct arena *a, struct data_parts *ret)
{
    static const struct value nothing = {.kind = VALUE_MAP};
    const struct value *whole = data_look_merge(l, noderole, &p->all, a);
    const struct value *under = sight_data(&p->under, a), *rest = sight_data(&p->rest, a);
    if (cluster) {
        whole = value_merge(a, whole, cluster);
        rest = value_merge(a, rest, cluster);
    }
    struct str below = text_of(under, a);
    if (below.n < INLINE_BYTES) {
        ret->data = text_of(whole, a);
        return;
    }
    const struct value *added = value_diff(a, value_merge(a, under, rest), whole, NULL);
    if (added) /* what schemas fill in */
        rest = value_merge(a, rest, added);
    if (!value_equal(value_merge(a, under, rest), whole)) {
        below = text_of(whole, a);
        rest = &nothing;
    }
    ret->under = sent_keep(l->server, below, a);
    ret->data = text_of(rest, a);
}

/* The nodes of a cluster: with the rest if they are few, else as a document of their own.  A task
 * that sees peers as well has both in one. */
static const struct value *with_nodes(struct server *s, uint32_t deployment,
                                      const struct value *cluster, struct arena *a,
                                      struct data_parts *ret)
{
    struct str digest, nodes = data_cluster_nodes(s, deployment, &digest);
    bool apart = nodes.n >= INLINE_BYTES && !ret->over.n;
    if (apart) {
        if (!data_sent_get(s, digest).n)
            (void)sent_keep(s, nodes, a);
        ret->over = str_of(arena_strndup(a, digest.s, digest.n));
    }
    return apart ? cluster : value_merge(a, cluster, view_json(a, nodes.s));
}

int data_send_render(struct data_look *l, uint32_t noderole, struct arena *a,
                     struct data_parts *ret, struct err *e)
{
    struct server *s = l->server;
    struct sight_layers layers;
    struct noderole_view v;
    *ret = (struct data_parts){.data = {"{}", 2}, .under = {"", 0}, .over = {"", 0}};
    const struct value *cluster = NULL;
    uint32_t deployment = s->inv.noderoles.at[noderole].deployment;
    int rc = !anneal_noderole(s->engine, noderole, &v) || !v.node
                 ? 0
                 : data_cluster_own(s, deployment, v.node,
                                    cluster_is_machine(str_of(view_role_name(s, noderole))), a,
                                    &cluster, e);
    if (rc < 0)
        return rc;
    if (v.node && !cluster && !data_any(s) &&
        data_lens_of(s, noderole)->lens.sight.n_attributes == 0 && !needs_peers(s, noderole)) {
        ret->data = data_node_get(s, v.node)->text;
        return 0;
    }
    rc = data_look_layers(l, noderole, a, &layers, e);
    if (rc < 0 || layers.n == 0)
        return rc;
    struct split p = split_layers(&layers, noderole);
    if (layers.at[layers.n - 1].kind == SIGHT_PEERS) {
        ret->over = peers_apart(l, layers.at[layers.n - 1].doc, a);
        if (ret->over.n) {
            p.all.n--;
            p.rest.n--;
        }
    }
    if (cluster)
        cluster = with_nodes(s, deployment, cluster, a, ret);
    render_parts(l, noderole, &p, cluster, a, ret);
    return 0;
}
