/* test_pool.c - work on threads, completions on the loop */
/* SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <stdatomic.h>

#include "sys/pool.h"
#include "sys/scratch.h"

enum { JOBS = 500 };
struct job_case {
    struct loop *l;
    struct pool *p;
    pthread_t home;
    atomic_int worked;
    int done, order_of[JOBS];
    bool off_home, on_home, masked, named;
};
struct one {
    struct job_case *c;
    int number;
};

static void work(void *arg)
{
    struct one *o = arg;
    sigset_t mask;
    char name[16] = "";
    pthread_sigmask(SIG_BLOCK, NULL, &mask);
    pthread_getname_np(pthread_self(), name, sizeof name);
    if (pthread_equal(pthread_self(), o->c->home))
        o->c->off_home = false;
    if (!sigismember(&mask, SIGTERM))
        o->c->masked = false;
    if (strcmp(name, "writer-with-a-l"))
        o->c->named = false;
    atomic_fetch_add(&o->c->worked, 1);
}

static void done(void *arg)
{
    struct one *o = arg;
    o->c->on_home = o->c->on_home && pthread_equal(pthread_self(), o->c->home);
    o->c->order_of[o->c->done++] = o->number;
}

static void test_one_thread(void)
{
    struct job_case c = {.l = loop_new(), .home = pthread_self()};
    struct one jobs[JOBS];
    bool ordered = true;
    c.off_home = c.on_home = c.masked = c.named = true;
    c.p = pool_new(c.l, 1, "writer-with-a-long-name");
    for (int i = 0; i < JOBS; i++) {
        jobs[i] = (struct one){&c, i};
        pool_submit(c.p, work, i % 2 ? done : NULL, &jobs[i]);
    }
    loop_run(c.l); /* returns by itself when the last completion was delivered */
    is_int(atomic_load(&c.worked), JOBS, "every job ran");
    is_int(c.done, JOBS / 2, "every completion that was asked for came");
    for (int i = 0; i < c.done; i++)
        ordered = ordered && c.order_of[i] == 2 * i + 1;
    ok(ordered, "one thread runs its jobs in order");
    ok(c.off_home, "work is off the loop's thread");
    ok(c.on_home, "completions are on it");
    ok(c.masked, "pool threads take no signals");
    ok(c.named, "pool threads have the pool's name, cut to what fits");
    is_int(pool_depth(c.p), 0, "nothing is left");
    pool_free(c.p);
    loop_free(c.l);
}

static void free_pool(void *arg)
{
    struct one *o = arg;
    pool_free(o->c->p);
    o->c->p = NULL;
    o->c->done++;
}

static void test_free(void)
{
    struct job_case c = {.l = loop_new(), .home = pthread_self()};
    struct one jobs[8];
    c.p = pool_new(c.l, 3, "many");
    for (int i = 0; i < 8; i++) {
        jobs[i] = (struct one){&c, i};
        pool_submit(c.p, work, done, &jobs[i]);
    }
    pool_free(c.p);
    is_int(atomic_load(&c.worked), 8, "freeing waits for queued jobs");
    loop_run(c.l);
    is_int(c.done, 0, "and drops their completions, with their holds on the loop");
    c.p = pool_new(c.l, 1, "self");
    pool_submit(c.p, work, free_pool, &jobs[0]);
    loop_run(c.l);
    ok(c.p == NULL && c.done == 1, "a completion may free the pool");
    pool_free(NULL);
    loop_free(c.l);
}

int main(void)
{
    test_one_thread();
    test_free();
    return tap_done();
}
