/* worker_identity.h - who a worker is: kept in its state directory once it has joined
 *
 * worker.json holds the server's address, the name and the credential, readable by its user only;
 * ca.pem the authority that the server's certificate is checked with from then on.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BIN_WORKER_IDENTITY_H
#define BIN_WORKER_IDENTITY_H

#include <stdbool.h>

#include "base/err.h"

struct worker_identity {
    char *server, *name, *credential;
    char *ca;    /* file; NULL: no TLS */
    bool own_ca; /* that authority signs for this server only */
};
void worker_identity_done(struct worker_identity *w);
/* ERR_NOT_FOUND with the remedy if nobody has joined here. */
int worker_identity_load(struct worker_identity *w, const char *dir, struct err *e);

struct worker_joining {
    const char *token;  /* ADDRESS#FINGERPRINT#SECRET */
    const char *name;   /* "": that of the host */
    const char *labels; /* key=value, by commas */
    bool replace;
};
/* Trades the token for a credential and keeps it in dir.  Blocks. */
int worker_identity_join(const struct worker_joining *j, const char *dir, struct err *e);
/* "k=v,k=v" as a JSON map (heap); NULL with e set. */
char *worker_labels_json(const char *text, struct err *e);

#endif
