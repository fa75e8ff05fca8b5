/* term_i.h - text for terminals: how wide it is, how it is coloured, what must not reach the screen
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_TERM_I_H
#define CLI_TERM_I_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

/*        id     SGR parameters */
#define STYLES(X)                                                                                  \
    X(PLAIN, "")                                                                                   \
    X(GOOD, "32")                                                                                  \
    X(BUSY, "36")                                                                                  \
    X(HOLD, "34")                                                                                  \
    X(WARN, "33")                                                                                  \
    X(BAD, "1;31")                                                                                 \
    X(DIM, "2")                                                                                    \
    X(BOLD, "1")
enum style {
#define X(id, sgr) STYLE_##id,
    STYLES(X)
#undef X
        STYLE_COUNT
};

/* What the output can show. */
struct look {
    bool color, utf8;
    int columns; /* 0: no limit */
};

/* Columns that n bytes of UTF-8 take: 0 for combining marks, 2 for wide characters. */
int term_width(const char *s, size_t n);
/* How many of the n bytes fit into so many columns, whole characters only. */
size_t term_fit(const char *s, size_t n, int columns);
/* Appends s in a style; just s if colour is off. */
void term_styled(struct buf *b, const struct look *look, enum style style, const char *s);
void term_spaces(struct buf *b, int n);

enum {
    TERM_LINES = 1u << 0,  /* keep newlines and tabs */
    TERM_COLORS = 1u << 1, /* keep colour sequences (SGR) */
};
/* Appends text from elsewhere without what could command a terminal: control characters, escape
 * sequences and direction overrides are dropped or shown as ^X, what is not UTF-8 as U+FFFD. */
void term_clean(struct buf *b, const char *s, size_t n, unsigned keep);

/* How a state, an aliveness or an outcome is coloured. */
enum style term_state_style(const char *state);
/* "######----" or the same in blocks, `width` columns, done of total; failed ones in their own
 * style. */
void term_bar(struct buf *b, const struct look *look, int width, int64_t done, int64_t failed,
              int64_t total);

/* A pen writes styled pieces of one line after the other and stops at the right edge, so that no
 * line ever wraps.  Pieces are cleaned. */
struct pen {
    struct buf *b;
    const struct look *look;
    int used; /* columns of this line */
};
void pen_put(struct pen *p, enum style style, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* Spaces up to a column, at least one. */
void pen_to(struct pen *p, int column);
void pen_bar(struct pen *p, int width, int64_t done, int64_t failed, int64_t total);
void pen_end(struct pen *p); /* of the line */

#endif
