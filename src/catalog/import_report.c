/* import_report.c - what an import has to tell: one line for everything that is not as it was */
/* SPDX-License-Identifier: Apache-2.0 */
#include "catalog/import.h"
#include "catalog/import_i.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/text.h"

const char *import_kind_name(enum import_kind k)
{
    static const char *const names[IMPORT_KIND_COUNT] = {
#define X(id, text) text,
        IMPORT_KINDS(X)
#undef X
    };
    return (unsigned)k < IMPORT_KIND_COUNT ? names[k] : "?";
}

void catalog_import_free(struct catalog_import *i)
{
    if (!i)
        return;
    arena_done(&i->mem);
    free(i);
}

const char *crow_shown(struct crow *x, struct str s)
{
    return arena_strndup(&x->scratch, s.s, text_utf8_prefix(s.s, s.n < 64 ? s.n : 64));
}

/* A copy without what would end its line. */
static const char *one_line(struct crow *x, const char *text)
{
    char *copy = arena_strdup(x->mem, text);
    for (char *c = copy; *c; c++)
        if ((unsigned char)*c < 0x20 || *c == 0x7F)
            *c = ' ';
    return copy;
}

void crow_tell_at(struct crow *x, enum import_kind kind, struct str file, uint32_t line,
                  const char *what, const char *why)
{
    struct import_line l = {.line = line, .kind = (uint8_t)kind};

    l.file = (struct str){arena_strndup(x->mem, file.s, file.n), file.n};
    l.what = one_line(x, what);
    l.why = one_line(x, why);
    vec_push(&x->lines, l);
}

void crow_tell(struct crow *x, enum import_kind kind, const struct value *v, const char *what,
               const char *fmt, ...)
{
    char why[512];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(why, sizeof why, fmt, ap);
    va_end(ap);
    why[text_utf8_prefix(why, strlen(why))] = '\0';
    crow_tell_at(x, kind, crow_file(x, v), v->line, what, why);
}

/* By file and line; lines about one place as they came up. */
static int line_compare(const void *a, const void *b)
{
    const struct import_line *const *x = a, *const *y = b;
    int files = str_cmp((*x)->file, (*y)->file);
    if (files)
        return files;
    if ((*x)->line != (*y)->line)
        return (*x)->line < (*y)->line ? -1 : 1;
    return *x < *y ? -1 : *x > *y;
}

static int file_compare(const void *a, const void *b)
{
    const struct catalog_file *x = a, *y = b;
    return str_cmp(x->path, y->path);
}

void crow_finish(struct crow *x)
{
    size_t n = x->lines.n;
    const struct import_line **by = arena_new(&x->scratch, const struct import_line *, n);
    struct import_line *lines = arena_new(x->mem, struct import_line, n);
    struct catalog_file *files = arena_new(x->mem, struct catalog_file, x->files.n);

    for (size_t i = 0; i < n; i++)
        by[i] = &x->lines.at[i];
    if (n)
        qsort(by, n, sizeof *by, line_compare);
    for (size_t i = 0; i < n; i++)
        lines[i] = *by[i];
    for (size_t i = 0; i < x->files.n; i++)
        files[i] = x->files.at[i];
    if (x->files.n)
        qsort(files, x->files.n, sizeof *files, file_compare);
    x->out->lines = lines;
    x->out->n_lines = n;
    x->out->files = files;
    x->out->n_files = x->files.n;
}

void catalog_import_write(struct buf *b, const struct catalog_import *i)
{
    uint32_t kinds[IMPORT_KIND_COUNT] = {0};

    for (size_t k = 0; k < i->n_lines; k++) {
        const struct import_line *l = &i->lines[k];
        kinds[l->kind]++;
        buf_put(b, l->file.s, l->file.n);
        if (l->line)
            buf_printf(b, ":%u", l->line);
        buf_printf(b, ": %s: %s: %s\n", import_kind_name((enum import_kind)l->kind), l->what,
                   l->why);
    }
    if (i->counts.graphs)
        buf_printf(b, "imported %u stages, groups and tasks of %s in %s\n", i->counts.vertices,
                   text_count(i->counts.files, "file").s, text_count(i->counts.graphs, "graph").s);
    else if (i->counts.templates + i->counts.hardware + i->counts.images + i->counts.providers)
        buf_printf(
            b, "imported %s, %s, %s, %s and %s of %s\n",
            text_count(i->counts.templates, "template").s, text_count(i->counts.roles, "service").s,
            text_count(i->counts.hardware, "hardware type").s,
            text_count(i->counts.images, "image").s, text_count(i->counts.providers, "provider").s,
            text_count(i->counts.files, "file").s);
    else
        buf_printf(
            b,
            "imported %u barclamps of %u files, %u jigs, %u roles, %u attributes of roles and %u "
            "of nodes, %u requires, %u wants, %u scripts\n",
            i->counts.barclamps, i->counts.files, i->counts.jigs, i->counts.roles,
            i->counts.attributes, i->counts.node_attributes, i->counts.requires, i->counts.wants,
            i->counts.scripts);
    for (unsigned k = 0; k < IMPORT_KIND_COUNT; k++)
        buf_printf(b, "%s%u %s", k ? ", " : "", kinds[k], import_kind_name(k));
    buf_puts(b, "\n");
}
