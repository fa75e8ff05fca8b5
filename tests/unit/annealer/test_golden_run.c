/* test_golden_run.c - runs of the Fuel executor, case by case, on the engine
 *
 * Reads golden/fuel/executor_run.json and executor_state.json from $ANNEAL_TEST_DATA, by default
 * ../shared beside the tree (argument 1).  A case becomes a plan: a noderole a node, its tasks in
 * the order of the file; a "sync" node has none, its stages are joins of what has ended.  Time is
 * the executor's: nodes are visited in turn, and a task ends when its node is visited `polls` times
 * after its start.  What is compared: how each task ends, which nodes failed or were stopped,
 * whether the run succeeded.  Where a case has a note that overrules its value the note counts.
 *
 * Exceptions are cases that the design overrules: docs/compatibility.md has the sentences.  Cases
 * that need a graph and its plan are run by tests/unit/sim/test_golden_deploy.c.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "base/json.h"
#include "draft.h"

enum { VERTICES = 64, PLACES = 8, EDGES = 64, JIG_OFF = 2 };

struct vertex {
    char name[48]; /* "task/node" */
    uint32_t place, polls, weight, task;
    enum task_rule rule;
    bool fail, idle; /* idle: no worker will ever take it */
    uint32_t due;    /* visit in which it is heard of; 0: not started */
};
struct place {
    const char *name;
    bool sync;
    uint32_t group; /* 1-based, of the plan */
};
struct run {
    struct rig r;
    const struct value *in;
    struct vertex v[VERTICES];
    uint32_t n, n_places, n_edges;
    struct place places[PLACES];
    uint32_t edges[EDGES][2];
    struct plan_group groups[PLACES];
    uint32_t n_groups;
};
struct tally {
    uint32_t ran, passed, excepted, elsewhere;
};

static bool named(const struct value *list, const char *name)
{
    for (uint32_t i = 0; value_is(list, VALUE_LIST) && i < list->n; i++)
        if (!strcmp(value_as_text(&list->items[i], ""), name))
            return true;
    return false;
}

static struct vertex *find(struct run *x, const char *name)
{
    for (uint32_t i = 0; i < x->n; i++)
        if (!strcmp(x->v[i].name, name))
            return &x->v[i];
    printf("Bail out! no vertex %s\n", name);
    exit(1);
}

/* ---- reading a case ---- */

static void vertex_read(struct run *x, uint32_t place, const char *task, const struct value *data)
{
    struct vertex *v = &x->v[x->n++];
    const char *type = value_as_text(value_get(data, "type"), "");
    *v = (struct vertex){.place = place,
                         .polls = (uint32_t)value_as_int(value_get(data, "polls"), 1),
                         .fail = value_as_bool(value_get(data, "fail"), false)};
    snprintf(v->name, sizeof v->name, "%s/%s", task, x->places[place].name);
    v->rule = !strcmp(type, "stage")     ? RULE_JOIN_ENDED
              : !strcmp(type, "skipped") ? RULE_SKIP
                                         : RULE_RUN;
}

static void places_read(struct run *x)
{
    const struct value *nodes = value_get(x->in, "nodes");
    for (uint32_t i = 0; i < nodes->n; i++) {
        const struct value *tasks = &nodes->members[i].v;
        x->places[x->n_places++] = (struct place){
            .name = nodes->members[i].key,
            .sync = named(value_get(x->in, "sync"), nodes->members[i].key)};
        for (uint32_t k = 0; k < tasks->n; k++)
            if (value_is(tasks, VALUE_MAP))
                vertex_read(x, i, tasks->members[k].key, &tasks->members[k].v);
            else
                vertex_read(x, i, value_as_text(&tasks->items[k], "?"), NULL);
    }
    const struct value *edges = value_get(x->in, "edges");
    for (uint32_t i = 0; edges && i < edges->n; i++, x->n_edges++)
        for (uint32_t end = 0; end < 2; end++)
            x->edges[i][end] = (uint32_t)(find(x, value_as_text(&edges->items[i].items[end], "")) -
                                          x->v);
}

static void groups_read(struct run *x)
{
    const struct value *groups = value_get(x->in, "groups");
    for (uint32_t i = 0; groups && i < groups->n; i++) {
        const struct value *g = &groups->items[i];
        x->groups[x->n_groups++] = (struct plan_group){value_as_str(&g->items[0]),
                                                       (uint32_t)value_as_int(&g->items[1], 0)};
        for (uint32_t k = 0; k < x->n_places; k++)
            if (named(&g->items[2], x->places[k].name))
                x->places[k].group = x->n_groups;
    }
    bool strict = groups || value_get(x->in, "critical");
    x->groups[x->n_groups++] = (struct plan_group){str_of("others"), strict ? 0 : PLAN_ANY_FAIL};
    for (uint32_t k = 0; k < x->n_places; k++)
        if (!x->places[k].group)
            x->places[k].group = x->n_groups;
}

/* As the executor weighs: ten for each dependent elsewhere, one for each here, and what they weigh.
 */
static void weigh(struct run *x)
{
    for (uint32_t round = 0; round < x->n; round++) {
        uint32_t sums[VERTICES] = {0};
        for (uint32_t i = 0; i < x->n_edges; i++) {
            const struct vertex *from = &x->v[x->edges[i][0]], *to = &x->v[x->edges[i][1]];
            sums[x->edges[i][0]] += (from->place == to->place ? 1 : 10) + to->weight;
        }
        for (uint32_t i = 0; i < x->n; i++)
            x->v[i].weight = sums[i];
    }
}

/* ---- the plan ---- */

static uint32_t span_of(struct draft *m, const struct run *x, const struct vertex *v,
                        uint32_t pools[VERTICES])
{
    const struct value *limits = value_get(x->in, "task_max");
    for (uint32_t i = 0; limits && i < limits->n; i++) {
        const struct member *limit = &limits->members[i];
        if (strncmp(v->name, limit->key, limit->key_n) != 0 || v->name[limit->key_n] != '/')
            continue;
        if (!pools[i])
            pools[i] = draft_pool(m, (uint32_t)value_as_int(&limit->v, 0));
        return draft_span(m, &pools[i], 1);
    }
    return 0;
}

static int apply(struct run *x)
{
    struct draft m = draft_new(&x->r);
    uint32_t pools[VERTICES] = {0}, at = 0;
    uint32_t def = draft_def(&m, (struct plan_def){0}),
             off = draft_def(&m, (struct plan_def){.jig = JIG_OFF});
    m.p->groups = x->groups;
    m.p->n_groups = x->n_groups;
    for (uint32_t p = 0; p < x->n_places; p++) {
        draft_noderole(&m, x->places[p].sync ? 0 : p + 1, NODEROLE_F_PHASED, NONE);
        m.p->noderoles[p].group = x->places[p].sync ? 0 : x->places[p].group;
        for (; at < x->n && x->v[at].place == p; at++) {
            struct vertex *v = &x->v[at];
            uint32_t deps[EDGES], n = 0;
            for (uint32_t i = 0; i < x->n_edges; i++)
                if (x->edges[i][1] == at)
                    deps[n++] = m.task + x->edges[i][0];
            uint32_t span = v->rule == RULE_RUN ? span_of(&m, x, v, pools) : 0;
            v->task = draft_task(&m, v->idle ? off : def, span, v->weight + 1, deps, n);
            m.p->tasks[at].rule = (uint8_t)v->rule;
        }
    }
    return draft_apply(&m);
}

static void run_open(struct run *x, const struct value *in, uint32_t capacity)
{
    *x = (struct run){.in = in};
    rig_init_with(&x->r, PLACES, capacity, NULL);
    rig_step(&x->r, (struct event){.kind = EVENT_JIG_SET, .id = JIG_OFF, .flag = 1});
    places_read(x);
    groups_read(x);
    weigh(x);
}

static bool started(enum task_state s)
{
    return s != TASK_PENDING && s != TASK_READY && s != TASK_CANCELLED;
}

/* What started while a place was visited is heard of in a later visit of its own. */
static void note_starts(struct run *x, uint32_t visit, uint32_t place)
{
    for (uint32_t i = 0; i < x->n; i++)
        if (rig_was_sent(&x->r, x->v[i].task))
            x->v[i].due = visit + x->v[i].polls + (x->v[i].place < place);
}

static void run_through(struct run *x)
{
    note_starts(x, 0, 0);
    for (uint32_t visit = 1; visit < 200; visit++)
        for (uint32_t p = 0; p < x->n_places; p++)
            for (uint32_t i = 0; i < x->n; i++) {
                struct vertex *v = &x->v[i];
                if (v->place != p || v->due != visit)
                    continue;
                v->due = 0;
                rig_reply(&x->r, v->task, v->fail ? OUTCOME_FAILED : OUTCOME_OK);
                note_starts(x, visit, p);
                break;
            }
}

/* ---- comparing ---- */

static bool ends_as(const struct run *x, const struct vertex *v, const char *want)
{
    enum task_state s = rig_task_at(&x->r, v->task).state;
    if (!strcmp(want, "successful"))
        return s == TASK_DONE;
    if (!strcmp(want, "failed"))
        return s == TASK_FAILED;
    if (!strcmp(want, "dep_failed"))
        return s == TASK_DEP_FAILED;
    if (!strcmp(want, "skipped") && v->rule != RULE_RUN)
        return task_state_passed(s);
    return !started(s); /* pending, ready, and skipped because of a stop */
}

struct fate { /* of a place */
    bool failed, dep_failed, stopped;
};

static struct fate fate_of(const struct run *x, uint32_t place)
{
    struct fate f = {0};
    for (uint32_t i = 0; i < x->n; i++) {
        enum task_state s = rig_task_at(&x->r, x->v[i].task).state;
        if (x->v[i].place != place)
            continue;
        f.failed |= s == TASK_FAILED;
        f.dep_failed |= s == TASK_DEP_FAILED;
        f.stopped |= !started(s);
    }
    return f;
}

static bool same_nodes(const struct run *x, const struct value *out)
{
    bool same = true;
    for (uint32_t p = 0; p < x->n_places; p++) {
        struct fate f = fate_of(x, p);
        const char *name = x->places[p].name;
        const char *is = f.failed ? "failed" : f.stopped ? "skipped" : "online";
        bool lists = named(value_get(out, "failed_nodes"), name) == (f.failed || f.dep_failed) &&
                     named(value_get(out, "skipped_nodes"), name) == (!f.failed && f.stopped);
        if (lists && !strcmp(value_as_text(value_get(value_get(out, "nodes"), name), ""), is))
            continue;
        note("node %s is %s", name, is);
        same = false;
    }
    return same;
}

static bool same_end(const struct run *x, const struct value *out)
{
    struct operation_view op = rig_op(&x->r, RIG_OP);
    const char *overruled = value_as_text(value_get(out, "note"), "");
    bool success = value_as_bool(value_get(out, "success"), false);
    if (strstr(overruled, "a distinct final state is better"))
        return op.state == OPERATION_CANCELLED;
    if (strstr(overruled, "a new system should report failure"))
        success = false;
    bool is = op.state == OPERATION_SUCCEEDED || op.state == OPERATION_TOLERATED;
    bool by_group = op.state == OPERATION_FAILED && op.reason == REASON_TOLERANCE;
    if (is == success && (success || by_group))
        return true;
    note("the operation is %s %s", operation_state_name(op.state), reason_name(op.reason));
    return false;
}

static bool run_case(const struct value *in, const struct value *out)
{
    struct run x;
    bool stop = value_get(in, "stop_at");
    run_open(&x, in, stop ? 0 : (uint32_t)value_as_int(value_get(in, "node_max"), 100));
    bool same = apply(&x) == 0;
    if (stop) {
        rig_do(&x.r, EVENT_CANCEL, RIG_OP);
        rig_step(&x.r, (struct event){.kind = EVENT_CAPACITY_SET, .n = 100});
    }
    run_through(&x);
    const struct value *final = value_get(out, "final");
    same &= final->n == x.n;
    for (uint32_t i = 0; i < final->n; i++) {
        const struct vertex *v = find(&x, final->members[i].key);
        const char *want = value_as_text(&final->members[i].v, "");
        if (ends_as(&x, v, want))
            continue;
        note("%s is %s, not %s", v->name, task_state_name(rig_task_at(&x.r, v->task).state), want);
        same = false;
    }
    for (uint32_t i = 0; i < x.n; i++)
        same &= named(value_get(out, "failed_tasks"), x.v[i].name) ==
                (rig_task_at(&x.r, x.v[i].task).state == TASK_FAILED);
    same &= same_nodes(&x, out) && same_end(&x, out);
    rig_done(&x.r);
    return same;
}

/* ---- facts of a state ---- */

/* Brings what the case gives a status to that status and leaves the rest where it is. */
static void state_open(struct run *x, const struct value *in)
{
    const struct value *status = value_get(in, "status");
    run_open(x, in, 100);
    for (uint32_t i = 0; i < x->n; i++) {
        const char *want = value_as_text(value_get(status, x->v[i].name), "");
        x->v[i].rule = strcmp(want, "skipped") ? RULE_RUN : RULE_SKIP;
        x->v[i].fail = !strcmp(want, "failed");
        x->v[i].idle = status && !*want;
    }
    if (apply(x) != 0)
        ok(false, "the plan was refused: %s", x->r.e.text);
}

static uint32_t count_state(const struct run *x, bool (*is)(enum task_state s))
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < x->n; i++)
        n += is(rig_task_at(&x->r, x->v[i].task).state);
    return n;
}

static bool failed(enum task_state s)
{
    return s == TASK_FAILED;
}
static bool waiting(enum task_state s)
{
    return !started(s);
}

static bool same_order(struct run *x)
{
    uint32_t seen[VERTICES] = {0}, n = 0;
    rig_step(&x->r, (struct event){.kind = EVENT_CAPACITY_SET, .n = 1});
    for (bool more = true; more;) {
        more = false;
        for (uint32_t i = 0; i < x->n; i++)
            if (rig_task_at(&x->r, x->v[i].task).state == TASK_RUNNING) {
                seen[i] = ++n;
                rig_reply(&x->r, x->v[i].task, OUTCOME_OK);
                more = true;
            }
    }
    bool same = n == x->n;
    for (uint32_t i = 0; i < x->n_edges; i++)
        same &= seen[x->edges[i][0]] < seen[x->edges[i][1]];
    return same;
}

/* Whatever fails with it is what can be reached from it. */
static bool same_reach(struct run *x, const struct value *reach)
{
    struct vertex *from = find(x, value_as_text(value_get(x->in, "from"), ""));
    bool same = true;
    rig_reply(&x->r, from->task, OUTCOME_FAILED);
    for (uint32_t i = 0; i < x->n; i++)
        same &= task_state_failed(rig_task_at(&x->r, x->v[i].task).state) ==
                named(reach, x->v[i].name);
    return same;
}

/* What started when nothing had ended was ready; one a node at a time is the executor's too. */
static bool same_ready(const struct run *x, const struct value *ready)
{
    bool same = true;
    for (uint32_t i = 0; i < x->n; i++)
        same &= (rig_task_at(&x->r, x->v[i].task).unmet == 0) == named(ready, x->v[i].name);
    return same;
}

static bool state_case(const struct value *in, const struct value *out)
{
    struct run x;
    bool same = true;
    state_open(&x, in);
    if (value_get(out, "order"))
        same &= same_order(&x);
    if (value_get(out, "reach"))
        same &= same_reach(&x, value_get(out, "reach"));
    if (value_get(out, "ready"))
        same &= same_ready(&x, value_get(out, "ready"));
    if (value_get(in, "status"))
        run_through(&x);
    const struct value *status = value_get(out, "status");
    for (uint32_t i = 0; status && i < status->n; i++)
        same &= !strcmp(value_as_text(&status->members[i].v, ""), "ready") &&
                rig_task_at(&x.r, find(&x, status->members[i].key)->task).state == TASK_READY;
    struct operation_view op = rig_op(&x.r, RIG_OP);
    if (value_get(out, "all_finished"))
        same &= value_as_bool(value_get(out, "all_finished"), false) ==
                    (op.state != OPERATION_RUNNING) &&
                value_as_bool(value_get(out, "all_successful"), false) ==
                    (op.state == OPERATION_SUCCEEDED);
    if (value_get(out, "failed"))
        same &= value_as_int(value_get(out, "failed"), -1) == count_state(&x, failed) &&
                op.counts[TASK_FAILED] == count_state(&x, failed);
    if (value_get(out, "total"))
        same &= value_as_int(value_get(out, "total"), -1) == x.n;
    if (value_get(out, "pending"))
        same &= value_as_int(value_get(out, "pending"), -1) == count_state(&x, waiting);
    rig_done(&x.r);
    return same;
}

/* ---- the suites ---- */

static const struct {
    const char *name, *why;
    bool overruled; /* by the design: docs/compatibility.md; else sim/golden_deploy runs it */
} apart[] = {
    {"offline_nodes_exceed_tolerance", "a node that does not answer is waited for", true},
    {"offline_critical_aborts", "a node that does not answer is waited for", true},
    {"weight_cross_node", "weight is the longest remaining path", true},
    {"noop_run_types", "jigs are told to change nothing", true},
    {"default_group", "how groups are made", false},
    {"self_edge_dropped", "how edges are made", false},
    {"string_form", "how instances are called", false},
};

static void suite(const char *dir, const char *file,
                  bool (*fn)(const struct value *in, const struct value *out), struct tally *sum)
{
    SCOPED_ARENA(mem);
    SCOPED_BUF(text);
    struct value *root;
    struct err e;
    char path[512], piece[4096];
    snprintf(path, sizeof path, "%s/golden/fuel/%s", dir, file);
    FILE *f = fopen(path, "r");
    if (!f) {
        skip(arena_printf(&mem, "no cases in %s", path));
        return;
    }
    for (size_t n; (n = fread(piece, 1, sizeof piece, f)) > 0;)
        buf_put(&text, piece, n);
    fclose(f);
    if (!ok(json_parse(&mem, text.data, text.len, NULL, &root, &e) == 0, "%s is read", file))
        return;
    const struct value *cases = value_get(root, "cases");
    is_int(cases->n, value_as_int(value_get(root, "count"), -1), "%s: all cases are there", file);
    for (uint32_t i = 0; i < cases->n; i++) {
        const char *name = value_as_text(value_get(&cases->items[i], "name"), "?");
        size_t k = 0;
        while (k < sizeof apart / sizeof *apart && strcmp(apart[k].name, name) != 0)
            k++;
        if (k < sizeof apart / sizeof *apart) {
            *(apart[k].overruled ? &sum->excepted : &sum->elsewhere) += 1;
            note("%s: %s (%s)", name, apart[k].overruled ? "excepted" : "run by sim/golden_deploy",
                 apart[k].why);
            continue;
        }
        sum->ran++;
        sum->passed += ok(fn(value_get(&cases->items[i], "in"), value_get(&cases->items[i], "out")),
                          "%s: %s", file, name);
    }
}

int main(int argc, char **argv)
{
    const char *data = getenv("ANNEAL_TEST_DATA");
    struct tally sum = {0};
    char dir[512];
    snprintf(dir, sizeof dir, "%s%s",
             data       ? data
             : argc > 1 ? argv[1]
                        : ".",
             data ? "" : "/../shared");
    suite(dir, "executor_run.json", run_case, &sum);
    suite(dir, "executor_state.json", state_case, &sum);
    note("ran %u, passed %u, excepted %u, skipped 0, run elsewhere %u", sum.ran, sum.passed,
         sum.excepted, sum.elsewhere);
    return tap_done();
}
