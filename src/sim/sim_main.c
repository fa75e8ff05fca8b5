/* sim_main.c - `anneal sim`: options, one seed or many, what is printed, and what happens when one
 * fails
 *
 * Many seeds are shared out to child processes; their reports are read in the order of the seeds,
 * so that the output is the same whatever the number of jobs.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/sim.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { JOBS_MOST = 64, PROGRESS_SEEDS = 100 };

struct request {
    struct sim_options run;
    uint64_t first, last;
    uint32_t jobs;
    bool many, shrink;
};

static const char usage[] =
    "usage: anneal sim [--seed N | --seeds A..B] [--events N] [--nodes N] [--noderoles N]\n"
    "                  [--faults all|none|LIST] [--jobs N] [--no-shrink] [--verify] [--verbose]\n"
    "                  [--trip N]\n";

static void help(void)
{
    printf(
        "%s\n"
        "Runs the engine and the commit step in virtual time against injected faults, checks the\n"
        "invariants after every step, then heals the world and requires that every task passes.\n"
        "What it does and prints depends on the options and on this version, on nothing else.\n\n"
        "  --seed N       one run, with a summary (default 1)\n"
        "  --seeds A..B   many runs, with progress and totals\n"
        "  --events N     engine events before healing begins (default %d)\n"
        "  --nodes N      nodes (default: 20 to 40, from the seed)\n"
        "  --noderoles N  noderoles (default: 60 to 150, from the seed)\n"
        "  --faults LIST  kinds of faults, separated by commas; all (default) or none\n"
        "  --jobs N       processes that share the seeds (default 1)\n"
        "  --no-shrink    do not look for a smaller run that fails in the same way\n"
        "  --verify       restore and replay after every group; slow, the run stays the same\n"
        "  --verbose      print every step\n"
        "  --trip N       pretend that a check fails at event N\n\n"
        "Exit: 0 all passed, 1 one failed (with the shortest command that repeats it), 2 usage.\n"
        "Faults:",
        usage, SIM_EVENTS_DEFAULT);
    for (int f = 0; f < SIM_FAULT_COUNT; f++)
        printf(" %s", sim_fault_name((enum sim_fault)f));
    printf("\n");
}

static bool number(const char *text, uint64_t most, uint64_t *ret)
{
    char *end;
    errno = 0;
    *ret = strtoull(text, &end, 10);
    return *text >= '0' && *text <= '9' && *end == 0 && errno == 0 && *ret <= most;
}

static bool seeds(const char *text, struct request *q)
{
    char copy[64];
    const char *dots = strstr(text, "..");
    if (!dots || (size_t)(dots - text) >= sizeof copy)
        return false;
    memcpy(copy, text, (size_t)(dots - text));
    copy[dots - text] = 0;
    q->many = true;
    return number(copy, UINT64_MAX - 1, &q->first) && number(dots + 2, UINT64_MAX - 1, &q->last) &&
           q->first <= q->last;
}

static bool option(struct request *q, const char *name, const char *value)
{
    uint64_t n = 0;
    if (!strcmp(name, "--seed")) {
        bool good = number(value, UINT64_MAX - 1, &q->first);
        q->last = q->first;
        return good;
    }
    if (!strcmp(name, "--seeds"))
        return seeds(value, q);
    if (!strcmp(name, "--faults"))
        return sim_faults_parse(value, &q->run.faults);
    if (!strcmp(name, "--events") && number(value, 1000000000, &n) && n > 0)
        q->run.events = (uint32_t)n;
    else if (!strcmp(name, "--nodes") && number(value, 100000, &n) && n > 0)
        q->run.nodes = (uint32_t)n;
    else if (!strcmp(name, "--noderoles") && number(value, 1000000, &n) && n > 0)
        q->run.noderoles = (uint32_t)n;
    else if (!strcmp(name, "--trip") && number(value, 1000000000, &n) && n > 0)
        q->run.trip = (uint32_t)n;
    else if (!strcmp(name, "--jobs") && number(value, JOBS_MOST, &n) && n > 0)
        q->jobs = (uint32_t)n;
    else
        return false;
    return true;
}

static bool flag(struct request *q, const char *name)
{
    if (!strcmp(name, "--verbose"))
        q->run.verbose = true;
    else if (!strcmp(name, "--verify"))
        q->run.verify = true;
    else if (!strcmp(name, "--no-shrink"))
        q->shrink = false;
    else
        return false;
    return true;
}

static bool parse(int argc, char **argv, struct request *q)
{
    *q = (struct request){
        .run.faults = SIM_FAULTS_ALL, .first = 1, .last = 1, .jobs = 1, .shrink = true};
    for (int i = 1; i < argc; i++) {
        if (flag(q, argv[i]))
            continue;
        if (i + 1 >= argc || !option(q, argv[i], argv[i + 1])) {
            fprintf(stderr, "anneal sim: %s%s%s is not understood\n%s", argv[i],
                    i + 1 < argc ? " " : "", i + 1 < argc ? argv[i + 1] : "", usage);
            return false;
        }
        i++;
    }
    return true;
}

/* ---- what is printed ---- */

static void print_counts(const struct sim_report *r)
{
#define X(name) printf("  %-12s %" PRIu64 "\n", #name, r->name);
    SIM_COUNTS(X)
#undef X
    printf("  faults\n");
    for (int f = 0; f < SIM_FAULT_COUNT; f++)
        printf("    %-12s %" PRIu64 "\n", sim_fault_name((enum sim_fault)f), r->faults[f]);
    printf("  virtual      %" PRIu64 " s\n", r->virtual_ms / 1000);
    printf("  trail        %016" PRIx64 "\n", r->trail);
}

static void print_command(const char *label, const struct sim_options *o)
{
    SCOPED_BUF(b);
    sim_command(&b, o);
    printf("%s%s\n", label, b.data);
}

static int print_failure(const struct request *q, const struct sim_options *o,
                         const struct sim_report *r)
{
    struct sim_report again;
    SCOPED_BUF(history);
    struct sim_options quiet = *o;
    quiet.verbose = false;
    printf("seed %" PRIu64 " FAILED at step %" PRIu64 " after %" PRIu64 " events\n  %s\n", o->seed,
           r->step, r->events, r->what);
    sim_run_apart(&quiet, &again, &history);
    printf("the last steps (number, virtual time, event):\n%s", history.data ? history.data : "");
    print_command("repeat:   ", &quiet);
    fflush(stdout);
    if (!q->shrink)
        return 1;
    struct sim_options small = sim_shrink(&quiet, r);
    buf_clear(&history);
    sim_run_apart(&small, &again, &history);
    printf("shrunk to %" PRIu64 " events, %" PRIu64 " nodes, %" PRIu64 " noderoles:\n  %s\n%s",
           again.events, again.nodes, again.noderoles, again.what,
           history.data ? history.data : "");
    print_command("shortest: ", &small);
    return 1;
}

/* ---- many seeds ---- */

struct job {
    pid_t pid;
    FILE *from;
};

static _Noreturn void work(const struct request *q, uint32_t which, int fd)
{
    FILE *to = fdopen(fd, "w");
    struct sim_options o = q->run;
    for (o.seed = q->first + which; to && o.seed <= q->last; o.seed += q->jobs) {
        struct sim_report r;
        sim_run(&o, &r, NULL);
        if (fwrite(&r, sizeof r, 1, to) != 1 || fflush(to) != 0 || r.failed)
            break;
    }
    if (to)
        fclose(to);
    fflush(stdout);
    _exit(0);
}

static bool jobs_start(const struct request *q, struct job *jobs)
{
    for (uint32_t i = 0; i < q->jobs; i++) {
        int ends[2];
        fflush(stdout);
        if (pipe(ends) < 0 || (jobs[i].pid = fork()) < 0) {
            perror("anneal sim");
            return false;
        }
        if (jobs[i].pid == 0) {
            close(ends[0]);
            work(q, i, ends[1]);
        }
        close(ends[1]);
        jobs[i].from = fdopen(ends[0], "r");
    }
    return true;
}

static void jobs_end(const struct request *q, struct job *jobs)
{
    for (uint32_t i = 0; i < q->jobs && jobs[i].pid > 0; i++) {
        kill(jobs[i].pid, SIGTERM);
        if (jobs[i].from)
            fclose(jobs[i].from);
        while (waitpid(jobs[i].pid, NULL, 0) < 0 && errno == EINTR)
            ;
    }
}

static void add_report(struct sim_report *sum, const struct sim_report *r)
{
#define X(name) sum->name += r->name;
    SIM_COUNTS(X)
#undef X
    for (int f = 0; f < SIM_FAULT_COUNT; f++)
        sum->faults[f] += r->faults[f];
    sum->virtual_ms += r->virtual_ms;
    sum->trail = sum->trail * 31 + r->trail;
}

static int run_many(const struct request *q)
{
    struct job jobs[JOBS_MOST] = {0};
    struct sim_report sum = {0}, r = {0};
    struct sim_options o = q->run;
    if (!jobs_start(q, jobs)) {
        jobs_end(q, jobs);
        return 1;
    }
    for (o.seed = q->first; o.seed <= q->last; o.seed++) {
        FILE *from = jobs[(o.seed - q->first) % q->jobs].from;
        if (!from || fread(&r, sizeof r, 1, from) != 1)
            sim_run_apart(&o, &r, NULL); /* its process died: see how */
        if (r.failed)
            break;
        add_report(&sum, &r);
        if ((o.seed - q->first + 1) % PROGRESS_SEEDS == 0) {
            printf("seeds %" PRIu64 "..%" PRIu64 " ok: %" PRIu64 " events, %" PRIu64
                   " starts, %" PRIu64 " restores, %" PRIu64 " replays\n",
                   q->first, o.seed, sum.events, sum.starts, sum.restores, sum.replays);
            fflush(stdout);
        }
    }
    jobs_end(q, jobs);
    if (r.failed)
        return print_failure(q, &o, &r);
    printf("%" PRIu64 " seeds ok\n", q->last - q->first + 1);
    print_counts(&sum);
    return 0;
}

static int run_one(const struct request *q)
{
    struct sim_report r;
    struct sim_options o = q->run;
    o.seed = q->first;
    sim_run_apart(&o, &r, NULL);
    if (r.failed)
        return print_failure(q, &o, &r);
    printf("seed %" PRIu64 " ok\n", o.seed);
    print_counts(&r);
    return 0;
}

int sim_main(int argc, char **argv)
{
    struct request q;
    for (int i = 1; i < argc; i++)
        if (!strcmp(argv[i], "--help")) {
            help();
            return 0;
        }
    if (!parse(argc, argv, &q))
        return 2;
    int code = q.many ? run_many(&q) : run_one(&q);
    fflush(stdout);
    return code;
}
