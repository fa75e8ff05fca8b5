/* test_alloc.c - the heap wrappers and the growing array */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/alloc.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tap.h"

struct thing {
    int *ended;
};
static void thing_scope_end(struct thing **p)
{
    if (*p)
        ++*(*p)->ended;
    free(*p);
}

static void thing_use(int *ended, bool hand_over, struct thing **ret)
{
    SCOPED(thing) *t = xcalloc(1, sizeof *t);
    t->ended = ended;
    if (hand_over) {
        *ret = t;
        t = NULL;
    }
}

static void test_wrappers(void)
{
    char *z = xcalloc(64, 4);
    bool zero = true;
    for (int i = 0; i < 256; i++)
        zero = zero && z[i] == 0;
    ok(zero, "xcalloc gives zeros");
    z = xrealloc(z, 1024, 1);
    ok(z[255] == 0, "xrealloc keeps the content");
    free(z);
    void *none = xcalloc(0, 8);
    ok(none != NULL, "no bytes are still an address");
    free(none);
    char *s = xstrdup("abc"), *cut = xstrndup("abcdef", 4), *whole = xstrndup("ab", 9);
    is_text(s, "abc", "xstrdup");
    is_text(cut, "abcd", "xstrndup cuts");
    is_text(whole, "ab", "xstrndup stops at the end");
    free(s);
    free(cut);
    free(whole);
}

static void test_scoped(void)
{
    int ended = 0;
    struct thing *out = NULL;
    thing_use(&ended, false, NULL);
    is_int(ended, 1, "a scoped object ends with its scope");
    thing_use(&ended, true, &out);
    is_int(ended, 1, "unless it was handed over");
    thing_scope_end(&out);
    is_int(ended, 2, "and then it ends once");
}

static void test_vec(void)
{
    VEC(uint32_t) v = {0};
    for (uint32_t i = 0; i < 100000; i++)
        vec_push(&v, i * 3);
    bool right = v.n == 100000;
    for (uint32_t i = 0; i < v.n; i++)
        right = right && v.at[i] == i * 3;
    ok(right, "100000 pushed numbers are there in order");
    ok(v.cap < v.n + v.n / 4, "a large array wastes little");
    vec_clear(&v);
    is_int(v.n, 0, "cleared");
    *vec_add(&v) += 7;
    is_int(v.at[0], 7, "vec_add gives a zeroed element although the place was used before");
    vec_reserve(&v, 200000);
    ok(v.cap >= 200000 && v.at[0] == 7, "reserving keeps what is there");
    size_t cap = v.cap;
    vec_reserve(&v, 10);
    is_int(v.cap, cap, "reserving less changes nothing");
    vec_done(&v);
    ok(!v.at && !v.n && !v.cap, "done leaves an empty array");

    VEC(struct { char c[1000]; }) wide = {0};
    vec_add(&wide);
    is_int(wide.cap, 8, "the first growth is to 8");
    for (int i = 0; i < 500; i++)
        vec_add(&wide)->c[999] = 1;
    ok(wide.n == 501 && wide.at[500].c[999] == 1, "wide elements grow too");
    vec_done(&wide);
}

/* Runs fn in a child with its stderr closed off; true if it aborted. */
static bool aborts(void (*fn)(void))
{
    int status = 0;
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        if (!freopen("/dev/null", "w", stderr))
            _exit(1);
        signal(SIGABRT, SIG_DFL);
        fn();
        _exit(0);
    }
    waitpid(pid, &status, 0);
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
}

static void calloc_overflow(void)
{
    free(xcalloc(SIZE_MAX / 2, 3));
}
static void realloc_overflow(void)
{
    free(xrealloc(NULL, SIZE_MAX / 8, 9));
}
#ifndef __SANITIZE_ADDRESS__
static void calloc_huge(void)
{
    free(xcalloc(SIZE_MAX / 4, 1));
}
static void realloc_huge(void)
{
    free(xrealloc(NULL, SIZE_MAX / 4, 1));
}
#endif

int main(void)
{
    test_wrappers();
    test_scoped();
    test_vec();
    ok(aborts(calloc_overflow), "xcalloc aborts on overflow");
    ok(aborts(realloc_overflow), "xrealloc aborts on overflow");
#ifndef __SANITIZE_ADDRESS__
    ok(aborts(calloc_huge), "xcalloc aborts when there is no memory");
    ok(aborts(realloc_huge), "xrealloc aborts when there is no memory");
#endif
    return tap_done();
}
