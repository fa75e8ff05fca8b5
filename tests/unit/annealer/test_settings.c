/* test_settings.c - what the engine runs with is told to it, and is part of what it is */
/* SPDX-License-Identifier: Apache-2.0 */
#include "annealer/rig.h"

static void silent_for(struct rig *r, uint32_t node, uint64_t ms)
{
    for (uint64_t at = 0; at <= ms; at += ms / 4) {
        rig_step(r, (struct event){.kind = EVENT_NODE_SILENT, .id = node});
        r->now += ms / 4;
    }
}

static enum alive_state alive(struct rig *r, uint32_t node)
{
    struct node_view v = {0};
    anneal_node(r->a, node, &v);
    return (enum alive_state)v.alive;
}

static void set(struct rig *r, struct engine_settings s)
{
    rig_step(r, (struct event){.kind = EVENT_SETTINGS_SET, .settings = s});
}

static void test_told(void)
{
    struct rig r;
    struct engine_settings s = {0};
    rig_init(&r, 1);
    ok(!anneal_settings(r.a, &s), "an engine that nobody told anything");
    is_int(s.dead_after_ms, 60000, "runs with the defaults");
    set(&r, (struct engine_settings){.dead_after_ms = 20000});
    ok(anneal_settings(r.a, &s), "told");
    is_int(s.dead_after_ms, 20000, "it runs with that");
    is_int(s.probe_count, 3, "and with the default where nothing was said");
    set(&r, (struct engine_settings){.probe_count = 5});
    (void)anneal_settings(r.a, &s);
    is_int(s.dead_after_ms, 60000, "told anew, what was said before is over");
    rig_done(&r);
}

/* From one moment to the next, in the middle of a silence. */
static void test_from_now_on(void)
{
    struct rig r;
    rig_init(&r, 9);
    silent_for(&r, 1, 24000);
    is_int(alive(&r, 1), ALIVE_ALIVE, "24 s of silence are not enough");
    set(&r, (struct engine_settings){.dead_after_ms = 20000});
    is_int(alive(&r, 1), ALIVE_ALIVE, "nothing happens because of the settings");
    rig_step(&r, (struct event){.kind = EVENT_NODE_SILENT, .id = 1});
    is_int(alive(&r, 1), ALIVE_DEAD, "the next silence is judged by them");
    set(&r, (struct engine_settings){.dead_after_ms = 20000, .probe_count = 50});
    silent_for(&r, 2, 24000);
    is_int(alive(&r, 2), ALIVE_ALIVE, "so is how many there must be");
    rig_done(&r);
}

/* Read back, an engine does what the other would have done. */
static void test_kept(void)
{
    struct rig r;
    struct engine_settings s = {0};
    struct err e;
    SCOPED_BUF(rows);
    rig_init(&r, 1);
    uint64_t before = anneal_digest(r.a);
    set(&r, (struct engine_settings){.dead_after_ms = 20000});
    ok(anneal_digest(r.a) != before, "another engine than before");
    anneal_save(r.a, &rows);
    struct anneal *copy = anneal_new();
    is_int(anneal_restore(copy, buf_str(&rows), &e), 0, "read back");
    ok(anneal_settings(copy, &s) && s.dead_after_ms == 20000, "it runs with the same");
    ok(anneal_digest(copy) == anneal_digest(r.a), "and is the same");
    anneal_free(copy);
    rig_done(&r);
}

int main(void)
{
    test_told();
    test_from_now_on();
    test_kept();
    return tap_done();
}
