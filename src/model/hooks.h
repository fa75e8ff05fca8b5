/* hooks.h - when a hook may run and what it can look at, listed once for those who read hooks and
 * those who run them
 *
 * Catalogs name these events (docs/rfc/04-catalog.md); what a hook may do at each is said where
 * hooks are compiled (template/hook.h), what the names mean in docs/hooks.md.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MODEL_HOOKS_H
#define MODEL_HOOKS_H

#define HOOK_EVENTS(X)                                                                             \
    X(PROPOSED, "on_proposed")                                                                     \
    X(BIND, "on_bind")                                                                             \
    X(COMMIT, "on_commit")                                                                         \
    X(TODO, "on_todo")                                                                             \
    X(BLOCKED, "on_blocked")                                                                       \
    X(TRANSITION, "on_transition")                                                                 \
    X(ERROR, "on_error")                                                                           \
    X(ACTIVE, "on_active")                                                                         \
    X(REMOVED, "on_removed") /* its noderole is gone */                                            \
    X(NODE_CREATE, "on_node_create")                                                               \
    X(NODE_CHANGE, "on_node_change") /* a list as the others, or {fields: [...], do: [...]} */     \
    X(NODE_DELETE, "on_node_delete")                                                               \
    X(LEAVING, "on_leaving") /* a plan is about to remove it; what it enqueues comes first */
enum hook_event {
#define X(id, name) HOOK_ON_##id,
    HOOK_EVENTS(X)
#undef X
        HOOK_EVENT_COUNT
};
enum { /* sets of events */
       HOOK_OF_NODE = 1u << HOOK_ON_NODE_CREATE | 1u << HOOK_ON_NODE_CHANGE |
                      1u << HOOK_ON_NODE_DELETE,
       HOOK_OF_NOBODY = HOOK_OF_NODE | 1u << HOOK_ON_REMOVED, /* no noderole lives */
       HOOK_ALL = (1u << HOOK_EVENT_COUNT) - 1,
};

/*    id        name        events at which it is there */
#define HOOK_NAMES(X)                                                                              \
    X(EVENT, "event", HOOK_ALL)                                                                    \
    X(ROLE, "role", HOOK_ALL)                                                                      \
    X(NODEROLE, "noderole", HOOK_ALL & ~HOOK_OF_NODE)                                              \
    X(DATA, "data", HOOK_ALL & ~HOOK_OF_NODE)                                                      \
    X(NODE, "node", HOOK_ALL)                                                                      \
    X(OLD, "old", 1u << HOOK_ON_NODE_CHANGE)                                                       \
    X(CHANGED, "changed", 1u << HOOK_ON_NODE_CHANGE)                                               \
    X(STORE, "store", HOOK_ALL)                                                                    \
    X(BOUND, "bound", HOOK_ALL)
enum hook_name {
#define X(id, name, events) HOOK_NAME_##id,
    HOOK_NAMES(X)
#undef X
        HOOK_NAME_COUNT
};

#endif
