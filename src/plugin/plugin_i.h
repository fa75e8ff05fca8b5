/* plugin_i.h - reading one descriptor: places of errors and the shapes that its parts share */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLUGIN_PLUGIN_I_H
#define PLUGIN_PLUGIN_I_H

#include "plugin/plugin.h"

struct plugin_reader {
    struct arena *mem;
    const char *file; /* for errors */
    struct str text;
    struct err *e;
    bool bad; /* an error was told: the first one counts */
};

/* At the value's place, with the line it is in. */
void plugin_fault_at(struct plugin_reader *r, const struct value *v, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
void plugin_fault_hint(struct plugin_reader *r, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* A member's key as a value, for its place. */
struct value plugin_key_of(const struct value *map, const struct member *m);

/* Each tells what is wrong and yields something harmless. */
struct str plugin_get_text(struct plugin_reader *r, const struct value *v, const char *what);
struct str plugin_get_name(struct plugin_reader *r, const struct value *v, const char *what);
bool plugin_get_bool(struct plugin_reader *r, const struct value *v, const char *what);
/* The position of the word in the table; 0 if it is none of it. */
int plugin_get_choice(struct plugin_reader *r, const struct value *v, const char *what,
                      const char *const *words, size_t n);
/* A map or list of at most PLUGIN_MAX_LIST; NULL if it is none. */
const struct value *plugin_get_map(struct plugin_reader *r, const struct value *v,
                                   const char *what);
const struct value *plugin_get_list(struct plugin_reader *r, const struct value *v,
                                    const char *what);

typedef void plugin_part_f(struct plugin_reader *r, const struct value *v, void *object);
struct plugin_part {
    const char *name;
    plugin_part_f *read;
    bool needed;
};
/* Reads the members of a map by the table; an unknown one is a fault with the nearest name. */
void plugin_get_parts(struct plugin_reader *r, const struct value *v, const char *what,
                      const struct plugin_part *parts, size_t n, void *object);

/* plugin_read_type.c: the value of one member of `types`. */
void plugin_get_type(struct plugin_reader *r, const struct value *v, struct plugin_type *ret);

#endif
