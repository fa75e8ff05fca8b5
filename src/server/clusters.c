/* clusters.c - who there is: rows and memory */
/* SPDX-License-Identifier: Apache-2.0 */
#include "server/clusters.h"

#include <stdlib.h>

struct clusters {
    VEC(struct cluster) at; /* in order of deployments */
    struct u64map by_deployment;
    uint32_t n;           /* that there are */
    VEC(char *) payloads; /* by node; NULL: nothing */
};

static const char *const verb_names[] = {
#define X(id, text) [CLUSTER_##id] = (text),
    CLUSTER_VERBS(X)
#undef X
};

const char *cluster_verb_name(enum cluster_verb v)
{
    return v < CLUSTER_VERB_COUNT ? verb_names[v] : "unknown";
}

int cluster_verb_find(struct str name)
{
    for (int i = 1; i < CLUSTER_VERB_COUNT; i++)
        if (str_is(name, verb_names[i]))
            return i;
    return -1;
}

struct clusters *clusters_new(void)
{
    return xcalloc(1, sizeof(struct clusters));
}

void clusters_free(struct clusters *all)
{
    if (!all)
        return;
    for (size_t i = 0; i < all->at.n; i++) {
        free(all->at.at[i].owner);
        free(all->at.at[i].waiting);
        cluster_sight_free(all->at.at[i].sight);
    }
    for (size_t i = 0; i < all->payloads.n; i++)
        free(all->payloads.at[i]);
    vec_done(&all->at);
    vec_done(&all->payloads);
    u64map_done(&all->by_deployment);
    free(all);
}

/* --- clusters --- */

static struct cluster *cluster_find(const struct server *s, uint32_t deployment)
{
    uintptr_t at;
    return deployment && u64map_get(&s->clusters->by_deployment, deployment, &at)
               ? &s->clusters->at.at[at]
               : NULL;
}

const struct cluster *cluster_get(const struct server *s, uint32_t deployment)
{
    return cluster_find(s, deployment);
}

const struct cluster *cluster_next(const struct server *s, uint32_t after)
{
    for (size_t i = 0; i < s->clusters->at.n; i++)
        if (s->clusters->at.at[i].deployment > after)
            return &s->clusters->at.at[i];
    return NULL;
}

uint32_t clusters_count(const struct server *s)
{
    return s->clusters->n;
}

static void cluster_keep(struct clusters *all, const struct cluster *c)
{
    u64map_put(&all->by_deployment, c->deployment, all->at.n);
    vec_push(&all->at, *c);
    all->n++;
}

static void row_note(struct server *s, enum row_verb verb, const struct cluster *c, uint32_t tenant)
{
    struct row_cluster row = {.id = c->deployment,
                              .tenant = tenant,
                              .realm = 1,
                              .owner = str_of(c->owner),
                              .created_ms = c->created_ms,
                              .rev = c->rev,
                              .lease_ms = c->lease_ms,
                              .next_number = c->next_number,
                              .operation = c->operation,
                              .verb = c->verb,
                              .waiting = str_of(c->waiting ? c->waiting : "")};
    commit_row(s->commit, ROWS_CLUSTER, verb, &row);
}

void cluster_add(struct server *s, const struct server_call *c, const struct cluster *from)
{
    struct cluster own = *from;
    own.owner = xstrdup(from->owner);
    own.rev = 1;
    cluster_keep(s->clusters, &own);
    row_note(s, ROW_INSERT, &own, c->who->tenant);
}

void cluster_put(struct server *s, const struct cluster *now)
{
    struct cluster *c = cluster_find(s, now->deployment), was;
    if (!c)
        return;
    was = *c;
    *c = *now;
    c->owner = was.owner;
    c->waiting = was.waiting;
    c->sight = was.sight;
    c->told = was.told;
    c->rev = was.rev + 1;
    row_note(s, ROW_UPDATE, c, 0);
}

void cluster_drop(struct server *s, uint32_t deployment)
{
    struct cluster *c = cluster_find(s, deployment);
    struct row_cluster row = {.id = deployment};
    if (!c)
        return;
    commit_row(s->commit, ROWS_CLUSTER, ROW_DELETE, &row);
    u64map_del(&s->clusters->by_deployment, deployment);
    s->clusters->n--;
    free(c->owner);
    free(c->waiting);
    cluster_sight_free(c->sight);
    *c = (struct cluster){0};
}

void cluster_set_waiting(struct server *s, uint32_t deployment, struct str waiting)
{
    struct cluster *c = cluster_find(s, deployment);
    if (!c)
        return;
    free(c->waiting);
    c->waiting = waiting.n ? xstrndup(waiting.s, waiting.n) : NULL;
    c->rev++;
    row_note(s, ROW_UPDATE, c, 0);
    server_touch(s);
}

int cluster_refuses(const struct server *s, uint32_t deployment, struct err *e)
{
    if (!cluster_find(s, deployment))
        return 0;
    const char *name = view_deployment_name(s, deployment);
    err_set(e, ERR_CONFLICT, "deployment %s is a cluster: its layout is solved, not bound", name);
    return err_hint(e, "`anneal cluster` changes it; `anneal cluster show %s` shows it", name);
}

void cluster_sight_set(struct server *s, uint32_t deployment, struct cluster_sight *v)
{
    struct cluster *c = cluster_find(s, deployment);
    if (!c)
        return;
    cluster_sight_free(c->sight);
    c->sight = v;
}

/* --- payloads --- */

static void payload_keep(struct clusters *all, uint32_t node, struct str body)
{
    while (all->payloads.n <= node)
        vec_push(&all->payloads, NULL);
    free(all->payloads.at[node]);
    all->payloads.at[node] = body.n ? xstrndup(body.s, body.n) : NULL;
}

struct str cluster_payload(const struct server *s, uint32_t node)
{
    const char *body = node < s->clusters->payloads.n ? s->clusters->payloads.at[node] : NULL;
    return str_of(body ? body : "{}");
}

void cluster_payload_put(struct server *s, uint32_t node, struct str body)
{
    bool known = node < s->clusters->payloads.n && s->clusters->payloads.at[node];
    struct cluster *c = cluster_find(s, s->inv.nodes.at[node].deployment);
    if (c)
        c->told++;
    struct row_payload row = {.id = node, .tenant = 1, .realm = 1, .body = body};
    payload_keep(s->clusters, node, body);
    commit_row(s->commit, ROWS_PAYLOAD, known ? ROW_UPDATE : ROW_INSERT, &row);
}

void cluster_payload_drop(struct server *s, uint32_t node)
{
    struct row_payload row = {.id = node};
    if (node >= s->clusters->payloads.n || !s->clusters->payloads.at[node])
        return;
    payload_keep(s->clusters, node, (struct str){"", 0});
    commit_row(s->commit, ROWS_PAYLOAD, ROW_DELETE, &row);
}

/* --- restart --- */

static int load_cluster(void *arg, enum row_table t, const void *row, struct err *e)
{
    (void)t;
    const struct row_cluster *r = row;
    struct clusters *all = arg;
    if (r->verb >= CLUSTER_VERB_COUNT)
        return err_set(e, ERR_CORRUPT, "cluster %u: no operation %u", r->id, r->verb);
    struct cluster c = {.deployment = r->id,
                        .owner = xstrndup(r->owner.s, r->owner.n),
                        .created_ms = r->created_ms,
                        .lease_ms = r->lease_ms,
                        .rev = r->rev,
                        .next_number = r->next_number,
                        .operation = r->operation,
                        .verb = r->verb,
                        .waiting = r->waiting.n ? xstrndup(r->waiting.s, r->waiting.n) : NULL};
    cluster_keep(all, &c);
    return 0;
}

static int load_payload(void *arg, enum row_table t, const void *row, struct err *e)
{
    (void)t;
    const struct row_payload *r = row;
    (void)e;
    payload_keep(arg, r->id, r->body);
    return 0;
}

int clusters_load(struct server *s, struct err *e)
{
    int rc = store_each(s->store, ROWS_CLUSTER, load_cluster, s->clusters, e);
    return rc < 0 ? rc : store_each(s->store, ROWS_PAYLOAD, load_payload, s->clusters, e);
}
