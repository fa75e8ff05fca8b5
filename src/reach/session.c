/* session.c - a program for nodes: what the runner does for a task between its fork and its program
 *
 *   session N UMASK DIRECTORY PROGRAM [ARGUMENT]...
 *   session                           ends with 42: it can be run here
 *
 * In the directory of a chain, descriptor 9 its file `started`: notes itself there as step N, does
 * not begin if there is `stop.N`, then has standard error where standard output is, signals as a
 * program expects them and a session of its own, and becomes the program.  The runner has the same
 * as a shell function (`program` in runner.sh), for nodes that do not run this.
 *
 * It is there because setsid(1) costs a node 1.0 ms each time, for its C library and its messages
 * in the user's language, and the fork of a shell that does the rest another 0.4; this costs 0.1,
 * and lets the shell start it by vfork.  Every task of every chain pays for one or the other.  So
 * it is made without a C library, for the machines that we know system calls of, and travels with a
 * chain (reach_pack.c).
 *
 * A program without a slash is looked for as by execvp(3): an entry of $PATH that cannot be
 * executed is passed over, a file without a format is a shell's.  Ends with 127 if there is no such
 * program, 126 if there is one that cannot be executed or the directory cannot be entered, 125 if
 * it was not to begin.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <sys/syscall.h>

enum { CAN_BE_RUN = 42, NOT_BEGUN = 125, PATH_BYTES = 4096, STARTED = 9, WORDS_OWN = 4 };

void session_main(long *stack) __attribute__((noreturn, used, visibility("default")));

/* The kernel leaves the number of arguments, the arguments, NULL, the environment, NULL on the
 * stack. */
#if defined(__x86_64__)
__asm__(".globl _start\n_start: mov %rsp, %rdi\n\tand $-16, %rsp\n\tcall session_main\n");
static long kernel(long number, long a, long b, long c, long d)
{
    long result;
    register long r10 __asm__("r10") = d;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10)
                     : "rcx", "r11", "memory");
    return result;
}
#elif defined(__aarch64__)
__asm__(".globl _start\n_start: mov x0, sp\n\tbl session_main\n");
static long kernel(long number, long a, long b, long c, long d)
{
    register long x8 __asm__("x8") = number;
    register long x0 __asm__("x0") = a;
    register long x1 __asm__("x1") = b;
    register long x2 __asm__("x2") = c;
    register long x3 __asm__("x3") = d;
    __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3) : "memory");
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
    (void)kernel(SYS_write, 2, (long)text, (long)length(text), 0);
}

/* words[1] is the program's name as the user wrote it, words[0] is free.  Returns only if it
 * failed. */
static int become(const char *path, const char **words, const char **environment)
{
    const char *name = words[1];
    long rc = kernel(SYS_execve, (long)path, (long)(words + 1), (long)environment, 0);
    if (rc == -ENOEXEC) {
        words[0] = "/bin/sh";
        words[1] = path;
        rc = kernel(SYS_execve, (long)words[0], (long)words, (long)environment, 0);
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

/* text behind what is at *at */
static void add(char *line, size_t *at, const char *text)
{
    while (*text)
        line[(*at)++] = *text++;
}

static void add_number(char *line, size_t *at, unsigned long number)
{
    char digits[24];
    size_t n = sizeof digits - 1;
    digits[n] = '\0';
    do {
        digits[--n] = (char)('0' + number % 10);
        number /= 10;
    } while (number);
    add(line, at, digits + n);
}

/* Hundredths of seconds since boot, by the clock that the runner reads: a container may have its
 * own. */
static unsigned long uptime(void)
{
    char text[64];
    unsigned long seconds = 0;
    long fd = kernel(SYS_openat, AT_FDCWD, (long)"/proc/uptime", O_RDONLY, 0);
    long n = kernel(SYS_read, fd, (long)text, sizeof text - 1, 0), i = 0;
    (void)kernel(SYS_close, fd, 0, 0, 0);
    for (; i < n && text[i] >= '0' && text[i] <= '9'; i++)
        seconds = seconds * 10 + (unsigned long)(text[i] - '0');
    if (i + 2 >= n || text[i] != '.')
        return seconds * 100;
    return seconds * 100 + (unsigned long)((text[i + 1] - '0') * 10 + text[i + 2] - '0');
}

/* The number is the runner's, and short. */
static int note_begin(const char *number)
{
    char line[96], stop[64];
    size_t n = 0, at = 0;
    if (length(number) > 20)
        return 0;
    add(line, &n, number);
    line[n++] = ' ';
    add_number(line, &n, (unsigned long)kernel(SYS_getpid, 0, 0, 0, 0));
    line[n++] = ' ';
    add_number(line, &n, uptime());
    line[n++] = '\n';
    add(stop, &at, "stop.");
    add(stop, &at, number);
    stop[at] = '\0';
    return kernel(SYS_write, STARTED, (long)line, (long)n, 0) == (long)n &&
           kernel(SYS_faccessat, AT_FDCWD, (long)stop, 0, 0) < 0;
}

/* As the kernel has it, for the default action. */
static void signal_default(int signal)
{
    static const unsigned long action[4];
    (void)kernel(SYS_rt_sigaction, signal, (long)action, 0, 8);
}

static int enter(const char *mask, const char *directory)
{
    long bits = 0;
    for (; *mask; mask++)
        bits = bits * 8 + (*mask - '0');
    (void)kernel(SYS_umask, bits, 0, 0, 0);
    if (kernel(SYS_chdir, (long)directory, 0, 0, 0) == 0)
        return 1;
    say(directory);
    say(": the directory cannot be entered\n");
    return 0;
}

/* words[1] is the program; its status if it cannot be executed */
static int run(const char **words, const char **environment)
{
    int is_path = 0;
    const char *name = words[1];
    for (const char *c = name; *c; c++)
        is_path = is_path || *c == '/';
    int error = is_path ? become(name, words, environment)
                        : search(path_of(environment), words, environment);
    say(name);
    say(": ");
    say(meaning(error));
    say("\n");
    return error == ENOENT ? 127 : 126;
}

static int begin(long n, const char **words, const char **environment)
{
    if (n == 1)
        return CAN_BE_RUN;
    if (n <= WORDS_OWN || !note_begin(words[1]))
        return NOT_BEGUN;
    (void)kernel(SYS_close, STARTED, 0, 0, 0);
    (void)kernel(SYS_dup3, 1, 2, 0, 0);
    signal_default(SIGHUP);
    signal_default(SIGPIPE);
    (void)kernel(SYS_setsid, 0, 0, 0, 0); /* who was forked leads nothing yet: it cannot fail */
    return enter(words[2], words[3]) ? run(words + WORDS_OWN - 1, environment) : 126;
}

void session_main(long *stack)
{
    const char **words = (const char **)(stack + 1);
    int status = begin(stack[0], words, words + stack[0] + 1);
    for (;;)
        (void)kernel(SYS_exit_group, status, 0, 0, 0);
}
