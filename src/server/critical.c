/* critical.c - the chain of tasks that made an operation as long as it was
 *
 * From the task that ended last back to the dependency that ended last, and so on.  Joins and what
 * was left out have no time of their own: what they waited for is looked at in their place.  A task
 * without dependencies that ran waited for the parents of its noderole.
 *
 * Bounded: the last one is sought among the attempts that started last, and only so many rows are
 * read on the way back.  A chain that is cut off there begins later than it should.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "server/chronicle.h"

enum {
    LAST_AMONG = 5000, /* attempts */
    ROWS_MOST = 20000, /* read on the way */
    STEPS_MOST = 1000,
};

struct chain {
    struct server *server;
    uint32_t operation, rows;
    struct row_attempt best; /* id 0: none yet */
    struct u64map looked;    /* tasks, from this step */
    VEC(uint32_t) stack;
};

static uint64_t end_of(const struct row_attempt *r)
{
    return attempt_began_wall_ms(r) +
           (r->ended_ms > attempt_began_ms(r) ? r->ended_ms - attempt_began_ms(r) : 0);
}

static void offer(struct chain *c, const struct row_attempt *r)
{
    if (r->outcome != ATTEMPT_OPEN && (!c->best.id || end_of(r) > end_of(&c->best)))
        c->best = *r;
}

static int offer_row(void *arg, enum row_table t, const void *row, struct err *e)
{
    (void)t;
    (void)e;
    offer(arg, row);
    return 0;
}

static void push_deps(struct chain *c, uint32_t task)
{
    uint32_t n;
    const uint32_t *deps = anneal_task_deps(c->server->engine, task, &n);
    for (uint32_t i = 0; i < n; i++)
        if (u64map_put(&c->looked, deps[i], 1))
            vec_push(&c->stack, deps[i]);
}

/* Offers each task on the stack that ran before `next` started; passive ones give way. */
static int weigh(struct chain *c, const struct row_attempt *next, struct err *e)
{
    while (c->stack.n > 0 && c->rows < ROWS_MOST) {
        uint32_t task = c->stack.at[--c->stack.n];
        struct task_view v;
        struct row_attempt r;
        bool ran;
        if (!anneal_task(c->server->engine, task, &v))
            continue;
        if (v.rule != RULE_RUN) {
            push_deps(c, task);
            continue;
        }
        c->rows++;
        int rc = attempt_history_in(c->server, task, c->operation, &r, &ran, e);
        if (rc < 0)
            return rc;
        if (ran && r.id < next->id) /* back in time, so that the way has an end */
            offer(c, &r);
    }
    vec_clear(&c->stack);
    return 0;
}

static void push_parents(struct chain *c, uint32_t task)
{
    struct task_view v;
    uint32_t n = 0;
    const uint32_t *parents = NULL;
    if (anneal_task(c->server->engine, task, &v) && v.noderole)
        parents = anneal_parents(c->server->engine, v.noderole, &n);
    for (uint32_t i = 0; i < n && c->stack.n < ROWS_MOST; i++) {
        struct noderole_view nr;
        if (!anneal_noderole(c->server->engine, parents[i], &nr))
            continue;
        for (uint32_t k = 0; k < nr.n_tasks; k++)
            if (u64map_put(&c->looked, nr.first_task + k, 1))
                vec_push(&c->stack, nr.first_task + k);
    }
}

/* c->best becomes the one that `next` waited for longest; id 0: it waited for nothing. */
static int step_back(struct chain *c, const struct row_attempt *next, struct err *e)
{
    c->best = (struct row_attempt){0};
    u64map_done(&c->looked);
    push_deps(c, next->task);
    int rc = weigh(c, next, e);
    if (rc >= 0 && !c->best.id) {
        push_parents(c, next->task);
        rc = weigh(c, next, e);
    }
    return rc;
}

static void turn_around(struct critical *r)
{
    for (size_t i = 0, k = r->steps.n; i + 1 < k; i++) {
        struct critical_step s = r->steps.at[i];
        r->steps.at[i] = r->steps.at[--k];
        r->steps.at[k] = s;
    }
}

int critical_find(struct server *s, uint32_t operation, struct critical *ret, struct err *e)
{
    struct chain c = {.server = s, .operation = operation};
    int rc = store_attempts_of(s->reader, operation, 0, UINT64_MAX, true, LAST_AMONG, offer_row, &c,
                               e);
    while (rc >= 0 && c.best.id && ret->steps.n < STEPS_MOST) {
        struct row_attempt at = c.best;
        vec_push(&ret->steps, ((struct critical_step){at.task, at.node, attempt_began_wall_ms(&at),
                                                      end_of(&at) - attempt_began_wall_ms(&at)}));
        rc = step_back(&c, &at, e);
    }
    turn_around(ret);
    u64map_done(&c.looked);
    vec_done(&c.stack);
    return rc;
}
