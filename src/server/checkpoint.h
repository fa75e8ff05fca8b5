/* checkpoint.h - whole engine states in the store, from which the journal can be replayed
 *
 * One is taken when a new store is made (seq 0 needs none: an empty engine), and then each time the
 * journal has grown by enough; retention drops whole checkpoints with the journal before them.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SERVER_CHECKPOINT_H
#define SERVER_CHECKPOINT_H

struct server;
struct err;
/* Called when a group is durable and nothing is open: takes one if it is time, and trims what is
 * too old. */
void checkpoint_consider(struct server *s);
/* Before anything is done at a start: one of the state as it is stored, whole when this returns.
 * Nothing for a new store, nor if the last event has one. */
int checkpoint_history(struct server *s, struct err *e);

#endif
