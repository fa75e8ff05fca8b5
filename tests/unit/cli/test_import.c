/* test_import.c - `anneal import`: from files to files, with every difference told */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/str.h"
#include "cli_case.h"
#include "dir_case.h"
#include "sys/fs.h"
#include "tap.h"

static bool file_is(const char *name, const char *start)
{
    struct err e;
    SCOPED_BUF(p);
    SCOPED_BUF(text);
    buf_printf(&p, "%s/%s", dir, name);
    return !fs_read(p.data, 1 << 20, &text, &e) && !strncmp(text.data, start, strlen(start));
}

static int import(struct cli_case *c, const char *src, const char *dst, const char *options)
{
    SCOPED_BUF(line);
    buf_printf(&line, "import crowbar %s/%s %s/%s %s", dir, src, dir, dst, options);
    return case_run(c, line.data);
}

static int import_fuel(struct cli_case *c, const char *src, const char *dst, const char *options)
{
    SCOPED_BUF(line);
    buf_printf(&line, "import fuel %s/%s %s/%s %s", dir, src, dir, dst, options);
    return case_run(c, line.data);
}

static void sources(void)
{
    file_put("src/web.yml", "barclamp: {name: web}\n"
                            "hammers: []\n"
                            "roles:\n"
                            "  - {name: web, jig: script}\n"
                            "  - {name: cook, jig: chef, requires: [web]}\n");
    file_put("src/script/roles/web/01.sh", "echo hello\n");
    file_put("src/logo.png", "\xff\xfe"); /* nobody reads it */
    file_put("ring/a.yml", "barclamp: {name: a}\n"
                           "roles: [{name: x, requires: [y]}, {name: y, requires: [x]}]\n");
    file_put("fuel/web/tasks.yaml", "- {id: s, type: stage}\n"
                                    "- {id: web, type: sync, role: web, requires: [s]}\n");
    file_put("fuel/graphs/down/tasks.yaml", "- {id: s, type: stage}\n");
    file_put("fuel/web/manifest.pp", "\xff\xfe"); /* nobody reads it */
    file_put("odd/a.yml", "\xff");
    file_put("notes.txt", "x");
}

static void test_directory(struct cli_case *c)
{
    is_int(import(c, "src", "one", ""), 0, "a directory is imported");
    has_text(c->out, "web.yml:2: left out: web: hammers: ", "what is left out is told");
    has_text(c->out, "imported 1 barclamps of 1 files, 2 jigs, 2 roles", "and counted");
    has_text(c->out, "3 files written to ", "and how many files were written");
    ok(file_is("one/web/barclamp.yaml", "# Imported from web.yml\nbarclamp: web\n"), "a barclamp");
    ok(file_is("one/web/roles/cook.yaml", "# Imported from web.yml\nname: cook\n"), "a role");
    SCOPED_BUF(line);
    buf_printf(&line, "lint %s/one", dir);
    is_int(case_run(c, line.data), 0, "the result is sound");
    is_int(import(c, "src", "one", ""), 5, "a directory that is not empty is left alone");
    has_text(c->err, "is not empty", "and named");
    is_int(import(c, "src", "one", "--force --map chef=shell"), 0, "unless it is forced");
    has_text(c->out, "3 files written", "then it is written again");
    is_int(import(c, "src", "two", "-o json"), 0, "in JSON");
    has_text(c->out, "\"kind\":\"left out\"", "lines have their kind");
    has_text(c->out, "\"file\":\"web.yml\",\"line\":2,", "and place");
    has_text(c->out, "\"roles\":2", "and there are counts");
    has_text(c->out, "\"errors\":0", "and what lint says");
}

static void test_others(struct cli_case *c)
{
    is_int(import(c, "src/web.yml", "file", ""), 0, "a single file");
    ok(file_is("file/web/roles/web.yaml", "# Imported from web.yml\n"), "is imported");
    is_int(import(c, "notes.txt", "x", ""), 2, "a file of another kind is not");
    has_text(c->err, "is no barclamp's file", "and told so");
    is_int(import(c, "odd", "x", ""), 2, "nor is one that is no text");
    is_int(import(c, "odd/a.yml", "x", ""), 2, "by itself either");
    has_text(c->err, "is not UTF-8 text", "and told so");
    is_int(import(c, "nowhere", "x", ""), 4, "nothing there");
    is_int(import(c, "ring", "ring-out", ""), 2, "a source whose roles are a circle");
    has_text(c->out, "error: roles require each other: x -> y -> x", "shows what does not load");
    ok(file_is("ring-out/a/roles/x.yaml", "# Imported"), "and is written all the same");
    is_int(import(c, "src", "notes.txt", ""), 5, "a target that is a file");
    is_int(import(c, "src", "notes.txt/x", ""), 4, "one that cannot be made");
    is_int(import(c, "src", "y", "--map chef"), 2, "a map without an implementation");
    has_text(c->err, "JIG=IMPLEMENTATION", "says what it takes");
    is_int(import(c, "src", "y", "--map puppet=shell"), 6, "a map of no jig");
    has_text(c->err, "there are: ", "says which there are");
    SCOPED_BUF(p);
    buf_printf(&p, "%s/y", dir);
    ok(!fs_exists(p.data), "a refusal writes nothing");
}

static void test_fuel(struct cli_case *c)
{
    SCOPED_BUF(line);

    is_int(import_fuel(c, "fuel", "graphs", ""), 0, "task files are imported");
    has_text(c->out, "web/tasks.yaml:2: changed: web: type sync is called rsync",
             "changes are told");
    has_text(c->out, "imported 3 stages, groups and tasks of 2 files in 2 graphs", "and counted");
    ok(file_is("graphs/fuel/barclamp.yaml", "barclamp: fuel\n"), "a barclamp");
    ok(file_is("graphs/fuel/graphs/default/web.yaml", "# Imported from web/tasks.yaml\n"),
       "a file");
    buf_printf(&line, "lint %s/graphs", dir);
    is_int(case_run(c, line.data), 0, "the result is sound");
    has_text(c->out, "graph default: 1 stage, 0 groups, 1 task", "and shown with its graphs");
    is_int(import_fuel(c, "fuel", "graphs", ""), 5, "it is not written over");
    is_int(import_fuel(c, "fuel", "graphs", "--force --limit-circles -o json"), 0, "unless forced");
    has_text(c->out, "\"graphs\":2,\"vertices\":3", "with counts");
    is_int(import_fuel(c, "fuel/web/tasks.yaml", "single", ""), 0, "a single file");
    is_int(import_fuel(c, "notes.txt", "x", ""), 2, "a file of another kind");
    has_text(c->err, "is no file of tasks", "is refused");
    is_int(import_fuel(c, "src", "x", ""), 2, "a directory without tasks");
    has_text(c->err, "there is no task", "too");
}

int main(void)
{
    struct cli_case c = {0};
    dir = workdir_new("import");
    sources();
    test_directory(&c);
    test_others(&c);
    test_fuel(&c);
    case_done(&c);
    free(dir);
    return tap_done();
}
