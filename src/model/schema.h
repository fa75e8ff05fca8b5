/* schema.h - does a value have the shape that a schema asks for?
 *
 * The subset of JSON Schema that our catalogs and the published API use: type, enum, const,
 * minimum, maximum, minLength, maxLength, pattern, items, minItems, maxItems, uniqueItems,
 * properties, required, additionalProperties, oneOf, anyOf, default, $ref; title, description,
 * format, examples and x-* are read past.  An integer is a value read as one: 1.0 is a number.
 * Patterns are POSIX extended.
 *
 * Work is bounded: SCHEMA_MAX_DEPTH levels and SCHEMA_MAX_STEPS steps, whatever schema and value
 * say, and every pattern is refused that could make the matcher blow up.
 *
 * On failure e->at is the JSON pointer of the offending field, "" for the whole value.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MODEL_SCHEMA_H
#define MODEL_SCHEMA_H

#include "base/err.h"
#include "base/value.h"

enum {
    SCHEMA_MAX_DEPTH = 64,
    SCHEMA_MAX_STEPS = 1000000,
    SCHEMA_MAX_FILL = 100000,     /* schemas looked at while defaults are filled in */
    SCHEMA_MAX_PATTERN = 256,     /* bytes of a pattern */
    SCHEMA_MAX_MATCH = 64 * 1024, /* bytes of a text that a pattern is tried on */
};

/* Where {"$ref": "#/components/schemas/NAME"} leads; a schema given without one cannot refer. */
struct schema_env {
    const struct value *(*find)(void *ctx, struct str name); /* NULL: no such schema */
    void *ctx;
};

/* v may be NULL, which is checked as null.  ERR_INVALID, or ERR_LIMIT past a bound. */
int schema_check(const struct value *schema, const struct value *v, struct err *e);
int schema_check_env(const struct schema_env *env, const struct value *schema,
                     const struct value *v, struct err *e);

/* Is this a schema that schema_check() fully understands?  Unknown keywords, wrong arguments,
 * patterns that do not compile and defaults that break their own schema are refused; e->at points
 * into the schema.  env may be NULL. */
int schema_check_self(const struct schema_env *env, const struct value *schema, struct err *e);

/* Is the pattern one that compiles and that cannot run away?  For whoever else has patterns of
 * users: what passes may be given to regcomp(). */
int schema_pattern_check(struct str pattern, struct err *e);

/* v with the defaults of absent properties filled in, at every level that is there; v itself if
 * nothing was added, and the schema's own default if v is NULL (NULL if it has none).  Shares v and
 * schema. Past SCHEMA_MAX_DEPTH or SCHEMA_MAX_FILL nothing more is added. */
const struct value *schema_defaults(struct arena *a, const struct value *schema,
                                    const struct value *v);
const struct value *schema_defaults_env(struct arena *a, const struct schema_env *env,
                                        const struct value *schema, const struct value *v);

/* The value at a JSON pointer as found in e->at; the deepest one on the way if there is none. */
const struct value *schema_pointer_get(const struct value *v, const char *pointer);

#endif
