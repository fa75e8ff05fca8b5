/* test_recover.c - rows read back are the same engine; rows that do not fit are refused (RFC 01, 6,
 * 9)
 *
 * The rig reads the engine back after every step and compares digests.  Here, besides, an engine
 * that was read back gets the same events as the one that was not: it must start the same and stay
 * the same.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "rig.h"

static uint32_t random_below(uint64_t *seed, uint32_t n)
{
    *seed = *seed * 6364136223846793005ull + 1442695040888963407ull;
    return (uint32_t)((*seed >> 33) % n);
}

static struct anneal *read_back(struct anneal *a)
{
    struct err e;
    struct buf b = {0};
    struct anneal *copy = anneal_new();
    anneal_save(a, &b);
    if (anneal_restore(copy, buf_str(&b), &e) < 0)
        ok(false, "the engine cannot be read back");
    buf_done(&b);
    return copy;
}

static void busy_cluster(struct rig *r)
{
    rig_init(r, 6);
    rig_def(r, (struct plan_def){.retries = 2, .backoff_ms = 500, .timeout_ms = 20000});
    rig_def(r, (struct plan_def){.repeat = REPEAT_ONCE, .hold = HOLD_NODE, .deadline_ms = 60000});
    rig_def(r, (struct plan_def){.flags = DEF_F_TAKES_DOWN, .repeat = REPEAT_TOKEN});
    rig_def(r, (struct plan_def){.flags = DEF_F_OUTSIDE | DEF_F_SURVIVES_REBOOT});
    rig_step(r, (struct event){.kind = EVENT_POOL_SET, .id = 1, .n = 1});
    rig_step(r, (struct event){.kind = EVENT_POOL_SET, .id = 2, .n = 2});
    rig_step(r, (struct event){.kind = EVENT_CAPACITY_SET, .n = 4});
    rig_plan(r, RIG_OP,
             "a@1=1 b@2:2<a=2+1 c@3<a=3 d@4:3<b,c+1,2=1 e@5<d=4 f@6!a<a g@1!d<f h@2<g,e+2");
    rig_op_add(r, 3, 1, CLASS_URGENT);
    rig_plan(r, 3, "x@3:2=1 y@4<x=2 z@5+1,2>y");
}

struct open_list {
    VEC(struct open_attempt) at;
};

static void collect_open(void *arg, const struct open_attempt *o)
{
    struct open_list *l = arg;
    vec_push(&l->at, *o);
}

static struct event random_event(struct rig *r, uint64_t *seed, uint32_t *ids)
{
    struct event ev = {0};
    uint32_t node = 1 + random_below(seed, 6), task = 1 + random_below(seed, 16);
    uint32_t noderole = 1 + random_below(seed, 11), op = 1 + random_below(seed, 3);
    struct open_list open = {0};
    anneal_each_open_attempt(r->a, collect_open, &open);
    uint32_t kind = random_below(seed, 24);
    if (kind < 12 && open.at.n > 0) {
        static const uint8_t outcomes[] = {
            OUTCOME_OK,     OUTCOME_OK,    OUTCOME_OK,   OUTCOME_OK,      OUTCOME_OK,
            OUTCOME_FAILED, OUTCOME_AGAIN, OUTCOME_LOST, OUTCOME_TIMEOUT, OUTCOME_CANCELLED};
        struct open_attempt o = open.at.at[random_below(seed, (uint32_t)open.at.n)];
        ev = (struct event){.kind = EVENT_RESULT,
                            .id = o.task,
                            .attempt = o.attempt,
                            .extra = o.asks,
                            .flag = outcomes[random_below(seed, 10)],
                            .ms = random_below(seed, 3000)};
    } else if (kind == 12) {
        ev = (struct event){.kind = EVENT_NODE_DEAD, .id = node};
    } else if (kind == 13 || kind == 14) {
        ev = (struct event){.kind = EVENT_NODE_SEEN,
                            .id = node,
                            .a = 100 + node + (random_below(seed, 20) == 0),
                            .b = 1 + random_below(seed, 2)};
    } else if (kind == 15) {
        ev = (struct event){
            .kind = EVENT_NODE_AVAILABLE, .id = node, .flag = random_below(seed, 4) > 0};
    } else if (kind == 16) {
        ev = (struct event){.kind = EVENT_DATA_SET, .id = noderole, .a = random_below(seed, 3)};
    } else if (kind == 17) {
        static const uint8_t kinds[] = {EVENT_CANCEL, EVENT_RESUME, EVENT_RETRY_OPERATION};
        ev = (struct event){
            .kind = kinds[random_below(seed, 3)], .id = op, .flag = (uint8_t)random_below(seed, 2)};
    } else if (kind == 18) {
        *ids = noderole;
        ev = (struct event){.kind = EVENT_RERUN, .op = OPERATION_STANDING, .ids = ids, .n_ids = 1};
    } else if (kind == 19) {
        ev = (struct event){.kind = EVENT_POKE, .id = task};
    } else if (kind == 20) {
        ev = (struct event){
            .kind = EVENT_RESOLVE, .id = task, .flag = (uint8_t)random_below(seed, 3)};
    } else if (kind == 21) {
        ev = (struct event){.kind = EVENT_RETRY_NODEROLE, .id = noderole};
    } else if (kind == 22) {
        ev = (struct event){.kind = EVENT_POOL_SET,
                            .id = 1 + random_below(seed, 2),
                            .n = random_below(seed, 3),
                            .flag = random_below(seed, 5) == 0};
    } else {
        ev = (struct event){.kind = EVENT_NODE_SILENT, .id = node};
    }
    vec_done(&open.at);
    return ev;
}

static bool equal_sends(const struct effects *x, const struct effects *y)
{
    if (x->sends.n != y->sends.n || x->stops.n != y->stops.n)
        return false;
    for (size_t i = 0; i < x->sends.n; i++)
        if (memcmp(&x->sends.at[i], &y->sends.at[i], sizeof x->sends.at[i]) != 0)
            return false;
    return true;
}

static void twins(uint64_t start)
{
    struct rig r;
    struct effects fx = {0};
    struct err e;
    uint64_t seed = start;
    uint32_t applied = 0, sent = 0, id = 0;
    bool good = true;
    busy_cluster(&r);
    struct anneal *twin = read_back(r.a);
    for (int i = 0; i < 400 && good; i++) {
        struct event ev = random_event(&r, &seed, &id);
        r.now += random_below(&seed, 10) == 0 ? random_below(&seed, 60000)
                                              : random_below(&seed, 500);
        int rc = rig_try(&r, ev);
        ev.at_ms = r.now;
        good = anneal_step(twin, &ev, &fx, &e) == rc && equal_sends(&r.fx, &fx) &&
               anneal_digest(twin) == anneal_digest(r.a) &&
               anneal_next_timer(twin) == anneal_next_timer(r.a);
        if (!good)
            ok(false, "seed %llu, event %d (%s): the twin differs", (unsigned long long)start, i,
               event_kind_name(ev.kind));
        applied += rc >= 0;
        sent += (uint32_t)r.fx.sends.n;
        if (i % 7 == 0) {
            anneal_free(twin);
            twin = read_back(r.a);
        }
    }
    ok(good && applied > 100 && sent > 20, "seed %llu: %u events applied, %u starts, twins equal",
       (unsigned long long)start, applied, sent);
    anneal_free(twin);
    effects_done(&fx);
    rig_done(&r);
}

static void starts_nothing(void)
{
    struct rig r;
    busy_cluster(&r);
    rig_again(&r, "a", 100);
    struct anneal *copy = read_back(r.a);
    is_int(anneal_task_end(copy), anneal_task_end(r.a), "as many tasks");
    is_int(anneal_noderole_end(copy), anneal_noderole_end(r.a), "as many noderoles");
    is_int(anneal_next_timer(copy), anneal_next_timer(r.a), "the same timer is due next");
    uint64_t x[2][NODEROLE_STATE_COUNT], y[2][TASK_STATE_COUNT];
    anneal_totals(r.a, x[0], y[0]);
    anneal_totals(copy, x[1], y[1]);
    ok(!memcmp(x[0], x[1], sizeof x[0]), "as many noderoles in each state");
    ok(!memcmp(y[0], y[1], sizeof y[0]), "as many tasks in each state");
    anneal_free(copy);
    rig_done(&r);
}

/* Reads the engine back row by row, one of them spoilt; -1 for a row: it is left out. */
struct spoil {
    const char *what;
    enum row_table table;
    uint64_t key;
    bool (*change)(union row_any *row); /* false: leave it out */
    const char *names;                  /* in the message */
};

static bool leave_out(union row_any *row)
{
    (void)row;
    return false;
}
static bool noderole_node(union row_any *row)
{
    row->noderole.node = 77;
    return true;
}
static bool noderole_operation(union row_any *row)
{
    row->noderole.operation = 77;
    return true;
}
static bool noderole_state(union row_any *row)
{
    row->noderole.state = 200;
    return true;
}
static bool noderole_no_tasks(union row_any *row)
{
    row->noderole.n_tasks = 0;
    return true;
}
static bool noderole_parent(union row_any *row)
{
    static const uint32_t parents[] = {77};
    row->noderole.parents = (struct str){(const char *)parents, sizeof parents};
    return true;
}
static bool noderole_half_parent(union row_any *row)
{
    row->noderole.parents = (struct str){"abc", 3};
    return true;
}
static bool task_noderole(union row_any *row)
{
    row->task.noderole = 77;
    return true;
}
static bool task_def(union row_any *row)
{
    row->task.def = 77;
    return true;
}
static bool task_span(union row_any *row)
{
    row->task.span = 77;
    return true;
}
static bool task_state(union row_any *row)
{
    row->task.state = TASK_STATE_COUNT;
    return true;
}
static bool task_dep(union row_any *row)
{
    static const uint32_t deps[] = {77};
    row->task.deps = (struct str){(const char *)deps, sizeof deps};
    return true;
}
static bool span_pool(union row_any *row)
{
    static const uint32_t pools[] = {77};
    row->span.pools = (struct str){(const char *)pools, sizeof pools};
    return true;
}
static bool def_jig(union row_any *row)
{
    row->def.jig = 77;
    return true;
}
static bool operation_tenant(union row_any *row)
{
    row->operation.tenant = 77;
    return true;
}
static bool attempt_task(union row_any *row)
{
    row->attempt.id = 77ull << ATTEMPT_BITS | 1;
    return true;
}
static bool attempt_twice(union row_any *row)
{
    row->attempt.id = 1ull << ATTEMPT_BITS | 2;
    return true;
}
static bool attempt_node(union row_any *row)
{
    row->attempt.node = 77;
    return true;
}

static void refused(const struct spoil *s)
{
    struct rig r;
    struct err e;
    int rc = 0;
    bool met = false;
    busy_cluster(&r);
    struct buf b = {0};
    anneal_save(r.a, &b);
    struct anneal *copy = anneal_new();
    union row_any row;
    for (size_t at = 0; at < b.len && rc >= 0;) {
        enum row_table t = (enum row_table)(uint8_t)b.data[at++];
        at += row_decode(t, (struct str){b.data + at, b.len - at}, &row);
        bool keep = true;
        if (t == s->table && row_key(t, &row) == s->key) {
            met = true;
            keep = s->change(&row);
        }
        if (keep)
            rc = anneal_load(copy, t, &row, &e);
    }
    struct err later;
    int end = anneal_load_end(copy, &later);
    if (rc >= 0) {
        rc = end;
        e = later;
    }
    char why[512] = "";
    ok(met, "%s: there is such a row", s->what);
    is_int(rc, -ERR_CORRUPT, "%s: refused", s->what);
    if (rc < 0)
        has_text(err_format(&e, why, sizeof why), s->names, "%s: names %s", s->what, s->names);
    anneal_free(copy);
    buf_done(&b);
    rig_done(&r);
}

/* Cut off between two rows the rest fits together; only open attempts, which come last, may be
 * fewer. */
static void cut_short(void)
{
    struct rig r;
    busy_cluster(&r);
    struct buf b = {0};
    union row_any row;
    uint32_t refused = 0, cuts = 0;
    anneal_save(r.a, &b);
    for (size_t at = 0; at < b.len;) {
        enum row_table t = (enum row_table)(uint8_t)b.data[at];
        if (t == ROWS_ATTEMPT)
            break;
        if (at > 0) {
            struct err e;
            struct anneal *copy = anneal_new();
            cuts++;
            refused += anneal_restore(copy, (struct str){b.data, at}, &e) == -ERR_CORRUPT;
            anneal_free(copy);
        }
        at++;
        at += row_decode(t, (struct str){b.data + at, b.len - at}, &row);
    }
    ok(cuts > 50, "%u cuts", cuts);
    is_int(refused, cuts, "rows cut off before any task are refused");
    buf_done(&b);
    rig_done(&r);
}

static void not_a_checkpoint(void)
{
    struct err e;
    struct anneal *a = anneal_new();
    is_int(anneal_restore(a, (struct str){"\xff\xff\xff", 3}, &e), -ERR_CORRUPT,
           "bytes that are no checkpoint are refused");
    is_int(anneal_restore(a, (struct str){"\0ab", 3}, &e), -ERR_CORRUPT, "and so is half a row");
    is_int(anneal_restore(a, (struct str){"", 0}, &e), 0, "no rows at all are an empty engine");
    is_int(anneal_task_end(a), 1, "with nothing in it");
    anneal_free(a);
}

int main(void)
{
    static const struct spoil spoils[] = {
        {"a task is missing", ROWS_TASK, 3, leave_out, "task 4"},
        {"a noderole is missing", ROWS_NODEROLE, 2, leave_out, "noderole 2"},
        {"a noderole on no node", ROWS_NODEROLE, 2, noderole_node, "noderole 2"},
        {"a noderole of no operation", ROWS_NODEROLE, 2, noderole_operation, "noderole 2"},
        {"a noderole in no state", ROWS_NODEROLE, 2, noderole_state, "noderole 2"},
        {"a noderole without tasks", ROWS_NODEROLE, 2, noderole_no_tasks, "noderole 2"},
        {"a parent that is missing", ROWS_NODEROLE, 2, noderole_parent, "noderole 77"},
        {"a list of parents cut short", ROWS_NODEROLE, 2, noderole_half_parent, "noderole 2"},
        {"a task of no noderole", ROWS_TASK, 2, task_noderole, "task 2"},
        {"a task of no definition", ROWS_TASK, 2, task_def, "task 2"},
        {"a task of no span", ROWS_TASK, 2, task_span, "task 2"},
        {"a task in no state", ROWS_TASK, 2, task_state, "task 2"},
        {"a dependency that is missing", ROWS_TASK, 2, task_dep, "task 77"},
        {"a span of no pool", ROWS_SPAN, 1, span_pool, "span 1"},
        {"a definition of no jig", ROWS_DEF, 1, def_jig, "definition 1"},
        {"an operation of no tenant", ROWS_OPERATION, 2, operation_tenant, "operation 2"},
        {"an attempt of no task", ROWS_ATTEMPT, 1ull << ATTEMPT_BITS | 1, attempt_task, "attempt"},
        {"an attempt on no node", ROWS_ATTEMPT, 1ull << ATTEMPT_BITS | 1, attempt_node, "attempt"},
    };
    for (uint64_t seed = 1; seed <= 6; seed++)
        twins(seed);
    starts_nothing();
    for (size_t i = 0; i < sizeof spoils / sizeof *spoils; i++)
        refused(&spoils[i]);
    /* The row of the other attempt that runs now claims the task of the first. */
    struct rig r;
    busy_cluster(&r);
    uint64_t other = (uint64_t)rig_task(&r, "x") << ATTEMPT_BITS | 1;
    rig_done(&r);
    refused(
        &(struct spoil){"two attempts of a task", ROWS_ATTEMPT, other, attempt_twice, "attempt"});
    cut_short();
    not_a_checkpoint();
    return tap_done();
}
