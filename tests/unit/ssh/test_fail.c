/* test_fail.c - what goes wrong with connections, by both transports: why, and did it run */
/* SPDX-License-Identifier: Apache-2.0 */
#include <arpa/inet.h>
#include <dirent.h>
#include <signal.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/log.h"
#include "sshd.h"
#include "sys/fs.h"
#include "tap.h"
#include "workdir.h"

struct bed {
    struct sshd_keys *keys;
    struct sshd *server;
    struct loop *loop;
    struct ssh_pool *pool;
    struct ssh_pool_options o;
    const char *identity;
    const char *via;
    char *dir; /* of the last pool */
};

static void pool_open(struct bed *b)
{
    struct err e = {0};
    free(b->dir);
    b->dir = workdir_new("ssh");
    b->o.run_dir = b->dir;
    is_int(ssh_pool_new(b->loop, &b->o, &b->pool, &e), 0, "%s: a pool", b->via);
}

static struct ssh_counts counts(const struct bed *b)
{
    struct ssh_counts c;
    ssh_pool_counts(b->pool, &c);
    return c;
}

/* In a pool of its own, which sees the target for the first time. */
static void expect(struct bed *b, const struct ssh_target *t, enum ssh_fail fail, const char *text,
                   const char *what)
{
    struct ask a = {0};
    pool_open(b);
    ask(&a, b->loop, b->pool, t, "echo in", str_of(""));
    is_int(a.ends, 1, "%s: %s: one end", b->via, what);
    is_text(ssh_fail_name(a.fail), ssh_fail_name(fail), "%s: %s (%s)", b->via, what, a.text);
    ok(a.ran == (fail == SSH_FAIL_NONE), "%s: %s: ran if it could", b->via, what);
    has_text(a.text, text, "%s: %s: the text says it", b->via, what);
    is_int(counts(b).failures[fail], fail != SSH_FAIL_NONE, "%s: %s: it is counted", b->via, what);
    ssh_pool_free(b->pool);
    ask_done(&a);
}

static void test_host_keys(struct bed *b)
{
    struct sshd *d = sshd_new(b->keys, "LogLevel DEBUG1");
    struct ssh_target t = sshd_target(d, &b->identity);
    t.host_keys = b->keys->other_line;
    expect(b, &t, SSH_FAIL_HOST_KEY, "trust it anew", "another key than the pinned one");
    char *log = sshd_log_until(d, "[preauth]\r\n");
    ok(log && !strstr(log, "userauth-request"), "%s: refused before any login", b->via);
    free(log);
    t.host_keys = "";
    t.trust = SSH_TRUST_PINNED;
    expect(b, &t, SSH_FAIL_HOST_KEY, "pin", "no pinned key where only those are trusted");
    char two[1024];
    snprintf(two, sizeof two, "# ours\n%s\n\n%s comment\n", b->keys->other_line,
             b->keys->host_line);
    t.host_keys = two;
    expect(b, &t, SSH_FAIL_NONE, "", "one of two pinned keys");
    log = sshd_log_until(d, "userauth-request");
    ok(log != NULL, "%s: a login is in the log", b->via);
    free(log);
    sshd_free(d);

    SCOPED_BUF(more);
    buf_printf(&more, "HostKey %s/rsa_host", b->keys->dir);
    d = sshd_new(b->keys, more.data);
    t = sshd_target(d, &b->identity);
    t.host_keys = b->keys->rsa_host_line;
    expect(b, &t, SSH_FAIL_NONE, "", "the pinned one of a server's two keys");
    t.host_keys = b->keys->host_line;
    expect(b, &t, SSH_FAIL_NONE, "", "or the other one");
    sshd_free(d);
}

static void test_login(struct bed *b)
{
    const char *wrong = b->keys->wrong_key, *cert = b->keys->cert_key, *none = NULL;
    const char *missing = "/nonexistent/key";
    struct ssh_target t = sshd_target(b->server, &wrong);
    expect(b, &t, SSH_FAIL_AUTH, "authorized_keys", "a key that is not accepted");
    t = sshd_target(b->server, &missing);
    expect(b, &t, SSH_FAIL_AUTH, "", "a key that is not there");
    t = sshd_target(b->server, &none);
    expect(b, &t, SSH_FAIL_AUTH, "", "no key at all");
    const char *locked = b->keys->locked_key, *rsa = b->keys->rsa_key;
    const char *ecdsa = b->keys->ecdsa_key;
    t = sshd_target(b->server, &locked);
    expect(b, &t, SSH_FAIL_AUTH, "", "a key with a passphrase, which nobody is asked for");
    t = sshd_target(b->server, &rsa);
    expect(b, &t, SSH_FAIL_NONE, "", "an RSA key");
    t = sshd_target(b->server, &ecdsa);
    expect(b, &t, SSH_FAIL_NONE, "", "an ECDSA key");
    t = sshd_target(b->server, &cert);
    expect(b, &t, SSH_FAIL_NONE, "", "a key that only its certificate lets in");
    const char *const both[] = {wrong, b->identity};
    t = sshd_target(b->server, both);
    t.n_identities = 2;
    expect(b, &t, SSH_FAIL_NONE, "", "the second of two keys");
}

static void test_addresses(struct bed *b)
{
    const char *const two[] = {"127.0.0.2", "127.0.0.1"}; /* the server is on the second only */
    struct ssh_target t = sshd_target(b->server, &b->identity);
    struct ask a = {0};
    t.port = sshd_closed_port();
    expect(b, &t, SSH_FAIL_UNREACHABLE, "127.0.0.1 port", "nobody listens");
    t.addresses = two;
    t.n_addresses = 2;
    expect(b, &t, SSH_FAIL_UNREACHABLE, "2 addresses", "nobody listens on two addresses");
    t.port = b->server->port;
    expect(b, &t, SSH_FAIL_NONE, "", "the second address answers");
    const char *const names[] = {"localhost.invalid"};
    t.addresses = names;
    t.n_addresses = 1;
    expect(b, &t, SSH_FAIL_UNREACHABLE, "no address", "a name that is none");
    const char *const local[] = {"localhost"};
    t.addresses = local;
    expect(b, &t, SSH_FAIL_NONE, "", "a name");

    pool_open(b);
    t.addresses = two;
    t.n_addresses = 2;
    b->o.idle_ms = 0;
    ask(&a, b->loop, b->pool, &t, "echo one", str_of(""));
    is_int(counts(b).failures[SSH_FAIL_UNREACHABLE], 0,
           "%s: an address that does not answer is no failure", b->via);
    ssh_pool_free(b->pool);
    ask_done(&a);
}

/* Somebody listens and says nothing. */
static void test_timeout(struct bed *b)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof at;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ok(fd >= 0 && !bind(fd, (struct sockaddr *)&at, n) && !listen(fd, 4) &&
           !getsockname(fd, (void *)&at, &n),
       "%s: a silent server", b->via);
    struct ssh_target t = sshd_target(b->server, &b->identity);
    t.port = ntohs(at.sin_port);
    b->o.connect_timeout_ms = 300;
    uint64_t from = loop_now_ms(b->loop);
    expect(b, &t, SSH_FAIL_UNREACHABLE, "not connected within 300 ms", "no answer in time");
    ok(loop_now_ms(b->loop) - from < 10000, "%s: and that soon", b->via);
    close(fd);
    /* The same on the first address of two, where the server is on the second. */
    const char *const two[] = {"127.0.0.2", "127.0.0.1"};
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK + 1);
    at.sin_port = htons(b->server->port);
    fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ok(fd >= 0 && !bind(fd, (struct sockaddr *)&at, n) && !listen(fd, 4), "%s: another one",
       b->via);
    t.port = b->server->port;
    t.addresses = two;
    t.n_addresses = 2;
    b->o.connect_timeout_ms = 2000;
    expect(b, &t, SSH_FAIL_NONE, "", "the second address, when the first is silent");
    b->o.connect_timeout_ms = 0;
    close(fd);
}

/* A command whose first output is the process of its server. */
static int server_of(struct bed *b, struct ask *a, const struct ssh_target *t)
{
    a->stop_at = 2;
    ask_begin(a, b->loop, b->pool, t, "echo $PPID; exec sleep 5", str_of(""));
    ok(ask_loop(b->loop) && a->run, "%s: a command is under way", b->via);
    return (int)strtol(buf_str(&a->out).s, NULL, 10);
}

static void test_lost(struct bed *b)
{
    struct ask a = {0}, other = {0}, next = {0};
    struct ssh_target t = sshd_target(b->server, &b->identity);
    int left = 2;
    pool_open(b);
    a.left = other.left = &left;
    int server = server_of(b, &a, &t);
    is_int(server_of(b, &other, &t), server, "%s: two on one connection", b->via);
    ok(server > 1 && kill(server, SIGKILL) == 0, "%s: the server dies under both", b->via);
    ok(ask_loop(b->loop), "%s: both end", b->via);
    is_int(a.fail, SSH_FAIL_LOST, "%s: lost (%s)", b->via, a.text);
    is_int(other.fail, SSH_FAIL_LOST, "%s: and the other one too", b->via);
    ok(a.ran && other.ran, "%s: both may have run", b->via);
    is_int(counts(b).connections, 0, "%s: the connection is gone", b->via);
    ask(&next, b->loop, b->pool, &t, "echo next", str_of(""));
    is_text(buf_str(&next.out).s, "next\n", "%s: the next command makes another", b->via);
    ssh_pool_free(b->pool);
    ask_done(&a);
    ask_done(&other);
    ask_done(&next);
}

/* The server stops in the middle: nothing is closed, nothing comes. */
static void test_silence(struct bed *b)
{
    struct ask a = {0};
    struct ssh_target t = sshd_target(b->server, &b->identity);
    b->o.keepalive_ms = 200;
    pool_open(b);
    int server = server_of(b, &a, &t);
    ok(server > 1 && kill(server, SIGSTOP) == 0, "%s: the server stops", b->via);
    ok(ask_loop(b->loop), "%s: that is noticed", b->via);
    is_int(a.fail, SSH_FAIL_LOST, "%s: a silent connection is lost (%s)", b->via, a.text);
    ok(a.ran, "%s: its command may have run", b->via);
    ssh_pool_free(b->pool);
    b->o.keepalive_ms = 0;
    is_int(kill(server, SIGKILL), 0, "%s: the server was only stopped", b->via);
    ask_done(&a);
}

/* A connection that only answers keepalives lives. */
static void test_quiet(struct bed *b)
{
    struct ask a = {0};
    struct ssh_target t = sshd_target(b->server, &b->identity);
    b->o.keepalive_ms = 50;
    pool_open(b);
    ask(&a, b->loop, b->pool, &t, "sleep 1; echo quiet", str_of(""));
    is_text(buf_str(&a.out).s, "quiet\n", "%s: a quiet command is not lost (%s)", b->via, a.text);
    ssh_pool_free(b->pool);
    b->o.keepalive_ms = 0;
    ask_done(&a);
}

static void test_no_session(struct bed *b)
{
    struct sshd *d = sshd_new(b->keys, "MaxSessions 0");
    struct ssh_target t = sshd_target(d, &b->identity);
    expect(b, &t, SSH_FAIL_LIMIT, "MaxSessions", "a server without sessions");
    sshd_free(d);
}

static void line_keep(void *arg, const char *line, size_t n)
{
    buf_put(arg, line, n);
}

/* From here on lines of every level go to the buffer. */
static void log_watch(struct buf *lines)
{
    log_set_level(LOG_DEBUG);
    log_set_sink(-1, line_keep, lines);
}

/* The first connection that was closed since then says why. */
static void closed_is(struct buf *lines, const char *why, const char *via)
{
    char want[64];
    log_set_sink(2, NULL, NULL);
    log_set_level(LOG_INFO);
    const char *line = strstr(lines->data ? lines->data : "", "ssh.closed");
    const char *found = line ? strstr(line, "why=") : NULL;
    snprintf(want, sizeof want, "why=%s stood_ms=", why);
    ok(found && !strncmp(found, want, strlen(want)), "%s: the log says %s", via, want);
}

static void test_idle(struct bed *b)
{
    struct ask a = {0};
    struct ssh_target t = sshd_target(b->server, &b->identity);
    SCOPED_BUF(lines);
    b->o.idle_ms = 150;
    pool_open(b);
    log_watch(&lines);
    ask(&a, b->loop, b->pool, &t, "sleep 0.3; echo used", str_of(""));
    is_text(buf_str(&a.out).s, "used\n", "%s: a connection in use is not idle", b->via);
    is_int(counts(b).connections, 1, "%s: behind the command it stands", b->via);
    uint64_t from = loop_now_ms(b->loop);
    /* Another target keeps the loop going until the first one's connection is closed. */
    struct ssh_target second = t;
    second.name = "node2";
    while (counts(b).connections > 1 || loop_now_ms(b->loop) - from < 150) {
        struct ask more = {0};
        ask(&more, b->loop, b->pool, &second, "sleep 0.05", str_of(""));
        ask_done(&more);
        if (loop_now_ms(b->loop) - from > 20000)
            break;
    }
    is_int(counts(b).connections, 1, "%s: when idle it is closed", b->via);
    is_int(counts(b).connects, 2, "%s: and was not made again", b->via);
    closed_is(&lines, "idle", b->via);
    ssh_pool_free(b->pool);
    b->o.idle_ms = 0;
    ask_done(&a);
}

/* One connection in all: the idle one makes room, the one in use is waited for. */
static void test_limit(struct bed *b)
{
    struct ask a = {0}, c = {0}, d = {0};
    struct ssh_target t = sshd_target(b->server, &b->identity), u = t;
    int left = 2;
    u.name = "node2";
    SCOPED_BUF(lines);
    b->o.max_connections = 1;
    pool_open(b);
    log_watch(&lines);
    ask(&a, b->loop, b->pool, &t, "echo first", str_of(""));
    c.left = d.left = &left;
    ask_begin(&c, b->loop, b->pool, &u, "sleep 0.2; echo second", str_of(""));
    ask_begin(&d, b->loop, b->pool, &t, "echo third", str_of(""));
    ok(ask_loop(b->loop), "%s: both end", b->via);
    ok(!c.fail && !d.fail && c.status == 0 && d.status == 0, "%s: well (%s%s)", b->via, c.text,
       d.text);
    is_int(counts(b).connections, 1, "%s: never more than one connection", b->via);
    closed_is(&lines, "\"room for another\"", b->via);
    ssh_pool_free(b->pool);
    b->o.max_connections = 0;
    ask_done(&a);
    ask_done(&c);
    ask_done(&d);
}

struct answer {
    struct loop *loop;
    int n;
    bool alive;
    char text[600];
};

static void on_answer(void *arg, bool alive, const char *text)
{
    struct answer *a = arg;
    a->n++;
    a->alive = alive;
    snprintf(a->text, sizeof a->text, "%s", text);
    loop_stop(a->loop);
}

static void probe(struct bed *b, const struct ssh_target *t, bool alive, const char *text,
                  const char *what)
{
    struct answer a = {.loop = b->loop};
    struct ssh_probe *q;
    is_int(ssh_probe(b->pool, t, 20000, on_answer, &a, &q, NULL), 0, "%s: probe: %s", b->via, what);
    is_int(a.n, 0, "%s: %s: no answer before the call is over", b->via, what);
    ok(ask_loop(b->loop) && a.n == 1, "%s: %s: one answer", b->via, what);
    ok(a.alive == alive, "%s: %s: alive is %d (%s)", b->via, what, alive, a.text);
    has_text(a.text, text, "%s: %s: the text", b->via, what);
}

static void test_probe(struct bed *b)
{
    struct ask a = {0};
    struct ssh_target t = sshd_target(b->server, &b->identity), dead = t;
    pool_open(b);
    probe(b, &t, true, "greets", "a server that is not connected");
    is_int(counts(b).connects, 0, "%s: nobody logged in for that", b->via);
    dead.name = "dead";
    dead.port = sshd_closed_port();
    probe(b, &dead, false, "port", "nobody");
    ask(&a, b->loop, b->pool, &t, "echo in", str_of(""));
    probe(b, &t, true, b->o.via == SSH_VIA_LIBSSH ? "kept" : "greets", "a server that is");
    const char *const two[] = {"127.0.0.2", "127.0.0.1"};
    struct ssh_target second = t;
    second.name = "second";
    second.addresses = two;
    second.n_addresses = 2;
    probe(b, &second, true, "greets", "the second address");
    struct answer closed = {.loop = b->loop};
    struct ssh_probe *q;
    is_int(ssh_probe(b->pool, &t, 20000, on_answer, &closed, &q, NULL), 0, "%s: one more", b->via);
    ssh_probe_close(q);
    if (b->o.via == SSH_VIA_OPENSSH) {
        struct ssh_target configured = t;
        char *config = fs_join(b->keys->dir, "ssh_config");
        fs_write_atomic(config, "", 0, 0600, NULL);
        configured.name = "configured";
        configured.config = config;
        probe(b, &configured, true, "stands", "a target with a configuration");
        free(config);
    }
    is_int(closed.n, 0, "%s: a closed probe is not answered", b->via);
    ssh_pool_free(b->pool);
    ask_done(&a);
}

static void refuse(struct bed *b, struct ssh_target t, const char *text)
{
    struct ask a = {0};
    is_int(ask_begin(&a, b->loop, b->pool, &t, "echo in", str_of("")), -ERR_INVALID,
           "%s: refused: %s", b->via, text);
    has_text(a.text, text, "%s: and said so", b->via);
}

static void test_targets(struct bed *b)
{
    struct ssh_target good = sshd_target(b->server, &b->identity), t = good;
    const char *const option[] = {"-oProxyCommand=true"}, *const quoted[] = {"/a\"b"};
    pool_open(b);
    t.n_addresses = 0;
    refuse(b, t, "0 addresses");
    t = good;
    t.addresses = option;
    refuse(b, t, "is not an address");
    t = good;
    t.user = "a b";
    refuse(b, t, "is not a user");
    t = good;
    t.identities = quoted;
    refuse(b, t, "key file");
    t = good;
    t.host_keys = "ssh-ed25519 notbase64!";
    refuse(b, t, "host key");
    t = good;
    t.jump = "$(reboot)";
    refuse(b, t, "jump host");
    t = good;
    t.kex = "a b";
    refuse(b, t, "key exchanges");
    t = good;
    t.config = b->o.via == SSH_VIA_LIBSSH ? "/etc/ssh/x" : "-x";
    refuse(b, t, b->o.via == SSH_VIA_LIBSSH ? "needs OpenSSH" : "configuration file");
    ssh_pool_free(b->pool);
}

static size_t known_files(const char *dir)
{
    size_t n = 0;
    DIR *d = opendir(dir);
    for (const struct dirent *f; d && (f = readdir(d));)
        n += f->d_name[0] == 'k';
    if (d)
        closedir(d);
    return n;
}

static void stop_loop(void *loop)
{
    loop_stop(loop);
}

/* Machines that had the same name, one after the other. */
static void test_lives(struct bed *b)
{
    struct ssh_target old = sshd_target(b->server, &b->identity), now = old;
    int left = 2;
    struct ask waits = {.left = &left}, refused = {.left = &left}, again = {0};
    pool_open(b);
    old.life = 1;
    now.life = 2;
    now.host_keys = b->keys->other_line;
    ask_begin(&waits, b->loop, b->pool, &old, "echo old", str_of(""));
    ask_begin(&refused, b->loop, b->pool, &now, "echo now", str_of(""));
    ssh_pool_forget(b->pool, old.name, old.life);
    ok(ask_loop(b->loop), "%s: two of one name", b->via);
    ok(waits.fail == SSH_FAIL_NONE && str_is(buf_str(&waits.out), "old\n"),
       "%s: what waits for the first runs there, though it was forgotten meanwhile", b->via);
    is_int(refused.fail, SSH_FAIL_HOST_KEY, "%s: the second must show a key of its own", b->via);
    ssh_pool_forget(b->pool, now.name, now.life);
    now.host_keys = "";
    ask(&again, b->loop, b->pool, &now, "echo now", str_of(""));
    is_int(again.fail, SSH_FAIL_NONE, "%s: forgotten, it begins anew", b->via);
    ssh_pool_forget(b->pool, old.name, old.life);
    ssh_pool_forget(b->pool, now.name, now.life);
    for (int i = 0; i < 3; i++) { /* what is posted, and what that posts */
        loop_post(b->loop, stop_loop, b->loop);
        loop_run(b->loop);
    }
    is_int(counts(b).connections, 0, "%s: connections to who is forgotten end", b->via);
    is_int(known_files(b->dir), 0, "%s: and nothing else of it is left", b->via);
    ssh_pool_free(b->pool);
    ask_done(&waits);
    ask_done(&refused);
    ask_done(&again);
}

/* With a pool in all states: nothing is told, nothing is left. */
static void test_free(struct bed *b)
{
    struct ask a = {.stop_at = 3}, waits = {0}, connects = {0};
    struct ssh_target t = sshd_target(b->server, &b->identity), u = t;
    u.name = "node2";
    b->o.sessions_per_connection = b->o.connections_per_target = 1;
    pool_open(b);
    ask_begin(&a, b->loop, b->pool, &t, "echo in; exec sleep 5", str_of(""));
    ask_begin(&waits, b->loop, b->pool, &t, "echo never", str_of(""));
    ok(ask_loop(b->loop), "%s: one runs, one waits", b->via);
    ask_begin(&connects, b->loop, b->pool, &u, "echo never", str_of(""));
    ssh_pool_forget(b->pool, "node1", 0);
    ssh_pool_forget(b->pool, "nobody", 0);
    ssh_pool_free(b->pool);
    is_int(a.ends + waits.ends + connects.ends, 0, "%s: a pool that ends tells nothing", b->via);
    b->o.sessions_per_connection = b->o.connections_per_target = 0;
    ask_done(&a);
    ask_done(&waits);
    ask_done(&connects);
}

static void test_all(struct bed *b, enum ssh_via via)
{
    b->o = (struct ssh_pool_options){.via = via};
    b->via = via == SSH_VIA_LIBSSH ? "libssh" : "openssh";
    test_host_keys(b);
    test_login(b);
    test_addresses(b);
    test_timeout(b);
    test_lost(b);
    test_silence(b);
    test_quiet(b);
    test_no_session(b);
    test_idle(b);
    test_limit(b);
    test_probe(b);
    test_targets(b);
    test_lives(b);
    test_free(b);
}

int main(void)
{
    struct bed b = {.keys = sshd_keys_new(), .loop = loop_new()};
    if (b.keys) {
        b.identity = b.keys->user_key;
        b.server = sshd_new(b.keys, "");
        test_all(&b, SSH_VIA_LIBSSH);
        test_all(&b, SSH_VIA_OPENSSH);
        sshd_free(b.server);
        sshd_keys_free(b.keys);
        free(b.dir);
    }
    loop_free(b.loop);
    return tap_done();
}
