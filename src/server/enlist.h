/* enlist.h - who may be a worker: those who have joined, and invitations to join
 *
 * An invitation is a secret that one worker may trade for a credential of its own, once and within
 * its time.  A worker has a name, which nobody else has, labels, and is known by the hash of its
 * credential.  What a worker does (capacity, tasks) is not known here; see workers.h.  Rows of both
 * join the open group like everything else.  docs/rfc/09-fleet.md, section 7.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SERVER_ENLIST_H
#define SERVER_ENLIST_H

#include "server/server_i.h"

struct enlisted {
    uint32_t id, rev, tenant;
    char *name, *hash;
    char *labels; /* JSON: a map */
    uint64_t created_ms;
    bool draining; /* an operator wants it to get nothing new */
};

struct enlist;
struct enlist *enlist_new(void);
void enlist_free(struct enlist *all); /* NULL: nothing */
int enlist_load(struct server *s, struct err *e);

/* Borrowed; NULL: nobody. */
const struct enlisted *enlist_named(const struct server *s, const char *name);
const struct enlisted *enlist_next(const struct server *s, uint32_t after); /* by id */
bool enlist_draining(const struct server *s, const char *name);
/* Whose credential is it?  ERR_UNAUTHORIZED. */
int enlist_authenticate(const struct server *s, const char *credential, struct caller *ret_who,
                        struct err *e);

/* name "": the worker chooses it. */
void enlist_invite(struct server *s, const struct server_call *c, const char *name,
                   const struct value *labels, uint64_t until_ms, const char *secret);
struct enlist_invite {
    uint32_t id, tenant;
    char *hash, *name, *labels;
    uint64_t until_ms;
    bool used;
};
/* The invitation that a secret is, good for that name now.  ERR_REFUSED tells what is wrong.
 */
int enlist_invited(const struct server *s, const char *secret, const char *name,
                   const struct enlist_invite **ret, struct err *e);
/* The invitation is used; the worker is there from now on, its earlier credential of no use. */
const struct enlisted *enlist_join(struct server *s, const struct server_call *c, const char *name,
                                   const struct enlist_invite *by, const struct value *labels,
                                   const char *credential);
void enlist_change(struct server *s, const struct server_call *c, const struct enlisted *w,
                   const struct value *labels, bool draining);
void enlist_drop(struct server *s, const struct server_call *c, const struct enlisted *w);

#endif
