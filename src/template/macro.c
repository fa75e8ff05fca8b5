/* macro.c - macros are found in texts and read
 *
 * One pass, no backtracking.  What a percent sign may open is decided by the bytes up to the next
 * one: see macro.h.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "template/macro_i.h"

#include "base/text.h"

#define DEFAULT_ADDRESS   "bind_v4"
#define DEFAULT_SEPARATOR ","

/* --- one macro --- */

struct macro_scan {
    struct str all, rest;
    struct err *e;
};

static int scan_fail(const struct macro_scan *s, const char *why)
{
    int shown = (int)text_utf8_prefix(s->all.s, s->all.n < 64 ? s->all.n : 64);
    int rc = err_set(s->e, ERR_SYNTAX, "%%%.*s%% is no macro: %s", shown, s->all.s, why);
    err_hint(s->e, "two percent signs, %%%%, never open a macro");
    return rc;
}

/* Takes the word if it is next. */
static bool scan_take(struct macro_scan *s, const char *word)
{
    size_t n = strlen(word);

    if (s->rest.n < n || memcmp(s->rest.s, word, n))
        return false;
    s->rest = (struct str){s->rest.s + n, s->rest.n - n};
    return true;
}

static bool is_name_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '.';
}

static int scan_service(struct macro_scan *s, struct macro_piece *p)
{
    size_t n = 0;

    while (n < s->rest.n && is_name_char(s->rest.s[n]))
        n++;
    p->service = (struct str){s->rest.s, n};
    s->rest = (struct str){s->rest.s + n, s->rest.n - n};
    return n ? 0 : scan_fail(s, "the name of a service is missing");
}

/* "[3]", if there is one. */
static int scan_index(struct macro_scan *s, struct macro_piece *p)
{
    uint64_t index;
    size_t n = 0;

    if (!scan_take(s, "["))
        return 0;
    while (n < s->rest.n && s->rest.s[n] != ']')
        n++;
    if (n == s->rest.n || text_u64((struct str){s->rest.s, n}, MACRO_MAX_INDEX, &index, NULL) < 0)
        return scan_fail(s, "in brackets stands a number, from 0 on");
    p->indexed = true;
    p->index = (uint32_t)index;
    s->rest = (struct str){s->rest.s + n + 1, s->rest.n - n - 1};
    return 0;
}

/* What may follow "host." and "ip.TYPE.". */
static int scan_place(struct macro_scan *s, struct macro_piece *p)
{
    if (scan_take(s, "service.")) {
        int rc = scan_service(s, p);
        return rc < 0 ? rc : scan_index(s, p);
    }
    if (!scan_take(s, "self"))
        return scan_fail(s, "it is of \"self\", or of \"service.\" and a name");
    p->self = true;
    return 0;
}

static int scan_ip(struct macro_scan *s, struct macro_piece *p)
{
    size_t n = 0;

    p->what = MACRO_IP;
    p->type = str_of(DEFAULT_ADDRESS);
    while (n < s->rest.n && is_name_char(s->rest.s[n]) && s->rest.s[n] != '.')
        n++;
    struct str word = {s->rest.s, n};
    bool type = n && n < s->rest.n && s->rest.s[n] == '.' && !str_is(word, "service");
    if (type) {
        p->type = word;
        s->rest = (struct str){s->rest.s + n + 1, s->rest.n - n - 1};
    }
    return scan_place(s, p);
}

static int scan_reference(struct macro_scan *s, struct macro_piece *p)
{
    if (scan_take(s, "host.")) {
        p->what = MACRO_HOST;
        return scan_place(s, p);
    }
    if (scan_take(s, "ip."))
        return scan_ip(s, p);
    if (scan_take(s, "num.service.")) {
        p->what = MACRO_NUM;
        return scan_service(s, p);
    }
    if (scan_take(s, "instance.self.service.")) {
        p->what = MACRO_INSTANCE;
        p->self = true;
        return scan_service(s, p);
    }
    if (!scan_take(s, "cluster.owner"))
        return scan_fail(s, "it must begin with host, ip, num.service, instance.self.service, "
                            "cluster.owner, map or join");
    p->what = MACRO_OWNER;
    return 0;
}

/* ",'text')" in either kind of quotes. */
static int scan_argument(struct macro_scan *s, struct str *ret)
{
    if (!scan_take(s, ","))
        return scan_fail(s, "a comma and a text in quotes are missing");
    char quote = s->rest.n ? s->rest.s[0] : '\0';
    if (quote != '\'' && quote != '"')
        return scan_fail(s, "what follows the comma must be in quotes");
    const char *end = memchr(s->rest.s + 1, quote, s->rest.n - 1);
    if (!end)
        return scan_fail(s, "the closing quote is missing");
    *ret = (struct str){s->rest.s + 1, (size_t)(end - s->rest.s) - 1};
    s->rest = (struct str){end + 1, s->rest.n - ret->n - 2};
    return scan_take(s, ")") ? 0 : scan_fail(s, "the closing parenthesis is missing");
}

static int scan_map(struct macro_scan *s, struct macro_piece *p)
{
    if (!scan_take(s, "map("))
        return scan_reference(s, p);
    p->mapped = true;
    int rc = scan_reference(s, p);
    return rc < 0 ? rc : scan_argument(s, &p->form);
}

int macro_piece_read(struct str macro, struct macro_piece *ret, struct err *e)
{
    struct macro_scan s = {macro, macro, e};
    struct macro_piece p = {.separator = str_of(DEFAULT_SEPARATOR)};
    bool joined = scan_take(&s, "join(");
    int rc = scan_map(&s, &p);

    if (rc == 0 && joined)
        rc = scan_argument(&s, &p.separator);
    if (rc < 0)
        return rc;
    if (s.rest.n)
        return scan_fail(&s, "there is something behind its end");
    *ret = p;
    return 0;
}

int macro_check(struct str macro, struct err *e)
{
    struct macro_piece p;
    return macro_piece_read(macro, &p, e);
}

/* --- texts --- */

/* Where the macro ends that the percent sign at `from` opens: the index of the one that closes it,
 * 0 if it opens none. */
static size_t macro_end(struct str text, size_t from)
{
    size_t i = from + 1;

    while (i < text.n && ((text.s[i] >= 'a' && text.s[i] <= 'z') || text.s[i] == '_'))
        i++;
    if (i == from + 1 || i == text.n || (text.s[i] != '.' && text.s[i] != '('))
        return 0;
    bool quoted = false;
    for (char quote = '\0'; i < text.n && text.s[i] != '%'; i++) {
        char c = text.s[i];
        if (!quoted && (unsigned char)c <= ' ')
            return 0;
        if (quoted ? c == quote : c == '\'' || c == '"') {
            quote = c;
            quoted = !quoted;
        }
    }
    return i < text.n ? i : 0;
}

/* Calls each() with all pieces of a text, from left to right. */
static int text_each(struct str text, int (*each)(void *ctx, const struct macro_piece *p),
                     void *ctx, struct err *e)
{
    size_t plain = 0, i = 0; /* plain: where text that is no macro begins */
    int rc = 0;

    while (rc == 0 && i < text.n) {
        const char *percent = memchr(text.s + i, '%', text.n - i);
        if (!percent)
            break;
        size_t at = (size_t)(percent - text.s);
        if (at + 1 < text.n && text.s[at + 1] == '%') {
            i = at + 2;
            continue;
        }
        size_t end = macro_end(text, at);
        if (!end) {
            i = at + 1;
            continue;
        }
        struct macro_piece p = {.written = {text.s + plain, at - plain}};
        if (at > plain)
            rc = each(ctx, &p);
        if (rc == 0)
            rc = macro_piece_read((struct str){text.s + at + 1, end - at - 1}, &p, e);
        p.written = (struct str){text.s + at, end + 1 - at};
        if (rc == 0)
            rc = each(ctx, &p);
        plain = i = end + 1;
    }
    struct macro_piece tail = {.written = {text.s + plain, text.n - plain}};
    return rc == 0 && tail.written.n ? each(ctx, &tail) : rc;
}

struct service_check {
    const struct strmap *services;
    struct err *e;
};

static int piece_validate(void *ctx, const struct macro_piece *p)
{
    const struct service_check *c = ctx;

    if (!c->services || !p->service.n || strmap_get(c->services, p->service, NULL))
        return 0;
    int rc = err_set(c->e, ERR_UNKNOWN_NAME, "%.*s: there is no service \"%.*s\"",
                     (int)text_utf8_prefix(p->written.s, p->written.n < 96 ? p->written.n : 96),
                     p->written.s, (int)(p->service.n < 64 ? p->service.n : 64), p->service.s);
    SCOPED_ARENA(mem);
    const char **names = arena_new(&mem, const char *, c->services->n + 1);
    size_t n = 0;
    for (size_t i = 0; i < c->services->n; i++)
        if (c->services->at[i].key)
            names[n++] = c->services->at[i].key;
    const char *best = text_nearest(p->service, names, n);
    if (best)
        err_hint(c->e, "did you mean \"%s\"?", best);
    return rc;
}

int macro_text_validate(struct str text, const struct strmap *services, struct err *e)
{
    struct service_check c = {services, e};
    return text_each(text, piece_validate, &c, e);
}

struct compiling {
    VEC(struct macro_piece) pieces;
    struct macro_text *text;
};

static int piece_add(void *ctx, const struct macro_piece *p)
{
    struct compiling *c = ctx;
    c->text->has_macros |= p->what != MACRO_PLAIN;
    c->text->of_self |= p->self;
    vec_push(&c->pieces, *p);
    return 0;
}

const struct macro_text *macro_text_compile(struct arena *a, struct str text, struct err *e)
{
    struct compiling c = {.text = arena_new(a, struct macro_text, 1)};
    struct str own = {arena_strndup(a, text.s, text.n), text.n};
    int rc = text_each(own, piece_add, &c, e);

    if (rc == 0 && c.pieces.n) {
        c.text->pieces = arena_new(a, struct macro_piece, c.pieces.n);
        memcpy(c.text->pieces, c.pieces.at, c.pieces.n * sizeof *c.pieces.at);
        c.text->n = (uint32_t)c.pieces.n;
    }
    vec_done(&c.pieces);
    return rc == 0 ? c.text : NULL;
}

bool macro_text_has_macros(const struct macro_text *t)
{
    return t->has_macros;
}

bool macro_text_is_of_self(const struct macro_text *t)
{
    return t->of_self;
}
