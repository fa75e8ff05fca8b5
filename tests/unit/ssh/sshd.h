/* sshd.h - a real ssh server of a test's own on loopback, and commands run against it
 *
 * sshd_new() makes keys and a configuration in a directory of its own and starts sshd on a free
 * port; sshd_free() ends it.  The user is whoever runs the test.  ask_*() drive a pool with the
 * loop until a command has ended, with a guard so that no test waits for ever.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_UNIT_SSH_SSHD_H
#define TESTS_UNIT_SSH_SSHD_H

#include "base/str.h"
#include "ssh/ssh.h"

/* Keys and certificates take a while: one set for all servers of a test. */
struct sshd_keys {
    char *dir;
    char *user_key;            /* accepted by its public key */
    char *cert_key;            /* accepted by its certificate only */
    char *wrong_key;           /* accepted nowhere */
    char *rsa_key, *ecdsa_key; /* accepted too */
    char *locked_key;          /* would be accepted, but has a passphrase */
    char *host_line;           /* "ssh-ed25519 AAAA..." */
    char *rsa_host_line;       /* of a server that has that key too: "HostKey $dir/rsa_host" */
    char *other_line;
};
/* NULL, and said so in TAP, if there is no sshd program. */
struct sshd_keys *sshd_keys_new(void);
void sshd_keys_free(struct sshd_keys *k);

struct sshd {
    int pid, log_fd;
    uint16_t port;
    char *config;
};
struct sshd *sshd_new(const struct sshd_keys *k, const char *more_config);
void sshd_free(struct sshd *d);
/* Another machine in its place: on the same port, with these keys. */
void sshd_replace(struct sshd *d, const struct sshd_keys *k);
/* Reads the server's log until the text is in it; what was read, heap. */
char *sshd_log_until(struct sshd *d, const char *text);
const char *sshd_user(void);
/* The target of that server; the pointers in it are static or the arguments'. */
struct ssh_target sshd_target(const struct sshd *d, const char *const *identity);
/* A port of loopback where nothing listens. */
uint16_t sshd_closed_port(void);

struct ask {
    struct loop *loop;
    struct ssh_run *run;
    struct buf out, err;
    int ends;
    bool ran;
    enum ssh_fail fail;
    int status;
    char signal[32], text[1200];
    /* set by the test, for what it does in the middle */
    size_t stop_at;  /* the loop stops when so many bytes of output are there */
    bool close_then; /* and the run is closed from within the callback */
    struct ssh_pool *pool;
    uint32_t most; /* sessions of the pool, seen at any output */
    int *left;     /* counted down at the end; the loop stops at 0 */
};
/* Returns what ssh_exec() does. */
int ask_begin(struct ask *a, struct loop *l, struct ssh_pool *p, const struct ssh_target *t,
              const char *command, struct str input);
/* Runs the loop until it is stopped; false if that took too long. */
bool ask_loop(struct loop *l);
/* Begins, and runs the loop until the end. */
void ask(struct ask *a, struct loop *l, struct ssh_pool *p, const struct ssh_target *t,
         const char *command, struct str input);
void ask_done(struct ask *a);

#endif
