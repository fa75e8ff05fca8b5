/* cli.c - from arguments to an exit code
 *
 * Parses, settles how output looks, runs the verb, and reports.  An error is reported here and
 * nowhere else; the exit code is the error's, from the table in base/err.h.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli_i.h"

#include <string.h>

#include "base/text.h"

static const char *env_text(const struct cli *c, const char *name)
{
    const char *s = c->env->variable(c->env->arg, name);
    return s ? s : "";
}

/* The locale's word on what the terminal shows; the first of three variables that is set decides.
 */
static bool locale_is_utf8(const struct cli *c)
{
    static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *s = env_text(c, names[i]);
        if (*s)
            return strcasestr(s, "utf-8") || strcasestr(s, "utf8");
    }
    return false;
}

static void look_settle(struct cli *c)
{
    bool plain = *env_text(c, "NO_COLOR") || !strcmp(env_text(c, "TERM"), "dumb");
    c->color_out = c->env->out_tty && !plain;
    c->color_err = c->env->err_tty && !plain;
    c->utf8 = locale_is_utf8(c);
    if (cli_has(c, "color"))
        c->color_out = c->color_err = true;
    if (cli_has(c, "no-color"))
        c->color_out = c->color_err = false;
}

static void settings_take(struct cli *c)
{
    static const char *const formats[] = {"table", "json", "yaml", "name"};
    const char *format = cli_word(c, "output"), *wait = cli_option(c, "wait");
    for (int i = 0; format && i < 4; i++)
        if (!strcmp(format, formats[i]))
            c->format = (enum cli_format)i;
    c->quiet = cli_has(c, "quiet");
    c->verbose = cli_has(c, "verbose");
    c->wait = cli_has(c, "wait");
    if (wait)
        (void)text_duration_ms(str_of(wait), &c->wait_ms, NULL); /* checked by cli_parse */
    look_settle(c);
}

/* A line that cannot be parsed has no options; whether it asked for JSON is seen well enough. */
static bool wants_json(int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        if (!strcmp(argv[i], "-ojson") || !strcmp(argv[i], "--output=json") ||
            ((!strcmp(argv[i], "-o") || !strcmp(argv[i], "--output")) && i + 1 < argc &&
             !strcmp(argv[i + 1], "json")))
            return true;
    return false;
}

static int line_run(struct cli *c, struct err *e)
{
    SCOPED_BUF(b);
    const struct cli_line *l = &c->line;
    if (cli_has(c, "version")) {
        cli_say(c, "anneal %s", ANNEAL_VERSION);
        return 0;
    }
    if (l->verb && !l->help)
        return l->verb->run(c, e);
    if (l->verb)
        help_verb(&b, l->verb);
    else if (l->noun)
        help_noun(&b, l->noun);
    else
        help_overview(&b);
    cli_put(c, &b);
    return 0;
}

/* Everything was written, or the disk is full and somebody must know. */
static int output_finish(struct cli *c, struct err *e)
{
    bool bad = fflush(c->env->out) || ferror(c->env->out);
    return bad ? err_set(e, ERR_IO, "the output cannot be written: %m") : 0;
}

int cli_run(const struct cli_env *env, int argc, char **argv)
{
    struct cli c = {.env = env, .argc = argc, .argv = argv};
    struct err e = {0};
    arena_init(&c.mem);
    int rc = cli_parse(argc, argv, &c.line, &e);
    if (rc) {
        look_settle(&c);
        c.format = wants_json(argc, argv) ? OUT_JSON : OUT_TABLE;
    } else {
        settings_take(&c);
        rc = line_run(&c, &e);
        if (!rc)
            rc = output_finish(&c, &e);
    }
    if (rc)
        cli_report(&c, &e);
    (void)fflush(env->err);
    http_free(c.http);
    cli_line_done(&c.line);
    arena_done(&c.mem);
    return rc ? err_exit((enum errcode) - rc) : c.exit;
}
