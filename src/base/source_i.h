/* source_i.h - the text being read, for errors that point into it */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_SOURCE_I_H
#define BASE_SOURCE_I_H

#include "base/err.h"

struct source {
    const char *name; /* NULL: errors say "line:col" only */
    const char *text;
    size_t n;
};
/* 1-based line and column (in characters) of the byte at `pos`. */
void source_locate(const struct source *s, size_t pos, size_t *ret_line, size_t *ret_column);
/* Completes an error already set with the place of `pos` and the line it is in; returns -code. */
int source_point(const struct source *s, size_t pos, struct err *e);
/* What is at `pos`, for people: "'x'", "end of text", "byte 0x01". */
const char *source_found(const struct source *s, size_t pos, char ret[32]);

#endif
