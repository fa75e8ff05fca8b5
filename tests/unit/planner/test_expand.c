/* test_expand.c - noderoles to tasks: order, weights, definitions, strategies, pools */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/digest.h"
#include "tap.h"

#include "fake_world.h"

#include "model/states.h"

static struct plan *bind(const struct catalog *c, struct fake_world *w, const char *items)
{
    struct bind_item list[32];
    struct bind_request req = {1, list, 0};
    struct plan *p = NULL;
    struct err e;
    char copy[512], *at = copy;

    snprintf(copy, sizeof copy, "%s", items);
    for (char *word; (word = strsep(&at, " "));) {
        char *node = strchr(word, '@');
        list[req.n_items++] = (struct bind_item){
            {word, (size_t)(node - word)}, (uint32_t)atoi(node + 1), NULL};
    }
    if (planner_bind(c, &w->face, &req, &p, NULL, &e) < 0) {
        printf("Bail out! %s\n", e.text);
        exit(1);
    }
    return p;
}

/* One line a task: number, role@node, task, weight, span, what it waits for ("#5": a live one). */
static const char *show(struct fake_world *w, const struct plan *p)
{
    struct buf b = {0};
    for (uint32_t i = 0; i < p->n_tasks; i++) {
        const struct plan_task *t = &p->tasks[i];
        const struct plan_noderole *nr = &p->noderoles[t->noderole & ~PLAN_NEW];
        const char *def = t->def & PLAN_NEW ? p->defs[t->def & ~PLAN_NEW].name.s : "known";
        buf_printf(&b, "%u %s@%u %s w%u", i, nr->role.s, nr->node, def, t->weight);
        if (t->span)
            buf_printf(&b, " s%u", t->span);
        for (uint32_t k = 0; k < t->n_deps; k++)
            buf_printf(&b, "%s%s%u", k ? "," : " <- ", t->deps[k] & PLAN_NEW ? "" : "#",
                       t->deps[k] & ~PLAN_NEW);
        buf_puts(&b, "\n");
    }
    for (uint32_t i = 0; i < p->n_spans; i++) {
        buf_printf(&b, "span %u:", i + 1);
        for (uint32_t k = 0; k < p->spans[i].n_pools; k++)
            buf_printf(&b, " %s%u", p->spans[i].pools[k] & PLAN_NEW ? "new" : "#",
                       p->spans[i].pools[k] & ~PLAN_NEW);
        buf_puts(&b, "\n");
    }
    for (uint32_t i = 0; i < p->n_pools; i++)
        buf_printf(&b, "pool %u: %s %u\n", i, p->pools[i].name.s, p->pools[i].size);
    const char *copy = arena_strdup(&w->mem, b.data ? b.data : "");
    buf_done(&b);
    return copy;
}

static void test_order(void)
{
    struct catalog *c = fake_catalog("barclamp: t\n"
                                     "roles:\n"
                                     "  - {name: base}\n"
                                     "  - name: db\n"
                                     "    jig: shell\n"
                                     "    requires: [base]\n"
                                     "    actions:\n"
                                     "      converge:\n"
                                     "        - {name: last, requires: [left, right]}\n"
                                     "        - {name: left, requires: [first]}\n"
                                     "        - {name: right, requires: [first]}\n"
                                     "        - {name: first, requires: []}\n"
                                     "        - {name: aside, requires: []}\n"
                                     "  - name: web\n"
                                     "    jig: shell\n"
                                     "    requires: [db, base]\n"
                                     "    actions: {converge: [{name: one}, {name: two}]}\n");
    struct fake_world w;
    fake_init(&w, c, 3);
    struct plan *p = bind(c, &w, "web@2 db@1 base@1");
    is_text(show(&w, p),
            "0 base@1 noop w6\n"
            "1 db@1 first w5\n"
            "2 db@1 left w4 <- 1\n"
            "3 db@1 right w4 <- 1\n"
            "4 db@1 last w3 <- 2,3\n"
            "5 db@1 aside w3\n"
            "6 web@2 one w2\n"
            "7 web@2 two w1 <- 6\n",
            "steps in order; that needs order too is in the weights only");
    fake_apply(&w, p);
    plan_free(p);
    p = bind(c, &w, "web@3");
    is_text(show(&w, p),
            "0 web@3 known w2\n"
            "1 web@3 known w1 <- 0\n",
            "nothing for live parents; definitions that are known");
    is_int(p->n_defs, 0, "are not made again");
    plan_free(p);
    fake_done(&w);
    catalog_unref(c);
}

static void test_strategies(void)
{
    struct catalog *c = fake_catalog(
        "barclamp: t\n"
        "pools: {license: 3, spare: 1}\n"
        "roles:\n"
        "  - name: chained\n"
        "    jig: shell\n"
        "    strategy: {type: one_by_one}\n"
        "    actions: {converge: [{name: a}, {name: b, requires: [a]}, {name: c, requires: [a]}]}\n"
        "  - name: roll\n"
        "    jig: shell\n"
        "    strategy: {type: rolling, max: 2}\n"
        "    actions: {converge: [{name: a}, {name: b, pools: [license]},\n"
        "                         {name: c, pools: [license, spare]}]}\n"
        "  - name: limited\n"
        "    jig: shell\n"
        "    actions: {converge: [{name: a}, {name: b, pools: [license]}]}\n");
    struct fake_world w;
    fake_init(&w, c, 5);
    struct plan *p = bind(c, &w, "chained@3 chained@1 chained@2");
    is_text(show(&w, p),
            "0 chained@1 a w2 s1\n1 chained@1 b w1 s1 <- 0\n2 chained@1 c w1 s1 <- 0\n"
            "3 chained@2 a w2 s2\n4 chained@2 b w1 s2 <- 3\n5 chained@2 c w1 s2 <- 3\n"
            "6 chained@3 a w2 s3\n7 chained@3 b w1 s3 <- 6\n8 chained@3 c w1 s3 <- 6\n"
            "span 1: new0\nspan 2: new0\nspan 3: new0\npool 0: role:1/chained 1\n",
            "one by one: a pool with room for one, in the order of nodes");
    plan_free(p);
    vec_push(&w.pools, "license");
    vec_push(&w.sizes, 2);
    p = bind(c, &w, "roll@1 roll@2 limited@1");
    is_text(show(&w, p),
            "0 roll@1 a w3 s1\n1 roll@1 b w2 s1 <- 0\n2 roll@1 c w1 s1 <- 1\n"
            "3 limited@1 a w2\n4 limited@1 b w1 s2 <- 3\n"
            "5 roll@2 a w3 s3\n6 roll@2 b w2 s3 <- 5\n7 roll@2 c w1 s3 <- 6\n"
            "span 1: new0 #1 new1\nspan 2: #1\nspan 3: new0 #1 new1\n"
            "pool 0: role:1/roll 2\npool 1: spare 1\n",
            "rolling: a span over all tasks with all pools; else a span a task");
    fake_apply(&w, p);
    plan_free(p);
    p = bind(c, &w, "roll@3");
    is_int(p->n_pools, 0, "a pool that lives");
    is_int(p->spans[0].pools[0], fake_pool(&w, str_of("role:1/roll"), NULL), "is found by name");
    plan_free(p);
    fake_done(&w);
    catalog_unref(c);
}

/* A role with phases is bound like any other, and its tasks know what they are. */
static void test_service(void)
{
    struct catalog *c = fake_catalog("barclamp: t\n"
                                     "tasks: [{name: both}]\n"
                                     "roles:\n"
                                     "  - name: db\n"
                                     "    jig: shell\n"
                                     "    requires: {run: [db2]}\n"
                                     "    actions:\n"
                                     "      start: [both, {name: go, returns: [port, url]}]\n"
                                     "      configure: [both]\n"
                                     "      install: [{name: put}, {name: get, lasting: false}]\n"
                                     "      stop: [{name: halt}]\n"
                                     "  - {name: db2, jig: shell, actions: {start: [both]}}\n");
    struct fake_world w;
    fake_init(&w, c, 2);
    struct plan *p = bind(c, &w, "db@1");
    is_int(p->n_noderoles, 1, "what a service depends on is not bound along");
    is_int(p->n_tasks, 5, "it converges by the phases that bring it up");
    static const char *const names[] = {"put", "get", "both", "both", "go"};
    for (uint32_t i = 0; i < p->n_tasks && i < 5; i++) {
        const struct plan_task *t = &p->tasks[i];
        is_text(p->defs[t->def & ~PLAN_NEW].name.s, names[i], "task %u", i);
        is_int(t->n_deps, i > 0, "task %u waits for the one before", i);
    }
    is_int(p->n_defs, 4, "a task of two phases is one definition");
    is_int(p->defs[0].flags, DEF_F_LASTING | DEF_F_CHAINS, "what is installed lasts");
    is_int(p->defs[1].flags, DEF_F_CHAINS, "unless the task says otherwise");
    is_int(p->defs[2].flags, DEF_F_CHAINS, "and what is configured does not");
    is_text(p->defs[3].body.s, "{\"type\":\"shell\",\"params\":{},\"returns\":[\"port\",\"url\"]}",
            "what it returns is in the body");
    plan_free(p);
    fake_done(&w);
    catalog_unref(c);
}

static void test_definitions(void)
{
    struct catalog *c = fake_catalog(
        "barclamp: t\n"
        "jigs: [{name: cloud, implementation: shell, reach: outside}]\n"
        "roles:\n"
        "  - name: wipe\n"
        "    jig: cloud\n"
        "    flags: [destructive, cluster, implicit]\n"
        "    rerun: always\n"
        "    actions:\n"
        "      converge:\n"
        "        - {name: erase, params: {command: [x, 1]}, timeout: 2s, deadline: 3s, retries: "
        "4,\n"
        "           backoff: 5s, hold: node, takes_down: true, survives_reboot: true}\n"
        "        - {name: again, repeat: safe, type: test}\n"
        "  - {name: quiet}\n");
    struct fake_world w;
    fake_init(&w, c, 2);
    struct plan *p = bind(c, &w, "wipe@1 wipe@2 quiet@1");
    const struct plan_def *d = &p->defs[0];
    is_int(p->n_defs, 3, "a definition for each task of a role");
    is_text(d->name.s, "erase", "name");
    is_text(d->role.s, "wipe", "role");
    uint32_t jig = 0;
    bool active;
    fake_jig(&w, str_of("cloud"), &jig, &active);
    is_int(d->jig, jig, "jig");
    is_int(d->repeat, REPEAT_ONCE, "destructive: once");
    is_int(d->hold, HOLD_NODE, "hold");
    is_int(d->flags, DEF_F_OUTSIDE | DEF_F_TAKES_DOWN | DEF_F_SURVIVES_REBOOT, "flags");
    is_int(d->retries, 4, "retries");
    is_int(d->timeout_ms, 2000, "timeout");
    is_int(d->deadline_ms, 3000, "deadline");
    is_int(d->backoff_ms, 5000, "back-off");
    is_text(d->body.s, "{\"type\":\"shell\",\"params\":{\"command\":[\"x\",1]}}", "body");
    is_int(p->defs[1].repeat, REPEAT_SAFE, "unless the task says otherwise");
    is_text(p->defs[1].body.s, "{\"type\":\"test\",\"params\":{}}", "another jig's type");
    is_int(p->defs[1].flags, DEF_F_CHAINS, "which reaches the node");
    is_text(p->defs[2].name.s, "noop", "a role without tasks has one");
    is_int(p->noderoles[0].flags,
           NODEROLE_F_RERUN_ALWAYS | NODEROLE_F_DESTRUCTIVE | NODEROLE_F_CLUSTER |
               NODEROLE_F_IMPLICIT,
           "flags of a noderole");
    is_int(p->noderoles[1].flags, 0, "or none");
    is_int(p->catalog, 1, "the generation");
    uint64_t digests[3] = {p->defs[0].digest, p->defs[1].digest, p->defs[2].digest};
    ok(digests[0] != digests[1] && digests[1] != digests[2], "digests differ");
    plan_free(p);
    p = bind(c, &w, "quiet@1");
    is_int(p->defs[0].digest, digests[2], "and do not depend on the plan");
    plan_free(p);
    fake_done(&w);
    catalog_unref(c);
}

/* The body of the only task of a role that says this of it, and its digest. */
static uint64_t body_of(const char *says, const char *body)
{
    SCOPED_BUF(text);
    struct fake_world w;
    buf_printf(&text,
               "barclamp: t\nroles:\n  - name: r\n    jig: shell\n    actions:\n"
               "      converge:\n        - {name: a, params: {script: x}%s}\n",
               says);
    struct catalog *c = fake_catalog(text.data);
    fake_init(&w, c, 1);
    struct plan *p = bind(c, &w, "r@1");
    uint64_t digest = p->defs[0].digest;
    is_text(p->defs[0].body.s, body, "%s", *says ? says : "no tests");
    plan_free(p);
    fake_done(&w);
    catalog_unref(c);
    return digest;
}

static void test_tests(void)
{
    static const char untested[] =
        "{\"backoff_ms\":1000,\"deadline_ms\":86400000,\"flags\":0,\"hold\":\"nothing\","
        "\"jig\":\"shell\",\"name\":\"a\",\"params\":{\"script\":\"x\"},\"repeat\":\"safe\","
        "\"retries\":0,\"role\":\"r\",\"timeout_ms\":3600000,\"type\":\"shell\"}";
    uint64_t none = body_of("", "{\"type\":\"shell\",\"params\":{\"script\":\"x\"}}");
    uint64_t null = body_of(", test_pre: null",
                            "{\"type\":\"shell\",\"params\":{\"script\":\"x\"}}");
    uint64_t pre = body_of(", test_pre: a b", "{\"type\":\"shell\",\"params\":{\"script\":\"x\"},"
                                              "\"tests\":{\"pre\":{\"cmd\":\"a b\"}}}");
    uint64_t post = body_of(", test_post: {cmd: a b}",
                            "{\"type\":\"shell\",\"params\":{\"script\":\"x\"},"
                            "\"tests\":{\"post\":{\"cmd\":\"a b\"}}}");
    uint64_t both = body_of(", test_pre: {cmd: a b, timeout: 2s, retries: 3}, test_post: c",
                            "{\"type\":\"shell\",\"params\":{\"script\":\"x\"},"
                            "\"tests\":{\"pre\":{\"cmd\":\"a b\",\"timeout_ms\":2000,"
                            "\"retries\":3},\"post\":{\"cmd\":\"c\"}}}");
    uint64_t same = body_of(
        ", test_pre: {cmd: a b, timeout: 2s, retries: 3, interval: 1s}, test_post: c",
        "{\"type\":\"shell\",\"params\":{\"script\":\"x\"},"
        "\"tests\":{\"pre\":{\"cmd\":\"a b\",\"timeout_ms\":2000,"
        "\"retries\":3},\"post\":{\"cmd\":\"c\"}}}");
    uint64_t spaced = body_of(", test_pre: {cmd: a b, retries: 3, interval: 0s}",
                              "{\"type\":\"shell\",\"params\":{\"script\":\"x\"},"
                              "\"tests\":{\"pre\":{\"cmd\":\"a b\",\"retries\":3,"
                              "\"interval_ms\":0}}}");
    is_int(same, both, "a second between tries is what is meant anyway");
    ok(spaced != pre, "none is something else");
    is_int(none, null, "null is no test");
    is_int(none, digest_64(untested, sizeof untested - 1), "a task without tests is what it was");
    ok(none != pre && pre != post && post != both && both != none, "with others it is another one");
}

int main(void)
{
    test_order();
    test_strategies();
    test_service();
    test_definitions();
    test_tests();
    return tap_done();
}
