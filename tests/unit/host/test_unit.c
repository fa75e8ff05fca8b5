/* test_unit.c - unit files: keys, lines, commands, environment, names */
/* SPDX-License-Identifier: Apache-2.0 */
#include <signal.h>

#include "host/host_unit_i.h"
#include "tap.h"

static struct host_unit *parsed(const char *name, const char *text)
{
    struct err e = {0};
    struct host_unit *u = NULL;
    if (host_unit_parse(name, "x.service", str_of(text), &u, &e) < 0)
        note("%s: %s", e.at, e.text);
    return u;
}

static void test_keys(void)
{
    static const char text[] = "# a comment\n"
                               "[Unit]\n"
                               "ExecStart=/not/this\n"
                               "[Service]\n"
                               "  Type = forking \n"
                               "ExecStartPre=/bin/one\n"
                               "ExecStartPre=\n"
                               "ExecStartPre=-/bin/two %n\n"
                               "ExecStart=/bin/main -a \\\n"
                               "    -b %i %%\n"
                               "ExecStop=/bin/stop\n"
                               "ExecReload=/bin/reload\n"
                               "User=nobody\n"
                               "Group=daemon\n"
                               "WorkingDirectory=/srv\n"
                               "Environment=A=1 \"B=2 3\" C=$x\n"
                               "EnvironmentFile=-/etc/default/%p\n"
                               "RuntimeDirectory=thing\n"
                               "PIDFile=thing-%I.pid\n"
                               "KillSignal=SIGINT\n"
                               "KillMode=process\n"
                               "TimeoutStartSec=5\n"
                               "TimeoutStopSec=2min\n"
                               "Restart=on-failure\n"
                               "RestartSec=250ms\n"
                               "RemainAfterExit=yes\n"
                               "ProtectSystem=strict\n"
                               "; another comment\n"
                               "[Install]\n"
                               "WantedBy=multi-user.target\n";
    struct host_unit *u = parsed("thing@a-b", text);
    if (!ok(u != NULL, "a unit with every key"))
        return;
    is_int(u->type, HOST_UNIT_FORKING, "Type");
    ok(u->pre.n == 1, "an empty value clears the list");
    is_text(u->pre.at[0], "-/bin/two thing@a-b.service", "ExecStartPre");
    is_text(u->start.at[0], "/bin/main -a      -b a-b %", "ExecStart, over two lines");
    is_text(u->stop.at[0], "/bin/stop", "ExecStop");
    is_text(u->reload.at[0], "/bin/reload", "ExecReload");
    is_text(u->user, "nobody", "User");
    is_text(u->group, "daemon", "Group");
    is_text(u->directory, "/srv", "WorkingDirectory");
    is_int(u->env.n, 3, "Environment");
    is_text(u->env.at[1], "B=2 3", "quotes join");
    is_text(u->env.at[2], "C=$x", "and nothing is replaced");
    is_text(u->env_files.at[0], "-/etc/default/thing", "EnvironmentFile");
    is_text(u->runtime_dir, "thing", "RuntimeDirectory");
    is_text(u->pid_file, "/run/thing-a/b.pid", "PIDFile");
    is_int(u->kill_signal, SIGINT, "KillSignal");
    ok(u->leave_rest && u->remain, "KillMode, RemainAfterExit");
    is_int(u->start_ms, 5000, "TimeoutStartSec");
    is_int(u->stop_ms, 120000, "TimeoutStopSec");
    is_int(u->restart, HOST_RESTART_ON_FAILURE, "Restart");
    is_int(u->restart_ms, 250, "RestartSec");
    host_unit_free(u);
}

static void test_defaults(void)
{
    struct host_unit *u = parsed("web", "[Service]\nExecStart=/bin/web\r\n");
    if (!ok(u != NULL, "the least unit"))
        return;
    is_text(u->start.at[0], "/bin/web", "with the line ends of others");
    ok(u->type == HOST_UNIT_SIMPLE && u->restart == HOST_RESTART_NO && u->kill_signal == SIGTERM &&
           !u->user && !u->directory && !u->remain && !u->leave_rest,
       "has defaults");
    host_unit_free(u);
    u = parsed("web", "[Service]\nType=oneshot\n");
    ok(u && u->start.n == 0, "a oneshot needs no command");
    host_unit_free(u);
}

static void test_bad(void)
{
    static const struct {
        const char *text, *at, *says;
    } cases[] = {
        {"", "", "no ExecStart="},
        {"ExecStart=/bin/true\n", "", "no ExecStart="},
        {"[Service]\nExecStart=/a\nExecStart=/b\n", "", "more than one ExecStart="},
        {"[Service]\nType=strange\n", "x.service:2", "no type \"strange\""},
        {"[Service]\nA=\\\nb\nnonsense\n", "x.service:4", "neither a section nor"},
        {"[Service\n", "x.service:1", "lacks its ]"},
        {"[Service]\nKillSignal=SIGFOO\n", "x.service:2", "no signal"},
        {"[Service]\nRestart=maybe\n", "x.service:2", "no restart"},
        {"[Service]\nTimeoutStopSec=xmin\n", "x.service:2", "not a time"},
        {"[Service]\nEnvironment=nothing\n", "x.service:2", "not NAME=value"},
        {"[Service]\nEnvironment=\"A=1\n", "x.service:2", "quote does not end"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct host_unit *u = NULL;
        struct err e = {0};
        ok(host_unit_parse("x", "x.service", str_of(cases[i].text), &u, &e) < 0 && !u,
           "refused: %s", cases[i].text);
        has_text(e.text, cases[i].says, "says: %s", cases[i].says);
        is_text(e.at, cases[i].at, "says where: %s", cases[i].says);
    }
    SCOPED_BUF(many);
    buf_puts(&many, "[Service]\n");
    for (int i = 0; i <= HOST_UNIT_COMMANDS; i++)
        buf_puts(&many, "ExecStop=/bin/true\n");
    struct host_unit *u = NULL;
    is_int(host_unit_parse("x", "x", buf_str(&many), &u, NULL), -ERR_LIMIT, "too many commands");
    buf_reserve(&many, HOST_UNIT_BYTES + 1);
    while (many.len <= HOST_UNIT_BYTES)
        buf_putc(&many, '\n');
    is_int(host_unit_parse("x", "x", buf_str(&many), &u, NULL), -ERR_TOO_LARGE, "too large");
}

static void test_words(void)
{
    static const char *const env[] = {"A=first", "LIST=one  two", "EMPTY=", "A=last", NULL};
    static const struct {
        const char *command, *words; /* joined by | */
        bool tolerant;
    } cases[] = {
        {"/bin/a b  c", "/bin/a|b|c", false},
        {"-/bin/a", "/bin/a", true},
        {"@!-+:/bin/a x", "/bin/a|x", true},
        {"/bin/a 'b c' \"d e\"f", "/bin/a|b c|d ef", false},
        {"/bin/a \\\"x\\\" a\\ b \\t\\y", "/bin/a|\"x\"|a b|\ty", false},
        {"/bin/a ${A} x${A}y ${NONE}", "/bin/a|last|xlasty|", false},
        {"/bin/a $LIST end", "/bin/a|one|two|end", false},
        {"/bin/a $EMPTY $NONE end", "/bin/a|end", false},
        {"/bin/a \"${LIST}\" $LIST.", "/bin/a|one  two|$LIST.", false},
        {"/bin/a $$HOME $$$$ $ ${A", "/bin/a|$HOME|$$|$|${A", false},
        {"/bin/a '' \"\"", "/bin/a||", false},
        {"/bin/a 'it''s' \"'\"", "/bin/a|its|'", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        SCOPED_ARENA(mem);
        SCOPED_BUF(joined);
        const char **argv = NULL;
        bool tolerant = !cases[i].tolerant;
        struct err e = {0};
        is_int(host_unit_words(&mem, cases[i].command, env, &argv, &tolerant, &e), 0, "words of %s",
               cases[i].command);
        for (const char **w = argv; w && *w; w++)
            buf_printf(&joined, "%s%s", w == argv ? "" : "|", *w);
        is_text(buf_str(&joined).s, cases[i].words, "split: %s", cases[i].command);
        is_int(tolerant, cases[i].tolerant, "tolerant: %d", cases[i].tolerant);
    }
}

static void test_bad_words(void)
{
    static const char *const env[] = {NULL};
    SCOPED_ARENA(mem);
    SCOPED_BUF(many);
    const char **argv = NULL;
    bool tolerant = false;
    is_int(host_unit_words(&mem, "/bin/a 'b", env, &argv, &tolerant, NULL), -ERR_SYNTAX,
           "a quote that does not end");
    is_int(host_unit_words(&mem, " - ", env, &argv, &tolerant, NULL), -ERR_INVALID, "no word");
    is_int(host_unit_words(&mem, "$NONE", env, &argv, &tolerant, NULL), -ERR_INVALID,
           "no word is left");
    for (int i = 0; i <= HOST_UNIT_WORDS; i++)
        buf_puts(&many, "w ");
    is_int(host_unit_words(&mem, many.data, env, &argv, &tolerant, NULL), -ERR_LIMIT,
           "too many words");
}

static void test_quote(void)
{
    static const char *const env[] = {"HOME=wrong", NULL};
    static const char *const cases[] = {"plain", "",        "a b",  "$HOME", "${HOME}",
                                        "%i%%",  "'\"\\\\", "a\nb", "-x",    "\\n"};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        SCOPED_ARENA(mem);
        SCOPED_BUF(text);
        const char **argv = NULL;
        bool tolerant;
        buf_puts(&text, "[Service]\nExecStart=/bin/x ");
        host_unit_quote(&text, cases[i]);
        struct host_unit *u = parsed("x@wrong", text.data);
        ok(u && host_unit_words(&mem, u->start.at[0], env, &argv, &tolerant, NULL) == 0,
           "quoted: %s", cases[i]);
        is_text(argv && argv[0] ? argv[1] : "(no words)", cases[i], "comes out as it was");
        host_unit_free(u);
    }
}

static void collect(void *arg, const char *assignment)
{
    struct buf *b = arg;
    buf_printf(b, "%s|", assignment);
}

static void test_env_file(void)
{
    SCOPED_ARENA(mem);
    SCOPED_BUF(got);
    struct err e = {0};
    static const char text[] = "# comment\n\nA=1\n B = two words \nC=\"quoted\"\nD='x'\nE=\n"
                               "F=a\\\nb\nG=\"half\n";
    is_int(host_unit_env_parse(&mem, "f", str_of(text), collect, &got, &e), 0, "a file");
    is_text(buf_str(&got).s, "A=1|B=two words|C=quoted|D=x|E=|F=a b|G=\"half|", "its lines");
    is_int(host_unit_env_parse(&mem, "f", str_of("A=1\nnothing\n"), collect, &got, &e), -ERR_SYNTAX,
           "a line that is none");
    is_text(e.at, "f:2", "is named");
}

static void test_names(void)
{
    static const char *const good[] = {"web", "postgresql@15-main", "a.b_c:d", "A1"};
    static const char *const bad[] = {"", "../x", "a/b", ".x", "@x", "-x", "a b", "a\nb"};
    char template[64];
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        ok(host_unit_is_name(good[i]), "a name: %s", good[i]);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        ok(!host_unit_is_name(bad[i]), "no name: %s", bad[i]);
    ok(host_unit_template("postgresql@15-main", template, sizeof template), "an instance");
    is_text(template, "postgresql@", "and its template");
    ok(!host_unit_template("web", template, sizeof template), "web has none");
    ok(!host_unit_template("web@", template, sizeof template), "web@ is one");
    ok(!host_unit_template("web@x", template, 4), "nor where there is no room");
}

int main(void)
{
    test_keys();
    test_defaults();
    test_bad();
    test_words();
    test_bad_words();
    test_quote();
    test_env_file();
    test_names();
    return tap_done();
}
