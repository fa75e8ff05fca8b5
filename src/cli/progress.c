/* progress.c - operations drawn as bars, counts and the tasks that matter now
 *
 * What is shown of an operation, in this order as long as there are lines: its title, its bar,
 * tasks that failed, tasks that run.  Failures come first because they are what somebody will act
 * on.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/progress_i.h"

#include <string.h>

#include "base/text.h"
#include "cli/table_i.h"

enum { BAR_LEAST = 10, BAR_MOST = 40, TASKS_MOST = 8 };

static int64_t number_at(const struct value *v, const char *key, int64_t otherwise)
{
    return value_as_int(value_get(v, key), otherwise);
}

static const char *text_at(struct arena *mem, const struct value *v, const char *key)
{
    return arena_strdup(mem, value_as_text(value_get(v, key), ""));
}

static int64_t time_at(const struct value *v, const char *key)
{
    return time_parse(value_as_text(value_get(v, key), ""));
}

static struct progress_outcome outcome_read(struct arena *mem, const struct value *v)
{
    const struct value *list = value_get(v, "failures");
    const struct value *first = value_is(list, VALUE_LIST) && list->n ? &list->items[0] : NULL;
    const char *node = value_as_text(value_get(first, "node"), "");
    return (struct progress_outcome){
        .known = value_is(v, VALUE_MAP),
        .done = number_at(v, "done", 0),
        .failed = number_at(v, "failed", 0),
        .never_ran = number_at(v, "never_ran", 0),
        .undone = number_at(v, "undone", 0),
        .what = first ? arena_printf(mem, "%s%s%s", value_as_text(value_get(first, "name"), "?"),
                                     *node ? " on " : "", node)
                      : "",
    };
}

/* Those of its roll-outs that stopped. */
static void rollouts_read(struct arena *mem, const struct value *list, struct progress_op *op)
{
    uint32_t n = value_is(list, VALUE_LIST) ? list->n : 0;
    op->rollouts = arena_new(mem, struct progress_rollout, n);
    for (uint32_t i = 0; i < n; i++) {
        const struct value *v = &list->items[i];
        if (value_as_bool(value_get(v, "stopped"), false))
            op->rollouts[op->n_rollouts++] = (struct progress_rollout){
                .name = text_at(mem, v, "name"),
                .members = number_at(v, "members", 0),
                .failed = number_at(v, "failed", 0),
                .may_fail = number_at(v, "may_fail", 0),
                .left = number_at(v, "left", 0),
            };
    }
}

struct progress_op progress_op_read(struct arena *mem, const struct value *v)
{
    const struct value *p = value_get(v, "progress");
    struct progress_op op = {
        .id = number_at(v, "id", 0),
        .kind = text_at(mem, v, "kind"),
        .title = text_at(mem, v, "title"),
        .state = text_at(mem, v, "state"),
        .total = number_at(p, "total", 0),
        .done = number_at(p, "done", 0),
        .failed = number_at(p, "failed", 0),
        .running = number_at(p, "running", 0),
        .waiting = number_at(p, "waiting", 0),
        .ready = number_at(p, "ready", 0),
        .pending = number_at(p, "pending", 0),
        .cancelled = number_at(p, "cancelled", 0),
        .skipped = number_at(p, "skipped", 0),
        .percent = number_at(p, "percent", -1),
        .eta_ms = number_at(v, "eta_ms", -1),
        .created_ms = time_at(v, "created_at"),
        .ended_ms = time_at(v, "ended_at"),
        .held = value_as_bool(value_get(v, "held"), false),
        .outcome = outcome_read(mem, value_get(v, "outcome")),
        .rollback = text_at(mem, v, "rollback"),
    };
    if (op.outcome.known) { /* one way of counting: without stages, joins and what was kept */
        op.done = op.outcome.done;
        op.failed = op.outcome.failed;
        op.cancelled = op.outcome.never_ran;
        op.skipped = 0;
        op.total = op.done + op.failed + op.cancelled;
        op.percent = -1;
    }
    rollouts_read(mem, value_get(v, "rollouts"), &op);
    return op;
}

struct progress_task progress_task_read(struct arena *mem, const struct value *v)
{
    return (struct progress_task){
        .id = number_at(v, "id", 0),
        .operation = number_at(v, "operation", 0),
        .attempt = number_at(v, "attempt", 0),
        .name = text_at(mem, v, "name"),
        .node = text_at(mem, v, "node"),
        .state = text_at(mem, v, "state"),
        .reason = text_at(mem, v, "reason"),
        .started_ms = time_at(v, "started_at"),
    };
}

bool progress_op_ended(const struct progress_op *op)
{
    return strcmp(op->state, "running") != 0;
}

int progress_percent(const struct progress_op *op)
{
    int64_t done = op->done + op->skipped;
    if (op->percent >= 0)
        return (int)op->percent;
    if (op->total <= 0)
        return progress_op_ended(op) ? 100 : 0;
    return (int)(done >= op->total ? 100 : done * 100 / op->total);
}

static void heading_draw(struct pen *pen, const struct progress_op *op, int64_t now_ms)
{
    char age[16];
    pen_put(pen, STYLE_BOLD, "operation %lld", (long long)op->id);
    pen_put(pen, STYLE_PLAIN, "  %s", op->kind);
    if (*op->title && strcmp(op->title, op->kind) != 0)
        pen_put(pen, STYLE_PLAIN, "  %s", op->title);
    if (progress_op_ended(op))
        pen_put(pen, term_state_style(op->state), "  %s", op->state);
    if (op->held)
        pen_put(pen, STYLE_WARN, "  held");
    int64_t until = op->ended_ms >= 0 ? op->ended_ms : now_ms;
    if (op->created_ms >= 0 && until >= op->created_ms) {
        text_duration_show((uint64_t)(until - op->created_ms), age);
        pen_put(pen, STYLE_DIM, "  %s", age);
    }
    pen_end(pen);
}

static void bar_draw(struct pen *pen, const struct progress_op *op)
{
    const struct {
        int64_t n;
        const char *word;
        enum style style;
    } counts[] = {{op->running, "running", STYLE_BUSY},
                  {op->failed, "failed", STYLE_BAD},
                  {op->waiting, "waiting", STYLE_HOLD},
                  {op->ready, "ready", STYLE_HOLD},
                  {op->cancelled, op->outcome.known ? "never ran" : "cancelled", STYLE_WARN},
                  {op->pending, "pending", STYLE_DIM}};
    int width = pen->look->columns ? pen->look->columns / 3 : BAR_MOST;
    width = width < BAR_LEAST ? BAR_LEAST : width > BAR_MOST ? BAR_MOST : width;
    pen_put(pen, STYLE_PLAIN, "  ");
    pen_bar(pen, width, progress_percent(op) * op->total, op->failed * 100, op->total * 100);
    pen_put(pen, STYLE_BOLD, " %3d%%", progress_percent(op));
    pen_put(pen, STYLE_PLAIN, "  %lld/%lld", (long long)(op->done + op->skipped),
            (long long)op->total);
    if (op->eta_ms >= 0 && !progress_op_ended(op)) {
        char eta[16];
        text_duration_show((uint64_t)op->eta_ms, eta);
        pen_put(pen, STYLE_DIM, "  ETA %s", eta);
    }
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        if (counts[i].n)
            pen_put(pen, counts[i].style, "  %lld %s", (long long)counts[i].n, counts[i].word);
    pen_end(pen);
}

static void task_draw(struct pen *pen, const struct progress_task *t, bool failed, int64_t now_ms)
{
    const char *mark = pen->look->utf8 ? (failed ? "\u2717" : "\u25cf") : (failed ? "x" : "*");
    pen_put(pen, failed ? STYLE_BAD : STYLE_BUSY, "  %s ", mark);
    bool wide = !pen->look->columns || pen->look->columns >= 100;
    pen_put(pen, STYLE_PLAIN, "%s", t->name);
    pen_to(pen, wide ? 30 : 26);
    pen_put(pen, STYLE_PLAIN, "%s", t->node);
    pen_to(pen, wide ? 64 : 54);
    if (failed) {
        pen_put(pen, STYLE_BAD, "%s", *t->reason ? t->reason : "failed");
        pen_put(pen, STYLE_DIM, "  anneal why task/%lld", (long long)t->id);
    } else if (t->started_ms >= 0 && now_ms >= t->started_ms) {
        char age[16];
        text_duration_show((uint64_t)(now_ms - t->started_ms), age);
        pen_put(pen, STYLE_DIM, "%7s", age);
    }
    pen_end(pen);
}

static int op_tasks_draw(struct pen *pen, const struct progress_task *tasks, size_t n, int64_t op,
                         bool failed, int room, int64_t now_ms)
{
    int drawn = 0;
    for (size_t i = 0; i < n && drawn < room; i++)
        if (tasks[i].operation == op) {
            task_draw(pen, &tasks[i], failed, now_ms);
            drawn++;
        }
    return drawn;
}

/* "the roll-out of web stopped: 2 of 7 members failed, 0 may; 5 are left as they are".  Once some
 * of those that failed are put right, or another operation's, the figures are not those of its end.
 */
static void rollout_put(struct buf *b, const struct progress_rollout *r)
{
    const struct text_count members = text_count((uint64_t)r->members, "member");
    buf_printf(b, "the roll-out of %s stopped", r->name);
    if (r->failed > r->may_fail)
        buf_printf(b, ": %lld of %s failed, %lld may; ", (long long)r->failed, members.s,
                   (long long)r->may_fail);
    else
        buf_printf(b, "; of the %s that %s still its own, %lld failed and ", members.s,
                   r->members == 1 ? "is" : "are", (long long)r->failed);
    if (r->left)
        buf_printf(b, "%lld %s left as %s", (long long)r->left, r->left == 1 ? "is" : "are",
                   r->left == 1 ? "it is" : "they are");
    else
        buf_puts(b, "none was left to begin");
}

static bool any_left(const struct progress_op *op)
{
    for (size_t i = 0; i < op->n_rollouts; i++)
        if (op->rollouts[i].left)
            return true;
    return false;
}

void progress_rollouts_put(struct buf *b, const struct progress_op *op, const char *margin)
{
    for (size_t i = 0; i < op->n_rollouts; i++) {
        buf_puts(b, margin);
        rollout_put(b, &op->rollouts[i]);
        buf_putc(b, '\n');
    }
    if (!op->n_rollouts)
        return;
    if (any_left(op))
        buf_printf(b,
                   "%s  on with the rest:          anneal operation resume %lld [--failures N]\n",
                   margin, (long long)op->id);
    else
        buf_printf(b, "%s  on with who waits for it:  anneal operation resume %lld\n", margin,
                   (long long)op->id);
    buf_printf(b, "%s  the same with what failed: anneal operation retry %lld\n", margin,
               (long long)op->id);
    if (*op->rollback)
        buf_printf(b, "%s  back:                      %s\n", margin, op->rollback);
}

static void op_draw(struct pen *pen, const struct progress *p, const struct progress_op *op,
                    int room, int64_t now_ms)
{
    heading_draw(pen, op, now_ms);
    bar_draw(pen, op);
    if (op->n_rollouts && !progress_op_ended(op) && room > 0) {
        SCOPED_BUF(text);
        rollout_put(&text, &op->rollouts[0]);
        pen_put(pen, STYLE_WARN, "  %s", text.data);
        pen_end(pen);
        room--;
    }
    int drawn = op_tasks_draw(pen, p->failed, p->n_failed, op->id, true, (room + 1) / 2, now_ms);
    int left = room - drawn;
    int shown = op_tasks_draw(pen, p->running, p->n_running, op->id, false,
                              op->running > left ? left - 1 : left, now_ms);
    if (p->running && op->running > shown && left > shown) {
        pen_put(pen, STYLE_DIM, "    and %lld more running", (long long)(op->running - shown));
        pen_end(pen);
    }
}

void progress_draw(struct buf *b, const struct look *look, int lines, const struct progress *p,
                   int64_t now_ms)
{
    struct pen pen = {.b = b, .look = look};
    int used = 0;
    if (p->lost) {
        pen_put(&pen, STYLE_WARN, "%s; trying again", p->lost);
        pen_end(&pen);
        used++;
    }
    if (!p->n_ops && p->all) {
        pen_put(&pen, STYLE_DIM, "no open operations; waiting for the next one (Ctrl-C ends)");
        pen_end(&pen);
        return;
    }
    size_t fits = lines - used >= 4 ? (size_t)(lines - used - 1) / 2 : 1;
    size_t ops = p->n_ops < fits ? p->n_ops : fits;
    int spare = ops ? (lines - used - 1 - 2 * (int)ops) / (int)ops : 0;
    for (size_t i = 0; i < ops; i++)
        op_draw(&pen, p, &p->ops[i], spare < TASKS_MOST ? spare : TASKS_MOST, now_ms);
    if (ops < p->n_ops) {
        pen_put(&pen, STYLE_DIM, "and %s", text_count(p->n_ops - ops, "more operation").s);
        pen_end(&pen);
    }
}

void progress_line(struct buf *b, const struct progress_op *op)
{
    buf_printf(b, "operation %lld %s: %d%%, %lld of %s", (long long)op->id, op->state,
               progress_percent(op), (long long)(op->done + op->skipped),
               text_count((uint64_t)op->total, "task").s);
    if (op->running)
        buf_printf(b, ", %lld running", (long long)op->running);
    if (op->waiting)
        buf_printf(b, ", %lld waiting", (long long)op->waiting);
    if (op->failed)
        buf_printf(b, ", %lld failed", (long long)op->failed);
}

/* What failed, and what never ran; the undo is no progress. */
void progress_outcome_put(struct buf *b, const struct progress_outcome *o)
{
    int64_t total = o->done + o->failed + o->never_ran;
    buf_printf(b, "%lld of %s done", (long long)o->done, text_count((uint64_t)total, "task").s);
    if (o->failed)
        buf_printf(b, ", %lld failed", (long long)o->failed);
    if (*o->what && o->failed > 1)
        buf_printf(b, " (%s, and %lld more)", o->what, (long long)(o->failed - 1));
    else if (*o->what)
        buf_printf(b, " (%s)", o->what);
    if (o->never_ran)
        buf_printf(b, ", %lld never ran", (long long)o->never_ran);
    if (o->undone)
        buf_printf(b, ", %lld undone", (long long)o->undone);
}

void progress_summary(struct buf *b, const struct progress_op *op)
{
    bool well = !strcmp(op->state, "succeeded");
    buf_printf(b, "operation %lld %s", (long long)op->id, op->state);
    if (op->created_ms >= 0 && op->ended_ms >= op->created_ms) {
        char took[16];
        text_duration_show((uint64_t)(op->ended_ms - op->created_ms), took);
        buf_printf(b, " %s %s", well ? "in" : "after", took);
    }
    if (op->outcome.known) {
        buf_puts(b, ": ");
        progress_outcome_put(b, &op->outcome);
        return;
    }
    if (!strcmp(op->state, "superseded")) { /* of what was taken over it has no figures */
        buf_printf(b, ": %s done, a later one took over the rest",
                   text_count((uint64_t)(op->done + op->skipped), "task").s);
        return;
    }
    if (well)
        buf_printf(b, ": %s", text_count((uint64_t)op->total, "task").s);
    else
        buf_printf(b, ": %lld of %s done", (long long)(op->done + op->skipped),
                   text_count((uint64_t)op->total, "task").s);
    if (op->failed)
        buf_printf(b, ", %lld failed", (long long)op->failed);
    if (op->cancelled)
        buf_printf(b, ", %lld cancelled", (long long)op->cancelled);
}
