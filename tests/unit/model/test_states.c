/* test_states.c - names and numbers of states agree, both ways */
/* SPDX-License-Identifier: Apache-2.0 */
#include "model/states.h"

#include "tap.h"

/* Every number has a name of its own that leads back to it; the number after the last has none. */
#define EACH(kind, count, name_of, find)                                                           \
    do {                                                                                           \
        for (int i_ = 0; i_ < (int)(count); i_++) {                                                \
            is_int(find(name_of(i_)), i_, "%s %d is %s", kind, i_, name_of(i_));                   \
        }                                                                                          \
        is_text(name_of(count), "?", "no %s beyond the last", kind);                               \
        is_int(find("?"), -1, "? is no %s", kind);                                                 \
        is_int(find(""), -1, "the empty name is no %s", kind);                                     \
    } while (0)

/* Lists without a find function: names are distinct. */
#define DISTINCT(kind, count, name_of)                                                             \
    do {                                                                                           \
        int same_ = 0;                                                                             \
        for (int i_ = 0; i_ < (int)(count); i_++)                                                  \
            for (int j_ = 0; j_ < i_; j_++)                                                        \
                same_ += !strcmp(name_of(i_), name_of(j_));                                        \
        is_int(same_, 0, "the %d names of %s differ", (int)(count), kind);                         \
        is_text(name_of(count), "?", "no %s beyond the last", kind);                               \
    } while (0)

static void test_names(void)
{
    EACH("noderole state", NODEROLE_STATE_COUNT, noderole_state_name, noderole_state_find);
    EACH("task state", TASK_STATE_COUNT, task_state_name, task_state_find);
    EACH("alive state", ALIVE_STATE_COUNT, alive_state_name, alive_state_find);
    EACH("operation state", OPERATION_STATE_COUNT, operation_state_name, operation_state_find);
    EACH("repeat", REPEAT_COUNT, repeat_name, repeat_find);
    EACH("hold", HOLD_COUNT, hold_name, hold_find);
    EACH("class", CLASS_COUNT, start_class_name, start_class_find);
    DISTINCT("events", TASKEV_COUNT, task_event_name);
    DISTINCT("reaches", REACH_COUNT, reach_name);
    DISTINCT("targets", TARGET_COUNT, target_name);
    DISTINCT("states of snapshots", SNAPSHOT_STATE_COUNT, snapshot_state_name);
    DISTINCT("states of clusters", CLUSTER_STATE_COUNT, cluster_state_name);
    DISTINCT("states of resources", RESOURCE_STATE_COUNT, resource_state_name);
    DISTINCT("reasons", REASON_COUNT, reason_name);
}

/* Numbers are in databases: these stay what they are. */
static void test_numbers(void)
{
    is_int(noderole_state_find("REMOVED"), 8, "REMOVED is 8");
    is_int(task_state_find("CANCELLED"), 9, "CANCELLED is 9");
    is_int(alive_state_find("dead"), 3, "dead is 3");
    is_int(operation_state_find("succeeded-with-failures"), 2, "succeeded-with-failures is 2");
    is_int(repeat_find("once"), 2, "once is 2");
    is_text(reason_name(REASON_NONE), "", "no reason is no text");
    is_text(reason_name(REASON_BACKOFF), "back-off", "back-off");
    is_text(task_event_name(TASKEV_NOT_YET), "NOT_YET", "NOT_YET");
    is_text(target_name(TARGET_ABSENT), "absent", "absent");
    is_text(reach_name(REACH_OUTSIDE), "outside", "outside");
}

static void test_questions(void)
{
    static const struct {
        enum task_state s;
        bool passed, ended, live;
    } cases[] = {
        {TASK_PENDING, false, false, false},   {TASK_READY, false, false, false},
        {TASK_RUNNING, false, false, true},    {TASK_WAITING, false, false, true},
        {TASK_DONE, true, true, false},        {TASK_SKIPPED, true, true, false},
        {TASK_TOLERATED, true, true, false},   {TASK_FAILED, false, true, false},
        {TASK_DEP_FAILED, false, true, false}, {TASK_CANCELLED, false, true, false},
    };

    is_int(sizeof cases / sizeof *cases, TASK_STATE_COUNT, "every task state is asked");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *name = task_state_name(cases[i].s);

        is_int(task_state_passed(cases[i].s), cases[i].passed, "%s passed", name);
        is_int(task_state_ended(cases[i].s), cases[i].ended, "%s ended", name);
        is_int(task_state_live(cases[i].s), cases[i].live, "%s live", name);
    }
    for (int s = 0; s < NODEROLE_STATE_COUNT; s++)
        for (int t = 0; t < TARGET_COUNT; t++)
            is_int(noderole_in_service((enum noderole_state)s, (enum target)t),
                   t == TARGET_RUNNING && (s == NODEROLE_ACTIVE || s == NODEROLE_STALE),
                   "%s with target %s in service", noderole_state_name((enum noderole_state)s),
                   target_name((enum target)t));
}

int main(void)
{
    test_names();
    test_numbers();
    test_questions();
    return tap_done();
}
