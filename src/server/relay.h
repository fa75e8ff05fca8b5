/* relay.h - lines to workers that speak HTTP: what waits for them, and what they have said
 *
 * A line is a queue like that of the worker inside the server; its worker's side ends here.  What
 * the server sends is numbered and kept until a poll says that it has arrived, so that an answer
 * that was lost is given again.  What the worker sends has numbers of the worker's own, each taken
 * once and in order.
 *
 * A line belongs to one life of its worker, which the worker names by a random text.  A life that
 * begins (its first message has number 1) ends the one before: what was on the way to that is gone
 * and never arrives anywhere, as the server's leases expect.  Where no line is, as after a restart
 * of the server, any life goes on as it says it was.  Everything else that does not fit is refused
 * with ERR_CONFLICT, and the worker begins a new life.
 *
 * A worker that is not heard of for a minute, or does not fetch what is for it, loses its line.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SERVER_RELAY_H
#define SERVER_RELAY_H

#include "server/server_i.h"

struct relay;
struct relay *relay_new(struct server *s);
void relay_free(struct relay *r); /* NULL: nothing */
/* Ends the line of a worker that was removed or replaced. */
void relay_hang_up(struct server *s, const char *name);

#endif
