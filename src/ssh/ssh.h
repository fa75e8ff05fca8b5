/* ssh.h - commands on other machines: a pool of ssh connections and the sessions on them
 *
 * ssh_exec() runs one fixed command text on a machine, gives it input, delivers its two outputs as
 * they come and tells its end exactly once.  Data never enters the command text: it travels as
 * input.  Connections are made when they are needed, shared by the commands of a target, kept while
 * they are in use and a little longer.  Nothing here repeats a connect or a command: whoever asks
 * for it decides that.
 *
 * Two transports do the work (docs/rfc/09 section 4).  libssh lives in this process, on the loop,
 * without a thread or a process a connection: for width.  OpenSSH is one `ssh -M` a connection and
 * its multiplexing protocol: for sites whose ssh configuration must count.
 *
 * Whether a command that failed may have run is part of the answer (`ran`): false is a promise that
 * the other side was never asked to start it.
 *
 * All calls and callbacks are on the loop's thread.  No callback comes before the call that it
 * belongs to has returned.  A callback may call anything here but ssh_pool_free().
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SSH_SSH_H
#define SSH_SSH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"
#include "sys/loop.h"

/* clang-format off */
/*        id                    name */
#define SSH_FAIL_TABLE(X)                                                                          \
    X(SSH_FAIL_NONE,        "none")        /* the command ended by itself */                       \
    X(SSH_FAIL_UNREACHABLE, "unreachable") /* no address answered as an ssh server */              \
    X(SSH_FAIL_HOST_KEY,    "host_key")    /* answered with a key that is not trusted */           \
    X(SSH_FAIL_AUTH,        "auth")        /* trusted, but it does not let us in */                \
    X(SSH_FAIL_LOST,        "lost")        /* the connection broke under the command */            \
    X(SSH_FAIL_LIMIT,       "limit")       /* this or the other side has no room for a session */
enum ssh_fail {
#define X(id, name) id,
    SSH_FAIL_TABLE(X)
#undef X
    SSH_FAIL_COUNT
};
/* clang-format on */
const char *ssh_fail_name(enum ssh_fail fail);

enum ssh_via { SSH_VIA_AUTO, SSH_VIA_LIBSSH, SSH_VIA_OPENSSH, SSH_VIA_COUNT };
enum ssh_trust {
    SSH_TRUST_FIRST,  /* without host keys the first one seen is accepted, and told */
    SSH_TRUST_PINNED, /* without host keys nothing is */
    SSH_TRUST_COUNT
};

/* A machine and how to get into it.  Borrowed by the calls that take one.  Two targets of the same
 * name and life are the same machine: where the second differs, it replaces what is known, and
 * connections made the old way end with the commands that they carry.  Another life is another
 * machine that has the name by now: the two share nothing. */
struct ssh_target {
    const char *name;             /* such as the node's; any text */
    uint64_t life;                /* key in the pool with the name */
    const char *const *addresses; /* names or addresses, tried in order, the last good one first */
    size_t n_addresses;
    uint16_t port;                 /* 0: 22 */
    const char *user;              /* NULL: root */
    const char *const *identities; /* private key files; KEY-cert.pub beside one goes with it */
    size_t n_identities;
    bool agent;            /* also the keys of the agent of SSH_AUTH_SOCK; libssh waits for it, so
                              the agent of a worker must not be one that asks a person */
    const char *host_keys; /* lines of "type base64"; NULL or "": none */
    enum ssh_trust trust;
    const char *jump;   /* "[user@]host[:port]", OpenSSH only; NULL: none */
    const char *config; /* ssh configuration file, OpenSSH only; NULL: none is read */
    const char *kex;    /* key exchanges, by commas; NULL: the library's default */
};

struct ssh_pool;
struct ssh_pool_options {
    enum ssh_via via;
    const char *run_dir;      /* the pool's own, made 0700: control sockets, host key files */
    const char *runner;       /* anneal-runner, so that masters end with us; NULL: they may stay */
    uint32_t targets;         /* expected, for auto; 0: those seen are counted */
    uint32_t max_connections; /* 0: 1000 */
    uint32_t max_connecting;  /* handshakes at once; 0: 32 */
    uint32_t sessions_per_connection; /* 0: 8 */
    uint32_t connections_per_target;  /* 0: 4 */
    uint32_t idle_ms;                 /* 0: 60 s */
    uint32_t keepalive_ms;            /* three unanswered ones end a connection; 0: 15 s */
    uint32_t connect_timeout_ms;      /* of one address, until logged in; 0: 10 s */
    /* A key was accepted because none was known: line is "type base64".  Once a key, before its
     * owner is logged in.  The pool holds to it from then on.  May be NULL. */
    void (*on_host_key)(void *arg, const char *name, uint64_t life, const char *line);
    void *arg;
};
/* ERR_INVALID for a run directory that control sockets do not fit in. */
int ssh_pool_new(struct loop *l, const struct ssh_pool_options *o, struct ssh_pool **ret_p,
                 struct err *e);
/* Ends all connections at once.  No callback is called: what still runs is not told its end. */
void ssh_pool_free(struct ssh_pool *p);
static inline void ssh_pool_scope_end(struct ssh_pool **p)
{
    ssh_pool_free(*p);
}
/* Nothing is known of the target any more: neither the key that was accepted nor the address that
 * answered; its connections end with the commands that they carry.  For a node that is gone, or
 * whose keys are to be learnt anew. */
void ssh_pool_forget(struct ssh_pool *p, const char *name, uint64_t life);

struct ssh_run;
struct ssh_end { /* valid during the callback */
    bool ran;    /* false: it certainly did not */
    enum ssh_fail fail;
    int status;         /* exit status; -1: it ended by a signal, or fail */
    const char *signal; /* "TERM"; "" if there was none; "?" where OpenSSH does not tell which */
    const char *text;   /* of fail: names the address and the remedy; "" without */
};
enum { SSH_COMMAND_MAX = 4096 };
struct ssh_exec_spec {
    const struct ssh_target *target;
    const char *command; /* fixed text, at most SSH_COMMAND_MAX bytes */
    struct str input;    /* copied; then EOF */
    /* stream 1 or 2, as it comes; may be NULL */
    void (*on_output)(void *arg, int stream, const char *p, size_t n);
    void (*on_end)(void *arg, const struct ssh_end *end); /* the run is gone afterwards */
    void *arg;
};
/* ERR_INVALID for a target that cannot be used: no address, host keys that are none, or a jump or
 * configuration with libssh.  The end of a command is its exit and the end of its outputs; if
 * something that it left behind keeps these open, the end comes 2 s after the exit. */
int ssh_exec(struct ssh_pool *p, const struct ssh_exec_spec *spec, struct ssh_run **ret_run,
             struct err *e);
/* Before on_end, which is not called then; from within it this is nothing.  The session is closed:
 * what becomes of the program on the other side is its own affair. */
void ssh_run_close(struct ssh_run *r);

/* The same way for another program that uses OpenSSH by itself: a configuration for ssh -F, and the
 * host keys to be put at the path that it names, both appended.  The address is what ssh is given
 * as the host; a higher `try` is another one, where there are several.  With no keys known and
 * SSH_TRUST_FIRST, ssh puts the first it sees into that file. */
int ssh_config_write(struct ssh_pool *p, const struct ssh_target *t, const char *known_path,
                     uint32_t try, struct buf *config, struct buf *known, const char **ret_address,
                     struct err *e);

/* Is the machine there?  A connection that stands is asked for a sign of life; otherwise an ssh
 * server must greet on one of the addresses; nobody is logged in for that, so whether it is who it
 * should be is not asked.  Behind a jump or a configuration, where only OpenSSH finds the way, it
 * takes a connection of the pool; one that is refused for its key or by its keys is there, too. */
struct ssh_probe;
typedef void ssh_probe_f(void *arg, bool alive, const char *text);
int ssh_probe(struct ssh_pool *p, const struct ssh_target *t, uint32_t timeout_ms, ssh_probe_f *fn,
              void *arg, struct ssh_probe **ret_probe, struct err *e);
/* Before the answer, which does not come then. */
void ssh_probe_close(struct ssh_probe *q);

struct ssh_counts {
    uint32_t connections; /* that stand */
    uint32_t connecting;
    uint32_t sessions;                 /* commands on connections */
    uint32_t waiting;                  /* commands that wait for a session */
    uint64_t connects;                 /* that succeeded, in all */
    uint64_t failures[SSH_FAIL_COUNT]; /* in all: connects by reason; lost connections; refusals */
};
void ssh_pool_counts(const struct ssh_pool *p, struct ssh_counts *ret);

#endif
