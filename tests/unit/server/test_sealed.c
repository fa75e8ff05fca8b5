/* test_sealed.c - sealed values and their key: no start without it, none made in its place, a way
 * out
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "server/providers.h"
#include "server/sealed.h"
#include "server/server_rig.h"

static const char descriptor[] =
    "plugin: tool\ntype: automator\nversion: '1'\nprotocol: 1\nexecutable: x\n"
    "actions: {install: {}}\n"
    "types:\n"
    "  tool:\n"
    "    fields: {admin: {url: {}, password: {sensitive: true}}}\n";

static const char *join(struct rig *g, const char *a, const char *b)
{
    return arena_printf(&g->mem, "%s/%s", a, b);
}

static int try_start(struct rig *g, struct err *e)
{
    struct loop *loop = loop_new();
    struct queue *queue = queue_new_embedded();
    struct server_options o = {.loop = loop, .queue = queue, .opts = &g->opts};
    struct server *s = NULL;
    int rc = server_new(&o, &s, e);
    if (rc >= 0)
        server_free(s);
    queue_free(queue);
    loop_free(loop);
    return rc;
}

static void test_key(struct rig *g)
{
    const char *key = join(g, g->dir, "secret.key"), *aside = join(g, g->dir, "key.aside");
    SCOPED_BUF(lines);
    struct err e = {0};
    struct store *s = NULL;
    is_int(rename(key, aside), 0, "the key is gone");
    rig_refuse(g, server_provider_put, ERR_NOT_FOUND, "secret.key",
               (struct rig_ask){.id = "lab2",
                                .body = "{'type': 'tool', 'fields': {'password': 'other-4711'}}"});
    ok(!fs_exists(key), "while the server runs no other is made");
    rig_end(g);
    is_int(try_start(g, &e), -ERR_REFUSED, "without it no server starts");
    has_text(e.text, "values of 1 provider are sealed, and secret.key is missing", "which says so");
    has_text(e.hint, "--forget-secrets", "with the way out");
    ok(!fs_exists(key), "nor makes another");
    fs_write_atomic(key, "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff\n", 65,
                    0600, &e);
    is_int(try_start(g, &e), -ERR_REFUSED, "nor with another");
    has_text(e.text, "not the one that they were sealed with", "which says so");
    fs_write_atomic(key, "no key\n", 7, 0600, &e);
    is_int(try_start(g, &e), -ERR_REFUSED, "nor with none that is one");
    has_text(e.text, "damaged", "which says so");
    is_int(rename(aside, key), 0, "with its own");
    is_int(try_start(g, &e), 0, "it does");
    is_int(unlink(key), 0, "the key is lost for good");
    const char *db = join(g, g->dir, "anneal.db");
    is_int(store_open(&(struct store_options){.path = db}, &s, &e), 0, "offline");
    is_int(sealed_forget(s, g->dir, &lines, &e), 0, "what it sealed is forgotten");
    is_text(lines.data, "provider lab: [\"password\"]\n", "by name");
    buf_clear(&lines);
    is_int(sealed_forget(s, g->dir, &lines, &e), 0, "once");
    is_int(lines.len, 0, "is enough");
    store_close(s);
    rig_start(g);
    rig_do(g, server_provider_put, "Provider",
           (struct rig_ask){.id = "lab",
                            .body = "{'type': 'tool', 'fields': {'password': 'another-4711'}}"});
    rig_settle(g);
    ok(fs_exists(key), "the values are given again, and sealed by a new key");
    rig_restart(g);
    ok(provider_named(g->server, str_of("lab"))->secret.text, "that opens them");
}

/* One of two does not open: a row was damaged, and that is no reason to end everything. */
static void test_some(struct rig *g)
{
    const char *db = join(g, g->dir, "anneal.db");
    struct row_credential row = {.id = 1,
                                 .tenant = 1,
                                 .realm = 1,
                                 .names = str_of("[\"key\"]"),
                                 .sealed = str_of("bm90IHdoYXQgd2FzIHNlYWxlZCwgYnV0IGxvbmcgZW5vdWdo"
                                                  "IHRvIGJlIHNvbWV0aGluZw")};
    struct row_op op = {.table = ROWS_CREDENTIAL, .verb = ROW_INSERT, .row = &row};
    struct sealed_count n = {0};
    SCOPED_BUF(lines);
    struct store *s = NULL;
    struct err e = {0};
    rig_end(g);
    is_int(store_open(&(struct store_options){.path = db}, &s, &e), 0, "offline");
    is_int(store_commit(s, &op, 1, &e), 0, "a row that nobody sealed");
    is_int(sealed_check(s, g->dir, &n, &e), 0, "some that do not open are no refusal");
    ok(n.providers == 1 && n.clusters == 1 && n.shut == 1, "but counted");
    is_text(n.example, "cluster 1", "by name");
    store_close(s);
    is_int(try_start(g, &e), 0, "a server starts, and tells");
    is_int(store_open(&(struct store_options){.path = db}, &s, &e), 0, "offline again");
    is_int(sealed_forget(s, g->dir, &lines, &e), 0, "what does not open is forgotten");
    is_text(lines.data, "cluster system: [\"key\"]\n", "and nothing else");
    is_int(sealed_check(s, g->dir, &n, &e), 0, "what is left");
    ok(n.providers == 1 && n.clusters == 0 && n.shut == 0, "opens");
    store_close(s);
    rig_start(g);
}

int main(void)
{
    struct rig g;
    struct err e;
    char *plugins = workdir_new("plugins");
    rig_open(&g);
    fs_mkdirs(join(&g, plugins, "tool"), 0700, &e);
    fs_write_atomic(join(&g, plugins, "tool/plugin.yaml"), descriptor, strlen(descriptor), 0600,
                    &e);
    g.opts.plugin_path = plugins;
    rig_restart(&g);
    rig_do(&g, server_provider_put, "Provider",
           (struct rig_ask){.id = "lab",
                            .body = "{'type': 'tool', 'fields': {'url': 'u', "
                                    "'password': 'open-sesame-4711'}}"});
    rig_settle(&g);
    test_key(&g);
    test_some(&g);
    rig_close(&g);
    free(plugins);
    return tap_done();
}
