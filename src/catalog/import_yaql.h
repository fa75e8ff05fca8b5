/* import_yaql.h - conditions of other languages as expressions of ours
 *
 * Two languages: YAQL, as far as the task files of Fuel use it, and the older condition language of
 * their plugins.  Both give the text of an expression (docs/expressions.md) over `data`, `node` and
 * `common`, which has been compiled once to see that it can be.  What has no translation is refused
 * by name, with line and column: an expression that means something else is worse than none.
 *
 * Errors: ERR_SYNTAX for what is not of the language, ERR_INVALID for what is but has no
 * translation, ERR_LIMIT.  e->at is "line:column" within the text.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CATALOG_IMPORT_YAQL_H
#define CATALOG_IMPORT_YAQL_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"

enum {
    IMPORT_MAX_CONDITION = 16 * 1024, /* bytes of the text */
    IMPORT_MAX_NESTING = 40,          /* brackets, calls and signs within each other */
};

/* `$` is data, or the item within where, select and any; `$node` is node, `$common` common.
 *   - a.name on a list is the name of each item; what is a list is known from how it was made
 *     (values, where, select, added ...), whatever else is taken for a map;
 *   - get('k') of what is not there is none; old(...) of what was not there is none, of all data an
 *     empty map;
 *   - matches() is a search; its pattern must be a text and have a POSIX form. */
int import_yaql(struct arena *a, struct str yaql, struct str *ret_expr, struct err *e);

/* `settings:a.b.value` is data.a.b, as deployment data has it (import_legacy_rewrite() below);
 * `model:a.b` is data.model.a.b.  What is not there is none. */
int import_legacy_condition(struct arena *a, struct str text, struct str *ret_expr, struct err *e);
/* The same without the rewriting; strict: what is not there is an error when it is evaluated. */
int import_legacy_expression(struct arena *a, struct str text, bool strict, struct str *ret_expr,
                             struct err *e);
/* Paths of settings as they are in deployment data: sections that are merged into the whole and
 * `.value` at the end go.  The rest of the text stays, even if it is no condition. */
struct str import_legacy_rewrite(struct arena *a, struct str text);

#endif
