/* cli_output.c - results to standard output, everything else to standard error
 *
 * A result is printed in one of four forms from the same value: a table or sheet for people, the
 * server's object as JSON (indented on a terminal) or YAML, or names only for shell loops.  A
 * script that asked for JSON gets JSON errors too.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli_i.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/yaml.h"
#include "cli/table_i.h"

struct look cli_look(const struct cli *c, bool to_err)
{
    struct look l = {.color = to_err ? c->color_err : c->color_out, .utf8 = c->utf8};
    if (to_err ? c->env->err_tty : c->env->out_tty) {
        int lines;
        c->env->size(c->env->arg, &l.columns, &lines);
    }
    return l;
}

void cli_put(struct cli *c, const struct buf *b)
{
    (void)fwrite(buf_str(b).s, 1, b->len, c->env->out); /* checked once, at the end */
}

__attribute__((format(printf, 3, 0))) static void line_say(FILE *f, const char *prefix,
                                                           const char *fmt, va_list ap)
{
    SCOPED_BUF(b);
    char *text = NULL;
    if (vasprintf(&text, fmt, ap) < 0)
        abort();
    term_clean(&b, text, strlen(text), TERM_LINES);
    free(text);
    (void)fprintf(f, "%s%s\n", prefix, buf_str(&b).s);
}

void cli_say(struct cli *c, const char *fmt, ...)
{
    va_list ap;
    if (c->quiet)
        return;
    va_start(ap, fmt);
    line_say(c->env->out, "", fmt, ap);
    va_end(ap);
}

void cli_warn(struct cli *c, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    line_say(c->env->err, "anneal: ", fmt, ap);
    va_end(ap);
}

static void name_print(struct buf *b, const struct value *v, const char *path)
{
    const struct value *name = value_at(v, path);
    if (value_is(name, VALUE_STRING))
        term_clean(b, name->s, name->n, 0);
    else if (name)
        json_write(b, name, 0);
    buf_putc(b, '\n');
}

bool cli_print_data(struct cli *c, const struct value *v, const char *name_path)
{
    SCOPED_BUF(b);
    const struct value *items = value_get(v, "items");
    if (c->format == OUT_TABLE)
        return false;
    if (c->format == OUT_JSON) {
        json_write(&b, v, c->env->out_tty ? 2 : 0);
        buf_putc(&b, '\n');
    } else if (c->format == OUT_YAML) {
        yaml_write(&b, v);
    } else if (value_is(items, VALUE_LIST)) {
        for (uint32_t i = 0; i < items->n; i++)
            name_print(&b, &items->items[i], name_path);
    } else {
        name_print(&b, v, name_path);
    }
    cli_put(c, &b);
    return true;
}

static void table_fill(struct cli *c, struct table *t, const struct value *items,
                       const struct field *fields, const struct look *look)
{
    int64_t now = c->env->wall_ms(c->env->arg);
    for (const struct field *f = fields; f->title; f++)
        if (c->verbose || !(f->flags & COLUMN_WIDE))
            table_column(t, f->title, f->flags);
    for (uint32_t i = 0; i < items->n; i++)
        for (const struct field *f = fields; f->title; f++) {
            if (!c->verbose && f->flags & COLUMN_WIDE)
                continue;
            struct cell cell = field_cell(&c->mem, f, &items->items[i], now, look);
            if (!*cell.s)
                cell = (struct cell){"-", 1, STYLE_DIM};
            table_cell(t, cell.style, cell.s);
        }
}

void cli_print_list(struct cli *c, const struct value *list, const struct field *fields,
                    const char *name_path, const char *what)
{
    SCOPED_BUF(b);
    struct table t;
    const struct value *items = value_get(list, "items");
    if (cli_print_data(c, list, name_path))
        return;
    if (!value_is(items, VALUE_LIST) || !items->n) {
        if (!c->quiet)
            (void)fprintf(c->env->err, "no %s\n", what);
        return;
    }
    struct look look = cli_look(c, false);
    table_init(&t, &c->mem);
    table_fill(c, &t, items, fields, &look);
    table_draw(&t, &look, &b);
    table_done(&t);
    cli_put(c, &b);
    int64_t total = value_as_int(value_get(list, "total"), items->n);
    if (total > items->n && !c->quiet)
        (void)fprintf(c->env->err, "(%u of %lld %s)\n", items->n, (long long)total, what);
}

static void sheet_draw(struct cli *c, struct buf *b, const struct value *v,
                       const struct field *fields)
{
    const struct look look = cli_look(c, false);
    int64_t now = c->env->wall_ms(c->env->arg);
    int left = 0;
    for (const struct field *f = fields; f->title; f++)
        if ((int)strlen(f->title) > left)
            left = (int)strlen(f->title);
    struct pen pen = {.b = b, .look = &look};
    for (const struct field *f = fields; f->title; f++) {
        struct cell cell = field_cell(&c->mem, f, v, now, &look);
        if (!*cell.s)
            continue;
        SCOPED_BUF(clean);
        term_clean(&clean, cell.s, strlen(cell.s), 0);
        pen_put(&pen, STYLE_DIM, "%s", f->title);
        pen_to(&pen, left + 2);
        term_styled(b, &look, cell.style, buf_str(&clean).s); /* a sheet may wrap: nothing is cut */
        pen_end(&pen);
    }
}

bool cli_print_sheet(struct cli *c, const struct value *v, const struct field *fields,
                     const char *name_path)
{
    SCOPED_BUF(b);
    if (cli_print_data(c, v, name_path))
        return false;
    sheet_draw(c, &b, v, fields);
    cli_put(c, &b);
    return true;
}

void cli_print_section(struct cli *c, const char *heading, const struct value *items,
                       const struct field *fields)
{
    SCOPED_BUF(b);
    struct table t;
    if (!value_is(items, VALUE_LIST) || !items->n)
        return;
    struct look look = cli_look(c, false);
    buf_putc(&b, '\n');
    term_styled(&b, &look, STYLE_BOLD, heading);
    buf_putc(&b, '\n');
    table_init(&t, &c->mem);
    table_fill(c, &t, items, fields, &look);
    table_draw(&t, &look, &b);
    table_done(&t);
    cli_put(c, &b);
}

void cli_print_document(struct cli *c, const char *heading, const struct value *v)
{
    SCOPED_BUF(text);
    SCOPED_BUF(b);
    if (!v || v->kind == VALUE_NULL ||
        ((v->kind == VALUE_MAP || v->kind == VALUE_LIST) && v->n == 0))
        return;
    struct look look = cli_look(c, false);
    buf_putc(&b, '\n');
    term_styled(&b, &look, STYLE_BOLD, heading);
    buf_putc(&b, '\n');
    yaml_write(&text, v);
    for (const char *p = buf_str(&text).s; *p;) {
        size_t n = strcspn(p, "\n");
        buf_puts(&b, "  ");
        term_clean(&b, p, n, TERM_LINES);
        buf_putc(&b, '\n');
        p += n + (p[n] == '\n');
    }
    cli_put(c, &b);
}

void cli_done(struct cli *c, const struct value *v, const char *name_path, const char *fmt, ...)
{
    va_list ap;
    if (v && cli_print_data(c, v, name_path))
        return;
    if (c->quiet || c->format != OUT_TABLE)
        return;
    va_start(ap, fmt);
    line_say(c->env->out, "", fmt, ap);
    va_end(ap);
}

static void problem_print(struct buf *b, const struct err *e)
{
    struct jsonw w;
    jsonw_init(&w, b);
    jsonw_map(&w);
    jsonw_key(&w, "type");
    SCOPED_BUF(type);
    buf_printf(&type, "urn:anneal:error:%s", err_name(e->code));
    jsonw_text(&w, type.data);
    jsonw_key(&w, "title");
    jsonw_text(&w, err_name(e->code));
    jsonw_key(&w, "status");
    jsonw_i64(&w, err_http(e->code));
    const struct {
        const char *key, *text;
    } rest[] = {{"detail", e->text}, {"pointer", e->at}, {"line", e->line}, {"hint", e->hint}};
    for (size_t i = 0; i < sizeof rest / sizeof *rest; i++) {
        if (!*rest[i].text)
            continue;
        jsonw_key(&w, rest[i].key);
        jsonw_text(&w, rest[i].text);
    }
    jsonw_end(&w);
    buf_putc(b, '\n');
}

/* The column at the end of "file:line:column"; 0 if there is none. */
static int column_of(const char *at)
{
    const char *colon = strrchr(at, ':');
    int column;
    char end;
    if (!colon || colon == at || sscanf(colon + 1, "%d%c", &column, &end) != 1)
        return 0;
    while (colon > at && colon[-1] >= '0' && colon[-1] <= '9')
        colon--;
    return colon > at && colon[-1] == ':' && column > 0 ? column : 0;
}

/* The column of the caret with which selectors and expressions begin their hint, to be put below
 * their line, two columns to the right of it; 0 if there is none. */
static int hint_caret(const struct err *e)
{
    size_t n = strspn(e->hint, " ");
    return *e->line && n >= 2 && e->hint[n] == '^' ? (int)n - 1 : 0;
}

static void hint_put(struct pen *pen, const struct err *e, enum style style, const char *title)
{
    const char *hint = e->hint + (hint_caret(e) ? hint_caret(e) + 2 : 0); /* what is behind it */
    hint += strspn(hint, " ");
    if (!*hint)
        return;
    pen_put(pen, style, "%s", title);
    pen_put(pen, STYLE_PLAIN, " %s", hint);
    pen_end(pen);
}

void cli_put_source(struct pen *pen, const struct err *e)
{
    int column = hint_caret(e) ? hint_caret(e) : column_of(e->at);
    if (!*e->line)
        return;
    pen_put(pen, STYLE_PLAIN, "    %s", e->line);
    pen_end(pen);
    size_t n = 0; /* bytes of the characters before the column */
    for (int left = column - 1; left > 0 && e->line[n]; left--)
        do
            n++;
        while ((e->line[n] & 0xc0) == 0x80);
    if (!column || (!e->line[n] && !hint_caret(e)))
        return;
    pen_to(pen, 4 + term_width(e->line, n));
    pen_put(pen, STYLE_GOOD, "^");
    pen_end(pen);
}

void cli_put_finding(struct pen *pen, const char *severity, const struct err *e)
{
    enum style style = !strcmp(severity, "error")     ? STYLE_BAD
                       : !strcmp(severity, "warning") ? STYLE_WARN
                                                      : STYLE_DIM;
    if (*e->at)
        pen_put(pen, STYLE_BOLD, "%s: ", e->at);
    pen_put(pen, style, "%s: ", severity);
    pen_put(pen, STYLE_PLAIN, "%s", e->text);
    pen_end(pen);
    cli_put_source(pen, e);
    hint_put(pen, e, STYLE_DIM, "    hint:");
}

void cli_report(struct cli *c, const struct err *e)
{
    SCOPED_BUF(b);
    const struct look look = {.color = c->color_err, .utf8 = c->utf8};
    if (c->format == OUT_JSON) {
        problem_print(&b, e);
    } else {
        struct pen pen = {.b = &b, .look = &look};
        struct err typed = *e;
        cli_place_name(c->line.verb, &typed);
        pen_put(&pen, STYLE_BAD, "anneal:");
        pen_put(&pen, STYLE_PLAIN, " %s%s%s", typed.at, *typed.at ? ": " : "", e->text);
        pen_end(&pen);
        cli_put_source(&pen, e);
        hint_put(&pen, e, STYLE_BOLD, "hint:");
    }
    (void)fwrite(b.data, 1, b.len, c->env->err);
}
