/* shell_request.c - arguments, environment and input of a program
 *
 * The environment is built from nothing: the server's own may hold its secrets, and a task must not
 * depend on how the server was started.  Parameters and data reach the program as the very bytes
 * that the server sent, inside the document on standard input.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/json.h"
#include "jig/shell_i.h"

#define ADD(w, ...) vec_push((w), arena_printf(mem, __VA_ARGS__))

static void add_list(struct shell_words *w, const struct value *list)
{
    for (uint32_t i = 0; list && i < list->n; i++)
        vec_push(w, list->items[i].s);
}

void shell_words_argv(struct shell_words *w, struct arena *mem, const struct jig_run *run,
                      const struct task_request *req)
{
    vec_push(w, run->env->runner);
    vec_push(w, "--lock");
    vec_push(w, run->lock_path);
    vec_push(w, "--task");
    ADD(w, "%" PRIu32, req->msg->task);
    vec_push(w, "--attempt");
    ADD(w, "%" PRIu32, req->msg->attempt);
    vec_push(w, "--ask");
    ADD(w, "%" PRIu32, req->msg->ask);
    vec_push(w, "--step");
    ADD(w, "%" PRIu32, req->step);
    vec_push(w, "--grace");
    ADD(w, "%" PRIu64, req->msg->grace_ms < UINT32_MAX ? req->msg->grace_ms : UINT32_MAX);
    vec_push(w, "--parent");
    ADD(w, "%d", (int)getpid());
    vec_push(w, "--");
    switch (run->form) {
    case SHELL_COMMAND: add_list(w, value_get(req->params, "command")); break;
    case SHELL_SCRIPT:
        vec_push(w, "/bin/sh");
        vec_push(w, run->script_path);
        break;
    case SHELL_FILE:
        vec_push(w, value_as_text(value_get(req->params, "file"), ""));
        add_list(w, value_get(req->params, "args"));
        break;
    }
    vec_push(w, NULL);
}

void shell_words_env(struct shell_words *w, struct arena *mem, const struct jig_run *run,
                     const struct task_request *req)
{
    static const struct {
        const char *name, *otherwise;
    } ours[] = {{"PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"},
                {"HOME", "/"},
                {"LANG", "C.UTF-8"},
                {"TZ", NULL},
                {"TMPDIR", NULL},
                {"USER", NULL},
                {"LOGNAME", NULL}};
    const struct value *env = value_get(req->params, "env");
    const struct taskmsg *m = req->msg;
    for (size_t i = 0; i < sizeof ours / sizeof ours[0]; i++) {
        const char *value = getenv(ours[i].name);
        value = value ? value : ours[i].otherwise;
        if (value && !value_get(env, ours[i].name))
            ADD(w, "%s=%s", ours[i].name, value);
    }
    for (uint32_t i = 0; env && i < env->n; i++)
        ADD(w, "%s=%s", env->members[i].key, env->members[i].v.s);
    ADD(w, "ANNEAL_TASK=%" PRIu32, m->task);
    ADD(w, "ANNEAL_ATTEMPT=%" PRIu32, m->attempt);
    ADD(w, "ANNEAL_ASK=%" PRIu32, m->ask);
    ADD(w, "ANNEAL_KEY=%.*s", (int)m->key.n, m->key.n ? m->key.s : "");
    ADD(w, "ANNEAL_NODE=%.*s", (int)m->node.n, m->node.n ? m->node.s : "");
    ADD(w, "ANNEAL_ADDRESS=%.*s", (int)m->address.n, m->address.n ? m->address.s : "");
    ADD(w, "ANNEAL_RESULT_FILE=%s", run->result_path);
    vec_push(w, NULL);
}

static void put_raw(struct buf *b, struct str json)
{
    if (json.n)
        buf_put(b, json.s, json.n);
    else
        buf_puts(b, "{}");
}

void shell_input_write(struct buf *b, const struct task_request *req)
{
    const struct taskmsg *m = req->msg;
    struct jsonw w;
    buf_puts(b, "{\"params\":");
    put_raw(b, m->params);
    buf_puts(b, ",\"data\":");
    put_raw(b, m->data);
    buf_puts(b, ",\"task\":");
    jsonw_init(&w, b);
    jsonw_map(&w);
    jsonw_key(&w, "id");
    jsonw_u64(&w, m->task);
    jsonw_key(&w, "name");
    jsonw_str(&w, m->name);
    jsonw_key(&w, "attempt");
    jsonw_u64(&w, m->attempt);
    jsonw_key(&w, "ask");
    jsonw_u64(&w, m->ask);
    jsonw_key(&w, "key");
    jsonw_str(&w, m->key);
    jsonw_end(&w);
    buf_puts(b, ",\"node\":");
    jsonw_init(&w, b);
    jsonw_map(&w);
    jsonw_key(&w, "name");
    jsonw_str(&w, m->node);
    jsonw_key(&w, "address");
    jsonw_str(&w, m->address);
    jsonw_end(&w);
    buf_puts(b, "}\n");
}
