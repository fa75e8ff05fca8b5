/* import_yaql_call.c - the functions and methods of YAQL that have a translation
 *
 * One row each.  To add one: a row, and a function that makes a piece of what it was given.  len(x)
 * and x.len() are the same row, with x as the first argument.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "catalog/import_yaql_i.h"

#include "base/text.h"
#include "catalog/import_i.h"
#include "model/schema.h"

enum call_flag {
    CALL_FUNCTION = 1u << 0,
    CALL_METHOD = 1u << 1,
    CALL_ROOT = 1u << 2,  /* in its arguments $ is data, wherever it stands */
    CALL_PAIRS = 1u << 3, /* its arguments are k => v */
    CALL_RAW = 1u << 4,   /* takes its subject as it is: open, or perhaps undefined */
};
enum { CALL_MANY = 255 };

typedef VEC(struct piece) pieces_v;
struct call_under_way {
    const struct yaql_row *row;
    uint32_t pos;
    pieces_v keys, args; /* keys only of pairs */
    struct piece *self;  /* of a RAW method, which reads its arguments itself */
};
typedef int (*yaql_call_f)(struct yaql *y, struct call_under_way *c, struct piece *ret);
struct yaql_row {
    const char *name;
    uint8_t min, max; /* arguments, the subject of a method included */
    uint8_t flags;
    yaql_call_f make;
    const char *ours; /* what is made of it, where that is only a name */
    enum shape shape; /* of that */
};

static int wrong(struct yaql *y, const struct call_under_way *c, enum errcode code,
                 const char *what)
{
    return translator_fail(&y->t, c->pos, code, "%s: %s", c->row->name, what);
}

/* Arguments, joined; all of them expressions by themselves. */
static struct str joined(struct yaql *y, const struct call_under_way *c)
{
    SCOPED_BUF(text);
    for (size_t i = 0; i < c->args.n; i++) {
        buf_puts(&text, i ? ", " : "");
        buf_put(&text, c->args.at[i].text.s, c->args.at[i].text.n);
    }
    return translator_text(&y->t, "@", buf_str(&text));
}

/* --- made by name --- */

/* x | name(y) */
static int make_filter(struct yaql *y, struct call_under_way *c, struct piece *ret)
{
    struct str subject = yaql_hold(y, &c->args.at[0], LEVEL_FILTER);
    struct str text = c->args.n > 1
                          ? translator_text(&y->t, "@ | @(@)", subject, str_of(c->row->ours),
                                            c->args.at[1].text)
                          : translator_text(&y->t, "@ | @", subject, str_of(c->row->ours));
    *ret = yaql_piece(text, LEVEL_FILTER, c->row->shape);
    return 0;
}

/* name(x, ...): those that look at old data. */
static int make_form(struct yaql *y, struct call_under_way *c, struct piece *ret)
{
    bool old = strcmp(c->row->ours, "old") == 0, now = strcmp(c->row->ours, "new") == 0;
    bool all = str_is(c->args.at[0].text, "data");
    *ret = yaql_piece(translator_text(&y->t, "@(@)", str_of(c->row->ours), joined(y, c)),
                      LEVEL_PRIMARY, old || now ? c->args.at[0].shape : c->row->shape);
    ret->old = old;
    ret->old_all = old && all;
    ret->maybe_none = strcmp(c->row->ours, "deleted") == 0;
    return 0;
}

/* --- one by one --- */

static int make_get(struct yaql *y, struct call_under_way *c, struct piece *ret)
{
    const struct piece *key = &c->args.at[1];
    struct str otherwise = c->args.n > 2 ? c->args.at[2].text : str_of("none");
    if (c->args.at[0].shape == SHAPE_LIST)
        return wrong(y, c, ERR_INVALID, "a list has no keys");
    struct str of = yaql_hold(y, &c->args.at[0], LEVEL_PRIMARY);
    struct str found = key->literal ? translator_member(&y->t, of, key->plain)
                                    : translator_text(&y->t, "@[@]", of, key->text);
    *ret = yaql_piece(translator_text(&y->t, "@ | default(@)", found, otherwise), LEVEL_FILTER,
                      SHAPE_ANY);
    return 0;
}

static int make_set(struct yaql *y, struct call_under_way *c, struct piece *ret)
{
    *ret = yaql_piece(translator_text(&y->t, "@ | combine({@: @}, recursive=false)",
                                      yaql_hold(y, &c->args.at[0], LEVEL_FILTER),
                                      c->args.at[1].text, c->args.at[2].text),
                      LEVEL_FILTER, SHAPE_MAP);
    return 0;
}

static int make_items(struct yaql *y, struct call_under_way *c, struct piece *ret)
{
    int rc = make_filter(y, c, ret);
    ret->items_of = yaql_hold(y, &c->args.at[0], LEVEL_FILTER);
    return rc;
}

static int make_dict(struct yaql *y, struct call_under_way *c, struct piece *ret)
{
    SCOPED_BUF(text);
    bool keys = c->args.n == 0 || c->keys.at[0].text.n;
    if (!keys && (c->args.n > 1 || !c->args.at[0].items_of.n))
        return wrong(y, c, ERR_INVALID, "only key => value and x.items() have a translation");
    if (!keys) { /* a map of the items of a map is that map */
        *ret = yaql_piece(c->args.at[0].items_of, LEVEL_FILTER, SHAPE_MAP);
        return 0;
    }
    for (size_t i = 0; i < c->args.n; i++) {
        if (!c->keys.at[i].text.n)
            return wrong(y, c, ERR_SYNTAX, "a value without a key");
        translator_put(&text, "@@: @", str_of(i ? ", " : ""), c->keys.at[i].text,
                       c->args.at[i].text);
    }
    *ret = yaql_piece(translator_text(&y->t, "{@}", buf_str(&text)), LEVEL_PRIMARY, SHAPE_MAP);
    return 0;
}

/* The first whose condition is true, else none. */
static int make_switch(struct yaql *y, struct call_under_way *c, struct piece *ret)
{
    SCOPED_BUF(text);
    enum shape shape = c->args.at[0].shape;
    bool ended = false;
    for (size_t i = 0; i < c->args.n && !ended; i++) {
        const struct piece *when = &c->keys.at[i], *value = &c->args.at[i];
        if (!when->text.n)
            return wrong(y, c, ERR_SYNTAX, "a value without a condition");
        shape = value->shape == shape ? shape : SHAPE_ANY;
        ended = str_is(when->text, "true");
        buf_puts(&text, i ? " else " : "");
        translator_put(&text, "@", yaql_hold(y, value, LEVEL_OR));
        if (!ended)
            translator_put(&text, " if @", yaql_hold(y, when, LEVEL_OR));
    }
    if (!ended)
        buf_puts(&text, " else none");
    *ret = yaql_piece(translator_text(&y->t, "@", buf_str(&text)), LEVEL_BRANCH, shape);
    return 0;
}

static int make_concat(struct yaql *y, struct call_under_way *c, struct piece *ret)
{
    SCOPED_BUF(text);
    for (size_t i = 0; i < c->args.n; i++)
        translator_put(&text, "@@", str_of(i ? " ~ " : ""),
                       yaql_hold(y, &c->args.at[i], LEVEL_PRODUCT));
    if (c->args.n == 1)
        buf_puts(&text, " ~ ''");
    *ret = yaql_piece(translator_text(&y->t, "@", buf_str(&text)), LEVEL_CONCAT, SHAPE_TEXT);
    return 0;
}

/* The first that is not none; the others are looked at only if needed. */
static int make_coalesce(struct yaql *y, struct call_under_way *c, struct piece *ret)
{
    const struct piece *last = &c->args.at[c->args.n - 1];
    struct str var = yaql_var(y, y->vars), text = last->text;
    enum level level = last->level;
    for (size_t i = c->args.n - 1; i-- > 0;) {
        const struct piece *p = &c->args.at[i];
        bool list = p->maybe_none && str_is(text, "[]");
        text = list
                   ? translator_text(&y->t, "@ | default([], true)", p->text)
                   : translator_text(&y->t, "[@ if @ is not none else @ for @ in [@]][0]", var, var,
                                     translator_hold(&y->t, text, level, LEVEL_OR), var, p->text);
        level = list ? LEVEL_FILTER : LEVEL_PRIMARY;
    }
    *ret = yaql_piece(text, level, last->shape);
    return 0;
}

static int make_matches(struct yaql *y, struct call_under_way *c, struct piece *ret)
{
    const struct piece *pattern = &c->args.at[1];
    struct err why = {0};
    const char *reason = NULL;
    if (!pattern->literal)
        return wrong(y, c, ERR_INVALID, "only a pattern that is a text has a translation");
    struct str python = pattern->plain;
    if (memmem(python.s, python.n, "\\h", 2) || memmem(python.s, python.n, "\\H", 2))
        return wrong(y, c, ERR_INVALID, "\\h is no escape of Python");
    if (python.n && python.s[0] == '/') /* which would be Ruby's quotes */
        python = translator_text(&y->t, "[/]@", (struct str){python.s + 1, python.n - 1});
    const char *posix = import_pattern(&y->t.scratch, python, &reason);
    if (!posix)
        return wrong(y, c, ERR_INVALID, reason);
    if (schema_pattern_check(str_of(posix), &why) < 0)
        return wrong(y, c, ERR_INVALID, why.text);
    *ret = yaql_piece(translator_text(&y->t, "@ is match(@)",
                                      yaql_hold(y, &c->args.at[0], LEVEL_FILTER),
                                      translator_quote(&y->t, str_of(posix))),
                      LEVEL_TEST, SHAPE_ANY);
    return 0;
}

static int make_undefined(struct yaql *y, struct call_under_way *c, struct piece *ret)
{
    if (!c->self->old)
        return wrong(y, c, ERR_INVALID, "asked of what is not old(...)");
    *ret = yaql_piece(translator_text(&y->t, "@ is undefined", c->self->text), LEVEL_TEST,
                      SHAPE_ANY);
    return yaql_expect(y, YAQL_CLOSE, "')'");
}

/* --- those that bind $ --- */

/* Reads the condition or the item of an open list; the parenthesis has been read. */
static int lambda(struct yaql *y, const struct piece *list, struct piece *ret)
{
    struct piece item = yaql_piece(list->text, list->level, SHAPE_ANY);
    int rc = yaql_expression_on(y, &item, list->var + 1, ret);
    return rc < 0 ? rc : yaql_expect(y, YAQL_CLOSE, "')'");
}

/* Ready for something about its items: an item that is more than a path gets a name again. */
static void reopen(struct yaql *y, struct piece *list, bool named)
{
    if (list->open && (!list->path || (named && !str_eq(list->text, yaql_var(y, list->var)))))
        yaql_settle(y, list);
    yaql_open(y, list);
}

static int make_where(struct yaql *y, struct call_under_way *c, struct piece *ret)
{
    struct piece cond;
    *ret = *c->self;
    reopen(y, ret, true);
    int rc = lambda(y, ret, &cond);
    if (rc < 0)
        return rc;
    if (ret->cond.n) {
        struct str before = translator_hold(&y->t, ret->cond, ret->cond_level, LEVEL_AND);
        struct str more = yaql_hold(y, &cond, LEVEL_AND);
        cond = yaql_piece(translator_text(&y->t, "@ and @", before, more), LEVEL_AND, SHAPE_ANY);
    }
    ret->cond = yaql_hold(y, &cond, LEVEL_OR);
    ret->cond_level = cond.level < LEVEL_OR ? LEVEL_PRIMARY : cond.level;
    return 0;
}

static int make_select(struct yaql *y, struct call_under_way *c, struct piece *ret)
{
    struct piece item;
    *ret = *c->self;
    reopen(y, ret, false);
    int rc = lambda(y, ret, &item);
    if (rc < 0)
        return rc;
    ret->text = item.text;
    ret->level = item.level;
    ret->path = false;
    return 0;
}

/* Is there one? */
static int make_any(struct yaql *y, struct call_under_way *c, struct piece *ret)
{
    struct piece list;
    int rc = 0;
    if (yaql_is(y, YAQL_CLOSE)) {
        list = *c->self;
        rc = yaql_next(y);
    } else {
        rc = make_where(y, c, &list);
    }
    if (rc < 0)
        return rc;
    yaql_settle(y, &list);
    *ret = yaql_piece(translator_text(&y->t, "@ != []", yaql_hold(y, &list, LEVEL_SUM)),
                      LEVEL_COMPARE, SHAPE_ANY);
    return 0;
}

/* --- the table --- */

/* clang-format off */
static const struct yaql_row rows[] = {
    {"added",      1, 1, CALL_FUNCTION | CALL_ROOT, make_form, "added", SHAPE_LIST},
    {"any",        1, 2, CALL_METHOD | CALL_RAW, make_any, NULL, SHAPE_ANY},
    {"changed",    1, 1, CALL_FUNCTION | CALL_ROOT, make_form, "changed", SHAPE_ANY},
    {"changedAll", 1, CALL_MANY, CALL_FUNCTION | CALL_ROOT, make_form, "changed_all", SHAPE_ANY},
    {"changedAny", 1, CALL_MANY, CALL_FUNCTION | CALL_ROOT, make_form, "changed_any", SHAPE_ANY},
    {"coalesce",   1, CALL_MANY, CALL_FUNCTION, make_coalesce, NULL, SHAPE_ANY},
    {"concat",     1, CALL_MANY, CALL_FUNCTION | CALL_METHOD, make_concat, NULL, SHAPE_TEXT},
    {"deleted",    1, 1, CALL_FUNCTION | CALL_ROOT, make_form, "deleted", SHAPE_LIST},
    {"dict",       0, CALL_MANY, CALL_FUNCTION | CALL_PAIRS, make_dict, NULL, SHAPE_MAP},
    {"distinct",   1, 1, CALL_FUNCTION | CALL_METHOD, make_filter, "unique(true)", SHAPE_LIST},
    {"first",      1, 1, CALL_METHOD, make_filter, "first", SHAPE_ANY},
    {"flatten",    1, 1, CALL_METHOD, make_filter, "flatten", SHAPE_LIST},
    {"get",        2, 3, CALL_METHOD, make_get, NULL, SHAPE_ANY},
    {"intersect",  2, 2, CALL_METHOD, make_filter, "intersect", SHAPE_LIST},
    {"isUndef",    1, 1, CALL_METHOD | CALL_RAW, make_undefined, NULL, SHAPE_ANY},
    {"items",      1, 1, CALL_METHOD, make_items, "items", SHAPE_LIST},
    {"keys",       1, 1, CALL_METHOD, make_filter, "keys", SHAPE_LIST},
    {"last",       1, 1, CALL_METHOD, make_filter, "last", SHAPE_ANY},
    {"len",        1, 1, CALL_FUNCTION | CALL_METHOD, make_filter, "length", SHAPE_ANY},
    {"matches",    2, 2, CALL_METHOD, make_matches, NULL, SHAPE_ANY},
    {"new",        1, 1, CALL_FUNCTION | CALL_ROOT, make_form, "new", SHAPE_ANY},
    {"old",        1, 1, CALL_FUNCTION | CALL_ROOT, make_form, "old", SHAPE_ANY},
    {"select",     2, 2, CALL_METHOD | CALL_RAW, make_select, NULL, SHAPE_LIST},
    {"set",        3, 3, CALL_METHOD, make_set, NULL, SHAPE_MAP},
    {"switch",     1, CALL_MANY, CALL_FUNCTION | CALL_PAIRS, make_switch, NULL, SHAPE_ANY},
    {"toJson",     1, 1, CALL_METHOD, make_filter, "tojson", SHAPE_TEXT},
    {"toSet",      1, 1, CALL_METHOD, make_filter, "unique(true)", SHAPE_LIST},
    {"toYaml",     1, 1, CALL_METHOD, make_filter, "toyaml", SHAPE_TEXT},
    {"values",     1, 1, CALL_METHOD, make_filter, "values", SHAPE_LIST},
    {"where",      2, 2, CALL_METHOD | CALL_RAW, make_where, NULL, SHAPE_LIST},
};
/* clang-format on */

static int call_row(struct yaql *y, uint8_t flag, const struct yaql_row **ret_row)
{
    enum { SHOWN = 64 };
    struct str name = y->token.text;
    const char *names[sizeof rows / sizeof *rows];
    const char *what = flag == CALL_METHOD ? "method" : "function";
    size_t n = 0;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (!(rows[i].flags & flag))
            continue;
        if (str_is(name, rows[i].name)) {
            *ret_row = &rows[i];
            return 0;
        }
        names[n++] = rows[i].name;
    }
    int rc = translator_fail(&y->t, y->token.pos, ERR_INVALID,
                             "the %s \"%.*s\" of YAQL has no translation", what,
                             (int)(name.n < SHOWN ? name.n : SHOWN), name.s);
    const char *best = text_nearest(name, names, n);
    if (best)
        (void)err_hint(y->t.e, "did you mean \"%s\"?", best);
    return rc;
}

static int call_arguments(struct yaql *y, struct call_under_way *c)
{
    static const struct piece root = {.text = {"data", 4}, .level = LEVEL_PRIMARY};
    struct piece before = y->dollar, key, value;
    int rc = 0;
    if (c->row->flags & CALL_ROOT)
        y->dollar = root;
    for (uint32_t n = 0; rc >= 0 && !yaql_is(y, YAQL_CLOSE); n++) {
        uint32_t pos = y->token.pos;
        if (n)
            rc = yaql_expect(y, YAQL_COMMA, "',' or ')'");
        if (rc >= 0)
            rc = yaql_pair(y, &key, &value);
        if (rc >= 0 && key.text.n && !(c->row->flags & CALL_PAIRS))
            rc = translator_fail(&y->t, pos, ERR_INVALID, "%s takes no named arguments",
                                 c->row->name);
        if (rc < 0)
            break;
        vec_push(&c->keys, key);
        vec_push(&c->args, value);
    }
    y->dollar = before;
    return rc < 0 ? rc : yaql_next(y);
}

static int call_make(struct yaql *y, struct call_under_way *c, struct piece *ret)
{
    int rc = translator_enter(&y->t, c->pos);
    if (rc >= 0)
        rc = yaql_next(y);
    if (rc >= 0 && !(c->row->flags & CALL_RAW)) {
        rc = call_arguments(y, c);
        if (rc >= 0 && (c->args.n < c->row->min || c->args.n > c->row->max))
            rc = wrong(y, c, ERR_SYNTAX,
                       c->args.n < c->row->min ? "too few arguments" : "too many arguments");
    }
    struct piece made = {0};
    if (rc >= 0)
        rc = c->row->make(y, c, &made);
    if (rc >= 0)
        *ret = made;
    y->t.depth--;
    vec_done(&c->keys);
    vec_done(&c->args);
    return rc;
}

int yaql_function(struct yaql *y, struct piece *ret)
{
    struct call_under_way c = {.pos = y->token.pos};
    int rc = call_row(y, CALL_FUNCTION, &c.row);
    return rc < 0 ? rc : call_make(y, &c, ret);
}

int yaql_method(struct yaql *y, struct piece *self)
{
    struct call_under_way c = {.pos = y->token.pos, .self = self};
    int rc = call_row(y, CALL_METHOD, &c.row);
    if (rc < 0)
        return rc;
    if (!(c.row->flags & CALL_RAW)) {
        yaql_settle(y, self);
        vec_push(&c.keys, ((struct piece){0}));
        vec_push(&c.args, *self);
    }
    return call_make(y, &c, self);
}
