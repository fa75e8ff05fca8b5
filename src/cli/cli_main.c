/* cli_main.c - this process as the environment of the CLI
 *
 * The only file of the module that knows the real terminal, environment, clock and signals.  While
 * a live display hides the cursor, a signal that ends the program shows it again first; the handler
 * keeps no state and writes constants only.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

static void real_size(void *arg, int *ret_columns, int *ret_lines)
{
    struct winsize w = {0};
    (void)arg;
    for (int fd = 1; fd <= 2; fd++)
        if (!ioctl(fd, TIOCGWINSZ, &w) && w.ws_col)
            break;
    *ret_columns = w.ws_col ? w.ws_col : 80;
    *ret_lines = w.ws_row ? w.ws_row : 24;
}

static const char *real_variable(void *arg, const char *name)
{
    (void)arg;
    return getenv(name);
}

static int64_t real_wall_ms(void *arg)
{
    struct timespec t;
    (void)arg;
    clock_gettime(CLOCK_REALTIME, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static uint64_t real_clock_ms(void *arg)
{
    struct timespec t;
    (void)arg;
    clock_gettime(CLOCK_BOOTTIME, &t);
    return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static int real_exec(void *arg, const char *path, char *const argv[])
{
    (void)arg;
    return execv(path, argv);
}

static void show_cursor_and_die(int signo)
{
    static const char show[] = "\033[?25h\nanneal: the watching has ended; the work goes on\n";
    ssize_t n = write(2, show, sizeof show - 1);
    (void)n;
    signal(signo, SIG_DFL);
    raise(signo);
}

static void real_live(void *arg, bool on)
{
    static const int fatal[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
    struct sigaction act = {.sa_handler = on ? show_cursor_and_die : SIG_DFL};
    (void)arg;
    for (size_t i = 0; i < sizeof fatal / sizeof *fatal; i++)
        sigaction(fatal[i], &act, NULL);
}

int cli_main(int argc, char **argv, int (*sim)(int argc, char **argv))
{
    const struct cli_env env = {
        .in = stdin,
        .out = stdout,
        .err = stderr,
        .in_tty = isatty(0),
        .out_tty = isatty(1),
        .err_tty = isatty(2),
        .size = real_size,
        .variable = real_variable,
        .wall_ms = real_wall_ms,
        .clock_ms = real_clock_ms,
        .exec = real_exec,
        .live = real_live,
        .sim = sim,
    };
    return cli_run(&env, argc, argv);
}
