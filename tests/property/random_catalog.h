/* random_catalog.h - roles as somebody thought of them, before they are YAML
 *
 * The naive model knows a catalog only as this; the code under test knows it only as text.  A name
 * is a number: a role's own is its index, a provided one PROVIDED + k.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_PROPERTY_RANDOM_CATALOG_H
#define TESTS_PROPERTY_RANDOM_CATALOG_H

#include "base/arena.h"
#include "base/str.h"
#include "base/value.h"
#include "dice.h"

enum { ROLES_MOST = 9, PROVIDED = 100, PROVIDED_MOST = 3, LIST_MOST = 8 };

struct truth_list {
    int at[LIST_MOST], n;
};
struct truth_attribute {
    const char *name, *path; /* path: "a/b"; its name by default */
    bool has_default;
    int value;
};
struct truth_want {
    int role; /* whose attribute; -1: a bare path */
    const char *attribute, *path;
};
struct truth_role {
    char name[16];
    struct truth_list requires, uses, provides, conflicts;
    bool implicit, cluster, abstract;
    bool special; /* of the jig whose implementor is role 0 */
    struct truth_attribute attributes[3];
    struct truth_want wants[2];
    int n_attributes, n_wants;
    int converge, stop, remove; /* steps, one after the other */
};
struct truth {
    struct truth_role roles[ROLES_MOST];
    int n;
};

void truth_roll(struct dice *d, struct truth *t);
void truth_write(const struct truth *t, struct buf *b); /* barclamp.yaml */

/* Names that a role requires, each once: its list, those it reads attributes of, the implementor of
 * its jig. */
struct truth_list truth_required(const struct truth *t, int role);
bool truth_offers(const struct truth *t, int role, int name);
/* May they share a node? */
bool truth_clash(const struct truth *t, int a, int b);
/* Are these data that a user may give to this role? */
bool truth_accepts(const struct truth *t, int role, const struct value *user);
/* Defaults at their paths. */
const struct value *truth_defaults(struct arena *mem, const struct truth *t, int role);

/* Data of a user, mostly such as the role takes; and any other document.  Canonical JSON, "" for
 * none. */
const char *random_user(struct dice *d, struct arena *mem, const struct truth *t, int role);
const char *random_document(struct dice *d, struct arena *mem);

/* Merged as documents are, one over the other; either may be NULL. */
const struct value *naive_merge(struct arena *mem, const struct value *under,
                                const struct value *over);
const struct value *naive_parse(struct arena *mem, const char *json); /* NULL for "" */
const char *naive_text(struct arena *mem, const struct value *v);     /* "" for NULL */
/* {"a": {"b": v}} for "a/b". */
const struct value *naive_at_path(struct arena *mem, const char *path, const struct value *v);

#endif
