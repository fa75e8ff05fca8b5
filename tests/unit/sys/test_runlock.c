/* test_runlock.c - the lock file of a task: records, order, the race with an unlink */
/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "sys/runlock.h"
#include "sys/runtree.h"
#include "sys/scratch.h"

static void test_record(const char *dir)
{
    struct run_record r = {.task = 12,
                           .attempt = 3,
                           .ask = 1,
                           .step = 2,
                           .runner = 4711,
                           .since_ticks = 123456789012ull,
                           .state = RUN_HELD};
    struct run_record got;
    char *path = fs_join(dir, "record"), text[256];
    int fd = runlock_open(path);
    struct stat st;
    ok(fd >= 0 && (fcntl(fd, F_GETFD) & FD_CLOEXEC), "a lock file is not inherited");
    is_int(runlock_read(fd, &got), 0, "a new one is empty");
    for (int s = 0; s < RUN_STATE_COUNT; s++) {
        r.state = (enum run_state)s;
        r.child = s ? 4712 : 0;
        r.status = s == RUN_ENDED ? 137 : 0;
        is_int(runlock_write(fd, &r), 0, "write state %d", s);
        is_int(runlock_read(fd, &got), 1, "read it");
        ok(!memcmp(&got, &r, sizeof r), "the same record");
    }
    is_int(runlock_read_path(path, &got), 1, "read it by its path");
    fstat(fd, &st);
    ssize_t n = pread(fd, text, sizeof text - 1, 0);
    text[n > 0 ? n : 0] = '\0';
    has_text(text, "task=0000000012 attempt=0000000003", "people can read it");

    for (ssize_t cut = 1; cut < n; cut += 13) {
        is_int(ftruncate(fd, cut), 0, "cut to %zd bytes", cut);
        ok(runlock_read(fd, &got) == -1 && errno == EINVAL, "half a record is none");
    }
    is_int(runlock_write(fd, &r), 0, "written anew");
    is_int(pwrite(fd, "x", 1, st.st_size), 1, "a byte too many");
    ok(runlock_read(fd, &got) == -1 && errno == EINVAL, "more than a record is none");
    is_int(ftruncate(fd, st.st_size), 0, "as before");
    is_int(pwrite(fd, "state=fancy  ", 13, n - 15), 13, "a state of no name");
    ok(runlock_read(fd, &got) == -1 && errno == EINVAL, "is no record");
    ok(runlock_read_path("/no/such", &got) == -1 && errno == ENOENT, "no file, no record");
    close(fd);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    ok(runlock_write(fd, &r) < 0, "a failing write is told");
    close(fd);
    free(path);
}

static void test_order(void)
{
    struct run_record a = {.attempt = 2, .ask = 5}, b = {.attempt = 3, .ask = 0};
    ok(runlock_order(&a, &b) < 0 && runlock_order(&b, &a) > 0, "attempts come first");
    b = (struct run_record){.attempt = 2, .ask = 6};
    ok(runlock_order(&a, &b) < 0 && runlock_order(&b, &a) > 0, "then asks");
    b = (struct run_record){.attempt = 2, .ask = 5, .step = 1};
    ok(runlock_order(&a, &b) < 0 && runlock_order(&b, &a) > 0, "then steps");
    is_int(runlock_order(&a, &a), 0, "equal");
    is_int(runlock_order(&b, &b), 0, "with a step, too");
}

static void test_lock(const char *dir)
{
    char *path = fs_join(dir, "locked");
    int one = runlock_open(path), two = runlock_open(path), was;
    is_int(runlock_try(&one, path), 1, "the first gets it");
    is_int(runlock_try(&two, path), 0, "the second does not");
    is_int(unlink(path), 0, "the holder removes the file");
    close(one);
    was = two;
    is_int(runlock_try(&two, path), 1, "the second gets a lock");
    struct stat mine, named;
    ok(fstat(two, &mine) == 0 && stat(path, &named) == 0 && mine.st_ino == named.st_ino,
       "of the file that the path names now, not of the one that is gone");
    (void)was;
    close(two);
    one = runlock_open(path);
    two = runlock_open(path);
    is_int(unlink(path), 0, "removed again");
    int three = runlock_open(path);
    is_int(runlock_try(&three, path), 1, "a third one makes the file and locks it");
    is_int(runlock_try(&one, path), 0, "who had the old file open finds it locked");
    close(one);
    close(two);
    close(three);
    ok(runlock_open("/no/such/lock") < 0, "no directory, no lock");
    one = open(path, O_RDWR | O_CLOEXEC);
    int closed = one;
    close(one);
    ok(runlock_try(&closed, path) < 0, "an invalid descriptor is an error");
    free(path);
}

static void test_since(void)
{
    uint64_t self = run_since_ticks((int32_t)getpid()), init = run_since_ticks(1);
    ok(self > 0 && init < self, "start times are told, ours after that of process 1");
    is_int(run_since_ticks(INT32_MAX), 0, "a process that is not there has none");
}

static pid_t sleeper(const char *variable)
{
    pid_t pid = fork();
    if (pid == 0) {
        char *const env[] = {(char *)"A=1", (char *)variable, (char *)"Z=1", NULL};
        execle("/bin/sleep", "sleep", "1000", NULL, env);
        _exit(1);
    }
    return pid;
}

/* Returns once the exec has happened: /proc shows the new environment only then. */
static void wait_for_exec(pid_t pid)
{
    char path[64], exe[256];
    snprintf(path, sizeof path, "/proc/%d/exe", (int)pid);
    for (;;) {
        ssize_t n = readlink(path, exe, sizeof exe - 1);
        exe[n > 0 ? n : 0] = '\0';
        if (strstr(exe, "sleep") || strstr(exe, "coreutils") || strstr(exe, "busybox"))
            return;
        usleep(1000);
    }
}

static void test_sweep(void)
{
    pid_t hit = sleeper("ANNEAL_LOCK=/a/b"), prefix = sleeper("ANNEAL_LOCK=/a/bc"),
          inside = sleeper("XANNEAL_LOCK=/a/b");
    wait_for_exec(hit);
    wait_for_exec(prefix);
    wait_for_exec(inside);
    int status = 0;
    is_int(runtree_sweep("ANNEAL_LOCK=/a/b", 5000), 0, "a sweep comes to an end");
    is_int(waitpid(hit, &status, WNOHANG), hit, "the process with the variable is gone");
    ok(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL, "killed");
    is_int(waitpid(prefix, &status, WNOHANG), 0, "one with a longer value is not");
    is_int(waitpid(inside, &status, WNOHANG), 0, "nor one with another name");
    is_int(runtree_sweep("ANNEAL_LOCK=/nobody", 0), 0, "nobody to kill");
    ok(runtree_sweep("Z=1", 0) < 0 && errno == ETIMEDOUT, "without patience it may fail");
    int ended = 99;
    runtree_end(prefix, &ended);
    ok(WIFSIGNALED(ended), "the end of the tree reaps the command");
    ok(waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD, "and all other children");
}

int main(void)
{
    char *dir = scratch_new();
    test_record(dir);
    test_order();
    test_lock(dir);
    test_since();
    test_sweep();
    scratch_end(dir);
    return tap_done();
}
