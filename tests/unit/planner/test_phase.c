/* test_phase.c - phases: operations, order, strategies, what is refused
 *
 * RFC 08, section 5, rule by rule.  That no order is missing or too much: test_phase_model.c; that
 * Coopr's plans are the same: test_phase_golden.c.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "phase_bed.h"

#include "planner/phase_write.h"

/* web runs behind db, db behind disk; lib has nothing to start. */
static void site(struct phase_bed *b)
{
    bed_init(b);
    bed_service(b, "disk: all");
    bed_service(b, "db: all; run disk");
    bed_service(b, "lib: install configure; install disk");
    bed_service(b, "web: all; run db; install lib");
    bed_node(b, "n1: disk db");
    bed_node(b, "n2: disk lib web");
    bed_node(b, "n3: disk lib web");
}

/* --- operations --- */

static void test_whole(void)
{
    struct phase_bed b;
    site(&b);
    if (bed_does(&b, PHASE_OP_CREATE, "", "")) {
        is_int(b.g->n_tasks, 37, "create: all machines, all phases that are there");
        is_text(bed_before(&b, "n2:confirm"), "n2:create", "create before confirm");
        is_text(bed_before(&b, "n2:install:disk"), "n2:bootstrap", "bootstrap before a service");
        is_text(bed_before(&b, "n2:install:lib"),
                "n1:install:disk n2:bootstrap n2:install:disk n3:install:disk",
                "install behind install, on all nodes");
        is_text(bed_before(&b, "n2:configure:web"), "n2:install:web", "configure: no other order");
        is_text(bed_before(&b, "n2:initialize:web"), "n1:start:db n2:configure:web",
                "initialize behind start");
        is_text(bed_before(&b, "n2:start:web"), "n1:start:db n2:initialize:web", "start too");
    }
    if (bed_does(&b, PHASE_OP_DELETE, "", ""))
        is_text(bed_tasks(&b), "n1:delete n2:delete n3:delete", "delete: machines only");
    if (bed_does(&b, PHASE_OP_STOP, "", ""))
        is_text(bed_before(&b, "n1:stop:db"), "n2:stop:web n3:stop:web", "stop: the other way");
    if (bed_does(&b, PHASE_OP_REMOVE, "disk db lib web", ""))
        is_text(bed_before(&b, "n2:remove:disk"), "n2:stop:disk n2:remove:web n3:remove:web",
                "remove: the other way of install, through who lacks it");
    bed_done(&b);
}

static void test_some(void)
{
    struct phase_bed b;
    site(&b);
    if (bed_does(&b, PHASE_OP_START, "web", "n2")) {
        is_text(bed_tasks(&b), "n1:start:disk n1:start:db n2:start:disk n2:start:web n3:start:disk",
                "start: what it depends on, wherever that is; the subject on its node");
        ok(!b.g->vertices[bed_find(&b, "n2:start:web")].pulled, "the subject was asked for");
        ok(b.g->vertices[bed_find(&b, "n1:start:db")].pulled, "the others come with it");
    }
    if (bed_does(&b, PHASE_OP_START, "lib", ""))
        is_text(bed_tasks(&b), "", "what has no start and needs none running: nothing");
    if (bed_does(&b, PHASE_OP_STOP, "db", ""))
        is_text(bed_tasks(&b), "n1:stop:db n2:stop:web n3:stop:web", "stop: who depends on it");
    if (bed_does(&b, PHASE_OP_STOP, "disk", "n2"))
        is_text(bed_tasks(&b), "n2:stop:disk", "who has it elsewhere goes on");
    if (bed_does(&b, PHASE_OP_STOP, "disk", "n1 n2 n3"))
        is_int(b.g->n_tasks, 6, "all its nodes are all");
    if (bed_does(&b, PHASE_OP_RESTART, "db", "")) {
        is_text(bed_tasks(&b),
                "n1:start:disk n1:stop:db n1:start:db n2:start:disk n2:stop:web n2:start:web "
                "n3:start:disk n3:stop:web n3:start:web",
                "restart: with who depends on it; what it depends on is started");
        is_text(bed_before(&b, "n1:stop:db"), "n2:stop:web n3:stop:web", "stopped last");
        is_text(bed_before(&b, "n1:start:db"),
                "n1:start:disk n1:stop:db n2:start:disk n3:start:disk", "started first");
    }
    if (bed_does(&b, PHASE_OP_CONFIGURE, "lib", ""))
        is_text(bed_tasks(&b), "n2:bootstrap n2:configure:lib n3:bootstrap n3:configure:lib",
                "configure: bootstrap where there is something to do");
    if (bed_does(&b, PHASE_OP_CONFIGURE_RESTART, "web", "n2")) {
        is_text(bed_tasks(&b),
                "n1:start:disk n1:start:db n2:bootstrap n2:start:disk n2:stop:web n2:configure:web "
                "n2:start:web n3:start:disk",
                "configure-restart of one");
        is_text(bed_before(&b, "n2:start:disk"), "n2:bootstrap",
                "bootstrap before whatever is on its node");
    }
    bed_done(&b);
}

static void test_layout(void)
{
    struct phase_bed b;
    site(&b);
    if (bed_does(&b, PHASE_OP_ADD, "web", "")) {
        is_int(b.g->n_tasks, 14, "add-services: the new, and the start of what they run behind");
        is_text(bed_before(&b, "n2:install:web"), "n2:bootstrap", "nothing is installed again");
        is_text(bed_before(&b, "n2:start:web"), "n1:start:db n2:initialize:web", "but started");
    }
    if (bed_does(&b, PHASE_OP_EXPAND, "", "n3")) {
        is_int(b.g->n_tasks, 13, "expand: the new node only");
        is_text(bed_before(&b, "n3:start:web"), "n3:start:disk n3:initialize:web",
                "behind what is there to wait for");
    }
    b.nodes.at[2].dead = true;
    if (bed_does(&b, PHASE_OP_SHRINK, "", "n2 n3")) {
        is_text(bed_tasks(&b),
                "n2:stop:disk n2:remove:disk n2:stop:web n2:remove:web n2:delete n3:delete",
                "shrink: stop, remove, delete; of the dead delete alone");
        is_text(bed_before(&b, "n2:delete"), "n2:remove:disk n2:remove:web", "delete last");
        is_text(bed_before(&b, "n2:stop:disk"), "n2:stop:web", "in order on the victim too");
    }
    if (bed_does(&b, PHASE_OP_RESTART, "web", "n2"))
        is_text(bed_before(&b, "n2:start:web"), "n1:start:db n2:stop:web",
                "nothing is pulled in on a dead node");
    b.nodes.at[0].machine = PHASE_F_BOOTSTRAP;
    if (bed_does(&b, PHASE_OP_CREATE, "", "n1"))
        is_text(bed_before(&b, "n1:bootstrap"), "", "what a machine does not have closes up");
    is_int(bed_op(&b, &(struct phase_request){.op = PHASE_OP_SHRINK}), -ERR_INVALID,
           "shrink must say who goes");
    has_text(b.err.text, "shrink: which nodes?", "and is asked");
    is_int(bed_op(&b, &(struct phase_request){.op = PHASE_OP_ADD}), -ERR_INVALID,
           "add-services must say what");
    bed_done(&b);
}

static void test_act(void)
{
    struct phase_bed b;
    bed_init(&b);
    bed_service(&b, "a: action start");
    bed_service(&b, "b: start; run a");
    bed_service(&b, "c: action start; run b");
    bed_node(&b, "n1: a b c");
    if (bed_does(&b, PHASE_OP_ACT, "", "")) {
        is_text(bed_tasks(&b), "n1:action:a n1:action:c", "an action of its own: that phase only");
        is_text(bed_before(&b, "n1:action:c"), "n1:action:a",
                "in the order of start, through who lacks it");
    }
    bed_done(&b);
}

/* --- upgrade and strategies --- */

static void test_upgrade(void)
{
    struct phase_bed b;
    bed_init(&b);
    bed_service(&b, "db: all; one_by_one");
    bed_service(&b, "web: all; run db; rolling 2");
    bed_service(&b, "ui: all upgrade; run web");
    bed_node(&b, "n1: db");
    bed_node(&b, "n2: db web");
    bed_node(&b, "n3: web ui");
    if (bed_does(&b, PHASE_OP_UPGRADE, "", "")) {
        is_int(b.g->n_tasks, 20, "upgrade, or stop, install, configure, start");
        is_text(bed_before(&b, "n2:stop:db"), "n1:start:db n2:bootstrap", "one by one");
        is_text(bed_before(&b, "n2:stop:web"), "n1:start:db n2:bootstrap n2:start:db",
                "what it depends on is done everywhere before it begins");
        is_text(bed_before(&b, "n2:start:web"), "n1:start:db n2:start:db n2:configure:web",
                "and its start waits for no more");
        is_text(bed_before(&b, "n3:upgrade:ui"), "n2:start:web n3:bootstrap n3:start:web",
                "who has an action for it needs no other");
        is_int(b.g->n_pools, 1, "rolling is a pool");
        is_int(b.g->pools[0].size, 2, "of so many nodes");
        is_int(b.g->n_spans, 2, "taken by each of them");
        const struct phase_vertex *stop = &b.g->vertices[bed_find(&b, "n3:stop:web")];
        const struct phase_vertex *start = &b.g->vertices[bed_find(&b, "n3:start:web")];
        ok(stop->span && stop->span == start->span, "from its first task to its last");
        is_int(b.g->vertices[bed_find(&b, "n2:stop:db")].span, 0, "others take none");
    }
    struct phase_request in_turn = {.op = PHASE_OP_RESTART, .in_turn = true};
    if (ok(bed_op(&b, &in_turn) >= 0, "a restart in turn")) {
        is_text(bed_before(&b, "n2:stop:db"), "n1:start:db", "goes by the strategies");
        is_text(bed_before(&b, "n2:stop:web"), "n1:start:db n2:start:db", "and by dependency");
    }
    bed_done(&b);
    bed_init(&b);
    bed_service(&b, "php: all; run mod; one_by_one");
    bed_service(&b, "mod: all; install php");
    bed_node(&b, "n1: php mod");
    bed_node(&b, "n2: php mod");
    if (bed_does(&b, PHASE_OP_UPGRADE, "", "")) {
        is_text(bed_before(&b, "n1:install:mod"), "n1:install:php n1:stop:mod n2:install:php",
                "who depend on each other go phase by phase");
        is_text(bed_before(&b, "n2:stop:php"), "n2:bootstrap", "not node by node");
    }
    bed_done(&b);
}

/* --- dependencies --- */

static void test_names(void)
{
    struct phase_bed b;
    bed_init(&b);
    bed_service(&b, "x: start");
    bed_service(&b, "y: start; provides x");
    bed_service(&b, "z: start; provides z x; run x");
    bed_service(&b, "w: start; uses nothing x");
    bed_node(&b, "n1: x y z w");
    if (bed_does(&b, PHASE_OP_START, "", "")) {
        is_text(bed_before(&b, "n1:start:z"), "n1:start:x n1:start:y",
                "a name is who provides it and who is called so, never oneself");
        is_text(bed_before(&b, "n1:start:w"), "n1:start:z", "less what follows");
    }
    bed_service(&b, "v: start; run gone");
    is_int(bed_deps(&b), -ERR_REFUSED, "what is required must be there");
    has_text(b.err.text, "service v requires gone", "both are named");
    b.lenient = true;
    ok(bed_deps(&b) >= 0, "unless that is to be ignored");
    bed_service(&b, "v: start");
    is_int(bed_deps(&b), -ERR_EXISTS, "names are there once");
    bed_done(&b);

    bed_init(&b);
    bed_service(&b, "d: start; run a");
    bed_service(&b, "a: start; run b");
    bed_service(&b, "b: start; provides p; run c");
    bed_service(&b, "c: start; run a");
    is_int(bed_deps(&b), -ERR_CYCLE, "a circle is refused");
    is_text(b.err.text, "run dependencies of services go in a circle: a > b > c > a",
            "and told whole");
    bed_done(&b);
    bed_init(&b);
    bed_service(&b, "a: install; install p; run b");
    bed_service(&b, "b: install; provides p; install a");
    is_int(bed_deps(&b), -ERR_CYCLE, "through what is provided too");
    is_text(b.err.text, "install dependencies of services go in a circle: a > b > a",
            "with its kind");
    bed_done(&b);
}

/* --- joins --- */

static void test_joins(void)
{
    struct phase_bed b;
    bed_init(&b);
    for (int i = 0; i < 4; i++)
        bed_service(&b, arena_printf(&b.mem, "s%d: start", i));
    bed_service(&b, "top: initialize start; run s0 s1 s2 s3");
    for (int i = 0; i < 50; i++)
        bed_node(&b, arena_printf(&b.mem, "n%d: s0 s1 s2 %stop", i, i ? "" : "s3 "));
    if (bed_does(&b, PHASE_OP_CREATE, "", "")) {
        is_int(b.g->n_joins, 4, "one for each set of several, one for all that others wait for");
        uint32_t edges = b.g->first[b.g->n];
        is_int(edges, 50 * 2 + 50 * 4 + 1 + 50 + 3 * 50 + 4 + 2 * 50, "edges grow with tasks");
        is_int(phase_edges_count(b.g), 50 * 2 + 50 * 4 + 1 + 50 + 2 * 50 * 151,
               "not with their square");
    }
    if (bed_does(&b, PHASE_OP_START, "s3", ""))
        is_int(b.g->n_joins, 0, "none for what nobody waits for");
    bed_done(&b);
}

/* --- text --- */

static void test_text(void)
{
    struct phase_bed b;
    SCOPED_BUF(text);
    bed_init(&b);
    bed_service(&b, "db: install start");
    bed_service(&b, "web: start; run db");
    bed_node(&b, "n1: db");
    bed_node(&b, "n2: db web");
    b.nodes.at[0].machine = b.nodes.at[1].machine = PHASE_F_CREATE;
    if (bed_does(&b, PHASE_OP_CREATE, "", "")) {
        phase_write_stages(&text, b.g);
        is_text(text.data,
                "       1  create  2 nodes\n"
                "       2  install db  2 nodes\n"
                "       3  start db  2 nodes\n"
                "       4  start web  n2\n",
                "stages for people");
        buf_clear(&text);
        phase_write_json(&text, b.g);
        has_text(text.data,
                 "{\"id\":\"n2:start:web\",\"node\":\"n2\",\"service\":\"web\",\"phase\":\"start\","
                 "\"pulled\":false,\"requires\":[\"n2:create\",\"join:start:db\"]}",
                 "a task for programs");
        has_text(text.data,
                 "\"joins\":[{\"id\":\"join:start:db\",\"requires\":[\"n1:start:db\","
                 "\"n2:start:db\"]}],\"limits\":[],\"edges\":7,\"levels\":4,\"stages\":[[\"n1:"
                 "create\",\"n2:create\"]",
                 "joins, how many edges, stages");
        buf_clear(&text);
        phase_write_dot(&text, b.g);
        has_text(text.data, "label=\"join:start:db\", shape=point];", "a join for Graphviz");
    }
    if (bed_does(&b, PHASE_OP_START, "", "")) {
        buf_clear(&text);
        phase_write_stages(&text, b.g);
        is_text(text.data, "       1  start db  2 nodes\n       2  start web  n2\n", "and again");
    }
    bed_done(&b);
    bed_init(&b);
    bed_service(&b, "a: start");
    bed_service(&b, "b: start");
    bed_node(&b, "n1: a b");
    if (bed_does(&b, PHASE_OP_START, "", "")) {
        buf_clear(&text);
        phase_write_stages(&text, b.g);
        is_text(text.data, "     1.1  start a  n1\n     1.2  start b  n1\n",
                "one task of a node at a time");
    }
    bed_done(&b);
}

/* --- limits and mistakes --- */

static void test_limits(void)
{
    struct phase_bed b;
    static struct phase_service many[PHASE_MAX_SERVICES + 1];
    bed_init(&b);
    is_int(phase_deps_make(many, PHASE_MAX_SERVICES + 1, false, &b.d, &b.err), -ERR_LIMIT,
           "so many services");
    b.c.n_nodes = PHASE_MAX_NODES + 1;
    is_int(phase_work_init(&b.w, &b.c, &b.mem, &b.err), -ERR_LIMIT, "so many nodes");
    struct phase_node *nodes = arena_new(&b.mem, struct phase_node, PHASE_MAX_NODES);
    uint32_t services[10];
    for (uint32_t i = 0; i < 10; i++) {
        bed_service(&b, arena_printf(&b.mem, "s%u: all", i));
        services[i] = i;
    }
    for (uint32_t i = 0; i < PHASE_MAX_NODES; i++)
        nodes[i] = (struct phase_node){.name = str_of("n"), .services = services, .n_services = 7};
    ok(bed_deps(&b) >= 0, "ten services");
    b.c.nodes = nodes;
    b.c.n_nodes = PHASE_MAX_NODES;
    if (ok(phase_work_init(&b.w, &b.c, &b.mem, &b.err) >= 0, "a million nodes with seven each")) {
        phase_request_op(&(struct phase_request){.op = PHASE_OP_RESTART}, &b.c, b.d, &b.w, NULL);
        is_int(bed_graph(&b), -ERR_LIMIT, "so many tasks");
        has_text(b.err.text, "14000000 tasks", "and they are counted");
    }
    for (uint32_t i = 0; i < PHASE_MAX_NODES; i++)
        nodes[i].n_services = 10;
    is_int(phase_work_init(&b.w, &b.c, &b.mem, &b.err), -ERR_LIMIT, "so many cells");
    bed_node(&b, "n1: s0");
    ok(bed_deps(&b) >= 0 && phase_work_init(&b.w, &b.c, &b.mem, &b.err) >= 0, "one node");
    b.w.cells[0] = PHASE_F_CREATE;
    is_int(bed_graph(&b), -ERR_INVALID, "a service is not created");
    b.w.cells[0] = PHASE_F_REMOVE | PHASE_F_IN_TURN;
    is_int(bed_graph(&b), -ERR_INVALID, "nor removed in turn");
    b.w.cells[0] = 0;
    ok(bed_graph(&b) >= 0 && b.g->n == 0 && b.g->n_levels == 0, "nothing is to be done: nothing");
    bed_done(&b);
}

static void test_tables(void)
{
    for (int k = 0; k < PHASE_KIND_COUNT; k++)
        is_int(phase_kind_from(str_of(phase_kind_name((enum phase_kind)k))), k, "phase %d", k);
    for (int op = 0; op < PHASE_OP_COUNT; op++)
        is_int(phase_op_from(str_of(phase_op_name((enum phase_op)op))), op, "operation %d", op);
    is_int(phase_op_from(str_of("explode")), -1, "no such operation");
}

int main(void)
{
    test_whole();
    test_some();
    test_layout();
    test_act();
    test_upgrade();
    test_names();
    test_joins();
    test_text();
    test_limits();
    test_tables();
    return tap_done();
}
