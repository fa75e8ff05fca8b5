/* test_plan.c - plans move to their ids, survive the journal, and damaged ones are refused */
/* SPDX-License-Identifier: Apache-2.0 */
#include "tap.h"

#include "base/alloc.h"
#include "model/plan.h"
#include "model/states.h"

#define REFS(...) ((uint32_t[]){__VA_ARGS__})

static const uint32_t *refs(struct plan *p, const uint32_t *from, uint32_t n)
{
    uint32_t *to = arena_new(&p->mem, uint32_t, n);
    for (uint32_t i = 0; i < n; i++)
        to[i] = from[i];
    return to;
}

static const struct plan_quorum *quorum(struct plan *p, uint32_t min, bool percent)
{
    struct plan_quorum *q = arena_new(&p->mem, struct plan_quorum, 1);
    *q = (struct plan_quorum){min, percent, refs(p, REFS(12, 0 | PLAN_NEW), 2), 2};
    return q;
}

/* Two noderoles with three tasks, something of everything. */
static struct plan *sample(void)
{
    struct plan *p = plan_new();
    p->catalog = 300;
    p->n_defs = 1;
    p->defs = arena_new(&p->mem, struct plan_def, 1);
    p->defs[0] = (struct plan_def){str_of("install"),
                                   str_of("db"),
                                   3,
                                   0x1122334455667788ull,
                                   REPEAT_ONCE,
                                   HOLD_NODE,
                                   5,
                                   2,
                                   1000,
                                   60000,
                                   UINT64_MAX,
                                   str_of("{\"a\":1}")};
    p->n_noderoles = 2;
    p->noderoles = arena_new(&p->mem, struct plan_noderole, 2);
    p->noderoles[0] = (struct plan_noderole){.role = str_of("db"),
                                             .node = 7,
                                             .deployment = 1,
                                             .cohort = 4,
                                             .flags = NODEROLE_F_CLUSTER,
                                             .data = 99,
                                             .user = str_of("{}"),
                                             .first_task = 0,
                                             .n_tasks = 2,
                                             .parents = refs(p, REFS(12), 1),
                                             .n_parents = 1};
    p->noderoles[1] = (struct plan_noderole){.role = str_of("web"),
                                             .node = 8,
                                             .deployment = 1,
                                             .cohort = 5,
                                             .user = str_of(""),
                                             .first_task = 2,
                                             .n_tasks = 1,
                                             .parents = refs(p, REFS(0 | PLAN_NEW, 12), 2),
                                             .n_parents = 2,
                                             .quorums = quorum(p, 50, true),
                                             .n_quorums = 1};
    p->n_tasks = 3;
    p->tasks = arena_new(&p->mem, struct plan_task, 3);
    p->tasks[0] = (struct plan_task){
        0 | PLAN_NEW, 0 | PLAN_NEW, 3, 1, refs(p, REFS(40, 41), 2), 2, 0};
    p->tasks[1] = (struct plan_task){0 | PLAN_NEW, 5, 2, 2, refs(p, REFS(0 | PLAN_NEW), 1), 1, 0};
    p->tasks[2] = (struct plan_task){1 | PLAN_NEW, 5, 1, 0, refs(p, REFS(1 | PLAN_NEW, 40), 2), 2,
                                     RULE_SKIP};
    p->n_spans = 2;
    p->spans = arena_new(&p->mem, struct plan_span, 2);
    p->spans[0] = (struct plan_span){refs(p, REFS(0 | PLAN_NEW, 9), 2), 2};
    p->spans[1] = (struct plan_span){refs(p, REFS(9), 1), 1};
    p->n_pools = 1;
    p->pools = arena_new(&p->mem, struct plan_pool, 1);
    p->pools[0] = (struct plan_pool){str_of("role:1/db"), 2};
    p->n_needs = 1;
    p->needs = arena_new(&p->mem, struct plan_need, 1);
    p->needs[0] = (struct plan_need){33, 0 | PLAN_NEW, 12};
    return p;
}

static void test_rebase(void)
{
    SCOPED(plan) *p = sample();
    plan_rebase(p, 100, 200, 300, 400, 500);
    ok(p->rebased, "marked");
    is_int(p->noderoles[0].parents[0], 12, "an id stays");
    is_int(p->noderoles[1].parents[0], 200, "a new noderole gets one");
    is_int(p->noderoles[1].first_task, 2, "first tasks stay indexes");
    is_int(p->tasks[0].noderole, 200, "a task's noderole");
    is_int(p->tasks[2].noderole, 201, "and another's");
    is_int(p->tasks[0].def, 100, "a new definition");
    is_int(p->tasks[1].def, 5, "a known one");
    is_int(p->tasks[0].span, 400, "the first span");
    is_int(p->tasks[1].span, 401, "the second");
    is_int(p->tasks[2].span, 0, "none");
    is_int(p->tasks[0].deps[1], 41, "a live dependency");
    is_int(p->tasks[1].deps[0], 300, "a new one");
    is_int(p->tasks[2].deps[0], 301, "another");
    is_int(p->spans[0].pools[0], 500, "a new pool");
    is_int(p->spans[0].pools[1], 9, "a live one");
    is_int(p->needs[0].child, 33, "the child of a need");
    is_int(p->needs[0].parent, 200, "its new parent");
    is_int(p->noderoles[1].quorums[0].members[0], 12, "a member that lives");
    is_int(p->noderoles[1].quorums[0].members[1], 200, "and a new one");
    is_int(p->base_def, 100, "bases are kept");
    is_int(p->base_pool, 500, "all of them");
    plan_free(NULL);
}

static bool refs_equal(const uint32_t *a, uint32_t na, const uint32_t *b, uint32_t nb)
{
    return na == nb && (!na || !memcmp(a, b, na * sizeof *a));
}

static bool quorums_equal(const struct plan_quorum *a, uint32_t na, const struct plan_quorum *b,
                          uint32_t nb)
{
    bool same = na == nb;
    for (uint32_t i = 0; same && i < na; i++)
        same = a[i].min == b[i].min && a[i].percent == b[i].percent &&
               refs_equal(a[i].members, a[i].n_members, b[i].members, b[i].n_members);
    return same;
}

static bool plans_equal(const struct plan *a, const struct plan *b)
{
    bool same = a->catalog == b->catalog && a->rebased == b->rebased && a->n_defs == b->n_defs &&
                a->n_noderoles == b->n_noderoles && a->n_tasks == b->n_tasks &&
                a->n_spans == b->n_spans && a->n_pools == b->n_pools && a->n_needs == b->n_needs &&
                a->base_def == b->base_def && a->base_noderole == b->base_noderole &&
                a->base_task == b->base_task && a->base_span == b->base_span &&
                a->base_pool == b->base_pool;
    for (uint32_t i = 0; same && i < a->n_defs; i++) {
        const struct plan_def *x = &a->defs[i], *y = &b->defs[i];
        same = str_eq(x->name, y->name) && str_eq(x->role, y->role) && x->jig == y->jig &&
               x->digest == y->digest && x->repeat == y->repeat && x->hold == y->hold &&
               x->flags == y->flags && x->retries == y->retries && x->backoff_ms == y->backoff_ms &&
               x->timeout_ms == y->timeout_ms && x->deadline_ms == y->deadline_ms &&
               str_eq(x->body, y->body);
    }
    for (uint32_t i = 0; same && i < a->n_noderoles; i++) {
        const struct plan_noderole *x = &a->noderoles[i], *y = &b->noderoles[i];
        same = str_eq(x->role, y->role) && x->node == y->node && x->deployment == y->deployment &&
               x->cohort == y->cohort && x->flags == y->flags && x->data == y->data &&
               str_eq(x->user, y->user) && x->first_task == y->first_task &&
               x->n_tasks == y->n_tasks &&
               quorums_equal(x->quorums, x->n_quorums, y->quorums, y->n_quorums) &&
               refs_equal(x->parents, x->n_parents, y->parents, y->n_parents);
    }
    for (uint32_t i = 0; same && i < a->n_tasks; i++) {
        const struct plan_task *x = &a->tasks[i], *y = &b->tasks[i];
        same = x->noderole == y->noderole && x->def == y->def && x->weight == y->weight &&
               x->span == y->span && refs_equal(x->deps, x->n_deps, y->deps, y->n_deps);
    }
    for (uint32_t i = 0; same && i < a->n_spans; i++)
        same = refs_equal(a->spans[i].pools, a->spans[i].n_pools, b->spans[i].pools,
                          b->spans[i].n_pools);
    for (uint32_t i = 0; same && i < a->n_pools; i++)
        same = str_eq(a->pools[i].name, b->pools[i].name) && a->pools[i].size == b->pools[i].size;
    for (uint32_t i = 0; same && i < a->n_needs; i++)
        same = a->needs[i].child == b->needs[i].child && a->needs[i].parent == b->needs[i].parent &&
               a->needs[i].like == b->needs[i].like;
    return same;
}

static void test_journal(void)
{
    for (unsigned rebased = 0; rebased < 2; rebased++) {
        SCOPED(plan) *p = sample();
        SCOPED(plan) *back = NULL;
        SCOPED_BUF(first);
        SCOPED_BUF(second);
        struct err e;
        if (rebased)
            plan_rebase(p, 100, 200, 300, 400, 500);
        plan_encode(&first, p);
        is_int(plan_decode(buf_str(&first), &back, &e), 0, "%s: read back",
               rebased ? "rebased" : "new");
        ok(back && plans_equal(p, back), "equal");
        plan_encode(&second, back);
        ok(str_eq(buf_str(&first), buf_str(&second)), "and written the same");
    }
    SCOPED(plan) *empty = plan_new();
    SCOPED(plan) *back = NULL;
    SCOPED_BUF(b);
    plan_encode(&b, empty);
    is_int(plan_decode(buf_str(&b), &back, NULL), 0, "an empty plan");
    ok(plans_equal(empty, back), "is a plan");
}

/* Every prefix is refused, and no single wrong byte does harm. */
static void test_damage(void)
{
    SCOPED(plan) *p = sample();
    SCOPED_BUF(b);
    struct err e;
    unsigned whole = 0, told = 0;

    plan_encode(&b, p);
    for (size_t n = 0; n < b.len; n++) {
        char *exact = malloc(n ? n : 1);
        struct plan *back = NULL;
        memcpy(exact, b.data, n);
        whole += plan_decode((struct str){exact, n}, &back, &e) == 0;
        told += e.code == ERR_CORRUPT && e.text[0];
        plan_free(back);
        free(exact);
    }
    is_int(whole, 0, "no part of a plan is a plan");
    is_int(told, b.len, "and each says why");
    for (size_t i = 0; i < b.len; i++)
        for (unsigned bit = 0; bit < 8; bit++) {
            struct plan *back = NULL;
            b.data[i] ^= (char)(1 << bit);
            if (plan_decode(buf_str(&b), &back, &e) == 0) {
                SCOPED_BUF(again);
                plan_encode(&again, back);
                if (!str_eq(buf_str(&b), buf_str(&again)))
                    ok(false, "byte %zu bit %u: read as something else", i, bit);
            }
            plan_free(back);
            b.data[i] ^= (char)(1 << bit);
        }
    buf_putc(&b, 0);
    struct plan *back = NULL;
    is_int(plan_decode(buf_str(&b), &back, &e), -ERR_CORRUPT, "something behind a plan");
    has_text(e.text, "bad end", "is told");
    b.data[4] = 9;
    is_int(plan_decode(buf_str(&b), &back, &e), -ERR_CORRUPT, "another version");
    has_text(e.text, "version 9", "is told");
    b.data[0] = 'X';
    is_int(plan_decode(buf_str(&b), &back, &e), -ERR_CORRUPT, "something else");
    is_text(e.text, "not a plan", "is told");
}

/* Numbers that fit but make no sense together. */
static void test_nonsense(void)
{
    static const struct {
        const char *label, *text;
    } cases[] = {
        {"a parent that is not", "a noderole under none"},
        {"a parent 0", "a noderole under none"},
        {"a task of another noderole", "a task that is not its noderole's"},
        {"a definition that is not", "a task without a definition"},
        {"a span that is not", "a task in no span"},
        {"a dependency that is not", "a task that waits for none"},
        {"tasks that overlap", "tasks that are not its noderoles' one after another"},
        {"tasks that are nobody's", "tasks that are not its noderoles' one after another"},
        {"tasks left over", "tasks without a noderole"},
        {"a pool that is not", "a span of no pool"},
        {"a need without a child", "a need between none"},
        {"a need of a new child", "a need between none"},
        {"a need without a parent", "a need between none"},
        {"too many tasks", "tasks that are not its noderoles' one after another"},
        {"a new ref in a rebased plan", "a noderole under none"},
        {"ids from 0", "ids out of range"},
        {"ids too high", "ids out of range"},
        {"a quorum of nothing", "a noderole with a quorum of none"},
        {"more than all of them", "a noderole with a quorum of none"},
        {"a quorum without members", "a noderole with a quorum of none"},
        {"a need like a new one", "a need between none"},
    };
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        SCOPED(plan) *p = sample();
        SCOPED_BUF(b);
        struct plan *back = NULL;
        struct err e = {0};
        struct plan_quorum other = *p->noderoles[1].quorums;
        if (i >= 17)
            p->noderoles[1].quorums = &other;
        else if (i >= 14)
            plan_rebase(p, 100, 200, 300, 400, 500);
        switch (i) {
        case 0: p->noderoles[1].parents = refs(p, REFS(2 | PLAN_NEW, 1), 2); break;
        case 1: p->noderoles[1].parents = refs(p, REFS(0, 1), 2); break;
        case 2: p->tasks[1].noderole = 1 | PLAN_NEW; break;
        case 3: p->tasks[1].def = 1 | PLAN_NEW; break;
        case 4: p->tasks[1].span = 3; break;
        case 5: p->tasks[2].deps = refs(p, REFS(3 | PLAN_NEW, 1), 2); break;
        case 6: p->noderoles[1].first_task = 1; break;
        case 7: p->noderoles[0].n_tasks = 0; break;
        case 8: p->n_noderoles = 1; break;
        case 9: p->spans[1].pools = refs(p, REFS(1 | PLAN_NEW), 1); break;
        case 10: p->needs[0].child = 0; break;
        case 11: p->needs[0].child = 0 | PLAN_NEW; break;
        case 12: p->needs[0].parent = 0; break;
        case 13: p->noderoles[1].n_tasks = 2; break;
        case 14: p->noderoles[1].parents = refs(p, REFS(0 | PLAN_NEW, 1), 2); break;
        case 15: p->base_pool = 0; break;
        case 16: p->base_task = PLAN_NEW - 2; break;
        case 17: other.min = 0; break;
        case 18: other.min = 101; break;
        case 19: other.n_members = 0; break;
        case 20: p->needs[0].like = 0 | PLAN_NEW; break;
        }
        if (i == 8) { /* its parents refer to it; only the count of tasks shall be wrong */
            p->n_needs = 0;
        }
        plan_encode(&b, p);
        is_int(plan_decode(buf_str(&b), &back, &e), -ERR_CORRUPT, "%s", cases[i].label);
        has_text(e.text, cases[i].text, "is told");
        plan_free(back);
    }
    /* Longer forms of the same number, counts that cannot be, numbers out of range. */
    static const struct {
        const char *bytes;
        size_t n;
        const char *text;
    } raw[] = {
        {"ANPL\x04\x80\x00\x00", 8, "bad catalog"},
        {"ANPL\x04\xff\xff\xff\xff\x7f", 10, "bad catalog"},
        {"ANPL\x04\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", 15, "bad catalog"},
        {"ANPL\x04\x00\x02", 7, "bad mark of a rebased plan"},
        {"ANPL\x04\x00\x00\xff\xff\xff\xff\x07", 12, "bad number of definitions"},
        {"ANPL\x04\x00\x00\x00\x05", 9, "bad number of noderoles"},
    };
    for (size_t i = 0; i < sizeof raw / sizeof *raw; i++) {
        struct plan *back = NULL;
        struct err e = {0};
        is_int(plan_decode((struct str){raw[i].bytes, raw[i].n}, &back, &e), -ERR_CORRUPT,
               "bytes %zu", i);
        has_text(e.text, raw[i].text, "are told");
    }
}

/* Changes of noderoles that live: their tasks come after those of new ones. */
static struct plan *sample_changes(void)
{
    struct plan *p = sample();
    p->n_tasks = 4;
    struct plan_task *tasks = arena_new(&p->mem, struct plan_task, 4);
    for (uint32_t i = 0; i < 3; i++)
        tasks[i] = p->tasks[i];
    tasks[3] = (struct plan_task){60, 0 | PLAN_NEW, 1, 0, refs(p, REFS(0), 0), 0, 0};
    p->tasks = tasks;
    p->n_changes = 3;
    p->changes = arena_new(&p->mem, struct plan_change, 3);
    p->changes[0] = (struct plan_change){.noderole = 50,
                                         .what = PLAN_C_DATA | PLAN_C_DEFS | PLAN_C_PARENTS,
                                         .flags = NODEROLE_F_IMPLICIT,
                                         .data = 7,
                                         .user = str_of("{\"a\":2}"),
                                         .defs = refs(p, REFS(0 | PLAN_NEW, 5), 2),
                                         .n_defs = 2,
                                         .gains = refs(p, REFS(1 | PLAN_NEW), 1),
                                         .n_gains = 1,
                                         .losses = refs(p, REFS(12), 1),
                                         .n_losses = 1};
    p->changes[1] = (struct plan_change){
        .noderole = 60, .what = PLAN_C_TASKS, .user = str_of(""), .first_task = 3, .n_tasks = 1};
    p->changes[2] = (struct plan_change){
        .noderole = 70, .what = PLAN_C_REMOVE, .user = str_of(""), .first_task = 4};
    return p;
}

static void test_changes(void)
{
    SCOPED(plan) *p = sample_changes();
    SCOPED_BUF(b);
    SCOPED_BUF(again);
    struct plan *back = NULL;
    struct err e = {0};
    plan_encode(&b, p);
    is_int(plan_decode(buf_str(&b), &back, &e), 0, "changes survive the journal");
    plan_encode(&again, back);
    ok(str_eq(buf_str(&b), buf_str(&again)), "with every field");
    is_int(back->changes[0].data, 7, "such as data");
    is_text(back->changes[0].user.s, "{\"a\":2}", "and what they came from");
    plan_rebase(back, 100, 200, 300, 400, 500);
    is_int(back->changes[0].defs[0], 100, "a new definition gets its id");
    is_int(back->changes[0].defs[1], 5, "a known one keeps it");
    is_int(back->changes[0].gains[0], 201, "a new parent gets its id");
    is_int(back->changes[0].losses[0], 12, "an old one keeps it");
    is_int(back->tasks[3].noderole, 60, "a task of a noderole that lives");
    buf_clear(&again);
    plan_encode(&again, back);
    plan_free(back);
    back = NULL;
    is_int(plan_decode(buf_str(&again), &back, &e), 0, "moved to their ids they do, too");
    plan_free(back);

    static const struct {
        const char *label, *text;
    } cases[] = {
        {"a change of nobody", "a change of none"},
        {"a change of a new noderole", "a change of none"},
        {"a change that changes nothing", "a change of none"},
        {"data of one that goes", "a change of one that goes"},
        {"new tasks and new definitions", "a change that says more than it does"},
        {"tasks that are not said", "a change that says more than it does"},
        {"definitions that are not said", "a change that says more than it does"},
        {"parents that are not said", "a change that says more than it does"},
        {"new tasks that are nobody's", "tasks that are not its noderoles' one after another"},
        {"a definition that is not", "a change to no definition"},
        {"a parent that is not", "a change to no parent"},
        {"a loss of nobody", "a change from no parent"},
        {"a task of another", "a task that is not its noderole's"},
        {"tasks elsewhere", "tasks that are not its noderoles' one after another"},
    };
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        SCOPED(plan) *q = sample_changes();
        SCOPED_BUF(bytes);
        struct plan_change *c = q->changes;
        switch (i) {
        case 0: c[0].noderole = 0; break;
        case 1: c[0].noderole = 0 | PLAN_NEW; break;
        case 2: c[2].what = 0; break;
        case 3: c[2].what |= PLAN_C_DATA; break;
        case 4: c[0].what |= PLAN_C_TASKS; break;
        case 5: c[1].what = PLAN_C_DATA; break;
        case 6: c[0].what &= (uint8_t)~PLAN_C_DEFS; break;
        case 7: c[0].what &= (uint8_t)~PLAN_C_PARENTS; break;
        case 8: c[1].n_tasks = 0; break;
        case 9: c[0].defs = refs(q, REFS(1 | PLAN_NEW, 5), 2); break;
        case 10: c[0].gains = refs(q, REFS(2 | PLAN_NEW), 1); break;
        case 11: c[0].losses = refs(q, REFS(0), 1); break;
        case 12: q->tasks[3].noderole = 61; break;
        case 13: c[1].first_task = 2; break;
        }
        plan_encode(&bytes, q);
        struct plan *wrong = NULL;
        is_int(plan_decode(buf_str(&bytes), &wrong, &e), -ERR_CORRUPT, "%s", cases[i].label);
        has_text(e.text, cases[i].text, "is told");
        plan_free(wrong);
    }
}

int main(void)
{
    test_rebase();
    test_journal();
    test_damage();
    test_nonsense();
    test_changes();
    return tap_done();
}
