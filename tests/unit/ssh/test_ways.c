/* test_ways.c - the ways that only some sites have: an agent, a jump host, a configuration */
/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "sshd.h"
#include "sys/fs.h"
#include "tap.h"
#include "workdir.h"

struct bed {
    struct sshd_keys *keys;
    struct sshd *server;
    struct loop *loop;
    const char *identity;
};

static void expect(struct bed *b, enum ssh_via via, const struct ssh_target *t, enum ssh_fail fail,
                   const char *what)
{
    struct ask a = {0};
    struct err e = {0};
    struct ssh_pool *pool = NULL;
    char *dir = workdir_new("ssh");
    const struct ssh_pool_options o = {.via = via, .run_dir = dir};
    is_int(ssh_pool_new(b->loop, &o, &pool, &e), 0, "%s: a pool", what);
    ask(&a, b->loop, pool, t, "cat", str_of("in"));
    is_text(ssh_fail_name(a.fail), ssh_fail_name(fail), "%s (%s)", what, a.text);
    is_text(buf_str(&a.out).s, fail ? "" : "in", "%s: output", what);
    ssh_pool_free(pool);
    ask_done(&a);
    free(dir);
}

/* An agent of our own with the user's key; its process. */
static pid_t agent_start(const struct bed *b)
{
    char *path = fs_join(b->keys->dir, "agent"), word[64];
    int fd[2], status = -1;
    if (pipe2(fd, O_CLOEXEC))
        return -1;
    pid_t agent = fork();
    if (agent == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGTERM);
        dup2(fd[1], STDOUT_FILENO);
        execlp("ssh-agent", "ssh-agent", "-D", "-a", path, (char *)NULL);
        _exit(127);
    }
    close(fd[1]);
    ok(read(fd[0], word, sizeof word) > 0, "an agent listens");
    close(fd[0]);
    setenv("SSH_AUTH_SOCK", path, 1);
    pid_t add = fork();
    if (add == 0) {
        execlp("ssh-add", "ssh-add", "-q", b->keys->user_key, (char *)NULL);
        _exit(127);
    }
    ok(waitpid(add, &status, 0) == add && status == 0, "and has a key");
    free(path);
    return agent;
}

static void test_agent(struct bed *b)
{
    const char *none = NULL, *wrong = b->keys->wrong_key;
    struct ssh_target t = sshd_target(b->server, &none);
    pid_t agent = agent_start(b);
    expect(b, SSH_VIA_LIBSSH, &t, SSH_FAIL_AUTH, "libssh: an agent that is not asked");
    expect(b, SSH_VIA_OPENSSH, &t, SSH_FAIL_AUTH, "openssh: an agent that is not asked");
    t.agent = true;
    expect(b, SSH_VIA_LIBSSH, &t, SSH_FAIL_NONE, "libssh: the agent's key");
    expect(b, SSH_VIA_OPENSSH, &t, SSH_FAIL_NONE, "openssh: the agent's key");
    t = sshd_target(b->server, &wrong);
    t.agent = true;
    expect(b, SSH_VIA_LIBSSH, &t, SSH_FAIL_NONE, "libssh: the agent behind a wrong key");
    expect(b, SSH_VIA_OPENSSH, &t, SSH_FAIL_NONE, "openssh: the agent behind a wrong key");
    kill(agent, SIGTERM);
    (void)waitpid(agent, NULL, 0);
    expect(b, SSH_VIA_LIBSSH, &t, SSH_FAIL_AUTH, "libssh: an agent that is gone");
    unsetenv("SSH_AUTH_SOCK");
}

static void test_jump(struct bed *b)
{
    struct sshd *behind = sshd_new(b->keys, ""), *jumped = sshd_new(b->keys, "");
    struct ssh_target t = sshd_target(behind, &b->identity);
    char jump[128];
    snprintf(jump, sizeof jump, "%s@127.0.0.1:%u", sshd_user(), jumped->port);
    t.jump = jump;
    expect(b, SSH_VIA_AUTO, &t, SSH_FAIL_NONE, "over a jump host");
    char *log = sshd_log_until(jumped, "Accepted publickey");
    ok(log != NULL, "which let us through");
    free(log);
    snprintf(jump, sizeof jump, "[127.0.0.1]:%u", sshd_closed_port());
    expect(b, SSH_VIA_AUTO, &t, SSH_FAIL_UNREACHABLE, "over a jump host that is not there");
    sshd_free(behind);
    sshd_free(jumped);
}

/* The name, port, user and key of a machine are in the site's configuration only. */
static void test_config(struct bed *b)
{
    static const char *const alias[] = {"the-machine"};
    const char *none = NULL;
    struct ssh_target t = sshd_target(b->server, &none);
    char *path = fs_join(b->keys->dir, "site_config");
    SCOPED_BUF(text);
    buf_printf(&text, "Host the-machine\n  HostName 127.0.0.1\n  IdentityFile %s\n", b->identity);
    buf_puts(&text, "  RemoteForward 1 localhost:1\n  ControlPath none\n  RequestTTY force\n");
    fs_write_atomic(path, text.data, text.len, 0600, NULL);
    t.addresses = alias;
    expect(b, SSH_VIA_OPENSSH, &t, SSH_FAIL_UNREACHABLE, "without the configuration");
    t.config = path;
    expect(b, SSH_VIA_AUTO, &t, SSH_FAIL_NONE, "a machine that the configuration knows");
    t.host_keys = b->keys->other_line;
    expect(b, SSH_VIA_AUTO, &t, SSH_FAIL_HOST_KEY, "whose pinned key counts all the same");
    free(path);
}

int main(void)
{
    struct bed b = {.keys = sshd_keys_new(), .loop = loop_new()};
    if (b.keys) {
        b.identity = b.keys->user_key;
        b.server = sshd_new(b.keys, "");
        test_agent(&b);
        test_jump(&b);
        test_config(&b);
        sshd_free(b.server);
        sshd_keys_free(b.keys);
    }
    loop_free(b.loop);
    return tap_done();
}
