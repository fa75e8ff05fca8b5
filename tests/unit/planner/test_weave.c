/* test_weave.c - a graph laid over nodes: our own rules, one by one (RFC 07, sections 4, 5, 7) */
/* SPDX-License-Identifier: Apache-2.0 */
#include "tap.h"

#include "weave_bed.h"

static const char native[] = "barclamp: t\n";

static bool load(struct weave_bed *b, const char *text)
{
    bool good = bed_graph(b, native, str_of(text));
    if (!good)
        ok(false, "loads: %s %s", b->err.at, b->err.text);
    return good;
}

static bool woven(struct weave_bed *b)
{
    int rc = bed_weave(b);
    if (rc < 0)
        ok(false, "weaves: %s", b->err.text);
    return rc >= 0;
}

/* The specification's worked example. */
static const char worked[] =
    "- {id: deploy, type: stage}\n"
    "- {id: primary-controller, type: role, required_for: [deploy],\n"
    "   parameters: {strategy: {type: one_by_one}}}\n"
    "- {id: controller, type: role, requires: [primary-controller], required_for: [deploy],\n"
    "   parameters: {strategy: {type: parallel, amount: 2}}}\n"
    "- {id: cinder, type: role, requires: [controller], required_for: [deploy],\n"
    "   parameters: {strategy: {type: parallel}}}\n"
    "- {id: compute, type: role, requires: [controller], required_for: [deploy],\n"
    "   parameters: {strategy: {type: parallel}}}\n"
    "- {id: network, type: role, requires: [controller], required_for: [compute, deploy],\n"
    "   parameters: {strategy: {type: parallel}}}\n"
    "- {id: setup_services, type: puppet, requires: [setup_network], required_for: [deploy],\n"
    "   role: [controller, primary-controller, compute, network, cinder],\n"
    "   parameters: {puppet_manifest: /etc/puppet/manifests/controller.pp, timeout: 360}}\n"
    "- {id: setup_network, type: shell, required_for: [deploy],\n"
    "   role: [controller, primary-controller, compute, network, cinder],\n"
    "   parameters: {cmd: run_setup_network.sh, timeout: 120}}\n";

static void worked_nodes(struct weave_bed *b)
{
    bed_node(b, "node-1", "primary-controller");
    bed_node(b, "node-4", "controller");
    bed_node(b, "node-2", "controller");
    bed_node(b, "node-3", "controller");
    bed_node(b, "node-5", "controller");
    bed_node(b, "node-6", "cinder");
    bed_node(b, "node-7", "network");
    bed_node(b, "node-8", "compute");
}

/* Is every task of one node behind every task of another? */
static bool behind(struct weave_bed *b, const char *later, const char *earlier)
{
    const char *first = arena_printf(&b->mem, "setup_network/%s", later);
    const char *last = arena_printf(&b->mem, "setup_services/%s", earlier);
    uint32_t from = bed_find(b, first), to = bed_find(b, last);
    bool *reached = arena_new(&b->mem, bool, b->w->n);
    reached[from] = true;
    for (uint32_t i = b->w->n; i-- > 0;) {
        uint32_t v = b->w->order[i];
        for (uint32_t k = b->w->first[v]; reached[v] && k < b->w->first[v + 1]; k++)
            reached[b->w->deps[k]] = true;
    }
    return reached[to];
}

static void test_worked_example(void)
{
    struct weave_bed b;
    bed_init(&b);
    worked_nodes(&b);
    if (load(&b, worked) && woven(&b)) {
        is_int(b.w->n_tasks, 16, "two tasks on each of eight nodes");
        has_text(bed_deps(&b, "setup_services/node-8"), "setup_network/node-8",
                 "on each node the network comes first");
        ok(behind(&b, "node-4", "node-1") && behind(&b, "node-2", "node-1"),
           "controllers behind the first one");
        ok(behind(&b, "node-3", "node-4") && behind(&b, "node-3", "node-2") &&
               behind(&b, "node-5", "node-4") && behind(&b, "node-5", "node-2"),
           "by twos, in the order given");
        ok(!behind(&b, "node-2", "node-4") && !behind(&b, "node-5", "node-3"),
           "both of a chunk at the same time");
        ok(behind(&b, "node-6", "node-5") && behind(&b, "node-7", "node-3"),
           "cinder and network behind all controllers");
        ok(!behind(&b, "node-6", "node-7") && !behind(&b, "node-7", "node-6"), "side by side");
        ok(behind(&b, "node-8", "node-7") && !behind(&b, "node-8", "node-6"),
           "compute behind the network, whatever cinder does");
        const struct weave_vertex *v = &b.w->vertices[bed_find(&b, "setup_network/node-3")];
        is_text(b.graph->vertices[v->role].id.s, "controller", "an instance has an owner");
        is_text(b.graph->vertices[v->stage].id.s, "deploy", "and a stage that it comes before");
        is_int(b.w->n_levels, 11, "ten tasks one behind the other, and the stage");
    }
    bed_done(&b);
}

static void test_across_nodes(void)
{
    struct weave_bed b;
    bed_init(&b);
    bed_node(&b, "n1", "db web");
    bed_node(&b, "n2", "db");
    bed_node(&b, "n3", "web");
    if (load(&b, "- {id: dump, type: shell, role: [db], parameters: {cmd: x}}\n"
                 "- {id: serve, type: shell, role: [web], requires: [dump], parameters: {cmd: x}}\n"
                 "- {id: check, type: shell, role: [web], required_for: [dump2],\n"
                 "   parameters: {cmd: x}}\n"
                 "- {id: dump2, type: shell, role: [db], parameters: {cmd: x}}\n") &&
        woven(&b)) {
        is_text(bed_deps(&b, "serve/n1"), "dump/n1", "a task of the same node counts");
        is_text(bed_deps(&b, "serve/n3"), "dump/n1 dump/n2", "else all of them");
        is_text(bed_deps(&b, "dump2/n1"), "check/n1 check/n3", "required_for is the mirror");
        is_text(bed_deps(&b, "dump2/n2"), "check/n3", "of those that have none on their own node");
    }
    bed_done(&b);
}

static void test_cross(void)
{
    struct weave_bed b;
    bed_init(&b);
    for (int i = 1; i <= 3; i++)
        bed_node(&b, arena_printf(&b.mem, "c%d", i), "compute");
    bed_node(&b, "k1", "controller");
    if (load(&b, "- {id: keys, type: shell, role: master, parameters: {cmd: x}}\n"
                 "- {id: agent, type: shell, role: '*', parameters: {cmd: x},\n"
                 "   cross_depends: [{name: keys, role: master}]}\n"
                 "- {id: count, type: shell, role: controller, parameters: {cmd: x},\n"
                 "   cross-depends: [{name: agent, role: [/comp/]}, null]}\n"
                 "- {id: peers, type: shell, role: compute, parameters: {cmd: x},\n"
                 "   cross_depends: [{name: agent}]}\n"
                 "- {id: one, type: shell, role: controller, parameters: {cmd: x},\n"
                 "   cross_depends: [{name: /agent|one/, policy: any, role: compute}]}\n") &&
        woven(&b)) {
        is_text(bed_deps(&b, "agent/c2"), "keys/master", "the master is asked for by name");
        is_text(bed_deps(&b, "count/k1"), "agent/c1 agent/c2 agent/c3", "others by selector");
        is_text(bed_deps(&b, "peers/c1"), "agent/c1 agent/c2 agent/c3 agent/k1",
                "without one by all that have a name");
        is_text(bed_deps(&b, "one/k1"), "agent/c1", "any: the first");
        ok(b.w->n_joins >= 2, "sets go through joins");
    }
    bed_done(&b);
}

static void test_circle(void)
{
    struct weave_bed b;
    bed_init(&b);
    for (int i = 1; i <= 3; i++)
        bed_node(&b, arena_printf(&b.mem, "c%d", i), "ctl");
    static const char text[] = "- {id: ctl, type: group, role: ctl,\n"
                               "   strategy: {type: parallel, amount: 2}}\n"
                               "- {id: db, type: shell, role: ctl, parameters: {cmd: x}}\n"
                               "- {id: api, type: shell, role: ctl, parameters: {cmd: x},\n"
                               "   cross_depends: [{name: db}]}\n";
    if (load(&b, text)) {
        is_int(bed_weave(&b), -ERR_CONFLICT, "a strategy that dependencies contradict");
        has_text(b.err.text, "api/c", "is told with its path");
        has_text(b.err.text, "ctl:chunk-0", "the chunk");
        has_text(b.err.hint, "of ctl contradicts", "and the strategy");
        b.req.limit_circles = true;
        is_int(bed_weave(&b), 0, "as a limit");
        is_int(b.w->n_limits, 2, "of each task");
        ok(b.w->limits[0].size == 2 && !b.w->limits[0].nodes, "of the same size");
        is_int(b.w->n_warnings, 1, "with a warning");
        has_text(b.w->warnings[0].text.s, "ctl", "that names it");
    }
    bed_done(&b);
    bed_init(&b);
    bed_node(&b, "n1", "a");
    if (load(&b, "- {id: x, type: shell, role: a, requires: [y], parameters: {cmd: x}}\n"
                 "- {id: y, type: shell, role: a, parameters: {cmd: x},\n"
                 "   cross_depends: [{name: x, role: self}]}\n")) {
        is_int(bed_weave(&b), -ERR_CONFLICT, "two that wait for each other");
        has_text(b.err.text, "x/n1 waits for y/n1 waits for x/n1", "the way round");
    }
    bed_done(&b);
}

static void test_rolling(void)
{
    struct weave_bed b;
    bed_init(&b);
    for (int i = 1; i <= 5; i++)
        bed_node(&b, arena_printf(&b.mem, "n%d", i), "web");
    if (load(&b, "- {id: web, type: group, role: web, strategy: {type: rolling, amount: 2}}\n"
                 "- {id: up, type: shell, role: web, parameters: {cmd: x}}\n") &&
        woven(&b)) {
        is_int(b.w->n_limits, 1, "a sliding window is a limit");
        ok(b.w->limits[0].size == 2 && b.w->limits[0].nodes, "of nodes");
        is_text(bed_deps(&b, "up/n5"), "", "and no order");
    }
    bed_done(&b);
}

static void test_pick(void)
{
    struct weave_bed b;
    bed_init(&b);
    bed_node(&b, "1", "a");
    bed_node(&b, "2", "a");
    bed_node(&b, "3", "a");
    static const char text[] = "- {id: x, type: shell, role: a, parameters: {cmd: x}}\n"
                               "- {id: y, type: shell, role: a, requires: [x],\n"
                               "   parameters: {cmd: x}}\n"
                               "- {id: z, type: shell, role: a, requires: [y],\n"
                               "   parameters: {cmd: x}}\n";
    if (load(&b, text)) {
        struct str start = str_of("y/2-3"), typo = str_of("yy"), only = str_of("z/1");
        struct weave_part part = {.starts = &start, .n_starts = 1};
        struct weave_pick pick = {.parts = &part, .n_parts = 1};
        b.req.pick = &pick;
        if (woven(&b)) {
            is_int(b.w->vertices[bed_find(&b, "z/2")].reason, WEAVE_RUN, "behind a start");
            is_int(b.w->vertices[bed_find(&b, "z/1")].reason, WEAVE_PART, "on another node");
            is_int(b.w->vertices[bed_find(&b, "x/2")].reason, WEAVE_PART, "before it");
            is_text(bed_deps(&b, "z/1"), "y/1", "what is left out keeps its place");
        }
        part.starts = &typo;
        is_int(bed_weave(&b), -ERR_NOT_FOUND, "a word that matches nothing");
        has_text(b.err.text, "--start: nothing is called yy", "is refused");
        pick = (struct weave_pick){.only = &only, .n_only = 1};
        if (woven(&b)) {
            is_int(b.w->vertices[bed_find(&b, "z/1")].reason, WEAVE_RUN, "only this");
            is_int(b.w->vertices[bed_find(&b, "y/1")].reason, WEAVE_NOT_ONLY, "and nothing else");
        }
        bool on[] = {false, true, false};
        pick = (struct weave_pick){.skip = &only, .n_skip = 1, .on = on};
        if (woven(&b)) {
            is_int(b.w->vertices[bed_find(&b, "z/1")].reason, WEAVE_SKIP, "skipped");
            is_int(b.w->vertices[bed_find(&b, "x/1")].reason, WEAVE_NODE, "on other nodes");
            is_int(b.w->vertices[bed_find(&b, "x/2")].reason, WEAVE_RUN, "on this one");
        }
    }
    bed_done(&b);
}

/* A node inside a window must not wait for one outside. */
static void test_windows(void)
{
    static const char *const head =
        "- {id: roll, type: group, strategy: {type: rolling, amount: %u}}\n"
        "- {id: one, type: shell, groups: [roll]}\n%s";
    static const struct {
        const char *what, *tasks;
        uint32_t amount;
        bool good;
    } cases[] = {
        {"nodes that do not wait for each other",
         "- {id: two, type: shell, groups: [roll], requires: [one]}\n", 1, true},
        {"each for all others",
         "- {id: two, type: shell, groups: [roll], cross_depends: [{name: one}]}\n", 2, false},
        {"as many places as nodes",
         "- {id: two, type: shell, groups: [roll], cross_depends: [{name: one}]}\n", 3, true},
        {"as many places as nodes, and a task with less",
         "- {id: two, type: shell, groups: [roll], cross_depends: [{name: one}],\n"
         "   strategy: {type: rolling, amount: 2}}\n",
         3, false},
        {"all for the first, once they have begun",
         "- {id: two, type: shell, groups: [roll], cross_depends: [{name: one, role: lead}]}\n", 1,
         false},
        {"all for the first, before they begin",
         "- {id: zero, type: shell, role: tail, cross_depends: [{name: two, role: lead}],\n"
         "   required_for: [one]}\n"
         "- {id: two, type: shell, groups: [roll], requires: [one]}\n",
         1, true},
        {"one after the other, once they have begun",
         "- {id: two, type: shell, groups: [roll], requires: [one], strategy: {type: "
         "one_by_one}}\n",
         2, false},
        {"through somebody else",
         "- {id: else, type: shell, role: other, cross_depends: [{name: one, role: lead}]}\n"
         "- {id: two, type: shell, groups: [roll], cross_depends: [{name: else, role: other}]}\n",
         1, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct weave_bed b;
        char text[1024];
        bed_init(&b);
        snprintf(text, sizeof text, head, cases[i].amount, cases[i].tasks);
        bed_node(&b, "n1", "roll lead");
        bed_node(&b, "n2", "roll tail");
        bed_node(&b, "n3", "roll tail");
        bed_node(&b, "n4", "other");
        if (load(&b, text)) {
            is_int(bed_weave(&b), cases[i].good ? 0 : -ERR_CONFLICT, "%s: %s", cases[i].what,
                   cases[i].good ? "woven" : "refused");
            if (!cases[i].good) {
                has_text(b.err.text, "waits for roll on n", "%s: what waits for whom is told",
                         cases[i].what);
                has_text(b.err.hint, "strategy rolling with", "%s: and the strategy",
                         cases[i].what);
                b.req.limit_circles = true;
                if (woven(&b))
                    ok(b.w->n_limits && !b.w->limits[0].nodes && b.w->n_warnings == 1,
                       "%s: or it is a limit of tasks, with a warning", cases[i].what);
            }
        }
        bed_done(&b);
    }
}

int main(void)
{
    test_worked_example();
    test_across_nodes();
    test_cross();
    test_circle();
    test_rolling();
    test_pick();
    test_windows();
    return tap_done();
}
