/* test_backup.c - a server with everything in it, backed up, restored elsewhere; and what is
 * refused
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <utime.h>

#include "base/base64.h"
#include "server/backup_i.h"
#include "server/providers.h"
#include "server/resources.h"
#include "server/server_rig.h"
#include "server/vault.h"

static const char descriptor[] =
    "plugin: tool\ntype: automator\nversion: '1'\nprotocol: 1\nexecutable: x\n"
    "actions: {install: {}}\n"
    "types:\n"
    "  tool:\n"
    "    fields: {admin: {url: {}, password: {sensitive: true}}}\n"
    "    resources: {keys: {format: file}}\n";
static const char content[] = "what a task needs";

static const char *join(struct rig *g, const char *a, const char *b)
{
    return arena_printf(&g->mem, "%s/%s", a, b);
}

static const char *digest_text(struct rig *g)
{
    struct digest d = digest_of(content, strlen(content));
    char hex[DIGEST_HEX];
    digest_hex(&d, hex);
    return arena_strdup(&g->mem, hex);
}

static uint32_t upload(struct rig *g)
{
    SCOPED_BUF(b);
    base64_write(&b, str_of(content));
    rig_do(g, server_content_put, NULL,
           (struct rig_ask){.id = digest_text(g),
                            .body = arena_printf(&g->mem,
                                                 "{'size': %zu, 'offset': 0, 'content': '%s'}",
                                                 strlen(content), b.data)});
    rig_do(g, server_resource_create, "Resource",
           (struct rig_ask){.body = arena_printf(&g->mem,
                                                 "{'type': 'tool', 'kind': 'keys', 'name': "
                                                 "'root', 'digest': '%s'}",
                                                 digest_text(g))});
    return (uint32_t)rig_int(g, "id");
}

static void fill(struct rig *g)
{
    struct err e;
    rig_do(g, server_provider_put, "Provider",
           (struct rig_ask){.id = "lab",
                            .body = "{'type': 'tool', 'fields': {'url': 'u', "
                                    "'password': 'open-sesame-4711'}}"});
    (void)upload(g);
    rig_settle(g);
    const char *files[] = {"callback.key", "ca.key", "ca.pem", "server.key", "server.pem"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        fs_write_atomic(join(g, g->dir, files[i]), files[i], strlen(files[i]), 0600, &e);
    fs_mkdirs(join(g, g->dir, "logs/0"), 0700, &e);
    fs_write_atomic(join(g, g->dir, "logs/0/7.1.log"), "printed\n", 8, 0600, &e);
    fs_write_atomic(join(g, g->dir, "logs/0/stray"), "none of ours\n", 13, 0600, &e);
}

static void wait_backup(struct rig *g)
{
    struct loop_timer *limit = loop_timer_new(g->loop, rig_late, g);
    loop_timer_at(limit, loop_now_ms(g->loop) + 60000);
    while ((g->server->backup.running || g->server->check.running) && loop_timer_armed(limit)) {
        struct loop_timer *soon = loop_timer_new(g->loop, rig_stop, g);
        loop_timer_at(soon, loop_now_ms(g->loop) + 2);
        loop_run(g->loop);
        loop_timer_free(soon);
    }
    loop_timer_free(limit);
    rig_settle(g);
}

/* Makes one that must end so: "done" or "failed". */
static void back_up(struct rig *g, const char *body, const char *state)
{
    rig_do(g, server_admin_backup, "BackupResult", (struct rig_ask){.body = body});
    wait_backup(g);
    rig_do(g, server_status, "Status", (struct rig_ask){0});
    if (rig_text(g, "store.backup.error"))
        printf("# %s\n", rig_text(g, "store.backup.error"));
    is_text(rig_text(g, "store.backup.state"), state, "the backup is %s", state);
}

static const char *archive_path(struct rig *g, const char *name)
{
    return arena_printf(&g->mem, "%s/backups/%s", g->dir, name);
}

static int restore(struct rig *g, const char *name, const char *dir, struct str passphrase,
                   struct buf *lines)
{
    struct backup_from f = {.archive = name[0] == '/' ? name : archive_path(g, name),
                            .data_dir = dir,
                            .passphrase = passphrase};
    err_clear(&g->err);
    return backup_restore(&f, lines, &g->err);
}

static void same_file(struct rig *g, const char *dir, const char *name)
{
    SCOPED_BUF(a);
    SCOPED_BUF(b);
    struct stat st;
    struct err e;
    int rc = fs_read(join(g, g->dir, name), 1 << 20, &a, &e);
    rc |= fs_read(join(g, dir, name), 1 << 20, &b, &e);
    ok(rc == 0 && str_eq(buf_str(&a), buf_str(&b)), "%s is as it was", name);
    ok(stat(join(g, dir, name), &st) == 0 && (st.st_mode & 0777) == 0600, "its owner's only");
}

static uint64_t fence_of(struct rig *g, const char *dir)
{
    struct backup_sum sum = {0};
    struct err e = {0};
    int rc = backup_store_check(join(g, dir, "anneal.db"), dir, true, &sum, &e);
    if (!ok(rc == 0, "the store of %s is sound", strrchr(dir, '/')))
        printf("# %s\n", e.text);
    return sum.fence;
}

/* --- there and back --- */

static void test_round(struct rig *g)
{
    static const char *const files[] = {"secret.key", "callback.key", "ca.key",     "ca.pem",
                                        "server.key", "server.pem",   "admin.token"};
    const char *to = join(g, g->dir, "../restored"), *digest = digest_text(g);
    SCOPED_BUF(lines);
    struct stat st;
    back_up(g, "{'name': 'one'}", "done");
    ok(rig_int(g, "store.backup.journal") > 0 && rig_text(g, "store.backup.digest"),
       "status tells what is in it");
    ok(stat(archive_path(g, "one.tar"), &st) == 0 && (st.st_mode & 0777) == 0600,
       "the archive is its owner's only");
    is_int(rig_int(g, "store.backup.bytes"), st.st_size, "and as large as status says");
    ok(!fs_exists(join(g, g->dir, "backup.tmp")) && !fs_exists(archive_path(g, "one.tar.partial")),
       "nothing else is left");
    SCOPED_BUF(metrics);
    server_metrics(g->server, &metrics);
    ok(!strstr(metrics.data, "anneal_backup_timestamp_seconds 0\n"), "metrics tell when");
    is_int(restore(g, "one.tar", to, (struct str){0}, &lines), 0, "it is restored elsewhere");
    has_text(lines.data, "1 content", "which tells of contents");
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        same_file(g, to, files[i]);
    same_file(g, to, arena_printf(&g->mem, "resources/%s", digest));
    ok(!fs_exists(join(g, to, "logs")) && !fs_exists(join(g, to, ".restoring")) &&
           !fs_exists(join(g, to, "anneal.db-wal")) && !fs_exists(join(g, to, "anneal.db.lock")),
       "and there is nothing else");
    ok(fence_of(g, to) > g->server->fence, "its fence is above that of the one before");
    is_int(restore(g, "one.tar", to, (struct str){0}, &lines), -ERR_REFUSED,
           "what is there is not overwritten");
    has_text(g->err.text, "not empty", "which is told");
    ok(g->err.hint[0], "with a remedy");
}

/* A server on what was restored: sealed values open. */
static void test_serves(struct rig *g)
{
    char *was = g->dir;
    const char *to = join(g, g->dir, "../restored");
    SCOPED_ARENA(mem);
    SCOPED_BUF(text);
    rig_end(g);
    g->dir = (char *)(uintptr_t)to;
    g->opts.data_dir = to;
    rig_start(g);
    const struct provider *p = provider_named(g->server, str_of("lab"));
    ok(p && p->secret.text, "the provider is there");
    struct err e;
    int rc = p ? vault_open(to, "provider 1", str_of(p->secret.text), &text, &e) : -1;
    ok(rc == 0 && strstr(text.data, "open-sesame-4711"), "and its password opens");
    rig_do(g, server_resource_get, "Resource", (struct rig_ask){.id = "1"});
    rig_end(g);
    g->dir = was;
    g->opts.data_dir = was;
    rig_start(g);
}

static void test_more(struct rig *g)
{
    const char *to = join(g, g->dir, "../sealed");
    struct str words = str_of("correct horse battery");
    SCOPED_BUF(lines);
    back_up(g, "{'name': 'two', 'logs': true, 'passphrase': 'correct horse battery'}", "done");
    is_int(restore(g, "two.tar.sealed", to, (struct str){0}, &lines), -ERR_REFUSED,
           "a sealed one does not open without its passphrase");
    is_int(restore(g, "two.tar.sealed", to, str_of("correct horse batterie"), &lines), -ERR_CORRUPT,
           "nor with another");
    ok(!fs_exists(to), "and nothing was made");
    is_int(restore(g, "two.tar.sealed", to, words, &lines), 0, "with its own it does");
    same_file(g, to, "logs/0/7.1.log");
    ok(!fs_exists(join(g, to, "logs/0/stray")), "only what belongs is taken");
    has_text(lines.data, "1 log", "which is told");
}

/* --- requests --- */

static void test_requests(struct rig *g)
{
    rig_refuse(g, server_admin_backup, ERR_INVALID, "not a name",
               (struct rig_ask){.body = "{'name': '/tmp/x.tar'}"});
    has_text(g->err.hint, "backup_dir", "the hint says where it goes");
    rig_refuse(g, server_admin_backup, ERR_INVALID, "not a name",
               (struct rig_ask){.body = "{'name': '../x'}"});
    rig_refuse(g, server_admin_backup, ERR_EXISTS, "never overwrites",
               (struct rig_ask){.body = "{'name': 'one'}"});
    rig_refuse(g, server_admin_backup, ERR_INVALID, "passphrase",
               (struct rig_ask){.body = "{'name': 'x', 'passphrase': 'short'}"});
    g->who.tenant = 2;
    rig_refuse(g, server_admin_backup, ERR_FORBIDDEN, "only tenant default",
               (struct rig_ask){.body = "{'name': 'x'}"});
    g->who.tenant = 1;
    g->opts.backup_dir = "/nonexistent/place";
    rig_refuse(g, server_admin_backup, ERR_CONFLICT, "not there",
               (struct rig_ask){.body = "{'name': 'x'}"});
    g->opts.backup_dir = "";
    rig_do(g, server_admin_backup, "BackupResult", (struct rig_ask){.body = "{}"});
    has_text(rig_text(g, "path"), "/backups/anneal-2", "without a name it gets the time");
    rig_refuse(g, server_admin_backup, ERR_CONFLICT, "under way",
               (struct rig_ask){.body = "{'name': 'x'}"});
    wait_backup(g);
    SCOPED_BUF(events);
    uint64_t last, first;
    struct err e;
    is_int(server_events_read(g->server, &g->who, 0, 1000, &events, &last, &first, &e) >= 0, 1,
           "the journal");
    has_text(events.data, "backup.made", "has who made it");
}

/* --- what the rows count on is not there --- */

static void test_contents(struct rig *g)
{
    const char *file = arena_printf(&g->mem, "%s/resources/%s", g->dir, digest_text(g));
    const char *aside = join(g, g->dir, "aside");
    struct err e;
    is_int(rename(file, aside), 0, "a content is gone");
    back_up(g, "{'name': 'bad1'}", "failed");
    has_text(rig_text(g, "store.backup.error"), "not there, or not whole", "for that reason");
    ok(rig_text(g, "store.backup.hint"), "with a remedy");
    fs_write_atomic(file, "what a task NEEDS", strlen(content), 0600, &e);
    back_up(g, "{'name': 'bad1'}", "failed");
    has_text(rig_text(g, "store.backup.error"), "damaged on the server's disk", "damaged");
    is_int(rename(aside, file), 0, "it is back");
    ok(!fs_exists(archive_path(g, "bad1.tar")) && !fs_exists(archive_path(g, "bad1.tar.partial")),
       "nothing is left of what failed");
}

/* A version that is deleted meanwhile keeps its content until the backup has ended. */
static void test_meanwhile(struct rig *g)
{
    const char *file = arena_printf(&g->mem, "%s/resources/%s", g->dir, digest_text(g));
    rig_do(g, server_resource_delete, NULL, (struct rig_ask){.id = "1"});
    rig_settle(g);
    g->server->backup.running = true;
    resources_beat(g->server);
    ok(fs_exists(file), "while a backup is made no content goes");
    g->server->backup.running = false;
    resources_beat(g->server);
    ok(!fs_exists(file), "but afterwards");
    (void)upload(g);
    rig_settle(g);
}

/* --- what a crash leaves --- */

static void test_left(struct rig *g)
{
    const char *partial = archive_path(g, "old.tar.partial");
    const char *held = archive_path(g, "other.tar.sealed.partial");
    const char *mine = archive_path(g, "notes.partial");
    struct err e;
    fs_mkdirs(join(g, g->dir, "backup.tmp"), 0700, &e);
    fs_write_atomic(join(g, g->dir, "backup.tmp/anneal.db"), "x", 1, 0600, &e);
    fs_write_atomic(partial, "x", 1, 0600, &e);
    fs_write_atomic(held, "x", 1, 0600, &e);
    fs_write_atomic(mine, "x", 1, 0600, &e);
    int fd = open(held, O_RDONLY | O_CLOEXEC);
    is_int(flock(fd, LOCK_EX), 0, "another server writes one");
    rig_restart(g);
    ok(!fs_exists(join(g, g->dir, "backup.tmp")) && !fs_exists(partial),
       "a start removes what a crash left");
    ok(fs_exists(held) && fs_exists(mine), "and nothing else");
    close(fd);
    rig_restart(g);
    ok(!fs_exists(held), "once nobody writes it, that goes too");
    SCOPED_BUF(metrics);
    server_metrics(g->server, &metrics);
    ok(!strstr(metrics.data, "anneal_backup_timestamp_seconds 0\n"),
       "the last backup is known after a restart");
}

static void test_unfinished(struct rig *g)
{
    const char *to = join(g, g->dir, "../half"), *stage = join(g, to, ".restoring");
    SCOPED_BUF(lines);
    struct err e;
    fs_mkdirs(stage, 0700, &e);
    is_int(backup_unfinished(to, &e), -ERR_REFUSED, "no server starts where a restore stopped");
    has_text(e.text, "interrupted", "which is told");
    has_text(e.hint, "restore again", "with a remedy");
    fs_write_atomic(join(g, stage, "secret.key"), "x", 1, 0600, &e);
    is_int(backup_unfinished(to, &e), -ERR_REFUSED, "however far it was");
    is_int(restore(g, "one.tar", to, (struct str){0}, &lines), 0, "it is done again");
    is_int(backup_unfinished(to, &e), 0, "to its end");
    fs_mkdirs(stage, 0700, &e);
    is_int(backup_unfinished(to, &e), 0, "only the last step was missing");
    ok(!fs_exists(stage), "and is made up for");
    fs_mkdirs(stage, 0700, &e);
    fs_write_atomic(join(g, stage, "ca.key"), "x", 1, 0600, &e);
    is_int(backup_unfinished(to, &e), -ERR_REFUSED, "a step more was missing");
    is_int(restore(g, "one.tar", to, (struct str){0}, &lines), -ERR_REFUSED,
           "a directory with something in it is left to its owner");
    has_text(g->err.text, "interrupted", "who is told why");
}

/* --- archives from elsewhere --- */

static const char *forge(struct rig *g, const char *name, const char *extra, const char *about)
{
    const char *path = join(g, g->dir, arena_printf(&g->mem, "../%s", name));
    struct archive_out *out = NULL;
    struct err e = {0};
    struct digest d;
    if (archive_create(path, (struct str){0}, 1, &out, &e) < 0)
        printf("# %s\n", e.text);
    archive_put(out, BACKUP_ABOUT, str_of(about), &e);
    archive_put(out, extra, str_of("x"), &e);
    archive_finish(out, &d, &e);
    return path;
}

static void test_forged(struct rig *g)
{
    static const char about[] = "{\"format\":1,\"version\":\"1\",\"made_ms\":1,\"journal\":1,"
                                "\"fence\":1}";
    static const struct {
        const char *member, *about, *says;
        enum errcode code;
    } cases[] = {
        {"authorized_keys", about, "does not belong", ERR_CORRUPT},
        {"logs/0/evil.sh", about, "does not belong", ERR_CORRUPT},
        {"resources/incoming/x", about, "does not belong", ERR_CORRUPT},
        {"resources/0123456789ABCDEF0123456789abcdef", about, "does not belong", ERR_CORRUPT},
        {"anneal.db-wal", about, "does not belong", ERR_CORRUPT},
        {"secret.key", about, "no store", ERR_CORRUPT},
        {"anneal.db", about, "the store is empty", ERR_CORRUPT},
        {"anneal.db", "{\"format\":2,\"version\":\"9.9\"}", "format 2, made by anneald 9.9",
         ERR_REFUSED},
        {"anneal.db", "{}", "no format", ERR_CORRUPT},
        {"anneal.db", "words", BACKUP_ABOUT, ERR_CORRUPT},
    };
    const char *to = join(g, g->dir, "../forged");
    SCOPED_BUF(lines);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *path = forge(g, arena_printf(&g->mem, "forged%zu.tar", i), cases[i].member,
                                 cases[i].about);
        is_int(restore(g, path, to, (struct str){0}, &lines), -(int)cases[i].code,
               "%s with %s is refused", cases[i].member, cases[i].about);
        has_text(g->err.text, cases[i].says, "for its reason");
        ok(!fs_exists(join(g, to, ".restoring")) && !fs_exists(join(g, to, "anneal.db")),
           "and nothing is left");
    }
    is_int(restore(g, "/nonexistent/x.tar", to, (struct str){0}, &lines), -ERR_NOT_FOUND,
           "one that is not there");
    is_int(restore(g, join(g, g->dir, "admin.token"), to, (struct str){0}, &lines), -ERR_CORRUPT,
           "one that is none");
}

static void test_names(void)
{
    static const char *const good[] = {BACKUP_ABOUT,
                                       BACKUP_STORE,
                                       BACKUP_SETTINGS,
                                       "secret.key",
                                       "admin.token",
                                       "resources/0123456789abcdef0123456789abcdef",
                                       "logs/4294967/4294967295.1048575.log"};
    static const char *const bad[] = {"",
                                      "secret.key2",
                                      "resources",
                                      "resources/",
                                      "resources/x",
                                      "logs/1/2.log",
                                      "logs/1/2.3.logx",
                                      "logs//2.3.log",
                                      "logs/12345678901/2.3.log",
                                      "run/worker.lock",
                                      ARCHIVE_MANIFEST};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        ok(backup_member_known(good[i]), "%s is a member", good[i]);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        ok(!backup_member_known(bad[i]), "\"%s\" is none", bad[i]);
}

/* --- a store alone --- */

static void test_bare(struct rig *g)
{
    const char *bare = join(g, g->dir, "../bare.db"), *to = join(g, g->dir, "../bare");
    SCOPED_BUF(lines);
    struct err e = {0};
    is_int(store_backup(g->server->reader, bare, NULL, NULL, &e), 0, "a copy of the store");
    is_int(restore(g, bare, to, (struct str){0}, &lines), 0, "is still restored");
    has_text(lines.data, "a store alone", "which is told");
    has_text(lines.data, "secret.key is missing", "with what it lacks");
    is_int(restore(g, bare, to, (struct str){0}, &lines), 0, "also over one that is there");
    ok(fs_exists(join(g, to, "anneal.db.before-restore")), "which is kept");
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
    test_names();
    fill(&g);
    test_round(&g);
    test_serves(&g);
    test_more(&g);
    test_requests(&g);
    test_contents(&g);
    test_meanwhile(&g);
    test_left(&g);
    test_unfinished(&g);
    test_forged(&g);
    test_bare(&g);
    rig_close(&g);
    free(plugins);
    return tap_done();
}
