/* node_name.c - what a node may be called, and how one without a name is called
 *
 * A name is a DNS name inside the administrative domain.  A node that comes without one gets a name
 * from the setting node_pattern, a text in which
 *
 *     {n}      is a number from 1, counted up until the name is free; {n:3} has at least 3 digits
 *     {key}    is the label of that key, else the fact of that key, in the letters of DNS
 *
 * and everything else stands for itself; the administrative domain is added.  There is nothing more
 * to the language: each pattern makes a name or says what it lacks.
 *
 * The last number given is remembered for each text around it, so that the ten thousandth name
 * costs what the tenth did; after a restart it is found by counting once.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "server/server_i.h"

enum { NUMBER_DIGITS = 9, NUMBER_MOST = 999999999 };

struct pattern_part {
    struct str text; /* as it stands; or the key of a field */
    bool field;
    uint32_t width; /* of {n} */
};

static bool is_number(const struct pattern_part *p)
{
    return p->field && str_is(p->text, "n");
}

static int pattern_wrong(struct err *e, const char *pattern, const char *what)
{
    err_set(e, ERR_INVALID, "node_pattern \"%s\": %s", pattern, what);
    return err_hint(e, "letters, digits, - and . stand for themselves; {n} is a number, {n:3} one "
                       "of three digits, {rack} the label or fact rack");
}

/* Reads the next part; 0 at the end. */
static int pattern_next(const char *pattern, const char **at, struct pattern_part *ret,
                        struct err *e)
{
    const char *s = *at;
    *ret = (struct pattern_part){0};
    if (!*s)
        return 0;
    if (*s != '{') {
        size_t n = strspn(s, "abcdefghijklmnopqrstuvwxyz0123456789.-");
        if (n == 0)
            return pattern_wrong(e, pattern, "it has letters that no name may have");
        ret->text = (struct str){s, n};
        *at = s + n;
        return 1;
    }
    size_t n = strcspn(++s, ":}");
    ret->field = true;
    ret->text = (struct str){s, n};
    s += n;
    if (*s == ':') {
        size_t digits = strspn(++s, "0123456789");
        uint64_t width = 0;
        if (!is_number(ret) || digits == 0 ||
            text_u64((struct str){s, digits}, NUMBER_DIGITS, &width, NULL) < 0 || width == 0)
            return pattern_wrong(e, pattern, "only {n} has a width, of 1 to 9 digits");
        ret->width = (uint32_t)width;
        s += digits;
    }
    if (*s != '}' || !text_is_name(ret->text))
        return pattern_wrong(e, pattern, "a field is a key in braces");
    *at = s + 1;
    return 1;
}

int node_name_pattern_check(const char *pattern, struct err *e)
{
    struct pattern_part part;
    uint32_t numbers = 0;
    int rc;
    for (const char *at = pattern; (rc = pattern_next(pattern, &at, &part, e)) > 0;)
        numbers += is_number(&part);
    if (rc >= 0 && numbers > 1)
        return pattern_wrong(e, pattern, "it has more than one number");
    return rc;
}

int node_name_check(const struct server *s, const char *name, struct err *e)
{
    const char *domain = s->opts->admin_domain;
    size_t n = strlen(name), d = strlen(domain);
    if (!text_is_fqdn(str_of(name))) {
        err_set(e, ERR_INVALID, "\"%s\" is not a lower-case DNS name", name);
        return err_at(e, "/name");
    }
    if (d > 0 && (n <= d + 1 || strcmp(name + n - d, domain) != 0 || name[n - d - 1] != '.')) {
        err_set(e, ERR_INVALID, "\"%s\" is not in the administrative domain %s", name, domain);
        err_at(e, "/name");
        return err_hint(e, "name it %s.%s, or change admin_domain", name, domain);
    }
    return 0;
}

/* A label or fact in letters that a name may have; nothing if there is none. */
static void field_write(struct buf *b, struct arena *mem, const struct value *body, struct str key)
{
    const char *name = arena_strndup(mem, key.s, key.n);
    const struct value *v = value_get(value_get(body, "labels"), name);
    struct str text = value_as_str(v ? v : (v = value_get(value_get(body, "facts"), name)));
    if (value_is(v, VALUE_INT))
        text = str_of(arena_printf(mem, "%" PRId64, v->i));
    for (; text.n > 0; text.s++, text.n--) {
        char c = *text.s;
        if (c >= 'A' && c <= 'Z')
            c = (char)(c - 'A' + 'a');
        buf_putc(b, (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ? c : '-');
    }
}

struct pattern_filled { /* everything but the number */
    struct buf before, after;
    bool numbered;
    uint32_t width;
};

static int pattern_fill(const struct server *s, struct arena *mem, const struct value *body,
                        struct pattern_filled *f, struct err *e)
{
    const char *pattern = s->opts->node_pattern, *at = pattern;
    struct pattern_part part;
    int rc;
    while ((rc = pattern_next(pattern, &at, &part, e)) > 0) {
        struct buf *to = f->numbered ? &f->after : &f->before;
        size_t was = to->len;
        if (is_number(&part)) {
            f->numbered = true;
            f->width = part.width;
        } else if (!part.field) {
            buf_put(to, part.text.s, part.text.n);
        } else {
            field_write(to, mem, body, part.text);
            if (to->len > was)
                continue;
            err_set(e, ERR_REFUSED,
                    "a name like %s needs %.*s, which the node has neither as a "
                    "label nor as a fact",
                    pattern, (int)part.text.n, part.text.s);
            err_at(e, "/labels");
            return err_hint(e, "give it with --label %.*s=VALUE, or give the node a name",
                            (int)part.text.n, part.text.s);
        }
    }
    if (rc >= 0 && *s->opts->admin_domain)
        buf_printf(f->numbered ? &f->after : &f->before, ".%s", s->opts->admin_domain);
    return rc;
}

static int number_count(struct server *s, struct arena *mem, const struct pattern_filled *f,
                        const char **ret_name, struct err *e)
{
    const char *key = arena_printf(mem, "%s{n}%s", buf_str(&f->before).s, buf_str(&f->after).s);
    uintptr_t last = 0;
    (void)strmap_get(&s->node_numbers, str_of(key), &last);
    for (uintptr_t n = last + 1; n <= NUMBER_MOST; n++) {
        char name[300];
        int len = snprintf(name, sizeof name, "%s%0*" PRIuPTR "%s", buf_str(&f->before).s,
                           (int)f->width, n, buf_str(&f->after).s);
        if (len >= (int)sizeof name)
            break; /* too long for a name, whatever the number */
        if (strmap_get(&s->inv.node_by_name, str_of(name), NULL))
            continue;
        strmap_put(&s->node_numbers, str_of(key), n);
        *ret_name = arena_strdup(mem, name);
        return 0;
    }
    return err_set(e, ERR_LIMIT, "no name like %s is free", s->opts->node_pattern);
}

int node_name_make(struct server *s, struct arena *mem, const struct value *body,
                   const char **ret_name, struct err *e)
{
    struct pattern_filled f = {0};
    if (!*s->opts->node_pattern) {
        err_set(e, ERR_INVALID, "a node needs a name");
        err_at(e, "/name");
        return err_hint(e, "give it one, or set node_pattern");
    }
    int rc = pattern_fill(s, mem, body, &f, e);
    if (rc >= 0 && f.numbered)
        rc = number_count(s, mem, &f, ret_name, e);
    else if (rc >= 0)
        *ret_name = arena_strdup(mem, buf_str(&f.before).s);
    buf_done(&f.before);
    buf_done(&f.after);
    return rc;
}
