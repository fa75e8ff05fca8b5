/* test_catalog.c - a loaded generation: names, look-ups, sharing */
/* SPDX-License-Identifier: Apache-2.0 */
#include "tap.h"

#include <pthread.h>

#include "catalog_files.h"

static const char web[] = "barclamp: web\n"
                          "version: \"2\"\n"
                          "jigs: [{name: local, implementation: shell}]\n"
                          "pools: {license: 2}\n"
                          "roles:\n"
                          "  - {name: base}\n"
                          "  - {name: db, requires: [base], provides: [sql, kv]}\n"
                          "  - {name: other-db, provides: [sql]}\n"
                          "  - name: app\n"
                          "    jig: local\n"
                          "    requires: [sql]\n"
                          "    actions: {stop: [halt], converge: [{name: go, params: {x: 1}}]}\n"
                          "tasks: [{name: halt, pools: [license]}]\n";

static struct catalog *load(const char *text, uint32_t number)
{
    struct catalog_file file = {str_of("web/barclamp.yaml"), str_of(text)};
    struct catalog_source source = {&file, 1};
    struct catalog_report report = {0};
    struct catalog *c = NULL;
    struct err e;
    is_int(catalog_load(&source, NULL, number, &report, &c, &e), 0, "loaded");
    catalog_report_done(&report);
    return c;
}

static void test_names(void)
{
    is_text(role_flag_name(ROLE_BIT_DISCOVERY), "discovery", "the first flag");
    is_text(role_flag_name(ROLE_BIT_LIBRARY), "library", "the last");
    is_text(role_flag_name(ROLE_BIT_COUNT), "?", "none");
    is_int(ROLE_F_CLUSTER, 1u << ROLE_BIT_CLUSTER, "flags are bits");
    is_text(strategy_name(STRATEGY_ROLLING), "rolling", "a strategy");
    is_text(strategy_name(STRATEGY_COUNT), "?", "none");
    is_text(rerun_name(RERUN_ALWAYS), "always", "a rerun");
    is_text(rerun_name(RERUN_COUNT), "?", "none");
}

static void test_lookups(void)
{
    struct catalog *c = load(web, 7);
    is_int(c->number, 7, "its number");
    is_text(catalog_barclamp_get(c, str_of("web"))->version.s, "2", "a barclamp");
    ok(!catalog_barclamp_get(c, str_of("db")), "no barclamp");
    is_text(catalog_jig_get(c, str_of("local"))->implementation.s, "shell", "a jig");
    ok(catalog_jig_get(c, str_of("script"))->where.file == CATALOG_NONE, "a built-in jig");
    ok(!catalog_jig_get(c, str_of("chef")), "no jig");
    is_int(catalog_pool_get(c, str_of("license"))->size, 2, "a pool");
    ok(!catalog_pool_get(c, str_of("licens")), "no pool");
    ok(catalog_task_get(c, str_of("halt")) != NULL, "a task");
    ok(!catalog_task_get(c, str_of("go")), "a task inside a role has no name outside");
    const struct catalog_role *app = catalog_role_get(c, str_of("app"));
    is_text(app->name.s, "app", "a role");
    is_int(app->where.line, 9, "knows where it was read");
    is_text(c->files[app->where.file].s, "web/barclamp.yaml", "and in which file");
    ok(!catalog_role_get(c, str_of("sql")), "a provided name is no role");
    ok(!catalog_role_get(c, str_of("nothing")), "nor is nothing");
    const struct catalog_name *sql = &c->names[catalog_name_find(c, str_of("sql"))];
    is_int(sql->role, CATALOG_NONE, "but a name");
    is_int(sql->n_providers, 2, "with those who provide it");
    is_text(c->roles[sql->providers[0]].name.s, "db", "in order");
    is_int(c->names[catalog_name_find(c, str_of("base"))].role, 0, "a role's own name");
    is_int(catalog_name_find(c, str_of("x")), CATALOG_NONE, "no name");
    is_text(catalog_action_get(app, str_of("converge"))->name.s, "converge", "an action");
    is_int(catalog_action_get(app, str_of("converge")) - app->actions, 0, "converge is the first");
    is_int(catalog_action_get(app, str_of("stop"))->n_steps, 1, "another");
    ok(!catalog_action_get(app, str_of("start")), "no action");
    is_text(catalog_role_nearest(c, str_of("othr-db")), "other-db", "a role like it");
    ok(!catalog_role_nearest(c, str_of("zzzzzzz")), "none like it");
    catalog_unref(c);
    catalog_unref(NULL);
}

static void test_digest(void)
{
    struct files f = {0};
    struct catalog_report report = {0};
    struct catalog *a = NULL, *b = NULL, *d = NULL;
    struct err e;
    files_add(&f, "x/roles/r.yaml", "{name: r}", 9);
    files_add(&f, "x/barclamp.yaml", "barclamp: x", 11);
    files_add(&f, "x/files/any", "1", 1);
    files_add(&f, "x/roles/q.yaml", "{name: q}", 9);
    struct catalog_source source = files_source(&f);
    is_int(catalog_load(&source, NULL, 1, &report, &a, &e), 0, "one");
    is_text(a->roles[0].name.s, "q", "roles in the order of paths");
    struct catalog_file swap = f.at.at[0];
    f.at.at[0] = f.at.at[3];
    f.at.at[3] = swap;
    f.at.at[2].text = str_of("2");
    is_int(catalog_load(&source, NULL, 2, &report, &b, &e), 0, "the same, listed otherwise");
    ok(!memcmp(&a->digest, &b->digest, sizeof a->digest), "has the same digest");
    f.at.at[3].text = str_of("{name: r }");
    is_int(catalog_load(&source, NULL, 3, &report, &d, &e), 0, "another text");
    ok(memcmp(&a->digest, &d->digest, sizeof a->digest) != 0, "has another");
    catalog_unref(a);
    catalog_unref(b);
    catalog_unref(d);
    catalog_report_done(&report);
    files_done(&f);
}

static void *hold(void *arg)
{
    for (unsigned i = 0; i < 20000; i++)
        catalog_unref(catalog_ref(arg));
    catalog_unref(arg);
    return NULL;
}

static void test_sharing(void)
{
    struct catalog *c = load(web, 1);
    pthread_t threads[2];
    for (unsigned i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, hold, catalog_ref(c));
    for (unsigned i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    is_int(c->refs, 1, "references of two threads add up");
    catalog_unref(c);
}

int main(void)
{
    test_names();
    test_lookups();
    test_digest();
    test_sharing();
    return tap_done();
}
