/* macro.h - what a config says about the cluster it is in: %host.service.zookeeper%
 *
 *     %cluster.owner%                 who made the cluster
 *     %host.self%  %ip.self%          of the node that the text is for; %ip.TYPE.self%
 *     %host.service.S%                of all nodes with the service, with commas between them
 *     %ip.service.S%  %ip.TYPE.service.S%     TYPE is a kind of address; bind_v4 if not said
 *     %host.service.S[2]%             of one of them, by node number, from 0 on; ip likewise
 *     %num.service.S%                 how many there are, 0 if none
 *     %instance.self.service.S%       which of them this node is, from 1 on
 *     %map(X,'$:2181')%               each of X in that form: $ is the element, $$ a dollar
 *     %join(X,';')%  %join(map(X,'..'),';')%  with another separator
 *
 * Lists go by the names of nodes, in the order of bytes.  A name or an address of a service that no
 * node has, or an instance of one that this node does not have, stays as it is written.
 *
 * "%%" never opens a macro and stays.  Any other percent sign opens one if what lies between it and
 * the next is a word of lower-case letters followed by "." or "(", without blanks; else it is text:
 * "100% of %host.self%", "%d %m%n".  What opens one and cannot be read is an error, with the place,
 * that is found without any node: when a request is made, not when a task runs.
 *
 * Pure: no clock, no I/O; nothing is shared but a struct macro_cluster, which is used by one thread
 * at a time.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TEMPLATE_MACRO_H
#define TEMPLATE_MACRO_H

#include "base/alloc.h"
#include "base/arena.h"
#include "base/err.h"
#include "base/map.h"
#include "base/str.h"
#include "base/value.h"

enum {
    MACRO_MAX_TEXT = 16 << 20,   /* bytes of one text, expanded */
    MACRO_MAX_TOTAL = 256 << 20, /* bytes that are made once for all nodes of a cluster */
    MACRO_MAX_INDEX = 1000000,
};
#define MACRO_NO_NODE UINT32_MAX

/* --- the cluster --- */

struct macro_address {
    struct str type, address;
};
struct macro_node {
    struct str name;
    uint32_t number;     /* no two are equal */
    struct str hostname; /* "": not known */
    const struct macro_address *addresses;
    uint32_t n_addresses;
    const struct str *services;
    uint32_t n_services;
};
struct macro_view {
    struct str owner;
    const struct macro_node *nodes;
    uint32_t n_nodes;
};
/* What is expanded for many nodes of one cluster.  Borrows the view.  Whatever is the same for all
 * of them is made once: lists, texts, and parts of values. */
struct macro_cluster;
struct macro_cluster *macro_cluster_new(const struct macro_view *view);
void macro_cluster_free(struct macro_cluster *c);
static inline void macro_cluster_scope_end(struct macro_cluster **c)
{
    macro_cluster_free(*c);
}

/* --- texts --- */

/* Can that be read, without the percent signs around it?  ERR_SYNTAX. */
int macro_check(struct str macro, struct err *e);
/* Can all macros of a text be read, and are all services they name keys of the map?  NULL: any.
 * ERR_SYNTAX, or ERR_UNKNOWN_NAME with the nearest. */
int macro_text_validate(struct str text, const struct strmap *services, struct err *e);

/* A text that was read once, to be expanded often. */
struct macro_text;
/* NULL only on ERR_SYNTAX.  Owned by the arena; does not need the text any more. */
const struct macro_text *macro_text_compile(struct arena *a, struct str text, struct err *e);
/* Has it macros at all, and does what becomes of it depend on the node? */
bool macro_text_has_macros(const struct macro_text *t);
bool macro_text_is_of_self(const struct macro_text *t);
/* Appends the text for the node with that index; MACRO_NO_NODE: for none, macros of self stay.
 * ERR_REFUSED if a node's name or address is not known or there is no such instance, ERR_LIMIT. */
int macro_text_expand(const struct macro_text *t, struct macro_cluster *c, uint32_t self,
                      struct buf *out, struct err *e);

/* --- values --- */

/* All texts in a value, keys not among them; e->at is the JSON pointer of the bad one. */
int macro_value_validate(const struct value *v, const struct strmap *services, struct err *e);
/* A value with its texts expanded.  What does not change is shared with v, what is the same for all
 * nodes with the cluster: both must outlive the result, and v must stay as it is until the cluster
 * is freed, since its parts are remembered by address.  v itself if nothing changes. */
int macro_value_expand(struct arena *a, const struct value *v, struct macro_cluster *c,
                       uint32_t self, const struct value **ret, struct err *e);

#endif
