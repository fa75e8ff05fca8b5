/* test_parts.c - the simulator's small parts: chance, the agenda, telling two engines apart */
/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/sim_i.h"
#include "tap.h"

static void test_chance(void)
{
    struct rng a = {7, 0}, b = {7, 0}, c = {8, 0};
    int same = 0, equal = 0, low = 0, high = 0, hits = 0;
    for (int i = 0; i < 10000; i++) {
        uint64_t x = rng_next(&a);
        same += x == rng_next(&b);
        equal += x == rng_next(&c);
        uint32_t n = rng_from(&b, 3, 5);
        (void)rng_next(&a);
        low += n == 3;
        high += n == 5;
        if (n < 3 || n > 5)
            ok(false, "%u is not from 3 to 5", n);
        hits += rng_chance(&c, 250);
    }
    is_int(same, 10000, "one seed, one sequence");
    is_int(equal, 0, "another seed, another");
    ok(low > 3000 && high > 3000, "both ends are met: %d and %d", low, high);
    ok(hits > 2200 && hits < 2800, "a quarter is about a quarter: %d", hits);
    ok(!rng_chance(&a, 0) && rng_chance(&a, 1000), "never and always");
}

static void test_agenda(void)
{
    struct agenda g = {0};
    struct rng r = {1, 0};
    uint64_t last_ms = 0, last_no = 0;
    int wrong = 0;
    for (uint32_t i = 0; i < 500; i++)
        sim_agenda_push(&g, (struct agenda_item){.at_ms = rng_below(&r, 40), .who = i});
    for (uint32_t i = 0; i < 500; i++) {
        struct agenda_item m = sim_agenda_pop(&g);
        wrong += m.at_ms < last_ms || (m.at_ms == last_ms && m.no <= last_no);
        last_ms = m.at_ms;
        last_no = m.no;
    }
    is_int(wrong, 0, "earliest first, ties as they were entered");
    is_int(g.heap.n, 0, "and nothing is lost");
    vec_done(&g.heap);
}

static void save(struct anneal *a, struct event ev, uint64_t at_ms, struct buf *b)
{
    struct effects fx = {0};
    struct err e;
    ev.at_ms = at_ms;
    anneal_step(a, &ev, &fx, &e);
    buf_clear(b);
    anneal_save(a, b);
    effects_done(&fx);
}

static void test_differences(void)
{
    struct anneal *a = anneal_new();
    SCOPED_BUF(first);
    SCOPED_BUF(later);
    SCOPED_BUF(other);
    SCOPED_BUF(more);
    SCOPED_BUF(words);
    save(a, (struct event){.kind = EVENT_NODE_ADD, .id = 1, .n = 2, .flag = 1}, 10, &first);
    save(a, (struct event){.kind = EVENT_TICK}, 99, &later);
    save(a, (struct event){.kind = EVENT_NODE_SLOTS, .id = 1, .n = 3}, 99, &other);
    save(a, (struct event){.kind = EVENT_NODE_ADD, .id = 2, .n = 1}, 99, &more);
    ok(sim_diff_none(buf_str(&first), buf_str(&later)), "time alone makes no difference");
    sim_diff_write(&words, buf_str(&first), buf_str(&later));
    is_text(words.data, "nothing but time", "in words");
    ok(!sim_diff_none(buf_str(&first), buf_str(&other)), "a column does");
    buf_clear(&words);
    sim_diff_write(&words, buf_str(&first), buf_str(&other));
    is_text(words.data, "node 1 slots 2 came back as 3", "which");
    ok(!sim_diff_none(buf_str(&other), buf_str(&more)), "and so does a row");
    buf_clear(&words);
    sim_diff_write(&words, buf_str(&other), buf_str(&more));
    has_text(words.data, "node 2 is one too many", "one too many");
    buf_clear(&words);
    sim_diff_write(&words, buf_str(&more), buf_str(&other));
    has_text(words.data, "node 2 is missing", "or one that is missing");
    ok(!sim_diff_none((struct str){"", 0}, (struct str){"", 0}), "nothing is no engine");
    anneal_free(a);
}

int main(void)
{
    test_chance();
    test_agenda();
    test_differences();
    return tap_done();
}
