/* shell_preview.c - what the jigs shell and script would run, for people
 *
 * Written as a shell would take it: arguments in quotes where they need some.  Of the environment
 * only names, and nothing of the data that the program would get: a log is read by more people than
 * those are.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "jig/shell_i.h"

static void put_word(struct buf *b, struct str word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "_-./:=,@%+";
    bool bare = word.n > 0;
    for (size_t i = 0; bare && i < word.n; i++)
        bare = strchr(plain, word.s[i]) != NULL;
    buf_putc(b, ' ');
    if (bare) {
        buf_put(b, word.s, word.n);
        return;
    }
    buf_putc(b, '\'');
    for (size_t i = 0; i < word.n; i++) {
        if (word.s[i] == '\'')
            buf_puts(b, "'\\'");
        buf_putc(b, word.s[i]);
    }
    buf_putc(b, '\'');
}

static void put_words(struct buf *b, const struct value *list)
{
    for (uint32_t i = 0; list && i < list->n; i++)
        put_word(b, value_as_str(&list->items[i]));
    buf_putc(b, '\n');
}

static void put_script(struct buf *b, struct str text)
{
    buf_puts(b, " /bin/sh, with\n");
    buf_put(b, text.s, text.n);
    if (text.n && text.s[text.n - 1] != '\n')
        buf_putc(b, '\n');
}

void shell_preview_log(enum shell_form form, const struct jig_env *env,
                       const struct task_request *req)
{
    const struct value *names = value_get(req->params, "env");
    SCOPED_BUF(b);
    buf_printf(&b, "would run in %s:", value_as_text(value_get(req->params, "cwd"), "/"));
    switch (form) {
    case SHELL_COMMAND: put_words(&b, value_get(req->params, "command")); break;
    case SHELL_SCRIPT: put_script(&b, value_as_str(value_get(req->params, "script"))); break;
    case SHELL_FILE:
        put_word(&b, value_as_str(value_get(req->params, "file")));
        put_words(&b, value_get(req->params, "args"));
        break;
    }
    if (names && names->n) {
        buf_puts(&b, "with its own");
        for (uint32_t i = 0; i < names->n; i++)
            put_word(&b, (struct str){names->members[i].key, names->members[i].key_n});
        buf_putc(&b, '\n');
    }
    env->log(env->ctx, 1, b.data, b.len);
}
