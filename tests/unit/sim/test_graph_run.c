/* test_graph_run.c - task graphs on the engine: plans are taken, and run as they are meant
 *
 * The runs are those of `anneal plan --simulate` (sim/sim_graph.h), where the engine checks itself
 * after every step.  RFC 07, sections 5 and 6.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "tap.h"

#include "graph_gen.h"
#include "sim/sim_graph.h"

static const char native[] = "barclamp: t\n";
static const char imported[] = "barclamp: t\nlenient: true\ngraphs: {requires: same-node}\n";

struct trial {
    struct weave_bed b;
    struct sim_graph *run;
    uint32_t workers;
    uint64_t seed;
};

static bool trial_open(struct trial *t, const char *barclamp, const char *graph)
{
    *t = (struct trial){.seed = 1};
    bed_init(&t->b);
    if (bed_graph(&t->b, barclamp, str_of(graph)))
        return true;
    ok(false, "loads: %s %s", t->b.err.at, t->b.err.text);
    return false;
}

static void trial_close(struct trial *t)
{
    sim_graph_free(t->run);
    bed_done(&t->b);
}

/* fails: words with blanks between. */
static int trial_run(struct trial *t, const char *fails)
{
    struct str words[8];
    struct sim_graph_request req = {.weave = t->b.w,
                                    .of = &t->b.req,
                                    .cat = t->b.catalog,
                                    .fails = words,
                                    .workers = t->workers,
                                    .seed = t->seed};
    for (const char *at = fails; *at; at += strspn(at, " ")) {
        words[req.n_fails++] = (struct str){at, strcspn(at, " ")};
        at += strcspn(at, " ");
    }
    sim_graph_free(t->run);
    t->run = NULL;
    return sim_graph_run(&req, &t->run, &t->b.err);
}

static bool trial_ran(struct trial *t, const char *fails)
{
    if (bed_weave(&t->b) >= 0 && trial_run(t, fails) >= 0)
        return true;
    ok(false, "runs: %s (%s)", t->b.err.text, t->b.err.hint);
    return false;
}

static const char *end_of(const struct trial *t)
{
    static char text[64];
    snprintf(text, sizeof text, "%s%s%s", operation_state_name((enum operation_state)t->run->state),
             t->run->reason ? " " : "", reason_name((enum reason)t->run->reason));
    return text;
}

static const char *state_of(struct trial *t, const char *name)
{
    uint32_t v = bed_find(&t->b, name);
    return v == WEAVE_NONE ? "no such vertex"
                           : task_state_name((enum task_state)t->run->tasks[v].state);
}

static const char *noderole_of(struct trial *t, const char *role, uint32_t node)
{
    for (uint32_t i = 0; i < t->run->n_noderoles; i++)
        if (str_is(t->run->noderoles[i].role, role) && t->run->noderoles[i].node == node)
            return noderole_state_name((enum noderole_state)t->run->noderoles[i].state);
    return "no such noderole";
}

/* --- failures --- */

static const char site[] =
    "- {id: ctl, type: group, required_for: [deployment]%s}\n"
    "- {id: agent, type: group, required_for: [deployment]}\n"
    "- {id: db, type: puppet, groups: [ctl], parameters: {retries: 2}}\n"
    "- {id: api, type: shell, groups: [ctl], requires: [db]}\n"
    "- {id: join, type: shell, groups: [agent], cross_depends: [{name: api, role: ctl}]}\n"
    "- {id: note, type: shell, groups: [agent], fail_on_error: false}\n"
    "- {id: after, type: shell, groups: [agent], requires: [note]}\n"
    "- {id: verify, type: shell, role: '*', requires: [deployment]}\n";

static bool site_open(struct trial *t, const char *barclamp, const char *tolerance)
{
    char text[1024];
    snprintf(text, sizeof text, site, tolerance);
    if (!trial_open(t, barclamp, text))
        return false;
    bed_node(&t->b, "n1", "ctl");
    bed_node(&t->b, "n2", "ctl");
    bed_node(&t->b, "n3", "ctl");
    bed_node(&t->b, "n4", "agent");
    return true;
}

static void test_failures(void)
{
    struct trial t;
    if (site_open(&t, native, "") && trial_ran(&t, "")) {
        is_text(end_of(&t), "succeeded", "nothing fails: it succeeds");
        is_text(noderole_of(&t, "ctl", 0), "ACTIVE", "and all are in service");
    }
    if (trial_ran(&t, "db/n2")) {
        uint32_t v = bed_find(&t.b, "db/n2");
        is_text(end_of(&t), "failed dependency", "one fails: it has failed");
        is_text(state_of(&t, "db/n2"), "FAILED", "for good");
        is_int(t.run->tasks[v].attempts, 3, "after its retries");
        is_text(state_of(&t, "api/n2"), "DEP_FAILED", "with what comes behind it");
        is_text(state_of(&t, "join/n4"), "DEP_FAILED", "on other nodes too");
        is_text(state_of(&t, "deployment"), "DEP_FAILED", "the stage is not reached");
        is_text(state_of(&t, "verify/n4"), "DEP_FAILED", "nor what follows it");
        is_text(state_of(&t, "api/n1"), "DONE", "and everything else is done");
        is_text(noderole_of(&t, "ctl", 1), "ERROR", "its noderole is in error");
    }
    if (trial_ran(&t, "note")) {
        is_text(end_of(&t), "succeeded-with-failures", "one that may fail: it succeeds");
        is_text(state_of(&t, "note/n4"), "TOLERATED", "and says so");
        is_text(state_of(&t, "after/n4"), "DONE", "those behind it go on");
    }
    trial_close(&t);
    if (site_open(&t, native, ", fault_tolerance: 1") && trial_ran(&t, "db/n2")) {
        is_text(end_of(&t), "succeeded-with-failures", "within tolerance it succeeds");
        is_text(state_of(&t, "api/n2"), "DEP_FAILED", "on its own node a failure stays one");
        is_text(state_of(&t, "join/n4"), "DONE", "elsewhere it is forgiven");
        is_text(state_of(&t, "verify/n4"), "DONE", "and behind stages");
    }
    if (trial_ran(&t, "db/n2 db/n3")) {
        is_text(end_of(&t), "failed tolerance", "beyond it the operation stops");
        is_text(state_of(&t, "verify/n4"), "DEP_FAILED", "and its stage is not reached");
    }
    trial_close(&t);
    if (site_open(&t, imported, "") && trial_ran(&t, "db/n2")) {
        is_text(end_of(&t), "failed dependency", "imported: it has failed as well");
        is_text(state_of(&t, "join/n4"), "DEP_FAILED", "and so has what waits for it");
    }
    trial_close(&t);
}

/* Nodes of a group on which a task of it was tried. */
static uint32_t tried_on(struct trial *t, const char *task)
{
    uint32_t n = 0;
    for (uint32_t node = 1; node <= t->b.nodes.n; node++) {
        uint32_t v = bed_find(&t->b, arena_printf(&t->b.mem, "%s/n%u", task, node));
        n += v != WEAVE_NONE && t->run->tasks[v].attempts > 0;
    }
    return n;
}

/* After more failures than may be no further node of the group begins, whatever it did before. */
static void test_rollouts(void)
{
    static const char graph[] =
        "- {id: web, type: group, requires: [pre_deployment], required_for: [deployment]%s}\n"
        "- {id: early, type: shell, role: '*', required_for: [pre_deployment]}\n"
        "- {id: stop, type: shell, groups: [web]}\n"
        "- {id: serve, type: shell, groups: [web], requires: [stop]}\n"
        "- {id: report, type: shell, role: '*', requires: [deployment]}\n";
    static const struct {
        const char *barclamp, *says, *end;
        uint32_t most;
    } cases[] = {
        {native, ", strategy: {type: one_by_one}", "failed rollout", 1},
        {native, ", strategy: {type: one_by_one, failures: 2}", "failed rollout", 3},
        {native, ", strategy: {type: one_by_one, failures: 2}", "failed rollout", 3},
        {native, ", strategy: {type: parallel, amount: 2}", "failed rollout", 2},
        {native, ", strategy: {type: parallel, amount: 2}, fault_tolerance: 2", "failed rollout",
         4},
        {native, ", strategy: {type: rolling, amount: 2}", "failed rollout", 2},
        {native, ", strategy: {type: rolling, amount: 3, failures: '50%'}", "failed rollout", 6},
        {native, ", strategy: {type: rolling, amount: 2, failures: '100%'}", "failed dependency",
         7},
        {native, ", strategy: {type: parallel}", "failed dependency", 7},
        {imported, ", strategy: {type: rolling, amount: 1}", "failed dependency", 7},
        {imported, ", strategy: {type: rolling, amount: 1}, fault_tolerance: 1", "failed rollout",
         2},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (uint64_t seed = 1; seed <= 10; seed++) {
            struct trial t;
            char text[1024];
            snprintf(text, sizeof text, graph, cases[i].says);
            if (trial_open(&t, cases[i].barclamp, text)) {
                t.seed = seed;
                for (int n = 1; n <= 7; n++)
                    bed_node(&t.b, arena_printf(&t.b.mem, "n%d", n), "web");
                if (trial_ran(&t, "serve")) {
                    uint32_t n = tried_on(&t, "stop");
                    ok(n > 0 && n <= cases[i].most &&
                           (cases[i].barclamp == imported || tried_on(&t, "early") == 7),
                       "%s: %u are touched, %u at most", cases[i].says, n, cases[i].most);
                    is_text(end_of(&t), cases[i].end, "%s: %s", cases[i].says, cases[i].end);
                }
            }
            trial_close(&t);
        }
}

/* Imported stages wait for the end only. */
static void test_stages(void)
{
    static const char graph[] = "- {id: one, type: stage}\n"
                                "- {id: two, type: stage, requires: [one]}\n"
                                "- {id: web, type: group}\n"
                                "- {id: a, type: shell, groups: [web], required_for: [one]}\n"
                                "- {id: b, type: shell, groups: [web], requires: [one],\n"
                                "   required_for: [two]}\n";
    static const struct {
        const char *name, *barclamp, *stage, *next;
    } cases[] = {{"native", native, "DEP_FAILED", "DEP_FAILED"},
                 {"imported", imported, "DONE", "DONE"}};
    for (size_t i = 0; i < 2; i++) {
        struct trial t;
        if (trial_open(&t, cases[i].barclamp, graph)) {
            bed_node(&t.b, "n1", "web");
            bed_node(&t.b, "n2", "web");
            if (trial_ran(&t, "a/n1")) {
                is_text(state_of(&t, "one"), cases[i].stage, "%s: a stage behind a failure",
                        cases[i].name);
                is_text(state_of(&t, "b/n2"), cases[i].next, "%s: and what it is before",
                        cases[i].name);
                has_text(end_of(&t), "failed", "%s: the operation has failed", cases[i].name);
            }
        }
        trial_close(&t);
    }
}

static void test_words(void)
{
    struct trial t;
    if (site_open(&t, native, "") && bed_weave(&t.b) >= 0) {
        static const struct {
            const char *word, *text, *hint;
        } cases[] = {
            {"dbb", "nothing is called dbb", "did you mean db?"},
            {"apo/n1", "nothing is called apo/n1", "did you mean api/n1?"},
            {"db/n11", "nothing is called db/n11", "did you mean db/n1?"},
            {"db/elsewhere", "nothing is called db/elsewhere", "TASK/NODE"},
            {"deployment", "nothing of deployment is run", "stage"},
        };
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
            is_int(trial_run(&t, cases[i].word), -ERR_NOT_FOUND, "%s is no word", cases[i].word);
            has_text(t.b.err.text, cases[i].text, "%s: it says so", cases[i].word);
            has_text(t.b.err.hint, cases[i].hint, "%s: and what would be one", cases[i].word);
        }
        static const struct str skip[] = {{"db", 2}};
        struct weave_pick pick = {.skip = skip, .n_skip = 1};
        t.b.req.pick = &pick;
        if (bed_weave(&t.b) >= 0) {
            is_int(trial_run(&t, "db/n1"), -ERR_NOT_FOUND, "what is left out cannot fail");
            is_text(t.b.err.hint, "skipped", "and why it is");
            is_int(trial_run(&t, ""), 0, "without it the rest runs");
            is_text(state_of(&t, "db/n1"), "SKIPPED", "and it is passed");
            is_text(state_of(&t, "api/n1"), "DONE", "by those behind it");
        }
    }
    trial_close(&t);
}

/* --- shapes --- */

/* Graphs at the edges: nothing without a node, nothing on a node, more of it than one can carry. */
static void test_shapes(void)
{
    struct trial t;
    if (trial_open(&t, imported,
                   "- {id: web, type: group}\n- {id: a, type: shell, groups: [web]}\n")) {
        bed_node(&t.b, "n1", "web");
        if (trial_ran(&t, "")) {
            is_int(t.b.w->n_stages + t.b.w->n_joins, 0, "neither stage nor join");
            is_text(end_of(&t), "succeeded", "is a run all the same");
        }
    }
    trial_close(&t);
    if (trial_open(&t, native, "- {id: web, type: group}\n")) {
        bed_node(&t.b, "n1", "web");
        if (trial_ran(&t, ""))
            is_text(end_of(&t), "succeeded", "stages only: they are reached");
    }
    trial_close(&t);
    SCOPED_BUF(text);
    for (int i = 0; i < 50001; i++)
        buf_printf(&text, "- {id: s%d, type: stage}\n", i);
    buf_puts(&text, "- {id: web, type: group}\n- {id: a, type: shell, groups: [web], requires: "
                    "[s0, s50000]}\n");
    if (trial_open(&t, native, text.data)) {
        bed_node(&t.b, "n1", "web");
        if (trial_ran(&t, "")) {
            is_text(end_of(&t), "succeeded", "stages of two carriers are reached");
            is_int(t.run->n_noderoles, 3, "which are two");
        }
    }
    trial_close(&t);
}

/* --- order and limits, of random graphs --- */

/* When what a vertex stands for is over: its own end, or of what is passive the end of all before
 * it. */
static void ends_find(struct trial *t, uint32_t *ret)
{
    const struct weave *w = t->b.w;
    for (uint32_t i = 0; i < w->n; i++) {
        uint32_t v = w->order[i];
        ret[v] = t->run->tasks[v].end;
        for (uint32_t k = w->first[v]; !t->run->tasks[v].end && k < w->first[v + 1]; k++)
            ret[v] = ret[w->deps[k]] > ret[v] ? ret[w->deps[k]] : ret[v];
    }
}

static bool order_held(struct trial *t)
{
    const struct weave *w = t->b.w;
    uint32_t *ends = arena_new(&t->b.mem, uint32_t, w->n),
             *deps = arena_new(&t->b.mem, uint32_t, w->n);
    ends_find(t, ends);
    for (uint32_t v = w->n_stages; v < w->n_stages + w->n_tasks; v++) {
        const struct sim_graph_task *at = &t->run->tasks[v];
        bool run = w->vertices[v].reason == WEAVE_RUN;
        if (at->attempts != run || at->state != (run ? TASK_DONE : TASK_SKIPPED))
            return false;
        uint32_t n = weave_plain_deps(w, v, deps, w->n);
        for (uint32_t i = 0; run && i < n; i++)
            if (ends[deps[i]] >= at->began)
                return false;
    }
    return true;
}

struct interval {
    uint32_t from, to;
};

static bool at_most(const struct interval *all, uint32_t n, uint32_t size)
{
    for (uint32_t i = 0; i < n; i++) {
        uint32_t open = 0;
        for (uint32_t k = 0; k < n; k++)
            open += all[k].from <= all[i].from && all[i].from < all[k].to;
        if (open > size)
            return false;
    }
    return true;
}

/* Instances that a limit is about, or nodes of its group from their first start to their last end.
 */
static bool limit_held(struct trial *t, const struct weave_limit *limit)
{
    const struct weave *w = t->b.w;
    struct interval *all = arena_new(&t->b.mem, struct interval, w->n_tasks + w->n_nodes + 1);
    uint32_t n = 0;
    for (uint32_t v = w->n_stages; v < w->n_stages + w->n_tasks; v++) {
        const struct weave_vertex *at = &w->vertices[v];
        const struct sim_graph_task *s = &t->run->tasks[v];
        if (!s->attempts)
            continue;
        if (!limit->nodes && at->task == limit->vertex &&
            (limit->group == WEAVE_NONE || limit->group == at->role))
            all[n++] = (struct interval){s->began, s->end};
        if (!limit->nodes || at->role != limit->vertex)
            continue;
        struct interval *node = &all[at->node];
        node->from = node->to && node->from < s->began ? node->from : s->began;
        node->to = node->to > s->end ? node->to : s->end;
    }
    return at_most(all, limit->nodes ? w->n_nodes + 1 : n, limit->size);
}

static bool limits_held(struct trial *t)
{
    for (uint32_t i = 0; i < t->b.w->n_limits; i++)
        if (!limit_held(t, &t->b.w->limits[i]))
            return false;
    return true;
}

struct tally {
    uint32_t run, circles, limits, joins, chunks, left_out;
};

static void tally_add(struct tally *sum, const struct weave *w)
{
    sum->run++;
    sum->limits += w->n_limits > 0;
    sum->joins += w->n_joins > 0;
    for (uint32_t i = 0; i < w->n_joins; i++)
        if (w->joins[i].kind == WEAVE_JOIN_CHUNK) {
            sum->chunks++;
            break;
        }
    for (uint32_t v = w->n_stages; v < w->n_stages + w->n_tasks; v++)
        if (w->vertices[v].reason != WEAVE_RUN) {
            sum->left_out++;
            break;
        }
}

/* false and told: this one did not do what it should. */
static bool random_one(uint64_t seed, bool windows, struct tally *sum)
{
    struct graph_gen g;
    struct trial t;
    bool good = true;
    gen_graph(&g, seed, windows);
    if (!trial_open(&t, native, g.text.data))
        note("seed %llu:\n%s", (unsigned long long)seed, g.text.data);
    gen_nodes(&g, &t.b);
    t.seed = seed;
    t.workers = 1 + (uint32_t)(seed % 5);
    if (bed_weave(&t.b) == -ERR_CONFLICT) {
        sum->circles++;
        t.b.req.limit_circles = true;
    }
    if (bed_weave(&t.b) >= 0) {
        good = trial_run(&t, "") >= 0;
        if (!good)
            note("seed %llu: %s", (unsigned long long)seed, t.b.err.text);
        else if (t.run->state != OPERATION_SUCCEEDED || !order_held(&t) || !limits_held(&t)) {
            note("seed %llu: %s, order %d, limits %d\n%s", (unsigned long long)seed, end_of(&t),
                 order_held(&t), limits_held(&t), g.text.data);
            good = false;
        }
        tally_add(sum, t.b.w);
    }
    trial_close(&t);
    gen_done(&g);
    return good;
}

static void test_random(uint32_t graphs)
{
    struct tally sum = {0};
    uint32_t good = 0;
    for (uint64_t seed = 1; seed <= graphs; seed++)
        good += random_one(seed, seed % 3 == 0, &sum);
    is_int(good, graphs, "%u random graphs: all run once, in order, within limits", graphs);
    note("%u ran, %u had circles; %u with limits, %u joins, %u chunks, %u left out", sum.run,
         sum.circles, sum.limits, sum.joins, sum.chunks, sum.left_out);
    ok(sum.run > graphs * 3 / 4, "most of them can be woven");
    ok(sum.limits > 20 && sum.joins > 100 && sum.chunks > 20 && sum.left_out > 20,
       "and have something of everything");
}

/* The same seed is the same run; another one is another order. */
static void test_seeds(void)
{
    struct trial t;
    uint32_t ends[2] = {0}, others = 0;
    if (site_open(&t, native, ""))
        for (uint64_t seed = 1; seed <= 20 && trial_ran(&t, ""); seed++) {
            uint32_t v = bed_find(&t.b, "api/n3");
            t.seed = seed;
            for (int i = 0; i < 2 && trial_run(&t, "") >= 0; i++)
                ends[i] = t.run->tasks[v].end;
            if (ends[0] != ends[1])
                ok(false, "seed %u gives two runs", (unsigned)seed);
            t.seed = seed + 1;
            if (trial_run(&t, "") >= 0)
                others += t.run->tasks[v].end != ends[0];
        }
    ok(others > 5, "another seed is another order, %u times of 20", others);
    trial_close(&t);
}

/* Argument: how many random graphs. */
int main(int argc, char **argv)
{
    test_failures();
    test_rollouts();
    test_stages();
    test_words();
    test_shapes();
    test_seeds();
    test_random(argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 300);
    return tap_done();
}
