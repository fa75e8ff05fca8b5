/* expr.h - expressions: the small language of conditions, hooks and templates
 *
 * The expression part of Jinja2, over the values of base/value.h:
 *
 *     node.cpus >= 4 and 'ssd' in node.tags
 *     (nodes | selectattr('rack', 'eq', rack) | map(attribute='name') | list)[:3]
 *     addresses.public if addresses is defined else none
 *
 * Literals, names, a.b a["b"] a[0] a[1:3], calls with named arguments, filters, tests, chained
 * comparisons, in, and/or/not that return operands, x if c else y, + - * / // % ** and ~.  Numbers
 * follow Python's rules; an integer is an int64, and what does not fit is an error.  Beyond Jinja2
 * there are [x.name for x in nodes if x.ready] and looks at what data was before: changed(a.b).
 * The page for those who write expressions is docs/expressions.md, which a test holds against the
 * tables here.
 *
 * A name or key that is not there is *undefined*: `is defined`, `default` and a few more may look
 * at it, any other use is an error that names it, with its place and, where one is near, the name
 * that was probably meant.
 *
 * Everything is bounded: bytes and nesting of the source, steps and bytes of an evaluation.  Past a
 * bound is ERR_LIMIT and the text names the limit.  Neither compiling nor evaluating recurses
 * deeper than the nesting limit.
 *
 * A compiled expression is immutable and lives in the caller's arena; any number of threads may
 * evaluate it.  Evaluation is a pure function of expression and scope, as long as the functions of
 * the library are.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TEMPLATE_EXPR_H
#define TEMPLATE_EXPR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "base/value.h"

enum {
    EXPR_MAX_SOURCE = 64 * 1024,  /* bytes of source */
    EXPR_MAX_DEPTH = 64,          /* brackets, signs, nots and branches within each other */
    EXPR_MAX_STEPS = 100000,      /* steps of an evaluation, about one per operation or item */
    EXPR_MAX_BYTES = 1024 * 1024, /* bytes that an evaluation takes from its arena */
    EXPR_MAX_ARGS = 16,           /* arguments of a call */
    EXPR_MAX_TREE = 200,          /* levels of a value that is compared or written */
};

/* --- functions from outside --- */

/* One call.  An argument that was not given is NULL, one that is given is never undefined.
 * Arguments may share parts with each other many times over: a function that walks whole trees
 * measures them first, with expr_measure(). */
struct expr_call {
    struct arena *mem; /* for the result; counts against the evaluation's bytes */
    void *ctx;         /* the scope's */
    const struct value *const *args;
    uint32_t n; /* as many as there are parameters */
};
/* *ret_v NULL is undefined.  On failure only e's code, text and hint matter: the place is added. */
typedef int (*expr_function_f)(const struct expr_call *call, const struct value **ret_v,
                               struct err *e);
struct expr_function {
    const char *name;
    const char *params; /* names, separated by one blank; of a filter, the first is its subject */
    uint8_t min;        /* how many must be given */
    bool filter;        /* x|name(...) rather than name(x, ...) */
    expr_function_f call;
};
/* Hides built-in ones of the same name.  Must outlive what is compiled with it. */
struct expr_library {
    const struct expr_function *at;
    uint32_t n;
};

/* --- compiling --- */

/* Where the text begins, for errors: "file:line:column". */
struct expr_origin {
    const char *file;      /* NULL: none, places are "line:column" */
    uint32_t line, column; /* 1-based; 0 counts as 1 */
};
struct expr_options {
    struct expr_origin origin;
    const struct expr_library *library; /* may be NULL */
    uint32_t max_source, max_depth;     /* 0: the default; never more than it */
};

struct expr;
/* ERR_SYNTAX for text that is no expression, ERR_UNKNOWN_NAME for a filter, test or function that
 * does not exist, ERR_INVALID for arguments that cannot be, ERR_LIMIT.  The text is copied.  o may
 * be NULL. */
int expr_compile(struct arena *a, struct str text, const struct expr_options *o,
                 const struct expr **ret_x, struct err *e);
struct str expr_text(const struct expr *x);

/* The dotted paths that the expression reads from its scope, as far as they are known without
 * evaluating: a.b[i].c reads a.b (and i), [x.c for x in a.b] reads a.b.  Each once, in the order of
 * the text, except that what a comprehension goes through comes first; false ends. */
bool expr_path_at(const struct expr *x, size_t i, struct str *ret_path);
/* May the expression read something at, below or above this path?  That is how a caller tells what
 * differs from node to node from what does not: with `node` and, for each key that nodes have of
 * their own, `data.KEY`, an expression that reads none of them is the same everywhere.  One that
 * reads all of `data`, or a member that is only known when it runs, reads them all. */
bool expr_reads(const struct expr *x, struct str path);

/* --- evaluating --- */

struct expr_var {
    struct str name;
    const struct value *v; /* NULL: not there, whatever an outer scope says */
};
struct expr_budget { /* what is left */
    uint32_t steps;
    size_t bytes;
};
struct expr_scope {
    const struct expr_var *vars; /* of two with one name the last counts */
    uint32_t n;
    const struct expr_scope *outer; /* asked next; may be NULL */
    void *ctx;                      /* for the library's functions; of the innermost scope */
    /* Charged by every evaluation in this scope, so that many share one; of the innermost scope.
     * NULL: each has the default. */
    struct expr_budget *budget;
    /* The same names as they were, for old(), changed() and the like: one with outer scopes of its
     * own; of the innermost scope.  NULL: there is no old data. */
    const struct expr_scope *old;
    struct expr_memo *memo; /* below; of the innermost scope; may be NULL */
};

/* The result is in `mem` or part of the scope's values, and lives as long as both; *ret_v NULL is
 * undefined. ERR_INVALID for an operation that cannot be, ERR_UNKNOWN_NAME for a use of something
 * undefined, ERR_LIMIT. */
int expr_eval(const struct expr *x, const struct expr_scope *scope, struct arena *mem,
              const struct value **ret_v, struct err *e);
/* As above, but an undefined result is an error that names it. */
int expr_eval_defined(const struct expr *x, const struct expr_scope *scope, struct arena *mem,
                      const struct value **ret_v, struct err *e);
/* Is the result true in the sense of `and` and `if`?  1, 0 or -code. */
int expr_eval_truth(const struct expr *x, const struct expr_scope *scope, struct err *e);

/* What is the same in many scopes, found once.  A memo is for scopes, and their old ones, that have
 * equal values but for what is at, below or above the `varying` paths: the nodes of a deployment,
 * with `node`, `data.roles` and so on.  Comprehensions and looks at old data that read none of
 * these, and call nothing of the library, are evaluated in the first of the scopes only; what comes
 * out is kept by the memo, as long as it is no error and not too large, and costs the others one
 * step.  The scopes' values must outlive it, and so must what is compiled.  Not for two threads at
 * once. */
struct expr_memo;
struct expr_memo *expr_memo_new(const struct str *varying, uint32_t n);
void expr_memo_free(struct expr_memo *m); /* m may be NULL */
static inline void expr_memo_scope_end(struct expr_memo **m)
{
    expr_memo_free(*m);
}

/* Bytes that a tree would take if it were copied, every shared part as often as it is met, and
 * counted no further than max: the result is above max then. */
size_t expr_measure(const struct value *v, size_t max);

/* --- the tables, for documentation and completion --- */

enum expr_table { EXPR_TABLE_FILTERS, EXPR_TABLE_TESTS, EXPR_TABLE_FUNCTIONS, EXPR_TABLE_COUNT };
/* The i-th built-in of a table and its parameters; false past the end. */
bool expr_builtin_at(enum expr_table table, size_t i, const char **ret_name,
                     const char **ret_params);

#endif
