/* import_yaql_fallback.c - stands in for import_yaql.c until that is there */
/* SPDX-License-Identifier: Apache-2.0 */
#include "catalog/import_yaql.h"

__attribute__((weak)) int import_yaql(struct arena *a, struct str yaql, struct str *ret_expr,
                                      struct err *e)
{
    (void)a, (void)yaql, (void)ret_expr;
    return err_set(e, ERR_INVALID, "YAQL is not translated");
}

__attribute__((weak)) int import_legacy_condition(struct arena *a, struct str text,
                                                  struct str *ret_expr, struct err *e)
{
    (void)a, (void)text, (void)ret_expr;
    return err_set(e, ERR_INVALID, "old conditions are not translated");
}
