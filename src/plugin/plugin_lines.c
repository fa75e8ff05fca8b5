/* plugin_lines.c - reads a plugin's lines and judges them */
/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/json.h"
#include "base/mask.h"
#include "base/text.h"
#include "plugin/plugin_lines.h"

enum { LINES_DEPTH = 64, TEXT_SHOWN = 150, REMEDY_SHOWN = 80 };

void plugin_lines_init(struct plugin_lines *l, struct arena *mem, struct mask *mask,
                       void (*log)(void *ctx, struct str text), void *ctx)
{
    *l = (struct plugin_lines){.mem = mem, .mask = mask, .log = log, .ctx = ctx};
}

void plugin_lines_done(struct plugin_lines *l)
{
    buf_done(&l->line);
}

/* --- what it must not do --- */

__attribute__((format(printf, 2, 3))) static void fault(struct plugin_lines *l, const char *fmt,
                                                        ...)
{
    va_list ap;
    if (l->fault[0])
        return;
    va_start(ap, fmt);
    vsnprintf(l->fault, sizeof l->fault, fmt, ap);
    va_end(ap);
}

/* Control characters and broken ones become dots: it goes to people's terminals. */
static void put_shown(struct buf *b, struct str s, size_t most)
{
    size_t n = s.n < most ? s.n : most;
    for (size_t i = 0; i < n;) {
        size_t good = text_utf8_prefix(s.s + i, n - i);
        for (size_t k = i; k < i + good; k++)
            buf_putc(b, (unsigned char)s.s[k] < ' ' || s.s[k] == 0x7f ? '.' : s.s[k]);
        i += good;
        if (i < n) {
            buf_putc(b, '.');
            i++;
        }
    }
    if (n < s.n)
        buf_puts(b, "...");
}

static void stray(struct plugin_lines *l, const char *why)
{
    fault(l, "line %u of its output %s", l->number, why);
    if (l->strays++ < LINES_STRAY_LOGGED) {
        SCOPED_BUF(b);
        buf_printf(&b, "plugin: line %u %s: ", l->number, why);
        SCOPED_BUF(told);
        if (l->mask)
            mask_text(l->mask, buf_str(&l->line), &told);
        put_shown(&b, buf_str(l->mask ? &told : &l->line), LINES_STRAY_SHOWN);
        buf_putc(&b, '\n');
        l->log(l->ctx, buf_str(&b));
    }
    if (l->strays > LINES_STRAY_MOST)
        l->over = true;
}

/* --- lines --- */

static void say(struct plugin_lines *l, struct str text)
{
    SCOPED_BUF(b);
    buf_put(&b, text.s, text.n);
    if (!text.n || text.s[text.n - 1] != '\n')
        buf_putc(&b, '\n');
    l->log(l->ctx, buf_str(&b));
}

static bool read_log(struct plugin_lines *l, const struct value *map, const struct value *v)
{
    (void)map;
    if (v->kind != VALUE_STRING)
        return false;
    say(l, value_as_str(v));
    return true;
}

static bool as_number(const struct value *v, double *ret)
{
    if (v->kind != VALUE_INT && v->kind != VALUE_REAL)
        return false;
    *ret = v->kind == VALUE_INT ? (double)v->i : v->r;
    return true;
}

static bool read_progress(struct plugin_lines *l, const struct value *map, const struct value *v)
{
    struct str text = value_as_str(value_get(map, "text"));
    double part;
    SCOPED_BUF(b);
    if (!as_number(v, &part) || !(part >= 0 && part <= 1))
        return false;
    buf_printf(&b, "%d%%%s", (int)(part * 100), text.n ? " " : "");
    buf_put(&b, text.s, text.n);
    say(l, buf_str(&b));
    return true;
}

static bool is_answered(const struct plugin_lines *l)
{
    return l->result || l->again || l->error;
}

static bool read_result(struct plugin_lines *l, const struct value *map, const struct value *v)
{
    (void)map;
    if (v->kind != VALUE_MAP)
        return false;
    l->result = value_copy(l->mem, v);
    return true;
}

/* One line for people: what it says, and in brackets what to do. */
static void text_keep(struct plugin_lines *l, const char *before, struct str text,
                      struct str remedy)
{
    SCOPED_BUF(b);
    buf_puts(&b, before);
    put_shown(&b, text, remedy.n ? TEXT_SHOWN : TEXT_SHOWN + REMEDY_SHOWN);
    if (remedy.n) {
        buf_puts(&b, " (");
        put_shown(&b, remedy, REMEDY_SHOWN);
        buf_putc(&b, ')');
    }
    snprintf(l->text, sizeof l->text, "%s", b.data);
}

static bool read_again(struct plugin_lines *l, const struct value *map, const struct value *v)
{
    const struct value *in = value_get(v, "in"), *watch = value_get(v, "watch");
    double seconds;
    (void)map;
    if (v->kind != VALUE_MAP || !in || !as_number(in, &seconds) ||
        !(seconds >= 0 && seconds <= LINES_AGAIN_MOST_S) || (watch && watch->kind != VALUE_STRING))
        return false;
    l->again = true;
    l->again_ms = (uint64_t)llround(seconds * 1000);
    if (watch)
        text_keep(l, "waits for ", value_as_str(watch), (struct str){"", 0});
    return true;
}

static bool read_error(struct plugin_lines *l, const struct value *map, const struct value *v)
{
    const struct value *text = value_get(v, "text"), *remedy = value_get(v, "remedy");
    (void)map;
    if (v->kind != VALUE_MAP || !value_as_str(text).n || (remedy && remedy->kind != VALUE_STRING))
        return false;
    l->error = true;
    text_keep(l, "", value_as_str(text), value_as_str(remedy));
    return true;
}

static const struct line_form {
    const char *key;
    bool answer;
    bool (*read)(struct plugin_lines *l, const struct value *map, const struct value *v);
} forms[] = {
    {"log", false, read_log},    {"progress", false, read_progress}, {"result", true, read_result},
    {"again", true, read_again}, {"error", true, read_error},
};

static const struct line_form *form_of(const struct value *v)
{
    const struct line_form *form = NULL;
    for (size_t i = 0; value_is(v, VALUE_MAP) && i < sizeof forms / sizeof *forms; i++) {
        if (!value_get(v, forms[i].key))
            continue;
        if (form)
            return NULL;
        form = &forms[i];
    }
    return form;
}

static void line_read(struct plugin_lines *l)
{
    SCOPED_ARENA(mem);
    struct json_options o = {.max_depth = LINES_DEPTH};
    struct value *v = NULL;
    size_t n = l->line.len;
    l->number++;
    while (n && strchr(" \t\r", l->line.data[n - 1]))
        n--;
    if (n == 0)
        return; /* an empty line says nothing, and does no harm */
    if (json_parse(&mem, l->line.data, n, &o, &v, NULL) < 0) {
        stray(l, "is not JSON");
        return;
    }
    bool named = l->mask && !mask_values(l->mask, &mem, v);
    const struct line_form *form = form_of(v);
    if (named)
        stray(l, "has a secret as the name of a value");
    else if (!form)
        stray(l, "is not a map with one of log, progress, result, again and error");
    else if (form->answer && is_answered(l))
        stray(l, "is a second answer");
    else if (!form->read(l, v, value_get(v, form->key)))
        stray(l, "has a value that is not of its kind");
}

bool plugin_lines_feed(struct plugin_lines *l, struct str bytes)
{
    l->bytes += bytes.n;
    while (!l->over && bytes.n) {
        const char *end = memchr(bytes.s, '\n', bytes.n);
        size_t n = end ? (size_t)(end - bytes.s) : bytes.n;
        if (l->line.len + n > LINES_LINE_BYTES) {
            l->number++;
            fault(l, "line %u of its output is longer than %d bytes", l->number,
                  (int)LINES_LINE_BYTES);
            l->over = true;
            break;
        }
        buf_put(&l->line, bytes.s, n);
        bytes.s += n;
        bytes.n -= n;
        if (!end)
            break;
        bytes.s++;
        bytes.n--;
        line_read(l);
        buf_clear(&l->line);
    }
    if (!l->over && l->bytes > LINES_ALL_BYTES) {
        fault(l, "it wrote more than %d bytes", (int)LINES_ALL_BYTES);
        l->over = true;
    }
    return !l->over;
}

void plugin_lines_end(struct plugin_lines *l)
{
    if (!l->over && l->line.len)
        line_read(l);
    buf_clear(&l->line);
}

/* --- the end --- */

#define SAY(v, ...) snprintf((v)->text, sizeof(v)->text, __VA_ARGS__)

static void say_status(struct plugin_verdict *v, int status, const char *last_line)
{
    const char *sep = *last_line ? ": " : "";
    if (status > 128 && status <= 128 + 64)
        SAY(v, "ended by signal %d%s%.200s", status - 128, sep, last_line);
    else
        SAY(v, "exit status %d%s%.200s", status, sep, last_line);
}

void plugin_lines_judge(const struct plugin_lines *l, int status, const char *last_line,
                        struct plugin_verdict *ret)
{
    struct plugin_verdict v = {.outcome = OUTCOME_FAILED};
    if (l->over)
        SAY(&v, "it was ended: %.230s", l->fault);
    else if (l->error)
        SAY(&v, "%s", l->text);
    else if (status != 0)
        say_status(&v, status, last_line);
    else if (l->fault[0])
        SAY(&v, "it does not keep to the protocol: %.200s", l->fault);
    else if (l->again) {
        v.outcome = OUTCOME_AGAIN;
        v.again_ms = l->again_ms;
        SAY(&v, "%s", l->text);
    } else if (l->result) {
        v.outcome = OUTCOME_OK;
        v.returns = l->result;
    } else {
        SAY(&v, "it ended without a result");
    }
    *ret = v;
}
