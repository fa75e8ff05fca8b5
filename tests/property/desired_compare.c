/* desired_compare.c - are both sides the same: bindings, maps, states, visible data */
/* SPDX-License-Identifier: Apache-2.0 */
#include "desired_run.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"

void run_wrong(struct run *x, const char *fmt, ...)
{
    va_list ap;
    if (*x->wrong)
        return; /* what follows from it is not interesting */
    va_start(ap, fmt);
    vsnprintf(x->wrong, sizeof x->wrong, fmt, ap);
    va_end(ap);
}

void run_log(struct run *x, const char *fmt, ...)
{
    char line[400];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(line, sizeof line, fmt, ap);
    va_end(ap);
    buf_puts(&x->log, line);
}

/* --- plans --- */

static bool has_parent(const struct naive_plan *n, const struct naive_new *f, uint32_t ref, int end)
{
    for (int i = 0; i < f->n_parents; i++) {
        int want = f->parents[i] < 0 ? n->fresh[-1 - f->parents[i]].id : f->parents[i];
        int got = ref & PLAN_NEW ? end + (int)(ref & ~PLAN_NEW) : (int)ref;
        if (want == got)
            return true;
    }
    return false;
}

static const struct naive_new *fresh_of(const struct naive_plan *n, int id)
{
    for (int i = 0; i < n->n_fresh; i++)
        if (n->fresh[i].id == id)
            return &n->fresh[i];
    return NULL;
}

static void compare_new(struct run *x, const struct naive_plan *n, const struct plan *p, uint32_t i)
{
    const struct plan_noderole *got = &p->noderoles[i];
    const struct naive_new *want = fresh_of(n, x->v->end + (int)i);
    if (!want || !str_is(got->role, x->v->truth.roles[want->role].name) ||
        got->node != (uint32_t)want->node || got->deployment != (uint32_t)n->deployment) {
        run_wrong(x, "new noderole %u of the plan is %s@%u", i, got->role.s, got->node);
        return;
    }
    if (got->cohort != (uint32_t)want->cohort || got->n_parents != (uint32_t)want->n_parents)
        run_wrong(x, "%s@%u has cohort %u and %u parents, not %d and %d", got->role.s, got->node,
                  got->cohort, got->n_parents, want->cohort, want->n_parents);
    for (uint32_t k = 0; k < got->n_parents; k++)
        if (!has_parent(n, want, got->parents[k], x->v->end))
            run_wrong(x, "%s@%u has the wrong parent %x", got->role.s, got->node, got->parents[k]);
    if (!str_is(got->user, want->user) && !(str_is(got->user, "{}") && !*want->user))
        run_wrong(x, "%s@%u has user data %s, not %s", got->role.s, got->node, got->user.s,
                  want->user);
}

static int peer_id(const struct naive_plan *n, int k)
{
    int parent = n->peers[k].parent;
    return parent < 0 ? n->fresh[-1 - parent].id : parent;
}

/* Before it is applied by either. */
void run_compare_plan(struct run *x, const struct naive_plan *n, const struct plan *p)
{
    if (p->n_noderoles != (uint32_t)n->n_fresh || p->n_needs != (uint32_t)n->n_peers)
        run_wrong(x, "the plan has %u noderoles and %u needs, not %d and %d", p->n_noderoles,
                  p->n_needs, n->n_fresh, n->n_peers);
    for (uint32_t i = 0; i < p->n_noderoles && !*x->wrong; i++)
        compare_new(x, n, p, i);
    for (uint32_t i = 0; i < p->n_needs && !*x->wrong; i++) {
        bool known = false;
        for (int k = 0; k < n->n_peers; k++)
            known |= (uint32_t)n->peers[k].child == p->needs[i].child &&
                     peer_id(n, k) == (p->needs[i].parent & PLAN_NEW
                                           ? x->v->end + (int)(p->needs[i].parent & ~PLAN_NEW)
                                           : (int)p->needs[i].parent);
        if (!known)
            run_wrong(x, "noderole %u gets a peer that it does not need", p->needs[i].child);
    }
}

/* --- maps --- */

struct map_read {
    struct run *x;
    struct naive_map *m;
};

static void entry_read(void *ctx, uint64_t key, struct str value)
{
    struct map_read *to = ctx;
    struct naive_entry t = {.role = (int)snapshot_key_role(key) - 1,
                            .node = (int)snapshot_key_node(key)};
    struct snapshot_entry got;
    struct err e;
    if (snapshot_entry_decode(&to->x->r.mem, value, &got, &e) < 0) {
        run_wrong(to->x, "an entry cannot be read: %s", e.text);
        return;
    }
    t.requested = got.flags & SNAPSHOT_F_REQUESTED;
    t.user = got.user ? desire_doc_text(to->x->r.d, got.user).s : "";
    for (uint32_t i = 0; i < got.n_parents; i++)
        t.parents[t.n_parents++] = (struct naive_parent){(int)snapshot_key_role(got.parents[i]) - 1,
                                                         (int)snapshot_key_node(got.parents[i]),
                                                         snapshot_parent_is_used(&got, i)};
    naive_map_set(to->m, &t);
}

void run_map(struct run *x, const struct pmap *m, struct naive_map *ret)
{
    struct map_read to = {x, ret};
    ret->n = 0;
    pmap_each(m, entry_read, &to);
}

static void compare_map(struct run *x, const char *what, const struct naive_snapshot *s,
                        const struct pmap *got, const struct naive_map *want)
{
    static struct naive_map read; /* large; filled anew by each call */
    run_map(x, got, &read);
    const char *diff = naive_map_diff(&x->v->mem, want, &read);
    if (*diff)
        run_wrong(x, "%s of snapshot %d of deployment %d differs: %s", what, s->number,
                  s->deployment, diff);
}

static void compare_snapshots(struct run *x)
{
    static const enum snapshot_state states[] = {[NAIVE_PROPOSED] = SNAPSHOT_PROPOSED,
                                                 [NAIVE_COMMITTED] = SNAPSHOT_COMMITTED,
                                                 [NAIVE_ARCHIVED] = SNAPSHOT_ARCHIVED,
                                                 [NAIVE_RECALLED] = SNAPSHOT_RECALLED};
    if (desire_end(x->r.d) != (uint32_t)x->v->n_snapshots + 1)
        run_wrong(x, "there are %u snapshots, not %d", desire_end(x->r.d) - 1, x->v->n_snapshots);
    for (int i = 0; i < x->v->n_snapshots && !*x->wrong; i++) {
        const struct naive_snapshot *want = x->v->snapshots[i];
        const struct snapshot *got = desire_snapshot(x->r.d, (uint32_t)i + 1);
        if (!got || got->state != states[want->state] || got->number != (uint32_t)want->number ||
            got->deployment != (uint32_t)want->deployment) {
            run_wrong(x, "snapshot %d of deployment %d is another one", want->number,
                      want->deployment);
            return;
        }
        if (want->state != NAIVE_RECALLED)
            compare_map(x, "the map", want, got->root, &want->map);
        if (want->state == NAIVE_PROPOSED)
            compare_map(x, "the base", want, got->base, &want->base);
    }
}

/* --- noderoles --- */

static void compare_parents(struct run *x, int id)
{
    uint32_t n;
    int counting = 0;
    const uint32_t *got = anneal_parents(x->r.a, (uint32_t)id, &n);
    const struct being *b = &x->v->beings[id];
    for (int i = 0; i < b->n_needs; i++)
        counting += !b->needs[i].sleeps;
    x->counts.sleeping += (unsigned)(b->n_needs - counting);
    if (n != (uint32_t)counting)
        run_wrong(x, "noderole %d has %u parents, not %d", id, n, counting);
    for (uint32_t i = 0; i < n; i++)
        if (!naive_needs(x->v, id, (int)got[i], false))
            run_wrong(x, "noderole %d does not need %u", id, got[i]);
}

static void compare_being(struct run *x, int id, bool quiet)
{
    const struct being *b = &x->v->beings[id];
    struct noderole_view v = {0};
    bool there = anneal_noderole(x->r.a, (uint32_t)id, &v);
    if (there != b->exists) {
        run_wrong(x, "noderole %d is %s", id, there ? "still there" : "gone");
        return;
    }
    if (!there)
        return;
    const struct real_being *r = &x->r.beings.at[id];
    if (r->role != (uint32_t)b->role || v.node != (uint32_t)b->node ||
        r->deployment != (uint32_t)b->deployment || v.cohort != (uint32_t)b->cohort)
        run_wrong(x, "noderole %d is r%u@%u in %u with cohort %u, not r%d@%d in %d with %d", id,
                  r->role, v.node, r->deployment, v.cohort, b->role, b->node, b->deployment,
                  b->cohort);
    if ((v.target == TARGET_ABSENT) != b->leaving || strcmp(r->user, b->user) != 0)
        run_wrong(x, "noderole %d: target %s, user data %s, not %s", id, target_name(v.target),
                  r->user, b->user);
    compare_parents(x, id);
    if (!quiet)
        return;
    const char *got = noderole_state_name((enum noderole_state)v.state);
    x->counts.errors += b->failed;
    x->counts.blocked += !b->failed && !b->leaving && !b->in_service;
    if (strcmp(got, naive_state(x->v, id)) != 0)
        run_wrong(x, "noderole %d (r%d@%d) is %s, not %s", id, b->role, b->node, got,
                  naive_state(x->v, id));
}

struct naive_word run_word(void *ctx, int id);
static bool need_counts(void *ctx, int child, int parent)
{
    struct run *x = ctx;
    uint32_t n;
    const uint32_t *got = anneal_parents(x->r.a, (uint32_t)child, &n);
    for (uint32_t i = 0; i < n; i++)
        if (got[i] == (uint32_t)parent)
            return true;
    return false;
}

static bool need_awaited(void *ctx, int child, int parent)
{
    return anneal_awaits(((struct run *)ctx)->r.a, (uint32_t)child, (uint32_t)parent);
}

static int leaving_waits(void *ctx, int goer, int holder)
{
    bool successor = false;
    bool waits = anneal_leaves(((struct run *)ctx)->r.a, (uint32_t)goer, (uint32_t)holder,
                               &successor);
    return waits ? 1 + successor : 0;
}

struct naive_word run_word(void *ctx, int id)
{
    struct run *x = ctx;
    struct noderole_view v = {0};
    bool there = anneal_noderole(x->r.a, (uint32_t)id, &v);
    return (struct naive_word){.exists = there,
                               .failed = there && v.state == NODEROLE_ERROR,
                               .counts = need_counts,
                               .awaits = need_awaited,
                               .waits_for = leaving_waits};
}

/* --- visible data --- */

static void compare_inputs(struct run *x, int id)
{
    SCOPED_ARENA(mem);
    struct err e;
    uint64_t digest = 0;
    const char *text = naive_inputs(x->v, id);
    struct run_seen *was = &x->seen[id];
    if (sight_inputs(&x->r.sight, x->r.cache, (uint32_t)id, &mem, &digest, &e) < 0)
        run_wrong(x, "noderole %d: %s", id, e.text);
    if (was->text && (was->digest == digest) != !strcmp(was->text, text))
        run_wrong(x, "inputs of noderole %d: the digest is %s, the values %sare %s", id,
                  was->digest == digest ? "the same" : "another", was->text, text);
    *was = (struct run_seen){digest, text};
}

static void compare_sight(struct run *x, int id)
{
    SCOPED_ARENA(mem);
    struct sight_layers layers;
    struct err e;
    SCOPED_BUF(got);
    if (sight_layers(&x->r.sight, x->r.cache, (uint32_t)id, &mem, &layers, &e) < 0) {
        run_wrong(x, "noderole %d sees nothing: %s", id, e.text);
        return;
    }
    json_write_canonical(&got, sight_data(&layers, &mem));
    const char *want = naive_text(&x->v->mem, naive_sight(x->v, id, true));
    x->counts.seen++;
    x->counts.seen_peers += strstr(want, "\"peers\":{\"r") != NULL;
    if (strcmp(got.data, want) != 0)
        run_wrong(x, "noderole %d sees %s, not %s", id, got.data, want);
    compare_inputs(x, id);
}

void run_compare(struct run *x, bool quiet)
{
    struct err e;
    if (anneal_check(x->r.a, &e) < 0)
        run_wrong(x, "the engine: %s", e.text);
    if (anneal_noderole_end(x->r.a) != (uint32_t)x->v->end)
        run_wrong(x, "there are %u noderoles, not %d", anneal_noderole_end(x->r.a), x->v->end);
    for (int id = 1; id < x->v->end && !*x->wrong; id++)
        compare_being(x, id, quiet);
    if (!*x->wrong)
        compare_snapshots(x);
    sight_cache_reset(x->r.cache);
    for (int i = 0; i < 6 && quiet && x->v->end > 1 && !*x->wrong; i++) {
        int id = 1 + (int)roll(&x->d, (uint32_t)x->v->end - 1);
        if (x->v->beings[id].exists)
            compare_sight(x, id);
    }
}
