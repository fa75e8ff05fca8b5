/* hook_i.h - a compiled hook, shared by what compiles it and what runs it */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TEMPLATE_HOOK_I_H
#define TEMPLATE_HOOK_I_H

#include "base/alloc.h"
#include "template/hook.h"

struct builtin_run;

#define HOOK_KEYS(X)                                                                               \
    X(WHEN, "when")                                                                                \
    X(TO, "to")                                                                                    \
    X(OF, "of")                                                                                    \
    X(ON, "on")                                                                                    \
    X(IN, "in")                                                                                    \
    X(DO, "do")
enum hook_key_bit {
#define X(id, name) HOOK_KEYBIT_##id,
    HOOK_KEYS(X)
#undef X
        HOOK_KEY_COUNT
};
enum hook_key {
#define X(id, name) HOOK_KEY_##id = 1u << HOOK_KEYBIT_##id,
    HOOK_KEYS(X)
#undef X
};

struct hook_place {
    uint32_t line, column;
};
struct hook_term { /* something that gives a value; neither: absent */
    const struct expr *x;
    const struct value *v;
};
struct hook_part { /* of a path */
    struct str key;
    const struct expr *x; /* if it is computed */
};
struct hook_step {
    uint8_t verb;
    uint8_t n_parts;
    uint16_t n_roles;
    struct hook_place place;
    struct hook_term when, term; /* term: to, in, or what is refused */
    struct hook_term on;         /* the nodes of enqueue, set and unset */
    struct str name;             /* of let and for; of a path, as it was written */
    const struct hook_part *parts;
    const struct str *roles; /* of enqueue; the one of `of` */
    const struct hook_step *body;
    uint32_t n_body;
};
struct hook_write {
    uint8_t verb;
    struct str path;
};
struct hook_role {
    struct str name;
    struct hook_place place;
};
struct hook_builtin {
    const char *name;
    uint32_t events;          /* 1u << enum hook_event */
    const char *const *reads; /* dotted paths, NULL ends */
    const char *const *sets;  /* paths of system data, and of the role's store, likewise */
    const char *const *stores;
    int (*run)(struct builtin_run *run, struct err *e);
};
const struct hook_builtin *hook_builtin_find(struct str name);
struct builtin_run { /* one evaluation of a hook that is built in */
    enum hook_event event;
    const struct expr_scope *scope; /* with a budget */
    struct arena *mem;
    VEC(struct hook_action) actions;
};

struct hook {
    const char *file;
    const struct hook_builtin *builtin; /* instead of steps */
    struct hook_place place;
    enum hook_event event;
    const struct hook_step *steps;
    uint32_t n_steps;
    const struct str *reads;
    const struct hook_write *writes;
    const struct hook_role *roles;
    uint32_t n_reads, n_writes, n_roles;
};

/* Adds "file:line:column" to an error already set; returns `code`. */
int hook_point(const char *file, struct hook_place place, int code, struct err *e);
/* A part of a path: not empty, not too long, no slash, no control characters. */
bool hook_key_ok(struct str key);

#endif
