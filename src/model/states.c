/* states.c - names of states, reasons and policies, both ways
 *
 * One table of texts per list of states.h; no name is written here a second time.  A number outside
 * its list, as only a damaged database can hold, is shown as "?" and is never an index.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "model/states.h"

#include <stddef.h>
#include <string.h>

#define ID_TEXT(id)         #id,
#define PAIR_TEXT(id, text) text,
static const char *const noderole_names[] = {NODEROLE_STATES(ID_TEXT)};
static const char *const task_names[] = {TASK_STATES(ID_TEXT)};
static const char *const event_names[] = {TASK_EVENTS(ID_TEXT)};
static const char *const rule_names[] = {TASK_RULES(PAIR_TEXT)};
static const char *const alive_names[] = {ALIVE_STATES(PAIR_TEXT)};
static const char *const operation_names[] = {OPERATION_STATES(PAIR_TEXT)};
static const char *const repeat_names[] = {REPEATS(PAIR_TEXT)};
static const char *const hold_names[] = {HOLDS(PAIR_TEXT)};
static const char *const reach_names[] = {REACHES(PAIR_TEXT)};
static const char *const class_names[] = {CLASSES(PAIR_TEXT)};
static const char *const target_names[] = {TARGETS(PAIR_TEXT)};
static const char *const snapshot_state_names[] = {SNAPSHOT_STATES(PAIR_TEXT)};
static const char *const cluster_state_names[] = {CLUSTER_STATES(PAIR_TEXT)};
static const char *const resource_state_names[] = {RESOURCE_STATES(PAIR_TEXT)};
static const char *const reason_names[] = {REASONS(PAIR_TEXT)};
#undef ID_TEXT
#undef PAIR_TEXT

static int names_find(const char *const *names, int n, const char *name)
{
    for (int i = 0; i < n; i++)
        if (!strcmp(names[i], name))
            return i;
    return -1;
}

#define NAME_OF(function, type, names, count)                                                      \
    const char *function(type value)                                                               \
    {                                                                                              \
        _Static_assert(sizeof names / sizeof *names == (count), "one text for each number");       \
        return (unsigned)value < (count) ? names[value] : "?";                                     \
    }
NAME_OF(noderole_state_name, enum noderole_state, noderole_names, NODEROLE_STATE_COUNT)
NAME_OF(task_state_name, enum task_state, task_names, TASK_STATE_COUNT)
NAME_OF(task_event_name, enum task_event, event_names, TASKEV_COUNT)
NAME_OF(task_rule_name, enum task_rule, rule_names, TASK_RULE_COUNT)
NAME_OF(alive_state_name, enum alive_state, alive_names, ALIVE_STATE_COUNT)
NAME_OF(operation_state_name, enum operation_state, operation_names, OPERATION_STATE_COUNT)
NAME_OF(repeat_name, enum repeat, repeat_names, REPEAT_COUNT)
NAME_OF(hold_name, enum hold, hold_names, HOLD_COUNT)
NAME_OF(reach_name, enum reach, reach_names, REACH_COUNT)
NAME_OF(start_class_name, enum start_class, class_names, CLASS_COUNT)
NAME_OF(target_name, enum target, target_names, TARGET_COUNT)
NAME_OF(snapshot_state_name, enum snapshot_state, snapshot_state_names, SNAPSHOT_STATE_COUNT)
NAME_OF(cluster_state_name, enum cluster_state, cluster_state_names, CLUSTER_STATE_COUNT)
NAME_OF(resource_state_name, enum resource_state, resource_state_names, RESOURCE_STATE_COUNT)
NAME_OF(reason_name, enum reason, reason_names, REASON_COUNT)

#define FIND_IN(function, names, count)                                                            \
    int function(const char *name)                                                                 \
    {                                                                                              \
        return names_find(names, count, name);                                                     \
    }
FIND_IN(noderole_state_find, noderole_names, NODEROLE_STATE_COUNT)
FIND_IN(task_state_find, task_names, TASK_STATE_COUNT)
FIND_IN(repeat_find, repeat_names, REPEAT_COUNT)
FIND_IN(hold_find, hold_names, HOLD_COUNT)
FIND_IN(start_class_find, class_names, CLASS_COUNT)
FIND_IN(alive_state_find, alive_names, ALIVE_STATE_COUNT)
FIND_IN(operation_state_find, operation_names, OPERATION_STATE_COUNT)
