/* cmd_task.c - tasks, their attempts, and what those wrote */
/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli_i.h"

#include <inttypes.h>
#include <poll.h>
#include <string.h>

#include "cli/table_i.h"

static const struct field task_columns[] = {
    {"ID", "id", SHOW_TEXT, COLUMN_RIGHT},
    {"TASK", "name", SHOW_TEXT, COLUMN_SHRINK},
    {"ROLE", "role", SHOW_TEXT, COLUMN_SHRINK},
    {"NODE", "node", SHOW_TEXT, COLUMN_SHRINK},
    {"STATE", "state", SHOW_STATE, 0},
    {"REASON", "reason", SHOW_TEXT, 0},
    {"OPERATION", "operation", SHOW_TEXT, COLUMN_RIGHT},
    {"ATTEMPT", "attempt", SHOW_TEXT, COLUMN_RIGHT},
    {"STARTED", "started_at", SHOW_AGE, COLUMN_RIGHT},
    {"LEFT OUT", "left_out", SHOW_TEXT, COLUMN_WIDE},
    {"JIG", "jig", SHOW_TEXT, COLUMN_WIDE},
    {"REPEAT", "repeat", SHOW_TEXT, COLUMN_WIDE},
    {"WAITS ON", "waiting_on", SHOW_TEXT, COLUMN_RIGHT | COLUMN_WIDE},
    {0},
};
static const struct field task_sheet[] = {
    {"task", "id", SHOW_TEXT, 0},
    {"name", "name", SHOW_TEXT, 0},
    {"role", "role", SHOW_TEXT, 0},
    {"node", "node", SHOW_TEXT, 0},
    {"noderole", "noderole", SHOW_TEXT, 0},
    {"operation", "operation", SHOW_TEXT, 0},
    {"state", "state", SHOW_STATE, 0},
    {"reason", "reason", SHOW_TEXT, 0},
    {"left out", "left_out", SHOW_TEXT, 0},
    {"jig", "jig", SHOW_TEXT, 0},
    {"repeat", "repeat", SHOW_TEXT, 0},
    {"attempt", "attempt", SHOW_TEXT, 0},
    {"retries", "retries", SHOW_TEXT, 0},
    {"retried", "tries", SHOW_TEXT, 0},
    {"depends on", "deps", SHOW_LIST, 0},
    {"waits on", "waiting_on", SHOW_TEXT, 0},
    {"started", "started_at", SHOW_TIME, 0},
    {"deadline", "deadline_at", SHOW_TEXT, 0},
    {"wakes", "wake_at", SHOW_TEXT, 0},
    {"note", "note", SHOW_TEXT, 0},
    {"revision", "rev", SHOW_TEXT, 0},
    {0},
};
static const struct field attempt_columns[] = {
    {"ATTEMPT", "number", SHOW_TEXT, COLUMN_RIGHT},
    {"OUTCOME", "outcome", SHOW_STATE, 0},
    {"PHASE", "phase", SHOW_TEXT, 0},
    {"EXIT", "exit_code", SHOW_TEXT, COLUMN_RIGHT},
    {"NODE", "node", SHOW_TEXT, COLUMN_SHRINK},
    {"STARTED", "started_at", SHOW_AGE, COLUMN_RIGHT},
    {"ENDED", "ended_at", SHOW_AGE, COLUMN_RIGHT},
    {"ASKS", "asks", SHOW_TEXT, COLUMN_RIGHT},
    {"SUPERSEDED", "superseded", SHOW_ODD, COLUMN_WIDE},
    {"GENERATION", "generation", SHOW_TEXT, COLUMN_RIGHT | COLUMN_WIDE},
    {"NOTE", "note", SHOW_TEXT, COLUMN_SHRINK},
    {0},
};

int cmd_task_list(struct cli *c, struct err *e)
{
    static const char *const filters[] = {"state", "node", "operation", "noderole", NULL};
    return cli_list(c, "/v1/tasks", filters, task_columns, "id", "tasks", e);
}

static const char *attempts_path(struct cli *c)
{
    return http_path(&c->mem, "/v1/tasks/%s/attempts", cli_arg(c, 0));
}

int cmd_task_show(struct cli *c, struct err *e)
{
    const struct value *v, *attempts;
    int rc = cli_get(c, http_path(&c->mem, "/v1/tasks/%s", cli_arg(c, 0)), &v, e);
    if (rc || !cli_print_sheet(c, v, task_sheet, "id"))
        return rc;
    if ((rc = cli_get_list(c, &c->mem, attempts_path(c), UINT32_MAX, &attempts, e)))
        return rc;
    cli_print_section(c, "attempts", value_get(attempts, "items"), attempt_columns);
    return 0;
}

int cmd_task_attempts(struct cli *c, struct err *e)
{
    return cli_list(c, attempts_path(c), NULL, attempt_columns, "number", "attempts", e);
}

/* done: "task ID %s". */
static int task_post(struct cli *c, const char *verb, const struct value *body, const char *done,
                     struct err *e)
{
    const struct value *v = NULL;
    const char *id = cli_arg(c, 0);
    int rc = cli_send(c, "POST", http_path(&c->mem, "/v1/tasks/%s/%s", id, verb), body, &v, e);
    return rc ? rc : cli_outcome(c, v, "id", arena_printf(&c->mem, "task %s %s", id, done), e);
}

int cmd_task_retry(struct cli *c, struct err *e)
{
    return task_post(c, "retry", NULL, "runs again", e);
}

int cmd_task_poke(struct cli *c, struct err *e)
{
    return task_post(c, "poke", NULL, "is asked again", e);
}

int cmd_task_resolve(struct cli *c, struct err *e)
{
    struct value *body = value_map(&c->mem);
    const char *outcome = cli_arg_word(c, 1);
    value_put_text(&c->mem, body, "outcome", outcome);
    return task_post(c, "resolve", body, arena_printf(&c->mem, "is resolved: %s", outcome), e);
}

/* --- log --- */

enum { LOSSES_MOST = 4, LOSS_PAUSE_MS = 50 };

struct log_out {
    struct cli *c;
    bool clean;      /* to a terminal */
    uint64_t from;   /* bytes of the log that were seen */
    struct buf tail; /* a character or sequence that is not complete yet */
};

/* How many bytes at the end may be the beginning of something longer: a colour sequence or a
 * character. */
static size_t sequence_open(const char *p, size_t n)
{
    for (size_t back = 1; back <= n && back <= 16; back++) {
        unsigned char ch = (unsigned char)p[n - back];
        if (ch == 033)
            return memchr(p + n - back, 'm', back) ? 0 : back;
        if (ch >= 0xc0 && back < 4)
            return back < (ch >= 0xf0 ? 4u : ch >= 0xe0 ? 3u : 2u) ? back : 0;
        if (ch == '\n')
            return 0;
    }
    return 0;
}

static int log_write(void *arg, const char *p, size_t n, struct err *e)
{
    struct log_out *o = arg;
    FILE *out = o->c->env->out;
    o->from += n;
    if (!o->clean) {
        if (fwrite(p, 1, n, out) != n)
            return err_set(e, ERR_IO, "the log cannot be written: %m");
    } else {
        SCOPED_BUF(b);
        buf_put(&o->tail, p, n);
        size_t keep = sequence_open(o->tail.data, o->tail.len), whole = o->tail.len - keep;
        term_clean(&b, o->tail.data, whole, TERM_LINES | TERM_COLORS);
        (void)fwrite(buf_str(&b).s, 1, b.len, out);
        memmove(o->tail.data, o->tail.data + whole, keep);
        o->tail.len = keep;
    }
    (void)fflush(out);
    return 0;
}

static const char *log_path(struct cli *c, const char *attempt, uint64_t from, bool follow)
{
    SCOPED_BUF(path);
    char text[24];
    buf_puts(&path, http_path(&c->mem, "/v1/tasks/%s/attempts/%s/log", cli_arg(c, 0), attempt));
    snprintf(text, sizeof text, "%" PRIu64, from);
    http_query(&path, "from", from ? text : NULL);
    http_query(&path, "follow", follow ? "true" : NULL);
    return arena_strdup(&c->mem, path.data);
}

/* Follows to the end of the attempt.  A task may be silent for hours: silence only renews the
 * connection, and so does a loss, a few times in a row; either goes on where it was. */
static int log_follow(struct log_out *o, const char *attempt, struct err *e)
{
    for (int losses = 0;;) {
        SCOPED(http_stream) *s = NULL;
        const struct http_request q = {.method = "GET",
                                       .path = log_path(o->c, attempt, o->from, true),
                                       .accept = "text/plain"};
        uint64_t before = o->from;
        int rc = http_stream_open(o->c->http, &q, log_write, o, &s, e);
        if (!rc)
            while ((rc = http_stream_wait(s, -1, e)) > 0)
                ;
        if (rc == -ERR_TIMEOUT)
            continue;
        losses = o->from > before ? 1 : losses + 1;
        if (rc != -ERR_UNREACHABLE || losses > LOSSES_MOST)
            return rc;
        (void)poll(NULL, 0, LOSS_PAUSE_MS << losses);
    }
}

static int attempt_last(struct cli *c, const char **ret_n, struct err *e)
{
    const struct value *v;
    int64_t last = 0;
    int rc = cli_get_list(c, &c->mem, attempts_path(c), UINT32_MAX, &v, e);
    if (rc)
        return rc;
    const struct value *items = value_get(v, "items");
    for (uint32_t i = 0; i < items->n; i++) {
        int64_t n = value_as_int(value_get(&items->items[i], "number"), 0);
        last = n > last ? n : last;
    }
    if (!last) {
        err_set(e, ERR_NOT_FOUND, "task %s has not been attempted yet", cli_arg(c, 0));
        return err_hint(e, "`anneal why task/%s` says what it waits for", cli_arg(c, 0));
    }
    *ret_n = arena_printf(&c->mem, "%" PRId64, last);
    return 0;
}

/* The whole log, or its last bytes from the start of a line on. */
static int log_print(struct log_out *o, const char *attempt, struct err *e)
{
    struct str text;
    uint64_t most = cli_number(o->c, "tail", UINT64_MAX);
    int rc = cli_get_text(o->c, &o->c->mem, log_path(o->c, attempt, 0, false), &text, e);
    if (rc)
        return rc;
    size_t skip = text.n > most ? text.n - (size_t)most : 0;
    while (skip && skip < text.n && text.s[skip - 1] != '\n')
        skip++;
    o->from = skip;
    return log_write(o, text.s + skip, text.n - skip, e);
}

int cmd_task_log(struct cli *c, struct err *e)
{
    struct log_out o = {.c = c, .clean = c->env->out_tty};
    const char *attempt = cli_option(c, "attempt");
    bool follow = cli_has(c, "follow");
    int rc = cli_connect(c, e);
    if (!rc && !attempt)
        rc = attempt_last(c, &attempt, e);
    if (!rc && (!follow || cli_has(c, "tail")))
        rc = log_print(&o, attempt, e);
    if (!rc && follow)
        rc = log_follow(&o, attempt, e);
    if (o.tail.len) {
        SCOPED_BUF(b);
        term_clean(&b, o.tail.data, o.tail.len, TERM_LINES);
        cli_put(c, &b);
    }
    buf_done(&o.tail);
    return rc;
}
