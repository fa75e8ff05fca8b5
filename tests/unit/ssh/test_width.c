/* test_width.c - many targets at once, and which transport they get */
/* SPDX-License-Identifier: Apache-2.0 */
#include <sys/resource.h>
#include <unistd.h>

#include "base/alloc.h"
#include "sshd.h"
#include "tap.h"
#include "workdir.h"

struct crowd {
    size_t n;
    struct ask *asks;
    struct ssh_target *targets;
    char (*names)[16];
};

static struct crowd crowd_new(const struct ssh_target *t, size_t n)
{
    struct crowd c = {n, xcalloc(n, sizeof *c.asks), xcalloc(n, sizeof *c.targets),
                      xcalloc(n, sizeof *c.names)};
    for (size_t i = 0; i < n; i++) {
        snprintf(c.names[i], sizeof c.names[i], "node%zu", i);
        c.targets[i] = *t;
        c.targets[i].name = c.names[i];
    }
    return c;
}

static void crowd_free(struct crowd *c)
{
    for (size_t i = 0; i < c->n; i++)
        ask_done(&c->asks[i]);
    free(c->asks);
    free(c->targets);
    free(c->names);
}

/* Masters are seen as control sockets in the run directory. */
static int sockets(const char *dir, uint32_t most)
{
    char path[600];
    int n = 0;
    for (uint32_t i = 0; i < most; i++) {
        snprintf(path, sizeof path, "%s/m%x", dir, i);
        n += access(path, F_OK) == 0;
    }
    return n;
}

static void test_width(struct loop *l, const struct ssh_target *t, enum ssh_via via, size_t n,
                       int masters, const char *what)
{
    struct err e = {0};
    struct ssh_pool *pool = NULL;
    struct ssh_counts counts;
    char *dir = workdir_new("ssh");
    const struct ssh_pool_options o = {.via = via, .run_dir = dir, .connect_timeout_ms = 60000};
    is_int(ssh_pool_new(l, &o, &pool, &e), 0, "%s: a pool", what);
    struct crowd c = crowd_new(t, n);
    size_t good = 0;
    for (int round = 0; round < 2; round++) {
        int left = (int)n;
        good = 0;
        for (size_t i = 0; i < n; i++) {
            ask_done(&c.asks[i]);
            c.asks[i] = (struct ask){.left = &left};
            ask_begin(&c.asks[i], l, pool, &c.targets[i], "cat", str_of(c.names[i]));
        }
        ok(ask_loop(l), "%s: round %d ends", what, round);
        for (size_t i = 0; i < n; i++) {
            good += c.asks[i].ends == 1 && c.asks[i].status == 0 &&
                    !strcmp(buf_str(&c.asks[i].out).s, c.names[i]);
            if (c.asks[i].fail)
                note("%s", c.asks[i].text);
        }
        is_int(good, n, "%s: round %d: each gets its own answer", what, round);
        ssh_pool_counts(pool, &counts);
        is_int(counts.connections, n, "%s: round %d: a connection each", what, round);
        is_int(counts.connects, n, "%s: round %d: made once", what, round);
    }
    is_int(sockets(dir, (uint32_t)n + 8), masters, "%s: %d masters", what, masters);
    ssh_pool_free(pool);
    is_int(sockets(dir, (uint32_t)n + 8), 0, "%s: no control socket is left", what);
    crowd_free(&c);
    free(dir);
}

/* Fewer descriptors than it takes: some fail, each is told, none ran, and nothing is broken. */
static void test_exhaustion(struct loop *l, const struct ssh_target *t, enum ssh_via via,
                            const char *what)
{
    enum { MANY = 40, SPARE = 24 };
    struct err e = {0};
    struct ssh_pool *pool = NULL;
    struct rlimit had, few;
    struct crowd c = crowd_new(t, MANY);
    struct ask after = {0};
    int left = MANY, good = 0, full = 0, top = dup(STDIN_FILENO);
    char *dir = workdir_new("ssh");
    const struct ssh_pool_options o = {.via = via, .run_dir = dir};
    is_int(ssh_pool_new(l, &o, &pool, &e), 0, "%s: a pool", what);
    for (size_t i = 0; i < MANY; i++) {
        c.asks[i].left = &left;
        ask_begin(&c.asks[i], l, pool, &c.targets[i], "echo in", str_of(""));
    }
    getrlimit(RLIMIT_NOFILE, &had);
    few = had;
    few.rlim_cur = (rlim_t)top + SPARE;
    setrlimit(RLIMIT_NOFILE, &few);
    ok(ask_loop(l), "%s: all end", what);
    setrlimit(RLIMIT_NOFILE, &had);
    for (size_t i = 0; i < MANY; i++) {
        const struct ask *a = &c.asks[i];
        good += a->ends == 1 && !a->fail && a->status == 0;
        full += a->ends == 1 && a->fail == SSH_FAIL_LIMIT && !a->ran;
        if (a->fail && a->fail != SSH_FAIL_LIMIT)
            note("%s: %s", ssh_fail_name(a->fail), a->text);
    }
    is_int(good + full, MANY, "%s: each ran, or knows that it did not", what);
    ok(full > 0, "%s: %d found no room", what, full);
    ask(&after, l, pool, &c.targets[MANY - 1], "echo after", str_of(""));
    is_text(buf_str(&after.out).s, "after\n", "%s: with room again it works (%s)", what,
            after.text);
    ssh_pool_free(pool);
    ask_done(&after);
    crowd_free(&c);
    close(top);
    free(dir);
}

int main(void)
{
    struct sshd_keys *keys = sshd_keys_new();
    struct loop *l = loop_new();
    if (keys) {
        struct sshd *d = sshd_new(keys, "");
        const char *identity = keys->user_key;
        const struct ssh_target t = sshd_target(d, &identity);
        test_width(l, &t, SSH_VIA_LIBSSH, 100, 0, "libssh, 100");
        test_width(l, &t, SSH_VIA_OPENSSH, 40, 40, "openssh, 40");
        test_width(l, &t, SSH_VIA_AUTO, 32, 32, "auto, 32");
        test_width(l, &t, SSH_VIA_AUTO, 33, 0, "auto, 33");
        test_exhaustion(l, &t, SSH_VIA_LIBSSH, "libssh, no descriptors");
        test_exhaustion(l, &t, SSH_VIA_OPENSSH, "openssh, no descriptors");
        sshd_free(d);
        sshd_keys_free(keys);
    }
    loop_free(l);
    return tap_done();
}
