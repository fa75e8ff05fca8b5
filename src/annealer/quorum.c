/* quorum.c - of some parents of a noderole it is enough if a number of them is in service
 *
 * Needs stay one edge for each parent; a quorum says of some of them together how many are enough.
 * A member is *out* while only others can bring it on its way: it failed, something it waits for
 * did, it was cancelled or stopped, its node is dead, or nothing of it has begun in the standing
 * operation, which waits for nobody.  Who has a quorum is in service while enough members are,
 * waits at its gate until enough are complete and the rest is complete or out, and fails with them
 * when so many have that the rest cannot be enough.
 *
 * Each member has a *stand*, what its quorums were told of it last; each quorum has counts of the
 * stands of its members and what these come to in the counters of its child.  All of that is
 * derived.  A stand moves when its noderole is derived (noderole_fsm.c) and as it is lost
 * (ripple.c), so that a loss that takes several members finds the quorums as they will be.
 *
 * Who is in no quorum and has none costs nothing but two tests for 0.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "annealer/annealer_i.h"

#include <string.h>

#include "base/sort.h"

enum {                         /* noderole.stand */
       STAND_IN = 1u << 0,     /* in service */
       STAND_ACTIVE = 1u << 1, /* and ACTIVE */
       STAND_COMPLETE = 1u << 2,
       STAND_STOPPED = 1u << 3,
       STAND_COMES = 1u << 4,  /* neither complete nor stopped nor out */
       STAND_FAILED = 1u << 5, /* or cancelled: it goes on by somebody's word alone */
};
enum { /* quorum.told: what it is to its child */
       TOLD_OUT = 1u << 0,
       TOLD_STALE = 1u << 1,
       TOLD_SHUTS = 1u << 2,
       TOLD_HALTS = 1u << 3,
};
#define QUORUM_PERCENT (1u << 31) /* in the row: the number before it is one of a hundred */

/* ---- what a member is, and what members come to ---- */

static bool stands_still(const struct noderole *nr)
{
    return noderole_failing(nr) || nr->cancelled > 0;
}

static uint8_t stand_in(const struct anneal *a, uint32_t id, enum noderole_state state)
{
    const struct noderole *nr = &a->noderoles.at[id];
    bool in = noderole_in_service(state, nr->target), runs = nr->target == TARGET_RUNNING;
    bool dead = a->nodes.at[nr->node].alive == ALIVE_DEAD;
    bool waits = nr->op == OPERATION_STANDING && state == NODEROLE_BLOCKED;
    bool out = dead || waits || stands_still(nr);
    return (uint8_t)((in ? STAND_IN : 0) | (in && state == NODEROLE_ACTIVE ? STAND_ACTIVE : 0) |
                     (runs && nr->complete ? STAND_COMPLETE : 0) |
                     (nr->target == TARGET_STOPPED ? STAND_STOPPED : 0) |
                     (runs && !nr->complete && !out ? STAND_COMES : 0) |
                     (stands_still(nr) ? STAND_FAILED : 0));
}

static void count(struct quorum_count *c, uint8_t stand, uint32_t by)
{
    c->linked += by;
    c->serving += stand & STAND_IN ? by : 0;
    c->active += stand & STAND_ACTIVE ? by : 0;
    c->complete += stand & STAND_COMPLETE ? by : 0;
    c->stopped += stand & STAND_STOPPED ? by : 0;
    c->coming += stand & STAND_COMES ? by : 0;
}

/* Never more than there are, so that whom a cluster grows for waits for nobody new. */
static uint32_t enough(const struct quorum *q)
{
    uint64_t n = q->percent ? ((uint64_t)q->count.linked * q->min + 99) / 100 : q->min;
    return n < q->count.linked ? (uint32_t)n : q->count.linked;
}

static uint8_t comes_to(const struct quorum *q)
{
    const struct quorum_count *c = &q->count;
    uint32_t need = enough(q);
    bool shuts = c->coming > 0 || c->complete + c->stopped < need;
#ifdef ANNEAL_DEFECT_QUORUM
    bool out = c->serving + 1 < need; /* one less is enough */
#else
    bool out = c->serving < need;
#endif
    return (uint8_t)((out ? TOLD_OUT : 0) | (c->active < need || c->coming > 0 ? TOLD_STALE : 0) |
                     (shuts ? TOLD_SHUTS : 0) | (!shuts && c->complete < need ? TOLD_HALTS : 0));
}

/* What it comes to goes into the counters of its child. */
static void reckon(struct anneal *a, struct quorum *q)
{
    struct noderole *c = &a->noderoles.at[q->child];
    uint8_t was = q->told, is = comes_to(q);
    q->told = is;
    c->parents_out += (uint32_t) !!(is & TOLD_OUT) - (uint32_t) !!(was & TOLD_OUT);
    c->parents_stale += (uint32_t) !!(is & TOLD_STALE) - (uint32_t) !!(was & TOLD_STALE);
    c->gate += (uint32_t) !!(is & TOLD_SHUTS) - (uint32_t) !!(was & TOLD_SHUTS);
    c->halted += (uint32_t) !!(is & TOLD_HALTS) - (uint32_t) !!(was & TOLD_HALTS);
}

/* ---- members ---- */

static size_t member_at(const struct quorum *q, uint32_t id)
{
    return sort_first(q->members.at, q->members.n, it, *it >= id);
}

static bool member(const struct quorum *q, uint32_t id)
{
    size_t i = member_at(q, id);
    return i < q->members.n && q->members.at[i] == id;
}

uint32_t quorum_search(const struct anneal *a, uint32_t parent, uint32_t child)
{
    uint32_t q = a->noderoles.at[child].quorum;
    while (q && !member(&a->quorums.at[q], parent))
        q = a->quorums.at[q].next;
    return q;
}

static void member_add(struct anneal *a, uint32_t q, uint32_t id)
{
    struct quorum *of = &a->quorums.at[q];
    struct noderole *nr = &a->noderoles.at[id];
    size_t at = member_at(of, id);
    if (nr->joined++ == 0)
        nr->stand = stand_in(a, id, noderole_derive(a, id));
    vec_push(&of->members, 0);
    memmove(of->members.at + at + 1, of->members.at + at,
            (of->members.n - 1 - at) * sizeof *of->members.at);
    of->members.at[at] = id;
}

static uint32_t quorum_new(struct anneal *a, uint32_t child, uint32_t min, bool percent)
{
    uint32_t q = (uint32_t)a->quorums.n, *last = &a->noderoles.at[child].quorum;
    if (a->quorum_free) {
        q = a->quorum_free;
        a->quorum_free = a->quorums.at[q].next;
    } else {
        (void)vec_add(&a->quorums);
    }
    a->quorums.at[q] = (struct quorum){.child = child, .min = min, .percent = percent};
    while (*last)
        last = &a->quorums.at[*last].next;
    *last = q;
    return q;
}

static void quorum_end(struct anneal *a, uint32_t q)
{
    struct quorum *of = &a->quorums.at[q];
    uint32_t *at = &a->noderoles.at[of->child].quorum;
    while (*at != q)
        at = &a->quorums.at[*at].next;
    *at = of->next;
    for (size_t i = 0; i < of->members.n; i++)
        a->noderoles.at[of->members.at[i]].joined--;
    vec_done(&of->members);
    *of = (struct quorum){.next = a->quorum_free};
    a->quorum_free = q;
}

void quorum_leave(struct anneal *a, uint32_t parent, uint32_t child)
{
    uint32_t q = quorum_of(a, parent, child);
    struct quorum *of = &a->quorums.at[q];
    if (!q)
        return;
    size_t at = member_at(of, parent);
    a->noderoles.at[parent].joined--;
    memmove(of->members.at + at, of->members.at + at + 1,
            (of->members.n - 1 - at) * sizeof *of->members.at);
    if (--of->members.n == 0)
        quorum_end(a, q);
    noderole_changed(a, child);
}

void quorum_join(struct anneal *a, uint32_t parent, uint32_t child, uint32_t like)
{
    uint32_t q = like ? quorum_of(a, like, child) : 0;
    if (!q || quorum_of(a, parent, child))
        return;
    member_add(a, q, parent);
    noderole_changed(a, child);
}

/* ---- what follows for the child ---- */

void quorum_link(struct anneal *a, uint32_t q, uint32_t parent, bool counts)
{
    struct quorum *of = &a->quorums.at[q];
    count(&of->count, a->noderoles.at[parent].stand, counts ? 1 : UINT32_MAX);
    reckon(a, of);
}

void quorum_tell(struct anneal *a, uint32_t id)
{
    struct noderole *nr = &a->noderoles.at[id];
    uint8_t was = nr->stand, is;
    uint32_t n;
    if (!nr->joined || (is = stand_in(a, id, noderole_derive(a, id))) == was)
        return;
    nr->stand = is;
    const uint32_t *children = graph_out(&a->need, id, &n);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t q = quorum_of(a, id, children[i]);
        bool shut = gate_shut(a, children[i]);
        if (!q)
            continue;
        count(&a->quorums.at[q].count, was, UINT32_MAX);
        count(&a->quorums.at[q].count, is, 1);
        reckon(a, &a->quorums.at[q]);
        gate_moved(a, children[i], shut);
        noderole_derive_later(a, children[i]);
    }
}

bool quorum_serves(const struct anneal *a, uint32_t q)
{
    return !(a->quorums.at[q].told & TOLD_OUT);
}

bool quorum_comes(const struct anneal *a, uint32_t id)
{
    return a->noderoles.at[id].stand & STAND_COMES;
}

bool quorum_lacks(const struct anneal *a, uint32_t q)
{
    return a->quorums.at[q].count.complete < enough(&a->quorums.at[q]);
}

bool quorum_will_do(const struct anneal *a, uint32_t q)
{
    const struct quorum_count *c = &a->quorums.at[q].count;
    return c->complete + c->coming >= enough(&a->quorums.at[q]);
}

/* Have so many members failed, or were cancelled, that the others are not enough?  Told by their
 * own counters: a failure travels before stands are told. */
bool quorum_hopeless(const struct anneal *a, uint32_t child, bool one_failed)
{
    uint32_t n;
    const uint32_t *parents = graph_in(&a->need, child, &n);
    for (uint32_t q = a->noderoles.at[child].quorum; q; q = a->quorums.at[q].next) {
        const struct quorum *of = &a->quorums.at[q];
        uint32_t left = of->count.linked;
        bool failed = false;
        for (uint32_t i = 0; i < n; i++) {
            const struct noderole *m = &a->noderoles.at[parents[i]];
            if (!stands_still(m) || !gate_between(a, parents[i], child) || !member(of, parents[i]))
                continue;
            left--;
            failed |= noderole_failing(m);
        }
        if (left < enough(of) && (failed || !one_failed))
            return true;
    }
    return false;
}

/* After counts of its quorums moved: what waits for them fails with them, or has hope again. */
void quorum_settle(struct anneal *a, uint32_t child)
{
    gate_each_first(a, child, task_unfail);
    gate_each_first(a, child, task_join_failure);
}

/* Is one out that it needs by itself?  One that was lost in this step has not got its state yet. */
static bool parent_out(const struct anneal *a, uint32_t child)
{
    uint32_t n;
    const uint32_t *parents = graph_in(&a->need, child, &n);
    for (uint32_t i = 0; i < n; i++)
        if (!quorum_of(a, parents[i], child) &&
            !noderole_in_service(noderole_derive(a, parents[i]),
                                 a->noderoles.at[parents[i]].target))
            return true;
    return false;
}

static bool serves(uint8_t state)
{
    return state == NODEROLE_ACTIVE || state == NODEROLE_STALE;
}

/* Did one of those that are missed leave service in this step?  It was lost to nobody while the
 * old quorum had enough. */
static bool parent_left(const struct anneal *a, uint32_t child)
{
    uint32_t n;
    const uint32_t *parents = graph_in(&a->need, child, &n);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t q = quorum_of(a, parents[i], child);
        if (!(q && quorum_serves(a, q)) && serves(a->noderoles.at[parents[i]].state) &&
            !serves((uint8_t)noderole_derive(a, parents[i])))
            return true;
    }
    return false;
}

void quorum_fell(struct anneal *a, uint32_t child)
{
    struct noderole *nr = &a->noderoles.at[child];
    bool in = noderole_in_service(nr->state, nr->target);
    if ((nr->parents_out == 0 && !parent_out(a, child)) || nr->target != TARGET_RUNNING ||
        !noderole_begun(nr) || (!in && (nr->flags & NODEROLE_F_PHASED) && !parent_left(a, child)))
        return;
    ripple_rewind(a, child, REASON_PARENT_LOST);
    ripple_loss(a, child, REASON_PARENT_LOST);
}

/* ---- made by plans ---- */

static void counts_all(struct anneal *a, uint32_t child, bool counts)
{
    uint32_t n;
    const uint32_t *parents = graph_in(&a->need, child, &n);
    for (uint32_t i = 0; i < n; i++)
        gate_edge(a, parents[i], child, counts);
}

void quorum_make(struct anneal *a, uint32_t child, const struct plan_quorum *from, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        uint32_t q = quorum_new(a, child, from[i].min, from[i].percent);
        for (uint32_t k = 0; k < from[i].n_members; k++)
            member_add(a, q, from[i].members[k]);
    }
}

void quorum_remake(struct anneal *a, uint32_t child, const struct plan_quorum *from, uint32_t n)
{
    bool shut = gate_shut(a, child);
    counts_all(a, child, false);
    while (a->noderoles.at[child].quorum)
        quorum_end(a, a->noderoles.at[child].quorum);
    quorum_make(a, child, from, n);
    counts_all(a, child, true);
    gate_moved(a, child, shut);
    noderole_derive_later(a, child);
    noderole_changed(a, child);
}

/* Will it need that one? */
static bool will_need(const struct anneal *a, const struct plan *p, uint32_t child, uint32_t parent)
{
    uint32_t n;
    if (child >= p->base_noderole) {
        const struct plan_noderole *r = &p->noderoles[child - p->base_noderole];
        return plan_lists(r->parents, r->n_parents, parent);
    }
    const struct plan_change *c = plan_change_find(p, child);
    const uint32_t *parents = graph_in(&a->need, child, &n);
    if (c && plan_lists(c->losses, c->n_losses, parent))
        return false;
    if (plan_lists(parents, n, parent) || (c && plan_lists(c->gains, c->n_gains, parent)) ||
        (parent < p->base_noderole && late_sleeps(a, parent, child)))
        return true;
    for (uint32_t i = 0; i < p->n_needs; i++)
        if (p->needs[i].child == child && p->needs[i].parent == parent)
            return true;
    return false;
}

int quorum_check_plan(const struct anneal *a, const struct plan *p, uint32_t child,
                      const struct plan_quorum *q, uint32_t n, struct err *e)
{
    for (uint32_t i = 0; i < n; i++) {
        if (q[i].min == 0 || (q[i].percent && q[i].min > 100) || q[i].n_members == 0)
            return err_set(e, ERR_INVALID, "plan: noderole %u asks for %u of %u parents", child,
                           q[i].min, q[i].n_members);
        for (uint32_t k = 0; k < q[i].n_members; k++) {
            uint32_t id = q[i].members[k];
            bool again = k > 0 && q[i].members[k - 1] >= id; /* they are listed by id */
            for (uint32_t x = 0; x < i; x++)
                again |= plan_lists(q[x].members, q[x].n_members, id);
            if (again)
                return err_set(e, ERR_INVALID, "plan: noderole %u counts %u twice", child, id);
            if (!will_need(a, p, child, id))
                return err_set(e, ERR_INVALID, "plan: noderole %u counts %u, but does not need it",
                               child, id);
        }
    }
    return 0;
}

/* ---- rows ---- */

/* Of each quorum the number, how many members there are, and they. */
void quorum_write(const struct anneal *a, uint32_t child, struct buf *b)
{
    for (uint32_t q = a->noderoles.at[child].quorum; q; q = a->quorums.at[q].next) {
        const struct quorum *of = &a->quorums.at[q];
        uint32_t head[] = {of->min | (of->percent ? QUORUM_PERCENT : 0), (uint32_t)of->members.n};
        buf_put(b, head, sizeof head);
        buf_put(b, of->members.at, of->members.n * sizeof *of->members.at);
    }
}

bool quorum_read(struct anneal *a, uint32_t child, struct str from)
{
    size_t n = from.n / sizeof(uint32_t), at = 0;
    if (from.n % sizeof(uint32_t))
        return false;
    while (at < n) {
        uint32_t head[2], id, last = 0;
        if (n - at < 2)
            return false;
        memcpy(head, from.s + at * sizeof *head, sizeof head);
        at += 2;
        uint32_t min = head[0] & ~QUORUM_PERCENT;
        if (min == 0 || head[1] == 0 || head[1] > n - at)
            return false;
        uint32_t q = quorum_new(a, child, min, head[0] & QUORUM_PERCENT);
        for (uint32_t i = 0; i < head[1]; i++, last = id) {
            memcpy(&id, from.s + at++ * sizeof id, sizeof id);
            if (id <= last)
                return false;
            vec_push(&a->quorums.at[q].members, id);
        }
    }
    return true;
}

/* The graph, counters of tasks and states are there; the states as stored, since READY is not. */
bool quorum_restore(struct anneal *a, uint32_t *ret_child)
{
    for (uint32_t i = 1; i < a->quorums.n; i++) {
        const struct quorum *q = &a->quorums.at[i];
        for (size_t k = 0; k < q->members.n; k++) {
            uint32_t id = q->members.at[k], n, x = 0;
            const uint32_t *parents = graph_in(&a->need, q->child, &n);
            while (x < n && parents[x] != id)
                x++;
            *ret_child = q->child;
            if (!noderole_exists(a, id) || (x == n && !late_sleeps(a, id, q->child)) ||
                quorum_search(a, id, q->child) != i)
                return false;
            struct noderole *nr = &a->noderoles.at[id];
            nr->joined++;
            nr->stand = stand_in(a, id, (enum noderole_state)nr->state);
            if (x < n)
                quorum_link(a, i, id, true);
        }
    }
    return true;
}

/* ---- told to others ---- */

bool quorum_wrong(const struct anneal *a, uint32_t child)
{
    for (uint32_t i = a->noderoles.at[child].quorum; i; i = a->quorums.at[i].next) {
        const struct quorum *q = &a->quorums.at[i];
        struct quorum_count sum = {0};
        uint32_t n;
        const uint32_t *parents = graph_in(&a->need, child, &n);
        for (uint32_t k = 0; k < n; k++) {
            const struct noderole *m = &a->noderoles.at[parents[k]];
            if (!member(q, parents[k]))
                continue;
            if (m->stand != stand_in(a, parents[k], (enum noderole_state)m->state))
                return true;
            count(&sum, m->stand, 1);
        }
        if (q->child != child || memcmp(&sum, &q->count, sizeof sum) || q->told != comes_to(q))
            return true;
    }
    return false;
}

void quorum_sum(const struct anneal *a, uint32_t child, uint32_t *ret_out, uint32_t *ret_stale,
                uint32_t *ret_gate, uint32_t *ret_halted)
{
    for (uint32_t i = a->noderoles.at[child].quorum; i; i = a->quorums.at[i].next) {
        uint8_t told = a->quorums.at[i].told;
        *ret_out += (told & TOLD_OUT) != 0;
        *ret_stale += (told & TOLD_STALE) != 0;
        *ret_gate += (told & TOLD_SHUTS) != 0;
        *ret_halted += (told & TOLD_HALTS) != 0;
    }
}

bool anneal_quorum(const struct anneal *a, uint32_t child, uint32_t parent, struct quorum_view *v)
{
    uint32_t q = noderole_exists(a, child) ? quorum_of(a, parent, child) : 0;
    if (!q)
        return false;
    const struct quorum *of = &a->quorums.at[q];
    *v = (struct quorum_view){.min = of->min,
                              .percent = of->percent,
                              .first = of->members.at[0],
                              .members = of->count.linked,
                              .enough = enough(of),
                              .serving = of->count.serving,
                              .complete = of->count.complete};
    return true;
}

uint32_t quorum_awaits(const struct anneal *a, uint32_t child)
{
    uint32_t n = 0;
    for (uint32_t q = a->noderoles.at[child].quorum; q; q = a->quorums.at[q].next)
        n += (a->quorums.at[q].told & TOLD_SHUTS) && !quorum_lacks(a, q);
    return n;
}

bool anneal_opens(const struct anneal *a, uint32_t child, uint32_t parent)
{
    struct noderole_view v;
    if (!anneal_noderole(a, child, &v) || v.gate != 1)
        return false;
    uint32_t q = quorum_of(a, parent, child);
    const struct quorum *of = &a->quorums.at[q];
    return !q || (quorum_lacks(a, q) && of->count.complete + 1 >= enough(of));
}

void quorum_free_all(struct anneal *a)
{
    for (size_t i = 0; i < a->quorums.n; i++)
        vec_done(&a->quorums.at[i].members);
    vec_done(&a->quorums);
}
