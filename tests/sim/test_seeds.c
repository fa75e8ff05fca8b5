/* test_seeds.c - a thousand worlds, each broken in every way and healed again
 *
 * test_seeds [SEEDS]: prints what was done, and fails with the shortest run that shows the same
 * failure.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>

#include "base/alloc.h"
#include "sim/sim.h"
#include "tap.h"

enum { SEEDS = 1000, PORTION = 100 };

static void add(struct sim_report *sum, const struct sim_report *r)
{
#define X(name) sum->name += r->name;
    SIM_COUNTS(X)
#undef X
    for (int f = 0; f < SIM_FAULT_COUNT; f++)
        sum->faults[f] += r->faults[f];
}

static void show_failure(const struct sim_options *o, const struct sim_report *r)
{
    struct sim_report again;
    struct sim_options small = sim_shrink(o, r);
    SCOPED_BUF(history);
    SCOPED_BUF(command);
    sim_run_apart(&small, &again, &history);
    sim_command(&command, &small);
    note("seed %" PRIu64 " at step %" PRIu64 ": %s", o->seed, r->step, r->what);
    note("shortest: %s", command.data);
    note("%s", again.what);
    for (char *line = history.data, *end; line && (end = strchr(line, '\n')); line = end + 1)
        note("%.*s", (int)(end - line), line);
}

static bool run_portion(uint64_t first, uint64_t last, struct sim_report *sum)
{
    struct sim_options o = {.faults = SIM_FAULTS_ALL};
    for (o.seed = first; o.seed <= last; o.seed++) {
        struct sim_report r;
        sim_run(&o, &r, NULL);
        if (r.failed) {
            show_failure(&o, &r);
            return false;
        }
        if (r.events < SIM_EVENTS_DEFAULT) {
            note("seed %" PRIu64 " ended after %" PRIu64 " events", o.seed, r.events);
            return false;
        }
        add(sum, &r);
    }
    return true;
}

int main(int argc, char **argv)
{
    struct sim_report sum = {0};
    uint64_t seeds = argc > 1 ? strtoull(argv[1], NULL, 10) : SEEDS;
    for (uint64_t first = 1; first <= seeds; first += PORTION) {
        uint64_t last = first + PORTION - 1 < seeds ? first + PORTION - 1 : seeds;
        if (!ok(run_portion(first, last, &sum), "seeds %" PRIu64 " to %" PRIu64, first, last))
            return tap_done();
    }
    for (int f = 0; f < SIM_FAULT_COUNT; f++)
        ok(sum.faults[f] > 0, "%s: %" PRIu64 " times", sim_fault_name((enum sim_fault)f),
           sum.faults[f]);
    ok(sum.restores > seeds && sum.replays > seeds, "restores and replays were compared");
    ok(sum.slices > sum.groups, "large losses were written in slices");
    ok(sum.snapshots > seeds && sum.merges > 0 && sum.conflicts > 0,
       "heads that had moved were merged, and conflicts found");
    ok(sum.joins > 0 && sum.drains > 0, "joins passed, and operations went beyond a tolerance");
    ok(sum.quorums > 0, "quorums had members out of service");
    ok(sum.stale > 0 && sum.fenced > 0, "stale results and fenced attempts came");
#define X(name) note("%-10s %" PRIu64, #name, sum.name);
    SIM_COUNTS(X)
#undef X
    return tap_done();
}
