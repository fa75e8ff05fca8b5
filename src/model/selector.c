/* selector.c - selectors parsed to postfix, matched on a stack of bits
 *
 * The parser keeps operators on a stack until one that binds no closer arrives (the railway
 * shunting of every textbook), so that nothing recurses over what a user typed.  The program is
 * postfix: a word pushes a bit, an operator folds the top two.
 *
 * Invariant: within one pair of parentheses at most two operators wait (a union under an and),
 * besides what SELECTOR_MAX_NEST counts, so that one uint64_t of bits is stack enough; asserted.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "model/selector.h"

#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "base/text.h"

enum op_kind { OP_WORD, OP_OR, OP_AND, OP_MINUS, OP_NOT, OP_OPEN };
struct op {
    uint8_t kind, word; /* op_kind, selector_word */
    struct str key, text;
};
struct selector {
    uint32_t n_ops;
    struct op ops[];
};

/* --- reading --- */

struct reader {
    struct str text;
    size_t at;
    struct op *out;
    uint32_t n_out, n_words;
    uint8_t wait[3 * SELECTOR_MAX_NEST + 2];
    uint32_t n_wait, nest;
    size_t open_at[SELECTOR_MAX_NEST]; /* where each open parenthesis is */
    uint32_t n_open;
};

static size_t characters(const char *s, size_t n)
{
    size_t count = 0;
    for (size_t i = 0; i < n; i++)
        count += ((unsigned char)s[i] & 0xC0) != 0x80;
    return count;
}

/* A long text is shown from a bit before the place. */
static int syntax_error(const struct reader *r, size_t at, struct err *e, const char *what)
{
    enum { BEFORE = 60 };
    size_t from = at > BEFORE ? at - BEFORE : 0;

    while (from && ((unsigned char)r->text.s[from] & 0xC0) == 0x80)
        from--;
    int code = err_set(e, ERR_SYNTAX, "%s", what);
    (void)err_at(e, "column %zu", characters(r->text.s, at) + 1);
    (void)err_line(e, r->text.s + from, r->text.n - from);
    /* err_format() sets the line in by four and the hint by two. */
    (void)err_hint(e, "  %*s^", (int)characters(r->text.s + from, at - from), "");
    return code;
}

static unsigned closeness(uint8_t op)
{
    switch ((enum op_kind)op) {
    case OP_OR: return 1;
    case OP_AND:
    case OP_MINUS: return 2;
    case OP_NOT: return 3;
    case OP_WORD:
    case OP_OPEN: break;
    }
    return 0;
}

static void emit(struct reader *r, uint8_t op)
{
    r->out[r->n_out++] = (struct op){.kind = op};
}

/* Writes the waiting operators that bind at least as close as the one that arrives. */
static void settle(struct reader *r, unsigned close)
{
    while (r->n_wait && r->wait[r->n_wait - 1] != OP_OPEN &&
           closeness(r->wait[r->n_wait - 1]) >= close) {
        r->nest -= r->wait[r->n_wait - 1] == OP_NOT;
        emit(r, r->wait[--r->n_wait]);
    }
}

static void await(struct reader *r, uint8_t op)
{
    assert(r->n_wait < sizeof r->wait);
    r->wait[r->n_wait++] = op;
}

static bool word_byte(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           (c && strchr("._-*?/:+%~@", c)) || ((unsigned char)c & 0x80);
}

/* The end of a run of word bytes and sets; a set may hold what else would be an operator. */
static int word_end(const struct reader *r, size_t at, size_t *ret_end, struct err *e)
{
    const struct str t = r->text;

    while (at < t.n && (word_byte(t.s[at]) || t.s[at] == '[')) {
        if (t.s[at] == '[') {
            const char *close = memchr(t.s + at, ']', t.n - at);
            if (!close)
                return syntax_error(r, at, e, "this [ is never closed");
            at = (size_t)(close - t.s);
        }
        at++;
    }
    *ret_end = at;
    return 0;
}

static bool is_glob(struct str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (s.s[i] == '*' || s.s[i] == '?' || s.s[i] == '[')
            return true;
    return false;
}

static int read_word(struct reader *r, struct arena *a, struct err *e)
{
    size_t start = r->at, end = 0;
    bool group = r->text.s[start] == '@';
    struct op op = {.kind = OP_WORD};

    int bad = word_end(r, start + group, &end, e);
    if (bad < 0)
        return bad;
    op.text = (struct str){r->text.s + start + group, end - start - group};
    if (end < r->text.n && r->text.s[end] == '=' && !group) {
        size_t value = end + 1;
        op.key = op.text;
        bad = word_end(r, value, &end, e);
        if (bad < 0)
            return bad;
        op.text = (struct str){r->text.s + value, end - value};
        op.word = SELECTOR_LABEL;
        if (!op.key.n || is_glob(op.key))
            return syntax_error(r, start, e, "expected the name of a label before =");
        if (!op.text.n)
            return syntax_error(r, value, e, "expected a value after =");
    } else if (!op.text.n) {
        return syntax_error(r, start + group, e,
                            group ? "expected the name of a group after @"
                                  : "expected a node, @group, key=value or (");
    } else if (group) {
        op.word = SELECTOR_GROUP;
    } else if (str_is(op.text, "*")) {
        op.word = SELECTOR_ALL;
    } else {
        op.word = is_glob(op.text) ? SELECTOR_GLOB : SELECTOR_NAME;
    }
    if (++r->n_words > SELECTOR_MAX_TERMS)
        return err_set(e, ERR_LIMIT, "more than %d terms in a selector", SELECTOR_MAX_TERMS);
    op.key = (struct str){op.key.n ? arena_strndup(a, op.key.s, op.key.n) : "", op.key.n};
    op.text = (struct str){arena_strndup(a, op.text.s, op.text.n), op.text.n};
    r->out[r->n_out++] = op;
    r->at = end;
    return 0;
}

static void skip_blanks(struct reader *r)
{
    while (r->at < r->text.n && (r->text.s[r->at] == ' ' || r->text.s[r->at] == '\t'))
        r->at++;
}

/* A term up to its word: any number of ! and ( before it. */
static int read_term(struct reader *r, struct arena *a, struct err *e)
{
    for (;; r->at++) {
        skip_blanks(r);
        if (r->at == r->text.n)
            return syntax_error(r, r->at, e, "expected a node, @group, key=value or (");
        char c = r->text.s[r->at];
        if (c != '!' && c != '(')
            return read_word(r, a, e);
        if (r->nest == SELECTOR_MAX_NEST)
            return err_set(e, ERR_LIMIT, "selector nested deeper than %d", SELECTOR_MAX_NEST);
        r->nest++;
        if (c == '(')
            r->open_at[r->n_open++] = r->at;
        await(r, c == '(' ? OP_OPEN : OP_NOT);
    }
}

/* What follows a term: closing parentheses, then an operator or the end.  1 if a term must follow.
 */
static int read_operator(struct reader *r, struct err *e)
{
    for (;; r->at++) {
        skip_blanks(r);
        if (r->at == r->text.n)
            break;
        if (r->text.s[r->at] != ')')
            break;
        if (!r->n_open)
            return syntax_error(r, r->at, e, "this ) closes nothing");
        settle(r, 0);
        r->n_wait--;
        r->n_open--;
        r->nest--;
    }
    if (r->at == r->text.n) {
        settle(r, 0);
        return r->n_open ? syntax_error(r, r->open_at[r->n_open - 1], e, "this ( is never closed")
                         : 0;
    }
    char c = r->text.s[r->at];
    uint8_t op = c == ',' ? OP_OR : c == '&' ? OP_AND : OP_MINUS;
    if (!strchr(",&!", c) || !c)
        return syntax_error(r, r->at, e, "expected one of , & ! or the end");
    settle(r, closeness(op));
    await(r, op);
    r->at++;
    return 1;
}

int selector_parse(struct arena *a, struct str text, const struct selector **ret_s, struct err *e)
{
    struct reader r = {.text = text};
    int more = 1;

    if (text.n > SELECTOR_MAX_BYTES)
        return err_set(e, ERR_LIMIT, "selector longer than %d bytes", SELECTOR_MAX_BYTES);
    if (!text_utf8_valid(text.s, text.n))
        return err_set(e, ERR_SYNTAX, "selector is not UTF-8");
    /* Every byte makes one operation at most. */
    struct selector *s = arena_take(a, sizeof *s + (text.n + 1) * sizeof s->ops[0]);
    r.out = s->ops;
    while (more) {
        int bad = read_term(&r, a, e);
        more = bad < 0 ? bad : read_operator(&r, e);
        if (more < 0)
            return more;
    }
    assert(!r.n_wait);
    s->n_ops = r.n_out;
    *ret_s = s;
    return 0;
}

/* --- matching --- */

static bool word_matches(const struct op *op, const struct selector_node *node)
{
    switch ((enum selector_word)op->word) {
    case SELECTOR_ALL: return true;
    case SELECTOR_NAME:
        return str_eq(op->text, node->name) ||
               (node->in_group && node->in_group(node->ctx, op->text));
    case SELECTOR_GLOB: return text_glob(op->text, node->name);
    case SELECTOR_GROUP: return node->in_group && node->in_group(node->ctx, op->text);
    case SELECTOR_LABEL: break;
    }
    struct str value = node->label ? node->label(node->ctx, op->key) : (struct str){0};
    return value.s && text_glob(op->text, value);
}

bool selector_match(const struct selector *s, const struct selector_node *node)
{
    uint64_t stack = 0; /* the top is bit 0 */
    unsigned depth = 0;

    for (uint32_t i = 0; i < s->n_ops; i++) {
        const struct op *op = &s->ops[i];
        uint64_t top = stack & 1, below = stack >> 1;
        switch ((enum op_kind)op->kind) {
        case OP_WORD:
            assert(depth < 64);
            depth++;
            stack = stack << 1 | word_matches(op, node);
            break;
        case OP_NOT: stack ^= 1; break;
        case OP_OR: depth--, stack = below | top; break;
        case OP_AND: depth--, stack = below & (top | ~(uint64_t)1); break;
        case OP_MINUS: depth--, stack = below & ~top; break;
        case OP_OPEN: assert(!"an open parenthesis is never written");
        }
    }
    assert(depth == 1);
    return stack & 1;
}

bool selector_word_at(const struct selector *s, size_t i, enum selector_word *ret_kind,
                      struct str *ret_key, struct str *ret_text)
{
    for (uint32_t k = 0; k < s->n_ops; k++) {
        if (s->ops[k].kind != OP_WORD || i--)
            continue;
        *ret_kind = (enum selector_word)s->ops[k].word;
        *ret_key = s->ops[k].key;
        *ret_text = s->ops[k].text;
        return true;
    }
    return false;
}
