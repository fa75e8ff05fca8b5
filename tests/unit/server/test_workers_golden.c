/* test_workers_golden.c - what the study of Coopr lists of tenants and provisioners, each fact
 * against a real server
 *
 * Facts are read from $ANNEAL_TEST_DATA/golden/coopr/workers-assign.json, by default ../shared
 * beside the tree, and left out if they are not there.  Each is known by the words it begins with;
 * one that has no check here fails.  What Coopr calls a provisioner is a worker of several places,
 * and a worker of a provisioner is one place.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "peer.h"
#include "server/tenants.h"

enum { STEP_MS = 10 * 1000 };

struct scene {
    struct rig g;
    struct peer p1, p2;
};

static void scene_open(struct scene *k)
{
    rig_open(&k->g);
    rig_catalog_of(&k->g, PEER_CATALOG);
    rig_settle(&k->g);
    peer_open(&k->p1, &k->g, "p1");
    peer_open(&k->p2, &k->g, "p2");
}

static void scene_close(struct scene *k)
{
    peer_close(&k->p1);
    peer_close(&k->p2);
    rig_close(&k->g);
}

/* p1 is silent for so long that it is taken for gone; p2 is not. */
static void p1_does_not_answer(struct scene *k)
{
    for (int i = 0; i < 2; i++) {
        k->g.server->clock_offset_ms += STEP_MS;
        peer_beat(&k->p2, (struct peer_says){0});
        peer_pass(&k->g, 0);
    }
}

static bool wants(struct scene *k, uint32_t places)
{
    const char *body = arena_printf(&k->g.mem, "{'name': 't', 'places': %u}", places);
    return rig_call(&k->g, server_tenant_create, (struct rig_ask){.body = body}) >= 0;
}

static int64_t number_of(struct scene *k, const char *field)
{
    (void)rig_call(&k->g, server_tenant_get, (struct rig_ask){.id = "t"});
    return rig_int(&k->g, field);
}

static int64_t workers_listed(struct scene *k)
{
    (void)rig_call(&k->g, server_worker_list, (struct rig_ask){0});
    return rig_int(&k->g, "total");
}

/* ---- the facts ---- */

static bool wish_is_met(struct scene *k)
{
    peer_hello(&k->p1, (struct peer_says){.capacity = 100});
    return wants(k, 50) && number_of(k, "share") == 50;
}

static bool wish_beyond_the_rest(struct scene *k)
{
    peer_hello(&k->p1, (struct peer_says){.capacity = 100});
    peer_hello(&k->p2, (struct peer_says){.capacity = 100});
    bool both = workers_listed(k) == 2;
    p1_does_not_answer(k);
    return both && workers_listed(k) == 1 && !wants(k, 110) && k->g.err.code == ERR_REFUSED &&
           strstr(k->g.err.text, "workers offer 100 places");
}

static bool share_moves(struct scene *k)
{
    peer_hello(&k->p1, (struct peer_says){.capacity = 100});
    bool made = wants(k, 50);
    peer_hello(&k->p2, (struct peer_says){.capacity = 100});
    p1_does_not_answer(k);
    bool gone = workers_listed(k) == 1;
    bool set = rig_call(&k->g, server_tenant_patch,
                        (struct rig_ask){.id = "t", .body = "{'places': 40}"}) >= 0;
    rig_node(&k->g, "n1", "");
    k->g.who.tenant = tenant_find(k->g.server, "t");
    uint32_t task = peer_work(&k->g, "near", "n1");
    k->g.who.tenant = TENANT_FIRST;
    return made && gone && set && number_of(k, "share") == 40 && number_of(k, "used") == 1 &&
           peer_got(&k->p2, TASKMSG_TASK, task) && !peer_got(&k->p1, TASKMSG_TASK, task);
}

static bool delete_is_refused(struct scene *k)
{
    peer_hello(&k->p1, (struct peer_says){.capacity = 100});
    return wants(k, 50) &&
           rig_call(&k->g, server_tenant_delete, (struct rig_ask){.id = "t"}) ==
               -(int)ERR_CONFLICT &&
           strstr(k->g.err.text, "places 50") && number_of(k, "share") == 50;
}

/* It is asked for its HELLO, which is how one registers. */
static bool unknown_registers(struct scene *k)
{
    peer_beat(&k->p1, (struct peer_says){.capacity = 100});
    bool unknown = workers_listed(k) == 0 && peer_got(&k->p1, TASKMSG_HELLO, 0);
    peer_hello(&k->p1, (struct peer_says){.capacity = 100});
    return unknown && workers_listed(k) == 1;
}

/* So many of the tenant's tasks run, as the server counts and as the worker says. */
static bool uses(struct scene *k, const struct peer_says *says, int64_t n)
{
    peer_beat(&k->p1, *says);
    (void)rig_call(&k->g, server_worker_list, (struct rig_ask){0});
    bool told = rig_int(&k->g, "items.0.running") == n;
    return told && number_of(k, "used") == n;
}

static bool usage_follows(struct scene *k)
{
    enum { FEW = 5, MORE = 10 };
    struct peer_says says = {0};
    uint32_t tasks[MORE];
    bool good = true;
    peer_hello(&k->p1, (struct peer_says){.capacity = 100});
    good = wants(k, 50);
    for (uint32_t i = 0; i < MORE; i++) {
        const char *node = arena_printf(&k->g.mem, "n%u", i);
        rig_node(&k->g, node, "");
        k->g.who.tenant = tenant_find(k->g.server, "t");
        tasks[i] = peer_work(&k->g, "near", node);
        k->g.who.tenant = TENANT_FIRST;
        says.held[says.n_held++] = peer_holds(&k->p1, tasks[i]);
        if (i + 1 == FEW || i + 1 == MORE)
            good = good && uses(k, &says, i + 1);
    }
    for (uint32_t i = 0; i < MORE; i++)
        peer_answer(&k->p1, tasks[i], OUTCOME_OK);
    return good && uses(k, &(struct peer_says){0}, 0);
}

static const struct {
    const char *begins;
    bool (*check)(struct scene *k);
} facts[] = {
    {"tenant wants 50,", wish_is_met},
    {"tenant wants 110,", wish_beyond_the_rest},
    {"tenant wants 40,", share_moves},
    {"delete a tenant with workers", delete_is_refused},
    {"heartbeat of an unknown provisioner", unknown_registers},
    {"heartbeat with usage", usage_follows},
};

static bool fact_run(const char *given)
{
    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++) {
        if (strncmp(given, facts[i].begins, strlen(facts[i].begins)) != 0)
            continue;
        struct scene k;
        scene_open(&k);
        bool good = facts[i].check(&k);
        scene_close(&k);
        return good;
    }
    note("there is no check of this");
    return false;
}

int main(int argc, char **argv)
{
    SCOPED_ARENA(mem);
    SCOPED_BUF(path);
    SCOPED_BUF(text);
    struct value *top = NULL;
    struct err e;
    unsigned ran = 0, passed = 0;
    const char *data = getenv("ANNEAL_TEST_DATA");
    if (data)
        buf_printf(&path, "%s/golden/coopr/workers-assign.json", data);
    else
        buf_printf(&path, "%s/../shared/golden/coopr/workers-assign.json",
                   argc > 1 ? argv[1] : ".");
    if (fs_read(path.data, 1 << 20, &text, &e) < 0) {
        skip("no cases of Coopr");
        return tap_done();
    }
    ok(json_parse(&mem, text.data, text.len, NULL, &top, &e) == 0, "the case can be read");
    const struct value *list = value_get(top, "facts");
    for (uint32_t i = 0; list && i < list->n; i++) {
        const char *given = value_as_text(value_get(&list->items[i], "given"), "");
        bool good = fact_run(given);
        ran++;
        passed += good;
        ok(good, "%s: %s", given, value_as_text(value_get(&list->items[i], "expect"), ""));
    }
    ok(ran >= 6, "the facts are there: %u", ran);
    note("coopr tenants: %u facts run, %u passed, 0 excepted, 0 skipped", ran, passed);
    return tap_done();
}
