/* test_bind.c - binding by example: what is found where, what is created, what is refused */
/* SPDX-License-Identifier: Apache-2.0 */
#include "tap.h"

#include "bind_scene.h"

#include "base/yaml.h"

static const char client_server[] =
    "barclamp: t\n"
    "roles:\n"
    "  - {name: admin, flags: [bootstrap]}\n"
    "  - {name: server, requires: [admin]}\n"
    "  - {name: lib, requires: [admin], flags: [implicit]}\n"
    "  - {name: client, requires: [server, lib], flags: [implicit]}\n"
    "  - {name: top, requires: [client]}\n";

/* Borrowed from another node unless implicit; twice is once. */
static void test_borrow(void)
{
    struct scene s;
    scene_open(&s, client_server, 3);
    is_int(scene_bind(&s, 1, "top@1"), 5, "an empty system: everything is created");
    is_int(scene_edges(&s), 5, "with its needs");
    is_int(scene_bind(&s, 1, "top@2"), 3, "a second node: implicit roles only");
    is_int(scene_edges(&s), 9, "and the rest is borrowed");
    is_text(scene_show(&s, "client", 2), "client@n2<-server@n1,lib@n2", "borrowed and own");
    is_int(scene_bind(&s, 1, "top@2"), 0, "the same again: nothing");
    is_int(scene_bind(&s, 1, "top@2 client@1 top@2"), 0, "nor in many words");
    is_int(s.steps->n, 3, "present ones are told");
    is_int(s.steps->at[0].why, BIND_PRESENT, "as present");
    is_int(s.steps->at[0].ref, 8, "with their id");
    scene_close(&s);
}

static void test_order_of_request(void)
{
    static const char text[] = "barclamp: t\n"
                               "roles:\n"
                               "  - {name: database}\n"
                               "  - {name: web, requires: [database]}\n";
    struct scene s;
    scene_open(&s, text, 4);
    is_int(scene_bind(&s, 1, "web@1 web@2 database@3"), 3, "what is named counts as there");
    is_text(scene_show(&s, "web", 1), "web@n1<-database@n3", "web@1 finds the database");
    is_text(scene_show(&s, "web", 2), "web@n2<-database@n3", "and so does web@2");
    scene_close(&s);

    scene_open(&s, text, 4);
    is_int(scene_bind(&s, 1, "web@2 web@1"), 3, "created once for two");
    is_text(scene_show(&s, "web", 1), "web@n1<-database@n2", "on the first node named");
    is_int(scene_bind(&s, 1, "database@1 database@4"), 2, "two more");
    is_int(scene_bind(&s, 1, "web@3"), 1, "the next looks again");
    is_text(scene_show(&s, "web", 3), "web@n3<-database@n2", "and finds the lowest of three");
    is_int(scene_bind(&s, 1, "web@4"), 1, "on a node with its own");
    is_text(scene_show(&s, "web", 4), "web@n4<-database@n4", "the same node comes first");
    scene_close(&s);
}

static void test_provides(void)
{
    static const char text[] = "barclamp: t\n"
                               "roles:\n"
                               "  - {name: installed}\n"
                               "  - {name: joined, provides: [installed]}\n"
                               "  - {name: needs, requires: [installed]}\n"
                               "  - {name: db, provides: [sql]}\n"
                               "  - {name: app, requires: [sql]}\n"
                               "  - {name: a-kv, provides: [kv]}\n"
                               "  - {name: b-kv, provides: [kv]}\n"
                               "  - {name: cache, requires: [kv]}\n"
                               "  - {name: above, requires: [cache]}\n"
                               "  - {name: idea, flags: [abstract]}\n"
                               "  - {name: thing, provides: [idea]}\n"
                               "  - {name: wants-idea, requires: [idea]}\n"
                               "  - {name: nowhere, flags: [abstract]}\n"
                               "  - {name: lost, requires: [nowhere]}\n";
    struct scene s;
    scene_open(&s, text, 4);
    scene_bind(&s, 1, "joined@1");
    is_int(scene_bind(&s, 1, "needs@1"), 1, "provided on the node");
    is_text(scene_show(&s, "needs", 1), "needs@n1<-joined@n1", "by a role of another name");
    is_int(s.steps->at[0].parents[0].found, FOUND_PROVIDED, "and told so");
    is_int(scene_bind(&s, 1, "needs@2"), 1, "provided in the deployment");
    is_text(scene_show(&s, "needs", 2), "needs@n2<-joined@n1", "from another node");
    is_int(scene_bind(&s, 1, "installed@3"), 1, "the role itself");
    is_int(scene_bind(&s, 1, "needs@4"), 1, "is found before one that provides it");
    is_text(scene_show(&s, "needs", 4), "needs@n4<-installed@n3", "though that is older");
    is_int(scene_bind(&s, 1, "app@1"), 2, "a name that one role provides brings that role");
    is_text(scene_show(&s, "app", 1), "app@n1<-db@n1", "on the node");
    is_int(scene_bind(&s, 1, "above@1"), -ERR_REFUSED, "a name that two provide is refused");
    has_text(s.err.text, "above@n1 requires cache: cache@n1 requires kv: ", "with the chain");
    has_text(s.err.hint, "a-kv, b-kv", "and those who could");
    is_int(scene_bind(&s, 1, "above@1 b-kv@2"), 3, "unless one is named as well");
    is_text(scene_show(&s, "cache", 1), "cache@n1<-b-kv@n2", "which is then taken");
    is_int(scene_bind(&s, 1, "idea@1"), -ERR_REFUSED, "an abstract role is not bound");
    has_text(s.err.hint, "thing", "but one that provides it");
    is_int(scene_bind(&s, 1, "wants-idea@1"), -ERR_REFUSED, "nor created");
    has_text(s.err.text, "wants-idea@n1 requires idea: idea is abstract", "with the chain");
    is_int(scene_bind(&s, 1, "wants-idea@1 thing@2"), 2, "but found");
    is_int(scene_bind(&s, 1, "lost@1"), -ERR_REFUSED, "abstract without a provider");
    has_text(s.err.hint, "no role", "says that nobody provides it");
    is_int(scene_bind(&s, 1, "sql@1"), -ERR_UNKNOWN_NAME, "a provided name is not a role");
    has_text(s.err.hint, "db", "but somebody provides it");
    scene_close(&s);
}

/* Roles of a lenient barclamp that have a fault are known, and nothing is bound to them. */
static void test_faulty(void)
{
    static const char text[] = "barclamp: t\n"
                               "lenient: true\n"
                               "roles:\n"
                               "  - {name: broken, requires: [milestone]}\n"
                               "  - {name: above, requires: [broken]}\n"
                               "  - {name: stand-in, provides: [broken]}\n"
                               "  - {name: sound}\n";
    struct scene s;
    scene_open(&s, text, 2);
    is_int(scene_bind(&s, 1, "broken@1"), -ERR_REFUSED, "a role with a fault is not bound");
    has_text(s.err.text,
             "broken cannot be bound: barclamp.yaml:4:31: role \"broken\" requires \"milestone\"",
             "the fault has its place");
    has_text(s.err.hint, "correct it", "and a remedy");
    is_int(scene_bind(&s, 1, "above@1"), -ERR_REFUSED, "nor is it created");
    has_text(s.err.text, "above@n1 requires broken: broken cannot be bound: barclamp.yaml:4:31: ",
             "the chain leads to it");
    is_int(scene_bind(&s, 1, "sound@1"), 1, "others of the barclamp are bound");
    is_int(scene_bind(&s, 1, "stand-in@1 above@1"), 2, "and what provides its name stands in");
    scene_close(&s);
}

/* To read an attribute of a role is to need it. */
static void test_wants(void)
{
    static const char text[] =
        "barclamp: t\n"
        "roles:\n"
        "  - {name: dns, attributes: {servers: {path: net/dns, default: [a]}}}\n"
        "  - {name: client, wants: [dns.servers, /net/ntp]}\n";
    static const char data[] = "{net: {dns: [b]}}", bad[] = "{servers: [b]}";
    struct scene s;
    SCOPED_ARENA(mem);
    struct value *user = NULL;
    const struct value *merged = NULL;
    uint64_t digest = 0;
    struct err e;

    scene_open(&s, text, 2);
    is_int(scene_bind(&s, 1, "client@1"), 2, "what it reads of is created");
    is_text(scene_show(&s, "client", 1), "client@n1<-dns@n1", "and needed");
    is_int(scene_bind(&s, 1, "client@2"), 1, "or found");
    is_text(scene_show(&s, "client", 2), "client@n2<-dns@n1", "on another node");
    const struct catalog_role *dns = catalog_role_get(s.cat, str_of("dns"));
    (void)yaml_parse(&mem, data, sizeof data - 1, NULL, &user, NULL);
    is_int(planner_data(&mem, dns, user, &merged, &digest, &e), 0, "data at the path is taken");
    is_text(value_as_text(value_at(merged, "net.dns.0"), ""), "b", "and merged there");
    (void)yaml_parse(&mem, bad, sizeof bad - 1, NULL, &user, NULL);
    is_int(planner_data(&mem, dns, user, &merged, &digest, &e), -ERR_INVALID,
           "data under the name alone is not");
    is_text(e.at, "/servers", "and is pointed at");
    scene_close(&s);
}

static void test_deployments(void)
{
    static const char text[] = "barclamp: t\n"
                               "roles:\n"
                               "  - {name: service}\n"
                               "  - {name: user, requires: [service]}\n";
    struct scene s;
    scene_open(&s, text, 9);
    vec_push(&s.world.deployments, ((struct fake_deployment){"kid", 1}));      /* 2 */
    vec_push(&s.world.deployments, ((struct fake_deployment){"sibling", 1}));  /* 3 */
    vec_push(&s.world.deployments, ((struct fake_deployment){"grandkid", 2})); /* 4 */
    is_int(scene_bind(&s, 3, "service@1"), 1, "in a sibling");
    is_int(scene_bind(&s, 2, "user@2"), 2, "does not count");
    is_text(scene_show(&s, "user", 2), "user@n2<-service@n2", "so it is created on the node");
    is_int(s.world.noderoles.at[1].deployment, 2, "in the target deployment");
    is_int(scene_bind(&s, 4, "user@3"), 1, "from above");
    is_text(scene_show(&s, "user", 3), "user@n3<-service@n2", "it is borrowed");
    is_text(s.steps->at[0].parents[0].deployment.s, "kid", "and the step says whence");
    is_int(scene_bind(&s, 1, "user@4"), 2, "from below it is not");
    is_int(scene_bind(&s, 1, "service@2"), 0, "on a node a role is bound once, whoever did it");
    is_int(scene_bind(&s, 9, "user@5"), -ERR_UNKNOWN_NAME, "no such deployment");
    s.world.deployments.at[0].parent = 2;
    is_int(scene_bind(&s, 2, "user@5"), -ERR_CORRUPT, "deployments in a ring");
    s.world.deployments.at[0].parent = 77;
    is_int(scene_bind(&s, 2, "user@5"), -ERR_CORRUPT, "a deployment under none");
    scene_close(&s);
}

static void test_conflicts(void)
{
    static const char text[] = "barclamp: t\n"
                               "roles:\n"
                               "  - {name: database, provides: [sql], conflicts: [toy]}\n"
                               "  - {name: other-db, provides: [sql]}\n"
                               "  - {name: toy}\n"
                               "  - {name: play, provides: [fun], conflicts: [sql]}\n"
                               "  - {name: joker, provides: [toy]}\n"
                               "  - {name: web, requires: [database]}\n"
                               "  - {name: alone, provides: [single], conflicts: [single]}\n"
                               "  - {name: other, provides: [single]}\n";
    struct scene s;
    scene_open(&s, text, 6);
    is_int(scene_bind(&s, 1, "toy@1"), 1, "one");
    is_int(scene_bind(&s, 1, "database@1"), -ERR_REFUSED, "conflicts with it");
    is_text(s.err.text, "database conflicts with toy, which is on n1", "and says with what");
    has_text(s.err.hint, "unbind toy from n1", "and what to do");
    is_int(scene_bind(&s, 1, "web@1"), -ERR_REFUSED, "also when it is only needed");
    is_text(s.err.text, "web@n1 requires database: database conflicts with toy, which is on n1",
            "with the chain");
    is_int(scene_bind(&s, 1, "database@2"), 1, "elsewhere it may");
    is_int(scene_bind(&s, 1, "toy@2"), -ERR_REFUSED, "and then the other may not");
    has_text(s.err.text, "toy is in conflict with database, which is on n2", "seen from there");
    is_int(scene_bind(&s, 1, "joker@2"), -ERR_REFUSED, "nor one that provides it");
    is_int(scene_bind(&s, 1, "other-db@2"), -ERR_REFUSED, "two that provide the same");
    has_text(s.err.text, "other-db provides sql and so does database, which is on n2", "told so");
    is_int(scene_bind(&s, 1, "play@2"), -ERR_REFUSED, "a conflict with a provided name");
    is_int(scene_bind(&s, 1, "joker@3 toy@3"), -ERR_REFUSED, "a role beside what provides it");
    has_text(s.err.hint, "only one of the two", "both of the request");
    is_int(scene_bind(&s, 1, "toy@1 joker@1"), -ERR_REFUSED, "and the other way round");
    is_int(scene_bind(&s, 1, "alone@4"), 1, "a role may conflict with what it provides");
    is_int(scene_bind(&s, 1, "other@4"), -ERR_REFUSED, "which keeps others away");
    is_int(s.world.noderoles.n, 3, "nothing refused left anything behind");
    scene_close(&s);
}

static void test_cluster(void)
{
    static const char text[] = "barclamp: t\n"
                               "roles:\n"
                               "  - {name: base}\n"
                               "  - {name: master, requires: [base], flags: [cluster]}\n"
                               "  - {name: minion, requires: [master]}\n"
                               "  - {name: friend, uses: [master]}\n";
    struct scene s;
    scene_open(&s, text, 8);
    vec_push(&s.world.deployments, ((struct fake_deployment){"kid", 1}));
    is_int(scene_bind(&s, 1, "minion@1 master@2 master@3"), 4, "all peers of a request");
    is_text(scene_show(&s, "minion", 1), "minion@n1<-master@n2,master@n3", "are needed");
    is_int(scene_bind(&s, 1, "master@4"), 1, "a new peer");
    is_text(scene_show(&s, "minion", 1), "minion@n1<-master@n2,master@n3,master@n4",
            "is needed by who needs the others");
    is_int(scene_bind(&s, 1, "master@5 minion@6 friend@7"), 3, "live and new peers");
    is_text(scene_show(&s, "minion", 6), "minion@n6<-master@n2,master@n3,master@n4,master@n5",
            "are all needed");
    is_text(scene_show(&s, "friend", 7), "friend@n7<-master@n2,master@n3,master@n4,master@n5",
            "or used");
    is_text(scene_show(&s, "minion", 1), "minion@n1<-master@n2,master@n3,master@n4,master@n5",
            "also by the first");
    is_int(scene_bind(&s, 2, "minion@8"), 1, "from below");
    is_text(scene_show(&s, "minion", 8), "minion@n8<-master@n2,master@n3,master@n4,master@n5",
            "all of the one above");
    is_int(scene_bind(&s, 2, "master@8"), 1, "a peer in another deployment");
    ok(!strstr(scene_show(&s, "minion", 1), "n8"), "is no peer of those");
    scene_close(&s);
}

/* A new peer that stands below what needs its peers. */
static void test_peer_circle(void)
{
    static const char text[] = "barclamp: t\n"
                               "roles:\n"
                               "  - {name: store-a, provides: [store]}\n"
                               "  - {name: store-b, provides: [store], requires: [reader]}\n"
                               "  - {name: master, requires: [store], flags: [cluster]}\n"
                               "  - {name: reader, requires: [master]}\n"
                               "  - {name: far, requires: [reader]}\n";
    struct scene s;
    scene_open(&s, text, 6);
    is_int(scene_bind(&s, 1, "store-a@1 master@1 reader@2"), 3, "a cluster of one and its reader");
    is_int(scene_bind(&s, 1, "store-b@3"), 1, "a store that needs the reader");
    is_int(scene_bind(&s, 1, "master@3"), -ERR_CYCLE, "a peer on top of that");
    has_text(s.err.text,
             "master@n3 would become a peer that reader@n2 needs, but it needs store-b@n3",
             "is refused with the circle");
    is_int(scene_bind(&s, 1, "master@4"), 1, "a peer elsewhere is not");
    scene_close(&s);

    /* The same through noderoles that are all new. */
    scene_open(&s, text, 6);
    is_int(scene_bind(&s, 1, "store-b@1 master@1 reader@1"), -ERR_CYCLE, "in one request");
    is_text(s.err.text, "store-b@n1 needs reader@n1 needs master@n1 needs store-b@n1",
            "the circle is told");
    scene_close(&s);
}

static void test_uses(void)
{
    static const char text[] = "barclamp: t\n"
                               "roles:\n"
                               "  - {name: watch}\n"
                               "  - {name: near, flags: [implicit]}\n"
                               "  - {name: app, uses: [watch, near, proxy]}\n"
                               "  - {name: relay, provides: [proxy], uses: [proxy]}\n"
                               "  - {name: cold, provides: [proxy]}\n";
    struct scene s;
    scene_open(&s, text, 6);
    is_int(scene_bind(&s, 1, "app@1"), 1, "nothing used is created");
    is_int(scene_bind(&s, 1, "watch@2 near@2 app@3"), 3, "what is there");
    is_text(scene_show(&s, "app", 3), "app@n3<-watch@n2", "is used, unless implicit elsewhere");
    is_int(scene_bind(&s, 1, "app@2"), 1, "on its node");
    is_text(scene_show(&s, "app", 2), "app@n2<-watch@n2,near@n2", "an implicit one is");
    is_int(scene_bind(&s, 1, "relay@4"), 1, "who provides what it uses");
    is_text(scene_show(&s, "relay", 4), "relay@n4<-", "does not use itself");
    is_int(scene_bind(&s, 1, "relay@5 cold@6"), 2, "but others");
    is_text(scene_show(&s, "relay", 5), "relay@n5<-relay@n4", "who are there");
    scene_close(&s);
}

static void test_jigs(void)
{
    static const char text[] = "barclamp: t\n"
                               "jigs:\n"
                               "  - {name: chef, implementation: shell, implementor: chef-server}\n"
                               "  - {name: other, implementation: test}\n"
                               "roles:\n"
                               "  - {name: chef-server}\n"
                               "  - {name: cooked, jig: chef}\n"
                               "  - name: mixed\n"
                               "    jig: shell\n"
                               "    actions: {converge: [{name: a}, {name: b, type: other}]}\n"
                               "  - name: implied\n"
                               "    jig: shell\n"
                               "    actions: {converge: [{name: a, type: chef}]}\n";
    struct scene s;
    scene_open(&s, text, 4);
    is_int(scene_bind(&s, 1, "cooked@1"), 2, "the implementor comes along");
    is_text(scene_show(&s, "cooked", 1), "cooked@n1<-chef-server@n1", "as a need");
    is_int(scene_bind(&s, 1, "implied@1"), 1, "also for a task's jig");
    is_text(scene_show(&s, "implied", 1), "implied@n1<-chef-server@n1", "of another type");
    vec_push(&s.world.inactive, "other");
    is_int(scene_bind(&s, 1, "mixed@1"), -ERR_REFUSED, "a jig that is off");
    has_text(s.err.text, "mixed needs the jig other, which is not active", "is named");
    has_text(s.err.hint, "activate the jig other", "with the remedy");
    vec_push(&s.world.inactive, "chef");
    is_int(scene_bind(&s, 1, "cooked@2"), -ERR_REFUSED, "so is the role's own");
    s.world.jigs.at[0] = "unset";
    is_int(scene_bind(&s, 1, "cooked@2"), -ERR_REFUSED, "a jig that nobody set up");
    has_text(s.err.text, "not set up", "says so");
    scene_close(&s);
}

static void test_names_and_nodes(void)
{
    struct scene s;
    scene_open(&s, client_server, 2);
    is_int(scene_bind(&s, 1, "clint@1"), -ERR_UNKNOWN_NAME, "no such role");
    has_text(s.err.hint, "did you mean \"client\"", "but one like it");
    is_int(scene_bind(&s, 1, "zzzzzzzz@1"), -ERR_UNKNOWN_NAME, "no such role at all");
    is_text(s.err.hint, "", "gives no hint");
    is_int(scene_bind(&s, 1, "top@7"), -ERR_UNKNOWN_NAME, "no such node");
    s.world.nodes.at[1].gone = true;
    is_int(scene_bind(&s, 1, "top@2"), -ERR_REFUSED, "a node on its way out");
    has_text(s.err.text, "n2 is being removed", "is named");
    struct bind_request req = {1, &(struct bind_item){str_of("clint"), 1, NULL}, 1};
    struct plan *p = NULL;
    is_int(planner_bind(s.cat, &s.world.face, &req, &p, NULL, NULL), -ERR_UNKNOWN_NAME,
           "nobody has to read the error");
    req.n_items = 0;
    is_int(planner_bind(s.cat, &s.world.face, &req, &p, NULL, NULL), 0, "an empty request");
    is_int(p->n_noderoles + p->n_tasks, 0, "gives an empty plan");
    plan_free(p);
    scene_close(&s);
}

/* Roles of an older generation live on, but this one knows nothing of them. */
static void test_unknown_live_role(void)
{
    struct scene s;
    scene_open(&s, client_server, 2);
    scene_bind(&s, 1, "admin@1");
    s.world.noderoles.at[0].role = "of-old";
    is_int(scene_bind(&s, 1, "admin@1"), 1, "it holds no name on its node");
    s.world.noderoles.at[1].removed = true;
    is_int(scene_bind(&s, 1, "admin@1"), 1, "nor does one that is removed");
    scene_close(&s);
}

int main(void)
{
    test_borrow();
    test_order_of_request();
    test_provides();
    test_faulty();
    test_wants();
    test_deployments();
    test_conflicts();
    test_cluster();
    test_peer_circle();
    test_uses();
    test_jigs();
    test_names_and_nodes();
    test_unknown_live_role();
    return tap_done();
}
