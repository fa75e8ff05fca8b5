/* painter.c - frames that replace each other on a terminal
 *
 * Only four commands are used, which every terminal of the last forty years knows: cursor up, erase
 * to the end of the line, erase to the end of the screen, hide and show the cursor.  Lines are
 * overwritten before they are erased, so that nothing flickers.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/progress_i.h"

#include <string.h>

static void go_up(struct painter *p, struct buf *out)
{
    if (p->drawn)
        buf_printf(out, "\033[%dA\r", p->drawn);
}

void painter_paint(struct painter *p, struct buf *out, const char *frame, int columns)
{
    if (!p->hidden)
        buf_puts(out, "\033[?25l");
    p->hidden = true;
    if (p->drawn && columns < p->columns)
        buf_puts(out, "\033[H\033[2J"); /* narrower: lines were folded, nobody knows where */
    else
        go_up(p, out);
    p->drawn = 0;
    p->columns = columns;
    while (*frame) {
        size_t n = strcspn(frame, "\n");
        buf_put(out, frame, n);
        buf_puts(out, "\033[K\n");
        frame += n + (frame[n] == '\n');
        p->drawn++;
    }
    buf_puts(out, "\033[J");
}

void painter_clear(struct painter *p, struct buf *out)
{
    go_up(p, out);
    if (p->drawn)
        buf_puts(out, "\033[J");
    p->drawn = 0;
}

void painter_end(struct painter *p, struct buf *out)
{
    if (p->hidden)
        buf_puts(out, "\033[?25h");
    *p = (struct painter){0};
}
