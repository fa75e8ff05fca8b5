/* shell_request.c - arguments, environment and input of a program
 *
 * The environment is built from nothing: the server's own may hold its secrets, and a task must not
 * depend on how the server was started.  Parameters and data reach the program as the very bytes
 * that the server sent, inside the document on standard input.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "jig/shell_i.h"

#define ADD(w, ...) vec_push((w), arena_printf(mem, __VA_ARGS__))

static void add_list(struct program_words *w, const struct value *list)
{
    for (uint32_t i = 0; list && i < list->n; i++)
        vec_push(w, list->items[i].s);
}

void shell_words_argv(struct program_words *w, struct arena *mem, const struct jig_run *run,
                      const struct task_request *req)
{
    program_words_runner(w, mem, run->env, run->lock_path, req, req->step, false);
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

void shell_words_env(struct program_words *w, struct arena *mem, const struct jig_run *run,
                     const struct task_request *req)
{
    program_words_env(w, mem, req, value_get(req->params, "env"));
    ADD(w, "ANNEAL_RESULT_FILE=%s", run->result_path);
    vec_push(w, NULL);
}

void shell_input_write(struct buf *b, const struct task_request *req)
{
    const struct taskmsg *m = req->msg;
    buf_puts(b, "{\"params\":");
    program_input_raw(b, m->params);
    buf_puts(b, ",\"data\":");
    program_input_raw(b, m->data);
    program_input_about(b, m);
    buf_puts(b, "}\n");
}
