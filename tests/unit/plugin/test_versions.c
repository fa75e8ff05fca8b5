/* test_versions.c - versions of resources, how a task names them, what an archive may hold */
/* SPDX-License-Identifier: Apache-2.0 */
#include "tap.h"

#include "base/json.h"
#include "plugin/plugin_versions.h"

/* --- states --- */

enum { OPS = 3 };
static bool apply(struct resource_version *all, size_t n, unsigned op, uint32_t version)
{
    if (op == 0)
        return resource_versions_stage(all, n, version);
    if (op == 1)
        return resource_versions_recall(all, n, version);
    resource_versions_sync(all, n);
    return true;
}

static unsigned count(const struct resource_version *all, size_t n, enum resource_state a,
                      enum resource_state b)
{
    unsigned found = 0;
    for (size_t i = 0; i < n; i++)
        found += all[i].state == a || all[i].state == b;
    return found;
}

static bool sound(const struct resource_version *all, size_t n)
{
    return count(all, n, RESOURCE_STAGED, RESOURCE_STAGED) <= 1 &&
           count(all, n, RESOURCE_ACTIVE, RESOURCE_RECALLED) <= 1 &&
           !(count(all, n, RESOURCE_STAGED, RESOURCE_STAGED) &&
             count(all, n, RESOURCE_ACTIVE, RESOURCE_ACTIVE));
}

/* Every order of six operations on three versions, from nothing. */
static void test_orders(void)
{
    enum { N = 3, STEPS = 6, CHOICES = OPS * N };
    uint32_t orders = 1, unsound = 0, undone = 0;
    for (unsigned i = 0; i < STEPS; i++)
        orders *= CHOICES;
    for (uint32_t o = 0; o < orders; o++) {
        struct resource_version all[N] = {{1, 0}, {2, 0}, {3, 0}};
        for (uint32_t k = 0, rest = o; k < STEPS; k++, rest /= CHOICES) {
            struct resource_version before[N];
            (void)apply(all, N, rest % CHOICES / N, rest % N + 1);
            unsound += !sound(all, N);
            memcpy(before, all, sizeof before);
            (void)apply(all, N, rest % CHOICES / N, rest % N + 1);
            undone += memcmp(before, all, sizeof before) != 0;
        }
    }
    is_int(unsound, 0, "%u orders: at most one is staged, at most one is live", orders);
    is_int(undone, 0, "doing it twice does it once");
}

static void test_states(void)
{
    struct resource_version all[] = {{1, RESOURCE_INACTIVE}, {2, RESOURCE_ACTIVE}};
    ok(!resource_versions_stage(all, 2, 3) && !resource_versions_recall(all, 2, 0),
       "a version that is not there");
    ok(resource_versions_recall(all, 2, 2) && all[1].state == RESOURCE_RECALLED,
       "an active one is recalled");
    ok(resource_state_live(all[1].state), "and tasks get it until the next sync");
    resource_versions_sync(all, 2);
    is_int(all[1].state, RESOURCE_INACTIVE, "then no more");
    ok(resource_versions_stage(all, 2, 1) && resource_versions_recall(all, 2, 1) &&
           all[0].state == RESOURCE_INACTIVE,
       "a staged one that is recalled was never active");
}

/* --- in a task --- */

#define DIGEST "cae66941d9efbd404e4d88758ea67670"
#define ONE                                                                                        \
    "{\"kind\":\"keys\",\"name\":\"root\",\"version\":2,\"digest\":\"" DIGEST                      \
    "\",\"size\":5,\"archive\":false,\"mode\":256}"

static void test_named(void)
{
    SCOPED_ARENA(mem);
    SCOPED_BUF(b);
    const struct resource_named *all;
    uint32_t n = 0;
    struct err e = {0};
    char file[RESOURCE_FILE_BYTES];
    is_int(resources_read(&mem, str_of("[" ONE "]"), &all, &n, &e), 0, "a list is read");
    is_int(n, 1, "with one");
    resources_write(&b, all, n);
    is_text(b.data, "[" ONE "]", "and written as it was");
    resource_file_name(&all[0], file);
    is_text(file, DIGEST ".0400", "a file has its mode in its name");
    struct resource_named archive = all[0];
    archive.archive = true;
    resource_file_name(&archive, file);
    is_text(file, DIGEST ".d", "an archive is a directory");
    static const char *const wrong[] = {
        "{}",
        "[1]",
        "[{}]",
        "[{\"kind\":\"../x\",\"name\":\"y\"}]",
        "[{\"kind\":\"keys\",\"name\":\"root\",\"version\":1,"
        "\"digest\":\"../../../../../../../../etc/passwdx\","
        "\"size\":5,\"archive\":false,\"mode\":256}]",
        "[{\"kind\":\"keys\",\"name\":\"root\",\"version\":0,"
        "\"digest\":\"" DIGEST "\",\"size\":5,\"archive\":false,\"mode\":256}]",
        "[{\"kind\":\"keys\",\"name\":\"root\",\"version\":1,"
        "\"digest\":\"" DIGEST "\",\"size\":5,\"archive\":false,\"mode\":2048}]",
        "[{\"kind\":\"keys\",\"name\":\"root\",\"version\":1,"
        "\"digest\":\"" DIGEST "\",\"size\":5,\"mode\":0}]"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        is_int(resources_read(&mem, str_of(wrong[i]), &all, &n, &e), -ERR_INVALID, "refused: %s",
               wrong[i]);
}

/* --- archives --- */

#define AT "0/0 7 2026-01-31 10:00 "

static int listing(const char *text, size_t piece, uint64_t max, struct archive_list *l,
                   struct err *e)
{
    size_t n = strlen(text);
    archive_list_init(l, max);
    for (size_t i = 0; i < n; i += piece)
        archive_list_feed(l, (struct str){text + i, n - i < piece ? n - i : piece});
    int rc = archive_list_end(l, e);
    archive_list_done(l);
    return rc;
}

static void test_archives(void)
{
    static const struct {
        const char *lines;
        enum errcode code;
        const char *why;
    } cases[] = {
        {"", 0, ""},
        {"drwxr-xr-x " AT "./\n-rw-r--r-- " AT "./a b\n", 0, ""},
        {"-rw-r--r-- " AT " ..x/y..\n", 0, ""},
        {"lrwxrwxrwx " AT "a/b/l -> ../../c\n", 0, ""},
        {"hrw-r--r-- " AT "a/h link to a/f\n", 0, ""},
        {"-rw-r--r-- " AT "/etc/passwd\n", ERR_INVALID, "not be put inside"},
        {"-rw-r--r-- " AT "a/../../b\n", ERR_INVALID, "not be put inside"},
        {"-rw-r--r-- " AT "..\n", ERR_INVALID, "not be put inside"},
        {"lrwxrwxrwx " AT "a -> /etc\n", ERR_INVALID, "leads out"},
        {"lrwxrwxrwx " AT "a -> ..\n", ERR_INVALID, "leads out"},
        {"lrwxrwxrwx " AT "a/b -> ../../c\n", ERR_INVALID, "leads out"},
        {"lrwxrwxrwx " AT "a/b/c -> x/../../y\n", ERR_INVALID, "leads out"},
        {"lrwxrwxrwx " AT "a -> b -> ../c\n", ERR_INVALID, "two ways"},
        {"lrwxrwxrwx " AT "a\n", ERR_INVALID, "two ways"},
        {"hrw-r--r-- " AT "a link to ../b\n", ERR_INVALID, "leads out"},
        {"crw-r--r-- 0/0 1,3 2026-01-31 10:00 null\n", ERR_INVALID, "cannot be listed"},
        {"prw-r--r-- " AT "fifo\n", ERR_INVALID, "neither a file"},
        {"-rw-r--r-- " AT "a\n-rw-r--r-- " AT "b\n", ERR_TOO_LARGE, "more than 10 bytes"},
        {"nonsense\n", ERR_INVALID, "cannot be listed"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (size_t piece = 1; piece < 64; piece += 31) {
            struct archive_list l;
            struct err e = {0};
            int rc = listing(cases[i].lines, piece, cases[i].code == ERR_TOO_LARGE ? 10 : 1000, &l,
                             &e);
            is_int(rc, -(int)cases[i].code, "%s in pieces of %zu", cases[i].lines, piece);
            if (cases[i].code)
                has_text(e.text, cases[i].why, "because %s", cases[i].why);
        }
    struct archive_list l;
    struct err e;
    char *name = malloc(ARCHIVE_LINE_MOST + 100);
    memset(name, 'x', ARCHIVE_LINE_MOST + 99);
    name[ARCHIVE_LINE_MOST + 99] = '\0';
    is_int(listing(name, 1000, 10, &l, &e), -ERR_TOO_LARGE, "a line without an end");
    free(name);
}

int main(void)
{
    test_orders();
    test_states();
    test_named();
    test_archives();
    return tap_done();
}
