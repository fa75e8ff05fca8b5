/* test_pulse.c - which nodes are due, and when */
/* SPDX-License-Identifier: Apache-2.0 */
#include "server/pulse.h"
#include "tap.h"

enum { INTERVAL = 20000, START = 1000000, MANY = 10000 };

/* All that are ready, asked and not answered; how many. */
static uint32_t ask_all(struct pulse *p, uint64_t now_ms)
{
    uint32_t n = 0, node;
    pulse_turn(p, now_ms);
    for (; (node = pulse_next(p)); n++)
        (void)pulse_asked(p, node, false, now_ms);
    return n;
}

static uint64_t ask_one(struct pulse *p, uint32_t node, uint64_t now_ms)
{
    pulse_turn(p, now_ms);
    is_int(pulse_next(p), node, "node %u is due", node);
    return pulse_next(p) == node ? pulse_asked(p, node, true, now_ms) : 0;
}

static bool answer(struct pulse *p, uint32_t node, uint64_t number, enum probe_end end,
                   const char *text, uint64_t now_ms)
{
    return pulse_answered(
        p, node, &(struct probe_answer){.number = number, .end = end, .text = str_of(text)},
        now_ms);
}

static void test_due(void)
{
    struct pulse *p = pulse_new(INTERVAL, START);
    pulse_add(p, 3, START);
    pulse_add(p, 3, START + 1);
    is_int(pulse_next(p), 3, "whose moment is past is due at once");
    uint64_t n = ask_one(p, 3, START + PULSE_TICK_MS);
    is_int(pulse_next(p), 0, "once, though it was added twice");
    is_int(pulse_flying(p), 1, "a probe is under way");
    is_int(ask_all(p, START + 30000), 0, "until it is answered there is no other");
    ok(!answer(p, 3, n + 1, PROBE_ANSWERS, "", START + 30000), "another number is not it");
    ok(answer(p, 3, n, PROBE_ANSWERS, "", START + 30000), "its number is");
    ok(!answer(p, 3, n, PROBE_ANSWERS, "", START + 30000), "once");
    is_int(pulse_flying(p), 0, "none is under way");
    pulse_later(p, 3, START + 50500);
    is_int(ask_all(p, START + 50000), 0, "not before its moment");
    is_int(ask_all(p, START + 51000), 1, "then it is due");
    pulse_drop(p, 3);
    pulse_drop(p, 3);
    is_int(pulse_flying(p), 0, "one that is gone is not waited for");
    is_int(ask_all(p, START + 500000), 0, "nor looked for");
    ok(!answer(p, 3, 2, PROBE_SILENT, "", START), "and its answer is nobody's");
    pulse_free(p);
}

static void test_lost(void)
{
    struct pulse *p = pulse_new(INTERVAL, START);
    pulse_add(p, 1, START);
    uint64_t n = ask_one(p, 1, START + 1000), at = START + 1000 + PULSE_LOST_MS;
    ok(!pulse_wants_who(p, 1), "who it is was asked");
    is_int(ask_all(p, at - 1000), 0, "a probe has its time");
    pulse_turn(p, at);
    is_int(pulse_next(p), 1, "then it was lost, and the node is due again");
    is_int(pulse_flying(p), 0, "without counting as one under way");
    ok(pulse_wants_who(p, 1), "and is asked who it is again");
    ok(!answer(p, 1, n, PROBE_SILENT, "", at), "what comes too late counts for nothing");
    struct pulse_look l;
    ok(pulse_look(p, 1, &l) && l.tries == 0 && l.since_ms == 0, "no silence of its");
    pulse_free(p);
}

static void test_far(void)
{
    struct pulse *p = pulse_new(3600000, START);
    pulse_add(p, 1, START + 3600000);
    uint32_t early = 0;
    for (uint64_t at = START; at < START + 3600000; at += 1000)
        early += ask_all(p, at);
    is_int(early, 0, "a moment many rounds away is not met before");
    is_int(ask_all(p, START + 3600000), 1, "but then");
    pulse_free(p);
    p = pulse_new(INTERVAL, START);
    pulse_add(p, 1, START + 5000);
    is_int(ask_all(p, START + 10 * 3600000ull), 1, "nor is one passed over by a long sleep");
    pulse_free(p);
}

static void test_hurry(void)
{
    struct pulse *p = pulse_new(INTERVAL, START);
    pulse_add(p, 1, START);
    uint64_t n = ask_one(p, 1, START + 1000);
    pulse_hurry(p, 1);
    is_int(ask_all(p, START + 3000), 0, "hurried while a probe is under way: that comes first");
    ok(answer(p, 1, n, PROBE_ANSWERS, "", START + 3000), "it is answered");
    pulse_later(p, 1, START + 100000);
    n = ask_one(p, 1, START + 4000);
    ok(answer(p, 1, n, PROBE_ANSWERS, "", START + 4000), "and at once there is another");
    pulse_later(p, 1, START + 100000);
    is_int(ask_all(p, START + 5000), 0, "one");
    pulse_hurry(p, 1);
    ok(pulse_wants_who(p, 1), "and it is to be asked who it is");
    pulse_later(p, 1, START + 100000);
    (void)ask_one(p, 1, START + 6000);
    pulse_put_off(p, 1, START + 9000);
    is_int(pulse_flying(p), 0, "put off, it is not waited for");
    is_int(ask_all(p, START + 8000), 0, "nor asked");
    is_int(ask_all(p, START + 9000), 1, "before it is time");
    pulse_hurry(p, 9);
    ok(!pulse_has(p, 9), "one that is not watched is not");
    pulse_free(p);
}

static void test_look(void)
{
    struct pulse *p = pulse_new(INTERVAL, START);
    struct pulse_look l;
    ok(!pulse_look(p, 1, &l) && !pulse_look(NULL, 1, &l), "nothing is known of nobody");
    pulse_add(p, 1, START);
    uint64_t n = ask_one(p, 1, START + 1000);
    answer(p, 1, n, PROBE_SILENT, "no route to host", START + 6000);
    pulse_later(p, 1, START + 7000);
    n = ask_one(p, 1, START + 8000);
    answer(p, 1, n, PROBE_SILENT, "connection refused", START + 9000);
    ok(pulse_look(p, 1, &l), "after two silences");
    is_int(l.since_ms, START + 6000, "it is silent since the first");
    is_int(l.tried_ms, START + 9000, "was tried last at the second");
    is_int(l.tries, 2, "twice");
    is_text(l.text, "connection refused", "with its error");
    is_int(l.seen_ms, 0, "and was never seen");
    pulse_later(p, 1, START + 10000);
    n = ask_one(p, 1, START + 10000);
    answer(p, 1, n, PROBE_HOST_KEY, "another key", START + 11000);
    ok(pulse_look(p, 1, &l) && l.end == PROBE_HOST_KEY && l.seen_ms == 0 && l.since_ms,
       "another key is no sight of it");
    ok(pulse_wants_who(p, 1), "it is asked again who it is");
    pulse_seen(p, 1, "task", START + 12000);
    ok(pulse_look(p, 1, &l) && l.since_ms == 0 && l.tries == 0 && l.seen_ms == START + 12000,
       "a task that reached it is");
    is_text(l.how, "task", "and that is told");
    is_int(pulse_counts(p)[PROBE_SILENT], 2, "silences are counted");
    is_int(pulse_counts(p)[PROBE_HOST_KEY], 1, "and refusals");
    pulse_free(p);
}

static void test_pauses(void)
{
    struct pulse *p = pulse_new(INTERVAL, START);
    is_int(pulse_pause(p, ALIVE_ALIVE, false, 0), INTERVAL, "alive: the interval");
    is_int(pulse_pause(p, ALIVE_ALIVE, true, 9), INTERVAL / 4, "silent: a quarter, always");
    is_int(pulse_pause(p, ALIVE_AWAY, false, 9), INTERVAL / 4, "away: a quarter");
    is_int(pulse_pause(p, ALIVE_UNKNOWN, false, 0), INTERVAL / 4, "unknown: a quarter first");
    is_int(pulse_pause(p, ALIVE_UNKNOWN, false, 99), INTERVAL * 4, "then more and more seldom");
    is_int(pulse_pause(p, ALIVE_DEAD, false, 1), INTERVAL * 2, "dead: seldom");
    is_int(pulse_pause(p, ALIVE_DEAD, false, 99), INTERVAL * 16, "and more so");
    pulse_free(p);
    p = pulse_new(1000, START);
    is_int(pulse_pause(p, ALIVE_UNKNOWN, false, 0), PULSE_TICK_MS, "never more than once a second");
    pulse_free(p);
}

/* Ten thousand nodes: no second has more than its share, and each is met once an interval. */
static void test_many(void)
{
    struct pulse *p = pulse_new(INTERVAL, START);
    uint32_t most = 0, all = 0, node;
    for (node = 1; node <= MANY; node++)
        pulse_add(p, node, START + pulse_spread(p, node, MANY));
    for (uint64_t at = START + 1000; at <= START + 200000; at += 1000) {
        uint32_t n = 0;
        pulse_turn(p, at);
        for (; (node = pulse_next(p)); n++)
            pulse_later(p, node, at + 3600000);
        most = n > most ? n : most;
        all += n;
    }
    ok(most <= MANY / 150, "after a start they are spread widely (%u a second)", most);
    is_int(all, MANY, "and each is met once");
    pulse_free(p);
    p = pulse_new(INTERVAL, START);
    most = all = 0;
    for (node = 1; node <= MANY; node++)
        pulse_add(p, node, START + (node % 20 + 1) * 1000);
    for (uint64_t at = START + 1000; at <= START + 60000; at += 1000) {
        uint32_t n = 0;
        pulse_turn(p, at);
        for (; (node = pulse_next(p)); n++) {
            uint64_t number = pulse_asked(p, node, false, at);
            answer(p, node, number, PROBE_ANSWERS, "", at);
            pulse_later(p, node, at + INTERVAL);
        }
        most = n > most ? n : most;
        all += n;
    }
    is_int(all, 3 * MANY, "in three intervals each is asked three times");
    is_int(most, MANY / 20, "and they stay spread");
    pulse_free(p);
}

int main(void)
{
    test_due();
    test_lost();
    test_far();
    test_hurry();
    test_look();
    test_pauses();
    test_many();
    return tap_done();
}
