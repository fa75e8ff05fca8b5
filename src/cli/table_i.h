/* table_i.h - aligned columns, and which parts of an object go into them */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_TABLE_I_H
#define CLI_TABLE_I_H

#include "base/alloc.h"
#include "base/value.h"
#include "cli/term_i.h"

enum {
    COLUMN_RIGHT = 1u << 0,  /* numbers */
    COLUMN_SHRINK = 1u << 1, /* gives way first when the terminal is narrow */
    COLUMN_WIDE = 1u << 2,   /* fields only: shown with -v */
};
struct cell {
    const char *s; /* clean; width is computed once */
    int width;
    enum style style;
};
struct table {
    struct arena *mem;
    struct {
        const char *title;
        unsigned flags;
    } column[16];
    size_t columns;
    VEC(struct cell) cells; /* row by row */
};
void table_init(struct table *t, struct arena *mem);
void table_done(struct table *t);
void table_column(struct table *t, const char *title, unsigned flags);
/* Cleans and copies the text. */
void table_cell(struct table *t, enum style style, const char *text);
/* Titles, then rows, two spaces between columns, no spaces at line ends.  With look->columns lines
 * are cut to fit, columns that may shrink first. */
void table_draw(const struct table *t, const struct look *look, struct buf *b);

/* How a member of an object is shown. */
enum show {
    SHOW_TEXT,
    SHOW_STATE, /* coloured by its meaning */
    SHOW_AGE,   /* a time: how long ago */
    SHOW_TIME,  /* a time: itself, and how long ago */
    SHOW_LEFT,  /* a time to come: how long until then, or over */
    SHOW_DUE,   /* a time to come: itself, and how long until then */
    SHOW_MS,    /* a duration */
    SHOW_BYTES,
    SHOW_LIST,   /* a, b, c */
    SHOW_MAP,    /* k=v k=v */
    SHOW_COUNTS, /* 3 ACTIVE, 1 ERROR */
    SHOW_GOOD,   /* yes, or "no" as a warning */
    SHOW_ODD,    /* no, or "yes" as a warning */
    SHOW_BAR,    /* progress of an operation */
};
struct field {
    const char *title; /* "NAME" in tables, "name" in sheets */
    const char *path;  /* dotted */
    enum show show;
    unsigned flags; /* COLUMN_... */
};
/* The text and style of a field of an object; "" if it is absent, null or empty. */
struct cell field_cell(struct arena *mem, const struct field *f, const struct value *object,
                       int64_t now_ms, const struct look *look);
/* "2024-05-01T12:00:00.250Z" to ms since 1970; -1 if it is something else. */
int64_t time_parse(const char *s);
/* "12 kB" */
void bytes_show(int64_t n, char ret[16]);

#endif
