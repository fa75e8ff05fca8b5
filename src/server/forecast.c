/* forecast.c - work that is done and left, and the time the rest takes */
/* SPDX-License-Identifier: Apache-2.0 */
#include "server/forecast.h"

#include "model/taskmsg.h"
#include "server/pace.h"
#include "server/tally.h"

enum { US_PER_MS = 1000 };

/* Of a definition that the inventory has; 0 while it has not. */
static uint64_t def_key(struct server *s, uint32_t def)
{
    if (def >= s->inv.defs.n || !s->inv.defs.at[def].name)
        return 0;
    struct inv_def *d = &s->inv.defs.at[def];
    if (!d->pace)
        d->pace = pace_key(s->inv.role_names.at[d->role], d->name, d->type);
    return d->pace;
}

static void learn(struct server *s, const struct row_attempt *r)
{
    struct task_view v;
    struct row_pace row;
    uint32_t task = (uint32_t)(r->id >> ATTEMPT_BITS);
    uint64_t key = anneal_task(s->engine, task, &v) && v.noderole ? def_key(s, v.def) : 0;
    uint64_t ran_ms = r->ended_ms > attempt_began_ms(r) ? r->ended_ms - attempt_began_ms(r) : 0;
    if (key && pace_learn(s->pace, key, ran_ms * US_PER_MS, &row))
        commit_row(s->commit, ROWS_PACE, ROW_PUT, &row);
}

void forecast_follow(struct server *s, const struct effects *fx)
{
    tally_follow(s->tally, s->engine, fx);
    for (size_t i = 0; i < fx->attempts.n; i++)
        if (fx->attempts.at[i].verb == ROW_UPDATE && fx->attempts.at[i].row.outcome == OUTCOME_OK)
            learn(s, &fx->attempts.at[i].row);
}

struct work { /* tasks and, of those whose definition is known, what they weigh */
    uint64_t n, known_n, known_us;
};

static void work_add(struct work *w, uint64_t n, uint64_t us)
{
    w->n += n;
    w->known_n += us ? n : 0;
    w->known_us += n * us;
}

/* The others at the mean of those that are known. */
static double work_us(const struct work *w, double mean_us)
{
    return (double)w->known_us + (double)(w->n - w->known_n) * mean_us;
}

struct sums {
    struct work left, passed, all;
    double mean_us; /* 1 if nothing is known */
};

static struct sums sums_of(struct server *s, uint32_t op)
{
    struct sums w = {0};
    size_t n;
    const struct tally_count *c = tally_operation(s->tally, op, &n);
    for (size_t i = 0; i < n; i++) {
        uint64_t key = def_key(s, c[i].def), us = key ? pace_expected_us(s->pace, key) : 0;
        work_add(&w.left, c[i].left, us);
        work_add(&w.passed, c[i].passed, us);
        work_add(&w.all, (uint64_t)c[i].left + c[i].passed + c[i].lost, us);
    }
    w.mean_us = w.all.known_n ? (double)w.all.known_us / (double)w.all.known_n : 1;
    return w;
}

/* How much is done at a time: what runs now or, if that is more, what was done in the time so far;
 * before anything was, what workers have room for.  0: nothing can run. */
static double parallelism(const struct server *s, const struct operation_view *v, double done_us,
                          uint64_t elapsed_ms)
{
    double now = v->counts[TASK_RUNNING] + v->counts[TASK_WAITING];
    double mean = elapsed_ms ? done_us / ((double)elapsed_ms * US_PER_MS) : 0;
    double best = now > mean ? now : mean;
    return best > 0 ? best : anneal_capacity(s->engine, NULL);
}

static int64_t eta_ms(struct server *s, const struct operation_view *v, const struct sums *w,
                      uint64_t elapsed_ms)
{
    if (v->held || !w->all.known_n)
        return -1;
    if (!w->left.n)
        return 0;
    double left_us = work_us(&w->left, w->mean_us);
    double at_once = parallelism(s, v, work_us(&w->passed, w->mean_us), elapsed_ms);
    double chain_us = tally_depth(s->tally, v->id) * (left_us / (double)w->left.n);
    if (at_once <= 0)
        return -1;
    double rest_us = left_us / at_once > chain_us ? left_us / at_once : chain_us;
    return (int64_t)(rest_us / US_PER_MS);
}

static struct forecast ended(const struct operation_view *v)
{
    bool all = v->state == OPERATION_SUCCEEDED || v->done >= v->total;
    return (struct forecast){.weight_done = all ? v->total : v->done,
                             .weight_total = v->total,
                             .percent = all ? 100 : (uint32_t)((uint64_t)v->done * 100 / v->total),
                             .eta_ms = -1};
}

struct forecast forecast_of(struct server *s, const struct operation_view *v, uint64_t created_ms,
                            uint64_t now_ms)
{
    if (v->state != OPERATION_RUNNING)
        return ended(v);
    struct sums w = sums_of(s, v->id);
    double done = work_us(&w.passed, w.mean_us), total = work_us(&w.all, w.mean_us);
    double unit = w.all.known_n ? US_PER_MS : 1;
    return (struct forecast){
        .weight_done = (uint64_t)(done / unit),
        .weight_total = (uint64_t)(total / unit),
        .percent = total > 0 ? (uint32_t)(done * 100 / total) : 0,
        .eta_ms = eta_ms(s, v, &w, now_ms > created_ms ? now_ms - created_ms : 0),
    };
}
