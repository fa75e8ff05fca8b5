/* kit_call.c - one call of a plugin that is being tested
 *
 * As a worker would call it, but for the runner: standard input, an environment from nothing, its
 * own directory.  A loop of its own lives as long as the call.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/kit_i.h"

#include <signal.h>
#include <stdio.h>

#include "sys/loop.h"
#include "sys/proc.h"

struct call {
    struct kit *kit;
    struct loop *loop;
    struct proc *proc;
    struct plugin_lines lines;
    struct buf errors; /* its standard error, for the last line */
    bool late;
    struct proc_exit end;
};

static void on_log(void *ctx, struct str text)
{
    (void)ctx;
    (void)text; /* in `heard` as it came */
}

static void on_output(void *arg, int fd, const char *p, size_t n)
{
    struct call *c = arg;
    if (c->kit->heard.len + n <= 2 * LINES_ALL_BYTES)
        buf_put(&c->kit->heard, p, n);
    if (fd == 2)
        buf_put(&c->errors, p, n);
    else if (!plugin_lines_feed(&c->lines, (struct str){p, n}))
        proc_signal(c->proc, SIGKILL);
}

static void on_late(void *arg)
{
    struct call *c = arg;
    c->late = true;
    proc_signal(c->proc, SIGKILL);
}

static void on_end(void *arg, const struct proc_exit *x)
{
    struct call *c = arg;
    c->end = *x;
    loop_stop(c->loop);
}

static const char *last_line(struct call *c)
{
    while (c->errors.len && strchr(" \r\n\t", c->errors.data[c->errors.len - 1]))
        c->errors.data[--c->errors.len] = '\0';
    const char *line = c->errors.len ? strrchr(c->errors.data, '\n') : NULL;
    return line ? line + 1 : buf_str(&c->errors).s;
}

void kit_call(struct kit *k, struct str input, uint64_t limit_ms, bool term, struct kit_heard *ret)
{
    const char *program = arena_printf(k->mem, "%s/%s", k->plugin->dir.s, k->plugin->executable.s);
    const char *argv[] = {program, NULL};
    const char *envp[] = {"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
                          "HOME=/", "LANG=C.UTF-8", NULL};
    struct call c = {.kit = k, .loop = loop_new()};
    struct loop_timer *late = loop_timer_new(c.loop, on_late, &c);
    struct proc_spec spec = {.argv = argv,
                             .envp = envp,
                             .cwd = k->plugin->dir.s,
                             .input = input,
                             .max_stdout = LINES_ALL_BYTES + 1,
                             .max_stderr = LINES_LINE_BYTES,
                             .on_output = on_output,
                             .on_exit = on_end,
                             .arg = &c};
    struct err e;
    *ret = (struct kit_heard){0};
    plugin_lines_init(&c.lines, k->mem, NULL, on_log, &c);
    if (proc_spawn(c.loop, &spec, &c.proc, &e) < 0) {
        ret->unstarted = true;
        ret->verdict.outcome = OUTCOME_FAILED;
        snprintf(ret->verdict.text, sizeof ret->verdict.text, "%.250s", e.text);
    } else {
        loop_timer_at(late, loop_now_ms(c.loop) + limit_ms);
        if (term)
            proc_signal(c.proc, SIGTERM);
        loop_run(c.loop);
        plugin_lines_end(&c.lines);
        ret->status = c.end.signo ? 128 + c.end.signo : c.end.code;
        ret->late = c.late;
        ret->strays = c.lines.fault[0] != '\0';
        ret->refused = c.lines.error || ret->status != 0;
        plugin_lines_judge(&c.lines, ret->status, last_line(&c), &ret->verdict);
        proc_free(c.proc);
    }
    loop_timer_free(late);
    plugin_lines_done(&c.lines);
    buf_done(&c.errors);
    loop_free(c.loop);
}
