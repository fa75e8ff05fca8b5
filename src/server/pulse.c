/* pulse.c - the wheel of nodes that are due, and what probes of them came to
 *
 * Every watched node is in exactly one list: of the slot of its moment, or of those that are ready.
 * Slots are seconds; a moment further away than the wheel is long comes to lie in the slot of an
 * earlier round and is passed over until then.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "server/pulse.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

enum {
    SLOTS = 256,
    READY = SLOTS, /* one list more */
    TEXT_BYTES = 300,
    ANXIOUS_PART = 4, /* of the interval, while a node is missed */
    DOUBLINGS = 4,    /* of the pause for one that is not there */
};

struct beat { /* of one node */
    bool watched, who, hurried;
    uint32_t next, prev; /* ids; 0: none */
    uint32_t list;
    uint64_t due_ms, number; /* number: of the probe under way; 0: none is */
    struct pulse_look look;
    char *text;
};
struct list {
    uint32_t first, last;
};
struct pulse {
    uint64_t interval_ms, turned_ms, numbers;
    struct list lists[SLOTS + 1];
    VEC(struct beat) nodes; /* by id */
    uint32_t flying;
    uint64_t counts[PROBE_END_COUNT];
};

struct pulse *pulse_new(uint64_t interval_ms, uint64_t now_ms)
{
    struct pulse *p = xcalloc(1, sizeof *p);
    p->interval_ms = interval_ms;
    p->turned_ms = now_ms - now_ms % PULSE_TICK_MS;
    return p;
}

void pulse_free(struct pulse *p)
{
    if (!p)
        return;
    for (size_t i = 0; i < p->nodes.n; i++)
        free(p->nodes.at[i].text);
    vec_done(&p->nodes);
    free(p);
}

/* ---- lists ---- */

static struct beat *beat_get(const struct pulse *p, uint32_t node)
{
    return node && node < p->nodes.n && p->nodes.at[node].watched ? &p->nodes.at[node] : NULL;
}

static void list_append(struct pulse *p, uint32_t node, uint32_t to)
{
    struct list *l = &p->lists[to];
    struct beat *b = &p->nodes.at[node];
    b->list = to;
    b->next = 0;
    b->prev = l->last;
    if (l->last)
        p->nodes.at[l->last].next = node;
    else
        l->first = node;
    l->last = node;
}

static void list_remove(struct pulse *p, uint32_t node)
{
    struct beat *b = &p->nodes.at[node];
    struct list *l = &p->lists[b->list];
    if (b->prev)
        p->nodes.at[b->prev].next = b->next;
    else
        l->first = b->next;
    if (b->next)
        p->nodes.at[b->next].prev = b->prev;
    else
        l->last = b->prev;
}

/* Never in a slot that this round has passed. */
static void place(struct pulse *p, uint32_t node, uint64_t due_ms)
{
    uint32_t slot = (uint32_t)((due_ms + PULSE_TICK_MS - 1) / PULSE_TICK_MS % SLOTS);
    p->nodes.at[node].due_ms = due_ms;
    list_append(p, node, due_ms > p->turned_ms ? slot : READY);
}

/* ---- who is watched ---- */

void pulse_add(struct pulse *p, uint32_t node, uint64_t due_ms)
{
    while (p->nodes.n <= node)
        (void)vec_add(&p->nodes);
    if (p->nodes.at[node].watched)
        return;
    p->nodes.at[node] = (struct beat){.watched = true, .who = true};
    p->nodes.at[node].look.text = "";
    place(p, node, due_ms);
}

void pulse_drop(struct pulse *p, uint32_t node)
{
    struct beat *b = beat_get(p, node);
    if (!b)
        return;
    list_remove(p, node);
    p->flying -= b->number != 0;
    free(b->text);
    *b = (struct beat){0};
}

bool pulse_has(const struct pulse *p, uint32_t node)
{
    return beat_get(p, node) != NULL;
}

uint64_t pulse_spread(const struct pulse *p, uint32_t node, uint32_t nodes)
{
    uint64_t over_ms = (uint64_t)nodes * PULSE_SPREAD_MS;
    if (over_ms < p->interval_ms)
        over_ms = p->interval_ms;
    return nodes ? over_ms * (node % nodes) / nodes : 0;
}

uint64_t pulse_pause(const struct pulse *p, enum alive_state alive, bool silent, uint32_t vain)
{
    uint64_t anxious = p->interval_ms / ANXIOUS_PART;
    uint32_t doubled = vain < DOUBLINGS ? vain : DOUBLINGS;
    if (anxious < PULSE_TICK_MS)
        anxious = PULSE_TICK_MS;
    switch (alive) {
    case ALIVE_ALIVE: return silent ? anxious : p->interval_ms;
    case ALIVE_AWAY: return anxious;
    case ALIVE_UNKNOWN: return anxious << doubled;
    case ALIVE_DEAD: return p->interval_ms << doubled;
    case ALIVE_STATE_COUNT: break;
    }
    return p->interval_ms;
}

uint64_t pulse_longest(const struct pulse *p)
{
    return pulse_pause(p, ALIVE_DEAD, false, DOUBLINGS);
}

/* ---- time ---- */

static void turn_slot(struct pulse *p, uint32_t slot, uint64_t now_ms)
{
    for (uint32_t node = p->lists[slot].first, next; node; node = next) {
        struct beat *b = &p->nodes.at[node];
        next = b->next;
        if (b->due_ms > now_ms)
            continue; /* in a later round */
        list_remove(p, node);
        list_append(p, node, READY);
        if (b->number) { /* whoever was to do it is gone */
            b->number = 0;
            b->who = true;
            p->flying--;
        }
    }
}

void pulse_turn(struct pulse *p, uint64_t now_ms)
{
    uint64_t from = p->turned_ms / PULSE_TICK_MS, to = now_ms / PULSE_TICK_MS;
    if (to <= from)
        return;
    uint64_t steps = to - from < SLOTS ? to - from : SLOTS;
    for (uint64_t i = 1; i <= steps; i++)
        turn_slot(p, (uint32_t)((from + i) % SLOTS), now_ms);
    p->turned_ms = to * PULSE_TICK_MS;
}

uint32_t pulse_next(struct pulse *p)
{
    return p->lists[READY].first;
}

uint64_t pulse_asked(struct pulse *p, uint32_t node, bool who, uint64_t now_ms)
{
    struct beat *b = beat_get(p, node);
    assert(b && b->number == 0);
    b->number = ++p->numbers;
    b->who = b->who && !who;
    b->look.who = who;
    b->hurried = false;
    p->flying++;
    list_remove(p, node);
    place(p, node, now_ms + PULSE_LOST_MS);
    return b->number;
}

void pulse_later(struct pulse *p, uint32_t node, uint64_t due_ms)
{
    struct beat *b = beat_get(p, node);
    if (!b || b->number)
        return;
    list_remove(p, node);
    place(p, node, b->hurried || due_ms <= p->turned_ms ? p->turned_ms + 1 : due_ms);
    b->hurried = false;
}

void pulse_put_off(struct pulse *p, uint32_t node, uint64_t due_ms)
{
    struct beat *b = beat_get(p, node);
    if (!b)
        return;
    p->flying -= b->number != 0;
    b->number = 0;
    b->hurried = false;
    pulse_later(p, node, due_ms);
}

void pulse_hurry(struct pulse *p, uint32_t node)
{
    struct beat *b = beat_get(p, node);
    if (!b)
        return;
    b->who = b->hurried = true;
    if (b->number || b->list == READY)
        return;
    list_remove(p, node);
    place(p, node, p->turned_ms);
}

bool pulse_wants_who(const struct pulse *p, uint32_t node)
{
    const struct beat *b = beat_get(p, node);
    return b && b->who;
}

uint32_t pulse_flying(const struct pulse *p)
{
    return p->flying;
}

/* ---- what came of it ---- */

static void text_set(struct beat *b, struct str text)
{
    free(b->text);
    size_t n = text.n < TEXT_BYTES ? text.n : TEXT_BYTES;
    b->text = n ? xstrndup(text.s, n) : NULL;
    b->look.text = b->text ? b->text : "";
}

bool pulse_answered(struct pulse *p, uint32_t node, const struct probe_answer *a, uint64_t now_ms)
{
    struct beat *b = beat_get(p, node);
    if (!b || !b->number || b->number != a->number)
        return false;
    b->number = 0;
    p->flying--;
    p->counts[a->end]++;
    b->look.tried_ms = now_ms;
    b->look.end = a->end;
    text_set(b, a->text);
    if (a->end == PROBE_ANSWERS) {
        pulse_seen(p, node, "probe", now_ms);
        return true;
    }
    b->who = true;
    b->look.tries++;
    b->look.vain++;
    if (a->end == PROBE_SILENT && !b->look.since_ms)
        b->look.since_ms = now_ms;
    return true;
}

void pulse_turned(struct pulse *p, uint32_t node)
{
    struct beat *b = beat_get(p, node);
    if (b)
        b->look.vain = 0;
}

void pulse_seen(struct pulse *p, uint32_t node, const char *how, uint64_t now_ms)
{
    struct beat *b = beat_get(p, node);
    if (!b)
        return;
    b->look.seen_ms = now_ms;
    b->look.how = how;
    b->look.since_ms = 0;
    b->look.tries = b->look.vain = 0;
}

bool pulse_look(const struct pulse *p, uint32_t node, struct pulse_look *ret)
{
    const struct beat *b = p ? beat_get(p, node) : NULL;
    if (b)
        *ret = b->look;
    return b;
}

const uint64_t *pulse_counts(const struct pulse *p)
{
    return p->counts;
}
