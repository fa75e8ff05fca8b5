/* verbs_find.c - looking things up in the table of verbs, and what to say when they are not there
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/verbs_i.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/text.h"

const struct cli_noun *verbs_noun(const char *noun)
{
    for (const struct cli_noun *n = cli_nouns; n->name; n++)
        if (!strcmp(n->name, noun))
            return n;
    return NULL;
}

const struct cli_verb *verbs_find(const char *noun, const char *verb)
{
    for (const struct cli_verb *v = cli_verbs; v->noun; v++) {
        bool same = v->verb && verb ? !strcmp(v->verb, verb) : !v->verb && !verb;
        if (same && !strcmp(v->noun, noun))
            return v;
    }
    return NULL;
}

bool verbs_is_command(const char *noun)
{
    return verbs_find(noun, NULL) != NULL;
}

static const struct cli_opt *option_in(const struct cli_opt *o, const char *name, size_t n)
{
    for (; o && o->name; o++)
        if (strlen(o->name) == n && !memcmp(o->name, name, n))
            return o;
    return NULL;
}

const struct cli_opt *verbs_option(const struct cli_verb *v, const char *name, size_t n)
{
    const struct cli_opt *o = v ? option_in(v->opts, name, n) : NULL;
    return o ? o : option_in(cli_globals, name, n);
}

static const struct cli_opt *letter_in(const struct cli_opt *o, char letter)
{
    for (; o && o->name; o++)
        if (o->letter == letter)
            return o;
    return NULL;
}

const struct cli_opt *verbs_letter(const struct cli_verb *v, char letter)
{
    const struct cli_opt *o = v ? letter_in(v->opts, letter) : NULL;
    return o ? o : letter_in(cli_globals, letter);
}

bool verbs_word_next(const char **at, const char **ret_word, size_t *ret_n)
{
    const char *p = *at;
    if (p && *p == '|')
        p++;
    if (!p || !*p)
        return false;
    *ret_word = p;
    *ret_n = strcspn(p, "|");
    *at = p + *ret_n;
    return true;
}

int verbs_unknown_noun(const char *noun, struct err *e)
{
    VEC(const char *) names = {0};
    for (const struct cli_noun *n = cli_nouns; n->name; n++)
        if (n->help)
            vec_push(&names, n->name);
    const char *near = text_nearest(str_of(noun), names.at, names.n);
    vec_done(&names);
    err_set(e, ERR_INVALID, "there is no command \"%s\"", noun);
    if (near)
        return err_hint(e, "did you mean `anneal %s`?", near);
    return err_hint(e, "`anneal help` lists all commands");
}

int verbs_unknown_verb(const char *noun, const char *verb, struct err *e)
{
    VEC(const char *) names = {0};
    char all[160] = "";
    for (const struct cli_verb *v = cli_verbs; v->noun; v++) {
        if (strcmp(v->noun, noun) || !v->verb)
            continue;
        vec_push(&names, v->verb);
        size_t n = strlen(all);
        snprintf(all + n, sizeof all - n, "%s%s", n ? ", " : "", v->verb);
    }
    const char *near = verb ? text_nearest(str_of(verb), names.at, names.n) : NULL;
    vec_done(&names);
    if (!verb)
        err_set(e, ERR_INVALID, "\"%s\" needs a verb: %s", noun, all);
    else
        err_set(e, ERR_INVALID, "\"%s\" has no verb \"%s\": %s", noun, verb, all);
    if (near)
        return err_hint(e, "did you mean `anneal %s %s`?", noun, near);
    return err_hint(e, "`anneal help %s` says what they do", noun);
}

int verbs_unknown_option(const struct cli_verb *v, const char *option, struct err *e)
{
    VEC(const char *) names = {0};
    struct str s = {option, strcspn(option, "=")};
    for (const struct cli_opt *o = v ? v->opts : NULL; o && o->name; o++)
        vec_push(&names, o->name);
    for (const struct cli_opt *o = cli_globals; o->name; o++)
        vec_push(&names, o->name);
    const char *near = NULL;
    if (s.n > 2 && option[1] == '-')
        near = text_nearest((struct str){option + 2, s.n - 2}, names.at, names.n);
    vec_done(&names);
    const char *noun = v ? v->noun : "", *verb = v && v->verb ? v->verb : "";
    err_set(e, ERR_INVALID, "%s%s%s%s does not have the option %.*s", v ? "" : "anneal", noun,
            *verb ? " " : "", verb, (int)s.n, option);
    if (near)
        return err_hint(e, "did you mean --%s?", near);
    if (!v)
        return err_hint(e,
                        "options of a verb follow the verb; `anneal help` lists the global ones");
    return err_hint(e, "`anneal help %s%s%s` lists them", noun, *verb ? " " : "", verb);
}
