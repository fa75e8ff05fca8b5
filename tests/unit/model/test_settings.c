/* test_settings.c - what the engine runs with: defaults, and through the journal and back */
/* SPDX-License-Identifier: Apache-2.0 */
#include "model/event.h"

#include "tap.h"

static int through(struct arena *mem, const char *json, struct event *ret, struct err *e)
{
    *ret = (struct event){.kind = EVENT_SETTINGS_SET};
    return event_parse(mem, str_of(json), ret, e);
}

static void test_defaults(void)
{
    struct engine_settings none = {0}, some = {.probe_count = 7}, other;
    engine_settings_fill(&none);
    is_int(none.dead_after_ms, 60000, "a minute of silence, if nothing is said");
    is_int(none.timeout_ms, 86400000, "and a day for an attempt");
    engine_settings_fill(&some);
    is_int(some.probe_count, 7, "what is said stays");
    is_int(some.suspect_min, none.suspect_min, "the rest is as ever");
    other = some;
    ok(engine_settings_equal(&some, &other), "equal");
    ok(!engine_settings_equal(&some, &none), "not equal");
    other.cone_large++;
    ok(!engine_settings_equal(&some, &other), "each of them counts, to the last");
}

static void test_journal(void)
{
    SCOPED_ARENA(mem);
    SCOPED_BUF(b);
    struct event ev = {.kind = EVENT_SETTINGS_SET,
                       .settings = {20000, 2, 30, 6, 1ull << 40, 5000, 50}},
                 back;
    struct err e;
    event_write(&b, &ev);
    is_text(b.data,
            "{\"dead_after_ms\":20000,\"probe_count\":2,\"suspect_percent\":30,\"suspect_min\":6,"
            "\"timeout_ms\":1099511627776,\"stop_grace_ms\":5000,\"cone_large\":50}",
            "by the names that people know");
    is_int(through(&mem, b.data, &back, &e), 0, "read back");
    ok(engine_settings_equal(&back.settings, &ev.settings), "it is the same");
    is_int(through(&mem, "{\"dead_after_ms\":20000}", &back, &e), 0, "of before there were others");
    is_int(back.settings.cone_large, 0, "which is the default");
    is_int(through(&mem, "{\"dead_after_ms\":-1}", &back, &e), -ERR_CORRUPT, "no number of ours");
    is_text(event_kind_name(EVENT_SETTINGS_SET), "settings.set", "its name");
}

int main(void)
{
    test_defaults();
    test_journal();
    return tap_done();
}
