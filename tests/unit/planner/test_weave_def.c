/* test_weave_def.c - limits and definitions of the plan of a weave (RFC 07, sections 5 and 6) */
/* SPDX-License-Identifier: Apache-2.0 */
#include "weave_laid.h"

/* --- limits --- */

static void test_limits(void)
{
    struct laid l;
    if (laid_open(&l, native,
                  "- {id: roll, type: group, required_for: [deployment],\n"
                  "   strategy: {type: rolling, amount: 2}}\n"
                  "- {id: free, type: group}\n"
                  "- {id: plain, type: shell, groups: [roll, free]}\n"
                  "- {id: few, type: shell, groups: [roll, free],\n"
                  "   strategy: {type: rolling, amount: 3}}\n"
                  "- {id: any, type: shell, role: '*', requires: [deployment],\n"
                  "   strategy: {type: rolling, amount: 1}}\n")) {
        laid_node(&l, "n1", "roll", "");
        laid_node(&l, "n2", "roll", "");
        laid_node(&l, "n3", "free", "");
        if (laid_planned(&l)) {
            const struct plan *p = l.made.plan;
            is_int(p->n_pools, 3, "each limit is a pool");
            is_text(p->pools[0].name.s, "graph:1/default/group:roll",
                    "named by deployment and graph");
            is_text(pools(&l, task(&l, "plain/n1")), "group:roll=2 task:few=3",
                    "a rolling group has one span a node, with the limits of its tasks");
            is_int(task(&l, "plain/n1")->span, task(&l, "few/n1")->span, "one for all of them");
            ok(task(&l, "plain/n1")->span != task(&l, "plain/n2")->span, "another on another node");
            is_text(pools(&l, task(&l, "few/n3")), "task:few=3", "elsewhere a task has its own");
            is_text(pools(&l, task(&l, "plain/n3")), "", "or none");
            is_text(pools(&l, task(&l, "any/n1")), "task:any=1",
                    "what the group does not own is not of its span");
            fake_apply(&l.world, l.made.plan);
        }
        if (laid_planned(&l)) {
            is_int(l.made.plan->n_pools, 0, "pools that live are not made again");
            is_int(l.made.n_pools, 3, "but are given the size that they have now");
            is_int(l.made.pools[1].size, 3, "each its own");
            is_int(l.made.plan->n_defs, 0, "definitions that are known are not brought again");
        }
    }
    laid_close(&l);
}

/* Chunks that dependencies contradict: a limit of each task, for each group its own. */
static void test_limited_circles(void)
{
    struct laid l;
    if (laid_open(&l, native,
                  "- {id: a, type: group, strategy: {type: parallel, amount: 1}}\n"
                  "- {id: b, type: group, strategy: {type: parallel, amount: 2}}\n"
                  "- {id: x, type: shell, groups: [a, b]}\n"
                  "- {id: y, type: shell, groups: [a, b], cross_depends: [{name: x}],\n"
                  "   strategy: {type: rolling, amount: 5}}\n")) {
        static const char *const names[] = {"n1", "n2", "n3", "n4", "n5"};
        for (int i = 0; i < 5; i++)
            laid_node(&l, names[i], i < 2 ? "a" : "b", "");
        l.b.req.limit_circles = true;
        if (laid_planned(&l)) {
            is_text(pools(&l, task(&l, "x/n1")), "x=1", "a task has the limit of its group");
            is_text(pools(&l, task(&l, "x/n3")), "x=2", "and in another group that one's");
            const char *both = pools(&l, task(&l, "y/n1"));
            has_text(both, "y=1", "its group's");
            has_text(both, "task:y=5", "next to its own");
        }
    }
    laid_close(&l);
}

/* The same of a task: its second instance before something that the first waits for. */
static void test_limited_task(void)
{
    struct laid l;
    if (laid_open(&l, native,
                  "- {id: a, type: group}\n"
                  "- {id: x, type: shell, groups: [a], strategy: {type: one_by_one}}\n"
                  "- {id: u, type: shell, role: first, required_for: [x],\n"
                  "   cross_depends: [{name: v, role: second}]}\n"
                  "- {id: v, type: shell, role: second, requires: [x]}\n")) {
        laid_node(&l, "n1", "a", "first");
        laid_node(&l, "n2", "a", "second");
        is_int(bed_weave(&l.b), -ERR_CONFLICT, "chunks of a task are part of the circle check");
        has_text(l.b.err.hint, "circles: limit", "the way out is told");
        l.b.req.limit_circles = true;
        if (laid_planned(&l))
            is_text(pools(&l, task(&l, "x/n1")), "task:x=1", "and leads to a limit of the task");
    }
    laid_close(&l);
}

/* --- definitions --- */

static int false_condition(void *ctx, uint32_t t, uint32_t node, struct err *e)
{
    (void)ctx;
    (void)t;
    (void)e;
    return node != 0;
}

static void test_left_out(void)
{
    struct laid l;
    if (laid_open(&l, native,
                  "- {id: web, type: group}\n"
                  "- {id: a, type: shell, groups: [web], condition: data.x}\n"
                  "- {id: b, type: shell, groups: [web], requires: [a]}\n"
                  "- {id: c, type: skipped, groups: [web], requires: [b]}\n")) {
        static const struct str only[] = {{"a", 1}, {"c", 1}};
        struct weave_pick pick = {.only = only, .n_only = 2};
        laid_node(&l, "n1", "web", "");
        laid_node(&l, "n2", "web", "");
        l.b.req.condition = false_condition;
        l.b.req.pick = &pick;
        if (laid_planned(&l)) {
            static const struct {
                const char *name, *type;
            } cases[] = {{"a/n1", "condition is false"},
                         {"b/n1", "not asked for"},
                         {"b/n2", "not asked for"},
                         {"c/n2", "skipped by type"}};
            for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
                const struct plan_task *t = task(&l, cases[i].name);
                is_rule(t, SKIP, "%s is left out", cases[i].name);
                has_text(def(&l, t)->body.s, cases[i].type, "%s: %s", cases[i].name, cases[i].type);
                is_int(def(&l, t)->jig, 0, "nothing executes it");
            }
            is_rule(task(&l, "a/n2"), RUN, "where the condition is true it runs");
            has_text(deps(&l, task(&l, "c/n1")), "b/n1", "and the order stays what it was");
            has_text(deps(&l, task(&l, "b/n1")), "a/n1", "all along");
        }
    }
    laid_close(&l);
}

static void test_types(void)
{
    static const char graph[] = "- {id: web, type: group}\n"
                                "- {id: a, type: erase_node, groups: [web]}\n"
                                "- {id: b, type: erase_node, groups: [web]}\n"
                                "- {id: c, type: cobbler_sync, groups: [web]}\n"
                                "- {id: d, type: shell, groups: [web]}\n"
                                "- {id: e, type: power, groups: [web], condition: data.x}\n";
    static const struct str skip[] = {{"e", 1}}, most[] = {{"e", 1}, {"a", 1}, {"b", 1}, {"c", 1}};
    struct weave_pick pick = {.skip = skip, .n_skip = 1};
    struct laid l;
    if (laid_open(&l, native, graph)) {
        laid_node(&l, "n1", "web", "");
        laid_node(&l, "n2", "web", "");
        l.b.req.pick = &pick;
        ok(!laid_make(&l), "what nothing executes is refused");
        is_int(l.rc, -ERR_REFUSED, "as such");
        has_text(l.b.err.text, "erase_node (a and others, 4 tasks)", "each type with how many");
        has_text(l.b.err.text, "cobbler_sync (c and others, 2 tasks)", "by its own name");
        ok(!strstr(l.b.err.text, "shell"), "but not what something executes");
        ok(!strstr(l.b.err.text, "power"), "nor what is left out");
        pick = (struct weave_pick){.skip = most, .n_skip = 4};
        ok(laid_make(&l), "without them it is planned");
    }
    laid_close(&l);
    if (laid_open(&l, "barclamp: t\njigs: [{name: rsync, implementation: shell}]\n",
                  "- {id: web, type: group}\n- {id: c, type: sync, groups: [web]}\n")) {
        laid_node(&l, "n1", "web", "");
        if (laid_planned(&l)) {
            has_text(def(&l, task(&l, "c/n1"))->body.s, "\"type\":\"shell\"", "sync is rsync");
        }
    }
    laid_close(&l);
}

static void test_bodies(void)
{
    struct laid l;
    if (laid_open(&l, native,
                  "- {id: web, type: group}\n"
                  "- id: a\n"
                  "  type: shell\n"
                  "  groups: [web]\n"
                  "  fail_on_error: false\n"
                  "  parameters: {cmd: make it, cwd: /srv, timeout: 60, retries: 3, interval: 5}\n"
                  "  test_pre: {cmd: is it there, timeout: 7, retries: 2}\n"
                  "  test_post: does it work\n"
                  "- {id: b, type: shell, groups: [web], parameters: {cmd: make it}}\n")) {
        laid_node(&l, "n1", "web", "");
        laid_node(&l, "n2", "web", "");
        if (laid_planned(&l)) {
            const struct plan_def *d = def(&l, task(&l, "a/n1"));
            is_int(task(&l, "a/n1")->def, task(&l, "a/n2")->def, "all nodes share a definition");
            is_text(d->body.s,
                    "{\"params\":{\"cwd\":\"/srv\",\"script\":\"make it\"},\"tests\":{\"post\":"
                    "{\"cmd\":\"does it work\"},\"pre\":{\"cmd\":\"is it there\",\"retries\":2,"
                    "\"timeout_ms\":7000}},\"type\":\"shell\"}",
                    "its body has what the jig takes, and its tests");
            is_int(d->timeout_ms, 60000, "what the engine goes by is apart: timeout");
            is_int(d->retries, 3, "retries");
            is_int(d->backoff_ms, 5000, "interval");
            ok(d->flags & DEF_F_MAY_FAIL, "fail_on_error: false");
            ok(!(def(&l, task(&l, "b/n1"))->flags & DEF_F_MAY_FAIL), "is not said of others");
            uint64_t digest = d->digest;
            l.no_op = true;
            if (laid_planned(&l)) {
                d = def(&l, task(&l, "a/n1"));
                has_text(d->body.s, "\"no_op\":true", "a run that changes nothing tells the jig");
                ok(d->digest != digest, "and is another definition");
            }
        }
    }
    laid_close(&l);
}

static int own_params(void *ctx, uint32_t t, uint32_t node, const struct value **ret, struct err *e)
{
    struct laid *l = ctx;
    const struct graph_vertex *v = &l->b.graph->vertices[t];
    *ret = v->parameters;
    if (node == 2)
        return err_set(e, ERR_INVALID, "no parameters for node %u", node);
    if (!str_is(v->id, "a"))
        return 0;
    struct value *own = value_map(&l->b.mem);
    value_put_int(&l->b.mem, own, "port", 8000 + (int64_t)node);
    *ret = own;
    return 0;
}

static void test_parameters(void)
{
    struct laid l;
    if (laid_open(&l, native,
                  "- {id: web, type: group}\n"
                  "- {id: a, type: shell, groups: [web], parameters: {port: {expr: node.port}}}\n"
                  "- {id: b, type: shell, groups: [web], parameters: {cmd: x}}\n")) {
        laid_node(&l, "n1", "web", "");
        laid_node(&l, "n2", "web", "");
        if (bed_weave(&l.b) >= 0) {
            struct weave_plan_request req = {.weave = l.b.w,
                                             .of = &l.b.req,
                                             .cat = l.b.catalog,
                                             .world = &l.world.face,
                                             .deployment = 1,
                                             .members = l.members.at,
                                             .n_members = 2,
                                             .parameters = own_params,
                                             .ctx = &l};
            if (ok(weave_plan_make(&req, &l.made, &l.b.err) == 0, "plans")) {
                has_text(def(&l, task(&l, "a/n1"))->body.s, "8000", "parameters of a node");
                has_text(def(&l, task(&l, "a/n2"))->body.s, "8001", "are its own");
                is_int(task(&l, "b/n1")->def, task(&l, "b/n2")->def, "others are shared");
            }
            laid_node(&l, "n3", "web", "");
            plan_free(l.made.plan);
            l.made = (struct weave_plan){0};
            if (bed_weave(&l.b) >= 0) {
                req.weave = l.b.w;
                req.members = l.members.at;
                req.n_members = 3;
                is_int(weave_plan_make(&req, &l.made, &l.b.err), -ERR_INVALID,
                       "an expression that fails refuses the plan");
                is_text(l.b.err.text, "no parameters for node 2", "and says why");
            }
        }
    }
    laid_close(&l);
}

int main(void)
{
    test_limits();
    test_limited_circles();
    test_limited_task();
    test_left_out();
    test_types();
    test_bodies();
    test_parameters();
    return tap_done();
}
