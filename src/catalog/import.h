/* import.h - catalogs of other systems turned into our own
 *
 * An importer gets texts and returns texts: the files of a catalog in the format of docs/rfc/04,
 * made to be read and kept by people, and a report.  Whatever the source says and the result does
 * not is one line of that report, with file and line; nothing is dropped in silence.  What the
 * source got wrong is written as it is, in a barclamp that is `lenient`, so that everything else of
 * it can be used.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CATALOG_IMPORT_H
#define CATALOG_IMPORT_H

#include "catalog/catalog.h"

#define IMPORT_KINDS(X)                                                                            \
    X(LEFT_OUT, "left out") /* the result does not say it */                                       \
    X(CHANGED, "changed")   /* it says it in another way */                                        \
    X(FAULT, "fault")       /* the source is wrong about it */
enum import_kind {
#define X(id, text) IMPORT_##id,
    IMPORT_KINDS(X)
#undef X
        IMPORT_KIND_COUNT
};
const char *import_kind_name(enum import_kind k);

struct import_line {
    struct str file;
    uint32_t line; /* 0: the whole file */
    uint8_t kind;  /* enum import_kind */
    const char *what, *why;
};
#define IMPORT_COUNTS(X)                                                                           \
    X(files) /* of the source that hold a barclamp */                                              \
    X(barclamps)                                                                                   \
    X(jigs)                                                                                        \
    X(roles)                                                                                       \
    X(attributes)      /* of roles */                                                              \
    X(node_attributes) /* of barclamps */                                                          \
    X(requires)                                                                                    \
    X(wants)                                                                                       \
    X(scripts)                                                                                     \
    X(graphs)                                                                                      \
    X(vertices) /* of graphs: stages, groups and tasks */                                          \
    X(templates)                                                                                   \
    X(hardware)                                                                                    \
    X(images)                                                                                      \
    X(providers)
struct import_counts {
#define X(id) uint32_t id;
    IMPORT_COUNTS(X)
#undef X
};
struct catalog_import {
    struct arena mem;
    const struct catalog_file *files; /* to be written, by path */
    size_t n_files;
    const struct import_line *lines; /* by file and line */
    size_t n_lines;
    struct import_counts counts;
};
void catalog_import_free(struct catalog_import *i);
static inline void catalog_import_scope_end(struct catalog_import **i)
{
    catalog_import_free(*i);
}
/* "file:line: what: why" a line, then the counts. */
void catalog_import_write(struct buf *b, const struct catalog_import *i);

struct import_map { /* a jig of the source is run by this implementation, and is active */
    struct str jig, implementation;
};

/* Barclamps of Crowbar 2.  Of the source the YAML files count (catalog_import_crowbar_wants), and
 * what lies in script/roles/ROLE/.  ERR_UNKNOWN_NAME if a map names a jig that the source does not
 * have, ERR_INVALID if there is no barclamp at all. */
bool catalog_import_crowbar_wants(struct str path);
int catalog_import_crowbar(const struct catalog_source *source, const struct import_map *maps,
                           size_t n_maps, struct catalog_import **ret_import, struct err *e);

/* Task files of Fuel (tasks.yaml, and NAME.tasks.yaml of a flat copy) as one barclamp `fuel`, which
 * is lenient and means same-node.  A file below graphs/X/, or called graphs__X.tasks.yaml, belongs
 * to graph X, all others to `default`.  limit_circles: strategies that dependencies contradict are
 * to be limits.  ERR_INVALID if there is no task at all. */
bool catalog_import_fuel_wants(struct str path);
int catalog_import_fuel(const struct catalog_source *source, bool limit_circles,
                        struct catalog_import **ret_import, struct err *e);

/* Services, templates, hardware types, image types and providers of Coopr, in JSON files of any
 * name, as one barclamp `coopr`, which is lenient.  Descriptors of plugins give the fields of
 * providers.  ERR_INVALID if there is nothing of the kind. */
bool catalog_import_coopr_wants(struct str path);
int catalog_import_coopr(const struct catalog_source *source, struct catalog_import **ret_import,
                         struct err *e);
/* A lease of theirs: a bare number is milliseconds, else as times of ours are written. */
int catalog_import_lease_ms(struct str text, uint64_t *ret_ms, struct err *e);

#endif
