/* ssh_hostkey.c - texts of host keys
 *
 * A text has one key a line: "type base64", with a comment behind it or not.  That is the middle of
 * a known_hosts line and the whole of a .pub file, so that either can be pinned by copying.  The
 * type is inside the base64 too; keys are equal if that part is.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "ssh/ssh_i.h"

enum { PADDING_MAX = 2 };

static struct str word_next(struct str *line)
{
    while (line->n && (*line->s == ' ' || *line->s == '\t'))
        line->s++, line->n--;
    struct str word = {line->s, 0};
    while (word.n < line->n && word.s[word.n] != ' ' && word.s[word.n] != '\t')
        word.n++;
    line->s += word.n;
    line->n -= word.n;
    return word;
}

/* False at the end.  Empty lines and lines of comment are passed over. */
static bool key_next(const char **text, struct str *ret_line)
{
    while (**text) {
        size_t n = strcspn(*text, "\r\n");
        *ret_line = (struct str){*text, n};
        *text += n + ((*text)[n] != '\0');
        struct str rest = *ret_line;
        struct str first = word_next(&rest);
        if (first.n && *first.s != '#')
            return true;
    }
    return false;
}

static bool is_type(struct str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (!strchr("abcdefghijklmnopqrstuvwxyz0123456789-@.", s.s[i]))
            return false;
    return s.n > 0 && s.n <= 64;
}

static bool is_base64(struct str s)
{
    size_t pad = 0;
    for (size_t i = 0; i < s.n; i++) {
        bool digit = (s.s[i] >= 'a' && s.s[i] <= 'z') || (s.s[i] >= 'A' && s.s[i] <= 'Z') ||
                     (s.s[i] >= '0' && s.s[i] <= '9') || s.s[i] == '+' || s.s[i] == '/';
        pad += s.s[i] == '=';
        if ((!digit && s.s[i] != '=') || (digit && pad))
            return false;
    }
    return s.n >= 16 && s.n % 4 == 0 && pad <= PADDING_MAX;
}

int ssh_hostkey_check(const char *text, struct err *e)
{
    struct str line;
    while (key_next(&text, &line)) {
        struct str rest = line, type = word_next(&rest), key = word_next(&rest);
        if (is_type(type) && is_base64(key))
            continue;
        err_set(e, ERR_INVALID, "a host key is not of the form \"type base64\"");
        err_line(e, line.s, line.n);
        return err_hint(e, "take it from the machine's /etc/ssh/ssh_host_*_key.pub");
    }
    return 0;
}

void ssh_hostkey_each(const char *text, void (*fn)(void *arg, struct str type, struct str base64),
                      void *arg)
{
    struct str line;
    while (key_next(&text, &line)) {
        struct str type = word_next(&line), key = word_next(&line);
        fn(arg, type, key);
    }
}

struct sought {
    struct str key;
    bool found;
};

static void compare(void *arg, struct str type, struct str base64)
{
    struct sought *s = arg;
    (void)type;
    s->found |= str_eq(s->key, base64);
}

bool ssh_hostkey_has(const char *text, struct str base64)
{
    struct sought s = {base64, false};
    ssh_hostkey_each(text, compare, &s);
    return s.found;
}
