/* cli_follow.c - operations as they go on
 *
 * Events say when to look, requests say what is there: an event makes the picture dirty, and a
 * dirty picture is fetched again, at most every FETCH_GAP_MS however many events come, but at once
 * when an event speaks of the very operation that is followed: that is its end.  The picture
 * is fetched once more when a subscription stands, so that nothing between the first look and the
 * subscription is missed, and again after each loss.  On a terminal frames are redrawn in place;
 * elsewhere changes are lines.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli_i.h"

#include <inttypes.h>
#include <string.h>

#include "base/text.h"
#include "cli/progress_i.h"

enum {
    FETCH_GAP_MS = 250,
    REDRAW_MS = 1000,   /* ages go on while nothing happens */
    LINE_GAP_MS = 1000, /* between two lines about one operation */
    RECHECK_MS = 60000, /* a look without an event, in case one was lost */
    RUNNING_MOST = 200,
    FAILED_MOST = 20,
};

struct follow {
    struct cli *c;
    int64_t id; /* 0: all open ones */
    FILE *to;
    bool live;
    struct painter painter;
    struct arena mem; /* of the picture */
    struct progress now;
    bool dirty;
    bool urgent; /* dirty, and by what is waited for */
    char lost[512];
    uint64_t fetched_ms, drawn_ms, lined_ms;
    struct buf line; /* the last one written */
};

static uint64_t clock_of(const struct follow *f)
{
    return f->c->env->clock_ms(f->c->env->arg);
}

/* --- looking --- */

static struct progress_task *tasks_read(struct arena *mem, const struct value *list, size_t *ret_n)
{
    const struct value *items = value_get(list, "items");
    size_t n = value_is(items, VALUE_LIST) ? items->n : 0;
    struct progress_task *t = arena_new(mem, struct progress_task, n);
    for (size_t i = 0; i < n; i++)
        t[i] = progress_task_read(mem, &items->items[i]);
    *ret_n = n;
    return t;
}

static int tasks_fetch(struct follow *f, const char *state, uint64_t most,
                       struct progress_task **ret_t, size_t *ret_n, struct err *e)
{
    SCOPED_BUF(path);
    const struct value *v;
    char id[24];
    snprintf(id, sizeof id, "%" PRId64, f->id);
    buf_puts(&path, "/v1/tasks");
    http_query(&path, "state", state);
    http_query(&path, "operation", f->id ? id : NULL);
    int rc = cli_get_list(f->c, &f->mem, path.data, most, &v, e);
    if (!rc)
        *ret_t = tasks_read(&f->mem, v, ret_n);
    return rc;
}

static int ops_fetch(struct follow *f, struct progress *p, struct err *e)
{
    const struct value *v;
    int rc;
    if (f->id) {
        char id[24];
        snprintf(id, sizeof id, "%" PRId64, f->id);
        if ((rc = cli_get_in(f->c, &f->mem, http_path(&f->mem, "/v1/operations/%s", id), &v, e)))
            return rc;
        p->ops = arena_new(&f->mem, struct progress_op, 1);
        p->ops[0] = progress_op_read(&f->mem, v);
        p->n_ops = 1;
        return 0;
    }
    if ((rc = cli_get_list(f->c, &f->mem, "/v1/operations?state=running", UINT32_MAX, &v, e)))
        return rc;
    const struct value *items = value_get(v, "items");
    p->ops = arena_new(&f->mem, struct progress_op, items->n);
    for (uint32_t i = 0; i < items->n; i++) {
        const struct progress_op op = progress_op_read(&f->mem, &items->items[i]);
        if (op.running + op.waiting + op.ready + op.pending || strcmp(op.kind, "standing") != 0)
            p->ops[p->n_ops++] = op; /* the standing one is always open, and mostly idle */
    }
    return 0;
}

static int picture_fetch(struct follow *f, struct progress *ret_p, struct err *e)
{
    struct progress p = {.all = !f->id};
    bool running = false, failed = false;
    int rc = ops_fetch(f, &p, e);
    for (size_t i = 0; i < p.n_ops && !rc; i++) {
        running |= p.ops[i].running > 0;
        failed |= p.ops[i].failed > 0;
    }
    if (!rc && running && f->live) /* lines show counts only */
        rc = tasks_fetch(f, "RUNNING", RUNNING_MOST, &p.running, &p.n_running, e);
    if (!rc && failed && f->live)
        rc = tasks_fetch(f, "FAILED", FAILED_MOST, &p.failed, &p.n_failed, e);
    if (!rc)
        *ret_p = p;
    return rc;
}

/* --- showing --- */

static void screen_send(struct follow *f, struct buf *b)
{
    (void)fwrite(buf_str(b).s, 1, b->len, f->to);
    (void)fflush(f->to);
}

static void frame_show(struct follow *f)
{
    SCOPED_BUF(frame);
    SCOPED_BUF(out);
    struct look look = cli_look(f->c, f->to == f->c->env->err);
    int columns, lines;
    f->c->env->size(f->c->env->arg, &columns, &lines);
    f->now.lost = f->lost[0] ? f->lost : NULL;
    progress_draw(&frame, &look, lines - 1, &f->now, f->c->env->wall_ms(f->c->env->arg));
    painter_paint(&f->painter, &out, buf_str(&frame).s, columns);
    screen_send(f, &out);
    f->drawn_ms = clock_of(f);
}

/* A line that stays, above the frame if there is one. */
static void lasting_show(struct follow *f, const char *text)
{
    SCOPED_BUF(out);
    painter_clear(&f->painter, &out);
    buf_printf(&out, "%s\n", text);
    screen_send(f, &out);
}

static void lines_show(struct follow *f)
{
    uint64_t now = clock_of(f);
    SCOPED_BUF(all);
    for (size_t i = 0; i < f->now.n_ops; i++) {
        buf_puts(&all, i ? "\n" : "");
        progress_line(&all, &f->now.ops[i]);
    }
    if (!all.len || str_eq(buf_str(&all), buf_str(&f->line)) ||
        (f->line.len && now - f->lined_ms < LINE_GAP_MS))
        return;
    lasting_show(f, all.data);
    buf_clear(&f->line);
    buf_put(&f->line, all.data, all.len);
    f->lined_ms = now;
}

static void picture_show(struct follow *f)
{
    if (f->c->quiet)
        return;
    if (f->live)
        frame_show(f);
    else
        lines_show(f);
}

/* Operations of the old picture that the new one no longer has: they ended, and how is worth a
 * line. */
static void ended_show(struct follow *f, const struct progress *old, const struct progress *new)
{
    for (size_t i = 0; i < old->n_ops; i++) {
        size_t k = 0;
        while (k < new->n_ops &&new->ops[k].id != old->ops[i].id)
            k++;
        if (k < new->n_ops || !strcmp(old->ops[i].kind, "standing"))
            continue;
        SCOPED_ARENA(mem);
        SCOPED_BUF(b);
        struct err e;
        const struct value *v;
        char id[24];
        snprintf(id, sizeof id, "%" PRId64, old->ops[i].id);
        if (cli_get_in(f->c, &mem, http_path(&mem, "/v1/operations/%s", id), &v, &e))
            continue; /* gone; nothing to say */
        const struct progress_op op = progress_op_read(&mem, v);
        progress_summary(&b, &op);
        lasting_show(f, b.data);
    }
}

static int picture_renew(struct follow *f, struct err *e)
{
    struct arena old_mem = f->mem;
    struct progress old = f->now, new;
    arena_init(&f->mem);
    f->fetched_ms = clock_of(f);
    f->dirty = f->urgent =
        false; /* before the look: an event that comes meanwhile asks for another */
    int rc = picture_fetch(f, &new, e);
    if (rc) {
        f->dirty = true;
        arena_done(&f->mem);
        f->mem = old_mem;
        return rc;
    }
    if (!f->id && !f->c->quiet)
        ended_show(f, &old, &new);
    arena_done(&old_mem);
    f->now = new;
    picture_show(f);
    return 0;
}

/* --- waiting --- */

static int follow_event(void *arg, const struct http_event *ev, struct err *e)
{
    struct follow *f = arg;
    char change[64];
    (void)e;
    f->dirty = true;
    /* A word that looks so and is none costs a look more. */
    snprintf(change, sizeof change, "\"object\":\"operation\",\"id\":%" PRId64 ",", f->id);
    f->urgent |= f->id && strstr(ev->data.s, change);
    return 0;
}

static void follow_state(void *arg, const struct err *lost)
{
    struct follow *f = arg;
    snprintf(f->lost, sizeof f->lost, "%s", lost ? lost->text : "");
    f->dirty |= !lost;
    if (lost && f->live)
        picture_show(f);
    else if (lost && !f->c->quiet)
        lasting_show(f, lost->text);
}

static bool follow_ended(const struct follow *f)
{
    return f->id && f->now.n_ops && progress_op_ended(&f->now.ops[0]);
}

static int wait_of(const struct follow *f, uint64_t now, uint64_t deadline)
{
    uint64_t ms = f->live ? REDRAW_MS : RECHECK_MS;
    if (f->urgent)
        ms = 0;
    else if (f->dirty)
        ms = now - f->fetched_ms < FETCH_GAP_MS ? FETCH_GAP_MS - (now - f->fetched_ms) : 0;
    if (deadline && deadline - now < ms)
        ms = deadline - now;
    return (int)ms;
}

static int follow_timeout(const struct follow *f, struct err *e)
{
    char took[16];
    text_duration_show(f->c->wait_ms, took);
    err_set(e, ERR_TIMEOUT, "operation %" PRId64 " has not ended within %s; it goes on", f->id,
            took);
    return err_hint(e, "`anneal operation watch %" PRId64 "` follows it", f->id);
}

static int follow_loop(struct follow *f, struct http_events *events, struct err *e)
{
    uint64_t deadline = f->c->wait_ms ? clock_of(f) + f->c->wait_ms : 0;
    while (!follow_ended(f)) {
        uint64_t now = clock_of(f);
        int rc = 0;
        if (deadline && now >= deadline)
            return follow_timeout(f, e);
        if (now - f->fetched_ms >= RECHECK_MS)
            f->dirty = true;
        if (f->urgent || (f->dirty && now - f->fetched_ms >= FETCH_GAP_MS))
            rc = picture_renew(f, e);
        else if (f->live && now - f->drawn_ms >= REDRAW_MS)
            picture_show(f);
        if (rc && rc != -ERR_UNREACHABLE && rc != -ERR_BUSY) /* those two: the events will tell */
            return rc;
        if (follow_ended(f))
            break;
        if ((rc = http_events_wait(events, wait_of(f, clock_of(f), deadline), e)) < 0)
            return rc;
        if (rc == 0)
            return f->id ? err_set(e, ERR_UNREACHABLE, "%s sends no more events",
                                   http_base(f->c->http))
                         : 0;
    }
    return 0;
}

static int follow_run(struct follow *f, struct err *e)
{
    SCOPED(http_events) *events = NULL;
    int rc = picture_renew(f, e);
    if (rc || follow_ended(f))
        return rc;
    const struct http_events_options o = {
        .path = "/v1/events", .fn = follow_event, .state = follow_state, .arg = f};
    if ((rc = http_events_open(f->c->http, &o, &events, e)))
        return rc;
    return follow_loop(f, events, e);
}

static int follow_do(struct follow *f, struct err *e)
{
    const struct cli_env *env = f->c->env;
    SCOPED_BUF(out);
    arena_init(&f->mem);
    if (f->live && env->live)
        env->live(env->arg, true);
    int rc = follow_run(f, e);
    painter_end(&f->painter, &out);
    screen_send(f, &out);
    if (f->live && env->live)
        env->live(env->arg, false);
    buf_done(&f->line);
    arena_done(&f->mem);
    return rc;
}

int cli_follow_operation(struct cli *c, int64_t id, struct err *e)
{
    struct follow f = {.c = c, .id = id, .to = c->env->err};
    f.live = c->env->err_tty && !c->quiet;
    (void)fflush(c->env->out);
    int rc = follow_do(&f, e);
    return rc ? rc : cli_report_operation(c, id, e);
}

int cli_follow_all(struct cli *c, struct err *e)
{
    struct follow f = {.c = c, .to = c->env->out};
    f.live = c->env->out_tty && !c->quiet;
    return follow_do(&f, e);
}
