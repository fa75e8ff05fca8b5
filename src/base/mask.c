/* mask.c - secrets found in a stream, each by the automaton of Knuth, Morris and Pratt
 *
 * Each word (a secret in one of its forms) has a state: how many bytes of it end at the last byte
 * fed.  `held` are the bytes from the earliest place where a word may be beginning, with a mark
 * each for those that are known to be secret.  Everything before that place is decided and leaves.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/mask.h"

#include <sodium.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/json.h"

struct mask_word {
    char *text;
    uint32_t n;
    uint32_t *fall; /* by length of what matches: of the longest that still does */
    uint32_t state;
};
struct mask {
    VEC(struct mask_word) words;
    struct buf held, marks; /* one mark a byte: 1 is secret */
    bool in_secret;         /* the last byte that left was one: what follows belongs to it */
};

struct mask *mask_new(void)
{
    return xcalloc(1, sizeof(struct mask));
}

void mask_free(struct mask *m)
{
    if (!m)
        return;
    for (size_t i = 0; i < m->words.n; i++) {
        sodium_memzero(m->words.at[i].text, m->words.at[i].n);
        free(m->words.at[i].text);
        free(m->words.at[i].fall);
    }
    if (m->held.data)
        sodium_memzero(m->held.data, m->held.cap);
    vec_done(&m->words);
    buf_done(&m->held);
    buf_done(&m->marks);
    free(m);
}

/* --- words --- */

static void word_add(struct mask *m, struct str s)
{
    if (s.n < MASK_LEAST || s.n >= UINT32_MAX)
        return;
    for (size_t i = 0; i < m->words.n; i++)
        if (str_eq(s, (struct str){m->words.at[i].text, m->words.at[i].n}))
            return;
    struct mask_word w = {
        .text = xcalloc(s.n, 1), .n = (uint32_t)s.n, .fall = xcalloc(s.n + 1, sizeof(uint32_t))};
    memcpy(w.text, s.s, s.n); /* it may hold a NUL */
    for (uint32_t i = 1, k = 0; i < w.n; i++) {
        while (k > 0 && w.text[i] != w.text[k])
            k = w.fall[k];
        k += w.text[i] == w.text[k];
        w.fall[i + 1] = k;
    }
    vec_push(&m->words, w);
}

static void lines_add(struct mask *m, struct str secret)
{
    size_t from = 0;
    for (size_t i = 0; i <= secret.n; i++) {
        if (i < secret.n && secret.s[i] != '\n' && secret.s[i] != '\r')
            continue;
        if (i - from >= MASK_LINE_LEAST)
            word_add(m, (struct str){secret.s + from, i - from});
        from = i + 1;
    }
}

void mask_add(struct mask *m, struct str secret)
{
    SCOPED_BUF(json);
    json_write_string(&json, secret);
    word_add(m, secret);
    if (secret.n >= MASK_LEAST)
        word_add(m, (struct str){json.data + 1, json.len - 2});
    lines_add(m, secret);
    sodium_memzero(json.data, json.len);
}

void mask_add_values(struct mask *m, const struct value *v)
{
    VEC(const struct value *) todo = {0};
    if (v)
        vec_push(&todo, v);
    while (todo.n) {
        const struct value *at = todo.at[--todo.n];
        if (at->kind == VALUE_STRING)
            mask_add(m, value_as_str(at));
        for (uint32_t i = 0; at->kind == VALUE_LIST && i < at->n; i++)
            vec_push(&todo, &at->items[i]);
        for (uint32_t i = 0; at->kind == VALUE_MAP && i < at->n; i++)
            vec_push(&todo, &at->members[i].v);
    }
    vec_done(&todo);
}

/* --- text --- */

/* The byte that was appended to `held` last: whose end is it? */
static void byte_step(struct mask *m, char c)
{
    for (size_t i = 0; i < m->words.n; i++) {
        struct mask_word *w = &m->words.at[i];
        while (w->state > 0 && w->text[w->state] != c)
            w->state = w->fall[w->state];
        w->state += w->text[w->state] == c;
        if (w->state < w->n)
            continue;
        memset(m->marks.data + m->marks.len - w->n, 1, w->n);
        w->state = w->fall[w->state];
    }
}

/* Lets the first n bytes go. */
static void bytes_leave(struct mask *m, size_t n, struct buf *out)
{
    for (size_t i = 0; i < n;) {
        bool secret = m->marks.data[i];
        size_t k = i;
        while (k < n && (bool)m->marks.data[k] == secret)
            k++;
        if (!secret)
            buf_put(out, m->held.data + i, k - i);
        else if (!m->in_secret)
            buf_puts(out, MASK_TEXT);
        m->in_secret = secret;
        i = k;
    }
    if (n == 0)
        return;
    m->held.len -= n;
    m->marks.len -= n;
    memmove(m->held.data, m->held.data + n, m->held.len);
    memmove(m->marks.data, m->marks.data + n, m->marks.len);
}

static size_t undecided(const struct mask *m)
{
    uint32_t most = 0;
    for (size_t i = 0; i < m->words.n; i++)
        if (m->words.at[i].state > most)
            most = m->words.at[i].state;
    return most;
}

void mask_feed(struct mask *m, struct str text, struct buf *out)
{
    if (m->words.n == 0) {
        buf_put(out, text.s, text.n);
        return;
    }
    for (size_t i = 0; i < text.n; i++) {
        buf_putc(&m->held, text.s[i]);
        buf_putc(&m->marks, 0);
        byte_step(m, text.s[i]);
    }
    bytes_leave(m, m->held.len - undecided(m), out);
}

void mask_flush(struct mask *m, struct buf *out)
{
    bytes_leave(m, m->held.len, out);
    for (size_t i = 0; i < m->words.n; i++)
        m->words.at[i].state = 0;
    m->in_secret = false;
}

void mask_text(struct mask *m, struct str text, struct buf *out)
{
    mask_feed(m, text, out);
    mask_flush(m, out);
}

static struct str masked(struct mask *m, struct arena *mem, struct str s)
{
    SCOPED_BUF(b);
    mask_text(m, s, &b);
    if (str_eq(buf_str(&b), s))
        return s;
    return (struct str){arena_strndup(mem, b.data, b.len), b.len};
}

bool mask_values(struct mask *m, struct arena *mem, struct value *v)
{
    VEC(struct value *) todo = {0};
    bool good = true;
    if (v)
        vec_push(&todo, v);
    while (todo.n) {
        struct value *at = todo.at[--todo.n];
        if (at->kind == VALUE_STRING) {
            struct str s = masked(m, mem, value_as_str(at));
            at->s = s.s;
            at->n = (uint32_t)s.n;
        }
        for (uint32_t i = 0; at->kind == VALUE_LIST && i < at->n; i++)
            vec_push(&todo, &at->items[i]);
        for (uint32_t i = 0; at->kind == VALUE_MAP && i < at->n; i++) {
            struct str key = {at->members[i].key, at->members[i].key_n};
            good = good && masked(m, mem, key).s == key.s;
            vec_push(&todo, &at->members[i].v);
        }
    }
    vec_done(&todo);
    return good;
}
