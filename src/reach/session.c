/* session.c - a program for nodes: leads a session of its own, then becomes the program it is given
 *
 *   session PROGRAM [ARGUMENT]...     PROGRAM is looked for in $PATH if it has no slash
 *   session                           ends with 42: it can be run here
 *
 * setsid(1) does the same, and costs a node 1.0 ms each time, for its C library and its messages in
 * the user's language; this costs 0.1 ms.  Every task of every chain pays for one of the two.  So
 * it is made without a C library, for the machines that we know system calls of, and travels with a
 * chain (reach_pack.c) in less than a kilobyte.  Where it cannot be run the runner takes setsid(1).
 *
 * Like execvp(3): an entry of $PATH that cannot be executed is passed over, a file without a format
 * is a shell's.  Ends with 127 if there is no such program, 126 if there is one that cannot be
 * executed.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stddef.h>
#include <sys/syscall.h>

enum { CAN_BE_RUN = 42, PATH_BYTES = 4096 };

void session_main(long *stack) __attribute__((noreturn, used, visibility("default")));

/* The kernel leaves the number of arguments, the arguments, NULL, the environment, NULL on the
 * stack. */
#if defined(__x86_64__)
__asm__(".globl _start\n_start: mov %rsp, %rdi\n\tand $-16, %rsp\n\tcall session_main\n");
static long kernel(long number, long a, long b, long c)
{
    long result;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c)
                     : "rcx", "r11", "memory");
    return result;
}
#elif defined(__aarch64__)
__asm__(".globl _start\n_start: mov x0, sp\n\tbl session_main\n");
static long kernel(long number, long a, long b, long c)
{
    register long x8 __asm__("x8") = number;
    register long x0 __asm__("x0") = a;
    register long x1 __asm__("x1") = b;
    register long x2 __asm__("x2") = c;
    __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2) : "memory");
    return x0;
}
#else
#error "the runner takes setsid(1) on such machines: see meson.build"
#endif

static size_t length(const char *text)
{
    size_t n = 0;
    while (text[n])
        n++;
    return n;
}

static void say(const char *text)
{
    (void)kernel(SYS_write, 2, (long)text, (long)length(text));
}

/* words[1] is the program's name as the user wrote it, words[0] is free.  Returns only if it
 * failed. */
static int become(const char *path, const char **words, const char **environment)
{
    const char *name = words[1];
    long rc = kernel(SYS_execve, (long)path, (long)(words + 1), (long)environment);
    if (rc == -ENOEXEC) {
        words[0] = "/bin/sh";
        words[1] = path;
        rc = kernel(SYS_execve, (long)words[0], (long)words, (long)environment);
        words[1] = name;
    }
    return (int)-rc;
}

/* ENOENT, or what kept the last one that is there from being executed. */
static int search(const char *path, const char **words, const char **environment)
{
    char candidate[PATH_BYTES];
    size_t name = length(words[1]);
    int worst = ENOENT;
    for (;;) {
        size_t n = 0;
        while (path[n] && path[n] != ':')
            n++;
        if (n + name + 2 <= sizeof candidate) {
            size_t at = 0;
            for (; at < n; at++)
                candidate[at] = path[at];
            if (n) /* an empty entry is the working directory */
                candidate[at++] = '/';
            for (size_t i = 0; i <= name; i++)
                candidate[at + i] = words[1][i];
            int error = become(candidate, words, environment);
            if (error == E2BIG || error == ENOMEM)
                return error;
            if (error != ENOENT && error != ENOTDIR)
                worst = error;
        }
        if (!path[n])
            return worst;
        path += n + 1;
    }
}

static const char *path_of(const char **environment)
{
    for (; *environment; environment++) {
        const char *e = *environment;
        if (e[0] == 'P' && e[1] == 'A' && e[2] == 'T' && e[3] == 'H' && e[4] == '=')
            return e + 5;
    }
    return "/bin:/usr/bin";
}

static const char *meaning(int error)
{
    switch (error) {
    case ENOENT: return "there is no such program";
    case EACCES:
    case EPERM: return "it may not be executed";
    case E2BIG: return "its arguments and environment are too large";
    case ETXTBSY: return "it is being written";
    case ENOMEM: return "there is not enough memory";
    default: return "it cannot be executed";
    }
}

void session_main(long *stack)
{
    const char **words = (const char **)(stack + 1);
    const char **environment = words + stack[0] + 1;
    int status = CAN_BE_RUN;
    if (stack[0] > 1) {
        int is_path = 0;
        const char *name = words[1];
        for (const char *c = name; *c; c++)
            is_path = is_path || *c == '/';
        (void)kernel(SYS_setsid, 0, 0,
                     0); /* fails if we lead a group: then we are what is wanted, or nearly */
        int error = is_path ? become(name, words, environment)
                            : search(path_of(environment), words, environment);
        say(name);
        say(": ");
        say(meaning(error));
        say("\n");
        status = error == ENOENT ? 127 : 126;
    }
    for (;;)
        (void)kernel(SYS_exit_group, status, 0, 0);
}
