/* yaml_block.c - the text of block scalars, decoded from the source
 *
 * libfyaml 0.7.12 takes siblings for the text of a block that has none:
 *
 *     a:
 *       script: |
 *       user: root        <- becomes the script
 *
 * and loses empty lines of folded blocks.  Which lines belong to a block follows from indentation
 * alone, so the text is made here.  Where the scanner went on reading cannot be repaired, but it
 * shows: its text then has other characters than ours, blanks aside.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/yaml_i.h"

struct block_line {
    struct str text; /* without the indentation of the block and without the line break */
    size_t next;     /* where the next line starts */
    bool inside;     /* belongs to the block */
    bool broken;     /* ends with a line break, not with the text */
};

/* The end of the line that starts at `from`, and in *ret_next where the next one starts. */
static size_t line_end_of(const struct source *s, size_t from, size_t *ret_next)
{
    size_t end = from;
    while (end < s->n && !yaml_is_break(s->text[end]))
        end++;
    *ret_next = end;
    if (end < s->n)
        *ret_next += s->text[end] == '\r' && end + 1 < s->n && s->text[end + 1] == '\n' ? 2 : 1;
    return end;
}

static struct block_line block_line(const struct source *s, size_t from, size_t indent)
{
    struct block_line l = {.inside = true};
    size_t end = line_end_of(s, from, &l.next), at = from;
    l.broken = l.next > end;
    while (at < end && at - from < indent && s->text[at] == ' ')
        at++;
    l.text = (struct str){s->text + at, end - at};
    for (size_t i = at; i < end && at - from < indent && l.inside; i++)
        l.inside = yaml_is_blank(s->text[i]); /* a short line may be blank, but no more */
    if (at - from < indent)
        l.text.n = 0;
    return l;
}

/* The indentation that the text has: as the header says, or that of the first line that is not
 * blank; SIZE_MAX if there is no such line. */
static size_t block_indent(const struct source *s, const struct yaml_block *b)
{
    if (b->indicator)
        return (b->parent < 0 ? 0 : (size_t)b->parent) + b->indicator;
    for (size_t at = b->content, next; at < s->n; at = next) {
        size_t end = line_end_of(s, at, &next), indent = 0;
        while (at + indent < end && s->text[at + indent] == ' ')
            indent++;
        if (at + indent < end)
            return (int64_t)indent > b->parent ? indent : SIZE_MAX;
    }
    return SIZE_MAX;
}

/* What stands between two lines with text that have `empty` empty ones between them. */
static void block_join(struct buf *out, bool fold, size_t empty)
{
    if (fold && empty == 0)
        buf_putc(out, ' ');
    for (size_t i = fold ? 1 : 0; i <= empty; i++)
        buf_putc(out, '\n');
}

void yaml_block_text(const struct source *s, const struct yaml_block *b, struct buf *out)
{
    size_t indent = block_indent(s, b), empty = 0;
    bool any = false, spaced = false, broken = false;
    buf_clear(out);
    for (size_t at = b->content; at < s->n;) {
        struct block_line l = block_line(s, at, indent);
        if (!l.inside)
            break;
        at = l.next;
        if (l.text.n == 0) {
            empty += l.broken;
            continue;
        }
        bool spaced_now = yaml_is_blank(l.text.s[0]);
        if (any)
            block_join(out, b->folded && !spaced && !spaced_now, empty);
        for (; !any && empty; empty--)
            buf_putc(out, '\n');
        buf_put(out, l.text.s, l.text.n);
        any = true;
        empty = 0;
        spaced = spaced_now;
        broken = l.broken;
    }
    if (any && broken && b->chomp != '-')
        buf_putc(out, '\n');
    for (; b->chomp == '+' && empty; empty--)
        buf_putc(out, '\n');
}

/* The next byte at or behind *at that is no blank and no break, '\0' if there is none. */
static char next_ink(struct str s, size_t *at)
{
    while (*at < s.n && (yaml_is_blank(s.s[*at]) || yaml_is_break(s.s[*at])))
        ++*at;
    return *at < s.n ? s.s[(*at)++] : '\0';
}

bool yaml_block_agrees(struct str ours, struct str theirs)
{
    size_t i = 0, k = 0;
    char c;
    do {
        c = next_ink(ours, &i);
        if (c != next_ink(theirs, &k))
            return false;
    } while (c);
    return true;
}
