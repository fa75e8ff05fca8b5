/* expr_tool.c - evaluates expressions for check_jinja.py
 *
 * The first line of input is the scope, a JSON map; every further line is a JSON text, an
 * expression. For each a line is written: "= " and the result as JSON, "undefined", or "! " and the
 * error.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>

#include "base/json.h"
#include "template/expr.h"

static void answer(const struct value *scope_map, struct str text)
{
    SCOPED_ARENA(mem);
    SCOPED_BUF(out);
    struct err e;
    const struct expr *x = NULL;
    const struct value *v = NULL;
    struct expr_scope scope = {.n = scope_map->n};
    struct expr_var *vars = arena_new(&mem, struct expr_var, scope.n + 1);
    for (uint32_t i = 0; i < scope.n; i++)
        vars[i] = (struct expr_var){{scope_map->members[i].key, scope_map->members[i].key_n},
                                    &scope_map->members[i].v};
    scope.vars = vars;
    if (expr_compile(&mem, text, NULL, &x, &e) < 0 || expr_eval(x, &scope, &mem, &v, &e) < 0) {
        printf("! %s: %s\n", e.at, e.text);
        return;
    }
    if (!v) {
        printf("undefined\n");
        return;
    }
    json_write(&out, v, 0);
    printf("= %s\n", out.data);
}

int main(void)
{
    SCOPED_ARENA(mem);
    struct value *scope = NULL, *text;
    char *line = NULL;
    size_t cap = 0;
    ssize_t n;
    struct err e;
    while ((n = getline(&line, &cap, stdin)) > 0) {
        if (json_parse(&mem, line, (size_t)n, NULL, &text, &e) < 0) {
            fprintf(stderr, "expr_tool: %s: %s\n", e.at, e.text);
            return 1;
        }
        if (!scope)
            scope = text;
        else
            answer(scope, value_as_str(text));
    }
    free(line);
    return 0;
}
