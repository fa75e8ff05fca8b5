/* figures.h - one line per figure: what was measured, its bar, its peer, met or missed
 *
 * A bar is written here once and never bent to the machine: what is missed is shown as missed, and
 * the program exits 1.  Times are of the process's own work; ratios are taken inside one run.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BENCHMARKS_FIGURES_H
#define BENCHMARKS_FIGURES_H

#include <stdbool.h>
#include <stdio.h>
#include <time.h>

enum bar_sense { AT_LEAST, AT_MOST };
struct figures {
    int met, missed;
};

__attribute__((unused)) static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

__attribute__((unused)) static void figure(struct figures *f, const char *name, double value,
                                           enum bar_sense sense, double bar, const char *unit,
                                           const char *peer)
{
    bool met = sense == AT_LEAST ? value >= bar : value <= bar;
    printf("%-44s %12.4g %-16s bar %s %-10.4g %-6s %s%s\n", name, value, unit,
           sense == AT_LEAST ? ">=" : "<=", bar, met ? "met" : "MISSED", peer ? "peer: " : "",
           peer ? peer : "");
    fflush(stdout);
    f->met += met;
    f->missed += !met;
}

__attribute__((unused)) static void figure_seen(const char *name, double value, const char *unit)
{
    printf("%-44s %12.4g %s\n", name, value, unit);
    fflush(stdout);
}

#endif
