/* timeline.c - the timeline of an operation drawn as bars, and the chain that made it so long
 *
 * Pure: an answer and a look give lines.  A line is a task's attempt, below the name of its node;
 * where there are many of them, a line is a node with all its bars.  The width of the bars is the
 * span of the operation.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/timeline_i.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/text.h"

enum { LABEL = 28, TAIL = 9, COLUMNS_DEFAULT = 100, BARS_LEAST = 10, LINES_BY_TASK = 60 };
enum mark { MARK_NONE, MARK_OK, MARK_OPEN, MARK_OTHER, MARK_FAILED, MARK_COUNT }; /* last wins */

static const struct {
    const char *utf8, *ascii;
    enum style style;
} marks[MARK_COUNT] = {
    [MARK_NONE] = {"\u00b7", ".", STYLE_DIM},   [MARK_OK] = {"\u2588", "#", STYLE_GOOD},
    [MARK_OPEN] = {"\u2592", "=", STYLE_BUSY},  [MARK_OTHER] = {"\u2592", "~", STYLE_WARN},
    [MARK_FAILED] = {"\u2573", "x", STYLE_BAD},
};

struct canvas {
    struct pen pen;
    int64_t span_ms;
    int width;
    uint8_t *row; /* enum mark, by column */
};

static int64_t int_at(const struct value *v, const char *key, int64_t otherwise)
{
    return value_as_int(value_get(v, key), otherwise);
}

static const char *text_of(const struct value *v, const char *key)
{
    return value_as_text(value_get(v, key), "-");
}

static enum mark mark_of(const struct value *item)
{
    const char *outcome = text_of(item, "outcome");
    if (strcmp(outcome, "ok") == 0)
        return MARK_OK;
    if (strcmp(outcome, "open") == 0)
        return MARK_OPEN;
    return term_state_style(outcome) == STYLE_BAD ? MARK_FAILED : MARK_OTHER;
}

static int64_t end_ms(const struct canvas *c, const struct value *item)
{
    return int_at(item, "end_ms", c->span_ms); /* what runs goes on until now */
}

static void bar_mark(struct canvas *c, const struct value *item)
{
    int64_t from = int_at(item, "start_ms", 0) * c->width / c->span_ms;
    int64_t to = (end_ms(c, item) * c->width + c->span_ms - 1) / c->span_ms;
    enum mark mark = mark_of(item);
    from = from < c->width ? from : c->width - 1;
    to = to > c->width ? c->width : to > from ? to : from + 1; /* never invisible */
    for (int64_t i = from; i < to; i++)
        if (mark > c->row[i])
            c->row[i] = (uint8_t)mark;
}

/* Pieces of one style each. */
static void row_draw(struct canvas *c)
{
    for (int i = 0, end; i < c->width; i = end) {
        SCOPED_BUF(piece);
        for (end = i; end < c->width && c->row[end] == c->row[i]; end++)
            buf_puts(&piece, c->pen.look->utf8 ? marks[c->row[i]].utf8 : marks[c->row[i]].ascii);
        pen_put(&c->pen, marks[c->row[i]].style, "%s", piece.data);
    }
    memset(c->row, MARK_NONE, (size_t)c->width);
}

static void took_draw(struct canvas *c, int64_t ms)
{
    char took[16];
    text_duration_show((uint64_t)(ms > 0 ? ms : 0), took);
    pen_put(&c->pen, STYLE_DIM, " %7s", took);
    pen_end(&c->pen);
}

static void task_line(struct canvas *c, const struct value *item)
{
    pen_put(&c->pen, STYLE_PLAIN, "  %.*s", LABEL - 8, text_of(item, "name"));
    if (int_at(item, "attempt", 1) > 1)
        pen_put(&c->pen, STYLE_DIM, " #%lld", (long long)int_at(item, "attempt", 1));
    pen_to(&c->pen, LABEL);
    bar_mark(c, item);
    row_draw(c);
    took_draw(c, end_ms(c, item) - int_at(item, "start_ms", 0));
}

static void node_draw(struct canvas *c, const struct value *node, bool by_task)
{
    const struct value *items = value_get(node, "items");
    int64_t busy = 0;
    pen_put(&c->pen, STYLE_BOLD, "%.*s", LABEL - 1, text_of(node, "node"));
    if (by_task)
        pen_end(&c->pen);
    else
        pen_to(&c->pen, LABEL);
    for (uint32_t i = 0; i < items->n; i++) {
        busy += end_ms(c, &items->items[i]) - int_at(&items->items[i], "start_ms", 0);
        if (by_task)
            task_line(c, &items->items[i]);
        else
            bar_mark(c, &items->items[i]);
    }
    if (by_task)
        return;
    row_draw(c);
    took_draw(c, busy);
}

static void chain_draw(struct canvas *c, const struct value *chain)
{
    int64_t before = 0, ran = 0;
    char text[16], wait[16];
    for (uint32_t i = 0; i < chain->n; i++)
        ran += int_at(&chain->items[i], "end_ms", 0) - int_at(&chain->items[i], "start_ms", 0);
    text_duration_show((uint64_t)ran, text);
    text_duration_show((uint64_t)c->span_ms, wait);
    pen_end(&c->pen);
    pen_put(&c->pen, STYLE_BOLD, "longest chain: %s, %s of %s", text_count(chain->n, "task").s,
            text, wait);
    pen_end(&c->pen);
    for (uint32_t i = 0; i < chain->n; i++) {
        const struct value *v = &chain->items[i];
        int64_t start = int_at(v, "start_ms", 0), end = int_at(v, "end_ms", start);
        text_duration_show((uint64_t)(start > before ? start - before : 0), wait);
        text_duration_show((uint64_t)(end - start), text);
        pen_put(&c->pen, STYLE_DIM, "%9s  ", text);
        pen_put(&c->pen, STYLE_PLAIN, "%s", text_of(v, "name"));
        pen_to(&c->pen, LABEL + 4);
        pen_put(&c->pen, STYLE_PLAIN, "%s", text_of(v, "node"));
        if (start > before)
            pen_put(&c->pen, STYLE_DIM, "  waited %s", wait);
        pen_end(&c->pen);
        before = end;
    }
}

void timeline_draw(struct buf *b, const struct look *look, const struct value *v)
{
    const struct value *nodes = value_get(v, "nodes"), *chain = value_get(v, "critical");
    int columns = look->columns ? look->columns : COLUMNS_DEFAULT;
    struct canvas c = {.pen = {.b = b, .look = look},
                       .span_ms = int_at(v, "span_ms", 0),
                       .width = columns - LABEL - TAIL};
    uint32_t bars = 0;
    if (!value_is(nodes, VALUE_LIST) || !nodes->n) {
        pen_put(&c.pen, STYLE_DIM, "nothing has run");
        pen_end(&c.pen);
        return;
    }
    c.width = c.width < BARS_LEAST ? BARS_LEAST : c.width;
    c.span_ms = c.span_ms > 0 ? c.span_ms : 1;
    c.row = xcalloc((size_t)c.width, 1);
    for (uint32_t i = 0; i < nodes->n; i++)
        bars += value_get(&nodes->items[i], "items")->n;
    for (uint32_t i = 0; i < nodes->n; i++)
        node_draw(&c, &nodes->items[i], bars <= LINES_BY_TASK);
    if (value_as_bool(value_get(v, "truncated"), false)) {
        pen_put(&c.pen, STYLE_WARN, "and more: --limit shows more of them");
        pen_end(&c.pen);
    }
    if (value_is(chain, VALUE_LIST) && chain->n)
        chain_draw(&c, chain);
    free(c.row);
}
