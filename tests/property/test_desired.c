/* test_desired.c - desired state from end to end against a naive model
 *
 * Random catalogs, deployments and sequences of requests, edits, commits, failures and repairs go
 * through maps, planner, engine and sight on one side and through naive.h on the other.  After
 * every step both must have the same bindings, snapshots, differences, merges and refusals, and
 * when all is quiet the same states and the same visible data.
 *
 * A failing seed is tried again with fewer steps, and what is left is printed.  Arguments: a seed
 * to run alone, or "-n N" for N seeds.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "desired_run.h"
#include "tap.h"

enum { STEPS = 70, SEEDS = 300 };

static void world_roll(struct dice *d, struct naive *v)
{
    v->n_nodes = 2 + (int)roll(d, NODES_MOST - 1);
    v->n_deployments = 2 + (int)roll(d, DEPLOYMENTS_MOST - 1);
    for (int i = 2; i <= v->n_deployments; i++)
        v->deployment_parent[i] = 1 + (int)roll(d, (uint32_t)i - 1);
}

/* A catalog that loads: the only fault that a random one may have is a circle. */
static void catalog_roll(struct run *x, uint64_t seed)
{
    for (uint64_t try = 1; try < 100; try++) {
        struct dice d = dice_of(seed, try << 32);
        struct err e;
        SCOPED_BUF(text);
        truth_roll(&d, &x->v->truth);
        world_roll(&d, x->v);
        truth_write(&x->v->truth, &text);
        if (!real_init(&x->r, text.data, (uint32_t)x->v->n_nodes, (uint32_t)x->v->n_deployments,
                       x->v->deployment_parent, &e))
            return;
        if (e.code != ERR_CYCLE) {
            printf("Bail out! seed %llu: %s\n%s", (unsigned long long)seed, e.text, text.data);
            exit(1);
        }
    }
    printf("Bail out! no catalog loads\n");
    exit(1);
}

/* The steps that skip[] leaves; the run is the caller's to end. */
static void seed_run(struct run *x, uint64_t seed, const bool *skip)
{
    memset(x, 0, sizeof *x);
    x->v = naive_new();
    x->exact = true;
    catalog_roll(x, seed);
    for (int i = 0; i < STEPS && !*x->wrong; i++) {
        if (skip[i])
            continue;
        x->d = dice_of(seed, (uint64_t)i + 1);
        run_log(x, "%d: ", i);
        run_step(x);
    }
}

static void run_end(struct run *x)
{
    real_done(&x->r);
    naive_free(x->v);
    buf_done(&x->log);
}

/* Leaves out every step without which it fails as well. */
static void shrink(struct run *x, uint64_t seed, bool *skip)
{
    for (int i = STEPS - 1; i >= 0; i--) {
        skip[i] = true;
        seed_run(x, seed, skip);
        skip[i] = *x->wrong;
        run_end(x);
    }
}

static void lines_print(const struct buf *b)
{
    const char *end;
    for (const char *at = buf_str(b).s; *at; at = end + (*end == '\n')) {
        end = at + strcspn(at, "\n");
        printf("# %.*s\n", (int)(end - at), at);
    }
}

static void failure_print(struct run *x, uint64_t seed)
{
    bool skip[STEPS] = {0};
    SCOPED_BUF(text);
    note("seed %llu: %s", (unsigned long long)seed, x->wrong);
    run_end(x);
    shrink(x, seed, skip);
    seed_run(x, seed, skip);
    note("the same with fewer steps:");
    truth_write(&x->v->truth, &text);
    lines_print(&text);
    for (int i = 1; i <= x->v->n_deployments; i++)
        note("deployment %d under %d", i, x->v->deployment_parent[i]);
    lines_print(&x->log);
    note("%s", x->wrong);
}

static void counts_add(struct run_counts *all, const struct run_counts *one)
{
#define X(name, every) all->name += one->name;
    RUN_COUNTS(X)
#undef X
}

int main(int argc, char **argv)
{
    static struct run x;
    static const bool all_steps[STEPS];
    struct run_counts counts = {0};
    bool many = argc > 2 && !strcmp(argv[1], "-n");
    uint64_t first = argc == 2 ? strtoull(argv[1], NULL, 10) : 1;
    uint64_t n = argc == 2 ? 1 : many ? strtoull(argv[2], NULL, 10) : SEEDS, failed = 0;
    for (uint64_t seed = first; seed < first + n && !failed; seed++) {
        seed_run(&x, seed, all_steps);
        counts_add(&counts, &x.counts);
        if (*x.wrong) {
            failed = seed;
            failure_print(&x, seed);
        }
        run_end(&x);
    }
    is_int(failed, 0, "%llu seeds: both sides agree", (unsigned long long)n);
#define X(name, every)                                                                             \
    if (argc != 2)                                                                                 \
        ok(counts.name > n / (every), "there were enough %s: %u", #name, counts.name);
    RUN_COUNTS(X)
#undef X
    return tap_done();
}
