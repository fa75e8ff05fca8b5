/* ssh_libssh_i.h - what the files of the libssh transport share
 *
 * libssh is driven by its own event context, one a connection, polled without waiting whenever the
 * loop finds the socket ready: all data, ends and exits then come as callbacks of channels.  Three
 * things about it are not in its manual and shape this code:
 * - It makes a socket that it is given blocking, so that is undone after every step of a connect;
 *   and it closes the socket at will, so it gets a duplicate and we watch ours.
 * - Its calls may handle packets of any channel, so they are made from the loop only, never from
 *   within a call of our users; a channel is freed after the handling, never inside.
 * - A channel that is freed still exists until the other side closes it; its callbacks must be gone
 *   by then.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SSH_SSH_LIBSSH_I_H
#define SSH_SSH_LIBSSH_I_H

#include <libssh/libssh.h>
#include <libssh/callbacks.h>

#include "ssh/ssh_i.h"

enum ssh_lib_step { SSH_LIB_DIAL, SSH_LIB_KEX, SSH_LIB_AUTH, SSH_LIB_OPEN, SSH_LIB_DEAD };
struct ssh_lib_conn {
    struct ssh_conn *c;
    enum ssh_lib_step step;
    struct ssh_dial *dial;
    int fd; /* ours, which is watched; libssh has a duplicate */
    struct loop_watch *watch;
    ssh_session session;
    ssh_event event;
    struct ssh_counter_struct counter;
    uint64_t heard;           /* bytes, when last told */
    size_t identity, variant; /* the key to try */
    uint32_t denials;
    struct buf tried; /* for the text of a refusal */
    TAILQ_HEAD(, ssh_lib_run) runs;
    bool driving;      /* sessions are being looked at: not again from inside */
    bool drive_posted; /* somebody waits for that */
};

/* ssh_libssh.c */
/* To be called from the loop after every handling of packets: moves the sessions on, watches for
 * what libssh waits for and reports the end of the connection. */
void ssh_lib_drive(struct ssh_lib_conn *l);
bool ssh_lib_is_dead(const struct ssh_lib_conn *l);
void ssh_lib_drive_post(struct ssh_lib_conn *l);

/* ssh_libssh_run.c */
void ssh_lib_run_start(struct ssh_run *r);
void ssh_lib_run_stop(struct ssh_run *r);
/* A step for each session; what ended is told and freed. */
void ssh_lib_runs_step(struct ssh_lib_conn *l);
/* The connection is gone: those whose exit is known are told. */
void ssh_lib_runs_end(struct ssh_lib_conn *l);
void ssh_lib_runs_free(struct ssh_lib_conn *l);

/* ssh_libssh_key.c: private keys, read once and again when the file changes */
struct ssh_lib_keys;
struct ssh_lib_keys *ssh_lib_keys_new(void);
void ssh_lib_keys_free(struct ssh_lib_keys *k);
enum { SSH_LIB_WITH_CERT, SSH_LIB_PLAIN, SSH_LIB_VARIANTS };
/* Borrowed until the file changes; NULL if there is none, with *ret_why set if there should be. */
ssh_key ssh_lib_key_get(struct ssh_lib_keys *k, const char *path, size_t variant,
                        const char **ret_why);

#endif
