/* test_lease.c - which attempts somebody still answers for */
/* SPDX-License-Identifier: Apache-2.0 */
#include "server/lease.h"
#include "tap.h"

enum { MOST = 8 };
struct gone {
    uint32_t task[MOST], attempt[MOST], n;
};

static void note_gone(void *arg, uint32_t task, uint32_t attempt)
{
    struct gone *g = arg;
    if (g->n < MOST) {
        g->task[g->n] = task;
        g->attempt[g->n] = attempt;
    }
    g->n++;
}

static struct gone expire(struct lease *l, uint64_t now_ms)
{
    struct gone g = {0};
    lease_expire(l, now_ms, note_gone, &g);
    return g;
}

static void test_runs_out(void)
{
    struct lease *l = lease_new(1000);
    lease_hold(l, 7, 2, 5000);
    is_int(expire(l, 6000).n, 0, "heard of a lease ago, to the millisecond");
    struct gone g = expire(l, 6001);
    is_int(g.n, 1, "a moment later it is lost");
    is_int(g.task[0], 7, "the task");
    is_int(g.attempt[0], 2, "and the attempt");
    is_int(lease_count(l), 0, "and forgotten");
    is_int(expire(l, 99999).n, 0, "told once");
    lease_free(l);
}

static void test_claims(void)
{
    struct lease *l = lease_new(1000);
    lease_hold(l, 7, 2, 5000);
    lease_claim(l, 7, 2, 5900);
    is_int(expire(l, 6900).n, 0, "a claim renews it");
    lease_claim(l, 7, 2, 100);
    is_int(expire(l, 6900).n, 0, "one that comes late does not shorten it");
    lease_claim(l, 7, 3, 6900);
    lease_claim(l, 8, 2, 6900);
    is_int(lease_count(l), 1, "what was not held cannot be claimed");
    is_int(expire(l, 6901).n, 1, "nor does claiming another attempt help");
    lease_claim(l, 7, 2, 7000);
    is_int(lease_count(l), 0, "what is lost stays lost");
    lease_free(l);
}

static void test_grace_after_a_restart(void)
{
    struct lease *l = lease_new(1000);
    lease_restore(l, 1, 1, 13000);
    lease_restore(l, 2, 1, 13000);
    lease_claim(l, 1, 1, 5500);
    is_int(expire(l, 6500).n, 0, "claimed: an ordinary lease from then on");
    lease_claim(l, 1, 1, 12500);
    is_int(expire(l, 13000).n, 0, "not claimed: the grace");
    struct gone g = expire(l, 13001);
    is_int(g.n, 1, "and no more than that");
    is_int(g.task[0], 2, "for who was not claimed in it");
    lease_free(l);
}

static void test_all_reported(void)
{
    struct lease *l = lease_new(1000);
    struct gone g = {0};
    lease_restore(l, 1, 1, 13000);
    lease_restore(l, 2, 1, 13000);
    lease_hold(l, 3, 1, 5000);
    lease_claim(l, 1, 1, 5500);
    lease_all_reported(l, note_gone, &g);
    is_int(g.n, 1, "everybody has spoken, and one was not claimed");
    is_int(g.task[0], 2, "it is lost without waiting for the grace");
    is_int(lease_count(l), 2, "what was claimed, or sent since, is not");
    lease_all_reported(l, note_gone, &g);
    is_int(g.n, 1, "told once");
    lease_free(l);
}

static void test_drop_and_order(void)
{
    struct lease *l = lease_new(10);
    for (uint32_t t = 5; t > 0; t--)
        lease_hold(l, t, 1, 100);
    lease_drop(l, 3, 1);
    lease_drop(l, 3, 1);
    lease_drop(l, 99, 1);
    is_int(lease_count(l), 4, "dropped: nobody waits for it");
    struct gone g = expire(l, 200);
    is_int(g.n, 4, "the rest is lost");
    is_int(g.task[0] == 5 && g.task[1] == 4 && g.task[2] == 2 && g.task[3] == 1, 1,
           "in the order in which it was held, on every machine");
    lease_hold(l, 1, (1u << 20) - 1, 100);
    g = expire(l, 200);
    is_int(g.attempt[0], (1u << 20) - 1, "the highest number of an attempt");
    lease_free(l);
    lease_free(NULL);
}

int main(void)
{
    test_runs_out();
    test_claims();
    test_grace_after_a_restart();
    test_all_reported();
    test_drop_and_order();
    return tap_done();
}
