/* schema_i.h - what the parts of the schema checker share
 *
 * schema.c checks values; schema_self.c checks schemas and fills in defaults; schema_parts.c has
 * what both use.  The keywords are listed once, here, in the order in which a value is checked: a
 * misspelt field is a better message than the missing one it stands for, so unknown fields come
 * before required ones.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MODEL_SCHEMA_I_H
#define MODEL_SCHEMA_I_H

#include "model/schema.h"

/*    id            keyword                 what its argument must be */
#define SCHEMA_KEYWORDS(X)                                                                         \
    X(REF, "$ref", TEXT)                                                                           \
    X(TYPE, "type", TYPE)                                                                          \
    X(ENUM, "enum", LIST)                                                                          \
    X(CONST, "const", ANY)                                                                         \
    X(ADDITIONAL, "additionalProperties", SCHEMA)                                                  \
    X(REQUIRED, "required", NAMES)                                                                 \
    X(PROPERTIES, "properties", SCHEMA_MAP)                                                        \
    X(ITEMS, "items", SCHEMA)                                                                      \
    X(MINIMUM, "minimum", NUMBER)                                                                  \
    X(MAXIMUM, "maximum", NUMBER)                                                                  \
    X(MIN_LENGTH, "minLength", SIZE)                                                               \
    X(MAX_LENGTH, "maxLength", SIZE)                                                               \
    X(PATTERN, "pattern", PATTERN)                                                                 \
    X(MIN_ITEMS, "minItems", SIZE)                                                                 \
    X(MAX_ITEMS, "maxItems", SIZE)                                                                 \
    X(UNIQUE_ITEMS, "uniqueItems", BOOL)                                                           \
    X(ANY_OF, "anyOf", SCHEMA_LIST)                                                                \
    X(ONE_OF, "oneOf", SCHEMA_LIST)                                                                \
    X(DEFAULT, "default", ANY)                                                                     \
    X(FORMAT, "format", TEXT)                                                                      \
    X(TITLE, "title", TEXT)                                                                        \
    X(DESCRIPTION, "description", TEXT)                                                            \
    X(EXAMPLES, "examples", LIST)                                                                  \
    X(DEPRECATED, "deprecated", BOOL)                                                              \
    X(READ_ONLY, "readOnly", BOOL)                                                                 \
    X(WRITE_ONLY, "writeOnly", BOOL)
/* Kinds of value that an argument may be; any other is read as absent, so that a schema nobody has
 * checked can be wrong but not dangerous. */
enum {
    SCHEMA_ARG_ANY = 0x7f,
    SCHEMA_ARG_TEXT = 1u << VALUE_STRING,
    SCHEMA_ARG_PATTERN = 1u << VALUE_STRING,
    SCHEMA_ARG_BOOL = 1u << VALUE_BOOL,
    SCHEMA_ARG_NUMBER = 1u << VALUE_INT | 1u << VALUE_REAL,
    SCHEMA_ARG_SIZE = 1u << VALUE_INT,
    SCHEMA_ARG_LIST = 1u << VALUE_LIST,
    SCHEMA_ARG_NAMES = 1u << VALUE_LIST,
    SCHEMA_ARG_TYPE = 1u << VALUE_STRING | 1u << VALUE_LIST,
    SCHEMA_ARG_SCHEMA = 1u << VALUE_BOOL | 1u << VALUE_MAP,
    SCHEMA_ARG_SCHEMA_MAP = 1u << VALUE_MAP,
    SCHEMA_ARG_SCHEMA_LIST = 1u << VALUE_LIST,
};
enum schema_keyword {
#define X(id, text, arg) KEYWORD_##id,
    SCHEMA_KEYWORDS(X)
#undef X
        KEYWORD_COUNT
};

/*    name       for messages     kinds of value that are of it */
#define SCHEMA_TYPES(X)                                                                            \
    X("null", "null", 1u << VALUE_NULL)                                                            \
    X("boolean", "true or false", 1u << VALUE_BOOL)                                                \
    X("integer", "an integer", 1u << VALUE_INT)                                                    \
    X("number", "a number", 1u << VALUE_INT | 1u << VALUE_REAL)                                    \
    X("string", "a string", 1u << VALUE_STRING)                                                    \
    X("array", "a list", 1u << VALUE_LIST)                                                         \
    X("object", "a map", 1u << VALUE_MAP)
struct schema_type {
    const char *name, *phrase;
    unsigned kinds;
};
/* NULL if there is no such type. */
const struct schema_type *schema_type_find(struct str name);
/* What a value is, for "expected a string, not a list". */
const char *schema_kind_phrase(const struct value *v);
extern const char *const schema_type_names[];
enum { SCHEMA_TYPE_COUNT = 7 };

/* The way to a value, innermost step first; written as a pointer only if something is wrong. */
struct schema_path {
    const struct schema_path *up;
    struct str key; /* s == NULL: an index */
    uint32_t index;
};
void schema_path_write(const struct schema_path *p, char *ret, size_t n);

/* One check: what is left of its budget, and where references lead. */
struct schema_walk {
    const struct schema_env *env;
    uint32_t steps;
};

/* A schema's arguments by keyword, NULL where absent or of a kind they cannot be; returns the first
 * member that was not taken, if any. */
const struct member *schema_split(const struct value *schema,
                                  const struct value *ret_args[KEYWORD_COUNT]);
const char *schema_keyword_name(enum schema_keyword k);
/* The schema that a $ref names; NULL if it names none. */
const struct value *schema_ref(const struct schema_env *env, const struct value *ref);
/* Takes one step at a depth; ERR_LIMIT if there is none left. */
int schema_step(struct schema_walk *w, const struct schema_path *at, unsigned depth, struct err *e);
int schema_walk_check(struct schema_walk *w, const struct schema_path *at, unsigned depth,
                      const struct value *schema, const struct value *v, struct err *e);

#endif
