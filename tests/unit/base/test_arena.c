/* test_arena.c - objects of one generation */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/arena.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/arena_i.h"
#include "tap.h"

static bool is_zero(const unsigned char *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (p[i])
            return false;
    return true;
}

static void test_objects(void)
{
    static const size_t sizes[] = {1, 15, 16, 17, 100, 4096, 16000, 20000, 65000, 70000, 1000000};
    SCOPED_ARENA(a);
    bool aligned = true, zero = true;
    size_t total = 0;
    for (int round = 0; round < 50; round++)
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
            unsigned char *p = arena_take(&a, sizes[i]);
            aligned = aligned && (uintptr_t)p % 16 == 0;
            zero = zero && is_zero(p, sizes[i]);
            memset(p, 0xAA, sizes[i]);
            total += sizes[i];
        }
    ok(aligned, "every object is aligned to 16");
    ok(zero, "every object is zeroed");
    ok(a.total_bytes >= total && a.total_bytes < total + 16 * 550, "total_bytes counts them");
    arena_reset(&a);
    is_int(a.total_bytes, 0, "reset forgets");
    for (int i = 0; i < 100; i++) {
        unsigned char *p = arena_take(&a, 1000);
        zero = zero && is_zero(p, 1000);
        memset(p, 0x55, 1000);
    }
    ok(zero, "memory that is used again is zeroed again");
    arena_reset(&a);
    arena_reset(&a);
    ok(arena_take(&a, 0) != NULL, "an object of no bytes has an address");
}

static void test_keeps_room(void)
{
#ifndef ARENA_PARANOID
    SCOPED_ARENA(a);
    char *first = arena_take(&a, 16);
    arena_take(&a, 1000000);
    char *second = arena_take(&a, 16);
    is_int(second - first, 16, "a large object does not end the chunk");
    arena_reset(&a);
    ok(a.head != NULL, "reset keeps a chunk");
    ok((char *)arena_take(&a, 16) == first, "which is the one that was cut");
    SCOPED_ARENA(big);
    arena_take(&big, 10000000);
    arena_reset(&big);
    ok(big.head == NULL, "reset does not keep a huge chunk");
#endif
}

static void test_text(void)
{
    SCOPED_ARENA(a);
    is_text(arena_strdup(&a, "role"), "role", "arena_strdup");
    is_text(arena_strndup(&a, "rolename", 4), "role", "arena_strndup");
    is_text(arena_strndup(&a, NULL, 0), "", "no bytes make the empty text");
    is_text(arena_printf(&a, "%s-%d", "node", 7), "node-7", "arena_printf");
    char *wide = arena_printf(&a, "%1000d", 5);
    ok(strlen(wide) == 1000 && wide[999] == '5', "a long text is formatted whole");
    int *ids = arena_new(&a, int, 10);
    ids[9] = 4;
    ok(ids[0] == 0 && ids[9] == 4, "arena_new");
}

static void test_pool(void)
{
    SCOPED_ARENA(a);
    struct text_pool pool = {0};
    char *kept[2000];
    bool right = true;
    for (int i = 0; i < 2000; i++) {
        size_t n = (size_t)(i * 7 % 1500);
        kept[i] = arena_pool_take(&a, &pool, n);
        right = right && kept[i][n] == '\0';
        memset(kept[i], 'a' + i % 26, n);
    }
    for (int i = 0; i < 2000; i++) {
        size_t n = (size_t)(i * 7 % 1500);
        right = right && strlen(kept[i]) == n && (n == 0 || kept[i][n - 1] == 'a' + i % 26);
    }
    ok(right, "pooled texts do not overlap and are terminated");
}

static void overflow(void)
{
    SCOPED_ARENA(a);
    arena_take_n(&a, SIZE_MAX / 4, 5);
}

static void test_overflow(void)
{
    int status = 0;
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        if (!freopen("/dev/null", "w", stderr))
            _exit(1);
        signal(SIGABRT, SIG_DFL);
        overflow();
        _exit(0);
    }
    waitpid(pid, &status, 0);
    ok(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT, "n * size that overflows aborts");
}

int main(void)
{
    test_objects();
    test_keeps_room();
    test_text();
    test_pool();
    test_overflow();
    return tap_done();
}
