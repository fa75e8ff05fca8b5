/* event.h - what can happen to the engine, and its journal form
 *
 * One flat struct: each kind uses the fields that its line in EVENT_KINDS names, and the codec
 * writes exactly those.  Events of the second list change only the inventory (names, labels,
 * tokens); the engine does not see them, but they share the journal and its numbers.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MODEL_EVENT_H
#define MODEL_EVENT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "model/settings.h"

enum event_field {
    EVF_ID = 1u << 0, /* subject */
    EVF_ATTEMPT = 1u << 1,
    EVF_N = 1u << 2,     /* a count: slots, size, capacity */
    EVF_FLAG = 1u << 3,  /* a choice, see the kind */
    EVF_EXTRA = 1u << 4, /* a second choice or count */
    EVF_A = 1u << 5,     /* a digest */
    EVF_B = 1u << 6,     /* another */
    EVF_MS = 1u << 7,
    EVF_EXIT = 1u << 8,
    EVF_IDS = 1u << 9,   /* a list of ids */
    EVF_OP = 1u << 10,   /* the operation it belongs to */
    EVF_PLAN = 1u << 11, /* a plan, stored apart under the event's number */
    EVF_PHASE = 1u << 12,
    EVF_LAST = 1u << 13, /* nothing that was sent to run behind it has begun */
    EVF_SETTINGS = 1u << 14,
    EVF_RETURNED = 1u << 15, /* by what a run returned, not by a person's word */
    EVF_BUDGET = 1u << 16,   /* n: members of each roll-out that may fail, + 1; 0: as it was */
    EVF_NOW = 1u << 17,      /* what goes waits for nobody any longer */
};

/*    kind            name               fields                    subject; flag; extra; a; b; n;
 * ids */
#define EVENT_KINDS(X)                                                                             \
    X(TICK, "tick", 0) /* timers that are due fire */                                              \
    X(TENANT_ADD, "tenant.add", EVF_ID)                                                            \
    X(NODE_ADD, "node.add", EVF_ID | EVF_N | EVF_FLAG | EVF_EXTRA) /* slots; available; alive */   \
    X(NODE_AVAILABLE, "node.available", EVF_ID | EVF_FLAG)         /* yes or no */                 \
    X(NODE_SLOTS, "node.slots", EVF_ID | EVF_N)                                                    \
    X(NODE_SEEN, "node.seen", EVF_ID | EVF_A | EVF_B) /* machine id, boot id */                    \
    X(NODE_SILENT, "node.silent", EVF_ID)             /* one probe got no answer */                \
    X(NODE_DEAD, "node.dead", EVF_ID)                 /* an operator's word */                     \
    X(NODE_GONE, "node.gone", EVF_ID)                                                              \
    X(DEAD_CONFIRM, "dead.confirm", 0)                             /* the silent ones are dead */  \
    X(JIG_SET, "jig.set", EVF_ID | EVF_FLAG | EVF_N)               /* active; workers' slots */    \
    X(POOL_SET, "pool.set", EVF_ID | EVF_N | EVF_EXTRA | EVF_FLAG) /* size; elsewhere; closed */   \
    X(CAPACITY_SET, "capacity.set", EVF_N)                                                         \
    X(POLICY_SET, "policy.set", EVF_FLAG) /* 1: an error freezes its node */                       \
    X(OPERATION_ADD, "operation.add", EVF_ID | EVF_N | EVF_FLAG) /* tenant; class */               \
    X(PLAN_APPLY, "plan.apply", EVF_OP | EVF_PLAN | EVF_EXTRA)   /* whose place it takes, or 0 */  \
    X(RESULT, "result",                                                                            \
      EVF_ID | EVF_ATTEMPT | EVF_FLAG | EVF_EXTRA | EVF_EXIT | EVF_MS | EVF_PHASE |                \
          EVF_LAST) /* task; outcome; ask; again */                                                \
    X(DATA_SET, "data.set", EVF_ID | EVF_A | EVF_OP | EVF_RETURNED) /* noderole; its inputs */     \
    X(RERUN, "rerun", EVF_IDS | EVF_OP)                             /* noderoles */                \
    X(RETRY_TASK, "task.retry", EVF_ID)                                                            \
    X(RETRY_NODEROLE, "noderole.retry", EVF_ID)                                                    \
    X(RETRY_OPERATION, "operation.retry", EVF_ID)                                                  \
    X(CANCEL, "operation.cancel", EVF_ID | EVF_FLAG) /* abort */                                   \
    X(RESUME, "operation.resume", EVF_ID | EVF_BUDGET | EVF_NOW)                                   \
    X(POKE, "task.poke", EVF_ID)                                                                   \
    X(RESOLVE, "task.resolve", EVF_ID | EVF_FLAG) /* done, failed, again */                        \
    X(ABANDON, "noderole.abandon", EVF_ID)        /* of a removal: what is left is not done */     \
    X(SUPERSEDE, "operation.supersede", EVF_ID | EVF_OP) /* its work goes on in another */         \
    X(REDEPLOY, "node.redeploy", EVF_ID | EVF_OP) /* all that is on it begins from nothing */      \
    X(TENANT_SET, "tenant.set", EVF_ID | EVF_N | EVF_FLAG | EVF_EXTRA) /* share; gone; wish */     \
    X(SETTINGS_SET, "settings.set", EVF_SETTINGS) /* what the engine runs with from now on */
#define INVENTORY_KINDS(X)                                                                         \
    X(NODE_CHANGED, "node.changed", EVF_ID)                                                        \
    X(DEPLOYMENT, "deployment.changed", EVF_ID)                                                    \
    X(CATALOG, "catalog.loaded", EVF_ID)                                                           \
    X(TOKEN, "token.changed", EVF_ID)                                                              \
    X(SERVER, "server.started", EVF_N)                                                             \
    X(STALLED, "operation.stalled", EVF_ID)                                                        \
    X(HOOK, "hook.failed", EVF_ID) /* noderole, 0 if none; what else is known comes with it */     \
    X(OVERLAY, "overlay.changed", EVF_ID) /* whose, and which version, comes with it */            \
    X(PROVIDER, "provider.changed", EVF_ID)                                                        \
    X(WORKER, "worker.changed", EVF_ID)                                                            \
    X(RESOURCE, "resource.changed", EVF_ID)                                                        \
    X(BACKUP, "backup.made", 0) /* its name, digest and last event come with it */

enum event_kind {
#define X(id, name, fields) EVENT_##id,
    EVENT_KINDS(X) EVENT_ENGINE_COUNT,
    EVENT_INVENTORY_BEFORE = 127, /* numbers are stored: the two lists grow apart */
    INVENTORY_KINDS(X)
#undef X
        EVENT_KIND_COUNT
};
enum { RESOLVE_DONE, RESOLVE_FAILED, RESOLVE_AGAIN };

struct plan;
struct event {
    enum event_kind kind;
    uint64_t at_ms;
    uint32_t id, attempt, n, op;
    uint8_t flag;
    uint8_t phase; /* enum phase (model/taskmsg.h) */
    bool last, returned, now;
    uint32_t extra;
    int32_t exit_code;
    uint64_t a, b, ms;
    const uint32_t *ids;
    uint32_t n_ids;
    const struct plan *plan;
    struct engine_settings settings;
};
const char *event_kind_name(enum event_kind k);
/* The fields of its kind as one JSON map (no kind, no time, no plan). */
void event_write(struct buf *b, const struct event *ev);
/* kind and at_ms must be set; ids go to the arena. */
int event_parse(struct arena *a, struct str json, struct event *ev, struct err *e);

#endif
