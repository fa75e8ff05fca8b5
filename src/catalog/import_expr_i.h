/* import_expr_i.h - what the translators of conditions share
 *
 * A translator reads the foreign text once, from the left, and makes pieces: texts of our language
 * with what is known about them.  A piece is put in parentheses only where it would bind
 * otherwise.  Pieces live in a scratch arena, whose size is bounded.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CATALOG_IMPORT_EXPR_I_H
#define CATALOG_IMPORT_EXPR_I_H

#include "base/alloc.h"
#include "catalog/import_yaql.h"

/* How closely a piece holds together, loosest first; the levels of our grammar. */
enum level {
    LEVEL_BRANCH, /* x if c else y */
    LEVEL_OR,
    LEVEL_AND,
    LEVEL_NOT,
    LEVEL_COMPARE,
    LEVEL_SUM,
    LEVEL_CONCAT,
    LEVEL_PRODUCT,
    LEVEL_SIGN,
    LEVEL_TEST,   /* x is t */
    LEVEL_FILTER, /* x | f */
    LEVEL_PRIMARY,
};

struct translator {
    struct str in;
    uint32_t at; /* byte */
    struct arena scratch;
    uint32_t depth;
    struct err *e;
};
/* Refuses what is too long or no text; to be done() either way. */
int translator_init(struct translator *t, struct str in, struct err *e);
static inline void translator_done(struct translator *t)
{
    arena_done(&t->scratch);
}
/* An error at a byte of the text. */
int translator_fail(struct translator *t, uint32_t pos, enum errcode code, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
/* One level deeper; ERR_LIMIT. */
int translator_enter(struct translator *t, uint32_t pos);
/* A text, with the pieces given in the places of its @; too many of them are ERR_LIMIT at the end.
 */
#define translator_text(t, pattern, ...)                                                           \
    translator_make((t), (pattern), (const struct str[]){__VA_ARGS__},                             \
                    sizeof((const struct str[]){__VA_ARGS__}) / sizeof(struct str))
/* The same, appended to a buffer. */
#define translator_put(out, pattern, ...)                                                          \
    translator_fill((out), (pattern), (const struct str[]){__VA_ARGS__},                           \
                    sizeof((const struct str[]){__VA_ARGS__}) / sizeof(struct str))
struct str translator_make(struct translator *t, const char *pattern, const struct str *args,
                           size_t n);
void translator_fill(struct buf *out, const char *pattern, const struct str *args, size_t n);
/* Digits as a literal of ours, without zeros in front; an error if they do not fit 64 bits. */
int translator_int(struct translator *t, uint32_t pos, struct str digits, struct str *ret_s);
/* A text as a literal of ours. */
struct str translator_quote(struct translator *t, struct str s);
/* of.key, or of['key'] if the key is no name. */
struct str translator_member(struct translator *t, struct str of, struct str key);
/* s in parentheses if its level is below `least`. */
struct str translator_hold(struct translator *t, struct str s, enum level level, enum level least);
/* Compiles the result, to be sure, and hands over a copy. */
int translator_finish(struct translator *t, struct arena *a, struct str expr, struct str *ret_expr);

#endif
