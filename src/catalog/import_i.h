/* import_i.h - one import in the making
 *
 * struct crow is that of Crowbar's barclamps; what it has for reading, naming, telling and writing
 * serves the other importers too.
 *
 *   import_crowbar.c     which texts count, who is called what, what belongs to whom; the steps
 *   import_role.c        a role as a value of our own format
 *   import_attribute.c   attributes of roles and nodes, likewise
 *   import_kwalify.c     a Kwalify schema to the subset of JSON Schema that we check
 *   import_pattern.c     a Ruby regular expression to a POSIX one
 *   import_fuel.c        Fuel's task files to task graphs; import_fuel_task.c: one task of them
 *   import_source.c      values and names of a source
 *   import_write.c       values and comments to files
 *   import_report.c      what is told about it
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CATALOG_IMPORT_I_H
#define CATALOG_IMPORT_I_H

#include "catalog/import.h"

enum { IMPORT_NAME_MAX = 64 };

struct crow_name { /* a name of the source */
    struct str given;
    const char *ours;
};
struct crow_names { /* different names stay different */
    VEC(struct crow_name) at;
    struct strmap by_given, by_ours;
};
struct crow_jig {
    struct str name;           /* as in the source */
    const struct value *at;    /* its map; NULL if it is only used */
    const struct value *first; /* the role that used it first */
    uint32_t barclamp;         /* whose file declares it */
};
struct crow_barclamp {
    uint32_t file;
    const char *name; /* ours */
    const struct value *top, *head;
    bool lenient;
    uint32_t first_attribute, n_attributes; /* of nodes, in crow.attributes */
};
struct crow_role {
    uint32_t barclamp;
    const char *name; /* ours */
    struct str given;
    const struct value *at;
    uint32_t first_attribute, n_attributes;
    VEC(const char *) attached; /* roles that want to be required by this one; ours */
};
struct crow_attribute {
    const char *name, *path; /* ours */
    const struct value *at;
    uint32_t role; /* CATALOG_NONE: a node's */
    bool kept;     /* not the same as another, nor in its way */
};
struct crow_lines { /* where the lines of a file begin; made when first asked for */
    const size_t *at;
    uint32_t n;
};
struct crow_script {
    struct str role, path, text;
    bool seen; /* by the role whose it is */
};
struct crow {
    struct catalog_import *out; /* lines, files and counts are collected here; its arena */
    struct arena *mem;          /* of the result */
    struct arena scratch;
    const struct catalog_source *source;
    const struct import_map *maps;
    size_t n_maps;
    VEC(struct import_line) lines;
    VEC(struct catalog_file) files;
    VEC(struct crow_barclamp) barclamps;
    VEC(struct crow_role) roles;
    VEC(struct crow_jig) jigs;
    VEC(struct crow_attribute) attributes;
    VEC(struct crow_script) scripts; /* by role and path */
    struct crow_names barclamp_names, role_names, jig_names;
    struct strmap known;         /* names, ours, that a role has or provides */
    struct strmap role_index;    /* given -> role */
    struct strmap jig_index;     /* given -> jig */
    struct strmap by_owned;      /* attribute, given -> number of the one that counts */
    struct crow_lines *lines_of; /* by file */
};

/* --- import_crowbar.c --- */

/* For yaml_options.duplicate: keys that come twice in the file at `path` are told. */
struct crow_duplicates {
    struct crow *x;
    struct str path;
};
void crow_duplicate_tell(void *ctx, struct str key, uint32_t line, uint32_t last_line);
void crow_done(struct crow *x);

/* --- import_report.c --- */

/* One line about v, which is of the source. */
void crow_tell(struct crow *x, enum import_kind kind, const struct value *v, const char *what,
               const char *fmt, ...) __attribute__((format(printf, 5, 6)));
/* The same about a file; line 0: the whole of it. */
void crow_tell_at(struct crow *x, enum import_kind kind, struct str file, uint32_t line,
                  const char *what, const char *why);
/* At most 64 bytes of a text of the source, for a message; in scratch. */
const char *crow_shown(struct crow *x, struct str s);
/* Sorts the lines and hands everything over. */
void crow_finish(struct crow *x);

/* --- import_source.c --- */

/* The files of the source in the order of their paths; in scratch. */
const struct catalog_file *const *crow_by_path(struct crow *x);
/* Our name for one of the source, the same for the same; says so in the report if it is another. */
const char *crow_name(struct crow *x, struct crow_names *names, const struct value *v,
                      const char *what);
/* A free name of ours that is as near to the given one as can be. */
const char *crow_name_make(struct crow *x, const struct strmap *taken, struct str given);
void crow_names_done(struct crow_names *n);
/* The text of a scalar as its file has it; "" if v is none. */
struct str crow_text(struct crow *x, const struct value *v);
/* A list, whatever is there: what is no list is told about and empty. */
const struct value *crow_list(struct crow *x, const struct value *v, const char *what);
/* A copy in which plain scalars mean what they meant in YAML 1.1: 010, yes, off. */
struct value *crow_value(struct crow *x, const struct value *v, const char *what);
struct str crow_file(const struct crow *x, const struct value *v);
/* A line of a file of the source, from 1 on, without its end; empty past the last. */
struct str crow_line(struct crow *x, uint32_t file, uint32_t line);

/* --- import_role.c --- */

struct value *crow_role_value(struct crow *x, const struct crow_role *r);

/* --- import_attribute.c --- */

/* Names the attributes of a list and finds where they live: how many, from the end of
 * crow.attributes on.  role CATALOG_NONE: a node's. */
uint32_t crow_attributes_collect(struct crow *x, const struct value *list, uint32_t barclamp,
                                 uint32_t role, const char *what);
/* Those kept as a map; NULL if there are none. */
struct value *crow_attributes_value(struct crow *x, uint32_t first, uint32_t n, const char *what,
                                    uint32_t *ret_count);
/* A description that is not too long; NULL if there is none. */
struct value *crow_description(struct crow *x, const struct value *v, const char *what);

/* --- import_kwalify.c, import_pattern.c --- */

/* NULL, and told about, if nothing of it can be kept.  fallback, if it was loosened to suit the
 * default, is told about too. */
const struct value *crow_schema(struct crow *x, const struct value *rule, const struct value *value,
                                const char *what);
/* A POSIX extended pattern in the arena; NULL and *ret_why if there is none that says the same. */
const char *import_pattern(struct arena *mem, struct str ruby, const char **ret_why);

/* --- import_write.c --- */

/* Comments at the head of a file of the source, and those right above a line of it. */
void crow_comments_head(struct crow *x, struct buf *b, uint32_t file);
void crow_comments_above(struct crow *x, struct buf *b, uint32_t file, uint32_t line);
/* A text of the source as one comment line; what cannot stand in it becomes spaces. */
void crow_comment(struct buf *b, const char *label, struct str text);
/* A file of the result. */
void crow_file_add(struct crow *x, const char *path, const struct buf *b);
void crow_write_barclamp(struct crow *x, uint32_t barclamp);
void crow_write_role(struct crow *x, const struct crow_role *r, const struct value *role);

#endif
