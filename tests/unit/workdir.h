/* workdir.h - a directory of a test's own, which goes with the test however that ends
 *
 * workdir_new() makes one below $TMPDIR.  It is removed when the program that made it returns,
 * calls exit(), aborts, or is told to end; a test may well remove it before.  Nothing is removed by
 * a child that the test forks.  After a kill that cannot be caught it stays: run-tests gives all
 * tests one TMPDIR and removes that.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_WORKDIR_H
#define TESTS_WORKDIR_H

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { WORKDIR_MOST = 64, WORKDIR_PATH = 512 };
static char workdir_paths_[WORKDIR_MOST][WORKDIR_PATH];
static int workdir_count_;
static pid_t workdir_owner_;

/* Only what a signal handler may call. */
__attribute__((unused)) static void workdir_clean_(void)
{
    for (int i = 0; i < workdir_count_ && getpid() == workdir_owner_; i++) {
        pid_t rm = access(workdir_paths_[i], F_OK) == 0 ? fork() : -1;
        if (rm == 0) {
            execl("/bin/rm", "rm", "-rf", workdir_paths_[i], (char *)NULL);
            _exit(127);
        }
        if (rm > 0)
            (void)waitpid(rm, NULL, 0);
    }
}

__attribute__((unused)) static void workdir_on_signal_(int signo)
{
    workdir_clean_();
    signal(signo, SIG_DFL);
    raise(signo);
}

/* "/tmp/anneal-WHAT-x5yTq2"; the caller may free the text.  Ends the test if there is none. */
__attribute__((unused)) static char *workdir_new(const char *what)
{
    const char *base = getenv("TMPDIR");
    char *path = workdir_paths_[workdir_count_];
    int n = workdir_count_ < WORKDIR_MOST ? snprintf(path, WORKDIR_PATH, "%s/anneal-%s-XXXXXX",
                                                     base && *base ? base : "/tmp", what)
                                          : -1;
    if (n < 0 || n >= WORKDIR_PATH || !mkdtemp(path)) {
        printf("Bail out! no temporary directory\n");
        exit(1);
    }
    if (!workdir_count_++) {
        workdir_owner_ = getpid();
        atexit(workdir_clean_);
        signal(SIGABRT, workdir_on_signal_);
        signal(SIGTERM, workdir_on_signal_);
        signal(SIGINT, workdir_on_signal_);
    }
    return strdup(path);
}

#endif
