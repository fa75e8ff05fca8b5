/* reach_sums.c - the answer of a step that sums: types, then attributes, then digests
 *
 *   f            a letter a path
 *   -
 *   644 root 0 root 0 12  for each f and d: mode, owner, its number, group, its number, size
 *   <sha256>  name        for each f; a name that needs escapes has a backslash in front of it all
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/text.h"
#include "reach/reach.h"

enum { SHA256_HEX = 64 };

static bool line_take(struct str *rest, struct str *ret_line)
{
    const char *nl = rest->n ? memchr(rest->s, '\n', rest->n) : NULL;
    if (!nl)
        return false;
    *ret_line = (struct str){rest->s, (size_t)(nl - rest->s)};
    rest->n -= ret_line->n + 1;
    rest->s += ret_line->n + 1;
    return true;
}

static struct str field_take(struct str *rest)
{
    const char *blank = rest->n ? memchr(rest->s, ' ', rest->n) : NULL;
    struct str f = {rest->s, blank ? (size_t)(blank - rest->s) : rest->n};
    size_t skip = f.n + (blank ? 1 : 0);
    rest->s += skip;
    rest->n -= skip;
    return f;
}

static bool read_stat(struct str line, struct reach_sum *s)
{
    struct str mode = field_take(&line);
    s->owner = field_take(&line);
    s->uid = field_take(&line);
    s->group = field_take(&line);
    s->gid = field_take(&line);
    if (!mode.n || mode.n > 4 || !s->owner.n || !s->uid.n || !s->group.n || !s->gid.n)
        return false;
    for (size_t i = 0; i < mode.n; i++) {
        if (mode.s[i] < '0' || mode.s[i] > '7')
            return false;
        s->mode = s->mode * 8 + (unsigned)(mode.s[i] - '0');
    }
    return line.n && text_u64(line, UINT64_MAX, &s->size, NULL) == 0;
}

static bool read_digest(struct str line, struct reach_sum *s)
{
    size_t at = line.n && line.s[0] == '\\' ? 1 : 0;
    if (line.n < at + SHA256_HEX + 1 || line.s[at + SHA256_HEX] != ' ')
        return false;
    memcpy(s->sha256, line.s + at, SHA256_HEX);
    return strspn(s->sha256, "0123456789abcdef") == SHA256_HEX;
}

int reach_sums_parse(struct arena *mem, struct str result, size_t paths_n,
                     struct reach_sum **ret_sums, struct err *e)
{
    struct reach_sum *sums = arena_new(mem, struct reach_sum, paths_n);
    struct str line;
    bool good = true;
    for (size_t i = 0; i < paths_n && good; i++) {
        good = line_take(&result, &line) && line.n == 1 && strchr("fdlo-", line.s[0]);
        sums[i].type = good ? line.s[0] : '-';
    }
    for (size_t i = 0; i < paths_n && good; i++)
        if (sums[i].type == 'f' || sums[i].type == 'd')
            good = line_take(&result, &line) && read_stat(line, &sums[i]);
    for (size_t i = 0; i < paths_n && good; i++)
        if (sums[i].type == 'f')
            good = line_take(&result, &line) && read_digest(line, &sums[i]);
    if (!good || result.n)
        return err_set(e, ERR_SYNTAX, "what the node says about its files is incomplete");
    *ret_sums = sums;
    return 0;
}
