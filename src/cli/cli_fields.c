/* cli_fields.c - members of objects as short text for people
 *
 * The one place that decides how a time, a duration, a list or a count looks in a table or a sheet.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/table_i.h"

#include <stdio.h>
#include <time.h>

#include "base/json.h"
#include "base/text.h"

int64_t time_parse(const char *s)
{
    struct tm tm = {0};
    char *end = strptime(s, "%Y-%m-%dT%H:%M:%S", &tm);
    int ms = 0, weight = 100;
    if (!end)
        return -1;
    if (*end == '.')
        for (end++; *end >= '0' && *end <= '9'; end++, weight /= 10)
            ms += (*end - '0') * weight;
    if (strcmp(end, "Z") != 0)
        return -1;
    return (int64_t)timegm(&tm) * 1000 + ms;
}

void bytes_show(int64_t n, char ret[16])
{
    static const char *const units[] = {"B", "kB", "MB", "GB", "TB", "PB", "EB"};
    double v = (double)n;
    size_t u = 0;
    for (; v >= 999.5 && u + 1 < sizeof units / sizeof *units; u++)
        v /= 1000;
    snprintf(ret, 16, v < 9.95 && u ? "%.1f %s" : "%.0f %s", v, units[u]);
}

/* Scalars as they are, the rest as JSON. */
static void plain_put(struct buf *b, const struct value *v)
{
    if (value_is(v, VALUE_STRING))
        buf_put(b, v->s, v->n);
    else if (v && v->kind != VALUE_NULL)
        json_write(b, v, 0);
}

static void list_put(struct buf *b, const struct value *v)
{
    for (uint32_t i = 0; i < v->n; i++) {
        buf_puts(b, i ? ", " : "");
        plain_put(b, &v->items[i]);
    }
}

static void map_put(struct buf *b, const struct value *v)
{
    for (uint32_t i = 0; i < v->n; i++) {
        buf_printf(b, "%s%s=", i ? " " : "", v->members[i].key);
        plain_put(b, &v->members[i].v);
    }
}

static void counts_put(struct buf *b, const struct value *v)
{
    for (uint32_t i = 0; i < v->n; i++)
        if (value_as_int(&v->members[i].v, 0))
            buf_printf(b, "%s%lld %s", b->len ? ", " : "",
                       (long long)value_as_int(&v->members[i].v, 0), v->members[i].key);
}

/* What is to come: a lease, say. */
static void due_put(struct buf *b, enum show show, const char *s, int64_t now_ms)
{
    char left[16] = "over";
    int64_t at = time_parse(s);
    if (at < 0) {
        buf_puts(b, s);
        return;
    }
    if (at > now_ms)
        text_duration_show((uint64_t)(at - now_ms), left);
    if (show == SHOW_DUE)
        buf_printf(b, "%.10s %.8s UTC, %s%s", s, s + 11, at > now_ms ? "in " : "", left);
    else
        buf_puts(b, left);
}

static void time_put(struct buf *b, enum show show, const char *s, int64_t now_ms)
{
    char age[16];
    int64_t at = time_parse(s);
    if (at < 0) {
        buf_puts(b, s);
        return;
    }
    text_duration_show(now_ms > at ? (uint64_t)(now_ms - at) : 0, age);
    if (show == SHOW_TIME)
        buf_printf(b, "%.10s %.8s UTC, %s ago", s, s + 11, age);
    else
        buf_puts(b, age);
}

static void bar_put(struct buf *b, const struct value *progress, const struct look *look)
{
    struct look plain = *look; /* a cell is coloured as a whole */
    int64_t total = value_as_int(value_get(progress, "total"), 0);
    int64_t done = value_as_int(value_get(progress, "done"), 0) +
                   value_as_int(value_get(progress, "skipped"), 0);
    int64_t failed = value_as_int(value_get(progress, "failed"), 0);
    plain.color = false;
    if (total <= 0)
        return;
    int64_t percent = value_as_int(value_get(progress, "percent"), done * 100 / total);
    term_bar(b, &plain, 10, percent * total, failed * 100, total * 100);
    buf_printf(b, " %3d%%", (int)percent);
}

static void number_put(struct buf *b, enum show show, const struct value *v)
{
    char text[16];
    int64_t n = value_as_int(v, 0);
    if (show == SHOW_MS)
        text_duration_show(n > 0 ? (uint64_t)n : 0, text);
    else
        bytes_show(n, text);
    buf_puts(b, text);
}

struct cell field_cell(struct arena *mem, const struct field *f, const struct value *object,
                       int64_t now_ms, const struct look *look)
{
    SCOPED_BUF(b);
    const struct value *v = value_at(object, f->path);
    struct cell c = {.style = STYLE_PLAIN};
    enum value_kind kind = v ? (enum value_kind)v->kind : VALUE_NULL;
    if (kind == VALUE_BOOL) {
        buf_puts(&b, v->b ? "yes" : "no");
        if (f->show == (v->b ? SHOW_ODD : SHOW_GOOD))
            c.style = STYLE_WARN;
    } else if ((f->show == SHOW_AGE || f->show == SHOW_TIME) && kind == VALUE_STRING) {
        time_put(&b, f->show, v->s, now_ms);
    } else if ((f->show == SHOW_LEFT || f->show == SHOW_DUE) && kind == VALUE_STRING) {
        due_put(&b, f->show, v->s, now_ms);
    } else if ((f->show == SHOW_MS || f->show == SHOW_BYTES) && kind == VALUE_INT) {
        number_put(&b, f->show, v);
    } else if (f->show == SHOW_COUNTS && kind == VALUE_MAP) {
        counts_put(&b, v);
    } else if (f->show == SHOW_BAR && kind == VALUE_MAP) {
        bar_put(&b, v, look);
    } else if (kind == VALUE_LIST) {
        list_put(&b, v);
    } else if (kind == VALUE_MAP) {
        map_put(&b, v);
    } else {
        plain_put(&b, v);
        if (f->show == SHOW_STATE)
            c.style = term_state_style(buf_str(&b).s);
    }
    c.s = arena_strndup(mem, buf_str(&b).s, b.len);
    c.width = term_width(c.s, b.len);
    return c;
}
