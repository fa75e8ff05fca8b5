/* fuzz_condition.h - what holds for every translator of conditions */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_FUZZ_CONDITION_H
#define TESTS_FUZZ_CONDITION_H

#include "fuzz.h"
#include "fuzz_values.h"

#include "catalog/import_yaql.h"
#include "template/expr.h"

typedef int (*fuzz_import_f)(struct arena *a, struct str text, struct str *ret_expr, struct err *e);

/* Any bytes: an error with a place, or the text of an expression; twice the same. */
static void fuzz_condition(fuzz_import_f import, const uint8_t *data, size_t size)
{
    SCOPED_ARENA(mem);
    struct str first = {0}, again = {0};
    const struct expr *x;
    struct err e = {0};
    char *exact = malloc(size ? size : 1); /* not terminated: the sanitizer sees a read behind it */
    memcpy(exact, data, size);
    int rc = import(&mem, (struct str){exact, size}, &first, &e);
    fuzz_must(import(&mem, (struct str){exact, size}, &again, NULL) == rc, "the same twice");
    free(exact); /* nor may the result point into the text */
    if (rc < 0) {
        fuzz_check_err(rc, &e);
        fuzz_must(e.at[0] >= '1' && e.at[0] <= '9', "an error has a place");
        fuzz_must(rc == -ERR_LIMIT || !strstr(e.text, "what it becomes"),
                  "what is refused is refused where it stands");
        return;
    }
    fuzz_must(str_eq(first, again), "the same text twice");
    fuzz_must(expr_compile(&mem, first, NULL, &x, &e) == 0, "a translation compiles");
}

#endif
