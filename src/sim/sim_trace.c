/* sim_trace.c - the last steps of a run, kept raw and put into words only when somebody asks
 *
 * Every step also goes into the trail, a running digest: two runs that print the same trail did the
 * same things in the same order.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/sim_i.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

void sim_fail(struct sim *s, const char *fmt, ...)
{
    struct sim_report *r = s->report;
    va_list ap;
    if (r->failed)
        return;
    r->failed = true;
    va_start(ap, fmt);
    vsnprintf(r->what, sizeof r->what, fmt, ap);
    va_end(ap);
}

static void write_event(struct buf *b, const struct event *ev)
{
    struct event flat = *ev;
    flat.n_ids = 0; /* the list was the caller's and is gone */
    flat.plan = NULL;
    buf_printf(b, "%-16s ", event_kind_name(ev->kind));
    event_write(b, &flat);
    if (ev->kind == EVENT_RESULT)
        buf_printf(b, " %s", outcome_name((enum outcome)ev->flag));
}

static void write_step(struct buf *b, const struct sim_step *t)
{
    buf_printf(b, "%7" PRIu64 " %9" PRIu64 ".%03u  ", t->no, t->at_ms / 1000,
               (unsigned)(t->at_ms % 1000));
    if (t->what)
        buf_printf(b, "-- %s %" PRIu64, t->what, t->number);
    else
        write_event(b, &t->ev);
    if (t->result < 0)
        buf_printf(b, "  refused: %s", err_name((enum errcode) - t->result));
    buf_putc(b, '\n');
}

static struct sim_step *step_add(struct sim *s)
{
    uint64_t no = ++s->report->step;
    struct sim_step *t = &s->trace[no % SIM_TRACE_KEPT];
    *t = (struct sim_step){.no = no, .at_ms = s->now_ms};
    return t;
}

static void step_show(struct sim *s, const struct sim_step *t)
{
    if (!s->opt.verbose)
        return;
    buf_clear(&s->scratch);
    write_step(&s->scratch, t);
    fputs(s->scratch.data, stdout);
}

void sim_trace_event(struct sim *s, const struct event *ev, int result)
{
    struct sim_step *t = step_add(s);
    uint64_t h = mix64(s->report->trail, ev->at_ms);
    h = mix64(h, (uint64_t)ev->kind << 56 | (uint64_t)ev->flag << 48 | ev->id);
    h = mix64(h, (uint64_t)ev->attempt << 32 | ev->extra);
    s->report->trail = mix64(h, (uint64_t)(int64_t)result);
    t->ev = *ev;
    t->result = result;
    step_show(s, t);
}

void sim_trace_step(struct sim *s, const char *what, uint64_t number)
{
    struct sim_step *t = step_add(s);
    s->report->trail = mix64(s->report->trail, number);
    t->what = what;
    t->number = number;
    step_show(s, t);
}

void sim_trace_write(const struct sim *s, struct buf *b)
{
    uint64_t last = s->report->step;
    uint64_t first = last >= SIM_TRACE_KEPT ? last - SIM_TRACE_KEPT + 1 : 1;
    for (uint64_t no = first; no <= last; no++)
        write_step(b, &s->trace[no % SIM_TRACE_KEPT]);
}
