/* cli_table.c - columns that line up
 *
 * Knows cells, not objects.  Alignment is by columns on the screen, not by bytes.  Without a limit
 * every cell is whole; with one, columns that may shrink lose width to the widest-first rule, and
 * what still does not fit is cut at the right edge, so that a row is always one line.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/table_i.h"

#include <assert.h>

enum { GAP = 2, SHRINK_TO = 8 };

void table_init(struct table *t, struct arena *mem)
{
    *t = (struct table){.mem = mem};
}

void table_done(struct table *t)
{
    vec_done(&t->cells);
}

void table_column(struct table *t, const char *title, unsigned flags)
{
    assert(t->columns < sizeof t->column / sizeof *t->column);
    t->column[t->columns].title = title;
    t->column[t->columns++].flags = flags;
}

void table_cell(struct table *t, enum style style, const char *text)
{
    SCOPED_BUF(clean);
    term_clean(&clean, text, strlen(text), 0);
    const struct cell c = {.s = arena_strdup(t->mem, buf_str(&clean).s),
                           .width = term_width(buf_str(&clean).s, clean.len),
                           .style = style};
    vec_push(&t->cells, c);
}

static void widths_natural(const struct table *t, int *ret_w)
{
    for (size_t k = 0; k < t->columns; k++)
        ret_w[k] = term_width(t->column[k].title, strlen(t->column[k].title));
    for (size_t i = 0; i < t->cells.n; i++)
        if (t->cells.at[i].width > ret_w[i % t->columns])
            ret_w[i % t->columns] = t->cells.at[i].width;
}

static void widths_shrink(const struct table *t, int limit, int *w)
{
    int total = GAP * ((int)t->columns - 1);
    for (size_t k = 0; k < t->columns; k++)
        total += w[k];
    while (total > limit) {
        size_t widest = t->columns;
        for (size_t k = 0; k < t->columns; k++)
            if (t->column[k].flags & COLUMN_SHRINK && w[k] > SHRINK_TO &&
                (widest == t->columns || w[k] > w[widest]))
                widest = k;
        if (widest == t->columns)
            return;
        w[widest]--;
        total--;
    }
}

struct line {
    struct buf *b;
    const struct look *look;
    int used;    /* columns so far */
    int pending; /* spaces owed, not written at a line's end */
};

static void cell_put(struct line *l, const char *s, int width, int into, bool right,
                     enum style style)
{
    int room = into;
    if (l->look->columns && l->used + l->pending + room > l->look->columns)
        room = l->look->columns - l->used - l->pending;
    if (room <= 0 || !width) {
        l->pending += into + GAP;
        return;
    }
    SCOPED_BUF(cut);
    if (width > room) {
        size_t n = term_fit(s, strlen(s), room - 1);
        buf_put(&cut, s, n);
        buf_puts(&cut, l->look->utf8 ? "\u2026" : "~");
        s = cut.data;
        width = term_width(s, cut.len);
    }
    term_spaces(l->b, l->pending + (right ? room - width : 0));
    term_styled(l->b, l->look, style, s);
    l->used += l->pending + (right ? room : width);
    l->pending = GAP + (right ? into - room : into - width);
}

void table_draw(const struct table *t, const struct look *look, struct buf *b)
{
    int w[sizeof t->column / sizeof *t->column] = {0};
    assert(t->columns && t->cells.n % t->columns == 0);
    widths_natural(t, w);
    if (look->columns)
        widths_shrink(t, look->columns, w);
    struct line l = {.b = b, .look = look};
    for (size_t k = 0; k < t->columns; k++) {
        const char *title = t->column[k].title;
        cell_put(&l, title, term_width(title, strlen(title)), w[k],
                 t->column[k].flags & COLUMN_RIGHT, STYLE_BOLD);
    }
    buf_putc(b, '\n');
    for (size_t i = 0; i < t->cells.n; i += t->columns) {
        l.used = l.pending = 0;
        for (size_t k = 0; k < t->columns; k++) {
            const struct cell *c = &t->cells.at[i + k];
            cell_put(&l, c->s, c->width, w[k], t->column[k].flags & COLUMN_RIGHT, c->style);
        }
        buf_putc(b, '\n');
    }
}
