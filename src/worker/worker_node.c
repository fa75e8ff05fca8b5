/* worker_node.c - nodes that are reached by ssh: which one a name means, what they may forget
 *
 * A node is found by its name, and is whom the server's number says: a name may go from one node to
 * the next, as often as people like, and the next one shares neither keys nor connections with the
 * one before.  Numbers rise, so that what was sent to the one before is recognised, too.
 *
 * A change of access is taken with the next command.  What is older than what is known is not: a
 * task that was sent before its node's key was pinned must not have another key accepted.  A newer
 * access without a key means that the one that we have met is not to be held to any more.
 *
 * Results stay on a node until they are acknowledged.  What may be forgotten is gathered and told
 * in one command a node, a while later: nobody waits for it.
 *
 * A node that nobody asked for in NODE_KEEP_MS is forgotten: it may be gone, and if it is not, the
 * next message says all there is to know.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "worker/worker_node_i.h"

enum {
    FORGET_DELAY_MS = 5000,
    FORGET_MOST = 64,
    NODE_KEEP_MS = 10 * 60 * 1000,
    FENCE_SHIFT = 32, /* of access_rev: when the server's history began */
};

/* ---- which node ---- */

struct node *node_find(const struct worker *w, struct str name)
{
    uintptr_t found;
    return strmap_get(&w->nodes->by_name, name, &found) ? (struct node *)found : NULL;
}

static int order(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

/* The message is about a node that had this one's name before it (<0), or has it since (>0). */
static int node_order(const struct node *n, const struct taskmsg *m)
{
    int histories = order(m->access_rev >> FENCE_SHIFT, n->access_rev >> FENCE_SHIFT);
    if (!m->node_id || !n->id)
        return 0; /* a server of before does not tell */
    return histories ? histories : order(m->node_id, n->id);
}

static struct node *node_new(struct worker *w, const struct taskmsg *m)
{
    struct worker_nodes *all = w->nodes;
    struct node *n = xcalloc(1, sizeof *n);
    n->w = w;
    n->name = xstrndup(m->node.s, m->node.n);
    n->id = m->node_id;
    n->access_rev = m->access_rev;
    n->life = ++all->lives;
    n->link = way_link;
    arena_init(&n->mem);
    strmap_put(&all->by_name, str_of(n->name), (uintptr_t)n);
    link_append(&all->known, &n->listed);
    w->n.nodes++;
    return n;
}

static void node_free(struct node *n)
{
    reach_ask_free(n->ask);
    if (n->w->nodes->pool)
        ssh_pool_forget(n->w->nodes->pool, n->name, n->life);
    vec_done(&n->done);
    arena_done(&n->mem);
    link_remove(&n->listed);
    free(n->name);
    free(n->access);
    free(n);
}

/* Nobody finds it any more.  What is on its way to it, and back, goes on. */
static void node_retire(struct node *n)
{
    struct worker_nodes *all = n->w->nodes;
    n->gone = true;
    n->done.n = 0; /* what it keeps goes with its next boot, if there is one */
    strmap_del(&all->by_name, str_of(n->name));
    link_remove(&n->listed);
    link_append(&all->gone, &n->listed);
    n->w->n.nodes--;
}

/* What is said of a node that is known. */
static struct node *node_told(struct node *n, const struct taskmsg *m, struct err *e)
{
    bool newer = m->access_rev > n->access_rev;
    if (m->access_rev < n->access_rev)
        return n;
    n->access_rev = m->access_rev;
    n->id = n->id ? n->id : m->node_id;
    if (!str_is(m->access, n->access) && way_take(n, m, e) < 0)
        return NULL;
    if (newer && !*n->target.host_keys)
        ssh_pool_forget(n->w->nodes->pool, n->name, n->life);
    return n;
}

struct node *node_get(struct worker *w, const struct taskmsg *m, struct err *e)
{
    struct node *n = node_find(w, m->node);
    int past = n ? node_order(n, m) : 0;
    if (way_open(w, e) < 0)
        return NULL;
    if (past < 0) {
        err_set(e, ERR_NOT_FOUND, "the node %s that this is for is gone, another one has its name",
                n->name);
        return NULL;
    }
    if (past > 0)
        node_retire(n);
    bool fresh = !n || n->gone;
    if (fresh)
        n = node_new(w, m);
    n->used_ms = loop_now_ms(w->loop);
    link_remove(&n->listed);
    link_append(&w->nodes->known, &n->listed);
    return !fresh ? node_told(n, m, e) : way_take(n, m, e) < 0 ? NULL : n;
}

bool node_is_past(const struct worker *w, const struct taskmsg *m)
{
    const struct node *n = node_find(w, m->node);
    return n && node_order(n, m) < 0;
}

struct node *node_use(struct node *n)
{
    n->users++;
    return n;
}

void node_unuse(struct node *n)
{
    n->users--;
}

/* Not at once: a callback of it may be on the stack. */
void nodes_bury(struct worker *w)
{
    for (struct link *l = w->nodes->gone.next, *next; l != &w->nodes->gone; l = next) {
        struct node *n = LINK_OF(l, struct node, listed);
        next = l->next;
        if (n->users == 0)
            node_free(n);
    }
}

void nodes_tire(struct worker *w)
{
    struct worker_nodes *all = w->nodes;
    uint64_t now_ms = loop_now_ms(w->loop);
    while (!link_empty(&all->known)) {
        struct node *n = LINK_OF(all->known.next, struct node, listed);
        if (n->used_ms + NODE_KEEP_MS > now_ms)
            break;
        if (n->users == 0 && !n->ask && n->done.n == 0) {
            node_retire(n);
            continue;
        }
        n->used_ms = now_ms;
        link_remove(&n->listed);
        link_append(&all->known, &n->listed);
    }
}

/* ---- what a node may forget ---- */

static void forgot(void *arg, const struct reach_answer *answer)
{
    struct node *n = arg;
    reach_ask_free(n->ask);
    n->ask = NULL;
    (void)answer; /* what it could not be told goes with its next boot */
    if (n->done.n > 0)
        loop_timer_at(n->w->nodes->forget, loop_now_ms(n->w->loop) + FORGET_DELAY_MS);
}

static bool node_forget(struct node *n)
{
    const char *chains[FORGET_MOST];
    struct err e;
    size_t k = 0;
    if (n->ask || n->done.n == 0)
        return n->ask != NULL;
    while (k < FORGET_MOST && k < n->done.n) {
        chains[k] = n->done.at[n->done.n - 1 - k].chain;
        k++;
    }
    if (reach_ack(&n->link, &n->options, chains, k, forgot, n, &n->ask, &e) < 0)
        n->ask = NULL;
    n->done.n -= k;
    return true;
}

static void on_forget(void *arg)
{
    struct worker *w = arg;
    bool some = false;
    for (struct link *l = w->nodes->known.next; l != &w->nodes->known; l = l->next)
        some |= node_forget(LINK_OF(l, struct node, listed));
    if (some)
        loop_timer_at(w->nodes->forget, loop_now_ms(w->loop) + FORGET_DELAY_MS);
    else if (w->n.running == 0)
        alloc_trim(); /* all is said and done, and connections may stand idle for long */
}

void node_forget_later(struct node *n, const char *chain)
{
    struct worker_nodes *all = n->w->nodes;
    if (n->gone)
        return;
    struct reach_name *name = vec_add(&n->done);
    snprintf(name->chain, sizeof name->chain, "%s", chain);
    if (!loop_timer_armed(all->forget))
        loop_timer_at(all->forget, loop_now_ms(n->w->loop) + FORGET_DELAY_MS);
}

/* ---- life ---- */

static char *text_or_null(const char *s)
{
    return s && *s ? xstrdup(s) : NULL;
}

int nodes_start(struct worker *w, const struct worker_options *o, struct err *e)
{
    static const char *const vias[SSH_VIA_COUNT] = {
        [SSH_VIA_AUTO] = "auto", [SSH_VIA_LIBSSH] = "libssh", [SSH_VIA_OPENSSH] = "openssh"};
    struct worker_nodes *all = w->nodes = xcalloc(1, sizeof *all);
    const char *via = o->ssh_transport ? o->ssh_transport : "auto";
    link_init(&all->known);
    link_init(&all->gone);
    all->by_ssh = o->nodes_by_ssh;
    all->pinned = o->ssh_pinned;
    all->port = o->ssh_port;
    all->max_connections = o->ssh_max_connections;
    all->keepalive_ms = o->ssh_keepalive_ms;
    all->idle_ms = o->ssh_idle_ms;
    all->user = text_or_null(o->ssh_user);
    all->identity = text_or_null(o->ssh_identity);
    all->kex = text_or_null(o->ssh_kex);
    all->forget = loop_timer_new(w->loop, on_forget, w);
    while (all->via < SSH_VIA_COUNT && strcmp(via, vias[all->via]) != 0)
        all->via++;
    return all->via < SSH_VIA_COUNT ? 0 : err_set(e, ERR_INVALID, "no ssh transport \"%s\"", via);
}

void nodes_done(struct worker *w)
{
    struct worker_nodes *all = w->nodes;
    if (!all)
        return;
    while (!link_empty(&all->known))
        node_retire(LINK_OF(all->known.next, struct node, listed));
    nodes_bury(w);
    assert(link_empty(&all->gone)); /* travels and probes are over */
    strmap_done(&all->by_name);
    ssh_pool_free(all->pool);
    loop_timer_free(all->forget);
    free(all->user);
    free(all->identity);
    free(all->kex);
    free(all);
    w->nodes = NULL;
}
