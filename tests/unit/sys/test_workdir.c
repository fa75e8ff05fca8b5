/* test_workdir.c - directories of tests go with them; labels of tests stay one line */
/* SPDX-License-Identifier: Apache-2.0 */
#include <sys/resource.h>

#include "sys/scratch.h"

/* A test that made a directory with something in it, and ends half-way. */
static void test_end(const char *label, void (*end)(void))
{
    int out[2];
    char path[WORKDIR_PATH] = "";
    if (pipe(out) < 0)
        exit(1);
    pid_t child = fork();
    if (child == 0) {
        struct err e;
        struct rlimit none = {0, 0};
        workdir_count_ = 0; /* what is ours is not the child's */
        char *dir = workdir_new("end"), *sub = fs_join(dir, "a/b");
        (void)setrlimit(RLIMIT_CORE, &none);
        ssize_t put = fs_mkdirs(sub, 0700, &e) == 0 ? write(out[1], dir, strlen(dir)) : -1;
        if (put > 0)
            end();
        _exit(99);
    }
    close(out[1]);
    ssize_t n = read(out[0], path, sizeof path - 1);
    waitpid(child, NULL, 0);
    close(out[0]);
    ok(n > 0 && !fs_exists(path), "%s: nothing is left", label);
}

static void by_exit(void)
{
    exit(1);
}

static void by_term(void)
{
    kill(getpid(), SIGTERM);
}

/* What a fork of the test does is not the test's end. */
static void test_child(void)
{
    char *dir = workdir_new("child");
    pid_t child = fork();
    if (child == 0) {
        fclose(stdout);
        exit(0);
    }
    waitpid(child, NULL, 0);
    ok(fs_exists(dir), "a child's exit leaves the directory");
    free(dir);
}

static void test_label(void)
{
    char got[128];
    tap_label_(got, sizeof got, "two\nlines\tand\x01 more");
    is_text(got, "two lines and  more", "a label is one line");
    tap_label_(got, sizeof got, "naïve");
    is_text(got, "naïve", "and keeps its letters");
}

int main(void)
{
    test_end("exit", by_exit);
    test_end("abort", abort);
    test_end("TERM", by_term);
    test_child();
    test_label();
    return tap_done();
}
