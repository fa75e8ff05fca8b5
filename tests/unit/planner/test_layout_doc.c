/* test_layout_doc.c - layouts as documents, places of reasons, names of nodes, phases of roles */
/* SPDX-License-Identifier: Apache-2.0 */
#include "layout_bed.h"

#include "base/text.h"
#include "planner/layout_phase.h"
#include "planner/phase_plan.h"

static const char *json_of(struct layout_bed *b, const struct value *v)
{
    SCOPED_BUF(text);
    json_write(&text, v, 0);
    return arena_strndup(&b->mem, buf_str(&text).s, text.len);
}

static void test_answers(void)
{
    static const struct {
        const char *label;
        struct bed_ask ask;
        const char *want;
    } cases[] = {
        {"solved",
         {.constraints = "services: {db: {max: 1}}", .services = "base,db", .min = 2},
         "{\"status\":\"solved\",\"layout\":[{\"count\":1,\"services\":[\"base\",\"db\"],"
         "\"hardware\":\"small\",\"image\":\"centos\"},{\"count\":1,\"services\":[\"base\"],"
         "\"hardware\":\"small\",\"image\":\"centos\"}],\"objective\":{\"cost\":0.1,\"services\":"
         "3}}"},
        {"by another comparator",
         {.services = "db", .min = 2, .hardware = "large", .comparator = "roomy"},
         "{\"status\":\"solved\",\"layout\":[{\"count\":2,\"services\":[\"db\"],\"hardware\":"
         "\"large\",\"image\":\"centos\"}],\"objective\":{\"ram\":17,\"cost\":0.4}}"},
        {"with labels, with what exists and what is given up",
         {.constraints = "spread: [{service: db, over: rack}]",
          .existing = "[{\"count\":2,\"services\":[\"db\"],\"hardware\":\"small\",\"image\":"
                      "\"centos\",\"labels\":{\"rack\":\"r2\"}}]",
          .give_up = 1,
          .min = 2},
         "{\"status\":\"solved\",\"layout\":[{\"count\":1,\"services\":[\"db\"],\"hardware\":"
         "\"small\",\"image\":\"centos\",\"labels\":{\"rack\":\"r1\"}},{\"count\":1,\"services\":["
         "\"db\"],\"hardware\":\"small\",\"image\":\"centos\",\"labels\":{\"rack\":\"r2\"},"
         "\"existing\":0}],\"objective\":{\"cost\":0.1,\"services\":2},\"given_up\":[{\"existing\":"
         "0,\"count\":1}]}"},
        {"unsatisfiable: places are those of the template's file",
         {.constraints = "services: {db: {min: 3}}", .services = "db", .min = 2},
         "{\"status\":\"unsatisfiable\",\"conflict\":[{\"rule\":\"min\",\"text\":\"db is on at "
         "least 3 nodes\",\"service\":\"db\",\"at\":\"site/templates/shop.yaml:4:36\"},{\"rule\":"
         "\"nodes\",\"text\":\"the cluster is to have 2 nodes\"}],\"relaxation\":[{\"text\":"
         "\"lower min of db from 3 to 2\",\"change\":{\"rule\":\"min\",\"service\":\"db\",\"from\":"
         "3,\"to\":2}}]}"},
        {"dropped",
         {.constraints = "apart: [[db, web]]", .services = "db,web", .min = 1},
         "{\"status\":\"unsatisfiable\",\"conflict\":[{\"rule\":\"apart\",\"text\":\"db and web "
         "must not all be on one node\",\"at\":\"site/templates/shop.yaml:4:23\"},{\"rule\":"
         "\"required\",\"text\":\"db is wanted: at least one node has it\",\"service\":\"db\"},{"
         "\"rule\":\"required\",\"text\":\"web is wanted: at least one node has it\",\"service\":"
         "\"web\"},{\"rule\":\"nodes\",\"text\":\"the cluster is to have 1 node\"}],"
         "\"relaxation\":[{\"text\":\"let db and web be on one node\",\"change\":{\"rule\":"
         "\"apart\",\"dropped\":true}}]}"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct layout_bed b;
        int rc = bed_solve(&b, &cases[i].ask);
        is_text(rc < 0 ? b.err.text : json_of(&b, layout_answer_value(&b.mem, b.a)), cases[i].want,
                "%s", cases[i].label);
        bed_done(&b);
    }
}

/* Whatever steps ran out over, the document has its form. */
static void test_limit(void)
{
    struct bed_ask ask = {.constraints = "apart: [[web, db], [db, cache], [web, cache]], services: "
                                         "{db: {min: 3, step: 2}, web: {ratio: {of: db, min: "
                                         "2/3}}, cache: {min: 2}}",
                          .services = "web,db,cache",
                          .min = 11,
                          .hardware = "*",
                          .steps = 1};
    struct layout_bed b;
    is_int(bed_solve(&b, &ask), 0, "a search of one step");
    const struct value *v = layout_answer_value(&b.mem, b.a);
    is_text(value_as_text(value_get(v, "status"), ""), "limit", "is cut off");
    ok(value_get(v, "best") && value_get(v, "bound"),
       "and says the best that is known, and a bound");
    bed_done(&b);
    ask.steps = 0;
    is_int(bed_solve(&b, &ask), 0, "with all steps");
    is_int(b.a->status, SOLVER_SOLVED, "it is solved");
    bed_done(&b);
}

/* What is written is what is read. */
static void test_again(void)
{
    struct bed_ask ask = {.constraints = "services: {db: {min: 2, max: 2}}, spread: [{service: db, "
                                         "over: rack}]",
                          .min = 4};
    struct layout_bed b;
    const struct layout_node *nodes;
    uint32_t n;
    is_int(bed_solve(&b, &ask), 0, "a layout");
    const struct value *v = layout_answer_value(&b.mem, b.a);
    is_int(layout_nodes_read(&b.mem, v, &nodes, &n, &b.err), 0, "read as the whole answer");
    is_int(layout_nodes_read(&b.mem, value_get(v, "layout"), &nodes, &n, &b.err), 0,
           "and as the list");
    is_int(n, b.a->n_kinds, "with all kinds");
    bool same = true;
    for (uint32_t i = 0; i < n; i++) {
        const struct layout_kind *k = &b.a->kinds[i];
        same = same && nodes[i].count == k->count && nodes[i].services.n == k->n_services &&
               str_eq(nodes[i].hardware, k->hardware) && str_eq(nodes[i].image, k->image) &&
               nodes[i].n_labels == k->n_labels && !nodes[i].keep;
    }
    ok(same, "as they were");
    bed_done(&b);
}

static void test_unreadable(void)
{
    static const struct {
        const char *text, *why;
    } cases[] = {
        {"7", "a layout is a list"},
        {"{}", "a layout is a list"},
        {"[7]", "layout[0] is no map"},
        {"[{}]", "layout[0] has no hardware"},
        {"[{\"hardware\":\"h\"}]", "layout[0] has no image"},
        {"[{\"hardware\":\"h\",\"image\":\"i\"}]", "layout[0] has no list of services"},
        {"[{\"hardware\":\"h\",\"image\":\"i\",\"services\":[1]}]",
         "layout[0] has a service that is no name"},
        {"[{\"hardware\":\"h\",\"image\":\"i\",\"services\":[],\"count\":-1}]",
         "layout[0] has a count"},
        {"[{\"hardware\":\"h\",\"image\":\"i\",\"services\":[],\"count\":1000001}]",
         "layout[0] has a count"},
        {"[{\"hardware\":\"h\",\"image\":\"i\",\"services\":[],\"count\":\"2\"}]",
         "layout[0] has a count"},
        {"[{\"hardware\":\"h\",\"image\":\"i\",\"services\":[],\"keep\":1}]",
         "layout[0] has a \"keep\""},
        {"[{\"hardware\":\"h\",\"image\":\"i\",\"services\":[],\"labels\":[]}]",
         "layout[0] has labels"},
        {"[{\"hardware\":\"h\",\"image\":\"i\",\"services\":[],\"labels\":{\"a\":1}}]",
         "layout[0] has a label"},
        {"[{\"hardware\":\"h\",\"image\":\"i\",\"services\":[],\"count\":600000},"
         "{\"hardware\":\"h\",\"image\":\"i\",\"services\":[],\"count\":600000}]",
         "1200000 nodes of a layout"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        SCOPED_ARENA(mem);
        const struct layout_node *nodes = NULL;
        uint32_t n = 0;
        struct value *v;
        struct err e = {0};
        ok(json_parse(&mem, cases[i].text, strlen(cases[i].text), NULL, &v, &e) == 0 &&
               layout_nodes_read(&mem, v, &nodes, &n, &e) < 0 && !nodes,
           "refused: %s", cases[i].text);
        has_text(e.text, cases[i].why, "and told why");
    }
}

/* --- places --- */

/* A rule is found where it was said last, in what is extended too. */
static void test_places(void)
{
    static const char text[] =
        "- template: above\n"
        "  defaults: {services: [db, web, rival], provider: acme, hardware: small, image: centos}\n"
        "  constraints:\n"
        "    together: [[db, web]]\n"
        "    size: {min: 1, max: 2}\n"
        "    services:\n"
        "      db: {min: 9}\n"
        "      web: {min: 2, max: 2}\n"
        "- template: shop\n"
        "  extends: above\n"
        "  constraints:\n"
        "    services:\n"
        "      db: {max: 1}\n";
    static const struct {
        const char *services;
        uint32_t min, max;
        const char *rule, *at;
    } cases[] = {
        {"db,web", 2, 2, "together", "site/templates/shop.yaml:4:16"},
        {"db,web", 2, 2, "max", "site/templates/shop.yaml:13:17"},
        {"db,web", 2, 2, "min", "site/templates/shop.yaml:8:18"},
        {"db,rival", 1, 1, "apart", "site/roles/all.yaml:7:3"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct layout_bed b = {0};
        const char *at = "no such rule";
        arena_init(&b.mem);
        int rc = bed_load(&b, text);
        struct layout_request req = {.catalog = b.c,
                                     .template = b.t,
                                     .services = bed_names(&b.mem, cases[i].services),
                                     .nodes_min = cases[i].min,
                                     .nodes_max = cases[i].max};
        if (rc >= 0)
            rc = layout_solve(&b.mem, &req, &b.a, &b.err);
        for (uint32_t k = 0; rc == 0 && k < b.a->n_conflict; k++)
            if (!strcmp(solver_rule_name(b.a->conflict[k].rule), cases[i].rule))
                at = b.a->conflict[k].at.s;
        is_text(rc < 0 ? b.err.text : at, cases[i].at, "%s of %s", cases[i].rule,
                cases[i].services);
        bed_done(&b);
    }
}

/* A template that a cluster kept, while the catalog has become another: no place is told. */
static void test_places_gone(void)
{
    struct layout_bed old = {0}, now = {0};
    arena_init(&old.mem);
    arena_init(&now.mem);
#define KEPT(min)                                                                                  \
    "template: shop\n"                                                                             \
    "defaults: {services: [db], provider: acme, hardware: small, image: centos}\n"                 \
    "constraints: {services: {db: {min: " min "}}}\n"
    ok(bed_load(&old, KEPT("5")) == 0 && bed_load(&now, KEPT("4")) == 0,
       "a template, then and now");
#undef KEPT
    struct layout_request req = {
        .catalog = now.c, .template = old.t, .nodes_min = 2, .nodes_max = 2};
    is_int(layout_solve(&now.mem, &req, &now.a, &now.err), 0, "a question about the old one");
    is_text(now.a->conflict[0].text.s, "db is on at least 5 nodes", "is answered by it");
    is_text(now.a->conflict[0].at.s, "", "and the place of another rule is not told for its");
    bed_done(&old);
    bed_done(&now);
}

/* --- names --- */

static void test_names(void)
{
    static const struct {
        const char *cluster, *domain;
        uint64_t number;
        const char *want;
    } cases[] = {
        {"hadoop", "", 1000, "hadoop-1000.local"},
        {"hadoop", "Example.COM", 1001, "hadoop-1001.example.com"},
        {"My_Big.Cluster", "x", 7, "my-big-cluster-7.x"},
        {"42-things", "x", 1, "things-1.x"},
        {"2024", "x", 1, "node-1.x"},
        {"", "x", 1, "node-1.x"},
        {"shop---", "x", 1, "shop-1.x"},
        {"a2b", "x", 1, "a2b-1.x"},
        {"caf\xc3\xa9", "x", 1, "caf-1.x"},
        {"abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzabcdefghijklmnop", "x", 123456,
         "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzabcd-123456.x"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        SCOPED_BUF(name);
        struct err e;
        is_int(layout_node_name(&name, str_of(cases[i].cluster), cases[i].number,
                                str_of(cases[i].domain), &e),
               0, "\"%s\" in \"%s\"", cases[i].cluster, cases[i].domain);
        is_text(name.data, cases[i].want, "is a name");
        ok(text_is_fqdn(buf_str(&name)), "that DNS takes: %s", name.data);
    }
    static const char *const bad[] = {"a b", "-a", "a..b", "a.", "a_b"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        SCOPED_BUF(name);
        struct err e;
        is_int(layout_node_name(&name, str_of("c"), 1, str_of(bad[i]), &e), -ERR_INVALID,
               "no domain: \"%s\"", bad[i]);
        ok(name.len == 0, "and no name");
    }
    /* The longest domain and the longest number leave room for a name. */
    char longest[192];
    SCOPED_BUF(name);
    struct err e;
    for (size_t i = 0; i < 191; i++)
        longest[i] = i % 64 == 63 ? '.' : 'd';
    longest[191] = '\0';
    is_int(layout_node_name(&name, str_of("cluster"), UINT64_MAX, str_of(longest), &e), 0,
           "the longest of all");
    ok(text_is_fqdn(buf_str(&name)), "is a name too: %zu bytes", name.len);
}

/* --- phases --- */

static void test_phases(void)
{
    struct layout_bed b = {0};
    const struct phase_service *s;
    arena_init(&b.mem);
    ok(bed_load(&b, "template: shop\ndefaults: {services: [db], provider: acme}\n") == 0, "a site");
    struct catalog_names names = bed_names(&b.mem, "app,db");
    is_int(layout_phase_services(&b.mem, b.c, names, str_of(""), &s, &b.err), 0, "its services");
    is_int(s[0].actions, PHASE_F_INSTALL, "have the phases that their roles have");
    is_int(s[0].n_depends, 1, "depend as those do");
    ok(str_is(s[0].depends[0].name, "sql") && s[0].depends[0].when == PHASE_AT_RUN &&
           s[0].depends[0].required,
       "on what they say, when they say");
    ok(s[1].n_provides == 1 && str_is(s[1].provides[0], "sql"), "and provide what they provide");
    is_int(layout_phase_services(&b.mem, b.c, names, str_of("install"), &s, &b.err), 0,
           "an action that is a phase");
    is_int(s[0].actions, PHASE_F_INSTALL, "is no action of their own");
    is_int(
        layout_phase_services(&b.mem, b.c, bed_names(&b.mem, "db,nobody"), str_of(""), &s, &b.err),
        -ERR_UNKNOWN_NAME, "one that is no role is refused");
    is_int(phase_provider_has(catalog_provider_get(b.c, str_of("acme"))), PHASE_F_CREATE,
           "a machine has what its provider does");
    bed_done(&b);
}

int main(void)
{
    test_answers();
    test_limit();
    test_again();
    test_unreadable();
    test_places();
    test_places_gone();
    test_names();
    test_phases();
    return tap_done();
}
