/* annealer_i.h - the engine's state, shared by the files of this directory only
 *
 * Ids are indexes; 0 is nobody.  What the inner loop touches for every dependent (the count of
 * unmet dependencies and the state) lies in arrays of its own, so that finishing a task touches one
 * cache line for several dependents.  Everything else about a task is 40 bytes.
 *
 * Derived, never stored: unmet, counters, lanes, heaps, timers' positions, pool use.  recover.c
 * rebuilds them.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ANNEALER_ANNEALER_I_H
#define ANNEALER_ANNEALER_I_H

#include "annealer/annealer.h"
#include "base/alloc.h"
#include "base/arena.h"
#include "graph/graph.h"
#include "model/plan.h"
#include "model/taskmsg.h"

enum {                         /* task.flags */
       TASKF_SETTLE = 1u << 0, /* in the settle list (derived) */
       TASKF_FIRST = 1u << 1,  /* waits for the parents of its noderole (derived; gate.c) */
       TASKF_RULE = 15u << 2,  /* enum task_rule; most are passive (passive.c) */
       TASKF_TRIED = 1u << 6,  /* an attempt of it has begun, or may have */
       TASKF_WALKED = 1u << 7, /* of a join: a walk has been through it (never at rest) */
};
enum { TASKF_RULE_SHIFT = 2 };
struct task {
    uint64_t done_digest; /* inputs of the last success; 0: never */
    uint32_t noderole, def, weight, span;
    uint32_t live;    /* slot of its open attempt or back-off; 0: none */
    uint32_t lane;    /* where it is queued; 0: nowhere (derived).  Entries elsewhere are ghosts. */
    uint32_t attempt; /* the last number given */
    uint16_t tries;   /* failures of this run that used up budget */
    uint8_t reason, flags;
};

/* Two noderoles that are joined, and not by a need (bond.c). */
enum bond_kind {
    BOND_SLEEPS, /* the child will need the parent, which has never been ACTIVE (late.c) */
    BOND_LEAVES, /* the parent goes when the child has let go of it (leave.c) */
    BOND_KIND_COUNT
};
struct bond {
    uint32_t parent, child, next_up, next_down;
    bool awaited; /* SLEEPS: the child's next run waits for it.  LEAVES: the child takes its place
                   */
};
/* In the parents of a noderole's row; the last one is bond.awaited. */
#define PARENT_SLEEPS  (1u << 31)
#define PARENT_LEAVES  (1u << 30)
#define PARENT_AWAITED (1u << 29)
#define PARENT_MARKS   (PARENT_SLEEPS | PARENT_LEAVES | PARENT_AWAITED)

enum {                         /* noderole.mode */
       MODE_REFRESH = 1u << 0, /* in service and running again: STALE */
       MODE_AGAIN = 1u << 1,   /* one more run after this one */
       MODE_FORCED = 1u << 2,  /* no early cut-off in this run */
       MODE_BEGUN = 1u << 3,   /* a task of this run was started */
       MODE_AGAIN_FORCED = 1u << 4,
       MODE_UNCHANGED = 1u << 5, /* early cut-off: its tasks pass without an attempt, in order */
       MODE_PLANNED = 1u << 6,   /* the run that its plan began: rules `keep` and `once` hold */
       MODE_UNDO = 1u << 7,      /* its task with rule `undo` runs before what it undoes */
       MODE_PREFIX = 1u << 8, /* a correction: what is as it was passes up to the first that runs */
       MODE_AGAIN_SAID = 1u << 9,  /* one more run, by a person's word */
       MODE_AGAIN_TOLD = 1u << 10, /* by what a parent returned */
       MODE_STOPPED = 1u << 11,    /* cancelled by its roll-out */
       MODE_FORGIVEN = 1u << 12,   /* its failure does not count in its roll-out: a resume */
       MODE_LET = 1u << 13,   /* a person had it retried: it begins though its roll-out stopped */
       MODE_ASIDE = 1u << 14, /* begun, but not with what its roll-out is about (DEF_F_ASIDE) */
       MODE_ALL = (1u << 15) - 1,
};
/* Whatever run begins. */
enum { MODE_KEPT = MODE_PLANNED | MODE_UNDO | MODE_STOPPED | MODE_FORGIVEN | MODE_LET };
struct noderole {
    uint64_t data, inputs;
    uint32_t node, op, cohort, generation, incarnation, run_count;
    uint32_t first_task;
    uint32_t next_on_node;
    uint32_t parents_out;   /* need-parents not in service; of a quorum together 1 or 0 */
    uint32_t parents_stale; /* need-parents not ACTIVE; likewise, and so for the next two */
    uint32_t visited;       /* epoch of the last loss walk */
    uint32_t gate;          /* need-parents that run, or are to, and are not complete */
    uint32_t halted;        /* need-parents that are stopped, or to be */
    uint32_t bonds_up[BOND_KIND_COUNT];   /* first bond in which it is the child; 0: none */
    uint32_t bonds_down[BOND_KIND_COUNT]; /* first bond in which it is the parent; 0: none */
    uint32_t awaits;                      /* needs of it that sleep and that its next run awaits */
    uint32_t quorum;                      /* first of its quorums; 0: none */
    uint32_t joined;                      /* quorums of others that it is in */
    uint16_t n_tasks;
    uint16_t passed, live, ready, failed, dep_failed, cancelled; /* of its tasks */
    bool complete;                                               /* all of them have passed */
    bool derives; /* in the list of those to be derived again */
    uint8_t state, target, reason, flags;
    uint8_t stand; /* what quorums were told of it (quorum.c), while it is in one */
    uint16_t mode;
    uint32_t group;    /* 0: none */
    uint32_t answered; /* the operation in which what a parent returned began a run out of ERROR */
};

struct def {
    uint64_t digest, backoff_ms, timeout_ms, deadline_ms;
    uint32_t jig, retries;
    uint8_t repeat, hold, flags;
};

/* An open attempt, or a task asleep before its next try.  It holds slots, not the task.  AHEAD: a
 * worker has it and will begin it by itself (chain.c); it holds nothing yet. */
enum live_kind { LIVE_FREE, LIVE_RUN, LIVE_WAIT, LIVE_BACKOFF, LIVE_AHEAD };
enum {                             /* live.flags; the first three are stored with the attempt */
       LIVEF_SUPERSEDED = 1u << 0, /* its result is history only */
       LIVEF_STOPPING = 1u << 1,   /* told to end */
       LIVEF_WAITING = 1u << 2,    /* WAIT, for the row */
       LIVEF_DUE = 1u << 3,        /* WAIT: its time has come, wants a slot (derived from wake) */
       LIVEF_NODE = 1u << 4,       /* holds a node slot (derived) */
       LIVEF_WORKER = 1u << 5,     /* holds a worker slot (derived) */
       LIVEF_FROZEN =
           1u << 6, /* its node is unavailable: clocks stand still, times are what is left */
       LIVEF_AHEAD = 1u << 7, /* AHEAD, for the row */
};
enum { LIVEF_STORED = 0xc7 };
struct live {
    uint64_t started_ms, turn_ms, deadline_ms, wake_ms, input;
    uint32_t task, number, generation, node, asks;
    uint32_t behind;     /* the task that it runs behind; 0: it was not sent ahead */
    uint32_t follower;   /* the task sent ahead to run behind it; 0: none (derived) */
    uint32_t timer;      /* position in the heap + 1; 0: not armed */
    uint32_t next, prev; /* others of its node */
    uint8_t kind, flags;
};
struct timer {
    uint64_t at_ms;
    uint32_t task, live;
};

/* Start order inside one operation: greater weight, smaller cohort, smaller id. */
struct start_key {
    uint32_t light; /* ~weight */
    uint32_t cohort, task;
};
static inline bool start_key_before(struct start_key x, struct start_key y)
{
    if (x.light != y.light)
        return x.light < y.light;
    if (x.cohort != y.cohort)
        return x.cohort < y.cohort;
    return x.task < y.task;
}

/* A lane: startable tasks of one operation that wait for the same thing: a node's slot (tasks that
 * reach into the node; those that do not; those that hold the slot already), a pool, or a jig's
 * worker.  It is open while that thing can be had.  Invariant: the head of each open lane is among
 * the candidates of its operation, so that the best start of all is found without looking at what
 * cannot start. */
enum lane_kind { LANE_INSIDE, LANE_OUTSIDE, LANE_HOLDER, LANE_POOL, LANE_JIG };
struct lane {
    struct start_key *heap;
    size_t n, cap;
    uint32_t owner; /* id of the node, pool or jig */
    uint32_t op, next_of_owner, next_of_op;
    uint8_t kind;
};
struct candidate { /* a lane's head as it was when offered; stale ones are dropped when met */
    struct start_key key;
    uint32_t lane;
};
struct op {
    struct candidate *heap;
    size_t heap_n, heap_cap;
    VEC(uint32_t) noderoles; /* that it ran last; entries whose noderole moved on are skipped */
    uint64_t served;
    uint32_t tenant, lanes, live;
    uint32_t counts[TASK_STATE_COUNT];
    uint8_t class, state, reason;
    uint64_t ended_ms;
    uint32_t gone;                /* tasks that passed, of noderoles that vanished since */
    uint32_t failures;            /* members of each roll-out that may fail, + 1; 0: as planned */
    uint32_t total, done, failed; /* figures of an operation that has ended */
    bool held, exists;
    bool listed;  /* in its tenant's list of operations with candidates */
    bool touched; /* in the list of those that may have ended */
};
struct tenant {
    uint64_t served, floor; /* floor: an operation that was idle counts as served this much */
    VEC(uint32_t) ready[CLASS_COUNT]; /* operations with candidates */
    uint32_t share, used;             /* of workers' slots; TENANT_ALL: as many as there are */
    uint32_t wish;                    /* what share was made from: the server's */
    bool exists, gone;
};
struct pool {
    uint32_t size, taken, elsewhere;
    uint32_t lanes;
    bool closed, exists;
};
enum span_hold {
    SPAN_FREE,
    SPAN_HELD,
    SPAN_OVER, /* held by a run that is over: given back when nothing of it is left */
};
struct span {
    const uint32_t *pools;
    uint32_t n_pools;
    uint32_t left;  /* tasks that have not ended */
    uint32_t begun; /* tasks of this run that started or ended */
    uint32_t live;  /* open attempts */
    uint8_t held;   /* enum span_hold */
};
struct group { /* tolerance.c */
    uint32_t may_fail;
    uint32_t failed;         /* of its noderoles: with a task FAILED or DEP_FAILED */
    bool beyond;             /* more than may; follows `failed` at the end of a step */
    bool stops;              /* a roll-out (rollout.c) */
    VEC(uint32_t) noderoles; /* entries whose noderole moved on are skipped */
};
struct group_move {           /* a noderole of it began or ceased to count as failed */
    uint32_t group, noderole; /* 0: of some; it is counted anew */
};
struct jig {
    uint32_t slots, taken;
    uint32_t lanes;
    bool active, exists;
};
struct node {
    uint64_t machine, boot, silent_ms, away_until_ms;
    uint32_t slots, used, probes, errors, noderoles, first_noderole, last_noderole;
    uint32_t lives, lanes; /* heads of lists */
    uint8_t available, alive;
    bool exists, gone;
};

struct quorum_count { /* of members whose need counts */
    uint32_t linked, serving, active, complete, stopped, coming;
};
struct quorum { /* quorum.c: parents of which some are enough */
    uint32_t child, next;
    uint32_t min;
    bool percent;
    uint8_t told;          /* what it comes to in the counters of its child */
    VEC(uint32_t) members; /* by id, those whose need sleeps included */
    struct quorum_count count;
};

struct loader;
struct anneal {
    struct engine_settings opt;
    bool opt_told; /* by an event: then there is a row */
    uint64_t now_ms;
    /* tasks, by id */
    uint8_t *task_state;
    uint32_t *unmet;
    struct task *tasks;
    size_t task_cap;
    uint32_t task_end;
    struct graph order; /* tasks */
    struct graph need;  /* noderoles */
    VEC(struct noderole) noderoles;
    VEC(struct def) defs;
    VEC(struct node) nodes;
    VEC(struct op) ops;
    VEC(struct tenant) tenants;
    VEC(struct pool) pools;
    VEC(struct span) spans;
    VEC(struct jig) jigs;
    VEC(struct group) groups;
    VEC(struct live) lives;
    VEC(uint32_t) free_lives;
    VEC(struct lane) lanes;
    VEC(uint32_t) free_lanes;
    VEC(struct timer) timers;
    VEC(struct bond) bonds;
    uint32_t bond_free;
    VEC(struct quorum) quorums;
    uint32_t quorum_free;
    struct arena span_mem;
    /* work of the current step */
    VEC(uint32_t) settle;         /* tasks that may have become ready */
    VEC(uint32_t) derive;         /* noderoles to derive again */
    VEC(uint32_t) walk;           /* of a loss */
    VEC(uint32_t) walked;         /* joins with TASKF_WALKED */
    VEC(struct group_move) moves; /* of groups, not settled yet */
    VEC(uint32_t) touched;        /* operations that may have ended */
    VEC(uint32_t) turns;          /* tasks sent ahead whose turn has come */
    struct loader *loader;        /* while rows come in */
    struct effects *fx;
    uint32_t epoch;
    uint32_t cause; /* the operation that corrects something; 0: none does */
    /* global */
    uint32_t capacity, capacity_used; /* workers' slots */
    uint64_t tenant_floor;
    uint32_t live_n; /* open attempts */
    uint32_t nodes_alive, nodes_silent, silent_at_suspect;
    bool suspect, freeze_on_error;
    bool stall_told;  /* of the standing operation, until something runs again */
    uint64_t illegal; /* transitions asked for that the table forbids: a defect if ever above 0 */
    uint64_t totals_noderole[NODEROLE_STATE_COUNT], totals_task[TASK_STATE_COUNT];
    struct buf row_mem; /* blobs of the last anneal_row() */
};

/* task_fsm.c */
int task_fsm_next(enum task_state from, enum task_event ev); /* -1: illegal */
void task_go(struct anneal *a, uint32_t t, enum task_event ev, enum reason why);
void task_settle_later(struct anneal *a, uint32_t t);
/* Is it over with `dep`, as far as `t` is concerned, which waits for it? */
bool task_met(const struct anneal *a, uint32_t dep, uint32_t t);
/* A task failed for good, or was given another chance: dependents of open operations follow. */
void task_fail_cone(struct anneal *a, uint32_t t);
void task_unfail_cone(struct anneal *a, uint32_t t);
void task_join_failure(struct anneal *a, uint32_t t); /* it waits for something since just now */
void task_unfail(struct anneal *a, uint32_t t);       /* or does not any more */
bool task_dep_failed(const struct anneal *a, uint32_t t); /* does one that it waits for? */
/* One thing more, or less, to wait for before it can be ready. */
void task_waits_more(struct anneal *a, uint32_t t);
void task_waits_less(struct anneal *a, uint32_t t);
void task_changed(struct anneal *a, uint32_t t);
bool task_cancel(struct anneal *a, uint32_t t, enum reason why); /* if it has not started */
/* What waits for the tasks on a->walk from base on, through joins, in an open operation. */
void task_cancel_cone(struct anneal *a, size_t base);

/* passive.c */
void passive_settle(struct anneal *a, uint32_t t);
void passive_run_over(struct anneal *a, uint32_t noderole); /* the run that its plan began */
/* Of a noderole without a node: it has no run, it says how far those are that it waits for. */
bool passive_follows(const struct anneal *a, uint32_t t);
/* Of such a noderole, a call to others that has told what is being tried again; it is repeated. */
bool passive_call_stale(const struct anneal *a, uint32_t t);
void passive_call_again(struct anneal *a, uint32_t t);

/* tolerance.c */
void tolerance_add(struct anneal *a, uint32_t may_fail, bool stops);
void tolerance_join(struct anneal *a, uint32_t noderole, uint32_t group); /* leaves the old one */
void tolerance_count(struct anneal *a, uint32_t noderole,
                     bool more);         /* one task more, or less, has failed */
void tolerance_settle(struct anneal *a); /* the last of the moves */
bool tolerance_within(const struct anneal *a,
                      uint32_t noderole);                 /* is what failed of it forgiven? */
void tolerance_look(struct anneal *a, uint32_t group);    /* is more forgiven than was, or less? */
void tolerance_recount(struct anneal *a, uint32_t group); /* the same, at once */
/* It is forgiven by itself, or no more: MODE_FORGIVEN, and who waits for it is told. */
void tolerance_forgive(struct anneal *a, uint32_t noderole, bool forgiven);
void tolerance_restore(struct anneal *a);

/* rollout.c */
/* An order edge between two members: the next one waits until that one has ended. */
bool rollout_orders(const struct anneal *a, uint32_t dep, uint32_t t);
bool rollout_op_spent(struct anneal *a, uint32_t op); /* have more failed, somewhere, than may? */
bool rollout_op_stopped(const struct anneal *a, uint32_t op); /* has any of its roll-outs? */
uint32_t rollout_failures(struct anneal *a, uint32_t group, uint32_t op);
uint32_t rollout_budget(const struct anneal *a, uint32_t group, uint32_t op);
bool rollout_beyond(struct anneal *a, uint32_t group);    /* forgives it less than has failed? */
void rollout_failed(struct anneal *a, uint32_t noderole); /* it has just gone to ERROR */
void rollout_begins(struct anneal *a, uint32_t t);        /* an attempt of it starts */
bool rollout_holds(struct anneal *a, uint32_t noderole);  /* it would begin; true: it does not */
void rollout_resume(struct anneal *a, uint32_t op);       /* what failed is forgiven */

/* noderole_fsm.c */
enum noderole_state noderole_derive(const struct anneal *a, uint32_t nr);
void noderole_left_service(struct anneal *a, uint32_t nr); /* by another target */
void noderole_leave_rest(struct anneal *a, uint32_t nr);   /* it was stopped, and is to run */
void noderole_derive_later(struct anneal *a, uint32_t nr);
void noderole_settle(struct anneal *a); /* works off settle and derive */
void noderole_changed(struct anneal *a, uint32_t nr);
void noderole_adopt(struct anneal *a, uint32_t nr, uint32_t op);

/* ripple.c */
void ripple_loss(struct anneal *a, uint32_t nr, enum reason why); /* its descendants, not itself */
void ripple_rewind(struct anneal *a, uint32_t nr, enum reason why); /* a new run of itself */
void ripple_refresh(struct anneal *a, uint32_t nr, enum reason why, bool forced);
bool ripple_unchanged(struct anneal *a, uint32_t nr); /* early cut-off, if it applies */
void ripple_pass(struct anneal *a, uint32_t t);       /* a task of such a run, in its turn */
uint64_t ripple_inputs(const struct anneal *a, uint32_t nr);
uint64_t ripple_task_input(const struct anneal *a, uint32_t t);
uint64_t ripple_input_from(const struct anneal *a, uint32_t t, uint64_t inputs);

/* schedule.c */
void schedule_enqueue(struct anneal *a, uint32_t t);
void schedule_run(struct anneal *a);                 /* grants every start that can be */
void schedule_node(struct anneal *a, uint32_t node); /* its lanes may have opened */
void schedule_pool(struct anneal *a, uint32_t pool);
void schedule_jig(struct anneal *a, uint32_t jig);
void schedule_op(struct anneal *a, uint32_t op);    /* after a hold */
void schedule_count(struct anneal *a, uint32_t op); /* a start: it was served */
enum lane_kind schedule_home(const struct anneal *a, uint32_t t);
bool schedule_lane_open(const struct anneal *a, uint32_t lane);
/* It was sent ahead, and its turn has come: nothing that it needs is shut. */
bool schedule_may_go_on(const struct anneal *a, uint32_t t);

/* lane.c */
uint32_t lane_find(struct anneal *a, enum lane_kind kind, uint32_t owner, uint32_t op);
void lane_push(struct lane *l, struct start_key k);
void lane_pop(struct lane *l);
void lane_give_back(struct anneal *a, uint32_t op); /* all lanes of an operation that has ended */
void lane_candidate_push(struct op *o, struct candidate c);
struct candidate lane_candidate_pop(struct op *o);

/* limits.c */
bool limits_pool_room(const struct pool *p);
bool limits_tenant_room(const struct tenant *t);
/* An open attempt counts for an operation of another tenant from now on. */
void limits_tenant_moves(struct anneal *a, uint32_t live, uint32_t from, uint32_t to);
bool limits_jig_room(const struct jig *j);
bool limits_span_take(struct anneal *a, uint32_t span, uint32_t *ret_full); /* all pools or none */
void limits_span_settle(struct anneal *a, uint32_t span); /* releases it when it is over */
void limits_span_restart(struct anneal *a, uint32_t span);

/* attempt.c */
void attempt_start(struct anneal *a, uint32_t t);
void attempt_ask(struct anneal *a, uint32_t t);
int attempt_result(struct anneal *a, const struct event *ev, struct err *e);
void attempt_lost(struct anneal *a, uint32_t live, enum reason why);
void attempt_supersede(struct anneal *a, uint32_t t); /* its task begins a new run */
/* answer: the result that ended it; NULL: nobody has answered. */
void attempt_close(struct anneal *a, uint32_t live, enum outcome outcome,
                   const struct event *answer);
void attempt_backoff(struct anneal *a, uint32_t t, uint64_t until_ms);
void attempt_unsleep(struct anneal *a, uint32_t t); /* ends a back-off */
void attempt_stop(struct anneal *a, uint32_t live);
void attempt_due(struct anneal *a, uint32_t live);
void attempt_poke(struct anneal *a, uint32_t live); /* due now, whatever its time */
void attempt_timer_fired(struct anneal *a, uint32_t live);
uint32_t attempt_live_new(struct anneal *a);
void attempt_row_changed(struct anneal *a, uint32_t live);
/* Takes the slots that its kind and flags imply, when it is read back from its row. */
void attempt_retake(struct anneal *a, uint32_t live);

/* An open attempt that holds nothing yet, of a task that follows another one. */
uint32_t attempt_ahead(struct anneal *a, uint32_t t, uint32_t behind, uint64_t input);
/* Its turn has come: it holds a node's and a worker's slot from now on. */
void attempt_turn(struct anneal *a, uint32_t live);
void attempt_begin(struct anneal *a, uint32_t t); /* likewise, and its task runs */

/* chain.c */
void chain_extend(struct anneal *a, uint32_t t); /* t has just started: what can follow is sent */
uint64_t chain_input(const struct anneal *a, uint32_t t); /* what it would see if it began now */
/* The attempt of a task has ended: what was sent to run behind it has its turn or will never begin.
 */
void chain_passed(struct anneal *a, uint32_t follower);
void chain_drop(struct anneal *a, uint32_t follower, enum outcome outcome);
void chain_withdraw(struct anneal *a, uint32_t follower); /* it is not wanted any more */
void chain_turns(struct anneal *a);
void chain_unready(struct anneal *a, uint32_t t); /* its attempt ahead is closed or not wanted */
/* It will begin when its turn comes, and has nothing else to wait for then. */
static inline bool chain_ahead(const struct anneal *a, uint32_t t)
{
    const struct live *l = &a->lives.at[a->tasks[t].live];
    return a->tasks[t].live && l->kind == LIVE_AHEAD && !(l->flags & LIVEF_SUPERSEDED);
}

/* timer.c */
void timer_arm(struct anneal *a, uint32_t live); /* by its kind, wake and deadline */
void timer_disarm(struct anneal *a, uint32_t live);
void timer_fire_due(struct anneal *a);

/* nodes.c */
int nodes_event(struct anneal *a, const struct event *ev, struct err *e);
void nodes_went_away(struct anneal *a, uint32_t node, uint64_t until_ms);
void nodes_came_back(struct anneal *a, uint32_t node);

/* operation.c */
void operation_count(struct anneal *a, uint32_t op, enum task_state from, enum task_state to);
/* Another one takes over a noderole before it is done, or to remove it: from then on the reason why
 * it runs is OPERATION or REMOVED, and it may not end as if it had done what was asked of it. */
void operation_loses(struct anneal *a, uint32_t noderole, uint32_t to, bool removed);
void operation_touch(struct anneal *a,
                     uint32_t op); /* it may have ended: looked at after the step */
void operation_reopen(struct anneal *a, uint32_t op); /* work was given back to it */
void operation_set_state(struct anneal *a, uint32_t op, enum operation_state to, enum reason why);
void operation_settle_all(struct anneal *a);
void operation_drain(struct anneal *a, uint32_t op); /* more failed than may: it comes to an end */
void operation_changed(struct anneal *a, uint32_t op);
int operation_event(struct anneal *a, const struct event *ev, struct err *e);
int operation_takes_work(const struct anneal *a, uint32_t op, struct err *e);
int operation_supersede_check(const struct anneal *a, uint32_t old, uint32_t op, struct err *e);
void operation_supersede(struct anneal *a, uint32_t old, uint32_t op); /* checked */
/* Another chance for its failed and cancelled tasks; how many there were. */
uint32_t operation_retry_noderole(struct anneal *a, uint32_t noderole);
void operation_find_stall(struct anneal *a);

/* Is it FAILED, and known to be, or CANCELLED? */
bool operation_task_may_retry(const struct anneal *a, uint32_t t);
void operation_reset_task(struct anneal *a, uint32_t t); /* such a one has another chance */

/* correct.c */
/* The failure of one in ERROR that no change corrects, only a person's own word; 0: none. */
enum reason correct_withheld(const struct anneal *a, uint32_t noderole);
/* Would a change begin a new run of one in ERROR, in that operation? */
bool correct_may(const struct anneal *a, uint32_t noderole, bool returned, uint32_t op);
/* It is in ERROR or was cancelled, and has changed; false: that is seen when it is retried. */
bool correct_change(struct anneal *a, uint32_t noderole, enum reason why);
void correct_begin(struct anneal *a, uint32_t noderole, enum reason why, bool forced);
void correct_failed(struct anneal *a, uint32_t noderole);         /* it has just gone to ERROR */
bool correct_outdated(const struct anneal *a, uint32_t noderole); /* has what passed seen other? */
bool correct_keeps(const struct anneal *a, uint32_t t); /* does it pass as it is, in such a run? */

/* recover.c */
void recover_abandon(struct anneal *a); /* rows that came in without an end */

/* extend.c */
int extend_apply(struct anneal *a, const struct event *ev, struct err *e);
void extend_tasks(struct anneal *a, uint32_t n); /* room for n more, zeroed */
void extend_on_node(struct anneal *a, uint32_t noderole);
uint32_t extend_group(const struct anneal *a, const struct plan *p, uint32_t group);
bool extend_def_runs(const struct anneal *a, const struct plan *p, uint32_t def);
/* Without a node only what reaches elsewhere can run. */
static inline bool extend_runs_on(uint32_t node, uint32_t jig, uint8_t def_flags)
{
    return jig > 0 && (node > 0 || (def_flags & DEF_F_OUTSIDE));
}

/* bond.c */
uint32_t bond_add(struct anneal *a, enum bond_kind kind, uint32_t parent, uint32_t child);
void bond_drop(struct anneal *a, enum bond_kind kind, uint32_t bond);
uint32_t bond_find(const struct anneal *a, enum bond_kind kind, uint32_t parent,
                   uint32_t child); /* 0: there is none */
/* Appends the parents of a kind, marked, by id. */
size_t bond_parents(const struct anneal *a, enum bond_kind kind, uint32_t child, struct buf *ret);

/* leave.c */
void leave_lost(struct anneal *a, uint32_t parent, uint32_t child);   /* it has, by a plan */
void leave_plan(struct anneal *a, const struct plan *p, uint32_t op); /* what it says of waiting */
void leave_done(struct anneal *a, uint32_t user); /* its run is complete, or it goes */
void leave_died(struct anneal *a, uint32_t user); /* its machine is not there any more */
/* By a person's word nobody waits: not it for others, nor its users for what they await.  Returns
 * how many it waited for. */
uint32_t leave_now(struct anneal *a, uint32_t goer);

/* late.c */
void late_add(struct anneal *a, uint32_t parent, uint32_t child);
void late_wake(struct anneal *a, uint32_t parent); /* it is ACTIVE for the first time */
/* It lets go of another parent by the same plan, and has this one when it does. */
void late_await(struct anneal *a, uint32_t parent, uint32_t child);
bool late_await_end(struct anneal *a, uint32_t child); /* or does not; false: it awaited nothing */

bool late_sleeps(const struct anneal *a, uint32_t parent, uint32_t child);
bool late_drop(struct anneal *a, uint32_t parent, uint32_t child); /* false: it does not sleep */
void late_vanish(struct anneal *a, uint32_t noderole); /* all that sleep on it or of it */

/* change.c */
int change_check(const struct anneal *a, const struct plan *p, uint32_t *next_task, struct err *e);
struct change_past {              /* of a noderole that a plan changes, before that */
    uint32_t op;                  /* that it belonged to */
    uint8_t withheld;             /* correct_withheld() */
    bool corrected;               /* the plan begins a new run of it, out of ERROR */
    bool left;                    /* it is in ERROR, and nothing of the plan changes that */
    bool keeps;                   /* what was done stays done, though its tasks are replaced */
    uint32_t first_task, n_tasks; /* that are */
};
/* One for each change of the plan, for change_end(); the caller frees it. */
struct change_past *change_begin(struct anneal *a, const struct plan *p, uint32_t op);
void change_end(struct anneal *a, const struct plan *p, const struct change_past *past);
int change_certain(const struct anneal *a, uint32_t noderole,
                   struct err *e); /* is it known how all its tasks ended? */
void change_await(struct anneal *a, const struct plan *p); /* when all its needs are there */
void change_vanish(struct anneal *a, uint32_t noderole);
int change_abandon(struct anneal *a, uint32_t noderole, struct err *e);

/* quorum.c */
uint32_t quorum_search(const struct anneal *a, uint32_t parent, uint32_t child);
/* The quorum of a noderole that one of its parents is in; 0: that one is needed by itself. */
static inline uint32_t quorum_of(const struct anneal *a, uint32_t parent, uint32_t child)
{
    return a->noderoles.at[child].quorum ? quorum_search(a, parent, child) : 0;
}
void quorum_link(struct anneal *a, uint32_t quorum, uint32_t parent, bool counts);
void quorum_leave(struct anneal *a, uint32_t parent, uint32_t child);
void quorum_join(struct anneal *a, uint32_t parent, uint32_t child, uint32_t like);
void quorum_tell(struct anneal *a, uint32_t noderole); /* what it is may have changed */
bool quorum_serves(const struct anneal *a, uint32_t quorum);
bool quorum_comes(const struct anneal *a, uint32_t member);        /* is it on its way? */
bool quorum_lacks(const struct anneal *a, uint32_t quorum);        /* are too few of it complete? */
bool quorum_will_do(const struct anneal *a, uint32_t quorum);      /* with those on their way? */
uint32_t quorum_awaits(const struct anneal *a, uint32_t noderole); /* that shut without lacking */
/* Can those that are left not be enough?  one_failed: because of a failure, it may be among others
 */
bool quorum_hopeless(const struct anneal *a, uint32_t noderole, bool one_failed);
void quorum_settle(struct anneal *a, uint32_t noderole);
/* A plan changed its needs: where it has too few in service now, it is lost. */
void quorum_fell(struct anneal *a, uint32_t noderole);
/* Before its needs count; of one whose needs count already. */
void quorum_make(struct anneal *a, uint32_t noderole, const struct plan_quorum *from, uint32_t n);
void quorum_remake(struct anneal *a, uint32_t noderole, const struct plan_quorum *from, uint32_t n);
int quorum_check_plan(const struct anneal *a, const struct plan *p, uint32_t noderole,
                      const struct plan_quorum *q, uint32_t n, struct err *e);
void quorum_write(const struct anneal *a, uint32_t noderole, struct buf *b);
bool quorum_read(struct anneal *a, uint32_t noderole, struct str from); /* false: damaged */
bool quorum_restore(struct anneal *a, uint32_t *ret_noderole); /* false: whose does not fit */
bool quorum_wrong(const struct anneal *a, uint32_t noderole);  /* recounted */
/* Adds what its quorums come to. */
void quorum_sum(const struct anneal *a, uint32_t noderole, uint32_t *ret_out, uint32_t *ret_stale,
                uint32_t *ret_gate, uint32_t *ret_halted);
void quorum_free_all(struct anneal *a);

/* undo.c */
bool undo_due(const struct anneal *a, uint32_t t); /* may it have left something behind? */
void undo_begin(struct anneal *a, uint32_t noderole);
void undo_passed(struct anneal *a, uint32_t noderole); /* a task of it; it may be the last */

/* redeploy.c */
int redeploy_event(struct anneal *a, const struct event *ev, struct err *e);

/* gate.c */
void gate_progress(struct anneal *a,
                   uint32_t noderole); /* after its count of passed tasks changed */
bool gate_shut(const struct anneal *a, uint32_t noderole); /* do its first tasks wait? */
void gate_moved(struct anneal *a, uint32_t noderole,
                bool was_shut); /* after anything of that changed */
void gate_link(struct anneal *a, uint32_t parent,
               uint32_t child); /* a need that counts from now on */
void gate_unlink(struct anneal *a, uint32_t parent, uint32_t child);
/* A need begins or ceases to count in the counters of its child; no more than that. */
void gate_edge(struct anneal *a, uint32_t parent, uint32_t child, bool counts);
/* The noderoles that stand before it: parents; for one that is to go, children. */
const uint32_t *gate_waits_for(const struct anneal *a, uint32_t noderole, uint32_t *ret_n);
void gate_each_first(struct anneal *a, uint32_t noderole,
                     void (*fn)(struct anneal *a, uint32_t task));
bool gate_shuts(const struct anneal *a, uint32_t task); /* it waits for a parent of its noderole */
void gate_mark_first(struct anneal *a, uint32_t task);  /* when its order edges are there */
/* A parent that is stopped stands in the way of who is to run, and of nobody who stops with it. */
bool gate_between(const struct anneal *a, uint32_t parent, uint32_t child);
void gate_target(struct anneal *a, uint32_t noderole, enum target target);
void gate_count(const struct anneal *a, uint32_t noderole, uint32_t *ret_gate,
                uint32_t *ret_halted); /* recomputed */
static inline bool gate_holds(const struct noderole *parent)
{
    return !parent->complete && parent->target != TARGET_STOPPED;
}

static inline void change_add(struct anneal *a, enum row_table t, uint32_t id, uint8_t from,
                              uint8_t to, uint8_t reason)
{
    if (a->fx)
        vec_push(&a->fx->changes, ((struct change){(uint8_t)t, from, to, reason, id}));
}
/* Has this run of it begun, or is it in service?  Told by counters, which a rewind resets at once:
 * what was lost in this step is not lost again. */
static inline bool noderole_begun(const struct noderole *nr)
{
    return (nr->mode & MODE_BEGUN) || nr->passed > 0 || nr->live > 0 || nr->cancelled > 0 ||
           (nr->mode & MODE_REFRESH);
}
/* It has failed, or cannot run because another one has. */
static inline bool noderole_failing(const struct noderole *nr)
{
    return nr->failed > 0 || nr->dep_failed > 0;
}
/* Nobody waits for the end of what it is in: it may go on in another operation. */
static inline bool noderole_free(const struct anneal *a, const struct noderole *nr)
{
    const struct op *o = &a->ops.at[nr->op];
    return nr->op == OPERATION_STANDING || (o->state != OPERATION_RUNNING && !o->held);
}
/* Ids of those that vanished stay empty. */
static inline bool noderole_exists(const struct anneal *a, uint32_t id)
{
    return id > 0 && id < a->noderoles.n && a->noderoles.at[id].generation;
}
static inline bool task_exists(const struct anneal *a, uint32_t t)
{
    return t > 0 && t < a->task_end;
}
static inline enum task_rule task_rule(const struct anneal *a, uint32_t t)
{
    return (enum task_rule)((a->tasks[t].flags & TASKF_RULE) >> TASKF_RULE_SHIFT);
}
/* A join for which whatever failed is over. */
static inline bool task_rule_ends(enum task_rule rule)
{
    return rule == RULE_JOIN_ENDED || rule == RULE_JOIN_OVER;
}
/* Is there a run in which something executes it? */
static inline bool task_rule_runs(enum task_rule rule)
{
    return rule == RULE_RUN || rule == RULE_KEEP || rule == RULE_ONCE || rule == RULE_UNDO;
}
/* Nothing executes it, as things are. */
static inline bool task_passive(const struct anneal *a, uint32_t t)
{
    enum task_rule rule = task_rule(a, t);
    if (rule == RULE_UNDO)
        return !(a->noderoles.at[a->tasks[t].noderole].mode & MODE_UNDO);
    return rule != RULE_RUN && rule != RULE_ONCE;
}
static inline uint32_t task_op(const struct anneal *a, uint32_t t)
{
    return a->noderoles.at[a->tasks[t].noderole].op;
}
static inline struct start_key start_key_of(const struct anneal *a, uint32_t t)
{
#ifdef ANNEAL_DEFECT_ORDER
    return (struct start_key){t % 2, t % 2, t}; /* the start order is forgotten */
#endif
    return (struct start_key){~a->tasks[t].weight, a->noderoles.at[a->tasks[t].noderole].cohort, t};
}

#endif
