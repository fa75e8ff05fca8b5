/* catalog_report.c - everything that is wrong with a catalog, in the order of its files
 *
 * An entry carries the place, the line itself and, where one is known, the remedy.  After
 * CATALOG_MAX_REPORT errors or warnings the rest is only counted: the first fifty faults of a file
 * that was never a catalog say as much as ten thousand.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "catalog/catalog.h"
#include "catalog/catalog_i.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/text.h"

struct catalog_where catalog_where_of(const struct value *v)
{
    return (struct catalog_where){v->source ? v->source - 1u : CATALOG_NONE, v->line, v->column};
}

struct catalog_where catalog_where_in(const struct value *v, const struct err *e)
{
    struct catalog_where where = catalog_where_of(v);
    struct str at = str_of(e->at);
    uint64_t numbers[2];

    for (int i = 1; i >= 0; i--) {
        size_t colon = at.n;
        while (colon && at.s[colon - 1] != ':')
            colon--;
        struct str digits = {at.s + colon, at.n - colon};
        if (!colon || text_u64(digits, UINT32_MAX, &numbers[i], NULL) < 0)
            return where;
        at.n = colon - 1;
    }
    where.line = (uint32_t)numbers[0];
    where.column = (uint32_t)numbers[1];
    return where;
}

const char *catalog_where_write(const struct load *l, struct catalog_where w, char *ret, size_t n)
{
    if (w.file == CATALOG_NONE)
        snprintf(ret, n, "%s", "");
    else if (!w.line) /* an empty file has no place in it */
        snprintf(ret, n, "%s", l->docs[w.file].path.s);
    else
        snprintf(ret, n, "%s:%u:%u", l->docs[w.file].path.s, w.line, w.column);
    return ret;
}

static void source_line(const struct load *l, struct catalog_where w, struct err *e)
{
    struct str rest = l->docs[w.file].text;

    for (uint32_t line = 1; line < w.line; line++) {
        const char *end = memchr(rest.s, '\n', rest.n);
        if (!end)
            return;
        rest.n -= (size_t)(end + 1 - rest.s);
        rest.s = end + 1;
    }
    (void)err_line(e, rest.s, rest.n);
}

/* A place for one more, NULL if there are enough of its kind. */
static struct catalog_entry *entry_add(struct catalog_report *r, enum catalog_severity severity)
{
    static const uint32_t max = CATALOG_MAX_REPORT;

    if (severity == CATALOG_ERROR && (r->n_errors++, r->n_kept_errors >= max))
        return NULL;
    if (severity == CATALOG_WARNING && (r->n_warnings++, r->n_kept_warnings >= max))
        return NULL;
    r->n_kept_errors += severity == CATALOG_ERROR;
    r->n_kept_warnings += severity == CATALOG_WARNING;
    struct catalog_entry *entry = vec_add(&r->entries);
    uint32_t self = (uint32_t)r->entries.n - 1;
    entry->severity = severity;
    entry->lead = severity == CATALOG_NOTE && self ? r->entries.at[self - 1].lead : self;
    return entry;
}

static bool place_before(struct catalog_where a, struct catalog_where b)
{
    if (a.file != b.file)
        return a.file < b.file;
    return a.line != b.line ? a.line < b.line : a.column < b.column;
}

/* A fault of one that is excused is a warning, and it remembers the first.  Circles and
 * limits are never excused: they concern others too. */
static enum catalog_severity fault_weigh(struct load *l, enum errcode code,
                                         struct catalog_where where, const char *text)
{
    l->n_faults++;
    if (!l->excused || code == ERR_LIMIT || code == ERR_CYCLE)
        return CATALOG_ERROR;
    if (!*l->excused || place_before(where, *l->excused_where)) {
        *l->excused = arena_strdup(l->mem, text);
        *l->excused_where = where;
    }
    return CATALOG_WARNING;
}

struct err *catalog_fault(struct load *l, enum catalog_severity severity, enum errcode code,
                          struct catalog_where where, const char *fmt, ...)
{
    struct catalog_entry *entry;
    char text[sizeof entry->err.text], at[sizeof entry->err.at];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    text[text_utf8_prefix(text, strlen(text))] = '\0';
    l->limited |= code == ERR_LIMIT;
    if (severity == CATALOG_ERROR)
        severity = fault_weigh(l, code, where, text);
    entry = entry_add(l->report, severity);
    if (!entry)
        return NULL;
    (void)err_set(&entry->err, code, "%s", text);
    entry->where = where;
    (void)err_at(&entry->err, "%s", catalog_where_write(l, where, at, sizeof at));
    if (where.file != CATALOG_NONE && where.line)
        source_line(l, where, &entry->err);
    return &entry->err;
}

void catalog_fault_copy(struct load *l, uint32_t file, const struct err *e)
{
    l->limited |= e->code == ERR_LIMIT;
    struct catalog_entry *entry = entry_add(l->report, CATALOG_ERROR);
    if (!entry)
        return;
    entry->err = *e;
    entry->where.file = file;
}

/* --- for the caller --- */

void catalog_report_done(struct catalog_report *r)
{
    vec_done(&r->entries);
    *r = (struct catalog_report){0};
}

struct sort_key {
    struct catalog_where lead;
    uint32_t index;
};

static int key_compare(const void *a, const void *b)
{
    const struct sort_key *x = a, *y = b;
#define BY(field)                                                                                  \
    if (x->field != y->field)                                                                      \
    return x->field < y->field ? -1 : 1
    BY(lead.file + 1); /* what is no file's fault comes first */
    BY(lead.line);
    BY(lead.column);
    BY(index);
#undef BY
    return 0;
}

void catalog_report_sort(struct catalog_report *r)
{
    size_t n = r->entries.n;
    if (!n)
        return;
    SCOPED_ARENA(mem);
    struct sort_key *keys = arena_new(&mem, struct sort_key, n);
    struct catalog_entry *sorted = arena_new(&mem, struct catalog_entry, n);
    for (size_t i = 0; i < n; i++)
        keys[i] = (struct sort_key){r->entries.at[r->entries.at[i].lead].where, (uint32_t)i};
    qsort(keys, n, sizeof *keys, key_compare);
    uint32_t *to = arena_new(&mem, uint32_t, n);
    for (size_t i = 0; i < n; i++) {
        sorted[i] = r->entries.at[keys[i].index];
        to[keys[i].index] = (uint32_t)i;
    }
    for (size_t i = 0; i < n; i++) {
        r->entries.at[i] = sorted[i];
        r->entries.at[i].lead = to[sorted[i].lead];
    }
}

void catalog_report_write(struct buf *b, const struct catalog_report *r)
{
    static const char *const words[] = {"error", "warning", "note"};

    for (size_t i = 0; i < r->entries.n; i++) {
        const struct catalog_entry *entry = &r->entries.at[i];
        const struct err *e = &entry->err;
        buf_printf(b, "%s%s%s: %s\n", e->at, e->at[0] ? ": " : "", words[entry->severity], e->text);
        if (e->line[0])
            buf_printf(b, "    %s\n", e->line);
        if (e->hint[0])
            buf_printf(b, "  %s\n", e->hint);
    }
    uint32_t hidden = r->n_errors - r->n_kept_errors + r->n_warnings - r->n_kept_warnings;
    if (hidden)
        buf_printf(b, "%u more not shown\n", hidden);
    buf_printf(b, "%s, %s\n", text_count(r->n_errors, "error").s,
               text_count(r->n_warnings, "warning").s);
}
