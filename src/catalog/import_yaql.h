/* import_yaql.h - conditions of Fuel's files as expressions of ours
 *
 * Two languages: YAQL, and the older texts of restrictions ("settings:common.x.value == true").
 * What has no equal here is an error that says what; nothing is translated by half.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CATALOG_IMPORT_YAQL_H
#define CATALOG_IMPORT_YAQL_H

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"

/* The text of an expression over data, node and common, in the arena. */
int import_yaql(struct arena *a, struct str yaql, struct str *ret_expr, struct err *e);
int import_legacy_condition(struct arena *a, struct str text, struct str *ret_expr, struct err *e);

#endif
