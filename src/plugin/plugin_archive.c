/* plugin_archive.c - the listing of an archive, held against what may be unpacked
 *
 * One line an entry: "-rw-r--r-- 0/0 12 2026-01-31 10:00 a/name", for links with " -> target" or
 * " link to target" behind the name.  Control characters are written as escapes, so a name cannot
 * pretend to be a line.  A name that could be read in two ways is refused: who is in doubt about
 * where something would be put does not unpack it.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "plugin/plugin_versions.h"

#include <inttypes.h>
#include <string.h>

#include "base/text.h"

enum { COLUMNS_BEFORE_NAME = 5, COLUMN_SIZE = 2 };

void archive_list_init(struct archive_list *l, uint64_t max_bytes)
{
    *l = (struct archive_list){.max_bytes = max_bytes};
}

void archive_list_done(struct archive_list *l)
{
    buf_done(&l->line);
}

/* --- names --- */

/* Every part of a path in turn. */
static bool part_next(struct str *rest, struct str *ret_part)
{
    if (!rest->n)
        return false;
    const char *slash = memchr(rest->s, '/', rest->n);
    size_t n = slash ? (size_t)(slash - rest->s) : rest->n;
    *ret_part = (struct str){rest->s, n};
    n += slash ? 1 : 0;
    *rest = (struct str){rest->s + n, rest->n - n};
    return true;
}

static bool path_stays(struct str path)
{
    struct str part;
    if (!path.n || path.s[0] == '/')
        return false;
    while (part_next(&path, &part))
        if (str_is(part, ".."))
            return false;
    return true;
}

/* Directories that a path of an entry lies in. */
static uint32_t path_depth(struct str path)
{
    struct str part;
    uint32_t depth = 0;
    while (part_next(&path, &part))
        depth += part.n > 0 && !str_is(part, ".");
    return depth ? depth - 1 : 0;
}

/* A symbolic link may go up, first of all and not above the top: what lies behind another link is
 * not known here. */
static bool target_stays(struct str name, struct str target)
{
    uint32_t depth = path_depth(name);
    bool leading = true;
    struct str part;
    if (!target.n || target.s[0] == '/')
        return false;
    while (part_next(&target, &part)) {
        bool up = str_is(part, "..");
        if (up && (!leading || depth-- == 0))
            return false;
        leading = up;
    }
    return true;
}

/* The text before and behind a separator that must be there exactly once. */
static bool split_once(struct str text, const char *separator, struct str *ret_a, struct str *ret_b)
{
    size_t n = strlen(separator);
    const char *at = memmem(text.s, text.n, separator, n);
    if (!at)
        return false;
    *ret_a = (struct str){text.s, (size_t)(at - text.s)};
    *ret_b = (struct str){at + n, text.n - ret_a->n - n};
    return !memmem(ret_b->s, ret_b->n, separator, n);
}

/* --- lines --- */

static void refuse(struct archive_list *l, struct str name, const char *why)
{
    if (l->fault.code == ERR_NONE)
        err_set(&l->fault, ERR_INVALID, "the archive has %.*s, %s",
                (int)(name.n < 100 ? name.n : 100), name.s, why);
}

/* The name with what follows it, and the size; false: this is no line of a listing. */
static bool line_split(struct str line, struct str *ret_rest, uint64_t *ret_bytes)
{
    size_t at = 0;
    for (unsigned column = 0; column < COLUMNS_BEFORE_NAME; column++) {
        while (at < line.n && line.s[at] == ' ')
            at++;
        size_t from = at;
        while (at < line.n && line.s[at] != ' ')
            at++;
        struct err ignored;
        if (column == COLUMN_SIZE &&
            text_u64((struct str){line.s + from, at - from}, INT64_MAX, ret_bytes, &ignored) < 0)
            return false;
    }
    if (at + 1 >= line.n)
        return false;
    *ret_rest = (struct str){line.s + at + 1, line.n - at - 1};
    return true;
}

static void entry_check(struct archive_list *l, char type, struct str rest, uint64_t bytes)
{
    struct str name = rest, target;
    if (type == 'l' || type == 'h') {
        if (!split_once(rest, type == 'l' ? " -> " : " link to ", &name, &target))
            refuse(l, rest, "which is a link that can be read in two ways");
        else if (type == 'l' ? !target_stays(name, target) : !path_stays(target))
            refuse(l, rest, "which leads out of it");
    } else if (type != '-' && type != 'd') {
        refuse(l, rest, "which is neither a file, a directory nor a link");
    }
    if (!path_stays(name))
        refuse(l, name, "which would not be put inside its directory");
    l->bytes += type == '-' ? bytes : 0;
    if (l->fault.code != ERR_NONE)
        return;
    if (bytes > l->max_bytes || l->bytes > l->max_bytes)
        err_set(&l->fault, ERR_TOO_LARGE, "the archive holds more than %" PRIu64 " bytes",
                l->max_bytes);
    else if (++l->entries > ARCHIVE_ENTRIES_MOST)
        err_set(&l->fault, ERR_TOO_LARGE, "the archive holds more than %d entries",
                ARCHIVE_ENTRIES_MOST);
}

static void line_check(struct archive_list *l, struct str line)
{
    struct str rest;
    uint64_t bytes = 0;
    if (line.n == 0)
        return;
    if (line_split(line, &rest, &bytes))
        entry_check(l, line.s[0], rest, bytes);
    else if (l->fault.code == ERR_NONE)
        err_set(&l->fault, ERR_INVALID, "the archive cannot be listed");
}

void archive_list_feed(struct archive_list *l, struct str piece)
{
    for (size_t i = 0; i < piece.n && l->fault.code == ERR_NONE; i++) {
        if (piece.s[i] == '\n') {
            line_check(l, buf_str(&l->line));
            buf_clear(&l->line);
        } else if (l->line.len >= ARCHIVE_LINE_MOST) {
            err_set(&l->fault, ERR_TOO_LARGE, "the archive has a name of more than %d bytes",
                    ARCHIVE_LINE_MOST);
        } else {
            buf_putc(&l->line, piece.s[i]);
        }
    }
}

int archive_list_end(struct archive_list *l, struct err *e)
{
    if (l->fault.code == ERR_NONE)
        line_check(l, buf_str(&l->line));
    if (l->fault.code == ERR_NONE)
        return 0;
    if (e)
        *e = l->fault;
    return -(int)l->fault.code;
}
