/* filter_text.c - filters on text
 *
 * What is not text is first made text, as everywhere in Jinja2.  Patterns are POSIX extended and
 * bounded as those of schemas are; compiling one costs steps, since it is done at each call.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "template/expr.h"
#include "template/expr_i.h"

#include <regex.h>
#include <stdlib.h>

#include "base/text.h"
#include "model/schema.h"

/* An argument that must be text. */
static int arg_text(struct eval *ev, const struct slot *arg, const char *name, struct str *ret_s)
{
    if (arg->v->kind != VALUE_STRING)
        return eval_wrong(ev, arg->v, name, "text");
    *ret_s = value_as_str(arg->v);
    return 0;
}

/* --- case --- */

enum letter { LETTER_LOWER, LETTER_UPPER, LETTER_CAPITAL, LETTER_TITLE };

/* Behind one of these a word begins. */
static bool begins_word(uint32_t c)
{
    return chars_is_space(c) || c == '-' || c == '(' || c == '{' || c == '[' || c == '<';
}

static int recase(struct eval *ev, const struct slot *args, enum letter how, struct slot *ret)
{
    SCOPED_BUF(out);
    struct str s;
    int rc = show_text(ev, args[0].v, &s);
    if (rc >= 0)
        rc = eval_steps_text(ev, 4 * s.n);
    if (rc < 0)
        return rc;
    bool first = true;
    size_t len;
    for (; s.n; s = (struct str){s.s + len, s.n - len}) {
        uint32_t c = chars_at(s, &len);
        bool upper = how == LETTER_UPPER || (first && how != LETTER_LOWER);
        if (c == 0xDF && first && how == LETTER_CAPITAL)
            buf_puts(&out, "Ss");
        else if (c >= 0x80 && len == 1) /* not UTF-8 */
            buf_put(&out, s.s, 1);
        else if (upper)
            chars_put_upper(&out, c);
        else
            chars_put_lower(&out, c);
        first = how == LETTER_TITLE && begins_word(c);
    }
    return give_text(ev, buf_str(&out), ret);
}

int expr_filter_lower(struct eval *ev, const struct slot *args, uint32_t n, struct slot *ret)
{
    (void)n;
    return recase(ev, args, LETTER_LOWER, ret);
}

int expr_filter_upper(struct eval *ev, const struct slot *args, uint32_t n, struct slot *ret)
{
    (void)n;
    return recase(ev, args, LETTER_UPPER, ret);
}

int expr_filter_capitalize(struct eval *ev, const struct slot *args, uint32_t n, struct slot *ret)
{
    (void)n;
    return recase(ev, args, LETTER_CAPITAL, ret);
}

int expr_filter_title(struct eval *ev, const struct slot *args, uint32_t n, struct slot *ret)
{
    (void)n;
    return recase(ev, args, LETTER_TITLE, ret);
}

/* --- cutting and joining --- */

int expr_filter_string(struct eval *ev, const struct slot *args, uint32_t n, struct slot *ret)
{
    (void)n;
    SCOPED_BUF(text);
    if (args[0].v->kind == VALUE_STRING)
        return give_value(ev, args[0].v, ret);
    int rc = show_write(ev, &text, args[0].v, false);
    return rc < 0 ? rc : give_text(ev, buf_str(&text), ret);
}

static bool among(struct str set, struct str one)
{
    size_t len;
    for (; set.n; set = (struct str){set.s + len, set.n - len}) {
        chars_at(set, &len);
        if (str_eq((struct str){set.s, len}, one))
            return true;
    }
    return false;
}

static struct str trim_set(struct str s, struct str set)
{
    size_t len, end = 0;
    while (s.n && (chars_at(s, &len), among(set, (struct str){s.s, len})))
        s = (struct str){s.s + len, s.n - len};
    for (size_t i = 0; i < s.n; i += len) {
        chars_at((struct str){s.s + i, s.n - i}, &len);
        if (!among(set, (struct str){s.s + i, len}))
            end = i + len;
    }
    return (struct str){s.s, end};
}

int expr_filter_trim(struct eval *ev, const struct slot *args, uint32_t n, struct slot *ret)
{
    (void)n;
    struct str s, set = {"", 0};
    bool given = args[1].v && args[1].v->kind != VALUE_NULL;
    int rc = show_text(ev, args[0].v, &s);
    if (rc >= 0 && given)
        rc = arg_text(ev, &args[1], "chars", &set);
    if (rc >= 0)
        rc = eval_steps(ev, 1 + s.n / 256 + s.n * set.n / 256);
    return rc < 0 ? rc : give_text(ev, given ? trim_set(s, set) : chars_trim(s), ret);
}

/* How many at most: all if nothing, none or a negative number is given. */
static int arg_count(struct eval *ev, const struct slot *arg, const char *name, uint64_t *ret_n)
{
    *ret_n = UINT64_MAX;
    if (!arg->v || arg->v->kind == VALUE_NULL)
        return 0;
    if (arg->v->kind != VALUE_INT)
        return eval_wrong(ev, arg->v, name, "an integer");
    if (arg->v->i >= 0)
        *ret_n = (uint64_t)arg->v->i;
    return 0;
}

/* An empty `old` is found before every character and at the end. */
static int replace_empty(struct eval *ev, struct str s, struct str new, uint64_t count,
                         struct slot *ret)
{
    SCOPED_BUF(out);
    size_t len;
    int rc = 0;
    for (; rc >= 0; s = (struct str){s.s + len, s.n - len}) {
        if (count) {
            buf_put(&out, new.s, new.n);
            count--;
        }
        if (!s.n)
            break;
        chars_at(s, &len);
        buf_put(&out, s.s, len);
        rc = eval_steps(ev, 1);
        if (rc >= 0)
            rc = eval_bytes(ev, out.len);
    }
    return rc < 0 ? rc : give_text(ev, buf_str(&out), ret);
}

int expr_filter_replace(struct eval *ev, const struct slot *args, uint32_t n, struct slot *ret)
{
    (void)n;
    struct str s, old, new;
    uint64_t count;
    int rc = show_text(ev, args[0].v, &s);
    if (rc >= 0)
        rc = show_text(ev, args[1].v, &old);
    if (rc >= 0)
        rc = show_text(ev, args[2].v, &new);
    if (rc >= 0)
        rc = arg_count(ev, &args[3], "count", &count);
    if (rc >= 0)
        rc = eval_steps_text(ev, s.n);
    if (rc < 0)
        return rc;
    if (!old.n)
        return replace_empty(ev, s, new, count, ret);
    SCOPED_BUF(out);
    const char *hit;
    while (count-- && rc >= 0 && (hit = memmem(s.s, s.n, old.s, old.n))) {
        buf_put(&out, s.s, (size_t)(hit - s.s));
        buf_put(&out, new.s, new.n);
        s.n -= (size_t)(hit - s.s) + old.n;
        s.s = hit + old.n;
        rc = eval_steps(ev, 1);
        if (rc >= 0)
            rc = eval_bytes(ev, out.len);
    }
    if (rc < 0)
        return rc;
    buf_put(&out, s.s, s.n);
    return give_text(ev, buf_str(&out), ret);
}

struct pieces {
    struct eval *ev;
    VEC(struct str) at;
};

static int pieces_list(struct pieces *p, int rc, struct slot *ret)
{
    struct value *list = NULL;
    if (rc >= 0)
        rc = eval_list(p->ev, (uint32_t)p->at.n, &list);
    for (size_t i = 0; i < p->at.n && rc >= 0; i++) {
        struct slot one;
        rc = give_text(p->ev, p->at.at[i], &one);
        if (rc >= 0)
            eval_list_put(list, one.v);
    }
    vec_done(&p->at);
    return rc < 0 ? rc : give_value(p->ev, list, ret);
}

/* Runs of spaces separate, and none count at the ends. */
static int split_spaces(struct pieces *p, struct str s, uint64_t most)
{
    size_t len, i = 0;
    int rc = 0;
    while (rc >= 0) {
        while (i < s.n && chars_is_space(chars_at((struct str){s.s + i, s.n - i}, &len)))
            i += len;
        if (i == s.n)
            break;
        if (p->at.n == most) {
            struct str rest = chars_trim((struct str){s.s + i, s.n - i});
            vec_push(&p->at, rest);
            break;
        }
        size_t from = i;
        while (i < s.n && !chars_is_space(chars_at((struct str){s.s + i, s.n - i}, &len)))
            i += len;
        vec_push(&p->at, ((struct str){s.s + from, i - from}));
        rc = eval_steps(p->ev, 1);
    }
    return rc;
}

int expr_filter_split(struct eval *ev, const struct slot *args, uint32_t n, struct slot *ret)
{
    (void)n;
    struct pieces p = {.ev = ev};
    struct str s, by = {"", 0};
    uint64_t most;
    bool given = args[1].v && args[1].v->kind != VALUE_NULL;
    int rc = arg_text(ev, &args[0], "value", &s);
    if (rc >= 0 && given)
        rc = arg_text(ev, &args[1], "separator", &by);
    if (rc >= 0)
        rc = arg_count(ev, &args[2], "maxsplit", &most);
    if (rc >= 0)
        rc = eval_steps_text(ev, s.n);
    if (rc >= 0 && given && !by.n)
        rc = eval_fail(ev, ERR_INVALID, "the separator is empty");
    if (rc < 0)
        return rc;
    if (!given)
        return pieces_list(&p, split_spaces(&p, s, most), ret);
    const char *hit;
    while (rc >= 0 && p.at.n < most && (hit = memmem(s.s, s.n, by.s, by.n))) {
        vec_push(&p.at, ((struct str){s.s, (size_t)(hit - s.s)}));
        s.n -= (size_t)(hit - s.s) + by.n;
        s.s = hit + by.n;
        rc = eval_steps(ev, 1);
    }
    vec_push(&p.at, s);
    return pieces_list(&p, rc, ret);
}

int expr_filter_join(struct eval *ev, const struct slot *args, uint32_t n, struct slot *ret)
{
    (void)n;
    SCOPED_BUF(out);
    const struct value *items;
    struct str by = {"", 0}, path = {"", 0};
    uint32_t count;
    bool attribute = args[2].v && args[2].v->kind != VALUE_NULL;
    int rc = eval_each(ev, args[0].v, &items, &count);
    if (rc >= 0 && args[1].v)
        rc = show_text(ev, args[1].v, &by);
    if (rc >= 0 && attribute)
        rc = show_text(ev, args[2].v, &path);
    for (uint32_t i = 0; rc >= 0 && i < count; i++) {
        struct slot item = {.v = &items[i]};
        if (attribute)
            rc = eval_attribute(ev, &items[i], path, &item);
        if (rc >= 0 && !item.v)
            rc = eval_fail(ev, ERR_UNKNOWN_NAME, "item %u has no \"%.*s\"", i, expr_shown(path),
                           path.s);
        if (rc >= 0 && i)
            buf_put(&out, by.s, by.n);
        if (rc >= 0)
            rc = show_write(ev, &out, item.v, false);
    }
    return rc < 0 ? rc : give_text(ev, buf_str(&out), ret);
}

/* --- patterns --- */

/* A pattern is mostly asked of many texts in a row: the last few stay compiled until the evaluation
 * ends.  Texts of an evaluation do not move, so that the address tells one pattern from another. */
struct eval_patterns {
    struct {
        struct str text;
        regex_t re;
    } at[EVAL_PATTERNS];
    uint32_t n, next;
};

void eval_patterns_free(struct eval_patterns *p)
{
    for (uint32_t i = 0; i < p->n; i++)
        regfree(&p->at[i].re);
    free(p);
}

static int pattern_compile(struct eval *ev, struct str pattern, const regex_t **ret_re)
{
    enum { COMPILE_STEPS = 50 };
    struct err why = {0};
    struct eval_patterns *p = ev->patterns;
    regex_t re;
    for (uint32_t i = 0; p && i < p->n; i++)
        if (p->at[i].text.s == pattern.s && p->at[i].text.n == pattern.n) {
            *ret_re = &p->at[i].re;
            return 0;
        }
    int rc = eval_steps(ev, COMPILE_STEPS);
    if (rc >= 0 && schema_pattern_check(pattern, &why) < 0) {
        if (why.hint[0])
            return eval_fail(ev, ERR_INVALID, "%s; %s", why.text, why.hint);
        return eval_fail(ev, ERR_INVALID, "%s", why.text);
    }
    if (rc >= 0 && regcomp(&re, pattern.s, REG_EXTENDED))
        rc = eval_fail(ev, ERR_INVALID, "the pattern is not usable");
    if (rc < 0)
        return rc;
    if (!p)
        p = ev->patterns = xcalloc(1, sizeof *p);
    uint32_t at = p->n < EVAL_PATTERNS ? p->n++ : p->next++ % EVAL_PATTERNS;
    if (p->at[at].text.s)
        regfree(&p->at[at].re);
    p->at[at].text = pattern;
    p->at[at].re = re;
    *ret_re = &p->at[at].re;
    return 0;
}

/* The evaluation keeps it. */
static int pattern_ready(struct eval *ev, const struct slot *args, const regex_t **ret_re,
                         struct str *ret_s)
{
    enum { MATCH_BYTES = 8 };
    struct str pattern;
    int rc = arg_text(ev, &args[0], "value", ret_s);
    if (rc >= 0)
        rc = arg_text(ev, &args[1], "pattern", &pattern);
    if (rc >= 0 && ret_s->n > SCHEMA_MAX_MATCH)
        rc = eval_fail(ev, ERR_LIMIT, "text of %zu bytes, %d is the limit for patterns", ret_s->n,
                       SCHEMA_MAX_MATCH);
    if (rc >= 0)
        rc = eval_steps(ev, 1 + ret_s->n / MATCH_BYTES);
    return rc < 0 ? rc : pattern_compile(ev, pattern, ret_re);
}

enum { GROUPS = 10 };

/* Matches from `from` on; what lies before it counts as text, so that ^ is the beginning. */
static bool pattern_next(const regex_t *re, struct str s, size_t from, regmatch_t m[GROUPS])
{
    m[0] = (regmatch_t){(regoff_t)from, (regoff_t)s.n}; /* may hold a NUL: give its length */
    return regexec(re, s.s, GROUPS, m, REG_STARTEND | (from ? REG_NOTBOL : 0)) == 0;
}

int expr_filter_regex_match(struct eval *ev, const struct slot *args, uint32_t n, struct slot *ret)
{
    (void)n;
    static const struct value nothing = {.kind = VALUE_NULL};
    regmatch_t m[GROUPS];
    const regex_t *re;
    struct str s;
    struct value *list = NULL;
    int rc = pattern_ready(ev, args, &re, &s);
    if (rc < 0)
        return rc;
    bool hit = pattern_next(re, s, 0, m);
    uint32_t groups = re->re_nsub + 1 < GROUPS ? (uint32_t)re->re_nsub + 1 : GROUPS;
    if (!hit)
        return give_value(ev, &nothing, ret);
    rc = eval_list(ev, groups, &list);
    for (uint32_t i = 0; i < groups && rc >= 0; i++) {
        struct slot one = {.v = &nothing}; /* a group that took no part */
        if (m[i].rm_so >= 0)
            rc = give_text(ev, (struct str){s.s + m[i].rm_so, (size_t)(m[i].rm_eo - m[i].rm_so)},
                           &one);
        if (rc >= 0)
            eval_list_put(list, one.v);
    }
    return rc < 0 ? rc : give_value(ev, list, ret);
}

int expr_test_match(struct eval *ev, const struct slot *args, uint32_t n, struct slot *ret)
{
    (void)n;
    const regex_t *re;
    struct str s;
    int rc = pattern_ready(ev, args, &re, &s);
    if (rc < 0)
        return rc;
    regmatch_t whole = {0, (regoff_t)s.n}; /* no groups are asked for: they cost most */
    return give_bool(ev, regexec(re, s.s, 0, &whole, REG_STARTEND) == 0, ret);
}

/* \0 to \9 are what the pattern and its groups matched, \\ is a backslash. */
static void expand(struct buf *out, struct str with, struct str s, const regmatch_t m[GROUPS])
{
    for (size_t i = 0; i < with.n; i++) {
        char next = i + 1 < with.n ? with.s[i + 1] : '\0';
        if (with.s[i] != '\\' || !(next == '\\' || (next >= '0' && next <= '9'))) {
            buf_putc(out, with.s[i]);
            continue;
        }
        i++;
        const regmatch_t *g = &m[next == '\\' ? 0 : next - '0'];
        if (next == '\\')
            buf_putc(out, '\\');
        else if (g->rm_so >= 0)
            buf_put(out, s.s + g->rm_so, (size_t)(g->rm_eo - g->rm_so));
    }
}

int expr_filter_regex_replace(struct eval *ev, const struct slot *args, uint32_t n,
                              struct slot *ret)
{
    (void)n;
    SCOPED_BUF(out);
    regmatch_t m[GROUPS];
    const regex_t *re;
    struct str s, with;
    uint64_t count;
    size_t at = 0, done = 0; /* where to look on; what has been written */
    int rc = arg_text(ev, &args[2], "replacement", &with);
    if (rc >= 0)
        rc = arg_count(ev, &args[3], "count", &count);
    if (rc >= 0)
        rc = pattern_ready(ev, args, &re, &s);
    if (rc < 0)
        return rc;
    while (rc >= 0 && count-- && at <= s.n && pattern_next(re, s, at, m)) {
        size_t from = (size_t)m[0].rm_so, to = (size_t)m[0].rm_eo, len = 1;
        buf_put(&out, s.s + done, from - done);
        expand(&out, with, s, m);
        done = to;
        if (to == from && to < s.n) /* nothing was matched: go on behind the next character */
            chars_at((struct str){s.s + to, s.n - to}, &len);
        at = to == from ? to + len : to;
        rc = eval_steps(ev, 1 + (s.n - to) / 64);
        if (rc >= 0)
            rc = eval_bytes(ev, out.len);
    }
    if (rc < 0)
        return rc;
    buf_put(&out, s.s + done, s.n - done);
    return give_text(ev, buf_str(&out), ret);
}
