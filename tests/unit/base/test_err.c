/* test_err.c - errors: codes, cutting, context and format */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/err.h"

#include <errno.h>

#include "base/text.h"
#include "tap.h"

static void test_codes(void)
{
    bool named = true, status = true, leaves = true;
    for (int c = ERR_NONE + 1; c < ERR_COUNT; c++) {
        named = named && err_name((enum errcode)c)[0];
        status = status && err_http((enum errcode)c) >= 400 && err_http((enum errcode)c) < 600;
        leaves = leaves && err_exit((enum errcode)c) > 0 && err_exit((enum errcode)c) < 126;
        for (int d = ERR_NONE + 1; d < c; d++)
            named = named && strcmp(err_name((enum errcode)c), err_name((enum errcode)d)) != 0;
    }
    ok(named, "every code has a name of its own");
    ok(status, "every code has an HTTP error status");
    ok(leaves, "every code has an exit status");
    is_text(err_name(ERR_CYCLE), "cycle", "a name");
    is_int(err_http(ERR_NOT_FOUND), 404, "a status");
    is_int(err_exit(ERR_TIMEOUT), 10, "an exit code");
    is_int(err_exit(ERR_NONE), 0, "no error leaves with 0");
    is_text(err_name((enum errcode)999), "internal", "an unknown code is ours to fix");
}

static void test_set(void)
{
    struct err e = {.sys = 5, .at = "old", .line = "old", .hint = "old"};
    is_int(err_set(&e, ERR_REFUSED, "role %s", "db"), -ERR_REFUSED, "err_set returns -code");
    is_text(e.text, "role db", "text");
    ok(!e.sys && !e.at[0] && !e.line[0] && !e.hint[0], "the rest is cleared");
    is_int(err_at(&e, "%s:%d:%d", "a.yaml", 3, 4), -ERR_REFUSED, "err_at returns -code");
    is_int(err_hint(&e, "bind %s first", "os"), -ERR_REFUSED, "err_hint returns -code");
    is_int(err_line(&e, "  db: 1\nnext", 12), -ERR_REFUSED, "err_line returns -code");
    is_int(err_wrap(&e, "deploy %s", "web"), -ERR_REFUSED, "err_wrap returns -code");
    char out[1200];
    is_text(err_format(&e, out, sizeof out),
            "a.yaml:3:4: deploy web: role db\n      db: 1\n  bind os first", "formatted");
    is_text(err_format(&e, out, 8), "a.yaml:", "formatted into little room");
    ok(err_format(&e, out, 0) == out, "formatted into none");
    is_text(err_format(NULL, out, sizeof out), "", "no error has no text");
    is_int(err_set(&e, ERR_INVALID, "was: %s", e.text), -ERR_INVALID, "an argument inside the err");
    is_text(e.text, "was: deploy web: role db", "is read before it is overwritten");
    err_clear(&e);
    is_text(err_format(&e, out, sizeof out), "", "cleared");
    is_int(err_hint(&e, "x"), -ERR_INTERNAL, "an addition to no error is not success");
}

static void test_sys(void)
{
    struct err e;
    is_int(err_sys(&e, ERR_IO, ENOENT, "open %s", "/x"), -ERR_IO, "err_sys returns -code");
    is_text(e.text, "open /x: No such file or directory", "with the system's words");
    is_int(e.sys, ENOENT, "and its number");
    err_sys(&e, ERR_IO, 0, "open %s", "/x");
    is_text(e.text, "open /x", "no number, no words");
    err_sys(&e, ERR_IO, ENOENT, "%510d", 1);
    ok(strlen(e.text) <= sizeof e.text - 1 && strlen(e.text) >= 510, "no room for the words");
}

static void test_null(void)
{
    is_int(err_set(NULL, ERR_CYCLE, "x"), -ERR_CYCLE, "err_set(NULL)");
    is_int(err_sys(NULL, ERR_IO, 1, "x"), -ERR_IO, "err_sys(NULL)");
    is_int(err_at(NULL, "x"), -ERR_INTERNAL, "err_at(NULL) is not success");
    is_int(err_hint(NULL, "x"), -ERR_INTERNAL, "err_hint(NULL) is not success");
    is_int(err_line(NULL, "x", 1), -ERR_INTERNAL, "err_line(NULL) is not success");
    is_int(err_wrap(NULL, "x"), -ERR_INTERNAL, "err_wrap(NULL) is not success");
    err_clear(NULL);
}

/* Whatever the length, a cut never leaves half a character. */
static void test_cuts(void)
{
    struct err e;
    char wide[2000] = "";
    for (int i = 0; i < 600; i++)
        strcat(wide, i % 3 == 0 ? "\xE2\x82\xAC" : i % 3 == 1 ? "\xF0\x9F\x98\x80" : "\xC3\xA9");
    bool valid = true, full = true;
    for (int lead = 0; lead < 12; lead++) {
        err_set(&e, ERR_INVALID, "%.*s%s", lead, "aaaaaaaaaaaa", wide);
        err_at(&e, "%.*s%s", lead, "aaaaaaaaaaaa", wide);
        err_hint(&e, "%.*s%s", lead, "aaaaaaaaaaaa", wide);
        err_line(&e, wide + 9 * lead, strlen(wide) - 9 * (size_t)lead);
        valid = valid && text_utf8_valid(e.text, strlen(e.text)) &&
                text_utf8_valid(e.at, strlen(e.at)) && text_utf8_valid(e.hint, strlen(e.hint)) &&
                text_utf8_valid(e.line, strlen(e.line));
        full = full && strlen(e.text) > sizeof e.text - 5 && strlen(e.at) > sizeof e.at - 5 &&
               strlen(e.hint) > sizeof e.hint - 5 && strlen(e.line) > sizeof e.line - 5;
        err_wrap(&e, "%.*s", lead, "aaaaaaaaaaaa");
        valid = valid && text_utf8_valid(e.text, strlen(e.text));
        err_wrap(&e, "%s", wide);
        valid = valid && text_utf8_valid(e.text, strlen(e.text));
        char out[700];
        for (size_t n = 1; n < 40; n++) {
            err_format(&e, out, n);
            valid = valid && strlen(out) < n && text_utf8_valid(out, strlen(out));
        }
    }
    ok(valid, "no cut leaves half a character");
    ok(full, "and none cuts more than it must");
}

static void test_line(void)
{
    struct err e;
    err_set(&e, ERR_SYNTAX, "x");
    err_line(&e, "a\tb\r\nc", 6);
    is_text(e.line, "a b", "a tab is a space, CRLF ends the line");
    err_line(&e, "a\x1b[31m\xff", 7);
    is_text(e.line, "a?[31m?", "what could drive a terminal is replaced");
    err_line(&e, "a\rb", 3);
    is_text(e.line, "a?b", "a lone CR too");
    err_line(&e, "ab\r", 3);
    is_text(e.line, "ab", "unless the text ends there");
    err_line(&e, "", 0);
    is_text(e.line, "", "an empty line");
}

int main(void)
{
    test_codes();
    test_set();
    test_sys();
    test_null();
    test_cuts();
    test_line();
    return tap_done();
}
