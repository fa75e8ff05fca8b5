/* plan_codec.c - a plan written to the journal and read back
 *
 * Bytes of a plan: "ANPL", a version, then numbers as LEB128 in their shortest form, digests as
 * eight bytes little endian, text as a length and its bytes, arrays as a count and their elements.
 * There is one way to write a plan, so that its bytes can be compared and digested.
 *
 * Only the newest version is read, and only by a replay: a new one comes with a migration, which
 * ends the history that is replayed (docs/rfc/02-store.md, section 6).
 *
 * Decoding trusts nothing: a count is believed only if that many elements of the least size could
 * still follow, so that a few damaged bytes cannot ask for gigabytes.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "model/plan.h"

#include <endian.h>
#include <string.h>

#include "base/alloc.h"
#include "model/leb_i.h"
#include "model/states.h"

enum { PLAN_VERSION = 4 };
static const char plan_magic[4] = {'A', 'N', 'P', 'L'};

/* --- writing --- */

static void put_digest(struct buf *b, uint64_t v)
{
    v = htole64(v);
    buf_put(b, &v, sizeof v);
}

static void put_text(struct buf *b, struct str s)
{
    leb_put(b, s.n);
    buf_put(b, s.s, s.n);
}

static void put_refs(struct buf *b, const uint32_t *refs, uint32_t n)
{
    leb_put(b, n);
    for (uint32_t i = 0; i < n; i++)
        leb_put(b, refs[i]);
}

static void put_def(struct buf *b, const struct plan_def *d)
{
    put_text(b, d->name);
    put_text(b, d->role);
    leb_put(b, d->jig);
    put_digest(b, d->digest);
    buf_putc(b, (char)d->repeat);
    buf_putc(b, (char)d->hold);
    buf_putc(b, (char)d->flags);
    leb_put(b, d->retries);
    leb_put(b, d->backoff_ms);
    leb_put(b, d->timeout_ms);
    leb_put(b, d->deadline_ms);
    put_text(b, d->body);
}

static void put_quorums(struct buf *b, const struct plan_quorum *q, uint32_t n)
{
    leb_put(b, n);
    for (uint32_t i = 0; i < n; i++) {
        leb_put(b, q[i].min);
        buf_putc(b, q[i].percent);
        put_refs(b, q[i].members, q[i].n_members);
    }
}

static void put_noderole(struct buf *b, const struct plan_noderole *r)
{
    put_text(b, r->role);
    leb_put(b, r->node);
    leb_put(b, r->deployment);
    leb_put(b, r->group);
    leb_put(b, r->cohort);
    buf_putc(b, (char)r->flags);
    buf_putc(b, (char)r->target);
    put_digest(b, r->data);
    put_digest(b, r->lens);
    put_text(b, r->user);
    leb_put(b, r->first_task);
    leb_put(b, r->n_tasks);
    put_refs(b, r->parents, r->n_parents);
    put_quorums(b, r->quorums, r->n_quorums);
}

static void put_task(struct buf *b, const struct plan_task *t)
{
    leb_put(b, t->noderole);
    leb_put(b, t->def);
    leb_put(b, t->weight);
    leb_put(b, t->span);
    buf_putc(b, (char)t->rule);
    put_refs(b, t->deps, t->n_deps);
}

static void put_change(struct buf *b, const struct plan_change *c)
{
    leb_put(b, c->noderole);
    buf_putc(b, (char)c->what);
    buf_putc(b, (char)c->flags);
    buf_putc(b, (char)c->target);
    buf_putc(b, (char)c->reason);
    put_digest(b, c->data);
    put_text(b, c->user);
    put_digest(b, c->lens);
    leb_put(b, c->group);
    put_refs(b, c->defs, c->n_defs);
    leb_put(b, c->first_task);
    leb_put(b, c->n_tasks);
    buf_putc(b, c->keeps);
    put_refs(b, c->gains, c->n_gains);
    put_refs(b, c->losses, c->n_losses);
    put_quorums(b, c->quorums, c->n_quorums);
}

void plan_encode(struct buf *b, const struct plan *p)
{
    buf_put(b, plan_magic, sizeof plan_magic);
    buf_putc(b, PLAN_VERSION);
    leb_put(b, p->catalog);
    buf_putc(b, p->rebased);
    if (p->rebased) {
        leb_put(b, p->base_def);
        leb_put(b, p->base_noderole);
        leb_put(b, p->base_task);
        leb_put(b, p->base_span);
        leb_put(b, p->base_pool);
    }
    leb_put(b, p->n_defs);
    for (uint32_t i = 0; i < p->n_defs; i++)
        put_def(b, &p->defs[i]);
    leb_put(b, p->n_noderoles);
    for (uint32_t i = 0; i < p->n_noderoles; i++)
        put_noderole(b, &p->noderoles[i]);
    leb_put(b, p->n_tasks);
    for (uint32_t i = 0; i < p->n_tasks; i++)
        put_task(b, &p->tasks[i]);
    leb_put(b, p->n_spans);
    for (uint32_t i = 0; i < p->n_spans; i++)
        put_refs(b, p->spans[i].pools, p->spans[i].n_pools);
    leb_put(b, p->n_pools);
    for (uint32_t i = 0; i < p->n_pools; i++) {
        put_text(b, p->pools[i].name);
        leb_put(b, p->pools[i].size);
    }
    leb_put(b, p->n_groups);
    for (uint32_t i = 0; i < p->n_groups; i++) {
        put_text(b, p->groups[i].name);
        leb_put(b, p->groups[i].may_fail);
        buf_putc(b, p->groups[i].stops);
    }
    leb_put(b, p->n_needs);
    for (uint32_t i = 0; i < p->n_needs; i++) {
        leb_put(b, p->needs[i].child);
        leb_put(b, p->needs[i].parent);
        leb_put(b, p->needs[i].like);
    }
    leb_put(b, p->n_changes);
    for (uint32_t i = 0; i < p->n_changes; i++)
        put_change(b, &p->changes[i]);
    leb_put(b, p->n_waits);
    for (uint32_t i = 0; i < p->n_waits; i++) {
        leb_put(b, p->waits[i].goer);
        leb_put(b, p->waits[i].holder);
    }
    leb_put(b, p->n_sizes);
    for (uint32_t i = 0; i < p->n_sizes; i++) {
        leb_put(b, p->sizes[i].pool);
        leb_put(b, p->sizes[i].size);
    }
}

/* --- reading --- */

/* Once something is wrong, everything read is 0 and the error stays that of the first fault. */
struct source {
    struct arena *arena;
    const unsigned char *at, *start, *end;
    const char *fault; /* what could not be read, NULL while all is well */
    size_t fault_at;
};

static void fault(struct source *s, const char *what)
{
    if (s->fault)
        return;
    s->fault = what;
    s->fault_at = (size_t)(s->at - s->start);
    s->at = s->end;
}

static uint64_t take_number(struct source *s, uint64_t max, const char *what)
{
    struct str rest = {(const char *)s->at, (size_t)(s->end - s->at)};
    uint64_t v = 0;
    if (leb_take(&rest, max, &v))
        s->at = (const unsigned char *)rest.s;
    else
        fault(s, what);
    return v;
}

static uint32_t take_u32(struct source *s, const char *what)
{
    return (uint32_t)take_number(s, UINT32_MAX, what);
}

/* A count of elements that take at least `least` bytes each. */
static uint32_t take_count(struct source *s, size_t least, const char *what)
{
    uint64_t n = take_number(s, PLAN_NEW - 1, what);
    if (n > (size_t)(s->end - s->at) / least)
        fault(s, what);
    return s->fault ? 0 : (uint32_t)n;
}

static uint8_t take_byte(struct source *s, uint8_t max, const char *what)
{
    if (s->at < s->end && *s->at <= max)
        return *s->at++;
    fault(s, what);
    return 0;
}

static uint64_t take_digest(struct source *s, const char *what)
{
    uint64_t v;
    if (s->end - s->at < (ptrdiff_t)sizeof v) {
        fault(s, what);
        return 0;
    }
    memcpy(&v, s->at, sizeof v);
    s->at += sizeof v;
    return le64toh(v);
}

static struct str take_text(struct source *s, const char *what)
{
    uint32_t n = take_count(s, 1, what);
    struct str t = {arena_strndup(s->arena, (const char *)s->at, n), n};
    s->at += n;
    return t;
}

static const uint32_t *take_refs(struct source *s, uint32_t *ret_n, const char *what)
{
    uint32_t n = take_count(s, 1, what);
    uint32_t *refs = arena_new(s->arena, uint32_t, n);
    for (uint32_t i = 0; i < n; i++)
        refs[i] = take_u32(s, what);
    *ret_n = n;
    return refs;
}

/* Least sizes of the elements, as the functions below read them. */
enum {
    DEF_LEAST = 19,
    NODEROLE_LEAST = 28,
    TASK_LEAST = 6,
    POOL_LEAST = 2,
    GROUP_LEAST = 3,
    NEED_LEAST = 3,
    CHANGE_LEAST = 30,
    QUORUM_LEAST = 3,
    WAIT_LEAST = 2,
    SIZE_LEAST = 2,
};

static void take_def(struct source *s, struct plan_def *d)
{
    d->name = take_text(s, "name of a definition");
    d->role = take_text(s, "role of a definition");
    d->jig = take_u32(s, "jig of a definition");
    d->digest = take_digest(s, "digest of a definition");
    d->repeat = take_byte(s, REPEAT_COUNT - 1, "repeat of a definition");
    d->hold = take_byte(s, HOLD_COUNT - 1, "hold of a definition");
    d->flags = take_byte(s, DEF_F_ALL, "flags of a definition");
    d->retries = take_u32(s, "retries of a definition");
    d->backoff_ms = take_number(s, UINT64_MAX, "back-off of a definition");
    d->timeout_ms = take_number(s, UINT64_MAX, "timeout of a definition");
    d->deadline_ms = take_number(s, UINT64_MAX, "deadline of a definition");
    d->body = take_text(s, "body of a definition");
}

static const struct plan_quorum *take_quorums(struct source *s, uint32_t *ret_n)
{
    uint32_t n = take_count(s, QUORUM_LEAST, "number of quorums");
    struct plan_quorum *q = arena_new(s->arena, struct plan_quorum, n);
    for (uint32_t i = 0; i < n; i++) {
        q[i].min = take_u32(s, "number of a quorum");
        q[i].percent = take_byte(s, 1, "unit of a quorum");
        q[i].members = take_refs(s, &q[i].n_members, "members of a quorum");
    }
    *ret_n = n;
    return q;
}

static void take_noderole(struct source *s, struct plan_noderole *r)
{
    r->role = take_text(s, "role of a noderole");
    r->node = take_u32(s, "node of a noderole");
    r->deployment = take_u32(s, "deployment of a noderole");
    r->group = take_u32(s, "group of a noderole");
    r->cohort = take_u32(s, "cohort of a noderole");
    r->flags = take_byte(s, NODEROLE_F_ALL, "flags of a noderole");
    r->target = take_byte(s, TARGET_ABSENT - 1, "target of a noderole");
    r->data = take_digest(s, "data of a noderole");
    r->lens = take_digest(s, "lens of a noderole");
    r->user = take_text(s, "user data of a noderole");
    r->first_task = take_u32(s, "tasks of a noderole");
    r->n_tasks = take_u32(s, "tasks of a noderole");
    r->parents = take_refs(s, &r->n_parents, "parents of a noderole");
    r->quorums = take_quorums(s, &r->n_quorums);
}

static void take_task(struct source *s, struct plan_task *t)
{
    t->noderole = take_u32(s, "noderole of a task");
    t->def = take_u32(s, "definition of a task");
    t->weight = take_u32(s, "weight of a task");
    t->span = take_u32(s, "span of a task");
    t->rule = take_byte(s, TASK_RULE_COUNT - 1, "rule of a task");
    t->deps = take_refs(s, &t->n_deps, "dependencies of a task");
}

static void take_change(struct source *s, struct plan_change *c)
{
    c->noderole = take_u32(s, "noderole of a change");
    c->what = take_byte(s, PLAN_C_ALL, "kind of a change");
    c->flags = take_byte(s, NODEROLE_F_ALL, "flags of a change");
    c->target = take_byte(s, TARGET_ABSENT - 1, "target of a change");
    c->reason = take_byte(s, REASON_COUNT - 1, "reason of a change");
    c->data = take_digest(s, "data of a change");
    c->user = take_text(s, "user data of a change");
    c->lens = take_digest(s, "lens of a change");
    c->group = take_u32(s, "group of a change");
    c->defs = take_refs(s, &c->n_defs, "definitions of a change");
    c->first_task = take_u32(s, "tasks of a change");
    c->n_tasks = take_u32(s, "tasks of a change");
    c->keeps = take_byte(s, 1, "memory of a change");
    c->gains = take_refs(s, &c->n_gains, "new parents of a change");
    c->losses = take_refs(s, &c->n_losses, "old parents of a change");
    c->quorums = take_quorums(s, &c->n_quorums);
}

static void take_plan(struct source *s, struct plan *p)
{
    p->catalog = take_u32(s, "catalog");
    p->rebased = take_byte(s, 1, "mark of a rebased plan");
    if (p->rebased) {
        p->base_def = take_u32(s, "first definition");
        p->base_noderole = take_u32(s, "first noderole");
        p->base_task = take_u32(s, "first task");
        p->base_span = take_u32(s, "first span");
        p->base_pool = take_u32(s, "first pool");
    }
    p->n_defs = take_count(s, DEF_LEAST, "number of definitions");
    p->defs = arena_new(&p->mem, struct plan_def, p->n_defs);
    for (uint32_t i = 0; i < p->n_defs; i++)
        take_def(s, &p->defs[i]);
    p->n_noderoles = take_count(s, NODEROLE_LEAST, "number of noderoles");
    p->noderoles = arena_new(&p->mem, struct plan_noderole, p->n_noderoles);
    for (uint32_t i = 0; i < p->n_noderoles; i++)
        take_noderole(s, &p->noderoles[i]);
    p->n_tasks = take_count(s, TASK_LEAST, "number of tasks");
    p->tasks = arena_new(&p->mem, struct plan_task, p->n_tasks);
    for (uint32_t i = 0; i < p->n_tasks; i++)
        take_task(s, &p->tasks[i]);
    p->n_spans = take_count(s, 1, "number of spans");
    p->spans = arena_new(&p->mem, struct plan_span, p->n_spans);
    for (uint32_t i = 0; i < p->n_spans; i++)
        p->spans[i].pools = take_refs(s, &p->spans[i].n_pools, "pools of a span");
    p->n_pools = take_count(s, POOL_LEAST, "number of pools");
    p->pools = arena_new(&p->mem, struct plan_pool, p->n_pools);
    for (uint32_t i = 0; i < p->n_pools; i++) {
        p->pools[i].name = take_text(s, "name of a pool");
        p->pools[i].size = take_u32(s, "size of a pool");
    }
    p->n_groups = take_count(s, GROUP_LEAST, "number of groups");
    p->groups = arena_new(&p->mem, struct plan_group, p->n_groups);
    for (uint32_t i = 0; i < p->n_groups; i++) {
        p->groups[i].name = take_text(s, "name of a group");
        p->groups[i].may_fail = take_u32(s, "tolerance of a group");
        p->groups[i].stops = take_byte(s, 1, "kind of a group");
    }
    p->n_needs = take_count(s, NEED_LEAST, "number of needs");
    p->needs = arena_new(&p->mem, struct plan_need, p->n_needs);
    for (uint32_t i = 0; i < p->n_needs; i++) {
        p->needs[i].child = take_u32(s, "child of a need");
        p->needs[i].parent = take_u32(s, "parent of a need");
        p->needs[i].like = take_u32(s, "quorum of a need");
    }
    p->n_changes = take_count(s, CHANGE_LEAST, "number of changes");
    p->changes = arena_new(&p->mem, struct plan_change, p->n_changes);
    for (uint32_t i = 0; i < p->n_changes; i++)
        take_change(s, &p->changes[i]);
    p->n_waits = take_count(s, WAIT_LEAST, "number of waits");
    p->waits = arena_new(&p->mem, struct plan_wait, p->n_waits);
    for (uint32_t i = 0; i < p->n_waits; i++) {
        p->waits[i].goer = take_u32(s, "goer of a wait");
        p->waits[i].holder = take_u32(s, "holder of a wait");
    }
    p->n_sizes = take_count(s, SIZE_LEAST, "number of sizes");
    p->sizes = arena_new(&p->mem, struct plan_size, p->n_sizes);
    for (uint32_t i = 0; i < p->n_sizes; i++) {
        p->sizes[i].pool = take_u32(s, "pool of a size");
        p->sizes[i].size = take_u32(s, "size");
    }
}

/* --- what must hold between the parts --- */

/* A kind of object of this plan: how many, and where its ids begin once rebased. */
struct range {
    uint32_t base, n;
    bool rebased;
};

static bool ref_ok(struct range r, uint32_t ref)
{
    if (ref & PLAN_NEW)
        return !r.rebased && (ref & ~PLAN_NEW) < r.n;
    return ref != 0;
}

static bool refs_ok(struct range r, const uint32_t *refs, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (!ref_ok(r, refs[i]))
            return false;
    return true;
}

static bool range_ok(struct range r)
{
    return !r.rebased || (r.base && r.base < PLAN_NEW && r.n <= PLAN_NEW - r.base);
}

static bool quorums_ok(struct range r, const struct plan_quorum *q, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (q[i].min == 0 || (q[i].percent && q[i].min > 100) || q[i].n_members == 0 ||
            !refs_ok(r, q[i].members, q[i].n_members))
            return false;
    return true;
}

static const char *task_wrong(const struct plan *p, uint32_t task, uint32_t owner)
{
    const struct plan_task *t = &p->tasks[task];
    struct range spans = {p->base_span, p->n_spans, p->rebased};

    if (t->noderole != owner)
        return "a task that is not its noderole's";
    if (!ref_ok((struct range){p->base_def, p->n_defs, p->rebased}, t->def))
        return "a task without a definition";
    if (t->span && t->span - (spans.rebased ? spans.base : 1) >= spans.n)
        return "a task in no span";
    if (!refs_ok((struct range){p->base_task, p->n_tasks, p->rebased}, t->deps, t->n_deps))
        return "a task that waits for none";
    return NULL;
}

/* Tasks [*next, *next + n) are the owner's; moves on. */
static const char *tasks_wrong(const struct plan *p, uint32_t first, uint32_t n, uint32_t owner,
                               uint32_t *next)
{
    if (first != *next || n > p->n_tasks - *next)
        return "tasks that are not its noderoles' one after another";
    for (; *next < first + n; (*next)++) {
        const char *wrong = task_wrong(p, *next, owner);
        if (wrong)
            return wrong;
    }
    return NULL;
}

static const char *change_wrong(const struct plan *p, const struct plan_change *c, uint32_t *next)
{
    struct range noderoles = {p->base_noderole, p->n_noderoles, p->rebased};
    bool tasks = c->what & (PLAN_C_TASKS | PLAN_C_REMOVE);

    if (!c->noderole || c->noderole & PLAN_NEW || !c->what)
        return "a change of none";
    if (c->group > p->n_groups || (c->group && !(c->what & PLAN_C_GROUP)))
        return "a change to no group";
    if ((c->what & PLAN_C_REMOVE) && (c->what & (PLAN_C_TASKS | PLAN_C_DATA | PLAN_C_LENS)))
        return "a change of one that goes";
    if (((c->what & PLAN_C_DEFS) && tasks) || (!tasks && (c->n_tasks || c->first_task)) ||
        !(c->what & PLAN_C_DEFS) != !c->n_defs || !(c->what & PLAN_C_LENS) != !c->lens ||
        (!(c->what & PLAN_C_PARENTS) && (c->n_gains || c->n_losses)) ||
        (!(c->what & PLAN_C_QUORUMS) && c->n_quorums) ||
        (!(c->what & PLAN_C_TASKS) && (c->target || c->reason || c->keeps)))
        return "a change that says more than it does";
    if (!refs_ok((struct range){p->base_def, p->n_defs, p->rebased}, c->defs, c->n_defs))
        return "a change to no definition";
    if (!refs_ok(noderoles, c->gains, c->n_gains))
        return "a change to no parent";
    if (!quorums_ok(noderoles, c->quorums, c->n_quorums))
        return "a change to no quorum";
    for (uint32_t i = 0; i < c->n_losses; i++)
        if (!c->losses[i] || c->losses[i] & PLAN_NEW)
            return "a change from no parent";
    return tasks ? tasks_wrong(p, c->first_task, c->n_tasks, c->noderole, next) : NULL;
}

static const char *plan_wrong(const struct plan *p)
{
    struct range noderoles = {p->base_noderole, p->n_noderoles, p->rebased};
    struct range pools = {p->base_pool, p->n_pools, p->rebased};
    const char *wrong;
    uint32_t next = 0;

    if (!range_ok((struct range){p->base_def, p->n_defs, p->rebased}) || !range_ok(noderoles) ||
        !range_ok((struct range){p->base_task, p->n_tasks, p->rebased}) ||
        !range_ok((struct range){p->base_span, p->n_spans, p->rebased}) || !range_ok(pools))
        return "ids out of range";
    for (uint32_t i = 0; i < p->n_noderoles; i++) {
        const struct plan_noderole *r = &p->noderoles[i];
        uint32_t owner = p->rebased ? p->base_noderole + i : (i | PLAN_NEW);
        if (!refs_ok(noderoles, r->parents, r->n_parents))
            return "a noderole under none";
        if (!quorums_ok(noderoles, r->quorums, r->n_quorums))
            return "a noderole with a quorum of none";
        if (r->group > p->n_groups)
            return "a noderole in no group";
        if ((wrong = tasks_wrong(p, r->first_task, r->n_tasks, owner, &next)))
            return wrong;
    }
    for (uint32_t i = 0; i < p->n_changes; i++)
        if ((wrong = change_wrong(p, &p->changes[i], &next)))
            return wrong;
    if (next != p->n_tasks)
        return "tasks without a noderole";
    for (uint32_t i = 0; i < p->n_spans; i++)
        if (!refs_ok(pools, p->spans[i].pools, p->spans[i].n_pools))
            return "a span of no pool";
    for (uint32_t i = 0; i < p->n_needs; i++)
        if (!p->needs[i].child || p->needs[i].child & PLAN_NEW || p->needs[i].like & PLAN_NEW ||
            !ref_ok(noderoles, p->needs[i].parent))
            return "a need between none";
    for (uint32_t i = 0; i < p->n_waits; i++)
        if (!p->waits[i].goer || p->waits[i].goer & PLAN_NEW ||
            !ref_ok(noderoles, p->waits[i].holder))
            return "a wait for none";
    for (uint32_t i = 0; i < p->n_sizes; i++)
        if (!p->sizes[i].pool || p->sizes[i].pool & PLAN_NEW)
            return "a size of no pool";
    return NULL;
}

int plan_decode(struct str from, struct plan **ret_p, struct err *e)
{
    SCOPED(plan) *p = plan_new();
    const unsigned char *start = (const unsigned char *)from.s;
    struct source s = {&p->mem, start, start, start + from.n, NULL, 0};

    if (from.n <= sizeof plan_magic || memcmp(from.s, plan_magic, sizeof plan_magic))
        return err_set(e, ERR_CORRUPT, "not a plan");
    if (from.s[sizeof plan_magic] != PLAN_VERSION)
        return err_set(e, ERR_CORRUPT, "a plan of version %d; this program reads version %d",
                       (unsigned char)from.s[sizeof plan_magic], PLAN_VERSION);
    s.at += sizeof plan_magic + 1;
    take_plan(&s, p);
    if (!s.fault && s.at != s.end)
        fault(&s, "end");
    if (s.fault)
        return err_set(e, ERR_CORRUPT, "damaged plan: bad %s at byte %zu", s.fault, s.fault_at);
    const char *wrong = plan_wrong(p);
    if (wrong)
        return err_set(e, ERR_CORRUPT, "damaged plan: %s", wrong);
    *ret_p = p;
    p = NULL;
    return 0;
}
