/* test_verbs.c - the table of verbs is consistent with itself */
/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/verbs_i.h"
#include "tap.h"

static int options_named(const struct cli_opt *o, const char *name, char letter)
{
    int n = 0;
    for (; o && o->name; o++)
        n += (name && !strcmp(o->name, name)) || (letter && o->letter == letter);
    return n;
}

/* The first complaint about a list of options, "" if there is none.  Of those that every command
 * has, a verb may have its own --output: with formats that only it can print. */
static const char *options_fault(const struct cli_opt *opts, const struct cli_opt *others)
{
    for (const struct cli_opt *o = opts; o && o->name; o++) {
        bool own_output = others && !strcmp(o->name, "output") && o->letter == 'o';
        if (options_named(opts, o->name, 0) != 1 ||
            (!own_output && options_named(others, o->name, 0)))
            return "a name stands twice";
        if (o->letter && (options_named(opts, NULL, o->letter) != 1 ||
                          (!own_output && options_named(others, NULL, o->letter))))
            return "a letter stands twice";
        if ((o->kind == KIND_FLAG) != !o->value)
            return "a flag has a value, or another option has none";
        if ((o->kind == KIND_WORD) != (o->words != NULL))
            return "words without KIND_WORD, or the reverse";
        if (!o->help || !*o->help || o->help[strlen(o->help) - 1] == '.')
            return "help is missing or ends with a full stop";
    }
    return "";
}

static const char *args_fault(const struct cli_verb *v)
{
    bool optional = false;
    size_t n = 0;
    for (; n < CLI_ARGS_MAX && v->args[n].name; n++) {
        const struct cli_arg *a = &v->args[n];
        bool last = n + 1 == CLI_ARGS_MAX || !v->args[n + 1].name;
        if (optional && !(a->flags & ARG_OPTIONAL))
            return "a required argument follows an optional one";
        if (a->flags & ARG_MANY && !last)
            return "only the last argument may be repeated";
        if ((a->kind == KIND_WORD || a->kind == KIND_OBJECT) != (a->words != NULL))
            return "words without KIND_WORD, or the reverse";
        optional |= a->flags & ARG_OPTIONAL;
    }
    return "";
}

/* "GET /v1/x, POST /v1/y": every part is a method and a path. */
static const char *routes_fault(const struct cli_verb *v)
{
    const char *p = v->routes;
    if (!p)
        return v->flags & VERB_SERVER ? "it needs a server but names no route" : "";
    while (*p) {
        size_t n = strcspn(p, ",");
        const char *path = memchr(p, ' ', n);
        if (!path || strncmp(path, " /v1/", 5) != 0)
            return "a route is not METHOD /v1/...";
        p += n + (p[n] == ',');
        p += strspn(p, " ");
    }
    return "";
}

static void test_rows(void)
{
    for (const struct cli_verb *v = cli_verbs; v->noun; v++) {
        const char *verb = v->verb ? v->verb : "";
        int same = 0;
        for (const struct cli_verb *w = cli_verbs; w->noun; w++)
            same += !strcmp(w->noun, v->noun) &&
                    (!w->verb || !v->verb || !strcmp(w->verb, v->verb));
        is_int(same, 1, "%s %s: stands once", v->noun, verb);
        ok(verbs_noun(v->noun) != NULL, "%s %s: its noun is listed", v->noun, verb);
        ok(v->run != NULL, "%s %s: has a function", v->noun, verb);
        ok(v->help && *v->help && v->help[strlen(v->help) - 1] != '.',
           "%s %s: has help without a full stop", v->noun, verb);
        is_text(options_fault(v->opts, cli_globals), "", "%s %s: options", v->noun, verb);
        is_text(args_fault(v), "", "%s %s: arguments", v->noun, verb);
        is_text(routes_fault(v), "", "%s %s: routes", v->noun, verb);
        ok(!(v->flags & VERB_WAIT) || v->flags & VERB_SERVER, "%s %s: --wait needs a server",
           v->noun, verb);
        ok(verbs_find(v->noun, v->verb) == v, "%s %s: is found", v->noun, verb);
    }
    is_text(options_fault(cli_globals, NULL), "", "global options");
    for (const struct cli_noun *n = cli_nouns; n->name; n++) {
        int verbs = 0;
        for (const struct cli_verb *v = cli_verbs; v->noun; v++)
            verbs += !strcmp(v->noun, n->name);
        ok(verbs > 0, "noun %s has verbs", n->name);
    }
}

static void test_words(void)
{
    const char *p = "|a|bc|d", *w;
    size_t n;
    char all[32] = "";
    while (verbs_word_next(&p, &w, &n))
        snprintf(all + strlen(all), sizeof all - strlen(all), "%.*s.", (int)n, w);
    is_text(all, "a.bc.d.", "words one after the other, a leading bar skipped");
    p = "";
    ok(!verbs_word_next(&p, &w, &n), "no words");
    p = NULL;
    ok(!verbs_word_next(&p, &w, &n), "no list");
    const struct cli_verb *v = verbs_find("task", "list");
    const struct cli_opt *state = verbs_option(v, "state", 5);
    ok(state && strstr(state->words, "|DEP_FAILED|"), "states come from the list of the engine");
    ok(verbs_option(v, "statex", 5) == state, "a name is its length");
    ok(!verbs_option(v, "sta", 3), "and not a beginning");
    ok(verbs_option(NULL, "server", 6) != NULL, "globals need no verb");
    ok(verbs_letter(v, 'o') == verbs_option(NULL, "output", 6), "letters of globals");
    ok(!verbs_letter(v, 'z'), "no such letter");
    ok(!verbs_find("node", NULL) && !verbs_find("status", "list"),
       "a noun with verbs is no command");
    ok(verbs_is_command("status") && !verbs_is_command("node"), "which is which");
}

static void test_complaints(void)
{
    struct err e;
    is_int(verbs_unknown_noun("nodde", &e), -ERR_INVALID, "an unknown noun");
    is_text(e.hint, "did you mean `anneal node`?", "has a near one");
    verbs_unknown_noun("xyzzy", &e);
    has_text(e.hint, "anneal help", "or none");
    verbs_unknown_noun("__completf", &e);
    ok(!strstr(e.hint, "__complete"), "hidden ones are not suggested");
    verbs_unknown_verb("node", "shwo", &e);
    has_text(e.text, "list, show, add", "an unknown verb lists the known");
    is_text(e.hint, "did you mean `anneal node show`?", "and the near one");
    verbs_unknown_verb("node", NULL, &e);
    has_text(e.text, "needs a verb: list", "a missing verb");
    verbs_unknown_option(verbs_find("node", "add"), "--lable=x=y", &e);
    has_text(e.text, "--lable", "an unknown option is named");
    ok(!strstr(e.text, "x=y"), "without its value");
    is_text(e.hint, "did you mean --label?", "and the near one");
    verbs_unknown_option(verbs_find("node", "add"), "-Z", &e);
    has_text(e.hint, "anneal help node add", "a letter has no near one");
    verbs_unknown_option(NULL, "--selector", &e);
    has_text(e.hint, "follow the verb", "before the verb only globals are known");
    verbs_unknown_option(NULL, "--serve", &e);
    is_text(e.hint, "did you mean --server?", "which have near ones too");
}

int main(void)
{
    test_rows();
    test_words();
    test_complaints();
    return tap_done();
}
