/* test_lease.c - which attempts somebody still answers for */
/* SPDX-License-Identifier: Apache-2.0 */
#include "server/lease.h"
#include "tap.h"

enum { MOST = 8, LEASE = 1000, W1 = 1, W2 = 2 };
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

static void hold(struct lease *l, uint32_t task, uint32_t attempt, uint64_t now_ms)
{
    lease_hold(
        l, &(struct lease_given){.task = task, .attempt = attempt, .worker = W1, .lease_ms = LEASE},
        now_ms);
}

static void test_runs_out(void)
{
    struct lease *l = lease_new();
    hold(l, 7, 2, 5000);
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
    struct lease *l = lease_new();
    hold(l, 7, 2, 5000);
    lease_claim(l, 7, 2, W1, 5900);
    is_int(expire(l, 6900).n, 0, "a claim renews it");
    lease_claim(l, 7, 2, W1, 100);
    is_int(expire(l, 6900).n, 0, "one that comes late does not shorten it");
    lease_claim(l, 7, 3, W1, 6900);
    lease_claim(l, 8, 2, W1, 6900);
    is_int(lease_count(l), 1, "what was not held cannot be claimed");
    is_int(expire(l, 6901).n, 1, "nor does claiming another attempt help");
    lease_claim(l, 7, 2, W1, 7000);
    is_int(lease_count(l), 0, "what is lost stays lost");
    lease_free(l);
}

static void test_grace_after_a_restart(void)
{
    struct lease *l = lease_new();
    lease_restore(l, 1, 1, LEASE, 13000);
    lease_restore(l, 2, 1, LEASE, 13000);
    lease_claim(l, 1, 1, W1, 5500);
    is_int(expire(l, 6500).n, 0, "claimed: an ordinary lease from then on");
    lease_claim(l, 1, 1, W1, 12500);
    is_int(expire(l, 13000).n, 0, "not claimed: the grace");
    struct gone g = expire(l, 13001);
    is_int(g.n, 1, "and no more than that");
    is_int(g.task[0], 2, "for who was not claimed in it");
    lease_free(l);
}

static void test_all_reported(void)
{
    struct lease *l = lease_new();
    struct gone g = {0};
    lease_restore(l, 1, 1, LEASE, 13000);
    lease_restore(l, 2, 1, LEASE, 13000);
    hold(l, 3, 1, 5000);
    lease_claim(l, 1, 1, W1, 5500);
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
    struct lease *l = lease_new();
    for (uint32_t t = 5; t > 0; t--)
        hold(l, t, 1, 100);
    lease_drop(l, 3, 1);
    lease_drop(l, 3, 1);
    lease_drop(l, 99, 1);
    is_int(lease_count(l), 4, "dropped: nobody waits for it");
    struct gone g = expire(l, 2000);
    is_int(g.n, 4, "the rest is lost");
    is_int(g.task[0] == 5 && g.task[1] == 4 && g.task[2] == 2 && g.task[3] == 1, 1,
           "in the order in which it was held, on every machine");
    hold(l, 1, (1u << 20) - 1, 100);
    g = expire(l, 2000);
    is_int(g.attempt[0], (1u << 20) - 1, "the highest number of an attempt");
    lease_free(l);
    lease_free(NULL);
}

static void give(struct lease *l, uint32_t task, uint32_t worker, uint32_t behind)
{
    lease_hold(l,
               &(struct lease_given){.task = task,
                                     .attempt = 1,
                                     .worker = worker,
                                     .behind = behind,
                                     .behind_attempt = 1,
                                     .lease_ms = LEASE},
               0);
}

static void test_workers(void)
{
    struct lease *l = lease_new();
    give(l, 1, W1, 0);
    is_int(lease_claim(l, 1, 1, W1, 10), LEASE_YOURS, "who was given it has it");
    is_int(lease_claim(l, 1, 1, W2, 10), LEASE_OTHERS, "and nobody else");
    is_int(lease_claim(l, 2, 1, W1, 10), LEASE_UNKNOWN, "what was not given is nobody's");
    is_int(lease_holder(l, 1, 1), W1, "one can ask who has it");
    give(l, 1, W2, 0);
    is_int(lease_claim(l, 1, 1, W1, 20), LEASE_OTHERS, "given to another, it is not the first's");
    is_int(lease_places(l, W1), 0, "nor does it take a place there");
    is_int(lease_places(l, W2), 1, "but one with the other");
    lease_restore(l, 3, 1, LEASE, 13000);
    is_int(lease_claim(l, 3, 1, W2, 30), LEASE_YOURS, "after a restart it is whose it says");
    is_int(lease_claim(l, 3, 1, W1, 30), LEASE_OTHERS, "of the first who does");
    is_int(lease_places(l, W2), 2, "with the place it takes");
    lease_free(l);
}

static void test_chains(void)
{
    struct lease *l = lease_new();
    give(l, 1, W1, 0);
    give(l, 2, W1, 1);
    give(l, 3, W1, 2);
    is_int(lease_places(l, W1), 1, "a chain takes one place");
    lease_drop(l, 1, 1);
    is_int(lease_places(l, W1), 1, "which the next one has then");
    lease_drop(l, 3, 1);
    lease_drop(l, 2, 1);
    is_int(lease_places(l, W1), 0, "until nothing of it is left");
    lease_free(l);
}

static void give_again(void *arg, uint32_t task, uint32_t attempt)
{
    (void)attempt;
    if (task == 1) { /* as who sends a chain again, from its first */
        lease_hold(arg, &(struct lease_given){.task = 1, .attempt = 1, .lease_ms = LEASE}, 5000);
        lease_hold(arg, &(struct lease_given){.task = 2, .attempt = 1, .lease_ms = LEASE}, 5000);
    } else {
        lease_drop(arg, task, attempt);
        ok(false, "task %u was told though it had been seen to", task);
    }
}

static void test_seen_to(void)
{
    struct lease *l = lease_new();
    give(l, 1, W1, 0);
    give(l, 2, W1, 1);
    lease_expire(l, 5000, give_again, l);
    is_int(lease_count(l), 2, "what was given anew with another one is not told as well");
    lease_free(l);
}

int main(void)
{
    test_workers();
    test_chains();
    test_seen_to();
    test_runs_out();
    test_claims();
    test_grace_after_a_restart();
    test_all_reported();
    test_drop_and_order();
    return tap_done();
}
