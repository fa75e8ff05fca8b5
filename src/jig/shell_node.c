/* shell_node.c - programs of the jigs shell and script on the node of their task
 *
 * What a program gets and may answer is as on the worker's own machine (jig_shell.c); the runner on
 * the node makes the environment and keeps what was returned (reach/reach.h).
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>

#include "base/json.h"
#include "jig/shell_i.h"

static const char *const *words_of(struct arena *mem, const char *first, const struct value *rest)
{
    uint32_t n = rest ? rest->n : 0, at = 0;
    const char **argv = arena_new(mem, const char *, n + 2);
    if (first)
        argv[at++] = first;
    for (uint32_t i = 0; i < n; i++)
        argv[at++] = rest->items[i].s;
    return argv;
}

static void add(struct reach_variable *env, size_t *n, const char *name, const char *value)
{
    env[(*n)++] = (struct reach_variable){name, value};
}

static void step_env(const struct task_request *req, struct arena *mem, struct reach_step *s)
{
    const struct value *own = value_get(req->params, "env");
    const struct taskmsg *m = req->msg;
    struct reach_variable *env = arena_new(mem, struct reach_variable, (own ? own->n : 0) + 8);
    for (uint32_t i = 0; own && i < own->n; i++)
        add(env, &s->env_n, own->members[i].key, own->members[i].v.s);
    add(env, &s->env_n, "ANNEAL_TASK", arena_printf(mem, "%" PRIu32, m->task));
    add(env, &s->env_n, "ANNEAL_ATTEMPT", arena_printf(mem, "%" PRIu32, m->attempt));
    add(env, &s->env_n, "ANNEAL_ASK", arena_printf(mem, "%" PRIu32, m->ask));
    add(env, &s->env_n, "ANNEAL_KEY", arena_strndup(mem, m->key.s, m->key.n));
    add(env, &s->env_n, "ANNEAL_NODE", arena_strndup(mem, m->node.s, m->node.n));
    add(env, &s->env_n, "ANNEAL_ADDRESS", arena_strndup(mem, m->address.s, m->address.n));
    s->env = env;
}

static void step_common(const struct task_request *req, struct arena *mem, struct reach_step *s)
{
    SCOPED_BUF(input);
    step_env(req, mem, s);
    s->cwd = value_as_text(value_get(req->params, "cwd"), NULL);
    shell_input_write(&input, req);
    s->input = (struct str){arena_strndup(mem, input.data, input.len), input.len};
}

int shell_step(const struct task_request *req, struct arena *mem, struct reach_step *ret_s,
               struct err *e)
{
    const struct value *script = value_get(req->params, "script");
    (void)e;
    ret_s->kind = script ? REACH_SCRIPT : REACH_ARGV;
    if (script)
        ret_s->script = value_as_str(script);
    else
        ret_s->argv = words_of(mem, NULL, value_get(req->params, "command"));
    step_common(req, mem, ret_s);
    return 0;
}

int script_step(const struct task_request *req, struct arena *mem, struct reach_step *ret_s,
                struct err *e)
{
    (void)e;
    ret_s->kind = REACH_ARGV;
    ret_s->argv = words_of(mem, value_as_text(value_get(req->params, "file"), ""),
                           value_get(req->params, "args"));
    step_common(req, mem, ret_s);
    return 0;
}

void shell_judge(const struct task_request *req, const struct reach_end *end, const char *last_line,
                 struct arena *mem, struct jig_result *r)
{
    (void)req;
    shell_status_judge(end->status, end->result, last_line, mem, r);
}
