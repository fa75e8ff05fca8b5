/* test_sim.c - the simulator's own machinery: options, reports, shrinking, what is printed */
/* SPDX-License-Identifier: Apache-2.0 */
#include <unistd.h>

#include "base/alloc.h"
#include "sim/sim.h"
#include "tap.h"

static void test_fault_names(void)
{
    uint64_t faults = 0;
    SCOPED_BUF(b);
    ok(sim_faults_parse("all", &faults), "all");
    ok(faults == SIM_FAULTS_ALL, "is every kind");
    ok(sim_faults_parse("none", &faults), "none");
    is_int(faults, 0, "is none");
    ok(sim_faults_parse("crash,lose", &faults), "a list");
    ok(faults == (1ull << SIM_CRASH | 1ull << SIM_LOSE), "is those");
    ok(!sim_faults_parse("crash,loose", &faults), "one that is unknown");
    ok(!sim_faults_parse("crash,,lose", &faults), "an empty one");
    ok(faults == (1ull << SIM_CRASH | 1ull << SIM_LOSE), "changes nothing");
    sim_faults_write(&b, faults);
    is_text(b.data, "lose,crash", "written in the order of the table");
    for (int f = 0; f < SIM_FAULT_COUNT; f++) {
        faults = 0;
        ok(sim_faults_parse(sim_fault_name((enum sim_fault)f), &faults) && faults == 1ull << f,
           "%s is found by its name", sim_fault_name((enum sim_fault)f));
    }
    is_text(sim_fault_name(SIM_FAULT_COUNT), "?", "no such fault");
}

static void command_is(struct sim_options o, const char *want)
{
    SCOPED_BUF(b);
    sim_command(&b, &o);
    is_text(b.data, want, "%s", want);
}

static void test_commands(void)
{
    command_is((struct sim_options){.seed = 5, .faults = SIM_FAULTS_ALL}, "anneal sim --seed 5");
    command_is((struct sim_options){.seed = 5}, "anneal sim --seed 5 --faults none");
    command_is(
        (struct sim_options){.seed = 7,
                             .events = 20,
                             .nodes = 3,
                             .noderoles = 4,
                             .verify = true,
                             .trip = 9,
                             .faults = 1ull << SIM_DEAF},
        "anneal sim --seed 7 --events 20 --nodes 3 --noderoles 4 --verify --trip 9 --faults deaf");
}

static void test_world_size(void)
{
    uint32_t nodes, noderoles, low = 999, high = 0;
    for (uint64_t seed = 1; seed <= 50; seed++) {
        sim_world_size(&(struct sim_options){.seed = seed}, &nodes, &noderoles);
        low = nodes < low ? nodes : low;
        high = nodes > high ? nodes : high;
        if (noderoles < 60 || noderoles > 150)
            ok(false, "seed %d: %u noderoles", (int)seed, noderoles);
    }
    ok(low >= 20 && high <= 40 && low < high, "twenty nodes and more: %u to %u", low, high);
    sim_world_size(&(struct sim_options){.seed = 1, .nodes = 2, .noderoles = 3}, &nodes,
                   &noderoles);
    ok(nodes == 2 && noderoles == 3, "unless the options say otherwise");
}

static void test_runs(void)
{
    struct sim_options o = {.seed = 3, .events = 600, .faults = SIM_FAULTS_ALL};
    struct sim_report r, again, other;
    SCOPED_BUF(history);
    sim_run(&o, &r, &history);
    ok(!r.failed, "a run");
    is_int(history.len, 0, "that passes has no history to tell");
    ok(r.events >= 600 && r.starts > 0 && r.restores > 0 && r.replays > 0, "did something");
    sim_run_apart(&o, &again, &history);
    ok(r.trail == again.trail && r.events == again.events && r.step == again.step &&
           r.virtual_ms == again.virtual_ms,
       "the same in a process of its own");
    o.seed = 4;
    sim_run(&o, &other, NULL);
    ok(other.trail != r.trail, "another seed is another run");
    for (o.seed = 11, o.events = 4000; o.seed < 14; o.seed++) {
        sim_run(&o, &r, NULL);
        ok(!r.failed, "a longer one%s%s", r.failed ? ": " : "", r.what);
    }
    o = (struct sim_options){.seed = 3, .events = 600, .faults = 0};
    sim_run(&o, &r, NULL);
    uint64_t sum = 0;
    for (int f = 0; f < SIM_FAULT_COUNT; f++)
        sum += r.faults[f];
    ok(!r.failed && sum == 0, "without faults nothing goes wrong");
    o = (struct sim_options){.seed = 3, .events = 300, .faults = 1ull << SIM_CRASH};
    sim_run(&o, &r, NULL);
    sum = 0;
    for (int f = 0; f < SIM_FAULT_COUNT; f++)
        sum += f == SIM_CRASH ? 0 : r.faults[f];
    ok(!r.failed && sum == 0, "with one kind only that");
    o = (struct sim_options){.seed = 24, .events = 6000};
    sim_faults_parse("crash,refuse,unknown,propose,edit,commit,recall,rollback,amend,nonsense",
                     &o.faults);
    sim_run(&o, &r, NULL);
    ok(!r.failed && r.snapshots > 20 && r.merges > 0 && r.conflicts > 0 && r.restores > 5 &&
           r.faults[SIM_CRASH] > 0 && r.faults[SIM_REFUSE] > 0 && r.faults[SIM_UNKNOWN] > 0,
       "what is wanted alone: %d snapshots, %d merges, %d conflicts%s%s", (int)r.snapshots,
       (int)r.merges, (int)r.conflicts, r.failed ? ": " : "", r.what);
}

static void test_failure_and_shrinking(void)
{
    struct sim_options o = {.seed = 3, .events = 500, .faults = SIM_FAULTS_ALL, .trip = 150};
    struct sim_report r;
    SCOPED_BUF(history);
    sim_run(&o, &r, &history);
    ok(r.failed, "tripped");
    is_text(r.what, "trip: event 150 was reached", "what");
    is_int(r.events, 150, "when");
    ok(history.len > 0, "and how it came to that");
    buf_clear(&history);
    sim_run_apart(&o, &r, &history);
    ok(r.failed && history.len > 0, "the same from a process of its own");
    o.trip = 14;
    sim_run(&o, &r, NULL);
    struct sim_options small = sim_shrink(&o, &r);
    ok(small.events <= 14, "shrunk: fewer events: %u", small.events);
    is_int(small.faults, 0, "no faults: none was needed");
    ok(small.nodes < 10 && small.noderoles < 10, "a smaller world: %u nodes, %u noderoles",
       small.nodes, small.noderoles);
    sim_run(&small, &r, NULL);
    ok(r.failed, "and it still fails");
}

/* Standard output of sim_main() with these words. */
static int run_main(const char *words, struct buf *out)
{
    char copy[256], *argv[32];
    int argc = 0;
    snprintf(copy, sizeof copy, "%s", words);
    for (char *w = copy, *space; argc < 31 && *w; w = space) {
        argv[argc++] = w;
        space = w + strcspn(w, " ");
        if (*space)
            *space++ = 0;
    }
    argv[argc] = NULL;
    FILE *to = tmpfile();
    fflush(stdout);
    int kept = dup(STDOUT_FILENO), kept_err = dup(STDERR_FILENO);
    dup2(fileno(to), STDOUT_FILENO);
    dup2(fileno(to), STDERR_FILENO);
    int code = sim_main(argc, argv);
    fflush(stdout);
    dup2(kept, STDOUT_FILENO);
    dup2(kept_err, STDERR_FILENO);
    close(kept);
    close(kept_err);
    char part[4096];
    rewind(to);
    buf_clear(out);
    for (size_t n; (n = fread(part, 1, sizeof part, to)) > 0;)
        buf_put(out, part, n);
    fclose(to);
    return code;
}

static void test_main_refuses(void)
{
    static const char *const wrong[] = {
        "sim --seed",     "sim --seed x",     "sim --seed 1x",
        "sim --seeds 5",  "sim --seeds 9..2", "sim --seeds a..b",
        "sim --events 0", "sim --nodes -3",   "sim --noderoles many",
        "sim --jobs 0",   "sim --jobs 1000",  "sim --faults rain",
        "sim --trip 0",   "sim --wind 3",     "sim --seed 18446744073709551616",
    };
    SCOPED_BUF(out);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        is_int(run_main(wrong[i], &out), 2, "%s", wrong[i]);
        has_text(out.data, "usage: anneal sim", "%s: how it is used", wrong[i]);
    }
}

static void test_main_runs(void)
{
    SCOPED_BUF(out);
    SCOPED_BUF(jobs);
    is_int(run_main("sim --help", &out), 0, "help");
    has_text(out.data, "--faults LIST", "tells the options");
    has_text(out.data, " nonsense", "and the kinds of faults");
    is_int(run_main("sim --seed 2 --events 300 --nodes 5 --noderoles 20", &out), 0, "one seed");
    has_text(out.data, "seed 2 ok", "says so");
    has_text(out.data, "trail", "with a summary");
    is_int(run_main("sim --seeds 1..4 --events 200 --jobs 1", &out), 0, "many seeds");
    is_int(run_main("sim --seeds 1..4 --events 200 --jobs 3", &jobs), 0, "on three processes");
    has_text(out.data, "4 seeds ok", "says so");
    is_text(jobs.data, out.data, "with the same words");
    is_int(run_main("sim --seeds 1..100 --events 1 --nodes 1 --noderoles 1 --faults none", &out), 0,
           "a hundred");
    has_text(out.data, "seeds 1..100 ok", "show progress");
    is_int(run_main("sim --seed 2 --events 20 --verbose --verify", &out), 0, "every step");
    has_text(out.data, "-- close group", "is shown");
}

static void test_main_fails(void)
{
    SCOPED_BUF(out);
    is_int(run_main("sim --seed 2 --events 100 --trip 40", &out), 1, "a failing seed");
    has_text(out.data, "seed 2 FAILED at step", "is named");
    has_text(out.data, "trip: event 40 was reached", "with what failed");
    has_text(out.data, "the last steps", "its last steps");
    has_text(out.data, "repeat:   anneal sim --seed 2 --events 100 --trip 40", "how to repeat it");
    has_text(out.data, "shortest: anneal sim --seed 2", "and the shortest way to the same");
    is_int(run_main("sim --seeds 2..9 --events 100 --trip 40 --no-shrink --jobs 2", &out), 1,
           "one of many");
    has_text(out.data, "seed 2 FAILED", "the first is named");
    ok(!strstr(out.data, "shortest"), "and not shrunk if nobody wants it");
}

int main(void)
{
    test_fault_names();
    test_commands();
    test_world_size();
    test_runs();
    test_failure_and_shrinking();
    test_main_refuses();
    test_main_runs();
    test_main_fails();
    return tap_done();
}
