/* test_tables.c - docs/expressions.md and docs/hooks.md say what is built in, and nothing else */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/alloc.h"
#include "base/map.h"
#include "base/str.h"
#include "tap.h"
#include "template/hook.h"

static void page_read(const char *path, struct buf *ret)
{
    char piece[4096];
    size_t n;
    FILE *f = fopen(path, "rb");
    while (f && (n = fread(piece, 1, sizeof piece, f)) > 0)
        buf_put(ret, piece, n);
    if (f)
        fclose(f);
}

/* The rows of the section with that heading: "`a(b c)`, `d(e)`" becomes words "a(b c)" and "d(e)".
 */
static void section_words(const char *page, const char *heading, struct strmap *ret)
{
    const char *at = strstr(page, heading);
    const char *end = at ? strstr(at + 3, "\n## ") : NULL;
    if (!at)
        return;
    end = end ? end : at + strlen(at);
    while (at < end) {
        size_t n = strcspn(at, "\n");
        const char *cell = at, *stop = at + n;
        if (strncmp(at, "| `", 3) == 0) {
            const char *close = strstr(at + 2, " | ");
            stop = close && close < stop ? close : stop;
            while (cell < stop && (cell = memchr(cell, '`', (size_t)(stop - cell)))) {
                const char *tick = memchr(cell + 1, '`', (size_t)(stop - cell - 1));
                if (!tick)
                    break;
                strmap_put(ret, (struct str){cell + 1, (size_t)(tick - cell - 1)}, 0);
                cell = tick + 1;
            }
        }
        at += n + 1;
    }
}

static void check_table(const char *page, enum expr_table table, const char *heading)
{
    struct strmap words = {0};
    const char *name, *params;
    section_words(page, heading, &words);
    for (size_t i = 0; expr_builtin_at(table, i, &name, &params); i++) {
        SCOPED_BUF(want);
        buf_printf(&want, "%s(%s)", name, params);
        ok(strmap_get(&words, buf_str(&want), NULL), "%s: %s is described", heading, want.data);
        strmap_put(&words, buf_str(&want), 1);
    }
    for (size_t i = 0; i < words.n; i++)
        ok(words.at[i].val == 1, "%s: %s exists", heading, words.at[i].key);
    strmap_done(&words);
    ok(!expr_builtin_at(table, 1000, &name, &params), "%s has an end", heading);
}

static void check_events(const char *page)
{
    for (int i = 0; i < HOOK_EVENT_COUNT; i++) {
        SCOPED_BUF(row);
        unsigned verbs = hook_event_verbs((enum hook_event)i);
        buf_printf(&row, "| `%s` |", hook_event_name((enum hook_event)i));
        for (int v = 0; v < HOOK_VERB_COUNT; v++)
            if (verbs >> v & 1)
                buf_printf(&row, " %s", hook_verb_name((enum hook_verb)v));
        buf_puts(&row, " |");
        ok(strstr(page, row.data), "the page has %s", row.data);
    }
    for (int v = 0; v < HOOK_VERB_COUNT; v++) {
        SCOPED_BUF(row);
        buf_printf(&row, "| `%s: ", hook_verb_name((enum hook_verb)v));
        ok(strstr(page, row.data), "the page has %s", row.data);
    }
}

/* The page for those who write hooks. */
static void check_hooks(const char *page)
{
    static const char *const names[] = {
#define X(id, name, events) name,
        HOOK_NAMES(X)
#undef X
    };
    const char *builtin;
    uint32_t events;
    for (int i = 0; i < HOOK_EVENT_COUNT; i++) {
        SCOPED_BUF(row);
        buf_printf(&row, "\n| `%s` | ", hook_event_name((enum hook_event)i));
        ok(strstr(page, row.data), "the page says when %s is", hook_event_name((enum hook_event)i));
    }
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        SCOPED_BUF(row);
        buf_printf(&row, "\n| `%s` | ", names[i]);
        ok(strstr(page, row.data), "the page says what %s is", names[i]);
    }
    for (size_t i = 0; hook_builtin_at(i, &builtin, &events); i++) {
        SCOPED_BUF(row);
        buf_printf(&row, "\n| `%s` |", builtin);
        for (int k = 0; k < HOOK_EVENT_COUNT; k++)
            if (events >> k & 1)
                buf_printf(&row, " `%s`", hook_event_name((enum hook_event)k));
        buf_puts(&row, " | ");
        ok(strstr(page, row.data), "the page has %s and its events", builtin);
    }
}

static void check_limits(const char *page)
{
    static const int limits[] = {EXPR_MAX_SOURCE, EXPR_MAX_DEPTH, EXPR_MAX_STEPS,
                                 EXPR_MAX_BYTES,  EXPR_MAX_ARGS,  EXPR_MAX_TREE};
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        SCOPED_BUF(row);
        buf_printf(&row, "\n| %d | ", limits[i]);
        ok(strstr(page, row.data), "the page has the limit %d", limits[i]);
    }
}

int main(int argc, char **argv)
{
    SCOPED_BUF(page);
    SCOPED_BUF(hooks);
    if (argc > 2) {
        page_read(argv[1], &page);
        page_read(argv[2], &hooks);
    }
    if (!ok(page.len > 1000 && hooks.len > 1000, "there are pages"))
        return tap_done();
    check_hooks(hooks.data);
    check_table(page.data, EXPR_TABLE_FILTERS, "## Filters");
    check_table(page.data, EXPR_TABLE_TESTS, "## Tests");
    check_table(page.data, EXPR_TABLE_FUNCTIONS, "## Functions");
    check_events(page.data);
    check_limits(page.data);
    const char *name, *params;
    ok(!expr_builtin_at(EXPR_TABLE_COUNT, 0, &name, &params), "there is no other table");
    return tap_done();
}
