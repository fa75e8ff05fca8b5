/* test_selector.c - selectors that match, selectors that do not parse, and how they say so
 *
 * Random selectors are compared with a second reading of the grammar: plain recursion over sets of
 * nodes.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "tap.h"

#include "model/selector.h"

/* --- five nodes --- */

struct node {
    const char *name, *rack, *tier, *groups;
};
static const struct node nodes[] = {
    {"db1.example.net", "r1", "gold", "db all"},
    {"db2.example.net", "r2", NULL, "db all"},
    {"web1.example.net", "r1", "silver", "web all"},
    {"web2.example.net", "r10", "", "web all"},
    {"spare", NULL, "a@b:c/d", ""},
};
enum { NODES = sizeof nodes / sizeof *nodes };

static struct str label(void *ctx, struct str key)
{
    const struct node *n = ctx;
    if (str_is(key, "rack"))
        return (struct str){n->rack, n->rack ? strlen(n->rack) : 0};
    if (str_is(key, "tier"))
        return (struct str){n->tier, n->tier ? strlen(n->tier) : 0};
    return (struct str){0};
}

static bool in_group(void *ctx, struct str group)
{
    const struct node *n = ctx;
    for (const char *at = n->groups; *at; at += strcspn(at, " "), at += *at == ' ')
        if (str_is(group, "") == false && strcspn(at, " ") == group.n &&
            !memcmp(at, group.s, group.n))
            return true;
    return false;
}

static struct selector_node face(size_t i)
{
    return (struct selector_node){str_of(nodes[i].name), label, in_group, (void *)&nodes[i]};
}

/* The nodes that match, as a number with bit i for node i; -1 if it does not parse. */
static int matches(const char *text)
{
    SCOPED_ARENA(mem);
    const struct selector *s = NULL;
    struct err e;
    int set = 0;

    if (selector_parse(&mem, str_of(text), &s, &e) < 0)
        return -1;
    for (size_t i = 0; i < NODES; i++) {
        struct selector_node n = face(i);
        set |= selector_match(s, &n) << i;
    }
    return set;
}

static const struct {
    const char *text;
    int set;
} matching[] = {
    {"*", 31},
    {"spare", 16},
    {"db1", 0},
    {"db1.example.net", 1},
    {"db*", 3},
    {"db[12].*", 3},
    {"web?.example.net", 12},
    {"@db", 3},
    {"db", 3},
    {"@spare", 0},
    {"rack=r1", 5},
    {"rack=r1*", 13},
    {"rack=*", 15},
    {"tier=gold", 1},
    {"tier=*", 29},
    {"tier=a@b:c/d", 16},
    {"nothing=*", 0},
    {"db,web", 15},
    {"db , web ,spare", 31},
    {"db&rack=r1", 1},
    {"db!rack=r1", 2},
    {"!db", 28},
    {"!!db", 3},
    {"! !db", 3},
    {"!db!web", 16},
    {"!db&web", 12},
    {"*!db!web", 16},
    {"db&rack=r1,spare", 17},
    {"spare,db&rack=r1", 17},
    {"(spare,db)&rack=r1", 1},
    {"all!(rack=r1,web2.example.net)", 2},
    {"!(db,web)", 16},
    {"((((db))))", 3},
    {"all!(all!(all!db))", 12},
    {" \tall ! web\t", 3},
    {"db!rack=r1&rack=r2", 2},
    {"db&!rack=r1", 2},
    {"*,!*", 31},
    {"*&!*", 0},
};

static void test_matching(void)
{
    for (size_t i = 0; i < sizeof matching / sizeof *matching; i++)
        is_int(matches(matching[i].text), matching[i].set, "%s", matching[i].text);

    SCOPED_ARENA(mem);
    const struct selector *s = NULL;
    struct selector_node bare = {.name = str_of("n")};
    selector_parse(&mem, str_of("a=b,@g,x"), &s, NULL);
    ok(!selector_match(s, &bare), "a node without labels and groups has none");
}

static const struct {
    const char *text;
    int code;
    unsigned column;
    const char *what, *hint;
} faults[] = {
    {"", ERR_SYNTAX, 1, "expected a node", "  ^"},
    {"   ", ERR_SYNTAX, 4, "expected a node", "     ^"},
    {"a,", ERR_SYNTAX, 3, "expected a node", "    ^"},
    {"a,,b", ERR_SYNTAX, 3, "expected a node", "    ^"},
    {"a &", ERR_SYNTAX, 4, "expected a node", "     ^"},
    {"!", ERR_SYNTAX, 2, "expected a node", "   ^"},
    {"a b", ERR_SYNTAX, 3, "expected one of , & ! or the end", "    ^"},
    {"(a", ERR_SYNTAX, 1, "this ( is never closed", "  ^"},
    {"a,(b,(c)", ERR_SYNTAX, 3, "this ( is never closed", "    ^"},
    {"a)", ERR_SYNTAX, 2, "this ) closes nothing", "   ^"},
    {"()", ERR_SYNTAX, 2, "expected a node", "   ^"},
    {"@", ERR_SYNTAX, 2, "expected the name of a group", "   ^"},
    {"@,a", ERR_SYNTAX, 2, "expected the name of a group", "   ^"},
    {"=x", ERR_SYNTAX, 1, "expected the name of a label", "  ^"},
    {"a*=x", ERR_SYNTAX, 1, "expected the name of a label", "  ^"},
    {"rack=", ERR_SYNTAX, 6, "expected a value after =", "       ^"},
    {"rack=,a", ERR_SYNTAX, 6, "expected a value after =", "       ^"},
    {"a=b=c", ERR_SYNTAX, 4, "expected one of", "     ^"},
    {"db[1", ERR_SYNTAX, 3, "this [ is never closed", "    ^"},
    {"a=[1", ERR_SYNTAX, 3, "this [ is never closed", "    ^"},
    {"\xc3\xa4,,", ERR_SYNTAX, 3, "expected a node", "    ^"},
    {"a$", ERR_SYNTAX, 2, "expected one of", "   ^"},
};

static void test_faults(void)
{
    SCOPED_ARENA(mem);
    SCOPED_BUF(text);
    struct err e;
    const struct selector *s = NULL;

    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        char at[32];
        is_int(selector_parse(&mem, str_of(faults[i].text), &s, &e), -faults[i].code, "\"%s\"",
               faults[i].text);
        snprintf(at, sizeof at, "column %u", faults[i].column);
        is_text(e.at, at, "where");
        has_text(e.text, faults[i].what, "what");
        is_text(e.line, faults[i].text, "the text");
        is_text(e.hint, faults[i].hint, "and a mark below");
    }
    char shown[1024];
    selector_parse(&mem, str_of("db&&x"), &s, &e);
    is_text(err_format(&e, shown, sizeof shown),
            "column 4: expected a node, @group, key=value or (\n    db&&x\n       ^", "as shown");
    ok(!s, "nothing is written on a failure");

    for (unsigned pad = 0; pad < 3; pad++) { /* wherever the shown part begins, it is text */
        buf_clear(&text);
        for (unsigned i = 0; i < 60; i++)
            buf_puts(&text, "\xc3\xa4\xc3\xa4,");
        buf_puts(&text, &",xx"[pad]);
        buf_puts(&text, "&)");
        selector_parse(&mem, buf_str(&text), &s, &e);
        ok((e.line[0] & 0xC0) != 0x80 && strlen(e.line) > 40, "shown from a character's edge");
    }
    buf_clear(&text);
    for (unsigned i = 0; i < 100; i++)
        buf_puts(&text, "\xc3\xa4,");
    buf_puts(&text, ",x");
    is_int(selector_parse(&mem, buf_str(&text), &s, &e), -ERR_SYNTAX, "far to the right");
    is_text(e.at, "column 201", "columns count characters");
    is_int(strlen(e.hint), strcspn(e.line, ",") ? 2 + 40 + 1 : 0,
           "and the mark is where it is shown");
    is_int(selector_parse(&mem, (struct str){"a\0b", 3}, &s, &e), -ERR_SYNTAX, "a NUL");
    is_int(selector_parse(&mem, str_of("a\xff"), &s, &e), -ERR_SYNTAX, "not UTF-8");
}

static void test_limits(void)
{
    SCOPED_ARENA(mem);
    SCOPED_BUF(text);
    const struct selector *s = NULL;
    struct err e;

    for (unsigned i = 0; i < SELECTOR_MAX_NEST; i++)
        buf_puts(&text, i % 2 ? "(" : "!");
    buf_puts(&text, "db");
    for (unsigned i = 1; i < SELECTOR_MAX_NEST; i += 2)
        buf_puts(&text, ")");
    is_int(matches(text.data), 3, "nested as deep as may be");
    buf_clear(&text);
    for (unsigned i = 0; i <= SELECTOR_MAX_NEST; i++)
        buf_puts(&text, "!");
    buf_puts(&text, "a");
    is_int(selector_parse(&mem, buf_str(&text), &s, &e), -ERR_LIMIT, "one deeper");
    buf_clear(&text);
    for (unsigned i = 0; i < SELECTOR_MAX_NEST; i++)
        buf_puts(&text, "spare,*&(");
    buf_puts(&text, "db");
    for (unsigned i = 0; i < SELECTOR_MAX_NEST; i++)
        buf_puts(&text, ")");
    is_int(matches(text.data), 19, "with operators waiting at every level");
    buf_clear(&text);
    for (unsigned i = 0; i < SELECTOR_MAX_TERMS; i++)
        buf_puts(&text, i ? ",x" : "db");
    is_int(matches(text.data), 3, "as many terms as may be");
    buf_puts(&text, ",x");
    is_int(selector_parse(&mem, buf_str(&text), &s, &e), -ERR_LIMIT, "one more");
    buf_clear(&text);
    for (unsigned i = 0; i <= SELECTOR_MAX_BYTES; i++)
        buf_putc(&text, 'x');
    is_int(selector_parse(&mem, buf_str(&text), &s, &e), -ERR_LIMIT, "too long");
}

static void test_words(void)
{
    SCOPED_ARENA(mem);
    const struct selector *s = NULL;
    enum selector_word kind;
    struct str key, text;
    static const struct {
        enum selector_word kind;
        const char *key, *text;
    } want[] = {{SELECTOR_GROUP, "", "web"},
                {SELECTOR_LABEL, "rack", "r1*"},
                {SELECTOR_NAME, "", "n1"},
                {SELECTOR_GLOB, "", "n[23]"},
                {SELECTOR_ALL, "", "*"}};

    char source[] = "@web&rack=r1*!(n1,n[23]),*";
    selector_parse(&mem, str_of(source), &s, NULL);
    memset(source, 0, sizeof source); /* a selector keeps its own text */
    for (size_t i = 0; i < 5; i++) {
        ok(selector_word_at(s, i, &kind, &key, &text), "word %zu", i);
        is_int(kind, want[i].kind, "its kind");
        is_text(key.s, want[i].key, "its key");
        is_text(text.s, want[i].text, "its text");
    }
    ok(!selector_word_at(s, 5, &kind, &key, &text), "and no more");
}

/* --- the second reading --- */

static uint64_t chance_state = 88172645463325252ull;
static uint32_t chance(uint32_t below)
{
    chance_state ^= chance_state << 13;
    chance_state ^= chance_state >> 7;
    chance_state ^= chance_state << 17;
    return (uint32_t)((chance_state >> 20) % below);
}

static int random_union(struct buf *b, unsigned depth);

/* Writes a random term and returns the set that it means. */
static int random_term(struct buf *b, unsigned depth)
{
    uint32_t pick = chance(depth > 4 ? 6 : 9);
    if (pick == 6) {
        buf_puts(b, "!");
        return 31 & ~random_term(b, depth + 1);
    }
    if (pick > 6) {
        buf_puts(b, "(");
        int set = random_union(b, depth + 1);
        buf_puts(b, ")");
        return set;
    }
    static const unsigned words[] = {0, 1, 5, 7, 10, 13};
    buf_puts(b, matching[words[pick]].text);
    return matching[words[pick]].set;
}

static int random_union(struct buf *b, unsigned depth)
{
    int all = 0;
    for (uint32_t i = 0, parts = 1 + chance(3); i < parts; i++) {
        buf_puts(b, i ? "," : "");
        int part = random_term(b, depth);
        for (uint32_t k = chance(3); k > 0; k--) {
            bool minus = chance(2);
            buf_puts(b, minus ? " ! " : "&");
            int right = random_term(b, depth);
            part = minus ? part & ~right : part & right;
        }
        all |= part;
    }
    return all;
}

static void test_random(void)
{
    unsigned wrong = 0;
    for (unsigned i = 0; i < 3000 && !wrong; i++) {
        SCOPED_BUF(text);
        int set = random_union(&text, 0);
        if (matches(text.data) != set) {
            wrong++;
            note("%s: %d, not %d", text.data, matches(text.data), set);
        }
    }
    is_int(wrong, 0, "3000 random selectors mean what the grammar says");
}

int main(void)
{
    test_matching();
    test_faults();
    test_limits();
    test_words();
    test_random();
    return tap_done();
}
