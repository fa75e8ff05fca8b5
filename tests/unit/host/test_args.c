/* test_args.c - the command line of anneal-host run */
/* SPDX-License-Identifier: Apache-2.0 */
#include "host/host_i.h"
#include "tap.h"

enum { WORDS = 32 };

/* "a b c" to words, parsed; the words must live as long as the options. */
static int parse(char *line, struct host_options *o, struct err *e)
{
    char *argv[WORDS], *save = NULL;
    int n = 0;
    for (char *w = strtok_r(line, " ", &save); w && n < WORDS; w = strtok_r(NULL, " ", &save))
        argv[n++] = w;
    return host_args_run(n, argv, o, e);
}
#define NEEDED "--dir /d --name h1 --address 10.0.0.2/24 --bridge br --authorized-keys /k"

static void test_defaults(void)
{
    char line[] = NEEDED;
    struct host_options o = {0};
    struct err e = {0};
    is_int(parse(line, &o, &e), 0, NEEDED);
    ok(!strcmp(o.dir, "/d") && !strcmp(o.name, "h1") && !strcmp(o.bridge, "br") &&
           !strcmp(o.keys_path, "/k"),
       "what was given");
    ok(o.address.ip == 0x0a000002 && o.address.prefix == 24, "the address");
    ok(o.disk == HOST_DISK_MEMORY && !strcmp(o.size, "512m") && o.grace_ms == 5000 && !o.owner &&
           !o.gateway && !o.hosts_path,
       "what was not");
}

static void test_all(void)
{
    char line[] = NEEDED " --gateway 10.0.0.1 --hosts /h --disk memory --size 64m --grace 250ms "
                         "--owner 4711";
    struct host_options o = {0};
    struct err e = {0};
    is_int(parse(line, &o, &e), 0, "every option");
    ok(o.gateway == 0x0a000001 && !strcmp(o.hosts_path, "/h") && o.disk == HOST_DISK_MEMORY &&
           !strcmp(o.size, "64m") && o.grace_ms == 250 && o.owner == 4711,
       "arrives");
    char files[] = NEEDED " --disk files";
    is_int(parse(files, &o, &e), 0, "--disk files");
    is_int(o.disk, HOST_DISK_FILES, "arrives");
}

static void test_bad(void)
{
    static const struct {
        const char *line, *says;
    } cases[] = {
        {"", "--dir is missing"},
        {"--dir /d --name h1 --address 10.0.0.2/24 --bridge br", "--authorized-keys is missing"},
        {NEEDED " --dir /e", "--dir is given twice"},
        {NEEDED " --grace", "--grace needs a value"},
        {NEEDED " --gatway 10.0.0.1", "no option --gatway"},
        {NEEDED " --gateway 10.0.1.1", "not another address of the host's network"},
        {NEEDED " --gateway 10.0.0.2", "not another address of the host's network"},
        {NEEDED " --gateway here", "is not an IPv4 address"},
        {NEEDED " --disk tape", "memory or files"},
        {NEEDED " --disk files --size 64m", "--size is for a disk in memory"},
        {NEEDED " --size 64m,mode=777", "not a size"},
        {NEEDED " --size 0", "not a size"},
        {NEEDED " --size m", "not a size"},
        {NEEDED " --size 64mm", "not a size"},
        {NEEDED " --grace soon", "soon"},
        {NEEDED " --owner -1", "-1"},
        {"--dir d --name h1 --address 10.0.0.2/24 --bridge br --authorized-keys /k",
         "begin with /"},
        {"--dir /d --name H_1", "cannot be the name of a host"},
        {"--dir /d --name ../x", "cannot be the name of a host"},
        {"--dir /d --bridge a-name-too-long-for-linux", "cannot be the name of a bridge"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char line[512];
        struct host_options o = {.owner = 7};
        struct err e = {0};
        snprintf(line, sizeof line, "%s", cases[i].line);
        is_int(parse(line, &o, &e), -ERR_INVALID, "refused: %s", cases[i].line);
        has_text(e.text, cases[i].says, "says: %s", cases[i].says);
        is_int(o.owner, 7, "and writes nothing");
    }
    char line[] = NEEDED " --gatway 10.0.0.1";
    struct host_options o;
    struct err e = {0};
    (void)parse(line, &o, &e);
    has_text(e.hint, "--gateway", "the nearest option is named");
}

int main(void)
{
    test_defaults();
    test_all();
    test_bad();
    has_text(host_args_help(), "--authorized-keys FILE", "the help has the options");
    return tap_done();
}
