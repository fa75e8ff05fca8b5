/* test_resources.c - resources of plugins: contents in parts, versions, what tasks are told */
/* SPDX-License-Identifier: Apache-2.0 */
#include <sys/stat.h>
#include <time.h>
#include <utime.h>

#include "base/base64.h"
#include "server/resources.h"
#include "server/server_rig.h"

static const char descriptor[] =
    "plugin: tool\ntype: automator\nversion: '1'\nprotocol: 1\nexecutable: x\n"
    "actions: {install: {}}\n"
    "types:\n"
    "  tool: {resources: {images: {format: archive}, keys: {format: file, permissions: '0400'}}}\n"
    "  other: {}\n";

#define CATALOG                                                                                    \
    "barclamp: t\n"                                                                                \
    "roles:\n"                                                                                     \
    "  - {name: uses, jig: plugin, actions: {converge: [{name: install, params: {type: "           \
    "tool}}]}}\n"                                                                                  \
    "  - {name: not, jig: plugin, actions: {converge: [{name: install, params: {type: "            \
    "other}}]}}\n"

static char resources_seen[2048];
static struct buf part_seen;
static bool missing_seen;
static char text_seen[512];

static void on_message(struct rig *g, const struct taskmsg *m)
{
    (void)g;
    if (m->kind == TASKMSG_TASK)
        snprintf(resources_seen, sizeof resources_seen, "%.*s", (int)m->resources.n,
                 m->resources.s);
    if (m->kind != TASKMSG_PART)
        return;
    buf_clear(&part_seen);
    missing_seen = m->missing;
    snprintf(text_seen, sizeof text_seen, "%.*s", (int)m->text.n, m->text.s);
    ok(base64_read(&part_seen, m->content), "a part is base64");
}

static void worker_here(struct rig *g)
{
    struct str jigs[] = {str_of("plugin")};
    rig_send(g, &(struct taskmsg){
                    .kind = TASKMSG_HELLO,
                    .worker = str_of("w1"),
                    .capacity = 8,
                    .jigs = jigs,
                    .n_jigs = 1,
                    .plugins = str_of("[{\"name\":\"own\",\"type\":\"power\",\"version\":\"3\","
                                      "\"serves\":[]},{\"name\":\"tool\",\"type\":\"automator\","
                                      "\"version\":\"2\",\"serves\":[\"tool\"]}]")});
}

static const char *digest_text(struct rig *g, const char *content)
{
    struct digest d = digest_of(content, strlen(content));
    char hex[DIGEST_HEX];
    digest_hex(&d, hex);
    return arena_strdup(&g->mem, hex);
}

/* A part of a content; what the operation answers. */
static int send_part(struct rig *g, const char *content, size_t from, size_t n, const char *digest)
{
    SCOPED_BUF(b);
    base64_write(&b, (struct str){content + from, n});
    return rig_call(g, server_content_put,
                    (struct rig_ask){.id = digest,
                                     .body = arena_printf(
                                         &g->mem, "{'size': %zu, 'offset': %zu, 'content': '%s'}",
                                         strlen(content), from, buf_str(&b).s)});
}

/* A version of it; its id. */
static uint32_t upload(struct rig *g, const char *kind, const char *name, const char *content)
{
    const char *digest = digest_text(g, content);
    is_int(send_part(g, content, 0, strlen(content), digest), 0, "%s is uploaded", content);
    rig_do(g, server_resource_create, "Resource",
           (struct rig_ask){
               .body = arena_printf(&g->mem,
                                    "{'type': 'tool', 'kind': '%s', 'name': '%s', 'digest': '%s'}",
                                    kind, name, digest)});
    return (uint32_t)rig_int(g, "id");
}

static const char *file_of(struct rig *g, const char *sub, const char *digest)
{
    return arena_printf(&g->mem, "%s/resources/%s%s", g->dir, sub, digest);
}

static void test_parts(struct rig *g)
{
    const char *content = "one two three", *digest = digest_text(g, content);
    struct stat st;
    rig_refuse(g, server_content_get, ERR_NOT_FOUND, "nothing of content",
               (struct rig_ask){.id = digest});
    rig_refuse(g, server_content_get, ERR_NOT_FOUND, "is not a digest",
               (struct rig_ask){.id = "../../../etc/passwd"});
    is_int(send_part(g, content, 0, 4, digest), 0, "a first part");
    ok(rig_shape(g, "Content", g->reply.body) && rig_int(g, "received") == 4, "is taken");
    is_int(send_part(g, content, 8, 5, digest), -ERR_CONFLICT, "one that is not behind it is not");
    has_text(g->err.text, "4 bytes are here, not 8", "which is told");
    rig_refuse(g, server_resource_create, ERR_REFUSED, "not all of it",
               (struct rig_ask){.body = arena_printf(&g->mem,
                                                     "{'type': 'tool', 'kind': 'keys', "
                                                     "'name': 'k', 'digest': '%s'}",
                                                     digest)});
    rig_restart(g);
    rig_do(g, server_content_get, "Content", (struct rig_ask){.id = digest});
    is_int(rig_int(g, "received"), 4, "after a restart it is still there");
    is_int(send_part(g, content, 4, 4, digest), 0, "and the upload goes on");
    is_int(send_part(g, content, 0, 4, digest), -ERR_CONFLICT, "not from the beginning");
    is_int(send_part(g, content, 8, 5, digest), 0, "to its end");
    ok(value_as_bool(rig_at(g, "complete"), false), "then it is complete");
    ok(stat(file_of(g, "", digest), &st) == 0 && (st.st_mode & 0777) == 0600, "its owner's only");
    ok(stat(file_of(g, "incoming/", digest), &st) < 0, "and nothing else is left");
    is_int(send_part(g, content, 0, 4, digest), 0, "a part of what is complete");
    ok(value_as_bool(rig_at(g, "complete"), false), "changes nothing");
}

static void test_wrong(struct rig *g)
{
    const char *digest = digest_text(g, "what was meant");
    struct stat st;
    is_int(send_part(g, "what has come", 0, 13, digest), -ERR_REFUSED, "another content");
    has_text(g->err.text, "not ", "is refused");
    ok(stat(file_of(g, "incoming/", digest), &st) < 0 && stat(file_of(g, "", digest), &st) < 0,
       "and goes");
    rig_refuse(g, server_content_put, ERR_TOO_LARGE, "resource_limit",
               (struct rig_ask){.id = digest,
                                .body = "{'size': 999999999999, 'offset': 0, 'content': ''}"});
    rig_refuse(
        g, server_content_put, ERR_CONFLICT, "more than the 1 bytes",
        (struct rig_ask){.id = digest, .body = "{'size': 1, 'offset': 0, 'content': 'YWJj'}"});
    rig_refuse(g, server_content_put, ERR_INVALID, "not base64",
               (struct rig_ask){.id = digest, .body = "{'size': 1, 'offset': 0, 'content': 'Y!'}"});
    rig_refuse(g, server_resource_create, ERR_UNKNOWN_NAME, "did you mean keys",
               (struct rig_ask){.body = "{'type': 'tool', 'kind': 'key', 'name': 'k', "
                                        "'digest': 'x'}"});
    rig_refuse(g, server_resource_create, ERR_UNKNOWN_NAME, "no plugin serves type nobody",
               (struct rig_ask){.body = "{'type': 'nobody', 'kind': 'key', 'name': 'k', "
                                        "'digest': 'x'}"});
    rig_refuse(g, server_resource_create, ERR_INVALID, "is not a name",
               (struct rig_ask){.body = "{'type': 'tool', 'kind': 'keys', 'name': 'K/..', "
                                        "'digest': 'x'}"});
}

static const char *state_of(struct rig *g, uint32_t id)
{
    if (rig_call(g, server_resource_get, (struct rig_ask){.id = rig_id(g, id)}) < 0)
        return "gone";
    return rig_text(g, "state");
}

static void test_versions(struct rig *g)
{
    uint32_t one = upload(g, "images", "debian", "debian 1"),
             two = upload(g, "images", "debian", "debian 2");
    is_int(rig_int(g, "version"), 2, "versions are counted");
    is_int(upload(g, "images", "debian", "debian 2"), two, "the same again is the same version");
    rig_list(g, server_resource_list, "Resource", (struct rig_ask){.query = "{'name': 'debian'}"},
             2);
    rig_list(g, server_resource_list, "Resource", (struct rig_ask){.query = "{'kind': 'keys'}"}, 0);
    rig_do(g, server_resource_stage, "Resource", (struct rig_ask){.id = rig_id(g, one)});
    is_text(rig_text(g, "state"), "staged", "one is staged");
    rig_do(g, server_resource_sync, "ResourceSync", (struct rig_ask){0});
    is_int(rig_int(g, "activated"), 1, "and becomes active");
    rig_do(g, server_resource_stage, "Resource", (struct rig_ask){.id = rig_id(g, two)});
    is_text(state_of(g, one), "recalled", "staging another recalls it");
    g->if_match = "*";
    rig_refuse(g, server_resource_delete, ERR_CONFLICT, "is recalled",
               (struct rig_ask){.id = rig_id(g, one)});
    rig_settle(g);
    rig_restart(g);
    is_text(state_of(g, two), "staged", "states are kept");
    g->who.tenant = 2;
    rig_refuse(g, server_resource_stage, ERR_NOT_FOUND, "no resource",
               (struct rig_ask){.id = rig_id(g, two)});
    rig_list(g, server_resource_list, "Resource", (struct rig_ask){0}, 0);
    rig_do(g, server_resource_sync, "ResourceSync", (struct rig_ask){0});
    is_int(rig_int(g, "activated"), 0, "another tenant sees and syncs nothing of it");
    g->who.tenant = 1;
}

static void test_all_or_nothing(struct rig *g)
{
    uint32_t key = upload(g, "keys", "root", "a key");
    const char *content = file_of(g, "", digest_text(g, "a key"));
    char *aside = arena_printf(&g->mem, "%s.aside", content);
    rig_do(g, server_resource_stage, "Resource", (struct rig_ask){.id = rig_id(g, key)});
    is_int(rename(content, aside), 0, "a content is taken away");
    rig_refuse(g, server_resource_sync, ERR_CONFLICT, "is not on disk", (struct rig_ask){0});
    rig_list(g, server_resource_list, "Resource", (struct rig_ask){.query = "{'state': 'staged'}"},
             2);
    rig_list(g, server_resource_list, "Resource",
             (struct rig_ask){.query = "{'state': 'recalled'}"}, 1);
    is_int(rename(aside, content), 0, "and comes back");
    rig_do(g, server_resource_sync, "ResourceSync", (struct rig_ask){0});
    is_int(rig_int(g, "activated"), 2, "all that are staged become active");
    is_int(rig_int(g, "deactivated"), 1, "and what was recalled inactive");
}

static void want(struct rig *g, const char *digest, uint64_t offset)
{
    rig_send(g, &(struct taskmsg){.kind = TASKMSG_WANT,
                                  .task = 1,
                                  .attempt = 1,
                                  .blob = str_of(digest),
                                  .offset = offset});
}

static void test_tasks(struct rig *g)
{
    const char *digest = digest_text(g, "debian 2");
    worker_here(g);
    rig_catalog_of(g, CATALOG);
    worker_here(g);
    rig_node(g, "n1", "");
    rig_bind(g, "not", "n1");
    rig_settle(g);
    is_text(resources_seen, "", "a task of another type gets nothing");
    rig_node(g, "n2", "");
    rig_bind(g, "uses", "n2");
    rig_settle(g);
    has_text(resources_seen, digest, "a task is told what is active");
    has_text(resources_seen, "\"kind\":\"keys\",\"name\":\"root\",\"version\":1", "by name");
    has_text(resources_seen, "\"archive\":false,\"mode\":256", "and as what it is wanted");
    ok(!strstr(resources_seen, digest_text(g, "debian 1")), "and not what is not");
    want(g, digest, 0);
    is_text(part_seen.data, "debian 2", "its content is to be had");
    want(g, digest, 7);
    is_text(part_seen.data, "2", "from anywhere");
    want(g, digest, 8);
    ok(!missing_seen && part_seen.len == 0, "up to its end");
    want(g, "../../admin.token", 0);
    ok(missing_seen && part_seen.len == 0, "nothing else is");
    unlink(file_of(g, "", digest));
    want(g, digest, 0);
    ok(missing_seen, "one that was removed from disk is missing");
    has_text(text_seen, "tool/images debian version 2 is not on the server's disk", "by its name");
}

static void test_holders(struct rig *g)
{
    rig_list(g, server_worker_list, "Worker", (struct rig_ask){0}, 1);
    is_text(rig_text(g, "items.0.plugins.1.name"), "tool", "a worker tells its plugins");
    rig_list(g, server_plugin_list, "Plugin", (struct rig_ask){0}, 2);
    is_text(rig_text(g, "items.0.workers.0.name"), "embedded", "a plugin, who has it");
    is_text(rig_text(g, "items.0.workers.0.version"), "2", "in which version");
    is_text(rig_text(g, "items.0.serves.0.resources.0.format"), "archive", "and its resources");
    is_text(rig_text(g, "items.1.name"), "own", "one that only a worker has");
    has_text(rig_text(g, "items.1.fault"), "worker embedded has it", "is told as such");
}

static void later_is_gone(struct rig *g, const char *digest, bool gone, const char *label)
{
    struct stat st;
    rig_settle(g);
    resources_beat(g->server);
    ok((stat(file_of(g, "", digest), &st) < 0) == gone, "%s", label);
}

static void test_deleted(struct rig *g)
{
    const char *digest = digest_text(g, "shared");
    uint32_t a = upload(g, "keys", "a", "shared"), b = upload(g, "keys", "b", "shared");
    g->if_match = "*";
    rig_do(g, server_resource_delete, NULL, (struct rig_ask){.id = rig_id(g, a)});
    later_is_gone(g, digest, false, "a content that another version has stays");
    g->if_match = "*";
    rig_do(g, server_resource_delete, NULL, (struct rig_ask){.id = rig_id(g, b)});
    resources_beat(g->server);
    later_is_gone(g, digest, true, "with the last version it goes");
    const char *left = digest_text(g, "abandoned");
    is_int(send_part(g, "abandoned", 0, 9, left), 0, "a content without a version");
    later_is_gone(g, left, false, "is kept for a while");
    struct utimbuf old = {time(NULL) - 2 * 3600, time(NULL) - 2 * 3600};
    utime(file_of(g, "", left), &old);
    rig_restart(g);
    later_is_gone(g, left, true, "and then collected");
    later_is_gone(g, digest_text(g, "a key"), false, "those that are in use are not");
}

int main(void)
{
    struct rig g;
    struct err e;
    char *work = workdir_new("plugins"), *dir = fs_join(work, "tool");
    char *file = fs_join(dir, PLUGIN_FILE);
    if (fs_mkdirs(dir, 0755, &e) < 0 ||
        fs_write_atomic(file, descriptor, sizeof descriptor - 1, 0644, &e) < 0)
        return 1;
    rig_open(&g);
    g.opts.plugin_path = work;
    g.message = on_message;
    rig_restart(&g);
    test_parts(&g);
    test_wrong(&g);
    test_versions(&g);
    test_all_or_nothing(&g);
    test_tasks(&g);
    test_holders(&g);
    test_deleted(&g);
    rig_close(&g);
    buf_done(&part_seen);
    fs_remove_tree(work, &e);
    free(file);
    free(dir);
    free(work);
    return tap_done();
}
