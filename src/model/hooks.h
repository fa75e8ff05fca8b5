/* hooks.h - when a hook may run, listed once for those who read hooks and those who run them
 *
 * Catalogs name these events (docs/rfc/04-catalog.md); what a hook may do at each is said where
 * hooks are compiled (template/hook.h).
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
    X(NODE_CREATE, "on_node_create")                                                               \
    X(NODE_CHANGE, "on_node_change") /* a list as the others, or {fields: [...], do: [...]} */     \
    X(NODE_DELETE, "on_node_delete")
enum hook_event {
#define X(id, name) HOOK_ON_##id,
    HOOK_EVENTS(X)
#undef X
        HOOK_EVENT_COUNT
};

#endif
