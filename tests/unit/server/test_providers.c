/* test_providers.c - providers and what clusters say in confidence; sealing
 *
 * The cluster is that of Coopr's ClusterServiceTest: admin fields region and url (sensitive), both
 * of which may be overridden; user fields keyname and key (sensitive), both required.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <sys/wait.h>

#include "server/cluster_i.h"
#include "server/providers.h"
#include "server/server_rig.h"
#include "server/vault.h"

#define CATALOG                                                                                    \
    "barclamp: t\n"                                                                                \
    "providers:\n"                                                                                 \
    "  - provider: rack\n"                                                                         \
    "    jig: plugin\n"                                                                            \
    "    actions: {create: [{name: create}], delete: [{name: delete}]}\n"                          \
    "  - provider: own\n"                                                                          \
    "    jig: noop\n"                                                                              \
    "    actions: {create: [{name: make}]}\n"                                                      \
    "    fields: {account: {by: admin}, note: {}}\n"                                               \
    "    required: [[account, note]]\n"                                                            \
    "hardware: [{hardware: one, providers: {rack: {flavor: f1, cost: 1}, own: {flavor: f, cost: "  \
    "1}}}]\n"                                                                                      \
    "images: [{image: plain, providers: {rack: {image: i1}, own: {image: i1}}}]\n"                 \
    "roles: [{name: web, jig: noop, actions: {start: [{name: up}]}}]\n"                            \
    "templates:\n"                                                                                 \
    "  - template: t\n"                                                                            \
    "    defaults: {services: [web], provider: rack, hardware: one, image: plain}\n"               \
    "    constraints: {size: {min: 1, max: 4}}\n"                                                  \
    "  - template: own\n"                                                                          \
    "    defaults: {services: [web], provider: own, hardware: one, image: plain}\n"

static const char descriptor[] =
    "plugin: rackspace\ntype: provider\nversion: '1'\nprotocol: 1\nexecutable: x\n"
    "actions: {create: {}, delete: {}}\n"
    "types:\n"
    "  rackspace:\n"
    "    fields:\n"
    "      admin: {region: {override: true}, url: {override: true, sensitive: true}, size: {}}\n"
    "      user: {keyname: {}, key: {sensitive: true}}\n"
    "    required: {user: [[keyname, key]]}\n"
    "  plain: {fields: {admin: {zone: {}}}}\n";

static char fields_seen[1024], secrets_seen[1024];

static void on_message(struct rig *g, const struct taskmsg *m)
{
    (void)g;
    if (m->kind != TASKMSG_TASK || !str_is(m->jig, "plugin"))
        return;
    snprintf(fields_seen, sizeof fields_seen, "%.*s", (int)m->fields.n, m->fields.s);
    snprintf(secrets_seen, sizeof secrets_seen, "%.*s", (int)m->secrets.n, m->secrets.s);
}

static void worker_here(struct rig *g)
{
    struct str jigs[] = {str_of("noop"), str_of("plugin")};
    rig_send(g, &(struct taskmsg){.kind = TASKMSG_HELLO,
                                  .worker = str_of("w1"),
                                  .capacity = 8,
                                  .jigs = jigs,
                                  .n_jigs = 2});
}

/* Everything that is sent succeeds, until nothing more is. */
static void run(struct rig *g, size_t *from)
{
    rig_settle(g);
    for (; *from < g->sent.n; (*from)++)
        rig_result(g, g->sent.at[*from].task, OUTCOME_OK, 0, "", 0);
}

static bool anywhere(const struct rig *g, const char *secret)
{
    SCOPED_BUF(command);
    buf_printf(&command, "grep -rqa -- '%s' '%s'", secret, g->dir);
    const char *argv[] = {"/bin/sh", "-c", command.data, NULL};
    pid_t pid = fork();
    if (pid == 0) {
        execv(argv[0], (char *const *)(uintptr_t)argv);
        _exit(127);
    }
    int status = -1;
    waitpid(pid, &status, 0);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static void test_vault(const char *dir)
{
    SCOPED_BUF(sealed);
    SCOPED_BUF(again);
    SCOPED_BUF(text);
    struct err e = {0};
    struct str secret = {"correct\0horse", 13};
    is_int(vault_seal(dir, false, "provider 1", secret, &sealed, &e), -ERR_NOT_FOUND,
           "a key is not made where there was one");
    is_int(vault_seal(dir, true, "provider 1", secret, &sealed, &e), 0, "a text is sealed");
    is_int(vault_seal(dir, false, "provider 1", secret, &again, &e), 0, "and again");
    ok(strcmp(sealed.data, again.data) != 0, "which looks different each time");
    is_int(vault_open(dir, "provider 1", buf_str(&sealed), &text, &e), 0, "it opens");
    ok(str_eq(buf_str(&text), secret), "to what it was");
    is_int(vault_open(dir, "provider 2", buf_str(&sealed), &text, &e), -ERR_CORRUPT,
           "not for another owner");
    sealed.data[sealed.len / 2] ^= 1;
    is_int(vault_open(dir, "provider 1", buf_str(&sealed), &text, &e), -ERR_CORRUPT,
           "nor if it was changed");
    is_int(vault_open(dir, "provider 1", str_of("short"), &text, &e), -ERR_CORRUPT, "nor cut");
    is_int(vault_open("/nonexistent", "provider 1", buf_str(&again), &text, &e), -ERR_NOT_FOUND,
           "nor without the key");
    has_text(e.hint, "secret.key", "which the hint names");
}

static void test_provider(struct rig *g)
{
    g->if_match = "*";
    is_int(-rig_call(g, server_provider_put,
                     (struct rig_ask){.id = "rack", .body = "{'type': 'cloud'}"}),
           ERR_UNKNOWN_NAME, "a type that nobody serves");
    g->if_match = "*";
    is_int(-rig_call(g, server_provider_put,
                     (struct rig_ask){.id = "rack",
                                      .body = "{'type': 'rackspace', 'fields': {'keyname': 'x'}}"}),
           ERR_INVALID, "a user's field");
    is_text(g->err.at, "/fields/keyname", "is refused by name");
    g->if_match = "*";
    is_int(-rig_call(g, server_provider_put,
                     (struct rig_ask){.id = "rack",
                                      .body = "{'type': 'rackspace', 'fields': {'regoin': 'x'}}"}),
           ERR_INVALID, "a field that is not there");
    has_text(g->err.hint, "region", "and the nearest is named");
    g->if_match = "*";
    rig_do(g, server_provider_put, "Provider",
           (struct rig_ask){.id = "rack",
                            .body = "{'type': 'rackspace', 'fields': {'region': 'iad', "
                                    "'url': 'http://abc.com/api'}}"});
    is_text(rig_text(g, "fields.url"), "***", "a sensitive value is masked");
    is_text(rig_text(g, "sensitive.0"), "url", "and listed");
    g->if_match = "7";
    is_int(-rig_call(g, server_provider_put, (struct rig_ask){.id = "rack", .body = "{}"}),
           ERR_STALE, "a change of another revision is refused");
    rig_do(g, server_provider_get, "Provider", (struct rig_ask){.id = "rack"});
    is_text(rig_text(g, "fields.region"), "iad", "what is plain is shown");
}

static void test_refusals(struct rig *g)
{
    is_int(-rig_call(g, server_cluster_create,
                     (struct rig_ask){.body = "{'name': 'c', 'template': 't'}"}),
           ERR_INVALID, "a cluster that says nothing to its provider");
    has_text(g->err.text, "provider rack: type rackspace needs keyname and key", "is told what");
    is_int(-rig_call(g, server_cluster_create,
                     (struct rig_ask){.body = "{'name': 'c', 'template': 't', 'fields': "
                                              "{'keyname': 'dev', 'key': 'abc'}}"}),
           ERR_INVALID, "a secret that is too short");
    is_text(g->err.at, "/fields/key", "is refused by name");
    is_int(-rig_call(g, server_cluster_create,
                     (struct rig_ask){.body = "{'name': 'c', 'template': 't', 'fields': {'keyname':"
                                              " 'dev', 'key': 'keycontents', 'size': 7}}"}),
           ERR_INVALID, "a field that is an administrator's");
    is_text(g->err.at, "/fields/size", "is refused by name");
    has_text(g->err.text, "\"size\" of provider rack is set by an administrator", "and says whose");
    has_text(g->err.hint, "`anneal provider set rack --set size=...`", "with where it is said");
    is_int((int64_t)clusters_count(g->server), 0, "and nothing was made");
}

/* What a catalog's own provider lacks is told with who can say it. */
static void test_asked_of(struct rig *g)
{
    is_int(-rig_call(g, server_cluster_create,
                     (struct rig_ask){.body = "{'name': 'c', 'template': 'own'}"}),
           ERR_INVALID, "a provider without a plugin that lacks something");
    has_text(g->err.text, "needs account and note", "which is told");
    has_text(g->err.hint, "with --field", "one of it is said in a request");
    has_text(g->err.hint,
             "account is set by an administrator, under `config` of provider own in the catalog",
             "the other is not");
    is_int(-rig_call(g, server_cluster_create,
                     (struct rig_ask){.body = "{'name': 'c', 'template': 'own', 'fields': "
                                              "{'note': 'x'}}"}),
           ERR_INVALID, "with what can be said");
    ok(!strstr(g->err.hint, "--field"), "nothing that does not help is proposed: %s", g->err.hint);
    is_int(-rig_call(g, server_cluster_create,
                     (struct rig_ask){.body = "{'name': 'c', 'template': 'own', 'fields': "
                                              "{'account': 'a', 'note': 'x'}}"}),
           ERR_INVALID, "said in a request all the same");
    is_text(g->err.at, "/fields/account", "it is refused by name");
    has_text(g->err.hint, "under `config` of provider own in the catalog", "with where it is said");
}

static void test_credentials(struct rig *g, size_t *from)
{
    rig_do(g, server_cluster_create, "ClusterResult",
           (struct rig_ask){.body = "{'name': 'c', 'template': 't', 'nodes': 1, 'fields': "
                                    "{'keyname': 'dev', 'key': 'keycontents', 'region': 'dfw', "
                                    "'url': 'internal.net/api', 'bogus': 'x'}}"});
    uint32_t id = inventory_deployment_find(&g->server->inv, "c");
    run(g, from);
    is_text(fields_seen,
            "{\"fields\":{\"keyname\":\"dev\",\"region\":\"dfw\"},\"provider\":\"rack\","
            "\"type\":\"rackspace\"}",
            "a task is told what the cluster said over what the provider said");
    is_text(secrets_seen, "{\"key\":\"keycontents\",\"url\":\"internal.net/api\"}",
            "and what it said in confidence");
    ok(credential_get(g->server, id) != NULL, "which is kept apart");
    rig_restart(g);
    *from = 0;
    worker_here(g);
    rig_do(g, server_cluster_operate, "ClusterResult",
           (struct rig_ask){.id = "c", .id2 = "expand", .body = "{'by': 1}"});
    run(g, from);
    is_text(secrets_seen, "{\"key\":\"keycontents\",\"url\":\"internal.net/api\"}",
            "after a restart too, without being said again");
    ok(!anywhere(g, "keycontents") && !anywhere(g, "internal.net") && !anywhere(g, "abc.com"),
       "no file of the server has any of it in clear");
    ok(anywhere(g, "\"region\":\"dfw\"") || anywhere(g, "dfw"), "(what is plain is found there)");
}

static void test_wiped(struct rig *g, size_t *from)
{
    uint32_t id = inventory_deployment_find(&g->server->inv, "c");
    rig_do(g, server_cluster_operate, "ClusterResult", (struct rig_ask){.id = "c", .id2 = "stop"});
    run(g, from);
    cluster_beat(g->server);
    ok(credential_get(g->server, id) != NULL, "no other operation wipes it");
    credential_wipe(g->server, id);
    is_int(-rig_call(g, server_cluster_operate,
                     (struct rig_ask){.id = "c", .id2 = "configure", .body = "{'config': {}}"}),
           ERR_INVALID, "a cluster of which nothing is stored any more");
    has_text(g->err.text, "needs key", "is refused, with what is missing");
    rig_do(g, server_cluster_operate, "ClusterResult",
           (struct rig_ask){.id = "c", .id2 = "delete", .body = "{'fields': {'key': 'again1'}}"});
    ok(credential_get(g->server, id) != NULL, "unless it is said again");
    run(g, from);
    is_text(secrets_seen, "{\"key\":\"again1\",\"url\":\"http://abc.com/api\"}", "and then used");
    cluster_beat(g->server);
    rig_settle(g);
    ok(credential_get(g->server, id) == NULL, "the end of the delete operation wipes it");
}

/* What one type was told is nothing to another. */
static void test_retyped(struct rig *g)
{
    rig_do(g, server_provider_get, "Provider", (struct rig_ask){.id = "rack"});
    g->if_match = arena_printf(&g->mem, "%llu", (unsigned long long)g->reply.rev);
    rig_do(g, server_provider_put, "Provider",
           (struct rig_ask){.id = "rack", .body = "{'type': 'plain', 'fields': {'zone': 'z'}}"});
    ok(!rig_at(g, "fields.region") && !rig_at(g, "fields.url"), "a provider of another type");
    is_text(rig_text(g, "fields.zone"), "z", "begins anew");
    is_int(rig_at(g, "sensitive")->n, 0, "without secrets of the old one");
}

static void test_removed(struct rig *g)
{
    rig_do(g, server_provider_get, "Provider", (struct rig_ask){.id = "rack"});
    g->if_match = arena_printf(&g->mem, "%llu", (unsigned long long)g->reply.rev);
    rig_do(g, server_provider_delete, NULL, (struct rig_ask){.id = "rack"});
    is_int(-rig_call(g, server_provider_get, (struct rig_ask){.id = "rack"}), ERR_NOT_FOUND,
           "a provider is forgotten");
    rig_restart(g);
    is_int(-rig_call(g, server_provider_get, (struct rig_ask){.id = "rack"}), ERR_NOT_FOUND,
           "for good");
    rig_do(g, server_plugin_get, "Plugin", (struct rig_ask){.id = "rackspace"});
    is_int(-rig_call(g, server_plugin_get, (struct rig_ask){.id = "rackspac"}), ERR_NOT_FOUND,
           "a plugin that is not there");
    has_text(g->err.hint, "rackspace", "with the nearest");
}

int main(void)
{
    struct rig g;
    struct err e;
    size_t from = 0;
    char *work = workdir_new("plugins"), *dir = fs_join(work, "rackspace");
    char *file = fs_join(dir, PLUGIN_FILE);
    if (fs_mkdirs(dir, 0755, &e) < 0 ||
        fs_write_atomic(file, descriptor, sizeof descriptor - 1, 0644, &e) < 0)
        return 1;
    test_vault(dir);
    rig_open(&g);
    g.opts.plugin_path = work;
    g.message = on_message;
    rig_restart(&g);
    worker_here(&g);
    rig_catalog_of(&g, CATALOG);
    worker_here(&g); /* once more: there are jigs now that it has */
    test_provider(&g);
    test_refusals(&g);
    test_asked_of(&g);
    test_credentials(&g, &from);
    test_wiped(&g, &from);
    test_retyped(&g);
    test_removed(&g);
    rig_close(&g);
    fs_remove_tree(work, &e);
    free(file);
    free(dir);
    free(work);
    return tap_done();
}
