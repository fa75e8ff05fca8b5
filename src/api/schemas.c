/* schemas.c - the components that requests are checked against and that are published
 *
 * schemas.json is embedded by the build and holds every shape once.  Whatever is a list elsewhere
 * (states, reasons, outcomes, event kinds, error names, scopes) becomes an enum here from that very
 * list: nobody types a state twice.  Both are part of the program, so a mistake in them is an
 * assert, and a test checks each component with schema_check_self().
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "api/book_i.h"

#include <assert.h>

#include "base/json.h"
#include "model/event.h"
#include "model/sight.h"
#include "model/states.h"
#include "model/taskmsg.h"

#include "api/schemas_text.h"

#define X(id) #id,
static const char *const noderole_states[] = {NODEROLE_STATES(X)};
static const char *const task_states[] = {TASK_STATES(X)};
#undef X
#define X(id, text) text,
static const char *const alive_states[] = {ALIVE_STATES(X)};
static const char *const operation_states[] = {OPERATION_STATES(X)};
static const char *const repeats[] = {REPEATS(X)};
static const char *const rules[] = {TASK_RULES(X)};
static const char *const reaches[] = {REACHES(X)};
static const char *const classes[] = {CLASSES(X)};
static const char *const targets[] = {TARGETS(X)};
static const char *const snapshot_states[] = {SNAPSHOT_STATES(X)};
static const char *const cluster_states[] = {CLUSTER_STATES(X)};
static const char *const resource_states[] = {RESOURCE_STATES(X)};
static const char *const sight_kinds[] = {SIGHT_KINDS(X)};
static const char *const reasons[] = {REASONS(X)};
static const char *const phases[] = {PHASES(X)};
static const char *const outcomes[] = {OUTCOMES(X) "open"}; /* open: it has not ended yet */
#undef X
#define X(id, name, fields) name,
static const char *const event_kinds[] = {EVENT_KINDS(X) INVENTORY_KINDS(X)};
#undef X
#define X(id, name, http, exit) "urn:anneal:error:" name,
static const char *const problem_types[] = {ERR_TABLE(X)};
#undef X

struct enum_component {
    const char *name;
    const char *const *words;
    size_t n;
};
#define WORDS(list) list, sizeof list / sizeof *list
static const struct enum_component enum_components[] = {
    {"NoderoleState", WORDS(noderole_states)},
    {"TaskState", WORDS(task_states)},
    {"AliveState", WORDS(alive_states)},
    {"OperationState", WORDS(operation_states)},
    {"Repeat", WORDS(repeats)},
    {"TaskRule", WORDS(rules)},
    {"Reach", WORDS(reaches)},
    {"Class", WORDS(classes)},
    {"Target", WORDS(targets)},
    {"SnapshotState", WORDS(snapshot_states)},
    {"ClusterState", WORDS(cluster_states)},
    {"ResourceState", WORDS(resource_states)},
    {"DataLayerKind", WORDS(sight_kinds)},
    {"Reason", WORDS(reasons)},
    {"Outcome", WORDS(outcomes)},
    {"Phase", WORDS(phases)},
    {"EventKind", WORDS(event_kinds)},
    {"ProblemType", WORDS(problem_types)},
};

static void enum_set(struct arena *mem, struct value *map, const char *name, struct value *words)
{
    struct value *schema = value_map(mem);
    value_put_text(mem, schema, "type", "string");
    value_set(mem, schema, "enum", words);
    value_set(mem, map, name, schema);
}

const struct value *schemas_load(struct arena *mem)
{
    struct err e;
    struct value *file, *all = value_map(mem);
    int r = json_parse(mem, schemas_text, sizeof schemas_text - 1, NULL, &file, &e);

    assert(r == 0 && file->kind == VALUE_MAP);
    for (uint32_t i = 0; i < file->n; i++)
        value_set(mem, all, file->members[i].key, &file->members[i].v);
    for (size_t i = 0; i < sizeof enum_components / sizeof *enum_components; i++) {
        const struct enum_component *c = &enum_components[i];
        struct value *words = value_list(mem);
        for (size_t k = 0; k < c->n; k++)
            value_add(mem, words, value_text(mem, c->words[k]));
        enum_set(mem, all, c->name, words);
    }
    struct value *scopes = value_list(mem);
    for (enum scope s = SCOPE_ANNOUNCE; s <= SCOPE_ADMIN; s++)
        value_add(mem, scopes, value_text(mem, api_scope_name(s)));
    enum_set(mem, all, "Scope", scopes);
    return all;
}
