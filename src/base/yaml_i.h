/* yaml_i.h - between the scanner, the tree and the writer of YAML
 *
 * yaml.c turns what libfyaml reports into the events below; yaml_tree.c turns events into values
 * and knows nothing of libfyaml; yaml_plain.c says what an unquoted scalar means, to reader and
 * writer.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_YAML_I_H
#define BASE_YAML_I_H

#include "base/alloc.h"
#include "base/arena_i.h"
#include "base/map.h"
#include "base/source_i.h"
#include "base/value.h"
#include "base/yaml.h"

/* --- plain scalars --- */

/* The kind that an unquoted scalar has.  For every kind but VALUE_STRING *ret_v gets kind and
 * content; its place is left alone. */
enum value_kind yaml_plain_resolve(struct str s, struct value *ret_v);
/* A decimal number in any of YAML's spellings, whole ones included; for !!float. */
bool yaml_plain_real(struct str s, double *ret_r);

/* --- the text of scalars --- */

static inline bool yaml_is_blank(char c)
{
    return c == ' ' || c == '\t';
}
static inline bool yaml_is_break(char c)
{
    return c == '\n' || c == '\r';
}

/* Decodes the quoted scalar whose text starts at `at`, behind its quote.  False if it is malformed.
 */
bool yaml_quoted_text(const struct source *text, size_t at, struct buf *out);

struct yaml_block {
    size_t content;     /* where its first line starts */
    int64_t parent;     /* column of what it is in, from 0; -1: nothing */
    bool folded;        /* > rather than | */
    char chomp;         /* '-', '+' or '\0' */
    uint32_t indicator; /* indentation given in the header, 0 for none */
};
void yaml_block_text(const struct source *s, const struct yaml_block *b, struct buf *out);
/* True if both texts have the same characters, blanks and line breaks aside. */
bool yaml_block_agrees(struct str ours, struct str theirs);

/* --- events --- */

enum yaml_event_kind { YAML_SCALAR, YAML_ALIAS, YAML_LIST, YAML_MAP, YAML_END };
struct yaml_event {
    enum yaml_event_kind kind;
    bool plain;          /* a scalar without quotes, block sign or tag */
    struct str text;     /* of a scalar; the name of an alias */
    struct str anchor;   /* s is NULL if there is none */
    struct str tag;      /* whole, "tag:yaml.org,2002:str"; s is NULL if there is none */
    size_t pos;          /* where it starts, in bytes */
    size_t line, column; /* the same for people */
};

/* --- the tree being built --- */

struct yaml_anchor {
    struct value v;
    uint64_t weight; /* values in it, aliases expanded */
    uint32_t height;
    bool open; /* the value it names is not complete yet */
};
struct yaml_level { /* an open container */
    size_t at;      /* where it is on the stack; its children follow */
    size_t merge;   /* where its << is, 0 for none */
    uint64_t weight;
    uint32_t height;
    uint32_t anchor;
    bool want_key;
};
struct yaml_tree {
    struct arena *arena;
    const struct source *text;
    struct err *e;
    uint64_t max_values, values;
    uint32_t max_depth;
    uint16_t source;
    const struct yaml_options *options;
    struct text_pool pool;
    VEC(struct member) stack; /* the first is the document's value */
    VEC(struct yaml_level) open;
    VEC(struct yaml_anchor) anchors;
    struct strmap names; /* of anchors, to their number */
};
int yaml_tree_event(struct yaml_tree *t, const struct yaml_event *ev);
/* The column, from 0, of the innermost open container; -1 outside of all. */
int64_t yaml_tree_column(const struct yaml_tree *t);
void yaml_tree_done(struct yaml_tree *t);

#endif
