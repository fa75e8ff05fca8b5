/* test_proc.c - child processes: input, outputs, caps, signals, what they inherit */
/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "base/str.h"
#include "sys/proc.h"
#include "sys/scratch.h"

struct child {
    struct loop *l;
    struct proc *p;
    struct buf out[4]; /* by descriptor */
    struct proc_exit x;
    int exits, signal_on_output;
};

static void on_output(void *arg, int fd, const char *p, size_t n)
{
    struct child *c = arg;
    buf_put(&c->out[fd], p, n);
    if (c->signal_on_output)
        proc_signal(c->p, c->signal_on_output);
}

static void on_exit_(void *arg, const struct proc_exit *x)
{
    struct child *c = arg;
    c->x = *x;
    c->exits++;
    proc_signal(c->p, SIGKILL); /* must be harmless now */
    proc_free(c->p);
    c->p = NULL;
    loop_stop(c->l);
}

static void child_done(struct child *c)
{
    for (int i = 0; i < 4; i++)
        buf_done(&c->out[i]);
}

/* Runs the spec on a loop of its own; 0 or the error of proc_spawn(). */
static int run(struct child *c, struct proc_spec s, struct err *e)
{
    s.on_output = on_output;
    s.on_exit = on_exit_;
    s.arg = c;
    if (!c->l)
        c->l = loop_new();
    int rc = proc_spawn(c->l, &s, &c->p, e);
    if (rc == 0)
        scratch_run(c->l);
    loop_free(c->l);
    c->l = NULL;
    return rc;
}
#define SH(text) ((const char *const[]){"/bin/sh", "-c", (text), NULL})

static void test_outputs(void)
{
    struct child c = {0};
    struct err e;
    is_int(run(&c, (struct proc_spec){.argv = SH("echo out; echo err >&2; exit 7")}, &e), 0,
           "spawn");
    is_text(c.out[1].data, "out\n", "standard output is delivered");
    is_text(c.out[2].data, "err\n", "standard error is delivered");
    ok(c.x.code == 7 && c.x.signo == 0 && !c.x.truncated, "exit status 7");
    is_int(c.exits, 1, "one exit");
    child_done(&c);

    c = (struct child){0};
    is_int(run(&c,
               (struct proc_spec){.argv = SH("echo '{\"a\":1}' >&3; echo x"), .max_result = 100},
               &e),
           0, "spawn with a result channel");
    is_text(c.out[3].data, "{\"a\":1}\n", "descriptor 3 is delivered");
    child_done(&c);

    c = (struct child){0};
    run(&c, (struct proc_spec){.argv = SH("kill -SEGV $$")}, &e);
    ok(c.x.code == -1 && c.x.signo == SIGSEGV, "a signal is told apart from an exit");
    child_done(&c);
}

static void test_input(void)
{
    enum { BIG = 300000 };
    struct child c = {0};
    struct err e;
    char *big = xcalloc(BIG, 1); /* zero bytes, more than a pipe takes */
    big[BIG - 1] = 'z';
    run(&c, (struct proc_spec){.argv = (const char *const[]){"cat", NULL}, .input = {big, BIG}},
        &e);
    ok(c.out[1].len == BIG && !memcmp(c.out[1].data, big, BIG),
       "large input arrives whole and exact");
    child_done(&c);

    c = (struct child){0};
    run(&c, (struct proc_spec){.argv = SH("exit 3"), .input = {big, BIG}}, &e);
    is_int(c.x.code, 3, "a child that does not read its input ends normally");
    child_done(&c);

    c = (struct child){0};
    run(&c, (struct proc_spec){.argv = SH("cat; readlink /proc/self/fd/0")}, &e);
    is_text(c.out[1].data, "/dev/null\n", "without input, standard input is /dev/null");
    child_done(&c);

    c = (struct child){0};
    run(&c, (struct proc_spec){.argv = SH("exec <&-; sleep 0.02; exit 4"), .input = {big, BIG}},
        &e);
    is_int(c.x.code, 4, "closing standard input early is fine too");
    child_done(&c);
    free(big);
}

static void test_caps(void)
{
    struct child c = {0};
    struct err e;
    run(&c,
        (struct proc_spec){.argv = SH("head -c 300000 /dev/zero; echo ok >&2; exit 0"),
                           .max_stdout = 1000},
        &e);
    is_int(c.out[1].len, 1000, "output past the cap is dropped");
    is_text(c.out[2].data, "ok\n", "the child is not held up by it");
    ok(c.x.truncated && c.x.code == 0, "and the exit says so");
    child_done(&c);
    c = (struct child){0};
    run(&c, (struct proc_spec){.argv = SH("printf 12345"), .max_stdout = 5}, &e);
    ok(c.out[1].len == 5 && !c.x.truncated, "output as long as the cap is not truncated");
    child_done(&c);
}

static void test_signal(void)
{
    struct child c = {.signal_on_output = SIGTERM};
    struct err e;
    run(&c, (struct proc_spec){.argv = SH("sleep 100 & echo $!; wait")}, &e);
    is_int(c.x.signo, SIGTERM, "a signal reaches the child");
    ok(scratch_gone((pid_t)atoi(c.out[1].data)), "and its whole group");
    child_done(&c);
}

/* With virtual time the two seconds pass as soon as nothing else is ready. */
static void test_linger(void)
{
    struct child c = {.l = loop_new_fake(0)};
    struct err e;
    uint64_t ran_ms;
    struct proc_spec s = {.argv = SH("sleep 100 & echo $!; exit 5"),
                          .on_output = on_output,
                          .on_exit = on_exit_,
                          .arg = &c};
    is_int(proc_spawn(c.l, &s, &c.p, &e), 0, "a child that leaves a process with its outputs");
    loop_run(c.l);
    ran_ms = loop_now_ms(c.l);
    is_int(c.x.code, 5, "its exit is told");
    is_int(ran_ms, 2000, "two seconds after it");
    pid_t left = (pid_t)atoi(c.out[1].data);
    ok(left > 1 && kill(left, 0) == 0, "the process that was left is not ours to kill");
    kill(left, SIGKILL);
    loop_free(c.l);
    child_done(&c);
}

static void test_surroundings(void)
{
    struct child c = {0};
    struct err e;
    char *dir = scratch_new();
    char *real = realpath(dir, NULL);
    run(&c,
        (struct proc_spec){.argv = SH("pwd; echo $A; env | wc -l"),
                           .envp = (const char *const[]){"A=b c", NULL},
                           .cwd = dir},
        &e);
    SCOPED_BUF(want);
    buf_printf(&want, "%s\nb c\n", real);
    has_text(c.out[1].data, want.data, "directory and environment are the given ones");
    child_done(&c);
    free(real);

    int stray = fcntl(0, F_DUPFD, 50); /* not close-on-exec, as a careless library would have it */
    sigset_t usr, before;
    sigemptyset(&usr);
    sigaddset(&usr, SIGUSR1);
    sigprocmask(SIG_BLOCK, &usr, &before);
    c = (struct child){0};
    run(&c,
        (struct proc_spec){
            .argv = SH("echo /proc/$$/fd/*; exec cat /proc/self/stat /proc/self/status"),
            .max_result = 10},
        &e);
    sigprocmask(SIG_SETMASK, &before, NULL);
    close(stray);
    unsigned long long blocked = 1, ignored = ~0ull;
    int pid = -1, group = -2;
    const char *stat = strchr(c.out[1].data, '\n'), *status = strstr(c.out[1].data, "Name:");
    if (stat && status) {
        sscanf(stat + 1, "%d (%*[^)]) %*c %*d %d", &pid, &group);
        sscanf(strstr(status, "SigBlk:"), "SigBlk: %llx", &blocked);
        sscanf(strstr(status, "SigIgn:"), "SigIgn: %llx", &ignored);
    }
    has_text(c.out[1].data, "/fd/2 ", "it has its standard descriptors");
    has_text(c.out[1].data, "/fd/3 ", "and that of results");
    ok(!strstr(c.out[1].data, "/fd/5"), "and, but for the one that lists them, none of ours");
    is_int(blocked, 0, "no blocked signal");
    is_int(ignored & 0x7fffffff, 0, "no ignored signal, SIGPIPE included");
    is_int(group, pid, "the child leads a group of its own");
    child_done(&c);
    scratch_end(dir);
}

static int open_descriptors(void)
{
    char **names;
    size_t n = 0;
    struct err e;
    if (fs_list("/proc/self/fd", &names, &n, &e) < 0)
        return -1;
    for (size_t i = 0; i < n; i++)
        free(names[i]);
    free(names);
    return (int)n;
}

static void test_failures(void)
{
    struct err e = {0};
    struct child c = {0};
    int before = open_descriptors();
    is_int(run(&c, (struct proc_spec){.argv = (const char *const[]){"no-such-program", NULL}}, &e),
           -ERR_NOT_FOUND, "a program that does not exist");
    has_text(e.text, "no-such-program", "is named");
    is_int(run(&c, (struct proc_spec){.argv = (const char *const[]){"/etc/passwd", NULL}}, &e),
           -ERR_FORBIDDEN, "a file that is no program");
    is_int(run(&c, (struct proc_spec){.argv = SH("true"), .cwd = "/no/such/place"}, &e),
           -ERR_NOT_FOUND, "a directory that does not exist");
    has_text(e.text, "/no/such/place", "is named");
    is_int(c.exits, 0, "nothing exits that did not start");
    is_int(open_descriptors(), before, "nothing is left open");
    proc_free(NULL);
}

/* A daemon may run with 0, 1 and 2 closed: the pipes then get the very numbers the child is given.
 */
static void test_low_descriptors(void)
{
    int status = -1;
    pid_t pid = fork();
    if (pid == 0) {
        struct child c = {.l = loop_new()};
        struct err e;
        struct proc_spec s = {.argv = SH("read x; echo out-$x; echo err >&2; echo res >&3"),
                              .input = {"in\n", 3},
                              .max_result = 10,
                              .on_output = on_output,
                              .on_exit = on_exit_,
                              .arg = &c};
        for (int fd = 0; fd < 3; fd++)
            close(fd);
        if (proc_spawn(c.l, &s, &c.p, &e) < 0)
            _exit(9);
        loop_run(c.l);
        _exit(!(c.exits == 1 && c.x.code == 0 && str_is(buf_str(&c.out[1]), "out-in\n") &&
                str_is(buf_str(&c.out[2]), "err\n") && str_is(buf_str(&c.out[3]), "res\n")));
    }
    waitpid(pid, &status, 0);
    is_int(status, 0, "a process without standard descriptors can start children that have them");
}

static void test_exhaustion(void)
{
    struct rlimit old, low;
    struct err e = {0};
    struct child c = {.l = loop_new()};
    struct proc_spec s = {.argv = SH("exit 0"),
                          .input = {"x", 1},
                          .max_result = 1,
                          .on_output = on_output,
                          .on_exit = on_exit_,
                          .arg = &c};
    int base = open_descriptors(), refused = 0, rc = -1, highest;
    getrlimit(RLIMIT_NOFILE, &old);
    highest = dup(0);
    close(highest);
    for (int more = 0; more < 16 && rc < 0; more++) {
        low = (struct rlimit){(rlim_t)(highest + more), old.rlim_max};
        setrlimit(RLIMIT_NOFILE, &low);
        rc = proc_spawn(c.l, &s, &c.p, &e);
        if (rc < 0) {
            refused += e.code == ERR_BUSY;
            setrlimit(RLIMIT_NOFILE, &old);
            is_int(open_descriptors(), base, "with %d descriptors short of enough, none leaks",
                   more);
        }
    }
    setrlimit(RLIMIT_NOFILE, &old);
    ok(refused >= 5, "each shortage of descriptors is ERR_BUSY (%d)", refused);
    is_int(rc, 0, "with enough of them it works");
    scratch_run(c.l);
    is_int(c.exits, 1, "and the child ends");
    loop_free(c.l);
    child_done(&c);
}

struct crowd {
    struct loop *l;
    int left, bad;
    struct proc *p[40];
};
static void on_crowd_exit(void *arg, const struct proc_exit *x)
{
    struct crowd *c = arg;
    c->bad += x->code != 0;
    if (--c->left == 0)
        loop_stop(c->l);
}

static void test_many(void)
{
    struct crowd c = {.l = loop_new(), .left = 40};
    struct err e;
    struct proc_spec s = {.argv = SH("read x; test \"$x\" = hello"),
                          .input = {"hello\n", 6},
                          .on_exit = on_crowd_exit,
                          .arg = &c};
    for (int i = 0; i < 40; i++)
        if (proc_spawn(c.l, &s, &c.p[i], &e) < 0)
            c.bad++, c.left--;
    ok(proc_pid(c.p[0]) > 1, "a child has a number");
    scratch_run(c.l);
    is_int(c.bad + c.left, 0, "40 children at once");
    for (int i = 0; i < 40; i++)
        proc_free(c.p[i]);
    loop_free(c.l);
}

/* For an owner that goes away: at once, with all that the child started, and nothing is told. */
static void test_end(void)
{
    struct child c = {.l = loop_new()};
    struct err e;
    struct proc_spec s = {.argv = SH("trap '' TERM; sleep 60 & echo $!; wait"),
                          .on_output = on_output,
                          .on_exit = on_exit_,
                          .arg = &c};
    is_int(proc_spawn(c.l, &s, &c.p, &e), 0, "a child with a child");
    int pid = proc_pid(c.p);
    struct loop_timer *t = loop_timer_new(c.l, scratch_stop, c.l);
    while (!c.out[1].len) { /* until it said who */
        loop_timer_at(t, loop_now_ms(c.l) + 5);
        loop_run(c.l);
    }
    int grandchild = (int)strtol(c.out[1].data, NULL, 10);
    proc_end(c.p);
    ok(waitpid(pid, NULL, WNOHANG) < 0 && errno == ECHILD, "it is reaped");
    ok(scratch_gone(grandchild), "what it started is gone");
    is_int(c.exits, 0, "its exit is not told");
    loop_timer_free(t);
    loop_free(c.l);
    child_done(&c);
}

/* What a broken connection looks like to a child: it is not signalled, its next write fails. */
static void test_cut(void)
{
    struct child c = {.l = loop_new()};
    struct err e;
    struct proc_spec s = {
        .argv = SH("trap '' PIPE; echo here; read x; echo more 2>/dev/null || exit 9; exit 0"),
        .input = {"", 0},
        .on_output = on_output,
        .on_exit = on_exit_,
        .arg = &c};
    char *big = xcalloc(1, 200000); /* does not fit the pipe: the child has no line to read yet */
    s.input = (struct str){big, 200000};
    is_int(proc_spawn(c.l, &s, &c.p, &e), 0, "spawn");
    proc_cut(c.p);
    scratch_run(c.l);
    is_int(c.exits, 1, "a child that was cut off still ends once");
    is_int(c.x.code, 9, "by itself, when it finds nobody to write to");
    is_int(c.out[1].len, 0, "and nothing of it is delivered");
    is_int(proc_spawn(c.l, &s, &c.p, &e), 0, "spawn");
    proc_cut(c.p);
    proc_cut(c.p);
    proc_free(c.p);
    is_int(c.exits, 1, "one that is freed then is left to itself");
    free(big);
    child_done(&c);
    loop_free(c.l);
}

int main(void)
{
    test_outputs();
    test_input();
    test_caps();
    test_signal();
    test_linger();
    test_surroundings();
    test_failures();
    test_low_descriptors();
    test_exhaustion();
    test_many();
    test_end();
    test_cut();
    return tap_done();
}
