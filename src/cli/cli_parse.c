/* cli_parse.c - a command line against the table of verbs
 *
 * Global options may stand anywhere, options of a verb anywhere after it.  --name=value, --name
 * value, -o value, -ovalue; letters without values may be joined (-fq); -- ends the options.  A
 * value that may be left out must be joined by =. Everything that can be checked without a server
 * is checked here, so that a mistake costs no request.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli_i.h"

#include <assert.h>
#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "base/text.h"

struct parser {
    int argc, at;
    char **argv;
    struct cli_line *l;
    const char *verb; /* second word of a command with verbs */
    bool plain;       /* after -- */
};

static bool word_is_known(const char *words, const char *s)
{
    const char *w;
    size_t n;
    while (verbs_word_next(&words, &w, &n))
        if (strlen(s) == n && !strncasecmp(s, w, n))
            return true;
    return false;
}

static int word_unknown(const char *what, const char *words, const char *s, struct err *e)
{
    SCOPED_BUF(all);
    SCOPED_ARENA(mem);
    VEC(const char *) names = {0};
    const char *w;
    size_t n;
    bool upper = strpbrk(words, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") != NULL;
    for (const char *p = words; verbs_word_next(&p, &w, &n);) {
        vec_push(&names, arena_strndup(&mem, w, n));
        buf_printf(&all, "%s%.*s", all.len ? ", " : "", (int)n, w);
    }
    char *typed = arena_strdup(&mem, s);
    for (char *p = typed; *p; p++)
        *p = (char)(upper ? toupper((unsigned char)*p) : tolower((unsigned char)*p));
    const char *near = text_nearest(str_of(typed), names.at, names.n);
    vec_done(&names);
    err_set(e, ERR_INVALID, "%s is one of %s, not \"%s\"", what, buf_str(&all).s, s);
    return near ? err_hint(e, "did you mean %s?", near) : -ERR_INVALID;
}

/* What is called by a number. */
static const char *const id_nouns[KIND_COUNT] = {[KIND_NODEROLE] = "noderole",
                                                 [KIND_OPERATION] = "operation",
                                                 [KIND_TASK] = "task",
                                                 [KIND_TOKEN] = "token"};

/* what: "--limit" or "ID", for the message. */
static int value_check(const char *what, enum cli_kind kind, unsigned flags, const char *words,
                       const char *s, struct err *e)
{
    uint64_t number = 1;
    struct err why;
    if (!*s && kind != KIND_TEXT)
        return err_set(e, ERR_INVALID, "%s must not be empty", what);
    if (kind == KIND_WORD)
        return word_is_known(words, s) ? 0 : word_unknown(what, words, s, e);
    if (kind == KIND_DURATION) {
        if (text_duration_ms(str_of(s), &number, &why))
            return err_set(e, ERR_INVALID, "%s is a duration such as 30s, 5m or 2h, not \"%s\"",
                           what, s);
    } else if (kind == KIND_NUMBER || kind >= KIND_NODEROLE) {
        if (text_u64(str_of(s), (uint64_t)1 << 53, &number, &why)) {
            int rc = err_set(e, ERR_INVALID, "%s is a number, not \"%s\"", what, s);
            return kind == KIND_NUMBER
                       ? rc
                       : err_hint(e, "`anneal %s list` shows the numbers", id_nouns[kind]);
        }
    } else if (kind == KIND_BINDING) {
        const char *eq = strchr(s, '=');
        if (!eq || eq == s || !eq[1]) {
            err_set(e, ERR_INVALID, "\"%s\" is not ROLE=SELECTOR", s);
            return err_hint(e, "for example database=db1.example.org or web='rack=3'");
        }
    }
    return !number && flags & ARG_POSITIVE ? err_set(e, ERR_INVALID, "%s must not be 0", what) : 0;
}

static int option_take(struct parser *p, const struct cli_opt *o, const char *value, struct err *e)
{
    char what[64];
    snprintf(what, sizeof what, "--%s", o->name);
    if (!o->value) {
        if (value)
            return err_set(e, ERR_INVALID, "%s takes no value", what);
    } else if (!value && !(o->flags & ARG_OPTIONAL)) {
        if (p->at >= p->argc)
            return err_set(e, ERR_INVALID, "%s needs a value: %s", what, o->value);
        value = p->argv[p->at++];
    }
    for (size_t i = 0; i < p->l->given.n && !(o->flags & ARG_MANY); i++)
        if (p->l->given.at[i].opt == o && o->value)
            return err_set(e, ERR_INVALID, "%s is given twice", what);
    int rc = value ? value_check(what, o->kind, o->flags, o->words, value, e) : 0;
    if (rc)
        return rc;
    const struct cli_given g = {o, value};
    vec_push(&p->l->given, g);
    p->l->help |= !strcmp(o->name, "help");
    return 0;
}

static int long_option(struct parser *p, const char *arg, struct err *e)
{
    const char *name = arg + 2, *eq = strchr(name, '=');
    size_t n = eq ? (size_t)(eq - name) : strlen(name);
    const struct cli_opt *o = verbs_option(p->l->verb, name, n);
    if (!o)
        return verbs_unknown_option(p->l->verb, arg, e);
    return option_take(p, o, eq ? eq + 1 : NULL, e);
}

static int short_options(struct parser *p, const char *arg, struct err *e)
{
    for (const char *s = arg + 1; *s; s++) {
        const struct cli_opt *o = verbs_letter(p->l->verb, *s);
        if (!o) {
            char one[3] = {'-', *s, '\0'};
            return verbs_unknown_option(p->l->verb, one, e);
        }
        bool joined = o->value && s[1];
        int rc = option_take(p, o, joined ? s + 1 : NULL, e);
        if (rc || joined)
            return rc;
    }
    return 0;
}

static int word_take(struct parser *p, const char *word, struct err *e)
{
    struct cli_line *l = p->l;
    if (!l->noun) {
        const struct cli_noun *n = verbs_noun(word);
        if (!n)
            return verbs_unknown_noun(word, e);
        l->noun = n->name;
        l->verb = verbs_find(n->name, NULL);
        if (l->verb && l->verb->flags & VERB_RAW) {
            l->raw_from = p->at;
            p->at = p->argc;
        }
        return 0;
    }
    if (!l->verb) {
        l->verb = verbs_find(l->noun, word);
        return l->verb ? 0 : verbs_unknown_verb(l->noun, word, e);
    }
    vec_push(&l->args, word);
    return 0;
}

static int args_check(const struct cli_line *l, struct err *e)
{
    const struct cli_verb *v = l->verb;
    SCOPED_BUF(usage);
    help_usage(&usage, v);
    const struct cli_arg *a = v->args;
    size_t n = 0;
    for (; n < CLI_ARGS_MAX && a[n].name; n++)
        if (n >= l->args.n && !(a[n].flags & ARG_OPTIONAL)) {
            err_set(e, ERR_INVALID, "%s is missing", a[n].name);
            return err_hint(e, "usage: %s", usage.data);
        }
    for (size_t i = 0; i < l->args.n; i++) {
        size_t k = i < n ? i : n - 1;
        if (!n || (i >= n && !(a[k].flags & ARG_MANY))) {
            err_set(e, ERR_INVALID, "\"%s\" is one argument too many", l->args.at[i]);
            return err_hint(e, "usage: %s", usage.data);
        }
        if (!*l->args.at[i]) /* would name the list instead of an object */
            return err_set(e, ERR_INVALID, "%s must not be empty", a[k].name);
        int rc = value_check(a[k].name, a[k].kind, a[k].flags, a[k].words, l->args.at[i], e);
        if (rc)
            return rc;
    }
    return 0;
}

static bool line_has(const struct cli_line *l, const char *name)
{
    for (size_t i = 0; i < l->given.n; i++)
        if (!strcmp(l->given.at[i].opt->name, name))
            return true;
    return false;
}

static int line_check(const struct cli_line *l, struct err *e)
{
    if (l->help || !l->noun)
        return 0;
    if (!l->verb)
        return verbs_unknown_verb(l->noun, NULL, e);
    if (line_has(l, "wait") && !(l->verb->flags & VERB_WAIT))
        return err_set(e, ERR_INVALID, "--wait: %s%s%s starts nothing that could be waited for",
                       l->noun, l->verb->verb ? " " : "", l->verb->verb ? l->verb->verb : "");
    if (line_has(l, "color") && line_has(l, "no-color"))
        return err_set(e, ERR_INVALID, "--color and --no-color contradict each other");
    return l->verb->flags & VERB_RAW ? 0 : args_check(l, e);
}

int cli_parse(int argc, char **argv, struct cli_line *ret_l, struct err *e)
{
    struct cli_line l = {0};
    struct parser p = {.argc = argc, .at = 1, .argv = argv, .l = &l};
    int rc = 0;
    while (!rc && p.at < p.argc) {
        const char *arg = p.argv[p.at++];
        if (p.plain || arg[0] != '-' || !arg[1])
            rc = word_take(&p, arg, e);
        else if (!strcmp(arg, "--"))
            p.plain = true;
        else if (arg[1] == '-')
            rc = long_option(&p, arg, e);
        else
            rc = short_options(&p, arg, e);
    }
    if (!rc)
        rc = line_check(&l, e);
    if (rc)
        cli_line_done(&l);
    else
        *ret_l = l;
    return rc;
}

void cli_line_done(struct cli_line *l)
{
    vec_done(&l->args);
    vec_done(&l->given);
}

/* A verb that asks for an option which its row lacks would never see it: catch the typo. */
static const struct cli_opt *row_option(const struct cli *c, const char *name)
{
    const struct cli_opt *o = verbs_option(c->line.verb, name, strlen(name));
    assert(o);
    return o;
}

const char *cli_arg(const struct cli *c, size_t i)
{
    return i < c->line.args.n ? c->line.args.at[i] : NULL;
}

const char *cli_option_at(const struct cli *c, const char *option, size_t i)
{
    const struct cli_opt *o = row_option(c, option);
    for (size_t k = 0; k < c->line.given.n; k++)
        if (c->line.given.at[k].opt == o && i-- == 0)
            return c->line.given.at[k].value;
    return NULL;
}

const char *cli_option(const struct cli *c, const char *option)
{
    return cli_option_at(c, option, 0);
}

bool cli_has(const struct cli *c, const char *option)
{
    const struct cli_opt *o = row_option(c, option);
    for (size_t k = 0; k < c->line.given.n; k++)
        if (c->line.given.at[k].opt == o)
            return true;
    return false;
}

uint64_t cli_number(const struct cli *c, const char *option, uint64_t otherwise)
{
    uint64_t v = otherwise;
    const char *s = cli_option(c, option);
    struct err e;
    if (s && text_u64(str_of(s), UINT64_MAX, &v, &e))
        assert(!"cli_parse checked it");
    return v;
}

/* The word of the list that s is in any case of letters, in the list's spelling. */
static const char *word_spelled(struct cli *c, const char *words, const char *s)
{
    const char *w;
    size_t n;
    while (s && verbs_word_next(&words, &w, &n))
        if (strlen(s) == n && !strncasecmp(s, w, n))
            return arena_strndup(&c->mem, w, n);
    return NULL;
}

const char *cli_word(struct cli *c, const char *option)
{
    return word_spelled(c, row_option(c, option)->words, cli_option(c, option));
}

const char *cli_arg_word(struct cli *c, size_t i)
{
    assert(i < CLI_ARGS_MAX);
    return word_spelled(c, c->line.verb->args[i].words, cli_arg(c, i));
}
