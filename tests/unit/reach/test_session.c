/* test_session.c - the program that leads a session: what it finds, what it passes on, how it fails
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "reach/reach_i.h"
#include "sys/scratch.h"

#ifdef REACH_SESSION_LOADER

static char program[600], work[512];

static void put_file(const char *name, const char *text, mode_t mode)
{
    char path[600];
    snprintf(path, sizeof path, "%s/%s", work, name);
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text) || fchmod(fd, mode) < 0)
        abort();
    close(fd);
}

struct seen {
    pid_t pid;
    int status;
    char out[4096]; /* its standard output */
};

/* As the runner does: in a chain's directory, `started` as descriptor 9, HUP and PIPE ignored,
 * standard error its own. */
static struct seen run(const char *const *words, const char *const *environment)
{
    struct seen s = {0};
    int ends[2];
    size_t n = 0;
    if (pipe2(ends, O_CLOEXEC) < 0)
        abort();
    s.pid = fork();
    if (s.pid == 0) {
        signal(SIGHUP, SIG_IGN);
        signal(SIGPIPE, SIG_IGN);
        dup2(ends[1], 1);
        dup2(open("/dev/null", O_WRONLY | O_CLOEXEC), 2);
        if (chdir(work) == 0) {
            int fd = open("started", O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
            dup2(fd, 9);
            execve(program, (char *const *)words, (char *const *)environment);
        }
        _exit(99);
    }
    close(ends[1]);
    for (ssize_t got; n + 1 < sizeof s.out;) {
        got = read(ends[0], s.out + n, sizeof s.out - 1 - n);
        if (got <= 0)
            break;
        n += (size_t)got;
    }
    close(ends[0]);
    if (waitpid(s.pid, &s.status, 0) != s.pid)
        abort();
    s.status = WIFEXITED(s.status) ? WEXITSTATUS(s.status) : -1;
    return s;
}

#define BEGIN(...) ((const char *const[]){"session", __VA_ARGS__, NULL})
#define WORDS(...) BEGIN("7", "022", work, __VA_ARGS__)

static const char *const plain[] = {"PATH=/usr/bin:/bin", "A=b c", "ODD", NULL};

static long uptime_cs(void)
{
    double s = 0;
    FILE *f = fopen("/proc/uptime", "re");
    if (!f || fscanf(f, "%lf", &s) != 1)
        abort();
    fclose(f);
    return (long)(s * 100 + 0.5);
}

static void last_started(char line[static 128])
{
    char path[600];
    snprintf(path, sizeof path, "%s/started", work);
    FILE *f = fopen(path, "re");
    line[0] = '\0';
    while (f && fgets(line, 128, f))
        ;
    if (f)
        fclose(f);
}

static void test_notes(void)
{
    char line[128];
    long before = uptime_cs(), number = 0, pid = 0, cs = 0;
    struct seen s = run(WORDS("true"), plain);
    last_started(line);
    is_int(sscanf(line, "%ld %ld %ld\n", &number, &pid, &cs), 3, "a line is noted: %s", line);
    ok(number == 7 && pid == s.pid, "with the step and the process");
    ok(cs >= before && cs <= uptime_cs(), "and when it began");
    put_file("stop.8", "", 0600);
    s = run(BEGIN("8", "022", work, "echo", "ran"), plain);
    is_int(s.status, 125, "what was stopped before does not begin");
    is_text(s.out, "", "at all");
    last_started(line);
    ok(!strncmp(line, "8 ", 2), "but is noted");
    is_int(run(BEGIN("7", "022", work), plain).status, 125, "without a program nothing begins");
    is_int(run(BEGIN("123456789012345678901", "022", work, "true"), plain).status, 125,
           "nor as a step that cannot be");
}

static void test_passes_on(void)
{
    char wanted[600];
    struct seen s = run((const char *const[]){"session", NULL}, plain);
    is_int(s.status, 42, "alone it says that it can be run");
    s = run(WORDS("sh", "-c", "set -- $(cat /proc/$$/stat); echo \"$5 $6\""), plain);
    snprintf(wanted, sizeof wanted, "%d %d\n", (int)s.pid, (int)s.pid);
    is_text(s.out, wanted, "the program leads its group and its session, in the same process");
    s = run(WORDS("sh", "-c", "printf '<%s>' \"$0\" \"$@\"", "a b", "", "*\n'"), plain);
    is_text(s.out, "<a b><><*\n'>", "arguments are as they were");
    s = run(WORDS("cat", "/proc/self/environ"), plain);
    static const char all[] = "PATH=/usr/bin:/bin\0A=b c\0ODD";
    ok(!memcmp(s.out, all, sizeof all), "the environment, too");
    s = run(WORDS("sh", "-c", "exit 7"), plain);
    is_int(s.status, 7, "its status is the program's");
    s = run(WORDS("sh", "-c", "echo out; echo err >&2"), plain);
    is_text(s.out, "out\nerr\n", "standard error goes where standard output goes");
    s = run(WORDS("sh", "-c", "ls -l /proc/$$/fd/9 2>/dev/null || echo closed"), plain);
    is_text(s.out, "closed\n", "what it noted itself in is closed");
    s = run(WORDS("sh", "-c", "kill -HUP $$; echo still here"), plain);
    ok(s.status == -1 && !s.out[0], "signals do what they do by default");
    s = run(BEGIN("7", "027", "/usr", "sh", "-c", "umask; pwd"), plain);
    is_text(s.out, "0027\n/usr\n", "with its mask, in its directory");
    s = run(BEGIN("7", "027", "/no/such/place", "true"), plain);
    is_int(s.status, 126, "a directory that is not there");
    is_text(s.out, "/no/such/place: the directory cannot be entered\n", "is named");
}

static void test_search(void)
{
    char path[2048], odd[8192];
    const char *environment[] = {path, NULL};
    put_file("said", "#!/bin/sh\necho first $0\n", 0700);
    put_file("bare", "echo bare \"$1\"\n", 0700);
    put_file("closed", "#!/bin/sh\n", 0600);
    put_file("lost", "#!/no/such/interpreter\n", 0700);
    snprintf(path, sizeof path, "PATH=/none:%s:/bin", work);
    struct seen s = run(WORDS("said"), environment);
    has_text(s.out, "/said\n", "a program is found behind a directory that is not there");
    s = run(WORDS("bare", "x y"), environment);
    is_text(s.out, "bare x y\n", "a file without a format is a shell's");
    s = run(WORDS("./bare", "z"), environment);
    is_text(s.out, "bare z\n", "also by its path");
    s = run(WORDS("nothing"), environment);
    is_int(s.status, 127, "no such program");
    is_text(s.out, "nothing: there is no such program\n", "is said");
    s = run(WORDS("closed"), environment);
    is_int(s.status, 126, "one that may not be executed");
    is_text(s.out, "closed: it may not be executed\n", "is told from it");
    s = run(WORDS("./lost"), environment);
    is_int(s.status, 127, "an interpreter that is not there");
    s = run(WORDS("/"), environment);
    is_int(s.status, 126, "a directory");
    snprintf(path, sizeof path, "PATH=");
    s = run(WORDS("said"), environment);
    has_text(s.out, "first", "an empty entry is the working directory");
    memset(odd, 'x', sizeof odd);
    memcpy(odd, "PATH=/", 6);
    snprintf(odd + 6000, sizeof odd - 6000, ":%s", work);
    s = run(WORDS("said"), (const char *const[]){odd, NULL});
    has_text(s.out, "first", "an entry that no path can have is passed over");
    s = run(WORDS("sh", "-c", "echo found"), (const char *const[]){NULL});
    is_text(s.out, "found\n", "without PATH it looks in /bin");
}

int main(void)
{
    char *dir = scratch_new();
    snprintf(work, sizeof work, "%s", dir);
    snprintf(program, sizeof program, "%s/session", dir);
    int fd = open(program, O_WRONLY | O_CREAT | O_CLOEXEC, 0700);
    if (fd < 0 || write(fd, reach_session, reach_session_n) != (ssize_t)reach_session_n)
        abort();
    close(fd);
    ok(reach_session_n < 4096, "it is small: %zu bytes", reach_session_n);
    test_notes();
    test_passes_on();
    test_search();
    scratch_end(dir);
    return tap_done();
}

#else

int main(void)
{
    skip("no such program for this kind of machine");
    return tap_done();
}

#endif
