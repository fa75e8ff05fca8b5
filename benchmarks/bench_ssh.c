/* bench_ssh.c - connections in numbers: how fast, at what price, and commands over those that stand
 *
 * All targets are one sshd on loopback, which shares the processors: rates are those of both sides,
 * prices our side's alone.  libssh at 200 and at 1,000 targets, OpenSSH masters at 200.  Memory is
 * the proportional set size, of this process and of the masters.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/alloc.h"
#include "figures.h"
#include "sys/fs.h"
#include "ssh/sshd.h"
#include "workdir.h"

struct bench_width {
    struct loop *loop;
    struct ssh_pool *pool;
    struct ssh_target *targets;
    struct ask *asks;
    size_t n;
};

static double bench_cpu_s(int who)
{
    struct rusage u;
    getrusage(who, &u);
    return (double)u.ru_utime.tv_sec + (double)u.ru_stime.tv_sec +
           (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

static long bench_pss_kb(const char *pid)
{
    char path[64], line[256];
    long kb = 0;
    snprintf(path, sizeof path, "/proc/%s/smaps_rollup", pid);
    FILE *f = fopen(path, "r");
    while (f && fgets(line, sizeof line, f))
        if (!strncmp(line, "Pss:", 4))
            kb = strtol(line + 4, NULL, 10);
    if (f)
        fclose(f);
    return kb;
}

/* Our children that are masters, and what they have used so far. */
static size_t bench_masters(long *ret_pss_kb, double *ret_cpu_s)
{
    size_t n = 0;
    DIR *dir = opendir("/proc");
    const struct dirent *d;
    while (dir && (d = readdir(dir))) {
        char path[300], text[1024];
        unsigned long user, system;
        int parent;
        snprintf(path, sizeof path, "/proc/%s/stat", d->d_name);
        FILE *f = *d->d_name >= '1' && *d->d_name <= '9' ? fopen(path, "r") : NULL;
        size_t got = f ? fread(text, 1, sizeof text - 1, f) : 0;
        text[got] = '\0';
        if (f)
            fclose(f);
        const char *rest = strstr(text, "(ssh) ");
        if (!rest || sscanf(rest + 6, "%*c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &parent,
                            &user, &system) != 3)
            continue;
        if (parent != getpid())
            continue;
        n++;
        *ret_pss_kb += bench_pss_kb(d->d_name);
        *ret_cpu_s += (double)(user + system) / (double)sysconf(_SC_CLK_TCK);
    }
    if (dir)
        closedir(dir);
    return n;
}

static void bench_round(struct bench_width *w, const char *command)
{
    int left = (int)w->n;
    size_t bad = 0;
    for (size_t i = 0; i < w->n; i++) {
        ask_done(&w->asks[i]);
        w->asks[i] = (struct ask){.left = &left};
        ask_begin(&w->asks[i], w->loop, w->pool, &w->targets[i], command, str_of(""));
    }
    bool ended = ask_loop(w->loop);
    for (size_t i = 0; i < w->n; i++)
        bad += w->asks[i].ends != 1 || w->asks[i].fail || w->asks[i].status;
    if (!ended || bad)
        printf("%zu of %zu commands failed: %s\n", bad, w->n, w->asks[0].text);
}

static void bench_width(struct figures *f, struct loop *l, const struct ssh_target *t,
                        enum ssh_via via, size_t n)
{
    struct bench_width w = {.loop = l, .n = n};
    const char *what = via == SSH_VIA_LIBSSH ? "libssh" : "openssh";
    char name[64], *dir = workdir_new("ssh");
    const struct ssh_pool_options o = {
        .via = via, .run_dir = dir, .connect_timeout_ms = 60000, .max_connections = 2000};
    struct err e;
    if (ssh_pool_new(l, &o, &w.pool, &e))
        exit(1);
    w.targets = xcalloc(n, sizeof *w.targets);
    w.asks = xcalloc(n, sizeof *w.asks);
    char(*names)[16] = xcalloc(n, sizeof *names);
    for (size_t i = 0; i < n; i++) {
        snprintf(names[i], sizeof names[i], "node%zu", i);
        w.targets[i] = *t;
        w.targets[i].name = names[i];
    }
    long before_kb = bench_pss_kb("self"), masters_kb = 0;
    double cpu = bench_cpu_s(RUSAGE_SELF), at = now_s(), masters_s = 0;
    bench_round(&w, "true");
    double took = now_s() - at;
    cpu = bench_cpu_s(RUSAGE_SELF) - cpu;
    bench_masters(&masters_kb, &masters_s);
    long after_kb = bench_pss_kb("self") - before_kb + masters_kb;
    bool lib = via == SSH_VIA_LIBSSH;
    snprintf(name, sizeof name, "%s, %zu targets: cold", what, n);
    figure_seen(name, took, "s");
    snprintf(name, sizeof name, "%s, %zu targets: connects and commands", what, n);
    figure_seen(name, (double)n / took, "1/s");
    snprintf(name, sizeof name, "%s, %zu targets: processor a connection", what, n);
    figure(f, name, (cpu + masters_s) * 1000 / (double)n, AT_MOST, lib ? 2 : 20, "ms", NULL);
    snprintf(name, sizeof name, "%s, %zu targets: memory a connection", what, n);
    figure(f, name, (double)after_kb / (double)n, AT_MOST, lib ? 40 : 1500, "kB", NULL);
    at = now_s();
    cpu = bench_cpu_s(RUSAGE_SELF);
    for (int i = 0; i < 5; i++)
        bench_round(&w, "true");
    took = now_s() - at;
    snprintf(name, sizeof name, "%s, %zu targets: kept, commands", what, n);
    figure_seen(name, (double)n * 5 / took, "1/s");
    snprintf(name, sizeof name, "%s, %zu targets: kept, processor a command", what, n);
    figure_seen(name, (bench_cpu_s(RUSAGE_SELF) - cpu) * 1e6 / (double)(n * 5), "us");
    ssh_pool_free(w.pool);
    for (size_t i = 0; i < n; i++)
        ask_done(&w.asks[i]);
    free(w.targets);
    free(w.asks);
    free(names);
    free(dir);
}

int main(void)
{
    struct figures f = {0};
    struct sshd_keys *keys = sshd_keys_new();
    if (!keys)
        return 0;
    struct loop *l = loop_new();
    struct sshd *d = sshd_new(keys, "");
    const char *identity = keys->user_key;
    const struct ssh_target t = sshd_target(d, &identity);
    bench_width(&f, l, &t, SSH_VIA_LIBSSH, 200);
    bench_width(&f, l, &t, SSH_VIA_LIBSSH, 1000);
    bench_width(&f, l, &t, SSH_VIA_OPENSSH, 200);
    sshd_free(d);
    sshd_keys_free(keys);
    loop_free(l);
    return f.missed != 0;
}
