/* taskmsg.h - what server and worker say to each other, and its JSON form
 *
 * The same messages travel through the embedded queue and, later, a broker or HTTPS.  Everything is
 * delivered at least once and possibly out of order; (task, attempt) identifies a piece of work and
 * both sides recognise what they have seen.  Frozen in docs/rfc/03-task-message.md.
 *
 *   server -> worker   TASK, CANCEL, ACK (results up to reply number `seq` are durable), HELLO
 * (asks for one back, as a server does that has just come up), BEAT (it heard the worker's),
 * DOCUMENT (what was fetched), DROP (somebody else has that attempt now: it goes on without you),
 * PROBE (are these nodes there?)
 *   worker -> server   HELLO (name, capacity, jigs, plugins, what it holds), BEAT (what it holds),
 * RESULT, LOG, FETCH (a document that a TASK names), SEEN (a node showed a host key, and none was
 * known), NOTE (what a run waits for that goes on; empty: for nothing any more), WANT (a part of a
 * content that a TASK names); the server answers that with PART; PROBED (what came of probes, each
 * as it comes, and nodes that an attempt did not reach)
 *
 * A worker keeps a result until it is acknowledged and sends it again after a HELLO.  An attempt
 * that answers AGAIN is asked again under the same number with `ask` one higher; RESULT repeats the
 * `ask` it answers, so that a late AGAIN is not taken for the answer to a newer question.
 *
 * The JSON form is one map: "kind", then the fields below by their names; what is zero or empty is
 * left out.  `params`, `data`, `returns` and `gone` are strings that hold JSON text: they pass
 * through byte for byte, and the digest is over those bytes.  `held` is a list of [task, attempt]
 * pairs.
 *
 * A TASK holds small data whole.  Large documents that many tasks see are named by digest: the task
 * sees `under`, with `data` laid over it, with `over` laid over that, all three merged as JSON maps
 * are everywhere.  A worker asks once for each that it does not have.
 *
 * Contents of resources are files, and large: a worker wants them part by part, one at a time, each
 * from where the last one ended.
 *
 * Tasks of one node may be sent ahead: a TASK says which other one, sent just before it, it begins
 * `behind`.  It begins when that has succeeded and returned nothing, without anybody being asked;
 * otherwise it is forgotten, unanswered, and the RESULT before it says `last`.
 *
 * A task may have tests, run before and after it in the same attempt, tried again after an interval
 * if they say so; the result then says in which phase the attempt ended.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MODEL_TASKMSG_H
#define MODEL_TASKMSG_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/digest.h"
#include "base/err.h"
#include "base/str.h"

#define TASKMSG_KINDS(X)                                                                           \
    X(TASK, "task")                                                                                \
    X(CANCEL, "cancel")                                                                            \
    X(ACK, "ack")                                                                                  \
    X(HELLO, "hello")                                                                              \
    X(BEAT, "beat")                                                                                \
    X(RESULT, "result")                                                                            \
    X(LOG, "log")                                                                                  \
    X(FETCH, "fetch")                                                                              \
    X(DOCUMENT, "document")                                                                        \
    X(SEEN, "seen")                                                                                \
    X(NOTE, "note")                                                                                \
    X(DROP, "drop")                                                                                \
    X(WANT, "want")                                                                                \
    X(PART, "part")                                                                                \
    X(PROBE, "probe")                                                                              \
    X(PROBED, "probed")
enum taskmsg_kind {
#define X(id, text) TASKMSG_##id,
    TASKMSG_KINDS(X)
#undef X
        TASKMSG_KIND_COUNT
};
const char *taskmsg_kind_name(enum taskmsg_kind k);

/* How an attempt ended.  AGAIN is "not yet": ask again in again_ms, or when poked. */
#define OUTCOMES(X)                                                                                \
    X(OK, "ok")                                                                                    \
    X(FAILED, "failed")                                                                            \
    X(AGAIN, "again")                                                                              \
    X(TIMEOUT, "timeout")                                                                          \
    X(CANCELLED, "cancelled")                                                                      \
    X(LOST, "lost")       /* nobody can say what became of it */                                   \
    X(REFUSED, "refused") /* never started: bad parameters, no such jig */
enum outcome {
#define X(id, text) OUTCOME_##id,
    OUTCOMES(X)
#undef X
        OUTCOME_COUNT
};
const char *outcome_name(enum outcome o);

/* Where an attempt of a task with tests ended.  Numbers are stored: append. */
#define PHASES(X)                                                                                  \
    X(NONE, "") /* never started, or a task without tests */                                       \
    X(TEST_PRE, "test_pre")                                                                        \
    X(TASK, "task")                                                                                \
    X(TEST_POST, "test_post")
enum phase {
#define X(id, text) PHASE_##id,
    PHASES(X)
#undef X
        PHASE_COUNT
};
const char *phase_name(enum phase p);

/* What came of a probe of a node.  Only ANSWERS is a sight of it, and only SILENT counts against
 * it.
 */
#define PROBE_ENDS(X)                                                                              \
    X(ANSWERS, "answers")                                                                          \
    X(SILENT, "silent")             /* no address answered */                                      \
    X(HOST_KEY, "host-key-changed") /* something answers that is not trusted */                    \
    X(AUTH, "auth")                 /* it answers, and does not let us in */                       \
    X(UNABLE, "unable")             /* it answers, or this worker cannot ask: nothing is known */  \
    X(MISSED, "missed")             /* no probe: an attempt did not reach it */
enum probe_end {
#define X(id, text) PROBE_##id,
    PROBE_ENDS(X)
#undef X
        PROBE_END_COUNT
};
const char *probe_end_name(enum probe_end p);

struct probe_ask {
    struct str node, access; /* as in a TASK */
    uint32_t node_id;
    uint64_t access_rev;
    uint64_t number; /* the answer repeats it */
    bool who;        /* which machine it is, and in which boot, is asked too */
};
struct probe_answer {
    struct str node;
    uint32_t node_id; /* as it was asked; 0: not told */
    uint64_t number;  /* 0: nobody asked */
    enum probe_end end;
    struct str text;                /* why not, for people */
    struct str machine_id, boot_id; /* "": not told */
};

enum { TASKMSG_TEST_INTERVAL_MS = 1000 }; /* between two tries of a test that does not say it */

struct held_attempt {
    uint32_t task, attempt;
};

struct taskmsg {
    enum taskmsg_kind kind;
    uint32_t task, attempt; /* TASK CANCEL RESULT LOG NOTE DROP; FETCH: one that waits for it */
    uint32_t ask;           /* TASK CANCEL RESULT: how often this attempt has been asked before */
    uint64_t seq;           /* RESULT: the worker's reply number, rising; ACK: all up to it */
    /* TASK */
    struct str jig, name, node, address; /* task name for people; node's name and first address */
    struct str access;                   /* JSON text: how its node is reached; "": as usual */
    uint32_t node_id;        /* never used again: a higher one of the name is another node; SEEN */
    uint64_t access_rev;     /* rises with what is said of the node: an older access is not taken;
                              * SEEN: by which it was reached */
    struct str key;          /* the run's idempotency key, equal in all its attempts */
    struct str params, data; /* JSON text */
    struct str under, over;  /* digests of documents, "" for none */
    struct str tests;        /* JSON text {pre, post}, each {cmd, timeout_ms, retries} */
    struct str fields;       /* JSON text {type, provider, fields}: what was said to its provider */
    struct str secrets;      /* JSON text {field: text}: sensitive ones; in no digest and no log */
    struct str resources;    /* JSON text of a list: plugin/plugin_versions.h */
    uint64_t fence;          /* which start of which server it is from, rising */
    uint32_t followers;  /* so many TASKs right behind this one begin behind it, or each other */
    uint64_t since_ms;   /* it was sent so long ago to somebody else, and may have begun; 0: new */
    uint32_t behind;     /* begins when this task, sent just before, has succeeded; 0: at once */
    bool no_op;          /* nothing is to be changed, only told */
    struct str digest;   /* taskmsg_digest() of all these; RESULT: of what its node was given */
    uint64_t timeout_ms; /* 0: none; of a server's BEAT: how long silence is borne */
    uint64_t grace_ms;   /* between TERM and KILL; TASK and CANCEL */
    /* RESULT */
    enum outcome outcome;
    enum phase phase;
    int32_t exit_code;
    uint64_t again_ms, ran_ms;
    struct str text;    /* one line for people; NOTE too; PART: why it is missing */
    struct str returns; /* JSON map: what it returned and had not been sent so; "" if nothing */
    struct str gone;    /* JSON list of paths, each a list of keys: what it was sent and, answering
                         * with a whole document, did not return */
    bool last;          /* nothing that was sent to run behind it has begun, or will */
    bool truncated;
    /* LOG */
    uint8_t stream; /* 1 stdout, 2 stderr */
    struct str chunk;
    /* FETCH, DOCUMENT */
    struct str document; /* its digest: digest_hex() of the content */
    struct str content;  /* DOCUMENT: JSON text of a map; PART: base64 */
    bool missing;        /* DOCUMENT: nobody has it any more, what it was made of has changed;
                          * PART: it is not there */
    /* WANT, PART */
    struct str blob; /* digest of the content */
    uint64_t offset;
    /* SEEN; `node` is whose */
    struct str host_key; /* "type base64" */
    /* HELLO, BEAT */
    struct str worker;
    uint32_t capacity;
    const struct str *jigs;
    uint32_t n_jigs;
    struct str host, version; /* HELLO: what its machine calls itself; of the program */
    struct str labels;        /* HELLO: JSON map of texts */
    struct str plugins;       /* HELLO: JSON text [{name, type, version, serves: [type]}] */
    const struct held_attempt *held;
    uint32_t n_held;
    bool draining;     /* it takes no more tasks */
    uint64_t lease_ms; /* of a server: what runs there is given up after so long in silence */
    const struct held_attempt *released; /* BEAT: what goes on on nodes, for another one to take */
    uint32_t n_released;
    /* PROBE, PROBED */
    const struct probe_ask *probes;
    uint32_t n_probes;
    const struct probe_answer *answers;
    uint32_t n_answers;
};
/* Does this jig act on the node, wherever that is?  Others act where the worker is. */
bool taskmsg_jig_on_node(struct str jig);
/* Hex digest of what a task is run with; of its documents, their digests. */
void taskmsg_digest(const struct taskmsg *m, char ret_hex[DIGEST_HEX]);
/* One line of JSON, no newline. */
void taskmsg_write(struct buf *b, const struct taskmsg *m);
/* Strings point into the arena.  Unknown fields are ignored (newer peers), wrong types, numbers out
 * of range and missing fields refused. */
int taskmsg_parse(struct arena *a, struct str text, struct taskmsg *ret_m, struct err *e);

#endif
