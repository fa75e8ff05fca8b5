/* sim_i.h - one simulated world, shared by the files of this directory only
 *
 * Three parties that know each other only by messages: the world (nodes and what is true of them),
 * the workers (what runs, what they keep until it is acknowledged) and the server (engine, commit
 * step, store, leases). An agenda holds what will happen; the loop in sim_run.c takes the earliest.
 * Next to the engine runs a plain book of what has been durable, sent and started, against which
 * the checks compare.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIM_SIM_I_H
#define SIM_SIM_I_H

#include "annealer/annealer.h"
#include "base/alloc.h"
#include "base/digest.h"
#include "model/plan.h"
#include "model/taskmsg.h"
#include "server/commit.h"
#include "server/desire.h"
#include "server/hook_round.h"
#include "server/hook_store.h"
#include "server/lease.h"
#include "sim/rng_i.h"
#include "sim/sim.h"
#include "store/store.h"

/* ---- agenda ---- */
/* Whoever claims an attempt has it: who is who among workers is not what is tried here. */
enum { SIM_LEASE_WORKER = 1 };
enum agenda_kind {
    AGENDA_TASK,      /* TASK arrives at a worker */
    AGENDA_STOP,      /* CANCEL arrives at a worker */
    AGENDA_ACK,       /* ACK arrives at a worker */
    AGENDA_RUN_END,   /* a run ends on its node */
    AGENDA_BEAT,      /* a worker beats */
    AGENDA_BEAT_CAME, /* its beat arrives at the server */
    AGENDA_RESULT,    /* RESULT arrives at the server */
    AGENDA_WORKER_UP,
    AGENDA_CAPACITY, /* the server notices which workers there are */
    AGENDA_CLOSE,    /* the open group is closed */
    AGENDA_SLICE,    /* one transaction of the closed group is written */
    AGENDA_RELEASE,  /* its messages leave */
    AGENDA_SERVER_UP,
    AGENDA_LEASES, /* leases are looked at */
    AGENDA_PROBE,  /* a node is probed */
    AGENDA_NODE_UP,
    AGENDA_NODE_BACK, /* an operator makes a node available again */
    AGENDA_JIG_BACK,
    AGENDA_POOL_BACK,
    AGENDA_CHAOS,
    AGENDA_CARE, /* an operator looks after failures */
    AGENDA_PLAN, /* another plan is applied */
};
struct agenda_item {
    uint64_t at_ms, no; /* no: order of entry, so that ties are not left to the heap */
    uint64_t returns;
    uint32_t task, attempt, ask, again_ms;
    uint32_t who;  /* worker or node */
    uint32_t life; /* of the worker or server it belongs to; later lives ignore it */
    uint8_t kind, outcome, phase;
    bool last; /* nothing sent to run behind it has begun */
};
struct agenda {
    VEC(struct agenda_item) heap;
    uint64_t next_no;
};
void sim_agenda_push(struct agenda *g, struct agenda_item item);
struct agenda_item sim_agenda_pop(struct agenda *g); /* not empty */

/* ---- workers and the network ---- */
enum { SIM_WORKERS_MOST = 3, SIM_JIGS_MOST = 3, SIM_POOLS_MOST = 4, SIM_TENANTS_MOST = 2 };
enum work_state { WORK_AHEAD, WORK_RUNS, WORK_ENDED };
struct sim_work { /* an attempt at one ask, held by a worker */
    uint32_t task, attempt, ask, again_ms;
    uint32_t node_life;              /* of its node when it started */
    uint32_t behind, behind_attempt; /* AHEAD: what it begins behind */
    uint64_t returns;
    uint8_t state, outcome, phase;
    bool deaf, stopped, last;
};
struct sim_worker {
    bool up;
    uint32_t life, capacity;
    uint32_t jigs; /* bits by id */
    VEC(struct sim_work) work;
};
struct sim_node {     /* what is true, whatever the server believes */
    bool up, watched; /* watched: a fast probe follows it */
    uint32_t life;    /* raised when what runs on it ends with it */
    uint64_t machine, boot;
};
struct sim_def {
    uint32_t jig;
    uint8_t repeat, hold, flags;
    uint64_t timeout_ms;
};
struct sim_task { /* the book: what the outside world saw of a task */
    uint32_t def, node;
    uint32_t durable_attempt, durable_ask; /* highest whose row is stored */
    uint32_t run_attempt, run_ask;         /* highest that a node's runner ever started */
    uint32_t fence;                        /* attempts up to this one do not start any more */
    uint32_t next, next_attempt, next_of;  /* what was sent to run behind its attempt next_of */
    bool running;                          /* a process of it exists on the node */
    bool once_open;      /* `once`: started, and the server does not know the outcome */
    uint64_t once_group; /* where it learned the outcome; not true before that is durable */
    uint64_t turn_mark;  /* starts, when it last lacked more than its turn */
};

/* ---- desired state: entries of all snapshots in one list, as plainly as can be ---- */
enum {
    SIM_DEPLOYMENT_FIRST = 2, /* those that are proposed and committed; 1 is everybody else's */
    SIM_DEPLOYMENT_LAST = 3,
    SIM_ROLES = 4,       /* of a deployment, on nodes; each may need those before it */
    SIM_ROLES_DATA = 20, /* of which there may be data of the deployment */
    SIM_ROLE_NODES = 6,  /* nodes that they may be on */
    WANT_PARENTS_MOST = 3,
};
#define WANT_DRAFT UINT32_MAX /* instead of a snapshot: a map that nobody has yet */
struct want {
    uint32_t snapshot;                   /* id, or WANT_DRAFT */
    uint32_t place;                      /* sim_place() */
    uint32_t user;                       /* its data, as a number; 0: none */
    uint32_t parents[WANT_PARENTS_MOST]; /* places, ascending */
    uint8_t n_parents, flags;
    bool base; /* of the map that it was proposed from */
};
struct want_snapshot {
    uint32_t deployment, number, source, operation, catalog, oldest;
    uint8_t state;
};
struct wants {
    VEC(struct want) entries;
    VEC(struct want_snapshot) snapshots; /* by id */
    uint64_t version;                    /* raised by every change */
};
struct sim_seat { /* whose noderole it is; deployment 0: nobody asked for it by name */
    uint32_t deployment, place;
};
struct sim_desire {
    struct wants now, closed, durable; /* with the group that is open, closed, stored */
    uint64_t closed_group;
    uint64_t rows, tries; /* told by desired state; of nodes of maps */
};
struct sim_draft { /* a map that nobody has yet, and its plain copy, WANT_DRAFT */
    struct pmap *map;
    uint32_t deployment;
};
/* A role's number inside its deployment, and a node; 0: the data of the deployment's role. */
static inline uint32_t sim_place(uint32_t role, uint32_t node)
{
    return role << 16 | node;
}
static inline uint32_t sim_place_role(uint32_t place)
{
    return place >> 16;
}
static inline uint32_t sim_place_node(uint32_t place)
{
    return place & UINT16_MAX;
}

enum {
    SIM_PEER = 1,      /* others came to need it */
    SIM_CROSSED = 2,   /* it waits for tasks of others */
    SIM_HALF_DONE = 4, /* something of it failed that is to be undone before it is tried again */
    SIM_SERVES = 8,    /* it was in service at the end of the last step */
    SIM_BEGUN = 16,    /* a task of its run had started then */
};

enum { SIM_SEEN_MOST = 24 };
struct sim_seen {
    uint32_t ids[SIM_SEEN_MOST], n;
};
struct sim_sees { /* the parents that a noderole knows of (sim_leave.c) */
    struct sim_seen run, serves;
    uint32_t run_generation; /* of the run that began, 0: none has */
    uint32_t served;         /* the generation that `serves` is of, at least */
    uint32_t generation;     /* at the end of the last step */
    bool freed;              /* a person said that it may go whoever sees it */
};

/* ---- the server ---- */
enum { SIM_IMAGES_KEPT = 8 };
struct sim_image { /* memory as it was when a group was closed */
    uint64_t group;
    struct buf rows;
};
struct sim_ack {
    uint64_t group; /* not before this is durable */
    uint32_t worker, task, attempt, ask;
};
struct sim_dispatches { /* a VEC that can be handed on */
    struct dispatch *at;
    size_t n, cap;
};
enum sim_fate { FATE_NONE, FATE_VERIFY, FATE_CRASH, FATE_REFUSE, FATE_UNKNOWN };
struct sim_server {
    bool up, closing, close_wanted;
    uint32_t life;
    uint64_t skew_ms; /* the world's time minus the engine's: time away does not count */
    struct store *store;
    struct anneal *engine;
    struct commit *commit;
    struct lease *lease;
    struct hook_rounds rounds;
    struct hook_stores *stores;
    struct desire *desire;
    struct group *group; /* closed, being written */
    size_t slice;        /* next of its transactions */
    uint64_t durable;    /* last group that is */
    uint32_t close_at;   /* events that close a group */
    uint32_t reported;   /* workers, as bits, that said what they hold since it started */
    VEC(struct sim_ack) acks;
    struct sim_dispatches sends_open, stops_open, sends_closed,
        stops_closed; /* as the engine asked */
    /* What will happen to it, decided when a group closes so that its image is known. */
    enum sim_fate fate;
    uint64_t fate_group;
    uint32_t fate_steps;
    bool fate_armed;
    struct sim_image images[SIM_IMAGES_KEPT];
    struct buf checkpoint, checkpoint_next;
    uint64_t checkpoint_seq, checkpoint_next_seq, checkpoint_next_group;
};

struct sim_corrected { /* in ERROR, as it was before an event that changes it */
    uint32_t noderole, generation;
    bool waits; /* for a person's own word */
};

enum sim_phase { PHASE_CHAOS, PHASE_HEAL };
enum { SIM_TRACE_KEPT = 32 };
struct sim_step {
    uint64_t no, at_ms;
    struct event ev;  /* its lists are not followed */
    const char *what; /* a step of the server that is no event; NULL: an event */
    uint64_t number;
    int result;
};

struct sim {
    struct sim_options opt;
    struct engine_settings settings; /* that the server is started with */
    struct rng world, net, work, chaos, serve, wish, start;
    uint32_t slice_rows;
    uint64_t now_ms;
    enum sim_phase phase;
    struct agenda agenda;
    struct sim_server server;
    struct sim_worker workers[SIM_WORKERS_MOST];
    uint32_t n_workers, n_jigs, n_tenants, n_nodes;
    uint32_t want_noderoles;
    uint32_t pool_sizes[SIM_POOLS_MOST + 1]; /* when healthy */
    uint32_t n_pools;
    VEC(struct sim_node) nodes;          /* by id */
    VEC(struct sim_def) defs;            /* by id */
    VEC(struct sim_task) tasks;          /* by id */
    VEC(uint8_t) marks;                  /* by noderole: SIM_PEER, SIM_CROSSED */
    VEC(struct sim_seat) seats;          /* by noderole */
    VEC(struct sim_corrected) corrected; /* by the event that is applied */
    VEC(struct sim_sees) sees;           /* by noderole */
    struct sim_desire desire;
    struct sim_step trace[SIM_TRACE_KEPT];
    struct sim_report *report;
    struct buf scratch;
    uint32_t strike_weights;
};

/* Says that the run has failed; the first one counts. */
void sim_fail(struct sim *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static inline bool sim_has(const struct sim *s, enum sim_fault f)
{
    return s->phase == PHASE_CHAOS && (s->opt.faults >> f & 1);
}
static inline void sim_after(struct sim *s, uint64_t delay_ms, struct agenda_item item)
{
    item.at_ms = s->now_ms + delay_ms;
    sim_agenda_push(&s->agenda, item);
}

/* sim_trace.c */
void sim_trace_event(struct sim *s, const struct event *ev, int result);
void sim_trace_step(struct sim *s, const char *what, uint64_t number);
void sim_trace_write(const struct sim *s, struct buf *b);

/* sim_world.c */
void sim_world_make(struct sim *s);
void sim_world_free(struct sim *s);
void sim_world_capacity(struct sim *s); /* tells the engine which workers there are */
void sim_world_node_down(struct sim *s, uint32_t node, uint64_t for_ms, bool reboot, bool replace);
void sim_world_node_up(struct sim *s, uint32_t node);
void sim_world_probe(struct sim *s, uint32_t node, bool slow);

/* sim_plan.c */
bool sim_plan_apply(struct sim *s,
                    uint32_t noderoles); /* false: the server was in no state for it */
/* A rebased plan as an event, with what it brings in the book; a refusal leaves neither. */
int sim_plan_feed(struct sim *s, const struct plan *p, uint32_t op, uint32_t instead_of);
static inline bool sim_plan_seated(const struct sim *s, uint32_t noderole)
{
    return noderole < s->seats.n && s->seats.at[noderole].deployment > 0;
}
uint32_t sim_plan_others(const struct sim *s); /* noderoles ever made without a seat */

/* sim_change.c */
void sim_change_strike(struct sim *s);
void sim_change_remove(struct sim *s);
void sim_change_restore(struct sim *s);
void sim_change_start(struct sim *s); /* what is stopped and stands in the way of others */
void sim_change_abandon(struct sim *s);
/* At least so many tasks, one after the other, of definitions that are known; how many. */
void sim_check_restored(struct sim *s); /* what the steps before had told may never have been */
uint8_t sim_rule_draw(struct rng *r);   /* of a passive task */
uint32_t sim_change_tasks(struct sim *s, struct rng *r, struct plan *p, uint32_t noderole,
                          uint32_t least);

/* sim_wants.c: the plain copy of desired state */
struct want *sim_wants_find(const struct wants *w, uint32_t snapshot, bool base, uint32_t place);
void sim_wants_put(struct wants *w, const struct want *t); /* in the snapshot that it names */
void sim_wants_remove(struct wants *w, uint32_t snapshot, bool base, uint32_t place);
void sim_wants_clear(struct wants *w, uint32_t snapshot, bool base);
/* Besides what is there; what comes is a copy. */
void sim_wants_clone(struct wants *w, uint32_t from, uint32_t to, bool to_base);
uint32_t sim_wants_in_state(const struct wants *w, uint32_t deployment, enum snapshot_state state);
/* Into the draft: what a proposal and the head come to together; how many conflicts. */
uint32_t sim_wants_merge(struct wants *w, uint32_t proposal, uint32_t head);
void sim_wants_copy(struct wants *to, const struct wants *from);
void sim_wants_done(struct wants *w);
void sim_wants_role_name(char *b, size_t n, uint32_t deployment, uint32_t role);
struct sim_seat sim_wants_seat(struct str role, uint32_t node); /* of a role so named */
/* Is this what desired state holds?  Every snapshot, its map and its base. */
void sim_wants_compare(struct sim *s, const struct wants *w, const struct desire *d,
                       const char *when);

/* sim_draft.c */
struct sim_draft sim_draft_open(struct sim *s, uint32_t deployment, uint32_t snapshot);
/* A few changes that hang together; parents that an entry names are there afterwards, too. */
void sim_draft_change(struct sim *s, struct sim_draft *d);
void sim_draft_drop(struct sim *s, struct sim_draft *d);
/* What desired state calls it; the entry's lists are in mem. */
uint64_t sim_draft_key(struct sim *s, uint32_t deployment, uint32_t place);
struct snapshot_entry sim_draft_entry(struct sim *s, uint32_t deployment, const struct want *t,
                                      struct arena *mem);

/* sim_revise.c */
/* Who answers to a place, stays and goes; 0: nobody. */
uint32_t sim_revise_live(const struct sim *s, uint32_t deployment, uint32_t place,
                         uint32_t *ret_going);
/* What brings those who live from the head to another map, rebased; ERR_REFUSED. */
int sim_revise_plan(struct sim *s, uint32_t deployment, const struct pmap *now,
                    const struct snapshot_changes *diff, struct plan **ret_p, struct err *e);

/* sim_desire.c */
void sim_desire_boot(struct sim *s);
void sim_desire_free(struct sim *s);
void sim_desire_closed(struct sim *s, uint64_t group);
void sim_desire_durable(struct sim *s);
void sim_desire_load(struct sim *s, uint64_t group); /* after a restart, from what is stored */
/* Reads another one back and compares: all of that group, and nothing more. */
void sim_desire_verify(struct sim *s, struct store *store, uint64_t group);
void sim_desire_check(struct sim *s, const char *when); /* who lives is who is wanted */
/* Something was refused: what is wanted is as it was, and no row was told since then. */
void sim_desire_unchanged(struct sim *s, uint64_t rows, const char *what);

/* Something was changed, in memory and in the copy: noted, compared, and a moment to die in. */
void sim_desire_changed(struct sim *s, uint32_t deployment, const char *what);
uint32_t sim_desire_head(const struct sim *s, uint32_t deployment); /* by the copy; 0: none */
uint32_t sim_desire_proposal(const struct sim *s, uint32_t deployment);

/* sim_propose.c */
void sim_propose_begin(struct sim *s);
void sim_propose_edit(struct sim *s);
void sim_propose_commit(struct sim *s);
void sim_propose_recall(struct sim *s);
void sim_propose_rollback(struct sim *s);
void sim_propose_amend(struct sim *s);
void sim_propose_nonsense(struct sim *s);

/* sim_worker.c */
void sim_net_send(struct sim *s, struct agenda_item item);
void sim_worker_task(struct sim *s, const struct agenda_item *m);
void sim_worker_stop(struct sim *s, const struct agenda_item *m);
void sim_worker_ack(struct sim *s, const struct agenda_item *m);
void sim_worker_run_end(struct sim *s, const struct agenda_item *m);
void sim_worker_beat(struct sim *s, const struct agenda_item *m);
void sim_worker_crash(struct sim *s, uint32_t worker, uint64_t down_ms);
void sim_worker_up(struct sim *s, uint32_t worker);
uint32_t sim_worker_choose(struct sim *s, uint32_t task);

/* sim_server.c: events in */
static inline uint64_t sim_engine_ms(const struct sim *s)
{
    return s->now_ms - s->server.skew_ms;
}
/* Up, and not in the middle of writing a large loss. */
bool sim_server_ready(const struct sim *s);
/* Applies an event and checks everything.  The server may be down when it returns. */
int sim_server_feed(struct sim *s, struct event *ev, const struct commit_note *note);
void sim_server_result(struct sim *s, const struct agenda_item *m);
void sim_server_beat(struct sim *s, const struct agenda_item *m);
void sim_server_leases(struct sim *s);

/* An event that belongs to the step under way: as above, without dying in between. */
int sim_server_apply(struct sim *s, struct event *ev, const struct commit_note *note);

/* sim_hooks.c */
void sim_hooks_boot(struct sim *s);
void sim_hooks_load(struct sim *s); /* from what is stored */
void sim_hooks_drop(struct sim_server *v);
void sim_hooks_collect(struct sim *s, const struct event *ev, const struct effects *fx);
void sim_hooks_settle(struct sim *s);
void sim_hooks_check(struct sim *s, const char *when);

/* sim_commit.c: groups out, death and return */
void sim_server_boot(struct sim *s);
void sim_server_free(struct sim *s);
void sim_server_micro_step(struct sim *s); /* one of the points between which it may die */
void sim_server_close_soon(struct sim *s);
void sim_server_close(struct sim *s);
void sim_server_slice(struct sim *s);
void sim_server_release(struct sim *s);
void sim_server_crash(struct sim *s);
void sim_server_start(struct sim *s);
void sim_server_settings(
    struct sim *s); /* tells the engine what it is started with, if that is news */
/* Restores and replays what is stored and compares with memory, which must be durable. */
void sim_server_verify(struct sim *s);
void sim_server_image(struct sim *s,
                      uint64_t group); /* memory as it is now belongs to this group */

/* sim_diff.c */
/* Are two saved engines the same, time apart?  Finding that out costs less than their digests. */
bool sim_diff_none(struct str was, struct str is);
/* The first differences, in words. */
void sim_diff_write(struct buf *b, struct str was, struct str is);

/* sim_check.c */
void sim_check_step(struct sim *s, const struct event *ev, const struct effects *fx);
void sim_check_end(struct sim *s);

/* sim_correct.c */
void sim_correct_look(struct sim *s, const struct event *ev); /* before it is applied */
void sim_correct_check(struct sim *s, const struct effects *fx);

/* sim_quorum.c */
/* A quorum of some of these refs, or none of it. */
const struct plan_quorum *sim_quorum_draw(struct rng *r, struct arena *mem, const uint32_t *parents,
                                          uint32_t n, uint32_t *ret_n);
void sim_quorum_applied(struct sim *s, const struct plan *p); /* it says what the plan says */
void sim_quorum_check(struct sim *s);
/* Is the parent in a quorum of which enough are in service? */
bool sim_quorum_serves(const struct sim *s, uint32_t child, uint32_t parent);
/* Is it in a quorum, and are enough of that complete, the rest complete or out? */
bool sim_quorum_opens(const struct sim *s, uint32_t child, uint32_t parent, bool *ret_opens);
/* sim_rollout.c */
/* Both are members of one roll-out: it may start when that has failed. */
bool sim_rollout_orders(const struct sim *s, uint32_t task, uint32_t before);
/* How many of a group have a task that failed, or waits for one that did, counted from nothing; in
 * an operation only those whose failure counts there, 0: in any. */
uint32_t sim_rollout_failing(const struct anneal *a, uint32_t group, uint32_t op);
/* Of a roll-out: do joins that tolerate go on in spite of it? */
bool sim_rollout_forgives(const struct anneal *a, const struct noderole_view *nr);
bool sim_rollout_within(const struct sim *s, uint32_t noderole); /* its failure may be */
void sim_rollout_started(struct sim *s, uint32_t noderole);
void sim_leave_look(struct sim *s, const struct event *ev); /* a person's word; before the step */
void sim_leave_step(struct sim *s, const struct event *ev, const struct effects *fx);
void sim_leave_restored(struct sim *s);
void sim_rollout_note(struct sim *s, uint32_t noderole); /* after each step that changed it */

/* sim_chaos.c */
void sim_chaos_strike(struct sim *s);
void sim_chaos_care(struct sim *s,
                    bool all); /* retries, resumes and resolves: some, or all there is */
void sim_chaos_heal(struct sim *s);

#endif
