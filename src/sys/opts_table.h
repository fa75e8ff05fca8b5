/* opts_table.h - settings of a program as a table of keys
 *
 * Each key exists once, as a line X(name, type, default, least, most, choices, help) of the
 * program's own list; struct, reader, --set, sample file and man page come from that.
 *
 *   type      in the file                     in the struct
 *   TEXT      a string; one of CHOICES if any const char *
 *   PATH      a string                        const char *
 *   UINT      an integer                      uint64_t
 *   DURATION  "250ms" "10s" "5m" "2h" "30d"   uint64_t, milliseconds
 *   SIZE      "512" "64KiB" "8MiB" "4GiB"     uint64_t, bytes
 *   BOOL      true or false                   bool
 *
 * Later sources win: built-in, file, --set.  Errors name the place ("anneald.yaml:3:7", "--set")
 * and, for a key that does not exist, the nearest one that does.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SYS_OPTS_TABLE_H
#define SYS_OPTS_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"

enum {
    OPTS_KIB = 1024,
    OPTS_MIB = 1024 * 1024,
    OPTS_SECOND = 1000,
    OPTS_DAY = 24 * 3600 * 1000,
};

#define OPTS_TYPES(X)                                                                              \
    X(TEXT, "text", const char *)                                                                  \
    X(PATH, "path", const char *)                                                                  \
    X(UINT, "integer", uint64_t)                                                                   \
    X(DURATION, "duration", uint64_t)                                                              \
    X(SIZE, "size", uint64_t)                                                                      \
    X(BOOL, "boolean", bool)
enum opts_type {
#define X(id, text, ctype) OPTS_##id,
    OPTS_TYPES(X)
#undef X
};
#define X(id, text, ctype) typedef ctype opts_##id##_t;
OPTS_TYPES(X)
#undef X
const char *opts_type_name(enum opts_type type);

struct opts_info {
    const char *name, *def, *choices, *help; /* choices: "a|b|c", "" if free */
    enum opts_type type;
    uint64_t least, most;
};
struct opts_table {
    const struct opts_info *infos;
    const size_t *offsets; /* of the values in the program's struct */
    size_t n;
    size_t origin_offset; /* of a const char *[n]: "" for a default, "file:line:col", "--set" */
    size_t mem_offset;    /* of the arena of the texts */
};

void opts_table_init(const struct opts_table *t, void *o); /* o is all zero */
/* A map of settings; an empty file changes nothing.  On failure o may hold a part of the file. */
int opts_table_load(const struct opts_table *t, void *o, const char *path, struct err *e);
int opts_table_load_text(const struct opts_table *t, void *o, const char *name, struct str yaml,
                         struct err *e);
/* "key=value", the value as it would stand in the file without quotes. */
int opts_table_set(const struct opts_table *t, void *o, const char *assignment, struct err *e);
/* The value as a file would say it: "8MiB", "5s". */
void opts_table_show(const struct opts_table *t, const void *o, size_t key, struct buf *b);

#endif
