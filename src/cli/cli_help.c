/* cli_help.c - the table of verbs as text: overview, nouns, verbs, and the whole reference in
 * Markdown */
/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli_i.h"

#include <string.h>

#include "cli/term_i.h"

enum { TEXT_COLUMNS = 79, HELP_COLUMN = 28 };

/* Text filled to TEXT_COLUMNS from a column on; the cursor stands at `at`. */
static void text_fill(struct buf *b, const char *text, int column, int at)
{
    for (bool first = true; *text; first = false) {
        text += strspn(text, " ");
        size_t n = strcspn(text, " ");
        if (!first && at + 1 + term_width(text, n) > TEXT_COLUMNS) {
            buf_putc(b, '\n');
            term_spaces(b, column);
            at = column;
        } else if (!first) {
            buf_putc(b, ' ');
            at++;
        } else {
            term_spaces(b, column - at);
            at = at < column ? column : at;
        }
        buf_put(b, text, n);
        at += term_width(text, n);
        text += n;
    }
    buf_putc(b, '\n');
}

/* "  left      text", the text in its own column, on a line of its own if left is long. */
static void pair_put(struct buf *b, const char *left, int column, const char *text)
{
    int width = 2 + term_width(left, strlen(left));
    buf_printf(b, "  %s", left);
    if (width + 2 > column) {
        buf_putc(b, '\n');
        width = 0;
    }
    text_fill(b, text, column, width);
}

void help_usage(struct buf *b, const struct cli_verb *v)
{
    buf_printf(b, "anneal %s", v->noun);
    if (v->verb)
        buf_printf(b, " %s", v->verb);
    for (size_t i = 0; i < CLI_ARGS_MAX && v->args[i].name; i++) {
        const struct cli_arg *a = &v->args[i];
        bool optional = a->flags & ARG_OPTIONAL;
        buf_printf(b, " %s%s%s%s", optional ? "[" : "", a->name, a->flags & ARG_MANY ? "..." : "",
                   optional ? "]" : "");
    }
    if (v->opts)
        buf_puts(b, " [OPTIONS]");
}

void help_option(struct buf *b, const struct cli_opt *o)
{
    if (o->letter)
        buf_printf(b, "-%c, ", o->letter);
    buf_printf(b, "--%s", o->name);
    if (o->value && o->flags & ARG_OPTIONAL)
        buf_printf(b, "[=%s]", o->value);
    else if (o->value)
        buf_printf(b, " %s", o->value);
}

/* The help of an argument or option with the words it may be, unless the help says them itself. */
static void words_put(struct buf *b, const char *help, const char *words)
{
    const char *w;
    size_t n;
    bool first = true;
    buf_puts(b, help);
    if (!words || strstr(help, " or "))
        return;
    buf_puts(b, ": ");
    for (; verbs_word_next(&words, &w, &n); first = false)
        buf_printf(b, "%s%.*s", first ? "" : ", ", (int)n, w);
}

static void options_put(struct buf *b, const struct cli_opt *o)
{
    for (; o && o->name; o++) {
        SCOPED_BUF(left);
        SCOPED_BUF(text);
        buf_puts(&left, o->letter ? "" : "    ");
        help_option(&left, o);
        words_put(&text, o->help, o->words);
        pair_put(b, left.data, HELP_COLUMN, text.data);
    }
}

static void lines_put(struct buf *b, const char *lines)
{
    while (*lines) {
        size_t n = strcspn(lines, "\n");
        buf_printf(b, "  %.*s\n", (int)n, lines);
        lines += n + (lines[n] == '\n');
    }
}

void help_verb(struct buf *b, const struct cli_verb *v)
{
    buf_printf(b, "%s%s%s - %s\n\nusage: ", v->noun, v->verb ? " " : "", v->verb ? v->verb : "",
               v->help);
    help_usage(b, v);
    buf_puts(b, "\n");
    if (v->about) {
        buf_puts(b, "\n");
        text_fill(b, v->about, 0, 0);
    }
    for (size_t i = 0; i < CLI_ARGS_MAX && v->args[i].name && v->args[i].help; i++) {
        SCOPED_BUF(text);
        buf_puts(b, i ? "" : "\narguments\n");
        words_put(&text, v->args[i].help, v->args[i].words);
        pair_put(b, v->args[i].name, HELP_COLUMN, text.data);
    }
    if (v->opts) {
        buf_puts(b, "\noptions\n");
        options_put(b, v->opts);
    }
    if (v->examples) {
        buf_puts(b, "\nexamples\n");
        lines_put(b, v->examples);
    }
    if (v->routes)
        buf_puts(b, "\nasks the server\n");
    for (const char *p = v->routes; p && *p; p += strspn(p, ", ")) {
        size_t n = strcspn(p, ",");
        buf_printf(b, "  %.*s\n", (int)n, p);
        p += n;
    }
    buf_puts(b, "\n`anneal help` lists the options that every command has.\n");
}

void help_noun(struct buf *b, const char *noun)
{
    const struct cli_verb *own = verbs_find(noun, NULL);
    if (own) {
        help_verb(b, own);
        return;
    }
    const struct cli_noun *n = verbs_noun(noun);
    buf_printf(b, "%s - %s\n\n", noun, n && n->help ? n->help : "");
    for (const struct cli_verb *v = cli_verbs; v->noun; v++) {
        if (strcmp(v->noun, noun) != 0)
            continue;
        SCOPED_BUF(usage);
        help_usage(&usage, v);
        pair_put(b, usage.data + strlen("anneal "), 44, v->help);
    }
    buf_printf(b, "\n`anneal help %s VERB` explains one of them.\n", noun);
}

void help_overview(struct buf *b)
{
    const char *group = "";
    buf_puts(b,
             "anneal - bring clusters of machines to the state you describe, and keep them there\n"
             "\nusage: anneal NOUN VERB [ARGUMENTS] [OPTIONS]\n");
    for (const struct cli_noun *n = cli_nouns; n->name; n++) {
        if (!n->help)
            continue;
        if (strcmp(n->group, group) != 0)
            buf_printf(b, "\n%s\n", n->group);
        group = n->group;
        pair_put(b, n->name, 16, n->help);
    }
    buf_puts(b, "\noptions of every command\n");
    options_put(b, cli_globals);
    buf_puts(b, "\nenvironment\n");
    for (const struct cli_variable *v = cli_variables; v->name; v++)
        pair_put(b, v->name, HELP_COLUMN, v->help);
    buf_puts(b, "\n`anneal help NOUN` lists its verbs, `anneal help NOUN VERB` explains one.\n");
}

/* --- Markdown --- */

/* Characters that Markdown would take for markup in running text. */
static void markdown_put(struct buf *b, const char *s)
{
    for (; *s; s++) {
        if (strchr("*_<>[]|\\`", *s))
            buf_putc(b, '\\');
        buf_putc(b, *s);
    }
}

static void markdown_options(struct buf *b, const struct cli_opt *o)
{
    for (; o && o->name; o++) {
        SCOPED_BUF(name);
        SCOPED_BUF(text);
        help_option(&name, o);
        words_put(&text, o->help, o->words);
        buf_printf(b, "- `%s`: ", name.data);
        markdown_put(b, text.data);
        buf_putc(b, '\n');
    }
}

static void markdown_verb(struct buf *b, const struct cli_verb *v)
{
    buf_printf(b, "\n### anneal %s%s%s\n\n", v->noun, v->verb ? " " : "", v->verb ? v->verb : "");
    markdown_put(b, v->help);
    buf_puts(b, ".\n\n    ");
    help_usage(b, v);
    buf_puts(b, "\n");
    if (v->about) {
        buf_puts(b, "\n");
        markdown_put(b, v->about);
        buf_puts(b, "\n");
    }
    bool listed = false;
    for (size_t i = 0; i < CLI_ARGS_MAX && v->args[i].name && v->args[i].help; i++) {
        SCOPED_BUF(text);
        buf_printf(b, "%s- `%s`: ", listed ? "" : "\n", v->args[i].name);
        words_put(&text, v->args[i].help, v->args[i].words);
        markdown_put(b, text.data);
        buf_putc(b, '\n');
        listed = true;
    }
    if (v->opts && !listed)
        buf_puts(b, "\n");
    markdown_options(b, v->opts);
    if (v->examples) {
        buf_puts(b, "\n```sh\n");
        buf_puts(b, v->examples);
        buf_puts(b, "\n```\n");
    }
    if (v->routes)
        buf_printf(b, "\nAsks `%s`.\n", v->routes);
}

void help_markdown(struct buf *b)
{
    buf_puts(b,
             "# anneal\n\nMade by `anneal help --markdown` from the table that the program itself "
             "is driven by.\n\n## Options of every command\n\n");
    markdown_options(b, cli_globals);
    buf_puts(b, "\n## Environment\n\n");
    for (const struct cli_variable *v = cli_variables; v->name; v++)
        buf_printf(b, "- `%s`: %s\n", v->name, v->help);
    for (const struct cli_noun *n = cli_nouns; n->name; n++) {
        if (!n->help)
            continue;
        buf_printf(b, "\n## %s\n\n", n->name);
        markdown_put(b, n->help);
        buf_puts(b, ".\n");
        for (const struct cli_verb *v = cli_verbs; v->noun; v++)
            if (!strcmp(v->noun, n->name))
                markdown_verb(b, v);
    }
}

int cmd_help(struct cli *c, struct err *e)
{
    SCOPED_BUF(b);
    const char *noun = cli_arg(c, 0), *verb = cli_arg(c, 1);
    if (cli_has(c, "markdown")) {
        help_markdown(&b);
    } else if (!noun) {
        help_overview(&b);
    } else {
        const struct cli_noun *n = verbs_noun(noun);
        if (!n || !n->help)
            return verbs_unknown_noun(noun, e);
        const struct cli_verb *v = verb ? verbs_find(noun, verb) : NULL;
        if (verb && !v)
            return verbs_unknown_verb(noun, verb, e);
        if (v)
            help_verb(&b, v);
        else
            help_noun(&b, noun);
    }
    cli_put(c, &b);
    return 0;
}
