/* yaml.h - YAML text to values (libfyaml events) and values to YAML
 *
 * Core-schema typing decided here: null ~ true false (also Null NULL True TRUE ...), decimal and 0x
 * integers of 64 bits, finite floats; everything else (yes, no, on, off, 010, 1_000, 1e999, dates)
 * is text.  Quoted scalars are always text.  Duplicate keys are refused, `<<` merges (explicit keys
 * win and come first), aliases share but have a budget, depth is limited, keys must be scalars and
 * are text as written, tags other than the core ones are refused, one document per file.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_YAML_H
#define BASE_YAML_H

#include "base/err.h"
#include "base/value.h"

struct yaml_options {
    uint16_t source;
    uint32_t max_depth;  /* 0: 200 */
    uint32_t max_values; /* 0: 1,000,000, counting alias expansion */
    const char *name;    /* file name for errors */
    /* If set, a key that comes twice is told here, and the last one stands; for what others wrote.
     */
    void (*duplicate)(void *ctx, struct str key, uint32_t line, uint32_t last_line);
    void *ctx;
};
/* On error e->at is "name:line:col" and e->line the source line.  Empty input gives a null. */
int yaml_parse(struct arena *a, const char *text, size_t n, const struct yaml_options *o,
               struct value **ret_v, struct err *e);
/* Block style, two spaces, strings quoted exactly where reading would change their type. */
void yaml_write(struct buf *b, const struct value *v);

#endif
