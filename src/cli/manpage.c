/* manpage.c - manual pages from the tables: verbs, settings, options of the server, errors
 *
 * One page for the program, one for each noun, one for the server and one for its settings.  Pages
 * carry the version and no date, so that the same sources give the same bytes.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli_i.h"

#include <string.h>

#include "sys/daemon_args.h"
#include "sys/worker_opts.h"
#include "sys/fs.h"
#include "sys/opts.h"

/* Text as roff reads it: no hyphenation of options, no requests from a leading dot. */
static void roff_put(struct buf *b, const char *s)
{
    for (bool line_start = true; *s; s++) {
        if (line_start && (*s == '.' || *s == '\''))
            buf_puts(b, "\\&");
        line_start = *s == '\n';
        if (*s == '\\')
            buf_puts(b, "\\e");
        else if (*s == '-')
            buf_puts(b, "\\-");
        else
            buf_putc(b, *s);
    }
}

static void roff_line(struct buf *b, const char *macro, const char *s)
{
    buf_puts(b, macro);
    if (*macro)
        buf_putc(b, ' ');
    roff_put(b, s);
    buf_putc(b, '\n');
}

static void head_put(struct buf *b, const char *title, const char *section, const char *what)
{
    buf_printf(b, ".TH \"");
    for (const char *p = title; *p; p++)
        buf_putc(b, *p >= 'a' && *p <= 'z' ? (char)(*p - 32) : *p);
    buf_printf(b, "\" %s \"\" \"anneal %s\" \"Anneal\"\n.SH NAME\n", section, ANNEAL_VERSION);
    roff_put(b, title);
    buf_puts(b, " \\- ");
    roff_put(b, what);
    buf_putc(b, '\n');
}

static void items_begin(struct buf *b, const char *name)
{
    buf_puts(b, ".TP\n.B ");
    roff_put(b, name);
    buf_putc(b, '\n');
}

static void choices_put(struct buf *b, const char *words)
{
    const char *w;
    size_t n;
    bool first = true;
    while (words && verbs_word_next(&words, &w, &n)) {
        SCOPED_BUF(word);
        buf_put(&word, w, n);
        buf_puts(b, first ? "One of " : ",\n");
        buf_puts(b, "\\fB");
        roff_put(b, word.data);
        buf_puts(b, "\\fR");
        first = false;
    }
    if (!first)
        buf_puts(b, ".\n");
}

/* A sentence from a fragment of help. */
static void sentence_put(struct buf *b, const char *s)
{
    SCOPED_BUF(t);
    buf_puts(&t, s);
    if (t.len && t.data[0] >= 'a' && t.data[0] <= 'z' && (t.len < 2 || t.data[1] != '='))
        t.data[0] = (char)(t.data[0] - 32);
    buf_putc(&t, '.');
    roff_line(b, "", t.data);
}

static void options_roff(struct buf *b, const struct cli_opt *o)
{
    for (; o && o->name; o++) {
        SCOPED_BUF(name);
        help_option(&name, o);
        items_begin(b, name.data);
        sentence_put(b, o->help);
        choices_put(b, o->words);
    }
}

/* Examples as they are typed. */
static void example_put(struct buf *b, const char *lines)
{
    buf_puts(b, ".PP\n.RS 4\n.nf\n");
    roff_put(b, lines);
    buf_puts(b, "\n.fi\n.RE\n");
}

static void verb_roff(struct buf *b, const struct cli_verb *v)
{
    SCOPED_BUF(usage);
    help_usage(&usage, v);
    buf_puts(b, ".SS \"");
    roff_put(b, usage.data);
    buf_puts(b, "\"\n");
    sentence_put(b, v->help);
    if (v->about)
        roff_line(b, "", v->about);
    for (size_t i = 0; i < CLI_ARGS_MAX && v->args[i].name && v->args[i].help; i++) {
        items_begin(b, v->args[i].name);
        sentence_put(b, v->args[i].help);
        choices_put(b, v->args[i].words);
    }
    options_roff(b, v->opts);
    if (v->examples)
        example_put(b, v->examples);
}

static void see_also(struct buf *b, const char *text)
{
    buf_puts(b, ".SH SEE ALSO\n");
    roff_line(b, "", text);
}

static void noun_page(struct buf *b, const struct cli_noun *n)
{
    SCOPED_BUF(title);
    buf_printf(&title, "anneal-%s", n->name);
    head_put(b, title.data, "1", n->help);
    buf_puts(b, ".SH SYNOPSIS\n.nf\n");
    for (const struct cli_verb *v = cli_verbs; v->noun; v++) {
        SCOPED_BUF(usage);
        if (strcmp(v->noun, n->name) != 0)
            continue;
        help_usage(&usage, v);
        roff_line(b, ".B", usage.data);
    }
    buf_puts(b, ".fi\n.SH COMMANDS\n");
    for (const struct cli_verb *v = cli_verbs; v->noun; v++)
        if (!strcmp(v->noun, n->name))
            verb_roff(b, v);
    buf_puts(b, ".SH OPTIONS\nThe options that every command has are in\n.BR anneal (1).\n");
    see_also(b, "anneal(1), anneald(8)");
}

static void exit_codes(struct buf *b)
{
    buf_puts(b, ".SH EXIT STATUS\n");
    items_begin(b, "0");
    roff_line(b, "", "It went well.");
    for (int exit = 1; exit < 256; exit++) {
        bool any = false;
        for (int code = ERR_NONE + 1; code < ERR_COUNT; code++) {
            if (err_exit((enum errcode)code) != exit)
                continue;
            char text[8];
            snprintf(text, sizeof text, "%d", exit);
            if (!any)
                items_begin(b, text);
            buf_puts(b, any ? ",\n" : "");
            roff_put(b, err_name((enum errcode)code));
            any = true;
        }
        if (any)
            buf_puts(b, ".\n");
    }
}

static void main_page(struct buf *b)
{
    head_put(b, "anneal", "1", "bring clusters of machines to the state you describe");
    buf_puts(b, ".SH SYNOPSIS\n.B anneal\n.I NOUN VERB\n[\\fIARGUMENTS\\fR] [\\fIOPTIONS\\fR]\n"
                ".SH DESCRIPTION\n");
    roff_line(b, "",
              "anneal talks to anneald(8): it shows what a cluster is doing, says why "
              "something waits and what to do about it, and changes what is wanted.");
    buf_puts(b, ".SH COMMANDS\nEach has a page of its own, such as\n.BR anneal\\-node (1).\n");
    for (const struct cli_noun *n = cli_nouns; n->name; n++) {
        if (!n->help)
            continue;
        items_begin(b, n->name);
        sentence_put(b, n->help);
    }
    buf_puts(b, ".SH OPTIONS\n");
    options_roff(b, cli_globals);
    buf_puts(b, ".SH ENVIRONMENT\n");
    for (const struct cli_variable *v = cli_variables; v->name; v++) {
        items_begin(b, v->name);
        sentence_put(b, v->help);
    }
    exit_codes(b);
    buf_puts(b, ".SH FILES\n");
    items_begin(b, "~/.config/anneal/token");
    roff_line(b, "", "The token, unless an option or a variable names another place.");
    items_begin(b, "/var/lib/anneal/admin.token");
    roff_line(b, "",
              "The token that the server made at its first start; the last place looked at.");
    see_also(b, "anneald(8), anneald.conf(5)");
}

static void server_page(struct buf *b)
{
    head_put(b, "anneald", "8", "the server of Anneal");
    buf_puts(b, ".SH SYNOPSIS\n.nf\n");
    for (unsigned i = 0; daemon_form(i); i++) {
        SCOPED_BUF(usage);
        buf_printf(&usage, "anneald %s", daemon_form(i));
        roff_line(b, ".B", usage.data);
    }
    buf_puts(b, ".fi\n.SH DESCRIPTION\n");
    roff_line(b, "",
              "anneald keeps the state of a cluster in its data directory, decides what runs "
              "next, runs it, and serves the API that anneal(1) uses.  Without a file of "
              "settings it starts a working system on loopback.  At its first start it "
              "writes a token to admin.token in the data directory.");
    buf_puts(b, ".SH OPTIONS\n");
    for (int a = 0; a < DAEMON_ARG_COUNT; a++) {
        const struct daemon_arg_info *o = daemon_arg_info((enum daemon_arg)a);
        SCOPED_BUF(name);
        buf_printf(&name, "--%s%s%s", o->name, *o->value ? " " : "", o->value);
        items_begin(b, name.data);
        sentence_put(b, o->help);
    }
    see_also(b, "anneal(1), anneald.conf(5)");
}

static void worker_page(struct buf *b)
{
    head_put(b, "anneal-worker", "8", "a worker of Anneal on a machine of its own");
    buf_puts(b, ".SH SYNOPSIS\n.nf\n");
    for (unsigned i = 0; worker_form(i); i++) {
        SCOPED_BUF(usage);
        buf_printf(&usage, "anneal-worker %s", worker_form(i));
        roff_line(b, ".B", usage.data);
    }
    buf_puts(b, ".fi\n.SH DESCRIPTION\n");
    roff_line(b, "",
              "anneal-worker takes tasks from anneald(8) and runs them, on nodes over ssh or on "
              "its own machine.  It joins once, with a token of `anneal worker token`; the "
              "credential that it gets is kept in its state directory.  What it cannot tell the "
              "server is kept there too, and told later.  SIGTERM drains it; a second one ends "
              "it at once.");
    buf_puts(b, ".SH OPTIONS\n");
    for (int a = 0; a < WORKER_ARG_COUNT; a++) {
        const struct worker_arg_info *o = worker_arg_info((enum worker_arg)a);
        SCOPED_BUF(name);
        buf_printf(&name, "--%s%s%s", o->name, *o->value ? " " : "", o->value);
        items_begin(b, name.data);
        sentence_put(b, o->help);
    }
    see_also(b, "anneal-worker(1), anneal-worker.conf(5), anneald(8)");
}

static void settings_page(struct buf *b, const char *program, const struct opts_info *infos,
                          size_t n)
{
    SCOPED_BUF(title);
    SCOPED_BUF(about);
    SCOPED_BUF(see);
    buf_printf(&title, "%s.conf", program);
    buf_printf(&about, "settings of %s", program);
    buf_printf(&see, "%s(8), anneal(1)", program);
    head_put(b, title.data, "5", about.data);
    buf_puts(b, ".SH DESCRIPTION\n");
    roff_line(b, "",
              "A YAML map of keys and values.  Every key has a default; an empty file is "
              "valid.  A key that does not exist is refused.  Durations are written 250ms, "
              "10s, 5m, 2h or 30d, sizes 64KiB, 8MiB or 4GiB.");
    buf_puts(b, ".SH SETTINGS\n");
    for (size_t k = 0; k < n; k++) {
        const struct opts_info *o = &infos[k];
        items_begin(b, o->name);
        sentence_put(b, o->help);
        choices_put(b, *o->choices ? o->choices : NULL);
        SCOPED_BUF(rest);
        buf_printf(&rest, "Type: %s.  Default: %s.", opts_type_name(o->type),
                   *o->def ? o->def : "empty");
        roff_line(b, "", rest.data);
    }
    see_also(b, see.data);
}

/* The page called so ("anneal-node.1"); false if there is none. */
static bool page_write(struct buf *b, const char *page)
{
    if (!strcmp(page, "anneal.1")) {
        main_page(b);
    } else if (!strcmp(page, "anneald.8")) {
        server_page(b);
    } else if (!strcmp(page, "anneald.conf.5")) {
        settings_page(b, "anneald", opts_info((enum opts_key)0), OPTS_KEY_COUNT);
    } else if (!strcmp(page, "anneal-worker.8")) {
        worker_page(b);
    } else if (!strcmp(page, "anneal-worker.conf.5")) {
        settings_page(b, "anneal-worker", worker_opts_table()->infos, worker_opts_table()->n);
    } else {
        for (const struct cli_noun *n = cli_nouns; n->name; n++) {
            char name[64];
            snprintf(name, sizeof name, "anneal-%s.1", n->name);
            if (n->help && !strcmp(name, page)) {
                noun_page(b, n);
                return true;
            }
        }
        return false;
    }
    return true;
}

/* Names of all pages, one after the other. */
static const char *page_name(struct cli *c, size_t i)
{
    static const char *const fixed[] = {"anneal.1", "anneald.8", "anneald.conf.5",
                                        "anneal-worker.8", "anneal-worker.conf.5"};
    if (i < sizeof fixed / sizeof *fixed)
        return fixed[i];
    i -= sizeof fixed / sizeof *fixed;
    for (const struct cli_noun *n = cli_nouns; n->name; n++)
        if (n->help && i-- == 0)
            return arena_printf(&c->mem, "anneal-%s.1", n->name);
    return NULL;
}

static int pages_save(struct cli *c, const char *dir, struct err *e)
{
    size_t n = 0;
    for (const char *page; (page = page_name(c, n)); n++) {
        SCOPED_BUF(b);
        const char *sub = arena_printf(&c->mem, "%s/man%s", dir, strrchr(page, '.') + 1);
        (void)page_write(&b, page);
        int rc = fs_mkdirs(sub, 0755, e);
        if (!rc)
            rc = fs_write_atomic(arena_printf(&c->mem, "%s/%s", sub, page), b.data, b.len, 0644, e);
        if (rc)
            return rc;
    }
    cli_say(c, "%zu pages written to %s", n, dir);
    return 0;
}

int cmd_man(struct cli *c, struct err *e)
{
    SCOPED_BUF(b);
    const char *page = cli_arg(c, 0), *dir = cli_option(c, "dir");
    if (dir && page)
        return err_set(e, ERR_INVALID, "either one PAGE or --dir, not both");
    if (dir)
        return pages_save(c, dir, e);
    if (page && !page_write(&b, page)) {
        err_set(e, ERR_NOT_FOUND, "there is no page \"%s\"", page);
        return err_hint(e, "`anneal man` lists all pages");
    }
    for (size_t i = 0; !page; i++) {
        const char *name = page_name(c, i);
        if (!name)
            break;
        buf_printf(&b, "%s\n", name);
    }
    cli_put(c, &b);
    return 0;
}
