/* test_runner.c - the runner program: exit statuses, order of runs, and that nothing survives
 *
 * Each case starts the real program.  A pipe on its standard output is the clock: a command prints
 * a line when it has got somewhere, and the test reads that line.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "sys/runlock.h"
#include "sys/runner.h"
#include "sys/scratch.h"

struct run_case { /* one runner process */
    pid_t pid;
    FILE *out; /* its standard output */
    FILE *err;
};
struct run_id {
    const char *lock;
    uint32_t task, attempt, ask;
    const char *grace;  /* NULL: 5000 */
    const char *parent; /* NULL: not given */
    const char *step;   /* NULL: not given */
    const char *leaves; /* NULL: not given */
};

static void exec_runner(const struct run_id *id, const char *script)
{
    char task[16], attempt[16], ask[16];
    const char *argv[24];
    int n = 0;
    snprintf(task, sizeof task, "%u", id->task);
    snprintf(attempt, sizeof attempt, "%u", id->attempt);
    snprintf(ask, sizeof ask, "%u", id->ask);
    argv[n++] = "anneal-runner";
    argv[n++] = "--lock";
    argv[n++] = id->lock;
    argv[n++] = "--task";
    argv[n++] = task;
    argv[n++] = "--attempt";
    argv[n++] = attempt;
    argv[n++] = "--ask";
    argv[n++] = ask;
    argv[n++] = "--grace";
    argv[n++] = id->grace ? id->grace : "5000";
    if (id->parent) {
        argv[n++] = "--parent";
        argv[n++] = id->parent;
    }
    if (id->step) {
        argv[n++] = "--step";
        argv[n++] = id->step;
    }
    if (id->leaves) {
        argv[n++] = "--leaves";
        argv[n++] = id->leaves;
    }
    argv[n++] = "--";
    argv[n++] = "/bin/sh";
    argv[n++] = "-c";
    argv[n++] = script;
    argv[n] = NULL;
    execv(RUNNER_PATH, (char *const *)argv);
    _exit(99);
}

static struct run_case begin(const struct run_id *id, const char *script)
{
    int out[2], err[2];
    struct run_case c;
    if (pipe2(out, O_CLOEXEC) < 0 || pipe2(err, O_CLOEXEC) < 0)
        exit(1);
    c.pid = fork();
    if (c.pid == 0) {
        dup2(out[1], 1);
        dup2(err[1], 2);
        exec_runner(id, script);
    }
    close(out[1]);
    close(err[1]);
    c.out = fdopen(out[0], "r");
    c.err = fdopen(err[0], "r");
    return c;
}

/* A line of numbers from the command; how many. */
static int read_pids(struct run_case *c, pid_t *pids, int max)
{
    char line[256] = "";
    int n = 0;
    if (!fgets(line, sizeof line, c->out))
        return 0;
    for (char *at = line, *end; n < max; at = end) {
        long v = strtol(at, &end, 10);
        if (end == at)
            break;
        pids[n++] = (pid_t)v;
    }
    return n;
}

/* Exit status of the runner; what it said on standard error goes to text. */
static int finish(struct run_case *c, char *text, size_t n)
{
    int status = 0;
    char spare[512];
    size_t got = fread(text ? text : spare, 1, (text ? n : sizeof spare) - 1, c->err);
    (text ? text : spare)[got] = '\0';
    waitpid(c->pid, &status, 0);
    fclose(c->out);
    fclose(c->err);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static int run(const struct run_id *id, const char *script, char *text, size_t n)
{
    struct run_case c = begin(id, script);
    return finish(&c, text, n);
}

static void test_status(const char *dir)
{
    char *lock = fs_join(dir, "status"), text[512];
    struct run_id id = {lock, 1, 1, 0, NULL, NULL};
    struct run_record rec;
    is_int(run(&id, "exit 0", NULL, 0), 0, "success");
    ok(!fs_exists(lock), "removes the lock file");
    is_int(run(&id, "exit 7", NULL, 0), 7, "the command's own status");
    is_int(runlock_read_path(lock, &rec), 1, "a failure leaves its record");
    ok(rec.task == 1 && rec.attempt == 1 && rec.state == RUN_ENDED && rec.status == 7 &&
           rec.child > 1,
       "with attempt, end and status");
    id.attempt++;
    is_int(run(&id, "kill -TERM $$", NULL, 0), 128 + SIGTERM, "a signal is 128 more");
    id.attempt++;
    is_int(run(&id, "exit 125", text, sizeof text), 125, "125 may be the command's own");
    is_int(runlock_read_path(lock, &rec), 1, "then the record");
    ok(rec.state == RUN_ENDED && rec.attempt == 3, "says that it ran");
    id.attempt++;
    struct run_case c = begin(&id, "echo $ANNEAL_LOCK /proc/$$/fd/*");
    char line[512] = "";
    ok(fgets(line, sizeof line, c.out) && !strncmp(line, lock, strlen(lock)), "the lock is named");
    ok(strstr(line, "/fd/3\n") != NULL, "but not inherited: 3 is the list's own descriptor");
    is_int(finish(&c, NULL, 0), 0, "as the command can see");
    free(lock);
}

static int run_words(const char *text_of_args, char *text, size_t n)
{
    int err[2], status;
    if (pipe2(err, O_CLOEXEC) < 0)
        exit(1);
    pid_t pid = fork();
    if (pid == 0) {
        char *copy = xstrdup(text_of_args), *argv[32];
        int k = 0;
        argv[k++] = (char *)"anneal-runner";
        for (char *w = strtok(copy, " "); w && k < 31; w = strtok(NULL, " "))
            argv[k++] = w;
        argv[k] = NULL;
        dup2(err[1], 2);
        execv(RUNNER_PATH, argv);
        _exit(99);
    }
    close(err[1]);
    ssize_t got = read(err[0], text, n - 1);
    text[got > 0 ? got : 0] = '\0';
    close(err[0]);
    waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void test_arguments(const char *dir)
{
    static const struct {
        const char *args, *text;
        int status;
    } cases[] = {
        {"", "usage", 125},
        {"--task 1 --attempt 1 -- true", "usage", 125},
        {"--lock %s --attempt 1 -- true", "usage", 125},
        {"--lock %s --task 1 -- true", "usage", 125},
        {"--lock %s --task 1 --attempt 1 --", "usage", 125},
        {"--lock %s --task x --attempt 1 -- true", "bad argument --task x", 125},
        {"--lock %s --task 1 --attempt 4294967296 -- true", "bad argument --attempt", 125},
        {"--lock %s --task 1 --attempt -1 -- true", "bad argument --attempt", 125},
        {"--lock %s --task 1 --attempt 1 --color red -- true", "bad argument --color", 125},
        {"--lock /no/such/dir/x --task 1 --attempt 1 -- true", "cannot open", 125},
        {"--lock %s --task 1 --attempt 1 --parent 1 -- true", "parent process 1 is gone", 125},
        {"--lock %s --task 1 --attempt 1 -- /no/such/program", "cannot run /no/such/program", 127},
        {"--lock %s --task 1 --attempt 2 -- /etc/passwd", "cannot run /etc/passwd", 126},
        {"--lock %s --task 1 --attempt 3 -- true", "", 0},
    };
    char *lock = fs_join(dir, "arguments"), args[512], text[512];
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *at = strstr(cases[i].args, "%s");
        if (at)
            snprintf(args, sizeof args, "%.*s%s%s", (int)(at - cases[i].args), cases[i].args, lock,
                     at + 2);
        else
            snprintf(args, sizeof args, "%s", cases[i].args);
        is_int(run_words(args, text, sizeof text), cases[i].status, "status of: %s", cases[i].args);
        has_text(text, cases[i].text, "says: %s", cases[i].text);
    }
    free(lock);
}

static void test_order(const char *dir)
{
    char *lock = fs_join(dir, "order"), text[512];
    struct run_id five = {lock, 9, 5, 0, NULL, NULL}, four = {lock, 9, 4, 7, NULL, NULL},
                  again = {lock, 9, 5, 1, NULL, NULL}, six = {lock, 9, 6, 0, NULL, NULL},
                  other = {lock, 10, 9, 0, NULL, NULL};
    struct run_record rec;
    is_int(run(&five, "exit 75", NULL, 0), 75, "attempt 5 says: not yet");
    is_int(run(&four, "exit 0", text, sizeof text), 125, "attempt 4 is refused");
    has_text(text, "attempt 5.0 of task 9 came later", "and told why");
    is_int(run(&five, "exit 0", text, sizeof text), 125, "attempt 5 does not run twice");
    has_text(text, "was started before", "and is told why");
    is_int(run(&other, "exit 0", text, sizeof text), 125, "another task's lock is refused");
    has_text(text, "the lock is of task 9", "and named");
    is_int(runlock_read_path(lock, &rec), 1, "refusals");
    ok(rec.attempt == 5 && rec.state == RUN_ENDED && rec.status == 75, "do not touch the record");
    is_int(run(&again, "exit 1", NULL, 0), 1, "attempt 5 may be asked again");
    struct run_id step = again;
    step.step = "1";
    is_int(run(&step, "exit 2", NULL, 0), 2, "a later step of it may follow");
    is_int(run(&step, "exit 0", text, sizeof text), 125, "once");
    is_int(run(&again, "exit 0", text, sizeof text), 125, "and no earlier one after it");
    has_text(text, "attempt 5.1 of task 9 came later", "which is told");
    is_int(run(&six, "exit 0", NULL, 0), 0, "attempt 6 runs");
    ok(!fs_exists(lock), "and its success clears the record");
    free(lock);
}

static void test_relay(const char *dir)
{
    char *lock = fs_join(dir, "relay");
    struct run_id id = {lock, 2, 1, 0, "60000", NULL};
    pid_t p[2] = {0};
    struct run_case c = begin(&id, "trap 'exit 42' TERM; echo $$; while :; do sleep 0.01; done");
    is_int(read_pids(&c, p, 1), 1, "a command that handles TERM is running");
    kill(c.pid, SIGTERM);
    is_int(finish(&c, NULL, 0), 42, "gets it and ends in its own way");

    id.attempt++;
    id.grace = "50";
    c = begin(&id, "trap '' TERM; echo $$; while :; do sleep 1000; done");
    is_int(read_pids(&c, p, 1), 1, "a command that ignores TERM is running");
    kill(c.pid, SIGTERM);
    is_int(finish(&c, NULL, 0), 128 + SIGKILL, "is killed after the grace");
    ok(scratch_gone(p[0]), "and gone");

    id.attempt++;
    id.grace = "60000";
    c = begin(&id, "trap '' TERM QUIT; setsid sleep 1000 & echo $$ $!; wait");
    is_int(read_pids(&c, p, 2), 2, "a command with a child in another session is running");
    kill(c.pid, SIGTERM);
    kill(c.pid, SIGQUIT);
    is_int(finish(&c, NULL, 0), 128 + SIGKILL, "QUIT does not wait for the grace");
    ok(scratch_gone(p[0]) && scratch_gone(p[1]), "and spares nobody");

    id.attempt++;
    c = begin(&id, "setsid sleep 1000 & echo $!; exit 0");
    is_int(read_pids(&c, p, 1), 1, "a command that leaves a process behind");
    is_int(finish(&c, NULL, 0), 0, "succeeds");
    ok(scratch_gone(p[0]), "but what it left is killed");
    free(lock);
}

/* A process that lost the variable, and one that kept it: who is still there afterwards? */
static void test_leaves(const char *dir)
{
    static const char two[] = "setsid env -u " RUNNER_VARIABLE " sleep 1000 >&- 2>&- & m=$!; "
                              "setsid sleep 1000 >&- 2>&- & "
                              "until grep -qs sleep /proc/$m/comm /proc/$m/comm; do :; done; "
                              "echo $m $!; ";
    char *lock = fs_join(dir, "leaves"), script[400];
    struct run_id id = {lock, 9, 1, 0, "60000", NULL, NULL, "1"};
    pid_t p[2] = {0};
    snprintf(script, sizeof script, "%s exit 0", two);
    struct run_case c = begin(&id, script);
    is_int(read_pids(&c, p, 2), 2, "a command that may leave something leaves two processes");
    is_int(finish(&c, NULL, 0), 0, "and succeeds");
    is_int(kill(p[0], 0), 0, "the one that is meant to stay stays");
    ok(scratch_gone(p[1]), "the other is killed");
    kill(p[0], SIGKILL);

    snprintf(script, sizeof script, "%s exit 3", two);
    id.attempt++;
    c = begin(&id, script);
    is_int(read_pids(&c, p, 2), 2, "the same again");
    is_int(finish(&c, NULL, 0), 3, "but the command fails");
    ok(scratch_gone(p[0]) && scratch_gone(p[1]), "and nothing stays");

    snprintf(script, sizeof script, "%s while :; do sleep 1000; done", two);
    id.attempt++;
    c = begin(&id, script);
    is_int(read_pids(&c, p, 2), 2, "the same again");
    kill(c.pid, SIGQUIT);
    is_int(finish(&c, NULL, 0), 128 + SIGKILL, "but the command is ended");
    ok(scratch_gone(p[0]) && scratch_gone(p[1]), "and nothing stays");

    id.leaves = "2";
    id.attempt++;
    is_int(run(&id, "exit 0", NULL, 0), 125, "no other number is understood");
    free(lock);
}

static void test_takeover(const char *dir)
{
    char *lock = fs_join(dir, "takeover"), script[128], text[256];
    struct run_id one = {lock, 3, 1, 0, "60000", NULL}, two = {lock, 3, 2, 0, "60", NULL},
                  low = {lock, 3, 1, 0, "60000", NULL};
    pid_t p[2] = {0};
    struct run_case first = begin(&one, "trap '' TERM; sleep 1000 & echo $$ $!; wait; wait");
    is_int(read_pids(&first, p, 2), 2, "attempt 1 runs and ignores TERM");
    is_int(run(&low, "exit 0", text, sizeof text), 125, "attempt 1 again is refused while it runs");
    has_text(text, "was started before", "and told why");
    snprintf(script, sizeof script, "kill -0 %d && exit 8; kill -0 %d && exit 9; exit 0", (int)p[0],
             (int)p[1]);
    is_int(run(&two, script, NULL, 0), 0, "attempt 2 starts after both its processes are gone");
    is_int(finish(&first, NULL, 0), 128 + SIGKILL, "attempt 1 was killed after attempt 2's grace");

    struct run_id three = {lock, 3, 3, 0, "60000", NULL}, four = {lock, 3, 4, 0, "60000", NULL};
    first = begin(&three, "trap 'exit 5' TERM; echo $$; while :; do sleep 0.01; done");
    is_int(read_pids(&first, p, 1), 1, "attempt 3 runs and heeds TERM");
    is_int(run(&four, "exit 0", NULL, 0), 0, "attempt 4 follows it");
    is_int(finish(&first, NULL, 0), 5, "attempt 3 ended in its own way");

    struct run_id five = {lock, 3, 5, 0, "60000", NULL}, six = {lock, 3, 6, 0, "60000", NULL};
    first = begin(&five, "trap 'echo 1' TERM; echo $$; while :; do sleep 1000 & wait; done");
    is_int(read_pids(&first, p, 1), 1, "attempt 5 runs and does not heed TERM");
    struct run_case waiting = begin(&six, "exit 0");
    is_int(read_pids(&first, p, 1), 1, "attempt 6 has asked it to end");
    kill(waiting.pid, SIGTERM);
    is_int(finish(&waiting, text, sizeof text), 125, "attempt 6 is told to end while it waits");
    has_text(text, "told to end before the start", "and does not start");
    kill(first.pid, SIGQUIT);
    is_int(finish(&first, NULL, 0), 128 + SIGKILL, "attempt 5 ends");
    free(lock);
}

/* A stand-in for the server: starts a runner, passes its output on, and waits to be killed. */
static pid_t fake_server(const struct run_id *id, const char *script, int out)
{
    pid_t server = fork();
    if (server == 0) {
        char parent[16];
        struct run_id mine = *id;
        snprintf(parent, sizeof parent, "%d", (int)getpid());
        mine.parent = parent;
        pid_t runner = fork();
        if (runner == 0) {
            dup2(out, 1);
            exec_runner(&mine, script);
        }
        char text[32];
        int n = snprintf(text, sizeof text, "%d\n", (int)runner);
        if (write(out, text, (size_t)n) != n)
            _exit(1);
        for (;;)
            pause();
    }
    return server;
}

static void test_server_death(const char *dir)
{
    char *lock = fs_join(dir, "death"), script[256];
    struct run_id one = {lock, 4, 1, 0, "60000", NULL}, two = {lock, 4, 2, 0, "60000", NULL};
    int out[2];
    pid_t p[3] = {0}, runner = 0;
    struct run_case c;
    if (pipe2(out, O_CLOEXEC) < 0)
        exit(1);
    pid_t server = fake_server(&one,
                               "trap '' TERM INT HUP QUIT; setsid sh -c 'sleep 1000; :' & a=$!; "
                               "(sleep 1000; :) & echo $$ $a $!; wait; wait; wait",
                               out[1]);
    close(out[1]);
    c.out = fdopen(out[0], "r");
    is_int(read_pids(&c, &runner, 1), 1, "a server has started a runner");
    is_int(read_pids(&c, p, 3), 3, "whose command has children in several sessions");
    kill(server, SIGKILL);
    waitpid(server, NULL, 0);
    ok(scratch_gone(runner), "the server is killed, and the runner ends");
    for (int i = 0; i < 3; i++)
        ok(scratch_gone(p[i]), "with process %d of the task", i);
    char rest[8];
    ok(fgets(rest, sizeof rest, c.out) == NULL, "nobody holds the pipe: the whole tree is gone");
    fclose(c.out);
    snprintf(script, sizeof script, "kill -0 %d && exit 9; exit 0", (int)p[0]);
    is_int(run(&one, "exit 0", NULL, 0), 125, "the attempt that was killed does not run again");
    is_int(run(&two, script, NULL, 0), 0, "the next one gets the lock");
    free(lock);
}

/* A program that is no task of anybody and must not outlive who started it. */
static void test_tie(void)
{
    int out[2];
    pid_t child = 0;
    struct run_case c;
    char text[256], pid[16];
    if (pipe2(out, O_CLOEXEC) < 0)
        exit(1);
    pid_t server = fork();
    if (server == 0) {
        snprintf(pid, sizeof pid, "%d", (int)getpid());
        if (fork() == 0) {
            dup2(out[1], 1);
            execl(RUNNER_PATH, "anneal-runner", "--tie", pid, "--", "sh", "-c",
                  "echo $$; exec sleep 1000", NULL);
            _exit(99);
        }
        for (;;)
            pause();
    }
    close(out[1]);
    c.out = fdopen(out[0], "r");
    is_int(read_pids(&c, &child, 1), 1, "a program is tied to its parent");
    ok(kill(child, 0) == 0, "and runs");
    kill(server, SIGKILL);
    waitpid(server, NULL, 0);
    ok(scratch_gone(child), "the parent is killed, and it ends");
    fclose(c.out);
    is_int(run_words("--tie 1 -- true", text, sizeof text), 125, "of a parent that is gone");
    has_text(text, "parent process 1 is gone", "nothing is started");
    is_int(run_words("--tie x -- true", text, sizeof text), 125, "a parent is a number");
    snprintf(text, sizeof text, "--tie %d -- /no/such/program", (int)getpid());
    is_int(run_words(text, text, sizeof text), 127, "a program that is not there");
}

static void test_runner_death(const char *dir)
{
    char *lock = fs_join(dir, "killed"), script[128];
    struct run_id one = {lock, 5, 1, 0, "60000", NULL}, two = {lock, 5, 2, 0, "60000", NULL};
    pid_t p[2] = {0};
    struct run_record rec;
    struct run_case c = begin(&one, "setsid sleep 1000 & echo $$ $!; wait");
    is_int(read_pids(&c, p, 2), 2, "an attempt runs");
    kill(c.pid, SIGKILL);
    waitpid(c.pid, NULL, 0);
    fclose(c.out);
    fclose(c.err);
    ok(scratch_gone(p[0]), "a killed runner takes its command along");
    ok(kill(p[1], 0) == 0, "but cannot reach a process in another session");
    is_int(runlock_read_path(lock, &rec), 1, "the record");
    is_int(rec.state, RUN_STARTED, "says that it was started");
    /* Our own zombie, once it is dead: we are its reaper here. */
    snprintf(script, sizeof script,
             "case $(cut -d' ' -f3 /proc/%d/stat) in Z|'') exit 0;; esac; exit 9", (int)p[1]);
    is_int(run(&two, script, NULL, 0), 0, "the next attempt ends it before it starts");
    ok(scratch_gone(p[1]), "nothing is left");
    free(lock);
}

/* --- processes that are hard to see; this program is all of them --- */

__attribute__((noreturn)) static void *last_thread(void *arg)
{
    (void)arg;
    printf("%d\n", (int)getpid());
    fflush(stdout);
    for (;;)
        pause();
}

/* The main thread ends and another one goes on: the kernel shows a zombie without an environment.
 */
__attribute__((noreturn)) static void be_headless(void)
{
    pthread_t t;
    pthread_create(&t, NULL, last_thread, NULL);
    pthread_exit(NULL);
}

/* So much memory that its exit, which gives the memory back before it closes files, takes a while.
 */
__attribute__((noreturn)) static void be_slow_to_end(void)
{
    enum { BYTES = 256 << 20 };
    char *p = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED)
        exit(1);
    madvise(p, BYTES, MADV_NOHUGEPAGE);
    memset(p, 1, BYTES);
    last_thread(NULL);
}

/* A runner is killed, and what its command left in another session is hard to see. */
static void test_unseen(const char *dir, const char *self, const char *how)
{
    char *lock = fs_join(dir, how + 2), script[4300];
    struct run_id one = {lock, 11, 1, 0, "60000", NULL}, two = {lock, 11, 2, 0, "60000", NULL};
    pid_t p = 0;
    snprintf(script, sizeof script, "setsid %s %s & wait", self, how);
    struct run_case c = begin(&one, script);
    is_int(read_pids(&c, &p, 1), 1, "%s: an attempt runs", how);
    kill(c.pid, SIGKILL);
    waitpid(c.pid, NULL, 0);
    fclose(c.out);
    fclose(c.err);
    snprintf(script, sizeof script,
             "set -- /proc/%d/task/*; [ $# -gt 1 ] && exit 8\n"
             "case $(cut -d' ' -f3 /proc/%d/stat) in Z|'') exit 0;; esac; exit 9",
             (int)p, (int)p);
    is_int(run(&two, script, NULL, 0), 0, "%s: the next attempt ends it before it starts", how);
    ok(scratch_gone(p), "%s: nothing is left", how);
    free(lock);
}

static void test_odd_locks(const char *dir)
{
    char *lock = fs_join(dir, "odd");
    struct run_id id = {lock, 6, 1, 0, NULL, NULL};
    struct err e;
    char garbage[400];
    memset(garbage, 'x', sizeof garbage);
    is_int(fs_write_atomic(lock, garbage, sizeof garbage, 0600, &e), 0, "a lock file of garbage");
    is_int(run(&id, "exit 3", NULL, 0), 3, "does not stop a run");
    struct run_record rec;
    is_int(runlock_read_path(lock, &rec), 1, "and is replaced by a record");
    signal(SIGCHLD, SIG_IGN); /* inherited by the runner */
    struct run_case c;
    id.attempt = 2;
    c = begin(&id, "exit 6");
    char line[256] = "";
    while (fgets(line, sizeof line, c.err))
        continue;
    signal(SIGCHLD, SIG_DFL);
    fclose(c.out);
    fclose(c.err);
    while (runlock_read_path(lock, &rec) == 1 && (rec.attempt != 2 || rec.state != RUN_ENDED))
        usleep(1000);
    is_int(rec.status, 6, "an inherited SIG_IGN of SIGCHLD does not turn a failure into success");
    free(lock);
}

/* A lock that is held without a holder one could ask: the record is of a process long gone. */
static void test_unknown_holder(const char *dir)
{
    char *lock = fs_join(dir, "unknown"), text[4096];
    struct run_id two = {lock, 7, 2, 0, "60000", NULL};
    struct run_record old = {
        .task = 7, .attempt = 1, .runner = 1, .since_ticks = UINT64_MAX, .state = RUN_STARTED};
    int fd = runlock_open(lock);
    is_int(runlock_try(&fd, lock), 1, "somebody has the lock");
    is_int(runlock_write(fd, &old), 0, "under the name of a process that is another one now");
    struct run_case c = begin(&two, "exit 4");
    struct pollfd quiet = {.fd = fileno(c.out), .events = POLLIN};
    is_int(poll(&quiet, 1, 50), 0, "a later attempt waits, and signals nobody");
    close(fd);
    is_int(finish(&c, NULL, 0), 4, "until the lock is free");
    free(lock);

    lock = fs_join(dir, "full");
    struct run_id id = {lock, 8, 1, 0, NULL, NULL};
    struct rlimit none = {0, RLIM_INFINITY}, old_limit;
    getrlimit(RLIMIT_FSIZE, &old_limit);
    none.rlim_max = old_limit.rlim_max;
    signal(SIGXFSZ, SIG_IGN);       /* a build that counts coverage writes files of its own */
    setrlimit(RLIMIT_FSIZE, &none); /* inherited by the runner: no byte can be written */
    int rc = run(&id, "exit 0", text, sizeof text);
    setrlimit(RLIMIT_FSIZE, &old_limit);
    signal(SIGXFSZ, SIG_DFL);
    is_int(rc, 125, "without room for its record nothing starts");
    has_text(text, "cannot write", "and it says so");
    free(lock);
}

int main(int argc, char **argv)
{
    static const char headless[] = "--headless", slow[] = "--slow-to-end";
    char self[4096] = "";
    if (argc > 1 && !strcmp(argv[1], headless))
        be_headless();
    if (argc > 1 && !strcmp(argv[1], slow))
        be_slow_to_end();
    char *dir = scratch_new();
    if (readlink("/proc/self/exe", self, sizeof self - 1) <= 0)
        return 1;
    prctl(PR_SET_CHILD_SUBREAPER, 1); /* strays of a failing case come to us, not to process 1 */
    test_status(dir);
    test_arguments(dir);
    test_order(dir);
    test_relay(dir);
    test_leaves(dir);
    test_takeover(dir);
    test_tie();
    test_server_death(dir);
    test_runner_death(dir);
    test_unseen(dir, self, headless);
    test_unseen(dir, self, slow);
    test_odd_locks(dir);
    test_unknown_holder(dir);
    scratch_end(dir);
    return tap_done();
}
