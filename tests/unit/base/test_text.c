/* test_text.c - names, globs, durations and near misses */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/text.h"

#include <fnmatch.h>
#include <inttypes.h>
#include <time.h>

#include "tap.h"
#include "tree_gen.h"

static void test_glob(void)
{
    static const struct {
        const char *pattern, *s;
        bool match;
    } cases[] = {
        {"", "", true},
        {"", "a", false},
        {"*", "", true},
        {"*", "abc", true},
        {"a*c", "abbbc", true},
        {"a*c", "abbbd", false},
        {"?", "a", true},
        {"?", "", false},
        {"??", "a", false},
        {"[a-c]x", "bx", true},
        {"[a-c]x", "dx", false},
        {"[abc]", "c", true},
        {"[]x]", "]", true},
        {"[a-]", "-", true},
        {"[", "[", true},
        {"[ab", "[ab", true},
        {"a[", "a", false},
        {"node*.rack[0-9].*", "node12.rack3.x", true},
        {"*a*b*c*", "xxaxxbxxcxx", true},
        {"*a*b*c*", "xxaxxcxxbxx", false},
        {"a**b", "ab", true},
        {"*.example.org", "example.org", false},
        {"db?", "db10", false},
        {"[z-a]", "m", false},
        {"a*", "b", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        ok(text_glob(str_of(cases[i].pattern), str_of(cases[i].s)) == cases[i].match,
           "\"%s\" %s \"%s\"", cases[i].pattern, cases[i].match ? "matches" : "does not match",
           cases[i].s);
}

/* The C library's fnmatch agrees on patterns without the corners where it has more syntax. */
static void test_glob_oracle(void)
{
    static const char letters[] = "ab*?";
    struct rng r = {3};
    bool same = true;
    for (int i = 0; i < 20000; i++) {
        char pattern[12] = "", s[12] = "";
        for (uint32_t k = rng_below(&r, 8); k > 0; k--)
            strncat(pattern, &letters[rng_below(&r, 4)], 1);
        for (uint32_t k = rng_below(&r, 8); k > 0; k--)
            strncat(s, &letters[rng_below(&r, 2)], 1);
        if (text_glob(str_of(pattern), str_of(s)) != (fnmatch(pattern, s, 0) == 0)) {
            note("pattern %s text %s", pattern, s);
            same = false;
        }
    }
    ok(same, "20000 random globs agree with fnmatch");
    static char pattern[200], s[100000];
    for (int i = 0; i < 198; i += 2)
        memcpy(pattern + i, "*a", 2);
    pattern[198] = 'b';
    memset(s, 'a', sizeof s);
    clock_t before = clock();
    bool hit = text_glob((struct str){pattern, 199}, (struct str){s, sizeof s});
    ok(!hit && clock() - before < 5 * CLOCKS_PER_SEC, "a hundred stars do not blow up");
}

static void test_utf8(void)
{
    static const struct {
        const char *s;
        size_t good;
    } cases[] = {
        {"", 0},
        {"plain text, longer than eight bytes", 35},
        {"\xC3\xA9", 2},
        {"\xE2\x82\xAC", 3},
        {"\xF0\x9F\x98\x80", 4},
        {"\xF4\x8F\xBF\xBF", 4},
        {"a\x80", 1},
        {"a\xC0\xAF", 1},
        {"a\xC1\xBF", 1},
        {"a\xC3", 1},
        {"a\xC3(", 1},
        {"a\xE0\x80\x80", 1},
        {"a\xE2\x82", 1},
        {"a\xE2(\x80", 1},
        {"a\xE2\x82(", 1},
        {"a\xED\xA0\x80", 1},
        {"a\xF0\x80\x80\x80", 1},
        {"a\xF0\x9F\x98", 1},
        {"a\xF0\x9F\x98(", 1},
        {"a\xF4\x90\x80\x80", 1},
        {"a\xF5\x80\x80\x80", 1},
        {"a\xFF", 1},
        {"0123456789\xFFyz0123456789", 10},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t n = strlen(cases[i].s);
        is_int(text_utf8_prefix(cases[i].s, n), cases[i].good, "utf-8 case %zu, good bytes", i);
        ok(text_utf8_valid(cases[i].s, n) == (cases[i].good == n), "utf-8 case %zu", i);
    }
}

static void test_names(void)
{
    char long64[65], long65[66], label63[80], label64[80], name254[300];
    memset(long64, 'a', 64);
    memset(long65, 'a', 65);
    long64[64] = long65[65] = '\0';
    memset(label63, 'a', 63);
    memset(label64, 'a', 64);
    strcpy(label63 + 63, ".org");
    strcpy(label64 + 64, ".org");
    for (int i = 0; i < 254; i++)
        name254[i] = i % 50 == 49 ? '.' : 'a';
    name254[254] = '\0';
    const struct {
        const char *s;
        bool name, fqdn;
    } cases[] = {
        {"db", true, true},
        {"", false, false},
        {"a.b_c-9", true, false},
        {"9lives", true, true},
        {"-x", false, false},
        {".x", false, false},
        {"Db", false, false},
        {"a b", false, false},
        {"\xC3\xA9", false, false},
        {"a/b", false, false},
        {"node1.rack-2.example.org", true, true},
        {"a..b", true, false},
        {"a.", true, false},
        {"a-.b", true, false},
        {"a-", true, false},
        {"a--b", true, true},
        {"a.-b", true, false},
        {long64, true, false},
        {long65, false, false},
        {label63, false, true},
        {label64, false, false},
        {name254, false, false},
        {name254 + 1, false, true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ok(text_is_name(str_of(cases[i].s)) == cases[i].name, "name? case %zu", i);
        ok(text_is_fqdn(str_of(cases[i].s)) == cases[i].fqdn, "fqdn? case %zu", i);
    }
}

static void test_nearest(void)
{
    static const char *const verbs[] = {"commit", "create", "expand", "shrink", NULL,
                                        "delete", "status", "start",  "stop"};
    enum { N = sizeof verbs / sizeof *verbs };
    static const struct {
        const char *typed, *want;
    } cases[] = {
        {"comit", "commit"},   {"cmomit", "commit"}, {"craete", "create"}, {"delte", "delete"},
        {"stort", "start"},    {"stpo", "stop"},     {"xyzzy", NULL},      {"stop", "stop"},
        {"shrinkk", "shrink"}, {"e", NULL},          {"", NULL},           {"extend", "expand"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *got = text_nearest(str_of(cases[i].typed), verbs, N);
        if (cases[i].want)
            is_text(got, cases[i].want, "\"%s\" means %s", cases[i].typed, cases[i].want);
        else
            ok(got == NULL, "\"%s\" means nothing known", cases[i].typed);
    }
    static const char *const twins[] = {"abcx", "abcy"};
    is_text(text_nearest(str_of("abcz"), twins, 2), "abcx", "of equally near ones the first");
    char longer[400];
    memset(longer, 'a', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    const char *const one[] = {longer};
    ok(!text_nearest(str_of(longer), one, 1), "very long names are not compared");
    ok(!text_nearest(str_of("aaa"), one, 1), "nor are very long candidates");
    ok(!text_nearest(str_of("x"), NULL, 0), "no candidates");
}

static void test_durations(void)
{
    static const struct {
        const char *s;
        int64_t ms;
    } cases[] = {
        {"250ms", 250},
        {"10s", 10000},
        {"5m", 300000},
        {"2h", 7200000},
        {"1d", 86400000},
        {"7", 7000},
        {"0", 0},
        {"", -1},
        {"s", -1},
        {"-5s", -1},
        {"5 s", -1},
        {"5w", -1},
        {"1.5h", -1},
        {"5ms ", -1},
        {"1h30m", -1},
        {"18446744073709551615ms", -1},
        {"18446744073709551616", -1},
        {"18446744073709551d", -1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct err e;
        uint64_t ms = 0;
        int rc = text_duration_ms(str_of(cases[i].s), &ms, &e);
        if (cases[i].ms >= 0) {
            ok(rc == 0 && ms == (uint64_t)cases[i].ms, "%s is %lld ms", cases[i].s,
               (long long)cases[i].ms);
        } else if (i == 15) {
            ok(rc == 0 && ms == UINT64_MAX, "the longest duration");
        } else {
            ok(rc == -ERR_INVALID && e.hint[0], "\"%s\" is refused with a hint", cases[i].s);
        }
    }
    static const struct {
        uint64_t ms;
        const char *want;
    } shows[] = {
        {0, "0ms"},
        {999, "999ms"},
        {1000, "1.0s"},
        {4149, "4.1s"},
        {59999, "59.9s"},
        {60000, "1m00s"},
        {303000, "5m03s"},
        {3599999, "59m59s"},
        {3720000, "1h02m"},
        {86399999, "23h59m"},
        {86400000, "1d00h"},
        {999ull * 86400000, "999d00h"},
        {1000ull * 86400000, "1000d"},
        {UINT64_MAX, "213503982334d"},
    };
    for (size_t i = 0; i < sizeof shows / sizeof *shows; i++) {
        char out[16];
        text_duration_show(shows[i].ms, out);
        is_text(out, shows[i].want, "%llu ms for people", (unsigned long long)shows[i].ms);
    }
}

static void test_numbers(void)
{
    struct err e;
    uint64_t v = 5;
    ok(text_u64(str_of("42"), 100, &v, &e) == 0 && v == 42, "42");
    ok(text_u64(str_of("18446744073709551615"), UINT64_MAX, &v, &e) == 0 && v == UINT64_MAX,
       "the largest");
    v = 5;
    is_int(text_u64(str_of("101"), 100, &v, &e), -ERR_INVALID, "101 of 100");
    has_text(e.hint, "at most 100", "says the limit");
    is_int(text_u64(str_of("18446744073709551616"), UINT64_MAX, &v, &e), -ERR_INVALID, "2^64");
    static const char *const bad[] = {"", "-1", "+1", "1x", " 1", "0x10", "1.0"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        is_int(text_u64(str_of(bad[i]), 100, &v, &e), -ERR_INVALID, "\"%s\"", bad[i]);
    is_int(text_u64(str_of(NULL), 100, &v, NULL), -ERR_INVALID, "nothing at all");
    is_int(v, 5, "the result is untouched on failure");
    char hex[9];
    text_hex("\x00\x7f\x80\xff", 4, hex);
    is_text(hex, "007f80ff", "hexadecimal");
    text_hex("", 0, hex);
    is_text(hex, "", "hexadecimal of nothing");
}

static void test_counts(void)
{
    static const struct {
        uint64_t n;
        const char *one, *text;
    } cases[] = {
        {0, "node", "0 nodes"},  {1, "node", "1 node"},     {2, "node", "2 nodes"},
        {1, "entry", "1 entry"}, {0, "entry", "0 entries"}, {3, "new entry", "3 new entries"},
        {2, "key", "2 keys"},    {2, "y", "2 ys"},          {2, "new task", "2 new tasks"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct text_count t = text_count(cases[i].n, cases[i].one);
        is_text(t.s, cases[i].text, "%" PRIu64 " of %s", cases[i].n, cases[i].one);
    }
    is_int(strlen(text_count(UINT64_MAX, "word that is far too long to be the name of a thing").s),
           63, "it never grows over its place");
}

static void test_natural_order(void)
{
    /* each comes before all that follow it */
    static const char *const rising[] = {"",
                                         "10",
                                         "a",
                                         "a1",
                                         "a1b",
                                         "a2",
                                         "a2b",
                                         "a010",
                                         "a10",
                                         "a10.b2",
                                         "a10.b10",
                                         "a99999999999999999999998",
                                         "a99999999999999999999999",
                                         "b",
                                         "ba",
                                         "\xc3\xa4"};
    size_t n = sizeof rising / sizeof *rising;
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < n; k++) {
            int order = text_natural_order(str_of(rising[i]), str_of(rising[k]));
            int wanted = (i > k) - (i < k);
            ok((order > 0) - (order < 0) == wanted, "\"%s\" and \"%s\"", rising[i], rising[k]);
        }
}

int main(void)
{
    test_counts();
    test_natural_order();
    test_glob();
    test_glob_oracle();
    test_utf8();
    test_names();
    test_nearest();
    test_durations();
    test_numbers();
    return tap_done();
}
