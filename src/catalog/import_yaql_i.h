/* import_yaql_i.h - one YAQL expression under way
 *
 *   import_yaql_lex.c    its tokens
 *   import_yaql.c        operators, literals, members
 *   import_yaql_call.c   functions and methods
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CATALOG_IMPORT_YAQL_I_H
#define CATALOG_IMPORT_YAQL_I_H

#include "catalog/import_expr_i.h"

/* clang-format off */
/*    id        text; of two that begin alike the longer comes first */
#define YAQL_MARKS(X)                                                                              \
    X(ARROW,    "=>")                                                                              \
    X(MATCH,    "=~")                                                                              \
    X(NOMATCH,  "!~")                                                                              \
    X(NE,       "!=")                                                                              \
    X(LE,       "<=")                                                                              \
    X(GE,       ">=")                                                                              \
    X(LAMBDA,   "->")                                                                              \
    X(MAYBE,    "?.")                                                                              \
    X(LT,       "<")                                                                               \
    X(GT,       ">")                                                                               \
    X(EQ,       "=")                                                                               \
    X(ADD,      "+")                                                                               \
    X(SUB,      "-")                                                                               \
    X(MUL,      "*")                                                                               \
    X(DIV,      "/")                                                                               \
    X(DOT,      ".")                                                                               \
    X(COMMA,    ",")                                                                               \
    X(OPEN,     "(")                                                                               \
    X(CLOSE,    ")")                                                                               \
    X(OPEN_LIST, "[")                                                                              \
    X(CLOSE_LIST, "]")                                                                             \
    X(OPEN_MAP, "{")                                                                               \
    X(CLOSE_MAP, "}")
/* clang-format on */
enum yaql_kind {
    YAQL_END,
    YAQL_NAME,
    YAQL_CALL, /* a name and the parenthesis right behind it */
    YAQL_VARIABLE,
    YAQL_STRING,
    YAQL_INT,
    YAQL_REAL,
#define X(id, text) YAQL_##id,
    YAQL_MARKS(X)
#undef X
        YAQL_KIND_COUNT
};
struct yaql_token {
    uint8_t kind;
    uint32_t pos;
    struct str text; /* of a string, what it stands for; of a variable, without its $ */
};

enum shape { SHAPE_ANY, SHAPE_LIST, SHAPE_MAP, SHAPE_TEXT };

/* What has been translated.  A list may still be open: then it is [text for var in source if cond]
 * and text is its item, so that members and conditions that follow become part of it. */
struct piece {
    struct str text;
    enum level level; /* of text */
    enum shape shape;
    bool open;
    bool path;         /* the item is the name, or a member of it: may be written twice */
    uint32_t var;      /* number of the name */
    struct str source; /* LEVEL_OR at least */
    struct str cond;   /* empty: none */
    enum level cond_level;
    bool old;            /* undefined where there was nothing; settled when it is used */
    bool old_all;        /* and is all old data */
    bool maybe_none;     /* deleted() */
    struct str items_of; /* x.items(): x, LEVEL_FILTER at least */
    bool literal;        /* a text; quoted is it without quotes */
    struct str plain;
};

struct yaql {
    struct translator t;
    struct yaql_token token; /* the next */
    struct piece dollar;
    uint32_t vars; /* names bound by what is around */
};

int yaql_next(struct yaql *y);
bool yaql_is(const struct yaql *y, enum yaql_kind k);
bool yaql_is_word(const struct yaql *y, const char *word);
int yaql_expect(struct yaql *y, enum yaql_kind k, const char *what);
int yaql_unexpected(struct yaql *y, const char *wanted);

/* A whole expression. */
int yaql_expression(struct yaql *y, struct piece *ret);
/* The same with `$` as given and so many names bound; nothing of it is left open. */
int yaql_expression_on(struct yaql *y, const struct piece *dollar, uint32_t vars,
                       struct piece *ret);
/* k => v, or v alone: then ret_key->text is empty. */
int yaql_pair(struct yaql *y, struct piece *ret_key, struct piece *ret_value);
/* A function, or a method of `self`; the token is its YAQL_CALL. */
int yaql_function(struct yaql *y, struct piece *ret);
int yaql_method(struct yaql *y, struct piece *self);

struct piece yaql_piece(struct str text, enum level level, enum shape shape);
/* Ends an open list, and gives what may be undefined a value. */
void yaql_settle(struct yaql *y, struct piece *p);
/* Opens a list, if it is not. */
void yaql_open(struct yaql *y, struct piece *p);
struct str yaql_var(struct yaql *y, uint32_t number);
/* The text of a settled piece for a place where that level is needed. */
struct str yaql_hold(struct yaql *y, const struct piece *p, enum level least);

#endif
