/* face_overlay.h - one request about an overlay: whose it is, and which version is meant */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SERVER_FACE_OVERLAY_H
#define SERVER_FACE_OVERLAY_H

#include "server/graphs.h"
#include "server/server_i.h"

/* The catalog that overlays lie over, loaded or built in. */
const struct catalog *overlay_catalog(const struct server *s);
/* Path, and graph of the query or the body.  ERR_NOT_FOUND with the nearest name, ERR_INVALID. */
int overlay_named(struct server *s, const struct server_call *c, enum overlay_scope scope,
                  struct overlay_key *ret, struct err *e);
/* The version that a parameter names, or else `otherwise`; *ret NULL for version 0: nothing. */
int overlay_version_of(struct server *s, const struct overlay_key *k, const struct server_call *c,
                       const char *parameter, uint32_t otherwise, uint32_t *ret_version,
                       const struct overlay **ret, struct err *e);
/* A version, read, in the place of the one in force; NULL: nothing in its place. */
int overlay_trial(struct server *s, const struct overlay_key *k, const struct overlay *v,
                  struct arena *mem, struct graphs_trial *ret, struct err *e);

/* overlay_diff.c: what differs between two versions, by vertex, in the graph that they give. */
int overlay_diff(struct server *s, const struct server_call *c, enum overlay_scope scope,
                 struct server_reply *r, struct err *e);

#endif
