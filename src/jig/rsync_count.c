/* rsync_count.c - lines of rsync, by their first letters
 *
 *   <f+++++++++ name    < and >: a file was sent; c: something was made that is no file, h: a link
 *   .f...p..... name    .: only attributes were changed
 *   *deleting   name
 *   Total bytes sent: 1234
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/text.h"
#include "jig/rsync_i.h"

enum { ITEM_LETTERS = 11 };

static const char deleting[] = "*deleting ", total[] = "Total bytes sent: ";

static bool is_item(const char *line, size_t n)
{
    if (n <= ITEM_LETTERS || line[ITEM_LETTERS] != ' ' || !strchr("<>ch.", line[0]) ||
        !strchr("fdLDS", line[1]))
        return false;
    for (size_t i = 2; i < ITEM_LETTERS; i++)
        if (!strchr(".+?cstTpoguabnxS ", line[i]))
            return false;
    return true;
}

static void count_line(struct rsync_count *c, const char *line, size_t n)
{
    uint64_t bytes;
    if (n >= sizeof deleting - 1 && !memcmp(line, deleting, sizeof deleting - 1)) {
        c->deleted++;
    } else if (n >= sizeof total && !memcmp(line, total, sizeof total - 1)) {
        struct str number = {line + sizeof total - 1, n - (sizeof total - 1)};
        if (text_u64(number, UINT64_MAX, &bytes, NULL) == 0)
            c->bytes = bytes;
    } else if (is_item(line, n)) {
        c->sent += line[0] == '<' || line[0] == '>';
        c->made += line[0] == 'c' || line[0] == 'h';
        c->changed += line[0] == '.';
    }
}

void rsync_count_feed(struct rsync_count *c, const char *p, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (p[i] != '\n') {
            if (c->n + 1 < sizeof c->line)
                c->line[c->n++] = p[i] ? p[i] : '?'; /* strchr() would find a NUL in anything */
            continue;
        }
        c->line[c->n] = '\0';
        count_line(c, c->line, c->n);
        c->n = 0;
    }
}
