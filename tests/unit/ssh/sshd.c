/* sshd.c - see sshd.h */
/* SPDX-License-Identifier: Apache-2.0 */
#include "sshd.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "sys/fs.h"
#include "tap.h"
#include "workdir.h"

enum { GUARD_MS = 60000, PIPE_BYTES = 1 << 20 };
static const char sshd_program[] = "/usr/sbin/sshd";

static void bail(const char *what)
{
    printf("Bail out! %s\n", what);
    exit(1);
}

const char *sshd_user(void)
{
    const struct passwd *pw = getpwuid(geteuid());
    if (!pw)
        bail("whoever runs the test has no name");
    return pw->pw_name;
}

static void run(const char *const *argv)
{
    int status = -1;
    pid_t pid = fork();
    if (pid == 0) {
        execvp(argv[0], (char *const *)argv);
        _exit(127);
    }
    if (pid < 0 || waitpid(pid, &status, 0) != pid || status)
        bail(argv[0]);
}

static char *key_of_type(const char *dir, const char *name, const char *type, const char *phrase)
{
    char *path = fs_join(dir, name);
    run((const char *const[]){"ssh-keygen", "-q", "-t", type, "-N", phrase, "-C", name, "-f", path,
                              NULL});
    return path;
}

static char *key_new(const char *dir, const char *name)
{
    return key_of_type(dir, name, "ed25519", "");
}

/* The first two words of the public key. */
static char *key_line(const char *path)
{
    SCOPED_BUF(name);
    SCOPED_BUF(text);
    buf_printf(&name, "%s.pub", path);
    if (fs_read(name.data, 65536, &text, NULL))
        bail("no public key");
    char *second = strchr(text.data, ' '), *end = second ? strchr(second + 1, ' ') : NULL;
    return xstrndup(text.data, end ? (size_t)(end - text.data) : text.len);
}

struct sshd_keys *sshd_keys_new(void)
{
    if (access(sshd_program, X_OK)) {
        skip("there is no sshd program");
        return NULL;
    }
    struct sshd_keys *k = xcalloc(1, sizeof *k);
    k->dir = workdir_new("sshd");
    k->user_key = key_new(k->dir, "user");
    k->cert_key = key_new(k->dir, "cert");
    k->wrong_key = key_new(k->dir, "wrong");
    char *host = key_new(k->dir, "host"), *other = key_new(k->dir, "other");
    char *ca = key_new(k->dir, "ca");
    SCOPED_BUF(pub);
    buf_printf(&pub, "%s.pub", k->cert_key);
    run((const char *const[]){"ssh-keygen", "-q", "-s", ca, "-I", "test", "-n", sshd_user(),
                              pub.data, NULL});
    k->rsa_key = key_of_type(k->dir, "rsa", "rsa", "");
    k->ecdsa_key = key_of_type(k->dir, "ecdsa", "ecdsa", "");
    k->locked_key = key_of_type(k->dir, "locked", "ed25519", "a phrase");
    char *rsa_host = key_of_type(k->dir, "rsa_host", "rsa", "");
    k->rsa_host_line = key_line(rsa_host);
    free(rsa_host);
    k->host_line = key_line(host);
    k->other_line = key_line(other);
    free(host);
    free(other);
    free(ca);
    return k;
}

void sshd_keys_free(struct sshd_keys *k)
{
    free(k->dir);
    free(k->user_key);
    free(k->cert_key);
    free(k->wrong_key);
    free(k->rsa_key);
    free(k->ecdsa_key);
    free(k->locked_key);
    free(k->rsa_host_line);
    free(k->host_line);
    free(k->other_line);
    free(k);
}

uint16_t sshd_closed_port(void)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof at;
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&at, n) || getsockname(fd, (void *)&at, &n))
        bail("no free port");
    close(fd);
    return ntohs(at.sin_port);
}

/* NULL if the writer ended without it, or says nothing for too long. */
static char *read_until(int fd, const char *text)
{
    SCOPED_BUF(seen);
    char bytes[512];
    ssize_t n;
    struct pollfd waits = {.fd = fd, .events = POLLIN};
    while (poll(&waits, 1, GUARD_MS) > 0 && (n = read(fd, bytes, sizeof bytes)) > 0) {
        buf_put(&seen, bytes, (size_t)n);
        if (strstr(seen.data, text))
            return buf_take(&seen, NULL);
    }
    return NULL;
}

char *sshd_log_until(struct sshd *d, const char *text)
{
    return read_until(d->log_fd, text);
}

/* True once it listens; false if it ended, because somebody else took the port. */
static bool listens(int fd)
{
    char *seen = read_until(fd, "Server listening");
    free(seen);
    return seen != NULL;
}

static bool start(struct sshd *d)
{
    char port[8];
    int fd[2];
    snprintf(port, sizeof port, "%u", d->port);
    if (pipe2(fd, O_CLOEXEC))
        bail("no pipe");
    (void)fcntl(fd[0], F_SETPIPE_SZ, PIPE_BYTES); /* its log: nobody reads it */
    d->pid = fork();
    if (d->pid == 0) {
        dup2(fd[1], STDERR_FILENO);
        (void)prctl(PR_SET_PDEATHSIG, SIGTERM); /* it goes with the test, however that ends */
        execl(sshd_program, sshd_program, "-D", "-e", "-f", d->config, "-p", port, (char *)NULL);
        _exit(127);
    }
    close(fd[1]);
    if (listens(fd[0])) {
        d->log_fd = fd[0];
        return true;
    }
    close(fd[0]);
    (void)waitpid(d->pid, NULL, 0);
    return false;
}

/* SHLVL: Debian's bash would read ~/.bashrc for every command. */
static void configure(struct sshd *d, const struct sshd_keys *k, const char *more_config)
{
    static const char *const accepted[] = {"user", "rsa", "ecdsa", "locked"};
    static int number;
    SCOPED_BUF(b);
    char name[32];
    if (geteuid() == 0)
        (void)mkdir("/run/sshd", 0755); /* where Debian's sshd wants to be caged */
    buf_printf(&b, "%s\nListenAddress 127.0.0.1\nHostKey %s/host\n", more_config, k->dir);
    buf_puts(&b, "AuthorizedKeysFile");
    for (size_t i = 0; i < sizeof accepted / sizeof *accepted; i++)
        buf_printf(&b, " %s/%s.pub", k->dir, accepted[i]);
    buf_printf(&b, "\nTrustedUserCAKeys %s/ca.pub\n", k->dir);
    buf_puts(&b, "UsePAM no\nStrictModes no\nPidFile none\nPasswordAuthentication no\n"
                 "KbdInteractiveAuthentication no\nPermitRootLogin prohibit-password\n"
                 "MaxStartups 2000\nUseDNS no\nSetEnv SHLVL=9\nPrintMotd no\n");
    snprintf(name, sizeof name, "config%d", number++);
    d->config = fs_join(k->dir, name);
    if (fs_write_atomic(d->config, b.data, b.len, 0600, NULL))
        bail("no configuration");
}

struct sshd *sshd_new(const struct sshd_keys *k, const char *more_config)
{
    struct sshd *d = xcalloc(1, sizeof *d);
    configure(d, k, more_config);
    for (int i = 0; i < 10; i++) {
        d->port = sshd_closed_port();
        if (start(d))
            return d;
    }
    bail("sshd does not start");
    return NULL;
}

static void end(struct sshd *d)
{
    kill(d->pid, SIGTERM);
    (void)waitpid(d->pid, NULL, 0);
    close(d->log_fd);
    free(d->config);
}

void sshd_replace(struct sshd *d, const struct sshd_keys *k)
{
    end(d);
    configure(d, k, "");
    if (!start(d))
        bail("sshd does not start again");
}

void sshd_free(struct sshd *d)
{
    end(d);
    free(d);
}

struct ssh_target sshd_target(const struct sshd *d, const char *const *identity)
{
    static const char *const loopback[] = {"127.0.0.1"};
    return (struct ssh_target){.name = "node1",
                               .addresses = loopback,
                               .n_addresses = 1,
                               .port = d->port,
                               .user = sshd_user(),
                               .identities = identity,
                               .n_identities = identity && *identity ? 1 : 0,
                               .kex = "curve25519-sha256"};
}

static void on_output(void *arg, int stream, const char *p, size_t n)
{
    struct ask *a = arg;
    struct ssh_counts c;
    ssh_pool_counts(a->pool, &c);
    a->most = c.sessions > a->most ? c.sessions : a->most;
    buf_put(stream == 1 ? &a->out : &a->err, p, n);
    if (!a->stop_at || a->out.len + a->err.len < a->stop_at)
        return;
    a->stop_at = 0;
    if (a->close_then) {
        ssh_run_close(a->run);
        a->run = NULL;
    }
    loop_stop(a->loop);
}

static void on_end(void *arg, const struct ssh_end *end)
{
    struct ask *a = arg;
    a->ends++;
    a->ran = end->ran;
    a->fail = end->fail;
    a->status = end->status;
    snprintf(a->signal, sizeof a->signal, "%s", end->signal);
    snprintf(a->text, sizeof a->text, "%s", end->text);
    ssh_run_close(a->run); /* nothing, and harmless */
    a->run = NULL;
    if (!a->left || --*a->left == 0)
        loop_stop(a->loop);
}

int ask_begin(struct ask *a, struct loop *l, struct ssh_pool *p, const struct ssh_target *t,
              const char *command, struct str input)
{
    struct err e = {0};
    const struct ssh_exec_spec spec = {.target = t,
                                       .command = command,
                                       .input = input,
                                       .on_output = on_output,
                                       .on_end = on_end,
                                       .arg = a};
    a->loop = l;
    a->pool = p;
    int rc = ssh_exec(p, &spec, &a->run, &e);
    if (rc)
        snprintf(a->text, sizeof a->text, "%s", e.text);
    return rc;
}

struct guard {
    struct loop *loop;
    bool fired;
};

static void on_guard(void *arg)
{
    struct guard *g = arg;
    g->fired = true;
    loop_stop(g->loop);
}

bool ask_loop(struct loop *l)
{
    struct guard g = {l, false};
    struct loop_timer *t = loop_timer_new(l, on_guard, &g);
    loop_timer_at(t, loop_now_ms(l) + GUARD_MS);
    loop_run(l);
    loop_timer_free(t);
    return !g.fired;
}

void ask(struct ask *a, struct loop *l, struct ssh_pool *p, const struct ssh_target *t,
         const char *command, struct str input)
{
    if (ask_begin(a, l, p, t, command, input))
        bail(a->text);
    if (!ask_loop(l))
        note("guard: the command did not end in time");
}

void ask_done(struct ask *a)
{
    buf_done(&a->out);
    buf_done(&a->err);
}
