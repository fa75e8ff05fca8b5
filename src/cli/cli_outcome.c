/* cli_outcome.c - what a request started, and how it ended
 *
 * An answer may be an operation, or carry the number of one, or be neither.  Who gave --wait
 * follows it to its end; the exit code then says how it ended: 0 well, 11 failed, 5 cancelled or
 * superseded.  Of a failure the last lines that each failed task wrote are shown, since they are
 * what everybody asks for next; where it wrote none, what its last attempt is noted to have ended
 * by.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli_i.h"

#include <inttypes.h>
#include <string.h>

#include "base/text.h"
#include "cli/progress_i.h"

enum { FAILED_SHOWN = 5, LOG_LINES = 5 };

int64_t cli_operation_of(const struct value *v)
{
    const struct value *op = value_get(v, "operation"), *asked = value_get(v, "asked");
    if (asked) /* of a noderole: the last operation that ran it need not be this one */
        return value_as_int(asked, 0);
    if (value_is(value_get(v, "progress"), VALUE_MAP))
        return value_as_int(value_get(v, "id"), 0);
    if (value_is(op, VALUE_MAP))
        return value_as_int(value_get(op, "id"), 0);
    return value_as_int(op, 0);
}

/* Left by a roll-out that stopped, not in ERROR. */
static bool serves_on(const struct value *left)
{
    const char *state = value_as_text(value_get(left, "state"), "ERROR");
    return strcmp(state, "ERROR") != 0;
}

static void left_put(struct buf *b, const struct value *left, bool serving)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < left->n; i++)
        n += serves_on(&left->items[i]) == serving;
    if (!n)
        return;
    buf_printf(b, "\n%s %s %s left as %s:", text_count(n, "noderole").s,
               serving ? "of a roll-out that stopped" : "in ERROR", n == 1 ? "is" : "are",
               n == 1 ? "it is" : "they are");
    for (uint32_t i = 0; i < left->n; i++) {
        const struct value *one = &left->items[i];
        if (serves_on(one) == serving)
            buf_printf(b, "\n  %s (%s): %s", value_as_text(value_get(one, "name"), "?"),
                       value_as_text(value_get(one, "reason"), ""),
                       value_as_text(value_get(one, "remedy"), ""));
    }
}

/* Who is in ERROR, or was left by a roll-out, and stays so whatever the request does, with the
 * command that helps. */
static const char *left_text(struct cli *c, const struct value *v)
{
    const struct value *left = value_get(v, "left");
    SCOPED_BUF(b);
    if (!value_is(left, VALUE_LIST) || left->n == 0)
        return "";
    left_put(&b, left, false);
    left_put(&b, left, true);
    return arena_strndup(&c->mem, b.data, b.len);
}

int cli_outcome(struct cli *c, const struct value *v, const char *name_path, const char *sentence,
                struct err *e)
{
    int64_t id = cli_operation_of(v);
    sentence = arena_printf(&c->mem, "%s%s", sentence, left_text(c, v));
    if (c->wait && id) {
        if (c->format == OUT_TABLE)
            cli_say(c, "%s", sentence);
        return cli_follow_operation(c, id, e);
    }
    if (id)
        cli_done(c, v, name_path, "%s\nfollow it with: anneal operation watch %" PRId64, sentence,
                 id);
    else
        cli_done(c, v, name_path, "%s", sentence);
    return 0;
}

/* The last lines of a text. */
static struct str tail_of(struct str s, int lines)
{
    while (s.n && s.s[s.n - 1] == '\n')
        s.n--;
    const char *p = s.s + s.n;
    while (p > s.s) {
        if (p[-1] == '\n' && --lines == 0)
            break;
        p--;
    }
    return (struct str){p, s.n - (size_t)(p - s.s)};
}

static void line_show(struct pen *pen, struct str line)
{
    pen_put(pen, STYLE_DIM, "    | ");
    pen_put(pen, STYLE_PLAIN, "%.*s", (int)line.n, line.s);
    pen_end(pen);
}

/* False: it wrote nothing. */
static bool log_tail(struct cli *c, struct pen *pen, const struct progress_task *t)
{
    SCOPED_ARENA(mem);
    struct str text;
    struct err ignored; /* a log that is gone must not hide the failure */
    char task[24], attempt[24];
    snprintf(task, sizeof task, "%" PRId64, t->id);
    snprintf(attempt, sizeof attempt, "%" PRId64, t->attempt);
    if (!t->attempt ||
        cli_get_text(c, &mem, http_path(&mem, "/v1/tasks/%s/attempts/%s/log", task, attempt), &text,
                     &ignored))
        return false;
    text = tail_of(text, LOG_LINES);
    bool any = text.n > 0;
    while (text.n) {
        const char *end = memchr(text.s, '\n', text.n);
        size_t n = end ? (size_t)(end - text.s) : text.n;
        line_show(pen, (struct str){text.s, n});
        n += end != NULL;
        text = (struct str){text.s + n, text.n - n};
    }
    return any;
}

static void note_show(struct cli *c, struct pen *pen, const struct progress_task *t)
{
    const struct value *v;
    struct err ignored; /* as above */
    char path[64];
    snprintf(path, sizeof path, "/v1/tasks/%" PRId64 "/attempts", t->id);
    if (!t->attempt || cli_get(c, path, &v, &ignored))
        return;
    const struct value *items = value_get(v, "items");
    for (uint32_t i = 0; value_is(items, VALUE_LIST) && i < items->n; i++) {
        struct str note = value_as_str(value_get(&items->items[i], "note"));
        if (value_as_int(value_get(&items->items[i], "number"), 0) == t->attempt && note.n)
            line_show(pen, note);
    }
}

static int failures_show(struct cli *c, int64_t id, struct err *e)
{
    SCOPED_BUF(b);
    const struct value *v;
    struct look look = cli_look(c, true);
    struct pen pen = {.b = &b, .look = &look};
    char path[64];
    snprintf(path, sizeof path, "/v1/tasks?state=FAILED&operation=%" PRId64, id);
    int rc = cli_get_list(c, &c->mem, path, FAILED_SHOWN, &v, e);
    if (rc)
        return rc;
    const struct value *items = value_get(v, "items");
    for (uint32_t i = 0; i < items->n; i++) {
        const struct progress_task t = progress_task_read(&c->mem, &items->items[i]);
        pen_put(&pen, STYLE_BAD, "task/%" PRId64, t.id);
        pen_put(&pen, STYLE_PLAIN, " %s%s%s", t.name, *t.node ? " on " : "", t.node);
        if (*t.reason)
            pen_put(&pen, STYLE_BAD, "  %s", t.reason);
        pen_end(&pen);
        if (!log_tail(c, &pen, &t))
            note_show(c, &pen, &t);
        pen_put(&pen, STYLE_BOLD, "  why:");
        pen_put(&pen, STYLE_PLAIN, " anneal why task/%" PRId64, t.id);
        pen_end(&pen);
    }
    int64_t total = value_as_int(value_get(v, "total"), 0);
    if (total > items->n) {
        pen_put(&pen, STYLE_DIM,
                "and %" PRId64 " more: anneal task list --state FAILED --operation "
                "%" PRId64,
                total - items->n, id);
        pen_end(&pen);
    }
    (void)fwrite(buf_str(&b).s, 1, b.len, c->env->err);
    return 0;
}

static int exit_of(const char *state)
{
    if (!strncmp(state, "succeeded",
                 9)) /* with tolerated failures too: that is what was asked for */
        return 0;
    return err_exit(strcmp(state, "failed") ? ERR_CONFLICT : ERR_FAILED);
}

int cli_report_operation(struct cli *c, int64_t id, struct err *e)
{
    const struct value *v;
    SCOPED_BUF(b);
    char text[24];
    snprintf(text, sizeof text, "%" PRId64, id);
    int rc = cli_get(c, http_path(&c->mem, "/v1/operations/%s", text), &v, e);
    if (rc)
        return rc;
    const struct progress_op op = progress_op_read(&c->mem, v);
    progress_summary(&b, &op);
    cli_done(c, v, "id", "%s", b.data);
    (void)fflush(c->env->out);
    c->exit = exit_of(op.state);
    if (op.failed && c->format != OUT_JSON)
        rc = failures_show(c, id, e);
    buf_clear(&b);
    progress_rollouts_put(&b, &op, "");
    if (b.len && c->format != OUT_JSON)
        (void)fwrite(b.data, 1, b.len, c->env->err);
    return rc;
}
