/* hooks_i.h - what the files that run hooks share */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SERVER_HOOKS_I_H
#define SERVER_HOOKS_I_H

#include "server/hooks.h"
#include "server/server_i.h"
#include "template/hook.h"

struct hook_subject { /* what a hook is run for */
    const struct catalog_role *role;
    uint32_t noderole; /* 0: none */
    uint32_t node, deployment;
    /* Of a noderole that does not live yet, or not any more; else NULL and asked when read. */
    const struct value *data;
    const char *state;
    /* HOOK_ON_NODE_CHANGE */
    const struct value *after, *before, *changed;
};

/* hook_scope.c: the names that a hook reads, made as far as it reads them. */
struct hook_scope {
    struct expr_var vars[HOOK_NAME_COUNT];
    struct expr_budget budget;
    struct expr_scope scope;
};
int hook_scope_make(struct server *s, const struct hook *h, const struct hook_subject *u,
                    struct arena *mem, struct hook_scope *ret, struct err *e);
/* Its own data: defaults, those of its deployment roles from the root down, wall, system, user. */
const struct value *hook_own_data(struct server *s, const struct catalog_role *role,
                                  uint32_t deployment, const char *wall, const char *system,
                                  const char *user, struct arena *mem);
/* Top-level fields in which two nodes differ, as a list of texts. */
const struct value *hook_changed_fields(const struct value *before, const struct value *after,
                                        struct arena *mem);

/* hook_index.c: which roles have hooks, by the number that the inventory has for a role. */
struct hook_index {
    uint32_t catalog;       /* number of the generation it was made from */
    uint32_t any;           /* events that some role has hooks for */
    VEC(uint32_t) role;     /* by inventory role: index in the catalog + 1 */
    VEC(uint32_t) roles[3]; /* catalog roles with hooks for each event of nodes, in their order */
    struct strmap fields;   /* first keys of watched fields -> 1 */
    bool all_fields;        /* somebody watches every field */
};
enum { HOOK_NODE_EVENTS = 3 };
void hook_index_done(struct hook_index *x);
/* Made anew if the catalog is another one. */
const struct hook_index *hook_index_of(struct server *s);
const struct catalog_role *hook_role_of(struct server *s, uint32_t noderole); /* may be NULL */
uint32_t hook_events_of(struct server *s, uint32_t noderole);

/* hook_run.c */
struct hook_gone { /* a noderole that is gone, until its hooks have run */
    uint32_t noderole, node, deployment, role;
    char *user, *system, *wall;
};
struct hook_want {     /* data to be set once a plan is applied */
    uint32_t noderole; /* 0: of role and node */
    struct str role, node;
    struct data_edit edit;
};
struct hook_trial { /* what hooks of a plan wanted, until it is applied */
    struct arena mem;
    VEC(struct hook_want) wants;
    VEC(struct hook_want) runs;
    VEC(struct plan_wait) waits; /* who goes, and whom it has run before */
    struct u64map systems;       /* noderole -> its system data as they will be */
    bool open;
};
struct hooks {
    struct hook_index index;
    struct hook_rounds rounds;
    struct hook_stores *stores;
    VEC(struct hook_gone) gone;
    struct hook_trial trial;
    const struct hook_guest *guest; /* a node that is not there yet; NULL: none */
    struct hook_figures figures;
    struct strmap slow;
    uint64_t slow_us; /* what takes longer is named */
    uint32_t told;    /* failures journalled since the last group */
};
/* Evaluates; says what failed and how long it took.  Refusals are the caller's. */
int hook_try(struct server *s, const struct hook *h, const struct hook_subject *u,
             struct arena *mem, struct hook_outcome *ret, struct err *e);
/* The same, and does what came out, now. */
void hook_perform(struct server *s, const struct hook *h, const struct hook_subject *u);
/* A failure that must not stop anything: logged, journalled, counted. */
void hook_failed(struct server *s, enum hook_event event, const struct hook_subject *u,
                 const struct err *why);
/* Also of a node that is not there yet. */
const char *hook_node_name(struct server *s, uint32_t node);
/* "role@node" */
const char *hook_subject_name(struct server *s, const struct hook_subject *u, struct arena *mem);
/* The noderole of a role on a node; 0 if none lives there.  Empty: those of the subject. */
uint32_t hook_target(struct server *s, const struct hook_subject *u, struct str role,
                     struct str node);
int hook_store_actions(struct server *s, const struct hook_subject *u,
                       const struct hook_outcome *out, bool only_check, struct err *e);

#endif
