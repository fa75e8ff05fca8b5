/* test_help.c - help and reference hold everything that the table holds */
/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli_i.h"
#include "cli/term_i.h"
#include "cli_case.h"
#include "tap.h"

static int widest(const char *text)
{
    int most = 0;
    while (*text) {
        size_t n = strcspn(text, "\n");
        int w = term_width(text, n);
        most = w > most ? w : most;
        text += n + (text[n] == '\n');
    }
    return most;
}

static void test_every_verb(void)
{
    SCOPED_BUF(markdown);
    help_markdown(&markdown);
    for (const struct cli_verb *v = cli_verbs; v->noun; v++) {
        SCOPED_BUF(b);
        SCOPED_BUF(heading);
        const char *verb = v->verb ? v->verb : "";
        help_verb(&b, v);
        for (const struct cli_opt *o = v->opts; o && o->name; o++)
            has_text(b.data, o->name, "help of %s %s names --%s", v->noun, verb, o->name);
        if (v->flags & VERB_HIDDEN)
            continue;
        ok(widest(b.data) <= 90, "help of %s %s is %d wide", v->noun, verb, widest(b.data));
        buf_printf(&heading, "\n### anneal %s%s%s\n", v->noun, v->verb ? " " : "", verb);
        has_text(markdown.data, heading.data, "%s %s is in the reference", v->noun, verb);
    }
    ok(!strstr(markdown.data, "__complete"), "hidden commands are not");
}

static void test_command(void)
{
    struct cli_case c = {0};
    is_int(case_run(&c, ""), 0, "no arguments");
    has_text(c.out, "usage: anneal NOUN VERB", "give an overview");
    has_text(c.out, "deployment", "with all nouns");
    has_text(c.out, "ANNEAL_TOKEN_FILE", "and variables");
    is_int(case_run(&c, "help node"), 0, "help on a noun");
    has_text(c.out, "node report NODE STATE", "lists its verbs");
    is_int(case_run(&c, "node --help"), 0, "--help on a noun");
    has_text(c.out, "node report NODE STATE", "is the same");
    is_int(case_run(&c, "help node list"), 0, "help on a verb");
    has_text(c.out, "usage: anneal node list [SELECTOR] [OPTIONS]", "shows its usage");
    has_text(c.out, "asks the server\n  GET /v1/nodes\n", "and its routes");
    is_int(case_run(&c, "node list --limit 3 -h"), 0, "-h on a verb");
    has_text(c.out, "usage: anneal node list", "is the same");
    is_int(case_run(&c, "help status"), 0, "help on a command");
    has_text(c.out, "usage: anneal status", "that is a noun");
    is_int(case_run(&c, "help nod"), 2, "help on nothing");
    has_text(c.err, "did you mean `anneal node`?", "suggests");
    is_int(case_run(&c, "help node lsit"), 2, "help on no verb");
    has_text(c.err, "did you mean `anneal node list`?", "suggests");
    is_int(case_run(&c, "help __complete"), 2, "what is hidden has no help");
    is_int(case_run(&c, "help --markdown"), 0, "the reference");
    has_text(c.out, "# anneal\n", "is Markdown");
    has_text(c.out, "- `-o, --output FORMAT`: ", "with options");
    is_int(case_run(&c, "--version"), 0, "--version");
    is_text(c.out, "anneal " ANNEAL_VERSION "\n", "is this program's");
    case_done(&c);
}

int main(void)
{
    test_every_verb();
    test_command();
    return tap_done();
}
