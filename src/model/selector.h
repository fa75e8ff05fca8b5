/* selector.h - which nodes are meant: one small language for every verb
 *
 *     selector = part { "," part }                       union
 *     part     = term { ( "&" | "!" ) term }             and, and not; from left to right
 *     term     = "!" term | "(" selector ")" | word      all but; group; see below
 *     word     = "@" group | key "=" glob | glob | name
 *
 * A bare name is a node's name or a group's; with * ? or [a-z] it is a glob over node names only,
 * and * alone is every node.  Names of nodes are matched whole: db1 is not db1.example.net, db1.*
 * is. Blanks around operators are ignored.
 *
 *     rack=r1* & @web ! n7.example.net, @spare
 *
 * A parsed selector is immutable and lives in the caller's arena.  Matching is linear in its terms
 * and asks nothing of the node that no term mentions.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MODEL_SELECTOR_H
#define MODEL_SELECTOR_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"

enum {
    SELECTOR_MAX_BYTES = 4096,
    SELECTOR_MAX_TERMS = 512,
    SELECTOR_MAX_NEST = 16, /* parentheses and prefixed ! within each other */
};

struct selector;
/* What a selector may ask of one node.  Label answers {NULL, 0} if the node has no such label. */
struct selector_node {
    struct str name;
    struct str (*label)(void *ctx, struct str key);
    bool (*in_group)(void *ctx, struct str group);
    void *ctx;
};

/* ERR_SYNTAX with the text in e->line and a caret below it in e->hint; ERR_LIMIT past a bound. */
int selector_parse(struct arena *a, struct str text, const struct selector **ret_s, struct err *e);
bool selector_match(const struct selector *s, const struct selector_node *node);

/* The words as written, so that a caller can say which name matched nothing; false past the end. */
enum selector_word { SELECTOR_ALL, SELECTOR_NAME, SELECTOR_GLOB, SELECTOR_GROUP, SELECTOR_LABEL };
bool selector_word_at(const struct selector *s, size_t i, enum selector_word *ret_kind,
                      struct str *ret_key, struct str *ret_text);

#endif
