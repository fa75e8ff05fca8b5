/* test_layout.c - layouts in names: every rule of a template, every refusal, every reason */
/* SPDX-License-Identifier: Apache-2.0 */
#include "layout_bed.h"

#include "base/text.h"

/* --- rules --- */

static const struct {
    const char *label;
    struct bed_ask ask;
    const char *want;
} solved[] = {
    {"without rules everything is everywhere", {.min = 2}, "2 base,db,web small/centos"},
    {"a range: with cost the fewest", {.min = 2, .max = 5}, "2 base,db,web small/centos"},
    {"min and max",
     {.constraints = "services: {db: {min: 1, max: 1}, web: {min: 2}}", .min = 3},
     "1 base,db,web small/centos; 2 base,web small/centos"},
    {"every service that was asked for is there, whatever its min",
     {.constraints = "services: {db: {min: 0, max: 1}}", .services = "base,db", .min = 2},
     "1 base,db small/centos; 1 base small/centos"},
    {"together",
     {.constraints = "together: [[web, db]], services: {db: {max: 2}}", .min = 3},
     "2 base,db,web small/centos; 1 base small/centos"},
    {"together, cut down to what there is",
     {.constraints = "together: [[web, db, cache]], services: {db: {max: 1}}", .min = 2},
     "1 base,db,web small/centos; 1 base small/centos"},
    {"apart",
     {.constraints = "apart: [[web, db]], services: {db: {max: 1}}", .min = 3},
     "1 base,db small/centos; 2 base,web small/centos"},
    {"apart with what is not there is no rule for the others",
     {.constraints = "apart: [[web, cache]], services: {db: {max: 1}}", .min = 2},
     "1 base,db,web small/centos; 1 base,web small/centos"},
    {"who conflicts with what another provides is apart from it",
     {.services = "db,rival", .min = 3, .comparator = "coopr"},
     "2 db small/centos; 1 rival small/centos"},
    {"step",
     {.constraints = "services: {db: {min: 1, step: 2}}", .min = 4},
     "3 base,db,web small/centos; 1 base,web small/centos"},
    {"a ratio of nodes",
     {.constraints = "services: {db: {ratio: {of: nodes, max: 1/3}}}", .min = 6},
     "2 base,db,web small/centos; 4 base,web small/centos"},
    {"a ratio of a service",
     {.constraints = "services: {web: {max: 4}, db: {ratio: {of: web, max: 1/2}}}", .min = 6},
     "2 base,db,web small/centos; 2 base,web small/centos; 2 base small/centos"},
    {"a ratio of a service that is not there is none",
     {.constraints = "services: {db: {ratio: {of: cache, max: 1/2}}}", .min = 2},
     "2 base,db,web small/centos"},
    {"hardware of a service",
     {.constraints = "services: {db: {max: 1, hardware: [large]}}", .hardware = "*", .min = 3},
     "1 base,db,web large/centos; 2 base,web small/centos"},
    {"image of a service",
     {.constraints = "services: {db: {max: 1, images: [ubuntu]}}", .image = "*", .min = 2},
     "1 base,db,web small/ubuntu; 1 base,web small/centos"},
    {"everywhere, said",
     {.constraints = "services: {db: {everywhere: true}, web: {max: 1}}", .min = 2},
     "1 base,db,web small/centos; 1 base,db small/centos"},
    {"what demands something is not everywhere by itself",
     {.services = "hog", .min = 1},
     "1 hog small/centos"},
    {"demands share a capacity",
     {.constraints = "services: {hog: {min: 2}, web: {max: 1}}",
      .services = "hog,web",
      .min = 2,
      .comparator = "coopr"},
     "1 hog,web small/centos; 1 hog small/centos"},
    {"the only hardware that is asked for",
     {.hardware = "large", .min = 1},
     "1 base,db,web large/centos"},
    {"any: the cheapest", {.hardware = "*", .image = "*", .min = 1}, "1 base,db,web small/centos"},
    {"any, in the original order: by name",
     {.hardware = "*", .min = 1, .comparator = "coopr"},
     "1 base,db,web large/centos"},
    {"a comparator of the catalog",
     {.hardware = "*", .min = 1, .comparator = "roomy"},
     "1 base,db,web large/centos"},
    {"spread",
     {.constraints = "services: {db: {min: 4, max: 4}}, spread: [{service: db, over: rack, skew: "
                     "1}]",
      .services = "base,db",
      .min = 5},
     "2 base,db small/centos rack=r1; 2 base,db small/centos rack=r2; 1 base small/centos"},
    {"size narrows a range",
     {.constraints = "size: {min: 3}", .min = 1, .max = 9},
     "3 base,db,web small/centos"},
    /* what exists */
    {"expand: nodes that exist keep what they have",
     {.constraints = "services: {db: {max: 1}}",
      .existing = "[{\"services\":[\"base\",\"db\",\"web\"],\"hardware\":\"small\",\"image\":"
                  "\"centos\"}]",
      .min = 3},
     "1 base,db,web small/centos was 0; 2 base,web small/centos"},
    {"with other hardware only for new nodes",
     {.constraints = "services: {db: {max: 1}}",
      .existing = "[{\"services\":[\"base\",\"db\",\"web\"],\"hardware\":\"small\",\"image\":"
                  "\"centos\"}]",
      .hardware = "large",
      .min = 2},
     "1 base,db,web small/centos was 0; 1 base,web large/centos"},
    {"shrink: the first entry is given up first",
     {.constraints = "services: {db: {max: 1}}",
      .existing = "[{\"count\":2,\"services\":[\"base\",\"web\"],\"hardware\":\"small\",\"image\":"
                  "\"centos\"},{\"services\":[\"base\",\"db\",\"web\"],\"hardware\":\"small\","
                  "\"image\":\"centos\"}]",
      .give_up = 1,
      .min = 2},
     "1 base,db,web small/centos was 1; 1 base,web small/centos was 0"},
    {"unless it is kept",
     {.existing = "[{\"services\":[\"web\"],\"hardware\":\"small\",\"image\":\"centos\",\"keep\":"
                  "true},{\"services\":[\"web\"],\"hardware\":\"large\",\"image\":\"centos\"}]",
      .give_up = 1,
      .min = 1},
     "1 web small/centos was 0"},
    {"a service that is involved comes to what exists",
     {.existing = "[{\"count\":2,\"services\":[\"web\"],\"hardware\":\"small\",\"image\":"
                  "\"centos\"}]",
      .involved = "cache",
      .min = 2},
     "2 cache,web small/centos was 0"},
    {"one that is no longer wanted goes",
     {.existing = "[{\"count\":2,\"services\":[\"web\",\"relic\"],\"hardware\":\"small\",\"image\":"
                  "\"centos\"}]",
      .services = "web",
      .min = 2},
     "2 web small/centos was 0"},
    {"labels stay with their nodes",
     {.constraints = "spread: [{service: db, over: rack, skew: 1}]",
      .existing = "[{\"services\":[\"db\"],\"hardware\":\"small\",\"image\":\"centos\",\"labels\":"
                  "{\"rack\":\"r1\",\"room\":\"a\"}}]",
      .min = 2},
     "1 db small/centos rack=r1 room=a was 0; 1 db small/centos rack=r2"},
};

static void test_rules(void)
{
    for (size_t i = 0; i < sizeof solved / sizeof *solved; i++) {
        struct layout_bed b;
        int rc = bed_solve(&b, &solved[i].ask);
        if (rc < 0 || !b.a->has_layout)
            ok(false, "%s: %s", solved[i].label, rc < 0 ? b.err.text : bed_why(&b, false));
        else
            is_text(bed_layout(&b), solved[i].want, "%s", solved[i].label);
        bed_done(&b);
    }
}

/* --- refusals --- */

static const struct {
    const char *label;
    struct bed_ask ask;
    enum errcode code;
    const char *text, *hint;
} refused[] = {
    {"a service that nobody is",
     {.services = "wen", .min = 1},
     ERR_UNKNOWN_NAME,
     "there is no service \"wen\"",
     "did you mean \"web\"?"},
    {"a name that is only provided",
     {.services = "sql", .min = 1},
     ERR_UNKNOWN_NAME,
     "there is no service \"sql\"",
     "\"db\" provides it"},
    {"a role that is none",
     {.services = "plain", .min = 1},
     ERR_REFUSED,
     "role \"plain\" is no service",
     ""},
    {"a service at fault",
     {.services = "relic", .min = 1},
     ERR_REFUSED,
     "service \"relic\" cannot be used: ",
     ""},
    {"a dependency that nobody is or provides",
     {.services = "app,web", .min = 1},
     ERR_REFUSED,
     "service \"app\" requires \"sql\" to run, which no service of this cluster is or provides",
     "add db, or leave app out"},
    {"hardware that nobody knows",
     {.hardware = "smal", .min = 1},
     ERR_UNKNOWN_NAME,
     "there is no hardware type \"smal\"",
     "did you mean \"small\"?"},
    {"an image that nobody knows",
     {.image = "zzz", .min = 1},
     ERR_UNKNOWN_NAME,
     "there is no image \"zzz\"",
     ""},
    {"a provider that nobody knows",
     {.provider = "acne", .min = 1},
     ERR_UNKNOWN_NAME,
     "there is no provider \"acne\"",
     "did you mean \"acme\"?"},
    {"a comparator that nobody knows",
     {.comparator = "costs", .min = 1},
     ERR_UNKNOWN_NAME,
     "there is no comparator \"costs\"",
     "did you mean \"cost\"?"},
    {"hardware that the template does not allow",
     {.hardware = "gift", .min = 1},
     ERR_REFUSED,
     "hardware type \"gift\" is not compatible with template \"shop\"",
     "there are small, large"},
    {"an image that the template does not allow",
     {.image = "exotic", .min = 1},
     ERR_REFUSED,
     "image \"exotic\" is not compatible with template \"shop\"",
     "there are centos, ubuntu"},
    {"hardware that the provider does not have",
     {.hardware = "gold", .min = 1},
     ERR_REFUSED,
     "provider \"acme\" does not offer hardware type \"gold\"",
     "there are small, large"},
    {"a default that the provider does not have",
     {.provider = "other", .min = 1},
     ERR_REFUSED,
     "provider \"other\" does not offer hardware type \"small\"",
     "there are gold"},
    {"a provider that has no image of the template",
     {.provider = "other", .hardware = "*", .image = "*", .min = 1},
     ERR_REFUSED,
     "provider \"other\" offers no image that template \"shop\" allows",
     "\"providers\""},
    {"too few nodes for the template",
     {.constraints = "size: {min: 3, max: 5}", .min = 2},
     ERR_REFUSED,
     "template \"shop\" is for 3 to 5 nodes, not for 2",
     ""},
    {"too many",
     {.constraints = "size: {min: 3, max: 5}", .min = 6, .max = 9},
     ERR_REFUSED,
     "template \"shop\" is for 3 to 5 nodes, not for 6",
     ""},
    {"too few without an end",
     {.constraints = "size: {min: 3}", .min = 2},
     ERR_REFUSED,
     "is for 3 to any number of nodes, not for 2",
     ""},
    {"no nodes", {0}, ERR_INVALID, "a cluster of 0 nodes", ""},
    {"a range that runs backwards", {.min = 5, .max = 4}, ERR_INVALID, "5 to 4 nodes", ""},
    {"a spread over what the provider has no values of",
     {.constraints = "spread: [{service: db, over: zone, skew: 1}]", .min = 2},
     ERR_REFUSED,
     "template \"shop\" spreads \"db\" over \"zone\", for which provider \"acme\" has no values",
     "labels: {zone: [...]}"},
    {"spreads over two labels",
     {.constraints = "spread: [{service: db, over: rack, skew: 1}, {service: web, over: zone, "
                     "skew: 1}]",
      .min = 2},
     ERR_REFUSED,
     "over \"rack\" and over \"zone\": one label at a time",
     ""},
};

static void test_refusals(void)
{
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        struct layout_bed b;
        is_int(bed_solve(&b, &refused[i].ask), -(int)refused[i].code, "refused: %s",
               refused[i].label);
        has_text(b.err.text, refused[i].text, "%s: says so", refused[i].label);
        has_text(b.err.hint, refused[i].hint, "%s: and what to do", refused[i].label);
        bed_done(&b);
    }
}

/* A template may allow more than services, and one that is listed nowhere is refused. */
static void test_compatible(void)
{
    struct layout_bed b = {0};
    const struct layout_answer *a;
    arena_init(&b.mem);
    ok(bed_load(&b, "template: shop\n"
                    "defaults: {services: [web], provider: acme}\n"
                    "compatibility: {services: [web, db]}\n") >= 0,
       "a template without hardware and image");
    struct layout_request req = {.catalog = b.c, .template = b.t, .nodes_min = 1, .nodes_max = 1};
    req.services = bed_names(&b.mem, "web,cache");
    is_int(layout_solve(&b.mem, &req, &a, &b.err), -ERR_REFUSED, "a service it does not allow");
    is_text(b.err.text, "service \"cache\" is not compatible with template \"shop\"", "is named");
    is_text(b.err.hint, "it allows web, db", "with those it does");
    req.services = bed_names(&b.mem, "web,db");
    is_int(layout_solve(&b.mem, &req, &b.a, &b.err), 0, "one that it does");
    is_text(bed_layout(&b), "1 db,web gift/centos", "on whatever there is");
    is_int(b.a->n_warnings, 1, "hardware without a cost is warned of");
    is_text(b.a->warnings[0].s, "provider \"acme\" says no cost of hardware gift: taken as 0",
            "by name");
    bed_done(&b);
}

/* --- reasons --- */

static const struct {
    const char *label;
    struct bed_ask ask;
    const char *why, *remedy;
} impossible[] = {
    {"more than there are nodes",
     {.constraints = "services: {db: {min: 3}}", .min = 2},
     "db is on at least 3 nodes; the cluster is to have 2 nodes",
     "lower min of db from 3 to 2"},
    {"fewer than there are nodes",
     {.constraints = "together: [[base, web, db]], services: {db: {max: 1}}", .min = 2},
     "base, db and web are together: a node that has one has all; db is on at most 1 node; the "
     "cluster is to have 2 nodes",
     "let base, db and web be on different nodes"},
    {"too few nodes, in two ways at once",
     {.constraints = "apart: [[web, db], [base, cache]]",
      .services = "base,web,db,cache",
      .min = 1},
     "db and web must not all be on one node; db is wanted: at least one node has it; web is "
     "wanted: at least one node has it; the cluster is to have 1 node",
     "ask for 2 nodes instead of 1"},
    {"the template's size stands in the way",
     {.constraints = "size: {max: 1}, apart: [[web, db], [base, cache]]",
      .services = "base,web,db,cache",
      .min = 1,
      .max = 9},
     "db and web must not all be on one node; db is wanted: at least one node has it; web is "
     "wanted: at least one node has it; the cluster is to have 1 node",
     "raise size.max of template shop from 1 to 2"},
    {"both",
     {.constraints = "size: {max: 1}, apart: [[web, db], [base, cache]]",
      .services = "base,web,db,cache",
      .min = 1},
     "db and web must not all be on one node; db is wanted: at least one node has it; web is "
     "wanted: at least one node has it; the cluster is to have 1 node",
     "ask for 2 nodes instead of 1, and raise size.max of template shop from 1 to 2"},
    {"hardware that is not offered",
     {.constraints = "services: {db: {hardware: [large, gold]}}", .min = 1},
     "db is allowed on hardware large and gold only, and there is small; db is wanted: at least "
     "one node has it",
     "allow db on hardware small"},
    {"an image that is not offered",
     {.constraints = "services: {db: {images: [ubuntu], min: 0}}", .min = 1},
     "db is allowed on image ubuntu only, and there is centos; db is wanted: at least one node has "
     "it",
     "allow db on image centos"},
    {"a demand that hardware of old has no room for",
     {.services = "hog,web",
      .min = 1,
      .existing = "[{\"services\":[\"web\"],\"hardware\":\"rust\",\"image\":\"centos\",\"keep\":"
                  "true}]",
      .involved = "hog"},
     "hog is wanted: at least one node has it; hog demands 4 ram; the cluster is to have 1 node; "
     "nodes that exist keep what they have, but for hog; 1 node must stay",
     "lower what hog demands (4 ram), or offer larger hardware"},
    {"what nothing less helps is left out",
     {.constraints = "services: {hog: {hardware: [large]}}",
      .services = "hog,web",
      .min = 1,
      .existing = "[{\"services\":[\"web\"],\"hardware\":\"gift\",\"image\":\"centos\",\"keep\":"
                  "true}]",
      .involved = "hog"},
     "hog is wanted: at least one node has it; hog demands 4 ram; the cluster is to have 1 node; "
     "nodes that exist keep what they have, but for hog; 1 node must stay",
     "leave hog out"},
    {"who conflicts, on one node",
     {.services = "db,rival", .min = 1},
     "db and rival must not share a node: rival says so under \"conflicts\"; db is wanted: at "
     "least one node has it; rival is wanted: at least one node has it; the cluster is to have 1 "
     "node",
     "let db and rival be on one node"},
    {"a ratio",
     {.constraints = "services: {db: {min: 2, ratio: {of: nodes, max: 1/3}}}", .min = 3},
     "db is on at least 2 nodes; db is on at most 1/3 as many as there are nodes; the cluster is "
     "to have 3 nodes",
     "lower min of db from 2 to 1"},
    {"a ratio of a service",
     {.constraints = "services: {web: {max: 1}, db: {min: 2, ratio: {of: web, max: 1}}}", .min = 3},
     "db is on at least 2 nodes; web is on at most 1 node; db is on at most as many as have web",
     "lower min of db from 2 to 1"},
    {"a ratio that only goes whole",
     {.constraints = "services: {web: {everywhere: true}, db: {ratio: {of: web, min: 2}}}",
      .services = "db,web",
      .min = 1},
     "db is on at least 2 times as many as have web; web is on every node; the cluster is to have "
     "1 node",
     "drop the ratio of db, at least 2 times as many as have web"},
    {"a step",
     {.constraints = "services: {db: {min: 2, step: 3}, web: {everywhere: true}}, together: [[db, "
                     "web]]",
      .min = 3},
     "db and web are together: a node that has one has all; db is on 2 nodes, or 3 more, or twice "
     "as many more, ...; web is on every node; the cluster is to have 3 nodes",
     "let db and web be on different nodes"},
    {"a spread",
     {.constraints = "services: {db: {min: 3, max: 3}}, spread: [{service: db, over: rack, skew: "
                     "1}]",
      .existing = "[{\"count\":3,\"services\":[\"db\"],\"hardware\":\"small\",\"image\":\"centos\","
                  "\"labels\":{\"rack\":\"r1\"},\"keep\":true}]",
      .min = 3},
     "db is spread over rack: at most 1 more nodes with one value than another; the cluster is to "
     "have 3 nodes; nodes that exist keep what they have; 3 nodes must stay",
     "involve more services, so that nodes that exist may have them, or keep fewer of the nodes"},
    {"a base that is everywhere, and apart",
     {.constraints = "apart: [[base, db]], services: {base: {everywhere: true}}",
      .services = "base,db",
      .min = 2},
     "base and db must not all be on one node; db is wanted: at least one node has it; base is on "
     "every node",
     "let base and db be on one node"},
};

static void test_reasons(void)
{
    for (size_t i = 0; i < sizeof impossible / sizeof *impossible; i++) {
        struct layout_bed b;
        int rc = bed_solve(&b, &impossible[i].ask);
        if (!ok(rc == 0 && b.a->status == SOLVER_UNSATISFIABLE, "%s: has no layout (%s)",
                impossible[i].label, rc < 0 ? b.err.text : "")) {
            bed_done(&b);
            continue;
        }
        is_text(bed_why(&b, false), impossible[i].why, "%s: why", impossible[i].label);
        is_text(bed_why(&b, true), impossible[i].remedy, "%s: what helps", impossible[i].label);
        bed_done(&b);
    }
}

int main(void)
{
    test_rules();
    test_refusals();
    test_compatible();
    test_reasons();
    return tap_done();
}
