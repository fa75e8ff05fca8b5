/* test_overlay.c - what lies over task graphs, and the catalog as files: what is asked, sent, said
 * and written
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <unistd.h>

#include "base/str.h"
#include "cli_case.h"
#include "cluster.h"
#include "sys/fs.h"
#include "tap.h"
#include "workdir.h"

#define TASKS "/v1/deployments/prod/deployment_tasks"
#define NOTHING                                                                                    \
    "{\"deployment\":\"prod\",\"barclamp\":null,\"graph\":\"default\",\"version\":0,"              \
    "\"author\":\"\",\"created_at\":null,\"message\":\"\",\"merged\":false,\"tasks\":[],"          \
    "\"text\":\"\"}"

static void test_show(void)
{
    struct cli_case c = {.server = cluster_new()};
    is_int(case_run(&c, "deployment tasks prod"), 0, "an overlay is shown");
    is_text(c.out, "# ours\n- {id: a, type: stage}\n", "as it was given");
    is_int(case_run(&c, "deployment tasks prod -o json"), 0, "as JSON");
    has_text(c.out, "\"author\":\"ann\"", "with all that is known");
    is_int(case_run(&c, "deployment tasks prod -o name"), 0, "by its name");
    is_text(c.out, "2\n", "its version");
    fake_on(c.server, "GET " TASKS "?graph=next&version=1&merged=true", 200, NOTHING);
    is_int(case_run(&c, "deployment tasks prod --graph next --number 1 --merged"), 0,
           "another, by its number");
    is_text(c.out, "deployment prod has nothing over task graph next\n", "which is empty");
    is_int(case_run(&c, "barclamp tasks site -o yaml"), 0, "a barclamp's, as YAML");
    has_text(c.out, "version: 2\n", "is shown");
    is_int(case_run(&c, "barclamp tasks-history site"), 0, "versions");
    has_text(c.out, "VERSION", "are a table");
    has_text(c.out, "wait", "with their messages");
    is_int(case_run(&c, "deployment tasks-diff prod"), 0, "a difference");
    is_text(c.out,
            "deployment prod, graph default: from version 1 to 2\n"
            "  + new\n"
            "  ~ a\n"
            "      role: \"x\" -> \"y\"\n"
            "  - old\n",
            "is told task by task");
    fake_off(c.server, "GET " TASKS "/diff");
    fake_on(
        c.server, "GET " TASKS "/diff?from=0&to=1", 200,
        "{\"graph\":\"default\",\"from\":0,\"to\":1,\"added\":[],\"removed\":[],\"changed\":[]}");
    is_int(case_run(&c, "deployment tasks-diff prod --from 0 --to 1"), 0,
           "between two that are named");
    has_text(c.out, "nothing differs", "and are the same");
    fake_free(c.server);
    case_done(&c);
}

static void test_set(void)
{
    struct cli_case c = {.server = cluster_new(), .input = "# ours\n- {id: a, type: stage}\n"};
    is_int(case_run(&c, "deployment tasks-set prod - --message why --dry-run --graph default"), 0,
           "a dry run");
    is_text(fake_body(c.server, "PUT " TASKS, 0),
            "{\"text\":\"# ours\\n- {id: a, type: stage}\\n\",\"graph\":\"default\",\"message\":"
            "\"why\",\"dry_run\":true}",
            "the text travels as it is");
    has_text(fake_request(c.server, "PUT " TASKS, 0), "If-Match: \"2\"", "over what was read");
    is_text(c.out,
            "deployment prod could have 1 task over task graph default; nothing was changed\n",
            "what would be is said");
    has_text(c.err, "deployment_tasks of prod:1:3: warning: doubtful", "with what is doubtful");
    is_int(case_run(&c, "barclamp tasks-set site - -q"), 0, "a barclamp's");
    has_text(fake_request(c.server, "PUT /v1/barclamps/site/deployment_tasks", 0),
             "If-Match: \"2\"", "is sent");
    is_int(case_run(&c, "deployment tasks-set prod - --rev 7"), 0, "over a version that is named");
    has_text(fake_request(c.server, "PUT " TASKS, 1), "If-Match: \"7\"", "which is sent");
    is_text(c.out, "deployment prod has 1 task over task graph default, version 2\n", "and said");
    fake_off(c.server, "GET " TASKS);
    fake_on(c.server, "GET " TASKS, 200, NOTHING);
    is_int(case_run(&c, "deployment tasks-set prod -"), 0, "the first");
    has_text(fake_request(c.server, "PUT " TASKS, 2), "If-Match: \"0\"",
             "must not hide another's first");
    fake_free(c.server);
    case_done(&c);
}

/* A place in what was sent is one in the file that it came from; any other stays. */
static void test_places(void)
{
    static const struct {
        const char *line, *pointer, *says;
    } cases[] = {
        {"deployment tasks-set prod tasks.yaml", "deployment_tasks of prod:3:14",
         "tasks.yaml:3:14: no\n"},
        {"deployment tasks-set prod -", "deployment_tasks of prod:3:14",
         "standard input:3:14: no\n"},
        {"deployment tasks-set prod tasks.yaml", "deployment_tasks of prod", "tasks.yaml: no\n"},
        {"deployment tasks-set prod tasks.yaml --graph g", "deployment_tasks g of prod:1:1",
         "tasks.yaml:1:1: no\n"},
        {"deployment tasks-set prod tasks.yaml", "deployment_tasks of production:1:1",
         "deployment_tasks of production:1:1: no\n"},
    };
    struct err e;
    (void)fs_write_atomic("tasks.yaml", "[]\n", 3, 0644, &e);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct cli_case c = {.server = cluster_new(), .input = "[]\n"};
        char problem[256];
        snprintf(problem, sizeof problem,
                 "{\"type\":\"urn:anneal:error:invalid\",\"title\":\"invalid\",\"status\":400,"
                 "\"detail\":\"no\",\"pointer\":\"%s\"}",
                 cases[i].pointer);
        fake_off(c.server, "PUT " TASKS);
        fake_on(c.server, "PUT " TASKS, 400, problem);
        is_int(case_run(&c, cases[i].line), 2, "%s is refused", cases[i].line);
        has_text(c.err, cases[i].says, "%s: at %s", cases[i].line, cases[i].pointer);
        fake_free(c.server);
        case_done(&c);
    }
}

static bool file_is(const char *path, const char *text)
{
    SCOPED_BUF(b);
    struct err e;
    return fs_read(path, 1 << 20, &b, &e) == 0 && str_is(buf_str(&b), text);
}

static void test_export(void)
{
    static const char *const bad[] = {"../out", "/out", "a/../../out", "a//b", "", "./a"};
    struct cli_case c = {.server = cluster_new()};
    is_int(case_run(&c, "catalog export copy"), 0, "a catalog is exported");
    is_text(c.out, "catalog generation 7 written to copy: 2 files, 1 overlay\n", "and told");
    ok(file_is("copy/site/barclamp.yaml", "barclamp: site\n"), "a file of it");
    ok(file_is("copy/site/graph_overlays/000001.yaml", "- {id: a, type: stage}\n"), "an overlay");
    is_int(case_run(&c, "catalog export copy"), 5, "a directory that is not empty");
    has_text(c.err, "copy is not empty", "is left alone");
    fake_off(c.server, "GET /v1/catalog/files");
    fake_on(c.server, "GET /v1/catalog/files?deployment=prod", 200,
            "{\"generation\":7,\"deployment\":\"prod\",\"overlays\":[],\"files\":{\"a\":\"x\"}}");
    is_int(case_run(&c, "catalog export of-prod --deployment prod -o json"), 0,
           "with what a deployment has");
    has_text(c.out, "\"files_written\":1", "as JSON");
    fake_free(c.server);
    case_done(&c);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct cli_case b = {.server = cluster_new()};
        char answer[256], line[64];
        snprintf(answer, sizeof answer,
                 "{\"generation\":7,\"deployment\":null,\"overlays\":[],\"files\":{\"%s\":\"x\"}}",
                 bad[i]);
        snprintf(line, sizeof line, "catalog export bad%zu", i);
        fake_off(b.server, "GET /v1/catalog/files");
        fake_on(b.server, "GET /v1/catalog/files", 200, answer);
        is_int(case_run(&b, line), 2, "the path \"%s\" is refused", bad[i]);
        ok(!fs_exists("out") && !fs_exists("../out") && !fs_exists("/out"), "nothing leads out");
        fake_free(b.server);
        case_done(&b);
    }
}

int main(void)
{
    char *dir = workdir_new("overlay");
    if (chdir(dir))
        printf("Bail out! no way into %s\n", dir);
    test_show();
    test_set();
    test_places();
    test_export();
    free(dir);
    return tap_done();
}
