/* test_parse.c - command lines: what they mean, and what is wrong with them */
/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli_i.h"
#include "tap.h"

static int split(char *line, char **argv)
{
    int n = 1;
    static char program[] = "anneal";
    argv[0] = program;
    for (char *p = strtok(line, " "); p; p = strtok(NULL, " "))
        argv[n++] = strcmp(p, "''") ? p : p + 2;
    argv[n] = NULL;
    return n;
}

/* "noun verb|arg arg|option=value flag" */
static void line_show(const struct cli_line *l, struct buf *b)
{
    buf_printf(b, "%s %s", l->noun ? l->noun : "-", l->verb && l->verb->verb ? l->verb->verb : "-");
    for (size_t i = 0; i < l->args.n; i++)
        buf_printf(b, "%s%s", i ? " " : "|", l->args.at[i]);
    for (size_t i = 0; i < l->given.n; i++) {
        buf_printf(b, "%s%s", i ? " " : l->args.n ? "|" : "||", l->given.at[i].opt->name);
        if (l->given.at[i].value)
            buf_printf(b, "=%s", l->given.at[i].value);
    }
}

static const struct {
    const char *line, *means;
} good[] = {
    {"", "- -"},
    {"status", "status -"},
    {"node list", "node list"},
    {"node list rack=3", "node list|rack=3"},
    {"node list --state ACTIVE --limit=5", "node list||state=ACTIVE limit=5"},
    {"-o json node list", "node list||output=json"},
    {"node -ojson list", "node list||output=json"},
    {"node list -qv", "node list||quiet verbose"},
    {"node list -qo yaml", "node list||quiet output=yaml"},
    {"node list -qoyaml", "node list||quiet output=yaml"},
    {"--server http://x node list", "node list||server=http://x"},
    {"node add n1 --label a=b --label c=d", "node add|n1|label=a=b label=c=d"},
    {"node delete a b c", "node delete|a b c"},
    {"node delete -- -odd", "node delete|-odd"},
    {"node set n --note=", "node set|n|note="},
    {"deployment bind prod web=a db=b,c", "deployment bind|prod web=a db=b,c"},
    {"noderole rerun 12 --wait", "noderole rerun|12|wait"},
    {"noderole rerun --wait=5m 12", "noderole rerun|12|wait=5m"},
    {"--wait noderole rerun 12", "noderole rerun|12|wait"},
    {"task log 7 -f", "task log|7|follow"},
    {"node report n ALIVE", "node report|n ALIVE"},
    {"node list --state active", "node list||state=active"},
    {"node --help", "node -||help"},
    {"node show --help", "node show||help"},
    {"--help", "- -||help"},
    {"sim --seed 7 -x", "sim -"},
    {"noderole data 4 -", "noderole data|4 -"},
};

static void test_good(void)
{
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        char copy[128];
        char *argv[32];
        struct cli_line l;
        struct err e;
        SCOPED_BUF(b);
        snprintf(copy, sizeof copy, "%s", good[i].line);
        int n = split(copy, argv);
        int rc = cli_parse(n, argv, &l, &e);
        if (!ok(rc == 0, "\"%s\" is understood", good[i].line)) {
            note("%s", e.text);
            continue;
        }
        line_show(&l, &b);
        is_text(b.data, good[i].means, "\"%s\" means", good[i].line);
        cli_line_done(&l);
    }
}

static const struct {
    const char *line, *text, *hint;
} bad[] = {
    {"nodes list", "no command \"nodes\"", "anneal node"},
    {"node", "\"node\" needs a verb", "anneal help node"},
    {"node frob", "no verb \"frob\"", "anneal help node"},
    {"node list --selector x", "does not have the option --selector", "anneal help node list"},
    {"--limit 3 node list", "does not have the option --limit", "follow the verb"},
    {"node list -Z", "does not have the option -Z", ""},
    {"node list --limit", "--limit needs a value: N", ""},
    {"node list -o", "--output needs a value", ""},
    {"node list --quiet=yes", "--quiet takes no value", ""},
    {"node list --limit 3 --limit 4", "--limit is given twice", ""},
    {"node list --limit many", "--limit is a number, not \"many\"", ""},
    {"node list --limit -1", "--limit is a number, not \"-1\"", ""},
    {"node list --limit=", "--limit must not be empty", ""},
    {"node list --state ACTIV", "--state is one of PROPOSED, BLOCKED", "did you mean ACTIVE?"},
    {"node list --state activ", "--state is one of", "did you mean ACTIVE?"},
    {"node list --state xyzzyx", "--state is one of", ""},
    {"node list --alive ded", "--alive is one of", "did you mean dead?"},
    {"node list -o jsn", "--output is one of table, json, yaml, name", "did you mean json?"},
    {"node list --timeout soon", "--timeout is a duration", ""},
    {"node list a b", "\"b\" is one argument too many", "usage: anneal node list"},
    {"status x", "\"x\" is one argument too many", "usage: anneal status"},
    {"node show", "NODE is missing", "usage: anneal node show NODE"},
    {"node show ''", "NODE must not be empty", ""},
    {"node report n zombie", "STATE is one of alive, silent, dead", ""},
    {"task show abc", "ID is a number, not \"abc\"", ""},
    {"task resolve 3", "OUTCOME is missing", "usage: anneal task resolve ID OUTCOME"},
    {"deployment bind prod", "ROLE=SELECTOR is missing", "usage: "},
    {"deployment bind prod web", "\"web\" is not ROLE=SELECTOR", "for example"},
    {"deployment bind prod =x", "is not ROLE=SELECTOR", ""},
    {"deployment bind prod web=", "is not ROLE=SELECTOR", ""},
    {"node list --wait", "--wait: node list starts nothing", ""},
    {"status --wait=3s", "--wait: status starts nothing", ""},
    {"noderole rerun 1 --wait=soon", "--wait is a duration", ""},
    {"status --color --no-color", "contradict", ""},
};

static void test_bad(void)
{
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char copy[128];
        char *argv[32];
        struct cli_line l;
        struct err e;
        snprintf(copy, sizeof copy, "%s", bad[i].line);
        int n = split(copy, argv);
        is_int(cli_parse(n, argv, &l, &e), -ERR_INVALID, "\"%s\" is refused", bad[i].line);
        has_text(e.text, bad[i].text, "\"%s\": why", bad[i].line);
        has_text(e.hint, bad[i].hint, "\"%s\": hint", bad[i].line);
    }
}

static void test_access(void)
{
    char line[] = "node add n1 --label a=b --label c=d --slots 4 --alive DEAD --admin";
    char *argv[32];
    struct cli c = {0};
    struct err e;
    arena_init(&c.mem);
    int n = split(line, argv);
    is_int(cli_parse(n, argv, &c.line, &e), 0, "a line with everything");
    is_text(cli_arg(&c, 0), "n1", "its argument");
    ok(!cli_arg(&c, 1), "there is no second");
    is_text(cli_option_at(&c, "label", 1), "c=d", "the second label");
    ok(!cli_option_at(&c, "label", 2), "there is no third");
    is_text(cli_option(&c, "label"), "a=b", "the first of many");
    is_int(cli_number(&c, "slots", 1), 4, "a number");
    is_text(cli_word(&c, "alive"), "dead", "a word in the list's spelling");
    ok(cli_has(&c, "admin") && !cli_has(&c, "available"), "flags");
    ok(!cli_option(&c, "note") && !cli_word(&c, "output"), "what was not given");
    cli_line_done(&c.line);
    char report[] = "node report n1 Dead";
    n = split(report, argv);
    is_int(cli_parse(n, argv, &c.line, &e), 0, "a line with a word");
    is_text(cli_arg_word(&c, 1), "dead", "a word in the list's spelling");
    cli_line_done(&c.line);
    char sim[] = "-q sim --seed 7";
    n = split(sim, argv);
    is_int(cli_parse(n, argv, &c.line, &e), 0, "a raw command");
    is_int(c.line.raw_from, 3, "says where its own arguments begin");
    cli_line_done(&c.line);
    arena_done(&c.mem);
}

int main(void)
{
    test_good();
    test_bad();
    test_access();
    return tap_done();
}
