/* test_puppet.c - what is read from puppet's report, and, where there is puppet, manifests applied
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "jig/bench_node.h"
#include "jig/puppet_i.h"

static void test_report(void)
{
    static const char text[] =
        "---\nversion:\n  config: 1\nresources:\n  changed: 2\n  failed: 2\n  out_of_sync: 4\n"
        "  skipped: 1\n  total: 12\ntime:\n  exec: 0.07\n  total: 0.122\n  last_run: 5\n"
        "changes:\n  total: 77\n"
        "--- !ruby/object:Puppet::Transaction::Report\ntime: 'x'\nmetrics:\n  resources:\n"
        "    failed: true\nresource_statuses:\n  Exec[a]:\n    resource: Exec[a]\n"
        "    failed: true\n    failed_to_restart: true\n    events:\n    - audited: false\n"
        "      message: |-\n        failed: true\n  File[b]:\n    resource: \"File[b: x]\"\n"
        "    failed: false\n  Exec[c]:\n    resource: |-\n      Exec[one\n      two]\n"
        "    failed: true\nlogs:\n    resource: Exec[d]\n    failed: true\n";
    SCOPED_ARENA(mem);
    struct puppet_report r;
    puppet_report_read(&r, str_of(text), &mem);
    ok(r.complete && r.total == 12 && r.changed == 2 && r.failed == 2 && r.out_of_sync == 4 &&
           r.skipped == 1,
       "counts are those of the summary");
    ok(r.seconds > 0.121 && r.seconds < 0.123, "so is the time");
    is_int((int64_t)r.names_n, 2, "two have failed");
    is_text(r.names_n > 0 ? r.names[0] : "", "Exec[a]", "one, named once");
    is_text(r.names_n > 1 ? r.names[1] : "", "Exec[one", "one of several lines by the first");
    puppet_report_read(&r, str_of(""), &mem);
    ok(!r.complete && r.names_n == 0, "nothing says nothing");
    SCOPED_BUF(many);
    buf_puts(&many, "resource_statuses:\n");
    for (int i = 0; i < 100; i++)
        buf_printf(&many, "    resource: Exec[%d]\n    failed: true\n", i);
    puppet_report_read(&r, buf_str(&many), &mem);
    is_int((int64_t)r.names_n, PUPPET_NAMES_MAX, "of many the first are named");
}

static void test_checks(struct bench *b)
{
    static const struct {
        const char *params, *text, *at;
    } cases[] = {
        {"{}", "needs either manifest", ""},
        {"{\"manifest\":\"\",\"puppet_manifest\":\"/x\"}", "needs either manifest", ""},
        {"{\"puppet_manifest\":\"--verbose\"}", "must be a path", "/puppet_manifest"},
        {"{\"manifest\":\"\",\"puppet_modules\":\"\"}", "must be a path", "/puppet_modules"},
        {"{\"manifest\":\"\",\"hiera_config\":\"-x\"}", "must be a path", "/hiera_config"},
        {"{\"manifest\":\"\",\"env\":{\"ANNEAL_X\":\"\"}}", "set by Anneal", "/env/ANNEAL_X"},
        {"{\"manifest\":1}", "manifest: expected a string", "/manifest"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        is_int(bench_ready(b, "puppet", cases[i].params, ""), -ERR_INVALID, "refuses %s",
               cases[i].params);
        has_text(b->e.text, cases[i].text, "says: %s", cases[i].text);
        is_text(b->e.at, cases[i].at, "and where");
    }
}

static void test_judge(struct bench *b)
{
    static const char good[] = "resources:\n  changed: 1\n  total: 3\n  out_of_sync: 2\n";
    struct reach_end end = {.what = REACH_DONE, .result = str_of(good)};
    struct jig_result r;
    is_int(bench_ready(b, "puppet", "{\"manifest\":\"\",\"report\":\"run\"}", ""), 0, "(a task)");
    b->jig->judge(&b->req, &end, "", &b->mem, &r);
    is_int(r.outcome, OUTCOME_OK, "a run that went well");
    has_text(r.text, "3 resources, 1 changed, 0 skipped, 2 were out of sync", "is told of");
    is_int(value_as_int(value_at(r.returns, "run.changed"), -1), 1, "and returned as was asked");
    b->msg.no_op = true;
    b->jig->judge(&b->req, &end, "", &b->mem, &r);
    is_text(r.text, "no-op: 2 of 3 resources would change", "a no-op tells what would be");
    ok(!r.returns, "and returns nothing");
    b->msg.no_op = false;
    end = (struct reach_end){.status = 4,
                             .result = str_of("resources:\n  failed: 1\n  total: 2\n"
                                              "resource_statuses:\n    resource: Exec[x]\n"
                                              "    failed: true\n")};
    b->jig->judge(&b->req, &end, "noise", &b->mem, &r);
    is_int(r.outcome, OUTCOME_FAILED, "one that did not");
    is_text(r.text, "1 of 2 resources failed: Exec[x]", "names what failed");
    end = (struct reach_end){.status = 1};
    b->jig->judge(&b->req, &end, "Error: no", &b->mem, &r);
    is_text(r.text, "exit status 1: Error: no", "one that did not begin says why");
}

/* A program of the name puppet that tells how it was called and does what its manifest says. */
static void puppet_install(struct bench *b)
{
    static const char fake[] =
        "#!/bin/sh\nfor a; do case ${was-} in --lastrunfile) s=$a ;; --lastrunreport) r=$a ;;\n"
        "--pluginfactdest) f=$a ;; esac; was=$a; done\n"
        "printf 'resources:\\n  changed: 1\\n  out_of_sync: 2\\n  failed: 1\\n  total: 3\\n' "
        ">\"$s\"\n"
        "printf 'resource_statuses:\\n    resource: Exec[x]\\n    failed: true\\n' >\"$r\"\n"
        "echo \"$*\"; cat \"$f/anneal.json\"; stat -c %a \"$f\"; exit \"$(cat \"$a\")\"\n";
    char *bin = fs_join(b->dir, "bin"), *prog = fs_join(bin, "puppet");
    struct err e;
    is_int(fs_mkdirs(bin, 0755, &e), 0, "(a directory)");
    is_int(fs_write_atomic(prog, fake, strlen(fake), 0755, &e), 0, "(a program)");
    free(bin);
    free(prog);
}

static void test_apply(struct bench_node *n, bool there)
{
    static const struct {
        const char *manifest, *text;
        bool no_op;
        enum outcome outcome;
    } cases[] = {
        {"0", "3 resources, 1 changed", false, OUTCOME_OK},
        {"2", "3 resources, 1 changed", false, OUTCOME_OK},
        {"0", "no-op: 2 of 3 resources would change", true, OUTCOME_OK},
        {"4", "1 of 3 resources failed: Exec[x]", false, OUTCOME_FAILED},
        {"6", "1 of 3 resources failed: Exec[x]", false, OUTCOME_FAILED},
        {"1", "1 of 3 resources failed: Exec[x]", false, OUTCOME_FAILED},
    };
    struct bench *b = n->b;
    SCOPED_BUF(p);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        b->task++;
        b->no_op = cases[i].no_op;
        buf_clear(&p);
        buf_printf(&p,
                   "{\"manifest\":\"%s\",\"puppet_modules\":\"/m o\",\"password\":\"hush\","
                   "\"env\":{\"PATH\":\"%s/bin:/usr/bin:/bin\"}}",
                   cases[i].manifest, b->dir);
        int outcome = there ? bench_node_run(n, "puppet", p.data, "{\"word\":\"it's\"}")
                            : bench_start(b, "puppet", p.data, "{\"word\":\"it's\"}");
        if (!there && outcome == 0) {
            bench_end(b);
            outcome = (int)b->r.outcome;
        }
        is_int(outcome, cases[i].outcome, "status %s, %s", cases[i].manifest,
               there ? "there" : "here");
        has_text(b->r.text, cases[i].text, "says: %s", cases[i].text);
        has_text(TEXT(b->log[0]), "apply --detailed-exitcodes", "is an apply");
        has_text(TEXT(b->log[0]), "--modulepath /m o ", "with its modules");
        is_int(strstr(TEXT(b->log[0]), " --noop ") != NULL, cases[i].no_op, "and its kind");
        has_text(TEXT(b->log[0]), "{\"anneal\":{\"params\":{", "parameters are a fact");
        has_text(TEXT(b->log[0]), "\"data\":{\"word\":\"it's\"}", "so are data");
        has_text(TEXT(b->log[0]), "\n700\n", "that others cannot read");
        ok(strstr(TEXT(b->log[0]), "hush") > strchr(TEXT(b->log[0]), '\n'), "and no argument");
    }
    b->no_op = false;
}

int main(void)
{
    struct bench b;
    struct bench_node n;
    bench_init(&b, RUNNER_PATH);
    bench_node_init(&n, &b);
    test_report();
    test_checks(&b);
    test_judge(&b);
    puppet_install(&b);
    test_apply(&n, false);
    test_apply(&n, true);
    bench_node_done(&n);
    bench_done(&b);
    return tap_done();
}
