/* jig_line.c - the last line that a program wrote and that says something */
/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "jig/jig.h"

void jig_line_note(struct jig_line *l, const char *p, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (p[i] != '\n') {
            bool printable = (unsigned char)p[i] >= ' ' && p[i] != 0x7f;
            if (l->n + 1 < sizeof l->now)
                l->now[l->n++] = printable ? p[i] : ' ';
            continue;
        }
        l->now[l->n] = '\0';
        if (l->now[strspn(l->now, " ")])
            memcpy(l->last, l->now, l->n + 1);
        l->n = 0;
    }
}

const char *jig_line_last(struct jig_line *l)
{
    if (l->n)
        jig_line_note(l, "\n", 1);
    return l->last;
}
