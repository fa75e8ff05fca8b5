/* test_pack.c - archives: byte for byte, as tar reads them, and what is refused */
/* SPDX-License-Identifier: Apache-2.0 */
#include <sys/stat.h>

#include "reach/reach_i.h"
#include "sys/proc.h"
#include "sys/scratch.h"

static const struct reach_name name = {"00000000000000c1", "00112233445566778899aabbccddeeff"};

struct child {
    struct loop *loop;
    struct proc *proc;
    struct buf out;
    int code;
};

static void on_child_output(void *arg, int fd, const char *p, size_t n)
{
    struct child *c = arg;
    if (fd == 1)
        buf_put(&c->out, p, n);
    else
        note("%.*s", (int)n, p);
}

static void on_child_exit(void *arg, const struct proc_exit *x)
{
    struct child *c = arg;
    c->code = x->code;
    proc_free(c->proc);
    loop_stop(c->loop);
}

/* Status of a program that is given the bytes; its output in c->out. */
static int child_run(struct child *c, const char *const *argv, struct str input)
{
    struct err e;
    *c = (struct child){.loop = loop_new(), .code = -1};
    struct proc_spec s = {.argv = argv,
                          .input = input,
                          .on_output = on_child_output,
                          .on_exit = on_child_exit,
                          .arg = c};
    if (proc_spawn(c->loop, &s, &c->proc, &e) == 0)
        scratch_run(c->loop);
    loop_free(c->loop);
    return c->code;
}

static struct reach_step program(const char *const *argv)
{
    return (struct reach_step){
        .run = {.task = 7, .attempt = 1}, .kind = REACH_ARGV, .argv = argv, .umask_bits = 022};
}

static void test_bytes(void)
{
    const char *const argv[] = {"true", NULL};
    struct reach_step s = program(argv);
    SCOPED_BUF(one);
    SCOPED_BUF(two);
    SCOPED_BUF(with);
    struct err e;
    is_int(reach_pack(&s, 1, &name, false, &one, &e), 0, "a chain is packed");
    reach_pack(&s, 1, &name, false, &two, &e);
    ok(str_eq(buf_str(&one), buf_str(&two)), "twice the same bytes");
    is_int(one.len % 512, 0, "in whole blocks");
    is_text(one.data, "anneal/records/", "the first member is the directory of records");
    ok(!memcmp(one.data + 100, "0000700\0", 8) && one.data[156] == '5' &&
           !memcmp(one.data + 257, "ustar\00000", 8) && !memcmp(one.data + 148, "0", 1),
       "with mode, type and magic where they belong");
    is_text(one.data + 1024, "anneal/chains/00000000000000c1/chain", "then the code");
    has_text(one.data + 1536,
             "step1() {\nANNEAL_RUN=\"7.1@$chain\" ANNEAL_RESULT_FILE=\"$dir/r1\" \"$@\" 022 '/' "
             "'true'\n",
             "which says what to run");
    struct buf runner = {0};
    size_t skip = reach_pack_runner(&runner, &name);
    reach_pack(&s, 1, &name, true, &with, &e);
    ok(with.len == one.len + skip && !memcmp(with.data + skip, one.data, one.len),
       "with the runner it is the same bytes behind it");
    buf_done(&runner);
}

/* What anybody on the node can make again: b2sum -l 128. */
static void test_digest(void)
{
    struct reach_put puts[] = {{.path = "/a", .content = {"ab", 2}},
                               {.path = "/b", .content = {"", 0}},
                               {.path = "/c", .content = {"c\0\n", 3}}};
    struct reach_step files = {.kind = REACH_PUT, .puts = puts, .puts_n = 3},
                      text = {.kind = REACH_SCRIPT, .input = {"abc\0\n", 5}},
                      none = {.kind = REACH_SUM};
    char one[33] = "x", two[33] = "y";
    reach_step_digest(&files, one);
    is_text(one, "27e1f7bd369f6b43804d15583749d2bc", "files are one behind the other");
    reach_step_digest(&text, two);
    is_text(two, one, "the input of a program is taken as it is");
    text.puts = &puts[2];
    text.puts_n = 1;
    reach_step_digest(&text, two);
    is_text(two, "cfc2bc3bb61b7818d929576b27ffddb5", "files of a program come behind its input");
    reach_step_digest(&none, two);
    is_text(two, "", "who is given nothing has none");
}

/* Every byte but NUL, in a variable, an argument, and with NUL in script, input and file. */
static void test_tar_reads(void)
{
    char *dir = scratch_new(), all[256], path[600];
    struct buf got = {0};
    SCOPED_BUF(b);
    struct err e;
    struct child c;
    for (int i = 0; i < 255; i++)
        all[i] = (char)(i + 1);
    all[255] = '\0';
    struct reach_put put = {.path = "/x", .content = {all, 256}, .mode = 0644};
    struct reach_step s[2] = {{.kind = REACH_SCRIPT, .script = {all, 256}, .input = {all, 255}},
                              {.kind = REACH_PUT, .puts = &put, .puts_n = 1}};
    is_int(reach_pack(s, 2, &name, true, &b, &e), 0, "contents of any bytes are packed");
    const char *const tar[] = {"tar", "-xmf", "-", "-C", dir, NULL};
    is_int(child_run(&c, tar, buf_str(&b)), 0, "tar takes the archive");
    buf_done(&c.out);
    const struct {
        const char *file;
        size_t n;
    } files[] = {{"s1", 256}, {"i1", 255}, {"f2.1", 256}, {"go", 0}};
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        snprintf(path, sizeof path, "%s/anneal/chains/%s/%s", dir, name.chain, files[i].file);
        buf_clear(&got);
        int rc = fs_read(path, 4096, &got, &e);
        ok(rc == 0 && got.len == files[i].n && !memcmp(buf_str(&got).s, all, got.len),
           "%s holds its %zu bytes", files[i].file, files[i].n);
    }
    char hex[33];
    snprintf(path, sizeof path, "%s/anneal/chains/%s/runner.%s", dir, name.chain,
             reach_runner_digest(hex));
    buf_clear(&got);
    ok(fs_read(path, 1 << 20, &got, &e) == 0 && str_eq(buf_str(&got), reach_runner_text()),
       "and the runner is itself");
    struct stat st;
    snprintf(path, sizeof path, "%s/anneal/chains/%s/log", dir, name.chain);
    ok(stat(path, &st) == 0 && S_ISFIFO(st.st_mode) && (st.st_mode & 0777) == 0600,
       "the log is a FIFO of mode 0600");
    buf_done(&got);
    scratch_end(dir);
}

static void test_quoting(const char *const *shell)
{
    char all[256];
    SCOPED_BUF(text);
    struct child c;
    for (int i = 0; i < 255; i++)
        all[i] = (char)(i + 1);
    all[255] = '\0';
    buf_puts(&text, "printf %s ");
    reach_code_quote(&text, all);
    buf_putc(&text, '\n');
    ok(child_run(&c, shell, buf_str(&text)) == 0 && c.out.len == 255 &&
           !memcmp(c.out.data, all, 255),
       "%s reads a word of all bytes but NUL as it was", shell[0]);
    buf_done(&c.out);
}

static void refused(struct reach_step s, int code, const char *what)
{
    SCOPED_BUF(b);
    struct err e = {0};
    is_int(reach_pack(&s, 1, &name, false, &b, &e), -code, "refused: %s", what);
    has_text(e.text, "step 1 of the chain", "and named: %s", what);
    is_int(b.len, 0, "and nothing is packed: %s", what);
}

static void test_refusals(void)
{
    static char big[1100000];
    const char *const argv[] = {"true", NULL}, *const none[] = {NULL}, *const dash[] = {"-x", NULL};
    const char *const relative[] = {"a/b", NULL}, *const huge[] = {"x", big, NULL};
    struct reach_variable v = {"A B", "x"}, digit = {"1A", "x"};
    struct reach_put p = {.path = "/a", .mode = 010000};
    struct reach_step s = program(argv);
    SCOPED_BUF(b);
    struct err e;
    memset(big, 'x', sizeof big - 1);
    refused(program(none), ERR_INVALID, "no program");
    refused(program(dash), ERR_INVALID, "a program that is an option");
    refused(program(huge), ERR_TOO_LARGE, "arguments of more than a MiB");
    s.env = &v, s.env_n = 1;
    refused(s, ERR_INVALID, "a variable with a blank");
    s.env = &digit;
    refused(s, ERR_INVALID, "a variable that begins with a digit");
    s = program(argv), s.cwd = "etc";
    refused(s, ERR_INVALID, "a relative directory");
    s = (struct reach_step){.kind = REACH_SUM, .paths = relative, .paths_n = 1};
    refused(s, ERR_INVALID, "a relative path");
    s = (struct reach_step){.kind = REACH_PUT, .puts = &p, .puts_n = 1};
    refused(s, ERR_INVALID, "a mode that is none");
    p = (struct reach_put){.path = "/a", .owner = "a:b"};
    refused(s, ERR_INVALID, "an owner with a colon");
    s = (struct reach_step){.kind = REACH_PUT};
    refused(s, ERR_INVALID, "nothing to put");
    s = program(argv), s.run.fence = UINT64_MAX;
    refused(s, ERR_INVALID, "a fence that no shell can count to");
    is_int(reach_pack(&s, 0, &name, false, &b, &e), -ERR_INVALID, "refused: no step");
    static struct reach_step many[REACH_STEPS_MAX + 1];
    is_int(reach_pack(many, REACH_STEPS_MAX + 1, &name, false, &b, &e), -ERR_INVALID,
           "refused: more than %d steps", (int)REACH_STEPS_MAX);
    s = (struct reach_step){.kind = REACH_SCRIPT, .script = {big, REACH_ARCHIVE_MAX}};
    is_int(reach_pack(&s, 1, &name, false, &b, &e), -ERR_TOO_LARGE, "refused: more than fits");
    struct reach_options o = {.root = "/tmp/x y"};
    is_int(reach_options_check(&o, &e), -ERR_INVALID, "refused: a root with a blank");
    o.root = "/tmp/'x";
    is_int(reach_options_check(&o, &e), -ERR_INVALID, "refused: a root with a quote");
}

static void test_sums(void)
{
    static const char hex[] = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
    SCOPED_ARENA(mem);
    SCOPED_BUF(b);
    struct reach_sum *s = NULL;
    struct err e;
    buf_printf(&b,
               "f\n-\nd\nf\nl\n644 root 0 adm 4 12\n1755 a 1 b 2 4096\n600 x 3 y 4 0\n%s  /a\n\\%s "
               " /b\\n\n",
               hex, hex);
    is_int(reach_sums_parse(&mem, buf_str(&b), 5, &s, &e), 0, "sums are read");
    ok(s[0].type == 'f' && s[0].mode == 0644 && str_is(s[0].group, "adm") &&
           str_is(s[0].uid, "0") && str_is(s[0].gid, "4") && s[0].size == 12 &&
           !strcmp(s[0].sha256, hex),
       "of a file");
    ok(s[2].type == 'd' && s[2].mode == 01755 && !s[2].sha256[0], "of a directory");
    ok(s[3].mode == 0600 && !strcmp(s[3].sha256, hex), "of a file whose name needs escapes");
    ok(s[1].type == '-' && s[4].type == 'l', "of nothing and of a link");
    for (size_t cut = 0; cut < b.len; cut++)
        if (reach_sums_parse(&mem, (struct str){b.data, cut}, 5, &s, &e) != -ERR_SYNTAX)
            ok(false, "cut to %zu bytes it is refused", cut);
    ok(true, "every cut is refused");
    is_int(reach_sums_parse(&mem, buf_str(&b), 4, &s, &e), -ERR_SYNTAX, "another number too");
}

/* Which files go together: lengths of the runs. */
static void test_groups(void)
{
    char long_name[80] = "/d/";
    memset(long_name + 3, 'x', 60);
    struct reach_put puts[] = {
        {.path = "/d/a"},
        {.path = "/d/b"},
        {.path = "/d/c"},
        {.path = "/e/a"},
        {.path = "/e/b"},
        {.path = "/e/c", .mode = 0600},
        {.path = "/d/x"},
        {.path = "/d/y"},
        {.path = "/d/z"},
        {.path = "/d/x"},
        {.path = long_name},
        {.path = "/r", .owner = "a"},
        {.path = "/s", .owner = "a"},
        {.path = "/t", .owner = "a"},
    };
    struct reach_step s = {.kind = REACH_PUT, .puts = puts, .puts_n = sizeof puts / sizeof *puts};
    struct reach_group g = {0};
    struct buf got = {0};
    while (reach_group_next(&s, &g))
        buf_printf(&got, "%zu ", g.n);
    is_text(got.data, "3 1 1 1 3 1 1 3 ",
            "files of one directory, mode and owner, with short names that differ");
    s.kind = REACH_ARGV;
    g = (struct reach_group){0};
    buf_clear(&got);
    while (reach_group_next(&s, &g))
        buf_printf(&got, "%zu ", g.n);
    is_int(got.len, 2 * s.puts_n, "files of a program stay by themselves");
    buf_done(&got);
}

int main(void)
{
    static const char *const shells[][4] = {
        {"dash", NULL}, {"bash", "--posix", NULL}, {"busybox", "sh", NULL}};
    test_bytes();
    test_groups();
    test_digest();
    test_tar_reads();
    for (size_t i = 0; i < 3; i++)
        test_quoting(shells[i]);
    test_refusals();
    test_sums();
    return tap_done();
}
