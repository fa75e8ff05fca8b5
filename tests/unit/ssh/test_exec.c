/* test_exec.c - commands on a real sshd, by both transports: bytes, ends, reuse, limits */
/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include "base/alloc.h"
#include "sshd.h"
#include "sys/fs.h"
#include "tap.h"
#include "workdir.h"

enum { MIB = 1 << 20, BIG = 50 * MIB, SEQUENCE = 200, CROWD = 20 };

struct bed {
    struct sshd_keys *keys;
    struct sshd *server;
    struct loop *loop;
    struct ssh_pool *pool;
    struct ssh_target t;
    const char *identity;
    const char *via;
    int keys_told;
    char told[1024];
};

static void on_host_key(void *arg, const char *name, uint64_t life, const char *line)
{
    struct bed *b = arg;
    (void)life;
    b->keys_told++;
    snprintf(b->told, sizeof b->told, "%s %s", name, line);
}

static struct ssh_counts counts(const struct bed *b)
{
    struct ssh_counts c;
    ssh_pool_counts(b->pool, &c);
    return c;
}

static void pool_open(struct bed *b, struct ssh_pool_options o)
{
    struct err e = {0};
    char *dir = workdir_new("ssh");
    o.run_dir = dir;
    o.on_host_key = on_host_key;
    o.arg = b;
    b->via = o.via == SSH_VIA_LIBSSH ? "libssh" : "openssh";
    is_int(ssh_pool_new(b->loop, &o, &b->pool, &e), 0, "%s: a pool", b->via);
    free(dir);
}

static struct str pattern(size_t n)
{
    char *p = xcalloc(n, 1);
    for (size_t i = 0; i < n; i++)
        p[i] = (char)((i * 7 + (i >> 8) * 13 + (i >> 16)) & 0xff);
    return (struct str){p, n};
}

static void test_bytes(struct bed *b)
{
    const size_t sizes[] = {0, 1, 256, 65536, 3 * MIB};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct ask a = {0};
        struct str in = pattern(sizes[i]);
        ask(&a, b->loop, b->pool, &b->t, "tee /dev/stderr", in);
        ok(a.ends == 1 && !a.fail && a.status == 0 && a.ran, "%s: %zu bytes: ended well (%s)",
           b->via, sizes[i], a.text);
        ok(str_eq(buf_str(&a.out), in), "%s: %zu bytes back on output, got %zu", b->via, sizes[i],
           a.out.len);
        ok(str_eq(buf_str(&a.err), in), "%s: %zu bytes back on error, got %zu", b->via, sizes[i],
           a.err.len);
        free((char *)in.s);
        ask_done(&a);
    }
    struct ask a = {0};
    struct str in = pattern(BIG);
    ask(&a, b->loop, b->pool, &b->t, "cksum", in);
    struct ask same = {0};
    ask(&same, b->loop, b->pool, &b->t, "wc -c", in);
    is_int(strtoll(buf_str(&same.out).s, NULL, 10), BIG, "%s: 50 MiB arrive", b->via);
    ok(a.out.len && a.status == 0, "%s: and have a sum: %.*s", b->via, (int)a.out.len, a.out.data);
    free((char *)in.s);
    ask_done(&a);
    ask_done(&same);

    struct ask deaf = {0}; /* who reads nothing must not stop the end */
    in = pattern(3 * MIB);
    ask(&deaf, b->loop, b->pool, &b->t, "exec 0<&-; echo no", in);
    ok(deaf.ends == 1 && deaf.status == 0, "%s: a command that does not read its input ends",
       b->via);
    free((char *)in.s);
    ask_done(&deaf);
}

static void test_ends(struct bed *b)
{
    const int codes[] = {0, 1, 75, 127, 255};
    char command[64];
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) {
        struct ask a = {0};
        snprintf(command, sizeof command, "exit %d", codes[i]);
        ask(&a, b->loop, b->pool, &b->t, command, str_of(""));
        is_int(a.status, codes[i], "%s: %s", b->via, command);
        ok(a.ran && !a.fail && !*a.signal, "%s: that is no failure", b->via);
        ask_done(&a);
    }
    struct ask a = {0};
    ask(&a, b->loop, b->pool, &b->t, "echo before; kill -TERM $$", str_of(""));
    is_int(a.status, -1, "%s: a signal leaves no status", b->via);
    is_text(a.signal, strcmp(b->via, "libssh") ? "?" : "TERM", "%s: but its name", b->via);
    is_text(buf_str(&a.out).s, "before\n", "%s: and the output before it", b->via);
    ok(a.ran && !a.fail, "%s: it ran", b->via);
    ask_done(&a);

    uint64_t from = loop_now_ms(b->loop);
    a = (struct ask){0};
    ask(&a, b->loop, b->pool, &b->t, "sleep 20 & echo $!; exit 3", str_of(""));
    uint64_t took = loop_now_ms(b->loop) - from;
    is_int(a.status, 3, "%s: something outlives its command: the status is told", b->via);
    ok(took < 15000, "%s: without waiting for it (%d ms)", b->via, (int)took);
    int left = (int)strtol(buf_str(&a.out).s, NULL, 10);
    ok(left > 1 && kill(left, SIGTERM) == 0, "%s: it was left running", b->via);
    ask_done(&a);
}

static void test_reuse(struct bed *b)
{
    int good = 0;
    struct ssh_counts before = counts(b);
    for (int i = 0; i < SEQUENCE; i++) {
        struct ask a = {0};
        char want[16];
        snprintf(want, sizeof want, "%d", i);
        ask(&a, b->loop, b->pool, &b->t, "cat", str_of(want));
        good += a.ends == 1 && !strcmp(buf_str(&a.out).s, want);
        ask_done(&a);
    }
    struct ssh_counts after = counts(b);
    is_int(good, SEQUENCE, "%s: %d commands one after the other", b->via, SEQUENCE);
    is_int(after.connects - before.connects, 0, "%s: over the connection that stood", b->via);
    is_int(after.connections, 1, "%s: which is one", b->via);
    is_int(after.sessions + after.waiting, 0, "%s: and nothing is left", b->via);
}

/* All that are asked for get their turn, within the limits of both sides. */
static void test_crowd(struct bed *b, uint32_t limit, const char *what)
{
    struct ask crowd[CROWD] = {0};
    int left = CROWD, good = 0;
    uint32_t most = 0;
    for (int i = 0; i < CROWD; i++) {
        crowd[i].left = &left;
        ask_begin(&crowd[i], b->loop, b->pool, &b->t, "echo begin; cat; echo end", str_of("x"));
    }
    is_int(counts(b).waiting, CROWD, "%s: nothing begins before the call is over", b->via);
    ok(ask_loop(b->loop), "%s: %s: all end", b->via, what);
    for (int i = 0; i < CROWD; i++) {
        good += crowd[i].ends == 1 && crowd[i].status == 0 &&
                !strcmp(buf_str(&crowd[i].out).s, "begin\nxend\n");
        most = crowd[i].most > most ? crowd[i].most : most;
        ask_done(&crowd[i]);
    }
    is_int(good, CROWD, "%s: %s: %d at once, all well", b->via, what, CROWD);
    ok(most > 1 && most <= limit, "%s: %s: at most %u sessions (%u)", b->via, what, limit, most);
}

static void test_close(struct bed *b)
{
    struct ask a = {.stop_at = 6};
    struct ssh_counts before = counts(b);
    ask_begin(&a, b->loop, b->pool, &b->t, "echo begun; exec sleep 30", str_of(""));
    ok(ask_loop(b->loop) && a.run, "%s: a long command began", b->via);
    ssh_run_close(a.run);
    a.run = NULL;
    is_int(counts(b).sessions, 0, "%s: closed: no session is left", b->via);
    ask_done(&a);

    a = (struct ask){.stop_at = 6, .close_then = true};
    ask_begin(&a, b->loop, b->pool, &b->t, "yes", str_of(""));
    ok(ask_loop(b->loop) && !a.run, "%s: closed from within its output", b->via);
    struct ask never = {0};
    ask_begin(&never, b->loop, b->pool, &b->t, "echo never", str_of(""));
    ssh_run_close(never.run);
    struct ask next = {0};
    ask(&next, b->loop, b->pool, &b->t, "echo next", str_of(""));
    is_text(buf_str(&next.out).s, "next\n", "%s: the next one runs", b->via);
    is_int(a.ends + never.ends, 0, "%s: what was closed is not told", b->via);
    is_int(counts(b).connects - before.connects, 0, "%s: all on the same connection", b->via);
    ask_done(&a);
    ask_done(&never);
    ask_done(&next);
}

/* Six that all wait for a file: they can only be there together on three connections of two. */
static void test_spread(struct bed *b)
{
    struct ask six[6] = {0}, seventh = {0};
    char *go = fs_join(b->keys->dir, "go"), command[700];
    int left = 6, good = 0;
    snprintf(command, sizeof command, "echo begin; until [ -e %s ]; do sleep 0.02; done", go);
    for (int i = 0; i < 6; i++) {
        six[i].left = &left;
        six[i].stop_at = 6;
        ask_begin(&six[i], b->loop, b->pool, &b->t, command, str_of(""));
    }
    for (int i = 0; i < 6; i++)
        while (six[i].out.len < 6 && ask_loop(b->loop))
            ;
    is_int(counts(b).connections, 3, "%s: six sessions on three connections", b->via);
    is_int(counts(b).sessions, 6, "%s: at once", b->via);
    seventh.left = &left;
    left++;
    ask_begin(&seventh, b->loop, b->pool, &b->t, "echo seventh", str_of(""));
    is_int(fs_write_atomic(go, "", 0, 0600, NULL), 0, "%s: they may go", b->via);
    ok(ask_loop(b->loop), "%s: all end", b->via);
    for (int i = 0; i < 6; i++) {
        good += six[i].ends == 1 && six[i].status == 0;
        ask_done(&six[i]);
    }
    is_int(good, 6, "%s: well", b->via);
    is_text(buf_str(&seventh.out).s, "seventh\n", "%s: the seventh waited for one of them", b->via);
    is_int(counts(b).connects, 3, "%s: no fourth connection was made", b->via);
    ask_done(&seventh);
    unlink(go);
    free(go);
}

/* A program whose session was closed runs on, and for sshd so does its session: the next command
 * finds the connection full, and gets another one. */
static void test_left_behind(struct bed *b)
{
    struct ask a = {.stop_at = 2}, next = {0};
    ask_begin(&a, b->loop, b->pool, &b->t, "echo $$; exec sleep 30", str_of(""));
    ok(ask_loop(b->loop) && a.run, "%s: a long command began", b->via);
    int left = (int)strtol(buf_str(&a.out).s, NULL, 10);
    ssh_run_close(a.run);
    ask(&next, b->loop, b->pool, &b->t, "echo next", str_of(""));
    is_text(buf_str(&next.out).s, "next\n", "%s: the next one finds another way (%s)", b->via,
            next.text);
    is_int(counts(b).connects, 2, "%s: a second connection", b->via);
    ok(left > 1 && kill(left, SIGTERM) == 0, "%s: the closed one ran on", b->via);
    ask_done(&a);
    ask_done(&next);
}

/* The server changes keys in the middle of everything, several times. */
static void test_new_keys(struct bed *b)
{
    struct ask a = {0};
    struct str in = pattern(12 * MIB);
    ask(&a, b->loop, b->pool, &b->t, "tee /dev/stderr", in);
    ok(a.ends == 1 && a.status == 0, "%s: keys change on the way (%s)", b->via, a.text);
    ok(str_eq(buf_str(&a.out), in) && str_eq(buf_str(&a.err), in), "%s: all bytes come", b->via);
    free((char *)in.s);
    ask_done(&a);
}

static void test_keys(struct bed *b)
{
    char want[1024];
    snprintf(want, sizeof want, "node1 %s", b->keys->host_line);
    is_int(b->keys_told, 1, "%s: the first key was told once", b->via);
    is_text(b->told, want, "%s: and it is the server's", b->via);
}

/* Where a target changes, what is known is replaced. */
static void test_change(struct bed *b)
{
    struct ask a = {0};
    struct ssh_counts before = counts(b);
    struct ssh_target t = b->t;
    t.host_keys = b->keys->host_line;
    ask(&a, b->loop, b->pool, &t, "echo pinned", str_of(""));
    is_int(counts(b).connects, before.connects, "%s: pinning the accepted key changes nothing",
           b->via);
    ask_done(&a);
    a = (struct ask){0};
    const char *const two[] = {b->identity, b->keys->wrong_key};
    t.identities = two;
    t.n_identities = 2;
    ask(&a, b->loop, b->pool, &t, "echo again", str_of(""));
    is_text(buf_str(&a.out).s, "again\n", "%s: a changed target works", b->via);
    is_int(counts(b).connects, before.connects + 1, "%s: by a new connection", b->via);
    is_int(counts(b).connections, 1, "%s: the old one is gone", b->via);
    ask_done(&a);
    a = (struct ask){0};
    t.host_keys = b->keys->other_line;
    ask(&a, b->loop, b->pool, &t, "echo wrong", str_of(""));
    is_int(a.fail, SSH_FAIL_HOST_KEY, "%s: a key that is not pinned any more is not believed",
           b->via);
    ask_done(&a);
    a = (struct ask){0};
    t.host_keys = "";
    ask(&a, b->loop, b->pool, &t, "echo anew", str_of(""));
    is_text(buf_str(&a.out).s, "anew\n", "%s: without pins the first key is accepted anew", b->via);
    is_int(b->keys_told, 2, "%s: and told again", b->via);
    ask_done(&a);
}

static void stop_loop(void *loop)
{
    loop_stop(loop);
}

/* A command for a target as it is first, and one for it as it is a moment later, while a connection
 * for the first is being made. */
static void test_change_meanwhile(struct bed *b, const char *name, const char *first,
                                  const char *then, enum ssh_fail fail)
{
    int left = 2;
    struct ask one = {.left = &left}, two = {.left = &left};
    struct ssh_target t = b->t;
    t.name = name;
    t.host_keys = first;
    ok(!ask_begin(&one, b->loop, b->pool, &t, "echo one", str_of("")), "%s: %s: one", b->via, name);
    loop_post(b->loop, stop_loop, b->loop);
    loop_run(b->loop);
    is_int(counts(b).connecting, 1, "%s: %s: which is on its way", b->via, name);
    t.host_keys = then;
    ok(!ask_begin(&two, b->loop, b->pool, &t, "echo two", str_of("")), "%s: %s: two", b->via, name);
    ok(ask_loop(b->loop), "%s: %s: both end", b->via, name);
    is_int(one.fail, fail, "%s: %s: what counts for the first is what is said by then", b->via,
           name);
    is_int(two.fail, fail, "%s: %s: as for the second", b->via, name);
    ask_done(&one);
    ask_done(&two);
}

static void test_meanwhile(struct bed *b)
{
    char want[1024];
    int told = b->keys_told;
    test_change_meanwhile(b, "trusted", b->keys->other_line, "", SSH_FAIL_NONE);
    snprintf(want, sizeof want, "trusted %s", b->keys->host_line);
    is_int(b->keys_told, told + 1, "%s: a key is told", b->via);
    is_text(b->told, want, "%s: the one that was met, not the one that was withdrawn", b->via);
    test_change_meanwhile(b, "pinned", "", b->keys->other_line, SSH_FAIL_HOST_KEY);
    is_int(b->keys_told, told + 1, "%s: a key that is not the pinned one is not told", b->via);
    test_change_meanwhile(b, "same", "", b->keys->host_line, SSH_FAIL_NONE);
}

static void test_all(struct bed *b, enum ssh_via via)
{
    b->t = sshd_target(b->server, &b->identity);
    b->keys_told = 0;
    pool_open(b, (struct ssh_pool_options){.via = via, .connections_per_target = 1});
    test_bytes(b);
    test_ends(b);
    test_reuse(b);
    test_crowd(b, 8, "one connection of 8");
    is_int(counts(b).connections, 1, "%s: on one connection", b->via);
    test_close(b);
    test_keys(b);
    test_change(b);
    test_meanwhile(b);
    ssh_pool_free(b->pool);

    struct sshd *usual = b->server;
    b->server = sshd_new(b->keys, "MaxSessions 2");
    b->t = sshd_target(b->server, &b->identity);
    pool_open(b, (struct ssh_pool_options){.via = via, .connections_per_target = 1});
    test_crowd(b, 8, "a server of 2 sessions");
    ok(counts(b).failures[SSH_FAIL_LIMIT] > 0, "%s: which refused some", b->via);
    ssh_pool_free(b->pool);
    pool_open(b, (struct ssh_pool_options){
                     .via = via, .sessions_per_connection = 2, .connections_per_target = 3});
    test_spread(b);
    ssh_pool_free(b->pool);
    sshd_free(b->server);

    b->server = sshd_new(b->keys, "MaxSessions 1");
    b->t = sshd_target(b->server, &b->identity);
    pool_open(b, (struct ssh_pool_options){.via = via});
    test_left_behind(b);
    ssh_pool_free(b->pool);
    sshd_free(b->server);

    b->server = sshd_new(b->keys, "RekeyLimit 1M");
    b->t = sshd_target(b->server, &b->identity);
    pool_open(b, (struct ssh_pool_options){.via = via});
    test_new_keys(b);
    ssh_pool_free(b->pool);
    sshd_free(b->server);
    b->server = usual;
}

static int open_files(void)
{
    int n = 0;
    for (int fd = 0; fd < 1024; fd++)
        n += fcntl(fd, F_GETFD) >= 0;
    return n;
}

int main(void)
{
    struct bed b = {.keys = sshd_keys_new(), .loop = loop_new()};
    if (b.keys) {
        b.identity = b.keys->user_key;
        b.server = sshd_new(b.keys, "MaxSessions 8");
        int files = open_files();
        test_all(&b, SSH_VIA_LIBSSH);
        is_int(open_files(), files, "libssh: no descriptor is left");
        test_all(&b, SSH_VIA_OPENSSH);
        is_int(open_files(), files, "openssh: no descriptor is left");
        sshd_free(b.server);
        sshd_keys_free(b.keys);
    }
    loop_free(b.loop);
    return tap_done();
}
