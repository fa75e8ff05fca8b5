/* ssh_openssh_i.h - the command line of a master, and what its last words mean */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SSH_SSH_OPENSSH_I_H
#define SSH_SSH_OPENSSH_I_H

#include "ssh/ssh_i.h"

/* The host key file of a peer.  Heap. */
char *ssh_known_path(const struct ssh_peer *peer);
void ssh_known_remove(const struct ssh_peer *peer);
const char *const *ssh_openssh_argv(struct arena *a, const struct ssh_conn *c, const char *socket);
/* From standard error of a master that ended. */
enum ssh_fail ssh_openssh_why(const char *words, char ret_why[SSH_WHY]);

#endif
