/* test_blobs.c - contents of resources: part by part, checked, unpacked, kept while there is room
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/base64.h"
#include "base/log.h"
#include "plugin/plugin_versions.h"
#include "sys/fs.h"
#include "worker/rig.h"

enum { PART = 10 };

static const char *hex_of(struct rig *r, struct str content)
{
    struct digest d = digest_of(content.s, content.n);
    char hex[DIGEST_HEX];
    digest_hex(&d, hex);
    return arena_strdup(&r->mem, hex);
}

static void send_task(struct rig *r, uint32_t task, struct str content, bool archive, uint32_t mode)
{
    SCOPED_BUF(b);
    struct resource_named one = {.kind = str_of("images"),
                                 .name = str_of("x"),
                                 .digest = str_of(hex_of(r, content)),
                                 .version = 1,
                                 .size_bytes = content.n,
                                 .archive = archive,
                                 .mode = mode};
    resources_write(&b, &one, 1);
    rig_send(r, &(struct taskmsg){.kind = TASKMSG_TASK,
                                  .task = task,
                                  .attempt = 1,
                                  .jig = str_of("test"),
                                  .params = str_of("{}"),
                                  .resources = buf_str(&b),
                                  .grace_ms = 200});
}

static void send_part(struct rig *r, struct str content, uint64_t offset, struct str bytes)
{
    SCOPED_BUF(b);
    base64_write(&b, bytes);
    rig_send(r, &(struct taskmsg){.kind = TASKMSG_PART,
                                  .blob = str_of(hex_of(r, content)),
                                  .offset = offset,
                                  .content = buf_str(&b)});
}

/* Answers what is wanted, as a server would, until nothing more is. */
static void serve(struct rig *r, struct str content, size_t *from)
{
    for (; *from < r->got.n; (*from)++) {
        const struct taskmsg *m = &r->got.at[*from];
        if (m->kind != TASKMSG_WANT || !str_is(m->blob, hex_of(r, content)))
            continue;
        uint64_t at = m->offset;
        size_t n = content.n - at < PART ? content.n - at : PART;
        send_part(r, content, at, (struct str){content.s + at, n});
    }
}

static const char *path_of(struct rig *r, struct str content, const char *end)
{
    return arena_printf(&r->mem, "%s/resources/%s.%s", r->dir, hex_of(r, content), end);
}

static unsigned mode_of(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 ? st.st_mode & 07777 : 0;
}

static const struct str text = {"a content that comes in several parts", 37};

static void test_parts(void)
{
    struct rig r;
    size_t from = 0;
    rig_init(&r, true, NULL);
    send_task(&r, 1, text, false, 0400);
    send_task(&r, 2, text, false, 0400);
    is_int(rig_count(&r, TASKMSG_WANT), 1, "a content is wanted once");
    serve(&r, text, &from);
    is_int(rig_count(&r, TASKMSG_WANT), 4, "part by part");
    is_int(rig_count(&r, TASKMSG_RESULT), 2, "when it is there both run");
    is_int(mode_of(path_of(&r, text, "0400")), 0400, "it has its mode");
    send_task(&r, 3, text, false, 0644);
    is_int(rig_count(&r, TASKMSG_RESULT), 2, "with another mode it is another file");
    serve(&r, text, &from);
    is_int(rig_count(&r, TASKMSG_RESULT), 3, "which comes as well");
    is_int(mode_of(path_of(&r, text, "0644")), 0644, "with its own");
    send_task(&r, 4, text, false, 0400);
    is_int(rig_count(&r, TASKMSG_RESULT), 4, "what is kept need not come again");
    rig_done(&r);
}

static void test_faults(void)
{
    struct rig r;
    size_t from = 0;
    struct str other = {"a content that came in several pieces", 37};
    rig_init(&r, true, NULL);
    log_set_level(LOG_ERROR);
    send_task(&r, 1, text, false, 0400);
    send_part(&r, text, 5, (struct str){"far", 3});
    send_part(&r, text, 0, (struct str){text.s, 10});
    send_part(&r, text, 0, (struct str){text.s, 10});
    is_int(rig_count(&r, TASKMSG_WANT), 2, "a part that was not asked for is passed over");
    rig_step(&r, 5000);
    is_int(rig_count(&r, TASKMSG_WANT), 3, "one that does not come is wanted again");
    send_part(&r, text, 10, (struct str){other.s + 10, 27});
    is_int(rig_outcome(&r, 1, 1), OUTCOME_AGAIN, "another content: not yet");
    has_text(arena_strndup(&r.mem, rig_result(&r, 1, 1)->text.s, rig_result(&r, 1, 1)->text.n),
             "does not have its digest", "with the reason");
    ok(rig_result(&r, 1, 1)->again_ms > 1000, "and not at once");
    ok(!fs_exists(path_of(&r, text, "0400")), "nothing of it is left");
    send_task(&r, 2, text, false, 0400);
    send_part(&r, text, 0, (struct str){"", 0});
    is_int(rig_outcome(&r, 2, 1), OUTCOME_AGAIN, "one that is too short");
    send_task(&r, 3, text, false, 0400);
    send_part(&r, text, 0, (struct str){"this is longer than it may be, by far ...", 41});
    is_int(rig_outcome(&r, 3, 1), OUTCOME_AGAIN, "or too long");
    send_task(&r, 4, text, false, 0400);
    rig_send(&r, &(struct taskmsg){.kind = TASKMSG_PART,
                                   .blob = str_of(hex_of(&r, text)),
                                   .missing = true,
                                   .text = str_of("the disk was emptied")});
    is_int(rig_outcome(&r, 4, 1), OUTCOME_AGAIN, "or missing");
    ok(str_is(rig_result(&r, 4, 1)->text, "the disk was emptied"), "with the server's reason");
    send_task(&r, 5, text, false, 0400);
    rig_cancel(&r, 5, 1, 100);
    is_int(rig_outcome(&r, 5, 1), OUTCOME_CANCELLED, "a run that waits answers a cancel");
    from = r.got.n;
    send_task(&r, 6, text, false, 0400);
    serve(&r, text, &from);
    is_int(rig_outcome(&r, 6, 1), OUTCOME_OK, "and after all that it comes");
    rig_done(&r);
}

static void test_room(void)
{
    struct rig r;
    size_t from = 0;
    struct str a = {"aaaaaaaaaa", 10}, b = {"bbbbbbbbbb", 10}, c = {"cccccccccc", 10};
    rig_init(&r, true,
             &(struct worker_options){
                 .name = "w", .capacity = 4, .beat_ms = 1000, .resource_bytes = 25});
    const struct str all[] = {a, b, a, c};
    for (uint32_t i = 0; i < 4; i++) {
        send_task(&r, i + 1, all[i], false, 0600);
        serve(&r, all[i], &from);
    }
    is_int(rig_count(&r, TASKMSG_RESULT), 4, "four runs");
    ok(fs_exists(path_of(&r, a, "0600")) && fs_exists(path_of(&r, c, "0600")),
       "what was used last is kept");
    ok(!fs_exists(path_of(&r, b, "0600")), "what was not makes room");
    rig_done(&r);
}

/* --- archives, with real programs --- */

static void shell(const char *command)
{
    pid_t pid = fork();
    if (pid == 0) {
        execl("/bin/sh", "sh", "-c", command, (char *)NULL);
        _exit(127);
    }
    int status = -1;
    waitpid(pid, &status, 0);
    ok(WIFEXITED(status) && WEXITSTATUS(status) == 0, "$ %s", command);
}

static struct str archive_of(struct rig *r, const char *make)
{
    SCOPED_BUF(b);
    struct err e = {0};
    const char *dir = arena_printf(&r->mem, "%s/made", r->dir);
    shell(arena_printf(&r->mem, "rm -rf %s && mkdir %s && cd %s && { %s; }", dir, dir, dir, make));
    is_int(fs_read(arena_printf(&r->mem, "%s/a.tar", dir), 1 << 20, &b, &e), 0, "an archive");
    return (struct str){arena_strndup(&r->mem, buf_str(&b).s, b.len), b.len};
}

/* A run that has it; the server answers in one part. */
static void run_with(struct rig *r, uint32_t task, struct str archive)
{
    send_task(r, task, archive, true, 0);
    send_part(r, archive, 0, archive);
    rig_wait(r, task);
}

static void refuses(struct rig *r, uint32_t task, const char *make, const char *why)
{
    struct str archive = archive_of(r, make);
    run_with(r, task, archive);
    is_int(rig_outcome(r, task, 1), OUTCOME_FAILED, "%s: failed, for good", why);
    const struct taskmsg *m = rig_result(r, task, 1);
    has_text(arena_strndup(&r->mem, m->text.s, m->text.n), why, "with the reason");
    ok(!fs_exists(path_of(r, archive, "d")), "and nothing of it is there");
}

static void test_archives(void)
{
    struct rig r;
    rig_init(&r, false, NULL);
    log_set_level(LOG_ERROR);
    struct str good = archive_of(
        &r, "mkdir d && echo hello >d/f && chmod 4755 d/f && ln -s ../d/f d/l && tar czf a.tar d");
    run_with(&r, 1, good);
    is_int(rig_outcome(&r, 1, 1), OUTCOME_OK, "a run with an archive");
    const char *dir = path_of(&r, good, "d");
    is_int(mode_of(arena_printf(&r.mem, "%s/d/f", dir)), 0555, "has it unpacked, read-only");
    is_int(mode_of(dir) & 0222, 0, "all of it");
    ok(fs_exists(arena_printf(&r.mem, "%s/d/l", dir)), "links inside are fine");
    ok(!fs_exists(path_of(&r, good, "d.part")) && !fs_exists(path_of(&r, good, "d.new")),
       "nothing else is left");
    refuses(&r, 2, "echo x >f && tar cPf a.tar $PWD/f", "not be put inside");
    refuses(&r, 3, "mkdir d && echo x >f && cd d && tar cPf ../a.tar ../f", "not be put inside");
    refuses(&r, 4, "ln -s /etc/passwd l && tar cf a.tar l", "leads out");
    refuses(&r, 5, "mkfifo p && tar cf a.tar p", "neither a file");
    refuses(&r, 6, "echo 'this is no archive' >a.tar", "cannot be unpacked");
    refuses(&r, 7, "head -c 100000 /dev/urandom >f && tar cf b.tar f && head -c 50000 b.tar >a.tar",
            "cannot be unpacked");
    send_task(&r, 8, good, true, 0);
    rig_wait(&r, 8);
    is_int(rig_outcome(&r, 8, 1), OUTCOME_OK, "a good one is still there");
    rig_done(&r);
}

/* The worker ends while tar is at work. */
static void test_stop(void)
{
    struct rig r;
    rig_init(&r, false, NULL);
    struct str archive = archive_of(&r, "head -c 900000 /dev/zero >f && tar cf a.tar f");
    send_task(&r, 1, archive, true, 0);
    send_part(&r, archive, 0, archive);
    rig_done(&r);
    ok(true, "a worker that ends does not wait for what it unpacks");
}

int main(void)
{
    test_parts();
    test_faults();
    test_room();
    test_archives();
    test_stop();
    return tap_done();
}
