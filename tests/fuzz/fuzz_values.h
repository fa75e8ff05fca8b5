/* fuzz_values.h - promises that hold for every tree a reader of base hands over */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_FUZZ_VALUES_H
#define TESTS_FUZZ_VALUES_H

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/err.h"
#include "base/text.h"
#include "base/value.h"
#include "fuzz.h"

static void fuzz_check_map(const struct value *map)
{
    for (uint32_t i = 0; i < map->n; i++) {
        const struct member *m = &map->members[i];
        fuzz_must(m->key[m->key_n] == '\0', "keys are terminated");
        fuzz_must(text_utf8_valid(m->key, m->key_n), "keys are UTF-8");
        fuzz_must(value_get_str(map, (struct str){m->key, m->key_n}) == &m->v,
                  "every key finds its own value");
        fuzz_must(m->key_line > 0 && m->key_column > 0, "keys know their place");
    }
}

static inline void fuzz_check_tree(const struct value *top)
{
    VEC(const struct value *) todo = {0};
    vec_push(&todo, top);
    while (todo.n) {
        const struct value *v = todo.at[--todo.n];
        fuzz_must(v->kind < VALUE_KIND_COUNT, "a value has a kind");
        if (v->kind == VALUE_STRING) {
            fuzz_must(v->s[v->n] == '\0', "texts are terminated");
            fuzz_must(text_utf8_valid(v->s, v->n), "texts are UTF-8");
        }
        if (v->kind == VALUE_REAL)
            fuzz_must(isfinite(v->r), "reals are finite");
        for (uint32_t i = 0; v->kind == VALUE_LIST && i < v->n; i++)
            vec_push(&todo, &v->items[i]);
        if (v->kind == VALUE_MAP)
            fuzz_check_map(v);
        for (uint32_t i = 0; v->kind == VALUE_MAP && i < v->n; i++)
            vec_push(&todo, &v->members[i].v);
    }
    vec_done(&todo);
}

static inline void fuzz_check_err(int rc, const struct err *e)
{
    fuzz_must(rc < 0 && rc == -(int)e->code, "a failure returns its code");
    fuzz_must(e->text[0] && e->at[0], "an error says what and where");
    fuzz_must(text_utf8_valid(e->text, strlen(e->text)) && text_utf8_valid(e->at, strlen(e->at)) &&
                  text_utf8_valid(e->line, strlen(e->line)),
              "an error can be shown");
}

#endif
