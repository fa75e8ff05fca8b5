/* jig_puppet.c - a manifest is applied on the node: the jig puppet
 *
 *   manifest         its text    or   puppet_manifest: its path on the node
 *   puppet_modules   directories of modules on the node, separated by colons
 *   hiera_config     path of a hiera.yaml on the node
 *   report           key under which what was done is returned; without it nothing is
 *   env, cwd         as for shell; other parameters are the manifest's own
 *
 * The program is `puppet apply --detailed-exitcodes`: 0 and 2 are success, anything else is not.
 * Parameters and data are the structured fact `anneal`, the very document that other programs get
 * on standard input: $facts['anneal']['data']['port'].  It is a file of the run that only its user
 * can read, as is a manifest that is a text; none of both is in an argument.
 *
 * What was done is not returned by itself: it differs from run to run, and what a task returns
 * makes others run.  A no-op is `puppet apply --noop`.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>

#include "jig/program_run_i.h"
#include "jig/puppet_i.h"

#define SAY(r, ...) snprintf((r)->text, sizeof(r)->text, __VA_ARGS__)

/* Values come in the environment, texts as files.  Of the report only those lines are returned that
 * puppet_report.c looks at. */
static const char script[] =
    "PATH=$PATH:/opt/puppetlabs/bin\n"
    "f=$ANNEAL_FILES\n"
    "(umask 077 && mkdir \"$f.facts\" && mv \"$f.1\" \"$f.facts/anneal.json\") || exit 1\n"
    "set -- apply --detailed-exitcodes --color=false --logdest console --reports none \\\n"
    "    --pluginfactdest \"$f.facts\" --lastrunfile \"$f.summary\" --lastrunreport \"$f.report\"\n"
    "[ -z \"${ANNEAL_PUPPET_MODULES-}\" ] || set -- \"$@\" --modulepath "
    "\"$ANNEAL_PUPPET_MODULES\"\n"
    "[ -z \"${ANNEAL_PUPPET_HIERA-}\" ] || set -- \"$@\" --hiera_config \"$ANNEAL_PUPPET_HIERA\"\n"
    "[ -z \"${ANNEAL_PUPPET_NOOP-}\" ] || set -- \"$@\" --noop\n"
    "puppet \"$@\" \"${ANNEAL_PUPPET_MANIFEST-$f.2}\" </dev/null 3>&-\n"
    "st=$?\n"
    "{\n"
    "    cat \"$f.summary\"\n"
    "    grep -E '^[a-z]|^    (resource: |failed: true|failed_to_restart: true)|^      [A-Z]' \\\n"
    "        \"$f.report\"\n"
    "} >&3 2>/dev/null\n"
    "rm -rf \"$f.facts\" \"$f.summary\" \"$f.report\" \"$f.2\"\n"
    "[ $st = 2 ] && st=0\n"
    "exit $st\n";

static int puppet_check(const struct value *params, struct err *e)
{
    static const struct jig_param table[] = {{"manifest", PARAM_STRING},
                                             {"puppet_manifest", PARAM_STRING},
                                             {"puppet_modules", PARAM_STRING},
                                             {"hiera_config", PARAM_STRING},
                                             {"report", PARAM_STRING},
                                             {"env", PARAM_STRING_MAP},
                                             {"cwd", PARAM_STRING}};
    static const char *const paths[] = {"puppet_manifest", "puppet_modules", "hiera_config"};
    int rc = jig_params_check(params, table, sizeof table / sizeof *table, false, e);
    if (rc == 0 && !value_get(params, "manifest") == !value_get(params, "puppet_manifest"))
        rc = err_set(e, ERR_INVALID,
                     "a puppet task needs either manifest, a text, or puppet_manifest, a path");
    for (size_t i = 0; rc == 0 && i < sizeof paths / sizeof *paths; i++) {
        const char *path = value_as_text(value_get(params, paths[i]), NULL);
        if (path && (!*path || *path == '-'))
            rc = jig_param_refuse(e, paths[i], "must be a path");
    }
    return rc < 0 ? rc : program_env_check(value_get(params, "env"), e);
}

static void env_add(struct program_env *env, const struct value *params, const char *key,
                    const char *name)
{
    const char *text = value_as_text(value_get(params, key), NULL);
    if (text)
        program_env_add(env, name, text);
}

static int puppet_step(const struct task_request *req, struct arena *mem, struct reach_step *ret_s,
                       struct err *e)
{
    const struct value *text = value_get(req->params, "manifest");
    struct reach_put *files = arena_new(mem, struct reach_put, 2);
    SCOPED_BUF(facts);
    (void)e;
    program_step_fill(req, mem, ret_s);
    struct program_env env = {.mem = mem};
    for (size_t i = 0; i < ret_s->env_n; i++)
        program_env_add(&env, ret_s->env[i].name, ret_s->env[i].value);
    env_add(&env, req->params, "puppet_manifest", "ANNEAL_PUPPET_MANIFEST");
    env_add(&env, req->params, "puppet_modules", "ANNEAL_PUPPET_MODULES");
    env_add(&env, req->params, "hiera_config", "ANNEAL_PUPPET_HIERA");
    if (req->msg->no_op)
        program_env_add(&env, "ANNEAL_PUPPET_NOOP", "1");
    buf_puts(&facts, "{\"anneal\":");
    buf_put(&facts, ret_s->input.s, ret_s->input.n);
    buf_puts(&facts, "}\n");
    files[0].content = (struct str){arena_strndup(mem, facts.data, facts.len), facts.len};
    files[1].content = value_as_str(text);
    ret_s->kind = REACH_SCRIPT;
    ret_s->script = str_of(script);
    ret_s->input = (struct str){"", 0};
    ret_s->env = env.at;
    ret_s->env_n = env.n;
    ret_s->boot_key = NULL; /* no exit status of puppet asks for a boot */
    ret_s->puts = files;
    ret_s->puts_n = text ? 2 : 1;
    return 0;
}

static const struct value *report_value(const struct puppet_report *p, struct arena *mem)
{
    struct value *v = value_map(mem), *names = value_list(mem);
    value_put_int(mem, v, "total", (int64_t)p->total);
    value_put_int(mem, v, "changed", (int64_t)p->changed);
    value_put_int(mem, v, "failed", (int64_t)p->failed);
    value_put_int(mem, v, "out_of_sync", (int64_t)p->out_of_sync);
    value_put_int(mem, v, "skipped", (int64_t)p->skipped);
    value_set(mem, v, "seconds", value_real(mem, p->seconds));
    for (size_t i = 0; i < p->names_n; i++)
        value_add(mem, names, value_text(mem, p->names[i]));
    value_set(mem, v, "failed_resources", names);
    return v;
}

static void say_failed(const struct puppet_report *p, struct jig_result *r)
{
    SCOPED_BUF(b);
    buf_printf(&b, "%" PRIu64 " of %" PRIu64 " resources failed", p->failed, p->total);
    for (size_t i = 0; i < p->names_n; i++)
        buf_printf(&b, "%s%s", i ? ", " : ": ", p->names[i]);
    SAY(r, "%.250s", b.data);
}

static void puppet_judge(const struct task_request *req, const struct reach_end *end,
                         const char *last_line, struct arena *mem, struct jig_result *r)
{
    const char *key = value_as_text(value_get(req->params, "report"), NULL);
    struct puppet_report p;
    puppet_report_read(&p, end->result, mem);
    *r = (struct jig_result){.exit_code = end->status,
                             .outcome = end->status == 0 ? OUTCOME_OK : OUTCOME_FAILED};
    if (r->outcome == OUTCOME_FAILED && p.names_n)
        say_failed(&p, r);
    else if (r->outcome == OUTCOME_FAILED)
        program_failure_say(last_line, r);
    else if (!p.complete)
        SAY(r, "%sapplied, and nothing was reported", req->msg->no_op ? "no-op: " : "");
    else if (req->msg->no_op)
        SAY(r, "no-op: %" PRIu64 " of %" PRIu64 " resources would change", p.out_of_sync, p.total);
    else
        SAY(r,
            "%" PRIu64 " resources, %" PRIu64 " changed, %" PRIu64 " skipped, %" PRIu64
            " were out of sync, %.1f s",
            p.total, p.changed, p.skipped, p.out_of_sync, p.seconds);
    if (key && p.complete && !req->msg->no_op) {
        struct value *returns = value_map(mem);
        value_set(mem, returns, key, report_value(&p, mem));
        r->returns = returns;
    }
}

static int puppet_start(const struct jig_env *env, const struct task_request *req,
                        struct jig_run **ret_run, struct err *e)
{
    return program_run_start(puppet_step, puppet_judge, env, req, ret_run, e);
}

const struct jig jig_puppet = {
    .name = "puppet",
    .help = "applies params.manifest, or the file params.puppet_manifest, on the node by puppet",
    .check = puppet_check,
    .start = puppet_start,
    .cancel = program_run_cancel,
    .free = program_run_free,
    .step = puppet_step,
    .judge = puppet_judge,
    .tells = true,
    .programs = true,
};
