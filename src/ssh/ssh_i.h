/* ssh_i.h - what the files of this module share: peers, connections, runs and the transport table
 *
 * A peer is a target as the pool knows it; it has connections, and runs that wait for one.  Above
 * the table (ssh_pool.c) is everything about limits, order, reuse and time; below it only how bytes
 * move.  A transport reports through ssh_conn_*() and ssh_run_*(), from any depth: what these
 * functions do to connections happens in the pool's next turn, never under the caller's feet.
 *
 * To add a transport: fill a struct ssh_transport and name it in ssh_pool.c.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SSH_SSH_I_H
#define SSH_SSH_I_H

#include <sys/queue.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/digest.h"
#include "base/map.h"
#include "ssh/ssh.h"

enum {
    SSH_LINGER_MS = 2000, /* how long outputs may stay open after the exit, as in sys/proc.h */
    SSH_WHY = 512,        /* bytes of a reason */
};

struct ssh_conn;
struct ssh_resolver;
TAILQ_HEAD(ssh_probe_list, ssh_probe);
TAILQ_HEAD(ssh_run_list, ssh_run);

/* A copy of a target, shared by the connections that are made by it. */
struct ssh_where {
    struct arena mem;
    struct ssh_target t; /* host_keys is not in it: see struct ssh_peer */
    struct digest digest;
    unsigned refs;
};

struct ssh_peer {
    struct ssh_pool *pool;
    char *name;
    uint64_t life;
    char id[13]; /* 12 hexadecimal digits of its key's digest: for file names and aliases */
    struct ssh_where *where;
    enum ssh_trust trust;
    char *pinned;     /* the target's host keys, "" if none */
    char *accepted;   /* the key taken because none was pinned, NULL if none */
    size_t last_good; /* address */
    TAILQ_HEAD(, ssh_conn) conns;
    uint32_t n_conns;
    struct ssh_conn *connecting; /* one at a time: the second must know the key of the first */
    struct ssh_run_list waiting;
    struct ssh_probe_list probes; /* that wait for a connection */
    TAILQ_ENTRY(ssh_peer) in_dirty, in_wanting;
    bool dirty;   /* something of it changed: the next turn looks */
    bool wanting; /* waits for a connection to be allowed */
    bool forgotten;
};

enum ssh_conn_state { SSH_CONN_CONNECTING, SSH_CONN_OPEN, SSH_CONN_STATE_COUNT };
struct ssh_conn {
    struct ssh_pool *pool;
    struct ssh_peer *peer;
    struct ssh_where *where;
    const struct ssh_transport *via;
    void *impl; /* the transport's; NULL while it has none */
    enum ssh_conn_state state;
    const char *retired;   /* why it takes no more runs and ends with its last one; NULL: it does */
    bool proven;           /* a session was opened on it */
    bool asked;            /* a probe wants a sign of life */
    bool broken;           /* reported; the next turn buries it */
    enum ssh_fail fail;    /* of a broken one */
    char why[SSH_WHY];     /* likewise */
    size_t tried;          /* addresses that did not answer */
    size_t address;        /* the one in use */
    uint32_t sessions;     /* runs */
    uint32_t room;         /* sessions that it may have; fewer once the server refused one */
    uint32_t smooth;       /* sessions that ended since then or since room last grew */
    uint64_t open_from_ms; /* since when it stands */
    uint64_t idle_from_ms; /* since when it has no run */
    uint64_t keepalive_ms; /* when the next one is due */
    uint32_t missed;       /* keepalives since it was last heard */
    struct loop_timer *timer;
    struct ssh_run_list runs;
    struct ssh_probe_list probes;
    TAILQ_ENTRY(ssh_conn) in_peer, in_pool, in_broken;
};

struct ssh_run {
    struct ssh_pool *pool;
    struct ssh_peer *peer;
    struct ssh_conn *conn; /* NULL: it waits */
    void *impl;            /* the transport's; NULL while it has none */
    char *command;
    char *input;
    size_t input_n, input_at;
    uint64_t number; /* order of asking */
    bool bounced;    /* refused as the only one on a connection */
    bool handed;     /* the other side may have been asked to run it */
    bool *gone;      /* set by a stop, for a transport that is just delivering */
    bool ending;     /* on_end is being called */
    void (*on_output)(void *arg, int stream, const char *p, size_t n);
    void (*on_end)(void *arg, const struct ssh_end *end);
    void *arg;
    TAILQ_ENTRY(ssh_run) link; /* in its connection's runs or its peer's waiting */
};

struct ssh_transport {
    const char *name;
    int (*open)(struct ssh_pool *p, void **ret_state, struct err *e);
    void (*close)(void *state); /* after the last disconnect */
    /* Towards c->address.  Ends in ssh_conn_ready() or ssh_conn_break(), possibly before it
     * returns. */
    void (*connect)(struct ssh_conn *c);
    /* Before the disconnect of an open connection that broke: what came before that is delivered,
     * and those runs end well whose exit is known. */
    void (*drain)(struct ssh_conn *c);
    /* In whatever state; sets c->impl and its runs' to NULL and reports nothing more. */
    void (*disconnect)(struct ssh_conn *c);
    /* A session for r on r->conn.  Ends in one ssh_run_end(), _refuse() or _fail(), possibly before
     * it returns, or with the connection.  Sets r->handed before the first byte that could start
     * it. */
    void (*start)(struct ssh_run *r);
    /* Closes the session, sets r->impl to NULL and reports nothing more of it. */
    void (*stop)(struct ssh_run *r);
    /* Asks for a sign of life; any answer ends in ssh_conn_heard().  NULL: it does that itself. */
    void (*keepalive)(struct ssh_conn *c);
};
extern const struct ssh_transport ssh_transport_libssh, ssh_transport_openssh;

struct ssh_pool {
    struct loop *loop;
    struct ssh_pool_options o; /* with the defaults filled in */
    char *run_dir, *runner;    /* runner: NULL if masters are not tied to us */
    struct strmap peers;
    TAILQ_HEAD(, ssh_peer) dirty, wanting;
    TAILQ_HEAD(, ssh_conn) conns, broken;
    struct ssh_probe_list probes; /* that ask by themselves */
    uint32_t n_dirty, n_conns;
    uint64_t runs; /* asked for so far */
    bool turn_posted;
    struct ssh_counts counts;
    void *state[SSH_VIA_COUNT]; /* of the transports, NULL: not open */
    struct ssh_resolver *resolver;
};

/* ssh_conn.c, ssh_run.c: what transports report */
void ssh_conn_ready(struct ssh_conn *c);
/* It could not be made, or it is no more: then fail is taken for SSH_FAIL_LOST. */
void ssh_conn_break(struct ssh_conn *c, enum ssh_fail fail, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
void ssh_conn_heard(struct ssh_conn *c);
const char *ssh_conn_address(const struct ssh_conn *c);
void *ssh_conn_state(const struct ssh_conn *c); /* what open() returned */
void ssh_run_output(struct ssh_run *r, int stream, const char *p, size_t n);
/* The three ends.  r->impl is NULL by then. */
void ssh_run_end(struct ssh_run *r, int status, const char *signal);
void ssh_run_refuse(struct ssh_run *r, const char *why); /* the server opens no session: not run */
void ssh_run_fail(struct ssh_run *r, enum ssh_fail fail, const char *why);
void ssh_run_input_free(struct ssh_run *r);

/* ssh_pool.c */
void ssh_pool_turn_post(struct ssh_pool *p);
/* Something of the peer changed: the next turn serves it. */
void ssh_peer_touch(struct ssh_peer *peer);

/* ssh_conn.c, for ssh_pool.c */
void ssh_conn_new(struct ssh_peer *peer, const struct ssh_transport *via);
void ssh_conn_free(struct ssh_conn *c);    /* its runs are gone or elsewhere */
void ssh_conn_connect(struct ssh_conn *c); /* to the next of its addresses */
void ssh_conn_disconnect(struct ssh_conn *c);
void ssh_conn_arm(struct ssh_conn *c); /* the timer, for when it is to be looked at next */
/* ssh_run.c: off its list; a connection that it leaves empty begins to be idle. */
void ssh_run_unlink(struct ssh_run *r);

/* ssh_peer.c */
/* The peer of a target, made or brought up to date. */
int ssh_peer_of(struct ssh_pool *p, const struct ssh_target *t, struct ssh_peer **ret_peer,
                struct err *e);
void ssh_peer_free(struct ssh_peer *peer);
/* It was forgotten, and nothing uses it any more: the pool does not know it from now on. */
void ssh_peer_drop(struct ssh_peer *peer);
/* A file name that can stand in quotes in an option of ssh and means itself there. */
bool ssh_path_is_plain(const char *s);
struct ssh_where *ssh_where_ref(struct ssh_where *w);
void ssh_where_unref(struct ssh_where *w);
/* The n-th address to try, from 0. */
size_t ssh_peer_address(const struct ssh_peer *peer, size_t n);
/* The keys to hold the peer to, "" if the first one seen is to be accepted or none is. */
const char *ssh_peer_keys(const struct ssh_peer *peer);
bool ssh_peer_learns(const struct ssh_peer *peer); /* the first one seen */
/* Before login: SSH_FAIL_NONE if the key is trusted (from now on, if it is the first), else why. */
enum ssh_fail ssh_peer_key_check(struct ssh_peer *peer, const char *type, const char *base64,
                                 char why[SSH_WHY]);

/* ssh_hostkey.c: texts of host keys, lines of "type base64" */
int ssh_hostkey_check(const char *text, struct err *e);
bool ssh_hostkey_has(const char *text, struct str base64);
/* Calls fn for each; the parts point into text. */
void ssh_hostkey_each(const char *text, void (*fn)(void *arg, struct str type, struct str base64),
                      void *arg);

/* ssh_dial.c: a TCP connection without waiting, names included */
struct ssh_dial;
/* fd of a connected non-blocking socket, or -1 and why.  The dial is gone by then. */
typedef void ssh_dial_f(void *arg, int fd, const struct err *e);
struct ssh_resolver *ssh_resolver_new(struct loop *l);
void ssh_resolver_free(struct ssh_resolver *r); /* after its dials */
/* Never calls back before it returns. */
struct ssh_dial *ssh_dial_new(struct ssh_resolver *r, const char *host, uint16_t port,
                              ssh_dial_f *fn, void *arg);
void ssh_dial_free(struct ssh_dial *d); /* before the callback, which does not come then */

/* ssh_probe.c */
/* Answers all that are in the list now, and takes them out. */
void ssh_probe_list_answer(struct ssh_probe_list *list, bool alive, const char *text);
/* The pool ends: they are gone without an answer. */
void ssh_probe_list_drop(struct ssh_probe_list *list);

#endif
