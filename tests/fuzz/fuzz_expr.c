/* fuzz_expr.c - any bytes: an error with a place, or a program that ends within its budget
 *
 * The text is compiled as an expression, and as the one expression of a hook that loops over what
 * it gives and writes it.  What is evaluated twice gives the same twice.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "fuzz.h"
#include "fuzz_values.h"

#include "base/json.h"
#include "template/hook.h"

enum { STEPS = 20000, BYTES = 256 * 1024 };

static const char scope_text[] =
    "{\"n\": 7, \"f\": 2.5, \"s\": \"Hello W\xC3\xB6rld\", \"t\": true, \"nil\": null,"
    " \"l\": [3, 1.5, \"x\", null], \"m\": {\"a\": {\"b\": [1, {\"c\": \"d\"}]}, \"k.k\": 1},"
    " \"nodes\": [{\"name\": \"n1\", \"ip\": \"10.0.0.1\"}, {\"name\": \"n2\"}]}";

struct fuzz_scope {
    struct arena mem;
    struct expr_var vars[16], before[16];
    struct expr_scope scope, old; /* before, names were one further */
    struct expr_budget budget;
};

static void scope_init(struct fuzz_scope *f)
{
    struct value *map = NULL;
    arena_init(&f->mem);
    fuzz_must(json_parse(&f->mem, scope_text, sizeof scope_text - 1, NULL, &map, NULL) == 0,
              "the scope can be read");
    for (uint32_t i = 0; i < map->n; i++)
        f->vars[i] = (struct expr_var){{map->members[i].key, map->members[i].key_n},
                                       &map->members[i].v};
    for (uint32_t i = 0; i < map->n; i++) {
        f->before[i] = f->vars[i];
        f->before[i].v = f->vars[(i + 1) % map->n].v;
    }
    f->old = (struct expr_scope){.vars = f->before, .n = map->n};
    f->scope = (struct expr_scope){
        .vars = f->vars, .n = map->n, .budget = &f->budget, .old = &f->old};
}

/* As fuzz_check_tree(), but what an expression makes has no place in a file. */
static void check_result(const struct value *top)
{
    VEC(const struct value *) todo = {0};
    vec_push(&todo, top);
    while (todo.n) {
        const struct value *v = todo.at[--todo.n];
        fuzz_must(v->kind < VALUE_KIND_COUNT, "a value has a kind");
        fuzz_must(v->kind != VALUE_REAL || isfinite(v->r), "reals are finite");
        if (v->kind == VALUE_STRING)
            fuzz_must(v->s[v->n] == '\0' && text_utf8_valid(v->s, v->n), "texts are texts");
        for (uint32_t i = 0; v->kind == VALUE_LIST && i < v->n; i++)
            vec_push(&todo, &v->items[i]);
        for (uint32_t i = 0; v->kind == VALUE_MAP && i < v->n; i++) {
            const struct member *m = &v->members[i];
            fuzz_must(m->key[m->key_n] == '\0', "keys are terminated");
            fuzz_must(value_get_str(v, (struct str){m->key, m->key_n}) == &m->v,
                      "every key finds its own value");
            vec_push(&todo, &m->v);
        }
    }
    vec_done(&todo);
}

/* Evaluates and writes the result; what it took is checked. */
static int run(struct fuzz_scope *f, const struct expr *x, struct buf *ret, struct err *e)
{
    SCOPED_ARENA(mem);
    const struct value *v = NULL;
    f->budget = (struct expr_budget){STEPS, BYTES};
    int rc = expr_eval(x, &f->scope, &mem, &v, e);
    fuzz_must(f->budget.steps <= STEPS && f->budget.bytes <= BYTES, "a budget is only used up");
    fuzz_must(mem.total_bytes <= 2 * BYTES, "an evaluation keeps to its bytes");
    if (rc < 0) {
        fuzz_check_err(rc, e);
        buf_puts(ret, e->text);
    } else if (v && expr_measure(v, BYTES) <= BYTES) {
        check_result(v);
        json_write(ret, v, 0);
    }
    return rc;
}

/* What is the same is the same with a memo, unless only the memo keeps it within its budget. */
static void check_memo(struct fuzz_scope *f, const struct expr *x, int rc, const struct buf *want)
{
    struct err e;
    struct str varying = str_of("n");
    f->scope.memo = expr_memo_new(&varying, 1);
    for (int i = 0; i < 2 && rc != -ERR_LIMIT; i++) {
        SCOPED_BUF(got);
        fuzz_must(run(f, x, &got, &e) == rc, "a memo changes no outcome");
        fuzz_must(str_eq(buf_str(&got), buf_str(want)), "a memo changes no value");
    }
    expr_memo_free(f->scope.memo);
    f->scope.memo = NULL;
}

static void check_paths(const struct expr *x)
{
    struct str path;
    for (size_t i = 0; expr_path_at(x, i, &path); i++)
        fuzz_must(path.n > 0 && path.s[0] != '.' && path.s[path.n - 1] != '.', "paths have names");
}

static struct value *hook_steps(struct arena *mem, struct str text)
{
    struct value *steps = value_list(mem), *loop = value_map(mem), *body = value_list(mem);
    struct value *step = value_map(mem), *expr = value_str(mem, text);
    value_put_text(mem, step, "set", "a/(i)/b");
    value_set(mem, step, "to", expr);
    value_add(mem, body, step);
    value_put_text(mem, loop, "for", "i");
    value_set(mem, loop, "in", expr);
    value_set(mem, loop, "do", body);
    value_add(mem, steps, loop);
    return steps;
}

static bool same_action(const struct hook_action *a, const struct hook_action *b)
{
    return a->verb == b->verb && str_eq(a->path, b->path) && value_equal(a->v, b->v);
}

static void check_hook(struct fuzz_scope *f, struct str text)
{
    SCOPED_ARENA(mem);
    const struct hook *h = NULL;
    struct hook_outcome first = {0}, again = {0};
    struct err e;
    int rc = hook_compile(&mem, hook_steps(&mem, text), HOOK_ON_ACTIVE, NULL, &h, &e);
    fuzz_must(rc == 0, "what compiles alone compiles in a hook");
    f->budget = (struct expr_budget){STEPS, BYTES};
    rc = hook_eval(h, &f->scope, &mem, &first, &e);
    if (rc < 0)
        fuzz_check_err(rc, &e);
    f->budget = (struct expr_budget){STEPS, BYTES};
    fuzz_must(hook_eval(h, &f->scope, &mem, &again, &e) == rc, "a hook fails twice or never");
    fuzz_must(first.n == again.n && first.steps == again.steps, "a hook has no memory");
    for (uint32_t i = 0; i < first.n; i++)
        fuzz_must(same_action(&first.at[i], &again.at[i]), "equal outcomes");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    SCOPED_ARENA(mem);
    SCOPED_BUF(first);
    SCOPED_BUF(again);
    struct fuzz_scope f;
    const struct expr *x = NULL;
    struct err e;
    char *exact = malloc(size ? size : 1); /* not terminated: the sanitizer sees a read behind it */
    memcpy(exact, data, size);
    int rc = expr_compile(&mem, (struct str){exact, size}, NULL, &x, &e);
    free(exact); /* nor may the program point into the text */
    if (rc < 0) {
        fuzz_check_err(rc, &e);
        return 0;
    }
    scope_init(&f);
    check_paths(x);
    rc = run(&f, x, &first, &e);
    fuzz_must(run(&f, x, &again, &e) == rc, "an expression fails twice or never");
    fuzz_must(str_eq(buf_str(&first), buf_str(&again)), "an expression has no memory");
    check_memo(&f, x, rc, &first);
    check_hook(&f, expr_text(x));
    arena_done(&f.mem);
    return 0;
}
