/* host_words.c - a command of a unit file to an argument vector, and back
 *
 * Words are separated by blanks.  Quotes of either kind join, inside and outside of them a
 * backslash takes the next character as it is, but for the usual letters (\n \t and so on).
 * ${NAME} is replaced where it stands; $NAME that is a whole word becomes as many words as its
 * value has; $$ is one $.  There is no shell.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <string.h>

#include "host/host_unit_i.h"

struct words {
    struct arena *mem;
    const char *const *env;
    VEC(const char *) argv;
};

static bool in_name(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

static const char *variable(const struct words *w, struct str name)
{
    const char *found = "";
    for (const char *const *v = w->env; *v; v++)
        if (strncmp(*v, name.s, name.n) == 0 && (*v)[name.n] == '=')
            found = *v + name.n + 1;
    return found;
}

static void push(struct words *w, const char *p, size_t n)
{
    vec_push(&w->argv, arena_strndup(w->mem, p, n));
}

/* $NAME as a whole word: its value, split at blanks. */
static void push_split(struct words *w, const char *value)
{
    for (;;) {
        value += strspn(value, " \t\n");
        size_t n = strcspn(value, " \t\n");
        if (!n)
            return;
        push(w, value, n);
        value += n;
    }
}

static char unescaped(char c)
{
    static const char from[] = "abfnrtvs", to[] = "\a\b\f\n\r\t\v ";
    const char *at = c ? strchr(from, c) : NULL;
    return at ? to[at - from] : c;
}

/* At a $; returns how many characters it took. */
static size_t put_variable(const struct words *w, const char *p, struct buf *b)
{
    if (p[1] == '$') {
        buf_putc(b, '$');
        return 2;
    }
    if (p[1] == '{') {
        size_t n = strcspn(p + 2, "}");
        if (p[2 + n] == '}') {
            buf_puts(b, variable(w, (struct str){p + 2, n}));
            return n + 3;
        }
    }
    buf_putc(b, '$');
    return 1;
}

/* One word from p on, which is not a blank; NULL if a quote does not end. */
static const char *take_word(struct words *w, const char *p)
{
    SCOPED_BUF(b);
    char quote = '\0';
    for (; *p && (quote || !isspace((unsigned char)*p));) {
        if (*p == quote) {
            quote = '\0';
            p++;
        } else if (!quote && (*p == '"' || *p == '\'')) {
            quote = *p++;
        } else if (*p == '\\' && p[1]) {
            buf_putc(&b, unescaped(p[1]));
            p += 2;
        } else if (*p == '$' && w->env) {
            p += put_variable(w, p, &b);
        } else {
            buf_putc(&b, *p++);
        }
    }
    if (quote)
        return NULL;
    push(w, buf_str(&b).s, b.len);
    return p;
}

/* The length of $NAME if that is the whole word at p, else 0. */
static size_t whole_variable(const char *p)
{
    size_t n = 1;
    if (*p != '$' || !in_name(p[1]) || isdigit((unsigned char)p[1]))
        return 0;
    while (in_name(p[n]))
        n++;
    return p[n] == '\0' || isspace((unsigned char)p[n]) ? n : 0;
}

int host_unit_words(struct arena *mem, const char *command, const char *const *env,
                    const char ***ret_argv, bool *ret_tolerant, struct err *e)
{
    struct words w = {.mem = mem, .env = env};
    bool tolerant = false;
    const char *p = command + strspn(command, " \t");
    for (; *p && strchr("-@:+!", *p); p++) /* the others are about rights, which a host has */
        tolerant |= *p == '-';
    while (p && *(p += strspn(p, " \t\n")) && w.argv.n < HOST_UNIT_WORDS) {
        size_t n = env ? whole_variable(p) : 0;
        if (n) {
            push_split(&w, variable(&w, (struct str){p + 1, n - 1}));
            p += n;
        } else {
            p = take_word(&w, p);
        }
    }
    int r = !p              ? err_set(e, ERR_SYNTAX, "a quote does not end: %s", command)
            : *p            ? err_set(e, ERR_LIMIT, "more than %d words", HOST_UNIT_WORDS)
            : w.argv.n == 0 ? err_set(e, ERR_INVALID, "an empty command: %s", command)
                            : 0;
    if (r == 0) {
        const char **argv = arena_new(mem, const char *, w.argv.n + 1);
        memcpy(argv, w.argv.at, w.argv.n * sizeof *argv);
        *ret_argv = argv;
        *ret_tolerant = tolerant;
    }
    vec_done(&w.argv);
    return r;
}

void host_unit_quote(struct buf *b, const char *argument)
{
    buf_putc(b, '"');
    for (const char *p = argument; *p; p++) {
        if (*p == '\n')
            buf_puts(b, "\\n");
        else if (*p == '$' || *p == '%')
            buf_printf(b, "%c%c", *p, *p);
        else if (*p == '"' || *p == '\\')
            buf_printf(b, "\\%c", *p);
        else
            buf_putc(b, *p);
    }
    buf_putc(b, '"');
}
