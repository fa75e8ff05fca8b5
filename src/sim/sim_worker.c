/* sim_worker.c - the network, the workers and the runner on each node
 *
 * Messages may be lost, doubled or overtaken.  A worker runs an attempt for a while, answers, and
 * keeps the answer until it is acknowledged; each beat sends it again and claims what is held.  A
 * worker that dies loses everything.  The runner on a node outlives it: it ends an older attempt of
 * a task before it starts a newer one and refuses one that is not newer than all it has seen, so no
 * attempt runs twice.
 *
 * Checked here, where the outside sees it: no attempt arrives whose row is not stored (invariant
 * 11), and no `once` task starts while an earlier start of it is unresolved (invariant 9).
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/sim_i.h"

enum { BEAT_MS = 3000 };

void sim_net_send(struct sim *s, struct agenda_item item)
{
    struct rng *r = &s->net;
    uint32_t copies = 1;
    if (sim_has(s, SIM_LOSE) && rng_chance(r, 15)) {
        s->report->faults[SIM_LOSE]++;
        return;
    }
    if (sim_has(s, SIM_DOUBLE) && rng_chance(r, 20)) {
        s->report->faults[SIM_DOUBLE]++;
        copies = 2;
    }
    for (uint32_t i = 0; i < copies; i++) {
        uint64_t delay_ms = rng_from(r, 1, 30);
        if (sim_has(s, SIM_DELAY) && rng_chance(r, 20)) {
            s->report->faults[SIM_DELAY]++;
            delay_ms += rng_from(r, 100, 15000);
        }
        sim_after(s, delay_ms, item);
    }
}

static struct sim_work *work_find(struct sim_worker *w, uint32_t task, uint32_t attempt,
                                  uint32_t ask)
{
    for (size_t i = 0; i < w->work.n; i++) {
        struct sim_work *k = &w->work.at[i];
        if (k->task == task && k->attempt == attempt && k->ask == ask)
            return k;
    }
    return NULL;
}

static void result_send(struct sim *s, uint32_t worker, const struct sim_work *k)
{
    sim_net_send(s, (struct agenda_item){.kind = AGENDA_RESULT,
                                         .who = worker,
                                         .life = s->workers[worker].life,
                                         .task = k->task,
                                         .attempt = k->attempt,
                                         .ask = k->ask,
                                         .outcome = k->outcome,
                                         .phase = k->phase,
                                         .again_ms = k->again_ms,
                                         .last = k->last,
                                         .returns = k->returns});
}

static void run_end_later(struct sim *s, uint32_t worker, const struct sim_work *k,
                          uint64_t delay_ms)
{
    sim_after(s, delay_ms,
              (struct agenda_item){.kind = AGENDA_RUN_END,
                                   .who = worker,
                                   .life = s->workers[worker].life,
                                   .task = k->task,
                                   .attempt = k->attempt,
                                   .ask = k->ask});
}

/* What a run will answer, and after how long. */
static uint64_t run_draw(struct sim *s, const struct sim_def *d, struct sim_work *k)
{
    struct rng *r = &s->work;
    uint64_t run_ms = rng_chance(r, 100) ? rng_from(r, 2000, 20000) : rng_from(r, 20, 2500);
    uint32_t dice = rng_below(r, 1000);
    k->outcome = OUTCOME_OK;
    if (dice < 50 && sim_has(s, SIM_FAIL))
        k->outcome = OUTCOME_FAILED;
    else if (dice < 53 && sim_has(s, SIM_FAIL))
        k->outcome = OUTCOME_REFUSED;
    else if (dice < 150 && sim_has(s, SIM_AGAIN))
        k->outcome = OUTCOME_AGAIN;
    if (k->outcome == OUTCOME_FAILED || k->outcome == OUTCOME_REFUSED)
        s->report->faults[SIM_FAIL]++;
    /* Failures in all phases, without a further draw: those of one are as good as of another. */
    if (k->outcome == OUTCOME_FAILED)
        k->phase = (uint8_t)((k->task + k->attempt) % PHASE_COUNT);
    if (k->outcome == OUTCOME_AGAIN) {
        s->report->faults[SIM_AGAIN]++;
        k->again_ms = rng_from(r, 5, 8000);
    }
    if (k->outcome == OUTCOME_OK && sim_has(s, SIM_RETURNS) && rng_chance(r, 60)) {
        s->report->faults[SIM_RETURNS]++;
        k->returns = rng_next(r) | 1;
    }
    if (d->timeout_ms && run_ms > d->timeout_ms) {
        run_ms = d->timeout_ms;
        k->outcome = OUTCOME_TIMEOUT;
    }
    return run_ms;
}

/* May this node's runner start it?  Ends what an older attempt left running. */
static bool runner_start(struct sim *s, struct sim_task *t, const struct agenda_item *m)
{
    bool seen = m->attempt == t->run_attempt && m->ask <= t->run_ask;
    if (m->attempt < t->run_attempt || seen || m->attempt <= t->fence) {
        s->report->fenced++;
        return false;
    }
    if (s->defs.at[t->def].repeat == REPEAT_ONCE) {
        if (t->once_open || t->once_group > s->server.durable)
            sim_fail(s,
                     "invariant 9: once-task %u starts as attempt %u.%u while the outcome of "
                     "attempt %u.%u is unknown",
                     m->task, m->attempt, m->ask, t->run_attempt, t->run_ask);
        t->once_open = true;
        t->once_group = 0;
    }
    t->run_attempt = m->attempt;
    t->run_ask = m->ask;
    t->running = true;
    return true;
}

/* Those sent to run behind an attempt travel with it. */
static void chain_hold(struct sim *s, struct sim_worker *w, uint32_t task, uint32_t attempt)
{
    for (const struct sim_task *t = &s->tasks.at[task]; t->next && t->next_of == attempt;) {
        *vec_add(&w->work) = (struct sim_work){.task = t->next,
                                               .attempt = t->next_attempt,
                                               .behind = task,
                                               .behind_attempt = attempt,
                                               .state = WORK_AHEAD};
        task = t->next;
        attempt = t->next_attempt;
        t = &s->tasks.at[task];
    }
}

static struct sim_work *chain_next(struct sim_worker *w, uint32_t task, uint32_t attempt)
{
    for (size_t i = 0; i < w->work.n; i++) {
        struct sim_work *k = &w->work.at[i];
        if (k->state == WORK_AHEAD && k->behind == task && k->behind_attempt == attempt)
            return k;
    }
    return NULL;
}

/* None of those behind it will begin. */
static void chain_forget(struct sim_worker *w, uint32_t task, uint32_t attempt)
{
    for (struct sim_work *k; (k = chain_next(w, task, attempt));) {
        task = k->task;
        attempt = k->attempt;
        *k = w->work.at[--w->work.n];
    }
}

static void work_begin(struct sim *s, uint32_t worker, struct sim_work *k);

/* Behind a success that returned nothing the next one begins, if it is still wanted. */
static bool chain_goes_on(struct sim *s, uint32_t worker, uint32_t task, uint32_t attempt)
{
    struct sim_work *k = chain_next(&s->workers[worker], task, attempt);
    if (!k || !runner_start(s, &s->tasks.at[k->task],
                            &(struct agenda_item){.task = k->task, .attempt = k->attempt}))
        return false;
    work_begin(s, worker, k);
    return true;
}

static void work_begin(struct sim *s, uint32_t worker, struct sim_work *k)
{
    const struct sim_task *t = &s->tasks.at[k->task];
    const struct sim_def *d = &s->defs.at[t->def];
    k->state = WORK_RUNS;
    k->node_life = s->nodes.at[t->node].life;
    uint64_t run_ms = run_draw(s, d, k);
    if ((d->flags & DEF_F_TAKES_DOWN) && s->nodes.at[t->node].up && rng_chance(&s->work, 700)) {
        sim_world_node_down(s, t->node, run_ms / 2 + 1, true, false);
        k->node_life = s->nodes.at[t->node].life; /* the reboot is its own doing */
    }
    run_end_later(s, worker, k, run_ms);
}

void sim_worker_task(struct sim *s, const struct agenda_item *m)
{
    struct sim_worker *w = &s->workers[m->who];
    struct sim_task *t = &s->tasks.at[m->task];
    if (!w->up || work_find(w, m->task, m->attempt, m->ask))
        return;
    if (m->attempt > t->durable_attempt ||
        (m->attempt == t->durable_attempt && m->ask > t->durable_ask))
        sim_fail(s, "invariant 11: attempt %u.%u of task %u arrived, stored is %u.%u", m->attempt,
                 m->ask, m->task, t->durable_attempt, t->durable_ask);
    if (!runner_start(s, t, m))
        return;
    *vec_add(&w->work) = (struct sim_work){.task = m->task, .attempt = m->attempt, .ask = m->ask};
    work_begin(s, m->who, &w->work.at[w->work.n - 1]);
    if (m->ask == 0)
        chain_hold(s, w, m->task, m->attempt);
}

static void work_end(struct sim *s, uint32_t worker, struct sim_work *k)
{
    struct sim_task *t = &s->tasks.at[k->task];
    uint32_t task = k->task, attempt = k->attempt;
    k->state = WORK_ENDED;
    if (t->run_attempt == k->attempt && t->run_ask == k->ask)
        t->running = false;
    bool goes = k->outcome == OUTCOME_OK && k->returns == 0 &&
                chain_goes_on(s, worker, k->task, k->attempt);
    k->last = !goes;
    result_send(s, worker, k);
    if (!goes)
        chain_forget(&s->workers[worker], task, attempt);
}

void sim_worker_run_end(struct sim *s, const struct agenda_item *m)
{
    struct sim_worker *w = &s->workers[m->who];
    struct sim_work *k = w->up && w->life == m->life ? work_find(w, m->task, m->attempt, m->ask)
                                                     : NULL;
    if (!k || k->state != WORK_RUNS)
        return;
    const struct sim_task *t = &s->tasks.at[k->task];
    const struct sim_node *n = &s->nodes.at[t->node];
    const struct sim_def *d = &s->defs.at[t->def];
    bool inside = !(d->flags & DEF_F_OUTSIDE);
    if (inside && !n->up && !k->stopped) { /* nobody answers: it hangs until told to end */
        run_end_later(s, m->who, k, 1500);
        return;
    }
    bool newer = t->run_attempt != k->attempt || t->run_ask != k->ask;
    if (newer || (inside && n->life != k->node_life)) { /* ended by the runner, or with its node */
        k->outcome = OUTCOME_FAILED;
        k->returns = 0;
    } else if (k->stopped) {
        k->outcome = OUTCOME_CANCELLED;
        k->returns = 0;
    }
    work_end(s, m->who, k);
}

void sim_worker_stop(struct sim *s, const struct agenda_item *m)
{
    struct sim_worker *w = &s->workers[m->who];
    for (size_t i = 0; w->up && i < w->work.n; i++) {
        struct sim_work *k = &w->work.at[i];
        if (k->task == m->task && k->attempt == m->attempt && k->state == WORK_AHEAD) {
            k->state = WORK_ENDED;
            k->outcome = OUTCOME_CANCELLED;
            k->last = true;
            result_send(s, m->who, k);
            chain_forget(w, m->task, m->attempt);
            return;
        }
        if (k->task != m->task || k->attempt != m->attempt || k->state != WORK_RUNS || k->stopped)
            continue;
        if (!k->deaf && sim_has(s, SIM_DEAF) && rng_chance(&s->work, 250)) {
            s->report->faults[SIM_DEAF]++;
            k->deaf = true;
        }
        if (k->deaf)
            continue;
        k->stopped = true;
        run_end_later(s, m->who, k, rng_from(&s->work, 5, 2000));
    }
}

void sim_worker_ack(struct sim *s, const struct agenda_item *m)
{
    struct sim_worker *w = &s->workers[m->who];
    struct sim_work *k = w->up && w->life == m->life ? work_find(w, m->task, m->attempt, m->ask)
                                                     : NULL;
    if (k && k->state == WORK_ENDED)
        *k = w->work.at[--w->work.n];
}

void sim_worker_beat(struct sim *s, const struct agenda_item *m)
{
    struct sim_worker *w = &s->workers[m->who];
    if (!w->up || w->life != m->life)
        return;
    sim_net_send(s, (struct agenda_item){.kind = AGENDA_BEAT_CAME, .who = m->who, .life = w->life});
    for (size_t i = 0; i < w->work.n; i++)
        if (w->work.at[i].state == WORK_ENDED)
            result_send(s, m->who, &w->work.at[i]);
    sim_after(s, BEAT_MS, *m);
}

void sim_worker_crash(struct sim *s, uint32_t worker, uint64_t down_ms)
{
    struct sim_worker *w = &s->workers[worker];
    if (!w->up)
        return;
    w->up = false;
    w->life++;
    vec_clear(&w->work); /* what ran on nodes runs on, and nobody will hear of it */
    sim_after(s, down_ms, (struct agenda_item){.kind = AGENDA_WORKER_UP, .who = worker});
    sim_after(s, rng_from(&s->net, 100, 5000), (struct agenda_item){.kind = AGENDA_CAPACITY});
}

void sim_worker_up(struct sim *s, uint32_t worker)
{
    struct sim_worker *w = &s->workers[worker];
    if (w->up)
        return;
    w->up = true;
    sim_after(s, 1, (struct agenda_item){.kind = AGENDA_BEAT, .who = worker, .life = w->life});
    sim_after(s, rng_from(&s->net, 10, 500), (struct agenda_item){.kind = AGENDA_CAPACITY});
}

/* The worker with that jig that holds least; ties by number.  A dead one if there is no other. */
uint32_t sim_worker_choose(struct sim *s, uint32_t task)
{
    uint32_t jig = s->defs.at[s->tasks.at[task].def].jig, best = SIM_WORKERS_MOST;
    for (uint32_t i = 0; i < s->n_workers; i++) {
        const struct sim_worker *w = &s->workers[i];
        if (!(w->jigs >> jig & 1))
            continue;
        if (best == SIM_WORKERS_MOST || (w->up && !s->workers[best].up) ||
            (w->up == s->workers[best].up && w->work.n < s->workers[best].work.n))
            best = i;
    }
    return best;
}
