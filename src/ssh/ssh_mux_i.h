/* ssh_mux_i.h - the multiplexing protocol of OpenSSH, and who speaks it with a master
 *
 * Messages on the master's control socket: a length, a type, then numbers and texts, all in network
 * order.  Both sides begin with HELLO, version 4.  A client asks for a session and passes three
 * descriptors, one byte each; the master connects them to a channel, says OPENED and later EXIT.
 * OpenSSH's PROTOCOL.mux is the description.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SSH_SSH_MUX_I_H
#define SSH_SSH_MUX_I_H

#include "ssh/ssh_i.h"

enum ssh_mux_kind {
    SSH_MUX_HELLO,  /* a: version */
    SSH_MUX_OPENED, /* a: request, b: session */
    SSH_MUX_DENIED, /* a: request, text */
    SSH_MUX_FAILED, /* a: request, text */
    SSH_MUX_EXIT,   /* a: session, b: status */
    SSH_MUX_ALIVE,  /* a: request, b: process */
    SSH_MUX_OTHER,  /* of no interest to us */
    SSH_MUX_KIND_COUNT
};
enum { SSH_MUX_VERSION = 4, SSH_MUX_MESSAGE_MAX = 256 * 1024 };
struct ssh_mux_msg {
    enum ssh_mux_kind kind;
    uint32_t a, b;
    struct str text; /* into the bytes that were read */
};
/* The bytes that the first message takes; 0 if it is not complete; -1 if it is none. */
int ssh_mux_read(const char *p, size_t n, struct ssh_mux_msg *ret_m);
void ssh_mux_put_hello(struct buf *b);
void ssh_mux_put_session(struct buf *b, uint32_t request, const char *command);
void ssh_mux_put_alive_check(struct buf *b, uint32_t request);

/* ssh_mux_run.c: sessions of a master.  The path is that of its control socket. */
const char *ssh_master_path(const struct ssh_conn *c);
void ssh_mux_run_start(struct ssh_run *r);
void ssh_mux_run_stop(struct ssh_run *r);
void ssh_mux_runs_drain(struct ssh_conn *c);

#endif
