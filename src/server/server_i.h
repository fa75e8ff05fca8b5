/* server_i.h - the server's state, shared by the files of this directory only
 *
 * One loop thread owns all of it.  The engine knows ids and states; the inventory beside it knows
 * names, labels, data and who asked.  Both change only through server_apply() and the inventory_*
 * functions, which note every row in the commit step's open group: memory and store cannot drift
 * apart.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SERVER_SERVER_I_H
#define SERVER_SERVER_I_H

#include "annealer/annealer.h"
#include "base/alloc.h"
#include "base/map.h"
#include "catalog/catalog.h"
#include "model/selector.h"
#include "planner/planner.h"
#include "server/backup.h"
#include "server/commit.h"
#include "server/data.h"
#include "server/desire.h"
#include "server/hooks.h"
#include "server/lease.h"
#include "server/overlays.h"
#include "server/server.h"
#include "server/workers.h"
#include "store/store.h"
#include "sys/pool.h"

enum { DEPLOYMENT_SYSTEM = 1 }; /* above all others */

/* ---- inventory: by id, 0 is nobody ---- */

struct inv_node {
    char *name;
    char *body; /* JSON map, see node_body.c */
    uint32_t deployment, rev;
    uint32_t leaving; /* operation that takes down what is on it; 0: it stays */
    bool gone;
};
struct inv_deployment {
    char *name, *body; /* JSON map: description */
    uint32_t parent, rev;
    uint64_t created_ms;
    bool gone;
};
struct inv_noderole {
    uint32_t role; /* index into inventory.role_names */
    uint32_t node;
    bool gone; /* it was removed; tasks of it are still told by its role's name */
    uint32_t deployment, rev;
    uint32_t lens;              /* index into inventory.lenses */
    char *user, *system, *wall; /* JSON maps, NULL: empty; changed through data.h */
};
struct inv_lens { /* model/lens.h; by id in `lens_by_id` */
    uint64_t id;
    char *text;
};
struct inv_def {
    char *name;
    char *type, *params, *tests; /* of its body: what runs it, with what, and what tests it */
    char *returns;               /* and which keys of what it returns are its node's; "": none */
    uint32_t role, jig;
    uint64_t digest, timeout_ms;
    uint8_t repeat, no_op;
    uint32_t retries;
    uint64_t pace; /* what its durations are known by (pace.h); 0: not asked for yet */
};
struct inv_operation {
    char *kind, *title, *actor;
    uint64_t created_ms; /* wall */
};
struct inv_named { /* pools and jigs */
    char *name, *note;
    uint32_t rev;
};
struct inv_token {
    char *name, *hash, *scope;
    uint64_t created_ms;
    uint64_t announced_ms, announce_left; /* face_announce.c; thousandths */
    uint32_t tenant;
    bool revoked;
};
struct id_list {
    VEC(uint32_t) ids;
    /* Of instances: the lowest by (cohort, id) of the first `looked`; world.c. */
    uint32_t lowest, cohort;
    size_t looked;
};
struct inventory {
    VEC(struct inv_node) nodes;
    VEC(struct inv_deployment) deployments;
    VEC(struct inv_noderole) noderoles;
    VEC(struct inv_def) defs;
    VEC(struct inv_operation) operations;
    VEC(struct inv_named) pools, jigs;
    VEC(char *) groups; /* names, by id - 1 */
    VEC(struct inv_token) tokens;
    VEC(char *) role_names;
    VEC(struct inv_lens) lenses; /* 0: of nobody, through which nothing is seen */
    size_t documents;            /* texts of noderoles that are not empty */
    struct strmap node_by_name, deployment_by_name, pool_by_name, jig_by_name, role_by_name,
        token_by_hash;
    struct u64map node_by_machine; /* digest of the machine's id -> node */
    struct u64map def_by_digest, lens_by_id;
    struct u64map instances; /* role << 32 | deployment -> index into lists */
    VEC(struct id_list) lists;
};
void inventory_done(struct inventory *v);
int inventory_load(struct inventory *v, struct store *s, struct err *e);
uint32_t inventory_role(struct inventory *v, struct str name); /* interns */
struct id_list *inventory_instances(const struct inventory *v, uint32_t role, uint32_t deployment);
/* Additions to memory; rows are the caller's. */
void inventory_place(struct inventory *v, uint32_t id, uint32_t deployment); /* or moves it */
void inventory_drop_noderole(struct inventory *v, uint32_t id);
/* True if there was none of that id. */
bool inventory_add_lens(struct inventory *v, uint64_t id, struct str text);
uint32_t inventory_lens(const struct inventory *v, uint64_t id); /* 0: unknown */
void inventory_add_pool(struct inventory *v, uint32_t id, struct str name, struct str note);
void inventory_add_jig(struct inventory *v, uint32_t id, struct str name);
void inventory_add_node(struct inventory *v, uint32_t id, struct str name);
void inventory_set_node(struct inventory *v, const struct row_node_body *r);
void inventory_drop_node(struct inventory *v, uint32_t id);
void inventory_add_deployment(struct inventory *v, const struct row_deployment *r);
void inventory_add_operation(struct inventory *v, const struct row_operation *r);
void inventory_add_token(struct inventory *v, const struct row_token *r);
/* Everything a plan brings; after it was applied. */
void inventory_add_plan(struct inventory *v, const struct plan *p);
uint32_t inventory_node_find(const struct inventory *v, const char *name_or_id);
uint32_t inventory_deployment_find(const struct inventory *v, const char *name_or_id);

/* A message that came while two groups were ahead. */
struct kept_message {
    struct worker_info *from;
    char *text;
};

/* ---- waiting for durability ---- */

struct durable_waiter {
    uint64_t group;
    server_durable_f *fn;
    void *arg;
};
struct subscriber {
    loop_call_f *fn;
    void *arg;
    uint64_t key; /* of a log; 0: events */
};
struct ring_event { /* a durable event, as JSON */
    uint64_t seq;
    uint32_t tenant;
    char *json;
    uint32_t n;
};

/* Work for an operator on the background thread.  It lives in the server, so that a completion that
 * is dropped at the end leaves nothing behind. */
struct admin_job {
    bool running, ended; /* loop thread only */
    struct err failure;  /* how it ended; code 0: well */
    uint64_t ended_ms;   /* wall */
};
struct backup_job {
    bool running, ended, logs;
    struct err failure;
    char name[65], path[4097];
    struct caller who;
    uint64_t began_ms, ended_ms; /* wall */
    struct buf passphrase, settings;
    struct backup_watch watch;
    struct backup_made made;
};

struct pending_answer { /* to an idempotent request, until its group is durable */
    uint64_t id, group;
};

struct run_clock {     /* of one run of the server */
    uint64_t from_ms;  /* engine time when it began */
    int64_t offset_ms; /* of engine time to CLOCK_BOOTTIME */
};
struct server {
    struct loop *loop;
    struct queue *queue;
    const struct opts *opts;
    char *data_dir, *db_path, *log_dir;
    struct store *store, *reader;
    struct pool *writer, *background;
    struct anneal *engine;
    struct commit *commit;
    struct inventory inv;
    struct pace *pace;     /* how long tasks take */
    struct tally *tally;   /* how many of what operations have */
    struct desire *desire; /* what is wanted */
    struct hooks *hooks;
    struct overlays *overlays;   /* what lies over the task graphs of the catalog */
    struct clusters *clusters;   /* clusters.h */
    struct providers *providers; /* providers.h */
    struct enlist *enlist;       /* enlist.h: who may be a worker */
    struct relay *relay;         /* relay.h: lines to workers elsewhere */
    char *fingerprint, *ca;      /* what those who join are told to trust; NULL: no TLS */
    bool own_ca;
    struct resources *resources; /* resources.h */
    struct deploys *deploys;     /* deploy.h: what tasks of graphs saw */
    struct data *data;           /* what can be made again of all this, for runs to see */
    struct catalog *catalog;     /* the newest generation; NULL: none loaded yet */
    struct catalog *builtin;     /* what is there before one is */
    struct strmap node_numbers;  /* pattern with its other fields filled in -> last number given */
    VEC(uint32_t) leaving;       /* nodes that are on their way out */
    VEC(struct catalog *) catalogs; /* older ones that were asked for; catalog_generation() */
    char *catalog_origin;
    uint64_t catalog_loaded_ms;
    struct lease *lease;
    VEC(struct worker_info *) workers; /* by id - 1; workers.h */
    VEC(uint32_t) node_workers;        /* by node: who was sent there last */
    VEC(struct inv_named) tenants;     /* by id; tenants.h */
    struct u64map run_notes;           /* run_note.c */
    struct pulse *pulse;               /* probing.h; NULL: nobody looks for nodes */
    uint32_t probed_nodes;             /* nodes below this one are in it */
    /* time: engine time = loop time + offset, so that it goes on where the last server stopped */
    int64_t clock_offset_ms;
    struct loop_timer *timer, *beat;
    /* groups */
    struct group *flying;
    void *flight; /* group.c's record of it */
    uint64_t durable_group;
    VEC(struct durable_waiter) waiters;
    VEC(struct pending_answer) answers;
    bool closing_posted, reloading;
    struct err degraded; /* code != 0: the store refuses; writes are refused with this */
    VEC(struct kept_message) inbox;
    /* events */
    struct ring_event *ring;
    size_t ring_cap;
    uint64_t ring_first, ring_last; /* numbers held; last: newest durable */
    VEC(struct subscriber) event_subs, log_subs;
    /* counters for /metrics */
    uint64_t started_ms, groups, rows_written, results, stale_results, dispatched;
    uint64_t check_state; /* 0 not yet, 1 running, 2 good, 3 bad */
    char check_text[256];
    uint64_t checkpoint_seq; /* journal number of the last one taken */
    bool checkpointing;
    uint32_t expiring; /* idempotent answers taken away in this round */
    uint64_t beats;
    uint64_t run_no, fence;
    uint64_t run_started_ms;          /* engine time */
    VEC(struct run_clock) run_clocks; /* runclock.c: of runs in this boot, the last is ours */
    struct admin_job check;           /* face_admin.c */
    struct backup_job backup;         /* face_backup.c; at most one of each at a time */
    uint64_t backup_good_ms;          /* wall: when the last one was made; 0: none is known */
};

/* server.c */
uint64_t server_now(const struct server *s); /* engine time */
uint64_t server_wall_ms(void);
/* Applies an engine event now.  ERR_BUSY or the store's own error when writes are not taken. */
int server_apply(struct server *s, struct event *ev, const struct commit_note *note,
                 const struct effects **ret_fx, struct err *e);
/* May memory change now?  Checked by every writing operation first. */
int server_writable(struct server *s, struct err *e);
void server_touch(struct server *s); /* the open group has something: see that it is closed */
int server_restore(struct server *s, struct err *e);
void server_reconcile(struct server *s);
/* Note with the caller, the time and the fixed row filled in. */
struct commit_note server_note(const struct server_call *c, const void *fixed);
/* Of what becomes of a task: told to the tenant whose it is. */
struct commit_note server_note_task(const struct server *s, uint32_t task);

/* engine_opts.c: what the engine runs with by these options; told to it if that is news */
struct engine_settings engine_opts_of(const struct opts *o);
int engine_opts_tell(struct server *s, struct err *e);

/* group.c */
void group_pump(struct server *s);  /* closes and writes what can be */
void group_drain(struct server *s); /* blocking, at the end; ends the writer */
void group_probe(struct server *s); /* does the store take writes again? */

/* idempotent.c */
void idempotent_durable(struct server *s, uint64_t group);
void idempotent_expire(struct server *s); /* once an hour */

/* dispatch.c */
void dispatch_group(struct server *s, const struct group *g);
enum { DISPATCH_GRACE_MS = 5000, DISPATCH_CHAIN_MAX = 64 };
/* Does it run on its node, over ssh, so that the node keeps the truth about it? */
bool dispatch_travels(struct server *s, uint32_t task);
/* Nobody answers for it any more: another worker is sent, or it is lost. */
void dispatch_lease_over(void *server, uint32_t task, uint32_t attempt);
/* With the node's id it orders what workers are told under a name, over restored backups too. */
uint64_t dispatch_access_rev(const struct server *s, uint32_t node);
/* What runs on this node may be held because it could not be reached: not like this any more. */
void dispatch_access_changed(struct server *s, uint32_t node);
void dispatch_all_reported(struct server *s);
void dispatch_reconcile(struct server *s); /* after the state was read from the store */
void dispatch_beat(void *arg);

/* inbox.c */
void inbox_deliver(void *worker_info, const struct str *messages, size_t n);
void inbox_pump(struct server *s); /* what was kept, as far as it can be taken now */
void inbox_forget(struct server *s);

/* runclock.c */
void run_clock_open(struct server *s); /* a run begins: sets run_started_ms */
/* How long ago something of this or an earlier run was, at least 1; UINT32_MAX: nobody can say. */
uint64_t run_clock_since(const struct server *s, uint64_t engine_ms);

/* run_note.c: what runs that go on wait for, in their workers' words */
void run_note_set(struct server *s, uint32_t task, uint32_t attempt, struct str text);
const char *run_note_get(const struct server *s, uint32_t task, uint32_t attempt); /* NULL: none */
void run_note_drop(struct server *s, uint32_t task, uint32_t attempt);
void run_notes_done(struct server *s);

/* eventring.c */
void eventring_add(struct server *s, const struct group *g);
void eventring_done(struct server *s);

/* attempthistory.c: durable attempts of a task, in the order of their numbers; one of them. */
int attempt_history_each(struct server *s, uint32_t task, store_row_f *fn, void *arg,
                         struct err *e);
int attempt_history_one(struct server *s, uint32_t task, uint32_t number, store_row_f *fn,
                        void *arg, struct err *e);
/* The newest one of a task in an operation, without its note; *ret_found: is there any? */
int attempt_history_in(struct server *s, uint32_t task, uint32_t operation,
                       struct row_attempt *ret_row, bool *ret_found, struct err *e);
/* attemptlog.c */
void attemptlog_append(struct server *s, uint32_t task, uint32_t attempt, struct str chunk);
void attemptlog_ended(struct server *s, uint32_t task, uint32_t attempt);

/* world.c */
struct world {
    struct server *server;
    const char *new_name; /* of the node that is being made, which gets the next id; or NULL */
    VEC(uint32_t) on_node, instances, children, parents, after;
};
struct planner_world world_of(struct world *w, struct server *s);
void world_done(struct world *w);

/* wish.c: role and node of a noderole that lives, as desired state calls it; who lives under such a
 * key and stays (0: nobody), and who is on its way out; a document that an entry names. */
uint64_t wish_key(struct server *s, uint32_t noderole);
uint32_t wish_live(const struct server *s, uint64_t key, uint32_t *ret_going);
const struct value *wish_document(const struct server *s, struct arena *mem, uint64_t document);
struct desire_author wish_author(const struct server *s, const struct server_call *c,
                                 const char *message);
/* The head's entry of a noderole gets the parents that it has; one more of them. */
int wish_settle_parents(struct server *s, const struct server_call *c,
                        const struct desire_author *by, uint32_t noderole, struct err *e);
int wish_one_more_parent(struct server *s, const struct server_call *c,
                         const struct desire_author *by, const struct plan_need *need,
                         struct err *e);
/* What a request that acts at once wants is noted; after it was applied. */
int wish_check(const struct server *s, uint32_t deployment, const struct plan *p, struct err *e);
int wish_check_data(struct str user, struct err *e);
int wish_bound(struct server *s, const struct server_call *c, const struct bind_request *req,
               const struct plan *p, const char *title, uint32_t op, struct err *e);
/* As an amendment: the head changes in place. */
int wish_amended(struct server *s, const struct server_call *c, const struct bind_request *req,
                 const struct plan *p, const char *title, struct err *e);
int wish_one_parent_less(struct server *s, const struct server_call *c,
                         const struct desire_author *by, uint32_t noderole, uint64_t parent,
                         struct err *e);
int wish_configured(struct server *s, const struct server_call *c, uint32_t noderole,
                    struct str user, uint32_t op, struct err *e);

/* node_name.c: is it a name for a node, or what is wrong with it; one made from the pattern. */
int node_name_check(const struct server *s, const char *name, struct err *e);
int node_name_make(struct server *s, struct arena *mem, const struct value *body,
                   const char **ret_name, struct err *e);
int node_name_pattern_check(const char *pattern, struct err *e);

/* node_body.c: what is known of a node beside what the engine knows */
int node_body_check(const struct value *request, struct err *e);
int node_body_home(struct server *s, const struct value *request, uint32_t *ret_id, struct err *e);
/* Lays a request over it: a new revision.  The same for a report, which is none if it tells nothing
 * new. */
void node_body_put(struct server *s, const struct server_call *c, uint32_t id, uint32_t home,
                   const struct value *request, enum row_verb verb);
/* The host key that a worker has seen of it, unless one is known. */
void node_body_pin(struct server *s, struct arena *mem, uint32_t id, struct str host_key);
void node_body_refresh(struct server *s, const struct server_call *c, uint32_t id,
                       const struct value *report);
void node_body_leave(struct server *s, const struct server_call *c, uint32_t id, uint32_t op);

/* node_make.c: a node with its default roles, whole or not at all */
int node_make(struct server *s, const struct server_call *c, const char *name,
              const struct value *body, uint32_t *ret_id, struct err *e);
/* One that nobody has seen yet, without any role; its name is known to be free.  And back. */
int node_make_bare(struct server *s, const struct server_call *c, const char *name, uint32_t home,
                   const struct value *body, uint32_t *ret_id, struct err *e);
void node_unmake(struct server *s, const struct server_call *c, uint32_t id);
/* It answered: as this machine, in this boot (either may be NULL). */
int node_seen(struct server *s, const struct server_call *c, uint32_t id, const char *machine,
              const char *boot, struct err *e);
uint64_t node_id_digest(const char *id); /* as the engine knows a machine or boot; 0: "" or NULL */
uint32_t node_of_machine(const struct server *s, const char *machine); /* 0: none */
void node_machines_load(struct server *s);

/* node_boot.c: who serves what it boots runs again. */
void node_boot_changed(struct server *s, const struct server_call *c, uint32_t id);

/* node_leave.c: nodes whose last noderole is gone go themselves */
void node_leave_settle(struct server *s);
void node_leave_load(struct server *s);

/* node_move.c: to another home; names of the noderoles of the old one that stay there. */
int node_move(struct server *s, const struct server_call *c, uint32_t node, uint32_t to,
              struct value **ret_left, struct err *e);

/* node_select.c */
int node_select(struct server *s, struct str selector, struct id_list *ret_ids, struct err *e);
bool node_select_match(struct server *s, struct arena *mem, const struct selector *sel,
                       uint32_t id);

/* What every generation has, even before one is loaded. */
int catalog_builtin(struct catalog **ret_c, struct err *e);
/* catalog_source.c: files as stored in a row ({path: text}) to a catalog */
int catalog_from_files(const struct value *files, uint32_t number, struct catalog_report *report,
                       struct catalog **ret_c, struct err *e);
/* A generation by number, borrowed until the next one is asked for; 0: the newest. */
int catalog_generation(struct server *s, uint32_t number, const struct catalog **ret_c,
                       struct err *e);
/* The newest is another from now on; it is kept among the older ones. */
void catalog_replace(struct server *s, struct catalog *c);
void catalog_forget(struct server *s);
int catalog_from_row(const struct row_catalog *r, struct catalog **ret_c, struct err *e);
/* Jigs and pools of a new generation that the engine does not know yet; switches stay as they are.
 */
int catalog_adopt(struct server *s, struct catalog *c, const struct commit_note *note,
                  struct err *e);

/* view_*.c: objects as values */
struct value *view_node(struct server *s, struct arena *a, uint32_t id);
struct value *view_deployment(struct server *s, struct arena *a, uint32_t id);
struct value *view_snapshot(struct server *s, struct arena *a, const struct snapshot *p);
uint64_t view_snapshot_rev(const struct snapshot *p);
struct value *view_changes(struct server *s, struct arena *a, const struct snapshot_changes *d);
struct value *view_conflicts(struct server *s, struct arena *a, const struct snapshot_conflicts *c);
/* Items with a role and a node, by their names: as people look for them. */
void view_sort(struct value *list);
/* "role@node", or "role" of a deployment role */
const char *view_key_name(struct server *s, struct arena *a, uint64_t key);
struct value *view_noderole(struct server *s, struct arena *a, uint32_t id, bool full);
struct value *view_task(struct server *s, struct arena *a, uint32_t id, bool full);
struct value *view_operation(struct server *s, struct arena *a, uint32_t id);
/* With what became of it, which looks at each of its tasks. */
struct value *view_operation_full(struct server *s, struct arena *a, uint32_t id);
struct value *view_pool(struct server *s, struct arena *a, uint32_t id);
struct value *view_jig(struct server *s, struct arena *a, uint32_t id);
struct value *view_role(struct server *s, struct arena *a, const struct catalog_role *r);
const char *view_role_name(const struct server *s, uint32_t noderole);
/* What a worker said of its plugins: a list, perhaps empty. */
const struct value *view_worker_plugins(struct arena *a, const struct worker_info *w);
const char *view_time(struct arena *a, uint64_t wall_ms);       /* NULL for 0 */
uint64_t view_wall(const struct server *s, uint64_t engine_ms); /* 0 for 0 */

/* page.c: one shape for every list */
struct page {
    struct value *items;
    uint64_t after, last; /* ids */
    uint32_t limit, n;
    uint64_t total;
    bool more;
};
int page_begin(struct page *p, const struct server_call *c, struct err *e);
/* True: make the item and page_add() it.  Counts it either way. */
bool page_wants(struct page *p, uint64_t id);
void page_add(struct page *p, const struct server_call *c, const struct value *item);
void page_end(struct page *p, const struct server_call *c, struct server_reply *r);

/* Path ids and bodies. */
int face_u32(const char *text, const char *what, uint32_t *ret_id, struct err *e);
int face_match(const struct server_call *c, uint64_t rev, const char *what, const char *name,
               struct err *e); /* If-Match */
int face_not_found(struct err *e, const char *what, const char *name);
struct str face_body_text(const struct server_call *c, const char *key);
/* Adds an operation row and its engine event; *ret_op is its id. */
/* remedy.c */
/* The command that helps a noderole in ERROR; NULL: it is not there. */
const char *remedy_of(const struct server *s, struct arena *mem, uint32_t noderole);
/* Who is in ERROR and left so by an operation: of a deployment, or of those named. */
struct value *remedy_left(const struct server *s, struct arena *mem, uint32_t deployment,
                          uint32_t op);
struct value *remedy_left_alone(const struct server *s, struct arena *mem, const uint32_t *ids,
                                size_t n, uint32_t op);
/* As remedy_left(), with those that a roll-out left as they are when it stopped; op 0: all there
 * are, whichever operation had them. */
struct value *remedy_standing(const struct server *s, struct arena *mem, uint32_t deployment,
                              uint32_t op);
/* Did it fail in a way that only a person's own word settles? */
bool remedy_waits_for_word(const struct server *s, uint32_t noderole);

int face_operation_add(struct server *s, const struct server_call *c, const char *kind,
                       const char *title, enum start_class class, uint32_t *ret_op, struct err *e);

/* Told in the journal: "created", "proposed", "committed" ... */
void face_deployment_changed(struct server *s, const struct server_call *c, uint32_t id,
                             const char *what);
/* Is it a name that a deployment can get?  One made; one without anything in it removed. */
int face_deployment_name(const struct server *s, struct str name, struct err *e);
uint32_t face_deployment_make(struct server *s, const struct server_call *c, struct str name,
                              uint32_t parent, struct str description);
int face_deployment_drop(struct server *s, const struct server_call *c, uint32_t id, struct err *e);
int face_plan_room(const struct server *s, const struct plan *plan, struct err *e);
/* One plan, whole or not at all, as an operation of its own or, without a kind, of the standing
 * one. */
struct face_work {
    const char *kind, *title;
    enum start_class class;
    uint32_t instead_of;     /* an operation whose unfinished work goes on in this; 0: none */
    uint32_t deployment;     /* whose head will be another with the same commit; 0: none */
    const struct pmap *head; /* that one */
};
int face_plan_apply(struct server *s, const struct server_call *c, struct plan *plan,
                    const struct face_work *w, uint32_t *ret_op, struct err *e);
/* The same short of applying it: the plan then has everybody whom it would concern.  For dry runs;
 * nothing is kept but the lenses that it brings: texts, which change nobody. */
int face_plan_try(struct server *s, struct plan *plan, uint32_t deployment, const struct pmap *head,
                  struct err *e);
/* And without asking hooks, for who only wants to look. */
int face_plan_look(struct server *s, struct plan *plan, uint32_t deployment,
                   const struct pmap *head, struct err *e);

/* More views, for lists and explanations.  Names are borrowed until the next write; NULL for
 * nobody. */
struct value *view_json(struct arena *a, const char *text); /* a map; empty if there is none */
struct value *view_ids(struct arena *a, const uint32_t *ids, uint32_t n);
const char *view_node_name(const struct server *s, uint32_t id);
const char *view_deployment_name(const struct server *s, uint32_t id);
const char *view_jig_name(const struct server *s, uint32_t id);
const char *view_pool_name(const struct server *s, uint32_t id);
const char *view_task_name(const struct server *s, uint32_t id);
/* "role@node" */
const char *view_noderole_name(const struct server *s, struct arena *a, uint32_t id);
/* The worst of its noderoles, as shown with a node. */
enum noderole_state view_node_state(const struct server *s, uint32_t id);
uint64_t view_operation_rev(const struct operation_view *v);
uint64_t view_task_rev(const struct task_view *v);
struct value *view_attempt(struct server *s, struct arena *a, const struct row_attempt *r);
struct value *view_barclamp(struct server *s, struct arena *a, uint32_t index);
struct value *view_catalog(struct server *s, struct arena *a); /* the live generation */
/* Findings of files from that number on; notes go with what they explain. */
struct value *view_report(struct arena *mem, const struct catalog_report *report,
                          uint32_t from_file);

/* face_util.c: as face_not_found(), with the nearest name of a map (NULL: none known). */
int face_not_found_near(struct err *e, const char *what, const char *name,
                        const struct strmap *by_name);
/* Objects that a query names; ERR_INVALID with the parameter in e->at. */
int face_filter_node(const struct server *s, const char *name, uint32_t *ret_id, struct err *e);
int face_filter_deployment(const struct server *s, const char *name, uint32_t *ret_id,
                           struct err *e);

/* face_why.c, why_text.c, why_catalog.c: one explanation being made */
enum { WHY_MOST_REASONS = 64, WHY_MOST_DEPTH = 12 };
struct why_answer {
    struct server *server;
    struct arena *mem;
    struct value *reasons;
    struct why told[WHY_MOST_REASONS]; /* each reason once */
    uint32_t n_told;
    uint32_t child;    /* noderole whose reasons are told now; 0: of something else */
    uint32_t depth;    /* steps from what was asked about to the reasons that are added now */
    const char *cause; /* the gravest reason so far, and how far away it is */
    int gravity;
    uint32_t cause_depth;
};
struct why_head { /* of whom it is about; texts are borrowed */
    const char *object, *name, *state;
    uint32_t id;
};
/* One reason of the engine in words; false if it was told already or there is no room. */
bool why_tell(struct why_answer *w, const struct why *y);
/* Of an attempt that runs: nobody answers for it just now, and what follows; NULL: somebody does.
 */
const char *why_worker_words(const struct why_answer *w, uint32_t task, uint32_t attempt);
/* A reason that is not the engine's.  Graver ones make the summary: 3 needs a person, 2 a change, 1
 * time. */
void why_say(struct why_answer *w, int gravity, const char *rule, const struct why_head *about,
             const char *text, const char *remedy);
/* Follows reasons to what lies behind them, beginning with those of an object, one step away from
 * it. */
void why_follow(struct why_answer *w, enum row_table table, uint32_t id);
int why_role(struct why_answer *w, const char *name, struct server_reply *r, struct err *e);
int why_jig(struct why_answer *w, const char *name, struct server_reply *r, struct err *e);
int why_pool(struct why_answer *w, const char *name, struct server_reply *r, struct err *e);
int why_binding(struct why_answer *w, const char *text, struct server_reply *r, struct err *e);
/* The answer; fine: what to say if nothing stands in the way. */
void why_reply(struct why_answer *w, const struct why_head *about, const char *fine,
               struct server_reply *r);

/* face_token.c: the first token, written to data_dir/admin.token */
int token_make_admin(struct server *s, struct err *e);
/* face_admin.c: starts a check of the file in the background, unless one runs. */
void admin_check_start(struct server *s);

/* face_backup.c */
char *backup_dir(const struct server *s); /* heap */
void backup_open(struct server *s);       /* what an earlier run left of one; when the last was */
void backup_job_done(struct backup_job *j);
struct value *backup_value(const struct server *s, struct arena *a); /* of status */

#endif
