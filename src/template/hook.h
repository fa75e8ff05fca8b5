/* hook.h - hooks: what a role does with data when something happens to it
 *
 * A hook is a list of steps, declared in a catalog and compiled with it (docs/rfc/06, section 8):
 *
 *     on_bind:
 *       - {let: addr, to: "address_free(net.first, net.last, taken)"}
 *       - {when: addr is not defined, refuse: "'no address is left in ' ~ net.name"}
 *       - {set: network/address, to: addr}
 *       - {for: n, in: peers, do: [{set: hosts/(n.name), to: n.address}]}
 *       - {when: first, enqueue: [dns-server], on: "nodes | map(attribute='name')"}
 *
 * Its outcome is data: what to write, what to run, or why not.  Evaluating is pure and bounded: the
 * same scope gives the same outcome, and nothing that a step writes is seen by a later one; for
 * that there is `let`.  A `let` lives to the end of its block, and one whose name is in use
 * already, by another `let`, changes that one, so that a loop can gather.  A refusal ends the hook.
 *
 * With `of: ROLE` and `on: NODES`, a `set` or `unset` is about the data of other noderoles.
 *
 * Instead of steps there may be the name of a hook that is built in: a function in C with the same
 * promises (hook_builtin.c).
 *
 * What follows `to`, `when`, `in`, `on` and `refuse` is an expression (expr.h); a number, a boolean
 * or null in YAML stands for itself.  A path is written a/b/c; a part in parentheses is an
 * expression that gives a key.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TEMPLATE_HOOK_H
#define TEMPLATE_HOOK_H

#include "model/hooks.h"
#include "template/expr.h"

enum {
    HOOK_MAX_STEPS = 1000, /* that are written in one hook */
    HOOK_MAX_NEST = 4,     /* loops within each other */
    HOOK_MAX_PATH = 16,    /* parts of a path */
    HOOK_MAX_KEY = 256,    /* bytes of a part */
    HOOK_MAX_ROLES = 64,   /* of one enqueue */
};

/* clang-format off */
/*    id       key        keys it needs       keys it may have as well, besides `when` */
#define HOOK_VERBS(X)                                                                              \
    X(SET,     "set",     HOOK_KEY_TO,        HOOK_KEY_OF | HOOK_KEY_ON)                           \
    X(UNSET,   "unset",   0,                  HOOK_KEY_OF | HOOK_KEY_ON)                           \
    X(STORE,   "store",   HOOK_KEY_TO,        0)                                                   \
    X(UNSTORE, "unstore", 0,                  0)                                                   \
    X(ENQUEUE, "enqueue", 0,                  HOOK_KEY_ON)                                         \
    X(REFUSE,  "refuse",  0,                  0)                                                   \
    X(LET,     "let",     HOOK_KEY_TO,        0)                                                   \
    X(FOR,     "for",     HOOK_KEY_IN | HOOK_KEY_DO, 0)
/* clang-format on */
enum hook_verb {
#define X(id, name, needs, may) HOOK_##id,
    HOOK_VERBS(X)
#undef X
        HOOK_VERB_COUNT
};
enum hook_verb_bit {
#define X(id, name, needs, may) HOOK_F_##id = 1u << HOOK_##id,
    HOOK_VERBS(X)
#undef X
};

const char *hook_event_name(enum hook_event event);
/* HOOK_EVENT_COUNT if there is none of that name. */
enum hook_event hook_event_find(struct str name);
/* A set of enum hook_verb_bit.  Before something lives there is nothing to run and something to
 * refuse.  Where no noderole lives (HOOK_OF_NOBODY), `set` must say of which role. */
unsigned hook_event_verbs(enum hook_event event);
const char *hook_verb_name(enum hook_verb verb);

/* --- compiling --- */

struct hook_options {
    const char *file;                   /* that the steps were read from; may be NULL */
    const struct expr_library *library; /* may be NULL */
};
struct hook;
/* A list of steps, or the name of a built-in hook.  They may go afterwards, the library may not.
 * e->at is "file:line:column".  o may be NULL.
 */
int hook_compile(struct arena *a, const struct value *steps, enum hook_event event,
                 const struct hook_options *o, const struct hook **ret_h, struct err *e);
enum hook_event hook_event_of(const struct hook *h);

/* What it reads from its scope, as dotted paths, and what it may write, as paths with slashes: as
 * far as they are known beforehand, without what is local, each once; false past the end. */
bool hook_read_at(const struct hook *h, size_t i, struct str *ret_path);
bool hook_write_at(const struct hook *h, size_t i, enum hook_verb *ret_verb, struct str *ret_path);
/* The roles that it may enqueue or set data of, and where they are written. */
bool hook_role_at(const struct hook *h, size_t i, struct str *ret_role, uint32_t *ret_line,
                  uint32_t *ret_column);
const char *hook_file(const struct hook *h); /* NULL: not known */
/* "file:line:column" of its first step. */
void hook_where(const struct hook *h, char *ret, size_t n);

/* --- evaluating --- */

struct hook_action {
    enum hook_verb verb;   /* SET, UNSET, STORE, ENQUEUE or REFUSE */
    struct str path;       /* "a/b/c" of SET, UNSET and STORE */
    const struct value *v; /* of SET and STORE; null is a value */
    struct str role, node; /* of ENQUEUE, SET and UNSET; none: those of the event */
    struct str text;       /* of REFUSE, which is the last action */
    uint32_t line, column; /* of REFUSE, in the file of the hook */
};
struct hook_outcome {
    const struct hook_action *at;
    uint32_t n;
    bool refused;
    uint32_t steps; /* that it took */
};
/* The outcome is in `mem`; its values may be parts of the scope's.  What it writes may not exceed
 * EXPR_MAX_BYTES in all.  The scope's budget may be NULL: the hook has the default for all of its
 * steps together. */
int hook_eval(const struct hook *h, const struct expr_scope *scope, struct arena *mem,
              struct hook_outcome *ret, struct err *e);

/* The i-th hook that is built in, and the events it is for; false past the end. */
bool hook_builtin_at(size_t i, const char **ret_name, uint32_t *ret_events);

#endif
