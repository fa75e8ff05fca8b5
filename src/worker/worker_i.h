/* worker_i.h - a worker's parts: messages in, runs, their output, results kept
 *
 *   worker.c         life, beats, stopping
 *   worker_inbox.c   what each message means for what is held
 *   worker_run.c     one run: start, deadline, end
 *   worker_chain.c   runs that begin behind another one, unasked
 *   worker_step.c    what a run starts one after the other: a test, the task, a test
 *   worker_log.c     its output, gathered into LOG messages
 *   worker_memory.c  tasks known, results not yet acknowledged
 *   worker_node.c    nodes that are reached by ssh: which one a name means, what they may forget
 *   worker_way.c     how they are reached
 *   worker_travel.c  runs that are on such a node, one or several as a chain
 *   worker_park.c    runs that go on on a node which cannot be reached
 *   worker_probe.c   are nodes there, and which machine in which boot
 *   worker_words.c   what a queue must know of messages that it keeps
 *   worker_blob.c    contents of resources: fetched in parts, kept while there is room
 *   worker_unpack.c  archives among them
 *   worker_document.c documents that messages name: asked for once, kept while there is room
 *
 * Everything happens on one loop thread.  Nothing is freed while a jig may be on the stack: ended
 * runs wait in `graves` for the before-wait hook, which also starts what is queued and flushes the
 * queue, so that a burst costs one wake-up of the server.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WORKER_WORKER_I_H
#define WORKER_WORKER_I_H

#include "base/alloc.h"
#include "base/arena.h"
#include "base/map.h"
#include "jig/jig.h"
#include "reach/reach.h"
#include "ssh/ssh.h"
#include "worker/worker.h"

enum {
    REMEMBERED_MAX = 100000, /* tasks known beyond those held */
    LOG_CHUNK_BYTES = 8192,
    LOG_DELAY_MS = 100,
    RESEND_BEATS = 3,
    SPARE_ARENAS = 64,
    TAIL_BYTES = 3,        /* of a character that the next output may complete */
    DATA_MAX_DEPTH = 256,  /* peers lie three maps deep */
    BLOB_AGAIN_MS = 30000, /* a resource is not there: people have to see to it */
};

struct link { /* member of a circular list; the head is one too */
    struct link *prev, *next;
};
static inline void link_init(struct link *l)
{
    l->prev = l->next = l;
}
static inline void link_append(struct link *head, struct link *l)
{
    l->prev = head->prev;
    l->next = head;
    head->prev->next = l;
    head->prev = l;
}
static inline void link_remove(struct link *l)
{
    l->prev->next = l->next;
    l->next->prev = l->prev;
    link_init(l);
}
static inline bool link_empty(const struct link *head)
{
    return head->next == head;
}
#define LINK_OF(l, type, member) ((type *)(void *)((char *)(l)-offsetof(type, member)))

/* What is known of one task.  Idle ones, with nothing held, are the memory that is bounded. */
struct known {
    uint32_t task;
    uint32_t attempt, ask; /* the latest run accepted or answered */
    bool any;              /* false: none yet */
    bool again;            /* the latest was answered "not yet" */
    struct link runs;      /* held, oldest first */
    struct link answers;   /* given, not acknowledged */
    struct link idle;
};

struct answer {
    struct link of_task, unacked;
    struct known *known;
    uint32_t attempt, ask;
    uint64_t seq, sent_ms;
    struct travel *travel; /* whose node keeps the result as well; NULL: none */
    size_t n;
    char bytes[]; /* the RESULT message */
};

/* A document that messages name by its digest.  While it has users it stays; after that it is kept
 * on the list of those that are idle. */
struct document {
    struct worker *w;
    char digest[DIGEST_HEX];
    uint32_t users; /* runs held */
    struct link idle, asked;
    uint64_t asked_ms;
    struct arena mem;
    const struct value *v; /* NULL: not here yet */
    struct str text;       /* as it came */
    size_t bytes;
};
enum { RUN_DOCUMENTS = 2 }; /* under, over */
struct blob;                /* worker_blob_i.h */

/* AHEAD, GATHERING, BEHIND, QUEUED or FETCHING -> RUNNING -> ENDED; unstarted ones may end too. */
enum run_life {
    LIFE_AHEAD,     /* another task is to succeed first */
    LIFE_GATHERING, /* those that begin behind it are on their way */
    LIFE_QUEUED,
    LIFE_BEHIND,   /* an earlier run of the same task has not ended */
    LIFE_FETCHING, /* a document is on its way */
    LIFE_RUNNING,
    LIFE_ENDED,
};
struct output_stream {
    struct buf text;
    size_t seen_bytes; /* against the cap */
};
/* A test of a task, run by the jig shell before or after it. */
struct run_test {
    struct task_request req; /* params NULL: there is no such test */
    struct str cmd;
    uint64_t timeout_ms;  /* 0: that of the attempt */
    uint64_t interval_ms; /* between two tries; 0: none */
    uint32_t tries, tried;
};
struct run { /* one (attempt, ask) held */
    struct worker *w;
    struct known *known;
    struct link of_task, of_worker; /* of_worker: all held, later the graves */
    struct link queued;             /* in w->queue while QUEUED */
    struct link dirty;              /* in w->dirty while output waits to be sent */
    struct run *before, *after;     /* of a chain; before: NULL once it has begun */
    struct travel *travel;          /* it was sent to its node, there; NULL: it was not */
    struct travel *answered_from;   /* that the answer comes from; NULL: from here */
    unsigned travel_at;             /* its step in that */
    struct jig_line line;           /* of what it wrote there */
    char given[DIGEST_HEX];     /* reach_step_digest() of what it was given there; "": nothing, or
                                 * nobody can say */
    bool took;                  /* and it has run with that to its end */
    struct link parked;         /* in w->parked while its node cannot be reached */
    const struct jig *away_jig; /* what it is to do there, */
    const struct task_request *away_req;
    uint64_t away_ms;  /* since when it may have begun there; 0: it has not */
    uint64_t retry_ms; /* when its node is tried again, for the so manieth time */
    uint32_t retries;
    bool noted;       /* the server was told what it waits for */
    char *new_access; /* of its message, if that has changed since; NULL: it has not */
    bool prepared;    /* its texts were read and found good */
    enum run_life life;
    bool cancelled; /* by the server or by a later run, not by our own stopping */
    bool timed_out, truncated;
    struct document *documents[RUN_DOCUMENTS]; /* NULL: none */
    struct blob **blobs;                       /* contents of its resources */
    uint32_t n_blobs;
    const struct jig *jig;
    struct jig_env env;
    struct task_request req;
    struct arena *mem; /* of req's values; NULL before the start */
    struct loop_timer *deadline;
    uint64_t started_ms;
    struct run_test pre, post;
    enum phase phase;           /* of the step that runs, or comes next */
    const struct jig *step_jig; /* of the step that runs or ran last, with its jig's state */
    struct jig_run *step_run;
    bool step_on;                  /* started, and not finished */
    uint32_t steps;                /* started so far */
    struct link turning;           /* in w->turning between two steps */
    struct loop_timer *test_timer; /* of the try that runs, or until the next one */
    bool test_late;                /* it was told to end by that */
    uint64_t rest_ms;              /* before the next step; 0: it comes at once */
    bool resting;                  /* nothing of it is started until that is over */
    bool cut;                      /* somebody ended it: nothing further is started */
    struct jig_result done;        /* of the task, while its test runs; without what it returned, */
    struct buf returns, gone;      /* which is here until it is known whether it counts */
    struct output_stream out[2];   /* stdout, stderr */
    struct taskmsg msg;
    char bytes[]; /* of msg's strings */
};

struct worker {
    struct loop *loop;
    struct queue *mail;
    char *name, *run_dir, *runner;
    struct jig_plugins *plugins; /* NULL: none */
    uint64_t plugins_told;       /* digest of what HELLO said of them */
    int lock_fd;
    uint32_t capacity;
    size_t max_output_bytes;
    uint64_t beat_ms;
    struct loop_timer *beat, *log_timer;
    struct u64map tasks; /* task -> struct known */
    struct link idle;    /* longest idle first */
    struct link held, queue, turning, dirty, graves, unacked;
    struct worker_nodes *nodes; /* NULL: none was needed yet */
    struct link travels;        /* that are not over, or not acknowledged */
    struct link parked;         /* runs whose node cannot be reached */
    struct loop_timer *retry;   /* of those */
    struct link probes;         /* of nodes, under way */
    struct arena probed_mem;    /* of what is told of them before the loop waits */
    VEC(struct probe_answer) probed;
    uint64_t heard_ms, lease_ms; /* of the server, and after how long it gives us up; 0: never */
    uint64_t patience_ms;        /* and after how long it gives us nothing more; 0: not said */
    struct strmap documents;     /* digest -> struct document */
    struct link documents_idle;  /* longest idle first */
    struct link documents_asked; /* not here yet, longest asked for first */
    size_t documents_bytes, documents_max_bytes; /* of the idle ones */
    struct strmap blobs;                         /* name of its file -> struct blob */
    struct link blobs_idle, blobs_asked;         /* as for documents */
    uint64_t blobs_bytes, blobs_max_bytes;
    struct worker_counts n;
    uint64_t next_seq;
    struct arena scratch; /* of the message being read */
    struct buf out;       /* of the message being written */
    VEC(struct arena *) spare;
    char *labels; /* JSON; NULL: none */
    bool attached, stopping, draining;
    bool unflushed; /* something was sent since the last flush */
    loop_call_f *stopped;
    void *stopped_arg;
};

/* worker_memory.c */
struct known *known_get(struct worker *w, uint32_t task); /* made if absent; not idle */
/* To be called when something of k may have ended: files it under idle if nothing is held. */
void known_settle(struct worker *w, struct known *k);
struct answer *answer_find(const struct known *k, uint32_t attempt, const uint32_t *ask);
/* Sends a RESULT and keeps it; kind, seq and task are filled in here. */
void answer_give(struct worker *w, struct known *k, struct taskmsg *result, struct travel *from);
void answer_resend(struct worker *w, struct answer *a);
void answers_resend_older(struct worker *w, uint64_t sent_before_ms);
void answers_acknowledge(struct worker *w, uint64_t seq);
/* Forgets an answer; the caller settles its task. */
void answer_drop(struct worker *w, struct answer *a);
void memory_done(struct worker *w);

/* worker_run.c */
struct run *run_new(struct worker *w, struct known *k, const struct taskmsg *m);
void run_cancel(struct run *r, uint64_t grace_ms);
/* Ends a run that was not started, with this outcome. */
void run_drop(struct run *r, enum outcome outcome, const char *text);
/* Goes on with runs that are between two steps, starts what is queued while there is room.  Not
 * from within a jig's finish. */
void runs_pump(struct worker *w);
/* Ends a run that was started.  What the task returned is in r->returns and r->gone. */
void run_end(struct run *r, const struct jig_result *res);
/* That its jig, or something before it, did not come to a result by itself. */
void run_end_error(struct run *r, enum outcome outcome, const struct err *e);
void runs_bury(struct worker *w);
void run_free(struct run *r);

/* It may start when there is room; ahead of others, if it goes on with what another one began. */
void run_enqueue(struct run *r, bool first);
/* Takes it out of everything it is held in, unanswered. */
void run_leave(struct run *r);

/* Reads its texts, once; to be called before it is started. */
int run_prepare(struct run *r, struct err *e);
bool run_has_documents(const struct run *r);

/* worker_node.c */
struct node {
    struct worker *w;
    struct reach_link link;
    char *name, *access; /* as it came with the last task or probe */
    uint32_t id;         /* the server's: another node may have had the name; 0: not told */
    uint64_t access_rev; /* of it: an older one is not taken, it may lack keys that are pinned */
    uint64_t life;       /* ours, for the pool: no two nodes have one in common */
    struct link listed;  /* among those that are known, longest unused first; or gone */
    uint64_t used_ms;
    uint32_t users;   /* travels and probes */
    bool gone;        /* another one has its name, or nobody asked for it for long */
    struct arena mem; /* of the target's texts */
    struct ssh_target target;
    struct reach_options options;
    VEC(struct reach_name) done; /* chains whose results are acknowledged */
    struct reach_ask *ask;       /* that tells it so; NULL: none under way */
};
/* The node of a message, by the newest access that was told.  ERR_NOT_FOUND: another node has its
 * name by now.  It may be gone when the loop has waited, unless it is used. */
struct node *node_get(struct worker *w, const struct taskmsg *m, struct err *e);
bool node_is_past(const struct worker *w, const struct taskmsg *m); /* is that so? */
struct node *node_use(struct node *n);
void node_unuse(struct node *n);
void node_forget_later(struct node *n, const char *chain); /* it need not keep this any more */
void nodes_tire(struct worker *w); /* who was not asked for in long is forgotten */
void nodes_bury(struct worker *w); /* before the loop waits */
int nodes_start(struct worker *w, const struct worker_options *o, struct err *e);
void nodes_done(struct worker *w);

/* worker_way.c */
/* Where a task runs on this worker: by its access, else as the worker was told. */
bool node_is_remote(const struct worker *w, const struct taskmsg *m, const struct value *access);
bool node_is_elsewhere(const struct run *r); /* that of a run that is prepared */
/* For struct jig_env: the way of a program here to the node of its run, and keys that it saw. */
int node_route(void *run, const char *known_path, struct arena *mem, struct jig_route *ret_r,
               struct err *e);
void node_learned(void *run, struct str known);
/* Is it there?  By its access as it is now. */
int nodes_probe(struct node *n, uint64_t timeout_ms, ssh_probe_f *fn, void *arg,
                struct ssh_probe **ret_probe, struct err *e);

/* worker_travel.c */
bool travel_wanted(const struct run *r, const struct jig *jig);
/* A step of a run goes to its node, with the runs behind it as far as they can go along; or it is
 * there already. */
int travel_begin(struct run *r, const struct jig *jig, const struct task_request *req,
                 struct err *e);
void travel_stop(struct run *r, uint64_t grace_ms);
/* Is it on its node, as far as anybody knows? */
bool travel_is_away(const struct run *r);
/* It goes on there without us: another worker has it, or will.  No answer is given. */
void travel_release(struct run *r);
void travel_leave(struct run *r);           /* nobody waits for it any more */
void travel_awaits(struct travel *t);       /* one of its results was sent */
void travel_acknowledged(struct travel *t); /* ... and is durable */
void travels_done(struct worker *w);

/* worker_park.c */
/* Its node cannot be reached, and it may have begun there: it is tried again, for as long as it
 * takes.  What for, the server is told. */
void run_park(struct run *r, const char *why, uint64_t least_ms);
bool run_is_parked(const struct run *r);
void run_unpark(struct run *r); /* wherever it is now, it is not waited for any more */
void run_hurry(struct run *r);  /* to be tried at once */
/* It was sent again, and is held: its node may be reached in another way now. */
void run_sent_again(struct run *r, const struct taskmsg *m);
void run_reached(struct run *r);
void parked_due(void *worker);

/* worker_probe.c */
void probe_come(struct worker *w, const struct taskmsg *m);
/* An attempt did not reach it: whoever watches it may want to look. */
void probe_missed(const struct node *n, const char *text);
void probes_flush(struct worker *w); /* tells the server what was found out */
void probes_done(struct worker *w);  /* before the nodes */

/* worker_chain.c */
/* It is to begin behind the newest run of that task.  False: that is not here. */
bool chain_join(struct run *r);
/* Is all here that was sent to begin behind it? */
bool chain_complete(const struct run *r);
void chain_gathered(struct run *r); /* r has joined: it may have been the last one missing */
/* About to be answered with this: does the one behind it begin? */
bool chain_goes_on(const struct run *r, const struct taskmsg *result);
/* It was answered: the one behind it begins, or all behind it are forgotten. */
void chain_ended(struct run *r, bool goes_on);
void chain_forget(struct run *r); /* it and all behind it are held no longer, unanswered */

/* A document has come, or never will: who waited for it is queued, or answered "not yet". */
void runs_document_came(struct worker *w, struct document *d);
void runs_document_missing(struct worker *w, struct document *d);
void runs_blob_came(struct worker *w, struct blob *b);
void runs_blob_failed(struct worker *w, struct blob *b, enum outcome outcome, const char *text);

/* worker_step.c */
/* What the message says of tests, into r->pre and r->post; r->req is complete, texts go to r->mem.
 */
int run_tests_read(struct run *r, struct err *e);
void run_steps_begin(struct run *r); /* the first one; may end the run */
void run_step_next(struct run *r);   /* it was in w->turning; may end the run */
void run_step_finished(void *run, const struct jig_result *res); /* for struct jig_env */
/* By whoever ends it; not for a try that is late. */
void run_step_cancel(struct run *r, uint64_t grace_ms);
void run_steps_done(struct run *r);

/* worker_document.c */
/* For a run of this task; asked for if it is not here. */
struct document *document_use(struct worker *w, struct str digest, const struct taskmsg *by);
void document_unuse(struct document *d); /* NULL is as good as any */
void document_come(struct worker *w, const struct taskmsg *m);
/* What was asked for before that is asked for again. */
void documents_ask_again(struct worker *w, uint64_t asked_before_ms);
void documents_done(struct worker *w);

/* worker_blob.c */
struct resource_named;
/* For a run of this task; asked for if it is not here. */
struct blob *blob_use(struct worker *w, const struct resource_named *r, const struct taskmsg *by);
void blob_unuse(struct blob *b); /* NULL is as good as any */
void blob_come(struct worker *w, const struct taskmsg *m);
void blobs_ask_again(struct worker *w, uint64_t asked_before_ms);
void blobs_done(struct worker *w);

/* worker_log.c */
void run_log(void *run, int stream, const char *p, size_t n);
void run_log_flush(struct run *r, bool all); /* all: nothing more will come */
void worker_log_flush(void *worker);

/* worker_inbox.c */
void worker_deliver(void *worker, const struct str *messages, size_t n);

/* worker.c */
uint64_t worker_beat_after_ms(const struct worker *w); /* until the next beat */
void worker_hello(struct worker *w);                   /* and every unacknowledged result again */
void worker_send(struct worker *w, const struct taskmsg *m);

#endif
