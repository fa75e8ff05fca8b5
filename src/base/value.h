/* value.h - the one tree that JSON, YAML, SQL and templates meet in
 *
 * Values live in an arena and are immutable once handed on; the builders below are for the code
 * that makes a tree.  Each value carries where it was read: source (the caller's number for a file
 * or a layer, 0 for none), line and column.  Strings stay strings; integers are int64 exactly; a
 * real is a finite double.  Maps keep insertion order and have unique keys.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_VALUE_H
#define BASE_VALUE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/str.h"

#define VALUE_KINDS(X)                                                                             \
    X(NULL, "null")                                                                                \
    X(BOOL, "boolean")                                                                             \
    X(INT, "integer")                                                                              \
    X(REAL, "number")                                                                              \
    X(STRING, "string")                                                                            \
    X(LIST, "list")                                                                                \
    X(MAP, "map")
/* clang-format off */
enum value_kind {
#define X(id, text) VALUE_##id,
    VALUE_KINDS(X)
#undef X
    VALUE_KIND_COUNT
};
/* clang-format on */

struct member;
struct value {
    uint8_t kind;
    uint8_t indexed; /* private to base: a hash index lies in front of the members */
    uint16_t source;
    uint32_t line : 20, column : 12; /* 1-based; saturate; 0 = unknown */
    uint32_t n;                      /* bytes, items or members */
    uint32_t cap;                    /* builders only; 0: shared, a builder must move it first */
    union {
        bool b;
        int64_t i;
        double r;
        const char *s; /* NUL-terminated as well; may hold NUL inside only if JSON said \u0000 */
        struct value *items;
        struct member *members;
    };
};
struct member {
    const char *key;
    uint32_t key_n;
    uint32_t key_line : 20, key_column : 12;
    struct value v;
};

const char *value_kind_name(enum value_kind k);

/* Builders; each returns a new value in the arena. */
struct value *value_null(struct arena *a);
struct value *value_bool(struct arena *a, bool b);
struct value *value_int(struct arena *a, int64_t i);
struct value *value_real(struct arena *a, double r);
struct value *value_str(struct arena *a, struct str s);   /* copies */
struct value *value_text(struct arena *a, const char *s); /* copies; NULL makes a null */
struct value *value_list(struct arena *a);
struct value *value_map(struct arena *a);
/* The item is copied shallowly into the container (its children are shared): what its builder adds
 * to it afterwards is not seen there.  Changing one that was read or copied moves it first. */
void value_add(struct arena *a, struct value *list, const struct value *item);
void value_set(struct arena *a, struct value *map, const char *key, const struct value *v);
void value_set_str(struct arena *a, struct value *map, struct str key, const struct value *v);
/* Shorthands for value_set(). */
void value_put_text(struct arena *a, struct value *map, const char *key, const char *s);
void value_put_int(struct arena *a, struct value *map, const char *key, int64_t i);
void value_put_bool(struct arena *a, struct value *map, const char *key, bool b);

/* Readers; v may be NULL everywhere, which reads as absent. */
const struct value *value_get(const struct value *map, const char *key);
const struct value *value_get_str(const struct value *map, struct str key);
/* Dotted path "a.b.0.c": map keys and list indexes. */
const struct value *value_at(const struct value *v, const char *path);
struct str value_as_str(const struct value *v); /* {"",0} unless a string */
const char *value_as_text(const struct value *v, const char *otherwise);
int64_t value_as_int(const struct value *v, int64_t otherwise);
bool value_as_bool(const struct value *v, bool otherwise);
static inline bool value_is(const struct value *v, enum value_kind k)
{
    return v && v->kind == k;
}

/* Map order does not matter, places neither; 1 and 1.0 differ, as they are written differently. */
bool value_equal(const struct value *a, const struct value *b);
struct value *value_copy(struct arena *a, const struct value *v); /* deep */
/* Maps merge key by key, everything else, null included, replaces.  Shares unchanged parts with its
 * inputs, which must outlive it.  Positions stay those of the winning value. */
const struct value *value_merge(struct arena *a, const struct value *under,
                                const struct value *over);
/* What must be merged over `from` to get the changed and new keys of `to`: the deep diff that makes
 * a wall.  NULL if nothing changed.  Keys that vanished are not expressible by merging and are
 * listed, dotted, in *ret_gone (a list value, may be NULL if not wanted). */
const struct value *value_diff(struct arena *a, const struct value *from, const struct value *to,
                               const struct value **ret_gone);

#endif
